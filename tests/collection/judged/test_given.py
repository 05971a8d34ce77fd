"""Runs and judgments in each other's place: told where that is so, and no right call refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cranfield as cf

DEEP = {f"q{i}": {f"d{i + j}": 20 - j for j in range(20)} for i in range(4)}
FEW = {f"q{i}": {f"d{i + j}": int(j % 3 > 0) for j in range(8)} for i in range(4)}
ORDER = r"runs come first: cf\.evaluate\(runs, qrels, measures\)"


def test_what_is_read_already_is_taken_in_either_order() -> None:
    right = cf.evaluate(DEEP, FEW, "AP")["AP"].values.tolist()
    run, qrels = cf.read_run(DEEP), cf.read_qrels(FEW)
    for runs in (run, [run], {"x": run}, cf.read_runs(run), DEEP):
        assert cf.evaluate(qrels, runs, "AP")["AP"].values.tolist() == right
    assert cf.evaluate(FEW, run, "AP")["AP"].values.tolist() == right
    assert cf.judge(qrels, run).systems == ("run",)
    with pytest.raises(cf.InputError, match="both are judgments; runs come first"):
        cf.evaluate(qrels, qrels, "AP")
    with pytest.raises(cf.InputError, match="both are runs; runs come first"):
        cf.evaluate(run, run, "AP")


def test_whole_scores_as_judgments_are_refused() -> None:
    with pytest.raises(cf.InputError, match=ORDER):
        cf.evaluate(FEW, DEEP, "AP")
    with pytest.raises(cf.InputError, match=ORDER):
        cf.evaluate(FEW, DEEP, "AP", shards=2)
    # Who means it can say so.
    cf.evaluate(FEW, cf.read_qrels(DEEP), "AP")


def test_what_may_be_either_is_warned_of() -> None:
    toy, judged = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": 0, "c": 1}}
    with pytest.warns(cf.CranfieldWarning, match=ORDER):
        cf.evaluate(judged, toy, "AP")


def test_other_kinds_in_each_others_place(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("1 0 a 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 0.5 x\n")
    judged = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
    scored = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [0.5]})
    pairs: list[tuple[Any, Any]] = [
        (tmp_path / "q.txt", tmp_path / "a.run"),
        (str(tmp_path / "q.txt"), str(tmp_path / "*.run")),
        (judged, scored),
        (judged.to_dict("records"), scored.to_dict("records")),
        ({"1": {"a": 1}}, {"1": {"a": 0.5}}),
        ({"1": {"a": 1}}, {"x": {"1": {"a": 0.5}}, "y": {"1": {"a": 0.5}}}),
        ({"1": {"a": 1}}, tmp_path / "a.run"),
    ]
    for qrels, runs in pairs:
        with pytest.raises(cf.InputError, match=ORDER):
            cf.evaluate(qrels, runs, "AP")
        assert cf.evaluate(runs, qrels, "AP")["AP"].values.max() == 1.0


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 a 1 x x\n")
    for runs, qrels in [
        (tmp_path / "a.run", {"1": {"a": 1}}),
        ({"1": {"a": 1.5}}, {"1": {"a": 0.5}}),
        (tmp_path / "no.run", {"1": {"a": 1}}),
        ({"1": {"a": 2.0}}, {"2": {"a": 1}}),
    ]:
        with pytest.raises(cf.InputError) as caught:
            cf.evaluate(runs, qrels, "AP")
        assert "come first" not in str(caught.value)


def _judgments(kind: str, size: int, draw: np.random.Generator) -> list[int]:
    grades = {
        "binary": draw.integers(0, 2, size),
        "graded": draw.integers(0, 5, size),
        "percent": draw.integers(0, 21, size) * 5,
        "relevant": np.ones(size, int),
        "order": draw.permutation(size)[:8] + 1,
    }
    return [int(grade) for grade in grades[kind]]


def _scores(kind: str, size: int, draw: np.random.Generator) -> list[float]:
    scores = {
        "falling": np.arange(size, 0, -1),
        "negative": -np.arange(size),
        "counts": draw.poisson(3, size),
        "found": np.ones(size, int),
        "levels": draw.integers(1, 5, size),
        "real": draw.random(size),
    }
    return scores[kind].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("grades", ["binary", "graded", "percent", "relevant", "order"])
@pytest.mark.parametrize("scores", ["falling", "negative", "counts", "found", "levels", "real"])
def test_no_right_call_is_refused(grades: str, scores: str) -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        depth, pool = draw.integers(1, 60, 2)
        topics = range(int(draw.integers(1, 8)))
        qrels = {
            f"q{t}": dict(
                zip(map(str, draw.permutation(60)), _judgments(grades, pool, draw), strict=False)
            )
            for t in topics
        }
        run = {
            f"q{t}": dict(
                zip(map(str, draw.permutation(60)), _scores(scores, depth, draw), strict=False)
            )
            for t in topics
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cf.judge(run, qrels)


def test_measures_and_runs_without_names_are_told_how_to_write() -> None:
    with pytest.raises(cf.PolicyError, match=r"cf\.evaluate\(runs, qrels, \['AP', 'nDCG@10'\]\)"):
        cf.evaluate(DEEP, FEW, "AP", "nDCG@10")
    frame = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [0.5]})
    with pytest.raises(cf.InputError, match=r"as in \{'bm25': one, 'dense': other\}"):
        cf.evaluate([frame, frame], {"1": {"a": 1}}, "AP")
    both = cf.evaluate({"bm25": frame, "dense": frame}, {"1": {"a": 1}}, "AP")
    assert both.systems == ("bm25", "dense")
