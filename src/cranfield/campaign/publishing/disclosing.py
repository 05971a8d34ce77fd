"""What of runs and teams is shown in a release: an allow-list of fields, and names of their own
for those that are to be anonymous."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count

from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission, Team

NOT_SHOWN = (
    "contacts of teams",
    "runs that were refused, replaced or withdrawn",
    "names of files as they were handed in, and of people who did things",
    "warnings of the check and the log of events",
    "other versions of the judgments",
)
"""What no release has, in the words of its README."""

NOT_SHOWN_OF_HIDDEN = (
    "descriptions and metadata, answers that are free text, hashes and days of arrival of runs"
    " whose team is not named"
)


@dataclass(frozen=True)
class Disclosed:
    """A run as a release shows it.

    Attributes
    ----------
    run
        With the fields that may be shown, and with the names under which they are.
    kept
        As the registry has it; nothing of it is written but the documents of its run.
    hidden
        Whether its team is not named.
    """

    run: Submission
    kept: Submission
    hidden: bool


def hidden_teams(teams: Iterable[Team], day: str, *, everybody: bool) -> frozenset[str]:
    """Return the teams that have no name in a release of a day, such as 2026-08-15."""
    return frozenset(
        team.id
        for team in teams
        if everybody or (team.anonymous_until is not None and day < team.anonymous_until)
    )


def disclosed(
    runs: Sequence[Submission],
    hidden: Collection[str],
    task: TaskRules,
    secret: str,
    metadata: Mapping[int, str],
) -> tuple[Disclosed, ...]:
    """Show runs, in order of the tags that they are shown by.

    Parameters
    ----------
    hidden
        Ids of the teams that are not named.
    secret
        What the order of hidden teams and of their runs is drawn by; who knows it, and the ids of
        all teams, can tell who is who.
    metadata
        What of the metadata is public, by the number of the submission.
    """
    names = _aliases(runs, hidden, secret)
    free = {name for name, question in task.questions.items() if not question.choices}
    made = []
    for run in runs:
        away = run.team in hidden
        team, tag = names[run.team, run.tag] if away else (run.team, run.tag)
        shown = Submission(
            id=0,
            task=run.task,
            team=team,
            tag=tag,
            object="" if away else run.object,
            bytes=0,
            received="" if away else run.received[:10],
            state=run.state,
            type=run.type,
            priority=run.priority,
            answers={
                name: run.answers[name]
                for name in task.questions
                if name in run.answers and not (away and name in free)
            },
            metadata=None if away else metadata.get(run.id),
            description="" if away else run.description,
            late=run.late,
            pooled=run.pooled,
        )
        made.append(Disclosed(shown, run, away))
    return tuple(sorted(made, key=lambda one: one.run.tag))


def _aliases(
    runs: Sequence[Submission], hidden: Collection[str], secret: str
) -> dict[tuple[str, str], tuple[str, str]]:
    """Name hidden teams and their runs by numbers, in an order that only the secret tells."""

    def drawn(name: str) -> str:
        return sha256(f"{secret}\n{name}".encode()).hexdigest()

    taken = {name.casefold() for run in runs for name in (run.team, run.tag)}
    own = [run for run in runs if run.team in hidden]
    teams = sorted({run.team for run in own}, key=drawn)
    width = max(2, len(str(len(teams))))
    numbers = (f"{k:0{width}}" for k in count(1))
    # A real team may be called so, or a run.
    free = (
        number
        for number in numbers
        if f"team {number}" not in taken
        and not any(re.fullmatch(rf"team{number}-\d+", name) for name in taken)
    )
    names = {}
    for team, number in zip(teams, free, strict=False):
        of_team = sorted((run.tag for run in own if run.team == team), key=drawn)
        for k, tag in enumerate(of_team, 1):
            names[team, tag] = (f"team {number}", f"team{number}-{k}")
    return names
