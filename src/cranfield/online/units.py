"""Units of randomisation: the rows of their tables, with sums of measures over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import Schema, spelt
from cranfield.sources.values import Cells, absent

TIMES = frozenset({"date", "day", "week", "month", "quarter", "year", "hour", "period"})
"""Columns that are labels of rows even if their values are numbers."""


def check_rows(
    columns: Columns,
    schema: Schema,
    variant: str | None,
    metrics: Sequence[str],
    denominators: Sequence[str],
) -> None:
    """Refuse rows that are parts of a unit, or totals of many units.

    The evidence: ids of users or sessions repeat; a column has numbers of units, counts or weights;
    or labels such as a day or country occur once in each variant. If the ids of users are all
    different, rows are users, and nothing else is tested.

    Raises
    ------
    PolicyError
        If rows are no units, with the column that says so.
    """
    places = schema.places(columns.names, columns.source)
    below = {places[name] for name in denominators}
    known = replace(schema, decisive=("user", "session", "units", "count", "weight"))
    *_, kinds = known.unused(columns.names, {*places.values()} - below)
    for kind in ("user", "session"):
        for k in (k for k in kinds if kinds[k] == kind):
            cells = columns.cells(k)
            listed = [] if isinstance(cells, pl.Series) else cells
            if nested := [one for one in listed if isinstance(one, (list, dict))]:
                reason = f"expected text or a number in {quoted(columns.names[k])}"
                raise InputError(f"{reason}, got {quoted(nested[0])}", source=columns.source)
            ids = _texts(cells)
            number, rows = ids.drop_nulls().n_unique(), ids.len() - ids.null_count()
            if 0 < number < rows:
                raise _wrong(
                    columns,
                    f"{rows:,} rows of {number:,} values of {quoted(columns.names[k])}, whose rows"
                    f" are not independent: name the unit, such as unit={columns.names[k]!r}, or"
                    " unit='row' if rows were randomised",
                )
            if number == ids.len() and kind == "user":
                return
    for k, kind in kinds.items():
        # A metric may be a number by impressions, but not by users.
        if kind in {"count", "weight", "units"} and (kind == "units" or k not in below):
            values = _texts(columns.cells(k)).cast(pl.Float64, strict=False).drop_nulls()
            same = kind == "weight" and values.n_unique() < 2
            if not (same or values.is_in([0.0, 1.0]).all()):
                raise _totals(columns, f"a column {quoted(columns.names[k])}")
    if variant is not None:
        metric_places = {places[name] for name in metrics}
        _check_labels(columns, places[variant], metric_places)


def _check_labels(columns: Columns, variant: int, metrics: set[int]) -> None:
    """Refuse a row per variant and label: each group of labels has each variant at most once."""
    arm = _texts(columns.cells(variant))
    labels = {}
    for k in sorted({*range(len(columns.names))} - {variant} - metrics):
        values = _texts(columns.cells(k))
        is_text = values.cast(pl.Float64, strict=False).null_count() > values.null_count()
        if is_text or spelt(columns.names[k]) in TIMES:
            labels[str(columns.names[k])] = values
    rows = pl.DataFrame({"(arm)": arm, **labels}).drop_nulls("(arm)")
    arms = rows["(arm)"].n_unique()
    for some in [*([name] for name in labels), *([[*labels]] if len(labels) > 1 else [])]:
        if arms > 1 and not rows.select("(arm)", *some).is_duplicated().any():
            sizes = rows.group_by(some).len()["len"]
            if 2 * sizes.filter(sizes == arms).sum() > len(rows):
                listed = " and ".join(map(quoted, some))
                raise _totals(columns, f"one row per variant and {listed}")


def _texts(cells: Cells) -> pl.Series:
    if isinstance(cells, pl.Series) and not cells.dtype.is_nested():
        return cells.cast(pl.String, strict=False)
    return pl.Series([None if absent(one) else str(one) for one in cells], dtype=pl.String)


def _wrong(columns: Columns, reason: str) -> PolicyError:
    return PolicyError(f"{columns.source}: expected one row per unit, got {reason}")


def _totals(columns: Columns, found: str) -> PolicyError:
    return _wrong(
        columns,
        f"{found}, so that rows seem to be totals of many units: give the rows of the units; or"
        " unit='row' if each row was randomised as a whole",
    )


def means_of(totals: Floats, numbers: Floats) -> Floats:
    """Divide sums by numbers; NaN where there is no value."""
    none = np.full(totals.shape, np.nan)
    return np.asarray(np.divide(totals, numbers, out=none, where=numbers > 0))


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums of measures by unit, such as a user.

    The mean of a measure over pages is the sum of `totals` over the sum of `numbers`. Where users
    are assigned and pages are counted, that is a ratio of two random sums.

    Attributes
    ----------
    kind
        What a unit is: user, session, query or page.
    units
        Their ids, in order of UTF-8 bytes.
    variant
        Index of the variant of each unit, shape (units,); -1 where it has none.
    variants
        The variants, in order.
    names
        The measures.
    totals
        Sum of the values of each measure, shape (units, measures).
    numbers
        Number of values that there are, shape (units, measures).
    pages, unassigned
        Number of pages of the log, and of those that belong to no unit and are excluded.
    """

    kind: str
    units: tuple[str, ...]
    variant: Indices
    variants: tuple[str, ...]
    names: tuple[str, ...]
    totals: Floats
    numbers: Floats
    pages: int = 0
    unassigned: int = 0

    @property
    def means(self) -> Floats:
        """Mean of each unit, shape (units, measures); NaN where there is no value."""
        return means_of(self.totals, self.numbers)

    def to_polars(self) -> pl.DataFrame:
        """Return a table: the unit, its variant, and the mean of each measure."""
        names = np.array([*self.variants, None], dtype=object)
        return pl.DataFrame(
            {
                self.kind: pl.Series(self.units, dtype=pl.String),
                "variant": pl.Series(names[self.variant], dtype=pl.String),
                **dict(zip(self.names, self.means.T, strict=True)),
            }
        )
