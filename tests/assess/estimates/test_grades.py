"""Mean grades from a sample of each grade of a judge, beside the formulas of Cochran (1977)."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.cli.running import cranfield

Grades = dict[str, dict[str, int]]


def judged_pairs(size: int = 15) -> tuple[Grades, Grades]:
    """Return labels of a judge, and grades of a random sample of the pairs of each label."""
    draw = random.Random(7)
    judge: Grades = defaultdict(dict)
    people: Grades = defaultdict(dict)
    strata: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
    for k in range(240):
        topic, doc, grade = f"q{k % 6}", f"d{k}", draw.choice([0, 0, 1, 2])
        judge[topic][doc] = label = grade if draw.random() < 0.7 else draw.choice([0, 1, 2])
        strata[label].append((topic, doc, grade))
    for pairs in strata.values():
        for topic, doc, grade in draw.sample(pairs, size):
            people[topic][doc] = grade
    return judge, people


def test_estimates_are_those_of_stratified_sampling() -> None:
    """Cochran, equations (5.1) and (5.7): weighted means, and variances with the correction."""
    judge, people = judged_pairs()
    result = cf.assess.ppi_grades(people, judge)
    sizes: dict[int, int] = defaultdict(int)
    samples: dict[int, list[int]] = defaultdict(list)
    for topic, docs in judge.items():
        for doc, label in docs.items():
            sizes[label] += 1
            if doc in people[topic]:
                samples[label].append(people[topic][doc])
    total = sum(sizes.values())
    for row in result.means.iter_rows(named=True):
        limit = int(row["quantity"].split()[-1]) if row["quantity"] != "grade" else None
        mean = variance = 0.0
        for label, grades in samples.items():
            values = [float(g if limit is None else g >= limit) for g in grades]
            n, share = len(values), sizes[label] / total
            average = sum(values) / n
            spread = sum((value - average) ** 2 for value in values) / (n - 1)
            mean += share * average
            variance += share**2 * (1 - n / sizes[label]) * spread / n
        assert row["estimate"] == pytest.approx(mean, abs=1e-12)
        assert row["standard_error"] == pytest.approx(variance**0.5, abs=1e-12)
        assert row["low"] < mean < row["high"]
    assert result.strata["pairs"].to_list() == [sizes[label] for label in sorted(sizes)]
    # Neyman: proportional to size times standard deviation, up to rounding.
    products = result.strata.select(pl.col("pairs") * pl.col("deviation")).to_series()
    shares = products / products.sum() * result.strata["human"].sum()
    differences = (result.strata["allocation"] - shares).abs().to_list()
    assert max(differences) < 1
    assert result.strata["allocation"].sum() == result.strata["human"].sum()


def test_refusals() -> None:
    judge, people = judged_pairs(2)
    with pytest.raises(cf.InputError, match="judged 1 document that 'judge' did not label; add"):
        cf.assess.ppi_grades({**people, "q0": {"other": 1}}, judge)
    only = {"q0": {next(doc for doc, label in judge["q0"].items() if label == 0): 0}}
    with pytest.raises(cf.PolicyError, match="at least 2 items of each stratum, .* got 1 of"):
        cf.assess.ppi_grades(only, judge)


def test_the_command_takes_no_runs(tmp_path: Path) -> None:
    judge, people = judged_pairs()
    for name, grades in (("llm.txt", judge), ("few.txt", people)):
        lines = (f"{t} 0 {d} {g}\n" for t, docs in grades.items() for d, g in docs.items())
        (tmp_path / name).write_text("".join(lines))
    start = ("judges", "few.txt", "llm.txt", "--ppi")
    out, _ = cranfield(tmp_path, *start, "grade", "--table", "ppi", "--format", "csv")
    expected = cf.assess.ppi_grades(people, judge).means["estimate"].to_list()
    assert pl.read_csv(out.encode())["estimate"].to_list() == pytest.approx(expected, abs=1e-12)
    out, _ = cranfield(tmp_path, *start, "grade", "--table", "strata", "--format", "csv")
    assert pl.read_csv(out.encode())["label"].to_list() == [0, 1, 2]
    _, err = cranfield(tmp_path, *start, "grade", "--own-runs", status=2)
    assert "--ppi grade cannot be combined with --runs or --own-runs" in err


def test_a_sample_with_unequal_probabilities_within_a_grade_is_refused() -> None:
    judge = {"q": {f"d{k}": k % 2 for k in range(40)}}
    rows = [
        {"topic": "q", "doc": f"d{k}", "grade": k % 3 % 2, "inclusion": 0.5 if k < 12 else 0.25}
        for k in range(20)
    ]
    with pytest.raises(cf.PolicyError, match="0.25 to 0.5 for grade 0"):
        cf.assess.ppi_grades(pl.DataFrame(rows), judge)
    # Strata: 2 of 4 documents were sampled, and 8 of 8.
    strata = [
        {"topic": "q", "doc": f"d{k}", "grade": -1 if k in (0, 1) else k % 2, "stratum": k // 4}
        for k in range(12)
    ]
    with pytest.raises(
        cf.PolicyError, match="same inclusion probability, got 0.5 to 1 for grade 0"
    ):
        cf.assess.ppi_grades(pl.DataFrame(strata), judge)


def test_a_sample_drawn_by_grade_keeps_its_estimate() -> None:
    judge, people = judged_pairs()
    by_grade = {0: 0.1, 1: 0.3, 2: 0.5}
    rows = [
        {"topic": t, "doc": d, "grade": g, "inclusion": by_grade[judge[t][d]]}
        for t, docs in people.items()
        for d, g in docs.items()
    ]
    with_column = cf.assess.ppi_grades(pl.DataFrame(rows), judge).means
    assert with_column.equals(cf.assess.ppi_grades(people, judge).means)


def test_a_sample_of_topics_is_reported() -> None:
    judge, people = judged_pairs(size=40)
    assert cf.assess.ppi_grades(people, judge).notes == ()
    complete = {topic: docs for topic, docs in judge.items() if topic in {"q0", "q1", "q2"}}
    (note,) = cf.assess.ppi_grades(complete, judge).notes
    assert "no document of 3 topics, where a random sample would have 10 or more on average" in note
