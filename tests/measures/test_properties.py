"""Properties computed of all measures at once, against what the papers say of them."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Info, Measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.measures.grammar import parse_measure
from cranfield.scales.runs import depends_on_recall_base
from docs.measure_properties.battery import GRADES, battery
from docs.measure_properties.battery_judged import scores
from docs.measure_properties.findings import PROPERTIES
from docs.measure_properties.properties import (
    _Computing,
    catalogue,
    properties,
    representative,
)

CATALOGUE = {name: made for name, made in catalogue().items() if made is not None}


def every(*but: str) -> pytest.MarkDecorator:
    """All measures of the catalogue but for some."""
    chosen = [measure for name, measure in CATALOGUE.items() if name not in but]
    return pytest.mark.parametrize("measure", chosen, ids=str)


ALL = every()

NOT_COMPUTED = {
    "ClickU": "use evaluate_sessions",
    "TRisk": "depends on those of the other topics",
}
"""Measures whose properties the battery does not tell, and why."""


# The battery itself


@pytest.mark.filterwarnings("ignore:.*the grades of .* differ by subtopic")
@pytest.mark.parametrize(
    "measure", ["AP", "nDCG", "Bpref", "P@3", "ERR", "alpha_nDCG", "IA(nDCG)", "D(Q)", "Judged"]
)
def test_battery_is_judged_as_any_run_is(measure: str) -> None:
    every = battery()
    rng = np.random.default_rng(7)
    some = rng.choice(len(every.cases), 60, replace=False).tolist()
    run: dict[str, dict[str, float]] = {}
    qrels = []
    for topic in some:
        case = every.cases[topic]
        seen = dict.fromkeys("-", 0) | dict.fromkeys(GRADES, 0)
        run[f"{topic}"] = {}
        for rank, kind in enumerate(case.ranking):
            seen[kind] += 1
            run[f"{topic}"][f"{kind}{seen[kind]}"] = float(-rank)
        qrels += [
            {"topic": f"{topic}", "doc": f"{kind}{i}", "grade": grade, "subtopic": intent}
            for kind, count in every.judgments[case.judgments].items()
            for i in range(1, count + 1)
            for intent, grade in zip("ab", GRADES[kind], strict=True)
        ]
    qrels += [{"topic": "other", "doc": "d", "grade": 3, "subtopic": "a"}]
    intents = {f"{topic}": {"a": 0.6, "b": 0.4} for topic in [*some, "other"]}
    types = pl.DataFrame(
        [
            (t, i, p, "nav" if i == "b" else "inf")
            for t, of in intents.items()
            for i, p in of.items()
        ],
        ["topic", "intent", "probability", "type"],
        orient="row",
    )
    found = cf.evaluate(run, qrels, measure, intents=types)[measure]
    values = dict(zip(found.topics, found.values[:, 0].tolist(), strict=True))
    expected = [values[f"{topic}"] for topic in some]
    np.testing.assert_allclose(scores(parse_measure(measure))[some], expected, atol=1e-12)


def test_relations_compare_what_they_say() -> None:
    every = battery()
    for one, other in every.steps[::97].tolist():
        before, after = every.cases[one], every.cases[other]
        places = [i for i in range(len(before.ranking)) if before.ranking[i] != after.ranking[i]]
        assert before.judgments == after.judgments
        assert len(places) == 2 and places[1] == places[0] + 1
        assert sorted(before.ranking) == sorted(after.ranking)
    for one, other in every.missed[::97].tolist():
        before, after = every.cases[one], every.cases[other]
        assert before.ranking == after.ranking
        more = len(every.relevant(after.judgments)) - len(every.relevant(before.judgments))
        assert more == 1
    for name in ("swaps", "replacements", "regraded", "missed", "unseen", "returns"):
        assert len(getattr(every, name)) > 500, name


class _Planted(Measure):
    """A measure without any virtue: worst where RR is best, and it falls below 0."""

    info = Info("Planted", range=(0.0, 1.0))

    def values(self, judged: JudgedRuns) -> Floats:
        first: Floats = REGISTRY["RR"]().values(judged)
        return 0.5 - first


def test_failures_are_found_and_shown() -> None:
    found = _Computing(_Planted()).found()
    assert found["swap"].holds is False
    assert found["swap"].example == "- 1 scores 0, 1 - scores -0.5 (relevant: 2 1)"
    assert found["replacement"].holds is found["in_range"].holds is found["bounded"].holds is False
    assert found["normalised"].holds is False
    assert found["top_heavy"].holds is False


def test_what_the_battery_lacks_is_not_computed() -> None:
    risk = properties("TRisk(nDCG, baseline='base')")
    assert "depends on those of the other topics" in risk.reason
    assert all(finding.holds is None for finding in risk.findings.values())
    lost = properties("URisk(nDCG, baseline='nobody')")
    assert "unknown baseline" in lost.reason
    assert repr(lost).startswith("Properties(URisk(nDCG, baseline='nobody'): not computed")
    assert properties("IPrec@0.1")["top_heavy"].holds is None


def test_a_measure_that_needs_more_says_so() -> None:
    class Lengthy(Measure):
        info = Info("Lengthy")

        def values(self, judged: JudgedRuns) -> Floats:
            return judged.lengths("Lengthy").n_rows * 0.0 + judged.groups("L").rows.n_rows * 0.0

    found = _Computing(Lengthy()).found()
    assert found["lengths"].holds is False

    class Columns(Measure):
        info = Info("Columns")

        def values(self, judged: JudgedRuns) -> Floats:
            judged.column("moon", "Columns")
            return np.zeros(judged.shape)

    assert "requires a column 'moon'" in _Computing(Columns()).found().reason


# All measures at once


def test_every_measure_has_a_form_that_stands_for_it() -> None:
    missing = [
        name
        for name in {*REGISTRY} - REGISTRY.select(kind=KINDS[2]).keys()
        if representative(name) is None
    ]
    assert missing == []


@ALL
def test_what_is_declared_of_a_measure_is_what_the_battery_finds(measure: Measure) -> None:
    found = properties(measure)
    why = NOT_COMPUTED.get(measure.name, "")
    assert why in found.reason and bool(found.reason) is bool(why)
    assert list(found.findings) == list(PROPERTIES)
    assert found.reason or all(len(one.example) < 220 for one in found.findings.values())
    # Also for measures that read more than grades, which few documents stand for.
    assert depends_on_recall_base(measure) is (found["recall"].holds is not False)
    assert found["in_range"].holds is not False, found["in_range"].example
    if measure.info.range == (0.0, 1.0):
        assert found["bounded"].holds is not False, found["bounded"].example
    if re.search(r"(^|_)n[A-Z]|^R?n[A-Z]|NDCG", measure.info.name):
        assert found["normalised"].holds is not False, found["normalised"].example
    # Sums over documents; of what wraps a measure only those that are declared.
    if measure.kind == KINDS[0]:
        assert found["linear"].holds in {measure.is_linear, None}, found["linear"]
        assert (found["linear"].holds is None) is (measure.name in NOT_COMPUTED)
    elif measure.is_linear:
        assert found["linear"].holds


INF = float("inf")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("nDCG(gains={1: -1, 3: 2})@2", -INF, 1.0),
        ("DCG(gains={1: -1, 3: 2})", -INF, INF),
        ("RnDCG(gains={1: -1, 3: 2})", -INF, 1.0),
        ("gP(gains={1: -1, 3: 2})@3", -INF, 1.0),
        ("alpha_DCG(over='none')@3", 0.0, INF),
        ("ERR_IA(over='none')@3", 0.0, INF),
        ("rRD(normalised=False, protected='a', step=2)", 0.0, INF),
        ("EU(U(gains={1: 5}), depth=20)", 0.0, 5.0),
        ("D(nDCG(gains={1: -1, 3: 2})@2)", -INF, 1.0),
        ("MM(nDCG(gains={1: 1, 3: 2})@2)", 0.0, 1.0),
    ],
)
def test_range_depends_on_parameters(text: str, low: float, high: float) -> None:
    measure = parse_measure(text)
    assert measure.info.range == (low, high)
    assert properties(measure)["in_range"].holds is not False
    assert measure() == measure and measure().info.range == (low, high)


def test_measures_of_means_look_at_the_range_of_the_inner_one() -> None:
    for text in ("MM(nDCG(gains={1: -1})@2)", "Sharp(alpha_DCG(over='none')@3)"):
        with pytest.raises(MeasureError, match="scores are at least 0|finite maximum"):
            parse_measure(text)


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("DCG@5", True),
        ("DCG(gains='exponential',discount='max(1,log2(rank))')@10", True),
        ("DCG(gains={0: -1, 1: 3})", True),
        ("DCG(judged_only=True)@5", False),
        ("P(rel=2)@10", True),
        ("P(judged_only=True)@2", False),
        ("gP@4", True),
        ("RBP(p=0.5)", True),
        ("RBP(gains='graded')", True),
        ("RBP(gains='graded',max_grade='topic')", False),
        ("INSQ(T=2,gains='graded')", True),
        ("SDCG@10", True),
        ("nDCG@5", False),
        ("AP", False),
        ("RR", False),
        ("R@3", False),
        ("ERR@5", False),
        ("SetP", False),
        ("Success@3", False),
    ],
)
def test_sums_over_documents_of_other_forms(text: str, linear: bool) -> None:
    measure = parse_measure(text)
    assert measure.is_linear is linear
    # A condensed list, or a scale by topic, makes a difference where the battery has such a case.
    assert properties(measure)["linear"].holds is linear


TOPICS, SYSTEMS, DEPTH = 6, 3, 15


class _Collection:
    """A small collection, from which variants are made that should not change any score."""

    def __init__(self, seed: int = 5) -> None:
        rng = np.random.default_rng(seed)
        self.docs = [f"d{i:02}" for i in range(40)]
        self.run: dict[str, dict[str, dict[str, float]]] = {}
        for system in ("base", *"xy"):
            chosen = {f"{t}": rng.permutation(self.docs)[:DEPTH] for t in range(TOPICS)}
            self.run[system] = {
                topic: {doc: float(DEPTH - i) for i, doc in enumerate(docs.tolist())}
                for topic, docs in chosen.items()
            }
        self.labels = [
            (f"{t}", doc, int(rng.choice([0, 0, 0, 1, 1, 2, 3])), intent)
            for t in range(TOPICS)
            for doc in rng.permutation(self.docs)[:25].tolist()
            for intent in "ab"
        ]
        self.lengths = {doc: int(rng.integers(50, 3000)) for doc in self.docs}
        self.groups = {doc: str(rng.choice(["x", "y"])) for doc in self.docs}

    def judged(
        self,
        name: Any = lambda doc: doc,
        *,
        order: int | None = None,
        below: int = 0,
        columns: bool = False,
    ) -> JudgedRuns:
        labels = [(topic, name(doc), grade, intent) for topic, doc, grade, intent in self.labels]
        runs = {
            system: [
                {"topic": topic, "doc": name(doc), "score": score}
                for topic, scored in run.items()
                for doc, score in [
                    *scored.items(),
                    *((f"new{i}", -1.0 - i) for i in range(below)),
                ]
            ]
            for system, run in self.run.items()
        }
        if order is not None:
            rng = np.random.default_rng(order)
            labels = [labels[i] for i in rng.permutation(len(labels))]
            runs = {
                system: [rows[i] for i in rng.permutation(len(rows))]
                for system, rows in runs.items()
            }
        flat = pl.DataFrame(labels, ["topic", "doc", "grade", "subtopic"], orient="row")
        qrels = cf.read_qrels(flat)
        if columns:
            # Columns are those of judgments without subtopics.
            qrels = qrels.merge_subtopics()
            number = {name(doc): i for i, doc in enumerate(self.docs)}
            kind = np.array([number[doc] for doc in qrels.docs.to_list()])
            known = {"stratum": kind % 2, "inclusion": (1 + kind % 2) / 2, "class": kind // 2}
            qrels = replace(qrels, columns=known)
        new = dict.fromkeys((f"new{i}" for i in range(below)), 100)
        return cf.judge(
            runs,
            qrels,
            intents=None if columns else {f"{t}": {"a": 0.7, "b": 0.3} for t in range(TOPICS)},
            lengths={name(doc): length for doc, length in self.lengths.items()} | new,
            groups={name(doc): group for doc, group in self.groups.items()}
            | dict.fromkeys(new, "x"),
            aspects={"understandability": flat, "credibility": flat},
        )


COLLECTION = _Collection()


@cache
def variant(name: str, columns: bool) -> JudgedRuns:
    numbers = np.random.default_rng(3).permutation(len(COLLECTION.docs)).tolist()
    new = dict(zip(COLLECTION.docs, numbers, strict=True))
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "again": {},
        "renamed": {"name": lambda doc: f"z{new[doc]:03}"},
        "another order": {"order": 11},
        "below": {"below": 3},
    }
    return COLLECTION.judged(**options[name], columns=columns)


def scored(measure: Measure, name: str = "plain") -> Floats:
    return measure.score(variant(name, "columns" in measure.info.inputs))


UNSCORED = {
    "ClickU": "use evaluate_sessions",
    "sDCG": "requires sessions",
    "nsDCG": "requires sessions",
}
"""Measures that the collection has no data for, and what they say."""
SCORED = every(*UNSCORED)


@pytest.mark.parametrize("name", UNSCORED)
def test_what_is_not_scored_says_why(name: str) -> None:
    with pytest.raises(CranfieldError, match=UNSCORED[name]):
        scored(CATALOGUE[name])


@SCORED
def test_names_and_order_of_input_do_not_matter(measure: Measure) -> None:
    for other in ("renamed", "another order"):
        np.testing.assert_allclose(scored(measure, other), scored(measure), rtol=1e-12, atol=1e-12)


COUNTS_RETRIEVED = {
    *("NumRet", "SetP", "SetRelP", "SetAP", "SetF", "SetE", "Utility", "Judged", "MP", "IAA", "RBU")
}
"""Measures that look at how many documents are retrieved."""

IN_GROUPS = (
    *("DP", "EUR", "logDP", "logEUR", "logRUR", "rND", "rRD", "rKL", "PairParity", "AWRF"),
    *("GF", "GFR"),
)
"""Measures that look at groups, in which documents without judgments are too."""


def test_measures_that_look_at_groups() -> None:
    assert {n for n, one in CATALOGUE.items() if properties(one)["groups"].holds} == {*IN_GROUPS}


@every(*UNSCORED, *IN_GROUPS)
def test_unjudged_documents_below_do_not_matter(measure: Measure) -> None:
    same = np.allclose(scored(measure, "below"), scored(measure), atol=1e-12)
    assert same is (measure.info.name not in COUNTS_RETRIEVED)


NORMALISED = """
    RelP NCG Success Rprec RR AP GMAP IPrec AP11 Judged nDCG nDCGrel RnDCG G binG Bpref GMBpref SetP
    SetR SetRelP SetAP SetF nERR Compat CompatDiff Q RMeasure OMeasure PMeasure PPlus NCU GAP gAP
    Rpref infNDCG statAP BPM BPMDynamic MP NERR8 NERR9 NERR10 NERR11 CAM MM Classes EU
