"""What a team gets tells it nothing of another."""

from __future__ import annotations

import io
import json
import os
import zipfile
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.results.sheet_making import (
    ALL_RUNS,
    find_reference_groups,
    get_category_value,
    make_sheet_inputs,
)
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission
from tests.campaign.results.sheets import made
from tests.campaign.results.sheets.conftest import RULES, TEAMS, Make


def unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_nothing_of_others_is_in_any_byte(small: Make, tmp_path: Path) -> None:
    campaign = small()
    scores = campaign.score(measures=["nDCG@5", "AP"])
    runs = campaign.submissions()
    for team in TEAMS:
        held = unpacked(campaign.packet(team, tmp_path / f"{team}.zip"))
        assert {name for name in held if name.endswith(".html")} == {
            "adhoc/index.html",
            *(f"adhoc/runs/tag-{team}-{k}.html" for k in (1, 2)),
        }
        everything = b"\n".join([*held.values(), *(name.encode() for name in held)])
        for run in runs:
            if run.team != team:
                at = scores.systems.index(run.tag)
                secrets = [run.tag, run.team, f"The {run.team} people", run.object, "canary"]
                secrets += [repr(float(scores[name].overall()[at])) for name in scores]
                for secret in secrets:
                    assert secret.encode() not in everything, (team, secret)
        assert f"tag-{team}-1".encode() in everything


def test_the_same_campaign_gives_the_same_bytes(small: Make, tmp_path: Path) -> None:
    campaign = small()
    one = campaign.packet("northlab", tmp_path / "one.zip").read_bytes()
    assert campaign.packet("northlab", tmp_path / "two.zip").read_bytes() == one
    with zipfile.ZipFile(io.BytesIO(one)) as archive:
        names = [entry.filename for entry in archive.infolist()]
        assert names == sorted(names)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    folder = campaign.packet("northlab", tmp_path / "folder")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".cranfield-packet"
    }
    assert files == unpacked(tmp_path / "one.zip")
    if os.name == "posix":
        written = (tmp_path / "one.zip", *(folder / name for name in files))
        assert {path.stat().st_mode & 0o777 for path in written} == {0o600}
    every = campaign.packets(tmp_path / "every")
    assert [path.name for path in every] == sorted(f"{team}.zip" for team in TEAMS)
    assert (tmp_path / "every/northlab.zip").read_bytes() == one
    for run in campaign.submissions():
        if run.team == "northlab":
            campaign.withdraw(run.tag, "their wish")
    # No packet is left of a team that has no accepted run any more.
    assert tmp_path / "every/northlab.zip" not in campaign.packets(tmp_path / "every")
    assert not (tmp_path / "every/northlab.zip").exists()


def test_few_other_teams_are_not_shown(small: Make, tmp_path: Path) -> None:
    # Of manual runs there are four, but of two teams: each would learn what the other has.
    campaign = small()
    held = unpacked(campaign.packet("westlab", tmp_path / "westlab.zip"))
    sheet = json.loads(held["adhoc/runs/tag-westlab-1.json"])
    assert sheet["category"] == {"key": "", "value": "", "n_runs": 10}
    assert sheet["comparison"]["names"] is None
    held = unpacked(campaign.packet("northlab", tmp_path / "northlab.zip"))
    sheet = json.loads(held["adhoc/runs/tag-northlab-1.json"])
    assert sheet["category"] == {"key": "type", "value": "automatic", "n_runs": 6}
    # To all, the four manual runs are enough.
    [named] = (
        one for one in make_sheet_inputs(campaign).make_sheets() if one.tag == "tag-westlab-1"
    )
    assert str(named.category) == "type manual"


def test_two_teams_are_shown_nothing_of_each_other(small: Make, tmp_path: Path) -> None:
    campaign = small(("northlab", "southlab"), ("automatic", "automatic"))
    held = unpacked(campaign.packet("northlab", tmp_path / "northlab.zip"))
    sheet = json.loads(held["adhoc/runs/tag-northlab-1.json"])
    assert sheet["category"] is None
    assert sheet["median_precision"] == []
    assert {row["best"] for row in sheet["by_topic"]} == {None}
    assert pl.read_csv(held["adhoc/statistics.csv"]).height == 0
    assert b"too few other" in held["adhoc/runs/tag-northlab-1.txt"]


