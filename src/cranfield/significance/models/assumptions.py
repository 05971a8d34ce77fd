"""Checks of the assumptions of the analysis of variance."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import fdtrc, ndtri

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, check_proportion
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, Result
from cranfield.significance.differences import ROUNDING

NORMAL, EQUAL, ADDITIVE = "normal errors", "equal variances", "additive effects"
MAX_SHAPIRO = 5000  # largest number of residuals for Shapiro and Wilk's test


@dataclass(frozen=True)
class Check:
    """A test of one assumption; a small p-value is evidence against it."""

    assumption: str
    test: str
    statistic: float
    pvalue: float


def compute_normality_test(residuals: Floats) -> Check:
    """Compute Shapiro and Wilk's test; for many residuals D'Agostino and Pearson's test."""
    from scipy import stats

    name, test = "Shapiro-Wilk", stats.shapiro
    if residuals.size > MAX_SHAPIRO:
        name, test = "D'Agostino-Pearson", stats.normaltest
    result = test(residuals)
    return Check(NORMAL, name, float(result.statistic), float(result.pvalue))


def compute_variance_tests(columns: list[Floats], e: Floats) -> tuple[Check | str, Check | str]:
    """Compute Brown and Forsythe's and Bartlett's test, or return the reasons to skip them."""
    from scipy import stats

    is_varying = [np.ptp(column) > 0 for column in columns if column.size]
    reason = ""
    if len(columns) < 2 or min(column.size for column in columns) < 3:
        reason = "which require two systems or more with at least three residuals each"
    elif len(columns) == 2 and np.abs(e.sum(axis=1)).max() <= ROUNDING * np.abs(e).max():
        # After effects of topics, the residuals of one system are minus those of the other.
        reason = "as residuals of two systems on the same topics always have equal variances"
    elif not any(is_varying):
        reason = "as no system's residuals vary"
    if reason:
        return (f"tests of equal variances, {reason}",) * 2
    result = stats.levene(*columns, center="median")
    brown_forsythe = Check(EQUAL, "Brown-Forsythe", float(result.statistic), float(result.pvalue))
    if not all(is_varying):
        return brown_forsythe, "Bartlett's test, as the residuals of a system are all equal"
    result = stats.bartlett(*columns)
    # With equal variances, rounding may make the statistic negative, without a p-value.
    p = 1.0 if np.isnan(result.pvalue) else float(result.pvalue)
    return brown_forsythe, Check(EQUAL, "Bartlett", float(result.statistic), p)


def compute_additivity_test(e: Floats, fitted: Floats | None) -> Check | str:
    """Compute Tukey's test of non-additivity, or return the reason to skip it."""
    name = "Tukey's test of non-additivity"
    if fitted is None:
        return f"{name}, which requires the fitted values"
    if np.isnan(e).any() or np.isnan(fitted).any():
        return f"{name}, which requires a score of every system for every topic"
    a = fitted.mean(axis=1) - fitted.mean()
    b = fitted.mean(axis=0) - fitted.mean()
    df_error = (e.shape[0] - 1) * (e.shape[1] - 1) - 1
    tolerance = 1e-9 * max(np.abs(fitted).max(), np.abs(e).max())
    if np.abs(fitted - fitted.mean() - a[:, None] - b).max() > tolerance:
        return f"{name}, as the fitted values are not sums of topic and system effects"
    if df_error < 1 or np.abs(a).max() <= tolerance or np.abs(b).max() <= tolerance:
        return (
            f"{name}, which requires two topics and two systems with different means, and at least"
            " three topics or three systems"
        )
    residual_ss = (e**2).sum()
    if residual_ss == 0:
        return f"{name}, as the model has no residual variation"
    explained_ss = (a @ e @ b) ** 2 / ((a**2).sum() * (b**2).sum())
    with np.errstate(divide="ignore"):
        f = explained_ss / (max(residual_ss - explained_ss, 0.0) / df_error)
    pvalue = 0.0 if np.isinf(f) else float(fdtrc(1, df_error, f))
    return Check(ADDITIVE, name, float(f), pvalue)


def compute_normal_medians(n: int) -> Floats:
    """Return the medians of the order statistics of a standard normal sample (Filliben, 1975)."""
    positions = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    positions[-1] = 0.5 ** (1 / n)
    positions[0] = 1 - positions[-1]
    return np.asarray(ndtri(positions))


# With this many topics, tests of means are robust to non-normality (Mendenhall and Sincich, 2012).
ENOUGH_TOPICS = 20
MAX_VALUE = 1e300  # sums of larger values may overflow


