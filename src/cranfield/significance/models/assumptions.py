"""Do scores meet what the analysis of variance assumes, and does it matter?"""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.border.given import Numbers
from cranfield.base.checks import check_share
from cranfield.base.errors import CranfieldError
from cranfield.base.words import counted
from cranfield.significance.models.anova_table import shown_p
from cranfield.significance.models.residual_tests import (
    ADDITIVE,
    EQUAL,
    NORMAL,
    Check,
    additivity_test,
    normal_medians,
    normality_test,
    variance_tests,
)
from cranfield.significance.pairs import ROUNDING
from cranfield.tabular import text_table
from cranfield.tabular.frames import Framed

ENOUGH_TOPICS = 20
"""From so many topics on a test of means hardly depends on normality (Mendenhall and Sincich)."""

LARGEST = 1e300
"""Of values that can be added up and subtracted."""


@dataclass(frozen=True, eq=False, repr=False)
class Assumptions(Framed):
    """What residuals say of the assumptions of the analysis of variance.

    Attributes
    ----------
    normality
        Shapiro and Wilk's test; above 5,000 residuals D'Agostino and Pearson's. None where a test
        cannot be done; `skipped` says why. So for the other checks.
    brown_forsythe, bartlett
        Tests of equal variances over systems. Bartlett's relies on normality itself.
    additivity
        Tukey's test of non-additivity, with one degree of freedom.
    skewness, kurtosis
        Third and fourth standardised moment of the residuals; 3 is taken off the fourth. Both are
        0 for normal errors, and NaN when all residuals are equal.
    ordered, quantiles
        The residuals in ascending order, and where a standard normal sample of that size has the
        medians of its order statistics: the points of a quantile-quantile plot.
    variances
        Sample variance of the residuals of each system.
    topics, systems, alpha
        Number of topics and systems, and the significance level.
    balanced
        Whether every system has a residual for every topic.
    skipped
        Tests that were not done, each with the reason.
    """

    normality: Check | None
    brown_forsythe: Check | None
    bartlett: Check | None
    additivity: Check | None
    skewness: float
    kurtosis: float
    ordered: Floats
    quantiles: Floats
    variances: Floats
    topics: int
    systems: int
    alpha: float
    balanced: bool
    skipped: tuple[str, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The tests that were done."""
        every = (self.normality, self.brown_forsythe, self.bartlett, self.additivity)
        return tuple(one for one in every if one is not None)

    @property
    def violated(self) -> tuple[str, ...]:
        """The assumptions that a test speaks against; Bartlett's does not count."""
        counting = (one for one in self.checks if one is not self.bartlett)
        return tuple(one.assumption for one in counting if one.pvalue <= self.alpha)

    def notes(self) -> list[str]:
        """Say in plain words what was found, and whether it matters.

        Source: Ferro and Maistro (2024), section 4.2.5, with Ito (1980) and Mendenhall and Sincich
        (2012) there; of unequal variances they say that a balanced design is little affected, which
        holds for independent scores, and not for scores of the same topics (Huynh and Feldt, 1976).
        """
        many = self.topics >= ENOUGH_TOPICS
        topics = counted(self.topics, "topic")
        lines = []
        if NORMAL in self.violated:
            shape = f"skewness {self.skewness:.2f}, excess kurtosis {self.kurtosis:.2f}"
            matters = (
                f"With {topics} a test of means hardly depends on it; many tests that are corrected"
                " by Holm or Bonferroni may, as their p-values are small."
                if many
                else f"With {topics}, fewer than {ENOUGH_TOPICS}, it may matter: compare with a"
                " randomisation test."
            )
            lines.append(f"The errors are not normal ({shape}). {matters}")
        if EQUAL in self.violated:
            lines.append(
                "The systems differ in variance. "
                + (
                    "The F-test of all systems then calls equal ones different too often: read its"
                    " corrected p, under the table. For pairs use the correction bootstrap-tukey,"
                    " which allows for it, or the test t, which takes each pair's own variance."
                    if self.balanced
                    else "Without a score of every system for every topic it may matter: compare"
                    " with a paired test or a randomisation test."
                )
            )
        if ADDITIVE in self.violated:
            lines.append(
                "The effects of topics and systems do not add up: differences between systems"
                " depend on how hard a topic is. A transformation may help: check again after it."
                " Scores by shard of the collection let the interaction be modelled."
            )
        if not self.violated:
            lines.append("No test speaks against the assumptions at this level.")
        lines.append(
            "That topics are independent cannot be seen in the residuals, and it matters most."
        )
        return lines + [f"Not done: {reason}." for reason in self.skipped]

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a test."""
        rows = [(*astuple(one), one.pvalue <= self.alpha) for one in self.checks]
        names = ("assumption", "test", "statistic", "p", "rejected")
        kinds = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Boolean)
        return pl.DataFrame(rows, dict(zip(names, kinds, strict=True)), orient="row")

    def __str__(self) -> str:
        rows = [
            [
                one.assumption,
                one.test,
                f"{one.statistic:.4f}",
                shown_p(one.pvalue),
                "*" if one.pvalue <= self.alpha else "",
            ]
            for one in self.checks
        ]
        table = text_table(["assumption", "test", "statistic", "p", ""], rows, left=(0, 1, 4))
        head = (
            f"{counted(self.topics, 'topic')}, {counted(self.systems, 'system')};"
            f" alpha {float(self.alpha):g}"
        )
        return "\n\n".join([head, table, "\n".join(self.notes())])

    def __repr__(self) -> str:
        found = ", ".join(self.violated) or "none"
        return f"Assumptions({counted(len(self.checks), 'test')}; violated: {found})"


def check_assumptions(
    residuals: Numbers, fitted: Numbers | None = None, *, alpha: float = 0.05
) -> Assumptions:
    r"""Check the residuals of an analysis of variance.

    The tests take residuals for independent errors, which they are but nearly. With many of them,
    departures that are too small to matter are significant too.

    .. math:: F = \frac{N}{(SS_e - N) / (df_e - 1)}, \quad
        N = \frac{\left(\sum_{ts} e_{ts} a_t b_s\right)^2}{\sum_t a_t^2 \sum_s b_s^2}

    is Tukey's test of non-additivity, with residuals e and effects a of topics and b of systems.

    Source: Ferro and Maistro (2024), section 4.2.5; Shapiro and Wilk (1965); D'Agostino and Pearson
    (1973); Brown and Forsythe (1974); Bartlett (1937); Tukey (1949).

    Parameters
    ----------
    residuals
        Scores minus what the model predicts, shape (topics, systems), such as
        `comparison.anova.residuals`; NaN is no score.
    fitted
        What the model predicts, in the same shape. With it, additivity is tested; that needs
        predictions that are the sum of an effect of the topic and one of the system, and no NaN.
    alpha
        Significance level.

    Raises
    ------
    CranfieldError
        For fewer than three residuals, infinite ones, or arrays of other shapes.
    PolicyError
        For an alpha that does not lie between 0 and 1.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[:4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> table = cf.compare(scores).anova
    >>> check_assumptions(table.residuals, table.fitted)
    Assumptions(4 tests; violated: normal errors, equal variances, additive effects)
    """
    e, predicted = _arrays(residuals, fitted, alpha)
    flat = e[~np.isnan(e)]
    skipped: list[str] = []
    constant = bool(np.ptp(flat) == 0)
    ordered = np.sort(flat)
    own = [column[~np.isnan(column)] for column in e.T]
    # No test depends on the unit; of very large or small residuals the powers are no floats.
    unit = np.ldexp(1.0, min(int(np.frexp(np.abs(flat).max())[1]), 1023))
    e, flat = e / unit, flat / unit
    predicted = None if predicted is None else predicted / unit
    columns = [column / unit for column in own]
    skewness = kurtosis = np.nan
    normality = brown_forsythe = bartlett = None
    if constant:
        skipped.append("tests of normality and of variances, as all residuals are equal")
    else:
        centred = flat - flat.mean()
        second = (centred**2).mean()
        skewness = float((centred**3).mean() / second**1.5)
        kurtosis = float((centred**4).mean() / second**2 - 3)
        normality = normality_test(flat)
        brown_forsythe, bartlett = variance_tests(columns, e, skipped)
    with warnings.catch_warnings():
        # A system with one score has no variance.
        warnings.simplefilter("ignore", RuntimeWarning)
        variances = np.array([column.var(ddof=1) if column.size else np.nan for column in own])
    return Assumptions(
        normality=normality,
        brown_forsythe=brown_forsythe,
        bartlett=bartlett,
        additivity=additivity_test(e, predicted, skipped),
        skewness=skewness,
        kurtosis=kurtosis,
        ordered=ordered,
        quantiles=normal_medians(flat.size),
        variances=variances,
        topics=e.shape[0],
        systems=e.shape[1],
        alpha=alpha,
        balanced=flat.size == e.size,
        skipped=tuple(skipped),
    )


def _arrays(
    residuals: Numbers, fitted: Numbers | None, alpha: float
) -> tuple[Floats, Floats | None]:
    check_share("alpha", alpha)
    e = np.asarray(residuals, dtype=np.float64)
    if e.ndim != 2:
        raise CranfieldError(f"residuals have a topic and a system, not the shape {e.shape}")
    predicted = None if fitted is None else np.asarray(fitted, dtype=np.float64)
    if predicted is not None and predicted.shape != e.shape:
        raise CranfieldError(f"fitted values of shape {predicted.shape}, residuals of {e.shape}")
    for values in (e, predicted):
        if values is not None and np.nanmax(np.abs(values), initial=0.0) > LARGEST:
            raise CranfieldError(f"there is a residual or fitted value beyond {LARGEST:g}")
    number = int((~np.isnan(e)).sum())
    if number < 3:
        raise CranfieldError(f"assumptions need three residuals at least, not {number}")
    if predicted is not None:
        # What a model leaves over by rounding is nothing.
        with np.errstate(over="ignore"):
            largest = np.nanmax(np.abs(e + predicted), initial=0.0)
        e = np.where(np.abs(e) <= ROUNDING * largest, 0.0, e)
    return e, predicted
