"""Preparation of scores for a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, numbers, quoted
from cranfield.base.text import counted, some_of
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.scores.averages import FLOOR
from cranfield.scores.one_measure import place_of, side_by_side
from cranfield.significance.registry import MISSING, STATISTICS, TESTS, TestInfo

UNPAIRED = "; if systems have different topics, use an unpaired test, such as welch or rank-sum"
"""What else can be done about missing scores."""

NESTED = ", and missing='available' uses the cells with scores of all systems"
"""The same where scores are by shard, or by variation of a topic's query."""

LARGEST = 1e100  # of scores that can be squared and added up


def squarable(scores: Scores) -> Scores:
    """Return scores, none of them infinite or too large for its square to be a number."""
    if np.nanmax(np.abs(scores.finite().values), initial=0.0) > LARGEST:
        raise CranfieldError(
            f"scores must be at most {LARGEST:g}, so that their squares are finite"
        )
    return scores


@dataclass(frozen=True, eq=False)
class Ready:
    """Scores that a test can take, `flat` over shards, with notes on excluded or imputed ones."""

    scores: Scores
    flat: Floats
    notes: tuple[str, ...]


def as_scores(scores: Any) -> Scores:
    """Return scores unchanged, or make them from a mapping, a data frame or an array.

    A mapping names the systems, also those that were evaluated one by one. The scores of each are a
    mapping or a series by topic, or a list in order of topics; lists of different lengths are of
    different topics, and filled up with NaN. An array has shape (topics, systems), or (topics,
    systems, shards); its systems are numbered.
    """
    if isinstance(scores, Scores):
        return scores
    if isinstance(scores, Mapping) and any(map(_holds_scores, scores.values())):
        return _of_mapping(scores)
    if isinstance(scores, np.ndarray):
        if scores.ndim not in (2, 3) or scores.dtype.kind not in "iuf":
            raise PolicyError("an array of scores must be numeric, of shape (topics, systems)")
        topics, systems = (tuple(str(k + 1) for k in range(n)) for n in scores.shape[:2])
        return Scores(numbers(scores, "scores").copy(), topics, systems)
    if isinstance(scores, Mapping) or hasattr(type(scores), "columns"):
        of = read_scores_by_measure(scores)
        first, *more = of
        if more:
            raise PolicyError(
                f"expected scores of one measure, got {some_of(of, 5)};"
                f" read_scores(data, measure={first!r}) selects one"
            )
        return of[first]
    kind = type(scores).__name__
    raise PolicyError(
        f"scores must be Scores, scores by system, a data frame or an array, got {kind}"
    )


def _holds_scores(given: Any) -> bool:
    """Return True for scores, or an evaluation."""
    inside = given.values() if isinstance(given, Mapping) else (given,)
    return any(isinstance(one, Scores) for one in inside)


def _of_mapping(given: Mapping[Any, Any]) -> Scores:
    """Take the only measure of an evaluation, or systems that were evaluated one by one."""
    if len(given) == 1 and isinstance(only := next(iter(given.values())), Scores):
        return only
    for name, one in given.items():
        if isinstance(one, Mapping) and len(one) > 1:
            raise PolicyError(
                f"expected one measure for {quoted(str(name))}, got {some_of(map(str, one), 5)};"
                f" select it for each, as in {{{str(name)!r}: evaluation['AP'], ...}}"
            )
    of = {
        name: next(iter(one.values())) if isinstance(one, Mapping) else one
        for name, one in given.items()
    }
    one_by_one = all(isinstance(one, Scores) and len(one.systems) == 1 for one in of.values())
    if not one_by_one or len({one.measure for one in of.values()}) > 1:
        raise PolicyError(
            f"expected scores of one measure, got {some_of(map(str, given), 5)}; select one, as in"
            f" evaluation[{str(next(iter(given)))!r}]"
        )
    return side_by_side(of)


def prepared(scores: Scores, info: TestInfo, missing: str | None) -> Ready:
    """Apply the policy for missing scores, and check the numbers of systems and scores."""
    if missing is not None:
        check_choice("missing", missing, MISSING)
    by_shard = bool(scores.shards)
    if by_shard and not info.shards:
        fitting = ", ".join(name for name, test in TESTS.items() if test.info.shards)
        raise PolicyError(f"scores by shard go with {fitting}, not with {info.name}")
    if not by_shard and info.shards == "needed":
        raise PolicyError(f"{info.name} requires scores by shard")
    if len(scores.systems) < 2:
        raise CranfieldError(
            f"a comparison requires at least two systems, got {len(scores.systems)}"
        )
    squarable(scores)
    policy = missing or ("error" if info.paired else "available")
    if policy == "available" and info.paired and info.shards != "needed":
        raise PolicyError(
            f"missing='available' cannot be combined with {info.name}, which"
            f" compares the same topics"
        )
    if policy == "available":
        kept, notes = scores, _gaps(scores)
    else:
        hint = NESTED if info.shards == "needed" else UNPAIRED
        kept, notes = scores.complete(policy, hint=hint)
    values = kept.values
    counts = (~np.isnan(values)).sum(axis=0)
    counts = counts if counts.ndim == 1 else counts.sum(axis=1)
    few = np.flatnonzero(counts < 2)
    if few.size:
        some = counted(int(counts[few[0]]), "score")
        raise CranfieldError(
            f"system {quoted(scores.systems[few[0]])} has {some}; a test requires at least two"
        )
    flat = values
    if by_shard:
        # A system may lack all shards of a topic that others have; the model says what then.
        flat = kept.over_shards().values[~np.isnan(values).all(axis=(1, 2))]
    return Ready(kept, flat, notes)


