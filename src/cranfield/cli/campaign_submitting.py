"""Commands of submissions: `team`, `check`, `submit`, `replace`, `withdraw`, `purge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import InputError, PolicyError, quoted, warn
from cranfield.base.text import counted, plain, some_of
from cranfield.cli.campaign_folder import (
    folder_argument,
    form_option,
    listing_options,
    task_option,
    write_listing,
)
from cranfield.cli.options.declaring import (
    READ,
    WRITTEN,
    CommandGroup,
    command,
    keep_inputs,
    option,
)
from cranfield.cli.options.output import with_options, write

if TYPE_CHECKING:
    from cranfield.campaign.checks.report import CheckReport
    from cranfield.campaign.opened import Opened
    from cranfield.campaign.submitting.submit import Submitted


EPILOG = """\b
Examples:
  cranfield campaign submit news bm25.run --team padua --type automatic --priority 1
  cranfield campaign submit news bm25.run --team padua --answer fields=title
  cranfield campaign submit news runs/ --from runs.csv --add-teams
  cranfield campaign submit news runs/ --from board.csv --column type=runtype
"""

_SAID = (
    option("--type", "kind", help="One of the task's types."),
    option("--priority", type=int, help="Order of the team's runs for the pool, from 1."),
    option(
        "--answer",
        "answers",
        multiple=True,
        metavar="NAME=TEXT",
        help="To a question of the task; may be given several times.",
    ),
    option("--description", metavar="TEXT", help="What the run is."),
    option(
        "--received", metavar="TIME", help="When it came, as 2026-08-15T23:59:59Z; by default now."
    ),
)

_RUN = (
    task_option,
    option("--tag", metavar="TAG", help="The tag that the run must have; by default what it has."),
)


@command(
    epilog=EPILOG,
    first="team task tag type priority answer description from column add-teams all-or-none jobs",
)
@folder_argument
@click.argument("runs", metavar="RUN...", nargs=-1, type=READ)
@option("--team", metavar="ID", help="The team that hands in.")
@with_options((*_RUN, *_SAID))
@option(
    "--from",
    "table",
    metavar="TABLE",
    help="Hand in the runs of a table, found by their tags among RUN..., files or folders.",
    type=READ,
)
@option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="With --from: the column of something, such as type=runtype.",
    goes_with="--from",
)
@option("--add-teams", is_flag=True, help="Add teams that are not there yet.")
@option("--all-or-none", is_flag=True, help="Enter nothing at all where one is refused.")
@option("--jobs", type=click.IntRange(1), help="Runs that are checked at a time.")
def submit(
    folder: str,
    runs: tuple[str, ...],
    team: str | None,
    task: str | None,
    tag: str | None,
    table: str | None,
    columns: tuple[str, ...],
    **options: Any,
) -> int:
    """Hand in runs: each is accepted, or refused with all its faults.

    What is kept are the bytes as they came. The exit status is 1 where a run is refused.
    """
    from cranfield import campaign
    from cranfield.campaign.submitting.archive import (
        ArchiveTable,
        Row,
        read_archive_table,
        submit_archive,
    )
    from cranfield.campaign.submitting.entering import Declared

    if tag is not None and (table is not None or len(runs) > 1):
        raise PolicyError("--tag goes with one run")
    if not runs and table is None:
        raise PolicyError("no run is given")
    opened = campaign.open(folder)
    given = Declared(team or "", tag, **_declared(options))
    if table is not None:
        named = _pairs("--column", columns)
        listed = read_archive_table(
            table, runs, opened.rules, given=given, task=task, columns=named
        )
        if listed.unused:
            unused = ", ".join(map(quoted, listed.unused))
            warn(f"columns that are not used: {unused}", stacklevel=1)
        if listed.unnamed:
            files = f"{counted(len(listed.unnamed), 'file')} without a row in the table"
            warn(f"{files}: {some_of(map(quoted, listed.unnamed), 5)}")
    elif team is None:
        raise PolicyError("--team is missing: the id of the team")
    else:
        listed = ArchiveTable("", tuple(Row(None, given, task, run) for run in runs))
    if consent := opened.rules.consent.strip():
        print(f"by handing in, a team agrees: {plain(consent)}", file=sys.stderr)
    number = accepted = unread = 0
    entered: list[Submitted] = []
    for one in submit_archive(opened, listed, **options):
        number += 1
        accepted += one.accepted
        if one.submitted is not None:
            _show(one.submitted)
            entered.append(one.submitted)
            continue
        unread += 1
        about = "" if table is None else f"run {quoted(one.row.declared.tag)}: "
        print(f"cranfield: error: {plain(about + one.wrong)}", file=sys.stderr)
    if number > 1:
        print(f"{accepted:,} of {number:,} runs accepted")
    _feed_back(opened, entered)
    if unread and table is None:
        return 2
    return int(accepted < number)


@command()
@folder_argument
@click.argument("tag")
@click.argument("run", type=READ)
@with_options(_SAID)
def replace(folder: str, tag: str, run: str, **said: Any) -> int:
    """Hand in a run in the place of an accepted one.

    It is of the same team and task. TAG is that of the run to be replaced; the new one may have the
    same. What is not said of the new run is as it was of the old one.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    old = opened.registry.submission(tag)
    if old is None:
        raise PolicyError(f"no run is called {quoted(tag)}")
    given = _declared(said)
    for name in ("type", "priority", "answers", "description"):
        given[name] = given[name] or getattr(old, name)
    done = opened.submit(run, old.task, team=old.team, replaces=old.tag, **given)
    _show(done)
    if done.accepted and not done.again:
        print(f"replaced: {plain(old.tag)}, handed in at {old.received}")
    _feed_back(opened, [done])
    return int(not done.accepted)


