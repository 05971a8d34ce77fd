"""Coverage of the intervals of expected scores, on TREC-8 ad hoc.

    python -m studies.probable_relevance FOLDER [--samples 1000]

FOLDER holds TREC-8 ad hoc. Every tenth run is scored. The judgments of TREC give each document a
probability of relevance at random, sharp or vague; then true judgments of all 50 topics are drawn
from these probabilities again and again. Prints, in Markdown, the proportion of 95% intervals from
n topics that contain the true mean:

- fixed: by `fixed_topics`, of these topics, which are drawn without replacement;
- these: by default, of these topics;
- population: by default, of all 50 topics, from which the topics are drawn with replacement; true:
  the same by t intervals from the true judgments;
- half: t intervals of judgments that are relevant from a probability of .5, of these topics;
- width: mean width by default, relative to t intervals from the true judgments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from cranfield.collection.probabilities import DRAWS_PER_BLOCK
from cranfield.evaluation.probable_scores import ProbableRuns, compute_mean_intervals
from studies.common import covers, print_head, print_row, run_main

SEED = 20261129
MEASURES = ("P@10", "RR", "AP", "nDCG@10", "Rprec")
SHAPES = {"sharp": ((8, 2), (0.05, 5)), "vague": ((4, 2), (0.3, 6))}
"""Beta distributions of the probabilities of relevant and of other documents."""

SIZES = (10, 50)


def probabilities(qrels: cf.Qrels, shape: str) -> pl.DataFrame:
    """Return a random probability of relevance for each judged document."""
    rng = make_stream(SEED, list(SHAPES).index(shape))
    relevant, other = SHAPES[shape]
    is_relevant = qrels.grades > 0
    drawn = rng.beta(*relevant, len(qrels)), rng.beta(*other, len(qrels))
    return qrels.to_polars().drop("grade").with_columns(probability=np.where(is_relevant, *drawn))


def true_scores(runs: ProbableRuns, samples: int) -> Iterator[list[Floats]]:
    """Yield the scores by drawn judgments of each measure; shape (topics, systems)."""
    measures = cf.parse_measures(MEASURES)
    for block in range(-(-samples // DRAWS_PER_BLOCK)):
        grades = runs.probabilities.draw(block, SEED)
        for row in grades[: samples - block * DRAWS_PER_BLOCK]:
            judged = runs.with_grades(row)
            yield [measure.score(judged) for measure in measures]


def main(folder: Path, *, samples: int = 1000) -> None:
    """Simulate and print the table."""
    qrels = cf.read_qrels(str(folder / "qrels.trec8.adhoc.txt.gz"))
    every = cf.read_runs(str(folder / "runs" / "*.run.xz"))
    runs = [every[k] for k in range(0, len(every), 10)]
    print_head("labels", "measure", "n", "fixed", "these", "population", "true", "half", "width")
    for shape in SHAPES:
        table = cf.read_probabilities(probabilities(qrels, shape))
        expected = cf.evaluate_probabilities(runs, table, MEASURES, draws=500)
        highest = np.ones(len(table), dtype=np.int64)
        drawn = ProbableRuns(cf.judge(runs, table.to_qrels(highest)), table)
        thresholded = drawn.with_grades(
            (table.compute_tail_probabilities(1) >= 0.5).astype(np.int64)
        )
        truth = [np.stack(scores) for scores in true_scores(drawn, samples)]
        for k, name in enumerate(MEASURES):
            mean, variance = expected.scores[name].values, expected.variances[name]
            none, half = np.zeros_like(mean), cf.parse_measure(name).score(thresholded)
            for size in SIZES:
                counts = np.zeros(7)
                for sample, scores in enumerate(truth):
                    rng = make_stream(SEED, 2, size, sample)
                    selected = rng.permutation(len(mean))[:size]
                    repeated = rng.integers(len(mean), size=size)
                    true = scores[k]
                    here = true[selected].mean(axis=0)
                    default = compute_mean_intervals(
                        mean[selected], variance[selected], 0, 0.95, False
                    )
                    fixed = compute_mean_intervals(
                        mean[selected], variance[selected], 0, 0.95, True
                    )
                    by_half = compute_mean_intervals(half[selected], none[selected], 0, 0.95, False)
                    people = compute_mean_intervals(true[selected], none[selected], 0, 0.95, False)
                    true_again = compute_mean_intervals(
                        true[repeated], none[repeated], 0, 0.95, False
                    )
                    again = compute_mean_intervals(
                        mean[repeated], variance[repeated], 0, 0.95, False
                    )
                    counts += [
                        covers(**fixed, truth=here).mean(),
                        covers(**default, truth=here).mean(),
                        covers(**again, truth=true.mean(axis=0)).mean(),
                        covers(**true_again, truth=true.mean(axis=0)).mean(),
                        covers(**by_half, truth=here).mean(),
                        (default["high"] - default["low"]).mean(),
                        (people["high"] - people["low"]).mean(),
                    ]
                *shares, width, width_by_people = (counts / len(truth)).tolist()
                cells = [f"{share:.3f}".removeprefix("0") for share in shares]
                cells.append(f"{width / width_by_people:.2f}")
                print_row(shape, name, size, *cells)


if __name__ == "__main__":
    run_main(main)
