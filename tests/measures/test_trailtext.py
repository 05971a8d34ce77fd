"""The U-measure: the formula written out, diminishing return, and lengths that matter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import MeasureError
from tests.measures.rankings import judge_texts, value

documents = st.lists(
    st.tuples(st.none() | st.integers(0, 2), st.integers(1, 40000)), min_size=1, max_size=8
)


@settings(max_examples=12)
@given(documents, st.sampled_from([2000, 132000]), st.integers(1, 2), st.none() | st.integers(1, 5))
def test_formula(
    ranking: list[tuple[int | None, int]], most: int, rel: int, cutoff: int | None
) -> None:
    total = position = 0.0
    for grade, characters in ranking[:cutoff]:
        position += 200
        if grade is not None and grade >= rel:
            position += 0.2 * characters
            total += (2**grade - 1) / 4 * max(0.0, 1 - position / most)
    runs, at = judge_texts(ranking), f"@{cutoff}" if cutoff else ""
    assert value(runs, f"U(L={most}, rel={rel}){at}") == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Relevant texts end at 400 + 100 and 800 + 100 + 300 characters of 10,000.
        ("U(L=10000, F=0.1)", 0.25 * 0.95 + 0.75 * 0.88),
        ("U(L=10000, F=0.1, gains='linear')", (0.95 + 2 * 0.88) / 3),
        ("U(L=10000, F=0.1, gains='linear', max_grade=3)", (0.95 + 2 * 0.88) / 4),
        ("U(L=10000, F=0.1, gains={1: 3})", 3 * 0.95),
        ("U(L=10000, F=0.1, N=2, gains={1: 3, 2: 1})", (3 * 0.95 + 0.9 - 0.02) / 2),
        ("U(L=10000, F=0.1, snippet=0, unit=5)", 0.25 * 0.95 + 0.75 * 0.8),
    ],
)
def test_parameters(text: str, expected: float) -> None:
    runs = judge_texts([(0, 1), (1, 1000), (None, 7), (2, 3000)])
    assert value(runs, text) == pytest.approx(expected)


def test_only_lengths_of_relevant_documents_matter() -> None:
    run, qrels = {"t": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"t": {"b": 1, "c": 1}}
    with pytest.raises(MeasureError, match="U requires document lengths"):
        cf.evaluate(run, qrels, "U")
    some = cf.judge(run, qrels, lengths={"b": 100})
    with pytest.raises(MeasureError, match="U: 1 retrieved document without a known length"):
        cf.score(some, "U")
    assert value(cf.judge(run, qrels, lengths={"b": 100, "c": 5}), "U(L=10000)") == pytest.approx(
        0.5 * (1 - 420 / 10000) + 0.5 * (1 - 621 / 10000)
    )
    assert value(some, "U(missing=5, L=10000)") == pytest.approx(0.5 * (2 - 0.042 - 0.0621))


@settings(max_examples=12)
@given(documents)
def test_total_utility_is_u_from_the_first_text_on(ranking: list[tuple[int | None, int]]) -> None:
    runs = judge_texts(ranking)
    grade, characters = ranking[0]
    first = 1 - (200 + (0.2 * characters if (grade or 0) > 0 else 0)) / 132000
    assert value(runs, "ETU(U)") * first == pytest.approx(value(runs, "U"))
