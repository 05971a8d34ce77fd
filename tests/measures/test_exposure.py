"""Exposure of documents and groups: definitions enumerated, SciPy's divergence, FairRankTune."""

from __future__ import annotations

from itertools import groupby, permutations, product
from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import cranfield as cf
import cranfield.measures.fairness.attention
import cranfield.measures.fairness.exposure
from cranfield.base.errors import MeasureError
from tests.measures.fairness_cases import GROUPS, Case, cases

MODELS = ("log2(rank)", "log2(rank+1)", "geometric", "cascade")


def exposures(ranking: tuple[str, ...], grades: dict[str, int], model: str) -> dict[str, float]:
    """Exposure of each document, with patience 0.6 and chance 0.3 to stop."""
    out, seen = {}, 0
    for rank, doc in enumerate(ranking, 1):
        if model == "log2(rank)":
            out[doc] = 1 / log2(max(rank, 2))
        elif model == "log2(rank+1)":
            out[doc] = 1 / log2(rank + 1)
        else:
            out[doc] = 0.6 ** (rank - 1) * (0.7**seen if model == "cascade" else 1.0)
        seen += grades.get(doc, 0) >= 1
    return out


def by_group(case: Case, values: dict[str, float]) -> dict[str, float]:
    out = dict.fromkeys(GROUPS, 0.0)
    for doc, value in values.items():
        for group, weight in case.groups.get(doc, {}).items():
            out[group] += weight * value
    return out


@settings(max_examples=10)
@given(cases(), st.sampled_from(MODELS), st.sampled_from(["relevant", "judged", "equal", "given"]))
def test_awrf(case: Case, model: str, target: str) -> None:
    got = by_group(case, exposures(case.ranking, case.grades, model))
    known = sorted({group for own in case.groups.values() for group in own})
    low = {"relevant": 1, "judged": 0}.get(target)
    if low is not None:
        want = by_group(case, {d: 1.0 for d, g in case.grades.items() if g >= low})
    else:
        want = dict.fromkeys(known, 1.0)
        if target == "given":
            want[known[0]] = 3.0
    shown = f"'{target}'" if target != "given" else str({one: want[one] for one in known})
    inside = f"browsing='{model}', p=0.6, stop=0.3, target={shown}"
    lists = [[values.get(one, 0.0) for one in known] for values in (got, want)]
    with np.errstate(invalid="ignore"):
        # Of two equal distributions SciPy may take the root of a rounding error below 0.
        distance = np.nan_to_num(jensenshannon(*lists)) if sum(lists[0]) and sum(lists[1]) else 0.0
    for base, unit in (("e", 1.0), ("2", log(2))):
        score = case.evaluate(f"AWRF(base='{base}', {inside})")
        if not sum(lists[0]) or not sum(lists[1]):
            assert score == 0.0
        else:
            assert score == pytest.approx(1 - distance**2 / unit, abs=1e-12)


@settings(max_examples=10)
@given(cases())
def test_awrf_of_a_population(case: Case) -> None:
    known = sorted({group for own in case.groups.values() for group in own})
    text = f"AWRF(population={ {known[0]: 1} })"
    got = by_group(case, exposures(case.ranking, case.grades, "log2(rank)"))
    want = by_group(case, {d: 1.0 for d, g in case.grades.items() if g >= 1})
    whole = sum(want.values())
    mixed = [(want[g] / whole if whole else 0.0) + (g == known[0]) for g in known]
    if sum(got.values()):
        score = 1 - jensenshannon([got[one] for one in known], mixed) ** 2
        assert case.evaluate(text) == pytest.approx(score, abs=1e-12)


def targets(grades: dict[str, int], model: str) -> dict[str, float]:
    """Mean exposure over all rankings by relevance, with equal grades in any order."""
    docs = sorted(grades, key=lambda doc: -max(grades[doc], 0))
    levels = [[*same] for _, same in groupby(docs, key=lambda doc: max(grades[doc], 0))]
    out, number = dict.fromkeys(grades, 0.0), 0
    for parts in product(*(permutations(level) for level in levels)):
        ranking = tuple(doc for part in parts for doc in part)
        for doc, value in exposures(ranking, grades, model).items():
            out[doc] += value
        number += 1
    return {doc: value / number for doc, value in out.items()}


@settings(max_examples=10)
@given(cases(), st.sampled_from(["geometric", "cascade"]), st.booleans())
def test_expected_exposure(case: Case, model: str, grouped: bool) -> None:
    few = Case(case.ranking, dict([*case.grades.items()][:5]), case.groups)
    got, want = exposures(few.ranking, few.grades, model), targets(few.grades, model)
    if grouped:
        got, want = by_group(few, got), by_group(few, want)
    all_of = {*got, *want}
    by = "by='group', " if grouped else ""
    inside = f"browsing='{model}', {by}p=0.6, stop=0.3"
    found = [few.evaluate(f"{name}({inside})") for name in ("EEL", "EED", "EER")]
    wanted = [
        sum((got.get(one, 0.0) - want.get(one, 0.0)) ** 2 for one in all_of),
        sum(value**2 for value in got.values()),
        sum(got.get(one, 0.0) * want[one] for one in want),
    ]
    assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=10)
@given(cases())
def test_an_open_corpus_expects_nothing_of_documents_not_relevant(case: Case) -> None:
    good = {doc: grade for doc, grade in case.grades.items() if grade}
    if good:
        same = Case(case.ranking, good, case.groups)
        found = case.evaluate("EEL(corpus='open')")
        assert found == pytest.approx(same.evaluate("EEL(corpus='open')"), abs=1e-12)


