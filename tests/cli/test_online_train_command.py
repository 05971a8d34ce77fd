"""`cranfield online train`: what it reads, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf
from tests.cli.running import cranfield, refusals, refused

LOG = "page,query,rank,doc,clicks,grade\n" + "".join(
    f"p{k},q{k % 3},{rank},d{(k + rank) % 5},{int((k * rank) % 4 == 1)},{(k + rank) % 2}\n"
    for k in range(40)
    for rank in range(1, 5)
)
QRELS = "".join(f"q{q} 0 d{d} {(q + d) % 2}\n" for q in range(3) for d in range(5))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "test.csv").write_text(LOG.replace("d4", "e"))
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def test_a_model_is_trained_tried_and_written(folder: Path) -> None:
    command = "online train log.csv --model DBN --held-out test.csv -o model.json"
    out, _ = cranfield(folder, *command.split())
    assert "DBN written to model.json" in out
    assert "evaluated on QueryLog(40 pages" in out
    model = cf.online.ClickModel.load(folder / "model.json")
    ours = cf.online.train(cf.online.read_log(folder / "log.csv"), "DBN")
    assert model.objective.tolist() == ours.objective.tolist()


def test_tables_of_numbers(folder: Path) -> None:
    command = "online train log.csv --model all --qrels qrels.txt --measure P@1 --baseline RCTR"
    out, _ = cranfield(folder, *command.split(), "--resamples", "50", "--format", "json")
    found = json.loads(out)
    assert len(found["models"]) == 10
    assert len(found["gain"]) == 9
    assert {one["model"] for one in found["relevance"]} >= {"DBN", "UBM"}
    assert "P@1" in found["relevance"][0]
    command = "online train log.csv --table ranks --format csv"
    out, _ = cranfield(folder, *command.split())
    assert out.splitlines()[0] == "model,rank,pages,perplexity,conditional perplexity"
    assert len(out.splitlines()) == 5


def test_tied_by_grade_of_the_log_or_of_judgments(folder: Path) -> None:
    command = "online train log.csv --tied grade --table parameters --format csv"
    out, _ = cranfield(folder, *command.split())
    assert "attractiveness,grade 0," in out
    out, _ = cranfield(folder, *command.split(), "--qrels", "qrels.txt")
    assert "attractiveness,grade 1," in out


@refusals(
    """
--model DBNN | did you mean DBN
--model DBN --model DBN | only once
--model DBN --model UBM -o m.json | --output requires a single model
--seed 3 | requires --baseline
--model DBN --baseline UBM | must be a model of --model, got UBM
--model DBN --baseline DBN | requires two or more models of --model, got DBN only
--measure P@1 | --measure requires --qrels
-o log.csv | would overwrite an input file
--table gain | --table gain requires --baseline
--table relevance | --table relevance requires --qrels
--model GCTR --qrels qrels.txt | requires a model
--held-out nowhere.csv | nowhere.csv: cannot be read
--model DBN(gamma=2) -o m.json | gamma
"""
)
def test_refused_in_one_line(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, "online", "train", "log.csv", *words, reason=reason)
