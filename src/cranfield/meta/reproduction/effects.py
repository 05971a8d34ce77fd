"""How close scores and effects are to those of the original experiment."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.scores import Scores
from cranfield.significance.pairs import ROUNDING, TINY
from cranfield.significance.prepare import LARGEST, as_scores

NAN = float("nan")


def rmse(original: Any, reproduced: Any) -> float:
    r"""Root mean square of the differences between original and reproduced scores, by topic.

    .. math:: \mathrm{RMSE} = \sqrt{\frac{1}{T} \sum_{t=1}^{T} (x_t - x'_t)^2}

    Source: Breuer et al. (2020), section 3.

    Parameters
    ----------
    original, reproduced
        Scores of one system each, by the same measure on the same topics: :class:`Scores`, a
        mapping of topics to scores, or a list in order of topics.

    Returns
    -------
    float
        At least 0, in the unit of the measure; 0 for equal scores.

    Raises
    ------
    CranfieldError
        When a topic has a score on one side only, or a score is infinite or beyond 1e100.

    Examples
    --------
    >>> round(rmse({"q1": 0.5, "q2": 0.2}, {"q1": 0.4, "q2": 0.5}), 4)
    0.2236
    """
    return rmse_of(*_matched(original, reproduced))


def normalised_rmse(
    original: Any, reproduced: Any, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> float:
    r"""Root mean square difference, by the largest that the original scores allow.

    .. math::

        \mathrm{nRMSE} = \sqrt{\frac{\sum_t (x_t - x'_t)^2}{\sum_t \max(x_t - a, b - x_t)^2}}

    where scores are between a and b. Source: Maistro et al. (2023), who have measures between 0
    and 1.

    Parameters
    ----------
    original, reproduced
        As for :func:`rmse`.
    bounds
        The lowest and the highest score that the measure can give.

    Returns
    -------
    float
        From 0 for equal scores to 1 for scores as far from the original ones as they can be.

    Raises
    ------
    CranfieldError
        As for :func:`rmse`, and for scores outside the bounds.
    PolicyError
        For bounds that are infinite, or not one below the other.

    Examples
    --------
    >>> round(normalised_rmse([0.5, 0.2], [0.4, 0.5]), 4)
    0.3352
    """
    low, high = checked_bounds(bounds)
    x, y = _matched(original, reproduced)
    beyond = outside(x, y, (low, high))
    if beyond.size:
        raise CranfieldError(f"there is a score of {beyond[0]:g}, outside {low:g} to {high:g}")
    return nrmse_of(x, y, (low, high))


def relative_improvement(baseline: Any, advanced: Any) -> float:
    r"""Improvement of the mean over the baseline, in parts of the baseline's mean.

    .. math:: \mathrm{RI} = \frac{\bar{a} - \bar{b}}{\bar{b}}

    Source: Breuer et al. (2020), section 3.

    Parameters
    ----------
    baseline, advanced
        Scores of one system each, as for :func:`rmse`.

    Returns
    -------
    float
        0.1 is an improvement by 10 percent; NaN where the baseline's mean is 0. Where low scores
        are the good ones, an improvement is negative.

    Raises
    ------
    CranfieldError
        As for :func:`rmse`.

    Examples
    --------
    >>> round(relative_improvement([0.2, 0.4], [0.3, 0.6]), 4)
    0.5
    """
    return ri_of(*_matched(baseline, advanced))


def effect_ratio(baseline: Any, advanced: Any, baseline2: Any, advanced2: Any) -> float:
    r"""Mean improvement over the baseline when it was done again, by the original one.

    .. math::

        \mathrm{ER} = \frac{\overline{\Delta'}}{\overline{\Delta}}, \quad
        \overline{\Delta} = \frac{1}{T} \sum_{t=1}^{T} (a_t - b_t)

    Source: Breuer et al. (2020), section 3.

    Parameters
    ----------
    baseline, advanced
        Original scores of both systems on the same topics, as for :func:`rmse`.
    baseline2, advanced2
        Scores of the reproduced or replicated systems: on the same topics as each other, which may
        be others than the original ones.

    Returns
    -------
    float
        1: the effect has the same size; between 0 and 1: it is smaller; above 1: larger; 0: there
        is none; below 0: it points the other way. NaN where the original effect is 0, within
        rounding. Positive affine maps of all scores do not change it.

    Raises
    ------
    CranfieldError
        As for :func:`rmse`.

    Examples
    --------
    >>> round(effect_ratio([0.2, 0.4], [0.3, 0.6], [0.1, 0.1, 0.4], [0.1, 0.3, 0.5]), 4)
    0.6667
    """
    return er_of(*_matched(baseline, advanced), *_matched(baseline2, advanced2))


def delta_relative_improvement(
    baseline: Any, advanced: Any, baseline2: Any, advanced2: Any
) -> float:
    r"""Original relative improvement less the one when it was done again.

    .. math:: \Delta\mathrm{RI} = \mathrm{RI} - \mathrm{RI}'

    Source: Breuer et al. (2020), section 3.

    Parameters
    ----------
    baseline, advanced, baseline2, advanced2
        As for :func:`effect_ratio`.

    Returns
    -------
    float
        0: the same improvement; above 0: it was larger in the original; below 0: smaller. NaN
        where the mean of a baseline is 0.

    Raises
    ------
    CranfieldError
        As for :func:`rmse`.

    Examples
    --------
    >>> base, better = [0.2, 0.4], [0.3, 0.6]
    >>> round(delta_relative_improvement(base, better, [0.1, 0.1, 0.4], [0.1, 0.3, 0.5]), 4)
    0.0
    """
    return ri_of(*_matched(baseline, advanced)) - ri_of(*_matched(baseline2, advanced2))


def rmse_of(x: Floats, y: Floats) -> float:
    """Root mean square difference of scores in the same order; NaN of none."""
    return float(np.sqrt(np.mean((x - y) ** 2))) if x.size else NAN


def nrmse_of(x: Floats, y: Floats, bounds: tuple[float, float]) -> float:
    """Normalised root mean square difference of scores in the same order; NaN of none."""
    return rmse_of(x, y) / rmse_of(np.maximum(x - bounds[0], bounds[1] - x), np.zeros(x.size))


def improvement_of(base: Floats, advanced: Floats) -> float:
    """Mean improvement by topic; 0 where it is by rounding only, NaN of none."""
    if not base.size:
        return NAN
    found = float(np.mean(advanced - base))
    largest = float(np.abs([base, advanced]).max())
    return 0.0 if abs(found) <= max(ROUNDING * largest, TINY) else found


def ri_of(base: Floats, advanced: Floats) -> float:
    """Relative improvement; NaN over a mean of 0, within rounding."""
    mean = improvement_of(np.zeros(base.size), base)
    return improvement_of(base, advanced) / mean if mean else NAN


def er_of(base: Floats, advanced: Floats, base2: Floats, advanced2: Floats) -> float:
    """Effect ratio; NaN over an effect of 0, within rounding."""
    effect = improvement_of(base, advanced)
    return improvement_of(base2, advanced2) / effect if effect else NAN


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


def _matched(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Return the scores of two systems in the same order of topics."""
    one, other = one_system(first), one_system(second)
    for has, lacks in ((one, other), (other, one)):
        lacking = has.keys() - lacks.keys()
        if lacking:
            topic = next(topic for topic in has if topic in lacking)
            raise CranfieldError(f"topic {quoted(topic)} has a score on one side only")
    if not one:
        raise CranfieldError("there are no scores")
    values = np.array(list(one.values())), np.array([other[topic] for topic in one])
    check_size(np.array(values))
    return values


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
