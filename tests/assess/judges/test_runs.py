"""Rankings by judges, and their self-preference: against naive computations."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from tests.assess.judges.llmjudge import judges, written

TOPICS, DOCS, SYSTEMS = 12, 30, 6
MEASURES = ("nDCG@10", "AP")

Campaign = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""Runs, judgments of people, and labels by judge."""


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Six runs, judgments with grades from 0 to 2, and two judges, one of them without a topic."""
    random = np.random.default_rng(16)
    grades = random.choice([0, 0, 0, 1, 2], size=(TOPICS, DOCS))
    runs = {
        f"s{s}": {
            f"q{t}": dict(zip([f"d{d}" for d in range(DOCS)], row.tolist(), strict=True))
            for t, row in enumerate(grades + random.normal(0, 0.6 + 0.1 * s, size=grades.shape))
        }
        for s in range(SYSTEMS)
    }

    def qrels(table: np.ndarray, topics: range) -> dict[str, dict[str, int]]:
        return {f"q{t}": {f"d{d}": int(table[t, d]) for d in range(DOCS)} for t in topics}

    noisy = np.clip(grades + random.integers(-1, 2, size=grades.shape), 0, 2)
    kind = np.maximum(grades, random.choice([0, 2], p=[0.8, 0.2], size=grades.shape))
    label_sets = {"noisy": qrels(noisy, range(TOPICS)), "kind": qrels(kind, range(1, TOPICS))}
    return runs, qrels(grades, range(TOPICS)), label_sets


def by_hand(campaign: Campaign, judge: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores by people and by a judge on the topics of both, evaluated apart."""
    runs, people, label_sets = campaign
    one = cf.evaluate(runs, people, measure)[measure]
    other = cf.evaluate(runs, label_sets[judge], measure)[measure]
    return one.select(topics=other.topics).values, other.values


def test_rankings_as_by_two_evaluations(campaign: Campaign) -> None:
    runs, people, label_sets = campaign
    found = cf.assess.judge_rankings(runs, people, label_sets, MEASURES)
    frame = found.to_polars()
    for measure in MEASURES:
        for judge in label_sets:
            one, other = by_hand(campaign, judge, measure)
            row = frame.row(
                by_predicate=(pl.col("measure") == measure) & (pl.col("judge") == judge), named=True
            )
            first, second = one.mean(axis=0), other.mean(axis=0)
            means = found.to_polars("systems").filter(measure=measure, judge=judge)
            assert means["by human labels"].to_list() == pytest.approx(first)
            assert row["topics"] == len(one) == (TOPICS if judge == "noisy" else TOPICS - 1)
            assert row["tau"] == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)
            assert row["flips"] == sum(
                (first[a] - first[b]) * (second[a] - second[b]) < 0
                for a, b in combinations(range(SYSTEMS), 2)
            )
            each = [stats.kendalltau(*rows).statistic for rows in zip(one, other, strict=True)]
            assert row["tau by topic"] == pytest.approx(np.nanmean(each), abs=1e-9)
            change = stats.rankdata(-first) - stats.rankdata(-second)
            assert row["largest change"] == change[found.systems.index(row["of system"])]
            assert abs(row["largest change"]) == np.abs(change).max()
            assert row["RBO"] == pytest.approx(
                cf.correlation.rbo(
                    dict(zip(found.systems, second, strict=True)),
                    dict(zip(found.systems, first, strict=True)),
                ).ext
            )
            assert row["tau low"] <= row["tau"] <= row["tau high"]


def test_people_as_a_judge_change_nothing(campaign: Campaign) -> None:
    runs, people, _ = campaign
    found = cf.assess.judge_rankings(runs, people, {"same": people}, "AP")
    row = found.to_polars().row(0, named=True)
    assert (row["tau"], row["tau AP"], row["flips"], row["largest change"]) == (1, 1, 0, 0)
    # Whatever topic is left out, the rankings are the same: nothing to make an interval of.
    assert (row["tau low"], row["tau high"]) == (None, None)
    assert row["RBO"] == pytest.approx(1)


def test_the_highest_grade_is_that_of_the_scale(campaign: Campaign) -> None:
    """A judge who gives no 2 is not graded more generously by ERR for it."""
    runs, people, _ = campaign
    low = {t: {d: min(g, 1) for d, g in docs.items()} for t, docs in people.items()}
    found = cf.assess.judge_rankings(runs, people, {"low": low}, "ERR@10")
    alone = cf.evaluate(runs, low, "ERR(max_grade=2)@10")
    assert found.means["by judge"].to_numpy() == pytest.approx(alone.by_system()[:, 1].to_numpy())


