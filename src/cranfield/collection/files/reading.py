"""Read runs and judgments from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, replace
from io import IOBase
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError, quoted, warn
from cranfield.base.words import counted, some_of
from cranfield.collection.files.format_names import (
    FORMATS,
    NUMBERS,
    OF_LINES,
    OF_QRELS,
    SEPARATORS,
)
from cranfield.collection.files.line_formats import (
    form_of_lines,
    read_text,
    scores_or_ranks,
    without_header,
)
from cranfield.collection.files.parts import Chunk, Columns, coded
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.packed import run_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.repeats import DUPLICATES, UNGRADED, without_repeats
from cranfield.collection.run import Run
from cranfield.collection.words import ids_of
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, LineMap, Origin, Source, check_encoding
from cranfield.sources.text import in_encoding

if TYPE_CHECKING:
    from cranfield.collection.files.named_columns import Called
    from cranfield.collection.files.system_tables import SystemTable

NO_INTENT = "0"
"""In judgments of NTCIR by intent: documents that are relevant to none."""

_FIRST = "duplicates='first' keeps the first one"
"""What helps where nothing tells two of a document apart."""

_COLUMNS = ("class", "stratum", "inclusion")
"""Columns of judgments besides the grade."""


def read_qrels(
    data: Any,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    subtopics: bool | None = None,
    columns: Mapping[str, str] | None = None,
    separator: str = "auto",
    duplicates: str = "error",
    ungraded: str = "error",
) -> Qrels:
    """Read relevance judgments.

    Parameters
    ----------
    data
        A path (`-` is standard input), an ir_datasets id as `"irds:..."`, a dict
        `{topic: {document: grade}}` or `{topic: [document, ...]}` (grade 1), a data frame of any
        library, or an iterable of named tuples, mappings or (topic, document, grade) tuples. Files
        may be packed (gz, bz2, xz, zst).
    format
        One of `auto`, `trec` (topic, iteration, document, grade, separated by any blanks), `csv`,
        `tsv`, `json`, `jsonl`, `parquet`; `ntcir` (grades L0, L1 and so on; recognised by itself:
        see :mod:`cranfield.collection.files.ntcir`); and judgments of samples, `prels` (topic,
        document, grade, method, inclusion probability) and `xqrels` (topic, iteration, document,
        stratum, grade; a grade below 0 is in the pool, but not sampled).
    encoding
        Of files of text; `latin-1` reads any bytes.
    subtopics
        Whether the iteration column is the subtopic; by default it is if its values are whole
        numbers (or the column is called subtopic) and some document of a topic is judged for
        more than one. With other values, such as names of assessors, such a document is judged
        twice, which is refused.
    columns
        What columns of a table are called, where that is none of their usual names:
        `{"doc": "product_id", "grade": "gain"}`, of `topic`, `doc`, `grade`, `subtopic`, `class`,
        `stratum` and `inclusion`.
    separator
        Separator of columns in text: `tab`, `blank` (any blanks, and further columns of runs are
        ignored), or `auto` (default): tabs on lines that have as many columns by tabs as the form
        has, and else blanks. What is in doubt is refused.
    duplicates
        What becomes of a document that is judged twice in one topic: `error` (default), or the
        judgment that is kept: `first`, `last`, `best` (the highest grade). They are counted and
        told.
    ungraded
        How to treat rows whose grade is empty, null, NaN or `NA`, such as those of a sheet that is
        half filled in: `error` (default), or `drop`, where the document is not judged. A line of
        TREC text without a grade ends after the document. They are counted, with a warning.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few or too many columns, a grade that is no
        integer, a document judged twice, an inclusion probability outside 0 to 1, an empty file,
        undecodable bytes, a damaged archive.
    PolicyError
        For an unknown format, encoding, column or policy.

    Warns
    -----
    CranfieldWarning
        For judgments that are left out, grades that are true and false, and topics of a dict that
        have no judgment.

    Examples
    --------
    >>> read_qrels([("q1", "d1", 2), ("q1", "d2", 0)])
    Qrels(1 topic, 2 judgments, grades 0 to 2)
    """
    if isinstance(data, Qrels):
        return data
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("ungraded", ungraded, UNGRADED)
    if isinstance(data, dict) and (format, encoding, columns) == ("auto", "utf-8", None):
        from cranfield.collection.files.nested import qrels_of_dicts

        if (qrels := qrels_of_dicts(data)) is not None:
            _tell_unjudged(data)
            return qrels.kept()
    given = _read(data, "qrels", format, encoding, columns, separator=separator, ungraded=ungraded)
    read, origin = given.columns, given.origin
    extra = {name: read.labels(name) for name in _COLUMNS if read.has(name)}
    grades = read.joined("grade")
    if "inclusion" in extra:
        chances = extra["inclusion"]
        _refuse(
            read,
            origin,
            ~((chances >= 0) & (chances <= 1)),
            lambda row: f"inclusion probability {chances[row]:g} is not from 0 to 1",
        )
    parts = (
        _intents(read, grades, origin, subtopics)
        if read.has("intent")
        else _subtopics(given, subtopics)
    )
    codes, docs, topics = read.codes, read.docs, tuple(read.coder.names)
    if duplicates != "error":
        kept = without_repeats(duplicates, grades, codes, docs, topics, origin, parts)
        if kept is not None:
            codes, docs, grades, origin = codes[kept], docs[kept], grades[kept], Origin(origin.name)
            parts = None if parts is None else parts[kept]
            extra = {name: values[kept] for name, values in extra.items()}
    _tell_unjudged(data)
    try:
        return Qrels(topics, codes, docs, grades, parts, origin, extra)
    except InputError as error:
        raise given.about_repeats(error, "qrels") from None


def refuse_open(data: Any) -> None:
    """Refuse an open file: it may be looked at twice, and its name says what it is."""
    if isinstance(data, IOBase):
        raise InputError("this is an open file: give its path, as text or as a Path")


def _tell_unjudged(data: Any) -> None:
    """Tell which topics of a mapping have no judgment, as judgments cannot hold these."""
    if not isinstance(data, Mapping):
        return
    empty = [
        topic for topic, inside in data.items() if isinstance(inside, Sized) and not len(inside)
    ]
    if empty:
        has = "has" if len(empty) == 1 else "have"
        warn(
            f"{counted(len(empty), 'topic')} of the judgments {has} none"
            f" ({some_of(map(quoted, empty), 3)}) and cannot count; a document with grade 0 lets a"
            " topic count",
            stacklevel=3,
        )


def read_run(
    data: Any,
    *,
    name: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    metadata: bool | str | PathLike[str] = True,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    separator: str = "auto",
    numbers: str = "auto",
    duplicates: str = "error",
) -> Run:
    """Read one run.

    Parameters
    ----------
    data
        As for :func:`read_qrels`, with a score in place of the grade; where there is a rank and no
        score, documents are in order of rank, and those of a list as they stand there.
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
    system
        The column of a table that names the system, where that is none of its usual names.
    columns
        As for :func:`read_qrels`, of `topic`, `doc`, `score`, `rank` and `system`.
    lower_is_better
        Whether documents with lower scores rank first, as by distance. `Run.scores` then have the
        opposite sign.
    separator
        As for :func:`read_qrels`.
    numbers
        Number in text of three columns (topic, document, number): `ranks`, `scores`, or `auto`
        (default), which refuses whole numbers that are neither clearly.
    duplicates
        As for :func:`read_qrels`; the `best` one is that with the best score.

    Returns
    -------
    Run
        The run, its rows in the order of the file.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few columns, a score that is no finite
        number, a document twice in one topic, an empty file, undecodable bytes, a damaged archive,
        a header without its end; for a table of several systems, which :func:`read_runs` reads.

    Warns
    -----
    CranfieldWarning
        When a file holds several run tags; for documents that are left out.

    Examples
    --------
    >>> read_run([("q1", "d1", 2.5), ("q1", "d2", 1.0)], name="bm25")
    Run('bm25': 1 topic, 2 documents)
    """
    if isinstance(data, Run):
        if lower_is_better:
            raise PolicyError("lower_is_better is for scores that are not read yet, got a Run")
        return data if name is None else data.renamed(name)
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("numbers", numbers, NUMBERS)
    usual = (format, encoding, columns, system) == ("auto", "utf-8", None, None)
    usual = usual and not lower_is_better
    if isinstance(data, dict) and usual:
        from cranfield.collection.files.nested import run_of_dicts

        run = run_of_dicts(data, "run" if name is None else name, _described(None, metadata, None))
        if run is not None:
            return run.kept()
    given = _read(data, "run", format, encoding, columns, system, separator)
    read, origin, tags = given.columns, given.origin, [*given.columns.tags]
    topics, codes, docs, known_keys = given.topics, read.codes, read.docs, read.keys
    words = read.words
    if read.has("value"):
        scores, ranks = scores_or_ranks(read.joined("value"), codes, origin.name, numbers)
    else:
        if numbers != "auto":
            warn(
                f"{origin.name}: numbers={numbers!r} has no effect, as the columns are not topic,"
                " document and number",
                stacklevel=2,
            )
        scores = read.joined("score")
        ranks = read.joined("rank") if read.has("rank") else None
    scores = _negated(scores, ranks, origin) if lower_is_better else scores
    if duplicates != "error":
        docs, words, known_keys = docs if words is None else ids_of(words), None, None
        kept = without_repeats(duplicates, scores, codes, docs, topics, origin)
        if kept is not None:
            codes, docs, scores, origin = codes[kept], docs[kept], scores[kept], Origin(origin.name)
            ranks = None if ranks is None else ranks[kept]
    if len(tags) > 1 and given.table is not None:
        raise InputError(
            f"holds {len(tags)} systems ({some_of(map(quoted, tags), 3)}); read_runs reads each",
            source=origin.name,
        )
    tag = tags[0] if len(tags) == 1 else None
    rest: dict[str, Any] = {
        "name": tag or given.stem if name is None else name,
        "topics": topics,
        "codes": codes,
        "scores": scores,
        "ranks": ranks,
        "origin": origin,
        "described": _described(given.place, metadata, tag),
    }
    try:
        made = run_of(docs if words is None else words, known_keys, **rest)
    except InputError as error:
        raise given.about_repeats(error, "run") from None
    if len(tags) > 1:
        _warn_of_tags(tags, origin, made.name)
    return made


def _negated(scores: Floats, ranks: np.ndarray[Any, Any] | None, origin: Origin) -> Floats:
    """Return scores of which lower is better as scores of which higher is better."""
    if ranks is not None and np.array_equal(scores, -ranks.astype(np.float64)):
        raise InputError("expected scores, as lower is better, got ranks only", source=origin.name)
    return -scores


def systems_table(
    data: Any,
    *,
    format: str,
    encoding: str,
    columns: Mapping[str, str] | None = None,
    system: str | None = None,
    separator: str = "auto",
) -> SystemTable | None:
    """Read what may hold several systems; None for what holds one, or is no table."""
    if isinstance(data, (str, PathLike)):
        source = Source.of(data)
        layout = FORMAT_OF_SUFFIX.get(source.suffix, "text") if format == "auto" else format
        if source.path.startswith("irds:") or (layout in OF_LINES and system is None):
            return None
        if (
            layout == "tsv"
            and source.path != "-"
            and form_of_lines(source, layout, "run", separator)[1] != layout
        ):
            return None
    return _read(data, "run", format, encoding, columns, system, separator).table


def _described(
    place: MetadataPlace | None, wanted: bool | str | PathLike[str], tag: str | None
) -> MetadataPlace | None:
    if not isinstance(wanted, bool):
        return MetadataPlace(file=fspath(wanted))
    return replace(place, tag=tag) if wanted and place is not None else None


@dataclass(frozen=True)
class _Given:
    """What was read: typed columns, where they came from, a name for them, and their metadata.

    `table` is what they are of, where columns have names.
    """

    columns: Columns
    origin: Origin
    stem: str
    place: MetadataPlace | None = None
    table: SystemTable | None = None
    iterations: list[str] = field(default_factory=list)
    """Different values of an iteration column that is not the subtopic."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics by code, and after them those with an empty ranking."""
        empty = () if self.table is None else self.table.empty
        return tuple(dict.fromkeys((*self.columns.coder.names, *empty)))

    def about_repeats(self, error: InputError, kind: str) -> InputError:
        """Say of a document that is twice in a topic what tells the two apart."""
        tags = [*self.columns.tags]
        said = ""
        if len(self.iterations) > 1:
            said = (
                f"; the iteration column has {len(self.iterations)} values"
                f" ({some_of(map(quoted, self.iterations), 3)}): subtopics=True reads them as"
                f" subtopics; of assessors, {_FIRST}"
            )
        else:
            found = ("tag", tags, "tells them apart") if len(tags) > 1 else None
            if self.table is not None:
                found = self.table.telling_apart()
            if found is not None:
                name, values, tells = found
                advice = f"system={name!r} reads a system of each"
                if kind == "qrels":
                    advice = f"keep the rows of one, or {_FIRST}"
                said = (
                    f"; column {quoted(name)} {tells} ({len(values)} values:"
                    f" {some_of(map(quoted, values), 3)}): {advice}"
                )
            else:
                said = f"; {_FIRST}"
        return InputError(
            error.reason + said,
            source=error.source,
            line=error.line,
            topic=error.topic,
            doc=error.doc,
        )


