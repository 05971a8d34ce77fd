"""Comparison of systems while topics come in: valid whenever one looks, and stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.border.given import Numbers
from cranfield.base.checks import check_choice, check_share, check_whole, numbers
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.anytime.betting import BETS, log_capital, lower_limits
from cranfield.significance.comparison.result import MOST_ROWS
from cranfield.significance.corrections.of_pvalues import adjusted
from cranfield.significance.options import Options
from cranfield.significance.pairs import Pairs, against, all_pairs
from cranfield.significance.prepare import as_scores, baseline_indices, score_bounds
from cranfield.tabular.frames import Framed, from_frame
from cranfield.tabular.text import grid

HOLDING = {
    "none": "not corrected for many pairs",
    "bonferroni": "Bonferroni's correction",
    "holm": "Holm's correction",
    "bh": "false discovery rate by e-values (e-BH)",
}
"""Corrections that hold whenever one stops; `bh` is that of e-values, which allows dependence."""

MOST_LOOKS = 100
"""Looks by default, where there are more topics."""


def compare_anytime(
    scores: Any,
    *,
    bounds: tuple[float, float] | None = None,
    looks: Sequence[int] | None = None,
    baseline: str | Sequence[str] | None = None,
    alternative: str = "two-sided",
    alpha: float = 0.05,
    correction: str | None = None,
    missing: str = "error",
) -> AnytimeComparison:
    r"""Compare systems on topics that come one after the other, and look as often as you like.

    A p-value is for a number of topics that was fixed beforehand; who looks again and again, and
    stops at the first p below .05, errs far more often than in one of twenty cases. These p-values
    and limits hold at all looks together, so at whichever one stops, for whatever reason.

    .. math:: K^+_n(m) = \sum_k w_k \prod_{i=1}^n \left(1 + b_k \frac{d_i - m}{m + s}\right),
        \quad K^-_n(m) = \sum_k w_k \prod_{i=1}^n \left(1 - b_k \frac{d_i - m}{s - m}\right),
        \quad e_n = \tfrac12 \max(K^+_n(0), K^-_n(0))

    are what bets on a mean of the differences d above and below m have made of a capital of 1; s is
    the largest difference that can be, b_k the stakes 1, 1/2, ..., 1/128 (times .999), and w_k
    their parts of the capital: 1/2, 1/6, 1/12, ..., 1/56, 1/8. If the mean is m, bets are fair, and
    that the capital ever reaches 1/alpha has a probability of at most alpha (Ville's inequality).
    So p is the least 1/e at any look, and limits enclose the means of which half the capital, up or
    down, never reached 1/alpha.
    One-sided comparisons bet all on their side.

    Assumed is that differences are within the bounds, and that each topic has, given those before
    it, the same expected difference: topics drawn at random from what one wants to know about, in
    an order that is not chosen by their scores. Nothing is assumed of shapes and variances. The
    same topics again, with the same systems, are no new topics; see :func:`spend_alpha`.

    Source: Waudby-Smith and Ramdas (2024), hedged capital with constant bets, of which some are
    mixed; Cover (1991) for the mixture. Constant bets make the capital independent of the order of
    the topics up to a look. Of e-values: Wang and Ramdas (2022).

    Parameters
    ----------
    scores
        As for :func:`compare`, with topics in the order in which they came.
    bounds
        Least and largest score that can be, in the measure's definition, not in these scores; by
        default the range that the measure declares.
    looks
        Numbers of topics at which one looks, ascending; by default each, or 100 if there are more.
    baseline
        A system, or several, that the others are compared with; else all pairs are compared.
    alternative
        `two-sided`, `greater` or `less`.
    alpha
        Significance level of all looks together.
    correction
        For many pairs: `none`, `bonferroni` (limits then hold for all pairs together), `holm`, or
        `bh`, the false discovery rate by e-values (e-BH), which is of the look at which one
        stops. By default `holm`.
    missing
        What to do with topics that lack a score: `error`, `drop`, or `zero`.

    Returns
    -------
    AnytimeComparison
        Arrays by pair and look.

    Raises
    ------
    PolicyError
        For an option out of its range; for scores whose bounds are not known, or infinite.
    CranfieldError
        For scores that are missing, out of bounds, or of one system.

    Examples
    --------
    >>> import cranfield as cf
    >>> new, old = [0.9, 0.8, 1.0, 0.9, 1.0, 0.8], [0.1, 0.0, 0.2, 0.0, 0.1, 0.0]
    >>> found = compare_anytime({"new": new, "old": old}, bounds=(0, 1))
    >>> found.e_values.round(2).tolist()
    [[0.75, 1.17, 1.89, 3.33, 5.99, 10.41]]
    """
    check_choice("correction", correction or "none", HOLDING)
    Options(alternative, alpha)
    given = as_scores(scores)
    given.flat("scores by shard are not compared so")
    ready, notes = given.finite().complete(missing)
    if len(ready.systems) < 2:
        raise CranfieldError(f"a comparison needs two systems, not {len(ready.systems)}")
    low, high = score_bounds(ready, bounds)
    if not np.isfinite(span := high - low):
        raise PolicyError(f"bets need scores within finite bounds, not {low:g}, {high:g}")
    at = _looks(looks, len(ready.topics))
    baselines = baseline_indices(ready.systems, baseline)
    pairs = against(ready.values, baselines) if baselines else all_pairs(ready.values)
    correction = correction or ("none" if len(pairs) == 1 else "holm")
    means, up, down = _watched(pairs, at, span)
    if alternative == "two-sided":
        log_e = np.maximum(up, down) - np.log(2)
    else:
        log_e = up if alternative == "greater" else down
    now = np.minimum(1.0, np.exp(-np.maximum(log_e, 0.0)))
    pvalues = np.minimum.accumulate(now, axis=1)
    return AnytimeComparison(
        measure=ready.measure,
        systems=ready.systems,
        alternative=alternative,
        alpha=alpha,
        correction=correction,
        bounds=(low, high),
        looks=at,
        first=pairs.first,
        second=pairs.second,
        difference=means,
        log_e=log_e,
        pvalues=pvalues,
        adjusted_pvalues=_adjusted(now if correction == "bh" else pvalues, correction),
        notes=(*notes, *ready.direction_notes()),
        pairs=pairs,
    )


def _looks(asked: Sequence[int] | None, topics: int) -> Indices:
    if asked is None:
        return np.unique(np.linspace(1, topics, min(topics, MOST_LOOKS)).astype(np.intp))
    for look in (found := list(asked)):
        check_whole("a look", look, 1, topics)
    if not found or found != sorted(set(found)):
        raise PolicyError("looks are ascending numbers of topics, one at least")
    return np.array(found, dtype=np.intp)


def _watched(pairs: Pairs, looks: Indices, span: float) -> tuple[Floats, Floats, Floats]:
    """Return at each look the mean difference, and the capital of bets up and down."""
    found = np.empty((3, len(pairs), looks.size))
    for part, block in pairs.slices(pairs.topics * BETS.size):
        differences = block.differences()
        found[0, part] = np.cumsum(differences, axis=1)[:, looks - 1] / looks
        for k, sign in enumerate((1, -1), start=1):
            found[k, part] = log_capital(sign * differences, span)[:, looks - 1]
    return found[0], found[1], found[2]


def _adjusted(pvalues: Floats, correction: str) -> Floats:
    """Correct the p-values of each look."""
    return np.stack([adjusted(column, correction) for column in pvalues.T], axis=1)


def spend_alpha(nights: Numbers, alpha: float = 0.05) -> Floats:
    r"""Share a significance level among checks that go on without end, such as one a night.

    .. math:: \alpha_k = \frac{6}{\pi^2} \frac{\alpha}{k^2},
        \quad \sum_{k=1}^\infty \alpha_k = \alpha

    For the same topics each night, which are no new observations: the test of night k, any valid
    one, at its level. The chance of any false alarm in all nights is at most alpha, however the
    nights depend on each other (Bonferroni's inequality). Where each night has topics or queries of
    its own, :func:`compare_anytime` of all of them in order uses them all.

    Parameters
    ----------
    nights
        Numbers k of the checks, from 1; any shape.
    alpha
        Of all checks together.

    Returns
    -------
    array
        Level of each check, in the shape of `nights`.

    Raises
    ------
    PolicyError
        For numbers below 1, or an alpha that is no share.

    Examples
    --------
    >>> spend_alpha([1, 2, 3, 30]).round(5).tolist()
    [0.0304, 0.0076, 0.00338, 3e-05]
    """
    check_share("alpha", alpha)
    k = numbers(nights, "nights")
    if not (k >= 1).all():
        raise PolicyError("nights are counted from 1")
    with np.errstate(over="ignore"):
        return np.asarray(6 * alpha / (np.pi * k) ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class AnytimeComparison(Framed):
    """How systems compare at each look, with p-values and limits that hold at all of them.

    Attributes
    ----------
    measure
        Text form of the measure; empty where it is not known.
    systems
        The systems.
    alternative, alpha, correction
        As they were asked for.
    bounds
        Least and largest score that can be.
    looks
        Numbers of topics at which one looks.
    first, second
        Indices of the systems of each pair.
    difference
        Mean of the first minus that of the second so far, shape (pairs, looks).
    log_e
        Logarithms of the e-values, shape (pairs, looks).
    pvalues, adjusted_pvalues
        P-values before and after the correction for many pairs, shape (pairs, looks).
    notes
        What a reader should be told.
    """

    measure: str
    systems: tuple[str, ...]
    alternative: str
    alpha: float
    correction: str
    bounds: tuple[float, float]
    looks: Indices
    first: Indices
    second: Indices
    difference: Floats
    log_e: Floats
    pvalues: Floats
    adjusted_pvalues: Floats
    notes: tuple[str, ...]
    pairs: Pairs = field(repr=False)

    @property
    def e_values(self) -> Floats:
        """How often the capital of the bets has doubled, as a factor; shape (pairs, looks).

        Those of independent comparisons of the same two systems may be multiplied.
        """
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_e))

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """Lower and upper confidence limits of the mean difference, shape (pairs, looks).

        They hold at all looks together; of each pair alone, or with `bonferroni` of all pairs.
        Limits that cross say that the expected difference was not the same for all topics.
        """
        pairs = len(self.first) if self.correction == "bonferroni" else 1
        two_sided = self.alternative == "two-sided"
        threshold = np.log((2 if two_sided else 1) * pairs / self.alpha)
        span = self.bounds[1] - self.bounds[0]
        found = np.full((2, *self.log_e.shape), -span)
        for part, block in self.pairs.slices(self.pairs.topics * BETS.size):
            differences = block.differences()
            for k, (side, sign) in enumerate((("greater", 1), ("less", -1))):
                if two_sided or self.alternative == side:
                    found[k, part] = lower_limits(sign * differences, self.looks, span, threshold)
        return found[0], -found[1]

    @property
    def decided(self) -> Indices:
        """Topics at the first look that finds a difference, by pair; 0 where none does.

        With `bh` the share of errors is of what one look finds, not of all that ever was found.
        """
        found = self.is_significant()
        return np.where(found.any(axis=1), self.looks[found.argmax(axis=1)], 0)

    def is_significant(self) -> Bools:
        """Tell at which looks each pair differs, shape (pairs, looks)."""
        return np.asarray(self.adjusted_pvalues <= self.alpha)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a pair and look, as charts take it."""
        names, each = pl.Series(self.systems, dtype=pl.String), self.looks.size
        low, high = self.interval
        return pl.DataFrame(
            {
                "first": names.gather(np.repeat(self.first, each)),
                "second": names.gather(np.repeat(self.second, each)),
                "topics": np.tile(self.looks, len(self.first)),
                "difference": self.difference.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "e": self.e_values.ravel(),
                "p": self.adjusted_pvalues.ravel(),
                "significant": self.is_significant().ravel(),
            }
        )

    def heading(self) -> list[str]:
        """Return what was done, in a few lines."""
        start = f"{plain(self.measure)}: " if self.measure else ""
        side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
        pairs, topics = len(self.first), int(self.looks[-1])
        corrected = "" if pairs == 1 else f", {HOLDING[self.correction]}"
        kind = "all pairs" if self.correction == "bonferroni" or pairs == 1 else "each pair alone"
        return [
            f"{start}comparison at any time by bets{side}{corrected}; alpha {self.alpha:g}",
            f"{counted(pairs, 'pair')}, {counted(topics, 'topic')},"
            f" {counted(self.looks.size, 'look')}; scores within {self.bounds[0]:g} and"
            f" {self.bounds[1]:g}",
            f"low, high: {1 - self.alpha:.4g} confidence limits of the mean difference, for all"
            f" looks together, {kind}",
            *(f"note: {note}" for note in self.notes),
        ]

    def __str__(self) -> str:
        last = self.to_polars().filter(pl.col("topics") == self.looks[-1])
        shown = last.drop("topics", "significant")[:MOST_ROWS].with_columns(
            pl.Series("e", [f"{e:.4g}" for e in self.e_values[:MOST_ROWS, -1]]),
            pl.Series(
                "decided after",
                [f"{look:,}" if look else "-" for look in self.decided[:MOST_ROWS].tolist()],
            ),
        )
        more = len(self.first) - MOST_ROWS
        rest = [f"… {more:,} more"] if more > 0 else []
        table = grid(from_frame(shown, "", left=("first", "second")))
        return "\n".join([*self.heading(), "", table, *rest])

    def __repr__(self) -> str:
        return f"AnytimeComparison({'; '.join(self.heading()[:2])})"
