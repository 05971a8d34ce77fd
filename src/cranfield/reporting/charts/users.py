"""Charts of users: clicks, experiments, interleaving."""

from __future__ import annotations

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.errors import CranfieldError, check_integer, check_proportion
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.text import inflect, pluralise, sanitise
from cranfield.meta.interleaving_study import Sensitivity
from cranfield.online.click_models.evaluation import ModelEvaluation
from cranfield.online.experiments.report import STOPPED, ExperimentReport
from cranfield.online.log.query_log import QueryLog
from cranfield.reporting.charts import theme
from cranfield.reporting.charts.inputs import check_name, make_labels
from cranfield.reporting.page.html import make_label

NO_VARIANT = "(no variant)"  # label of pages without a variant
WIDTH = 480  # width of charts, in pixels


@theme.declare_chart("clicks", "QueryLog")
def clicks_by_rank_chart(
    log: QueryLog, *, depth: int = 10, confidence: float = 0.95
) -> alt.LayerChart:
    """Draw the proportion of shown results that are clicked, by rank and variant.

    Several clicks on a result count as one. The bands are Wilson's confidence intervals for
    independent pages; if users view several pages, the bands are too narrow.

    Parameters
    ----------
    log
        Pages with their results and clicks.
    depth
        Number of ranks.
    confidence
        Confidence level of each interval.

    Raises
    ------
    InputError, CranfieldError, PolicyError
        For a log without results or without results at these ranks, and invalid options.

    Examples
    --------
    >>> import cranfield as cf
    >>> chart = clicks_by_rank_chart(cf.online.simulated_log(), depth=2)
    >>> [rows] = chart.to_dict()["datasets"].values()
    >>> [(row["variant"], row["rank"], row["shown"], row["clicked"]) for row in rows][:1]
    [('(no variant)', 1, 708, 317)]
    """
    check_integer("depth", depth, 1, 1000)
    check_proportion("confidence", confidence)
    log.require("results", purpose="a chart of clicks by rank")
    results = log.results_with_clicks.filter(pl.col("rank") <= depth)
    variant = pl.lit("all pages")
    if "variant" in log.pages.columns:
        variant = pl.lit(log.pages["variant"].gather(results["page"]))
    frame = (
        results.select("rank", "clicks", variant=variant)
        .group_by("variant", "rank")
        .agg(shown=pl.len(), clicked=(pl.col("clicks") > 0).sum())
        .sort("variant", "rank")
    )
    if frame.is_empty():
        raise CranfieldError("expected at least one shown result, got no results")
    n_shown = frame["shown"].to_numpy().astype(np.float64)
    proportion = frame["clicked"].to_numpy() / n_shown
    low, high = compute_wilson_intervals(proportion, n_shown, float(ndtri((1 + confidence) / 2)))
    names = frame["variant"].unique(maintain_order=True).to_list()
    no_variant = NO_VARIANT if NO_VARIANT not in names else ""
    variants = make_labels([no_variant if name is None else name for name in names])
    frame = frame.with_columns(
        pl.col("variant").replace_strict(names, variants, return_dtype=pl.String),
        pl.Series("proportion", proportion),
        pl.Series("low", low),
        pl.Series("high", high),
    )
    scope, n_clicked = inflect(log.pages.height, "page"), int(frame["clicked"].sum())
    lines = theme.draw_bands(
        frame,
        _make_rank_axis(frame),
        alt.Y("proportion:Q").title("clicked results / shown results").scale(zero=True),
        theme.encode_colours("variant", variants),
        theme.make_tips("variant:N", "rank:Q", *frame.columns[2:], format=",.4~f"),
        width=WIDTH,
        height=280,
        title=theme.write_title(
            "Clicks by rank",
            f"{scope}; bands: {100 * confidence:g}% Wilson confidence intervals, as if pages were"
            " independent.",
        ),
        description=f"Proportion of clicked results by rank, {scope},"
        f" {inflect(n_clicked, 'clicked result')}, of {inflect(len(variants), 'variant')}.",
    )
    return theme.apply_theme(lines)


