"""Answers and the gold nuggets that they contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, MeasureError, check_choice, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.collection.judged.coverage import Scorable
from cranfield.sources.columns import (
    Table,
    columns_of_records,
    fitted,
    pairs_of,
    read_columns,
    read_table,
)
from cranfield.sources.schemas import Column, Lines, Schema, optional
from cranfield.sources.values import LABEL, NAME, Kind, absent, any_value
from cranfield.texts.gold import (
    AMOUNT,
    IMPORTANCE,
    NUGGET,
    NUGGETS,
    SUPPORT,
    SYSTEM,
    TEXT,
    TOPIC,
    Nuggets,
    check_name_used,
    nuggets_of,
    read_nuggets,
    stem_of,
    text_length,
    warn_missing,
)

_NTCIR = ("topic", "nugget", "position")
_SYSLEN = "syslen="
ANSWER_TEXT = replace(TEXT, missing=any_value)

ANSWERS = Schema(
    "table of answers",
    (
        *(TOPIC, replace(NUGGET, kind=NAME), replace(SYSTEM, kind=LABEL)),
        optional("position", AMOUNT, "offset"),
        optional("support", SUPPORT),
        optional("length", AMOUNT),
        optional("text", ANSWER_TEXT),
    ),
    noun="answers",
    decisive=("status", "support"),
    lines=Lines(_NTCIR, 2, has_more=True),
    tuples=_NTCIR,
)


_PARTS = ("weight", "vital_length", "vital", "length", "position")
"""Attributes of nuggets and answers that measures may require."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgedAnswers(Scorable):
    """Answers of all systems, as lists of their nuggets.

    Attributes
    ----------
    nuggets
        The gold nuggets.
    systems
        Labels of the systems.
    answered
        Whether a system has an answer; shape (topics, systems).
    length
        Characters of the answer; NaN if unknown; shape (topics, systems).
    cell
        For each match its answer, as topic * systems + system; shape (matches,).
    nugget
        Index of the gold nugget that is matched.
    position
        Character of the answer where the nugget ends; NaN if unknown.
    support
        How well the answer supports the nugget: 1 fully, 0.5 in part.
    """

    what = "answers and nuggets"

    nuggets: Nuggets
    systems: tuple[str, ...]
    answered: NDArray[np.bool_]
    length: Floats
    cell: Ints
    nugget: Ints
    position: Floats
    support: Floats

    @property
    def topics(self) -> tuple[str, ...]:
        """Labels of the topics; all that have nuggets."""
        return self.nuggets.topics

    def total(self, values: Floats) -> Floats:
        """Sum a value of each match over each answer; shape (topics, systems)."""
        sums = np.bincount(self.cell, weights=values, minlength=self.answered.size)
        return sums.reshape(self.answered.shape).astype(np.float64)

    @property
    def full(self) -> Floats:
        """1 for each match with full support, else 0."""
        return (self.support >= 1).astype(np.float64)

    def of_matches(self, values: Floats) -> Floats:
        """Return the value of the nugget of each match; shape (matches,)."""
        return values[self.nugget]

    def require(self, measure: object, *parts: str) -> None:
        """Refuse a measure that requires attributes without values.

        Parameters
        ----------
        measure
            The measure, for the message.
        parts
            Of `weight`, `vital_length`, `vital`, `length`, `position`.
        """
        for part in parts:
            check_choice("a part", part, _PARTS)
            if part == "length":
                requirement = "the length of each answer"
                cells = np.flatnonzero(self.answered & np.isnan(self.length))
            elif part == "position":
                requirement = "the position of each nugget"
                cells = self.cell[np.isnan(self.position) & (self.full > 0)]
            else:
                labels = {"vital": "importance", "vital_length": "vital string length"}
                requirement = f"the {labels.get(part, part)} of each nugget"
                topics = self.nuggets.topic[np.isnan(getattr(self.nuggets, part))]
                cells = topics * len(self.systems)
            if cells.size:
                topic, system = divmod(int(cells[0]), len(self.systems))
                place = f"topic {quoted(self.topics[topic])}"
                if part in {"length", "position"}:
                    place += f" and system {quoted(self.systems[system])}"
                raise MeasureError(f"{measure} needs {requirement}; {place} lacks it")

    def __repr__(self) -> str:
        matches = f"{len(self.cell):,} match{'' if len(self.cell) == 1 else 'es'}"
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self.systems), 'system')}"
        return f"JudgedAnswers({size}, {matches})"


