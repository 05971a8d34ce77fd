"""Names of measures as papers and other programs print them, as the text forms they stand for."""

from __future__ import annotations

import re
from math import sqrt

from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.parameters import short

Forms = tuple[tuple[str, str], ...]
"""Patterns of names, and the text form of what matches."""

_SHARP = "#♯"
_REST = r"(?P<rest>(?:\(.*\))?(?:@[\d.]+)?)"
"""Parameters and a cutoff."""

_SIMILARITY = r"(?:cosine|cos_sim|dot|dot_score|euclidean|manhattan|maxsim)[-_]"
"""What sentence-transformers puts before its names; its MAP is divided by min(k, RB)."""

_PAPERS: Forms = (
    (rf"(D|DIN)[{_SHARP}]-(?P<inner>.+)", r"Sharp(\1(\g<inner>))"),
    (r"(D|DIN)-(?P<inner>.+)", r"\1(\g<inner>)"),
    (r"EC-(?P<inner>.+)", r"Classes(\g<inner>)"),
    (rf"P\+Q[{_SHARP}]{_REST}", r"Sharp(PQ\g<rest>)"),
    (rf"P\+Q{_REST}", r"PQ\g<rest>"),
    (rf"(?:alpha|α)-(n?DCG){_REST}", r"alpha_\1\g<rest>"),
    (rf"(?P<n>n?)ERR-IA{_REST}", r"\g<n>ERR_IA\g<rest>"),
    (r"(?:M?AP)-IA", r"AP_IA"),
    (r"(?P<inner>\w+)-IA(?P<at>@\d+)?", r"IA(\g<inner>\g<at>)"),
    (r"IA-(?P<inner>.+)", r"IA(\g<inner>)"),
    (rf"(?:I-rec|strec){_REST}", r"StRecall\g<rest>"),
    (rf"Q-measure{_REST}", r"Q\g<rest>"),
    (rf"U-measure{_REST}", r"U\g<rest>"),
    (rf"([ROP])-measure{_REST}", r"\1Measure\g<rest>"),
    (rf"(?:P\+|P-plus){_REST}", r"PPlus\g<rest>"),
    (r"NCUgu,(?P<u>P|BR)", r"NCU(stopping='graded', utility='\g<u>')"),
    (r"NCUrb,(?P<u>P|BR)", r"NCU(utility='\g<u>')"),
    (r"SetP\(relative=True\)(?P<at>@\d+)?", r"SetRelP\g<at>"),
    (r"SetP\(rel=(?P<rel>\d+),\s*relative=True\)", r"SetRelP(rel=\g<rel>)"),
    (r"NumRet\((?P<rel>rel=\d+)\)", r"NumRelRet(\g<rel>)"),
    (r"(?:b|B)pref_(?P<form>[RN])", r"Bpref(form='\g<form>')"),
    (rf"R-prec(?:ision)?{_REST}", r"Rprec\g<rest>"),
    (rf"hit-rate{_REST}", r"Success\g<rest>"),
    (r"(?P<name>[a-z_]+?)_at_0*(?P<k>[1-9]\d*)", r"\g<name>@\g<k>"),
    (r"(?P<name>[a-z_]{3,}?)_(?:cut_)?0*(?P<k>[1-9]\d*)", r"\g<name>@\g<k>"),
    (r"(?P<name>[a-z_]+)-l(?P<rel>\d+)", r"\g<name>(rel=\g<rel>)"),
    (r"(?P<name>[a-z_]+)@(?P<k>\d+)-l(?P<rel>\d+)", r"\g<name>(rel=\g<rel>)@\g<k>"),
    (r"(?P<name>[A-Za-z]\w*)['\u2032](?P<at>@\d+)?", r"\g<name>(judged_only=True)\g<at>"),
    (rf"{_SIMILARITY}map@(?P<k>\d+)", r"AP(denominator='min')@\g<k>"),
    (rf"{_SIMILARITY}accuracy@(?P<k>\d+)", r"Success@\g<k>"),
    (rf"{_SIMILARITY}(?P<name>ndcg|mrr|precision|recall)@(?P<k>\d+)", r"\g<name>@\g<k>"),
)

TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "recip_rank": ("RR", {}),
    "reciprocal_rank": ("RR", {}),
    "mean_reciprocal_rank": ("RR", {}),
    "average_precision": ("AP", {}),
    "mean_average_precision": ("AP", {}),
    "r_precision": ("Rprec", {}),
    "ndcg_burges": ("nDCG", {"gains": "exponential"}),
    "dcg_burges": ("DCG", {"gains": "exponential"}),
    "r_cap": ("RelP", {}),
    "recall_cap": ("RelP", {}),
    "hit": ("Success", {}),
    "hit_rate": ("Success", {}),
    "hr": ("Success", {}),
    "hit_ratio": ("Success", {}),
    "hitratio": ("Success", {}),
    "capped_recall": ("RelP", {}),
    "11pt_avg": ("AP11", {}),
}
"""Names of other programs in lower case that stand for one measure, whatever the cutoff."""

_AT = r"@0*(?P<k>[1-9]\d*)"
_K = (5, 10, 20)
_P = r"(?:\((?P<p>.*)\))?"
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

_IR_MEASURES: Forms = (
    (rf"ERR{_P}@(?P<k>\d+)", r"ERR(max_grade=4,\g<p>)@\g<k>"),
    (rf"(INST|INSQ){_P}", r"EU(\1(\g<p>),depth=1000)"),
    (rf"(RBP){_P}", r"EU(\1(\g<p>),depth=1000)"),
    (rf"(SDCG|NERR8|NERR9|NERR10|NERR11){_P}(?P<at>@\d+)?", r"EU(\1(\g<p>)\g<at>)"),
    (rf"BPM{_P}@(?P<k>\d+)", r"EU(BPM(\g<p>, K=\g<k>))"),
)

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

