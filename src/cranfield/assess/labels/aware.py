"""AWARE: a run's score as a weighted mean of its scores by each assessor's judgments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assess.agreement.coefficients import cohen_kappa
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

RANDOM_CHANCES = (0.05, 0.5, 0.95)
"""How often random assessors find a document relevant."""


def of_gold(labels: Labels, gold: Any, kind: str) -> Floats:
    """Return how well each assessor agrees with gold judgments; shape (assessors,).

    An assessor without a label of a gold pair, or with an undefined kappa, counts 0.
    """
    level, _ = gold_levels(gold, labels)
    truth = level[labels.pair]
    rows = np.flatnonzero(truth >= 0)
    size = len(labels.workers)
    number = np.bincount(labels.worker[rows], minlength=size)
    if kind == "accuracy":
        right = np.bincount(
            labels.worker[rows], weights=labels.level[rows] == truth[rows], minlength=size
        )
        found = np.divide(right, number, out=np.zeros(size), where=number > 0)
    else:
        q = labels.grades.size
        cells = (labels.worker[rows] * q + labels.level[rows]) * q + truth[rows]
        joint = np.bincount(cells, minlength=size * q * q).reshape(size, q, q)
        tables = of_joint(joint.astype(np.float64), np.arange(q, dtype=np.float64))
        found = np.maximum(np.nan_to_num(cohen_kappa(tables)), 0)
    if not found.any():
        raise CranfieldError(f"no assessor has a {kind} above 0 against the gold judgments")
    return found


def random_grades(
    labels: Labels, chance: float, kind: int, draws: int, seed: int
) -> Iterator[NDArray[np.int32]]:
    """Draw grades for all pairs: relevant with a chance, any of the relevant grades alike."""
    relevant = labels.grades[labels.grades > 0]
    if not relevant.size:
        raise CranfieldError("no label is relevant: random assessors have no grade to give")
    grades = np.zeros((draws, len(labels.docs)), dtype=np.int32)
    place = labels.docs.arg_sort().to_numpy()
    place = place[np.argsort(labels.topic_of[place], kind="stable")]
    starts = np.searchsorted(labels.topic_of[place], np.arange(len(labels.topics) + 1))
    for code, topic in enumerate(labels.topics):
        rows = place[starts[code] : starts[code + 1]]
        random = stream_of(seed, topic, kind)
        hit = random.random((draws, rows.size)) < chance
        which = stream_of(seed, topic, kind, 1).integers(relevant.size, size=hit.shape)
        grades[:, rows] = np.where(hit, relevant[which], 0)
    yield from grades


def of_distances(
    values: Floats, part: Bools, random: Floats, kind: str, by: str
) -> NDArray[np.float64]:
    """Return how far each assessor is from the nearest kind of random ones; (assessors, topics)."""
    made = np.zeros(part.shape)
    for k, some in enumerate(part):
        topics = np.flatnonzero(some)
        if topics.size:
            apart = _apart(values[k, topics], random[:, :, topics], kind, by)
            # An order that cannot be told is as far as one that has nothing to do with it.
            made[k, topics] = np.nan_to_num(apart, nan=1.0).mean(axis=1).min(axis=0)
    if not made.any():
        raise CranfieldError(f"no assessor differs from random ones by {quoted(kind)}")
    return made


def _apart(own: Floats, random: Floats, kind: str, by: str) -> Floats:
    """Distances of scores (topics, systems) from random ones; (kinds, draws, topics or 1)."""
    random = np.nan_to_num(random)
    if kind == "tau_ap":
        own, random = (own, random) if by == "topic" else (_mean(own), _mean(random))
        flat = random.reshape(-1, *random.shape[2:])
        taus = [tau_ap(flat[:, t], own[t]) for t in range(own.shape[0])]
        return (1 - np.stack(taus, axis=1)).reshape(*random.shape[:2], -1)
    square = (random - own) ** 2
    mean = square.mean(axis=3) if by == "topic" else square.mean(axis=(2, 3))[:, :, None]
    return np.asarray(np.sqrt(mean))


def _mean(scores: Floats) -> Floats:
    return np.asarray(scores.mean(axis=-2, keepdims=True))


WEIGHTS = ("uniform", *SUPERVISED, *UNSUPERVISED)


@dataclass(frozen=True, eq=False)
class ByAssessor:
    """Scores of the same runs by the labels of each assessor, and of random ones.

    values: shape (assessors, topics, systems); part: (assessors, topics), whether an assessor has
    labels and scores there; random: (chances, draws, topics, systems).
    """

    labels: Labels
    scores: Scores
    values: Floats
    part: Bools
    random: Floats


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
    weights give the measure of mean gains, for others, such as AP, they do not. An assessor
    without a label of a topic has no part in it, and the weights of the others are scaled to sum to
    1 again; how often is in the `settings`.

    Parameters
    ----------
    runs, options
        As for :func:`cranfield.judge`.
    labels
        From :func:`read_labels`, at most one of each assessor for a pair.
    measure
        One measure. What depends on the highest grade takes that of the scale of the labels.
    weights
        `uniform`. By the gold judgments: `accuracy`, or `kappa` (Cohen's; negative ones are 0).
        Without gold, the distance of an assessor's scores from those of assessors who judge at
        random: `rmse`, the root mean square difference, or `tau_ap`, 1 minus the AP correlation of
        the systems. Or numbers from 0: shape (assessors,) or (assessors, topics), in the order of
        the topics of the scores.
    gold
        Known grades of some of the pairs, for `accuracy` and `kappa`.
    by
        Whether weights without gold are of `all` topics together or of each `topic`.
    squared
        Whether distances are squared.
    draws
        How many random assessors of each kind: those who find a document relevant with chance .05,
        .5 and .95, the grade being any of the relevant ones. An assessor's distance is the mean
        over draws, and the least over the three kinds.
    seed
        Of the random assessors. A topic's draws do not depend on which other topics there are.

    Returns
    -------
    Scores
        Called `AWARE(...)`; `settings["aware"]` has the weights by assessor and what was counted.
        A topic where all weights are 0 has no score: NaN.

    Raises
    ------
    PolicyError
        For several measures, unknown weights, repeated labels, or gold where it is not used.

    Notes
    -----
    Source: Ferrante, Ferro and Maistro (2017), AWARE: exploiting evaluation measures to combine
    multiple assessors. The weights without gold follow its idea, distance from random assessors;
    neither the definition nor numbers were compared with the article. The Frobenius norm of the
    differences is the root mean square times a constant, which cancels where weights are scaled to
    sum to 1, and is not offered for that reason.

    Random assessors differ from each other, so that an assessor who judges at random is at some
    distance from them, and keeps a weight above 0; `squared` lowers it. With few relevant documents
    the order of systems is mostly chance, and any two random assessors are as far apart by `tau_ap`
    as unrelated orders: such an assessor may get the highest weight. Prefer `rmse`, or gold
    judgments.

    Examples
    --------
    >>> from cranfield.assess import aware, read_labels
    >>> labels = read_labels({"ann": {"q": {"a": 1, "b": 0}}, "bob": {"q": {"a": 0, "b": 1}}})
    >>> aware({"q": {"a": 2, "b": 1}}, labels, "RR").values.tolist()
    [[0.75]]
    """
    wanted = parse_measures(measure, compat=options.get("compat"))
    if len(wanted) != 1:
        raise PolicyError("AWARE is of one measure")
    check_choice("by", by, BY)
    check_whole("draws", draws, 1, 1000)
    check_whole("seed", seed, 0)
    named = isinstance(weights, str)
    if named:
        check_choice("weights", weights, WEIGHTS)
        if (gold is not None) != (weights in SUPERVISED):
            needs = "need gold judgments" if gold is None else "take no gold judgments"
            raise PolicyError(f"weights {quoted(weights)} {needs}")
    elif gold is not None:
        raise PolicyError("weights that are given take no gold judgments")
    random = draws if named and weights in UNSUPERVISED else 0
    scored = by_assessor(runs, labels, wanted[0], draws=random, seed=seed, **options)
    if not named:
        table = _given(weights, scored.part.shape)
    elif weights == "uniform":
        table = np.ones(scored.part.shape)
    elif weights in SUPERVISED:
        table = np.repeat(of_gold(labels, gold, weights)[:, None], scored.part.shape[1], axis=1)
    else:
        table = of_distances(scored.values, scored.part, scored.random, weights, by)
        table = table**2 if squared else table
    return _combined(scored, table, weights if named else "given", seed)


