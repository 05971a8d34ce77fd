"""Commands of interleaving: `interleave`, `preference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.text import counted, plain, some_of
from cranfield.cli.online_logs import LogOptions, log_options
from cranfield.cli.options.declaring import READ, command, option, tell_without_effect
from cranfield.cli.options.judging import Reading, one_of, reading_options, resamples_option
from cranfield.cli.options.output import gathered, output_option, write, write_results
from cranfield.collection.policies import CHOICES
from cranfield.result import WRITERS, Result, check_table, together
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl


EPILOG = """\b
Examples:
  cranfield online interleave a.run b.run --impressions 1000 -o lists.jsonl
  cranfield online interleave a.run b.run --method "Probabilistic(tau=1)" --keys pages.csv
  cranfield online interleave runs/ --method PPM --length 5 --impressions 100 --seed 7 --format trec
  cranfield online interleave --list
"""


@command(epilog=EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, type=READ)
@option(
    "--method",
    default="TeamDraft",
    show_default=True,
    help="Such as Balanced, Probabilistic, Optimised, OM, SOSM or PPM, with parameters.",
)
@option(
    "--length", type=click.IntRange(1), default=10, show_default=True, help="Documents of a list."
)
@option("--impressions", type=click.IntRange(1), help="Lists to draw for each topic.")
@option(
    "--keys",
    metavar="FILE",
    help="Table of pages to draw a list for: page, query.",
    type=READ,
    goes_with="!--impressions",
)
@option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@one_of("--ties", CHOICES["ties"], "Order of documents with equal scores.", "trec")
@gathered(Reading, "reading", reading_options)
@option("--jobs", type=click.IntRange(1), help="Number of workers; it changes no result.")
@option("--list", "listed", is_flag=True, help="List the methods there are.")
@one_of(
    "--format",
    ("auto", "jsonl", "json", "tsv", "csv", "parquet", "trec"),
    "A line a page (jsonl), a row a document, or a run with pages as topics; auto: by suffix.",
    "auto",
)
@output_option
def interleave(
    runs: tuple[str, ...],
    method: str,
    length: int,
    impressions: int | None,
    keys: str | None,
    seed: int,
    ties: str,
    reading: Reading,
    jobs: int | None,
    listed: bool,
    format: str,
    output: str | None,
) -> None:
    """Interleave runs: lists of their documents, and which run gave each.

    A page always gets the same list, whatever else is drawn. What users then clicked is analysed by
    `cranfield online preference`.
    """
    from cranfield import online
    from cranfield.collection.files.writing import write_table

    if listed:
        methods = online.interleaving_methods()
        if format in {"auto", "trec"}:
            write(f"{from_frame(methods, 'Methods of interleaving')}\n", output)
        else:
            write_table(methods, output or "-", _form(format, output))
        return
    if len(runs) == 0:
        raise PolicyError("no RUN was given; --list lists the methods")
    if impressions is None and keys is None:
        raise PolicyError("say how many lists by --impressions, or for which pages by --keys")
    form = _form(format, output)
    chosen = online.parse_interleaving(method)
    many = reading.runs(None, runs)
    made = online.interleave_runs(many, chosen, length, ties=ties)
    if keys is None:
        drawn = made.draw(impressions or 0, seed, jobs=jobs)
    else:
        drawn = made.draw_for(keys, seed, jobs=jobs)
    _write(drawn, form, output or "-")
    if made.missing:
        topics = counted(len(made.missing), "topic")
        click.echo(plain(f"not in all runs: {topics} ({some_of(made.missing, 5)})"), err=True)


def _form(format: str, output: str | None) -> str:
    suffix = (output or "").rpartition(".")[2].lower()
    if format == "auto":
        form = {"run": "trec", "txt": "trec", "trec": "trec"}.get(suffix, suffix)
        return form if form in {"jsonl", "json", "tsv", "csv", "parquet", "trec"} else "jsonl"
    if format == "parquet" and output in {None, "-"}:
        raise PolicyError("--format parquet needs --output FILE")
    return format


def _write(drawn: pl.DataFrame, form: str, output: str) -> None:
    import polars as pl

    from cranfield.collection.files.writing import write_lines, write_table

    if form == "trec":
        tag = pl.col("method").str.replace_all(r"\s", "")
        score = (pl.col("rank").max() + 1 - pl.col("rank")).over("page")
        columns = (pl.col("page").alias("topic"), pl.lit("Q0"), "doc", "rank", score.alias("score"))
        write_lines(drawn.select(*columns, tag), output)
    elif form == "jsonl":
        pages = drawn.group_by("page", "query", "method", maintain_order=True)
        write_table(pages.agg(results=pl.struct("rank", "doc", "team")), output, form)
    else:
        write_table(drawn, output, form)


PREFERENCE_EPILOG = """\b
Examples:
  cranfield online preference log.jsonl --unit user
  cranfield online preference pages.csv results.csv clicks.csv --rankers new,old --clicks sat
  cranfield online preference log.parquet --unit session --format json -o preference.json
  cranfield online preference lists.jsonl clicks.csv --runs a.run --runs b.run --unit user
  cranfield online preference --counts 40,109,374 --expected 0.28
