"""AWARE: a run's score as a weighted mean of its scores by each assessor's judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assess.agreement.coefficients import cohen_kappa, observed
from cranfield.assess.agreement.tables import of_joint
from cranfield.assess.judges.reading import with_highest_grade
from cranfield.assess.labels.consensus import majority
from cranfield.assess.labels.reading import gold_levels
from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_whole,
    numbers,
    quoted,
)
from cranfield.base.kinds import check_keywords
from cranfield.base.streams import stream_of
from cranfield.base.text import counted
from cranfield.collection.judged.judging import judge
from cranfield.collection.qrels import Qrels
from cranfield.correlation import tau_ap
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.scores import Scores

SUPERVISED = ("accuracy", "kappa")
UNSUPERVISED = ("rmse", "tau_ap")
BY = ("all", "topic")

WEIGHTS = ("uniform", *SUPERVISED, *UNSUPERVISED)

RANDOM_CHANCES = (0.05, 0.5, 0.95)
"""Probabilities with which random assessors find a document relevant."""


def of_gold(labels: Labels, gold: Any, kind: str) -> Floats:
    """Return the agreement of each assessor with gold judgments, 0 if undefined."""
    level, _ = gold_levels(gold, labels)
    truth = level[labels.pair]
    rows = np.flatnonzero(truth >= 0)
    size, q = len(labels.workers), labels.grades.size
    cells = (labels.worker[rows] * q + labels.level[rows]) * q + truth[rows]
    joint = np.bincount(cells, minlength=size * q * q).reshape(size, q, q).astype(np.float64)
    tables = of_joint(joint, np.arange(q, dtype=np.float64))
    law = observed if kind == "accuracy" else cohen_kappa
    agreement = np.maximum(np.nan_to_num(law(tables)), 0)
    if not agreement.any():
        raise CranfieldError(f"no assessor has a {kind} above 0 against the gold judgments")
    return agreement


def random_grades(
    labels: Labels, chance: float, kind: int, draws: int, seed: int
) -> NDArray[np.int32]:
    """Draw grades of all pairs, shape (draws, pairs): relevant by chance, all grades alike."""
    relevant = labels.grades[labels.grades > 0]
    if not relevant.size:
        raise CranfieldError("no label is relevant, so random assessors cannot be simulated")
    grades = np.zeros((draws, len(labels.docs)), dtype=np.int32)
    place = labels.docs.arg_sort().to_numpy()
    place = place[np.argsort(labels.topic_of[place], kind="stable")]
    ends = np.cumsum(np.bincount(labels.topic_of, minlength=len(labels.topics)))
    for topic, rows in zip(labels.topics, np.split(place, ends[:-1]), strict=True):
        hit = stream_of(seed, topic, kind).random((draws, rows.size)) < chance
        which = stream_of(seed, topic, kind, 1).integers(relevant.size, size=hit.shape)
        grades[:, rows] = np.where(hit, relevant[which], 0)
    return grades


def of_distances(values: Floats, part: Bools, random: Floats, kind: str, by: str) -> Floats:
    """Return the distance of each assessor from the nearest random ones; (assessors, topics)."""
    distances = np.zeros(part.shape)
    for k, is_assessed in enumerate(part):
        topics = np.flatnonzero(is_assessed)
        if topics.size:
            distance = _apart(values[k, topics], np.nan_to_num(random[:, :, topics]), kind, by)
            # An undefined order counts like an unrelated one.
            distances[k, topics] = np.nan_to_num(distance, nan=1.0).mean(axis=1).min(axis=0)
    if not distances.any():
        raise CranfieldError(f"no assessor differs from random ones by {quoted(kind)}")
    return distances


def _apart(own_scores: Floats, random: Floats, kind: str, by: str) -> Floats:
    """Distances of scores (topics, systems) from random ones; (kinds, draws, topics or 1)."""
    if kind == "tau_ap":
        if by == "all":
            own_scores, random = (
                scores.mean(axis=-2, keepdims=True) for scores in (own_scores, random)
            )
        flat = random.reshape(-1, *random.shape[2:])
        taus = [tau_ap(flat[:, t], own_scores[t]) for t in range(own_scores.shape[0])]
        return (1 - np.stack(taus, axis=1)).reshape(*random.shape[:2], -1)
    square = (random - own_scores) ** 2
    mean = square.mean(axis=3) if by == "topic" else square.mean(axis=(2, 3))[:, :, None]
    return np.asarray(np.sqrt(mean))


def aware(
    runs: Any,
    labels: Labels,
    measure: str | Measure,
    *,
    weights: Any = "uniform",
    gold: Any = None,
    by: str = "all",
    squared: bool = False,
    draws: int = 10,
    seed: int = 0,
    **options: Any,
) -> Scores:
    r"""Score runs by each assessor's own judgments, and combine these scores.

    .. math:: s(t, r) = \sum_k a_{kt}\, M(t, r; \text{judgments of } k), \qquad
        \sum_k a_{kt} = 1

    Scores are combined, not grades: for a measure that is linear in gains, such as DCG, uniform
    weights give the measure of mean gains, for others, such as AP, they do not. An assessor without
    a label of a topic has no part in it, and the weights of the others are scaled to sum to 1; the
    `settings` count these cases.

    Parameters
    ----------
    runs, options
        As for :func:`cranfield.judge`.
    labels
        From :func:`read_labels`, at most one of each assessor for a pair.
    measure
        One measure; the highest grade is that of the scale of the labels.
    weights
        `uniform`. By the gold judgments: `accuracy`, or `kappa` (Cohen's; negative ones are 0).
        Without gold, the distance of an assessor's scores from those of random assessors: `rmse`,
        the root mean square difference, or `tau_ap`, 1 minus the AP correlation of the systems. Or
        numbers from 0: shape (assessors,) or (assessors, topics), in the order of the topics of the
        scores.
    gold
        Known grades of some of the pairs, for `accuracy` and `kappa`.
    by
        Whether weights without gold are of `all` topics together or of each `topic`.
    squared
        Whether distances are squared.
    draws
        Number of random assessors of each kind: those who find a document relevant with probability
        .05, .5 and .95, with any of the relevant grades. An assessor's distance is the mean over
        draws, and the smallest of the three kinds.
    seed
        Seed of the random assessors. A topic's draws do not depend on other topics.

    Returns
    -------
    Scores
        Called `AWARE(...)`; `settings["aware"]` has the weights by assessor and counts of gaps.
        A topic where all weights are 0 has no score: NaN.

    Raises
    ------
    PolicyError
        For several measures, unknown weights, repeated labels, or unused gold judgments.

    Notes
    -----
    Source: Ferrante, Ferro and Maistro (2017), AWARE: exploiting evaluation measures to combine
    multiple assessors. The weights without gold follow its idea, distance from random assessors;
    neither the definition nor numbers were compared with the article. The Frobenius norm of the
    differences is not offered: it is the root mean square times a constant, which cancels when
    weights are scaled to sum to 1.

    Random assessors differ from each other, so an assessor who judges at random is at some distance
    from them, and keeps a weight above 0; `squared` lowers it. With few relevant documents the
    order of systems is mostly noise, and random assessors are as far apart by `tau_ap` as
    unrelated orders: such an assessor may get the highest weight. Prefer `rmse`, or gold judgments.

    Examples
    --------
    >>> from cranfield.assess import aware, read_labels
    >>> labels = read_labels({"ann": {"q": {"a": 1, "b": 0}}, "bob": {"q": {"a": 0, "b": 1}}})
    >>> aware({"q": {"a": 2, "b": 1}}, labels, "RR").values.tolist()
    [[0.75]]
    """
    check_keywords(aware, options, judge)
    measures = parse_measures(measure, compat=options.get("compat"))
    if len(measures) != 1:
        raise PolicyError(f"AWARE expects one measure, got {len(measures)}")
    check_choice("by", by, BY)
    check_whole("draws", draws, 1, 1000)
    check_whole("seed", seed, 0)
    named = isinstance(weights, str)
    if named:
        check_choice("weights", weights, WEIGHTS)
        if (gold is not None) != (weights in SUPERVISED):
            needs = "require gold judgments" if gold is None else "do not use gold judgments"
            raise PolicyError(f"weights {quoted(weights)} {needs}")
    elif gold is not None:
        raise PolicyError("numeric weights do not use gold judgments")
    draws = draws if named and weights in UNSUPERVISED else 0
    scores, values, random = _by_assessor(runs, labels, measures[0], draws, seed, options)
    part: Bools = np.asarray(np.isfinite(values).all(axis=2))
    if not named:
        table = numbers(weights, "weights")
        fits = table.shape in {part.shape, part.shape[:1]}
        if not fits or not (np.isfinite(table).all() and (table >= 0).all()):
            raise PolicyError(
                f"weights must be finite numbers >= 0 of shape {part.shape[:1]} (one per assessor)"
                f" or {part.shape} (assessors, topics), got shape {table.shape}"
            )
    elif weights == "uniform":
        table = np.ones(part.shape)
    elif weights in SUPERVISED:
        table = of_gold(labels, gold, weights)
    else:
        table = of_distances(values, part, random, weights, by)
        table = table**2 if squared else table
    table = np.where(part, table[:, None] if table.ndim == 1 else table, 0.0)
    total = table.sum(axis=0)
    share = np.divide(table, total, out=np.zeros(part.shape), where=total > 0)
    combined = np.einsum("kt,kts->ts", share, np.where(part[:, :, None], values, 0.0))
    combined[total <= 0] = np.nan
    topics = part.sum(axis=1)
    # Over the topics that an assessor has a part in; NaN without one.
    mean = np.divide(
        share.sum(axis=1), topics, out=np.full(topics.size, np.nan), where=topics > 0
    ).tolist()
    about = {
        "weights": weights if named else "given",
        "seed": seed,
        "mean weight": dict(zip(labels.workers, mean, strict=True)),
        "assessors without labels in a topic": int((~part).sum()),
        "topics without a score": int((total <= 0).sum()),
    }
    return replace(
        scores,
        values=combined,
        measure=f"AWARE({scores.measure})",
        settings={**scores.settings, "aware": about},
    )


def _by_assessor(
    runs: Any, labels: Labels, measure: Measure, draws: int, seed: int, options: dict[str, Any]
) -> tuple[Scores, Floats, Floats]:
    """Return scores by one assessor, values by all, and values by random assessors."""
    if labels.repeats:
        raise PolicyError(
            f"expected one label per assessor and pair, got {counted(labels.repeats, 'repeat')}"
            " (repeats='last' keeps the last)"
        )
    if options.pop("aspects", None):
        raise PolicyError("aspects cannot be combined with AWARE: each assessor is an aspect")
    judgments: dict[str, Qrels] = {}
    for k in range(len(labels.workers)):
        rows = np.flatnonzero(labels.worker == k)
        if rows.size:
            pair, grades = labels.pair[rows], labels.grade[rows]
            docs = labels.docs.gather(pair)
            judgments[f"{k}"] = Qrels(labels.topics, labels.topic_of[pair], docs, grades)
    kinds = RANDOM_CHANCES if draws else ()
    for kind, chance in enumerate(kinds):
        for draw, grades in enumerate(random_grades(labels, chance, kind, draws, seed)):
            qrels = Qrels(labels.topics, labels.topic_of, labels.docs, grades)
            judgments[f"{kind} {draw}"] = qrels
    judged = judge(runs, majority(labels).qrels, **options, aspects=judgments)
    topics, systems = judged.shape
    assessors = len(labels.workers) + len(kinds) * draws
    refuse_large({"assessor": assessors, "topic": topics, "system": systems})
    highest = max(0, int(labels.grades.max()))
    scored = {
        name: score(with_highest_grade(aspect, highest), [measure])[measure]
        for name, aspect in judged.annotations.aspects.items()
    }
    values = np.full((len(labels.workers), topics, systems), np.nan)
    for k in range(len(labels.workers)):
        if f"{k}" in judgments:
            own_topics = {labels.topics[code] for code in np.unique(judgments[f"{k}"].codes)}
            is_labelled = [topic in own_topics for topic in judged.topics]
            values[k, is_labelled] = scored[f"{k}"].values[is_labelled]
    random = np.array(
        [[scored[f"{kind} {draw}"].values for draw in range(draws)] for kind, _ in enumerate(kinds)]
    )
    return next(iter(scored.values())), values, random
