"""The text of a run as a release has it: its lines as they were handed in, and nothing else."""

from __future__ import annotations

import lzma
import re
from io import BytesIO

from cranfield.collection.metadata.header import LARGEST, header_of
from cranfield.sources.archives import unpacked

_HEAD = 2 * LARGEST
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*\n?")
_B, _F = rb"[ \t\v\f\r]+", rb"([^ \t\v\f\r\n]+)"
_LINE = re.compile(rb"(?m)^[ \t\v\f\r]*" + _B.join([_F] * 6) + rb"[ \t\v\f\r]*$")
_NO_RANK = re.compile(rb"(?m)^([^ \n]+ Q0 [^ \n]+) (?!\d{1,9} )[^ \n]+")


def released_text(data: bytes, alias: str | None = None) -> bytes:
    """Return the lines of a run, unpacked, without comments, header or description.

    Those of a run without a name say nothing but topics, documents, ranks and scores, these as
    they were written: the second column is `Q0`, the last one the alias, a rank that is no number
    is 0, and there is one blank between columns.
    """
    with unpacked(BytesIO(data)) as stream:
        text = stream.read()
    # Its check has found that it ends.
    if header := header_of(text[:_HEAD], "the run"):
        text = text[header.before + len(header.raw) :]
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if alias is None:
        return text
    text = _LINE.sub(rb"\1 Q0 \3 \4 \5 " + alias.encode("ascii"), text)
    return _NO_RANK.sub(rb"\1 0", text.removeprefix(b"\xef\xbb\xbf"))


def packed(text: bytes) -> bytes:
    """Pack by xz, in one thread and by fixed settings: the same text gives the same bytes."""
    return lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset=3)
