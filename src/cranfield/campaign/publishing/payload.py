"""Contents of a release: every file is written from public data, and no file is copied."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, convert_error, quoted
from cranfield.base.parallel import in_threads
from cranfield.campaign.checks.lines import read_lines
from cranfield.campaign.checks.report import Faults
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.pages import render_text
from cranfield.campaign.results.leaderboard import MAX_COMPARED, compare_if_possible, leaderboard
from cranfield.campaign.results.sheet_files import encode_text, sheet_files
from cranfield.campaign.results.sheet_making import SheetInputs, groups_by, sort_topics
from cranfield.campaign.results.stored_inputs import read_stored_qrels
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.reading import rules_text
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store import records
from cranfield.campaign.store.records import Judgments, Submission
from cranfield.collection.files.lines import RUN
from cranfield.collection.files.writing import write_qrels
from cranfield.collection.judged.coverage import Coverage
from cranfield.collection.metadata.reading import MAX_BYTES, header_of
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.reporting.page.report_page import report
from cranfield.sources.archives import decompressed
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.values import integers_in

EXCLUDED = (
    "contacts of teams",
    "runs that were refused, replaced or withdrawn",
    "names of submitted files, and of the people in the log of events",
    "warnings of the check and the log of events",
    "other versions of the judgments",
)
"""Data that no release contains, as its README says."""

EXCLUDED_OF_HIDDEN = (
    "descriptions and metadata, answers that are free text, hashes and days of arrival of runs of"
    " anonymous teams"
)
"""Data of anonymous teams that no release contains."""


@dataclass(frozen=True)
class ReleasedRun:
    """A run of a release."""

    run: Submission  # public fields, and public names
    record: Submission  # record in the registry, which is not released
    hidden: bool  # whether its team is anonymous


def released_runs(
    runs: Sequence[Submission],
    hidden: Collection[str],
    task: TaskRules,
    secret: str,
    metadata: Mapping[int, str],
) -> tuple[ReleasedRun, ...]:
    """Return the runs of a release, in order of public tag.

    The secret determines the order of `hidden` teams and of their runs; who knows it and the ids of
    all teams can resolve the aliases. `metadata` has public metadata by id of the submission.
    """
    names = _aliases(runs, hidden, secret)
    free_text = {name for name, question in task.questions.items() if not question.choices}
    public_runs = []
    for run in runs:
        is_hidden = run.team in hidden
        team, tag = names[run.team, run.tag] if is_hidden else (run.team, run.tag)
        answers = {
            name: run.answers[name]
            for name in task.questions
            if name in run.answers and not (is_hidden and name in free_text)
        }
        unchanged = ("task", "state", "type", "priority", "late", "pooled")
        fields = {name: getattr(run, name) for name in unchanged}
        if is_hidden:
            fields |= {"object": "", "received": ""}
        else:
            fields |= {"object": run.object, "received": run.received[:10]}
            fields |= {"description": run.description, "metadata": metadata.get(run.id)}
        public_record = Submission(id=0, team=team, tag=tag, bytes=0, answers=answers, **fields)
        public_runs.append(ReleasedRun(public_record, run, is_hidden))
    return tuple(sorted(public_runs, key=lambda item: item.run.tag))


def _aliases(
    runs: Sequence[Submission], hidden: Collection[str], secret: str
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return numbered aliases of hidden teams and runs, in an order that the secret decides."""

    def draw(name: str) -> str:
        return sha256(f"{secret}\n{name}".encode()).hexdigest()

    real_names = {name.casefold() for run in runs for name in (run.team, run.tag)}
    hidden_runs = [run for run in runs if run.team in hidden]
    teams = sorted({run.team for run in hidden_runs}, key=draw)
    width = max(2, len(str(len(teams))))
    numbers = (f"{k:0{width}}" for k in count(1))
    # A number is not free if a real team or run has its name.
    free_numbers = (
        number
        for number in numbers
        if f"team {number}" not in real_names
        and not any(re.fullmatch(rf"team{number}-\d+", name) for name in real_names)
    )
    names = {}
    for team, number in zip(teams, free_numbers, strict=False):
        tags = sorted((run.tag for run in hidden_runs if run.team == team), key=draw)
        for k, tag in enumerate(tags, 1):
            names[team, tag] = (f"team {number}", f"team{number}-{k}")
    return names


_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*\n?")


def released_text(data: bytes, alias: str | None = None, form: str = "trec") -> bytes:
    """Return the decompressed lines of a run, without comments and metadata.

    Lines of a run with an alias are rewritten: the second column is `Q0`, the last column is the
    alias, and a rank that is not an integer is 0; other values are unchanged. The number of a line
    that cannot be read counts the released lines.
    """
    with decompressed(BytesIO(data)) as stream:
        text = b"".join(Source("run", content=stream.read()).chunks())
    # A header without an end was already refused by the check of the run.
    if header := header_of(text[: 2 * MAX_BYTES], "the run"):
        text = text[header.before + len(header.raw) :]
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if alias is None:
        return text
    chunks = Source("run", content=text).chunks(TOGETHER * CHUNK)
    return b"".join(_anonymise(chunk, alias, form) for chunk in chunks)


