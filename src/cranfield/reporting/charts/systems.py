"""Charts of systems by their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from cranfield.base.arrays import round_for_ranking
from cranfield.base.errors import CranfieldError, PolicyError, check_choice
from cranfield.base.text import capitalise, format_range, inflect, sanitise
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import summary
from cranfield.reporting.charts import inputs, theme
from cranfield.reporting.charts.saving import CHARACTER_WIDTH
from cranfield.scores.one_measure import find_label
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.cost import CostEffectiveness

WIDTH = 560  # width of charts with a row for each system, in pixels
SIDE = 400  # side of the scatter plot, in pixels

LEGEND = (
    "Box: quartiles; line: median; diamond: mean; whiskers: scores within 1.5 interquartile",
    "ranges of the box; circles: scores beyond the whiskers. Systems are ordered by mean,"
    " the best first.",
)


@theme.declare_chart("box", "Scores")
def box_plot(scores: Any, *, systems: Sequence[str] | None = None) -> alt.LayerChart:
    """Draw a box plot of each system's scores over topics, the best mean first.

    The box extends from the first to the third quartile with a line at the median, and a diamond
    marks the mean. Whiskers extend to the farthest score within 1.5 interquartile ranges of the
    box; scores beyond them are circles (Ferro and Maistro 2024, figure 16; McGill, Tukey and Larsen
    1978). Quartiles are interpolated linearly between scores.

    Parameters
    ----------
    scores
        Scores of one measure: any input of :func:`cranfield.compare`, except scores by shard.
        Topics without a score are skipped.
    systems
        Systems to show; by default all.

    Raises
    ------
    PolicyError
        For an unknown system.
    CranfieldError
        If there are no scores, or infinite scores.

    Examples
    --------
    >>> chart = box_plot({"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]})
    >>> chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    ['dense', 'bm25']
    """
    topic_scores = inputs.sort_systems(scores, systems)
    names = inputs.make_labels(topic_scores.systems)
    boxes, outliers = inputs.summarise_boxes(topic_scores, names)
    step, _ = theme.size_rows(len(names))
    title = inputs.make_title(topic_scores, suffix="of a topic")
    y = theme.encode_rows("system", names, labelPadding=6)

    def to_x(field: str) -> alt.X:
        return theme.encode_score(field, title, len(names))

    statistics = theme.make_tips("mean", "low", "q1", "median", "q3", "high")
    topics_tooltip = alt.Tooltip("topics:Q", title="topics with a score")
    base = theme.start_chart(boxes).encode(
        y=y, tooltip=[*theme.make_tips("system:N"), topics_tooltip, *statistics]
    )
    whiskers = base.mark_rule(color="#555555", aria=False).encode(x=to_x("low"), x2="high:Q")
    bar_options: dict[str, Any] = {"height": 0.62 * step, "aria": False}
    box = base.mark_bar(color="#9DC6E0", stroke=theme.COLOURS[0], strokeWidth=1, **bar_options)
    median = base.mark_tick(color="black", thickness=2, orient="vertical", **bar_options)
    diamond: dict[str, Any] = {"shape": "diamond", "filled": True, "size": 2.2 * step, "opacity": 1}
    mean = base.mark_point(color=theme.COLOURS[1], **diamond).encode(x=to_x("mean"))
    circles = theme.start_chart(outliers).mark_point(
        size=1.1 * step, color="#555555", strokeWidth=1, aria=False
    )
    tip = theme.make_tips("system:N", "topic:N", "score")
    topics_text = inflect(len(topic_scores.topics), "topic")
    counts = boxes["topics"].to_numpy()
    if counts.min() < len(topic_scores.topics):
        topics_text = f"{format_range(counts)} of {topics_text}"
    scope = f"{inflect(len(names), 'system')}, {topics_text}"
    measure = inputs.name_measure(topic_scores)
    return theme.combine_layers(
        whiskers,
        box.encode(x=to_x("q1"), x2="q3:Q"),
        median.encode(x=to_x("median")),
        circles.encode(x=to_x("score"), y=y, tooltip=tip),
        mean,
        width=WIDTH,
        height=alt.Step(step),
        title=theme.write_title(f"{measure}: {scope}", *LEGEND),
        description=f"Box plots of the scores by {measure} of {scope}, ordered by"
        f" mean, from {names[0]} with a mean of {_format_mean(boxes['mean'][0])} to {names[-1]}"
        f" with {_format_mean(boxes['mean'][-1])}.",
    )


def _format_mean(value: float | None) -> str:
    return "no score" if value is None or np.isnan(value) else f"{value:.4g}"


MARKERS = {
    "reference": ("#000000", "diamond"),
    summary.BETTER: (theme.COLOURS[2], "triangle-up"),
    summary.NOT_DIFFERENT: (theme.COLOURS[0], "circle"),
    summary.WORSE: (theme.COLOURS[4], "triangle-down"),
    summary.NOT_COMPARED: (theme.GREY, "cross"),
}


@theme.declare_chart("intervals", "PairwiseComparison")
def intervals_chart(
    comparison: PairwiseComparison, *, reference: str | None = None
) -> alt.LayerChart:
    r"""Draw the mean of each system with an interval that shows which systems differ.

    With Tukey's HSD, also randomised or bootstrapped, systems are significantly different if their
    intervals do not overlap. In an analysis of variance, these intervals are

    .. math:: \hat\mu_{\cdot u} \pm \frac12 Q^\alpha_{n, df} \sqrt{\frac{MS_{Error}}{m}}

    for system u of n systems on m topics, with the quantile Q of the studentised range and the
    degrees of freedom df of the error (Ferro and Maistro 2024, equation 11). With other
    simultaneous intervals, such as those of comparisons with a baseline, each system has the
    interval of its difference from the reference, centred at its own mean: systems whose interval
    excludes the reference's mean are significantly different from it. A band shows the interval of
    the reference, or a line its mean; colours and shapes show which systems are significantly
    better or worse. If the reference is the best system, systems that are not significantly
    different from it are the top group. The best system comes first.

    Parameters
    ----------
    comparison
        A result of :func:`cranfield.compare`.
    reference
        System to compare with; by default the first baseline, otherwise the best system.

    Raises
    ------
    PolicyError
        For an unknown system, or a comparison without intervals around means.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.1, 0.2, 0.4], "b": [0.3, 0.4, 0.5], "c": [0.6, 0.7, 0.9]}
    >>> chart = intervals_chart(cf.compare(scores, correction="tukey"))
    >>> rows = next(rows for rows in chart.to_dict()["datasets"].values() if len(rows) == 3)
    >>> [(row["system"], row["verdict"]) for row in rows]
    [('c', 'reference'), ('b', 'worse'), ('a', 'worse')]
    """
    names = inputs.make_labels(comparison.systems)
    order = comparison.order
    if reference is None:
        reference = next(iter(comparison.baselines), comparison.systems[order[0]])
    reference_index = find_label(reference, comparison.systems)
    bounds = comparison.find_mean_bounds(reference_index)
    if bounds is None:
        raise PolicyError(
            f"{comparison.test} with the correction {comparison.correction} has no intervals around"
            " means; use test='anova' without another correction, and complete scores"
        )
    is_infinite = np.isinf(bounds).any(axis=0)
    low, high = (np.where(is_infinite, np.nan, bound) for bound in bounds)
    verdicts = summary.make_verdict_matrix(comparison)[:, reference_index]
    verdicts[reference_index] = "reference"
    frame = pl.DataFrame(
        {
            "system": [names[k] for k in order],
            "mean": comparison.means[order],
            "low": low[order],
            "high": high[order],
            "verdict": verdicts[order].tolist(),
        }
    )
    note = "Systems whose intervals do not overlap are significantly different."
    if comparison.half_widths is None:
        note = (
            f"Lines: confidence intervals of the {comparison.difference_from}"
            f" {names[reference_index]} (which has no interval), around each {comparison.mean_of};"
            " if a line does not touch the vertical line, the difference is significant."
        )
        is_missing = np.isnan(bounds[0]) & (verdicts != summary.NOT_COMPARED)
        if n_missing := int(is_missing.sum()):
            note += (
                f" {inflect(n_missing, 'system')} without a line: the interval would contradict the"
                " decision of the test."
            )
    if n_infinite := int(is_infinite.sum()):
        note += f" {inflect(n_infinite, 'system')} without a line: the interval is unbounded."
    heading = f"compared with {names[reference_index]}"
    mean = comparison.mean_of
    title = inputs.make_title(comparison, mean if mean == "mean" else f"{mean} by")
    # A system without an interval still has a mean.
    values = np.stack([low, high, comparison.means])
    lowest, highest = float(np.nanmin(values)), float(np.nanmax(values))
    # Vega would draw an empty domain as 0 to 1, which may not contain the means.
    margin = 0.02 * (highest - lowest) or 0.1
    return theme.draw_interval_rows(
        frame,
        "system",
        "mean",
        "verdict",
        MARKERS,
        title,
        [
            *theme.make_tips("system:N", mean=comparison.mean_of),
            *theme.make_tips("low", "high"),
            alt.Tooltip("verdict:N", title=heading),
        ],
        rules={"": 2},
        size=64,
        legend={"title": heading, "titleLimit": WIDTH, "labelLimit": WIDTH, "columns": 4},
        band=frame.filter(verdict="reference").select("low", "high"),
        scale=alt.Scale(zero=False, nice=False, domain=[lowest - margin, highest + margin]),
        width=WIDTH,
        title=theme.write_title(
            capitalise(title)
            if not comparison.measure
            else f"{mean.capitalize()} by system: {inputs.name_measure(comparison)}",
            f"{comparison.title}, alpha {comparison.alpha:g}. {note}",
        ),
        description=f"{title} of {len(names)} systems with simultaneous intervals, best first;"
        f" {comparison.title}, alpha {comparison.alpha:g}. {capitalise(heading)}:"
        f" {theme.format_counts(frame['verdict'], [*MARKERS][1:])}.",
    )


CELL_COLOURS = {
    summary.BETTER: theme.COLOURS[0],
    summary.WORSE: theme.COLOURS[4],
    summary.NOT_DIFFERENT: "#EEEEEE",
}
"""Colours of cells; dark blue and light orange also differ in greyscale."""

DIGITS = 6  # number of significant digits of differences and p-values in tooltips
VERDICTS = {1: summary.BETTER, -1: summary.WORSE, 0: summary.NOT_DIFFERENT}
"""Verdicts on the first system of a pair, by code; for the second system, the sign is reversed."""

MAX_SIGNED = 40  # maximum number of systems in a matrix with signs


@theme.declare_chart("matrix", "PairwiseComparison")
def significance_matrix(comparison: PairwiseComparison) -> alt.LayerChart:
    """Draw a matrix of the systems that are significantly better or worse than others.

    A cell compares the system of its row with the system of its column: better (blue, +), worse
    (orange, −), or not significantly different (grey). Systems are ordered by their means, the best
    at the top left. A tooltip has the difference and the p-value.

    Better and worse are by the direction of the test, which for tests of signs and ranks may differ
    from the order of means. Cells of systems that were not compared are empty. With baselines, only
    the baselines have columns.

    Parameters
    ----------
    comparison
        A result of :func:`cranfield.compare`.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.1, 0.2, 0.4], "b": [0.3, 0.4, 0.5], "c": [0.6, 0.7, 0.9]}
    >>> chart = significance_matrix(cf.compare(scores, correction="tukey"))
    >>> data = chart.to_dict()["datasets"].values()
    >>> [(row["i"], row["j"], row["v"]) for rows in data for row in rows if "v" in row]
    [(2, 1, -1), (2, 0, -1), (1, 0, -1)]
    """
    names = inputs.make_labels(comparison.systems)
    order = comparison.order
    cells = _make_pair_cells(comparison)
    baselines = [names[k] for k in order if comparison.systems[k] in comparison.baselines]
    rows = [names[k] for k in order if names[k] not in baselines]
    columns = baselines or rows
    step, size = theme.size_cells(max(len(rows), len(columns)))
    # With a lookup table cells do not repeat names, which keeps the file small.
    name_rows = theme.embed_rows({"rank": range(len(order)), "name": [names[k] for k in order]})
    lookup = alt.LookupData(name_rows, "rank", ["name"])
    is_symmetric = not comparison.baselines and comparison.alternative == "two-sided"
    codes = {*cells["v"], *(-cells["v"] if is_symmetric else [])}
    kinds = [kind for code, kind in VERDICTS.items() if code in codes]
    legend = alt.Legend(
        title="The system of the row is",
        orient="bottom",
        columns=4,
        symbolType="square",
        labelLimit=300,
        titleLimit=300,
    )
    fill = theme.map_values(
        alt.Color, "verdict", kinds, [CELL_COLOURS[kind] for kind in kinds], legend=legend
    )
    titles = {
        "row:N": "system",
        "column:N": "compared with",
        "verdict:N": "the system is",
        "difference:Q": comparison.difference_name,
        "p:Q": "p-value",
    }

    def draw_triangle(row: str, column: str, sign: str) -> list[alt.Chart]:
        """Draw the cells below or above the diagonal."""
        verdicts = {str(code): word for code, word in VERDICTS.items()}
        column_axis = theme.encode_columns(
            "column", columns, "compared with", size, domain=False, orient="top"
        )
        base = (
            theme.start_chart(cells)
            .transform_lookup(row, lookup, ["row"])
            .transform_lookup(column, lookup, ["column"])
            # Expressions must not contain names from files.
            .transform_calculate(
                verdict=f"{verdicts}[{sign}datum.v]",
                sign=f"{{'1': '+', '-1': '−'}}[{sign}datum.v] || ''",
                difference=f"{sign}datum.d",
            )
            .encode(y=theme.encode_rows("row", rows, "system", size), x=column_axis)
        )
        tiles = base.mark_rect(stroke="white", strokeWidth=0.5, aria=False).encode(
            color=fill, tooltip=[alt.Tooltip(field, title=title) for field, title in titles.items()]
        )
        if len(order) > MAX_SIGNED:
            return [tiles]
        text_colour = alt.when(alt.datum.sign == "+").then(alt.value("white"))
        signs = base.mark_text(size=size, fontWeight="bold", aria=False).encode(
            text="sign:N", color=text_colour.otherwise(alt.value("black"))
        )
        return [tiles, signs]

    layers = draw_triangle("i", "j", "") + (draw_triangle("j", "i", "-") if is_symmetric else [])
    method = f"{comparison.title}, alpha {comparison.alpha:g}"
    n_significant = comparison.count()
    result = f"{n_significant:,} of {inflect(len(comparison), 'pair')} significantly different"
    return theme.combine_layers(
        *layers,
        width=alt.Step(step),
        height=alt.Step(step),
        title=theme.write_title(f"{inputs.name_measure(comparison)}: {result}", f"{method}."),
        description=f"Matrix of {len(rows)} systems compared with {len(columns)} by"
        f" {inputs.name_measure(comparison)}, in order of their means. {method}:"
        f" {result}. The best {'is' if len(comparison.best) == 1 else 'are'}"
        f" {summary.join_names([names[k] for k in comparison.best])}.",
    )


def _make_pair_cells(comparison: PairwiseComparison) -> pl.DataFrame:
    """Return a row per compared pair: ranks `i`, `j`, verdict `v`, difference `d`, p-value `p`."""
    ranks = np.empty(len(comparison.order), dtype=np.int64)
    ranks[comparison.order] = np.arange(len(comparison.order))
    codes = {verdict: code for code, verdict in VERDICTS.items()}
    verdicts = summary.list_pair_verdicts(comparison)
    is_compared = verdicts != summary.NOT_COMPARED
    return pl.DataFrame(
        {
            "i": ranks[comparison.first[is_compared]],
            "j": ranks[comparison.second[is_compared]],
            "v": np.array([codes[verdict] for verdict in verdicts[is_compared]], dtype=np.int64),
            "d": comparison.difference[is_compared],
            "p": comparison.adjusted_pvalues[is_compared],
        }
    ).with_columns(pl.col("d", "p").round_sig_figs(DIGITS))


MAX_NAMES = 25  # maximum number of systems in a chart that names all points
MIN_RATIO = 30  # minimum ratio of the largest to the smallest cost for a logarithmic axis

ON_FRONT, DOMINATED = "on the front", "dominated"


@theme.declare_chart("cost", "CostEffectiveness")
def cost_chart(costs: CostEffectiveness, cost: str | None = None) -> alt.LayerChart:
    """Draw the mean of each system against its cost, with the Pareto front as a line.

    The line shows the best mean up to each cost. The axis of costs is logarithmic if the smallest
    cost is above 0 and the largest is at least 30 times the smallest.

    Parameters
    ----------
    costs
        A result of :func:`cranfield.cost_effectiveness`.
    cost
        Name of the cost; by default the first cost.

    Raises
    ------
    PolicyError
        For an unknown cost.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"bm25": [0.5, 0.4], "dense": [0.6, 0.5], "slow": [0.5, 0.5]}
    >>> costs = cf.cost_effectiveness(scores, {"bm25": 2, "dense": 9, "slow": 95})
    >>> len(cost_chart(costs).to_dict()["layer"])
    3
    """
    cost = inputs.check_name("cost", cost, dict.fromkeys(costs.rows["cost"]))
    rows, name = costs.rows.filter(cost=cost), sanitise(cost)
    status = pl.when("on front").then(pl.lit(ON_FRONT)).otherwise(pl.lit(DOMINATED)).alias("status")
    points = rows.select(
        pl.Series("system", inputs.make_labels(rows["system"].to_list()), dtype=pl.String),
        *("mean", "amount", "on front"),
        status,
        proportion="front proportion",
    )
    front = points.filter("on front")
    texts = (points if len(points) <= MAX_NAMES else front).group_by(
        "amount", "mean", maintain_order=True
    )
    min_cost, max_cost = points["amount"].min(), points["amount"].max()
    is_log = 0 < min_cost <= max_cost / MIN_RATIO  # type: ignore[operator]
    x = alt.X("amount:Q", title=name, scale=alt.Scale(type="log") if is_log else alt.Undefined)
    mean = inputs.make_title(costs)
    y = alt.Y("mean:Q", title=mean, scale=alt.Scale(zero=False, reverse=costs.lower_is_better))
    line = theme.start_chart(front.select("amount", "mean")).mark_line(
        interpolate="step-after", color=theme.GREY, aria=False
    )
    markers = theme.encode_markers(
        "status",
        {ON_FRONT: (theme.COLOURS[0], "circle"), DOMINATED: (theme.COLOURS[1], "diamond")},
        title="",
    )
    tooltip = theme.make_tips("system:N", "mean", "amount:Q", "proportion", "status:N")
    marks = theme.start_chart(points.drop("on front")).mark_point(filled=True, size=60, opacity=1)
    names = theme.start_chart(texts.agg(pl.col("system").str.join(", ")))
    names = names.mark_text(align="left", dx=7, dy=-7, fontSize=12, limit=200, aria=False)
    front_names = ", ".join(front["system"])
    return theme.combine_layers(
        line.encode(x=x, y=y),
        marks.encode(x=x, y=y, tooltip=tooltip, **markers),
        names.encode(x=x, y=y, text="system:N"),
        width=WIDTH,
        height=320,
        title=theme.write_title(
            f"{mean} and {name}: {len(front)} of {inflect(len(points), 'system')} on the Pareto"
            " front",
            "Line: best mean up to each cost.",
        ),
        description=f"Means of {inflect(len(points), 'system')} against {name}. On the Pareto"
        f" front: {front_names}.",
    )


def _omit_overlapping_names(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the names at x and y that do not overlap the names before them."""
    x, y = (texts[axis].to_numpy() for axis in "xy")
    # The plot in one column of a paper is some 200 pixels wide; a name is 13 pixels high.
    left, top = 200 * x / (np.ptp(x) or 1), 0.8 * SIDE * y / (np.ptp(y) or 1)
    right = left + CHARACTER_WIDTH * texts["system"].str.len_chars().to_numpy()
    indices: list[int] = []
    for k in range(texts.height):
        is_overlapping = (left[indices] < right[k]) & (left[k] < right[indices])
        if not (is_overlapping & (np.abs(top[indices] - top[k]) < 13)).any():
            indices.append(k)
    return texts[indices]


