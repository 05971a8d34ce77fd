"""Check interleaving methods: simulated users, bias and fidelity."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import PolicyError, as_numbers, check_choice, check_integer, quote
from cranfield.base.text import inflect
from cranfield.online.interleaving.interleaver import Interleaver, interleave
from cranfield.online.interleaving.method import (
    Distribution,
    InterleavingMethod,
    RankedLists,
    parse_interleaving,
)
from cranfield.result import Column, Columns, Result, TableResult

STOP_RULES = ("examined", "clicked")  # Results after which users may stop

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

    With c(g) and s(g) the probabilities of a click and of stopping for grade g, the probability of
    a click at rank r is

    .. math:: P(C_r = 1) = c(g_r) \prod_{i<r} (1 - s(g_i))

    if users may stop at every result that they examine, and with c(g_i) s(g_i) instead of s(g_i) if
    they stop only after a click (Guo et al., 2009; Hofmann et al., 2011).

    Attributes
    ----------
    click, stop
        Probabilities by grade, from 0 on.
    stop_after
        `examined`: users may stop at every result that they examine, as in most implementations;
        `clicked`: only after a click, as in the papers.
    name
        Name of the user.

    Examples
    --------
    >>> user = CascadeUser((0.05, 0.95), (0.2, 0.9))
    >>> user.compute_click_probabilities([[1, 0, 1]]).round(4).tolist()
    [[0.95, 0.005, 0.076]]
    """

    click: tuple[float, ...]
    stop: tuple[float, ...]
    stop_after: str = "examined"
    name: str = "custom"

    def __post_init__(self) -> None:
        check_choice("stop_after", self.stop_after, STOP_RULES)
        for name in ("click", "stop"):
            probabilities = as_numbers(getattr(self, name), name)
            is_valid = (probabilities >= 0) & (probabilities <= 1)
            if probabilities.ndim != 1 or not probabilities.size or not is_valid.all():
                expected = f"{name} must be probabilities from 0 to 1, one per grade"
                raise PolicyError(f"{expected}, got {quote(getattr(self, name))}")
            object.__setattr__(self, name, tuple(probabilities.tolist()))
        if len(self.click) != len(self.stop):
            sizes = f"{len(self.click)} and {len(self.stop)}"
            raise PolicyError(f"click and stop must have the same number of grades, got {sizes}")

    def draw_clicks(self, grades: Any, uniforms: Floats) -> Bools:
        """Return a mask of clicked results.

        Parameters
        ----------
        grades
            Grade of each result, shape (pages, ranks); below 0 after the end of a list.
        uniforms
            Random numbers from 0 to below 1, shape (pages, at least 2 * ranks): at rank r from 0,
            number 2r is for the click and number 2r + 1 for stopping.

        Raises
        ------
        PolicyError
            For a grade without probabilities, or too few random numbers.
        """
        click, stop, is_listed = self._look_up_probabilities(grades)
        width = 2 * is_listed.shape[1]
        if uniforms.ndim != 2 or len(uniforms) != len(is_listed) or uniforms.shape[1] < width:
            expected = f"{width} numbers for each of {inflect(len(is_listed), 'page')}"
            raise PolicyError(f"uniforms must have {expected}, got shape {uniforms.shape}")
        is_clicked = (uniforms[:, 0:width:2] < click) & is_listed
        has_stopped = uniforms[:, 1:width:2] < stop
        if self.stop_after == "clicked":
            has_stopped &= is_clicked
        is_clicked[:, 1:] &= ~np.logical_or.accumulate(has_stopped, axis=1)[:, :-1]
        return is_clicked

    def compute_click_probabilities(self, grades: Any) -> Floats:
        """Return the probability of a click on each result, shape (pages, ranks)."""
        click, stop, is_listed = self._look_up_probabilities(grades)
        if self.stop_after == "clicked":
            stop = stop * click
        examination = np.ones(click.shape)
        examination[:, 1:] = np.cumprod(1 - stop, axis=1)[:, :-1]
        return np.where(is_listed, click * examination, 0.0)

    def _look_up_probabilities(self, grades: Any) -> tuple[Floats, Floats, Bools]:
        """Return the probabilities of a click and of stopping, and a mask of listed results."""
        grades = np.asarray(grades)
        if grades.ndim != 2 or grades.dtype.kind not in "iu":
            expected = "grades must be integers of shape (pages, ranks)"
            raise PolicyError(f"{expected}, got {grades.dtype} of shape {grades.shape}")
        if grades.size and grades.max() >= len(self.click):
            expected = f"grades of the {self.name} user must be at most {len(self.click) - 1}"
            raise PolicyError(f"{expected}, got {grades.max()}")
        index = np.maximum(grades, 0).astype(np.intp)
        return np.array(self.click)[index], np.array(self.stop)[index], grades >= 0

    def __str__(self) -> str:
        return self.name if self.stop_after == "examined" else f"{self.name} ({self.stop_after})"

    def __repr__(self) -> str:
        click, stop = (", ".join(f"{x:g}" for x in values) for values in (self.click, self.stop))
        return f"CascadeUser({self}: clicks {click}; stops {stop})"