@dataclass(frozen=True, eq=False, repr=False)
class Assumptions(Result):
    """Tests of the assumptions of an analysis of variance, by its residuals.

    Attributes
    ----------
    normality
        Shapiro and Wilk's test, or D'Agostino and Pearson's for more than 5,000 residuals. None if
        the test is not possible; `skipped_tests` has the reason, as for the other tests.
    brown_forsythe, bartlett
        Tests of equal variances over systems. Bartlett's test assumes normality.
    additivity
        Tukey's test of non-additivity, with one degree of freedom.
    skewness, kurtosis
        Skewness and excess kurtosis of the residuals: 0 for normal errors, NaN for equal residuals.
    ordered_residuals, quantiles
        The residuals in ascending order, and the medians of the order statistics of a standard
        normal sample of that size: the points of a quantile-quantile plot.
    variances
        Sample variance of the residuals of each system.
    n_topics, n_systems, alpha
        Number of topics and systems, and the significance level.
    is_balanced
        Whether every system has a residual for every topic.
    skipped_tests
        Skipped tests, each with the reason.
    """

    columns: ClassVar[Columns] = {
        "assumption": Column("Assumption that is tested.", key=True),
        "test": Column("Name of the test.", key=True),
        "statistic": Column("Test statistic."),
        "p": Column("p-value; a small value is evidence against the assumption.", is_pvalue=True),
        "rejected": Column("Whether the p-value is at most alpha."),
    }

    normality: Check | None
    brown_forsythe: Check | None
    bartlett: Check | None
    additivity: Check | None
    skewness: float
    kurtosis: float
    ordered_residuals: Floats
    quantiles: Floats
    variances: Floats
    n_topics: int
    n_systems: int
    alpha: float
    is_balanced: bool
    skipped_tests: tuple[str, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The tests that were computed."""
        tests = (self.normality, self.brown_forsythe, self.bartlett, self.additivity)
        return tuple(check for check in tests if check is not None)

    @property
    def violated_assumptions(self) -> tuple[str, ...]:
        """The assumptions that are rejected by a test other than Bartlett's."""
        checks = (check for check in self.checks if check is not self.bartlett)
        return tuple(check.assumption for check in checks if check.pvalue <= self.alpha)

    @property
    def notes(self) -> list[str]:
        """Sentences on the rejected assumptions and their consequences.

        Source: Ferro and Maistro (2024), section 4.2.5, who cite Ito (1980) and Mendenhall and
        Sincich (2012). Their statement that unequal variances hardly affect a balanced design is
        true for independent scores, but not for scores on the same topics (Huynh and Feldt, 1976).
        """
        text = inflect(self.n_topics, "topic")
        lines = []
        if NORMAL in self.violated_assumptions:
            moments = f"skewness {self.skewness:.2f}, excess kurtosis {self.kurtosis:.2f}"
            advice = (
                f"With {text} a test of means hardly depends on normality, but many tests with"
                " Holm's or Bonferroni's correction may, as their decisions use small p-values."
                if self.n_topics >= ENOUGH_TOPICS
                else f"With {text}, fewer than {ENOUGH_TOPICS}, this may matter: check with a"
                " randomisation test."
            )
            lines.append(f"The errors are not normal ({moments}). {advice}")
        if EQUAL in self.violated_assumptions:
            advice = (
                "The Type I errors of the F-test of all systems are then too frequent: use the p"
                " of System corrected for non-sphericity, above the ANOVA table. For pairs, the"
                " correction bootstrap-tukey and the test t do not assume equal variances."
                if self.is_balanced
                else "With missing scores, unequal variances may change the Type I error rate:"
                " check the results with a paired test or a randomisation test."
            )
            lines.append(f"The systems differ in variance. {advice}")
        if ADDITIVE in self.violated_assumptions:
            lines.append(
                "The effects of topics and systems are not additive: differences between systems"
                " depend on the difficulty of the topic. Transform the scores and check them again,"
                " or use scores by shard, for which a model can include the interaction."
            )
        if not self.violated_assumptions:
            lines.append("No test rejects an assumption at this level.")
        lines.append(
            "Independence of topics, the most important assumption, cannot be checked by residuals."
        )
        return lines + [f"Skipped: {reason}." for reason in self.skipped_tests]

    def _frame(self) -> pl.DataFrame:
        rows = [(*astuple(check), check.pvalue <= self.alpha) for check in self.checks]
        dtypes = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Boolean)
        return pl.DataFrame(rows, dict(zip(self.columns, dtypes, strict=True)), orient="row")

    def heading(self) -> list[str]:
        sizes_text = f"{inflect(self.n_topics, 'topic')}, {inflect(self.n_systems, 'system')}"
        names = ", ".join(self.violated_assumptions) or "none"
        return [f"{sizes_text}; alpha {self.alpha:g}; rejected: {names}"]


