"""How commands end when nobody reads on, or nothing can be computed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import cranfield


def test_a_reader_that_stops() -> None:
    command = [sys.executable, "-m", "cranfield", "measures", "AP"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_an_interruption_while_modules_are_loaded() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'cranfield.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from cranfield.cli.entry import entry\n"
        "entry()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)  # noqa: S603
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_what_the_parser_of_options_refuses_is_one_short_line(tmp_path: Path) -> None:
    _, said = cranfield(tmp_path, "completion", "bash", "\x1b" + "x" * 5_000, status=2)
    assert said.startswith("cranfield: error: Got unexpected extra argument (\\x1bxxx")
    assert len(said) < 700


def test_topics_that_are_not_in_all_runs_are_shown_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q Q0 d 1 1 a\n")
    (tmp_path / "b.run").write_text("q Q0 d 1 1 b\n\x1b[2J Q0 d 1 1 b\n")
    words = ("online", "interleave", "a.run", "b.run", "--impressions", "2")
    _, said = cranfield(tmp_path, *words)
    assert said.endswith("note: excluded 1 topic that some runs lack: \\x1b[2J\n")


def test_an_option_in_place_of_a_command(tmp_path: Path) -> None:
    _, said = cranfield(tmp_path, "--", "-q", status=2)
    # The words are those of click, whose versions differ.
    assert said.startswith("cranfield: error: No such option") and said.endswith(
        ("-q\n", "'-q'.\n")
    )


def test_no_thread_to_compute_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    _, said = cranfield(tmp_path, "measures", status=2)
    assert said.startswith("cranfield: error: POLARS_MAX_THREADS must be") and said.count("\n") == 1
