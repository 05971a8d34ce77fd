"""Shards that are given: a table of documents and the shard of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.words import counted
from cranfield.collection.files.named_columns import DOC
from cranfield.collection.keys import DocIndex
from cranfield.collection.qrels import topic_order
from cranfield.collection.shards.sharding import Sharding, Shards, random_shards
from cranfield.sources.columns import two_columns
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID

_SHARDS = Schema(
    "table of shards",
    (DOC, Column("shard", ID, "shard_id part partition")),
    called="shards",
    formats=FRAMES,
    tuples=None,
    mapping=two_columns("doc", "shard"),
)


@dataclass(frozen=True, eq=False, repr=False)
class GivenShards(Sharding):
    """Shards from a table: see :func:`read_shards`.

    `labels` are in order of number when all are numbers, else sorted; `codes` index them by
    document, and each document is there once.
    """

    labels: tuple[str, ...]
    docs: pl.Series
    codes: Shards
    name: str = "shards"

    def __post_init__(self) -> None:
        # It is made before threads share it.
        self._index  # noqa: B018

    @cached_property
    def _index(self) -> DocIndex:
        return DocIndex(self.docs)

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
