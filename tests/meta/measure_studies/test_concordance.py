"""The concordance test."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import cranfield as cf
from cranfield.meta.measure_studies.concordance import Concordance, concordance
from cranfield.scores import Scores
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from tests.significance.helpers import scored

GRADES = arrays(np.int64, (5, 3, 4), elements=st.integers(0, 3))


def measures(values: Any) -> dict[str, Scores]:
    """Three candidates A, B, C and two gold measures G, H."""
    return {name: scored(one) for name, one in zip("ABCGH", values, strict=True)}


def figure_17(
    one: np.ndarray, other: np.ndarray, gold: list[np.ndarray]
) -> tuple[int, int, int, int]:
    """Count as figure 17 of Sakai (2013) says, loop by loop; also where both are concordant."""
    disagreements = concordant = concordant_2 = both = 0
    for x, y in combinations(range(one.shape[1]), 2):
        for q in range(one.shape[0]):
            d1, d2 = one[q, x] - one[q, y], other[q, x] - other[q, y]
            if d1 * d2 < 0:
                disagreements += 1
                c1 = all(d1 * (g[q, x] - g[q, y]) >= 0 for g in gold)
                c2 = all(d2 * (g[q, x] - g[q, y]) >= 0 for g in gold)
                concordant += c1
                concordant_2 += c2
                both += c1 and c2
    return disagreements, concordant, concordant_2, both


def row(found: Concordance, first: str, second: str) -> dict[str, Any]:
    [one] = [
        r for r in found.pairs.iter_rows(named=True) if (r["first"], r["second"]) == (first, second)
    ]
    return one


def test_an_example_by_hand() -> None:
    """One topic, three runs: A orders x > y > z, B the reverse; G ties x and y, above z."""
    found = concordance(
        {"A": scored([[3, 2, 1]]), "B": scored([[1, 2, 3]]), "G": scored([[1, 1, 0]])}, "G"
    )
    assert found.measures == ("A", "B") and found.gold == ("G",)
    assert found.pairs.row(0, named=True) == {
        "first": "A",
        "second": "B",
        "compared": 3,
        "missing": 0,
        "disagreements": 3,
        "first concordant": 3,
        "second concordant": 1,
        "first proportion": 1.0,
        "second proportion": pytest.approx(1 / 3),
        "first wins": 2,
        "second wins": 0,
        "both concordant": 1,
        "neither": 0,
        "p": 0.5,
    }
    assert found.matrix().rows() == [("A", "100%/33% (3)")]
    assert repr(found) == "Concordance(2 measures against G, 3 systems, 1 topic)"


@given(GRADES)
@settings(max_examples=20, deadline=None)
def test_figure_17_with_one_and_two_gold_measures(values: np.ndarray) -> None:
    given_ = measures(values)
    for gold in (["G"], ["G", "H"]):
        some = {name: given_[name] for name in ("A", "B", "C", *gold)}
        found = concordance(some, gold)
        for first, second in combinations("ABC", 2):
            wanted = figure_17(
                given_[first].values, given_[second].values, [given_[g].values for g in gold]
            )
            one = row(found, first, second)
            names = ("disagreements", "first concordant", "second concordant", "both concordant")
            assert tuple(one[name] for name in names) == wanted
            assert one["first wins"] == wanted[1] - wanted[3]
            assert one["second wins"] == wanted[2] - wanted[3]
            parts = one["first wins"] + one["second wins"] + one["both concordant"] + one["neither"]
            assert parts == one["disagreements"]
            assert one["compared"] == 18
            if wanted[0]:
                assert one["first proportion"] == wanted[1] / wanted[0]
            else:
                assert one["first proportion"] is None
            if len(gold) == 1:
                # Of two that disagree, one at least is concordant with any single measure.
                assert one["neither"] == 0


@given(GRADES, st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_order_names_and_units_do_not_matter(values: np.ndarray, random: Any) -> None:
    plain = measures(values)
    rows, columns = random.sample(range(3), 3), random.sample(range(4), 4)
    turned = {}
    for number, (name, one) in enumerate(plain.items()):
        # Each measure in an order of its own, in another unit, the second better when low.
        ways = (rows, columns) if number % 2 else (rows[::-1], columns)
        low = name == "B"
        turned[name] = Scores(
            (one.values * (0.1 + number) * (-1 if low else 1) + 0.3)[np.ix_(*ways)],
            tuple(one.topics[k] for k in ways[0]),
            tuple(one.systems[k] for k in ways[1]),
            lower_is_better=low,
        )
    assert (
        concordance(turned, ["G", "H"]).pairs.rows() == concordance(plain, ["G", "H"]).pairs.rows()
    )


def test_rounding_is_a_tie() -> None:
    a = scored([[0.1 + 0.2, 0.3]])
    b = scored([[0.0, 1.0]])
    assert concordance({"A": a, "B": b}, scored([[1, 0]])).pairs["disagreements"][0] == 0
    # A gold measure that ties is concordant with both.
    found = concordance({"B": b, "C": scored([[1, 0]])}, a)
    assert found.pairs.select("disagreements", "both concordant").row(0) == (1, 1)


def test_missing_scores_are_counted() -> None:
    a, b, g = [[3.0, 2, 1]], [[1.0, 2, 3]], [[1.0, 1, 0]]
    a[0][0] = np.nan
    found = concordance({"A": scored(a), "B": scored(b)}, scored(g))
    assert found.pairs.select("compared", "missing", "disagreements").row(0) == (1, 2, 1)
    g[0][2] = np.nan
    found = concordance({"A": scored(b), "B": scored(b)}, scored(g))
    assert found.pairs.select("compared", "missing", "disagreements").row(0) == (1, 2, 0)
    assert found.pairs["first proportion"][0] is None and found.pairs["p"][0] == 1.0
    assert found.matrix().rows() == [("A", "- (0)")]


def test_sign_test_against_scipy() -> None:
    wins, losses = (k.ravel() for k in np.meshgrid(np.arange(13), np.arange(13)))
    wanted = [
        stats.binomtest(int(a), int(a + b)).pvalue if a + b else 1.0
        for a, b in zip(wins, losses, strict=True)
    ]
    np.testing.assert_allclose(compute_binomial_pvalues(wins, losses), wanted, rtol=1e-12)


def test_table_2_hangs_together() -> None:
    """Sakai (2013): 1106 disagreements, 70% and 29%, 592 and 130 wins, significant at 0.01.

    How often both were concordant is not printed. There is a number that gives what is; with 186
    of them the shares, the wins (54% and 12%, footnote 21) and the mark come out.
    """
    fitting = [
        both
        for both in range(1106 - 592 - 130 + 1)
        if (round(100 * (592 + both) / 1106), round(100 * (130 + both) / 1106)) == (70, 29)
    ]
    assert fitting == [186, 187]
    kinds = np.repeat([0, 1, 2, 3], [592, 130, 186, 1106 - 592 - 130 - 186])
    # A topic a disagreement: the first measure prefers x, the other one y; what the gold measures
    # prefer decides who is concordant.
    up, down = np.tile([1.0, 0.0], (1106, 1)), np.tile([0.0, 1.0], (1106, 1))
    none = np.zeros((1106, 2))
    one = np.choose(kinds[:, None], [up, down, none, up])
    other = np.choose(kinds[:, None], [none, down, none, down])
    found = concordance(
        {"D#-nDCG": scored(up), "ERR-IA": scored(down)}, {"I-rec": scored(one), "P": scored(other)}
    )
    assert found.matrix().rows() == [("D#-nDCG", "70%/29%‡ (1106)")]
    row_ = found.pairs.row(0, named=True)
    assert (row_["first wins"], row_["second wins"]) == (592, 130)
    assert (round(100 * 592 / 1106), round(100 * 130 / 1106)) == (54, 12)
    assert row_["p"] == pytest.approx(stats.binomtest(130, 722).pvalue, rel=1e-9)


def test_names_as_an_evaluation_knows_them() -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:5], covid.qrels, ["P@5", "RR", "nDCG@10"])
    by_alias = concordance(ev, "P_5")
    assert by_alias.gold == ("P@5",) and by_alias.measures == ("RR", "nDCG@10")
    by_object = concordance(dict(ev), ev.measures[0])
    assert by_object.pairs.equals(by_alias.pairs)
    from_table = concordance(ev.to_polars(), "P@5")
    assert from_table.pairs.equals(by_alias.pairs)


def test_a_measure_may_be_called_measure() -> None:
    found = concordance(
        {"a": scored([[1, 0]]), "measure": scored([[0, 1]])}, {"g": scored([[1, 0]])}
    )
    assert found.matrix().columns == ["measure", "measure "]
