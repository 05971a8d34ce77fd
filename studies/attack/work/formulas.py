"""Measures at random, each with its formula from the naive reference implementation."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from math import log
from typing import Any

ref: Any = importlib.import_module("tests.reference")

Ranking = list[int | None]
Formula = Callable[[Ranking, list[int], int], float]
"""From the ranking, the grades of the topic, and the highest grade of all judgments."""

EASY_OF = {"SetP": "set_precision", "SetR": "set_recall", "SetRelP": "set_rel_precision"}
EASY_OF |= {"SetAP": "set_ap", "NumRelRet": "num_rel_ret", "NumNonrelRet": "num_nonrel_judged_ret"}
EASY_OF |= {"infAP": "inf_ap", "binG": "bin_g", "RR": "rr", "Success": "success"}
OTHERS = (
    *("P", "R", "RelP", "AP", "Rprec", "IPrec", "AP11", "Bpref", "nDCG", "DCG", "nDCGrel", "RnDCG"),
    *("G", "RBP", "RBPResidual", "ERR", "nERR", "SetF", "SetE", "Utility", "NumRet", "NumRel"),
    *("NumQ", "Judged", "Unjudged", "GMAP", "GMBpref"),
)
NAMES = (*EASY_OF, *OTHERS)


def some_measure(rng: random.Random) -> tuple[str, Formula, bool]:
    """Choose a measure: its text, its formula, whether on condensed lists."""
    k: int | None = rng.choice((1, 2, 3, 5, 10, 100))
    rel = rng.choice((1, 1, 1, 0, 2, 3))
    name = rng.choice(NAMES)
    required = {"P", "R", "RelP", "IPrec", "Unjudged", "Success"}
    if name in {"IPrec", "Rprec", "NumQ", "NumRel"} or (
        name not in required and rng.random() < 0.5
    ):
        k = None
    params: dict[str, Any] = {} if rel == 1 else {"rel": rel}
    make = _MAKERS.get(name, _easy)
    formula, at = make(rng, name, k, rel, params)
    condensed = rng.random() < 0.2
    if condensed:
        params["judged_only"] = True
    inside = ", ".join(f"{key}={value!r}" for key, value in params.items())
    text = name + (f"({inside})" if inside else "") + ("" if at is None else f"@{at}")

    def cut(ranking: Ranking, grades: list[int], highest: int) -> float:
        return float(formula(ref.top(ranking, k), grades, highest))

    return text, cut, condensed


def _easy(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    if name == "NumNonrelRet":
        # What counts as judged is settled before: a grade that does not is None in the ranking.
        return (lambda r, g, h: sum(one is not None and one < rel for one in r)), k
    function = getattr(ref, EASY_OF[name])
    return (lambda r, g, h: function(r, g, rel=rel)), k


def _cutoff(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    function = getattr(ref, {"P": "precision", "R": "recall", "RelP": "rel_precision"}[name])
    return (lambda r, g, h: function(r, g, k=k, rel=rel)), k


def _ap(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["denominator"] = rng.choice(("R", "min"))
    return (lambda r, g, h: ref.ap(r, g, k=k, rel=rel, denominator=params["denominator"])), k


def _rprec(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    multiple = rng.choice((1.0, 0.2, 0.6, 1.4, 2.0, rng.random() * 3 + 1e-3))
    params["multiple"] = multiple
    return (lambda r, g, h: ref.rprec(r, g, multiple=multiple, rel=rel)), None


def _iprec(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["rounding"] = how = rng.choice(("up", "trec_eval-9", "trec_eval-10"))
    if name == "AP11":
        return (lambda r, g, h: ref.ap11(r, g, rounding=how, rel=rel)), k
    level = rng.choice(
        (rng.randrange(11) / 10, rng.randrange(101) / 100, rng.random(), 0.5000000001)
    )
    return (lambda r, g, h: ref.iprec(r, g, recall=level, rounding=how, rel=rel)), level


def _bpref(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["form"] = form = rng.choice(("trec_eval", "R", "N"))
    return (lambda r, g, h: ref.bpref(r, g, form=form, rel=rel)), k


def _gains(rng: random.Random, params: dict[str, Any]) -> Callable[[int], float]:
    how = rng.choice(("linear", "exponential", "mapping"))
    if how == "mapping":
        table = {grade: rng.choice((0, 0.5, 1, 2.25, 7)) for grade in rng.sample(range(5), 3)}
        params["gains"] = table
        return lambda grade: float(table.get(grade, grade))
    params["gains"] = how
    return float if how == "linear" else lambda grade: 2.0**grade - 1


def _dcg(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    gain = _gains(rng, params)
    base = rng.choice((2, 10, 3, 2.5))
    form = rng.choice(("log{}(rank+1)", "max(1,log{}(rank))", "1+log{}(rank)"))
    params["discount"] = form.format(base)
    discount: Callable[[int], float] = {
        "log{}(rank+1)": lambda rank: log(rank + 1) / log(base),
        "max(1,log{}(rank))": ref.max_log_discount(base),
        "1+log{}(rank)": ref.one_plus_log_discount(base),
    }[form]
    if name == "DCG":
        return (lambda r, g, h: ref.dcg(r, g, gain=gain, discount=discount)), k
    params["ideal"] = ideal = rng.choice(("cut", "full"))
    return (lambda r, g, h: ref.ndcg(r, g, k=k, gain=gain, discount=discount, ideal=ideal)), k


def _gained(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    gain = _gains(rng, params)
    function = {"nDCGrel": ref.ndcg_rel, "RnDCG": ref.rndcg, "G": ref.big_g}[name]
    return (lambda r, g, h: function(r, g, gain=gain)), k


def _rbp(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["p"] = p = rng.choice((0.5, 0.8, 0.95, rng.uniform(0.01, 0.99)))
    if name == "RBPResidual":
        params.pop("rel", None)
        params["part"] = part = rng.choice(("tail", "unjudged", "total"))
        return (lambda r, g, h: ref.rbp_residual(r, g, p=p, part=part)), k
    if rng.random() < 0.5:
        return (lambda r, g, h: ref.rbp(r, g, p=p, gain=lambda x: float(x >= rel))), k
    params["gains"] = "graded"
    return (lambda r, g, h: ref.rbp(r, g, p=p, gain=lambda x: x / max(h, 1))), k


def _err(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    fixed = rng.choice((None, None, 5, 12))
    if fixed:
        params["max_grade"] = fixed
    function = ref.err if name == "ERR" else ref.nerr
    return (lambda r, g, h: function(r, g, max_grade=fixed or max(h, 1), k=k)), k


def _set_f(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["beta"] = beta = rng.choice((0, 0.5, 1, 2, 3.7))
    function = ref.set_f if name == "SetF" else ref.set_e
    return (lambda r, g, h: function(r, g, beta=beta, rel=rel)), k


def _utility(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    prices = {letter: rng.choice((-2.5, -1, 0, 1, 3)) for letter in "abcd"} | {"docs": 1000}
    params |= prices
    return (lambda r, g, h: ref.utility(r, g, rel=rel, **prices)), k


def _count(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    if name == "NumRel":
        return (lambda r, g, h: ref.num_rel(r, g, rel=rel)), None
    params.pop("rel", None)
    if name == "Unjudged":
        return (lambda r, g, h: ref.unjudged_at(r, g, k=k)), k
    function = {"NumRet": ref.num_ret, "NumQ": lambda r, g: 1, "Judged": ref.judged_at}[name]
    return (lambda r, g, h: function(r, g)), k


_MAKERS: dict[str, Any] = dict.fromkeys(("P", "R", "RelP"), _cutoff)
_MAKERS |= {"AP": _ap, "GMAP": _ap, "Rprec": _rprec, "IPrec": _iprec, "AP11": _iprec}
_MAKERS |= {"Bpref": _bpref, "GMBpref": _bpref, "DCG": _dcg, "nDCG": _dcg, "RBP": _rbp}
_MAKERS |= dict.fromkeys(("nDCGrel", "RnDCG", "G"), _gained)
_MAKERS |= {"RBPResidual": _rbp, "ERR": _err, "nERR": _err, "SetF": _set_f, "SetE": _set_f}
_MAKERS |= {"Utility": _utility} | dict.fromkeys(
    ("NumRet", "NumRel", "NumQ", "Judged", "Unjudged"), _count
)
