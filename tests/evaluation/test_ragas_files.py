"""One CSV of ragas for each system."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.evaluation.scorefiles.reading import read_scores
from tests.cli.running import cranfield
from tests.collection.refusals import refuses, warns, written


@pytest.mark.parametrize("index", [False, True])
def test_systems_side_by_side(index: bool, tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    values = {name: draw.random(12).round(3) for name in ("pipe-a", "pipe-b")}
    values["pipe-b"][4] = np.nan
    for name, faithfulness in values.items():
        head = "user_input,retrieved_contexts,response,faithfulness,answer_relevancy"
        rows = [head if not index else f",{head}"]
        for k, value in enumerate(faithfulness):
            row = f"question {k}?,\"['a, b']\",text,{'' if np.isnan(value) else value},0.{k}"
            rows.append(f"{k},{row}" if index else row)
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    files = [tmp_path / f"{name}.csv" for name in values]
    scores = warns("they contain text", read_scores, files, measure="faithfulness")
    assert scores.systems == ("pipe-a", "pipe-b")
    order = [scores.topics.index(f"question {k}?") for k in range(12)]
    assert np.array_equal(scores.values[order], np.stack([*values.values()], 1), equal_nan=True)
    words = ("compare", *(word for name in values for word in ("--scores", f"{name}.csv")))
    words = (*words, "-m", "faithfulness", "--test", "t", "--format", "json")
    _, told = cranfield(tmp_path, *words, status=2)
    assert "'pipe-b' on topic 'question 4?' has no score" in told
    out, _ = cranfield(tmp_path, *words, "--missing", "drop")
    kept = [k for k in range(12) if k != 4]
    expected = (values["pipe-a"] - values["pipe-b"])[kept].mean()
    difference = re.search(r'"difference": (-?[\d.]+)', out)
    assert difference is not None
    assert float(difference[1]) == pytest.approx(expected, abs=1e-9)
    assert cf.compare(scores, missing="drop", test="t") is not None


def test_scores_of_one_system_beside_texts(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("query,response,passing,score\nwho?,Ann,True,0.5\nwhen?,May,False,1\n")
    scores = warns("columns not used: 'passing'", read_scores, path, measure="score")
    assert (scores.topics, scores.systems) == (("who?", "when?"), ("mine",))
    refuses(
        "expected one column of scores, got 'score' and 'passing'",
        read_scores,
        path,
        measure="passing",
    )
    path.write_text("query,setup,score\nwho?,x,0.5\nwho?,y,1\n")
    refuses("rename 'setup' to system", read_scores, path)
    path.write_text("query,pipeline,score\nwho?,x,0.5\nwho?,y,1\n")
    assert read_scores(path).systems == ("x", "y")


@pytest.mark.filterwarnings("ignore:.*they contain text")
def test_topics_and_systems_of_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "trulens.csv"
    lines = ["app_name,app_version,app_id,record_id,input,Groundedness"]
    lines += [
        f"rag,{version},{version}-id,r{k}{version},question {k}?,0.{k}"
        for version in ("base", "tuned")
        for k in (1, 2)
    ]
    scores = read_scores(written(path, "\n".join(lines) + "\n"), measure="Groundedness")
    assert (scores.topics, scores.systems) == (("question 1?", "question 2?"), ("base", "tuned"))
    path = tmp_path / "samples.jsonl"
    rows = [f'{{"doc_id": {k}, "filter": "{f}", "acc": 1}}\n' for f in "ab" for k in (0, 1)]
    path.write_text("".join(rows))
    refuses(r":3: expected one row for each topic, .*'0'", read_scores, path, measure="acc")


def test_rows_without_topics_are_paired_with_a_warning(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("faithfulness,relevance\n0.5,1\n1,0.5\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    reason = "a.csv, .*b.csv have no column of topics, so their rows are paired in order"
    assert warns(reason, read_scores, files, measure="faithfulness").topics == ("1", "2")
