"""Runs are submitted: what is decided, what is kept, and what is told to whom."""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.campaign import Campaign
from cranfield.campaign.checks import checking
from cranfield.campaign.store import records
from cranfield.campaign.submitting.submit import SubmissionOutcome
from tests.campaign.submitting.conftest import News, Write


def codes(submitted: SubmissionOutcome) -> list[str]:
    return [f"{one.code} {one.severity}" for one in submitted.report.faults]


def test_an_accepted_run_is_kept_as_it_came(news: News, write: Write) -> None:
    opened, run = news(), write()
    done = opened.submit(run, team="padua")
    assert done.is_accepted and not done.is_repeat
    assert repr(done) == "SubmissionOutcome('bm25', accepted)"
    one = done.submission
    assert one.object == hashlib.sha256(run.read_bytes()).hexdigest()
    assert (one.bytes, one.received, one.source) == (32, "2026-08-15T12:00:00Z", run.name)
    kept = opened.folder / "objects" / one.object[:2] / one.object
    assert kept.read_bytes() == run.read_bytes()
    assert opened.submissions() == (one,)
    [event] = [one for one in opened.registry.list_events() if one.action == "submit"]
    assert (event.actor, event.subject) == ("ann", "bm25")


def test_a_refused_run_leaves_its_faults_and_no_bytes(news: News, write: Write) -> None:
    opened = news()
    done = opened.submit(write("../x"), team="padua")
    assert not done.is_accepted
    assert codes(done) == ["tag error"]
    assert opened.submissions() == ()
    [one] = opened.submissions(states=["refused"])
    assert (one.tag, one.reason, one.is_stored) == ("../x", "tag", False)
    assert opened.registry.list_faults(one.id) == done.report.faults
    assert [path for path in (opened.folder / "objects").rglob("*") if path.is_file()] == []


def test_a_team_that_is_not_there(news: News, write: Write) -> None:
    with pytest.raises(PolicyError, match="unknown team 'ghent'; add it with"):
        news().submit(write(), team="ghent")


def test_what_a_team_does_again_changes_nothing(news: News, write: Write) -> None:
    opened = news("runs_per_team = 1\nruns_per_day = 1\n")
    first = opened.submit(write(), team="padua", description="mine")
    events = opened.registry.list_events()
    again = opened.submit(write(), team="padua", description="mine")
    assert again.is_repeat and again.is_accepted
    assert again.submission == first.submission
    assert opened.registry.list_events() == events
    other = opened.submit(write(), team="padua", description="not the same")
    assert codes(other) == ["limit error", "limit error", "tag-taken error", "ranking-same warning"]


def test_a_tag_is_taken_and_nobody_is_told_by_whom(news: News, write: Write) -> None:
    opened = news()
    opened.submit(write("bm25"), team="padua")
    own = opened.submit(write("BM25", "xy"), team="padua")
    assert [one.message for one in own.report.faults] == [
        "tag 'BM25' is taken; replace that run instead"
    ]
    others = opened.submit(write("BM25", "xy"), team="delft")
    assert [one.message for one in others.report.faults] == ["tag 'BM25' is taken"]
    opened.withdraw("bm25", "a bug")
    assert opened.submit(write("BM25", "xy"), team="delft").is_accepted


def test_the_same_ranking_of_another_team_is_for_organisers(news: News, write: Write) -> None:
    opened = news()
    opened.submit(write("one"), team="padua")
    done = opened.submit(write("two"), team="delft")
    assert done.is_accepted
    assert done.report.faults == ()
    assert "padua" not in str(done.report) and "one" not in str(done.report)
    assert opened.registry.list_faults(done.submission.id) == ()
    [private] = opened.registry.list_faults(done.submission.id, includes_private=True)
    assert private.severity == "private"
    assert private.message == "the run has the same ranking as 'one' of team 'padua'"
    own = opened.submit(write("three"), team="padua")
    assert [one.message for one in own.report.faults] == ["the run has the same ranking as 'one'"]


def test_all_that_is_wrong_with_what_is_said(news: News, write: Write) -> None:
    opened = news(
        "types = ['automatic', 'manual']\npriorities = 3\n"
        "[tasks.adhoc.questions.fields]\nask = 'Which?'\nchoices = ['title', 'all']\n"
        "required = true\n[tasks.adhoc.questions.note]\nask = 'Anything else?'\n"
    )
    done = opened.submit(write(), team="padua")
    assert [one.message for one in done.report.faults] == [
        "type is missing; expected one of: automatic, manual",
        "priority must be an integer from 1 to 3, got none",
        "answer 'fields' is missing: Which?; expected one of: title, all",
    ]
    done = opened.submit(
        write(),
        team="padua",
        type="auto",
        priority=4,
        answers={"fields": "titel", "length": "5", "note": "a\x1b[31mb"},
        description="a\u202eb",
    )
    assert [one.message for one in done.report.faults] == [
        "unknown type 'auto'; expected one of: automatic, manual",
        "priority must be an integer from 1 to 3, got 4",
        "unknown question 'length'; expected one of: fields, note",
        "unknown answer 'titel' to 'fields'; expected one of: title, all",
        "'note' must not contain unprintable characters, got 'a\\x1b[31mb'",
        "'description' must not contain unprintable characters, got 'a\\u202eb'",
    ]
    right: dict[str, Any] = {"type": "manual", "priority": 3}
    right["answers"] = {"fields": "all", "note": " "}
    done = opened.submit(write(), team="padua", **right)
    assert done.is_accepted and done.submission.answers == {"fields": "all"}
    second = opened.submit(write("b", "xy"), team="padua", **right)
    [fault] = second.report.faults
    assert fault.message == "run 'bm25' already has priority 3; use another priority"


