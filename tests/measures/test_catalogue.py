"""Every measure that papers 001 and 004 define or name, and the text that cranfield reads for it.

001 is Sakai (2013), sections 2 and 3; 004 is Ferro and Maistro (2024), sections 3, 5.1 and 8.
"""

from __future__ import annotations

import pytest

from cranfield.base.errors import CranfieldError
from cranfield.measures.families import REGISTRY
from cranfield.measures.grammar import parse_measure
from cranfield.measures.other_names import from_paper

PAPERS: dict[tuple[str, str], str] = {
    # 001, section 2.1: set retrieval
    ("001 2.1", "Recall"): "SetR",
    ("001 2.1", "Precision"): "SetP",
    ("001 2.1", "E-measure"): "SetE",
    ("001 2.1", "F-measure"): "SetF",
    ("001 2.1", "F_b"): "SetF(beta=2)",
    # 001, section 2.2: ranked retrieval
    ("001 2.2", "nDCG"): "nDCG@10",
    ("001 2.2", "original nDCG"): "nDCG(discount='max(1,log10(rank))')@10",
    ("001 2.2", "nDCG of Järvelin and others [50]"): "nDCG(discount='1+log2(rank)')@10",
    ("001 2.2", "DCG"): "DCG@10",
    # With a base above all ranks nothing is discounted.
    ("001 2.2", "nCG"): "nDCG(discount='max(1,log999999999(rank))')@10",
    ("001 2.2", "interpolated precision"): "IPrec@0.1",
    ("001 2.2", "11pt-AP"): "AP11",
    ("001 2.2", "AP"): "AP",
    ("001 2.2", "AP for a given measurement depth"): "AP(denominator='min')@10",
    ("001 2.2", "MAP"): "MAP",
    ("001 2.2", "GMAP"): "GMAP",
    ("001 2.2", "GAP"): "GAP",
    ("001 2.2", "gAP"): "gAP",
    ("001 2.2", "Q-measure"): "Q-measure",
    ("001 2.2", "Q for a given measurement depth"): "Q(denominator='min')@10",
    ("001 2.2", "NCU, stops after few relevant documents"): "NCU(stopping='rank-biased')",
    ("001 2.2", "NCU, stops by relevance level"): "NCU(stopping='graded')",
    ("001 2.2", "R-precision"): "Rprec",
    ("001 2.2", "R-measure"): "R-measure",
    ("001 2.2", "RR"): "RR",
    ("001 2.2", "P+"): "P+",
    ("001 2.2", "P-measure"): "P-measure",
    ("001 2.2", "O-measure"): "O-measure",
    ("001 2.2", "WRR"): "WRR",
    ("001 2.2", "ERR"): "ERR",
    ("001 2.2", "RBP"): "RBP(p=0.95, gains='graded')",
    ("001 2.2", "TBG"): "TBG",
    ("001 2.2", "U-measure"): "U",
    ("001 2.2", "M', of a condensed list"): "Q(judged_only=True)",
    ("001 2.2", "AP', Induced AP"): "AP(judged_only=True)",
    ("001 2.2", "bpref"): "bpref",
    ("001 2.2", "bpref_R"): "Bpref(form='R')",
    ("001 2.2", "bpref_N, RankEff"): "Bpref(form='N')",
    ("001 2.2", "rpref"): "Rpref",
    # 001, section 2.3: further reading, with definitions elsewhere
    ("001 2.3", "generalised recall"): "gR@10",
    ("001 2.3", "generalised precision"): "gP@10",
    ("001 2.3", "infAP"): "infAP",
    ("001 2.3", "statAP"): "statAP",
    # 001, section 3.1: diversified search
    ("001 3.1", "subtopic recall, I-rec"): "I-rec@10",
    ("001 3.1", "α-nDCG"): "α-nDCG@10",
    ("001 3.1", "NRBP"): "NRBP",
    ("001 3.1", "nDCG-IA"): "nDCG-IA@10",
    ("001 3.1", "AP-IA"): "AP-IA",
    ("001 3.1", "RR-IA"): "RR-IA",
    ("001 3.1", "ERR-IA"): "ERR-IA@20",
    ("001 3.1", "ERR-IA, equation (26)"): "IA(ERR)",
    ("001 3.1", "normalised ERR-IA"): "nERR-IA@20",
    ("001 3.1", "IA version of normalised ERR"): "IA(nERR@10)",
    ("001 3.1", "D-nDCG"): "D-nDCG@10",
    ("001 3.1", "D-Q"): "D-Q@10",
    ("001 3.1", "D♯-nDCG"): "D♯-nDCG@10",
    ("001 3.1", "D-U"): "D(U)",
    ("001 3.1", "U-IA"): "IA(U)",
    ("001 3.1", "DIN-nDCG"): "DIN-nDCG@10",
    ("001 3.1", "DIN♯-nDCG"): "DIN♯-nDCG@10",
    ("001 3.1", "P+Q"): "P+Q@10",
    ("001 3.1", "P+Q♯"): "P+Q♯@10",
    # 001, section 3.2: sessions
    ("001 3.2", "sDCG"): "sDCG",
    ("001 3.2", "sDCG, original definition"): "sDCG(variant='jarvelin')",
    ("001 3.2", "normalised sDCG"): "nsDCG",
    ("001 3.2", "click-based U"): "ClickU",
    # 001, section 3.3: summaries and answers
    ("001 3.3", "ROUGE-N"): "RougeN(n=2)",
    ("001 3.3", "ROUGE-S"): "RougeS",
    ("001 3.3", "ROUGE-SU"): "RougeSU",
    ("001 3.3", "W-Rec"): "WRecall",
    ("001 3.3", "Prec_allow"): "NuggetPrecision",
    ("001 3.3", "F-measure_QA"): "NuggetF",
    ("001 3.3", "S-measure"): "SMeasure",
    ("001 3.3", "T-measure"): "TMeasure",
    ("001 3.3", "S♭"): "SFlat",
    ("001 3.3", "T♭"): "TFlat",
    ("001 3.3", "S♯"): "SSharp",
    # 004, section 3
    ("004 3.1", "Precision"): "SetP",
    ("004 3.1", "Recall"): "SetR",
    ("004 3.1", "P(k)"): "P@5",
    ("004 3.1", "R(k)"): "R@5",
    ("004 3.1", "Rprec"): "Rprec",
    ("004 3.2", "iP(R_j)"): "IPrec@0.3",
    ("004 3.3", "AP"): "AP",
    ("004 3.3", "MAP"): "MAP",
    ("004 3.4", "DCG"): "DCG(discount='max(1,log2(rank))')",
    ("004 3.4", "nDCG"): "nDCG(discount='max(1,log2(rank))')",
    ("004 3", "α-nDCG"): "α-nDCG@10",
    ("004 3", "nDCG-IA"): "nDCG-IA@10",
    ("004 3", "D-measure"): "D(nDCG@10)",
    ("004 3", "pair-wise parity"): "PairParity(protected='group')",
    ("004 3", "proportion of protected candidates"): "FAIR(protected='group')@10",
    ("004 3", "exposure"): "EEL",
    ("004 3", "ratio of exposure"): "DP",
    ("004 3", "equity of attention"): "IAA",
    # 004, section 5.1: measures calibrated with online data
    ("004 5.1", "RBP"): "RBP(p=0.8)",
    ("004 5.1", "RR"): "RR",
    ("004 5.1", "ERR"): "ERR",
    ("004 5.1", "TBG"): "TBG",
    ("004 5.1", "uM, utility based on clicks"): "uM(clicks={1: 0.5})",
    ("004 5.1", "rrM, effort based on clicks"): "rrM(clicks={1: 0.5})",
    ("004 5.1", "Markov Precision"): "MP",
    # 004, section 8: several aspects
    ("004 8", "CAM"): "CAM(nDCG@10)",
    ("004 8", "MM"): "MM(nDCG@10)",
    ("004 8", "Compatibility"): "Compat",
    ("004 8", "uRBP"): "uRBP",
    ("004 8", "cRBP"): "cRBP",
}
"""Section and name in the paper, and the text that stands for it."""

