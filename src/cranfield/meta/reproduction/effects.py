"""How close scores and effects are to those of the original experiment.

Sources: Breuer et al. (2020), section 3; for nRMSE Maistro et al. (2023), who have measures between
0 and 1. Scores are arrays by topic, of one system each; x' is what x was when it was done again, a
the advanced system and b the baseline.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.scores import Scores
from cranfield.significance.difference_by_error import fieller_limits, t_quantile
from cranfield.significance.pairs import ROUNDING, TINY
from cranfield.significance.prepare import LARGEST, as_scores

NAN = float("nan")


def rmse(x: Floats, y: Floats) -> float:
    r"""Root mean square of the differences of scores on the same topics; NaN of none.

    .. math:: \mathrm{RMSE} = \sqrt{\frac{1}{T} \sum_{t=1}^{T} (x_t - x'_t)^2}
    """
    return float(np.sqrt(np.mean((x - y) ** 2))) if x.size else NAN


def normalised_rmse(x: Floats, y: Floats, bounds: tuple[float, float]) -> float:
    r"""Root mean square difference, by the largest that the original scores allow within bounds.

    .. math::

        \mathrm{nRMSE} = \sqrt{\frac{\sum_t (x_t - x'_t)^2}{\sum_t \max(x_t - a, b - x_t)^2}}
    """
    return rmse(x, y) / rmse(np.maximum(x - bounds[0], bounds[1] - x), np.zeros(x.size))


def improvement(base: Floats, advanced: Floats) -> float:
    """Mean improvement by topic; 0 where it is by rounding only, NaN of none."""
    if not base.size:
        return NAN
    found = float(np.mean(advanced - base))
    largest = float(np.abs([base, advanced]).max())
    return 0.0 if abs(found) <= max(ROUNDING * largest, TINY) else found


def relative_improvement(base: Floats, advanced: Floats) -> float:
    r"""Improvement of the mean, in parts of the baseline's; NaN where that is 0, within rounding.

    .. math:: \mathrm{RI} = \frac{\bar{a} - \bar{b}}{\bar{b}}
    """
    mean = improvement(np.zeros(base.size), base)
    return improvement(base, advanced) / mean if mean else NAN


def effect_ratio(base: Floats, advanced: Floats, base2: Floats, advanced2: Floats) -> float:
    r"""Mean improvement when it was done again, by the original one; NaN where that is 0.

    .. math::

        \mathrm{ER} = \frac{\overline{\Delta'}}{\overline{\Delta}}, \quad
        \overline{\Delta} = \frac{1}{T} \sum_{t=1}^{T} (a_t - b_t)

    The topics of the second effect may be others. Positive affine maps of all scores do not
    change it.
    """
    effect = improvement(base, advanced)
    return improvement(base2, advanced2) / effect if effect else NAN


CONFIDENCE = 0.95
"""Level of the limits of the effect ratio."""


def effect_ratio_limits(
    base: Floats, advanced: Floats, base2: Floats, advanced2: Floats, *, paired: bool
) -> tuple[float, float]:
    r"""Confidence limits of the effect ratio; infinite where the original effect may be 0.

    They hold the ratios r that a test does not reject by

    .. math:: \frac{\left(\overline{\Delta'} - r \overline{\Delta}\right)^2}
        {v_{\Delta'} - 2 r\, c + r^2 v_\Delta} \le t_\nu^2

    with the squared standard errors v of both mean improvements and their covariance c. On the same
    topics they are exact for normal improvements, with one degree of freedom less than topics; on
    others c is 0, and the degrees of freedom are Welch's at the ratio found. NaN with fewer than
    two topics, or where nothing varies around an original effect of 0. Source: Fieller (1954).
    """
    x, y = advanced - base, advanced2 - base2
    if min(x.size, y.size) < 2:
        return NAN, NAN
    first, second = improvement(base, advanced), improvement(base2, advanced2)
    own, other = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    shared = float(np.cov(x, y)[0, 1]) / x.size if paired else 0.0
    df = x.size - 1.0
    if not paired:
        scaled = own * (second / first) ** 2 if first else 0.0
        parts = scaled**2 / (x.size - 1) + other**2 / (y.size - 1)
        df = (scaled + other) ** 2 / parts if parts > 0 else df
    squared = t_quantile(CONFIDENCE, df) ** 2
    parts_of = (first, second, own, other, shared, squared)
    low, high = fieller_limits(*(np.asarray(part, dtype=np.float64) for part in parts_of))
    return float(low), float(high)


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the lowest and the highest score, or refuse what is not that."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise PolicyError(f"bounds are two numbers, not {quoted(bounds)}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise PolicyError(f"bounds are a lowest and a highest score, not {low:g} and {high:g}")
    return low, high


def outside(x: Floats, y: Floats, bounds: tuple[float, float]) -> Floats:
    """Return the scores beyond the bounds by more than rounding."""
    both = np.concatenate([x, y])
    slack = ROUNDING * max(map(abs, bounds))
    return both[(both < bounds[0] - slack) | (both > bounds[1] + slack)]


def check_size(values: Floats) -> None:
    """Refuse scores whose squares would be infinite."""
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        raise CranfieldError(f"there are infinite scores, or beyond {LARGEST:g}")


def one_system(scores: Any) -> dict[str, float]:
    """Return the scores of one system by topic; those without a score are left out."""
    if not isinstance(scores, Scores):
        scores = as_scores({"scores": scores})
    if scores.shards or len(scores.systems) != 1:
        raise CranfieldError(
            f"scores of one system are wanted, by topic, not of {len(scores.systems)}"
        )
    values = scores.values[:, 0]
    return {
        topic: float(score)
        for topic, score in zip(scores.topics, values, strict=True)
        if not np.isnan(score)
    }