def check_assumptions(
    residuals: ArrayLike, fitted: ArrayLike | None = None, *, alpha: float = 0.05
) -> Assumptions:
    r"""Check the residuals of an analysis of variance.

    The tests assume that residuals are independent errors, which holds only approximately. With
    many residuals, even negligible departures from an assumption are significant. Tukey's test of
    non-additivity uses

    .. math:: F = \frac{N}{(SS_e - N) / (df_e - 1)}, \quad
        N = \frac{\left(\sum_{ts} e_{ts} a_t b_s\right)^2}{\sum_t a_t^2 \sum_s b_s^2}

    with residuals e, effects a of topics, effects b of systems, and the sum of squares SS_e and the
    degrees of freedom df_e of the error.

    Source: Ferro and Maistro (2024), section 4.2.5; Shapiro and Wilk (1965); D'Agostino and Pearson
    (1973); Brown and Forsythe (1974); Bartlett (1937); Tukey (1949b).

    Parameters
    ----------
    residuals
        Scores minus the predictions of the model, shape (topics, systems), such as
        `comparison.anova.residuals`; NaN is a missing score.
    fitted
        Predictions of the model, in the same shape, to test additivity. They must be sums of a
        topic effect and a system effect, without NaN.
    alpha
        Significance level.

    Raises
    ------
    CranfieldError
        For fewer than three residuals, values above 1e300, or arrays of other shapes.
    PolicyError
        For an alpha that is not between 0 and 1.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[:4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> table = cf.compare(scores).anova
    >>> check_assumptions(table.residuals, table.fitted)  # doctest: +ELLIPSIS
    Assumptions(50 topics, 4 systems; alpha 0.05; rejected: normal errors, equal variances, ...)
    """
    e, predicted = _check_arrays(residuals, fitted, alpha)
    flat_residuals = e[~np.isnan(e)]
    ordered_residuals = np.sort(flat_residuals)
    residuals_by_system = [column[~np.isnan(column)] for column in e.T]
    # No test depends on the unit; powers of very large or small residuals would be out of range.
    unit = np.ldexp(1.0, min(int(np.frexp(np.abs(flat_residuals).max())[1]), 1023))
    e, flat_residuals = e / unit, flat_residuals / unit
    predicted = None if predicted is None else predicted / unit
    columns = [column / unit for column in residuals_by_system]
    skewness = kurtosis = np.nan
    reason = "tests of normality and of variances, as all residuals are equal"
    tests: list[Check | str] = [reason] * 3
    if np.ptp(ordered_residuals) > 0:
        centred_residuals = flat_residuals - flat_residuals.mean()
        variance = (centred_residuals**2).mean()
        skewness = float((centred_residuals**3).mean() / variance**1.5)
        kurtosis = float((centred_residuals**4).mean() / variance**2 - 3)
        tests = [compute_normality_test(flat_residuals), *compute_variance_tests(columns, e)]
    tests.append(compute_additivity_test(e, predicted))
    variances = [
        column.var(ddof=1) if column.size > 1 else np.nan for column in residuals_by_system
    ]
    normality, brown_forsythe, bartlett, additivity = (
        test if isinstance(test, Check) else None for test in tests
    )
    return Assumptions(
        normality=normality,
        brown_forsythe=brown_forsythe,
        bartlett=bartlett,
        additivity=additivity,
        skewness=skewness,
        kurtosis=kurtosis,
        ordered_residuals=ordered_residuals,
        quantiles=compute_normal_medians(flat_residuals.size),
        variances=np.array(variances),
        n_topics=e.shape[0],
        n_systems=e.shape[1],
        alpha=alpha,
        is_balanced=flat_residuals.size == e.size,
        skipped_tests=tuple(dict.fromkeys(test for test in tests if isinstance(test, str))),
    )


def _check_arrays(
    residuals: ArrayLike, fitted: ArrayLike | None, alpha: float
) -> tuple[Floats, Floats | None]:
    check_proportion("alpha", alpha)
    e = np.asarray(residuals, dtype=np.float64)
    if e.ndim != 2:
        raise CranfieldError(f"residuals must have shape (topics, systems), got {e.shape}")
    predicted = None if fitted is None else np.asarray(fitted, dtype=np.float64)
    if predicted is not None and predicted.shape != e.shape:
        raise CranfieldError(
            f"fitted values must have the shape of the residuals, {e.shape}, got {predicted.shape}"
        )
    for values in (e, predicted):
        if values is not None and (peak := np.nanmax(np.abs(values), initial=0)) > MAX_VALUE:
            raise CranfieldError(
                f"residuals and fitted values must be at most {MAX_VALUE:g}, got {peak:g}"
            )
    n_residuals = int((~np.isnan(e)).sum())
    if n_residuals < 3:
        raise CranfieldError(
            f"checks of assumptions require at least three residuals, got {n_residuals}"
        )
    if predicted is not None:
        # Residuals that are rounding errors become 0.
        with np.errstate(over="ignore"):
            max_score = np.nanmax(np.abs(e + predicted), initial=0.0)
        e = np.where(np.abs(e) <= ROUNDING * max_score, 0.0, e)
    return e, predicted
