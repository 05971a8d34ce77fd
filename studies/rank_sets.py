"""Measure how often confidence sets of ranks hold the true ranks.

    python -m studies.rank_sets [--systems 10] [--topics 25 50] [--experiments 500]
        [--measure nDCG@20] [--scores FILE ...]

Populations are the topics of the bundled TREC-COVID runs, and of any table of scores: an experiment
draws systems with neighbouring means, and topics with replacement, so that the true means are those
of all topics. Three kinds: `real` means; `equal`, all made equal, so that every system has true
rank 1; `half`, of which the better half is equal, and the others keep their means. Printed are

- all: the share of experiments in which all sets together hold the true ranks,
- own: the share of single sets, each of one system alone, that hold its rank,
- width: the mean number of ranks in a set of all together.

A share of N experiments at .95 has a standard error of sqrt(.0475 / N).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.scores import Scores
from cranfield.significance import rank_sets
from studies.common import run_main

KINDS = ("real", "equal", "half")


def shifted(values: Floats, kind: str) -> Floats:
    """Make the means of all systems, or of the better half, equal; values are [topic, system]."""
    means = values.mean(axis=0)
    if kind == "real":
        return values
    chosen = means >= (np.median(means) if kind == "half" else -np.inf)
    return values - np.where(chosen, means - means[chosen].mean(), 0.0)


def true_ranks(values: Floats) -> Floats:
    means = values.mean(axis=0)
    # Means that were made equal differ by rounding.
    return np.asarray(1 + (means > means[:, None] + 1e-9).sum(axis=1))


def measured(
    population: Floats, kind: str, systems: int, topics: int, experiments: int, resamples: int
) -> tuple[float, float | None, float]:
    """Return the shares of `all` and `own` sets that hold, and the mean width."""
    order = np.argsort(-population.mean(axis=0), kind="stable")
    held, own, widths = [], [], []
    for number in range(experiments):
        random = np.random.default_rng([KINDS.index(kind), systems, topics, number])
        start = random.integers(order.size - systems + 1)
        values = shifted(population[:, order[start : start + systems]], kind)
        ranks = true_ranks(values)
        sample = values[random.integers(len(values), size=topics)]
        names = tuple(f"s{k}" for k in range(systems))
        scores = Scores(sample, tuple(f"t{k}" for k in range(topics)), names)
        found = rank_sets(scores, resamples=resamples, seed=number)
        low, high = found.interval
        held.append(((low <= ranks) & (ranks <= high)).all())
        widths.append((high - low + 1).mean())
        if found.own_interval is not None:
            low, high = found.own_interval
            own.append(((low <= ranks) & (ranks <= high)).mean())
    return float(np.mean(held)), float(np.mean(own)) if own else None, float(np.mean(widths))


def main(
    *,
    systems: tuple[int, ...] = (10,),
    topics: tuple[int, ...] = (25, 50),
    experiments: int = 500,
    resamples: int = 999,
    measure: str = "nDCG@20",
    scores: tuple[Path, ...] = (),
    kinds: Annotated[tuple[str, ...], KINDS] = KINDS,
) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs, covid.qrels, measure)
    populations = {"TREC-COVID": np.asarray(ev[measure].values)}
    for file in scores:
        populations[file.stem] = np.asarray(cf.read_scores(file).values)
    print("population  kind  systems  topics  all  own  width")
    for name, population in populations.items():
        for kind, n_systems, n_topics in product(kinds, systems, topics):
            held, own, width = measured(
                population, kind, n_systems, n_topics, experiments, resamples
            )
            alone = "-" if own is None else f"{own:.3f}"
            cells = (name, kind, n_systems, n_topics, f"{held:.3f}", alone, f"{width:.1f}")
            print(*cells, sep="  ", flush=True)


if __name__ == "__main__":
    run_main(main)
