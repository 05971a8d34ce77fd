"""Columns and keys that are measures are never taken for systems, in any form of score file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.evaluation.scorefiles import read_scores_by_measure
from tests.collection.refusals import refuses

Cells = dict[str, dict[str, float]]
Write = Callable[[Cells, Path], Any]

MEASURES = [
    "ndcg@10,mrr@10,accuracy@10",
    "ndcg@10,hits@10,map",
    "nDCG,RR,len",
    "map,p@10,ndcg@10",
    "ap,rr,ndcg@10",
    "AP,P@10,latency_ms",
    "hit5,mrr10,latency",
    "precision,recall,faithfulness",
    "faithfulness,answer_relevancy",
    "hit_rate,mrr,ap",
    "ndcg@10,ndcg@100,p_mrr",
    "NDCG@10,Recall@100,Hole@10",
    "rouge1,rougeL,bleu",
    "recall@5,n",
    "cost,map@100",
    "strict_vital_score,vital_score,all_score",
    "precision_at_3/score,ndcg_at_3/score",
    "relevance/v1/score,faithfulness/v1/score",
    "contextual_precision,contextual_recall",
    "bert_score_f1,bert_score_precision",
    "eval/ndcg,eval/mrr",
    "metrics.ndcg_at_10,metrics.map_at_10",
    "ndcg_mean,mrr_full",
    "precisionAt5,recallAt5",
    "recall 5,recall 10",
    "average precision,reciprocal rank",
    "coherence/score,style/score",
    "outputs.style.style,outputs.tone.tone",
    "feedback.tone,feedback.style",
    "style.style,tone.tone",
    "scores.Factuality,scores.Helpfulness",
]
SYSTEMS = [
    "bm25,dense",
    "bm25_recall,dense_recall",
    "ms-marco-MiniLM,hybrid_full",
    "bm25_pass1,bm25_pass2,dense_pass1,dense_pass2",
    "bm25_ndcg,dense_ndcg,hybrid_ndcg",
    "A,B",
    "p,q",
    "a,ap",
    "run_1,run_2,run_10",
    "bm25-rm3,monoT5,rrf",
    "set1,set2",
    "scores.bm25,scores.dense",
    "bm25.base,bm25.large,dense.base",
    "bm25_score,dense_score",
    "what time is it,cost of living",
]
UNCERTAIN = ["bm25,dense,map", "bm25,dense,latency_ms", "bm25@100,bm25@1000", "n,dense,splade"]

MEASURES_OF_SYSTEMS = [
    "bm25_ndcg,dense_ndcg,bm25_mrr,dense_mrr",
    "ndcg_bm25,ndcg_dense,mrr_bm25,mrr_dense",
    "A_faithfulness,B_faithfulness,A_relevancy,B_relevancy",
    "bm25 nDCG@10,dense nDCG@10,bm25 RR,dense RR",
    "nDCG@10 (bm25),nDCG@10 (dense),RR (bm25),RR (dense)",
    "bm25_p@5,dense_p@5,bm25_latency,dense_latency",
    "bm25_ap,dense_ap,bm25_rr",
]

TOPICS = ("q1", "q2")


def get_cells(names: str) -> Cells:
    columns = names.split(",")
    return {t: {c: (i + k + 1) / 10 for k, c in enumerate(columns)} for i, t in enumerate(TOPICS)}


def written(path: Path, write: Callable[[Path], Any]) -> Path:
    write(path)
    return path


def records(cells: Cells) -> list[dict[str, Any]]:
    return [{"qid": topic, **values} for topic, values in cells.items()]


def as_csv(cells: Cells, folder: Path) -> Path:
    frame = pd.DataFrame(cells).T
    return written(folder / "sys.csv", lambda path: frame.to_csv(path, index_label="query_id"))


def as_tsv_without_a_name(cells: Cells, folder: Path) -> Path:
    frame = pd.DataFrame(cells).T
    return written(folder / "sys.tsv", lambda path: frame.to_csv(path, sep="\t"))


def as_dict(cells: Cells, _: Path) -> Cells:
    return cells


TABLES: list[Write] = [
    as_csv,
    as_tsv_without_a_name,
    lambda cells, folder: written(folder / "sys.parquet", pd.DataFrame(cells).T.to_parquet),
    lambda cells, folder: written(
        folder / "sys.jsonl",
        lambda path: path.write_text("\n".join(map(json.dumps, records(cells)))),
    ),
    lambda cells, _: pl.DataFrame(records(cells)),
    lambda cells, _: pd.DataFrame(cells).T,
]
OF_TOPICS: list[Write] = [
    *TABLES,
    lambda cells, folder: written(
        folder / "sys.json", lambda path: path.write_text(json.dumps(cells))
    ),
    as_dict,
]


def crossed(names: list[str], forms: list[Write]) -> list[tuple[str, Write]]:
    """All names as CSV and as a dict, and two of them in all forms."""
    some = {as_csv, as_dict}
    return [(name, form) for name in names for form in forms if form in some or name in names[:2]]


@pytest.mark.parametrize(("names", "write"), crossed(MEASURES, OF_TOPICS))
def test_measures_of_one_system(names: str, write: Write, tmp_path: Path) -> None:
    cells = get_cells(names)
    data, columns = write(cells, tmp_path), names.split(",")
    refuses("scores of one measure, got", cf.read_scores, data)
    for name in columns:
        scores = cf.read_scores(data, measure=name)
        assert (scores.topics, len(scores.systems)) == (TOPICS, 1)
        assert scores.values[:, 0].tolist() == [cells[t][name] for t in TOPICS]
    assert list(read_scores_by_measure(data)) == columns


@pytest.mark.parametrize(("names", "write"), crossed(SYSTEMS, TABLES))
def test_systems(names: str, write: Write, tmp_path: Path) -> None:
    scores = cf.read_scores(write(get_cells(names), tmp_path), measure="nDCG@20")
    assert (scores.measure, scores.systems) == ("nDCG@20", tuple(names.split(",")))
    assert cf.read_scores(write(get_cells(names), tmp_path)).systems == scores.systems


@pytest.mark.parametrize(("names", "write"), crossed(UNCERTAIN, OF_TOPICS))
def test_what_could_be_either_is_refused(names: str, write: Write, tmp_path: Path) -> None:
    data, columns = write(get_cells(names), tmp_path), names.split(",")
    with pytest.raises(InputError, match="of systems or of measures") as caught:
        cf.read_scores(data)
    # Both ways of the message can be followed.
    name = str(caught.value).split(" pass measure='")[1].split("'")[0]
    assert len(cf.read_scores(data, measure=name).systems) == 1
    rows = [(t, c, v) for t, values in get_cells(names).items() for c, v in values.items()]
    long = pl.DataFrame(rows, schema=["topic", "system", "score"], orient="row")
    assert set(cf.read_scores(long).systems) == set(columns)
    if write in TABLES and "@" in names:
        assert cf.read_scores(data, measure="AP").systems == tuple(columns)


@pytest.mark.parametrize(("names", "write"), crossed(MEASURES_OF_SYSTEMS, OF_TOPICS))
def test_measures_of_systems_are_refused(names: str, write: Write, tmp_path: Path) -> None:
    data = write(get_cells(names), tmp_path)
    for measure in (None, "nDCG@10"):
        refuses("got both in one name", cf.read_scores, data, measure=measure)


def test_a_requested_column_is_a_measure(tmp_path: Path) -> None:
    """An unknown name, asked for, is the measure of a column, not the name of all."""
    for name in ("my_score", "bm25"):
        data = as_csv(get_cells(f"{name},other"), tmp_path)
        assert cf.read_scores(data, measure=name).values.tolist() == [[0.1], [0.2]]
    found = read_scores_by_measure(as_csv(get_cells("x,mine,y"), tmp_path), ["mine"])
    assert found["mine"].values.tolist() == [[0.2], [0.3]]


def test_systems_by_measure_and_topic() -> None:
    """The form of ranx, and the documented one, whose measures are partly unknown."""
    ranx = {"a": {"map": {"q1": 0.5, "q2": 1.0}, "hits@5": {"q1": 2, "q2": 3}}}
    ranx["b"] = {"map": {"q2": 0.25, "q1": 0.0}, "hits@5": {"q1": 1, "q2": 0}}
    assert cf.read_scores(ranx, measure="map").values.tolist() == [[0.5, 0], [1, 0.25]]
    assert cf.read_scores(ranx, measure="hits@5").values.tolist() == [[2, 1], [3, 0]]
    ours = {"a": {"map": {"mine": 0.5, "AP": 1}}}
    assert cf.read_scores(ours, measure="AP").topics == ("map",)
    refuses("topic: score. for measure 'AP", cf.read_scores, {"a": {"map": {"q1": 1}, "AP": 3}})


def test_measures_in_rows_and_as_outer_keys(tmp_path: Path) -> None:
    cells = get_cells("ndcg@10,accuracy@10")
    refuses("a row for each topic, got rows of measures", cf.read_scores, pd.DataFrame(cells))
    by_measure = pd.DataFrame(cells).T.to_dict()
    (tmp_path / "m.json").write_text(json.dumps(by_measure))
    for data in (by_measure, tmp_path / "m.json", {"AP": [0.5, 1], "RR": [1, 1]}):
        refuses("systems or topics as keys, got measures", cf.read_scores, data)


def test_columns_of_text_are_no_systems(tmp_path: Path) -> None:
    text = "user_input,response,{}\nwhy?,because,.5,1\nhow?,so,,.25\n"
    (tmp_path / "a.csv").write_text(text.format("faithfulness,answer_relevancy"))
    (tmp_path / "b.csv").write_text(text.format("faithfulness,answer_relevancy"))
    with pytest.warns(CranfieldWarning, match="columns not used: 'response'"):
        scores = cf.read_scores([tmp_path / "a.csv", tmp_path / "b.csv"], measure="faithfulness")
    assert (scores.topics, scores.systems) == (("why?", "how?"), ("a", "b"))
    (tmp_path / "c.csv").write_text(text.format("bm25,dense"))
    with pytest.warns(CranfieldWarning, match="columns not used: 'response'"):
        assert cf.read_scores(tmp_path / "c.csv").systems == ("bm25", "dense")
    long = "topic,system,AP,note\n1,a,.5,good\n1,b,.25,bad\n"
    (tmp_path / "l.csv").write_text(long)
    with pytest.warns(CranfieldWarning, match="columns not used: 'note'"):
        assert list(read_scores_by_measure(tmp_path / "l.csv")) == ["AP"]
    # Numbers among the text: a broken column of scores.
    (tmp_path / "c.csv").write_text("topic,a,b\nq1,1,.5\nq2,1,oops\n")
    refuses(r"c\.csv:3: score 'oops' is not a finite number", cf.read_scores, tmp_path / "c.csv")
