"""One judgment a pair from several labels: chances of grades, and how ties are broken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import CranfieldError
from cranfield.base.streams import stream_of
from cranfield.base.words import counted
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import Origin
from cranfield.tabular.frames import Framed

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
class Consensus(Framed):
    """What labels say together, by one method.

    Attributes
    ----------
    labels
        The labels.
    method
        Name of the method.
    posterior
        Chance of each grade of `labels.grades`, by pair; shape (pairs, grades), rows sum to 1. Of a
        majority, the share of the (weighted) labels.
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

    def __repr__(self) -> str:
        return f"Consensus({self._line()})"

    def _line(self) -> str:
        parts = [f"{self.method} of {counted(len(self.labels.docs), 'pair')}"]
        if self.iterations:
            ended = "" if self.converged else ", not converged"
            parts.append(f"{counted(self.iterations, 'step')} to {self.objective[-1]:.4f}{ended}")
        parts.append(f"{counted(int(self.tied.sum()), 'tie')} ({self.tie})")
        return ", ".join(parts)

    def __str__(self) -> str:
        return "\n".join((self._line(), *self.notes))

    def to_polars(self) -> pl.DataFrame:
        """Return a row a pair: topic, document, grade (null: dropped), chances, whether tied."""
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
