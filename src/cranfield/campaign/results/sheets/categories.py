"""Which runs a run is compared with, so that nothing is told of a few others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission

ALL = ("", "")
"""The group of all runs, as category and value."""

Group = tuple[str, str]


def value_of(run: Submission, key: str) -> str:
    """Return the value that a run has of a category: its type, or its answer to a question."""
    return run.type if key == "type" else run.answers.get(key, "")


def groups_by(runs: Sequence[Submission], key: str) -> dict[str, str]:
    """Return the value of each run by its tag; a run without one has no group."""
    return {run.tag: value for run in runs if (value := value_of(run, key))}


def groups_shown(
    runs: Sequence[Submission], task: TaskRules, team: str | None = None
) -> dict[str, Group | None]:
    """Choose the group that each run is compared with: the first that is large enough, or all.

    With a `team`, for its runs only, and so that these groups together tell it nothing of fewer
    teams than `min_category`, its own among them: not by themselves, and not by what one of them
    has and another lacks.
    """
    members = {ALL: frozenset(run.tag for run in runs)}
    for key in task.categories:
        of = groups_by(runs, key)
        for value in sorted(set(of.values())):
            members[key, value] = frozenset(tag for tag, own in of.items() if own == value)
    team_of = {run.tag: run.team for run in runs}

    def enough(tags: Collection[str]) -> bool:
        if team is None:
            return len(tags) >= task.min_category
        return len({team_of[tag] for tag in tags} | {team}) >= task.min_category

    def first(run: Submission) -> Group | None:
        asked = [(key, value_of(run, key)) for key in task.categories]
        return next((one for one in [*asked, ALL] if one in members and enough(members[one])), None)

    chosen = {run.tag: first(run) for run in runs if team is None or run.team == team}
    return chosen if team is None else _apart(chosen, members, team_of, team, enough)


def _apart(
    chosen: Mapping[str, Group | None],
    members: Mapping[Group, frozenset[str]],
    team_of: Mapping[str, str],
    team: str,
    enough: Callable[[Collection[str]], bool],
) -> dict[str, Group | None]:
    """Leave out groups that differ from another by a few runs of others; that of all runs first."""
    kept = {one for one in chosen.values() if one is not None}
    for one, other in combinations(sorted(kept, reverse=True), 2):
        if not {one, other} <= kept:
            continue
        for rest in (members[one] - members[other], members[other] - members[one]):
            if any(team_of[tag] != team for tag in rest) and not enough(rest):
                kept.discard(other)
    return {tag: one if one in kept else None for tag, one in chosen.items()}
