"""Charts of scores topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import best_first, to_order
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.text import counted
from cranfield.reporting.charts.inputs import cells_of, labels, make_title, rank_systems, table_of
from cranfield.reporting.charts.theme import (
    COLOURS,
    GREY,
    apply_theme,
    by_look,
    cell_size,
    chart_of,
    columns_of,
    combine,
    draws,
    headline,
    rows_of,
    tips,
)
from cranfield.scores.averages import Averages
from cranfield.scores.one_measure import label_index
from cranfield.significance.differences import Pairs
from cranfield.significance.models.anova_table import AnovaTable

SIDE = 380
"""Side of the scatter plot."""

MIN_WIDTH = 420
"""Width of a chart of few topics."""

MAX_WIDTH = 1000
"""Maximum width of a chart of topics."""

STEP = 14
"""Width of a bar with its topic below it."""

LOOKS = ((COLOURS[0], "triangle-up"), (COLOURS[4], "triangle-down"), (GREY, "circle"))
"""Colour and shape of topics: first system better, second better, equal."""


@draws("differences", "Scores")
def difference_bars(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a bar for each topic: the score of one system minus that of another.

    Topics on which the first system is better come first.

    A dashed line marks the mean difference. Differences by rounding are zero, as in the tests.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    first, second
        Two systems. Topics without scores of both are excluded, and the chart states their number.

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
    two = _pair(scores, first, second)
    frame = two.frame.sort("difference", descending=not two.lower_is_better, maintain_order=True)
    topics = frame["topic"].to_list()
    y = alt.Y("difference:Q", title=f"difference in {two.title}")
    fits = len(topics) * STEP <= MAX_WIDTH
    step = max(STEP, min(MIN_WIDTH // len(topics), 3 * STEP))
    # Without room for every topic, some labels are omitted.
    x = columns_of("topic", topics, "topic", 10, labelOverlap=False if fits else "greedy")
    x = x.scale(domain=topics, paddingInner=0.2 if fits else 0)
    bars = chart_of(frame).mark_bar(aria=fits)
    bars = bars.encode(x=x, y=y, color=two.marks["color"], tooltip=two.tooltip)
    mean = float(frame["difference"].mean())  # type: ignore[arg-type]
    rule = chart_of({"difference": [mean]}).mark_rule(color="black", strokeDash=[5, 3])
    tip = alt.Tooltip("difference:Q", title="mean difference", format=".4f")
    first_name, second_name = two.names
    return combine(
        bars,
        rule.encode(y=y, tooltip=[tip]),
        width=alt.Step(step) if fits else MAX_WIDTH,
        height=280,
        title=headline(
            f"Differences by topic: {two.title}",
            f"{two.short[0]} minus {two.short[1]}; dashed: mean difference, {mean:.4f}.",
            two.note,
        ),
        description=f"Bars of the difference in {two.title}, {first_name} minus {second_name}, for"
        f" {counted(len(topics), 'topic')}, best for {first_name} first; mean {mean:.4f}."
        f" {'; '.join(two.kinds)}.",
    )


@draws("score-scatter", "Scores")
def difference_scatter(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a point for each topic: the score of one system against that of another.

    Scores are equal on the diagonal; above it the first system has the higher score, also if lower
    is better.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    first, second
        The system of the vertical axis, and that of the horizontal one.

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
    two = _pair(scores, first, second)
    values = two.frame.select("first", "second").to_numpy()
    low, high = min(0.0, float(values.min())), float(values.max())
    # The axes of scores within 0 to 1 have this range; others have the range of the scores.
    high = 1.0 if 0.5 < high <= 1 and low == 0 else high if high > low else low + 1
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("second:Q", scale=scale, title=f"{two.title}: {two.short[1]}")
    y = alt.Y("first:Q", scale=scale, title=f"{two.title}: {two.short[0]}")
    diagonal = chart_of({"second": [low, high], "first": [low, high]})
    diagonal = diagonal.mark_line(color="black", strokeWidth=1, aria=False).encode(x=x, y=y)
    points = chart_of(two.frame).mark_point(filled=True, size=55, opacity=0.75)
    return combine(
        diagonal,
        points.encode(x=x, y=y, tooltip=two.tooltip, **two.marks),
        width=SIDE,
        height=SIDE,
        title=headline(f"Two systems by topic: {two.title}", two.note),
        description=f"Scatter plot of {two.title} of {counted(two.frame.height, 'topic')}:"
        f" {two.names[0]} against {two.names[1]}, with the diagonal. {'; '.join(two.kinds)}.",
    )


@dataclass(frozen=True, eq=False)
class _SystemPair:
    """Scores of two systems by topic, with labels."""

    frame: pl.DataFrame
    names: tuple[str, str]
    short: tuple[str, str]
    title: str
    kinds: list[str]
    note: str
    lower_is_better: bool

    @property
    def marks(self) -> dict[str, Any]:
        looks = dict(zip(self.kinds, LOOKS, strict=False))
        place: dict[str, Any] = {"orient": "bottom", "direction": "vertical", "labelLimit": SIDE}
        return by_look("kind", looks, title=None, **place)

    @property
    def tooltip(self) -> list[alt.Tooltip]:
        titles = {"first": self.names[0], "second": self.names[1], "difference": "difference"}
        numbers = (alt.Tooltip(f"{k}:Q", title=title, format=".4f") for k, title in titles.items())
        return [alt.Tooltip("topic:N"), *numbers]


def _pair(scores: Any, first: str, second: str) -> _SystemPair:
    table = table_of(scores)
    first_place, second_place = (
        label_index(first, table.systems),
        label_index(second, table.systems),
    )
    if first_place == second_place:
        raise PolicyError(
            f"expected two different systems, got {quoted(first)} and {quoted(second)}"
        )
    pairs = Pairs(table.values, np.array([first_place]), np.array([second_place]))
    difference = pairs.differences()[0]
    defined = ~np.isnan(difference)
    if not defined.any():
        raise CranfieldError(f"no topic has scores of both {quoted(first)} and {quoted(second)}")
    system_labels = labels(table.systems)
    names = system_labels[first_place], system_labels[second_place]
    sign = np.sign(-difference if table.lower_is_better else difference)[defined]
    counts = [int((sign == value).sum()) for value in (1, -1, 0)]
    short_names = _shorten(names)
    kinds = [f"{name} better: {count}" for name, count in zip(short_names, counts[:2], strict=True)]
    if counts[2]:
        kinds.append(f"equal: {counts[2]}")
    topics = [topic for topic, has in zip(labels(table.topics), defined, strict=True) if has]
    missing = int((~defined).sum())
    frame = pl.DataFrame(
        {
            "topic": pl.Series(topics, dtype=pl.String),
            "first": table.values[defined, first_place],
            "second": table.values[defined, second_place],
            "difference": difference[defined],
            "kind": [kinds[{1: 0, -1: 1, 0: 2}[int(value)]] for value in sign],
        }
    )
    return _SystemPair(
        frame,
        names,
        short_names,
        make_title(table.measure, lower_is_better=table.lower_is_better),
        kinds,
        f"Excluded: {counted(missing, 'topic')} without scores of both systems." if missing else "",
        table.lower_is_better,
    )


def _shorten(names: tuple[str, str], limit: int = 36) -> tuple[str, str]:
    """Cut two names in the middle to fit into a line, and keep them distinct."""
    head = limit * 2 // 3
    shortened = [
        name if len(name) <= limit else f"{name[:head]}…{name[head + 1 - limit :]}"
        for name in names
    ]
    return (
        (shortened[0], shortened[1])
        if shortened[0] != shortened[1]
        else (f"{shortened[0]} (first)", f"{shortened[1]} (second)")
    )


@draws("difficulty", "Scores")
def difficulty_map(scores: Any, *, systems: Sequence[str] | None = None) -> alt.Chart:
    """Draw the scores of all systems on all topics as a heat map.

    Systems are rows, the best mean first; topics are columns, the easiest first, by their mean over
    these systems. Cells without a score are white.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
    systems
        Systems to draw; by default all.

    Raises
    ------
    PolicyError
        For an unknown system.
    CranfieldError
        If there are no scores, or infinite ones.

    Examples
    --------
    >>> chart = difficulty_map({"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.5, 0.6]}).to_dict()
    >>> chart["encoding"]["x"]["scale"]["domain"], chart["encoding"]["y"]["scale"]["domain"]
    (['2', '3', '1'], ['dense', 'bm25'])
    """
    table = rank_systems(scores, systems)
    topics, names = labels(table.topics), labels(table.systems)
    by_topic = Averages(table.values.T).mean()
    order = best_first(to_order(by_topic), table.lower_is_better)
    height, size = cell_size(len(names))
    width, topic_size = cell_size(len(topics))
    fits = len(topics) * width <= MAX_WIDTH
    low, high = min(0.0, float(np.nanmin(table.values))), float(np.nanmax(table.values))
    title = make_title(table.measure, lower_is_better=table.lower_is_better)
    # Without room for every topic, some labels are omitted.
    top: dict[str, Any] = {"orient": "top", "labelOverlap": False if fits else "greedy"}
    easiest_first = [topics[k] for k in order]
    key = alt.Legend(title=title, gradientLength=max(60, min(height * len(names), 240)))
    # Viridis is perceptually uniform and colour-blind safe.
    colour = alt.Color("score:Q", legend=key).scale(
        scheme="viridis", domain=[low, high if high > low else low + 1]
    )
    cells = chart_of(cells_of(table, ~np.isnan(table.values), names, topics)).mark_rect(aria=False)
    missing = int(np.isnan(table.values).sum())
    counts = f"{counted(len(names), 'system')}, {counted(len(topics), 'topic')}"
    chart: alt.Chart = cells.encode(
        x=columns_of(
            "topic", easiest_first, "topic, easiest first", topic_size, domain=False, **top
        ),
        y=rows_of("system", names, "system, best first", size),
        color=colour,
        tooltip=tips("system:N", "topic:N", "score"),
    ).properties(
        width=alt.Step(width) if fits else MAX_WIDTH,
        height=alt.Step(height),
        title=headline(
            f"{make_title(table.measure)} by system and topic: {counts}",
            f"White: {missing:,} cells without a score." if missing else "",
        ),
        description=f"Heat map of {title}: {counts}. The best system on average is {names[0]}; the"
        f" easiest topic is {easiest_first[0]} with a mean of {by_topic[order[0]]:.4g}, the hardest"
        f" is {easiest_first[-1]}.",
    )
    return apply_theme(chart)


@draws("residuals", "AnovaTable")
def residual_plots(table: AnovaTable) -> alt.HConcatChart:
    """Draw residuals against fitted scores, and against the quantiles of a normal distribution.

    In the left panel a band of even width around zero indicates equal variances. In the right one
    points on the line indicate normal errors.

    Parameters
    ----------
    table
        An analysis of variance, such as `cf.compare(scores).anova`.

    Raises
    ------
    CranfieldError
        If there are fewer than two residuals.

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
            "expected an analysis of variance, such as cf.compare(scores, test='anova').anova"
        )
    defined = ~np.isnan(table.residuals)
    residuals, fitted = table.residuals[defined], table.fitted[defined]
    number = residuals.size
    if number < 2:
        raise CranfieldError("expected at least two residuals")
    order = np.argsort(residuals, kind="stable")
    # Blom's approximation to the expected order statistics.
    normal = ndtri((np.arange(1, number + 1) - 0.375) / (number + 0.25))
    frame = pl.DataFrame({"fitted": fitted[order], "residual": residuals[order], "normal": normal})
    residual = alt.Y("residual:Q", title="residual")
    points = chart_of(frame).mark_point(
        filled=True, size=12, opacity=0.4, color=COLOURS[0], aria=False
    )
    zero = chart_of({"residual": [0.0]}).mark_rule(color="black").encode(y="residual:Q")
    variances = points.encode(x=alt.X("fitted:Q", title="fitted score"), y=residual) + zero
    deviation = float(residuals.std())
    line = chart_of({"normal": normal[[0, -1]], "residual": normal[[0, -1]] * deviation})
    line = line.mark_line(color="black", strokeWidth=1).encode(x="normal:Q", y="residual:Q")
    quantile = alt.X("normal:Q", title="quantile of a normal distribution")
    normality = points.encode(x=quantile, y=residual) + line
    side: dict[str, Any] = {"width": 300, "height": 300}
    about = (
        f"Two scatter plots of {number:,} residuals of the model {table.model}: against the fitted"
        " scores, and against the quantiles of a normal distribution with a line for normal errors"
        f" of standard deviation {deviation:.4g}."
    )
    return apply_theme(
        alt.hconcat(
            variances.properties(title="Equal variances?", **side),
            normality.properties(title="Normal errors?", **side),
            description=about,
        )
    )
