"""Every file is accounted for; what a kill leaves is no damage, and goes."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cranfield import campaign
from cranfield.base.errors import InputError
from cranfield.base.files import hash_file
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.publishing.bag import write_bag
from cranfield.campaign.store import folder as folder_module
from cranfield.campaign.store import records, registry
from cranfield.campaign.store.folder import Verification
from cranfield.campaign.store.records import Event, ReleaseRecord, ScoreFile
from cranfield.campaign.store.registry import KEYS, TABLES

from .conftest import enter_run, entered, judged, make_news, opened


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign with a file of each kind."""
    news = make_news(tmp_path_factory.mktemp("template") / "news")
    for number in range(3):
        enter_run(news, f"run{number}")
    with news.registry.change("withdraw", "run1") as tx:
        [run] = tx.list_submissions(tag="run1")
        tx.update(replace(run, state="withdrawn", reason="a bug"))
    judged(news)
    scores = news.folder / "scores" / "k.parquet"
    scores.write_bytes(b"scores of all")
    with news.registry.change("score") as tx:
        tx.insert(ScoreFile("k", "adhoc", "1", "scores/k.parquet", hash_file(scores)))
    for number in (1, 2):
        folder = news.folder / "releases" / f"adhoc-{number}"
        (folder / "data" / "runs").mkdir(parents=True)
        (folder / "data" / "runs" / "run0.run").write_bytes(b"1 Q0 d 1 1 run0\n")
        manifest = write_bag(folder, {"Source-Organization": "Padua"})
        with news.registry.change("release", folder.name) as tx:
            path = f"releases/{folder.name}"
            tx.insert(ReleaseRecord(folder.name, "adhoc", "2026", "1", path, manifest))
    note = news.folder / "releases" / "adhoc-1.retracted.json"
    note.write_text("{}")
    with news.registry.change("retract", "adhoc-1") as tx:
        old = tx.list_releases()[0]
        tx.update(replace(old, state="retracted", retraction=hash_file(note)))
    return news.folder


@pytest.fixture
def whole(template: Path, tmp_path: Path) -> campaign.Campaign:
    return opened(shutil.copytree(template, tmp_path / "news"))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def execute(news: campaign.Campaign, *queries: str) -> int:
    """Change the registry behind its back, and return the number of rows."""
    connection = sqlite3.connect(news.folder / "campaign.sqlite")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    count = [connection.execute(query).rowcount for query in queries][-1]
    connection.commit()
    connection.close()
    return count


def test_a_whole_campaign_is_whole(whole: campaign.Campaign) -> None:
    found = whole.verify()
    assert found.is_intact
    assert not found.findings
    assert found.n_events == len(whole.registry.list_events())
    # Without the files of tags of the bags and the registry: rules, 4 objects, scores, the note.
    assert found.n_files >= len(files(whole.folder))
    assert repr(found).startswith("Verification(intact: ")
    assert found.to_polars().columns == ["kind", "file", "reason"]
    assert found.to_csv() == "kind,file,reason\n"


def test_one_bit_in_any_file_but_the_registry_is_found_and_the_file_named(
    whole: campaign.Campaign,
) -> None:
    for path in files(whole.folder):
        if path.name == "campaign.sqlite":
            # It has room between rows.
            continue
        data = path.read_bytes()
        for place in {0, len(data) // 2, len(data) - 1}:
            damaged = bytearray(data)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            name = path.relative_to(whole.folder).as_posix()
            assert name in {one.file for one in whole.verify().problems}, (name, place)
        path.write_bytes(data)
    assert whole.verify().is_intact


def rows(path: Path) -> list[list[tuple[object, ...]]]:
    """Return the rows of all tables of a registry."""
    connection = sqlite3.connect(path)
    try:
        return [connection.execute(f"SELECT * FROM {name}").fetchall() for name in (*KEYS, "event")]
    finally:
        connection.close()


def test_one_bit_in_a_page_of_the_registry_is_found_or_changes_no_row(
    whole: campaign.Campaign,
) -> None:
    # Rows that come and go leave free pages.
    with whole.registry.change("long", details={"text": "x" * 100_000}):
        pass
    path = whole.folder / "campaign.sqlite"
    data, expected, damages = path.read_bytes(), rows(path), 0
    for place in (*range(100), *range(100, len(data), 757)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        problems = {one.file for one in whole.verify().problems}
        assert path.read_bytes() == damaged
        if not problems:
            assert rows(path) == expected, place
            continue
        assert problems == {"campaign.sqlite"}, (place, problems)
        damages += 1
        with (
            pytest.raises(InputError, match=r"campaign\.sqlite"),
            OpenedCampaign(whole.folder).registry.change("x"),
        ):
            pass
        assert path.read_bytes() == damaged
    assert damages > 150
    path.write_bytes(data[:-4096])
    assert {one.file for one in whole.verify().problems} == {"campaign.sqlite"}
    path.write_bytes(data)
    assert whole.verify().is_intact


def test_a_damaged_schema_is_told_in_one_line(whole: campaign.Campaign) -> None:
    path = whole.folder / "campaign.sqlite"
    data = path.read_bytes()
    for damaged in (b"note TEXT N\xcfT NULL", b"note TEXT N"):
        path.write_bytes(data.replace(b"note TEXT NOT NULL", damaged.ljust(18)))
        [problem] = whole.verify().problems
        assert problem.file == "campaign.sqlite"
        assert problem.reason.startswith("is damaged: ")
        assert "\n" not in str(problem)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (name, column)
        for name, columns in {
            **{table.name: table.columns for kind, table in TABLES.items() if kind is not Event},
            "fault": ("code", "severity", "message", "line", "topic", "doc", "count"),
        }.items()
        for column in columns
    ],
)
def test_each_field_of_a_row_is_covered_by_an_event(
    whole: campaign.Campaign, table: str, column: str
) -> None:
    last = f"rowid = (SELECT max(rowid) FROM {table})"
    assert execute(whole, f"UPDATE {table} SET {column} = 77 WHERE {last}") == 1
    problems = whole.verify().problems
    assert problems and {one.file for one in problems} == {"campaign.sqlite"}


