"""How commands end when somebody stops them, or stops reading."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "cranfield"]


def test_a_reader_that_stops() -> None:
    process = subprocess.Popen(
        [*COMMAND, "measures", "AP"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
def test_an_interrupted_command() -> None:
    # It waits for judgments that do not come.
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "-", "nowhere.run"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr
    time.sleep(5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert b"Traceback" not in process.stderr.read()
