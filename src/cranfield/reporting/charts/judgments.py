"""Charts of relevance judges compared with people."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from cranfield.assess.judges.bias import SelfPreference
from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.base.arrays import argsort_best
from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.text import inflect
from cranfield.reporting.charts import theme
from cranfield.reporting.charts.inputs import check_name, find_systems, make_labels

WIDTH = 520  # width of charts with a row for each judge, in pixels
SHAPES = ("circle", "diamond", "square", "triangle-up")  # shapes of points, by statistic
SIDE = 150  # width and height of a confusion matrix
COLUMNS = 4  # number of confusion matrices side by side
MIN_DARK = 0.55  # proportion above which a cell is so dark that its number is written in white


@theme.declare_chart("judges", "JudgeComparison")
def judges_chart(
    comparison: JudgeComparison, statistics: Sequence[str] = ("kappa", "alpha")
) -> alt.LayerChart:
    """Draw the agreement of each judge with people, with confidence intervals over topics.

    The judge with the highest value of the first statistic comes first.

    Parameters
    ----------
    comparison
        A result of :func:`cranfield.assess.compare_judges`.
    statistics
        One to four of its statistics, such as `kappa 01|23` or `bias`.

    Raises
    ------
    PolicyError
        For statistics that were not computed, and for fewer than one or more than four statistics.

    Examples
    --------
    >>> from cranfield.assess import compare_judges
    >>> people = {"q1": {"a": 0, "b": 1}, "q2": {"a": 1, "b": 0}, "q3": {"a": 1, "b": 0}}
    >>> machine = {"q1": {"a": 0, "b": 1}, "q2": {"a": 1, "b": 1}, "q3": {"a": 0, "b": 0}}
    >>> result = compare_judges(people, {"one": machine, "same": people})
    >>> judges_chart(result).to_dict()["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    ['same', 'one']
    """
    names = [statistics] if isinstance(statistics, str) else list(dict.fromkeys(statistics))
    for name in names:
        check_choice("statistic", name, comparison.statistics)
    if not 0 < len(names) <= len(SHAPES):
        raise PolicyError(f"expected 1 to {len(SHAPES)} statistics, got {len(names)}")
    judge_labels = make_labels(comparison.judges)
    column = comparison.statistics.index(names[0])
    order = argsort_best(comparison.values[:, column])
    ranks = dict(zip([judge_labels[k] for k in order], range(len(judge_labels)), strict=True))
    frame = (
        comparison.frames()["intervals"]
        .filter(pl.col("estimate").is_finite(), pl.col("statistic").is_in(names))
        .select(
            pl.col("judge").replace_strict(comparison.judges, judge_labels, return_dtype=pl.String),
            *("statistic", "low", "high"),
            value="estimate",
        )
        .sort(
            pl.col("judge").replace_strict(ranks, return_dtype=pl.Int64),
            pl.col("statistic").replace_strict(names, [*range(len(names))], return_dtype=pl.Int64),
        )
    )
    markers = dict(zip(names, zip(theme.COLOURS, SHAPES, strict=False), strict=False))
    title = ", ".join(names)
    scope = inflect(len(comparison.topics), "topic")
    subtitle = f"{100 * comparison.confidence:g}% confidence intervals over {scope} (jackknife)."
    best_text = f"{judge_labels[order[0]]} has the highest {names[0]}"
    value = comparison.values[order[0], column]
    return theme.draw_interval_rows(
        frame,
        "judge",
        "value",
        "statistic",
        markers,
        title,
        theme.make_tips("judge:N", "statistic:N", "value", "low", "high"),
        rules={"": 1.5},
        size=50,
        legend={"title": None, "columns": len(names)},
        names=list(ranks),
        offset=alt.YOffset("statistic:N", scale=alt.Scale(domain=names, paddingOuter=0.6)),
        width=WIDTH,
        title=theme.write_title(f"Agreement of judges with people: {title}", subtitle),
        description=f"{title} of {inflect(len(judge_labels), 'judge')} with people, highest"
        f" {names[0]} first, with confidence intervals over {scope}. {best_text}"
        + (f", {value:.4g}." if np.isfinite(value) else "."),
    )


@theme.declare_chart("confusion", "JudgeComparison")
def confusion_chart(
    comparison: JudgeComparison, *, judges: Sequence[str] | None = None
) -> alt.ConcatChart:
    """Draw a confusion matrix for each judge: the human grades for each grade of the judge.

    A column is a grade of the judge, labelled with its number of documents; the proportions of a
    column sum to 1. A judge that always agrees with people has ones on the diagonal.

    Parameters
    ----------
    comparison
        A result of :func:`cranfield.assess.compare_judges`.
    judges
        Judges to show; by default all.

    Raises
    ------
    PolicyError
        For an unknown judge.

    Examples
    --------
    >>> from cranfield.assess import compare_judges
    >>> people, machine = {"q1": {"a": 0, "b": 1}}, {"q1": {"a": 0, "b": 0}}
    >>> chart = confusion_chart(compare_judges(people, {"one": machine}))
    >>> len(chart.to_dict()["concat"])
    1
    """
    names = make_labels(comparison.judges)
    selection = find_systems(comparison.judges, judges, "judge")
    proportions = comparison.tabulate_calibration()
    panels = []
    for k in selection:
        judge_proportions = proportions.filter(pl.col("judge") == comparison.judges[k])
        panels.append(_draw_confusion(judge_proportions, comparison.scale, names[k]))
    title = "Human grades for each grade of a judge"
    chart = alt.concat(
        *panels,
        columns=COLUMNS,
        title=theme.write_title(
            title, "Proportions of human grades; in parentheses, the number of documents."
        ),
        description=f"{title}: a confusion matrix for {inflect(len(selection), 'judge')}.",
    )
    return theme.apply_theme(chart)


def _draw_confusion(proportions: pl.DataFrame, scale: Sequence[int], name: str) -> alt.LayerChart:
    pairs = proportions.group_by("label", maintain_order=True).agg(pl.col("pairs").sum())
    columns = [f"{label} ({count:,})" for label, count in pairs.iter_rows()]
    frame = proportions.with_columns(
        column=pl.col("label").replace_strict(dict(zip(scale, columns, strict=True))),
        is_dark=pl.col("proportion") > MIN_DARK,
    ).drop_nulls("proportion")
    judge_axis = alt.X("column:N").title("grade by the judge (documents)").scale(domain=columns)
    human_axis = alt.Y("grade:O").title("human grade").scale(domain=list(scale)[::-1])
    base = theme.start_chart(frame).encode(
        x=judge_axis.axis(labelAngle=-45, labelOverlap=len(scale) > 6, ticks=False),
        y=human_axis.axis(ticks=False),
        tooltip=[
            alt.Tooltip("label:O", title="grade by the judge"),
            alt.Tooltip("grade:O", title="human grade"),
            alt.Tooltip("pairs:Q", title="documents"),
            alt.Tooltip("proportion:Q", format=".3f"),
            *theme.make_tips("low", "high", format=".3f"),
        ],
    )
    colour = alt.Color("proportion:Q").scale(scheme="blues", domain=[0, 1])
    layers = [base.mark_rect(aria=False).encode(color=colour.legend(gradientLength=SIDE))]
    if len(scale) <= 6:
        text_colour = alt.condition("datum.is_dark", alt.value("white"), alt.value("black"))
        proportion = alt.Text("proportion:Q", format=".2f")
        texts = base.mark_text(fontSize=11, aria=False)
        layers.append(texts.encode(text=proportion, color=text_colour))
    return alt.LayerChart(layer=layers, width=SIDE, height=SIDE, title=name)


MARKERS = {
    "favours its family": (theme.COLOURS[1], "triangle-right"),
    "no clear bias": (theme.COLOURS[0], "circle"),
    "disfavours its family": (theme.COLOURS[2], "triangle-left"),
}


@theme.declare_chart("self-preference", "SelfPreference")
def self_preference_chart(result: SelfPreference, measure: str | None = None) -> alt.LayerChart:
    """Draw the self-preference of each judge: how much it favours systems of its own family.

    Thick lines are confidence intervals of single judges; thin lines are simultaneous intervals of
    all judges, which determine the colour. The judge with the largest bias comes first; judges
    without a bias are skipped.

    Parameters
    ----------
    result
        A result of :func:`cranfield.assess.self_preference`.
    measure
        Name of the measure; by default the first measure.

    Raises
    ------
    PolicyError
        For an unknown measure.

    Examples
    --------
    >>> from cranfield.assess import self_preference
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 0, "y": 1}, "q2": {"x": 1, "y": 1}, "q3": {"x": 0, "y": 1}}
    >>> runs = {name: {t: {name: 1} for t in people} for name in ("x", "y")}
    >>> result = self_preference(runs, people, {"llm": machine}, {"llm": "y"}, "P@1")
    >>> chart = self_preference_chart(result)
    >>> chart.to_dict()["layer"][1]["encoding"]["y"]["scale"]["domain"]
    ['llm']
    """
    measure = check_name("measure", measure, result.measures)
    favours, neutral, disfavours = MARKERS
    verdict = (
        pl.when(pl.col("simultaneous low") > 0)
        .then(pl.lit(favours))
        .when(pl.col("simultaneous high") < 0)
        .then(pl.lit(disfavours))
        .otherwise(pl.lit(neutral))
    )
    columns = ("bias", "low", "high", "simultaneous low", "simultaneous high")
    frame = (
        result.to_polars()
        .filter(pl.col("bias").is_not_null(), measure=measure)
        .select(
            pl.col("judge").replace_strict(result.judges, make_labels(result.judges)),
            *columns,
            verdict=verdict,
        )
        .sort("bias", descending=True, maintain_order=True)
    )
    judges_text = inflect(frame.height, "judge")
    return theme.draw_interval_rows(
        frame,
        "judge",
        "bias",
        "verdict",
        MARKERS,
        f"bias ({measure}): judge's minus human score, own family minus other families",
        theme.make_tips("judge:N", *columns, "verdict:N"),
        rules={"simultaneous ": 1, "": 3},
        size=90,
        legend={"title": None, "columns": 3},
        width=WIDTH,
        title=theme.write_title(
            f"Do judges favour their own family? {measure}",
            f"{100 * result.confidence:g}% t confidence intervals over topics; thin: simultaneous"
            f" for {judges_text} (Bonferroni).",
        ),
        description=f"Self-preference bias of {judges_text} by {measure}, with confidence intervals"
        f" over topics: {theme.format_counts(frame['verdict'], MARKERS)}.",
    )
