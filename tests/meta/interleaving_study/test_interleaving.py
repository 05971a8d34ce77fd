"""The study of interleaving: against loops over impressions, and formulas of statsmodels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint

import cranfield as cf
from cranfield.base.arrays import Bools
from cranfield.base.streams import draw_uniforms
from cranfield.meta import interleaving_sensitivity
from cranfield.meta.interleaving_study import cut_rankings, estimate_effects, summarise_pairs
from cranfield.online import CascadeUser, impressions_needed, interleave, simulated_user
from cranfield.result import combine_results

QRELS = {"q1": {"a": 1, "b": 0, "c": 2, "d": -1}, "q2": {"x": 2, "y": 1}}
RUNS = {
    "good": {"q1": {"c": 4.0, "a": 3.0, "b": 2.0, "e": 1.0}, "q2": {"x": 2.0, "y": 1.0}},
    "bad": {"q1": {"b": 4.0, "d": 3.0, "a": 2.0, "c": 1.0}, "q2": {"z": 2.0, "y": 1.0}},
    "lacking": {"q1": {"d": 2.0, "a": 1.0}},
}


def test_lists_that_are_shown() -> None:
    found = cut_rankings(cf.read_runs(RUNS), cf.read_qrels(QRELS), ("q2", "q1"), 3, "trec")
    grades = found.look_up_grades(found.docs)
    assert found.systems == ("good", "bad", "lacking")
    assert grades.tolist() == [
        [[2, 1, -1], [2, 1, 0]],
        [[0, 1, -1], [0, 0, 1]],
        [[-1, -1, -1], [0, 1, -1]],
    ]


def _study(**more: Any) -> Any:
    options = {"methods": "TeamDraft", "users": "informational", "impressions": 60, "seed": 3}
    return interleaving_sensitivity(RUNS, QRELS, "nDCG@3", **{**options, **more})


def test_wins_and_clicks_are_those_of_loops() -> None:
    found = _study(length=3)
    grade = {doc: max(0, g) for of in QRELS.values() for doc, g in of.items()}
    user = simulated_user("informational", 3)
    wins = losses = ties = 0
    clicks: list[list[int]] = [[], []]
    for t, topic in enumerate(("q1", "q2")):
        lists = [list(RUNS[name][topic])[:3] for name in ("good", "bad")]
        made = interleave(lists, "TeamDraft", 3, topic=topic)
        drawn = made.draw(60, 3)
        numbers = draw_uniforms(3, 0, 60, 6, 1, 0, t, 0, 1)
        for k in range(60):
            row = [[-1 if c < 0 else grade.get(made.docs[c], 0) for c in drawn.lists[k]]]
            clicked = user.draw_clicks(np.array(row), numbers[k : k + 1])[0]
            gain = sum(1 if team == 0 else -1 for team in drawn.teams[k][clicked])
            wins, losses, ties = wins + (gain > 0), losses + (gain < 0), ties + (gain == 0)
        for side in (0, 1):
            grades = [grade.get(doc, 0) for doc in lists[side]]
            row = [grades + [-1] * (3 - len(grades))]
            numbers = draw_uniforms(3, 0, 60, 6, 1, 0, t, 0, 1, side)
            for k in range(60):
                clicks[side].append(int(user.draw_clicks(np.array(row), numbers[k : k + 1]).sum()))
    pair = found.pairs.filter(first="good", second="bad")
    draft, ab = pair.iter_rows(named=True)
    assert draft["effect"] == pytest.approx(wins / (wins + losses) - 0.5, abs=1e-12)
    assert draft["decides"] == pytest.approx((wins + losses) / 120, abs=1e-12)
    assert draft["needed"] == impressions_needed(wins / (wins + losses), (wins + losses) / 120)
    assert ab["effect"] == pytest.approx(np.mean(clicks[0]) - np.mean(clicks[1]), abs=1e-12)
    variance = np.var(clicks[0]) + np.var(clicks[1])
    half = 1.959963984540054 * np.sqrt(variance / 120)
    assert (ab["low"], ab["high"]) == pytest.approx((ab["effect"] - half, ab["effect"] + half))
    each = NormalIndPower().solve_power(ab["effect"] / np.sqrt(variance / 2), alpha=0.05, power=0.8)
    assert ab["needed"] == 2 * np.ceil(each)


def test_limits_of_what_is_needed() -> None:
    rows = pl.DataFrame(
        {
            "user": "u",
            "method": ["TeamDraft", "TeamDraft", "TeamDraft", "A/B", "A/B"],
            "counts": [[60, 30, 10], [10, 10, 80], [0, 0, 100], [50, 50, 50, 50], [0, 0, 0, 0]],
        }
    )
    found = estimate_effects(rows, 100, 0.8, 0.05)
    low, high = proportion_confint(60, 90, method="wilson")
    first = found.row(0, named=True)
    assert (first["low"], first["high"]) == pytest.approx((low - 0.5, high - 0.5))
    assert first["needed low"] == impressions_needed(high, 0.9)
    assert first["needed high"] == impressions_needed(low, 0.9)
    assert found["needed"].to_list()[1:] == [None] * 4
    assert found["needed high"].to_list()[1:] == [None] * 4
    assert found["effect"].to_list()[1:] == [0, None, 0, 0]


def test_agreement_is_counted() -> None:
    pairs = pl.DataFrame(
        {
            "user": "u",
            "method": ["M"] * 4 + ["A/B"] * 4,
            "first": ["a", "a", "b", "d"] * 2,
            "second": ["b", "c", "c", "e"] * 2,
            "difference": [0.1, -0.2, 0.3, 0.0] * 2,
            "effect": [0.2, 0.1, 0.01, 0.2, 1.0, 1.0, 1.0, None],
            "low": [0.1, 0.05, -0.1, 0.1, 0.5, 0.5, 0.5, None],
            "high": [0.3, 0.2, 0.2, 0.3, 2.0, 2.0, 2.0, None],
            "needed": [10.0, 40.0, None, 20.0, 100.0, 200.0, 300.0, None],
        }
    )
    of_method, of_ab = summarise_pairs(pairs).iter_rows(named=True)
    assert of_method == {
        "user": "u",
        "method": "M",
        "pairs": 4,
        "median needed": 30.0,
        "times fewer": 7.5,  # 10, 5, 0, infinite
        "significant": 3,
        "agree": 1,
        "agreement": 0.5,
        "agreement of all": 2 / 3,
    }
    assert (of_ab["median needed"], of_ab["times fewer"]) == (250.0, 1.0)


def test_another_method_adds_parts(tmp_path: Path) -> None:
    once = _study(folder=tmp_path)
    more = _study(folder=tmp_path, methods="TeamDraft,Balanced")
    assert more.pairs.filter(pl.col("method") != "Balanced").equals(once.pairs)


class Everything:
    def draw_clicks(self, grades: Any, uniforms: Any) -> Bools:
        return np.asarray(grades) >= 0


def test_users_of_ones_own() -> None:
    users = {"all": Everything(), "first": CascadeUser((1.0,) * 3, (1.0,) * 3)}
    found = _study(users=users, methods="Balanced")
    of_all = found.pairs.filter(user="all", method="A/B")
    # Clicks a page are the length of a list: 4 and 2, and the first list is longer than the third.
    assert of_all["effect"].to_list() == [0.0, 2.0, 2.0]
    assert found.users == ("all", "first")


def test_what_it_says() -> None:
    found = _study(pairs=2)
    assert found.notes == ("simulated 2 of 3 pairs of systems, drawn at random",)
    assert repr(found) == (
        "Sensitivity(interleaving: 2 pairs of systems, 2 topics, 60 impressions per topic, top 10)"
    )
    said = combine_results(found)
    assert "2 pairs of systems, 2 topics, 60 impressions per topic, top 10" in said.heading[0]
    assert set(said.frames) == {"interleaving sensitivity", "interleaving pairs"}
    assert said.facts["methods"] == ("TeamDraft", "A/B")
    assert "agreement with nDCG@3" in said.heading[1]


def test_grades_are_cut_for_users() -> None:
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 1.0}}}
    made = interleaving_sensitivity(runs, {"q": {"x": 3, "y": 1}}, impressions=5, rel=2)
    assert made.n_topics == 1