def test_a_priority_that_another_run_has_is_a_warning(news: News, write: Write) -> None:
    opened = news("priorities = 2\n")
    for tag, docs, priority in (("a", "ab", 1), ("b", "ba", 2)):
        assert not opened.submit(write(tag, docs), team="padua", priority=priority).report.faults
    [fault] = opened.submit(write("c", "xy"), team="padua", priority=1).report.faults
    assert "run 'a' already has priority 1; no other is free" in fault.message
    # The run that has the tag also has the priority.
    [fault] = opened.submit(write("a", "yx"), team="padua", priority=1).report.faults
    assert fault.code == "tag-taken"


def test_a_replacement_may_have_the_tag_of_what_it_replaces(news: News, write: Write) -> None:
    opened = news("runs_per_team = 1\n")
    old = opened.submit(write("a", "ab"), team="padua").submission
    new = opened.submit(write("a", "ba"), team="padua", replaces="a").submission
    assert new.state == "accepted"
    [replaced] = opened.submissions(states=["replaced"])
    assert (replaced.id, replaced.replaced_by) == (old.id, new.id)
    assert opened.submit(write("a", "ba"), team="padua", replaces="a").is_repeat
    third = opened.submit(write("b", "xy"), team="padua", replaces="a").submission
    assert opened.submit(write("b", "xy"), team="padua", replaces="a").is_repeat
    assert opened.submissions() == (third,)
    taken = opened.submit(write("A", "xz"), team="delft")
    assert codes(taken) == ["tag-taken error"]
    refused = opened.submit(write("../x"), team="padua", replaces="b")
    assert not refused.is_accepted and opened.submissions() == (third,)
    for team, tag in (("delft", "b"), ("padua", "a"), ("padua", "nothing")):
        with pytest.raises(PolicyError, match=f"team '{team}' has no accepted run '{tag}'"):
            opened.submit(write("c", "pq"), team=team, replaces=tag)


def test_a_forgotten_time_is_corrected_by_a_replacement(news: News, write: Write) -> None:
    opened = news('closes = 2026-08-01T00:00:00Z\nlate = "mark"\n')
    late = opened.submit(write(), team="padua").submission
    in_time: dict[str, Any] = {"team": "padua", "received": datetime(2026, 7, 31, tzinfo=UTC)}
    again = opened.submit(write(), **in_time)
    assert again.is_repeat and opened.submissions() == (late,)
    assert [one.message for one in again.report.faults] == [
        "the submission time is still 2026-08-15T12:00:00Z; to change it to"
        " 2026-07-31T00:00:00Z, replace the run"
    ]
    for is_repeat in (False, True):
        done = opened.submit(write(), replaces="bm25", **in_time)
        assert done.is_repeat == is_repeat and not done.report.faults
        [run] = opened.submissions()
        assert (run.received, run.late) == ("2026-07-31T00:00:00Z", False)
    [old] = opened.submissions(states=["replaced"])
    assert (late.late, old.replaced_by) == (True, run.id)


def test_a_run_that_is_there_replaces_no_other(news: News, write: Write) -> None:
    opened = news()
    for tag, docs in (("dense", "ab"), ("fused", "ba")):
        opened.submit(write(tag, docs), team="padua")
    there = opened.submissions()
    with pytest.raises(PolicyError, match="already submitted as 'fused'"):
        opened.submit(write("fused", "ba"), team="padua", replaces="dense")
    assert opened.submissions() == there


