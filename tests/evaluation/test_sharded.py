"""Scores by shard: against trec_eval on dicts restricted by hand, and every policy."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import cranfield as cf
from cranfield.collection.shards import random_shards
from cranfield.evaluation.evaluate_runs import evaluate, score_samplings
from cranfield.evaluation.evaluation import Evaluation
from tests.collection.refusals import refuses

Grades = dict[str, dict[str, int]]
Rankings = dict[str, dict[str, float]]

MEASURES = ("map", "ndcg", "ndcg_cut_5", "P_5", "recip_rank", "Rprec")


def collection(seed: int, topics: int = 6, systems: int = 4) -> tuple[dict[str, Rankings], Grades]:
    """Make up runs with ties, and judgments with grades from -1 to 3, some topics with few."""
    rng = random.Random(seed)
    docs = [f"doc{k}" for k in range(60)]
    qrels = {
        str(t): {d: rng.choice([-1, 0, 0, 1, 2, 3]) for d in rng.sample(docs, 2 + 6 * t)}
        for t in range(topics)
    }
    runs = {
        f"s{s}": {
            str(t): {d: float(rng.randint(0, 30)) for d in rng.sample(docs, rng.randint(1, 40))}
            for t in range(topics + 1)
            if (s + t) % 5
        }
        for s in range(systems)
    }
    return runs, qrels


def restricted(table: dict[str, dict[str, Any]], docs: set[str]) -> dict[str, dict[str, Any]]:
    return {
        topic: {doc: value for doc, value in row.items() if doc in docs}
        for topic, row in table.items()
    }


def shard_of(ev: Evaluation, *tables: dict[str, dict[str, Any]]) -> dict[str, int]:
    docs = sorted({doc for table in tables for row in table.values() for doc in row})
    return dict(zip(docs, ev.judged.sharding.find_shards(docs).tolist(), strict=True))


def by_hand(
    runs: dict[str, Rankings], qrels: Grades, shards: list[set[str]], topics: tuple[str, ...]
) -> dict[str, np.ndarray[Any, Any]]:
    """Restrict dicts to each shard, and let trec_eval score them."""
    out = {m: np.full((len(topics), len(runs), len(shards)), np.nan) for m in MEASURES}
    for k, docs in enumerate(shards):
        # trec_eval loops for ever on a topic that has negative grades alone.
        judged = {
            topic: row
            for topic, row in restricted(qrels, docs).items()
            if any(grade > 0 for grade in row.values())
        }
        judge = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES))
        for s, run in enumerate(runs.values()):
            found = judge.evaluate({t: row for t, row in restricted(run, docs).items() if row})
            for t, topic in enumerate(topics):
                if topic in judged:
                    for m in MEASURES:
                        out[m][t, s, k] = found.get(topic, {}).get(m, 0.0)
    return out


@pytest.mark.parametrize(("seed", "shards"), [(0, 2), (1, 3), (2, 5), (3, 1)])
def test_scores_are_those_of_trec_eval_on_each_shard(seed: int, shards: int) -> None:
    runs, qrels = collection(seed)
    ev = evaluate(runs, qrels, MEASURES, shards=shards, seed=seed, negative="unjudged")
    where = shard_of(ev, qrels, *runs.values())
    parts = [{doc for doc, k in where.items() if k == shard} for shard in range(shards)]
    assert set().union(*parts) == set(where)
    assert sum(map(len, parts)) == len(where)
    expected = by_hand(runs, qrels, parts, ev.topics)
    for name in MEASURES:
        np.testing.assert_allclose(ev[name].values, expected[name], atol=1e-12)
    gaps = np.isnan(expected["map"])
    assert gaps.any() or shards == 1
    assert ev["map"].settings["cells without scores"] == gaps[:, 0].sum()


def test_same_as_plain_evaluation_of_restricted_tables() -> None:
    runs, qrels = collection(7)
    some: list[dict[str, Any]] = [
        {"ties": "id-ascending"},
        {"unjudged": "condensed", "compat": "trec_eval"},
        {"negative": "judged"},
    ]
    names = ["AP(rel=2)", "RBP(p=0.8)", "nDCG(gains='exponential')", "Judged@5", "bpref"]
    for options in some:
        ev = evaluate(runs, qrels, names, shards=2, rel=1, seed=4, **options)
        where = shard_of(ev, qrels, *runs.values())
        for k in range(2):
            docs = {doc for doc, shard in where.items() if shard == k}
            part = restricted(qrels, docs)
            judged = {topic: row for topic, row in part.items() if row}
            left = {name: restricted(run, docs) for name, run in runs.items()}
            plain = evaluate(
                {name: {t: row for t, row in run.items() if row} for name, run in left.items()},
                judged,
                names,
                **{**options, "topics": "qrels"},
            )
            for name, (t, topic) in itertools.product(names, enumerate(ev.topics)):
                mine = ev[name].values[t, :, k]
                if any(grade > 0 for grade in part.get(topic, {}).values()):
                    has = np.array([topic in run for run in runs.values()])
                    has |= "compat" not in options
                    theirs = plain[name].values[plain.topics.index(topic)]
                    np.testing.assert_allclose(mine, np.where(has, theirs, np.nan), atol=1e-12)
                else:
                    assert np.isnan(mine).all()


def test_one_shard_is_the_whole_collection() -> None:
    runs, qrels = collection(11)
    qrels["5"] = dict.fromkeys(qrels["5"], 0)
    names = ["AP", "nDCG@10", "ERR@20", "RBP"]
    ev = evaluate(runs, qrels, names, shards=1)
    plain = evaluate(runs, qrels, names)
    relevant = plain.judged.recall_base() > 0
    assert relevant.ravel().tolist() == [True] * 5 + [False]
    for name in names:
        expected = np.where(relevant, plain[name].values, np.nan)
        np.testing.assert_array_equal(ev[name].values[:, :, 0], expected)
        np.testing.assert_array_equal(ev.whole[name].values, plain[name].values)
    assert ev.whole.coverage.to_polars().equals(plain.coverage.to_polars())
    assert ev.notes == ev.whole.notes == plain.notes


MAP = {"a": "left", "b": "left", "c": "right", "d": "right"}
QRELS = {"1": {"a": 1, "b": 2, "c": 1, "d": 0}, "2": {"a": 1, "b": 0}, "3": {"d": 3}}
RUNS: dict[str, Rankings] = {
    "x": {"1": {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, "2": {"c": 2.0, "d": 1.0}},
    "y": {"1": {"d": 4.0, "b": 3.0}, "3": {"d": 1.0, "c": 2.0}},
}
NAN = np.nan


def check_values(ev: Evaluation, measure: str, *shards: list[list[float]]) -> None:
    """Compare scores with tables of topics and systems, one a shard."""
    np.testing.assert_array_equal(ev[measure].values, np.stack([*map(np.array, shards)], axis=2))


def test_by_hand() -> None:
    ev = evaluate(RUNS, QRELS, ["AP", "P@1", "AP(rel=2)"], shards=MAP)
    # Topic 1: x ranks b, a on the left and d, c on the right; y retrieves b, and d. On topic 2
    # there is nothing relevant on the right: no score, though x retrieved documents there.
    left = [[1.0, 0.5], [0.0, 0.0], [NAN, NAN]]
    right = [[0.5, 0.0], [NAN, NAN], [0.0, 0.5]]
    check_values(ev, "AP", left, right)
    check_values(ev, "P@1", [[1, 1], [0, 0], [NAN, NAN]], [[0, 0], [NAN, NAN], [0, 0]])
    # Each measure has its own idea of what is relevant, unless it is told.
    left = [[1, 1], [NAN, NAN], [NAN, NAN]]
    check_values(ev, "AP(rel=2)", left, [[NAN, NAN], [NAN, NAN], [0, 0.5]])
    told = evaluate(RUNS, QRELS, ["AP", "AP(rel=2)"], shards=MAP, rel=2)
    np.testing.assert_array_equal(np.isnan(told["AP"].values), np.isnan(ev["AP(rel=2)"].values))
    assert told["AP"].settings["relevant from"] == 2
    assert ev["AP"].settings == {
        **ev.whole["AP"].settings,
        "shards": 2,
        "shards from": "shards",
        "shard labels": ["left", "right"],
        "relevant from": 1,
        "cells": 6,
        "cells without scores": 2,
        "judgments in no shard": 0,
        "documents in no shard": 0,
    }


def test_tables(tmp_path: Path) -> None:
    ev = evaluate({"measure": RUNS["x"], "y": RUNS["y"]}, QRELS, ["AP", "P@1"], shards=MAP)
    assert repr(ev) == "Evaluation(3 topics, 2 systems, 2 shards: AP, P@1)"
    assert (list(ev), len(ev), ev.shards) == (["AP", "P@1"], 2, ("left", "right"))
    assert ev["map"] is ev["AP"]
    refuses("nDCG was not evaluated", lambda: ev["nDCG"], error=KeyError)
    assert ev.judged.counts().rows() == [("left", 4, 3, 2, 3), ("right", 3, 2, 2, 7)]
    assert ev.means().columns == ["measure", "shard", "measure ", "y"]
    assert ev.means().rows() == [
        ("AP", "left", 0.5, 0.25),
        ("AP", "right", 0.25, 0.25),
        ("P@1", "left", 0.5, 0.5),
        ("P@1", "right", 0.0, 0.0),
    ]
    table = ev.to_polars()
    assert table.columns == ["measure", "topic", "system", "shard", "score"]
    scores = {tuple(row[:4]): row[4] for row in table.rows()}
    assert len(scores) == table.height == 24
    for (t, topic), (s, system), (k, shard) in itertools.product(
        enumerate(ev.topics), enumerate(ev.systems), enumerate(ev.shards)
    ):
        value = ev["AP"].values[t, s, k]
        assert scores["AP", topic, system, shard] == (None if np.isnan(value) else value)
    ev.write_csv(tmp_path / "a.csv")
    assert pl.read_csv(tmp_path / "a.csv").height == 24
    ev.write_parquet(tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").equals(table)
    again = cf.score(ev.judged.shards[1], "P@2")["P@2"].values
    assert again.tolist() == [[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]]


def test_topics_that_systems_lack() -> None:
    # A system that has a topic has it in each shard, also where it retrieved nothing there.
    ev = evaluate(RUNS, QRELS, "AP", shards=MAP, topics="intersection")
    check_values(ev, "AP", [[1, 0.5], [0, NAN], [NAN, NAN]], [[0.5, 0], [NAN, NAN], [NAN, 0.5]])
    # y retrieves only d for topic 1: nothing on the left.
    runs = {**RUNS, "y": {"1": {"d": 1.0}, "9": {"a": 1.0}}}
    ev = evaluate(runs, QRELS, "AP", shards=MAP, topics="run")
    assert ev.topics == ("1", "2", "9")
    check_values(ev, "AP", [[1, 0], [0, NAN], [NAN, NAN]], [[0.5, 0], [NAN, NAN], [NAN, NAN]])
    assert ev.whole["AP"].values[2].tolist()[1] == 0
    assert [judged.n_retrieved[2].tolist() for judged in ev.judged.shards] == [[0, 1], [0, 0]]


def test_depth_is_that_of_the_whole_ranking() -> None:
    ev = evaluate(RUNS, QRELS, ["P@2", "NumRet"], shards=MAP, depth=2)
    # Of topic 1, x keeps d and c, both on the right, and y keeps d and b.
    assert ev["P@2"].values[0].tolist() == [[0.0, 0.5], [0.5, 0.0]]
    assert ev["NumRet"].values[0].tolist() == [[0.0, 2.0], [1.0, 1.0]]


def test_highest_grade_is_that_of_the_collection() -> None:
    # ERR goes by it: on the left nothing has grade 3.
    ev = evaluate(RUNS, QRELS, "ERR@5", shards=MAP)
    assert ev["ERR@5"].values[0, 1, 0] == pytest.approx((2**2 - 1) / 2**3)


def test_measures_around_others_have_their_gaps() -> None:
    qrels = {**QRELS, "4": {"b": 2, "d": 2}}
    ev = evaluate(RUNS, qrels, ["interval(RBP(rel=2,p=0.4)@2)", "AP(rel=2)"], shards=MAP)
    gaps = [np.isnan(scores.values) for scores in ev.values()]
    assert gaps[0].any()
    np.testing.assert_array_equal(gaps[0], gaps[1])


def test_documents_in_no_shard() -> None:
    part = {doc: MAP[doc] for doc in "abc"}
    refuses(r"2 judgments in no shard; unmapped='drop", evaluate, RUNS, QRELS, "AP", shards=part)
    refuses(r"2 judgments in no shard", evaluate, RUNS, QRELS, "AP", shards=part, unmapped="error")
    few = {"1": {"a": 1, "c": 1}}
    with pytest.raises(cf.InputError, match=r"2 documents in no shard.*\(topic '1', document 'd'"):
        evaluate(RUNS, few, "AP", shards={**part, "z": "left"})
    ev = evaluate(RUNS, QRELS, ["AP", "NumRet"], shards=part, unmapped="drop")
    assert (ev.judged.n_lost_documents, ev.judged.n_lost_judgments) == ({"x": 2, "y": 2}, 2)
    assert ev["AP"].settings["documents in no shard"] == 4
    assert ev["AP"].settings["judgments in no shard"] == 2
    assert ev["AP"].values[0].tolist() == [[1.0, 1.0], [0.5, 0.0]]
    assert ev["NumRet"].values[0].tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert ev.whole["NumRet"].values[0].tolist() == [4.0, 2.0]
    # What lies below the depth is not looked at.
    assert evaluate(
        RUNS, QRELS, "AP", shards=part, unmapped="drop", depth=1
    ).judged.n_lost_documents == {
        "x": 1,
        "y": 1,
    }


def test_what_cannot_be_scored() -> None:
    def refused(kind: type[cf.CranfieldError], reason: str, **options: Any) -> None:
        with pytest.raises(kind, match=reason):
            evaluate(RUNS, QRELS, options.pop("measures", "AP"), **{"shards": 3, **options})

    empty = "has no relevant document of any topic"
    refused(cf.CranfieldError, rf"shard '\d+' {empty} \(40 shards, 4 documents of", shards=40)
    refused(cf.CranfieldError, f"'left' {empty} .* grade 3", shards=MAP, measures="AP(rel=3)")
    refused(cf.CranfieldError, f"'9' {empty}", shards={**dict.fromkeys("abcd", 1), "z": 9})
    refused(cf.PolicyError, "the number of shards must be", shards=0)
    refused(cf.PolicyError, "the seed must be", seed=-1)
    for shards in (MAP, cf.read_shards(MAP), cf.random_shards(2)):
        refused(cf.PolicyError, "seed requires a number of shards", shards=shards, seed=0)
    refused(cf.PolicyError, "got random shards", unmapped="drop")
    refused(cf.PolicyError, "got random shards", shards=cf.random_shards(2), unmapped="drop")
    refused(cf.PolicyError, "unknown unmapped 'keep'; expected one of", unmapped="keep")
    refused(cf.PolicyError, "rel must be an integer >= 0, got 0.5", rel=0.5)
    refused(cf.PolicyError, "unknown ties 'none'; expected one of:", ties="none")
    refused(cf.PolicyError, "jobs must be an integer from 1", shards=MAP, jobs=0)
    refused(cf.MeasureError, "unknown measure", measures="Nothing")
    refuses("expected at least one run", evaluate, [], QRELS, "AP", shards=MAP)
    refuses("no topic of the runs is judged", evaluate, {"7": {"a": 1.0}}, QRELS, "AP", shards=MAP)
    with pytest.raises(cf.PolicyError, match=r"samplings must be .* from 1 to 100, got 0"):
        score_samplings(RUNS, QRELS, "AP", samplings=0)


def test_samplings_are_partitions_of_one_seed() -> None:
    runs, qrels = collection(3)
    several = score_samplings(runs, qrels, ["AP", "P@5"], shards=2, samplings=4, seed=8)
    assert len({id(ev.whole) for ev in several}) == 1
    for k, ev in enumerate(several):
        one = evaluate(runs, qrels, ["AP", "P@5"], shards=random_shards(2, 8, k))
        assert ev.judged.sharding == one.judged.sharding
        np.testing.assert_array_equal(ev["AP"].values, one["AP"].values)
        assert ev["AP"].settings["shard sampling"] == k
    first = evaluate(runs, qrels, "AP", shards=2, seed=8)["AP"]
    np.testing.assert_array_equal(several[0]["AP"].values, first.values)
    assert len({ev["AP"].values.tobytes() for ev in several}) == 4


def test_threads_and_progress_and_runs_read_once(tmp_path: Path) -> None:
    runs, qrels = collection(5)
    for name, run in runs.items():
        cf.write_run(cf.read_run(run, name=name), tmp_path / name)
    calls: list[tuple[int, int]] = []
    ev = evaluate(
        str(tmp_path), qrels, "AP", shards=2, jobs=3, progress=lambda *done: calls.append(done)
    )
    assert calls == [(k + 1, 4) for k in range(4)]
    plain = evaluate(runs, qrels, "AP", shards=2, jobs=1)
    np.testing.assert_array_equal(ev["AP"].values, plain["AP"].values)


def test_comparison_of_scores_with_gaps() -> None:
    runs, qrels = collection(21, topics=9, systems=4)
    ev = evaluate(runs, qrels, "AP", shards=3, seed=2)
    scores = ev["AP"]
    gaps = np.isnan(scores.values)
    assert 0 < gaps.sum() == 4 * scores.settings["cells without scores"]
    refuses("has no score", cf.compare, scores, error=cf.CranfieldError)
    default = cf.compare(scores, missing="available")
    assert (default.test, default.correction) == ("random-topics", "bootstrap-tukey")
    by_topic = np.nanmean(scores.values, axis=2)
    by_topic = by_topic[~np.isnan(by_topic).any(axis=1)]
    np.testing.assert_allclose(default.means, by_topic.mean(axis=0))
    flat = cf.compare(by_topic, test="anova")
    np.testing.assert_array_equal(default.adjusted_pvalues, flat.adjusted_pvalues)
    np.testing.assert_allclose(default.difference, flat.difference)
    assert any("weight all topics equally" in note for note in default.notes)
    available = cf.compare(scores, test="anova-3", missing="available")
    assert "three-way" in str(available).lower()
    cells = scores.values.transpose(0, 2, 1)[~gaps[:, 0]]
    np.testing.assert_allclose(available.means, cells.mean(axis=0))
    zero = cf.compare(scores, test="anova-3", missing="zero")
    np.testing.assert_allclose(zero.means, np.where(gaps, 0, scores.values).mean(axis=(0, 2)))
    full = scores.values[~gaps.any(axis=(1, 2))]
    drop = cf.compare(scores, test="anova-3", missing="drop")
    np.testing.assert_allclose(drop.means, full.mean(axis=(0, 2)))


@pytest.mark.parametrize("name", ["lengths", "groups", "intents", "aspects"])
def test_what_is_known_of_the_whole_collection(name: str) -> None:
    """Tables of documents and intents are refused by name."""
    with pytest.raises(cf.PolicyError, match=f"{name} cannot be combined with shards"):
        known: dict[str, Any] = {name: {"a": 1}}
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "AP", shards=3, **known)


def test_no_table_of_systems_by_shard() -> None:
    run = {"q": {name: -k for k, name in enumerate("abcdefgh")}}
    ev = evaluate(run, {"q": dict.fromkeys("abcdefgh", 1)}, "AP", shards=2)
    refuses(
        "cannot be written as a table of systems: average them", ev.by_system, error=cf.PolicyError
    )