def simulated_user(name: str, n_grades: int = 2, stop_after: str = "examined") -> CascadeUser:
    """Return a simulated user with click probabilities from the literature.

    Parameters
    ----------
    name
        `perfect`, `navigational`, `informational`, `almost random` or `random`.
    n_grades
        Number of grades: 2, 3 or 5.
    stop_after
        As for :class:`CascadeUser`.

    Raises
    ------
    PolicyError
        For another name or number of grades; :class:`CascadeUser` accepts custom probabilities.

    Notes
    -----
    The cascade model is by Guo, Liu and Wang (2009). Studies of interleaving have used these
    probabilities since Hofmann, Whiteson and de Rijke (2011).

    Examples
    --------
    >>> simulated_user("navigational", n_grades=3)
    CascadeUser(navigational: clicks 0.05, 0.5, 0.95; stops 0.2, 0.5, 0.9)
    """
    check_choice("user", name, PRESETS)
    presets = PRESETS[name]
    if n_grades not in presets:
        remedy = "CascadeUser accepts probabilities for other grades"
        raise PolicyError(f"n_grades must be 2, 3 or 5, got {quote(n_grades)}; {remedy}")
    return CascadeUser(*presets[n_grades], stop_after=stop_after, name=name)


RANDOM_CLICKS = ("one click", "any clicks")  # On one random document, or on a random set
_MAX_LENGTH = 12  # Maximum length of lists whose 2^ranks sets of clicks are enumerated
_MAX_WORK = 1 << 27  # Maximum of documents of lists x click sets x (pairs + 1): about ten seconds
_TIE_TOLERANCE = 1e-9  # Outcomes up to this absolute value are ties


@dataclass(frozen=True, eq=False, repr=False)
class Bias(Result):
    """Bias of an interleaving method: outcomes under random clicks; returned by :func:`bias`.

    Attributes
    ----------
    method
        The method of interleaving.
    rankers
        Names of the rankers.
    credits
        Expected credit by kind of clicks (`one click`, `any clicks`), shape (2, rankers).
    outcomes
        Expected outcome of each ranker against each other ranker, shape (2, rankers, rankers).
    """

    name: ClassVar[str] = "bias"
    columns: ClassVar[Columns] = {
        "clicks": Column(
            "`one click` on a random document, or `any clicks` on a random set.", key=True
        ),
        "ranker": Column("First ranker of the pair.", key=True),
        "other": Column("Second ranker of the pair.", key=True),
        "credit": Column(
            "Expected credit of the first ranker minus that of the second, under random clicks."
        ),
        "outcome": Column(
            "Expected outcome for the first ranker under random clicks; 0 if unbiased."
        ),
    }

    method: str
    rankers: tuple[str, ...]
    credits: Floats
    outcomes: Floats

    @property
    def max_outcome(self) -> float:
        """Largest expected outcome of two rankers; 0 without bias."""
        return float(np.abs(self.outcomes).max())

    def heading(self) -> list[str]:
        outcome = f"largest expected outcome under random clicks {self.max_outcome:.6g}"
        return [f"{self.method}: {outcome} (0 without bias)"]

    def _frame(self) -> pl.DataFrame:
        values = zip(RANDOM_CLICKS, self.credits, self.outcomes, strict=True)
        rows = [
            (clicks, self.rankers[a], self.rankers[b], credit[a] - credit[b], outcome[a, b])
            for clicks, credit, outcome in values
            for a, b in combinations(range(len(self.rankers)), 2)
        ]
        return pl.DataFrame(rows, schema=list(self.columns), orient="row")