def test_missing_files_are_named(whole: campaign.Campaign) -> None:
    for path in files(whole.folder):
        name = path.relative_to(whole.folder).as_posix()
        data = path.read_bytes()
        path.unlink()
        if name == "campaign.sqlite":
            with pytest.raises(InputError, match="is not a campaign"):
                whole.verify()
        else:
            found = whole.verify()
            # Scores are derived: they are computed again.
            named = found.remarks if name.startswith("scores/") else found.problems
            assert name in {one.file for one in named}, name
        path.write_bytes(data)
    shutil.rmtree(whole.folder / "releases" / "adhoc-2")
    assert [one.file for one in whole.verify().problems] == ["releases/adhoc-2"]


def test_a_changed_row_is_no_change_of_the_campaign(whole: campaign.Campaign) -> None:
    execute(whole, "UPDATE submission SET team = 'delft' WHERE tag = 'run0'")
    found = whole.verify(repair=True)
    assert [str(one) for one in found.problems] == [
        "campaign.sqlite: table submission, row 1: differs from the log of events"
    ]
    with (
        pytest.raises(InputError, match="differs from the log of events"),
        whole.registry.change("x"),
    ):
        pass


def test_a_row_that_nobody_entered_and_one_that_is_gone(whole: campaign.Campaign) -> None:
    insert = "INSERT INTO team VALUES ('x', '', '', '', NULL)"
    execute(whole, insert, "DELETE FROM fault WHERE submission = 2")
    assert [one.reason for one in whole.verify().problems] == [
        "table team, row x: differs from the log of events",
        "table fault, row 2 1: is missing, but is in the log of events",
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("UPDATE event SET at = '2020' WHERE seq = 3", "event 3 breaks the chain of hashes"),
        ("DELETE FROM event WHERE seq = 3", "event 3 is missing from the log of events"),
    ],
)
def test_a_changed_event_breaks_the_chain(
    whole: campaign.Campaign, query: str, reason: str
) -> None:
    with registry.open_registry(whole.folder) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
    execute(whole, *(f"DROP TRIGGER {name}" for (name,) in names), query)
    assert reason in {one.reason for one in whole.verify().problems}


LEFT = (
    *("objects/.incoming-abc", "objects/ab/.abab.tmp", f"objects/ab/{'ab' * 32}"),
    *("scores/.k.parquet.tmp", "scores/other.parquet", "releases/.adhoc-3"),
    *("releases/adhoc-4/bagit.txt", "releases/adhoc-2.retracted.json", ".campaign.toml.x1"),
)
STRANGE = ("notes.txt", "scores/readme.txt", "objects/letter", "releases/plan.txt", "public/i.html")


def test_what_nobody_names_is_left_over_or_strange(whole: campaign.Campaign) -> None:
    before = files(whole.folder)
    for name in (*LEFT, *STRANGE):
        path = whole.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = whole.verify()
    assert found.is_intact
    expected = {name.removesuffix("/bagit.txt") for name in LEFT}
    assert {one.file for one in found.leftover_files} == expected
    assert {one.file for one in found.remarks} == {n.removesuffix("/i.html") for n in STRANGE}
    again = whole.verify(repair=True)
    assert again.is_intact
    assert not again.leftover_files
    assert {one.file for one in again.findings if one.kind == "repaired"} == expected
    kept = [*before, *(whole.folder / name for name in STRANGE)]
    assert files(whole.folder) == sorted(kept)
    assert whole.registry.list_events()[-1].action == "repair"


