"""Names of measures as trec_eval 10 takes and prints them, and the measures that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quoted
from cranfield.bridges.trec_eval.preferences import PREFERENCES
from cranfield.measures.grammar import parse_measures
from cranfield.measures.trec_eval_names import FAMILIES, NICKNAMES, trec_name

if TYPE_CHECKING:
    from cranfield.measures.base import Measure

ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref"),
    *("Rprec_mult", "utility", "11pt_avg", "binG", "G", "dcg", "ndcg", "ndcg_rel", "Rndcg"),
    *("ndcg_cut", "map_cut", "relative_P", "success", "set_P", "set_relative_P", "set_recall"),
    *("set_map", "set_F", "num_nonrel_judged_ret", *PREFERENCES, "map_avgjg", "P_avgjg"),
    *("Rprec_mult_avgjg", "rbp", "rbp_resid", "unj"),
)
"""Measures in the order of their lines, whatever the order in which they are asked for."""

_ALSO = {
    "all_trec": ("runid", "relstring", "rbp", "rbp_resid", "unj"),
    "official": ("runid",),
    "set": ("runid",),
}
"""What stands for a nickname besides its names in version 9."""

_OF_GROUPS = {
    "all_prefs": ("runid", "num_q", *PREFERENCES),
    "prefs": ("runid", "num_q", *PREFERENCES),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
"""Nicknames for measures of judgments by several groups."""

_WITHOUT = {
    **dict.fromkeys(PREFERENCES, "mean"),
    **dict.fromkeys(PREFERENCES[:3], "sum"),
    **{"num_q": "topics", "runid": "text", "relstring": "text"},
}
"""Names of what is no measure here, and what makes their lines of all."""

_IN_ALL = ("runid", "num_q")
"""What needs no judgments."""

_LOWEST = 1e-5
"""What stands for 0 in a geometric mean."""


def _first(values: list[Floats]) -> Floats:
    return values[0]


@dataclass(frozen=True)
class Printed:
    """A measure as it is printed."""

    name: str
    overall: str = "mean"
    """What makes the line of all: `mean`, `sum`, `geometric`, `topics`, or `text`."""
    measures: tuple[Measure, ...] = ()
    of: Callable[[list[Floats]], Floats] = _first
    """What makes the values by topic, of those of its measures."""


def printed_lines(measures: Iterable[str], form: str, rel: int) -> list[Printed]:
    """Return what is printed of the measures that are asked for, in the order of lines.

    Raises
    ------
    MeasureError
        There is no such measure or parameter, or none of judgments of this form.
    """
    asked = _in_order(measures)
    for one in asked:
        if one not in _IN_ALL and form not in _forms_of(one):
            raise MeasureError(f"{one} is computed from {_forms_of(one)[0]}, not from {form}")
    return [one for family, given in asked.items() for one in _made(family, given, rel)]


def _in_order(measures: Iterable[str]) -> dict[str, list[str]]:
    """Return the parameters by measure, in the order of lines; those of one name are joined."""
    found: dict[str, list[str]] = {}
    for text in measures:
        name, _, parameters = text.partition(".")
        nick = NICKNAMES.get(name) or _OF_GROUPS.get(name) or (name,)
        for one in (*nick, *_ALSO.get(name, ())):
            if one not in ORDER:
                raise MeasureError(f"illegal measure {quoted(text)}")
            found.setdefault(one, []).extend(filter(None, parameters.split(",")))
    return {name: found[name] for name in ORDER if name in found}


def _made(family: str, given: list[str], rel: int) -> Iterator[Printed]:
    """Yield what is printed of a measure with these parameters."""
    name = f"{family}_{','.join(given)}" if given else family
    if family in _WITHOUT:
        yield Printed(name, _WITHOUT[family])
    elif family.endswith("_avgjg"):
        plain_name = family.removesuffix("_avgjg")
        for line in _made(plain_name, given, rel):
            yield replace(line, name=family + line.name.removeprefix(plain_name))
    elif family in FAMILIES:
        whole = FAMILIES[family][1] is int
        at = sorted((str(_whole(one)) if whole else one for one in given), key=_number)
        for one in _read([f"{family}.{','.join(at)}" if at else family], rel):
            yield Printed(trec_name(one, rel), "mean", (one,))
    elif family == "rbp_resid":
        text = f"RBPResidual(p={_persistence(given)}"
        parts = (f"{text})", f"{text}, part='unjudged')")
        # Where no document is unjudged, theirs has no tail either.
        yield Printed(name, "mean", _read(parts, rel), lambda of: np.where(of[1] > 0, of[0], 0.0))
    elif family == "rbp":
        text = f"RBP(gains='graded', max_grade='topic', p={_persistence(given)})"
        yield Printed(name, "mean", _read([text], rel))
    elif family == "11pt_avg" and given:
        levels = _read([f"iprec_at_recall.{','.join(given)}"], rel)
        yield Printed(name, "mean", levels, lambda of: np.mean(of, axis=0))
    else:
        yield _of_one(name, f"{family}.{','.join(given)}" if given else family, rel)


def _of_one(name: str, text: str, rel: int) -> Printed:
    (one,) = _read([text], rel)
    if one.info.aggregate == "geometric":
        return Printed(name, "geometric", (one,), lambda of: np.log(np.maximum(of[0], _LOWEST)))
    return Printed(name, one.info.aggregate, (one,))


def _forms_of(family: str) -> tuple[str, ...]:
    """Return the formats that a measure is computed from."""
    if family in PREFERENCES:
        return ("prefs", "qrels_prefs")
    return ("qrels_jg",) if family.endswith("_avgjg") else ("qrels",)


def _read(texts: Iterable[str], rel: int) -> tuple[Measure, ...]:
    return tuple(parse_measures(texts, compat="trec_eval-10", rel=rel))


def _whole(text: str) -> int:
    """Read a cutoff as C does: as far as it is a whole number."""
    found = re.match(r"\s*\+?(\d+)", text)
    if found is None:
        raise MeasureError(f"cutoff {quoted(text)} is no number")
    return int(found[1])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeasureError(f"cutoff {quoted(text)} is no number") from None


def _persistence(given: list[str]) -> float:
    if not given:
        return 0.9
    try:
        return float(given[-1].removeprefix("p="))
    except ValueError:
        raise MeasureError(f"persistence {quoted(given[-1])} is no number") from None
