"""Release the results of a task, and retract releases."""

from __future__ import annotations

import lzma
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC
from datetime import date as day_type
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    convert_error,
    quote,
    warn,
)
from cranfield.base.files import hash_file, open_atomically, sync_folder
from cranfield.base.kinds import Integer
from cranfield.base.parallel import map_in_threads
from cranfield.base.text import format_json, inflect
from cranfield.base.version import __version__
from cranfield.campaign.checks.lines import read_lines
from cranfield.campaign.checks.report import Faults
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.pages import encode_text, render_text, write_files
from cranfield.campaign.publishing.bag import PAYLOAD, TAG_MANIFEST, validate_bag, write_bag
from cranfield.campaign.results.leaderboard import MAX_COMPARED, compare_if_possible, leaderboard
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.results.sheet_making import (
    SheetInputs,
    get_category_values,
    make_sheet_files,
    make_sheet_inputs,
    select_public_run_metadata,
    sort_topics_naturally,
)
from cranfield.campaign.results.stored_inputs import (
    find_judgments,
    make_no_readable_run_error,
    read_stored_qrels,
    select_intact_runs,
)
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.reading import copy_lists, format_rules, hash_rules
from cranfield.campaign.rules.task_rules import FILE_FIELDS, TaskRules, format_time, format_utc
from cranfield.campaign.store import records
from cranfield.campaign.store.records import (
    RELEASES,
    JudgmentsRecord,
    ReleaseRecord,
    Submission,
    read_json,
)
from cranfield.campaign.submitting.submit import check_reason
from cranfield.collection.files.lines import RUN
from cranfield.collection.files.writing import write_qrels
from cranfield.collection.judged.coverage import Coverage, find_lowest_relevant_grade
from cranfield.collection.metadata.reading import MAX_BYTES, find_header
from cranfield.evaluation.evaluation import Evaluation, describe_effects
from cranfield.measures import parse_measures
from cranfield.reporting.page.report_page import report
from cranfield.significance.comparison.result import MORE_RESAMPLES
from cranfield.sources.archives import open_decompressed
from cranfield.sources.chunks import CHUNK_BYTES, CHUNKS_AT_ONCE, Source
from cranfield.sources.values import parse_integers

EXCLUDED = (
    "contacts of teams",
    "runs that were refused, replaced or withdrawn",
    "names of submitted files, and of the people in the log of events",
    "the log of events, and warnings of the checks of runs",
    "other versions of the judgments",
)
"""Data that are excluded from every release; its README lists them."""

EXCLUDED_OF_HIDDEN = (
    "for runs of anonymous teams: descriptions, metadata, answers in free text, hashes and dates"
    " of submission"
)
"""Data of anonymous teams that are excluded from a release."""


@dataclass(frozen=True)
class ReleasedRun:
    """A run of a release, with its public and its private record."""

    public: Submission  # public fields, and public names
    record: Submission  # record in the registry, which is not released
    is_hidden: bool  # whether its team is anonymous


def make_released_runs(
    runs: Sequence[Submission],
    hidden_teams: Collection[str],
    task_rules: TaskRules,
    secret: str,
    metadata: Mapping[int, str],
) -> tuple[ReleasedRun, ...]:
    """Return the runs of a release, in order of public tag.

    The secret determines the order of hidden teams and of their runs: with it and the ids of all
    teams, the aliases can be resolved. `metadata` has the public metadata by submission id.
    """
    names = _assign_aliases(runs, hidden_teams, secret)
    free_text = {name for name, question in task_rules.questions.items() if not question.choices}
    public_runs = []
    for run in runs:
        is_hidden = run.team in hidden_teams
        team, tag = names[run.team, run.tag] if is_hidden else (run.team, run.tag)
        answers = {
            name: run.answers[name]
            for name in task_rules.questions
            if name in run.answers and not (is_hidden and name in free_text)
        }
        keys = ("task", "state", "type", "priority", "late", "pooled")
        fields = {name: getattr(run, name) for name in keys} | {"object": "", "received": ""}
        if not is_hidden:
            fields |= {"object": run.object, "received": run.received[:10]}
            fields |= {"description": run.description, "metadata": metadata.get(run.id)}
        public_record = Submission(id=0, team=team, tag=tag, bytes=0, answers=answers, **fields)
        public_runs.append(ReleasedRun(public_record, run, is_hidden))
    return tuple(sorted(public_runs, key=lambda item: item.public.tag))


