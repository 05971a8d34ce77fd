"""What is said of samples, orders and stopping rules on TREC-8 (docs/sampling.md, docs/pools.md).

    python -m studies.stat_samples FOLDER [--samples N]

FOLDER holds `qrels.trec8.adhoc.txt.gz` and `runs/`. Runs whose top 100 are all judged make the
pool. Printed of samples with seeds 0, 1, ...: how far the frequencies with which documents were
drawn are from their inclusion probabilities, in standard errors, whose spread should be 1; for how
many topics the mean estimated number of relevant documents is within 3 standard errors of the true
number; the estimated standard errors beside the spread of the estimates; and how statAP of ten
samples orders the runs beside AP. Then the relevant documents that Hedge finds by both ways to sum,
and where stopping rules stop in the order of MaxMean.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import cranfield as cf
from cranfield.assess import Pool, Sample
from cranfield.collection.files.many_runs import Runs
from cranfield.collection.qrels import Qrels
from cranfield.correlation.tau import kendall_tau
from studies.common import run_main

DEPTH, SIZE, SCORED = 100, 100, 10
BUDGETS = (50, 100, 200, 300, 500, 1000)
RULES = ("RecallTest", "Knee", "Line", "Budget")


def main(folder: Path, *, samples: int = 2000) -> None:
    qrels = cf.read_qrels(folder / "qrels.trec8.adhoc.txt.gz")
    runs = cf.read_runs(folder / "runs")
    pool = judged_pool(runs, qrels)
    print(repr(pool))
    drawn = cf.assess.sample(pool, "stat", size=SIZE)
    many_samples(drawn, qrels, samples)
    named = [run for run in runs if run.name in pool.systems]
    of_systems(cf.read_runs(named), drawn, qrels)
    for method in ("Hedge", "Hedge(sums='plain')"):
        found = cf.assess.order(pool, method, qrels).count_relevant(BUDGETS)
        print(f"{method}: relevant documents after {BUDGETS} judgments: {found.tolist()}")
    stops(pool, qrels)


def judged_pool(runs: Runs, qrels: Qrels) -> Pool:
    whole = cf.assess.pool(runs, DEPTH)
    by_system = whole.find_unjudged(qrels).by_system()
    return whole.select_systems(by_system.filter(unjudged=0)["system"].to_list())


def many_samples(drawn: Sample, qrels: Qrels, samples: int) -> None:
    pool, chance = drawn.pool, drawn.inclusion
    times = np.zeros(len(pool))
    sizes, estimates, squares = [], [], []
    started = time.process_time()
    for seed in range(samples):
        one = drawn.redraw(seed)
        times += one.is_drawn
        found = one.estimate_relevant(qrels)
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
    true = np.bincount(pool.topic[pool.get_grades(qrels) >= 1], minlength=len(pool.topics))
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


def of_systems(runs: Runs, drawn: Sample, qrels: Qrels) -> None:
    # What was not pooled cannot be sampled, and does not count here.
    pooled = cf.assess.sample(drawn.pool, "uniform", size=1.0).to_qrels(qrels, ["inclusion"])
    full = cf.evaluate(runs, pooled, "AP")["AP"].overall()
    for seed in range(SCORED):
        judged = drawn.redraw(seed).to_qrels(qrels)
        some = cf.evaluate(runs, judged, "statAP")["statAP"].overall()
        tau = kendall_tau(full, some)
        print(
            f"seed {seed}: tau of statAP with AP {float(tau):.4f}, root mean square difference"
            f" {np.sqrt(np.mean((some - full) ** 2)):.4f}, mean {np.mean(some - full):+.4f}"
        )


def stops(pool: Pool, qrels: Qrels) -> None:
    """Print where rules stop if they are asked after every judgment."""
    order = cf.assess.order(pool, "MaxMean", qrels).to_polars()
    judged, recalls = dict.fromkeys(RULES, 0), {rule: list[float]() for rule in RULES}
    for (_,), topic in order.partition_by("topic", as_dict=True).items():
        grades = topic["grade"].fill_null(0)
        relevant = (grades > 0).to_numpy().cumsum()
        first = cf.assess.stopping(grades, RULES, total=topic.height).find_stops()
        for rule in RULES:
            last = first[rule] or topic.height
            judged[rule] += last
            recalls[rule].append(relevant[last - 1] / relevant[-1])
    for rule, recall in recalls.items():
        enough = sum(one >= 0.95 for one in recall)
        print(f"{rule}: {judged[rule]:,} judged, recall {np.mean(recall):.3f}, {enough} topics")


if __name__ == "__main__":
    run_main(main)
