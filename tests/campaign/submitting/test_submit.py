"""Runs are handed in: what is decided, what is kept, and what is told to whom."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.base.errors import PolicyError
from cranfield.campaign import Campaign
from cranfield.campaign.submitting.submit import Submitted

News = Callable[..., Campaign]
Write = Callable[..., Path]


def codes(submitted: Submitted) -> list[str]:
    return [f"{one.code} {one.severity}" for one in submitted.report.faults]


def test_an_accepted_run_is_kept_as_it_came(news: News, write: Write) -> None:
    opened, run = news(), write()
    done = opened.submit(run, team="padua")
    assert done.accepted and not done.again
    assert repr(done) == "Submitted('bm25', accepted)"
    one = done.submission
    assert one.object == hashlib.sha256(run.read_bytes()).hexdigest()
    assert (one.bytes, one.received, one.source) == (32, "2026-08-15T12:00:00Z", run.name)
    kept = opened.folder / "objects" / one.object[:2] / one.object
    assert kept.read_bytes() == run.read_bytes()
    assert opened.submissions() == (one,)
    [event] = [one for one in opened.registry.events() if one.action == "submit"]
    assert (event.actor, event.subject) == ("ann", "bm25")


def test_a_refused_run_leaves_its_faults_and_no_bytes(news: News, write: Write) -> None:
    opened = news()
    done = opened.submit(write("../x"), team="padua")
    assert not done.accepted
    assert codes(done) == ["tag error"]
    assert opened.submissions() == ()
    [one] = opened.submissions(states=["refused"])
    assert (one.tag, one.reason, one.kept) == ("../x", "tag", False)
    assert opened.registry.faults(one.id) == done.report.faults
    assert [path for path in (opened.folder / "objects").rglob("*") if path.is_file()] == []


def test_a_team_that_is_not_there(news: News, write: Write) -> None:
    with pytest.raises(PolicyError, match="there is no team 'ghent'; add it with"):
        news().submit(write(), team="ghent")
