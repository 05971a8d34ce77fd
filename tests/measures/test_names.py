"""Names of papers and of other programs."""

from __future__ import annotations

import csv
import re

import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.measures.aliases import UNSUPPORTED_NAMES, translate_program_name
from cranfield.measures.families import REGISTRY
from tests.conftest import ROOT


def read_rows(name: str) -> list[dict[str, str]]:
    return [*csv.DictReader((ROOT / "tests/data" / name).read_text("utf-8").splitlines())]


ROWS = read_rows("names_of_measures.csv")
PAPERS = read_rows("measures_of_papers.csv")
"""Every measure that papers 001 (Sakai, 2013, sections 2 and 3) and 004 (Ferro and Maistro, 2024,
sections 3, 5.1 and 8) define or name: section and name, and its text or why it is not one here."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['program']} {row['name']}")
def test_names_of_papers_and_programs(row: dict[str, str]) -> None:
    """A program's name means what the program means by it; the other names are of papers."""
    [measure] = cf.parse_measures(row["name"], compat=row["program"] or None)
    assert [measure] == cf.parse_measures(row["measure"])


@pytest.mark.parametrize("name", ["XR@5", "QQ", "ZP@3", "LR"])
def test_short_names_have_no_far_fetched_suggestion(name: str) -> None:
    with pytest.raises(cf.MeasureError) as error:
        cf.parse_measures(name)
    assert "did you mean" not in str(error.value)


def test_hints_name_measures_that_exist() -> None:
    for hint in UNSUPPORTED_NAMES.values():
        for name in re.findall(r"\b(\w+)@k", hint):
            cf.parse_measure(f"{name}@5")


@pytest.mark.parametrize("program", ["ndeval", "gdeval", "ntcireval", "cwl"])
def test_a_program_stands_for_all_that_it_prints(program: str) -> None:
    """Its own name is read as all its measures; without the preset it is none."""
    assert len(cf.parse_measures(program, compat=program)) == len(
        translate_program_name(program, program)
    )
    with pytest.raises(MeasureError):
        cf.parse_measures(program)


@pytest.mark.parametrize(
    ("program", "name", "form"),
    [
        ("ntcireval", "ndcg@10", "nDCG(discount='max(1,log2(rank))')@10"),
        ("ntcireval", "err@10", "ERR(gains='linear')@10"),
        ("ntcireval", "ap@10", "AP(denominator='min')@10"),
        ("ntcireval", "msndcg@10", "nDCG@10"),
        ("cwl", "inst-t=2", "EU(INST(T=2, depth=1000))"),
        ("cwl", "p@10", "EU(P@10)"),
        ("gdeval", "nDCG@10", "nDCG@10"),
        ("gdeval", "map@10", "AP@10"),
    ],
)
def test_names_of_programs_in_another_case(program: str, name: str, form: str) -> None:
    """Another case of a program's name is not another measure without a word."""
    assert cf.parse_measures(name, compat=program) == [cf.parse_measure(form)]


def test_a_case_between_a_program_and_others_is_refused() -> None:
    """Where the case decides which of two measures it is, another case decides nothing."""
    with pytest.raises(MeasureError, match=r"is ambiguous: it is nDCG@10 in cranfield and nDCG\("):
        cf.parse_measures("Ndcg@10", compat="gdeval")


def test_a_preset_scores() -> None:
    """Judging and names go together."""
    qrels = {"q": {"a": 2, "b": 0}, "r": {"c": 1}}
    run = {"q": {"b": 1.0, "a": 2.0}}
    found = cf.evaluate(run, qrels, ["ndcg@20", "err@20"], compat="gdeval")
    assert [scores.mean()[0] for scores in found.values()] == [1.0, 3 / 16]
    in_order = cf.evaluate(run, qrels, ["RR", "Hit@0001"], compat="ntcireval")
    assert [scores.mean()[0] for scores in in_order.values()] == [0.25, 0.0]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("rouge1", "RougeN(n=1, of='F')"),
        ("ROUGE-2", "RougeN(n=2, of='F')"),
        ("rouge_l", "RougeL"),
        ("ROUGE-Lsum", "RougeLsum"),
    ],
)
def test_names_of_rouge(name: str, form: str) -> None:
    assert cf.parse_measure(name) == cf.parse_measure(form)


@pytest.mark.parametrize("name", ["METEOR", "BLEU", "BERTScore", "faithfulness"])
def test_measures_of_other_programs_are_named(name: str) -> None:
    with pytest.raises(MeasureError, match="pass them to `compare --scores`"):
        cf.parse_measure(name)


@pytest.mark.parametrize("text", sorted({row["measure"] for row in PAPERS if row["measure"]}))
def test_every_measure_of_the_papers_is_in_the_catalogue(text: str) -> None:
    measure = cf.parse_measure(text)
    assert cf.parse_measure(str(measure)) == measure
    assert measure.info.name in REGISTRY


def test_every_name_of_the_papers_has_a_measure_or_a_reason() -> None:
    assert all(bool(row["measure"]) is not bool(row["note"]) for row in PAPERS)
    assert len({(row["section"], row["name"]) for row in PAPERS}) == len(PAPERS) > 120
