"""Compare systems: scores go in, statements come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.significance.comparison.notes import (
    beyond_assumptions,
    notes_on,
    out_of_reach,
    stepped_down,
)
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import (
    CORRECTIONS,
    RECOMMENDED,
    Correction,
    find_correction,
)
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs, against, all_pairs
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
from cranfield.significance.tests.catalogue import TESTS, default_test, find_test
from cranfield.significance.tests.declaration import TestInfo

EACH_TOPIC = (
    "means and their differences are of topics that weigh the same; the table, and p-values before"
    " the correction, weigh topics by their number of cells"
)
"""What is said where a model with gaps is corrected by samples of topics."""


def compare(
    scores: Any,
    *,
    test: str | None = None,
    correction: str | None = None,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    baseline: str | int | Sequence[str | int] | None = None,
    missing: str | None = None,
    lower_is_better: bool | None = None,
    exact: bool | None = None,
    exact_n: int = 25,
    resamples: int = 10_000,
    seed: int = 0,
    threshold: float = 0.0,
    jobs: int | None = None,
) -> PairwiseComparison:
    """Compare all pairs of systems, or all systems with a baseline.

    Parameters
    ----------
    scores
        :class:`Scores` of one measure, such as `evaluation["AP"]` or what :func:`read_scores`
        reads; an evaluation of one measure; a mapping of systems to their scores, by topic or as
        lists in order of topics; a data frame, or an array of shape (topics, systems).
    test
        `sign`, `signed-rank`, `rank-sum`, `t`, `t-unpaired`, `welch`, `randomisation`,
        `bootstrap`, `bootstrap-shift`, `bootstrap-unpaired`, `anova-1`, `anova-2` (also `anova`),
        `anova-3`, `random-topics`, `kruskal-wallis`, `friedman`, `bootstrap-anova`. By default
        two-way ANOVA, for two systems the studentised bootstrap, and for scores by shard, or by
        variation of each topic's query, ANOVA with random topics.
    correction
        For many comparisons: `none`, `tukey`, `randomised-tukey`, `dunnett`, `max-t`,
        `moderated-max-t`, `bootstrap-max-t`, `bonferroni`, `holm`, `bh`, `by`. By default moderated
        max-T, where topics are a sample and the same for all systems; else the test's own: Tukey's
        HSD for models of all systems, Dunnett's test with a baseline, the randomised Tukey HSD for
        the randomisation test, the false discovery rate for bootstrap ANOVA, else Holm's.
    alternative
        `two-sided`, `greater` (the first system of a pair, that is not the baseline, has higher
        scores) or `less`.
    alpha
        Significance level.
    baseline
        A system, or several, that the others are compared with, by name or by place from 0; else
        all pairs are compared.
    missing
        What to do where a system has no score for a topic: `error`; `drop` leaves such topics out;
        `zero` counts 0; `available` uses what there is, where the test can. By default unpaired
        tests use what there is, and others raise an error.
    lower_is_better
        Whether lower scores are better; by default the direction of `scores`.
    exact
        Whether to compute p-values exactly where the test knows how; by default where it is
        cheap.
    exact_n
        Largest number of differences for an exact signed rank test by default.
    resamples, seed
        Number B of random samples and the seed of tests that need them.
    threshold
        Of the sign test: differences up to it count as none, in the unit of the scores.
    jobs
        Threads; it never changes a result.

    Returns
    -------
    PairwiseComparison
        With p-values, differences, effect sizes, intervals, groups, and the table of the analysis
        of variance where there is one.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an unknown test, correction, system or option.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, "nDCG@20")
    >>> found = cf.compare(ev["nDCG@20"])
    >>> found.count(), list(found.groups().values())
    (2, ['a', 'a', 'ab', 'b'])
    """
    options = Options(alternative, alpha, exact, exact_n, resamples, seed, jobs, threshold)
    given = as_scores(scores)
    given = given if lower_is_better is None else given.with_direction(lower_is_better)
    chosen = find_test(test) if test else default_test(len(given.systems), bool(given.shards))
    if test is None and correction and find_correction(correction) not in chosen.info.corrections:
        # Of two systems, what goes with the default test of many.
        chosen = default_test(3, bool(given.shards))
    info = chosen.info
    if threshold and not info.threshold:
        fitting = ", ".join(name for name, one in TESTS.items() if one.info.threshold)
        raise PolicyError(f"a threshold goes with the test {fitting}, not with {info.name}")
    ready = prepared(given, info, missing)
    scores = ready.scores
    baselines = baseline_indices(scores.systems, baseline)
    pairs = against(ready.flat, baselines) if baselines else all_pairs(ready.flat)
    if scores.shards:
        pairs = replace(pairs, by_shard=scores.values)
    adjustment = _correction(info, correction, pairs, baselines, options)
    outcome = chosen.run(pairs, options)
    corrected = adjustment.run(outcome, pairs, options)
    details = dict(outcome.details)
    omnibus = details.pop("omnibus", None)
    if adjustment.random:
        details |= {"resamples": options.resamples, "seed": options.seed}
    model = outcome.model
    means = scores.grand_mean() if model is None else model.means
    difference = pairs.differences_of(means) if model is None else model.differences(pairs)
    weighed: list[str] = []
    if adjustment.resamples_topics and model is not None and pairs.by_shard is not None:
        # A model with gaps weighs topics, which samples of topics do not.
        means = pairs.values.mean(axis=0)
        difference = pairs.differences_of(means)
        weighed = [EACH_TOPIC] if np.isnan(pairs.by_shard).any() else []
    return PairwiseComparison(
        test=info.name,
        correction=adjustment.name,
        alternative=options.alternative,
        alpha=options.alpha,
        measure=scores.measure,
        systems=scores.systems,
        means=means,
        mean_of="mean" if model is None else model.of,
        topics=len(scores.topics),
        first=pairs.first,
        second=pairs.second,
        difference=difference,
        statistic=outcome.statistic if corrected.statistic is None else corrected.statistic,
        effect=outcome.effect,
        raw_pvalues=outcome.pvalue,
        adjusted_pvalues=corrected.pvalue,
        n=outcome.n,
        zeros=outcome.zeros,
        ties=outcome.ties,
        interval_of=info.interval,
        interval_kind=corrected.holds_for,
        limits=corrected.interval or outcome.interval,
        scores=scores,
        half_widths=corrected.half_widths,
        anova=outcome.table,
        omnibus=omnibus,
        baselines=tuple(scores.systems[k] for k in baselines),
        scale=info.scale,
        measure_scale=scores.scale,
        lower_is_better=scores.lower_is_better,
        seed=details.pop("seed", None),
        resamples=details.pop("resamples", None),
        options=asdict(options),
        details=details,
        notes=(
            *ready.notes,
            *weighed,
            *outcome.notes,
            *notes_on(scores, info, options),
            *beyond_assumptions(pairs, info, adjustment),
            *stepped_down(corrected, options),
            *out_of_reach(info, outcome, adjustment, corrected, options),
        ),
    )


def _correction(
    info: TestInfo,
    asked: str | None,
    pairs: Pairs,
    baselines: Sequence[int],
    options: Options,
) -> Correction:
    """Find the correction that is asked for, if it goes with the test, or the test's own."""
    if asked is None:
        return CORRECTIONS[_own_correction(info, pairs, baselines, options)]
    correction = CORRECTIONS[find_correction(asked)]
    if correction.name not in info.corrections:
        fitting = ", ".join(info.corrections)
        raise PolicyError(f"{correction.name} does not go with the test {info.name}; {fitting} do")
    if correction.one_baseline and len(baselines) != 1:
        raise PolicyError(f"{correction.title} compares with one baseline: name it")
    if correction.all_pairs and not options.two_sided:
        raise PolicyError(f"{correction.name} is two-sided; take holm for a one-sided test")
    return correction


def _own_correction(
    info: TestInfo, pairs: Pairs, baselines: Sequence[int], options: Options
) -> str:
    if len(pairs) == 1 and not info.model:
        return "none"
    if len(pairs) > 1 and RECOMMENDED in info.corrections:
        return RECOMMENDED
    if len(baselines) == 1:
        own = CORRECTIONS[info.baseline_correction]
        fits = not own.equal_counts or pairs.paired or info.paired
    else:
        own = CORRECTIONS[info.correction]
        fits = not own.all_pairs or (not baselines and options.two_sided)
    return own.name if fits else "holm"
