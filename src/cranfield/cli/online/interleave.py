"""`cranfield online interleave`: lists made of several runs, for systems that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cranfield.base.errors import PolicyError
from cranfield.base.escape import plain
from cranfield.base.words import counted, some_of
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import gathered, output_option, write
from cranfield.cli.options.reading import Reading, reading_options
from cranfield.collection.judged.policies import CHOICES
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
