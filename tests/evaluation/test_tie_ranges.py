"""Lowest, expected and highest scores against the enumeration of all orders of tied documents."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.measures.families import REGISTRY
from tests.cli.running import cranfield
from tests.collection.refusals import refuses

MEASURES = ["P@3", "R@3", "gP(max_grade=3)@4", "gR@4", "NCG@3", "RelP@2", "F@4",
            "F(beta=2,rel=2)@3", "Rprec", "NumRelRet@3", "DCG@4", "nDCG",
            "nDCG(gains='exponential')@3", "RBP", "RBP(gains='graded',p=0.5)@4", "INSQ", "SDCG@5",
            "RR", "RR(rel=2)@3", "RR@1", "RBTO@4", "Success@2", "FirstRank@4", "FirstRank(rel=2)@3",
            "ERR", "ERR@1", "ERR@3", "nERR@4", "iRBU", "AP", "AP(rel=2)@4",
            "AP(denominator='min')@3", "Q", "Q@3", "AP(judged_only=True)", "RR(judged_only=True)",
            "nDCG(judged_only=True)@3", "Judged@3", "Judged"]  # fmt: skip


def test_answers_and_shards_are_refused() -> None:
    answers = cf.texts.judge_answers({"x": {"q1": ["a"]}}, {"q1": {"a": 1}})
    evaluation = cf.evaluate_answers(answers, "WRecall")
    refuses("got JudgedAnswers$", cf.tie_ranges, evaluation, error=cf.PolicyError)
    run, qrels = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1}}
    by_shard = cf.evaluate(run, qrels, "AP", shards={"a": "l", "b": "r"})
    refuses("on all documents, got JudgedShards", cf.tie_ranges, by_shard, error=cf.PolicyError)


def _orders(docs: list[str], scores: list[int]) -> list[list[str]]:
    """Return all orders of documents by falling score."""
    groups = [
        [doc for doc, score in zip(docs, scores, strict=True) if score == level]
        for level in sorted(set(scores), reverse=True)
    ]
    ways = product(*(permutations(group) for group in groups))
    return [[doc for group in way for doc in group] for way in ways]


def test_every_measure_with_an_expectation_is_enumerated() -> None:
    named = {cf.parse_measure(text).name for text in MEASURES}
    assert named == {name for name, kind in REGISTRY.items() if kind.info.expectation}
    assert len(named) >= 20


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize(
    "policies",
    [{}, {"depth": 1}, {"depth": 4}, {"unjudged": "condensed"}, {"negative": "unjudged"},
     {"max_grade": 3}],
    ids=str,
)  # fmt: skip
def test_ranges_are_those_of_all_orders(policies: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    run: dict[str, dict[str, float]] = {}
    qrels, orders = {}, {}
    for k, size in enumerate((3, 4, 5, 6, 7, 4, 5)):
        topic, docs = f"q{k}", [f"d{k}" for k in range(size)]
        scores = rng.integers(0, 3, size).tolist()
        grades = dict(zip([*docs, "x", "y"], rng.integers(-1, 4, size + 2).tolist(), strict=True))
        qrels[topic] = {doc: grade for doc, grade in grades.items() if rng.random() < 0.8}
        qrels[topic]["z"] = 1
        run[topic] = dict(zip(docs, map(float, scores), strict=True))
        orders[topic] = _orders(docs, scores)
    untied = {  # topics with fewer orders repeat them
        str(k): {
            topic: {doc: -rank for rank, doc in enumerate(some[k % len(some)])}
            for topic, some in orders.items()
        }
        for k in range(max(map(len, orders.values())))
    }
    every = cf.evaluate(untied, qrels, MEASURES, **policies)
    scores = cf.evaluate(run, qrels, MEASURES, **policies)
    by_topic = cf.tie_ranges(scores, by_topic=True).rows
    means = {row["measure"]: row for row in cf.tie_ranges(scores).rows.to_dicts()}
    exact = [name for name in MEASURES if not (policies.get("depth") and "judged_only" in name)]
    by_policy = cf.evaluate(run, qrels, exact, ties="expected", **policies)
    for name in MEASURES:
        rows = by_topic.filter(measure=name).select("lowest", "expected", "highest").to_numpy()
        if name not in exact:
            assert means[name]["lowest"] is means[name]["expected"] is None
            assert np.isnan(rows.astype(float)).all()
            continue
        known = [
            values[: len(orders[topic])]
            for topic, values in zip(every.topics, every[name].values, strict=True)
        ]
        expected = np.array([[one.min(), one.mean(), one.max()] for one in known])
        np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-12, err_msg=name)
        of_mean = [means[name][key] for key in ("lowest", "expected", "highest")]
        overall = expected.sum(axis=0) if "Num" in name else expected.mean(axis=0)
        np.testing.assert_allclose(of_mean, overall, rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_policy[name].values[:, 0], expected[:, 1], atol=1e-12)


def test_large_groups_by_closed_forms() -> None:
    """Of 1,000 tied documents 10 are relevant (McSherry and Najork 2008, by their formulas)."""
    n, relevant = 1000, 10
    run = {"q": {f"d{k}": 1.0 for k in range(n)}}
    qrels = {"q": {f"d{k}": 1 for k in range(relevant)}}
    found = cf.tie_ranges(cf.evaluate(run, qrels, ["P@20", "RR", "AP"])).rows["expected"].to_list()
    reciprocal, none_yet = 0.0, 1.0
    for rank in range(1, n + 1):
        left = n - rank + 1
        reciprocal += none_yet * min(relevant / left, 1.0) / rank
        none_yet *= max(1 - relevant / left, 0.0)
    average = sum(
        (1 + (rank - 1) * (relevant - 1) / (n - 1)) / rank / n for rank in range(1, n + 1)
    )
    np.testing.assert_allclose(found, [relevant / n, reciprocal, average], rtol=0, atol=1e-12)


def test_without_ties_all_scores_are_one() -> None:
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"x": 1.0, "y": 1.0}}}
    scores = cf.evaluate(runs, {"q": {"y": 2}}, MEASURES)
    rows = cf.tie_ranges(scores, by_topic=True).rows
    untied = rows.filter(system="a")
    for name in ("lowest", "expected", "highest"):
        assert untied[name].to_list() == untied["score"].to_list()
    assert (rows.filter(system="b")["lowest"] <= rows.filter(system="b")["score"]).all()


def test_expected_scores_are_compared_and_have_their_own_policy() -> None:
    """Two of three tied documents, by hand: RR is 1/3 (1 + 1/2 + 1/3), P@1 is 1/3."""
    runs = {"tied": {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, "sure": {"q": {"a": 2.0, "b": 1.0}}}
    scores = cf.evaluate(runs, {"q": {"b": 1}}, ["RR", "P@1"], ties="expected")
    np.testing.assert_allclose(scores["RR"].values, [[11 / 18, 1 / 2]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(scores["P@1"].values, [[1 / 3, 0]], rtol=0, atol=1e-15)
    assert scores["RR"].settings["ties"] == "expected"
    assert not any("ties can change" in note for note in scores.notes)
    rows = cf.tie_ranges(scores).rows
    assert rows["expected"].to_list() == rows["score"].to_list()
    assert rows.filter(system="tied", measure="RR")["highest"].to_list() == [1.0]


def test_expected_scores_keep_the_topics_of_their_policy() -> None:
    runs = {"a": {"q1": {"x": 1.0, "y": 1.0}}, "b": {"q1": {"x": 1.0}, "q2": {"x": 1.0}}}
    qrels = {"q1": {"y": 1}, "q2": {"x": 1}}
    scores = cf.evaluate(runs, qrels, "P@1", ties="expected", topics="intersection")["P@1"]
    np.testing.assert_array_equal(scores.values, [[0.5, 0.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ["Bpref", "RR"]}, "cannot be combined with Bpref; .*: P, R, .*SDCG"),
        ({"measures": "IA(P@1)"}, "cannot be combined with IA"),
        ({"measures": "RR(judged_only=True)", "depth": 2}, "unless condensed lists have a depth"),
        ({"measures": "RR", "shards": 2}, "with shards"),
    ],
)
def test_measures_without_an_exact_expectation_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(cf.PolicyError, match=message):
        cf.evaluate({"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1}}, ties="expected", **options)


def test_what_needs_an_order_refuses_expected_ties() -> None:
    runs = [{"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 1.0}}]
    needing_order: tuple[Any, ...] = (cf.fuse, cf.online.interleave_runs)
    for ordered in needing_order:
        with pytest.raises(cf.PolicyError, match="unknown ties 'expected'; expected one of: trec"):
            ordered({"a": runs[0], "b": runs[1]}, ties="expected")
    judged = cf.judge(runs[0], {"q": {"b": 1}}, ties="expected")
    with pytest.raises(cf.MeasureError, match="one order of tied documents"):
        cf.parse_measure("RR").score(judged)
    refuses("preferences between rankings", cf.compare_preferences, judged, error=cf.PolicyError)
    with pytest.raises(cf.PolicyError, match="pools of documents require one order"):
        cf.meta.leave_one_out(runs[0], {"q": {"b": 1}}, "RR", ties="expected")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 b 1\nq2 0 b 1\n")
    (tmp_path / "a.run").write_text(
        "q1 Q0 a 1 1 a\nq1 Q0 b 2 1 a\nq1 Q0 c 3 1 a\nq2 Q0 a 1 2 a\nq2 Q0 b 2 1 a\n"
    )
    arguments = ("evaluate", "qrels", "a.run", "-m", "RR", "-m", "Bpref", "--as", "tie-ranges")
    out, error = cranfield(tmp_path, *arguments, "--format", "csv")
    header, rr, bpref = out.splitlines()
    assert header == "system,measure,score,lowest,expected,highest,tied"
    assert [float(value) for value in rr.split(",")[3:6]] == pytest.approx([5 / 12, 5 / 9, 3 / 4])
    assert bpref.split(",")[3:6] == ["", "", ""]
    assert "note: Bpref" in error
    out, _ = cranfield(tmp_path, *arguments, "-q", "--format", "csv")
    assert out.splitlines()[0].startswith("topic,system,measure")
    expected = ("evaluate", "qrels", "a.run", "-m", "RR", "--ties", "expected", "--format", "csv")
    out, _ = cranfield(tmp_path, *expected)
    assert float(out.splitlines()[1].split(",")[-1]) == pytest.approx(5 / 9)
    for more, words in (
        (("--format", "trec"), "cannot be combined with --format trec"),
        (("--places", "2"), "--places cannot be combined"),
    ):
        _, error = cranfield(tmp_path, *arguments, *more, status=2)
        assert words in error
