r"""Fairness of the tops of a ranking: is a protected group there in proportion?

At cut points :math:`i = s, 2s, ...` the protected documents :math:`x_i` of the top i are compared
with those of the whole ranking, S of N (Yang and Stoyanovich 2017):

.. math:: rND = \frac1Z \sum_i \frac{1}{\log_2 i} \left| \frac{x_i}{i} - \frac{S}{N} \right|

`rRD` compares the ratios :math:`x_i / (i - x_i)` and :math:`S / (N - S)` instead, where one of a
numerator or a denominator 0 counts as 0, and `rKL` takes the Kullback-Leibler divergence of the
shares. Z is the highest value that N and S allow, so that 0 is fair and 1 as unfair as can be. It
is computed exactly; the authors' program estimates it from rankings that it draws.

The whole ranking counts for N and S, also with a cutoff, which only ends the cut points.

Examples
--------
>>> import cranfield as cf
>>> run = {"q": {"a": 4, "b": 3, "c": 2, "d": 1}}
>>> groups = {"a": "x", "b": "x", "c": "y", "d": "y"}
>>> found = cf.evaluate(run, {"q": {"a": 1}}, ["rND(protected='y', step=2)"], groups=groups)
>>> found.by_system().rows()
[('run', 1.0)]
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure, measure
from cranfield.measures.fairness.browsing import group_index
from cranfield.measures.fairness.named import name
from cranfield.measures.parameters import flag, integer, optional, parameter

_FAMILY = "fairness"
_NEEDS = "groups of documents"
_NOTE = "not known to be interval"
_SOURCE = "Yang and Stoyanovich (2017)"


def protected_rows(judged: JudgedRuns, protected: str | None, measure: str) -> Rows:
    """Return the retrieved documents of a group, whatever their weight in it."""
    groups = judged.groups(measure)
    chosen = groups.rows.grade == group_index(groups, protected, measure)
    return groups.rows.where(chosen & (groups.rows.gains > 0))


class _Prefixes(Measure):
    """What the measures share."""

    protected: str | None = parameter(None, optional(name), "group to be fair to; has to be given")
    step: int = parameter(10, integer(2, 10**6), "ranks from one cut point to the next")
    normalised: bool = parameter(
        True,
        flag,
        "whether to divide by the highest possible value Z; scores can be above 1 if not",
    )

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking; 0 where none or all of its documents are protected."""
        view = judged.condensed() if self.judged_only else judged
        rows = protected_rows(view, self.protected, str(self))
        size, protected = view.retrieved, rows.count
        last = min(self.cutoff or 10**9, int(size.max(initial=0)))
        out = np.zeros(view.shape)
        for point in range(self.step, last + 1, self.step):
            seen = rows.where(rows.rank <= point).count
            apart = self.apart(seen, point, size, protected) / np.log2(point)
            out += np.where(point <= size, apart, 0.0)
        if self.normalised:
            pairs, at = np.unique(
                np.stack((size.ravel(), protected.ravel())), axis=1, return_inverse=True
            )
            out = ratio(out, self._highest(pairs, last)[at.ravel()].reshape(out.shape))
            # Rounding may leave the most unfair ranking a trace above 1.
            out = np.minimum(out, 1.0)
        return np.where((protected > 0) & (protected < size), out, 0.0)

    def _highest(self, pairs: Ints, last: int) -> Floats:
        """Highest value for each pair of N and S: the best path of protected documents seen."""
        size, protected = pairs[0][:, None], pairs[1][:, None]
        seen = np.arange(int(protected.max(initial=0)) + 1)[None, :]
        best = np.where(seen == 0, 0.0, -np.inf) + np.zeros(size.shape)
        for point in range(self.step, last + 1, self.step):
            reached = best.copy()
            for more in range(1, min(self.step, seen.size - 1) + 1):
                np.maximum(reached[:, more:], best[:, :-more], out=reached[:, more:])
            # All others have to fit into the top, and below it all that is left.
            fits = (seen <= np.minimum(protected, point)) & (point - seen <= size - protected)
            apart = self.apart(np.minimum(seen, point), point, size, protected) / np.log2(point)
            best = np.where(point <= size, np.where(fits, reached + apart, -np.inf), best)
        return np.asarray(best.max(axis=1, initial=0.0))

    def apart(self, seen: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        """Distance of the top from the whole ranking."""
        raise NotImplementedError


@measure(
    "rND",
    summary="How far the share of a protected group in the tops is from its share in the ranking.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i} \left| \frac{x_i}{i} - \frac{S}{N} \right|",
    source=_SOURCE,
    lower_is_better=True,
    family=_FAMILY,
    inputs=("groups",),
    needs=_NEEDS,
    scale_note=_NOTE,
    elsewhere={"FairRank": "rND, which discounts by log2(i + 1)"},
)
class NormalisedDiscountedDifference(_Prefixes):
    """Normalised discounted difference."""

    def apart(self, seen: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        """Difference of the shares."""
        return np.asarray(np.abs(seen / point - ratio(protected, size)))


@measure(
    "rRD",
    summary="How far the ratio of a protected group to others in the tops is from the ranking's.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" \left| \frac{x_i}{i - x_i} - \frac{S}{N - S} \right|",
    source=_SOURCE,
    lower_is_better=True,
    family=_FAMILY,
    inputs=("groups",),
    needs=_NEEDS,
    scale_note=_NOTE,
    elsewhere={"FairRank": "rRD, which takes the smaller of both ratios for the first"},
)
class NormalisedDiscountedRatio(_Prefixes):
    """Normalised discounted ratio; for a protected group that is the smaller one."""

    def apart(self, seen: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        """Difference of the ratios."""
        return np.abs(ratio(seen, point - seen) - ratio(protected, size - protected))


@measure(
    "rKL",
    summary="Divergence of the share of a protected group in the tops from that in the ranking.",
    formula=r"\frac1Z \sum_i \frac{1}{\log_2 i}"
    r" D_{KL}\left( \tfrac{x_i}{i} \,\middle\|\, \tfrac{S}{N} \right)",
    source=_SOURCE,
    lower_is_better=True,
    family=_FAMILY,
    inputs=("groups",),
    needs=_NEEDS,
    scale_note=_NOTE,
    elsewhere={"FairRank": "rKL, which takes 0.001 for shares of 0 and 1"},
)
class NormalisedDiscountedDivergence(_Prefixes):
    """Normalised discounted Kullback-Leibler divergence, in bits."""

    def apart(self, seen: Ints, point: int, size: Ints, protected: Ints) -> Floats:
        """Divergence of the shares of protected documents and of others."""
        share, whole = seen / point, ratio(protected, size)
        return _bits(share, whole) + _bits(1.0 - share, 1.0 - whole)


def _bits(share: Floats, whole: Floats) -> Floats:
    share, whole = np.broadcast_arrays(share, whole)
    some = (share > 0) & (whole > 0)
    logs = np.log2(np.divide(share, whole, out=np.ones(share.shape), where=some))
    return np.asarray(share * logs)
