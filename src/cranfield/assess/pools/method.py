"""Pooling methods: orders in which the documents of a pool are judged."""

from __future__ import annotations

from itertools import pairwise
from math import lcm
from operator import attrgetter
from typing import Any, ClassVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    Registry,
    Spec,
    format_parameters,
    get_component_name,
    get_summary,
    integer,
    parameter,
)
from cranfield.base.streams import make_named_stream
from cranfield.fusion import methods as fusion


class MethodState:
    """State of a method that learns; documents are in a group per topic, or in a single group."""

    def __init__(self, pool: Pool, starts: Ints | None = None) -> None:
        self.pool = pool
        self.starts = pool.starts if starts is None else starts
        self.is_free = np.ones(len(pool), dtype=bool)

    @property
    def has_group_per_topic(self) -> bool:
        """True if documents are chosen for each topic, rather than over all topics."""
        return np.array_equal(self.starts, self.pool.starts)

    def choose(self, groups: Indices) -> Indices:
        """Choose the next document of each group, which must have documents left."""
        raise NotImplementedError

    def learn(self, docs: Indices, is_relevant: Bools) -> None:
        """Update the state by the relevance of chosen documents, one per group."""
        raise NotImplementedError


class Method(Spec):
    """Pooling method: an order in which to judge the documents of a pool.

    A method is identified by its text form, such as `RRF(k=60)`, which :func:`parse_method` parses.
    Case, blanks, hyphens and underscores in names do not matter.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.assess.parse_method("maxmean")(rate=0.9)
    MaxMean(rate=0.9)
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # Source of the definition
    learns: ClassVar[bool] = False  # Whether the next document depends on the judgments so far
    draws: ClassVar[bool] = False  # Whether it draws random numbers other than for ties

    @property
    def is_random(self) -> bool:
        """True if the order depends on a seed."""
        return self.draws or getattr(self, "ties", "") == "random"

    def rank_documents(self, pool: Pool, seed: int) -> Indices:
        """Order the documents of each topic by descending score, topic by topic; ties by id."""
        scores = self.scores(pool) if len(pool) else np.zeros(0)
        if scores.dtype != object:
            return np.lexsort((-scores, pool.topic))
        order, score_list = list[int](), scores.tolist()
        for start, stop in pairwise(pool.starts.tolist()):
            order += sorted(range(start, stop), key=score_list.__getitem__, reverse=True)
        return np.array(order, dtype=np.intp)

    def scores(self, pool: Pool) -> NDArray[Any]:
        """Compute the score of each document by a method that does not learn."""
        raise NotImplementedError

    def make_state(self, pool: Pool, seed: int) -> MethodState:
        """Return the initial state of a method that learns."""
        raise NotImplementedError


class DepthPooling(Method):
    """Order documents by best rank in any run: the pool of depth 1, then that of depth 2, ..."""

    name = "depth"
    aliases = ("depth-k", "top-k")
    source = "Spärck Jones and van Rijsbergen 1975; Zobel 1998"

    def scores(self, pool: Pool) -> NDArray[Any]:
        return -pool.best_rank


class RunCount(Method):
    """Order documents by the number of runs that have the document."""

    name = "count"
    aliases = ("PP",)

    def scores(self, pool: Pool) -> NDArray[Any]:
        return pool.run_counts


class ReciprocalRankFusion(Method):
    """Order documents by the sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    aliases = ("reciprocal-rank-fusion",)
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "constant added to ranks")

    def scores(self, pool: Pool) -> NDArray[Any]:
        return _sum_rank_weights(pool, fusion.ReciprocalRankFusion(k=self.k))


class Borda(Method):
    """Order by points: n - r at rank r of n; unranked documents share the remaining points."""

    name = "Borda"
    aliases = ("Borda-count",)
    source = "Aslam and Montague 2001"

    def scores(self, pool: Pool) -> NDArray[Any]:
        points = np.zeros(len(pool), dtype=np.int64)
        np.add.at(points, pool.ranked, fusion.compute_borda_points(pool))
        return points


class Condorcet(Method):
    """Order documents by the number of other documents to which a majority of runs prefers them.

    A run prefers the higher of two ranked documents, and a ranked document to an unranked one. It
    does not vote on two unranked documents.
    """

    name = "Condorcet"
    aliases = ("Copeland",)
    source = "Montague and Aslam 2002"

    def scores(self, pool: Pool) -> NDArray[Any]:
        return np.concatenate([fusion.count_wins(pool, t) for t in range(len(pool.topics))])


