"""One judgment per pair from several labels, or the next label to ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_whole, numbers
from cranfield.base.streams import stream_of
from cranfield.base.text import counted
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

TIES = {
    "low": "the lowest of the tied grades",
    "high": "the highest of the tied grades",
    "median": "the lowest grade up to which half of the chances, or of the labels, lie",
    "drop": "the pair has no judgment",
    "random": "one of the tied grades, by the seed",
}
"""What becomes of a pair whose most likely grades tie."""

ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "half-up": lambda grade: np.floor(grade + 0.5),
    "half-down": lambda grade: np.ceil(grade - 0.5),
    "half-even": np.rint,
    "down": np.floor,
    "up": np.ceil,
}
"""How an expected grade becomes a whole number."""

_NEAR = 1e-9
"""Chances that are nearer than this tie: the order in which labels are read decides nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(Result):
    """Labels aggregated to one grade for each pair, by one method.

    Attributes
    ----------
    labels
        The labels.
    method
        Name of the method.
    posterior
        Probability of each grade of `labels.grades`, by pair; shape (pairs, grades), rows sum to 1.
        Of a majority, the proportion of the (weighted) labels.
    quality
        How good each worker is by the method, which says what that means; shape (workers,).
    prior
        Share of each grade among pairs, as the method took or estimated it; shape (grades,).
    objective
        What is maximised, at every step: the log-likelihood, with the log density of priors where
        the method has some. Empty for a majority.
    converged
        Whether the steps ended because the objective no longer rose.
    tie, seed
        How ties are broken, and the seed of all random steps.
    gold
        Whether a pair's grade was given; shape (pairs,).
    settings
        The method's options.
    parameters
        What else the method estimated, by name.
    notes
        What was counted on the way, a sentence each.
    evidence, parts
        What the choice is made of: the sum, and each label's share; for :meth:`workers`.
    """

    name: ClassVar[str] = "judgments"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the pair.", key=True),
        "doc": Column("Document of the pair.", key=True),
        "grade": Column("Aggregated grade; null where a tie was dropped."),
        "*": Column("Probability of the grade in brackets, from 0 to 1, as in `posterior`."),
        "tied": Column("Whether the most likely grades tie."),
    }

    labels: Labels
    method: str
    posterior: Floats
    quality: Floats
    prior: Floats
    objective: Floats
    converged: bool
    tie: str
    seed: int
    gold: Bools
    evidence: Floats
    parts: Callable[[], Floats]
    settings: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("tie", self.tie, TIES)
        check_whole("seed", self.seed, 0)

    @property
    def iterations(self) -> int:
        """How many steps were made."""
        return self.objective.size

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood at the end, without priors of parameters; NaN for a majority.

        Of variational MACE it is that of the weights which stand for the parameters.
        """
        if not self.objective.size:
            return float("nan")
        most = self.evidence.max(axis=1)
        return float((most + np.log(np.exp(self.evidence - most[:, None]).sum(axis=1))).sum())

    @cached_property
    def tied(self) -> Bools:
        """Whether the most likely grades of a pair tie; shape (pairs,)."""
        return np.asarray(_best(self.posterior).sum(axis=1) > 1)

    @cached_property
    def level(self) -> Ints:
        """The grade of each pair as an index into `labels.grades`; -1 is no judgment."""
        best = _best(self.posterior)
        last = best.shape[1] - 1 - best[:, ::-1].argmax(axis=1)
        level = np.asarray(last if self.tie == "high" else best.argmax(axis=1), dtype=np.int64)
        rows = np.flatnonzero(self.tied)
        if self.tie == "drop":
            level[rows] = -1
        elif self.tie == "median":
            half = np.cumsum(self.posterior[rows], axis=1) >= 0.5 - _NEAR
            level[rows] = half.argmax(axis=1)
        elif self.tie == "random" and rows.size:
            level[rows] = _drawn(best[rows], self.labels, rows, self.seed)
        return level

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments: the most likely grade of each pair, ties by the policy.

        Raises
        ------
        CranfieldError
            Where no pair is left, since all tie and are dropped.
        """
        return self._judgments(self.level >= 0, self.labels.grades[self.level])

    def expected(self) -> Floats:
        """Return the expected grade of each pair; shape (pairs,)."""
        return np.asarray(self.posterior @ self.labels.grades)

    def expected_qrels(self, rounding: str) -> Qrels:
        """Return the expected grades as judgments, which are whole numbers.

        Parameters
        ----------
        rounding
            `half-up`, `half-down`, `half-even`, `down` or `up`. Grades within 1e-9 of a half, or of
            a whole number, are taken as that.
        """
        check_choice("rounding", rounding, ROUNDINGS)
        grade = self.expected()
        halves = np.rint(2 * grade) / 2
        grade = np.where(np.abs(grade - halves) < _NEAR, halves, grade)
        return self._judgments(np.ones(grade.size, dtype=bool), ROUNDINGS[rounding](grade))

    def _judgments(self, kept: Bools, grades: Any) -> Qrels:
        if not kept.any():
            raise CranfieldError("no pair has a judgment: all of them tie, and ties are dropped")
        return Qrels(
            self.labels.topics,
            self.labels.topic_of[kept].astype(np.int32),
            self.labels.docs.filter(pl.Series(kept)),
            np.asarray(grades)[kept].astype(np.int32),
            origin=Origin(f"{self.method} of {self.labels.origin.name}"),
        )

    @cached_property
    def confusion(self) -> Floats:
        r"""How each worker labels pairs of each grade; shape (workers, grades, grades).

        .. math:: \pi^w_{kl} = \frac{\sum_i T_{ik} n^w_{il}}{\sum_l \sum_i T_{ik} n^w_{il}}

        with the chances T of `posterior`: the share of label l where the grade is k. NaN where a
        worker met no pair of that grade. For Dawid-Skene these are its estimates.

        Source: Dawid and Skene (1979), equation 2.3.
        """
        seen = Tally(self.labels).of(self.posterior).transpose(0, 2, 1)
        total = seen.sum(axis=2, keepdims=True)
        return np.asarray(np.divide(seen, total, out=np.full(seen.shape, np.nan), where=total > 0))

    def workers(self) -> pl.DataFrame:
        """Return a row a worker: how many labels, how good by the method, how often it agrees.

        `agreement` is the share of a worker's labels that are the pair's grade, over pairs that
        have one. `without` is the same where the worker's own labels of a pair are left out of what
        decides it, over pairs that others labelled too; where grades then tie, each of them counts
        in part. Weights and confusion matrices stay those that all labels gave.
        """
        labels, workers = self.labels, len(self.labels.workers)
        decided = self.level[labels.pair] >= 0
        same = labels.level == self.level[labels.pair]
        cells, cell = np.unique(
            labels.pair * np.int64(workers) + labels.worker, return_inverse=True
        )
        own = np.zeros((cells.size, labels.grades.size))
        np.add.at(own, cell, self.parts())
        others = np.bincount(labels.pair, minlength=len(labels.docs))[labels.pair]
        others = others - np.bincount(cell)[cell]
        best = _best(self.evidence[labels.pair] - own[cell])
        share = best[np.arange(len(labels)), labels.level] / best.sum(axis=1)
        alone = others == 0
        return pl.DataFrame(
            {
                "worker": pl.Series(labels.workers, dtype=pl.String),
                "labels": np.bincount(labels.worker, minlength=workers),
                "quality": self.quality,
                "agreement": _mean_by(labels.worker, same, decided, workers),
                "without": _mean_by(labels.worker, share, ~alone, workers),
            }
        ).with_columns(pl.col("quality", "agreement", "without").fill_nan(None))

    def heading(self) -> list[str]:
        """Return one line: the method, the number of pairs, steps and ties."""
        parts = [f"{self.method} of {counted(len(self.labels.docs), 'pair')}"]
        if self.iterations:
            ended = "" if self.converged else ", not converged"
            parts.append(f"{counted(self.iterations, 'step')} to {self.objective[-1]:.4f}{ended}")
        parts.append(f"{counted(int(self.tied.sum()), 'tie')} ({self.tie})")
        return [", ".join(parts)]

    def _frame(self) -> pl.DataFrame:
        grades = self.labels.grades
        chosen = pl.Series(grades[self.level]).set(pl.Series(self.level < 0), None)
        chances = {f"p({grade})": self.posterior[:, k] for k, grade in enumerate(grades)}
        return self.labels.pairs.with_columns(grade=chosen, **chances, tied=pl.Series(self.tied))