MISSING: dict[str, str] = {}
"""Texts that are not understood yet, and why; one that is has to go from here."""

OTHERS: dict[tuple[str, str], str] = {
    ("001 2.2", "normalised sliding ratio"): "a forerunner of nDCG, named without a definition",
    ("001 2.2", "blended ratio"): "a part of Q, the value at one rank",
    ("001 2.2", "measures of the snippet phase [105, 117]"): "further reading",
    ("001 2.2", "expected search length"): "further reading, on which time-based evaluation builds",
    ("001 2.3", "recall-oriented measure of patent search [62]"): "further reading, not named",
    ("001 2.3", "score adjustment"): "changes scores of systems outside the pool, not a measure",
    ("001 2.3", "Average Distance Measure"): "needs estimates of relevance; no ranked retrieval",
    ("001 2.3", "measures of preference judgments"): "preferences are no grades of documents",
    ("001 3.1", "α-nDCG with α by topic"): "further reading",
    ("001 3.1", "α♯-IA measures"): "further reading",
    ("001 3.1", "effective precision, PMP"): "gold standards of a concordance test, in a footnote",
    ("001 3.1", "measure of tree-like presentation [13]"): "is not of rankings",
    ("001 3.2", "session measures over browsing paths [54]"): "further reading",
    ("001 3.2", "session cost framework [10]"): "needs costs of user actions; further reading",
    ("001 3.2", "frequency of observing a relevant document"): "further reading",
    ("001 3.3", "BLEU"): "is of machine translation",
    ("001 3.3", "semantic content units"): "a way to make units, not a measure",
    ("001 3.3", "POURPRE"): "matches nuggets by itself; NuggetF is of matches that are given",
    ("001 3.4", "measures of aggregated search"): "further reading; of pages of several verticals",
    ("001 3.4", "character-based bpref, precision and recall"): "are of passages; further reading",
    ("001 3.4", "utility of Yang and Lad"): "further reading; of passages of several lists",
    ("001 3.4", "measures of XML retrieval"): "the paper leaves them to another one",
    ("004 3", "C/W/L"): "a framework, in which user models are measures",
    ("004 3.2", "AUC"): "the area that AP is an estimate of",
    ("004 3", "dissatisfaction"): "further reading; a constraint on click models",
    ("004 3", "quantification"): "further reading; needs predicted group labels",
    ("004 8", "dwell time, return rate"): "are read from logs, not from rankings",
    ("004 8", "MMLU, BIG-Bench Hard, AGI Eval"): "are benchmarks of language models",
}
"""What the papers name besides, and why it is no measure here."""


