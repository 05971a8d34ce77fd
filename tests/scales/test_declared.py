"""What measures declare of their scale is what looking at all short runs finds."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure, parse_measure
from cranfield.measures.base import REGISTRY
from cranfield.measures.families import KINDS
from cranfield.scales.forms.eligible import beyond_grades
from cranfield.scales.runs import as_measure
from cranfield.scales.verdicts.scale_of import scale_of

CUTOFFS = (1, 2, 3, 5)
GRADES = (1, 2, 3)
GIVEN = {
    "IPrec": "IPrec@0.5",
    "uM": "uM(clicks={0: 0.2, 1: 0.5, 2: 0.9}, satisfies={0: 0.1, 1: 0.4, 2: 0.7}, gamma=0.8)",
    "rrM": "rrM(clicks={0: 0.2, 1: 0.5, 2: 0.9}, satisfies={1: 0.4, 2: 0.7}, gamma=0.8)",
    "CWL": "CWL(by_grade={0: 0.9, 1: 0.5}, by_rank={1: 0.9, 3: 0.6})",
    "EBU": "EBU(clicks={0: 0.2, 1: 0.5, 2: 0.9}, leaves={1: 0.4, 2: 0.7}, gamma=0.8)",
    "uUBM": "uUBM(clicks={1: 0.5, 2: 0.9}, examined_after={1: {0: 1}, 2: {0: 0.8, 1: 0.5}})",
    **{
        name: f"{name}(clicks={{1: 0.5, 2: 0.9}}, continues={{1: 0.6, 3: 0.4}})"
        for name in ("uDCM", "rrDCM")
    },
    **{
        name: f"{name}(clicks={{1: 0.5, 2: 0.9}}, tau1=0.9, tau2=0.7, tau3=0.2)"
        for name in ("uCCM", "rrCCM")
    },
}


def made(name: str, length: int = 4) -> Measure:
    return as_measure(GIVEN.get(name, name), length)


RANKED = REGISTRY.of(KINDS[0])
BY_GRADES = [name for name in RANKED if not beyond_grades(made(name))]
OTHERS = [name for name in RANKED if name not in BY_GRADES]


@pytest.mark.parametrize("name", BY_GRADES)
def test_the_declared_scale_is_the_computed_one(name: str) -> None:
    """At each cutoff, with the grades that there are, and whatever grades there are."""
    whole = made(name)
    lengths = CUTOFFS if type(whole).takes_cutoff() else ()
    for length in lengths:
        measure = whole @ length
        found = [scale_of(measure, length, grades).scale for grades in GRADES]
        # A count is on a ratio scale for its zero; its steps are what is looked at here.
        stated = [min(measure.scale_with(grades), Scale.INTERVAL) for grades in GRADES]
        assert stated == found, length
        assert min(measure.scale, Scale.INTERVAL) is min(found), length
    if not lengths:
        # Without cutoff, runs of every length are meant.
        found = [min(scale_of(whole, n, grades).scale for n in CUTOFFS) for grades in GRADES]
        assert [whole.scale_with(grades) for grades in GRADES] == found
        assert whole.scale is min(found)
    if REGISTRY[name].info.scale_note.startswith("not interval"):
        assert made(name, 5).scale is Scale.ORDINAL


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("DCG(gains='exponential')@1", "ioo"),
        ("DCG(gains={1: 1, 2: 3})@1", "ioo"),
        ("DCG(gains={2: 3, 3: 5})@1", "ioo"),
        ("nDCG(gains='exponential')@1", "ioo"),
        ("gP(gains='exponential')@5", "ooo"),
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
    assert "".join(str(measure.scale_with(grades))[0] for grades in GRADES) == stated
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
    with pytest.raises(MeasureError, match="depends on more than the grades by rank"):
        scale_of(made(name), 4)
    info = REGISTRY[name].info
    counts = {"NumQ", "NumRet", "NumRel", "NumNonrelRet", "Judged", "Unjudged"}
    assert info.scale is (Scale.RATIO if name in counts else Scale.ORDINAL)
    assert name in stated or not info.scale_note.startswith(("interval", "not interval"))


@pytest.mark.parametrize("text", ["EU(P@4)", "ETU(P@4)", "EU(RBP)", "ETU(ERR)", "EU(NERR10)"])
def test_what_users_can_expect(text: str) -> None:
    measure = parse_measure(text)
    assert measure.scale <= min(scale_of(measure, length).scale for length in (2, 3, 4))


@pytest.mark.parametrize(("text", "longest"), [("INSQ", 4), ("INST", 4), ("Q", 2), ("iRBU", 2)])
def test_short_runs_in_the_order_of_ranks(text: str, longest: int) -> None:
    """With few ranks a document above outweighs all below."""
    for length in range(2, 7):
        assert (scale_of(text, length).rank_based.scale is Scale.ORDINAL) == (length <= longest)
