"""Stored runs and judgments of a campaign, and pools of its runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from os import fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import numpy as np
import polars as pl

from cranfield.assess.pools.pool import Pool
from cranfield.assess.pools.pool import pool as pool_runs
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_list,
    collect_warnings,
    convert_error,
    quote,
    warn,
)
from cranfield.base.files import hash_file
from cranfield.base.kinds import Integer
from cranfield.base.text import inflect, list_some, sanitise
from cranfield.campaign.checks.checking import is_unknown_document
from cranfield.campaign.checks.report import get_severity
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.rules.task_rules import (
    SAFE_NAME_RULE,
    PoolRules,
    TaskRules,
    format_utc,
    is_safe_name,
)
from cranfield.campaign.rules.topics import read_topic_ids
from cranfield.campaign.store import records
from cranfield.campaign.store.records import JudgmentsRecord, Submission
from cranfield.collection.files.lines import BLANKS
from cranfield.collection.files.many_runs import Runs, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.judging import can_be_read
from cranfield.collection.policies import Policies, make_policies
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source

MAX_REMOVED = 0.1
"""Maximum proportion of judgments that a new version may drop without `drop_judgments`."""


def add_judgments(
    campaign: OpenedCampaign,
    qrels: PathName,
    task: str | None = None,
    *,
    version: str,
    note: str = "",
    drop_judgments: bool = False,
) -> JudgmentsRecord:
    """Add a version of a task's judgments.

    Parameters
    ----------
    campaign, task
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    qrels
        File of judgments in TREC format: lines of topic, iteration, document and grade, compressed
        or not.
    version
        Name of the version, such as `1`. An existing version is never changed.
    note
        Note about the version.
    drop_judgments
        Whether to accept judgments that lack a topic, or more than a tenth of the judgments, of the
        newest version.

    Returns
    -------
    JudgmentsRecord
        The new record, or the record of the existing version with the same bytes.

    Raises
    ------
    InputError
        For an unreadable file, judgments without a topic of the task and, unless the rules accept
        them, ids with blanks.
    PolicyError
        For an existing version with different bytes, a version that is not a valid file name, and
        missing topics or judgments of the newest version.

    Warns
    -----
    CranfieldWarning
        For topics outside the task (they are ignored), topics of the task without judgments,
        documents that are not in the collection, and a file that is already stored.
    """
    rules = campaign.rules.get_task(task)
    if not is_safe_name(version):
        raise PolicyError(f"version must be {SAFE_NAME_RULE}, got {quote(version)}")
    source = Source(fspath(qrels))
    # A pipe can be read only once, so a copy is checked and stored.
    with TemporaryDirectory(prefix=".campaign.", dir=campaign.folder) as folder:
        copy = Path(folder) / f"judgments{source.suffix}"
        with source.open_raw() as raw, copy.open("xb") as out:
            shutil.copyfileobj(raw, out)
        return _add_copy(campaign, rules, copy, source.name, version, note, drop_judgments)


def _add_copy(
    campaign: OpenedCampaign,
    rules: TaskRules,
    path: Path,
    name: str,
    version: str,
    note: str,
    drop_judgments: bool,
) -> JudgmentsRecord:
    """Check a copy of a file of judgments, and add it; `name` is the name of the file."""
    suffix, source = path.suffix, Source(str(path), label=name)
    is_tsv = suffix == ".tsv"
    table_reason = (
        f"judgments of a campaign must be in TREC format, got {suffix}; to convert a table of"
        " labels, such as a judging sheet with grades: cranfield labels"
        f" ASSESSOR={name} --qrels FILE"
    )
    if suffix in FORMAT_OF_SUFFIX and not is_tsv:
        raise InputError(table_reason, source=name)
    try:
        # Without a header, TSV such as the qrels.dev.tsv of MS MARCO is lines of text.
        judgments = read_qrels(source, format="trec" if is_tsv else "auto")
    except InputError as error:
        if is_tsv and error.line == 1:
            raise InputError(table_reason, source=name) from None
        if can_be_read(source, "run"):
            raise InputError(f"{error}; the file seems to be a run") from None
        raise
    if get_severity("id-blank", rules) == "error":
        _check_blanks(judgments)
    notes = make_topic_notes(judgments, rules, name)
    versions = campaign.registry.list_judgments(rules.name)
    is_new = version not in {record.version for record in versions}
    if versions and is_new and not drop_judgments:
        _check_missing_judgments(judgments, read_stored_qrels(campaign, rules, versions[-1]))
    for topic_note in notes:
        warn(topic_note)
    if get_severity("document-unknown", rules) != "off":
        _warn_of_unknown_documents(judgments, rules)
    sha256 = hash_file(path)
    duplicate_record = next((record for record in versions if record.object == sha256), None)
    if duplicate_record is not None:
        is_same = duplicate_record.version == version
        ending = "; nothing was added" if is_same else ""
        warn(f"the file has the same bytes as version {quote(duplicate_record.version)}{ending}")
        if is_same:
            return duplicate_record
    task_topics = read_topic_ids(rules) or judgments.topics
    is_of_task = np.isin(np.array(judgments.topics), np.array(task_topics))
    n_rows, added = int(is_of_task[judgments.codes].sum()), format_utc(campaign.clock())
    details = {"version": version, "rows": n_rows}
    with campaign.registry.change("judgments", rules.name, details) as change:
        if version in {record.version for record in change.list_judgments(rules.name)}:
            reason = "already exists and cannot be changed; choose a new name"
            raise PolicyError(f"version {quote(version)} {reason}")
        sha256, _ = records.put_object(campaign.folder, path)
        return change.insert(JudgmentsRecord(rules.name, version, sha256, n_rows, added, note))


def compare_versions(qrels: Qrels, earlier_qrels: Qrels) -> tuple[int, int, int]:
    """Return numbers of judgments (of topic, subtopic, document) added, changed and removed."""
    new_rows, old_rows = (
        judgments.to_polars().with_columns(
            subtopic=pl.lit("") if judgments.subtopics is None else judgments.subtopics
        )
        for judgments in (qrels, earlier_qrels)
    )
    pairs = new_rows.join(old_rows, on=["topic", "subtopic", "doc"])
    n_changed = int((pairs["grade"] != pairs["grade_right"]).sum())
    return new_rows.height - pairs.height, n_changed, old_rows.height - pairs.height


def _check_missing_judgments(qrels: Qrels, newest_qrels: Qrels) -> None:
    """Check that judgments have all topics, and most judgments, of the newest version."""
    topics, advice = set(qrels.topics), "if they were dropped, set drop_judgments=True"
    if missing_topics := [quote(topic) for topic in newest_qrels.topics if topic not in topics]:
        verb, names = "has" if len(missing_topics) == 1 else "have", list_some(missing_topics, 5)
        reason = f"that the newest version judges {verb} no judgments: {names}"
        raise PolicyError(f"{inflect(len(missing_topics), 'topic')} {reason}; {advice}")
    n_removed = compare_versions(qrels, newest_qrels)[2]
    if n_removed > MAX_REMOVED * len(newest_qrels):
        reason = f"{n_removed:,} of {inflect(len(newest_qrels), 'judgment')} of the newest version"
        raise PolicyError(f"{reason} are missing; {advice}")


def _check_blanks(qrels: Qrels) -> None:
    """Check that no id has a blank, which separates the columns of the TREC format."""
    blank = f"[{BLANKS}]"
    has_blank = pl.Series(qrels.topics, dtype=pl.String).str.contains(blank).to_numpy()
    rows = np.flatnonzero(qrels.docs.str.contains(blank).to_numpy() | has_blank[qrels.codes])
    if rows.size:
        row = int(rows[0])
        reason = "a topic or document contains a blank, which separates the columns of judgments"
        raise qrels.origin.make_row_error(
            row, reason, qrels.topics[qrels.codes[row]], qrels.docs[row]
        )


def _warn_of_unknown_documents(qrels: Qrels, rules: TaskRules) -> None:
    """Warn of judged documents that are not in the collection."""
    unknown_docs = qrels.docs.filter(pl.Series(is_unknown_document(qrels.docs, rules)))
    if len(unknown_docs):
        names = list_some(map(quote, unknown_docs.unique().sort()), 5)
        verb, nouns = ("is", "a document") if len(unknown_docs) == 1 else ("are", "documents")
        warn(
            f"{len(unknown_docs):,} of {inflect(len(qrels), 'judgment')} {verb} of {nouns} outside"
            f" the collection ({names}), but {verb} used for scores"
        )


def make_topic_notes(qrels: Qrels, rules: TaskRules, source: str) -> list[str]:
    """Return notes on topics that only the judgments or only the task have."""
    topics = read_topic_ids(rules)
    if topics is None:
        return []
    extra_topics = [topic for topic in qrels.topics if topic not in set(topics)]
    missing_topics = [topic for topic in topics if topic not in set(qrels.topics)]
    if len(missing_topics) == len(topics):
        reason = f"the judgments have no topic of task {quote(rules.name)}"
        raise InputError(reason, source=source, topic=qrels.topics[0])
    verb = "is" if len(extra_topics) == 1 else "are"
    problems = {
        f"of the judgments {verb} not in the task and {verb} ignored": extra_topics,
        f"of the task {'has' if len(missing_topics) == 1 else 'have'} no judgments": missing_topics,
    }
    return [
        f"{inflect(len(names), 'topic')} {problem}: {list_some(map(quote, names), 5)}"
        for problem, names in problems.items()
        if names
    ]


def find_judgments(
    campaign: OpenedCampaign, task: str, version: str | None = None
) -> JudgmentsRecord:
    """Return the record of a version of a task's judgments, by default the newest."""
    versions = campaign.registry.list_judgments(task)
    if not versions:
        hint = "(add them with `cranfield campaign judgments`)"
        raise CranfieldError(f"task {quote(task)} has no judgments {hint}")
    if version is None:
        return versions[-1]
    for record in versions:
        if record.version == version:
            return record
    names = ", ".join(quote(record.version) for record in versions)
    problem = f"unknown version {quote(version)} of the judgments"
    raise PolicyError(f"{problem}; expected one of: {names}")


