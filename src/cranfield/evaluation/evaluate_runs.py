"""Evaluate runs and sessions: `evaluate`, `score_samplings` and `evaluate_sessions`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from cranfield.base.errors import CranfieldWarning, PolicyError, check_integer
from cranfield.base.kinds import Function, check_keywords, replace_keywords
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import JudgingOptions, RankingOptions, judge
from cranfield.collection.policies import Compat
from cranfield.collection.shards import Sharding, judge_shards, make_sharding, random_shards
from cranfield.evaluation.evaluation import Evaluation, note_unused_options, score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.measures.sessions import SessionGainMeasure
from cranfield.scores import Scores
from cranfield.sessions.log import concatenate
from cranfield.sessions.reading import read_sessions


class SessionOptions(RankingOptions, total=False):
    """Options of judging for sessions."""

    compat: Compat | None


class ShardOptions(JudgingOptions, total=False):
    """Options of judging with the shards of a partition."""

    unmapped: str
    rel: int | None


class RandomShardOptions(ShardOptions, total=False):
    """Options of judging with random shards."""

    seed: int


def _declare_options(*, unmapped: str = "error", rel: int | None = None, seed: int = 0) -> None:
    """Declare the options for shards, with their defaults."""


_SIGNATURES = [inspect.signature(function) for function in (judge, _declare_options)]
_PARAMETERS = [p for signature in _SIGNATURES for p in signature.parameters.values()]


def add_options(options: type[Any]) -> Callable[[Function], Function]:
    """Return a decorator that replaces `**options` in a signature with these options."""
    parameters = [p for p in _PARAMETERS if p.name in options.__annotations__]
    return lambda function: replace_keywords(function, parameters)


MAX_SAMPLINGS = 100  # maximum number of partitions; each needs 24 bytes per judged document


@add_options(RandomShardOptions)
def evaluate(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *more: Any,
    compat: Compat | None = None,
    shards: Any = None,
    **options: Unpack[RandomShardOptions],
) -> Evaluation:
    r"""Score runs against judgments, on the whole collection or on each of its shards.

    On a shard, runs and judgments are restricted to its documents. Rankings keep their order;
    ranks, cutoffs and recall bases are those of the shard. The highest grade is that of the whole
    collection.

    For a topic without a relevant document in a shard, the scores of all systems are NaN there.
    :func:`cranfield.compare` accepts them with `missing="available"` (as missing), `"zero"` (as 0)
    or `"drop"` (only topics with scores in all shards). If a system retrieves no relevant document
    in a shard, the measure defines its score, which is 0 for most measures.

    Source of shards: Voorhees, Samarov and Soboroff (2017), Using replicates in information
    retrieval evaluation; Ferro and Sanderson (2019), Improving the accuracy of system performance
    estimation by using shards; Ferro and Sanderson (2022), How do you test a test?, sections 3.1
    and 4, with three random shards.

    Parameters
    ----------
    runs
        Any input of :func:`cranfield.read_runs`: paths, globs, folders, dicts, data frames.
    qrels
        Any input of :func:`cranfield.read_qrels`.
    measures
        Measures or their text forms, several in a list; trec_eval's names are also accepted.
    more
        Not supported: pass several measures as a list.
    compat
        Program whose policies and measures of the same name are used: `trec_eval`, `trec_eval-9`,
        `trec_eval-10`, `ndeval`, `gdeval`, `ntcireval`, `cwl`.
    shards
        None, or a number of random shards (:func:`cranfield.random_shards`), a partition, or any
        input of :func:`cranfield.read_shards`: a dict `{document: shard}`, a data frame, a file.
    options
        As for :func:`cranfield.judge`: `ties`, `topics`, `unjudged`, `negative`, `depth`,
        `max_grade`, `topics_with_grade`, `exclude`, `lengths`, `groups`, `intents`, `aspects`,
        `system`, `columns`, `on_duplicate`, `on_bad_run`, `grades`, `jobs`, `backend`, `progress`.
        With shards, `depth` applies to the ranking of the whole collection, a topic that is missing
        from a run is missing in all shards, and `lengths`, `groups`, `intents`, `aspects`,
        `grades`, `exclude` and `ties="expected"` are not supported. Additional options with shards:

        `seed` of random shards, 0 by default.

        `unmapped`: how to treat documents without a shard: `error` (default), or `drop`,
        which excludes them from every shard and reports their number.

        `rel`: lowest relevant grade when topics without a relevant document are determined; by
        default the parameter `rel` of each measure, and 1 for measures without it.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores` by topic, system and, if requested, shard. The
        `settings` of scores by shard contain the partition and the number of pairs of topic and
        shard without a relevant document.

    Raises
    ------
    MeasureError, InputError, PolicyError
        For unknown measures or options (before anything is computed), and for unreadable input.
    CranfieldError
        If a shard has no relevant document of any topic, or a worker process is killed.

    Examples
    --------
    >>> import cranfield as cf
    >>> ev = cf.evaluate({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "c": 2}}, ["P@2", "nDCG"])
    >>> ev.by_system().rows()
    [('run', 0.5, 0.7601...)]
    """
    if more:
        reason = f"expected 3 positional arguments (runs, qrels, measures), got {3 + len(more)}"
        names = [str(item) for item in (measures, *more) if isinstance(item, (str, Measure))]
        call = f"cf.evaluate(runs, qrels, {names})"
        advice = f"use {call}" if len(names) > len(more) else "pass options by name"
        raise PolicyError(f"{reason}; {advice}")
    check_keywords(evaluate, options)
    parsed = parse_measures(measures, compat=compat)
    policies: dict[str, Any] = {**options}
    if shards is None:
        for name in ("unmapped", "rel", "seed"):
            if name in policies:
                hint = "; to set rel of a measure, write 'AP(rel=2)'" if name == "rel" else ""
                raise PolicyError(f"{name} requires shards=...{hint}")
        evaluation = score(judge(runs, qrels, compat=compat, **policies), parsed, compat=compat)
    else:
        sharding = make_sharding(shards, policies.pop("seed", None))
        [evaluation] = _score_shards(runs, qrels, parsed, [sharding], compat=compat, **policies)
    return replace(evaluation, option_notes=note_unused_options(parsed, options))


@add_options(ShardOptions)
def score_samplings(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    shards: int = 3,
    samplings: int = 5,
    seed: int = 0,
    compat: Compat | None = None,
    **options: Unpack[ShardOptions],
) -> tuple[Evaluation, ...]:
    """Score runs on several random partitions of the collection, reading each run once.

    Parameters
    ----------
    runs, qrels, measures, seed, compat
        As for :func:`cranfield.evaluate`.
    shards
        Number of shards of each partition.
    samplings
        Number of partitions, from 1 to 100. The first is the partition of `evaluate` with the same
        seed; more partitions leave the first ones unchanged.
    options
        As for :func:`cranfield.evaluate`: `rel`, and policies that can be combined with shards.

    Returns
    -------
    tuple of Evaluation
        An evaluation for each partition; all have the same `on_all`.

    Examples
    --------
    >>> run = {"q": {f"d{k}": 9 - k for k in range(9)}}
    >>> qrels = {"q": {f"d{k}": 1 for k in range(0, 9, 2)}}
    >>> evaluations = score_samplings(run, qrels, "RR", shards=2, samplings=3)
    >>> [ev["RR"].values.ravel().tolist() for ev in evaluations]
    [[1.0, 1.0], [1.0, 1.0], [0.25, 1.0]]
    """
    check_keywords(score_samplings, options)
    check_integer("samplings", samplings, 1, MAX_SAMPLINGS)
    partitions = [random_shards(shards, seed, k) for k in range(int(samplings))]
    parsed = parse_measures(measures, compat=compat)
    return _score_shards(runs, qrels, parsed, partitions, compat=compat, **options)


def _score_shards(
    runs: Any,
    qrels: Any,
    measures: Sequence[Measure],
    shardings: Sequence[Sharding],
    *,
    compat: str | None = None,
    **options: Any,
) -> tuple[Evaluation, ...]:
    if options.get("rel") is not None:
        check_integer("rel", options["rel"], 0)
    if options.get("ties") == "expected":
        raise PolicyError("ties='expected' cannot be combined with shards")
    for name in ("lengths", "groups", "intents", "aspects", "grades", "exclude"):
        if options.pop(name, None) is not None:
            raise PolicyError(f"{name} cannot be combined with shards")
    judged, judged_shards = judge_shards(
        runs, qrels, shardings, measures=measures, compat=compat, **options
    )
    on_all = score(judged, measures, compat=compat)
    evaluations = (score(shards, measures, compat=compat) for shards in judged_shards)
    return tuple(replace(evaluation, on_all=on_all) for evaluation in evaluations)


@add_options(SessionOptions)
def evaluate_sessions(
    sessions: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    topics: Any = None,
    clicks: Any = None,
    depth: int | None = None,
    duplicates: str = "first",
    until_click: bool = False,
    **policies: Unpack[SessionOptions],
) -> Evaluation:
    """Score sessions of several queries.

    Parameters
    ----------
    sessions
        Any input of :func:`read_sessions`.
    qrels
        Judgments by topic, in any form that :func:`cranfield.read_qrels` reads. The text `clicks`
        gives grade 1 to documents that were clicked in the session, so that `sDCG` has gains from
        clicks; `clicks:30` requires a dwell time of at least 30 seconds.
    measures
        Measures or their text forms: `sDCG`, `nsDCG`, `ClickU`, and any measure of a ranking, which
        is computed on the concatenated lists.
    topics, clicks
        As for :func:`read_sessions`.
    depth, duplicates, until_click
        How to concatenate lists, as for :func:`concatenate`. `ClickU` depends on clicks only; the
        cutoff of `sDCG` and `nsDCG` is a depth, too.
    policies
        As for :func:`cranfield.judge`: `ties`, `unjudged`, `negative`, `max_grade`, `lengths` (of
        documents, in characters), `groups`, `intents`, `aspects`, `compat`, `jobs`, `backend`,
        `progress`.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`, whose topics are the sessions with a judged topic.
        A session without results of a system scores as an empty ranking.

    Examples
    --------
    >>> rows = {"session": ["s", "s"], "query": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}
    >>> clicks = {"session": ["s"], "query": [2], "rank": [1]}
    >>> ev = evaluate_sessions(
    ...     rows, {"t": {"b": 1}}, ["nsDCG", "RR", "ClickU(length=4000)"],
    ...     topics={"s": "t"}, clicks=clicks,
    ... )
    >>> [round(float(scores.values[0, 0]), 4) for scores in ev.values()]
    [0.5435, 0.5, 0.4962]
    """
    check_keywords(evaluate_sessions, policies)
    parsed = parse_measures(measures)
    log = read_sessions(sessions, clicks=clicks, topics=topics)

    def judge_lists(list_depth: int | None) -> JudgedRuns:
        lists = concatenate(log, depth=list_depth, duplicates=duplicates, until_click=until_click)
        return lists.judge(qrels, **policies)

    judged = judge_lists(depth)
    measures_by_depth: dict[int | None, list[Measure]] = {}
    for measure in parsed:
        # The cutoff of sDCG and nsDCG is a depth of each list, before duplicates are removed.
        is_condensed = measure.judged_only or policies.get("unjudged") == "condensed"
        cuts_lists = isinstance(measure, SessionGainMeasure) and not is_condensed
        depths = [k for k in (depth, measure.cutoff if cuts_lists else None) if k is not None]
        measures_by_depth.setdefault(min(depths, default=None), []).append(measure)
    scores: dict[str, Scores] = {}
    for list_depth, group in measures_by_depth.items():
        with warnings.catch_warnings():
            # The longer lists had the same warnings.
            warnings.simplefilter("ignore", CranfieldWarning)
            judged_lists = judged if list_depth == depth else judge_lists(list_depth)
        scores |= score(judged_lists, group).scores
    scores = {measure.label: scores[measure.label] for measure in parsed}
    return Evaluation(scores, judged, option_notes=note_unused_options(parsed, policies))
