"""What newcomers write is answered well: some of the cases of the study, the rest by the study."""

from __future__ import annotations

from pathlib import Path

from studies.newcomers.cases import Case, refused
from studies.newcomers.collected import CASES, TABLES
from studies.newcomers.verdicts import answers, fault

STEP = 4


def test_some_cases() -> None:
    found = answers(Path(__file__).resolve().parents[1] / "src", STEP)
    wrong = {
        case.title: (fault(case, answer), answer)
        for case, answer in zip(CASES[::STEP], found, strict=True)
        if fault(case, answer)
    }
    assert not wrong


def test_there_are_enough() -> None:
    assert len(TABLES["mistakes"]) >= 60
    assert len(TABLES["inputs"]) >= 40
    assert len(TABLES["tasks"]) == 10
    assert all(task.code.count("\n") < 3 for task in TABLES["tasks"])
    assert len(set(CASES)) == len(CASES)


def test_faults_are_found() -> None:
    right = {"ended": "works", "printed": "AP 0.75", "advice": "works", "advised": ""}
    case = Case("a case", "code", r"0\.75")
    assert fault(case, right) == ""
    assert fault(case, right | {"ended": "traceback"}) == "traceback"
    assert fault(case, right | {"ended": "told"}) == "refused"
    assert fault(case, right | {"printed": "AP 0.54"}) == "another number"
    wrong = refused("a mistake", "code", "runs come first", then="other code")
    told = {"ended": "told", "printed": "runs come first", "advice": "works", "advised": ""}
    assert fault(wrong, told) == ""
    assert fault(wrong, told | {"ended": "works"}) == "accepted"
    assert fault(wrong, told | {"printed": "KeyError"}) == "other words"
    assert fault(wrong, told | {"advice": "told"}) == "advice fails"
