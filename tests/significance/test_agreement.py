"""One output, one truth: decisions, intervals, letters, ranks, prose and boards agree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.campaign.results.leaderboard import separate_runs
from cranfield.significance import CORRECTIONS, TESTS, rank_sets
from tests.significance import helpers

COMBINATIONS = [
    (name, correction)
    for name, test in TESTS.items()
    if test.info.shards != "required" and not test.info.refusal
    for correction in test.info.corrections
]


def contradictions(found: cf.PairwiseComparison) -> list[str]:
    """Return what contradicts the decisions, which are p-values of at most alpha."""
    significant = found.adjusted_pvalues <= found.alpha
    low, high = found.interval
    shown = ~np.isnan(low)
    leaves_out = (low > 0) | (high < 0)
    wrong = []
    if (significant & shown & ~leaves_out).any():
        wrong.append("significant, and the interval contains 0")
    if (~significant & shown & leaves_out).any():
        wrong.append("not significant, and the interval excludes 0")
    frame = found.to_polars()
    if frame["significant"].to_list() != significant.tolist():
        wrong.append("the table has other decisions")
    if found.half_widths is not None and (bars := found.find_mean_bounds(0)) is not None:
        [lower, upper], first, second = bars, found.first, found.second
        if ((lower[first] > upper[second]) | (lower[second] > upper[first]) != significant).any():
            wrong.append("bars that do not overlap have other decisions")
    if found.baselines or found.alternative != "two-sided":
        return wrong
    letters = found.groups()
    # With more groups than letters, names of groups have two, and commas between them.
    many = any("," in some for some in letters.values())
    groups = {name: set(some.split(",") if many else some) for name, some in letters.items()}
    shares = [
        bool(groups[found.systems[i]] & groups[found.systems[j]])
        for i, j in zip(found.first, found.second, strict=True)
    ]
    if (np.array(shares) == significant).any():
        wrong.append("letters have other decisions")
    sign = -1 if found.lower_is_better else 1
    better = np.where(sign * found.difference > 0, found.first, found.second)[significant]
    worse = np.where(sign * found.difference > 0, found.second, found.first)[significant]
    by_means = (found.difference != 0)[significant]
    ranking = found.ranking()
    if "ranks" in ranking.columns:
        systems = len(found.systems)
        best = 1 + np.bincount(worse[by_means], minlength=systems)
        last = systems - np.bincount(better[by_means], minlength=systems)
        expected = {
            name: str(a) if a == b else f"{a}-{b}"
            for name, a, b in zip(found.systems, best, last, strict=True)
        }
        if dict(zip(ranking["system"], ranking["ranks"], strict=True)) != expected:
            wrong.append("ranks have other decisions")
    first = found.order[0]
    beaten = {found.systems[k] for k in worse[better == first]}
    beaten |= {found.systems[k] for k in better[worse == first]}
    if set(found.top_group) != set(found.systems) - beaten:
        wrong.append("the top group is another one")
    return wrong


def contradictions_of_default(scores: cf.Scores) -> list[str]:
    """Return what `--as ranks`, prose and a campaign's board say otherwise than `compare`."""
    found = cf.compare(scores)
    wrong = contradictions(found)
    board = rank_sets(scores)
    if not np.array_equal(board.interval, found.rank_sets().interval):
        wrong.append("rank_sets has other ranks")
    in_prose = re.search(r"Of ([\d,]+) pairs, ([\d,]+|none)", found.prose())
    number = 0 if in_prose and in_prose[2] == "none" else int(in_prose[2]) if in_prose else -1
    if len(found) > 1 and number != found.count():
        wrong.append("prose has another number of pairs")
    published = separate_runs(scores)
    assert not isinstance(published, str)
    if dict(published.frame.select("tag", "groups").iter_rows()) != found.groups():
        wrong.append("the board has other groups")
    return wrong


@pytest.fixture(scope="module")
def covid() -> cf.Scores:
    return helpers.covid("nDCG@20")


