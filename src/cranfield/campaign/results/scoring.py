"""Scoring of the accepted runs of a task, with a cache of scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, check_list, quote, warn
from cranfield.base.files import open_atomically
from cranfield.base.text import inflect, list_some
from cranfield.base.version import __version__
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.results.stored_inputs import (
    apply_to_runs,
    find_judgments,
    make_no_readable_run_error,
    make_topic_notes,
    read_stored_qrels,
)
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.topics import read_topic_ids
from cranfield.campaign.store.records import SCORES, JudgmentsRecord, ScoreFile, Submission
from cranfield.collection.judged.coverage import (
    Coverage,
    Scorable,
    Scorer,
    SystemCoverage,
    find_lowest_relevant_grade,
)
from cranfield.collection.judged.judged_runs import JudgedRuns, describe_judging
from cranfield.collection.judged.judging import judge
from cranfield.collection.policies import Policies, make_policies
from cranfield.collection.qrels import Qrels, sort_topics
from cranfield.evaluation.evaluation import (
    Evaluation,
    TieEffect,
    describe_effects,
    find_tie_effects,
    score,
)
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure


def hash_values(*parts: object) -> str:
    """Return the SHA-256 of the JSON text of values."""
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_cached_table(
    campaign: OpenedCampaign, task: str, basis: str
) -> tuple[pl.DataFrame, dict[str, str]] | None:
    """Return a cached table and facts about it, or None; warn if its file is damaged or missing.

    `basis` is the SHA-256 of everything that the table depends on.
    """
    for record in campaign.registry.list_score_files(task):
        if record.about.get("basis") != basis:
            continue
        # The bytes are read only once, because another process may replace the file.
        try:
            data, problem = (campaign.folder / record.path).read_bytes(), "is damaged"
        except OSError:
            data, problem = b"", "is missing"
        if sha256(data).hexdigest() == record.sha256:
            return pl.read_parquet(BytesIO(data)), record.about
        if record in campaign.registry.list_score_files(task):
            warn(f"{record.path} {problem}: its scores are computed again")
    return None


def cache_table(
    campaign: OpenedCampaign,
    judgments: JudgmentsRecord,
    basis: str,
    frame: pl.DataFrame,
    facts: Mapping[str, str],
) -> None:
    """Write a table to a file and register it; it replaces a table with the same basis."""
    task, version = judgments.task, judgments.version
    buffer = BytesIO()
    frame.write_parquet(buffer, statistics=False)
    data = buffer.getvalue()
    sha256_text = sha256(data).hexdigest()
    path = f"{SCORES}/{sha256_text[:32]}.parquet"
    (campaign.folder / SCORES).mkdir(mode=0o700, exist_ok=True)
    with open_atomically(campaign.folder / path, is_private=True, is_synced=True) as out:
        out.write(data)
    key = hash_values(task, version, basis)
    record = ScoreFile(key, task, version, path, sha256_text, {"basis": basis, **facts})
    details = {"judgments": version, **({"runs": int(facts["runs"])} if "runs" in facts else {})}
    with campaign.registry.change("score", task, details) as change:
        previous_record = {file.key: file for file in change.list_score_files(task)}.get(key)
        (change.update if previous_record else change.insert)(record)
        # Tables with equal values have the same path.
        used_paths = {file.path for file in change.list_score_files()}
    if previous_record and previous_record.path not in used_paths:
        (campaign.folder / previous_record.path).unlink(missing_ok=True)


FORMAT = "scores 4"
"""Format of the files of scores, which is part of the key of the cache.

A row without a topic has the overall values of a run, and its coverage as JSON. Any other row has
the scores of a run for a topic. Null means that a score was not computed; NaN is a missing score.
"""

SCHEMA = {"object": pl.String, "topic": pl.String, "coverage": pl.String, "max_grade": pl.Int64}
"""Columns of files of scores, besides a column for each measure."""


def make_scores_table(evaluation: Evaluation, objects: Mapping[str, str]) -> pl.DataFrame:
    """Return an evaluation as a table of scores; `objects` has the SHA-256 of each run by tag."""
    hashes, topics = [objects[system] for system in evaluation.systems], list(evaluation.topics)
    coverage = {system.system: json.dumps(asdict(system)) for system in evaluation.coverage.systems}
    run_rows = pl.DataFrame(
        {
            "object": hashes,
            "coverage": [coverage[system] for system in evaluation.systems],
            **{name: scores.overall() for name, scores in evaluation.items()},
        }
    )
    topic_rows = pl.DataFrame(
        {
            "object": np.repeat(hashes, len(topics)),
            "topic": topics * len(hashes),
            **{name: scores.values.T.ravel() for name, scores in evaluation.items()},
        },
        schema_overrides={"object": pl.String, "topic": pl.String},
    )
    grade = pl.lit(evaluation.judged.max_grade, pl.Int64).alias("max_grade")
    return pl.concat([run_rows, topic_rows], how="diagonal").with_columns(grade)


def merge_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per run and topic, with the first non-null value of each column.

    Rows of the same run and topic do not contradict each other.
    """
    if table.select("object", "topic").is_unique().all():
        return table
    rows = table.group_by("object", "topic", maintain_order=True)
    return rows.agg(pl.all().drop_nulls().first())


