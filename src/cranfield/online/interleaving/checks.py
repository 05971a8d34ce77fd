"""Checks of interleaving methods with simulated users."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import PolicyError, check_choice, check_whole, numbers, quoted
from cranfield.base.text import counted
from cranfield.online.interleaving.interleaver import Interleaver, interleave
from cranfield.online.interleaving.method import (
    Distribution,
    Given,
    InterleavingMethod,
    parse_interleaving,
)
from cranfield.result import Column, Columns, Result, TableResult

STOP = ("examined", "clicked")
"""Results after which a user may stop: every examined one, or clicked ones only."""

PRESETS: dict[str, dict[int, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "perfect": {
        2: ((0.0, 1.0), (0.0,) * 2),
        3: ((0.0, 0.5, 1.0), (0.0,) * 3),
        5: ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0,) * 5),
    },
    "navigational": {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "almost random": {
        2: ((0.4, 0.6), (0.5,) * 2),
        3: ((0.4, 0.5, 0.6), (0.5,) * 3),
        5: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5,) * 5),
    },
    "random": {size: ((0.5,) * size, (0.0,) * size) for size in (2, 3, 5)},
}
"""Probabilities of a click and of stopping by grade, by name and number of grades."""


@dataclass(frozen=True)
class CascadeUser:
    r"""A user of the cascade model, with probabilities of clicks and of stopping by grade.

    The probability of a click at rank r is, with those of a click c and of stopping s by grade g,

    .. math:: P(C_r = 1) = c(g_r) \prod_{i<r} (1 - s(g_i))

    if users may stop at every result that they examine, and with c(g_i) s(g_i) instead of s(g_i) if
    they stop only after a click (Guo et al., 2009; Hofmann et al., 2011).

    Attributes
    ----------
    click, stop
        Probabilities by grade, from 0 on.
    after
        `examined`: users may stop at every result that they examine, as in most programs;
        `clicked`: only after a click, as in the papers.
    name
        Name of the user.

    Examples
    --------
    >>> user = CascadeUser((0.05, 0.95), (0.2, 0.9))
    >>> user.click_probabilities([[1, 0, 1]]).round(4).tolist()
    [[0.95, 0.005, 0.076]]
    """

    click: tuple[float, ...]
    stop: tuple[float, ...]
    after: str = "examined"
    name: str = "own"

    def __post_init__(self) -> None:
        check_choice("stop", self.after, STOP)
        for what in ("click", "stop"):
            probabilities = numbers(getattr(self, what), f"the probabilities of a {what}")
            inside = (probabilities >= 0) & (probabilities <= 1)
            if probabilities.ndim != 1 or not probabilities.size or not inside.all():
                raise PolicyError(f"{what} must have probabilities between 0 and 1, one per grade")
            object.__setattr__(self, what, tuple(probabilities.tolist()))
        if len(self.click) != len(self.stop):
            raise PolicyError(
                f"click and stop must have as many grades, got {len(self.click)} and"
                f" {len(self.stop)}"
            )

    def clicks(self, grades: Any, uniforms: Floats) -> Bools:
        """Return which results are clicked.

        Parameters
        ----------
        grades
            Grade of each result, shape (pages, ranks); below 0 where a list has ended.
        uniforms
            Random numbers from 0 to below 1, shape (pages, at least 2 * ranks): at rank r from 0,
            number 2r is for the click and number 2r + 1 for stopping.

        Raises
        ------
        PolicyError
            For a grade without probabilities, or too few numbers.
        """
        click, stop, shown = self._rows(grades)
        width = 2 * shown.shape[1]
        if uniforms.ndim != 2 or len(uniforms) != len(shown) or uniforms.shape[1] < width:
            raise PolicyError(f"expected {width} numbers per page for {shown.shape[1]} ranks")
        clicked = (uniforms[:, 0:width:2] < click) & shown
        stopped = uniforms[:, 1:width:2] < stop
        if self.after == "clicked":
            stopped &= clicked
        clicked[:, 1:] &= ~np.logical_or.accumulate(stopped, axis=1)[:, :-1]
        return clicked

    def click_probabilities(self, grades: Any) -> Floats:
        """Return the probability of a click on each result, shape (pages, ranks)."""
        clicked, stopped, shown = self._rows(grades)
        if self.after == "clicked":
            stopped = stopped * clicked
        seen = np.ones(clicked.shape)
        seen[:, 1:] = np.cumprod(1 - stopped, axis=1)[:, :-1]
        return np.where(shown, clicked * seen, 0.0)

    def _rows(self, grades: Any) -> tuple[Floats, Floats, Bools]:
        """Return the probabilities of a click and of stopping at each result, if it exists."""
        rows = np.asarray(grades)
        if rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise PolicyError("grades must be integers of shape (pages, ranks)")
        if rows.size and rows.max() >= len(self.click):
            raise PolicyError(
                f"grade {rows.max()} has no click probability: the {self.name} user has grades 0"
                f" to {len(self.click) - 1}"
            )
        known = np.maximum(rows, 0).astype(np.intp)
        return np.array(self.click)[known], np.array(self.stop)[known], rows >= 0

    def __str__(self) -> str:
        return self.name if self.after == "examined" else f"{self.name} ({self.after})"

    def __repr__(self) -> str:
        click, stop = (", ".join(f"{x:g}" for x in one) for one in (self.click, self.stop))
        return f"CascadeUser({self}: clicks {click}; stops {stop})"


def simulated_user(name: str, grades: int = 2, stop: str = "examined") -> CascadeUser:
    """Return a simulated user of the literature.

    Parameters
    ----------
    name
        `perfect`, `navigational`, `informational`, `almost random` or `random`.
    grades
        Number of grades: 2, 3 or 5.
    stop
        As `after` of :class:`CascadeUser`.

    Raises
    ------
    PolicyError
        For another name or number of grades; :class:`CascadeUser` takes custom probabilities.

    Notes
    -----
    A user of the cascade model (Guo, Liu and Wang, 2009), with the probabilities that studies of
    interleaving have used since Hofmann, Whiteson and de Rijke (2011).

    Examples
    --------
    >>> simulated_user("navigational", grades=3)
    CascadeUser(navigational: clicks 0.05, 0.5, 0.95; stops 0.2, 0.5, 0.9)
    """
    check_choice("user", name, PRESETS)
    of_name = PRESETS[name]
    if grades not in of_name:
        raise PolicyError(
            f"grades must be 2, 3 or 5 grades, got {quoted(grades)}; CascadeUser takes custom"
            " probabilities"
        )
    return CascadeUser(*of_name[grades], after=stop, name=name)


CLICKS = ("one click", "any clicks")
"""Random clicks: on one document of the list, or on any set of documents."""

_LONGEST = 12
"""Longest lists whose 2^ranks sets of clicks are enumerated."""

_MOST_WORK = 1 << 27
"""Most documents of lists times sets of clicks and pairs of rankers: some ten seconds."""

_NOTHING = 1e-9
"""Outcomes up to it are ties."""


@dataclass(frozen=True, eq=False, repr=False)
class Bias(Result):
    """Bias of an interleaving method: outcomes if users click at random; returned by :func:`bias`.

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

    name: ClassVar[str] = "bias"
    columns: ClassVar[Columns] = {
        "clicks": Column("Kind of clicks: `one click` or `any clicks`.", key=True),
        "ranker": Column("First ranker of the pair.", key=True),
        "other": Column("Second ranker of the pair.", key=True),
        "credit": Column(
            "Expected credit of the first ranker minus expected credit of the second."
        ),
        "outcome": Column("Expected outcome of the first; 0 without bias."),
    }

    method: str
    rankers: tuple[str, ...]
    credits: Floats
    outcomes: Floats

    @property
    def largest(self) -> float:
        """Largest expected outcome of two rankers; 0 without bias."""
        return float(np.abs(self.outcomes).max())

    def heading(self) -> list[str]:
        return [f"{self.method}: at most {self.largest:.6g} in favour of a ranker"]

    def _frame(self) -> pl.DataFrame:
        rows = [
            (clicks, self.rankers[a], self.rankers[b], own[a] - own[b], outcome[a, b])
            for clicks, own, outcome in zip(CLICKS, self.credits, self.outcomes, strict=True)
            for a, b in combinations(range(len(self.rankers)), 2)
        ]
        return pl.DataFrame(rows, schema=list(self.columns), orient="row")


