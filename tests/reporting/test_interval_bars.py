"""Intervals as text stand where their numbers are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.reporting.comparison_formats import (
    AXIS_WIDTH,
    add_bars,
    draw_text_bars,
    format_comparisons,
)


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_ends(middle: float, below: float, above: float) -> None:
    low, high = middle - below, middle + above
    [bar] = draw_text_bars(np.array([middle]), np.array([low]), np.array([high]), (0.0, 1.0))
    first = round(max(low, 0) * (AXIS_WIDTH - 1))
    last = round(min(high, 1) * (AXIS_WIDTH - 1))
    assert len(bar) == last + 1
    assert bar.strip() == bar[first:]
    assert bar[round(middle * (AXIS_WIDTH - 1))] == "●"


def test_beyond_and_unknown() -> None:
    middle = np.array([-5.0, 9.0, np.nan])
    assert draw_text_bars(middle, middle, middle, (0.0, 1.0)) == [
        "◂",
        " " * (AXIS_WIDTH - 1) + "▸",
        "",
    ]
    endless = np.array([np.inf])
    assert draw_text_bars(np.array([0.5]), -endless, endless, (0.0, 1.0)) == [
        "─" * (AXIS_WIDTH // 2) + "●" + "─" * (AXIS_WIDTH // 2)
    ]


def test_the_answer_stands_first_and_what_all_share_once() -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@10", "ERR@10"])
    found = {name: cf.meaningfulness(cf.compare(ev[name])) for name in ("nDCG@10", "ERR@10")}
    text = format_comparisons(found, with_anova=True)
    lines = text.splitlines()
    assert lines[0].startswith("Of 4 systems, ")
    table, said = add_bars(found["nDCG@10"].comparison)
    assert said in lines
    assert sum("●" in line for line in lines) == 8
    assert text.index("●") < text.index("Source")
    [common] = [line for line in lines if "is an ordinal scale" in line]
    assert "the measure is an ordinal scale" in common
    assert lines.index(common) > lines.index("All measures:")
    assert [*table.left][-1] == len(table.head) - 1


def test_no_bars_where_limits_hold_for_single_pairs() -> None:
    scores = {"a": [0.1, 0.4, 0.3, 0.2], "b": [0.2, 0.4, 0.6, 0.3], "c": [0.5, 0.4, 0.7, 0.8]}
    found = cf.compare(scores, test="t", correction="none")
    assert add_bars(found)[1] == "" or "bars" in add_bars(found)[1]
    text = format_comparisons({"": cf.meaningfulness(found)})
    assert "on these scores" in text


def test_bars_name_the_quantity_of_another_interval() -> None:
    scores = {"a": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "b": [0.5, 0.1, 0.6, 0.7, 0.8, 0.9]}
    for test, text in (("sign", "the 95% confidence interval of the median of the"), ("t", "its")):
        _, legend = add_bars(cf.compare(scores, test=test))
        assert legend.startswith(f"bars: the difference with {text}")
