"""Runs and judgments in each other's place: told where that is so, and no right call refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.collection.judged import judging
from tests.cli.running import cranfield
from tests.collection.refusals import refuses, written

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
    refuses("got judgments twice; runs come first", cf.evaluate, qrels, qrels, "AP")
    refuses("got runs twice; runs come first", cf.evaluate, run, run, "AP")


@pytest.mark.filterwarnings("error")
def test_what_can_be_read_is_not_read_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*given: Any, **options: Any) -> bool:
        raise AssertionError("read as the other kind")

    monkeypatch.setattr(judging, "can_be_read", refuse)
    cf.judge({"1": {"a": 0.0, "b": 0.0, "c": 0.0}}, {"1": {"a": 0, "b": 1, "c": -1}})
    cf.evaluate({"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 3, "b": 2, "c": 1}}, "AP")
    cf.evaluate(DEEP, FEW, "AP", shards=2)
    cf.evaluate(FEW, DEEP, "AP", shards=2)
    (tmp_path / "q.csv").write_text("topic,doc,score\n1,a,1\n")
    cf.evaluate(written(tmp_path / "a.run", "1 Q0 a 1 0.5 x\n"), tmp_path / "q.csv", "AP")
    refuses("no topic of the runs is judged", cf.judge, {"1": {"a": 2.0}}, {"2": {"a": 1}})


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
        (tmp_path / "q.txt", {"1": {"a": 2}}),
        (judged, [{"1": {"a": 2.0}}]),
    ]
    for qrels, runs in pairs:
        refuses(ORDER, cf.evaluate, qrels, runs, "AP")
        assert cf.evaluate(runs, qrels, "AP")["AP"].values.max() == 1.0


@pytest.mark.parametrize("path", ["-", "irds:vaswani", "https://example.org/a.run"])
def test_what_is_not_here_is_not_read_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(judging, "read_runs", refuse)
    monkeypatch.setattr(judging, "read_qrels", refuse)
    assert not judging.can_be_read(path, "run")
    assert not judging.can_be_read(path, "qrels")


PAIRS = {"topic": ["1"] * 20, "doc": [f"d{n}" for n in range(20)]}
JUDGED = pl.DataFrame({**PAIRS, "grade": [1] * 20})
SCORED = pl.DataFrame({**PAIRS, "score": [20.5 - n for n in range(20)]})


def write(frame: pl.DataFrame, form: str, path: Path) -> Path:
    values = frame.columns[-1]
    if form == "csv":
        frame.write_csv(path)
    elif form == "parquet":
        frame.write_parquet(path)
    elif form == "json":
        path.write_text(json.dumps({"1": dict(frame.select("doc", values).rows())}))
    else:
        line = "{} 0 {} {}\n" if values == "grade" else "{} Q0 {} 1 {} x\n"
        path.write_text("".join(line.format(*row) for row in frame.rows()))
    return path


FORMS = ["txt", "csv", "parquet", "json"]


@pytest.mark.parametrize(
    ("of_qrels", "of_run"), [(FORMS[k], FORMS[k - shift]) for k in range(4) for shift in (0, 1)]
)
def test_files_in_each_others_place(of_qrels: str, of_run: str, tmp_path: Path) -> None:
    qrels = write(JUDGED, of_qrels, tmp_path / f"qrels.{of_qrels}")
    run = write(SCORED, of_run, tmp_path / f"run.{of_run}")
    refuses(f"can be read as a run, but {ORDER}", cf.evaluate, qrels, run, "AP")
    if of_run != of_qrels:
        return
    _, err = cranfield(tmp_path, "evaluate", run.name, qrels.name, "-m", "AP", status=2)
    assert err.count("\n") == 1
    assert f"'{run.name}' can be read as a run, but QRELS comes first: QRELS RUN...\n" in err
    # Several runs before the judgments, or no judgments.
    for last in (qrels, run):
        _, err = cranfield(tmp_path, "evaluate", *[run.name] * 2, last.name, "-m", "AP", status=2)
        assert "QRELS comes first" in err


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_whole_scores_fail_where_the_runs_are_read(form: str, tmp_path: Path) -> None:
    qrels = write(JUDGED, form, tmp_path / f"qrels.{form}")
    whole = SCORED.with_columns(pl.col("score").cast(int))
    run = write(whole, form, tmp_path / f"run.{form}")
    cf.read_qrels(run)
    refuses(f"has no score column.*{ORDER}", cf.evaluate, qrels, run, "AP")
    refuses(f"has no score column.*{ORDER}", cf.evaluate, JUDGED, whole, "AP", shards=2)
    _, err = cranfield(tmp_path, "evaluate", run.name, qrels.name, "-m", "AP", status=2)
    assert "QRELS comes first" in err


def test_they_are_read_with_the_same_options(tmp_path: Path) -> None:
    judged, scored = (frame.rename({"doc": "page"}) for frame in (JUDGED, SCORED))
    columns = {"doc": "page"}
    cf.evaluate(scored, judged, "AP", columns=columns)
    refuses(ORDER, cf.evaluate, judged, scored, "AP", columns=columns)
    refuses(ORDER, cf.evaluate, judged, scored, "AP", columns=columns, shards=2)
    judged.write_csv(tmp_path / "qrels")
    (tmp_path / "run").write_bytes("topic,page,score\n1,ä,0.5\n".encode("latin-1"))
    options = ("--encoding", "latin-1", "--input-format", "csv", "--columns", "doc=page")
    _, err = cranfield(tmp_path, "evaluate", "run", "qrels", "-m", "AP", *options, status=2)
    assert "'run' can be read as a run, but QRELS comes first" in err


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 a 1 x x\n")
    (tmp_path / "either.json").write_text('{"1": {"a": 1}}')
    for runs, qrels in [
        (tmp_path / "no.run", tmp_path / "either.json"),
        ({"1": {"a": 1.5}}, []),
        ({"1": {"a": 1.5}}, iter([])),
        ([], {"1": {"a": 1}}),
        (tmp_path / "a.run", {"1": {"a": 1}}),
        ({"1": {"a": 1.5}}, {"1": {"a": 0.5}}),
        (tmp_path / "no.run", {"1": {"a": 1}}),
        ({"1": {"a": 2.0}}, {"2": {"a": 1}}),
    ]:
        with pytest.raises(cf.InputError) as caught:
            cf.evaluate(runs, qrels, "AP")
        assert "come first" not in str(caught.value)
    (tmp_path / "other.json").write_text('{"2": {"a": 1}}')
    _, err = cranfield(tmp_path, "evaluate", "either.json", "other.json", "-m", "AP", status=2)
    assert "no topic of the runs is judged" in err
    assert "comes first" not in err


def test_measures_and_runs_without_names_are_told_how_to_write() -> None:
    with pytest.raises(cf.PolicyError, match=r"cf\.evaluate\(runs, qrels, \['AP', 'nDCG@10'\]\)"):
        cf.evaluate(DEEP, FEW, "AP", "nDCG@10")
    frame = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [0.5]})
    refuses(r"as in \{'bm25': first, 'dense", cf.evaluate, [frame, frame], {"1": {"a": 1}}, "AP")
    both = cf.evaluate({"bm25": frame, "dense": frame}, {"1": {"a": 1}}, "AP")
    assert both.systems == ("bm25", "dense")
