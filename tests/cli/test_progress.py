"""Bars on a terminal, and none elsewhere."""

from __future__ import annotations

import io

import pytest

from cranfield.cli.options.progress import progress_bar, progress_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    for bar in (progress_bar("splitting"), progress_of(range(9))):
        with bar as progress:
            assert progress is None


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal())
    for bar, what in (
        (progress_bar("[splitting]"), "[splitting]"),
        (progress_of("abcd"), "judging"),
    ):
        monkeypatch.setattr("sys.stderr", shown := Terminal())
        with bar as progress:
            assert progress is not None
            progress(3, 4)
        assert what in shown.getvalue() and "3/4" in shown.getvalue()
    with progress_of("abc") as none:
        assert none is None
