"""The names of trec_eval: read as measures, and written for measures."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite, sqrt

from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.base import Measure
from cranfield.measures.gains import short
from cranfield.measures.ranked.average_precision import (
    AveragePrecision,
    ElevenPointAveragePrecision,
    GeometricAveragePrecision,
    InferredAveragePrecision,
    InterpolatedPrecision,
)
from cranfield.measures.ranked.counts import (
    NumNonrelevantRetrieved,
    NumRelevant,
    NumRelevantRetrieved,
    NumRetrieved,
    NumTopics,
    UnjudgedShare,
)
from cranfield.measures.ranked.dcg import DCG, nDCG
from cranfield.measures.ranked.dcg_variants import (
    BinaryGain,
    NormalisedGain,
    nDCGAtLevels,
    nDCGAtRelevant,
)
from cranfield.measures.ranked.precision import (
    Precision,
    Recall,
    ReciprocalRank,
    RelativePrecision,
    RPrecision,
    Success,
)
from cranfield.measures.ranked.preference import BinaryPreference, GeometricBinaryPreference
from cranfield.measures.ranked.sets import (
    FMeasure,
    SetAveragePrecision,
    SetPrecision,
    SetRecall,
    SetRelativePrecision,
    Utility,
)
from cranfield.measures.users.rank_biased import RankBiasedPrecision, RankBiasedResidual

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_LEVELS = tuple(f"{i / 10:.2f}" for i in range(11))
_MULTIPLES = tuple(f"{i / 5:.2f}" for i in range(1, 11))

SINGLE: dict[str, Callable[[], Measure]] = {
    "num_q": NumTopics,
    "num_ret": NumRetrieved,
    "num_rel": NumRelevant,
    "num_rel_ret": NumRelevantRetrieved,
    "map": AveragePrecision,
    "gm_map": GeometricAveragePrecision,
    "Rprec": RPrecision,
    "bpref": BinaryPreference,
    "recip_rank": ReciprocalRank,
    "infAP": InferredAveragePrecision,
    "gm_bpref": GeometricBinaryPreference,
    "utility": Utility,
    "11pt_avg": ElevenPointAveragePrecision,
    "binG": BinaryGain,
    "G": NormalisedGain,
    "ndcg": nDCG,
    "dcg": DCG,
    "ndcg_rel": nDCGAtRelevant,
    "Rndcg": nDCGAtLevels,
    "set_P": SetPrecision,
    "set_relative_P": SetRelativePrecision,
    "set_recall": SetRecall,
    "set_map": SetAveragePrecision,
    "set_F": FMeasure,
    "num_nonrel_judged_ret": NumNonrelevantRetrieved,
    "rbp": lambda: RankBiasedPrecision(p=0.9, gains="graded"),
    "rbp_resid": lambda: RankBiasedResidual(p=0.9),
}
"""Names without a parameter."""

FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[str], Measure]]] = {
    "iprec_at_recall": (_LEVELS, lambda at: InterpolatedPrecision(recall=float(at))),
    "P": (CUTOFFS, lambda at: Precision(cutoff=int(at))),
    "recall": (CUTOFFS, lambda at: Recall(cutoff=int(at))),
    "Rprec_mult": (_MULTIPLES, lambda at: RPrecision(multiple=float(at))),
    "ndcg_cut": (CUTOFFS, lambda at: nDCG(cutoff=int(at))),
    "map_cut": (CUTOFFS, lambda at: AveragePrecision(cutoff=int(at))),
    "relative_P": (CUTOFFS, lambda at: RelativePrecision(cutoff=int(at))),
    "success": (("1", "5", "10"), lambda at: Success(cutoff=int(at))),
    "unj": (("5", "10", "20"), lambda at: UnjudgedShare(cutoff=int(at))),
}
"""Names with a list of cutoffs: the cutoffs when none is given, and the measure at one."""

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


def trec_measures(text: str, compat: str | None = None) -> list[Measure] | None:
    """Read a name of trec_eval; None when it is not one.

    Parameters
    ----------
    text
        Such as `map`, `P_10`, `P.5,10`, `ndcg_cut_10`, `all_trec`.
    compat
        The preset whose rounding of recall levels applies; `trec_eval-10` also adds the measures
        of version 10 to `all_trec`.

    Examples
    --------
    >>> trec_measures("P.5,10"), trec_measures("nDCG@10")
    ([P@5, P@10], None)
    """
    if text in NICKNAMES:
        names = NICKNAMES[text]
        if text == "all_trec" and compat == "trec_eval-10":
            names += _NEW_IN_10
        found = [one for name in names for one in trec_measures(name, compat) or []]
    elif text in SINGLE:
        found = [SINGLE[text]()]
    else:
        try:
            with_at = _with_parameters(text)
        except MeasureError:
            raise
        except (ValueError, OverflowError):
            raise MeasureError(f"{quoted(text)} has a parameter that is no number") from None
        if with_at is None:
            return None
        found = with_at
    return [_rounded(one, compat) for one in found]


def _with_parameters(text: str) -> list[Measure] | None:
    if text in FAMILIES:
        cutoffs, make = FAMILIES[text]
        return [make(at) for at in cutoffs]
    found = re.fullmatch(r"([A-Za-z_][A-Za-z_]*?|11pt_avg)[_.]([-+0-9.,=]+)", text)
    if not found:
        return None
    name, rest = found[1], found[2]
    if name in FAMILIES:
        return [FAMILIES[name][1](at) for at in rest.split(",")]
    if name == "set_F":
        # trec_eval weighs recall by its parameter, the F-measure by the square of beta.
        return [FMeasure(beta=sqrt(float(rest)))]
    if name == "utility":
        a, b, c, d = (float(part) for part in rest.split(","))
        return [Utility(a=a, b=b, c=c, d=d)]
    if name in {"ndcg", "ndcg_rel", "Rndcg", "G"} and "=" in rest:
        pairs = (pair.split("=") for pair in rest.split(","))
        made = SINGLE[name]()
        return [made(gains={int(grade): float(gain) for grade, gain in pairs})]
    if name == "rbp":
        p = float(rest.removeprefix("="))
        return [RankBiasedPrecision(p=p, gains="graded")] if isfinite(p) else None
    return None


def _rounded(one: Measure, compat: str | None) -> Measure:
    """Round levels of recall as the preset's program does."""
    if compat and isinstance(one, (InterpolatedPrecision, ElevenPointAveragePrecision)):
        return one(rounding="trec_eval-10" if compat == "trec_eval-10" else "trec_eval-9")
    return one


