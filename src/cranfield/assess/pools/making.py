"""Making a pool from runs: the first ranks of each, put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import InputError
from cranfield.collection.files.many_runs import distinct_names, read_runs
from cranfield.collection.judged.each_run import Progress, of_each
from cranfield.collection.judged.policies import TIES
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.qrels import topic_order
from cranfield.collection.run import Run


def pool(
    runs: Any,
    depth: int,
    *,
    ties: str = "trec",
    contributors: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Put the first documents of the rankings of some runs together.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes. Runs are read one at a time, and only their
        first ranks are kept; or a pool, which is cut.
    depth
        Ranks of each ranking that count, from 1.
    ties
        Order of documents with equal scores, as for :func:`cranfield.judge`. Ranks are made from
        scores, whatever the rank column says.
    contributors
        Names of the systems whose runs make the pool; all by default.
    jobs, progress
        As for :func:`cranfield.judge`.

    Raises
    ------
    InputError
        When a run cannot be read, when there is none, and when two have the same name.
    PolicyError
        For a depth below 1, unknown ties, and contributors that are not there.

    Notes
    -----
    Sparck Jones and van Rijsbergen (1975). Topics are all those that some run has, whether it
    contributes or not.

    Examples
    --------
    >>> pool({"a": {"1": {"d": 1.0}}, "b": {"1": {"d": 2.0, "e": 1.0}, "2": {"d": 1.0}}}, 100)
    Pool(2 topics, 2 systems, depth 100: 3 documents)
    """
    if isinstance(runs, Pool):
        made = runs.to_depth(depth)
        return made if contributors is None else made.of_systems(contributors)
    check_whole("depth", depth, 1)
    check_choice("ties", ties, TIES)
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    top = partial(_top, depth=depth, ties=ties)
    parts = list(of_each(many, top, progress, jobs=jobs))
    names = distinct_names([part.name for part in parts], [part.stem for part in parts])
    by_name = sorted(range(len(parts)), key=names.__getitem__)
    made = _together([names[i] for i in by_name], [parts[i] for i in by_name], int(depth))
    return made if contributors is None else made.of_systems(contributors)


@dataclass(frozen=True, eq=False)
class _Top:
    """The first documents of a run, in order of topic and rank; topics as in the run."""

    name: str
    stem: str | None
    topics: tuple[str, ...]
    codes: NDArray[np.int32]
    docs: pl.Series
    scores: Floats


def _top(run: Run, stem: str | None, depth: int, ties: str) -> _Top:
    order = order_of(run, ties)
    rows = order.rows
    codes = run.codes[rows]
    first = np.arange(rows.size) - order.starts[codes] < depth
    rows = rows[first]
    return _Top(run.name, stem, run.topics, codes[first], run.ids(rows), run.scores[rows])


def _together(systems: list[str], parts: list[_Top], depth: int) -> Pool:
    topics = topic_order(list({name for part in parts for name in part.topics}))
    place = {name: i for i, name in enumerate(topics)}
    codes = [
        np.array([place[name] for name in part.topics], dtype=np.int32)[part.codes]
        for part in parts
    ]
    rows = pl.DataFrame(
        {"topic": np.concatenate(codes), "doc": pl.concat([part.docs for part in parts])}
    )
    docs = rows.unique().sort("topic", "doc").with_row_index("number")
    number = rows.join(docs, on=["topic", "doc"], how="left", maintain_order="left")["number"]
    cell = np.concatenate(
        [code.astype(np.int64) * len(systems) + i for i, code in enumerate(codes)]
    )
    by_cell = np.argsort(cell, kind="stable")
    sizes = np.bincount(cell, minlength=len(topics) * len(systems))
    return Pool(
        tuple(topics),
        tuple(systems),
        depth,
        docs["doc"].rechunk(),
        np.r_[0, np.cumsum(np.bincount(docs["topic"].to_numpy(), minlength=len(topics)))],
        number.to_numpy()[by_cell].astype(np.int32),
        np.r_[0, np.cumsum(sizes)],
        np.concatenate([part.scores for part in parts])[by_cell],
    )
