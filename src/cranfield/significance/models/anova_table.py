"""The table of an analysis of variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import fdtrc

from cranfield.base.arrays import Floats
from cranfield.base.showing import Plotted
from cranfield.significance.models.sphericity import Sphericity
from cranfield.tabular import Cell, Table
from cranfield.tabular.frames import Framed
from cranfield.tabular.text import grid

HEAD = (
    *("Source", "SS", "DF", "MS"),
    Cell("F", latex="$F$", html="<i>F</i>"),
    Cell("p", latex="$p$", html="<i>p</i>"),
    Cell("omega^2", latex=r"$\hat{\omega}^2$", html="<i>ω</i><sup>2</sup>"),
    "effect",
)
"""Names of the columns."""

SIZES = ((0.14, "large"), (0.06, "medium"), (0.01, "small"))
"""From which omega squared on an effect is called so (Rutherford, 2011)."""


@dataclass(frozen=True, eq=False)
class AnovaTable(Framed, Plotted):
    """Where the variance of scores comes from.

    Attributes
    ----------
    model
        The model, as a formula.
    sources
        Names of the factors, then `Error` and `Total`.
    ss, df, ms, f, p, omega2
        Sum of squares, degrees of freedom, mean square, F, p-value and the estimated strength of
        association omega squared of each source; NaN where there is none.
    means
        Marginal means of the levels of each main factor.
    effects
        Marginal means minus the grand mean.
    grand_mean
        Mean of all scores.
    fitted, residuals
        What the model predicts and what it leaves over, in the shape of the scores.
    dropped
        Cells without a score that the model did without.
    sphericity
        What the F of systems is corrected by where differences between systems vary unequally;
        None where the model does not compare systems topic by topic.
    components
        Estimated variance of each random effect, and of the error; empty where none is random.
    remarks
        What else is to be known of this table, in sentences without a full stop.
    """

    model: str
    sources: tuple[str, ...]
    ss: Floats
    df: Floats
    ms: Floats
    f: Floats
    p: Floats
    omega2: Floats
    means: Mapping[str, Floats]
    grand_mean: float
    fitted: Floats
    dropped: int = 0
    values: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    sphericity: Sphericity | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def residuals(self) -> Floats:
        """Scores minus what the model predicts."""
        return self.values - self.fitted

    @property
    def effects(self) -> dict[str, Floats]:
        """Effects of the levels of each main factor."""
        return {name: means - self.grand_mean for name, means in self.means.items()}

    def size(self, source: str) -> str:
        """Call the effect of a factor large, medium, small or negligible."""
        omega2 = self.omega2[self.sources.index(source)]
        return next((word for least, word in SIZES if omega2 >= least), "negligible")

    def ss_of(self, source: str) -> float:
        """Return the sum of squares of a source."""
        return float(self.ss[self.sources.index(source)])

    def f_of(self, source: str) -> tuple[float, float]:
        """Return the F of a source, and its p-value."""
        k = self.sources.index(source)
        return float(self.f[k]), float(self.p[k])

    @property
    def ms_error(self) -> float:
        """Mean square of the error."""
        return float(self.ms[self.sources.index("Error")])

    @property
    def df_error(self) -> float:
        """Degrees of freedom of the error."""
        return float(self.df[self.sources.index("Error")])

    def tested(self, source: str, f: float, df_error: float, number: int) -> AnovaTable:
        """Return the table with another F of a source; NaN is none.

        Of `number` observations with that error the strength of association is estimated.
        """
        k = self.sources.index(source)
        p, omega2 = tail_and_strength(np.array([f]), self.df[k], df_error, number)
        every = np.arange(len(self.sources)) == k
        return replace(
            self,
            f=np.where(every, f, self.f),
            p=np.where(every, p, self.p),
            omega2=np.where(every, omega2, self.omega2),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands under the table."""
        lines = list(self.remarks)
        if self.components:
            parts = (f"{name.lower()} {one:.4g}" for name, one in self.components.items())
            lines.append(f"estimated variances: {', '.join(parts)}")
        if self.sphericity is not None:
            of = self.sphericity
            lines.append(
                f"corrected p of System: {shown_p(of.p_greenhouse_geisser)} (Greenhouse-Geisser"
                f" epsilon {of.greenhouse_geisser:.4f}), {shown_p(of.p_huynh_feldt)} (Huynh-Feldt"
                f" {of.huynh_feldt:.4f})"
            )
        return tuple(lines)

    def to_polars(self) -> pl.DataFrame:
        """Return the table with a row a source."""
        columns = {"SS": self.ss, "DF": self.df, "MS": self.ms, "F": self.f, "p": self.p}
        columns["omega2"] = self.omega2
        table = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
        return pl.DataFrame({"source": self.sources, **table})

    def rows(self) -> list[list[str]]:
        """Return what is shown of each source."""
        rows: list[list[str]] = []
        for k, source in enumerate(self.sources):
            known = not np.isnan(self.f[k])
            rows.append(
                [
                    source,
                    f"{self.ss[k]:.4f}",
                    f"{self.df[k]:.0f}",
                    "" if np.isnan(self.ms[k]) else f"{self.ms[k]:.4f}",
                    f"{self.f[k]:.4f}" if known else "",
                    shown_p(self.p[k]) if known else "",
                    f"{self.omega2[k]:.4f}" if known else "",
                    self.size(source) if known else "",
                ]
            )
        return rows

    def table(self) -> Table:
        """Return the table as it is shown."""
        title = f"Analysis of variance, {self.model}"
        return Table(title, HEAD, self.rows(), (0, 7), self.notes)

    def to_latex(self, **how: Any) -> str:
        """Return the table in LaTeX, for booktabs; options as for :meth:`Table.to_latex`."""
        return self.table().to_latex(**how)

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def __str__(self) -> str:
        return "\n".join([grid(self.table()), *self.notes])