def judge_answers(answers: Any, nuggets: Any, *, name: str | None = None) -> JudgedAnswers:
    """Read the matches of answers and gold nuggets.

    Parameters
    ----------
    answers
        A table with a row for each match, with the columns `topic`, `nugget`, and any of `system`,
        `position` (of the nugget's last character), `support` (full, partial, none, or a number
        from 0 to 1; full where there is no such column), `length` of the answer in characters, or
        its `text`, whose characters other than white space are counted. A row without a nugget is
        an answer that may have none. Or batch match files of NTCIR, one per system, whose lines are
        `topic syslen= length` and `topic nugget position`. Or a mapping
        `{system: {topic: answer}}`, where an answer is a list of nuggets, a mapping
        `{nugget: position}`, or `{"nuggets": ..., "length": ..., "text": ...}`. Or a list of files.
    nuggets
        Gold nuggets, as for :func:`read_nuggets`.
    name
        The system, where the table has no such column; by default the name of the file. It is
        refused where the answers name their systems.

    Returns
    -------
    JudgedAnswers
        Has all topics with nuggets; a system without an answer has no nugget of the topic.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a nugget that the topic does not have, one that
        is matched twice in an answer, two lengths of one answer, a negative length or position.

    Warns
    -----
    CranfieldWarning
        For answers to topics without nuggets, which are excluded, and for missing answers, which
        count as 0: a system has no row for a topic with nuggets.

    Examples
    --------
    >>> gold = {"q1": {"born": 3, "died": 1}}
    >>> judge_answers({"a": {"q1": ["born"]}, "b": {"q1": {"born": 10, "died": 25}}}, gold)
    JudgedAnswers(1 topic, 2 systems, 3 matches)
    """
    gold = read_nuggets(nuggets)
    return judged_of([_table(file, name) for file in _files(answers)], gold)


def _table(data: Any, name: str | None) -> Table:
    if isinstance(data, Mapping):
        data = list(_flat(data))
    columns = read_columns(data, ANSWERS)
    cells = columns.select(ANSWERS)
    size = len(cells["topic"])
    check_name_used(name, "system" not in cells)
    cells.setdefault("system", [name or stem_of(data)] * size)
    if isinstance(data, (str, PathLike)) and _SYSLEN in (nuggets := list(cells["nugget"])):
        places, lengths = (cells.get(name, [None] * size) for name in ("position", "length"))
        rows = zip(nuggets, places, lengths, strict=True)
        moved_rows = [(None, None, row[1]) if row[0] == _SYSLEN else row for row in rows]
        cells["nugget"], cells["position"], cells["length"] = zip(*moved_rows, strict=True)
    table = fitted(cells, ANSWERS, columns.source, columns.lines)
    if "support" in table.names:
        of_nuggets = table.frame["nugget"].is_not_null()
        table.refuse(of_nuggets & table.frame["support"].is_null(), lambda _: "has no support")
    return table


