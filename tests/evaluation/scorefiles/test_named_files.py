"""Score files with the names of their systems."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from tests.collection.refusals import refuses


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
    refuses(r"a.json: names its systems \('bm25", cf.read_scores, f"ours={tmp_path}/a.json")


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