def shown_p(p: float) -> str:
    """Write a p-value; one too small for four decimals keeps its size.

    Examples
    --------
    >>> shown_p(0.04321), shown_p(3.2e-12), shown_p(0.0)
    ('0.0432', '3e-12', '<1e-300')
    """
    if np.isnan(p):
        return "-"
    if p >= 0.0001:
        return f"{p:.4f}"
    return f"{p:.0e}" if p > 1e-300 else "<1e-300"


def made_table(
    model: str,
    factors: Mapping[str, tuple[float, float]],
    error: tuple[float, float],
    *,
    values: Floats,
    fitted: Floats,
    means: Mapping[str, Floats],
) -> AnovaTable:
    """Compute mean squares, F, p and omega squared from sums of squares and degrees of freedom."""
    number = int((~np.isnan(values)).sum())
    grand = float(np.nanmean(values))
    total = float(np.nansum((values - grand) ** 2))
    # A model that leaves nothing but rounding leaves nothing.
    least = 1e-24 * float(np.nansum(values**2))
    ss = np.array([s for s, _ in factors.values()] + [error[0], total])
    ss[ss <= least] = 0.0
    df = np.array([d for _, d in factors.values()] + [error[1], float(number - 1)])
    count = len(factors)
    with np.errstate(divide="ignore", invalid="ignore"):
        ms = np.where(df > 0, ss / df, np.nan)
        f = np.full(count + 2, np.nan)
        f[:count] = ms[:count] / ms[count]
    p, omega2 = tail_and_strength(f, df, df[count], number)
    ms[-1] = np.nan
    return AnovaTable(
        model=model,
        sources=(*factors, "Error", "Total"),
        ss=ss,
        df=df,
        ms=ms,
        f=f,
        p=p,
        omega2=omega2,
        means=dict(means),
        grand_mean=grand,
        fitted=fitted,
        dropped=int(np.isnan(values).sum()),
        values=values,
    )


def tail_and_strength(
    f: Floats, df: Floats | float, df_error: float, number: int
) -> tuple[Floats, Floats]:
    """Return p and omega squared of values of F; NaN where F is."""
    with np.errstate(invalid="ignore"):
        p = np.where(np.isinf(f), 0.0, fdtrc(df, df_error, np.where(np.isinf(f), np.nan, f)))
        above = df * (f - 1)
        omega2 = np.where(np.isposinf(f), 1.0, np.maximum(0.0, above / (above + number)))
    return np.where(np.isnan(f), np.nan, p), np.where(np.isnan(f), np.nan, omega2)
