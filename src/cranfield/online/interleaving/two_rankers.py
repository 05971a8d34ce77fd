"""Two rankers compared, by counts or by credits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import as_array, check_share, check_whole, numbers
from cranfield.base.errors import ArgumentError, CranfieldError, PolicyError, quoted
from cranfield.base.shares import clopper_pearson
from cranfield.base.words import counted
from cranfield.online.experiments.cluster_bootstrap import percentiles, two_sided
from cranfield.online.interleaving.outcomes_by_unit import (
    TIE,
    OutcomesByUnit,
    outcomes_by_unit,
    outcomes_counted,
)
from cranfield.online.interleaving.preference import Preference, delta_of, outcome_of
from cranfield.significance.options import MOST_RESAMPLES
from cranfield.significance.tests.binomial import binomial_pvalues

MOST = 10**8
"""Impressions that are counted."""


def preference_of(
    wins: int,
    losses: int,
    ties: int = 0,
    *,
    names: Sequence[str] = ("A", "B"),
    expected: float = 0.5,
    confidence: float = 0.95,
) -> Preference:
    r"""Test the preference between two rankers from counts of wins, losses and ties.

    Impressions are assumed to be independent. If users return they are not, and the test rejects
    too often; :func:`preference_by_credits` and :func:`preference` test by user.

    Parameters
    ----------
    wins, losses, ties
        Impressions in which A had more credit, less, and as much as B.
    names
        A and B.
    expected
        Share of wins, of wins and losses, that equal rankers would have: another one than 1/2
        where the interleaving is known to be biased.
    confidence
        Confidence level of all intervals.

    Raises
    ------
    PolicyError
        For counts that are not whole numbers from 0, or are all 0.

    Notes
    -----
    The p-value is twice the smaller tail of the binomial distribution, given the number of ties.
    The interval of the outcome is that of Clopper and Pearson (1934), which inverts this test. The
    interval of Delta follows from it: given t ties, :math:`\Delta = (1 - t/n)(o - 1/2)`.

    Examples
    --------
    >>> found = preference_of(40, 109, 374)
    >>> round(found.outcome, 4), round(found.delta, 6), f"{found.pvalue:.3e}"
    (0.2685, -0.065966, '1.409e-08')
    >>> round(preference_of(40, 109, 374, expected=0.28).pvalue, 3)
    0.834
    """
    for name, value in (("wins", wins), ("losses", losses), ("ties", ties)):
        check_whole(name, value, 0, MOST)
    made = outcomes_counted(int(wins), int(losses), int(ties))
    return preference_from(made, names, "impression", expected, confidence, 0, 0)


def preference_by_credits(
    credits: Any,
    units: Any = None,
    *,
    unit: str = "unit",
    names: Sequence[str] = ("A", "B"),
    expected: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Preference:
    """Return what credits of two rankers by impression say of them.

    Parameters
    ----------
    credits
        Credit of A and of B in each impression, shape (impressions, 2), such as the `credits` of an
        interleaver; NaN where one took no part. Or how each impression compares A with B, shape
        (impressions,), such as the `outcomes` of an interleaver: above 0 where A wins.
    units
        Of each impression its unit, such as its user; by default impressions are independent.
    unit
        What a unit is called.
    names, expected, confidence
        As for :func:`preference_of`.
    resamples, seed
        Number of bootstrap resamples, and the seed; used if a unit has several impressions.

    Raises
    ------
    PolicyError
        For credits that are no such numbers, or as many units as there are no impressions.

    Examples
    --------
    >>> made = preference_by_credits([[1, 0], [2, 0], [0, 1]], ["ann", "ann", "bob"], unit="user")
    >>> made.wins, made.losses, made.unit_wins, made.unit_losses, made.pvalue
    (2, 1, 1, 1, 1.0)
    """
    if not isinstance(unit, str):
        raise ArgumentError(f"unit is what a unit is called, not {quoted(unit)}")
    given = numbers(credits, "credits")
    if given.ndim == 1:
        given = np.stack([given, np.zeros(len(given))], axis=1)
    given = checked_credits(given)
    if given.shape[1] != 2:
        raise PolicyError("a preference is between two rankers: see preference_matrix_by_credits")
    code, number = unit_codes(units, len(given))
    made, notes = of_two(given[:, 0], given[:, 1], code, number)
    kind = "impression" if units is None else unit
    return preference_from(made, names, kind, expected, confidence, resamples, seed, notes)


def checked_credits(credits: Any) -> Floats:
    """Return credits as floats, shape (impressions, rankers)."""
    given = numbers(credits, "credits")
    if given.ndim != 2 or given.shape[1] < 2 or np.isinf(given).any():
        raise PolicyError("credits are finite numbers, a row an impression, a column a ranker")
    return given


def of_two(
    first: Floats, second: Floats, units: Indices, number: int
) -> tuple[OutcomesByUnit, list[str]]:
    """Put the impressions of two rankers together by unit, and say what is left aside."""
    difference = first - second
    both = ~np.isnan(difference)
    if both.all():
        return outcomes_by_unit(difference, units, number), []
    _, code = np.unique(units[both], return_inverse=True)
    made = outcomes_by_unit(difference[both], code, int(code.max(initial=-1)) + 1)
    without = counted(int((~both).sum()), "impression")
    return made, [f"{without} in which not both took part left aside"]


def unit_codes(units: Any, impressions: int) -> tuple[Indices, int]:
    """Return units as numbers from 0, and how many there are; without units each has its own."""
    if units is None:
        return np.arange(impressions), impressions
    wrong = "units are labels, one of each impression"
    labels = as_array(units, wrong)
    if labels.shape != (impressions,):
        raise PolicyError(
            f"{counted(impressions, 'impression')}, and units of shape {labels.shape}"
        )
    try:
        known, code = np.unique(labels, return_inverse=True)
    except TypeError:
        raise PolicyError(f"{wrong}, and not of kinds that have no order") from None
    return code.astype(np.intp), len(known)


def preference_from(
    made: OutcomesByUnit,
    names: Sequence[str],
    unit: str,
    expected: float,
    confidence: float,
    resamples: int,
    seed: int,
    notes: Sequence[str] = (),
) -> Preference:
    """Compute all statistics of outcomes by unit."""
    check_share("expected", expected)
    check_share("confidence", confidence)
    pair = tuple(map(str, names))
    if len(pair) != 2 or pair[0] == pair[1]:
        raise PolicyError(f"names are those of two rankers, not {quoted(names)}")
    if not made.number.sum():
        raise CranfieldError("there is no impression to tell rankers apart by")
    wins, losses, ties = map(int, made.totals)
    ahead, behind, level = map(int, made.by_unit)
    decided = ahead + behind
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.divide(ahead - decided * expected, np.sqrt(decided * expected * (1 - expected)))
    pvalue = _sign_test(ahead, behind, expected)
    unit_limits = _exact(ahead, decided, confidence)
    notes = list(notes)
    if made.repeated:
        check_whole("resamples", resamples, 1, MOST_RESAMPLES)
        check_whole("the seed", seed, 0)
        if expected != 0.5:
            # The probability that a unit with many impressions is ahead is not known.
            z, pvalue = np.array(np.nan), np.nan
            notes.append(
                f"an expected proportion other than 0.5 refers to impressions: there is no sign"
                f" test by {unit}; the bootstrap p-value of the outcome tests it"
            )
        samples = made.resampled(resamples, seed)
        outcome = _bootstrap(outcome_of(samples), expected, confidence)
        delta = _bootstrap(delta_of(samples), 0.0, confidence)
        empty = int(np.isnan(outcome_of(samples)).sum())
        if empty and decided:
            notes.append(f"{counted(empty, 'bootstrap sample')} with ties only excluded")
        same = [
            name
            for name, found in (("outcome", outcome), ("Delta", delta))
            if np.isnan(found[0]) and (decided or name == "Delta")
        ]
        if same:
            notes.append(
                f"{' and '.join(same)} equal in all bootstrap samples: no interval can be computed"
            )
    else:
        resamples = seed = 0
        low, high = unit_limits
        share = decided / (decided + level)
        outcome = low, high, pvalue
        delta = share * (low - 0.5), share * (high - 0.5), pvalue
        if not decided:
            delta = np.nan, np.nan, pvalue
    if expected != 0.5:
        # Equal rankers have a Delta other than 0, which depends on the proportion of ties.
        delta = *delta[:2], np.nan
    credit, credit_low, credit_high, credit_p = made.credit_by_t(confidence)
    if np.isnan(credit_low) and not np.isnan(credit):
        notes.append(
            "difference of credit equal in all units: no interval can be computed"
            if made.number.sum() > 1
            else f"one {unit}: the difference of credit has no interval"
        )
    return Preference(
        names=pair,
        unit=unit,
        wins=wins,
        losses=losses,
        ties=ties,
        unit_wins=ahead,
        unit_losses=behind,
        unit_ties=level,
        expected=float(expected),
        pvalue=pvalue,
        z=float(z) if decided else 0.0,
        unit_limits=unit_limits,
        outcome_limits=outcome[:2],
        delta_limits=delta[:2],
        outcome_pvalue=outcome[2],
        delta_pvalue=delta[2],
        credit=credit,
        credit_limits=(credit_low, credit_high),
        credit_pvalue=credit_p,
        confidence=float(confidence),
        resamples=int(resamples),
        seed=int(seed),
        notes=tuple(notes),
    )


def _sign_test(wins: int, losses: int, expected: float) -> float:
    """Return twice the smaller binomial tail, at most 1: the test that Clopper-Pearson inverts."""
    counts = np.array(wins), np.array(losses)
    tails = [binomial_pvalues(*counts, tail, expected) for tail in ("greater", "less")]
    return min(1.0, 2 * float(min(tails)))


def _exact(wins: int, decided: int, confidence: float) -> tuple[float, float]:
    low, high = clopper_pearson(np.array(wins), np.array(decided), confidence)
    return float(low), float(high)


def _bootstrap(values: Floats, null: float, confidence: float) -> tuple[float, float, float]:
    """Return a percentile interval and its p-value; NaN if all values are equal."""
    known = values[~np.isnan(values)]
    if not known.size or np.ptp(known) <= TIE:
        return np.nan, np.nan, np.nan
    return *percentiles(known, confidence), two_sided(known - null)