def bias(
    lists: RankedLists,
    method: str | InterleavingMethod = "TeamDraft",
    length: int = 10,
    *,
    limit: int = 100_000,
) -> Bias:
    """Compute the bias of a method: the expected outcome if users click at random.

    The expectation is exact, over all lists. There are two kinds of random clicks: one
    click, equally likely on each document of the list; or a set of clicks, where all sets,
    including the empty set, are equally likely.

    Parameters
    ----------
    lists, method, length
        As for :func:`interleave`.
    limit
        Maximum number of lists to enumerate.

    Raises
    ------
    PolicyError
        For more lists than `limit`, lists longer than 12, or a computation that takes too long.

    Examples
    --------
    >>> import cranfield as cf
    >>> rankings = [["a", "b", "c"], ["b", "c", "a"]]
    >>> cf.online.bias(rankings, "Balanced")
    Bias(Balanced: largest expected outcome under random clicks 0.333333 (0 without bias))
    >>> cf.online.bias(rankings, "TeamDraft").max_outcome
    0.0
    """
    interleaver = interleave(lists, method, length)
    distribution = _merge_distribution(interleaver, limit)
    codes, teams, n_rankers = distribution.lists, distribution.teams, len(interleaver.rankers)
    is_filled = codes >= 0
    sizes = is_filled.sum(axis=1)
    n_ranks = int(sizes.max())
    if n_ranks > _MAX_LENGTH:
        raise PolicyError(f"bias requires lists of up to {_MAX_LENGTH} documents, got {n_ranks}")
    pairs = list(combinations(range(n_rankers), 2))
    if 2**n_ranks * codes.size * (1 + len(pairs)) > _MAX_WORK:
        rankers, lists_text = inflect(n_rankers, "ranker"), inflect(len(distribution), "list")
        work = f"the bias of {rankers} for {inflect(2**n_ranks, 'set')} of clicks on {lists_text}"
        remedy = "use fewer rankers or a smaller length"
        raise PolicyError(f"computing {work} takes too long; {remedy}")
    click_sets: Bools = (np.arange(2**n_ranks)[:, None] >> np.arange(n_ranks) & 1).astype(bool)
    credits = np.zeros((2, n_rankers))
    outcomes = np.zeros((2, n_rankers, n_rankers))
    for click_set in click_sets:
        clicks = np.zeros(codes.shape, dtype=bool)
        clicks[:, :n_ranks] = click_set
        is_possible = np.asarray((is_filled | ~clicks).all(axis=1))
        clicks &= is_possible[:, None]
        credit = interleaver.credits(codes, clicks, teams)
        # In a list of n documents each click has probability 1/n, and each set 1/2^n.
        one_click = is_possible * (click_set.sum() == 1) / np.maximum(sizes, 1)
        any_clicks = is_possible / 2.0**sizes
        for kind, probability in enumerate((one_click, any_clicks)):
            weights = distribution.probabilities * probability
            if not weights.any():
                continue
            credits[kind] += weights @ credit
            for a, b in pairs:
                outcome = weights @ interleaver.outcomes(codes, clicks, teams, (a, b))
                outcomes[kind, a, b] += outcome
                outcomes[kind, b, a] -= outcome
    return Bias(str(interleaver.method), interleaver.rankers, credits, outcomes)


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(TableResult):
    """Outcomes for a better and a worse ranker; returned by :func:`fidelity`.

    A case is a pair of orders of the same documents, and a set of relevant documents. The better
    ranker ranks no relevant document lower, and at least one higher. All relevant documents that
    are shown are clicked.

    Attributes
    ----------
    rows
        The table, one row per case.
    method
        The method of interleaving.
    """

    name: ClassVar[str] = "fidelity"
    columns: ClassVar[Columns] = {
        "better": Column("Ranking by the better ranker.", key=True),
        "worse": Column("Ranking by the worse ranker.", key=True),
        "relevant": Column("Relevant documents.", key=True),
        "outcome": Column("Expected outcome: above 0 if the better ranker wins."),
    }

    method: str

    @property
    def wins(self) -> int:
        """Number of cases that the better ranker wins."""
        return int((self.outcome > _TIE_TOLERANCE).sum())

    @property
    def losses(self) -> int:
        """Number of cases that the worse ranker wins."""
        return int((self.outcome < -_TIE_TOLERANCE).sum())

    @property
    def ties(self) -> int:
        """Number of cases that neither ranker wins: the method does not detect the difference."""
        return self.rows.height - self.wins - self.losses

    def heading(self) -> list[str]:
        cases = inflect(self.rows.height, "case")
        result = f"wins {self.wins}, loses {self.losses} and ties {self.ties}"
        return [f"{self.method}: of {cases} the better ranker {result}"]

    def facts(self) -> dict[str, Any]:
        return {"method": self.method, "wins": self.wins, "losses": self.losses, "ties": self.ties}