def _gaps(scores: Scores) -> tuple[str, ...]:
    """Return a note on missing scores, for tests that use all others."""
    absent = np.isnan(scores.values)
    if not absent.any():
        return ()
    if scores.shards:
        cells = int(absent.all(axis=1).sum())
        return (f"{counted(cells, 'cell')} of topic and shard without scores",)
    number = counted(int(absent.sum()), "missing score")
    return (f"{number}: each system is compared by its available scores",)


def baseline_indices(
    systems: Sequence[str], asked: str | int | Sequence[str | int] | None
) -> list[int]:
    """Return the indices of the baselines, by name or index; other systems must remain."""
    try:
        one = asked is None or isinstance(asked, (str, int, np.integer))
        given: list[Any] = ([] if asked is None else [asked]) if one else list(asked)  # type: ignore[arg-type]
    except TypeError:
        raise PolicyError(f"a baseline must be the name of a system, got {asked!r}") from None
    found = list(dict.fromkeys(_baseline(systems, one) for one in given))
    if given and len(found) == len(systems):
        raise PolicyError("all systems are baselines; at least one other system is required")
    return found


def _baseline(systems: Sequence[str], given: Any) -> int:
    if isinstance(given, str):
        return place_of(given, systems, role=" as baseline")
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise PolicyError(f"a baseline must be the name of a system, got {given!r}")
    if str(given) in systems:
        raise PolicyError(
            f"baseline {given} is ambiguous: a system is called {quoted(str(given))}; pass the"
            f" name of the baseline"
        )
    if not 0 <= given < len(systems):
        raise PolicyError(f"baseline must be an index from 0 to {len(systems) - 1}, got {given}")
    return int(given)


LOG_RATIO = "log ratio of geometric means"  # what intervals of geometric means are of

OF_AGGREGATE = {"mean": "mean", "sum": "sum", "geometric": "geometric-mean"}
"""The statistic of each aggregate of a measure."""

MEDIAN_TEST = "bootstrap-median"


def statistic_of(scores: Scores, requested: Any, test: str | None) -> str:
    """Return the requested statistic, or else that of the test or the measure."""
    if requested is None:
        return "median" if test == MEDIAN_TEST else OF_AGGREGATE[scores.aggregate]
    check_choice("statistic", requested, STATISTICS)
    if (requested == "median") != (test == MEDIAN_TEST):
        raise PolicyError(
            f"statistic='median' requires the test {MEDIAN_TEST}, got {test!r}"
            if requested == "median"
            else f"the test {MEDIAN_TEST} compares medians, got statistic={requested!r}"
        )
    return str(requested)


def transformed(ready: Ready, statistic: str) -> Ready:
    """Return scores whose means are compared in place of the statistic.

    A geometric mean is the exponential of the mean of logarithms, with scores below 1e-5 taken as
    1e-5, as trec_eval does for gm_map; a sum is the mean times the number of topics.
    """
    if statistic == "sum":
        if np.isnan(ready.flat).any():
            raise CranfieldError(
                "sums of scores require the same topics for all systems; use statistic='mean', or"
                " another policy for missing scores"
            )
        number = len(ready.flat)
        scores = replace(ready.scores, values=ready.scores.values * number)
        return replace(ready, scores=scores, flat=ready.flat * number)
    if statistic != "geometric-mean":
        return ready
    values = ready.scores.values
    if (values < 0).any():
        place = np.argwhere(values < 0)[0]
        raise CranfieldError(
            f"a geometric mean requires scores of at least 0, got {values[tuple(place)]:g} of"
            f" {ready.scores.cell(place)}"
        )
    logs = replace(ready.scores, values=np.log(np.maximum(values, FLOOR)))
    flat = logs.values
    if logs.shards:
        flat = logs.over_shards().values[~np.isnan(flat).all(axis=(1, 2))]
    return replace(ready, scores=logs, flat=flat)


def shown_means(means: Floats, statistic: str) -> Floats:
    """Return the statistic of each system from the means of transformed scores."""
    return np.exp(means) if statistic == "geometric-mean" else means


