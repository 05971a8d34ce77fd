"""Stopping by the chance to have found so little lately (Callaghan and Müller-Hansen 2020)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from cranfield.assess.stops.rule import AT_A_TIME, Looks, Rule, Seen
from cranfield.base.arrays import Floats, Ints, row_slices
from cranfield.measures.parameters import TRUE_SHARE, fraction_of, parameter


class RecallTest(Rule):
    r"""Stops when it is unlikely that so little was found lately, were the recall too low.

    The documents judged last are an urn: with n of them, u relevant among these, r found in all and
    N documents in the pool, of which s are judged, the hypothesis that the recall is below the
    wanted one means at least :math:`K = \lfloor r / \mathit{recall} + 1 - (r - u) \rfloor` relevant
    documents in the urn and what is unjudged, and
    :math:`p = P(X \le u), X \sim \mathrm{Hypergeometric}(N - s + n, K, n)`. The value is the least
    p of all n; the rule stops when it is below 1 - confidence. The least of many p-values, looked
    at again and again, is no p-value: the chance to stop too early is above 1 - confidence. The
    documents should be in random order; judged best first, the urn has more than its share.
    """

    name = "RecallTest"
    source = "Callaghan and Müller-Hansen (2020)"
    words = "least p {value:.4g} of all urns (no p-value), stops below {bound:.4g}"
    recall: float = parameter(0.95, TRUE_SHARE, "recall of the pool that is wanted")
    confidence: float = parameter(0.95, TRUE_SHARE, "1 minus the bound of the least p")

    def looks(self, seen: Seen, after: Ints) -> Looks:
        value = np.ones(after.size)
        # Of urns with the same documents before them relevant the longest has the least p: they
        # begin with the first document, or behind a relevant one.
        begin = np.r_[0, seen.places]
        wanted = fraction_of(self.recall)
        for some in row_slices(after.size, begin.size, AT_A_TIME):
            s = after[some]
            r = seen.found[s]
            missing = r * wanted.denominator // wanted.numerator + 1 - r
            row, urn = np.nonzero(begin < s[:, None])
            p = _at_most(r[row] - urn, missing[row], s[row] - begin[urn], seen.total - s[row])
            np.minimum.at(value[some], row, p)
        bound = np.full(after.size, float(1 - fraction_of(self.confidence)))
        return Looks(value, bound, value < bound)


def _at_most(found: Ints, missing: Ints, urn: Ints, rest: Ints) -> Floats:
    """Chance that of found + missing documents no more than `found` are in the urn.

    They stand anywhere among those of the urn and the rest, all places being alike.
    """
    k, size = found + missing, urn + rest
    out = np.zeros(found.size)
    possible = missing <= rest
    few = found * size <= k * urn
    # The tail that gets smaller with each step: below what is expected, or from the next above it.
    for low in (True, False):
        rows = np.flatnonzero(possible & (few == low))
        x = found[rows] + (not low)
        rows, x = rows[x <= urn[rows]], x[x <= urn[rows]]
        if not low:
            out[possible & ~few] = 1.0
        kk, n, m = k[rows], urn[rows], size[rows]
        term = np.exp(_log_choose(kk, x) + _log_choose(m - kk, n - x) - _log_choose(m, n))
        total = np.zeros(rows.size)
        while term.any():
            total += term
            if low:
                step = x * (m - kk - n + x) / ((kk - x + 1.0) * (n - x + 1))
                x = x - 1
            else:
                step = (kk - x) * (n - x) / ((x + 1.0) * (m - kk - n + x + 1))
                x = x + 1
            term = np.where(term > 1e-18 * total, term * step, 0.0)
        out[rows] = total if low else np.clip(1.0 - total, 0.0, 1.0)
    return out


def _log_choose(n: Ints, k: Ints) -> Floats:
    out: Floats = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return out