def _flat(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for system, topics in pairs_of(data, "system", "topic: answer", "answers"):
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
                raise InputError(
                    f"system {quoted(system)} has {type(nuggets).__name__} instead of nuggets",
                    source="answers",
                    topic=str(topic),
                )


def judged_of(tables: list[Table], gold: Nuggets) -> JudgedAnswers:
    topics = {topic: k for k, topic in enumerate(gold.topics)}
    places = gold.places
    systems: dict[str, int] = {}
    lengths: dict[tuple[int, int], float] = {}
    matches: dict[tuple[int, int, int], tuple[float, float]] = {}
    unknown_topics: dict[str, None] = {}
    for table in tables:
        for row, cells in enumerate(table.rows()):
            topic, nugget, system, position, support, length, text = cells
            s = systems.setdefault(system, len(systems))
            if isnan(length) and text is not None:
                length = float(text_length(text))
            if topic not in topics and nugget is None:
                unknown_topics[topic] = None
                continue
            if nugget is not None and (topic, nugget) not in places:
                raise table.wrong(row, f"unknown gold nugget {quoted(nugget)}", topic)
            t = topics[topic]
            known_length = lengths.setdefault((t, s), nan)
            if not isnan(length):
                if not isnan(known_length) and known_length != length:
                    raise table.wrong(
                        row, f"conflicting lengths {known_length:g} and {length:g}", topic
                    )
                lengths[t, s] = length
            if nugget is not None:
                place = places[topic, nugget]
                if (t, s, place) in matches:
                    raise table.wrong(
                        row, f"nugget {quoted(nugget)} is matched twice by {quoted(system)}", topic
                    )
                matches[t, s, place] = (position, 1.0 if isnan(support) else support)
    if unknown_topics:
        warn(
            f"{tables[0].source}: answers to {counted(len(unknown_topics), 'topic')} without"
            f" nuggets are skipped ({some_of(map(quoted, unknown_topics), 3)})",
            stacklevel=3,
        )
    shape = (len(gold.topics), len(systems))
    length, answered = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    for (t, s), value in lengths.items():
        length[t, s], answered[t, s] = value, True
    warn_missing(lengths, gold.topics, tuple(systems))
    keys = np.array(list(matches), dtype=np.int64).reshape(-1, 3)
    values = np.array(list(matches.values()), dtype=np.float64).reshape(-1, 2)
    # A pair without support is not a match, but the answer is kept.
    keep = values[:, 1] > 0
    keys, values = keys[keep], values[keep]
    return JudgedAnswers(
        nuggets=gold,
        systems=tuple(systems),
        answered=answered,
        length=length,
        cell=keys[:, 0] * shape[1] + keys[:, 1],
        nugget=keys[:, 2],
        position=values[:, 0],
        support=values[:, 1],
    )


def _list(cell: Any) -> list[Any] | None:
    return cell if isinstance(cell, list) and cell else None


FAILED = "failed"
"""Label of AutoNuggetizer where its model returned none."""


ASSIGNMENTS = Schema(
    "table of nugget assignments",
    (
        TOPIC,
        optional("run_id", NAME, None),
        Column("nuggets", Kind(_list, pl.Object), None),
        optional("answer_text", ANSWER_TEXT, None),
        optional("candidate_text", ANSWER_TEXT, None),
    ),
    noun="nugget assignments",
    formats=frozenset({"json", "jsonl"}),
    otherwise="jsonl",
    decisive=(),
)


def read_nugget_assignments(data: Any, *, name: str | None = None) -> JudgedAnswers:
    """Read nugget assignments of the TREC RAG track.

    Parameters
    ----------
    data
        JSON lines, a JSON array, or an iterable of mappings, one an answer: `qid`, `run_id`, and
        `nuggets`, a list of `{"text": ..., "importance": "vital" or "okay", "assignment":
        "support", "partial_support" or "not_support"}`. Where there is an `answer_text`, its
        characters other than white space are the answer's length. Or a list of files.
    name
        The system, where there is no `run_id`; by default the name of the file.

    Returns
    -------
    JudgedAnswers
        The nuggets of a topic are those of its answers, which all have to list the same. Text that
        a list has twice is two nuggets, as in AutoNuggetizer.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: no nuggets, a repeated answer, answers
        to one topic that list different nuggets, an unknown label.

    Warns
    -----
    CranfieldWarning
        For missing answers, which count as 0, and for labels that AutoNuggetizer failed to give:
        such an assignment counts as no support, such an importance as okay.

    Examples
    --------
    >>> nuggets = [{"text": "born 1942", "importance": "vital", "assignment": "partial_support"}]
    >>> read_nugget_assignments([{"qid": "1", "run_id": "a", "nuggets": nuggets}])
    JudgedAnswers(1 topic, 1 system, 1 match)
    """
    tables: list[Table] = []
    gold: list[dict[str, Any]] = []
    is_name_used = False
    first_nuggets: dict[str, Counter[tuple[str, Any]]] = {}
    answered: set[tuple[str, str]] = set()
    failed = 0
    for file in _files(data):
        table = read_table(file, ASSIGNMENTS)
        if "candidate_text" in table.names:
            raise InputError(
                "has nuggets assigned to retrieved documents, not to answers: write each as a"
                " judgment (topic, nugget, docid, grade) for measures of diversity",
                source=table.source,
            )
        rows: list[dict[str, Any]] = []
        for row, (topic, run, labels, text, _) in enumerate(table.rows()):
            system = run or name or stem_of(file)
            is_name_used |= run is None
            if (topic, system) in answered:
                raise table.wrong(row, f"a second answer of {quoted(system)}", topic)
            answered.add((topic, system))
            nuggets, n_failed = _nuggets(labels, partial(table.wrong, row, topic=topic))
            failed += n_failed
            counts = Counter((nugget, importance) for nugget, importance, _ in nuggets)
            if topic not in first_nuggets:
                first_nuggets[topic] = counts
                gold += [{"topic": topic, "nugget": n, "importance": i} for n, i, _ in nuggets]
            elif first_nuggets[topic] != counts:
                change = (counts - first_nuggets[topic]) or (first_nuggets[topic] - counts)
                changed = quoted(next(iter(change))[0])
                reason = f"its nuggets differ from those of the topic's first answer: {changed}"
                raise table.wrong(row, reason, topic)
            cells = {"topic": topic, "system": system, "text": text}
            rows.append({**cells, "nugget": None})
            rows += [{**cells, "nugget": name, "support": degree} for name, _, degree in nuggets]
        tables.append(columns_of_records(rows, ANSWERS, table.source).table(ANSWERS))
    check_name_used(name, is_name_used)
    if failed:
        warn(
            f"{tables[-1].source}: {counted(failed, 'label')} with value 'failed'"
            " counted as no support, or as okay",
            stacklevel=2,
        )
    return judged_of(tables, nuggets_of(read_table(gold, NUGGETS)))


def _files(data: Any) -> list[Any]:
    """Return the files of a list of files, or a list of the data."""
    if isinstance(data, (list, tuple)) and data:
        return [*data] if all(isinstance(file, (str, PathLike)) for file in data) else [data]
    return [data]


def _nuggets(
    cells: list[Any], wrong: Callable[[str], InputError]
) -> tuple[list[tuple[str, Any, Any]], int]:
    """Read the nuggets of an answer with their labels, and count the failed labels."""
    nuggets: list[tuple[str, Any, Any]] = []
    times: Counter[str] = Counter()
    failed = 0
    for nugget in cells:
        text = nugget.get("text") if isinstance(nugget, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise wrong("a nugget has no text")
        labels: list[Any] = []
        for name, default_label, noun, kind in (
            ("importance", "okay", "importance", IMPORTANCE),
            ("assignment", "not_support", "support", SUPPORT),
        ):
            label = nugget.get(name)
            if absent(label):
                raise wrong(f"nugget {quoted(text)} has no {name}")
            failed += label == FAILED
            label = default_label if label == FAILED else label
            if kind.read(label) is None:
                raise wrong(kind.reason(noun, label))
            labels.append(label)
        times[text] += 1
        importance, support = labels
        numbered_text = text if times[text] == 1 else f"{text} #{times[text]}"
        nuggets.append((numbered_text, importance, support))
    return nuggets, failed