def test_the_order_of_runs_changes_no_bit(campaign: Campaign) -> None:
    runs, people, label_sets = campaign
    turned = dict(reversed(runs.items()))
    one, other = (
        cf.assess.judge_rankings(some, people, label_sets, "AP").to_polars()
        for some in (runs, turned)
    )
    assert one.equals(other)


def test_limits_are_those_of_the_jackknife(campaign: Campaign) -> None:
    """Written out, with a loop over the topics that are left out."""
    runs, people, label_sets = campaign
    found = cf.assess.judge_rankings(runs, people, label_sets, "AP", confidence=0.9)
    for j, judge in enumerate(label_sets):
        one, other = by_hand(campaign, judge, "AP")
        n = len(one)
        without = [
            stats.kendalltau(
                *(np.delete(v, t, axis=0).mean(axis=0) for v in (one, other))
            ).statistic
            for t in range(n)
        ]
        error = np.sqrt((n - 1) / n * ((np.array(without) - np.mean(without)) ** 2).sum())
        half = stats.t.ppf(0.95, n - 1) * error
        tau, *limits = found.to_polars().select("tau", "tau low", "tau high").row(j)
        wanted = [max(tau - half, -1), min(tau + half, 1)]
        assert limits == pytest.approx(wanted, abs=1e-12)


def test_overall_scores_of_any_kind(campaign: Campaign) -> None:
    """A cost, of which less is better, and a geometric mean."""
    runs, people, label_sets = campaign
    wanted = ["EC(RBP)", "GMAP"]
    found = cf.assess.judge_rankings(runs, people, label_sets, wanted)
    for judge in label_sets:
        for measure, overall in zip(
            found.measures, (lambda v: -v.mean(axis=0), stats.gmean), strict=True
        ):
            means = found.means.filter(measure=measure, judge=judge)
            for side, values in zip(
                ("by human labels", "by judge"), by_hand(campaign, judge, measure), strict=True
            ):
                assert means[side].arg_sort().to_list() == overall(values).argsort().tolist()


def test_self_preference_by_hand(campaign: Campaign) -> None:
    runs, people, label_sets = campaign
    families = {"noisy": ["s0", "s3"], "kind": ["s5"]}
    found = cf.assess.self_preference(runs, people, label_sets, families, MEASURES, confidence=0.9)
    for k, measure in enumerate(MEASURES):
        for j, judge in enumerate(label_sets):
            one, other = by_hand(campaign, judge, measure)
            shift = other - one
            own = [found.systems.index(name) for name in families[judge]]
            rest = [s for s in range(SYSTEMS) if s not in own]
            differences = [row[own].mean() - row[rest].mean() for row in shift]
            result = stats.ttest_1samp(differences, 0)
            limits = result.confidence_interval(0.9)
            row = k * len(label_sets) + j
            mine = (found.bias, found.low, found.high, found.p)
            wanted = (np.mean(differences), limits.low, limits.high, result.pvalue)
            assert [one[row] for one in mine] == pytest.approx(wanted, abs=1e-12)
            narrow = result.confidence_interval(0.95)
            together = (found.simultaneous_low[row], found.simultaneous_high[row])
            assert together == pytest.approx(tuple(narrow), abs=1e-12)
    assert found.family.tolist() == [2, 1] * 2


@pytest.mark.parametrize("form", ["families", "systems", "frame", "file"])
def test_families_in_any_form(campaign: Campaign, form: str, tmp_path: Path) -> None:
    runs, people, label_sets = campaign
    families = {"noisy": "A", "s0": "A", "s1": ["A", "B"], "kind": "B", "s2": "C"}
    pairs = [("noisy", "s0"), ("noisy", "s1"), ("kind", "s1")]
    given: object = families
    if form == "systems":
        given = {"noisy": ["s0", "s1"], "kind": "s1"}
    elif form == "frame":
        given = pl.DataFrame(pairs, schema=["judge", "system"], orient="row")
    elif form == "file":
        given = tmp_path / "families.csv"
        rows = [
            (n, f)
            for n, some in families.items()
            for f in ([some] if isinstance(some, str) else some)
        ]
        given.write_text("name,team\n" + "".join(f"{n},{f}\n" for n, f in rows))
    found = cf.assess.self_preference(runs, people, label_sets, given, "AP")
    wanted = cf.assess.self_preference(runs, people, label_sets, families, "AP")
    assert found.family.tolist() == [2, 1]
    assert found.bias.tolist() == wanted.bias.tolist()


