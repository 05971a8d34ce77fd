"""The picture beside the answer: who is where, and what lies beyond the axis."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.reporting.page.contents import COVERAGE_REASON, collect_contents
from cranfield.reporting.page.intervals import draw_systems, draw_two_systems
from cranfield.reporting.page.sections import list_answer_lines
from cranfield.reporting.page.svg_charts import choose_axis
from cranfield.reporting.summary import list_pair_verdicts, separate_shared_lines
from tests.reporting.page.reading import read

FAR = "a system far below"


def scores(values: object, measure: str = "m") -> cf.Scores:
    array = np.array(values, dtype=float)
    topics = tuple(str(k) for k in range(len(array)))
    names = (*"abcdefgh"[: array.shape[1] - 1], FAR)
    return cf.Scores(array, topics, names, measure=measure)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.booleans())
def test_most_are_on_the_axis(values: list[float], zero: bool) -> None:
    middle = np.array(values)
    low, high = choose_axis(middle, middle - 1, middle + 1, has_zero=zero)
    assert low < high
    assert np.mean((middle >= low) & (middle <= high)) >= 0.5
    if zero:
        assert low <= 0 <= high


def test_an_outlier_does_not_squeeze_the_axis() -> None:
    random = np.random.default_rng(1)
    values = 0.7 + 0.05 * random.random((20, 9))
    values[:, 8] = 0.001 * random.random(20)
    [part] = collect_contents(scores(values), title="x").parts
    figure = str(draw_systems(part))
    assert "1 system lies beyond the axis" in figure
    assert figure.count('class="beyond"') == 1
    # Its number stands beside it all the same.
    assert f"{values[:, 8].mean():.4f}<" in figure
    marks = [float(one) for one in re.findall(r">([0-9.]+)</text><line|middle\">([0-9.]+)<", figure)
             for one in one if one]  # fmt: skip
    assert min(marks) > 0.5


def test_all_intervals_against_a_baseline_are_on_the_axis() -> None:
    # Differences from a baseline by AP on TREC-COVID, with simultaneous intervals.
    thousandths = [129, 99, 91, 86, 84, 79, 76, 72, 48, 10, np.nan, -3]
    middle = np.array(thousandths) / 1000
    low, high = choose_axis(middle, middle - 0.037, middle + 0.037, has_zero=True)
    assert low == pytest.approx(-0.04)
    assert high == pytest.approx(0.166)
    # No interval of a system on the axis is cut, though another system is far below.
    far = np.append(middle, -5.0)
    assert choose_axis(far, far - 0.037, far + 0.037, has_zero=True) == (low, high)


def test_the_best_is_never_beyond_the_axis() -> None:
    random = np.random.default_rng(1)
    values = 0.2 + 0.01 * random.random((20, 9))
    values[:, 0] += 0.1
    values[:, 1] += 0.099
    figure = str(draw_systems(collect_contents(scores(values), title="x", scales=False).parts[0]))
    assert figure.count("<circle") == 9
    assert 'class="beyond"' not in figure
    assert "Systems whose bars do not overlap are significantly different." in figure


def test_two_systems_are_shown_by_their_difference(tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate([covid.runs[0], covid.runs[30]], covid.qrels, ["nDCG@20", "RR", "NumRelRet"])
    contents = collect_contents(ev, title="x", scales=False)
    figure = str(draw_two_systems(contents))
    found = cf.compare(ev["nDCG@20"])
    assert f"{abs(found.difference[0]):.4f}" in figure
    # The numbers of documents have an axis of their own.
    assert figure.count('class="plot"') == 3
    assert "Each measure has its own axis." in figure
    assert read(cf.report(ev, tmp_path / "r.html", scales=False)).html.count('class="plot"') == 3


@pytest.mark.parametrize(
    ("test", "quantity"),
    [("t", ""), ("wilcoxon", " of the pseudo-median of the differences that are not 0")],
)
def test_lines_of_another_quantity_than_the_dots_are_said(test: str, quantity: str) -> None:
    values = np.random.default_rng(3).random((12, 2))
    for shift in (0.0, 1.0):
        pairs = cf.compare(scores(values + [shift, 0.0]), test=test)
        assert pairs.count() == shift
        figure = str(draw_two_systems(collect_contents(pairs, title="x", scales=False)))
        dots = "Dots: difference of means. " if quantity else ""
        assert f">{dots}Lines: 95% confidence intervals{quantity}." in figure
        assert ("Blue: significantly different." in figure) == pairs.count()


@pytest.mark.parametrize(
    ("shifts", "key"),
    [
        ((0.0, 0.0), ""),
        ((0.5, 0.0), "Blue: significantly better."),
        ((0.0, -0.5), "Orange: significantly worse."),
        ((0.5, -0.5), "Blue: significantly better; orange: significantly worse."),
    ],
)
def test_colours_that_occur_are_explained(shifts: tuple[float, float], key: str) -> None:
    values = np.random.default_rng(3).normal(0.5, 0.02, (20, 3)) + [0.0, *shifts]
    pairs = cf.compare(scores(values), baseline="a")
    part = collect_contents(pairs, title="x", scales=False).parts[0]
    figure = str(draw_systems(part))
    assert {word for word in ("Blue", "Orange", "orange") if word in figure} == {
        word for word in ("Blue", "Orange", "orange") if word in key
    }
    assert key in figure
    verdicts = [*list_pair_verdicts(pairs)]
    for style, verdict in (("top", "better"), ("worse", "worse")):
        assert (f'class="{style}"' in figure) == (verdict in verdicts)


def test_means_over_different_topics_are_said_and_advice_is_not_on_the_page() -> None:
    values = np.random.default_rng(3).random((12, 3))
    values[0, 0] = values[:3, 2] = np.nan
    with pytest.warns(cf.CranfieldWarning, match="missing='drop' excludes topics"):
        contents = collect_contents(scores(values, "q"), title="x", scales=False)
    [text] = list_answer_lines(contents.parts[0])
    assert "Systems have scores on different topics: 9 to 12 per system. Systems are not" in text
    assert text.endswith("has no score (4 scores missing).")
    values[:] = np.nan_to_num(values)
    values[3], values[4, 0], values[5, 1:] = np.nan, np.nan, np.nan
    with pytest.warns(cf.CranfieldWarning):
        contents = collect_contents(scores(values, "q"), title="x", scales=False)
    assert "different topics: 10 per system." in list_answer_lines(contents.parts[0])[0]


def test_shares_of_judged_documents_are_not_tested(tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:4], covid.qrels, ["P@5", "Judged@10"])
    _, judged = collect_contents(ev, title="x", scales=False).parts
    assert judged.comparison is None
    assert judged.no_comparison_reason == COVERAGE_REASON
    page = read(cf.report(ev, tmp_path / "r.html", scales=False))
    assert COVERAGE_REASON in page.shown
    assert "Read this first" not in page.shown


@pytest.mark.parametrize("names", [("AP", "RR"), ("P@1", "P@10"), ("a.b", "a")])
def test_what_all_have_is_said_once(names: tuple[str, str]) -> None:
    lines = {name: [f"{name} is declared ordinal", "4 ties", name] for name in names}
    lines[names[0]].append("of one only")
    own, common = separate_shared_lines(lines)
    assert common == ["the measure is declared ordinal", "4 ties", "the measure"]
    assert own == {names[0]: ["of one only"], names[1]: []}


def test_axis_of_two_systems_holds_all_limits() -> None:
    middle = np.array([0.016, 0.008, 0.012, 0.02, 0.0257])
    low = np.array([-0.02, -0.03, -0.01, -0.2, -0.005])
    assert choose_axis(middle, low, middle + 0.03, has_zero=True, contains_all=True)[0] == -0.2
    alike = np.tile([0.2, 0.3], (8, 1))
    figure = str(draw_two_systems(collect_contents(scores(alike), title="x", scales=False)))
    assert "no finite bound" not in figure
    few = cf.evaluate({"a": {"1": {"d": 1.0}, "2": {"e": 1.0}, "3": {"e": 1.0}},
                       "b": {"1": {"e": 1.0}, "2": {"e": 1.0}, "3": {"e": 1.0}}},
                      {"1": {"d": 1}, "2": {"e": 1}, "3": {"e": 1}}, "P@1")  # fmt: skip
    assert "no finite bound" in str(
        draw_two_systems(collect_contents(few, title="x", scales=False))
    )


def test_a_pair_whose_interval_would_contradict_the_decision_has_no_line() -> None:
    # The second test of Holm's procedure is at alpha, and intervals by Bonferroni's at alpha / 2.
    random = np.random.default_rng(5)
    errors = random.normal(size=(12, 3))
    errors -= errors.mean(axis=0)
    errors[:, 1:] -= errors[:, [0]]
    deviations = errors[:, 1:].std(axis=0, ddof=1) / np.sqrt(12)
    once, twice = stats.t.isf([0.025, 0.0125], 11)
    means = np.array([0.0, 9.0, (once + twice) / 2]) * [0.0, *deviations]
    values = np.column_stack([np.zeros(12), errors[:, 1:]]) + means
    one = cf.compare(scores(values), test="t", correction="holm", baseline=0)
    assert one.is_significant().all()
    assert np.isnan(one.interval).any(axis=0).tolist() == [False, True]
    figure = str(draw_systems(collect_contents(one, title="x", scales=False).parts[0]))
    assert figure.count("<circle") == 2
    # Axis lines are in the back; only rows have a line of constant height.
    rows = re.findall(r'<line x1="[^"]+" x2="[^"]+" y1="([^"]+)" y2="([^"]+)"', figure)
    assert sum(start == end for start, end in rows) == 1
    assert "A dot without a line: an interval would contradict the decision of the test." in figure
    clear = cf.compare(scores(values), test="t", correction="bonferroni", baseline=0)
    assert "A dot without" not in str(draw_systems(collect_contents(clear, title="x").parts[0]))


def test_long_names_are_cut_in_their_middle() -> None:
    values = np.random.default_rng(1).random((20, 3))
    names = tuple(f"a-long-name-of-one-team-that-ends-in-{end}" for end in ("one", "two", "three"))
    one = cf.Scores(values, tuple(map(str, range(20))), names, measure="m")
    figure = str(draw_systems(collect_contents(one, title="x", scales=False).parts[0]))
    assert {"ds-in-one", "ds-in-two", "in-three"} <= {
        end for end in ("ds-in-one", "ds-in-two", "in-three") if f"{end}<" in figure
    }
