"""Two rankers compared, by counts or by credits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import as_array, check_share, check_whole, numbers
from cranfield.base.errors import ArgumentError, CranfieldError, PolicyError, quoted
from cranfield.base.shares import wilson
from cranfield.base.words import counted
from cranfield.online.interleaving.outcomes_by_unit import (
    OutcomesByUnit,
    outcomes_by_unit,
    outcomes_counted,
)
from cranfield.online.interleaving.preference import Limits, Preference, delta_of, outcome_of
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
    resamples: int = 10_000,
    seed: int = 0,
) -> Preference:
    r"""Return what numbers of wins, losses and ties say of two rankers.

    Each impression counts as independent of the others. Where users come again they are not, and
    the test finds too much: :func:`preference_by_credits` and :func:`preference` take the users.

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
        Of all limits.
    resamples, seed
        Of the bootstrap.

    Raises
    ------
    PolicyError
        For what is no number of impressions, or no impression at all.

    Notes
    -----
    The two-sided sign test sums the chances of all counts that are as improbable as the one found,
    or more so (Chapelle, Joachims, Radlinski and Yue, 2012, take the same test).

    Examples
    --------
    >>> found = preference_of(40, 109, 374)
    >>> round(found.outcome, 4), round(found.delta, 6), f"{found.pvalue:.3e}"
    (0.2685, -0.065966, '1.409e-08')
    >>> round(preference_of(40, 109, 374, expected=0.28).pvalue, 3)
    0.785
    """
    for name, value in (("wins", wins), ("losses", losses), ("ties", ties)):
        check_whole(name, value, 0, MOST)
    made = outcomes_counted(int(wins), int(losses), int(ties))
    return preference_from(made, names, "impression", expected, confidence, resamples, seed)


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
    names, expected, confidence, resamples, seed
        As for :func:`preference_of`.

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
    check_whole("resamples", resamples, 1, MOST_RESAMPLES)
    check_whole("the seed", seed, 0)
    pair = tuple(map(str, names))
    if len(pair) != 2 or pair[0] == pair[1]:
        raise PolicyError(f"names are those of two rankers, not {quoted(names)}")
    if not made.number.sum():
        raise CranfieldError("there is no impression to tell rankers apart by")
    wins, losses, ties = map(int, made.totals)
    ahead, behind, level = map(int, made.by_unit)
    samples = made.resampled(resamples, seed)
    credit, credit_low, credit_high, credit_p = made.credit_by_t(confidence)
    decided = np.array(ahead + behind)
    share = np.array(ahead / decided if decided else np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (ahead - decided * expected) / np.sqrt(decided * expected * (1 - expected))
    pvalue = float(binomial_pvalues(np.array(ahead), np.array(behind), expected=expected))
    said = list(notes)
    if expected != 0.5 and made.repeated:
        # How often a unit of many impressions is ahead does not follow from the share expected.
        z, pvalue = np.array(np.nan), np.nan
        said.append(
            f"an expected share of {expected:g} is of impressions: a sign test by {unit} has none;"
            " see whether it lies within the limits of the outcome"
        )
    outcomes = outcome_of(samples)
    empty = int(np.isnan(outcomes).sum())
    if empty and decided:
        said.append(f"{counted(empty, 'bootstrap sample')} of ties only left aside")
    low, high = wilson(share, decided, float(ndtri((1 + confidence) / 2)))
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
        wilson=(float(low), float(high)),
        outcome_limits=_percentiles(outcomes, confidence),
        delta_limits=_percentiles(delta_of(samples), confidence),
        credit=credit,
        credit_limits=(credit_low, credit_high),
        credit_pvalue=credit_p,
        confidence=float(confidence),
        resamples=int(resamples),
        seed=int(seed),
        notes=tuple(said),
    )


def _percentiles(values: Floats, confidence: float) -> Limits:
    known = values[~np.isnan(values)]
    if not known.size:
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
