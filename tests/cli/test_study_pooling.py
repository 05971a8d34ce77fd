"""The command `study pooling`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cranfield.meta import pooling
from tests.cli.running import cranfield, refusals, refused
from tests.cli.test_study_collection import RUNS, close

START = ("study", "pooling", "qrels.txt", *RUNS, "--budgets", "2,5", "--depth", "6")


def test_everything_is_what_the_library_says(campaign: Path) -> None:
    more = ["--methods", "depth,MTF(scope='global',seen='skip'),random", "--teams", "teams.csv"]
    more += ["--repeats", "3", "--seed", "4", "--lists", "both", "-m", "AP", "-m", "P@5"]
    out, err = cranfield(campaign, *START, *more, "--format", "json")
    assert err == ""
    found = json.loads(out)
    study = pooling(
        [campaign / one for one in RUNS],
        campaign / "qrels.txt",
        ["AP", "P@5"],
        methods=["depth", "MTF(scope='global', seen='skip')", "random"],
        budgets=[2, 5],
        depth=6,
        repeats=3,
        seed=4,
        teams=campaign / "teams.csv",
        lists=["raw", "condensed"],
    )
    for name, frame in study.frames().items():
        close(pl.DataFrame(found[name], infer_schema_length=None), frame)
    assert found["methods"] == ["depth", "MTF(scope='global', seen='skip')", "random"]


def test_options_reach_the_study(campaign: Path, tmp_path: Path) -> None:
    more = ("--methods", "depth", "--test", "t+holm", "--contributors", "all", "--rel", "2")
    out, _ = cranfield(campaign, *START, *more, "--resume", str(tmp_path / "parts"))
    again, _ = cranfield(campaign, *START, *more, "--resume", str(tmp_path / "parts"))
    assert out == again
    assert "t with holm, alpha 0.05" in out
    assert (tmp_path / "parts" / "whole-pool.parquet").exists()
    runs = [campaign / one for one in RUNS]
    study = pooling(runs, campaign / "qrels.txt", "AP", methods="depth", depth=6, rel=2)
    assert f"; {study.n_relevant} relevant documents in all judgments" in out


@pytest.mark.parametrize("kind", ["text", "csv"])
def test_formats(campaign: Path, kind: str) -> None:
    out, err = cranfield(campaign, *START, "--methods", "depth", "--format", kind)
    assert "depth" in out
    # What CSV has no place for is said beside it.
    assert err.startswith("note: ") if kind == "csv" else err == ""


@refusals(
    """
--methods deep | unknown pooling method 'deep'
--methods RRF(k=x) | RRF
--budgets 0 | --budgets must be given only once
--table pools | unknown table 'pools'
--unjudged condensed | setting unjudged cannot be combined with studies of pools; set `lists`
--test anova-3 | requires scores by shard
--contributors nobody.txt | cannot be read
--lengths qrels.txt | setting lengths cannot be combined with studies of pools
"""
)
def test_refused(campaign: Path, words: list[str], reason: str) -> None:
    refused(campaign, *START, *words, reason=reason)


def test_budgets_are_whole_numbers(campaign: Path) -> None:
    out, err = cranfield(campaign, *("0" if one == "2,5" else one for one in START), status=2)
    assert out == "" and "--budgets must be integers >= 1" in err
