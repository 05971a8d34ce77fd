"""What methods of interleaving say where it is known what is right: bias and fidelity, computed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.online.interleaving.distribution import Distribution
from cranfield.online.interleaving.interleaver import Interleaver, interleave
from cranfield.online.interleaving.methods.catalogue import parse_interleaving
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.rankings import Given
from cranfield.tabular.frames import Framed

CLICKS = ("one click", "any clicks")
"""How users click who know nothing: on one document of the list, or on any set of them."""

_LONGEST = 12
"""Ranks whose 2^ranks sets of clicks are gone through."""

_MOST_WORK = 1 << 27
"""Documents of lists, over all sets of clicks and pairs of rankers: some ten seconds."""

_NOTHING = 1e-9
"""Outcomes up to it are ties."""


@dataclass(frozen=True, eq=False, repr=False)
class Bias(Framed):
    """What users who click at random say of rankers; made by :func:`bias`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankers
        The rankers.
    credits
        Expected credit by kind of clicks (`one click`, `any clicks`), shape (2, rankers).
    outcomes
        Expected outcome of each ranker against each, shape (2, rankers, rankers).
    """

    method: str
    rankers: tuple[str, ...]
    credits: Floats
    outcomes: Floats

    @property
    def largest(self) -> float:
        """Largest expected outcome of two rankers; 0 without bias."""
        return float(np.abs(self.outcomes).max())

    def __repr__(self) -> str:
        return f"Bias({self.method}: at most {self.largest:.6g} in favour of a ranker)"

    def to_polars(self) -> pl.DataFrame:
        """Return a row a kind of clicks and pair of rankers."""
        rows = [
            (clicks, self.rankers[a], self.rankers[b], own[a] - own[b], outcome[a, b])
            for clicks, own, outcome in zip(CLICKS, self.credits, self.outcomes, strict=True)
            for a, b in combinations(range(len(self.rankers)), 2)
        ]
        names = ["clicks", "ranker", "other", "credit", "outcome"]
        return pl.DataFrame(rows, schema=names, orient="row")


def bias(
    lists: Given,
    method: str | InterleavingMethod = "TeamDraft",
    length: int = 10,
    *,
    limit: int = 100_000,
) -> Bias:
    """Compute what users who click at random say of rankers: nothing, if a method is unbiased.

    Exactly: over all lists, with one click on any document of the list, or with any set of clicks,
    the empty one too, all equally likely.

    Parameters
    ----------
    lists, method, length
        As for :func:`interleave`.
    limit
        Most lists that are enumerated.

    Raises
    ------
    PolicyError
        There are more lists, they are longer than 12, or the sets of clicks on them would take
        minutes.

    Examples
    --------
    >>> import cranfield as cf
    >>> rankings = [["a", "b", "c"], ["b", "c", "a"]]
    >>> cf.online.bias(rankings, "Balanced")
    Bias(Balanced: at most 0.333333 in favour of a ranker)
    >>> cf.online.bias(rankings, "TeamDraft").largest
    0.0
    """
    made = interleave(lists, method, length)
    law = _law(made, limit)
    many = range(len(made.rankers))
    filled = law.lists >= 0
    ranks = int(filled.sum(axis=1).max())
    if ranks > _LONGEST:
        raise PolicyError(f"bias is computed of lists of up to {_LONGEST} documents, not {ranks}")
    pairs = list(combinations(many, 2))
    if 2**ranks * law.lists.size * (1 + len(pairs)) > _MOST_WORK:
        raise PolicyError(
            f"bias of {counted(2**ranks, 'set')} of clicks on {counted(len(law.lists), 'list')} by"
            f" {counted(len(many), 'ranker')} takes too long: fewer rankers or a smaller length"
        )
    sets: Bools = (np.arange(2**ranks)[:, None] >> np.arange(ranks) & 1).astype(bool)
    credits = np.zeros((2, len(many)))
    outcomes = np.zeros((2, len(many), len(many)))
    sizes = filled.sum(axis=1)
    for one in sets:
        clicks = np.zeros(law.lists.shape, dtype=bool)
        clicks[:, :ranks] = one
        within = np.asarray((filled | ~clicks).all(axis=1))
        clicks &= within[:, None]
        own = made.credits(law.lists, clicks, law.teams)
        # Of a list of n documents each one has a chance of 1/n, and each set one of 1/2^n.
        single = within * (one.sum() == 1) / np.maximum(sizes, 1)
        for kind, share in enumerate((single, within / 2.0**sizes)):
            weights = law.probabilities * share
            if not weights.any():
                continue
            credits[kind] += weights @ own
            for a, b in pairs:
                outcome = weights @ made.outcomes(law.lists, clicks, law.teams, (a, b))
                outcomes[kind, a, b] += outcome
                outcomes[kind, b, a] -= outcome
    return Bias(str(made.method), made.rankers, credits, outcomes)


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Framed):
    """Whether the ranker that is better for certain wins; made by :func:`fidelity`.

    A case are two orders of the same documents and a set of relevant ones, of which the better
    ranker has none lower and one higher. All relevant documents that are shown are clicked.

    Attributes
    ----------
    method
        The method of interleaving.
    better, worse
        The two orders of each case.
    relevant
        The relevant documents of each case.
    outcomes
        Expected outcome of each case: above 0 where the better ranker wins.
    """

    method: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    relevant: tuple[str, ...]
    outcomes: Floats

    @property
    def wins(self) -> int:
        """Cases that the better ranker wins."""
        return int((self.outcomes > _NOTHING).sum())

    @property
    def losses(self) -> int:
        """Cases that the worse ranker wins."""
        return int((self.outcomes < -_NOTHING).sum())

    @property
    def ties(self) -> int:
        """Cases that neither wins: the method does not see the difference."""
        return len(self.outcomes) - self.wins - self.losses

    def __repr__(self) -> str:
        cases = counted(len(self.outcomes), "case")
        return (
            f"Fidelity({self.method}: of {cases} the better ranker wins {self.wins},"
            f" loses {self.losses} and ties {self.ties})"
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a row a case."""
        return pl.DataFrame(
            {
                "better": self.better,
                "worse": self.worse,
                "relevant": self.relevant,
                "outcome": self.outcomes,
            }
        )


