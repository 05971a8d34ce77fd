"""A whole archive of runs by a table."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.campaign import Campaign
from cranfield.campaign.submitting.archive import (
    ArchiveTable,
    RowOutcome,
    read_archive_table,
    submit_archive,
)
from cranfield.campaign.submitting.submit import Declaration
from tests.campaign.submitting.conftest import News

RULES = "types = ['automatic', 'manual']\n[tasks.adhoc.questions.fields]\nask = 'Which?'\n"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write four runs, packed or not, called as archives call them."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for k, tag in enumerate(("a", "a.b", "01", "1")):
        data = f"q{k} Q0 d{k} 1 1.0 {tag}\n".encode()
        name, packed = {
            "a": ("a.txt.gz", gzip.compress(data, mtime=0)),
            "a.b": ("input.a.b", data),
            "01": ("01.run.xz", lzma.compress(data)),
            "1": ("1", data),
        }[tag]
        (folder / name).write_bytes(packed)
    (folder / ".DS_Store").write_bytes(b"\0")
    (folder / "sub").mkdir()
    return folder


def table_of(
    opened: Campaign, table: Path, *runs: Path, team: str = "padua", **more: Any
) -> ArchiveTable:
    given = Declaration(team, type="automatic")
    return read_archive_table(table, runs, opened.rules, defaults=given, **more)


def submitted(opened: Campaign, table: ArchiveTable, **more: Any) -> list[RowOutcome]:
    return list(submit_archive(opened, table, **more))


def test_runs_are_found_by_tag(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news(RULES)
    table = tmp_path / "runs.csv"
    table.write_text(
        "tag,Team,Run Type,priority,received,description,fields,P@20\n"
        "a.b,delft,manual,2,2026-08-15T01:00:00+02:00,first,title,0.5\n"
        "01,ghent,,,,,,\n"
        '1,,,,,"two\nlines",,\n'
        "a,padua,,1,,,all,0.25\n"
    )
    with pytest.warns(CranfieldWarning, match="unused columns: 'P@20'"):
        listed = table_of(opened, table, runs)
    assert [row.line for row in listed.rows] == [2, 3, 4, 6]
    with pytest.raises(PolicyError, match="unknown team 'ghent'; add it with"):
        submitted(opened, listed)
    done = submitted(opened, listed, add_teams=True)
    assert all(one.is_accepted for one in done)
    about = [
        (one.tag, one.team, one.type, one.priority, one.description, one.answers, one.source)
        for one in opened.submissions()
    ]
    assert about == [
        ("a.b", "delft", "manual", 2, "first", {"fields": "title"}, "input.a.b"),
        ("01", "ghent", "automatic", None, "", {}, "01.run.xz"),
        ("1", "padua", "automatic", None, "two\nlines", {}, "1"),
        ("a", "padua", "automatic", 1, "", {"fields": "all"}, "a.txt.gz"),
    ]
    assert opened.submissions()[0].received == "2026-08-14T23:00:00Z"
    assert not [path for path in opened.folder.iterdir() if path.name.startswith(".")]
    again = submitted(opened, listed)
    assert all(one.run_outcome is not None and one.run_outcome.is_repeat for one in again)


def test_one_bad_run_does_not_stop_the_others(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news(RULES)
    (runs / "a.run").write_text("x\n")
    (runs / "bad.run").write_text("q1 Q0 d1 1 nan bad\n")
    table = tmp_path / "runs.csv"
    table.write_text("tag,file\nbad,\nnone,\na,\n01,runs/missing.run\n1,\n")
    done = submitted(opened, table_of(opened, table, runs))
    assert [one.is_accepted for one in done] == [False, False, False, False, True]
    assert done[0].run_outcome is not None
    assert [one.code for one in done[0].run_outcome.report.errors] == ["score"]
    assert (
        done[1].reason
        == "no file has the name 'none'; rename the run's file, or add a column 'file'"
    )
    assert (
        done[2].reason
        == "'a.run' and 'a.txt.gz' both match 'a'; choose a file in the column 'file'"
    )
    assert done[3].reason.endswith("missing.run: cannot be read: no such file or directory")


def test_all_or_none(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news(RULES)
    table = tmp_path / "runs.csv"
    table.write_text("tag,team\n1,ghent\n01,ghent\n")
    (runs / "1").write_text("q1 Q0 d1 1 nan 1\n")
    before = opened.registry.list_events()
    listed = table_of(opened, table, runs, team="")
    done = submitted(opened, listed, add_teams=True, all_or_none=True)
    assert [one.is_accepted for one in done] == [False, False]
    assert done[1].reason == "not submitted, because other runs were refused"
    assert opened.registry.list_events() == before
    assert opened.registry.find_team("ghent") is None
    assert opened.verify().is_intact and not opened.verify().leftover_files
    (runs / "1").write_text("q1 Q0 d1 1 1 1\n")
    done = submitted(opened, listed, add_teams=True, all_or_none=True)
    assert [one.is_accepted for one in done] == [True, True]
    assert opened.verify().is_intact and len(opened.submissions()) == 2
    assert [one.action for one in opened.registry.list_events()][len(before) :] == [
        "submit archive"
    ]


def test_a_time_in_the_future_stops_all(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news(RULES)
    table = tmp_path / "runs.csv"
    table.write_text("tag,received\n1,2026-08-14T00:00:00Z\n01,2027-08-14T00:00:00Z\n")
    with pytest.raises(PolicyError, match="in the future, got '2027-08-14 00:00:00 UTC'"):
        submitted(opened, table_of(opened, table, runs))
    assert opened.submissions() == ()


def test_threads_change_nothing(news: News, runs: Path, tmp_path: Path) -> None:
    """Of runs in conflict, the first of the table is accepted, however many are checked at once."""
    opened = news("runs_per_team = 3\n" + RULES)
    for k in range(12):
        (runs / f"f{k}").write_text(f"q1 Q0 d{k} 1 1 {'tT'[k % 2]}{k // 4}\n")
    table = tmp_path / "runs.csv"
    rows = (f"{'tT'[k % 2]}{k // 4},runs/f{k}\n" for k in range(12))
    table.write_text("tag,file\n" + "".join(rows))
    states = [one.is_accepted for one in submitted(opened, table_of(opened, table, team="delft"))]
    assert states == [k % 4 == 0 for k in range(12)]


def test_columns_of_other_names(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news(RULES)
    table = tmp_path / "runs.json"
    first = {"run": "01", "group": "delft", "kind": "manual", "team": 3}
    table.write_text(json.dumps([first, {"run": "x", "group": "delft"}]))
    named = {"tag": "run", "team": "group", "type": "kind"}
    with pytest.warns(CranfieldWarning, match="unused columns: 'team'"):
        listed = table_of(opened, table, runs, team="", columns=named)
    row, other = (row.declaration for row in listed.rows)
    assert (row.tag, row.team, row.type) == ("01", "delft", "manual")
    assert other.type == "automatic"
    with pytest.raises(InputError, match="unknown column 'grp'"):
        table_of(opened, table, runs, columns={"tag": "run", "team": "grp"})
    with pytest.raises(PolicyError, match="unknown column 'kind' .* one of: tag, team"):
        table_of(opened, table, runs, columns={"kind": "kind"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("team,type\nx,y\n", ": has no tag column (usual names: tag, run_tag, run_id)"),
        ("tag,runtag\nx,y\n", "has 2 columns for the tag: 'tag' and 'runtag'"),
        ("tag,team\n,x\n", ":2: has no tag"),
        ("tag,priority\na,1.5\n", ":2: priority must be an integer, got '1.5'"),
        ("tag,priority\na,1\na,0\n", ":3: priority must be an integer from 1"),
        ("tag,received\na,2026-08-15\n", ":2: expected an offset from UTC"),
        ("tag,team\na\n", ":2: expected 2 cells as in the header, got 1"),
        ("tag,state\na,accepted\nb,withdrawn\n", "column 'state' ('accepted', 'withdrawn') may be"),
        ("tag\n", "is empty"),
        ("", "is empty"),
    ],
)
def test_a_table_that_is_none_is_refused_as_a_whole(
    news: News, tmp_path: Path, text: str, said: str
) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(text)
    with pytest.raises(InputError) as error:
        table_of(news(RULES), table)
    assert f"runs.csv{said}" in str(error.value) or f"runs.csv: {said}" in str(error.value)


def test_through_the_campaign(news: News, runs: Path, tmp_path: Path) -> None:
    opened = news()
    (tmp_path / "runs.csv").write_text("tag\n1\n01\n")
    done = opened.submit_archive(tmp_path / "runs.csv", [runs], team="delft", jobs=1)
    assert [one.is_accepted for one in done] == [True, True]
    assert [one.team for one in opened.submissions()] == ["delft", "delft"]


def test_a_team_is_missing(news: News, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("tag,team\na,\n")
    with pytest.raises(InputError, match="run 'a' has no team; set it in the row or for all runs"):
        table_of(news(), tmp_path / "runs.csv", team="")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "tag\na\n01\na\n", r"t\.csv:4: duplicate run 'a', first in line 2$"),
        ("t.json", '[{"tag": "a"}, {"tag": "a", "type": "manual"}]', "t.json: duplicate run 'a'$"),
    ],
)
def test_a_run_is_listed_once(
    news: News, runs: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        table_of(news(RULES), tmp_path / name, runs)
