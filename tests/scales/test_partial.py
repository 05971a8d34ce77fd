"""The partial order by swap and replacement (Ferrante, Ferro and Fuhr, 2021, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cranfield.measures import AP, DCG, ERR, RBP, RR, Measure, P, R, SetF, gP, gR, nDCG, nERR
from cranfield.scales.orders import covers, is_at_or_below, levels, order_matrix, rbto, sbto
from cranfield.scales.runs import all_runs, score_runs

SIZES = [(1, 1), (2, 1), (4, 1), (7, 1), (1, 3), (2, 2), (3, 2), (4, 2), (5, 2), (3, 3), (2, 5)]


def steps_up(run: Sequence[int] | NDArray[np.int64], grades: int = 1) -> NDArray[np.int64]:
    """The runs that one step makes of a run: each swap and each replacement that betters it."""
    one, found = list(run), set()
    for i in range(len(one)):
        for better in range(one[i] + 1, grades + 1):
            found.add((*one[:i], better, *one[i + 1 :]))
        for j in range(i + 1, len(one)):
            if one[j] > one[i]:
                found.add((*one[:i], one[j], *one[i + 1 : j], one[i], *one[j + 1 :]))
    return np.array(sorted(found), dtype=np.int64).reshape(-1, len(one))


def test_steps() -> None:
    assert steps_up([0, 1]).tolist() == [[1, 0], [1, 1]]


def closure(length: int, grades: int) -> NDArray[np.bool_]:
    """All that follows from single steps, by squaring."""
    runs = all_runs(length, grades)
    reach = np.eye(len(runs), dtype=bool)
    for i, run in enumerate(runs):
        above = steps_up(run, grades)
        if len(above):
            reach[i, rbto(above, grades)] = True
    while True:
        numbers = reach.astype(np.float32)
        more = (numbers @ numbers) > 0
        if (more == reach).all():
            return reach
        reach = more


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_counts_of_prefixes_are_the_closure_of_the_steps(length: int, grades: int) -> None:
    found = order_matrix(all_runs(length, grades), grades)
    assert (found == closure(length, grades)).all()


def test_figure_1() -> None:
    """What section 3.2 of the paper says of the diagram of length 4."""
    below = [((1, 1, 0, 1), (1, 1, 1, 0)), ((1, 1, 0, 0), (1, 1, 1, 0))]
    below += [((1, 0, 1, 1), (1, 1, 1, 0)), ((0, 0, 0, 0), (0, 0, 0, 1))]
    below += [((0, 0, 0, 1), (0, 0, 1, 0)), ((1, 1, 1, 0), (1, 1, 1, 1))]
    for lower, upper in below:
        assert is_at_or_below(lower, upper)[0]
        assert not is_at_or_below(upper, lower)[0]
    for one, other in [((1, 1, 0, 0), (1, 0, 1, 1)), ((1, 1, 0, 0), (0, 1, 1, 1))]:
        assert not is_at_or_below(one, other)[0]
        assert not is_at_or_below(other, one)[0]
    height = levels(4)
    assert height.max() == 10
    # 20 edges: 12 swaps of neighbouring documents and 8 replacements at the last rank.
    assert len(covers(4)) == 20


@pytest.mark.parametrize("length", range(1, 9))
def test_binary_diagrams(length: int) -> None:
    """Edges are swaps of neighbours and replacements at the end; levels are sums."""
    runs, height = all_runs(length), levels(length)
    assert (height == runs @ np.arange(length, 0, -1)).all()
    expected = set()
    for i, run in enumerate(runs):
        if run[-1] == 0:
            expected.add((i, i + 1))
        for j in range(length - 1):
            if run[j] < run[j + 1]:
                expected.add((i, i + 2 ** (length - 2 - j)))
    assert {(int(a), int(b)) for a, b in covers(length)} == expected


def test_with_more_grades_there_is_no_rank_function() -> None:
    edges, height = covers(2, 2), levels(2, 2)
    steps = height[edges[:, 1]] - height[edges[:, 0]]
    assert set(steps.tolist()) == {1, 2}
    # 20 is directly below 21, and 10, 11, 12 stand on the longer way there.
    assert [6, 7] in edges.tolist()
    assert (height[6], height[7]) == (3, 5)


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_edges_make_the_order_and_none_is_superfluous(length: int, grades: int) -> None:
    runs = all_runs(length, grades)
    reach = np.eye(len(runs), dtype=bool)
    for a, b in covers(length, grades)[::-1]:
        reach[a] |= reach[b]
    assert (reach == order_matrix(runs, grades)).all()
    strictly = reach & ~np.eye(len(runs), dtype=bool)
    height = levels(length, grades)
    assert not strictly[height[:, None] == height[None, :]].any()


MEASURES: list[Measure] = [P @ 6, R @ 6, SetF, AP, RR, RBP, RBP(p=0.3), DCG, nDCG, ERR, nERR]
GRADED: list[Measure] = [
    gP @ 4,
    gR @ 4,
    DCG(gains="exponential"),
    nDCG,
    ERR,
    RBP(gains="graded"),
    AP(rel=2),
]


@pytest.mark.parametrize(("measures", "length", "grades"), [(MEASURES, 6, 1), (GRADED, 4, 2)])
def test_measures_agree_on_comparable_runs(
    measures: list[Measure], length: int, grades: int
) -> None:
    runs = all_runs(length, grades)
    below = order_matrix(runs, grades)
    for measure in measures:
        values = score_runs(measure, runs, grades=grades)
        assert (values[:, None] <= values[None, :] + 1e-12)[below].all(), measure


def test_measures_disagree_on_all_other_pairs() -> None:
    """With P, the two total orders and RBP of all p, no pair that is not comparable is agreed."""
    runs = all_runs(5)
    below = order_matrix(runs)
    apart = ~(below | below.T)
    scores = [score_runs(RBP(p=p), runs) for p in (0.01, 0.3, 0.5, 0.7, 0.9, 0.99)]
    scores += [score_runs(P @ k, runs) for k in range(1, 6)]
    up = np.any([s[:, None] < s[None, :] - 1e-12 for s in scores], axis=0)
    assert (up & up.T)[apart].all()


@given(st.integers(1, 60), st.integers(1, 4), st.data())
def test_steps_lead_upwards(length: int, grades: int, data: st.DataObject) -> None:
    run = data.draw(st.lists(st.integers(0, grades), min_size=length, max_size=length))
    above = steps_up(run, grades)
    if len(above):
        chosen = above[data.draw(st.integers(0, len(above) - 1))]
        assert is_at_or_below(run, chosen, grades)[0]
        assert not is_at_or_below(chosen, run, grades)[0]
        assert rbto([chosen], grades)[0] > rbto([run], grades)[0]
        assert sbto([chosen], grades)[0] >= sbto([run], grades)[0]
    else:
        assert run == [grades] * length


def test_shapes_and_padding() -> None:
    assert is_at_or_below([1], [[1, 0], [0, 1]]).tolist() == [True, False]
    assert is_at_or_below([[0, 1], [1, 0]], [1]).tolist() == [True, True]
    assert steps_up([1, 1]).shape == (0, 2)
