"""Whole runs interleaved: lists for every topic, and for every page that a system is to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.threads import in_threads
from cranfield.base.words import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.online.interleaving.distribution import NOBODY
from cranfield.online.interleaving.interleaver import Drawn, Interleaver, checked_method
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.rankings import names_of, ranked, rankings_of
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID

_PAGES = Schema(
    "table of pages",
    (
        Column("page", ID, "impression"),
        Column("query", ID, "topic", called="topic"),
    ),
    called="the pages",
    formats=FRAMES,
    otherwise="csv",
    readable="table of pages and queries",
    tuples=("page", "query"),
)

_SHOWN = {
    "page": pl.String,
    "query": pl.String,
    "method": pl.String,
    "rank": pl.Int64,
    "doc": pl.String,
    "team": pl.String,
}

_MOST_PAGES = 10_000_000
"""Pages of all topics: their lists are in memory together."""


@dataclass(frozen=True, eq=False, repr=False)
class InterleavedRuns(Mapping[str, Interleaver]):
    """An :class:`Interleaver` for each topic; made by :func:`interleave_runs`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankers
        Names of the runs.
    missing
        Topics that only some of the runs have; they are not interleaved.
    """

    method: InterleavingMethod
    rankers: tuple[str, ...]
    missing: tuple[str, ...]
    by_topic: Mapping[str, Interleaver]

    def __getitem__(self, topic: str) -> Interleaver:
        return self.by_topic[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_topic)

    def __len__(self) -> int:
        return len(self.by_topic)

    @property
    def lists(self) -> dict[str, dict[str, list[str]]]:
        """Rankings by topic and ranker, best document first, as :func:`preference` takes them."""
        return {
            topic: {
                ranker: [str(one.docs[k]) for k in order if k >= 0]
                for ranker, order in zip(one.rankers, one.rankings.orders.tolist(), strict=True)
            }
            for topic, one in self.items()
        }

    def __repr__(self) -> str:
        runs, topics = counted(len(self.rankers), "run"), counted(len(self), "topic")
        left = f", {counted(len(self.missing), 'topic')} left out" if self.missing else ""
        return f"InterleavedRuns({self.method}: {runs}, {topics}{left})"

    def draw(self, n: int, seed: int, first: int = 0, jobs: int | None = None) -> pl.DataFrame:
        """Draw lists for n pages of each topic: `page`, `query`, `method`, `rank`, `doc`, `team`.

        A row a shown document, as :func:`read_log` reads it; pages are named by topic and number.

        Parameters
        ----------
        n, seed, first
            As of :meth:`Interleaver.draw`.
        jobs
            Number of threads, None for one a processor; it changes nothing.
        """
        check_whole("n", n, 0, _MOST_PAGES // max(1, len(self)))
        check_whole("first", first, 0)

        def of(topic: str) -> pl.DataFrame:
            pages = [f"{topic}-{k}" for k in range(first, first + n)]
            return self._frame(topic, pages, self[topic].draw(n, seed, first))

        return pl.concat([pl.DataFrame(schema=_SHOWN), *in_threads(of, self, jobs)])

    def draw_for(self, pages: Any, seed: int, jobs: int | None = None) -> pl.DataFrame:
        """Draw a list for each of some pages that have a name: the same name, the same list.

        Parameters
        ----------
        pages
            Table of `page` and `query`: a file, a data frame, a list of dicts.
        seed
            Of the draws.
        jobs
            Number of threads, None for one a processor; it changes nothing.

        Returns
        -------
        polars.DataFrame
            As of :meth:`draw`, in the order of the pages.

        Raises
        ------
        InputError
            For a page twice, or a topic that is not interleaved, naming the line.
        """
        check_whole("seed", seed, 0)
        table = read_table(pages, _PAGES)
        pages, topics = table.frame["page"], table.frame["query"]
        for row in (~pages.is_first_distinct()).arg_true():
            raise table.wrong(row, f"page {quoted(pages[row])} twice")
        for row in (~topics.is_in([*self])).arg_true():
            raise table.wrong(row, f"topic {quoted(topics[row])} is not in all runs")
        groups = table.frame.with_row_index("row").partition_by("query", maintain_order=True)

        def of(group: pl.DataFrame) -> pl.DataFrame:
            topic, keys = group["query"][0], group["page"].to_list()
            return self._frame(topic, keys, self[topic].draw_for(keys, seed))

        drawn = pl.concat([pl.DataFrame(schema=_SHOWN), *in_threads(of, groups, jobs)])
        order = table.frame.select("page").with_row_index("row")
        return drawn.join(order, on="page").sort("row", "rank").drop("row")

    def _frame(self, topic: str, pages: Sequence[str], drawn: Drawn) -> pl.DataFrame:
        row, place = np.nonzero(drawn.lists >= 0)
        teams = drawn.teams[row, place]
        rankers = pl.Series([*self.rankers, None], dtype=pl.String)
        docs = pl.Series([*map(str, self[topic].docs)], dtype=pl.String)
        return pl.DataFrame(
            {
                "page": pl.Series(pages, dtype=pl.String).gather(row),
                "query": pl.repeat(topic, row.size, dtype=pl.String, eager=True),
                "method": pl.repeat(str(self.method), row.size, dtype=pl.String, eager=True),
                "rank": place + 1,
                "doc": docs.gather(drawn.lists[row, place]),
                "team": rankers.gather(np.where(teams == NOBODY, len(self.rankers), teams)),
            },
            schema=_SHOWN,
        )


def interleave_runs(
    runs: Any,
    method: str | InterleavingMethod = "TeamDraft",
    length: int = 10,
    *,
    ties: str = "trec",
) -> InterleavedRuns:
    """Interleave whole runs, topic by topic.

    Parameters
    ----------
    runs
        Two or more runs, or files of them, as :func:`cranfield.read_runs` takes them.
    method, length
        As of :func:`interleave`.
    ties
        Order of documents with equal scores.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"A": {"q1": {"d1": 2.0, "d2": 1.0}}, "B": {"q1": {"d2": 3.0, "d3": 1.0}}}
    >>> made = cf.online.interleave_runs(runs, "TeamDraft", length=2)
    >>> made, made["q1"].docs
    (InterleavedRuns(TeamDraft: 2 runs, 1 topic), ('d1', 'd2', 'd3'))
    >>> made.draw(1, seed=7).select("page", "rank", "doc", "team").rows()
    [('q1-0', 1, 'd2', 'B'), ('q1-0', 2, 'd1', 'A')]
    """
    many = list(read_runs(runs))
    names = names_of(many)
    parsed = checked_method(method, length, len(many))
    orders = [ranked(run, ties) for run in many]
    everywhere = [topic for topic in orders[0] if all(topic in order for order in orders)]
    if not everywhere:
        raise PolicyError("the runs have no topic in common")
    kept = set(everywhere)
    missing = dict.fromkeys(topic for order in orders for topic in order if topic not in kept)
    made = {
        topic: Interleaver(
            parsed,
            rankings_of({name: order[topic] for name, order in zip(names, orders, strict=True)}),
            length,
            topic,
        )
        for topic in everywhere
    }
    return InterleavedRuns(parsed, tuple(names), tuple(missing), made)
