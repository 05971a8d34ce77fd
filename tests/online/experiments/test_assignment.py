"""Assignment by hash, against published vectors and the definition written out."""

from __future__ import annotations

from hashlib import md5

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.base.errors import PolicyError
from cranfield.online.experiments.design import HASHES, Experiment, check_assignment, hash_fnv1a

# Of GrowthBook's kits (MIT), cases.json of its SDKs: seed, value, hash; and of MD5 by hand.
VECTORS = [
    ("growthbook-1", "", "a", 0.22),
    ("growthbook-1", "", "b", 0.077),
    ("growthbook-1", "asdf", "8952klfjas09ujk", 0.549),
    ("growthbook-1", "", '___)((*":&', 0.563),
    ("growthbook-2", "seed", "a", 0.0505),
    ("growthbook-2", "foo", "ab", 0.2575),
    ("growthbook-2", "89123klj", "8952klfjas09ujkasdf", 0.124),
    ("growthbook-2", "()**(%$##$%#$#", '___)((*":&', 0.0128),
]


@pytest.mark.parametrize(("preset", "seed", "value", "expected"), VECTORS)
def test_published_vectors(preset: str, seed: str, value: str, expected: float) -> None:
    assert HASHES[preset](seed, pl.Series([value])).tolist() == [expected]


def test_reference_numbers() -> None:
    found = Experiment("exp").hash_values(["u1", "u2"]).tolist()
    assert found == [0.4437705888488707, 0.22145970977271448]
    assert Experiment("exp2").hash_values(["u1"]).tolist() == [0.38957723334068844]


@settings(max_examples=30)
@given(st.lists(st.text("aZ09 _-:\x7fü\u0301漢😀", max_size=8), min_size=1, max_size=6))
def test_fnv1a_is_a_loop_over_characters(texts: list[str]) -> None:
    def naive(text: str) -> int:
        found = 0x811C9DC5
        for one in text:
            found = ((found ^ ord(one)) * 0x01000193) % 2**32
        return found

    assert hash_fnv1a(pl.Series(texts, dtype=pl.String)).tolist() == [naive(one) for one in texts]


def test_assignment_is_the_definition_written_out() -> None:
    weights = {"a": 0.2, "b": 0.5, "c": 0.3}
    one = Experiment("new ranker", weights, layer="search", traffic=(0.1, 0.6))
    units = [f"ü{k}" for k in range(2000)]

    def u(salt: str, unit: str) -> float:
        return int.from_bytes(md5(f"{salt}\x1f{unit}".encode()).digest()[:8], "big") / 2**64

    def variant(unit: str) -> str | None:
        if not 0.1 <= u("search", unit) < 0.6:
            return None
        place = u("new ranker", unit)
        return "a" if place < 0.2 else "b" if place < 0.7 else "c"

    assert one.assign(units).to_list() == [variant(unit) for unit in units]
    assert one.assign(units[::-1]).to_list() == one.assign(units).to_list()[::-1]


def test_experiments_of_one_layer_share_no_unit_and_split_it() -> None:
    first = Experiment("a", layer="x", traffic=(0, 0.5)).assign(range(1000))
    second = Experiment("b", layer="x", traffic=(0.5, 1)).assign(range(1000))
    assert (first.is_null() != second.is_null()).all()


def test_growthbook_coverage_keeps_variants() -> None:
    """More traffic adds units, and moves none; ranges start where weights do."""
    whole = Experiment("e", hash="growthbook-2").assign(range(3000))
    part = Experiment("e", hash="growthbook-2", traffic=0.4).assign(range(3000))
    assert part.drop_nulls().len() == pytest.approx(1200, abs=120)
    assert whole.filter(part.is_not_null()).equals(part.drop_nulls())


def test_hashes_are_uniform_and_experiments_independent() -> None:
    experiments = [Experiment("one"), Experiment("two", ["x", "y", "z"]), Experiment("three")]
    found = check_assignment(experiments, range(20_000))
    assert found.height == 9
    assert (found["p"] > 0.001).all()
    # The same salt twice: as dependent as can be.
    same = check_assignment([Experiment("one"), Experiment("one", ["x", "y"])], range(1000))
    assert same["p"][-1] < 1e-100


def test_units_may_be_numbers() -> None:
    assert Experiment("e").assign([]).len() == 0
    assert Experiment("e").assign(np.array([1, 2])).equals(Experiment("e").assign(["1", "2"]))


@pytest.mark.parametrize("hash", ["growthbook-1", "growthbook-2"])
def test_coverage_is_a_proportion(hash: str) -> None:
    with pytest.raises(PolicyError, match="traffic must be a proportion.* got 0.2 to 0.8"):
        Experiment("e", hash=hash, traffic=(0.2, 0.8))
    assert Experiment("e", hash=hash, traffic=(0.2, 0.8), layer="l").assign(["1", "2"]).len() == 2
