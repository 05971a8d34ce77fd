"""Several collections: the difference of two systems over all of them, and how much it varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.corrections.catalogue import CORRECTIONS, find_correction
from cranfield.significance.difference_by_error import p_of, ratio, spread, t_limits
from cranfield.significance.effects.standardised import bias_correction
from cranfield.significance.models.anova_table import shown_p
from cranfield.significance.options import Options
from cranfield.significance.outcome import Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.several.common_pairs import CommonPairs, common_pairs
from cranfield.significance.several.random_effects import ERRORS, TAU2_BY, Pooled, pool, predict
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular.frames import Framed, from_frame

TITLES = {
    "reml": "restricted maximum likelihood",
    "paule-mandel": "Paule and Mandel",
    "dersimonian-laird": "DerSimonian and Laird",
}


@dataclass(frozen=True, eq=False, repr=False)
class MetaAnalysis(Framed):
    """Differences of pairs of systems over several collections; made by :func:`meta_analysis`.

    Attributes
    ----------
    of
        The pairs, and which collections hold them.
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
        Lower and upper limits of the pooled difference at confidence 1 - alpha, by pair.
    interval_kind
        What these limits hold for.
    prediction
        Limits between which the true difference on another such collection lies with probability
        1 - alpha, by pair.
    resamples, seed
        Of the prediction limits.
    notes
        What a reader should be told.
    """

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
    interval: Limits
    interval_kind: str
    prediction: Limits
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.of)

    def to_polars(self) -> pl.DataFrame:
        """Return one row a pair; what takes two collections is null where there is one."""
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

        `weight` is the collection's share of the pooled difference.
        """
        tau2 = np.nan_to_num(self.pooled.tau2)[:, None]
        weight = 1 / (self.error**2 + tau2)
        weight /= np.nansum(weight, axis=1, keepdims=True)
        columns = {"difference": self.difference, "standard error": self.error, "weight": weight}
        return self.of.long_frame(weight, **columns)

    def __str__(self) -> str:
        of = self.of
        start = f"{plain(of.measure)}: " if of.measure else ""
        unit = "standardised differences" if self.standardised else "differences"
        title = CORRECTIONS[self.correction].title
        level = f"{1 - self.alpha:.4g}"
        lines = [
            f"{start}random-effects meta-analysis of {unit}; {title}, alpha {self.alpha:g}",
            f"{counted(len(of.names), 'collection')}: "
            + ", ".join(
                f"{plain(name)} ({counted(topics, 'topic')})"
                for name, topics in zip(of.names, of.topics, strict=True)
            ),
            f"variance between collections by {TITLES[self.tau2_by]}, errors {self.errors}",
            f"low, high: {level} confidence limits of the mean over such collections,"
            f" {self.interval_kind}",
            f"predicted low, high: {level} prediction limits of the difference on another"
            f" collection, by parametric bootstrap, {self.resamples:,} samples, seed {self.seed}",
            *(f"note: {note}" for note in self.notes),
        ]
        p = {"p", "p of Q"}
        frame = self.to_polars()
        shown = frame.with_columns(
            pl.Series(name, ["" if one is None else shown_p(one) for one in frame[name]])
            for name in p
        )
        left = ("first", "second")
        return "\n".join([*lines, "", str(from_frame(shown, "", left=left)).lstrip("\n")])

    def __repr__(self) -> str:
        number = counted(len(self.of.names), "collection")
        return f"MetaAnalysis({counted(len(self), 'pair')}, {number})"


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
    resamples: int = 10_000,
    seed: int = 0,
) -> MetaAnalysis:
    r"""Pool the differences of systems over several collections that hold them.

    On collection c the mean difference :math:`y_c` of a pair has the variance :math:`v_c`, that of
    its differences by topic over their number. With the variance :math:`\tau^2` of true
    differences between collections,

    .. math:: \hat\mu = \frac{\sum_c w_c y_c}{\sum_c w_c}, \quad w_c = \frac{1}{v_c + \tau^2},
        \quad SE^2 = \frac{1}{\sum_c w_c} \cdot \frac{\sum_c w_c (y_c - \hat\mu)^2}{k - 1}

    and :math:`\hat\mu \pm t_{k-1} SE` are the limits of Hartung and Knapp (2001) and of Sidik and
    Jonkman (2002). The interval of the true difference on another such collection is the parametric
    bootstrap interval of Nagashima, Noma and Furukawa (2019): it allows for the uncertainty of
    :math:`\tau^2`, which :math:`\hat\mu \pm t_{k-1} \sqrt{SE^2 + \tau^2}` takes as known. It does
    not depend on `tau2_by` and `errors`.

    It assumes that the collections are like a random sample of those that are meant, with true
    differences that vary normally, that no topic is in two of them, and that means over topics are
    about normal. With two or three collections intervals are wide, as they should be: what these
    say of others is little.

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
        weights alone; or `normal`, that error with the normal distribution, which errs too often
        with few collections.
    correction
        For many pairs; any that goes by p-values alone: `holm`, `bonferroni`, `bh`, `by`, `none`.
    alpha
        Significance level.
    missing
        `error`; `drop` leaves out topics of a collection that lack a score; `zero` counts 0.
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
    adjustment = CORRECTIONS[find_correction(correction)]
    if adjustment.families is not None:
        fitting = ", ".join(one.name for one in CORRECTIONS.values() if one.families is None)
        raise PolicyError(f"{adjustment.name} does not go with a meta-analysis; {fitting} do")
    options = Options(alpha=alpha, resamples=resamples, seed=seed)
    of = common_pairs(collections, baseline, missing, find_test("t").info)
    if not standardised and len({*of.measures}) > 1:
        names = ", ".join(map(quoted, dict.fromkeys(of.measures)))
        raise PolicyError(f"differences of {names} cannot be pooled; standardised ones can")
    mean, deviation = of.table(lambda pairs: _moments(pairs)[0]), of.table(lambda p: _moments(p)[1])
    topics = np.array(of.topics)
    # Of two topics no difference is unbiased by its standard deviation.
    known = (deviation > 0) & (topics > (2 if standardised else 1))
    difference, error = np.where(known, mean, np.nan), np.where(known, deviation, np.nan)
    if standardised:
        difference *= bias_correction(topics - 1.0) / error
        error = np.sqrt(1 / topics + difference**2 / (2 * topics))
    else:
        error /= np.sqrt(topics)
    y, v = np.where(known, difference, 0.0), np.where(known, error**2, np.inf)
    found = pool(y, v, tau2_by, errors)
    several = found.places > 1
    df = np.where(several, np.inf if errors == "normal" else found.places - 1.0, 1.0)
    limits = partial(_limits, found.estimate, found.error, df)
    t = ratio(found.estimate, found.error)
    pvalue = np.where(several, p_of(t, found.error, df, "two-sided"), 1.0)
    none = np.zeros(len(of), dtype=np.intp)
    outcome = Outcome(t, pvalue, found.estimate, limits, found.places, none, none)
    corrected = adjustment.run(outcome, of.pairs, options)
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


def _moments(pairs: Pairs) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the differences of each pair."""
    found = []
    for block in pairs.blocks():
        differences = block.differences()
        mean = differences.mean(axis=1)
        found.append((mean, spread(differences, mean, block.rounding)))
    means, deviations = zip(*found, strict=True)
    return np.concatenate(means), np.concatenate(deviations)


def _limits(estimate: Floats, error: Floats, df: Floats, level: float) -> Limits:
    """Return limits by Student's t; without an error nothing is known."""
    low, high = t_limits(estimate, error, df, level)
    return np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)


def _notes(of: CommonPairs, known: Bools, found: Pooled, errors: str) -> list[str]:
    notes = []
    constant = sum(int((~known[one.rows, k]).sum()) for k, one in enumerate(of.held))
    if constant:
        notes.append(
            f"differences of {counted(constant, 'pair')} of a collection do not vary, so that their"
            " error is not known: left out"
        )
    alone = int((found.places < 2).sum())
    if alone:
        notes.append(f"{counted(alone, 'pair')} in fewer than two collections: p is 1, no limits")
    return notes
