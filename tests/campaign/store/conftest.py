"""A campaign's folder with two teams, and runs to enter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from cranfield import campaign
from cranfield.campaign.checks.report import Fault
from cranfield.campaign.store import records
from cranfield.campaign.store.records import JudgmentsRecord, Submission, Team
from cranfield.campaign.store.registry import Transaction

NOW = datetime(2026, 8, 15, 12, tzinfo=UTC)

Enter = Callable[..., Submission]


def opened(folder: Path) -> campaign.Campaign:
    return campaign.Campaign(folder, actor="nicola", clock=lambda: NOW)


def make_news(folder: Path) -> campaign.Campaign:
    """Make a campaign with the teams padua and delft, at a time that stands."""
    campaign.create(folder, actor="nicola")
    made = opened(folder)
    with made.registry.change("team", "padua") as tx:
        for id in ("padua", "delft"):
            tx.insert(Team(id, id.title(), "2026-08-01T00:00:00Z", contact=f"{id}@example.org"))
    return made


@pytest.fixture
def news(tmp_path: Path) -> campaign.Campaign:
    return make_news(tmp_path / "news")


def entered(tx: Transaction, folder: Path, tag: str, team: str = "padua") -> Submission:
    """Enter a run whose bytes are its tag."""
    sha256, size = records.put_object(folder, tag.encode())
    time = "2026-08-15T12:00:00Z"
    return tx.insert(Submission(0, "adhoc", team, tag, sha256, size, time, "accepted"))


def enter_run(news: campaign.Campaign, tag: str, team: str = "padua") -> Submission:
    """Enter a run in a change of its own."""
    with news.registry.change("submit", tag) as tx:
        one = entered(tx, news.folder, tag, team)
        tx.insert_faults(one, [Fault("tied", "warning", "2 of 4 documents are tied", 3, "1")])
    return one


@pytest.fixture
def record_run(news: campaign.Campaign) -> Enter:
    return partial(enter_run, news)


def judged(news: campaign.Campaign, version: str = "1") -> JudgmentsRecord:
    """Add judgments whose bytes are their version."""
    sha256, _ = records.put_object(news.folder, f"judgments {version}".encode())
    with news.registry.change("judgments", version) as tx:
        return tx.insert(JudgmentsRecord("adhoc", version, sha256, 3, "2026-08-20T00:00:00Z"))
