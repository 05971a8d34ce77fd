"""Documents that are removed from rankings before ranks are assigned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.collection.pairs import topic_column
from cranfield.collection.run import Run
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import Column, schema_of_lines
from cranfield.sources.values import ID

SELF = "self"
"""Value that excludes the documents whose id is that of the topic."""


def _pairs(data: Any, source: str) -> dict[str, list[Any]]:
    """Convert `{topic: [document, ...]}` to columns."""
    columns: dict[str, list[Any]] = {"topic": [], "doc": []}
    for topic, docs in data.items():
        if not isinstance(docs, (list, tuple, set, frozenset)):
            reason = f"expected {{topic: [document, ...]}}, got {type(docs).__name__} for a topic"
            raise InputError(reason, source=source)
        columns["topic"] += [topic] * len(docs)
        columns["doc"] += docs
    return columns


EXCLUDED = schema_of_lines(
    "table of excluded documents", Column("topic", ID), Column("doc", ID), mapping=_pairs
)


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Documents to remove from rankings: pairs of topic and document, or those with topic ids."""

    pairs: pl.DataFrame | None = None

    @classmethod
    def of(cls, data: Any) -> Exclusion | None:
        """Create an exclusion from `self` or a table of topics and documents; None for None."""
        if data is None or isinstance(data, cls):
            return data
        if isinstance(data, str) and data == SELF:
            return cls()
        return cls(read_table(data, EXCLUDED).frame.select("topic", "doc").unique())

    def mask(self, run: Run) -> NDArray[np.bool_]:
        """Return a mask of the rows of a run to keep; shape (rows,)."""
        topic = topic_column(run)
        if self.pairs is None:
            return (topic != run.docs).to_numpy()
        rows = pl.DataFrame({"topic": topic, "doc": run.docs}).with_row_index("row")
        is_included = np.ones(len(run), dtype=bool)
        is_included[rows.join(self.pairs, on=["topic", "doc"], how="semi")["row"]] = False
        return is_included
