"""`cranfield evaluate`: scores of runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.whole_files import whole_file
from cranfield.cli.options.judging import evaluated, judging_options, measures_option, write
from cranfield.cli.options.tables import MARKUP, check_tables, table_options, tables_text
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting.text import score_formats

EPILOG = """\b
Examples:
  cranfield evaluate qrels.txt bm25.run -m AP -m nDCG@10
  cranfield evaluate qrels.txt runs/*.xz -m all_trec --format csv -o scores.csv
  cranfield evaluate qrels.txt bm25.run -m official -q --compat trec_eval --format trec
"""

DEFAULT = ("AP", "P@10", "nDCG@10", "RR", "R@1000", "Judged@10")
OUTPUTS = ("table", "trec", "ir_measures", "csv", "json", *MARKUP, "parquet")


@click.command(epilog=EPILOG)
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@measures_option(DEFAULT)
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
@click.option("--coverage", is_flag=True, help="Also what is unjudged, tied or missing.")
@table_options
@judging_options
def evaluate(
    qrels: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    by_topic: bool,
    form: str,
    output: str | None,
    places: int,
    coverage: bool,
    caption: str | None,
    label: str | None,
    long: bool,
    **judging: Any,
) -> None:
    """Score runs against judgments.

    QRELS is a file, - for standard input, or an irds: id. RUN is a file, a folder, a quoted
    pattern, or -.
    """
    output = None if output == "-" else output
    if form == "parquet" and output is None:
        raise PolicyError("--format parquet needs --output FILE")
    in_print: dict[str, Any] = {"caption": caption, "label": label, "long": long}
    check_tables(form, **in_print)
    evaluation = evaluated(qrels, runs, asked, **judging)
    if form == "parquet":
        _write_parquet(evaluation, output or "", by_topic)
    elif form in MARKUP:
        from cranfield.reporting.tables import evaluation_table, topics_table

        made = (topics_table if by_topic else evaluation_table)(evaluation, places=places)
        write(tables_text([made], form, **in_print), output)
    else:
        write(_WRITERS[form](evaluation, by_topic, places, asked, judging["rel"]), output)
    if coverage:
        from cranfield.reporting.text.terminal import coverage_table, shown

        # The scores may be for another program; this is for the eye.
        on_terminal = sys.stderr.isatty()
        table = coverage_table(evaluation.coverage)
        sys.stderr.write(shown(table, on_terminal=on_terminal, columns=9))


def _write_parquet(evaluation: Evaluation, output: str, by_topic: bool) -> None:
    with whole_file(output) as out:
        score_formats.table(evaluation, by_topic=by_topic).write_parquet(out)


Writer = Callable[[Evaluation, bool, int, tuple[str, ...], int | None], str]


def _table(
    evaluation: Evaluation, by_topic: bool, places: int, asked: tuple[str, ...], rel: int | None
) -> str:
    from cranfield.reporting.text.terminal import shown, systems_table, topics_table

    del asked, rel
    made = (topics_table if by_topic else systems_table)(evaluation, places=places)
    return shown(made, on_terminal=sys.stdout.isatty(), columns=len(evaluation) + 1)


def _trec(
    evaluation: Evaluation, by_topic: bool, places: int, asked: tuple[str, ...], rel: int | None
) -> str:
    del places
    groups = {"all_trec", "official", "set"} & set(asked)
    lines = score_formats.trec_lines(
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
        f"{line}\n"
        for line in score_formats.ir_measures_lines(ev, by_topic=by_topic, places=places)
    ),
    "csv": lambda ev, by_topic, *_: score_formats.csv_text(ev, by_topic=by_topic),
    "json": lambda ev, by_topic, *_: score_formats.json_text(ev, by_topic=by_topic),
}