def interval_name(info: TestInfo, statistic: str) -> str:
    """Name what intervals of the test are of, for that statistic."""
    if statistic == "sum":
        return info.interval.replace("mean difference", "difference of sums").replace(
            "difference of means", "difference of sums"
        )
    if statistic != "geometric-mean":
        return info.interval
    ratio = info.interval in ("mean difference", "difference of means")
    return LOG_RATIO if ratio else f"{info.interval}, of log scores"


WEIGHTS = ("cluster", "row")  # what counts as much as another: clusters, or the rows in them


def by_cluster(
    scores: Scores, clusters: Mapping[str, str] | Callable[[str], str], *, weight: str = "cluster"
) -> Scores:
    r"""Aggregate clusters of dependent rows into one topic each.

    Variants of the query of a topic, or the sessions of a user, are not independent observations: a
    test that treats them as topics has far too many Type I errors. The clusters were sampled, so
    tests must count clusters and bootstraps must draw whole clusters. After this aggregation every
    test of means does so.

    With `weight="cluster"` a topic's score is the mean of its rows, and the mean over topics is a
    mean of means: clusters count the same, however large. With `weight="row"` the mean is that of
    all N rows of the G clusters, and a topic's score is

    .. math:: y_g = \bar{x} + \frac{G}{N} \sum_{i \in g} (x_i - \bar{x})

    whose mean is the mean of the rows, and whose variance makes the paired t-test that of means
    with cluster-robust errors (CR1: Liang and Zeger, 1986, by G / (G - 1)) with G - 1 degrees of
    freedom. Clusters of one size give the same either way. Scores made so are for tests of means
    only; with few clusters of very different sizes their errors are too small.

    Parameters
    ----------
    scores
        Shape (rows, systems), complete.
    clusters
        The cluster of each row by its label, as a mapping or a function of the label.
    weight
        `cluster` or `row`.

    Returns
    -------
    Scores
        With the clusters as topics, in order of their first rows; `settings["clusters"]` keeps the
        weight, the number of rows, and the sizes of the smallest and the largest cluster.

    Raises
    ------
    PolicyError
        For an unknown weight, or scores by shard.
    CranfieldError
        For a row without a cluster or a score, or infinite scores, or beyond 1e100.

    Examples
    --------
    >>> variants = Scores([[0.2], [0.4], [0.9]], topics=["1-a", "1-b", "2-a"], systems=["bm25"])
    >>> by_cluster(variants, lambda label: label[0]).values.tolist()
    [[0.30000000000000004], [0.9]]
    >>> by_cluster(variants, {"1-a": "1", "1-b": "1", "2-a": "2"}, weight="row").mean().tolist()
    [0.5]
    """
    check_choice("weight", weight, WEIGHTS)
    values = squarable(scores).flat("by_cluster does not take scores by shard")
    if np.isnan(values).any():
        place = scores.cell(np.argwhere(np.isnan(values))[0])
        raise CranfieldError(f"{place} has no score; clusters require complete scores")
    names = [_cluster_of(row, clusters) for row in scores.topics]
    code = {name: k for k, name in enumerate(dict.fromkeys(names))}
    if not code:
        raise CranfieldError("expected at least one row, got none")
    member = np.array([code[name] for name in names])
    sizes = np.bincount(member)
    mean = values.mean(axis=0)
    totals = np.zeros((len(code), values.shape[1]))
    np.add.at(totals, member, values - mean)
    scale = sizes[:, None] if weight == "cluster" else len(values) / len(code)
    settings = {
        "weight": weight,
        "rows": len(values),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }
    return replace(
        scores,
        values=mean + totals / scale,
        topics=tuple(code),
        settings={**scores.settings, "clusters": settings},
    )


def _cluster_of(row: str, clusters: Mapping[str, str] | Callable[[str], str]) -> str:
    if not isinstance(clusters, Mapping):
        if not callable(clusters):
            kind = type(clusters).__name__
            raise PolicyError(
                f"clusters must be a mapping of rows or a function of them, got {kind}"
            )
        return str(clusters(row))
    if row not in clusters:
        raise CranfieldError(f"row {quoted(row)} is in no cluster")
    return str(clusters[row])


def clusters_told(scores: Scores) -> list[str]:
    """Return a note if the topics of a comparison are clusters."""
    known = scores.settings.get("clusters")
    if known is None:
        return []
    sizes = f"{known['smallest']}"
    if known["largest"] > known["smallest"]:
        sizes += f" to {known['largest']}"
    line = f"topics are clusters of {sizes} of {counted(known['rows'], 'row')}"
    if known["weight"] == "cluster":
        return [f"{line}, by their means: each cluster counts the same"]
    return [f"{line}, so that each row counts the same: for tests of means only"]
