"""Agreement of tests: what two tests, or one on two sets of topics, say of the same pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import numbers
from cranfield.base.errors import PolicyError
from cranfield.meta.of_tests.fast_tests import Verdict

COUNTS = ("AA", "AD", "MA", "MD")
"""Active agreements and disagreements, mixed agreements and disagreements."""

URBANO = {
    "AA": "success",
    "MA": "lack of power",
    "MD": "minor error",
    "AD": "major error",
    "neither": "non-significance",
}
"""What Urbano, Marrero and Martin (2013) call the same counts."""


def agreement(first: Sequence[Verdict], second: Sequence[Verdict]) -> dict[str, Floats]:
    r"""Count how tests agree, each of the first with each of the second.

    Parameters
    ----------
    first, second
        Verdicts on the same pairs of systems: of several tests on one set of topics, and of tests
        on the same set or on another.

    Returns
    -------
    dict of arrays
        Each of shape (first, second):

        - `significant first`, `significant second`: pairs that each finds;
        - `both`: pairs that both find, in whichever direction;
        - `AA`, active agreements: both find a pair and agree on which system is better;
        - `AD`, active disagreements: both find it and do not;
        - `MA`, mixed agreements: one finds it, and the other has the two systems in the same order;
        - `MD`, mixed disagreements: one finds it, and the other has not the same order;
        - `neither`: pairs that none finds;
        - `jaccard`, `overlap`: of the two sets of pairs, NaN where a set that they divide by is
          empty;
        - `bias`: see :func:`publication_bias`;
        - `tau`: Kendall's tau-b of the two orders of systems.

    Raises
    ------
    PolicyError
        For anything but verdicts, for none of them, and for verdicts on different pairs.

    Notes
    -----
    .. math:: J = \frac{|S_1 \cap S_2|}{|S_1 \cup S_2|}, \quad
        O = \frac{|S_1 \cap S_2|}{\min(|S_1|, |S_2|)}

    Ferro and Sanderson (2022), section 3.3. Two systems with equal means have no order, and so do
    not have the same one: AA + AD + MA + MD + neither are all pairs.

    Examples
    --------
    >>> one = Verdict(np.array([1, 1, -1], np.int8), np.array([True, True, False]))
    >>> other = Verdict(np.array([1, -1, -1], np.int8), np.array([True, False, False]))
    >>> found = agreement([one], [other])
    >>> [int(found[name][0, 0]) for name in ("AA", "AD", "MA", "MD", "neither")]
    [1, 0, 0, 1, 1]
    """
    verdicts = [_checked(first), _checked(second)]
    pairs = {one.order.size for one in (*verdicts[0], *verdicts[1])}
    if len(pairs) > 1:
        raise PolicyError(f"verdicts are on the same pairs, not on {min(pairs)} and {max(pairs)}")
    (order1, found1), (order2, found2) = map(_stacked, verdicts)
    ordered1, ordered2 = np.abs(order1), np.abs(order2)
    sizes1, sizes2 = found1.sum(axis=1)[:, None], found2.sum(axis=1)[None, :]
    both = found1 @ found2.T

    def same_order(one: Floats, other: Floats) -> Floats:
        """Count pairs within both sets that have the same order."""
        products = (one * order1) @ (other * order2).T
        return np.asarray(((one * ordered1) @ (other * ordered2).T + products) / 2)

    everything1, everything2 = np.ones_like(found1), np.ones_like(found2)
    agree = same_order(found1, found2)
    mixed = same_order(found1, everything2) + same_order(everything1, found2) - 2 * agree
    either = sizes1 + sizes2 - both
    counts = {
        "AA": agree,
        "AD": both - agree,
        "MA": mixed,
        "MD": sizes1 + sizes2 - 2 * both - mixed,
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        jaccard = both / either
        overlap = both / np.minimum(sizes1, sizes2)
        tau = (order1 @ order2.T) / np.sqrt(
            ordered1.sum(axis=1)[:, None] * ordered2.sum(axis=1)[None, :]
        )
    return {
        "significant first": np.broadcast_to(sizes1, both.shape),
        "significant second": np.broadcast_to(sizes2, both.shape),
        "both": both,
        **counts,
        "neither": order1.shape[1] - either,
        "jaccard": jaccard,
        "overlap": overlap,
        "tau": tau,
        "bias": publication_bias(**counts),
    }


def _checked(verdicts: Any) -> list[Verdict]:
    if isinstance(verdicts, (str, bytes)) or not isinstance(verdicts, Iterable):
        raise PolicyError(f"verdicts of tests are a list, not {type(verdicts).__name__}")
    found = list(verdicts)
    for one in found:
        if not isinstance(one, Verdict):
            kind = type(one).__name__
            raise PolicyError(f"verdicts of tests are a list of Verdict, not of {kind}")
    if not found:
        raise PolicyError("no verdict of a test is given")
    return found


def _stacked(verdicts: Sequence[Verdict]) -> tuple[Floats, Floats]:
    # Counts are sums of products of 0, 1 and -1, which floats hold exactly.
    return (
        np.array([one.order for one in verdicts], dtype=np.float64),
        np.array([one.significant for one in verdicts], dtype=np.float64),
    )


def publication_bias(AA: Any, AD: Any, MA: Any, MD: Any) -> Any:  # noqa: N803
    r"""Return the share of significant results that other topics would not have confirmed.

    .. math:: \mathit{Bias} = 1 - \frac{AA}{AA + AD + \frac{MA}{2} + \frac{MD}{2}}

    Ferro and Sanderson (2022), section 5.2.

    Parameters
    ----------
    AA, AD, MA, MD
        Counts, or mean counts, of any shape.

    Returns
    -------
    float or array
        From 0 to 1; NaN where nothing was significant.

    Raises
    ------
    PolicyError
        For what are no numbers, and for counts whose shapes do not fit each other.

    Examples
    --------
    Table 6 of the source, MD3:

    >>> round(100 * publication_bias(4556.6, 5.8, 591.9, 114.2), 1)
    7.3
    """
    counts = [numbers(count, name) for count, name in zip((AA, AD, MA, MD), COUNTS, strict=True)]
    try:
        active, against, agree, disagree = np.broadcast_arrays(*counts)
    except ValueError:
        shapes = ", ".join(str(count.shape) for count in counts)
        raise PolicyError(f"counts are of shapes that do not fit each other: {shapes}") from None
    with np.errstate(invalid="ignore", divide="ignore"):
        bias = 1 - active / (active + against + agree / 2 + disagree / 2)
    return bias if bias.ndim else float(bias)
