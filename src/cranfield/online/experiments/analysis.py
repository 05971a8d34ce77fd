"""Analyse experiments by the unit of randomisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_list,
    find_command_option,
    quote,
)
from cranfield.base.kinds import Integer, Numbers, OneOf, UnitInterval, check_arguments
from cranfield.online.experiments.comparisons import (
    LIFT_INTERVALS_BY_TEST,
    OEC,
    TEST_METHODS,
    ComparisonRow,
    ExperimentOptions,
    combine_metrics,
    compare_variants,
    compute_arm_intervals,
)
from cranfield.online.experiments.design import check_weights, compute_chi_square
from cranfield.online.experiments.estimates import (
    BOOTSTRAP_WEIGHTS,
    INFERENCE,
    LIFT_METHODS,
    MIN_UNITS,
    SEQUENTIAL,
    THETAS,
    ArmMeans,
    CriticalValue,
    Effects,
    Metric,
    MetricColumns,
    Moments,
    Sequential,
    compute_moments,
    estimate_arms,
    read_metrics,
)
from cranfield.online.experiments.report import ALARM_PVALUE, ExperimentReport, sample_ratio
from cranfield.online.experiments.units import (
    MISSING_POLICIES,
    MIXED_POLICIES,
    Units,
    read_log_units,
    read_units,
    set_directions,
)
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.measuring import UnitSums
from cranfield.scores.one_measure import suggests_lower
from cranfield.significance.comparison.equivalence import read_margin
from cranfield.significance.corrections.pvalue_corrections import ADJUSTMENTS, adjust_pvalues
from cranfield.significance.differences import compute_t_quantile
from cranfield.tabular import format_pvalue

SRM_POLICIES = ("stop", "warn")  # How to treat a sample ratio mismatch


def _test_sample_ratios(units: Units, proportions: Floats) -> pl.DataFrame:
    """Test the sample ratio at each level of each segment by chi-square, with Holm's correction."""
    rows: list[Any] = []
    n_variants = len(units.variants)
    for segment, (levels, code) in units.segments.items():
        has_level = code >= 0
        cells = code[has_level] * n_variants + units.variant_codes[has_level]
        counts = np.bincount(cells, minlength=len(levels) * n_variants).reshape(-1, n_variants)
        totals = counts.sum(axis=1)
        is_small = totals * proportions.min() < 5  # Too few expected units in a variant to test
        pvalues = np.where(is_small, np.nan, compute_chi_square(counts, proportions)[1])
        columns = (levels, totals.tolist(), pvalues, adjust_pvalues(pvalues))
        rows += [(segment, *row) for row in zip(*columns, strict=True)]
    types = (pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64)
    schema = dict(zip(ExperimentReport.columns["sample-ratios"], types, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _estimate_segment_effects(
    units: Units, options: ExperimentOptions
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Estimate effects at each level, and test whether effects are equal at all tested levels."""
    n_variants = len(units.variants)
    frames, tests = [], []
    critical_value: CriticalValue = partial(compute_t_quantile, 1 - options.alpha)
    for segment in options.segments:
        levels, code = units.segments[segment]
        cell = np.where(code >= 0, code * n_variants + units.variant_codes, -1)
        level_moments = compute_moments(units.columns, cell, (len(levels), n_variants))
        for name, metric in units.metric_columns.items():
            means = estimate_arms(level_moments, metric, options.theta)
            for k, variant in enumerate(units.variants[1:], 1):
                effects = Effects.from_arms(means, k)
                is_tested = ~(effects.has_few_units | effects.is_constant)
                inference = effects.compute_inference(critical_value, options.lift)
                values = np.where(is_tested, inference, np.nan)
                columns = {
                    "segment": segment,
                    "level": pl.Series(levels, dtype=pl.String),
                    "metric": name,
                    "variant": variant,
                    "units": effects.n_units.astype(np.int64),
                    "difference": effects.difference,
                    "lift": effects.lift,
                }
                frames.append(pl.DataFrame(columns | dict(zip(INFERENCE, values, strict=True))))
                tests.append((segment, name, variant, *_test_heterogeneity(effects, is_tested)))
    schema: dict[str, Any] = dict.fromkeys(("segment", "metric", "variant"), pl.String)
    schema |= {"statistic": pl.Float64, "df": pl.Int64, "p": pl.Float64}
    method = options.correction
    by_segment, interactions = pl.concat(frames), pl.DataFrame(tests, schema=schema, orient="row")
    by_segment, interactions = (
        table.with_columns(pl.Series("adjusted p", adjust_pvalues(table["p"].to_numpy(), method)))
        for table in (by_segment, interactions)
    )
    return by_segment.select(list(ExperimentReport.columns["segments"])), interactions


def _test_heterogeneity(effects: Effects, is_tested: Bools) -> tuple[float, int, float]:
    """Compute Cochran's Q (1954), its degrees of freedom and its p-value (chi-square)."""
    is_usable = np.isfinite(effects.standard_error) & is_tested
    if is_usable.sum() < 2:
        return np.nan, 0, np.nan
    weight, difference = 1 / effects.standard_error[is_usable] ** 2, effects.difference[is_usable]
    mean = (weight * difference).sum() / weight.sum()
    statistic, df = float((weight * (difference - mean) ** 2).sum()), int(is_usable.sum()) - 1
    return statistic, df, float(chdtrc(df, statistic))


def analyse_experiment(
    data: Any,
    metrics: Any,
    *,
    unit: str | None = None,
    variant: str = "variant",
    control: str | int | None = None,
    weights: Mapping[str, float] | Mapping[int, float] | Sequence[str] | None = None,
    srm: Annotated[str, OneOf(SRM_POLICIES)] = "stop",
    mixed: Annotated[str, OneOf(MIXED_POLICIES)] = "drop",
    missing: Annotated[str, OneOf(MISSING_POLICIES)] = "error",
    before: Any = None,
    theta: Annotated[str, OneOf(THETAS)] = "pooled",
    lift: Annotated[str, OneOf(LIFT_METHODS)] = "log",
    errors: Annotated[str, OneOf(TEST_METHODS)] = "auto",
    correction: Annotated[str, OneOf(tuple(ADJUSTMENTS))] = "holm",
    alpha: Annotated[float, UnitInterval()] = 0.05,
    segments: Sequence[str] = (),
    time: str | None = None,
    sequential: str | Sequential | None = None,
    looks: Annotated[Sequence[int] | None, Numbers()] = None,
    oec: Mapping[str, float] | None = None,
    resamples: Annotated[int, Integer(1, 10**6)] = 2000,
    draws: Annotated[str, OneOf(BOOTSTRAP_WEIGHTS)] = "poisson",
    seed: Annotated[int, Integer(0)] = 0,
) -> ExperimentReport:
    r"""Analyse an A/B test: check validity first, then report effects.

    Units are the randomised objects, such as users. A metric is a mean over units, or a ratio of
    two means such as clicks per page, whose standard error is computed over units by the delta
    method: testing clicks page by page where users were randomised would assume that pages of a
    user are independent, and reject far more often than alpha.

    The p-value is from Welch's test. If a metric is skewed and the split is unequal, this test
    rejects too often in one tail; with few units, or a variant without variance, its Type I error
    rate is unknown. In these cases, a permutation test of the same statistic is used by default,
    with all permutations if there are at most 50,000; see the attribute `tests`. The interval of
    the lift, the difference relative to the mean of the control, is computed on the log scale, or
    by the method `linear` or `fieller`. A covariate from before the experiment adjusts a mean
    (CUPED). By default, results are withheld if the numbers of units are not as planned: a sample
    ratio mismatch at p < .0005 overall, or, after Holm's correction, on a day or at a level of a
    segment.

    Sources: Kohavi, Tang and Xu (2020); Deng et al. (2013, 2018); Fabijan et al. (2019); on
    skewness, Boos and Hughes-Oliver (2000) and Kohavi et al. (2014); on permutations, Janssen
    (1997) and Chung and Romano (2013).

    Parameters
    ----------
    data
        A table with one row per unit, or with several rows per `unit`, which are summed: a file, a
        data frame or a mapping of columns. Or a :class:`QueryLog`, or sums of its measures by unit.
    metrics
        Columns of numbers or booleans by name of the metric, such as `{"revenue": "revenue",
        "ctr": "clicks/pages"}`, or a :class:`Metric` of each; for a log, measures such as `["CTR",
        "ClickRR"]`.
    unit
        Column with the unit of randomisation, or `row` if each row was randomised; for a log,
        `user` (default), `session` or `query`. By default each row of a table is a unit, and tables
        whose rows seem to be parts of a unit, or totals of many units, are refused.
    variant
        Column with the variant of a unit, in a table. Rows without a variant are excluded.
    control
        Control, the variant with which the other variants are compared; by default the variant
        named `control`, or else the only variant named `baseline`, `old`, `a` or `0`, in upper or
        lower case.
    weights
        Expected proportions of units by variant; by default equal.
    srm
        How to treat a sample ratio mismatch: `stop` withholds results and verdicts; `warn` reports
        them.
    mixed
        How to treat units in more than one variant: `drop` (an error for a majority), or `error`.
    missing
        How to treat missing values of a table: `error`; `drop`, which excludes the unit from that
        metric, even if it has a value in other rows; or `zero`. With `drop` and `zero`, rows
        without the id of a unit are excluded.
    before
        For a log, an earlier log (or its sums by unit) of the same units, for covariates.
    theta
        Units from which to estimate the coefficient of a covariate: `pooled` over all variants, or
        `within` variants, which requires a covariate.
    lift
        Method for the confidence intervals of relative lifts: `log`, `linear` or `fieller`.
    errors
        Significance test of the differences. `delta`: Welch's test by the delta method.
        `permutation`: permutation test of Welch's statistic, with Fieller's interval of the lift;
        it assumes that a treatment without effect on the mean has no effect on the distribution.
        `auto`: `permutation` for fewer than 10 units in a variant, a variant without variance, or a
        difference with an absolute skewness above :math:`1/\sqrt{355}`; otherwise `delta`.
        `bootstrap`: bootstrap over units, with percentile intervals. The OEC is not tested by
        permutation.
    correction
        Correction for multiple comparisons, over all metrics and variants, separately for the OEC:
        `holm`, `hommel`, `bonferroni`, `sidak`, `bh`, `by`, `none`.
    alpha
        Significance level.
    segments
        Columns whose levels are analysed separately, with a test of equal effects at all levels.
    time
        Column with the time of a unit, for sample ratios by day and the order of looks. A unit with
        several rows has the time, and the segments, of its earliest row.
    sequential
        Method whose p-values and intervals are valid at every look, such as `CS(tuned=5000)`, or
        `mSPRT(tau=0.1)` with tau in the unit of the metric. See :func:`always_valid_inference`.
    looks
        Numbers of units after which the data are analysed, in order of time, with all units of the
        same time; by default the data are analysed only at the end. Requires `sequential`.
    oec
        Weights of the metrics in an overall evaluation criterion (OEC). This is the weighted sum of
        the means, each divided by the standard deviation over units of the control, with a minus
        sign if lower is better (Roy, 2001).
    resamples
        Number of permutations or bootstrap resamples of units.
    draws
        Weights of units in the bootstrap: `poisson` or `multinomial`.
    seed
        Seed of permutations and of the bootstrap.

    Returns
    -------
    ExperimentReport
        Sample ratio, means, and effects by metric and variant.

    Raises
    ------
    PolicyError
        For an option that is unknown, out of its range, or without effect; if `control` is not set
        and cannot be identified by its name; and if no unit is set, but a column shows that rows
        are not units: ids of users that repeat, numbers of users, labels that occur once in each
        variant, or values that repeat within one variant only.
    InputError
        For a missing column, values that are not numbers, units without a value unless `missing` is
        set, units in several variants that `mixed` refuses, and a table that ends in a row of
        totals or has contradictory columns of variants.
    CranfieldError
        For fewer than two variants, fewer than two units in a variant, a variant that `weights`
        lack, or a metric of `oec` that has no variance in the control.

    Examples
    --------
    >>> table = {
    ...     "variant": ["control"] * 4 + ["treatment"] * 4,
    ...     "clicks": [1, 0, 2, 1, 3, 2, 2, 4],
    ...     "pages": [4, 3, 5, 4, 4, 4, 5, 5],
    ... }
    >>> report = analyse_experiment(table, {"ctr": "clicks/pages"})
    >>> report.tests, report.pvalues.round(4).tolist()
    ((('exact permutation',),), [[0.0571]])
    """
    arguments = check_arguments(analyse_experiment, locals())
    check_list("segments", segments)
    check_list("weights", weights)
    if looks is not None and sequential is None:
        raise PolicyError("looks=... requires sequential, such as sequential='CS(tuned=5000)'")
    if sequential is not None and errors in ("bootstrap", "permutation"):
        raise PolicyError(f"sequential cannot be combined with errors={errors!r}")
    control = None if control is None else str(control)
    # By segment, effects are always tested by Welch's test.
    if lift not in LIFT_INTERVALS_BY_TEST.get(errors, LIFT_METHODS) and not segments:
        raise PolicyError(f"lift={lift!r} cannot be combined with errors={errors!r}")
    method = None if sequential is None else SEQUENTIAL.parse(sequential)
    names = {field.name for field in fields(ExperimentOptions)}
    values = {name: value for name, value in arguments.items() if name in names}
    options = ExperimentOptions(**values | {"sequential": method})
    metrics = read_metrics(metrics)
    has_covariate = before is not None or any(metric.covariate for metric in metrics.values())
    if theta != "pooled" and not has_covariate:
        raise PolicyError(f"theta={theta!r} requires a covariate")
    proportions = None if weights is None else check_weights(weights)
    variants = None if proportions is None else tuple(proportions)
    read_options: dict[str, Any] = {"control": control, "variants": variants, "mixed": mixed}
    if isinstance(data, (QueryLog, UnitSums)):
        table_options = {"segments": bool(segments), "time": time is not None}
        table_options |= {"variant": variant != "variant", "missing": missing != "error"}
        for name, is_set in table_options.items():
            if is_set:
                raise PolicyError(f"{name} requires a table of units, got a log")
        metrics = set_directions(metrics)
        read_options["is_ordered"] = looks is not None
        units = read_log_units(data, metrics, unit=unit or "user", before=before, **read_options)
    elif before is not None:
        remedy = "for a table, set the covariate of a metric: Metric(..., covariate=...)"
        raise PolicyError(f"before requires a log; {remedy}")
    else:
        read_options |= {"segments": segments, "time": time, "missing": missing}
        units = read_units(data, metrics, variant=variant, unit=unit, **read_options)
        if looks is not None and time is None:
            notes = (*units.notes, "looks are in the order of rows, because time is not set")
            units = replace(units, notes=notes)
    return analyse_units(units, metrics, options, proportions)


def analyse_units(
    units: Units,
    metrics: Mapping[str, Metric],
    options: ExperimentOptions,
    weights: Mapping[str, float] | None,
) -> ExperimentReport:
    """Check the sample ratio, and compare each variant with the control on each metric."""
    if len(units.variants) < 2:
        causes = "; ".join(["expected at least two variants, got one", *units.notes])
        raise CranfieldError(f"{units.source}: {causes}")
    for name, count in units.counts.items():
        if count < 2:
            size = f"{count} in variant {quote(name)}"
            raise CranfieldError(f"expected at least two units per variant, got {size}")
    proportions = None if weights is None else {name: weights[name] for name in units.variants}
    ratio_test = sample_ratio(units.counts, proportions)
    level_ratios = _test_sample_ratios(units, ratio_test.expected_proportion)
    has_mismatch = ratio_test.is_mismatch or bool((level_ratios["adjusted_p"] < ALARM_PVALUE).any())
    is_stopped = has_mismatch and options.srm == "stop"
    arm_moments, metric_columns = units.compute_moments(), units.metric_columns
    arm_means = {k: estimate_arms(arm_moments, c, options.theta) for k, c in metric_columns.items()}
    if options.oec is not None:
        arm_means[OEC] = combine_metrics(arm_moments, arm_means, metrics, options.oec)
    rows, looks = compare_variants(units, arm_means, metrics, arm_moments.pool(), options)
    notes = [*units.notes, *_note_covariates(arm_moments, metric_columns, metrics, arm_means)]
    notes += [*_note_few_units(units, rows), *_note_margins(metrics, rows)]
    notes += [*_note_constants(units, arm_means, rows), *_note_undefined(units, arm_means, rows)]
    n_units = len(units.variant_codes)
    if future_looks := [f"{look:,}" for look in options.looks or () if look > n_units]:
        reason = f"the data has {n_units:,} units, so these looks were not reached"
        notes.append(f"{reason}: {', '.join(future_looks)}")
    sizes: Sequence[int] = [] if looks is None else looks["units"].to_list()
    if moved_looks := [f"{k:,}" for k in options.looks or () if k < n_units and k not in sizes]:
        reason = "are made after all units of the same time, because their order is unknown"
        notes.append(f"looks at {', '.join(moved_looks)} units {reason}")
    notes += _note_skewness(units, metrics, rows, options)
    if options.lift == "linear" and any("permutation" in row["test"] for row in rows):
        effect = "has no effect on metrics tested by permutation; their intervals are Fieller's"
        notes.append(f"lift='linear' {effect}")
    by_segment = interactions = None
    if options.segments and not is_stopped:
        by_segment, interactions = _estimate_segment_effects(units, options)
        notes += _note_segments(rows, by_segment, options)
    mean_low, mean_high = compute_arm_intervals(units, arm_means, 1 - options.alpha)
    table = _tabulate_comparisons(rows, metrics, options, is_stopped)
    notes += [*_note_intervals(table, options), *_note_directions(table, metrics)]
    if is_stopped:
        # Results are withheld, because they cannot be trusted.
        mean_low, mean_high, looks = mean_low * np.nan, mean_high * np.nan, None
    if not {"bootstrap", "permutation"} & {row["test"] for row in rows}:
        options = replace(options, resamples=0)
    if all(columns.covariate < 0 for columns in metric_columns.values()):
        options = replace(options, theta="")
    return ExperimentReport(
        source=units.source,
        unit=units.kind,
        variants=units.variants,
        metrics=tuple(arm_means),
        margins=tuple(metrics[name].margin if name in metrics else None for name in arm_means),
        lower_is_better=tuple(name for name in metrics if metrics[name].better == "lower"),
        sample_ratio=ratio_test,
        units=arm_moments.n_units.astype(np.intp),
        means=np.stack([means.value for means in arm_means.values()]),
        mean_low=mean_low,
        mean_high=mean_high,
        comparisons=table.drop("reversed"),
        sample_ratios=level_ratios,
        segments=by_segment,
        interactions=interactions,
        looks=looks,
        options=options,
        is_stopped=is_stopped,
        notes=tuple(notes),
    )


def _note_covariates(
    arm_moments: Moments,
    columns: Mapping[str, MetricColumns],
    metrics: Mapping[str, Metric],
    arm_means: Mapping[str, ArmMeans],
) -> Iterator[str]:
    """Note the covariate of each metric, and its effect on the variance of the means."""
    scatter = arm_moments.pool().scatter
    for name, metric in columns.items():
        if metric.covariate < 0:
            continue
        parts = [metric.covariate, metric.covariate_denominator]
        if (scatter[parts, parts] == 0).all():
            yield f"{name}: the covariate has no effect, because it is equal in all units"
            continue
        covariate = "/".join(filter(None, metrics[name].list_columns()[2:]))
        variance = estimate_arms(arm_moments, replace(metric, covariate=-1)).squared_error.sum()
        if variance > 0 and (arm_means[name].squared_error == 0).all():
            reason = "determines the values of the metric; use values from before the experiment"
            yield f"{name}: the covariate {covariate} {reason}"
        elif variance > 0:
            change = arm_means[name].squared_error.sum() / variance - 1
            yield (
                f"{name}: means are adjusted for {covariate or f'{name} before the experiment'},"
                f" which changes their variance by {round(change, 3) + 0.0:+.1%}"
            )


def _note_directions(table: pl.DataFrame, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Return notes on metrics without a direction whose name suggests that lower is better."""
    has_direction = pl.col("verdict").is_in(["better", "worse", "not worse"])
    for name in table.filter(has_direction)["metric"].unique(maintain_order=True):
        metric = metrics.get(name)
        if metric is None or metric.better is not None:
            continue
        if suggests_lower(name) or suggests_lower(metric.list_columns()[0]):
            option = find_command_option(f"lower_is_better={name!r}")
            option = option or "Metric(..., better='lower')"
            yield f"{name}: higher values are treated as better; if lower is better, set {option}"


def _tabulate_comparisons(
    rows: Sequence[ComparisonRow],
    metrics: Mapping[str, Metric],
    options: ExperimentOptions,
    is_stopped: bool,
) -> pl.DataFrame:
    table = pl.DataFrame([{k: v for k, v in row.items() if k != "distortion"} for row in rows])
    pvalues, adjusted_p = table["p"].to_numpy(), np.empty(table.height)
    is_overall = (table["metric"] == OEC).to_numpy()
    for family in (is_overall, ~is_overall):
        adjusted_p[family] = adjust_pvalues(pvalues[family], options.correction)
    table = table.with_columns(pl.Series("adjusted p", adjusted_p))
    if is_stopped:
        table = table.with_columns(pl.col(*INFERENCE, "adjusted p", "noninferiority p") * np.nan)
    lower_is_better = {name for name, metric in metrics.items() if metric.better == "lower"}
    is_significant = pl.col("adjusted p").is_not_nan() & (pl.col("adjusted p") <= options.alpha)
    is_gain = (pl.col("difference") > 0) != pl.col("metric").is_in(lower_is_better)
    # A bound of a two-sided interval of level 1 - alpha is a one-sided bound at alpha / 2.
    noninferiority_p = pl.col("noninferiority p")
    is_not_worse = noninferiority_p.is_not_nan() & (noninferiority_p <= options.alpha / 2)
    direction = pl.when(is_gain).then(pl.lit("better")).otherwise(pl.lit("worse"))
    fallback = pl.when(is_not_worse).then(pl.lit("not worse")).otherwise(pl.lit("undecided"))
    direction = pl.when("reversed").then(pl.lit("undecided")).otherwise(direction)
    verdict = pl.when(is_significant).then(direction).otherwise(fallback)
    return table.with_columns(verdict=pl.lit("no verdict") if is_stopped else verdict)


def _note_intervals(table: pl.DataFrame, options: ExperimentOptions) -> Iterator[str]:
    """Return notes on comparisons whose test and confidence interval disagree."""
    low, high, lift_low, lift_high = (pl.col(name) for name in INFERENCE[:4])
    is_zero_excluded = (low > 0) | (high < 0) | (lift_low > 0) | (lift_high < 0)
    is_zero_contained = ((low <= 0) & (high >= 0)) | ((lift_low <= 0) & (lift_high >= 0))
    is_significant = pl.col("adjusted p") <= options.alpha
    is_corrected = ~is_significant & (pl.col("p") <= options.alpha)
    cases = {
        f"not significant after the correction {options.correction}, though the unadjusted"
        " confidence interval excludes 0": is_zero_excluded & is_corrected,
        "not significant, though a confidence interval excludes 0; see the p-value": (
            is_zero_excluded & ~is_significant & ~is_corrected
        ),
        "significant, though a confidence interval contains 0; see the p-value": (
            is_zero_contained & is_significant & ~pl.col("reversed")
        ),
        "undecided, because the difference was significant at an earlier look in the opposite"
        " direction": is_significant & pl.col("reversed"),
    }
    rows = table.filter(pl.col("adjusted p").is_not_nan()).fill_nan(None)
    for reason, condition in cases.items():
        if pairs := rows.filter(condition).select("metric", "variant").rows():
            yield f"{', '.join(f'{metric} of {variant}' for metric, variant in pairs)}: {reason}"


def _note_few_units(units: Units, rows: Sequence[ComparisonRow]) -> list[str]:
    small_variants = [f"{n} in {name}" for name, n in units.counts.items() if n < MIN_UNITS]
    if not small_variants:
        return []
    tests = {row["test"] for row in rows}
    remark = "; Welch's test assumes normal values" if "delta" in tests else ""
    for test, method in (("bootstrap", "a bootstrap"), ("always valid", "an always-valid method")):
        if test in tests:
            remark = f"; {method} is not valid, so no test is made; use errors='permutation'"
    sizes = ", ".join(small_variants)
    return [f"few units ({sizes}): only large differences can be detected{remark}"]


def _note_margins(metrics: Mapping[str, Metric], rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Return notes on margins above the mean of the control, which may lack a percent sign."""
    means = {row["metric"]: abs(row["control mean"]) for row in rows if row["metric"] in metrics}
    for name, mean in means.items():
        if (margin := metrics[name].margin) is None:
            continue
        size, is_percentage = read_margin(margin)
        if not is_percentage and size > mean:
            problem = f"the margin {size:g} is larger than the mean of the control, {mean:.4g}"
            yield f"{name}: {problem}; if it is a percentage, write '{size:g}%'"


def _note_constants(
    units: Units, arm_means: Mapping[str, ArmMeans], rows: Sequence[ComparisonRow]
) -> Iterator[str]:
    for row in rows:
        if row["error"] == 0:
            pvalue = f"p = {format_pvalue(row['p'])} is from the exact permutation test"
            origin = f"; {pvalue}" if row["test"] == "exact permutation" else ""
            reason = f"all values are equal in {units.variants[0]} and in {row['variant']}{origin}"
            yield f"{row['metric']}: no confidence interval of the difference, because {reason}"
    for name, arm in arm_means.items():
        constants = ", ".join(units.variants[k] for k in np.flatnonzero(arm.squared_error == 0))
        columns = units.metric_columns.get(name)
        if constants and not (columns is not None and units.is_proportion(columns)):
            cause = f"all values are equal in {constants}"
            yield f"{name}: no confidence interval of the mean, because {cause}"


def _note_undefined(
    units: Units, arm_means: Mapping[str, ArmMeans], rows: Sequence[ComparisonRow]
) -> Iterator[str]:
    """Return notes on ratios and lifts that cannot be computed or interpreted."""
    for name, arm in arm_means.items():
        if variants := ", ".join(units.variants[k] for k in np.flatnonzero(np.isnan(arm.value))):
            yield f"{name}: no mean in {variants}: a denominator is 0, or all values are missing"
    for row in rows:
        if np.isnan(row["lift"]):
            continue
        if row["control mean"] < 0:
            reason = "the mean of the control is below 0, so a positive lift is a decrease"
            yield f"{row['metric']} of {row['variant']}: {reason}"
        if row["mean"] == 0 and np.isnan(row["lift low"]) and row["error"] > 0:
            reason = f"the mean of {row['variant']} is 0"
            yield f"{row['metric']}: no confidence interval of the lift, because {reason}"


def _note_skewness(
    units: Units,
    metrics: Mapping[str, Metric],
    rows: Sequence[ComparisonRow],
    options: ExperimentOptions,
) -> Iterator[str]:
    for row in rows:
        name, variant, distortion = row["metric"], row["variant"], row["distortion"]
        if not distortion.is_large or row["test"] == "exact permutation":
            continue
        lower, upper = distortion.compute_tail_probabilities(options.alpha)
        is_lower_better = name in metrics and metrics[name].better == "lower"
        p_worse, p_better = (upper, lower) if is_lower_better else (lower, upper)
        n_treated, n_control = (units.counts[arm] for arm in (variant, units.variants[0]))
        effect = (
            f"without any effect, Welch's test would find {variant} significantly worse with"
            f" probability {p_worse:.2g} and better with {p_better:.2g}, instead of"
            f" {options.alpha / 2:g} each"
        )
        remedy = "; errors='permutation' keeps the level" if options.errors == "delta" else ""
        consequence = {
            "permutation": f"{effect}; the metric is tested by permutation, which is exact if the"
            " variants have the same distribution",
            "delta": effect + remedy,
            "bootstrap": "a percentile bootstrap rejects far too often in one tail;"
            " errors='permutation' keeps the level",
            "always valid": "always-valid methods assume a nearly normal difference and may reject"
            " too often in one tail; analyse more units, or cap the values",
        }[row["test"]]
        split = f"{n_treated / (n_treated + n_control):.0%} of the units in {variant}"
        yield f"{name}: skewness {distortion.skewness:.1f} with {split}: {consequence}"


def _note_segments(
    rows: Sequence[ComparisonRow], segments: pl.DataFrame, options: ExperimentOptions
) -> Iterator[str]:
    if options.sequential is not None:
        yield "p-values and intervals by segment are not adjusted for several looks"
        return
    if segments["p"].has_nulls() or segments["p"].is_nan().any():
        condition = f"a variant has fewer than {MIN_UNITS} units or no variance"
        yield f"levels of segments are not tested if {condition}"
    if {"bootstrap", "permutation", "exact permutation"} & {row["test"] for row in rows}:
        yield "p-values and intervals by segment are from Welch's test"
    if metrics := dict.fromkeys(row["metric"] for row in rows if row["distortion"].is_large):
        effect = "their tests by segment may reject too often in one tail"
        yield f"skewed metrics: {', '.join(metrics)}; {effect}"