def fidelity(
    method: str | InterleavingMethod = "TeamDraft", n_docs: int = 3, length: int | None = None
) -> Fidelity:
    """Check whether the better ranker wins, for pairs of different orders of a few documents.

    The better ranker Pareto-dominates the other (Hofmann, Whiteson and de Rijke 2013).

    Parameters
    ----------
    method
        Interleaving method.
    n_docs
        Number of documents, from 2 to 5. All pairs of different orders, up to renaming of the
        documents, are enumerated.
    length
        Number of ranks shown; all by default.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.fidelity("TeamDraft")
    Fidelity(TeamDraft: of 20 cases the better ranker wins 18, loses 0 and ties 2)
    """
    method = parse_interleaving(method)
    check_integer("n_docs", n_docs, 2, 5)
    n_ranks = n_docs if length is None else length
    check_integer("length", n_ranks, 1, n_docs)
    names = "abcde"[:n_docs]
    cases: list[tuple[str, str, str, float]] = []
    sizes = range(1, n_docs + 1)
    relevant_sets = ["".join(subset) for size in sizes for subset in combinations(names, size)]
    for order in map("".join, permutations(names)):
        if order == names:
            continue
        interleaver = interleave([list(names), list(order)], method, n_ranks)
        distribution = _merge_distribution(interleaver)
        lists = distribution.lists
        for relevant in relevant_sets:
            gains = [order.index(doc) - names.index(doc) for doc in relevant]
            codes = [interleaver.docs.index(doc) for doc in relevant]
            clicks: Bools = np.isin(lists, codes)
            for sign, pair in ((1, (0, 1)), (-1, (1, 0))):
                if min(sign * gain for gain in gains) >= 0 and any(gains):
                    better, worse = (names, order)[::sign]
                    outcomes = interleaver.outcomes(lists, clicks, distribution.teams, pair)
                    outcome = float(distribution.probabilities @ outcomes)
                    cases.append((better, worse, relevant, outcome))
    return Fidelity(pl.DataFrame(cases, schema=[*Fidelity.columns], orient="row"), str(method))


def _merge_distribution(interleaver: Interleaver, limit: int = 100_000) -> Distribution:
    """Return the distribution of lists, merged over teams unless the method credits teams."""
    distribution = interleaver.compute_distribution(limit)
    return distribution if interleaver.method.has_team_credit else distribution.merge_teams()
