"""Summaries of scores beside SciPy and plain loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import cranfield as cf
from tests.cli.running import cranfield

DRAW = np.random.default_rng(5)
VALUES = DRAW.integers(0, 5, (12, 3)) / 4
TOPICS = tuple(f"q{k}" for k in range(12))
SCORES = cf.Scores(VALUES, TOPICS, ("a", "b", "c"), measure="effort")


def test_intervals_are_those_of_scipy() -> None:
    rows = cf.summarise(SCORES, confidence=0.9).rows
    for k, row in enumerate(rows.iter_rows(named=True)):
        x = VALUES[:, k]
        low, high = stats.t.interval(0.9, 11, x.mean(), stats.sem(x))
        expected = [x.mean(), low, high, x.std(ddof=1), np.median(x)]
        assert_allclose([row[n] for n in ("mean", "low", "high", "sd", "median")], expected)


@pytest.mark.parametrize("lower", [False, True])
def test_wins_losses_and_ties_are_those_of_a_loop(lower: bool) -> None:
    rows = cf.summarise(SCORES.with_direction(lower), baseline="b").rows
    for k, row in enumerate(rows.iter_rows(named=True)):
        counts = {"wins": 0, "losses": 0, "ties": 0}
        for own, other in zip(VALUES[:, k], VALUES[:, 1], strict=True):
            better, worse = ("losses", "wins") if lower else ("wins", "losses")
            counts[better if own > other else worse if own < other else "ties"] += 1
        assert {name: row[name] for name in counts} == counts
        assert_allclose(row["difference"], (VALUES[:, k] - VALUES[:, 1]).mean(), atol=1e-15)


def test_wins_mean_the_same_in_summaries_and_in_the_sign_test() -> None:
    """The statistic of the sign test counts higher scores, and has another name."""
    scores = SCORES.with_direction(True)
    comparison = cf.compare(scores, test="sign", baseline="b")
    assert "wins" not in str(comparison) + comparison.info.statistic + comparison.info.effect
    wins = dict(cf.summarise(scores, baseline="b").rows.select("system", "losses").rows())
    pairs = comparison.to_polars().select("first", "second", "statistic").rows()
    assert all(wins[first] == number for first, second, number in pairs if second == "b")


def test_pvalues_are_those_of_scipy() -> None:
    values = VALUES.copy()
    values[[0, 3], 0] = np.nan
    result = cf.summarise(cf.Scores(values, TOPICS, ("a", "b", "c")), baseline="b")
    first, own, last = result.rows["raw p"].to_list()
    assert own is None
    known = np.isfinite(values[:, 0])
    assert_allclose(first, stats.ttest_rel(values[known, 0], values[known, 1]).pvalue, rtol=1e-12)
    assert_allclose(last, stats.ttest_rel(values[:, 2], values[:, 1]).pvalue, rtol=1e-12)
    assert any("uncorrected" in note for note in result.notes)
    two = cf.summarise({"a": [0.5, 0.25], "b": [0.25, np.nan]}, baseline="b")
    assert two.rows["raw p"].to_list() == [None, None]
    assert not any("uncorrected" in note for note in two.notes)


def test_groups_are_summaries_of_their_topics() -> None:
    topics = [*TOPICS[:5], *TOPICS[3:9], "other"]
    groups = pl.DataFrame({"topic": topics, "group": ["x"] * 5 + ["y"] * 7})
    result = cf.summarise(SCORES, groups=groups)
    for name, part in (("x", slice(0, 5)), ("y", slice(3, 9))):
        own = cf.summarise(cf.Scores(VALUES[part], TOPICS[part], ("a", "b", "c"))).rows
        rows = result.rows.filter(group=name).drop("group")
        assert rows.equals(own)
    assert any("3 topics excluded for lack of a group" in note for note in result.notes)
    assert any("1 row" in note for note in result.notes)


def test_missing_scores_are_excluded_and_reported() -> None:
    values = VALUES.copy()
    values[[0, 3], 0] = np.nan
    scores = cf.Scores(values, TOPICS, ("a", "b", "c"))
    result = cf.summarise(scores, baseline="a")
    rows = result.rows
    assert rows["topics"].to_list() == [10, 12, 12]
    assert_allclose(rows["mean"][0], np.nanmean(values[:, 0]))
    assert (rows["wins"] + rows["losses"] + rows["ties"]).to_list() == [10, 10, 10]
    assert any("2 missing scores" in note for note in result.notes)
    # Against b, which has all topics, only the difference of a is over fewer.
    difference = cf.summarise(scores, baseline="b").rows["difference"][0]
    assert_allclose(difference, np.nanmean(values[:, 0] - values[:, 1]))
    groups = {topic: "x" if k < 2 else "y" for k, topic in enumerate(TOPICS)}
    alike = np.where(np.arange(12)[:, None] == 3, np.nan, VALUES)
    for table, options, topics in (
        (values, {"baseline": "a"}, "from a are over the 10 topics on which both"),
        (values, {"baseline": "b"}, "from b are over the 10 topics on which both"),
        (values, {"baseline": "a", "groups": groups}, "from a are over the 1 to 9 topics"),
        (alike, {"baseline": "a"}, None),
    ):
        notes = cf.summarise(cf.Scores(table, TOPICS, ("a", "b", "c")), **options).notes
        told = [note for note in notes if "differences" in note]
        assert not told if topics is None else any(f"differences {topics}" in x for x in told)


def test_what_does_not_vary_has_no_interval() -> None:
    result = cf.summarise({"a": [1.0, 1.0, 1.0], "b": [0.0, 0.5, 1.0]})
    assert result.rows["low"].is_null().to_list() == [True, False]
    assert any("no interval" in note for note in result.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "x"}, "'x'"),
        ({"groups": {"other": "g"}}, "expected topics that have scores"),
        ({"groups": pl.DataFrame({"topic": ["q1", "q1"], "group": ["g", "g"]})}, "twice"),
        ({"groups": {"q1": "x|y", "q2": "x", "q3": "y"}}, "expected one group, got the list 'x.y'"),
        ({"groups": pl.DataFrame({"topic": ["q1"], "type": ["g"]})}, "rename the column to group"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.summarise(SCORES, **options)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b\n1,.5,.25\n2,.75,.25\n3,.5,.5\n")
    (tmp_path / "g.csv").write_text("topic,group\n1,x\n2,x\n3,y\n")
    words = ["compare", "--scores", "s.csv", "--as", "summary", "--format", "csv"]
    out, _ = cranfield(tmp_path, *words, "--baseline", "b", "--topic-groups", "g.csv")
    assert out.splitlines()[0].startswith("group,system,topics,mean,low,high")
    assert "x,a,2,0.625" in out
    for more, message in (
        (["--test", "t"], "--test cannot be combined"),
        (["--marks", "symbols"], "--marks cannot be combined"),
        (["--baseline", "a", "--baseline", "b"], "a single --baseline"),
    ):
        _, err = cranfield(tmp_path, *words, *more, status=2)
        assert message in err
    one = ["compare", "--scores", "s.csv", "--topic-groups", "g.csv"]
    assert "--as summary" in cranfield(tmp_path, *one, status=2)[1]


def test_notes_of_several_measures_name_the_measures_that_they_hold_for(tmp_path: Path) -> None:
    lines = ["a,1,AP,.5", "a,2,AP,.4", "b,1,AP,.5", "a,1,RR,1", "a,2,RR,1", "b,1,RR,1", "b,2,RR,.5"]
    (tmp_path / "s.csv").write_text("system,topic,measure,value\n" + "\n".join(lines) + "\n")
    words = ["compare", "--scores", "s.csv", "-m", "AP", "-m", "RR", "--as", "summary"]
    out, _ = cranfield(tmp_path, *words)
    notes = [line for line in out.splitlines() if line.startswith("note: ")]
    # Only AP has a missing score; AP of b has one topic, and RR of a does not vary.
    assert [note for note in notes if "missing" in note] == [
        "note: AP: 1 missing score excluded from means and comparisons"
    ]
    assert [note[:14] for note in notes if "no interval" in note] == ["note: AP, RR: "]


def test_latex_without_a_title_has_no_caption(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("topic,a,b\n1,0.1,0.2\n2,0.4,0.3\n")
    command = ("compare", "--scores", "scores.csv", "--as", "summary", "-f", "latex")
    latex, _ = cranfield(tmp_path, *command)
    assert "caption" not in latex and "begin{table}" not in latex
    assert latex.startswith(r"% scores: 95\% confidence interval of each mean")
    assert latex.endswith("\\bottomrule\n\\end{tabular}\n")


def test_a_baseline_may_be_an_index() -> None:
    scores = cf.Scores(VALUES, TOPICS, ("a", "b", "c"))
    for call in (cf.summarise, cf.risk):
        assert str(call(scores, baseline=1)) == str(call(scores, baseline="b"))
        with pytest.raises(cf.PolicyError, match="baseline must be an index from 0 to 2, got 3"):
            call(scores, baseline=3)
