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
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.pages import STYLES, section
from cranfield.campaign.results.leaderboard import Leaderboard, leaderboard
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheet_files import as_bytes, write_files
from cranfield.campaign.results.sheet_making import in_order, own_measures
from cranfield.campaign.results.stored_inputs import version_of
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import rendered
from cranfield.reporting.page.html import Html, Parts, label, page_of_parts
from cranfield.reporting.page.report_page import report
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.compared_pairs import shortened
from cranfield.tabular import Cell, Table, number

PICTURES = {
    "scores": ("Scores over topics", "Scores of each run over topics"),
    "intervals": ("Intervals", "Means, with intervals that tell which runs differ from the first"),
    "separation": ("Who differs", "Which runs are found better or worse than which others"),
    "topics": ("Runs by topics", "Scores of all runs on all topics, the easiest topic first"),
}
"""What the charts show, by their names: a heading and a sentence."""


@dataclass(frozen=True, eq=False)
class Overview:
    """What an overview shows.

    Attributes
    ----------
    title
        Of the campaign and its task.
    judgments
        Version of the judgments.
    board
        The runs, in order of the first measure.
    evaluation
        Their scores by the measures of the board.
    topics
        By the first measure: `topic`, `best`, `median`, `worst`, `n`, `mean` of all runs.
    """

    title: str
    judgments: str
    board: Leaderboard
    evaluation: Evaluation
    topics: pl.DataFrame


def board_table(found: Overview) -> Table:
    """Return the board as a table: the best of each measure is bold."""
    board = found.board
    bold = _bold(found)
    head = ["", "run", "team", "type", *board.measures, "groups", "unjudged@10"]
    rows = []
    for k, row in enumerate(board.rows.rows(named=True)):
        scores = [Cell(number(row[name]), bold=bool(bold[name][k])) for name in board.measures]
        rows.append(
            [
                str(row["place"]),
                row["tag"] + (" (late)" if row["late"] else ""),
                row["team"],
                row["type"] or "",
                *scores,
                shortened(row["groups"] or ""),
                f"{row['unjudged@10']:.1%}",
            ]
        )
    title = f"{found.title}, {counted(len(rows), 'run')}"
    return Table(title, head, rows, (1, 2, 3, 4 + len(board.measures)), remarks=board.remarks)


def _bold(found: Overview) -> Mapping[str, Sequence[bool]]:
    made = {}
    for name in found.board.measures:
        values = found.board.rows[name].to_numpy().astype(np.float64)
        made[name] = best(values, found.evaluation[name].lower_is_better).tolist()
    return made


def overview_page(found: Overview, drawn: Mapping[str, bytes], forms: Sequence[str]) -> str:
    """Write the page; `drawn` are charts as SVG by name, `forms` are what their files are."""
    first = found.board.measures[0]
    easiest_last = found.evaluation[first].lower_is_better
    topics = found.topics.select("topic", "mean", "best", "median", "worst")
    rows = topics.sort("median", descending=not easiest_last).rows()

    def shown(name: str, *values: object) -> Html:
        return section("overview.html", name, *values)

    parts: Parts = {
        "board": ("The board", shown("board", found.board, _bold(found))),
        "topics": ("Topics", shown("topics", first, rows)),
        **{
            f"chart-{name}": (
                head,
                shown("picture", name, said, base64.b64encode(drawn[name]).decode(), forms),
            )
            for name, (head, said) in PICTURES.items()
            if name in drawn
        },
        "files": ("Files", shown("files")),
    }
    counts = (
        f"{counted(found.board.rows.height, 'run')}, {counted(found.topics.height, 'topic')},"
        f" judgments {label(found.judgments)}"
    )
    return page_of_parts(label(found.title), counts, parts, styles=STYLES, skip="Skip to the board")


FORMS = ("html", "svg", "pdf", "png")
"""What charts can be written as."""


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
        Formats of the charts: any of `html`, `svg`, `pdf` and `png`.

    Returns
    -------
    tuple of Path
        `index.html`; the board as `board.csv`, `board.parquet` and `board.tex`; `topics.csv`;
        `charts/`; and `report.html`, which :func:`cranfield.report` makes. Without the extra
        `charts`, a warning says that there are no charts.

    Raises
    ------
    PolicyError
        For a form that there is not.
    """
    check_several("forms", forms)
    for form in forms:
        check_choice("forms", form, FORMS)
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
    board, parquet = found.board.rows, BytesIO()
    board.write_parquet(parquet)
    files = {
        "board.csv": board.write_csv().encode(),
        "board.parquet": parquet.getvalue(),
        "board.tex": as_bytes(board_table(found).to_latex(caption=True, long=True)),
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
