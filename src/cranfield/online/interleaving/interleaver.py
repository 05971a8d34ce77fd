"""Interleaved lists of several rankings, for a topic or for whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.errors import (
    PolicyError,
    as_array,
    as_indices,
    check_integer,
    check_list,
    quote,
)
from cranfield.base.kinds import Integer
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import draw_uniforms, hash_name, make_named_stream
from cranfield.base.text import inflect
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.writing import write_lines, write_table
from cranfield.collection.policies import TieOrder
from cranfield.collection.run import Run
from cranfield.online.interleaving.method import (
    NOBODY,
    Distribution,
    Id,
    InterleavingMethod,
    Orderings,
    RankedLists,
    StepwiseDistribution,
    encode_rankings,
    find_duplicates,
    parse_interleaving,
    rank_documents,
)
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import TABLE_FORMATS, FileColumn, Schema
from cranfield.sources.values import ID

MAX_LENGTH = 10_000  # Maximum number of documents of a list
_BATCH_VALUES = 1 << 20  # Maximum product of impressions, documents and rankers in a batch
_MAX_DRAWS = 100_000_000  # Maximum number of impressions of one call, all in memory


class DrawnLists(NamedTuple):
    """Drawn lists, one row per impression, and their teams, as in :class:`Distribution`."""

    lists: Indices
    teams: Indices


@dataclass(frozen=True, eq=False)
class Interleaver:
    """Rankings of one topic to interleave; returned by :func:`interleave`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankings
        The rankings, as codes of the documents.
    length
        Maximum number of documents of a list.
    topic
        Topic of the rankings; draws of different topics are independent.
    """

    method: InterleavingMethod
    rankings: Orderings
    length: int
    topic: str = ""

    @property
    def docs(self) -> tuple[Id, ...]:
        """Ids of all documents; a code is an index into this tuple."""
        return self.rankings.docs

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return self.rankings.rankers

    def __repr__(self) -> str:
        rankings = inflect(len(self.rankers), "ranking")
        docs = inflect(len(self.docs), "document")
        return f"Interleaver({self.method}: {rankings} of {docs}, lists of {self.length})"

    @cached_property
    def _lists(self) -> Distribution | StepwiseDistribution:
        return self.method.lists(self.rankings, self.length)

    def draw(self, n: int, seed: int, first: int = 0, jobs: int | None = 1) -> DrawnLists:
        """Draw the lists of `n` impressions.

        Parameters
        ----------
        n
            Number of impressions.
        seed
            Seed. The list of an impression depends on its index, the seed and the topic, but not on
            the other impressions of the call.
        first
            Index of the first impression.
        jobs
            Number of threads, None for one per processor; results do not depend on it.

        Examples
        --------
        >>> import cranfield as cf
        >>> interleaver = cf.online.interleave([["a", "b"], ["b", "c"]], length=3)
        >>> lists, teams = interleaver.draw(3, seed=7)
        >>> lists.tolist(), teams.tolist()
        ([[0, 1, 2], [1, 0, 2], [0, 1, 2]], [[0, 1, 1], [1, 0, 1], [0, 1, 1]])
        """
        check_integer("n", n, 0, _MAX_DRAWS)
        for name, value in (("seed", seed), ("first", first)):
            check_integer(name, value, 0)
        topic_hash, width = hash_name(self.topic), self._lists.width

        def draw_rows(rows: slice) -> tuple[Indices, Indices]:
            start, size = first + rows.start, rows.stop - rows.start
            return self._lists.draw(draw_uniforms(seed, start, size, width, topic_hash, 0))

        return _concatenate(map_in_threads(draw_rows, self._split_batches(n), jobs))

    def draw_for(self, keys: Iterable[str], seed: int) -> DrawnLists:
        """Draw a list for each named impression.

        For production systems: the same name, such as a session id, always gets the same list.

        Examples
        --------
        >>> import cranfield as cf
        >>> interleaver = cf.online.interleave([["a", "b"], ["b", "c"]], length=3)
        >>> interleaver.draw_for(["s81", "s82", "s81"], seed=7).lists.tolist()
        [[0, 1, 2], [1, 0, 2], [0, 1, 2]]
        """
        check_list("keys", keys)
        check_integer("seed", seed, 0)
        names: list[Any] = list(keys)
        topic_hash, width = hash_name(self.topic), self._lists.width
        for name in names:
            if not isinstance(name, str):
                raise PolicyError(f"keys must be strings, got {quote(name)}")
        draws = [make_named_stream(seed, name, topic_hash).random(width) for name in names]
        uniforms = np.array(draws).reshape(len(names), width)
        batches = self._split_batches(len(names))
        return _concatenate(self._lists.draw(uniforms[batch]) for batch in batches)

    def _split_batches(self, n_impressions: int) -> list[slice]:
        """Split impressions into batches, at least one, that fit in memory."""
        values_per_impression = len(self.docs) * len(self.rankers)
        return [*slice_rows(n_impressions, values_per_impression, _BATCH_VALUES)] or [slice(0, 0)]

    def compute_distribution(self, limit: int = 100_000) -> Distribution:
        """Return all lists that may be shown, with their teams and probabilities.

        Raises
        ------
        PolicyError
            If there are more than `limit` lists.

        Examples
        --------
        >>> import cranfield as cf
        >>> interleaver = cf.online.interleave([["a", "b"], ["b", "c"]], "Balanced")
        >>> interleaver.compute_distribution().to_polars().select("list", "probability").rows()
        [(['a', 'b'], 0.5), (['b', 'a', 'c'], 0.5)]
        """
        check_integer("limit", limit, 1)
        distribution = self._lists.enumerate(limit)
        if distribution is None:
            remedy = "raise limit, lower the length, or draw lists instead"
            raise PolicyError(f"more than {limit:,} lists are possible; {remedy}")
        return distribution

    def credits(self, lists: Any, clicks: Any, teams: Any = None) -> Floats:
        """Compute the credit of each ranker for clicks, shape (impressions, rankers).

        Parameters
        ----------
        lists
            Codes of the documents shown, shape (impressions, ranks); -1 after the end of a list.
        clicks
            Whether the documents were clicked, booleans of the same shape.
        teams
            Indices of the rankers that contributed the documents, for methods that credit teams.

        Examples
        --------
        >>> import cranfield as cf
        >>> interleaver = cf.online.interleave([["a", "b"], ["b", "c"]], "TeamDraft")
        >>> interleaver.credits([[0, 1, 2]], [[True, False, False]], [[0, 1, 1]]).tolist()
        [[1.0, 0.0]]
        """
        batches = self._check_impressions(lists, clicks, teams)
        credits = [self.method.credits(self.rankings, *batch) for batch in batches]
        return np.concatenate([np.empty((0, len(self.rankers))), *credits])

    def outcomes(
        self, lists: Any, clicks: Any, teams: Any = None, pair: tuple[int, int] = (0, 1)
    ) -> Floats:
        """Compute the outcome of each impression for two rankers, shape (impressions,).

        An outcome is above 0 if the first ranker wins, and 0 for a tie. The option `outcome` of the
        method selects the difference of credits or its sign; with marginal scoring, the sign is the
        expected sign.

        Parameters
        ----------
        lists, clicks, teams
            As for :meth:`credits`.
        pair
            Indices of the rankers to compare.
        """
        rankers = tuple(as_indices(pair, "rankers", len(self.rankers)).tolist())
        if len(rankers) != 2:
            raise PolicyError(f"pair must be two rankers, got {len(rankers)}")
        batches = self._check_impressions(lists, clicks, teams)
        outcomes = [self.method.outcomes(self.rankings, *batch, rankers) for batch in batches]
        return np.concatenate([np.empty(0), *outcomes])

    def _check_impressions(
        self, lists: Any, clicks: Any, teams: Any
    ) -> Iterator[tuple[Indices, Bools, Indices]]:
        codes = _check_codes(lists, "lists", len(self.docs))
        is_clicked = as_array(clicks, "clicks must be booleans, one row per impression")
        if is_clicked.dtype != bool or is_clicked.shape != codes.shape:
            expected = f"clicks must be booleans of the shape of the lists, {codes.shape}"
            raise PolicyError(f"{expected}, got {is_clicked.dtype} of shape {is_clicked.shape}")
        if (is_clicked & (codes < 0)).any():
            raise PolicyError("clicks must be on documents, got a click after the end of its list")
        if teams is None and self.method.has_team_credit:
            raise PolicyError(f"{self.method} requires teams, which are drawn with the lists")
        owners = np.full_like(codes, NOBODY)
        if teams is not None:
            owners = _check_codes(teams, "teams", len(self.rankers))
        if owners.shape != codes.shape:
            expected = f"teams must have the shape of the lists, {codes.shape}"
            raise PolicyError(f"{expected}, got {owners.shape}")
        for rows in self._split_batches(len(codes)) if len(codes) else ():
            yield codes[rows], is_clicked[rows], owners[rows]


def _concatenate(draws: Iterable[tuple[Indices, Indices]]) -> DrawnLists:
    lists, teams = zip(*draws, strict=True)
    return DrawnLists(np.concatenate(lists), np.concatenate(teams))


def _check_codes(values: Any, name: str, size: int) -> Indices:
    array = as_array(values, f"{name} must be rows of integers")
    if array.ndim != 2 or array.shape[1] == 0 or (array.size and array.dtype.kind not in "iu"):
        expected = f"{name} must be integers of shape (impressions, ranks)"
        raise PolicyError(f"{expected}, got {array.dtype} of shape {array.shape}")
    if array.size and (array.min() < NOBODY or array.max() >= size):
        expected = f"{name} must be integers from -1 to {size - 1}"
        raise PolicyError(f"{expected}, got {array.min()} to {array.max()}")
    return array.astype(np.intp, copy=False)


def interleave(
    lists: RankedLists | Sequence[Run],
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
        Lists of document ids, best first, or a mapping of them by ranker; or runs.
    method
        Interleaving method, such as `TeamDraft`, `Probabilistic(tau=1)`, `Optimised` or `PPM`. All
        are listed by :func:`interleaving_methods`.
    length
        Maximum number of documents of a list.
    topic
        For runs, the topic whose rankings are interleaved; for lists, the name of their topic.
        Draws of different topics are independent.
    ties
        For runs, the order of documents with equal scores.

    Raises
    ------
    PolicyError
        For fewer than two rankings, or more than the method accepts; for repeated documents in a
        ranking; and for an invalid option.

    Examples
    --------
    >>> import cranfield as cf
    >>> rankings = [["a", "b", "c", "d"], ["b", "d", "c", "a"]]
    >>> interleaver = cf.online.interleave(rankings, "TeamDraft")
    >>> interleaver
    Interleaver(TeamDraft: 2 rankings of 4 documents, lists of 10)
    >>> lists = interleaver.compute_distribution().merge_teams().to_polars()
    >>> for docs, probability in lists.drop("teams").rows():
    ...     print(*docs, probability)
    a b c d 0.25
    a b d c 0.25
    b a c d 0.25
    b a d c 0.25
    """
    if topic is not None and not isinstance(topic, str):
        raise PolicyError(f"topic must be an id, got {quote(topic)}")
    if not isinstance(lists, (Mapping, Sequence, np.ndarray)):
        raise PolicyError(f"lists must be lists of ids, or runs, got {quote(lists)}")
    entries: Any = [] if isinstance(lists, Mapping) else lists
    runs = [entry for entry in entries if isinstance(entry, Run)]
    method = check_method(method, length, len(lists))
    if not runs:
        topic_rankings = encode_rankings(cast("RankedLists", lists))
        return Interleaver(method, topic_rankings, length, topic or "")
    if len(runs) < len(lists):
        raise PolicyError("expected lists of ids or runs, got both")
    if topic is None or not any(topic in run.topics for run in runs):
        expected = f"topic must be a topic of the runs, got {quote(topic)}"
        raise PolicyError(f"{expected}; for all topics use interleave_runs")
    check_names(runs)
    rankings: dict[str, list[str]] = {run.name: [] for run in runs}
    for run in runs:
        if topic in run.topics:
            topic_run = run.restrict(run.codes == run.topics.index(topic))
            rankings[run.name] = rank_documents(topic_run, ties)[topic]
    return Interleaver(method, encode_rankings(rankings), length, topic)


