"""What measures declare of their scale is what looking at all short runs finds."""

from __future__ import annotations

import pytest

from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure, parse_measure
from cranfield.measures.base import KINDS, REGISTRY
from cranfield.scales.forms.eligible import beyond_grades
from cranfield.scales.runs import as_measure
from cranfield.scales.verdicts.scale_of import scale_of

SIZES = [(length, grades) for grades in (1, 2) for length in (1, 2, 3, 4)]
GIVEN = {"IPrec": "IPrec@0.5", "uM": "uM(clicks={1: 0.5})", "rrM": "rrM(clicks={1: 0.5})"}


def made(name: str, length: int = 4) -> Measure:
    return as_measure(GIVEN.get(name, name), length)


RANKED = REGISTRY.of(KINDS[0])
BY_GRADES = [name for name in RANKED if not beyond_grades(made(name))]
OTHERS = [name for name in RANKED if name not in BY_GRADES]


def found(text: str) -> dict[tuple[int, int], Scale]:
    """The scale for the measure's own order, by length and highest grade."""
    return {size: scale_of(text, *size).scale for size in SIZES}


@pytest.mark.parametrize("name", BY_GRADES)
def test_the_declared_scale_is_found(name: str) -> None:
    """It is the scale at least: no higher one is found to hold for all of these runs but once."""
    text = GIVEN.get(name, name)
    scales = found(text)
    # A count is on a ratio scale for its zero; its steps are what is looked at here.
    declared = min(made(name).scale, Scale.INTERVAL)
    assert declared <= min(scales.values())
    note = made(name).info.scale_note
    if note.startswith("not interval"):
        assert declared is Scale.ORDINAL
        assert scales[4, 1] is scales[4, 2] is Scale.ORDINAL
    # Which measures declare less than that: whose topics differ, or that are rated by the field.
    alone = {"gP", "gR", "RelP", "Success", "Rprec", "SetP", "SetRelP", "SetF", "SetE"}
    assert (declared is Scale.ORDINAL and min(scales.values()) > declared) == (name in alone)


def test_measures_that_are_interval_for_binary_relevance_only() -> None:
    scales = found("RMeasure")
    assert {scale for (_, grades), scale in scales.items() if grades == 1} == {Scale.INTERVAL}
    assert scales[4, 2] is Scale.ORDINAL
    assert "binary" in REGISTRY["RMeasure"].info.scale_note


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
