"""What a release holds: each file written anew from what may be shown, none copied whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.threads import in_threads
from cranfield.campaign.opened import Opened
from cranfield.campaign.publishing.disclosing import Disclosed
from cranfield.campaign.publishing.readme import readme
from cranfield.campaign.publishing.run_text import packed, released_text
from cranfield.campaign.results.comparing import MOST_COMPARED, compared_if_possible
from cranfield.campaign.results.judgments import qrels_of
from cranfield.campaign.results.leaderboard import leaderboard
from cranfield.campaign.results.sheets.categories import groups_by
from cranfield.campaign.results.sheets.making import Known, in_order, make_sheets
from cranfield.campaign.results.sheets.page import sheet_page
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.writing import rules_text
from cranfield.campaign.store import objects
from cranfield.campaign.store.records import Judgments, Submission
from cranfield.collection.files.writing import write_qrels
from cranfield.collection.judged.coverage import Coverage
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.reporting.page.report_page import report

COLUMNS: Mapping[str, Callable[[Submission], Any]] = {
    "tag": lambda run: run.tag,
    "team": lambda run: run.team,
    "type": lambda run: run.type,
    "priority": lambda run: run.priority,
    "late": lambda run: run.late,
    "pooled": lambda run: run.pooled,
    "received": lambda run: run.received,
    "sha256": lambda run: run.object,
    "description": lambda run: run.description,
}
"""The columns of `runs.csv`; answers to questions follow."""


@dataclass(frozen=True)
class Payload:
    """All that the files of a release are written from.

    Attributes
    ----------
    arrived
        The accepted runs as the registry has them, in order of arrival.
    runs
        Those that can be read, in order of the tags that they are shown by.
    teams
        Names of the teams that are shown by name, by id.
    evaluation
        Scores of the accepted runs, by the tags that they were handed in with.
    left_out
        What is not in the release, in sentences.
    """

    opened: Opened
    task: TaskRules
    arrived: tuple[Submission, ...]
    runs: tuple[Disclosed, ...]
    teams: Mapping[str, str]
    judgments: Judgments
    evaluation: Evaluation
    left_out: tuple[str, ...]
    scores_only: bool = False
    date: str | None = None
    note: str = ""

    @property
    def shown(self) -> tuple[Submission, ...]:
        """The runs as they are shown."""
        return tuple(one.run for one in self.runs)

    @property
    def about(self) -> dict[str, Any]:
        """What `about.json` says."""
        rules = self.opened.rules
        return {
            "campaign": rules.id,
            "campaign_title": rules.title,
            "description": rules.description,
            "consent": rules.consent,
            "task": self.task.name,
            "title": self.task.title or self.task.name,
            "date": self.date,
            "note": self.note,
            "judgments": self.judgments.version,
            "measures": [*self.scores],
            "categories": [*self.task.categories],
            "median": self.task.median,
            "runs": len(self.runs),
            "teams": len({one.run.team for one in self.runs}),
            "hidden_teams": len({one.run.team for one in self.runs if one.hidden}),
            "topics": len(self.evaluation.topics),
            "scores_only": self.scores_only,
            "left_out": [*self.left_out],
        }

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores by the task's own measures."""
        own = parse_measures(self.task.measures, compat=self.evaluation.compat)
        return {str(one): self.evaluation[one] for one in own}


def write_payload(folder: Path, payload: Payload) -> None:
    """Write all files of a release to a new folder."""
    rules = payload.opened.rules
    shown = _shown_names(payload.evaluation, payload.runs)
    own = replace(shown, scores={name: shown[name] for name in payload.scores})
    if not payload.scores_only:
        _write_runs(folder / "runs", payload)
        qrels = qrels_of(payload.opened, payload.task, payload.judgments)
        write_qrels(qrels, folder / "judgments.txt")
    _csv(folder / "runs.csv", _runs(payload))
    _csv(folder / "teams.csv", _teams(payload))
    _write(folder / "rules.toml", rules_text(rules, payload.opened.folder, [payload.task.name]))
    _write_scores(folder / "scores", own)
    _csv(folder / "leaderboard.csv", leaderboard(own, payload.shown).to_polars())
    _csv(folder / "topic-statistics.csv", _statistics(own, payload))
    _write_sheets(folder / "sheets", shown, payload)
    title = f"{rules.title}: {payload.task.title or payload.task.name}"
    # Of more runs there is no report: boards have no groups of them either.
    if len(shown.systems) <= MOST_COMPARED:
        tried = [compared_if_possible(one) for one in own.values()]
        found = [one for one in tried if not isinstance(one, str)]
        report(
            found if len(found) == len(tried) else own,
            folder / "report.html",
            title=title,
            date=payload.date,
            jobs=1,
        )
    for run in payload.shown:
        if run.metadata:
            _write(folder / "metadata" / f"{run.tag}.yml", run.metadata)
    _write(folder / "about.json", json.dumps(payload.about, indent=1, ensure_ascii=False) + "\n")
    _write(folder / "README.md", readme(payload.about, folder))


