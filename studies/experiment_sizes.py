"""Rejection rates of the tests of A/B experiments under the null hypothesis.

    python -m studies.experiment_sizes
    python -m studies.experiment_sizes unequal [EXPERIMENTS]
    python -m studies.experiment_sizes few [EXPERIMENTS]

The first command prints the tables of docs/experiments.md for equal splits, from 10,000 A/A
experiments each. The second command prints the table for unequal splits: 1,000 users, 10% treated.
The third prints the table for few units, and for rare events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.streams import make_stream
from cranfield.online import analyse_experiment
from cranfield.online.experiments.aa_tests import compute_pair_moments
from cranfield.online.experiments.design import compute_chi_square
from cranfield.online.experiments.estimates import (
    Effects,
    MetricColumns,
    Moments,
    always_valid_inference,
    estimate_arms,
)
from cranfield.online.experiments.report import MAX_EXACT_UNITS
from cranfield.significance.differences import compute_t_pvalue, compute_t_quantile
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from studies.common import run_main

Floats = NDArray[np.float64]

EXPERIMENTS = 10_000
AT_A_TIME = 200_000
ALPHA = 0.05
LOOKS, BLOCK = 1000, 10
WATCHED = {"normal": 10_000, "clicks": 2000, "revenue": 2000, "lognormal": 2000}
"""Experiments that are looked at."""


def normal(random: np.random.Generator, shape: tuple[int, int]) -> list[Floats]:
    """A value of 10 with deviation 3, its past with correlation .7; pages 1 to 9."""
    person = random.normal(size=shape)
    value, past = (
        10 + 3 * (0.7**0.5 * person + 0.3**0.5 * random.normal(size=shape)) for _ in "12"
    )
    return [value, random.integers(1, 10, shape).astype(float), past, np.ones(shape)]


def clickers(random: np.random.Generator, shape: tuple[int, int]) -> list[Floats]:
    """Clicks on pages: geometric numbers of pages, mean 6; click rates of users Beta(0.5, 1.5)."""
    rate, busy = random.beta(0.5, 1.5, shape), random.gamma(1.0, 5.0, shape)
    now, before = (1 + random.poisson(busy) for _ in "12")
    clicks, past = (random.binomial(n, rate).astype(float) for n in (now, before))
    return [clicks, now.astype(float), past, before.astype(float)]


def buyers(random: np.random.Generator, shape: tuple[int, int]) -> list[Floats]:
    """Revenue: 5 % of users spend, lognormal with sigma 1.5; visits are geometric."""
    spends = random.random(shape) < 0.05
    level = random.normal(size=shape)
    now, past = (
        spends * np.exp(3 + 1.5 * (0.8 * level + 0.6 * random.normal(size=shape))) for _ in "12"
    )
    visits, before = (random.geometric(0.3, shape).astype(float) for _ in "12")
    return [now, visits, past, before]


def heavy(random: np.random.Generator, shape: tuple[int, int]) -> list[Floats]:
    """Lognormal values with sigma 2; numbers of pages are lognormal with sigma 1.5 too."""
    level = random.normal(size=shape)
    now, past = (np.exp(2 * (0.8 * level + 0.6 * random.normal(size=shape))) for _ in "12")
    pages, before = (np.ceil(np.exp(1.5 * random.normal(size=shape))) for _ in "12")
    return [now, pages, past, before]


POPULATIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], list[Floats]]] = {
    "normal": normal,
    "clicks": clickers,
    "revenue": buyers,
    "lognormal": heavy,
}
SIZES = {
    "normal": (50, 200, 1000),
    "clicks": (50, 200, 1000),
    "revenue": (200, 1000, 4000),
    "lognormal": (200, 1000, 4000),
}
METRICS = {
    "mean": MetricColumns(1),
    "ratio": MetricColumns(1, 2),
    "CUPED": MetricColumns(1, 0, 3, 0),
    "CUPED ratio": MetricColumns(1, 2, 3, 4),
}
COLUMNS = (*METRICS, "SRM", "per page", "lift")


def experiments(name: str, units: int) -> Iterator[tuple[Moments, NDArray[np.bool_], list[Floats]]]:
    """Yield moments of both variants of some experiments, who is where, and the columns."""
    step = max(1, AT_A_TIME // units)
    first, second = np.triu_indices(5)
    for start in range(0, EXPERIMENTS, step):
        random = make_stream(2026, list(POPULATIONS).index(name), units, start)
        shape = (min(step, EXPERIMENTS - start), units)
        columns = POPULATIONS[name](random, shape)
        other = random.random(shape) < 0.5
        values = np.stack([np.ones(shape), *columns], axis=-1)
        middle = values.mean(axis=1, keepdims=True)
        apart = values - middle
        products = apart[..., first] * apart[..., second]
        found = compute_pair_moments(apart, products, np.zeros(5), other)
        yield Moments(found.n_units, found.mean + middle, found.scatter), other, columns


def per_page(other: NDArray[np.bool_], columns: list[Floats]) -> Floats:
    """Test click rates of pages, as if pages were assigned: two proportions, pooled."""
    clicks, pages = columns[:2]
    x = np.stack([(clicks * ~other).sum(axis=1), (clicks * other).sum(axis=1)])
    n = np.stack([(pages * ~other).sum(axis=1), (pages * other).sum(axis=1)])
    rate = x.sum(axis=0) / n.sum(axis=0)
    error = np.sqrt(rate * (1 - rate) * (1 / n).sum(axis=0))
    return np.asarray(compute_t_pvalue((x[1] / n[1] - x[0] / n[0]) / error, np.inf, "two-sided"))


def rejections(name: str, units: int) -> list[float]:
    """Return the share of experiments that each test rejects, in the order of COLUMNS."""
    rejected = np.zeros((len(COLUMNS), 0))
    for found, other, columns in experiments(name, units):
        means = {one: estimate_arms(found, placed) for one, placed in METRICS.items()}
        effects = {one: Effects.from_arms(arms, 1) for one, arms in means.items()}
        rows = [one.compute_pvalue() <= ALPHA for one in effects.values()]
        count = found.n_units.astype(int)
        srm = compute_chi_square(count, np.array([0.5, 0.5]))[1]
        if units < MAX_EXACT_UNITS:
            srm = compute_binomial_pvalues(count[:, 0], count[:, 1])
        rows.append(srm <= ALPHA)
        nothing = np.full(len(rows[0]), np.nan)
        rows.append(per_page(other, columns) <= ALPHA if name == "clicks" else nothing)
        low, high = effects["mean"].compute_lift_interval(
            lambda df: compute_t_quantile(1 - ALPHA, df)
        )
        rows.append((low > 0) | (high < 0))
        rejected = np.concatenate([rejected, np.array(rows, dtype=float)], axis=1)
    return [float(row.mean()) for row in rejected]


def watched(name: str) -> dict[str, float]:
    """Return the share of experiments that reject at any of 1,000 looks, each after 10 units."""
    count = {"fixed": 0, "CS(tuned=5000)": 0, "CS from 100": 0, "mSPRT": 0}
    step = 50
    for start in range(0, WATCHED[name], step):
        random = make_stream(2027, list(POPULATIONS).index(name), start)
        value = POPULATIONS[name](random, (step, LOOKS * BLOCK))[0]
        other = random.random(value.shape) < 0.5

        def so_far(values: Floats) -> Floats:
            return np.asarray(values.reshape(step, LOOKS, BLOCK).sum(axis=2).cumsum(axis=1))

        whole = [so_far(one) for one in (np.ones_like(value), value, value**2)]
        part = [so_far(one * other) for one in (np.ones_like(value), value, value**2)]
        with np.errstate(divide="ignore", invalid="ignore"):
            arms = []
            for n, x, squares in (part, [a - b for a, b in zip(whole, part, strict=True)]):
                arms.append((x / n, np.maximum(squares - x**2 / n, 0) / (n - 1) / n))
            difference = np.nan_to_num(arms[0][0] - arms[1][0])
            error = np.sqrt(arms[0][1] + arms[1][1])
            known = (arms[0][1] > 0) & (arms[1][1] > 0)
        error = np.where(known & np.isfinite(error), error, 0.0)
        total = BLOCK * np.arange(1.0, LOOKS + 1)
        wide = np.abs(difference) > compute_t_quantile(1 - ALPHA, total - 2) * error
        count["fixed"] += int((wide & known).any(axis=1).sum())
        p = always_valid_inference(difference, error, total, "CS(tuned=5000)")[2]
        count["CS(tuned=5000)"] += int((p[:, -1] <= ALPHA).sum())
        late = always_valid_inference(difference[:, 9:], error[:, 9:], total[9:], "CS(tuned=5000)")[
            2
        ]
        count["CS from 100"] += int((late[:, -1] <= ALPHA).sum())
        tau = float(0.05 * value.std())
        p = always_valid_inference(difference, error, total, f"mSPRT(tau={tau})")[2]
        count["mSPRT"] += int((p[:, -1] <= ALPHA).sum())
    return {one: number / WATCHED[name] for one, number in count.items()}


UNEQUAL_EXPERIMENTS = 1000
TREATED, CONTROLS = 100, 900
RESAMPLES = 999


def lognormal(random: np.random.Generator, sigma: float, size: int) -> Floats:
    """Return lognormal values with mean 1."""
    return np.asarray(np.exp(sigma * random.normal(size=size) - sigma**2 / 2))


def spenders(random: np.random.Generator, size: int) -> Floats:
    """Return revenue of users of whom 5% spend, lognormal with sigma 1.5."""
    return (random.random(size) < 0.05) * lognormal(random, 1.5, size)


UNEQUAL: dict[str, Callable[[np.random.Generator], tuple[Floats, Floats]]] = {
    "lognormal 2": lambda r: (lognormal(r, 2, CONTROLS), lognormal(r, 2, TREATED)),
    "lognormal 1.5": lambda r: (lognormal(r, 1.5, CONTROLS), lognormal(r, 1.5, TREATED)),
    "5% spend": lambda r: (spenders(r, CONTROLS), spenders(r, TREATED)),
    "1.5, treated 2": lambda r: (lognormal(r, 1.5, CONTROLS), lognormal(r, 2, TREATED)),
    "2, treated 1.5": lambda r: (lognormal(r, 2, CONTROLS), lognormal(r, 1.5, TREATED)),
}
"""Control and treatment with equal means; in the last two the spread differs."""


def bootstrap_t(control: Floats, treated: Floats, random: np.random.Generator) -> float:
    """Return the equal-tailed p-value of the bootstrap-t: each variant is resampled on its own."""

    def drawn(values: Floats) -> tuple[Floats, Floats]:
        sample = values[random.integers(0, values.size, (RESAMPLES, values.size))]
        return sample.mean(axis=1) - values.mean(), sample.var(axis=1, ddof=1) / values.size

    (m0, v0), (m1, v1) = drawn(control), drawn(treated)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.nan_to_num((m1 - m0) / np.sqrt(v0 + v1))
    error = np.sqrt(control.var(ddof=1) / control.size + treated.var(ddof=1) / treated.size)
    observed = (treated.mean() - control.mean()) / error
    tails = [(statistics <= observed).sum(), (statistics >= observed).sum()]
    return min(1.0, 2 * (float(min(tails)) + 1) / (RESAMPLES + 1))


def unequal(name: str, number: int) -> dict[str, tuple[float, float]]:
    """Return by test how often the treatment is found worse, and better, with 10% treated."""
    tests = ("delta", "bootstrap", "bootstrap-t", "auto")
    count = {test: np.zeros(2) for test in tests}
    variant = ["control"] * CONTROLS + ["treatment"] * TREATED
    for k in range(number):
        random = make_stream(2028, list(UNEQUAL).index(name), k)
        control, treated = UNEQUAL[name](random)
        higher = int(treated.mean() > control.mean())
        table = {"variant": variant, "revenue": np.concatenate([control, treated])}
        if treated.any():
            count["bootstrap-t"][higher] += bootstrap_t(control, treated, random) <= ALPHA
        for test in tests:
            if test != "bootstrap-t":
                found = analyse_experiment(
                    table,
                    "revenue",
                    weights={"control": 0.9, "treatment": 0.1},
                    errors=test,
                    resamples=RESAMPLES,
                    seed=k,
                )
                count[test][higher] += found.pvalues[0, 0] <= ALPHA
    return {test: (worse / number, better / number) for test, (worse, better) in count.items()}


def print_unequal(number: int) -> None:
    print(f"{number:,} experiments, {TREATED} of {TREATED + CONTROLS:,} users treated, equal means")
    print(
        f"{'population':16}{'test':14}{'worse':>9}{'better':>9}{'both':>9}   95% interval of both"
    )
    for name in UNEQUAL:
        for test, (worse, better) in unequal(name, number).items():
            both = worse + better
            low, high = compute_wilson_intervals(
                np.array(both), np.array(number), compute_t_quantile(0.95, np.inf)
            )
            shown = f"{worse:9.4f}{better:9.4f}{both:9.4f}   {low:.4f} to {high:.4f}"
            print(f"{name:16}{test:14}{shown}", flush=True)


FEW_EXPERIMENTS = 500
FEW_UNITS: dict[str, tuple[Callable[[np.random.Generator, int], Floats], tuple[int, ...]]] = {
    "normal": (lambda r, size: np.asarray(r.normal(size=size)), (2, 3, 5, 8)),
    "lognormal 1.5": (lambda r, size: lognormal(r, 1.5, size), (2, 3, 5, 8)),
    "10% events": (lambda r, size: (r.random(size) < 0.1).astype(np.float64), (2, 3, 5, 8)),
    "1% events": (lambda r, size: (r.random(size) < 0.01).astype(np.float64), (200,)),
}
"""Populations, and numbers of units in each of two variants without a difference."""


def print_few(number: int) -> None:
    print(f"{number:,} experiments\n{'population':16}{'units':>7}{'delta':>9}{'auto':>9}")
    for index, (name, (draw, sizes)) in enumerate(FEW_UNITS.items()):
        for units in sizes:
            rejected = {"delta": 0, "auto": 0}
            for k in range(number):
                values = draw(make_stream(2029, index, units, k), 2 * units)
                variant = ["control"] * units + ["treatment"] * units
                for test in rejected:
                    report = analyse_experiment(
                        {"variant": variant, "value": values}, "value", errors=test, seed=k
                    )
                    rejected[test] += bool(report.pvalues[0, 0] <= ALPHA)
            cells = "".join(f"{count / number:9.3f}" for count in rejected.values())
            print(f"{name:16}{units:7}{cells}", flush=True)


def main(
    what: Annotated[str, ("equal", "unequal", "few")] = "equal", experiments: int | None = None
) -> None:
    if what == "unequal":
        print_unequal(experiments or UNEQUAL_EXPERIMENTS)
    elif what == "few":
        print_few(experiments or FEW_EXPERIMENTS)
    else:
        print_equal()


def print_equal() -> None:
    print(f"{'population':11}{'units':>7}", *(f"{one:>12}" for one in COLUMNS))
    for name in POPULATIONS:
        for units in SIZES[name]:
            cells = (f"{one:12.4f}" if one == one else " " * 12 for one in rejections(name, units))
            print(f"{name:11}{units:7,}", *cells, flush=True)
    print(f"\n{LOOKS:,} looks, each after {BLOCK} units")
    for name in POPULATIONS:
        found = watched(name)
        print(f"{name:11}", *(f"{one} {share:.4f}" for one, share in found.items()), flush=True)


if __name__ == "__main__":
    run_main(main)
