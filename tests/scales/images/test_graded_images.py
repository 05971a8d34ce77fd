"""Images of the graded measures and of user models are what going through all runs finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import pytest

from cranfield.measures import parse_measure
from cranfield.scales.images.values import image, make_topic_image
from cranfield.scales.runs import score_runs
from tests.scales.exhaustive import Everything, Run, ap, binary, dcg, rational
from tests.scales.images.test_images import same

ONE = Fraction(1)
Ideal = Sequence[int] | None


def ratios(run: Run, beta: Fraction = ONE, ideal: Ideal = None, top: int = 0) -> list[Fraction]:
    """The blended ratio at every rank, with the grade for a gain."""
    best = [max(top, *run)] * len(run) if ideal is None else [*ideal, *[0] * len(run)][: len(run)]
    found = accumulate(map(bool, run)), accumulate(run), accumulate(best)
    return [
        (count + beta * gain) / (rank + beta * most)
        for rank, (count, gain, most) in enumerate(zip(*found, strict=True), 1)
    ]


def q(top: int, beta: str = "1", ideal: Ideal = None) -> Callable[[Run], Fraction]:
    def value(run: Run) -> Fraction:
        found = zip(run, ratios(run, Fraction(beta), ideal, top), strict=True)
        return sum((one for grade, one in found if grade), Fraction())

    return value


def ncu(top: int, gamma: str) -> Callable[[Run], Fraction]:
    def value(run: Run) -> Fraction:
        hits = [one for grade, one in zip(run, ratios(run, top=top), strict=True) if grade]
        return sum((Fraction(gamma) ** j * one for j, one in enumerate(hits)), Fraction())

    return value


def ncu_graded(run: Run) -> Fraction:
    precision = [Fraction(sum(binary(run[:r])), r) for r in range(1, len(run) + 1)]
    return sum((grade * one for grade, one in zip(run, precision, strict=True)), Fraction())


def stopping(run: Run, top: int) -> list[Fraction]:
    """The chance to stop at every rank, with g / (top + 1) for the chance to be satisfied."""
    out, reading = [], ONE
    for grade in run:
        stop = Fraction(grade, top + 1)
        out.append(reading * stop)
        reading -= reading * stop
    return out


def ebr(top: int) -> Callable[[Run], Fraction]:
    return lambda run: sum(
        (a * b for a, b in zip(stopping(run, top), ratios(run, top=top), strict=True)), Fraction()
    )


def irbu(top: int, p: str) -> Callable[[Run], Fraction]:
    return lambda run: sum(
        (Fraction(p) ** rank * one for rank, one in enumerate(stopping(run, top), 1)), Fraction()
    )


def o_measure(top: int) -> Callable[[Run], Fraction]:
    def value(run: Run) -> Fraction:
        first = next((at for at, grade in enumerate(run) if grade), None)
        return Fraction() if first is None else ratios(run, top=top)[first]

    return value


def p_measure(top: int) -> Callable[[Run], Fraction]:
    return lambda run: ratios(run, top=top)[run.index(max(run))] if any(run) else Fraction()


def gap(weights: list[Fraction]) -> Callable[[Run], Fraction]:
    """The mean of AP over users' thresholds, from which the measure comes."""
    return lambda run: sum((w * ap(run, j) for j, w in enumerate(weights, 1)), Fraction())


def kishida(run: Run) -> Fraction:
    means = [Fraction(sum(run[:r]), r) for r in range(1, len(run) + 1)]
    return sum((mean for grade, mean in zip(run, means, strict=True) if grade), Fraction())


def wrr(top: int) -> Callable[[Run], Fraction]:
    def value(run: Run) -> Fraction:
        for rank, grade in enumerate(run, 1):
            if grade:
                return 1 / (rank - Fraction(1, top - grade + 2))
        return Fraction()

    return value


def insq(wanted: str, gains: list[Fraction]) -> Callable[[Run], Fraction]:
    t = Fraction(wanted)
    return lambda run: sum(
        (gains[g] / (rank + 2 * t - 1) ** 2 for rank, g in enumerate(run, 1)), Fraction()
    )


def user(
    going_on: Callable[[int, list[Fraction]], Fraction], total: bool = False, most: int = 0
) -> Callable[[Run], Fraction]:
    """Gain by rank that is read, or in all, of users who go on with a chance; gains of 0 and 1."""

    def value(run: Run) -> Fraction:
        gains = [Fraction(grade > 0) for grade in run]
        gains += [Fraction(0)] * (most - len(gains))
        views, reading = [], ONE
        for rank in range(1, len(gains) + 1):
            views.append(reading)
            reading *= going_on(rank, gains[:rank])
            if not reading:
                break
        gained = sum((view * gain for view, gain in zip(views, gains, strict=False)), Fraction())
        return gained if total or not gained else gained / sum(views)

    return value


def unsatisfied(chance: Callable[[int], Fraction]) -> Callable[[int, list[Fraction]], Fraction]:
    return lambda rank, gains: (1 - gains[-1]) * chance(rank)


def player(
    enough: int, most: int, by: str = "0", patience: str = "0"
) -> Callable[[int, list[Fraction]], Fraction]:
    def going_on(rank: int, gains: list[Fraction]) -> Fraction:
        change = sum((gain - Fraction(1, 2) for gain in gains[:-1]), Fraction())
        goes = sum(gains) < enough + Fraction(by) * change
        return Fraction(goes and rank < most + Fraction(patience) * change)

    return going_on


def shift(rank: int) -> Fraction:
    return Fraction(rank + 1)


def steps(rank: int) -> Fraction:
    return Fraction(rank, rank + 1)