class Tally:
    """Labels as a sparse table of (worker, grade) by pair, for sums over either."""

    def __init__(self, labels: Labels) -> None:
        from scipy.sparse import csr_array

        self.shape = (len(labels.workers), labels.grades.size)
        self.rows = labels.worker * self.shape[1] + labels.level
        size = (self.shape[0] * self.shape[1], len(labels.docs))
        self._by_worker = csr_array((np.ones(len(labels)), (self.rows, labels.pair)), shape=size)
        self._by_pair = self._by_worker.T.tocsr()

    def of(self, posterior: Floats) -> Floats:
        """Return how often workers gave grades to each true grade; (workers, given, true)."""
        return np.asarray(self._by_worker @ posterior).reshape(*self.shape, -1)

    def evidence(self, table: Floats) -> Floats:
        """Add up, by pair, what labels say by a table (workers, given, true); (pairs, true)."""
        return np.asarray(self._by_pair @ table.reshape(-1, table.shape[2]))

    def parts(self, table: Floats) -> Floats:
        """Return what each label says by such a table; (labels, true)."""
        return np.asarray(table.reshape(-1, table.shape[2])[self.rows])


def _best(values: Floats) -> Bools:
    """Tell which grades of each row are the most likely ones."""
    return np.asarray(values >= values.max(axis=1, keepdims=True) - _NEAR)


