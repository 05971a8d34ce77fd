"""Commands on results: pools, judgments, scores, releases."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import inflect, sanitise
from cranfield.cli import options as cli
from cranfield.cli.pool import LIST_FORMATS, SheetOptions, make_sheet_options
from cranfield.result import ALL, WRITERS, Result, ResultSet, combine_results
from cranfield.tabular import Table, tabulate_frame

LIST_CONDITIONS = ("--output", "--unjudged")  # options that request a list of documents


@cli.command()
@cli.settings("arranged by overlap seed")
@cli.campaign_argument
@cli.task_option
@cli.options_from(
    f"{cli.CAMPAIGN}.results.stored_inputs.pool",
    "depth without mark",
    without="Tag of a run to exclude from the pool; may be given several times.",
)
@cli.own_options("unjudged judgments=version", version={"requires": "--unjudged"})
@cli.gather_options(SheetOptions, "sheet_options", make_sheet_options(LIST_CONDITIONS))
@cli.options_from(
    "cranfield.assess.sheets",
    "seed",
    type=cli.IntegerRange(0),
    requires=("--arranged=shuffled", "--assessors"),
)
@cli.make_format_option(
    ("auto", *LIST_FORMATS),
    "auto",
    "Output format; auto detects it by the suffix of --output.",
    requires=LIST_CONDITIONS,
)
@cli.output_option
def pool(
    campaign: cf.campaign.Campaign,
    *,
    task: str | None,
    unjudged: bool = False,
    version: str | None,
    sheet_options: SheetOptions,
    seed: int,
    format: str,
    output: str | None,
    **options: Any,
) -> None:
    """Pool the runs of a task, and list the documents to judge.

    The pool is formed from the accepted runs that are not late and whose priority the rules select
    for pooling. Without --output or --unjudged, only the size of the pool is printed. The exit
    status is 1 if a run cannot be read and is excluded.

    Parameters
    ----------
    unjudged
        List only documents without a judgment in the newest version.
    version
        Version of the judgments to use instead of the newest, with --unjudged.

    Examples
    --------
    cranfield campaign pool news --task adhoc -o to-judge.tsv
    cranfield campaign pool news --mark --assessors ann,bob -o "sheet-{}.tsv"
    cranfield campaign pool news --depth 10 --unjudged -o more.tsv
    """
    from cranfield.campaign.results.stored_inputs import (
        find_judgments,
        make_judging_policies,
        read_stored_qrels,
    )

    rules = campaign.rules.get_task(task)
    documents_pool = campaign.pool(rules.name, **options)
    topics_text = inflect(len(documents_pool.topics), "topic")
    runs_text = f"{inflect(len(documents_pool.systems), 'run')}, depth {documents_pool.depth}"
    mark = ", runs recorded as pooled" if options["mark"] else ""
    lines = [
        f"pool of {inflect(len(documents_pool), 'document')}: {topics_text}, {runs_text}{mark}"
    ]
    if options["without"]:
        lines.append(f"excluded from the pool: {', '.join(map(sanitise, options['without']))}")
    late_runs = [sanitise(run.tag) for run in campaign.submissions(rules.name) if run.late]
    if late_runs:
        lines.append(f"not pooled, because late: {', '.join(late_runs)}")
    documents: object = documents_pool
    if unjudged:
        record = find_judgments(campaign, rules.name, version)
        qrels = read_stored_qrels(campaign, rules, record)
        negative = make_judging_policies(rules).negative
        documents = to_judge = documents_pool.find_unjudged(qrels, negative=negative)
        lines.append(f"{len(to_judge):,} of these have no judgment in version {record.version}")
    path = "-" if output is None and unjudged else output
    if path is not None:
        lines += map(sanitise, sheet_options.write(documents, seed, format, path, []))
    print(*lines, sep="\n", file=sys.stderr if path == "-" else sys.stdout)


@cli.command()
@cli.campaign_argument
@click.argument("qrels", required=False, type=cli.INPUT_FILE)
@cli.task_option
@cli.options_from(
    f"{cli.CAMPAIGN}.results.stored_inputs.add_judgments",
    "version note drop_judgments",
    requires="QRELS",
    version={"metavar": "NAME"},
)
@cli.change_options(("format", "output"), requires=("!QRELS",))
@cli.listing_options
def judgments(
    campaign: cf.campaign.Campaign,
    qrels: str | None,
    task: str | None,
    version: str | None,
    format: str,
    output: str | None,
    **options: Any,
) -> None:
    """Add a version of judgments; without QRELS, list the versions.

    A version never changes: add corrected judgments as a new version.
    """
    import polars as pl

    rules = campaign.rules.get_task(task)
    if qrels is None:
        records = campaign.registry.list_judgments(rules.name)
        schema = dict.fromkeys(("version", "added", "rows", "note", "object"), pl.String)
        columns = {name: [getattr(record, name) for record in records] for name in schema}
        frame = pl.DataFrame(columns, {**schema, "rows": pl.Int64})
        title = f"Judgments of {sanitise(rules.name)}: {inflect(len(records), 'version')}"
        text = f"{tabulate_frame(frame, title).to_text() if records else title}\n"
        cli.write_listing(frame, text, format, output)
        return
    if version is None:
        raise PolicyError("QRELS requires --version, such as --version 1")
    earlier_records = campaign.registry.list_judgments(rules.name)
    record = campaign.add_judgments(qrels, rules.name, version=version, **options)
    rows_text = inflect(record.rows, "judgment")
    print(f"{rules.name}: version {quote(record.version)} of the judgments, {rows_text}")
    if earlier_records and record not in earlier_records:
        from cranfield.campaign.results.stored_inputs import compare_versions, read_stored_qrels

        newest_record = earlier_records[-1]
        versions = (read_stored_qrels(campaign, rules, r) for r in (record, newest_record))
        n_added, n_changed, n_removed = compare_versions(*versions)
        counts = f"{n_added:,} added, {n_changed:,} changed, {n_removed:,} removed"
        print(f"compared with version {quote(newest_record.version)}: {counts}")


MAX_RUNS = 200  # maximum number of runs in the text without --all

result_options = cli.gather_options(
    cli.ResultOutput, "result_output", (cli.make_format_option(WRITERS), cli.output_option)
)


def _select_table(result: Result, name: str, table: Table) -> ResultSet:
    """Select one table of a result, with `table` as its text."""
    results = combine_results(result)
    frames = {name: results.frames[name]}
    return replace(results, tables=[table], frames=frames, main_tables=())


@cli.command()
@cli.campaign_argument
@cli.task_option
@cli.options_from(
    f"{cli.CAMPAIGN}.results.leaderboard.task_leaderboard",
    "measure=measures judgments alpha",
    measures="Measure, such as nDCG@10; may be given several times. By default those of the"
    " task's rules.",
)
@cli.own_options("all=show_all topic_scores")
@result_options
def score(
    campaign: cf.campaign.Campaign,
    *,
    task: str | None,
    measures: tuple[str, ...],
    judgments: str | None,
    alpha: float,
    show_all: bool = False,
    topic_scores: str | None,
    result_output: cli.ResultOutput,
) -> None:
    """Score the accepted runs, and print the leaderboard.

    Stored scores are not computed again. The exit status is 1 if a run cannot be read and is
    excluded.

    Parameters
    ----------
    show_all
        Show all runs; by default the text shows the first 200.
    topic_scores
        File to write the scores by topic to: .csv or .parquet.

    Examples
    --------
    cranfield campaign score news --task adhoc
    cranfield campaign score news -m AP -m P@10 --format csv -o leaderboard.csv
    cranfield campaign score news --judgments 1 --topic-scores scores.parquet
    """
    path = topic_scores
    if path is not None and not path.endswith((".csv", ".parquet")):
        raise PolicyError(f"--topic-scores must end in .csv or .parquet, got {quote(path)}")
    selection: dict[str, Any] = {"measures": measures or None, "judgments": judgments}
    leaderboard = campaign.leaderboard(task, alpha=alpha, **selection)
    if path is not None:
        scores = campaign.score(task, **selection)
        (scores.write_csv if path.endswith(".csv") else scores.write_parquet)(path)
    max_runs = None if show_all or result_output.format != "text" else MAX_RUNS
    [table, *_] = leaderboard.tables(max_runs=max_runs)
    result_output.write(_select_table(leaderboard, leaderboard.name, table))


@cli.command()
@cli.settings("type alpha pooling")
@cli.campaign_argument
@click.argument("run", type=cli.INPUT_FILE)
@cli.task_option
@cli.options_from(
    f"{cli.CAMPAIGN}.results.standing.standing",
    "measure baseline judgments type=kind alpha pooling",
    baseline={"metavar": "RUN", "type": cli.INPUT_FILE},
    kind="Type of the runs to compare with; the default selects all runs if no run has this type.",
)
@result_options
def standing(
    campaign: cf.campaign.Campaign, run: str, result_output: cli.ResultOutput, **options: Any
) -> None:
    """Compare a run with the best run, the median run and a baseline.

    RUN is a file, or the tag of a run of the campaign.

    Examples
    --------
    cranfield campaign standing news new.run
    cranfield campaign standing news new.run -m nDCG@10 --baseline bm25
    cranfield campaign standing news new.run --baseline old.run --format json
    """
    replace(result_output, table=ALL).write(campaign.standing(run, **options))


@cli.command()
@cli.settings("own")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.options_from(
    f"{cli.CAMPAIGN}.history",
    "measure task standardised column=columns own lower_is_better",
    columns={
        "metavar": "NAME=COLUMN",
        "callback": cli.parse_name_values,
        "help": "Name of a column in a table (score, date, entry, team or mark), if it differs from"
        " the usual name, such as date=day; may be given several times.",
    },
    own={"metavar": "MARK,...", "show_default": False},
)
@cli.own_options("all=all_entries")
@result_options
def history(
    sources: tuple[str, ...],
    *,
    all_entries: bool = False,
    result_output: cli.ResultOutput,
    **options: Any,
) -> int:
    """List records: entries better than all earlier ones.

    SOURCE is the folder of a campaign or of a release, or the table of a leaderboard. The exit
    status is 1 if a run of a campaign cannot be read and is excluded.

    Parameters
    ----------
    all_entries
        List all entries of the leaderboards, not only those better than all earlier ones.

    Examples
    --------
    cranfield campaign history news -m nDCG@10
    cranfield campaign history "releases/*" -m AP --standardised
    cranfield campaign history leaderboard.csv -m "MRR@100 (Eval)" --all
    """
    records = cf.campaign.history(sources, **options)
    name = "entries" if all_entries else "records"
    result_output.write(_select_table(records, name, records.tables(name)[0]))
    return int(bool(records.unreadable_runs))


@cli.group(is_ordered=True)
def release() -> None:
    """Write sheets, packets, overviews, releases and the site."""


@release.command()
@cli.campaign_argument
@cli.task_option
@cli.options_from(f"{cli.CAMPAIGN}.results.sheet_making.write_sheets", "judgments measure others")
@cli.make_output_option("FOLDER", "Folder to write; older sheets in it are replaced.")
def sheets(campaign: cf.campaign.Campaign, task: str | None, output: str, **options: Any) -> None:
    """Write a result sheet for each accepted run, like those of TREC.

    Each sheet is written as HTML, text and JSON, for organisers and for publication. Use `packet`
    for sheets that a team may see before the release.

    Examples
    --------
    cranfield campaign release sheets news -o sheets/
    cranfield campaign release sheets news --task adhoc --others hidden -o sheets/
    """
    _print_file_count(campaign.sheets(task, output, **options), output)


@release.command()
@cli.campaign_argument
@cli.task_option
@cli.judgments_option
@cli.options_from(
    f"{cli.CAMPAIGN}.results.overview.write_overview",
    "charts=forms",
    forms={
        "help": "Format of charts; may be given several times.",
        "type": click.Choice(["html", "svg", "pdf", "png"]),
    },
)
@cli.make_output_option("FOLDER", "Folder to write; an older overview in it is replaced.")
def overview(campaign: cf.campaign.Campaign, task: str | None, output: str, **options: Any) -> None:
    """Write the overview of a task: leaderboard, topics, charts and report."""
    _print_file_count(campaign.overview(task, output, **options), output)


@release.command()
@cli.campaign_argument
@cli.own_options("team all=all_teams")
@cli.options_from(f"{cli.CAMPAIGN}.results.sheet_making.write_packet", "task judgments")
@cli.make_output_option(
    "PATH", "Archive (NAME.zip) or folder to write; with --all, folder for the archives."
)
def packet(
    campaign: cf.campaign.Campaign,
    *,
    team: str | None,
    all_teams: bool = False,
    output: str,
    **options: Any,
) -> None:
    """Write the results of one team, to send before the release.

    A packet contains the sheets of the team's runs, and statistics of the categories of runs, such
    as types. It does not name the runs of other teams.

    Parameters
    ----------
    team
        Team whose packet is written.
    all_teams
        Write a packet for each team with accepted runs.

    Examples
    --------
    cranfield campaign release packet news --team padua -o padua.zip
    cranfield campaign release packet news --all -o packets/
    """
    if all_teams == (team is not None):
        raise PolicyError(f"expected either --team or --all, got {'both' if team else 'neither'}")
    if team is not None:
        campaign.packet(team, output, **options)
        print(output)
    else:
        _print_file_count(campaign.packets(output, **options), output)


def _print_file_count(files: Sequence[Path], folder: str) -> None:
    print(f"{inflect(len(files), 'file')} in {folder}")


@release.command()
@cli.campaign_argument
@cli.options_from(
    f"{cli.CAMPAIGN}.publishing.releasing.release",
    "task judgments anonymous seed scores_only date note",
)
def make(campaign: cf.campaign.Campaign, **options: Any) -> None:
    """Make a release of a task: runs, judgments, scores and sheets.

    A release is a folder that never changes: a bag (BagIt 1.0) in the folder `releases` of the
    campaign, with public data only. The same campaign and options give the same bytes; no release
    is made if the newest release of the task already has these bytes.

    Examples
    --------
    cranfield campaign release make news
    cranfield campaign release make news --task adhoc --date 2026-11-20
    cranfield campaign release make news --anonymous --seed 7
    cranfield campaign release make news --scores-only --judgments 1
    """
    new_release = campaign.release(**options)
    print(sanitise(f"{new_release.path}: {new_release.summary}"))
    print(f"SHA-256 of tagmanifest-sha256.txt, to publish: {new_release.manifest}")
    for note in new_release.notes:
        print(f"note: {sanitise(note)}")
    for sentence in new_release.excluded:
        print(f"not released: {sentence}")
    for record in campaign.registry.list_releases():
        if record.manifest == new_release.manifest and record.id != new_release.id:
            print(f"note: {new_release.id} is identical to the release {record.id}")


@release.command()
@cli.campaign_argument
@click.argument("release", metavar="RELEASE")
@cli.reason_option
def retract(campaign: cf.campaign.Campaign, release: str, reason: str) -> None:
    """Retract a release, with a public reason.

    The release stays unchanged; a file beside it gives the reason.

    Examples
    --------
    cranfield campaign release retract news adhoc-1 --reason "Topics 12 and 21 were exchanged."
    """
    campaign.retract(release, reason)
    print(sanitise(f"{release} is retracted; the reason is in releases/{release}.retracted.json"))


@release.command()
@click.argument("folder", type=cli.INPUT_FILE)
@cli.make_output_option(
    "FOLDER", "Folder to write; an older site in it is replaced, unless an error occurs."
)
def site(folder: str, output: str) -> None:
    """Write a static site from the releases.

    The site has leaderboards, topics, and a page for each run. FOLDER is the folder of a campaign,
    or a folder of releases; of a campaign, only recorded releases are shown. The pages need no
    server, network or scripts: they can be opened from the folder, copied, or served from anywhere.

    Examples
    --------
    cranfield campaign release site news -o public
    cranfield campaign release site news/releases -o public
    """
    from cranfield.campaign.publishing.site import write_folder_site

    files, unknown_names = write_folder_site(folder, output)
    size = sum(path.stat().st_size for path in files) / 1e6
    n_pages = sum(path.suffix == ".html" for path in files)
    print(
        sanitise(f"{output}: {inflect(n_pages, 'page')}, {size:.1f} MB; open {output}/index.html")
    )
    for name in unknown_names:
        reason = "its creation may have been interrupted, or it was added manually"
        print(sanitise(f"excluded: {name}, a release without a record: {reason}"))
