"""A campaign: one folder with rules, submissions, judgments and releases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError, check_list, quote
from cranfield.base.files import create_atomically
from cranfield.base.text import escape_markdown, inflect, join_with_and, sanitise
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.rules.reading import (
    check_rules,
    copy_lists,
    format_rules,
    hash_rules,
    read_rules,
)

if TYPE_CHECKING:
    from cranfield.campaign.publishing import releasing, site
    from cranfield.campaign.results import (
        leaderboard,
        overview,
        scoring,
        sheet_making,
        standing,
        stored_inputs,
    )
    from cranfield.campaign.rules.task_rules import TaskRules
    from cranfield.campaign.store import folder as store
    from cranfield.campaign.store.records import Event, Submission, Team
    from cranfield.campaign.submitting import submit, teams
    from cranfield.campaign.submitting.archive import RowOutcome


class _Method:
    """Descriptor that makes a function of a campaign a method, and imports it on first use."""

    def __init__(self, function: str) -> None:
        self.function = function

    @cached_property
    def __func__(self) -> Any:
        return resolve_name(f"cranfield.campaign.{self.function}")

    def __get__(self, campaign: Campaign | None, owner: type) -> Any:
        return self.__func__.__get__(campaign, owner)


class Campaign(OpenedCampaign):
    """Folder of a campaign, created by :func:`create` or opened by :func:`open`.

    Opening a campaign loads neither NumPy nor polars.

    Parameters
    ----------
    folder
        The campaign's folder.
    actor
        Name of the acting person, for the log of events; by default the name of the user.
    clock
        Function that returns the current time; by default the clock of this machine.
    """

    if TYPE_CHECKING:
        add_team, change_team = teams.add_team, teams.change_team
        check, withdraw, purge = submit.check_submission, submit.withdraw, submit.purge
        submit = submit.submit
        add_judgments, pool = stored_inputs.add_judgments, stored_inputs.pool
        score, leaderboard = scoring.score_runs, leaderboard.task_leaderboard
        sheets, overview = sheet_making.write_sheets, overview.write_overview
        packet, packets = sheet_making.write_packet, sheet_making.write_packets
        standing = standing.standing
        release, retract, site = releasing.release, releasing.retract, site.write_site
        export, verify = store.export, store.verify
    else:
        add_team = _Method("submitting.teams.add_team")
        change_team = _Method("submitting.teams.change_team")
        submit = _Method("submitting.submit.submit")
        check = _Method("submitting.submit.check_submission")
        withdraw = _Method("submitting.submit.withdraw")
        purge = _Method("submitting.submit.purge")
        add_judgments = _Method("results.stored_inputs.add_judgments")
        pool = _Method("results.stored_inputs.pool")
        score = _Method("results.scoring.score_runs")
        leaderboard = _Method("results.leaderboard.task_leaderboard")
        sheets = _Method("results.sheet_making.write_sheets")
        overview = _Method("results.overview.write_overview")
        packet = _Method("results.sheet_making.write_packet")
        packets = _Method("results.sheet_making.write_packets")
        standing = _Method("results.standing.standing")
        release = _Method("publishing.releasing.release")
        retract = _Method("publishing.releasing.retract")
        site = _Method("publishing.site.write_site")
        export = _Method("store.folder.export")
        verify = _Method("store.folder.verify")

    def teams(self) -> tuple[Team, ...]:
        """Return all teams, by id."""
        return self.registry.list_teams()

    def submit_archive(
        self,
        table: PathName,
        runs: Sequence[PathName] = (),
        task: str | None = None,
        *,
        team: str = "",
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> tuple[RowOutcome, ...]:
        """Submit the runs of a table in order; see `archive.submit_archive` for the options."""
        check_list("runs", runs)
        from cranfield.campaign.submitting.archive import read_archive_table, submit_archive
        from cranfield.campaign.submitting.submit import Declaration

        archive = read_archive_table(
            table, runs, self.rules, defaults=Declaration(team), task=task, columns=columns
        )
        return tuple(submit_archive(self, archive, **options))

    def submissions(
        self, task: str | None = None, states: Sequence[str] = ("accepted",)
    ) -> tuple[Submission, ...]:
        """Return submissions in order of recording, by default the accepted runs of all tasks."""
        check_list("states", states)
        return self.registry.list_submissions(task, states)

    def run_records(self, tag: str, *, contacts: bool = False) -> list[dict[str, Any]]:
        """Return the records of the runs with a tag: declarations, faults and events.

        The records are for organisers only, because private faults name other teams.

        Parameters
        ----------
        tag
            The tag, regardless of case.
        contacts
            Whether to include the contact of the team.

        Raises
        ------
        PolicyError
            If no run has the tag.
        """
        runs = self.registry.list_submissions(None, None, tag=tag)
        if not runs:
            hint = "`cranfield campaign run list` lists the runs"
            raise PolicyError(f"unknown run {quote(tag)}; {hint}")
        events = self.registry.list_events()
        records = []
        for run in runs:
            record = asdict(run)
            if contacts:
                team = self.registry.find_team(run.team)
                record["contact"] = "" if team is None else team.contact
            faults = self.registry.list_faults(run.id, includes_private=True)
            record["faults"] = [*map(asdict, faults)]
            record["events"] = [
                {"at": event.at, "actor": event.actor, "action": action}
                for event in events
                if (action := _get_action(event, run))
            ]
            records.append(record)
        return records


def create(
    folder: PathName, rules: PathName | None = None, *, actor: str | None = None
) -> Campaign:
    """Create the folder of a campaign, private to its owner.

    Parameters
    ----------
    folder
        The folder to create; it may exist if it is empty.
    rules
        Rules of the campaign (campaign.toml), which are copied with the files that they name; by
        default commented example rules.
    actor
        Name of the acting person, for the log of events; by default the name of the user.

    Raises
    ------
    PolicyError
        If the folder is not empty, or is the working directory.
    InputError
        If the rules or a file that they name cannot be read, or the folder cannot be created.
    """
    from cranfield.campaign.store.folder import create_folder

    create_folder(Path(folder), None if rules is None else Path(rules), actor)
    return Campaign(folder, actor=actor)


def open(folder: PathName, *, actor: str | None = None) -> Campaign:
    """Open a campaign's folder."""
    from cranfield.campaign.store.records import check_folder

    check_folder(Path(folder))
    return Campaign(folder, actor=actor)


