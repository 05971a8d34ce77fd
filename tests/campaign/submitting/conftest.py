"""A campaign of one task, and runs to hand in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cranfield import campaign

RULES = """\
[campaign]
id = "news"
title = "News"
[tasks.adhoc]
missing_topics = "allow"
"""

NOW = datetime(2026, 8, 15, 12, tzinfo=UTC)

News = Callable[..., campaign.Campaign]
Write = Callable[..., Path]


class Clock:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def go(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a run; its documents in order make the ranking."""

    def written(tag: str = "bm25", docs: str = "ab", name: str = "") -> Path:
        path = tmp_path / (name or f"{abs(hash((tag, docs)))}.run")
        lines = (f"1 Q0 {doc} {k} {9 - k} {tag}\n" for k, doc in enumerate(docs, 1))
        path.write_text("".join(lines))
        return path

    return written


@pytest.fixture
def news(tmp_path: Path, clock: Clock) -> News:
    """Make a campaign with more rules, and the teams padua and delft."""

    def made(rules: str = "") -> campaign.Campaign:
        (tmp_path / "rules.toml").write_text(RULES + rules)
        campaign.create(tmp_path / "news", tmp_path / "rules.toml")
        opened = campaign.Campaign(tmp_path / "news", actor="ann", clock=clock)
        for team in ("padua", "delft"):
            opened.add_team(team, contact=f"{team}@example.org")
        return opened

    return made
