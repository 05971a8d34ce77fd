"""Registry of studies, and the base class of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.base.spec import Registry
from cranfield.base.text import capitalise, format_names
from cranfield.result import Column, Columns, Result, is_fact
from cranfield.tabular import format_number

if TYPE_CHECKING:
    import polars as pl

STUDIES: Registry[type[Result]] = Registry(
    "study",
    "scale_study *_study *_studies.* reproduction_result",
    package="cranfield.meta",
    base=Result,
)
"""Classes of results of studies, by name of the study."""

MEASURE_COLUMN = {"measure": Column("Measure.", key=True)}
"""First column of tables that can have rows for several measures."""

MEASURE_PAIR = {
    "first": Column("First measure of the pair.", key=True),
    "second": Column("Second measure of the pair.", key=True),
}
"""Key columns of tables with a row for each pair of measures."""

WORK_OPTIONS = ("jobs", "backend", "folder", "progress")
"""Options of parallel work and storage, which do not change results."""


class Study(Result):
    """Base class of the results of studies.

    The attributes of a study are the arguments of its call, except `WORK_OPTIONS`, and values that
    are passed by name: tables, sizes, and arguments in canonical form. Subclasses declare

    table_attributes
        Attributes that are the tables, or methods that return them if called without arguments, in
        the order of `columns`. A declared column `measure` is put first if a table lacks it.
    """

    table_attributes: ClassVar[Sequence[str]] = ()
    _has_empty_tables: ClassVar[bool] = False

    def __init__(self, call: Mapping[str, Any], /, **values: Any) -> None:
        options = {name: value for name, value in call.items() if name not in WORK_OPTIONS}
        vars(self).update(options | values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def facts(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "notes"}
        study = {"study": self.name} if self.reference else {}
        return study | {name: value for name, value in values.items() if is_fact(value)}

    def frames(self) -> dict[str, pl.DataFrame]:
        import polars as pl

        frames = {}
        tables = zip(self.get_columns().items(), self.table_attributes, strict=True)
        for (table, columns), attribute in tables:
            value = getattr(self, attribute)
            frame = value() if callable(value) else value
            if "measure" in columns and "measure" not in frame.columns:
                measure = getattr(self, "label", getattr(self, "measure", ""))
                frame = frame.select(pl.lit(measure).alias("measure"), pl.all())
            frames[table] = frame
        return frames


def make_schema(columns: Columns, integers: Iterable[str] = ()) -> dict[str, Any]:
    """Return the types of columns: text for keys, int64 for `integers`, otherwise floats."""
    import polars as pl

    types = {name: pl.String if column.key else pl.Float64 for name, column in columns.items()}
    return types | dict.fromkeys(integers, pl.Int64)


def find_names(frame: pl.DataFrame, column: str, value: Any, noun: str = "measure") -> list[str]:
    """Return the names (in the column `noun`) of the rows in which `column` equals `value`."""
    return frame.filter(frame[column] == value)[noun].to_list()


def describe_extremes(
    frame: pl.DataFrame,
    column: str,
    quantity: str,
    describe_row: Callable[[dict[str, Any]], tuple[str, str]],
    noun: str = "measure",
) -> str:
    """Describe which rows have the highest and the lowest value of a column.

    `describe_row` returns a long and a short text for a row: the long text is used for the highest
    value, the short text for the lowest.
    """
    rows = frame.sort(column, descending=True, maintain_order=True)
    highest, lowest = rows.row(0, named=True), rows.row(-1, named=True)
    highest_text, lowest_text = describe_row(highest)[0], describe_row(lowest)[1]
    highest_names, lowest_names = (
        find_names(frame, column, row[column], noun) for row in (highest, lowest)
    )
    if len(rows) == 1:
        return f"{capitalise(quantity)}: {highest_names[0]}, {highest_text}."
    if len(highest_names) == len(rows):
        return f"All {len(rows)} {noun}s are equal in {quantity}: {highest_text}."
    suffix = " each" if len(highest_names) > 1 else ""
    return (
        f"Most {quantity}: {format_names(highest_names, noun)}, {highest_text}{suffix}; fewest:"
        f" {format_names(lowest_names, noun)}, {lowest_text}."
    )


def format_percent(proportion: float | None) -> str:
    """Format a proportion in percent; return an empty text for None."""
    text = format_number(None if proportion is None else 100 * proportion, 1)
    return f"{text}%" if text else ""