def _get_action(event: Event, run: Submission) -> str:
    """Return the action of an event on a run; empty if the event does not concern it."""
    details = json.loads(event.details)
    if event.subject == run.task and run.tag in details["about"].get("without", ()):
        return f"{event.action} without this run"
    is_changed = any(name == "submission" and row["id"] == run.id for name, row in details["rows"])
    return event.action if is_changed else ""


def find_releases_with(campaign: OpenedCampaign, runs: Sequence[Submission]) -> list[str]:
    """Return the newest releases that contain one of the runs: at most one release of each task.

    Retracted releases are ignored. The runs are accepted, or were until now.
    """
    records = campaign.registry.list_releases()
    newest_ids = {record.task: record.id for record in records if record.state == "released"}
    ids, tasks_with_runs, releases = {run.id for run in runs}, set(), []
    for event in campaign.registry.list_events() if newest_ids else ():
        for name, row in json.loads(event.details)["rows"]:
            if name == "submission" and row["id"] in ids:
                tasks_with_runs.add(row["task"])
            elif name == "release" and row["task"] in tasks_with_runs:
                releases.append(row["id"])
    return [release for release in newest_ids.values() if release in releases]


def _describe_limits(task: TaskRules) -> Iterator[str]:
    """Yield the times and limits of a task for participants, as Markdown phrases."""
    from cranfield.campaign.rules.task_rules import format_time
    from cranfield.campaign.rules.topics import read_topic_ids

    if task.opens:
        yield f"opens at {format_time(task.opens)}"
    if task.closes:
        late_text = ", and marks later runs as late" if task.late == "mark" else ""
        yield f"closes at {format_time(task.closes)}{late_text}"
    if isinstance(task.topics, Path):
        yield f"has {inflect(len(read_topic_ids(task) or ()), 'topic')}"
    if task.max_per_topic is not None:
        yield f"takes at most {inflect(task.max_per_topic, 'document')} per topic"
    for n_runs, unit in ((task.runs_per_team, "per team"), (task.runs_per_day, "per team and day")):
        if n_runs is not None:
            yield f"takes at most {inflect(n_runs, 'run')} {unit}"
    if task.pool is not None:
        noun = "priority" if len(task.pool.priorities) == 1 else "priorities"
        values = join_with_and([*map(str, task.pool.priorities)])
        runs = f" of {noun} {values}" if values else ""
        yield f"pools the first {inflect(task.pool.depth, 'document')} of runs{runs}"
    tag = f"`{sanitise(task.tag)}`" if "`" not in task.tag else escape_markdown(task.tag)
    yield f"takes tags that match the pattern {tag}"


PACK_RULES, PACK_README = "rules.toml", "README.md"


def pack(campaign: OpenedCampaign, folder: str | PathLike[str]) -> Path:
    """Write a folder with the rules, and the lists of topics and documents that the rules name.

    With this pack, participants can check their runs by the rules, except the tags of other runs,
    deadlines, and limits on the number of runs. The pack contains no judgments, contacts, runs or
    private keys of the rules. The folder is written completely or not at all.

    Parameters
    ----------
    campaign
        The campaign.
    folder
        The folder to create; it may exist if it is empty.

    Raises
    ------
    PolicyError
        If `folder` exists and is not an empty folder.
    InputError
        If a list cannot be read, a file of the rules has the name of a file of the pack, or the
        folder cannot be created.
    """
    from cranfield.campaign.pages import render_text

    rules = campaign.rules
    check_rules(rules)
    with create_atomically(folder) as new_folder:
        (new_folder / PACK_RULES).write_bytes(format_rules(rules, campaign.folder).encode())
        lists = (campaign.folder / name for name in sorted({*rules.files} - {rules.source}))
        copy_lists(lists, campaign.folder, new_folder, "a pack")
        pack_rules = read_rules(new_folder / PACK_RULES)
        files, all_files = sorted(pack_rules.files.items()), hash_rules(pack_rules)
        limits = {name: [*_describe_limits(task)] for name, task in rules.tasks.items()}
        values = {"rules": rules, "files": files, "all_files": all_files, "limits": limits}
        readme = render_text("pack.md", **values)
        (new_folder / PACK_README).write_bytes(readme.encode())
    return Path(fspath(folder))