"""

TABLES = ("preference", "pairs")


class Counts(click.ParamType):  # type: ignore[type-arg]
    """Wins, losses and ties."""

    name = "text"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            found = tuple(int(part) for part in value.split(","))
        except ValueError:
            found = ()
        if len(found) not in (2, 3):
            raise PolicyError(f"--counts takes wins,losses,ties such as 40,109,374, not {value!r}")
        return found


@command(
    epilog=PREFERENCE_EPILOG,
    first="counts unit rankers clicks correction confidence log-format odd format table output",
)
@click.argument("logs", metavar="LOG...", nargs=-1, type=READ)
@option("--counts", type=Counts(), metavar="W,L,T", help="Wins, losses and ties: no log.")
@option("--unit", help="What is independent: user, session, query or impression.")
@option("--rankers", help="The teams to compare, with commas between them; by default all.")
@option(
    "--runs",
    multiple=True,
    metavar="RUN",
    type=READ,
    help="Two runs that were interleaved: pages are compared as their method does, not by teams.",
    goes_with="LOG",
)
@option(
    "--clicks",
    default="all",
    show_default=True,
    help="What counts: all, first, last, sat (dwell of 30 s), or a column of clicks.",
    goes_with="LOG",
)
@option(
    "--expected", type=float, default=0.5, show_default=True, help="Share of wins of equal rankers."
)
@option(
    "--correction",
    default="holm",
    show_default=True,
    help="Of p-values of several pairs.",
    goes_with="LOG",
)
@option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@resamples_option(10_000, " of the units", goes_with="LOG")
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the bootstrap.",
    goes_with="LOG",
)
@log_options
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help=f"One table only: {', '.join(TABLES)}.")
@output_option
def preference(
    logs: tuple[str, ...],
    counts: tuple[int, ...] | None,
    unit: str | None,
    rankers: str | None,
    runs: tuple[str, ...],
    clicks: str,
    expected: float,
    correction: str,
    confidence: float,
    resamples: int,
    seed: int,
    reading: LogOptions,
    format: str,
    table: str | None,
    output: str | None,
) -> None:
    """Tell which of two or more rankers users prefer, by pages that interleave them.

    LOG is one file or folder in any form that is known, its tables PAGES RESULTS CLICKS, or the
    lists of `cranfield online interleave` and a table of clicks. Results have their team; methods
    that use no teams need --runs. Where users come again, --unit says what is independent. With
    --counts there is no log.
    """
    from cranfield import online
    from cranfield.online.interleaving.of_log import teams_of
    from cranfield.significance.corrections.of_pvalues import LAWS

    draws: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    names = None if rankers is None else [one.strip() for one in rankers.split(",")]
    if counts is not None:
        if logs or unit is not None:
            raise PolicyError("--counts are of independent impressions: no LOG, and no --unit")
        made = online.preference_of(
            *counts, names=names or ["A", "B"], expected=expected, confidence=confidence
        )
        write_results(together(made), format, _checked(table, made.name), output)
        return
    if not logs:
        raise PolicyError("no LOG was given, and no --counts")
    check_choice("correction of p-values", correction, LAWS)
    log = reading.read(logs)
    if runs:
        interleaved = online.interleave_runs([*runs])
        names, draws["lists"] = names or [*interleaved.rankers], interleaved.lists
    teams = names or teams_of(log)
    result: Result
    if runs or len(teams) == 2:
        tell_without_effect(("correction",), "there is one pair of rankers")
        result = online.preference(
            log, unit, names=teams, clicks=clicks, expected=expected, **draws
        )
    else:
        if expected != 0.5:
            raise PolicyError("--expected is of two rankers")
        result = online.preference_matrix(
            log, unit, names=teams, clicks=clicks, correction=correction, **draws
        )
    found = together(result, log=log.source, clicks=clicks, odd=log.odd)
    write_results(found, format, _checked(table, result.name), output)


def _checked(table: str | None, only: str) -> str | None:
    if table is not None:
        check_table(table, (only,))
    return table
