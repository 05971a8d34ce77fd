"""Meta-analysis: differences of systems over several collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, quoted
from cranfield.base.text import counted, plain, some_of
from cranfield.result import Column, Columns, Result
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.differences import (
    PAIR,
    Bounds,
    Level,
    Outcome,
    Pairs,
    difference_pvalues,
    make_pairs,
    pair_names,
    standardised_difference,
    t_interval,
)
from cranfield.significance.effects import bias_correction
from cranfield.significance.prepare import as_scores, baseline_indices, prepare_scores
from cranfield.significance.registry import CORRECTIONS, RESAMPLES, Options, find_test
from cranfield.significance.several.random_effects import ERRORS, TAU2_BY, Pooled, pool, predict


@dataclass(frozen=True, eq=False)
class CommonPairs:
    """Pairs of systems, by name, of one or more collections."""

    names: tuple[str, ...]  # of collections
    topics: tuple[int, ...]
    measures: tuple[str, ...]
    systems: tuple[str, ...]  # of any collection, in order
    first: Indices
    second: Indices
    mean: Floats  # of the differences of a pair on a collection; NaN where it lacks the pair
    deviation: Floats
    notes: tuple[str, ...]  # excluded topics, and systems that some collections lack

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.size)

    @property
    def measure(self) -> str:
        """The measures, each once."""
        return ", ".join(dict.fromkeys(filter(None, self.measures)))

    def frame(self) -> pl.DataFrame:
        """Return the names of both systems, one row a pair."""
        return pair_names(self.systems, self.first, self.second)


def common_pairs(
    collections: Mapping[str, Any], baseline: str | Sequence[str] | None, missing: str | None
) -> CommonPairs:
    """Match systems by name, apply the policy for missing scores, and summarise all pairs."""
    if not isinstance(collections, Mapping):
        raise PolicyError("expected a mapping of collections to scores")
    if len(collections) < 2:
        raise PolicyError(
            f"a meta-analysis requires at least two collections, got {len(collections)}"
        )
    test = find_test("t").info
    inputs_of = {
        str(name): prepare_scores(
            data.scores if isinstance(data, PairwiseComparison) else as_scores(data), test, missing
        )
        for name, data in collections.items()
    }
    scores_of = {name: inputs.scores for name, inputs in inputs_of.items()}
    if len({scores.lower_is_better for scores in scores_of.values()}) > 1:
        raise PolicyError("expected measures of one direction, got lower and higher is better")
    systems = tuple(dict.fromkeys(name for s in scores_of.values() for name in s.systems))
    pairs = make_pairs(np.empty((0, len(systems))), baseline_indices(systems, baseline))
    mean, deviation = np.full((2, len(pairs), len(scores_of)), np.nan)
    for k, inputs in enumerate(inputs_of.values()):
        index_of = {system: index for index, system in enumerate(inputs.scores.systems)}
        indices = np.array([index_of.get(system, -1) for system in systems])
        first, second = indices[pairs.first], indices[pairs.second]
        rows = np.flatnonzero((first >= 0) & (second >= 0))
        if rows.size:
            moments = Pairs(inputs.topic_scores, first[rows], second[rows]).moments()
            mean[rows, k], deviation[rows, k], _ = moments
    has_pair = ~np.isnan(mean).all(axis=1)
    if not has_pair.any():
        raise CranfieldError("no collection has two of the systems to compare")
    notes = [f"{name}: {note}" for name, inputs in inputs_of.items() for note in inputs.notes]
    notes += dict.fromkeys(note for s in scores_of.values() for note in s.direction_notes())
    for name, scores in scores_of.items():
        lacking = [quoted(system) for system in systems if system not in {*scores.systems}]
        if lacking:
            notes.append(f"{name} lacks {some_of(lacking, 5)}")
    if not has_pair.all():
        n_excluded = counted(int((~has_pair).sum()), "pair")
        notes.append(f"{n_excluded} excluded: no collection has both systems")
    return CommonPairs(
        names=tuple(scores_of),
        topics=tuple(len(scores.topics) for scores in scores_of.values()),
        measures=tuple(scores.measure for scores in scores_of.values()),
        systems=systems,
        first=pairs.first[has_pair],
        second=pairs.second[has_pair],
        mean=mean[has_pair],
        deviation=deviation[has_pair],
        notes=tuple(notes),
    )


TITLES = {
    "reml": "restricted maximum likelihood",
    "paule-mandel": "Paule and Mandel",
    "dersimonian-laird": "DerSimonian and Laird",
}


@dataclass(frozen=True, eq=False, repr=False)
class MetaAnalysis(Result):
    """Differences of pairs of systems over several collections; made by :func:`meta_analysis`.

    Attributes
    ----------
    pairs
        The pairs, and the collections that have them.
    difference, error
        Mean differences and their standard errors, shape (pairs, collections); NaN where a
        collection lacks a pair, or its differences do not vary.
    pooled
        By pair: number of collections, pooled difference and its standard error, tau^2, Q and its
        p-value, I^2; values that require two collections are NaN where a pair has one.
    standardised
        Whether differences are in standard deviations of the differences by topic.
    tau2_by, errors
        How the variance between collections and the standard error are estimated.
    correction
        Correction of the p-values for multiple pairs.
    alpha
        Significance level.
    raw_pvalues, adjusted_pvalues
        P-values of a pooled difference of 0, by pair, before and after the correction.
    interval
        Confidence interval of the pooled difference at confidence 1 - alpha, by pair.
    interval_kind
        Whether the intervals are simultaneous.
    prediction
        Prediction interval of the true difference on another collection, with probability 1 -
        alpha, by pair.
    resamples, seed
        Number of samples and seed of the prediction intervals.
    notes
        Notes for the user.
    """

    columns: ClassVar[Columns] = {
        **PAIR,
        "collections": Column("Number of collections that have the pair."),
        "difference": Column("Pooled difference, first minus second."),
        "low": Column("Lower bound of the confidence interval; null with one collection."),
        "high": Column("Upper bound of the confidence interval."),
        "p": Column("Adjusted p-value that the pooled difference is 0.", pvalue=True),
        "predicted low": Column(
            "Lower bound of the prediction interval of the true difference on another collection."
        ),
        "predicted high": Column("Upper bound of the prediction interval."),
        "tau": Column("Standard deviation of true differences between collections."),
        "I^2": Column("Proportion of the variance that is due to differences of collections."),
        "Q": Column("Cochran's Q statistic of heterogeneity."),
        "p of Q": Column("p-value of Q.", pvalue=True),
    }

    pairs: CommonPairs
    difference: Floats
    error: Floats
    pooled: Pooled
    standardised: bool
    tau2_by: str
    errors: str
    correction: str
    alpha: float
    raw_pvalues: Floats
    adjusted_pvalues: Floats
    interval: Bounds
    interval_kind: str
    prediction: Bounds
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def _frame(self) -> pl.DataFrame:
        pooled = self.pooled
        columns = {
            "difference": pooled.estimate,
            "low": self.interval[0],
            "high": self.interval[1],
            "p": self.adjusted_pvalues,
            "predicted low": self.prediction[0],
            "predicted high": self.prediction[1],
            "tau": np.sqrt(pooled.tau2),
            "I^2": pooled.i2,
            "Q": pooled.q,
            "p of Q": pooled.q_pvalue,
        }
        series = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
        n_collections = pl.Series("collections", pooled.places)
        return self.pairs.frame().with_columns(n_collections, **series)

    def by_collection(self) -> pl.DataFrame:
        """Return a row for each pair and collection: topics, difference, standard error, weight.

        Collections without the pair are omitted; weights are the weights of the pooled difference.
        """
        tau2 = np.nan_to_num(self.pooled.tau2)[:, None]
        weight = 1 / (self.error**2 + tau2)
        weight /= np.nansum(weight, axis=1, keepdims=True)
        row, collection = np.nonzero(~np.isnan(weight))
        columns = {"difference": self.difference, "standard error": self.error, "weight": weight}
        return self.pairs.frame()[row].with_columns(
            pl.Series("collection", self.pairs.names, dtype=pl.String).gather(collection),
            pl.Series("topics", self.pairs.topics, dtype=pl.Int64).gather(collection),
            **{name: pl.Series(values[row, collection]) for name, values in columns.items()},
        )

    def heading(self) -> list[str]:
        """Return lines on the method, the collections and the meaning of columns."""
        pairs = self.pairs
        measure = f"{plain(pairs.measure)}: " if pairs.measure else ""
        unit = "standardised differences" if self.standardised else "differences"
        title = CORRECTIONS[self.correction].title
        level = f"{1 - self.alpha:.4g}"
        return [
            f"{measure}random-effects meta-analysis of {unit}; {title}, alpha {self.alpha:g}",
            f"{counted(len(pairs.names), 'collection')}: "
            + ", ".join(
                f"{plain(name)} ({counted(topics, 'topic')})"
                for name, topics in zip(pairs.names, pairs.topics, strict=True)
            ),
            f"variance between collections by {TITLES[self.tau2_by]}, errors {self.errors}",
            f"low, high: {level} confidence interval of the mean over such collections,"
            f" {self.interval_kind}",
            f"predicted low, high: {level} prediction interval of the difference on another"
            f" collection, by parametric bootstrap, {self.resamples:,} samples, seed {self.seed}",
        ]


def meta_analysis(
    collections: Mapping[str, Any],
    *,
    baseline: str | Sequence[str] | None = None,
    standardised: bool = False,
    tau2_by: str = "reml",
    errors: str = "hartung-knapp",
    correction: str = "holm",
    alpha: float = 0.05,
    missing: str = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MetaAnalysis:
    r"""Pool the differences of systems over several collections.

    On collection c the mean difference :math:`y_c` of a pair has the variance :math:`v_c`, the
    variance of its differences by topic divided by the number of topics. With the variance
    :math:`\tau^2` of true differences between collections,

    .. math:: \hat\mu = \frac{\sum_c w_c y_c}{\sum_c w_c}, \quad w_c = \frac{1}{v_c + \tau^2},
        \quad SE^2 = \frac{1}{\sum_c w_c} \cdot \frac{\sum_c w_c (y_c - \hat\mu)^2}{k - 1}

    and :math:`\hat\mu \pm t_{k-1} SE` is the interval of Hartung and Knapp (2001) and of Sidik and
    Jonkman (2002). The prediction interval of the true difference on another collection is the
    parametric bootstrap interval of Nagashima, Noma and Furukawa (2019). It accounts for the
    uncertainty of :math:`\tau^2`, which the interval :math:`\hat\mu \pm t_{k-1} \sqrt{SE^2 +
    \tau^2}` ignores, and does not depend on `tau2_by` and `errors`.

    The collections are assumed to be a random sample of all collections of interest, with normally
    distributed true differences, no topics in common, and approximately normal means over topics.
    With two or three collections intervals are wide.

    Parameters
    ----------
    collections
        Mapping of collection names to scores, as :func:`cranfield.compare` takes them, or to
        comparisons. Systems are matched by name.
    baseline
        System or systems to compare all others with; by default, all pairs are compared.
    standardised
        Whether to pool standardised differences (Hedges' g of paired differences), instead of
        differences in the unit of the scores; requires three topics.
    tau2_by
        `reml`, `paule-mandel` or `dersimonian-laird`.
    errors
        `hartung-knapp`; `hartung-knapp-ad-hoc`, whose standard error is at least the classical
        one, from the weights alone; or `normal`, the classical standard error with the normal
        distribution, whose Type I errors are too frequent with few collections.
    correction
        Correction of p-values for multiple pairs: `holm`, `bonferroni`, `bh`, `by`, `none`.
    alpha
        Significance level.
    missing
        `error`; `drop` excludes topics that lack a score; `zero` replaces missing scores by 0.
    resamples, seed
        Number of resamples of prediction intervals, and seed of their random numbers.

    Raises
    ------
    PolicyError
        For an unknown option or baseline, fewer than two collections, or different measures.
    CranfieldError
        For missing or infinite scores, and if no collection has two of the systems.

    Notes
    -----
    REML: Viechtbauer (2005); Paule and Mandel (1982); DerSimonian and Laird (1986). Hedges' g, with
    its variance :math:`1/n + g^2/(2n)`: Hedges (1981), Viechtbauer (2010). I^2: Higgins and
    Thompson (2002).

    Examples
    --------
    >>> a = {"old": [0.2, 0.4, 0.3, 0.5], "new": [0.4, 0.5, 0.5, 0.6]}
    >>> b = {"old": [0.1, 0.3, 0.2, 0.2], "new": [0.2, 0.5, 0.2, 0.4]}
    >>> c = {"old": [0.5, 0.7, 0.6, 0.4], "new": [0.6, 0.7, 0.8, 0.6], "other": [0, 0, 0, 0.1]}
    >>> pooled = meta_analysis({"a": a, "b": b, "c": c}, baseline="old").pooled
    >>> pooled.estimate.round(4).tolist(), pooled.places.tolist()
    ([0.1395, -0.525], [3, 1])
    """
    check_choice("tau2_by", tau2_by, TAU2_BY)
    check_choice("errors", errors, ERRORS)
    adjustment = CORRECTIONS[CORRECTIONS.find(correction)]
    if adjustment.families is not None:
        supported = ", ".join(name for name, c in CORRECTIONS.items() if c.families is None)
        raise PolicyError(
            f"correction {adjustment.name} cannot be combined with a meta-analysis;"
            f" use one of: {supported}"
        )
    options = Options(alpha=alpha, resamples=resamples, seed=seed)
    common = common_pairs(collections, baseline, missing)
    if not standardised and len({*common.measures}) > 1:
        names = ", ".join(map(quoted, dict.fromkeys(common.measures)))
        raise PolicyError(f"differences of {names} cannot be pooled; use standardised=True")
    topics = np.array(common.topics)
    # The bias correction of standardised differences requires three topics.
    has_error = (common.deviation > 0) & (topics > (2 if standardised else 1))
    moments = (common.mean, common.deviation)
    difference, error = (np.where(has_error, moment, np.nan) for moment in moments)
    if standardised:
        difference *= bias_correction(topics - 1.0) / error
        error = np.sqrt(1 / topics + difference**2 / (2 * topics))
    else:
        error /= np.sqrt(topics)
    y, v = np.where(has_error, difference, 0.0), np.where(has_error, error**2, np.inf)
    pooled = pool(y, v, tau2_by, errors)
    is_pooled = pooled.places > 1
    df = np.where(is_pooled, np.inf if errors == "normal" else pooled.places - 1.0, 1.0)

    def interval(level: Level) -> Bounds:
        # Without an error the interval is infinite.
        low, high = t_interval(pooled.estimate, pooled.error, df, level)
        return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)

    t = standardised_difference(pooled.estimate, pooled.error)
    pvalue = np.where(is_pooled, difference_pvalues(t, pooled.error, df, "two-sided"), 1.0)
    outcome = Outcome(t, pvalue, pooled.estimate, interval, pooled.places)
    pairs = Pairs(np.empty((0, len(common.systems))), common.first, common.second)
    corrected = adjustment.run(outcome, pairs, options)
    return MetaAnalysis(
        pairs=common,
        difference=difference,
        error=error,
        pooled=pooled,
        standardised=standardised,
        tau2_by=tau2_by,
        errors=errors,
        correction=adjustment.name,
        alpha=alpha,
        raw_pvalues=pvalue,
        adjusted_pvalues=corrected.pvalue,
        interval=(corrected.interval or interval)(1 - alpha),
        interval_kind=corrected.interval_kind,
        prediction=predict(y, v, 1 - alpha, resamples, seed),
        resamples=resamples,
        seed=seed,
        notes=(*common.notes, *_notes(common, has_error, pooled, errors)),
    )


def _notes(pairs: CommonPairs, has_error: Bools, pooled: Pooled, errors: str) -> list[str]:
    notes = []
    n_constant = int((~has_error & ~np.isnan(pairs.mean)).sum())
    if n_constant:
        notes.append(
            f"{counted(n_constant, 'pair')} of a collection excluded: the difference is the"
            " same on all topics, so that its standard error is unknown"
        )
    n_alone = int((pooled.places < 2).sum())
    if n_alone:
        notes.append(
            f"{counted(n_alone, 'pair')} in fewer than two collections: p is 1, without an interval"
        )
    return notes
