"""`cranfield plot`: a chart of runs, of scores, of a comparison, or of measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.escape import plain
from cranfield.cli.options.comparing import Comparing, comparing_options
from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import WRITTEN, command, in_group, option
from cranfield.cli.options.judging import WORK, judging_options, measures_option
from cranfield.cli.options.output import with_options
from cranfield.cli.options.scores import ScoreInput, score_input

if TYPE_CHECKING:
    from cranfield.reporting.charts.catalogue import Kind
    from cranfield.scores import Scores

EPILOG = """\b
Examples:
  cranfield plot --list
  cranfield plot box qrels.txt runs/*.xz -m nDCG@10 -o box.svg
  cranfield plot intervals qrels.txt runs/*.xz -b bm25 -o intervals.pdf
  cranfield plot differences qrels.txt bm25.run dense.run -m AP
  cranfield plot precision-recall qrels.txt runs/*.xz --only bm25 --only dense --topic 301
  cranfield plot matrix --scores scores.csv --test friedman -o matrix.html
  cranfield plot spacing -m DCG -m RR --length 5
"""

DEFAULT = ("AP",)

OF_CHARTS = ("systems", "topic", "reference", "length", "grades")

BY_STUDY = {
    "SplitStudy": "study tests",
    "DiscriminativePower": "study measures",
    "LeaveOneOut": "study collection",
    "Pooling": "study pooling",
    "Stability": "study collection",
    "ScaleStudy": "study scales",
    "Sensitivity": "study interleaving",
}
"""Which command draws the charts of a study, by the class of its result."""

IN_PYTHON = {
    "JudgeComparison": "cf.assess.compare_judges",
    "KinBias": "cf.assess.kin_bias",
    "QueryLog": "cf.online.read_log",
    "ModelEvaluation": "cf.online.evaluate_models",
    "ExperimentReport": "cf.online.analyse_experiment",
}
"""What returns that which no command draws charts of, by its class."""


def _list(context: click.Context, param: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    from cranfield.reporting.charts.catalogue import BY_COMMAND, CHARTS

    here = {name: one for name, one in CHARTS.items() if one.of in BY_COMMAND}
    lines = [f"{name:18}{one.shows}" for name, one in here.items()]
    for heading, places in (
        ("By a study with --plot KIND=FILE, and in Python as study.plot.stability():", BY_STUDY),
        ("In Python, as log.plot.clicks():", IN_PYTHON),
    ):
        lines += ["", heading]
        lines += [
            f"{name:18}{places[one.of]}: {one.shows}"
            for name, one in CHARTS.items()
            if one.of in places
        ]
    click.echo("\n".join(lines))
    context.exit()


@command(
    epilog=EPILOG,
    first="list measure scores only topic reference length baseline test correction output rel",
)
@click.argument("kind", metavar="KIND")
@with_options(
    in_group(
        "Chart",
        (
            option(
                "--list",
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_list,
                help="Tell which charts there are, and what each shows.",
            ),
            option(
                "--only",
                "systems",
                multiple=True,
                metavar="SYSTEM",
                help="A system to be shown; may be given several times. For two systems, the"
                " first and the second.",
            ),
            option("--topic", metavar="TOPIC", help="Of precision-recall: one topic."),
            option("--reference", metavar="SYSTEM", help="Of intervals: beside which system."),
            option("--length", type=click.IntRange(1), help="Ranks of runs, of charts of scales."),
            option(
                "--grades", type=click.IntRange(1), help="The highest grade, of charts of scales."
            ),
        ),
    )
)
@score_input(measures_option(DEFAULT))
@comparing_options
@option(
    "--output",
    help="File to write: .svg, .png, .pdf, .html or .json.  [default: KIND.svg]",
    type=WRITTEN,
)
@judging_options
def plot(
    kind: str,
    source: ScoreInput,
    comparing: Comparing,
    output: str | None,
    **judging: Any,
) -> None:
    """Draw a chart to a file; `cranfield plot --list` tells which there are.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    Nothing is fetched from a network, now or when the file is opened.
    """
    from cranfield.reporting.charts.catalogue import (
        CHARTS,
        LENGTH,
        MEASURES,
        find_chart,
    )
    from cranfield.reporting.charts.saving import format_of, save

    name = find_chart(kind)
    chart = CHARTS[name]
    if chart.of in BY_STUDY:
        raise PolicyError(
            f"{name} is drawn of a study: cranfield {BY_STUDY[chart.of]} ... --plot {name}=FILE"
        )
    if chart.of in IN_PYTHON:
        raise PolicyError(
            f"{name} is drawn in Python only:"
            f" {IN_PYTHON[chart.of]}(...).plot.{name.replace('-', '_')}()"
        )
    path = output or f"{name}.svg"
    format_of(path)
    options = _options(chart, name, {option: judging.pop(option) for option in OF_CHARTS})
    without = f"does not go with {name}"
    if chart.of not in {"PairwiseComparison", "AnovaTable"}:
        refuse_given([field.name for field in fields(Comparing)], without)
    asked_for = comparing.checked()
    if chart.of in {MEASURES, LENGTH}:
        if source.qrels is not None or source.score_files:
            raise PolicyError(f"{name} is drawn of measures, without QRELS, RUN and --scores")
        refuse_given({*judging} - {*WORK}, without)
        drawn = chart.draw(*([source.asked] if chart.of == MEASURES else []), **options)
    else:
        found = _given(chart.of, source, judging)
        if chart.of in {"PairwiseComparison", "AnovaTable"}:
            from cranfield.significance.comparison.compare import compare

            found = compare(found, jobs=judging["jobs"], **asked_for)
        drawn = getattr(found.plot, name)(**_pair(chart, name, found, options))
    save(drawn, path)
    click.echo(plain(f"written: {path}"), err=True)


def _given(of: str, source: ScoreInput, judging: Mapping[str, Any]) -> Any:
    """Return the evaluation, or the scores of the one measure."""
    if of == "Evaluation" and source.score_files:
        raise PolicyError("the chart needs rankings: give QRELS and RUN instead of --scores")
    scores: Mapping[str, Scores] = source.scores(judging)
    if of == "Evaluation":
        return scores
    if len(scores) > 1:
        raise PolicyError(
            f"the chart shows one measure: name one of {', '.join(scores)} with --measure"
        )
    return next(iter(scores.values()))


def _options(chart: Kind, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a chart that were given, and refuse those that it does not have."""
    names = {"systems": "--only"}
    renamed = {"length": "lengths"} if "lengths" in chart.options else {}
    out: dict[str, Any] = {}
    for key, value in given.items():
        if value is None or value == ():
            continue
        one = renamed.get(key, key)
        if one not in chart.options and not (key == "systems" and "first" in chart.options):
            raise PolicyError(f"{names.get(key, f'--{key}')} does not go with {name}")
        out[one] = list(value) if key == "systems" else value
    if {"length", "lengths"} & {*chart.options} and not {"length", "lengths"} & {*out}:
        raise PolicyError(f"{name} needs --length, the number of ranks, such as --length 5")
    return out


def _pair(chart: Kind, name: str, found: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Name the two systems of a chart of two: those asked for, or the only two that there are."""
    if "first" not in chart.options:
        return options
    pair = options.pop("systems", None) or found.systems
    if len(pair) != 2:
        raise PolicyError(
            f"{name} shows two systems, not {len(pair)}: name them with --only FIRST --only SECOND"
        )
    return {**options, "first": pair[0], "second": pair[1]}
