"""Variance components of scores, and the coefficients that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
from scipy.special import chdtri, fdtri

from cranfield.base.checks import check_whole
from cranfield.base.words import counted
from cranfield.meta.study import Study, labelled, of_measure, with_limits
from cranfield.meta.work.options import Share
from cranfield.tabular import Table, from_frame

SIZES = (5, 10, 20, 25, 50, 75, 100, 150, 200, 300, 500)
"""Numbers of topics in a table, besides that of the scores."""


@dataclass(frozen=True)
class Coefficient:
    """A coefficient from 0 to 1, with its confidence limits."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TopicsFor:
    """The smallest number of topics that reaches a coefficient, the target; None if none does.

    It is that by the estimate; `low` and `high` are the same by the upper and by the lower
    confidence limit of the coefficient.
    """

    target: float
    topics: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Generalizability(
    Study,
    name="generalizability",
    source="Brennan (2001); Bodoff and Li (2007); Feldt (1965);"
    " Arteaga, Jeyaratnam and Franklin (1982)",
    keys={
        "variance": ("measure", "source"),
        "coefficients": ("measure", "topics"),
        "topics needed": ("measure", "coefficient", "target"),
    },
    main="components",
):
    r"""Variance components of scores, and the coefficients that follow from them.

    Attributes
    ----------
    measure, systems, topics
        Of the scores, and numbers of systems and topics, m and n.
    confidence
        Level of all limits, two-sided.
    components
        Table with a row a `source` of variance: degrees of freedom (`df`), `mean square`,
        `variance`, its `share` of all three, and the `estimate` of the variance, which may be
        negative where `variance` is 0.
    notes, target
        What was left out, filled in, or taken as 0; and the coefficient whose number of topics is
        shown.
    """

    measure: str
    systems: int
    topics: int
    confidence: float
    components: pl.DataFrame
    notes: tuple[str, ...] = ()
    target: float = 0.95

    def relative(self, topics: int | None = None) -> Coefficient:
        r"""Return the generalizability coefficient of a number of topics.

        It says how well the order of systems and the differences between them hold for other
        topics: the squared correlation of a system's mean with its mean over all possible topics.

        .. math:: E\rho^2(n) = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n}

        The number n of topics is 1 or more; by default that of the scores.
        Its limits are exact for normal effects: those of a ratio of mean squares by F.
        """
        return self._coefficient(self._ratios(absolute=False), topics)

    def absolute(self, topics: int | None = None) -> Coefficient:
        r"""Return the index of dependability of a number of topics.

        It says how well the means themselves hold for other topics, which are easier or harder.

        .. math:: \Phi(n) = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n}

        The number n of topics is 1 or more; by default that of the scores.
        Its limits are approximate, also for normal effects.
        """
        return self._coefficient(self._ratios(absolute=True), topics)

    def topics_for(self, target: float = 0.95, *, absolute: bool = False) -> TopicsFor:
        """Return the smallest number of topics that reaches a coefficient, with its limits.

        Parameters
        ----------
        target
            Between 0 and 1, both excluded.
        absolute
            Whether the dependability has to reach it, not the relative coefficient.
        """
        Share().check("the target", target)
        odds = target / (1 - target)
        value, low, high = (
            # A number that is whole but for rounding is not raised to the next.
            max(1, math.ceil(odds / ratio * (1 - 1e-12))) if ratio > 0 else None
            for ratio in self._ratios(absolute)
        )
        return TopicsFor(float(target), topics=value, low=high, high=low)

    def table(self, sizes: Iterable[int] | None = None) -> pl.DataFrame:
        """Return both coefficients with their limits by number of topics.

        Sizes are numbers of topics, 1 or more; by default some from 5 to 500, and that of the
        scores.
        """
        wanted = sorted({*SIZES, self.topics}) if sizes is None else list(sizes)
        rows = []
        for size in wanted:
            row: dict[str, Any] = {"topics": size}
            for name in ("relative", "absolute"):
                found = getattr(self, name)(size)
                row |= {name: found.value, f"{name} low": found.low, f"{name} high": found.high}
            rows.append(row)
        return pl.DataFrame(rows)

    def _coefficient(self, ratios: tuple[float, float, float], topics: int | None) -> Coefficient:
        number = self.topics if topics is None else topics
        check_whole("topics", number, 1)
        return Coefficient(
            *(1.0 if math.isinf(one) else number * one / (1 + number * one) for one in ratios)
        )

    def _ratios(self, absolute: bool) -> tuple[float, float, float]:
        """Return the variance of systems by that of the error of one topic, with its limits."""
        system, topic, rest = self.components["variance"].to_list()
        error = topic + rest if absolute else rest
        tail = (1 - self.confidence) / 2
        if error <= 0 and system <= 0:
            return math.nan, math.nan, math.nan
        value = system / error if error > 0 else math.inf
        limit = self._absolute_limit if absolute else self._relative_limit
        return value, limit(tail), limit(1 - tail)

    def _relative_limit(self, tail: float) -> float:
        mean, _, error = self.components["mean square"].to_list()
        most = _f(tail, self.systems - 1, (self.systems - 1) * (self.topics - 1))
        if mean <= most * error:
            return 0.0
        # A share so near 1 that it is 1 has no limit.
        return (mean / error / most - 1) / self.topics if error * most > 0 else math.inf

    def _absolute_limit(self, tail: float) -> float:
        mean, of_topics, error = self.components["mean square"].to_list()
        m, n = self.systems, self.topics
        known = float(chdtri(m - 1, tail)) / (m - 1)
        most, other = _f(tail, m - 1, (m - 1) * (n - 1)), _f(tail, m - 1, n - 1)
        if mean <= most * error:
            return 0.0
        above = (mean - most * error) * (mean + (most - known) * error)
        below = mean * ((m - 1) * known * error + other * of_topics)
        return max(0.0, m * above / (n * below)) if below > 0 else math.inf

    @property
    def verdict(self) -> tuple[str, ...]:
        needed = self.frames()["topics needed"].filter(pl.col("coefficient") == "relative")
        if needed.is_empty() or needed["topics"].null_count():
            return ()
        row = needed.row(0, named=True)
        to = "" if row["low"] is None else f" (from {row['low']:,}"
        upto = "" if not to else f" to {row['high']:,})" if row["high"] is not None else " on)"
        enough = "enough" if row["topics"] <= self.topics else "fewer"
        return (
            f"{labelled(self.measure)}{counted(row['topics'], 'topic')}{to}{upto} are needed for a"
            f" generalizability of {row['target']:g}; there are {self.topics:,}, which are"
            f" {enough}. Limits are at confidence {self.confidence:g}.",
        )

    def heading(self) -> list[str]:
        measure = labelled(self.measure)
        return [f"{measure}{self.systems} systems, {counted(self.topics, 'topic')}"]

    def frames(self) -> dict[str, pl.DataFrame]:
        components = self.components.cast({"df": pl.Int64})
        every = zip(self.keys, (components, self.table(), self._needed()), strict=True)
        return {name: of_measure(self.measure, frame) for name, frame in every}

    def about(self) -> dict[str, Any]:
        options = self._chosen("measure", "systems", "topics", "confidence")
        return {"study": "generalizability", **options}

    def tables(self) -> list[Table]:
        measure, percent = labelled(self.measure), f"{100 * self.confidence:g}%"
        both = ("relative", "absolute")
        rows = [
            [f"{row['topics']:,}", *(cell for name in both for cell in with_limits(row, name, 3))]
            for row in self.table().to_dicts()
        ]
        return [
            from_frame(
                self.components.cast({"df": pl.Int64}).select("source", "df", "variance", "share"),
                f"{measure}where the variance of scores comes from",
                left=["source"],
                places={"variance": 5, "share": 3},
            ),
            Table(
                f"{measure}generalizability by number of topics; relative: of differences and"
                f" orders, absolute: of scores; within: {percent} limits",
                ["topics", "relative", "within", "absolute", "within"],
                rows,
                (),
            ),
            from_frame(
                self._needed(),
                f"{measure}topics needed for {self.target:g}, with {percent} limits; empty: no"
                " number does",
                left=["coefficient"],
                places=2,
            ),
        ]

    def _needed(self) -> pl.DataFrame:
        """Return the numbers of topics that reach the target."""
        rows = [
            {"coefficient": name, **vars(self.topics_for(self.target, absolute=absolute))}
            for name, absolute in (("relative", False), ("absolute", True))
        ]
        numbers = dict.fromkeys(("topics", "low", "high"), pl.Int64)
        return pl.DataFrame(rows, {"coefficient": pl.String, "target": pl.Float64, **numbers})

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        return (
            f"Generalizability({label}{self.systems} systems, {self.topics} topics,"
            f" relative {self.relative().value:.4f}, absolute {self.absolute().value:.4f})"
        )


def _f(tail: float, first: int, second: int) -> float:
    """Return what an F exceeds with probability `tail`."""
    return float(fdtri(first, second, 1 - tail))
