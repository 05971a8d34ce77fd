"""`cranfield campaign release`, `retract` and `demo`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.campaign.publishing.bag import validate_bag
from tests.campaign.publishing.making import make_campaign
from tests.cli.running import cranfield, refusals, refused


def test_release_and_retract(tmp_path: Path) -> None:
    make_campaign(tmp_path / "news")
    said, _ = cranfield(tmp_path, "campaign", "release", "make", "news", "--date", "2026-11-20")
    first, second, *others = said.splitlines()
    assert first == "news/releases/adhoc-1: 5 runs of 3 teams, judgment version 1"
    assert re.fullmatch("SHA-256 of tagmanifest-sha256.txt, to publish: [0-9a-f]{64}", second)
    assert "not released: contacts of teams" in others and "is identical to" not in said
    said, _ = cranfield(
        *(tmp_path, "campaign", "release", "make", "news", "--anonymous", "--seed", "4"),
        *("--scores-only", "--note", "For reviewers."),
    )
    assert said.startswith(
        "news/releases/adhoc-2: 5 runs of 3 teams (3 anonymous), judgment version 1\n"
    )
    assert "is identical to" not in said
    about = json.loads((tmp_path / "news/releases/adhoc-2/data/about.json").read_text())
    assert (about["note"], about["scores_only"], about["hidden_teams"]) == (
        "For reviewers.",
        True,
        3,
    )
    # Releases never change, so a change of their runs or names needs a new one.
    copytree(tmp_path / "news", tmp_path / "copy")
    for changed, noun in (
        ("team change copy delft --anonymous-until 2027-01-31", "runs of this team"),
        ("run withdraw copy bm25-a --reason x", "this run"),
        ("team change copy delft --contact x@example.org", None),
    ):
        said, _ = cranfield(tmp_path, "campaign", *changed.split())
        note = f"note: release adhoc-2 contains {noun}; make a new release"
        assert said.splitlines()[1:] == ([] if noun is None else [note])
    # A run that is newer than the releases is in none, and retracted releases are not named.
    copy = cf.campaign.open(tmp_path / "copy")
    [old] = copy.registry.list_submissions(None, None, tag="bm25-a")
    file = tmp_path / "copy/objects" / old.object[:2] / old.object
    names = ("team", "type", "priority", "answers")
    declared: dict[str, Any] = {name: getattr(old, name) for name in names}
    assert copy.submit(file, description="again", **declared).is_accepted
    withdraw = ("run", "withdraw", "copy", "bm25-a", "--reason", "x")
    assert cranfield(tmp_path, "campaign", *withdraw)[0].count("\n") == 1
    cranfield(tmp_path, "campaign", "release", "retract", "copy", "adhoc-2", "--reason", "x")
    said, _ = cranfield(tmp_path, "campaign", "team", "change", "copy", "delft", "--name", "D")
    assert said.splitlines()[1:] == [
        "note: release adhoc-1 contains runs of this team; make a new release"
    ]
    retract = ("campaign", "release", "retract", "news", "adhoc-1", "--reason")
    _, err = cranfield(tmp_path, *retract, "Wrong \x1b[31mqrels", status=2)
    assert "must not contain unprintable characters, got 'Wrong \\x1b[31mqrels'" in err
    assert not (tmp_path / "news/releases/adhoc-1.retracted.json").exists()
    said, _ = cranfield(tmp_path, *retract, "Wrong <b>qrels")
    assert said.startswith("adhoc-1 is retracted; the reason is in releases/")
    note = json.loads((tmp_path / "news/releases/adhoc-1.retracted.json").read_text())
    assert note["reason"] == "Wrong <b>qrels"
    said, _ = cranfield(tmp_path, "campaign", "release", "make", "news", "--date", "2026-11-20")
    assert said.endswith("\nnote: adhoc-3 is identical to the release adhoc-1\n")


@refusals(
    """
