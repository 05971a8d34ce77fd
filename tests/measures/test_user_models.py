"""The vectors of the framework, C, V, W and L, and sums that have no loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.base.errors import MeasureError
from cranfield.measures.users import continuation as cwl
from cranfield.measures.users.reading import trigamma
from cranfield.measures.users.users_of_measures import user_model

chances = st.lists(st.floats(0, 1), min_size=1, max_size=30)
positive = st.lists(st.floats(0.01, 1), min_size=1, max_size=30)


@settings(max_examples=12)
@given(chances)
def test_weights_and_last_ranks_are_distributions(going_on: list[float]) -> None:
    weights = cwl.weights_from_continuation(going_on)
    last = cwl.last_from_weights(weights)
    assert weights.sum() == pytest.approx(1)
    assert last.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    assert (last >= 0).all()
    assert cwl.last_from_continuation(going_on) == pytest.approx(last, abs=1e-12)
    reached = 1.0
    for rank, chance in enumerate([*going_on[:-1], 0.0]):
        assert last[rank] == pytest.approx(reached * (1 - chance), abs=1e-12)
        reached *= chance


@settings(max_examples=12)
@given(positive)
def test_each_vector_gives_the_others(going_on: list[float]) -> None:
    weights = cwl.weights_from_continuation(going_on)
    again = cwl.continuation_from_weights(weights)
    assert again[:-1] == pytest.approx(going_on[:-1], rel=1e-9)
    assert again[-1] == 0
    assert cwl.weights_from_continuation(again) == pytest.approx(weights, rel=1e-9)
    last = cwl.last_from_weights(weights)
    assert cwl.weights_from_continuation(cwl.continuation_from_last(last)) == pytest.approx(
        weights, abs=1e-9
    )


def test_many_at_once() -> None:
    table = np.array([[0.5, 0.25, 1.0], [1.0, 0.0, 0.5], [0.9, 0.9, 0.0]])
    for convert in (
        cwl.viewed,
        cwl.weights_from_continuation,
        cwl.last_from_continuation,
        lambda c: cwl.last_from_weights(cwl.weights_from_continuation(c)),
        lambda c: cwl.continuation_from_last(cwl.last_from_continuation(c)),
    ):
        together = convert(table)
        assert together.shape == table.shape
        for row, alone in zip(together, table, strict=True):
            assert np.array_equal(row, convert(alone))


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cwl.weights_from_continuation([]), "at least one number"),
        (lambda: cwl.weights_from_continuation(0.5), "at least one number"),
        (lambda: cwl.weights_from_continuation(["a"]), "not a vector of numbers"),
        (lambda: cwl.weights_from_continuation([0.5, 1.5]), "not from 0 to 1"),
        (lambda: cwl.weights_from_continuation([0.5, np.nan]), "not from 0 to 1"),
        (lambda: cwl.last_from_weights([0.4, 0.6]), "weights rise"),
        (lambda: cwl.last_from_weights([[0.5, 0.5], [0.4, 0.6]]), "weights rise"),
        (lambda: cwl.continuation_from_weights([0.4, 0.4]), "add up to 0.8"),
        (lambda: cwl.continuation_from_last([0.4, 0.4]), "last add up to 0.8"),
    ],
)
def test_wrong_vectors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        call()
