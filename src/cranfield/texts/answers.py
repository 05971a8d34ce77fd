"""Read answers and match them with gold nuggets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, MeasureError, check_choice, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.coverage import Scorable
from cranfield.collection.pairs import find_label_positions
from cranfield.sources.columns import (
    Table,
    convert_columns,
    iterate_nested_items,
    read_columns,
    read_record_columns,
    read_table,
)
from cranfield.sources.schemas import FileColumn, Lines, Schema, declare_optional, is_repeated
from cranfield.sources.values import LABEL, NAME, ValueKind, accept_any, is_absent, is_broken_text
from cranfield.texts.gold import (
    AMOUNT,
    ANSWER_COLUMNS,
    IMPORTANCE,
    NUGGET,
    NUGGETS,
    SUPPORT,
    SYSTEM,
    TEXT,
    TOPIC,
    Nuggets,
    build_nuggets,
    check_name_used,
    check_topics,
    count_characters,
    get_stem,
    list_inputs,
    name_systems,
    read_nuggets,
    warn_of_missing_answers,
)

_NTCIR_COLUMNS = ("topic", "nugget", "position")
_LENGTH_MARK = "syslen="
ANSWER_TEXT = replace(TEXT, becomes_null=accept_any)

ANSWERS = Schema(
    "table of answers",
    (
        *(TOPIC, replace(NUGGET, kind=NAME), replace(SYSTEM, kind=LABEL)),
        declare_optional("position", AMOUNT, "offset"),
        declare_optional("support", SUPPORT),
        declare_optional("length", AMOUNT, "characters"),
        declare_optional("text", ANSWER_TEXT),
    ),
    noun="answers",
    decisive_kinds=("status", "support", *ANSWER_COLUMNS),
    lines=Lines(_NTCIR_COLUMNS, 2, has_more=True),
    tuples=_NTCIR_COLUMNS,
)


_ATTRIBUTES = ("weight", "vital_length", "vital", "length", "position")
"""Optional attributes of nuggets and answers, which measures may require."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgedAnswers(Scorable):
    """Answers of all systems, as matches with gold nuggets; returned by :func:`judge_answers`.

    Attributes
    ----------
    nuggets
        Gold nuggets.
    systems
        Names of the systems.
    is_answered
        Whether a system has an answer; shape (topics, systems).
    length
        Length of the answer in characters; NaN if unknown; shape (topics, systems).
    cell
        Answer of each match, as topic * n_systems + system; shape (matches,).
    nugget
        Index of the gold nugget of each match; shape (matches,).
    position
        Position in the answer, in characters, where the nugget ends; NaN if unknown; shape
        (matches,).
    support
        Degree to which the answer supports the nugget, such as 1 (full) or 0.5 (partial); shape
        (matches,).
    """

    noun = "answers and nuggets"

    nuggets: Nuggets
    systems: tuple[str, ...]
    is_answered: NDArray[np.bool_]
    length: Floats
    cell: Ints
    nugget: Ints
    position: Floats
    support: Floats

    @property
    def topics(self) -> tuple[str, ...]:
        """Ids of all topics with gold nuggets."""
        return self.nuggets.topics

    def total(self, values: Floats) -> Floats:
        """Sum values of matches by answer; shape (topics, systems)."""
        sums = np.bincount(self.cell, weights=values, minlength=self.is_answered.size)
        return sums.reshape(self.is_answered.shape).astype(np.float64)

    @property
    def full_support(self) -> Floats:
        """1 for matches with full support, else 0; shape (matches,)."""
        return (self.support >= 1).astype(np.float64)

    def get_nugget_values(self, values: Floats) -> Floats:
        """Return the value of each match's nugget, from values by nugget; shape (matches,)."""
        return values[self.nugget]

    def require(self, measure: object, *attributes: str) -> None:
        """Raise an error if a nugget or answer lacks an attribute that the measure requires.

        Parameters
        ----------
        measure
            Measure, for the message.
        attributes
            Names of attributes: `weight`, `vital_length`, `vital`, `length`, `position`.
        """
        for attribute in attributes:
            check_choice("attribute", attribute, _ATTRIBUTES)
            if attribute == "length":
                requirement = "the length of each answer"
                cells = np.flatnonzero(self.is_answered & np.isnan(self.length))
            elif attribute == "position":
                requirement = "the position of each fully supported nugget"
                cells = self.cell[np.isnan(self.position) & (self.full_support > 0)]
            else:
                labels = {"vital": "importance", "vital_length": "vital string length"}
                requirement = f"the {labels.get(attribute, attribute)} of each nugget"
                topics = self.nuggets.topic[np.isnan(getattr(self.nuggets, attribute))]
                cells = topics * len(self.systems)
            if cells.size:
                topic, system = divmod(int(cells[0]), len(self.systems))
                location = f"topic {quote(self.topics[topic])}"
                if attribute in {"length", "position"}:
                    location += f" and system {quote(self.systems[system])}"
                raise MeasureError(f"{measure} requires {requirement}, got none for {location}")

    def __repr__(self) -> str:
        matches = f"{len(self.cell):,} match{'' if len(self.cell) == 1 else 'es'}"
        return f"JudgedAnswers({self._format_size()}, {matches})"


