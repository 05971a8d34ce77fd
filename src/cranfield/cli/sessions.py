"""`cranfield sessions`: scores of search sessions."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import tell_without_effect
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import (
    max_grade_option,
    measures_option,
    one_of,
    rel_option,
    wanted_measures,
)
from cranfield.cli.options.output import Output, Printing, output_options, table_options
from cranfield.cli.options.reading import skip_bad_runs
from cranfield.collection.files.format_names import DUPLICATES
from cranfield.collection.judged.policies import CHOICES

EPILOG = """\b
Examples:
  cranfield sessions qrels.txt sessions.xml -m nsDCG@10
  cranfield sessions qrels.txt sessions.csv --clicks clicks.csv --lengths lengths.txt -m ClickU
  cranfield sessions qrels.txt sessions.csv -m sDCG -m nDCG@10 --duplicates keep -q
  cranfield sessions qrels.txt sessions.xml runs/*.xz -m "nsDCG(q=2)@10" --format csv
"""

DEFAULT = ("sDCG@10", "nsDCG@10")


@command(
    epilog=EPILOG,
    first="measure clicks session-topics depth duplicates"
    " until-click rel by-session format output places",
)
@click.argument("qrels", metavar="QRELS", type=READ)
@click.argument("sessions", metavar="SESSIONS", type=READ)
@click.argument("runs", metavar="[RUN...]", nargs=-1, type=READ)
@measures_option(DEFAULT)
@option(
    "--clicks", metavar="FILE", help="Clicks of a table: session, query, rank[, start].", type=READ
)
@option("--session-topics", metavar="FILE", help="The topic of each session.", type=READ)
@option("--depth", type=click.IntRange(1), help="Documents taken of each list.")
@one_of("--duplicates", ("first", "keep"), "Documents that come again in a session.", "first")
@one_of(
    "--run-duplicates",
    DUPLICATES,
    "Which of a document that is twice in one ranking of a RUN is kept, if any.",
    "error",
    stands_for="duplicates",
    goes_with="RUN",
)
@skip_bad_runs
@option("--until-click", is_flag=True, help="Cut each list off after its lowest click.")
@option("--lengths", metavar="FILE", help="Lengths of documents in characters.", type=READ)
@rel_option
@max_grade_option
@one_of("--unjudged", CHOICES["unjudged"], "What becomes of unjudged documents.")
@one_of("--negative", CHOICES["negative"], "What a grade below 0 means.")
@one_of(
    "--ties",
    CHOICES["ties"],
    "With RUN: order of documents with equal scores.",
    goes_with="RUN",
)
@output_options("session")
@table_options
def sessions(
    qrels: str,
    sessions: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    clicks: str | None,
    session_topics: str | None,
    run_duplicates: str,
    bad_runs: str,
    lengths: str | None,
    rel: int | None,
    ties: str | None,
    output: Output,
    printing: Printing,
    **options: Any,
) -> None:
    """Score sessions of several queries.

    QRELS is a file of judgments by topic. SESSIONS is a log of the TREC Session track in XML, or a
    table of results: session, query, rank, doc, and perhaps topic and system. Each RUN answers the
    query that each session of the log ends with. Measures of a ranking score the lists of a session
    one after the other.
    """
    output.check()
    wanted = wanted_measures(asked, rel)
    if [qrels, sessions, clicks, session_topics, lengths, *runs].count("-") > 1:
        raise PolicyError("standard input cannot be two files")
    from cranfield import evaluate_sessions
    from cranfield.sessions import read_sessions

    read = read_sessions(sessions, clicks=clicks, topics=session_topics)
    if runs:
        read = read.followed_by(
            runs, ties=ties or "trec", duplicates=run_duplicates, bad_runs=bad_runs
        )
    options = {name: value for name, value in options.items() if value is not None}
    found = evaluate_sessions(read, qrels, wanted, lengths=lengths, **options)
    found.warn()
    needs = " ".join(one.info.needs for one in wanted) + (
        " clicks" if options.get("until_click") else ""
    )
    unused = [name for name in ("clicks", "lengths") if name not in needs]
    tell_without_effect(unused, "no requested measure uses it")
    output.write(found, printing, unit="session")
