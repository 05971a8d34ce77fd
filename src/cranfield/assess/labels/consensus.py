"""Consensus: one judgment per pair from several labels, and when to stop collecting labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.labels import crowd_model
from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_whole, numbers
from cranfield.base.kinds import OneOf
from cranfield.base.streams import stream_of
from cranfield.base.text import counted
from cranfield.collection.probabilities import Probabilities
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

TIES = ("low", "high", "median", "drop", "random")

ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "half-up": lambda grade: np.floor(grade + 0.5),
    "half-down": lambda grade: np.ceil(grade - 0.5),
    "half-even": np.rint,
    "down": np.floor,
    "up": np.ceil,
}
"""How expected grades are rounded."""

_NEAR = 1e-9
"""Probabilities nearer than this tie, so that the order of labels decides nothing."""


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
        Quality of each worker, as the method defines it; shape (workers,).
    prior
        Proportion of each grade among pairs, given or estimated; shape (grades,).
    objective
        The maximised objective at every step: the log-likelihood, plus the log density of priors if
        the method has some. Empty for a majority.
    converged
        Whether the steps ended because the objective no longer rose.
    tie, seed
        How ties are resolved, and the seed of all random steps.
    gold
        Whether the grade of a pair was given; shape (pairs,).
    settings
        The method's options.
    parameters
        Other estimates of the method, by name.
    notes
        Counts of gold grades and the like, a sentence each.
    evidence, parts
        Evidence for each grade: the sum, and the part of each label; for :meth:`workers`.
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
        """Number of steps."""
        return self.objective.size

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood at the end, without priors of parameters; NaN for a majority.

        Of variational MACE it is that of the weights that stand for the parameters.
        """
        if not self.objective.size:
            return float("nan")
        largest = self.evidence.max(axis=1)
        return float((largest + np.log(np.exp(self.evidence - largest[:, None]).sum(axis=1))).sum())

    @cached_property
    def tied(self) -> Bools:
        """Whether the most likely grades of a pair tie; shape (pairs,)."""
        return np.asarray(_best(self.posterior).sum(axis=1) > 1)

    @cached_property
    def level(self) -> Ints:
        """The grade of each pair as an index into `labels.grades`; -1 means no judgment."""
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
            # A stream per topic, documents in order of their ids.
            codes = self.labels.topic_of[rows]
            place = self.labels.docs.gather(rows).arg_sort().to_numpy()
            for code in np.unique(codes):
                of_topic = place[codes[place] == code]
                draws = stream_of(self.seed, self.labels.topics[code]).random(of_topic.size)
                tied = best[rows[of_topic]]
                rank = np.floor(draws * tied.sum(axis=1)).astype(np.int64)
                level[rows[of_topic]] = (np.cumsum(tied, axis=1) > rank[:, None]).argmax(axis=1)
        return level

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments: the most likely grade of each pair, ties by the policy.

        Raises
        ------
        CranfieldError
            If all pairs tie and are dropped.
        """
        return self._judgments(self.level >= 0, self.labels.grades[self.level])

    @property
    def probabilities(self) -> Probabilities:
        """The probabilities of `posterior`, for :func:`cranfield.evaluate_probabilities`."""
        labels, origin = self.labels, Origin(f"{self.method} of {self.labels.origin.name}")
        values = self.posterior.clip(0.0, 1.0)
        pairs = labels.topics, labels.topic_of.astype(np.int64), labels.docs
        return Probabilities(*pairs, labels.grades.astype(np.int64), values, origin)

    def expected(self) -> Floats:
        """Return the expected grade of each pair; shape (pairs,)."""
        return np.asarray(self.posterior @ self.labels.grades)

    def expected_qrels(self, rounding: str) -> Qrels:
        """Return the expected grades as judgments, rounded to integers.

        Parameters
        ----------
        rounding
            `half-up`, `half-down`, `half-even`, `down` or `up`. Grades within 1e-9 of a half or an
            integer count as that.
        """
        check_choice("rounding", rounding, ROUNDINGS)
        grade = self.expected()
        halves = np.rint(2 * grade) / 2
        grade = np.where(np.abs(grade - halves) < _NEAR, halves, grade)
        return self._judgments(np.ones(grade.size, dtype=bool), ROUNDINGS[rounding](grade))

    def _judgments(self, selected: Bools, grades: Any) -> Qrels:
        if not selected.any():
            raise CranfieldError("no pair has a judgment: all pairs are tied, and ties are dropped")
        return Qrels(
            self.labels.topics,
            self.labels.topic_of[selected].astype(np.int32),
            self.labels.docs.filter(pl.Series(selected)),
            np.asarray(grades)[selected].astype(np.int32),
            origin=Origin(f"{self.method} of {self.labels.origin.name}"),
        )

    @cached_property
    def confusion(self) -> Floats:
        r"""Confusion matrix of each worker; shape (workers, grades, grades).

        .. math:: \pi^w_{kl} = \frac{\sum_i T_{ik} n^w_{il}}{\sum_l \sum_i T_{ik} n^w_{il}}

        with the probabilities T of `posterior`: the proportion of label l among pairs of grade k.
        NaN if a worker met no pair of that grade. For Dawid-Skene these are its estimates.

        Source: Dawid and Skene (1979), equation 2.3.
        """
        tallies = Tally(self.labels).of(self.posterior).transpose(0, 2, 1)
        return _divided(tallies, tallies.sum(axis=2, keepdims=True))

    def workers(self) -> pl.DataFrame:
        """Return a row per worker: number of labels, quality by the method, and agreement.

        `agreement` is the proportion of a worker's labels that equal the aggregated grade, over
        pairs that have one. `without` is the same if the worker's own labels of a pair are
        excluded from the decision, over pairs that others labelled too; if grades then tie, each
        counts in part. Weights and confusion matrices stay those of all labels.
        """
        labels, many = self.labels, len(self.labels.workers)
        decided = self.level[labels.pair] >= 0
        same = labels.level == self.level[labels.pair]
        cells, cell = np.unique(labels.cell, return_inverse=True)
        own = np.zeros((cells.size, labels.grades.size))
        np.add.at(own, cell, self.parts())
        others = np.bincount(labels.pair, minlength=len(labels.docs))[labels.pair]
        shared = others > np.bincount(cell)[cell]
        best = _best(self.evidence[labels.pair] - own[cell])
        share = best[np.arange(len(labels)), labels.level] / best.sum(axis=1)

        def mean(values: Any, rows: Bools) -> Floats:
            total = np.bincount(labels.worker[rows], weights=values[rows], minlength=many)
            return _divided(total, np.bincount(labels.worker[rows], minlength=many))

        return pl.DataFrame(
            {
                "worker": pl.Series(labels.workers, dtype=pl.String),
                "labels": np.bincount(labels.worker, minlength=many),
                "quality": self.quality,
                "agreement": mean(same, decided),
                "without": mean(share, shared),
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
        aggregated = pl.Series(grades[self.level]).set(pl.Series(self.level < 0), None)
        chances = {f"p({grade})": self.posterior[:, k] for k, grade in enumerate(grades)}
        return self.labels.pairs.with_columns(
            grade=aggregated, **chances, tied=pl.Series(self.tied)
        )


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
        """Return expected counts of labels by true grade; (workers, given, true)."""
        return np.asarray(self._by_worker @ posterior).reshape(*self.shape, -1)

    def evidence(self, table: Floats) -> Floats:
        """Sum the entries of a table (workers, given, true) over labels; (pairs, true)."""
        return np.asarray(self._by_pair @ table.reshape(-1, table.shape[2]))

    def parts(self, table: Floats) -> Floats:
        """Return the entries of such a table for each label; (labels, true)."""
        return np.asarray(table.reshape(-1, table.shape[2])[self.rows])


def at_level(labels: Labels, values: Any) -> Floats:
    """Return the value of each label in the column of its grade; shape (labels, grades)."""
    table = np.zeros((len(labels), labels.grades.size))
    table[np.arange(len(labels)), labels.level] = values
    return table


def check_amount(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value < np.inf:
        raise PolicyError(f"{name} must be a finite number >= 0, got {value!r}")


def _best(values: Floats) -> Bools:
    """Return True for the most likely grades of each row."""
    return np.asarray(values >= values.max(axis=1, keepdims=True) - _NEAR)


def _divided(part: Any, total: Any) -> Floats:
    """Divide; NaN for a total of 0."""
    return np.asarray(np.divide(part, total, out=np.full(part.shape, np.nan), where=total > 0))


def _weights(labels: Labels, weights: Any) -> Floats:
    """Return the weight of each worker, 1 by default."""
    many = len(labels.workers)
    weight = np.ones(many) if weights is None else numbers(weights, "weights")
    if weight.shape != (many,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise PolicyError(f"weights must be {counted(many, 'finite number')} >= 0, one per worker")
    return weight


@crowd_model
def majority(
    labels: Labels,
    *,
    weights: Any = None,
    tie: Annotated[str, OneOf(TIES)] = "low",
    seed: int = 0,
) -> Consensus:
    """Aggregate labels by majority vote: the most frequent grade of each pair.

    Parameters
    ----------
    labels
        From :func:`read_labels`.
    weights
        Weight of the labels of each worker, 0 or more; shape (workers,). By default 1.
    tie
        How to resolve ties: the `low` or `high` tied grade, a `random` one, the `median` (the
        lowest grade at or below which lies half of the labels, or of the probability), or `drop`,
        for no judgment. A pair whose labels all weigh 0 ties in all grades.
    seed
        Seed of random ties.

    Returns
    -------
    Consensus
        Its probabilities are proportions of labels; a worker's quality is the weight.

    Examples
    --------
    >>> from cranfield.assess import majority, read_labels
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> majority(labels, tie="high")
    Consensus(majority of 2 pairs, 1 tie (high))
    >>> majority(labels, tie="high").qrels.grades.tolist()
    [1, 0]
    """
    return _weighted(labels, _weights(labels, weights), "majority", tie, seed, {"weights": weights})


@crowd_model
def wawa(labels: Labels, *, tie: str = "low", seed: int = 0) -> Consensus:
    """Aggregate labels by a majority vote weighted by the agreement of workers with the majority.

    Worker Agreement With Aggregate. The weight, which is the worker's quality, is the proportion of
    its labels that agree with the plain majority, whose ties are resolved by the same policy.

    Examples
    --------
    >>> from cranfield.assess import read_labels, wawa
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> wawa(labels).quality.tolist()
    [0.5, 1.0]
    """
    agreement = majority(labels, tie=tie, seed=seed).workers()["agreement"]
    # A worker whose pairs all tied and were dropped counts like the mean of the others.
    weights = agreement.fill_null(strategy="mean").fill_null(1.0)
    return _weighted(labels, weights.to_numpy(), "wawa", tie, seed, {})


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
        parts=lambda: at_level(labels, of_label),
        settings=settings,
    )


_LEAD_ROUNDING = 1e-12


@dataclass(frozen=True)
class LeadRule:
    r"""Stop once the lead of the first grade over the second is large for the number of labels.

    .. math:: V_1 - V_2 \ge C \sqrt{n} - \varepsilon n

    with V the votes for the first and the second grade of n labels. For labels of weight w, V are
    sums of weights, \(\sqrt n\) is \(\sqrt{\sum w^2}\) and n is \(\sum w\). The rule has no state,
    and can be applied after any number of labels.

    Parameters
    ----------
    c
        C, above 0: the larger, the more labels.
    epsilon
        0 or more: the smallest lead per label worth waiting for.

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
        check_amount("c", self.c)
        check_amount("epsilon", self.epsilon)
        if self.c == 0:
            raise PolicyError(f"c must be a finite number > 0, got {self.c!r}")

    def stops(self, votes: Any, squares: Any = None) -> Bools:
        """Return for each pair whether its labels are enough.

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
            raise PolicyError("votes must have a row for each pair, with a column for each grade")
        with np.errstate(over="ignore", invalid="ignore"):
            total = votes.sum(axis=-1)
        squares = total if squares is None else numbers(squares, "squares")
        if not (np.isfinite(total).all() and np.isfinite(squares).all()):
            raise PolicyError("sums of votes and of squares must be finite")
        if (squares < 0).any():
            raise PolicyError("sums of votes and of squares must be >= 0")
        zero = np.zeros((*votes.shape[:-1], 1))
        ordered = np.sort(np.concatenate([zero, votes], axis=-1), axis=-1)
        lead = ordered[..., -1] - ordered[..., -2]
        # Sums of weights are rounded; without any label no lead is enough.
        bound = self.c * np.sqrt(squares) - self.epsilon * total - _LEAD_ROUNDING * total
        return np.asarray((lead >= bound) & (total > 0))

    def replay(self, labels: Labels, weights: Any = None) -> Stopped:
        """Apply the rule to labels in the order in which they were given.

        Parameters
        ----------
        labels
            From :func:`read_labels`; by `order` within a pair, else in the order of the rows.
        weights
            Weight of the labels of each worker, such as its quality; shape (workers,).
        """
        weight = _weights(labels, weights)
        refuse_large({"label": len(labels), "grade": labels.grades.size})
        when = np.arange(len(labels)) if labels.order is None else labels.order
        rows = np.lexsort((when, labels.pair))
        pair = labels.pair[rows]
        first = np.searchsorted(pair, np.arange(len(labels.docs)))

        def so_far(values: Floats) -> Floats:
            sums = np.cumsum(values, axis=0)
            before = np.concatenate([np.zeros((1, *values.shape[1:])), sums])[first]
            return np.asarray(sums - before[pair])

        votes = at_level(labels, weight[labels.worker])[rows]
        enough = self.stops(so_far(votes), so_far(votes.sum(axis=1) ** 2))
        place = np.arange(rows.size)
        end = np.full(first.size, rows.size)
        np.minimum.at(end, pair[enough], place[enough])
        used = np.zeros(rows.size, dtype=bool)
        used[rows[place <= end[pair]]] = True
        return Stopped(self, labels, used, end < rows.size)


@dataclass(frozen=True, eq=False, repr=False)
class Stopped(Result):
    """Labels used before a rule stopped; made by :meth:`LeadRule.replay`.

    Attributes
    ----------
    rule
        The rule.
    all_labels
        All labels.
    used
        Whether a label came before the rule stopped; shape (labels,).
    decided
        Whether the rule stopped, by pair; shape (pairs,).
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the pair.", key=True),
        "doc": Column("Document of the pair.", key=True),
        "labels": Column("Number of labels of the pair."),
        "used": Column("Number of them before the rule stopped."),
        "decided": Column("Whether the rule stopped."),
    }

    rule: LeadRule
    all_labels: Labels
    used: Bools
    decided: Bools

    @property
    def labels(self) -> Labels:
        """The labels that were used."""
        return self.all_labels.restricted(self.used)

    @property
    def by_pair(self) -> Ints:
        """Number of labels used; shape (pairs,)."""
        return np.bincount(self.all_labels.pair[self.used], minlength=self.decided.size)

    def heading(self) -> list[str]:
        """Return one line: the number of labels used, and of pairs that stay undecided."""
        undecided = int((~self.decided).sum())
        return [
            f"{int(self.used.sum()):,} of {counted(len(self.all_labels), 'label')} used,"
            f" {counted(undecided, 'pair')} undecided"
        ]

    def _frame(self) -> pl.DataFrame:
        count = np.bincount(self.all_labels.pair, minlength=self.decided.size)
        return self.all_labels.pairs.with_columns(
            labels=pl.Series(count), used=pl.Series(self.by_pair), decided=pl.Series(self.decided)
        )
