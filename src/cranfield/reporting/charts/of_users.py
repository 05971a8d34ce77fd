"""Charts of users: clicks, experiments, interleaving."""

from __future__ import annotations

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.errors import CranfieldError, check_choice, check_share, check_whole
from cranfield.base.shares import wilson
from cranfield.base.text import counted, plain
from cranfield.meta.of_users import Sensitivity
from cranfield.online.click_models.evaluation import ModelEvaluation
from cranfield.online.experiments.report import STOPPED, ExperimentReport
from cranfield.online.log.query_log import QueryLog
from cranfield.reporting.charts.theme import (
    COLOURS,
    by_colour,
    by_look,
    chart_of,
    headed,
    labels,
    overlaid,
    row_size,
    rows_of,
    score_axis,
    themed,
    tips,
    value_axis,
    zero_line,
)

NO_VARIANT = "(no variant)"
"""How pages are called that no variant had."""

SIZE = {"width": 480, "height": 280}


def clicks_by_rank_chart(
    log: QueryLog, *, depth: int = 10, confidence: float = 0.95
) -> alt.LayerChart:
    """Draw the share of shown results that are clicked, by rank, and by variant if there is one.

    Several clicks on a result are one. The bands are Wilson's limits of a share of independent
    pages; where users come again, they are somewhat too narrow.

    Parameters
    ----------
    log
        Pages with their results and clicks.
    depth
        Ranks.
    confidence
        Of the limits, each by itself.

    Raises
    ------
    InputError
        For a log that does not tell what was shown.

    Examples
    --------
    >>> import cranfield as cf
    >>> chart = clicks_by_rank_chart(cf.online.simulated_log(), depth=2)
    >>> [rows] = chart.to_dict()["datasets"].values()
    >>> [(row["variant"], row["rank"], row["shown"], row["clicked"]) for row in rows][:1]
    [('(no variant)', 1, 708, 317)]
    """
    check_whole("depth", depth, 1, 1000)
    check_share("confidence", confidence)
    log.require("results", purpose="a chart of clicks by rank")
    shown = log.shown.filter(pl.col("rank") <= depth)
    if "variant" in log.pages.columns:
        variant = log.pages["variant"].gather(shown["page"])
    else:
        variant = pl.Series(["all pages"]).new_from_index(0, shown.height)
    frame = (
        shown.select("rank", "clicks", variant=variant)
        .group_by("variant", "rank")
        .agg(shown=pl.len(), clicked=(pl.col("clicks") > 0).sum())
        .sort("variant", "rank")
    )
    if frame.is_empty():
        raise CranfieldError("no results were shown")
    size = frame["shown"].to_numpy().astype(np.float64)
    share = frame["clicked"].to_numpy() / size
    low, high = wilson(share, size, float(ndtri((1 + confidence) / 2)))
    names = frame["variant"].unique(maintain_order=True).to_list()
    without = NO_VARIANT if NO_VARIANT not in names else ""
    called = labels([without if name is None else name for name in names])
    frame = frame.with_columns(
        variant=pl.col("variant").replace_strict(names, called, return_dtype=pl.String),
        share=pl.Series(share),
        low=pl.Series(low),
        high=pl.Series(high),
    )
    pages, clicked = counted(log.pages.height, "page"), int(frame["clicked"].sum())
    return _by_rank(
        frame,
        "share",
        "clicked results / shown results",
        "variant",
        called,
        (
            "Clicks by rank",
            f"{pages}; bands: {100 * confidence:g}% Wilson limits, as if pages were independent.",
        ),
        f"Share of clicked results by rank, {pages}, {counted(clicked, 'clicked result')}, of"
        f" {counted(len(called), 'variant')}.",
        limits=True,
    )


