"""Interleaving methods: rankings, distributions over lists, and the base class of methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import ClassVar, TypeVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import PolicyError, quote
from cranfield.base.spec import Registry, Spec, choice, format_parameters, get_summary, parameter
from cranfield.base.text import inflect
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.run import Run
from cranfield.tabular import render_frame

T = TypeVar("T")

Id = str | int  # Id of a document

RankedLists = Mapping[str, Sequence[Id]] | Sequence[Sequence[Id]] | Sequence[Sequence[str]]
"""Lists of document ids, best first, with or without the names of rankers."""


@dataclass(frozen=True, eq=False)
class Orderings:
    """Rankings of documents by several rankers, with documents as codes."""

    rankers: tuple[str, ...]  # Names of the rankers
    # Ids of all documents, those of the first ranking first; a code is an index into `docs`
    docs: tuple[Id, ...]
    # Codes in the order of each ranker, shape (rankers, longest ranking); -1 after the end
    orders: Indices

    @cached_property
    def sizes(self) -> Ints:
        """Number of documents of each ranking."""
        return np.asarray((self.orders >= 0).sum(axis=1))

    @cached_property
    def ranks(self) -> Ints:
        """Ranks from 1, shape (rankers, documents); a missing document follows the last one."""
        ranks: Ints = np.repeat(self.sizes[:, None] + 1, len(self.docs), axis=1)
        ranker, position = np.nonzero(self.orders >= 0)
        ranks[ranker, self.orders[ranker, position]] = position + 1
        return ranks

    @property
    def is_missing(self) -> Bools:
        """Whether a document is missing from a ranking, shape (rankers, documents)."""
        return np.asarray(self.ranks > self.sizes[:, None])

    @cached_property
    def best_ranks(self) -> Ints:
        """Best rank of each document in the rankings that have it, from 1, shape (documents,)."""
        return np.asarray(np.where(self.is_missing, len(self.docs), self.ranks).min(axis=0))

    @property
    def common_prefix_length(self) -> int:
        """Length of the longest common prefix of all rankings."""
        is_equal = (self.orders == self.orders[0]).all(axis=0) & (self.orders[0] >= 0)
        return int(np.logical_and.accumulate(is_equal).sum())

    def __repr__(self) -> str:
        rankings = inflect(len(self.rankers), "ranking")
        return f"Orderings({rankings} of {inflect(len(self.docs), 'document')})"


def encode_rankings(lists: RankedLists) -> Orderings:
    """Encode two or more lists of document ids as rankings of codes."""
    if isinstance(lists, Mapping):
        names, rows = [str(name) for name in lists], [*lists.values()]
    else:
        rows = [*lists]
        names = [f"ranker {1 + k}" for k in range(len(rows))]
    if len(rows) < 2:
        raise PolicyError(f"expected two or more rankings, got {len(rows)}")
    doc_lists = [_check_ids(row, name) for row, name in zip(rows, names, strict=True)]
    docs = dict.fromkeys(doc for row in doc_lists for doc in row)
    code_by_doc = {doc: k for k, doc in enumerate(docs)}
    if not code_by_doc:
        raise PolicyError("expected rankings with documents, got only empty rankings")
    orders = np.full((len(doc_lists), max(map(len, doc_lists))), NOBODY, dtype=np.intp)
    for order, row in zip(orders, doc_lists, strict=True):
        order[: len(row)] = [code_by_doc[doc] for doc in row]
    return Orderings(tuple(names), tuple(docs), orders)


def _check_ids(row: Iterable[Id], name: str) -> list[Id]:
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        raise PolicyError(f"{quote(name)} must be a list of document ids, got {quote(row)}")
    docs = row.tolist() if isinstance(row, np.ndarray) else list(row)
    for doc in docs:
        if not isinstance(doc, (str, int)) or isinstance(doc, bool):
            expected = f"document ids of {quote(name)} must be text or integers"
            raise PolicyError(f"{expected}, got {quote(doc)}")
    if duplicates := find_duplicates(docs):
        doc = quote(duplicates[0])
        raise PolicyError(f"{quote(name)} must have distinct documents, got {doc} twice")
    return docs


def find_duplicates(values: Iterable[T]) -> list[T]:
    return [value for value, count in Counter(values).items() if count > 1]


def rank_documents(run: Run, ties: str) -> dict[str, list[str]]:
    """Return the documents of a run by topic, best first."""
    order = order_documents(run, ties)
    docs = run.docs[order.rows].to_list()
    starts = order.starts.tolist()
    slices = map(slice, starts, [*starts[1:], len(docs)])
    return {topic: docs[rows] for topic, rows in zip(run.topics, slices, strict=True)}


IndexPair = tuple[int, int]  # Indices of two rankers
NOBODY = -1  # Code of an empty rank, and team of a document that no ranker owns


@dataclass(frozen=True, eq=False)
class Distribution:
    """All lists that may be shown, with their teams and probabilities.

    Attributes
    ----------
    rankings
        The interleaved rankings.
    lists
        Codes of the documents, best first, shape (lists, length); -1 after the end of a list.
    teams
        Index of the ranker that gave each document, of the same shape; -1 for none, or if the
        method does not assign documents to rankers.
    probabilities
        Probabilities of the lists, which sum to 1; shape (lists,).
    imbalance
        For optimised methods, the largest difference of two rankers' expected credits down to each
        rank, shape (length,); it is 0 unless the constraints could not be met or `slack` is set.
        None for other methods.
    """

    rankings: Orderings
    lists: Indices
    teams: Indices
    probabilities: Floats
    imbalance: Floats | None = None

    width = 1  # Number of random numbers per draw

    def __len__(self) -> int:
        return len(self.lists)

    def __repr__(self) -> str:
        text = inflect(len(self), "list")
        if self.imbalance is not None and self.imbalance.max(initial=0) > 1e-9:
            text += f", expected credits differ by up to {self.imbalance.max():.6g}"
        return f"Distribution({text})"

    def _repr_html_(self) -> str:
        return render_frame(self.to_polars(), repr(self), limit=20)

    def draw(self, uniforms: Floats) -> tuple[Indices, Indices]:
        """Draw a list and its teams for each row of random numbers in [0, 1)."""
        cumulative = np.cumsum(self.probabilities)
        row = np.searchsorted(cumulative, uniforms[:, 0] * cumulative[-1], side="right")
        row = np.minimum(row, np.flatnonzero(self.probabilities)[-1])
        return self.lists[row], self.teams[row]

    def enumerate(self, limit: int) -> Distribution:
        """Return this distribution, which has all lists."""
        return self

    def merge_teams(self) -> Distribution:
        """Merge lists that differ in teams only, by adding their probabilities."""
        lists, index = np.unique(self.lists, axis=0, return_inverse=True)
        sums = np.zeros(len(lists))
        np.add.at(sums, index.ravel(), self.probabilities)
        nobody = np.full_like(lists, NOBODY)
        return Distribution(self.rankings, lists, nobody, sums, self.imbalance)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per list: its documents, their teams (null for none), its probability."""
        docs, names = [*map(str, self.rankings.docs)], [*self.rankings.rankers, None]
        # Lists are padded with -1 after their last document.
        sizes = (self.lists >= 0).sum(axis=1).tolist()
        lists = zip(self.lists.tolist(), self.teams.tolist(), sizes, strict=True)
        rows = [
            ([docs[code] for code in codes[:size]], [names[team] for team in teams[:size]])
            for codes, teams, size in lists
        ]
        schema = dict.fromkeys(("list", "teams"), pl.List(pl.String))
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return frame.with_columns(probability=pl.Series(self.probabilities, dtype=pl.Float64))


