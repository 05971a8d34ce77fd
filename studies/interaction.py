"""What do tests of scores by shard say where topics and systems interact?

    python -m studies.interaction [FOLDER] [--sets 2000] [--repeats 20]

First, simulated: 5 equal systems, 25 topics, 3 shards, normal effects of topics (standard
deviation .2), of topics by systems (0, .05 and .1), and errors of shards (.1); the share of data
sets in which any pair is called different at .05. `with gaps` is the same where a topic lacks a
shard in 3 of 10 cases; it keeps one at least.

Then, if FOLDER has the runs and judgments of TREC-8: the pairs of its runs that tests find on AP
by 3 random shards, on all topics and on random subsets; the share that they find of what two-way
ANOVA of AP on the whole collection finds on all topics; and of the pairs found, the share with the
other order on the topics that are left. Prints tables in Markdown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cranfield.base.streams import make_stream
from cranfield.evaluation.evaluate_runs import evaluate
from cranfield.meta.test_studies.fast_tests import TestChoice, label_scores, read_choice
from studies.common import print_head, print_row, run_main

SEED = 20261122
TOPICS, SYSTEMS, SHARDS = 25, 5, 3
INTERACTION = (0.0, 0.05, 0.1)
RESAMPLES = 999
SIZES = (10, 25)
DEFAULT = "bootstrap-tukey"
TESTS = ("anova-3", "bootstrap-anova", f"random-topics+{DEFAULT}", "random-topics")


def chosen(test: str) -> TestChoice:
    """Return a test by its name and correction; without one it is the test's own in studies."""
    return read_choice(test, alpha=0.05, missing=None, resamples=RESAMPLES)


def simulated(sets: int) -> None:
    """Print family-wise errors."""
    choices = [chosen(test) for test in TESTS]
    print_head("interaction", *TESTS, "random-topics with gaps")
    for spread in INTERACTION:
        errors = np.zeros(len(TESTS) + 1)
        for k in range(sets):
            rng = make_stream(SEED, k)
            values = rng.normal(0, 0.2, (TOPICS, 1, 1)) + rng.normal(
                0, 0.1, (TOPICS, SYSTEMS, SHARDS)
            )
            values = values + spread * rng.normal(size=(TOPICS, SYSTEMS, 1))
            gaps = rng.random((TOPICS, 1, SHARDS)) < 0.3
            gaps[np.arange(TOPICS), 0, rng.integers(0, SHARDS, TOPICS)] = False
            each = [choice(label_scores(values), seed=k) for choice in choices]
            each.append(choices[-1](label_scores(np.where(gaps, np.nan, values))))
            errors += [one.is_significant.any() for one in each]
        print_row(f"{spread:g}", *map(float, errors / sets))


def real(folder: Path, repeats: int) -> None:
    """Print what is found on TREC-8."""
    runs = sorted(folder.glob("runs/*.xz"))
    every = evaluate(runs, folder / "qrels.trec8.adhoc.txt.gz", "AP", shards=SHARDS)
    by_shard, whole = every["AP"].values, every.whole["AP"].values
    cells = (~np.isnan(by_shard)).any(axis=1).sum()
    scores = {
        "anova-3, shards": ("anova-3", by_shard),
        "anova-2, means of shards": ("anova-2", np.nanmean(by_shard, axis=2)),
        "random-topics, shards": ("random-topics", by_shard),
        "anova-2, whole AP": ("anova-2", whole),
        f"random-topics+{DEFAULT}, shards": (f"random-topics+{DEFAULT}", by_shard),
        f"anova-2+{DEFAULT}, whole AP": (f"anova-2+{DEFAULT}", whole),
    }
    truth = TestChoice("anova-2")(label_scores(whole))
    pairs, topics = truth.order.size, len(whole)
    print(f"\n{len(runs)} runs, {topics} topics, {cells} cells of topic and shard; {pairs} pairs,")
    print(f"{truth.is_significant.sum()} found by anova-2 of whole AP on all topics\n")
    print_head("topics", "test", "pairs found", "share of those of all topics", "other order")
    for size in (*SIZES, topics):
        found = {name: np.zeros(3) for name in scores}
        times = repeats if size < topics else 1
        for k in range(times):
            order = make_stream(SEED, size, k).permutation(topics)
            left = whole[order[size:]].mean(axis=0) if size < topics else whole.mean(axis=0)
            first, second = np.triu_indices(left.size, 1)
            signs = np.sign(left[first] - left[second])
            for name, (test, values) in scores.items():
                said = chosen(test)(label_scores(values[order[:size]]))
                some = said.is_significant
                again = (some & truth.is_significant & (said.order == truth.order)).sum()
                other = (some & (said.order * signs < 0)).sum()
                found[name] += [some.sum(), again, other]
        for name, (number, again, other) in found.items():
            share = again / times / truth.is_significant.sum()
            print_row(size, name, f"{number / times:.1f}", f"{share:.3f}", float(other / number))


def main(folder: Path | None = None, *, sets: int = 2000, repeats: int = 20) -> None:
    """Print both tables."""
    simulated(sets)
    if folder is not None:
        real(folder, repeats)


if __name__ == "__main__":
    run_main(main)