def by_assessor(
    runs: Any, labels: Labels, measure: Measure, *, draws: int = 0, seed: int = 0, **options: Any
) -> ByAssessor:
    """Judge the runs once, by all assessors and by random ones, and score them."""
    if labels.repeats:
        raise PolicyError(
            f"{counted(labels.repeats, 'label')} repeat one of the same assessor and pair"
            " (repeats='last' keeps the last)"
        )
    if options.pop("aspects", None):
        raise PolicyError("aspects are not for AWARE: each assessor is one here")
    everyone = [f"{k}" for k in range(len(labels.workers))]
    own = ((name, _of_worker(labels, k)) for k, name in enumerate(everyone))
    judgments: dict[str, Qrels] = {name: one for name, one in own if one is not None}
    for kind, chance in enumerate(RANDOM_CHANCES[: 3 * bool(draws)]):
        for draw, grades in enumerate(random_grades(labels, chance, kind, draws, seed)):
            judgments[f"{kind} {draw}"] = _qrels(labels, grades)
    judged = judge(runs, majority(labels).qrels, **options, aspects=judgments)
    topics, systems = judged.shape
    assessors = len(everyone) + 3 * draws
    refuse_large({"assessor": assessors, "topic": topics, "system": systems})
    highest = max(0, int(labels.grades.max()))
    scored = {
        name: score(with_highest_grade(aspect, highest), [measure])[measure]
        for name, aspect in judged.annotations.aspects.items()
    }
    place = {topic: k for k, topic in enumerate(judged.topics)}
    values = np.full((len(everyone), topics, systems), np.nan)
    for k, name in enumerate(everyone):
        if name in judgments:
            told = np.unique(judgments[name].codes)
            rows = [place[labels.topics[code]] for code in told if labels.topics[code] in place]
            values[k, rows] = scored[name].values[rows]
    part = np.isfinite(values).all(axis=2)
    random = np.array(
        [[scored[f"{kind} {draw}"].values for draw in range(draws)] for kind in range(3)]
        if draws
        else []
    )
    any_scores = next(iter(scored.values()))
    return ByAssessor(labels, any_scores, values, part, random)