@command()
@folder_argument
@click.argument("tag")
@option("--reason", metavar="TEXT", required=True, help="Why, for the log.")
def withdraw(folder: str, tag: str, reason: str) -> None:
    """Take a run back, with a reason.

    It is no longer scored or released, and stays in the log.
    """
    from cranfield import campaign

    run = campaign.open(folder).withdraw(tag, reason)
    print(f"withdrawn: {plain(run.tag)} of {plain(run.team)}")


@command()
@folder_argument
@click.argument("tag")
@option("--reason", metavar="TEXT", required=True, help="Why, for the log.")
def purge(folder: str, tag: str, reason: str) -> None:
    """Remove the bytes of a run that is not accepted.

    It was withdrawn, replaced or refused. The row with its hash stays; so does what was released.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    run = opened.purge(tag, reason)
    from cranfield.campaign.store.records import path

    there = path(opened.folder, run.object).exists()
    what = "its bytes stay, since something else is these bytes too" if there else "bytes removed"
    print(f"purged: {plain(run.tag)} of {plain(run.team)}, handed in at {run.received}: {what}")


def _declared(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is declared of a run out of the options of a command."""
    from cranfield.campaign.rules.task_rules import instant

    received = options.pop("received")
    return {
        "type": options.pop("kind") or "",
        "priority": options.pop("priority"),
        "answers": _pairs("--answer", options.pop("answers")),
        "description": options.pop("description") or "",
        "received": None if received is None else instant(received),
    }


def _pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not (name and sign):
            raise PolicyError(f"{option} {quoted(one)} is not of the form NAME=VALUE")
        if name in pairs:
            raise PolicyError(f"{option} {quoted(name)} is given twice")
        pairs[name] = value
    return pairs


def _feed_back(opened: Opened, entered: Sequence[Submitted]) -> None:
    """Print the scores that the rules of a task let teams see before its release."""
    accepted = [one.submission for one in entered if one.accepted]
    for task in dict.fromkeys(one.task for one in accepted):
        if opened.rules.task(task).feedback == "none":
            continue
        from cranfield.campaign.results.leaderboard import feedback

        tags = [one.tag for one in accepted if one.task == task]
        for tag, told in feedback(opened, task, tags).items():
            print(f"{plain(tag)}: {told}")


def _show(submitted: Submitted) -> None:
    """Print what the check found, and what became of the run."""
    report, run = submitted.report, submitted.submission
    for fault in report.faults:
        print(fault.text(report.source))
    tag = plain(run.tag) or plain(report.source)
    if submitted.again:
        print(f"already handed in: {tag} (sha256 {run.object})")
    elif submitted.accepted:
        late = ", late" if run.late else ""
        counts = report.outcome.removeprefix("accepted").replace(": ", ", ")
        print(f"accepted as {tag}{late}{counts} (sha256 {run.object})")
    else:
        print(f"{report.outcome}, {tag}")


TEAMS_EPILOG = """\b
Examples:
  cranfield campaign team add news padua --name "University of Padua" --contact ir@example.org
  cranfield campaign team change news padua --anonymous-until 2027-01-31
  cranfield campaign team list news --contacts
"""

_ABOUT = (
    option("--name", metavar="TEXT", help="What people call it; the id where there is none."),
    option("--contact", metavar="TEXT", help="For organisers alone: it never leaves the registry."),
    option(
        "--anonymous-until",
        metavar="DAY",
        help="Releases before that day, such as 2027-01-31, do not name it.",
    ),
)


@click.group(cls=CommandGroup, in_order=True, epilog=TEAMS_EPILOG)
def team() -> None:
    """Add teams, change what is known of them, and list them."""


@team.command()
@folder_argument
@click.argument("id")
@with_options(_ABOUT)
def add(folder: str, id: str, **about: Any) -> None:
    """Add a team; ID is what commands, tables and files call it."""
    from cranfield import campaign

    given = {name: value for name, value in about.items() if value is not None}
    made = campaign.open(folder).add_team(id, **given)
    print(f"added: {plain(made.id)}")


@team.command()
@folder_argument
@click.argument("id")
@with_options(_ABOUT)
def change(folder: str, id: str, **about: str | None) -> None:
    """Change what is given; an empty text takes a contact or a date away."""
    from cranfield import campaign

    made = campaign.open(folder).change_team(id, **about)
    print(f"changed: {plain(made.id)}")


