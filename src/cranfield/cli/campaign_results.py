"""Commands of results: pools, scores, sheets, releases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.text import counted, plain
from cranfield.cli.campaign_folder import (
    folder_argument,
    form_option,
    judgments_option,
    listing_options,
    output_folder,
    status_of,
    task_option,
    write_listing,
)
from cranfield.cli.options.declaring import READ, WRITTEN, command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import gathered, output_option, write_results
from cranfield.cli.options.signatures import options_from
from cranfield.cli.pool import LISTS, Dealing, dealing_options
from cranfield.result import ALL, WRITERS, Result, ResultSet, together
from cranfield.tabular import Table, from_frame

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
@options_from(
    "cranfield.assess.sheets",
    "seed",
    type=click.IntRange(0),
    goes_with=("--arranged=shuffled", "--assessors"),
)
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
    from cranfield.campaign.results.stored_inputs import pooled_runs, qrels_of, version_of

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


def _one_table(found: Result, name: str, table: Table) -> ResultSet:
    """Return what is written of one table of a result, and shown as the table for reading."""
    results = together(found)
    frames = {name: results.frames[name]}
    return replace(results, tables=[table], frames=frames, first=())


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
@options_from("cranfield.compare", "alpha")
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
    write_results(_one_table(made, made.name, made.tables(most=most)[0]), form, None, output)
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
@options_from("cranfield.compare", "alpha")
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
    write_results(together(found), form, ALL, output)
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
    from cranfield.campaign.results.history import OWN
    from cranfield.campaign.results.history import history as history_of

    found = history_of(sources, columns=dict(map(_pair, columns)), own=own or OWN, **options)
    name = "entries" if every else "records"
    write_results(_one_table(found, name, found.tables(name)[0]), form, None, output)
    return int(bool(found.unreadable))


def _pair(text: str) -> tuple[str, str]:
    name, sign, column = text.partition("=")
    if not sign:
        raise PolicyError(f"--column {quoted(text)} is not of the form NAME=COLUMN")
    return name, column


SHEETS = """\b
Examples:
  cranfield campaign sheets news -o sheets/
  cranfield campaign sheets news --task adhoc --others hidden -o sheets/
"""

PACKETS = """\b
Examples:
  cranfield campaign packet news --team padua -o padua.zip
  cranfield campaign packet news --all -o packets/
"""


@command(epilog=SHEETS)
@folder_argument
@task_option
@judgments_option
@option(
    "--measure",
    metavar="MEASURE",
    help="Of charts and topics; by default the first of the task.",
)
@one_of(
    "--others",
    ("named", "hidden"),
    "Whether runs that are not separated from a sheet's own are named on it.",
    "named",
)
@output_folder("Where to write.")
def sheets(folder: str, task: str | None, output: str, **options: Any) -> int:
    """Write a sheet for each accepted run, as TREC's.

    Each is HTML, text and JSON. They are for organisers and for publication; `packet` makes what
    one team may have before.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    return _written(opened, opened.sheets(task, output, **options), output)


@command()
@folder_argument
@task_option
@judgments_option
@option(
    "--charts",
    "forms",
    multiple=True,
    type=click.Choice(["html", "svg", "pdf", "png"]),
    default=("svg",),
    show_default="svg",
    help="Files of charts; may be given several times.",
)
@output_folder("Where to write.")
def overview(folder: str, task: str | None, output: str, **options: Any) -> int:
    """Write the overview of a task: board, topics, charts, report."""
    from cranfield import campaign

    opened = campaign.open(folder)
    return _written(opened, opened.overview(task, output, **options), output)


@command(epilog=PACKETS)
@folder_argument
@option("--team", metavar="ID", help="The team that it is for.")
@option("--all", "every", is_flag=True, help="One for each team with accepted runs.")
@option("--task", metavar="NAME", help="By default all tasks that the team has runs in.")
@judgments_option
@option(
    "--output",
    required=True,
    metavar="PATH",
    help="An archive, NAME.zip, or a folder; with --all a folder of archives.",
    type=WRITTEN,
)
def packet(folder: str, team: str | None, every: bool, output: str, **options: Any) -> int:
    """Write what one team gets before the release.

    Its sheets, the statistics of categories, and nothing of others.
    """
    from cranfield import campaign

    if every == (team is not None):
        raise PolicyError("name a team with --team, or take --all")
    opened = campaign.open(folder)
    if team is not None:
        opened.packet(team, output, **options)
        click.echo(output)
        return status_of(opened)
    return _written(opened, opened.packets(output, **options), output)


