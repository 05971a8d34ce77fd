"""Nugget assignments as TREC's RAG track and AutoNuggetizer write them: a line an answer."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.base.words import counted
from cranfield.sources.chunks import Source
from cranfield.texts.answers import JudgedAnswers, judged_of
from cranfield.texts.content import content, decoded, json_lines
from cranfield.texts.gold import nuggets_of
from cranfield.texts.tables import Table, absent

_COLUMNS = ("topic", "system", "nugget", "support", "text")

FAILED = "failed"
"""What AutoNuggetizer writes where its model gave no label."""


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
        Where AutoNuggetizer failed to label: such an assignment counts as no support, such an
        importance as okay.

    Examples
    --------
    >>> nuggets = [{"text": "born 1942", "importance": "vital", "assignment": "partial_support"}]
    >>> read_nugget_assignments([{"qid": "1", "run_id": "a", "nuggets": nuggets}])
    JudgedAnswers(1 topic, 1 system, 1 match)
    """
    gold: list[tuple[dict[str, Any], int | None]] = []
    first: dict[str, Counter[tuple[str, Any]]] = {}
    answered: set[tuple[str, str]] = set()
    tables: list[Table] = []
    failed = 0
    source = "nugget assignments"
    for source, line, record, stem in _records(data):
        table = Table(source, ("topic", "system"), [_row(record, name or stem)], [line])
        topic, system = table.label(0, "topic"), table.label(0, "system")
        if (topic, system) in answered:
            raise table.wrong(0, f"a second answer of {quoted(system)}", topic)
        answered.add((topic, system))
        rows, lost = _nuggets(record, table, topic)
        failed += lost
        listed = Counter((str(row["nugget"]), row["importance"]) for row in rows)
        if topic not in first:
            first[topic] = listed
            gold += [({"topic": topic, **row}, line) for row in rows]
        elif first[topic] != listed:
            other = next(iter((listed - first[topic]) or (first[topic] - listed)))[0]
            raise table.wrong(
                0, f"its nuggets are not those of the topic's first answer: {quoted(other)}", topic
            )
        whole = {"topic": topic, "system": system, "text": record.get("answer_text")}
        cells = [{**whole, "nugget": None}]
        cells += [{**whole, "nugget": row["nugget"], "support": row["support"]} for row in rows]
        tables.append(Table(source, _COLUMNS, cells, [line] * len(cells)))
    if not tables:
        raise InputError("is empty", source=source)
    if failed:
        warnings.warn(
            CranfieldWarning(
                f"{source}: {counted(failed, 'label')} that failed; they count as no support, or as"
                " okay"
            ),
            stacklevel=2,
        )
    names = ("topic", "nugget", "importance")
    table = Table(source, names, [row for row, _ in gold], [line for _, line in gold])
    return judged_of(tables, nuggets_of(table))


def _records(data: Any) -> Iterable[tuple[str, int | None, Mapping[str, Any], str]]:
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        for line, record in json_lines(decoded(content(source), source.name), source.name):
            if not isinstance(record, Mapping):
                raise InputError("is no object", source=source.name, line=line)
            yield source.name, line, record, source.stem
    elif isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, Mapping)):
        for k, one in enumerate(data):
            if isinstance(one, Mapping):
                yield "nugget assignments", None, one, "run"
            elif isinstance(one, (str, PathLike)):
                yield from _records(one)
            else:
                raise InputError(
                    f"row {k + 1} is {type(one).__name__}, no record", source="nugget assignments"
                )
    else:
        raise InputError(f"{type(data).__name__} cannot be read as nugget assignments")


def _row(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    topic = record.get("qid", record.get("topic_id", record.get("topic")))
    system = record.get("run_id")
    return {"topic": topic, "system": name if absent(system) else system}


def _nuggets(
    record: Mapping[str, Any], table: Table, topic: str
) -> tuple[list[dict[str, Any]], int]:
    """Take the nuggets of an answer, and count the labels that failed."""
    listed = record.get("nuggets")
    if not isinstance(listed, list) or not listed:
        raise table.wrong(0, "has no nuggets", topic)
    rows: list[dict[str, Any]] = []
    times: Counter[str] = Counter()
    failed = 0
    for one in listed:
        text = one.get("text") if isinstance(one, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise table.wrong(0, "a nugget has no text", topic)
        labels = {}
        for what, instead in (("importance", "okay"), ("assignment", "not_support")):
            labels[what] = one.get(what)
            if absent(labels[what]):
                raise table.wrong(0, f"nugget {quoted(text)} has no {what}", topic)
            if labels[what] == FAILED:
                failed += 1
                labels[what] = instead
        times[text] += 1
        rows.append(
            {
                "nugget": text if times[text] == 1 else f"{text} #{times[text]}",
                "importance": labels["importance"],
                "support": labels["assignment"],
            }
        )
    return rows, failed
