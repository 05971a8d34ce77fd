"""A study of scales refuses what it cannot do before it does anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError, PolicyError
from cranfield.meta import study_scales
from cranfield.meta.of_scales import CUTOFFS, MEASURES, TESTS, scale_options

T = [("t", "none")]


@pytest.fixture(scope="module")
def judged() -> cf.JudgedRuns:
    covid = cf.bundled.trec_covid()
    return cf.judge(covid.runs[:3], covid.qrels).binary()


def test_the_study_of_the_paper_is_within_reach() -> None:
    scale_options(MEASURES, CUTOFFS, TESTS).require(1, 129 * 50)


@pytest.mark.parametrize(
    ("measures", "cutoffs", "beyond"),
    [
        (["P", "AP"], [5, 60], ["AP@60"]),
        (["DCG", "P", "RBP"], [20, 60, 100], ["DCG@60", "RBP@60", "DCG@100", "RBP@100"]),
        (["P"], [5000], ["P@5000"]),
        (["ERR"], [60], ["ERR@60"]),
    ],
)
def test_beyond_reach_at_once(
    judged: cf.JudgedRuns, measures: list[str], cutoffs: list[int], beyond: list[str]
) -> None:
    steps: list[int] = []
    start = time.perf_counter()
    with pytest.raises(PolicyError) as caught:
        study_scales(
            judged, measures, cutoffs=cutoffs, tests=T, progress=lambda *done: steps.extend(done)
        )
    assert time.perf_counter() - start < 10
    assert steps == []
    start_of = f"the study needs exact ranks, which are beyond reach for {', '.join(beyond)}: "
    assert str(caught.value).startswith(start_of)
    assert "\n" not in str(caught.value)


def test_ranks_of_runs_reach_less_far(judged: cf.JudgedRuns) -> None:
    options = scale_options(["RR"], [100], T)
    options.require(1, 100)
    with pytest.raises(PolicyError, match="RR@100.*use ties='unique'"):
        scale_options(["RR"], [100], T, "mid").require(1, 100)
    with pytest.raises(PolicyError, match="DCG@20"):
        scale_options(["DCG"], [20], T).require(9, 100)


# Without its types, which forbid what is wrong here.
study: Any = study_scales


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda j: study(j, ["P"], cutoffs=5), "cutoffs are a list .* not '5'"),
        (lambda j: study(j, ["P"], cutoffs="5"), "cutoffs: expected a list"),
        (lambda j: study(j, ["P"], cutoffs=None), "cutoffs are a list"),
        (lambda j: study(j, ["P"], cutoffs=[]), "no cutoffs"),
        (lambda j: study(j, ["P"], cutoffs=[5, 5]), "cutoff 5 is asked for twice"),
        (lambda j: study(j, ["P"], cutoffs=[0]), "cutoff must be an integer from 1"),
        (lambda j: study(j, ["P"], cutoffs=[2.5]), "cutoff must be an integer"),
        (lambda j: study(j, ["P"], cutoffs=["5"]), "cutoff must be an integer"),
        (lambda j: study(j, []), "no measures"),
        (lambda j: study(j, None), "measures are a list"),
        (lambda j: study(j, [None]), "expected a measure or its text, got NoneType"),
        (lambda j: study(j, ["P", "Precision"]), "measure P is asked for twice"),
        (lambda j: study(j, ["P@5"]), "has a cutoff"),
        (lambda j: study(j, [cf.parse_measure("P@5")]), "has a cutoff"),
        (lambda j: study(j, ["nDGC"]), "did you mean"),
        (lambda j: study(j, ["interval"]), "needs a measure inside"),
        (lambda j: study(j, ["P", "Bpref"]), "more than the grades by rank"),
        (lambda j: study(j, ["P", "Rprec"]), "Rprec takes no cutoff"),
        (lambda j: study(j, ["interval(P)"]), "interval-scaled already"),
        (lambda j: study(j, ["P"], tests=None), "tests are a list"),
        (lambda j: study(j, ["P"], tests=(), alpha=2), "alpha must be a number"),
        (lambda j: study(j, ["P"], tests="t"), "tests: expected a list"),
        (lambda j: study(j, ["P"], tests=["t"]), "'t' is none"),
        (lambda j: study(j, ["P"], tests=[("t", None)]), "is none"),
        (lambda j: study(j, ["P"], tests=T + T), "test t is asked for twice"),
        (lambda j: study(j, ["P"], tests=[("t", "tukey")]), "'tukey' cannot be combined with"),
        (lambda j: study(j, ["P"], tests=[("tt", "none")]), "tt"),
        (lambda j: study(j, ["P"], tests=[("anova-3", "tukey")]), "by shard"),
        (lambda j: study(j, ["P"], ties="first"), "unique, mid, min, max"),
        (lambda j: study(j, ["P"], alpha=2), "alpha must be a number between 0 and 1"),
        (lambda j: study([j], ["P"]), "what judge.. returns, not list"),
    ],
)
def test_wrong_options(judged: cf.JudgedRuns, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((PolicyError, MeasureError), match=message) as caught:
        call(judged)
    assert "\n" not in str(caught.value)


def test_exact_n_reaches_the_signed_rank_test(judged: cf.JudgedRuns) -> None:
    found = [
        study_scales(judged, ["P"], cutoffs=[5], tests=[("signed-rank", "none")], exact_n=n)
        for n in (0, 25)
    ]
    scores = cf.score(judged, ["P@5"])["P@5"]
    for study, n in zip(found, (0, 25), strict=True):
        alone = cf.compare(scores, test="signed-rank", correction="none", exact_n=n)
        assert study.changes["Sig"].item() == alone.count()
    with pytest.raises(PolicyError, match="exact_n"):
        study_scales(judged, ["P"], exact_n=-1)


def test_one_measure_and_any_iterable(judged: cf.JudgedRuns) -> None:
    found = study_scales(judged, "P", cutoffs=range(2, 4), tests=iter(T))
    assert (found.measures, found.cutoffs) == (("P",), (2, 3))
    assert found.changes.height == 2
    without = study_scales(judged, ["P"], cutoffs=[3], tests=())
    assert without.correlation.height == 1
    assert without.changes.is_empty()


def test_changes_are_shares_of_what_was_significant_and_of_all() -> None:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:40:5], covid.qrels).binary()
    found = study_scales(judged, "RBP", cutoffs=[10], tests=T)
    _, _, _, sig, lost, won, of_sig, of_all = found.changes.row(0)
    assert sig and lost + won
    assert of_sig == pytest.approx(100 * (lost + won) / sig)
    assert of_all == pytest.approx(100 * (lost + won) / (8 * 7 / 2))
    table = found.tables()[-1]
    assert table.head[-2:] == ["changed %", "changed % of all"]
    assert table.rows[0][-2:] == [f"{of_sig:.2f}", f"{of_all:.2f}"]