def _sum_rank_weights(pool: Pool, method: fusion.RankSum) -> NDArray[Any]:
    """Sum weights of ranks over runs, exactly, as integers with a common denominator."""
    weights = method.compute_rank_weights(int(np.diff(pool.ranking_starts).max(initial=1)))
    denominator = lcm(*(weight.denominator for weight in weights))
    # Sums of objects are exact; the array refers to one Python integer per rank.
    rank_values = np.array([int(weight * denominator) for weight in weights], dtype=object)
    document_values = rank_values[pool.rank[pool.by_document] - 1]
    return np.asarray(np.add.reduceat(document_values, pool.document_starts[:-1]))


class Combination(Method):
    r"""Base class of methods that combine scores, scaled to [0, 1] by run and topic.

    .. math:: x = (s - \min s) / (\max s - \min s)

    The minimum and maximum are over the pooled ranks. If all scores of a run are equal, its
    documents get 1. Unranked documents get 0; a run without documents for the topic does not count.
    """

    source = "Fox and Shaw 1994"

    def scores(self, pool: Pool) -> NDArray[Any]:
        values = pool.sort_values(fusion.compute_min_max_norm(pool))
        starts = pool.document_starts[:-1]
        n_positive = np.add.reduceat(values > 0, starts, dtype=np.int64)
        n_runs = pool.n_runs_by_topic[pool.topic]
        method = cast("fusion.Combination", fusion.FUSIONS[self.name]())
        scores = fusion.DocumentScores(values, starts, pool.run_counts, n_positive, n_runs)
        return method.combine(scores)


class CombSum(Combination):
    """Order documents by the sum of their scaled scores."""

    name = "CombSUM"


class CombMnz(Combination):
    """Order documents by the sum of their scaled scores times the number of scores above 0."""

    name = "CombMNZ"


class CombMax(Combination):
    """Order documents by their largest scaled score."""

    name = "CombMAX"


class CombMed(Combination):
    """Order documents by the median of their scaled scores, with 0 if unranked."""

    name = "CombMED"


class CombAnz(Combination):
    """Order documents by the mean of their scaled scores above 0."""

    name = "CombANZ"


class CombMin(Combination):
    """Order documents by their smallest scaled score, with 0 if unranked."""

    name = "CombMIN"


class RankBiasedSum(Method):
    """Order documents by the sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBP-A"
    aliases = ("RBP",)
    source = "Moffat, Webber and Zobel 2007"
    p: float = parameter(
        0.8, OPEN_PROBABILITY, "persistence: probability of continuing to the next rank"
    )

    def scores(self, pool: Pool) -> NDArray[Any]:
        return _sum_rank_weights(pool, fusion.RankBiasedCentroid(p=self.p))


class UniformOrder(Method):
    """Order documents at random: the first ones are a simple random sample of the topic's pool."""

    name = "uniform"
    source = "Buckley and Voorhees 2004"
    draws = True

    def rank_documents(self, pool: Pool, seed: int) -> Indices:
        sizes = zip(pool.topics, np.diff(pool.starts).tolist(), strict=True)
        draws = [make_named_stream(seed, topic).random(size) for topic, size in sizes]
        return np.lexsort((np.concatenate([*draws, np.zeros(0)]), pool.topic))


METHODS: Registry[type[Method]] = Registry(
    "pooling method", "method learning", package="cranfield.assess.pools", base=Method
)


def parse_method(text: str | Method) -> Method:
    """Parse a pooling method from its text form.

    Raises
    ------
    PolicyError
        For an unknown name, parameter or value; the message suggests similar known ones.

    Examples
    --------
    >>> parse_method("rrf(k=10)"), parse_method("move-to-front")
    (RRF(k=10), MTF)
    >>> parse_method("maxmeen")
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: unknown pooling method 'maxmeen'; did you mean MaxMean?
    """
    return METHODS.parse(text)


def methods() -> pl.DataFrame:
    """List the pooling methods: name, whether they learn, parameters, other names, summary, source.

    Examples
    --------
    >>> methods().filter(pl.col("method") == "RRF").select("learns", "parameters").rows()
    [(False, 'k=60')]
    """
    return METHODS.tabulate(
        "method",
        {
            "learns": attrgetter("learns"),
            "parameters": format_parameters,
            "other names": lambda kind: ", ".join(METHODS.find_aliases(get_component_name(kind))),
            "what it does": get_summary,
            "source": attrgetter("source"),
        },
    )
