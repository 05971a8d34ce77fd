"""Names of measures as papers and other programs print them, as the text forms they stand for."""

from __future__ import annotations

import re

Forms = tuple[tuple[str, str], ...]
"""Patterns of names, and the text form of what matches."""

_SHARP = "#♯"
_PAPERS: Forms = (
    (rf"(D|DIN)[{_SHARP}]-(?P<inner>.+)", r"Sharp(\1(\g<inner>))"),
    (r"(D|DIN)-(?P<inner>.+)", r"\1(\g<inner>)"),
    (r"EC-(?P<inner>.+)", r"Classes(\g<inner>)"),
    (rf"P\+Q[{_SHARP}](?P<at>@\d+)?", r"Sharp(PQ\g<at>)"),
    (r"P\+Q(?P<at>@\d+)?", r"PQ\g<at>"),
    (r"(?:alpha|α)-(DCG|nDCG)(?P<at>@\d+)?", r"alpha_\1\g<at>"),
    (r"(?P<n>n?)ERR-IA(?P<at>@\d+)?", r"\g<n>ERR_IA\g<at>"),
    (r"(?:M?AP)-IA", r"AP_IA"),
    (r"(?P<inner>\w+)-IA(?P<at>@\d+)?", r"IA(\g<inner>\g<at>)"),
    (r"IA-(?P<inner>.+)", r"IA(\g<inner>)"),
    (r"(?:I-rec|strec)(?P<at>@\d+)?", r"StRecall\g<at>"),
    (r"Q-measure(?P<at>@\d+)?", r"Q\g<at>"),
    (r"U-measure", r"U"),
    (r"([ROP])-measure(?P<at>@\d+)?", r"\1Measure\g<at>"),
    (r"(?:P\+|P-plus)(?P<at>@\d+)?", r"PPlus\g<at>"),
    (r"(?:b|B)pref_(?P<form>[RN])", r"Bpref(form='\g<form>')"),
)

_AT = r"@0*(?P<k>[1-9]\d*)"
_K = (5, 10, 20)
_LINEAR = "gains='linear'"

_X = r"(?P<x>\d+(?:\.\d+)?)"

_PROGRAMS: dict[str, Forms] = {
    "ndeval": (
        (rf"(?P<n>n?)ERR-IA{_AT}", r"\g<n>ERR_IA@\g<k>"),
        (rf"alpha-(?P<n>n?)DCG{_AT}", r"alpha_\g<n>DCG@\g<k>"),
        (r"(?P<n>n?)NRBP", r"\g<n>NRBP"),
        (r"MAP-IA", r"AP_IA"),
        (rf"P-IA{_AT}", r"P_IA@\g<k>"),
        (rf"strec{_AT}", r"StRecall@\g<k>"),
    ),
    "gdeval": (
        (rf"ndcg{_AT}", r"nDCG(gains='exponential')@\g<k>"),
        (rf"err{_AT}", r"ERR(max_grade=4)@\g<k>"),
    ),
    "ntcireval": (
        (r"Q-measure", r"Q"),
        (r"(?P<name>[OP])-measure", r"\g<name>Measure"),
        (r"P-plus", r"PPlus"),
        (r"NCUgu,(?P<u>P|BR)", r"NCU(stopping='graded', utility='\g<u>')"),
        (r"NCUrb,(?P<u>P|BR)", r"NCU(utility='\g<u>')"),
        (r"RBP", r"RBP(gains='graded', p=0.95)"),
        (rf"RBP{_AT}", r"RBP(gains='graded', p=0.95)@\g<k>"),
        (r"(?P<name>n?ERR)", rf"\g<name>({_LINEAR})"),
        (rf"(?P<name>n?ERR){_AT}", rf"\g<name>({_LINEAR})@\g<k>"),
        (rf"AP{_AT}", r"AP(denominator='min')@\g<k>"),
        (rf"nDCG{_AT}", r"nDCG(discount='max(1,log2(rank))')@\g<k>"),
        (rf"MSnDCG{_AT}", r"nDCG@\g<k>"),
        (rf"Hit{_AT}", r"Success@\g<k>"),
        (rf"(?P<name>Q|P|EBR){_AT}", r"\g<name>@\g<k>"),
        (r"I-rec@n", r"StRecall(upto='intents')"),
        (rf"I-rec{_AT}", r"StRecall@\g<k>"),
    ),
    "cwl": (
        (rf"(?P<name>P){_AT}", r"EU(P@\g<k>)"),
        (r"(?P<name>RR|AP)", r"EU(\g<name>)"),
        (rf"RBP@{_X}", r"EU(RBP(p=\g<x>), depth=1000)"),
        (rf"NDCG-k{_AT}", r"EU(SDCG@\g<k>)"),
        (rf"(?P<name>INST|INSQ)-T={_X}", r"EU(\g<name>(T=\g<x>, depth=1000))"),
        (r"NERR-EQ(?P<name>[89])@k=(?P<k>\d+)", r"EU(NERR\g<name>@\g<k>)"),
        (rf"NERR-EQ10@phi={_X}", r"EU(NERR10(p=\g<x>))"),
        (rf"NERR-EQ11@T={_X}", r"EU(NERR11(T=\g<x>))"),
        (rf"BPM-Static-T={_X}-K=(?P<k>[\d.]+)", r"EU(BPM(T=\g<x>, K=\g<k>))"),
        (
            rf"BPM-Dynamic-T={_X}-K=(?P<k>[\d.]+)-hb=(?P<hb>[\d.]+)-hc=[\d.]+",
            r"EU(BPMDynamic(T=\g<x>, K=\g<k>, hb=\g<hb>, hc=0))",
        ),
        (rf"TBG-H@{_X}", r"EU(TBG(h=\g<x>))"),
        (rf"U-L@{_X}", r"EU(U(L=\g<x>))"),
    ),
}

