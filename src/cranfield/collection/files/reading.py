"""Read runs and judgments from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from io import IOBase
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import InputError, PolicyError, check_choice, quoted, warn
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted, some_of
from cranfield.collection.files.blank_separated import Chunk, Columns, coded
from cranfield.collection.files.line_formats import (
    layout_of,
    read_text,
    scores_or_ranks,
    without_header,
)
from cranfield.collection.keys import ids_of
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import without_repeats
from cranfield.collection.policies import (
    DUPLICATES,
    FORMATS,
    NUMBERS,
    OF_LINES,
    OF_QRELS,
    SEPARATORS,
    UNGRADED,
)
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, run_of
from cranfield.sources.archives import asks
from cranfield.sources.chunks import (
    FORMAT_OF_SUFFIX,
    LineMap,
    Origin,
    Source,
    check_encoding,
    is_utf8,
)

if TYPE_CHECKING:
    from cranfield.collection.files.named_columns import Called
    from cranfield.collection.files.system_tables import SystemTable

NO_INTENT = "0"
"""In judgments of NTCIR by intent: documents that are relevant to none."""

_FIRST = "duplicates='first' keeps the first one"

_COLUMNS = ("class", "stratum", "inclusion")
"""Columns of judgments besides the grade."""


def read_qrels(
    data: Any,
    *,
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    subtopics: bool | None = None,
    columns: Mapping[str, str] | None = None,
    separator: Annotated[str, OneOf(SEPARATORS)] = "auto",
    duplicates: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    ungraded: Annotated[str, OneOf(tuple(UNGRADED))] = "error",
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
        Format of the data; `auto` looks at the suffix. `trec` (topic, iteration, document, grade,
        separated by any blanks), `csv`, `tsv`, `json`, `jsonl`, `parquet`; `ntcir` (grades L0, L1
        and so on; recognised by itself: see :mod:`cranfield.collection.files.line_formats`); and
        judgments of samples, `prels` (topic, document, grade, method, inclusion probability) and
        `xqrels` (topic, iteration, document, stratum, grade; a grade below 0 is in the pool, but
        not sampled).
    encoding
        Encoding of files of text; `latin-1` reads any bytes.
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
        Separator of columns in text; `auto` (default) decides by line. `tab`; `blank`: any blanks,
        and further columns of runs are ignored; `auto`: tabs on lines that have as many columns by
        tabs as the form has, and else blanks. What is in doubt is refused.
    duplicates
        Which of a document that is twice in one topic is kept, if any. `error` (default): none;
        `first`, `last`, `best` (the highest grade). They are counted and told.
    ungraded
        How to treat rows of judgments without a grade: an `error` (default), or not judged
        (`drop`). A grade is empty, null, NaN or `NA`, as in a sheet that is half filled in. A line
        of TREC text without a grade ends after the document. They are counted, with a warning.

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
        from cranfield.collection.files.named_columns import qrels_of_dicts

        if (qrels := qrels_of_dicts(data)) is not None:
            _tell_unjudged(data)
            return qrels.kept()
    given = _read(data, _Options("qrels", format, encoding, separator, columns, ungraded=ungraded))
    read, origin = given.columns, given.origin
    extra = {name: read.labels(name) for name in _COLUMNS if read.has(name)}
    grades = read.joined("grade")
    if "inclusion" in extra:
        chances = extra["inclusion"]
        _refuse(
            given,
            ~((chances >= 0) & (chances <= 1)),
            lambda row: f"inclusion probability {chances[row]:g} is not from 0 to 1",
        )
    if read.has("intent"):
        parts = _intents(given, grades, subtopics)
    else:
        parts = _subtopics(given, subtopics)
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
        raise given.about_repeats(error) from None


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
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    metadata: bool | str | PathLike[str] = True,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    separator: Annotated[str, OneOf(SEPARATORS)] = "auto",
    numbers: Annotated[str, OneOf(NUMBERS)] = "auto",
    duplicates: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
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
        Format of the data; `auto` looks at the suffix. `trec`, `ntcir`, `csv`, `tsv`, `json`,
        `jsonl`, `parquet`; a TREC run line is topic, Q0, document, rank, score, tag, and `ntcir` is
        the same separated by semicolons.
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
        Number in text of three columns (topic, document, number); `auto` decides by file. `ranks`,
        `scores`, or `auto` (default), which refuses whole numbers that are neither clearly.
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
    if isinstance(data, dict) and usual and not lower_is_better:
        from cranfield.collection.files.named_columns import run_of_dicts

        run = run_of_dicts(data, "run" if name is None else name, _described(None, metadata, None))
        if run is not None:
            return run.kept()
    given = _read(data, _Options("run", format, encoding, separator, columns, system))
    read, origin, tags = given.columns, given.origin, [*given.columns.tags]
    topics, codes, docs, words, keys = given.topics, read.codes, read.docs, read.words, read.keys
    scores, ranks = _scores(given, numbers)
    unranked = None if ranks is None else read.gaps("rank")
    if lower_is_better:
        if ranks is not None and np.array_equal(scores, -ranks.astype(np.float64)):
            reason = "expected scores, as lower is better, got ranks only"
            raise InputError(reason, source=origin.name)
        scores = -scores
    if duplicates != "error":
        docs, words, keys = docs if words is None else ids_of(words), None, None
        kept = without_repeats(duplicates, scores, codes, docs, topics, origin)
        if kept is not None:
            codes, docs, scores, origin = codes[kept], docs[kept], scores[kept], Origin(origin.name)
            ranks = None if ranks is None else ranks[kept]
            unranked = None if unranked is None else unranked[kept]
    listed = some_of(map(quoted, tags), 3)
    if len(tags) > 1 and given.table is not None:
        reason = f"holds {len(tags)} systems ({listed}), where one is expected"
        raise InputError(reason, source=origin.name)
    tag = tags[0] if len(tags) == 1 else None
    try:
        run = run_of(
            docs if words is None else words,
            keys,
            name=tag or given.stem if name is None else name,
            topics=topics,
            codes=codes,
            scores=scores,
            ranks=ranks,
            origin=origin,
            described=_described(given.place, metadata, tag),
            unranked=unranked,
        )
    except InputError as error:
        raise given.about_repeats(error) from None
    if len(tags) > 1:
        warn(
            f"{origin.name}: {len(tags)} different run tags ({listed}); the system is called"
            f" {quoted(run.name)}",
            stacklevel=2,
        )
    return run


def _scores(given: _Given, numbers: str) -> tuple[Floats, NDArray[np.int32] | None]:
    """Return the scores of a run, and its ranks where it has some."""
    read, name = given.columns, given.origin.name
    if read.has("value"):
        return scores_or_ranks(read.joined("value"), read.codes, name, numbers)
    if numbers != "auto":
        no_number = "as the columns are not topic, document and number"
        warn(f"{name}: numbers={numbers!r} has no effect, {no_number}", stacklevel=3)
    return read.joined("score"), read.joined("rank") if read.has("rank") else None


def systems_table(data: Any, **options: Any) -> SystemTable | None:
    """Read what may hold several systems; None for what holds one, or is no table."""
    chosen = _Options("run", **options)
    if isinstance(data, (str, PathLike)):
        source = Source.of(data)
        form = chosen.form_of(source)
        if source.path.startswith("irds:") or (form in OF_LINES and chosen.system is None):
            return None
        look = form == "tsv" and source.path != "-"
        if look and layout_of(source, form, "run", chosen.separator)[1] is not None:
            return None
    return _read(data, chosen).table


def _described(
    place: MetadataPlace | None, wanted: bool | str | PathLike[str], tag: str | None
) -> MetadataPlace | None:
    if not isinstance(wanted, bool):
        return MetadataPlace(file=fspath(wanted))
    return replace(place, tag=tag) if wanted and place is not None else None


@dataclass(frozen=True)
class _Options:
    """What is read, judgments (`qrels`) or a `run`, and how."""

    kind: str
    format: str = "auto"
    encoding: str = "utf-8"
    separator: str = "auto"
    columns: Mapping[str, str] | Called | None = None
    system: str | None = None
    ungraded: str = "error"

    def form_of(self, source: Source) -> str:
        """Return the format of a file: the given one, or what its suffix says."""
        by_suffix = FORMAT_OF_SUFFIX.get(source.suffix, "text")
        return by_suffix if self.format == "auto" else self.format

    @cached_property
    def called(self) -> Called | None:
        """The names of columns that the user gave."""
        if self.columns is None and self.system is None:
            return None
        from cranfield.collection.files.named_columns import called

        return called(self.columns, self.kind, self.system)


@dataclass(frozen=True)
class _Given:
    """What was read: typed columns, where they came from, a name for them, and their metadata."""

    kind: str
    columns: Columns
    origin: Origin
    stem: str
    place: MetadataPlace | None = None
    table: SystemTable | None = None
    """What the columns are of, where these have names."""
    iterations: list[str] = field(default_factory=list)
    """Different values of an iteration column that is not the subtopic."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics by code, and after them those with an empty ranking."""
        empty = () if self.table is None else self.table.empty
        return tuple(dict.fromkeys((*self.columns.coder.names, *empty)))

    def about_repeats(self, error: InputError) -> InputError:
        """Say of a document that is twice in a topic what tells the two apart."""
        tags, several = [*self.columns.tags], self.iterations
        apart = None if self.table is None else self.table.telling_apart()
        if self.table is None and len(tags) > 1:
            apart = "tag", tags, "tells them apart"
        said = f"; {_FIRST}"
        if len(several) > 1:
            said = (
                f"; the iteration column has {len(several)} values"
                f" ({some_of(map(quoted, several), 3)}): subtopics=True reads them as"
                f" subtopics; of assessors, {_FIRST}"
            )
        elif apart is not None:
            name, values, tells = apart
            advice = f"system={name!r} reads a system of each"
            if self.kind == "qrels":
                advice = f"keep the rows of one, or {_FIRST}"
            said = (
                f"; column {quoted(name)} {tells} ({len(values)} values:"
                f" {some_of(map(quoted, values), 3)}): {advice}"
            )
        where = {"source": error.source, "topic": error.topic, "doc": error.doc}
        return InputError(error.reason + said, line=error.line, **where)


