"""Compare systems: scores go in, statements come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.scores import Scores
from cranfield.significance.comparison.notes import notes_on, out_of_reach, unequal
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.dunnett import DunnettInterval, dunnett
from cranfield.significance.corrections.max_t import max_t
from cranfield.significance.corrections.of_pvalues import corrected, find_correction
from cranfield.significance.corrections.randomised_tukey import randomised_tukey
from cranfield.significance.corrections.tukey import TukeyInterval, half_widths, tukey
from cranfield.significance.options import Options
from cranfield.significance.outcome import Interval, Outcome
from cranfield.significance.pairs import Pairs, against, all_pairs
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
from cranfield.significance.registry import TestInfo, find_test

ALL_PAIRS = ("tukey", "randomised-tukey")
"""Corrections that are two-sided tests of all pairs."""


def compare(
    scores: Any,
    *,
    test: str | None = None,
    correction: str | None = None,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    baseline: str | Sequence[str] | None = None,
    missing: str | None = None,
    exact: bool | None = None,
    exact_n: int = 25,
    resamples: int = 10_000,
    seed: int = 0,
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
        `bootstrap`, `bootstrap-unpaired`, `anova-1`, `anova-2` (also `anova`), `anova-3`,
        `kruskal-wallis`, `friedman`, `bootstrap-anova`. By default two-way ANOVA, for two systems
        the paired t-test, which is the same, and three-way ANOVA for scores by shard.
    correction
        For many comparisons: `none`, `tukey`, `randomised-tukey`, `max-t`, `bonferroni`, `holm`,
        `bh`, `by`, `dunnett`. By default the test's own: Tukey's HSD for models of all systems, its
        randomised version for the randomisation test, Dunnett's test for analyses of variance with
        a baseline, the false discovery rate for bootstrap ANOVA, and Holm's correction else.
    alternative
        `two-sided`, `greater` (the first system of a pair, that is not the baseline, has higher
        scores) or `less`.
    alpha
        Significance level.
    baseline
        A system, or several, that the others are compared with; else all pairs are compared.
    missing
        What to do where a system has no score for a topic: `error`; `drop` leaves such topics out;
        `zero` counts 0; `available` uses what there is, where the test can. By default unpaired
        tests use what there is, and others raise an error.
    exact
        Whether to compute p-values exactly where the test knows how; by default where it is
        cheap.
    exact_n
        Largest number of differences for an exact signed rank test by default.
    resamples, seed
        Number B of random samples and the seed of tests that need them.
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
    options = Options(alternative, alpha, exact, exact_n, resamples, seed, jobs)
    given = as_scores(scores)
    chosen = find_test(test or _default_test(given))
    info = chosen.info
    ready = prepared(given, info, missing)
    baselines = baseline_indices(ready.scores.systems, baseline)
    pairs = against(ready.flat, baselines) if baselines else all_pairs(ready.flat)
    correct = _correction(info, correction, pairs, baselines, options)
    if info.model:
        outcome = chosen.run(pairs, options, ready.scores.values)
    else:
        outcome = chosen.run(pairs, options)
    return _result(ready.scores, info, correct, pairs, outcome, options, ready.notes, baselines)


def _default_test(scores: Scores) -> str:
    if scores.shards:
        return "anova-3"
    return "t" if len(scores.systems) == 2 else "anova-2"


def _correction(
    info: TestInfo,
    asked: str | None,
    pairs: Pairs,
    baselines: Sequence[int],
    options: Options,
) -> str:
    if asked is None:
        if len(pairs) == 1 and not info.model:
            return "none"
        if len(baselines) == 1:
            own = info.baseline_correction
            # Dunnett's test is of means of as many scores each.
            return "holm" if own == "dunnett" and not pairs.paired and not info.paired else own
        own = info.corrections[0]
        # Tukey's test is of all pairs, in both directions.
        return "holm" if own in ALL_PAIRS and (baselines or not options.two_sided) else own
    asked = find_correction(asked)
    if asked not in info.corrections:
        fitting = ", ".join(info.corrections)
        raise PolicyError(f"{asked} does not go with the test {info.name}; {fitting} do")
    if asked == "dunnett" and len(baselines) != 1:
        raise PolicyError("Dunnett's test compares with one baseline: name it")
    if asked in ALL_PAIRS and not options.two_sided:
        raise PolicyError(f"{asked} is two-sided; take holm for a one-sided test")
    return asked


def _result(
    scores: Scores,
    info: TestInfo,
    correction: str,
    pairs: Pairs,
    outcome: Outcome,
    options: Options,
    notes: tuple[str, ...],
    baselines: Sequence[int],
) -> PairwiseComparison:
    statistic, raw, adjusted, limits, kind, halves = _applied(correction, pairs, outcome, options)
    model = outcome.model
    means = scores.grand_mean() if model is None else model.means
    details = dict(outcome.details)
    omnibus = details.pop("omnibus", None)
    difference = pairs.of_systems(means)
    difference[np.abs(difference) <= (pairs.rounding if model is None else 0)] = 0.0
    notes = (
        *notes,
        *notes_on(scores, info, options.alternative),
        *unequal(pairs, info, correction),
    )
    if correction in ("randomised-tukey", "max-t"):
        details |= {"resamples": options.resamples, "seed": options.seed}
    notes += tuple(out_of_reach(raw, adjusted, outcome, details, options, correction))
    return PairwiseComparison(
        test=info.name,
        correction=correction,
        alternative=options.alternative,
        alpha=options.alpha,
        measure=scores.measure,
        systems=scores.systems,
        means=means,
        mean_of="mean" if model is None else model.of,
        topics=len(scores.topics),
        first=pairs.first,
        second=pairs.second,
        difference=difference if model is None else model.differences(pairs),
        statistic=statistic,
        effect=outcome.effect,
        raw_pvalues=raw,
        adjusted_pvalues=adjusted,
        n=outcome.n,
        zeros=outcome.zeros,
        ties=outcome.ties,
        interval_of=outcome.interval_of,
        interval_kind=kind,
        limits=limits,
        scores=scores,
        half_widths=halves,
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
        notes=notes,
    )


def _applied(
    correction: str, pairs: Pairs, outcome: Outcome, options: Options
) -> tuple[Floats, Floats, Floats, Interval, str, Floats | None]:
    """Correct for many comparisons: statistic, raw and adjusted p, limits and half-widths."""
    model = outcome.model
    together = "all pairs together"
    if correction == "tukey" and model is not None:
        q, p = tukey(model, pairs)
        halves = half_widths(model, options.alpha) if model.balanced else None
        return q, outcome.pvalue, p, TukeyInterval(model, pairs), together, halves
    if correction == "dunnett" and model is not None:
        t, p = dunnett(model, pairs, options.alternative)
        limits = DunnettInterval(model, pairs, options.two_sided)
        return t, outcome.pvalue, p, limits, "all comparisons", None
    if correction == "randomised-tukey":
        p, widest = randomised_tukey(pairs, options)
        low, high = widest(1 - options.alpha)
        halves = np.full(pairs.systems, (high - low)[0] / 4)
        return outcome.statistic, outcome.pvalue, p, widest, together, halves
    if correction == "max-t":
        p = max_t(pairs, options)
        return outcome.statistic, outcome.pvalue, p, outcome.interval, "each pair alone", None
    adjusted = corrected(outcome.pvalue, correction)
    if correction == "bonferroni" and len(pairs) > 1:
        limits_of = _Narrowed(outcome.interval, len(pairs))
        return outcome.statistic, outcome.pvalue, adjusted, limits_of, together, None
    return outcome.statistic, outcome.pvalue, adjusted, outcome.interval, "each pair alone", None


class _Narrowed:
    """Limits that hold for several pairs together, by Bonferroni's inequality."""

    def __init__(self, interval: Interval, pairs: int) -> None:
        self.interval = interval
        self.pairs = pairs

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        return self.interval(1 - (1 - level) / self.pairs)