def _read(
    data: Any,
    kind: str,
    layout: str,
    encoding: str,
    columns: Mapping[str, str] | Called | None,
    system: str | None = None,
    separator: str = "auto",
    ungraded: str = "error",
) -> _Given:
    """Read any kind of input as typed columns."""
    check_encoding(encoding)
    check_choice("separator", separator, SEPARATORS)
    check_choice("format", layout, FORMATS)
    refuse_open(data)
    if layout in OF_QRELS and kind != "qrels":
        raise PolicyError(f"format {quoted(layout)} is one of judgments, not of runs")
    asked = None
    if columns is not None or system is not None:
        from cranfield.collection.files.named_columns import called

        asked = called(columns, kind, system)
    place: MetadataPlace | None = None
    if isinstance(data, (str, PathLike)) and not str(data).startswith("irds:"):
        source = Source.of(data)
        if layout == "auto":
            layout = FORMAT_OF_SUFFIX.get(source.suffix, "text")
        lines = LineMap()
        place = MetadataPlace(path=source.path)
        if kind == "run" and layout in OF_LINES:
            source, place = without_header(source)
        source, layout, separator = form_of_lines(source, layout, kind, separator)
        if kind == "run" and asked is not None and "tag" in asked.names and layout in OF_LINES:
            from cranfield.collection.files.system_tables import table_of_lines

            data = table_of_lines(source, encoding, asked, separator)
        elif (
            parts := read_text(source, layout, kind, lines, encoding, separator, ungraded)
        ) is not None:
            if asked is not None:
                asked.refuse(source.name, "text without names of columns")
            return _Given(Columns(parts), Origin(source.name, lines), source.stem, place)
        else:
            data = in_encoding(source, encoding, layout)
    elif encoding.lower() not in {"utf-8", "utf8"} and not isinstance(data, (str, PathLike)):
        raise PolicyError(f"encoding is for files of text, got {type(data).__name__}")
    # What the text formats do not need is only loaded here; it would be most of their time.
    from cranfield.collection.files.named_columns import Called
    from cranfield.collection.files.system_tables import read_system_table

    asked = asked or Called(kind)
    try:
        table = read_system_table(data, kind, layout, asked, ungraded=ungraded)
    except InputError as error:
        if error.reason.startswith("row ") and layout in {"csv", "tsv"} and place is not None:
            _refuse_line(source, kind, layout, encoding, asked, ungraded)
        raise
    if place is None and table.path is not None:
        place = MetadataPlace(path=table.path)
    read = table.table
    origin = Origin(read.source, LineMap.of(read.lines))
    return _Given(Columns([coded(Chunk(read.frame))]), origin, table.stem, place, table)


