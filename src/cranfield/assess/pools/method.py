"""Pooling methods: orders in which the documents of a pool are judged."""

from __future__ import annotations

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
    integer,
    name_of,
    parameter,
    parameters_of,
    summary_of,
)
from cranfield.base.streams import stream_of
from cranfield.fusion import methods as fusion


class Asking:
    """State of a method that learns: a group of documents per topic, or a single group."""

    def __init__(self, pool: Pool, starts: Ints | None = None) -> None:
        self.pool = pool
        self.starts = pool.starts if starts is None else starts
        self.free = np.ones(len(pool), dtype=bool)

    def choose(self, groups: Indices) -> Indices:
        """Choose the next document of each of these groups, all of which have one left."""
        raise NotImplementedError

    def learn(self, docs: Indices, relevant: Bools) -> None:
        """Update the state by the relevance of chosen documents, one per group."""
        raise NotImplementedError

    def whole(self, relevant: Bools, judged_docs: Bools, batch: int) -> Indices:
        """Choose all documents, and learn the known ones after every batch of each group."""
        sizes = np.diff(self.starts)
        longest_first = np.argsort(-sizes, kind="stable")
        ends = sizes[longest_first]
        out = np.empty(self.free.size, dtype=np.intp)
        pending: list[Indices] = []
        for step in range(int(sizes.max(initial=0))):
            groups = longest_first[: np.searchsorted(-ends, -step)]
            docs = self.choose(groups)
            out[self.starts[groups] + step] = docs
            pending.append(docs)
            if len(pending) == batch:
                for docs_of_step in pending:
                    judged = docs_of_step[judged_docs[docs_of_step]]
                    self.learn(judged, relevant[judged])
                pending = []
        return out


class Method(Spec):
    """An order in which to judge the documents of a pool.

    Its text form is its identity, as for measures: :func:`parse_method` reads it back. Case,
    blanks, hyphens and underscores of names do not matter.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.assess.parse_method("maxmean")(rate=0.9)
    MaxMean(rate=0.9)
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Source of the definition."""
    learns: ClassVar[bool] = False
    """Whether the next document depends on the judgments so far."""
    draws: ClassVar[bool] = False
    """Whether it draws random numbers, apart from ties."""

    @property
    def random(self) -> bool:
        """Whether the order depends on a seed."""
        return self.draws or getattr(self, "ties", "") == "random"

    def ranking(self, pool: Pool, seed: int) -> Indices:
        """Order the documents of each topic, one topic after the other."""
        return best_first(pool, self.scores(pool)) if len(pool) else np.zeros(0, dtype=np.intp)

    def scores(self, pool: Pool) -> NDArray[Any]:
        """Return the score of each document, of a method that does not learn."""
        raise NotImplementedError

    def asking(self, pool: Pool, seed: int) -> Asking:
        """Return the initial state of a method that learns."""
        raise NotImplementedError


def best_first(pool: Pool, values: NDArray[Any]) -> Indices:
    """Order the documents of each topic by value, highest first; equal ones by id, ascending."""
    if values.dtype != object:
        return np.lexsort((-values, pool.topic))
    order: list[int] = []
    for start, stop in zip(pool.starts[:-1].tolist(), pool.starts[1:].tolist(), strict=True):
        topic_values = values[start:stop].tolist()
        order += (
            start + i
            for i in sorted(range(len(topic_values)), key=topic_values.__getitem__, reverse=True)
        )
    return np.array(order, dtype=np.intp)


class Depth(Method):
    """By best rank in any run: the pool of depth 1, then the documents that depth 2 adds."""

    name = "depth"
    aliases = ("depth-k", "top-k")
    source = "Spärck Jones and van Rijsbergen 1975; Zobel 1998"

    def scores(self, pool: Pool) -> NDArray[Any]:
        return -pool.best_rank


class Count(Method):
    """By the number of runs that have the document."""

    name = "count"
    aliases = ("PP",)

    def scores(self, pool: Pool) -> NDArray[Any]:
        return pool.holders


class ReciprocalRankFusion(Method):
    """By the sum of 1/(k + rank) over the runs that have the document."""

    name = "RRF"
    aliases = ("reciprocal-rank-fusion",)
    source = "Cormack, Clarke and Büttcher 2009"
    k: int = parameter(60, integer(0), "constant added to ranks")

    def scores(self, pool: Pool) -> NDArray[Any]:
        return _sums(pool, fusion.ReciprocalRankFusion(k=self.k))


