"""What are scores worth that have few judgments of people and many labels of a judge?

    python -m studies.few_judgments FOLDER [--samples 4000] [--trec8 FOLDER]
        [--parts strata documents topics]

FOLDER holds LLMJudge: `llmjudge_test_qrel_idx.txt` and `submissions/`; the other one TREC-8 ad hoc.
Prints, in Markdown:

- strata: how often limits of the share of pairs with a grade of 2 or more hold it, from as many
  judged pairs of each topic, and how wide they are beside those of people alone;
- documents: means over samples of PPI estimates of P@10, DCG@10 and RBP beside those of all
  judgments, in standard errors, for label sets as runs, and for the runs of TREC-8 with a
  synthetic judge; and how often the limits of both kinds hold the true score;
- topics: how often limits of a mean, of a difference, and of the paired t-test on the values that
  `cranfield.compare` takes, hold the true one, where topics are drawn from those that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtri

import cranfield as cf
from cranfield.assess import judges_as_runs, ppi_mean, stratified_mean
from cranfield.assess.estimates.documents import (
    SampledDocuments,
    estimate_scores,
)
from cranfield.assess.estimates.means import Fit
from cranfield.assess.estimates.scores import TopicEstimates
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.streams import make_stream
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.probable_scores import compute_contributions
from studies.common import covers, print_head, print_row, rounded, run_main

SEED = 20261122
JUDGES = ("Olz-gpt4o", "NISTRetrieval-instruct1", "TREMA-nuggets")
RANDOM = "random grades"
MEASURES = ("P(rel=2)@10", "DCG@10", "RBP(rel=2)")
BY_TOPIC = ("AP(rel=2)", "nDCG@10")
CHUNK = 200
"""Samples at a time, so that memory stays bounded."""


@dataclass(frozen=True)
class Labels:
    """The same pairs judged by people and by judges.

    topics: of each pair, an index. grades: by name of the judge.
    """

    human: Qrels
    grades: dict[str, Ints]

    @property
    def topics(self) -> Ints:
        return self.human.codes.astype(np.int64)

    def of(self, name: str) -> Qrels:
        return replace(self.human, grades=self.grades[name].astype(np.int32))


def llmjudge(folder: Path) -> Labels:
    """Read the label sets; those with grades outside the scale are cut."""
    human = cf.read_qrels(str(folder / "llmjudge_test_qrel_idx.txt"))
    frame = human.to_polars().drop("grade")
    found = {}
    for path in sorted((folder / "submissions").glob("*.txt")):
        labels = cf.read_qrels(str(path)).to_polars()
        both = frame.join(labels, on=["topic", "doc"], how="left", maintain_order="left")
        found[path.stem] = both["grade"].fill_null(0).to_numpy().clip(0, 3).astype(np.int64)
    found[RANDOM] = make_stream(SEED).integers(0, 4, len(human))
    return Labels(human, found)


def chunks(samples: int) -> Iterator[range]:
    for start in range(0, samples, CHUNK):
        yield range(start, min(samples, start + CHUNK))


def held(found: Any, truth: Any) -> tuple[int, float]:
    """How many limits hold the truth, and the sum of their widths."""
    inside = covers(found.low, found.high, truth)
    return int(inside.sum()), float((found.high - found.low).sum())


def strata(labels: Labels, samples: int) -> None:
    """As many pairs of each topic."""
    print_head("judge", "labels a topic", "covers", "humans only", "width", "humans only")
    human = (labels.human.grades >= 2).astype(np.float64)
    truth = float(human.mean())
    for name in (*JUDGES, RANDOM):
        judge = (labels.grades[name] >= 2).astype(np.float64)
        for size in (4, 8, 20):
            total = np.zeros(4)
            for chunk in chunks(samples):
                given = np.full((len(chunk), human.size), np.nan)
                for i, k in enumerate(chunk):
                    taken = drawn(labels.topics, size, k)
                    given[i, taken] = human[taken]
                both = stratified_mean(given, labels.topics, judge, seed=SEED)
                alone = stratified_mean(given, labels.topics)
                total += (*held(both, truth), *held(alone, truth))
            hit, width, hit_alone, width_alone = (total / samples).tolist()
            print_row(name, size, hit, hit_alone, width, width_alone)


def drawn(topics: Ints, size: int, k: int) -> Bools:
    """A fixed number of each topic's documents."""
    keys = make_stream(SEED, 2, size, k).random(topics.size)
    order = np.lexsort((keys, topics))
    counts = np.bincount(topics)
    place = np.empty(topics.size, dtype=np.int64)
    place[order] = np.arange(topics.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(place < size)


@dataclass(frozen=True)
class Pool:
    """What all documents are worth to all systems, by people and by the judge."""

    topics: Ints
    people: Floats
    judge: Floats
    by_people: Floats
    by_judge: Floats


def thread_pool(runs: Any, human: Qrels, judge: Qrels, measure: str) -> Pool:
    """Weigh the documents of a pool that people judged as a whole."""
    wanted = cf.parse_measure(measure)
    truth = cf.evaluate(runs, human, [wanted])[wanted].values
    place = replace(judge, columns={"place": np.arange(len(judge))})
    judged = cf.judge(runs, place)
    view = (judged if wanted.cutoff is None else judged.top(wanted.cutoff)).judged()
    document = judged.judgments.columns["place"][view.judgment]
    retrieved = np.unique(document)
    tables = []
    for grade in (human.grades[document].astype(np.int64), view.grade):
        table = np.zeros((judged.shape[1], len(judge)))
        system = view.cell // judged.shape[0]
        table[system, document] = compute_contributions(wanted, judged, view.rank, grade)
        tables.append(table)
    # The order of topics of judged runs.
    code = {name: k for k, name in enumerate(judged.topics)}
    topics = np.array([code[human.topics[c]] for c in human.codes])
    order = np.argsort(topics, kind="stable")
    whole = wanted.score(judged)
    assert retrieved.size
    return Pool(topics[order], tables[0][:, order], tables[1][:, order], truth, whole)


def documents(name: str, judge: str, pool: Pool, measure: str, size: int, samples: int) -> None:
    """Sampled documents of each topic again and again."""
    truth = pool.by_people.mean(axis=0)
    total, square, hit = np.zeros(truth.size), np.zeros(truth.size), np.zeros((2, truth.size))
    counts = np.bincount(pool.topics)
    for k in range(samples):
        taken = drawn(pool.topics, size, k)
        chance = np.minimum(size / counts, 1.0)[pool.topics[taken]]
        certain = np.zeros(truth.size, dtype=bool)
        topics, people, judged = pool.topics[taken], pool.people[:, taken], pool.judge[:, taken]
        sample = SampledDocuments(topics, chance, topics, people, judged, pool.by_judge, certain)
        for i, fixed in enumerate((False, True)):
            data = estimate_scores(sample, pool.topics.size, fixed, Fit(seed=SEED)).compute_means()
            hit[i] += covers(data.low, data.high, truth)
        total += data.estimate
        square += (data.estimate - truth) ** 2
    off = total / samples - truth
    spread = np.sqrt(np.maximum(square / samples - off**2, 0) / samples)
    some = spread > 1e-12
    z = np.abs(off[some] / spread[some])
    # The largest of so many, were all estimates right, is below this in 19 of 20 studies.
    chance = 1 - (0.95 ** (1 / max(z.size, 1)))
    limit = -ndtri(chance / 2)
    print_row(
        name,
        judge,
        measure,
        size,
        f"{int((z <= 3).sum())} of {z.size}",
        *rounded([z.max(), limit], 2),
        *rounded([np.sqrt((z**2).mean())]),
        *rounded([np.abs(off).max()], 5),
        *rounded([spread.max() * np.sqrt(samples), *hit.mean(axis=1) / samples], 4),
    )


HEAD = (
    *("runs", "judge", "measure", "documents a topic", "within 3 s.e.", "largest z"),
    *(".95 of the largest by chance", "RMS of z", "largest mean error", "largest standard error"),
    *("covers, sampled", "fixed"),
)
BY_TOPIC_HEAD = (
    *("judge", "measure", "topics judged", "a mean", "a difference", "by compare", "people alone"),
    *("width of a mean", "of a difference", "by compare", "of people alone"),
)
PARTS = ("strata", "documents", "topics")


def made_up(human: Qrels, right: float, seed: int) -> Qrels:
    """A judge of two grades that is right so often, and else says anything."""
    rng = make_stream(SEED, seed)
    guess = np.where(rng.random(len(human)) < right, human.grades > 0, rng.random(len(human)) < 0.5)
    return replace(human, grades=guess.astype(np.int32), columns={})


def by_topic(name: str, people: Floats, judge: Floats, measure: str, samples: int) -> None:
    """Draw topics with replacement; people judge some of them. Shapes (systems, topics)."""
    systems, many = people.shape
    truth = people.mean(axis=1)
    for size, topics in ((10, 50), (25, 50), (25, 200)):
        draws = [make_stream(SEED, 3, size, topics, k) for k in range(samples)]
        chosen = np.array([rng.integers(many, size=topics) for rng in draws])
        pairs = np.array([rng.choice(systems, 2, replace=False) for rng in draws]).T
        # All samples of a system are rows of one table; people judged the first topics.
        y, f = (
            np.concatenate([table[one[:, None], chosen] for one in pairs])
            for table in (people, judge)
        )
        y[:, size:] = np.nan
        data = TopicEstimates(y, f, Fit(seed=SEED))
        first, second = np.arange(samples), np.arange(samples, 2 * samples)
        difference = truth[pairs[0]] - truth[pairs[1]]
        values, nothing = data.compute_topic_values(), np.zeros(size)
        by_values = (values[:, first] - values[:, second]).T
        alone = (y[first] - y[second])[:, :size]
        limits = [
            (data.compute_means(), truth[pairs.ravel()]),
            (data.compute_differences(first, second), difference),
            (ppi_mean(by_values, nothing, lambda_=0), difference),
            (ppi_mean(alone, nothing, lambda_=0), difference),
        ]
        # Two runs that are equal on all judged topics have no interval.
        known = [int((~np.isnan(one.low)).sum()) for one, _ in limits]
        hit = [
            held(one, true)[0] / number for (one, true), number in zip(limits, known, strict=True)
        ]
        width = [float(np.nanmean(one.high - one.low)) for one, _ in limits]
        print_row(name, measure, f"{size} of {topics}", *hit, *width)


def main(
    folder: Path,
    *,
    trec8: Path | None = None,
    samples: int = 4000,
    parts: Annotated[tuple[str, ...], PARTS] = PARTS,
) -> None:
    """Simulate what is asked for and print the tables."""
    labels = llmjudge(folder)
    if "strata" in parts:
        strata(labels, samples)
    sets = {name: labels.of(name) for name in labels.grades if name != RANDOM}
    runs = judges_as_runs(labels.human, sets)
    if "documents" in parts:
        print_head(*HEAD)
        for judge in ("Olz-gpt4o", "TREMA-nuggets", RANDOM):
            for measure in MEASURES:
                pool = thread_pool(runs, labels.human, labels.of(judge), measure)
                documents("label sets", judge, pool, measure, 20, samples)
        if trec8 is not None:
            human = cf.read_qrels(str(trec8 / "qrels.trec8.adhoc.txt.gz"))
            many = list(cf.read_runs(str(trec8 / "runs" / "*.run.xz")))
            for right in (0.9, 0.0):
                judge_labels = made_up(human, right, int(10 * right))
                for measure in ("P@10", "DCG@10", "RBP"):
                    pool = thread_pool(many, human, judge_labels, measure)
                    documents("TREC-8", f"right in {right:.0%}", pool, measure, 100, samples // 4)
    if "topics" in parts:
        print_head(*BY_TOPIC_HEAD)
        for measure in BY_TOPIC:
            people = cf.evaluate(runs, labels.human, measure)[measure].values.T
            for judge in (*JUDGES, RANDOM):
                by_judge = cf.evaluate(runs, labels.of(judge), measure)[measure].values.T
                by_topic(judge, people, by_judge, measure, samples)


if __name__ == "__main__":
    run_main(main)
