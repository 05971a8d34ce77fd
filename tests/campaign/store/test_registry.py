"""Records in, rows kept; each change is one transaction and one event."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from cranfield import campaign
from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.store import records, registry
from cranfield.campaign.store.records import (
    JudgmentsRecord,
    ReleaseRecord,
    ScoreFile,
    Submission,
    Team,
)
from cranfield.campaign.store.registry import INITIAL_HASH, Transaction

from .conftest import Enter, entered, judged


def rows(news: campaign.Campaign, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(news.folder / "campaign.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_records_come_back_as_they_went_in(news: campaign.Campaign) -> None:
    sha256, size = records.put_object(news.folder, b"1 Q0 d 1 1 bm25")
    run = Submission(
        id=0,
        task="adhoc",
        team="padua",
        tag="01",
        object=sha256,
        bytes=size,
        received="2026-08-15T12:00:00Z",
        state="accepted",
        priority=2,
        answers={"fields": "title", "ü": "'; DROP TABLE team; --"},
        metadata="tag: '01'\n",
        description="a\x00b \u202e <img onerror=x>",
        ranking="r" * 64,
        late=True,
    )
    (news.folder / "scores" / "a.parquet").write_bytes(b"scores")
    (news.folder / "releases" / "adhoc-1").mkdir()
    with news.registry.change("all") as tx:
        run = tx.insert(run)
        judgments = tx.insert(JudgmentsRecord("adhoc", "1", sha256, 3, "2026", note="first"))
        scores = tx.insert(ScoreFile("k", "adhoc", "1", "scores/a.parquet", "s", {"AP": "AP"}))
        release = tx.insert(ReleaseRecord("adhoc-1", "adhoc", "2026", "1", "releases/adhoc-1", "m"))
        assert tx.list_submissions(tag="01") == (run,)
    asked = OpenedCampaign(news.folder).registry
    assert asked.list_submissions() == (run,)
    assert run.id == 1
    assert asked.list_judgments("adhoc") == (judgments,)
    assert asked.list_judgments("other") == ()
    assert asked.list_score_files() == (scores,)
    assert asked.list_releases() == (release,)
    assert [team.id for team in asked.list_teams()] == ["delft", "padua"]
    assert asked.find_team("padua") == Team(
        "padua", "Padua", "2026-08-01T00:00:00Z", "padua@example.org"
    )
    # Text stays text, and booleans are what they are.
    assert rows(news, "SELECT tag, typeof(tag), late, is_stored FROM submission") == [
        ("01", "text", 1, 1)
    ]


def test_columns_are_the_fields_of_the_records(news: campaign.Campaign) -> None:
    for kind, table in registry.TABLES.items():
        columns = [row[1] for row in rows(news, f"PRAGMA table_info({table.name})")]
        assert columns == [one.name for one in fields(kind)], table.name


def test_a_change_is_all_or_nothing(news: campaign.Campaign) -> None:
    before = (news.folder / "campaign.sqlite").read_bytes()
    events = news.registry.list_events()
    with pytest.raises(ZeroDivisionError), news.registry.change("submit", "a") as tx:
        entered(tx, news.folder, "a")
        assert tx.list_submissions(tag="a")
        _ = 1 / 0
    assert not news.registry.list_submissions(tag="a")
    assert news.registry.list_events() == events
    assert (news.folder / "campaign.sqlite").read_bytes() == before
    assert not (news.folder / "campaign.sqlite-journal").exists()


def test_others_see_nothing_before_the_end(news: campaign.Campaign) -> None:
    with news.registry.change("submit", "a") as tx:
        entered(tx, news.folder, "a")
        assert not OpenedCampaign(news.folder).registry.list_submissions(tag="a")
    assert OpenedCampaign(news.folder).registry.list_submissions(tag="A")


def test_a_tag_is_that_of_one_accepted_run(news: campaign.Campaign, record_run: Enter) -> None:
    old = record_run("bm25")
    with pytest.raises(CranfieldError, match="refuses the change"):
        record_run("BM25", "delft")
    with news.registry.change("replace", "bm25") as tx:
        tx.update(replace(old, state="replaced"))
        new = entered(tx, news.folder, "Bm25")
        old = tx.update(replace(old, state="replaced", replaced_by=new.id))
    assert news.registry.list_submissions(tag="bm25") == (new,)
    assert news.registry.list_submissions(states=None) == (old, new)
    assert news.registry.list_submissions("adhoc", ("replaced",)) == (old,)


def test_what_is_named_has_to_be_there(news: campaign.Campaign) -> None:
    run = Submission(0, "adhoc", "padua", "a", "ab" * 32, 1, "2026", "accepted")
    with (
        pytest.raises(InputError, match="was removed before it was recorded"),
        news.registry.change("submit") as tx,
    ):
        tx.insert(run)
    with news.registry.change("submit") as tx:
        tx.insert(replace(run, is_stored=False, state="refused"))
    with pytest.raises(InputError, match="was removed before"), news.registry.change("x") as tx:
        tx.insert(ScoreFile("k", "adhoc", "1", "scores/none.parquet", "s"))
    with pytest.raises(InputError, match="was removed before"), news.registry.change("x") as tx:
        tx.insert(ReleaseRecord("r", "adhoc", "2026", "1", "releases/none", "m"))


def test_teams_and_rows_have_to_be_there(news: campaign.Campaign, record_run: Enter) -> None:
    with pytest.raises(CranfieldError, match="FOREIGN KEY"):
        record_run("a", "nobody")
    with pytest.raises(CranfieldError, match="no team nobody"), news.registry.change("x") as tx:
        tx.update(Team("nobody", "", ""))
    with pytest.raises(CranfieldError, match="Unicode"), news.registry.change("x") as tx:
        tx.insert(Team("x\ud800", "", ""))


def test_faults_are_kept_in_order(news: campaign.Campaign, record_run: Enter) -> None:
    run = record_run("a")
    (fault,) = news.registry.list_faults(run.id)
    where = (fault.code, fault.line, fault.topic, fault.doc, fault.count)
    assert where == ("tied", 3, "1", None, 1)
    assert news.registry.list_faults(99) == ()


def test_the_chain_holds_who_when_what_and_the_rows(
    news: campaign.Campaign, record_run: Enter
) -> None:
    run = record_run("a")
    events = news.registry.list_events()
    previous = INITIAL_HASH
    for event in events:
        body = {name: value for name, value in vars(event).items() if name != "sha256"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert event.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert event.previous == previous
        previous = event.sha256
    last = events[-1]
    assert (last.seq, last.at) == (len(events), "2026-08-15T12:00:00Z")
    assert (last.actor, last.action, last.subject) == ("nicola", "submit", "a")
    told = dict(json.loads(last.details)["rows"])
    assert told["submission"]["object"] == run.object
    assert told["fault"]["message"] == "2 of 4 documents are tied"


def test_a_contact_can_be_erased_and_leaves_no_byte(news: campaign.Campaign) -> None:
    team = news.registry.find_team("padua")
    assert team is not None
    contact = team.contact.encode()
    assert contact in (news.folder / "campaign.sqlite").read_bytes()
    assert "padua@" not in repr(team)
    assert all("@" not in event.details for event in news.registry.list_events())
    with news.registry.change("erase", "padua") as tx:
        tx.update(replace(team, contact=""))
    assert contact not in (news.folder / "campaign.sqlite").read_bytes()
    assert news.verify().is_intact


@pytest.mark.parametrize("query", ["UPDATE event SET at = ''", "DELETE FROM event"])
def test_events_stay(news: campaign.Campaign, query: str) -> None:
    with (
        registry.open_registry(news.folder) as connection,
        pytest.raises(sqlite3.IntegrityError, match="events are never"),
    ):
        connection.execute(query)


def test_an_object_is_forgotten_when_nobody_needs_it(
    news: campaign.Campaign, record_run: Enter
) -> None:
    first = record_run("a")
    with news.registry.change("submit", "twin") as tx:
        twin = tx.insert(replace(first, tag="twin"))
    path = records.find_object(news.folder, first.object)
    for run, there in ((first, True), (twin, False)):
        with news.registry.change("purge", run.tag) as tx:
            tx.update(replace(run, state="withdrawn", is_stored=False))
            tx.mark_unneeded(run.object)
        assert path.exists() is there
        assert news.verify().is_intact
    judgments = judged(news)
    with news.registry.change("purge") as tx:
        tx.mark_unneeded(judgments.object)
    assert records.read_object(news.folder, judgments.object) == b"judgments 1"


def test_two_at_once_wait_and_then_say_so(
    news: campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "LOCK_TIMEOUT", 0.1)
    with news.registry.change("long"):
        with (
            pytest.raises(CranfieldError) as caught,
            OpenedCampaign(news.folder).registry.change("other"),
        ):
            pass
        assert str(caught.value).endswith(
            "campaign.sqlite: another process is changing the campaign; waited 0.1 seconds"
        )
        assert len(OpenedCampaign(news.folder).registry.list_teams()) == 2
    with OpenedCampaign(news.folder).registry.change("other"):
        pass


def test_the_lock_is_kept_until_unwanted_objects_are_gone(
    news: campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    remove = Transaction.remove_unneeded_objects

    def tries(change: Transaction) -> None:
        for query in ("SELECT * FROM team", "BEGIN IMMEDIATE"):
            path = news.folder / "campaign.sqlite"
            other = sqlite3.connect(path, timeout=0, isolation_level=None)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute(query)
            other.close()
            tried.append(query)
        remove(change)

    monkeypatch.setattr(Transaction, "remove_unneeded_objects", tries)
    with news.registry.change("x"):
        pass
    assert len(tried) == 2
    assert not (news.folder / "campaign.sqlite-journal").exists()


def test_a_newer_registry_is_refused(news: campaign.Campaign) -> None:
    for version, reason in (
        (2, "newer cranfield: .*version 1, got 2"),
        (0, "is not the registry of a campaign"),
    ):
        rows(news, f"PRAGMA user_version = {version}")
        with pytest.raises(InputError, match=reason):
            news.registry.list_teams()


def test_new_rules_are_recorded_by_the_change_they_are_used_for(news: campaign.Campaign) -> None:
    was = news.registry.get_rules_files()
    assert was == dict(news.rules.files)
    path = news.folder / "campaign.toml"
    path.write_text(path.read_text() + "\n# later\n")
    again = campaign.Campaign(news.folder, clock=news.clock)
    with again.registry.change("without rules"):
        pass
    assert again.registry.get_rules_files() == was
    assert [one.file for one in again.verify().problems] == ["campaign.toml"]
    assert again.rules.id
    with (
        pytest.warns(
            UserWarning, match=r"rules changed since they were last used \(campaign\.toml\)"
        ),
        again.registry.change("with rules"),
    ):
        pass
    assert again.registry.get_rules_files() == dict(again.rules.files)
    assert [one.action for one in again.registry.list_events()[-2:]] == ["rules", "with rules"]
    assert again.verify().is_intact


def test_neither_numpy_nor_polars_is_loaded(news: campaign.Campaign) -> None:
    code = (
        "import sys; from cranfield import campaign; c = campaign.open(sys.argv[1])\n"
        "c.rules.get_task(); c.teams(); c.submissions()\n"
        "with c.registry.change('x'): pass\n"
        "c.verify()\n"
        "print([name for name in ('numpy', 'polars') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(news.folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_folder_can_be_moved(
    news: campaign.Campaign, record_run: Enter, tmp_path: Path
) -> None:
    record_run("a")
    news.folder.rename(tmp_path / "moved ü #?")
    assert campaign.open(tmp_path / "moved ü #?").verify().is_intact
