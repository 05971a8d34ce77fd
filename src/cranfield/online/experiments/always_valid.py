"""Limits and p-values that hold at every look, of estimates that are nearly normal."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.border.given import Numbers
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared, parse_declared
from cranfield.measures.parameters import number, parameter


class Sequential(Declared):
    r"""A way to look again and again, by a mixture of likelihood ratios.

    Of an estimate d with standard error s, and a prior variance r s^2 of what is estimated,

    .. math:: \log \Lambda = -\frac12 \log(1 + r) + \frac{d^2}{s^2} \frac{r}{2 (1 + r)}

    Where there is no difference the chance that this ever reaches :math:`\log(1/\alpha)` is at most
    alpha, for normal estimates with known variance (Robbins, 1970), and nearly so for means of many
    units. So p is the least :math:`1/\Lambda` at any look.
    """

    error = PolicyError
    name: ClassVar[str] = ""

    @classmethod
    def called(cls) -> str:
        return cls.name

    def ratio(self, squared: Floats, units: Floats, alpha: float) -> Floats:
        """Return the prior variance by the squared error, for each look."""
        raise NotImplementedError


class ConfidenceSequence(Sequential):
    r"""Asymptotic confidence sequence, narrowest near the number of units for which it is tuned.

    .. math:: d \pm s \sqrt{\frac{2 (N\rho^2 + 1)}{N \rho^2} \log\frac{\sqrt{N\rho^2+1}}{\alpha}},
        \quad \rho^2 = \frac{-2 \log\alpha + \log(1 - 2 \log\alpha)}{N^*}

    Source: Waudby-Smith et al. (2024), as GrowthBook has it.
    """

    name = "CS"
    tuned = parameter(5000, number(1), "units of both variants at which limits are narrowest")

    def ratio(self, squared: Floats, units: Floats, alpha: float) -> Floats:
        log = -2 * np.log(alpha)
        return np.asarray(units * (log + np.log(1 + log)) / self.tuned)


class MixtureSPRT(Sequential):
    r"""Mixture sequential probability ratio test, with a normal prior of the difference.

    .. math:: \Lambda = \sqrt{\frac{V}{V + n \tau^2}}
        \exp\left(\frac{n^2 \tau^2 d^2}{2 V (V + n \tau^2)}\right)

    with the variance V/n of the difference. Source: Johari, Pekelis and Walsh (2015).
    """

    name = "mSPRT"
    tau = parameter(0.1, number(0, open_low=True), "standard deviation of lifts that one expects")

    def ratio(self, squared: Floats, units: Floats, alpha: float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(self.tau**2 / squared)


KINDS: dict[str, type[Sequential]] = {one.name: one for one in (ConfidenceSequence, MixtureSPRT)}
"""Sequential methods by name."""

_ALIASES = {"confidence-sequence": "CS", "ConfidenceSequence": "CS", "MixtureSPRT": "mSPRT"}


def parse_sequential(text: str | Sequential) -> Sequential:
    """Read a sequential method from its text form.

    >>> parse_sequential("cs(tuned=1000)")
    CS(tuned=1000)
    """
    return parse_declared(text, Sequential, KINDS, _ALIASES, "sequential method")


def log_likelihood_ratio(z: Floats, ratio: Floats) -> Floats:
    """Return the logarithm of the mixture of likelihood ratios of a z."""
    share = np.where(np.isinf(ratio), 1.0, ratio / (1 + np.minimum(ratio, 1e300)))
    return np.asarray(z**2 * share / 2 - np.log1p(ratio) / 2)


def half_width(ratio: Floats, alpha: float) -> Floats:
    """Return how many standard errors limits are wide: the z that reaches 1/alpha."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(2 * (1 + 1 / ratio) * (np.log1p(ratio) / 2 - np.log(alpha))))


def always_valid(
    difference: Numbers,
    error: Numbers,
    units: Numbers,
    method: str | Sequential = "CS",
    *,
    alpha: float = 0.05,
) -> tuple[Floats, Floats, Floats]:
    r"""Return limits and p-values of differences that are looked at again and again.

    Parameters
    ----------
    difference, error
        The estimate so far and its standard error at each look, the last axis of arrays.
    units
        Units of both variants so far, at each look.
    method
        `CS(tuned=5000)`: asymptotic confidence sequence, narrowest near that number of units; or
        `mSPRT(tau=0.1)`: mixture test with the standard deviation of differences that one expects.
        It must be fixed before the first look.
    alpha
        Of all looks together.

    Returns
    -------
    low, high
        Limits at each look, of that look.
    p
        The least p-value so far.

    Raises
    ------
    PolicyError
        For an infinite difference.

    Examples
    --------
    >>> low, high, p = always_valid([0.1, 0.1], [0.05, 0.02], [1000, 6000], "CS(tuned=5000)")
    >>> p.round(4).tolist()
    [0.4716, 0.0]
    """
    chosen = parse_sequential(method)
    d, s, n = (np.asarray(one, dtype=np.float64) for one in (difference, error, units))
    if np.isinf(d).any():
        raise PolicyError("differences are finite, or NaN where there is none")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = chosen.ratio(s**2, n, alpha)
        z = np.where(s > 0, d / s, 0.0)
        # Without variance nothing is known of it: no evidence, and no limits.
        known = (s > 0) & np.isfinite(s)
        half = np.where(known, half_width(ratio, alpha) * s, np.inf)
        log = np.where(known, log_likelihood_ratio(z, ratio), 0.0)
    p = np.minimum.accumulate(np.minimum(1.0, np.exp(-log)), axis=-1)
    return d - half, d + half, p
