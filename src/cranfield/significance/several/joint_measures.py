"""Comparison of systems by several measures, as one family of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.showing import ProseMixin
from cranfield.base.text import inflect, sanitise
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores, complete_scores, find_common_settings
from cranfield.significance.comparison.rank_sets import name_method
from cranfield.significance.comparison.result import (
    describe_close_pvalues,
    describe_inputs,
    describe_unreachable_alpha,
)
from cranfield.significance.corrections.resampled import (
    CentredPairs,
    PooledErrors,
    bound_simultaneously,
    compute_max_statistic_pvalues,
    compute_smallest_pvalue,
    resample_maxima,
    step_down,
)
from cranfield.significance.differences import (
    PAIR_COLUMNS,
    Bounds,
    IntervalFunction,
    Pairs,
    append_values,
    make_pair_frame,
    make_pairs,
)
from cranfield.significance.pairwise.means import describe_constants
from cranfield.significance.prepare import (
    as_scores,
    choose_statistic,
    find_baselines,
    prepare_scores,
    transform_scores,
)
from cranfield.significance.registry import (
    CORRECTIONS,
    DEFAULT_CORRECTION,
    RESAMPLES,
    TestOptions,
    find_test,
)
from cranfield.significance.resampling import compute_min_flip_pvalue, replace_constant_results
from cranfield.tabular import Table

MARKS = {1: "+", -1: "-", 0: "."}
"""Mark of each verdict on the first system: significantly better, significantly worse, neither."""


@dataclass(frozen=True, eq=False, repr=False)
class JointComparison(Result, ProseMixin):
    """Comparisons of pairs of systems by several measures; returned by :func:`compare_measures`.

    Attributes
    ----------
    measures, systems
        Names of the measures, and the systems.
    n_topics
        Number of topics, the same for all measures.
    first, second
        Indices of the systems of each pair.
    difference
        Statistic of the first system minus statistic of the second, shape (pairs, measures); for
        geometric means the logarithm of their ratio.
    statistics
        The statistic of each measure: `mean`, `sum` or `geometric-mean`.
    pvalues
        P-values adjusted jointly for all pairs and measures, shape (pairs, measures).
    interval
        Lower and upper bounds of simultaneous intervals for all pairs and measures at confidence
        1 - alpha, each of shape (pairs, measures); NaN if an interval would contradict the test
        decision on a pair, as in later steps of `bootstrap-max-t`.
    lower_is_better
        Whether lower scores are better, by measure.
    baselines
        Systems with which all others were compared; empty if all pairs were compared.
    method
        Joint name of test and correction.
    correction, alpha, resamples, seed
        Options of :func:`compare_measures`.
    notes
        Notes on the scores, the scales of the measures, and the resampling.
    settings
        Settings of the scores, such as how documents were judged, that all measures share.
    """

    columns: ClassVar[Columns] = {
        **PAIR_COLUMNS,
        "measure": Column("Measure.", key=True),
        "difference": Column(
            "Statistic of the first system minus statistic of the second; for geometric means,"
            " the logarithm of their ratio."
        ),
        **declare_bounds(
            "confidence interval, simultaneous for all pairs and measures",
            "; NaN if it would contradict the test decision",
        ),
        "p": Column("p-value, adjusted jointly for all pairs and measures.", is_pvalue=True),
        "verdict": Column(
            "1 if the first system is significantly better, -1 if significantly worse, else 0."
        ),
    }

    measures: tuple[str, ...]
    systems: tuple[str, ...]
    n_topics: int
    first: Indices
    second: Indices
    difference: Floats
    statistics: tuple[str, ...]
    pvalues: Floats
    interval: Bounds
    alpha: float
    lower_is_better: tuple[bool, ...]
    baselines: tuple[str, ...]
    correction: str
    method: str
    resamples: int
    seed: int
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.size)

    @property
    def verdicts(self) -> Ints:
        """Verdicts on the first system of each pair, shape (pairs, measures).

        1 if the first system is significantly better, -1 if it is significantly worse, else 0.
        """
        sign = np.sign(self.difference) * np.where(self.lower_is_better, -1, 1)
        return np.where(self.pvalues <= self.alpha, sign, 0).astype(np.int64)

    def count_measures(self) -> pl.DataFrame:
        """Count, by pair, the measures by which the first system is `better` and `worse`."""
        n_better, n_worse = ((self.verdicts == sign).sum(axis=1) for sign in (1, -1))
        return self._name_pairs().with_columns(better=n_better, worse=n_worse)

    def _frame(self) -> pl.DataFrame:
        names = self._name_pairs()[np.repeat(np.arange(len(self)), len(self.measures))]
        measures = pl.Series(self.measures * len(self), dtype=pl.String)
        arrays = self.difference, *self.interval, self.pvalues, self.verdicts
        return append_values(names, self.columns, measures, *(array.ravel() for array in arrays))

    def _name_pairs(self) -> pl.DataFrame:
        return make_pair_frame(self.systems, self.first, self.second)

    def heading(self) -> list[str]:
        n_better, n_worse = (self.count_measures()[name].to_numpy() for name in ("better", "worse"))
        n_measures, n_different = len(self.measures), int(((n_better + n_worse) > 0).sum())
        is_unanimous = np.maximum(n_better, n_worse) == n_measures
        is_contradictory = (n_better > 0) & (n_worse > 0)
        return [
            f"{self.method}: {inflect(len(self), 'pair')} and {inflect(n_measures, 'measure')},"
            f" {inflect(self.n_topics, 'topic')}; family-wise error rate {self.alpha:g}",
            f"{inflect(n_different, 'pair')} significantly different by at least one measure,"
            f" {is_unanimous.sum():,} of them significant in the same direction by every measure,"
            f" {is_contradictory.sum():,} in opposite directions by different measures",
            f"{self.resamples:,} random samples, seed {self.seed}",
        ]

    def tables(self) -> list[Table]:
        rows = [
            [*names, *(MARKS[verdict] for verdict in verdicts)]
            for names, verdicts in zip(
                self._name_pairs().rows(), self.verdicts.tolist(), strict=True
            )
        ]
        legend = "+ the first system is significantly better, - significantly worse, . neither"
        return [Table("", ["first", "second", *self.measures], rows, (0, 1), [legend])]


JOINT_CORRECTIONS = ("bootstrap-tukey", "bootstrap-max-t")


def compare_measures(
    evaluation: Mapping[str, Any],
    *,
    baseline: str | Sequence[str] | None = None,
    correction: str = DEFAULT_CORRECTION,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    jobs: int | None = None,
) -> JointComparison:
    r"""Compare systems by several measures, as one family of comparisons.

    Topics are drawn with replacement, the same for all systems and measures. The statistic of a
    pair p by a measure m in a resample is

    .. math:: T^*_{mp} = \frac{|\bar{d}^*_{mp} - \bar{d}_{mp}|}{s^*_{mp} / \sqrt{n}}

    with the mean :math:`\bar{d}` and the standard deviation s of the differences on n topics, and a
    star for the resample. Observed statistics are compared with the largest statistic of each
    resample, over all measures and pairs. By default s is common to all pairs of a measure, as in
    Tukey's HSD, in a single step; with `bootstrap-max-t` each pair has its own s, in a step-down
    procedure. As measures of the same runs are highly correlated, one family costs less power than
    correcting the p-values of each measure for the number of measures.

    Sources: Westfall and Young (1993); Romano and Wolf (2005). Topics are assumed to be a random
    sample of at least a dozen; no distributional form or correlation of scores is assumed.

    Parameters
    ----------
    evaluation
        An :class:`~cranfield.Evaluation`, or a mapping of names of measures to scores of the same
        topics and systems, as :func:`cranfield.compare` takes them.
    baseline
        System or systems to compare all others with; by default, all pairs are compared.
    correction
        `bootstrap-tukey` or `bootstrap-max-t`.
    alpha
        Family-wise error rate over all pairs and measures.
    missing
        Policy for missing scores: `error`, the default; `drop` excludes topics that lack a score of
        any measure; `zero` replaces missing scores by 0.
    resamples, seed
        Number B of resamples of topics, and the seed of the random numbers.
    jobs
        Number of threads (results do not depend on it).

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few, or if measures differ in topics or systems.
    PolicyError
        For an invalid evaluation, baseline, correction or option.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> evaluation = cf.evaluate(covid.runs[:3], covid.qrels, ["AP", "P@10"])
    >>> compare_measures(evaluation).verdicts.tolist()
    [[0, 0], [1, 0], [1, 0]]
    """
    options = TestOptions(alpha=alpha, resamples=resamples, seed=seed, jobs=jobs)
    scores_by_measure, notes = complete_scores(
        align_scores(_check_evaluation(evaluation)), missing or "error"
    )
    info = find_test("t").info
    names, systems = tuple(scores_by_measure), next(iter(scores_by_measure.values())).systems
    baselines = find_baselines(systems, baseline)
    pairs_by_measure, statistics = {}, []
    for name, scores in scores_by_measure.items():
        statistics.append(choose_statistic(scores, None, None))
        inputs = transform_scores(prepare_scores(scores, info, None), statistics[-1])
        pairs_by_measure[name] = make_pairs(inputs.topic_scores, baselines)
        # The note on comparisons of two systems describes the t-test, not the joint test.
        notes = (*notes, *describe_inputs(scores, replace(info, two_systems_note=""), options))
    pairs = pairs_by_measure[names[0]]
    correction = CORRECTIONS.find(correction)
    if correction not in JOINT_CORRECTIONS:
        raise PolicyError(
            f"correction of several measures must be one of {', '.join(JOINT_CORRECTIONS)},"
            f" got {correction!r}"
        )
    shape = (len(names), len(pairs))
    results, joint_notes = _compare_jointly(pairs_by_measure, systems, correction, options)
    difference, pvalues, low, high = (result.reshape(shape).T for result in results)
    anova_info, declaration = find_test("anova-2").info, CORRECTIONS[correction]
    method = declaration.title
    if declaration.heading:
        method = name_method(anova_info, declaration, has_baseline=bool(baselines))
    return JointComparison(
        measures=names,
        systems=systems,
        n_topics=pairs.n_topics,
        first=pairs.first,
        second=pairs.second,
        difference=difference,
        statistics=tuple(statistics),
        pvalues=pvalues,
        interval=(low, high),
        alpha=alpha,
        lower_is_better=tuple(scores.lower_is_better for scores in scores_by_measure.values()),
        baselines=tuple(systems[k] for k in baselines),
        correction=correction,
        method=method,
        resamples=resamples,
        seed=seed,
        notes=tuple(dict.fromkeys((*notes, *joint_notes))),
        settings=find_common_settings(scores_by_measure),
    )


def _check_evaluation(evaluation: Any) -> dict[str, Scores]:
    if not isinstance(evaluation, Mapping) or not evaluation:
        kind = "an empty mapping" if isinstance(evaluation, Mapping) else type(evaluation).__name__
        raise PolicyError(f"evaluation must be a mapping of measures to scores, got {kind}")
    return {str(name): as_scores(scores) for name, scores in evaluation.items()}


def _compare_jointly(
    pairs_by_measure: Mapping[str, Pairs],
    systems: Sequence[str],
    correction: str,
    options: TestOptions,
) -> tuple[list[Floats], list[str]]:
    """Return differences, p-values and bounds of the pairs of all measures, and notes."""
    pairs_of_families = [*pairs_by_measure.values()]
    families, pvalues, maxima = _resample_families(pairs_of_families, correction, options)
    differences = np.concatenate([family.difference for family in families])
    errors = np.concatenate(
        [family.standard_error + 0.0 * family.difference for family in families]
    )
    interval: IntervalFunction = partial(bound_simultaneously, differences, errors, maxima, options)
    is_constant, n_topics = errors == 0, pairs_of_families[0].n_topics
    n_pairs = len(pairs_of_families[0])
    exact_pvalue = min(1.0, differences.size * compute_min_flip_pvalue(n_topics, options))
    pvalues, interval = replace_constant_results(
        pvalues, interval, differences, is_constant, exact_pvalue, options
    )
    low, high = interval(1 - options.alpha)
    # Intervals use the first step; later steps of the step-down procedure may contradict them.
    is_contradicted = ((low > 0) | (high < 0)) != (pvalues <= options.alpha)
    low[is_contradicted] = high[is_contradicted] = np.nan
    notes = describe_constants(int((is_constant & (differences != 0)).sum()), "comparison")

    def name_comparison(k: int) -> str:
        (measure, pairs), pair = [*pairs_by_measure.items()][k // n_pairs], k % n_pairs
        names = (sanitise(systems[side[pair]]) for side in (pairs.first, pairs.second))
        return f"{' and '.join(names)} by {measure}"

    # P-values of constant differences do not depend on the seed.
    random_pvalues = np.where(is_constant, np.nan, pvalues)
    notes += describe_close_pvalues(random_pvalues, np.ones(pvalues.size), name_comparison, options)
    smallest_pvalue = float(compute_smallest_pvalue(maxima)[0])
    if min(smallest_pvalue, pvalues.min()) > options.alpha:
        notes.append(describe_unreachable_alpha(smallest_pvalue, n_topics, options))
        # Resamples in which the scores of a measure do not vary have infinite statistics.
        causes = [
            name
            for name, pairs in pairs_by_measure.items()
            if compute_smallest_pvalue(_resample_families([pairs], correction, options)[2])[0]
            > options.alpha
        ]
        if 0 < len(causes) < len(pairs_by_measure):
            notes[-1] += f"; this is due to {', '.join(causes)}, which can be compared separately"
    return [differences, pvalues, low, high], notes


def _resample_families(
    pairs_of_families: Sequence[Pairs], correction: str, options: TestOptions
) -> tuple[Sequence[PooledErrors | CentredPairs], Floats, Floats]:
    """Return a family for the pairs of each measure, p-values, and the maxima of resamples."""
    if correction == "bootstrap-tukey":
        pooled_families = [PooledErrors(pairs) for pairs in pairs_of_families]
        maxima = resample_maxima(pooled_families, options)
        t = np.abs(np.concatenate([family.t for family in pooled_families]))
        return pooled_families, compute_max_statistic_pvalues(t, maxima), maxima
    centred_families = [CentredPairs(pairs) for pairs in pairs_of_families]
    return centred_families, *step_down(centred_families, options)
