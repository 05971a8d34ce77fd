"""The overview of a task: all runs by all measures."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import best
from cranfield.base.errors import (
    MissingDependencyError,
    PolicyError,
    check_choice,
    check_several,
    warn,
)
from cranfield.base.text import counted
from cranfield.campaign.opened import OpenedCampaign, PathName
from cranfield.campaign.pages import filled_page
from cranfield.campaign.results.leaderboard import Leaderboard, leaderboard
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheet_files import as_bytes, write_files
from cranfield.campaign.results.sheet_making import in_order, own_measures, scored_runs
from cranfield.campaign.results.stored_inputs import version_of
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import rendered
from cranfield.reporting.page.html import label
from cranfield.reporting.page.report_page import report
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import Cell, Table, number

CHARTS = {
    "scores": ("Scores over topics", "Scores of each run over topics"),
    "intervals": ("Intervals", "Means with confidence intervals for the comparison with the first"),
    "separation": ("Significant differences", "Significantly better and worse runs, by pairs"),
    "topics": ("Runs by topics", "Scores of all runs on all topics, the easiest topic first"),
}
"""Heading and description of each chart, by its name."""


@dataclass(frozen=True, eq=False)
class Overview:
    """Contents of the overview of a task."""

    title: str  # of the campaign and its task
    judgments: str  # version
    leaderboard: Leaderboard
    evaluation: Evaluation  # by the measures of the leaderboard
    topics: pl.DataFrame  # by the first measure: topic, best, median, worst, n, mean of all runs


def leaderboard_table(found: Overview) -> Table:
    """Return the leaderboard as a table: the best of each measure is bold."""
    ranked = found.leaderboard
    bold = _bold(found)
    head = ["", "run", "team", "type", *ranked.measures, "groups", "unjudged@10"]
    rows = []
    for k, row in enumerate(ranked.rows.rows(named=True)):
        scores = [Cell(number(row[name]), bold=bool(bold[name][k])) for name in ranked.measures]
        rows.append(
            [
                str(row["rank"]),
                row["tag"] + (" (late)" if row["late"] else ""),
                row["team"],
                row["type"] or "",
                *scores,
                shorten_letters(row["groups"] or ""),
                f"{row['unjudged@10']:.1%}",
            ]
        )
    title = f"{found.title}, {counted(len(rows), 'run')}"
    return Table(title, head, rows, (1, 2, 3, 4 + len(ranked.measures)), remarks=ranked.remarks)


def _bold(found: Overview) -> Mapping[str, Sequence[bool]]:
    made = {}
    for name in found.leaderboard.measures:
        values = found.leaderboard.rows[name].to_numpy().astype(np.float64)
        made[name] = best(values, found.evaluation[name].lower_is_better).tolist()
    return made


def overview_page(found: Overview, drawn: Mapping[str, bytes], forms: Sequence[str]) -> str:
    """Write the page; `drawn` are charts as SVG by name, `forms` the formats of their files."""
    first = found.leaderboard.measures[0]
    easiest_last = found.evaluation[first].lower_is_better
    topics = found.topics.select("topic", "mean", "best", "median", "worst")
    charts = {
        name: {"heading": heading, "text": text, "svg": base64.b64encode(drawn[name]).decode()}
        for name, (heading, text) in CHARTS.items()
        if name in drawn
    }
    headings = {
        "leaderboard": "Leaderboard",
        "topics": "Topics",
        **{f"chart-{name}": chart["heading"] for name, chart in charts.items()},
        "files": "Files",
    }
    counts = (
        f"{counted(found.leaderboard.rows.height, 'run')}, {counted(found.topics.height, 'topic')},"
        f" judgments {label(found.judgments)}"
    )
    return filled_page(
        "overview.html",
        label(found.title),
        counts=counts,
        headings=headings,
        skip="Skip to the leaderboard",
        leaderboard=found.leaderboard,
        best=_bold(found),
        measure=first,
        rows=topics.sort("median", descending=not easiest_last).rows(),
        charts=charts,
        forms=forms,
    )


FORMS = ("html", "svg", "pdf", "png")
"""Formats of charts."""


def overview_of(
    evaluation: Evaluation,
    runs: Sequence[Submission],
    task: TaskRules,
    *,
    title: str = "",
    judgments: str = "",
    median: str = "better",
) -> Overview:
    """Compute the contents of an overview, by the measures of the evaluation."""
    tags = sorted(run.tag for run in runs)
    first = evaluation.measures[0]
    scores = evaluation[str(first)].select(in_order(evaluation.topics), tags)
    topics = topic_statistics(scores, median=median).of().drop("group")
    return Overview(
        title or task.title or task.name,
        judgments,
        leaderboard(evaluation, runs),
        evaluation,
        topics.with_columns(pl.Series("mean", scores.mean_along(1))),
    )


def write_overview(
    opened: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    forms: Sequence[str] = ("svg",),
) -> tuple[Path, ...]:
    """Write the overview of a task's accepted runs.

    Parameters
    ----------
    opened, task, judgments
        As for :func:`~cranfield.campaign.results.scoring.scored`.
    folder
        Folder to write to; it is created if missing.
    forms
        Chart formats: any of `html`, `svg`, `pdf` and `png`.

    Returns
    -------
    tuple of Path
        `index.html`; the leaderboard as CSV, Parquet and LaTeX; `topics.csv`; `charts/`; and
        `report.html`, which :func:`cranfield.report` makes. Without the extra `charts`, no charts
        are written, with a warning.

    Raises
    ------
    PolicyError
        For an unknown format.
    """
    check_several("forms", forms)
    for form in forms:
        check_choice("forms", form, FORMS)
    target = opened.outside(folder)
    rules = opened.rules.task(task)
    version = version_of(opened, rules.name, judgments).version
    evaluation = scored(opened, rules.name, measures=own_measures(rules), judgments=version)
    title = f"{opened.rules.title or opened.rules.id}: {rules.title or rules.name}"
    runs = scored_runs(opened, rules.name, evaluation)
    found = overview_of(
        evaluation, runs, rules, title=title, judgments=version, median=rules.median
    )
    rows, parquet = found.leaderboard.rows, BytesIO()
    rows.write_parquet(parquet)
    files = {
        "leaderboard.csv": rows.write_csv().encode(),
        "leaderboard.parquet": parquet.getvalue(),
        "leaderboard.tex": as_bytes(leaderboard_table(found).to_latex(caption=True, long=True)),
        "topics.csv": found.topics.write_csv().encode(),
    }
    drawn: dict[str, bytes] = {}
    try:
        for name, chart in charts_of(found):
            drawn[name] = rendered(chart, "svg")
            for form in forms:
                content = drawn[name] if form == "svg" else rendered(chart, form)
                files[f"charts/{name}.{form}"] = content
    except MissingDependencyError as error:
        warn(f"the overview has no charts: {error}")
    page = as_bytes(overview_page(found, drawn, forms))
    index, *others = write_files(target, {"index.html": page, **files})
    return index, *others, report(evaluation, target / "report.html", title=found.title)


def charts_of(found: Overview) -> Iterator[tuple[str, Any]]:
    """Yield name and chart of all that can be drawn of the first measure."""
    scores = found.evaluation[found.leaderboard.measures[0]]
    yield "scores", charts.box_plot(scores)
    yield "topics", charts.difficulty_map(scores)
    if found.leaderboard.separation is not None:
        gaps = np.isnan(scores.values).any()
        comparison = compare(scores, missing="zero" if gaps else None)
        yield "separation", charts.significance_matrix(comparison)
        with suppress(PolicyError):
            # Some comparisons have no intervals around means.
            yield "intervals", charts.intervals_chart(comparison)
