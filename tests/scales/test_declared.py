"""What measures declare of their scale is what looking at all short runs finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure, parse_measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.scales.forms.exact_values import compute_form_values
from cranfield.scales.forms.form import describe_beyond_grades
from cranfield.scales.measure_scales import scale_of
from cranfield.scales.runs import as_measure
from cranfield.scales.verdicts import make_run_set
from tests.scales.exhaustive import EXAMPLES

CUTOFFS = (1, 2, 3, 5)
SHORT_CUTOFFS = (1, 2, 3)
"""For the many variants of a measure, of which longer runs would take minutes."""
GRADES = (1, 2, 3)


def made(name: str, length: int = 4) -> Measure:
    return as_measure(EXAMPLES.get(name, name), length)


def computed(measure: Measure, length: int, grades: int, base: int | None = None) -> Scale:
    """The scale for its own order, as `scale_of` has it, without the other orders."""
    runs = make_run_set(measure, length, grades, base)
    exact = runs.find_form()
    if exact is None:
        return scale_of(measure, length, grades, judgments=base).scale
    values = compute_form_values(exact, runs.list_runs(length))
    return Scale.INTERVAL if values.find_uneven_gap() is None else Scale.ORDINAL


RANKED = REGISTRY.select(kind=KINDS[0])
BY_GRADES = [name for name in RANKED if not describe_beyond_grades(made(name))]
OTHERS = [name for name in RANKED if name not in BY_GRADES]


@pytest.mark.parametrize("name", BY_GRADES)
def test_the_declared_scale_is_the_computed_one(name: str) -> None:
    """At each cutoff, with the grades that there are, and whatever grades there are."""
    whole = made(name)
    lengths = CUTOFFS if type(whole).takes_cutoff() else ()
    for length in lengths:
        measure = whole @ length
        found = [computed(measure, length, grades) for grades in GRADES]
        # A count is on a ratio scale for its zero; its steps are what is looked at here.
        stated = [min(measure.find_grade_scale(grades), Scale.INTERVAL) for grades in GRADES]
        assert stated == found, length
        assert min(measure.scale, Scale.INTERVAL) is min(found), length
    if not lengths:
        # Without cutoff, runs of every length are meant.
        found = [min(computed(whole, n, grades) for n in CUTOFFS) for grades in GRADES]
        assert [whole.find_grade_scale(grades) for grades in GRADES] == found
        assert whole.scale is min(found)
    if REGISTRY[name].info.scale_note.startswith("not on an interval"):
        assert made(name, 5).scale is Scale.ORDINAL


GAINS = [
    *("linear", "exponential", {1: 1, 2: 3}, {1: 1, 2: 1}, {1: 2, 2: 4, 3: 6}),
    *({1: 0.5, 2: 1}, {1: 1, 2: 3, 3: 4}, {2: 1}),
]
UNIT_GAINS = [
    *("binary", "graded", {1: 0.5, 2: 1}, {1: Fraction(1, 3), 2: Fraction(2, 3), 3: 1}),
    *({1: 0.25, 2: 1}, {1: 1, 2: 1, 3: 1}, {1: 0.25, 2: 0.75, 3: 1}, {2: 1}),
]
SHARES = [0.1, 0.25, 0.5, 0.8, 1]
BY_GRADE = [{1: 0.5}, {1: 0.5, 2: 0.9}, {0: 0.2, 1: 0.5}, {1: 1, 2: 1, 3: 1}, {1: 0.2, 3: 0.8}]
BY_RANK = [{1: 0.9}, {1: 0.9, 3: 0.6}, {1: 0.5, 2: 0.25}, {1: 1}, {1: 1, 2: 0.1}]
VALUES: Mapping[str, list[Any]] = {
    "rel": [0, 1, 2, 3, 4],
    "p": [0.1, 0.25, Fraction(1, 3), 0.5, 0.6, Fraction(2, 3), 0.8, 0.95],
    "max_grade": [1, 2, 3, 4, 5],
    "normalised": [True],
    "multiple": [0.5, 1, 1.5, 2, 3],
    "discount": [
        *("log2(rank+1)", "log10(rank+1)", "max(1,log2(rank))", "max(1,log3(rank))"),
        *("max(1,log5(rank))", "max(1,log10(rank))", "1+log2(rank)"),
    ],
    "beta": [0, 0.5, 1, 2, 10],
    **dict.fromkeys("abcd", [-1, 0, 0.5, 1, 2, 3]),
    "docs": [0, 1, 10, 100, 1000],
    "T": [0.5, 1, 1.5, 2, 3],
    "K": [1, 2, 2.5, 3, 10],
    **dict.fromkeys(("hb", "hc"), [0, 0.5, 1, 2, 3]),
    "median": [0, 0.25, 0.5, 0.75, 1],
    "depth": [1, 2, 3, 5, 10],
    "gamma": SHARES,
    **dict.fromkeys(("tau1", "tau2", "tau3"), SHARES),
    **dict.fromkeys(("clicks", "satisfies", "leaves", "by_grade"), BY_GRADE),
    **dict.fromkeys(("examined", "by_rank", "continues"), BY_RANK),
    "examined_after": [
        {1: {0: 1}, 2: {0: first, 1: second}}
        for first, second in ((0.8, 0.5), (1, 1), (0.5, 0.5), (0.1, 0.9), (1, 0.5))
    ],
    "stops": [{1: 1}, {1: 1, 2: 2}, {1: 1, 2: 3}, {1: 2, 2: 1}, {1: 1, 2: 1, 3: 1}],
    "betas": [{1: 2}, {1: 3, 2: 2}, {1: 1.5, 2: 1.5}, {1: 4, 2: 3, 3: 2}, {2: 2}],
    "thresholds": ["uniform", "linear", {1: 1}, {1: 0.3, 2: 0.7}, {1: 1, 2: 1, 3: 1}],
    "dwell": [{1: 1}, {1: 2, 2: 1}, {1: 1, 2: 2}, {1: 5, 3: 1}, {1: 1, 2: 10}],
    # All there are.
    "denominator": ["R", "min"],
    "rounding": ["up", "trec_eval-9", "trec_eval-10"],
    "ideal": ["cut", "full"],
    "stopping": ["graded", "rank-biased"],
    "utility": ["BR", "P"],
    "states": ["all", "relevant"],
    "moves": ["global", "local"],
    "distance": ["inverse", "log", "none"],
    "dwell_by": ["rank", "grade"],
    **dict.fromkeys(("loops", "recall"), [False, True]),
}
"""At least five values of each parameter, or all that it can have."""

OF_LENGTHS = {"unit", "missing"}
"""Parameters that make scores depend on the lengths of documents."""


def variants(name: str) -> Iterator[tuple[Measure, bool]]:
    """Yield a measure with each value of each parameter, and whether grade 0 is worth something."""
    kind, whole = RANKED[name], made(name, 5)
    for parameter in kind.parameters:
        if parameter in {"cutoff", "judged_only", *OF_LENGTHS}:
            continue
        values = VALUES.get(parameter)
        if parameter == "gains":
            values = UNIT_GAINS if "binary" in kind.parameters["gains"].doc else GAINS
        elif name == "IPrec" and parameter == "recall":
            values = [0, 0.25, 0.5, 0.75, 1]
        assert values is not None, parameter
        if kind.is_evenly_spaced is Measure.is_evenly_spaced and "last_rank" not in vars(kind):
            # Decided by the scores of all short runs, whatever the formula.
            values = values[::3]
        taken = 0
        for value in values:
            try:
                measure = whole(**{parameter: value})
            except MeasureError:
                continue
            taken += 1
            of_zero = parameter == "rel" and value == 0
            yield measure, of_zero or (isinstance(value, Mapping) and 0 in value)
        assert taken >= min(len(values), 5) - (parameter == "p"), (parameter, taken)


def found_and_stated(measure: Measure, length: int | None) -> Iterator[tuple[Scale, Scale]]:
    """Yield the computed and the declared scale for each highest grade; without length for all."""
    for grades in GRADES:
        # Without a cutoff topics with less to retrieve count as well; below rel nothing is found.
        if length is None and grades < getattr(measure, "rel", 1):
            continue
        if grades > (getattr(measure, "max_grade", None) or grades):
            continue
        sets = (
            [(length, None)] if length else [(n, base) for n in SHORT_CUTOFFS for base in (None, 1)]
        )
        found = min(computed(measure, n, grades, base) for n, base in sets)
        yield found, min(measure.find_grade_scale(grades), Scale.INTERVAL)


@pytest.mark.parametrize("name", BY_GRADES)
def test_the_declared_scale_follows_from_the_parameters(name: str) -> None:
    for measure, zero_counts in variants(name):
        lengths = SHORT_CUTOFFS if type(measure).takes_cutoff() else (None,)
        for length in lengths:
            cut = measure if length is None else measure @ length
            pairs = list(found_and_stated(cut, length))
            if zero_counts:
                # Runs with unjudged documents, or with fewer documents, have more values.
                assert all(stated <= found for found, stated in pairs), cut
                continue
            assert [found for found, _ in pairs] == [stated for _, stated in pairs], cut
            assert all(min(cut.scale, Scale.INTERVAL) <= found for found, _ in pairs), cut


PERSISTENCES = [0.2, 0.25, Fraction(1, 3), 0.5, Fraction(2, 3)]


@pytest.mark.parametrize(
    "gains", [one for one in UNIT_GAINS if one not in ({2: 1}, {1: 1, 2: 1, 3: 1})], ids=str
)
@pytest.mark.parametrize("p", PERSISTENCES, ids=str)
def test_rbp_of_any_length(p: float, gains: Any) -> None:
    """At long cutoffs, which are decided by proofs; and without a cutoff, for all lengths."""
    measure = cf.parse_measure("RBP")(p=p, gains=gains)
    for grades in (1, 2, 3, 4):
        for length in (4, 20):
            found = scale_of(measure @ length, length, grades).own
            stated = (measure @ length).find_grade_scale(grades)
            assert stated is found.scale if found.is_decided else stated >= Scale.ORDINAL
        every = min(computed(measure, length, grades) for length in (1, 2, 3, 4))
        assert measure.find_grade_scale(grades) is every


def test_rbp_by_enumeration() -> None:
    """The law: gains in m equal steps are interval for p = 1/b if b is at most m + 1."""
    for b, m in ((2, 1), (2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (3, 1)):
        runs = np.array(np.meshgrid(*[np.arange(m + 1)] * 4)).reshape(4, -1)
        values = np.unique((runs * b ** np.arange(4)[:, None]).sum(axis=0))
        even = len(set(np.diff(values).tolist())) == 1
        measure = cf.parse_measure(f"RBP(p=1/{b}, gains='graded')@4")
        assert even == (b <= m + 1) == (measure.find_grade_scale(m) is Scale.INTERVAL)


@pytest.mark.parametrize("length", [7, 12])
@pytest.mark.parametrize("gains", GAINS, ids=str)
@pytest.mark.parametrize("text", ["gP", "gR", "DCG(discount='max(1,log12(rank))')"])
def test_sums_of_gains_at_long_cutoffs(text: str, gains: Any, length: int) -> None:
    measure = cf.parse_measure(f"{text}@{length}")(gains=gains)
    for grades in GRADES:
        assert measure.find_grade_scale(grades) is scale_of(measure, length, grades).scale


def test_gains_of_documents_without_a_judgment_count() -> None:
    """Gains of 1/3 and 1 are two digits; with the 0 of unjudged documents they are uneven."""
    measure = cf.parse_measure("RBP(p=1/2, gains={0: 1/3, 1: 1})@3")
    assert scale_of(measure, 3).scale is Scale.INTERVAL
    assert measure.find_grade_scale(1) is Scale.ORDINAL


def test_what_no_rank_below_can_change() -> None:
    for text in ("BPM(K=2)@40", "INST(depth=1)", "INSQ(depth=2)@40", "BPM(K=1)"):
        measure = parse_measure(text)
        assert measure.find_grade_scale(1) is scale_of(measure, 12).scale, text
    assert parse_measure("BPM(K=1)@40").scale is Scale.INTERVAL
    assert parse_measure("BPM(K=30)@40").scale is Scale.ORDINAL


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("DCG(gains='exponential')@1", "ioo"),
        ("DCG(gains={1: 1, 2: 3})@1", "ioo"),
        ("DCG(gains={2: 3, 3: 5})@1", "ioo"),
        ("nDCG(gains='exponential')@1", "ioo"),
        ("gP(gains='exponential')@5", "ioo"),
        ("RBP(gains='graded')@1", "iii"),
        ("ERR@1", "ioo"),
        ("RR(rel=2)@2", "iii"),
        ("RR(rel=2)@3", "ioo"),
        ("Success(rel=2)@9", "iii"),
        ("Rprec(multiple=0.5)", "iii"),
    ],
)
def test_gains_decide_on_the_shortest_runs(text: str, stated: str) -> None:
    measure = parse_measure(text)
    assert "".join(str(measure.find_grade_scale(grades))[0] for grades in GRADES) == stated
    assert (str(measure.scale)[0] == "i") == (stated == "iii")
    # What is relevant may be beyond the grades that are tried.
    assert parse_measure("RR(rel=9)@3").scale is Scale.ORDINAL


def test_the_scale_of_scores_goes_by_their_grades() -> None:
    """One test on the same judgments, with two grades and with three."""
    runs = {"x": {f"t{t}": {"a": 2, "b": 1} for t in range(5)}}
    for grade, scale in ((1, Scale.INTERVAL), (2, Scale.ORDINAL)):
        qrels = {f"t{t}": {"a": int(t < 3), "c": grade} for t in range(5)}
        scores = cf.evaluate(runs, qrels, ["ERR@1", "RR@2", "RR@3"])
        assert scores["ERR@1"].scale is scale
        assert scores["RR@2"].scale is Scale.INTERVAL
        assert scores["RR@3"].scale is Scale.ORDINAL


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_said_of_what_cannot_be_looked_at(name: str) -> None:
    """But for counts, and relations that a source states, such a measure claims its own order."""
    stated = {"Rpref", "sDCG", "nsDCG"}
    with pytest.raises(MeasureError, match="depends on more than the ranked grades"):
        scale_of(made(name), 4)
    info = REGISTRY[name].info
    counts = {"NumQ", "NumRet", "NumRel", "NumNonrelRet", "Judged", "Unjudged"}
    assert info.scale is (Scale.RATIO if name in counts else Scale.ORDINAL)
    assert name in stated or not info.scale_note.startswith(("on an", "not on an"))


@pytest.mark.parametrize("text", ["EU(P@4)", "ETU(P@4)", "EU(RBP)", "ETU(ERR)", "EU(NERR10)"])
def test_what_users_can_expect(text: str) -> None:
    measure = parse_measure(text)
    assert measure.scale <= min(scale_of(measure, length).scale for length in (2, 3, 4))


@pytest.mark.parametrize(("text", "longest"), [("INSQ", 4), ("INST", 4), ("Q", 2), ("iRBU", 2)])
def test_short_runs_in_the_order_of_ranks(text: str, longest: int) -> None:
    """With few ranks a document above outweighs all below."""
    for length in range(2, 7):
        assert (scale_of(text, length).rank_based.scale is Scale.ORDINAL) == (length <= longest)
