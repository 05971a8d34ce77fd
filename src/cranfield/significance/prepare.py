"""Preparation of scores for a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, PolicyError, as_numbers, check_choice, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.scores.averages import FLOOR
from cranfield.scores.one_measure import combine_systems, find_label
from cranfield.significance.registry import MISSING, TESTS, TOPIC_STATISTICS, TestInfo

MAX_SCORE = 1e100  # sums of squares of larger scores may overflow


def check_squarable(scores: Scores) -> Scores:
    """Return scores unchanged; raise if any is infinite or too large to be squared."""
    largest_score = np.nanmax(np.abs(scores.check_finite().values), initial=0.0)
    if largest_score > MAX_SCORE:
        raise CranfieldError(
            f"scores must be at most {MAX_SCORE:g}, so that their squares are finite, got"
            f" {largest_score:g}"
        )
    return scores


@dataclass(frozen=True, eq=False)
class PreparedScores:
    """Scores that a test can use."""

    scores: Scores  # after the policy for missing scores
    notes: tuple[str, ...] = ()  # on excluded, replaced or missing scores

    @cached_property
    def topic_scores(self) -> Floats:
        """Scores of shape (topics, systems): means over shards, of topics that have a score."""
        values = self.scores.values
        if values.ndim == 2:
            return values
        return self.scores.average_shards().values[~np.isnan(values).all(axis=(1, 2))]


def as_scores(scores: Any) -> Scores:
    """Convert a mapping, a data frame or an array to `Scores`; return `Scores` unchanged.

    A data frame, read as by `read_scores`, must have one measure. The keys of a mapping are
    systems, which may have been evaluated separately. Its values are mappings or series by topic,
    or lists in order of topics; shorter lists are padded with NaN. An array has shape
    (topics, systems) or (topics, systems, shards); its topics and systems are numbered from 1.
    """
    if isinstance(scores, Scores):
        return scores
    if isinstance(scores, Mapping) and any(map(_contains_scores, scores.values())):
        return _join_mapping(scores)
    if isinstance(scores, np.ndarray):
        if scores.ndim not in (2, 3) or scores.dtype.kind not in "iuf":
            raise PolicyError(
                "an array of scores must be numeric, of shape (topics, systems[, shards]), got"
                f" {scores.dtype} of shape {scores.shape}"
            )
        topics, systems = (tuple(str(k + 1) for k in range(n)) for n in scores.shape[:2])
        if len(systems) > len(topics) and _is_probably_transposed(scores):
            warn(
                f"an array of scores has shape (topics, systems), so this one has"
                f" {inflect(len(topics), 'topic')} and {inflect(len(systems), 'system')}; if its"
                " rows are systems, pass its transpose"
            )
        return Scores(as_numbers(scores, "scores"), topics, systems)
    if isinstance(scores, Mapping) or hasattr(type(scores), "columns"):
        scores_by_measure = read_scores_by_measure(scores)
        first, *others = scores_by_measure
        if others:
            raise PolicyError(
                f"expected scores of one measure, got {list_some(scores_by_measure, 5)};"
                f" read_scores(data, measure={first!r}) selects one"
            )
        return scores_by_measure[first]
    raise PolicyError(
        "scores must be Scores, scores by system, a data frame or an array, got"
        f" {type(scores).__name__}"
    )


def _is_probably_transposed(scores: Floats) -> bool:
    """Return True if means of columns vary more than means of rows, as means of topics do."""
    values = np.nan_to_num(scores.reshape(*scores.shape[:2], -1).mean(axis=2))
    return bool(values.mean(axis=0).var() > values.mean(axis=1).var())


def _contains_scores(value: Any) -> bool:
    """Return True for `Scores`, or a mapping of them, such as an evaluation."""
    values = value.values() if isinstance(value, Mapping) else (value,)
    return any(isinstance(scores, Scores) for scores in values)


def _join_mapping(mapping: Mapping[Any, Any]) -> Scores:
    """Join scores of systems that were evaluated separately; return a single `Scores` unchanged."""
    if len(mapping) == 1 and isinstance(scores := next(iter(mapping.values())), Scores):
        return scores
    for name, value in mapping.items():
        if isinstance(value, Mapping) and len(value) > 1:
            raise PolicyError(
                f"expected one measure for {quote(str(name))}, got {list_some(map(str, value), 5)};"
                f" select it for each, as in {{{str(name)!r}: evaluation['AP'], ...}}"
            )
    scores_by_system = {
        name: next(iter(value.values())) if isinstance(value, Mapping) else value
        for name, value in mapping.items()
    }
    is_separate = all(
        isinstance(scores, Scores) and len(scores.systems) == 1
        for scores in scores_by_system.values()
    )
    advice = f"to select a measure, use evaluation[{str(next(iter(mapping)))!r}]"
    if not is_separate:
        raise PolicyError(
            "expected scores of one measure, or of one system for each name, got"
            f" {list_some(map(str, mapping), 5)}; {advice}"
        )
    measures = dict.fromkeys(scores.measure or "unnamed" for scores in scores_by_system.values())
    if len(measures) > 1:
        raise PolicyError(f"expected scores of one measure, got {list_some(measures, 5)}; {advice}")
    return combine_systems(scores_by_system)


def prepare_scores(scores: Scores, info: TestInfo, missing: str | None) -> PreparedScores:
    """Apply the policy for missing scores, and check that a test can use the scores."""
    if missing is not None:
        check_choice("missing", missing, MISSING)
    has_shards = bool(scores.shards)
    if has_shards and (not info.shards or info.axis != scores.axis):
        infos = (t.info for t in TESTS.values() if not t.info.refusal)
        names = ", ".join(i.name for i in infos if i.shards and i.axis == scores.axis)
        raise PolicyError(f"{info.name} does not take scores by {scores.axis}; use {names}")
    if not has_shards and info.shards == "required":
        raise PolicyError(f"{info.name} requires scores by {info.axis}, got one score per topic")
    if len(scores.systems) < 2:
        raise CranfieldError(
            f"a comparison requires at least two systems, got {len(scores.systems)};"
            " Scores.summary() and `cranfield compare --as summary` describe one system"
        )
    check_squarable(scores)
    if scores.axis == "replicate":
        return _prepare_replicates(scores, info, missing or "error")
    policy = missing or ("error" if info.is_paired else "available")
    if policy == "available" and info.is_paired and info.shards != "required":
        raise PolicyError(
            f"missing='available' cannot be combined with {info.name}, which requires the same"
            " topics for all systems"
        )
    selection, notes = scores, _describe_missing_scores(scores)
    if policy != "available":
        selection, notes = scores.complete(policy, hint=_advise_on_missing(scores, info))
    values = selection.values
    counts = (~np.isnan(values)).sum(axis=(0, *range(2, values.ndim)))
    if (counts < 2).any():
        k = int((counts < 2).argmax())
        raise CranfieldError(
            f"a test requires at least two scores of each system, got {counts[k]} of"
            f" {quote(scores.systems[k])}"
        )
    if info.requires_bounded_scores and (cells := np.argwhere((values < 0) | (values > 1))).size:
        score, cell = values[tuple(cells[0])], selection.describe_cell(cells[0])
        raise CranfieldError(f"{info.name} requires scores from 0 to 1, got {score:g} for {cell}")
    return PreparedScores(selection, notes)


def _advise_on_missing(scores: Scores, info: TestInfo) -> str:
    if not info.is_paired:
        return "; missing='available' uses the available scores"
    if not scores.shards:
        return "; if systems have different topics, use an unpaired test, such as welch or rank-sum"
    is_missing = np.isnan(scores.values)
    if info.shards == "accepted" or (is_missing.any(axis=1) != is_missing.all(axis=1)).any():
        return ""
    return "; missing='available' excludes topics and shards on which no system has a score"


def _prepare_replicates(scores: Scores, info: TestInfo, policy: str) -> PreparedScores:
    """Apply the policy for missing scores; systems may have different numbers of replicates."""
    values = scores.values
    has_replicate: Bools = np.asarray((~np.isnan(values)).any(axis=0))
    has_score = has_replicate.any(axis=1)
    if not has_score.all():
        raise CranfieldError(f"system {quote(scores.systems[has_score.argmin()])} has no score")
    notes: tuple[str, ...] = ()
    if policy == "available":
        if not info.samples_topics:
            raise PolicyError(f"missing='available' cannot be combined with {info.name}")
        # All existing replicates are used; each topic requires at least one of each system.
        scores.average_shards().complete("error")
        selection = scores
    else:
        # A system may have fewer replicates than others.
        selection = replace(scores, values=np.where(has_replicate, values, 0.0))
        hint = ", and missing='available' uses the replicates with scores"
        selection, notes = selection.complete(policy, hint=hint if info.samples_topics else "")
        selection = replace(selection, values=np.where(has_replicate, selection.values, np.nan))
    if (n_topics := len(selection.topics)) < 2:
        raise CranfieldError(f"a comparison requires at least two topics, got {n_topics}")
    return PreparedScores(selection, notes)


def _describe_missing_scores(scores: Scores) -> tuple[str, ...]:
    """Return a note on missing scores, for tests that use the available ones."""
    is_missing = np.isnan(scores.values)
    if not is_missing.any():
        return ()
    if scores.shards:
        combinations_text = inflect(int(is_missing.all(axis=1).sum()), "combination")
        return (f"{combinations_text} of topic and shard excluded, as no system has a score",)
    scores_text = inflect(int(is_missing.sum()), "missing score")
    return (f"{scores_text}: each system is compared by its available scores",)


def describe_replicates(scores: Scores) -> list[str]:
    """Return a note on scores by replicate, for results that average them."""
    return ["scores are means over replicates"] if scores.axis == "replicate" else []


def find_baselines(
    systems: Sequence[str], baselines: str | int | Sequence[str | int] | None
) -> list[int]:
    """Return the indices of the baselines; raise if all systems are baselines."""
    try:
        if baselines is None or isinstance(baselines, (str, int, np.integer)):
            baselines = [] if baselines is None else [baselines]
        indices = list(dict.fromkeys(find_baseline(systems, name) for name in baselines))
    except TypeError:
        raise PolicyError(
            f"a baseline must be the name or the index of a system, got {baselines!r}"
        ) from None
    if indices and len(indices) == len(systems):
        raise PolicyError("expected a system besides the baselines, got only baselines")
    return indices


def find_baseline(systems: Sequence[str], baseline: Any) -> int:
    """Return the index of a baseline, given by its name or by an index from 0."""
    if isinstance(baseline, str):
        return find_label(baseline, systems, role=" as baseline")
    if isinstance(baseline, bool) or not isinstance(baseline, (int, np.integer)):
        raise PolicyError(f"a baseline must be the name or the index of a system, got {baseline!r}")
    if str(baseline) in systems:
        raise PolicyError(
            f"baseline {baseline} may be an index or a name, as a system has the name"
            f" {quote(str(baseline))}; pass the name of the baseline as text"
        )
    if not 0 <= baseline < len(systems):
        raise PolicyError(f"baseline must be an index from 0 to {len(systems) - 1}, got {baseline}")
    return int(baseline)


LOG_RATIO = "log ratio of geometric means"  # quantity of intervals for geometric means

STATISTIC_OF_AGGREGATE = {"mean": "mean", "sum": "sum", "geometric": "geometric-mean"}
"""Statistic to compare, by the aggregate of the measure."""

MEDIAN_TEST = "bootstrap-median"


def choose_statistic(scores: Scores, requested: Any, test: str | None) -> str:
    """Return the requested statistic; by default the statistic of the test or the measure."""
    if requested is None:
        return "median" if test == MEDIAN_TEST else STATISTIC_OF_AGGREGATE[scores.aggregate]
    check_choice("statistic", requested, TOPIC_STATISTICS)
    if (requested == "median") != (test == MEDIAN_TEST):
        raise PolicyError(
            f"statistic='median' requires the test {MEDIAN_TEST}, got {test!r}"
            if requested == "median"
            else f"the test {MEDIAN_TEST} compares medians, got statistic={requested!r}"
        )
    return str(requested)


def transform_scores(inputs: PreparedScores, statistic: str) -> PreparedScores:
    """Transform scores such that their mean is the statistic or its logarithm, except medians."""
    values = inputs.scores.values
    if statistic == "sum":
        if np.isnan(inputs.topic_scores).any():
            raise CranfieldError(
                "sums of scores require the same topics for all systems; use statistic='mean', or"
                " another policy for missing scores"
            )
        values = values * len(inputs.topic_scores)
    elif statistic == "geometric-mean":
        if (cells := np.argwhere(values < 0)).size:
            score, cell = values[tuple(cells[0])], inputs.scores.describe_cell(cells[0])
            raise CranfieldError(
                f"a geometric mean requires scores of at least 0, got {score:g} for {cell}"
            )
        # Scores below 1e-5 become 1e-5, as in gm_map of trec_eval.
        values = np.log(np.maximum(values, FLOOR))
    return replace(inputs, scores=replace(inputs.scores, values=values))


def invert_transformation(means: Floats, statistic: str) -> Floats:
    """Compute the statistic of each system from the means of transformed scores."""
    return np.exp(means) if statistic == "geometric-mean" else means


def name_interval(info: TestInfo, statistic: str) -> str:
    """Return the name of the quantity of a test's intervals, for a statistic."""
    is_of_means = info.interval in ("mean difference", "difference of means")
    if statistic == "sum":
        return "difference of sums" if is_of_means else f"{info.interval} times number of topics"
    if statistic == "geometric-mean":
        return LOG_RATIO if is_of_means else f"{info.interval} of log scores"
    return info.interval