_ALL = {
    "ndeval": (
        *(f"{name}@{k}" for name in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG") for k in _K),
        *("NRBP", "nNRBP", "MAP-IA"),
        *(f"{name}@{k}" for name in ("P-IA", "strec") for k in _K),
    ),
    "gdeval": ("ndcg@20", "err@20"),
    "ntcireval": (
        *("RR", "O-measure", "P-measure", "P-plus", "AP", "Q-measure"),
        *("NCUgu,P", "NCUgu,BR", "NCUrb,P", "NCUrb,BR", "RBP", "ERR", "EBR"),
        *("AP@1000", "Q@1000", "nDCG@1000", "MSnDCG@1000", "P@1000", "RBP@1000"),
        *("ERR@1000", "nERR@1000", "EBR@1000", "Hit@1000"),
    ),
    "cwl": (
        *("P@1", "P@5", "P@10", "P@20", "RBP@0.2", "RBP@0.4", "RBP@0.6", "RBP@0.8", "RBP@0.9"),
        *("NDCG-k@5", "NDCG-k@10", "NDCG-k@20", "RR", "AP", "INST-T=1", "INST-T=2", "INST-T=3"),
        *("INSQ-T=1", "INSQ-T=2", "INSQ-T=3", "BPM-Static-T=1-K=1000"),
    ),
}


_NO_EFFORT = "the {} model does not tell whether a click satisfies; {} is its utility"

NO_MEASURES = {
    "rrUBM": _NO_EFFORT.format("user browsing", "uUBM"),
    "rrPBM": _NO_EFFORT.format("position-based", "uPBM"),
}
"""Names that one could expect, and why they are no measures."""


def from_paper(text: str) -> str:
    """Rewrite a name of a paper; any other text comes back as it is."""
    return _rewritten(_PAPERS, text)


def program_names(program: str | None, text: str) -> list[str]:
    """Rewrite the names of a program; the program's own name stands for all that it prints.

    `program` is `ndeval`, `gdeval`, `ntcireval` or `cwl`; any other changes nothing, and neither
    does a text that is none of the program's names.
    """
    if program not in _PROGRAMS:
        return [text]
    text = text.strip()
    names = _ALL[program] if text == program else (text,)
    return [_rewritten(_PROGRAMS[program], name) for name in names]


def _rewritten(forms: Forms, text: str) -> str:
    for pattern, form in forms:
        if found := re.fullmatch(pattern, text):
            return found.expand(form)
    return text
