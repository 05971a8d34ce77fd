"""One CSV of ragas for each system."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from cranfield.evaluation.scorefiles.reading import read_scores
from tests.cli.running import cranfield


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
    with pytest.warns(CranfieldWarning, match="they contain text"):
        scores = read_scores(files, measure="faithfulness")
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