WEIGHTS = ("cluster", "row")  # unit with equal weights


def aggregate_clusters(
    scores: Scores, clusters: Mapping[str, str] | Callable[[str], str], *, weight: str = "cluster"
) -> Scores:
    r"""Aggregate clusters of dependent rows into one topic each.

    Query variants of a topic, or sessions of a user, are not independent observations: a test that
    treats them as topics has far too many Type I errors. The sampled units are the clusters, so a
    test must count clusters, and a bootstrap must draw whole clusters. Every test of means does so
    after this aggregation, as each cluster is one topic.

    With `weight="cluster"` the score of a topic is the mean of its rows, and the mean over topics
    is a mean of means: all clusters have the same weight. With `weight="row"` all rows have the
    same weight: with N rows in G clusters, the score of a topic is

    .. math:: y_g = \bar{x} + \frac{G}{N} \sum_{i \in g} (x_i - \bar{x})

    The mean of these scores is the mean of the rows. The paired t-test of these scores equals the
    test of means with cluster-robust standard errors (Liang and Zeger, 1986, with the CR1 factor
    G / (G - 1)) and G - 1 degrees of freedom. If all clusters have the same size, both weights give
    the same scores. The aggregated scores are for tests of means only; with few clusters of very
    different sizes standard errors of means are too small.

    Parameters
    ----------
    scores
        Complete scores, with rows as topics, shape (rows, systems).
    clusters
        Cluster of each row: a mapping from the label of the row, or a function of the label.
    weight
        Unit with equal weights: `cluster` or `row`.

    Returns
    -------
    Scores
        Scores with clusters as topics, in order of their first rows. `settings["clusters"]` has the
        weight, the number of rows, and the sizes of the smallest and the largest cluster.

    Raises
    ------
    PolicyError
        For an unknown weight, clusters of a wrong type, or scores by shard.
    CranfieldError
        For no rows, rows without a cluster or a score, or scores that are infinite or beyond 1e100.

    Examples
    --------
    >>> variants = Scores([[0.2], [0.4], [0.9]], topics=["1-a", "1-b", "2-a"], systems=["bm25"])
    >>> aggregate_clusters(variants, lambda label: label[0]).values.tolist()
    [[0.30000000000000004], [0.9]]
    >>> cluster_of_row = {"1-a": "1", "1-b": "1", "2-a": "2"}
    >>> aggregate_clusters(variants, cluster_of_row, weight="row").mean().tolist()
    [0.5]
    """
    check_choice("weight", weight, WEIGHTS)
    values = check_squarable(scores).require_two_axes("scores by shard have no clusters")
    if (cells := np.argwhere(np.isnan(values))).size:
        cell = scores.describe_cell(cells[0])
        raise CranfieldError(f"{cell} has no score; clusters require complete scores")
    if not scores.topics:
        raise CranfieldError("expected scores of at least one row, got none")
    names = [_find_cluster(row, clusters) for row in scores.topics]
    index_of = {name: k for k, name in enumerate(dict.fromkeys(names))}
    cluster_of_row = np.array([index_of[name] for name in names])
    sizes = np.bincount(cluster_of_row)
    mean = values.mean(axis=0)
    deviation_sums = np.zeros((len(index_of), values.shape[1]))
    np.add.at(deviation_sums, cluster_of_row, values - mean)
    divisor = sizes[:, None] if weight == "cluster" else len(values) / len(index_of)
    min_size, max_size = int(sizes.min()), int(sizes.max())
    counts = {"rows": len(values), "smallest": min_size, "largest": max_size}
    settings = {**scores.settings, "clusters": {"weight": weight, **counts}}
    cluster_scores = mean + deviation_sums / divisor
    return replace(scores, values=cluster_scores, topics=tuple(index_of), settings=settings)


