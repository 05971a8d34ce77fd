"""Nugget assignments as TREC's RAG track and AutoNuggetizer write them: a line an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import counted
from cranfield.sources.chunks import Source
from cranfield.sources.schemas import Schema
from cranfield.sources.tables import Table, fitted
from cranfield.sources.text import decoded, json_lines
from cranfield.sources.values import absent
from cranfield.texts.answers import ANSWERS, JudgedAnswers, judged_of
from cranfield.texts.columns import IMPORTANCE, LABEL, SUPPORT, check_name_used
from cranfield.texts.gold import NUGGETS, nuggets_of

FAILED = "failed"
"""What AutoNuggetizer writes where its model gave no label."""


@dataclass(frozen=True)
class _Answer:
    """What is said of one answer, and where."""

    source: str
    number: int
    line: int | None
    content: Mapping[str, Any]
    stem: str

    def wrong(self, reason: str, topic: str | None = None) -> InputError:
        where = reason if self.line is not None else f"row {self.number}: {reason}"
        return InputError(where, source=self.source, line=self.line, topic=topic)

    def label(self, name: str, *others: str, default: str | None = None) -> str:
        cell = next((self.content[one] for one in (name, *others) if one in self.content), None)
        if absent(cell) and default is not None:
            return default
        if absent(cell):
            raise self.wrong("has no topic")
        return str(LABEL.read(cell))


@dataclass
class _Rows:
    """Rows of a table of one file."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)

    def add(self, answer: _Answer, **cells: Any) -> None:
        self.rows.append(cells)
        self.lines.append(answer.line)

    def table(self, schema: Schema, source: str) -> Table:
        names = dict.fromkeys(name for row in self.rows for name in row)
        cells = {name: [row.get(name) for row in self.rows] for name in names}
        return fitted(cells, schema, source, None if None in self.lines else self.lines)


def read_nugget_assignments(data: Any, *, name: str | None = None) -> JudgedAnswers:
    """Read nugget assignments of the TREC RAG track.

    Parameters
    ----------
    data
        JSON lines, or an iterable of mappings, one an answer: `qid`, `run_id`, and `nuggets`, a
        list of `{"text": ..., "importance": "vital" or "okay", "assignment": "support",
        "partial_support" or "not_support"}`. Where there is an `answer_text`, its characters other
        than white space are the answer's length. Or a list of files.
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
        Naming the file, the line and the reason: no nuggets, an answer that is there twice, answers
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
    gold, answers = _Rows(), dict[str, _Rows]()
    used = False
    first: dict[str, Counter[tuple[str, Any]]] = {}
    answered: set[tuple[str, str]] = set()
    failed = 0
    source = "nugget assignments"
    for answer in _answers(data):
        source = answer.source
        topic = answer.label("qid", "topic_id", "topic")
        system = answer.label("run_id", default=name or answer.stem)
        used |= absent(answer.content.get("run_id"))
        if (topic, system) in answered:
            raise answer.wrong(f"a second answer of {quoted(system)}", topic)
        answered.add((topic, system))
        nuggets, lost = _nuggets(answer, topic)
        failed += lost
        listed = Counter((nugget, importance) for nugget, importance, _ in nuggets)
        if topic not in first:
            first[topic] = listed
            for nugget, importance, _ in nuggets:
                gold.add(answer, topic=topic, nugget=nugget, importance=importance)
        elif first[topic] != listed:
            other = next(iter((listed - first[topic]) or (first[topic] - listed)))[0]
            raise answer.wrong(
                f"its nuggets are not those of the topic's first answer: {quoted(other)}", topic
            )
        rows = answers.setdefault(source, _Rows())
        whole = {"topic": topic, "system": system, "text": answer.content.get("answer_text")}
        rows.add(answer, **whole, nugget=None)
        for nugget, _, support in nuggets:
            rows.add(answer, **whole, nugget=nugget, support=support)
    if not answers:
        raise InputError("is empty", source=source)
    check_name_used(name, used)
    if failed:
        warn(
            f"{source}: {counted(failed, 'label')} that failed; they count as no support, or as"
            " okay",
            stacklevel=2,
        )
    tables = [rows.table(ANSWERS, source) for source, rows in answers.items()]
    return judged_of(tables, nuggets_of(gold.table(NUGGETS, source)))


def _answers(data: Any) -> Iterator[_Answer]:
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        records, lines = json_lines(decoded(source.read(), source.name), source.name)
        for line, record in zip(lines, records, strict=True):
            if not isinstance(record, Mapping):
                raise InputError("is no object", source=source.name, line=line)
            yield _Answer(source.name, line, line, record, source.stem)
    elif isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, Mapping)):
        for number, record in enumerate(data, 1):
            if isinstance(record, (str, PathLike)):
                yield from _answers(record)
            elif isinstance(record, Mapping):
                yield _Answer("nugget assignments", number, None, record, "run")
            else:
                raise InputError(
                    f"row {number} is {type(record).__name__}, no record",
                    source="nugget assignments",
                )
    else:
        raise InputError(f"{type(data).__name__} cannot be read as nugget assignments")


def _nuggets(answer: _Answer, topic: str) -> tuple[list[tuple[str, Any, Any]], int]:
    """Take the nuggets of an answer with their labels, and count the labels that failed."""
    listed = answer.content.get("nuggets")
    if not isinstance(listed, list) or not listed:
        raise answer.wrong("has no nuggets", topic)
    nuggets: list[tuple[str, Any, Any]] = []
    times: Counter[str] = Counter()
    failed = 0
    for nugget in listed:
        text = nugget.get("text") if isinstance(nugget, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise answer.wrong("a nugget has no text", topic)
        labels: list[Any] = []
        for name, instead, called, kind in (
            ("importance", "okay", "importance", IMPORTANCE),
            ("assignment", "not_support", "support", SUPPORT),
        ):
            label = nugget.get(name)
            if absent(label):
                raise answer.wrong(f"nugget {quoted(text)} has no {name}", topic)
            failed += label == FAILED
            label = instead if label == FAILED else label
            if kind.read(label) is None:
                raise answer.wrong(kind.reason(called, label), topic)
            labels.append(label)
        times[text] += 1
        importance, support = labels
        numbered = text if times[text] == 1 else f"{text} #{times[text]}"
        nuggets.append((numbered, importance, support))
    return nuggets, failed
