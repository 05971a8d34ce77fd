"""Shards: a partition of the documents, drawn at random or given by a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.checks import check_whole
from cranfield.base.words import counted
from cranfield.collection.files.named_columns import DOC
from cranfield.collection.keys import Indexed
from cranfield.collection.qrels import topic_order
from cranfield.collection.shards.siphash import siphash
from cranfield.sources.columns import two_columns
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.tables import fitted, read_table
from cranfield.sources.values import ID

Shards = NDArray[np.int32]
"""Shard of each document, as an index into the labels; -1 for a document that is in none."""

_DOCUMENTS = Schema("list of documents", (Column("doc", ID),))

MOST_SHARDS = 10_000
"""More would each hold next to nothing of what is judged."""


class Sharding(ABC):
    """A partition of documents into shards, made by :func:`random_shards` or :func:`read_shards`.

    Attributes
    ----------
    labels
        The shards' names, in order.
    """

    labels: tuple[str, ...]

    @abstractmethod
    def _of(self, docs: pl.Series) -> Shards: ...

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what makes the partition, as plain values."""

    def of(self, docs: Iterable[str] | pl.Series) -> Shards:
        """Find the shard of each document.

        Parameters
        ----------
        docs
            Ids: a polars column, such as `run.docs`, or any iterable.

        Returns
        -------
        array
            Indices into `labels`; -1 for a document that is in no shard.

        Raises
        ------
        InputError
            For what is no id.
        """
        if not isinstance(docs, pl.Series):
            listed = [docs] if isinstance(docs, str) else list(docs)
            docs = pl.Series(listed, dtype=pl.String) if not listed else _typed({"doc": listed})
        elif docs.dtype != pl.String or docs.null_count():
            docs = _typed({"doc": docs})
        return self._of(docs)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RandomShards(Sharding):
    r"""Shards drawn at random, each document on its own: see :func:`random_shards`.

    Attributes
    ----------
    shards
        Number of shards S.
    seed, sampling
        What the partition is drawn from.
    """

    shards: int
    seed: int = 0
    sampling: int = 0

    def __post_init__(self) -> None:
        check_whole("the number of shards", self.shards, 1, MOST_SHARDS)
        check_whole("the seed", self.seed, 0)
        check_whole("sampling", self.sampling, 0)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The shards' numbers, from 1."""
        return tuple(str(k + 1) for k in range(self.shards))

    @cached_property
    def key(self) -> tuple[int, int]:
        """The 128-bit key of the hash, in two halves."""
        drawn = np.random.SeedSequence(
            int(self.seed), spawn_key=(int(self.shards), int(self.sampling))
        )
        first, second = drawn.generate_state(2, np.uint64).tolist()
        return first, second

    def _of(self, docs: pl.Series) -> Shards:
        return (siphash(docs, self.key) % np.uint64(self.shards)).astype(np.int32)

    def describe(self) -> dict[str, Any]:
        """Return the number of shards, the seed and the sampling."""
        return {
            "shards": int(self.shards),
            "shard seed": int(self.seed),
            "shard sampling": int(self.sampling),
        }


def random_shards(shards: int = 3, seed: int = 0, sampling: int = 0) -> RandomShards:
    r"""Partition all documents at random.

    The shard of a document d follows from its id alone:

    .. math:: \mathrm{shard}(d) = \mathrm{SipHash}_{key}(d) \bmod S, \quad
        key = \mathrm{SeedSequence}(seed, (S, sampling))

    So it does not depend on the order of the input, on which runs are there, or on which documents
    they retrieved, and it is the same with any version of any program. Each document is in each
    shard with probability 1/S, independently of all others: the sizes of shards are binomial, and
    not exactly equal. Other seeds, samplings and numbers of shards have independent partitions.

    Source: Voorhees, Samarov and Soboroff (2017), Using replicates in information retrieval
    evaluation; Ferro and Sanderson (2019), Improving the accuracy of system performance
    estimation by using shards, who draw their partitions uniformly too.

    Parameters
    ----------
    shards
        Number of shards S, from 1 to 10,000.
    seed
        A whole number from 0.
    sampling
        Number of the partition among several of the same seed, from 0.

    Returns
    -------
    RandomShards
        The partition; its shards are called 1 to S.

    Raises
    ------
    PolicyError
        For numbers out of their range.

    Examples
    --------
    >>> thirds = random_shards(3, seed=7)
    >>> thirds.of(["FT934-5418", "FBIS3-10082", "LA122989-0063"]).tolist()
    [1, 2, 2]
    """
    return RandomShards(shards, seed, sampling)


def _typed(table: Mapping[str, Any]) -> pl.Series:
    return fitted(table, _DOCUMENTS, "documents").frame["doc"]


_SHARDS = Schema(
    "table of shards",
    (DOC, Column("shard", ID)),
    called="shards",
    formats=FRAMES,
    tuples=None,
    mapping=two_columns("doc", "shard"),
)


@dataclass(frozen=True, eq=False, repr=False)
class GivenShards(Indexed, Sharding):
    """Shards from a table: see :func:`read_shards`.

    `labels` are in order of number when all are numbers, else sorted; `codes` index them by
    document, and each document is there once.
    """

    labels: tuple[str, ...]
    docs: pl.Series
    codes: Shards
    name: str = "shards"

    def _of(self, docs: pl.Series) -> Shards:
        asked, rows = self._index.pairs(docs)
        out = np.full(len(docs), -1, dtype=np.int32)
        out[asked] = self.codes[rows]
        return out

    def describe(self) -> dict[str, Any]:
        """Return the number of shards and where they came from."""
        return {"shards": len(self.labels), "shards from": self.name}

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'shard')}, {counted(len(self.docs), 'document')}"
        return f"GivenShards({size})"


def read_shards(data: Any) -> GivenShards:
    """Read which shard each document is in.

    Parameters
    ----------
    data
        A dict `{document: shard}`, a data frame of any library, or the path of a file with named
        columns: CSV, TSV or Parquet by its suffix, packed or not. The columns are `doc` and
        `shard`, or other usual names for them, such as `docno`; others are not looked at.

    Returns
    -------
    GivenShards
        The partition. Shards are in order of number when all are numbers, else sorted by name.

    Raises
    ------
    InputError
        For what cannot be read, lacks a column, or has a document twice.

    Examples
    --------
    >>> parts = read_shards({"d1": "news", "d2": "law", "d3": "news"})
    >>> parts.labels, parts.of(["d1", "d2", "d9"]).tolist()
    (('law', 'news'), [1, 0, -1])
    """
    if isinstance(data, GivenShards):
        return data
    table = read_table(data, _SHARDS)
    docs, names = table.frame["doc"], table.frame["shard"]
    table.refuse(docs.is_duplicated(), lambda row: "document twice in the shards")
    labels = topic_order(names.unique().to_list())
    codes = names.replace_strict(labels, range(len(labels)), return_dtype=pl.Int32)
    return GivenShards(tuple(labels), docs.rechunk(), codes.to_numpy(), table.source)


def as_sharding(shards: Any, seed: int = 0, sampling: int = 0) -> Sharding:
    """Take a number of shards to draw at random, a partition as it is, or read one."""
    if isinstance(shards, Sharding):
        return shards
    if isinstance(shards, (int, float, np.number)):
        return random_shards(shards, seed, sampling)  # type: ignore[arg-type]
    return read_shards(shards)
