"""Files that are written, and calls that are refused or warn, in one line each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf


def refuses(
    message: str,
    call: Callable[..., Any],
    *values: Any,
    error: type[Exception] = cf.InputError,
    **options: Any,
) -> None:
    """Check that a call raises an error with a message, a regular expression."""
    with pytest.raises(error, match=message or None):
        call(*values, **options)


def warns(message: str, call: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Check that a call warns with a message, a regular expression; return what it returns."""
    with pytest.warns(cf.CranfieldWarning, match=message):
        return call(*values, **options)


def written(path: Path, text: str) -> Path:
    """Write a file, and return its path."""
    path.write_text(text)
    return path


def table_file(path: Path, frame: pl.DataFrame) -> Path:
    """Write a table in the format of the suffix, and return the path."""
    writers: dict[str, Callable[[Path], Any]] = {
        **{".parquet": frame.write_parquet, ".json": frame.write_json},
        **dict.fromkeys((".jsonl", ".ndjson"), frame.write_ndjson),
        ".tsv": partial(frame.write_csv, separator="\t"),
    }
    writers.get(path.suffix, frame.write_csv)(path)
    return path
