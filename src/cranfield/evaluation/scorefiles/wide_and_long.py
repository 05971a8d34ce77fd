"""Tables of scores: wide ones, with a column a system, and long ones, with a row a score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import some_of
from cranfield.evaluation.scorefiles.cells import (
    COLUMNS,
    NO_NAMES,
    are_measures,
    decimal_comma,
    label_in,
    no_score,
    numeric,
    roles,
)
from cranfield.evaluation.scorefiles.parts import Entry, ScorePart, ScoreSource, part_of
from cranfield.sources.column_names import SUMMARIES
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import Schema, spelt
from cranfield.sources.values import is_number


@dataclass(frozen=True)
class ScoreTable:
    """A table: names of the columns, rows, and the line of each row where there are lines.

    decimal: what stands before the decimals of a number that is text.
    """

    source: ScoreSource
    names: list[str]
    rows: list[list[Any]]
    lines: Sequence[int | None]
    decimal: str = "."

    def column(self, k: int) -> list[Any]:
        return [row[k] for row in self.rows]

    def labels(self, k: int, what: str) -> list[str]:
        """Return the cells of a column as names; none may be empty."""
        known: dict[str, str] = {}
        found = []
        for row, line in zip(self.rows, self.lines, strict=True):
            # A few names fill long columns.
            cell = row[k]
            label = known.get(cell) if isinstance(cell, str) else None
            if label is None:
                label = label_in(cell, what, line)
                if isinstance(cell, str):
                    known[cell] = label
            found.append(label)
        return found

    def score(self, row: int, k: int) -> Any:
        """Return a cell that holds a score, with a point before the decimals."""
        cell = self.rows[row][k]
        if self.decimal == "," and decimal_comma(cell):
            return str(cell).replace(",", ".")
        return cell


def from_table(table: ScoreTable) -> ScorePart:
    """Find out whether a table is wide or long, and take its scores.

    Columns of other names are left out of a long table, and are systems or measures in a wide one,
    except columns of text. Raises an `InputError` where the head leaves open which column is which.
    """
    place = roles(table.names)
    others = [k for k in range(len(table.names)) if k not in place.values()]
    if not {"system", "score"} <= place.keys():
        others = _with_names(table, others, topic_is_first="topic" not in place)
    if "system" in place and "score" not in place:
        names = [table.names[k] for k in others if not _is_text(table, k)]
        if _holds_scores(table, place["system"]) and not _are_measures(table, names):
            others = sorted([*others, place.pop("system")])
    topics = _topics(table, place, others)
    if "topic" not in place and topics is not None:
        others = others[1:]
    numbers = [name for k in others if is_number(name := table.names[k])]
    if any(not one.strip("+-").isdigit() for one in numbers) or (numbers and "system" in place):
        raise InputError(
            f"expected names of columns in the first line, got numbers ({some_of(numbers, 3)});"
            " write a line of names above the scores, and topics in rows"
        )
    topics = topics or [str(k) for k in range(1, len(table.rows) + 1)]
    if "system" not in place and "score" in place:
        if others and "topic" in place:
            raise InputError(
                f"has scores in {quoted(table.names[place['score']])}, but no column of systems;"
                f" what is {quoted(table.names[others[0]])}?"
            )
        if "topic" not in place:
            others = sorted([*others, place.pop("score")])
    text = [k for k in others if _is_text(table, k)]
    if "score" not in place and len(text) < len(others):
        others = [k for k in others if k not in text]
        if text:
            unused = some_of([quoted(table.names[k]) for k in text], 5)
            warn(f"{table.source.name}: columns not used: {unused}; they hold text, not scores")
    if "score" in place:
        schema = Schema("table of scores", tuple(COLUMNS.values()))
        columns = Columns.of_rows(table.names, table.rows, table.source.name)
        columns.tell_unused(schema, [*place.values()])
    return part_of(_entries(table, place, others, topics))


def _with_names(table: ScoreTable, others: list[int], *, topic_is_first: bool) -> list[int]:
    """Leave out numbers of rows and what is empty; any other column needs a name."""
    kept = []
    for k in others:
        cells = table.column(k)
        if spelt(table.names[k]) not in NO_NAMES or (topic_is_first and k == 0):
            kept.append(k)
        elif not all(map(no_score, cells)) and not _all_different(cells):
            raise InputError(f"column {k + 1} has no name, so it is no system")
    return kept


def _all_different(cells: Sequence[Any]) -> bool:
    """Tell whether there are whole numbers, none of them twice."""
    if not all(numeric(cell) and float(cell).is_integer() for cell in cells):
        return False
    return len({int(float(cell)) for cell in cells}) == len(cells)


def _are_measures(table: ScoreTable, names: Sequence[str]) -> bool:
    return are_measures(names, table.source.requested, "columns")


def _holds_scores(table: ScoreTable, k: int) -> bool:
    return all(numeric(cell) or no_score(cell) or decimal_comma(cell) for cell in table.column(k))


def _is_text(table: ScoreTable, k: int) -> bool:
    """Return True for a column with values, none of which resembles a number."""
    cells = [cell for cell in table.column(k) if not no_score(cell)]
    return bool(cells) and not any(
        numeric(cell) or _NUMBER_LIKE.match(str(cell).strip()) for cell in cells
    )


_NUMBER_LIKE = re.compile(r"[-+−]?[.,]?\d|[-+−]?inf", re.IGNORECASE)


def _topics(table: ScoreTable, place: dict[str, int], others: list[int]) -> list[str] | None:
    """Return the topic of each row; None where there are none, and rows are to be numbered."""
    if "topic" in place:
        if spelt(table.names[place["topic"]]) != "q" or not _fractions(table, place["topic"]):
            return table.labels(place["topic"], "topic")
        others.insert(0, place.pop("topic"))
    named = [role for role in ("system", "measure", "shard") if role in place]
    if named and not (others and others[0] == 0 and not table.names[0]):
        raise InputError(
            f"has a column of {named[0]}s, {quoted(table.names[place[named[0]]])}, but none of"
            " topics; values over all topics cannot be compared: a row is a topic, as in write_csv"
            " of Scores or in cranfield evaluate --by-topic"
        )
    if not others or others[0] != 0:
        return None
    name, cells = table.names[0], table.column(0)
    if spelt(name) in NO_NAMES:
        topics = table.labels(0, "topic")
        if are_measures(topics, table.source.requested):
            raise InputError(
                f"expected a row for each topic, got rows of measures ({some_of(topics, 3)});"
                " transpose the table, so that the measures are columns"
            )
        return topics
    given = [cell for cell in cells if not no_score(cell)]
    numbers = sum(numeric(cell) or decimal_comma(cell) for cell in given)
    if given and not numbers:
        return table.labels(0, "topic")
    if numbers < len(given):
        raise InputError(
            f"the first column, {quoted(name)}, has numbers and text; call it topic if it names"
            " the topics"
        )
    # Numbers of topics would pass as scores of one more system.
    if len(cells) > 1 and _all_different(cells) and {float(cell) for cell in cells} != {0, 1}:
        raise InputError(
            f"the first column, {quoted(name)}, has another whole number in each row; call it"
            " topic if these are topics, or put a column topic before it if they are scores"
        )
    return None


_STATISTIC = re.compile(r"(.*[\W_])?(p[\W_]?values?|std|stdev|stderr|sd)", re.IGNORECASE)
_NUMBER_OF = re.compile(r"(.*[\W_])?(ranks?|fold|seed|split)", re.IGNORECASE)


def _warn_of_statistics(table: ScoreTable, columns: Sequence[int]) -> None:
    """Warn of columns that are read as systems although their names look like statistics."""
    doubtful = [
        quoted(name)
        for k in columns
        if spelt(name := table.names[k]) in SUMMARIES
        or _STATISTIC.fullmatch(name)
        or (_NUMBER_OF.fullmatch(name) and not _fractions(table, k))
    ]
    if doubtful:
        listed = some_of(doubtful, 5)
        warn(f"{table.source.name}: columns read as systems: {listed}; remove those of no system")


def _fractions(table: ScoreTable, k: int) -> bool:
    return any(
        decimal_comma(cell) or (numeric(cell) and not float(cell).is_integer())
        for cell in table.column(k)
    )


def _entries(
    table: ScoreTable, place: dict[str, int], others: list[int], topics: list[str]
) -> Iterator[Entry]:
    """Take a score from each row of a long table, and of each system from a row of a wide one."""
    long, by_score = "system" in place or "score" in place, "score" in place
    nothing: list[str | None] = [None] * len(topics)
    labels = {role: table.labels(place[role], role) for role in place if role != "score"}
    systems = labels.get("system", [table.source.stem] * len(topics))
    measures: Sequence[str | None] = labels.get("measure", nothing)
    shards: Sequence[str | None] = labels.get("shard", nothing)
    columns = [place["score"]] if by_score else others
    if not columns or (long and "measure" in place and len(columns) > 1):
        raise InputError("has no column of scores")
    names = [table.names[k] for k in columns]
    named = [name for name in table.names if name]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise InputError(f"two columns are called {quoted(twice)}")
    # A column a measure is one run's table.
    by_measure = not by_score and "measure" not in place and (long or _are_measures(table, names))
    if not (long or by_measure):
        _warn_of_statistics(table, columns)
    seen = set()
    for row, topic in enumerate(topics):
        key, line = (measures[row], topic, shards[row]), table.lines[row]
        if not long and key in seen:
            raise InputError("two rows for one topic", line=line, topic=topic)
        seen.add(key)
        for k in columns:
            measure = table.names[k] if by_measure else measures[row]
            system = systems[row] if long or by_measure else table.names[k]
            yield Entry(measure, topic, system, shards[row], table.score(row, k), line)
