"""Files as text, lines and JSON; what cannot be read names the line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.sources.chunks import Source


def content(source: Source) -> bytes:
    """Return what is in a file; a name that no file can have is an InputError too."""
    try:
        return source.read()
    except UnicodeEncodeError:
        raise InputError(f"no file is called {quoted(source.name)}") from None


def stem_of(data: Any) -> str:
    """Return the name that a system has by its file; `run` for what is no file.

    Examples
    --------
    >>> stem_of("runs/mine.csv.gz"), stem_of([])
    ('mine', 'run')
    """
    if not isinstance(data, (str, PathLike)):
        return "run"
    try:
        return Source(fspath(data)).stem
    except UnicodeEncodeError:
        raise InputError(f"no file is called {quoted(data)}") from None


def decoded(raw: bytes, source: str) -> str:
    """Decode UTF-8 text; what is not, is an InputError that names the line."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", source=source, line=line) from None


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers."""
    lines = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    return [(number, line) for number, line in lines if line.strip()]


def json_lines(text: str, source: str) -> Iterable[tuple[int, Any]]:
    """Read JSON lines: the number and the value of each line that is not empty."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, parsed_json(line, source, number)


def parsed_json(text: str, source: str, line: int | None = None) -> Any:
    """Parse JSON; what is wrong, or twice in one object, is an InputError."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{quoted(twice)} is twice in one object", source=source, line=line)
        return made

    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError:
        reason, at = "it is nested too deeply", line
    except json.JSONDecodeError as error:
        reason, at = error.msg, line or error.lineno
    except ValueError as error:
        reason, at = str(error).split(";")[0], line
    raise InputError(f"is no valid JSON: {reason}", source=source, line=at)