def _drawn(best: Bools, labels: Labels, rows: Indices, seed: int) -> Ints:
    """Draw one of the tied grades, a stream a topic, documents in order of their ids."""
    level = np.empty(rows.size, dtype=np.int64)
    codes = labels.topic_of[rows]
    place = labels.docs.gather(rows).arg_sort().to_numpy()
    for code in np.unique(codes):
        of_topic = place[codes[place] == code]
        draws = stream_of(seed, labels.topics[code]).random(of_topic.size)
        some = best[of_topic]
        wanted = np.floor(draws * some.sum(axis=1)).astype(np.int64)
        level[of_topic] = (np.cumsum(some, axis=1) > wanted[:, None]).argmax(axis=1)
    return level


def _mean_by(codes: Ints, values: Any, kept: Bools, size: int) -> Floats:
    number = np.bincount(codes[kept], minlength=size)
    total = np.bincount(codes[kept], weights=values[kept], minlength=size)
    return np.asarray(np.divide(total, number, out=np.full(size, np.nan), where=number > 0))


def majority(labels: Labels, *, weights: Any = None, tie: str = "low", seed: int = 0) -> Consensus:
    """Take the grade that most labels of a pair give.

    Parameters
    ----------
    labels
        From :func:`read_labels`.
    weights
        What a label of each worker counts, from 0 on; shape (workers,). By default 1.
    tie
        What becomes of ties: `low`, `high`, `median` (of the pair's labels), `drop`, `random`. A
        pair whose labels all weigh nothing ties in all grades.
    seed
        Of random ties.

    Returns
    -------
    Consensus
        Its chances are shares of labels; a worker's quality is the weight.

    Examples
    --------
    >>> from cranfield.assess import majority, read_labels
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> majority(labels, tie="high")
    Consensus(majority of 2 pairs, 1 tie (high))
    >>> majority(labels, tie="high").qrels.grades.tolist()
    [1, 0]
    """
    plain = np.ones(len(labels.workers))
    weight = plain if weights is None else numbers(weights, "weights")
    if weight.shape != plain.shape or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise PolicyError(
            f"weights are {counted(plain.size, 'finite number')} from 0, one a worker"
        )
    return _weighted(labels, weight, "majority", tie, seed, {"weights": weights})


