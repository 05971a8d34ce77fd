"""Extrapolation: what a number of topics is expected to find, by the variances of the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.meta.of_tests.given import checked_sizes
from cranfield.meta.of_topics.generalizability import generalizability
from cranfield.meta.of_topics.power import power
from cranfield.meta.of_topics.topic_samples import topic_scores
from cranfield.meta.of_topics.variance_components import Generalizability
from cranfield.meta.study import Study, labelled, of_measure
from cranfield.significance.corrections.catalogue import find_correction
from cranfield.significance.corrections.studentised import studentised_range_isf
from cranfield.significance.options import Options
from cranfield.significance.pairs import ROUNDING
from cranfield.tabular import Table, from_frame

CORRECTIONS = ("tukey", "none", "bonferroni")
"""Corrections whose critical value does not depend on the scores."""

SIZES = (10, 25, 50, 75, 100, 150, 200, 300, 500, 1000)
"""Numbers of topics in a table, besides that of the scores."""

MOST_TOPICS = 10_000_000
"""No number above it is taken."""

MEANS = ("observed", "shrunk", "normal", "normal low", "normal high")
"""What the true means of the systems are taken to be."""


@dataclass(frozen=True, eq=False, repr=False)
class Extrapolation(
    Study,
    name="extrapolation",
    source="Brennan (2001); Louis (1984)",
    keys={"extrapolation": ("measure", "topics", "means")},
    main="table",
):
    """What numbers of topics are expected to find.

    Attributes
    ----------
    measure, systems, topics
        Of the scores; numbers of systems and topics.
    correction, alpha
        Of the tests of all pairs after two-way analysis of variance.
    confidence
        Between `normal low` and `normal high`.
    pairs, significant
        Number of pairs of systems; how many of them differ significantly on the given topics.
    table
        By number of `topics` and by `means`, that is by what the true means are taken to be: the
        expected number of `significant` pairs; the expected Kendall's tau of the ranking with the
        true one (`tau truth`), and with that of as many other topics (`tau repeat`).
    generalizability, notes
        The variance components behind it; what was left out, filled in, or taken as 0.
    """

    measure: str
    systems: int
    topics: int
    correction: str
    alpha: float
    confidence: float
    pairs: int
    significant: int
    table: pl.DataFrame
    generalizability: Generalizability
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.table.filter(pl.col("means") == "shrunk").sort("topics")
        if rows.is_empty():
            return ()
        last = rows.row(-1, named=True)
        size, normal = last["topics"], self.table.filter(pl.col("topics") == last["topics"])
        low, high = (
            normal.filter(pl.col("means") == f"normal {end}")["significant"].item()
            for end in ("low", "high")
        )
        return (
            f"{labelled(self.measure)}of {counted(self.pairs, 'pair')} of systems,"
            f" {self.significant:,} differ significantly on {counted(self.topics, 'topic')}; on"
            f" {counted(size, 'topic')} {last['significant']:.0f} would be expected to, and the"
            f" order of systems to have Kendall's tau {last['tau truth']:.2f} with the true one.",
            "That takes scores as sums of a system, a topic and normal errors of one variance, and"
            f" true means nearer to each other than those observed; were systems normal, {low:.0f}"
            f" to {high:.0f} pairs ({100 * self.confidence:g}% limits).",
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"extrapolation": of_measure(self.measure, self.table)}

    def about(self) -> dict[str, Any]:
        sizes, options = ("measure", "systems", "topics"), ("correction", "alpha", "confidence")
        return {"study": "extrapolation", **self._chosen(*sizes, *options)}

    def tables(self) -> list[Table]:
        parts = {
            name: self.table.filter(pl.col("means") == name).drop("means")
            for name in ("shrunk", "normal low", "normal high")
        }
        table = parts.pop("shrunk")
        for name, part in parts.items():
            other = part.select("topics", pl.col("significant").alias(name))
            table = table.join(other, on="topics")
        title = (
            f"{labelled(self.measure)}what numbers of topics would find of"
            f" {counted(self.pairs, 'pair')} (two-way ANOVA, {self.correction}, alpha"
            f" {self.alpha:g}), and tau with the true ranking and with one by other topics; normal"
            " low, high: significant pairs, were systems normal"
        )
        places = {**dict.fromkeys(("significant", *parts), 1), "tau truth": 2, "tau repeat": 2}
        return [from_frame(table, title, left=[], places=places)]

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        return (
            f"Extrapolation({label}{self.systems} systems, {self.topics} topics,"
            f" {self.significant} of {self.pairs} pairs significant by {self.correction})"
        )


def extrapolate(
    scores: Any,
    sizes: Iterable[int] | None = None,
    *,
    correction: str = "tukey",
    alpha: float = 0.05,
    confidence: float = 0.95,
    missing: str | None = None,
) -> Extrapolation:
    r"""Estimate what other numbers of topics would find, by two-way analysis of variance.

    Parameters
    ----------
    scores, missing
        As for :func:`cranfield.meta.of_topics.generalizability.generalizability`.
    sizes
        Numbers of topics, 2 or more; by default some from 10 to 1000, and that of the scores.
    correction, alpha
        Of the tests of all pairs: `tukey`, `none` or `bonferroni`; and their significance level.
    confidence
        Between the rows `normal low` and `normal high`, from 0 to 1.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few, or add up from topic and system without error.
    PolicyError
        For an option that is unknown or out of its range, or scores by shard.

    Notes
    -----
    Scores are taken to add up from a topic, a system, and independent normal errors with one
    variance, estimated by :math:`MS_E`. With n topics and true means :math:`\mu_i`, the pair i, j
    is then found to differ with the power of a t-test with the error of all systems,

    .. math:: P(|T| \ge c_n), \quad T \sim t(\phi; \lambda), \quad
        \phi = (n - 1)(m - 1), \quad \lambda = \frac{\mu_i - \mu_j}{\sigma \sqrt{2 / n}}

    where :math:`c_n` is :math:`q_\alpha(m, \phi) / \sqrt{2}` for Tukey's HSD, and a quantile of t
    for no correction or Bonferroni's. The sum over pairs is the expected number. The two means
    are in their true order with probability :math:`\Phi(|\lambda|)`, so that over pairs the means
    of :math:`2\Phi(|\lambda|) - 1` and of its square are the expected tau with the true ranking,
    and between the rankings by two sets of n topics. (A true tie counts 0 in both.)

    The true means are not known. They are taken to be

    - `observed`: the means of the scores. Those scatter more than the true means do, by
      :math:`\sigma^2_{st} / n`, so that all numbers come out too high, the more so the fewer
      topics there are.
    - `shrunk`: the observed means, their distances from the overall mean multiplied by
      :math:`\sqrt{E\rho^2}` of the given topics. They scatter as much as the true means are
      estimated to (Louis 1984), which matters here more than to be near each of them.
    - `normal`: a normal sample with the estimated variance of systems, in place of these systems.
      Then the pairs have the closed forms

      .. math:: P\left(|t_\phi| \ge \frac{c_n}{\sqrt{1 + n \sigma^2_s / \sigma^2_{st}}}\right),
          \quad \frac{2}{\pi} \arcsin \sqrt{E\rho^2(n)}, \quad \frac{2}{\pi} \arcsin E\rho^2(n)

    - `normal low`, `normal high`: the same with the confidence limits of
      :math:`\sigma^2_s / \sigma^2_{st}`.

    Systems of a collection are often far from a normal sample, such as many of much the same means
    and a few that failed. `shrunk` keeps their shape, and is the row to go by; the normal limits
    show how well the variance of systems is known at all. In all rows the error has one variance,
    as the test assumes.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, "nDCG@20")
    >>> found = extrapolate(ev["nDCG@20"], [50, 200])
    >>> found
    Extrapolation(nDCG@20: 40 systems, 50 topics, 473 of 780 pairs significant by tukey)
    >>> found.table.filter(means="shrunk")["significant"].round().to_list()
    [471.0, 610.0]
    """
    correct = find_correction(correction)
    if correct not in CORRECTIONS:
        raise PolicyError(f"correction {quoted(correction)} is none of {', '.join(CORRECTIONS)}")
    Options(alpha=alpha)
    ready = topic_scores(scores, missing)
    found = generalizability(ready.scores, confidence=confidence)
    n, m = found.topics, found.systems
    wanted = sorted(
        {*SIZES, n} if sizes is None else checked_sizes(sizes, MOST_TOPICS, f"{MOST_TOPICS:,}")
    )
    error = float(found.components["mean square"][2])
    if error <= 0:
        raise CranfieldError("the scores leave no error: any number of topics says the same")
    means = ready.flat.mean(axis=0)
    shrunk = means.mean() + np.sqrt(found.relative().value) * (means - means.mean())
    # The ratio of variances behind a coefficient r of one topic is r / (1 - r).
    single = found.relative(1)
    # Without a limit there is no ratio: a coefficient next to 1 has one.
    shares = (min(r, math.nextafter(1, 0)) for r in (single.value, single.low, single.high))
    ratios = dict(zip(MEANS[2:], (r / (1 - r) for r in shares), strict=True))
    rows: list[dict[str, Any]] = []
    for size in wanted:
        critical = _critical(correct, alpha, m, (size - 1) * (m - 1))
        for name, true in (("observed", means), ("shrunk", shrunk)):
            rows.append({"topics": size, "means": name, **_given(true, error, size, critical)})
        for name, ratio in ratios.items():
            rows.append({"topics": size, "means": name, **_normal(ratio, m, size, critical)})
    apart = np.abs(_apart(means))
    limit = _critical(correct, alpha, m, (n - 1) * (m - 1)) * np.sqrt(2 * error / n)
    clear = apart > ROUNDING * float(np.abs(ready.flat).max())
    return Extrapolation(
        measure=found.measure,
        systems=m,
        topics=n,
        correction=correct,
        alpha=float(alpha),
        confidence=found.confidence,
        pairs=int(apart.size),
        significant=int((clear & (apart >= limit)).sum()),
        table=pl.DataFrame(rows),
        generalizability=found,
        notes=(*ready.notes, *found.notes),
    )


def _given(means: Floats, error: float, topics: int, critical: float) -> dict[str, float]:
    """Return what is expected if these are the true means."""
    systems = means.size
    shift = np.abs(_apart(means)) / np.sqrt(2 * error / topics)
    right = 2 * ndtr(shift) - 1
    return {
        "significant": float(power(shift, (topics - 1) * (systems - 1), critical).sum()),
        "tau truth": float(right.mean()),
        "tau repeat": float((right**2).mean()),
    }


def _normal(ratio: float, systems: int, topics: int, critical: float) -> dict[str, float]:
    """Return what is expected if the true means are a normal sample."""
    df = (topics - 1) * (systems - 1)
    share = 2 * float(stdtr(df, -critical / np.sqrt(1 + topics * ratio)))
    coefficient = topics * ratio / (1 + topics * ratio)
    return {
        "significant": share * systems * (systems - 1) / 2,
        "tau truth": float(2 / np.pi * np.arcsin(np.sqrt(coefficient))),
        "tau repeat": float(2 / np.pi * np.arcsin(coefficient)),
    }


def _critical(correction: str, alpha: float, systems: int, df: int) -> float:
    """Return the critical value of |t|."""
    if correction == "tukey":
        return studentised_range_isf(alpha, systems, df) / float(np.sqrt(2))
    tests = systems * (systems - 1) // 2 if correction == "bonferroni" else 1
    return float(-stdtrit(df, alpha / tests / 2))


def _apart(means: Floats) -> Floats:
    first, second = np.triu_indices(means.size, 1)
    return np.asarray(means[first] - means[second])