def test_a_bag_holds_nothing_else(whole: campaign.Campaign) -> None:
    (whole.folder / "releases" / "adhoc-2" / "data" / "more.txt").touch()
    problems = whole.verify(repair=True).problems
    assert [one.file for one in problems] == ["releases/adhoc-2/data/more.txt"]


CHANGES = """
import sys
from cranfield import campaign
from cranfield.campaign.store.records import Team
news = campaign.open(sys.argv[1])
number = 0
while True:
    number += 1
    with news.registry.change("team") as tx:
        tx.insert(Team(f"{sys.argv[2]}-{number}", "x" * 20_000, "2026"))
    print(number, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_a_kill_at_any_moment_leaves_a_sound_registry(news: campaign.Campaign) -> None:
    for attempt, steps in enumerate((1, 2, 5, 9)):
        command = [sys.executable, "-c", CHANGES, str(news.folder), str(attempt)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            last = [process.stdout.readline() for _ in range(steps)][-1]
            process.send_signal(signal.SIGKILL)
            # What was said before the kill came is true too.
            last = [last, *process.stdout][-1]
        found = news.verify()
        assert found.is_intact, str(found)
        there = {team.id for team in news.teams()}
        assert {f"{attempt}-{number}" for number in range(1, int(last) + 1)} <= there
        assert news.verify(repair=True).is_intact


def test_what_was_half_written_is_rolled_back(whole: campaign.Campaign) -> None:
    """A kill in the middle of writing: the file is changed, and the journal knows what it was."""
    path, journal = (whole.folder / f"campaign.sqlite{end}" for end in ("", "-journal"))
    data, events = path.read_bytes(), whole.registry.list_events()
    connection = sqlite3.connect(path, isolation_level=None)
    # A small cache, so that pages are written before the end.
    connection.execute("PRAGMA cache_size = 5")
    connection.execute("BEGIN IMMEDIATE")
    for number in range(50):
        row = (f"x{number}", "y" * 3000)
        connection.execute("INSERT INTO team VALUES (?, ?, '', '', NULL)", row)
    connection.execute("UPDATE submission SET state = 'withdrawn'")
    written, kept = path.read_bytes(), journal.read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    assert written != data
    path.write_bytes(written)
    journal.write_bytes(kept)
    assert whole.verify().is_intact
    assert path.read_bytes() == data
    assert not journal.exists()
    assert whole.registry.list_events() == events


def test_what_is_purged_meanwhile_is_not_missing(
    whole: campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    [run] = whole.registry.list_submissions(states=None, tag="run1")
    look = hash_file

    def purges(path: Path) -> str:
        if run.object in path.name and path.exists():
            with OpenedCampaign(whole.folder).registry.change("purge", "run1") as tx:
                tx.update(replace(run, is_stored=False))
                tx.mark_unneeded(run.object)
        return look(path)

    monkeypatch.setattr(folder_module, "hash_file", purges)
    assert not whole.verify().findings


def test_an_object_that_a_repair_took_away_is_missed_in_time(news: campaign.Campaign) -> None:
    with (
        pytest.raises(InputError, match="was removed before it was recorded"),
        news.registry.change("submit") as tx,
    ):
        run = entered(tx, news.folder, "a")
        records.find_object(news.folder, run.object).unlink()
        tx.update(run)
    assert news.verify().is_intact


@pytest.fixture(autouse=True)
def nothing_is_written_outside(tmp_path: Path) -> Iterator[None]:
    yield
    assert {path.name for path in tmp_path.iterdir()} <= {"news"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(
    whole: campaign.Campaign,
) -> None:
    for path in files(whole.folder):
        name = path.relative_to(whole.folder).as_posix()
        if name == "campaign.sqlite":
            continue
        data = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        found = whole.verify()
        assert any(
            one.file == name and "not a regular file" in one.reason for one in found.problems
        )
        path.unlink()
        path.write_bytes(data)
    assert whole.verify().is_intact


def test_a_link_with_the_same_bytes_is_told(
    whole: campaign.Campaign, tmp_path_factory: pytest.TempPathFactory
) -> None:
    [path] = (whole.folder / "scores").iterdir()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "k.parquet"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)
    found = whole.verify()
    assert found.is_intact
    assert [one.file for one in found.remarks] == ["scores/k.parquet"]


def test_what_vanishes_while_it_is_looked_at_is_looked_at_again(
    whole: campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The name of a file that is being written is gone a moment later.
    look = folder_module._verify_once
    left = [1, 2]

    def vanishing(folder: Path) -> Verification:
        if left:
            left.pop()
            raise FileNotFoundError
        return look(folder)

    monkeypatch.setattr(folder_module, "_verify_once", vanishing)
    assert whole.verify().is_intact
    assert not left
