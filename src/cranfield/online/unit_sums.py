"""Sums of measures by unit: of each user, query or page, for means and their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices


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
        out = np.full(self.totals.shape, np.nan)
        np.divide(self.totals, self.numbers, out=out, where=self.numbers > 0)
        return out

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
