"""Release the results of a task, and retract releases."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC
from datetime import date as day_type
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.files import sync_folder, whole_file
from cranfield.base.kinds import Integer
from cranfield.base.text import counted
from cranfield.base.version import __version__
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.publishing.bag import PAYLOAD, write_bag
from cranfield.campaign.publishing.payload import (
    EXCLUDED,
    EXCLUDED_OF_HIDDEN,
    Payload,
    released_runs,
    write_payload,
)
from cranfield.campaign.results.scoring import score_runs
from cranfield.campaign.results.sheet_making import public_run_metadata, sheet_measures
from cranfield.campaign.results.stored_inputs import (
    find_judgments,
    intact_submissions,
    no_readable_run_error,
)
from cranfield.campaign.rules.task_rules import utc_text
from cranfield.campaign.store.records import RELEASES, UNFINISHED_PREFIX, ReleaseRecord


@dataclass(frozen=True)
class Release:
    """A release of a task; returned by :func:`release`.

    Attributes
    ----------
    id
        Id, such as `adhoc-1`.
    path
        Folder of the release, a BagIt bag.
    manifest
        SHA-256 of the tag manifest, which covers every byte of the bag; publish it.
    runs, teams, hidden
        Numbers of runs, teams and anonymous teams.
    excluded
        Descriptions of the excluded data.
    """

    id: str
    task: str
    judgments: str
    path: Path
    manifest: str
    runs: int
    teams: int
    hidden: int
    excluded: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The numbers of runs and teams, and the version of the judgments, as text."""
        size = f"{counted(self.runs, 'run')} of {counted(self.teams, 'team')}"
        hidden = f", {self.hidden} not named" if self.hidden else ""
        return f"{size}{hidden}, judgments {self.judgments}"

    def __repr__(self) -> str:
        return f"Release({self.id}: {self.summary})"


def release(
    campaign: OpenedCampaign,
    task: str | None = None,
    *,
    judgments: str | None = None,
    anonymous: bool = False,
    seed: Annotated[int, Integer(0)] = 0,
    scores_only: bool = False,
    date: str | None = None,
    note: str = "",
) -> Release:
    """Release a task: runs, judgments, scores and sheets, as a folder that never changes.

    Only a list of public fields is written. The same campaign and options give the same bytes.

    Parameters
    ----------
    campaign
        The campaign.
    task, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    anonymous
        Whether to replace the names of all teams and runs by numbers. The seed and a secret in the
        log of the campaign determine their order.
    seed
        Seed of the random order of the numbers; it requires an anonymous team.
    scores_only
        Whether to release the scores without runs and judgments.
    date
        Date of the release, such as `2026-11-20`, which is part of the release and decides which
        teams are still anonymous. By default today decides, and the release has no date.
    note
        Public note for the README of the release.

    Raises
    ------
    PolicyError
        For an unknown version of the judgments, or an invalid date.
    CranfieldError
        If nothing can be released, or the campaign changed meanwhile.
    """
    Integer(0).check("seed", seed)
    try:
        day = None if date is None else day_type.fromisoformat(date).isoformat()
    except (TypeError, ValueError):
        raise PolicyError(f"date must be a day such as 2026-11-20, got {quoted(date)}") from None
    payload = _make_payload(campaign, task, judgments, anonymous, seed, scores_only, day, note)
    name, version = payload.task.name, payload.judgments.version
    about = {
        "Bag-Software-Agent": f"cranfield {__version__}",
        "External-Description": f"{campaign.rules.title}: {payload.task.title or name}",
        **({"Bagging-Date": date} if date else {}),
    }
    options = {
        "judgments": version,
        "anonymous": anonymous,
        "seed": seed,
        "scores_only": scores_only,
        "date": date,
    }
    with _temporary_folder(campaign.folder / RELEASES, f"{name}.") as folder:
        new_folder = Path(folder)
        (new_folder / PAYLOAD).mkdir()
        write_payload(new_folder / PAYLOAD, payload)
        manifest = write_bag(new_folder, about)
        _sync(new_folder)
        with campaign.registry.change("release", name, options) as tx:
            if tx.submissions(name) != payload.submissions:
                raise _changed_error(name)
            ids = [re.fullmatch(rf"{re.escape(name)}-(\d+)", record.id) for record in tx.releases()]
            release_id = f"{name}-{1 + max((int(id[1]) for id in ids if id), default=0)}"
            target = new_folder.with_name(release_id)
            if target.exists():
                # A complete release without a record, whose process was killed. It is renamed
                # before it is removed, so that its name never has a partial folder.
                with _temporary_folder(target.parent) as trash:
                    target.rename(Path(trash) / target.name)
            new_folder.rename(target)
            sync_folder(target.parent)
            created, path = utc_text(campaign.clock()), f"{RELEASES}/{release_id}"
            tx.insert(ReleaseRecord(release_id, name, created, version, path, manifest))
    sizes = payload.about
    return Release(
        id=release_id,
        task=name,
        judgments=version,
        path=target,
        manifest=manifest,
        runs=sizes["runs"],
        teams=sizes["teams"],
        hidden=sizes["hidden_teams"],
        excluded=payload.excluded,
    )


