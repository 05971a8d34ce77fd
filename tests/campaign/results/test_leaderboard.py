"""Boards: places, letters, limits, and what is kept of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from cranfield.campaign.results import leaderboard as module
from cranfield.campaign.results.leaderboard import leaderboard, task_leaderboard
from cranfield.campaign.results.stored_inputs import read_stored_runs
from tests.campaign.results.made import handed_in, judged, made, qrels, rankings, scored


@pytest.fixture
def campaign(tmp_path: Path) -> cf.campaign.Campaign:
    found = scored(tmp_path / "c", "")
    for k, tag in enumerate("abcd"):
        handed_in(found, tag, rankings(k % 3), late=tag == "b")
    return found


def tie_notes(campaign: cf.campaign.Campaign) -> list[str]:
    """Return the notes of `cf.evaluate` on ties, for the accepted runs."""
    rules = campaign.rules.get_task()
    runs = read_stored_runs(campaign, rules, campaign.submissions())
    notes = cf.evaluate(runs, qrels(), rules.measures).notes
    return [note for note in notes if note.startswith("ties can change")]


def test_ties_are_noted_as_by_evaluate_and_each_run_is_read_once(
    campaign: cf.campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    [note] = tie_notes(campaign)
    assert note in task_leaderboard(campaign).notes
    handed_in(campaign, "e", {f"q{k}": {"a": 1.0, "b": 1.0, "c": 1.0} for k in (1, 2, 3, 4)})
    read: list[str] = []

    def stored_runs(opened: Any, rules: Any, runs: Any) -> Any:
        read.extend(run.tag for run in runs)
        return read_stored_runs(opened, rules, runs)

    monkeypatch.setattr("cranfield.campaign.results.stored_inputs.read_stored_runs", stored_runs)
    assert tie_notes(campaign)[0] in task_leaderboard(campaign).notes
    # Once for its scores, once for its ties.
    assert read == ["e", "e"]
    task_leaderboard(campaign)
    assert read == ["e", "e"]


def test_a_board_says_what_evaluate_and_compare_say(campaign: cf.campaign.Campaign) -> None:
    found = task_leaderboard(campaign)
    ev = campaign.score()
    compared = cf.compare(ev["AP"])
    frame = found.to_polars()
    letters = compared.groups()
    low, high = compared.find_mean_bounds(int(compared.order[0])) or ([], [])
    means = dict(zip(ev.systems, ev["AP"].mean().tolist(), strict=True))
    for row in frame.iter_rows(named=True):
        k = ev.systems.index(row["tag"])
        assert row["AP"] == means[row["tag"]]
        assert row["rank"] == 1 + sum(other > row["AP"] for other in means.values())
        assert (row["groups"], row["low"], row["high"]) == (letters[row["tag"]], low[k], high[k])
        covered = ev.coverage.systems[k]
        assert row["unjudged@10"] == covered.n_unjudged_10 / covered.n_retrieved_10
        assert row["late"] == (row["tag"] == "b")
    # The first and the last run have the same ranking, and share a place.
    places = dict(frame.select("tag", "rank").rows())
    assert places["a"] == places["d"]
    assert frame["rank"].is_sorted()
    assert found.remarks == (*found.notes, cf.meaningfulness(compared).first_line)


@pytest.mark.parametrize("measure", ["GMAP", "NumRelRet"])
def test_limits_are_of_the_statistic_of_the_measure(measure: str) -> None:
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:5], covid.qrels, measure)
    found = module.separate_runs(ev[measure])
    assert isinstance(found, module.Separation)
    compared = cf.compare(ev[measure])
    overall = ev[measure].overall()
    assert any("runs whose intervals do not overlap" in note for note in found.notes)
    low, high = found.frame["low"].to_numpy(), found.frame["high"].to_numpy()
    width = (compared.interval[1] - compared.interval[0])[0] / 2
    if measure == "GMAP":
        np.testing.assert_allclose(np.sqrt(low * high), overall, rtol=1e-12)
        np.testing.assert_allclose(np.log(high / low), width, rtol=1e-9)
    else:
        np.testing.assert_allclose((low + high) / 2, overall, rtol=1e-12)
        np.testing.assert_allclose(high - low, width, rtol=1e-9)
    first, second = compared.first, compared.second
    is_apart = (low[first] > high[second]) | (low[second] > high[first])
    np.testing.assert_array_equal(is_apart, compared.is_significant())
    assert is_apart.any() and not is_apart.all()


def test_both_ways_to_a_board_are_the_same(campaign: cf.campaign.Campaign) -> None:
    made_of = leaderboard(campaign.score(), campaign.submissions())
    found = task_leaderboard(campaign)
    assert found.to_polars().equals(made_of.to_polars())
    with_ties = replace(made_of, notes=(*made_of.notes, *tie_notes(campaign)), task="adhoc")
    assert (found.notes, found.remarks) == (with_ties.notes, with_ties.remarks)
    assert str(found) == str(with_ties)
    assert str(made_of).startswith("Leaderboard: 4 runs\n")
    assert repr(found) == "Leaderboard(4 runs: AP, nDCG@10, P@5)"


def test_columns_are_called_by_text_forms(campaign: cf.campaign.Campaign) -> None:
    scores = campaign.score(measures=["bpref"])
    frame = task_leaderboard(campaign, measures=["bpref"]).to_polars()
    [name] = map(str, scores.measures)
    assert name in frame.columns
    assert leaderboard(scores, campaign.submissions()).to_polars().equals(frame)


def test_groups_are_found_once(
    campaign: cf.campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = task_leaderboard(campaign)
    files = [campaign.folder / one.path for one in campaign.registry.list_score_files("adhoc")]
    monkeypatch.setattr(module, "separate_runs", None)
    assert task_leaderboard(campaign).to_polars().equals(first.to_polars())
    monkeypatch.undo()
    files[-1].write_bytes(b"")
    with pytest.warns(CranfieldWarning, match="is damaged: its scores are computed again"):
        assert task_leaderboard(campaign).to_polars().equals(first.to_polars())
    assert campaign.verify().is_intact


def test_a_large_board_has_no_groups(campaign: cf.campaign.Campaign) -> None:
    found = task_leaderboard(campaign, max_runs=3)
    assert found.separation is None
    assert found.to_polars()["groups"].null_count() == 4
    assert found.notes[0] == "runs are not compared: 4 runs exceed the maximum of 3"
    shown = str(replace(found, task="News").tables(max_runs=2)[0])
    assert shown.startswith("Leaderboard of News: 4 runs\n")
    assert "the first 2 of 4 runs are shown" in shown


def test_the_maximum_of_a_campaign_can_be_raised(
    campaign: cf.campaign.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.separate_runs, "__defaults__", (0.05, 3))
    assert task_leaderboard(campaign, max_runs=4).separation is not None


def test_where_low_scores_are_good_they_stand_first(campaign: cf.campaign.Campaign) -> None:
    found = task_leaderboard(campaign, measures=["Unjudged@10"]).to_polars()
    assert found["Unjudged@10"].is_sorted()
    assert found["rank"][0] == 1


def test_one_run_is_a_board_of_its_own(tmp_path: Path) -> None:
    found = task_leaderboard(scored(tmp_path / "alone", "a"))
    assert found.to_polars().select("rank", "groups").rows() == [(1, None)]
    assert np.isfinite(found.to_polars()["AP"][0])


@pytest.mark.parametrize("lower", [False, True])
def test_missing_scores_are_never_good_ones(lower: bool) -> None:
    values = np.random.default_rng(0).uniform(1, 2, size=(20, 3))
    values[:10, 2] = np.nan
    scores = cf.Scores(values, tuple(map(str, range(20))), ("a", "b", "gaps"), "x", "mean")
    found = module.compare_pairs(scores.with_direction(lower_is_better=lower))
    assert found.n_topics == (10 if lower else 20)
    assert lower or found.systems[found.order[-1]] == "gaps"


def test_topics_without_results_and_without_relevant_documents_are_noted(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c", 3)
    docs = {"a": 1.0, "b": 0.0}
    judged(campaign, {"q1": docs, "q2": docs, "q3": {"a": 0.0, "b": 0.0}})
    whole = {f"q{k}": {"a": 2.0, "b": 1.0} for k in (1, 2, 3)}
    handed_in(campaign, "whole", whole)
    handed_in(campaign, "short", {"q1": whole["q1"], "q3": whole["q3"]})
    notes = task_leaderboard(campaign).notes
    assert (
        "1 of 2 systems has no results for some judged topics (most in 'short': 1 topic"
        in " ".join(notes)
    )
    assert notes[-1] == (
        "1 of 3 topics has no document of grade 1 or higher, so no run can score there: 'q3'"
    )


def test_topics_of_the_task_alone_or_of_the_runs_alone_are_noted(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    judged(campaign, "q1 0 x 1\nq2 0 x 1\nq3 0 x 1\nq4 0 x 1\n")
    rankings = {topic: {"x": 1.0} for topic in ("q1", "q2", "q3", "q4")}
    handed_in(campaign, "a", rankings)
    handed_in(campaign, "b", {"q1": {"x": 1.0}})
    # A topic is removed from the task, and another one is added.
    (campaign.folder / "topics.txt").write_text("q1\nq2\nq3\nq5\n")
    with pytest.warns(CranfieldWarning, match="the rules changed"):
        board = cf.campaign.open(campaign.folder).leaderboard()
    assert not [note for note in board.notes if "topics without judgments" in note]
    assert board.notes[-2:] == (
        "1 topic of the task has no judgments: 'q5'",
        "1 of 2 systems has results for topics outside the task, which are ignored"
        " (most in 'a': 1 topic: 'q4')",
    )
    assert cf.campaign.open(campaign.folder).score().topics == ("q1", "q2", "q3")
    standing = cf.campaign.open(campaign.folder).standing("a", pooling=False)
    assert board.notes[-2] in standing.notes
    assert [note for note in standing.notes if note.startswith("1 of 1 system has results for")]