def judge_answers(answers: Any, nuggets: Any, *, name: str | None = None) -> JudgedAnswers:
    """Read the matches of answers with gold nuggets.

    Parameters
    ----------
    answers
        A table with a row for each match, with the columns `topic`, `nugget`, and any of `system`,
        `position` (of the nugget's last character), `support` (full, partial, none, or a number
        from 0 to 1; full without this column), `length` of the answer in characters, or its `text`,
        whose characters other than white space are counted. A row without a nugget states that the
        system has an answer. Or batch match files of NTCIR, one per system, with lines
        `topic syslen= length` and `topic nugget position`. Or a mapping
        `{system: {topic: answer}}`, where an answer is a list of nuggets, a mapping
        `{nugget: position}`, or `{"nuggets": ..., "length": ..., "text": ...}`. Or a list of files.
    nuggets
        Gold nuggets, as for :func:`read_nuggets`.
    name
        Name of the system, if the answers do not name it; by default the file's stem, or `run`.

    Returns
    -------
    JudgedAnswers
        Answers to all topics with nuggets; a missing answer has no matches.

    Raises
    ------
    InputError
        With file, line and reason: a nugget that the topic does not have, a nugget that is matched
        twice in an answer, two lengths of one answer, a negative length or position.
    PolicyError
        If `name` is set although the answers name their systems.

    Warns
    -----
    CranfieldWarning
        For answers without nuggets to topics without gold nuggets, which are excluded, and for
        systems without a row for a topic with gold nuggets: the missing answer counts as 0.

    Examples
    --------
    >>> gold = {"q1": {"born": 3, "died": 1}}
    >>> judge_answers({"a": {"q1": ["born"]}, "b": {"q1": {"born": 10, "died": 25}}}, gold)
    JudgedAnswers(1 topic, 2 systems, 3 matches)
    """
    gold = read_nuggets(nuggets)
    return build_answers([_read_answer_table(file, name) for file in list_inputs(answers)], gold)


def _read_answer_table(data: Any, name: str | None) -> Table:
    if isinstance(data, Mapping):
        data = list(_iterate_answers(data))
    columns = read_columns(data, ANSWERS)
    cells = columns.select(ANSWERS)
    n_rows = len(cells["topic"])
    if isinstance(data, (str, PathLike)) and _LENGTH_MARK in (nuggets := list(cells["nugget"])):
        positions, lengths = (cells.get(key, [None] * n_rows) for key in ("position", "length"))
        rows = zip(nuggets, positions, lengths, strict=True)
        shifted_rows = [(None, None, row[1]) if row[0] == _LENGTH_MARK else row for row in rows]
        cells["nugget"], cells["position"], cells["length"] = zip(*shifted_rows, strict=True)
    table = convert_columns(cells, ANSWERS, columns.source, columns.lines)
    if "support" in table.names:
        is_missing = _HAS_NUGGET & pl.col("support").is_null()
        table.check({"expected the support of the nugget, got an empty cell": is_missing})
    return name_systems(table, name, data)


