"""A campaign: one folder, with all that is done with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import InputError, PolicyError, check_several, quoted
from cranfield.base.files import whole_file, whole_folder
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.rules.reading import check_rules, read_rules, rules_sha256, rules_text
from cranfield.campaign.rules.task_rules import FILES, Rules, TaskRules, shown

if TYPE_CHECKING:
    from cranfield.assess import Pool
    from cranfield.campaign.checks.report import CheckReport
    from cranfield.campaign.publishing.releasing import Release
    from cranfield.campaign.results.leaderboard import Leaderboard
    from cranfield.campaign.results.standing import Standing
    from cranfield.campaign.store.records import Event, Judgments, Submission, Team
    from cranfield.campaign.store.whole_folder import Verification
    from cranfield.campaign.submitting.archive import Outcome
    from cranfield.campaign.submitting.submit import Submitted
    from cranfield.evaluation.evaluation import Evaluation


class Campaign(Opened):
    """A campaign's folder; made by :func:`create`, found again by :func:`open`.

    Opening reads nothing but the rules, and loads neither NumPy nor polars.

    Parameters
    ----------
    folder
        The campaign's folder.
    actor
        Who acts, for the log of events; the name of the user by default.
    clock
        What time it is; the time of this machine by default.
    """

    # Teams and runs.

    def add_team(
        self,
        id: str,
        name: str = "",
        *,
        contact: str = "",
        anonymous_until: str | None = None,
    ) -> Team:
        """Add a team; its contact is private for ever."""
        from cranfield.campaign.submitting.teams import add_team

        return add_team(self, id, name, contact=contact, anonymous_until=anonymous_until)

    def teams(self) -> tuple[Team, ...]:
        """Return all teams, by id."""
        return self.registry.teams()

    def change_team(
        self,
        id: str,
        *,
        name: str | None = None,
        contact: str | None = None,
        anonymous_until: str | None = None,
    ) -> Team:
        """Change a team's name, contact or date; an empty text takes a contact or date away."""
        from cranfield.campaign.submitting.teams import change_team

        return change_team(self, id, name=name, contact=contact, anonymous_until=anonymous_until)

    def check(self, run: PathName, task: str | None = None, **declared: Any) -> CheckReport:
        """Check a run as `submit` would, without handing it in."""
        from cranfield.campaign.submitting.submit import check_here

        return check_here(self, run, task, **declared)

    def submit(
        self,
        run: PathName,
        task: str | None = None,
        *,
        team: str,
        tag: str | None = None,
        type: str = "",
        priority: int | None = None,
        answers: Mapping[str, str] | None = None,
        description: str = "",
        received: datetime | None = None,
        replaces: str | None = None,
    ) -> Submitted:
        """Hand in a run: checked, kept as it came, and entered, or refused with all faults."""
        from cranfield.campaign.submitting.entering import Declared
        from cranfield.campaign.submitting.submit import submit

        declared = Declared(
            team, tag, type, priority, answers or {}, description, received, replaces
        )
        return submit(self, run, task, declared)

    def submit_archive(
        self,
        table: PathName,
        runs: Sequence[PathName] = (),
        task: str | None = None,
        *,
        team: str = "",
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> tuple[Outcome, ...]:
        """Hand in the runs of a table, in its order; one that is refused stops no other."""
        check_several("runs", runs)
        from cranfield.campaign.submitting.archive import read_archive_table, submit_archive
        from cranfield.campaign.submitting.entering import Declared

        listed = read_archive_table(
            table, runs, self.rules, given=Declared(team), task=task, columns=columns
        )
        return tuple(submit_archive(self, listed, **options))

    def submissions(
        self, task: str | None = None, states: Sequence[str] = ("accepted",)
    ) -> tuple[Submission, ...]:
        """Return submissions in order of arrival; those of all tasks where none is named."""
        check_several("states", states)
        return self.registry.submissions(task, states)

    def run_records(self, tag: str, *, contacts: bool = False) -> list[dict[str, Any]]:
        """Return all that is known of the runs with a tag: what was declared, faults, events.

        It is for organisers: private faults name other teams.

        Parameters
        ----------
        tag
            The tag, whatever its case.
        contacts
            Add the contact of the team.

        Raises
        ------
        PolicyError
            If no run has the tag.
        """
        runs = self.registry.submissions(None, None, tag=tag)
        if not runs:
            raise PolicyError(f"no run is called {quoted(tag)}")
        events = self.registry.events()
        records = []
        for run in runs:
            record = asdict(run)
            if contacts:
                team = self.registry.team(run.team)
                record["contact"] = "" if team is None else team.contact
            faults = self.registry.faults(run.id, private=True)
            record["faults"] = [asdict(fault) for fault in faults]
            record["events"] = [
                {"at": event.at, "actor": event.actor, "action": action}
                for event in events
                if (action := _action(event, run))
            ]
            records.append(record)
        return records

    def withdraw(self, tag: str, reason: str) -> Submission:
        """Take a run back; it stays in the log."""
        from cranfield.campaign.submitting.submit import withdraw

        return withdraw(self, tag, reason)

    def purge(self, tag: str, reason: str) -> Submission:
        """Remove the bytes of a run that was withdrawn, replaced or refused."""
        from cranfield.campaign.submitting.submit import purge

        return purge(self, tag, reason)

    # Judgments, scores and what they say.

    def add_judgments(
        self, qrels: PathName, task: str | None = None, *, version: str, note: str = ""
    ) -> Judgments:
        """Add a version of a task's judgments; versions never change."""
        from cranfield.campaign.results.stored_inputs import add_judgments

        return add_judgments(self, qrels, task, version=version, note=note)

    def pool(
        self,
        task: str | None = None,
        *,
        depth: int | None = None,
        without: Sequence[str] = (),
        mark: bool = False,
    ) -> Pool:
        """Pool the accepted runs by the task's rules, without some; `mark` records the pool."""
        check_several("without", without)
        from cranfield.campaign.results.stored_inputs import pool

        return pool(self, task, depth=depth, without=without, mark=mark)

    def score(
        self,
        task: str | None = None,
        *,
        measures: Sequence[str] | None = None,
        judgments: str | None = None,
    ) -> Evaluation:
        """Score the accepted runs; what was scored before is read, not scored again."""
        check_several("measures", measures)
        from cranfield.campaign.results.scoring import scored

        return scored(self, task, measures=measures, judgments=judgments)

    def leaderboard(
        self,
        task: str | None = None,
        *,
        measures: Sequence[str] | None = None,
        judgments: str | None = None,
        alpha: float = 0.05,
    ) -> Leaderboard:
        """Score the accepted runs, and rank them by the first measure."""
        check_several("measures", measures)
        from cranfield.campaign.results.leaderboard import board

        return board(self, task, measures=measures, judgments=judgments, alpha=alpha)

    def sheets(self, task: str | None, folder: PathName, **options: Any) -> tuple[Path, ...]:
        """Write a sheet for each accepted run: HTML, text and JSON."""
        from cranfield.campaign.results.sheet_files import write_sheets

        return write_sheets(self, task, folder, **options)

    def overview(self, task: str | None, folder: PathName, **options: Any) -> tuple[Path, ...]:
        """Write the overview of a task: the board, statistics of topics, charts, the report."""
        from cranfield.campaign.results.overview import write_overview

        return write_overview(self, task, folder, **options)

    def packet(
        self, team: str, path: PathName, task: str | None = None, *, judgments: str | None = None
    ) -> Path:
        """Write what one team gets: its own sheets, and nothing of others."""
        from cranfield.campaign.results.sheet_files import write_packet

        return write_packet(self, team, path, task, judgments=judgments)

    def packets(
        self, folder: PathName, task: str | None = None, *, judgments: str | None = None
    ) -> tuple[Path, ...]:
        """Write what each team gets, as archives."""
        from cranfield.campaign.results.sheet_files import write_packets

        return write_packets(self, folder, task, judgments=judgments)

    def standing(
        self,
        run: PathName,
        task: str | None = None,
        *,
        measure: str | None = None,
        baseline: PathName | None = None,
        **options: Any,
    ) -> Standing:
        """Say where a new run stands: against the median, the best, and a baseline."""
        from cranfield.campaign.results.standing import standing

        return standing(self, run, task, measure=measure, baseline=baseline, **options)

    # What leaves the folder, and whether all is well.

    def release(self, task: str | None = None, **options: Any) -> Release:
        """Release a task: an allow-list, copied to a bag that never changes."""
        from cranfield.campaign.publishing.releasing import release

        return release(self, task, **options)

    def retract(self, release: str, reason: str) -> None:
        """Retract a release: it stays, with a note beside it."""
        from cranfield.campaign.publishing.releasing import retract

        retract(self, release, reason)

    def site(self, folder: PathName, **options: Any) -> tuple[Path, ...]:
        """Write the static site from the releases, and from nothing else."""
        from cranfield.campaign.publishing.site.writing import write_site

        return write_site(self, folder, **options)

    def export(self, path: PathName) -> Path:
        """Write the registry as tables and the campaign's files as one archive."""
        from cranfield.campaign.store.whole_folder import export

        return export(self, path)

    def verify(self, *, repair: bool = False) -> Verification:
        """Verify every file: registry, chain of events, objects, scores, releases."""
        from cranfield.campaign.store.whole_folder import verify

        return verify(self, repair=repair)


def create(
    folder: PathName, rules: PathName | None = None, *, actor: str | None = None
) -> Campaign:
    """Make a campaign's folder, private to its owner.

    Parameters
    ----------
    folder
        The folder to make; an empty one may be there.
    rules
        The campaign.toml; it and the files that it names are copied. By default an example with
        comments.
    actor
        Who acts, for the log of events; the name of the user by default.
    """
    from cranfield.campaign.store.whole_folder import create_folder

    create_folder(Path(folder), None if rules is None else Path(rules), actor)
    return Campaign(folder, actor=actor)


def open(folder: PathName, *, actor: str | None = None) -> Campaign:
    """Open a campaign's folder."""
    from cranfield.campaign.store.records import check_folder

    check_folder(Path(folder))
    return Campaign(folder, actor=actor)


def _action(event: Event, run: Submission) -> str:
    """Return what an event did with a run; empty for nothing."""
    details = json.loads(event.details)
    if event.subject == run.task and run.tag in details["about"].get("without", ()):
        return f"{event.action} without it"
    changed = any(name == "submission" and row["id"] == run.id for name, row in details["rows"])
    return event.action if changed else ""


RULES = "rules.toml"
README = "README.md"


def pack(opened: Opened, folder: str | PathLike[str]) -> Path:
    """Write a folder with the rules, and the lists of topics and documents that they name.

    Whoever has it checks a run as the organisers will; what they alone know is whether a tag is
    taken, how many runs a team has, and what time it is. Judgments, contacts and runs are not in
    it, nor the keys of rules that are private. It is made whole or not at all.

    Parameters
    ----------
    opened
        The campaign.
    folder
        The folder to make; an empty one may be there.

    Raises
    ------
    PolicyError
        If there is something of that name.
    InputError
        If a list cannot be read, or the folder cannot be made.
    """
    rules = opened.rules
    check_rules(rules)
    with whole_folder(folder) as building:
        for name in sorted(
            {name for task in rules.tasks.values() for name in _files(task, opened)}
        ):
            if name.casefold() in (RULES, README.casefold()):
                raise InputError(
                    f"{quoted(name)} is a name that the pack has a file of its own for",
                    source=rules.source,
                )
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(opened.folder / name, target)
        _write(building / RULES, rules_text(rules, opened.folder))
        packed = read_rules(building / RULES)
        _write(building / README, _readme(rules, packed))
    return Path(fspath(folder))


def _files(task: TaskRules, opened: Opened) -> list[str]:
    paths = [getattr(task, field) for field in FILES]
    return [path.relative_to(opened.folder).as_posix() for path in paths if isinstance(path, Path)]


def _write(path: Path, text: str) -> None:
    with whole_file(path) as out:
        out.write(text.encode())


def _readme(rules: Rules, packed: Rules) -> str:
    from cranfield.campaign.pages import filled_text

    dates = []
    for task in rules.tasks.values():
        times = [("opens", task.opens), ("closes", task.closes)]
        known = [f"{word} at {shown(time)}" for word, time in times if time is not None]
        if known:
            dates.append((task.name, known))
    files = sorted(packed.files.items())
    digest = rules_sha256(packed)
    return filled_text("pack.md", rules=rules, dates=dates, files=files, all_files=digest)
