"""The tops of the rankings of several systems, with the grades of their documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices, Ints
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run


@dataclass(frozen=True, eq=False)
class ShownLists:
    """What each system would show for each topic.

    Attributes
    ----------
    systems, topics
        Their names.
    docs
        Number of the document at each rank, shape (systems, topics, ranks); -1 at the end.
    grade
        Grade of each document of a topic by its number, 0 where it has none or one below 0.
    """

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    docs: Indices
    grade: Ints

    def grades(self, docs: Indices) -> Ints:
        """Return grades of documents by number; -1 where a list has ended."""
        return np.where(docs >= 0, self.grade[docs], -1)

    def fingerprint(self) -> str:
        """Return a hash of all of it."""
        digest = hashlib.sha256("\n".join([*self.systems, "", *self.topics]).encode())
        for one in (self.docs, self.grade):
            digest.update(np.ascontiguousarray(one, dtype=np.int64).tobytes())
        return digest.hexdigest()


def shown_lists(
    runs: Iterable[Run], qrels: Qrels, topics: Sequence[str], length: int, ties: str
) -> ShownLists:
    """Cut the rankings of topics at a length, and look their documents up in the judgments."""
    systems, parts = [], []
    for number, run in enumerate(runs):
        systems.append(run.name)
        rows = order_of(run, ties).rows
        starts = np.r_[True, run.codes[rows][1:] != run.codes[rows][:-1]]
        place = np.arange(len(rows))
        rank = place - np.maximum.accumulate(np.where(starts, place, 0))
        top = rows[rank < length]
        parts.append(
            pl.DataFrame(
                {
                    "topic": pl.Series(run.topics, dtype=pl.String).gather(run.codes[top]),
                    "doc": run.ids(top),
                    "rank": rank[rank < length],
                }
            ).with_columns(system=pl.lit(number))
        )
    flat = qrels.flat()
    known = pl.DataFrame(
        {
            "topic": pl.Series(flat.topics, dtype=pl.String).gather(flat.codes),
            "doc": flat.docs,
            "grade": np.maximum(flat.grades, 0).astype(np.int64),
        }
    )
    places = pl.DataFrame({"topic": topics, "place": np.arange(len(topics))})
    found = (
        pl.concat(parts)
        .join(places, on="topic", how="inner", maintain_order="left")
        .join(known, on=["topic", "doc"], how="left", maintain_order="left")
        .with_columns(code=pl.struct("place", "doc").rank("dense").cast(pl.Int64) - 1)
    )
    docs = np.full((len(systems), len(topics), length), -1, dtype=np.intp)
    columns: Any = found.select("system", "place", "rank", "code").to_numpy().T
    system, place, rank, code = columns
    docs[system, place, rank] = code
    grade = np.zeros(docs.max(initial=-1) + 1, dtype=np.int64)
    grade[code] = found["grade"].fill_null(0).to_numpy()
    return ShownLists(tuple(systems), tuple(topics), docs, grade)