def square(rank: int) -> Fraction:
    return Fraction(rank + 1, rank + 2) ** 2


PLAIN = [Fraction(g) for g in range(3)]
CASES: list[tuple[str, int, int, Any]] = [
    ("Q", 8, 1, rational(ap)),
    ("Q", 5, 2, rational(q(2))),
    ("Q(beta=0.3)@4", 4, 3, rational(q(3, "3/10"))),
    ("NCU", 8, 1, rational(ncu(1, "19/20"))),
    ("NCU(gamma=0.5)", 5, 2, rational(ncu(2, "1/2"))),
    ("NCU(stopping='graded', utility='P')", 5, 2, rational(ncu_graded)),
    ("EBR", 8, 1, rational(ebr(1))),
    ("EBR", 5, 2, rational(ebr(2))),
    ("OMeasure", 8, 1, rational(o_measure(1))),
    ("OMeasure", 5, 2, rational(o_measure(2))),
    ("PMeasure", 8, 1, rational(p_measure(1))),
    ("PMeasure", 5, 2, rational(p_measure(2))),
    ("PMeasure", 4, 3, rational(p_measure(3))),
    ("PPlus", 8, 1, rational(p_measure(1))),
    ("RMeasure", 5, 2, rational(lambda run: sum(binary(run)) + sum(run))),
    ("GAP", 8, 1, rational(ap)),
    ("GAP", 5, 2, rational(gap([ONE, ONE]))),
    ("GAP(thresholds='linear')", 4, 3, rational(gap(PLAIN[1:] + [Fraction(3)]))),
    ("GAP(thresholds={1: 0.3, 2: 0.7})@5", 5, 2, rational(gap([Fraction(3), Fraction(7)]))),
    ("gAP", 8, 1, rational(kishida)),
    ("gAP", 5, 2, rational(kishida)),
    ("WRR", 8, 1, rational(wrr(1))),
    ("WRR", 5, 2, rational(wrr(2))),
    ("iRBU", 8, 1, rational(irbu(1, "99/100"))),
    ("iRBU(p=0.5)", 5, 2, rational(irbu(2, "1/2"))),
    ("INSQ", 8, 1, rational(insq("1", PLAIN))),
    ("INSQ(T=2.5)", 8, 1, rational(insq("5/2", PLAIN))),
    ("INSQ(gains='graded')", 5, 2, rational(insq("1", PLAIN))),
    ("SDCG@8", 8, 1, dcg(shift, PLAIN)),
    ("SDCG(gains='graded')@5", 5, 2, dcg(shift, PLAIN)),
    ("NERR8@8", 8, 1, rational(user(unsatisfied(lambda rank: ONE)))),
    ("NERR9@8", 8, 1, rational(user(unsatisfied(steps)))),
    ("NERR9@5", 5, 2, rational(user(unsatisfied(steps)))),
    ("NERR10", 8, 1, rational(user(unsatisfied(lambda rank: Fraction(9, 10))))),
    ("NERR11", 8, 1, rational(user(unsatisfied(square)))),
    ("ETU(NERR9@10)", 8, 1, rational(user(unsatisfied(steps), total=True))),
    ("ETU(ERR)", 5, 2, rational(lambda run: -prod(4 - (2**grade - 1) for grade in run))),
    ("BPM", 8, 1, rational(user(player(1, 10), most=20))),
    ("BPM(T=3, K=7)", 8, 1, rational(user(player(3, 7), most=20))),
    ("BPM(T=2, K=15)", 5, 2, rational(user(player(2, 15), most=20))),
    ("BPMDynamic(T=2)", 8, 1, rational(user(player(2, 10, "1", "1"), most=20))),
    ("BPMDynamic(T=3, hb=0.5, hc=0.25)", 5, 2, rational(user(player(3, 10, ".5", ".25"), most=20))),
    ("ETU(BPM(T=3, K=7))", 8, 1, rational(user(player(3, 7), total=True, most=20))),
]


@pytest.mark.parametrize(("text", "length", "grades", "value"), CASES)
def test_all_runs(text: str, length: int, grades: int, value: Any) -> None:
    found = image(text, length, grades)
    every = Everything(value, length, grades)
    same(found, every)
    values = found.values()
    scores = score_runs(parse_measure(text), np.array(every.runs), grades=grades)
    assert values[found.rank_runs(every.runs) - 1] == pytest.approx(scores, rel=1e-11, abs=1e-14)
    assert found.rank(values).tolist() == list(range(1, found.size + 1))


@pytest.mark.parametrize(("text", "length", "grades", "value"), CASES)
def test_few_relevant_documents(text: str, length: int, grades: int, value: Any) -> None:
    length = min(length, 4)
    every = Everything(value, length, grades, lambda run: sum(binary(run)) <= 2)
    same(image(text, length, grades, at_most=2), every)


@pytest.mark.parametrize("ideal", [(1,), (2, 1), (2, 2, 1, 1), (2, 1, 1, 1, 1, 1)])
def test_the_ideal_ranking_decides(ideal: tuple[int, ...]) -> None:
    """The image of a topic is that of its ideal ranking, of all runs."""
    every = Everything(rational(q(2, ideal=ideal)), 5, 2)
    same(make_topic_image(parse_measure("Q@5"), 5, 2, ideal), every)


def test_long_runs() -> None:
    """Values of one rank alone can be had at any length, with one step for each rank."""
    for text in ("BPM(K=200)", "OMeasure", "PMeasure", "WRR", "NERR8@150", "NERR10", "EU(RR)"):
        assert image(text, 150).size == 151
    assert image("BPM", 150).size == 11
    # Values of so many digits that they are only listed.
    assert image("iRBU", 17).size == 2**17
