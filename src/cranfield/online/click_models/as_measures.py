"""Trained click models as measures, and their users as user models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import MeasureError, PolicyError
from cranfield.measures.base import REGISTRY, Measure
from cranfield.measures.grammar import LONGEST
from cranfield.measures.other_names import NO_MEASURES
from cranfield.measures.users.clicks import Chain
from cranfield.measures.users.continuing import Continuing, user_of
from cranfield.online.click_models.model import Trained

KINDS = ("utility", "effort")

Tables = Mapping[str, pl.DataFrame]
"""The parameters of a trained model by name."""

_ATTRACTS = {"clicks": "attractiveness"}
_SATISFIED = {**_ATTRACTS, "satisfies": "satisfaction"}
_MEASURES: dict[str, tuple[tuple[str, str], dict[str, str]]] = {
    "DCTR": (("uM", ""), {"clicks": "rate"}),
    "PBM": (("uM", ""), {**_ATTRACTS, "examined": "examination"}),
    "CM": (("uM", "rrM"), _ATTRACTS),
    "UBM": (("uUBM", ""), {**_ATTRACTS, "examined_after": "examination"}),
    "DCM": (("uDCM", "rrDCM"), {**_ATTRACTS, "continues": "continuation"}),
    "CCM": (("uCCM", "rrCCM"), {**_ATTRACTS, "tau": "continuation"}),
    "DBN": (("uM", "rrM"), {**_SATISFIED, "gamma": "continuation"}),
    "SDBN": (("uM", "rrM"), _SATISFIED),
}
"""Utility and effort of each model, and which parameter of it those of the measure are."""


def measure_of(
    trained: Trained,
    tables: Tables,
    kind: str,
    *,
    unjudged: bool = False,
    digits: int | None = None,
    **options: Any,
) -> Measure:
    """Return a trained model as a measure; see :meth:`ClickModel.measure`."""
    check_choice("kind", kind, KINDS)
    name = trained.model.name
    if name not in _MEASURES:
        raise PolicyError(f"{name} is no measure: it does not tell documents apart")
    names, parameters = _MEASURES[name]
    called = names[KINDS.index(kind)]
    if not called:
        why = NO_MEASURES.get(f"rr{name}", "it does not tell whether a click satisfies")
        raise PolicyError(f"{name} has no effort: {why}")
    if trained.items.tied != "grade":
        raise PolicyError("a measure needs parameters by grade: train(..., tied='grade')")
    by_rank = any(by.startswith("rank") for by in trained.model.by.values())
    if by_rank and options.get("cutoff") is None:
        options["cutoff"] = trained.ranks
    ranks = min(trained.ranks, options.get("cutoff") or trained.ranks)
    for own, other in parameters.items():
        frame = tables[other]
        if digits is not None:
            frame = frame.with_columns(pl.col("value").round(digits))
        by = trained.model.by[other]
        options |= _given(
            own, by, frame if unjudged or by != "item" else frame.drop_nulls("grade"), ranks
        )
    if name == "CM":
        options["satisfies"] = dict.fromkeys(options["clicks"], 1.0)
    made = REGISTRY[called](**options)
    made.require_complete()
    if len(str(made)) > LONGEST:
        raise MeasureError(f"{called} to rank {ranks} is too long a measure; give a cutoff")
    return made


def _given(name: str, by: str, frame: pl.DataFrame, ranks: int) -> dict[str, Any]:
    """Return the values of a parameter as those of a measure, down to a rank."""
    values = frame["value"].to_list()
    if by == "item":
        return {name: dict(zip(frame["grade"].to_list(), values, strict=True))}
    if by == "rank":
        return {name: dict(enumerate(values[:ranks], 1))}
    if by == "case":
        return {f"{name}{at}": value for at, value in enumerate(values, 1)}
    if by == "":
        return {name: values[0]}
    table: dict[int, dict[int, float]] = {rank: {} for rank in range(1, ranks + 1)}
    for rank, last, value in frame.select("rank", "last", "value").iter_rows():
        if rank <= ranks:
            table[rank][last] = value
    return {name: table}


def user_of_model(
    trained: Trained, tables: Tables, *, unjudged: bool = False, **options: Any
) -> Continuing:
    """Return the user of a trained model; see :meth:`ClickModel.user_model`."""
    name = trained.model.name
    made = None if name == "DCTR" else measure_of(trained, tables, KINDS[0], unjudged=unjudged)
    if not isinstance(made, Chain):
        raise PolicyError(f"{name} has no user model: its users do not go on from rank to rank")
    return user_of(made, **options)