def check_names(runs: Sequence[Run]) -> None:
    if duplicates := find_duplicates(run.name for run in runs):
        raise PolicyError(f"runs must have distinct names, got {quote(duplicates[0])} twice")


def check_method(
    method: str | InterleavingMethod, length: int, n_rankings: int
) -> InterleavingMethod:
    """Parse a method, and check the length and the number of rankings."""
    method = parse_interleaving(method)
    check_integer("length", length, 1, MAX_LENGTH)
    if method.max_rankers is not None and n_rankings > method.max_rankers:
        raise PolicyError(f"{method} accepts up to {method.max_rankers} rankings, got {n_rankings}")
    return method


_PAGES = Schema(
    "table of pages",
    (FileColumn("page", ID, "impression"), FileColumn("query", ID, "topic", noun="topic")),
    noun="the pages",
    formats=TABLE_FORMATS,
    default_format="csv",
    tuples=("page", "query"),
    decisive_kinds=("status", "count", "weight"),
)

_TEXTS = dict.fromkeys(("page", "query", "method"), pl.String)
_LIST_SCHEMA = {**_TEXTS, "rank": pl.Int64, "doc": pl.String, "team": pl.String}

_MAX_PAGES = 10_000_000  # Maximum number of pages of all topics, whose lists are all in memory


