"""A sheet says what the scores say, and comes back whole from its JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.results.sheet import Category, Sheet, SheetComparison, TopicScores
from cranfield.campaign.results.sheet_making import list_sheet_measures, make_sheet_page
from tests.campaign.results.sheets import made

texts = st.text(max_size=20)
shares = st.none() | st.floats(allow_nan=False, allow_infinity=False)
topics = st.builds(TopicScores, texts, st.integers(0, 9), shares, shares, shares, shares, st.none())
sures = st.builds(
    SheetComparison,
    rank=st.integers(1, 9),
    n_runs=st.integers(1, 9),
    groups=texts,
    names=st.none() | st.lists(texts, max_size=3).map(tuple),
    verdict=st.lists(texts, max_size=3).map(tuple),
    not_compared=texts,
)


@given(
    tag=texts,
    answers=st.dictionaries(texts, texts, max_size=3),
    warnings=st.lists(texts, max_size=3).map(tuple),
    unjudged=st.dictionaries(st.integers(1, 1000), shares, max_size=2),
    measures=st.dictionaries(texts, shares, max_size=3),
    by_topic=st.lists(topics, max_size=3).map(tuple),
    comparison=sures,
    category=st.none() | st.builds(Category, texts, texts, st.integers(1, 9)),
)
def test_json_comes_back_whole(**values: object) -> None:
    sheet = replace(made.sheets()[0], **values)  # type: ignore[arg-type]
    assert Sheet.from_json(sheet.to_json()) == sheet
    assert sheet.to_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"form": "x"}', '{"form": "cranfield sheet 1"}'])
def test_other_json_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(cf.InputError, match=r"^a\.json: (is not|expected) a sheet") as error:
        Sheet.from_json(text, "a.json")
    assert "\n" not in str(error.value)


def test_values_are_those_of_a_naive_computation() -> None:
    covid = cf.bundled.trec_covid()
    run = covid.runs[5]
    sheet = made.sheet_of(run.name, made.sheets())
    ev = cf.evaluate(covid.runs, covid.qrels, ["nDCG@20", "AP", "NumRel"])
    tags = [one.tag for one in made.submissions() if one.type == sheet.type]
    assert sheet.category == Category("type", sheet.type, len(tags))
    scores = ev["nDCG@20"].to_polars()
    for row in sheet.by_topic:
        values = scores.filter(topic=row.topic).row(0, named=True)
        group = sorted((values[tag] for tag in tags), reverse=True)
        assert (row.best, row.worst) == (group[0], group[-1])
        assert row.median == group[-(-len(group) // 2) - 1]
        assert row.score == values[sheet.tag]
        assert row.rank == 1 + sum(value > values[sheet.tag] for value in group)
    assert [row.topic for row in sheet.by_topic] == [str(k) for k in range(1, 51)]
    assert sheet.average_precision == ev["AP"].overall()[5]
    assert sheet.measures["nDCG@20"] == pytest.approx(np.mean([r.score for r in sheet.by_topic]))
    means = ev["nDCG@20"].overall()
    assert sheet.comparison.rank == 1 + int((means > means[5]).sum())


def test_what_is_sure_is_what_compare_finds() -> None:
    ev = made.evaluation()["nDCG@20"]
    comparison = cf.compare(ev)
    groups = comparison.groups()
    p = comparison.pvalue_matrix
    for k, tag in enumerate(ev.systems):
        sure = made.sheet_of(tag, made.sheets()).comparison
        apart = {ev.systems[j] for j in np.flatnonzero(p[k] <= 0.05)}
        assert sure.names is not None
        assert {*sure.names} == {*ev.systems} - apart - {tag}
        assert sure.n_better + sure.n_worse == len(apart)
        assert len(sure.names) == sure.n_not_different
        assert [one for one in groups if one in sure.names] == [*sure.names]
        better = sum(comparison.means[ev.systems.index(one)] > comparison.means[k] for one in apart)
        assert sure.n_better == better


def test_the_overall_block_is_that_of_trec_eval() -> None:
    covid = cf.bundled.trec_covid()
    asked = ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "iprec_at_recall", "P"]
    ev = cf.evaluate(covid.runs[:5], covid.qrels, asked)
    for k, tag in enumerate(ev.systems):
        sheet = made.sheet_of(tag, made.sheets())
        shown = [sheet.n_topics, sheet.n_retrieved, sheet.n_relevant, sheet.n_relevant_retrieved]
        shown += [sheet.average_precision, sheet.r_precision]  # type: ignore[list-item]
        shown += [*sheet.precision_at_recall, *sheet.precision_at.values()]  # type: ignore[list-item]
        assert shown == [float(one.overall()[k]) for one in ev.values()]


@pytest.mark.parametrize("compat", [None, "trec_eval", "trec_eval-9", "trec_eval-10"])
def test_levels_of_recall_are_rounded_as_the_rules_of_judging_say(compat: Any) -> None:
    covid = cf.bundled.trec_covid()
    task = replace(made.TASK, judging={} if compat is None else {"compat": compat})
    runs = covid.runs[:3]
    ev = cf.evaluate(runs, covid.qrels, list_sheet_measures(task), compat=compat)
    sheets = made.inputs(ev, made.submissions()[:3], task).make_sheets()
    levels = cf.evaluate(runs, covid.qrels, ["iprec_at_recall"], compat=compat)
    for k, tag in enumerate(ev.systems):
        sheet = made.sheet_of(tag, sheets)
        expected = [float(one.overall()[k]) for one in levels.values()]
        assert list(sheet.precision_at_recall) == expected


def test_unjudged_documents_are_counted_as_coverage_counts_them() -> None:
    coverage = {row.system: row for row in made.evaluation().coverage.systems}
    for sheet in made.sheets():
        row = coverage[sheet.tag]
        assert sheet.unjudged[10] == pytest.approx(row.n_unjudged_10 / row.n_retrieved_10)
        assert [*sheet.unjudged] == [10, 15]


def test_a_sheet_has_no_precision_above_the_maximum_and_no_measure_twice() -> None:
    task = replace(made.TASK, max_per_topic=100, measures=("AP", "Rprec", "P@20"))
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs[:3], covid.qrels, list_sheet_measures(task))
    sheet = made.inputs(evaluation, made.submissions()[:3], task).make_sheets()[0]
    before = made.sheet_of(sheet.tag, made.sheets())
    assert {**sheet.precision_at} == {k: before.precision_at[k] for k in (5, 10, 15, 20, 30, 100)}
    for text in (sheet.to_text(), make_sheet_page(sheet)):
        assert "R-precision" not in text and "verage precision" not in text
    for text in (before.to_text(), make_sheet_page(before)):
        assert "R-precision" in text and "verage precision" in text
