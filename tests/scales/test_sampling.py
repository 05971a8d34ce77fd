"""Ranks estimated from a sample, against enumeration by plain loops and against exact images."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, PolicyError
from cranfield.measures import parse_measure
from cranfield.scales.forms.exact_values import Walk
from cranfield.scales.forms.form import Stateful, limit_relevant
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.images import sampling, windows
from cranfield.scales.images.sampling import (
    Heads,
    SampledImage,
    SearchableWalk,
    UnestimableRanksError,
)
from cranfield.scales.images.values import image, represent


def walk_of(text: str, length: int, grades: int = 1, limit: int | None = None) -> Walk:
    """The walk of a measure on runs of a length."""
    exact = find_form(parse_measure(f"{text}@{length}"), length, grades, (grades,) * length)
    assert exact is not None and isinstance(exact.rank_sum, Stateful)
    return Walk.from_form(
        exact.rank_sum if limit is None else limit_relevant(exact.rank_sum, limit, 1)
    )


def average_precision(run: tuple[int, ...]) -> Fraction:
    """The sum of precisions at relevant documents, from its definition."""
    total, relevant = Fraction(0), 0
    for rank, grade in enumerate(run, 1):
        if grade:
            relevant += 1
            total += Fraction(relevant, rank)
    return total


@pytest.fixture
def few_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs, whose first ranks would otherwise be listed altogether."""
    monkeypatch.setattr(sampling, "MAX_HEADS", 100)
    monkeypatch.setattr(sampling, "MAX_SAMPLES", 2**10)
    monkeypatch.setattr(sampling, "N_DRAWS", 2**16)


def test_ties_are_those_of_an_enumeration(few_heads: None) -> None:
    length = 12
    drawn = SampledImage(walk_of("AP", length), 0, 1)
    heads = Heads.from_walk(drawn.search, sampling.MAX_HEADS)
    # Each distinct value and number of relevant documents of the first ranks, with all last ranks.
    firsts = {(average_precision(first), sum(first)) for first in product((0, 1), repeat=heads.cut)}
    assert len(firsts) == heads.values.size
    pairs: dict[Fraction, int] = {}
    for value, relevant in firsts:
        for last in product((0, 1), repeat=length - heads.cut):
            total, count = value, relevant
            for rank, grade in enumerate(last, heads.cut + 1):
                count += grade
                total += Fraction(count * grade, rank)
            pairs[total] = pairs.get(total, 0) + 1
    values = sorted(pairs)
    integers = [int(value / drawn.walk.unit) for value in values]
    residues = np.array([[n % modulus for n in integers] for modulus in drawn.search.moduli])
    ties = drawn._count_ties(heads, np.array(values, dtype=float), residues)
    assert ties.tolist() == [pairs[value] for value in values]


def test_average_precision_is_that_of_an_enumeration(few_heads: None) -> None:
    length = 14
    runs = list(product((0, 1), repeat=length))
    values = [average_precision(run) for run in runs]
    distinct = sorted(set(values))
    place = {value: i / (len(distinct) - 1) for i, value in enumerate(distinct)}
    drawn = SampledImage(walk_of("AP", length), 0, None)
    ranks = drawn.compute_relative_ranks(np.array(runs))
    errors = np.abs(ranks - np.array([place[value] for value in values]))
    assert errors.max() < drawn.error < 0.06
    assert abs(drawn.size / len(distinct) - 1) < 0.1
    # The ends are exact, and the order is that of the values.
    assert (ranks[0], ranks[-1]) == (0, 1)
    order = sorted(range(len(runs)), key=values.__getitem__)
    assert (np.diff(ranks[order]) >= 0).all()


@pytest.mark.parametrize(
    ("text", "length", "grades", "limit"),
    [("AP", 17, 1, None), ("AP", 18, 1, 6), ("ERR", 16, 1, None), ("GAP", 10, 2, None)],
)
def test_exact_images(
    text: str, length: int, grades: int, limit: int | None, few_heads: None
) -> None:
    exact = image(text, length, grades, at_most=limit)
    drawn = SampledImage(walk_of(text, length, grades, limit), 1, None)
    rng = np.random.default_rng(0)
    runs = rng.integers(0, grades + 1, (2000, length)) * (rng.random((2000, length)) < 0.4)
    if limit is not None:
        runs = runs[(runs > 0).sum(axis=1) <= limit]
    expected = exact.compute_relative_ranks(runs)
    errors = np.abs(drawn.compute_relative_ranks(runs) - expected)
    assert 0 < errors.max() < drawn.error < 0.1
    low = expected >= 1e-4
    assert (errors[low] / expected[low]).max() < drawn.curve.relative_error < 1
    again = SampledImage(walk_of(text, length, grades, limit), 1, 1)
    assert (again.compute_relative_ranks(runs) == drawn.compute_relative_ranks(runs)).all()


def test_impossible_images_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnestimableRanksError, match="all gaps between values may be equal"):
        _equispaced()
    monkeypatch.setattr(sampling, "MAX_NODES", 2**10)
    monkeypatch.setattr(sampling, "MAX_HEADS", 4)
    with pytest.raises(UnestimableRanksError, match="too many rankings have tied scores"):
        SampledImage(walk_of("AP", 20), 0, None)


def _equispaced() -> SampledImage:
    """Runs whose value is their number of relevant documents."""

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Any]:
        return Fraction(grade), 0

    return SampledImage(Walk.from_form(Stateful(20, 1, "count", 0, step)), 0, None)


def test_scores_say_that_they_are_estimated(
    few_heads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "MAX_PAIRS", 2**10)
    monkeypatch.setattr(sampling, "MAX_HEADS", 100)
    represent.cache_clear()
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    message = r"1,024 sampled rankings \(seed 7\), with absolute errors of at most 0\.0"
    with pytest.warns(CranfieldWarning, match=message):
        scores = cf.evaluate(run, qrels, "interval(AP@23, seed=7)").by_system().row(0)
    drawn = image("AP@23", seed=7)
    assert 0 < scores[1] < 1 and drawn.is_approximate and not drawn.is_exact
    assert drawn.confidence == 0.99 and 0 < drawn.error < 0.1
    with pytest.raises(PolicyError, match="2\\^23 runs, too many for exact ranks"):
        drawn.rank_runs([[1]])
    represent.cache_clear()


def test_divisors_leave_one_number_of_relevant_documents() -> None:
    search = SearchableWalk(walk_of("AP", 20))
    # Above rank 19 no value has the denominator 19.
    assert search.divisors[18] % 19 == 0 and search.divisors[19] % 19
