"""`cranfield campaign submit`, `replace`, `withdraw`, `purge`: runs come in, and are taken back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.escape import plain
from cranfield.base.words import counted, some_of
from cranfield.cli.campaign.arguments import folder_argument, task_option
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.output import with_options

if TYPE_CHECKING:
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
    from cranfield.campaign.submitting.archive import submit_archive
    from cranfield.campaign.submitting.archive_table import ArchiveTable, Row, read_archive_table
    from cranfield.campaign.submitting.declared import Declared

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
    from cranfield.campaign.store.objects import path

    there = path(opened.folder, run.object).exists()
    what = "its bytes stay, since something else is these bytes too" if there else "bytes removed"
    print(f"purged: {plain(run.tag)} of {plain(run.team)}, handed in at {run.received}: {what}")


def _declared(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is declared of a run out of the options of a command."""
    from cranfield.campaign.rules.times import instant

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
        from cranfield.campaign.results.feedback import feedback

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
        verdict = report.verdict.removeprefix("accepted").replace(": ", ", ")
        print(f"accepted as {tag}{late}{verdict} (sha256 {run.object})")
    else:
        print(f"{report.verdict}, {tag}")
