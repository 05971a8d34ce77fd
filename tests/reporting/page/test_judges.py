"""The section on judges: from results, with any names."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from tests.reporting.charts.drawn import HOSTILE

PEOPLE = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
RUNS = {"plain": {t: {"x": 1.0} for t in PEOPLE}, "rag": {t: {"y": 1.0} for t in PEOPLE}}


def test_results_of_all_kinds_with_any_names(tmp_path: Path) -> None:
    judges = dict.fromkeys(HOSTILE, PEOPLE)
    families = dict.fromkeys(HOSTILE, "rag")
    found = [
        cf.assess.compare_judges(PEOPLE, judges),
        cf.assess.judge_rankings(RUNS, PEOPLE, judges, "P@1"),
        cf.assess.self_preference(RUNS, PEOPLE, judges, families, "P@1"),
    ]
    page = cf.report(cf.evaluate(RUNS, PEOPLE, "P@1"), tmp_path / "r.html", judges=found)
    text = page.read_text()
    assert '<h2 id="h-judges">Judges and people</h2>' in text
    assert "Self-preference bias: P@1" in text
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


@pytest.mark.parametrize("wrong", ["x.txt", 3, [PEOPLE]])
def test_what_is_no_result_is_refused(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(cf.PolicyError, match="judges must be results of cranfield.assess"):
        cf.report(cf.evaluate(RUNS, PEOPLE, "P@1"), tmp_path / "r.html", judges=wrong)