def _anonymise(text: bytes, alias: str, form: str) -> bytes:
    """Return lines of a run with an alias as tag, after checking that they can be read back."""
    rank = pl.when(integers_in(pl.col("rank")).is_not_null()).then("rank").otherwise(pl.lit("0"))
    lines = _columns(text, form).with_columns(q0=pl.lit("Q0"), rank=rank, tag=pl.lit(alias))
    has_blanks = lines["topic"].str.contains(" ").any() or lines["doc"].str.contains(" ").any()
    separator = ";" if form == "ntcir" else "\t" if has_blanks else " "
    csv = lines.write_csv(include_header=False, separator=separator, quote_style="never")
    anonymised = csv.encode()
    if not _columns(anonymised, form).equals(lines):
        raise InputError(f"cannot be written with the tag {quoted(alias)}", source="the run")
    return anonymised


def _columns(text: bytes, form: str) -> pl.DataFrame:
    """Read lines of a run into six columns of text."""
    faults = Faults(TaskRules("release"))
    lines = read_lines([text], faults, form)
    for fault in faults.sorted_faults():
        if fault.code != "empty":
            raise InputError(fault.message, source="the run", line=fault.line)
    return lines.rows.select(*RUN.columns)


def compress(text: bytes) -> bytes:
    """Compress bytes with xz and fixed settings, so that the result is reproducible."""
    return lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset=3)


COLUMNS = ("tag", "team", "type", "priority", "late", "pooled", "received", "object", "description")
"""Fields of a run in `runs.csv`, where `object` has the name `sha256`; answers follow."""


