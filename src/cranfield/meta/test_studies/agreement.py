"""Agreement of tests on the significant pairs of systems, and publication bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_several, numbers
from cranfield.meta.test_studies.fast_tests import Verdict

COUNTS = ("AA", "AD", "MA", "MD")
"""Active agreements and disagreements, mixed agreements and disagreements."""


def agreement(first: Sequence[Verdict], second: Sequence[Verdict]) -> dict[str, Floats]:
    r"""Count the agreements of each of the first tests with each of the second tests.

    Parameters
    ----------
    first, second
        Verdicts on the same pairs of systems: those of several tests on one set of topics, and
        those of tests on the same or another set of topics.

    Returns
    -------
    dict of arrays
        Each of shape (first, second):

        - `significant first`, `significant second`: numbers of significant pairs by each test;
        - `both`: pairs that are significant by both, in any direction;
        - `AA`, active agreements: significant by both, in the same direction;
        - `AD`, active disagreements: significant by both, in opposite directions;
        - `MA`, mixed agreements: significant by one, and in the same order by the other;
        - `MD`, mixed disagreements: significant by one, and not in the same order by the other;
        - `neither`: pairs that are significant by neither;
        - `jaccard`, `overlap`: of the two sets of pairs, NaN where the divisor is 0;
        - `bias`: see :func:`publication_bias`;
        - `tau`: Kendall's tau-b of the two orders of systems.

    Raises
    ------
    PolicyError
        For arguments that are not verdicts, an empty list, and verdicts on different pairs.

    Notes
    -----
    .. math:: J = \frac{|S_1 \cap S_2|}{|S_1 \cup S_2|}, \quad
        O = \frac{|S_1 \cap S_2|}{\min(|S_1|, |S_2|)}

    Source: Ferro and Sanderson (2022), section 3.3. Two systems with equal means have no order, so
    that tests cannot agree on it. AA + AD + MA + MD + neither is the number of all pairs.

    Examples
    --------
    >>> first = Verdict(np.array([1, 1, -1], np.int8), np.array([True, True, False]))
    >>> second = Verdict(np.array([1, -1, -1], np.int8), np.array([True, False, False]))
    >>> counts = agreement([first], [second])
    >>> [int(counts[name][0, 0]) for name in ("AA", "AD", "MA", "MD", "neither")]
    [1, 0, 0, 1, 1]
    """
    check_several("first", first)
    check_several("second", second)
    verdicts = [list(first), list(second)]
    if not all(verdicts):
        raise PolicyError("expected at least one verdict of a test, got none")
    pairs = {verdict.order.size for group in verdicts for verdict in group}
    if len(pairs) > 1:
        raise PolicyError(
            f"verdicts must be on the same pairs, got {min(pairs)} and {max(pairs)} pairs"
        )
    # Counts are sums of products of 0, 1 and -1, which are exact in floating point.
    order1, order2 = (np.array([v.order for v in group], dtype=np.float64) for group in verdicts)
    significant1, significant2 = (
        np.array([v.significant for v in group], dtype=np.float64) for group in verdicts
    )
    is_ordered1, is_ordered2 = np.abs(order1), np.abs(order2)
    sizes1, sizes2 = significant1.sum(axis=1)[:, None], significant2.sum(axis=1)[None, :]
    in_both = significant1 @ significant2.T

    def count_same(mask1: Any, mask2: Any) -> Floats:
        """Count pairs in both sets that have the same order by both tests."""
        products = (mask1 * order1) @ (mask2 * order2).T
        return np.asarray(((mask1 * is_ordered1) @ (mask2 * is_ordered2).T + products) / 2)

    n_agree = count_same(significant1, significant2)
    n_mixed = count_same(significant1, 1.0) + count_same(1.0, significant2) - 2 * n_agree
    n_either = sizes1 + sizes2 - in_both
    counts = {
        "AA": n_agree,
        "AD": in_both - n_agree,
        "MA": n_mixed,
        "MD": sizes1 + sizes2 - 2 * in_both - n_mixed,
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        jaccard = in_both / n_either
        overlap = in_both / np.minimum(sizes1, sizes2)
        n_ordered = is_ordered1.sum(axis=1)[:, None] * is_ordered2.sum(axis=1)[None, :]
        tau = (order1 @ order2.T) / np.sqrt(n_ordered)
    return {
        "significant first": np.broadcast_to(sizes1, in_both.shape),
        "significant second": np.broadcast_to(sizes2, in_both.shape),
        "both": in_both,
        **counts,
        "neither": order1.shape[1] - n_either,
        "jaccard": jaccard,
        "overlap": overlap,
        "tau": tau,
        "bias": publication_bias(**counts),
    }


def publication_bias(AA: Any, AD: Any, MA: Any, MD: Any) -> Any:  # noqa: N803
    r"""Compute the proportion of significant results that other topics would not confirm.

    .. math:: \mathit{Bias} = 1 - \frac{AA}{AA + AD + \frac{MA}{2} + \frac{MD}{2}}

    Source: Ferro and Sanderson (2022), section 5.2.

    Parameters
    ----------
    AA, AD, MA, MD
        Counts, or mean counts, of any shape.

    Returns
    -------
    float or array
        From 0 to 1; NaN if no pair is significant.

    Raises
    ------
    PolicyError
        For counts that are not numbers, and shapes that cannot be broadcast.

    Examples
    --------
    Table 6 of the source, MD3:

    >>> round(100 * publication_bias(4556.6, 5.8, 591.9, 114.2), 1)
    7.3
    """
    counts = [numbers(count, name) for count, name in zip((AA, AD, MA, MD), COUNTS, strict=True)]
    try:
        active, opposed, mixed_same, mixed_other = np.broadcast_arrays(*counts)
    except ValueError:
        shapes = ", ".join(str(count.shape) for count in counts)
        raise PolicyError(f"shapes of counts cannot be broadcast: {shapes}") from None
    with np.errstate(invalid="ignore", divide="ignore"):
        bias = 1 - active / (active + opposed + mixed_same / 2 + mixed_other / 2)
    return bias if bias.ndim else float(bias)
