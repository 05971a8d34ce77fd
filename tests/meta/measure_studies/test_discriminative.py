"""Discriminative power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.meta.measure_studies.discriminative import discriminative_power
from cranfield.scores import Scores
from tests.significance.helpers import scored


def some_measures(seed: int = 0) -> dict[str, Scores]:
    """A sharp measure and a blurred one of the same systems."""
    random = np.random.default_rng(seed)
    systems = np.linspace(0.2, 0.7, 6) + random.normal(0, 0.05, (20, 6))
    return {"blurred": scored(systems + random.normal(0, 0.3, (20, 6))), "sharp": scored(systems)}


def test_an_example_by_hand() -> None:
    """Sign tests of ten topics: 10 wins of 10 have p = 2/1024, 9 of 10 p = 22/1024."""
    up = np.ones(10)
    nine = up.copy()
    nine[0] = -1
    clear = scored(np.stack([up * 0, up, 3 * up], axis=1))
    nearly = scored(np.stack([nine * 0, nine, 3 * nine], axis=1))
    same = scored(np.zeros((10, 3)))
    given_ = {"same": same, "nearly": nearly, "clear": clear}
    found = discriminative_power(given_, test="sign", correction="none", alpha=0.02)
    assert found.summary.rows() == [
        ("clear", 3, 3, 1.0, 1.0, None, 2 / 1024),
        ("nearly", 3, 0, 0.0, None, pytest.approx(2.4), 22 / 1024),
        ("same", 3, 0, 0.0, None, 0.0, 1.0),
    ]
    assert found.measures == ("same", "nearly", "clear")
    assert found.curves["measure"].unique(maintain_order=True).to_list() == [*given_]
    assert found.seed is None and found.resamples is None
    assert found.n_topics == {"same": 10, "nearly": 10, "clear": 10}
    at_5 = discriminative_power(given_, test="sign", correction="none", alpha=0.05)
    assert at_5.summary["measure", "significant"].rows() == [
        ("clear", 3),
        ("nearly", 3),
        ("same", 0),
    ]
    assert repr(at_5) == (
        "DiscriminativePower(3 measures, 3 systems, 10 topics; test sign, correction none,"
        " alpha 0.05)"
    )


@pytest.mark.parametrize(
    ("test", "correction"),
    [("randomisation", "randomised-tukey"), ("bootstrap", "none"), ("t", "bh"), ("anova", "hsd")],
)
def test_pvalues_are_those_of_compare(test: str, correction: str) -> None:
    given_ = some_measures()
    found = discriminative_power(given_, test=test, correction=correction, resamples=300, seed=5)
    for name, scores in given_.items():
        alone = cf.compare(scores, test=test, correction=correction, resamples=300, seed=5)
        mine = found.pairs.filter(measure=name)
        np.testing.assert_array_equal(mine["p"], alone.adjusted_pvalues)
        np.testing.assert_array_equal(mine["difference"], alone.difference)
        assert mine["first"].to_list() == [alone.systems[k] for k in alone.first]
        curve = found.curves.filter(measure=name)
        np.testing.assert_array_equal(curve["p"], np.sort(alone.adjusted_pvalues))
        assert curve["rank"].to_list() == list(range(1, 16))
        row = found.summary.filter(measure=name).row(0, named=True)
        significant = alone.adjusted_pvalues <= 0.05
        assert row["significant"] == alone.count()
        assert row["power"] == pytest.approx(significant.mean())
        assert row["smallest significant"] == np.abs(alone.difference)[significant].min()
        rest = np.abs(alone.difference)[~significant]
        assert row["largest not"] == (rest.max() if rest.size else None)
    assert found.summary["measure"].to_list() == ["sharp", "blurred"]


def test_randomised_tukey_has_one_threshold() -> None:
    rows = discriminative_power(some_measures(), resamples=300).summary
    known = rows.drop_nulls()
    assert known.height and (known["smallest significant"] > known["largest not"]).all()


@given(st.integers(0, 50), st.floats(0.25, 8), st.floats(-2, 2))
@settings(max_examples=15, deadline=None)
def test_names_order_and_units_do_not_matter(seed: int, unit: float, origin: float) -> None:
    """Permutation tests know the order of systems, the t-test does not."""
    plain = some_measures(seed)["sharp"]
    order = np.random.default_rng(seed).permutation(6)
    other = Scores(
        unit * plain.values[:, order] + origin,
        plain.topics,
        tuple(f"x{plain.systems[k]}" for k in order),
        lower_is_better=True,
    )
    mine, theirs = (
        discriminative_power({"M": one}, test="t", correction="none").summary.row(0, named=True)
        for one in (plain, other)
    )
    assert mine["significant"] == theirs["significant"]
    assert mine["mean p"] == pytest.approx(theirs["mean p"], rel=1e-6)
    assert theirs["smallest significant"] == pytest.approx(unit * mine["smallest significant"])


def test_the_same_random_numbers_for_each_measure() -> None:
    """A measure in another unit, or under another name, has the same p-values to the bit."""
    plain = some_measures()["blurred"]
    twice = scored(2 * plain.values)
    found = discriminative_power({"one": plain, "other": twice}, resamples=200)
    one, other = (found.pairs.filter(measure=name)["p"] for name in ("one", "other"))
    assert one.equals(other)
    again = discriminative_power({"one": plain}, resamples=200, seed=1)
    assert not again.pairs["p"].equals(one)


def test_measures_are_put_in_the_same_order() -> None:
    """Else permutations of the same seed would be of other topics."""
    plain = some_measures()["blurred"]
    turned = Scores(plain.values[::-1, ::-1], plain.topics[::-1], plain.systems[::-1])
    found = discriminative_power({"one": plain, "other": turned}, resamples=200)
    one, other = (found.pairs.filter(measure=name).drop("measure") for name in ("one", "other"))
    assert one.equals(other)


def test_missing_scores() -> None:
    values = some_measures()["sharp"].values.copy()
    values[3, 2] = np.nan
    found = discriminative_power({"M": scored(values)}, resamples=50, missing="drop")
    assert found.n_topics == {"M": 19} and found.missing == "drop"
    assert found.notes["M"][0] == "1 topic excluded: no score of some systems"


def test_scores_by_shard() -> None:
    values = np.random.default_rng(1).random((8, 3, 2)) + np.arange(3)[:, None]
    scores = Scores(values, tuple(map(str, range(8))), ("a", "b", "c"))
    found = discriminative_power({"M": scores}, test="anova-3", correction="tukey")
    assert found.summary["significant"].to_list() == [3]