def _assign_aliases(
    runs: Sequence[Submission], hidden_teams: Collection[str], secret: str
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return numbered aliases of hidden teams and runs, in an order that the secret decides."""

    def hash_name(name: str) -> str:
        return sha256(f"{secret}\n{name}".encode()).hexdigest()

    real_names = {name.casefold() for run in runs for name in (run.team, run.tag)}
    hidden_runs = [run for run in runs if run.team in hidden_teams]
    teams = sorted({run.team for run in hidden_runs}, key=hash_name)
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
        tags = sorted((run.tag for run in hidden_runs if run.team == team), key=hash_name)
        for k, tag in enumerate(tags, 1):
            names[team, tag] = (f"team {number}", f"team{number}-{k}")
    return names


_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*\n?")


def clean_run_text(data: bytes, alias: str | None = None, format: str = "trec") -> bytes:
    """Return the decompressed lines of a run, without comments and metadata.

    Lines of a run with an alias are rewritten: the second column is `Q0`, the last column is the
    alias, and ranks that are not integers become 0. Line numbers in errors are those of the result.
    """
    with open_decompressed(BytesIO(data)) as stream:
        text = b"".join(Source("run", content=stream.read()).iterate_chunks())
    # A header without an end was already refused by the check of the run.
    if header := find_header(text[: 2 * MAX_BYTES], "the run"):
        text = text[header.offset + len(header.raw) :]
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if alias is None:
        return text
    chunks = Source("run", content=text).iterate_chunks(CHUNKS_AT_ONCE * CHUNK_BYTES)
    return b"".join(_anonymise(chunk, alias, format) for chunk in chunks)


def _anonymise(text: bytes, alias: str, format: str) -> bytes:
    """Return lines of a run with an alias as tag, after checking that they can be read back."""
    rank = pl.when(parse_integers(pl.col("rank")).is_not_null()).then("rank").otherwise(pl.lit("0"))
    lines = _read_columns(text, format).with_columns(q0=pl.lit("Q0"), rank=rank, tag=pl.lit(alias))
    has_blanks = lines["topic"].str.contains(" ").any() or lines["doc"].str.contains(" ").any()
    separator = ";" if format == "ntcir" else "\t" if has_blanks else " "
    csv = lines.write_csv(include_header=False, separator=separator, quote_style="never")
    new_text = csv.encode()
    if not _read_columns(new_text, format).equals(lines):
        reason = f"cannot be anonymised: its lines cannot be read back with the tag {quote(alias)}"
        raise InputError(reason, source="the run")
    return new_text


def _read_columns(text: bytes, format: str) -> pl.DataFrame:
    """Read lines of a run into six columns of text."""
    faults = Faults(TaskRules("release"))
    rows, _, _ = read_lines([text], faults, format)
    for fault in faults.sort_faults():
        if fault.code != "empty":
            raise InputError(fault.message, source="the run", line=fault.line)
    return rows.select(*RUN.columns)


def compress(text: bytes) -> bytes:
    """Compress bytes with xz and fixed settings, so that the result is reproducible.

    On runs, preset 0 is four times as fast as preset 3, and its files are not larger.
    """
    return lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset=0)


COLUMNS = ("tag", "team", "type", "priority", "late", "pooled", "received", "object", "description")
"""Fields of a run in `runs.csv`, before the answers; the column of `object` is named `sha256`."""


@dataclass(frozen=True)
class Payload:
    """Inputs of the files of a release."""

    campaign: OpenedCampaign
    submissions: tuple[Submission, ...]  # accepted runs in the registry, in order of arrival
    runs: tuple[ReleasedRun, ...]  # readable runs, in order of public tag
    judgments: JudgmentsRecord
    inputs: SheetInputs  # of the runs, with public names and fields only
    about: Mapping[str, Any]  # contents of `about.json`


def write_payload(folder: Path, payload: Payload) -> None:
    """Write all files of a release to a new folder."""
    about, inputs = payload.about, payload.inputs
    rules, task, runs, evaluation = inputs.rules, inputs.task, inputs.runs, inputs.evaluation
    scores = {name: evaluation[name] for name in about["measures"]}
    released_evaluation = replace(evaluation, scores=scores)
    if not about["scores_only"]:
        _write_runs(folder / "runs", payload)
        qrels = read_stored_qrels(payload.campaign, task, payload.judgments)
        write_qrels(qrels, folder / "judgments.txt")
    names = {run.team: inputs.teams.get(run.team, run.team) for run in runs}
    teams = pl.DataFrame(sorted(names.items()), {"id": pl.String, "name": pl.String}, orient="row")
    texts = {
        "runs.csv": _make_runs_table(runs, task).write_csv(),
        "teams.csv": teams.write_csv(),
        "rules.toml": format_rules(rules, payload.campaign.folder, [task.name]),
        "leaderboard.csv": leaderboard(released_evaluation, runs).to_csv(),
        "topic-statistics.csv": _make_statistics_table(released_evaluation, runs, task).write_csv(),
        **{f"metadata/{tag}.yml": text for tag, text in inputs.metadata.items()},
        "about.json": format_json(about),
    }
    files = {name: encode_text(text) for name, text in texts.items()}
    files |= {f"sheets/{name}": data for name, data in make_sheet_files(inputs.make_sheets())}
    write_files(folder, files)
    _write_scores(folder / "scores", released_evaluation)
    title = f"{rules.title}: {about['title']}"
    # As on the leaderboard, more than MAX_COMPARED runs are not compared.
    if len(evaluation.systems) <= MAX_COMPARED:
        results = [compare_if_possible(measure_scores) for measure_scores in scores.values()]
        comparisons = [result for result in results if not isinstance(result, str)]
        contents = comparisons if len(comparisons) == len(results) else released_evaluation
        report(contents, folder / "report.html", title=title, date=about["date"], jobs=1)
    lists = [getattr(task, name) for name in FILE_FIELDS]
    list_names = copy_lists(lists, payload.campaign.folder, folder, "a release")
    values = {"about": about, "lists": list_names}
    readme = render_text("release.md", exists=lambda name: (folder / name).exists(), **values)
    (folder / "README.md").write_bytes(encode_text(readme))


def _use_public_tags(evaluation: Evaluation, runs: Sequence[ReleasedRun]) -> Evaluation:
    """Return the evaluation with public tags as names of systems.

    The systems are in the order of the runs, by public tag, as the order of real tags is private.
    """
    tags = tuple(run.public.tag for run in runs)
    rows = dict(zip(evaluation.systems, evaluation.coverage.systems, strict=True))
    coverage = (replace(rows[run.record.tag], system=run.public.tag) for run in runs)
    # The order of topics of sheets, so that the cached comparison of the scores is used.
    topics = tuple(sort_topics_naturally(evaluation.topics))
    scores = {
        name: replace(values.select(topics, [run.record.tag for run in runs]), systems=tags)
        for name, values in evaluation.items()
    }
    judged_runs = replace(
        evaluation.judged,
        topics=topics,
        systems=tags,
        coverage=Coverage(tuple(coverage)),
        values={name: item.values for name, item in scores.items()},
    )
    return replace(evaluation, scores=scores, judged=judged_runs)


def _write_runs(folder: Path, payload: Payload) -> None:
    folder.mkdir()

    def write(run: ReleasedRun) -> None:
        data = records.read_object(payload.campaign.folder, run.record.object)
        alias = run.public.tag if run.is_hidden else None
        try:
            text = clean_run_text(data, alias, payload.inputs.task.format)
        except InputError as error:
            raise convert_error(error, InputError, f"run {quote(run.record.tag)}") from None
        (folder / f"{run.public.tag}.run.xz").write_bytes(compress(text))

    map_in_threads(write, payload.runs, None)


def _make_runs_table(runs: Sequence[Submission], task_rules: TaskRules) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {
        "sha256" if name == "object" else name: [getattr(run, name) for run in runs]
        for name in COLUMNS
    }
    for name in task_rules.questions:
        answers = [run.answers.get(name) for run in runs]
        columns[f"answer {name}" if name in columns else name] = answers
    dtypes = {"priority": pl.Int64, "late": pl.Boolean, "pooled": pl.Boolean}
    return pl.DataFrame(columns, schema={name: dtypes.get(name, pl.String) for name in columns})


def _write_scores(folder: Path, evaluation: Evaluation) -> None:
    """Write a table with a row per topic and run; rechunking makes the bytes reproducible."""
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


def _make_statistics_table(
    evaluation: Evaluation, runs: Sequence[Submission], task_rules: TaskRules
) -> pl.DataFrame:
    frames = []
    for name, scores in evaluation.items():
        for category in ("", *task_rules.categories):
            # The name of a group starts with its category: a value may be 'all', and two categories
            # may have the same value.
            values = get_category_values(runs, category) if category else {}
            groups = {tag: f"{category}={value}" for tag, value in values.items()}
            frame = topic_statistics(
                scores, groups, median=task_rules.median, min_runs=task_rules.min_category
            ).to_polars()
            frame = frame.filter(pl.col("group") != "all") if category else frame
            frames.append(frame.select(pl.lit(name).alias("measure"), pl.all()))
    return pl.concat(frames)


@dataclass(frozen=True)
class Release:
    """A release of a task; returned by :func:`release`.

    Attributes
    ----------
    id
        Id of the release, such as `adhoc-1`.
    task, judgments
        Name of the task, and version of its judgments.
    path
        Folder of the release, a BagIt bag.
    manifest
        SHA-256 of the tag manifest, which covers every byte of the bag; publish it.
    n_runs, n_teams, n_hidden_teams
        Numbers of runs, teams and anonymous teams.
    excluded
        Descriptions of the excluded data.
    notes
        Notes on runs accepted under earlier rules, on ties, and on topics without judgments or
        without a relevant document.
    """

    id: str
    task: str
    judgments: str
    path: Path
    manifest: str
    n_runs: int
    n_teams: int
    n_hidden_teams: int
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The numbers of runs and teams, and the version of the judgments, as text."""
        size = f"{inflect(self.n_runs, 'run')} of {inflect(self.n_teams, 'team')}"
        hidden_text = f" ({self.n_hidden_teams} anonymous)" if self.n_hidden_teams else ""
        return f"{size}{hidden_text}, judgment version {self.judgments}"

    def __repr__(self) -> str:
        return f"Release({self.id}: {self.summary})"


def release(
    campaign: OpenedCampaign,
    task: str | None = None,
    *,
    judgments: str | None = None,
    anonymous: bool = False,
    seed: Annotated[int, Integer(0)] = 0,
    scores_only: bool = False,
    date: str | None = None,
    note: str = "",
) -> Release:
    """Release a task: runs, judgments, scores and sheets, as a folder that never changes.

    Only fields that are known to be public are written. The same input gives the same bytes; if the
    newest release of the task that was not retracted has these bytes, no new release is made.

    Parameters
    ----------
    campaign
        The campaign.
    task, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    anonymous
        Whether to replace the names of all teams and runs by numbers. The seed and a secret in the
        log of the campaign determine the numbers.
    seed
        Seed of the random numbers of anonymous teams; must be 0 if no team is anonymous.
    scores_only
        Whether to release the scores without runs and judgments.
    date
        Date of the release, such as `2026-11-20`. Teams that are anonymous on this date are not
        named. By default the release has no date, and teams that are anonymous today are not named.
    note
        Public note for the README of the release.

    Raises
    ------
    PolicyError
        For an unknown task or version of the judgments, an invalid date, or a seed without effect.
    CranfieldError
        If no run can be released, or the campaign changed during the release.

    Warns
    -----
    CranfieldWarning
        For runs that cannot be read, if no new release is made, for a date before that of the
        newest release, and before the deadline of the task.
    """
    Integer(0).check("seed", seed)
    try:
        day = None if date is None else day_type.fromisoformat(date).isoformat()
    except (TypeError, ValueError):
        raise PolicyError(f"date must be a day such as 2026-11-20, got {quote(date)}") from None
    payload = _make_payload(campaign, task, judgments, anonymous, seed, scores_only, day, note)
    about, name, version = payload.about, payload.inputs.task.name, payload.judgments.version
    current_release, newest_day = _find_current_release(campaign, name)
    if current_release and day and newest_day and day < newest_day:
        newest_text = f"the newest release: {current_release.id}, {newest_day}"
        warn(f"the date {day} is before the date of {newest_text}")
    closes = payload.inputs.task.closes
    if closes is not None and campaign.clock() <= closes:
        reason = f"task {quote(name)} accepts runs until {format_time(closes)}"
        warn(f"{reason}; the release shows scores to teams that can still submit")
    bag_info = {
        "Bag-Software-Agent": f"cranfield {__version__}",
        "External-Description": f"{campaign.rules.title}: {about['title']}",
        **({"Bagging-Date": day} if day else {}),
    }
    options = {
        "judgments": version,
        "anonymous": anonymous,
        "seed": seed,
        "scores_only": scores_only,
        "date": date,
    }
    with _make_temporary_folder(campaign.folder / RELEASES, f"{name}.") as folder:
        new_folder = Path(folder)
        (new_folder / PAYLOAD).mkdir()
        write_payload(new_folder / PAYLOAD, payload)
        manifest = write_bag(new_folder, bag_info)
        if current_release and current_release.manifest == manifest:
            target = campaign.folder / current_release.path
            if not validate_bag(target) and hash_file(target / TAG_MANIFEST) == manifest:
                reason = f"the release would have the same bytes as {current_release.id}"
                warn(f"{reason}; no release was made")
                return _describe_release(current_release.id, target, manifest, payload)
        _make_private_and_sync(new_folder)
        with campaign.registry.change("release", name, options) as tx:
            if tx.list_submissions(name) != payload.submissions:
                raise _make_changed_error(name)
            pattern = re.compile(rf"{re.escape(name)}-(\d+)")
            matches = [pattern.fullmatch(record.id) for record in tx.list_releases()]
            release_id = f"{name}-{1 + max((int(m[1]) for m in matches if m), default=0)}"
            target = new_folder.with_name(release_id)
            if target.exists():
                # A killed process left a complete release without a record. The release is renamed
                # before it is removed, so that a folder of this name is never incomplete.
                with _make_temporary_folder(target.parent) as trash:
                    target.rename(Path(trash) / target.name)
            new_folder.rename(target)
            sync_folder(target.parent)
            created, path = format_utc(campaign.clock()), f"{RELEASES}/{release_id}"
            tx.insert(ReleaseRecord(release_id, name, created, version, path, manifest))
    return _describe_release(release_id, target, manifest, payload)


def _find_current_release(campaign: OpenedCampaign, task: str) -> tuple[ReleaseRecord | None, str]:
    """Return the newest release of a task that was not retracted, and its date or ''."""
    for record in reversed(campaign.registry.list_releases()):
        if record.task == task and record.state == "released":
            path = campaign.folder / record.path / PAYLOAD / "about.json"
            # A missing or damaged release has no date.
            with suppress(InputError):
                return record, str(read_json(path).get("date") or "")
            return record, ""
    return None, ""


def _describe_release(release_id: str, path: Path, manifest: str, payload: Payload) -> Release:
    about = payload.about
    return Release(
        id=release_id,
        task=about["task"],
        judgments=about["judgments"],
        path=path,
        manifest=manifest,
        n_runs=about["runs"],
        n_teams=about["teams"],
        n_hidden_teams=about["hidden_teams"],
        excluded=tuple(about["excluded"]),
        notes=tuple(about["notes"]),
    )


def _make_payload(
    campaign: OpenedCampaign,
    task: str | None,
    judgments: str | None,
    anonymous: bool,
    seed: int,
    scores_only: bool,
    date: str | None,
    note: str,
) -> Payload:
    """Select runs, judgments and public names, and score the runs."""
    task_rules = campaign.rules.get_task(task)
    judgments_record = find_judgments(campaign, task_rules.name, judgments)
    submissions = campaign.registry.list_submissions(task_rules.name)
    inputs = make_sheet_inputs(campaign, task_rules.name, judgments_record.version)
    evaluation = inputs.evaluation
    runs = [
        run for run in select_intact_runs(campaign, submissions) if run.tag in evaluation.systems
    ]
    known_ids = {run.id for run in runs}.union(campaign.unreadable_runs)
    if not known_ids.issuperset(run.id for run in submissions):
        raise _make_changed_error(task_rules.name)
    if not runs:
        raise make_no_readable_run_error(campaign, task_rules.name)
    teams = campaign.registry.list_teams()
    day = date or campaign.clock().astimezone(UTC).date().isoformat()
    hidden_teams = {team.id for team in teams if anonymous or day < (team.anonymous_until or "")}
    runs_with_metadata = [run for run in runs if run.metadata and run.team not in hidden_teams]
    public_parts = {run.id: select_public_run_metadata(run) for run in runs_with_metadata}
    metadata = {id: text for id, (text, _) in public_parts.items() if text}
    removed_keys = sorted({key for _, keys in public_parts.values() for key in keys})
    secret = _make_secret(campaign, seed)
    public_runs = make_released_runs(runs, hidden_teams, task_rules, secret, metadata)
    has_hidden = any(run.is_hidden for run in public_runs)
    if seed and not has_hidden:
        raise PolicyError(
            f"seed must be 0, got {seed}: it numbers anonymous teams, but no team is anonymous"
        )
    public_tags = {run.record.tag: run.public.tag for run in public_runs}
    ties = [
        replace(tie, system=public_tags[tie.system])
        for tie in inputs.ties
        if tie.system in public_tags
    ]
    # The order of real tags is private.
    ties.sort(key=lambda tie: (-tie.effect, tie.system))
    scoring = Scoring(campaign, task_rules.name, judgments=judgments_record.version)
    qrels, min_grade = scoring.qrels, find_lowest_relevant_grade(scoring.measures[0])
    known_rules = ("", hash_rules(campaign.rules))
    n_earlier = sum(run.rules not in known_rules for run in runs)
    verb = "was" if n_earlier == 1 else "were"
    earlier_note = f"{inflect(n_earlier, 'run')} {verb} accepted under earlier rules"
    n_unreadable = len(submissions) - len(runs)
    conditional_exclusions = {
        EXCLUDED_OF_HIDDEN: has_hidden,
        f"keys of the metadata of runs: {', '.join(removed_keys)}": removed_keys,
        f"{inflect(n_unreadable, 'run')} that cannot be read": n_unreadable,
        "runs and judgments; only results computed from them are included": scores_only,
    }
    excluded = [*EXCLUDED, *(text for text, applies in conditional_exclusions.items() if applies)]
    pool_depths = {inputs.pool_depths.get(run.tag) for run in runs if run.pooled}
    about: dict[str, Any] = {
        "campaign": campaign.rules.id,
        "campaign_title": campaign.rules.title,
        "description": campaign.rules.description,
        "consent": campaign.rules.consent,
        "task": task_rules.name,
        "title": task_rules.title or task_rules.name,
        "date": date,
        "note": note,
        "judgments": judgments_record.version,
        "judged": len(qrels),
        "relevant": int((qrels.grades >= min_grade).sum()),
        "min_relevant_grade": min_grade,
        "measures": [*map(str, parse_measures(task_rules.measures, compat=evaluation.compat))],
        "categories": [*task_rules.categories],
        "median": task_rules.median,
        "runs": len(public_runs),
        "teams": len({run.public.team for run in public_runs}),
        "hidden_teams": len({run.public.team for run in public_runs if run.is_hidden}),
        "topics": len(evaluation.topics),
        "scores_only": scores_only,
        # None if it was not recorded, or differs between runs.
        "pool_depth": pool_depths.pop() if len(pool_depths) == 1 else None,
        "notes": [
            *([earlier_note] if n_earlier else []),
            *describe_effects(ties),
            *scoring.describe_topics(evaluation.topics),
        ],
        "excluded": excluded,
    }
    public_records = tuple(run.public for run in public_runs)
    public_inputs = replace(
        inputs,
        evaluation=_use_public_tags(evaluation, public_runs),
        runs=public_records,
        teams={team.id: team.name for team in teams if team.id not in hidden_teams},
        warnings={},
        metadata={run.tag: run.metadata for run in public_records if run.metadata},
        ties=ties,
        pool_depths={
            run.public.tag: inputs.pool_depths[run.record.tag]
            for run in public_runs
            if run.record.tag in inputs.pool_depths
        },
    )
    # Decisions on the leaderboard of the release, which has public tags.
    comparison = compare_if_possible(public_inputs.evaluation[about["measures"][0]])
    notes = () if isinstance(comparison, str) else comparison.notes
    close_notes = [text for text in notes if text.endswith(MORE_RESAMPLES)]
    about["notes"] += [text.removesuffix(MORE_RESAMPLES) for text in close_notes]
    return Payload(campaign, submissions, public_runs, judgments_record, public_inputs, about)


def _make_changed_error(task: str) -> CranfieldError:
    return CranfieldError(
        f"runs of {quote(task)} were added or removed during the release; release again"
    )


def _make_secret(campaign: OpenedCampaign, seed: int) -> str:
    """Return a secret: the hash of the first event, which no release contains, and the seed."""
    events = campaign.registry.list_events()
    first_hash = next(event.sha256 for event in events if event.action == "create")
    return f"{first_hash}\n{seed}"


def _make_temporary_folder(folder: Path, name: str = "") -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, which is removed unless it was renamed."""
    return tempfile.TemporaryDirectory(prefix=f".{name}", dir=folder, ignore_cleanup_errors=True)


def _make_private_and_sync(folder: Path) -> None:
    """Make a folder private, whatever the umask, and flush it to the disk."""
    paths = sorted(folder.rglob("*"))
    folders = [path for path in paths if path.is_dir()]
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    for path in (*folders, folder):
        sync_folder(path)


def retract(campaign: OpenedCampaign, release: str, reason: str) -> None:
    """Retract a release: write a public note beside its folder, which stays unchanged.

    Parameters
    ----------
    campaign
        The campaign.
    release
        Id of the release, such as `adhoc-1`.
    reason
        Public reason.

    Raises
    ------
    PolicyError
        For an unknown or already retracted release, and for an empty or unprintable reason.
    """
    check_reason(reason)
    with campaign.registry.change("retract", release, {"reason": reason}) as tx:
        releases = {record.id: record for record in tx.list_releases()}
        if release not in releases:
            names = ", ".join(releases) or "none"
            raise PolicyError(f"unknown release {quote(release)}; expected one of: {names}")
        if releases[release].state == "retracted":
            raise PolicyError(f"{release} is already retracted")
        note = {"release": release, "retracted": format_utc(campaign.clock()), "reason": reason}
        text = format_json(note).encode()
        # If the process is killed before the commit, a later retraction overwrites the note.
        path = campaign.folder / RELEASES / f"{release}.retracted.json"
        with open_atomically(path, is_private=True, is_synced=True) as out:
            out.write(text)
        retraction = sha256(text).hexdigest()
        tx.update(
            replace(releases[release], state="retracted", reason=reason, retraction=retraction)
        )
