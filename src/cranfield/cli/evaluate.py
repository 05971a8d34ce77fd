"""`cranfield evaluate`: scores of runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.words import some_of
from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.judging import evaluated, judging_options, measures_option
from cranfield.cli.options.output import (
    FORMATS,
    Output,
    Printing,
    output_options,
    table_options,
    write,
)
from cranfield.cli.options.scores import ScoreInput, score_input

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.scores import Scores

EPILOG = """\b
Examples:
  cranfield evaluate qrels.txt bm25.run -m AP -m nDCG@10
  cranfield evaluate qrels.txt runs/*.xz -m all_trec --format csv -o scores.csv
  cranfield evaluate qrels.txt bm25.run -m official -q --compat trec_eval --format trec
  cranfield evaluate --scores latency.csv -m latency --lower latency
"""

DEFAULT = ("AP", "P@10", "nDCG@10", "RR", "R@1000", "Judged@10")
_LINES = ("trec", "ir_measures", "prototext")
OUTPUTS = (FORMATS[0], *_LINES, *FORMATS[1:])


@command(
    epilog=EPILOG,
    first="measure scores by-topic rel compat ties depth input-format"
    " format output places coverage",
)
@score_input(measures_option(DEFAULT))
@output_options(formats=OUTPUTS)
@option("--coverage", is_flag=True, group="Output", help="Also what is unjudged, tied or missing.")
@table_options
@judging_options
def evaluate(
    source: ScoreInput,
    output: Output,
    coverage: bool,
    printing: Printing,
    **judging: Any,
) -> None:
    """Score runs against judgments, or summarise the scores of --scores.

    QRELS is a file, - for standard input, or an irds: id. RUN is a file, a folder, a quoted
    pattern, or -.
    """
    output.check()
    if source.score_files:
        if coverage or output.form in _LINES:
            option = "--coverage" if coverage else f"--format {output.form}"
            raise PolicyError(f"{option} requires QRELS and RUN, got --scores")
        from cranfield.scores.several_measures import aligned

        scores = source.scores(judging, every=True)
        _warn_of_gaps(scores)
        output.write(aligned(scores) if output.by_topic else scores, printing)
        return
    if source.qrels is None or not source.runs:
        raise click.UsageError("Missing argument: give QRELS and RUN, or --scores FILE.")
    evaluation = evaluated(source.qrels, source.runs, source.asked, **judging)
    if output.form in {*_LINES, "json"}:
        lines = _lines(evaluation, output, source.asked, judging["rel"])
        write("".join(f"{line}\n" for line in lines), output.output)
    else:
        output.write(evaluation, printing)
    if coverage:
        from cranfield.reporting.text.terminal import coverage_table, drawn

        # The scores may be for another program; this is for the eye.
        table = coverage_table(evaluation.coverage)
        sys.stderr.write(drawn(table, on_terminal=sys.stderr.isatty()))


def _warn_of_gaps(scores: Mapping[str, Scores]) -> None:
    """Warn if systems are summarised over different topics."""
    import numpy as np

    for name, one in scores.items():
        gaps = np.isnan(one.values)
        if (gaps != gaps[:, :1]).any():
            lacking = gaps.any(axis=(0, *range(2, gaps.ndim)))
            systems = [quoted(one.systems[k]) for k in np.flatnonzero(lacking)]
            warn(
                f"{name or 'scores'}: systems are summarised over different topics;"
                f" some scores are missing for {some_of(systems, 5)}"
            )


def _lines(
    evaluation: Evaluation, output: Output, asked: Iterable[object], rel: int | None
) -> Iterator[str]:
    """Yield lines of the formats that only evaluations have, or that tell more of them."""
    from cranfield.reporting.text import score_formats

    by_topic = output.by_topic
    if output.form == "ir_measures":
        places = output.places
        yield from score_formats.ir_measures_lines(evaluation, by_topic=by_topic, places=places)
    elif output.form == "prototext":
        yield from score_formats.prototext_lines(evaluation, places=output.places)
    elif output.form == "json":
        yield score_formats.json_text(
            evaluation,
            by_topic=by_topic,
            about={
                "policies": evaluation.judged.policies.describe(),
                **dict(evaluation.judged.annotations.settings),
            },
            notes=evaluation.notes(),
        ).rstrip("\n")
    else:
        groups = {"all_trec", "official", "set"} & set(asked)
        yield from score_formats.trec_lines(
            evaluation,
            by_topic=by_topic,
            runid=bool(groups),
            relstring="all_trec" in groups,
            rel=1 if rel is None else rel,
        )
