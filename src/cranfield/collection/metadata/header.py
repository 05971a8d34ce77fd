"""The header of a run: where it is, what it says, and the run without it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cranfield.base.errors import InputError

LARGEST = 1 << 20
"""Bytes of a header, and of a file of metadata."""

_HEAD = 1 << 16
"""Bytes of comments that may stand before it."""

_START = re.compile(
    rb"(?:\xef\xbb\xbf)?((?:[ \t\r]*(?:#[^\n]*)?\n)*?)"
    rb"[ \t]*(?:(#)[ \t]*)?ir_metadata\.start[ \t\r]*\n"
)
_END = re.compile(rb"^[ \t]*(?:#[ \t]*)?ir_metadata\.end[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*# ?", re.MULTILINE)
_BARE = re.compile(rb"^(?![ \t]*(?:#|\r?$))", re.MULTILINE)

_SYSDESC = re.compile(rb"(?:\xef\xbb\xbf)?((?:[ \t\r]*\n)*)[ \t]*<SYSDESC>", re.IGNORECASE)
_SYSDESC_END = re.compile(rb"([^\n]*?)</SYSDESC>[ \t\r]*(?:\n|\Z)", re.IGNORECASE)


class HeaderError(InputError):
    """A header that cannot be told from the run."""


@dataclass(frozen=True)
class Header:
    """The header of a run.

    raw: its bytes in the file, from its first mark to the end of the line of its last one.
    text: YAML, or the description of a run of NTCIR; by `form`, `ir_metadata` or `sysdesc`.
    source, line: the file, and the line of its first mark, from 1.
    before: bytes of the file before it.
    commented: whether all of it is comments, which every reader of runs skips.
    """

    raw: bytes
    text: bytes
    form: str
    source: str
    line: int
    before: int
    commented: bool

    def blanked(self, chunk: bytes) -> bytes:
        """Return the first chunk of the file with empty lines in its place."""
        if self.commented:
            return chunk
        end = self.before + len(self.raw)
        return chunk[: self.before] + b"\n" * self.raw.count(b"\n") + chunk[end:]


def header_of(chunk: bytes, source: str) -> Header | None:
    """Find the header in the first whole lines of a run, 1 MiB at the least; None without one."""
    if start := _START.match(chunk, 0, _HEAD):
        return _of_marks(chunk, source, start)
    if start := _SYSDESC.match(chunk, 0, _HEAD):
        line = start.group(1).count(b"\n") + 1
        end = _SYSDESC_END.match(chunk, start.end(), start.end() + LARGEST)
        if end is None:
            raise HeaderError("<SYSDESC> has no </SYSDESC> in its line", source=source, line=line)
        before = start.end(1)
        raw, text = chunk[before : end.end()], end.group(1)
        return Header(raw, text, "sysdesc", source, line, before, commented=False)
    return None


def _of_marks(chunk: bytes, source: str, start: re.Match[bytes]) -> Header:
    line = start.group(1).count(b"\n") + 1
    end = _END.search(chunk, start.end(), start.end() + LARGEST)
    if end is None:
        more = " within 1 MiB" if len(chunk) > start.end() + LARGEST else ""
        raise HeaderError(
            f"ir_metadata.start is not ended by ir_metadata.end{more}", source=source, line=line
        )
    before = start.end(1)
    raw, text = chunk[before : end.end()], chunk[start.end() : end.start()]
    commented = bool(start.group(2))
    if commented:
        if bare := _BARE.search(text):
            raise HeaderError(
                f"the header that begins in line {line} goes on without '#' before it is ended by"
                " ir_metadata.end",
                source=source,
                line=line + 1 + text.count(b"\n", 0, bare.start()),
            )
        text = _COMMENT.sub(b"", text)
        commented = end.group().lstrip().startswith(b"#")
    return Header(raw, text.replace(b"\r\n", b"\n"), "ir_metadata", source, line, before, commented)
