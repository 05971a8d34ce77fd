"""Rules of Cormack and Grossman (2016): knee, target, 2399 and budget."""

from __future__ import annotations

import numpy as np

from cranfield.assess.stops.rule import AT_A_TIME, Looks, Rule, Seen
from cranfield.base.arrays import Floats, Ints, row_slices
from cranfield.base.errors import PolicyError
from cranfield.measures.parameters import integer, number, parameter

_SOURCE = "Cormack and Grossman (2016)"


def _bend(seen: Seen, after: Ints) -> Floats:
    """How sharply the curve of relevant documents bends; 0 where none is found.

    The largest, over earlier numbers i of judgments, of the share of relevant documents up to i
    over that from i on, one being added to these.
    """
    out = np.zeros(after.size)
    # Between two relevant documents the ratio falls, so that it is largest right behind one.
    i = seen.places
    rank = np.arange(1, i.size + 1)
    for some in row_slices(after.size, i.size, AT_A_TIME):
        s = after[some, None]
        later = 1.0 + seen.found[s] - rank
        ratio = np.where(i < s, rank / i * (s - i) / np.maximum(later, 1.0), 0.0)
        out[some] = ratio.max(axis=1, initial=0.0)
    return out


class Knee(Rule):
    r"""Stops when the curve of relevant documents has bent enough.

    With r(i) relevant documents after i judgments, s in all,
    :math:`\rho = \max_i \frac{r(i)/i}{(1 + r(s) - r(i))/(s - i)}`; stops when
    :math:`\rho \ge 156 - \min(r(s), 150)`, not before `least` judgments.
    """

    name = "Knee"
    source = _SOURCE
    words = "bend {value:.4g} of the curve, stops from {bound:.4g}"
    least: int = parameter(100, integer(0), "judgments before which it does not stop")

    def looks(self, seen: Seen, after: Ints) -> Looks:
        value = _bend(seen, after)
        bound = (156 - np.minimum(seen.found[after], 150)).astype(np.float64)
        return Looks(value, bound, (value >= bound) & (after >= self.least))


class Target(Rule):
    """Stops when all documents were found that random draws had shown to be relevant before.

    Documents are drawn at random until so many relevant ones are found, the targets; then documents
    are judged in some order. Labels have to say which of them are targets.
    """

    name = "Target"
    source = _SOURCE
    words = "{value:g} targets found, stops from {bound:g}"
    wanted: int = parameter(10, integer(1), "number of targets")

    def looks(self, seen: Seen, after: Ints) -> Looks:
        if seen.targets is None:
            raise PolicyError(f"{self} needs targets: which of the judged documents are some")
        value = np.r_[0, np.cumsum(seen.targets)][after].astype(np.float64)
        bound = np.full(after.size, float(self.wanted))
        return Looks(value, bound, value >= bound)


class Line(Rule):
    """Stops when judgments are a multiple of the relevant documents found, and some more.

    With the numbers of the paper it is called 2399.
    """

    name = "Line"
    source = _SOURCE
    words = "{value:g} judged, stops from {bound:g}"
    each: float = parameter(1.2, number(0), "judgments for each relevant document")
    more: float = parameter(2399, number(0), "judgments besides these")

    def looks(self, seen: Seen, after: Ints) -> Looks:
        value = after.astype(np.float64)
        bound = np.asarray(self.each * seen.found[after] + self.more, dtype=np.float64)
        return Looks(value, bound, value >= bound)


class Budget(Rule):
    """Stops at a bend of 6, as of :class:`Knee`, when enough is judged, or at 75% of the pool.

    Enough are ten times as many documents as, drawn at random, would be expected to hold one
    relevant document: s >= 10 N / r(s) of N documents.
    """

    name = "Budget"
    source = _SOURCE
    words = "{value:g} judged, stops from {bound:g}"
    bend: float = parameter(6.0, number(0), "bend from which it may stop")
    draws: float = parameter(10.0, number(0), "random documents' worth of relevant ones")
    share: float = parameter(0.75, number(0, 1), "share of the pool at which it stops anyway")

    def looks(self, seen: Seen, after: Ints) -> Looks:
        found = seen.found[after]
        enough = np.full(after.size, np.inf)
        bent = (_bend(seen, after) >= self.bend) & (found > 0)
        enough[bent] = self.draws * seen.total / found[bent]
        value = after.astype(np.float64)
        bound = np.minimum(enough, self.share * seen.total)
        return Looks(value, bound, value >= bound)
