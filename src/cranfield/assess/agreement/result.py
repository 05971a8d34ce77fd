"""Agreement of assessors with its intervals, and the difference of two."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cranfield.assess.agreement.intervals import limits, remarks
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted, some_of
from cranfield.tabular import Table, number
from cranfield.tabular.frames import Framed

SHOWN = 40
"""Comparisons that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Framed):
    """How far assessors agree; made by :func:`agreement_of`.

    A comparison is of all assessors, or of two of them.

    Attributes
    ----------
    measures
        Text forms of the coefficients.
    comparisons
        Of each comparison, the names of its assessors.
    value, low, high
        Values with the limits of their intervals; shape (comparisons, measures). NaN where not
        defined, with a note.
    units, topics
        Units, such as judged pairs, with two labels or more, and topics that have some, of each
        comparison; shape (comparisons,).
    interval
        `jackknife`, `bootstrap` or `none`.
    confidence
        Of the intervals.
    resamples, seed
        Of the bootstrap; else None.
    replicates
        Values without each topic, or with topics drawn; shape (topics or resamples, comparisons,
        measures).
    topic_names
        The topics, in the order of the replicates of a jackknife.
    has
        Which topics a comparison has units of; shape (topics, comparisons).
    notes
        What is undefined, or else should be known.
    paired
        Whether comparisons are of two assessors each.
    difference
        Whether the values are differences.
    """

    measures: tuple[str, ...]
    comparisons: tuple[tuple[str, ...], ...]
    value: Floats
    low: Floats
    high: Floats
    units: Ints
    topics: Ints
    interval: str
    confidence: float
    resamples: int | None
    seed: int | None
    replicates: Floats
    topic_names: tuple[str, ...]
    has: Bools
    notes: tuple[str, ...] = ()
    paired: bool = False
    difference: bool = False

    def pick(self, *assessors: str) -> Agreement:
        """Return one comparison, by the names of its assessors, in any order.

        Raises
        ------
        PolicyError
            Where they were not compared.
        """
        wanted = {*assessors}
        for place, names in enumerate(self.comparisons):
            if {*names} == wanted:
                return self._some(slice(place, place + 1))
        raise PolicyError(f"{quoted(' and '.join(assessors))} were not compared")

    def minus(self, other: Agreement) -> Agreement:
        """Return differences to another agreement over the same topics, with intervals.

        Topics are left out, or drawn, in both at once, so that what the topics do to both cancels.

        Parameters
        ----------
        other
            Of the same measures and topics, by the same interval; with as many comparisons, or one.

        Returns
        -------
        Agreement
            Values are differences; the intervals of a jackknife are t intervals of them.

        Raises
        ------
        PolicyError
            For agreements that do not fit each other.

        Examples
        --------
        >>> import numpy as np
        >>> from cranfield.assess import agreement_of
        >>> rng = np.random.default_rng(1)
        >>> human, noise = rng.integers(0, 3, 400), rng.integers(0, 3, (2, 400))
        >>> one, other = np.where(rng.random((2, 400)) < [[0.7], [0.4]], human, noise)
        >>> found = agreement_of(
        ...     np.column_stack([human, one, other]),
        ...     "kappa",
        ...     topics=np.repeat(range(20), 20),
        ...     names=["human", "one", "other"],
        ...     against="human",
        ... )
        >>> print(found.pick("human", "one").minus(found.pick("human", "other")))
        Difference of agreement over 20 topics, 95% intervals by jackknife over topics
        <BLANKLINE>
        assessors                      units  topics   kappa          interval
        human, one minus human, other    400      20  0.2818  [0.1900, 0.3736]
        """
        how = ("measures", "topic_names", "interval", "confidence", "resamples", "seed")
        for name in how:
            if getattr(self, name) != getattr(other, name):
                raise PolicyError(f"the two agreements differ in their {name.replace('_', ' ')}")
        if len(other.comparisons) not in {1, len(self.comparisons)}:
            raise PolicyError(
                f"{counted(len(self.comparisons), 'comparison')} do not go with"
                f" {len(other.comparisons)} others"
            )
        copies = len(self.comparisons) // len(other.comparisons)
        names = [
            (" minus ".join((", ".join(one), ", ".join(two))),)
            for one, two in zip(self.comparisons, other.comparisons * copies, strict=True)
        ]
        has = self.has | other.has
        value, replicates = self.value - other.value, self.replicates - other.replicates
        low, high = limits(value, replicates, has, self.interval, self.confidence, bounded=False)
        return replace(
            self,
            comparisons=tuple(names),
            value=value,
            low=low,
            high=high,
            units=np.minimum(self.units, other.units),
            topics=has.sum(axis=0),
            replicates=replicates,
            has=has,
            notes=remarks(value, low, replicates, has, self.interval),
            paired=False,
            difference=True,
        )

    def matrix(self, measure: str | None = None) -> pl.DataFrame:
        """Return a square table of the values of each two assessors, for one measure.

        Parameters
        ----------
        measure
            Text form of a coefficient; by default the first.

        Raises
        ------
        PolicyError
            Where assessors were not compared by pairs, or not by this measure.
        """
        if not self.paired:
            raise PolicyError("a matrix is of each two assessors: ask for pairs")
        column = self._column(measure)
        names = list(dict.fromkeys(name for pair in self.comparisons for name in pair))
        place = {name: k for k, name in enumerate(names)}
        square = np.full((len(names), len(names)), np.nan)
        for (one, two), value in zip(self.comparisons, self.value[:, column], strict=True):
            square[place[one], place[two]] = square[place[two], place[one]] = value
        columns = {name: square[:, k] for k, name in enumerate(names)}
        head = "assessor"
        while head in columns:
            head += "_"
        return pl.DataFrame({head: names} | columns).fill_nan(None)

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each comparison and measure; null is not defined."""
        rows, columns = self.value.shape
        if self.paired:
            who = {
                name: np.repeat([names[k] for names in self.comparisons], columns)
                for k, name in enumerate(("first", "second"))
            }
        else:
            who = {"assessors": np.repeat([said(names) for names in self.comparisons], columns)}
        return pl.DataFrame(
            {
                **who,
                "measure": list(self.measures) * rows,
                "value": self.value.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "units": np.repeat(self.units, columns),
                "topics": np.repeat(self.topics, columns),
            }
        ).fill_nan(None)

    def table(self, places: int = 4, most: int | None = None) -> Table:
        """Return what people read: a row a comparison, a column a measure with its interval.

        Parameters
        ----------
        places
            Decimals.
        most
            Comparisons that are shown, the first ones; None for all. A note counts the others.
        """
        head = ["assessors", "units", "topics"]
        for measure in self.measures:
            head += [measure] if self.interval == "none" else [measure, "interval"]
        rows = []
        for k, names in enumerate(self.comparisons[:most]):
            row = [said(names), f"{self.units[k]:,}", f"{self.topics[k]:,}"]
            for m in range(len(self.measures)):
                row.append(number(self.value[k, m], places) or "-")
                if self.interval != "none":
                    row.append(_limits(self.low[k, m], self.high[k, m], places))
            rows.append(row)
        beyond = len(self.comparisons) - len(rows)
        rest = [f"{counted(beyond, 'other comparison')} not shown"] if beyond else []
        return Table(self._title(), head, rows, remarks=[*self.notes, *rest])

    def _title(self) -> str:
        what = "Difference of agreement" if self.difference else "Agreement"
        over = f"{what} over {counted(len(self.topic_names), 'topic')}"
        if self.interval == "none":
            return over
        drawn = f" ({self.resamples:,} resamples, seed {self.seed})" if self.resamples else ""
        return f"{over}, {100 * self.confidence:g}% intervals by {self.interval} over topics{drawn}"

    def _column(self, measure: str | None) -> int:
        if measure is None:
            return 0
        if measure not in self.measures:
            there = some_of(self.measures, 6)
            raise PolicyError(f"measure {quoted(measure)} was not asked for; there are {there}")
        return self.measures.index(measure)

    def _some(self, rows: slice) -> Agreement:
        return replace(
            self,
            comparisons=self.comparisons[rows],
            **{name: getattr(self, name)[rows] for name in ("value", "low", "high")},
            units=self.units[rows],
            topics=self.topics[rows],
            replicates=self.replicates[:, rows],
            has=self.has[:, rows],
        )

    def __repr__(self) -> str:
        size = counted(len(self.comparisons), "comparison")
        return f"Agreement({', '.join(self.measures)}: {size}, {len(self.topic_names)} topics)"

    def __str__(self) -> str:
        return self.table(most=SHOWN).to_text()


def said(names: tuple[str, ...]) -> str:
    """Name two assessors, or one comparison; count more."""
    return ", ".join(names) if len(names) < 3 else f"all {len(names)}"


def _limits(low: float, high: float, places: int) -> str:
    if np.isnan(low):
        return "-"
    return f"[{number(low, places)}, {number(high, places)}]"
