"""Interval-scaled measures: by all runs, in evaluations, as text."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, MeasureError
from cranfield.scales.runs import all_runs, depends_on_recall_base, score_runs

PAPER = "DCG(discount='max(1,log2(rank))')"


def evaluated(runs: dict[str, list[int]], measure: str, relevant: int = 9) -> list[float]:
    """Score rankings given as grades by rank, on one topic with some relevant documents."""
    qrels = {"q": {f"r{k}": 1 for k in range(relevant)}}
    rankings = {}
    for name, grades in runs.items():
        left = iter(f"r{k}" for k in range(relevant))
        ranking = [next(left) if grade else f"n{k}" for k, grade in enumerate(grades)]
        rankings[name] = {"q": {doc: -rank for rank, doc in enumerate(ranking)}}
    some = [cf.read_run(ranking, name=name) for name, ranking in rankings.items()]
    return [float(one) for one in cf.evaluate(some, qrels, measure)[measure].values[0]]


@pytest.mark.parametrize(
    "measure", ["P@5", "RR@5", "AP@5", "RBP(p=0.8)@5", PAPER + "@5", "nDCG@5", "ERR@5", "R@5"]
)
def test_ranks_are_those_among_all_runs(measure: str) -> None:
    runs = all_runs(5)
    values = np.round(score_runs(cf.parse_measure(measure), runs, judgments=9), 12)
    distinct = np.unique(values)
    expected = np.searchsorted(distinct, values) / (len(distinct) - 1)
    found = evaluated({str(k): list(run) for k, run in enumerate(runs)}, f"interval({measure})")
    np.testing.assert_allclose(found, expected, atol=1e-15)
    raw = evaluated({"a": [1, 0, 1, 0, 0]}, f"interval({measure}, raw=True)")
    place = int("10100", 2)
    assert raw == [np.searchsorted(distinct, values[place]) + 1]
    least = [(values < one).sum() + 1 for one in values]
    most = [(values <= one).sum() for one in values]
    for ties, ranks in (("min", least), ("max", most)):
        name = f"interval({measure}, raw=True, ties='{ties}')"
        assert evaluated({"a": [1, 0, 1, 0, 0]}, name) == [ranks[place]]
    name = f"interval({measure}, raw=True, ties='mid')"
    middle = (least[place] + most[place]) / 2
    assert evaluated({"a": [1, 0, 1, 0, 0]}, name) == [middle]


def test_example_13_recall_is_a_surrogate() -> None:
    runs = {name: [int(bit) for bit in name] for name in ("00", "01", "10", "11")}
    for relevant in (2, 3):
        found = evaluated(runs, "interval(R@2, raw=True)", relevant)
        assert found == [1, 2, 2, 3]
    assert "surrogate" in cf.interval("R@2").info.scale_note
    assert cf.interval("P@2").info.scale_note == ""
    assert cf.interval("P@2").info.scale == cf.Scale.INTERVAL
    assert cf.interval("P@2", ties="mid").info.scale_note.startswith(
        "values are equally spaced only"
    )


def test_short_rankings_are_padded() -> None:
    whole = evaluated({"a": [1, 0, 0, 0, 0]}, "interval(AP@5)")
    assert evaluated({"a": [1]}, "interval(AP@5)") == whole
    assert evaluated({"a": [1, 0, 0, 0, 0, 1, 1]}, "interval(AP@5)") == whole


def test_feasible_runs_only() -> None:
    """With one relevant document, RR and AP of length 3 have four runs, which are equally far."""
    runs = {"first": [1, 0, 0], "second": [0, 1, 0], "third": [0, 0, 1], "none": [0, 0, 0]}
    for measure in ("AP@3", "RR@3", "nDCG@3"):
        found = evaluated(runs, f"interval({measure}, feasible=True)", relevant=1)
        np.testing.assert_allclose(found, [1, 2 / 3, 1 / 3, 0])
    assert evaluated({"all": [1, 1, 1]}, "interval(AP@3, feasible=True)", relevant=9) == [1]


def test_topics_without_relevant_documents() -> None:
    qrels = {"q": {"a": 1}, "r": {"b": 0}}
    run = {"q": {"a": 1}, "r": {"b": 1}}
    for measure in ("interval(AP@3)", "interval(AP@3, feasible=True)", "interval(P@3)"):
        values = cf.evaluate(run, qrels, measure)[measure].values[:, 0]
        assert values[1] == 0.0


def test_grades() -> None:
    """Measures of grades have as many levels as the judgments; others see only relevance."""
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}
    run = {"q": {"a": 3, "b": 2, "c": 1}}
    ev = cf.evaluate(run, qrels, ["interval(AP@2)", "interval(DCG@2)", "interval(AP(rel=2)@2)"])
    assert ev["interval(AP@2)"].values[0, 0] == 1.0
    assert ev["interval(AP(rel=2)@2)"].values[0, 0] == pytest.approx(2 / 3)
    found = cf.image("DCG@2", grades=3)
    [rank] = found.rank_runs([[3, 1]])
    assert ev["interval(DCG@2)"].values[0, 0] == pytest.approx((rank - 1) / (found.size - 1))


def test_condensed_lists_and_negative_grades() -> None:
    qrels = {"q": {"a": 1, "b": -1, "c": 1}}
    run = {"q": {"x": 9, "b": 3, "a": 2}}
    ev = cf.evaluate(run, qrels, ["interval(RR@3)", "interval(RR(judged_only=True)@3)"])
    assert ev["interval(RR@3)"].values[0, 0] == pytest.approx(1 / 3)
    assert ev["interval(RR(judged_only=True)@3)"].values[0, 0] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "text", ["interval(DCG@10)", "interval(AP(rel=2)@5, feasible=True, raw=True)"]
)
def test_text_form(text: str) -> None:
    measure = cf.parse_measure(text)
    assert str(measure) == text
    assert measure == cf.parse_measure(str(measure))
    assert hash(measure) == hash(pickle.loads(pickle.dumps(measure)))


def test_calls_and_cutoffs() -> None:
    assert str(cf.interval("DCG@5") @ 10) == "interval(DCG@10)"
    assert str(cf.parse_measure("interval(DCG)@10")) == "interval(DCG@10)"
    assert str(cf.interval("DCG@5")(ties="mid")) == "interval(DCG@5, ties='mid')"


def test_beyond_reach() -> None:
    """A measure without an exact form at a length that cannot be enumerated says what can."""

    def spread(judged: cf.JudgedRuns) -> np.ndarray:
        return judged.relevant().find_maxima(judged.relevant().rank)

    last = cf.define("LastRank", spread, range=(0, float("inf")))
    try:
        assert evaluated({"a": [1, 0, 1]}, "interval(LastRank@6)") == [0.5]
        with pytest.raises(CranfieldError, match="LastRank.*20"):
            evaluated({"a": [1]}, "interval(LastRank@50)")
        assert str(cf.interval(last @ 3)) == "interval(LastRank@3)"
    finally:
        del cf.measures.REGISTRY["LastRank"]


def test_in_a_comparison() -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:5], covid.qrels, ["P@10", "interval(P@10)", "interval(RR@10)"])
    plain, ranked = (cf.compare(ev[name]) for name in ("P@10", "interval(P@10)"))
    np.testing.assert_allclose(plain.adjusted_pvalues, ranked.adjusted_pvalues, atol=1e-9)
    assert cf.meaningfulness(cf.compare(ev["interval(RR@10)"])).verdict == "meaningful"


def test_the_lowest_relevant_grade_reaches_the_measure_inside() -> None:
    measure = cf.interval("RR@5")
    assert str(measure(rel=2)) == "interval(RR(rel=2)@5)"
    assert str(measure(rel=2, ties="mid")) == "interval(RR(rel=2)@5, ties='mid')"
    with pytest.raises(MeasureError, match="RR: unknown parameter 'depth'"):
        measure(depth=3)


def test_gains_of_documents_that_are_not_relevant_are_refused() -> None:
    for gains in ("{0: 1, 1: 2}", "{-1: -1, 1: 2}"):
        with pytest.raises(MeasureError, match="the gain of grade"):
            evaluated({"a": [1]}, f"interval(DCG(gains={gains})@3)")


def test_ranks_of_runs_stay_within_their_range() -> None:
    qrels = {"q": {"a": 3, "b": 1, "c": 2}}
    runs = [{"q": {doc: 9 - k for k, doc in enumerate(order)}} for order in ("abc", "bca", "cxy")]
    for ties in ("mid", "min", "max"):
        name = f"interval(gP(gains={{1: 2, 2: 1, 3: 0.5}})@3, ties='{ties}')"
        for run in runs:
            value = cf.evaluate(run, qrels, name)[name].values[0, 0]
            assert 0 <= value <= 1


def test_the_ideal_ranking_of_each_topic() -> None:
    """Q orders the runs of a topic by its ideal ranking, and so do ranks in the topic's image."""
    runs = all_runs(4)
    for relevant in (1, 2, 9):
        measure = cf.parse_measure("Q@4")
        values = np.round(score_runs(measure, runs, judgments=relevant), 12)
        distinct = np.unique(values)
        chosen = [k for k, run in enumerate(runs) if run.sum() <= relevant]
        named = {str(k): list(runs[k]) for k in chosen}
        expected = np.searchsorted(distinct, values[chosen]) / (len(distinct) - 1)
        np.testing.assert_allclose(evaluated(named, "interval(Q@4)", relevant), expected)
        feasible = np.unique(values[chosen])
        expected = np.searchsorted(feasible, values[chosen]) / (len(feasible) - 1)
        found = evaluated(named, "interval(Q@4, feasible=True)", relevant)
        np.testing.assert_allclose(found, expected)
    assert "ideal ranking" in cf.interval("Q@4").info.scale_note
    assert depends_on_recall_base(cf.parse_measure("OMeasure@5"))
    assert not depends_on_recall_base(cf.parse_measure("OMeasure(beta=0)@5"))


def test_grades_that_count_differently_stay_apart() -> None:
    """The betas of WRR are those of grades; EU of P looks at relevance alone."""
    qrels = {"q": {"a": 2, "b": 1, "c": 0}}
    runs = [cf.read_run({"q": {doc: 1.0}}, name=doc) for doc in "abc"]
    found = cf.evaluate(runs, qrels, ["interval(WRR@3)", "interval(EU(P(rel=2)@1), feasible=True)"])
    size = cf.image("WRR@3", grades=2).size
    assert size == 7
    assert found["interval(WRR@3)"].values[0].tolist() == [1.0, (size - 2) / (size - 1), 0.0]
    assert found["interval(EU(P(rel=2)@1), feasible=True)"].values[0].tolist() == [1.0, 0.0, 0.0]
