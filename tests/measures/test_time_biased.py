"""Time-biased gain: the survey's example, the formula written out, and missing lengths."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.measures.users.standard_models import user_model
from tests.measures.rankings import judge_texts, value

SECONDS = 4.4

documents = st.lists(
    st.tuples(st.none() | st.integers(0, 2), st.integers(0, 3000)), min_size=1, max_size=8
)


def test_example_of_the_survey() -> None:
    """Sakai (2013), section 2.2: a long document gives way to a short relevant one."""
    long: list[tuple[int | None, int]] = [(0, 1000), (1, 100)]
    short: list[tuple[int | None, int]] = [(1, 10), (1, 100)]
    model = user_model("TBG")
    before = model.read([0.0, 1.0], lengths=[1000.0, 100.0])
    after = model.read([1.0, 1.0], lengths=[10.0, 100.0])
    assert before.page.costs[0, 0] == pytest.approx(SECONDS + 10.062)
    # The survey has 5.107: .64 * (.018 * 10 + 7.8) is 5.1072.
    assert after.page.costs[0, 0] == pytest.approx(SECONDS + 5.107, abs=5e-4)

    def of_second(seconds: float) -> float:
        return 0.4928 * math.exp(-seconds * math.log(2) / 224)

    tbg = value(judge_texts(long), "TBG"), value(judge_texts(short), "TBG")
    assert tbg[0] == pytest.approx(of_second(4.4 + 10.062))
    assert tbg[1] == pytest.approx(0.4928 + of_second(4.4 + 0.64 * 7.98))
    # The second document is worth more than before: no diminishing return.
    assert tbg[1] - 0.4928 > tbg[0]


@settings(max_examples=12)
@given(documents, st.sampled_from([30.0, 224.0]), st.integers(1, 2), st.none() | st.integers(1, 5))
def test_formula(
    ranking: list[tuple[int | None, int]], h: float, rel: int, cutoff: int | None
) -> None:
    total = seconds = 0.0
    for grade, words in ranking[:cutoff]:
        found = grade is not None and grade >= rel
        if found:
            total += 0.64 * 0.77 * 2 ** (-seconds / h)
        seconds += 4.4 + (0.64 if found else 0.39) * (0.018 * words + 7.8)
    runs, at = judge_texts(ranking), f"@{cutoff}" if cutoff else ""
    assert value(runs, f"TBG(h={h}, rel={rel}){at}") == pytest.approx(total, rel=1e-12)
    assert value(runs, f"ETU(TBG(h={h}, rel={rel}){at})") == pytest.approx(total, rel=1e-12)


def test_parameters() -> None:
    runs = judge_texts([(0, 100), (2, 50), (None, 10), (1, 0)])
    text = (
        "TBG(a=1, b=2, click=0.5, click_other=0.25, gains={1: 0.5, 2: 1}, h=100, save=0.8,"
        " summary=3, unit=2)"
    )
    times = [3 + 0.25 * 202, 3 + 0.5 * 102, 3 + 0.25 * 22]
    expected = 0.4 * (2 ** (-times[0] / 100) + 0.5 * 2 ** (-sum(times) / 100))
    assert value(runs, text) == pytest.approx(expected, rel=1e-12)


def test_lengths_are_needed() -> None:
    run, qrels = {"t": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"t": {"c": 1}}
    with pytest.raises(MeasureError, match="TBG requires document lengths"):
        cf.evaluate(run, qrels, "TBG")
    some = cf.judge(run, qrels, lengths={"a": 100})
    with pytest.raises(MeasureError, match="TBG: 2 retrieved documents without a known length"):
        cf.score(some, "TBG")
    known = cf.judge(run, qrels, lengths={"a": 100, "b": 40, "c": 40})
    assert value(some, "TBG(missing=40)") == value(known, "TBG")


def test_residual() -> None:
    # Nothing is judged but the first; the best case clicks on all others as on relevant ones.
    runs = judge_texts([(1, 100), (None, 100)])
    step = 4.4 + 0.64 * (1.8 + 7.8)
    end = step + (4.4 + 0.39 * 9.6)
    low = 0.4928 / (1 + 2 ** (-step / 224) + 2 ** (-end / 224))
    assert value(runs, "EU(TBG, depth=3)") == pytest.approx(low)
    assert value(runs, "Residual(TBG, depth=3)") == pytest.approx(0.4928 - low)


def test_nothing_retrieved() -> None:
    runs = cf.judge({"a": {"t": {"d": 1.0}}}, {"t": {"x": 1}}, lengths={"d": 5})
    assert value(runs, "TBG") == 0