_NAME_OF = {str(make()): name for name, make in SINGLE.items()}


def trec_name(one: Measure, rel: int = 1) -> str:
    """Name a measure as trec_eval prints it; its own text form where trec_eval has no name.

    Parameters
    ----------
    one
        The measure.
    rel
        The lowest relevant grade that all measures were asked for (trec_eval's -l), which is not
        part of a name.

    Examples
    --------
    >>> from cranfield.measures import AP, RBP, nDCG
    >>> trec_name(nDCG @ 10), trec_name(AP(rel=2), rel=2), trec_name(RBP)
    ('ndcg_cut_10', 'map', 'RBP')
    """
    plain = one
    if rel != 1 and getattr(one, "rel", None) == rel:
        plain = one(rel=1)
    if isinstance(plain, (InterpolatedPrecision, ElevenPointAveragePrecision)):
        plain = plain(rounding="up")
    return _NAME_OF.get(str(plain)) or _name_with_parameters(plain) or str(one)


def _name_with_parameters(plain: Measure) -> str | None:
    same: Measure
    if isinstance(plain, InterpolatedPrecision) and plain.recall is not None:
        same, name = plain(recall=None), f"iprec_at_recall_{plain.recall:.2f}"
    elif isinstance(plain, RPrecision) and plain.multiple is not None:
        same, name = plain(multiple=None), f"Rprec_mult_{plain.multiple:.2f}"
    elif isinstance(plain, Utility):
        prices = ",".join(short(price) for price in (plain.a, plain.b, plain.c, plain.d))
        same, name = plain(a=1, b=-1, c=0, d=0), f"utility_{prices}"
    elif isinstance(plain, FMeasure):
        same, name = plain(beta=1), f"set_F_{plain.beta**2:g}"
    elif plain.cutoff is not None:
        families = {
            str(make("7")): name for name, (_, make) in FAMILIES.items() if "_at" not in name
        }
        found = families.get(str(plain(cutoff=7)))
        return found and f"{found}_{plain.cutoff}"
    elif isinstance(gains := getattr(getattr(plain, "gains", None), "kind", None), tuple):
        found = _NAME_OF.get(str(plain(gains="linear")))
        return found and f"{found}_" + ",".join(f"{grade}={short(gain)}" for grade, gain in gains)
    else:
        return None
    return name if str(same) == same.name else None
