"""Naive versions of graded measures, in the manner of `tests/reference.py`.

Each takes the grade at each rank (None where it is not judged) and the grades of all judgments.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.reference import Gain, Ranking, condensed, ratio, top


def up_to(grade: int, threshold: Callable[[int], float]) -> float:
    return sum(threshold(j) for j in range(1, grade + 1))


def gap(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    threshold: Callable[[int], float] = lambda j: 1.0,
    denominator: str = "min",
) -> float:
    """Robertson and others (2010): the sum over pairs of ranks m <= n of delta(m, n) / n."""
    total = 0.0
    kept = top(ranking, k)
    for n in range(1, len(kept) + 1):
        for m in range(1, n + 1):
            pair = min(kept[m - 1] or 0, kept[n - 1] or 0)
            total += up_to(pair, threshold) / n
    best = sorted((grade for grade in judged if grade > 0), reverse=True)
    if denominator == "min":
        best = best[:k]
    return ratio(total, sum(up_to(grade, threshold) for grade in best))


def kishida(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    gain: Gain = float,
    denominator: str = "min",
) -> float:
    def total(gains: list[float]) -> float:
        return sum(sum(gains[:i]) / i for i in range(1, len(gains) + 1) if gains[i - 1] > 0)

    worth = [gain(grade) if grade is not None and grade > 0 else 0.0 for grade in top(ranking, k)]
    best = sorted((gain(grade) for grade in judged if grade > 0), reverse=True)
    return ratio(total(worth), total(best[:k] if denominator == "min" else best))


def wrr(
    ranking: Ranking,
    judged: list[int],
    *,
    beta: Callable[[int], float],
    rel: int = 1,
    k: int | None = None,
) -> float:
    """Eguchi and others (2003): the largest value over the relevant documents."""
    values = [
        1 / (rank - 1 / beta(grade))
        for rank, grade in enumerate(top(ranking, k), 1)
        if grade is not None and grade >= rel
    ]
    return max(values, default=0.0)


def irbu(
    ranking: Ranking,
    judged: list[int],
    *,
    chance: Callable[[int], float],
    p: float = 0.99,
    k: int | None = None,
) -> float:
    total, going_on = 0.0, 1.0
    for rank, grade in enumerate(top(ranking, k), 1):
        stop = chance(grade) if grade is not None and grade > 0 else 0.0
        total += p**rank * going_on * stop
        going_on *= 1 - stop
    return total


def rpref(
    ranking: Ranking,
    judged: list[int],
    *,
    form: str = "relative2",
    gain: Gain = float,
    most: float = 0.0,
    k: int | None = None,
) -> float:
    """NTCIREVAL 190111, function eval_compute: rpref_N, rpref_relative and rpref_relative2."""
    kept = [grade for grade in top(ranking, k) if grade is not None]
    gains = [gain(grade) if grade > 0 else 0.0 for grade in kept]
    ideal = [gain(grade) if grade > 0 else 0.0 for grade in judged]
    total = 0.0
    for i, own in enumerate(gains, 1):
        if own > 0:
            penalty = sum((own - above) / own for above in gains[: i - 1] if own > above)
            if form == "N":
                share = 1 - ratio(penalty, len(judged) - sum(ideal) / most)
            elif form == "relative":
                share = 1 - penalty / (i - 1) if i > 1 else 0.0
            else:
                share = 1 - penalty / i
            total += own * share
    return ratio(total, sum(ideal))


def bpref_relative(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    """NTCIREVAL 190111, function eval_compute: bpref_relative."""
    total, seen = 0.0, 0
    for i, grade in enumerate(condensed(ranking), 1):
        if grade is not None and grade >= rel:
            seen += 1
            total += 1 - (i - seen) / (i - 1) if i > 1 else 0.0
    return ratio(total, sum(grade >= rel for grade in judged))