@pytest.mark.parametrize("team", ["nobody", "us"])
def test_what_team(small: Make, tmp_path: Path, team: str) -> None:
    with pytest.raises(cf.PolicyError, match=f"unknown team '{team}'|'{team}' has no accepted run"):
        small().packet(team, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_names_of_teams_that_are_no_names_of_files(small: Make, tmp_path: Path) -> None:
    campaign = small(("northlab", "con"), ("manual",) * 2)
    with pytest.raises(
        cf.PolicyError, match="'con' has an id that is not a valid, unique file name"
    ):
        campaign.packets(tmp_path / "every")
    assert not (tmp_path / "every").exists()


read_stored_runs = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from(["p", "q", ""])),
    min_size=1,
    max_size=14,
)


@given(read_stored_runs, st.integers(1, 4))
def test_groups_tell_nothing_of_few_teams(rows: list[tuple[str, str, str]], least: int) -> None:
    """Whatever is in one shown group and not in another is of enough teams, or one's own."""
    task = TaskRules("adhoc", categories=("type", "fields"), min_category=least)
    runs: list[Submission] = [
        made.submission(k, f"r{k}", team, type, answers={"fields": field})
        for k, (team, type, field) in enumerate(rows)
    ]
    for team in {run.team for run in runs}:
        chosen = find_reference_groups(runs, task, team)
        assert {*chosen} == {run.tag for run in runs if run.team == team}
        shown = {one for one in chosen.values() if one is not None}
        members = {
            group: {
                r.tag
                for r in runs
                if group == ALL_RUNS or get_category_value(r, group[0]) == group[1]
            }
            for group in shown
        }
        for tag, group in chosen.items():
            assert group is None or tag in members[group]
        differences = [one - other for one in members.values() for other in members.values()]
        assert len(differences) >= len([*combinations(members, 2)])
        for tags in [*members.values(), *filter(None, differences)]:
            teams = {run.team for run in runs if run.tag in tags}
            assert teams == {team} or len(teams | {team}) >= least


@given(read_stored_runs, st.integers(1, 4))
def test_groups_for_all_are_large_enough(rows: list[tuple[str, str, str]], least: int) -> None:
    task = TaskRules("adhoc", categories=("type", "fields"), min_category=least)
    runs = [
        made.submission(k, f"r{k}", team, type, answers={"fields": field})
        for k, (team, type, field) in enumerate(rows)
    ]
    for run in runs:
        group = find_reference_groups(runs, task)[run.tag]
        sizes = [
            sum(get_category_value(one, key) == get_category_value(run, key) for one in runs)
            * bool(get_category_value(run, key))
            for key in task.categories
        ]
        fitting = [key for key, size in zip(task.categories, sizes, strict=True) if size >= least]
        if fitting:
            assert group == (fitting[0], get_category_value(run, fitting[0]))
        else:
            assert group == (ALL_RUNS if len(runs) >= least else None)


def test_rules_say_how_small(small: Make, tmp_path: Path) -> None:
    campaign = small(rules=RULES.replace("min_category = 3", "min_category = 2"))
    held = unpacked(campaign.packet("westlab", tmp_path / "westlab.zip"))
    assert json.loads(held["adhoc/runs/tag-westlab-1.json"])["category"]["n_runs"] == 4


def test_the_median_is_said_as_the_rules_have_it(small: Make, tmp_path: Path) -> None:
    campaign = small(rules=RULES + 'median = "average"\n')
    readme = unpacked(campaign.packet(TEAMS[0], tmp_path / "one.zip"))["adhoc/README.txt"].decode()
    assert "the mean of the two middle scores" in readme
    assert "better" not in readme


@pytest.mark.parametrize(("topics", "is_stated"), [("qrels", True), ("intersection", False)])
def test_empty_rankings_are_scored_only_if_the_rules_say_so(
    small: Make, tmp_path: Path, topics: str, is_stated: bool
) -> None:
    campaign = small(rules=RULES + f'judging = {{topics = "{topics}"}}\n')
    readme = unpacked(campaign.packet(TEAMS[0], tmp_path / "one.zip"))["adhoc/README.txt"].decode()
    assert ("scored as an empty ranking" in readme) is is_stated
