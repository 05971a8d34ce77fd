"""How commands end when nobody reads on."""

from __future__ import annotations

import subprocess
import sys


def test_a_reader_that_stops() -> None:
    command = [sys.executable, "-m", "cranfield", "measures", "AP"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
