"""Pairs whose differences do not vary at all, of which t, and its p-value, would be infinite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from cranfield.base.arrays import Bools, Floats
from cranfield.base.words import counted
from cranfield.significance.difference_by_error import spread
from cranfield.significance.options import Options
from cranfield.significance.outcome import Interval, Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.tests.declaration import TestInfo

DIVIDES_BY_ERROR = ("t", "bootstrap", "anova")
"""Families of tests whose statistic is a difference divided by its estimated error."""


def with_exchange_tests(
    outcome: Outcome, pairs: Pairs, info: TestInfo, options: Options
) -> Outcome:
    """Test pairs without any variation by exchanging labels, in place of an infinite t.

    Exchanging the systems of any topic turns a constant difference round, so that of the 2^n
    assignments one, and two-sided its mirror image, reaches what was observed: p = 2^(1 - n).
    Without pairing n + m scores are exchanged. Neither needs an estimate of the variance.
    """
    if info.family not in DIVIDES_BY_ERROR:
        return outcome
    constant = _constant(outcome, pairs, info)
    if not constant.any():
        return outcome
    smallest = _smallest_pvalues(pairs, info.paired, options)
    wrong_side = {"two-sided": 0.0, "greater": -1.0, "less": 1.0}[options.alternative]
    sign = np.sign(pairs.differences_of(np.nanmean(pairs.values, axis=0)))
    exchanged = np.where((sign == 0) | (sign == wrong_side), 1.0, smallest)
    shown = constant & (sign != 0)
    name = "exact sign flips" if info.paired else "exact permutations"
    note = (
        f"{counted(int(shown.sum()), 'pair')} without any variation of the difference: an error"
        f" cannot be estimated, and p-values are of {name}"
    )
    least = outcome.smallest_pvalues
    return replace(
        outcome,
        smallest_pvalues=None if least is None else np.where(constant, smallest, least),
        pvalue=np.where(constant, exchanged, outcome.pvalue),
        interval=_intervals(outcome.interval, constant, smallest, pairs, options),
        notes=(*outcome.notes, note) if shown.any() else outcome.notes,
    )


def _constant(outcome: Outcome, pairs: Pairs, info: TestInfo) -> Bools:
    if info.model:
        # One error of all pairs is 0 only where none of them varies.
        error = outcome.table.ms_error if outcome.table is not None else outcome.of_model.error
        return np.full(len(pairs), error == 0)
    if not info.paired:
        spreads = np.nanmax(pairs.values, axis=0) - np.nanmin(pairs.values, axis=0)
        varies = spreads > pairs.rounding.max(initial=0.0)
        return np.asarray(~(varies[pairs.first] | varies[pairs.second]))
    parts = []
    for block in pairs.blocks():
        differences = block.differences()
        parts.append(spread(differences, differences.mean(axis=1), block.rounding) == 0)
    return np.concatenate(parts)


def _smallest_pvalues(pairs: Pairs, paired: bool, options: Options) -> Floats:
    """Return the p-value of the most extreme assignment of labels, by pair."""
    if paired:
        return np.full(len(pairs), 0.5 ** (pairs.topics - options.two_sided))
    counts = (~np.isnan(pairs.values)).sum(axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    ways = np.exp(gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1))
    return np.asarray(np.where(options.two_sided & (n == m), 2.0, 1.0) / ways)


def _intervals(
    interval: Interval,
    constant: Bools,
    smallest: Floats,
    pairs: Pairs,
    options: Options,
) -> Interval:
    """Return intervals that hold the shifts which the exchange does not reject.

    That is the difference itself where any other is rejected, and else everything.
    """
    difference = pairs.differences_of(np.nanmean(pairs.values, axis=0))

    def limits(level: Level) -> Limits:
        low, high = interval(level)
        tail = (1 - np.asarray(level)) / (1 if options.two_sided else 2)
        half = np.where(smallest <= tail * (1 + 1e-9), 0.0, np.inf)
        return (
            np.where(constant, difference - half, low),
            np.where(constant, difference + half, high),
        )

    return limits
