"""`cranfield evaluate`: scores of runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from cranfield.collection.judging import Progress, judge
from cranfield.collection.policies import CHOICES, PRESETS, policies
from cranfield.collection.reading import FORMATS, read_qrels
from cranfield.collection.runs import Runs, read_runs
from cranfield.errors import PolicyError
from cranfield.evaluation import Evaluation, score
from cranfield.files import whole_file
from cranfield.measures.grammar import parse_measures
from cranfield.report import formats

EPILOG = """\b
Examples:
  cranfield evaluate qrels.txt bm25.run -m AP -m nDCG@10
  cranfield evaluate qrels.txt runs/*.xz -m all_trec --format csv -o scores.csv
  cranfield evaluate qrels.txt bm25.run -m official -q --compat trec_eval --format trec
"""

DEFAULT = ("AP", "P@10", "nDCG@10", "RR", "R@1000", "Judged@10")
OUTPUTS = ("table", "trec", "ir_measures", "csv", "json", "latex", "parquet")
SHOW_PROGRESS_FROM = 4


Command = TypeVar("Command", bound=Callable[..., Any])


def _one_of(
    name: str, options: Iterable[str], text: str, default: str | None = None
) -> Callable[[Command], Command]:
    """Make an option with named values."""
    return click.option(
        name,
        type=click.Choice(list(options)),
        default=default,
        show_default=default is not None,
        help=text,
    )


@click.command(epilog=EPILOG)
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--measure",
    "-m",
    "asked",
    multiple=True,
    default=DEFAULT,
    show_default=" ".join(DEFAULT),
    help="A measure, such as nDCG@10 or map; may be given several times.",
)
@click.option(
    "--rel", "-l", type=click.IntRange(0), help="Lowest relevant grade, for all measures."
)
@click.option("--by-topic", "-q", is_flag=True, help="Also each topic.")
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(OUTPUTS),
    default="table",
    show_default=True,
    help="How to write the scores.",
)
@click.option("--output", "-o", help="File to write, whole or not at all.")
@click.option(
    "--places", "-p", type=click.IntRange(0, 17), default=4, show_default=True, help="Decimals."
)
@_one_of("--compat", PRESETS, "Policies and roundings of another program.")
@_one_of("--ties", CHOICES["ties"], "Order of documents with equal scores.")
@_one_of("--topics", CHOICES["topics"], "Which topics count.")
@_one_of("--unjudged", CHOICES["unjudged"], "What becomes of unjudged documents.")
@_one_of("--negative", CHOICES["negative"], "What a grade below 0 means.")
@click.option("--depth", type=click.IntRange(1), help="Ranks kept of each ranking.")
@_one_of("--input-format", FORMATS, "Format of QRELS and RUN; auto looks at the suffix.", "auto")
@click.option(
    "--encoding", default="utf-8", show_default=True, help="Of TREC text; latin-1 reads any bytes."
)
@click.option("--jobs", type=click.IntRange(1), help="Runs judged at a time.")
@click.option("--coverage", is_flag=True, help="Also what is unjudged, tied or missing.")
def evaluate(
    qrels: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    rel: int | None,
    by_topic: bool,
    form: str,
    output: str | None,
    places: int,
    compat: str | None,
    depth: int | None,
    input_format: str,
    encoding: str,
    jobs: int | None,
    coverage: bool,
    **chosen: str | None,
) -> None:
    """Score runs against judgments.

    QRELS is a file, - for standard input, or an irds: id. RUN is a file, a folder, a quoted
    pattern, or -.
    """
    output = None if output == "-" else output
    if form == "parquet" and output is None:
        raise PolicyError("--format parquet needs --output FILE")
    if qrels == "-" and "-" in runs:
        raise PolicyError("standard input cannot be both the judgments and a run")
    policies(compat, depth=depth, **chosen)
    wanted = parse_measures(asked, compat=compat)
    if rel is not None:
        wanted = [one(rel=rel) if "rel" in one.parameters else one for one in wanted]
    many = read_runs(runs, format=input_format, encoding=encoding)
    judgments = read_qrels(qrels, format=input_format, encoding=encoding)
    with _progress(many) as progress:
        judged = judge(
            many, judgments, compat=compat, depth=depth, jobs=jobs, progress=progress, **chosen
        )
    evaluation = score(judged, wanted, compat=compat)
    evaluation.coverage.warn()
    if form == "parquet":
        _write_parquet(evaluation, output or "", by_topic)
    else:
        _write(_WRITERS[form](evaluation, by_topic, places, asked, rel), output)
    if coverage:
        from cranfield.report.terminal import coverage_table, shown

        # The scores may be for another program; this is for the eye.
        on_terminal = sys.stderr.isatty()
        table = coverage_table(evaluation.coverage)
        sys.stderr.write(shown(table, on_terminal=on_terminal, columns=9))


def _write(text: str, output: str | None) -> None:
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with whole_file(output) as out:
        out.write(text.encode())


def _write_parquet(evaluation: Evaluation, output: str, by_topic: bool) -> None:
    with whole_file(output) as out:
        formats.table(evaluation, by_topic=by_topic).write_parquet(out)


Writer = Callable[[Evaluation, bool, int, tuple[str, ...], int | None], str]


def _table(
    evaluation: Evaluation, by_topic: bool, places: int, asked: tuple[str, ...], rel: int | None
) -> str:
    from cranfield.report.terminal import shown, systems_table, topics_table

    del asked, rel
    made = (topics_table if by_topic else systems_table)(evaluation, places=places)
    return shown(made, on_terminal=sys.stdout.isatty(), columns=len(evaluation) + 1)


def _trec(
    evaluation: Evaluation, by_topic: bool, places: int, asked: tuple[str, ...], rel: int | None
) -> str:
    del places
    groups = {"all_trec", "official", "set"} & set(asked)
    lines = formats.trec_lines(
        evaluation,
        by_topic=by_topic,
        runid=bool(groups),
        relstring="all_trec" in groups,
        rel=1 if rel is None else rel,
    )
    return "".join(f"{line}\n" for line in lines)


_WRITERS: dict[str, Writer] = {
    "table": _table,
    "trec": _trec,
    "ir_measures": lambda ev, by_topic, places, *_: "".join(
        f"{line}\n" for line in formats.ir_measures_lines(ev, by_topic=by_topic, places=places)
    ),
    "csv": lambda ev, by_topic, *_: formats.csv_text(ev, by_topic=by_topic),
    "json": lambda ev, by_topic, *_: formats.json_text(ev, by_topic=by_topic),
    "latex": lambda ev, by_topic, places, *_: formats.latex_text(ev, places=places),
}


@contextmanager
def _progress(runs: Runs) -> Iterator[Progress | None]:
    """Show a bar on a terminal when there are enough runs to wait for."""
    if not sys.stderr.isatty() or len(runs) < SHOW_PROGRESS_FROM:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=len(runs))
        yield lambda done, _: bar.update(task, completed=done)