def read_stored_qrels(campaign: OpenedCampaign, rules: TaskRules, record: JudgmentsRecord) -> Qrels:
    """Read a version of the judgments, without topics outside the task."""
    path = records.find_object(campaign.folder, record.object)
    if hash_file(path) != record.object:
        raise InputError(
            "the stored bytes differ from the added file",
            source=f"judgment version {record.version}",
        )
    qrels = read_qrels(Source(str(path), label=f"judgment version {record.version}"))
    topics = read_topic_ids(rules)
    if topics is None or set(qrels.topics) <= set(topics):
        return qrels
    frame = qrels.to_polars()
    return read_qrels(frame.filter(frame["topic"].is_in(list(topics))))


FunctionResult = TypeVar("FunctionResult")
"""Type of the results of a function of runs."""


def read_stored_runs(
    campaign: OpenedCampaign, rules: TaskRules, submissions: Iterable[Submission]
) -> Runs:
    """Return the runs of submissions, by tag, without comparing their bytes with the hashes."""
    files = {
        run.tag: Source(str(records.find_object(campaign.folder, run.object)), label=_name_run(run))
        for run in submissions
    }
    return read_runs(files, format=rules.format)


def _name_run(submission: Submission) -> str:
    """Return the label of a stored run in messages: its tag and the name of the submitted file."""
    file = f" ({sanitise(submission.source)})" if submission.source else ""
    return f"run {quote(submission.tag)}{file}"


