"""A small campaign with a word in every private place, that no release may hold."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from cranfield.campaign.checks.report import Fault
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.store import records
from cranfield.campaign.store.folder import create_folder
from cranfield.campaign.store.records import (
    ACCEPTED,
    REFUSED,
    REPLACED,
    WITHDRAWN,
    JudgmentsRecord,
    Submission,
    Team,
)

RULES = """
# canary-comment: call Ann before the first of July
[campaign]
id = "news-2026"
title = "News search 2026"
keep_refused = true
consent = "Runs are published under CC BY 4.0; contacts are not."

[tasks.adhoc]
title = "Ad hoc"
measures = ["nDCG@10", "P@5"]
types = ["automatic", "manual"]
categories = ["type", "fields"]
min_category = 2
[tasks.adhoc.questions.fields]
ask = "Which fields?"
choices = ["title", "all"]
[tasks.adhoc.questions.notes]
ask = "What else?"
"""
TEAMS = {"padua": "Università di Padova", "delft": "TU Delft", "tampere": "Tampere <b>U</b>"}
TOPICS = tuple(str(k) for k in range(1, 9))
METADATA = "actor:\n  mail: canary-mail@example.org\n  team: {}\n"
CLOCK = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run_text(tag: str, seed: int, good: float, docs: int = 15) -> bytes:
    """A run whose scores have an odd form, with comments where they may be."""
    random = np.random.default_rng(seed)
    lines = [f"# canary-comment of {tag}"]
    for topic in TOPICS:
        scores = random.random(30)
        scores[:8] += good
        for rank, k in enumerate(np.argsort(-scores)[:docs], 1):
            lines.append(f"{topic} Q0 doc{k:02}\t{rank} {scores[k]:.6e} {tag}")
    return ("\n".join(lines) + "\n").encode()


def make_campaign(folder: Path, *, actor: str = "canary-actor") -> OpenedCampaign:
    """Three teams with five accepted runs, and one of each other state."""
    rules = folder.parent / f"{folder.name}.toml"
    rules.write_text(RULES)
    create_folder(folder, rules, actor)
    opened = OpenedCampaign(folder, actor=actor, clock=lambda: CLOCK)
    with opened.registry.change("team") as tx:
        for number, (id, name) in enumerate(TEAMS.items()):
            contact = f"canary-contact-{number}@example.org"
            tx.insert(Team(id, name, "2026-07-01T00:00:00Z", contact=contact))
    given = [
        ("padua", "bm25-a", ACCEPTED, "automatic"),
        ("padua", "bm25rm3", ACCEPTED, "manual"),
        ("delft", "Dense_1", ACCEPTED, "automatic"),
        ("delft", "dense.2", ACCEPTED, "automatic"),
        ("tampere", "tut-late", ACCEPTED, "manual"),
        ("delft", "canary-refused", REFUSED, "automatic"),
        ("delft", "canary-replaced", REPLACED, "automatic"),
        ("padua", "canary-withdrawn", WITHDRAWN, "automatic"),
    ]
    for number, (team, tag, state, type) in enumerate(given):
        submit(opened, team, tag, state, type, number)
    add_judgments(opened, "1", 0)
    return opened


def submit(
    opened: OpenedCampaign,
    team: str,
    tag: str,
    state: str = ACCEPTED,
    type: str = "",
    number: int = 0,
) -> Submission:
    text = run_text(tag, number, 0.1 * number)
    sha256, size = records.put_object(opened.folder, lzma.compress(text) if number % 2 else text)
    made = Submission(
        id=0,
        task="adhoc",
        team=team,
        tag=tag,
        object=sha256,
        bytes=size,
        received=f"2026-08-{number + 1:02}T10:00:00Z",
        state=state,
        type=type,
        priority=number + 1,
        answers={"fields": "title" if number % 3 else "all", "notes": f"secret sauce of {team}"},
        metadata=METADATA.format(team),
        description=f"Run {tag} of {team}, with <i>markup</i>",
        rules="canary-rules",
        source=f"/home/canary-path/{tag}.run",
        late=tag == "tut-late",
        pooled=tag != "tut-late",
        reason="canary-reason",
    )
    with opened.registry.change("submit", tag) as tx:
        made = tx.insert(made)
        tx.insert_faults(
            made, [Fault("ranking-same", "warning", "the same ranking as 'canary-other'", line=1)]
        )
    return made


def add_judgments(
    opened: OpenedCampaign, version: str, seed: int, doc: str = "doc"
) -> JudgmentsRecord:
    random = np.random.default_rng(seed)
    lines = [
        f"{topic} 0 {doc}{k:02} {int(random.random() < 0.8) + int(k < 3)}"
        for topic in TOPICS
        for k in range(12)
    ]
    sha256, _ = records.put_object(opened.folder, ("\n".join(lines) + "\n").encode())
    record = JudgmentsRecord(
        "adhoc", version, sha256, len(lines), "2026-10-01T00:00:00Z", note="canary-note"
    )
    with opened.registry.change("judgments", version) as tx:
        return tx.insert(record)


def embargo(opened: OpenedCampaign, team: str, until: str) -> None:
    with opened.registry.change("team", team) as tx:
        found = tx.find_team(team)
        assert found is not None
        tx.update(replace(found, anonymous_until=until))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every byte of a release, the names of its files, and what is compressed in them."""
    for name, data in contents(folder).items():
        yield name, name.encode()
        yield name, data
        if name.endswith(".xz"):
            yield name, lzma.decompress(data)
        if name.endswith(".parquet"):
            yield name, pl.read_parquet(folder / name).write_csv().encode()


def hits(folder: Path, *words: str) -> list[tuple[str, str]]:
    """Where words stand in a release, whatever their case."""
    return [
        (name, word)
        for name, data in everything(folder)
        for word in words
        if word.casefold().encode() in data.lower()
    ]
