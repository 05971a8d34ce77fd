"""AWARE: weighted means of the scores of runs computed from each assessor's judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assess.agreement.coefficients import (
    build_tables,
    compute_cohen_kappa,
    compute_observed_agreement,
)
from cranfield.assess.judges.reading import find_judged_topics, set_highest_grade
from cranfield.assess.labels.consensus import align_weights, compute_proportions, majority
from cranfield.assess.labels.reading import match_gold
from cranfield.assess.labels.table import Labels, check_size
from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, PolicyError, as_numbers, check_choice, quote
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.streams import make_named_stream
from cranfield.collection.judged.judging import judge
from cranfield.collection.qrels import Qrels
from cranfield.correlation import tau_ap
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.scores import Scores

SUPERVISED_WEIGHTS = ("accuracy", "kappa")
UNSUPERVISED_WEIGHTS = ("rmse", "tau_ap")
SCOPES = ("all", "topic")

WEIGHTS = ("uniform", *SUPERVISED_WEIGHTS, *UNSUPERVISED_WEIGHTS)

RANDOM_PROBABILITIES = (0.05, 0.5, 0.95)  # P(relevant) of the three kinds of random assessors


def compute_gold_agreement(labels: Labels, gold: Any, weights: str) -> Floats:
    """Compute each assessor's agreement with gold judgments; 0 if negative or undefined."""
    level, _ = match_gold(gold, labels)
    truth = level[labels.pair]
    rows = np.flatnonzero(truth >= 0)
    n_grades = labels.grades.size
    joint = np.zeros((len(labels.workers), n_grades, n_grades))
    np.add.at(joint, (labels.worker[rows], labels.level[rows], truth[rows]), 1)
    tables = build_tables(joint, np.arange(n_grades, dtype=np.float64))
    coefficient = compute_observed_agreement if weights == "accuracy" else compute_cohen_kappa
    agreement = np.maximum(np.nan_to_num(coefficient(tables)), 0)
    if not agreement.any():
        raise CranfieldError(
            f"expected an assessor whose {weights} against the gold judgments is above 0, got none"
        )
    return agreement


def draw_random_grades(
    labels: Labels, probability: float, kind: int, draws: int, seed: int
) -> NDArray[np.int32]:
    """Draw grades of all pairs; all relevant grades are equally likely; shape (draws, pairs)."""
    relevant_grades = labels.grades[labels.grades > 0]
    if not relevant_grades.size:
        raise CranfieldError("random assessors require a scale with a grade above 0, got none")
    grades = np.zeros((draws, len(labels.docs)), dtype=np.int32)
    order = labels.docs.arg_sort().to_numpy()
    order = order[np.argsort(labels.topic_of[order], kind="stable")]
    ends = np.cumsum(np.bincount(labels.topic_of, minlength=len(labels.topics)))
    for topic, rows in zip(labels.topics, np.split(order, ends[:-1]), strict=True):
        is_relevant = make_named_stream(seed, topic, kind).random((draws, rows.size)) < probability
        choice = make_named_stream(seed, topic, kind, 1).integers(
            relevant_grades.size, size=is_relevant.shape
        )
        grades[:, rows] = np.where(is_relevant, relevant_grades[choice], 0)
    return grades


def compute_random_distances(
    values: Floats, is_assessed: Bools, random_values: Floats, weights: str, by: str
) -> Floats:
    """Compute distances from the nearest kind of random assessor; shape (assessors, topics)."""
    distances = np.zeros(is_assessed.shape)
    for k, mask in enumerate(is_assessed):
        topics = np.flatnonzero(mask)
        if topics.size:
            distance = _compute_distances(
                values[k, topics], np.nan_to_num(random_values[:, :, topics]), weights, by
            )
            # An undefined correlation counts as 0, a distance of 1.
            distances[k, topics] = np.nan_to_num(distance, nan=1.0).mean(axis=1).min(axis=0)
    if not distances.any():
        raise CranfieldError(
            f"weights {quote(weights)} require an assessor who differs from random ones, got none"
        )
    return distances


def _compute_distances(own_scores: Floats, random_values: Floats, weights: str, by: str) -> Floats:
    """Compute distances from scores of random assessors; shape (kinds, draws, topics or 1)."""
    if weights == "tau_ap":
        if by == "all":
            own_scores = own_scores.mean(axis=-2, keepdims=True)
            random_values = random_values.mean(axis=-2, keepdims=True)
        flat_values = random_values.reshape(-1, *random_values.shape[2:])
        taus = [tau_ap(flat_values[:, t], own_scores[t]) for t in range(own_scores.shape[0])]
        return (1 - np.stack(taus, axis=1)).reshape(*random_values.shape[:2], -1)
    squared_errors = (random_values - own_scores) ** 2
    axes = 3 if by == "topic" else (2, 3)
    mean = squared_errors.mean(axis=axes, keepdims=True)
    return np.asarray(np.sqrt(mean).reshape(*random_values.shape[:2], -1))


