"""Tables of scores on a terminal or as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from math import isnan
from typing import TYPE_CHECKING

from cranfield.base.arrays import Floats, argsort_best, is_best_value
from cranfield.base.text import sanitise
from cranfield.collection.judged.coverage import Coverage
from cranfield.scores import Scores
from cranfield.tabular import NO_VALUE, Cell, Table, align_rows, as_cell

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def tabulate_systems(scores: Mapping[str, Scores], *, places: int = 4) -> Table:
    """Return a row for each system, or for each of more than four measures of a single system."""
    score_list = list(scores.values())
    overall = [measure_scores.overall() for measure_scores in score_list]
    systems = score_list[0].systems
    if len(systems) == 1 and len(overall) > 4:
        rows = [[m, format_value(v[0], places)] for m, v in zip(scores, overall, strict=True)]
        return Table("", ["measure", systems[0]], rows)
    columns = []
    for values, measure_scores in zip(overall, score_list, strict=True):
        cells = zip(values, is_best_value(values, measure_scores.lower_is_better), strict=True)
        columns.append([Cell(format_value(v, places), bold=bool(bold)) for v, bold in cells])
    order = argsort_best(overall[0], score_list[0].lower_is_better)
    table_rows = [[systems[i], *(column[i] for column in columns)] for i in order]
    return Table("", ["system", *scores], table_rows)


def tabulate_units(
    scores: Mapping[str, Scores], *, places: int = 4, unit: str = "topic", has_bold: bool = True
) -> Table:
    """Return a row for each topic and system, and last the overall values, by default in bold."""
    score_list = list(scores.values())
    units, systems = score_list[0].topics, score_list[0].systems
    overall = [measure_scores.overall() for measure_scores in score_list]

    def make_row(topic: str, system: int, values: Sequence[Floats]) -> list[str]:
        return [topic, systems[system], *(format_value(v[system], places) for v in values)]

    indices = range(len(systems))
    rows: list[list[str | Cell]] = [
        [*make_row(topic, i, [measure_scores.values[t] for measure_scores in score_list])]
        for t, topic in enumerate(units)
        for i in indices
    ]
    n_unit_rows = len(rows)
    rows += [[Cell(cell, bold=has_bold) for cell in make_row("all", i, overall)] for i in indices]
    return Table("", [unit, "system", *scores], rows, left=(0, 1), rules=(n_unit_rows,))


def tabulate_coverage(coverage: Coverage) -> Table:
    """Return the table of the coverage of judgments; fractions are percentages."""
    frame = coverage.to_polars()
    rows = [
        [f"{cell:.1%}" if isinstance(cell, float) else f"{cell}" for cell in row]
        for row in frame.rows()
    ]
    return Table("Coverage of the judgments", frame.columns, rows)


def format_value(value: float, places: int) -> str:
    """Format a value with a number of decimals; NaN as a missing value."""
    return NO_VALUE.text if isnan(value) else f"{value:.{places}f}"


def draw_table(table: Table, *, is_on_terminal: bool) -> str:
    """Format a table; outside of a terminal, use Rich, which is slow to load, only if needed."""
    # A file or a pipe has no width; this maximum does not truncate cells.
    max_width = 60 + 24 * (1 + len(table.head) - len(table.left))
    head, *rows = [[as_cell(cell).text for cell in row] for row in (table.head, *table.rows)]
    lines = align_rows(head, rows, left=table.left, separator="   ").splitlines()
    width = max(map(len, lines))
    has_room = width + 2 <= max_width and len(table.title) <= width
    if is_on_terminal or not has_room or not all(line.isascii() for line in [*lines, table.title]):
        # On a narrow terminal, long lines wrap: cut names or numbers could be equal.
        rich_width = None if is_on_terminal else max_width
        return draw_with_rich(to_rich_table(table), rich_width, min_width=max_width)
    body = [f" {line}" for line in lines]
    for row in sorted(table.rules, reverse=True):
        body.insert(1 + row, "")
    title = [table.title] if table.title else []
    return "\n".join([*title, "", body[0], f" {'─' * width}", *body[1:], "", ""])


def to_rich_table(table: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    rich = RichTable(
        box=box.SIMPLE_HEAD, title=table.title or None, title_justify="left", pad_edge=False
    )
    for k, cell in enumerate(map(as_cell, table.head)):
        rich.add_column(Text(sanitise(cell.text)), justify="left" if k in table.left else "right")
    for index, row in enumerate(table.to_cells()):
        if index in table.rules:
            rich.add_section()
        is_bold = all(cell.bold for cell in row)
        cells = (
            Text(sanitise(cell.text), "bold" if cell.bold and not is_bold else "") for cell in row
        )
        rich.add_row(*cells, style="bold" if is_bold else None)
    return rich


def draw_with_rich(table: RichTable, width: int | None, *, min_width: int = 0) -> str:
    """Render a table with Rich; without a width, for the terminal or `min_width`, if larger."""
    from rich.console import Console

    console = Console(file=StringIO(), force_terminal=width is None, width=width)
    console.width = max(console.width, min_width)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
