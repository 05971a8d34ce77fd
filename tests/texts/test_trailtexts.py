"""U over any trailtext: the formula written out, S-measure, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures.texts.trailtext import score_trailtexts, u_measure
from tests.collection.refusals import refuses
from tests.measures.rankings import judge_texts, value

TEXTS = st.lists(st.tuples(st.integers(0, 900), st.integers(0, 7)), max_size=8)


@settings(max_examples=30)
@given(TEXTS, st.sampled_from([500.0, 2000.0]), st.sampled_from([1.0, 2.5]))
def test_formula(texts: list[tuple[int, int]], limit: float, norm: float) -> None:
    total, position = 0.0, 0
    for length, gain in texts:
        position += length
        if position < limit:
            total += gain * (1 - position / limit)
    lengths, gains = [text[0] for text in texts], [text[1] for text in texts]
    scored = u_measure(gains, lengths=lengths, limit=limit, norm=norm)
    assert scored == pytest.approx(total / norm, rel=1e-12, abs=1e-12)


def test_worked_example_of_the_definition() -> None:
    assert u_measure([0, 1, 3], lengths=[100, 50, 200], limit=1000) == pytest.approx(2.8)
    # At 150 and 350 of a half-life of 100.
    scored = u_measure([0, 1, 3], offsets=[100, 150, 350], limit=100, decay="exponential")
    assert scored == pytest.approx(2**-1.5 + 3 * 2**-3.5)


def test_u_of_a_ranked_list_is_that_of_its_trailtext() -> None:
    runs = judge_texts([(0, 1), (1, 1000), (None, 7), (2, 3000)])
    lengths, gains = [200, 200 + 100, 200, 200 + 300], [0, 0.25, 0, 0.75]
    scored = u_measure(gains, lengths=lengths, limit=10000)
    assert value(runs, "U(L=10000, F=0.1)") == pytest.approx(scored)


def test_table_of_systems(tmp_path: Path) -> None:
    path = tmp_path / "trails.csv"
    path.write_text("topic,system,length,gain\n1,a,100,0\n1,b,10,1\n1,a,50,1\n2,a,5,2\n")
    with pytest.warns(cf.CranfieldWarning, match="1 answer is missing and counted as 0") as warned:
        scores = score_trailtexts(path, limit=1000)
    assert warned[0].filename == __file__
    assert scores.systems == ("a", "b")
    assert scores.values.ravel().tolist() == pytest.approx([0.85, 0.99, 2 * 0.995, 0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,-5,1", r"trails.csv:3: length '-5' is not a number of at least 0"),
        ("1,5,", r"trails.csv:3: .*has no gain"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "trails.csv"
    path.write_text(f"topic,length,gain\n1,100,0\n{row}\n")
    refuses(message, score_trailtexts, path, limit=1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either lengths or offsets"),
        ({"lengths": [1], "offsets": [1]}, "either lengths or offsets"),
        ({"lengths": [1, 2]}, "a gain for each text, got 1 gains and 2 lengths"),
        ({"lengths": [-1]}, "lengths must be a list of finite numbers >= 0"),
        ({"lengths": ["long"]}, "lengths must be numbers"),
        ({"offsets": [1], "limit": 0}, "limit must be"),
        ({"offsets": [1], "decay": "quadratic"}, "decay"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    refuses(message, u_measure, [1], **{"limit": 100, **options}, error=cf.CranfieldError)


def test_offsets_must_not_decrease() -> None:
    with pytest.raises(cf.MeasureError, match="must not decrease"):
        u_measure([1, 1], offsets=[5, 4], limit=100)
