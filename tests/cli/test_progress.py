"""Bars on a terminal, and none elsewhere."""

from __future__ import annotations

import io
import time

import pytest

from cranfield.cli.options.output import show_elapsed_time, show_judging_progress, show_progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    for bar in (show_progress_bar("splitting"), show_judging_progress(range(9))):
        with bar as progress:
            assert progress is None


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    for bar, what in (
        (show_progress_bar("[splitting]"), "[splitting]"),
        (show_judging_progress("abcd"), "judging"),
    ):
        monkeypatch.setattr("sys.stderr", shown := Terminal())
        with bar as progress:
            assert progress is not None
            progress(3, 4)
        assert what in shown.getvalue() and "3/4" in shown.getvalue()
    with show_judging_progress("abc") as none:
        assert none is None


def test_work_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.cli.options.output.DELAY", 0.05)
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with show_elapsed_time():
        time.sleep(0.5)
    assert shown.getvalue().startswith("working, ")
    # It is not there any more in the end.
    assert shown.getvalue().endswith("s\r            \r")
    monkeypatch.setattr("sys.stdout", printed := Terminal())
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with show_elapsed_time():
        time.sleep(0.3)
        print("x")
        assert shown.getvalue().endswith("s\r            \r")
    assert printed.getvalue() == "x\n"
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with show_elapsed_time(), show_progress_bar("judging"):
        time.sleep(0.5)
    assert "working" not in shown.getvalue()


def test_short_work_and_files_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with show_elapsed_time():
        pass
    assert shown.getvalue() == ""
    monkeypatch.setattr("cranfield.cli.options.output.DELAY", 0.01)
    monkeypatch.setattr("sys.stderr", silent := io.StringIO())
    with show_elapsed_time():
        time.sleep(0.1)
    assert silent.getvalue() == ""
