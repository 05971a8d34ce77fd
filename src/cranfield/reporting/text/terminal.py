"""Scores for the eye: tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from math import isnan

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cranfield.base.escape import plain
from cranfield.collection.judged.coverage import Coverage
from cranfield.reporting.text.score_formats import best_value
from cranfield.scores import Scores


def systems_table(
    scores: Mapping[str, Scores], *, places: int = 4, title: str | None = None
) -> Table:
    """Return a table of the overall values; the best by the first measure first."""
    several = list(scores.values())
    overall = [one.overall() for one in several]
    systems = several[0].systems
    if len(systems) == 1 and len(overall) > 4:
        return _one_system(scores, overall, places, title)
    table = _table(title)
    table.add_column("system")
    for name in scores:
        table.add_column(Text(plain(name)), justify="right")
    best = [best_value(one) for one in several]
    sign = 1 if several[0].lower_is_better else -1
    for i in np.argsort(np.nan_to_num(sign * overall[0], nan=np.inf), kind="stable"):
        cells = [
            Text(_shown(values[i], places), "bold" if values[i] == top else "")
            for values, top in zip(overall, best, strict=True)
        ]
        table.add_row(Text(plain(systems[i])), *cells)
    return table


def _one_system(
    scores: Mapping[str, Scores], overall: list[np.ndarray], places: int, title: str | None
) -> Table:
    table = _table(title)
    table.add_column("measure")
    table.add_column(Text(plain(next(iter(scores.values())).systems[0])), justify="right")
    for name, values in zip(scores, overall, strict=True):
        table.add_row(Text(plain(name)), _shown(values[0], places))
    return table


def topics_table(scores: Mapping[str, Scores], *, places: int = 4, of: str = "topic") -> Table:
    """Return a table of the scores, a row a topic and system, with the overall values last."""
    several = list(scores.values())
    table = _table(None)
    table.add_column(of)
    table.add_column("system")
    for name in scores:
        table.add_column(Text(plain(name)), justify="right")
    for t, topic in enumerate(several[0].topics):
        for i, system in enumerate(several[0].systems):
            cells = [_shown(one.values[t, i], places) for one in several]
            table.add_row(Text(plain(topic)), Text(plain(system)), *cells)
    table.add_section()
    for i, system in enumerate(several[0].systems):
        cells = [_shown(one.overall()[i], places) for one in several]
        table.add_row("all", Text(plain(system)), *cells, style="bold")
    return table


def coverage_table(coverage: Coverage) -> Table:
    """Return a table of what the judgments do not cover."""
    frame = coverage.to_polars()
    table = _table("Coverage of the judgments")
    for name in frame.columns:
        table.add_column(name, justify="left" if name == "system" else "right")
    for row in frame.rows():
        cells = [f"{cell:.1%}" if isinstance(cell, float) else f"{cell}" for cell in row[1:]]
        table.add_row(Text(plain(row[0])), *cells)
    return table


def shown(table: Table, *, on_terminal: bool, columns: int) -> str:
    """Draw a table as text: in the terminal's width and colours, or as wide as it needs to be."""
    console = Console(
        file=StringIO(),
        force_terminal=on_terminal,
        # A file or a pipe has no width, and nothing may be cut off there.
        width=None if on_terminal else 60 + 24 * columns,
    )
    with console.capture() as captured:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _table(title: str | None) -> Table:
    return Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)


def _shown(value: float, places: int) -> str:
    return "-" if isnan(value) else f"{value:.{places}f}"
