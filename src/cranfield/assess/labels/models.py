"""Probabilistic models of workers: Dawid-Skene, one-coin, GLAD and MACE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from cranfield.assess.labels import crowd_model
from cranfield.assess.labels.consensus import (
    Consensus,
    LabelCounts,
    compute_proportions,
    encode_one_hot,
)
from cranfield.assess.labels.reading import match_gold
from cranfield.assess.labels.table import Labels, check_size
from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    PolicyError,
    as_array,
    check_choice,
    check_integer,
    check_number,
    has_numbers,
    quote,
)
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect

MIN_PROBABILITY = 1e-300  # Smallest probability in a logarithm
PRIORS = ("estimated", "uniform")  # Names of priors of the grades
UNMET_TOTALS = {"impossible": 0.0, "even": 1.0}  # Sum of label probabilities, given an unseen grade
INFERENCES = ("variational", "em")  # Inference methods of MACE
_MAX_SMOOTHING = 1e100
_MIN_SPREAD = 1e-100  # Bounds that avoid overflow and underflow
MAX_LOG_EASE = 30.0  # Largest absolute logarithm of ease; beyond it no probability changes
OBJECTIVE_TOLERANCE = 0.01  # Maximum difference of objectives of random starts with equal optima
COPYING_ALPHA, SPAM_ALPHA = 0.5, 10.0  # Beta and Dirichlet prior (Hovy et al., section 2.2)


ExpectationStep = tuple[Floats, Floats, float]  # Posterior, log evidence and objective


class Crowd:
    """Input of the models: labels, gold grades, prior of grades, and limits of the iterations."""

    def __init__(
        self,
        labels: Labels,
        gold: Any,
        prior: Any,
        tolerance: float,
        iterations: int,
        tie: str,
        seed: int,
    ) -> None:
        check_integer("iterations", iterations, 1)
        check_number("tolerance", tolerance, 0)
        self.tolerance, self.iterations = tolerance, iterations
        self.tie, self.seed = tie, seed
        n_grades = labels.grades.size
        check_size({"worker": len(labels.workers), "grade": n_grades, "true grade": n_grades})
        check_size({"label": len(labels), "grade": n_grades})
        self.labels = labels
        self.counts = LabelCounts(labels)
        self.gold, self.notes = match_gold(gold, labels)
        gold_pairs = np.flatnonzero(self.gold >= 0)
        self.gold_cells = gold_pairs, self.gold[gold_pairs]
        self.fixed_prior = _parse_prior(prior, n_grades)

    def run_em(
        self,
        state: Any,
        expect: Callable[[Any], ExpectationStep],
        maximise: Callable[[Floats, Any], Any],
    ) -> tuple[Any, dict[str, Any]]:
        """Run expectation-maximisation; return the parameters and the fields of the consensus."""
        objective, has_converged = list[float](), False
        while True:
            posterior, evidence, value = expect(state)
            objective.append(value)
            if len(objective) > 1:
                # A smaller rise may be a rounding error.
                min_rise = max(self.tolerance, 8 * np.finfo(float).eps * abs(value))
                has_converged = value - objective[-2] < min_rise
            if has_converged or len(objective) >= self.iterations:
                fit = {"posterior": posterior, "evidence": evidence, "has_converged": has_converged}
                return state, {**fit, "objective": np.array(objective)}
            state = maximise(posterior, state)

    def compute_initial_posterior(self) -> Floats:
        """Compute the proportions of labels by pair; gold grades have probability 1."""
        votes = np.asarray(self.labels.counts.toarray(), dtype=np.float64)
        posterior: Floats = votes / votes.sum(axis=1, keepdims=True)
        posterior[self.gold_cells[0]] = 0
        posterior[self.gold_cells] = 1
        return posterior

    def estimate_prior(self, posterior: Floats) -> Floats:
        return np.asarray(posterior.mean(axis=0) if self.fixed_prior is None else self.fixed_prior)

    def expect(self, table: Floats, prior: Floats) -> ExpectationStep:
        """Return posterior, log evidence and log-likelihood, given the probabilities of labels."""
        return self.compute_posterior(self.counts.sum_evidence(take_log(table)) + take_log(prior))

    def compute_posterior(self, evidence: Floats) -> ExpectationStep:
        gold_evidence = evidence[self.gold_cells]
        evidence[self.gold_cells[0]] = -np.inf
        evidence[self.gold_cells] = gold_evidence
        maxima = evidence.max(axis=1, keepdims=True)
        odds = np.exp(evidence - maxima)
        totals = odds.sum(axis=1, keepdims=True)
        return odds / totals, evidence, float((maxima + np.log(totals)).sum())

    def make_consensus(self, **values: Any) -> Consensus:
        values |= {"has_gold": self.gold >= 0, "notes": self.notes}
        return Consensus(labels=self.labels, tie=self.tie, seed=self.seed, **values)


def take_log(probabilities: Floats) -> Floats:
    return np.log(np.maximum(probabilities, MIN_PROBABILITY))


def _parse_prior(prior: Any, n_grades: int) -> Floats | None:
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise PolicyError(
                f"unknown prior {quote(prior)}; expected a list, or one of: {', '.join(PRIORS)}"
            )
        return None if prior == "estimated" else np.full(n_grades, 1 / n_grades)
    reason = f"prior must be {inflect(n_grades, 'number')} >= 0 that sum to 1, got {quote(prior)}"
    values = as_array(prior, reason)
    is_valid = values.shape == (n_grades,) and has_numbers(values)
    probabilities = values.astype(np.float64) if is_valid else np.zeros(1)
    if not ((probabilities >= 0).all() and abs(probabilities.sum() - 1) < 1e-6):
        raise PolicyError(reason)
    return np.asarray(probabilities / probabilities.sum())


@crowd_model
def dawid_skene(
    labels: Labels,
    *,
    gold: Any = None,
    smoothing: float = 0.0,
    prior: Any = "estimated",
    unmet: str = "impossible",
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Consensus:
    r"""Estimate the grades and each worker's confusion matrix jointly.

    .. math:: p_k = \frac{1}{I}\sum_i T_{ik}, \qquad
        \pi^w_{kl} = \frac{s + \sum_i T_{ik} n^w_{il}}{\sum_l (s + \sum_i T_{ik} n^w_{il})}, \qquad
        T_{ik} \propto p_k \prod_w \prod_l (\pi^w_{kl})^{n^w_{il}}

    with \(T_{ik}\) the probability of grade k for pair i of I, \(n^w_{il}\) the number of labels l
    of worker w for it, \(\pi^w_{kl}\) the worker's probability of label l for grade k, and p the
    (estimated) prior. T starts as proportions of labels. The objective, which never decreases, is
    the log-likelihood \(\sum_i \log \sum_k p_k \prod_w \prod_l (\pi^w_{kl})^{n^w_{il}}\), plus
    \(s \sum \log \pi\) with smoothing s.

    Parameters
    ----------
    labels
        From :func:`read_labels`; each repeated label counts.
    gold
        Known grades of some pairs: any input of `read_qrels`; for items without topics also
        `{item: grade}`, or a file with an item and its grade on each line. T is fixed for these
        pairs.
    smoothing
        Number s, 0 or more, that is added to each count of labels.
    prior
        `estimated`, `uniform`, or fixed probabilities of the grades.
    unmet
        How to set the label probabilities of a worker for a true grade that none of its pairs has,
        where the formula is 0/0. With `impossible` they are 0, so that these pairs never get that
        grade. With `even` all labels have the same probability, so that these pairs can still get
        that grade, and the likelihood can become higher.
    tie, seed
        As for :func:`majority`.
    tolerance, iterations
        Stop when the objective rises by less than `tolerance`, or after `iterations` steps.

    Returns
    -------
    Consensus
        A worker's quality is the probability that its label is the grade,
        \(\sum_k p_k \pi^w_{kk}\).

    Notes
    -----
    The result is a local maximum. The likelihood is invariant under a permutation of the grades: if
    most workers are wrong, the result is wrong too. Gold grades make this less likely.

    Source: Dawid and Skene (1979), equations 2.3 to 2.5 and 3.1.

    Examples
    --------
    >>> from cranfield.assess import dawid_skene, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> dawid_skene(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_number("smoothing", smoothing, 0, _MAX_SMOOTHING)
    check_choice("unmet", unmet, UNMET_TOTALS)
    crowd = Crowd(labels, gold, prior, tolerance, iterations, tie, seed)

    # The state: label probabilities, shape (workers, label grades, true grades), and the prior.
    def maximise(posterior: Floats, _: Any = None) -> tuple[Floats, Floats]:
        counts = crowd.counts.compute_expected_counts(posterior) + smoothing
        default = UNMET_TOTALS[unmet] / labels.grades.size
        table = compute_proportions(counts, counts.sum(axis=1, keepdims=True), default)
        return table, crowd.estimate_prior(posterior)

    def expect(state: tuple[Floats, Floats]) -> ExpectationStep:
        table, grade_prior = state
        # Labels with probability 0 stay impossible: their logarithm is minus infinity here.
        logs = np.where(table > 0, take_log(table), -np.inf)
        evidence = crowd.counts.sum_evidence(logs) + take_log(grade_prior)
        posterior, evidence, value = crowd.compute_posterior(evidence)
        return posterior, evidence, value + (smoothing and smoothing * float(logs.sum()))

    start = maximise(crowd.compute_initial_posterior())
    (table, grade_prior), fit = crowd.run_em(start, expect, maximise)
    fit["evidence"] = crowd.expect(table, grade_prior)[1]
    return crowd.make_consensus(
        **fit,
        method="dawid-skene",
        prior=grade_prior,
        quality=np.einsum("wkk,k->w", table, grade_prior),
        get_label_evidence=lambda: crowd.counts.get_label_evidence(take_log(table)),
        settings={"smoothing": smoothing, "prior": prior, "unmet": unmet, "tolerance": tolerance},
    )


@crowd_model
def one_coin(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = "estimated",
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Consensus:
    r"""Estimate the grades and one accuracy per worker jointly.

    .. math:: P(l \mid k) = a_w \text{ if } l = k, \text{ else } \frac{1 - a_w}{K - 1}, \qquad
        a_w = \frac{1}{n_w}\sum_i \sum_k T_{ik} n^w_{ik}

    with \(a_w\) the accuracy of worker w, who gave \(n_w\) labels, and K the number of
    grades. For T, n and the parameters see :func:`dawid_skene`. With one number per worker, this
    model suits workers with few labels.

    Returns
    -------
    Consensus
        A worker's quality is its accuracy.

    Examples
    --------
    >>> from cranfield.assess import one_coin, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> one_coin(read_labels(rows)).quality.round(4).tolist()
    [1.0, 1.0, 0.3333]
    """
    crowd = Crowd(labels, gold, prior, tolerance, iterations, tie, seed)
    n_grades = labels.grades.size
    n_labels = np.bincount(labels.worker, minlength=len(labels.workers))

    # The state: the accuracy of each worker, and the prior.
    def maximise(posterior: Floats, _: Any = None) -> tuple[Floats, Floats]:
        counts = crowd.counts.compute_expected_counts(posterior)
        n_correct = np.diagonal(counts, axis1=1, axis2=2).sum(axis=1)
        accuracy = compute_proportions(n_correct, n_labels, 1 / n_grades)
        return accuracy, crowd.estimate_prior(posterior)

    def make_table(accuracy: Floats) -> Floats:
        p_correct = accuracy[:, None, None]
        p_wrong = np.clip((1 - p_correct) / max(1, n_grades - 1), 0, None)
        return np.where(np.eye(n_grades, dtype=bool), p_correct, p_wrong)

    def expect(state: tuple[Floats, Floats]) -> ExpectationStep:
        return crowd.expect(make_table(state[0]), state[1])

    start = maximise(crowd.compute_initial_posterior())
    (accuracy, grade_prior), fit = crowd.run_em(start, expect, maximise)
    return crowd.make_consensus(
        **fit,
        method="one-coin",
        prior=grade_prior,
        quality=accuracy,
        get_label_evidence=lambda: crowd.counts.get_label_evidence(take_log(make_table(accuracy))),
        settings={"prior": prior, "tolerance": tolerance},
    )


@crowd_model
def glad(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = "uniform",
    spread: float = 1.0,
    tie: str = "low",
    seed: int = 0,
    iterations: int = 2000,
) -> Consensus:
    r"""Estimate the grades, the ability of workers and the ease of pairs jointly.

    .. math:: P(l = k) = \sigma(\alpha_w e^{b_i}), \qquad
        P(l \ne k) = \frac{1 - \sigma(\alpha_w e^{b_i})}{K - 1}

    for label l and true grade k (of K) of pair i, with \(\alpha_w\) the ability of worker w,
    \(e^{b_i}\) the ease of the pair, \(\sigma\) the logistic function, and normal priors of mean 1
    on \(\alpha\) and b. The objective is the log-likelihood plus the log density of the priors,
    without constants. It is maximised by L-BFGS, which starts at the means of the priors, has the
    same stationary points as expectation-maximisation, and takes fewer steps.

    Parameters
    ----------
    labels, gold
        As for :func:`dawid_skene`.
    prior
        `uniform`, or the probabilities of the grades.
    spread
        Standard deviation of the normal priors.
    tie, seed
        As for :func:`dawid_skene`.
    iterations
        Maximum number of steps of L-BFGS, which stops when the absolute value of each partial
        derivative is at most 1e-5.

    Returns
    -------
    Consensus
        A worker's quality is its probability of labelling a pair of ease 1 correctly,
        \(\sigma(\alpha_w)\); `parameters` has `ability`, \(\alpha\), and `ease`, \(e^b\).

    Notes
    -----
    Source: Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009).

    Examples
    --------
    >>> from cranfield.assess import glad, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> glad(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    check_number("spread", spread, _MIN_SPREAD)
    if isinstance(prior, str) and prior == "estimated":
        reason = "prior of GLAD must be 'uniform' or probabilities of the grades, got 'estimated'"
        raise PolicyError(reason)
    crowd = Crowd(labels, gold, prior, 0.0, iterations, tie, seed)
    grade_prior = np.asarray(crowd.fixed_prior)
    n_workers, shape = len(labels.workers), (len(labels.docs), labels.grades.size)
    log_prior, log_others = take_log(grade_prior), np.log(max(1, shape[1] - 1))
    cell = labels.pair * np.int64(shape[1]) + labels.level

    def compute_logits(point: Floats) -> tuple[Floats, Floats]:
        ease = np.exp(np.clip(point[n_workers:], -MAX_LOG_EASE, MAX_LOG_EASE))
        return ease, point[labels.worker] * ease[labels.pair]

    def sum_by(index: Ints, values: Floats, size: int) -> Floats:
        return np.asarray(np.bincount(index, weights=values, minlength=size), np.float64)

    def expect(point: Floats) -> ExpectationStep:
        _, logits = compute_logits(point)
        wrong_evidence = sum_by(labels.pair, log_expit(-logits) - log_others, shape[0])
        right_evidence = sum_by(cell, logits + log_others, shape[0] * shape[1]).reshape(shape)
        posterior, evidence, value = crowd.compute_posterior(
            right_evidence + wrong_evidence[:, None] + log_prior
        )
        return posterior, evidence, value - ((point - 1) ** 2).sum() / (2 * spread**2)

    def compute_negative_objective(point: Floats) -> tuple[float, Floats]:
        ease, logits = compute_logits(point)
        posterior, _, value = expect(point)
        residuals = (posterior.ravel()[cell] - expit(logits)) * ease[labels.pair]
        ease_gradient = sum_by(labels.pair, residuals * point[labels.worker], shape[0])
        ease_gradient[np.abs(point[n_workers:]) > MAX_LOG_EASE] = 0
        ability_gradient = sum_by(labels.worker, residuals, n_workers)
        return -value, (point - 1) / spread**2 - np.concatenate([ability_gradient, ease_gradient])

    start = np.ones(n_workers + shape[0])
    objective = [expect(start)[2]]
    result = minimize(
        compute_negative_objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: objective.append(-intermediate_result.fun),
        options={"maxiter": iterations, "maxfun": 4 * iterations, "ftol": 0.0, "gtol": 1e-5},
    )
    posterior, evidence, _ = expect(result.x)
    (ease, logits), ability = compute_logits(result.x), result.x[:n_workers].copy()
    return crowd.make_consensus(
        posterior=posterior,
        evidence=evidence,
        objective=np.array(objective),
        has_converged=result.success,
        method="glad",
        prior=grade_prior,
        quality=expit(ability),
        get_label_evidence=lambda: encode_one_hot(labels, logits + log_others),
        settings={"prior": prior, "spread": spread},
        parameters={"ability": ability, "ease": ease},
    )


@crowd_model
def mace(
    labels: Labels,
    *,
    inference: Annotated[str, OneOf(INFERENCES)] = "variational",
    restarts: Annotated[int, Integer(1, 10_000)] = 10,
    gold: Any = None,
    prior: Any = "uniform",
    tie: str = "low",
    seed: Annotated[int, Integer(0)] = 0,
    tolerance: float = 1e-6,
    iterations: int = 1000,
) -> Consensus:
    r"""Estimate the grades, and how often each worker gives the true grade instead of spam.

    .. math:: P(l \mid k) = \theta_w [l = k] + (1 - \theta_w)\, \xi_{wl}

    Worker w copies the true grade with probability \(\theta_w\), or else gives a label l with
    probability \(\xi_{wl}\), whatever the pair. The result is the random start with the highest
    objective: the log-likelihood (`em`), or its lower bound with the priors
    \(\theta_w \sim \mathrm{Beta}(.5, .5)\) and \(\xi_w \sim \mathrm{Dirichlet}(10)\)
    (`variational`). No step decreases the objective.

    Parameters
    ----------
    labels, gold, prior, tie, tolerance, iterations
        As for :func:`dawid_skene`.
    inference
        `variational` or `em`.
    restarts
        Number of random starts; each has its own random stream. A note reports how many end more
        than 0.01 below the best objective.
    seed
        Seed of the starts, and of random ties.

    Returns
    -------
    Consensus
        A worker's quality is its probability of copying, \(\theta_w\); `parameters` has it as
        `copying`, \(\xi\), of shape (workers, grades), as `spam`, and the objectives of the starts
        as `restarts`. With `variational`, \(\theta\) and \(\xi\) are geometric means, scaled
        to sum to 1.

    Notes
    -----
    Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013).

    Examples
    --------
    >>> from cranfield.assess import mace, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> mace(read_labels(rows), seed=1).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_arguments(mace, locals())
    crowd = Crowd(labels, gold, prior, tolerance, iterations, tie, seed)
    n_workers, n_grades = len(labels.workers), labels.grades.size
    label_counts = np.zeros((n_workers, n_grades))
    np.add.at(label_counts, (labels.worker, labels.level), 1.0)
    fit_weights = (
        _compute_variational_weights if inference == "variational" else _compute_likelihood_weights
    )

    # The state: weights of copying and of spam, shape (workers, 2); weights of the grades in spam,
    # shape (workers, grades); contribution of their priors to the objective; prior of grades.
    def fit_state(n_copied: Floats, grade_prior: Floats) -> tuple[Floats, Floats, float, Floats]:
        n_spam = label_counts - n_copied
        n_by_strategy = np.stack([n_copied.sum(axis=1), n_spam.sum(axis=1)], axis=1)
        copying, copying_prior = fit_weights(n_by_strategy, COPYING_ALPHA)
        spam, spam_prior = fit_weights(n_spam, SPAM_ALPHA)
        return copying, spam, copying_prior + spam_prior, grade_prior

    def maximise(posterior: Floats, state: Any) -> Any:
        copying, spam = state[:2]
        n_correct = np.diagonal(crowd.counts.compute_expected_counts(posterior), axis1=1, axis2=2)
        copies, total = copying[:, :1], copying[:, :1] + copying[:, 1:] * spam
        copy_probability = np.divide(copies, total, where=copies > 0, out=0 * spam)
        n_copied = np.minimum(n_correct * copy_probability, label_counts)
        return fit_state(n_copied, crowd.estimate_prior(posterior))

    def make_table(state: Any) -> Floats:
        copying, spam = state[:2]
        spam_weights = (copying[:, 1:] * spam)[:, :, None]
        return np.asarray(spam_weights + np.eye(n_grades) * copying[:, :1, None])

    def expect(state: Any) -> ExpectationStep:
        posterior, evidence, value = crowd.expect(make_table(state), state[3])
        return posterior, evidence, value + state[2]

    grade_prior = crowd.estimate_prior(crowd.compute_initial_posterior())
    optima = []
    for restart in range(restarts):
        random_factors = make_stream(seed, restart).random((n_workers, n_grades))
        start = fit_state(label_counts * random_factors, grade_prior)
        optima.append(crowd.run_em(start, expect, maximise))
    objectives = np.array([fit["objective"][-1] for _, fit in optima])
    state, fit = optima[int(objectives.argmax())]
    if n_lower := int((objectives < objectives.max() - OBJECTIVE_TOLERANCE).sum()):
        crowd.notes += (
            f"{n_lower:,} of {inflect(restarts, 'random start')} ended below the best objective"
            f" ({objectives.min():.2f} to {objectives.max():.2f}); another seed may reach a better"
            " objective",
        )
    copying, spam = (weights / weights.sum(axis=1, keepdims=True) for weights in state[:2])
    return crowd.make_consensus(
        **fit,
        method="mace",
        prior=state[3],
        quality=copying[:, 0],
        get_label_evidence=lambda: crowd.counts.get_label_evidence(take_log(make_table(state))),
        settings={"inference": inference, "restarts": restarts, "prior": prior},
        parameters={"copying": copying[:, 0], "spam": spam, "restarts": objectives},
    )


def _compute_likelihood_weights(counts: Floats, _: float) -> tuple[Floats, float]:
    return compute_proportions(counts, counts.sum(axis=1, keepdims=True), 1 / counts.shape[1]), 0.0


def _compute_variational_weights(counts: Floats, alpha: float) -> tuple[Floats, float]:
    """Return geometric means of a Dirichlet posterior, and minus its divergence from the prior."""
    from scipy.special import digamma, gammaln

    n_values = counts.shape[1]
    posterior_alpha = counts + alpha
    totals = posterior_alpha.sum(axis=1)
    log_mean = digamma(posterior_alpha) - digamma(totals)[:, None]
    constant = gammaln(n_values * alpha) - n_values * gammaln(alpha)
    divergence = gammaln(totals) - gammaln(posterior_alpha).sum(axis=1) - constant
    divergence = divergence + ((posterior_alpha - alpha) * log_mean).sum(axis=1)
    return np.exp(log_mean), -float(divergence.sum())
