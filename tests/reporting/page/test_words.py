"""The answer in plain words says what the results say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from cranfield.reporting.page.contents import ScalingEffect, collect_contents
from cranfield.reporting.page.sections import (
    count_items,
    describe_coverage,
    list_answer_lines,
    list_warnings,
    make_answer_cells,
)
from tests.reporting.page.reading import read


def evaluation() -> cf.Evaluation:
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs, covid.qrels, "nDCG@20")


def test_the_bundled_collection() -> None:
    contents = collect_contents(evaluation(), title="x", scales=False)
    assert count_items(contents) == {"system": 40, "topic": 50, "judgment": 23_151, "measure": 1}
    [part] = contents.parts
    # The numbers stand in docs/scales.md and in the output of the demonstration too.
    assert list_answer_lines(part)[:4] == [
        "Of 40 systems, 16 share the top group on nDCG@20 (best: UPrrf93-wt-r5, 0.8496).",
        "Tukey's HSD on the two-way ANOVA error, bootstrapped over topics: 398 of 780 pairs are"
        " significantly different (alpha 0.05).",
        "Two-way ANOVA needs an interval scale, but nDCG@20 is an ordinal scale.",
        "381 of 398 significant pairs keep their order of means under every increasing"
        " transformation of the scores (stochastic dominance).",
    ]
    assert make_answer_cells(part) == ["UPrrf93-wt-r5", "16 of 40", "398 of 780", "381 of 398"]
    assert list_warnings(contents) == contents.evaluation.notes  # type: ignore[union-attr]


def test_coverage() -> None:
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    runs = {"x": {"q": {"a": 2.0, "c": 1.0}}, "y": {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 1.0}}}
    contents = collect_contents(cf.evaluate(runs, qrels, "AP"), title="x")
    assert any("no results for some judged topics" in line for line in list_warnings(contents))
    assert describe_coverage(contents) == [
        "Relevant documents by topic: 1 to 1, on average 1.0.",
        "Of the documents in the top 10, 25.0% are unjudged on average, most in x (50.0%); they"
        " count as not relevant.",
        "1 system has documents with tied scores, most in y (2 of 3); the policy for ties is trec.",
    ]
    elsewhere = collect_contents(
        cf.Scores(np.array([[0.1, 0.2], [0.2, 0.2]]), tuple("12"), tuple("ab")), title="x"
    )
    assert "are unknown" in describe_coverage(elsewhere)[0]


def scores(*columns: list[float], name: str = "m") -> cf.Scores:
    values = np.array(columns).T
    topics = tuple(str(k) for k in range(len(values)))
    return cf.Scores(values, topics, tuple("abcdef"[: len(columns)]), measure=name)


def first_of(given: cf.Scores, **options: Any) -> list[str]:
    [part] = collect_contents(given, title="x", **options).parts
    return list_answer_lines(part)


def test_two_systems() -> None:
    low, high = [0.1, 0.2, 0.15, 0.1, 0.2] * 2, [0.6, 0.7, 0.6, 0.65, 0.7] * 2
    found = first_of(scores(low, high))
    assert found[0] == "On m b (0.6500) is significantly better than a (0.1500)."
    assert found[1].startswith("Studentised bootstrap test: p = 0.00")
    assert found[2].startswith("Whether this conclusion is meaningful is unknown: ")
    found = first_of(scores([0.1, 0.5, 0.3], [0.5, 0.1, 0.4]))
    assert found[0] == "On m b (0.3333) and a (0.3000) are not significantly different."


def test_top_groups() -> None:
    low, high = [0.1, 0.2, 0.15, 0.1, 0.2] * 2, [0.6, 0.7, 0.6, 0.65, 0.7] * 2
    mixed = [0.3, 0.6, 0.1, 0.7, 0.2] * 2
    assert "one is significantly better than all others" in first_of(scores(low, low, high))[0]
    assert (
        "2 share the top group on m (best: b and c, 0.6500)"
        in (first_of(scores(low, high, high))[0])
    )
    assert first_of(scores(mixed, mixed[::-1], mixed))[0].startswith("None of the 3 systems is")


def test_baseline() -> None:
    low, high = [0.1, 0.2, 0.15, 0.1, 0.2], [0.6, 0.7, 0.6, 0.65, 0.7]
    middle = [0.35, 0.4, 0.4, 0.35, 0.4]
    found = first_of(scores(low, middle, high, [0.36, 0.39, 0.4, 0.36, 0.4]), baseline="b")
    assert found[0] == (
        "3 systems compared with the baseline b (0.3800) on m: 1 is significantly better, 1 is"
        " significantly worse, 1 is not significantly different."
    )
    assert "bootstrapped over topics: 2 of 3 pairs are significantly different" in found[1]


def test_ranks_are_called_so() -> None:
    low, high = [0.1, 0.2, 0.15, 0.1, 0.2], [0.6, 0.7, 0.6, 0.65, 0.7]
    assert "mean rank 1.00" in first_of(scores(low, [0.3] * 5, high), test="friedman")[0]


def test_scales(tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    measures = ["RR@5", "AP@100", "RR", "Judged@10", "interval(RR@5)", "P@5"]
    ev = cf.evaluate(covid.runs[:12], covid.qrels, measures)
    parts = {part.name: part.scaling for part in collect_contents(ev, title="x").parts}
    before = cf.compare(ev["RR@5"]).is_significant()
    after = cf.compare(ev["interval(RR@5)"]).is_significant()
    found = parts["RR@5"].effect
    assert isinstance(found, ScalingEffect)
    assert (found.n_before, found.n_after) == (before.sum(), after.sum())
    assert (found.n_lost, found.n_gained) == ((before & ~after).sum(), (~before & after).sum())
    assert parts["RR@5"].computed_scale == "ordinal"
    assert parts["P@5"].computed_scale == "interval"
    effects = {name: part.effect for name, part in parts.items()}
    assert isinstance(effects["P@5"], ScalingEffect)
    assert effects["P@5"].tau == 1.0
    assert isinstance(effects["AP@100"], str)
    assert "up to cutoff 20" in effects["AP@100"]
    assert effects["RR"] == "it has no cutoff"
    assert effects["Judged@10"] == "systems are not compared by this measure"
    assert effects["interval(RR@5)"] == "it is already interval-scaled"
    assert parts["AP@100"].depends_on_topic is True
    page = read(cf.report(ev, tmp_path / "r.html")).shown
    assert "interval(RR@5)" in page
    assert "it has no cutoff" in page


def test_counts_and_one_sided_answers(tmp_path: Path) -> None:
    values = np.random.default_rng(4).random((8, 4)) + [0, 0, 0, 2]
    scores = cf.Scores(values, tuple("12345678"), tuple("abcz"), "AP")
    [part] = collect_contents(scores, title="x", alternative="greater", baseline="z").parts
    assert list_answer_lines(part)[0].endswith(
        "on AP: none is significantly better; the opposite direction was not tested."
    )
    [part] = collect_contents(scores, title="x", alternative="less", baseline="z").parts
    assert "3 are significantly worse; the opposite direction was" in list_answer_lines(part)[0]
    one = cf.Scores(values[:, :1], tuple("12345678"), ("a",), "AP")
    assert "1 system, 8 topics, 1 measure" in read(cf.report(one, tmp_path / "r.html")).shown
    # Apart from each other without doubt: no word of those that are not found to differ.
    apart = np.random.default_rng(4).random((8, 3)) / 100 + [0, 1, 2]
    [part] = collect_contents(
        cf.Scores(apart, tuple("12345678"), tuple("abc"), "AP"), title="x", baseline="b"
    ).parts
    assert list_answer_lines(part)[0].endswith(
        "on AP: 1 is significantly better, 1 is significantly worse."
    )
    alike = cf.Scores(np.tile(values[:, :1], 3), tuple("12345678"), tuple("abc"), "AP")
    [part] = collect_contents(alike, title="x").parts
    assert make_answer_cells(part)[-1] == "–"
    assert "None of the assumptions could be tested." in (
        read(cf.report(np.full((5, 3), 0.5), tmp_path / "r.html")).shown
    )


def test_several_baselines(tmp_path: Path) -> None:
    values = np.random.default_rng(4).random((8, 4))
    scores = cf.Scores(values, tuple("12345678"), ("a", "b1", "b2", "z"), "AP")
    page = read(cf.report(scores, tmp_path / "r.html", baseline=["b1", "b2"]))
    assert "against b1" in page.shown and "by AP" in page.shown
    assert "against the baseline" not in page.shown
