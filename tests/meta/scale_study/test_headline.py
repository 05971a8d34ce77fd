"""Means of the changes of decisions, held against the source and against a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t as student

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.meta import ScaleStudy, study_scales
from cranfield.meta.scale_study import MEASURES, TESTS, average_changes, parse_scale_options

PRINTED = Path(__file__).with_name("ferrante2021_tables_5_6.csv")
"""Tables 5 and 6 of Ferrante, Ferro and Fuhr (2021): three tracks, runs of length 30.

Three cells that are empty in the text of the paper follow from their percentages.
"""


def row(headline: pl.DataFrame, cutoffs: str, measures: str, tests: str) -> dict[str, Any]:
    return headline.filter(cutoffs=cutoffs, measures=measures, tests=tests).row(0, named=True)


def test_the_printed_tables_give_the_means_of_the_paper() -> None:
    """Section 7.3: 13 and 5%; 2 and 4%; 10 and 45%; 25% +- 11% overall, "around" all of them."""
    printed = pl.read_csv(PRINTED).with_columns(cutoff=pl.lit(30, pl.Int64))
    assert printed.height == 3 * len(MEASURES) * len(TESTS)
    options = parse_scale_options(MEASURES, [30], TESTS)
    headline = average_changes(printed, options, {"T08": 1, "T26": 1, "T27": 1})
    for measures, tests, lost, won in (
        ("without recall base", "ordinal", 0, 0),
        ("without recall base, not interval", "interval", 13, 5),
        ("with recall base", "ordinal", 2, 4),
        ("with recall base", "interval", 10, 45),
    ):
        means = row(headline, "30", measures, tests)
        assert means["S2NS %"] == pytest.approx(lost, abs=1)
        assert means["NS2S %"] == pytest.approx(won, abs=1)
    overall = row(headline, "30", "affected", "affected")
    assert overall["results"] == 156
    assert (round(overall["changed %"]), round(overall["half-width"])) == (25, 11)
    assert row(headline, "30", "all", "all")["results"] == 264


def test_means_by_hand() -> None:
    """RR by the t-test: 1 + 2 of 10 pairs change, and 0 + 1 of 4; a third result has no pair."""
    options = parse_scale_options(["RR"], [5], [("t", "none")])
    rows = [("a", 10, 1, 2), ("b", 4, 0, 1), ("c", 0, 0, 3)]
    changes = pl.DataFrame(
        [(name, 5, "RR", "t", *counts) for name, *counts in rows],
        ["collection", "cutoff", "measure", "test", "Sig", "S2NS", "NS2S"],
        orient="row",
    )
    headline = average_changes(changes, options, {"a": 1, "b": 1, "c": 1})
    means = row(headline, "5", "without recall base, not interval", "interval")
    assert (means["results"], means["undefined"]) == (2, 1)
    assert means["S2NS %"] == pytest.approx((10 + 0) / 2)
    assert means["NS2S %"] == pytest.approx((20 + 25) / 2)
    assert means["changed %"] == pytest.approx((30 + 25) / 2)
    assert means["sd"] == pytest.approx(12.5**0.5)
    # The 0.975 quantile of Student's t with one degree of freedom is 12.706.
    assert means["half-width"] == pytest.approx(12.706205 * 2.5)
    assert set(headline["tests"]) == {"interval", "affected", "all"}
    single = average_changes(changes[:1], options, {"a": 1})
    assert row(single, "5", "all", "all")["sd"] is None
    assert row(single, "5", "all", "all")["changed %"] == pytest.approx(30)


COLLECTIONS = {"first": (slice(0, 16, 2), 1), "second": (slice(20, 40, 2), 2)}
SOME_MEASURES = ("P", "RBP(p=0.8)", "RR", "AP")
SOME_TESTS = (("sign", "none"), ("t", "none"), ("anova-2", "tukey"))


@pytest.fixture(scope="module")
def judged() -> dict[str, cf.JudgedRuns]:
    covid = cf.bundled.trec_covid()
    return {
        name: cf.judge(covid.runs[rows], covid.qrels).binarise(rel)
        for name, (rows, rel) in COLLECTIONS.items()
    }


@pytest.fixture(scope="module")
def study(judged: dict[str, cf.JudgedRuns]) -> ScaleStudy:
    return study_scales(judged, SOME_MEASURES, cutoffs=[5, 10], tests=SOME_TESTS)


def count_by_loop(runs: cf.JudgedRuns, measure: str, test: str, correction: str) -> list[int]:
    """Count Sig, S2NS and NS2S by a comparison of each version, pair by pair."""
    significant = []
    for version in (measure, f"interval({measure}, raw=True)"):
        scores = cf.score(runs, version)[version]
        rows = cf.compare(scores, test=test, correction=correction).to_polars()
        decisions = {
            frozenset((first, second)): bool(p <= 0.05)
            for first, second, p in rows.select("first", "second", "p").rows()
        }
        assert len(decisions) == len(list(combinations(scores.systems, 2)))
        significant.append(decisions)
    before, after = significant
    return [
        sum(before.values()),
        sum(before[pair] and not after[pair] for pair in before),
        sum(after[pair] and not before[pair] for pair in before),
    ]


def test_a_plain_loop(study: ScaleStudy, judged: dict[str, cf.JudgedRuns]) -> None:
    counts = {
        (name, cutoff, measure, test): count_by_loop(runs, f"{measure}@{cutoff}", test, correction)
        for name, runs in judged.items()
        for cutoff in (5, 10)
        for measure in SOME_MEASURES
        for test, correction in SOME_TESTS
    }
    columns = ("collection", "cutoff", "measure", "test", "Sig", "S2NS", "NS2S")
    assert study.changes.select(columns).rows() == [(*key, *n) for key, n in counts.items()]
    members: dict[tuple[str, str], Callable[[str, str], bool]] = {
        ("without recall base", "ordinal"): lambda m, t: m != "AP" and t == "sign",
        ("without recall base", "interval"): lambda m, t: m != "AP" and t != "sign",
        ("without recall base, not interval", "interval"): (
            lambda m, t: m in ("RR", "RBP(p=0.8)") and t != "sign"
        ),
        ("with recall base", "ordinal"): lambda m, t: m == "AP" and t == "sign",
        ("with recall base", "interval"): lambda m, t: m == "AP" and t != "sign",
        ("affected", "affected"): lambda m, t: m == "AP" or (m[0] == "R" and t != "sign"),
        ("all", "all"): lambda m, t: True,
    }
    assert study.headline.height == 3 * len(members)
    for cutoffs, lengths in (("5", [5]), ("10", [10]), ("5, 10", [5, 10])):
        for (measures, tests), is_member in members.items():
            means = row(study.headline, cutoffs, measures, tests)
            group = [
                n
                for (_, cutoff, measure, test), n in counts.items()
                if cutoff in lengths and is_member(measure, test)
            ]
            defined = [n for n in group if n[0]]
            assert means["results"] == len(defined) > 1
            assert means["undefined"] == len(group) - len(defined)
            changed = [100 * (lost + won) / n for n, lost, won in defined]
            assert means["S2NS %"] == pytest.approx(mean(100 * b / a for a, b, _ in defined))
            assert means["NS2S %"] == pytest.approx(mean(100 * c / a for a, _, c in defined))
            assert means["changed %"] == pytest.approx(mean(changed))
            assert means["sd"] == pytest.approx(stdev(changed))
            n = len(defined)
            half_width = student.ppf(0.975, n - 1) * stdev(changed) / n**0.5
            assert means["half-width"] == pytest.approx(half_width)


def test_several_collections_are_studied_as_each_alone(
    study: ScaleStudy, judged: dict[str, cf.JudgedRuns], tmp_path: Path
) -> None:
    assert study.collections == ("first", "second")
    assert (study.n_systems, study.n_topics) == ((8, 10), (50, 50))
    for name, runs in judged.items():
        alone = study_scales(runs, SOME_MEASURES, cutoffs=[5, 10], tests=SOME_TESTS)
        assert alone.collections == ()
        for table in ("correlation", "pairs", "changes"):
            own = getattr(study, table).filter(collection=name).drop("collection")
            assert_frame_equal(own, getattr(alone, table), check_exact=True)
    options: dict[str, Any] = {"cutoffs": [5, 10], "tests": SOME_TESTS, "folder": tmp_path}
    for _ in range(2):
        again = study_scales(judged, SOME_MEASURES, **options)
        assert again.to_json() == study.to_json()
    assert len(list(tmp_path.glob("collection-2-*.parquet"))) == 2 * len(SOME_MEASURES)


def test_other_ranks_of_ties_change_interval_scales(judged: dict[str, cf.JudgedRuns]) -> None:
    """P is an interval scale, but its mid-ranks are not equally spaced (table 3 of the source)."""
    for ties, n_affected in (("unique", 1), ("mid", 2)):
        study = study_scales(
            judged["first"], ["P", "AP"], cutoffs=[5], tests=[("t", "none")], ties=ties
        )
        affected = row(study.headline, "5", "affected", "affected")
        assert affected["results"] + affected["undefined"] == n_affected
        assert "without recall base, not interval" not in study.headline["measures"]


def test_what_is_said(study: ScaleStudy) -> None:
    means = row(study.headline, "10", "affected", "affected")
    verdict = " ".join(study.verdict)
    assert f"{means['changed %']:.1f}% ± {means['half-width']:.1f}% of the significant" in verdict
    assert "first: 8 systems, 50 topics; second: 10 systems, 50 topics" in verdict
    assert study.heading()[0].startswith("first: 8 systems, 50 topics; second: 10 systems")
    for name in ("scale_tau", "scale_pairs"):
        with pytest.raises(PolicyError, match="got a mapping with 2 collections"):
            getattr(study.plot, name)()


def test_tied_systems_have_no_correlation() -> None:
    run = {"1": {"a": 2.0, "b": 1.0}}
    tied = cf.judge({"one": run, "same": run}, {"1": {"a": 1, "b": 0}})
    found = study_scales(tied, ["P", "RR"], cutoffs=[2], tests=())
    assert found.correlation["overall"].to_list() == [None, None]
    assert found.pairs.select("original", "interval", "change %").row(0) == (None, None, None)
    assert found.verdict == ()


def test_refusals(judged: dict[str, cf.JudgedRuns]) -> None:
    for value, message in (
        ({}, "expected at least one collection, got none"),
        ({"x": "qrels.txt"}, r"expected judged runs from judge\(\) of 'x', got str"),
        ([], r"expected judged runs from judge\(\), or a mapping of them by collection, got list"),
        ({1: judged["first"]}, "names of collections must be text, got 1"),
    ):
        with pytest.raises(PolicyError, match=message):
            study_scales(value, "P", cutoffs=[5])  # type: ignore[arg-type]
    covid = cf.bundled.trec_covid()
    single = cf.judge(covid.runs[:1], covid.qrels).binarise()
    with pytest.raises(PolicyError, match="at least two systems of 'y', got 1"):
        study_scales({**judged, "y": single}, "P", cutoffs=[5])
