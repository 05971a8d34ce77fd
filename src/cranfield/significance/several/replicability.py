"""Several collections: on how many of them one system is surely better than another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.difference_by_error import spread
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs
from cranfield.significance.several.common_pairs import CommonPairs, common_pairs
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular.frames import Framed, from_frame

METHODS = ("fisher", "bonferroni")
"""Ways to combine p-values; the latter for collections that depend on each other."""

CORRECTIONS = ("bonferroni", "none")
"""Whether the numbers of all pairs hold together, or each alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Replicability(Framed):
    """On how many collections systems differ; made by :func:`replicability`.

    Attributes
    ----------
    of
        The pairs, and which collections hold them.
    test, method, correction
        The test of each collection, how p-values are combined, and what holds for many pairs.
    alpha
        1 minus the confidence of the numbers, both directions together.
    level
        What of alpha each number is tested with.
    p_greater, p_less
        One-sided p-values, shape (pairs, collections): that the first system has higher scores, or
        lower ones; NaN where a collection does not hold a pair.
    notes
        What a reader should be told of the p-values.
    """

    of: CommonPairs
    test: str
    method: str
    correction: str
    alpha: float
    level: float
    p_greater: Floats
    p_less: Floats
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.of)

    @property
    def better(self) -> Indices:
        """On how many collections, at least, the first system of each pair is better."""
        return self._number(self.p_less if self.of.lower_is_better else self.p_greater)

    @property
    def worse(self) -> Indices:
        """On how many collections, at least, it is worse."""
        return self._number(self.p_greater if self.of.lower_is_better else self.p_less)

    def _number(self, pvalues: Floats) -> Indices:
        return np.asarray((partial_conjunctions(pvalues, self.method) <= self.level).sum(axis=1))

    def to_polars(self) -> pl.DataFrame:
        """Return one row a pair: its collections, and on how many the first is better or worse."""
        return self.of.frame().with_columns(
            collections=pl.Series((~np.isnan(self.p_greater)).sum(axis=1)),
            better=pl.Series(self.better),
            worse=pl.Series(self.worse),
        )

    def by_collection(self) -> pl.DataFrame:
        """Return one row a pair and collection that holds it, with both one-sided p-values."""
        columns = {"p greater": self.p_greater, "p less": self.p_less}
        return self.of.long_frame(self.p_greater, **columns)

    def __str__(self) -> str:
        of, title = self.of, find_test(self.test).info.title
        start = f"{plain(of.measure)}: " if of.measure else ""
        held = "all pairs together" if self.correction == "bonferroni" else "each pair alone"
        lines = [
            f"{start}{title} on {counted(len(of.names), 'collection')}, combined by"
            f" {self.method.capitalize()}",
            "better, worse: on how many collections the first system is so, at least; confidence"
            f" {1 - self.alpha:.4g}, {held}",
            *(f"note: {note}" for note in (*of.notes, *self.notes)),
        ]
        table = str(from_frame(self.to_polars(), "", left=("first", "second"))).lstrip("\n")
        return "\n".join([*lines, "", table])

    def __repr__(self) -> str:
        number = counted(len(self.of.names), "collection")
        return f"Replicability({counted(len(self), 'pair')}, {number})"


