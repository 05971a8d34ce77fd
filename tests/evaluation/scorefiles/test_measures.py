"""Which measure: one that is named otherwise, several of them, and several files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from cranfield.evaluation.scorefiles import read_scores_by_measure
from tests.collection.refusals import refuses, written

LINES = "map\t1\t.5\nP_10\t1\t.2\nndcg_cut_10\t1\t.4\n"


@pytest.mark.parametrize(
    ("asked", "value"), [("AP", 0.5), ("MAP", 0.5), ("P@10", 0.2), ("nDCG@10", 0.4), ("Map", 0.5)]
)
def test_other_names_of_a_measure(asked: str, value: float, tmp_path: Path) -> None:
    scores = cf.read_scores(written(tmp_path / "a.eval", LINES), measure=asked)
    assert (scores.measure, scores.values.tolist()) == (asked, [[value]])


def test_names_of_trec_eval_find_ours(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("measure,topic,system,score\nAP,1,a,.5\nnDCG@10,1,a,1\n")
    assert cf.read_scores(tmp_path / "s.csv", measure="map").values.tolist() == [[0.5]]
    assert cf.read_scores(tmp_path / "s.csv", measure="ndcg_cut_10").values.tolist() == [[1]]
    refuses("unknown measure 'P_10'; expected", cf.read_scores, tmp_path / "s.csv", measure="P_10")
    (tmp_path / "s.csv").write_text("measure,topic,system,score\nmap,1,a,.5\nMAP,1,a,1\n")
    assert cf.read_scores(tmp_path / "s.csv", measure="map").values.tolist() == [[0.5]]
    refuses("'AP' occurs under several names", cf.read_scores, tmp_path / "s.csv", measure="AP")


def test_several_measures_of_scores_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    assert cf.read_scores(written(path, "topic,a,b\n1,.5,1\n"), measure="AP").measure == "AP"
    refuses(
        r"s\.csv: expected names of the measures AP, RR", read_scores_by_measure, path, ["AP", "RR"]
    )
    [(name, scores)] = read_scores_by_measure(path, ["AP"]).items()
    assert (name, scores.measure) == ("AP", "AP")
    assert list(read_scores_by_measure(path)) == [""]
    found = read_scores_by_measure(written(tmp_path / "a.eval", LINES), ["AP", "P_10"])
    assert {name: one.values.tolist() for name, one in found.items()} == {
        "AP": [[0.5]],
        "P_10": [[0.2]],
    }
    assert list(read_scores_by_measure(tmp_path / "a.eval")) == ["map", "P_10", "ndcg_cut_10"]


def test_files_of_different_measures(tmp_path: Path) -> None:
    a, b, c = tmp_path / "a.eval", tmp_path / "b.eval", tmp_path / "c.csv"
    a.write_text("map\t1\t.5\n")
    b.write_text("P_5\t1\t.2\n")
    refuses(r"b\.eval: expected scores of map, as in .*a\.eval, got P_5", cf.read_scores, [a, b])
    refuses(r"b\.eval: unknown measure 'map'; expected one", cf.read_scores, [a, b], measure="map")
    b.write_text("1\tAP\t.25\n")
    assert cf.read_scores([a, b]).values.tolist() == [[0.5, 0.25]]
    c.write_text("topic,c\n1,1\n")
    for files in ([a, c], [c, a]):
        refuses(r"c\.csv.* name its measure; pass measure='map'", cf.read_scores, files)
    assert cf.read_scores([a, c], measure="AP").systems == ("a", "c")


def test_scores_beside_files(tmp_path: Path) -> None:
    ours = cf.Scores(np.array([[0.5]]), ("1",), ("x",), "AP")
    (tmp_path / "b.eval").write_text("map\t1\t.25\n")
    assert cf.read_scores([ours, tmp_path / "b.eval"]).values.tolist() == [[0.5, 0.25]]
    assert cf.read_scores(ours, measure="map") is ours
    refuses("unknown measure 'RR'; expected one of: AP", cf.read_scores, ours, measure="RR")
    assert (
        cf.read_scores(cf.Scores(np.array([[0.5]]), ("1",), ("x",)), measure="RR").measure == "RR"
    )


def test_files_by_shard(tmp_path: Path) -> None:
    text = "topic,system,shard,score\n1,{0},x,.5\n1,{0},y,.25\n"
    a, b, c = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"
    a.write_text(text.format("a"))
    # The shards are in another order here.
    b.write_text("topic,system,shard,score\n1,b,y,0\n1,b,x,1\n")
    scores = cf.read_scores([a, b])
    assert scores.values.tolist() == [[[0.5, 0.25], [1, 0]]]
    c.write_text("topic,c\n1,1\n")
    refuses(r"a\.csv: expected scores without shards, as in .*c\.csv", cf.read_scores, [c, a])


def test_systems_and_topics_that_lack_the_measure(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "measure,topic,system,score\nAP,1,a,.5\nRR,1,a,1\nRR,1,b,1\nRR,2,b,1\n"
    )
    scores = cf.read_scores(tmp_path / "s.csv", measure="AP")
    assert (scores.topics, scores.systems) == (("1",), ("a", "b"))
    assert str(scores.values.tolist()) == "[[0.5, nan]]"


@pytest.mark.filterwarnings(f"ignore::{CranfieldWarning.__module__}.CranfieldWarning")
def test_one_ragas_file_per_system(tmp_path: Path) -> None:
    """Means by hand: (1 + 0.5) / 2 and (0.5 + 0.25) / 2."""
    head = "user_input,retrieved_contexts,response,reference,faithfulness\n"
    for name, first, second in (("run1", 1.0, 0.5), ("run2", 0.5, 0.25)):
        rows = [f"what is {q}?,['c'],r,g,{value}\n" for q, value in (("x", first), ("y", second))]
        (tmp_path / f"{name}.csv").write_text(head + "".join(rows))
    files = [f"ours={tmp_path}/run1.csv", f"theirs={tmp_path}/run2.csv"]
    scores = cf.read_scores(files, measure="faithfulness")
    assert scores.systems == ("ours", "theirs")
    assert scores.mean().tolist() == [0.75, 0.375]


def test_a_name_for_a_file_with_systems(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"bm25": {"AP": {"q1": 0.5}}, "dense": {"AP": {"q1": 1}}}')
    refuses(r"a.json: expected one system .*, got 'bm25", cf.read_scores, f"ours={tmp_path}/a.json")


def test_names_of_files_with_the_same_run_tag(tmp_path: Path) -> None:
    """Files of trec_eval -q contain the run tag, which Anserini gives to all runs."""
    for name, value in (("a", 0.25), ("b", 0.75)):
        lines = f"runid\tall\tAnserini\nmap\tq1\t{value}\nmap\tall\t{value}\n"
        (tmp_path / f"{name}.txt").write_text(lines)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    refuses("duplicate system 'Anserini', also in .*NAME=FILE", cf.read_scores, files)
    scores = cf.read_scores([f"{path.stem}={path}" for path in files])
    assert scores.systems == ("a", "b")
    assert scores.values.tolist() == [[0.25, 0.75]]
