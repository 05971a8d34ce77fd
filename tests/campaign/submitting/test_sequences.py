"""Any sequence of what teams and organisers do ends where a naive model of it ends."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cranfield.base.errors import PolicyError
from tests.campaign.submitting.conftest import Clock, News

PER_TEAM, PER_DAY, CLOSES = 3, 6, datetime(2026, 8, 17, tzinfo=UTC)
RULES = f"runs_per_team = {PER_TEAM}\nruns_per_day = {PER_DAY}\ncloses = {CLOSES.isoformat()}\n"


@dataclass
class Run:
    """What the model knows of a submission."""

    team: str
    tag: str
    data: bytes
    day: str
    state: str
    is_stored: bool


class Model:
    """The rules, said once more in the simplest way."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def in_state(self, *states: str) -> list[Run]:
        return [run for run in self.runs if run.state in states]

    def submit(self, now: datetime, team: str, tag: str, data: bytes, replaces: str | None) -> str:
        accepted = self.in_state("accepted")
        old = [run for run in accepted if (run.team, run.tag) == (team, replaces)]
        if any((run.team, run.tag, run.data) == (team, tag, data) for run in accepted):
            return "error" if old and replaces != tag else "again"
        past = self.in_state("withdrawn", "replaced")
        if replaces is None and any((r.team, r.tag, r.data) == (team, tag, data) for r in past):
            return "past"
        if replaces is not None and not old:
            return "error"
        day = now.date().isoformat()
        others = [run for run in accepted if run not in old]
        foreign = [run for run in self.in_state("replaced") if run.team != team]
        allowed = (
            tag.lower() not in {run.tag.lower() for run in others + foreign}
            and sum(run.team == team for run in others) < PER_TEAM
            and sum((run.team, run.day) == (team, day) for run in self.runs) < PER_DAY
            and now <= CLOSES
        )
        if allowed and old:
            old[0].state = "replaced"
        state = "accepted" if allowed else "refused"
        self.runs.append(Run(team, tag, data, day, state, allowed))
        return state

    def withdraw(self, tag: str) -> str:
        for run in self.in_state("accepted"):
            if run.tag.lower() == tag.lower():
                run.state = "withdrawn"
                return "withdrawn"
        return "error"

    def purge(self, tag: str) -> str:
        runs = [run for run in self.in_state("withdrawn", "replaced") if run.tag == tag]
        if len(runs) != 1 or not runs[0].is_stored:
            return "error"
        runs[0].is_stored = False
        return "purged"


@pytest.mark.parametrize("seed", (3, 4, 8))
def test_sequences(news: News, clock: Clock, tmp_path: Path, seed: int) -> None:
    opened, model, draw = news(RULES), Model(), random.Random(seed)
    tags, teams = ("a", "A", "b", "c", "d"), ("padua", "delft")
    seen = set()
    for _ in range(60):
        clock.go(hours=draw.choice([0, 0, 1, 5, -2]))
        tag, team = draw.choice(tags), draw.choice(teams)
        action = draw.choice(["submit"] * 6 + ["withdraw", "purge"])
        try:
            if action == "submit":
                path = tmp_path / "some.run"
                data = f"1 Q0 {draw.choice('xyz')} 1 1 {tag}\n".encode()
                path.write_bytes(data)
                replaces = draw.choice([None, None, None, *tags])
                wanted = model.submit(clock.now, team, tag, data, replaces)
                done = opened.submit(path, team=team, replaces=replaces)
                found = "again" if done.is_repeat else done.submission.state
                if done.is_repeat and not done.is_accepted:
                    found = "past"
            elif action == "withdraw":
                wanted = model.withdraw(tag)
                found = opened.withdraw(tag, "why").state
            else:
                wanted = model.purge(tag)
                found = "purged" if not opened.purge(tag, "why").is_stored else "kept"
        except PolicyError:
            found = "error"
        assert found == wanted
        seen.add(found)
        there = opened.registry.list_submissions(None, None)
        assert [(one.team, one.tag, one.state, one.is_stored, one.object) for one in there] == [
            (run.team, run.tag, run.state, run.is_stored, hashlib.sha256(run.data).hexdigest())
            for run in model.runs
        ]
        names = {path.name for path in (opened.folder / "objects").glob("*/*")}
        assert names == {one.object for one in there if one.is_stored}
    assert seen >= {"accepted", "refused", "again", "error"}
    assert opened.verify().is_intact and not opened.verify().leftover_files
