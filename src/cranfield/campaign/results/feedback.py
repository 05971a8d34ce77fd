"""What teams are told of their scores before a release: nothing, unless the rules say otherwise."""

from __future__ import annotations

from collections.abc import Collection

from cranfield.campaign.opened import Opened
from cranfield.campaign.results.scoring import Scoring

PLACES = {"means": 2, "sheets": 4}
"""Decimals of what is told, by the kind of feedback; a sheet tells four anyway."""


def feedback(opened: Opened, task: str, tags: Collection[str]) -> dict[str, str]:
    """Return what is told of some accepted runs of a task, by tag; nothing where nothing is.

    Whoever hands in many runs and sees their scores learns the judgments, which is why it is off
    by default, rounded, and goes with `runs_per_day`. After a release everybody knows the scores,
    and this says no more.
    """
    places = PLACES.get(opened.rules.task(task).feedback)
    registry = opened.registry
    released = any(one.task == task for one in registry.releases())
    if places is None or released or not tags or not registry.judgments(task):
        return {}
    scoring = Scoring(opened, task)
    names = [str(one) for one in scoring.measures]
    version = scoring.judgments.version
    return {
        row["run"]: ", ".join(
            (
                *(f"{name} {row[name]:.{places}f}" for name in names if row[name] is not None),
                f"judgments {version}",
            )
        )
        for row in scoring.overall().iter_rows(named=True)
        if row["run"] in tags
    }
