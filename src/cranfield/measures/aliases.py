"""Names of measures in papers and other programs, translated to text forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite, sqrt

from cranfield.base.errors import MeasureError, quote
from cranfield.base.spec import format_short
from cranfield.measures.base import Measure

Forms = tuple[tuple[str, str], ...]
"""Pairs of a pattern of names and the text form for its matches."""

_SHARP = "#♯"
_SUFFIX = r"(?P<tail>(?:\(.*\))?(?:@[\d.]+)?)"
"""Pattern of parameters and a cutoff after a name."""

_SIMILARITY = r"(?:cosine|cos_sim|dot|dot_score|euclidean|manhattan|maxsim)[-_]"
"""Prefixes of names in sentence-transformers, whose MAP has the divisor min(k, RB)."""

_PAPER_FORMS: Forms = (
    # The F-measure, as rouge1 and rouge2 of Hugging Face.
    (r"rouge[-_]?(?P<n>[1-9])", r"RougeN(n=\g<n>, of='F')"),
    (r"rouge[-_]?(?P<l>L|Lsum)", r"Rouge\g<l>"),
    (rf"(D|DIN)[{_SHARP}]-(?P<inner>.+)", r"Sharp(\1(\g<inner>))"),
    (r"(D|DIN)-(?P<inner>.+)", r"\1(\g<inner>)"),
    (r"EC-(?P<inner>.+)", r"Classes(\g<inner>)"),
    (rf"P\+Q[{_SHARP}]{_SUFFIX}", r"Sharp(PQ\g<tail>)"),
    (rf"P\+Q{_SUFFIX}", r"PQ\g<tail>"),
    (rf"(?:alpha|α)-(n?DCG){_SUFFIX}", r"alpha_\1\g<tail>"),
    (rf"(?P<n>n?)ERR-IA{_SUFFIX}", r"\g<n>ERR_IA\g<tail>"),
    (r"(?:M?AP)-IA", r"AP_IA"),
    (r"(?P<inner>\w+)-IA(?P<at>@\d+)?", r"IA(\g<inner>\g<at>)"),
    (r"IA-(?P<inner>.+)", r"IA(\g<inner>)"),
    (rf"(?:I-rec|strec){_SUFFIX}", r"StRecall\g<tail>"),
    (rf"Q-measure{_SUFFIX}", r"Q\g<tail>"),
    (rf"U-measure{_SUFFIX}", r"U\g<tail>"),
    (rf"([ROP])-measure{_SUFFIX}", r"\1Measure\g<tail>"),
    (rf"(?:P\+|P-plus){_SUFFIX}", r"PPlus\g<tail>"),
    (r"NCUgu,(?P<u>P|BR)", r"NCU(stopping='graded', utility='\g<u>')"),
    (r"NCUrb,(?P<u>P|BR)", r"NCU(utility='\g<u>')"),
    (r"SetP\(relative=True\)(?P<at>@\d+)?", r"SetRelP\g<at>"),
    (r"SetP\(rel=(?P<rel>\d+),\s*relative=True\)", r"SetRelP(rel=\g<rel>)"),
    (r"NumRet\((?P<rel>rel=\d+)\)", r"NumRelRet(\g<rel>)"),
    (r"(?:b|B)pref_(?P<form>[RN])", r"Bpref(form='\g<form>')"),
    (rf"R-prec(?:ision)?{_SUFFIX}", r"Rprec\g<tail>"),
    (rf"hit-rate{_SUFFIX}", r"Success\g<tail>"),
    (r"F(?P<beta>0?\.\d+|[2-9])@(?P<k>\d+)", r"F(beta=\g<beta>)@\g<k>"),
    (r"(?P<name>[a-z_]+?)_at_0*(?P<k>[1-9]\d*)", r"\g<name>@\g<k>"),
    (r"(?P<name>[a-z_]{3,}?)_(?:cut_)?0*(?P<k>[1-9]\d*)", r"\g<name>@\g<k>"),
    (r"(?P<name>[a-z_]+)-l(?P<rel>\d+)", r"\g<name>(rel=\g<rel>)"),
    (r"(?P<name>[a-z_]+)@(?P<k>\d+)-l(?P<rel>\d+)", r"\g<name>(rel=\g<rel>)@\g<k>"),
    (r"(?P<name>[A-Za-z]\w*)['\u2032](?P<at>@\d+)?", r"\g<name>(judged_only=True)\g<at>"),
    (rf"{_SIMILARITY}map@(?P<k>\d+)", r"AP(denominator='min')@\g<k>"),
    (rf"{_SIMILARITY}accuracy@(?P<k>\d+)", r"Success@\g<k>"),
    (rf"{_SIMILARITY}(?P<name>ndcg|mrr|precision|recall)@(?P<k>\d+)", r"\g<name>@\g<k>"),
)

_SYNONYM_NAMES = {
    "RR": "recip_rank reciprocal_rank mean_reciprocal_rank",
    "AP": "average_precision mean_average_precision",
    "Rprec": "r_precision",
    "RelP": "r_cap recall_cap capped_recall",
    "Success": "hit hit_rate hr hit_ratio hitratio",
    "AP11": "11pt_avg",
    "ExactMatch": "exact_match",
}

SYNONYMS: dict[str, tuple[str, dict[str, str]]] = {
    **{name: (measure, {}) for measure, names in _SYNONYM_NAMES.items() for name in names.split()},
    "ndcg_burges": ("nDCG", {"gains": "exponential"}),
    "dcg_burges": ("DCG", {"gains": "exponential"}),
}
"""Measures and parameters by the name in other programs, in lower case and without a cutoff."""

_AT_CUTOFF = r"@0*(?P<k>[1-9]\d*)"
_PARAMETERS = r"(?:\((?P<p>.*)\))?"
_LINEAR_GAINS = "gains='linear'"

_NUMBER = r"(?P<x>\d+(?:\.\d+)?)"

_PROGRAM_FORMS: dict[str, Forms] = {
    "ndeval": (
        (rf"(?P<n>n?)ERR-IA{_AT_CUTOFF}", r"\g<n>ERR_IA@\g<k>"),
        (rf"alpha-(?P<n>n?)DCG{_AT_CUTOFF}", r"alpha_\g<n>DCG@\g<k>"),
        (r"(?P<n>n?)NRBP", r"\g<n>NRBP"),
        (r"MAP-IA", r"AP_IA"),
        (rf"P-IA{_AT_CUTOFF}", r"P_IA@\g<k>"),
        (rf"strec{_AT_CUTOFF}", r"StRecall@\g<k>"),
    ),
    "gdeval": (
        (rf"ndcg{_AT_CUTOFF}", r"nDCG(gains='exponential')@\g<k>"),
        (rf"err{_AT_CUTOFF}", r"ERR(max_grade=4)@\g<k>"),
    ),
    "ntcireval": (
        (r"Q-measure", r"Q"),
        (r"(?P<name>[OP])-measure", r"\g<name>Measure"),
        (r"P-plus", r"PPlus"),
        (r"NCUgu,(?P<u>P|BR)", r"NCU(stopping='graded', utility='\g<u>')"),
        (r"NCUrb,(?P<u>P|BR)", r"NCU(utility='\g<u>')"),
        (r"RBP", r"RBP(gains='graded', p=0.95)"),
        (rf"RBP{_AT_CUTOFF}", r"RBP(gains='graded', p=0.95)@\g<k>"),
        (r"(?P<name>n?ERR)", rf"\g<name>({_LINEAR_GAINS})"),
        (rf"(?P<name>n?ERR){_AT_CUTOFF}", rf"\g<name>({_LINEAR_GAINS})@\g<k>"),
        (rf"AP{_AT_CUTOFF}", r"AP(denominator='min')@\g<k>"),
        (rf"nDCG{_AT_CUTOFF}", r"nDCG(discount='max(1,log2(rank))')@\g<k>"),
        (rf"MSnDCG{_AT_CUTOFF}", r"nDCG@\g<k>"),
        (rf"Hit{_AT_CUTOFF}", r"Success@\g<k>"),
        (rf"(?P<name>Q|P|EBR){_AT_CUTOFF}", r"\g<name>@\g<k>"),
        (r"I-rec@n", r"StRecall(upto='intents')"),
        (rf"I-rec{_AT_CUTOFF}", r"StRecall@\g<k>"),
    ),
    "cwl": (
        (rf"(?P<name>P){_AT_CUTOFF}", r"EU(P@\g<k>)"),
        (r"(?P<name>RR|AP)", r"EU(\g<name>)"),
        (rf"RBP@{_NUMBER}", r"EU(RBP(p=\g<x>), depth=1000)"),
        (rf"NDCG-k{_AT_CUTOFF}", r"EU(SDCG@\g<k>)"),
        (rf"(?P<name>INST|INSQ)-T={_NUMBER}", r"EU(\g<name>(T=\g<x>, depth=1000))"),
        (r"NERR-EQ(?P<name>[89])@k=(?P<k>\d+)", r"EU(NERR\g<name>@\g<k>)"),
        (rf"NERR-EQ10@phi={_NUMBER}", r"EU(NERR10(p=\g<x>))"),
        (rf"NERR-EQ11@T={_NUMBER}", r"EU(NERR11(T=\g<x>))"),
        (rf"BPM-Static-T={_NUMBER}-K=(?P<k>[\d.]+)", r"EU(BPM(T=\g<x>, K=\g<k>))"),
        (
            rf"BPM-Dynamic-T={_NUMBER}-K=(?P<k>[\d.]+)-hb=(?P<hb>[\d.]+)-hc=[\d.]+",
            r"EU(BPMDynamic(T=\g<x>, K=\g<k>, hb=\g<hb>, hc=0))",
        ),
        (rf"TBG-H@{_NUMBER}", r"EU(TBG(h=\g<x>))"),
        (rf"U-L@{_NUMBER}", r"EU(U(L=\g<x>))"),
    ),
}

_IR_MEASURES_FORMS: Forms = (
    (rf"ERR{_PARAMETERS}@(?P<k>\d+)", r"ERR(max_grade=4,\g<p>)@\g<k>"),
    (rf"(INST|INSQ){_PARAMETERS}", r"EU(\1(\g<p>),depth=1000)"),
    (rf"(RBP){_PARAMETERS}", r"EU(\1(\g<p>),depth=1000)"),
    (rf"(SDCG|NERR8|NERR9|NERR10|NERR11){_PARAMETERS}(?P<at>@\d+)?", r"EU(\1(\g<p>)\g<at>)"),
    (rf"BPM{_PARAMETERS}@(?P<k>\d+)", r"EU(BPM(\g<p>, K=\g<k>))"),
)

_DEFAULT_NAMES = {
    "ndeval": """
        ERR-IA@5 ERR-IA@10 ERR-IA@20 nERR-IA@5 nERR-IA@10 nERR-IA@20
        alpha-DCG@5 alpha-DCG@10 alpha-DCG@20 alpha-nDCG@5 alpha-nDCG@10 alpha-nDCG@20
        NRBP nNRBP MAP-IA P-IA@5 P-IA@10 P-IA@20 strec@5 strec@10 strec@20
    """,
    "gdeval": "ndcg@20 err@20",
    "ntcireval": """
        RR O-measure P-measure P-plus AP Q-measure NCUgu,P NCUgu,BR NCUrb,P NCUrb,BR RBP ERR EBR
        AP@1000 Q@1000 nDCG@1000 MSnDCG@1000 P@1000 RBP@1000 ERR@1000 nERR@1000 EBR@1000 Hit@1000
    """,
    "cwl": """
        P@1 P@5 P@10 P@20 RBP@0.2 RBP@0.4 RBP@0.6 RBP@0.8 RBP@0.9 NDCG-k@5 NDCG-k@10 NDCG-k@20
        RR AP INST-T=1 INST-T=2 INST-T=3 INSQ-T=1 INSQ-T=2 INSQ-T=3 BPM-Static-T=1-K=1000
    """,
}
"""Names of the measures that each program reports by default."""

_NO_SATISFACTION = (
    "the {} model has no satisfaction probability, so its expected reciprocal rank is undefined;"
    " use {}, the expected gain of clicked documents"
)

_REASONS = {
    "rrUBM": _NO_SATISFACTION.format("user browsing", "uUBM"),
    "rrPBM": _NO_SATISFACTION.format("position-based", "uPBM"),
    "hits": (
        "Success@k is 1 if a relevant document is in the top k (hit rate), and NumRelRet@k is the"
        " number of relevant documents in the top k"
    ),
    "p_mrr pmrr": (
        "it compares the ranks of documents whose relevance changes between two instructions"
        " (FollowIR), so it is not a score of one run; evaluate the runs for both instructions and"
        " `compare` them"
    ),
    "accuracy acc": "Success@k is 1 if a relevant document is in the top k",
    "mean_rank mr medr median_rank medianrank": (
        "FirstRank@k is the rank of the first relevant document; its mean over topics is the mean"
        " rank, and `compare --as summary`, or the function `summarise`, reports its median"
    ),
    "c": "Complete@k is 1 if all relevant documents are in the top k",
    "cg": "use gP@k, the gain of the top k divided by the highest possible gain, or DCG@k",
    "rouge": (
        "RougeN, RougeL, RougeLsum, RougeS and RougeSU score summaries against reference texts"
        " (`cranfield answers --references`, evaluate_answers)"
    ),
    "bleu meteor chrf bertscore bert_score faithfulness groundedness": (
        "cranfield does not compute it; compute its scores by topic with another program, and pass"
        " them to `compare --scores`"
    ),
    "token_f1 squad_f1": (
        "RougeN(of='F') is the F-measure of the words in common with a reference; with"
        " tokeniser='squad' it is the F1 of SQuAD"
    ),
    "hole": "Unjudged@k is the proportion of documents without a judgment for their topic",
    "f_measure f_score f1_score fscore fmeasure": (
        "F@k combines P@k and R@k; SetF is the F-measure of all retrieved documents"
    ),
}

UNSUPPORTED_NAMES = {
    **{name: reason for names, reason in _REASONS.items() for name in names.split()},
    **{
        program: f"use compat={program!r}, with which this name selects the measures of {program}"
        for program in _DEFAULT_NAMES
    },
}
"""Explanations for plausible names that are not measures, by name in lower case."""


def rewrite_paper_name(text: str) -> str:
    """Rewrite a name from the literature as a text form; return any other text unchanged."""
    return _rewrite(_PAPER_FORMS, text, re.IGNORECASE)


def rewrite_ir_measures(text: str) -> str:
    """Rewrite the text of a measure of ir_measures if it denotes a different measure here."""
    match = re.fullmatch(r"SetF\((?P<before>.*)beta=(?P<beta>[\d.]+)(?P<after>.*)\)", text)
    if match:
        # In ir_measures, as in trec_eval, beta is the weight of recall, the square of beta here.
        return f"SetF({match['before']}beta={sqrt(float(match['beta']))}{match['after']})"
    text = re.sub(r"\bmax_rel=(\d+)", r"gains='graded',max_grade=\1", text)
    return _rewrite(_IR_MEASURES_FORMS, text)


def translate_program_name(program: str | None, text: str) -> list[str]:
    """Return the text forms of a name of a program, such as `ndeval`; keep any other text."""
    if program not in _PROGRAM_FORMS:
        return [text]
    text = text.strip()
    names = _DEFAULT_NAMES[program].split() if text == program else [text]
    return [_rewrite(_PROGRAM_FORMS[program], name) for name in names]


_MAX_GAIN_MEASURES = {"RBP", "ERR", "nERR", "EBR"}
"""Measures of NTCIREVAL that depend on the highest gain."""

_GAIN_MEASURES = {"Q", "OMeasure", "PMeasure", "PPlus", "NCU", "nDCG", *_MAX_GAIN_MEASURES}
"""Measures of NTCIREVAL that depend on gains."""


def split_gains(program: str | None, text: str) -> tuple[str, tuple[float, ...]]:
    """Split `NAME -g 1:2:3`, as in options of `ntcir_eval compute`, into name and gains."""
    match = re.fullmatch(r"\s*(?P<name>[^\s()]+)\s+-g\s+(?P<gains>\S+)\s*", text)
    if program != "ntcireval" or not match:
        return text, ()
    try:
        gains = tuple(float(gain) for gain in match["gains"].split(":"))
    except ValueError:
        gains = ()
    if not (gains and all(0 < gain <= 1e15 for gain in gains)):
        raise MeasureError(
            "-g must be numbers above 0 and at most 1e15, separated by colons: the gains of grades"
            f" 1, 2, ..., such as 1:2:3, got {quote(match['gains'])}"
        )
    return match["name"], gains


def set_gains(measure: Measure, gains: tuple[float, ...]) -> Measure:
    """Set the gains of grades 1, 2, ... and the highest grade where the measure uses them."""
    if measure.name not in _GAIN_MEASURES:
        return measure
    is_linear = gains == tuple(range(1, len(gains) + 1))
    if not is_linear:
        divisor = max(gains) if measure.name == "RBP" else 1.0
        measure = measure(gains={grade: gain / divisor for grade, gain in enumerate(gains, 1)})
    if measure.name in _MAX_GAIN_MEASURES and (is_linear or measure.name != "RBP"):
        measure = measure(max_grade=len(gains))
    return measure


def rewrite_ignoring_case(program: str | None, text: str) -> str:
    """Rewrite a name of a program, ignoring case; return any other text unchanged."""
    return _rewrite(_PROGRAM_FORMS.get(program or "", ()), text, re.IGNORECASE)


def _rewrite(forms: Forms, text: str, flags: int = 0) -> str:
    for pattern, form in forms:
        if match := re.fullmatch(pattern, text, flags):
            return match.expand(form)
    return text


CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_LEVELS = tuple(f"{i / 10:.2f}" for i in range(11))
_MULTIPLES = tuple(f"{i / 5:.2f}" for i in range(1, 11))

_SINGLE_NAMES = """
    num_q=NumQ num_ret=NumRet num_rel=NumRel num_rel_ret=NumRelRet map=AP gm_map=GMAP Rprec=Rprec
    bpref=Bpref recip_rank=RR infAP=infAP gm_bpref=GMBpref utility=Utility 11pt_avg=AP11 binG=binG
    G=G ndcg=nDCG dcg=DCG ndcg_rel=nDCGrel Rndcg=RnDCG set_P=SetP set_relative_P=SetRelP
    set_recall=SetR set_map=SetAP set_F=SetF num_nonrel_judged_ret=NumNonrelRet