def fidelity(
    method: str | InterleavingMethod = "TeamDraft", docs: int = 3, length: int | None = None
) -> Fidelity:
    """Compute whether the better ranker wins, in every case of a few documents.

    One ranker Pareto-dominates the other (Hofmann, Whiteson and de Rijke 2013): it has no relevant
    document lower, and one higher. Moving a document up in one ranker is such a case.

    Parameters
    ----------
    method
        A method of interleaving.
    docs
        Number of documents, from 2 to 5; all pairs of their orders are gone through.
    length
        Ranks shown; all, unless said.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.fidelity("TeamDraft")
    Fidelity(TeamDraft: of 20 cases the better ranker wins 18, loses 0 and ties 2)
    """
    parsed = parse_interleaving(method)
    check_whole("docs", docs, 2, 5)
    shown = docs if length is None else length
    check_whole("length", shown, 1, docs)
    names = "abcde"[:docs]
    cases: list[tuple[str, str, str, float]] = []
    for order in map("".join, permutations(names)):
        if order == names:
            continue
        made = interleave([list(names), list(order)], parsed, shown)
        law = _law(made)
        for number in range(1, docs + 1):
            for relevant in map("".join, combinations(names, number)):
                gains = [order.index(doc) - names.index(doc) for doc in relevant]
                for sign, pair in ((1, (0, 1)), (-1, (1, 0))):
                    if min(sign * gain for gain in gains) >= 0 and any(gains):
                        first, second = (names, order)[::sign]
                        outcome = _expected(made, law, relevant, pair)
                        cases.append((first, second, relevant, outcome))
    better, worse, relevant_docs, outcomes = zip(*cases, strict=True)
    return Fidelity(str(parsed), better, worse, relevant_docs, np.array(outcomes))


def _law(made: Interleaver, limit: int = 100_000) -> Distribution:
    """Return all lists; of methods that give no credit to teams, whatever the teams."""
    law = made.distribution(limit)
    return law if made.method.by_team else law.of_lists()


def _expected(made: Interleaver, law: Distribution, relevant: str, pair: tuple[int, int]) -> float:
    codes = [made.docs.index(doc) for doc in relevant]
    clicks: Bools = np.isin(law.lists, codes)
    return float(law.probabilities @ made.outcomes(law.lists, clicks, law.teams, pair))