_SET_F = (
    "SetF is F of all that is retrieved; with a cutoff, such as SetF@10, its precision is over what"
    " is there, not over the cutoff"
)

_F_NAMES = ("f", "f1", "f_measure", "f_score", "f1_score", "fscore", "fmeasure")
_ACCURACY = "Success@k is whether a relevant document is among the first k"
_RANK = "RR is the reciprocal of the rank of the first relevant document"

NO_MEASURES = {
    "rrUBM": _NO_EFFORT.format("user browsing", "uUBM"),
    "rrPBM": _NO_EFFORT.format("position-based", "uPBM"),
    "hits": "NumRelRet@k is the number of relevant documents, Success@k whether there is one",
    **dict.fromkeys(("accuracy", "acc"), _ACCURACY),
    **dict.fromkeys(("mean_rank", "meanrank", "mr", "medr", "median_rank"), _RANK),
    **dict.fromkeys(("c", "completeness"), "R@k is 1 if all relevant documents are in the top k"),
    "ncg": "gR@k is the gain of the top k over that of all judged documents, nDCG@k discounts it",
    "cg": "gP@k is the gain of the top k over the most it could be, DCG@k discounts it",
    "hole": "Unjudged@k is the share of documents without a judgment for their topic",
    **dict.fromkeys(_F_NAMES, _SET_F),
    **{program: f"compat={program!r} makes it all that {program} prints" for program in _ALL},
}
"""Names that one could expect, and why they are no measures; those of programs in lower case."""


def from_paper(text: str) -> str:
    """Rewrite a name of a paper; any other text comes back as it is."""
    return _rewritten(_PAPERS, text, re.IGNORECASE)


def from_ir_measures(text: str) -> str:
    """Rewrite the text of a measure of ir_measures where the same text is another measure here."""
    found = re.fullmatch(r"SetF\((?P<before>.*)beta=(?P<beta>[\d.]+)(?P<after>.*)\)", text)
    if found:
        # What it calls beta weighs recall, as trec_eval's parameter does: the square of beta.
        return f"SetF({found['before']}beta={sqrt(float(found['beta']))}{found['after']})"
    text = re.sub(r"\bmax_rel=(\d+)", r"gains='graded',max_grade=\1", text)
    return _rewritten(_IR_MEASURES, text)


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


_TO_TOP = {"RBP", "ERR", "nERR", "EBR"}
"""Measures of NTCIREVAL that depend on the highest gain."""

_GAINED = {"Q", "OMeasure", "PMeasure", "PPlus", "NCU", "nDCG", *_TO_TOP}
"""Measures of NTCIREVAL that depend on gains."""


def split_gains(program: str | None, text: str) -> tuple[str, tuple[float, ...]]:
    """Split `NAME -g 1:2:3`, as `ntcir_eval compute` takes it, into the name and the gains.

    Examples
    --------
    >>> split_gains("ntcireval", "ERR@0010 -g 1:2:3")
    ('ERR@0010', (1.0, 2.0, 3.0))
    """
    found = re.fullmatch(r"\s*(?P<name>[^\s()]+)\s+-g\s+(?P<gains>\S+)\s*", text)
    if program != "ntcireval" or not found:
        return text, ()
    try:
        gains = tuple(float(one) for one in found["gains"].split(":"))
    except ValueError:
        gains = ()
    if not (gains and all(0 < one <= 1e15 for one in gains)):
        raise MeasureError(
            "-g must be the gains of grades 1, 2, ..., numbers above 0 with colons between them,"
            f" got {quoted(found['gains'])}"
        )
    return found["name"], gains


def with_gains(form: str, gains: tuple[float, ...]) -> str:
    """Add the gains of grades 1, 2, ... and the highest grade to a text form of NTCIREVAL.

    Examples
    --------
    >>> with_gains("ERR(gains='linear')@10", (1.0, 2.0))
    "ERR(gains='linear', max_grade=2)@10"
    >>> with_gains("RBP(gains='graded', p=0.95)", (1.0, 4.0))
    'RBP(p=0.95, gains={1: 0.25, 2: 1})'
    """
    found = re.fullmatch(r"(?P<name>\w+)(?:\((?P<given>.*)\))?(?P<at>@\d+)?", form)
    name = {one.lower(): one for one in _GAINED}.get(found["name"].lower()) if found else None
    if not found or name is None:
        return form
    parameters = [found["given"]] if found["given"] else []
    linear = gains == tuple(range(1, len(gains) + 1))
    if not linear:
        whole = max(gains) if name == "RBP" else 1.0
        pairs = (f"{grade}: {short(gain / whole)}" for grade, gain in enumerate(gains, 1))
        rest = re.sub(r"gains='\w+'(, )?", "", found["given"] or "")
        parameters = [*([rest] if rest else []), f"gains={{{', '.join(pairs)}}}"]
    if name in _TO_TOP and (linear or name != "RBP"):
        parameters.append(f"max_grade={len(gains)}")
    inside = f"({', '.join(parameters)})" if parameters else ""
    return f"{name}{inside}{found['at'] or ''}"


def in_any_case(program: str | None, text: str) -> str:
    """Rewrite a name of a program whatever its case; any other text comes back as it is."""
    return _rewritten(_PROGRAMS.get(program or "", ()), text, re.IGNORECASE)


def _rewritten(forms: Forms, text: str, flags: int = 0) -> str:
    for pattern, form in forms:
        if found := re.fullmatch(pattern, text, flags):
            return found.expand(form)
    return text