"""
"""Measures that are normalised for one intent, with 1 as the best."""


def test_measures_that_are_normalised() -> None:
    found = [
        name
        for name, measure in CATALOGUE.items()
        if properties(measure)["normalised"].holds
        and not properties(measure)["intents"].holds
        and not measure.info.lower_is_better
    ]
    assert sorted(found) == sorted(NORMALISED.split())


@pytest.mark.parametrize("measure", [CATALOGUE[name] for name in NORMALISED.split()], ids=str)
def test_ideal_ranking_of_a_normalised_measure_scores_1(measure: Measure) -> None:
    """Also with more relevant documents than rankings of the battery have."""
    rng = np.random.default_rng(1)
    grades = {
        f"{topic}": {f"d{i}": int(grade) for i, grade in enumerate(rng.integers(0, 4, size))}
        for topic, size in enumerate((2, 5, 12, 30))
    }
    for one in grades.values():
        one["d0"] = 3
    best = {
        topic: {doc: float(grade) for doc, grade in one.items() if grade > 0}
        for topic, one in grades.items()
    }
    qrels = cf.read_qrels(grades)
    size = len(qrels.docs)
    columns = {"stratum": np.zeros(size), "inclusion": np.ones(size), "class": np.arange(size)}
    judged = cf.judge(
        {"run": best, "base": best}, replace(qrels, columns=columns), aspects={"other": grades}
    )
    values = measure.score(judged)
    np.testing.assert_allclose(values, 1.0, atol=1e-12)


# What the papers say

SAKAI = {
    # Section 2.2, figure 6 and the comments on it, (a) to (g).
    "nDCG": "graded recall normalised top_heavy; diminishing lengths",
    "AP": "recall normalised top_heavy; graded diminishing lengths",
    "Q": "graded recall normalised top_heavy; diminishing lengths",
    "PPlus": "graded recall normalised; lengths",
    "ERR": "graded diminishing; recall normalised lengths",
    "RBP(gains='graded')": "graded; recall normalised diminishing lengths",
    "TBG": "lengths diminishing; graded recall normalised any_length",
    "U": "graded lengths diminishing any_length; recall normalised",
    # "Just like AP, it cannot handle graded relevance"; "recall-dependent" is of the others.
    "RR": "normalised; graded recall",
    # "bpref ... lacks the top heaviness property"; it looks at judged nonrelevant documents.
    "Bpref": "nonrelevant recall normalised; top_heavy graded",
    "AP(judged_only=True)": "nonrelevant recall normalised top_heavy; graded",
    # "It gives a score of one as long as the top R documents are all relevant."
    "RMeasure": "graded recall normalised; diminishing",
    # "nDCG and Q discount the value of each relevant document based solely on its rank."
    "DCG": "graded; normalised recall diminishing bounded",
    # Section 3.1, figure 7 and the comments on it, (a) to (g).
    "StRecall": "intents; ranks graded",
    "alpha_nDCG": "recall normalised diminishing intents; graded lengths",
    "IA(ERR)": "graded diminishing intents; recall normalised lengths",
    "ERR_IA@3": "diminishing intents; recall normalised lengths",
    "IA(nDCG)": "graded recall intents; normalised diminishing lengths",
    "D(nDCG)": "graded recall normalised intents; diminishing lengths",
    "Sharp(D(nDCG))": "graded recall normalised intents; lengths",
    # "DIN(#)-nDCG is almost normalised, but may not reach one if at least one navigational intent
    # has multiple relevant documents".
    "DIN(nDCG)": "graded recall intents; normalised lengths",
    "PQ": "graded recall intents; lengths",
    # Section 3.2: "the value of a relevant document is discounted not only by the rank, but also by
    # how many queries had to be issued".
    "sDCG": "graded queries; normalised recall diminishing lengths",
    "nsDCG": "graded queries recall; diminishing lengths",
    "D(U)": "intents lengths diminishing; recall normalised",
    "IA(U)": "intents lengths diminishing; recall normalised",
}
"""What Sakai (2013) says that a measure has; after the semicolon what it has not."""


@pytest.mark.parametrize("text", SAKAI)
def test_what_sakai_says(text: str) -> None:
    found = properties(text)
    has, lacks = SAKAI[text].split(";")
    for name in has.split():
        assert found[name].holds is True, (name, found[name])
    for name in lacks.split():
        assert found[name].holds is False, (name, found[name])


def test_sakai_on_the_best_scores() -> None:
    """Footnote 4: RBP is at most (1 - p) sum of p^(r-1); the ERR of a grade is 1/8, 3/8 or 7/8."""
    assert "the best ranking, 1, scores 0.2" in properties("RBP")["normalised"].example
    assert "the best ranking, 1, scores 0.125" in properties("ERR")["normalised"].example


def test_sakai_on_top_heaviness() -> None:
    """Section 2.2: from rank 2 to 1 bpref gains as much as from 100 to 99, and AP' much more."""
    text = properties("Bpref")["top_heavy"].example
    gains = [
        float(one) for one in re.findall(r"gains ([\d.]+)|99 ([\d.]+)", text) for one in one if one
    ]
    assert gains == [gains[0]] * 2 == pytest.approx([1 / 99 / 99] * 2, rel=1e-2)
    assert properties("AP")["top_heavy"].example == (
        "from rank 2 to 1 it gains 0.00505, from rank 100 to 99 1.02e-06"
    )
    assert round((1 - 1 / 2) / 99, 5) == 0.00505 and f"{(1 / 99 - 1 / 100) / 99:.3g}" == "1.02e-06"


