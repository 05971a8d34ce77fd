"""Commands that write reports and charts: `report`, `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.kinds import Integer
from cranfield.base.text import sanitise
from cranfield.cli import options as cli

if TYPE_CHECKING:
    from cranfield.reporting.charts.registry import ChartKind

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR@10")
OUTPUT = "report.html"
OMITTED_OPTIONS = ("output", *cli.WORK, "page", "format", "table")
"""Options that do not change the report, and that its command line omits."""

COMPARISON_SETTINGS = (
    "alpha seed statistic alternative missing resamples exact threshold compat"
    f" {cli.JUDGING_SETTINGS}"
)


@cli.command()
@cli.settings(f"date scale scales clip {COMPARISON_SETTINGS}", flags="lower")
@cli.make_score_input(cli.make_measures_option(DEFAULT_MEASURES))
@cli.scale_option
@cli.own_options("output")
@cli.options_from("cranfield.report", "title date")
@cli.comparing_options
@cli.options_from("cranfield.report", "scales")
@cli.own_options(
    "judges=labels", labels={"metavar": "JUDGE", "type": cli.INPUT_FILE, "requires": "QRELS RUN"}
)
@cli.options_from("cranfield.assess.compare_judges", "clip", requires="--judges")
@cli.judging_options
@click.pass_context
def report(
    context: click.Context,
    /,
    source: cli.ScoreInput,
    *,
    scale: str | None,
    output: str = OUTPUT,
    title: str,
    date: str | None,
    comparing: dict[str, Any],
    scales: bool,
    labels: tuple[str, ...] = (),
    clip: bool,
    **judging: Any,
) -> None:
    """Write a report on the differences between systems, as one HTML file.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    The file can be read offline. The same input gives the same bytes.

    Parameters
    ----------
    output
        File to write; on an error it is left unchanged.
    labels
        Labels of a judge, such as a language model, to compare with QRELS: a file, NAME=FILE, a
        folder or a quoted pattern; may be given several times.

    Examples
    --------
    cranfield report qrels.txt runs/*.xz -o report.html
    cranfield report qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10 --baseline bm25
    cranfield report qrels.txt runs/*.xz --judges labels/ -m nDCG@10
    cranfield report --scores scores.csv --title "Our systems" -o scores.html
    """
    if output == "-":
        raise PolicyError("--output must be a file, got standard output (-)")
    # Options are checked before any file is read.
    comparison_options = cli.check_comparison(comparing)
    reading = cli.ReadingOptions.from_options({**judging, "has_judges": bool(labels)})
    human_qrels: Any = None
    judges: tuple[cf.assess.Judge, ...] = ()
    if labels and source.qrels:
        human_qrels, judges = reading.read_judges(source.qrels, labels, None, True)
    run_list = reading.find_runs(source.qrels, source.runs)
    results = replace(source, runs=run_list).load_scores(
        {**judging, "reading": reading}, has_notes=True, scale=scale
    )
    label_files = [judge.labels.origin.name for judge in judges]
    files = [source.qrels, *cli.list_run_paths(run_list), *label_files]
    judge_results: list[Any] = []
    if judges:
        excluded_options = ("rel", "aspects", *cli.READING_NAMES)
        options = {name: value for name, value in judging.items() if name not in excluded_options}
        measures = [scores.definition or name for name, scores in results.items()]
        data = (run_list, human_qrels, judges, measures)
        judge_results.append(cf.assess.compare_judges(human_qrels, judges, clip=clip))
        judge_results.append(cf.assess.judge_rankings(*data, clip=clip, **options))
    cf.report(
        results,
        output,
        title=title,
        scales=scales,
        judges=judge_results or None,
        inputs=source.score_files or [path for path in files if path is not None],
        command=list_command_words(context),
        date=date,
        jobs=judging["jobs"],
        **comparison_options,
    )
    click.echo(sanitise(f"written: {output}"), err=True)


def list_command_words(context: click.Context, output: str = "--output") -> list[str]:
    """Return the words of the current command line, with options in order of declaration."""
    program = context.find_root().command_path
    words = ["cranfield", *context.command_path.removeprefix(program).split()]
    option_words: list[str] = []
    for param in context.command.params:
        name = param.name or ""
        if name in OMITTED_OPTIONS or not cli.is_on_command_line(name):
            continue
        value: Any = context.params.get(name, context.meta.get(name))
        if isinstance(param, click.Argument):
            words += [value] if isinstance(value, str) else value
            continue
        flag = max(param.opts, key=len)
        if isinstance(value, bool):
            option_words.append(flag if value else param.secondary_opts[0])
        else:
            items = (
                [f"{key}={item}" for key, item in value.items()]
                if isinstance(value, dict)
                else [str(item) for item in value]
                if isinstance(value, list | tuple)
                else [str(value)]
            )
            # An option that may be given only once has all items in one word.
            texts = items if param.multiple else [",".join(items)]
            option_words += [word for item in texts for word in (flag, item)]
    return [*words, output, OUTPUT, *option_words]


@dataclass(frozen=True)
class ChartOptions:
    """Options of charts; each chart accepts some of them.

    Attributes
    ----------
    systems
        System to show; may be given several times, and twice for charts of two systems.
    topic
        Topic of the chart `precision-recall`; by default the mean over topics.
    reference
        System with which the chart `intervals` compares the others.
    length
        Number of ranked documents, for charts of scales.
    grades
        Highest grade, for charts of scales.
    """

    systems: tuple[str, ...] = ()
    topic: str | None = None
    reference: str | None = None
    length: Annotated[int | None, Integer(1)] = None
    grades: Annotated[int | None, Integer(1)] = None

    def select_for(self, chart: ChartKind, name: str) -> dict[str, Any]:
        """Select the options that are set; refuse options that the chart does not have."""
        options: dict[str, Any] = {}
        for key, value in vars(self).items():
            if value is None or value == ():
                continue
            argument = "lengths" if key == "length" and "lengths" in chart.options else key
            is_pair = key == "systems" and "first" in chart.options
            if argument not in chart.options and not is_pair:
                flag = "--only" if key == "systems" else f"--{key}"
                raise PolicyError(f"{flag} cannot be combined with the chart {name}")
            options[argument] = list(value) if key == "systems" else value
        if {"length", "lengths"} & {*chart.options} and not {"length", "lengths"} & {*options}:
            raise PolicyError(f"the chart {name} requires --length, the length of runs, such as 5")
        return options


STUDY_COMMANDS = {
    "SplitStudy": "study tests",
    "DiscriminativePower": "study measures",
    "LeaveOneOut": "study collection",
    "Pooling": "study pooling",
    "Stability": "study collection",
    "ScaleStudy": "study scales",
    "Sensitivity": "study interleaving",
}
"""Commands that draw charts of studies, by the class of the result."""

PYTHON_FUNCTIONS = {
    "CostEffectiveness": "cf.cost_effectiveness",
    "JudgeComparison": "cf.assess.compare_judges",
    "SelfPreference": "cf.assess.self_preference",
    "QueryLog": "cf.online.read_log",
    "ModelEvaluation": "cf.online.evaluate_models",
    "ExperimentReport": "cf.online.analyse_experiment",
}
"""Functions of results whose charts no command draws, by the class of the result."""


def _list_charts(context: click.Context, param: click.Parameter, is_requested: bool) -> None:
    if not is_requested or context.resilient_parsing:
        return
    from cranfield.reporting.charts.registry import CHARTS, COMMAND_SUBJECTS

    study_heading = "Charts of studies, by --plot KIND=FILE or in Python by study.plot.stability():"
    python_heading = "Charts in Python only, such as log.plot.clicks():"
    lines = [
        f"{k:18}{chart.summary}" for k, chart in CHARTS.items() if chart.subject in COMMAND_SUBJECTS
    ]
    for heading, sources in ((study_heading, STUDY_COMMANDS), (python_heading, PYTHON_FUNCTIONS)):
        charts = [(name, chart) for name, chart in CHARTS.items() if chart.subject in sources]
        lines += ["", heading]
        lines += [f"{name:18}{sources[chart.subject]}: {chart.summary}" for name, chart in charts]
    click.echo("\n".join(lines))
    context.exit()


@cli.command(
    common="list measure scores only topic length grades baseline test correction output rel"
)
@cli.settings(f"reference title width height {COMPARISON_SETTINGS}", flags="lower")
@click.argument("kind", metavar="KIND")
@cli.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_charts,
    group="Chart",
    help="List the charts.",
)
@cli.gather_options(
    ChartOptions,
    "chart_options",
    cli.make_options(
        f"{__name__}.ChartOptions",
        "only=systems topic reference length grades",
        group="Chart",
        systems={"metavar": "SYSTEM"},
        topic={"metavar": "TOPIC"},
        reference={"metavar": "SYSTEM"},
    ),
)
@cli.options_from(
    "cranfield.reporting.charts.save",
    "width height title",
    group="Chart",
    width={"metavar": "MM"},
    height={"metavar": "MM"},
)
@cli.make_score_input(cli.make_measures_option(("AP",)))
@cli.comparing_options
@cli.own_options("output")
@cli.judging_options
def plot(
    kind: str,
    source: cli.ScoreInput,
    chart_options: ChartOptions,
    comparing: dict[str, Any],
    *,
    output: str | None,
    width: float | None,
    height: float | None,
    title: bool,
    **judging: Any,
) -> None:
    """Draw a chart to a file; `cranfield plot --list` lists the charts.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    No network is required, to draw or to view a chart.

    Parameters
    ----------
    output
        File to write: .svg, .png, .pdf, .html or .json. By default KIND.svg.

    Examples
    --------
    cranfield plot --list
    cranfield plot box qrels.txt runs/*.xz -m nDCG@10 -o box.svg
    cranfield plot intervals qrels.txt runs/*.xz -b bm25 -o intervals.pdf
    cranfield plot precision-recall qrels.txt runs/*.xz --only bm25 --only dense --topic 301
    cranfield plot matrix --scores scores.csv --test friedman -o matrix.html
    cranfield plot spacing -m DCG -m RR --length 5
    """
    from cranfield.reporting.charts.registry import CHARTS, LENGTH, MEASURES
    from cranfield.reporting.charts.saving import check_extra, make_caption, parse_format, save

    name = CHARTS.find(kind)
    chart = CHARTS[name]
    if chart.subject in STUDY_COMMANDS:
        call = f"cranfield {STUDY_COMMANDS[chart.subject]} ... --plot {name}=FILE"
        raise PolicyError(f"{name} is a chart of a study; draw it with `{call}`")
    if chart.subject in PYTHON_FUNCTIONS:
        call = f"{PYTHON_FUNCTIONS[chart.subject]}(...).plot.{name.replace('-', '_')}()"
        raise PolicyError(f"{name} can be drawn in Python only, with {call}")
    path = output or f"{name}.svg"
    check_extra(parse_format(path))
    options = chart_options.select_for(chart, name)
    reason = f"cannot be combined with the chart {name}"
    is_comparison = chart.subject in {"PairwiseComparison", "AnovaTable"}
    if chart.subject != "PairwiseComparison":
        # The table of an analysis of variance depends on neither pairs nor resamples.
        used_options = {"test", "statistic", "missing"} if is_comparison else set()
        cli.refuse_options({*comparing} - used_options, reason)
    comparison_options = cli.check_comparison(comparing)
    if chart.subject in {MEASURES, LENGTH}:
        if source.qrels is not None or source.score_files:
            raise PolicyError(
                f"{name} is a chart of measures and cannot be combined with QRELS, RUN or --scores"
            )
        cli.refuse_options({*judging} - {*cli.WORK}, reason)
        figure = chart.draw(*([source.measures] if chart.subject == MEASURES else []), **options)
    else:
        is_evaluation = chart.subject == "Evaluation"
        if is_evaluation and source.score_files:
            raise PolicyError(f"the chart {name} requires QRELS and RUN, got --scores")
        data: Any = source.load_scores(judging)
        if not is_evaluation:
            if len(data) > 1:
                advice = f"choose one with --measure: {', '.join(data)}"
                raise PolicyError(f"the chart {name} shows one measure, got {len(data)}; {advice}")
            [data] = data.values()
        if is_comparison:
            data = cf.compare(data, jobs=judging["jobs"], **comparison_options)
        figure = getattr(data.plot, name)(**_add_pair(chart, name, data.systems, options))
    save(figure, path, width=width, height=height, title=title)
    click.echo(sanitise(f"written: {path}"), err=True)
    if not title:
        click.echo(sanitise(f"caption: {make_caption(figure)}"), err=True)


def _add_pair(
    chart: ChartKind, name: str, systems: Sequence[str], options: dict[str, Any]
) -> dict[str, Any]:
    """Add the systems of a chart of two systems: those of --only, or the only two."""
    if "first" not in chart.options:
        return options
    pair = options.pop("systems", None) or systems
    if len(pair) != 2:
        advice = "choose them with --only FIRST --only SECOND"
        raise PolicyError(f"the chart {name} shows two systems, got {len(pair)}; {advice}")
    return {**options, "first": pair[0], "second": pair[1]}
