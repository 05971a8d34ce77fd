"""Interleaved lists of several rankings, for a topic or for whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices, row_slices
from cranfield.base.errors import PolicyError, as_array, check_several, check_whole, indices, quoted
from cranfield.base.kinds import Whole
from cranfield.base.parallel import in_threads
from cranfield.base.streams import number_of, stream_of, uniforms
from cranfield.base.text import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.writing import write_lines, write_table
from cranfield.collection.policies import TieOrder
from cranfield.collection.run import Run
from cranfield.online.interleaving.method import (
    NOBODY,
    Distribution,
    Given,
    Id,
    InterleavingMethod,
    Rankings,
    Steps,
    parse_interleaving,
    ranked,
    rankings_of,
    repeated,
)
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.values import ID

LONGEST = 10_000
"""Largest number of documents of a list."""

_AT_A_TIME = 1 << 20
"""Numbers of a batch of draws for each rank."""


_MOST_DRAWS = 100_000_000
"""Maximum number of impressions of one call, which are in memory together."""


class DrawnLists(NamedTuple):
    """Lists that were drawn, a row an impression, and their teams: see :class:`Distribution`."""

    lists: Indices
    teams: Indices


@dataclass(frozen=True, eq=False)
class Interleaver:
    """Interleaves several rankings of one topic; returned by :func:`interleave`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankings
        The rankings, as codes of documents.
    length
        Maximum number of documents of a list.
    topic
        Topic of the rankings; draws of different topics are independent.
    """

    method: InterleavingMethod
    rankings: Rankings
    length: int
    topic: str = ""

    @property
    def docs(self) -> tuple[Id, ...]:
        """Ids of all documents; a code is a place in it."""
        return self.rankings.docs

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self.rankings.rankers

    def __repr__(self) -> str:
        many = counted(len(self.rankers), "ranking")
        docs = counted(len(self.docs), "document")
        return f"Interleaver({self.method}: {many} of {docs}, lists of {self.length})"

    @cached_property
    def _lists(self) -> Distribution | Steps:
        return self.method.lists(self.rankings, self.length)

    def draw(self, n: int, seed: int, first: int = 0, jobs: int | None = 1) -> DrawnLists:
        """Draw the lists of some impressions.

        Parameters
        ----------
        n
            Number of impressions.
        seed
            Seed. The list of an impression depends on its number, the seed and the topic, and not
            on the other impressions of the call.
        first
            Number of the first impression, from 0.
        jobs
            Number of threads, None for one per processor; results do not depend on it.

        Examples
        --------
        >>> import cranfield as cf
        >>> made = cf.online.interleave([["a", "b"], ["b", "c"]], length=3)
        >>> lists, teams = made.draw(3, seed=7)
        >>> lists.tolist(), teams.tolist()
        ([[0, 1, 2], [1, 0, 2], [0, 1, 2]], [[0, 1, 1], [1, 0, 1], [0, 1, 1]])
        """
        check_whole("n", n, 0, _MOST_DRAWS)
        check_whole("seed", seed, 0)
        check_whole("first", first, 0)
        topic = number_of(self.topic)

        def part(rows: slice) -> tuple[Indices, Indices]:
            start, number = first + rows.start, rows.stop - rows.start
            return self._lists.drawn(uniforms(seed, start, number, self._lists.width, topic, 0))

        return _joined(in_threads(part, self._batches(n), jobs))

    def draw_for(self, keys: Iterable[str], seed: int) -> DrawnLists:
        """Draw a list for each of some impressions by name.

        For production systems: the same name, such as a session id, always gets the same list.

        Examples
        --------
        >>> import cranfield as cf
        >>> made = cf.online.interleave([["a", "b"], ["b", "c"]], length=3)
        >>> made.draw_for(["s81", "s82", "s81"], seed=7).lists.tolist()
        [[0, 1, 2], [1, 0, 2], [0, 1, 2]]
        """
        check_several("keys", keys)
        check_whole("seed", seed, 0)
        topic, names = number_of(self.topic), list(keys)
        if not all(isinstance(name, str) for name in names):
            raise PolicyError("keys of impressions must be text")
        rows = [stream_of(seed, name, topic).random(self._lists.width) for name in names]
        numbers = np.array(rows).reshape(len(rows), self._lists.width)
        return _joined([self._lists.drawn(numbers[part]) for part in self._batches(len(rows))])

    def _batches(self, impressions: int) -> list[slice]:
        """Cut impressions into batches, at least one, that fit in memory."""
        breadth = len(self.docs) * len(self.rankers)
        return [*row_slices(impressions, breadth, _AT_A_TIME)] or [slice(0, 0)]

    def distribution(self, limit: int = 100_000) -> Distribution:
        """Return every list that may be shown, with its teams and its probability.

        Raises
        ------
        PolicyError
            If there are more than `limit` lists.

        Examples
        --------
        >>> import cranfield as cf
        >>> made = cf.online.interleave([["a", "b"], ["b", "c"]], "Balanced")
        >>> made.distribution().to_polars().select("list", "probability").rows()
        [(['a', 'b'], 0.5), (['b', 'a', 'c'], 0.5)]
        """
        check_whole("limit", limit, 1)
        distribution = self._lists.listed(limit)
        if distribution is None:
            raise PolicyError(
                f"more than {limit:,} lists are possible; raise limit, lower the length, or draw"
                " lists instead"
            )
        return distribution

    def credits(self, lists: Any, clicks: Any, teams: Any = None) -> Floats:
        """Return the credit of each ranker for clicks, shape (impressions, rankers).

        Parameters
        ----------
        lists
            Codes of the documents shown, shape (impressions, ranks).
        clicks
            Whether they were clicked, truth values of the same shape.
        teams
            Rankers that gave the documents, if the method needs them.

        Examples
        --------
        >>> import cranfield as cf
        >>> made = cf.online.interleave([["a", "b"], ["b", "c"]], "TeamDraft")
        >>> made.credits([[0, 1, 2]], [[True, False, False]], [[0, 1, 1]]).tolist()
        [[1.0, 0.0]]
        """
        parts = self._parts(lists, clicks, teams)
        credits = [self.method.credits(self.rankings, *part) for part in parts]
        return np.concatenate([np.empty((0, len(self.rankers))), *credits])

    def outcomes(
        self, lists: Any, clicks: Any, teams: Any = None, pair: tuple[int, int] = (0, 1)
    ) -> Floats:
        """Return how each impression compares two rankers, shape (impressions,).

        Above 0 if the first one wins, 0 for a tie: the sign of the difference of credits, or the
        difference, by the `outcome` of the method; with marginal scoring, the expected sign.

        Parameters
        ----------
        lists, clicks, teams
            As for :meth:`credits`.
        pair
            Indices of the rankers to compare.
        """
        two = tuple(indices(pair, "rankers", len(self.rankers)).tolist())
        if len(two) != 2:
            raise PolicyError(f"pair must be two rankers, got {len(two)}")
        parts = self._parts(lists, clicks, teams)
        outcomes = [self.method.outcomes(self.rankings, *part, two) for part in parts]
        return np.concatenate([np.empty(0), *outcomes])

    def _parts(
        self, lists: Any, clicks: Any, teams: Any
    ) -> Iterator[tuple[Indices, Bools, Indices]]:
        """Check impressions, and yield them in batches."""
        codes = _codes(lists, "lists", len(self.docs))
        clicked = as_array(clicks, "clicks are truth values, a row an impression")
        if clicked.dtype != bool or clicked.shape != codes.shape:
            raise PolicyError(
                f"clicks must be truth values of shape {codes.shape}, as the lists, got"
                f" {clicked.dtype} of shape {clicked.shape}"
            )
        if (clicked & (codes < 0)).any():
            raise PolicyError("a click is on a rank below the end of its list")
        if teams is None and self.method.by_team:
            raise PolicyError(f"{self.method} requires teams, which are credited")
        owners = np.full_like(codes, NOBODY)
        if teams is not None:
            owners = _codes(teams, "teams", len(self.rankers))
        if owners.shape != codes.shape:
            raise PolicyError(
                f"teams must have the shape of the lists, {codes.shape}, got {owners.shape}"
            )
        for rows in self._batches(len(codes)) if len(codes) else ():
            yield codes[rows], clicked[rows], owners[rows]


def _joined(parts: Iterable[tuple[Indices, Indices]]) -> DrawnLists:
    lists, teams = zip(*parts, strict=True)
    return DrawnLists(np.concatenate(lists), np.concatenate(teams))


def _codes(values: Any, what: str, size: int) -> Indices:
    array = as_array(values, f"{what} are rows of whole numbers")
    if array.ndim != 2 or array.shape[1] == 0 or (array.size and array.dtype.kind not in "iu"):
        raise PolicyError(f"{what} must be integers of shape (impressions, ranks)")
    if array.size and (array.min() < NOBODY or array.max() >= size):
        raise PolicyError(f"{what} must be integers from -1 to {size - 1}")
    return array.astype(np.intp, copy=False)


def interleave(
    lists: Given | Sequence[Run],
    method: str | InterleavingMethod = "TeamDraft",
    length: int = 10,
    *,
    topic: str | None = None,
    ties: str = "trec",
) -> Interleaver:
    """Interleave two or more rankings of a topic.

    Parameters
    ----------
    lists
        Lists of document ids, best first; with names, where they are a mapping. Or runs.
    method
        Interleaving method, such as `TeamDraft`, `Probabilistic(tau=1)`, `Optimised` or `PPM`. All
        are listed by :func:`interleaving_methods`.
    length
        Maximum number of documents of a list.
    topic
        Of runs: the topic whose rankings are interleaved. Of lists: a name for it; draws of
        different topics are independent.
    ties
        Of runs: order of documents with equal scores.

    Raises
    ------
    PolicyError
        For fewer than two rankings, or more than the method takes; a document twice in a ranking;
        a wrong option.

    Examples
    --------
    >>> import cranfield as cf
    >>> made = cf.online.interleave([["a", "b", "c", "d"], ["b", "d", "c", "a"]], "TeamDraft")
    >>> made
    Interleaver(TeamDraft: 2 rankings of 4 documents, lists of 10)
    >>> for docs, probability in made.distribution().of_lists().to_polars().drop("teams").rows():
    ...     print(*docs, probability)
    a b c d 0.25
    a b d c 0.25
    b a c d 0.25
    b a d c 0.25
    """
    if topic is not None and not isinstance(topic, str):
        raise PolicyError(f"topic must be an id, got {quoted(topic)}")
    if not isinstance(lists, (Mapping, Sequence, np.ndarray)):
        raise PolicyError(f"rankings must be lists of ids, or runs, got {quoted(lists)}")
    runs = (
        []
        if isinstance(lists, Mapping)
        else [ranking for ranking in lists if isinstance(ranking, Run)]
    )
    parsed = checked_method(method, length, len(lists))
    if not runs:
        return Interleaver(parsed, rankings_of(cast("Given", lists)), length, topic or "")
    if len(runs) < len(lists):
        raise PolicyError("expected lists of ids or runs, got both")
    if topic is None or not any(topic in run.topics for run in runs):
        problem = "is missing" if topic is None else f"{quoted(topic)} is in none of them"
        raise PolicyError(f"runs are interleaved for one topic, which {problem}")
    check_names(runs)
    own = {}
    for run in runs:
        rows = run.restricted(run.codes == run.topics.index(topic)) if topic in run.topics else None
        own[run.name] = [] if rows is None else ranked(rows, ties)[topic]
    return Interleaver(parsed, rankings_of(own), length, topic)


def check_names(runs: Sequence[Run]) -> None:
    """Refuse two runs of one name."""
    if twice := repeated(run.name for run in runs):
        raise PolicyError(f"runs must have different names, got {quoted(twice[0])} twice")


def checked_method(
    method: str | InterleavingMethod, length: int, rankers: int
) -> InterleavingMethod:
    """Parse a method, and check the length and the number of rankings."""
    parsed = parse_interleaving(method)
    check_whole("length", length, 1, LONGEST)
    if parsed.max_rankers is not None and rankers > parsed.max_rankers:
        raise PolicyError(f"{parsed} takes {parsed.max_rankers} rankings, got {rankers}")
    return parsed


_PAGES = Schema(
    "table of pages",
    (Column("page", ID, "impression"), Column("query", ID, "topic", called="topic")),
    called="the pages",
    formats=FRAMES,
    otherwise="csv",
    tuples=("page", "query"),
)

_TEXTS = dict.fromkeys(("page", "query", "method"), pl.String)
_SHOWN = {**_TEXTS, "rank": pl.Int64, "doc": pl.String, "team": pl.String}

_MOST_PAGES = 10_000_000
"""Maximum number of pages of all topics, whose lists are in memory together."""


@dataclass(frozen=True, eq=False, repr=False)
class InterleavedRuns(Mapping[str, Interleaver]):
    """An :class:`Interleaver` for each topic; returned by :func:`interleave_runs`.

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
                ranker: [str(interleaver.docs[k]) for k in order if k >= 0]
                for ranker, order in zip(
                    interleaver.rankers, interleaver.rankings.orders.tolist(), strict=True
                )
            }
            for topic, interleaver in self.items()
        }

    def __repr__(self) -> str:
        runs, topics = counted(len(self.rankers), "run"), counted(len(self), "topic")
        excluded = f", {counted(len(self.missing), 'topic')} excluded" if self.missing else ""
        return f"InterleavedRuns({self.method}: {runs}, {topics}{excluded})"

    def draw(
        self,
        n: int,
        seed: Annotated[int, Whole(0)],
        first: int = 0,
        jobs: Annotated[int | None, Whole(1)] = None,
    ) -> pl.DataFrame:
        """Draw lists for n pages of each topic: `page`, `query`, `method`, `rank`, `doc`, `team`.

        A row a shown document, as :func:`read_log` reads it; pages are named by topic and number.

        Parameters
        ----------
        n
            Number of interleaved lists to draw for each topic.
        seed
            Seed of the random draws.
        first
            As for :meth:`Interleaver.draw`.
        jobs
            Number of threads (results do not depend on it). By default one per processor.
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
            Table of pages to draw a list for: `page` and `query`, in a file, a data frame or a list
            of dicts.
        seed, jobs
            As for :meth:`draw`.

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
            raise table.wrong(row, f"page {quoted(pages[row])} occurs twice")
        for row in (~topics.is_in([*self])).arg_true():
            raise table.wrong(row, f"topic {quoted(topics[row])} is not in all runs")
        groups = table.frame.partition_by("query", maintain_order=True)

        def of(group: pl.DataFrame) -> pl.DataFrame:
            topic, keys = group["query"][0], group["page"].to_list()
            return self._frame(topic, keys, self[topic].draw_for(keys, seed))

        drawn = pl.concat([pl.DataFrame(schema=_SHOWN), *in_threads(of, groups, jobs)])
        order = table.frame.select("page").with_row_index("row")
        return drawn.join(order, on="page").sort("row", "rank").drop("row")

    def _frame(self, topic: str, pages: Sequence[str], drawn: DrawnLists) -> pl.DataFrame:
        row, place = np.nonzero(drawn.lists >= 0)
        docs, teams = drawn.lists[row, place], drawn.teams[row, place]
        rankers = pl.Series([*self.rankers, None], dtype=pl.String)
        columns = {
            "page": pl.Series(pages, dtype=pl.String).gather(row),
            **{"query": topic, "method": str(self.method), "rank": place + 1},
            "doc": pl.Series([*map(str, self[topic].docs)], dtype=pl.String).gather(docs),
            "team": rankers.gather(np.where(teams == NOBODY, len(self.rankers), teams)),
        }
        return pl.DataFrame(columns, schema=_SHOWN)


def interleave_runs(
    runs: Any,
    method: str | InterleavingMethod = "TeamDraft",
    length: Annotated[int, Whole(1, LONGEST)] = 10,
    *,
    ties: TieOrder = "trec",
) -> InterleavedRuns:
    """Interleave whole runs, topic by topic.

    Parameters
    ----------
    runs
        Two or more runs, or files of them, as :func:`cranfield.read_runs` takes them.
    method, length
        As for :func:`interleave`.
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
    parse_interleaving(method)  # Before any file is read.
    many = list(read_runs(runs))
    check_names(many)
    parsed = checked_method(method, length, len(many))
    orders = {run.name: ranked(run, ties) for run in many}
    topics = dict.fromkeys(topic for order in orders.values() for topic in order)
    shared = [topic for topic in topics if all(topic in order for order in orders.values())]
    if not shared:
        raise PolicyError("the runs have no topic in common")
    by_topic = {}
    for topic in shared:
        rankings = rankings_of({name: order[topic] for name, order in orders.items()})
        by_topic[topic] = Interleaver(parsed, rankings, length, topic)
    missing = tuple(topic for topic in topics if topic not in by_topic)
    return InterleavedRuns(parsed, tuple(orders), missing, by_topic)


def write_lists(drawn: pl.DataFrame, path: str, format: str) -> None:
    """Write the lists of :meth:`InterleavedRuns.draw` to a file; `-` is standard output.

    As `jsonl` a line is a page, as `trec` pages are the topics of a run; as `csv`, `tsv`, `json` or
    `parquet` a row is a document.
    """
    if format == "trec":
        tag = pl.col("method").str.replace_all(r"\s", "")
        score = (pl.col("rank").max() + 1 - pl.col("rank")).over("page")
        columns = (pl.col("page").alias("topic"), pl.lit("Q0"), "doc", "rank", score.alias("score"))
        write_lines(drawn.select(*columns, tag), path)
    elif format == "jsonl":
        pages = drawn.group_by("page", "query", "method", maintain_order=True)
        write_table(pages.agg(results=pl.struct("rank", "doc", "team")), path, format)
    else:
        write_table(drawn, path, format)
