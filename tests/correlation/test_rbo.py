"""Rank-biased overlap against other implementations and the definitions written out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import CranfieldError, CranfieldWarning, PolicyError
from cranfield.correlation import RBO, overlap, rbo, rbo_of_runs, rbo_of_scores
from tests.conftest import DATA

RUN = cf.read_run({"q1": {"a": 1}})
ALPHABET = [*"abcdefghijklmnopqrstuvwxyz"]
CASES = [
    json.loads(line) for line in (DATA / "correlation" / "rbo_ties.jsonl").read_text().splitlines()
]


def _ranking(text: str) -> list[Any]:
    found = re.finditer(r"\(([^)]*)\)|(\S+)", text)
    return [set(one[1].split()) if one[1] else one[2] for one in found]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("ties", ["w", "a", "b"])
def test_the_authors_values_with_ties(case: dict[str, Any], ties: str) -> None:
    for one, other in (("first", "second"), ("second", "first")):
        found = rbo(_ranking(case[one]), _ranking(case[other]), case["p"], ties=ties)
        values = (found.ext, found.min, found.max, found.res)
        # Theirs stop their endless sums at 1e-12.
        np.testing.assert_allclose(values, case[ties], atol=5e-12)


# Against the alphabet, by Webber's own program, as in the tests of the Rust crate rbo (mpetri/rbo).
@pytest.mark.parametrize(
    ("letters", "p", "ext"),
    [
        ("karfvodcjmwgzlypebunq", 0.9, 0.468431),
        ("f", 0.9, 0.053090),
        ("auzemcwhrtjvbfqxyk", 0.4, 0.772647),
        ("av", 0.2, 0.900000),
        ("cuxbflnmoj", 0.1, 0.003491),
    ],
)
def test_uneven_rankings_by_webbers_program(letters: str, p: float, ext: float) -> None:
    assert rbo([*letters], ALPHABET, p).ext == pytest.approx(ext, abs=5.1e-7)


def _naive(one: list[Any], other: list[Any], p: float) -> tuple[float, float]:
    """Webber, Moffat and Zobel: equation 32, and the long sum."""
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)
    x = {d: len(set(short[:d]) & set(long[:d])) for d in range(1, n + 1)}
    ext = (1 - p) / p * (
        sum(x[d] / d * p**d for d in range(1, n + 1))
        + sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    ) + ((x[n] - x[s]) / n + x[s] / s) * p**n
    return ext, (1 - p) * sum(p ** (d - 1) * x[min(d, n)] / d for d in range(1, 1500))


RANKINGS = st.lists(st.integers(0, 12), min_size=1, max_size=10, unique=True)
P = st.sampled_from([0.05, 0.5, 0.8, 0.9, 0.98])
TIES = st.sampled_from("wab")


@given(RANKINGS, RANKINGS, P, TIES)
@settings(max_examples=25)
def test_the_equations_written_out(one: list[int], other: list[int], p: float, ties: str) -> None:
    ext, least = _naive(one, other, p)
    found = rbo(one, other, p, ties=ties)
    assert found.ext == pytest.approx(ext, abs=1e-12)
    assert found.min == pytest.approx(least, abs=1e-12)
    assert found.res == pytest.approx(_most(one, other, p) - least, abs=1e-12)


def _most(one: list[int], other: list[int], p: float) -> float:
    """The highest value: each ranking goes on with what it lacks of the other, then with new."""
    more = [item for item in other if item not in one], [item for item in one if item not in other]
    new = [f"new {k}" for k in range(1500)]
    a, b = one + more[0] + new, other + more[1] + new
    seen: set[Any] = set()
    x, total = 0, 0.0
    for d, pair in enumerate(zip(a, b, strict=False), 1):
        for item in pair:
            x += item in seen
            seen.add(item)
        total += (1 - p) * p ** (d - 1) * x / d
    return total


@st.composite
def tied(draw: st.DrawFn) -> list[list[int]]:
    items = draw(st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True))
    cuts = draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    groups: list[list[int]] = []
    for item, cut in zip(items, cuts, strict=True):
        if cut or not groups:
            groups.append([])
        groups[-1].append(item)
    return groups


def _orders(ranking: list[list[int]]) -> list[list[int]]:
    ways = product(*(permutations(group) for group in ranking))
    return [[item for group in way for item in group] for way in ways]


@given(tied(), tied(), P)
@settings(max_examples=30)
def test_a_is_the_mean_over_all_breakings(
    one: list[list[int]], other: list[list[int]], p: float
) -> None:
    if len(_orders(one)) > 12 or len(_orders(other)) > 12:
        return
    values = [_naive(a, b, p) for a in _orders(one) for b in _orders(other)]
    found = rbo(one, other, p, ties="a")
    assert found.min == pytest.approx(np.mean([v[1] for v in values]), abs=1e-12)
    if len(_orders(one)[0]) == len(_orders(other)[0]):
        # Of uneven rankings the extrapolation multiplies two means.
        assert found.ext == pytest.approx(np.mean([v[0] for v in values]), abs=1e-12)


@given(tied(), tied(), P, TIES)
@settings(max_examples=40)
def test_bounds_and_symmetry(
    one: list[list[int]], other: list[list[int]], p: float, ties: str
) -> None:
    found = rbo(one, other, p, ties=ties)
    assert 0 <= found.min <= found.ext <= found.max + 1e-15 <= 1 + 1e-12
    back = rbo(other, one, p, ties=ties)
    np.testing.assert_allclose(
        (found.ext, found.min, found.res), (back.ext, back.min, back.res), atol=1e-14
    )
    renamed = [[[f"d{item * 31 % 97}" for item in group] for group in r] for r in (one, other)]
    assert rbo(renamed[0], renamed[1], p, ties=ties) == found
    backwards = rbo([group[::-1] for group in one], other, p, ties=ties)
    np.testing.assert_allclose(backwards.ext, found.ext, atol=1e-14)
    if ties == "a":
        assert found.ext <= rbo(one, other, p, ties="b").ext + 1e-12


def test_scores_are_rankings() -> None:
    x, y = [0.1, 0.9, 0.5, 0.5, -0.0], [3, 1, 3, 2, 3]
    for ties in ("w", "a", "b"):
        by_score = rbo_of_scores(x, y, 0.7, ties=ties)
        assert by_score == rbo(
            ["b", ("c", "d"), "a", "e"], [["a", "c", "e"], "d", "b"], 0.7, ties=ties
        )
        named = [dict(zip("abcde", scores, strict=True)) for scores in (x, y)]
        assert rbo(named[0], named[1], 0.7, ties=ties) == by_score


def test_extreme_persistence() -> None:
    one, other = [*"abc"], [*"acd"]
    assert rbo(one, other, 1e-300).ext == pytest.approx(1)
    near = rbo(one, other, 1 - 1e-12)
    assert near.ext == pytest.approx(2 / 3) and near.max == pytest.approx(1)
    assert repr(rbo(one, other)) == "RBO(ext=0.6850, min=0.3667, res=0.5613, p=0.9)"
    assert isinstance(rbo(one, other), RBO)


@pytest.mark.parametrize("p", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("depth", [1, 10, 1000])
def test_the_endless_sum(p: float, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    added_up = overlap._sum_tail.__wrapped__(p, depth)
    monkeypatch.setattr(overlap, "MAX_TERMS", 0)
    assert overlap._sum_tail.__wrapped__(p, depth) == pytest.approx(added_up, abs=1e-14)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        (["a", "b", "a"], "items of a ranking must be unique, got 'a' twice"),
        ([["a", "a"]], "items of a ranking must be unique, got 'a' twice"),
        ([], "got an empty ranking"),
        (["a", []], "got an empty tie group"),
        ("abc", "a ranking must be a sequence of ids, got 'abc'"),
        ({"a", "b"}, "a ranking must be a sequence of ids, or ids with scores, got set"),
        (5, "a ranking must be a sequence of ids, or ids with scores, got int"),
        (None, "got NoneType"),
        ([{"a": 1}], "an id must be hashable, got"),
        ({"a": "x"}, "score of 'a' must be a number, got 'x'"),
        ({"a": math.nan}, "score of 'a' must be a number, got 'nan'"),
        (pd.Series({"bm25": 0.3, "dense": 0.5}), "got floats; pass a mapping"),
        ([1, "1"], "must be unique, got '1' twice"),
    ],
)
def test_what_is_no_ranking_is_refused(ranking: Any, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        rbo(["a", "b"], ranking)
    with pytest.raises(CranfieldError, match=message):
        rbo(ranking, ["a", "b"])


def test_ids_are_text() -> None:
    # Of two equal rankings of three items, the overlap is complete at each depth.
    assert rbo([1, 2, 3], ["1", "2", "3"]).ext == pytest.approx(1.0)
    assert rbo({1: 0.5, 2.0: 0.4}, np.array([1, 2])).ext == pytest.approx(1.0)
    assert rbo(pd.Series(["a", "b"]), ["a", "b"]).ext == pytest.approx(1.0)


def test_numbers_and_names_have_nothing_in_common() -> None:
    with pytest.warns(CranfieldWarning, match="the ids of only one ranking are numbers"):
        assert rbo([0, 1], ["d1", "d2"]).ext == 0.0
    # Rankings of other documents, and ids of both kinds, are quiet.
    assert rbo(["a", "b"], ["c", "d"]).ext == rbo([1, 2], [3, 4]).ext == 0.0
    assert rbo([1, "a"], ["b", "c"]).ext == 0.0


def test_series_are_paired_by_label() -> None:
    scores = pd.Series({"bm25": 0.3, "dense": 0.5, "splade": 0.4})
    assert rbo(scores.to_dict(), ["dense", "splade", "bm25"]).ext == pytest.approx(1.0)
    assert rbo_of_scores(scores, scores.sort_values()).ext == pytest.approx(1.0)


def rbo_with(p: Any) -> RBO:
    return rbo(["a"], ["a"], p)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (partial(rbo_with, p), "p must be a number between 0 and 1")
            for p in (0, 1, 1.5, -0.1, math.nan, "x", None, True)
        ),
        (lambda: rbo(["a"], ["a"], ties="c"), "unknown ties 'c'; expected one of: a, b, w"),
        (lambda: rbo_of_runs(RUN, {}), "expected a run from cranfield.read_run, got dict"),  # type: ignore[arg-type]
        (lambda: rbo_of_runs(RUN, cf.read_qrels({"q1": {"a": 1}})), "read_run, got Qrels"),
        (lambda: rbo_of_runs(RUN, RUN, 2), "p must be"),
    ],
)
def test_options_are_checked(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        call()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, math.nan], [1, 2], "scores must be numbers, got NaN"),
        ([], [], "at least one item"),
        ([[1, 2], [2, 1]], [1, 2], "have shape"),
    ],
)
def test_scores_are_checked(x: Any, y: Any, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        rbo_of_scores(x, y)


def _scores(rng: np.random.Generator, docs: int, levels: int) -> dict[str, float]:
    names = rng.permutation(40)[:docs]
    return {f"d{k}": float(rng.integers(-levels, levels)) for k in names}


@pytest.mark.parametrize("ties", ["w", "a", "b"])
@pytest.mark.parametrize("levels", [2, 1000])
def test_each_topic_is_that_of_its_rankings(ties: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    one = {f"q{k}": _scores(rng, int(rng.integers(1, 30)), levels) for k in range(8)}
    other = {f"q{k}": _scores(rng, int(rng.integers(1, 30)), levels) for k in (9, 7, 5, 3, 1)}
    found = rbo_of_runs(cf.read_run(one), cf.read_run(other), 0.8, ties=ties)
    assert found["topic"].to_list() == [*(f"q{k}" for k in range(8)), "q9"]
    for row in found.iter_rows(named=True):
        topic = row["topic"]
        assert row["first"] == len(one.get(topic, {}))
        assert row["second"] == len(other.get(topic, {}))
        if topic in one and topic in other:
            expected = rbo(one[topic], other[topic], 0.8, ties=ties)
            values = (row["ext"], row["min"], row["res"])
            np.testing.assert_allclose(values, (expected.ext, expected.min, expected.res))
        else:
            assert row["ext"] is row["min"] is row["res"] is None


def test_zeros_of_both_signs_are_tied() -> None:
    one, other = (cf.read_run({"q": {"a": 0.0, "b": zero}}) for zero in (0.0, -0.0))
    assert rbo_of_runs(one, other, ties="w")["ext"].to_list() == [pytest.approx(1.0)]
    # Runs without common topics.
    assert rbo_of_runs(RUN, one)["ext"].to_list() == [None, None]
