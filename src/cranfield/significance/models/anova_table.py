"""The table of an analysis of variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy.special import fdtrc

from cranfield.base.arrays import Floats
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
class AnovaTable(Framed):
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

    @property
    def ms_error(self) -> float:
        """Mean square of the error."""
        return float(self.ms[self.sources.index("Error")])

    @property
    def df_error(self) -> float:
        """Degrees of freedom of the error."""
        return float(self.df[self.sources.index("Error")])

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
        return Table(f"Analysis of variance, {self.model}", HEAD, self.rows(), left=(0, 7))

    def to_latex(self, **how: Any) -> str:
        """Return the table in LaTeX, for booktabs; options as for :meth:`Table.to_latex`."""
        return self.table().to_latex(**how)

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def __str__(self) -> str:
        return grid(self.table())


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
        p = np.full(count + 2, np.nan)
        p[:count] = fdtrc(df[:count], df[count], np.where(np.isinf(f[:count]), np.nan, f[:count]))
        p[:count][np.isinf(f[:count])] = 0.0
        above = df * (f - 1)
        omega2 = np.where(np.isposinf(f), 1.0, np.maximum(0.0, above / (above + number)))
    ms[-1] = np.nan
    return AnovaTable(
        model=model,
        sources=(*factors, "Error", "Total"),
        ss=ss,
        df=df,
        ms=ms,
        f=f,
        p=p,
        omega2=np.where(np.isnan(f), np.nan, omega2),
        means=dict(means),
        grand_mean=grand,
        fitted=fitted,
        dropped=int(np.isnan(values).sum()),
        values=values,
    )