@settings(max_examples=10)
@given(cases(), st.sampled_from(MODELS))
def test_ratios(case: Case, model: str) -> None:
    got = exposures(case.ranking, case.grades, model)
    useful = {doc: float(grade >= 1) for doc, grade in case.grades.items()}
    realised = {doc: value * useful.get(doc, 0.0) for doc, value in got.items()}
    for name, above, below in (
        ("DP", got, dict.fromkeys(case.grades, 1.0)),
        ("EUR", got, useful),
        ("RUR", realised, useful),
    ):
        top, unit = by_group(case, above), by_group(case, below)
        found = [top[g] / unit[g] for g in GROUPS if unit[g]]
        parity = min(found) / max(found) if len(found) > 1 and max(found) else 0.0
        inside = f"browsing='{model}', p=0.6, stop=0.3"
        assert case.evaluate(f"{name}({inside})") == pytest.approx(parity, abs=1e-12)
        if not any("x" in own for own in case.groups.values()):
            continue
        sides = [
            [sum(v[g] for g in GROUPS if (g == "x") == one) for v in (top, unit)]
            for one in (True, False)
        ]
        both = all(side[1] for side in sides)
        logs = [log(side[0] / side[1] + 1e-6) if both else 0.0 for side in sides]
        signed = case.evaluate(f"log{name}({inside}, protected='x')")
        assert signed == pytest.approx(logs[0] - logs[1], abs=1e-9)
        exact = [side[0] / side[1] if both else 0.0 for side in sides]
        parity = min(exact) / max(exact) if max(exact) else 0.0
        assert case.evaluate(f"{name}({inside}, protected='x')") == pytest.approx(parity, abs=1e-12)


def test_undivided_exposure_is_that_of_both_sides() -> None:
    """However many groups there are on the other side."""
    groups = {"a": {"x": 1.0}, "b": {"y": 1.0}, "c": {"z": 1.0}, "d": {"x": 1.0}}
    case = Case(tuple("abcd"), {"a": 1}, groups)
    inside = "browsing='geometric', p=0.5, protected='x', size='none'"
    assert case.evaluate(f"DP({inside})") == pytest.approx(0.75 / 1.125, abs=1e-12)
    signed = log((1.125 + 1e-6) / (0.75 + 1e-6))
    assert case.evaluate(f"logDP({inside})") == pytest.approx(signed, abs=1e-12)


def test_fairranktune() -> None:
    """FairRankTune 0.0.7 on one ranking: EXP, EXPU and AWRF with MinMaxRatio."""
    groups = dict(zip("abcdefgh", "xxyzxyzy", strict=True))
    grades = dict(zip("abcdefgh", (1, 0, 1, 1, 1, 0, 0, 1), strict=True))
    case = Case(tuple("abcdefgh"), grades, {doc: {group: 1.0} for doc, group in groups.items()})
    assert case.evaluate("DP") == pytest.approx(0.5679575487322659, abs=1e-12)
    assert case.evaluate("EUR") == pytest.approx(0.5806731045518247, abs=1e-12)
    geometric = case.evaluate("DP(browsing='geometric')")
    assert geometric == pytest.approx(0.13499999999999998, abs=1e-12)


@settings(max_examples=10)
@given(cases(), st.sampled_from(MODELS))
def test_inequity_of_attention(case: Case, model: str) -> None:
    got = exposures(case.ranking, case.grades, model)
    want = {doc: float(grade) for doc, grade in case.grades.items()}
    inside = f"browsing='{model}', p=0.6, stop=0.3"
    for by, above, below in (
        ("document", got, want),
        ("group", by_group(case, got), by_group(case, want)),
    ):
        whole, owed = sum(above.values()), sum(below.values())
        apart = sum(
            abs((above.get(one, 0) / whole if whole else 0) - below.get(one, 0) / (owed or 1))
            for one in {*above, *below}
        )
        found = case.evaluate(f"IAA({inside}, by='{by}')")
        assert found == pytest.approx(apart if owed else 0.0, abs=1e-12)


def test_several_topics_and_systems_at_once() -> None:
    """Scores of many rankings together are those of each alone."""
    rng = np.random.default_rng(1)
    docs = [f"d{i}" for i in range(30)]
    qrels = {
        q: {d: int(g) for d, g in zip(docs, rng.integers(0, 3, 20), strict=False)} for q in "pqr"
    }
    groups = {d: GROUPS[i % 3] for i, d in enumerate(docs[:25])}
    runs = {
        name: {q: dict(zip(docs, map(float, rng.random(30)), strict=True)) for q in "pqr"}
        for name in ("one", "two")
    }
    texts = ["AWRF", "DP@10", "EUR", "RUR", "EEL(by='group')", "EEL(browsing='cascade')", "IAA"]
    whole = cf.evaluate(runs, qrels, texts, groups=groups)
    for s, name in enumerate(whole.systems):
        for t, topic in enumerate(whole.topics):
            alone = cf.evaluate(
                {topic: runs[name][topic]}, {topic: qrels[topic]}, texts, groups=groups
            )
            for text in texts:
                assert whole[text].values[t, s] == pytest.approx(alone[text].values[0, 0])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("logDP", "requires protected='GROUP', one of: 'x'"),
        ("DP(protected='no')", "unknown group 'no'; expected one of: 'x'"),
        ("AWRF(target={'no': 1})", "unknown group 'no'"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    case = Case(("a",), {"a": 1}, {"a": {"x": 1.0}})
    with pytest.raises(MeasureError) as caught:
        case.evaluate(text)
    assert reason in str(caught.value)


def test_groups_are_needed() -> None:
    with pytest.raises(MeasureError, match="requires document groups"):
        cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["AWRF"])