def test_bytes_that_change_while_they_are_read(
    news: News, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is what was checked, whatever becomes of the file."""
    opened, run = news(), write()
    before = run.read_bytes()
    check = checking.check_with_metadata

    def slow(*given: Any) -> Any:
        run.write_text("not what was checked")
        return check(*given)

    monkeypatch.setattr("cranfield.campaign.submitting.submit.check_with_metadata", slow)
    one = opened.submit(run, team="padua").submission
    assert run.read_bytes() != before
    assert records.read_object(opened.folder, one.object) == before


def test_standard_input(news: News, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, run = news(), write()
    given = io.TextIOWrapper(io.BytesIO(run.read_bytes()))
    monkeypatch.setattr("sys.stdin", given)
    one = opened.submit("-", team="padua").submission
    assert (one.state, one.source) == ("accepted", "standard input")


def test_the_check_here_is_that_of_submission(news: News, write: Write) -> None:
    opened = news("closes = 2026-08-15T11:00:00Z\n")
    there = opened.check(write("../x"), team="padua", type="x")
    assert [one.code for one in there.errors] == ["tag", "answers", "closed"]
    assert there == opened.submit(write("../x"), team="padua", type="x").report
    assert [one.code for one in opened.check(write("../x")).errors] == ["tag"]
    assert len(opened.submissions(states=["refused"])) == 1
    assert sorted(path.name for path in opened.folder.iterdir() if path.name[0] == ".") == []


def test_refused_bytes_are_kept_where_the_rules_say_so(
    news: News, write: Write, tmp_path: Path
) -> None:
    opened = news()
    rules = tmp_path / "news" / "campaign.toml"
    rules.write_text(rules.read_text().replace("[tasks", "keep_refused = true\n[tasks", 1))
    with pytest.warns(
        CranfieldWarning,
        match="rules changed .*packs made earlier are out of date",
    ):
        one = Campaign(tmp_path / "news").submit(write("../x"), team="padua").submission
    assert (
        one.is_stored
        and records.read_object(opened.folder, one.object) == write("../x").read_bytes()
    )
    assert not opened.purge("../x", "private things in it").is_stored
    assert not records.find_object(opened.folder, one.object).exists()


def test_a_wrong_pattern_is_an_error_of_the_rules_with_its_line(
    news: News, write: Write, tmp_path: Path
) -> None:
    news()
    path = tmp_path / "news" / "campaign.toml"
    path.write_text(path.read_text() + "tag = '[a-'\n")
    number = path.read_text().count("\n")
    opened = Campaign(tmp_path / "news")
    assert len(opened.teams()) == 2
    with pytest.raises(InputError) as error:
        opened.submit(write(), team="padua")
    assert str(error.value) == (
        f"campaign.toml:{number}: tasks.adhoc.tag: pattern '[a-' does not compile:"
        " unclosed character class"
    )
    assert not opened.registry.list_submissions(None, None)


def test_metadata_of_a_header_or_beside_the_run(news: News, write: Write, tmp_path: Path) -> None:
    opened = news("[tasks.adhoc.metadata]\nrequired = ['actor.team']\n")
    missing = opened.submit(write("a", "ab"), team="padua")
    assert codes(missing) == ["metadata-missing error"]
    (tmp_path / "ir-metadata.yml").write_text("tag: a\nactor: {team: Padua}  # us\n")
    done = opened.submit(write("a", "ab"), team="padua")
    assert done.submission.metadata == "tag: a\nactor: {team: Padua}  # us\n"
    # It names another run, so it is not this one's.
    assert codes(opened.submit(write("b", "ba"), team="padua")) == ["metadata-missing error"]
    (tmp_path / "b.run.ir-metadata.yml").write_text("actor: {team: [\n")
    assert codes(opened.submit(write("b", "ba", "b.run"), team="padua")) == ["metadata-yaml error"]
    run = write("c", "xy", "c.run")
    run.write_text(
        "# ir_metadata.start\n# actor:\n#   team: Delft\n# ir_metadata.end\n" + run.read_text()
    )
    done = opened.submit(run, team="delft")
    assert (done.is_accepted, done.submission.metadata) == (True, "actor:\n  team: Delft\n")
    assert "tag-taken" in [one.code for one in opened.check(run, team="padua").faults]


@pytest.mark.parametrize("severity", ["off", "warning"])
def test_a_tag_that_can_be_no_file_is_refused_whatever_the_rules_say(
    news: News, write: Write, severity: str
) -> None:
    opened = news(f"severities = {{tag = '{severity}', tag-taken = 'off'}}\n")
    for tag in ("../x", "CON", "a/b", ".x", "x" * 300):
        done = opened.submit(write(tag), team="padua")
        assert "tag error" in codes(done), tag
    assert opened.submit(write("a", "ab"), team="padua").is_accepted
    assert not opened.submit(write("A", "ba"), team="padua").is_accepted


def test_what_the_reader_of_scores_refuses_is_refused(
    news: News, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise InputError("is no run for this reader", line=2)

    monkeypatch.setattr("cranfield.campaign.checks.checking.read_run", refuse)
    done = news("").submit(write(), team="padua")
    [fault] = done.report.errors
    assert (fault.code, fault.line) == ("unreadable", 2)
    assert fault.message == "is no run for this reader"


CUT_OFF = [f"1 Q0 c {text}" for text in ("3 0.5 ", "3 0.5\t", "3 0.", "3 ", "", "3 0.5")]
BLANKS = [" ", "\t", "  ", " \t", "\r", "\n \n", "\n\t"]


@pytest.mark.parametrize("end", [*CUT_OFF, "1 ", *BLANKS])
def test_a_run_without_its_last_column_is_refused_and_blanks_are_no_column(
    news: News, write: Write, end: str
) -> None:
    path = write()
    text = path.read_text()
    path.write_text((text.removesuffix("\n") if end in BLANKS else text) + end, newline="")
    done = news("").submit(path, team="padua")
    assert done.is_accepted is (end in BLANKS)
    assert [(one.code, one.line) for one in done.report.faults] == [("columns", 3)] * (
        end not in BLANKS
    )