def understood(text: str) -> bool:
    try:
        parse_measure(text)
    except CranfieldError:
        return False
    return True


def test_every_measure_of_the_papers_is_understood() -> None:
    assert {text for text in PAPERS.values() if not understood(text)} == MISSING.keys()


@pytest.mark.parametrize("text", sorted(set(PAPERS.values()) - MISSING.keys()))
def test_text_of_a_paper_is_a_measure_of_the_catalogue(text: str) -> None:
    made = parse_measure(text)
    assert parse_measure(str(made)) == made
    assert made.info.name in REGISTRY


def test_names_as_printed_are_understood() -> None:
    printed = {
        "Q-measure": "Q",
        "R-measure": "RMeasure",
        "P+": "PPlus",
        "O-measure": "OMeasure",
        "α-nDCG@10": "alpha_nDCG@10",
        "D♯-nDCG@10": "Sharp(D(nDCG@10))",
        "DIN♯-nDCG@10": "Sharp(DIN(nDCG@10))",
        "P+Q♯@10": "Sharp(PQ@10)",
        "I-rec@10": "StRecall@10",
        "nDCG-IA@10": "IA(nDCG@10)",
    }
    for name, text in printed.items():
        assert str(parse_measure(name)) == text
        assert from_paper(name) == text


def test_lists_do_not_overlap() -> None:
    assert not PAPERS.keys() & OTHERS.keys()
    assert set(PAPERS.values()) >= MISSING.keys()
    assert all(OTHERS.values()) and all(MISSING.values())