def test_a_judge_without_a_family_is_reported(campaign: Campaign) -> None:
    runs, people, label_sets = campaign
    found = cf.assess.self_preference(runs, people, label_sets, {"noisy": "s0"}, "AP")
    assert found.notes == (
        "kind: 1 of 12 topics excluded: not labelled by the judge",
        "no bias computed for judges that lack systems of their own family or of other"
        " families: kind",
    )
    assert np.isnan(found.bias).tolist() == [False, True]
    for families in ({}, {"noisy": list(runs), "kind": list(runs)}):
        with pytest.raises(
            cf.PolicyError, match="with systems of its family and of other families"
        ):
            cf.assess.self_preference(runs, people, label_sets, families, "AP")
    with pytest.raises(cf.PolicyError, match="family of 'noisy' must be text or an integer"):
        cf.assess.self_preference(runs, people, label_sets, {"noisy": 0.5}, "AP")


def test_names_of_families_that_match_nothing_are_reported(campaign: Campaign) -> None:
    runs, people, label_sets = campaign
    families = {"noisy": "s0", "S0": "noisy"}
    topics, names, _ = cf.assess.self_preference(runs, people, label_sets, families, "AP").notes
    assert topics == "kind: 1 of 12 topics excluded: not labelled by the judge"
    assert names == "families: 1 of 2 names not found among the judges and systems: 'S0'"
    with pytest.raises(cf.PolicyError, match="got none; families: 1 of 1 name not found"):
        cf.assess.self_preference(runs, people, label_sets, {"Noisy": "s0"}, "AP")


def test_one_topic_has_no_interval() -> None:
    people, judge = ({"q": {"x": 1, "y": 0}}, {"q": {"x": 0, "y": 1}})
    runs = {"a": {"q": {"x": 1}}, "b": {"q": {"y": 1}}}
    found = cf.assess.self_preference(runs, people, {"llm": judge}, {"llm": "b"}, "P@1")
    assert found.bias.tolist() == [2.0]
    assert np.isnan([found.low, found.high, found.p]).all()
    ranked = cf.assess.judge_rankings(runs, people, {"llm": judge}, "P@1").to_polars()
    assert ranked.select("tau", "tau low", "tau high").row(0) == (-1.0, None, None)


def test_a_bias_that_is_equal_in_all_topics_has_no_interval() -> None:
    topics = ("q1", "q2", "q3")
    people = {topic: {"x": 1, "y": 0} for topic in topics}
    judge = {topic: {"x": 0, "y": 1} for topic in topics}
    runs = {name: {topic: {doc: 1} for topic in topics} for name, doc in (("a", "x"), ("b", "y"))}
    found = cf.assess.self_preference(runs, people, {"llm": judge}, {"llm": "b"}, "P@1")
    assert found.bias.tolist() == [2.0]
    assert np.isnan([found.low, found.high, found.simultaneous_low, found.p]).all()
    assert "no interval for the bias of 1 pair of measure and judge" in found.notes[-1]


def test_in_llmjudge_every_judge_puts_its_own_run_first(tmp_path: Path) -> None:
    """Label sets of two teams as runs, nDCG@10, teams as families; bias by two evaluations."""
    people, submissions = written(tmp_path)
    for name in (unused := judges()[11:]):
        (submissions / f"{name}.txt").unlink()
    names = [name for name in judges() if name not in unused]
    runs = cf.assess.judges_as_runs(people, submissions)
    teams = {name: name.split("-")[0] for name in names}
    found = cf.assess.self_preference(runs, people, submissions, teams)
    assert found.family.tolist() == [5] * 6 + [4] * 5
    assert set(found.own_judge_rank.tolist()) == {1}
    assert set(found.own_human_rank.tolist()) > {1}
    for judge in ("NISTRetrieval-reason1", "Olz-exp"):
        by_judge, by_people = (
            cf.evaluate(runs, qrels, "nDCG@10")["nDCG@10"]
            for qrels in (submissions / f"{judge}.txt", people)
        )
        means = (by_judge.values - by_people.values).mean(axis=0)
        shift = dict(zip(by_judge.systems, means.tolist(), strict=True))
        related = [shift[s] for s in names if s != judge and teams[s] == teams[judge]]
        rest = [shift[s] for s in names if teams[s] != teams[judge]]
        wanted = np.mean(related) - np.mean(rest)
        assert found.bias[found.judges.index(judge)] == pytest.approx(wanted, abs=1e-12)


