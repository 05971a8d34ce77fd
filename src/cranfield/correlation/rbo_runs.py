"""Rank-biased overlap of two runs, topic by topic."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.correlation.overlap import Places, overlap
from cranfield.correlation.rbo import check


class Ranked(Protocol):
    """A run, by what is needed of it: a table with the columns topic, doc and score."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""


def rbo_of_runs(first: Ranked, second: Ranked, p: float = 0.9, *, ties: str = "a") -> pl.DataFrame:
    """Rank-biased overlap of what two runs retrieved, topic by topic.

    Parameters
    ----------
    first, second
        Runs, as :func:`cranfield.read_run` gives them. Documents are ranked by score, higher first,
        whatever ranks a file had; equal scores are tied.
    p, ties
        As for :func:`cranfield.correlation.rbo`.

    Returns
    -------
    polars.DataFrame
        A row a topic, in order of the first run, then of the second: `topic`; `ext`, `min` and
        `res`, null for a topic that only one of them has; and how many documents the `first` and
        the `second` retrieved.

    Raises
    ------
    PolicyError
        For an unknown treatment of ties, a p that is not between 0 and 1, or what is not a run.

    Examples
    --------
    >>> import cranfield as cf
    >>> one = cf.read_run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1}})
    >>> other = cf.read_run({"q1": {"a": 9, "c": 8, "d": 7}})
    >>> rbo_of_runs(one, other).select("topic", pl.col("ext").round(4), "first", "second").rows()
    [('q1', 0.685, 3, 3), ('q2', None, 1, 0)]
    """
    p = check(p, ties)
    one, other = _ranks(first), _ranks(second)
    both = one.join(other, on=["topic", "doc"], how="full", coalesce=True, suffix=" of second")
    topics = pl.concat([one["topic"], other["topic"]]).unique(maintain_order=True)
    # Sorted by topic, so that each is a slice.
    both = both.with_columns(
        code=pl.col("topic").replace_strict(topics, range(len(topics)), return_dtype=pl.Int64)
    ).sort("code")
    top, bottom, top_2, bottom_2 = (
        both[name].fill_null(0).to_numpy().astype(np.int64)
        for name in ("top", "bottom", "top of second", "bottom of second")
    )
    ends = np.cumsum(np.bincount(both["code"].to_numpy(), minlength=len(topics)))
    rows = []
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        here = slice(int(start), int(end))
        a, b = Places(top[here], bottom[here]), Places(top_2[here], bottom_2[here])
        known = a.length and b.length
        rows.append((*(overlap(a, b, p, ties) if known else (None,) * 3), a.length, b.length))
    schema = dict.fromkeys(("ext", "min", "res"), pl.Float64)
    counts = dict.fromkeys(("first", "second"), pl.Int64)
    table = pl.DataFrame(rows, {**schema, **counts}, orient="row")
    return pl.DataFrame({"topic": topics}).hstack(table)


def _ranks(run: Ranked) -> pl.DataFrame:
    """Return the first and the last rank of each document's group of ties."""
    if not hasattr(run, "to_polars"):
        raise PolicyError(f"a run is what cranfield.read_run gives, not {type(run).__name__}")
    # Adding 0 makes -0 and 0 the same.
    score = pl.col("score") + 0.0
    return run.to_polars().select(
        "topic",
        "doc",
        top=score.rank("min", descending=True).over("topic"),
        bottom=score.rank("max", descending=True).over("topic"),
    )
