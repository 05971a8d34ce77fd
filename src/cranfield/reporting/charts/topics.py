"""Charts of scores topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import argsort_best, round_for_ranking
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.reporting.charts import inputs, theme
from cranfield.scores.averages import Averages
from cranfield.scores.one_measure import find_label
from cranfield.significance.differences import Pairs
from cranfield.significance.models.anova_table import AnovaTable

SIDE = 380  # side of the scatter plot, in pixels
MIN_WIDTH = 420  # minimum width of a chart of topics, in pixels
MAX_WIDTH = 1000  # maximum width of a chart of topics, in pixels
STEP = 14  # minimum width of a bar that is labelled with its topic

MARKERS = (
    (theme.COLOURS[0], "triangle-up"),
    (theme.COLOURS[4], "triangle-down"),
    (theme.GREY, "circle"),
)


@theme.declare_chart("differences", "Scores")
def difference_bars(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a bar for each topic: the score of one system minus that of another.

    Topics on which the first system is better come first. A dashed line marks the mean difference.
    Differences within rounding errors count as zero, as in significance tests.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    first, second
        Two systems. Topics without scores of both systems are excluded, and the chart states their
        number.

    Raises
    ------
    PolicyError
        For an unknown system, or the same system twice.
    CranfieldError
        If there are no scores, or no common topics.

    Examples
    --------
    >>> scores = {"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.1, 0.3]}
    >>> chart = difference_bars(scores, "bm25", "dense").to_dict()
    >>> rows = max(chart["datasets"].values(), key=len)
    >>> [(row["topic"], round(row["difference"], 4)) for row in rows]
    [('2', 0.3), ('3', 0.0), ('1', -0.2)]
    """
    pair = _make_pair(scores, first, second)
    frame = pair.frame.sort("difference", descending=not pair.lower_is_better, maintain_order=True)
    topics = frame["topic"].to_list()
    y = alt.Y("difference:Q", title=f"difference in {pair.title}")
    has_all_labels = len(topics) * STEP <= MAX_WIDTH
    step = max(STEP, min(MIN_WIDTH // len(topics), 3 * STEP))
    # If there is not enough space for all topics, some labels are omitted.
    x = theme.encode_columns(
        "topic", topics, "topic", 10, labelOverlap=False if has_all_labels else "greedy"
    )
    x = x.scale(domain=topics, paddingInner=0.2 if has_all_labels else 0)
    bars = theme.start_chart(frame).mark_bar(aria=has_all_labels)
    bars = bars.encode(x=x, y=y, color=pair.channels["color"], tooltip=pair.tooltip)
    mean = float(frame["difference"].mean())  # type: ignore[arg-type]
    rule = theme.start_chart({"difference": [mean]}).mark_rule(color="black", strokeDash=[5, 3])
    first_name, second_name = pair.names
    return theme.combine_layers(
        bars,
        rule.encode(y=y, tooltip=theme.make_tips(difference="mean difference")),
        width=alt.Step(step) if has_all_labels else MAX_WIDTH,
        height=280,
        title=theme.write_title(
            f"Differences by topic: {pair.title}",
            f"{pair.short_names[0]} minus {pair.short_names[1]}; dashed: mean difference,"
            f" {mean:.4f}.",
            pair.note,
        ),
        description=f"Bars of the difference in {pair.title}, {first_name} minus {second_name}, for"
        f" {inflect(len(topics), 'topic')}, best for {first_name} first; mean {mean:.4f}."
        f" {'; '.join(pair.outcome_labels)}.",
    )


@theme.declare_chart("score-scatter", "Scores")
def difference_scatter(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a point for each topic: the score of one system against that of another.

    Scores are equal on the diagonal; above it the first system has the higher score, also if lower
    is better.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    first, second
        The system on the vertical axis, and the system on the horizontal axis.

    Raises
    ------
    PolicyError, CranfieldError
        As for :func:`difference_bars`.

    Examples
    --------
    >>> scores = {"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.1, 0.3]}
    >>> chart = difference_scatter(scores, "bm25", "dense").to_dict()
    >>> [row["second"] for row in max(chart["datasets"].values(), key=len)]
    [0.4, 0.1, 0.3]
    """
    pair = _make_pair(scores, first, second)
    values = pair.frame.select("first", "second").to_numpy()
    low, high = min(0.0, float(values.min())), float(values.max())
    # If no score is negative, and the highest is above 0.5 and not above 1, the axes end at 1.
    high = 1.0 if 0.5 < high <= 1 and low == 0 else high if high > low else low + 1
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("second:Q", scale=scale, title=f"{pair.title}: {pair.short_names[1]}")
    y = alt.Y("first:Q", scale=scale, title=f"{pair.title}: {pair.short_names[0]}")
    diagonal = theme.start_chart({"second": [low, high], "first": [low, high]})
    diagonal = diagonal.mark_line(color="black", strokeWidth=1, aria=False).encode(x=x, y=y)
    points = theme.start_chart(pair.frame).mark_point(filled=True, size=55, opacity=0.75)
    return theme.combine_layers(
        diagonal,
        points.encode(x=x, y=y, tooltip=pair.tooltip, **pair.channels),
        width=SIDE,
        height=SIDE,
        title=theme.write_title(f"Two systems by topic: {pair.title}", pair.note),
        description=f"Scatter plot of {pair.title} of {inflect(pair.frame.height, 'topic')}:"
        f" {pair.names[0]} against {pair.names[1]}, with the diagonal."
        f" {'; '.join(pair.outcome_labels)}.",
    )


@dataclass(frozen=True, eq=False)
class _SystemPair:
    """Scores of two systems by topic, with labels."""

    frame: pl.DataFrame
    names: tuple[str, str]
    short_names: tuple[str, str]
    title: str
    outcome_labels: list[str]
    note: str
    lower_is_better: bool

    @property
    def channels(self) -> dict[str, Any]:
        markers = dict(zip(self.outcome_labels, MARKERS, strict=False))
        legend: dict[str, Any] = {"orient": "bottom", "direction": "vertical", "labelLimit": SIDE}
        return theme.encode_markers("kind", markers, title=None, **legend)

    @property
    def tooltip(self) -> list[alt.Tooltip]:
        first, second = self.names
        return theme.make_tips("topic:N", first=first, second=second, difference="difference")


def _make_pair(scores: Any, first: str, second: str) -> _SystemPair:
    topic_scores = inputs.check_drawable(scores)
    columns = find_label(first, topic_scores.systems), find_label(second, topic_scores.systems)
    if columns[0] == columns[1]:
        raise PolicyError(f"expected two distinct systems, got {quote(first)} and {quote(second)}")
    pairs = Pairs(topic_scores.values, np.array(columns[:1]), np.array(columns[1:]))
    difference = pairs.compute_differences()[0]
    has_scores = ~np.isnan(difference)
    if not has_scores.any():
        raise CranfieldError(f"no topic has scores of both {quote(first)} and {quote(second)}")
    system_labels = inputs.make_labels(topic_scores.systems)
    names = system_labels[columns[0]], system_labels[columns[1]]
    sign = np.sign(-difference if topic_scores.lower_is_better else difference)[has_scores]
    counts = [int((sign == value).sum()) for value in (1, -1, 0)]
    short_names = _shorten(names)
    outcome_labels = [
        f"{name} better: {count}" for name, count in zip(short_names, counts[:2], strict=True)
    ]
    if counts[2]:
        outcome_labels.append(f"equal: {counts[2]}")
    n_missing = int((~has_scores).sum())
    frame = pl.DataFrame(
        {
            "topic": pl.Series(inputs.make_labels(topic_scores.topics), dtype=pl.String).filter(
                pl.Series(has_scores)
            ),
            "first": topic_scores.values[has_scores, columns[0]],
            "second": topic_scores.values[has_scores, columns[1]],
            "difference": difference[has_scores],
            "kind": [outcome_labels[{1: 0, -1: 1, 0: 2}[int(value)]] for value in sign],
        }
    )
    note = f"Excluded: {inflect(n_missing, 'topic')} without scores of both systems."
    return _SystemPair(
        frame,
        names,
        short_names,
        inputs.make_title(topic_scores),
        outcome_labels,
        note if n_missing else "",
        topic_scores.lower_is_better,
    )


def _shorten(names: tuple[str, str], limit: int = 36) -> tuple[str, str]:
    """Shorten long names in the middle, to a limit of characters, and keep them distinct."""
    head = limit * 2 // 3
    first, second = (
        name if len(name) <= limit else f"{name[:head]}…{name[head + 1 - limit :]}"
        for name in names
    )
    return (first, second) if first != second else (f"{first} (first)", f"{second} (second)")


@theme.declare_chart("difficulty", "Scores")
def difficulty_map(scores: Any, *, systems: Sequence[str] | None = None) -> alt.Chart:
    """Draw the scores of all systems on all topics as a heat map.

    Systems are rows, the best mean first; topics are columns, the topic with the best mean over
    these systems first. Cells without a score are white.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    systems
        Systems to draw; by default all.

    Raises
    ------
    PolicyError, CranfieldError
        As for :func:`box_plot`.

    Examples
    --------
    >>> chart = difficulty_map({"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.5, 0.6]}).to_dict()
    >>> chart["encoding"]["x"]["scale"]["domain"], chart["encoding"]["y"]["scale"]["domain"]
    (['2', '3', '1'], ['dense', 'bm25'])
    """
    topic_scores = inputs.sort_systems(scores, systems)
    topics = inputs.make_labels(topic_scores.topics)
    names = inputs.make_labels(topic_scores.systems)
    topic_means = Averages(topic_scores.values.T).mean()
    order = argsort_best(round_for_ranking(topic_means), topic_scores.lower_is_better)
    height, size = theme.size_cells(len(names))
    width, topic_size = theme.size_cells(len(topics))
    has_all_labels = len(topics) * width <= MAX_WIDTH
    low, high = (
        min(0.0, float(np.nanmin(topic_scores.values))),
        float(np.nanmax(topic_scores.values)),
    )
    title = inputs.make_title(topic_scores)
    # If there is not enough space for all topics, some labels are omitted.
    axis: dict[str, Any] = {"orient": "top", "labelOverlap": False if has_all_labels else "greedy"}
    topic_labels = [topics[k] for k in order]
    legend = alt.Legend(title=title, gradientLength=max(60, min(height * len(names), 240)))
    # Viridis is perceptually uniform and colour-blind safe.
    colour = alt.Color("score:Q", legend=legend).scale(
        scheme="viridis", domain=[low, high if high > low else low + 1]
    )
    cells = theme.start_chart(
        inputs.list_cells(topic_scores, ~np.isnan(topic_scores.values), names, topics)
    ).mark_rect(aria=False)
    n_missing = int(np.isnan(topic_scores.values).sum())
    scope = f"{inflect(len(names), 'system')}, {inflect(len(topics), 'topic')}"
    chart: alt.Chart = cells.encode(
        x=theme.encode_columns(
            "topic", topic_labels, "topic, easiest first", topic_size, domain=False, **axis
        ),
        y=theme.encode_rows("system", names, "system, best first", size),
        color=colour,
        tooltip=theme.make_tips("system:N", "topic:N", "score"),
    ).properties(
        width=alt.Step(width) if has_all_labels else MAX_WIDTH,
        height=alt.Step(height),
        title=theme.write_title(
            f"{inputs.name_measure(topic_scores)} by system and topic: {scope}",
            f"White: {n_missing:,} cells without a score." if n_missing else "",
        ),
        description=f"Heat map of {title}: {scope}. The best system on average is {names[0]}; the"
        f" easiest topic is {topic_labels[0]} with a mean of {topic_means[order[0]]:.4g}, the"
        f" hardest is {topic_labels[-1]}.",
    )
    return theme.apply_theme(chart)


@theme.declare_chart("residuals", "AnovaTable")
def residual_plots(table: AnovaTable) -> alt.HConcatChart:
    """Draw residuals against fitted scores, and against the quantiles of a normal distribution.

    In the left panel, a band of constant width around zero indicates equal variances. In the right
    panel, points on the line indicate normal errors.

    Parameters
    ----------
    table
        An analysis of variance, such as `cf.compare(scores).anova`.

    Raises
    ------
    PolicyError, CranfieldError
        For an object other than an analysis of variance, or fewer than two residuals.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6], "c": [0.3, 0.3, 0.5]}
    >>> chart = residual_plots(cf.compare(scores).anova)
    >>> [panel["layer"][0]["mark"]["type"] for panel in chart.to_dict()["hconcat"]]
    ['point', 'point']
    """
    if not isinstance(table, AnovaTable):
        raise PolicyError(
            "expected an analysis of variance, such as cf.compare(scores, test='anova').anova, got"
            f" {type(table).__name__}"
        )
    has_score = ~np.isnan(table.residuals)
    residuals, fits = table.residuals[has_score], table.fitted[has_score]
    n_residuals = residuals.size
    if n_residuals < 2:
        raise CranfieldError(f"expected at least two residuals, got {n_residuals}")
    order = np.argsort(residuals, kind="stable")
    # Blom's approximation to the expected order statistics.
    quantiles = ndtri((np.arange(1, n_residuals + 1) - 0.375) / (n_residuals + 0.25))
    frame = pl.DataFrame({"fitted": fits[order], "residual": residuals[order], "normal": quantiles})
    residual = alt.Y("residual:Q", title="residual")
    points = theme.start_chart(frame).mark_point(
        filled=True, size=12, opacity=0.4, color=theme.COLOURS[0], aria=False
    )
    zero = theme.start_chart({"residual": [0.0]}).mark_rule(color="black").encode(y="residual:Q")
    variances = points.encode(x=alt.X("fitted:Q", title="fitted score"), y=residual) + zero
    deviation = float(residuals.std())
    line = theme.start_chart(
        {"normal": quantiles[[0, -1]], "residual": quantiles[[0, -1]] * deviation}
    )
    line = line.mark_line(color="black", strokeWidth=1).encode(x="normal:Q", y="residual:Q")
    quantile = alt.X("normal:Q", title="quantile of a normal distribution")
    normality = points.encode(x=quantile, y=residual) + line
    panel_size: dict[str, Any] = {"width": 300, "height": 300}
    description = (
        f"Two scatter plots of {n_residuals:,} residuals of the model {table.model}: against the"
        " fitted scores, and against the quantiles of a normal distribution with a line for normal"
        f" errors of standard deviation {deviation:.4g}."
    )
    return theme.apply_theme(
        alt.hconcat(
            variances.properties(title="Equal variances?", **panel_size),
            normality.properties(title="Normal errors?", **panel_size),
            description=description,
        )
    )