@dataclass
class Prefixes:
    """Prefixes of lists that are drawn rank by rank."""

    lists: Indices  # Codes of documents, shape (lists, length); -1 from `rank` on
    teams: Indices
    rank: int  # Next rank to fill, from 0
    # Whether a document is not yet in a prefix, shape (lists, documents + 1); the last column, for
    # the code -1, is False
    is_available: Bools

    @classmethod
    def make_empty(cls, n_lists: int, length: int, n_docs: int) -> Prefixes:
        is_available = np.ones((n_lists, n_docs + 1), dtype=bool)
        is_available[:, -1] = False
        codes = np.full((n_lists, length), NOBODY, dtype=np.intp)
        return cls(codes, codes.copy(), 0, is_available)

    def extend(self, docs: Indices, teams: Indices) -> None:
        self.lists[:, self.rank] = docs
        self.teams[:, self.rank] = teams
        self.is_available[np.arange(len(docs)), docs] = False
        self.rank += 1

    def select_rows(self, rows: Indices) -> Prefixes:
        return Prefixes(self.lists[rows], self.teams[rows], self.rank, self.is_available[rows])


Candidates = tuple[Indices, Indices, Floats]  # Documents, teams, weights; shape (lists, candidates)


@dataclass(frozen=True)
class StepwiseDistribution:
    """Distribution of lists drawn rank by rank; a list ends where all candidates have weight 0."""

    rankings: Orderings
    length: int
    list_candidates: Callable[[Orderings, Prefixes], Candidates]

    @property
    def width(self) -> int:
        """Number of random numbers per draw."""
        return self.length

    def draw(self, uniforms: Floats) -> tuple[Indices, Indices]:
        """Draw a list and its teams for each row of random numbers in [0, 1)."""
        prefixes = Prefixes.make_empty(len(uniforms), self.length, len(self.rankings.docs))
        rows = np.arange(len(uniforms))
        for rank in range(min(self.length, len(self.rankings.docs))):
            docs, teams, weights = self.list_candidates(self.rankings, prefixes)
            cumulative = np.cumsum(weights, axis=1)
            total = cumulative[:, -1]
            target = np.minimum(uniforms[:, rank] * total, np.nextafter(total, 0))
            candidate = (cumulative <= target[:, None]).sum(axis=1)
            has_ended = total <= 0
            candidate[has_ended] = 0
            drawn = docs[rows, candidate], teams[rows, candidate]
            prefixes.extend(*(np.where(has_ended, NOBODY, codes) for codes in drawn))
        return prefixes.lists, prefixes.teams

    def enumerate(self, limit: int) -> Distribution | None:
        """Enumerate all lists; None if there are more than `limit`."""
        prefixes = Prefixes.make_empty(1, self.length, len(self.rankings.docs))
        probabilities = np.ones(1)
        for _ in range(min(self.length, len(self.rankings.docs))):
            docs, teams, weights = self.list_candidates(self.rankings, prefixes)
            row, candidate = np.nonzero(weights)
            total = weights.sum(axis=1)
            end_rows = np.flatnonzero(total <= 0)
            if row.size + end_rows.size > limit:
                return None
            probability = probabilities[row] * weights[row, candidate] / total[row]
            probabilities = np.r_[probability, probabilities[end_rows]]
            prefixes = prefixes.select_rows(np.r_[row, end_rows])
            drawn = docs[row, candidate], teams[row, candidate]
            prefixes.extend(*(np.r_[codes, np.full(end_rows.size, NOBODY)] for codes in drawn))
        lists, teams = prefixes.lists, prefixes.teams
        order = np.lexsort(np.c_[lists, teams].T[::-1])
        return Distribution(self.rankings, lists[order], teams[order], probabilities[order])


