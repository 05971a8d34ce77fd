"""Compatibility: ir_measures on real runs, the authors' depth, brute force, properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
import cranfield.measures.aspects
from tests.measures.rankings import score_ids

IR_MEASURES = {
    ("UPrrf93-wt-r5", 0.8): (0.5403073491641547, 0.5801259355441211, 0.743502580179015),
    ("UPrrf93-wt-r5", 0.95): (0.5620739537391695, 0.43171761760726446, 0.8114093471135847),
    ("SFDC-enc45-refus12", 0.8): (0.49433008931785755, 0.03439428526651361, 0.656006054687985),
    ("SFDC-enc45-refus12", 0.95): (0.28088812930531704, 0.11713977196966169, 0.5876805961344583),
}
"""ir_measures 0.4.3, Compat(p=...), on topics 1, 31 and 44 of TREC-COVID round 5; run and p."""


@pytest.mark.parametrize(("system", "p"), IR_MEASURES)
def test_ir_measures(system: str, p: float) -> None:
    covid = cf.bundled.trec_covid()
    run = next(run for run in covid.runs if run.name == system)
    # It orders documents with equal scores by their ids.
    text = f"Compat(p={p})"
    scores = cf.evaluate(run, covid.qrels, [text], ties="id-ascending")[text]
    found = [scores.values[scores.topics.index(topic), 0] for topic in ("1", "31", "44")]
    assert found == pytest.approx(IR_MEASURES[system, p], rel=0, abs=1e-12)


def overlap(run: list[str], ideal: list[str], p: float, depth: int) -> float:
    """Rank-biased overlap to a depth, from its definition."""
    return sum(p**i * len({*run[: i + 1]} & {*ideal[: i + 1]}) / (i + 1) for i in range(depth))


def expected(run: list[str], grades: dict[str, int], p: float, depth: int | None) -> float:
    place = {doc: i for i, doc in enumerate(run)}
    good = [doc for doc, grade in grades.items() if grade > 0]
    ideal = sorted(good, key=lambda doc: (-grades[doc], place.get(doc, len(run))))
    deep = depth or max(len(run), len(ideal))
    best = overlap(ideal, ideal, p, deep)
    return overlap(run[:deep], ideal, p, deep) / best if best else 0.0


DOCS = "abcdefghij"
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, 10).map(lambda length: list(docs[:length]))
)
judgments = st.dictionaries(st.sampled_from(DOCS + "klm"), st.integers(-2, 3), min_size=1)


@settings(max_examples=10)
@given(rankings, judgments, st.sampled_from([0.5, 0.9, 0.95]))
def test_definition(run: list[str], grades: dict[str, int], p: float) -> None:
    found = score_ids(run, grades, f"Compat(p={p})", f"Compat(p={p})@3", f"Compat(p={p})@1000")
    wanted = [expected(run, grades, p, depth) for depth in (None, 3, 1000)]
    assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=10)
@given(rankings, judgments)
def test_without_normalisation(run: list[str], grades: dict[str, int]) -> None:
    good = sorted((d for d in grades if grades[d] > 0), key=lambda d: -grades[d])
    [found] = score_ids([*good, "zz"], {**grades, "zz": 0}, "Compat(normalised=False, p=0.9)")
    depth = len(good) + 1
    best = overlap(good, good, 0.9, depth) / sum(0.9**i for i in range(depth))
    assert found == pytest.approx(best, abs=1e-12)


@settings(max_examples=10)
@given(rankings, judgments)
def test_help_less_harm(run: list[str], grades: dict[str, int]) -> None:
    harm = {doc: -grade for doc, grade in grades.items()}
    found = score_ids(
        run,
        grades,
        *("CompatDiff", "CompatDiff(harm='bad')", "CompatDiff@4"),
        aspects={"bad": {"q": harm}},
    )
    both = expected(run, grades, 0.95, None) - expected(run, harm, 0.95, None)
    shallow = expected(run, grades, 0.95, 4) - expected(run, harm, 0.95, 4)
    assert found == pytest.approx([both, both, shallow], abs=1e-12)
    [opposite] = score_ids(run, harm, "CompatDiff")
    assert opposite == pytest.approx(-both, abs=1e-12)


def test_harm_is_the_worst() -> None:
    assert score_ids(["a"], {"a": -1, "b": 2}, "CompatDiff") == [-1.0]
    assert score_ids(["b"], {"a": -1, "b": 2}, "CompatDiff") == [1.0]
    with pytest.raises(cf.CranfieldError, match="'bad'"):
        score_ids(["b"], {"b": 2}, "CompatDiff(harm='bad')")


def test_negative_grades_that_are_no_judgments() -> None:
    assert score_ids(["a"], {"a": -1, "b": 2}, "CompatDiff", negative="unjudged") == [0.0]


def test_not_normalised() -> None:
    """The weights of all depths are the divisor; an empty ranking of a topic with nothing is 0."""
    run = {"a": {"1": {"x": 1.0}, "2": {"y": 1.0}}, "b": {"2": {"y": 1.0, "z": 0.5}}}
    text = "Compat(normalised=False, p=0.5)"
    found = cf.evaluate(run, {"1": {"x": 0}, "2": {"y": 1}}, text)[text].values
    assert found == pytest.approx(np.array([[0.0, 0.0], [1.0, (1 + 0.25) / 1.5]]))
