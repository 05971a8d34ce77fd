"""A naive reference implementation of the measures, to check the vectorised one against.

Nothing here is meant to be fast or general. Every measure is one function of plain loops that
reads like its definition, and it shares nothing with the library, so that the two can only agree
by both being right.

Every measure takes the same two lists:

* ``ranking``: the grade of the document at each rank, from rank 1; None when it is not judged;
* ``judged``: the grades of all the judgments of the topic, in any order, retrieved or not.

A document is relevant when its grade is at least ``rel``. A negative grade is a judged document
that is not relevant and has no gain. A value whose denominator is 0 is 0.0. A cutoff ``k`` of
None keeps the whole ranking; it is compulsory where the definition divides by ``k`` itself.
"""

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Literal

from scipy.special import zeta

Ranking = list[int | None]
Gain = Callable[[int], float]
Discount = Callable[[int], float]
Rounding = Literal["up", "trec_eval-9", "trec_eval-10"]
Ties = Literal["trec", "id-ascending", "trec_eval-9"]

INF_AP_EPSILON = 1e-5
ELEVEN_POINTS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


# --- Ranking, cutoffs, gains, discounts -----------------------------------------------------


def float32(score: float) -> float:
    """Return the score as a C ``float`` holds it."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        # A C cast overflows to infinity where struct refuses.
        return math.copysign(math.inf, score)


def rank_run(scores: dict[str, float], *, ties: Ties = "trec") -> list[str]:
    """Return the documents by descending score."""
    docs = list(scores)
    # Sorting is stable, also when reversed, so the ids go first and break the ties of the scores.
    docs.sort(key=lambda doc: doc.encode("utf-8"), reverse=ties != "id-ascending")
    if ties == "trec_eval-9":
        docs.sort(key=lambda doc: float32(scores[doc]), reverse=True)
    else:
        docs.sort(key=lambda doc: scores[doc], reverse=True)
    return docs


def condensed(ranking: Ranking) -> Ranking:
    kept: Ranking = []
    for grade in ranking:
        if grade is not None:
            kept.append(grade)
    return kept


def top(ranking: Ranking, k: int | None) -> Ranking:
    if k is None:
        return ranking
    return ranking[:k]


def ratio(numerator: float, denominator: float) -> float:
    if denominator == 0:
        return 0.0
    return numerator / denominator


def is_relevant(grade: int | None, rel: int) -> bool:
    return grade is not None and grade >= rel


def linear_gain(grade: int) -> float:
    return float(grade)


def gain_of(grade: int | None, gain: Gain) -> float:
    if grade is None or grade < 0:
        return 0.0
    return gain(grade)


def ideal_gains(judged: list[int], gain: Gain) -> list[float]:
    gains = []
    for grade in judged:
        if gain_of(grade, gain) > 0:
            gains.append(gain_of(grade, gain))
    return sorted(gains, reverse=True)


def log2_discount(rank: int) -> float:
    return math.log2(rank + 1)


def max_log_discount(base: float) -> Discount:
    def discount(rank: int) -> float:
        return max(1.0, math.log(rank) / math.log(base))

    return discount


def one_plus_log_discount(base: float) -> Discount:
    def discount(rank: int) -> float:
        return 1.0 + math.log(rank) / math.log(base)

    return discount


# --- Counts -----------------------------------------------------------------------------------


def num_ret(ranking: Ranking, judged: list[int]) -> int:
    return len(ranking)


def num_rel(ranking: Ranking, judged: list[int], *, rel: int = 1) -> int:
    count = 0
    for grade in judged:
        if grade >= rel:
            count += 1
    return count


def num_rel_ret(ranking: Ranking, judged: list[int], *, rel: int = 1) -> int:
    count = 0
    for grade in ranking:
        if is_relevant(grade, rel):
            count += 1
    return count


def num_nonrel_judged_ret(ranking: Ranking, judged: list[int], *, rel: int = 1) -> int:
    count = 0
    for grade in ranking:
        if grade is not None and 0 <= grade < rel:
            count += 1
    return count


def judged_at(ranking: Ranking, judged: list[int], *, k: int | None = None) -> float:
    return ratio(len(condensed(top(ranking, k))), len(top(ranking, k)))


def unjudged_at(ranking: Ranking, judged: list[int], *, k: int) -> float:
    unjudged = 0
    for grade in top(ranking, k):
        if grade is None:
            unjudged += 1
    return ratio(unjudged, k)


# --- Precision, recall and what is made of the two --------------------------------------------


def precision(ranking: Ranking, judged: list[int], *, k: int, rel: int = 1) -> float:
    return ratio(num_rel_ret(top(ranking, k), judged, rel=rel), k)


def recall(ranking: Ranking, judged: list[int], *, k: int | None = None, rel: int = 1) -> float:
    found = num_rel_ret(top(ranking, k), judged, rel=rel)
    return ratio(found, num_rel(ranking, judged, rel=rel))


def generalised_precision(
    ranking: Ranking, judged: list[int], *, k: int, max_grade: int, gain: Gain = linear_gain
) -> float:
    return ratio(sum(gain_of(grade, gain) for grade in top(ranking, k)), k * gain(max_grade))


def generalised_recall(
    ranking: Ranking, judged: list[int], *, k: int, gain: Gain = linear_gain
) -> float:
    total = sum(gain_of(grade, gain) for grade in top(ranking, k))
    return ratio(total, sum(gain_of(grade, gain) for grade in judged))


def rel_precision(ranking: Ranking, judged: list[int], *, k: int, rel: int = 1) -> float:
    found = num_rel_ret(top(ranking, k), judged, rel=rel)
    return ratio(found, min(k, num_rel(ranking, judged, rel=rel)))


def success(ranking: Ranking, judged: list[int], *, k: int | None = None, rel: int = 1) -> float:
    for grade in top(ranking, k):
        if is_relevant(grade, rel):
            return 1.0
    return 0.0


def rr(ranking: Ranking, judged: list[int], *, k: int | None = None, rel: int = 1) -> float:
    for rank, grade in enumerate(top(ranking, k), start=1):
        if is_relevant(grade, rel):
            return 1 / rank
    return 0.0


def first_rank(ranking: Ranking, judged: list[int], *, k: int, rel: int = 1) -> float:
    for rank, grade in enumerate(top(ranking, k), start=1):
        if is_relevant(grade, rel):
            return float(rank)
    return k + 1.0


def complete(ranking: Ranking, judged: list[int], *, k: int, rel: int = 1) -> float:
    relevant = num_rel(ranking, judged, rel=rel)
    return float(relevant > 0 and num_rel_ret(top(ranking, k), judged, rel=rel) == relevant)


def normalised_cumulated_gain(
    ranking: Ranking, judged: list[int], *, k: int, gain: Gain = linear_gain
) -> float:
    ideal = sorted((gain_of(grade, gain) for grade in judged), reverse=True)[:k]
    return ratio(sum(gain_of(grade, gain) for grade in top(ranking, k)), sum(ideal))


def levels(ranking: Ranking, k: int) -> list[int]:
    grades = [max(grade or 0, 0) for grade in top(ranking, k)]
    return grades + [0] * (k - len(grades))


def set_based_rank(ranking: Ranking, judged: list[int], *, k: int, highest: int) -> float:
    """The place of the set among all sets of k grades, each written in descending order."""
    sets = sorted(
        tuple(sorted(some, reverse=True))
        for some in combinations_with_replacement(range(highest + 1), k)
    )
    return sets.index(tuple(sorted(levels(ranking, k), reverse=True)))


def rank_based_rank(ranking: Ranking, judged: list[int], *, k: int, highest: int) -> float:
    """The number whose digits are the grades."""
    return int("".join(map(str, levels(ranking, k))), highest + 1)


def f_at(ranking: Ranking, judged: list[int], *, k: int, beta: float = 1.0, rel: int = 1) -> float:
    found = num_rel_ret(top(ranking, k), judged, rel=rel)
    p, r = found / k, ratio(found, num_rel(ranking, judged, rel=rel))
    return ratio((beta**2 + 1) * p * r, beta**2 * p + r)


def rprec(ranking: Ranking, judged: list[int], *, multiple: float = 1.0, rel: int = 1) -> float:
    # In floating point on purpose: 0.9 and the truncation are the definition.
    cutoff = int(multiple * num_rel(ranking, judged, rel=rel) + 0.9)
    return ratio(num_rel_ret(top(ranking, cutoff), judged, rel=rel), cutoff)


def ap(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    denominator: Literal["R", "min"] = "R",
    rel: int = 1,
) -> float:
    total = 0.0
    found = 0
    for rank, grade in enumerate(top(ranking, k), start=1):
        if is_relevant(grade, rel):
            found += 1
            total += found / rank
    relevant = num_rel(ranking, judged, rel=rel)
    # Without a cutoff nothing but R limits how many relevant documents could have been found.
    if denominator == "min" and k is not None:
        return ratio(total, min(k, relevant))
    return ratio(total, relevant)


# --- Sets -------------------------------------------------------------------------------------


def set_precision(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    return ratio(num_rel_ret(ranking, judged, rel=rel), len(ranking))


def set_recall(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    return ratio(num_rel_ret(ranking, judged, rel=rel), num_rel(ranking, judged, rel=rel))


def set_rel_precision(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    possible = min(len(ranking), num_rel(ranking, judged, rel=rel))
    return ratio(num_rel_ret(ranking, judged, rel=rel), possible)


def set_ap(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    found = num_rel_ret(ranking, judged, rel=rel)
    return ratio(found**2, len(ranking) * num_rel(ranking, judged, rel=rel))


def set_f(ranking: Ranking, judged: list[int], *, beta: float = 1.0, rel: int = 1) -> float:
    p = set_precision(ranking, judged, rel=rel)
    r = set_recall(ranking, judged, rel=rel)
    return ratio((beta**2 + 1) * p * r, beta**2 * p + r)


def set_e(ranking: Ranking, judged: list[int], *, beta: float = 1.0, rel: int = 1) -> float:
    return 1 - set_f(ranking, judged, beta=beta, rel=rel)


def utility(
    ranking: Ranking,
    judged: list[int],
    *,
    a: float = 1.0,
    b: float = -1.0,
    c: float = 0.0,
    d: float = 0.0,
    docs: int = 0,
    rel: int = 1,
) -> float:
    relret = num_rel_ret(ranking, judged, rel=rel)
    ret = len(ranking)
    relevant = num_rel(ranking, judged, rel=rel)
    return (
        a * relret
        + b * (ret - relret)
        + c * (relevant - relret)
        + d * (docs + relret - ret - relevant)
    )


# --- Interpolated precision -------------------------------------------------------------------


def needed_for_recall(recall: float, relevant: int, rounding: Rounding) -> int:
    if rounding == "up":
        # Exact, as the nearest floats of 0.1, 0.2 ... put some multiples on the wrong side.
        level = Fraction(str(recall))
        needed = 0
        while Fraction(needed, relevant) < level:
            needed += 1
        return needed
    # The two others are what the C program computes, so they keep its floating point.
    if rounding == "trec_eval-9":
        return int(recall * relevant + 0.9)
    below = math.floor(recall * relevant)
    # Not round(), which takes a half to the even neighbour.
    if recall * relevant - below >= 0.5:
        return below + 1
    return below


def iprec(
    ranking: Ranking,
    judged: list[int],
    *,
    recall: float,
    rounding: Rounding = "up",
    rel: int = 1,
) -> float:
    relevant = num_rel(ranking, judged, rel=rel)
    if relevant == 0:
        # Recall has no levels then, and the precision is 0 at every rank.
        return 0.0
    needed = needed_for_recall(recall, relevant, rounding)
    best = 0.0
    found = 0
    for rank, grade in enumerate(ranking, start=1):
        if is_relevant(grade, rel):
            found += 1
        if found >= needed:
            best = max(best, found / rank)
    return best


def ap11(ranking: Ranking, judged: list[int], *, rounding: Rounding = "up", rel: int = 1) -> float:
    total = 0.0
    for level in ELEVEN_POINTS:
        total += iprec(ranking, judged, recall=level, rounding=rounding, rel=rel)
    return total / 11


# --- Incomplete judgments ---------------------------------------------------------------------


def bpref(
    ranking: Ranking,
    judged: list[int],
    *,
    form: Literal["trec_eval", "R", "N"] = "trec_eval",
    rel: int = 1,
) -> float:
    relevant = num_rel(ranking, judged, rel=rel)
    nonrelevant = len(judged) - relevant
    total = 0.0
    above = 0
    for grade in ranking:
        if grade is None:
            continue
        if grade < rel:
            above += 1
        elif above == 0:
            # N may be 0 here, and no form takes anything off.
            total += 1.0
        elif form == "trec_eval":
            total += 1.0 - min(above, relevant) / min(nonrelevant, relevant)
        elif form == "R":
            total += 1.0 - min(above, relevant) / relevant
        else:
            total += 1.0 - above / nonrelevant
    return ratio(total, relevant)


def inf_ap(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    eps = INF_AP_EPSILON
    total = 0.0
    rel_above = 0
    nonrel_above = 0
    pool_unjudged_above = 0
    for j, grade in enumerate(ranking):
        if grade is None:
            continue
        if grade < 0:
            # A sampled pool marks what it left out with a negative grade.
            pool_unjudged_above += 1
        elif grade < rel:
            nonrel_above += 1
        else:
            if j == 0:
                total += 1.0
            else:
                in_pool = (rel_above + nonrel_above + pool_unjudged_above) / j
                rel_share = (rel_above + eps) / (rel_above + nonrel_above + 2 * eps)
                total += 1 / (j + 1) + (j / (j + 1)) * in_pool * rel_share
            rel_above += 1
    return ratio(total, num_rel(ranking, judged, rel=rel))


# --- Discounted gain --------------------------------------------------------------------------


def dcg(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    gain: Gain = linear_gain,
    discount: Discount = log2_discount,
) -> float:
    total = 0.0
    for rank, grade in enumerate(top(ranking, k), start=1):
        total += gain_of(grade, gain) / discount(rank)
    return total


def ideal_dcg(judged: list[int], *, k: int | None, gain: Gain, discount: Discount) -> float:
    gains = ideal_gains(judged, gain)
    if k is not None:
        gains = gains[:k]
    total = 0.0
    for rank, value in enumerate(gains, start=1):
        total += value / discount(rank)
    return total


def ndcg(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    gain: Gain = linear_gain,
    discount: Discount = log2_discount,
    ideal: Literal["cut", "full"] = "cut",
) -> float:
    ideal_k = k if ideal == "cut" else None
    return ratio(
        dcg(ranking, judged, k=k, gain=gain, discount=discount),
        ideal_dcg(judged, k=ideal_k, gain=gain, discount=discount),
    )


def ndcg_rel(ranking: Ranking, judged: list[int], *, gain: Gain = linear_gain) -> float:
    with_gain = len(ideal_gains(judged, gain))
    total = 0.0
    with_gain_ret = 0
    for rank, grade in enumerate(ranking, start=1):
        if gain_of(grade, gain) > 0:
            with_gain_ret += 1
            total += ndcg(ranking, judged, k=rank, gain=gain, ideal="cut")
    # A document never retrieved counts as if found right after the last rank.
    total += (with_gain - with_gain_ret) * ndcg(ranking, judged, k=None, gain=gain)
    return ratio(total, with_gain)


def rndcg(ranking: Ranking, judged: list[int], *, gain: Gain = linear_gain) -> float:
    if num_rel(ranking, judged, rel=1) == 0:
        return 0.0
    gains = ideal_gains(judged, gain)
    total = 0.0
    count = 0
    result_dcg = 0.0
    best_dcg = 0.0
    i = 0
    # The walk looks at the gain of the position before it, so it takes one step past the last
    # document with a gain, and the first step never counts as a change.
    ideal_gain = gains[0] if gains else 0.0

    while i < len(ranking) and ideal_gain > 0:
        previous_gain = ideal_gain
        ideal_gain = gains[i] if i < len(gains) else 0.0
        if ideal_gain != previous_gain and best_dcg > 0:
            total += result_dcg / best_dcg
            count += 1
        result_dcg += gain_of(ranking[i], gain) / math.log2(i + 2)
        best_dcg += ideal_gain / math.log2(i + 2)
        i += 1

    if i < len(ranking):
        while i < len(ranking):
            result_dcg += gain_of(ranking[i], gain) / math.log2(i + 2)
            i += 1
        if best_dcg > 0:
            total += result_dcg / best_dcg
            count += 1

    while ideal_gain > 0:
        previous_gain = ideal_gain
        ideal_gain = gains[i] if i < len(gains) else 0.0
        if ideal_gain != previous_gain and best_dcg > 0:
            total += result_dcg / best_dcg
            count += 1
        best_dcg += ideal_gain / math.log2(i + 2)
        i += 1

    return ratio(total, count)


def big_g(ranking: Ranking, judged: list[int], *, gain: Gain = linear_gain) -> float:
    gains = ideal_gains(judged, gain)
    total = 0.0
    cost = 0.0
    got = 0.0
    for i in range(len(ranking)):
        ideal_gain = gains[i] if i < len(gains) else 0.0
        cost += max(ideal_gain, 1.0)
        got += gain_of(ranking[i], gain)
        if gain_of(ranking[i], gain) != 0:
            total += gain_of(ranking[i], gain) / math.log2(2 + cost - got)
    return ratio(total, sum(gains))


def bin_g(ranking: Ranking, judged: list[int], *, rel: int = 1) -> float:
    total = 0.0
    found = 0
    for rank, grade in enumerate(ranking, start=1):
        if is_relevant(grade, rel):
            found += 1
            total += 1 / math.log2(2 + rank - found)
    return ratio(total, num_rel(ranking, judged, rel=rel))


# --- User models ------------------------------------------------------------------------------


def rbp(
    ranking: Ranking, judged: list[int], *, p: float, gain: Gain, k: int | None = None
) -> float:
    total = 0.0
    for rank, grade in enumerate(top(ranking, k), start=1):
        total += gain_of(grade, gain) * p ** (rank - 1)
    return (1 - p) * total


def rbp_residual(
    ranking: Ranking,
    judged: list[int],
    *,
    p: float,
    part: Literal["tail", "unjudged", "total"],
    k: int | None = None,
) -> float:
    tail: float = p ** len(top(ranking, k))
    unjudged = 0.0
    for rank, grade in enumerate(top(ranking, k), start=1):
        if grade is None:
            unjudged += (1 - p) * p ** (rank - 1)
    if part == "tail":
        return tail
    if part == "unjudged":
        return unjudged
    return tail + unjudged


def stop_chance(grade: int | None, gain: Gain, max_grade: int) -> float:
    if grade is None or grade < 0:
        return 0.0
    return gain(grade) / (max(gain(g) for g in range(max_grade + 1)) + 1)


def exponential_gain(grade: int) -> float:
    return 2.0**grade - 1


def err(
    ranking: Ranking,
    judged: list[int],
    *,
    max_grade: int,
    k: int | None = None,
    gain: Gain = exponential_gain,
) -> float:
    total = 0.0
    still_looking = 1.0
    for rank, grade in enumerate(top(ranking, k), start=1):
        stops = stop_chance(grade, gain, max_grade)
        total += still_looking * stops / rank
        still_looking *= 1 - stops
    return total


def nerr(
    ranking: Ranking,
    judged: list[int],
    *,
    max_grade: int,
    k: int | None = None,
    gain: Gain = exponential_gain,
) -> float:
    best: Ranking = []
    for grade in sorted(judged, key=lambda g: gain_of(g, gain), reverse=True):
        best.append(grade)
    return ratio(
        err(ranking, judged, max_grade=max_grade, k=k, gain=gain),
        err(best, judged, max_grade=max_grade, k=k, gain=gain),
    )


# --- Blended ratio ----------------------------------------------------------------------------


def blended_ratio(
    ranking: Ranking,
    judged: list[int],
    rank: int,
    *,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    def relevant_gain(grade: int) -> float:
        return gain(grade) if grade >= rel else 0.0

    found = num_rel_ret(ranking[:rank], judged, rel=rel)
    got = sum(gain_of(grade, relevant_gain) for grade in ranking[:rank])
    most = sum(ideal_gains(judged, relevant_gain)[:rank])
    return ratio(found + beta * got, rank + beta * most)


def relevant_ranks(ranking: Ranking, rel: int) -> list[int]:
    return [rank for rank, grade in enumerate(ranking, start=1) if is_relevant(grade, rel)]


def first_best_rank(ranking: Ranking, rel: int) -> int:
    best = 0
    for rank in relevant_ranks(ranking, rel):
        if best == 0 or (ranking[rank - 1] or 0) > (ranking[best - 1] or 0):
            best = rank
    return best


def q_measure(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    denominator: Literal["R", "min"] = "min",
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    total = 0.0
    for rank in relevant_ranks(top(ranking, k), rel):
        total += blended_ratio(ranking, judged, rank, rel=rel, beta=beta, gain=gain)
    relevant = num_rel(ranking, judged, rel=rel)
    if denominator == "min" and k is not None:
        return ratio(total, min(k, relevant))
    return ratio(total, relevant)


def r_measure(
    ranking: Ranking,
    judged: list[int],
    *,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    base = num_rel(ranking, judged, rel=rel)
    return blended_ratio(ranking, judged, base, rel=rel, beta=beta, gain=gain)


def o_measure(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    ranks = relevant_ranks(top(ranking, k), rel)
    if not ranks:
        return 0.0
    return blended_ratio(ranking, judged, ranks[0], rel=rel, beta=beta, gain=gain)


def p_measure(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    rank = first_best_rank(top(ranking, k), rel)
    return blended_ratio(ranking, judged, rank, rel=rel, beta=beta, gain=gain)


def p_plus(
    ranking: Ranking,
    judged: list[int],
    *,
    k: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    ranks = relevant_ranks(ranking[: first_best_rank(top(ranking, k), rel)], rel)
    total = 0.0
    for rank in ranks:
        total += blended_ratio(ranking, judged, rank, rel=rel, beta=beta, gain=gain)
    return ratio(total, len(ranks))


def ncu(
    ranking: Ranking,
    judged: list[int],
    *,
    stop: Literal["graded", "rank-biased"],
    utility: Literal["BR", "P"],
    gamma: float = 0.95,
    k: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
    weight: Gain | None = None,
) -> float:
    if weight is None:
        weight = gain
    total = 0.0
    for seen, rank in enumerate(relevant_ranks(top(ranking, k), rel), start=1):
        useful = seen / rank
        if utility == "BR":
            useful = blended_ratio(ranking, judged, rank, rel=rel, beta=beta, gain=gain)
        total += useful * (gain_of(ranking[rank - 1], weight) if stop == "graded" else gamma**seen)
    relevant = [grade for grade in judged if is_relevant(grade, rel)]
    if stop == "graded":
        return ratio(total, sum(weight(grade) for grade in relevant))
    return ratio(total, sum(gamma**seen for seen in range(1, len(relevant) + 1)))


def ebr(
    ranking: Ranking,
    judged: list[int],
    *,
    max_grade: int,
    k: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gain: Gain = linear_gain,
) -> float:
    total = 0.0
    still_looking = 1.0
    for rank in relevant_ranks(top(ranking, k), rel):
        stops = stop_chance(ranking[rank - 1], gain, max_grade)
        br = blended_ratio(ranking, judged, rank, rel=rel, beta=beta, gain=gain)
        total += still_looking * stops * br
        still_looking *= 1 - stops
    return total


def inst_reading(
    ranking: Ranking, *, wanted: float, gain: Gain, depth: int | None, unjudged: float
) -> tuple[float, float]:
    """Total gain and depth of a user of INST; what is not judged gains ``unjudged``."""
    total = 0.0
    ranks = 0.0
    here = 1.0
    found = 0.0
    for rank in range(1, (len(ranking) if depth is None else depth) + 1):
        grade = ranking[rank - 1] if rank <= len(ranking) else None
        worth = unjudged if grade is None else gain_of(grade, gain)
        total += here * worth
        ranks += here
        found += worth
        still_wanted = wanted - found
        here *= ((rank + wanted + still_wanted - 1) / (rank + wanted + still_wanted)) ** 2
    if depth is not None:
        return total, ranks
    if unjudged == 1:
        # From here on a rank more is a document less that is wanted, so C stays as it is.
        level = len(ranking) + 2 * wanted - found
        tail = here / (1 - ((level - 1) / level) ** 2)
        return total + tail, ranks + tail
    # V(i) falls as 1 / (i - 1 + 2T - found)^2, whose sum is a zeta function of Hurwitz.
    start = len(ranking) + 2 * wanted - found
    return total, ranks + here * start**2 * float(zeta(2, start))


def inst(
    ranking: Ranking,
    judged: list[int],
    *,
    wanted: float,
    gain: Gain,
    what: Literal["rate", "total", "depth", "residual"] = "rate",
    depth: int | None = None,
    k: int | None = None,
) -> float:
    kept = top(ranking, k)
    total, ranks = inst_reading(kept, wanted=wanted, gain=gain, depth=depth, unjudged=0.0)
    if what == "total":
        return total
    if what == "depth":
        return ranks
    if what == "residual":
        most, most_ranks = inst_reading(kept, wanted=wanted, gain=gain, depth=depth, unjudged=1.0)
        return most / most_ranks - total / ranks
    return total / ranks


def weighted(ranking: Ranking, *, weight: Callable[[int], float], gain: Gain) -> float:
    return sum(weight(rank) * gain_of(grade, gain) for rank, grade in enumerate(ranking, start=1))


def without_judgment(ranking: Ranking, *, weight: Callable[[int], float]) -> float:
    judged = 0.0
    for rank, grade in enumerate(ranking, start=1):
        if grade is not None:
            judged += weight(rank)
    return 1 - judged


def insq_weight(wanted: float, depth: int | None = None) -> Callable[[int], float]:
    if depth is None:
        everything = float(zeta(2, 2 * wanted))
    else:
        everything = sum(1 / (rank + 2 * wanted - 1) ** 2 for rank in range(1, depth + 1))

    def weight(rank: int) -> float:
        if depth is not None and rank > depth:
            return 0.0
        return 1 / (rank + 2 * wanted - 1) ** 2 / everything

    return weight


def sdcg_weight(k: int) -> Callable[[int], float]:
    everything = sum(1 / math.log2(rank + 1) for rank in range(1, k + 1))
    return lambda rank: 1 / math.log2(rank + 1) / everything if rank <= k else 0.0
