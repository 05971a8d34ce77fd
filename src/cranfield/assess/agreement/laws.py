"""Coefficients of agreement, each a law on tables of counts with any number of leading axes."""

from __future__ import annotations

import numpy as np

from cranfield.assess.agreement.distances import distances
from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError


def observed(tables: Tables) -> Floats:
    """Share of agreement: the mean over units with two labels or more of their equal pairs.

    >>> from cranfield.assess.agreement.tables import two_assessors
    >>> two = two_assessors([0, 0, 1, 1], [0, 1, 1, 1]).total()
    >>> float(observed(two))
    0.75
    """
    return _over(np.trace(tables.units, axis1=-2, axis2=-1), tables.units.sum(axis=(-2, -1)))


def positive(tables: Tables) -> Floats:
    """Agreement on the higher of two grades: 2a / (2a + b + c), as F1 (Cicchetti, Feinstein 1990).

    Of more than two assessors, a, b and c are sums over their pairs, each unit weighing 1.
    """
    return _over(tables.units[..., 1, 1], tables.units[..., 1, :].sum(axis=-1))


def negative(tables: Tables) -> Floats:
    """Agreement on the lower of two grades: 2d / (2d + b + c) (Cicchetti and Feinstein 1990)."""
    return _over(tables.units[..., 0, 0], tables.units[..., 0, :].sum(axis=-1))


def overlap(tables: Tables) -> Floats:
    """What both find relevant, of what either does: a / (a + b + c) (Voorhees 2000)."""
    both = tables.units[..., 1, 1]
    return _over(both, both + 2 * tables.units[..., 0, 1])


def cohen_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Cohen's kappa of two assessors, weighted or not (Cohen 1960, 1968).

    .. math:: \kappa = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{r_c\, s_v}{N}

    with r and s the grades of the first and the second.

    >>> from cranfield.assess.agreement.tables import two_assessors
    >>> float(cohen_kappa(two_assessors([0, 0, 1, 1], [0, 1, 1, 1]).total()))
    0.5
    """
    joint = tables.joint
    if joint is None:
        raise PolicyError("Cohen's kappa is of two assessors")
    expected = joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
    return _corrected(joint, expected, _sum(joint), tables, distance)


def fleiss_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    """Fleiss' kappa of several assessors, not always the same ones (Fleiss 1971).

    Of two it is Scott's pi (1955). With gaps, agreement is of the units with two labels, and the
    share of a grade is the mean over all units with one (Gwet 2014).

    >>> from cranfield.assess.agreement.tables import of_counts
    >>> round(float(fleiss_kappa(of_counts([[3, 0], [1, 2], [0, 3]]).total())), 4)
    0.55
    """
    share = tables.shares / _safe(tables.shares.sum(axis=-1, keepdims=True))
    expected = share[..., :, None] * share[..., None, :]
    return _corrected(tables.units / _safe(_sum(tables.units)), expected, 1.0, tables, distance)


def krippendorff_alpha(tables: Tables, distance: str = "ordinal") -> Floats:
    r"""Krippendorff's alpha, with any number of assessors and gaps (Krippendorff 2011).

    .. math:: \alpha = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{n_c (n_v - [c = v])}{n - 1}

    >>> from cranfield.assess.agreement.tables import many_assessors
    >>> gaps = many_assessors([[0, 0, 1], [1, 1, float("nan")], [2, 2, 2]]).total()
    >>> round(float(krippendorff_alpha(gaps, "nominal")), 4)
    0.6667
    """
    frequency = tables.pairs.sum(axis=-1)
    # The diagonal has no distance, so what is taken off there does not matter.
    expected = frequency[..., :, None] * frequency[..., None, :]
    return _corrected(tables.pairs, expected, _sum(tables.pairs) - 1, tables, distance)


def gwet_ac(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Gwet's AC1, and AC2 with distances other than nominal (Gwet 2008, 2014).

    .. math:: \frac{p_a - p_e}{1 - p_e}, \qquad
        p_e = \frac{\sum w_{cv}}{q(q-1)} \sum_c \pi_c (1 - \pi_c), \qquad w = 1 - d / \max d

    with q grades on the scale, also those that nobody gave, and pi the mean over units with a label
    of their shares of a grade.

    >>> from cranfield.assess.agreement.tables import two_assessors
    >>> two = two_assessors([0, 0, 0, 0, 1], [0, 0, 0, 1, 0]).total()
    >>> round(float(gwet_ac(two)), 4), round(float(cohen_kappa(two)), 4)
    (0.4118, -0.25)
    """
    between = distances(distance, tables.grades)
    most, q = between.max(initial=0.0), tables.grades.size
    if not most > 0:
        return np.full(tables.units.shape[:-2], np.nan)
    weights = 1 - between / most
    total = tables.units.sum(axis=(-2, -1))
    agreed = _over((tables.units * weights).sum(axis=(-2, -1)), total)
    share = tables.shares / _safe(tables.shares.sum(axis=-1))[..., None]
    chance = weights.sum() / (q * (q - 1)) * (share * (1 - share)).sum(axis=-1)
    return _over(agreed - chance, 1 - chance)


def _corrected(
    seen: Floats, expected: Floats, size: Floats | float, tables: Tables, distance: str
) -> Floats:
    """Return 1 - disagreement seen / expected; NaN where no disagreement can be expected.

    What is expected has been multiplied by `size`.
    """
    between = distances(distance, tables.grades, tables.pairs.sum(axis=-1))
    apart = (seen * size * between).sum(axis=(-2, -1))
    return 1 - _over(apart, (expected * between).sum(axis=(-2, -1)))


def _sum(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=(-2, -1), keepdims=True))


def _safe(size: Floats) -> Floats:
    return np.asarray(np.where(size > 0, size, np.nan))


def _over(part: Floats, whole: Floats) -> Floats:
    """Divide; NaN where the whole is nothing."""
    return np.asarray(part / _safe(whole))
