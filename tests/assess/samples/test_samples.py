"""Samples: chances and estimates against enumeration of all samples, and the brute definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.arrays import Bools, Floats

Sample = cf.assess.Sample


def runs_of(*rankings: str) -> dict[str, Any]:
    return {
        f"s{i}": {"q": {doc: -float(rank) for rank, doc in enumerate(one)}}
        for i, one in enumerate(rankings)
    }


POOL = cf.assess.pool(runs_of("abcde", "bafgc"), 5)

DESIGNS: list[tuple[str, dict[str, Any]]] = [
    ("uniform", {"size": 3}),
    ("uniform", {"size": 0.5}),
    ("strata", {"strata": {1: 1.0, 3: 2, 5: 0.6}}),
    ("strata", {"strata": {1: 1, 3: 1, 5: 0.1}}),
    ("stat", {"size": 1}),
    ("stat", {"size": 2}),
    ("stat", {"size": 3}),
    ("stat", {"size": 5}),
    ("stat", {"size": 9}),
]


def prior(pool: cf.assess.Pool) -> Floats:
    """Sum over runs of (1 + 1/r + ... + 1/Z), scaled in each run to sum 1; one topic."""
    out = np.zeros(len(pool))
    for i in range(len(pool.systems)):
        ranking = pool.ranked[pool.ranking_starts[i] : pool.ranking_starts[i + 1]].tolist()
        weights = [1 + sum(1 / k for k in range(r, len(ranking) + 1)) for r in
                   range(1, len(ranking) + 1)]  # fmt: skip
        for doc, weight in zip(ranking, weights, strict=True):
            out[doc] += weight / sum(weights)
    return out / len(pool.systems)


def buckets(drawn: Sample) -> list[list[int]]:
    """Strata or buckets as lists of documents, without the code under test."""
    pool, n = drawn.pool, len(drawn.pool)
    if drawn.design == "uniform":
        return [list(range(n))]
    if drawn.design == "strata":
        ends = (1, 3, 5)
        of = [next(end for end in ends if rank <= end) for rank in pool.best_rank.tolist()]
        return [[d for d in range(n) if of[d] == end] for end in ends]
    size = int(drawn.drawing.split("=")[1].rstrip(")"))
    weights = prior(pool)
    order = sorted(range(n), key=lambda d: (-weights[d], d))
    return [order[k : k + size] for k in range(0, n, size)]


def all_numbers(drawn: Sample) -> Iterator[tuple[tuple[int, ...], float]]:
    """All numbers of documents drawn of each bucket, with their chances."""
    cut = buckets(drawn)
    if drawn.design != "stat":
        fixed = {"uniform(size=3)": (3,), "uniform(size=0.5)": (4,)}
        strata = (2, 2, 2) if "5=0.6" in drawn.drawing else (1, 1, 1)
        yield fixed.get(drawn.drawing, strata), 1.0
        return
    size = int(drawn.drawing.split("=")[1].rstrip(")"))
    weights = prior(drawn.pool)
    mass = [weights[bucket].sum() for bucket in cut]
    for draws in product(range(len(cut)), repeat=size):
        numbers = tuple(min(draws.count(b), len(one)) for b, one in enumerate(cut))
        yield numbers, prod(mass[b] for b in draws)


def all_samples(drawn: Sample) -> dict[tuple[int, ...], float]:
    """Every sample that can come out, with its chance."""
    found: dict[tuple[int, ...], float] = {}
    cut = buckets(drawn)
    of_numbers: dict[tuple[int, ...], float] = {}
    for numbers, chance in all_numbers(drawn):
        of_numbers[numbers] = of_numbers.get(numbers, 0.0) + chance
    for numbers, chance in of_numbers.items():
        ways = [list(combinations(b, k)) for b, k in zip(cut, numbers, strict=True)]
        for parts in product(*ways):
            key = tuple(sorted(d for part in parts for d in part))
            found[key] = found.get(key, 0.0) + chance / prod(map(len, ways))
    return found


def joint_matrix(drawn: Sample) -> Floats:
    n = len(drawn.pool)
    grid = np.indices((n, n)).reshape(2, -1)
    return drawn.compute_joint_inclusion(*grid).reshape(n, n)


@pytest.mark.parametrize(("design", "wanted"), DESIGNS)
def test_chances_are_those_of_all_samples(design: str, wanted: dict[str, Any]) -> None:
    drawn = cf.assess.sample(POOL, design, **wanted)
    found = all_samples(drawn)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    expected = np.zeros((len(POOL), len(POOL)))
    for docs, chance in found.items():
        expected[np.ix_(docs, docs)] += chance
    np.testing.assert_allclose(joint_matrix(drawn), expected, atol=1e-12)
    np.testing.assert_allclose(drawn.inclusion, expected.diagonal(), atol=1e-12)
    size = {docs: len(docs) for docs in found}
    mean = sum(found[docs] * n for docs, n in size.items())
    covariance = [
        sum(
            c * ((d in docs) - drawn.inclusion[d]) * (len(docs) - mean) for docs, c in found.items()
        )
        for d in range(len(POOL))
    ]
    np.testing.assert_allclose(drawn.cells.covariance[drawn.cells.doc_cell], covariance, atol=1e-12)
    assert all(tuple(np.flatnonzero(drawn.redraw(seed).is_drawn)) in found for seed in range(40))


def estimate(drawn: Sample, docs: tuple[int, ...], relevant: Bools, variance: str) -> Any:
    taken = np.isin(np.arange(len(drawn.pool)), docs)
    pool = drawn.pool
    judgments = cf.Qrels(pool.topics, pool.topic, pool.docs, relevant.astype(np.int32))
    return replace(drawn, is_drawn=taken).estimate_relevant(judgments, variance=variance)


@pytest.mark.parametrize(("design", "wanted"), DESIGNS)
def test_variances_are_sums_over_pairs(design: str, wanted: dict[str, Any]) -> None:
    """The plain formulas of Horvitz and Thompson, and of Sen, Yates and Grundy."""
    y = np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)
    for seed in range(5):
        drawn = cf.assess.sample(POOL, design, seed=seed, **wanted)
        pi, joint = drawn.inclusion, joint_matrix(drawn)
        docs = np.flatnonzero(drawn.is_drawn).tolist()
        plain = {"horvitz-thompson": 0.0, "sen-yates-grundy": 0.0}
        for d in docs:
            plain["horvitz-thompson"] += y[d] * (1 - pi[d]) / pi[d] ** 2
            with_size = (joint[d] - pi[d] * pi).sum()
            plain["sen-yates-grundy"] += y[d] * with_size / pi[d] ** 3
            for e in docs:
                if d != e and joint[d, e]:
                    by = joint[d, e] - pi[d] * pi[e]
                    plain["horvitz-thompson"] += by * y[d] * y[e] / (pi[d] * pi[e] * joint[d, e])
                    gap = (y[d] / pi[d] - y[e] / pi[e]) ** 2
                    plain["sen-yates-grundy"] -= by / joint[d, e] * gap / 2
        for name, value in plain.items():
            found = estimate(drawn, tuple(docs), y, name)
            assert found.total == pytest.approx((y[docs] / pi[docs]).sum())
            error = found.error[0]
            if not drawn.cells.is_estimable.all() or value < -1e-9:
                assert np.isnan(error)
            else:
                assert error**2 == pytest.approx(value, abs=1e-9)


def test_a_sample_without_relevant_documents_has_no_standard_error() -> None:
    drawn = cf.assess.sample(POOL, "uniform", size=4, seed=1)
    docs = tuple(np.flatnonzero(drawn.is_drawn).tolist())
    made = estimate(drawn, docs, np.zeros(len(drawn.is_drawn), dtype=bool), "sen-yates-grundy")
    assert made.to_polars()["standard error"].to_list() == [None]
    assert "standard error unknown" in repr(made)


RANKINGS = st.lists(
    st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), min_size=1, max_size=4
)


@settings(max_examples=30)
@given(RANKINGS, st.integers(2, 6))
def test_sums_of_chances(rankings: list[list[str]], size: int) -> None:
    """Chances sum to the mean size, and those of pairs to the mean number of pairs."""
    pool = cf.assess.pool(runs_of(*map("".join, rankings)), 8)
    drawn = cf.assess.sample(pool, "stat", size=size)
    assert (drawn.inclusion <= 1 + 1e-12).all()
    weights = prior(pool)[np.lexsort((np.arange(len(pool)), -prior(pool)))]
    whole = len(pool) // size * size
    if whole and whole == len(pool):
        assert drawn.inclusion.sum() == pytest.approx(size)
        joint = joint_matrix(drawn)
        assert joint.sum() == pytest.approx(size**2)
    cut = weights[:whole].reshape(-1, size).sum(axis=1)
    expected = np.repeat(cut, size)
    np.testing.assert_allclose(np.sort(drawn.inclusion)[::-1][:whole], np.sort(expected)[::-1])


def test_a_topic_does_not_depend_on_others() -> None:
    ranking = {f"d{i}": -float(i) for i in range(30)}
    alone = cf.assess.pool({"s": {"b": ranking}}, 30)
    among = cf.assess.pool({"s": {"a": {"x": 1.0}, "b": ranking, "c": ranking}}, 30)
    for design in ("uniform", "stat"):
        one = cf.assess.sample(alone, design, size=7, seed=5)
        all_of = cf.assess.sample(among, design, size=7, seed=5)
        assert one.is_drawn.tolist() == all_of.is_drawn[among.topic == 1].tolist()
        assert (
            all_of.is_drawn[among.topic == 1].tolist() != all_of.is_drawn[among.topic == 2].tolist()
        )


def test_judgments_of_a_sample() -> None:
    runs = runs_of("abcdefgh")
    pool = cf.assess.pool(runs, 8)
    drawn = cf.assess.sample(pool, "strata", strata={2: 1.0, 8: 3}, seed=1)
    judged = {"q": {doc: 2 if doc in "ae" else -2 for doc in "abcdefgh"}}
    strata = drawn.to_qrels(judged).to_polars()
    assert strata.columns == ["topic", "doc", "grade", "stratum", "inclusion"]
    assert strata["stratum"].to_list() == list("11222222")
    assert (strata["grade"] == -1).sum() == 3
    assert set(strata["grade"].unique()) <= {-1, 0, 2}
    chances = drawn.to_qrels(judged, ["inclusion"]).to_polars()
    assert chances.columns == ["topic", "doc", "grade", "inclusion"]
    assert chances["doc"].to_list() == drawn.to_polars()["doc"].to_list()
    assert chances["inclusion"].to_list() == [1.0, 1.0, 0.5, 0.5, 0.5]


def test_all_of_a_pool_is_ap(tmp_path: Any) -> None:
    """A sample of everything scores as the judgments do, also when it was written and read."""
    runs = runs_of("abcdefgh", "hgfaxyz")
    judged = {"q": {doc: int(doc in "aehy") for doc in "abcdefghxyz"}}
    drawn = cf.assess.sample(cf.assess.pool(runs, 8), "uniform", size=1.0)
    full = cf.evaluate(runs, judged, "AP")["AP"].values
    for column, form, name in (("inclusion", "prels", "statAP"), ("stratum", "xqrels", "xinfAP")):
        cf.write_qrels(drawn.to_qrels(judged, [column]), tmp_path / form)
        back = cf.read_qrels(tmp_path / form, format=form)
        scores = cf.evaluate(runs, back, name)[name].values
        np.testing.assert_allclose(scores, full, atol=1e-4 if column == "stratum" else 1e-12)


def test_judgments_that_do_not_fit_the_sample_are_refused() -> None:
    pool = cf.assess.pool(runs_of("abcdefgh"), 8)
    drawn = cf.assess.sample(pool, "uniform", size=3)
    with pytest.raises(cf.PolicyError, match=r"got none of 3 documents \(topic 'q'"):
        drawn.estimate_relevant({"z": {"a": 1}})
    assert drawn.estimate_relevant({"z": {"a": 1}}, unjudged="nonrelevant").total == 0
    with pytest.raises(cf.PolicyError, match="unknown variance 'x'; expected one of:"):
        drawn.estimate_relevant({"q": {"a": 1}}, variance="x")
    with pytest.raises(cf.PolicyError, match="by 'stat' has no column 'stratum'"):
        cf.assess.sample(pool, "stat", size=3).to_qrels({"q": {"a": 1}}, ["stratum"])
    with pytest.raises(cf.PolicyError, match="first and second must have the same length"):
        drawn.compute_joint_inclusion([0, 1], [0])


def test_one_document() -> None:
    pool = cf.assess.pool(runs_of("a"), 1)
    for design, size in (("uniform", 5), ("stat", 1), ("stat", 5)):
        drawn = cf.assess.sample(pool, design, size=size)
        found = drawn.estimate_relevant({"q": {"a": 1}})
        assert (found.total, found.total_error, drawn.is_drawn.tolist()) == (1.0, 0.0, [True])
    assert "1 topic: 1.0 relevant documents, standard error 0.0, estimated from 1" in repr(found)


@pytest.mark.filterwarnings("ignore:.*no topic in common with any other run")
def test_topics_without_documents() -> None:
    """A system may be left out that alone had a topic; the topic stays, and has nothing to draw."""
    runs = {"a": {"1": {"x": 2.0, "y": 1.0}}, "b": {"0": {"z": 1.0}, "2": {"z": 1.0}}}
    pool = cf.assess.pool(runs, 5).select_systems(["a"])
    judged = {"1": {"x": 1, "y": 0}}
    for design in ("uniform", "stat"):
        drawn = cf.assess.sample(pool, design, size=5)
        found = drawn.estimate_relevant(judged)
        assert drawn.pool.topics == ("0", "1", "2")
        assert found.estimate.tolist() == [0.0, 1.0, 0.0]
        assert found.error.tolist() == [0.0, 0.0, 0.0]
        assert len(drawn.to_qrels(judged)) == 2
    nothing = cf.assess.pool(runs, 5).select_systems(["a"])
    assert cf.assess.sheets(nothing, assessors=3).n_documents == 2


def test_documents_of_strata_that_were_not_sampled_are_unjudged() -> None:
    """A sample by strata lists the whole pool; only grades from 0 are judgments."""
    grades = {doc: int(doc in "abc") for doc in POOL.docs}
    drawn = cf.assess.sample(POOL, "uniform", size=3)
    listed = drawn.to_qrels({"q": grades}, ["stratum"])
    sampled = drawn.to_polars()["doc"].to_list()
    assert len(listed) == len(POOL) == 7 and len(sampled) == 3
    missing = POOL.find_unjudged(listed).to_polars()["doc"].to_list()
    assert missing == [doc for doc in POOL.docs if doc not in sampled]
    assert cf.assess.stopping_by_topic(POOL, listed, "Budget")["q"].after[-1] == 3
    following = cf.assess.next_documents(POOL, listed, "depth", 9)
    assert (len(following), following.n_judged, following.n_outside) == (4, 3, 0)
    relevant = drawn.estimate_relevant(listed).to_polars()
    assert relevant["estimate"][0] == pytest.approx(7 / 3 * sum(grades[doc] for doc in sampled))
    with pytest.raises(cf.PolicyError, match="judgments of all sampled documents"):
        cf.assess.sample(POOL, "uniform", size=5, seed=4).estimate_relevant(listed)
    # Without strata a grade below 0 is a judgment.
    assert len(POOL.find_unjudged({"q": dict.fromkeys("abcdefg", -1)})) == 0
    nothing = cf.assess.sample(POOL, "uniform", size=3).to_qrels({"q": grades}, ["stratum"])
    nothing.grades[:] = -1
    with pytest.warns(
        cf.CranfieldWarning, match="none of 7 rows is judged: no document has been judged yet"
    ):
        assert len(POOL.find_unjudged(nothing)) == 7


def test_measures_of_judged_documents_ignore_those_not_sampled() -> None:
    runs = runs_of("abcde")
    drawn = cf.assess.sample(cf.assess.pool(runs, 5), "uniform", size=2, seed=3)
    listed = drawn.to_qrels({"q": dict.fromkeys("abcde", 0) | {"a": 1, "e": 1}})
    sampled = drawn.to_polars()["doc"].to_list()
    grades = {"q": {doc: int(doc in "ae") for doc in sampled}}
    measures = ["Judged@3", "Bpref", "AP(judged_only=True)", "P@5"]
    with_strata, plain = (cf.evaluate(runs, qrels, measures) for qrels in (listed, grades))
    assert with_strata["Judged@3"].overall()[0] == sum(doc in "abc" for doc in sampled) / 3
    for name in measures:
        assert with_strata[name].values.tolist() == plain[name].values.tolist()
    assert with_strata.coverage.systems[0].n_unjudged == 3
    assert any("unjudged documents in the top 10" in note for note in with_strata.notes)
    of_samples = cf.evaluate(runs, listed, ["xinfAP", "infP@3"])
    assert not any("unjudged" in note for note in of_samples.notes)


def test_judgments_of_another_sample_are_refused() -> None:
    grades = {"q": {doc: int(doc in "abc") for doc in POOL.docs}}
    drawn = cf.assess.sample(POOL, "uniform", size=3)
    judged = drawn.to_qrels(grades, ["inclusion"])
    other = next(s for s in map(drawn.redraw, range(1, 9)) if (s.is_drawn != drawn.is_drawn).any())
    outside = [doc for doc in drawn.to_polars()["doc"] if doc not in other.to_polars()["doc"]]
    assert outside
    message = rf"got {len(outside)} judged documents? outside uniform\(size=3\), seed {other.seed}"
    with pytest.raises(cf.PolicyError, match=message):
        other.estimate_relevant(judged, unjudged="nonrelevant")
    # The sample itself, part of it, judgments without probabilities, and those of all documents.
    part = judged.restrict(np.arange(len(judged)) < 2)
    everything = cf.assess.sample(POOL, "uniform", size=7).to_qrels(grades, ["inclusion"])
    for qrels in (judged, part, everything, grades):
        drawn.estimate_relevant(qrels, unjudged="nonrelevant")
    other.estimate_relevant(everything)