def perplexity_chart(evaluation: ModelEvaluation, *, conditional: bool = False) -> alt.LayerChart:
    """Draw the perplexity of click models by rank: 1 is perfect, 2 is a coin.

    Parameters
    ----------
    evaluation
        What :func:`cranfield.online.evaluate_models` found.
    conditional
        Whether chances are those given the clicks above.

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
    kind = "conditional perplexity" if conditional else "perplexity"
    names = labels(evaluation.names)
    ranks = evaluation.pages.size
    frame = evaluation.by_rank().with_columns(
        model=pl.Series(np.repeat(np.array(names, dtype=object), ranks).tolist(), dtype=pl.String),
        value=pl.col(kind),
    )
    pages = counted(int(evaluation.pages[0]), "page")
    infinite = frame.filter(pl.col("value").is_infinite())["model"].unique(maintain_order=True)
    note = f" Not drawn where infinite: {plain(', '.join(infinite))}." if len(infinite) else ""
    return _by_rank(
        frame.select("model", "rank", "pages", "value"),
        "value",
        kind,
        "model",
        names,
        (f"{kind.capitalize()} by rank", f"{pages}; lower is better, 1 is perfect.{note}"),
        f"{kind.capitalize()} by rank of {counted(len(names), 'click model')} on {pages}:"
        f" {plain(', '.join(evaluation.names))}.",
    )


def _by_rank(
    frame: pl.DataFrame,
    value: str,
    title: str,
    group: str,
    names: list[str],
    heading: tuple[str, str],
    description: str,
    *,
    limits: bool = False,
) -> alt.LayerChart:
    """Draw a line a group over ranks."""
    marks = by_colour(group, names)
    deepest = int(frame["rank"].max())  # type: ignore[arg-type]
    axis = alt.Axis(
        tickMinStep=1, grid=False, values=[*range(1, deepest + 1)][:: 1 + deepest // 20]
    )
    told = [name for name in frame.columns if name not in {group, "rank"}]
    base = chart_of(frame).encode(
        x=alt.X("rank:Q", axis=axis, scale=alt.Scale(nice=False, padding=12)),
        tooltip=[
            f"{group}:N",
            "rank:Q",
            *tips(*told, form=",.4~f"),
        ],
    )
    y = alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=limits))
    line = base.mark_line(point=True).encode(y=y, **marks)
    layers = [line]
    if limits:
        band = base.mark_area(opacity=0.15, aria=False)
        layers.insert(
            0, band.encode(y=alt.Y("low:Q", title=title), y2="high:Q", color=marks["color"])
        )
    return overlaid(*layers, **SIZE, title=headed(*heading), description=description)


WIDTH = 480

LOOKS = {
    "better": (COLOURS[2], "triangle-right"),
    "not worse": (COLOURS[5], "diamond"),
    "undecided": (COLOURS[0], "circle"),
    "worse": (COLOURS[1], "triangle-left"),
    "no verdict": (COLOURS[7], "cross"),
}
"""Colour and shape of a metric by what was found of it."""


def experiment_chart(report: ExperimentReport) -> alt.LayerChart:
    """Draw the lift of each metric and variant over the control, with its limits.

    While units are not spread over variants as they should be there is no verdict, and the chart
    says so: it shows lifts without limits, in grey.

    Parameters
    ----------
    report
        What :func:`cranfield.online.analyse_experiment` found.

    Raises
    ------
    CranfieldError
        When no metric has a lift, as all means of the control are 0.
    """
    names = labels(
        [
            metric if len(report.variants) == 2 else f"{metric}: {variant}"
            for metric in report.metrics
            for variant in report.variants[1:]
        ]
    )
    verdicts = [one for row in report.verdicts for one in row]
    frame = pl.DataFrame(
        {
            "metric": names,
            "lift": report.lift.ravel(),
            "low": report.lift_low.ravel(),
            "high": report.lift_high.ravel(),
            "difference": report.difference.ravel(),
            "p": report.adjusted_pvalues.ravel(),
            "verdict": verdicts,
        }
    )
    frame = frame.with_columns(pl.selectors.float().replace([np.inf, -np.inf, np.nan], None))
    if not frame["lift"].is_not_null().any():
        raise CranfieldError("no metric has a lift: the means of the control are 0")
    looks = {kind: look for kind, look in LOOKS.items() if kind in verdicts}
    marks = by_look("verdict", looks, alt.Legend(title=None, orient="top"))
    step, _ = row_size(len(names))
    title = f"lift over {plain(report.control) or '(no name)'}"

    def x(field: str) -> alt.X:
        axis = value_axis(len(names), format="+~%")
        return score_axis(field, title, len(names)).axis(axis)

    base = chart_of(frame).encode(
        y=rows_of(names, "metric", "metric"),
        color=marks["color"],
        tooltip=[
            "metric:N",
            *tips("lift", "low", "high", form="+.2%"),
            *tips("difference", form="+.4g"),
            *tips("p", form=".3g"),
            "verdict:N",
        ],
    )
    lines = base.mark_rule(strokeWidth=2, aria=False).encode(x=x("low"), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x("lift"), shape=marks["shape"]
    )
    told = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in looks)
    ratio = str(report.sample_ratio)
    said = STOPPED if report.stopped else f"{100 - 100 * report.alpha:g}% limits"
    if not report.stopped and report.correction != "none":
        said += f"; colours after the correction {report.correction}"
    return overlaid(
        zero_line(),
        lines,
        points,
        width=WIDTH,
        height=alt.Step(step),
        title=headed(
            "SAMPLE RATIO MISMATCH" if report.stopped else f"Lifts by {plain(report.unit)}",
            plain(ratio),
            f"{said}.",
        ),
        description=f"Lifts of {counted(len(report.metrics), 'metric')} over the control:"
        f" {told}. {plain(ratio)}.",
    )


def sequence_chart(report: ExperimentReport, metric: str | None = None) -> alt.LayerChart:
    """Draw the difference from the control at each look, with limits that hold at all of them.

    Parameters
    ----------
    report
        What :func:`cranfield.online.analyse_experiment` found with a sequential method.
    metric
        One of its metrics; by default the first.

    Raises
    ------
    CranfieldError
        For a report without looks.
    PolicyError
        For a metric that it does not have.
    """
    if report.looks is None or report.looks.is_empty():
        raise CranfieldError("the experiment was looked at once: sequential limits have a chart")
    known = report.looks["metric"].unique(maintain_order=True).to_list()
    metric = known[0] if metric is None else metric
    check_choice("metric", metric, known)
    frame = report.looks.filter(pl.col("metric") == metric)
    variants = frame["variant"].unique(maintain_order=True).to_list()
    called = dict(zip(variants, labels(variants), strict=True))
    frame = frame.select(
        pl.col("variant").replace(called), "units", "difference", "low", "high", "p"
    )
    marks = by_colour("variant", list(called.values()))
    title = f"difference in {plain(metric)}"
    base = chart_of(frame).encode(
        x=alt.X("units:Q", title=f"{plain(report.unit)}s"),
        tooltip=[
            "variant:N",
            *tips("units", form=","),
            *tips("difference", "low", "high", "p", form=".4g"),
        ],
    )
    zero = chart_of({"zero": [0.0]}).mark_rule(color="#999999", aria=False)
    band = base.mark_area(opacity=0.15, aria=False).encode(
        y=alt.Y("low:Q", title=title), y2="high:Q", color=marks["color"]
    )
    line = base.mark_line(point=True).encode(y=alt.Y("difference:Q", title=title), **marks)
    looks = counted(frame["units"].n_unique(), "look")
    said = STOPPED if report.stopped else f"{report.sequential}: limits hold at all looks together"
    return overlaid(
        zero.encode(y="zero:Q"),
        band,
        line,
        width=WIDTH,
        height=260,
        title=headed(f"Difference in {plain(metric)} over time", f"{plain(said)}."),
        description=f"Difference in {plain(metric)} from the control at {looks}, with limits.",
    )


SENSITIVITY_WIDTH, HEIGHT = 260, 260


def sensitivity_chart(found: Sensitivity) -> alt.ConcatChart:
    """Draw the impressions that each pair of systems needs, against its offline difference.

    A panel a user, a point a pair of systems and method; the axis of impressions is logarithmic.
    Pairs that would take infinitely many are not drawn.

    Parameters
    ----------
    found
        What :func:`cranfield.meta.interleaving_sensitivity` found.

    Raises
    ------
    CranfieldError
        If no pair can be told apart by any number of impressions.

    Examples
    --------
    >>> from cranfield.meta import interleaving_sensitivity
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> made = interleaving_sensitivity(
    ...     runs, {"q": {"x": 1}}, "RR", methods="TeamDraft", users="perfect", impressions=50
    ... )
    >>> len(sensitivity_chart(made).to_dict()["concat"])
    1
    """
    rows = found.pairs.filter(pl.col("needed").is_not_null())
    if rows.is_empty():
        raise CranfieldError("no pair of systems can be told apart by any number of impressions")
    marks = by_colour("method", found.methods)
    panels = []
    for user, called in zip(found.users, labels(found.users), strict=True):
        frame = rows.filter(pl.col("user") == user).select(
            "method", "first", "second", "needed", difference=pl.col("difference").abs()
        )
        panels.append(
            chart_of(frame)
            .mark_point(filled=True, size=45, opacity=0.7)
            .encode(
                x=alt.X("difference:Q", title=f"difference of {found.measure}"),
                y=alt.Y(
                    "needed:Q",
                    title="impressions needed",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(format="~s", tickCount=5),
                ),
                color=marks["color"],
                tooltip=["method:N", "first:N", "second:N", "difference:Q", "needed:Q"],
            )
            .properties(title=called, width=SENSITIVITY_WIDTH, height=HEIGHT)
        )
    return themed(alt.concat(*panels, columns=3))
