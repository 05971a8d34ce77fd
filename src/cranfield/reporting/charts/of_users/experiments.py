"""What an experiment found, and how sure it was over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.online.experiments.report import STOPPED, ExperimentReport
from cranfield.reporting.charts.choosing import labels
from cranfield.reporting.charts.layout import (
    headed,
    overlaid,
    row_size,
    rows_of,
    score_axis,
    value_axis,
)
from cranfield.reporting.charts.theme import COLOURS, by_colour, coded, data_of

if TYPE_CHECKING:
    import altair as alt

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
    import altair as alt

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
    kinds = [kind for kind in LOOKS if kind in verdicts]
    colours, shapes = zip(*(LOOKS[kind] for kind in kinds), strict=True)
    step, _ = row_size(len(names))
    title = f"lift over {plain(report.control) or '(no name)'}"
    legend = alt.Legend(title=None, orient="top")

    def x(field: str) -> alt.X:
        axis = value_axis(len(names), format="+~%")
        return score_axis(field, title, len(names)).axis(axis)

    zero = alt.Chart(data_of(pl.DataFrame({"zero": [0.0]}))).mark_rule(color="#999999", aria=False)
    base = alt.Chart(data_of(frame)).encode(
        y=rows_of(names, "metric", "metric"),
        color=coded(alt.Color, "verdict", kinds, colours, legend=legend),
        tooltip=[
            "metric:N",
            *(alt.Tooltip(f"{name}:Q", format="+.2%") for name in ("lift", "low", "high")),
            alt.Tooltip("difference:Q", format="+.4g"),
            alt.Tooltip("p:Q", format=".3g"),
            "verdict:N",
        ],
    )
    lines = base.mark_rule(strokeWidth=2, aria=False).encode(x=x("low"), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x("lift"), shape=coded(alt.Shape, "verdict", kinds, shapes, legend=legend)
    )
    counts = {kind: verdicts.count(kind) for kind in kinds}
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    ratio = str(report.sample_ratio)
    said = STOPPED if report.stopped else f"{100 - 100 * report.alpha:g}% limits"
    if not report.stopped and report.correction != "none":
        said += f"; colours after the correction {report.correction}"
    return overlaid(
        zero.encode(x="zero:Q"),
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
    import altair as alt

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
    base = alt.Chart(data_of(frame)).encode(
        x=alt.X("units:Q", title=f"{plain(report.unit)}s"),
        tooltip=[
            "variant:N",
            alt.Tooltip("units:Q", format=","),
            *(
                alt.Tooltip(f"{name}:Q", format=".4g")
                for name in ("difference", "low", "high", "p")
            ),
        ],
    )
    zero = alt.Chart(data_of(pl.DataFrame({"zero": [0.0]}))).mark_rule(color="#999999", aria=False)
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
