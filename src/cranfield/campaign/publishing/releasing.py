"""Releases of a task's results, until they are retracted."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from datetime import date as day_type
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.files import sync_folder, whole_file
from cranfield.base.text import counted
from cranfield.base.version import __version__
from cranfield.campaign.opened import Opened
from cranfield.campaign.publishing.bag import PAYLOAD, write_bag
from cranfield.campaign.publishing.payload import (
    NOT_SHOWN,
    NOT_SHOWN_OF_HIDDEN,
    disclosed,
    hidden_teams,
)
from cranfield.campaign.rules.task_rules import utc_text
from cranfield.campaign.store.records import RELEASES, UNFINISHED, ReleaseRecord, Submission

if TYPE_CHECKING:
    from cranfield.campaign.publishing.payload import Payload


@dataclass(frozen=True)
class Release:
    """A release of a task; made by :func:`release`.

    Attributes
    ----------
    id
        Such as `adhoc-1`.
    path
        Its folder, a bag.
    manifest
        SHA-256 of the bag's tag manifest, which covers every byte of it: what to publish.
    runs, teams, hidden
        How many runs it shows, of how many teams, and how many of these are not named.
    left_out
        What is not in it, in sentences.
    """

    id: str
    task: str
    judgments: str
    path: Path
    manifest: str
    runs: int
    teams: int
    hidden: int
    left_out: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """How large it is, in words."""
        size = f"{counted(self.runs, 'run')} of {counted(self.teams, 'team')}"
        hidden = f", {self.hidden} not named" if self.hidden else ""
        return f"{size}{hidden}, judgments {self.judgments}"

    def __repr__(self) -> str:
        return f"Release({self.id}: {self.said})"


def release(
    opened: Opened,
    task: str | None = None,
    *,
    judgments: str | None = None,
    anonymous: bool = False,
    seed: int = 0,
    scores_only: bool = False,
    date: str | None = None,
    note: str = "",
) -> Release:
    """Release a task: runs, judgments, scores and sheets, as a folder that never changes.

    What is in it is written anew from a list of what may be shown. The same campaign and the same
    options give the same bytes.

    Parameters
    ----------
    opened
        The campaign.
    task
        The task, which needs no name where there is one only.
    judgments
        The version of the judgments that is released; by default the last.
    anonymous
        Whether no team is named. Teams and runs are called by numbers, in an order drawn by the
        seed and by what only the campaign's log knows.
    seed
        Of that order, 0 or more; refused if every team is named.
    scores_only
        Whether runs and judgments are left out.
    date
        The day of the release, such as `2026-11-20`; it is written into it, and teams that are
        anonymous until a later day are not named. Without it, no day is written, and today decides.
    note
        A text for its README, which everybody can read.

    Raises
    ------
    PolicyError
        For judgments that are not there, or a date that is none.
    CranfieldError
        When there is nothing to release, or when the campaign changed meanwhile.
    """
    from cranfield.campaign.publishing.payload import write_payload

    payload = _chosen(
        opened, task, judgments, anonymous, _checked(seed), scores_only, _day(date), note
    )
    about = {
        "Bag-Software-Agent": f"cranfield {__version__}",
        "External-Description": f"{opened.rules.title}: {payload.task.title or payload.task.name}",
        **({"Bagging-Date": date} if date else {}),
    }
    options = {"judgments": payload.judgments.version, "anonymous": anonymous, "seed": seed}
    with _building(opened.folder / RELEASES, payload.task.name) as building:
        (building / PAYLOAD).mkdir()
        write_payload(building / PAYLOAD, payload)
        manifest = write_bag(building, about)
        _sync(building)
        with opened.registry.change(
            "release", payload.task.name, {**options, "scores_only": scores_only, "date": date}
        ) as tx:
            if tx.submissions(payload.task.name) != payload.arrived:
                raise _changed(payload.task.name)
            made = _next_id(payload.task.name, [one.id for one in tx.releases()])
            target = building.with_name(made)
            if target.exists():
                # Whole, and in no registry: it was made by a process that ended too early.
                _remove(target)
            building.rename(target)
            sync_folder(target.parent)
            tx.insert(
                ReleaseRecord(
                    id=made,
                    task=payload.task.name,
                    created=_now(opened),
                    judgments=payload.judgments.version,
                    path=f"{RELEASES}/{made}",
                    manifest=manifest,
                )
            )
    about_it = payload.about
    return Release(
        id=made,
        task=payload.task.name,
        judgments=payload.judgments.version,
        path=target,
        manifest=manifest,
        runs=about_it["runs"],
        teams=about_it["teams"],
        hidden=about_it["hidden_teams"],
        left_out=payload.left_out,
    )


def _chosen(
    opened: Opened,
    task: str | None,
    judgments: str | None,
    anonymous: bool,
    seed: int,
    scores_only: bool,
    day: str | None,
    note: str,
) -> Payload:
    """Choose runs, judgments and names, and have the runs scored."""
    from cranfield.campaign.publishing.payload import Payload
    from cranfield.campaign.results.scoring import scored
    from cranfield.campaign.results.sheet_making import measures_of
    from cranfield.campaign.results.stored_inputs import intact_runs, none_readable, version_of

    rules = opened.rules.task(task)
    version = version_of(opened, rules.name, judgments)
    arrived = opened.registry.submissions(rules.name)
    evaluation = scored(opened, rules.name, measures=measures_of(rules), judgments=version.version)
    runs = [run for run in intact_runs(opened, arrived) if run.tag in evaluation.systems]
    if len(runs) + sum(run.id in opened.unreadable for run in arrived) < len(arrived):
        raise _changed(rules.name)
    if not runs:
        raise none_readable(opened, rules.name)
    teams = opened.registry.teams()
    today = opened.clock().astimezone(UTC).date().isoformat()
    hidden = hidden_teams(teams, day or today, everybody=anonymous)
    metadata, dropped = _public_metadata([run for run in runs if run.team not in hidden])
    shown = disclosed(runs, hidden, rules, _secret(opened, seed), metadata)
    if seed and not any(one.hidden for one in shown):
        raise PolicyError(f"seed requires a team that is not named, got {seed}")
    left_out = [*NOT_SHOWN, *([NOT_SHOWN_OF_HIDDEN] if any(one.hidden for one in shown) else [])]
    left_out += [f"of the metadata of runs: {', '.join(dropped)}"] if dropped else []
    if unreadable := len(arrived) - len(runs):
        left_out.append(f"{counted(unreadable, 'run')} that cannot be read")
    left_out += ["runs and judgments: only what was computed from them"] if scores_only else []
    return Payload(
        opened=opened,
        task=rules,
        arrived=arrived,
        runs=shown,
        teams={team.id: team.name for team in teams if team.id not in hidden},
        judgments=version,
        evaluation=evaluation,
        left_out=tuple(left_out),
        scores_only=scores_only,
        date=day,
        note=note,
    )


def _changed(task: str) -> CranfieldError:
    return CranfieldError(
        f"runs of {quoted(task)} came or went while they were released: release again"
    )


def _public_metadata(runs: Sequence[Submission]) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return what of the metadata is public, by the number of the run, and what is dropped."""
    from cranfield.campaign.checks.lines import public_metadata
    from cranfield.collection.metadata.reading import read_metadata

    public: dict[int, str] = {}
    dropped: dict[str, None] = {}
    for run in runs:
        read = read_metadata(run.metadata.encode()) if run.metadata else None
        if read is not None:
            text, gone = public_metadata(read)
            public[run.id] = text.decode()
            dropped |= dict.fromkeys(gone)
    return public, tuple(sorted(dropped))


