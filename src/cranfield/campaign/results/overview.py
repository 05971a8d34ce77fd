"""Overview of a task: leaderboard, topics and charts of all runs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import is_best_value
from cranfield.base.errors import (
    MissingDependencyError,
    PolicyError,
    check_choice,
    check_list,
    warn,
)
from cranfield.base.text import inflect
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.pages import encode_text, render_page, replace_folder, write_files
from cranfield.campaign.results.leaderboard import Leaderboard, compare_pairs, leaderboard
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.results.sheet_making import list_measures, sort_topics_naturally
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import render_chart
from cranfield.reporting.page.html import make_label
from cranfield.reporting.page.report_page import report
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import Cell, Table, format_number

CHARTS = {
    "scores": ("Scores over topics", "Scores of each run over topics"),
    "intervals": (
        "Intervals",
        "Means of runs, with intervals of the comparison of all pairs",
    ),
    "separation": ("Significant differences", "Significant differences between all pairs of runs"),
    "topics": ("Runs by topics", "Scores of all runs on all topics, the easiest topic first"),
}
"""Heading and description of each chart, by name."""


@dataclass(frozen=True, eq=False)
class Overview:
    """Contents of the overview of a task."""

    title: str  # of the campaign and its task
    judgments: str  # version
    leaderboard: Leaderboard
    evaluation: Evaluation  # by the measures of the leaderboard
    topics: pl.DataFrame  # by the first measure: topic, best, median, worst, n, mean of all runs


def make_leaderboard_table(overview: Overview) -> Table:
    """Return the leaderboard as a table; the best score by each measure is bold."""
    bold, measures = _find_best_scores(overview), overview.leaderboard.measures
    head = ["", "run", "team", "type", *measures, "groups", "unjudged@10"]
    rows = []
    for k, row in enumerate(overview.leaderboard.rows.rows(named=True)):
        tag = row["tag"] + (" (late)" if row["late"] else "")
        scores = [Cell(format_number(row[name]), bold=bold[name][k]) for name in measures]
        run = [str(row["rank"]), tag, row["team"], row["type"] or ""]
        groups, unjudged = shorten_letters(row["groups"] or ""), f"{row['unjudged@10']:.1%}"
        rows.append([*run, *scores, groups, unjudged])
    title = f"{overview.title}, {inflect(len(rows), 'run')}"
    left_columns = (1, 2, 3, 4 + len(measures))
    return Table(title, head, rows, left_columns, remarks=overview.leaderboard.remarks)


def _find_best_scores(overview: Overview) -> Mapping[str, Sequence[bool]]:
    """Return masks of the rows of the leaderboard that have the best score by each measure."""
    masks = {}
    for name in overview.leaderboard.measures:
        values = overview.leaderboard.rows[name].to_numpy().astype(np.float64)
        masks[name] = is_best_value(values, overview.evaluation[name].lower_is_better).tolist()
    return masks


def make_overview_page(overview: Overview, svgs: Mapping[str, bytes], forms: Sequence[str]) -> str:
    """Return the overview as a page with charts, and with links to their files in all `forms`."""
    measure = overview.leaderboard.measures[0]
    lower_is_better = overview.evaluation[measure].lower_is_better
    topics = overview.topics.select("topic", "mean", "best", "median", "worst")
    drawings = {
        name: {"heading": heading, "text": text, "svg": base64.b64encode(svgs[name]).decode()}
        for name, (heading, text) in CHARTS.items()
        if name in svgs
    }
    headings = {
        "leaderboard": "Leaderboard",
        "topics": "Topics",
        **{f"chart-{name}": drawing["heading"] for name, drawing in drawings.items()},
        "files": "Files",
    }
    phrases = inflect(overview.leaderboard.rows.height, "run"), inflect(topics.height, "topic")
    return render_page(
        "overview.html",
        make_label(overview.title),
        counts=f"{', '.join(phrases)}, judgment version {make_label(overview.judgments)}",
        headings=headings,
        skip="Skip to the leaderboard",
        leaderboard=overview.leaderboard,
        best=_find_best_scores(overview),
        measure=measure,
        rows=topics.sort("median", descending=not lower_is_better).rows(),
        charts=drawings,
        forms=forms,
    )


CHART_FORMATS = ("html", "svg", "pdf", "png")
"""Formats of charts."""


def make_overview(
    evaluation: Evaluation,
    runs: Sequence[Submission],
    task: TaskRules,
    *,
    title: str = "",
    judgments: str = "",
    median: str = "better",
) -> Overview:
    """Compute the contents of an overview from an evaluation and the submissions."""
    tags = sorted(run.tag for run in runs)
    measure = str(evaluation.measures[0])
    scores = evaluation[measure].select(sort_topics_naturally(evaluation.topics), tags)
    topics = topic_statistics(scores, median=median).select_group().drop("group")
    return Overview(
        title or task.title or task.name,
        judgments,
        leaderboard(evaluation, runs),
        evaluation,
        topics.with_columns(pl.Series("mean", scores.mean_along(1))),
    )


def write_overview(
    campaign: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    forms: Sequence[str] = ("svg",),
) -> tuple[Path, ...]:
    """Write the overview of the accepted runs of a task.

    Parameters
    ----------
    campaign, task, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    folder
        Folder of the overview, which is written completely or not at all. It must be new, empty, or
        an earlier overview, which is replaced.
    forms
        Formats of charts, from `html`, `svg`, `pdf` and `png`.

    Returns
    -------
    tuple of Path
        The written files: `index.html`; the leaderboard as CSV, Parquet and LaTeX; `topics.csv`;
        the charts in `charts/`; and `report.html`, the page of :func:`cranfield.report`. If the
        extra `charts` is not installed, there are no charts, and a warning is issued.

    Raises
    ------
    PolicyError
        For an unknown format, a folder with other files, or one in the campaign's folder.
    """
    check_list("forms", forms)
    for form in forms:
        check_choice("forms", form, CHART_FORMATS)
    target = campaign.check_outside(folder)
    rules = campaign.rules.get_task(task)
    scoring = Scoring(campaign, rules.name, list_measures(rules), judgments)
    evaluation, version = scoring.evaluate(), scoring.judgments.version
    title = f"{campaign.rules.title or campaign.rules.id}: {rules.title or rules.name}"
    overview = make_overview(
        evaluation, scoring.submissions, rules, title=title, judgments=version, median=rules.median
    )
    notes = (*overview.leaderboard.notes, *scoring.make_notes(evaluation))
    overview = replace(overview, leaderboard=replace(overview.leaderboard, notes=notes))
    rows, parquet = overview.leaderboard.rows, BytesIO()
    rows.write_parquet(parquet)
    latex = make_leaderboard_table(overview).to_latex(caption=True, long=True)
    files = {
        "leaderboard.csv": rows.write_csv().encode(),
        "leaderboard.parquet": parquet.getvalue(),
        "leaderboard.tex": encode_text(latex),
        "topics.csv": overview.topics.write_csv().encode(),
    }
    svgs: dict[str, bytes] = {}
    try:
        for name, chart in make_charts(overview):
            svgs[name] = render_chart(chart, "svg")
            for form in forms:
                content = svgs[name] if form == "svg" else render_chart(chart, form)
                files[f"charts/{name}.{form}"] = content
    except MissingDependencyError as error:
        warn(f"the overview has no charts: {error}")
    page = encode_text(make_overview_page(overview, svgs, forms))
    files = {"index.html": page, **files}
    with replace_folder(target, "overview") as new_folder:
        write_files(new_folder, files)
        report(evaluation, new_folder / "report.html", title=overview.title)
    return tuple(target / name for name in (*files, "report.html"))


def make_charts(overview: Overview) -> Iterator[tuple[str, Any]]:
    """Yield names and charts of the scores by the first measure."""
    scores = overview.evaluation[overview.leaderboard.measures[0]]
    yield "scores", charts.box_plot(scores)
    yield "topics", charts.difficulty_map(scores)
    if overview.leaderboard.separation is not None:
        comparison = compare_pairs(scores)
        yield "separation", charts.significance_matrix(comparison)
        with suppress(PolicyError):
            # Not every comparison has intervals around means.
            yield "intervals", charts.intervals_chart(comparison)