def _read(data: Any, options: _Options) -> _Given:
    """Read any kind of input as typed columns."""
    check_encoding(options.encoding)
    check_choice("separator", options.separator, SEPARATORS)
    check_choice("format", options.format, FORMATS)
    refuse_open(data)
    if options.format in OF_QRELS and options.kind != "qrels":
        raise PolicyError(f"format {quoted(options.format)} is one of judgments, not of runs")
    if not isinstance(data, (str, PathLike)):
        if not is_utf8(options.encoding):
            raise PolicyError(f"encoding is for files of text, got {type(data).__name__}")
    elif not str(data).startswith("irds:"):
        return _read_file(Source.of(data), options)
    return _read_table(data, options.format, options)


def _read_file(source: Source, options: _Options) -> _Given:
    form, called = options.form_of(source), options.called
    source = source.in_encoding(options.encoding, form)
    place = MetadataPlace(path=source.path)
    if options.kind == "run" and form in OF_LINES:
        source, place = without_header(source)
    source, layout = layout_of(source, form, options.kind, options.separator, options.ungraded)
    if layout is None:
        return _read_table(source, form, options, place)
    if called is not None and "tag" in called.names and "tag" in layout.columns:
        from cranfield.collection.files.system_tables import table_of_lines

        return _read_table(table_of_lines(source, layout, called), form, options, place)
    if called is not None:
        called.refuse(source.name, "text without names of columns")
    lines = LineMap()
    columns = Columns(read_text(source, layout, lines))
    return _Given(options.kind, columns, Origin(source.name, lines), source.stem, place)


