"""Read runs and judgments from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.words import some_of
from cranfield.collection.files.format_names import FORMATS, OF_LINES, OF_QRELS
from cranfield.collection.files.line_formats import read_text, without_header
from cranfield.collection.files.parts import Chunk, Columns, Part, coded
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, LineMap, Origin, Source, check_encoding

NO_INTENT = "0"
"""In judgments of NTCIR by intent: documents that are relevant to none."""

_COLUMNS = ("class", "stratum", "inclusion")
"""Columns of judgments besides the grade."""


def read_qrels(
    data: Any, *, format: str = "auto", encoding: str = "utf-8", subtopics: bool | None = None
) -> Qrels:
    """Read relevance judgments.

    Parameters
    ----------
    data
        A path (`-` is standard input), an ir_datasets id as `"irds:..."`, a dict
        `{topic: {document: grade}}`, a data frame of any library, or an iterable of named tuples,
        mappings or (topic, document, grade) tuples. Files may be packed (gz, bz2, xz, zst).
    format
        One of `auto`, `trec` (topic, iteration, document, grade, separated by any blanks), `csv`,
        `tsv`, `json`, `jsonl`, `parquet`; `ntcir` (grades L0, L1 and so on; recognised by itself:
        see :mod:`cranfield.collection.files.ntcir`); and judgments of samples, `prels` (topic,
        document, grade, method, inclusion probability) and `xqrels` (topic, iteration, document,
        stratum, grade; a grade below 0 is in the pool, but not sampled).
    encoding
        Of TREC text; `latin-1` reads any bytes.
    subtopics
        Whether the iteration column is the subtopic; by default it is where it tells subtopics
        apart: where some document of a topic is judged in more than one.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few or too many columns, a grade that is no
        integer, a document judged twice, an inclusion probability outside 0 to 1, an empty file,
        undecodable bytes, a damaged archive.
    PolicyError
        For an unknown format or encoding.

    Examples
    --------
    >>> read_qrels([("q1", "d1", 2), ("q1", "d2", 0)])
    Qrels(1 topic, 2 judgments, grades 0 to 2)
    """
    if isinstance(data, Qrels):
        return data
    if isinstance(data, dict) and (format, encoding) == ("auto", "utf-8"):
        from cranfield.collection.files.nested import qrels_of_dicts

        if (qrels := qrels_of_dicts(data)) is not None:
            return qrels
    parts, origin, _, _ = _parts(data, "qrels", format, encoding)
    columns = Columns(parts)
    extra = {name: columns.labels(name) for name in _COLUMNS if columns.has(name)}
    grades = columns.joined("grade")
    if "inclusion" in extra:
        chances = extra["inclusion"]
        _refuse(
            columns,
            origin,
            ~((chances >= 0) & (chances <= 1)),
            lambda row: f"inclusion probability {chances[row]:g} is not from 0 to 1",
        )
    return Qrels(
        topics=tuple(columns.coder.names),
        codes=columns.codes,
        docs=columns.docs,
        grades=grades,
        subtopics=_intents(columns, grades, origin, subtopics)
        if columns.has("intent")
        else _subtopics(columns, subtopics),
        origin=origin,
        columns=extra,
    )


def read_run(
    data: Any,
    *,
    name: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    metadata: bool | str | PathLike[str] = True,
) -> Run:
    """Read one run.

    Parameters
    ----------
    data
        As for :func:`read_qrels`, with a score in place of the grade.
    name
        The system's name; by default the run tag, or the file's name where there is none or where
        there are several.
    format
        One of `auto`, `trec`, `ntcir`, `csv`, `tsv`, `json`, `jsonl`, `parquet`; a TREC run line is
        topic, Q0, document, rank, score, tag, and `ntcir` is the same separated by semicolons.
    encoding
        As for :func:`read_qrels`.
    metadata
        Whether `Run.metadata` reads the header of the file, or a file beside it (`ir-metadata.yml`,
        or that name after the run's own and a full stop); or the file to read them from.

    Returns
    -------
    Run
        The run, its rows in the order of the file.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few columns, a score that is no finite
        number, a document twice in one topic, an empty file, undecodable bytes, a damaged archive,
        a header without its end.

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
    if isinstance(data, dict) and (format, encoding) == ("auto", "utf-8"):
        from cranfield.collection.files.nested import run_of_dicts

        run = run_of_dicts(data, name or "run", _described(None, metadata, None))
        if run is not None:
            return run
    parts, origin, stem, place = _parts(data, "run", format, encoding)
    columns = Columns(parts)
    ranks = columns.joined("rank") if columns.has("rank") else None
    if len(columns.tags) > 1:
        _warn_of_tags(list(columns.tags), origin, stem)
    tag = next(iter(columns.tags), None) if len(columns.tags) == 1 else None
    return Run(
        name=name or tag or stem,
        topics=tuple(columns.coder.names),
        codes=columns.codes,
        docs=columns.docs,
        scores=columns.joined("score"),
        ranks=ranks,
        origin=origin,
        described=_described(place, metadata, tag),
        known_keys=columns.keys,
    )


def _described(
    place: MetadataPlace | None, wanted: bool | str | PathLike[str], tag: str | None
) -> MetadataPlace | None:
    if not isinstance(wanted, bool):
        return MetadataPlace(file=fspath(wanted))
    return replace(place, tag=tag) if wanted and place is not None else None


def _parts(
    data: Any, kind: str, layout: str, encoding: str
) -> tuple[Iterable[Part], Origin, str, MetadataPlace | None]:
    """Read any kind of input as typed columns; with its origin, a name for it, its metadata."""
    check_encoding(encoding)
    check_choice("format", layout, FORMATS)
    place: MetadataPlace | None = None
    if layout in OF_QRELS and kind != "qrels":
        raise PolicyError(f"format {quoted(layout)} is one of judgments, not of runs")
    if isinstance(data, (str, PathLike)) and not str(data).startswith("irds:"):
        source = Source.of(data)
        if layout == "auto":
            layout = FORMAT_OF_SUFFIX.get(source.suffix, "text")
        lines = LineMap()
        place = MetadataPlace(path=source.path)
        if kind == "run" and layout in OF_LINES:
            source, place = without_header(source)
        if (parts := read_text(source, layout, kind, lines, encoding)) is not None:
            return parts, Origin(source.name, lines), source.stem, place
    # What the text formats do not need is only loaded here; it would be most of their time.
    from cranfield.collection.files.named_columns import QRELS, RUN
    from cranfield.sources.columns import columns_of_file, columns_of_records, read_columns
    from cranfield.sources.tables import fitted

    schema = RUN if kind == "run" else QRELS
    stem = "run"
    if isinstance(data, str) and data.startswith("irds:"):
        from cranfield.collection.files.irds import records

        columns, stem = columns_of_records(list(records(data, kind)), schema, data), data
    elif isinstance(data, (str, PathLike)):
        columns, stem = columns_of_file(source, schema, layout), source.stem
        place = MetadataPlace(path=source.path)
    else:
        columns = read_columns(data, schema)
    table = fitted(columns.matched(schema), schema, columns.source, columns.lines)
    return (
        [coded(Chunk(table.frame))],
        Origin(columns.source, LineMap.of(columns.lines)),
        stem,
        place,
    )


def _subtopics(columns: Columns, wanted: bool | None) -> pl.Series | None:
    """Keep the iteration column only where it tells subtopics apart, unless that is said.

    It does when one document of one topic is judged in several iterations; the ad hoc tracks write
    0, or the round of judging, there.
    """
    if not columns.has("subtopic"):
        return None
    column = columns.text("subtopic")
    if wanted is not None:
        return column if wanted else None
    if column.n_unique() == 1:
        return None
    pairs = pl.DataFrame({"code": columns.codes, "doc": columns.docs, "part": column})
    several = pairs.group_by("code", "doc").agg(pl.col("part").n_unique())["part"].max()
    return column if isinstance(several, int) and several > 1 else None


def _refuse(columns: Columns, origin: Origin, wrong: Bools, reason: Callable[[int], str]) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        topic = columns.coder.names[int(columns.codes[row])]
        raise origin.wrong(reason(row), row, topic, columns.docs[row])


def _intents(
    columns: Columns, grades: np.ndarray[Any, Any], origin: Origin, wanted: bool | None
) -> pl.Series | None:
    """Keep a column of intents; one that is the same throughout says nothing, unless wanted."""
    column = columns.text("intent")
    if wanted is False or (wanted is None and column.n_unique() == 1):
        return None
    _refuse(
        columns,
        origin,
        (column == NO_INTENT).to_numpy() & (grades > 0),
        lambda row: (
            f"intent {NO_INTENT} is for documents that are relevant to no intent, and the"
            f" grade is {grades[row]}"
        ),
    )
    return column


def _warn_of_tags(tags: list[str], origin: Origin, stem: str) -> None:
    warn(
        f"{origin.name}: {len(tags)} different run tags ({some_of(map(quoted, tags), 3)});"
        f" the system is called {quoted(stem)}",
        stacklevel=3,
    )
