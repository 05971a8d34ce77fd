"""A million draws of every method of interleaving against its exact distribution.

Run `python -m studies.interleaving_draws [NUMBER]`. The number of draws of each list with its teams
lies within 4.5 standard errors of what is expected; lists expected fewer than 50 times are compared
by the exact binomial tail of the same size. Also shown: the constraints of optimised methods.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
from scipy import stats

import cranfield as cf

PAIRS = (("abcd", "bdca"), ("abcd", "bcda"), ("abcd", "dcba"), ("abc", "bcd"))
MANY = ("abcd", "bdca", "dacb")
LARGEST = 4.5


def largest_error(made: cf.online.Interleaver, number: int, seed: int) -> float:
    """Largest difference in standard errors, or in normal quantiles of the exact tail."""
    law = made.distribution()
    drawn = made.draw(number, seed)
    rows = np.r_[np.c_[law.lists, law.teams], np.c_[drawn.lists, drawn.teams]]
    which = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    # Each drawn list has to be one that there is.
    seen = np.bincount(which[len(law) :], minlength=which.max() + 1)[which[: len(law)]]
    if seen.sum() != number:
        return float("inf")
    p = law.probabilities
    error = np.sqrt(p * (1 - p) / number)
    often = (p * number >= 50) & (error > 0)
    z = np.abs(seen / number - p)[often] / error[often]
    rare = p * number < 50
    low = stats.binom.cdf(seen[rare], number, p[rare])
    high = stats.binom.sf(seen[rare] - 1, number, p[rare])
    tails = stats.norm.isf(np.minimum(low, high))
    return float(max(z.max(initial=0), tails.max(initial=0)))


def main(number: str = "1000000") -> None:
    worst = 0.0
    for method, most in cf.online.interleaving_methods().select("method", "rankers").rows():
        cases = [*PAIRS, *([MANY] if most != "2" else [])]
        errors = [
            largest_error(cf.online.interleave([[*one] for one in case], method, 4), int(number), k)
            for k, case in enumerate(cases)
        ]
        worst = max(worst, *errors)
        print(f"{method:24}", "  ".join(f"{error:5.2f}" for error in errors))
    print(f"largest of all: {worst:.2f} standard errors of {int(number):,} draws")
    for method in ("Optimised", "Optimised(credit='inverse')", "OptimisedMultileaving"):
        off = 0.0
        for other in permutations("abcd"):
            law = cf.online.interleave([[*"abcd"], [*other]], method, 4).distribution()
            assert law.imbalance is not None
            off = max(off, float(law.imbalance.max()))
        print(f"{method:28} constraints of 24 pairs of orders hold to {off:.1e}")
    if worst > LARGEST:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