@dataclass(frozen=True)
class Payload:
    """Inputs of the files of a release."""

    campaign: OpenedCampaign
    task: TaskRules
    submissions: tuple[Submission, ...]  # accepted runs in the registry, in order of arrival
    runs: tuple[ReleasedRun, ...]  # readable runs, in order of public tag
    teams: Mapping[str, str]  # names of the teams that are not anonymous, by id
    judgments: Judgments
    evaluation: Evaluation  # of the accepted runs, by submitted tag
    excluded: tuple[str, ...]  # descriptions of excluded data
    scores_only: bool = False
    date: str | None = None
    note: str = ""

    @property
    def public_runs(self) -> tuple[Submission, ...]:
        """The runs, with public fields only."""
        return tuple(run.run for run in self.runs)

    @property
    def about(self) -> dict[str, Any]:
        """Contents of `about.json`."""
        rules = self.campaign.rules
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
            "teams": len({run.run.team for run in self.runs}),
            "hidden_teams": len({run.run.team for run in self.runs if run.hidden}),
            "topics": len(self.evaluation.topics),
            "scores_only": self.scores_only,
            "excluded": [*self.excluded],
        }

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores by the measures of the rules."""
        measures = parse_measures(self.task.measures, compat=self.evaluation.compat)
        return {str(measure): self.evaluation[measure] for measure in measures}


def write_payload(folder: Path, payload: Payload) -> None:
    """Write all files of a release to a new folder."""
    rules = payload.campaign.rules
    evaluation = _with_public_tags(payload.evaluation, payload.runs)
    released = replace(evaluation, scores={name: evaluation[name] for name in payload.scores})
    if not payload.scores_only:
        _write_runs(folder / "runs", payload)
        qrels = read_stored_qrels(payload.campaign, payload.task, payload.judgments)
        write_qrels(qrels, folder / "judgments.txt")
    _write_csv(folder / "runs.csv", _runs_table(payload))
    names = {run.team: payload.teams.get(run.team, run.team) for run in payload.public_runs}
    teams = pl.DataFrame(sorted(names.items()), {"id": pl.String, "name": pl.String}, orient="row")
    _write_csv(folder / "teams.csv", teams)
    toml = rules_text(rules, payload.campaign.folder, [payload.task.name])
    _write_text(folder / "rules.toml", toml)
    _write_scores(folder / "scores", released)
    _write_csv(folder / "leaderboard.csv", leaderboard(released, payload.public_runs).to_polars())
    _write_csv(folder / "topic-statistics.csv", _statistics(released, payload))
    inputs = SheetInputs(
        evaluation,
        payload.public_runs,
        rules,
        payload.task,
        payload.judgments.version,
        payload.teams,
        metadata={run.tag: run.metadata for run in payload.public_runs if run.metadata},
    )
    (folder / "sheets").mkdir()
    for name, content in sheet_files(inputs.sheets()):
        (folder / "sheets" / name).write_bytes(content)
    title = f"{rules.title}: {payload.task.title or payload.task.name}"
    # As on the leaderboard, larger numbers of runs are not compared.
    if len(evaluation.systems) <= MAX_COMPARED:
        results = [compare_if_possible(scores) for scores in released.values()]
        comparisons = [result for result in results if not isinstance(result, str)]
        contents = comparisons if len(comparisons) == len(results) else released
        report(contents, folder / "report.html", title=title, date=payload.date, jobs=1)
    for run in payload.public_runs:
        if run.metadata:
            _write_text(folder / "metadata" / f"{run.tag}.yml", run.metadata)
    about = json.dumps(payload.about, indent=1, ensure_ascii=False)
    _write_text(folder / "about.json", f"{about}\n")
    readme = render_text(
        "release.md", about=payload.about, exists=lambda name: (folder / name).exists()
    )
    _write_text(folder / "README.md", readme)


def _with_public_tags(evaluation: Evaluation, runs: Sequence[ReleasedRun]) -> Evaluation:
    """Return the scores by public tag, in this order, because the order of real tags is private."""
    columns = {tag: k for k, tag in enumerate(evaluation.systems)}
    order = [columns[run.record.tag] for run in runs]
    tags = tuple(run.run.tag for run in runs)
    rows = evaluation.coverage.systems
    coverage = (replace(rows[k], system=tag) for k, tag in zip(order, tags, strict=True))
    # The order of topics of sheets, so that the cached comparison of the scores is used.
    topics = tuple(sort_topics(evaluation.topics))
    scores = {
        name: replace(values.select(topics, [run.record.tag for run in runs]), systems=tags)
        for name, values in evaluation.items()
    }
    judged = replace(
        evaluation.judged,
        topics=topics,
        systems=tags,
        coverage=Coverage(tuple(coverage)),
        values={name: item.values for name, item in scores.items()},
    )
    return replace(evaluation, scores=scores, judged=judged)


def _write_runs(folder: Path, payload: Payload) -> None:
    folder.mkdir()

    def write(run: ReleasedRun) -> None:
        data = records.read_object(payload.campaign.folder, run.record.object)
        alias = run.run.tag if run.hidden else None
        try:
            text = released_text(data, alias, payload.task.format)
        except InputError as error:
            raise convert_error(error, InputError, f"run {quoted(run.record.tag)}") from None
        (folder / f"{run.run.tag}.run.xz").write_bytes(compress(text))

    in_threads(write, payload.runs, None)


def _runs_table(payload: Payload) -> pl.DataFrame:
    runs = payload.public_runs
    columns: dict[str, list[Any]] = {
        "sha256" if name == "object" else name: [getattr(run, name) for run in runs]
        for name in COLUMNS
    }
    for name in payload.task.questions:
        answers = [run.answers.get(name) for run in runs]
        columns[f"answer {name}" if name in columns else name] = answers
    dtypes = {"priority": pl.Int64, "late": pl.Boolean, "pooled": pl.Boolean}
    return pl.DataFrame(columns, schema={name: dtypes.get(name, pl.String) for name in columns})


def _write_scores(folder: Path, evaluation: Evaluation) -> None:
    """Write a table with a row per topic and run; rechunking makes its bytes reproducible."""
    topics, systems = evaluation.topics, evaluation.systems
    frame = pl.DataFrame(
        {
            "topic": [topic for topic in topics for _ in systems],
            "system": list(systems) * len(topics),
            **{name: scores.values.ravel() for name, scores in evaluation.items()},
        }
    ).with_columns(pl.selectors.float().fill_nan(None))
    out = BytesIO()
    frame.rechunk().write_parquet(out, compression="zstd", compression_level=3)
    folder.mkdir()
    (folder / "scores.parquet").write_bytes(out.getvalue())


def _statistics(evaluation: Evaluation, payload: Payload) -> pl.DataFrame:
    runs, task = payload.public_runs, payload.task
    frames = []
    for name, scores in evaluation.items():
        for key in ("", *task.categories):
            # Names have the key: a value may be 'all', and two categories may share a value.
            groups = {tag: f"{key}={value}" for tag, value in groups_by(runs, key).items() if key}
            frame = topic_statistics(
                scores, groups, median=task.median, min_runs=task.min_category
            ).to_polars()
            frame = frame.filter(pl.col("group") != "all") if key else frame
            frames.append(frame.select(pl.lit(name).alias("measure"), pl.all()))
    return pl.concat(frames)


def _write_csv(path: Path, frame: pl.DataFrame) -> None:
    out = BytesIO()
    frame.write_csv(out)
    path.write_bytes(out.getvalue())


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_text(text))
