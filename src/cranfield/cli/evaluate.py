"""`cranfield evaluate`: scores of runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from cranfield.collection.judging import Progress, judge
from cranfield.collection.policies import CHOICES, PRESETS, policies
from cranfield.collection.reading import FORMATS, read_qrels
from cranfield.collection.runs import Runs, read_runs
from cranfield.errors import PolicyError
from cranfield.evaluation import Evaluation, score
from cranfield.files import whole_file
from cranfield.measures.grammar import parse_measures
from cranfield.report import formats

EPILOG = """Examples:

cranfield evaluate qrels.txt bm25.run -m AP -m nDCG@10

cranfield evaluate qrels.txt runs/*.xz -m all_trec --format csv -o scores.csv

cranfield evaluate qrels.txt bm25.run -m official -q --compat trec_eval --format trec"""

DEFAULT = ("AP", "P@10", "nDCG@10", "RR", "R@1000", "Judged@10")
SHOW_PROGRESS_FROM = 4


class Format(StrEnum):
    """How the scores are written."""

    TABLE = "table"
    TREC = "trec"
    IR_MEASURES = "ir_measures"
    CSV = "csv"
    JSON = "json"
    LATEX = "latex"
    PARQUET = "parquet"


def _one_of(options: Iterable[str], help: str) -> Any:
    """Make an option with named values; whether a value is one of them is checked where it acts."""
    return typer.Option(metavar="|".join(options), help=help)


def evaluate(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, - or an irds: id.")
    ],
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs: files, folders, quoted globs or -.")
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="A measure, such as nDCG@10 or map; may be given several times.",
            show_default=" ".join(DEFAULT),
        ),
    ] = None,
    rel: Annotated[
        int | None,
        typer.Option("--rel", "-l", min=0, help="Lowest relevant grade, for every measure."),
    ] = None,
    by_topic: Annotated[bool, typer.Option("--by-topic", "-q", help="Also each topic.")] = False,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="How to write the scores.")
    ] = Format.TABLE,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write, whole or not at all.")
    ] = None,
    places: Annotated[
        int, typer.Option("--places", "-p", min=0, max=17, help="Decimals shown.")
    ] = 4,
    compat: Annotated[
        str | None, _one_of(PRESETS, "Policies and roundings of another program.")
    ] = None,
    ties: Annotated[str | None, _one_of(CHOICES["ties"], "Order of equal scores.")] = None,
    topics: Annotated[str | None, _one_of(CHOICES["topics"], "Which topics count.")] = None,
    unjudged: Annotated[
        str | None, _one_of(CHOICES["unjudged"], "What becomes of unjudged documents.")
    ] = None,
    negative: Annotated[
        str | None, _one_of(CHOICES["negative"], "What a grade below 0 means.")
    ] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Ranks kept of each ranking.")] = None,
    input_format: Annotated[
        str, _one_of(FORMATS, "Format of QRELS and RUN; auto looks at the suffix.")
    ] = "auto",
    encoding: Annotated[str, typer.Option(help="Of TREC text; latin-1 reads any bytes.")] = "utf-8",
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs judged at a time.")] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Also what is unjudged, tied or missing.")
    ] = False,
) -> None:
    """Score runs against judgments."""
    if format is Format.PARQUET and output in {None, "-"}:
        raise PolicyError("--format parquet needs --output FILE")
    if qrels == "-" and "-" in runs:
        raise PolicyError("standard input cannot be both the judgments and a run")
    output = None if output == "-" else output
    chosen = {"ties": ties, "topics": topics, "unjudged": unjudged, "negative": negative}
    policies(compat, depth=depth, **chosen)
    asked = measure or list(DEFAULT)
    wanted = parse_measures(asked, compat=compat)
    if rel is not None:
        wanted = [one(rel=rel) if "rel" in one.parameters else one for one in wanted]
    many = read_runs(runs, format=input_format, encoding=encoding)
    judgments = read_qrels(qrels, format=input_format, encoding=encoding)
    with _progress(many) as progress:
        judged = judge(
            many,
            judgments,
            compat=compat,
            depth=depth,
            jobs=jobs,
            progress=progress,
            **chosen,
        )
    evaluation = score(judged, wanted, compat=compat)
    evaluation.coverage.warn()
    _write(
        evaluation,
        format,
        output,
        by_topic=by_topic,
        places=places,
        asked=asked,
        rel=1 if rel is None else rel,
    )
    if coverage:
        from cranfield.report.terminal import coverage_table, shown

        # The scores may be for another program; this is for the eye.
        on_terminal = sys.stderr.isatty()
        table = coverage_table(evaluation.coverage)
        sys.stderr.write(shown(table, on_terminal=on_terminal, columns=9))


def _write(
    evaluation: Evaluation,
    format: Format,
    output: str | None,
    *,
    by_topic: bool,
    places: int,
    asked: list[str],
    rel: int,
) -> None:
    if format is Format.PARQUET and output is not None:
        with whole_file(output) as out:
            formats.table(evaluation, by_topic=by_topic).write_parquet(out)
        return
    if format is Format.TABLE:
        text = _table(evaluation, by_topic=by_topic, places=places, to_file=output is not None)
    elif format is Format.TREC:
        groups = {"all_trec", "official", "set"} & set(asked)
        lines = formats.trec_lines(
            evaluation,
            by_topic=by_topic,
            runid=bool(groups),
            relstring="all_trec" in groups,
            rel=rel,
        )
        text = "".join(f"{line}\n" for line in lines)
    elif format is Format.IR_MEASURES:
        lines = formats.ir_measures_lines(evaluation, by_topic=by_topic, places=places)
        text = "".join(f"{line}\n" for line in lines)
    elif format is Format.CSV:
        text = formats.csv_text(evaluation, by_topic=by_topic)
    elif format is Format.JSON:
        text = formats.json_text(evaluation, by_topic=by_topic)
    else:
        text = formats.latex_text(evaluation, places=places)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with whole_file(output) as out:
        out.write(text.encode())


def _table(evaluation: Evaluation, *, by_topic: bool, places: int, to_file: bool) -> str:
    from cranfield.report.terminal import shown, systems_table, topics_table

    made = (topics_table if by_topic else systems_table)(evaluation, places=places)
    on_terminal = sys.stdout.isatty() and not to_file
    return shown(made, on_terminal=on_terminal, columns=len(evaluation) + 1)


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
