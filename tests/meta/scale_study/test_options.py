"""A study of scales refuses what it cannot do before it does anything."""

from __future__ import annotations

import time

import pytest

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.meta import study_scales
from cranfield.meta.scale_study import CUTOFFS, MEASURES, TESTS, parse_scale_options

T = [("t", "none")]


@pytest.fixture(scope="module")
def judged() -> cf.JudgedRuns:
    covid = cf.bundled.trec_covid()
    return cf.judge(covid.runs[:3], covid.qrels).binarise()


def test_the_study_of_the_paper_is_within_reach() -> None:
    parse_scale_options(MEASURES, CUTOFFS, TESTS).check_feasibility(1, 129 * 50)
    parse_scale_options(["RR"], [100], T).check_feasibility(1, 100)


@pytest.mark.parametrize(
    ("measures", "cutoffs", "beyond"),
    [
        (["P", "AP"], [5, 40], ["AP@40"]),
        (["DCG", "P", "RBP"], [20, 60, 100], ["DCG@60", "RBP@60", "DCG@100", "RBP@100"]),
        (["P"], [5000], ["P@5000"]),
    ],
)
def test_beyond_reach_at_once(
    judged: cf.JudgedRuns, measures: list[str], cutoffs: list[int], beyond: list[str]
) -> None:
    steps: list[int] = []
    start = time.process_time()
    with pytest.raises(PolicyError) as caught:
        study_scales(
            judged, measures, cutoffs=cutoffs, tests=T, progress=lambda *done: steps.extend(done)
        )
    assert time.process_time() - start < 10
    assert steps == []
    start_of = f"the study requires exact ranks, which cannot be computed for {', '.join(beyond)}: "
    assert str(caught.value).startswith(start_of)
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


def test_one_measure_and_any_iterable(judged: cf.JudgedRuns) -> None:
    found = study_scales(judged, "P", cutoffs=range(2, 4), tests=iter(T))
    assert (found.measures, found.cutoffs) == (("P",), (2, 3))
    assert found.changes.height == 2
    without = study_scales(judged, ["P"], cutoffs=[3], tests=())
    assert without.correlation.height == 1
    assert without.changes.is_empty()


def test_changes_are_shares_of_what_was_significant_and_of_all() -> None:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:40:5], covid.qrels).binarise()
    found = study_scales(judged, "RBP", cutoffs=[10], tests=T)
    _, _, _, sig, lost, won, of_sig, of_all = found.changes.row(0)
    assert sig and lost + won
    assert of_sig == pytest.approx(100 * (lost + won) / sig)
    assert of_all == pytest.approx(100 * (lost + won) / (8 * 7 / 2))
    table = found.tables()[-2]
    assert table.head[-2:] == ["changed %", "changed % of all"]
    assert table.rows[0][-2:] == [f"{of_sig:.2f}", f"{of_all:.2f}"]