@pytest.mark.parametrize(("test", "correction"), COMBINATIONS)
def test_all_tests_and_corrections(covid: cf.Scores, test: str, correction: str) -> None:
    random = np.random.default_rng(5)
    for size, alphas in ((3, (0.05,)), (9, (0.01, 0.3))):
        systems = random.choice(covid.systems, size, replace=False)
        scores = covid.select(systems=list(systems))
        baseline = systems[0] if CORRECTIONS[correction].requires_one_baseline else None
        options: dict[str, Any] = {"test": test, "correction": correction, "resamples": 299}
        for alpha in alphas:
            found = cf.compare(scores, baseline=baseline, alpha=alpha, **options)
            assert contradictions(found) == []
        assert (found.test, found.correction) == (test, correction)
        assert ((found.adjusted_pvalues >= 0) & (found.adjusted_pvalues <= 1)).all()
        if correction in {"bonferroni", "holm", "bh", "by", "tukey", "dunnett"}:
            assert (found.adjusted_pvalues >= found.raw_pvalues - 1e-12).all()
        assert not (found.interval[0] > found.interval[1]).any()
        assert not any("nan" in text for text in (str(found), found.to_latex(), repr(found)))
        assert found.to_polars().height == len(found)
    if not CORRECTIONS[correction].covers_all_pairs:
        for alternative in ("greater", "less"):
            found = cf.compare(scores, baseline=systems[0], alternative=alternative, **options)
            assert contradictions(found) == []


def test_the_default_on_all_systems_and_on_random_subsets(covid: cf.Scores) -> None:
    assert contradictions_of_default(covid) == []
    random = np.random.default_rng(6)
    for size in (2, 5, 12):
        systems = random.choice(covid.systems, size, replace=False)
        assert contradictions_of_default(covid.select(systems=list(systems))) == []


@pytest.mark.parametrize("statistic", ["mean", "sum", "geometric-mean"])
@pytest.mark.parametrize(
    ("test", "correction"),
    [("anova-2", "tukey"), ("anova-2", "bootstrap-tukey"), ("randomisation", "randomised-tukey")],
)
def test_bars_of_tied_scores_overlap_unless_pairs_differ(
    test: str, correction: str, statistic: str
) -> None:
    """Of scores with one decimal, some differences are as large as the critical difference."""
    random = np.random.default_rng(3)
    for _ in range(15):
        shape = int(random.integers(8, 30)), int(random.integers(3, 7))
        scores = np.round(random.random(shape) * 0.3 + random.random(shape[1]) * 0.4, 1) + 0.1
        found = cf.compare(
            scores, test=test, correction=correction, statistic=statistic, resamples=199
        )
        assert found.half_widths is not None
        assert contradictions(found) == []


def test_a_contradiction_is_found(covid: cf.Scores) -> None:
    """The check itself: bounds of a step-down correction before some are hidden."""
    found = cf.compare(covid, test="t", correction="holm")
    low, high = found.compute_bounds(0.05)
    hidden = np.isnan(found.interval[0])
    assert hidden.sum() == found.n_without_interval > 0
    assert (found.is_significant() & (low <= 0) & (high >= 0))[hidden].all()


def test_a_constant_difference_is_no_clear_pair() -> None:
    """On three topics sign flips give the pair alone p = .25: the note must not say p < .001."""
    values = {"a": [0.125, 0.25, 0.375], "b": [0.25, 0.375, 0.5], "c": [0.5, 0.25, 0.375]}
    found = cf.compare(values)
    alone = cf.compare({name: values[name] for name in "ab"}, test="t")
    assert alone.adjusted_pvalues[0] == 0.25
    assert not any("paired t-test" in note for note in found.notes)
    assert "no limits" not in found.prose()


def test_a_variant_of_a_base_among_unrelated_runs_is_noted() -> None:
    """A variant better on 44 of 50 topics by little, beside ten runs that vary much more."""
    random = np.random.default_rng(4)
    topics = random.normal(0.4, 0.15, (50, 1))
    runs = topics + random.normal(0, 0.15, (50, 10))
    base = topics[:, 0] + random.normal(0, 0.15, 50)
    gain = np.where(np.arange(50) < 44, 0.012, -0.004) + random.normal(0, 0.003, 50)
    scores = np.column_stack([runs, base, base + gain])
    found = cf.compare(scores)
    pair = found["11", "12"]
    assert not pair.is_significant
    raw = np.array(
        [
            stats.ttest_rel(scores[:, i], scores[:, j]).pvalue
            for i, j in zip(found.first, found.second, strict=True)
        ]
    )
    missed = int(((raw < 0.001) & ~found.is_significant()).sum())
    [note] = [note for note in found.notes if "unadjusted two-sided paired t-test" in note]
    assert note.startswith(f"{missed} of 66 pairs")
    assert "can be compared alone" in note  # advice for authors, not for readers of a paper
    assert "paired t-test" not in found.prose()
    without = cf.compare(scores[:, :11])
    assert not any("paired t-test" in note for note in without.notes)
    # A one-sided test says nothing about differences in the other direction.
    for alternative, has_note in (("greater", True), ("less", False)):
        one_sided = cf.compare(scores, baseline="11", alternative=alternative)
        assert any("paired t-test" in note for note in one_sided.notes) == has_note
