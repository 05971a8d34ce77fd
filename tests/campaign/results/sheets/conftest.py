"""A small campaign with several teams and all that must not leak from one to another."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

import cranfield as cf
from cranfield.campaign.store.records import Team
from tests.campaign.results.made import handed_in, judged, made, opened

RULES = """
[campaign]
id = "small"
title = "A small campaign"

[tasks.adhoc]
title = "Ad hoc"
topics = "topics.txt"
measures = ["nDCG@5", "AP"]
types = ["automatic", "manual"]
pool = {depth = 5}
categories = ["type"]
min_category = 3
"""

TEAMS = ("northlab", "southlab", "eastlab", "westlab", "midlab")
TYPES = ("automatic", "automatic", "automatic", "manual", "manual")

Make = Callable[..., cf.campaign.Campaign]


@cache
def template(teams: tuple[str, ...], types: tuple[str, ...], rules: str) -> Path:
    """Return the folder of a campaign that tests copy."""
    campaign = made(Path(mkdtemp()) / "campaign", topics=6, rules=rules)
    atexit.register(shutil.rmtree, campaign.folder.parent)
    with campaign.registry.change("team", "all") as change:
        for team in teams:
            name, mail = f"The {team} people", f"canary@{team}.example"
            change.insert(Team(team, name, "2026-08-01T12:00:00Z", contact=mail))
    draw = np.random.default_rng(18)
    topics = [f"q{k + 1}" for k in range(6)]
    for team, type in zip(teams, types, strict=True):
        for k in (1, 2):
            docs = {
                topic: {f"d{d}": 9.0 - r for r, d in enumerate(draw.permutation(9))}
                for topic in topics
            }
            handed_in(campaign, f"tag-{team}-{k}", docs, team=team, type=type)
    judged(campaign, {topic: {f"d{d}": d % 3 for d in range(9)} for topic in topics})
    return campaign.folder


@pytest.fixture
def small(tmp_path: Path) -> Make:
    """Make a campaign with two runs of each team; `types` are those of the teams."""

    def make(
        teams: tuple[str, ...] = TEAMS, types: tuple[str, ...] = TYPES, rules: str = RULES
    ) -> cf.campaign.Campaign:
        shutil.copytree(template(teams, types, rules), tmp_path / "campaign")
        return opened(tmp_path / "campaign")

    return make
