"""Which format of lines a file is in, and the way to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from cranfield.collection.files.blank_separated import read_parts
from cranfield.collection.files.layouts import PRELS, QRELS, RUN, XQRELS
from cranfield.collection.files.parts import Part, coded
from cranfield.collection.metadata.header import header_of
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.sources.chunks import LineMap, Source

_HEAD = 1 << 16
"""Bytes that a first line is looked for in."""


def read_text(
    source: Source, layout: str, kind: str, lines: LineMap, encoding: str
) -> Iterable[Part] | None:
    """Read a file of lines, and note the line of each row; None for a format that is none of lines.

    The layout is `trec`, `ntcir`, `prels`, `xqrels`; or `text`, which is `ntcir` where that is
    certain from the first line, else `trec`. The kind is `qrels` or `run`.
    """
    if layout in {"text", "ntcir"}:
        from cranfield.collection.files.ntcir import read_ntcir, recognised

        if layout == "text":
            source, first = peeked(source)
            layout = "ntcir" if recognised(first[:_HEAD], kind) else "trec"
        if layout == "ntcir":
            return map(coded, read_ntcir(source, kind, lines, encoding=encoding))
    layouts = {"trec": RUN if kind == "run" else QRELS, "prels": PRELS, "xqrels": XQRELS}
    if layout not in layouts:
        return None
    return read_parts(source, layouts[layout], lines, coded, encoding=encoding)


@dataclass(frozen=True)
class _Peeked(Source):
    """A file whose first chunk was looked at already."""

    rest: Iterator[bytes] = field(default_factory=lambda: iter(()))

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        return self.rest


def peeked(source: Source) -> tuple[Source, bytes]:
    """Look at the first chunk of a file; what is left to read begins with it."""
    chunks = source.chunks()
    first = next(chunks, b"")
    return _Peeked(source.path, chain([first] if first else [], chunks)), first


def without_header(source: Source) -> tuple[Source, MetadataPlace]:
    """Take the header of a run off; its lines count."""
    whole, first = peeked(source)
    header = header_of(first, source.name)
    place = MetadataPlace(header, source.path)
    if header is None or header.commented:
        return whole, place
    rest = whole.chunks()
    next(rest)
    return _Peeked(source.path, chain([header.blanked(first)], rest)), place
