"""The command `study interleaving`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from cranfield.meta import interleaving_sensitivity
from tests.cli.running import cranfield, refusals, refused
from tests.cli.test_study_collection import RUNS, close

START = ("study", "interleaving", "qrels.txt", *RUNS[:3], "--impressions", "20")
FEW = ("--methods", "TeamDraft,Probabilistic(tau=1)", "--users", "perfect,almost random")


def test_everything_is_what_the_library_says(campaign: Path, tmp_path: Path) -> None:
    line = "-m AP --pairs 2 --length 5 --stop clicked --seed 4 --power 0.9 --alpha 0.01"
    more = [*line.split(), "--resume", str(tmp_path / "parts")]
    out, err = cranfield(campaign, *START, *FEW, *more, "--format", "json")
    assert err == ""
    again, _ = cranfield(campaign, *START, *FEW, *more, "--format", "json")
    assert out == again
    found = json.loads(out)
    study = interleaving_sensitivity(
        [campaign / one for one in RUNS[:3]],
        campaign / "qrels.txt",
        "AP",
        methods=["TeamDraft", "Probabilistic(tau=1)"],
        users=["perfect", "almost random"],
        stop="clicked",
        pairs=2,
        impressions=20,
        length=5,
        power=0.9,
        alpha=0.01,
        seed=4,
    )
    for name, frame in study.frames().items():
        close(pl.DataFrame(found[name], infer_schema_length=None), frame)
    assert found["methods"] == ["TeamDraft", "Probabilistic(tau=1)", "A/B"]
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 6


def test_two_grades(campaign: Path) -> None:
    more = ("--methods", "TeamDraft", "--users", "perfect", "--rel", "2")
    out, _ = cranfield(campaign, *START, *more, "--table", "interleaving sensitivity")
    assert "perfect" in out


@refusals(
    """
--methods Draft | Draft
--users keen | unknown user 'keen'; expected one of:
-m AP -m RR | single --measure
--table interleaving | interleaving
--depth 5 | cannot be combined with simulated users
--power 2 | power
"""
)
def test_wrong_options(campaign: Path, words: list[str], reason: str) -> None:
    refused(campaign, *START, *words, reason=reason)