class Borda(Method):
    """By points: of n pooled documents rank r gets n - r, unranked ones share the remainder."""

    name = "Borda"
    aliases = ("Borda-count",)
    source = "Aslam and Montague 2001"

    def scores(self, pool: Pool) -> NDArray[Any]:
        total = np.zeros(len(pool), dtype=np.int64)
        np.add.at(total, pool.ranked, fusion.borda_points(pool))
        return total


class Condorcet(Method):
    """By the number of documents that it beats: more runs have it above the other than below.

    Ranked documents are above unranked ones; a run without either does not vote.
    """

    name = "Condorcet"
    aliases = ("Copeland",)
    source = "Montague and Aslam 2002"

    def scores(self, pool: Pool) -> NDArray[Any]:
        return np.concatenate([fusion.count_wins(pool, t) for t in range(len(pool.topics))])


def _sums(pool: Pool, method: fusion.RankSum) -> NDArray[Any]:
    """Return exact sums over runs of weights of ranks, as integers of a common denominator."""
    weights = method.rank_weights(int(np.diff(pool.lists).max(initial=1)))
    common = lcm(*(weight.denominator for weight in weights))
    # References to the same few integers are summed.
    of_rank = np.array([int(weight * common) for weight in weights], dtype=object)
    by_document = of_rank[pool.rank[pool.by_document] - 1]
    return np.asarray(np.add.reduceat(by_document, pool.document_starts[:-1]))


class Combination(Method):
    r"""Scores of a run are scaled for each topic so that its pooled ranks go from 0 to 1.

    .. math:: x = (s - \min s) / (\max s - \min s)

    A run whose scores are all equal gives 1 to each of its documents. Unranked documents get 0; a
    run without any document for the topic does not count.
    """

    source = "Fox and Shaw 1994"

    def scores(self, pool: Pool) -> NDArray[Any]:
        values, starts = pool.ascending(fusion.min_max_norm(pool)), pool.document_starts[:-1]
        above = np.add.reduceat(values > 0, starts, dtype=np.int64)
        runs = pool.runs_of_topic[pool.topic]
        method = cast("fusion.Combination", fusion.FUSIONS[self.name]())
        return method.combine(fusion.DocumentScores(values, starts, pool.holders, above, runs))


class CombSum(Combination):
    """By the sum of the scaled scores."""

    name = "CombSUM"


class CombMnz(Combination):
    """By the sum of the scaled scores, times the number above 0."""

    name = "CombMNZ"


class CombMax(Combination):
    """By the largest scaled score."""

    name = "CombMAX"


class CombMed(Combination):
    """By the median of the scaled scores, unranked ones being 0."""

    name = "CombMED"


class CombAnz(Combination):
    """By the mean of the scaled scores above 0."""

    name = "CombANZ"


class CombMin(Combination):
    """By the smallest scaled score, unranked ones being 0."""

    name = "CombMIN"


class RankBiasedSum(Method):
    """By the sum of (1 - p) p^(rank - 1) over the runs that have the document."""

    name = "RBP-A"
    aliases = ("RBP",)
    source = "Moffat, Webber and Zobel 2007"
    p: float = parameter(0.8, OPEN_PROBABILITY, "probability to go on to the next rank")

    def scores(self, pool: Pool) -> NDArray[Any]:
        return _sums(pool, fusion.RankBiasedCentroid(p=self.p))


class Uniform(Method):
    """In random order: the first documents are a simple random sample of the pool of the topic."""

    name = "uniform"
    source = "Buckley and Voorhees 2004"
    draws = True

    def ranking(self, pool: Pool, seed: int) -> Indices:
        sizes = np.diff(pool.starts).tolist()
        draws = [
            stream_of(seed, topic).random(size)
            for topic, size in zip(pool.topics, sizes, strict=True)
        ]
        return np.lexsort((np.concatenate([*draws, np.zeros(0)]), pool.topic))


METHODS: Registry[type[Method]] = Registry(
    "pooling method",
    "method learning",
    package="cranfield.assess.pools",
    base=Method,
)


def parse_method(text: str | Method) -> Method:
    """Read a pooling method from its text form.

    Raises
    ------
    PolicyError
        For an unknown name, parameter or value, with the nearest known ones.

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
    """List the pooling methods: name, whether it learns, parameters, summary, source.

    Examples
    --------
    >>> methods().filter(pl.col("method") == "RRF").select("learns", "parameters").rows()
    [(False, 'k=60')]
    """
    return METHODS.table(
        "method",
        {
            "learns": attrgetter("learns"),
            "parameters": parameters_of,
            "other names": lambda kind: ", ".join(METHODS.other_names(name_of(kind))),
            "what it does": summary_of,
            "source": attrgetter("source"),
        },
    )
