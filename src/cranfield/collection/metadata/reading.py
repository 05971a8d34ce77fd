"""Read the metadata of a run from its header or from a separate file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, warn
from cranfield.sources.chunks import Source
from cranfield.sources.text import decode_text

if TYPE_CHECKING:
    from cranfield.collection.metadata.metadata import Metadata


MAX_BYTES = 1 << 20
"""Maximum number of bytes of a header or a file of metadata."""

_HEAD_BYTES = 1 << 16
"""Number of bytes at the start of a file in which a header must begin."""

_START = re.compile(
    rb"(?:\xef\xbb\xbf)?((?:[ \t\r]*(?:#[^\n]*)?\n)*?)"
    rb"[ \t]*(?:(#)[ \t]*)?ir_metadata\.start[ \t\r]*\n"
)
_END = re.compile(rb"^[ \t]*(?:#[ \t]*)?ir_metadata\.end[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*# ?", re.MULTILINE)
_UNCOMMENTED = re.compile(rb"^(?![ \t]*(?:#|\r?$))", re.MULTILINE)

_SYSDESC = re.compile(rb"(?:\xef\xbb\xbf)?((?:[ \t\r]*\n)*)[ \t]*<SYSDESC>", re.IGNORECASE)
_SYSDESC_END = re.compile(rb"([^\n]*?)</SYSDESC>[ \t\r]*(?:\n|\Z)", re.IGNORECASE)


class HeaderError(InputError):
    """Raised for a header without an end, or with lines that are not comments before its end."""


@dataclass(frozen=True)
class Header:
    """Metadata at the start of a run.

    raw: bytes of the header, from the start marker to the end of the line of the end marker.
    text: YAML (`form` is `ir_metadata`), or the description of an NTCIR run (`sysdesc`).
    source, line: the file, and the line of the start marker, from 1.
    offset: number of bytes of the file before the header.
    is_commented: whether all lines of the header are comments, which readers of runs skip.
    """

    raw: bytes
    text: bytes
    form: str
    source: str
    line: int
    offset: int
    is_commented: bool

    def blank_out(self, chunk: bytes) -> bytes:
        """Replace a header that is not commented by empty lines, in the first chunk of a file."""
        if self.is_commented:
            return chunk
        end = self.offset + len(self.raw)
        return chunk[: self.offset] + b"\n" * self.raw.count(b"\n") + chunk[end:]


def find_header(chunk: bytes, source: str) -> Header | None:
    """Return the header of a run, or None; `chunk` has its first 2 MiB, or all bytes if fewer."""
    start, form = _START.match(chunk, 0, _HEAD_BYTES), "ir_metadata"
    if start is None:
        start, form = _SYSDESC.match(chunk, 0, _HEAD_BYTES), "sysdesc"
    if start is None:
        return None
    line, offset, limit = start.group(1).count(b"\n") + 1, start.end(1), start.end() + MAX_BYTES
    if form == "sysdesc":
        end = _SYSDESC_END.match(chunk, start.end(), limit)
        if end is None:
            reason = "expected </SYSDESC> in the line of <SYSDESC>, got none"
            raise HeaderError(reason, source=source, line=line)
        raw, text = chunk[offset : end.end()], end.group(1)
        return Header(raw, text, form, source, line, offset, is_commented=False)
    end = _END.search(chunk, start.end(), limit)
    if end is None:
        within = " within 1 MiB" if len(chunk) > limit else ""
        reason = f"expected ir_metadata.end after ir_metadata.start, got none{within}"
        raise HeaderError(reason, source=source, line=line)
    raw, text = chunk[offset : end.end()], chunk[start.end() : end.start()]
    is_commented = bool(start.group(2))
    if is_commented:
        if uncommented := _UNCOMMENTED.search(text):
            raise HeaderError(
                f"expected '#' at the start of each line of the header that begins in line {line},"
                " up to '# ir_metadata.end'",
                source=source,
                line=line + 1 + text.count(b"\n", 0, uncommented.start()),
            )
        text = _COMMENT.sub(b"", text)
        is_commented = end.group().lstrip().startswith(b"#")
    return Header(raw, text.replace(b"\r\n", b"\n"), form, source, line, offset, is_commented)


METADATA_FILE = "ir-metadata.yml"
"""Name of a metadata file beside runs; `RUN.ir-metadata.yml` is the file of a single run."""


def read_metadata(data: str | PathLike[str] | bytes | Header) -> Metadata | None:
    """Read the metadata of a run.

    Parameters
    ----------
    data
        The path of a YAML file (`.yml`, `.yaml`), or of a run, compressed or not, with a header;
        or the YAML text as bytes.

    Returns
    -------
    Metadata or None
        None for a run without a header.

    Raises
    ------
    InputError
        For invalid YAML, more than 1 MiB, 100,000 keys and values or 50 levels, aliases, unknown
        tags, or a header without an end; the message names the file and, if one line is at
        fault, the line.

    Warns
    -----
    CranfieldWarning
        For a key that occurs twice in one mapping; its last value is used.

    Examples
    --------
    >>> read_metadata(b"tag: bm25").get("tag")
    'bm25'
    """
    if isinstance(data, Header):
        return _parse_header(data)
    if isinstance(data, bytes):
        return _parse_metadata(data, "metadata", 1)
    path = fspath(data)
    if Path(path).suffix.lower() in (".yml", ".yaml"):
        with Source(path).open_raw() as file:
            return _parse_metadata(file.read(MAX_BYTES + 1), path, 1)
    head = next(Source(path).iterate_chunks(2 * MAX_BYTES), b"")
    header = find_header(head, path)
    return None if header is None else _parse_header(header)


@dataclass(frozen=True)
class MetadataLocation:
    """Location of a run's metadata, which are read on request.

    header: the header of the run, if it has one.
    path, tag: path and tag of the run. Beside the run NAME, a file `NAME.ir-metadata.yml` applies
        to it, else a file `ir-metadata.yml` unless that has another tag.
    file: the metadata file that the user passed.
    """

    header: Header | None = None
    path: str | None = None
    file: str | None = None
    tag: str | None = None

    def read(self) -> Metadata | None:
        """Read the file that the user passed, else the header, else a file beside the run."""
        if self.file is not None:
            return read_metadata(self.file)
        if self.header is not None:
            return _parse_header(self.header)
        if self.path is None or self.path == "-":
            return None
        run = Path(self.path)
        own_file = run.with_name(f"{run.name}.{METADATA_FILE}")
        if own_file.is_file():
            return read_metadata(own_file)
        shared_file = run.with_name(METADATA_FILE)
        metadata = read_metadata(shared_file) if shared_file.is_file() else None
        applies = metadata is not None and metadata.get("tag") in (None, self.tag)
        return metadata if applies else None


def format_header(location: MetadataLocation | None) -> bytes:
    """Return metadata as a header of comments, or b""; a header that was comments is unchanged."""
    if location is None:
        return b""
    header = location.header if location.file is None else None
    if header is not None and header.is_commented:
        return header.raw.removesuffix(b"\n") + b"\n"
    metadata = location.read()
    if metadata is None:
        return b""
    lines = metadata.to_yaml().rstrip("\n").split("\n")
    text = "".join(f"# {line}\n" for line in ("ir_metadata.start", *lines, "ir_metadata.end"))
    header = find_header(text.encode(), metadata.source)
    if header is None or len(header.raw) < len(text.encode()):
        reason = "the metadata contain the line 'ir_metadata.end', which would end the header"
        raise InputError(reason, source=metadata.source)
    return header.raw


def _parse_header(header: Header) -> Metadata:
    from cranfield.collection.metadata.metadata import Metadata

    if header.form == "sysdesc":
        description = decode_text(header.text, header.source, header.line).strip()
        return Metadata({"description": description}, header.source, header.line)
    return _parse_metadata(header.text, header.source, header.line + 1)


def _parse_metadata(data: bytes, source: str, line: int) -> Metadata:
    from cranfield.collection.metadata.metadata import Metadata, read_yaml

    if len(data) > MAX_BYTES:
        raise InputError("expected at most 1 MiB of metadata, got more", source=source)
    yaml = read_yaml(decode_text(data, source, line), source, line)
    for message in yaml.repeated_keys[:1]:
        n_others = len(yaml.repeated_keys) - 1
        warn(f"{source}: {message}" + (f" ({n_others:,} more)" if n_others else ""))
    return Metadata(yaml.values, source, line, data, yaml.repeated_keys)
