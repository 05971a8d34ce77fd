"""Measure how often 95% prediction intervals of a meta-analysis hold the value of another place.

    python -m studies.prediction_intervals [--samples 2000] [--topics 50]

Places have true differences that are normal with variance tau^2, and estimates with the error of a
mean over topics, of which the variance is estimated, too. I^2 says how much of the variance of an
estimate is tau^2. Printed for each number of places and I^2 is the coverage of

- bootstrap: the interval of `cranfield.significance.meta_analysis` (Nagashima, Noma and Furukawa
  2019),
- k - 1: mean and t with k - 1 degrees of freedom times sqrt(SE^2 + tau^2), tau^2 by REML and SE of
  Hartung and Knapp (IntHout et al. 2016),
- k - 2: the same with the plain SE and k - 2 degrees of freedom (Higgins, Thompson and
  Spiegelhalter 2009),

and the coverage of the confidence interval of the mean by Hartung and Knapp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from cranfield.significance.several.meta_analysis import bound_predictions, pool_estimates
from studies.common import run_main

PLACES = (2, 3, 5, 10)
SHARES = (0.0, 0.3, 0.6, 0.9)


def coverage(places: int, share: float, samples: int, topics: int, seed: int) -> dict[str, float]:
    """Return coverage by name of the interval; errors have variance 1."""
    random = np.random.default_rng([seed, places, round(100 * share)])
    tau = np.sqrt(share / (1 - share))
    y = random.normal(0, tau, (samples, places)) + random.normal(size=(samples, places))
    v = random.chisquare(topics - 1, (samples, places)) / (topics - 1)
    other = random.normal(0, tau, samples)
    low, high = bound_predictions(y, v, 0.95, 2_000, seed)
    found = {"bootstrap": float(((low <= other) & (other <= high)).mean())}
    knapp, plain = (pool_estimates(y, v, "reml", by) for by in ("hartung-knapp", "normal"))

    def within(center: Any, error: Any, df: int, truth: Any) -> float:
        half = stats.t.ppf(0.975, df) * error
        return float((np.abs(center - truth) <= half).mean())

    spread = np.sqrt(knapp.error**2 + knapp.tau2)
    found["k - 1"] = within(knapp.estimate, spread, places - 1, other)
    if places > 2:
        spread = np.sqrt(plain.error**2 + plain.tau2)
        found["k - 2"] = within(plain.estimate, spread, places - 2, other)
    found["mean"] = within(knapp.estimate, knapp.error, places - 1, 0.0)
    return found


def main(*, samples: int = 2000, topics: int = 50, seed: int = 0) -> None:
    for places in PLACES:
        for share in SHARES:
            found = coverage(places, share, samples, topics, seed)
            told = "  ".join(f"{name} {number:.3f}" for name, number in found.items())
            print(f"{places:2d} places, I^2 {share:.1f}: {told}", flush=True)


if __name__ == "__main__":
    run_main(main)