def aware(
    runs: Any,
    labels: Labels,
    measure: str | Measure,
    *,
    weights: Any = "uniform",
    gold: Any = None,
    by: Annotated[str, OneOf(SCOPES)] = "all",
    squares_distances: bool = False,
    draws: Annotated[int, Integer(1, 1000)] = 10,
    seed: Annotated[int, Integer(0)] = 0,
    **options: Any,
) -> Scores:
    r"""Score runs by each assessor's own judgments, and combine these scores.

    .. math:: s(t, r) = \sum_k a_{kt}\, M(t, r; \text{judgments of } k), \qquad
        \sum_k a_{kt} = 1

    with M the score of run r on topic t, and :math:`a_{kt}` the weight of assessor k on it. Scores
    are combined, not grades: only for a measure that is linear in gains, such as DCG, uniform
    weights give the measure of mean gains. An assessor without labels in a topic is excluded there,
    and the other weights are scaled to sum to 1; `settings` reports the number of these cases.

    Parameters
    ----------
    runs, options
        As for :func:`cranfield.judge`.
    labels
        Labels, as returned by :func:`read_labels`, at most one of each assessor for a pair.
    measure
        One measure; its highest grade is the highest grade of the labels' scale.
    weights
        `uniform`. With gold judgments: `accuracy`, or `kappa` (Cohen's; negative values count as
        0). Without gold judgments: the distance of an assessor's scores from those of random
        assessors, as `rmse`, the root mean square difference, or `tau_ap`, 1 minus tau AP
        of the two rankings of systems. Or numbers, 0 or more, of shape (assessors,) or (assessors,
        topics), in the order of `labels.workers` and of the topics of the scores; or a mapping or
        pandas series by assessor.
    gold
        Known grades of some of the pairs, for `accuracy` and `kappa`.
    by
        Whether `rmse` and `tau_ap` are computed over `all` topics jointly or for each `topic`.
    squares_distances
        Whether distances are squared.
    draws
        Number of random assessors of each kind. The three kinds judge a document relevant with
        probability .05, .5 and .95, and draw its grade uniformly from the relevant grades. An
        assessor's distance is the minimum over kinds of the mean over draws.
    seed
        Seed of the random assessors; the draws for a topic do not depend on other topics.

    Returns
    -------
    Scores
        Scores of the measure `AWARE(...)`; `settings["aware"]` has the mean weight of each assessor
        and the numbers of topics without labels, summed over assessors, and of topics without a
        score. Scores are NaN for topics where all weights are 0.

    Raises
    ------
    PolicyError, CranfieldError
        For several measures, unknown or invalid weights, repeated labels, missing or unused gold
        judgments, and `aspects`; if no grade of the scale is relevant.

    Notes
    -----
    Source: Ferrante, Ferro and Maistro (2017), AWARE: exploiting evaluation measures to combine
    multiple assessors. The weights `rmse` and `tau_ap` follow its idea of a distance from random
    assessors, but their definitions and values were not compared with the article.

    Random assessors differ from each other, so the weight of an assessor who judges at random is
    above 0; `squares_distances` lowers it. With few relevant documents the order of systems is
    mostly noise, and by `tau_ap` random assessors are as distant from each other as unrelated
    orders: an assessor who judges at random may get the highest weight. Prefer `rmse`, or gold
    judgments.

    Examples
    --------
    >>> from cranfield.assess import aware, read_labels
    >>> labels = read_labels({"ann": {"q": {"a": 1, "b": 0}}, "bob": {"q": {"a": 0, "b": 1}}})
    >>> aware({"q": {"a": 2, "b": 1}}, labels, "RR").values.tolist()
    [[0.75]]
    """
    check_arguments(aware, locals(), judge)
    measures = parse_measures(measure, compat=options.get("compat"))
    if len(measures) != 1:
        raise PolicyError(f"AWARE expects one measure, got {len(measures)}")
    is_named = isinstance(weights, str)
    if is_named:
        check_choice("weights", weights, WEIGHTS)
        if (gold is not None) != (weights in SUPERVISED_WEIGHTS):
            reason = "require gold judgments" if gold is None else "do not use gold judgments"
            raise PolicyError(f"weights {quote(weights)} {reason}")
    elif gold is not None:
        raise PolicyError("numeric weights cannot be combined with gold judgments")
    draws = draws if is_named and weights in UNSUPERVISED_WEIGHTS else 0
    scores, values, random_values = _score_runs(runs, labels, measures[0], draws, seed, options)
    is_assessed: Bools = np.asarray(np.isfinite(values).all(axis=2))
    if not is_named:
        weight = as_numbers(align_weights(labels, weights), "weights")
        is_valid_shape = weight.shape in {is_assessed.shape, is_assessed.shape[:1]}
        if not is_valid_shape or not (np.isfinite(weight).all() and (weight >= 0).all()):
            invalid = weight[~(np.isfinite(weight) & (weight >= 0))]
            value = f"{invalid[0]:g}" if invalid.size else f"shape {weight.shape}"
            raise PolicyError(
                f"weights must be finite numbers >= 0 of shape {is_assessed.shape[:1]} (one per"
                f" assessor) or {is_assessed.shape} (assessors, topics), got {value}"
            )
    elif weights == "uniform":
        weight = np.ones(is_assessed.shape)
    elif weights in SUPERVISED_WEIGHTS:
        weight = compute_gold_agreement(labels, gold, weights)
    else:
        weight = compute_random_distances(values, is_assessed, random_values, weights, by)
        weight = weight**2 if squares_distances else weight
    weight = np.where(is_assessed, weight[:, None] if weight.ndim == 1 else weight, 0.0)
    total_weight = weight.sum(axis=0)
    weight = compute_proportions(weight, total_weight, 0.0)
    means = np.einsum("kt,kts->ts", weight, np.where(is_assessed[:, :, None], values, 0.0))
    means[total_weight <= 0] = np.nan
    # Means over the topics with labels of the assessor; NaN without such topics.
    mean_weight = compute_proportions(weight.sum(axis=1), is_assessed.sum(axis=1)).tolist()
    summary = {
        "weights": weights if is_named else "numeric",
        "seed": seed,
        "mean weight": dict(zip(labels.workers, mean_weight, strict=True)),
        "assessors without labels in a topic": int((~is_assessed).sum()),
        "topics without a score": int((total_weight <= 0).sum()),
    }
    name, settings = f"AWARE({scores.measure})", {**scores.settings, "aware": summary}
    return replace(scores, values=means, measure=name, settings=settings)