def _iterate_answers(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for system, topics in iterate_nested_items(data, "system", "topic: answer", "answers"):
        for topic, answer in topics.items():
            row: dict[str, Any] = {"system": system, "topic": topic}
            nuggets = answer
            if isinstance(answer, Mapping) and {"nuggets", "length", "text"} & answer.keys():
                row |= {name: answer.get(name) for name in ("length", "text")}
                nuggets = answer.get("nuggets", ())
            yield {**row, "nugget": None}
            if isinstance(nuggets, Mapping):
                for nugget, value in nuggets.items():
                    fields = value if isinstance(value, Mapping) else {"position": value}
                    yield {**row, **fields, "nugget": nugget}
            elif isinstance(nuggets, (list, tuple, set, frozenset)):
                yield from ({**row, "nugget": nugget} for nugget in nuggets)
            else:
                reason = f"nuggets of system {quote(system)} must be a list or a mapping"
                got = type(nuggets).__name__
                raise InputError(f"{reason}, got {got}", source="answers", topic=str(topic))


_HAS_NUGGET = pl.col("nugget").is_not_null()
_ANSWER = ("topic", "system")
_INVALID_ANSWERS = {
    "unknown gold nugget {nugget}": _HAS_NUGGET & pl.col("index").is_null(),
    "the answer of {system} has two lengths, {first_length:g} and {length:g}": pl.col("is_known")
    & (pl.col("length") != pl.col("first_length")),
    "nugget {nugget} is matched twice by system {system}": _HAS_NUGGET & pl.col("is_repeated"),
}


def build_answers(tables: list[Table], gold: Nuggets) -> JudgedAnswers:
    frame = pl.concat([table.frame for table in tables])
    text_lengths = [None if text is None else count_characters(text) for text in frame["text"]]
    frame = frame.with_columns(
        length=pl.coalesce("length", pl.Series(text_lengths, dtype=pl.Float64)),
        is_known=pl.col("topic").is_in([*gold.topics]),
        is_repeated=is_repeated(*_ANSWER, "nugget"),
    )
    frame = frame.with_columns(first_length=pl.col("length").drop_nulls().first().over(_ANSWER))
    frame = frame.join(gold.indices, on=["topic", "nugget"], how="left", maintain_order="left")
    start = 0
    for table in tables:
        rows = replace(table, frame=frame[start : start + table.frame.height])
        rows.check(_INVALID_ANSWERS)
        start += rows.frame.height
    systems = tuple(frame["system"].unique(maintain_order=True))
    unknown_rows = frame.filter(~pl.col("is_known"))
    skipped_topics = unknown_rows["topic"].unique(maintain_order=True).to_list()
    frame = frame.filter("is_known")
    nouns = {"text": "answer", "gold": "nuggets"}
    source = list_some(dict.fromkeys(table.source for table in tables), 3)
    check_topics(systems, {*frame["system"]}, skipped_topics, gold.topics, **nouns, source=source)
    shape = (len(gold.topics), len(systems))
    length, is_answered = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    topic = find_label_positions(frame["topic"].to_list(), gold.topics)
    system = find_label_positions(frame["system"].to_list(), systems)
    length[topic, system] = frame["first_length"].fill_null(np.nan)
    is_answered[topic, system] = True
    warn_of_missing_answers(is_answered, gold.topics, systems)
    # A nugget without support is not a match, but its row states that there is an answer.
    frame = frame.with_columns(pl.col("support").fill_null(1.0), cell=topic * shape[1] + system)
    matches = frame.filter(_HAS_NUGGET, pl.col("support") > 0)
    return JudgedAnswers(
        nuggets=gold,
        systems=systems,
        is_answered=is_answered,
        length=length,
        cell=matches["cell"].to_numpy(),
        nugget=matches["index"].to_numpy(),
        position=matches["position"].fill_null(np.nan).to_numpy(),
        support=matches["support"].to_numpy(),
    )


FAILED_LABEL = "failed"  # Label that AutoNuggetizer writes if its model returned no label

_NONEMPTY_LIST = ValueKind(lambda x: x if isinstance(x, list) and x else None, pl.Object)

ASSIGNMENTS = Schema(
    "table of nugget assignments",
    (
        TOPIC,
        declare_optional("run_id", NAME, "system"),
        FileColumn("nuggets", _NONEMPTY_LIST, None),
        declare_optional("answer_text", ANSWER_TEXT, None),
        declare_optional("candidate_text", ANSWER_TEXT, None),
    ),
    noun="nugget assignments",
    formats=frozenset({"json", "jsonl"}),
    default_format="jsonl",
    decisive_kinds=(),
)


def read_nugget_assignments(data: Any, *, name: str | None = None) -> JudgedAnswers:
    """Read nugget assignments of the TREC RAG track.

    Parameters
    ----------
    data
        JSON lines, a JSON array, or an iterable of mappings, one for each answer: `qid`, `run_id`,
        and `nuggets`, a list of `{"text": ..., "importance": "vital" or "okay", "assignment":
        "support", "partial_support" or "not_support"}`. The length of an answer is the number of
        characters other than white space of `answer_text`, if present. Or a list of files.
    name
        Name of the system, if `run_id` is missing; by default the stem of the file, or `run`.

    Returns
    -------
    JudgedAnswers
        Answers with the nuggets that they list; all answers to a topic must list the same nuggets.
        A text that occurs twice in a list is two nuggets, as in AutoNuggetizer.

    Raises
    ------
    InputError
        With file, line and reason: no nuggets, a repeated answer, answers to one topic that list
        different nuggets, an unknown label.

    Warns
    -----
    CranfieldWarning
        For missing answers, which count as 0, and for failed labels of AutoNuggetizer: a failed
        assignment counts as no support, a failed importance as okay.

    Examples
    --------
    >>> nuggets = [{"text": "born 1942", "importance": "vital", "assignment": "partial_support"}]
    >>> read_nugget_assignments([{"qid": "1", "run_id": "a", "nuggets": nuggets}])
    JudgedAnswers(1 topic, 1 system, 1 match)
    """
    tables: list[Table] = []
    gold_rows: list[dict[str, Any]] = []
    is_name_used = False
    first_nuggets: dict[str, Counter[tuple[str, Any]]] = {}
    answered_cells: set[tuple[str, str]] = set()
    n_failed_labels = Counter[str]()
    for file in list_inputs(data):
        table = read_table(file, ASSIGNMENTS)
        if "candidate_text" in table.names:
            raise InputError(
                "expected nuggets assigned to answers, got nuggets assigned to retrieved documents;"
                " convert them to judgments (topic, nugget, docid, grade) for diversity measures",
                source=table.source,
            )
        rows: list[dict[str, Any]] = []
        for row, (topic, run, labels, text, _) in enumerate(table.iterate_rows()):
            system = run or name or get_stem(file)
            is_name_used |= run is None
            if (topic, system) in answered_cells:
                reason = f"expected one answer of system {quote(system)}, got a second"
                raise table.make_row_error(row, reason, topic)
            answered_cells.add((topic, system))
            make_error = partial(table.make_row_error, row, topic=topic)
            nuggets, n_failed = _read_labels(labels, make_error)
            n_failed_labels[table.source] += n_failed
            counts = Counter((nugget, importance) for nugget, importance, _ in nuggets)
            if topic not in first_nuggets:
                first_nuggets[topic] = counts
                gold_rows += [{"topic": topic, "nugget": n, "importance": i} for n, i, _ in nuggets]
            elif first_nuggets[topic] != counts:
                difference = (counts - first_nuggets[topic]) or (first_nuggets[topic] - counts)
                example = quote(next(iter(difference))[0])
                reason = (
                    "expected the nuggets and importance of the topic's first answer, got other"
                    f" ones (such as {example})"
                )
                raise table.make_row_error(row, reason, topic)
            cells = {"topic": topic, "system": system, "text": text}
            rows.append({**cells, "nugget": None})
            rows += [{**cells, "nugget": n, "support": degree} for n, _, degree in nuggets]
        tables.append(read_record_columns(rows, ANSWERS, table.source).make_table(ANSWERS))
    check_name_used(name, is_name_used)
    for source, n_failed in (+n_failed_labels).items():
        warn(
            f"{source}: {inflect(n_failed, 'label')} with value 'failed':"
            " a failed assignment counts as no support, a failed importance as okay"
        )
    return build_answers(tables, build_nuggets(read_table(gold_rows, NUGGETS)))


def _read_labels(
    cells: list[Any], make_error: Callable[[str], InputError]
) -> tuple[list[tuple[str, Any, Any]], int]:
    """Read text, importance and support of the nuggets, and count failed labels."""
    nuggets: list[tuple[str, Any, Any]] = []
    counts: Counter[str] = Counter()
    n_failed = 0
    for nugget in cells:
        text = nugget.get("text") if isinstance(nugget, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise make_error(f"expected a nugget with a text, got {quote(nugget)}")
        if is_broken_text(text):
            raise make_error(NUGGET.kind.describe_invalid("nugget", text))
        labels: list[Any] = []
        for name, default_label, noun, kind in (
            ("importance", "okay", "importance", IMPORTANCE),
            ("assignment", "not_support", "support", SUPPORT),
        ):
            label = nugget.get(name)
            if is_absent(label):
                raise make_error(f"nugget {quote(text)} has no {name}")
            if label == FAILED_LABEL:
                n_failed += 1
                label = default_label
            elif kind.read(label) is None:
                raise make_error(kind.describe_invalid(noun, label))
            labels.append(label)
        counts[text] += 1
        numbered_text = text if counts[text] == 1 else f"{text} #{counts[text]}"
        nuggets.append((numbered_text, *labels))
    return nuggets, n_failed
