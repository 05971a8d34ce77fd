"""Commands of interleaving: `interleave`, `preference`."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.text import counted, plain, some_of
from cranfield.cli import options as cli
from cranfield.cli.online_logs import LOG_SETTINGS, LogOptions, log_options
from cranfield.result import Result, combine_results
from cranfield.tabular import table_from_frame

RUNS = (".run", ".txt", ".trec")
"""Suffixes of output files that are written as runs."""


@cli.command()
@cli.settings(f"ties jobs {cli.READING_SETTINGS}")
@click.argument("runs", metavar="RUN...", nargs=-1, type=cli.READ)
@cli.options_from("cranfield.online.interleave_runs", "method length ties")
@cli.options_from(
    "cranfield.online.InterleavedRuns.draw",
    "n seed jobs",
    n={"flag": "--impressions impressions", "type": cli.IntegerRange(1)},
    seed={"default": 0},
)
@cli.options_from(
    "cranfield.online.InterleavedRuns.draw_for",
    "pages",
    pages={
        "flag": "--keys keys",
        "metavar": "FILE",
        "type": cli.READ,
        "requires": "!--impressions",
        "help": "Table of pages, page and query; one list is drawn for each page.",
    },
)
@cli.gather_options(cli.Reading, "reading", cli.reading_options)
@cli.option("--list", "list_methods", is_flag=True, help="List the interleaving methods.")
@cli.format_option(
    ("auto", "jsonl", "json", "tsv", "csv", "parquet", "trec"),
    "auto",
    "Output format: a line per page (jsonl), a row per document (json, tsv, csv, parquet), or a run"
    " with pages as topics (trec); auto: by suffix.",
)
@cli.output_option
def interleave(
    runs: tuple[str, ...],
    impressions: int | None,
    seed: int,
    jobs: int | None,
    keys: str | None,
    reading: cli.Reading,
    list_methods: bool,
    format: str,
    output: str | None,
    **method: Any,
) -> None:
    """Interleave runs into lists that record the run of each document.

    The list of a page does not depend on other pages. `cranfield online preference` analyses the
    clicks on these lists.

    Examples
    --------
    cranfield online interleave a.run b.run --impressions 1000 -o lists.jsonl
    cranfield online interleave a.run b.run --method "Probabilistic(tau=1)" --keys pages.csv
    cranfield online interleave runs/ --method PPM --length 5 --impressions 100 --format trec
    cranfield online interleave --list
    """
    from cranfield.collection.files.writing import write_table
    from cranfield.online.interleaving.interleaver import write_lists

    if format == "parquet" and output in {None, "-"}:
        raise PolicyError("--format parquet requires --output FILE")
    if format == "auto" and PurePath(output or "").suffix.lower() in RUNS:
        format = "trec"
    if list_methods:
        methods = cf.online.interleaving_methods()
        if format in {"auto", "trec"}:
            cli.write(f"{table_from_frame(methods, 'Interleaving methods')}\n", output)
        else:
            write_table(methods, output or "-", format)
        return
    if len(runs) == 0:
        raise PolicyError("expected RUN..., or --list to list the methods")
    if impressions is None and keys is None:
        raise PolicyError("expected a number of lists (--impressions) or a table of pages (--keys)")
    interleaved = cf.online.interleave_runs(reading.runs(None, runs), **method)
    draw: Any = interleaved.draw if keys is None else interleaved.draw_for
    lists = draw(impressions if keys is None else keys, seed, jobs=jobs)
    write_lists(lists, output or "-", "jsonl" if format == "auto" else format)
    if interleaved.missing:
        topics = counted(len(interleaved.missing), "topic")
        names = some_of(interleaved.missing, 5)
        click.echo(plain(f"not in all runs: {topics} ({names})"), err=True)


@cli.command()
@cli.settings(f"rankers expected confidence correction resamples seed {LOG_SETTINGS}")
@click.argument("logs", metavar="LOG...", nargs=-1, type=cli.READ)
@cli.option(
    "--votes",
    requires="!LOG !--counts !--rankers",
    help="Table of side-by-side preferences, of a language model or of people, instead of a log:"
    " topic, system_a, system_b, winner (a, b, tie) and, optionally, order (the system shown"
    " first).",
)
@cli.option(
    "--counts",
    type=cli.NumberList(0),
    metavar="W,L,T",
    help="Numbers of wins, losses and ties, instead of a log.",
)
@cli.options_from("cranfield.online.preference", "unit clicks", requires="LOG")
@cli.options_from("cranfield.online.preference", "resamples seed", requires=("LOG", "--votes"))
@cli.options_from(
    "cranfield.online.preference_matrix",
    "rankers=names correction",
    correction={"requires": ("LOG", "--votes")},
)
@cli.options_from("cranfield.online.preference", "expected", requires="!--votes")
@cli.options_from("cranfield.online.preference", "confidence")
@cli.option(
    "--runs",
    multiple=True,
    help="One of the two interleaved runs, for methods that assign no teams; give both.",
    requires="LOG",
)
@log_options
@cli.result_options(("preference", "pairs", "strengths", "position"))
def preference(
    logs: tuple[str, ...],
    votes: str | None,
    counts: list[int] | None,
    names: list[str] | None,
    runs: tuple[str, ...],
    expected: float,
    correction: str,
    confidence: float,
    reading: LogOptions,
    result_output: cli.ResultOutput,
    **options: Any,
) -> None:
    """Test which rankers users prefer, by their clicks on interleaved pages.

    LOG is a file or folder in any known format, its tables PAGES RESULTS CLICKS, or the lists of
    `cranfield online interleave` and a table of clicks. Results have a team; for methods without
    teams, give --runs. If users return, name the independent unit with --unit. --counts replaces
    the log, and --votes ranks systems by side-by-side preferences.

    Examples
    --------
    cranfield online preference log.jsonl --unit user
    cranfield online preference pages.csv results.csv clicks.csv --clicks sat
    cranfield online preference log.parquet --unit session --format json -o preference.json
    cranfield online preference lists.jsonl clicks.csv --runs a.run --runs b.run --unit user
    cranfield online preference --counts 40,109,374 --settings expected.yml
    cranfield online preference --votes side-by-side.csv --table strengths
    """
    from cranfield.online.interleaving.log_preference import list_teams

    result: Result
    options["confidence"] = confidence
    facts: dict[str, Any] = {}
    if votes is not None:
        resampling = {name: options[name] for name in ("resamples", "seed", "confidence")}
        result = cf.online.side_by_side(votes, correction=correction, **resampling)
    elif counts is not None:
        if logs:
            raise PolicyError(
                "--counts cannot be combined with LOG and --unit: impressions must be independent"
            )
        if len(counts) not in (2, 3):
            raise PolicyError(f"--counts must be wins,losses,ties such as 40,109,374, got {counts}")
        result = cf.online.preference_of(
            *counts, names=names or ["A", "B"], expected=expected, confidence=confidence
        )
    elif not logs:
        raise PolicyError("expected LOG, --counts or --votes")
    else:
        log = reading.read(logs)
        if runs:
            interleaved = cf.online.interleave_runs([*runs])
            names, options["lists"] = names or [*interleaved.rankers], interleaved.lists
        teams = names or list_teams(log)
        if runs or len(teams) == 2:
            cli.warn_unused(("correction",), "there is only one pair of rankers")
            result = cf.online.preference(log, names=teams, expected=expected, **options)
        else:
            cli.refuse_options(("expected",), f"requires two rankers, got {len(teams)}")
            result = cf.online.preference_matrix(log, names=teams, correction=correction, **options)
        facts = {"log": log.source, "clicks": options["clicks"], "anomalies": log.anomalies}
    result_output.write(combine_results(result, **facts))
