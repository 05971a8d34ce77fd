"""The table of an analysis of variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import fdtrc

from cranfield.base.arrays import Floats
from cranfield.result import Column, Columns, Result
from cranfield.tabular import Cell, Table, format_number, format_pvalue


@dataclass(frozen=True)
class Sphericity:
    r"""Estimated departure from sphericity, and corrected p-values of the F of all systems.

    F assumes sphericity: the differences of all pairs of systems have the same variance. The two
    estimates of the departure epsilon are, with the eigenvalues lambda of the covariance of m
    systems over n topics, centred by row and column,

    .. math:: \hat\varepsilon = \frac{(\sum \lambda)^2}{(m - 1) \sum \lambda^2}, \quad
        \tilde\varepsilon = \min\left(1, \frac{n (m - 1) \hat\varepsilon - 2}
        {(m - 1) (n - 1 - (m - 1) \hat\varepsilon)}\right)

    Both degrees of freedom of F are multiplied by epsilon. Sources: Greenhouse and Geisser (1959);
    Huynh and Feldt (1976).

    Attributes
    ----------
    greenhouse_geisser, huynh_feldt
        The two estimates of epsilon, above 0 and at most 1 (sphericity). The first is at most
        (n - 1) / (m - 1): with fewer topics than systems it is too low and its p-value too high.
    p_greenhouse_geisser, p_huynh_feldt
        P-values of the F of all systems, corrected by each estimate.
    """

    greenhouse_geisser: float
    huynh_feldt: float
    p_greenhouse_geisser: float
    p_huynh_feldt: float


def compute_sphericity(values: Floats, f: float) -> Sphericity | None:
    """Correct the p-value of F for a lack of sphericity.

    Return None for two systems, residuals of 0, or an F that is not finite.
    """
    n_topics, n_systems = values.shape
    residuals = values - values.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=0)
    if n_systems < 3 or not np.isfinite(f) or not residuals.any():
        return None
    greenhouse_geisser, huynh_feldt = estimate_epsilons(residuals)
    df = np.array([greenhouse_geisser, huynh_feldt]) * (n_systems - 1.0)
    p = fdtrc(df, df * (n_topics - 1), f)
    return Sphericity(greenhouse_geisser, huynh_feldt, float(p[0]), float(p[1]))


def estimate_epsilons(residuals: Floats) -> tuple[float, float]:
    """Estimate epsilon by Greenhouse and Geisser, and by Huynh and Feldt, from residuals."""
    # The sums over eigenvalues are a trace and a squared norm of the smaller Gram matrix.
    n_topics, n_systems = residuals.shape
    residuals = residuals / np.abs(residuals).max()
    product = residuals @ residuals.T if n_topics < n_systems else residuals.T @ residuals
    df = n_systems - 1.0
    gg = float(np.trace(product) ** 2 / (df * (product**2).sum()))
    numerator, denominator = n_topics * df * gg - 2, df * (n_topics - 1 - df * gg)
    # A denominator of 0 means that all eigenvalues above 0 are equal; of two topics there is one.
    hf = 1.0 if n_topics > 2 else gg
    if denominator > 1e-9 * df * n_topics:
        hf = numerator / denominator
    return gg, min(1.0, max(gg, hf))


HEAD = (
    *("Source", "SS", "DF", "MS"),
    Cell("F", latex="$F$", html="<i>F</i>"),
    Cell("p", latex="$p$", html="<i>p</i>"),
    Cell("omega^2", latex=r"$\hat{\omega}^2$", html="<i>ω</i><sup>2</sup>"),
    "effect",
)
"""Column headings of the printed table."""

EFFECT_CLASSES = ((0.14, "large"), (0.06, "medium"), (0.01, "small"))
"""Smallest omega squared, and label, of each class of effect sizes (Rutherford, 2011)."""


@dataclass(frozen=True, eq=False, repr=False)
class AnovaTable(Result):
    """Table of an analysis of variance.

    Attributes
    ----------
    model
        The model, as a formula.
    sources
        Names of the factors and interactions, then `Error` and `Total`.
    ss, df, ms, f, p, omega2
        Columns of the table, by source; NaN where they do not apply.
    means
        Marginal means of the levels of each main factor.
    effects
        Marginal means minus the grand mean.
    grand_mean
        Mean of all scores.
    fitted, residuals
        Predictions of the model, and scores minus predictions, with the shape of the scores.
    n_missing
        Number of missing scores, which the fit excludes.
    values
        The scores.
    sphericity
        Correction of the F of systems for unequal variances of differences, in two-way models and
        those of independent replicates and of random topics with equal numbers of shards; None for
        other models, for two systems, and for residuals of 0.
    components
        Estimated variance of each random effect and of the error; empty without random effects.
    notes
        Notes on how F was computed.
    """

    name: ClassVar[str] = "anova"
    columns: ClassVar[Columns] = {
        "source": Column("Factor, interaction of factors, Error, or Total.", key=True),
        "SS": Column("Sum of squares."),
        "DF": Column("Degrees of freedom.", decimals=0),
        "MS": Column("Mean square: SS divided by DF; null for Total, and if DF is 0."),
        "F": Column("F statistic; null for Error, Total, sources without a test, and 0 / 0."),
        "p": Column("p-value of F; null if F is null or infinite.", is_pvalue=True),
        "omega2": Column(
            "Partial omega squared, from 0 to 1: the proportion of the source in the variance that"
            " other sources do not explain. Negative estimates count as 0; null if F is null."
        ),
    }

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
    n_missing: int = 0
    values: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    sphericity: Sphericity | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def residuals(self) -> Floats:
        """Scores minus the predictions of the model."""
        return self.values - self.fitted

    @property
    def effects(self) -> dict[str, Floats]:
        """Marginal means minus the grand mean, by main factor."""
        return {name: means - self.grand_mean for name, means in self.means.items()}

    def classify(self, source: str) -> str:
        """Classify the effect of a factor as large, medium, small or negligible."""
        omega2 = self.omega2[self.sources.index(source)]
        return next((label for minimum, label in EFFECT_CLASSES if omega2 >= minimum), "negligible")

    def get_ss(self, source: str) -> float:
        """Return the sum of squares of a source."""
        return float(self.ss[self.sources.index(source)])

    def get_f(self, source: str) -> tuple[float, float]:
        """Return the F of a source, and its p-value."""
        k = self.sources.index(source)
        return float(self.f[k]), float(self.p[k])

    @property
    def ms_error(self) -> float:
        """Mean square of the error."""
        return float(self.ms[-2])

    @property
    def df_error(self) -> float:
        """Degrees of freedom of the error."""
        return float(self.df[-2])

    def with_f(self, source: str, f: float, df_error: float, n_observations: int) -> AnovaTable:
        """Return the table with a new F, p and omega squared for a source; NaN removes F."""
        k = self.sources.index(source)
        p, omega2 = compute_p_and_omega2(np.array([f]), self.df[k], df_error, n_observations)
        is_source = np.arange(len(self.sources)) == k
        return replace(
            self,
            f=np.where(is_source, f, self.f),
            p=np.where(is_source, p, self.p),
            omega2=np.where(is_source, omega2, self.omega2),
        )

    def heading(self) -> list[str]:
        lines = [f"Analysis of variance, {self.model}"]
        if self.components:
            variances = (f"{name.lower()} {value:.4g}" for name, value in self.components.items())
            lines.append(f"estimated variances: {', '.join(variances)}")
        if self.sphericity is not None:
            result = self.sphericity
            lines.append(
                f"p of System corrected for non-sphericity:"
                f" {format_pvalue(result.p_greenhouse_geisser)}"
                f" (Greenhouse-Geisser epsilon {result.greenhouse_geisser:.4f}),"
                f" {format_pvalue(result.p_huynh_feldt)} (Huynh-Feldt {result.huynh_feldt:.4f})"
            )
        return lines

    def _frame(self) -> pl.DataFrame:
        columns = dict(zip(self.columns, self._list_columns(), strict=True))
        return pl.DataFrame(columns).fill_nan(None)

    def _list_columns(self) -> tuple[Any, ...]:
        return self.sources, self.ss, self.df, self.ms, self.f, self.p, self.omega2

    def tables(self) -> list[Table]:
        rows = []
        for source, ss, df, ms, f, p, omega2 in zip(*self._list_columns(), strict=True):
            effect = [""] * 4
            if not np.isnan(f):
                effect = [f"{f:.4f}", format_pvalue(p), f"{omega2:.4f}", self.classify(source)]
            rows.append([source, f"{ss:.4f}", f"{df:.0f}", format_number(ms), *effect])
        return [Table("", HEAD, rows, (0, 7))]


def make_table(
    model: str,
    terms: Mapping[str, tuple[float, float]],
    error: tuple[float, float],
    *,
    values: Floats,
    fitted: Floats,
    means: Mapping[str, Floats],
) -> AnovaTable:
    """Compute an ANOVA table from the sum of squares and the df of each term, and of the error."""
    n_scores = int((~np.isnan(values)).sum())
    grand_mean = float(np.nanmean(values))
    total = float(np.nansum((values - grand_mean) ** 2)), n_scores - 1.0
    ss, df = np.array([*terms.values(), error, total]).T
    # Sums of squares within rounding error are 0.
    ss[ss <= 1e-24 * float(np.nansum(values**2))] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ms = np.where(df > 0, ss / df, np.nan)
        f = ms / ms[-2]
    f[-2:] = ms[-1] = np.nan
    p, omega2 = compute_p_and_omega2(f, df, df[-2], n_scores)
    return AnovaTable(
        model=model,
        sources=(*terms, "Error", "Total"),
        ss=ss,
        df=df,
        ms=ms,
        f=f,
        p=p,
        omega2=omega2,
        means=dict(means),
        grand_mean=grand_mean,
        fitted=fitted,
        n_missing=int(np.isnan(values).sum()),
        values=values,
    )


def compute_f(ms: float, ms_error: float) -> float:
    """Return F; infinite if the error is 0, and NaN if both mean squares are 0."""
    if ms_error > 0:
        return ms / ms_error
    return np.inf if ms > 0 else np.nan


def compute_p_and_omega2(
    f: Floats, df: Floats | float, df_error: float, n_scores: int
) -> tuple[Floats, Floats]:
    """Return p and omega squared for values of F; NaN if F is NaN, p also if F is infinite."""
    with np.errstate(invalid="ignore"):
        p = fdtrc(df, df_error, np.where(np.isinf(f), np.nan, f))
        numerator = df * (f - 1)
        omega2 = np.where(np.isposinf(f), 1.0, np.maximum(0.0, numerator / (numerator + n_scores)))
    return np.where(np.isnan(f), np.nan, p), np.where(np.isnan(f), np.nan, omega2)