def wawa(labels: Labels, *, tie: str = "low", seed: int = 0) -> Consensus:
    """Take the majority, then weigh each worker by the agreement with it, and take it again.

    Worker Agreement With Aggregate. The weight, which is the worker's quality, is the share of its
    labels that agree with the plain majority, whose ties are broken by the same policy.

    Examples
    --------
    >>> from cranfield.assess import read_labels, wawa
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> wawa(labels).quality.tolist()
    [0.5, 1.0]
    """
    agreement = majority(labels, tie=tie, seed=seed).workers()["agreement"]
    # Of a worker whose pairs all tied and were dropped nothing is known: it counts as the others.
    known = agreement.fill_null(strategy="mean").fill_null(1.0)
    return _weighted(labels, known.to_numpy(), "wawa", tie, seed, {})


def _weighted(
    labels: Labels, weight: Floats, method: str, tie: str, seed: int, settings: dict[str, Any]
) -> Consensus:
    shape = (len(labels.docs), labels.grades.size)
    refuse_large({"label": len(labels), "grade": shape[1]})
    of_label = weight[labels.worker]
    cells = labels.pair * np.int64(shape[1]) + labels.level
    total = np.bincount(cells, weights=of_label, minlength=shape[0] * shape[1])
    votes = np.asarray(total, dtype=np.float64).reshape(shape)
    total = votes.sum(axis=1, keepdims=True)
    share = np.divide(votes, total, out=np.full(shape, 1 / shape[1]), where=total > 0)

    def parts() -> Floats:
        said = np.zeros((len(labels), shape[1]))
        said[np.arange(len(labels)), labels.level] = of_label
        return said

    return Consensus(
        labels=labels,
        method=method,
        posterior=share,
        quality=weight,
        prior=share.mean(axis=0),
        objective=np.empty(0),
        converged=True,
        tie=tie,
        seed=seed,
        gold=np.zeros(shape[0], dtype=bool),
        evidence=votes,
        parts=parts,
        settings=settings,
    )


_LEAD_ROUNDING = 1e-12


