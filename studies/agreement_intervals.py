"""Do intervals of agreement hold what they say, over topics and over pairs?

    python -m studies.agreement_intervals [FOLDER] [--samples N] [--resamples N]

Topics are drawn from a population whose agreement is known, and each way to make a 95% interval is
asked how often it holds it. `generated`: topics differ in how many documents are relevant, and in
how well a second assessor sees what the first does; the truth is that of 200,000 topics. `topics
alike`: the same, all topics being alike. With FOLDER, the data of the LLMJudge challenge (human
judgments of 25 topics and label sets in `submissions`): the population is the 25 topics, drawn with
replacement, so that the truth is the agreement on all of them. Prints a table in Markdown.

The ways: `pairs`, percentiles of a bootstrap of judged pairs, as if each had been drawn by itself;
`topics`, percentiles of a bootstrap of topics; `jackknife`, the t interval of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator

import cranfield as cf
from cranfield.assess.agreement.coefficients import (
    Tables,
    build_tables,
    compute_jackknife_intervals,
    compute_percentile_intervals,
    parse_coefficient,
    read_ratings,
)
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from studies.common import covers, print_head, print_row, run_main

Draw = Callable[[Generator, int], Floats]
"""Make the tables of so many topics; shape (topics, grades, grades)."""

JUDGES = ("Olz-gpt4o", "TREMA-sumdecompose", "TREMA-rubric0")
MEASURES = ("kappa", "kappa(rel=2)", "alpha(ordinal)", "AC1", "overlap(rel=2)")
TOPICS = (5, 10, 25, 50)
GRADES, POPULATION, SEED = 3, 200_000, 20261122


def generated(rng: Generator, topics: int, *, alike: bool = False) -> Floats:
    """Draw topics of 20 to 200 documents: shares of grades, and of copied grades, are a topic's."""
    shares = rng.dirichlet([3.0, 1.5, 0.75], topics)
    copied = rng.beta(3.0, 2.0, topics)[:, None, None]
    if alike:
        shares, copied = np.array([[4.0, 2.0, 1.0]]) / 7, np.full((1, 1, 1), 0.6)
    chances = copied * (shares[:, :, None] * np.eye(GRADES))
    # Where the second assessor does not see what the first does, grades are the topic's or lower.
    own = 0.5 * shares + 0.5 * np.array([1.0, 0.0, 0.0])
    chances = chances + (1 - copied) * shares[:, :, None] * own[:, None, :]
    documents = rng.integers(20, 201, topics)
    drawn = rng.multinomial(documents, chances.reshape(len(chances), -1))
    return drawn.reshape(topics, GRADES, GRADES).astype(np.float64)


def populations(folder: Path | None) -> Iterator[tuple[str, Draw, Tables]]:
    """Yield a name, how topics are drawn, and the tables of the whole population."""
    grades = np.arange(GRADES, dtype=np.float64)
    whole = generated(make_stream(SEED, 0), POPULATION)
    yield "generated", generated, build_tables(whole.sum(axis=0), grades)
    alike = partial(generated, alike=True)
    whole = alike(make_stream(SEED, 0), POPULATION)
    yield "topics alike", alike, build_tables(whole.sum(axis=0), grades)
    if folder is None:
        return
    human = cf.read_qrels(folder / "llmjudge_test_qrel_idx.txt")
    for name in JUDGES:
        judge = cf.read_qrels(folder / "submissions" / f"{name}.txt")
        labels = cf.assess.read_labels({"human": human, name: judge})
        tables = read_ratings(labels).count_pairs(None)[1]
        assert tables.joint is not None
        joint = tables.joint[:, 0]

        def draw(rng: Generator, topics: int, joint: Floats = joint) -> Floats:
            return joint[rng.integers(0, len(joint), topics)]

        yield f"human and {name}", draw, build_tables(joint.sum(axis=0), tables.grades)


def covered(
    asked: str, draw: Draw, truth: Tables, topics: int, samples: int, resamples: int
) -> dict[str, float]:
    """Return how often each interval holds the truth."""
    one = parse_coefficient(asked)
    true = float(one.compute(truth))
    found: dict[str, list[tuple[float, float]]] = {}
    for k in range(samples):
        rng = make_stream(SEED, 1, topics, k)
        joint = draw(rng, topics)
        total = joint.sum(axis=0)
        pairs = int(total.sum())
        value = one.compute(build_tables(total, truth.grades))
        without = one.compute(build_tables(total - joint, truth.grades))
        by_pair = rng.multinomial(pairs, (total / pairs).ravel(), size=resamples).astype(np.float64)
        counts = rng.multinomial(topics, np.full(topics, 1 / topics), size=resamples)
        by_topic = np.tensordot(counts.astype(np.float64), joint, axes=1)
        has = joint.sum(axis=(1, 2)) > 0
        limits = {
            "pairs": compute_percentile_intervals(
                one.compute(build_tables(by_pair.reshape(-1, *total.shape), truth.grades)),
                0.95,
            ),
            "topics": compute_percentile_intervals(
                one.compute(build_tables(by_topic, truth.grades)), 0.95
            ),
            "jackknife": compute_jackknife_intervals(
                value, without, has, 0.95, is_proportion=one.formula.min_value == 0
            ),
        }
        for name, (low, high) in limits.items():
            found.setdefault(name, []).append((float(low), float(high)))
    shares = {}
    for name, listed in found.items():
        low, high = np.array(listed).T
        shares[name] = float(covers(low, high, true).mean())
    return shares


def main(folder: Path | None = None, *, samples: int = 1000, resamples: int = 400) -> None:
    print_head("population", "measure", "value", "topics", "pairs", "topics drawn", "jackknife")
    for name, draw, truth in populations(folder):
        for asked in MEASURES:
            value = float(parse_coefficient(asked).compute(truth))
            for topics in TOPICS:
                shares = covered(asked, draw, truth, topics, samples, resamples)
                cells = [f"{share:.3f}" for share in shares.values()]
                print_row(name, asked, f"{value:.3f}", topics, *cells)


if __name__ == "__main__":
    run_main(main)
