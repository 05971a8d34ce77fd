"""Side-by-side preferences against a plain MM loop (Hunter 2004), counts by hand and SciPy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from cranfield.base.errors import CranfieldError
from cranfield.base.streams import make_stream
from cranfield.online import side_by_side
from tests.cli.running import cranfield
from tests.online.refusals import check_refused

SYSTEMS = ("w", "x", "y", "z")


def votes(seed: int = 0, topics: int = 12) -> pl.DataFrame:
    """Make votes of a judge that prefers the system it saw first."""
    random = np.random.default_rng(seed)
    rows = []
    for topic in range(topics):
        for k, first in enumerate(SYSTEMS):
            for j, second in enumerate(SYSTEMS):
                value = random.normal(0.4 * (k - j) + 0.5, 1.0)
                winner = "tie" if abs(value) < 0.2 else "a" if value > 0 else "b"
                rows += [(f"t{topic}", first, second, winner, "a")] if k != j else []
    return pl.DataFrame(rows, ["topic", "system_a", "system_b", "winner", "order"], orient="row")


def strengths_by_mm(table: pl.DataFrame) -> dict[str, float]:
    wins = dict.fromkeys(((i, j) for i in SYSTEMS for j in SYSTEMS), 0.0)
    for row in table.iter_rows(named=True):
        share = {"a": 1.0, "b": 0.0, "tie": 0.5}[row["winner"]]
        wins[row["system_a"], row["system_b"]] += share
        wins[row["system_b"], row["system_a"]] += 1 - share
    p = dict.fromkeys(SYSTEMS, 1.0)
    for _ in range(2000):
        p = {
            i: sum(wins[i, j] for j in SYSTEMS)
            / sum((wins[i, j] + wins[j, i]) / (p[i] + p[j]) for j in SYSTEMS if j != i)
            for i in SYSTEMS
        }
    mean = sum(map(math.log, p.values())) / len(p)
    return {name: math.log(value) - mean for name, value in p.items()}


def test_strengths_are_those_of_the_mm_loop() -> None:
    table = votes()
    frame = side_by_side(table, resamples=50).to_polars()
    expected = strengths_by_mm(table)
    assert frame["system"].to_list() == sorted(expected, key=expected.__getitem__, reverse=True)
    for name, strength in frame.select("system", "strength").iter_rows():
        assert strength == pytest.approx(expected[name], abs=1e-10)
    assert (frame["low"] < frame["strength"]).all() and (frame["strength"] < frame["high"]).all()


def test_the_bootstrap_draws_topics() -> None:
    """Two systems have a closed form: half the log odds of the wins in the drawn topics."""
    rows = [(f"t{k}", "x", "y", "a" if k % 3 else "b") for k in range(30)]
    result = side_by_side(rows, resamples=400, seed=3)
    draws = make_stream(3).multinomial(30, np.full(30, 1 / 30), size=400)
    wins = draws @ np.array([float(k % 3 > 0) for k in range(30)])
    samples = np.sort(np.log(wins / (30 - wins)) / 2)
    row = result.to_polars().row(0, named=True)
    assert row["strength"] == pytest.approx(math.log(2) / 2, abs=1e-10)
    assert row["low"] == pytest.approx(np.percentile(samples, 2.5), abs=0.03)
    assert row["high"] == pytest.approx(np.percentile(samples, 97.5), abs=0.03)


def test_pairs_have_a_sign_test_by_topic() -> None:
    table = votes(1)
    pairs = side_by_side(table, resamples=50, correction="none").to_polars("pairs")
    for row in pairs.iter_rows(named=True):
        by_topic: dict[str, int] = {}
        wins = losses = ties = 0
        for vote in table.iter_rows(named=True):
            if {vote["system_a"], vote["system_b"]} == {row["first"], row["second"]}:
                sign = {"a": 1, "b": -1, "tie": 0}[vote["winner"]]
                sign *= 1 if vote["system_a"] == row["first"] else -1
                by_topic[vote["topic"]] = by_topic.get(vote["topic"], 0) + sign
                wins, losses, ties = wins + (sign > 0), losses + (sign < 0), ties + (sign == 0)
        ahead = sum(total > 0 for total in by_topic.values())
        behind = sum(total < 0 for total in by_topic.values())
        assert (row["wins"], row["losses"], row["ties"]) == (wins, losses, ties)
        assert row["p"] == pytest.approx(stats.binomtest(ahead, ahead + behind).pvalue, abs=1e-12)


def test_position_bias_is_the_proportion_of_wins_of_the_first_place() -> None:
    table = votes(2)
    position = side_by_side(table, resamples=50).position
    assert position is not None
    assert position.wins == table.filter(winner="a").height
    assert position.losses == table.filter(winner="b").height
    # The same votes with the systems in the other columns.
    swap = {"a": "b", "b": "a", "tie": "tie"}
    turned = table.rename({"system_a": "system_b", "system_b": "system_a"}).with_columns(
        pl.col("winner").replace_strict(swap), order=pl.col("system_b")
    )
    other = side_by_side(turned, resamples=50)
    assert other.position is not None
    assert (other.position.wins, other.position.losses) == (position.wins, position.losses)
    assert other.to_polars().equals(side_by_side(table, resamples=50).to_polars())
    without = side_by_side(table.drop("order"), resamples=50)
    assert without.position is None
    assert "position bias was not tested" in without.notes[-1]


def test_pairs_without_comparisons_and_strengths_that_are_not_finite() -> None:
    chain = [(f"t{k}", *"xy", "ab"[k % 2]) for k in range(9)]
    chain += [(f"t{k}", *"yz", "ab"[k % 2]) for k in range(9)]
    result = side_by_side(chain, resamples=50)
    assert result.to_polars("pairs").select("first", "second").rows() == [("x", "y"), ("y", "z")]
    assert result.to_polars()["strength"].null_count() == 0
    result = side_by_side([("t1", "x", "y", "a"), ("t2", "x", "z", "a"), ("t2", "y", "z", "tie")])
    assert result.to_polars()["strength"].null_count() == 3
    assert result.notes[0].startswith("no finite strengths")
    few = side_by_side([("t1", "x", "y", "a"), ("t2", "x", "y", "b"), ("t3", "x", "y", "a")])
    assert few.to_polars()["low"].null_count() == 2
    assert few.notes[0].startswith("no confidence intervals of strengths")


COUNTED = {"topic": [1, 2], "system_a": ["x"] * 2, "system_b": ["y"] * 2, "winner": ["a", "b"]}
BOTH_WAYS = [("t1", "a", "b", "a"), ("t2", "a", "b", "b"), ("t3", "a", "b", "tie")]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("t", "x", "x", "a", "a")], "system 'x' is compared with itself"),
        ([("t", "x", "y", "c", "a")], "preferred must be 'x', 'y', first, second or tie, got 'c'"),
        ([(None, "x", "y", "a", "a")], "row 1: has no topic"),
        ([("t", "x", None, "a", "a")], "row 1: has no second"),
        ([("t", "x", "y", "a", "tie")], "order must be 'x', 'y', first or second, got 'tie'"),
        # A system called as a word is no word in other pairs, and no name where the two differ.
        ([("1", "a", "b", "a"), ("2", "c", "b", "a")], "row 2: preferred must be 'c', .*, got 'a'"),
        ([*BOTH_WAYS, ("t4", "b", "a", "a")], "row 4: preferred 'a' is the name of a system, but"),
        ([(k, "x", "y", k % 2) for k in range(6)], "0 for a tie, got no values but 0 and 1"),
        ([(k, "x", "y", 0) for k in range(6)], "1 and 2 .* 0 for a tie, got no values but 0 and 1"),
        (COUNTED | {"weight": [1, 2]}, "'weight' .* may be the weight of rows"),
        (COUNTED | {"votes": [10, 2]}, "column 'votes' .*repeat each row as often"),
        (COUNTED | {"swapped": [0, 1]}, "'swapped' .* may be the presentation order of rows"),
        (COUNTED | {"game": [1, 2]}, "'game' .* may be the presentation order of rows"),
        (COUNTED | {"criterion": ["a", "b"]}, "'criterion' .* may be the criterion of rows"),
    ],
)
def test_refusals(rows: Any, reason: str) -> None:
    names = ["topic", "first", "second", "winner", "order"]
    if isinstance(rows, list):
        rows = pl.DataFrame(rows, names[: len(rows[0])], orient="row")
    check_refused((lambda: side_by_side(pl.DataFrame(rows), resamples=50), reason))


def test_votes_by_name_do_not_depend_on_the_order() -> None:
    """Nor has a preference for the first position an interval if all topics are equal."""
    rows = [(topic, "x", "y", winner) for topic in "12" for winner in "xy"]
    table = pl.DataFrame(rows, ["topic", "first", "second", "winner"], orient="row")
    table = table.with_columns(shown_first=table["winner"])
    assert "(1.000, no confidence interval; " in side_by_side(table, resamples=50).heading()[1]
    with pytest.warns(match="columns not used: 'swapped'"):
        side_by_side(table.with_columns(swapped=pl.Series([0, 1, 0, 1])), resamples=50)


def test_the_command_ranks_systems_by_votes(tmp_path: Path) -> None:
    votes().write_csv(tmp_path / "votes.csv")
    arguments = ("online", "preference", "--votes", "votes.csv", "--resamples", "50")
    out, _ = cranfield(tmp_path, *arguments, "--table", "strengths", "--format", "csv")
    table = pl.read_csv(out.encode())
    assert table.equals(side_by_side(votes(), resamples=50).to_polars())
    out, _ = cranfield(tmp_path, *arguments)
    assert "position: the system shown first wins" in out
    _, err = cranfield(tmp_path, *arguments, "--unit", "user", status=2)
    assert "--unit requires LOG" in err
    _, err = cranfield(tmp_path, *arguments, "--counts", "1,2,3", status=2)
    assert "--votes cannot be combined with --counts" in err


def test_systems_called_as_words_and_votes_counted_once() -> None:
    strengths = side_by_side(BOTH_WAYS, resamples=50).to_polars()
    assert strengths.select("system", "wins", "ties").rows() == [("a", 1, 1), ("b", 1, 1)]
    assert side_by_side(pl.DataFrame(COUNTED | {"votes": [1, 1]}), resamples=50).n_topics == 2


def test_codes_of_both_systems_may_have_ties() -> None:
    rows = [(f"t{k}", "x", "y", code) for k, code in enumerate((0, 1, 1, 2))]
    frame = side_by_side(rows, resamples=20).to_polars()
    assert frame.select("system", "wins", "ties").rows() == [("x", 2, 1), ("y", 1, 1)]


def test_equal_topics_have_no_interval() -> None:
    rows = [("1", "x", "y", "a"), ("1", "x", "y", "b"), ("2", "x", "y", "tie")]
    result = side_by_side(rows, resamples=50)
    assert result.strengths.select("low", "high").rows() == [(None, None)] * 2
    note = "no confidence interval of strengths that are equal in all resamples"
    assert note in str(result)


@pytest.mark.parametrize("word", ["draw", "bothbad", "both_bad", "Both bad", "tie (bothbad)"])
def test_words_for_ties(word: str) -> None:
    result = side_by_side(
        [("1", "x", "y", "a"), ("2", "x", "y", "b"), ("3", "x", "y", word)], resamples=50
    )
    assert result.strengths["ties"].to_list() == [1, 1]


def test_many_topics_are_drawn_by_their_preferences(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        (f"t{k}", *pair, "ab"[k % 3 > 0]) for k in range(60) for pair in (("x", "y"), ("y", "z"))
    ]
    rows += [(f"t{k}", "z", "x", "a") for k in range(0, 60, 5)]
    expected = side_by_side(rows, resamples=2000, seed=1).strengths
    monkeypatch.setattr("cranfield.online.interleaving.side_by_side._MAX_DRAWS", 0)
    found = side_by_side(rows, resamples=2000, seed=1).strengths
    for name in ("strength", "low", "high"):
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), abs=0.05)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("names", "winners"),
    [
        # Of Chatbot Arena, MT-Bench and AlpacaEval.
        ("question_id model_a model_b winner", ["model_a", "model_b", "tie (bothbad)"]),
        ("question_id model_1 model_2 winner", ["model_1", "model_2", "tie"]),
        ("instruction generator_1 generator_2 preference", [1.0, 2.0, 1.5]),
    ],
)
def test_battles_in_json(tmp_path: Path, names: str, winners: list[object], form: str) -> None:
    rows = [
        dict(zip(names.split(), (f"q{k}", "x", "y", winner), strict=True)) | {"messages": [{}]}
        for k, winner in enumerate(winners)
    ]
    path = tmp_path / f"battles.{form}"
    path.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    table = side_by_side(path, resamples=50).strengths
    assert table.select("wins", "losses", "ties").rows() == [(1, 1, 1)] * 2
    path.write_text('{"question_id": ')
    with pytest.raises(CranfieldError, match=f"battles.{form}:1: is not valid JSON"):
        side_by_side(path, resamples=50)