def read_stored_run(campaign: OpenedCampaign, rules: TaskRules, submission: Submission) -> Run:
    """Read the run of a submission; an `InputError` about its bytes names the tag."""
    try:
        _check_object(campaign, submission)
        return read_stored_runs(campaign, rules, [submission])[0]
    except InputError as error:
        raise convert_error(error, InputError, f"run {quote(submission.tag)}") from None


def select_intact_runs(
    campaign: OpenedCampaign, submissions: Iterable[Submission]
) -> list[Submission]:
    """Return the submissions whose stored bytes are unchanged; warn once of each other run."""
    return _select_readable_runs(campaign, submissions, lambda run: _check_object(campaign, run))


def apply_to_runs(
    campaign: OpenedCampaign,
    rules: TaskRules,
    submissions: Sequence[Submission],
    function: Callable[[Runs], FunctionResult],
) -> FunctionResult | None:
    """Call a function with the runs that can be read, by tag; None if no run can be read.

    Unreadable runs are excluded with a warning, and recorded in `campaign.unreadable_runs`.
    """
    runs = select_intact_runs(campaign, submissions)
    while runs:
        try:
            return function(read_stored_runs(campaign, rules, runs))
        except InputError:
            # Reading runs one by one is slow, and only needed to find the unreadable runs.
            new_runs = _select_readable_runs(
                campaign, runs, lambda run: read_stored_run(campaign, rules, run)
            )
            if len(new_runs) == len(runs):
                raise
            runs = new_runs
    return None


