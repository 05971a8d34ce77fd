"""Do the tests reject as often as they say where there is no difference?

    python -m studies.calibration [--sets 10000] [--seed 20261121] [--jobs 2] [--only TEXT]

Each data set is drawn without any difference between systems. A test is right when it rejects in
about alpha of them, or in fewer where its statistic is discrete and takes few values. For many
systems, the share of data sets with any rejection is the family-wise error; for the false discovery
rate, half of the systems do differ. Prints tables in Markdown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.parallel import compute_tasks
from cranfield.scores import Scores
from cranfield.significance import TESTS
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import Pairs
from cranfield.significance.registry import TestOptions
from studies.common import print_head, print_row, run_main

SIZES = (10, 25, 50)
SHAPES = ("normal", "skewed", "discrete")
LEVELS = (0.05, 0.01)
SYSTEMS = 5
RESAMPLES = 999
BLOCK = 500
"""Data sets that share random numbers; each block draws its own."""

OF_PAIRS = tuple(name for name, test in TESTS.items() if not test.info.has_model)
OF_ALL = (
    "anova-1",
    "anova-2",
    "anova-3",
    "random-topics",
    "kruskal-wallis",
    "friedman",
    "bootstrap-anova",
)
FAMILIES = (
    ("anova-1", "tukey"),
    ("anova-2", "bootstrap-tukey"),
    ("anova-2", "tukey"),
    ("anova-2", "dunnett"),
    ("anova-3", "tukey"),
    ("random-topics", "bootstrap-tukey"),
    ("kruskal-wallis", "tukey"),
    ("friedman", "tukey"),
    ("randomisation", "randomised-tukey"),
    ("t", "bonferroni"),
    ("t", "holm"),
    ("t", "max-t"),
    ("t", "bootstrap-max-t"),
    ("signed-rank", "holm"),
)
UNEQUAL = ("two spreads", "real runs")
FAMILIES_UNEQUAL = (
    ("anova-2", "bootstrap-tukey"),
    ("anova-2", "tukey"),
    ("randomisation", "randomised-tukey"),
    ("friedman", "tukey"),
    ("t", "holm"),
    ("t", "max-t"),
    ("t", "bootstrap-max-t"),
)


@dataclass(frozen=True)
class Cell:
    """How often a test rejected in how many data sets, at both levels."""

    shape: str
    n: int
    sets: int
    rejected: tuple[float, float]


def drawn(rng: np.random.Generator, shape: str, size: tuple[int, ...], paired: bool) -> Floats:
    """Draw scores without differences: the first axis is topics, which matter where paired."""
    topics = (size[0], *(1 for _ in size[1:])) if paired else size
    if shape == "normal":
        return rng.normal(0, 0.2, topics) + rng.normal(0, 0.1, size)
    if shape == "skewed":
        return rng.exponential(0.1, topics) + rng.lognormal(-2.5, 1.0, size)
    chance = rng.beta(1.0, 2.0, topics)
    return rng.binomial(10, np.broadcast_to(chance, size)) / 10


def of_pairs(name: str, shape: str, n: int, sets: int, seed: int) -> Cell:
    """Each data set is a pair of columns of one large matrix."""
    info = TESTS[name].info
    rejected = np.zeros(2)
    for block in range(0, sets, BLOCK):
        rng = np.random.default_rng([seed, n, SHAPES.index(shape), block])
        count = min(BLOCK, sets - block)
        if info.is_paired:
            # Topics differ from data set to data set, not from system to system.
            both = [drawn(rng, shape, (n, 2), True) for _ in range(count)]
            values = np.stack(both, axis=2).reshape(n, 2 * count)
        else:
            values = drawn(rng, shape, (n, 2 * count), False)
        pairs = Pairs(values, np.arange(count), count + np.arange(count))
        options = TestOptions(resamples=RESAMPLES, seed=seed + block, exact=_exact(name))
        p = TESTS[name].run(pairs, options).pvalue
        rejected += [(p <= level).sum() for level in LEVELS]
    return Cell(shape, n, sets, (rejected[0] / sets, rejected[1] / sets))


def _exact(name: str) -> bool | None:
    """Test the drawn assignments, not the enumerated ones, which need no study."""
    return False if name == "randomisation" else None


def of_all(name: str, correction: str | None, shape: str, n: int, sets: int, seed: int) -> Cell:
    """Each data set is a matrix of topics and systems; any rejection of a pair counts.

    Without a correction the test of all systems together counts.
    """
    info = TESTS[name].info
    rejected = np.zeros(2)
    for k in range(sets):
        rng = np.random.default_rng([seed, n, SHAPES.index(shape), k])
        size = (n, SYSTEMS, 3) if info.shards == "required" else (n, SYSTEMS)
        values = drawn(rng, shape, size, info.is_paired)
        least = _least_p(name, correction, values, seed + k)
        rejected += [least <= level for level in LEVELS]
    return Cell(shape, n, sets, (rejected[0] / sets, rejected[1] / sets))


def _least_p(name: str, correction: str | None, values: Floats, seed: int) -> float:
    found = compare(
        Scores(values, _labels(len(values)), _labels(values.shape[1])),
        test=name,
        correction=correction or "none",
        baseline="0" if correction == "dunnett" else None,
        resamples=RESAMPLES,
        seed=seed,
        exact=_exact(name),
        jobs=1,
    )
    if correction is not None:
        return float(found.adjusted_pvalues.min())
    if found.omnibus is not None:
        return found.omnibus.pvalue
    if found.test == "bootstrap-anova":
        # It has no test of all together; one pair is as good as another.
        return float(found.raw_pvalues[0])
    assert found.anova is not None
    return float(found.anova.p[found.anova.sources.index("System")])


def of_unequal(name: str, correction: str, kind: str, n: int, sets: int, seed: int) -> Cell:
    """Family-wise error of normal scores whose systems differ in variance and are correlated."""
    root = _root(kind)
    rejected = np.zeros(2)
    for k in range(sets):
        rng = np.random.default_rng([seed, n, UNEQUAL.index(kind), k])
        values = rng.normal(size=(n, len(root))) @ root.T
        least = _least_p(name, correction, values, seed + k)
        rejected += [(least <= level) for level in LEVELS]
    return Cell(kind, n, sets, (rejected[0] / sets, rejected[1] / sets))


@cache
def _root(kind: str) -> Floats:
    """Return a matrix that gives independent normal variables the covariance of systems."""
    if kind == "two spreads":
        return np.diag([0.05] * 5 + [0.2] * 5)
    collection = cf.bundled.trec_covid()
    scores = cf.evaluate(collection.runs, collection.qrels, "nDCG@20")["nDCG@20"].values
    values, vectors = np.linalg.eigh(np.cov(scores.T))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _labels(number: int) -> tuple[str, ...]:
    return tuple(map(str, range(number)))


def false_discoveries(correction: str, shape: str, n: int, sets: int, seed: int) -> Cell:
    """Mean share of wrong pairs among those found, where half of the systems are better."""
    share = np.zeros(2)
    systems = 8
    for k in range(sets):
        rng = np.random.default_rng([seed, n, SHAPES.index(shape), k])
        values = drawn(rng, shape, (n, systems), True)
        values[:, systems // 2 :] += 0.08
        scores = Scores(values, _labels(n), _labels(systems))
        found = compare(scores, test="t", correction=correction)
        alike = (found.first < systems // 2) == (found.second < systems // 2)
        for at, level in enumerate(LEVELS):
            significant = found.is_significant(level)
            share[at] += (significant & alike).sum() / max(1, significant.sum())
    return Cell(shape, n, sets, (share[0] / sets, share[1] / sets))


def print_table(title: str, rows: dict[str, list[Cell]]) -> None:
    """Print observed rates, nominal .05 / .01, by shape and number of topics."""
    print(f"### {title}")
    print_head("test", *(f"{cell.shape} {cell.n}" for cell in next(iter(rows.values()))))
    for name, cells in rows.items():
        print_row(name, *(" / ".join(f"{rate:.4f}" for rate in cell.rejected) for cell in cells))
    print()


def _call(_: None, work: Callable[[], Cell]) -> Cell:
    return work()


def main(*, sets: int = 10_000, seed: int = 20261121, jobs: int = 2, only: str = "") -> None:
    error = 1.96 * np.sqrt(0.05 * 0.95 / sets)
    print(
        f"{sets:,} data sets a cell, seed {seed}; columns: shape and number of topics; cells:"
        f" share of rejections at nominal .05 / .01. 95% of cells of an exact test lie within"
        f" {error:.4f} of .05 and {1.96 * np.sqrt(0.01 * 0.99 / sets):.4f} of .01. Resampling"
        f" tests draw {RESAMPLES} samples.\n"
    )
    parts: dict[str, dict[str, Any]] = {
        "One pair, no difference": {name: partial(of_pairs, name) for name in OF_PAIRS},
        f"{SYSTEMS} systems, no difference, test of all together": {
            name: partial(of_all, name, None) for name in OF_ALL
        },
        f"{SYSTEMS} systems, no difference, any error among pairs (family-wise)": {
            f"{name}, {correction}": partial(of_all, name, correction)
            for name, correction in FAMILIES
        },
        "8 systems, 4 of them better: share of wrong findings (false discovery rate)": {
            f"t, {correction}": partial(false_discoveries, correction)
            for correction in ("bh", "by")
        },
        "Systems of unequal variance, no difference, any error among pairs (family-wise)": {
            f"{name}, {correction}": partial(of_unequal, name, correction)
            for name, correction in FAMILIES_UNEQUAL
        },
    }
    for title, every in parts.items():
        rows = {name: row for name, row in every.items() if only in f"{title}: {name}"}
        columns = [
            (shape, n) for shape in (UNEQUAL if "unequal" in title else SHAPES) for n in SIZES
        ]
        tasks = {
            (name, *column): partial(function, *column, sets, seed)
            for name, function in rows.items()
            for column in columns
        }
        found = dict(compute_tasks(_call, None, tasks.items(), jobs=jobs))
        if rows:
            print_table(
                title, {name: [found[name, *column] for column in columns] for name in rows}
            )


if __name__ == "__main__":
    run_main(main)
