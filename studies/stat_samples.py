"""Do samples of a pool keep their chances, and are estimates from them right?

    python -m studies.stat_samples FOLDER [--samples N] [--size N] [--design NAME] [--scored N]

FOLDER holds public data as subfolder `trec8-adhoc` (qrels, runs). Runs whose top 100 are all judged
make the pool. Samples are drawn with seeds 0, 1, ... and printed is: how far the frequencies with
which documents were drawn are from their chances, in standard errors, whose spread should be 1; for
how many topics the mean estimated number of relevant documents is within 3 standard errors of the
true one; what the estimated standard errors are beside the spread of the estimates; whether
written judgments read back the same; and how statAP of some samples orders the runs beside AP.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import cranfield as cf
from cranfield.assess import Pool, Sample
from cranfield.collection.files.many_runs import Runs
from cranfield.collection.qrels import Qrels
from cranfield.correlation.tau import kendall_tau

DEPTH = 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--samples", type=int, default=2000)
    options.add_argument("--size", type=int, default=100)
    options.add_argument("--design", default="stat", choices=("stat", "uniform"))
    options.add_argument("--scored", type=int, default=5)
    given = options.parse_args()
    folder = given.folder / "trec8-adhoc"
    qrels = cf.read_qrels(folder / "qrels.trec8.adhoc.txt.gz")
    runs = cf.read_runs(folder / "runs")
    pool = judged_pool(runs, qrels)
    print(pool)
    drawn = cf.assess.sample(pool, given.design, size=given.size)
    many_samples(drawn, qrels, given.samples)
    round_trips(drawn, qrels)
    named = [run for run in runs if run.name in pool.systems]
    of_systems(cf.read_runs(named), drawn, qrels, given.scored)


def judged_pool(runs: Runs, qrels: Qrels) -> Pool:
    whole = cf.assess.pool(runs, DEPTH)
    by_system = whole.unjudged(qrels).by_system()
    return whole.of_systems(by_system.filter(unjudged=0)["system"].to_list())


def many_samples(drawn: Sample, qrels: Qrels, samples: int) -> None:
    pool, chance = drawn.pool, drawn.inclusion
    times = np.zeros(len(pool))
    sizes, estimates, squares = [], [], []
    started = time.process_time()
    for seed in range(samples):
        one = drawn.again(seed)
        times += one.drawn
        found = one.relevant(qrels)
        sizes.append(found.sampled)
        estimates.append(found.estimate)
        squares.append(found.error**2)
    spent = time.process_time() - started
    print(
        f"{samples:,} samples by {drawn.drawing}: {spent:.1f} s of CPU, mean size"
        f" {np.mean(sizes):.3f}, from {np.min(sizes)} to {np.max(sizes)}"
    )
    free = (chance > 0) & (chance < 1)
    z = (times[free] / samples - chance[free]) / np.sqrt(
        chance[free] * (1 - chance[free]) / samples
    )
    print(
        f"inclusion: spread of (frequency - chance) in standard errors {z.std():.4f}, mean"
        f" {z.mean():.4f}, largest {np.abs(z).max():.2f}, {free.sum():,} documents;"
        f" {(chance == 1).sum():,} are always drawn"
    )
    true = np.bincount(pool.topic[pool.graded(qrels) >= 1], minlength=len(pool.topics))
    made = np.array(estimates)
    error = made.std(axis=0, ddof=1) / np.sqrt(samples)
    off = np.abs(made.mean(axis=0) - true)
    within = off <= 3 * error + 1e-9
    print(
        f"relevant: mean estimate within 3 standard errors for {within.sum()} of {within.size}"
        f" topics; total {made.sum(axis=1).mean():.2f} for {true.sum():,}, standard error"
        f" {made.sum(axis=1).std(ddof=1) / np.sqrt(samples):.2f}"
    )
    of_topics = np.array(squares)
    ratio = np.sqrt(np.nanmean(of_topics, axis=0)) / made.std(axis=0, ddof=1)
    print(
        f"standard errors: root of the mean estimated variance over the spread of the estimates"
        f" {np.nanmedian(ratio):.3f} (topics {np.nanmin(ratio):.3f} to {np.nanmax(ratio):.3f});"
        f" {np.isnan(of_topics).mean():.3%} below 0"
    )


def round_trips(drawn: Sample, qrels: Qrels) -> None:
    strata = cf.assess.sample(drawn.pool, "strata", strata={10: 1.0, 50: 0.2, DEPTH: 0.05})
    made = {
        "prels": drawn.to_qrels(qrels, "inclusion"),
        "xqrels": strata.to_qrels(qrels, "stratum"),
    }
    with TemporaryDirectory() as folder:
        for form, one in made.items():
            cf.write_qrels(one, Path(folder) / form)
            back = cf.read_qrels(Path(folder) / form, format=form)
            same = back.to_polars().equals(one.to_polars())
            print(f"{form}: {len(one):,} judgments written and read back {'the same' * same}")


def of_systems(runs: Runs, drawn: Sample, qrels: Qrels, scored: int) -> None:
    # What was not pooled cannot be sampled, and does not count here.
    pooled = cf.assess.sample(drawn.pool, "uniform", size=1.0).to_qrels(qrels, "inclusion")
    full = cf.evaluate(runs, pooled, "AP")["AP"].overall()
    for seed in range(scored):
        judged = drawn.again(seed).to_qrels(qrels)
        some = cf.evaluate(runs, judged, "statAP")["statAP"].overall()
        tau = kendall_tau(full, some)
        print(
            f"seed {seed}: tau of statAP with AP {float(tau):.4f}, root mean square difference"
            f" {np.sqrt(np.mean((some - full) ** 2)):.4f}, mean {np.mean(some - full):+.4f}"
        )


if __name__ == "__main__":
    main()
