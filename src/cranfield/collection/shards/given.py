"""Shards that are given: a table of documents and the shard of each."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.columns import typed
from cranfield.collection.files.tables import NAMES
from cranfield.collection.keys import KeyIndex
from cranfield.collection.qrels import topic_order
from cranfield.collection.shards.sharding import Sharding, Shards, random_shards
from cranfield.sources.chunks import Source

_COLUMNS = {"doc": NAMES["doc"], "shard": ("shard", "shard_id", "part", "partition")}


@dataclass(frozen=True, eq=False, repr=False)
class GivenShards(Sharding):
    """Shards from a table: see :func:`read_shards`.

    Attributes
    ----------
    labels
        The shards' names: in order of number when all are numbers, else sorted.
    docs
        Document ids, each once.
    codes
        Shard of each document, an index into `labels`.
    name
        Where the table came from.
    """

    labels: tuple[str, ...]
    docs: pl.Series
    codes: Shards
    name: str = "shards"
    _index: KeyIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", KeyIndex(self.docs.hash().to_numpy()))

    def _of(self, docs: pl.Series) -> Shards:
        asked, found = self._index.candidates(docs.hash().to_numpy())
        # Equal keys are only a claim; the documents decide.
        true = (docs.gather(asked) == self.docs.gather(found)).to_numpy()
        out = np.full(len(docs), -1, dtype=np.int32)
        out[asked[true]] = self.codes[found[true]]
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
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        return _from_frame(_read(source), source.name)
    if isinstance(data, Mapping):
        return _made({"doc": list(data.keys()), "shard": list(data.values())}, "shards")
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return _from_frame(data, "shards")
    raise InputError(
        f"{type(data).__name__} cannot be read as shards; a dict {{document: shard}}, a data frame"
        " and a file can"
    )


def as_sharding(shards: Any, seed: int = 0, sampling: int = 0) -> Sharding:
    """Take a number of shards to draw at random, a partition as it is, or read one.

    Examples
    --------
    >>> as_sharding(2), as_sharding({"d1": "a", "d2": "b"})
    (RandomShards(shards=2, seed=0, sampling=0), GivenShards(2 shards, 2 documents))
    """
    if isinstance(shards, Sharding):
        return shards
    if isinstance(shards, (int, float, np.number)):
        return random_shards(shards, seed, sampling)  # type: ignore[arg-type]
    return read_shards(shards)


def _read(source: Source) -> pl.DataFrame:
    if source.suffix not in {".csv", ".tsv", ".parquet"}:
        raise InputError("shards are read from .csv, .tsv and .parquet", source=source.name)
    data = source.read()
    if not data.strip():
        raise InputError("is empty: shards have at least one document", source=source.name)
    try:
        if source.suffix == ".parquet":
            return pl.read_parquet(io.BytesIO(data))
        separator = "\t" if source.suffix == ".tsv" else ","
        return pl.read_csv(data, separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        kind = source.suffix.removeprefix(".")
        raise InputError(f"is no readable {kind}: {reason}", source=source.name) from None


def _from_frame(data: Any, source: str) -> GivenShards:
    try:
        frame = nw.from_native(data)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        lower = {str(column).lower(): column for column in reversed(frame.columns)}
        names = [str(column) for column in frame.columns]
    except Exception as error:
        # Each library has its own ways to refuse a frame, such as one with a name twice.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{type(data).__name__} is no data frame that can be read: {reason}", source=source
        ) from None
    table = {}
    for name, aliases in _COLUMNS.items():
        column = next((lower[alias] for alias in aliases if alias in lower), None)
        if column is None:
            have = ", ".join(quoted(one) for one in names[:12])
            raise InputError(
                f"has no {name} column (usual names: {', '.join(aliases)}); columns: {have}",
                source=source,
            )
        table[name] = frame[column].to_list()
    return _made(table, source)


def _made(table: dict[str, list[Any]], source: str) -> GivenShards:
    frame = typed(table, "table of shards", source)
    docs = frame["doc"]
    twice = docs.is_duplicated().arg_true()
    if len(twice):
        raise InputError("document twice in the shards", source=source, doc=docs[int(twice[0])])
    labels = topic_order(frame["shard"].unique().to_list())
    codes = frame["shard"].replace_strict(labels, range(len(labels)), return_dtype=pl.Int32)
    return GivenShards(tuple(labels), docs.rechunk(), codes.to_numpy(), source)
