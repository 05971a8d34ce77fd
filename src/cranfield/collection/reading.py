"""Read runs and judgments from wherever they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.collection.keys import TopicCoder
from cranfield.collection.lines import Origin
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import Source
from cranfield.collection.text import QRELS, RUN, read_table
from cranfield.errors import CranfieldWarning, InputError, PolicyError, quoted

FORMATS = ("auto", "trec", "csv", "tsv", "json", "jsonl", "parquet")
"""Formats that can be read; `auto` looks at the file's suffix, archive suffixes removed."""

_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def read_qrels(data: Any, *, format: str = "auto", encoding: str = "utf-8") -> Qrels:
    """Read relevance judgments.

    Parameters
    ----------
    data
        A path (`-` is standard input), an ir_datasets id as `"irds:..."`, a dict
        `{topic: {document: grade}}`, a data frame of any library, or an iterable of named tuples,
        mappings or (topic, document, grade) tuples. Files may be packed (gz, bz2, xz, zst).
    format
        One of `auto`, `trec` (topic, iteration, document, grade, separated by any blanks), `csv`,
        `tsv`, `json`, `jsonl`, `parquet`.
    encoding
        Of TREC text; `latin-1` reads any bytes.

    Returns
    -------
    Qrels
        The judgments. Where the iteration column varies it is kept as the subtopic.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few or too many columns, a grade that is no
        integer, a document judged twice, an empty file, undecodable bytes, a damaged archive.

    Examples
    --------
    >>> read_qrels([("q1", "d1", 2), ("q1", "d2", 0)])
    Qrels(1 topic, 2 judgments, grades 0 to 2)
    """
    if isinstance(data, Qrels):
        return data
    frames, origin, _ = _frames(data, "qrels", format, encoding)
    coder = TopicCoder()
    codes = np.concatenate([coder.encode(frame["topic"]) for frame in frames])
    return Qrels(
        topics=tuple(coder.names),
        codes=codes,
        docs=_joined(frames, "doc"),
        grades=_joined(frames, "grade").to_numpy(),
        subtopics=_subtopics(frames, codes),
        origin=origin,
    )


def read_run(
    data: Any,
    *,
    name: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> Run:
    """Read one run.

    Parameters
    ----------
    data
        As for :func:`read_qrels`, with a score in place of the grade.
    name
        The system's name; by default the run tag, or the file's name where there is none or where
        there are several.
    format, encoding
        As for :func:`read_qrels`; a TREC run line is topic, Q0, document, rank, score, tag.

    Returns
    -------
    Run
        The run, its rows in the order of the file.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few columns, a score that is no finite
        number, a document twice in one topic, an empty file, undecodable bytes, a damaged archive.

    Warns
    -----
    CranfieldWarning
        When a file holds several run tags.

    Examples
    --------
    >>> read_run([("q1", "d1", 2.5), ("q1", "d2", 1.0)], name="bm25")
    Run('bm25': 1 topic, 2 documents)
    """
    if isinstance(data, Run):
        return data if name is None else data.renamed(name)
    frames, origin, stem = _frames(data, "run", format, encoding)
    tag = _tag(frames, origin, stem)
    coder = TopicCoder()
    codes = np.concatenate([coder.encode(frame["topic"]) for frame in frames])
    ranks = None
    if "rank" in frames[0].columns:
        column = _joined(frames, "rank")
        ranks = column.fill_null(0).to_numpy() if column.null_count() < len(column) else None
    return Run(
        name=name or tag or stem,
        topics=tuple(coder.names),
        codes=codes,
        docs=_joined(frames, "doc"),
        scores=_joined(frames, "score").to_numpy(),
        ranks=ranks,
        origin=origin,
    )


def _frames(
    data: Any, kind: str, layout: str, encoding: str
) -> tuple[list[pl.DataFrame], Origin, str]:
    """Read any kind of input as typed columns; with its origin and a name for it."""
    from cranfield.collection import tables

    if layout not in FORMATS:
        raise PolicyError(f"format {quoted(layout)} is none of {', '.join(FORMATS)}")
    label = {"run": "a run", "qrels": "judgments"}[kind]
    if isinstance(data, str) and data.startswith("irds:"):
        from cranfield.collection.irds import records

        return [tables.from_records(records(data, kind), kind, data)], Origin(data), data
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        if layout == "auto":
            layout = _BY_SUFFIX.get(source.suffix, "trec")
        if layout != "trec":
            frame = tables.from_file(source, kind, layout)
            return [frame], Origin(source.name), source.stem
        frames, lines = read_table(source, RUN if kind == "run" else QRELS, encoding=encoding)
        return frames, Origin(source.name, lines), source.stem
    if isinstance(data, Mapping):
        return [tables.from_mapping(data, kind, label)], Origin(label), "run"
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        return [tables.from_frame(data, kind, label)], Origin(label), "run"
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return [tables.from_records(data, kind, label)], Origin(label), "run"
    raise InputError(f"{type(data).__name__} cannot be read as {label}")


def _joined(frames: list[pl.DataFrame], column: str) -> pl.Series:
    """Join a column over the chunks, releasing each chunk's part as it goes."""
    if len(frames) == 1:
        return frames[0][column].rechunk()
    joined = pl.concat([frame[column] for frame in frames], rechunk=True)
    for i, frame in enumerate(frames):
        frames[i] = frame.drop(column)
    return joined


def _subtopics(frames: list[pl.DataFrame], codes: np.ndarray[Any, Any]) -> pl.Series | None:
    """Keep the iteration column only where it tells subtopics apart.

    It does when one document of one topic is judged in several iterations; the ad hoc tracks write
    0, or the round of judging, there.
    """
    if "subtopic" not in frames[0].columns:
        return None
    column = _joined(frames, "subtopic")
    if column.n_unique() == 1:
        return None
    pairs = pl.DataFrame(
        {"code": codes, "doc": pl.concat([frame["doc"] for frame in frames]), "part": column}
    )
    several = pairs.group_by("code", "doc").agg(pl.col("part").n_unique())["part"].max()
    return column if isinstance(several, int) and several > 1 else None


def _tag(frames: list[pl.DataFrame], origin: Origin, stem: str) -> str | None:
    if "tag" not in frames[0].columns:
        return None
    first = frames[0]["tag"][0]
    others = [
        other
        for frame in frames
        if not (same := frame["tag"] == first).all()
        and (other := frame["tag"].filter(~same).unique(maintain_order=True)).len()
    ]
    for i, frame in enumerate(frames):
        frames[i] = frame.drop("tag")
    if not others:
        return str(first) if first is not None else None
    tags = [first, *dict.fromkeys(tag for other in others for tag in other)]
    shown = ", ".join(quoted(tag) for tag in tags[:3]) + (", …" if len(tags) > 3 else "")
    warnings.warn(
        CranfieldWarning(
            f"{origin.name}: {len(tags)} different run tags ({shown});"
            f" the system is called {quoted(stem)}"
        ),
        stacklevel=4,
    )
    return None
