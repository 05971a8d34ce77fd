"""Values of online measures by unit, and what stands behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, PolicyError
from cranfield.base.words import counted
from cranfield.online.measures.catalogue import parse_online_measure
from cranfield.online.measures.online_measure import OnlineMeasure
from cranfield.scores import Scores
from cranfield.tabular import from_frame
from cranfield.tabular.frames import Framed

SHOWN = 20
"""Rows that print."""


@dataclass(frozen=True, eq=False, repr=False)
class Measured(Framed):
    """Values of online measures, by unit; made by :func:`measure`.

    Attributes
    ----------
    by
        What units are: such as `("query",)` or `("query", "variant")`; none for the whole log.
    units
        A row a unit, with those columns, in order of UTF-8 bytes.
    measures
        The measures.
    totals, numbers
        The two sums whose ratio is the value, each of shape (units, measures).
    values
        How many values there are: of pages, clicks, sessions, users or absences; as below, shape
        (units, measures).
    censored
        How many are only known to be at least so much, such as times to a click that did not come.
        A mean of the others is too low or too high: see :func:`survival`.
    without
        How many are not there for another reason, such as ranks of clicks on pages without any.
    outside
        Rows that are of no unit, such as pages without a user, at most over the measures.
    source
        Where the log came from.
    """

    by: tuple[str, ...]
    units: pl.DataFrame
    measures: tuple[OnlineMeasure, ...]
    totals: Floats
    numbers: Floats
    values: Ints
    censored: Ints
    without: Ints
    outside: int = 0
    source: str = "log"

    @property
    def means(self) -> Floats:
        """Value of each unit and measure, shape (units, measures); NaN where there is none."""
        out = np.full(self.totals.shape, np.nan)
        np.divide(self.totals, self.numbers, out=out, where=self.numbers > 0)
        return out

    def __getitem__(self, measure: str | OnlineMeasure) -> Floats:
        """Values of a measure, shape (units,)."""
        of: Floats = self.means[:, self._place(measure)]
        return of

    def _place(self, measure: str | OnlineMeasure) -> int:
        asked = parse_online_measure(measure)
        if asked not in self.measures:
            have = ", ".join(map(str, self.measures))
            raise MeasureError(f"{asked} was not measured; there are {have}")
        return self.measures.index(asked)

    def scores(self, measure: str | OnlineMeasure) -> Scores:
        """Return the values of a measure as scores, for comparisons: units as topics.

        Systems are the variants, where values are by a unit and `variant`; else there is one, the
        log. NaN is where a unit has no value.

        Raises
        ------
        PolicyError
            Where values are by no unit, or by several.

        Examples
        --------
        >>> import cranfield as cf, polars as pl
        >>> pages = pl.DataFrame({"page": [0, 1], "query": "q", "variant": ["a", "b"]})
        >>> clicks = pl.DataFrame({"page": [1], "rank": [2]})
        >>> tables = {"pages": pages, "clicks": clicks}
        >>> found = cf.online.measure(tables, "UCTR", by=["query", "variant"])
        >>> found.scores("UCTR").values.tolist()
        [[0.0, 1.0]]
        """
        place = self._place(measure)
        names = [key for key in self.by if key != "variant"]
        if len(names) != 1:
            raise PolicyError("scores need values by one unit, such as by=['query', 'variant']")
        topics = self.units[names[0]].unique().sort()
        systems = (
            self.units["variant"].unique().sort()
            if "variant" in self.by
            else pl.Series([self.source])
        )
        row = topics.search_sorted(self.units[names[0]]).to_numpy()
        column = (
            systems.search_sorted(self.units["variant"]).to_numpy() if "variant" in self.by else 0
        )
        values = np.full((len(topics), len(systems)), np.nan)
        values[row, column] = self.means[:, place]
        one = self.measures[place]
        return Scores(
            values,
            topics=tuple(topics.to_list()),
            systems=tuple(systems.to_list()),
            measure=str(one),
            settings={"unit": names[0], "log": self.source},
            lower_is_better=one.better == "lower",
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a row a unit and measure: its value, the sums, and numbers of values."""
        units, measures = self.totals.shape
        names = pl.Series("measure", list(map(str, self.measures)) * units, dtype=pl.String)
        keys = self.units[np.repeat(np.arange(units), measures)] if self.by else pl.DataFrame()
        of_column = {"value": "means", "total": "totals", "number": "numbers"}
        of_column |= {name: name for name in ("values", "censored", "without")}
        flat = {name: getattr(self, attribute).ravel() for name, attribute in of_column.items()}
        of = pl.Series("of", [one.values_of for one in self.measures] * units, dtype=pl.String)
        found = pl.DataFrame([*keys.get_columns(), names, pl.Series("value", flat.pop("value"))])
        return found.with_columns(of, **flat).with_columns(pl.col("value").fill_nan(None))

    def wide(self) -> pl.DataFrame:
        """Return a row a unit, with a column a measure; null where there is no value."""
        found = dict(zip(map(str, self.measures), self.means.T, strict=True))
        return pl.DataFrame(
            [*self.units.get_columns(), *(pl.Series(k, v) for k, v in found.items())]
        ).with_columns(pl.col(list(found)).fill_nan(None))

    def notes(self) -> list[str]:
        """Say what is censored, and what is of no unit."""
        said = []
        for one, values, censored in zip(
            self.measures, self.values.sum(axis=0), self.censored.sum(axis=0), strict=True
        ):
            if censored:
                share = censored / (values + censored)
                said.append(
                    f"{one}: the mean of {counted(int(values), one.values_of)};"
                    f" {share:.1%} ({censored:,}) are censored"
                )
        if self.outside:
            rows = f"{counted(self.outside, 'row')} {'is' if self.outside == 1 else 'are'}"
            said.append(f"{rows} of no {' and '.join(self.by)}")
        return said

    def __str__(self) -> str:
        title = f"Online measures of {self.source}{', by ' if self.by else ''}{', '.join(self.by)}"
        frame = self.to_polars().drop("total", "number") if not self.by else self.wide()
        table = from_frame(frame[:SHOWN], title).to_text()
        beyond = [f"{counted(frame.height - SHOWN, 'more row')}"] if frame.height > SHOWN else []
        return "\n".join([table.rstrip("\n"), *beyond, *(f"note: {one}" for one in self.notes())])

    def __repr__(self) -> str:
        names: Sequence[str] = [str(one) for one in self.measures]
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        by = f" by {', '.join(self.by)}" if self.by else ""
        units = f", {counted(self.units.height, 'unit')}" if self.by else ""
        return f"Measured({shown}{by}{units})"