@dataclass(frozen=True, eq=False)
class CachedRuns(Scorable):
    """Runs with cached scores and coverage, without their rankings."""

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    policies: Policies
    coverage: Coverage
    highest_grade: int  # of all judgments
    values: Mapping[str, Floats]  # scores by text form, shape (topics, systems)

    @property
    def max_grade(self) -> int:
        return self.highest_grade

    def compute_scores(self, measures: Sequence[Scorer]) -> list[Floats]:
        return [self.values[str(measure)] for measure in measures]

    def describe_settings(self, measure: Scorer) -> dict[str, Any]:
        return describe_judging(self.policies, measure, self.max_grade)


def split_coverage(coverage: Coverage, task: TaskRules) -> tuple[Coverage, list[str]]:
    """Return the coverage without topics outside the task, and a note on these topics, if any."""
    topics = read_topic_ids(task)
    if topics is None:
        return coverage, []
    task_topics = set(topics)
    topics_outside = {
        row.system: other_topics
        for row in coverage.systems
        if (other_topics := [topic for topic in row.extra if topic not in task_topics])
    }
    if not topics_outside:
        return coverage, []
    rows = [
        replace(row, extra=tuple(topic for topic in row.extra if topic in task_topics))
        for row in coverage.systems
    ]
    system = max(topics_outside, key=lambda system: len(topics_outside[system]))
    topics_text = list_some(map(quote, topics_outside[system]), 5)
    verb = "has" if len(topics_outside) == 1 else "have"
    note = (
        f"{len(topics_outside)} of {inflect(len(rows), 'system')} {verb} results for topics outside"
        f" the task, which are ignored (most in {quote(system)}:"
        f" {inflect(len(topics_outside[system]), 'topic')}: {topics_text})"
    )
    return replace(coverage, systems=tuple(rows)), [note]