def _make_payload(
    campaign: OpenedCampaign,
    task: str | None,
    judgments: str | None,
    anonymous: bool,
    seed: int,
    scores_only: bool,
    day: str | None,
    note: str,
) -> Payload:
    """Select runs, judgments and public names, and score the runs."""
    rules = campaign.rules.task(task)
    version = find_judgments(campaign, rules.name, judgments)
    submissions = campaign.registry.submissions(rules.name)
    evaluation = score_runs(
        campaign, rules.name, measures=sheet_measures(rules), judgments=version.version
    )
    runs = [
        run for run in intact_submissions(campaign, submissions) if run.tag in evaluation.systems
    ]
    if len(runs) + sum(run.id in campaign.unreadable for run in submissions) < len(submissions):
        raise _changed_error(rules.name)
    if not runs:
        raise no_readable_run_error(campaign, rules.name)
    teams = campaign.registry.teams()
    today = day or campaign.clock().astimezone(UTC).date().isoformat()
    hidden = {team.id for team in teams if anonymous or today < (team.anonymous_until or "")}
    public_parts = {
        run.id: public_run_metadata(run) for run in runs if run.metadata and run.team not in hidden
    }
    metadata = {id: text for id, (text, _) in public_parts.items() if text}
    removed_keys = sorted({key for _, keys in public_parts.values() for key in keys})
    public_runs = released_runs(runs, hidden, rules, _secret(campaign, seed), metadata)
    has_hidden = any(run.hidden for run in public_runs)
    if seed and not has_hidden:
        raise PolicyError(f"seed requires a team that is not named, got {seed}")
    n_unreadable = len(submissions) - len(runs)
    conditional = {
        EXCLUDED_OF_HIDDEN: has_hidden,
        f"of the metadata of runs: {', '.join(removed_keys)}": removed_keys,
        f"{counted(n_unreadable, 'run')} that cannot be read": n_unreadable,
        "runs and judgments; only results computed from them are included": scores_only,
    }
    excluded = (*EXCLUDED, *(text for text, applies in conditional.items() if applies))
    return Payload(
        campaign=campaign,
        task=rules,
        submissions=submissions,
        runs=public_runs,
        teams={team.id: team.name for team in teams if team.id not in hidden},
        judgments=version,
        evaluation=evaluation,
        excluded=excluded,
        scores_only=scores_only,
        date=day,
        note=note,
    )


def _changed_error(task: str) -> CranfieldError:
    return CranfieldError(
        f"runs of {quoted(task)} were added or removed during the release; release again"
    )


def _secret(campaign: OpenedCampaign, seed: int) -> str:
    """Return a secret: the hash of the first event, which no release contains, and the seed."""
    sha256 = next(event.sha256 for event in campaign.registry.events() if event.action == "create")
    return f"{sha256}\n{seed}"


def _temporary_folder(folder: Path, name: str = "") -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, which is removed unless it was renamed."""
    prefix = f"{UNFINISHED_PREFIX}{name}"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True)


def _sync(folder: Path) -> None:
    """Make a folder private, whatever the umask, and flush it to the disk."""
    paths = sorted(folder.rglob("*"))
    folders = [path for path in paths if path.is_dir()]
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    for path in (*folders, folder):
        sync_folder(path)


RETRACTED = "retracted"
"""State of a retracted release."""


def retract(campaign: OpenedCampaign, release: str, reason: str) -> None:
    """Retract a release: its folder stays unchanged, with a public note beside it.

    Parameters
    ----------
    campaign
        The campaign.
    release
        Id of the release, such as `adhoc-1`.
    reason
        Public reason.

    Raises
    ------
    PolicyError
        For an unknown or retracted release, or an empty reason.
    """
    if not reason.strip():
        raise PolicyError("reason must not be empty")
    with campaign.registry.change("retract", release, {"reason": reason}) as tx:
        releases = {record.id: record for record in tx.releases()}
        if release not in releases:
            names = ", ".join(releases) or "none"
            raise PolicyError(f"unknown release {quoted(release)}; expected one of: {names}")
        if releases[release].state == RETRACTED:
            raise PolicyError(f"{release} is already retracted")
        note = {"release": release, "retracted": utc_text(campaign.clock()), "reason": reason}
        text = (json.dumps(note, indent=1, ensure_ascii=False) + "\n").encode()
        # A note without a commit, if the process is killed, is overwritten by a later retraction.
        path = campaign.folder / RELEASES / f"{release}.retracted.json"
        with whole_file(path, private=True, synced=True) as out:
            out.write(text)
        about = {"reason": reason, "retraction": sha256(text).hexdigest()}
        tx.update(replace(releases[release], state=RETRACTED, **about))
