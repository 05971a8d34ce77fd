"""Dividing a recording into numbers and words.

Numbers are values, names of columns and attributes, exit statuses, and the files that are written.
Words are printed forms, messages, help and notes, with # for each number in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

PRINTED = re.compile(r"\s*(repr|str|html|error|warning|\.\w+ error) ")
"""Lines of printed forms and messages."""

SENTENCE = re.compile(r"""\s*(['"]).*\s.*""")
"""Lines that are one text with a blank in it."""

TABLES = re.compile(r"(-f|--format) '?(csv|json|trec|ir_measures)\b")
"""Commands whose output is read by programs."""

SECTION = re.compile(r"-- (output|errors|file .*)")


def divide(name: str, text: str) -> tuple[str, str]:
    """Return the numbers and the words of an item's text."""
    lines = text.split("\n")
    is_command = lines[0].startswith("status ") and "-- output" in lines
    parts = _command(name, lines) if is_command else _values(lines)
    numbers, words = zip(*parts, strict=True)
    return _joined(numbers), _joined(words)


def _values(lines: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Divide the lines of a value; the type of an error is no word."""
    for line in lines:
        if line.startswith("error "):
            yield line.partition(":")[0], line
        elif PRINTED.match(line) or SENTENCE.fullmatch(line):
            yield None, NUMBER.sub("#", line)
        else:
            yield line, None


def _command(name: str, lines: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Divide what a command printed and wrote, section by section."""
    section = ""
    for line in lines:
        if match := SECTION.fullmatch(line):
            section = match[1]
            yield line, line
        elif not section or (section == "output" and TABLES.search(name)):
            yield line, None
        elif section == "errors":
            yield None, NUMBER.sub("#", line)
        else:
            yield " ".join(NUMBER.findall(line)) or None, NUMBER.sub("#", line)


def _joined(lines: tuple[str | None, ...]) -> str:
    return "".join(f"{line}\n" for line in lines if line is not None)
