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
    """Run a command that ends with a status; return what it prints on both streams."""
    ended, out, err = ended_with(folder, *arguments, stdin=stdin)
    assert ended == status, err
    return out, err


def ended_with(folder: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command in a folder; return its status and what it prints on both streams."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)) as stdout,
        contextlib.redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)) as stderr,
        warnings.catch_warnings(),
        mock.patch("sys.argv", ["cranfield", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
    ):
        status = run()
        stdout.flush()
        stderr.flush()
    return status, out.getvalue().decode(), err.getvalue().decode()