@dataclass(frozen=True)
class LeadRule:
    r"""Stop once the lead of the first grade over the second is large for the number of labels.

    .. math:: V_1 - V_2 \ge C \sqrt{n} - \varepsilon n

    with V the votes for the first and the second grade of n labels. Where labels weigh w, V are
    sums of weights, \(\sqrt n\) is \(\sqrt{\sum w^2}\) and n is \(\sum w\). It can be asked after
    any number of labels, and holds nothing that it was asked.

    Parameters
    ----------
    c
        C, above 0: the larger, the more labels.
    epsilon
        From 0 on: how much of a lead is worth waiting for.

    Notes
    -----
    Source: the rule of Abraham, Alonso, Kandylas, Patel, Shelford and Slivkins (2016), How many
    workers to ask?, as the sum of votes crosses a boundary of order \(\sqrt n\).

    Examples
    --------
    >>> rule = LeadRule(c=1.5)
    >>> rule.stops([[2, 0], [3, 0], [3, 1]]).tolist()
    [False, True, False]
    """

    c: float = 1.5
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("c", "above 0"), ("epsilon", "from 0")):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value < np.inf or (name == "c" and value == 0):
                raise PolicyError(f"{name} must be a finite number {least}, not {value!r}")

    def stops(self, votes: Any, squares: Any = None) -> Bools:
        """Tell for each pair whether its labels are enough.

        Parameters
        ----------
        votes
            Sum of the weights of the labels of each grade; shape (..., grades).
        squares
            Sum of the squared weights of all labels of the pair; shape (...). By default every
            label weighs 1.
        """
        votes = numbers(votes, "votes")
        if not votes.ndim or not votes.shape[-1]:
            raise PolicyError("votes are of the grades of pairs, in rows")
        with np.errstate(over="ignore", invalid="ignore"):
            total = votes.sum(axis=-1)
        squares = total if squares is None else numbers(squares, "squares")
        if not (np.isfinite(total).all() and np.isfinite(squares).all()):
            raise PolicyError("votes and squares are finite, and so are their sums")
        if (squares < 0).any():
            raise PolicyError("sums of squares are not below 0, nor are sums of votes")
        ordered = np.sort(
            np.concatenate([np.zeros((*votes.shape[:-1], 1)), votes], axis=-1), axis=-1
        )
        lead = ordered[..., -1] - ordered[..., -2]
        # Sums of weights are rounded, and nobody asked is not enough, whatever the lead.
        wanted = self.c * np.sqrt(squares) - self.epsilon * total - _LEAD_ROUNDING * total
        return np.asarray((lead >= wanted) & (total > 0))

    def replay(self, labels: Labels, weights: Any = None) -> Stopped:
        """Go through labels in the order in which they were given, and stop where the rule says so.

        Parameters
        ----------
        labels
            From :func:`read_labels`; by `order` within a pair, else in the order of the rows.
        weights
            What a label of each worker counts, such as its quality; shape (workers,).
        """
        worth = np.ones(len(labels.workers)) if weights is None else numbers(weights, "weights")
        fits = worth.shape == (len(labels.workers),)
        if not fits or not (np.isfinite(worth).all() and (worth >= 0).all()):
            raise PolicyError(
                f"weights are {counted(len(labels.workers), 'finite number')} from 0, one a worker"
            )
        refuse_large({"label": len(labels), "grade": labels.grades.size})
        when = np.arange(len(labels)) if labels.order is None else labels.order
        rows = np.lexsort((when, labels.pair))
        pair = labels.pair[rows]
        first = np.searchsorted(pair, np.arange(len(labels.docs)))
        said = np.zeros((rows.size, labels.grades.size))
        said[np.arange(rows.size), labels.level[rows]] = worth[labels.worker[rows]]
        squares = _running((said.sum(axis=1) ** 2)[:, None], first, pair)[:, 0]
        enough = self.stops(_running(said, first, pair), squares)
        place = np.arange(rows.size)
        end = np.full(first.size, rows.size)
        np.minimum.at(end, pair[enough], place[enough])
        used = np.zeros(rows.size, dtype=bool)
        used[rows[place <= end[pair]]] = True
        return Stopped(self, labels, used, end < rows.size)


@dataclass(frozen=True, eq=False, repr=False)
class Stopped(Result):
    """Labels that a rule used before it stopped.

    Attributes
    ----------
    rule
        The rule.
    given
        All labels.
    used
        Whether a label came before the rule said to stop; shape (labels,).
    decided
        Whether the rule ever said so, by pair; shape (pairs,).
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the pair.", key=True),
        "doc": Column("Document of the pair.", key=True),
        "given": Column("Number of labels of the pair."),
        "used": Column("Number of them that came before the rule said to stop."),
        "decided": Column("Whether the rule ever said to stop."),
    }

    rule: LeadRule
    given: Labels
    used: Bools
    decided: Bools

    @property
    def labels(self) -> Labels:
        """The labels that were used."""
        return self.given.restricted(self.used)

    @property
    def by_pair(self) -> Ints:
        """Number of labels used; shape (pairs,)."""
        return np.bincount(self.given.pair[self.used], minlength=self.decided.size)

    def heading(self) -> list[str]:
        """Return one line: the number of labels used, and of pairs that stay undecided."""
        undecided = int((~self.decided).sum())
        return [
            f"{int(self.used.sum()):,} of {counted(len(self.given), 'label')} used,"
            f" {counted(undecided, 'pair')} undecided"
        ]

    def _frame(self) -> pl.DataFrame:
        given = np.bincount(self.given.pair, minlength=self.decided.size)
        return self.given.pairs.with_columns(
            given=pl.Series(given), used=pl.Series(self.by_pair), decided=pl.Series(self.decided)
        )


def _running(values: Floats, first: Ints, pair: Ints) -> Floats:
    """Sum up the rows of each pair so far."""
    sums = np.cumsum(values, axis=0)
    before = np.concatenate([np.zeros((1, values.shape[1])), sums])[first]
    return np.asarray(sums - before[pair])
