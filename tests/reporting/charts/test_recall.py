"""Curves of precision by recall, against the paper's example and trec_eval."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

import cranfield as cf
from cranfield.reporting.charts import precision_recall
from tests.reporting.charts.drawn import HOSTILE, domain_of, rows_with, spec_of

LEVELS = [k / 10 for k in range(11)]


def ranked(relevant: list[int], depth: int, label: str = "r") -> dict[str, float]:
    """Return a ranking with the first relevant documents at these ranks."""
    names = {rank: f"{label}{k}" for k, rank in enumerate(relevant)}
    return {names.get(rank, f"n{rank}"): -float(rank) for rank in range(1, depth + 1)}


def figure_8() -> cf.Evaluation:
    """The first run of figure 8, as section 3.2 describes it: RB = 5.

    P is 2/3 where R becomes 0.4, at rank 3; rank 4 has the same recall; P = R = 0.6 at rank 5; and
    there is a precision at R = 0.
    """
    qrels = {"1": {f"r{k}": 1 for k in range(5)}, "2": {"x": 0}}
    return cf.evaluate({"one": {"1": ranked([2, 3, 5], 6)}}, qrels, "AP", topics="qrels")


def test_the_example_of_the_paper() -> None:
    chart = precision_recall(figure_8(), topic="1")
    spec = spec_of(chart)
    tables = list(spec["datasets"].values())
    [curve] = [rows for rows in tables if set(rows[0]) == {"system", "recall", "precision"}]
    assert [row["precision"] for row in curve] == pytest.approx([2 / 3] * 5 + [0.6] * 2 + [0] * 4)
    [path] = [rows for rows in tables if "step" in rows[0]]
    corners = [(row["recall"], row["precision"]) for row in path]
    wanted = [(0, 0), (1, 1 / 2), (1, 1 / 2), (2, 2 / 3), (2, 2 / 4), (3, 3 / 5), (3, 3 / 6)]
    np.testing.assert_allclose(corners, [(found / 5, precision) for found, precision in wanted])
    hits = rows_with(chart, "rank")
    assert [row["rank"] for row in hits] == [2, 3, 5]
    assert [row["precision"] for row in hits] == pytest.approx([1 / 2, 2 / 3, 3 / 5])


def random_evaluation(
    systems: int, seed: int = 0
) -> tuple[cf.Evaluation, dict[str, dict[str, float]]]:
    """Return runs of random scores, and trec_eval's means of interpolated precision."""
    rng = np.random.default_rng(seed)
    docs = [f"d{k}" for k in range(40)]
    topics = [str(k) for k in range(6)]
    qrels = {t: {d: int(rng.random() < 0.3) for d in docs} for t in topics}
    runs = {
        f"s{k}": {
            t: {d: float(rng.random() + 0.1 * k * qrels[t][d]) for d in docs[:30]} for t in topics
        }
        for k in range(systems)
    }
    theirs = {}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"})
    for name, run in runs.items():
        by_topic = list(evaluator.evaluate(run).values())
        theirs[name] = {key: float(np.mean([one[key] for one in by_topic])) for key in by_topic[0]}
    return cf.evaluate(runs, qrels, "AP"), theirs


def test_means_are_those_of_trec_eval() -> None:
    ev, theirs = random_evaluation(3)
    chart = precision_recall(ev.judged, rounding="trec_eval-9")
    rows = rows_with(chart, "recall", "precision")
    assert len(rows) == 3 * 11
    for row in rows:
        wanted = theirs[row["system"]][f"iprec_at_recall_{row['recall']:.2f}"]
        assert row["precision"] == pytest.approx(wanted, abs=1e-12)


def test_best_in_colour_and_others_in_grey() -> None:
    ev, theirs = random_evaluation(9)
    spec = spec_of(precision_recall(ev, rounding="trec_eval-9"))
    assert spec["layer"][0]["mark"]["color"] == "#CCCCCC"
    order = sorted(theirs, key=lambda name: -sum(theirs[name].values()))
    assert spec["layer"][-1]["encoding"]["color"]["scale"]["domain"] == order[:7]
    assert sum(len(rows) for rows in spec["datasets"].values()) == 9 * 11
    assert spec["title"]["subtitle"] == ["In colour: the best 7 of 9 systems by mean precision."]
    asked = precision_recall(ev, systems=[f"s{k}" for k in range(9)])
    assert len(domain_of(asked, "color")) == 9


def test_levels_of_ones_own() -> None:
    ev, _ = random_evaluation(2)
    rows = rows_with(precision_recall(ev, levels=[1, 0.25, 0.25], systems=["s1"]), "recall")
    assert [row["recall"] for row in rows] == [0.25, 1.0]
    wanted = cf.score(ev.judged, ["IPrec@0.25", "IPrec@1.0"])
    for row, scores in zip(rows, wanted.values(), strict=True):
        assert row["precision"] == pytest.approx(scores.mean()[1])


def test_hostile_tags() -> None:
    run = {"1": {"a": 1.0}, "</script>": {"b": 1.0}}
    names = [name for name in HOSTILE if name]
    ev = cf.evaluate(dict.fromkeys(names, run), {"1": {"a": 1}, "</script>": {"b": 1}}, "AP")
    spec = spec_of(precision_recall(ev, systems=names, topic="</script>"))
    assert len(set(spec["layer"][-1]["encoding"]["color"]["scale"]["domain"])) == len(names)
    assert spec["title"]["text"] == "Precision and recall for topic </script>"


def test_systems_without_the_topic() -> None:
    runs = {"a": {"1": {"x": 1.0}}, "b": {"2": {"x": 1.0}}}
    ev = cf.evaluate(runs, {"1": {"x": 1}, "2": {"x": 1}}, "AP", topics="intersection")
    spec = spec_of(precision_recall(ev, topic="1"))
    assert "Excluded: 1 system without a score." in spec["title"]["subtitle"]
    with pytest.raises(cf.CranfieldError, match="system 'b' has no score for topic '1'"):
        precision_recall(ev, topic="1", systems=["a", "b"])