def _of_worker(labels: Labels, worker: int) -> Qrels | None:
    rows = np.flatnonzero(labels.worker == worker)
    if not rows.size:
        return None
    pair = labels.pair[rows]
    grades = labels.grade[rows]
    return Qrels(labels.topics, labels.topic_of[pair], labels.docs.gather(pair), grades)


def _qrels(labels: Labels, grades: Any) -> Qrels:
    return Qrels(labels.topics, labels.topic_of, labels.docs, grades)


def _given(weights: Any, shape: tuple[int, int]) -> Floats:
    table = numbers(weights, "weights")
    fits = table.shape in {shape, shape[:1]}
    if not fits or not (np.isfinite(table).all() and (table >= 0).all()):
        raise PolicyError(
            f"weights are finite numbers from 0, {shape[0]} (one an assessor) or {shape[0]} by"
            f" {shape[1]} (topics), not of shape {table.shape}"
        )
    return np.broadcast_to(table[:, None] if table.ndim == 1 else table, shape)


def _combined(scored: ByAssessor, table: Floats, name: str, seed: int) -> Scores:
    kept = np.where(scored.part, table, 0.0)
    total = kept.sum(axis=0)
    share = np.divide(kept, total, out=np.zeros(kept.shape), where=total > 0)
    values = np.einsum("kt,kts->ts", share, np.where(scored.part[:, :, None], scored.values, 0.0))
    values[total <= 0] = np.nan
    workers = scored.labels.workers
    mean = _mean_weight(share, scored.part)
    about = {
        "weights": name,
        "seed": seed,
        "mean weight": {worker: float(mean[k]) for k, worker in enumerate(workers)},
        "assessors without a part in a topic": int((~scored.part).sum()),
        "topics without a score": int((total <= 0).sum()),
    }
    return replace(
        scored.scores,
        values=values,
        measure=f"AWARE({scored.scores.measure})",
        settings={**scored.scores.settings, "aware": about},
    )


def _mean_weight(share: Floats, part: Bools) -> Floats:
    """Mean weight of each assessor over the topics that it has a part in; NaN without one."""
    number = part.sum(axis=1)
    none = np.full(number.size, np.nan)
    return np.asarray(np.divide(share.sum(axis=1), number, out=none, where=number > 0))
