"""Power of tests and width of intervals, by number of topics."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, betaincinv, erf, gammaln, poch, stdtrit, xlogy

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_integer, check_number
from cranfield.base.kinds import OneOf, Positive, Probability, RealNumber, check_arguments
from cranfield.significance.registry import ALTERNATIVES

MODELS = ("anova-1", "anova-2")  # models of all systems, by their names as tests


def power_t(
    topics: ArrayLike,
    *,
    difference: Positive,
    variance: Positive,
    alpha: Probability = 0.05,
    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided",
) -> Floats:
    r"""Compute the power of the paired t-test.

    .. math:: P(|T| > t_{\alpha/2}(n-1)), \quad T \sim t(n - 1; \lambda),
        \quad \lambda = \sqrt{n}\, \frac{D}{\sigma_t}, \quad \sigma_t^2 = 2 \sigma^2

    Source: Sakai (2016), Topic set size design. A two-sided test counts both tails.

    Parameters
    ----------
    topics
        Number of topics n, 2 or more; any shape.
    difference
        True difference D of the means, above 0, in the direction of the alternative.
    variance
        Residual variance of a score after effects of topics, above 0: see :func:`variance`. It is
        half of the variance of the differences.
    alpha
        Significance level, below one half for a one-sided test.
    alternative
        `two-sided`, or `greater` or `less`, which have the same power.

    Returns
    -------
    array
        Power, in the shape of `topics`.

    Raises
    ------
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> power_t([25, 50, 100], difference=0.05, variance=0.01).round(4).tolist()
    [0.3964, 0.6882, 0.9383]
    """
    check_arguments(power_t, locals())
    n = _check_topics(topics)
    half_noncentrality = _compute_half_noncentrality(n, difference, variance)
    return compute_t_test_power(half_noncentrality, n - 1, alpha, alternative)


def compute_t_test_power(
    half_noncentrality: Floats,
    df: Floats,
    alpha: float,
    alternative: str,
    sign: Floats | float = 1.0,
) -> Floats:
    """Compute the power of a t-test from half the noncentrality of F, the square of t.

    `sign` is -1 for an effect that is opposite to a one-sided alternative.
    """
    if alternative == "two-sided":
        return _compute_tail(1.0, df, half_noncentrality, alpha)
    if alpha >= 0.5:
        raise PolicyError(f"alpha of a one-sided test must be below 0.5, got {alpha:g}")
    # The upper tail is half the sum of both tails plus half their difference; the lower tail minus.
    both_tails = _compute_tail(1.0, df, half_noncentrality, 2 * alpha)
    difference = _compute_tail(1.0, df, half_noncentrality, 2 * alpha, has_odd_terms=True)
    return np.asarray(np.maximum((both_tails + sign * difference) / 2, 0.0))


def power_anova(
    topics: ArrayLike,
    *,
    systems: int,
    difference: Positive,
    variance: Positive,
    model: Annotated[str, OneOf(MODELS)] = "anova-2",
    alpha: Probability = 0.05,
    epsilon: Annotated[float, RealNumber()] = 1.0,
) -> Floats:
    r"""Compute the power of the F-test that all systems have equal means.

    The F-test does not show which systems differ: to compare the best with the worst system, more
    topics are required. The power is the minimum over all true means with a difference of D between
    the best and the worst system. This minimum occurs if all other systems are in the middle.

    .. math:: P(F > F_\alpha(m-1, \phi)), \quad F \sim F(m-1, \phi; \lambda),
        \quad \lambda = \frac{n D^2}{2 \sigma^2}

    with error degrees of freedom phi of m(n - 1) in the one-way and (m - 1)(n - 1) in the two-way
    design. Source: Sakai (2016), Topic set size design; Sakai (2018).

    The two-way design assumes that the differences of all pairs of systems have equal variances
    (sphericity). Otherwise the F-test is corrected, and `epsilon` measures the departure from
    sphericity: both degrees of freedom and :math:`\lambda` are multiplied by it, the approximation
    of Muller and Barton (1989) for a known epsilon. The result is the power of the corrected test
    for a difference of average variance.

    Parameters
    ----------
    topics
        Number of topics n, 2 or more; any shape.
    systems
        Number of systems m, 2 or more.
    difference
        True difference D between the best and the worst mean, above 0.
    variance
        Residual variance of a score under the model, above 0: see :func:`variance`.
    model
        `anova-1` or `anova-2`.
    alpha
        Significance level.
    epsilon
        Departure from sphericity, from 1 / (m - 1) to 1 (sphericity, the default), for `anova-2`
        only. Estimates for existing scores are in `comparison.anova.sphericity`.

    Returns
    -------
    array
        Power, in the shape of `topics`. For two systems in the two-way design it equals
        :func:`power_t` of a two-sided test.

    Raises
    ------
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> power_anova([25, 50, 100], systems=10, difference=0.05, variance=0.01).round(4).tolist()
    [0.1734, 0.3464, 0.6783]
    >>> power_anova(50, systems=10, difference=0.05, variance=0.01, epsilon=0.4).round(4).item()
    0.2117
    """
    check_arguments(power_anova, locals())
    check_integer("systems", systems, 2)
    if not 1 / (systems - 1) <= epsilon <= 1:
        raise PolicyError(
            f"epsilon (sphericity) of {systems} systems must be from {1 / (systems - 1):.4g} to 1,"
            f" got {epsilon:g}"
        )
    if model == "anova-1" and epsilon != 1:
        raise PolicyError("epsilon (sphericity) requires model='anova-2', got model='anova-1'")
    n = _check_topics(topics)
    error_df = (n - 1) * (systems if model == "anova-1" else systems - 1)
    half_noncentrality = _compute_half_noncentrality(n, difference, variance)
    return _compute_tail(
        epsilon * (systems - 1.0), epsilon * error_df, epsilon * half_noncentrality, alpha
    )


def expected_width(
    topics: ArrayLike,
    *,
    variance: Positive,
    alpha: Probability = 0.05,
) -> Floats:
    r"""Compute the expected width of the confidence interval of the difference of two systems.

    .. math:: 2\, t_{\alpha/2}(n-1)\, \frac{E[s]}{\sqrt{n}}, \quad E[s] = \sigma_t
        \sqrt{\frac{2}{n-1}} \frac{\Gamma(n/2)}{\Gamma((n-1)/2)}, \quad \sigma_t^2 = 2 \sigma^2

    Source: Sakai (2016), Topic set size design.

    Parameters
    ----------
    topics
        Number of topics n, 2 or more; any shape.
    variance
        As for :func:`power_t`.
    alpha
        1 minus the confidence level.

    Returns
    -------
    array
        Width, in the shape of `topics`, in the unit of the scores.

    Raises
    ------
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> expected_width([25, 50, 100], variance=0.01).round(4).tolist()
    [0.1155, 0.08, 0.056]
    """
    check_arguments(expected_width, locals())
    n = _check_topics(topics)
    bias = poch((n - 1) / 2, 0.5) * np.sqrt(2 / (n - 1))
    return np.asarray(2 * stdtrit(n - 1, 1 - alpha / 2) * bias * np.sqrt(2 * variance / n))


def _compute_half_noncentrality(topics: Floats, difference: float, variance: float) -> Floats:
    """Compute half the noncentrality of F for a true difference of two systems."""
    # An infinite noncentrality gives a power of 1.
    with np.errstate(over="ignore"):
        return topics * difference**2 / (4 * variance)


def _compute_tail(
    effect_df: float,
    error_df: Floats,
    half_noncentrality: Floats,
    alpha: float,
    *,
    has_odd_terms: bool = False,
) -> Floats:
    r"""Compute the probability that a noncentral F with df a, b exceeds the critical value.

    .. math:: P = \sum_j e^{-h} \frac{h^{j}}{\Gamma(j+1)} (1 - I_x(a/2 + j, b/2)), \quad
        I_x(a/2, b/2) = 1 - \alpha

    with h half the noncentrality. With `has_odd_terms` the sum is over j + 1/2 instead of j: the
    difference between the two tails of a noncentral t whose square is F. SciPy's ncfdtr and nctdtr
    return NaN if they underflow (1.17), and have errors of up to 0.009 in older versions (1.13).
    """
    half_a, half_b = effect_df / 2, np.asarray(error_df)[..., None] / 2
    x = betaincinv(half_a, half_b, 1 - alpha)
    # A larger noncentrality gives the same result, but imprecise weights.
    h = np.minimum(half_noncentrality, 1e8)[..., None]
    # Weights are negligible beyond some standard deviations of h. Terms are smooth, so that evenly
    # spaced terms suffice if there are many.
    step = np.maximum(1.0, np.floor(np.sqrt(h) / 25))
    j = np.floor(h) + step * np.arange(-600, 601)
    shifted_j = np.maximum(j, 0.0) + (0.5 if has_odd_terms else 0.0)
    weights = np.exp(xlogy(shifted_j, h) - h - gammaln(shifted_j + 1))
    weights[j < 0] = 0.0
    # Normalised weights correct for the spacing and for errors of the logarithms.
    sum_of_weights = weights.sum(axis=-1, keepdims=True)
    # Without an effect both tails are equal, and their difference is 0.
    weights *= (erf(np.sqrt(h)) if has_odd_terms else 1.0) / np.where(
        sum_of_weights > 0, sum_of_weights, 1.0
    )
    return np.asarray((weights * betaincc(half_a + shifted_j, half_b, x)).sum(axis=-1))


def _check_topics(topics: ArrayLike) -> Floats:
    n = np.asarray(topics, dtype=np.float64)
    if not (n >= 2).all() or np.isinf(n).any():
        raise PolicyError(f"the number of topics must be a finite number >= 2, got {topics!r}")
    return n


def check_positive(**options: float) -> None:
    """Raise if an option is not a positive number."""
    for name, value in options.items():
        check_number(name, value, above=0)