def make_no_readable_run_error(campaign: OpenedCampaign, task: str) -> InputError:
    """Return the error for a task without a readable run."""
    reasons = list_some(campaign.unreadable_runs.values(), 3)
    return InputError(f"no accepted run can be read: {reasons}", source=f"task {quote(task)}")


def _check_object(campaign: OpenedCampaign, run: Submission) -> None:
    path = records.find_object(campaign.folder, run.object)
    if not path.is_file():
        raise InputError("is missing from objects/")
    if hash_file(path) != run.object:
        raise InputError("the stored bytes differ from the submitted file")


def _select_readable_runs(
    campaign: OpenedCampaign, runs: Iterable[Submission], reader: Callable[[Submission], object]
) -> list[Submission]:
    """Return the readable runs; record each unreadable run, and warn of it once."""
    readable_runs = []
    for run in runs:
        try:
            reader(run)
        except InputError as error:
            reason = str(convert_error(error, InputError, f"run {quote(run.tag)}"))
            if run.id not in campaign.unreadable_runs:
                warn(f"{reason}; the run is excluded")
            campaign.unreadable_runs[run.id] = reason
        else:
            readable_runs.append(run)
    return readable_runs


def make_judging_policies(rules: TaskRules) -> Policies:
    """Return the policies of judging of a task."""
    return make_policies(**dict[str, Any](rules.judging))


def select_pool_runs(
    campaign: OpenedCampaign, task: str | None = None, without: Sequence[str] = ()
) -> tuple[Submission, ...]:
    """Return the accepted runs that were in time and have a priority that the rules pool.

    Runs whose tags are in `without` are excluded.
    """
    rules = campaign.rules.get_task(task)
    priorities = (rules.pool or PoolRules()).priorities
    accepted_runs = campaign.registry.list_submissions(rules.name)
    runs_in_time = [run for run in accepted_runs if not run.late]
    selected_runs = [run for run in runs_in_time if not priorities or run.priority in priorities]
    if not selected_runs:
        reason = f"{inflect(len(accepted_runs), 'accepted run')}, {len(runs_in_time)} in time"
        reason += f", none of priority {', '.join(map(str, priorities))}" if runs_in_time else ""
        raise CranfieldError(f"task {quote(rules.name)} has no run to pool: {reason}")
    tags = [run.tag for run in selected_runs]
    for tag in without:
        if tag not in tags:
            got = f"got {quote(tag)}; expected some of: {list_some(tags, 12)}"
            raise PolicyError(f"without must name runs that the rules pool, {got}")
    if set(tags) <= set(without):
        raise PolicyError("without must leave at least one run in the pool, got all its runs")
    return tuple(run for run in selected_runs if run.tag not in without)


