"""`cranfield campaign pool` and `judgments`: what is to be judged, and what was judged."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.cli.campaign.arguments import (
    folder_argument,
    listing_options,
    status_of,
    task_option,
    write_listing,
)
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of, seed_option
from cranfield.cli.options.output import gathered, output_option
from cranfield.cli.options.pooling import LISTS, Dealing, dealing_options
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    from cranfield.campaign import Campaign

LISTED = ("--output", "--unjudged")
"""What lists documents."""

EPILOG = """\b
Examples:
  cranfield campaign pool news --task adhoc -o to-judge.tsv
  cranfield campaign pool news --mark --assessors ann,bob -o "sheet-{}.tsv"
  cranfield campaign pool news --depth 10 --unjudged -o more.tsv
"""


@command(epilog=EPILOG)
@folder_argument
@task_option
@option("--depth", type=click.IntRange(1), help="Ranks pooled; by default as the rules say.")
@option(
    "--without",
    multiple=True,
    metavar="TAG",
    help="Run to keep out of the pool; may be given several times.",
)
@option("--mark", is_flag=True, help="Record that these runs were pooled.")
@option("--unjudged", is_flag=True, help="List what the newest judgments lack.")
@option(
    "--judgments",
    "version",
    metavar="VERSION",
    help="With --unjudged: that version of the judgments.",
    goes_with="--unjudged",
)
@gathered(Dealing, "dealing", dealing_options(LISTED))
@seed_option("Of all draws.", goes_with=("--arranged=shuffled", "--assessors"))
@one_of(
    "--format",
    ("auto", *LISTS),
    "How to write documents; auto looks at the suffix.",
    "auto",
    goes_with=LISTED,
)
@output_option
def pool(
    folder: str,
    task: str | None,
    depth: int | None,
    without: tuple[str, ...],
    mark: bool,
    unjudged: bool,
    version: str | None,
    dealing: Dealing,
    seed: int,
    format: str,
    output: str | None,
) -> int:
    """List what is to be judged, from the runs that the rules choose.

    These runs are accepted, not late, and of the priorities of the rules. Without --output or
    --unjudged there is only said how large the pool is. The exit status is 1 if a run cannot be
    read and is excluded.
    """
    from cranfield import campaign
    from cranfield.campaign.results.judgments import qrels_of, version_of
    from cranfield.campaign.results.pooling import pooled_runs

    opened: Campaign = campaign.open(folder)
    rules = opened.rules.task(task)
    chosen = pooled_runs(opened, rules.name, without)
    made = opened.pool(rules.name, depth=depth, without=without, mark=mark)
    chosen = tuple(one for one in chosen if one.id not in opened.unreadable)
    said = [
        f"pool of {counted(len(made), 'document')}: {counted(len(made.topics), 'topic')},"
        f" {counted(len(chosen), 'run')}, depth {made.depth}{', runs marked' if mark else ''}"
    ]
    if without:
        said.append(f"kept out of the pool: {', '.join(map(plain, without))}")
    documents: object = made
    if unjudged:
        record = version_of(opened, rules.name, version)
        documents = missing = made.unjudged(qrels_of(opened, rules, record))
        said.append(f"version {record.version} of the judgments lacks {len(missing):,} of them")
    listed = "-" if output is None and unjudged else output
    if listed is not None:
        dealing.write(documents, seed, format, listed, [])
    stream = sys.stderr if listed == "-" else sys.stdout
    print(*said, sep="\n", file=stream)
    return status_of(opened)


@command()
@folder_argument
@click.argument("qrels", required=False, type=READ)
@task_option
@option("--version", metavar="NAME", help="Name of the version that QRELS is, such as 1.")
@option("--note", default="", metavar="TEXT", help="What there is to say of it.")
@listing_options
def judgments(
    folder: str,
    qrels: str | None,
    task: str | None,
    version: str | None,
    note: str,
    form: str,
    output: str | None,
) -> None:
    """Add a version of judgments; without QRELS, list them.

    A version never changes: what is corrected is a version of its own.
    """
    import polars as pl

    from cranfield import campaign

    opened: Campaign = campaign.open(folder)
    rules = opened.rules.task(task)
    if qrels is None:
        if version is not None or note:
            raise PolicyError("which judgments? QRELS is missing")
        records = opened.registry.judgments(rules.name)
        kinds = dict.fromkeys(("version", "added", "rows", "note", "object"), pl.String)
        columns = {name: [getattr(one, name) for one in records] for name in kinds}
        frame = pl.DataFrame(columns, {**kinds, "rows": pl.Int64})
        title = f"Judgments of {plain(rules.name)}: {counted(len(records), 'version')}"
        text = f"{from_frame(frame, title).to_text() if records else title}\n"
        write_listing(frame, text, form, output)
        return
    if form != "text" or output is not None:
        raise PolicyError("--format and --output are for the list of judgments, without QRELS")
    if version is None:
        raise PolicyError("--version is missing: the name of this version, such as 1")
    record = opened.add_judgments(qrels, rules.name, version=version, note=note)
    rows = counted(record.rows, "judgment")
    print(f"{rules.name}: version {quoted(record.version)} of the judgments, {rows}")