release make news --judgments 7 | unknown version '7' of the judgments
release make news --date soon | date must be a day such as 2026-11-20
release make news --task x | unknown task 'x'; expected one of: adhoc
release retract news adhoc-9 --reason x | unknown release 'adhoc-9'
release make elsewhere | no such folder
"""
)
def test_errors_are_one_line(tmp_path: Path, words: list[str], reason: str) -> None:
    make_campaign(tmp_path / "news")
    refused(tmp_path, "campaign", *words, reason=reason)


def test_demo_runs_a_whole_campaign(tmp_path: Path) -> None:
    said, errors = cranfield(tmp_path, "campaign", "demo", "--folder", "tour")
    assert errors == ""
    assert "error:" not in said
    place = tmp_path / "tour"
    commands = [line for line in said.splitlines() if line.startswith("$ ")]
    assert [line.partition(" covid")[0].partition(" broken")[0] for line in commands] == [
        *("$ cranfield campaign init", "$ cranfield campaign pack", "$ cranfield check"),
        *(
            f"$ cranfield campaign {name}"
            for name in (
                *("run submit", "run submit", "run replace", "run withdraw", "run list"),
                *("judgments", "score", "release sheets", "release packet", "release make"),
                *("release site", "verify"),
            )
        ),
    ]
    for line in ("10 of 10 runs accepted", "not shown: 1 refused, 1 replaced, 1 withdrawn"):
        assert line in said
    assert "refused: 6 errors" in said
    # The leaderboard is shown whole, with the names of its columns.
    assert "\n  rank  tag  " in said
    release = place / "covid/releases/round5-1"
    assert validate_bag(release) == []
    runs = pl.read_csv(release / "data/runs.csv")
    assert (runs.height, runs["late"].sum(), runs["team"].n_unique()) == (9, 1, 5)
    assert (place / "site/index.html").is_file()
    assert said.endswith(f"The site: {place / 'site/index.html'}\n")


def test_demo_writes_into_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    _, said = cranfield(tmp_path, "campaign", "demo", "--folder", ".", status=2)
    assert said == "cranfield: error: '.' already exists and is not an empty folder\n"


@pytest.mark.parametrize(("topics", "runs"), [(1, 1), (1, 3), (2, 1), (2, 2)])
def test_the_smallest_campaigns_have_a_whole_life(tmp_path: Path, topics: int, runs: int) -> None:
    """What cannot be compared is shown, and said not to be compared."""
    (tmp_path / "rules.toml").write_text(
        '[campaign]\nid = "x"\ntitle = "X"\n[tasks.t]\nmeasures = ["P@2", "AP"]\n'
        "min_category = 1\npool = {depth = 2}\n"
    )
    (tmp_path / "qrels").write_text("".join(f"{t} 0 d0 1\n{t} 0 d1 0\n" for t in range(topics)))
    for k in range(runs):
        (tmp_path / f"r{k}.run").write_text(
            "".join(f"{t} Q0 d{k} 1 2 r{k}\n{t} Q0 d9 2 1 r{k}\n" for t in range(topics))
        )
    for arguments in (
        ("init", "x", "--rules", "rules.toml"),
        ("team", "add", "x", "us"),
        ("run", "submit", "x", *(f"r{k}.run" for k in range(runs)), "--team", "us"),
        ("pool", "x", "--mark"),
        ("judgments", "x", "qrels", "--version", "1"),
        ("score", "x"),
        ("release", "sheets", "x", "-o", "sheets"),
        ("release", "overview", "x", "-o", "overview"),
        ("release", "packet", "x", "--team", "us", "-o", "us.zip"),
        ("release", "make", "x", "--date", "2026-01-01"),
        ("release", "site", "x", "-o", "site"),
        ("verify", "x"),
    ):
        out, _ = cranfield(tmp_path, "campaign", *arguments)
    assert out.startswith("intact: ")
    board = (tmp_path / "site" / "t" / "index.html").read_text()
    assert ("not compared" in board) == (runs == 1 or topics == 1)
