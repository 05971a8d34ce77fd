"""Page of an experiment report: sample ratio, metrics, looks and segments."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.text import inflect, pluralise
from cranfield.online.experiments.report import (
    ALARM_PVALUE,
    STOPPED,
    ExperimentReport,
    describe_loss,
)
from cranfield.reporting.page.html import Html, load_own_templates, make_label, render_sections
from cranfield.reporting.page.intervals import draw_lifts
from cranfield.reporting.page.sections import VERSIONS, Inputs
from cranfield.reporting.page.svg_charts import draw_looks
from cranfield.reporting.summary import join_names
from cranfield.significance.registry import CORRECTIONS
from cranfield.tabular import Table, format_interval, format_number, tabulate_frame


def render_experiment(
    report: ExperimentReport,
    title: str,
    *,
    inputs: Inputs = (),
    command: str | None = None,
    date: str | None = None,
) -> str:
    """Return the HTML of the page, which loads no resources and has no script."""
    # The column of ids is named after the unit, such as `user_id`.
    unit = re.sub(r"([ _-]id|Id|ID)$", "", report.unit) or report.unit
    sizes = {
        unit: int(report.units.sum()),
        "variant": len(report.variants),
        "metric": len(report.metrics),
    }
    counts = ", ".join(inflect(count, noun) for noun, count in sizes.items())
    looks = [] if report.looks is None else _draw_look_charts(report, report.looks, pluralise(unit))
    segments = _make_segment_tables(report)
    headings = {
        "answer": "Answer",
        "ratio": "Sample ratio",
        "metrics": "Metrics",
        **({"looks": "Over time"} if looks else {}),
        **({"segments": "Segments"} if segments else {}),
        **({"notes": "Notes"} if report.notes else {}),
        "settings": "Settings",
    }
    return render_sections(
        load_own_templates().get_template("experiment.html"),
        title,
        styles=("page.css", "figures.css", "experiment.css"),
        headings=headings,
        counts=f"{counts}; {make_label(report.source)}",
        report=report,
        units=pluralise(unit),
        stopped=STOPPED,
        alarm=ALARM_PVALUE,
        ratio=report.sample_ratio.heading()[0],
        figure=draw_lifts(report),
        answers=[_write_answer(report, j) for j in range(len(report.variants) - 1)],
        number=format_number,
        interval=format_interval,
        correction=CORRECTIONS[report.correction].title,
        looks=looks,
        segments=segments,
        versions=VERSIONS,
        inputs=inputs,
        has_permutations=any("permutation" in test for tests in report.tests for test in tests),
        command=command,
        date=date,
    )


def _write_answer(report: ExperimentReport, variant_index: int) -> str:
    """Write a sentence on the effects of a variant."""
    name, control = make_label(report.variants[variant_index + 1]), make_label(report.control)
    metrics: dict[str, list[str]] = {}
    for k, metric in enumerate(report.metrics):
        verdict, lift = report.verdicts[k][variant_index], report.lift[k, variant_index]
        remarks = [describe_loss(report, k, variant_index, report.margins[k])]
        if np.isfinite(lift) and verdict in {"better", "worse"}:
            remarks.insert(0, f"{lift:+.1%}")
        elif verdict == "not worse":
            remarks = [str(report.margins[k])]
        remark = ", ".join(filter(None, remarks))
        metrics.setdefault(verdict, []).append(make_label(metric) + f" ({remark})" * bool(remark))
    phrases = {
        "better": "better on",
        "worse": "worse on",
        "not worse": "not worse, within the margin, on",
    }
    parts = [
        f"{phrase} {join_names(metrics[verdict], None)}"
        for verdict, phrase in phrases.items()
        if verdict in metrics
    ]
    undecided_metrics = join_names(metrics.get("undecided", []), None)
    if not parts:
        return f"No significant difference between {name} and {control} on {undecided_metrics}."
    remark = f"; no significant difference on {undecided_metrics}" if undecided_metrics else ""
    return f"{name} is {' and '.join(parts)} than {control}{remark}."


def _draw_look_charts(
    report: ExperimentReport, looks: pl.DataFrame, units: str
) -> list[tuple[str, Html, Any]]:
    """Return title, chart and rows of the interim looks for each metric and variant."""
    charts = []
    for (metric, variant), frame in looks.group_by("metric", "variant", maintain_order=True):
        difference = f"{make_label(str(variant))} minus {make_label(report.control)}"
        title = f"{make_label(str(metric))}, {difference}"
        rows = frame.select("units", "difference", "low", "high", "p").rows()
        charts.append((title, draw_looks(frame, title, units), rows))
    return charts


def _make_segment_tables(report: ExperimentReport) -> list[tuple[Table, list[int]]]:
    """Return tables of segments, each with the indices of its columns of text."""
    frames = {
        "Tests of equal effects at all levels of a segment": report.interactions,
        "Effects at each level of a segment": report.segments,
    }
    tables = []
    for title, frame in frames.items():
        if frame is None or not frame.height:
            continue
        names = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        left_columns = [name for name, dtype in frame.schema.items() if not dtype.is_numeric()]
        # Lifts are percentages, as in the table of metrics.
        lifts = {name: frame[name].to_list() for name in frame.columns if name.startswith("lift")}
        percentages = frame.with_columns(
            pl.Series(name, ["" if x is None or not np.isfinite(x) else f"{x:+.2%}" for x in lift])
            for name, lift in lifts.items()
        )
        table = tabulate_frame(percentages, title, left=left_columns)
        tables.append((table, [frame.columns.index(name) for name in names]))
    return tables
