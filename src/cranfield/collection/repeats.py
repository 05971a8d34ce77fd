"""Policies for documents that stand twice in one topic, and for rows without a grade."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import counted
from cranfield.collection.keys import Codes
from cranfield.sources.chunks import Origin


class UngradedError(InputError):
    """Raised for judgments of which none has a grade."""


def tell_ungraded(source: str, dropped: int, rows: int) -> None:
    """Warn of rows without a grade; refuse judgments of which none has one."""
    if dropped == rows:
        raise UngradedError(f"none of {counted(rows, 'row')} has a grade", source=source)
    if dropped:
        are = "has no grade and counts" if dropped == 1 else "have no grade and count"
        warn(f"{source}: {dropped:,} of {counted(rows, 'row')} {are} as not judged", stacklevel=6)


def without_repeats(
    duplicates: str,
    values: NDArray[Any],
    codes: Codes,
    docs: pl.Series,
    topics: tuple[str, ...],
    origin: Origin,
    parts: pl.Series | None = None,
) -> Indices | None:
    """Find the rows to keep, of each topic or of its `parts`, and warn of others; None for all."""
    frame = pl.DataFrame({"code": codes, "doc": docs})
    if parts is not None:
        frame = frame.with_columns(part=parts)
    order = np.arange(len(docs))
    if duplicates == "last":
        order = order[::-1]
    elif duplicates == "best":
        order = np.argsort(-values.astype(np.float64), kind="stable")
    seen = frame[order].select(pl.struct(pl.all()).is_first_distinct()).to_series()
    kept = np.sort(order[seen.to_numpy()])
    if kept.size == order.size:
        return None
    gone = np.setdiff1d(np.arange(order.size), kept, assume_unique=True)
    row = int(gone[0])
    line = origin.line(row)
    where = f"line {line}, topic" if line else "topic"
    warn(
        f"{origin.name}: {counted(gone.size, 'document')} twice in one topic, of which the"
        f" {duplicates} one is kept (such as {where} {quoted(topics[codes[row]])}, document"
        f" {quoted(docs[row])})",
        stacklevel=4,
    )
    return kept