def test_notes_on_runs_are_those_of_an_evaluation() -> None:
    topics = ("q1", "q2", "q3")
    people = {topic: {"x": 1, "y": 0, "z": 1} for topic in topics}
    judge = {topic: {"x": 0, "y": 1, "z": 1} for topic in topics}
    whole = {topic: {"x": 3, "y": 2, "z": 1} for topic in topics}
    tied = {topic: dict.fromkeys("xyz", 1) for topic in topics}
    runs = {"whole": whole, "short": {"q1": whole["q1"]}, "tied": tied}
    expected = cf.evaluate(runs, people, "P@1").notes
    assert len(expected) == 2 and "no results" in expected[0] and "ties can" in expected[1]
    assert list(cf.assess.judge_rankings(runs, people, {"llm": judge}, "P@1").notes) == expected
    assert list(cf.assess.score_bias(runs, people, {"llm": judge}, "P@1").notes) == expected
    by_topic = cf.assess.ppi_scores(runs, people, {"llm": judge}, "P@1").notes
    # These notes are about the labels of the judge, which has other grades than people.
    assert by_topic[0] == f"labels of llm: {expected[0]}"
    assert by_topic[1].startswith("labels of llm: ties can change P@1 of 'tied'")
    # Neither the scale, which is declared, nor regular runs have a note.
    regular = {"a": whole, "b": whole}
    for measure in ("nDCG@2", "P@1"):
        assert cf.assess.judge_rankings(regular, people, {"llm": judge}, measure).notes == ()


def test_documents_that_people_did_not_judge_have_a_note() -> None:
    people = {f"q{k}": {"x": 1, "y": 0} for k in range(3)}
    judges = {
        "wide": {f"q{k}": {"x": 1, "y": 0, "z": 1} for k in range(3)},
        "same": {f"q{k}": {"x": 1, "y": 1} for k in range(3)},
    }
    runs = {"a": {f"q{k}": {"x": 2, "y": 1} for k in range(3)}}
    for function in (cf.assess.judge_rankings, cf.assess.score_bias):
        [note] = function(runs, people, judges, "P@1").notes
        assert note.startswith("wide: people did not judge 3 of 9 documents")
        assert (
            "scores by human labels are too low and biases of the judge's scores too high" in note
        )
        assert "a random sample of documents, estimate scores with unit='document'" in note
        assert note.endswith("only documents that people judged, use unjudged='condensed'")
        assert function(runs, people, judges, "P@1", unjudged="condensed").notes == ()


@pytest.mark.parametrize("unjudged", ["nonrelevant", "condensed"])
def test_documents_that_a_judge_did_not_label_have_a_note(unjudged: str) -> None:
    people = {f"q{k}": {"x": 1, "y": 0} for k in range(3)}
    judges = {
        "half": {"q0": {"x": 1}, "q1": {"y": 0}},
        "same": {f"q{k}": {"x": 1, "y": 1} for k in range(3)},
    }
    runs = {"a": {f"q{k}": {"x": 2, "y": 1} for k in range(3)}}
    for function in (cf.assess.judge_rankings, cf.assess.score_bias):
        topics, note = function(runs, people, judges, "P@1", unjudged=unjudged).notes
        assert topics == "half: 1 of 3 topics excluded: not labelled by the judge"
        assert note.startswith("half: no label for 2 of 4 documents that people judged in its top")


def test_condensed_lists_of_a_judge_have_the_documents_that_people_judged() -> None:
    """A judge that agrees with people has no bias, whatever else it labelled."""
    people = {f"q{k}": {"x": 1, "y": 0} for k in range(3)}
    judges = {"same": {f"q{k}": {"z": 0, "x": 1, "y": 0} for k in range(3)}}
    runs = {"a": {f"q{k}": {"z": 3, "x": 2, "y": 1} for k in range(3)}}
    bias = cf.assess.score_bias(runs, people, judges, "P@1", unjudged="condensed")
    assert bias.to_polars()["bias"].to_list() == [0.0]


def test_the_judge_whose_labels_lack_a_column_is_named() -> None:
    rows = {"topic": ["q"] * 2, "doc": ["x", "y"], "grade": [1, 0], "inclusion": [1.0, 0.5]}
    with pytest.raises(cf.MeasureError, match="^labels of 'llm': statAP requires a column 'incl"):
        cf.assess.judge_rankings(
            {"a": {"q": {"x": 1}}}, pl.DataFrame(rows), {"llm": {"q": {"x": 1, "y": 0}}}, "statAP"
        )
