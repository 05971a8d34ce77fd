"""Charts of studies of tests, measures, judgments, topics and scales."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import altair as alt
import polars as pl

from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.text import inflect
from cranfield.meta.collection_studies.leave_one_out import LeaveOneOut
from cranfield.meta.collection_studies.pooling import Pooling
from cranfield.meta.measure_studies.discriminative import DiscriminativePower
from cranfield.meta.scale_study import ScaleStudy
from cranfield.meta.test_studies.splits import SplitStudy
from cranfield.meta.topic_studies.sample_study import Stability, compute_quantile_bounds
from cranfield.reporting.charts import theme
from cranfield.reporting.charts.inputs import check_name

PANELS = {
    "AA": "active agreements",
    "MA": "mixed agreements",
    "AD": "active disagreements",
    "MD": "mixed disagreements",
}


@theme.declare_chart("agreement", "SplitStudy")
def agreement_chart(study: SplitStudy, *, group: str | None = None) -> alt.ConcatChart:
    """Draw agreements and disagreements between two sets of topics, by the size of the sets.

    Lines are means over repeats; bands extend from the 5% to the 95% quantile.

    Parameters
    ----------
    study
        A result of :func:`split_topics`.
    group
        Group of systems; by default the first group.

    Raises
    ------
    PolicyError
        For an unknown group.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import split_topics
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = agreement_chart(split_topics(scores, ["t"], sizes=[2], repeats=5))
    >>> len(chart.to_dict()["concat"])
    4
    """
    group = check_name("group", group, study.groups)
    is_same_test = pl.col("first") == pl.col("second")
    summary = study.summary().filter(is_same_test, group=group, sets="1-2")
    n_systems = study.groups[group]
    size = alt.X("size:Q").title("topics in each set").scale(type="log", nice=False)
    size = size.axis(values=list(study.sizes), format="d")
    pairs = alt.Y("pairs:Q").title(f"pairs, of {n_systems * (n_systems - 1) // 2:,}")
    channels = theme.encode_colours("test", study.tests)
    tip = theme.make_tips("test:N", "size:Q", "pairs", format=".1f")
    panels = []
    for name, title in PANELS.items():
        columns = {"pairs": name, "low": f"{name} low", "high": f"{name} high"}
        frame = summary.select("size", test="first", **columns)
        options: dict[str, Any] = {"width": 260, "height": 200, "title": f"{name}: {title}"}
        panels.append(theme.draw_bands(frame, size, pairs, channels, tip, **options))
    return theme.apply_theme(alt.concat(*panels, columns=2))


ASL_WIDTH = 460  # width of the chart of p-values, in pixels
MAX_POINTS = 40  # maximum number of pairs that are also drawn as points


@theme.declare_chart("p-values", "DiscriminativePower")
def asl_chart(power: DiscriminativePower, *, max_pvalue: float = 0.15) -> alt.LayerChart:
    """Draw the sorted p-values of each measure: the lower the curve, the higher the power.

    Pairs left of the point where a curve crosses the line of the significance level are
    significantly different.

    Parameters
    ----------
    power
        A result of :func:`discriminative_power`.
    max_pvalue
        Largest p-value on the axis, above 0 and up to 1.

    Raises
    ------
    PolicyError
        For an invalid `max_pvalue`.

    Notes
    -----
    Figure 16 of Sakai (2013). Only the first and the last point of each half pixel are drawn, which
    does not change the appearance of the curve.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import discriminative_power
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = asl_chart(discriminative_power({"AP": scores}, resamples=100))
    >>> len(chart.to_dict()["layer"])
    4
    """
    if not isinstance(max_pvalue, Real) or not 0 < max_pvalue <= 1:
        raise PolicyError(f"max_pvalue must be a number above 0 and up to 1, got {max_pvalue!r}")
    n_pairs = power.n_systems * (power.n_systems - 1) // 2
    curves = power.curves
    # The x axis ends at the last rank with a p-value up to the maximum, and each curve at its first
    # p-value above the maximum.
    is_on_axis = pl.col("p") <= max_pvalue
    last_rank = int(curves.filter(is_on_axis)["rank"].max() or 0)
    end = min(max(last_rank, 2), n_pairs)
    visible_rows = curves.filter(
        (pl.col("rank") <= is_on_axis.sum().over("measure") + 1) & pl.col("rank").le(end)
    )
    rank = alt.X("rank:Q").title(f"rank of the pair by p-value, of {n_pairs:,} pairs")
    pvalue = alt.Y("p:Q").title("p-value (achieved significance level)")
    line = (
        theme.start_chart(select_points(visible_rows, end))
        .mark_line(clip=True, point=n_pairs <= MAX_POINTS, strokeWidth=1.75)
        .encode(
            x=rank.scale(domain=[0, end], nice=False).axis(format=",d", tickMinStep=1),
            y=pvalue.scale(domain=[0, max_pvalue], nice=False),
            tooltip=theme.make_tips("measure:N", "rank:Q", "p"),
            **theme.encode_colours("measure", power.summary["measure"].to_list()),
        )
    )
    layers: list[alt.Chart] = [line]
    if power.alpha <= max_pvalue:
        level = theme.start_chart({"p": [power.alpha], "text": [f"α = {power.alpha:g}"]}).encode(
            y="p:Q"
        )
        rule = level.mark_rule(color="#666666")
        text = level.encode(x=alt.value(0), text="text:N")
        style = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 12}
        # A white outline separates the text from curves.
        outline = text.mark_text(stroke="white", strokeWidth=4, **style)
        layers = [rule, line, outline, text.mark_text(color="#666666", **style)]
    return theme.combine_layers(*layers, width=ASL_WIDTH, height=320)


def select_points(curves: pl.DataFrame, end: int, n_intervals: int = 2 * ASL_WIDTH) -> pl.DataFrame:
    """Select the first and last point of each measure in each of `n_intervals` ranges of ranks."""
    rank = pl.col("rank")
    points = curves.with_columns((rank * n_intervals // max(end, 1)).alias("interval"))
    is_end = (rank == rank.min()) | (rank == rank.max())
    return points.filter(is_end.over("measure", "interval")).drop("interval")


SIDE = 260  # width and height of a panel, whose axes have the same scale, in pixels
TEAM_SIZES = ("1 run", "2 runs", "3 or more")  # labels of the number of contributing runs of a team


@theme.declare_chart("leave-one-out", "LeaveOneOut")
def leave_one_out_chart(study: LeaveOneOut, measure: str | None = None) -> alt.ConcatChart:
    """Draw score and rank of each system with all judgments, and without its unique documents.

    The unique documents of a system are those that only its team (or run, if each team has one run)
    contributed to the pool; their judgments are removed. Systems on the line did not change.
    Systems below the line have a lower score or, in the panel of ranks, where rank 1 is at the top,
    a worse rank. Each kind of list (`raw` or `condensed`) has a row of panels. Colours show how
    many runs of the team contributed, unless runs were excluded one by one. Systems without a score
    are not drawn.

    Parameters
    ----------
    study
        A result of :func:`leave_one_out`.
    measure
        Text form of the measure; by default the first measure.

    Raises
    ------
    PolicyError
        For an unknown measure.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> from cranfield.meta import leave_one_out
    >>> chart = leave_one_out_chart(leave_one_out(runs, {"q": {"x": 1, "y": 1, "z": 0}}, "AP"))
    >>> len(chart.to_dict()["concat"])
    4
    """
    measure = check_name("measure", measure, study.measures)
    size_labels = {0: "none", **dict(enumerate(TEAM_SIZES, 1))}
    teams = study.teams.select(
        "team", sizes=pl.col("contributing").clip(0, len(TEAM_SIZES)).replace_strict(size_labels)
    )
    rows = study.systems.filter(pl.col("before").is_not_null(), measure=measure)
    rows = rows.join(teams, on="team", maintain_order="left").select(
        *("list", "system", "team", "rank before", "rank after"),
        **{"runs of the team": "sizes", "score before": "before", "score after": "after"},
    )
    panels = []
    for kind in study.lists:
        list_rows = rows.filter(list=kind)
        for quantity, title in (
            ("score", f"{measure}, {kind} lists"),
            ("rank", f"Ranks by {measure}"),
        ):
            panel = _draw_before_and_after(list_rows, quantity, study.unit)
            panels.append(panel.properties(width=SIDE, height=SIDE, title=title))
    return theme.apply_theme(alt.concat(*panels, columns=2))


def _draw_before_and_after(rows: pl.DataFrame, quantity: str, unit: str) -> alt.LayerChart:
    before, after = f"{quantity} before", f"{quantity} after"
    values = pl.concat([rows[before], rows[after]]).drop_nulls().to_list()
    low, high = 0.0, float(len(rows) + 1)
    if quantity == "score" and values:
        low = min(*values, 0.0)
        high = max(values) + 0.05 * (max(values) - low or 1.0)
    # Rank 1 is at the top.
    y_domain = [low, high] if quantity == "score" else [high, low]
    x_scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    y_scale = alt.Scale(domain=y_domain, nice=False, zero=False)
    diagonal = theme.start_chart({"x": [low, high], "y": [low, high]}).mark_line(
        color=theme.GREY, strokeWidth=1
    )
    diagonal = diagonal.encode(x=alt.X("x:Q", scale=x_scale), y=alt.Y("y:Q", scale=y_scale))
    used_sizes = rows["runs of the team"].to_list()
    labels = [size for size in ("none", *TEAM_SIZES) if size in used_sizes]
    legend = alt.Legend(title="runs of the team", symbolOpacity=1)
    colour = alt.value(theme.COLOURS[0])
    if unit != "run":
        colours = theme.COLOURS[: len(labels)]
        colour = theme.map_values(alt.Color, "runs of the team", labels, colours, legend=legend)
    points = theme.start_chart(rows).mark_circle(size=50, opacity=0.75)
    points = points.encode(
        x=alt.X(f"{before}:Q", title=f"{quantity} with all judgments", scale=x_scale),
        y=alt.Y(
            f"{after}:Q",
            title=f"{quantity} without documents that only the {unit} contributed",
            scale=y_scale,
        ),
        color=colour,
        tooltip=["system:N", "team:N", f"{before}:Q", f"{after}:Q"],
    )
    panel: alt.LayerChart = diagonal + points
    return panel


QUANTITIES = {
    "tau": "Kendall's tau",
    "tau ap": "tau AP",
    "rmse": "RMSE of overall scores",
    "confirmed": "confirmed significant pairs",
    "drop %": "mean drop of the scores of an excluded team, %",
}


@theme.declare_chart("pooling", "Pooling")
def pooling_chart(study: Pooling, quantity: str = "tau") -> alt.ConcatChart:
    """Draw relevant documents, and agreement with all judgments, against judged documents.

    The first panel shows the proportion of the pool's relevant documents. Further panels, one for
    each measure and kind of list (`raw` or `condensed`), compare scores with the scores by all
    judgments. A dashed line marks the full pool. Bands show one standard deviation over repeats
    (not for `confirmed` and `drop %`).

    Parameters
    ----------
    study
        A result of :func:`cranfield.meta.pooling`.
    quantity
        `tau` (default), `tau ap`, `rmse`, `confirmed`, or `drop %` of an excluded team.

    Raises
    ------
    PolicyError
        For an unknown quantity.

    Examples
    --------
    >>> from cranfield.meta import pooling
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> qrels = {"q": {"x": 1, "y": 1, "z": 0}}
    >>> study = pooling(runs, qrels, "AP", methods="depth", budgets=[1, 2])
    >>> len(pooling_chart(study).to_dict()["concat"])
    2
    """
    check_choice("quantity", quantity, QUANTITIES)
    channels = theme.encode_colours("method", study.methods)
    title = "proportion of the pool's relevant documents"
    documents_panel = _draw_pooling(study.documents, "of pool", title, channels)
    panels = [documents_panel.properties(title="Relevant documents")]
    counts = study.documents["method", "budget", "judged"]
    for (measure, kind), rows in study.rankings.group_by("measure", "list", maintain_order=True):
        title = measure if study.lists == ("raw",) else f"{measure}, {kind} lists"
        points = rows.join(counts, on=["method", "budget"], nulls_equal=True, maintain_order="left")
        panel = _draw_pooling(points, quantity, QUANTITIES[quantity], channels)
        panels.append(panel.properties(title=title))
    return theme.apply_theme(alt.concat(*panels, columns=2 if len(panels) == 2 else 3))


def _draw_pooling(
    rows: pl.DataFrame, quantity: str, title: str, channels: dict[str, Any]
) -> alt.LayerChart:
    sd = "relevant sd" if quantity == "of pool" else f"{quantity} sd"
    spread = pl.col(sd).fill_null(0.0) if sd in rows.columns else pl.lit(0.0)
    if quantity == "of pool":
        spread = spread / pl.col("relevant").last()
    value = pl.col(quantity)
    columns = {"value": value, "low": value - spread, "high": value + spread}
    frame = rows.select("method", "budget", "judged", **columns)
    full_pool, budgets = frame.tail(1), frame.head(-1)
    x = alt.X("judged:Q").title("judged documents").scale(domainMin=0)
    x = x.axis(format="~s", tickCount=5)
    y = alt.Y("value:Q").title(title).scale(zero=quantity == "of pool")
    tip = theme.make_tips("method:N", "budget:Q", "judged:Q", "value", format=".3~f")
    rule = theme.start_chart(full_pool).mark_rule(color=theme.GREY, strokeDash=[2, 2])
    rule = rule.encode(y="value:Q", tooltip=alt.Tooltip("value:Q", title="full pool"))
    panel: alt.LayerChart = theme.draw_bands(budgets, x, y, channels, tip) + rule
    return panel.properties(width=300, height=240)


@theme.declare_chart("stability", "Stability")
def stability_chart(studies: Stability | Sequence[Stability]) -> alt.ConcatChart:
    """Draw significant pairs, Kendall's tau and confirmed pairs against the number of topics.

    Lines are means over samples. Bands contain the proportion of samples that is the confidence
    level of the study, such as 95%.

    Parameters
    ----------
    studies
        A result of :func:`stability`, or several by different measures or tests for the same
        systems and topics.

    Raises
    ------
    PolicyError
        For an empty list, several studies of the same measure and test, or studies with different
        numbers of systems or topics.

    Notes
    -----
    By construction, a sample of all topics has tau 1 and confirms all pairs (without replacement).

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import stability
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = stability_chart(stability(scores, repeats=5))
    >>> len(chart.to_dict()["concat"])
    3
    """
    all_studies = [studies] if isinstance(studies, Stability) else list(studies)
    names = _name_studies(all_studies)
    frame = pl.concat(
        _tabulate_study(study, name) for study, name in zip(all_studies, names, strict=True)
    )
    n_topics, n_pairs = all_studies[0].n_topics, all_studies[0].n_pairs
    titles = {
        "significant": ("Significant pairs", f"pairs, of {n_pairs:,}"),
        "tau": (f"Agreement with the ranking by all {n_topics} topics", "Kendall's tau"),
        "confirmed": (
            f"Significant pairs of all {n_topics} topics that a sample confirms",
            "proportion",
        ),
    }
    channels = theme.encode_colours("measure", names)
    if len(names) == 1:
        channels = {channel: value.legend(None) for channel, value in channels.items()}
    size = alt.X("topics:Q").title("topics in a sample").scale(domainMin=0)
    tip = theme.make_tips("measure:N", "topics:Q", "mean", format=".3~f")
    panels = []
    for quantity, (title, unit) in titles.items():
        max_value = alt.Undefined if quantity == "significant" else 1
        mean = alt.Y("mean:Q").title(unit).scale(domainMax=max_value, clamp=True)
        options = {"width": 240, "height": 200, "title": title}
        rows = frame.filter(quantity=quantity)
        panels.append(theme.draw_bands(rows, size, mean, channels, tip, **options))
    return theme.apply_theme(alt.concat(*panels, columns=3))


def _name_studies(studies: Sequence[Stability]) -> list[str]:
    """Return distinct names of studies that can be drawn in one chart."""
    if not studies:
        raise PolicyError("expected at least one study, got no study")
    for noun in ("topics", "pairs"):
        sizes = sorted({getattr(study, f"n_{noun}") for study in studies})
        if len(sizes) > 1:
            raise PolicyError(
                f"studies of {sizes[0]:,} and {sizes[-1]:,} {noun} cannot be drawn in one chart"
            )
    names = [study.measure or "scores" for study in studies]
    if len(set(names)) < len(names):
        names = [f"{name}, {study.test}" for name, study in zip(names, studies, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f"studies must differ in measure or test, got {name} more than once")
    return names


def _tabulate_study(study: Stability, name: str) -> pl.DataFrame:
    """Return a row for each number of topics and quantity, with its bounds."""
    table = study.by_size
    low = high = pl.lit(None)
    if study.n_significant:
        # The table has no bounds of confirmed pairs.
        bounds = []
        for size in table["topics"]:
            counts = study.samples.filter(topics=size)["confirmed"]
            proportions = counts.to_numpy()[:, None] / study.n_significant
            bounds.append(compute_quantile_bounds(proportions, study.confidence))
        low, high = (pl.lit(pl.Series([float(pair[k][0]) for pair in bounds])) for k in (0, 1))
    table = table.with_columns(low.alias("confirmed low"), high.alias("confirmed high"))
    return pl.concat(
        table.select(
            "topics",
            measure=pl.lit(name),
            quantity=pl.lit(quantity),
            mean=pl.col(quantity).cast(pl.Float64),
            low=pl.col(f"{quantity} low").cast(pl.Float64),
            high=pl.col(f"{quantity} high").cast(pl.Float64),
        )
        for quantity in ("significant", "tau", "confirmed")
    )


WIDTH, HEIGHT, ROW_HEIGHT, NAME_HEIGHT = 420, 300, 15, 15
"""Width and height of a chart, height of a row, and of the name of a line, in pixels."""

TAU_KINDS = {
    "overall": "Kendall's tau of the means of systems",
    "by topic": "Kendall's tau, mean over topics",
    "lowest": "Kendall's tau, lowest topic",
}

VERSION_LABELS = {"original": "original", "interval": "interval-scaled"}


def _check_single_collection(study: ScaleStudy) -> None:
    if n_collections := len(study.collections):
        got = f"got a mapping with {inflect(n_collections, 'collection')}"
        raise PolicyError(f"charts require a study of one collection without a name, {got}")


@theme.declare_chart("scale-tau", "ScaleStudy")
def scale_tau_chart(study: ScaleStudy, *, kind: str = "overall") -> alt.LayerChart:
    """Draw Kendall's tau between each measure and its interval-scaled version, by length of runs.

    A tau of 1 means that both versions order the systems in the same way.

    Parameters
    ----------
    study
        A result of :func:`cranfield.meta.study_scales`.
    kind
        Tau to draw: `overall` (of the means of systems), `by topic` (its mean over topics) or
        `lowest` (its lowest value for a topic).

    Raises
    ------
    PolicyError
        For an unknown kind, and for a study of a mapping of collections.

    Notes
    -----
    Tables 2 and 3 of Ferrante, Ferro and Fuhr (2021). Lines have their names at the right end.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import study_scales
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:5], covid.qrels).binarise()
    >>> study = study_scales(judged, ["P", "RR"], cutoffs=[5, 10], tests=())
    >>> scale_tau_chart(study).to_dict()["layer"][0]["encoding"]["x"]["title"]
    'length of runs'
    """
    check_choice("kind", kind, TAU_KINDS)
    _check_single_collection(study)
    frame = study.correlation.select("cutoff", "measure", pl.col(kind).alias("tau"))
    frame = frame.sort("cutoff", maintain_order=True)
    low, high = _find_tau_domain(frame["tau"])
    finite_rows = frame.drop_nulls().filter(pl.col("tau").is_not_nan())
    line_ends = finite_rows.group_by("measure").last().sort("tau", "measure")
    sizes = [NAME_HEIGHT] * line_ends.height
    unit = (high - low) / HEIGHT
    heights = theme.space_out((line_ends["tau"] - low) / unit, sizes, low=0.0, high=float(HEIGHT))
    labels = line_ends.with_columns(pl.Series("position", heights * unit + low))
    channels = {
        name: mark.legend(None)
        for name, mark in theme.encode_colours("measure", study.measures).items()
    }
    min_cutoff, max_cutoff = min(study.cutoffs), max(study.cutoffs)
    length = (
        alt.X("cutoff:Q")
        .title("length of runs")
        .scale(domain=[min_cutoff - 0.5, max_cutoff + 0.5], nice=False)
    )
    scale = alt.Scale(domain=[low, high], nice=False)
    tau = alt.Y("tau:Q", scale=scale)
    lines = theme.start_chart(frame).mark_line(strokeWidth=2, point=True)
    lines = lines.encode(
        x=length.axis(values=sorted(study.cutoffs), format="d"),
        y=tau.title(TAU_KINDS[kind]),
        tooltip=theme.make_tips("measure:N", "cutoff:Q", "tau"),
        **channels,
    )
    # Leaders connect the names with the ends of the lines, which may coincide.
    line_labels = theme.start_chart(labels)
    leaders = line_labels.mark_rule(strokeWidth=1.5).encode(
        x=alt.value(WIDTH + 4), x2=alt.value(WIDTH + 34), y=tau, y2="position:Q", **channels
    )
    names = line_labels.mark_text(align="left", baseline="middle", fontSize=12).encode(
        x=alt.value(WIDTH + 38), y=alt.Y("position:Q", scale=scale), text="measure:N"
    )
    return theme.combine_layers(
        lines,
        leaders,
        names,
        width=WIDTH,
        height=HEIGHT,
        description=f"{TAU_KINDS[kind]} between each of {inflect(len(study.measures), 'measure')}"
        f" and its interval-scaled version, by length of runs, for {study.n_systems} systems.",
    )


def _find_tau_domain(values: pl.Series) -> tuple[float, float]:
    """Return the domain of an axis of correlations, with a minimum length."""
    finite_values = values.drop_nulls().drop_nans().to_list()
    low, high = (min(finite_values), max(finite_values)) if finite_values else (0.0, 1.0)
    low, high = min(low, high - 0.05), min(high, 1.0)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


@theme.declare_chart("scale-pairs", "ScaleStudy")
def scale_pairs_chart(study: ScaleStudy, *, cutoff: int | None = None) -> alt.LayerChart:
    """Draw Kendall's tau between pairs of measures, before and after interval scaling.

    Each pair of measures has a row, with the largest increase first.

    Parameters
    ----------
    study
        A result of :func:`cranfield.meta.study_scales`.
    cutoff
        Length of runs; by default the longest.

    Raises
    ------
    PolicyError
        For an unknown cutoff, or a study of one measure or of a mapping of collections.

    Notes
    -----
    Table 4 of Ferrante, Ferro and Fuhr (2021).

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import study_scales
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:5], covid.qrels).binarise()
    >>> study = study_scales(judged, ["P", "RR", "AP"], cutoffs=[5], tests=())
    >>> scale_pairs_chart(study).to_dict()["layer"][0]["encoding"]["y"]["title"]
    'two measures'
    """
    length = max(study.cutoffs) if cutoff is None else cutoff
    if length not in study.cutoffs:
        lengths = ", ".join(map(str, study.cutoffs))
        raise PolicyError(f"unknown cutoff {length!r}; expected one of: {lengths}")
    _check_single_collection(study)
    if study.pairs.is_empty():
        raise PolicyError("expected a study of at least two measures, got one")
    frame = (
        study.pairs.filter(cutoff=length)
        .with_columns(
            pl.format("{} and {}", "first", "second").alias("pair"),
            (pl.col("interval") - pl.col("original")).alias("change"),
        )
        .sort("change", descending=True, nulls_last=True, maintain_order=True)
    )
    pairs = frame["pair"].to_list()
    y = alt.Y("pair:N").title("two measures").scale(domain=pairs)
    y = y.axis(
        labelLimit=520, maxExtent=540, labelFontSize=11, ticks=False, grid=False, domain=False
    )
    tau = f"Kendall's tau of the means of systems, runs of length {length}"
    x = alt.X("original:Q").title(tau).scale(zero=False)
    bars = theme.start_chart(frame).mark_rule(color=theme.GREY, strokeWidth=2)
    points = frame.unpivot(
        list(VERSION_LABELS), index=["pair", "change"], variable_name="version", value_name="tau"
    ).with_columns(pl.col("version").replace_strict(VERSION_LABELS))
    shapes = zip(theme.COLOURS, ("circle", "diamond"), strict=False)
    channels = theme.encode_markers(
        "version", dict(zip(VERSION_LABELS.values(), shapes, strict=True)), title="version"
    )
    dots = theme.start_chart(points).mark_point(filled=True, size=60, opacity=1)
    tip = theme.make_tips("pair:N", "version:N", "tau")
    return theme.combine_layers(
        bars.encode(y=y, x=x, x2="interval:Q"),
        dots.encode(y=y, x="tau:Q", tooltip=tip, **channels),
        width=WIDTH,
        height=ROW_HEIGHT * len(pairs),
        description=f"Kendall's tau between pairs of measures on runs of length {length}, and"
        " between their interval-scaled versions.",
    )
