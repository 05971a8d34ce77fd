"""How commands end when nobody reads on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.running import cranfield


def test_a_reader_that_stops() -> None:
    command = [sys.executable, "-m", "cranfield", "measures", "AP"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_what_the_parser_of_options_refuses_is_one_short_line(tmp_path: Path) -> None:
    _, said = cranfield(tmp_path, "completion", "bash", "\x1b" + "x" * 5_000, status=2)
    assert said.startswith("cranfield: error: Got unexpected extra argument (\\x1bxxx")
    assert len(said) < 700
