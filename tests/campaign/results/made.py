"""Campaigns made by hand for tests: runs enter the registry as a submission leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from cranfield.campaign.store import records
from cranfield.campaign.store.records import Submission, Team

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)

RULES = """
[campaign]
id = "made"
title = "Made for a test"

[tasks.adhoc]
topics = "topics.txt"
measures = ["AP", "nDCG@10", "P@5"]
priorities = 2
pool = {depth = 10, priorities = [1]}
min_category = 2
"""


def opened(folder: Path) -> cf.campaign.Campaign:
    """Open a campaign at a time that stands."""
    return cf.campaign.Campaign(folder, clock=lambda: NOW)


Rankings = Mapping[str, Mapping[str, float]]


def made(folder: Path, topics: int = 4, rules: str = RULES) -> cf.campaign.Campaign:
    """Make a campaign of topics q1, q2 and so on, with one team."""
    given = folder.parent / f"{folder.name}-rules"
    given.mkdir(exist_ok=True)
    (given / "campaign.toml").write_text(rules)
    (given / "topics.txt").write_text("".join(f"q{k + 1}\n" for k in range(topics)))
    cf.campaign.create(folder, given / "campaign.toml")
    campaign = opened(folder)
    with campaign.registry.change("team", "us") as change:
        change.insert(Team("us", "Us", "2026-08-01T12:00:00Z"))
    return campaign


def lines(tag: str, rankings: Rankings) -> bytes:
    """Write a run."""
    return "".join(
        f"{topic} Q0 {doc} {rank} {score} {tag}\n"
        for topic, docs in rankings.items()
        for rank, (doc, score) in enumerate(docs.items(), 1)
    ).encode()


def handed_in(
    campaign: cf.campaign.Campaign, tag: str, run: bytes | Rankings, **more: Any
) -> Submission:
    """Enter a run as accepted."""
    data = run if isinstance(run, bytes) else lines(tag, run)
    sha256, size = records.put_object(campaign.folder, data)
    more = {"type": "automatic", "priority": 1, "team": "us", "state": "accepted", **more}
    record = Submission(
        id=0,
        task="adhoc",
        tag=tag,
        object=sha256,
        bytes=size,
        received="2026-08-01T12:00:00Z",
        **more,
    )
    with campaign.registry.change("submit", tag) as change:
        return change.insert(record)


def judged(campaign: cf.campaign.Campaign, qrels: Rankings | str, version: str = "1") -> None:
    """Add judgments."""
    path = campaign.folder.parent / f"qrels-{version}.txt"
    if isinstance(qrels, str):
        path.write_text(qrels)
    else:
        rows = [(t, d, g) for t, docs in qrels.items() for d, g in docs.items()]
        path.write_text("".join(f"{t} 0 {d} {int(g)}\n" for t, d, g in rows))
    campaign.add_judgments(path, version=version, drop_judgments=True)


TOPICS = 4
DOCS = [f"d{k:03d}" for k in range(60)]


def rankings(seed: int) -> dict[str, dict[str, float]]:
    draw = np.random.default_rng(seed)
    found = {}
    for topic in range(TOPICS):
        docs = draw.permutation(DOCS)[: draw.integers(5, 40)]
        scores = np.sort(draw.random(len(docs)).round(2))[::-1]
        found[f"q{topic + 1}"] = dict(zip(docs.tolist(), scores.tolist(), strict=True))
    return found


def qrels(seed: int = 99) -> dict[str, dict[str, float]]:
    draw = np.random.default_rng(seed)
    return {
        f"q{topic + 1}": {d: int(draw.integers(0, 3)) for d in draw.permutation(DOCS)[:25].tolist()}
        for topic in range(TOPICS)
    }


def scored(
    folder: Path, tags: Iterable[str], seed: int = 0, version: str = "1", **more: Any
) -> cf.campaign.Campaign:
    """Make a campaign with judgments and a run of random rankings for each tag."""
    campaign = made(folder, **more)
    judged(campaign, qrels(), version)
    for number, tag in enumerate(tags, seed):
        handed_in(campaign, tag, rankings(number))
    return campaign
