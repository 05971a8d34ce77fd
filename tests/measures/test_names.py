"""Names of papers and of other programs."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.measures.other_names import program_names

PAPERS = {
    "D#-nDCG@10": "Sharp(D(nDCG@10))",
    "D♯-Q@10": "Sharp(D(Q@10))",
    "DIN-nDCG@10": "DIN(nDCG@10)",
    "DIN#-nDCG@10": "Sharp(DIN(nDCG@10))",
    "P+Q@10": "PQ@10",
    "P+Q#@10": "Sharp(PQ@10)",
    "α-nDCG@20": "alpha_nDCG@20",
    "alpha-DCG@5": "alpha_DCG@5",
    "ERR-IA@20": "ERR_IA@20",
    "nERR-IA@20": "nERR_IA@20",
    "MAP-IA": "AP_IA",
    "nDCG-IA@20": "IA(nDCG@20)",
    "IA-Q@10": "IA(Q@10)",
    "I-rec@10": "StRecall@10",
    "strec@5": "StRecall@5",
    "Q-measure": "Q",
    "O-measure@10": "OMeasure@10",
    "U-measure": "U",
    "P+@10": "PPlus@10",
    "P-plus": "PPlus",
    "EC-Q@10": "Classes(Q@10)",
    "bpref_N": "Bpref(form='N')",
}
PROGRAMS = {
    ("ndeval", "alpha-nDCG@20"): "alpha_nDCG@20",
    ("gdeval", "err@20"): "ERR(max_grade=4)@20",
    ("ntcireval", "nDCG@0010"): "nDCG(discount='max(1,log2(rank))')@10",
    ("ntcireval", "MSnDCG@1000"): "nDCG@1000",
    ("ntcireval", "Hit@0001"): "Success@1",
    ("ntcireval", "NCUgu,P"): "NCU(stopping='graded', utility='P')",
    ("cwl", "RBP@0.9"): "EU(RBP(p=0.9), depth=1000)",
    ("cwl", "NDCG-k@20"): "EU(SDCG@20)",
    ("cwl", "INST-T=2.0"): "EU(INST(T=2, depth=1000))",
    ("cwl", "NERR-EQ8@k=15"): "EU(NERR8@15)",
    ("cwl", "NERR-EQ10@phi=0.9"): "EU(NERR10)",
    ("cwl", "NERR-EQ11@T=2.0"): "EU(NERR11(T=2))",
    ("cwl", "BPM-Static-T=2.0-K=10"): "EU(BPM(K=10, T=2))",
    ("cwl", "BPM-Dynamic-T=3.0-K=20-hb=0.5-hc=0.0"): "EU(BPMDynamic(K=20, T=3, hb=0.5, hc=0))",
    ("cwl", "TBG-H@224 "): "EU(TBG)",
    ("cwl", "U-L@30000 "): "EU(U(L=30000))",
    ("cwl", "AP"): "EU(AP)",
    ("trec_eval", "map"): "AP",
}


@pytest.mark.parametrize(("name", "form"), PAPERS.items())
def test_names_of_papers(name: str, form: str) -> None:
    """A name of a paper is read as the measure that it means."""
    assert cf.parse_measure(name) == cf.parse_measure(form)


@pytest.mark.parametrize(("given", "form"), PROGRAMS.items())
def test_names_of_programs(given: tuple[str, str], form: str) -> None:
    """A program's name means what the program means by it."""
    program, name = given
    [found] = cf.parse_measures(name, compat=program)
    [expected] = cf.parse_measures(form)
    assert found == expected


@pytest.mark.parametrize("program", ["ndeval", "gdeval", "ntcireval", "cwl"])
def test_a_program_stands_for_all_that_it_prints(program: str) -> None:
    """Its own name is read as all its measures; without the preset it is none."""
    assert len(cf.parse_measures(program, compat=program)) == len(program_names(program, program))
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
    with pytest.raises(MeasureError, match=r"may be nDCG@10 or, in gdeval, nDCG\(gains"):
        cf.parse_measures("Ndcg@10", compat="gdeval")


def test_a_preset_scores() -> None:
    """Judging and names go together."""
    qrels = {"q": {"a": 2, "b": 0}, "r": {"c": 1}}
    run = {"q": {"b": 1.0, "a": 2.0}}
    found = cf.evaluate(run, qrels, ["ndcg@20", "err@20"], compat="gdeval")
    assert [scores.mean()[0] for scores in found.values()] == [1.0, 3 / 16]
    in_order = cf.evaluate(run, qrels, ["RR", "Hit@0001"], compat="ntcireval")
    assert [scores.mean()[0] for scores in in_order.values()] == [0.25, 0.0]
