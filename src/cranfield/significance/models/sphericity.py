"""The F-test of systems on the same topics, where differences between systems vary unequally."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from cranfield.base.arrays import Floats


@dataclass(frozen=True)
class Sphericity:
    r"""How far scores are from what the F of all systems takes for granted, and its p without it.

    That F assumes that the differences of all pairs of systems have one variance (sphericity).
    With eigenvalues lambda of the covariance of m systems over n topics, centred by row and column,

    .. math:: \hat\varepsilon = \frac{(\sum \lambda)^2}{(m - 1) \sum \lambda^2}, \quad
        \tilde\varepsilon = \min\left(1, \frac{n (m - 1) \hat\varepsilon - 2}
        {(m - 1) (n - 1 - (m - 1) \hat\varepsilon)}\right)

    Both degrees of freedom are multiplied by it. Source: Greenhouse and Geisser (1959); Huynh and
    Feldt (1976), to which Lecoutre's correction (1991) changes nothing where all topics are one
    group.

    Attributes
    ----------
    greenhouse_geisser, huynh_feldt
        The two estimates, above 0 and up to 1, which is sphericity. The first is never above
        (n - 1) / (m - 1): with fewer topics than systems it is too low, and its p too high.
    p_greenhouse_geisser, p_huynh_feldt
        P-value of the F of all systems by each.
    """

    greenhouse_geisser: float
    huynh_feldt: float
    p_greenhouse_geisser: float
    p_huynh_feldt: float


def sphericity(values: Floats, f: float) -> Sphericity | None:
    """Correct the F of systems; values have shape (topics, systems) and no gaps.

    There is nothing to correct for two systems, and nothing to go by where no differences vary.
    """
    topics, systems = values.shape
    rest = values - values.mean(axis=1, keepdims=True)
    rest -= rest.mean(axis=0)
    if systems < 3 or np.isnan(f) or not rest.any():
        return None
    gg, hf = epsilons(rest)
    df = np.array([gg, hf]) * (systems - 1.0)
    p = fdtrc(df, df * (topics - 1), f) if np.isfinite(f) else np.zeros(2)
    return Sphericity(gg, hf, float(p[0]), float(p[1]))


def epsilons(rest: Floats) -> tuple[float, float]:
    """Return both estimates from scores without the effects of topics and systems.

    The sums over eigenvalues are a trace and a norm, of the smaller of the two products.
    """
    topics, systems = rest.shape
    rest = rest / np.abs(rest).max()
    product = rest @ rest.T if topics < systems else rest.T @ rest
    most = systems - 1.0
    gg = float(np.trace(product) ** 2 / (most * (product**2).sum()))
    above, below = topics * most * gg - 2, most * (topics - 1 - most * gg)
    # Equal eigenvalues, as many as there can be: nothing speaks against sphericity; of two topics
    # there is one only, which says nothing.
    hf = above / below if below > 1e-9 * most * topics else 1.0 if topics > 2 else gg
    return gg, min(1.0, max(gg, hf))
