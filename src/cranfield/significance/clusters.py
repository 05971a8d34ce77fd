"""Scores that depend on each other: variants of a query, sessions of a user, made one topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.prepare import squarable

WEIGHTS = ("cluster", "row")
"""What counts as much as another: clusters, or the rows in them."""


def by_cluster(
    scores: Scores, clusters: Mapping[str, str] | Callable[[str], str], *, weight: str = "cluster"
) -> Scores:
    r"""Make one topic of each cluster of rows that depend on each other.

    Variants of the query of a topic, or the sessions of a user, are no independent observations: a
    test that takes them for topics finds far too much. Clusters are what was sampled, so clusters
    are what a test must count and a bootstrap must draw, each with all that is in it. After this
    every test of means does so.

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
    values = squarable(scores).flat("scores by shard have no clusters of rows")
    if np.isnan(values).any():
        place = scores.cell(np.argwhere(np.isnan(values))[0])
        raise CranfieldError(f"{place} has no score; clusters need them all")
    names = [_cluster_of(row, clusters) for row in scores.topics]
    code = {name: k for k, name in enumerate(dict.fromkeys(names))}
    if not code:
        raise CranfieldError("there are no rows to make clusters of")
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
            raise PolicyError(f"clusters are a mapping of rows or a function of them, no {kind}")
        return str(clusters(row))
    if row not in clusters:
        raise CranfieldError(f"row {quoted(row)} is in no cluster")
    return str(clusters[row])


def clusters_told(scores: Scores) -> list[str]:
    """Say what the topics of a comparison are, if they are clusters."""
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