def test_q_can_fall_when_a_relevant_document_moves_far_up() -> None:
    """BR(r) = (C(r) + cg(r)) / (r + cg*(r)), by hand: equation (12) with cg* = 3, 4, 4."""
    worse = Fraction(1, 2) * (Fraction(1 + 3, 2 + 4) + Fraction(2 + 4, 3 + 4))
    better = Fraction(1, 2) * (Fraction(1 + 1, 1 + 3) + Fraction(2 + 4, 2 + 4))
    assert better < worse
    assert properties("Q")["swap"].example == (
        f"0 3 1 scores {float(worse):.3g}, 1 3 0 scores {float(better):.3g} (relevant: 3 1)"
    )
    assert properties("Q")["step"].holds


def test_p_plus_can_fall_by_one_step() -> None:
    """Equation (14): a better document that comes earlier ends the reading earlier."""
    # cg* = 2, 3, 3; in - 1 2 the user reads to rank 3, in - 2 1 to rank 2.
    late = Fraction(1, 2) * (Fraction(1 + 1, 2 + 3) + Fraction(2 + 3, 3 + 3))
    early = Fraction(1 + 2, 2 + 3)
    assert properties("PPlus")["step"].example == (
        f"- 1 2 scores {float(late):.3g}, - 2 1 scores {float(early):.3g} (relevant: 2 1)"
    )


def test_swap_and_replacement_of_the_measures_of_both_papers() -> None:
    """Ferro and Maistro (2024), section 7.7.2: on comparable runs these measures agree."""
    for text in ("P@3", "R@3", "AP", "RBP", "DCG", "nDCG", "ERR", "RR", "Rprec", "SetF"):
        assert properties(text)["swap"].holds and properties(text)["replacement"].holds, text