def _shown_names(evaluation: Evaluation, runs: Sequence[Disclosed]) -> Evaluation:
    """Return the scores by the tags that are shown, in their order: the old one would tell."""
    places = {tag: k for k, tag in enumerate(evaluation.systems)}
    order = np.array([places[one.kept.tag] for one in runs], dtype=np.intp)
    tags = tuple(one.run.tag for one in runs)
    covered = evaluation.coverage.systems
    # In the order of sheets: what is compared is the same scores, and is compared once.
    topics = tuple(in_order(evaluation.topics))
    scores = {
        name: replace(one.select(topics, [run.kept.tag for run in runs]), systems=tags)
        for name, one in evaluation.items()
    }
    judged = replace(
        evaluation.judged,
        topics=topics,
        systems=tags,
        coverage=Coverage(
            tuple(replace(covered[k], system=tag) for k, tag in zip(order, tags, strict=True))
        ),
        values={name: one.values for name, one in scores.items()},
    )
    return replace(evaluation, scores=scores, judged=judged)


def _write_runs(folder: Path, payload: Payload) -> None:
    folder.mkdir()

    def write(one: Disclosed) -> None:
        kept = objects.read(payload.opened.folder, one.kept.object)
        text = released_text(kept, one.run.tag if one.hidden else None)
        (folder / f"{one.run.tag}.run.xz").write_bytes(packed(text))

    in_threads(write, payload.runs, None)


def _runs(payload: Payload) -> pl.DataFrame:
    runs = payload.shown
    columns = {name: [value(run) for run in runs] for name, value in COLUMNS.items()}
    for name in payload.task.questions:
        answers = [run.answers.get(name) for run in runs]
        columns[f"answer {name}" if name in COLUMNS else name] = answers
    kinds = {"priority": pl.Int64, "late": pl.Boolean, "pooled": pl.Boolean}
    return pl.DataFrame(
        {name: pl.Series(some, dtype=kinds.get(name, pl.String)) for name, some in columns.items()}
    )


def _teams(payload: Payload) -> pl.DataFrame:
    ids = sorted({run.team for run in payload.shown})
    names = [payload.teams.get(one, one) for one in ids]
    return pl.DataFrame({"id": ids, "name": names}, schema={"id": pl.String, "name": pl.String})


def _write_scores(folder: Path, own: Evaluation) -> None:
    """Write one table, a row a topic and run; of one piece, so that its bytes are the same."""
    topics, systems = own.topics, own.systems
    frame = pl.DataFrame(
        {
            "topic": [topic for topic in topics for _ in systems],
            "system": list(systems) * len(topics),
            **{name: one.values.ravel() for name, one in own.items()},
        }
    ).with_columns(pl.selectors.float().fill_nan(None))
    made = BytesIO()
    frame.rechunk().write_parquet(made, compression="zstd", compression_level=3)
    folder.mkdir()
    (folder / "scores.parquet").write_bytes(made.getvalue())


def _statistics(own: Evaluation, payload: Payload) -> pl.DataFrame:
    groups: list[dict[str, str] | None] = [None]
    # A value may be called 'all', and two categories may have the same one.
    groups += [
        {tag: f"{key}={value}" for tag, value in groups_by(payload.shown, key).items()}
        for key in payload.task.categories
    ]
    parts = []
    for name, scores in own.items():
        for k, by in enumerate(groups):
            found = topic_statistics(
                scores, by, median=payload.task.median, least=payload.task.min_category
            ).to_polars()
            chosen = found if not k else found.filter(pl.col("group") != "all")
            parts.append(chosen.select(pl.lit(name).alias("measure"), pl.all()))
    return pl.concat(parts)


def _write_sheets(folder: Path, shown: Evaluation, payload: Payload) -> None:
    folder.mkdir()
    known = Known(
        payload.opened.rules,
        payload.task,
        payload.judgments.version,
        payload.teams,
        metadata={run.tag: run.metadata for run in payload.shown if run.metadata},
    )

    def write(sheet: Any) -> None:
        for suffix, text in {
            "json": sheet.to_json(),
            "txt": sheet.to_text(),
            "html": sheet_page(sheet),
        }.items():
            _write(folder / f"{sheet.tag}.{suffix}", text)

    in_threads(write, make_sheets(shown, payload.shown, known), 1)


def _csv(path: Path, frame: pl.DataFrame) -> None:
    made = BytesIO()
    frame.write_csv(made)
    path.write_bytes(made.getvalue())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "backslashreplace"))