@team.command("list")
@folder_argument
@option("--contacts", is_flag=True, help="Show contacts too.")
@listing_options
def listed(folder: str, contacts: bool, form: str, output: str | None) -> None:
    """List teams, and how many runs of theirs are accepted."""
    from collections import Counter

    import polars as pl

    from cranfield import campaign
    from cranfield.tabular import text_table

    opened = campaign.open(folder)
    runs = Counter(one.team for one in opened.submissions())
    head = ["id", "name", "runs", "anonymous until", *(["contact"] if contacts else [])]
    rows = [
        [
            *(one.id, one.name, f"{runs[one.id]:,}", one.anonymous_until or ""),
            *([one.contact] if contacts else []),
        ]
        for one in opened.teams()
    ]
    kinds = [pl.Int64 if name == "runs" else pl.String for name in head]
    values = [[row[0], row[1], runs[row[0]], row[3] or None, *row[4:]] for row in rows]
    frame = pl.DataFrame(values, dict(zip(head, kinds, strict=True)), orient="row")
    write_listing(frame, f"{text_table(head, rows, left=(0, 1, 3, 4))}\n", form, output)


CHECKING_EPILOG = """\b
Examples:
  cranfield campaign check bm25.run --rules pack/
  cranfield campaign check runs/*.gz --rules news-2026/ --task adhoc
  cranfield campaign check bm25.run --rules rules.toml --tag bm25 --format json -o report.json
"""


@command(epilog=CHECKING_EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@option(
    "--rules",
    required=True,
    metavar="PATH",
    help="A pack, a campaign's folder, or a rules.toml.",
    type=READ,
)
@task_option
@option("--tag", metavar="TAG", help="The tag that the run should have.")
@option("--team", metavar="ID", help="The team's id, which no tag may be.")
@form_option(("text", "json", "errlog"))
@option("--all", "all_faults", is_flag=True, help="Say each fault, not 25 of a kind.")
@option("--output", metavar="PATH", help="File to write, or with errlog the folder.", type=WRITTEN)
def check(
    runs: tuple[str, ...],
    rules: str,
    task: str | None,
    tag: str | None,
    team: str | None,
    form: str,
    all_faults: bool,
    output: str | None,
) -> int:
    """Check runs by the rules, before they are handed in.

    Says all that is wrong, with the lines. The exit status is 0 where all runs are accepted, 1
    where one is refused, 2 where a run or the rules cannot be read; then no file is written. What
    only the organisers know is not checked: whether a tag is taken, limits and times. A format of
    errlog writes a file TAG.errlog for each run.
    """
    from cranfield.campaign.checks.checking import check_run
    from cranfield.campaign.checks.report import as_json
    from cranfield.campaign.rules.reading import read_rules

    if tag is not None and len(runs) > 1:
        raise PolicyError(f"--tag is for one run; there are {len(runs)}")
    if form == "errlog" and "-" in runs and output is None:
        raise PolicyError("--format errlog of standard input needs --output FOLDER")
    asked = read_rules(rules).task(task)
    reports: list[CheckReport] = []
    errors: list[InputError] = []
    for run in runs:
        try:
            report = check_run(run, asked, tag=tag, team=team, all_faults=all_faults)
        except InputError as error:
            # The others are still of interest, but not where it is the rules that are unreadable.
            if error.source not in {run, "standard input"}:
                raise
            errors.append(error)
            continue
        reports.append(report)
        if form == "text" and output in {None, "-"}:
            print(report)
    if errors:
        if form != "text" or output not in {None, "-"}:
            print(
                "cranfield: warning: nothing is written, as not all runs are read", file=sys.stderr
            )
        for unread in errors:
            print(f"cranfield: error: {plain(str(unread))}", file=sys.stderr)
        return 2
    if form == "errlog":
        _write_errlogs(reports, output, runs)
    elif form == "json":
        write(f"{as_json(reports)}\n", output)
    elif output not in {None, "-"}:
        write("".join(f"{report}\n" for report in reports), output)
    return 0 if all(report.accepted for report in reports) else 1


def _write_errlogs(reports: list[CheckReport], folder: str | None, runs: tuple[str, ...]) -> None:
    """Write the logs, unless two of them would be one file, or one a run."""
    from cranfield.campaign.checks.report import errlog_of, write_errlog

    if folder is not None and not Path(folder).is_dir():
        raise PolicyError(f"--output {quoted(folder)} is no folder, which errlog needs")
    paths = [errlog_of(report) for report in reports]
    if folder is not None:
        paths = [Path(folder) / path.name for path in paths]
    first: dict[str, CheckReport] = {}
    for path, report in zip(paths, reports, strict=True):
        # Disks that take capital letters for small ones would have one file, too.
        other = first.setdefault(str(path).casefold(), report)
        if other is not report:
            raise PolicyError(
                f"{quoted(other.source)} and {quoted(report.source)} have the same log,"
                f" {quoted(path)}"
            )
    keep_inputs([str(path) for path in paths], runs)
    for path, report in zip(paths, reports, strict=True):
        write_errlog(report, path)
