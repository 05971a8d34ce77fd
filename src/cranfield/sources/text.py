"""Parse text: lines, separated cells, JSON, XML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from cranfield.base.errors import InputError, quote, warn
from cranfield.sources.archives import check_parts
from cranfield.sources.chunks import Source


@dataclass(eq=False, slots=True)
class Element:
    """An XML element; its text does not include the text of inner elements."""

    tag: str
    attributes: dict[str, str]
    line: int
    parent: Element | None
    texts: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def is_inside(self, *tags: str) -> bool:
        """Return True if the element is inside an element with one of these tags."""
        ancestor = self.parent
        while ancestor is not None and ancestor.tag not in tags:
            ancestor = ancestor.parent
        return ancestor is not None

    def walk(self) -> Iterator[Element]:
        """Yield the element and all elements inside it, in document order."""
        elements = [self]
        while elements:
            yield (element := elements.pop())
            elements += reversed(element.children)


def read_xml(source: Source) -> Element:
    """Return the root element; entities and external files are refused."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    # The first element is a parent for the root.
    elements = [Element("", {}, 0, None)]

    def add_element(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, elements[-1])
        elements[-1].children.append(element)
        elements.append(element)

    def add_text(text: str) -> None:
        elements[-1].texts.append(text)

    def refuse(reason: str) -> Any:
        raise InputError(reason, source=source.name, line=parser.CurrentLineNumber)

    parser.StartElementHandler = add_element
    parser.EndElementHandler = lambda tag: elements.pop()
    parser.CharacterDataHandler = add_text
    parser.EntityDeclHandler = lambda *_: refuse("declares entities, which are not supported")
    parser.ExternalEntityRefHandler = lambda *_: refuse(
        "refers to an external entity, which is not supported"
    )
    try:
        raw = source.read()
        check_parts(raw, source.name, b"<")
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        reason = f"is not well-formed XML: {expat.ErrorString(error.code)}"
        raise InputError(reason, source=source.name, line=error.lineno) from None
    return elements[0].children[0]


SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
"""Separators of cells, the most common first."""


def find_separator(head: str, preferred: str, others: Iterable[str] = ";") -> str | None:
    """Return the first of `preferred` and `others` that a header has outside quotes, or None."""
    unquoted = re.sub('"[^"]*"', "", head)
    return next((mark for mark in (preferred, *others) if mark in unquoted), None)


def decode_text(raw: bytes, source: str, first_line: int = 1) -> str:
    """Decode UTF-8 text, and remove byte order marks at its start; refuse invalid bytes."""
    try:
        # Converted or joined files may begin with two byte order marks.
        return raw.decode("utf-8-sig").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + first_line
        raise InputError(describe_encoding(raw), source=source, line=line) from None


def describe_encoding(raw: bytes) -> str:
    """Describe the encoding of bytes that are not UTF-8 text."""
    is_utf16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    return f"{'is UTF-16 text' if is_utf16 else 'is not UTF-8 text'}; save it as UTF-8"


def split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is not blank."""
    lines = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    yield from ((number, line) for number, line in lines if line.strip())


def split_rows(text: str, source: str, separator: str) -> tuple[list[tuple[str, ...]], list[int]]:
    """Return the rows, each as wide as the first one (the header), and their line numbers."""
    # If CR ends the lines, it also ends lines within cells.
    text = text if "\n" in text else text.replace("\r", "\n")
    # For Excel, the first line may declare the separator.
    text = re.sub(r"\Asep=[,;\t]\r?\n", "\n", text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[str, ...]] = []
    line_numbers: list[int] = []
    first_line = 1
    try:
        for row in reader:
            if any(map(str.strip, row)):
                width = len(rows[0]) if rows else len(row)
                if len(row) < width or any(map(str.strip, row[width:])):
                    got = f"{len(row)} separated by {SEPARATORS[separator]}"
                    reason = f"expected {width} cells as in the header, got {got}"
                    if len(rows) == 1 and len(row) == width + 1:
                        reason += "; in R, write.table(col.names=NA) names the column of row names"
                    raise InputError(reason, source=source, line=first_line)
                if reader.line_num > first_line:
                    _check_quotes(row[:width], source, separator, first_line, reader.line_num)
                # The garbage collector does not track tuples of text.
                rows.append(tuple(row[:width]))
                line_numbers.append(first_line)
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"is not a valid table: {error}", source=source, line=first_line) from None
    if not rows:
        raise InputError("is empty; expected a header", source=source)
    return rows, line_numbers


def _check_quotes(
    row: Sequence[str], source: str, separator: str, first_line: int, last_line: int
) -> None:
    """Refuse a cell that seems to contain parts of several rows; warn if it may be prose."""
    for k, cell in enumerate(row):
        counts = [line.count(separator) for line in cell.split("\n")]
        n_after, inner_counts = len(row) - 1 - k, [len(row) - 1] * (len(counts) - 2)
        if len(row) < 3 or len(counts) < 2 or counts != [n_after, *inner_counts, k]:
            continue
        reason = f"a quote joins lines {first_line} to {last_line} into one row"
        if " " in cell and separator != "\t":
            warn(f"{source}:{first_line}: {reason}; if the quote is a mistake, remove it")
        else:
            raise InputError(f"{reason}; remove the quote", source=source, line=first_line)


def parse_json(text: str, source: str, line: int | None = None) -> Any:
    """Parse JSON; refuse invalid JSON, duplicate keys, and too many objects or arrays."""
    # Numbers in arrays are not limited.
    check_parts(text, source, "{", "[")
    try:
        return _DECODER.decode(text)
    except _DuplicateKeyError as error:
        # The parser does not report the position.
        raise InputError(
            f"key {error} is repeated in an object", source=source, line=line
        ) from None
    except RecursionError:
        reason, error_line = "it is nested too deeply", line
    except json.JSONDecodeError as error:
        reason, error_line = error.msg, line or error.lineno
    except ValueError as error:
        reason, error_line = str(error).split(";")[0], line
    raise InputError(f"is not valid JSON: {reason}", source=source, line=error_line)


class _DuplicateKeyError(ValueError):
    """Raised for a repeated key in an object; the message is the key."""


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateKeyError(quote(next(name for name in names if names.count(name) > 1)))
    return mapping


_DECODER: Any = json.JSONDecoder(object_pairs_hook=_refuse_duplicate_keys)


def parse_json_lines(text: str, source: str) -> tuple[list[Any], list[int]]:
    """Parse JSON lines; return the values and the numbers of the lines that are not blank."""
    check_parts(text, source, "{", "[")
    numbered_lines = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = []
    for k, line in numbered_lines:
        record = line.strip(" \t\r")
        try:
            value, end = _DECODER.scan_once(record, 0)
        except (StopIteration, ValueError, RecursionError):
            end = -1
        # The complete parser, which takes several times as long, reads all other lines.
        values.append(value if end == len(record) else parse_json(line, source, k))
    return values, [k for k, _ in numbered_lines]
