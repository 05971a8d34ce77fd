"""Commands on a campaign's folder, its teams and their runs."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.text import format_json, inflect, sanitise
from cranfield.cli import options as cli

if TYPE_CHECKING:
    from cranfield.campaign.store.records import Submission
    from cranfield.campaign.submitting.submit import SubmissionOutcome


@cli.command()
@click.argument("folder", type=cli.INPUT_FILE)
@cli.options_from(f"{cli.CAMPAIGN}.create", "rules")
def init(folder: str, rules: str | None) -> None:
    """Create the folder of a campaign.

    Without --rules, the folder contains an example of campaign.toml with an explanation of each
    key: edit this file before the first run is submitted. Other users of this machine cannot read
    the folder.

    Examples
    --------
    cranfield campaign init news-2026
    cranfield campaign init news-2026 --rules campaign.toml
    """
    campaign = cf.campaign.create(folder, rules)
    print(f"{folder}: {campaign.rules.id}, {inflect(len(campaign.rules.tasks), 'task')}")
    if rules is None:
        print(f"next: edit {Path(folder) / 'campaign.toml'}")


@cli.command()
@cli.campaign_argument
@cli.make_output_option("FOLDER", "Folder to create.")
def pack(campaign: cf.campaign.Campaign, output: str) -> None:
    """Write the pack with which participants check their runs.

    The pack is a folder with the public part of the rules, the lists of topics and documents, and a
    README with the command to run.

    Examples
    --------
    cranfield campaign pack news-2026 -o news-2026-pack
    """
    from cranfield.campaign.campaign_folder import pack as write_pack

    n_files = sum(path.is_file() for path in write_pack(campaign, output).rglob("*"))
    print(f"{output}: {inflect(n_files, 'file')}")


DEMO = """
campaign init covid --rules rules/campaign.toml
campaign pack covid -o pack
check broken.run --rules pack
campaign run submit covid runs --from runs.csv --add-teams
campaign run submit covid broken.run --team {team} --received 2020-07-31T13:00:00Z
campaign run replace covid {replaced} {replaced}-2.run --received 2020-07-31T14:00:00Z
campaign run withdraw covid {withdrawn} --reason 'Trained on the judgments.'
campaign run list covid
campaign judgments covid qrels.txt --version 1
campaign score covid
campaign release sheets covid -o sheets
campaign release packet covid --team {team} -o packet.zip
campaign release make covid --date 2020-09-01
campaign release site covid -o site
campaign verify covid
"""
MAX_LINES = {"check": 9, "list": 20, "score": 30, "make": 8}
"""Maximum number of output lines of a command in the demonstration; 1 by default."""


@cli.command()
@cli.own_options("folder no_open", folder={"metavar": "DIR"})
def demo(folder: str | None, *, no_open: bool = False) -> None:
    """Run a small campaign from start to end, and show each command.

    Five teams submit ten runs of the bundled collection, of which one is replaced, one late and one
    withdrawn; an eleventh run is refused. All files, including the site, are kept in the folder.

    Parameters
    ----------
    folder
        Folder to create and work in. By default a temporary folder.
    no_open
        Do not open the site in a browser.
    """
    from cranfield.campaign.example import write_example

    work_folder = Path(folder or tempfile.mkdtemp(prefix="cranfield-campaign-")).resolve()
    if work_folder.exists() and (not work_folder.is_dir() or any(work_folder.iterdir())):
        raise PolicyError(f"{quote(folder)} already exists and is not an empty folder")
    work_folder.mkdir(exist_ok=True)
    print(sanitise(f"In {work_folder}:"))
    placeholders = write_example(work_folder)
    with contextlib.chdir(work_folder):
        for line in DEMO.strip().splitlines():
            _demonstrate(shlex.split(line.format_map(placeholders)))
    site = work_folder / "site/index.html"
    print()
    print(sanitise(f"The site: {site}"))
    if not no_open and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(site.as_uri())


def _demonstrate(words: list[str]) -> None:
    """Run a command, and print it with the last lines of its output."""
    from cranfield.cli.main import app

    print()
    print(sanitise(f"$ cranfield {shlex.join(words)}"))
    output = io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            app.main(words, standalone_mode=False)
        except CranfieldError as error:
            print(f"cranfield: error: {error}")
    n_lines = next((n for name, n in MAX_LINES.items() if name in words[:3]), 1)
    for line in output.getvalue().rstrip().splitlines()[-n_lines:]:
        print(f"  {line}")


@cli.command()
@cli.campaign_argument
@cli.options_from(f"{cli.CAMPAIGN}.store.folder.verify", "repair")
@cli.listing_options
def verify(campaign: cf.campaign.Campaign, repair: bool, format: str, output: str | None) -> int:
    """Verify every file of a campaign.

    The exit status is 1 if there is a problem, such as a missing run or a damaged file.
    """
    cli.refuse_overwriting([output], map(str, campaign.folder.rglob("*")))
    verification = campaign.verify(repair=repair)
    if format == "text":
        # Text output avoids polars, which is slow to import.
        cli.write(f"{verification}\n", output)
    else:
        cli.write_listing(verification.to_polars(), "", format, output)
    return int(not verification.is_intact)


@cli.command()
@cli.campaign_argument
@cli.make_output_option("FILE", "Archive to write (.zip).")
def export(campaign: cf.campaign.Campaign, output: str) -> None:
    """Write a whole campaign to one private archive.

    The archive contains all files of the campaign, and all its records as tables.
    """
    path = campaign.export(output)
    size = inflect(path.stat().st_size, "byte")
    message = f"{path}: {size}; private: it contains contact addresses and unreleased runs"
    click.echo(sanitise(message), err=True)


@cli.group(is_ordered=True)
def team() -> None:
    """Add, change and list teams.

    Examples
    --------
    cranfield campaign team add news padua --name "University of Padua" --contact ir@example.org
    cranfield campaign team change news padua --anonymous-until 2027-01-31
    cranfield campaign team list news --contacts
    """


_TEAM_OPTIONS = cli.make_options(
    f"{cli.CAMPAIGN}.submitting.teams.change_team", "name contact anonymous_until", type=str
)


@team.command()
@cli.campaign_argument
@click.argument("id")
@cli.with_options(_TEAM_OPTIONS)
def add(campaign: cf.campaign.Campaign, id: str, **details: Any) -> None:
    """Add a team; ID names the team in commands, tables and files."""
    details = {name: value for name, value in details.items() if value is not None}
    print(f"added: {sanitise(campaign.add_team(id, **details).id)}")


@team.command()
@cli.campaign_argument
@click.argument("id")
@cli.with_options(_TEAM_OPTIONS)
def change(campaign: cf.campaign.Campaign, id: str, **details: str | None) -> None:
    """Change a team; an empty value removes a contact or a date."""
    print(f"changed: {sanitise(campaign.change_team(id, **details).id)}")
    if details["name"] is not None or details["anonymous_until"] is not None:
        runs = [run for run in campaign.submissions() if run.team == id]
        _print_releases(campaign, runs, "runs of this team")


def _print_releases(campaign: cf.campaign.Campaign, runs: Sequence[Submission], noun: str) -> None:
    """Print a note on each release that contains the runs, because releases never change."""
    from cranfield.campaign.campaign_folder import find_releases_with

    for release in find_releases_with(campaign, runs):
        print(f"note: release {release} contains {noun}; make a new release")


contacts_option = cli.option("--contacts", is_flag=True, help="Also show contact addresses.")


@team.command("list")
@cli.campaign_argument
@contacts_option
@cli.listing_options
def list_teams(
    campaign: cf.campaign.Campaign, contacts: bool, format: str, output: str | None
) -> None:
    """List teams with their numbers of accepted runs."""
    import polars as pl

    from cranfield.tabular import format_grid, tabulate_frame

    n_runs = Counter(run.team for run in campaign.submissions())
    columns = ["id", "name", "runs", "anonymous until"] + ["contact"] * contacts
    rows = [
        (team.id, team.name, n_runs[team.id], team.anonymous_until, team.contact)[: len(columns)]
        for team in campaign.teams()
    ]
    schema = {name: pl.Int64 if name == "runs" else pl.String for name in columns}
    frame = pl.DataFrame(rows, schema, orient="row")
    cli.write_listing(frame, f"{format_grid(tabulate_frame(frame, ''))}\n", format, output)


@cli.group(is_ordered=True)
def run() -> None:
    """Submit, replace, withdraw and list runs."""


DECLARATION = f"{cli.CAMPAIGN}.submitting.submit.Declaration"
_RUN_OPTIONS = (
    *cli.make_options(DECLARATION, "type priority"),
    cli.option(
        "--answer",
        "answers",
        metavar="NAME=TEXT",
        callback=cli.parse_name_values,
        help="Answer to a question of the task's rules; may be given several times.",
    ),
    *cli.make_options(
        DECLARATION,
        "description received",
        received={"callback": lambda ctx, param, text: text and _parse_time(text)},
    ),
)


def _parse_time(text: str) -> Any:
    from cranfield.campaign.rules.task_rules import parse_time

    return parse_time(text)


@run.command()
@cli.settings("all-or-none jobs")
@cli.campaign_argument
@click.argument("runs", metavar="RUN...", nargs=-1, type=cli.INPUT_FILE)
@cli.options_from(DECLARATION, "team tag")
@cli.task_option
@cli.with_options(_RUN_OPTIONS)
@cli.own_options("from=table", table={"metavar": "TABLE", "type": cli.INPUT_FILE})
@cli.options_from(
    f"{cli.CAMPAIGN}.submitting.archive.read_archive_table",
    "column=columns",
    columns={
        "metavar": "NAME=COLUMN",
        "callback": cli.parse_name_values,
        "help": "Name of a column in the table, if it differs from the usual name, such as"
        " type=runtype; may be given several times.",
        "requires": "--from",
    },
)
@cli.options_from(f"{cli.CAMPAIGN}.submitting.archive.submit_archive", "add_teams all_or_none jobs")
def submit(
    campaign: cf.campaign.Campaign,
    runs: tuple[str, ...],
    task: str | None,
    table: str | None,
    columns: Mapping[str, str],
    **options: Any,
) -> int:
    """Submit runs; each run is accepted, or refused with a list of its faults.

    The files are stored unchanged. The exit status is 1 if a run is refused, and 2 (with --from 1)
    if a run could not be submitted.

    Parameters
    ----------
    table
        Table of runs to submit; the file of a run is the one in RUN... (files or folders) with the
        tag as name, such as TAG or TAG.run.gz, or the one in the column `file` of the table.

    Examples
    --------
    cranfield campaign run submit news bm25.run --team padua --type automatic --priority 1
    cranfield campaign run submit news bm25.run --team padua --answer fields=title
    cranfield campaign run submit news runs/ --from runs.csv --add-teams
    """
    from cranfield.campaign.submitting.archive import (
        ArchiveRow,
        ArchiveTable,
        read_archive_table,
        submit_archive,
    )
    from cranfield.campaign.submitting.submit import Declaration

    names = ("team", "tag", "type", "priority", "answers", "description", "received")
    declaration = Declaration(**{name: options.pop(name) for name in names})
    if declaration.tag is not None and (table is not None or len(runs) > 1):
        problem = "--from" if table is not None else len(runs)
        raise PolicyError(f"--tag requires a single run, got {problem}")
    if not runs and table is None:
        raise PolicyError("expected RUN... or --from TABLE, got neither")
    if table is None and not declaration.team:
        raise PolicyError("expected --team ID, the submitting team, got none")
    if table is None:
        rows = tuple(ArchiveRow(None, declaration, task, path) for path in runs)
        archive = ArchiveTable("", rows)
    else:
        archive = read_archive_table(
            table, runs, campaign.rules, defaults=declaration, task=task, columns=columns
        )
    if consent := campaign.rules.consent.strip():
        print(f"by submitting, a team agrees: {sanitise(consent)}", file=sys.stderr)
    outcomes, n_runs = [], len(archive.rows)
    for row_outcome in submit_archive(campaign, archive, **options):
        if row_outcome.run_outcome is not None:
            outcomes.append(row_outcome.run_outcome)
            print(row_outcome.run_outcome)
        else:
            prefix = "" if table is None else f"run {quote(row_outcome.row.declaration.tag)}: "
            print(f"cranfield: error: {sanitise(prefix + row_outcome.reason)}", file=sys.stderr)
    n_accepted = sum(outcome.is_accepted for outcome in outcomes)
    if n_runs > 1:
        print(f"{n_accepted:,} of {n_runs:,} runs accepted")
    _print_feedback(campaign, outcomes)
    if len(outcomes) < n_runs and table is None:
        return 2
    return int(n_accepted < n_runs)


@run.command()
@cli.campaign_argument
@click.argument("tag")
@click.argument("run", type=cli.INPUT_FILE)
@cli.with_options(_RUN_OPTIONS)
def replace(campaign: cf.campaign.Campaign, tag: str, run: str, **details: Any) -> int:
    """Submit a run that replaces an accepted one.

    TAG is the tag of the run to replace; the new run has the same team and task, and may have the
    same tag. Options that are not set, except --received, keep the values of the old run.
    """
    from cranfield.campaign.submitting.submit import find_accepted_run

    old_run = find_accepted_run(campaign.registry, tag)
    for name in ("type", "priority", "description"):
        details[name] = details[name] or getattr(old_run, name)
    details["answers"] = {**old_run.answers, **(details["answers"] or {})}
    outcome = campaign.submit(run, old_run.task, team=old_run.team, replaces=old_run.tag, **details)
    print(outcome)
    if outcome.is_accepted and not outcome.is_repeat:
        print(f"replaced: {sanitise(old_run.tag)}, submitted at {old_run.received}")
        _print_releases(campaign, [old_run], "the replaced run")
    _print_feedback(campaign, [outcome])
    return int(not outcome.is_accepted)


@run.command()
@cli.campaign_argument
@click.argument("tag")
@cli.reason_option
def withdraw(campaign: cf.campaign.Campaign, tag: str, reason: str) -> None:
    """Withdraw a run, with a reason.

    The run is no longer scored or released; its record stays in the log.
    """
    run = campaign.withdraw(tag, reason)
    print(f"withdrawn: {sanitise(run.tag)} of {sanitise(run.team)}")
    _print_releases(campaign, [run], "this run")


@run.command()
@cli.campaign_argument
@click.argument("tag")
@cli.reason_option
@cli.options_from(f"{cli.CAMPAIGN}.submitting.submit.purge", "id")
def purge(campaign: cf.campaign.Campaign, tag: str, reason: str, id: int | None) -> None:
    """Delete the file of a withdrawn, replaced or refused run.

    The record of the run (with the hash of the file) and earlier releases are kept. If several runs
    have the tag, the command lists their ids; select one of them with --id.
    """
    from cranfield.campaign.store.records import find_object

    run = campaign.purge(tag, reason, id=id)
    is_shared = find_object(campaign.folder, run.object).exists()
    remark = "file kept, as another run has the same content" if is_shared else "file deleted"
    name = f"{sanitise(run.tag)} of {sanitise(run.team)}"
    print(f"purged: {name}, submitted at {run.received}: {remark}")


def _print_feedback(campaign: cf.campaign.Campaign, outcomes: Sequence[SubmissionOutcome]) -> None:
    """Print the scores that the rules of a task let teams see before its release."""
    runs = [outcome.submission for outcome in outcomes if outcome.is_accepted]
    for task in dict.fromkeys(run.task for run in runs):
        if campaign.rules.get_task(task).feedback == "none":
            continue
        from cranfield.campaign.results.leaderboard import format_feedback

        tags = [run.tag for run in runs if run.task == task]
        for tag, scores in format_feedback(campaign, task, tags).items():
            print(f"{sanitise(tag)}: {scores}")


STATES = ("accepted", "refused", "replaced", "withdrawn")
TEXT_COLUMNS = ("tag", "team", "task", "type", "priority", "state", "late", "pooled", "received")
COLUMNS = (*TEXT_COLUMNS, "bytes", "object", "description", "reason")  # CSV has also answers


@run.command("list")
@cli.campaign_argument
@cli.task_option
@cli.own_options("team state=states", states={"type": click.Choice([*STATES, "all"])})
@cli.listing_options
def list_runs(
    campaign: cf.campaign.Campaign,
    *,
    task: str | None,
    team: str | None,
    states: tuple[str, ...] = ("accepted",),
    format: str,
    output: str | None,
) -> None:
    """List runs in the order in which they were recorded.

    Parameters
    ----------
    team
        List only runs of this team.
    states
        List only runs in this state, or in all states (all); may be given several times.
    """
    from cranfield.campaign.submitting.teams import require_team
    from cranfield.tabular import align_rows

    if task is not None:
        campaign.rules.get_task(task)
    if team is not None:
        require_team(campaign.registry, team)
    submissions = campaign.registry.list_submissions(task, None, team=team)
    runs = [run for run in submissions if "all" in states or run.state in states]
    names = TEXT_COLUMNS if format == "text" else COLUMNS
    rows = [{name: getattr(run, name) for name in names} for run in runs]
    if format == "text":
        cells = [[_format_cell(value) for value in row.values()] for row in rows]
        left = [k for k, name in enumerate(names) if name != "priority"]
        text = align_rows(names, cells, left=left) + "\n"
        n_hidden = Counter(run.state for run in submissions) - Counter(run.state for run in runs)
        if n_hidden:
            counts = (f"{n_runs:,} {state}" for state, n_runs in sorted(n_hidden.items()))
            text += f"not shown: {', '.join(counts)} (--state all)\n"
    elif format == "json":
        records = [row | {"answers": run.answers} for row, run in zip(rows, runs, strict=True)]
        text = format_json(records)
    else:
        import polars as pl

        values = [[None if value == "" else value for value in row.values()] for row in rows]
        frame = pl.DataFrame(values, list(names), orient="row", infer_schema_length=None)
        answers = [json.dumps(run.answers, ensure_ascii=False, sort_keys=True) for run in runs]
        text = frame.with_columns(answers=pl.Series(answers, dtype=pl.String)).write_csv()
    cli.write(text, output)


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


@run.command()
@cli.campaign_argument
@click.argument("tag")
@contacts_option
@cli.make_format_option(("text", "json"))
@cli.output_option
def show(
    campaign: cf.campaign.Campaign, tag: str, contacts: bool, format: str, output: str | None
) -> None:
    """Show the records of a run, and of other runs with its tag.

    A record contains the declaration, faults and events of a run. Records are for organisers only,
    as they name other teams that submitted the same ranking.
    """
    records = campaign.run_records(tag, contacts=contacts)
    if format == "json":
        cli.write(format_json(records), output)
    else:
        cli.write("\n".join(map(_format_record, records)), output)


def _format_record(record: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for name, value in record.items():
        if name in {"faults", "events"}:
            continue
        if isinstance(value, dict):
            lines.extend(f"{name}.{sanitise(key)}: {sanitise(text)}" for key, text in value.items())
        elif value not in (None, "", {}):
            text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
            lines.append(f"{name}: " + "\n  ".join(map(sanitise, text.splitlines())))
    for fault in record["faults"]:
        location = "" if fault["line"] is None else f" in line {fault['line']:,}"
        lines.append(f"{fault['severity']}{location}: {sanitise(fault['message'])}")
    lines.extend(
        f"{event['at']} {sanitise(event['action'])} by {sanitise(event['actor'])}"
        for event in record["events"]
    )
    return "\n".join(lines) + "\n"
