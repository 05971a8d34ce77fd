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
    named_pairs,
    p_of,
    pairs_of,
    ratio,
    t_interval,
)
from cranfield.significance.effects import bias_correction
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
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
    mean: Floats  # of the differences of a pair on a collection; NaN where it does not hold it
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
        return named_pairs(self.systems, self.first, self.second)


def common_pairs(
    collections: Mapping[str, Any], baseline: str | Sequence[str] | None, missing: str | None
) -> CommonPairs:
    """Match systems by name, apply the policy for missing scores, and list the pairs of each"
    " collection."""
    if not isinstance(collections, Mapping):
        raise PolicyError("expected a mapping of collections to scores")
    if len(collections) < 2:
        raise PolicyError(
            f"a meta-analysis requires at least two collections, got {len(collections)}"
        )
    test = find_test("t").info
    ready = {
        str(name): prepared(
            one.scores if isinstance(one, PairwiseComparison) else as_scores(one), test, missing
        )
        for name, one in collections.items()
    }
    scores = {name: one.scores for name, one in ready.items()}
    if len({one.lower_is_better for one in scores.values()}) > 1:
        raise PolicyError("expected measures of one direction, got lower and higher is better")
    systems = tuple(dict.fromkeys(name for one in scores.values() for name in one.systems))
    pairs = pairs_of(np.empty((0, len(systems))), baseline_indices(systems, baseline))
    mean, deviation = np.full((2, len(pairs), len(scores)), np.nan)
    for k, one in enumerate(ready.values()):
        place_of = {system: place for place, system in enumerate(one.scores.systems)}
        places = np.array([place_of.get(system, -1) for system in systems])
        first, second = places[pairs.first], places[pairs.second]
        rows = np.flatnonzero((first >= 0) & (second >= 0))
        if rows.size:
            moments = Pairs(one.flat, first[rows], second[rows]).moments()
            mean[rows, k], deviation[rows, k], _ = moments
    kept = ~np.isnan(mean).all(axis=1)
    if not kept.any():
        raise CranfieldError("no collection has two of the systems to compare")
    notes = [f"{name}: {note}" for name, one in ready.items() for note in one.notes]
    notes += dict.fromkeys(note for one in scores.values() for note in one.direction_notes())
    for name, of in scores.items():
        lacking = [quoted(system) for system in systems if system not in {*of.systems}]
        if lacking:
            notes.append(f"{name} lacks {some_of(lacking, 5)}")
    if not kept.all():
        alone = counted(int((~kept).sum()), "pair")
        notes.append(f"no collection has both systems of {alone}: excluded")
    return CommonPairs(
        names=tuple(scores),
        topics=tuple(len(one.topics) for one in scores.values()),
        measures=tuple(one.measure for one in scores.values()),
        systems=systems,
        first=pairs.first[kept],
        second=pairs.second[kept],
        mean=mean[kept],
        deviation=deviation[kept],
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
    of
        The pairs, and the collections that have them.
    difference, error
        Mean differences and their standard errors, shape (pairs, collections); NaN where a
        collection does not hold a pair, or its differences do not vary.
    pooled
        By pair: number of collections, pooled difference and its standard error, tau^2, Q and its
        p-value, I^2; those that take two collections are NaN where a pair has one.
    standardised
        Whether differences are in standard deviations of the differences by topic.
    tau2_by, errors
        How the variance between collections and the standard error are estimated.
    correction
        Of p-values, for many pairs.
    alpha
        Significance level.
    raw_pvalues, adjusted_pvalues
        That the pooled difference is 0, by pair, before and after the correction.
    interval
        Confidence interval of the pooled difference at confidence 1 - alpha, by pair.
    interval_kind
        Scope of these intervals.
    prediction
        Prediction interval of the true difference on another such collection, with probability 1 -
        alpha, by pair.
    resamples, seed
        Of the prediction intervals.
    notes
        Notes for the reader.
    """

    columns: ClassVar[Columns] = {
        **PAIR,
        "collections": Column("Number of collections that have the pair."),
        "difference": Column("Pooled difference, first minus second."),
        "low": Column("Lower bound of its confidence interval; null with one collection."),
        "high": Column("Upper bound of the interval."),
        "p": Column("Adjusted p-value that the pooled difference is 0.", pvalue=True),
        "predicted low": Column(
            "Lower bound of the prediction interval of the true difference on another such"
            " collection."
        ),
        "predicted high": Column("Upper bound of the interval."),
        "tau": Column("Standard deviation of true differences between collections."),
        "I^2": Column("Proportion of the variance that is due to differences of collections."),
        "Q": Column("Cochran's Q statistic of heterogeneity."),
        "p of Q": Column("p-value of Q.", pvalue=True),
    }

    of: CommonPairs
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
        return len(self.of)

    def _frame(self) -> pl.DataFrame:
        found = self.pooled
        columns = {
            "difference": found.estimate,
            "low": self.interval[0],
            "high": self.interval[1],
            "p": self.adjusted_pvalues,
            "predicted low": self.prediction[0],
            "predicted high": self.prediction[1],
            "tau": np.sqrt(found.tau2),
            "I^2": found.i2,
            "Q": found.q,
            "p of Q": found.q_pvalue,
        }
        numbers = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
        places = pl.Series("collections", found.places)
        return self.of.frame().with_columns(places, **numbers)

    def by_collection(self) -> pl.DataFrame:
        """Return one row a pair and collection that holds it: topics, difference, standard error.

        `weight` is the weight of the collection in the pooled difference.
        """
        tau2 = np.nan_to_num(self.pooled.tau2)[:, None]
        weight = 1 / (self.error**2 + tau2)
        weight /= np.nansum(weight, axis=1, keepdims=True)
        row, place = np.nonzero(~np.isnan(weight))
        columns = {"difference": self.difference, "standard error": self.error, "weight": weight}
        return self.of.frame()[row].with_columns(
            pl.Series("collection", self.of.names, dtype=pl.String).gather(place),
            pl.Series("topics", self.of.topics, dtype=pl.Int64).gather(place),
            **{name: pl.Series(values[row, place]) for name, values in columns.items()},
        )

    def heading(self) -> list[str]:
        """Return lines on the method, the collections and the meaning of columns."""
        of = self.of
        start = f"{plain(of.measure)}: " if of.measure else ""
        unit = "standardised differences" if self.standardised else "differences"
        title = CORRECTIONS[self.correction].title
        level = f"{1 - self.alpha:.4g}"
        return [
            f"{start}random-effects meta-analysis of {unit}; {title}, alpha {self.alpha:g}",
            f"{counted(len(of.names), 'collection')}: "
            + ", ".join(
                f"{plain(name)} ({counted(topics, 'topic')})"
                for name, topics in zip(of.names, of.topics, strict=True)
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
    r"""Pool the differences of systems over several collections that hold them.

    On collection c the mean difference :math:`y_c` of a pair has the variance :math:`v_c`, that of
    its differences by topic over their number. With the variance :math:`\tau^2` of true
    differences between collections,

    .. math:: \hat\mu = \frac{\sum_c w_c y_c}{\sum_c w_c}, \quad w_c = \frac{1}{v_c + \tau^2},
        \quad SE^2 = \frac{1}{\sum_c w_c} \cdot \frac{\sum_c w_c (y_c - \hat\mu)^2}{k - 1}

    and :math:`\hat\mu \pm t_{k-1} SE` is the interval of Hartung and Knapp (2001) and of Sidik and
    Jonkman (2002). The interval of the true difference on another such collection is the parametric
    bootstrap interval of Nagashima, Noma and Furukawa (2019): it allows for the uncertainty of
    :math:`\tau^2`, which :math:`\hat\mu \pm t_{k-1} \sqrt{SE^2 + \tau^2}` takes as known. It does
    not depend on `tau2_by` and `errors`.

    It assumes that the collections are like a random sample of all collections of interest, with
    true
    differences that vary normally, that no topic is in two of them, and that means over topics are
    about normal. With two or three collections intervals are wide, as little is known about others.

    Parameters
    ----------
    collections
        By name of each collection its scores, as :func:`cranfield.compare` takes them, or a
        comparison. Systems are the same where their names are.
    baseline
        A system, or several, that the others are compared with; else all pairs are.
    standardised
        Whether to pool differences by their standard deviation over topics, Hedges' g of paired
        differences, in place of the differences themselves. Of two topics there is none.
    tau2_by
        `reml`, `paule-mandel` or `dersimonian-laird`.
    errors
        `hartung-knapp`; `hartung-knapp-ad-hoc`, whose standard error is at least that of the
        weights alone; or `normal`, that error with the normal distribution, whose Type I errors are
        too frequent with few collections.
    correction
        For multiple pairs; any correction of p-values: `holm`, `bonferroni`, `bh`, `by`, `none`.
    alpha
        Significance level.
    missing
        `error`; `drop` excludes topics of a collection that lack a score; `zero` counts 0.
    resamples, seed
        Samples of prediction intervals, and the seed of their random numbers.

    Raises
    ------
    PolicyError
        For an unknown option or baseline, fewer than two collections, or different measures.
    CranfieldError
        For scores that are missing or infinite, and where no collection holds two systems.

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
    >>> found = meta_analysis({"a": a, "b": b, "c": c}, baseline="old")
    >>> found.pooled.estimate.round(4).tolist(), found.pooled.places.tolist()
    ([0.1395, -0.525], [3, 1])
    """
    check_choice("tau2_by", tau2_by, TAU2_BY)
    check_choice("errors", errors, ERRORS)
    adjustment = CORRECTIONS[CORRECTIONS.find(correction)]
    if adjustment.families is not None:
        fitting = ", ".join(one.name for one in CORRECTIONS.values() if one.families is None)
        raise PolicyError(
            f"correction {adjustment.name} cannot be combined with a meta-analysis;"
            f" use one of: {fitting}"
        )
    options = Options(alpha=alpha, resamples=resamples, seed=seed)
    of = common_pairs(collections, baseline, missing)
    if not standardised and len({*of.measures}) > 1:
        names = ", ".join(map(quoted, dict.fromkeys(of.measures)))
        raise PolicyError(f"differences of {names} cannot be pooled; use standardised=True")
    topics = np.array(of.topics)
    # Of two topics no difference is unbiased by its standard deviation.
    known = (of.deviation > 0) & (topics > (2 if standardised else 1))
    difference, error = np.where(known, of.mean, np.nan), np.where(known, of.deviation, np.nan)
    if standardised:
        difference *= bias_correction(topics - 1.0) / error
        error = np.sqrt(1 / topics + difference**2 / (2 * topics))
    else:
        error /= np.sqrt(topics)
    y, v = np.where(known, difference, 0.0), np.where(known, error**2, np.inf)
    found = pool(y, v, tau2_by, errors)
    several = found.places > 1
    df = np.where(several, np.inf if errors == "normal" else found.places - 1.0, 1.0)

    def limits(level: Level) -> Bounds:
        # Without an error nothing is known.
        low, high = t_interval(found.estimate, found.error, df, level)
        return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)

    t = ratio(found.estimate, found.error)
    pvalue = np.where(several, p_of(t, found.error, df, "two-sided"), 1.0)
    outcome = Outcome(t, pvalue, found.estimate, limits, found.places)
    pairs = Pairs(np.empty((0, len(of.systems))), of.first, of.second)
    corrected = adjustment.run(outcome, pairs, options)
    return MetaAnalysis(
        of=of,
        difference=difference,
        error=error,
        pooled=found,
        standardised=standardised,
        tau2_by=tau2_by,
        errors=errors,
        correction=adjustment.name,
        alpha=alpha,
        raw_pvalues=pvalue,
        adjusted_pvalues=corrected.pvalue,
        interval=(corrected.interval or limits)(1 - alpha),
        interval_kind=corrected.holds_for,
        prediction=predict(y, v, 1 - alpha, resamples, seed),
        resamples=resamples,
        seed=seed,
        notes=(*of.notes, *_notes(of, known, found, errors)),
    )


def _notes(of: CommonPairs, known: Bools, found: Pooled, errors: str) -> list[str]:
    notes = []
    constant = int((~known & ~np.isnan(of.mean)).sum())
    if constant:
        notes.append(
            f"{counted(constant, 'pair')} of a collection excluded: the difference is the"
            " same on all topics, so that its standard error is unknown"
        )
    alone = int((found.places < 2).sum())
    if alone:
        notes.append(
            f"{counted(alone, 'pair')} in fewer than two collections: p is 1, without an interval"
        )
    return notes
