"""Definition 1 of Ferrante, Ferro and Pontarollo (2019): axioms of a difference structure."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cranfield.measures import AP, RBP, RR, P
from cranfield.scales.orders import (
    DifferenceReport,
    difference_axioms,
    find_max_sbto_rank,
    natural_distance,
    rbto,
    sbto,
    sbto_runs,
)
from cranfield.scales.runs import all_runs, score_runs

ALL = {"i": True, "ii": True, "iii": True, "iv": True}


def verdicts(report: DifferenceReport) -> dict[str, bool]:
    return {axiom.number: axiom.holds for axiom in report.axioms}


def brute(relation: NDArray[np.bool_]) -> dict[str, bool]:
    """The axioms in plain loops."""
    n = len(relation)
    at_most = {
        (x, y): bool(relation[(*x, *y)])
        for x in product(range(n), repeat=2)
        for y in product(range(n), repeat=2)
    }
    pairs = list(product(range(n), repeat=2))
    objects = range(n)

    def same(x: tuple[int, int], y: tuple[int, int]) -> bool:
        return at_most[x, y] and at_most[y, x]

    return {
        "i": all(at_most[x, y] or at_most[y, x] for x in pairs for y in pairs)
        and all(
            at_most[x, z]
            for x in pairs
            for y in pairs
            if at_most[x, y]
            for z in pairs
            if at_most[y, z]
        ),
        "ii": all(
            at_most[(d, c), (b, a)] for a, b in pairs for c, d in pairs if at_most[(a, b), (c, d)]
        ),
        "iii": all(
            at_most[(a, c), (a_, c_)]
            for a, b, c, a_, b_, c_ in product(objects, repeat=6)
            if at_most[(a, b), (a_, b_)] and at_most[(b, c), (b_, c_)]
        ),
        "iv": all(
            any(same((a, x), (c, d)) for x in objects)
            and any(same((x, b), (c, d)) for x in objects)
            for a, b in pairs
            for c, d in pairs
            if at_most[(a, a), (c, d)] and at_most[(c, d), (a, b)]
        ),
    }


def broken_by(report: DifferenceReport, relation: NDArray[np.bool_]) -> None:
    """Each witness breaks its axiom."""
    for axiom in report.axioms:
        if axiom.holds:
            assert axiom.witness == {}
            continue
        w = axiom.witness
        if axiom.number == "i":
            x, y = (w["a"], w["b"]), (w["c"], w["d"])
            if "e" in w:
                z = (w["e"], w["f"])
                assert relation[(*x, *y)]
                assert relation[(*y, *z)]
                assert not relation[(*x, *z)]
            else:
                assert not relation[(*x, *y)]
                assert not relation[(*y, *x)]
        elif axiom.number == "ii":
            assert relation[w["a"], w["b"], w["c"], w["d"]]
            assert not relation[w["d"], w["c"], w["b"], w["a"]]
        elif axiom.number == "iii":
            assert relation[w["a"], w["b"], w["a'"], w["b'"]]
            assert relation[w["b"], w["c"], w["b'"], w["c'"]]
            assert not relation[w["a"], w["c"], w["a'"], w["c'"]]
        else:
            a, b, c, d = (w[letter] for letter in "abcd")
            assert relation[a, a, c, d]
            assert relation[c, d, a, b]
            same = relation & relation.transpose(2, 3, 0, 1)
            assert not (same[a, :, c, d].any() and same[:, b, c, d].any())


@pytest.mark.parametrize(("length", "grades"), [(1, 1), (3, 1), (4, 1), (5, 1), (3, 2), (2, 4)])
def test_total_orders_are_difference_structures(length: int, grades: int) -> None:
    if (grades + 1) ** length <= 32:
        assert verdicts(difference_axioms(rbto(all_runs(length, grades), grades))) == ALL
    sets = sbto_runs(np.arange(find_max_sbto_rank(length, grades) + 1), length, grades)
    if len(sets) <= 32:
        assert verdicts(difference_axioms(sbto(sets, grades))) == ALL
    # Not only one run of each set, but all: some differences are null.
    if (grades + 1) ** length <= 16:
        assert difference_axioms(sbto(all_runs(length, grades), grades)).holds


def test_measures() -> None:
    runs = all_runs(4)
    assert difference_axioms(score_runs(P @ 4, runs)).holds
    assert difference_axioms(score_runs(RBP(p=0.5), runs)).holds
    for measure in (AP, RR, RBP(p=0.3), RBP(p=0.8)):
        found = difference_axioms(score_runs(measure, runs))
        assert verdicts(found) == ALL | {"iv": False}, measure
        assert not found.holds
        assert "not a difference structure" in str(found)


values = st.lists(st.integers(-6, 6), min_size=1, max_size=5)


@settings(max_examples=20, deadline=None)
@given(values)
def test_solvability_is_equal_spacing(positions: list[int]) -> None:
    found = difference_axioms(positions)
    distinct = np.unique(positions)
    even = len(set(np.diff(distinct).tolist())) <= 1
    assert verdicts(found) == ALL | {"iv": even}
    differences = natural_distance(np.array(positions))
    relation = differences[:, :, None, None] <= differences[None, None]
    assert verdicts(found) == brute(relation)
    assert verdicts(difference_axioms(differences)) == verdicts(found)
    broken_by(found, relation)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 3), st.sampled_from(["any", "weak", "signed"]), st.integers(0, 2**32))
def test_any_relation_against_plain_loops(n: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if kind == "any":
        relation = rng.random((n, n, n, n)) < 0.9
        found = difference_axioms(relation)
    else:
        differences = rng.integers(-2, 3, size=(n, n))
        if kind == "signed":
            differences = differences - differences.T
        relation = differences[:, :, None, None] <= differences[None, None]
        found = difference_axioms(differences)
        assert found.axioms[0].holds
    assert verdicts(found) == brute(relation)
    broken_by(found, relation)


def test_floats_are_compared_with_a_tolerance() -> None:
    assert difference_axioms(np.array([0.1, 0.2, 0.3, 0.4])).holds
    assert not difference_axioms(np.array([0.1, 0.2, 0.3, 0.4001])).holds
