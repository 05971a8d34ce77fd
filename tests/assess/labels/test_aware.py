"""AWARE against the measure of mean gains, a plain loop, and by what must not change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cranfield import CranfieldError, PolicyError, evaluate, read_run
from cranfield.assess import Labels, aware, majority, read_labels
from tests.assess.labels.crowds import drawn


def runs(labels: Labels, systems: int = 5, seed: int = 1) -> list[Any]:
    random = np.random.default_rng(seed)
    pairs = labels.pairs.rows()
    made = []
    for s in range(systems):
        rows = [(topic, doc, float(random.random())) for topic, doc in pairs]
        made.append(read_run(rows, name=f"s{s}"))
    return made


FULL = drawn(3, pairs=40, workers=5, grades=3, share=1.0)
GAPS = drawn(4, pairs=40, workers=5, grades=3, share=0.5)


@pytest.mark.parametrize("measure", ["AP", "nDCG@5", "RBP(p=0.8)"])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0, 4.0, 0.0), None])
def test_in_a_plain_loop_with_gaps(measure: str, weights: tuple[float, ...] | None) -> None:
    # Nobody but the first two assessors labelled the first topic.
    keep = ~((GAPS.topic_of[GAPS.pair] == 0) & (GAPS.worker > 1))
    labels = GAPS.restrict(keep)
    given = runs(labels)
    found = aware(given, labels, measure, weights=weights or "uniform")
    assert found.measure == f"AWARE({measure})"
    total = np.zeros(found.values.shape)
    mass = np.zeros(len(found.topics))
    for k in range(5):
        own = labels.restrict(labels.worker == k)
        scores = evaluate(given, majority(own).qrels, measure)[measure]
        told = {labels.topics[c] for c in labels.topic_of[labels.pair[labels.worker == k]]}
        for t, topic in enumerate(found.topics):
            if topic in told:
                weight = weights[k] if weights else 1.0
                total[t] += weight * scores.values[scores.topics.index(topic)]
                mass[t] += weight
    assert found.values == pytest.approx(total / mass[:, None], abs=1e-12)
    assert found.settings["aware"]["assessors without labels in a topic"] >= 3


def test_gold_weights() -> None:
    gold: dict[str, dict[str, int]] = {topic: {} for topic in FULL.topics}
    truth = FULL.grade[FULL.worker == 2]
    for (topic, doc), grade in zip(FULL.pairs.rows(), truth.tolist(), strict=True):
        gold[topic][doc] = grade
    given = runs(FULL)
    for kind in ("accuracy", "kappa"):
        mean = aware(given, FULL, "AP", weights=kind, gold=gold).settings["aware"]["mean weight"]
        assert max(mean, key=mean.__getitem__) == FULL.workers[2]
    same = np.array([np.mean(FULL.grade[FULL.worker == k] == truth) for k in range(5)])
    mean = aware(given, FULL, "AP", weights="accuracy", gold=gold).settings["aware"]["mean weight"]
    assert [*mean.values()] == pytest.approx(same / same.sum())


@pytest.mark.parametrize("by", ["all", "topic"])
@pytest.mark.parametrize("kind", ["rmse", "tau_ap"])
def test_an_assessor_at_random_counts_less(kind: str, by: str) -> None:
    """Four assessors who agree, and one who draws grades at random."""
    random = np.random.default_rng(2)
    truth = {f"d{i}": int(random.random() < 0.3) for i in range(200)}
    rows = [
        (f"q{i % 5}", doc, f"w{w}", grade if w < 4 else int(random.random() < 0.5))
        for i, (doc, grade) in enumerate(truth.items())
        for w in range(5)
    ]
    labels = read_labels(rows)
    # Systems of different quality, so that there is something to tell.
    given = []
    for s in range(8):
        noise = {doc: grade * s / 4 + random.random() for doc, grade in truth.items()}
        triples = [(topic, doc, noise[doc]) for topic, doc in labels.pairs.rows()]
        given.append(read_run(triples, name=f"s{s}"))
    options: Any = {"weights": kind, "by": by, "seed": 3, "draws": 4}
    found = aware(given, labels, "AP", **options)
    mean = found.settings["aware"]["mean weight"]
    assert min(mean, key=mean.__getitem__) == "w4"
    squared = aware(given, labels, "AP", squares_distances=True, **options)
    assert squared.settings["aware"]["mean weight"]["w4"] < mean["w4"]


def test_topics_do_not_touch_each_other() -> None:
    given = runs(GAPS)
    whole = aware(given, GAPS, "DCG@5", weights="rmse", by="topic")
    some = GAPS.restrict(GAPS.topic_of[GAPS.pair] != 0)
    part = aware(given, some, "DCG@5", weights="rmse", by="topic")
    for topic in GAPS.topics[1:]:
        mine = part.values[part.topics.index(topic)]
        assert mine == pytest.approx(whole.values[whole.topics.index(topic)], abs=1e-12)


def test_a_topic_whose_weights_are_all_nothing_has_no_score() -> None:
    keep = (GAPS.topic_of[GAPS.pair] != 0) | (GAPS.worker == 4)
    labels = GAPS.restrict(keep)
    found = aware(runs(labels), labels, "AP", weights=[1, 1, 1, 1, 0])
    row = found.topics.index(labels.topics[0])
    assert np.isnan(found.values[row]).all()
    assert found.settings["aware"]["topics without a score"] == 1


def test_repeats_and_labels_without_relevance() -> None:
    rows = [("q", "d", "w", 1), ("q", "d", "w", 0)]
    with pytest.raises(PolicyError, match="one label per assessor and pair"):
        aware({"q": {"d": 1}}, read_labels(rows, repeats="keep"), "AP")
    with pytest.raises(CranfieldError, match="random assessors require"):
        aware({"q": {"d": 1}}, read_labels([("q", "d", "w", 0)]), "AP", weights="rmse")


def test_only_grade_0() -> None:
    labels = read_labels({"ann": {"q": {"a": 0}}, "bob": {"q": {"a": 0}}})
    with pytest.raises(PolicyError, match="a grade above 0, got grade 0 only"):
        aware({"q": {"a": 2, "b": 1}}, labels, "RR")