def _written(opened: Campaign, made: Sequence[Path], folder: str) -> int:
    click.echo(f"{counted(len(made), 'file')} in {folder}")
    return status_of(opened)


RELEASE = """\b
Examples:
  cranfield campaign release news
  cranfield campaign release news --task adhoc --date 2026-11-20
  cranfield campaign release news --anonymous --seed 7
  cranfield campaign release news --scores-only --judgments 1
"""

RETRACT = """\b
Example:
  cranfield campaign retract news adhoc-1 --reason "Judgments of topic 12 were those of topic 21."
"""

SITE = """\b
Examples:
  cranfield campaign site news -o public
  cranfield campaign site news/releases -o public
"""


@command(epilog=RELEASE)
@folder_argument
@task_option
@judgments_option
@option("--anonymous", is_flag=True, help="No team is named.")
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the order in which teams that are not named are numbered.",
)
@option("--scores-only", is_flag=True, help="Leave out runs and judgments.")
@option(
    "--date",
    metavar="DAY",
    help="Day of the release, written into it, by which embargoes end; else today, not written.",
)
@option("--note", default="", metavar="TEXT", help="A text for its README.")
def release(folder: str, **options: Any) -> int:
    """Release a task: runs, judgments, scores, sheets.

    A release is a folder that never changes: a bag (BagIt 1.0) in the campaign's folder `releases`.
    It holds what may be shown, and nothing else. The same campaign and options give the same bytes.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    made = opened.release(**options)
    print(plain(f"{made.path}: {made.said}"))
    print(f"SHA-256 of tagmanifest-sha256.txt, to be published: {made.manifest}")
    for one in made.left_out:
        print(f"not in it: {one}")
    return status_of(opened)


@command(epilog=RETRACT)
@folder_argument
@click.argument("release", metavar="RELEASE")
@option("--reason", metavar="TEXT", required=True, help="Why; everybody can read it.")
def retract(folder: str, release: str, reason: str) -> None:
    """Retract a release, with a reason that everybody can read.

    It stays as it is, with a note beside it that says why.
    """
    from cranfield import campaign

    campaign.open(folder).retract(release, reason)
    print(plain(f"{release} is retracted: releases/{release}.retracted.json says why"))


@command(epilog=SITE)
@folder_argument
@output_folder("Folder to write, whole or not at all; an older site there is replaced.")
def site(folder: str, output: str) -> None:
    """Write the static site, from releases alone.

    Boards, topics, a page for each run. FOLDER is a campaign's, or one of releases; of a campaign,
    only those that it has a record of are shown. The pages need no server, no network and no
    scripts: they can be opened from the folder, copied, or served from anywhere.
    """
    from cranfield import campaign
    from cranfield.campaign.publishing.site.releases import not_entered
    from cranfield.campaign.publishing.site.writing import write_site, write_site_of
    from cranfield.campaign.store.records import REGISTRY, RELEASES

    given = Path(folder).resolve()
    owner = given.parent if given.name == RELEASES else given
    unknown: tuple[str, ...] = ()
    if (owner / REGISTRY).exists():
        opened = campaign.open(Path(folder) if owner == given else owner)
        made = write_site(opened, output)
        unknown = not_entered(owner / RELEASES, opened.registry.releases())
    else:
        releases = Path(folder) / RELEASES
        made = write_site_of(
            releases if releases.is_dir() else Path(folder), output, private=Path(folder)
        )
    size = sum(path.stat().st_size for path in made) / 1e6
    pages = sum(path.suffix == ".html" for path in made)
    print(plain(f"{output}: {counted(pages, 'page')}, {size:.1f} MB; open {output}/index.html"))
    for one in unknown:
        print(
            plain(f"left out: {one}, which is in no record (a kill left it, or it was put there)")
        )