@theme.declare_chart("perplexity", "ModelEvaluation")
def perplexity_chart(
    evaluation: ModelEvaluation, *, is_conditional: bool = False
) -> alt.LayerChart:
    """Draw the perplexity of click models by rank: 1 is perfect, 2 is a coin toss.

    Parameters
    ----------
    evaluation
        Result of :func:`cranfield.online.evaluate_models`.
    is_conditional
        Whether probabilities are conditional on the clicks on previous results.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> models = cf.online.train_models(log, ["RCTR", "UBM"])
    >>> chart = perplexity_chart(cf.online.evaluate_models(models, log))
    >>> [rows] = chart.to_dict()["datasets"].values()
    >>> sorted({row["model"] for row in rows})
    ['RCTR', 'UBM']
    """
    kind = "conditional perplexity" if is_conditional else "perplexity"
    names = make_labels(evaluation.names)
    ranks = evaluation.ranks
    models = np.repeat(np.array(names, dtype=object), ranks.height // len(names)).tolist()
    frame = ranks.select(
        "rank", "pages", model=pl.lit(pl.Series(models, dtype=pl.String)), value=kind
    )
    scope = inflect(ranks["pages"][0], "page")
    is_infinite = pl.col("value").is_infinite()
    omitted_names = ", ".join(frame.filter(is_infinite)["model"].unique(maintain_order=True))
    note = f" Infinite values of {sanitise(omitted_names)} are omitted." if omitted_names else ""
    tip = theme.make_tips("model:N", "rank:Q", "pages", "value", format=",.4~f")
    line = theme.start_chart(frame).mark_line(point=True)
    channels = theme.encode_colours("model", names)
    y = alt.Y("value:Q").title(kind).scale(zero=False)
    return theme.combine_layers(
        line.encode(x=_make_rank_axis(frame), y=y, tooltip=tip, **channels),
        width=WIDTH,
        height=280,
        title=theme.write_title(
            f"{kind.capitalize()} by rank", f"{scope}; lower is better, 1 is perfect.{note}"
        ),
        description=f"{kind.capitalize()} by rank, for {inflect(len(names), 'click model')} on"
        f" {scope}: {sanitise(', '.join(evaluation.names))}.",
    )


def _make_rank_axis(frame: pl.DataFrame) -> alt.X:
    """Return the channel of ranks, with a tick at each rank if there are fewer than 20."""
    max_rank = int(frame["rank"].max())  # type: ignore[arg-type]
    ticks = list(range(1, max_rank + 1, 1 + max_rank // 20))
    rank = alt.X("rank:Q").scale(nice=False, padding=12)
    return rank.axis(tickMinStep=1, grid=False, values=ticks)


MARKERS = {
    "better": (theme.COLOURS[2], "triangle-right"),
    "not worse": (theme.COLOURS[5], "diamond"),
    "undecided": (theme.COLOURS[0], "circle"),
    "worse": (theme.COLOURS[1], "triangle-left"),
    "no verdict": (theme.GREY, "cross"),
}


@theme.declare_chart("experiment", "ExperimentReport")
def experiment_chart(report: ExperimentReport) -> alt.LayerChart:
    """Draw the lift of each metric and variant over the control, with its confidence interval.

    If the report withholds verdicts because of a sample ratio mismatch, the chart shows lifts
    without intervals, in grey.

    Parameters
    ----------
    report
        Result of :func:`cranfield.online.analyse_experiment`.

    Raises
    ------
    CranfieldError
        If no metric has a lift, as all means of the control are 0.
    """
    effects = report.to_polars()
    has_several = len(report.variants) > 2
    metric = pl.format("{}: {}", "metric", "variant") if has_several else pl.col("metric")
    names = make_labels(effects.select(metric).to_series().to_list())
    frame = effects.select(
        pl.Series("metric", names),
        "lift",
        "difference",
        "verdict",
        low="lift low",
        high="lift high",
        p="adjusted p",
    )
    frame = frame.with_columns(pl.selectors.float().replace([np.inf, -np.inf, np.nan], None))
    if not frame["lift"].is_not_null().any():
        raise CranfieldError("no metric has a lift, as the means of the control are 0")
    ratio = sanitise("; ".join(report.sample_ratio.heading()))
    note = STOPPED if report.is_stopped else f"{100 - 100 * report.alpha:g}% confidence intervals"
    if not report.is_stopped and report.correction != "none":
        note = f"{report.interval_scope} {note}".lstrip()
        note += f"; colours: decisions after the correction {report.correction}"
    return theme.draw_interval_rows(
        frame,
        "metric",
        "lift",
        "verdict",
        MARKERS,
        f"lift over {make_label(report.control)}",
        [
            *theme.make_tips("metric:N", "lift", "low", "high", format="+.2%"),
            *theme.make_tips("difference", format="+.4g"),
            *theme.make_tips("p", "verdict:N", format=".3g"),
        ],
        rules={"": 2},
        size=70,
        legend={"title": None},
        format="+~%",
        width=WIDTH,
        title=theme.write_title(
            "SAMPLE RATIO MISMATCH" if report.is_stopped else f"Lifts by {sanitise(report.unit)}",
            ratio,
            f"{note}.",
        ),
        description=f"Lifts of {inflect(len(report.metrics), 'metric')} over the control:"
        f" {theme.format_counts(frame['verdict'], MARKERS)}. {ratio}.",
    )


@theme.declare_chart("looks", "ExperimentReport")
def sequence_chart(report: ExperimentReport, metric: str | None = None) -> alt.LayerChart:
    """Draw the difference from the control at each interim look, with confidence sequences.

    Parameters
    ----------
    report
        Result of :func:`cranfield.online.analyse_experiment` with a sequential method.
    metric
        Name of a metric; by default the first metric.

    Raises
    ------
    CranfieldError
        For a report without looks.
    PolicyError
        For an unknown metric.
    """
    if report.looks is None or report.looks.is_empty():
        raise CranfieldError(
            "expected a report with a table of looks, got none: the analysis must be sequential,"
            " and not be stopped because of a sample ratio mismatch"
        )
    metrics = report.looks["metric"].unique(maintain_order=True).to_list()
    metric = check_name("metric", metric, metrics)
    frame = report.looks.filter(pl.col("metric") == metric)
    variants = frame["variant"].unique(maintain_order=True).to_list()
    names = dict(zip(variants, make_labels(variants), strict=True))
    frame = frame.select(
        pl.col("variant").replace(names), "units", "difference", "low", "high", "p"
    )
    units = alt.X("units:Q", title=pluralise(sanitise(report.unit)))
    tip = theme.make_tips("variant:N", "units", format=",")
    tip += theme.make_tips("difference", "low", "high", "p", format=".4g")
    channels = theme.encode_colours("variant", list(names.values()))
    difference = alt.Y("difference:Q", title=f"difference in {sanitise(metric)}")
    scope = inflect(frame["units"].n_unique(), "look")
    valid_intervals = f"{report.sequential}: confidence intervals valid at all looks"
    note = STOPPED if report.is_stopped else valid_intervals
    return theme.combine_layers(
        theme.draw_zero("y"),
        theme.draw_bands(frame, units, difference, channels, tip),
        width=WIDTH,
        height=260,
        title=theme.write_title(
            f"Difference in {sanitise(metric)} over time", f"{sanitise(note)}."
        ),
        description=(
            f"Difference in {sanitise(metric)} from the control at {scope}, with confidence"
            " intervals."
        ),
    )


@theme.declare_chart("sensitivity", "Sensitivity")
def sensitivity_chart(study: Sensitivity) -> alt.ConcatChart:
    """Draw the impressions needed to distinguish two systems against their offline difference.

    There is a panel for each user model, and a point for each pair of systems and method. The axis
    of impressions is logarithmic. Pairs for which no number of impressions suffices are not drawn.

    Parameters
    ----------
    study
        Result of :func:`cranfield.meta.interleaving_sensitivity`.

    Raises
    ------
    CranfieldError
        If no number of impressions suffices for any pair.

    Examples
    --------
    >>> from cranfield.meta import interleaving_sensitivity
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> study = interleaving_sensitivity(
    ...     runs, {"q": {"x": 1}}, "RR", methods="TeamDraft", users="perfect", impressions=50
    ... )
    >>> len(sensitivity_chart(study).to_dict()["concat"])
    1
    """
    rows = study.pairs.filter(pl.col("needed").is_not_null())
    if rows.is_empty():
        raise CranfieldError(
            "no pair of systems becomes significantly different with any number of impressions"
        )
    colour = theme.encode_colours("method", study.methods)["color"].legend(title="method")
    impressions = alt.Y("needed:Q").title("impressions needed").scale(type="log")
    panels = []
    for user, title in zip(study.users, make_labels(study.users), strict=True):
        frame = rows.filter(user=user).select(
            "method", "first", "second", "needed", difference=pl.col("difference").abs()
        )
        points = theme.start_chart(frame).mark_point(filled=True, size=45, opacity=0.7)
        points = points.encode(
            x=alt.X("difference:Q", title=f"difference of {study.measure}"),
            y=impressions.axis(format="~s", tickCount=5),
            color=colour,
            tooltip=["method:N", "first:N", "second:N", "difference:Q", "needed:Q"],
        )
        panels.append(points.properties(title=title, width=260, height=260))
    return theme.apply_theme(alt.concat(*panels, columns=3))
