"""Contents of a release: each file is written anew from public data, none is copied."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, converted_error, quoted
from cranfield.base.parallel import in_threads
from cranfield.campaign.checks.lines import read_lines
from cranfield.campaign.checks.report import Faults
from cranfield.campaign.opened import OpenedCampaign
from cranfield.campaign.pages import filled_text
from cranfield.campaign.results.leaderboard import MOST_COMPARED, compared_if_possible, leaderboard
from cranfield.campaign.results.sheet_files import as_bytes, files_of
from cranfield.campaign.results.sheet_making import SheetInputs, groups_by, in_order
from cranfield.campaign.results.stored_inputs import qrels_of
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.reading import rules_text
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store import records
from cranfield.campaign.store.records import Judgments, Submission, Team
from cranfield.collection.files.layouts import RUN
from cranfield.collection.files.writing import write_qrels
from cranfield.collection.judged.coverage import Coverage
from cranfield.collection.metadata.reading import LARGEST, header_of
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.reporting.page.report_page import report
from cranfield.sources.archives import decompressed
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.values import integers_in

NOT_SHOWN = (
    "contacts of teams",
    "runs that were refused, replaced or withdrawn",
    "names of submitted files, and of the people in the log of events",
    "warnings of the check and the log of events",
    "other versions of the judgments",
)
"""What no release contains, as its README lists it."""

NOT_SHOWN_OF_HIDDEN = (
    "descriptions and metadata, answers that are free text, hashes and days of arrival of runs"
    " whose team is not named"
)


@dataclass(frozen=True)
class Disclosed:
    """A run as a release shows it."""

    run: Submission  # with the fields that may be shown, and the names under which they are
    kept: Submission  # as the registry has it; only the documents of its run are written
    hidden: bool  # whether its team is not named


def hidden_teams(teams: Iterable[Team], day: str, *, everybody: bool) -> frozenset[str]:
    """Return the teams that have no name in a release of a day, such as 2026-08-15."""
    return frozenset(
        team.id
        for team in teams
        if everybody or (team.anonymous_until is not None and day < team.anonymous_until)
    )


def disclosed(
    runs: Sequence[Submission],
    hidden: Collection[str],
    task: TaskRules,
    secret: str,
    metadata: Mapping[int, str],
) -> tuple[Disclosed, ...]:
    """Return runs as a release shows them, in order of their public tags.

    The order of `hidden` teams and of their runs is drawn by the secret: who knows it, and the ids
    of all teams, can tell who is who. `metadata` has the public part by number of the submission.
    """
    names = _aliases(runs, hidden, secret)
    free = {name for name, question in task.questions.items() if not question.choices}
    made = []
    for run in runs:
        is_hidden = run.team in hidden
        team, tag = names[run.team, run.tag] if is_hidden else (run.team, run.tag)
        private: dict[str, Any] = {"object": "", "received": "", "metadata": None}
        if not is_hidden:
            private = {name: getattr(run, name) for name in ("object", "description")}
            private |= {"received": run.received[:10], "metadata": metadata.get(run.id)}
        shown = Submission(
            id=0,
            team=team,
            tag=tag,
            bytes=0,
            answers={
                name: run.answers[name]
                for name in task.questions
                if name in run.answers and not (is_hidden and name in free)
            },
            **{name: getattr(run, name) for name in SHOWN},
            **private,
        )
        made.append(Disclosed(shown, run, is_hidden))
    return tuple(sorted(made, key=lambda one: one.run.tag))


SHOWN = ("task", "state", "type", "priority", "late", "pooled")
"""Fields of a run that every release shows unchanged."""


def _aliases(
    runs: Sequence[Submission], hidden: Collection[str], secret: str
) -> dict[tuple[str, str], tuple[str, str]]:
    """Name hidden teams and their runs by numbers, in an order that depends on the secret."""

    def drawn(name: str) -> str:
        return sha256(f"{secret}\n{name}".encode()).hexdigest()

    taken = {name.casefold() for run in runs for name in (run.team, run.tag)}
    own = [run for run in runs if run.team in hidden]
    teams = sorted({run.team for run in own}, key=drawn)
    width = max(2, len(str(len(teams))))
    numbers = (f"{k:0{width}}" for k in count(1))
    # A real team or run may have such a name.
    free = (
        number
        for number in numbers
        if f"team {number}" not in taken
        and not any(re.fullmatch(rf"team{number}-\d+", name) for name in taken)
    )
    names = {}
    for team, number in zip(teams, free, strict=False):
        of_team = sorted((run.tag for run in own if run.team == team), key=drawn)
        for k, tag in enumerate(of_team, 1):
            names[team, tag] = (f"team {number}", f"team{number}-{k}")
    return names


FILES = {
    "runs/": "the submitted runs, one file each, compressed with xz, without comments",
    "runs.csv": "one row per run: tag, team, type, answers, SHA-256 of the submitted file",
    "teams.csv": "one row per team: id and name",
    "judgments.txt": "the judgments that all scores are computed from: topic, 0, document, grade",
    "rules.toml": "the rules of the campaign",
    "scores/": "a table (Parquet) of topic, run, and one column per measure",
    "leaderboard.csv": "one row per run: rank, means over topics, groups by significance",
    "topic-statistics.csv": "best, median and worst score by measure, group and topic",
    "sheets/": "one sheet per run, as a page, as text and as JSON",
    "report.html": "comparison of all runs; a page that needs no network",
    "metadata/": "metadata of the runs that have them",
    "about.json": "description of this release, for programs",
}
"""The files of a release, with descriptions."""


def readme(about: Mapping[str, Any], folder: Path) -> str:
    """Write the README of a folder in Markdown; names and texts of others stay text."""
    files = [(name, text) for name, text in FILES.items() if (folder / name).exists()]
    return filled_text("release.md", about=about, files=files)


_HEAD = 2 * LARGEST
_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*\n?")


def released_text(data: bytes, alias: str | None = None, form: str = "trec") -> bytes:
    """Return the decompressed lines of a run, without comments, header or description.

    Those of a run without a name are written anew, from the columns that were read, and state
    nothing but topics, documents, ranks and scores, as they were written: the second column is
    `Q0`, the last one the alias, and a rank that is not an integer is 0.

    Raises
    ------
    InputError
        For a line that cannot be read, with its number among those that are released.
    """
    with decompressed(BytesIO(data)) as stream:
        text = b"".join(Source("run", content=stream.read()).chunks())
    # Its check has found that it ends.
    if header := header_of(text[:_HEAD], "the run"):
        text = text[header.before + len(header.raw) :]
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if alias is None:
        return text
    parts = Source("run", content=text).chunks(TOGETHER * CHUNK)
    return b"".join(_anonymised(part, alias, form) for part in parts)


def _anonymised(text: bytes, alias: str, form: str) -> bytes:
    """Write lines of a run under another tag, and check that no other tag is left in them."""
    rank = pl.when(integers_in(pl.col("rank")).is_not_null()).then("rank").otherwise(pl.lit("0"))
    lines = _columns(text, form).with_columns(q0=pl.lit("Q0"), rank=rank, tag=pl.lit(alias))
    blanks = lines["topic"].str.contains(" ").any() or lines["doc"].str.contains(" ").any()
    separator = ";" if form == "ntcir" else "\t" if blanks else " "
    written = lines.write_csv(include_header=False, separator=separator, quote_style="never")
    released = written.encode()
    if not _columns(released, form).equals(lines):
        raise InputError(f"cannot be written under the tag {quoted(alias)}", source="the run")
    return released


def _columns(text: bytes, form: str) -> pl.DataFrame:
    """Read the columns of lines as text; shape (lines, 6)."""
    faults = Faults(TaskRules("release"))
    lines = read_lines([text], faults, form)
    for fault in faults.all():
        if fault.code != "empty":
            raise InputError(fault.message, source="the run", line=fault.line)
    return lines.rows.select(*RUN.columns)


def compressed(text: bytes) -> bytes:
    """Compress with xz, in one thread and with fixed settings: equal text gives equal bytes."""
    return lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset=3)


COLUMNS = ("tag", "team", "type", "priority", "late", "pooled", "received", "object", "description")
"""The fields of a run in `runs.csv`, where `object` is called `sha256`; answers follow."""


@dataclass(frozen=True)
class Payload:
    """Inputs of the files of a release."""

    opened: OpenedCampaign
    task: TaskRules
    arrived: tuple[Submission, ...]  # accepted runs as the registry has them, in order of arrival
    runs: tuple[Disclosed, ...]  # those that can be read, in order of the tags that are shown
    teams: Mapping[str, str]  # names of the teams that are shown by name, by id
    judgments: Judgments
    evaluation: Evaluation  # of the accepted runs, by their submitted tags
    excluded: tuple[str, ...]  # what is not in the release, in sentences
    scores_only: bool = False
    date: str | None = None
    note: str = ""

    @property
    def shown(self) -> tuple[Submission, ...]:
        """The runs as the release shows them."""
        return tuple(one.run for one in self.runs)

    @property
    def about(self) -> dict[str, Any]:
        """Contents of `about.json`."""
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
            "excluded": [*self.excluded],
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
    inputs = SheetInputs(
        shown,
        payload.shown,
        rules,
        payload.task,
        payload.judgments.version,
        payload.teams,
        metadata={run.tag: run.metadata for run in payload.shown if run.metadata},
    )
    (folder / "sheets").mkdir()
    for name, content in files_of(inputs.sheets()):
        (folder / "sheets" / name).write_bytes(content)
    title = f"{rules.title}: {payload.task.title or payload.task.name}"
    # With more runs there is neither a report nor groups on the leaderboard.
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
        kept = records.read(payload.opened.folder, one.kept.object)
        alias = one.run.tag if one.hidden else None
        try:
            text = released_text(kept, alias, payload.task.format)
        except InputError as error:
            raise converted_error(error, InputError, f"run {quoted(one.kept.tag)}") from None
        (folder / f"{one.run.tag}.run.xz").write_bytes(compressed(text))

    in_threads(write, payload.runs, None)


def _runs(payload: Payload) -> pl.DataFrame:
    runs = payload.shown
    columns: dict[str, list[Any]] = {
        "sha256" if name == "object" else name: [getattr(run, name) for run in runs]
        for name in COLUMNS
    }
    for name in payload.task.questions:
        answers = [run.answers.get(name) for run in runs]
        columns[f"answer {name}" if name in columns else name] = answers
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
                scores, by, median=payload.task.median, min_runs=payload.task.min_category
            ).to_polars()
            chosen = found if not k else found.filter(pl.col("group") != "all")
            parts.append(chosen.select(pl.lit(name).alias("measure"), pl.all()))
    return pl.concat(parts)


def _csv(path: Path, frame: pl.DataFrame) -> None:
    made = BytesIO()
    frame.write_csv(made)
    path.write_bytes(made.getvalue())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(as_bytes(text))