def pool(
    campaign: OpenedCampaign,
    task: str | None = None,
    *,
    depth: Annotated[int | None, Integer(1)] = None,
    ties: str | None = None,
    mark: bool = False,
    without: Sequence[str] = (),
) -> Pool:
    """Pool the runs that the rules select, for the topics of the task.

    Parameters
    ----------
    campaign, task
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    depth
        Number of top documents to pool from each ranking; by default the depth of the rules, or
        100.
    ties
        Order of documents with equal scores; by default the order of the rules. Scores are ignored
        if `ties` is `rank` (the rank column decides) or `file` (the order of lines).
    mark
        Whether to record the runs of the pool as pooled, with the depth. Runs that were pooled
        before stay marked, because their documents are judged.
    without
        Tags of runs to exclude from the pool; with `mark`, the tags are recorded.

    Returns
    -------
    Pool
        The pool, as :func:`cranfield.assess.pool` returns it.

    Raises
    ------
    CranfieldError
        If the rules select no run, or `without` names a run that they do not select, or all runs.
    InputError
        If no run can be read.

    Warns
    -----
    CranfieldWarning
        For unreadable runs and topics outside the task, which are excluded, and ids with a blank.
    """
    check_list("without", without)
    rules = campaign.rules.get_task(task)
    submissions = select_pool_runs(campaign, rules.name, without)
    depth = (rules.pool or PoolRules()).depth if depth is None else depth
    ties = ties or make_judging_policies(rules).ties
    function = partial(pool_runs, depth=depth, ties=ties, topics=read_topic_ids(rules))
    new_pool = apply_to_runs(campaign, rules, submissions, function)
    if new_pool is None:
        raise make_no_readable_run_error(campaign, rules.name)
    used_runs = [run for run in submissions if run.id not in campaign.unreadable_runs]
    _warn_of_blanks(campaign, rules, used_runs, new_pool)
    # A deeper pool of runs that were pooled before is recorded too.
    depths = campaign.registry.get_pool_depths(rules.name) if mark else {}
    new_runs = [run for run in used_runs if not run.pooled or depths.get(run.tag, depth) < depth]
    if mark and (new_runs or without):
        tags = [run.tag for run in new_runs]
        details = {"depth": depth, "runs": tags, "without": [*without]}
        with campaign.registry.change("pool", rules.name, details) as change:
            accepted_runs = {run.id: run for run in change.list_submissions(rules.name)}
            for run in new_runs:
                if run.id not in accepted_runs:
                    reason = "was withdrawn while the pool was created; create the pool again"
                    raise PolicyError(f"run {quote(run.tag)} {reason}")
                change.update(replace(accepted_runs[run.id], pooled=True))
    return new_pool


def _warn_of_blanks(
    campaign: OpenedCampaign, rules: TaskRules, submissions: Sequence[Submission], new_pool: Pool
) -> None:
    """Warn of pooled ids with blanks, which separate the columns of judgments in TREC format."""
    blank = f"[{BLANKS}]"
    has_blank = new_pool.docs.str.contains(blank).any() or any(
        re.search(blank, topic) for topic in new_pool.topics
    )
    for submission in submissions if has_blank else ():
        with collect_warnings():
            run = read_stored_run(campaign, rules, submission)
        frame = run.to_polars()
        rows = (frame["topic"].str.contains(blank) | frame["doc"].str.contains(blank)).arg_true()
        if len(rows):
            topic, doc, *_ = frame.row(rows[0])
            position = f"{_name_run(submission)}, line {run.origin.get_line(rows[0])}"
            warn(
                f"{position}: topic {quote(topic)}, document {quote(doc)}: a pool in text format"
                " splits an id at its blank; exclude the run from the pool by its tag"
            )
