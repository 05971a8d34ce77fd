"""Lines of text: what trec_eval and ir_measures print, and cranfield in their forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from cranfield.base.errors import InputError, quoted
from cranfield.evaluation.scorefiles.cells import (
    CUTOFF,
    LOOKED_AT,
    label_in,
    like_a_measure,
    measure_of,
    no_score,
    numeric,
    role_of,
)
from cranfield.evaluation.scorefiles.parts import (
    AGGREGATE,
    Entry,
    ScorePart,
    ScoreSource,
    part_of,
)
from cranfield.sources.text import lines_of

RUNID = "runid"
"""What trec_eval prints as the measure of the line that names the run."""


class Row(NamedTuple):
    """The cells of a line, and its number."""

    cells: list[str]
    line: int


def cells_of(line: str) -> list[str]:
    """Cut a line at its tabs, or at any blanks; names may have blanks between tabs."""
    cells = [cell.strip() for cell in line.strip("\r\n").split("\t")]
    return cells if len(cells) in {3, 4} else line.split()


def looks_like_lines(head: str) -> bool:
    """Tell whether this is a line with a score, rather than the head of a table."""
    cells = cells_of(head)
    if not 2 <= len(cells) <= 4 or not cells[0] or role_of(cells[0]) == "topic":
        return False
    if cells[0] == RUNID or "\t" not in head:
        return True
    return numeric(cells[-1]) or no_score(cells[-1]) or measure_of(cells[0]) is not None


def from_lines(text: str, source: ScoreSource) -> ScorePart:
    """Read lines of measure, topic and value, in this order or with the topic first.

    Lines of four cells begin with the system. Where there are only three, a line `runid` names it,
    else the file does.
    """
    rows = [Row(cells_of(line), number) for number, line in lines_of(text)]
    wide = len(rows[0].cells) == 4
    wanted = 4 if wide else 3
    for cells, line in rows:
        if len(cells) != wanted:
            raise InputError(
                f"{len(cells)} columns, not {wanted}: measure, topic and value, as trec_eval -q"
                " or ir_measures --by_query print them",
                line=line,
            )
    if wide:
        return part_of(_entry(row, 2, 1, row.cells[0]) for row in rows)
    kind, topic = _order(rows, source.requested)
    named = _with_systems(rows, kind, topic, source.stem)
    return part_of(_entry(row, kind, topic, system) for row, system in named)


def _entry(row: Row, kind: int, topic: int, system: str) -> Entry:
    cells, line = row
    return Entry(
        label_in(cells[kind], "measure", line),
        label_in(cells[topic], "topic", line),
        label_in(system, "system", line),
        None,
        cells[-1],
        line,
    )


def _may_be_a_measure(name: str) -> bool:
    return bool(like_a_measure(name) or measure_of(name) is not None or CUTOFF.search(name))


def _order(rows: Sequence[Row], requested: Sequence[str]) -> tuple[int, int]:
    """Return the places of the measure and the topic: trec_eval and ir_measures differ."""
    columns = [list(dict.fromkeys(row.cells[k] for row in rows)) for k in (0, 1)]
    signs = [
        [AGGREGATE not in names for names in columns],
        [any(map(_may_be_a_measure, islice(names, LOOKED_AT))) for names in columns],
        [not {*requested}.isdisjoint(names) for names in columns],
        [not all(map(numeric, names)) for names in columns],
        [len(names) == 1 for names in columns],
    ]
    for first, second in signs:
        if first != second:
            return (0, 1) if first else (1, 0)
    raise InputError(
        f"it is not clear which column has the measures: {quoted(columns[0][0])} or"
        f" {quoted(columns[1][0])}? Name the measure to take, or give a table with a head"
    )


def _with_systems(
    rows: Sequence[Row], kind: int, topic: int, stem: str
) -> Iterator[tuple[Row, str]]:
    """Give each line by topic its system, by the lines before or after it that name the runs."""
    named = [row for row in rows if row.cells[kind] == RUNID]
    if len(named) <= 1:
        system = named[0].cells[2] if named else stem
        yield from ((row, system) for row in rows if row.cells[topic] != AGGREGATE)
        return
    runs: list[tuple[str, list[Row]]] = []
    pending: list[Row] = []
    runs_come_first = rows[0].cells[kind] == RUNID
    for row in rows:
        if row.cells[kind] == RUNID:
            runs.append((row.cells[2], [] if runs_come_first else pending))
            pending = []
        elif row.cells[topic] != AGGREGATE:
            (runs[-1][1] if runs_come_first else pending).append(row)
    if pending or not all(own for _, own in runs):
        if not pending and not any(own for _, own in runs):
            return
        raise InputError(
            "it is not clear which lines are of which run; give a file a run, or a table"
            " (cranfield evaluate --by-topic --format csv)"
        )
    for system, own in runs:
        yield from ((row, system) for row in own)
