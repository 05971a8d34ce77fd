"""Which decisions of a test hold when the scale is spaced otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import as_array
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.scale_types import Scale
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison

POWERS = (0.1, 0.5, 2.0, 10.0)
"""Exponents that are tried: the lower draw high scores together, the higher low ones."""


def decisions_kept(comparison: PairwiseComparison, powers: Sequence[float] = POWERS) -> Bools:
    r"""Decide again with powers of the scores: is each decision of the test the same?

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` returns.
    powers
        Exponents p above 0. Each score x becomes

        .. math:: x^p, \quad \text{or } (x - \min x)^p \text{ where some score is below 0},

        which is an increasing transformation, and so admitted by an ordinal scale.

    Returns
    -------
    array
        Shape (powers, pairs): whether the pair is called different as it was, and if so in the same
        direction; or is not, as it was not. Where a test cannot be done with such scores it is not.

    Raises
    ------
    PolicyError
        For what is no comparison, and for powers that are not above 0.

    Notes
    -----
    That means keep their order (:func:`dominance`) does not make a difference significant: the
    t-test and the analysis of variance weigh it by a spread that changes with the spacing. Tests
    by the order of scores alone decide the same under every increasing transformation of all
    scores, and nothing is computed for them. For others these are examples: a decision that holds
    for some powers may still change under another transformation. Random tests draw the same
    numbers again.

    Source: the definition of a meaningful statement in Ferrante, Ferro and Fuhr (2021), section
    2.4; the powers are our choice.

    Examples
    --------
    >>> import cranfield as cf
    >>> a = [0.1, 0.2, 0.3, 0.4, 0.9, 0.5, 0.7]
    >>> found = cf.compare({"a": a, "b": [x - 0.05 for x in a]}, test="t")
    >>> found.is_significant().tolist(), decisions_kept(found, [1, 2, 10])[:, 0].tolist()
    ([True], [True, True, False])
    """
    if not isinstance(comparison, PairwiseComparison):
        kind = type(comparison).__name__
        raise PolicyError(f"decisions_kept takes what compare() returns, not {kind}")
    wrong = "powers are numbers above 0, such as [0.5, 2]"
    exponents = np.atleast_1d(as_array(powers, wrong))
    if exponents.dtype.kind not in "iuf" or exponents.ndim != 1 or not (exponents > 0).all():
        raise PolicyError(wrong)
    if comparison.info.scale <= Scale.ORDINAL:
        return np.ones((exponents.size, len(comparison)), dtype=np.bool_)
    before = _decided(comparison)
    values = comparison.scores.values
    shifted = values - min(np.nanmin(values, initial=0.0), 0.0)
    # A unit is no matter, and large scores have no large powers.
    unit = np.nanmax(shifted, initial=0.0) or 1.0
    again = [_again(comparison, (shifted / unit) ** power) for power in exponents.tolist()]
    return np.array([one == before for one in again]).reshape(exponents.size, len(comparison))


def _decided(comparison: PairwiseComparison) -> Floats:
    """1 or -1 for a pair that differs, by the higher one, and 0 for others."""
    sign = np.where(comparison.is_significant(), np.sign(comparison.difference), 0.0)
    # Different without a difference of means is a decision, too.
    return np.asarray(np.where(comparison.is_significant() & (sign == 0), 2.0, sign))


def _again(comparison: PairwiseComparison, values: Floats) -> Floats:
    try:
        found = compare(
            replace(comparison.scores, values=values),
            test=comparison.test,
            correction=comparison.correction,
            baseline=comparison.baselines or None,
            missing="available" if np.isnan(values).any() else None,
            **comparison.options,
        )
    except CranfieldError:
        return np.full(len(comparison), np.nan)
    return _decided(found)