def _read_table(
    data: Any, form: str, options: _Options, place: MetadataPlace | None = None
) -> _Given:
    # What the text formats do not need is only loaded here; it would be most of their time.
    from cranfield.collection.files.named_columns import Called
    from cranfield.collection.files.system_tables import read_system_table

    read = partial(
        read_system_table,
        kind=options.kind,
        form=form,
        called=options.called or Called(options.kind),
        ungraded=options.ungraded,
    )
    try:
        table = read(data)
    except InputError as error:
        if error.reason.startswith("row ") and form in {"csv", "tsv"} and place is not None:
            fresh = Source(data.path, folder=data.folder, encoding=data.encoding)
            if asks(Path.is_file, Path(fresh.folder, fresh.path)):
                # Read again, so that the error has the number of its line.
                read(fresh, numbered=True)
        raise
    if place is None and table.path is not None:
        place = MetadataPlace(path=table.path)
    origin = Origin(table.table.source, LineMap.of(table.table.lines))
    columns = Columns([coded(Chunk(table.table.frame))])
    return _Given(options.kind, columns, origin, table.stem, place, table)


def _subtopics(given: _Given, wanted: bool | None) -> pl.Series | None:
    """Return the iteration column where it holds subtopics, or is said to."""
    columns = given.columns
    if not columns.has("subtopic"):
        return None
    column = columns.text("subtopic")
    if wanted:
        return column
    values = column.unique(maintain_order=True)
    named = given.table is not None and given.table.has_subtopics
    if wanted is None and len(values) > 1 and (named or values.str.contains(r"^\d+$").all()):
        pairs = pl.DataFrame({"code": columns.codes, "doc": columns.docs, "part": column})
        several = pairs.n_unique() > pairs.select("code", "doc").n_unique()
        return column if several else None
    given.iterations.extend(values.to_list())
    return None


def _intents(given: _Given, grades: np.ndarray[Any, Any], wanted: bool | None) -> pl.Series | None:
    """Return a column of intents; one that is the same throughout says nothing, unless wanted."""
    column = given.columns.text("intent")
    if wanted is False or (wanted is None and column.n_unique() == 1):
        return None
    _refuse(
        given,
        (column == NO_INTENT).to_numpy() & (grades > 0),
        lambda row: (
            f"intent {NO_INTENT} is for documents that are relevant to no intent, and the"
            f" grade is {grades[row]}"
        ),
    )
    return column


def _refuse(given: _Given, wrong: Bools, reason: Callable[[int], str]) -> None:
    if wrong.any():
        row, columns = int(wrong.argmax()), given.columns
        topic = columns.coder.names[int(columns.codes[row])]
        raise given.origin.wrong(reason(row), row, topic, columns.docs[row])