@theme.declare_chart("measure-scatter", "Evaluation")
def measure_scatter(
    evaluation: Evaluation, measures: Sequence[str] | None = None
) -> alt.LayerChart:
    """Draw the overall scores of systems by one measure against those by another measure.

    Better systems are above and to the right, also if lower scores are better. Systems without a
    score by one of the measures are excluded, and the chart states their number.

    Parameters
    ----------
    evaluation
        An evaluation by at least two measures.
    measures
        The measures of the horizontal and of the vertical axis; optional if there are only two.

    Raises
    ------
    PolicyError
        For an unknown measure, or a number of measures other than two.
    CranfieldError
        If no system has scores by both measures.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"one": {"1": {"a": 4, "b": 3}}, "two": {"1": {"b": 4, "a": 3}}}
    >>> chart = measure_scatter(cf.evaluate(runs, {"1": {"a": 1}}, ["RR", "P@1"])).to_dict()
    >>> [(row["x"], row["y"]) for row in max(chart["datasets"].values(), key=len)]
    [(1.0, 1.0), (0.5, 0.0)]
    """
    names = list(evaluation) if measures is None else list(measures)
    if len(names) != 2:
        raise PolicyError(f"expected two measures, got {len(names)}: {', '.join(names)}")
    for name in names:
        check_choice("measure", name, evaluation)
    pair = [inputs.check_drawable(evaluation[name]) for name in names]
    frame = pl.DataFrame(
        {
            "system": pl.Series(inputs.make_labels(pair[0].systems), dtype=pl.String),
            **{axis: scores.overall() for axis, scores in zip("xy", pair, strict=True)},
        }
    )
    points = frame.filter(pl.col("x").is_finite() & pl.col("y").is_finite())
    if points.is_empty():
        raise CranfieldError(f"no system has scores by both {' and '.join(names)}")
    titles = [inputs.make_title(scores) for scores in pair]
    x, y = (
        channel(f"{axis}:Q", title=title).scale(zero=False, reverse=scores.lower_is_better)
        for channel, axis, title, scores in zip((alt.X, alt.Y), "xy", titles, pair, strict=True)
    )
    signs = [-1.0 if scores.lower_is_better else 1.0 for scores in pair]
    horizontal, vertical = (round_for_ranking(points[axis].to_numpy()) for axis in "xy")
    tau = float(kendall_tau(signs[0] * horizontal, signs[1] * vertical))
    tau_text = f"Kendall's tau {tau:.3f}"
    if np.isnan(tau):
        tau_text = "Kendall's tau is undefined, as all systems are tied by a measure"
    n_excluded = frame.height - points.height
    tooltip = theme.make_tips("system:N", x=titles[0], y=titles[1])
    marks = theme.start_chart(points).mark_point(
        filled=True, size=60, color=theme.COLOURS[0], opacity=0.8
    )
    layers = [marks.encode(x=x, y=y, tooltip=tooltip)]
    if points.height <= MAX_NAMES:
        texts = points.group_by("x", "y", maintain_order=True).agg(pl.col("system").str.join(", "))
        texts = _omit_overlapping_names(texts)
        text = theme.start_chart(texts).mark_text(align="left", dx=7, dy=-7, limit=200, aria=False)
        layers.append(text.encode(x=x, y=y, text="system:N"))
    return theme.combine_layers(
        *layers,
        width=SIDE,
        height=SIDE,
        title=theme.write_title(
            f"{titles[1]} against {titles[0]}",
            f"{inflect(points.height, 'system')}; {tau_text}.",
            f"Excluded: {inflect(n_excluded, 'system')} without a score." if n_excluded else "",
        ),
        description=f"Scatter plot of {inflect(points.height, 'system')}: {titles[1]} against"
        f" {titles[0]}; {tau_text}.",
    )
