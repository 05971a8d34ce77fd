"""Reports of A/B tests, and the sample ratio test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_integer
from cranfield.base.text import inflect, sanitise
from cranfield.online.experiments.comparisons import OEC, ExperimentOptions
from cranfield.online.experiments.design import check_weights, compute_chi_square
from cranfield.result import Column, Columns, Result, TableResult, declare_bounds
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from cranfield.significance.registry import CORRECTIONS

ALARM_PVALUE = 0.0005  # A lower p-value is a sample ratio mismatch (Fabijan et al., 2019)
MAX_EXACT_UNITS = 1000  # Number of units below which the exact test is used
MAX_UNITS = 2**52  # Maximum number of units of a variant, so that sums are exact

METHODS = ("auto", "chi-square", "exact")


@dataclass(frozen=True, eq=False, repr=False)
class SampleRatio(TableResult):
    """Observed and expected numbers of units of the variants, with the test of a mismatch.

    Attributes
    ----------
    rows
        The table, one row per variant.
    method
        `chi-square`, or `exact`, the binomial test.
    statistic
        Chi-square statistic.
    pvalue
        p-value of the method.
    """

    name: ClassVar[str] = "sample-ratio"
    columns: ClassVar[Columns] = {
        "variant": Column("Variant.", key=True),
        "units": Column("Number of units."),
        "expected": Column("Expected number of units.", decimals=1),
        "proportion": Column("Proportion of all units."),
        "expected proportion": Column("Expected proportion."),
    }

    method: str
    statistic: float
    pvalue: float

    @property
    def is_mismatch(self) -> bool:
        """Whether the deviation is too large to trust any result."""
        return self.pvalue < ALARM_PVALUE

    def facts(self) -> dict[str, Any]:
        return {"variants": tuple(self.variant.tolist()), **super().facts()}

    def heading(self) -> list[str]:
        rows = self.rows.select("variant", "units").iter_rows()
        counts = " : ".join(f"{sanitise(name)} {count:,}" for name, count in rows)
        proportions = " : ".join(f"{proportion:.4g}" for proportion in self.expected_proportion)
        verdict = "SAMPLE RATIO MISMATCH" if self.is_mismatch else "no sample ratio mismatch"
        pvalue = f"{self.pvalue:.6g}" if self.pvalue else "<1e-300"
        # A small p-value above the threshold may also be due to a mismatch.
        has_small_pvalue = ALARM_PVALUE <= self.pvalue < 0.05
        remark = f" (alarm below {ALARM_PVALUE:g})" if has_small_pvalue else ""
        return [f"{verdict}: {counts}, expected {proportions}; {self.method} p {pvalue}{remark}"]


def sample_ratio(
    counts: Mapping[str, int], weights: Any = None, *, method: str = "auto"
) -> SampleRatio:
    r"""Test whether the numbers of units of variants match the planned proportions.

    .. math:: \chi^2 = \sum_j \frac{(n_j - w_j n)^2}{w_j n}

    for n units, :math:`n_j` of them in variant j with the planned proportion :math:`w_j`; it has
    k - 1 degrees of freedom for k variants. A mismatch means that one variant lost or gained
    more units than another. Then variants may differ even if the treatment has no effect, and no
    result can be trusted. The alarm is at p < .0005, because a test that runs daily should rarely
    give a false alarm. By default the exact binomial test is used below 1,000 units; with more than
    two variants, each is tested against all others, with Bonferroni's correction.

    Source: Fabijan et al. (2019); Kohavi, Tang and Xu (2020).

    Parameters
    ----------
    counts
        Number of units of each variant.
    weights
        Expected proportions by variant, which sum to 1; by default equal.
    method
        `auto`, `chi-square`, or `exact`.

    Returns
    -------
    SampleRatio
        Observed and expected numbers of units, with `pvalue` and `is_mismatch`.

    Raises
    ------
    PolicyError
        For a single variant, weights that lack a variant or do not sum to 1, or a count that is not
        an integer of at least 0.
    CranfieldError
        If there are no units.

    Examples
    --------
    >>> sample_ratio({"A": 821_588, "B": 815_482})
    SampleRatio(SAMPLE RATIO MISMATCH: A 821,588 : B 815,482, expected 0.5 : 0.5; ...)
    """
    check_choice("method", method, METHODS)
    weights = check_weights(list(counts) if weights is None else weights)
    counts = {str(name): count for name, count in counts.items()}
    if unlisted_names := [name for name in counts if name not in weights]:
        names = sanitise(", ".join(map(repr, unlisted_names[:5])))
        raise PolicyError(f"weights must name every variant; missing: {names}")
    for count in counts.values():
        check_integer("the number of units of a variant", count, 0, MAX_UNITS)
    sizes = np.array([counts.get(name, 0) for name in weights], dtype=np.intp)
    total = int(sizes.sum())
    if not total:
        raise CranfieldError("expected at least one unit, got none")
    proportions = np.fromiter(weights.values(), dtype=np.float64)
    proportions /= proportions.sum()
    is_exact = method == "exact" or (method == "auto" and total < MAX_EXACT_UNITS)
    statistic, pvalue = map(float, compute_chi_square(sizes, proportions))
    if is_exact:
        units = zip(sizes, proportions, strict=True)
        pvalues = [float(compute_binomial_pvalues(n, total - n, probability=p)) for n, p in units]
        pvalue = pvalues[0] if len(pvalues) == 2 else min(1.0, min(pvalues) * len(pvalues))
    expected_sizes = proportions * total
    columns = [[*weights], sizes, expected_sizes, sizes / total, expected_sizes / total]
    rows = pl.DataFrame(dict(zip(SampleRatio.columns, columns, strict=True)))
    return SampleRatio(rows, "exact" if is_exact else "chi-square", statistic, pvalue)


STOPPED = (
    "no verdict: sample ratio mismatch (numbers of units deviate from the planned proportions), so"
    " results cannot be trusted"
)
LIFT_METHOD_TEXTS = {
    "log": "on the scale of the logarithm of the ratio (delta method)",
    "linear": "on the scale of the ratio (delta method)",
    "fieller": "by Fieller's method",
}

_METRIC_COLUMNS = {
    "metric": Column("Metric.", key=True),
    "variant": Column("Variant other than the control.", key=True),
}
_PVALUE_COLUMNS = {
    "p": Column("p-value.", is_pvalue=True),
    "adjusted p": Column("p-value after the correction.", is_pvalue=True),
}
_EFFECT_COLUMNS = {
    "difference": Column("Mean minus the mean of the control."),
    **declare_bounds("confidence interval", "; see `ExperimentReport.interval_scope`"),
    "lift": Column("Difference / mean of the control; NaN if this mean is 0, and for the OEC."),
    **declare_bounds("confidence interval of the lift", prefix="lift "),
}

SIMULTANEOUS = ("bonferroni", "sidak")  # Corrections with simultaneous intervals

_COLUMNS = {"pvalues": "p", "adjusted_pvalues": "adjusted p"}
_COLUMNS |= {"noninferiority_pvalues": "noninferiority p"}
"""Columns of comparisons by the names of their attributes, if these differ."""


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentReport(Result):
    """Means of all metrics by variant, and differences from the control.

    Each option of the analysis, such as `alpha`, is also an attribute, and so is each column of the
    comparisons, such as `difference` or `lift_low`, of shape (metrics, variants - 1); the p-values
    are `pvalues`, `adjusted_pvalues` and `noninferiority_pvalues`.

    Attributes
    ----------
    source, unit
        Source of the data, and kind of the randomised units.
    variants
        The variants, the control first.
    metrics
        Names of the metrics; an overall evaluation criterion is last, as `OEC`.
    margins
        Non-inferiority margin of each metric: a number in the unit of the metric, a percentage of
        the mean of the control, or None if it was not set.
    lower_is_better
        Names of the metrics for which lower values are better.
    sample_ratio
        The test of the numbers of units.
    units
        Number of units of each variant, shape (variants,).
    means, mean_low, mean_high
        Means, adjusted for covariates, and their confidence intervals (Wilson's for proportions);
        shape (metrics, variants).
    comparisons
        Data frame, one row per metric and variant but the control: the table `effects` with two
        more columns, `error`, the standard error of the difference, and `test`: `delta`,
        `permutation`, `exact permutation` (of all assignments), `bootstrap` or `always valid`.
        p-values and intervals are NaN if the report `is_stopped`.
    sample_ratios, segments, interactions, looks
        The tables of these names; the last three are None if they were not requested, or if the
        report `is_stopped`.
    options
        Options of the analysis; `resamples` is 0 if no resamples were drawn, and `theta`
        empty without a covariate.
    is_stopped
        Whether results are withheld because of a sample ratio mismatch.
    notes
        Remarks on the data and the tests.
    """

    name: ClassVar[str] = "effects"
    columns: ClassVar[Mapping[str, Columns]] = {
        "effects": {
            **_METRIC_COLUMNS,
            "control mean": Column("Mean of the control, adjusted for the covariate if set."),
            "mean": Column("Mean of the variant, adjusted for the covariate if set."),
            **_EFFECT_COLUMNS,
            **_PVALUE_COLUMNS,
            "noninferiority p": Column(
                "p-value of non-inferiority, level alpha / 2; NaN without a margin.", is_pvalue=True
            ),
            "verdict": Column("`better`, `worse`, `not worse`, `undecided`, or `no verdict`."),
        },
        "sample-ratio": SampleRatio.columns,
        "sample-ratios": {
            "by": Column("Day or segment.", key=True),
            "level": Column("Day, or value of the segment, such as `mobile`.", key=True),
            "units": Column("Number of units."),
            "p": Column("p-value of the sample ratio test; NaN for too few units.", is_pvalue=True),
            "adjusted_p": Column("p-value after Holm's correction.", is_pvalue=True),
        },
        "segments": {
            "segment": Column("Segment.", key=True),
            "level": Column("Level of the segment.", key=True),
            **_METRIC_COLUMNS,
            "units": Column("Number of units of both variants."),
            **_EFFECT_COLUMNS,
            "low": Column("Lower bound of the unadjusted confidence interval."),
            **_PVALUE_COLUMNS,
            "p": Column(
                "p-value; NaN for fewer than ten units, or no variance, in a variant.",
                is_pvalue=True,
            ),
        },
        "interactions": {
            "segment": Column("Segment.", key=True),
            **_METRIC_COLUMNS,
            "statistic": Column("Cochran's Q for equal effects at all levels; NaN if `df` is 0."),
            "df": Column("Degrees of freedom: number of tested levels minus 1, or 0 if none."),
            **_PVALUE_COLUMNS,
        },
        "looks": {
            **_METRIC_COLUMNS,
            "units": Column("Number of units at the look.", key=True),
            "difference": Column("Mean minus the mean of the control."),
            **declare_bounds("always-valid confidence interval"),
            "p": Column("Smallest always-valid p-value up to this look.", is_pvalue=True),
        },
    }

    source: str
    unit: str
    variants: tuple[str, ...]
    metrics: tuple[str, ...]
    margins: tuple[float | str | None, ...]
    lower_is_better: tuple[str, ...]
    sample_ratio: SampleRatio
    units: Indices
    means: Floats
    mean_low: Floats
    mean_high: Floats
    comparisons: pl.DataFrame
    sample_ratios: pl.DataFrame
    segments: pl.DataFrame | None
    interactions: pl.DataFrame | None
    looks: pl.DataFrame | None
    options: ExperimentOptions
    is_stopped: bool
    notes: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        if name not in ("comparisons", "options"):
            column = _COLUMNS.get(name, name.replace("_", " "))
            if column in self.comparisons.columns:
                return self._reshape(column)
            if name in vars(self.options):
                return getattr(self.options, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _reshape(self, column: str) -> NDArray[Any]:
        return self.comparisons[column].to_numpy().reshape(len(self.metrics), -1)

    @property
    def tests(self) -> tuple[tuple[str, ...], ...]:
        """The test of each metric and variant."""
        return tuple(map(tuple, self._reshape("test").tolist()))

    @property
    def control(self) -> str:
        """The variant with which all other variants are compared."""
        return self.variants[0]

    def is_significant(self) -> Bools:
        """Return whether differences are significant, shape (metrics, variants - 1)."""
        return np.asarray(self.adjusted_pvalues <= self.alpha)

    @property
    def verdicts(self) -> tuple[tuple[str, ...], ...]:
        """The verdict on each metric and variant; see the column `verdict`."""
        return tuple(map(tuple, self._reshape("verdict").tolist()))

    def frames(self) -> dict[str, pl.DataFrame]:
        columns = list(self.columns["effects"])
        if not np.isfinite(self.noninferiority_pvalues).any():
            columns.remove("noninferiority p")
        tables = {
            "effects": self.comparisons.select(columns),
            "sample-ratio": self.sample_ratio.to_polars(),
            "sample-ratios": self.sample_ratios if self.sample_ratios.height else None,
            **{name: getattr(self, name) for name in ("segments", "interactions", "looks")},
        }
        return {name: frame for name, frame in tables.items() if frame is not None}

    def facts(self) -> dict[str, Any]:
        names = ("source", "unit", "alpha", "correction", "errors", "theta", "sequential")
        tests = [dict(zip(self.variants[1:], tests, strict=True)) for tests in self.tests]
        return {
            **{name: getattr(self, name) for name in (*names, "is_stopped", "control")},
            "sequential": str(self.sequential or ""),
            "resamples": self.resamples,
            "seed": self.seed,
            "tests": dict(zip(self.metrics, tests, strict=True)),
            "lift interval": self.options.lift,
            "sample ratio p": self.sample_ratio.pvalue,
        }

    def heading(self) -> list[str]:
        lines = self.sample_ratio.heading()
        mismatches = self.sample_ratios.filter(pl.col("adjusted_p") < ALARM_PVALUE)
        for by, level, p in mismatches.select("by", "level", "p").iter_rows():
            lines.append(f"SAMPLE RATIO MISMATCH in {sanitise(by)} {sanitise(level)}: p {p:.3g}")
        if self.is_stopped:
            lines.append(STOPPED)
        lines.append(f"control: {sanitise(self.control)}")
        lines += [*self.describe_methods(), *self.describe_margins()]
        if self.difference.size > 1:
            correction = CORRECTIONS[self.correction].title
            family = "; the OEC is corrected separately" if OEC in self.metrics else ""
            lines.append(f"p-values of all metrics and variants: {correction}{family}")
        return lines

    def misses_margin(self) -> Bools:
        """Return whether losses are not shown to be within their margin.

        The result has the shape (metrics, variants - 1), as `verdicts`, and is False without a
        margin and for other verdicts than `worse` and `undecided`.
        """
        has_margin = np.array([[margin is not None] for margin in self.margins])
        may_be_loss = np.isin(self._reshape("verdict"), ("worse", "undecided"))
        is_within = self.noninferiority_pvalues <= self.alpha / 2
        return np.asarray(has_margin & may_be_loss & ~is_within)

    def describe_margins(self) -> list[str]:
        """Return lines on each margin: its null hypothesis, and losses beyond or within it."""
        lines = []
        for k, (name, margin) in enumerate(zip(self.metrics, self.margins, strict=True)):
            if margin is not None and not self.is_stopped:
                loss_text = f"{margin} of the mean of the control" if "%" in str(margin) else margin
                side = "higher" if name in self.lower_is_better else "lower"
                hypothesis = f"{sanitise(name)} is worse ({side}) by at least {loss_text}"
                lines.append(
                    f"noninferiority p: one-sided p-value of the null hypothesis that {hypothesis};"
                    f" level {self.alpha / 2:g}"
                )
                names_by_remark: dict[str, list[str]] = {}
                for j, variant in enumerate(self.variants[1:]):
                    if remark := describe_loss(self, k, j, loss_text):
                        worse = "worse, " if self.verdicts[k][j] == "worse" else ""
                        names_by_remark.setdefault(f"{worse}{remark}", []).append(sanitise(variant))
                for remark, names in names_by_remark.items():
                    lines.append(f"{sanitise(name)} of {', '.join(names)}: {remark}")
        return lines

    @property
    def interval_scope(self) -> str:
        """Scope of intervals: `simultaneous` or `unadjusted`; empty if nothing is corrected."""
        if self.difference.size == 1 or self.correction == "none":
            return ""
        # Always-valid intervals are not adjusted for the number of comparisons.
        is_adjusted = self.correction in SIMULTANEOUS and self.sequential is None
        return "simultaneous" if is_adjusted else "unadjusted"

    def describe_methods(self) -> list[str]:
        """Return one sentence per test, with its metrics if there are several tests."""
        labels_by_test: dict[str, dict[str, None]] = {}
        for name, tests in zip(self.metrics, self.tests, strict=True):
            for variant, test in zip(self.variants[1:], tests, strict=True):
                label = name if len({*tests}) == 1 else f"{name} of {variant}"
                labels_by_test.setdefault(test, {})[sanitise(label)] = None
        sentences = []
        scope = f"{self.interval_scope} ".lstrip()
        for test, labels in labels_by_test.items():
            resamples = inflect(self.resamples, test.replace("bootstrap", "resample"))
            sampling = f"({resamples}, seed {self.seed})"
            method = {
                "delta": "Welch's test by the delta method",
                "permutation": f"permutation test of Welch's statistic {sampling}",
                "exact permutation": "exact permutation test of Welch's statistic",
                "bootstrap": f"bootstrap by {self.unit} {sampling}",
                "always valid": f"always-valid test by {self.sequential}",
            }[test]
            lift = LIFT_METHOD_TEXTS["fieller" if "permutation" in test else self.options.lift]
            basis = "by percentiles" if test == "bootstrap" else f"intervals of lifts {lift}"
            intervals = f"{scope}{100 * (1 - self.alpha):.4g}% confidence intervals, {basis}"
            metric_list = f": {', '.join(labels)}" if len(labels_by_test) > 1 else ""
            sentences.append(f"{method}, alpha {self.alpha:g}; {intervals}{metric_list}")
        return sentences


def describe_loss(report: ExperimentReport, k: int, j: int, loss_text: Any) -> str:
    """Describe a significant or undecided loss of variant j + 1 on metric k by its margin."""
    if report.misses_margin()[k, j]:
        return f"not shown to be within the margin of {loss_text}"
    is_worse = report.margins[k] is not None and report.verdicts[k][j] == "worse"
    return f"but by less than the margin of {loss_text}" if is_worse else ""
