"""The command line, run in this process: starting Python for each command takes longer."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from unittest import mock

from cranfield.cli.main import run


def cranfield(
    folder: Path, *arguments: str, stdin: bytes = b"", status: int = 0
) -> tuple[str, str]:
    """Run a command in a folder; return what it prints on both streams."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)) as stdout,
        contextlib.redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)) as stderr,
        warnings.catch_warnings(),
        mock.patch("sys.argv", ["cranfield", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
    ):
        found = run()
        stdout.flush()
        stderr.flush()
    assert found == status, err.getvalue().decode()
    return out.getvalue().decode(), err.getvalue().decode()
