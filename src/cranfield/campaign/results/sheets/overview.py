"""The overview of a task: all runs by all measures, how sure their order is, and the topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.base.whole_files import whole_file
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.judgments import version_of
from cranfield.campaign.results.leaderboard import leaderboard
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheets.making import in_order, own_measures
from cranfield.campaign.results.sheets.overview_page import Overview, board_table, overview_page
from cranfield.campaign.results.sheets.writing import as_bytes, make_folder
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import rendered
from cranfield.reporting.page.report_page import report
from cranfield.significance.comparison.compare import compare

FORMS = ("html", "svg", "pdf", "png")
"""What charts can be written as."""

CHARTS = "charts"


def overview_of(
    evaluation: Evaluation,
    runs: Sequence[Submission],
    task: TaskRules,
    *,
    title: str = "",
    judgments: str = "",
    median: str = "better",
) -> Overview:
    """Put together what an overview shows; the measures are those of the evaluation."""
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
    opened: Opened,
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
        Where to; it is made where it is not there.
    forms
        What charts are written as: any of `html`, `svg`, `pdf` and `png`.

    Returns
    -------
    tuple of Path
        `index.html`; the board as `board.csv`, `board.parquet` and `board.tex`; `topics.csv`;
        `charts/`; and `report.html`, which :func:`cranfield.report` makes.

    Raises
    ------
    PolicyError
        For a form that there is not.
    """
    for one in forms:
        check_choice("forms", one, FORMS)
    target = opened.outside(folder)
    rules = opened.rules.task(task)
    version = version_of(opened, rules.name, judgments).version
    evaluation = scored(opened, rules.name, measures=own_measures(rules), judgments=version)
    title = f"{opened.rules.title or opened.rules.id}: {rules.title or rules.name}"
    # A run that comes in right now is not among the scores.
    runs = [
        run
        for run in opened.registry.submissions(rules.name, (ACCEPTED,))
        if run.tag in evaluation.systems
    ]
    found = overview_of(
        evaluation, runs, rules, title=title, judgments=version, median=rules.median
    )
    return overview_files(found, target, forms)


def overview_files(
    found: Overview, folder: Path, forms: Sequence[str] = ("svg",)
) -> tuple[Path, ...]:
    """Write all files of an overview into a folder."""
    make_folder(folder / CHARTS)
    made = [folder / name for name in ("board.csv", "board.parquet", "board.tex", "topics.csv")]
    board, topics = found.board.frame, found.topics
    contents: list[Callable[[IO[bytes]], object]] = [
        board.write_csv,
        board.write_parquet,
        lambda out: out.write(as_bytes(board_table(found).to_latex(caption=True, long=True))),
        topics.write_csv,
    ]
    for path, write in zip(made, contents, strict=True):
        with whole_file(path) as out:
            write(out)
    drawn: dict[str, bytes] = {}
    for name, chart in charts_of(found):
        drawn[name] = rendered(chart, "svg")
        for form in forms:
            made.append(folder / CHARTS / f"{name}.{form}")
            content = drawn[name] if form == "svg" else rendered(chart, form)
            with whole_file(made[-1]) as out:
                out.write(content)
    made.append(report(found.evaluation, folder / "report.html", title=found.title))
    page = folder / "index.html"
    with whole_file(page) as out:
        out.write(as_bytes(overview_page(found, drawn, forms)))
    return page, *made


def charts_of(found: Overview) -> Iterator[tuple[str, Any]]:
    """Yield name and chart of all that can be drawn of the first measure."""
    scores = found.evaluation[found.board.measures[0]]
    yield "scores", charts.box_plot(scores)
    yield "topics", charts.difficulty_map(scores)
    if found.board.separation is not None:
        gaps = np.isnan(scores.values).any()
        comparison = compare(scores, missing="zero" if gaps else None)
        yield "separation", charts.significance_matrix(comparison)
        with suppress(PolicyError):
            # Some comparisons have no intervals around means.
            yield "intervals", charts.intervals_chart(comparison)
