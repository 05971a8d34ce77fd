"""Read runs and judgments from files, tables and objects in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from io import IOBase
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import InputError, PolicyError, check_choice, quote, warn
from cranfield.base.kinds import OneOf
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.grade_maps import GradeMap
from cranfield.collection.files.lines import (
    Layout,
    blank_out_header,
    detect_layout,
    read_chunks,
    read_frames,
)
from cranfield.collection.files.named_columns import (
    RequestedColumns,
    create_dict_qrels,
    create_dict_run,
    request_columns,
)
from cranfield.collection.files.system_tables import (
    PARTS_OF_RUNS,
    PARTS_OF_TOPICS,
    SystemTable,
    read_line_table,
    read_system_table,
)
from cranfield.collection.judged.rows import number_rows
from cranfield.collection.metadata.reading import MetadataLocation
from cranfield.collection.pairs import (
    Codes,
    Keys,
    compute_pair_keys,
    create_with_keys,
    number_values,
    warn_of_missing_grades,
)
from cranfield.collection.policies import (
    DUPLICATES,
    FORMATS,
    JUDGMENT_FORMATS,
    LINE_FORMATS,
    NUMBER_MEANINGS,
    SEPARATORS,
    UNGRADED,
)
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run, find_best_rows, warn_of_missing_ranks
from cranfield.sources.chunks import (
    FORMAT_OF_SUFFIX,
    LineMap,
    Origin,
    Source,
    check_encoding,
    is_utf8,
)

NO_INTENT = "0"
"""Intent of documents that are relevant to no intent, in judgments of NTCIR."""

_MIN_TIME = 10**8
"""Grades are treated as Unix times if all are at least this value, a day in 1973."""

_FURTHER_COLUMNS = ("class", "stratum", "inclusion")
_KEEP_FIRST = "on_duplicate='first' keeps the first one"


def read_qrels(
    data: Any,
    *,
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    subtopics: bool | None = None,
    columns: Mapping[str, str] | None = None,
    separator: Annotated[str, OneOf(SEPARATORS)] = "auto",
    on_duplicate: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    ungraded: Annotated[str, OneOf(tuple(UNGRADED))] = "error",
    grades: Mapping[Any, int | None] | Sequence[float] | str | None = None,
) -> Qrels:
    r"""Read relevance judgments.

    Parameters
    ----------
    data
        A path (`-` is standard input), an ir_datasets id as `"irds:..."`, a dict
        `{topic: {document: grade}}` or `{topic: [document, ...]}` (grade 1), a data frame of any
        library, or an iterable of named tuples, mappings or (topic, document, grade) tuples. Files
        may be compressed (gz, bz2, xz, zst).
    format
        Format of the files; `auto` detects it by the suffix and, of text, by the first lines.
        `trec` (topic, iteration, document, grade, separated by any blanks), `csv`, `tsv`, `json`,
        `jsonl`, `parquet`; `ntcir` (grades L0, L1 and so on, see
        :mod:`cranfield.collection.files.lines`); and judgments of samples: `prels` (topic,
        document, grade, method, inclusion probability), `xqrels` (topic, iteration, document,
        stratum, grade; a document with a grade below 0 is in the pool, but not in the sample).
    encoding
        Encoding of text files; `latin-1` decodes any bytes.
    subtopics
        Whether the iteration column (the second of TREC qrels) holds subtopics. By default it does
        if its values are integers (or the column is named subtopic) and some document of a topic
        is judged for more than one value. With other values, such as names of assessors, a document
        with two judgments is an error.
    columns
        Names of columns without usual names, in a table, such as `{"doc": "product_id", "grade":
        "gain"}`; the keys are `topic`, `doc`, `grade`, `subtopic`, `class`, `stratum` and
        `inclusion`.
    separator
        Column separator of text files; `auto` (default) detects it for each line. `auto` splits a
        line at tabs if that gives the number of columns of the format, else at blanks, and refuses
        ambiguous lines. `tab` splits lines at tabs. `blank` splits lines at any blanks, and ignores
        further columns of runs.
    on_duplicate
        How to treat a document that occurs more than once in a topic. `error` (default) refuses it;
        `first`, `last` and `best` (the highest grade) keep one judgment, with a warning.
    ungraded
        How to treat judgments without a grade: `error` (default), or `drop`, which treats their
        documents as unjudged, with a warning. A missing grade is empty, null, NaN or `NA`; a line
        of TREC text without a grade ends after the document.
    grades
        How to map words, real numbers or texts to grades: a mapping such as `{"Relevant": 2,
        "Partly": 1, "No": 0}`, cut points, or a pattern. The cut points `[0.5, 0.8]` map values
        below 0.5 to 0, values from 0.5 to below 0.8 to 1, and higher values to 2. A pattern is a
        regular expression whose group is the grade, such as `r"score: (\d)"`; text without a match
        may itself be an integer. Other values are refused. By default grades are integers.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few or too many columns, a grade that is not
        an integer, a document judged twice, an inclusion probability outside 0 to 1, an empty file,
        undecodable bytes, damaged compressed data.
    PolicyError
        For an unknown format, encoding, column or policy, or an invalid value of `grades`.

    Warns
    -----
    CranfieldWarning
        For judgments that are skipped or have no column of grades, Boolean grades, and topics of a
        dict without judgments.

    Examples
    --------
    >>> read_qrels([("q1", "d1", 2), ("q1", "d2", 0)])
    Qrels(1 topic, 2 judgments, grades 0 to 2)
    """
    if isinstance(data, Qrels):
        return data
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    check_choice("ungraded", ungraded, UNGRADED)
    grade_map = None if grades is None else GradeMap.parse(grades)
    has_defaults = (format, encoding, columns, grades) == ("auto", "utf-8", None, None)
    if isinstance(data, dict) and has_defaults and (qrels := create_dict_qrels(data)) is not None:
        _warn_of_unjudged(data)
        return qrels.detach()
    names = request_columns(columns, "qrels", None)
    rows = _read_rows(data, names, format, encoding, separator, ungraded, grade_map)
    if rows.table is not None:
        rows.table.refuse_parts(PARTS_OF_TOPICS, rows.codes)
    _refuse_ranks(rows)
    _refuse_times(rows)
    if rows.has("inclusion"):
        probabilities = rows.get_numbers("inclusion")
        rows.refuse(
            ~((probabilities >= 0) & (probabilities <= 1)),
            lambda row: f"inclusion probability must be from 0 to 1, got {probabilities[row]:g}",
        )
    if rows.table is None and rows.has("stratum"):
        strata = rows.frame["stratum"]
        rows.refuse(
            strata.str.contains(r"^-\d").to_numpy(),
            lambda row: (
                f"stratum must not be negative, got {strata[row]}; expected the columns topic,"
                " iteration, document, stratum, grade"
            ),
        )
    _warn_of_swapped_columns(rows)
    column, iterations = _find_subtopics(rows, subtopics)
    first_rows = rows.find_rows_without_repeats(on_duplicate, rows.get_numbers("grade"), column)
    rows = rows if first_rows is None else rows.select(first_rows)
    _warn_of_unjudged(data)
    try:
        return create_with_keys(
            Qrels,
            rows.keys,
            topics=rows.topics,
            codes=rows.codes,
            docs=rows.frame["doc"],
            grades=rows.get_numbers("grade"),
            subtopics=None if column is None else rows.frame[column],
            origin=rows.origin,
            columns={name: rows.get_labels(name) for name in _FURTHER_COLUMNS if rows.has(name)},
        )
    except InputError as error:
        raise rows.explain_repeats(error, iterations) from None


def _refuse_ranks(rows: _InputRows) -> None:
    """Refuse lines of topic, document and number that count from 1 in every topic, as ranks do."""
    if rows.table is not None or {"subtopic", "intent", "class", "method"} & {*rows.frame.columns}:
        return
    order = np.argsort(rows.codes, kind="stable")
    is_rank = rows.get_numbers("grade")[order] == number_rows(rows.codes[order])
    if is_rank.all() and (np.bincount(rows.codes) >= 3).sum() >= 2:
        raise InputError(
            "expected judgments, got numbers that count from 1 in every topic, as the ranks of a"
            " run do; if they are grades, write the lines in another order",
            source=rows.origin.name,
        )


def _refuse_times(rows: _InputRows) -> None:
    """Refuse grades that are all Unix times, as in lines of user, item, rating and time."""
    grades = rows.get_numbers("grade")
    if grades.size and grades.min() >= _MIN_TIME:
        reason = f"expected grades, got numbers such as {grades[0]}, which seem to be times"
        raise InputError(reason, source=rows.origin.name)


def refuse_open_files(data: Any) -> None:
    """Refuse an open file: files are read more than once, and their names give the format."""
    if isinstance(data, IOBase):
        raise InputError("expected a path, got an open file")


def _warn_of_unjudged(data: Any) -> None:
    """Warn of topics of a mapping without documents, which judgments cannot represent."""
    if not isinstance(data, Mapping):
        return
    empty_topics = [t for t, docs in data.items() if isinstance(docs, Sized) and not len(docs)]
    if empty_topics:
        has, are = ("has", "is") if len(empty_topics) == 1 else ("have", "are")
        warn(
            f"{inflect(len(empty_topics), 'topic')} of the judgments {has} no documents"
            f" ({list_some(map(quote, empty_topics), 3)}) and {are} skipped;"
            " to include a topic, add a document with grade 0"
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
    numbers: Annotated[str, OneOf(NUMBER_MEANINGS)] = "auto",
    on_duplicate: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    chunk_separator: str | None = None,
) -> Run:
    """Read one run.

    Parameters
    ----------
    data
        As for :func:`read_qrels`, with a score in place of the grade. Documents without scores are
        ordered by rank, or by their position in a list.
    name
        The system's name; by default the run tag, or the file name if the file has no tag or
        several.
    format
        Format of the files; `auto` detects it as for :func:`read_qrels`. `trec`, `ntcir`, `csv`,
        `tsv`, `json`, `jsonl`, `parquet`; a TREC run line is topic, Q0, document, rank, score, tag,
        and `ntcir` is the same separated by semicolons.
    encoding
        As for :func:`read_qrels`.
    metadata
        Whether `Run.metadata` reads the header of the file, or a file beside it (`ir-metadata.yml`,
        or `NAME.ir-metadata.yml` for the run NAME); or the path of a file with the metadata.
    system
        Column with the name of the system, if the column does not have a usual name.
    columns
        As for :func:`read_qrels`, with the keys `topic`, `doc`, `score`, `rank` and `system`.
    lower_is_better
        Whether documents with lower scores rank first, such as distances. `Run.scores` then have
        the opposite sign.
    separator
        As for :func:`read_qrels`.
    numbers
        Meaning of the third column in text with three columns (topic, document, number): `ranks`,
        `scores`, or `auto` (default), which detects the meaning for each file and refuses whole
        numbers that may be either.
    on_duplicate
        As for :func:`read_qrels`; `best` keeps the document with the best score.
    chunk_separator
        Separator in the ids of chunks, such as `#`; the text before it is the id of the document.
        Each document has the score of its best chunk (MaxP). By default, rows are documents.

    Returns
    -------
    Run
        The run, its rows in the order of the input.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: too few columns, a score that is not a finite
        number, a document twice in one topic, an empty file, undecodable bytes, damaged compressed
        data, a header without its end, or several systems in one table (see :func:`read_runs`).
    PolicyError
        For an unknown format, encoding, column or policy.

    Warns
    -----
    CranfieldWarning
        For several run tags in one file, and for skipped documents.

    Examples
    --------
    >>> read_run([("q1", "d1", 2.5), ("q1", "d2", 1.0)], name="bm25")
    Run('bm25': 1 topic, 2 documents)
    """
    if isinstance(data, Run):
        if lower_is_better:
            raise PolicyError("lower_is_better applies to files and tables, got a Run")
        return _merge_chunks(data if name is None else data.rename(name), chunk_separator)
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    check_choice("numbers", numbers, NUMBER_MEANINGS)
    location = None if isinstance(metadata, bool) else MetadataLocation(file=fspath(metadata))
    has_defaults = (format, encoding, columns, system) == ("auto", "utf-8", None, None)
    if isinstance(data, dict) and has_defaults and not lower_is_better:
        run = create_dict_run(data, "run" if name is None else name, location)
        if run is not None:
            return _merge_chunks(run.detach(), chunk_separator)
    names = request_columns(columns, "run", system)
    rows = _read_rows(data, names, format, encoding, separator)
    scores, ranks = _read_scores(rows, numbers)
    # If files of lines are read together with tables, the column of scores is that of the tables.
    is_score_of_tables = rows.table is None and names.has_tables and "score" in names.names
    _warn_of_distances(rows, names, lower_is_better)
    _warn_of_rising_scores(rows, scores, ranks, lower_is_better)
    if lower_is_better and not is_score_of_tables:
        if ranks is not None and _are_negated_ranks(scores, ranks):
            reason = "expected scores to rank by, lowest first, got ranks only"
            raise InputError(reason, source=rows.origin.name)
        scores = -scores
    rows, values = _drop_repeats(rows, on_duplicate, scores, ranks)
    tags, source = rows.tags, rows.origin.name
    tag_names = list_some(map(quote, tags), 3)
    if len(tags) > 1 and rows.table is not None:
        reason = f"expected one system, got {len(tags)} ({tag_names})"
        raise InputError(reason, source=source)
    tag = tags[0] if len(tags) == 1 else None
    name = (tag or rows.stem) if name is None else name
    if metadata is True and rows.location is not None:
        location = replace(rows.location, tag=tag)
    try:
        run = create_with_keys(
            Run,
            rows.keys,
            name=name,
            topics=rows.topics,
            codes=rows.codes,
            docs=rows.frame["doc"],
            origin=rows.origin,
            metadata_source=location,
            **values,
        )
    except InputError as error:
        raise rows.explain_repeats(error) from None
    _check_ranks(rows.table, run)
    if len(tags) > 1:
        different_tags = f"{len(tags)} different run tags ({tag_names})"
        warn(f"{source}: {different_tags}; the system is named {quote(name)}")
    return _merge_chunks(run, chunk_separator)


def _check_ranks(table: SystemTable | None, run: Run) -> None:
    """Refuse a column that splits topics into rankings; warn of a first rank that occurs twice."""
    codes, ranks = run.codes, run.ranks
    # Ranks that are all equal are placeholders.
    if ranks is None or run.is_unranked is not None or (ranks == ranks[:1]).all():
        if table is not None:
            table.refuse_parts(PARTS_OF_RUNS, codes)
        return
    is_ascending = (codes[1:] == codes[:-1]) & (ranks[1:] > ranks[:-1])
    if (is_ascending | (codes[1:] > codes[:-1])).all():
        return
    keys = (codes.astype(np.int64) << 32) + ranks
    if np.unique(keys).size == keys.size:
        return
    if table is not None:
        table.refuse_parts(PARTS_OF_RUNS, codes, ranks)
    order = np.lexsort((run.scores, ranks, codes))
    codes, ranks, scores = codes[order], ranks[order], run.scores[order]
    firsts = np.flatnonzero(np.diff(codes, prepend=-1))
    lasts = np.append(firsts[1:], codes.size) - 1
    next_rows = np.minimum(firsts + 1, lasts)
    # Documents of equal score may share a rank; a single shared rank may be a system's mistake.
    is_shared = (ranks[firsts] == ranks[next_rows]) & (scores[firsts] < scores[next_rows])
    is_shared &= (ranks[firsts] < ranks[lasts]) & (ranks[lasts] - ranks[firsts] < lasts - next_rows)
    for row in firsts[is_shared][:1]:
        warn(
            f"{run.origin.name}: rank {ranks[row]} occurs twice in topic"
            f" {quote(run.topics[codes[row]])}, with different scores; if the topic has several"
            " rankings, write each into a file of its own"
        )


def _drop_repeats(
    rows: _InputRows, on_duplicate: str, scores: Floats, ranks: NDArray[np.int32] | None
) -> tuple[_InputRows, dict[str, Any]]:
    """Return the rows without repeated documents, and the scores and ranks of a run."""
    is_unranked = None
    if ranks is not None and "rank" in rows.frame and rows.frame["rank"].null_count():
        is_unranked = rows.frame["rank"].is_null().to_numpy()
    values: dict[str, Any] = {"scores": scores, "ranks": ranks, "is_unranked": is_unranked}
    selected_rows = rows.find_rows_without_repeats(on_duplicate, scores)
    if selected_rows is None:
        return rows, values
    if on_duplicate == "best":
        selected_rows, values = find_best_rows(rows.codes, rows.frame["doc"], **values)
    else:
        values = {k: None if v is None else v[selected_rows] for k, v in values.items()}
    return rows.select(selected_rows), values


def _merge_chunks(run: Run, separator: str | None) -> Run:
    """Merge chunks into documents if they have a separator."""
    if separator is None:
        return run
    if separator == "":
        raise PolicyError("chunk_separator must not be empty, got ''")
    return run.merge_chunks(separator)


def read_systems_table(
    data: Any,
    *,
    format: str,
    encoding: str,
    separator: str,
    columns: Mapping[str, str] | None,
    system: str | None,
) -> SystemTable | None:
    """Read data with named columns as a table of one or several systems; None for other data."""
    if isinstance(data, (str, PathLike)):
        source = Source.from_path(data)
        form = format if format != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "text")
        if source.path.startswith("irds:") or (form in LINE_FORMATS and system is None):
            return None
        may_lack_header = form == "tsv" and source.path != "-"
        if may_lack_header and detect_layout(source, form, "run", separator)[1] is not None:
            return None
    names = request_columns(columns, "run", system)
    return _read_rows(data, names, format, encoding, separator).table


@dataclass(frozen=True)
class _ChunkRows:
    """The rows of a chunk, with their topics and tags in order of appearance.

    codes, keys, frame: as in `_InputRows`.
    """

    topics: list[str]
    codes: Codes
    keys: Keys
    tags: list[str]
    frame: pl.DataFrame

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> _ChunkRows:
        names, codes = number_values(frame["topic"])
        topics = names.to_list()
        tags = _find_distinct_tags(frame["tag"]) if "tag" in frame.columns else []
        columns = [name for name in frame.columns if name not in {"topic", "tag"}]
        keys = compute_pair_keys(frame["doc"], codes, topics)
        return cls(topics, codes, keys, tags, frame[columns])


@dataclass(frozen=True)
class _InputRows:
    """The rows of a run or of judgments.

    topics, codes: ids of the topics, and the topic of each row as an index into them.
    keys: key of each row's (topic, document).
    frame: the columns other than topic and tag.
    tags: distinct values of the column `tag`, in order of appearance.
    stem, location: name of the file without suffixes, and where the metadata of a run are.
    table: the table that was read, if its columns have names.
    """

    topics: tuple[str, ...]
    codes: Codes
    keys: Keys
    frame: pl.DataFrame
    tags: list[str]
    origin: Origin
    stem: str
    location: MetadataLocation | None = None
    table: SystemTable | None = None

    @classmethod
    def from_chunks(cls, chunks: Iterable[_ChunkRows], **fields: Any) -> _InputRows:
        """Concatenate chunks, and number their topics in order of appearance."""
        code_of, codes, keys, frames = dict[str, int](), [], [], []
        tags = dict[str, None]()
        for chunk in chunks:
            # New topics get the next codes.
            topic_codes = [code_of.setdefault(topic, len(code_of)) for topic in chunk.topics]
            codes.append(np.array(topic_codes, dtype=np.int32)[chunk.codes.astype(np.intp)])
            keys.append(chunk.keys)
            tags.update(dict.fromkeys(chunk.tags))
            frames.append(chunk.frame)
        # Topics with an empty ranking come last.
        empty_topics = () if (table := fields.get("table")) is None else table.empty_topics
        ids = tuple(dict.fromkeys((*code_of, *empty_topics)))
        rows = np.concatenate(codes), np.concatenate(keys), pl.concat(frames)
        return cls(ids, *rows, [*tags], **fields)

    def has(self, column: str) -> bool:
        """Return True if a column has any value."""
        return column in self.frame.columns and self.frame[column].null_count() < self.frame.height

    def get_numbers(self, column: str) -> NDArray[Any]:
        """Return a column of numbers; missing values are 0."""
        values = self.frame[column]
        values = values.fill_null(0) if values.null_count() else values
        # Faster than `values.to_numpy`, which copies twice.
        return np.concatenate([chunk.to_numpy() for chunk in values.get_chunks()])

    def get_labels(self, column: str) -> NDArray[Any]:
        """Return a column of numbers or of text; missing text is empty."""
        if self.frame[column].dtype.is_numeric():
            return self.get_numbers(column)
        return np.array(self.frame[column].fill_null("").to_list(), dtype=np.str_)

    def select(self, rows: Indices) -> _InputRows:
        """Return the selected rows, without their line numbers."""
        return replace(
            self,
            codes=self.codes[rows],
            keys=self.keys[rows],
            frame=self.frame[rows],
            origin=Origin(self.origin.name),
        )

    def refuse(self, is_invalid: NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        """Raise an error for the first invalid row, if any."""
        if is_invalid.any():
            row = int(is_invalid.argmax())
            topic = self.topics[int(self.codes[row])]
            raise self.origin.make_row_error(row, reason(row), topic, self.frame["doc"][row])

    def find_rows_without_repeats(
        self, on_duplicate: str, values: NDArray[Any], column: str | None = None
    ) -> Indices | None:
        """Return the rows without repeated documents, with a warning; None for all rows."""
        if on_duplicate == "error":
            return None
        frame = self.frame.select("doc", *([] if column is None else [column]), code=self.codes)
        order = np.arange(frame.height)
        if on_duplicate == "last":
            order = order[::-1]
        elif on_duplicate == "best":
            order = np.argsort(-values.astype(np.float64), kind="stable")
        is_first = frame[order].select(pl.struct(pl.all()).is_first_distinct()).to_series()
        first_rows = np.sort(order[is_first.to_numpy()])
        if first_rows.size == order.size:
            return None
        other_rows = np.setdiff1d(np.arange(order.size), first_rows, assume_unique=True)
        row = int(other_rows[0])
        line = self.origin.get_line(row)
        location = f"line {line}, topic" if line else "topic"
        warn(
            f"{self.origin.name}: {inflect(other_rows.size, 'repeated document')} excluded (such as"
            f" {location} {quote(self.topics[self.codes[row]])}, document"
            f" {quote(self.frame['doc'][row])}); the {on_duplicate} one is kept"
        )
        return first_rows

    def explain_repeats(self, error: InputError, iterations: Sequence[str] = ()) -> InputError:
        """Add advice to the error of a repeated document: a column that distinguishes the two."""
        distinction = None if self.table is None else self.table.find_distinguishing_column()
        if self.table is None and len(self.tags) > 1:
            distinction = "tag", self.tags, "distinguishes them"
        advice = f"; {_KEEP_FIRST}"
        if len(iterations) > 1:
            advice = (
                f"; the iteration column has {len(iterations)} values"
                f" ({list_some(map(quote, iterations), 3)}); subtopics=True reads them as"
                f" subtopics; {_KEEP_FIRST} (such as the first assessor's)"
            )
        elif distinction is not None:
            name, values, role = distinction
            fix = f"use system={name!r} if each value is a system"
            if "grade" in self.frame:
                fix = f"keep the rows of one value, or {_KEEP_FIRST}"
            advice = (
                f"; column {quote(name)} {role} ({len(values)} values:"
                f" {list_some(map(quote, values), 3)}); {fix}"
            )
        location = {"source": error.source, "topic": error.topic, "doc": error.doc}
        return InputError(error.reason + advice, line=error.line, **location)


def _find_distinct_tags(tags: pl.Series) -> list[str]:
    """Return the distinct tags in order of appearance; most runs have one on all lines."""
    first = tags[0] if len(tags) else None
    if first is not None and (tags == first).all(ignore_nulls=False):
        return [first]
    return tags.drop_nulls().unique(maintain_order=True).to_list()


def _read_rows(
    data: Any,
    names: RequestedColumns,
    format: str,
    encoding: str,
    separator: str,
    ungraded: str = "error",
    grades: GradeMap | None = None,
) -> _InputRows:
    """Read the rows of a run or of judgments from a file of lines or a table."""
    kind = names.kind
    check_encoding(encoding)
    check_choice("separator", separator, SEPARATORS)
    check_choice("format", format, FORMATS)
    refuse_open_files(data)
    if format in JUDGMENT_FORMATS and kind != "qrels":
        raise PolicyError(f"expected a format of runs, got {quote(format)}, a format of judgments")
    is_path = isinstance(data, (str, PathLike))
    if not is_path and not is_utf8(encoding):
        raise PolicyError(f"encoding applies to text files, got {type(data).__name__}")
    location = layout = None
    form = format
    if is_path and not str(data).startswith("irds:"):
        source = Source.from_path(data)
        form = format if format != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "text")
        source = source.with_encoding(encoding, form)
        location = MetadataLocation(path=source.path)
        if kind == "run" and form in LINE_FORMATS:
            source, location = blank_out_header(source)
        parse_grade = None if grades is None else grades.find_grade
        source, layout = detect_layout(source, form, kind, separator, ungraded, parse_grade)
        data = source
    if layout is not None and not ("tag" in names.names and "tag" in layout.columns):
        if not names.has_tables:
            names.refuse(source.name, "text without names of columns")
        if grades is not None and ungraded == "drop":
            combination = "ungraded='drop' cannot be combined with grades=..."
            header = "a text file without a header, where every line must have a grade"
            raise PolicyError(f"{combination} in {header}")
        lines = LineMap()
        origin = Origin(source.name, lines)
        chunks: Iterable[_ChunkRows]
        if kind == "qrels":
            frames = _add_grades(read_frames(source, layout, lines), layout, grades, origin)
            chunks = map(_ChunkRows.from_frame, frames)
        else:
            chunks = read_chunks(source, layout, lines, _ChunkRows.from_frame)
        return _InputRows.from_chunks(chunks, origin=origin, stem=source.stem, location=location)
    if layout is not None:
        data = read_line_table(source, layout, names)
    table = read_system_table(data, form=form, requested=names, ungraded=ungraded, grades=grades)
    if location is None and table.path is not None:
        location = MetadataLocation(path=table.path)
    origin = Origin(table.table.source, table.table.lines)
    chunks = [_ChunkRows.from_frame(table.table.frame)]
    return _InputRows.from_chunks(
        chunks, origin=origin, stem=table.stem, location=location, table=table
    )


def _add_grades(
    frames: Iterator[pl.DataFrame], layout: Layout, grades: GradeMap | None, origin: Origin
) -> Iterator[pl.DataFrame]:
    """Yield judgments with their grades: mapped, or 1 if no column has grades."""
    if "grade" not in layout.columns:
        for frame in frames:
            yield frame.with_columns(grade=pl.lit(1, pl.Int32))
        warn_of_missing_grades(origin.name)
        return
    if grades is None:
        yield from frames
        return
    if layout.has_levels:
        raise InputError(
            "has grades L0, L1, ..., which cannot be mapped; remove grades=...",
            source=origin.name,
        )
    start = 0
    for frame in frames:
        values = grades.find_grades(frame["grade"])
        if (is_unknown := values.is_null()).any():
            row = int(is_unknown.arg_true()[0])
            topic, doc, text = frame.select("topic", "doc", "grade").row(row)
            reason = grades.describe_missing_grade(text)
            raise origin.make_row_error(start + row, reason, topic, doc)
        start += frame.height
        yield frame.with_columns(values)


def _warn_of_distances(rows: _InputRows, names: RequestedColumns, lower_is_better: bool) -> None:
    name = str(names.names.get("score", ""))
    if rows.table is not None and "distance" in name.lower() and not lower_is_better:
        warn(
            f"{rows.origin.name}: {quote(name)} is read as a score, where higher is better;"
            " lower_is_better=True ranks small distances first"
        )


def _warn_of_rising_scores(
    rows: _InputRows, scores: Floats, ranks: NDArray[np.int32] | None, lower_is_better: bool
) -> None:
    """Warn if all scores of a file without ranks rise in its order, as distances do."""
    is_file = rows.table is None or rows.table.path is not None
    if lower_is_better or not is_file or (ranks is not None and np.ptp(ranks) > 0):
        return
    order = np.argsort(rows.codes, kind="stable")
    codes = rows.codes[order][1:]
    is_same_topic = np.diff(rows.codes[order]) == 0
    # Scores are compared, as differences of large scores overflow.
    upper, lower = scores[order][:-1], scores[order][1:]
    rising_codes = codes[is_same_topic & (lower > upper)]
    has_falls = (is_same_topic & (lower < upper)).any()
    # The scores of two topics of two documents may rise by coincidence.
    if not has_falls and rising_codes.size >= 4 and np.ptp(rising_codes) > 0:
        warn(
            f"{rows.origin.name}: the scores of every topic rise in the order of the file, but the"
            " highest scores rank first; lower_is_better=True ranks the lowest first, for distances"
        )


def _read_scores(rows: _InputRows, numbers: str) -> tuple[Floats, NDArray[np.int32] | None]:
    """Return the scores of a run, and its ranks if it has any."""
    if rows.has("value"):
        scores, ranks = _interpret_numbers(
            rows.get_numbers("value"), rows.codes, rows.origin.name, numbers
        )
        if ranks is not None and numbers == "ranks":
            warn_of_missing_ranks(rows.origin.name, rows.topics, rows.codes, ranks)
        return scores, ranks
    if numbers != "auto":
        reason = "as the columns are not topic, document and number"
        warn(f"{rows.origin.name}: numbers={numbers!r} has no effect, {reason}")
    scores = rows.get_numbers("score")
    ranks = rows.get_numbers("rank") if rows.has("rank") else None
    if ranks is not None and _are_negated_ranks(scores, ranks):
        warn_of_missing_ranks(rows.origin.name, rows.topics, rows.codes, ranks)
    columns = rows.frame.columns if rows.table is None else rows.table.table.names
    if "rank" in columns:
        _refuse_swapped_columns(scores, ranks, rows)
    return scores, ranks


_N_HEAD_ROWS = 1000
"""Number of rows that are compared first, as most columns that differ do so in these rows."""


def _are_negated_ranks(scores: Floats, ranks: NDArray[np.int32]) -> bool:
    """Return True if each score is its negated rank."""
    return all(
        np.array_equal(scores[part], -ranks[part].astype(np.float64))
        for part in (slice(_N_HEAD_ROWS), slice(_N_HEAD_ROWS, None))
    )


def _is_whole(values: Floats) -> bool:
    return all(np.array_equal(part, np.rint(part)) for part in np.split(values, [_N_HEAD_ROWS]))


def _refuse_swapped_columns(
    scores: Floats, ranks: NDArray[np.int32] | None, rows: _InputRows
) -> None:
    """Refuse rows whose scores look like ranks, and whose ranks look like scores."""
    is_empty = not scores.size
    if is_empty or not _is_whole(scores) or scores.min() < 0 or scores.max() > scores.size:
        return
    by_score = np.lexsort((scores, rows.codes))
    codes = rows.codes[by_score]
    is_same_topic, numbers = np.diff(codes) == 0, number_rows(codes)
    steps = np.diff(scores[np.argsort(rows.codes, kind="stable")])[is_same_topic]
    n_falls, n_rises = int((steps < 0).sum()), int((steps > 0).sum())
    # If scores mostly fall within topics, as in a ranking with the best first, the column holds
    # scores, whatever the ranks.
    if n_falls > 3 * n_rises or n_falls + n_rises == 0:
        return
    has_rising_scores = n_rises > 3 * n_falls
    is_consecutive = any((scores[by_score] == numbers - start).all() for start in (0, 1))
    is_table = rows.table is not None
    if ranks is None or rows.frame["rank"].null_count() > scores.size / 2:
        n_shared = int((np.diff(scores[by_score])[is_same_topic] == 0).sum())
        is_swapped, rank_problem = (
            has_rising_scores or n_shared <= 0.1 * scores.size,
            "are not integers",
        )
        # The ranks of a table may be empty.
        is_swapped &= not is_table or (has_rising_scores and is_consecutive)
    else:
        rank_steps = np.diff(ranks[by_score])[is_same_topic]
        has_falling_ranks = not (rank_steps > 0).any() and (rank_steps < 0).any()
        # Scores in the column of ranks exceed the number of documents, or are below 0.
        is_rank_like = (ranks >= 0).all() and (ranks <= np.bincount(codes)[rows.codes]).all()
        # A table may have the worst documents first.
        has_rising_scores &= not is_table or is_consecutive or not is_rank_like
        is_swapped = has_falling_ranks and (
            has_rising_scores or (is_consecutive and not is_rank_like)
        )
        rank_problem = "fall"
    if is_swapped:
        raise InputError(
            "expected rank and score, got scores that rise like ranks and ranks that"
            f" {rank_problem}; the two columns seem to be swapped; if they are not, write the best"
            " documents first",
            source=rows.origin.name,
        )


def _interpret_numbers(
    values: NDArray[np.float64], codes: Codes, source: str, numbers: str = "auto"
) -> tuple[NDArray[np.float64], NDArray[np.int32] | None]:
    """Return the scores and ranks that the third of three columns holds; None without ranks."""
    is_rank = (values == np.rint(values)) & (values >= 0) & (values < 2**31)
    if numbers == "ranks" and not is_rank.all():
        expected = "expected ranks from 0 to 2^31 - 1 in the third column"
        raise InputError(f"{expected}, got {values[is_rank.argmin()]:g}", source=source)
    if numbers == "scores" or not is_rank.all():
        return values, None
    scores_and_ranks = -values, values.astype(np.int32)
    if numbers == "ranks":
        return scores_and_ranks
    order = np.argsort(codes, kind="stable")
    is_same_topic = np.diff(codes[order]) == 0
    steps = np.diff(values[order])[is_same_topic]
    n_falls, n_rises = int((steps < 0).sum()), int((steps > 0).sum())
    by_value = np.lexsort((values, codes))
    sorted_values, starts = values[by_value], np.flatnonzero(np.append(True, ~is_same_topic))
    ends = np.append(starts[1:], values.size) - 1
    base = min(float(values.min()), 1.0)
    n_shared = int((np.diff(sorted_values)[is_same_topic] == 0).sum())
    n_gaps = int((sorted_values[ends] - base + 1).sum()) - (values.size - n_shared)
    has_few_shared, has_few_gaps = n_shared <= 0.1 * values.size, n_gaps <= 1 + 0.25 * values.size
    if has_few_shared and has_few_gaps and n_falls <= 0.1 * steps.size:
        if n_shared or n_gaps or n_falls:
            issues = f"{inflect(n_gaps, 'rank')} missing, {n_shared} shared, {n_falls} out of order"
            meaning = f"third column read as ranks ({issues})"
            warn(f"{source}: {meaning}; numbers='scores' reads the column as scores")
        return scores_and_ranks
    lowest, max_length = sorted_values[starts], int((ends - starts).max()) + 1
    is_dense = (sorted_values[ends] - lowest).sum() <= 1.25 * (values.size - starts.size)
    is_far_from_1 = lowest.min() > max_length and not is_dense
    if not n_rises or (n_falls and (not has_few_shared or is_far_from_1)):
        return values, None
    description = "whole numbers that neither count up from 1 nor decrease within each topic"
    reason = f"the third column may be ranks or scores ({description})"
    raise InputError(f"{reason}: set numbers='ranks' or numbers='scores'", source=source)


def _warn_of_swapped_columns(rows: _InputRows) -> None:
    """Warn of lines that seem to have grades in the column of iterations."""
    if rows.table is not None or not rows.has("subtopic") or rows.get_numbers("grade").any():
        return
    values = rows.frame["subtopic"].unique().sort()
    if len(values) > 1 and values.str.contains(r"^-?\d$").all():
        iterations = list_some(values, 5)
        warn(
            f"{rows.origin.name}: all grades (column 4) are 0, and iterations (column 2) are"
            f" {iterations}; the columns may be swapped: topic, iteration, document, grade"
        )


def _find_subtopics(rows: _InputRows, subtopics: bool | None) -> tuple[str | None, list[str]]:
    """Return the column of subtopics, or else the values of the iteration column, if any."""
    if rows.has("intent"):
        column, grades = rows.frame["intent"], rows.get_numbers("grade")
        # A column of one value is ignored unless requested.
        if subtopics is False or (subtopics is None and column.n_unique() == 1):
            return None, []
        expected = (
            f"intent {NO_INTENT} marks a document that is relevant to no intent; expected grade 0"
        )
        is_invalid = (column == NO_INTENT).to_numpy() & (grades > 0)
        rows.refuse(is_invalid, lambda row: f"{expected}, got {grades[row]}")
        return "intent", []
    if not rows.has("subtopic"):
        return None, []
    values = rows.frame["subtopic"].unique(maintain_order=True)
    is_named = rows.table is not None and rows.table.has_subtopics
    if subtopics is None and len(values) > 1 and (is_named or values.str.contains(r"^\d+$").all()):
        pairs = rows.frame.select("doc", "subtopic", code=rows.codes)
        has_repeats = pairs.n_unique() > pairs.select("code", "doc").n_unique()
        return ("subtopic" if has_repeats else None), []
    return ("subtopic", []) if subtopics else (None, values.to_list())
