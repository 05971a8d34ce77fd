"""Command lines in this process: exit status 0 or 2, an error in one line, no file half written."""

from __future__ import annotations

import io
import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from cranfield.cli.main import main
from studies.attack.work.cases import MOST, FindingError, HangError, shown, where, words

CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\x80-\\x9f]")
"""What no terminal should be told by a file."""
DATA = {*words("csv json trec ir_measures parquet errlog assign interleave fuse pool pack export")}
"""Formats and commands whose output is data, which is not changed."""


def in_this_process(
    rng: random.Random,
    folder: Path,
    arguments: list[str],
    given: bytes,
    contents: str,
    *,
    refusals: bool = False,
) -> bool:
    """Run a command in this process, streams and arguments replaced.

    Some commands may also end in 1, which says that what they looked at was refused.
    """
    before = files_in(folder)
    inputs = io.TextIOWrapper(io.BufferedReader(io.BytesIO(given)))
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "ascii", "cp1252"))
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    status: object = 0
    reproducer = f"cranfield {arguments!r}, output in {encoding}, {contents}"
    with (
        patch.multiple(sys, argv=["cranfield", *arguments], stdin=inputs, stdout=out, stderr=err),
        warnings.catch_warnings(),
    ):
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        except (HangError, KeyboardInterrupt):
            raise
        except BaseException as error:
            text = traceback.format_exception_only(error)[-1].strip()
            key = f"{type(error).__name__} at {where(error)}"
            raise FindingError(f"{shown(text)} at {where(error)}", reproducer, key) from None
    err.flush()
    said = err.buffer.getvalue().decode(encoding, "replace")
    out.flush()
    shown_there = out.buffer.getvalue().decode(encoding, "replace")
    data = DATA & {*" ".join(arguments).replace("=", " ").split()}
    found = None if data else CONTROL.search(shown_there)
    if found:
        raise FindingError(f"shown: {found}", reproducer, "control characters")
    check(0 if refusals and status == 1 else status, said, before, folder, arguments, reproducer)
    return status == 0


def check(
    status: object, said: str, before: set[str], folder: Path, arguments: list[str], reproducer: str
) -> None:
    added = files_in(folder) - before
    for name in added:
        (folder / name).unlink(missing_ok=True)
    if "Traceback" in said:
        raise FindingError(f"a traceback: {said.strip().splitlines()[-1]}", reproducer, "traceback")
    if status not in {0, 2}:
        raise FindingError(f"exit status {status}: {said}", reproducer, f"status {status}")
    # Parts of a study that is to be gone on with stay, whatever ends it.
    parts = tuple(f"{name}/" for name in _resumed(arguments))
    if status == 2 and any(not name.startswith(parts) for name in added):
        raise FindingError(f"an error, and yet a file {added}", reproducer, "file left")
    hidden = [name for name in added if name.rpartition("/")[2].startswith(".")]
    # A site says by a file of its own that it may be written over.
    if any(not name.endswith("/.cranfield-site") for name in hidden):
        raise FindingError(f"a temporary file {added} stays", reproducer, "temporary file")
    lines = [
        line
        for line in said.split("\n")
        if line and not line.startswith(("cranfield: warning: ", "cranfield: note: "))
    ]
    # Who checks several files, or hands them in, is told of each that cannot be read.
    most = 1 if {"check", "submit"}.isdisjoint(arguments) else len(arguments)
    errors = [line.startswith("cranfield: error: ") for line in lines]
    if status == 2 and not (all(errors) and 1 <= len(errors) <= most):
        raise FindingError(f"the error is {said!r}", reproducer, "not one line")
    for line in said.split("\n"):
        if not line.isprintable() or len(line) > MOST + 100:
            raise FindingError(f"shown: {line!a}", reproducer, "no short printable line")


def _resumed(arguments: list[str]) -> Iterator[str]:
    for option, value in pairwise([*arguments, ""]):
        if option == "--resume":
            yield value
        elif option.startswith("--resume="):
            yield option.partition("=")[2]


def files_in(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