def replicability(
    collections: Mapping[str, Any],
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    method: str = "fisher",
    correction: str = "bonferroni",
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: int | None = None,
) -> Replicability:
    r"""Find on how many collections, at least, one system is better than another.

    One tests whether at least u of the n collections have a true difference, for u = 1, 2, and so
    on, with the p-values :math:`p_{(1)} \le \dots \le p_{(n)}` of the collections:

    .. math:: p^{u/n} = P\Big(\chi^2_{2(n-u+1)} \ge -2 \sum_{i=u}^n \ln p_{(i)}\Big)
        \quad \text{or} \quad p^{u/n} = (n - u + 1)\, p_{(u)}

    The number is the largest u up to which all of them are at most alpha: with probability
    1 - alpha it is not too large. To count significant collections instead is no such bound.

    Both directions are tested one-sided, with half of alpha each. Source: Benjamini and Heller
    (2008); Dror, Baumer, Bogomolov and Reichart (2017). It assumes what the test assumes of each
    collection; `fisher` also that collections have no topic in common and are independent.

    Parameters
    ----------
    collections
        By name of each collection its scores, as :func:`cranfield.compare` takes them, or a
        comparison. Systems are the same where their names are.
    baseline
        A system, or several, that the others are compared with; else all pairs are.
    test
        Of two systems: any that :func:`cranfield.compare` knows but models of all systems.
    method
        `fisher`, or `bonferroni`, for collections that depend on each other.
    correction
        `bonferroni`, so that the numbers of all pairs hold together; or `none`.
    alpha
        1 minus the confidence.
    missing
        As for :func:`cranfield.compare`.
    resamples, seed, jobs
        Of tests that draw random numbers.

    Raises
    ------
    PolicyError
        For an unknown option or baseline, or fewer than two collections.
    CranfieldError
        For scores that are missing or infinite, and where no collection holds two systems.

    Examples
    --------
    >>> a = {"old": [0.2, 0.4, 0.3, 0.5], "new": [0.4, 0.5, 0.5, 0.6]}
    >>> b = {"old": [0.1, 0.3, 0.2, 0.2], "new": [0.2, 0.5, 0.3, 0.4]}
    >>> c = {"old": [0.5, 0.7, 0.6, 0.4], "new": [0.6, 0.7, 0.5, 0.6]}
    >>> found = replicability({"a": a, "b": b, "c": c}, baseline="old")
    >>> found.better.tolist(), found.worse.tolist()
    ([2], [0])
    """
    check_choice("method", method, METHODS)
    check_choice("correction", correction, CORRECTIONS)
    options = Options(alpha=alpha, resamples=resamples, seed=seed, jobs=jobs)
    chosen = find_test(test)
    if chosen.info.model or chosen.info.bound:
        raise PolicyError(f"replicability takes a test of two systems, not {chosen.info.name}")
    of = common_pairs(collections, baseline, missing, chosen.info)

    constant = of.table(_constant)
    floor = 0.5 ** np.array(of.topics)

    def pvalues(side: str) -> Floats:
        one_sided = replace(options, alternative=side)
        found = of.table(lambda pairs: chosen.run(pairs, one_sided).pvalue)
        # The same difference on n topics has, by sign flips, a probability of 2^-n.
        return np.where(constant == 1, np.maximum(found, floor), found)

    return Replicability(
        of=of,
        test=chosen.info.name,
        method=method,
        correction=correction,
        alpha=alpha,
        level=alpha / 2 / (len(of) if correction == "bonferroni" else 1),
        p_greater=pvalues("greater"),
        p_less=pvalues("less"),
        notes=_notes(int(np.nansum(constant))),
    )


def _constant(pairs: Pairs) -> Floats:
    """Return 1 for pairs whose difference is the same on all topics and not 0, else 0."""
    found = []
    for block in pairs.blocks():
        differences = block.differences()
        mean = differences.mean(axis=1)
        found.append(
            (spread(differences, mean, block.rounding) == 0) & (np.abs(mean) > block.rounding)
        )
    return np.concatenate(found).astype(np.float64)


def _notes(constant: int) -> tuple[str, ...]:
    if not constant:
        return ()
    return (
        f"{counted(constant, 'pair')} of a collection differ by the same on all n topics: p is at"
        " least 2^-n, that of exact sign flips",
    )


def partial_conjunctions(pvalues: Floats, method: str) -> Floats:
    """Return p-values that at least 1, 2, ... of the null hypotheses of each row are false.

    NaN is no hypothesis. They do not fall from left to right (Dror et al. 2017, section 4), and are
    1 where there are fewer hypotheses.
    """
    ordered = np.sort(pvalues, axis=1)
    known = ~np.isnan(ordered)
    left = known.sum(axis=1, keepdims=True) - np.arange(ordered.shape[1])
    if method == "bonferroni":
        found = left * ordered
    else:
        with np.errstate(divide="ignore"):
            logs = np.where(known, -2 * np.log(ordered), 0.0)
        found = chdtrc(2.0 * left, np.cumsum(logs[:, ::-1], axis=1)[:, ::-1])
    return np.asarray(np.maximum.accumulate(np.where(known, np.minimum(found, 1.0), 1.0), axis=1))
