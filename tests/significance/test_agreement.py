"""One output, one truth: decisions, intervals, letters, ranks, prose and boards agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.significance import CORRECTIONS, TESTS
from tests.significance.agreement import contradictions, contradictions_of_default

COMBINATIONS = [
    (name, correction)
    for name, test in TESTS.items()
    if test.info.shards != "needed" and not test.info.refusal
    for correction in test.info.corrections
]
OPTIONS: dict[str, Any] = {"resamples": 499}


@pytest.fixture(scope="module")
def covid() -> cf.Scores:
    collection = cf.bundled.trec_covid()
    return cf.evaluate(collection.runs, collection.qrels, "nDCG@20")["nDCG@20"]


@pytest.mark.parametrize(("test", "correction"), COMBINATIONS)
def test_all_tests_and_corrections(covid: cf.Scores, test: str, correction: str) -> None:
    random = np.random.default_rng(5)
    for size in (3, 9):
        systems = random.choice(covid.systems, size, replace=False)
        scores = covid.select(systems=list(systems))
        baseline = systems[0] if CORRECTIONS[correction].one_baseline else None
        for alpha in (0.01, 0.05, 0.3):
            options = {"test": test, "correction": correction, "alpha": alpha, **OPTIONS}
            found = cf.compare(scores, baseline=baseline, **options)
            assert contradictions(found) == []
        if not CORRECTIONS[correction].all_pairs:
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
    for _ in range(30):
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
    low, high = found.bounds_at(0.05)
    hidden = np.isnan(found.interval[0])
    assert hidden.sum() == found.without_interval > 0
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
    assert not pair.significant
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
