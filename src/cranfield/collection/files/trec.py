"""Which format of lines a file is in, and the way to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from cranfield.collection.files.blank_separated import Part, read_parts
from cranfield.collection.files.layouts import QRELS, RUN
from cranfield.sources.chunks import Source
from cranfield.sources.origin import LineMap

OF_QRELS = frozenset({"prels", "xqrels"})
"""Formats of judgments only."""

_HEAD = 1 << 16
"""Bytes that a first line is looked for in."""


def read_text(
    source: Source, layout: str, kind: str, lines: LineMap, encoding: str
) -> Iterable[Part] | None:
    """Read a file of lines, or return None for a format that is none of lines."""
    if layout == "text":
        from cranfield.collection.files.ntcir import recognised

        source, first = _peeked(source)
        layout = "ntcir" if recognised(first[:_HEAD], kind) else "trec"
    if layout == "trec":
        return read_parts(source, RUN if kind == "run" else QRELS, lines, encoding=encoding)
    if layout == "ntcir":
        from cranfield.collection.files.ntcir import read_ntcir

        return read_ntcir(source, kind, lines, encoding=encoding)
    if layout in OF_QRELS:
        from cranfield.collection.files import sampled as sampled_files

        read = sampled_files.read_prels if layout == "prels" else sampled_files.read_xqrels
        return read(source, kind, lines, encoding=encoding)
    return None


@dataclass(frozen=True)
class _Peeked(Source):
    """A file whose first chunk was looked at already."""

    rest: Iterator[bytes] = field(default_factory=lambda: iter(()))

    def chunks(self, size: int | None = None) -> Iterator[bytes]:
        """Yield the chunks, the first one included."""
        return self.rest


def _peeked(source: Source) -> tuple[Source, bytes]:
    """Look at the first chunk of a file; what is left to read begins with it."""
    chunks = source.chunks()
    first = next(chunks, b"")
    return _Peeked(source.path, chain([first] if first else [], chunks)), first
