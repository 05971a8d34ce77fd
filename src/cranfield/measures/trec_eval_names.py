"""The names of trec_eval: read as text forms of measures, and written for measures."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite, sqrt

from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.base import Measure
from cranfield.measures.parameters import short

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_LEVELS = tuple(f"{i / 10:.2f}" for i in range(11))
_MULTIPLES = tuple(f"{i / 5:.2f}" for i in range(1, 11))

SINGLE: dict[str, str] = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map": "AP",
    "gm_map": "GMAP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "gm_bpref": "GMBpref",
    "utility": "Utility",
    "11pt_avg": "AP11",
    "binG": "binG",
    "G": "G",
    "ndcg": "nDCG",
    "dcg": "DCG",
    "ndcg_rel": "nDCGrel",
    "Rndcg": "RnDCG",
    "set_P": "SetP",
    "set_relative_P": "SetRelP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "num_nonrel_judged_ret": "NumNonrelRet",
    "rbp": "RBP(gains='graded', p=0.9)",
    "rbp_resid": "RBPResidual(p=0.9)",
}
"""Names without a parameter."""

Family = tuple[tuple[str, ...], Callable[[str], float], str]

FAMILIES: dict[str, Family] = {
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
"""Names with a list of cutoffs: the cutoffs when none is given, their type, and the text form."""

_COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret")
_NEW_IN_10 = ("rbp", "rbp_resid", "unj")
_ALL = """
    map gm_map Rprec bpref recip_rank iprec_at_recall P recall infAP gm_bpref Rprec_mult utility
    11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P set_relative_P
    set_recall set_map set_F num_nonrel_judged_ret
"""
_SET = "utility set_P set_relative_P set_recall set_map set_F"
_OFFICIAL = "map gm_map Rprec bpref recip_rank iprec_at_recall P"

NICKNAMES: dict[str, tuple[str, ...]] = {
    "all_trec": (*_COUNTS, *_ALL.split()),
    "official": (*_COUNTS, *_OFFICIAL.split()),
    "set": (*_COUNTS, *_SET.split()),
}
"""Names that stand for many measures."""


def trec_texts(text: str, compat: str | None = None) -> list[str] | None:
    """Read a name of trec_eval, such as `map`, `P_10`, `P.5,10` or `all_trec`; None for others.

    The preset `trec_eval-10` adds the measures of version 10 to `all_trec`.
    """
    if text in NICKNAMES:
        names = NICKNAMES[text]
        if text == "all_trec" and compat == "trec_eval-10":
            names += _NEW_IN_10
        return [one for name in names for one in trec_texts(name) or []]
    if text in SINGLE:
        return [SINGLE[text]]
    try:
        return _with_parameters(text)
    except MeasureError:
        raise
    except (ValueError, OverflowError):
        raise MeasureError(f"{quoted(text)} has a parameter that is no number") from None


def _with_parameters(text: str) -> list[str] | None:
    if text in FAMILIES:
        cutoffs, number, form = FAMILIES[text]
        return [form.format(number(at)) for at in cutoffs]
    found = re.fullmatch(r"([A-Za-z_][A-Za-z_]*?|11pt_avg)[_.]([-+0-9.,=]+)", text)
    if not found:
        return None
    name, rest = found[1], found[2]
    if name in FAMILIES:
        _, number, form = FAMILIES[name]
        return [form.format(number(at)) for at in rest.split(",")]
    if name == "set_F":
        # trec_eval weighs recall by its parameter, the F-measure by the square of beta.
        return [f"SetF(beta={sqrt(float(rest))})"]
    if name == "utility":
        a, b, c, d = (float(part) for part in rest.split(","))
        return [f"Utility(a={a}, b={b}, c={c}, d={d})"]
    if name in {"ndcg", "ndcg_rel", "Rndcg", "G"} and "=" in rest:
        pairs = (pair.split("=") for pair in rest.split(","))
        gains = {int(grade): float(gain) for grade, gain in pairs}
        return [f"{SINGLE[name]}(gains={gains})"]
    if name == "rbp" and re.fullmatch("0*[1-9][0-9]*", rest):
        # With grades, ranx takes the grade itself as gain, and scores may be above 1.
        raise MeasureError(
            f"{quoted(text)} is a name of ranx: RBP(p=0.{rest}) is the same for grades 0 and 1"
        )
    if name == "rbp":
        p = float(rest.removeprefix("="))
        return [f"RBP(gains='graded', p={p})"] if isfinite(p) else None
    return None


def in_its_case(text: str) -> str:
    """Write a name of trec_eval with a number as trec_eval does: `ndcg_cut_10` for `NDCG_CUT_10`.

    A name without a number comes back as it is, since measures are called so too.
    """
    found = re.fullmatch(r"([A-Za-z_][A-Za-z_]*?|11pt_avg)([_.][-+0-9.,=]+)", text)
    known = [] if not found else [one for one in FAMILIES if one.lower() == found[1].lower()]
    return f"{known[0]}{found[2]}" if found and len(known) == 1 else text


def rounded(one: Measure, compat: str | None) -> Measure:
    if compat and one.name in _LEVELLED:
        return one(rounding="trec_eval-10" if compat == "trec_eval-10" else "trec_eval-9")
    return one


_LEVELLED = ("IPrec", "AP11")
_NAME_OF = {form: name for name, form in SINGLE.items()}


def trec_name(one: Measure, rel: int = 1) -> str:
    """Name a measure as trec_eval prints it; its own text form where trec_eval has no name.

    `rel` is the lowest relevant grade that all measures were asked for (trec_eval's -l), which is
    not part of a name.
    """
    plain = one
    if rel != 1 and hasattr(one, "rel"):
        if one.rel != rel:
            return one.label
        plain = one(rel=1)
    if plain.name in _LEVELLED:
        plain = plain(rounding="up")
    return _NAME_OF.get(str(plain)) or _name_with_parameters(plain) or str(one)


def _name_with_parameters(plain: Measure) -> str | None:
    known = vars(plain)
    if plain.name == "IPrec" and known["recall"] is not None:
        same, name = plain(recall=None), f"iprec_at_recall_{known['recall']:.2f}"
    elif plain.name == "Rprec" and known["multiple"] is not None:
        same, name = plain(multiple=None), f"Rprec_mult_{known['multiple']:.2f}"
    elif plain.name == "Utility":
        prices = ",".join(short(known[price]) for price in "abcd")
        same, name = plain(a=1, b=-1, c=0, d=0), f"utility_{prices}"
    elif plain.name == "SetF":
        same, name = plain(beta=1), f"set_F_{known['beta'] ** 2:g}"
    elif plain.cutoff is not None:
        families = {form.format(7): name for name, (_, _, form) in FAMILIES.items() if "@" in form}
        found = families.get(str(plain(cutoff=7)))
        return found and f"{found}_{plain.cutoff}"
    elif isinstance(gains := getattr(known.get("gains"), "kind", None), tuple):
        found = _NAME_OF.get(str(plain(gains="linear")))
        return found and f"{found}_" + ",".join(f"{grade}={short(gain)}" for grade, gain in gains)
    else:
        return None
    return name if str(same) == same.name else None
