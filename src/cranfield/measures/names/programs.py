"""Names of measures as other programs print them, where these mean something else by themselves."""

from __future__ import annotations

import re

_AT = r"@0*(?P<k>[1-9]\d*)"
_K = (5, 10, 20)
_LINEAR = "gains='linear'"

Forms = tuple[tuple[str, str], ...]

_NDEVAL: Forms = (
    (rf"(?P<n>n?)ERR-IA{_AT}", r"\g<n>ERR_IA@\g<k>"),
    (rf"alpha-(?P<n>n?)DCG{_AT}", r"alpha_\g<n>DCG@\g<k>"),
    (r"(?P<n>n?)NRBP", r"\g<n>NRBP"),
    (r"MAP-IA", r"AP_IA"),
    (rf"P-IA{_AT}", r"P_IA@\g<k>"),
    (rf"strec{_AT}", r"StRecall@\g<k>"),
)
_GDEVAL: Forms = (
    (rf"ndcg{_AT}", r"nDCG(gains='exponential')@\g<k>"),
    (rf"err{_AT}", r"ERR(max_grade=4)@\g<k>"),
)
_NTCIREVAL: Forms = (
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
)

_X = r"(?P<x>\d+(?:\.\d+)?)"
_CWL: Forms = (
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
)

_PROGRAMS: dict[str, Forms] = {
    "ndeval": _NDEVAL,
    "gdeval": _GDEVAL,
    "ntcireval": _NTCIREVAL,
    "cwl": _CWL,
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


def program_names(program: str | None, text: str) -> list[str]:
    """Rewrite the names of a program; the program's own name stands for all that it prints.

    Parameters
    ----------
    program
        `ndeval`, `gdeval`, `ntcireval` or `cwl`; any other changes nothing.
    text
        A name of a measure.

    Returns
    -------
    list of str
        Text forms; the text itself where it is none of the program's names.

    Examples
    --------
    >>> program_names("gdeval", "gdeval")
    ["nDCG(gains='exponential')@20", 'ERR(max_grade=4)@20']
    >>> program_names("ntcireval", "MSnDCG@0010"), program_names(None, "nDCG@10")
    (['nDCG@10'], ['nDCG@10'])
    """
    if program not in _PROGRAMS:
        return [text]
    text = text.strip()
    if text == program:
        return [form for name in _ALL[program] for form in program_names(program, name)]
    for pattern, form in _PROGRAMS[program]:
        if found := re.fullmatch(pattern, text):
            return [found.expand(form)]
    return [text]
