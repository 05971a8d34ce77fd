"""Compare systems by a significance test, with a correction for multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from cranfield.base.arrays import Floats, slice_rows
from cranfield.base.errors import PolicyError, warn
from cranfield.base.kinds import Integer, OneOf
from cranfield.scores import Scores
from cranfield.significance.comparison.rank_sets import RankSets
from cranfield.significance.comparison.result import (
    AppliedTest,
    PairwiseComparison,
    describe_best_baseline,
    describe_inputs,
)
from cranfield.significance.corrections.resampled import (
    BLOCK_MEANS,
    PooledErrors,
    compute_max_statistic_pvalues,
    divide_by_errors,
)
from cranfield.significance.differences import (
    Bounds,
    IntervalFunction,
    Level,
    Pairs,
    SystemModel,
    make_pairs,
    pair_all,
)
from cranfield.significance.pairwise.means import apply_exact_permutations
from cranfield.significance.prepare import (
    MEDIAN_TEST,
    PreparedScores,
    as_scores,
    choose_statistic,
    find_baselines,
    invert_transformation,
    name_interval,
    prepare_scores,
    transform_scores,
)
from cranfield.significance.registry import (
    ALTERNATIVES,
    CORRECTIONS,
    DEFAULT_CORRECTION,
    MISSING,
    RESAMPLES,
    TESTS,
    TOPIC_STATISTICS,
    Correction,
    Test,
    TestInfo,
    TestOptions,
    find_test,
    get_default_test,
)
from cranfield.significance.resampling import draw_topic_counts


def compare(
    scores: Any,
    *,
    test: str | None = None,
    correction: str | None = None,
    statistic: Annotated[str | None, OneOf(TOPIC_STATISTICS)] = None,
    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided",
    alpha: float = 0.05,
    baseline: str | int | Sequence[str | int] | None = None,
    missing: Annotated[str | None, OneOf(MISSING)] = None,
    lower_is_better: bool | None = None,
    exact: bool | None = None,
    exact_n: int = 25,
    resamples: Annotated[int, Integer(1)] = RESAMPLES,
    seed: Annotated[int, Integer(0)] = 0,
    threshold: float = 0.0,
    jobs: int | None = None,
) -> PairwiseComparison:
    """Compare all pairs of systems, or all systems with a baseline.

    Parameters
    ----------
    scores
        :class:`Scores` of one measure, such as `evaluation["AP"]` or the result of
        :func:`read_scores`; an evaluation of one measure; a mapping of systems to their scores, by
        topic or as lists in order of topics; a data frame; or an array of shape (topics, systems).
    test
        Significance test: `sign`, `signed-rank`, `rank-sum`, `t`, `t-unpaired`, `welch`,
        `randomisation`, `bootstrap`, `bootstrap-shift`, `bootstrap-median`, `bootstrap-unpaired`,
        `anova-1`, `anova-2` (also `anova`), `anova-3`, `random-topics`, `kruskal-wallis`,
        `friedman`, `bootstrap-anova`, `independent-replicates` or `shared-replicates`. By default
        two-way ANOVA; for two systems the studentised bootstrap, which for one pair equals two-way
        ANOVA bootstrapped over topics; for scores by shard, or by query variation, ANOVA with
        random topics; for medians `bootstrap-median`. Scores by replicate require a test.
    correction
        Correction for multiple comparisons: `none`, `tukey`, `bootstrap-tukey`, `randomised-tukey`,
        `dunnett`, `max-t`, `bootstrap-max-t`, `bootstrap-max`, `bonferroni`, `sidak`, `holm`,
        `hommel`, `bh` or `by`. By default `none` for a single pair, except in tests that fit a
        model to all systems; Tukey's HSD bootstrapped over topics for `anova-2`, `random-topics`
        and `independent-replicates`; for other models of all systems Tukey's HSD, or in an ANOVA
        with one baseline Dunnett's test; the randomised Tukey HSD for the randomisation test,
        bootstrap max-T for the test `bootstrap`, `bootstrap-max` for medians, Benjamini and
        Hochberg's method for bootstrap ANOVA; and Holm's method for other tests, and where these
        corrections do not apply (baselines, one-sided tests, or unequal numbers of scores).
    statistic
        Statistic of the topic scores to compare. `mean`; `sum`; `geometric-mean`, by the mean of
        log scores, where scores below 1e-5 become 1e-5; or `median`, by the test
        `bootstrap-median`. By default the median with this test, otherwise the statistic of the
        measure: the mean for most measures, the geometric mean for GMAP.
    alternative
        Alternative hypothesis. `two-sided`, `greater` (a system has higher scores than the
        baseline, or the first of two systems than the second) or `less`. One-sided tests of more
        than two systems require a baseline.
    alpha
        Significance level.
    baseline
        System or systems to compare all others with, by name or index from 0. Default: all pairs.
    missing
        How to treat topics for which a system has no score. `error`; `drop` excludes such topics;
        `zero` replaces missing scores by 0; `available` uses the available scores, for tests that
        allow it. By default unpaired tests use the available scores; other tests raise an error.
    lower_is_better
        Whether lower scores are better; by default the direction of `scores`.
    exact
        Whether to compute exact p-values, for the tests `randomisation`, `signed-rank` and
        `rank-sum`; by default the first two do so for few topics. Other tests warn and ignore it.
    exact_n
        Largest number of differences for which the signed rank test is exact by default.
    resamples
        Number of resamples, for tests and corrections that resample.
    seed
        Seed of the random numbers.
    threshold
        Largest difference of scores that the sign test treats as a tie.
    jobs
        Number of threads (results do not depend on it).

    Returns
    -------
    PairwiseComparison
        P-values, differences, effect sizes, intervals and groups, and the ANOVA table, if the test
        is an analysis of variance.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an unknown test, correction, system or option, or options that cannot be combined.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, "nDCG@20")
    >>> comparison = cf.compare(ev["nDCG@20"])
    >>> comparison.count(), list(comparison.groups().values())
    (2, ['a', 'a', 'ab', 'b'])
    """
    options = TestOptions(alternative, alpha, exact, exact_n, resamples, seed, jobs, threshold)
    score_table = as_scores(scores)
    if lower_is_better is not None:
        score_table = score_table.with_direction(lower_is_better)
    if test is None and statistic == "median":
        test = MEDIAN_TEST
    used_test = find_test(test) if test else _find_default_test(score_table, correction)
    info = used_test.info
    if info.refusal:
        raise PolicyError(
            f"{info.name} is for studies of tests only, such as `cranfield study tests`:"
            f" {info.refusal}"
        )
    if threshold and not info.has_threshold:
        names = ", ".join(name for name, t in TESTS.items() if t.info.has_threshold)
        raise PolicyError(f"threshold requires the test {names}, got {info.name}")
    statistic = choose_statistic(score_table, statistic, info.name)
    prepared_scores = prepare_scores(score_table, info, missing)
    used_scores, inputs = prepared_scores.scores, transform_scores(prepared_scores, statistic)
    baselines = find_baselines(used_scores.systems, baseline)
    pairs = make_pairs(inputs.topic_scores, baselines)
    if not (options.is_two_sided or baselines or len(pairs) == 1):
        raise PolicyError(
            f"alternative={alternative!r} requires a baseline: for all pairs, results would depend"
            " on the order of the systems"
        )
    pairs = replace(pairs, shard_scores=inputs.scores.values if used_scores.shards else None)
    selected_correction = _find_correction(info, correction, pairs, baselines, options)
    outcome = apply_exact_permutations(used_test.run(pairs, options), pairs, info, options)
    # Tests of pairs have no common error.
    model = outcome.model or SystemModel(inputs.scores.system_means(), np.nan, np.empty(0), np.inf)
    # With a common error of 0, the correction would divide differences by 0.
    has_one_error = selected_correction.assumes_one_variance or selected_correction.pools_errors
    is_applicable = not has_one_error or model.error_variance != 0
    applied_correction = selected_correction if is_applicable else CORRECTIONS["bonferroni"]
    corrected_outcome = applied_correction.run(outcome, pairs, options)
    sampling = {"resamples": options.resamples, "seed": options.seed}
    details = {**outcome.details, **(sampling if selected_correction.is_random else {})}
    _warn_of_exact(exact, details)
    means, difference, mean_kind = model.means, model.subtract(pairs), model.location
    notes = list(inputs.notes)
    if len(baselines) > 1:
        notes.append("baselines are not compared with each other")
    if selected_correction.resamples_topics and pairs.shard_scores is not None:
        # With missing cells the model weights topics; means over resampled topics are unweighted.
        means = pairs.values.mean(axis=0)
        difference = pairs.compute_mean_differences(means)
        if used_scores.axis == "shard" and np.isnan(used_scores.values).any():
            notes.append(
                "means and differences weight all topics equally; the ANOVA table and the raw"
                " p-values weight topics by the number of shards on which they have scores"
            )
    statistics, effect = corrected_outcome.statistic, outcome.effect
    intervals = corrected_outcome.interval, outcome.interval
    if mean_kind == "mean rank" and not used_scores.lower_is_better:
        # Rank 1 is the best system, so ranks and their differences are reversed.
        means, difference = model.ranks_from - means, 0.0 - difference
        statistics, effect = 0.0 - statistics, 0.0 - effect
        intervals = (partial(_negate_bounds, intervals[0]), partial(_negate_bounds, intervals[1]))
    comparison = PairwiseComparison(
        test=info.name,
        correction=selected_correction.name,
        alternative=options.alternative,
        alpha=options.alpha,
        measure=used_scores.measure,
        systems=used_scores.systems,
        means=invert_transformation(means, statistic) if mean_kind == "mean" else means,
        mean_of=statistic.replace("-", " ") if mean_kind == "mean" else mean_kind,
        statistic_of_topics=statistic,
        n_topics=len(used_scores.topics),
        first=pairs.first,
        second=pairs.second,
        difference=difference,
        statistic=statistics,
        effect=effect,
        raw_pvalues=outcome.pvalue,
        adjusted_pvalues=corrected_outcome.pvalue,
        n=outcome.n,
        zeros=outcome.n_zeros + np.zeros_like(outcome.n),
        ties=outcome.n_ties + np.zeros_like(outcome.n),
        interval_of=name_interval(info, statistic),
        interval_kind=corrected_outcome.interval_kind,
        two_sided_interval=intervals[0],
        pair_interval=intervals[1],
        scores=used_scores,
        half_widths=corrected_outcome.half_widths,
        anova=outcome.table,
        omnibus=details.pop("omnibus", None),
        baselines=tuple(used_scores.systems[k] for k in baselines),
        scale=info.scale,
        measure_scale=used_scores.scale,
        lower_is_better=used_scores.lower_is_better or mean_kind == "mean rank",
        seed=details.pop("seed", None),
        resamples=details.pop("resamples", None),
        options={**asdict(options), "statistic": statistic},
        details=details,
        notes=(
            *notes,
            *outcome.notes,
            *describe_inputs(used_scores, info, options),
            *AppliedTest(
                used_scores.systems,
                pairs,
                info,
                options,
                outcome,
                selected_correction,
                applied_correction,
                corrected_outcome,
            ).collect_notes(),
        ),
    )
    result_notes = *comparison.get_direction_notes(), *describe_best_baseline(comparison)
    return replace(comparison, notes=(*comparison.notes, *result_notes))


def _find_default_test(scores: Scores, correction: str | None) -> Test:
    """Find the default test; for two systems, one that supports the requested correction."""
    test = get_default_test(len(scores.systems), scores.axis)
    if correction and CORRECTIONS.find(correction) not in test.info.corrections:
        return get_default_test(3, scores.axis)
    return test


def _find_correction(
    info: TestInfo, name: str | None, pairs: Pairs, baselines: Sequence[int], options: TestOptions
) -> Correction:
    """Return the correction with a name, if the test supports it, or the default of the test."""
    if name is not None:
        correction = CORRECTIONS[info.find_correction(name)]
        if correction.requires_one_baseline and len(baselines) != 1:
            raise PolicyError(f"{correction.title} requires one baseline, got {len(baselines)}")
        if correction.covers_all_pairs and not options.is_two_sided:
            names = [c for c in (DEFAULT_CORRECTION, "holm") if c in info.corrections]
            raise PolicyError(
                f"{correction.name} requires a two-sided test, got {options.alternative}; use"
                f" {' or '.join(names)}"
            )
        return correction
    if len(pairs) == 1 and not info.has_model:
        return CORRECTIONS["none"]
    if DEFAULT_CORRECTION in info.corrections:
        return CORRECTIONS[DEFAULT_CORRECTION]
    if len(baselines) == 1:
        correction = CORRECTIONS[info.baseline_correction]
        is_applicable = not correction.requires_equal_counts or pairs.is_complete or info.is_paired
    else:
        correction = CORRECTIONS[info.correction]
        is_applicable = not correction.covers_all_pairs or (not baselines and options.is_two_sided)
    return correction if is_applicable else CORRECTIONS["holm"]


def _warn_of_exact(exact: bool | None, details: Mapping[str, Any]) -> None:
    """Warn if the option `exact` was set for a test that does not use it."""
    if exact is not None and not any(name.startswith("exact") for name in details):
        warn("exact has no effect: this test computes p-values in only one way")


def _negate_bounds(interval: IntervalFunction, level: Level) -> Bounds:
    low, high = interval(level)
    return -high, -low


def rank_sets(
    scores: Any,
    *,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    jobs: int | None = None,
) -> RankSets:
    r"""Compute simultaneous and marginal confidence sets of the rank of each system.

    The rank of a system is 1 plus the number of systems that are truly better. Among S systems, the
    confidence set of the rank of a system is

    .. math:: \{1 + |N^-|, \dots, S - |N^+|\}

    if N- are the systems that are significantly better, and N+ the systems that are significantly
    worse. Pairs are compared by the default of :func:`cranfield.compare`, for three systems or more
    Tukey's HSD bootstrapped over topics. Simultaneous sets, from one family of all pairs, contain
    all true ranks with probability 1 - alpha or more. The marginal set of a system, from the family
    of its own pairs, contains its true rank with this probability, and is never larger than its
    simultaneous set.

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), who use the variance of each pair. Topics
    are assumed to be a random sample of at least a dozen.

    Parameters
    ----------
    scores
        Scores of one measure, as :func:`cranfield.compare` takes them.
    alpha
        1 minus the confidence level.
    missing
        As for :func:`cranfield.compare`.
    resamples, seed
        Number of resamples of topics, and the seed of the random numbers.
    jobs
        Number of threads (results do not depend on it).

    Returns
    -------
    RankSets
        Simultaneous and marginal confidence sets of all systems.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ap = cf.evaluate(covid.runs[:4], covid.qrels, "AP")["AP"]
    >>> sets = rank_sets(ap, seed=1)
    >>> [ranks.tolist() for ranks in sets.interval]
    [[1, 1, 3, 3], [2, 2, 4, 4]]
    """
    pairwise = compare(
        scores, alpha=alpha, missing=missing, resamples=resamples, seed=seed, jobs=jobs
    )
    options = TestOptions(alpha=alpha, resamples=resamples, seed=seed, jobs=jobs)
    inputs = PreparedScores(pairwise.scores)
    values = transform_scores(inputs, pairwise.statistic_of_topics).topic_scores
    pairs = pair_all(values[~np.isnan(values).any(axis=1)])
    family = PooledErrors(pairs)
    own_pvalues = None
    if family.standard_error:
        absolute_t = np.abs(pairwise.to_matrix(family.t))
        absolute_t[pairs.second, pairs.first] = absolute_t[pairs.first, pairs.second]
        np.fill_diagonal(absolute_t, 0.0)
        maxima = resample_own_maxima(family, options)
        own_pvalues = np.array(
            [compute_max_statistic_pvalues(*row) for row in zip(absolute_t, maxima, strict=True)]
        )
    return replace(pairwise.rank_sets(), own_pvalues=own_pvalues)


def resample_own_maxima(family: PooledErrors, options: TestOptions) -> Floats:
    """Return the largest statistic of each system's pairs, shape (systems, resamples), sorted."""
    counts = draw_topic_counts(options.resamples, family.pairs.n_topics, options.seed)
    maxima = np.empty((family.pairs.n_systems, options.resamples))
    for rows in slice_rows(options.resamples, len(maxima), BLOCK_MEANS):
        means, errors = family.resample(counts[rows])
        largest_differences = np.maximum(means - means.min(axis=0), means.max(axis=0) - means)
        maxima[:, rows] = divide_by_errors(largest_differences, errors)
    return np.sort(maxima, axis=1)