def _refuse_line(
    source: Source, kind: str, layout: str, encoding: str, asked: Called, ungraded: str
) -> None:
    """Read a table again that has a wrong row, so that the error has the number of its line."""
    from cranfield.collection.files.system_tables import read_system_table

    fresh = Source(source.path, folder=source.folder)
    if Path(fresh.folder, fresh.path).is_file():
        data = in_encoding(fresh, encoding, layout)
        read_system_table(data, kind, layout, asked, ungraded=ungraded, numbered=True)


def _subtopics(given: _Given, wanted: bool | None) -> pl.Series | None:
    """Keep the iteration column only where it tells subtopics apart, unless that is said.

    It does when one document of one topic is judged in several iterations that are numbered; the ad
    hoc tracks write 0, or the round of judging, there, and others the assessor.
    """
    columns = given.columns
    if not columns.has("subtopic"):
        return None
    column = columns.text("subtopic")
    if wanted:
        return column
    values = column.unique(maintain_order=True)
    named = given.table is not None and given.table.has_subtopics
    if wanted is None and len(values) > 1 and (named or values.str.contains(r"^\d+$").all()):
        return column if _tells_apart(columns, column) else None
    given.iterations.extend(values.to_list())
    return None


def _tells_apart(columns: Columns, column: pl.Series) -> bool:
    """Tell whether a document of a topic is judged in several iterations."""
    pairs = pl.DataFrame({"code": columns.codes, "doc": columns.docs, "part": column})
    return pairs.n_unique() > pairs.select("code", "doc").n_unique()


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
