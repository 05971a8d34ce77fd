"""Documents removed from rankings, beside plain loops and BEIR's rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import cranfield as cf
from cranfield.base.errors import PolicyError, collect_warnings
from tests.cli.running import cranfield
from tests.collection.refusals import refuses, warns

Ranking = dict[str, dict[str, float]]


def arguana(seed: int = 5) -> tuple[Ranking, dict[str, dict[str, int]]]:
    """Make a collection whose topics are documents, which are mostly retrieved first."""
    draw = np.random.default_rng(seed)
    docs = [f"arg{k}" for k in range(40)]
    run, qrels = {}, {}
    for topic in docs[:25]:
        some = draw.choice(docs, 12, replace=False).tolist()
        run[topic] = dict(zip(some, draw.permutation(100)[:12].astype(float).tolist(), strict=True))
        if draw.random() < 0.8:
            run[topic][topic] = 100.0
        qrels[topic] = {draw.choice([doc for doc in docs if doc != topic]): 1, some[3]: 1}
        qrels[topic].pop(topic, None)
    # A ranking of nothing but the topic itself counts as an empty one.
    run["arg0"] = {"arg0": 1.0}
    return run, qrels


def test_beir_and_mteb() -> None:
    run, qrels = arguana()
    # Both pop the id of the query from its results, and evaluate the rest with pytrec_eval.
    left = {q: {d: s for d, s in docs.items() if d != q} for q, docs in run.items()}
    wanted = {"ndcg_cut.10", "map_cut.100", "recall.100", "P.5", "P.10"}
    found = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(left)
    names = {"nDCG@10": "ndcg_cut_10", "AP@100": "map_cut_100", "R@100": "recall_100"}
    names |= {"P@5": "P_5", "P@10": "P_10"}
    evaluation = cf.evaluate(run, qrels, [*names, "RR@10"], exclude="self", topics="run")
    for measure, name in names.items():
        scores = evaluation[measure]
        for topic, value in zip(scores.topics, scores.values[:, 0], strict=True):
            expected = found[topic][name] if left[topic] else 0.0
            assert value == pytest.approx(expected, abs=1e-12)
    # BEIR's own loop of MRR@10.
    reciprocal = evaluation["RR@10"]
    for topic, value in zip(reciprocal.topics, reciprocal.values[:, 0], strict=True):
        ranking = sorted(left[topic], key=left[topic].__getitem__, reverse=True)[:10]
        ranks = (rank for rank, doc in enumerate(ranking, 1) if qrels[topic].get(doc, 0) > 0)
        assert value == pytest.approx(next((1 / rank for rank in ranks), 0.0), abs=1e-12)
    plain = cf.evaluate(run, qrels, ["nDCG@10"])["nDCG@10"].values
    assert not np.allclose(plain, evaluation["nDCG@10"].values)
    removed = sum(q in docs for q, docs in run.items())
    assert evaluation.coverage.systems[0].n_excluded == removed
    assert any(f"has {removed} documents excluded" in note for note in evaluation.coverage.notes)
    assert evaluation["nDCG@10"].settings["excluded documents"] == removed


@pytest.mark.parametrize("backend", ["serial", "loky"])
def test_a_list_of_each_topic(backend: str, tmp_path: Path) -> None:
    run, qrels = arguana(6)
    draw = np.random.default_rng(1)
    lists = {
        q: draw.choice([*docs], min(3, len(docs)), replace=False).tolist()
        for q, docs in run.items()
    }
    lists["elsewhere"] = ["arg1"]
    left = {q: {d: s for d, s in docs.items() if d not in lists[q]} for q, docs in run.items()}
    expected = cf.evaluate(left, qrels, ["AP", "RR"])
    rows = [(topic, doc) for topic, docs in lists.items() for doc in docs]
    (tmp_path / "e.csv").write_text("topic,doc\n" + "".join(f"{t},{d}\n" for t, d in rows))
    (tmp_path / "e.txt").write_text("".join(f"{t} {d}\n" for t, d in rows))
    frame = pl.DataFrame(rows, schema=["query_id", "corpus_id"], orient="row")
    for data in (lists, frame, rows, tmp_path / "e.csv", tmp_path / "e.txt"):
        found = cf.evaluate(run, qrels, ["AP", "RR"], exclude=data, backend=backend)
        for measure in expected:
            assert np.array_equal(found[measure].values, expected[measure].values)
        if backend == "loky":
            break


def test_depth_is_taken_after() -> None:
    run, qrels = {"q": {"q": 3.0, "a": 2.0, "b": 1.0}}, {"q": {"b": 1}}
    assert cf.evaluate(run, qrels, ["RR"], depth=2)["RR"].values[0, 0] == 0
    assert cf.evaluate(run, qrels, ["RR"], depth=2, exclude="self")["RR"].values[0, 0] == 0.5


@pytest.mark.parametrize(("topic", "is_reported"), [("01", True), ("q1", False), ("7", False)])
def test_a_topic_in_another_spelling(topic: str, is_reported: bool) -> None:
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "d": 1.0}}
    with collect_warnings() as warnings:
        cf.judge(run, {"1": {"b": 1}, "2": {"a": 1}}, exclude={topic: ["a"], "2": ["d"]})
    note = f"topic {topic!r} of exclude and topic '1' of the judgments differ only in"
    assert any(text.startswith(note) for text in warnings) == is_reported


def test_wrong_exclusions(tmp_path: Path) -> None:
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1}}
    refuses("", cf.evaluate, run, qrels, ["AP"], exclude=tmp_path / "no.csv")
    refuses("expected {topic: ", cf.evaluate, run, qrels, ["AP"], exclude={"q": "a"})
    with pytest.raises(PolicyError, match="exclude cannot be combined with shards"):
        cf.evaluate(run, qrels, ["AP"], exclude="self", shards=2)


def test_the_setting(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("a 0 b 1\n")
    (tmp_path / "r.run").write_text("a Q0 a 1 2 r\na Q0 b 2 1 r\n")
    (tmp_path / "s.yml").write_text("exclude: self\n")
    words = ("evaluate", "q.txt", "r.run", "-m", "RR")
    out, told = cranfield(tmp_path, *words, "--settings", "s.yml")
    assert "1.0000" in out
    assert "system 'r' has 1 document excluded" in told
    assert "0.5000" in cranfield(tmp_path, *words)[0]


def test_chunks_are_documents_by_their_best_score(tmp_path: Path) -> None:
    draw = np.random.default_rng(9)
    run: Ranking = {}
    for k in range(8):
        ids = {f"d{draw.integers(9)}#{i}" if i % 4 else f"d{i}" for i in range(20)}
        run[f"q{k}"] = {one: float(draw.integers(40)) / 4 for one in sorted(ids)}
    expected: Ranking = {q: {} for q in run}
    for q, chunks in run.items():
        for one, score in chunks.items():
            doc = one.split("#")[0]
            expected[q][doc] = max(score, expected[q].get(doc, score))
    lines = "".join(f"{q} Q0 {d} 1 {s} x\n" for q, docs in run.items() for d, s in docs.items())
    (tmp_path / "x.run").write_text(lines)
    for data in (run, tmp_path / "x.run"):
        found = cf.read_run(data, chunk_separator="#")
        assert {(q, d): s for q, d, s, *_ in found.to_polars().rows()} == {
            (q, d): s for q, docs in expected.items() for d, s in docs.items()
        }
        assert found.n_chunks == sum(map(len, run.values()))
    qrels = {f"q{q}": {f"d{d}": int(draw.integers(2)) for d in range(9)} for q in range(8)}
    plain = cf.evaluate(expected, qrels, ["AP", "nDCG@5"])
    merged = cf.evaluate(
        cf.read_runs(tmp_path / "x.run", chunk_separator="#"), qrels, ["AP", "nDCG@5"]
    )
    for measure in plain:
        assert np.array_equal(plain[measure].values, merged[measure].values)
    assert merged.coverage.systems[0].n_chunks == found.n_chunks
    assert any("chunks merged into documents" in note for note in merged.coverage.notes)
    assert merged["AP"].settings["chunk separator"] == "#"


def test_wrong_chunks(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("q Q0 a#1 1 2 x\nq Q0 #2 2 1 x\n")
    refuses(r"x.run:2: expected a document", cf.read_run, tmp_path / "x.run", chunk_separator="#")
    (tmp_path / "x.run").write_text("q Q0 a#1 1 2 x\nq Q0 a#1 2 1 x\n")
    refuses("document twice in one topic", cf.read_run, tmp_path / "x.run", chunk_separator="#")
    runs = cf.read_runs({"x": {"q": {"a#1": 1.0}}}, chunk_separator="#")
    refuses("got a chunk id with .*document 'a#2'", cf.judge, runs, {"q": {"a": 1, "a#2": 1}})
    warns("no document id has the chunk", cf.read_run, {"q": {"a": 1.0}}, chunk_separator="#")
    with pytest.raises(PolicyError, match="chunk_separator must not be empty"):
        cf.read_run({"q": {"a": 1.0}}, chunk_separator="")