@dataclass(frozen=True, eq=False, repr=False)
class InterleavedRuns(Mapping[str, Interleaver]):
    """An :class:`Interleaver` for each topic; returned by :func:`interleave_runs`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankers
        Names of the runs.
    missing_topics
        Topics that are not in all runs; they are not interleaved.
    interleavers
        Interleaver of each topic.
    """

    method: InterleavingMethod
    rankers: tuple[str, ...]
    missing_topics: tuple[str, ...]
    interleavers: Mapping[str, Interleaver]

    def __getitem__(self, topic: str) -> Interleaver:
        return self.interleavers[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self.interleavers)

    def __len__(self) -> int:
        return len(self.interleavers)

    @property
    def lists(self) -> dict[str, dict[str, list[str]]]:
        """Rankings by topic and ranker, best document first, as :func:`preference` accepts them."""
        rankings_by_topic: dict[str, dict[str, list[str]]] = {}
        for topic, interleaver in self.items():
            docs, orders = interleaver.docs, interleaver.rankings.orders.tolist()
            rankings = [[str(docs[k]) for k in order if k >= 0] for order in orders]
            rankings_by_topic[topic] = dict(zip(interleaver.rankers, rankings, strict=True))
        return rankings_by_topic

    def __repr__(self) -> str:
        runs, topics = inflect(len(self.rankers), "run"), inflect(len(self), "topic")
        n_missing = len(self.missing_topics)
        suffix = f", {inflect(n_missing, 'topic')} excluded" if n_missing else ""
        return f"InterleavedRuns({self.method}: {runs}, {topics}{suffix})"

    def draw(
        self,
        n: int,
        seed: Annotated[int, Integer(0)],
        first: int = 0,
        jobs: Annotated[int | None, Integer(1)] = None,
    ) -> pl.DataFrame:
        """Draw lists for n pages of each topic.

        The table has one row per document shown, with the columns `page`, `query`, `method`,
        `rank`, `doc` and `team`, and can be read by :func:`read_log`. Names of pages are the topic
        and an index.

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
        check_integer("n", n, 0, _MAX_PAGES // max(1, len(self)))
        check_integer("first", first, 0)

        def draw_topic(topic: str) -> pl.DataFrame:
            pages = [f"{topic}-{k}" for k in range(first, first + n)]
            return self._make_frame(topic, pages, self[topic].draw(n, seed, first))

        frames = map_in_threads(draw_topic, self, jobs)
        return pl.concat([pl.DataFrame(schema=_LIST_SCHEMA), *frames])

    def draw_for(self, pages: Any, seed: int, jobs: int | None = None) -> pl.DataFrame:
        """Draw a list for each named page; the same name gets the same list.

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
            Table with the columns of :meth:`draw`, in the order of the pages.

        Raises
        ------
        InputError
            For a repeated page, or a topic that is not in all runs.
        """
        check_integer("seed", seed, 0)
        table = read_table(pages, _PAGES)
        pages, topics = table.frame["page"], table.frame["query"]
        for row in (~pages.is_first_distinct()).arg_true():
            raise table.make_row_error(row, f"page {quote(pages[row])} is repeated")
        for row in (~topics.is_in([*self])).arg_true():
            raise table.make_row_error(row, f"topic {quote(topics[row])} is not in all runs")
        groups = table.frame.partition_by("query", maintain_order=True)

        def draw_group(group: pl.DataFrame) -> pl.DataFrame:
            topic, keys = group["query"][0], group["page"].to_list()
            return self._make_frame(topic, keys, self[topic].draw_for(keys, seed))

        frames = map_in_threads(draw_group, groups, jobs)
        rows = pl.concat([pl.DataFrame(schema=_LIST_SCHEMA), *frames])
        page_rows = table.frame.select("page").with_row_index("row")
        return rows.join(page_rows, on="page").sort("row", "rank").drop("row")

    def _make_frame(self, topic: str, pages: Sequence[str], draws: DrawnLists) -> pl.DataFrame:
        row, position = np.nonzero(draws.lists >= 0)
        docs, teams = draws.lists[row, position], draws.teams[row, position]
        rankers = pl.Series([*self.rankers, None], dtype=pl.String)
        columns = {
            "page": pl.Series(pages, dtype=pl.String).gather(row),
            **{"query": topic, "method": str(self.method), "rank": position + 1},
            "doc": pl.Series([*map(str, self[topic].docs)], dtype=pl.String).gather(docs),
            "team": rankers.gather(np.where(teams == NOBODY, len(self.rankers), teams)),
        }
        return pl.DataFrame(columns, schema=_LIST_SCHEMA)


def interleave_runs(
    runs: Any,
    method: str | InterleavingMethod = "TeamDraft",
    length: Annotated[int, Integer(1, MAX_LENGTH)] = 10,
    *,
    ties: TieOrder = "trec",
) -> InterleavedRuns:
    """Interleave whole runs, topic by topic.

    Parameters
    ----------
    runs
        Two or more runs, or their files, in any form that :func:`cranfield.read_runs` accepts.
    method, length
        As for :func:`interleave`.
    ties
        Order of documents with equal scores.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"A": {"q1": {"d1": 2.0, "d2": 1.0}}, "B": {"q1": {"d2": 3.0, "d3": 1.0}}}
    >>> interleaved = cf.online.interleave_runs(runs, "TeamDraft", length=2)
    >>> interleaved, interleaved["q1"].docs
    (InterleavedRuns(TeamDraft: 2 runs, 1 topic), ('d1', 'd2', 'd3'))
    >>> interleaved.draw(1, seed=7).select("page", "rank", "doc", "team").rows()
    [('q1-0', 1, 'd2', 'B'), ('q1-0', 2, 'd1', 'A')]
    """
    parse_interleaving(method)  # An invalid method is refused before any file is read.
    run_list = list(read_runs(runs))
    check_names(run_list)
    method = check_method(method, length, len(run_list))
    run_rankings = {run.name: rank_documents(run, ties) for run in run_list}
    topics = dict.fromkeys(topic for rankings in run_rankings.values() for topic in rankings)
    shared_topics = [t for t in topics if all(t in rankings for rankings in run_rankings.values())]
    if not shared_topics:
        raise PolicyError("expected runs with at least one common topic, got none")
    interleavers = {}
    for topic in shared_topics:
        topic_rankings = {name: rankings[topic] for name, rankings in run_rankings.items()}
        interleavers[topic] = Interleaver(method, encode_rankings(topic_rankings), length, topic)
    missing_topics = tuple(topic for topic in topics if topic not in interleavers)
    return InterleavedRuns(method, tuple(run_rankings), missing_topics, interleavers)


def write_lists(rows: pl.DataFrame, path: str, format: str) -> None:
    """Write the lists of :meth:`InterleavedRuns.draw` to a file; `-` is standard output."""
    if format == "trec":  # Each page is a topic of a run.
        tag = pl.col("method").str.replace_all(r"\s", "")
        score = (pl.col("rank").max() + 1 - pl.col("rank")).over("page")
        columns = (pl.col("page").alias("topic"), pl.lit("Q0"), "doc", "rank", score.alias("score"))
        write_lines(rows.select(*columns, tag), path)
    elif format == "jsonl":  # Each line is a page.
        pages = rows.group_by("page", "query", "method", maintain_order=True)
        write_table(pages.agg(results=pl.struct("rank", "doc", "team")), path, format)
    else:
        write_table(rows, path, format)