"""

SINGLE_MEASURES: dict[str, str] = {
    **dict(pair.split("=") for pair in _SINGLE_NAMES.split()),
    "rbp": "RBP(gains='graded', p=0.9)",
    "rbp_resid": "RBPResidual(p=0.9)",
}
"""Text forms of names of trec_eval without a parameter."""

CutoffForm = tuple[tuple[str, ...], Callable[[str], float], str]

CUTOFF_FORMS: dict[str, CutoffForm] = {
    "iprec_at_recall": (_LEVELS, float, "IPrec@{}"),
    "P": (CUTOFFS, int, "P@{}"),
    "recall": (CUTOFFS, int, "R@{}"),
    "Rprec_mult": (_MULTIPLES, float, "Rprec(multiple={})"),
    "ndcg_cut": (CUTOFFS, int, "nDCG@{}"),
    "map_cut": (CUTOFFS, int, "AP@{}"),
    "relative_P": (CUTOFFS, int, "RelP@{}"),
    "success": (("1", "5", "10"), int, "Success@{}"),
    "unj": (("5", "10", "20"), int, "Unjudged@{}"),
}
"""Names of trec_eval with a list of values: the default values, their type, and the text form."""

_COUNT_NAMES = ("num_q", "num_ret", "num_rel", "num_rel_ret")
_ALL_TREC_NAMES = """
    map gm_map Rprec bpref recip_rank iprec_at_recall P recall infAP gm_bpref Rprec_mult utility
    11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P set_relative_P
    set_recall set_map set_F num_nonrel_judged_ret
