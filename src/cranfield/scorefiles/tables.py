"""Tables of scores: wide ones, with a column a system, and long ones, with a row a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.tables import NAMES
from cranfield.errors import InputError, MeasureError, quoted
from cranfield.measures import parse_measures
from cranfield.scale import Scale
from cranfield.scores import Scores

NO_SCORE = {"", "na", "nan", "n/a", "null", "none", "-"}
"""What stands in a table where there is no score; case does not matter."""

SYSTEMS = ("system", "run", "run_id", "runid", "tag", "run_tag", "name")
VALUES = ("score", "value")


@dataclass(frozen=True)
class Table:
    """A table as text: names of the columns, rows, and the line of each row."""

    source: str
    names: list[str]
    rows: list[list[Any]]
    lines: Sequence[int]


def from_table(table: Table, measure: str | None) -> Scores:
    """Find out whether a table is wide or long, and read it."""
    lower = {name.lower(): k for k, name in reversed(list(enumerate(table.names)))}
    topic = next((lower[name] for name in NAMES["topic"] if name in lower), None)
    system = next((lower[name] for name in SYSTEMS if name in lower), None)
    value = next((lower[name] for name in VALUES if name in lower), None)
    if topic is not None and system is not None and value is not None:
        places = {"topic": topic, "system": system, "score": value}
        places |= {name: lower[name] for name in ("measure", "shard") if name in lower}
        return _from_long(table, places, measure)
    if topic is None and (not table.names[0] or not numeric(table.rows[0][0])):
        topic = 0
    names = [name for k, name in enumerate(table.names) if k != topic]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two systems are called {quoted(twice)}", source=table.source)
    if not names:
        raise InputError("has no column of scores", source=table.source)
    topics = (
        [str(k) for k in range(1, len(table.rows) + 1)]
        if topic is None
        else [_label(row[topic]) for row in table.rows]
    )
    columns = [k for k in range(len(table.names)) if k != topic]
    values = [
        [score_in(row[k], table.source, line, label) for k in columns]
        for row, line, label in zip(table.rows, table.lines, topics, strict=True)
    ]
    return checked(values, topics, names, measure, table.source)


def _from_long(table: Table, places: Mapping[str, int], measure: str | None) -> Scores:
    """Arrange a table with a row a score by topic, system and shard."""
    columns = {name: [_label(row[k]) for row in table.rows] for name, k in places.items()}
    kinds = list(dict.fromkeys(columns.get("measure", [])))
    wanted = chosen(kinds, measure, table.source)
    rows = [k for k, kind in enumerate(columns.get("measure", ())) if kind == wanted]
    rows = rows if "measure" in places else list(range(len(table.rows)))
    axes = [name for name in ("topic", "system", "shard") if name in places]
    labels = [list(dict.fromkeys(columns[axis][k] for k in rows)) for axis in axes]
    index_of = [{label: at for at, label in enumerate(some)} for some in labels]
    values = np.full([len(some) for some in labels], np.nan)
    seen = np.zeros(values.shape, dtype=bool)
    for k in rows:
        cell = tuple(index[columns[axis][k]] for axis, index in zip(axes, index_of, strict=True))
        topic, line = columns["topic"][k], table.lines[k]
        if seen[cell]:
            raise InputError(
                f"system {quoted(columns['system'][k])} has two scores",
                source=table.source,
                line=line,
                topic=topic,
            )
        seen[cell] = True
        values[cell] = score_in(table.rows[k][places["score"]], table.source, line, topic)
    return _made(values, labels[0], labels[1], wanted)


def chosen(kinds: list[str], measure: str | None, source: str) -> str | None:
    """Choose the measure to take of those that there are, or say that it has to be named."""
    if not kinds:
        return measure
    if measure is None and len(kinds) == 1:
        return kinds[0]
    if measure not in kinds:
        some = ", ".join(kinds[:10]) + (", …" if len(kinds) > 10 else "")
        reason = "name the measure" if measure is None else f"there is no {quoted(measure)}"
        raise InputError(f"{reason}: there are {some}", source=source)
    return measure


def arranged(columns: Mapping[str, Mapping[str, float]], measure: str | None) -> Scores:
    """Put the scores of each system side by side; topics are in order of appearance."""
    topics = list(dict.fromkeys(topic for scores in columns.values() for topic in scores))
    values = [[scores.get(topic, np.nan) for scores in columns.values()] for topic in topics]
    return checked(values, topics, list(columns), measure, "scores")


def checked(
    values: list[list[float]],
    topics: list[str],
    systems: list[str],
    measure: str | None,
    source: str,
) -> Scores:
    """Make scores of rows by topic, each topic once."""
    if len(set(topics)) < len(topics):
        twice = next(topic for topic in topics if topics.count(topic) > 1)
        raise InputError("two rows for one topic", source=source, topic=twice)
    array = np.array(values, dtype=np.float64).reshape(len(topics), len(systems))
    return _made(array, topics, systems, measure)


def _made(
    values: NDArray[np.float64], topics: list[str], systems: list[str], measure: str | None
) -> Scores:
    scale, lower_is_better = _declared(measure)
    return Scores(
        values,
        tuple(topics),
        tuple(systems),
        measure or "",
        scale=scale,
        lower_is_better=lower_is_better,
    )


def _declared(measure: str | None) -> tuple[Scale | None, bool]:
    """Return what a measure that we know declares: its scale, and whether low scores are good."""
    try:
        [one] = parse_measures(measure or "")
    except (MeasureError, ValueError):
        return None, False
    return one.info.scale, one.info.lower_is_better


def _label(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip()


def numeric(cell: Any) -> bool:
    """Tell whether a cell holds a number, or nothing."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return isinstance(cell, str) and cell.strip().lower() in NO_SCORE
    return True


def score_in(cell: Any, source: str, line: int | None = None, topic: str | None = None) -> float:
    """Read a score; NaN where there is none."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in NO_SCORE):
        return float("nan")
    try:
        score = float(cell)
    except (TypeError, ValueError):
        score = float("inf")
    if np.isinf(score):
        raise InputError(
            f"score {quoted(cell)} is not a finite number", source=source, line=line, topic=topic
        )
    return score
