"""Consensus: one judgment per pair from several labels, and when to stop collecting labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.labels import crowd_model
from cranfield.assess.labels.table import Labels, check_size
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    as_numbers,
    check_choice,
    check_integer,
    check_number,
    quote,
)
from cranfield.base.kinds import OneOf
from cranfield.base.streams import make_named_stream
from cranfield.base.text import inflect, list_some
from cranfield.collection.probabilities import Probabilities
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

TIES = {
    "low": "the lowest tied grade",
    "high": "the highest tied grade",
    "median": "the median label",
    "drop": "no grade",
    "random": "a random tied grade",
}
"""Policies for ties, and the grade of a tied pair."""

ROUNDINGS: dict[str, Callable[[Floats], Floats]] = {
    "half-up": lambda grade: np.floor(grade + 0.5),
    "half-down": lambda grade: np.ceil(grade - 0.5),
    "half-even": np.rint,
    "down": np.floor,
    "up": np.ceil,
}
"""Ways to round expected grades to integers."""

_TOLERANCE = 1e-9  # Probabilities that differ by less are tied, in any order of labels


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(Result):
    """Labels aggregated to one grade for each pair; returned by :func:`majority` and other methods.

    Attributes
    ----------
    labels
        Labels that were aggregated.
    method
        Name of the method.
    posterior
        Probability of each grade of `labels.grades`, by pair; shape (pairs, grades), rows sum to 1.
        For a majority vote, the proportion of the (weighted) labels.
    quality
        Quality of each worker, as the method defines it; shape (workers,).
    prior
        Proportion of each grade among pairs, fixed or estimated; shape (grades,).
    objective
        Objective after each step (GLAD: and at the start): the log-likelihood, plus the log density
        of priors if there are any (variational MACE: a lower bound). Empty for majority and wawa.
    has_converged
        Whether the iterations converged before their maximum number.
    tie, seed
        Policy for ties, and seed of the random numbers.
    has_gold
        Whether a pair has a gold grade; shape (pairs,).
    evidence, get_label_evidence
        Votes (majority, wawa) or log evidence (other methods) for each grade by pair, shape (pairs,
        grades), and a function that returns them by label, shape (labels, grades).
    settings
        Options of the method.
    parameters
        Other estimates of the method, by name.
    notes
        Sentences about the aggregation, such as the number of gold grades.
    """

    name: ClassVar[str] = "judgments"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the pair.", key=True),
        "doc": Column("Document of the pair.", key=True),
        "grade": Column("Aggregated grade; null if a tie was dropped."),
        "*": Column("Probability of the grade in parentheses, from 0 to 1."),
        "tied": Column("Whether several grades share the highest probability."),
    }

    labels: Labels
    method: str
    posterior: Floats
    quality: Floats
    prior: Floats
    objective: Floats
    has_converged: bool
    tie: str
    seed: int
    has_gold: Bools
    evidence: Floats
    get_label_evidence: Callable[[], Floats]
    settings: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("tie", self.tie, TIES)
        check_integer("seed", self.seed, 0)

    @property
    def n_iterations(self) -> int:
        """Number of values of `objective`: steps of the optimisation, and the start for GLAD."""
        return self.objective.size

    @property
    def log_likelihood(self) -> float:
        """Final log-likelihood, without priors of parameters; NaN for `majority` and `wawa`.

        For variational MACE it uses geometric means of the parameters before they are scaled.
        """
        if not self.objective.size:
            return float("nan")
        maxima = self.evidence.max(axis=1)
        return float((maxima + np.log(np.exp(self.evidence - maxima[:, None]).sum(axis=1))).sum())

    @cached_property
    def is_tied(self) -> Bools:
        """Mask of pairs for which several grades have the highest probability; shape (pairs,)."""
        return np.asarray(_mask_most_likely(self.posterior).sum(axis=1) > 1)

    @cached_property
    def level(self) -> Ints:
        """Grade of each pair as an index into `labels.grades`; -1 means no judgment."""
        is_best = _mask_most_likely(self.posterior)
        top = is_best.shape[1] - 1 - is_best[:, ::-1].argmax(axis=1)
        level = np.asarray(top if self.tie == "high" else is_best.argmax(axis=1), dtype=np.int64)
        rows = np.flatnonzero(self.is_tied)
        if self.tie == "drop":
            level[rows] = -1
        elif self.tie == "median":
            is_median = np.cumsum(self.posterior[rows], axis=1) >= 0.5 - _TOLERANCE
            level[rows] = is_median.argmax(axis=1)
        elif self.tie == "random" and rows.size:
            # Each topic has its own random stream, and its documents are in order of their ids.
            codes = self.labels.topic_of[rows]
            order = self.labels.docs.gather(rows).arg_sort().to_numpy()
            for code in np.unique(codes):
                topic_rows = rows[order[codes[order] == code]]
                stream = make_named_stream(self.seed, self.labels.topics[code])
                is_tied = is_best[topic_rows]
                choice = stream.random(topic_rows.size) * is_tied.sum(axis=1)
                choice = np.floor(choice).astype(np.int64)
                level[topic_rows] = (np.cumsum(is_tied, axis=1) > choice[:, None]).argmax(axis=1)
        return level

    @cached_property
    def qrels(self) -> Qrels:
        """Judgments with the most likely grade of each pair; ties are resolved by `tie`.

        Raises
        ------
        CranfieldError
            If all pairs tie and are dropped.
        """
        return self._make_qrels(self.level >= 0, self.labels.grades[self.level])

    @property
    def probabilities(self) -> Probabilities:
        """Probabilities of the grades, for :func:`cranfield.evaluate_probabilities`."""
        labels, values = self.labels, self.posterior.clip(0.0, 1.0)
        pairs = labels.topics, labels.topic_of.astype(np.int64), labels.docs
        return Probabilities(*pairs, labels.grades.astype(np.int64), values, self._origin)

    def compute_expected_grades(self) -> Floats:
        """Return the expected grade of each pair; shape (pairs,)."""
        return np.asarray(self.posterior @ self.labels.grades)

    def make_expected_qrels(self, rounding: str) -> Qrels:
        """Return judgments with the expected grades, rounded to integers.

        Parameters
        ----------
        rounding
            `half-up`, `half-down`, `half-even`, `down` or `up`. Expected grades within 1e-9 of an
            integer or half-integer count as this number.
        """
        check_choice("rounding", rounding, ROUNDINGS)
        grade = self.compute_expected_grades()
        halves = np.rint(2 * grade) / 2
        grade = np.where(np.abs(grade - halves) < _TOLERANCE, halves, grade)
        return self._make_qrels(np.ones(grade.size, dtype=bool), ROUNDINGS[rounding](grade))

    def _make_qrels(self, is_selected: Bools, grades: Any) -> Qrels:
        if not is_selected.any():
            raise CranfieldError(
                "expected a grade of a pair, got dropped ties only; use tie='low' for the lowest"
            )
        codes = self.labels.topic_of[is_selected].astype(np.int32)
        docs = self.labels.docs.filter(pl.Series(is_selected))
        selected_grades = np.asarray(grades)[is_selected].astype(np.int32)
        return Qrels(self.labels.topics, codes, docs, selected_grades, origin=self._origin)

    @property
    def _origin(self) -> Origin:
        return Origin(f"{self.method} of {self.labels.origin.name}")

    @cached_property
    def confusion(self) -> Floats:
        r"""Confusion matrix of each worker; shape (workers, grades, grades).

        .. math:: \pi^w_{kl} = \frac{\sum_i T_{ik} n^w_{il}}{\sum_l \sum_i T_{ik} n^w_{il}}

        the proportion of label l among the worker's labels of pairs of grade k, with T the
        `posterior` and :math:`n^w_{il}` the number of labels l of pair i. NaN if there are no such
        labels. For Dawid-Skene without smoothing, this is the estimate of the model.

        Source: Dawid and Skene (1979), equation 2.3.
        """
        counts = LabelCounts(self.labels).compute_expected_counts(self.posterior).transpose(0, 2, 1)
        return compute_proportions(counts, counts.sum(axis=2, keepdims=True))

    def summarise_workers(self) -> pl.DataFrame:
        """Return a data frame with a row per worker: number of labels, quality and agreement.

        `agreement` is the proportion of a worker's labels that equal the aggregated grade, over
        pairs with an aggregated grade. `without` excludes the worker's own labels from the
        aggregation of each pair, over pairs with labels of other workers; if m grades then tie, a
        label equal to one of them counts 1/m. The weights and confusion matrices of workers are
        still those estimated from all labels.
        """
        labels, n_workers = self.labels, len(self.labels.workers)
        is_decided = self.level[labels.pair] >= 0
        is_equal = labels.level == self.level[labels.pair]
        cells, cell = np.unique(labels.cell, return_inverse=True)
        own_evidence = np.zeros((cells.size, labels.grades.size))
        np.add.at(own_evidence, cell, self.get_label_evidence())
        n_labels = np.bincount(labels.pair, minlength=len(labels.docs))[labels.pair]
        has_others = n_labels > np.bincount(cell)[cell]
        is_best = _mask_most_likely(self.evidence[labels.pair] - own_evidence[cell])
        agreement_without = is_best[np.arange(len(labels)), labels.level] / is_best.sum(axis=1)

        def average_labels(values: Any, mask: Bools) -> Floats:
            workers = labels.worker[mask]
            sums = np.bincount(workers, weights=values[mask], minlength=n_workers)
            return compute_proportions(sums, np.bincount(workers, minlength=n_workers))

        columns = {
            "worker": pl.Series(labels.workers, dtype=pl.String),
            "labels": np.bincount(labels.worker, minlength=n_workers),
            "quality": self.quality,
            "agreement": average_labels(is_equal, is_decided),
            "without": average_labels(agreement_without, has_others),
        }
        return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))

    def heading(self) -> list[str]:
        steps = ""
        if self.n_iterations:
            outcome = "" if self.has_converged else ", not converged"
            n_steps = self.n_iterations - (self.method == "glad")  # GLAD has a value at the start
            value = f"objective {self.objective[-1]:.4f}"
            steps = f", {value} after {inflect(n_steps, 'step')}{outcome}"
        pairs, ties = inflect(len(self.labels.docs), "pair"), inflect(self.is_tied.sum(), "tie")
        return [f"{self.method} of {pairs}{steps}, {ties} ({self.tie})"]

    def _frame(self) -> pl.DataFrame:
        grades = self.labels.grades
        aggregated = pl.Series(grades[self.level]).set(pl.Series(self.level < 0), None)
        probabilities = {f"p({grade})": self.posterior[:, k] for k, grade in enumerate(grades)}
        return self.labels.pairs.with_columns(
            grade=aggregated, **probabilities, tied=pl.Series(self.is_tied)
        )


class LabelCounts:
    """Sparse counts of labels by worker and grade, and by pair."""

    def __init__(self, labels: Labels) -> None:
        from scipy.sparse import csr_array

        self.shape = (len(labels.workers), labels.grades.size)
        self.rows = labels.worker * self.shape[1] + labels.level
        shape = (self.shape[0] * self.shape[1], len(labels.docs))
        entries = np.ones(len(labels)), (self.rows, labels.pair)
        self._worker_counts = csr_array(entries, shape=shape)
        self._pair_counts = self._worker_counts.T.tocsr()

    def compute_expected_counts(self, posterior: Floats) -> Floats:
        """Compute the expected counts of labels; shape (workers, label grades, true grades)."""
        return np.asarray(self._worker_counts @ posterior).reshape(*self.shape, -1)

    def sum_evidence(self, table: Floats) -> Floats:
        """Sum a table (workers, label grades, true grades) by pair; shape (pairs, true grades)."""
        return np.asarray(self._pair_counts @ table.reshape(-1, table.shape[2]))

    def get_label_evidence(self, table: Floats) -> Floats:
        """Return the row of a table (workers, label grades, true grades) for each label."""
        return np.asarray(table.reshape(-1, table.shape[2])[self.rows])


def encode_one_hot(labels: Labels, values: Any) -> Floats:
    """Return the value of each label in the column of its grade; shape (labels, grades)."""
    table = np.zeros((len(labels), labels.grades.size))
    table[np.arange(len(labels)), labels.level] = values
    return table


def _mask_most_likely(values: Floats) -> Bools:
    return np.asarray(values >= values.max(axis=1, keepdims=True) - _TOLERANCE)


def compute_proportions(count: Any, total: Any, default: float = np.nan) -> Floats:
    """Divide counts by totals; the proportion of a total of 0 is the default."""
    return np.asarray(np.divide(count, total, out=np.full(count.shape, default), where=total > 0))


def align_weights(labels: Labels, weights: Any) -> Any:
    """Return weights in the order of the workers of the labels, if the weights name workers."""
    if hasattr(weights, "index") and hasattr(weights, "to_dict"):
        # The default index of a series, numbers from 0, does not name workers.
        is_unnamed = getattr(weights.index, "start", 1) == 0
        has_worker_names = {*map(str, weights.index)} == {*labels.workers}
        weights = weights if is_unnamed and not has_worker_names else weights.to_dict()
    if not isinstance(weights, Mapping):
        return weights
    weight_of = {str(worker): weight for worker, weight in weights.items()}
    if mismatched_names := [*({*weight_of} ^ {*labels.workers})]:
        names = list_some(map(quote, sorted(mismatched_names)), 3)
        raise PolicyError(
            f"weights must name the workers of the labels, got other or missing names: {names}"
        )
    return [weight_of[worker] for worker in labels.workers]


def _check_weights(labels: Labels, weights: Any) -> Floats:
    """Check weights of workers, 1 by default; shape (workers,)."""
    n_workers = len(labels.workers)
    weights = align_weights(labels, weights)
    weight = np.ones(n_workers) if weights is None else as_numbers(weights, "weights")
    if weight.shape != (n_workers,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        expected = f"{inflect(n_workers, 'finite number')} >= 0, one per worker"
        invalid = weight[~(np.isfinite(weight) & (weight >= 0))]
        value = f"{invalid[0]:g}" if invalid.size else f"an array of shape {weight.shape}"
        raise PolicyError(f"weights must be {expected}, got {value}")
    return weight


@crowd_model
def majority(
    labels: Labels,
    *,
    weights: Any = None,
    tie: Annotated[str, OneOf((*TIES,))] = "low",
    seed: int = 0,
) -> Consensus:
    """Aggregate labels by majority vote: the most frequent grade of each pair.

    Parameters
    ----------
    labels
        Labels, as returned by :func:`read_labels`.
    weights
        Weight of the labels of each worker, 0 or more; shape (workers,), or a mapping or pandas
        series by worker. By default 1.
    tie
        How to resolve ties: `low` or `high` takes the lowest or highest tied grade, `random` a
        random one, `median` the lowest grade with a cumulative proportion of at least one half, and
        `drop` returns no judgment. If all labels of a pair have weight 0, all grades tie.
    seed
        Seed for `tie="random"`.

    Returns
    -------
    Consensus
        With proportions of labels as probabilities, and weights as the quality of workers.

    Examples
    --------
    >>> from cranfield.assess import majority, read_labels
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> majority(labels, tie="high")
    Consensus(majority of 2 pairs, 1 tie (high))
    >>> majority(labels, tie="high").qrels.grades.tolist()
    [1, 0]
    """
    weight = _check_weights(labels, weights)
    return _count_weighted_votes(labels, weight, "majority", tie, seed, {"weights": weights})


@crowd_model
def wawa(labels: Labels, *, tie: str = "low", seed: int = 0) -> Consensus:
    """Aggregate labels by a majority vote weighted by the agreement of workers with the majority.

    Worker Agreement With Aggregate (Wawa). The weight of a worker, which is also its quality, is
    the proportion of its labels that agree with the unweighted majority vote, whose ties are
    resolved in the same way; if all its pairs are dropped as ties, it is the mean weight.

    Examples
    --------
    >>> from cranfield.assess import read_labels, wawa
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> wawa(labels).quality.tolist()
    [0.5, 1.0]
    """
    agreement = majority(labels, tie=tie, seed=seed).summarise_workers()["agreement"]
    weights = agreement.fill_null(strategy="mean").fill_null(1.0)
    return _count_weighted_votes(labels, weights.to_numpy(), "wawa", tie, seed, {})


def _count_weighted_votes(
    labels: Labels, weight: Floats, method: str, tie: str, seed: int, settings: dict[str, Any]
) -> Consensus:
    shape = (len(labels.docs), labels.grades.size)
    check_size({"label": len(labels), "grade": shape[1]})
    label_weight = weight[labels.worker]
    votes = np.zeros(shape)
    np.add.at(votes, (labels.pair, labels.level), label_weight)
    posterior = compute_proportions(votes, votes.sum(axis=1, keepdims=True), 1 / shape[1])
    return Consensus(
        labels=labels,
        method=method,
        posterior=posterior,
        quality=weight,
        prior=posterior.mean(axis=0),
        objective=np.empty(0),
        has_converged=True,
        tie=tie,
        seed=seed,
        has_gold=np.zeros(shape[0], dtype=bool),
        evidence=votes,
        get_label_evidence=lambda: encode_one_hot(labels, label_weight),
        settings=settings,
    )


_LEAD_ROUNDING = 1e-12  # Allowance for rounding errors of the lead, per label


@dataclass(frozen=True)
class LeadRule:
    r"""Rule that stops labelling a pair once the lead of its most frequent grade is large enough.

    .. math:: V_1 - V_2 \ge C \sqrt{n} - \varepsilon n

    where \(V_1\) and \(V_2\) are the votes for the two most frequent grades among n labels. With
    weights w of labels, V are sums of weights, \(\sqrt n\) becomes \(\sqrt{\sum w^2}\), and n
    becomes \(\sum w\). The rule has no state, and can be applied after any number of labels.

    Parameters
    ----------
    c
        C, above 0; a larger C requires more labels.
    epsilon
        Reduction of the required lead by each label, 0 or more.

    Notes
    -----
    Source: Abraham, Alonso, Kandylas, Patel, Shelford and Slivkins (2016), How many workers to
    ask?, where the sum of votes crosses a boundary of order \(\sqrt n\).

    Examples
    --------
    >>> rule = LeadRule(c=1.5)
    >>> rule.stops([[2, 0], [3, 0], [3, 1]]).tolist()
    [False, True, False]
    """

    c: float = 1.5
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        check_number("c", self.c, above=0)
        check_number("epsilon", self.epsilon, 0)

    def stops(self, votes: Any, squares: Any = None) -> Bools:
        """Return whether the rule stops, for each pair; shape (...).

        Parameters
        ----------
        votes
            Sum of the weights of the labels of each grade; shape (..., grades).
        squares
            Sum of the squared weights of all labels of the pair; shape (...). By default all labels
            have weight 1.
        """
        votes = as_numbers(votes, "votes")
        if not votes.ndim or not votes.shape[-1]:
            expected = "votes must have a row for each pair, with a column for each grade"
            raise PolicyError(f"{expected}, got shape {votes.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            total = votes.sum(axis=-1)
        squares = total if squares is None else as_numbers(squares, "squares")
        if not (np.isfinite(total).all() and np.isfinite(squares).all()):
            raise PolicyError("sums of votes and of squares must be finite, got infinity or NaN")
        if squares.shape not in {(), total.shape}:
            expected = f"squares must have a value for each pair, shape {total.shape}"
            raise PolicyError(f"{expected}, got {squares.shape}")
        if (squares < 0).any():
            raise PolicyError(f"sums of squares must be >= 0, got {squares.min():g}")
        zero = np.zeros((*votes.shape[:-1], 1))
        sorted_votes = np.sort(np.concatenate([zero, votes], axis=-1), axis=-1)
        lead = sorted_votes[..., -1] - sorted_votes[..., -2]
        # The bound allows for rounding of the sums; a pair without labels never stops.
        bound = self.c * np.sqrt(squares) - self.epsilon * total - _LEAD_ROUNDING * total
        return np.asarray((lead >= bound) & (total > 0))

    def replay(self, labels: Labels, weights: Any = None) -> StoppedLabels:
        """Apply the rule after each label of each pair, in the order of labelling.

        Parameters
        ----------
        labels
            Labels, as returned by :func:`read_labels`. The labels of a pair are applied by their
            `order`, or else in the order of reading.
        weights
            Weight of the labels of each worker, such as its quality; as for :func:`majority`.
        """
        weight = _check_weights(labels, weights)
        check_size({"label": len(labels), "grade": labels.grades.size})
        sequence = np.arange(len(labels)) if labels.order is None else labels.order
        rows = np.lexsort((sequence, labels.pair))
        pair = labels.pair[rows]
        starts = np.searchsorted(pair, np.arange(len(labels.docs)))

        def accumulate_values(values: Floats) -> Floats:
            sums = np.cumsum(values, axis=0)
            sums_before = np.concatenate([np.zeros((1, *values.shape[1:])), sums])[starts]
            return np.asarray(sums - sums_before[pair])

        votes = encode_one_hot(labels, weight[labels.worker])[rows]
        is_stopped = self.stops(accumulate_values(votes), accumulate_values(votes.sum(axis=1) ** 2))
        ends = np.full(starts.size, rows.size)
        np.minimum.at(ends, pair[is_stopped], np.flatnonzero(is_stopped))
        is_used = np.zeros(rows.size, dtype=bool)
        is_used[rows[np.arange(rows.size) <= ends[pair]]] = True
        return StoppedLabels(self, labels, is_used, ends < rows.size)


@dataclass(frozen=True, eq=False, repr=False)
class StoppedLabels(Result):
    """Labels used until a rule stopped; returned by :meth:`LeadRule.replay`.

    Attributes
    ----------
    rule
        Rule that was applied.
    all_labels
        All labels, used or not.
    is_used
        Whether a label was used; in decided pairs the rule stopped at the last used label; shape
        (labels,).
    is_decided
        Whether the rule stopped; shape (pairs,).
    """

    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the pair.", key=True),
        "doc": Column("Document of the pair.", key=True),
        "labels": Column("Number of labels of the pair."),
        "used": Column("Number of labels used until the rule stopped, or all labels."),
        "decided": Column("Whether the rule stopped."),
    }

    rule: LeadRule
    all_labels: Labels
    is_used: Bools
    is_decided: Bools

    @property
    def labels(self) -> Labels:
        """Labels that were used."""
        return self.all_labels.restrict(self.is_used)

    @property
    def n_used_by_pair(self) -> Ints:
        """Number of labels used; shape (pairs,)."""
        return np.bincount(self.all_labels.pair[self.is_used], minlength=self.is_decided.size)

    def heading(self) -> list[str]:
        n_undecided = int((~self.is_decided).sum())
        return [
            f"{int(self.is_used.sum()):,} of {inflect(len(self.all_labels), 'label')} used,"
            f" {inflect(n_undecided, 'pair')} undecided"
        ]

    def _frame(self) -> pl.DataFrame:
        n_labels = np.bincount(self.all_labels.pair, minlength=self.is_decided.size)
        return self.all_labels.pairs.with_columns(
            labels=pl.Series(n_labels),
            used=pl.Series(self.n_used_by_pair),
            decided=pl.Series(self.is_decided),
        )