def bias(
    lists: Given,
    method: str | InterleavingMethod = "TeamDraft",
    length: int = 10,
    *,
    limit: int = 100_000,
) -> Bias:
    """Compute the bias of a method: the expected outcome if users click at random.

    It is exact: over all lists, with one click on any document of the list, or with any set of
    clicks, including the empty one, all equally likely.

    Parameters
    ----------
    lists, method, length
        As for :func:`interleave`.
    limit
        Largest number of lists to enumerate.

    Raises
    ------
    PolicyError
        If there are more lists, they are longer than 12, or the sets of clicks on them would take
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
    interleaver = interleave(lists, method, length)
    law = _law(interleaver, limit)
    rankers = len(interleaver.rankers)
    filled = law.lists >= 0
    ranks = int(filled.sum(axis=1).max())
    if ranks > _LONGEST:
        raise PolicyError(f"bias requires lists of up to {_LONGEST} documents, got {ranks}")
    pairs = list(combinations(range(rankers), 2))
    if 2**ranks * law.lists.size * (1 + len(pairs)) > _MOST_WORK:
        raise PolicyError(
            f"bias of {counted(2**ranks, 'set')} of clicks on {counted(len(law.lists), 'list')} by"
            f" {counted(rankers, 'ranker')} takes too long; use fewer rankers or a smaller length"
        )
    sets: Bools = (np.arange(2**ranks)[:, None] >> np.arange(ranks) & 1).astype(bool)
    credits = np.zeros((2, rankers))
    outcomes = np.zeros((2, rankers, rankers))
    sizes = filled.sum(axis=1)
    for clicked in sets:
        clicks = np.zeros(law.lists.shape, dtype=bool)
        clicks[:, :ranks] = clicked
        within = np.asarray((filled | ~clicks).all(axis=1))
        clicks &= within[:, None]
        own = interleaver.credits(law.lists, clicks, law.teams)
        # In a list of n documents each click has probability 1/n, and each set 1/2^n.
        single = within * (clicked.sum() == 1) / np.maximum(sizes, 1)
        for kind, share in enumerate((single, within / 2.0**sizes)):
            weights = law.probabilities * share
            if not weights.any():
                continue
            credits[kind] += weights @ own
            for a, b in pairs:
                outcome = weights @ interleaver.outcomes(law.lists, clicks, law.teams, (a, b))
                outcomes[kind, a, b] += outcome
                outcomes[kind, b, a] -= outcome
    return Bias(str(interleaver.method), interleaver.rankers, credits, outcomes)


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(TableResult):
    """Outcomes if one ranker is certainly better; returned by :func:`fidelity`.

    A case consists of two orders of the same documents and a set of relevant ones, of which the
    better ranker has none lower and one higher. All relevant documents that are shown are clicked.

    Attributes
    ----------
    rows
        The table, a row a case.
    method
        The method of interleaving.
    """

    name: ClassVar[str] = "fidelity"
    columns: ClassVar[Columns] = {
        "better": Column("Order of the better ranker.", key=True),
        "worse": Column("Order of the worse ranker.", key=True),
        "relevant": Column("Relevant documents.", key=True),
        "outcome": Column("Expected outcome: above 0 if the better ranker wins."),
    }

    method: str

    @property
    def wins(self) -> int:
        """Cases that the better ranker wins."""
        return int((self.outcome > _NOTHING).sum())

    @property
    def losses(self) -> int:
        """Cases that the worse ranker wins."""
        return int((self.outcome < -_NOTHING).sum())

    @property
    def ties(self) -> int:
        """Cases that neither wins: the method does not see the difference."""
        return self.rows.height - self.wins - self.losses

    def heading(self) -> list[str]:
        cases = counted(self.rows.height, "case")
        return [
            f"{self.method}: of {cases} the better ranker wins {self.wins},"
            f" loses {self.losses} and ties {self.ties}"
        ]

    def facts(self) -> dict[str, Any]:
        return {"method": self.method, "wins": self.wins, "losses": self.losses, "ties": self.ties}


def fidelity(
    method: str | InterleavingMethod = "TeamDraft", docs: int = 3, length: int | None = None
) -> Fidelity:
    """Compute whether the better ranker wins, in all cases of a few documents.

    One ranker Pareto-dominates the other (Hofmann, Whiteson and de Rijke 2013): it has no relevant
    document lower, and one higher. Moving a document up in one ranker is such a case.

    Parameters
    ----------
    method
        A method of interleaving.
    docs
        Number of documents, from 2 to 5; all pairs of their orders are enumerated.
    length
        Number of ranks shown; all by default.

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
    sets = ["".join(some) for number in range(docs) for some in combinations(names, number + 1)]
    for order in map("".join, permutations(names)):
        if order == names:
            continue
        interleaver = interleave([list(names), list(order)], parsed, shown)
        law = _law(interleaver)
        for relevant in sets:
            gains = [order.index(doc) - names.index(doc) for doc in relevant]
            codes = [interleaver.docs.index(doc) for doc in relevant]
            clicks: Bools = np.isin(law.lists, codes)
            for sign, pair in ((1, (0, 1)), (-1, (1, 0))):
                if min(sign * gain for gain in gains) >= 0 and any(gains):
                    first, second = (names, order)[::sign]
                    outcomes = interleaver.outcomes(law.lists, clicks, law.teams, pair)
                    outcome = float(law.probabilities @ outcomes)
                    cases.append((first, second, relevant, outcome))
    return Fidelity(pl.DataFrame(cases, schema=[*Fidelity.columns], orient="row"), str(parsed))


def _law(interleaver: Interleaver, limit: int = 100_000) -> Distribution:
    """Return all lists; for methods that give no credit to teams, regardless of teams."""
    law = interleaver.distribution(limit)
    return law if interleaver.method.by_team else law.of_lists()