def _find_cluster(row: str, clusters: Mapping[str, str] | Callable[[str], str]) -> str:
    if callable(clusters):
        return str(clusters(row))
    if not isinstance(clusters, Mapping):
        kind = type(clusters).__name__
        raise PolicyError(f"clusters must be a mapping or a function of row labels, got {kind}")
    if row not in clusters:
        raise CranfieldError(f"row {quote(row)} has no cluster; add it to the mapping")
    return str(clusters[row])


def describe_clusters(scores: Scores) -> list[str]:
    """Return a note if the topics of a comparison are clusters."""
    settings = scores.settings.get("clusters")
    if settings is None:
        return []
    sizes_text = " to ".join(map(str, sorted({settings["smallest"], settings["largest"]})))
    weighting = "weighted so that each row counts the same, which suits tests of means only"
    if settings["weight"] == "cluster":
        weighting = "scored by their means, so that each cluster counts the same"
    rows_text = inflect(settings["rows"], "row")
    return [f"topics are clusters of rows ({rows_text}, {sizes_text} in each cluster), {weighting}"]


def describe_biased_pairs(scores: Scores) -> list[str]:
    """Return a note if the choice of judged documents biases differences of compared systems."""
    all_pairs = scores.settings.get("biased pairs", [])
    pairs = [pair for pair in all_pairs if {*pair} <= {*scores.systems}]
    if not pairs:
        return []
    differences = f"the difference of {quote(pairs[0][0])} and {quote(pairs[0][1])}"
    if len(pairs) > 1:
        differences = f"the differences of {len(pairs):,} pairs of systems"
    return [f"the choice of judged documents biases {differences}; the test assumes no bias"]