def _score_runs(
    runs: Any, labels: Labels, measure: Measure, draws: int, seed: int, options: dict[str, Any]
) -> tuple[Scores, Floats, Floats]:
    """Return scores by the first assessor, and values by all assessors and random assessors."""
    if labels.n_repeats:
        raise PolicyError(
            f"expected one label per assessor and pair, got {labels.n_repeats:,} repeated;"
            " use repeats='last' in read_labels to keep the last label"
        )
    if options.pop("aspects", None):
        raise PolicyError("aspects cannot be combined with AWARE, where each assessor is an aspect")
    judgments: dict[str, Qrels] = {}
    for worker in np.unique(labels.worker).tolist():
        rows = labels.worker == worker
        pair, docs = labels.pair[rows], labels.docs.gather(labels.pair[rows])
        codes, grades = labels.topic_of[pair], labels.grade[rows]
        judgments[f"{worker}"] = Qrels(labels.topics, codes, docs, grades)
    assessors = list(judgments)
    n_kinds = len(RANDOM_PROBABILITIES) if draws else 0
    for kind, probability in enumerate(RANDOM_PROBABILITIES[:n_kinds]):
        for draw, grades in enumerate(draw_random_grades(labels, probability, kind, draws, seed)):
            qrels = Qrels(labels.topics, labels.topic_of, labels.docs, grades)
            judgments[f"{kind} {draw}"] = qrels
    judged = judge(runs, majority(labels).qrels, **options, aspects=judgments)
    n_workers, (n_topics, n_systems) = len(labels.workers), judged.shape
    check_size({"assessor": n_workers + n_kinds * draws, "topic": n_topics, "system": n_systems})
    max_grade = max(0, int(labels.grades.max()))
    scores = {
        name: score(set_highest_grade(aspect, max_grade), [measure])[measure]
        for name, aspect in judged.side_data.aspects.items()
    }
    values = np.full((n_workers, n_topics, n_systems), np.nan)
    for name in assessors:
        own_topics = find_judged_topics(judgments[name])
        is_labelled = [topic in own_topics for topic in judged.topics]
        values[int(name), is_labelled] = scores[name].values[is_labelled]
    random_values = [[scores[f"{k} {d}"].values for d in range(draws)] for k in range(n_kinds)]
    return next(iter(scores.values())), values, np.array(random_values)