"""
_SET_NAMES = "utility set_P set_relative_P set_recall set_map set_F"
_OFFICIAL_NAMES = "map gm_map Rprec bpref recip_rank iprec_at_recall P"

NICKNAMES: dict[str, tuple[str, ...]] = {
    "all_trec": (*_COUNT_NAMES, *_ALL_TREC_NAMES.split()),
    "official": (*_COUNT_NAMES, *_OFFICIAL_NAMES.split()),
    "set": (*_COUNT_NAMES, *_SET_NAMES.split()),
}
"""Names of trec_eval that stand for several names."""


def translate_trec_name(text: str, compat: str | None = None) -> list[str] | None:
    """Return the text forms for a name of trec_eval, such as `P.5,10` or `all_trec`, or None."""
    if text in NICKNAMES:
        names = NICKNAMES[text]
        if text == "all_trec" and compat == "trec_eval-10":
            names += ("rbp", "rbp_resid", "unj")
        return [form for name in names for form in translate_trec_name(name) or []]
    if text in SINGLE_MEASURES:
        return [SINGLE_MEASURES[text]]
    try:
        return _translate_parametric_name(text)
    except MeasureError:
        raise
    except (ValueError, OverflowError):
        raise MeasureError(
            f"expected valid parameters of a name of trec_eval, such as P_5,10 or"
            f" utility_1,-1,0,0, got {quote(text)}"
        ) from None


def _translate_parametric_name(text: str) -> list[str] | None:
    """Return the text forms for a name of trec_eval with cutoffs or other parameters, or None."""
    if text in CUTOFF_FORMS:
        cutoffs, convert, form = CUTOFF_FORMS[text]
        return [form.format(convert(cutoff)) for cutoff in cutoffs]
    match = re.fullmatch(r"([A-Za-z_][A-Za-z_]*?|11pt_avg)[_.]([-+0-9.,=]+)", text)
    if not match:
        return None
    name, values = match[1], match[2]
    if name in CUTOFF_FORMS:
        _, convert, form = CUTOFF_FORMS[name]
        return [form.format(convert(cutoff)) for cutoff in values.split(",")]
    if name == "set_F":
        # The parameter of trec_eval is the weight of recall, which is the square of beta.
        return [f"SetF(beta={sqrt(float(values))})"]
    if name == "utility":
        a, b, c, d = map(float, values.split(","))
        return [f"Utility(a={a}, b={b}, c={c}, d={d})"]
    if name in {"ndcg", "ndcg_rel", "Rndcg", "G"} and "=" in values:
        pairs = (pair.split("=") for pair in values.split(","))
        gains = {int(grade): float(gain) for grade, gain in pairs}
        return [f"{SINGLE_MEASURES[name]}(gains={gains})"]
    if name == "rbp" and re.fullmatch("0*[1-9][0-9]*", values):
        # The gain of ranx is the grade itself, so its scores may be above 1.
        raise MeasureError(
            f"{quote(text)} is a measure of ranx that cranfield computes only for grades 0 and 1,"
            f" as RBP(p=0.{values})"
        )
    if name == "rbp":
        p = float(values.removeprefix("="))
        return [f"RBP(gains='graded', p={p})"] if isfinite(p) else None
    return None


def restore_case(text: str) -> str:
    """Restore the case of a name of trec_eval with a number: `ndcg_cut_10` for `NDCG_CUT_10`."""
    # A name without a number is unchanged, as it may be the name of a measure here.
    match = re.fullmatch(r"([A-Za-z_][A-Za-z_]*?|11pt_avg)([_.][-+0-9.,=]+)", text)
    if match is None:
        return text
    names = [name for name in CUTOFF_FORMS if name.lower() == match[1].lower()]
    return f"{names[0]}{match[2]}" if len(names) == 1 else text


_RECALL_LEVEL_MEASURES = ("IPrec", "AP11")


def set_rounding(measure: Measure, compat: str | None) -> Measure:
    """With `compat`, set the rounding of levels of recall: of trec_eval-10, or else trec_eval-9."""
    if compat and measure.name in _RECALL_LEVEL_MEASURES:
        return measure(rounding="trec_eval-10" if compat == "trec_eval-10" else "trec_eval-9")
    return measure


_TREC_NAMES = {form: name for name, form in SINGLE_MEASURES.items()}


def find_trec_name(measure: Measure, rel: int = 1) -> str:
    """Return the name of a measure in trec_eval; if there is none, its text form.

    `rel` is the lowest relevant grade (option -l of trec_eval) that all requested measures share;
    names in trec_eval do not include it. If it is not 1, a measure with another lowest relevant
    grade gets its label.
    """
    default = measure
    if rel != 1 and hasattr(measure, "rel"):
        if measure.rel != rel:
            return measure.label
        default = measure(rel=1)
    if default.name in _RECALL_LEVEL_MEASURES:
        default = default(rounding="up")
    return _TREC_NAMES.get(str(default)) or _find_parametric_name(default) or str(measure)


def _find_parametric_name(measure: Measure) -> str | None:
    """Return the name of trec_eval for a measure with parameters, or None."""
    parameters = vars(measure)
    if measure.name == "IPrec" and parameters["recall"] is not None:
        default, name = measure(recall=None), f"iprec_at_recall_{parameters['recall']:.2f}"
    elif measure.name == "Rprec" and parameters["multiple"] is not None:
        default, name = measure(multiple=None), f"Rprec_mult_{parameters['multiple']:.2f}"
    elif measure.name == "Utility":
        coefficients = ",".join(format_short(parameters[letter]) for letter in "abcd")
        default, name = measure(a=1, b=-1, c=0, d=0), f"utility_{coefficients}"
    elif measure.name == "SetF":
        default, name = measure(beta=1), f"set_F_{parameters['beta'] ** 2:g}"
    elif measure.cutoff is not None:
        stems = {form.format(7): stem for stem, (_, _, form) in CUTOFF_FORMS.items() if "@" in form}
        stem = stems.get(str(measure(cutoff=7)))
        return stem and f"{stem}_{measure.cutoff}"
    elif isinstance(gains := getattr(parameters.get("gains"), "kind", None), tuple):
        stem = _TREC_NAMES.get(str(measure(gains="linear")))
        return stem and f"{stem}_" + ",".join(
            f"{grade}={format_short(gain)}" for grade, gain in gains
        )
    else:
        return None
    return name if str(default) == default.name else None