def _secret(opened: Opened, seed: int) -> str:
    """Return what nobody knows who has only releases: the hash of the event that began the log."""
    made = next(one.sha256 for one in opened.registry.events() if one.action == "create")
    return f"{made}\n{seed}"


def _next_id(task: str, taken: list[str]) -> str:
    numbers = [
        int(one[len(task) + 1 :]) for one in taken if re.fullmatch(rf"{re.escape(task)}-\d+", one)
    ]
    return f"{task}-{max(numbers, default=0) + 1}"


def _now(opened: Opened) -> str:
    return utc_text(opened.clock())


def _checked(seed: int) -> int:
    from cranfield.base.errors import check_whole

    check_whole("seed", seed, 0)
    return seed


def _day(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return day_type.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        raise PolicyError(f"{quoted(text)} is no date such as 2026-11-20") from None


@contextmanager
def _building(folder: Path, task: str) -> Iterator[Path]:
    """Make a folder to build in, of which nothing is left if it does not get its name."""
    building = Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{task}.", dir=folder))
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Remove a folder, of which no part is there under its name at any moment."""
    away = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.parent))
    folder.rename(away / folder.name)
    shutil.rmtree(away, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Bring a folder to the disk, private as all of the campaign, whatever the umask."""
    for path in sorted(folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_file():
            handle = os.open(path, os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    for path in (*(one for one in folder.rglob("*") if one.is_dir()), folder):
        sync_folder(path)


RETRACTED = "retracted"
"""The state of a release that was taken back."""


def retract(opened: Opened, release: str, reason: str) -> None:
    """Retract a release: it stays as it is, and a note beside it says that it does not stand.

    Parameters
    ----------
    opened
        The campaign.
    release
        Its id, such as `adhoc-1`.
    reason
        Why; everybody can read it.

    Raises
    ------
    PolicyError
        For a release that is not there or is retracted already, or when no reason is given.
    """
    if not reason.strip():
        raise PolicyError("a release is retracted for a reason, and none is given")
    with opened.registry.change("retract", release, {"reason": reason}) as tx:
        found = {one.id: one for one in tx.releases()}
        if release not in found:
            there = ", ".join(found) or "none"
            raise PolicyError(f"there is no release {quoted(release)}; there are {there}")
        if found[release].state == RETRACTED:
            raise PolicyError(f"{release} is retracted already")
        note = {"release": release, "retracted": utc_text(opened.clock()), "reason": reason}
        text = (json.dumps(note, indent=1, ensure_ascii=False) + "\n").encode()
        # A kill before the transaction ends leaves the note: it is written over the next time.
        path = opened.folder / RELEASES / f"{release}.retracted.json"
        with whole_file(path, private=True, synced=True) as out:
            out.write(text)
        tx.update(
            replace(
                found[release],
                state=RETRACTED,
                reason=reason,
                retraction=sha256(text).hexdigest(),
            )
        )
