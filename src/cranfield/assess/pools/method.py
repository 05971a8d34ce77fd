"""Pooling methods: orders in which the documents of a pool are judged."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.spec import Registry, Spec, name_of, parameters_of, summary_of

NEARLY = 1e-12
"""Difference of values about 1 up to which they tie, so that rounding breaks no tie."""


class Asking:
    """State of a method that learns: a group of documents per topic, or one for a single queue."""

    def __init__(self, pool: Pool, starts: Ints | None = None) -> None:
        self.pool = pool
        self.starts = pool.starts if starts is None else starts
        self.free = np.ones(len(pool), dtype=bool)

    def choose(self, groups: Indices) -> Indices:
        """Choose the next document of each of these groups, all of which have one left."""
        raise NotImplementedError

    def learn(self, docs: Indices, relevant: Bools) -> None:
        """Take the relevance of documents chosen before, each of another group."""
        raise NotImplementedError

    def whole(self, relevant: Bools, known: Bools, batch: int) -> Indices:
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
                for chosen in pending:
                    judged = chosen[known[chosen]]
                    self.learn(judged, relevant[judged])
                pending = []
        return out


def spread(starts: Ints, counts: Ints) -> Ints:
    """Return the concatenated ranges of `counts` numbers from each start."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


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

    error = PolicyError
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

    @classmethod
    def called(cls) -> str:
        return cls.name

    def ranking(self, pool: Pool) -> Indices:
        """Order the documents of each topic, one topic after the other."""
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
        own = values[start:stop].tolist()
        order += (start + i for i in sorted(range(len(own)), key=own.__getitem__, reverse=True))
    return np.array(order, dtype=np.intp)


METHODS: Registry[type[Method]] = Registry(
    "pooling method",
    """
    methods: depth=depth-k=top-k count=PP RRF=reciprocal-rank-fusion Borda=Borda-count
      Condorcet=Copeland
    methods: CombSUM CombMNZ CombMAX CombMED CombANZ CombMIN
    methods: RBP-A=RBP
    methods: RBP-B RBP-C Hedge
    methods: MTF=move-to-front
    bandits: random epsilon-greedy=epsilon=greedy UCB1-tuned=UCB1=UCB
      Thompson=Thompson-sampling=TS=BLA MaxMean=MM=max-mean
    """,
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
    parsed: Method = METHODS.parse(text)
    return parsed


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
