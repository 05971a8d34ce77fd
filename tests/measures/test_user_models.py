"""The vectors of the framework, C, V, W and L, and sums that have no loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures.users.effort import ScaledDCG, trigamma
from cranfield.measures.users.page import UserBehaviour, make_page
from cranfield.measures.users.standard_models import user_model

chances = st.lists(st.floats(0, 1), min_size=1, max_size=30)
positive = st.lists(st.floats(0.01, 1), min_size=1, max_size=30)


def reading(going_on: list[float]) -> UserBehaviour:
    table = np.array([going_on])
    return UserBehaviour(make_page(np.zeros(table.shape)), table)


@settings(max_examples=12)
@given(chances)
def test_weights_and_last_ranks_are_distributions(going_on: list[float]) -> None:
    weights, last = reading(going_on).weights[0], reading(going_on).last[0]
    assert weights.sum() == pytest.approx(1)
    assert last.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    assert (last >= 0).all()
    reached = 1.0
    for rank, chance in enumerate([*going_on[:-1], 0.0]):
        assert last[rank] == pytest.approx(reached * (1 - chance), abs=1e-12)
        reached *= chance


@settings(max_examples=12)
@given(positive)
def test_weights_and_last_ranks_give_the_continuation(going_on: list[float]) -> None:
    weights, last = reading(going_on).weights[0], reading(going_on).last[0]
    assert weights[1:] / weights[:-1] == pytest.approx(going_on[:-1], rel=1e-9)
    here_or_later = np.cumsum(last[::-1])[::-1]
    assert here_or_later == pytest.approx(reading(going_on).viewed[0], rel=1e-9, abs=1e-9)


def test_many_at_once() -> None:
    table = np.array([[0.5, 0.25, 1.0], [1.0, 0.0, 0.5], [0.9, 0.9, 0.0]])
    together = UserBehaviour(make_page(np.zeros(table.shape)), table)
    for row, going_on in enumerate(table.tolist()):
        alone = reading(going_on)
        assert np.array_equal(together.viewed[row], alone.viewed[0])
        assert np.array_equal(together.weights[row], alone.weights[0])
        assert np.array_equal(together.last[row], alone.last[0])


def test_satisfied_users_go_on_as_they_say() -> None:
    ranks, gains = np.arange(1, 7), np.array([0, 0.5, 0, 1, 0, 0.25])
    chances = {"NERR8@6": 1, "NERR9@6": ranks / (ranks + 1), "NERR10(p=0.7)": 0.7}
    for text, chance in {**chances, "NERR11(T=2)": ((ranks + 3) / (ranks + 4)) ** 2}.items():
        found = user_model(text).read(gains).continuation[0]
        assert found == pytest.approx(chance * (1 - gains), rel=1e-14)


def test_static_models_go_on_as_they_say() -> None:
    assert user_model("P@2").read([0, 1, 1]).continuation.tolist() == [[1.0, 0.0, 0.0]]
    assert user_model("RBP(p=0.25)").read([0, 1]).continuation.tolist() == [[0.25, 0.25]]
    ranks = np.arange(1, 7)
    insq = user_model("INSQ(T=2)").read(np.zeros(6)).continuation[0]
    assert insq == pytest.approx(((ranks + 3) / (ranks + 4)) ** 2)
    sdcg = user_model("SDCG@4").read(np.zeros(6)).continuation[0]
    wanted = np.log(ranks + 1) / np.log(ranks + 2) * (ranks < 4)
    assert sdcg == pytest.approx(wanted)


@settings(max_examples=12)
@given(st.floats(0.5, 1e6))
def test_trigamma(x: float) -> None:
    from scipy.special import zeta

    assert trigamma(x) == pytest.approx(float(zeta(2, x)), rel=1e-14)
    assert trigamma(np.inf) == 0


def test_weights_of_a_huge_cutoff_are_summed_without_all_ranks() -> None:
    cutoff = (1 << 20) + 300_000
    ranks = np.arange(1.0, cutoff + 1)
    found = ScaledDCG(cutoff=cutoff).compute_expected_depth(cutoff)
    np.testing.assert_allclose(found, math.fsum(1.0 / np.log2(ranks + 1.0)), rtol=1e-14)
    assert 3.5e7 < ScaledDCG(cutoff=10**9).compute_expected_depth(10**9) < 3.7e7


@pytest.mark.parametrize(
    "text", ["NERR8@1000000000", "NERR9@1048577", "Compat@1048577", "EU(P@1048577)"]
)
def test_a_cutoff_that_would_take_all_memory(text: str) -> None:
    with pytest.raises(cf.MeasureError, match="cutoff, which must be at most 1,048,576"):
        cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, text)
