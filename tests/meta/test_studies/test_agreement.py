"""The counts of Ferro and Sanderson (2022), section 3.3, on examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from cranfield.meta.test_studies.fast_tests import PairDecisions
from cranfield.meta.test_studies.splits import (
    COUNTS,
    URBANO_NAMES,
    agreement,
    publication_bias,
    split_topics,
)
from cranfield.scores import Scores

# Six systems would have 15 pairs; here are 11, each of a kind of its own.
# order on set 1, significant on set 1, order on set 2, significant on set 2, what it counts as
PAIRS = [
    (+1, True, +1, True, "AA"),
    (-1, True, -1, True, "AA"),
    (+1, True, -1, True, "AD"),
    (+1, True, +1, False, "MA"),
    (-1, False, -1, True, "MA"),
    (-1, True, -1, False, "MA"),
    (+1, True, -1, False, "MD"),
    (-1, False, +1, True, "MD"),
    (+1, True, 0, False, "MD"),  # equal means are not the same order
    (+1, False, +1, False, "neither"),
    (-1, False, +1, False, "neither"),
]


def verdict(orders: list[int], found: list[bool]) -> PairDecisions:
    return PairDecisions(np.array(orders, dtype=np.int8), np.array(found))


FIRST = verdict([p[0] for p in PAIRS], [p[1] for p in PAIRS])
SECOND = verdict([p[2] for p in PAIRS], [p[3] for p in PAIRS])


def test_by_hand() -> None:
    found = {name: float(values[0, 0]) for name, values in agreement([FIRST], [SECOND]).items()}
    assert [found[name] for name in (*COUNTS, "neither")] == [2, 1, 3, 3, 2]
    # Set 1 finds pairs 1, 2, 3, 4, 6, 7, 9; set 2 finds 1, 2, 3, 5, 8; three are the same.
    assert (found["significant first"], found["significant second"], found["significant both"]) == (
        7,
        5,
        3,
    )
    assert found["jaccard"] == 3 / 9
    assert found["overlap"] == 3 / 5
    assert found["bias"] == pytest.approx(1 - 2 / (2 + 1 + 3 / 2 + 3 / 2))


def test_of_several_tests_each_with_each() -> None:
    nothing = verdict([0] * 11, [False] * 11)
    found = agreement([FIRST, nothing], [SECOND, FIRST])
    assert found["AA"].tolist() == [[2, 7], [0, 0]]
    assert found["MD"].tolist() == [[3, 0], [5, 7]]
    assert np.isnan(found["tau"][1]).all()
    assert np.isnan(found["overlap"][1]).all()
    assert found["jaccard"][1].tolist() == [0, 0]
    none = agreement([nothing], [nothing])
    assert np.isnan([none[name][0, 0] for name in ("jaccard", "overlap", "bias")]).all()


@pytest.mark.parametrize(
    ("counts", "printed"),
    [
        # Table 6: MD1, MD2, MD3, MD2f, MD3f.
        ((1656.9, 0.0, 329.2, 0.0), 9.0),
        ((2846.6, 0.0, 559.6, 0.7), 9.0),
        ((4556.6, 5.8, 591.9, 114.2), 7.3),
        ((5620.9, 373.7, 0.0, 0.0), 6.2),
        ((5633.7, 360.3, 0.0, 0.0), 6.0),
        # Table 13: MD2, MD3. MD1 found nothing, which the source prints as 0.0%.
        ((12.3, 0.0, 7.8, 0.1), 24.3),
        ((31.9, 0.9, 5.1, 2.9), 13.3),
        # Table 14: MD2, MD3.
        ((0.0, 0.0, 1.5, 0.5), 100.0),
        ((16.4, 2.0, 9.9, 5.1), 36.7),
    ],
)
def test_bias_of_the_printed_counts(counts: tuple[float, ...], printed: float) -> None:
    assert round(100 * publication_bias(*counts), 1) == printed


def test_bias_of_nothing_is_no_number() -> None:
    assert np.isnan(publication_bias(0, 0, 0, 0))


@st.composite
def two_verdicts(draw: st.DrawFn) -> tuple[PairDecisions, PairDecisions]:
    size = draw(st.integers(1, 30))
    one = [draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=size, max_size=size))]
    one.append(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=size, max_size=size)))
    flags = [draw(st.lists(st.booleans(), min_size=size, max_size=size)) for _ in range(2)]
    return verdict(one[0], flags[0]), verdict(one[1], flags[1])


@given(two_verdicts())
def test_partition_and_definition(pair: tuple[PairDecisions, PairDecisions]) -> None:
    first, second = pair
    found = {name: float(values[0, 0]) for name, values in agreement([first], [second]).items()}
    assert sum(found[name] for name in (*COUNTS, "neither")) == first.order.size
    naive = dict.fromkeys((*COUNTS, "neither"), 0)
    for a, s, b, t in zip(
        first.order, first.is_significant, second.order, second.is_significant, strict=True
    ):
        same = int(a) * int(b) > 0
        kind = ("AA" if same else "AD") if s and t else ("MA" if same else "MD")
        naive[kind if s or t else "neither"] += 1
    assert {name: found[name] for name in naive} == naive
    if found["significant both"]:
        assert 0 < found["jaccard"] <= found["overlap"] <= 1
    assert np.isnan(found["bias"]) or 0 <= found["bias"] <= 1
    swapped = {name: float(values[0, 0]) for name, values in agreement([second], [first]).items()}
    for name in (*COUNTS, "neither", "significant both"):
        assert swapped[name] == found[name]


def test_tau_is_that_of_the_means() -> None:
    random = np.random.default_rng(5)
    one, other = random.integers(0, 8, size=(2, 12))
    i, j = np.triu_indices(12, 1)
    verdicts = [
        PairDecisions(np.sign(x[i] - x[j]).astype(np.int8), np.zeros(i.size, dtype=bool))
        for x in (one, other)
    ]
    expected = kendalltau(one, other).statistic
    assert agreement(verdicts[:1], verdicts[1:])["tau"][0, 0] == pytest.approx(expected, abs=1e-14)


def test_names_of_others() -> None:
    scores = Scores(np.random.default_rng(1).random((8, 3)), tuple("abcdefgh"), tuple("xyz"))
    table = split_topics(scores, ["t"], sizes=[3], repeats=2).summarise_as_urbano()
    assert set(URBANO_NAMES.values()) < set(table.columns)
    assert not set(COUNTS) & set(table.columns)