class Scoring:
    """Scoring of the accepted runs of a task; the parameters are those of :func:`score_runs`."""

    def __init__(
        self,
        campaign: OpenedCampaign,
        task: str | None = None,
        measures: Sequence[str | Measure] | None = None,
        judgments: str | None = None,
    ) -> None:
        check_list("measures", measures)
        self.campaign = campaign
        self.rules: TaskRules = campaign.rules.get_task(task)
        options: dict[str, Any] = dict(self.rules.judging)
        self.compat: str | None = options.pop("compat", None)
        self.policies = make_policies(self.compat, **options)
        self.measures = parse_measures(measures or self.rules.measures, compat=self.compat)
        self.judgments: JudgmentsRecord = find_judgments(campaign, self.rules.name, judgments)
        accepted_runs = campaign.registry.list_submissions(self.rules.name)
        self.submissions = tuple(sorted(accepted_runs, key=lambda run: run.tag))
        if not self.submissions:
            raise CranfieldError(f"task {quote(self.rules.name)} has no accepted run")
        self.notes_on_other_topics: list[str] = []  # of the latest evaluation

    @property
    def objects(self) -> dict[str, str]:
        """SHA-256 of the bytes of each run by tag, in order of tag."""
        return {run.tag: run.object for run in self.submissions}

    def compute_basis(self, covers_all_runs: bool = False) -> str:
        """Return a hash of everything that scores depend on, except the run and the measure.

        For measures that depend on other runs, the hash covers the bytes of all runs, too.
        """
        return hash_values(
            FORMAT,
            __version__,
            self.judgments.object,
            read_topic_ids(self.rules),
            self.policies.describe(),
            self.rules.format,
            self.objects if covers_all_runs else {},
        )

    def make_table(self) -> pl.DataFrame:
        """Return the scores of all runs; runs without cached scores are scored.

        Unreadable runs are removed from the submissions.
        """
        n_before = len(self.submissions)
        tables = [self._score_with_cache(depends_on_others) for depends_on_others in (False, True)]
        if len(self.submissions) < n_before:
            # Runs were removed, and some measures depend on the set of all runs.
            return self.make_table()
        table = pl.concat(tables, how="diagonal")
        return merge_rows(table.filter(pl.col("object").is_in(list(self.objects.values()))))

    def _score_with_cache(self, depends_on_others: bool) -> pl.DataFrame:
        """Return scores by the measures that depend on other runs, or by those that do not."""
        measures = [
            measure
            for measure in self.measures
            if measure.info.depends_on_others == depends_on_others
        ]
        names = [str(measure) for measure in measures]
        table = pl.DataFrame(schema={**SCHEMA, **dict.fromkeys(names, pl.Float64)})
        if not measures:
            return table
        basis = self.compute_basis(depends_on_others)
        if cached_table := read_cached_table(self.campaign, self.rules.name, basis):
            table = pl.concat([table, cached_table[0]], how="diagonal")
        objects = pl.DataFrame({"object": list(dict.fromkeys(self.objects.values()))})
        run_rows = table.filter(pl.col("topic").is_null())
        scored_runs = objects.join(run_rows, on="object", how="left").select("object", *names)
        is_missing = pl.any_horizontal(pl.col(names).is_null())
        missing_objects = scored_runs.filter(is_missing)["object"].to_list()
        if missing_objects:
            evaluation = self._evaluate(
                [run for run in self.submissions if run.object in missing_objects],
                [measure for measure in measures if scored_runs[str(measure)].has_nulls()],
            )
            excluded_ids = self.campaign.unreadable_runs
            self.submissions = tuple(run for run in self.submissions if run.id not in excluded_ids)
            if not self.submissions:
                raise make_no_readable_run_error(self.campaign, self.rules.name)
            if evaluation is not None:
                new_rows = make_scores_table(evaluation, self.objects)
                table = merge_rows(pl.concat([table, new_rows], how="diagonal"))
                facts = {"runs": str(table["object"].n_unique())}
                cache_table(self.campaign, self.judgments, basis, table, facts)
        return table.select(*SCHEMA, *names)

    def _evaluate(
        self, runs: Sequence[Submission], measures: Sequence[Measure]
    ) -> Evaluation | None:
        """Score runs from their bytes; return None if no run can be read."""
        try:
            judged_runs = self._judge(runs)
        except InputError:
            if len(runs) == len(self.objects):
                raise
            # A run without a judged topic can only be judged with other runs.
            judged_runs = self._judge(self.submissions)
        # Scores are cached by the text form of the measure, not by its requested name.
        measures = [measure() for measure in measures]
        return None if judged_runs is None else score(judged_runs, measures, compat=self.compat)

    def _judge(self, runs: Sequence[Submission]) -> JudgedRuns | None:
        return apply_to_runs(
            *(self.campaign, self.rules, runs),
            lambda readable: judge(readable, self.qrels, **self.policies.describe()),
        )

    def evaluate(self) -> Evaluation:
        """Return the scores by topic."""
        table = self.make_table()
        names = [str(measure) for measure in self.measures]
        # Skip topics without scores, which only runs outside the submissions have.
        is_scored = pl.any_horizontal(pl.col(names).is_not_nan())
        cells = table.filter(pl.col("topic").is_not_null() & is_scored)
        topics = sort_topics(cells["topic"].unique().to_list())
        # Runs with the same bytes have the same scores.
        runs = pl.DataFrame({"object": list(self.objects.values())})
        grid = runs.join(pl.DataFrame({"topic": topics}), how="cross", maintain_order="left_right")
        scores = grid.join(cells, on=["topic", "object"], how="left", maintain_order="left")
        shape = (len(self.objects), len(topics))
        values = {name: np.array(scores[name].fill_null(np.nan)).reshape(shape).T for name in names}
        coverage = Coverage(self._compute_coverage(table))
        coverage, self.notes_on_other_topics = split_coverage(coverage, self.rules)
        cached_runs = CachedRuns(
            tuple(topics),
            tuple(self.objects),
            self.policies,
            coverage,
            table["max_grade"][0],
            values,
        )
        return score(cached_runs, self.measures, compat=self.compat)

    def make_notes(self, evaluation: Evaluation) -> list[str]:
        """Return notes on ties, topics without relevant judgments, and topics outside the task."""
        notes = [*describe_effects(self.find_ties(evaluation))]
        return notes + self.describe_topics(evaluation.topics) + self.notes_on_other_topics

    def find_ties(self, evaluation: Evaluation) -> list[TieEffect]:
        """Return the effects of ties that :func:`cranfield.evaluate` reports; they are cached."""
        measures = [measure for measure in self.measures if not measure.info.depends_on_others]
        tied_tags = [row.system for row in evaluation.coverage.systems if row.n_tied and measures]
        basis = hash_values("ties", self.compute_basis(), [str(measure) for measure in measures])
        table = pl.DataFrame(schema={"object": pl.String, "effect": pl.String})
        if cached_table := read_cached_table(self.campaign, self.rules.name, basis):
            table = cached_table[0]
        uncached_objects = {self.objects[tag] for tag in tied_tags} - {*table["object"]}
        runs = [run for run in self.submissions if run.object in uncached_objects]
        if runs and (judged_runs := self._judge(runs)):
            new_effects = {self.objects[tag]: "" for tag in judged_runs.systems}
            for tie in find_tie_effects(
                judged_runs, score(judged_runs, measures, compat=self.compat)
            ):
                new_effects[self.objects[tie.system]] = json.dumps(asdict(tie))
            new_rows = pl.DataFrame([*new_effects.items()], table.schema, orient="row")
            table = pl.concat([table, new_rows])
            cache_table(self.campaign, self.judgments, basis, table, {})
        effects = dict(table.iter_rows())
        fields = {tag: json.loads(effects.get(self.objects[tag]) or "{}") for tag in tied_tags}
        ties = [TieEffect(**(values | {"system": tag})) for tag, values in fields.items() if values]
        return sorted(ties, key=lambda tie: -tie.effect)

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments of the topics of the task."""
        return read_stored_qrels(self.campaign, self.rules, self.judgments)

    def describe_topics(self, topics: Sequence[str]) -> list[str]:
        """Return notes on topics without judgments and topics without a relevant document."""
        qrels, min_grade = self.qrels, find_lowest_relevant_grade(self.measures[0])
        notes = make_topic_notes(qrels, self.rules, f"judgment version {self.judgments.version}")
        is_relevant = qrels.grades >= min_grade
        relevant_topics = {qrels.topics[code] for code in np.unique(qrels.codes[is_relevant])}
        empty_topics = [topic for topic in topics if topic not in relevant_topics]
        if not empty_topics:
            return notes
        verb, names = "has" if len(empty_topics) == 1 else "have", map(quote, empty_topics)
        return [
            *notes,
            f"{len(empty_topics):,} of {inflect(len(topics), 'topic')} {verb} no document of grade"
            f" {min_grade} or higher, so no run can score there: {list_some(names, 5)}",
        ]

    def _compute_coverage(self, table: pl.DataFrame) -> tuple[SystemCoverage, ...]:
        """Return the coverage of each run by the judgments."""
        run_rows = table.filter(pl.col("topic").is_null())
        texts_by_run = dict(zip(run_rows["object"], run_rows["coverage"], strict=True))
        coverage = []
        for tag, sha256_text in self.objects.items():
            fields = json.loads(texts_by_run[sha256_text]) | {"system": tag}
            topics = {name: tuple(fields[name]) for name in ("missing", "extra")}
            coverage.append(SystemCoverage(**fields | topics))
        return tuple(coverage)


def score_runs(
    campaign: OpenedCampaign,
    task: str | None = None,
    *,
    measures: Sequence[str | Measure] | None = None,
    judgments: str | None = None,
) -> Evaluation:
    """Score the accepted runs of a task, using cached scores where possible.

    Parameters
    ----------
    campaign
        The campaign.
    task
        Name of the task; optional if there is only one task.
    measures
        Measures, such as `nDCG@10`; by default the measures of the rules.
    judgments
        Version of the judgments; by default the newest version.

    Returns
    -------
    Evaluation
        Scores of the accepted runs, in order of tag, as :func:`cranfield.evaluate` computes them
        with the options of the rules. The folder `scores/` caches scores by the bytes of the run
        and of the judgments, the measure, the policies and the version of cranfield. Scores by a
        measure that depends on other runs, such as `URisk`, are valid for one set of runs only.

    Raises
    ------
    CranfieldError
        If the task, the version or a measure is unknown, or the task has no accepted run or no
        judgments.
    InputError
        If no run can be read.

    Warns
    -----
    CranfieldWarning
        If a run without cached scores cannot be read (it is excluded), or if a file of scores is
        damaged or missing (its scores are computed again).
    """
    return Scoring(campaign, task, measures, judgments).evaluate()
