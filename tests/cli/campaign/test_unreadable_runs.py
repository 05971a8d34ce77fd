"""One stored run that cannot be read: every command names it, and goes on with the others."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.campaign.store import records
from tests.campaign.results.made import handed_in, judged, lines, made, qrels, rankings
from tests.cli.running import cranfield

HISTORY = ("history", "news", "-m", "AP", "--all", "--format", "csv")
COMMANDS: dict[str, tuple[str, ...]] = {
    "pool": ("pool", "news"),
    "score": ("score", "news", "--format", "csv"),
    "score together": ("score", "news", "-m", "URisk(AP, baseline='bm25')"),
    "sheets": ("release", "sheets", "news", "-o", "sheets"),
    "packet": ("release", "packet", "news", "--team", "us", "-o", "us.zip"),
    "packets": ("release", "packet", "news", "--all", "-o", "packets"),
    "release": ("release", "make", "news"),
    "standing": ("standing", "news", "new.run", "--no-pooling"),
    "standing by tag": ("standing", "news", "bm25"),
    "history": HISTORY,
}


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BROKEN: dict[str, Callable[[Path], object]] = {
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "missing": Path.unlink,
    "a folder": replaced_by_a_folder,
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("three")
    campaign = made(found / "news")
    judged(campaign, qrels())
    for k, tag in enumerate(("bm25", "dense", "hybrid")):
        handed_in(campaign, tag, rankings(k), pooled=True)
    (found / "new.run").write_bytes(lines("new", rankings(9)))
    return found


@pytest.fixture
def broken(three: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    shutil.copytree(three, tmp_path / "copy")
    [bad] = {
        path
        for path in (tmp_path / "copy/news/objects").glob("*/*")
        if path.is_file() and b" dense\n" in path.read_bytes()
    }
    BROKEN[request.param](bad)
    return tmp_path / "copy"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("broken", ["changed"], indirect=True)
def test_a_run_that_changed_is_named_and_the_others_go_on(broken: Path, name: str) -> None:
    out, err = cranfield(broken, "campaign", *COMMANDS[name], status=1)
    assert "run 'dense': the stored bytes differ from the submitted file" in err
    assert "objects" not in err and "error" not in err
    assert "dense" not in out


@pytest.mark.parametrize("broken", BROKEN, indirect=True)
def test_the_board_has_the_others(broken: Path) -> None:
    out, err = cranfield(broken, "campaign", "score", "news", "--format", "csv", status=1)
    assert err.count("run 'dense': ") == 1
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["tag"] for row in rows} == {"bm25", "hybrid"}
    again, err = cranfield(broken, "campaign", "score", "news", "--format", "csv", status=1)
    assert again == out and err.count("run 'dense': ") == 1


@pytest.mark.parametrize("broken", ["changed"], indirect=True)
def test_scores_of_the_others_are_as_without_it(three: Path, broken: Path, tmp_path: Path) -> None:
    shutil.copytree(three, tmp_path / "whole")
    one, _ = cranfield(broken, "campaign", *HISTORY, status=1)
    all_three, _ = cranfield(tmp_path / "whole", "campaign", *HISTORY)
    rows = [
        {row["entry"]: row["score"] for row in csv.DictReader(io.StringIO(text))}
        for text in (one, all_three)
    ]
    assert rows[0] == {tag: rows[1][tag] for tag in ("bm25", "hybrid")}


@pytest.mark.parametrize("broken", ["changed"], indirect=True)
def test_what_needs_this_very_run_is_an_error(broken: Path) -> None:
    _, err = cranfield(broken, "campaign", "standing", "news", "dense", status=2)
    assert err.startswith(
        "cranfield: error: run 'dense': the stored bytes differ from the submitted file"
    )
    _, err = cranfield(
        broken, "campaign", "standing", "news", "new.run", "--baseline", "dense", status=2
    )
    assert "run 'dense': " in err


def test_runs_of_former_programs_that_are_no_runs(tmp_path: Path) -> None:
    campaign = made(tmp_path / "news")
    judged(campaign, qrels())
    handed_in(campaign, "good", rankings(0))
    for tag, end in {"cut": " 2 3.", "blank": " 2 3.5 ", "word": " 2 x word"}.items():
        handed_in(campaign, tag, lines(tag, rankings(1)) + b"q9 Q0 d1" + end.encode())
    # Nothing has changed since it was accepted: reading it is what fails.
    out, err = cranfield(tmp_path, "campaign", "score", "news", "--format", "csv", status=1)
    assert [row["tag"] for row in csv.DictReader(io.StringIO(out))] == ["good"]
    for tag in ("cut", "blank", "word"):
        assert err.count(f"run '{tag}':") == 1
    out, err = cranfield(tmp_path, "campaign", "pool", "news", "--mark", status=1)
    assert "1 run," in out
    assert [one.tag for one in campaign.submissions() if one.pooled] == ["good"]
    cranfield(tmp_path, "campaign", "release", "make", "news", status=1)
    [released] = (tmp_path / "news/releases").glob("*/data/runs/*")
    assert released.name == "good.run.xz"


def test_no_run_can_be_read(tmp_path: Path) -> None:
    campaign = made(tmp_path / "news")
    judged(campaign, qrels())
    record = handed_in(campaign, "only", rankings(0))
    records.find_object(campaign.folder, record.object).unlink()
    for command in ("score", "pool", "release make", "release overview"):
        output = ["-o", "o"] if command.endswith("overview") else []
        words = ["campaign", *command.split(), "news", *output]
        _, err = cranfield(tmp_path, *words, status=2)
        assert "error: task 'adhoc': no accepted run can be read: run 'only': is missing" in err
