"""Grades that are known, for some of the labelled pairs."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.reading import NO_TOPIC
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, InputError, PolicyError
from cranfield.base.words import counted
from cranfield.collection.files.named_columns import DOC
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import two_columns
from cranfield.sources.schemas import Column, schema_of_lines
from cranfield.sources.tables import read_table
from cranfield.sources.values import GRADE

_ITEMS = schema_of_lines(
    "table of gold grades",
    Column("doc", DOC.kind, "doc"),
    Column("grade", GRADE, "judgment"),
    mapping=two_columns("doc", "grade"),
)


def read_gold(data: Any, labels: Labels, **options: Any) -> Qrels:
    """Read judgments; of items without topics also `{item: grade}`, or lines of item and grade."""
    if labels.topics == (NO_TOPIC,) and _of_items(data):
        if options.get("columns") or options.get("encoding", "utf-8") != "utf-8":
            raise PolicyError("columns and encoding are for judgments, got items and grades")
        data, options = read_table(data, _ITEMS).frame.with_columns(topic=pl.lit(NO_TOPIC)), {}
    return read_qrels(data, **options)


def _of_items(data: Any) -> bool:
    if isinstance(data, Mapping):
        return not any(isinstance(value, Mapping) for value in data.values())
    if not isinstance(data, (str, PathLike)) or str(data).startswith("irds:"):
        return False
    source = Source(fspath(data))
    if source.suffix in FORMAT_OF_SUFFIX or source.path == "-":
        return False
    first = next((line for line in source.read().splitlines() if line.strip()), b"")
    return len(first.split()) == 2


def gold_levels(data: Any, labels: Labels) -> tuple[Ints, tuple[str, ...]]:
    """Return the known grade of each pair as a place on the scale, -1 where none is; and notes."""
    level = np.full(len(labels.docs), -1, dtype=np.int64)
    if data is None:
        return level, ()
    qrels = read_gold(data, labels)
    if qrels.subtopics is not None:
        raise InputError("gold judgments by subtopic are not taken", source=qrels.origin.name)
    found = labels.pairs.join(
        qrels.to_polars().select("topic", "doc", "grade"),
        on=["topic", "doc"],
        how="left",
        maintain_order="left",
    )["grade"]
    rows = found.is_not_null().arg_true().to_numpy()
    if not rows.size:
        raise CranfieldError(f"{qrels.origin.name}: no labelled pair is among the gold judgments")
    grades = found.gather(rows).to_numpy()
    level[rows] = np.searchsorted(labels.grades, grades)
    off = np.flatnonzero(labels.grades[np.minimum(level[rows], labels.grades.size - 1)] != grades)
    if off.size:
        topic, doc = labels.pairs.row(int(rows[off[0]]))
        scale = ", ".join(map(str, labels.grades[:8].tolist()))
        raise InputError(
            f"gold grade {grades[off[0]]} is off the scale of the labels ({scale})",
            source=qrels.origin.name,
            topic=topic,
            doc=doc,
        )
    unused = len(qrels) - rows.size
    notes = [f"{counted(rows.size, 'pair')} with a gold grade"]
    if unused:
        notes.append(f"{counted(unused, 'gold judgment')} of pairs that nobody labelled")
    return level, tuple(notes)
