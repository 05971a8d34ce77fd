"""Runs are withdrawn and purged: where their state allows it, and never in silence."""

from __future__ import annotations

import pytest

from cranfield.base.errors import CranfieldWarning, PolicyError
from cranfield.campaign import Campaign
from cranfield.campaign.store import records
from tests.campaign.submitting.conftest import Clock, News, Write


def test_withdrawn_and_purged(news: News, write: Write) -> None:
    opened = news()
    run = opened.submit(write(), team="padua").submission
    kept = records.find_object(opened.folder, run.object)
    with pytest.raises(PolicyError, match="run 'bm25' is accepted; withdraw it first"):
        opened.purge("bm25", "private")
    gone = opened.withdraw("BM25", "a bug")
    assert (gone.state, gone.reason) == ("withdrawn", "a bug")
    assert kept.exists()
    with pytest.raises(
        PolicyError, match="no accepted run has the tag 'bm25'; .* is already withdrawn"
    ):
        opened.withdraw("bm25", "again")
    purged = opened.purge("bm25", "names in it")
    assert (purged.state, purged.is_stored, purged.object) == ("withdrawn", False, run.object)
    assert not kept.exists()
    with pytest.raises(PolicyError, match="run 'bm25' has no stored file to purge$"):
        opened.purge("bm25", "again")
    told = [(one.action, one.subject) for one in opened.registry.list_events()][-2:]
    assert told == [("withdraw", "BM25"), ("purge", "bm25")]
    assert "names in it" in opened.registry.list_events()[-1].details
    assert opened.verify().is_intact


def test_a_repeated_command_does_not_restore_a_run(news: News, write: Write, clock: Clock) -> None:
    opened = news()
    path = write()
    opened.submit(path, team="padua")
    opened.submit(write("other"), team="padua")
    # The tag in another case, and another withdrawal before.
    opened.withdraw("other", "a bug")
    clock.go(days=1)
    opened.withdraw("BM25", "a bug")
    events = opened.registry.list_events()
    again = opened.submit(path, team="padua")
    assert (again.is_accepted, again.is_repeat, again.submission.state) == (
        False,
        True,
        "withdrawn",
    )
    date = events[-1].at[:10]
    assert f"already submitted, withdrawn on {date}: not accepted again" in str(again)
    assert not opened.check(path, team="padua").is_accepted
    assert opened.registry.list_events() == events
    # Another declared tag is an error, as for every run.
    wrong_tag = opened.submit(path, team="padua", tag="bm26")
    assert (wrong_tag.is_repeat, wrong_tag.submission.state) == (False, "refused")
    assert opened.submit(path, team="delft").is_accepted
    opened.withdraw("bm25", "a bug")
    assert opened.submit(path, team="padua", description="a new run").is_accepted
    # A replaced run stays replaced, unless it explicitly replaces its replacement.
    opened.submit(write("new"), team="padua", replaces="bm25", description="a new run")
    again = opened.submit(path, team="padua", description="a new run")
    assert "replaced by 'new'" in str(again) and not again.is_accepted and again.is_repeat
    again = opened.submit(path, team="padua", description="a new run", replaces="new")
    assert again.is_accepted and not again.is_repeat
    # The newest of several past runs is named.
    opened.withdraw("bm25", "a bug")
    assert "withdrawn on" in str(opened.submit(path, team="padua", description="a new run"))


def test_what_became_of_a_run_is_not_what_became_of_another_teams(news: News, write: Write) -> None:
    opened = news()
    opened.submit(write(), team="padua")
    opened.withdraw("bm25", "a bug")
    assert not opened.submit(write(docs="aa"), team="delft").is_accepted
    with pytest.raises(PolicyError, match="the run of team 'padua' .* is already withdrawn"):
        opened.withdraw("bm25", "again")
    assert not opened.submit(write("dense", "aa"), team="delft").is_accepted
    with pytest.raises(PolicyError, match="'dense'; submissions with this tag were refused"):
        opened.withdraw("dense", "again")


def test_bytes_that_another_run_needs_stay(news: News, write: Write) -> None:
    """The same bytes, withdrawn by one team and then another team's."""
    opened = news()
    run = opened.submit(write(), team="padua").submission
    opened.withdraw("bm25", "a bug")
    other = opened.submit(write(), team="delft").submission
    assert other.object == run.object
    assert opened.purge("bm25", "private").team == "padua"
    assert records.find_object(opened.folder, run.object).exists()
    opened.withdraw("bm25", "a bug")
    with pytest.raises(PolicyError, match=r"such as id=2: 1 .*, already purged\), 2 "):
        opened.purge("bm25", "private")
    assert opened.purge("bm25", "private", id=2).team == "delft"
    assert not records.find_object(opened.folder, run.object).exists()
    assert opened.verify().is_intact


def test_a_replaced_run_is_purged_beside_its_replacement(news: News, write: Write) -> None:
    opened = news()
    old = opened.submit(write("a", "ab"), team="padua").submission
    new = opened.submit(write("a", "ba"), team="padua", replaces="a").submission
    assert opened.purge("a", "names in it").id == old.id
    assert not records.find_object(opened.folder, old.object).exists()
    assert records.find_object(opened.folder, new.object).exists()
    with pytest.raises(PolicyError, match="withdraw it first"):
        opened.purge("a", "names in it")


def test_no_run_of_another_team_is_purged(news: News, write: Write) -> None:
    opened = news()
    rules = opened.folder / "campaign.toml"
    rules.write_text(rules.read_text().replace("[tasks", "keep_refused = true\n[tasks"))
    with pytest.warns(CranfieldWarning, match="the rules changed"):
        run = Campaign(opened.folder).submit(write("R1", "ab"), team="delft").submission
    opened = Campaign(opened.folder)
    for tag, docs in (("r1", "bc"), ("R1", "cd")):
        assert not opened.submit(write(tag, docs), team="padua").is_accepted
    opened.withdraw("R1", "their wish")
    with pytest.raises(
        PolicyError, match=r"^2 runs have the tag 'R1'; .* 1 \(withdrawn, of 'delft'"
    ):
        opened.purge("R1", "their wish")
    assert opened.purge("R1", "their wish", id=run.id).team == "delft"
    for id in (None, run.id):
        with pytest.raises(PolicyError, match="2 runs have the tag|has no stored file to purge"):
            opened.purge("R1", "their wish", id=id)
    with pytest.raises(PolicyError, match=r"^no run 'R1' has the id 4; expected one of: 1, 3$"):
        opened.purge("R1", "their wish", id=4)
    with pytest.raises(PolicyError, match=r"^unknown run 'R2'$"):
        opened.purge("R2", "a mistake")
    assert [run.is_stored for run in opened.submissions(states=["refused"])] == [True, True]
    # The tag has to be in the same case.
    assert opened.purge("r1", "their wish").tag == "r1"
    opened.submit(write("Dense", "de"), team="padua")
    with pytest.raises(PolicyError, match=r"^unknown run 'dense'; did you mean 'Dense'\?$"):
        opened.purge("dense", "private")


@pytest.mark.parametrize("reason", ["", "  ", "a\x1b[31mb"])
def test_reasons_are_for_people(news: News, write: Write, reason: str) -> None:
    opened = news()
    opened.submit(write(), team="padua")
    for take_back in (opened.withdraw, opened.purge):
        with pytest.raises(PolicyError, match="reason"):
            take_back("bm25", reason)
    assert len(opened.submissions()) == 1
