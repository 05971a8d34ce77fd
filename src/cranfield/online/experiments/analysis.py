"""Analysis of an experiment, by the unit that was randomised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_several, quoted
from cranfield.online.experiments.comparisons import (
    FEW,
    OEC,
    Compared,
    How,
    Pair,
    arm_limits,
    compared,
    not_worse,
    overall,
)
from cranfield.online.experiments.design import checked_weights
from cranfield.online.experiments.estimates import Critical, Effects, Sequential, parse_sequential
from cranfield.online.experiments.metrics import ArmMeans, Metric, arm_means, moments, read_metrics
from cranfield.online.experiments.report import ALARM, ExperimentReport, chi_square, sample_ratio
from cranfield.online.experiments.units import Units, directed, read_units, units_of_log
from cranfield.online.log.query_log import QueryLog
from cranfield.online.units import UnitSums
from cranfield.significance.corrections.of_pvalues import adjusted
from cranfield.significance.differences import t_quantile


def sample_ratios(units: Units, shares: Floats) -> pl.DataFrame:
    """Test the numbers of units at each level of each segment by chi-square, with Holm's method.

    Levels with fewer than five expected units in a variant are not tested.
    """
    rows: list[Any] = []
    for by, (levels, code) in units.segments.items():
        arms = len(units.variants)
        inside = code >= 0
        cells = code[inside] * arms + units.arm[inside]
        counts = np.bincount(cells, minlength=len(levels) * arms).reshape(-1, arms)
        pvalue = chi_square(counts, shares)[1]
        few = counts.sum(axis=1) * shares.min() < 5
        pvalue = np.where(few, np.nan, pvalue)
        numbers = counts.sum(axis=1).tolist()
        rows += zip([by] * len(levels), levels, numbers, pvalue, adjusted(pvalue), strict=True)
    schema: dict[str, Any] = {"by": pl.String, "level": pl.String, "units": pl.Int64}
    schema |= {"p": pl.Float64, "adjusted_p": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def effects_by_segment(
    units: Units, segments: Sequence[str], how: How
) -> tuple[pl.DataFrame, pl.DataFrame]:
    r"""Return effects at each level, and tests that they are the same at all levels.

    Levels with fewer than ten units in a variant, or a variant without variance, are not tested.

    .. math:: Q = \sum_g \frac{(d_g - \bar{d})^2}{s_g^2}, \quad
        \bar{d} = \frac{\sum_g d_g / s_g^2}{\sum_g 1 / s_g^2}

    is chi-square with one degree of freedom less than levels if they are (Cochran, 1954).
    """
    arms = len(units.variants)
    effects, tests = [], []
    critical: Critical = partial(t_quantile, 1 - how.alpha)
    for by in segments:
        levels, code = units.segments[by]
        cell = np.where(code >= 0, code * arms + units.arm, -1)
        found = moments(units.columns, cell, (len(levels), arms))
        for name, placed in units.placed.items():
            means = arm_means(found, placed, how.theta)
            for other in range(1, arms):
                one = Effects.of(means, 0, other)
                untested = np.minimum(one.control_count, one.other_count) < FEW
                untested |= (one.control_squared == 0) | (one.other_squared == 0)
                tested = (*one.limits(critical), *one.lift_limits(critical, how.lift), one.pvalue())
                low, high, lift_low, lift_high, p_level = np.where(untested, np.nan, tested)
                effects.append(
                    pl.DataFrame(
                        {
                            "segment": by,
                            "level": pl.Series(levels, dtype=pl.String),
                            "metric": name,
                            "variant": units.variants[other],
                            "units": (one.control_count + one.other_count).astype(np.int64),
                            "difference": one.difference,
                            "low": low,
                            "high": high,
                            "lift": one.lift,
                            "lift low": lift_low,
                            "lift high": lift_high,
                            "p": p_level,
                        }
                    )
                )
                statistic, df = _heterogeneity(one, ~untested)
                p = float(chdtrc(df, statistic)) if df > 0 else np.nan
                tests.append((by, name, units.variants[other], statistic, df, p))
    frame = pl.concat(effects)
    columns: dict[str, Any] = dict.fromkeys(("segment", "metric", "variant"), pl.String)
    columns |= {"statistic": pl.Float64, "df": pl.Int64, "p": pl.Float64}
    apart = pl.DataFrame(tests, schema=columns, orient="row")
    return tuple(  # type: ignore[return-value]
        one.with_columns(pl.Series("adjusted p", adjusted(one["p"].to_numpy(), how.correction)))
        for one in (frame, apart)
    )


def _heterogeneity(one: Effects, tested: Bools) -> tuple[float, int]:
    known = np.isfinite(one.error) & tested
    if known.sum() < 2:
        return np.nan, 0
    weight = 1 / one.error[known] ** 2
    difference = one.difference[known]
    mean = (weight * difference).sum() / weight.sum()
    return float((weight * (difference - mean) ** 2).sum()), int(known.sum()) - 1


SRM = ("stop", "warn")
"""What a sample ratio mismatch does to the verdict."""


def analyse_experiment(
    data: Any,
    metrics: Any,
    *,
    unit: str | None = None,
    variant: str = "variant",
    control: str | int | None = None,
    weights: Any = None,
    srm: str = "stop",
    mixed: str = "drop",
    missing: str = "error",
    before: Any = None,
    theta: str = "pooled",
    lift: str = "log",
    errors: str = "auto",
    correction: str = "holm",
    alpha: float = 0.05,
    segments: Sequence[str] = (),
    time: str | None = None,
    sequential: str | Sequential | None = None,
    looks: Sequence[int] | None = None,
    oec: Mapping[str, float] | None = None,
    resamples: int = 2000,
    draws: str = "poisson",
    seed: int = 0,
) -> ExperimentReport:
    r"""Analyse an A/B test: check validity first, then report effects.

    Units are what was randomised, such as users. A metric is a mean over units, or a ratio of two
    means such as clicks per page, whose error follows from the units too, by the delta method: who
    tests clicks page by page where users were randomised takes pages of a user for independent,
    and errs far more often than alpha.

    The p-value is that of Welch's test. If a metric is skewed and the split is unequal, this test
    rejects too often to one side; with few units, or a variant without variance, its error is not
    known. Then the metric is tested by permutations of the same statistic instead, by all of them
    if there are at most 50,000, and a note reports it. Intervals of the lift, the
    difference relative to the mean of the control, are those of its logarithm, or `linear` or
    `fieller`. With a covariate from before the experiment, a mean is adjusted (CUPED). Nothing is
    tested if the numbers of units are not as planned: a sample ratio mismatch at p < .0005, in all
    or at a level of a segment.

    Sources: Kohavi, Tang and Xu (2020); Deng et al. (2013, 2018); Fabijan et al. (2019); on
    skewness Boos and Hughes-Oliver (2000), Kohavi et al. (2014); Janssen (1997) and Chung and
    Romano (2013) on permutations.

    Parameters
    ----------
    data
        A table with a row a unit, or with several rows for a `unit`, which are summed: a file, a
        data frame, a mapping of columns. Or a :class:`QueryLog`, or sums by unit of its measures.
    metrics
        Columns by name, such as `{"revenue": "revenue", "ctr": "clicks/pages"}`, or
        :class:`Metric` of them, of numbers or truth values; of a log the text of measures, such as
        `["CTR", "ClickRR"]`.
    unit
        Column of the unit; by default a row is a unit, and tables whose rows seem to be parts of a
        unit, or totals of many units, are refused. `row` if rows were randomised. Of a log `user`
        by default.
    variant
        Column of the variant. Rows without one are left out, and counted.
    control
        The variant that others are compared with; by default the one called `control`, or else the
        only one called `baseline`, `old`, `a` or `0`, in any case.
    weights
        Share of units that each variant should have; by default equal ones.
    srm
        What a sample ratio mismatch does: `stop`, there is no verdict; or `warn`.
    mixed
        What becomes of units in two variants: `drop`, or `error`.
    missing
        What becomes of a value that is missing: `error`; `drop`, the unit is left out of that
        metric, also if it has a value in other rows; or `zero`.
    before
        Of a log: the log of the same users before the experiment; its measures are covariates.
    theta
        Coefficient of a covariate: `pooled` over all units, or over units `within` variants.
    lift
        Limits of lifts: `log`, `linear` or `fieller`.
    errors
        `delta`, Welch's test by the delta method; `permutation` of its statistic, with the interval
        of the lift by Fieller's method; `auto`, which is `permutation` for fewer than 10 units in a
        variant, for a variant without variance, and for a metric whose difference has a skewness
        above :math:`1/\sqrt{355}`, and else `delta`; or `bootstrap` over units, with percentile
        intervals. Permutations assume that a treatment without effect on
        the mean has none on the distribution.
    correction
        For all metrics and variants together: `holm`, `bonferroni`, `bh`, `by`, `none`.
    alpha
        Significance level.
    segments
        Columns of which each level is analysed too, with a test that levels differ.
    time
        Column of the time of a unit: sample ratios by day, and the order of looks. A unit with
        several rows has the time, and the segments, of its earliest one.
    sequential
        `CS(tuned=5000)` or `mSPRT(tau=0.1)`: p-values and limits that hold at every look, as in
        :func:`always_valid`. tau is in the unit of the metric.
    looks
        Numbers of units at which one looks, in order of time; by default at the end.
    oec
        Weights of metrics in an overall evaluation criterion: the sum of means by the standard
        deviation of a unit of the control, with a minus where `down` is good (Roy, 2001).
    resamples, draws, seed
        Number of permutations or bootstrap resamples; `poisson` or `multinomial` weights of units
        in the bootstrap; the seed.

    Returns
    -------
    ExperimentReport
        Arrays by metric and variant.

    Raises
    ------
    PolicyError
        For an option that there is not, or out of its range; for variants of which none is the
        control by its name, where `control` does not say it; and without a unit, if another column
        says that rows are not units: ids of users that repeat, numbers of users, labels that occur
        once in each variant, or values that repeat within one variant only.
    InputError
        For a column that is not there, or values that are no numbers.
    CranfieldError
        For one variant, or a variant without two units.

    Examples
    --------
    >>> table = {
    ...     "variant": ["control"] * 4 + ["treatment"] * 4,
    ...     "clicks": [1, 0, 2, 1, 3, 2, 2, 4],
    ...     "pages": [4, 3, 5, 4, 4, 4, 5, 5],
    ... }
    >>> found = analyse_experiment(table, {"ctr": "clicks/pages"})
    >>> found.tests, found.pvalues.round(4).tolist()
    ((('exact permutation',),), [[0.0571]])
    """
    check_several("looks", looks)
    check_several("segments", segments)
    check_choice("srm", srm, SRM)
    control = None if control is None else str(control)
    method = None if sequential is None else parse_sequential(sequential)
    how = How(theta, lift, errors, correction, alpha, method, looks, resamples, draws, seed)
    named = read_metrics(metrics)
    shares = None if weights is None else checked_weights(weights)
    variants = None if shares is None else tuple(shares)
    if isinstance(data, (QueryLog, UnitSums)):
        if segments or time is not None:
            raise PolicyError("segments and time are columns of a table of units")
        named = directed(named)
        units = units_of_log(
            data,
            named,
            unit=unit or "user",
            before=before,
            mixed=mixed,
            control=control,
            variants=variants,
        )
    else:
        if before is not None:
            raise PolicyError("before is of a log; in a table a covariate is a column")
        units = read_units(
            data,
            named,
            variant=variant,
            unit=unit,
            control=control,
            variants=variants,
            segments=segments,
            time=time,
            mixed=mixed,
            missing=missing,
        )
    return reported(units, named, how, shares, srm=srm, segments=segments, oec=oec)


def reported(
    units: Units,
    metrics: Mapping[str, Metric],
    how: How,
    weights: Mapping[str, float] | None,
    *,
    srm: str,
    segments: Sequence[str],
    oec: Mapping[str, float] | None,
) -> ExperimentReport:
    """Analyse units that were read."""
    if len(units.variants) < 2:
        raise CranfieldError(f"{units.source}: an experiment has two variants, not one")
    for name, count in units.counts.items():
        if count < 2:
            raise CranfieldError(f"variant {quoted(name)} has fewer than two units")
    given = None if weights is None else {name: weights[name] for name in units.variants}
    checks = sample_ratio(units.counts, given)
    by_level = sample_ratios(units, checks.expected / checks.counts.sum())
    stopped = srm == "stop" and (checks.alarm or bool((by_level["adjusted_p"] < ALARM).any()))
    found = moments(units.columns, units.arm, (len(units.variants),))
    arms = {name: arm_means(found, one, how.theta) for name, one in units.placed.items()}
    if oec is not None:
        arms[OEC] = overall(found, arms, metrics, oec)
    others = range(1, len(units.variants))
    effects = {(name, j): Effects.of(arms[name], 0, j) for name in arms for j in others}
    shape = (len(arms), len(others))
    result = compared(units, arms, effects, found.together(-1), how)
    by_segment, apart, notes = None, None, units.notes
    notes += tuple(_notes_on_few_units(units, result))
    notes += tuple(_notes_on_constants(units, arms, effects, result))
    notes += tuple(_notes_on_skewness(units, metrics, result, how))
    if segments and not stopped:
        by_segment, apart = effects_by_segment(units, segments, how)
        notes += tuple(_notes_on_segments(result, by_segment, how))
    # What is not to be trusted is not shown; a standardised sum has no lift.
    shown = np.nan if stopped else 1.0
    lifted = np.where([[name == OEC] for name in arms], np.nan, 1.0)
    family = np.broadcast_to(np.isnan(lifted), shape)
    together = np.empty(shape)
    for one in (family, ~family):
        together[one] = adjusted(result.pvalues[one], how.correction)
    mean_low, mean_high = arm_limits(units, arms, 1 - how.alpha)

    def each(values: Iterable[Floats | float]) -> Floats:
        return np.array(list(values), dtype=np.float64).reshape(shape)

    margins = (
        not_worse(one, metrics.get(pair[0]), result.permutations.get(pair), how)
        for pair, one in effects.items()
    )
    return ExperimentReport(
        source=units.source,
        unit=units.kind,
        variants=units.variants,
        metrics=tuple(arms),
        sample_ratio=checks,
        sample_ratios=by_level,
        units=found.count.astype(np.intp),
        means=np.stack([one.value for one in arms.values()]),
        mean_low=mean_low * shown,
        mean_high=mean_high * shown,
        difference=each(one.difference for one in effects.values()),
        error=each(one.error for one in effects.values()),
        low=result.low * shown,
        high=result.high * shown,
        lift=each(one.lift for one in effects.values()) * lifted,
        lift_low=result.lift_low * lifted * shown,
        lift_high=result.lift_high * lifted * shown,
        pvalues=result.pvalues * shown,
        adjusted_pvalues=together * shown,
        not_worse=each(margins) * shown,
        good=tuple(metrics[name].good or "up" if name in metrics else "up" for name in arms),
        margins=tuple(metrics[name].margin if name in metrics else None for name in arms),
        tests=tuple(tuple(result.tests[name, j] for j in others) for name in arms),
        alpha=how.alpha,
        correction=how.correction,
        lift_method=how.lift,
        errors=how.errors,
        theta=how.theta,
        sequential="" if how.sequential is None else str(how.sequential),
        looks=None if stopped else result.looks,
        segments=by_segment,
        interactions=apart,
        stopped=stopped,
        resamples=how.resamples if {"bootstrap", "permutation"} & {*result.tests.values()} else 0,
        seed=how.seed,
        notes=notes,
    )


def _notes_on_few_units(units: Units, result: Compared) -> list[str]:
    few = {name: count for name, count in units.counts.items() if count < FEW}
    if not few:
        return []
    listed = ", ".join(f"{count} in {name}" for name, count in few.items())
    tests = {*result.tests.values()}
    more = "; Welch's test assumes normal values" if "delta" in tests else ""
    if name := next(iter({"bootstrap", "always valid"} & tests), ""):
        method = "a bootstrap" if name == "bootstrap" else "an always-valid method"
        more = f"; {method} is not valid and decides nothing: errors='permutation' is exact"
    return [f"few units ({listed}): only large differences can be found{more}"]


def _notes_on_constants(
    units: Units,
    arms: Mapping[str, ArmMeans],
    effects: Mapping[Pair, Effects],
    result: Compared,
) -> list[str]:
    notes = []
    for (name, j), one in effects.items():
        if one.error == 0:
            both = f"{units.variants[0]} and in {units.variants[j]}"
            exact = f"; p = {float(one.pvalue()):.2g} is that of the exact permutation test"
            notes.append(
                f"{name}: all values equal in {both}: no interval of the difference can be computed"
                + (exact if result.tests[name, j] == "exact permutation" else "")
            )
    for name, arm in arms.items():
        constant = [units.variants[k] for k in np.flatnonzero(arm.squared == 0)]
        if constant and not (name in units.placed and units.share(units.placed[name])):
            listed = ", ".join(constant)
            notes.append(f"{name}: all values equal in {listed}: no interval of the mean")
    return notes


def _notes_on_skewness(
    units: Units, metrics: Mapping[str, Metric], result: Compared, how: How
) -> list[str]:
    notes = []
    for (name, j), one in result.distortions.items():
        test = result.tests[name, j]
        if not one.matters or test == "exact permutation":
            continue
        lower, upper = one.tails(how.alpha)
        good = (metrics[name].good if name in metrics else None) or "up"
        worse, better = (lower, upper) if good == "up" else (upper, lower)
        counts = units.counts[units.variants[j]], units.counts[units.variants[0]]
        share = counts[0] / sum(counts)
        start = (
            f"{name}: skewness {one.skewness:.1f} with {share:.0%} of the units in"
            f" {units.variants[j]}: "
        )
        distorted = (
            f"without any effect Welch's test would find it worse in about {worse:.2g} and better"
            f" in about {better:.2g} of experiments, not {how.alpha / 2:g} each"
        )
        remedy = "; a permutation test keeps its level" if how.errors == "delta" else ""
        said = {
            "permutation": f"{distorted}; it is tested by permutation, exact if the variants have"
            " the same distribution",
            "delta": distorted + remedy,
            "bootstrap": "a percentile bootstrap rejects far too often to one side; a permutation"
            " test keeps its level",
            "always valid": "always-valid methods assume a nearly normal difference and may reject"
            " too often to one side; analyse more units, or cap the values",
        }
        notes.append(start + said[test])
    return notes


def _notes_on_segments(result: Compared, segments: pl.DataFrame, how: How) -> list[str]:
    if how.sequential is not None:
        return ["p-values and intervals by segment are for one look"]
    notes = []
    if segments["p"].has_nulls() or segments["p"].is_nan().any():
        notes.append(
            f"levels with fewer than {FEW} units in a variant, or without variance in one, are not"
            " tested"
        )
    if {"bootstrap", "permutation", "exact permutation"} & {*result.tests.values()}:
        notes.append("p-values and intervals by segment are those of Welch's test")
    skewed = dict.fromkeys(name for (name, _), one in result.distortions.items() if one.matters)
    if skewed:
        notes.append(f"skewness distorts the tests by segment of {', '.join(skewed)}")
    return notes