OUTCOME_TEXT = "outcome of an impression: `sign` of the difference of credits, or the `difference`"
"""Description of the parameter `outcome`, whose default depends on the method."""


class InterleavingMethod(Spec):
    """An interleaving method; its text form is its identity.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_interleaving("team-draft")
    TeamDraft
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # Publication that defines the method
    max_rankers: ClassVar[int | None] = None  # Maximum number of rankers; None for any number
    outcome: str = parameter("sign", choice("sign", "difference"), OUTCOME_TEXT)

    @property
    def has_team_credit(self) -> bool:
        """Whether credit depends on which ranker gave a document."""
        return False

    def lists(self, rankings: Orderings, length: int) -> Distribution | StepwiseDistribution:
        """Return the distribution of lists of up to `length` documents."""
        raise NotImplementedError

    def credits(self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices) -> Floats:
        """Compute the credit of each ranker for the clicks on each list, shape (lists, rankers)."""
        raise NotImplementedError

    def outcomes(
        self, rankings: Orderings, lists: Indices, clicks: Bools, teams: Indices, pair: IndexPair
    ) -> Floats:
        """Compute the outcome of each list for two rankers, above 0 if the first ranker wins."""
        first, second = self.credits(rankings, lists, clicks, teams)[:, list(pair)].T
        difference = first - second
        # Sums that differ by rounding alone are equal.
        is_equal = np.abs(difference) <= 1e-12 * (np.abs(first) + np.abs(second))
        difference[is_equal] = 0
        return np.asarray(difference if self.outcome == "difference" else np.sign(difference))


def divide(numerator: Floats, denominator: Floats, default: float) -> Floats:
    """Divide where the denominator is above 0; elsewhere return the default."""
    quotient = np.full(denominator.shape, default)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


_PACKAGE = "cranfield.online.interleaving"
METHODS: Registry[type[InterleavingMethod]] = Registry(
    "interleaving method", "methods", package=_PACKAGE, base=InterleavingMethod
)


def parse_interleaving(text: str | InterleavingMethod) -> InterleavingMethod:
    """Parse an interleaving method from its text form.

    Raises
    ------
    PolicyError
        For an unknown name, parameter or value, with suggestions.

    Examples
    --------
    >>> parse_interleaving("team-draft"), parse_interleaving("TDM(common_prefix='nobody')")
    (TeamDraft, TeamDraft(common_prefix='nobody'))
    """
    return METHODS.parse(text)


def interleaving_methods() -> pl.DataFrame:
    """List the interleaving methods: name, number of rankers, parameters, description, source.

    Examples
    --------
    >>> interleaving_methods().filter(pl.col("method") == "Balanced")["rankers"].item()
    '2'
    """
    return METHODS.tabulate(
        "method",
        {
            "rankers": lambda method: str(method.max_rankers or "2 or more"),
            "parameters": format_parameters,
            "description": get_summary,
            "source": attrgetter("source"),
        },
    )
