"""`cranfield campaign score`, `standing`, `history`: boards, new runs, records over the years."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.campaign.arguments import (
    folder_argument,
    form_option,
    judgments_option,
    status_of,
    task_option,
)
from cranfield.cli.options.declaring import READ, WRITTEN, command, option
from cranfield.cli.options.judging import alpha_option
from cranfield.cli.options.output import output_option, write_findings
from cranfield.reporting.text.studies import WRITERS

if TYPE_CHECKING:
    from cranfield.campaign import Campaign

SCORE = """\b
Examples:
  cranfield campaign score news --task adhoc
  cranfield campaign score news -m AP -m P@10 --format csv -o board.csv
  cranfield campaign score news --judgments 1 --topic-scores scores.parquet
"""

STANDING = """\b
Examples:
  cranfield campaign standing news new.run
  cranfield campaign standing news new.run -m nDCG@10 --baseline bm25
  cranfield campaign standing news new.run --baseline old.run --format json
"""

HISTORY = """\b
Examples:
  cranfield campaign history news -m nDCG@10
  cranfield campaign history "releases/*" -m AP --standardised
  cranfield campaign history board.csv -m "MRR@100 (Eval)" --column entry=description --all
"""

SHOWN = 200
"""Runs of a board that the text shows, unless all are asked for."""

format_option = form_option(WRITERS)


@command(epilog=SCORE)
@folder_argument
@task_option
@option(
    "--measure",
    "measures",
    metavar="MEASURE",
    multiple=True,
    help="Instead of the task's measures; the first one decides the order.",
)
@judgments_option
@alpha_option
@option("--all", "every", is_flag=True, help=f"All runs; the text shows {SHOWN} at most.")
@option(
    "--topic-scores",
    "by_topic",
    metavar="FILE",
    help="Write the scores by topic, too: .csv or .parquet.",
    type=WRITTEN,
)
@format_option
@output_option
def score(
    folder: str,
    task: str | None,
    measures: tuple[str, ...],
    judgments: str | None,
    alpha: float,
    every: bool,
    by_topic: str | None,
    form: str,
    output: str | None,
) -> int:
    """Score the accepted runs, and print the board.

    What was scored before is not scored again. The exit status is 1 if a run cannot be read and is
    excluded.
    """
    from cranfield import campaign

    if by_topic is not None and not by_topic.endswith((".csv", ".parquet")):
        raise PolicyError(f"--topic-scores {quoted(by_topic)} ends neither in .csv nor in .parquet")
    opened: Campaign = campaign.open(folder)
    rules = opened.rules.task(task)
    asked = measures or None
    made = opened.leaderboard(rules.name, measures=asked, judgments=judgments, alpha=alpha)
    if by_topic is not None:
        evaluation = opened.score(rules.name, measures=asked, judgments=judgments)
        kind = evaluation.write_csv if by_topic.endswith(".csv") else evaluation.write_parquet
        kind(by_topic)
    most = None if every or form != "text" else SHOWN
    write_findings(made.findings(rules.title or rules.name, most), form, None, output)
    return status_of(opened)


@command(epilog=STANDING)
@folder_argument
@click.argument("run", type=READ)
@task_option
@option("--measure", metavar="MEASURE", help="By default the task's first one.")
@option(
    "--baseline",
    metavar="RUN",
    help="Another run that both are compared with, or a tag.",
    type=READ,
)
@judgments_option
@option(
    "--type",
    "kind",
    default="automatic",
    show_default=True,
    help="Type of the runs it is compared with; all if none is automatic.",
)
@alpha_option
@option(
    "--pooling/--no-pooling",
    default=True,
    show_default=True,
    help="Whether to find out what runs lose that were not pooled.",
)
@format_option
@output_option
def standing(folder: str, run: str, form: str, output: str | None, **options: Any) -> int:
    """Say where a run stands among those of the campaign.

    It is compared with the best and the median run, and a baseline. RUN is a file, or the tag of
    one of the campaign's runs.
    """
    from cranfield import campaign

    opened: Campaign = campaign.open(folder)
    found = opened.standing(run, **options)
    write_findings(found.findings(), form, None, output)
    return status_of(opened)


@command(epilog=HISTORY)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=READ)
@option("--measure", metavar="MEASURE", required=True, help="A measure, or a column of tables.")
@task_option
@option("--all", "every", is_flag=True, help="All entries, not the records alone.")
@option("--standardised", is_flag=True, help="Compare different collections, standardised.")
@option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    stands_for="columns",
    help="Of tables: what score, date, entry, team or mark is called.",
)
@option(
    "--own", multiple=True, metavar="MARK", help="Of tables: marks of the organisers' own entries."
)
@option("--lower-is-better", is_flag=True, help="Lower scores are better.")
@format_option
@output_option
def history(
    sources: tuple[str, ...],
    every: bool,
    columns: tuple[str, ...],
    own: tuple[str, ...],
    form: str,
    output: str | None,
    **options: Any,
) -> int:
    """List the records: entries that beat all before them.

    SOURCE is a campaign's folder, a release's folder, or a table of a board.
    """
    from cranfield.campaign.results.entries import OWN
    from cranfield.campaign.results.history import history as history_of

    found = history_of(sources, columns=dict(map(_pair, columns)), own=own or OWN, **options)
    write_findings(found.findings(every), form, None, output)
    return int(bool(found.unreadable))


def _pair(text: str) -> tuple[str, str]:
    name, sign, column = text.partition("=")
    if not sign:
        raise PolicyError(f"--column {quoted(text)} is not of the form NAME=COLUMN")
    return name, column
