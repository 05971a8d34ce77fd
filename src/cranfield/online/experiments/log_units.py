"""Units of a query log: sums of measures by user, session or query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.online.experiments.metrics import ONES, Metric, Placed
from cranfield.online.experiments.unit_table import Units, ordered_variants
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.catalogue import parse_online_measure
from cranfield.online.measures.measuring import sums_by_unit
from cranfield.online.measures.online_measure import OnlineMeasure
from cranfield.online.unit_sums import UnitSums


def measures_of(metrics: Mapping[str, Metric]) -> dict[str, OnlineMeasure]:
    """Read the measure that each metric of a log is."""
    return {name: parse_online_measure(str(one.value)) for name, one in metrics.items()}


def directed(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Let metrics know whether their measures are better when they are lower."""
    lower = {name for name, one in measures_of(metrics).items() if one.better == "lower"}
    return {
        name: replace(one, good=one.good or ("down" if name in lower else "up"))
        for name, one in metrics.items()
    }


def units_of_log(
    data: QueryLog | UnitSums,
    metrics: Mapping[str, Metric],
    *,
    unit: str,
    before: Any = None,
    mixed: str = "drop",
    control: str | None = None,
    variants: Sequence[str] | None = None,
) -> Units:
    """Sum measures by unit, with those of before as covariates."""
    for name, one in metrics.items():
        if one.covariate is not None:
            raise PolicyError(f"{name}: a covariate of a log is its measure in the log `before`")
    texts = [str(one) for one in measures_of(metrics).values()]
    notes: tuple[str, ...] = ()
    if isinstance(data, QueryLog):
        data.require("pages", unit, "variant", purpose="an experiment")
        notes = tuple(f"{number:,} {what}" for what, number in data.odd.items() if number)
        known = data.pages.filter(pl.col("variant").is_not_null())
        if none := data.pages.height - known.height:
            notes += (f"{counted(none, 'page')} without a variant left out",)
        both = (
            known.drop_nulls(unit)
            .group_by(unit)
            .agg(pl.col("variant").n_unique())
            .filter(pl.col("variant") > 1)
        )
        if both.height:
            said = f"{both.height:,} {unit}s in more than one variant"
            if mixed == "error":
                raise CranfieldError(f"{data.source}: {said}, such as {quoted(both[unit][0])}")
            notes += (f"{said} left out",)
        source = data.source
        mixed_unit = pl.col(unit).is_in(both[unit].implode()).fill_null(False)
        data = data.where(pl.col("variant").is_not_null() & ~mixed_unit)
        sums = sums_by_unit(data, texts, unit=unit)
    else:
        sums, source = data, "sums by unit"
    if missing := [text for text in texts if text not in sums.names]:
        raise PolicyError(f"there is no measure {quoted(missing[0])} in the sums")
    if isinstance(before, QueryLog):
        before = sums_by_unit(before, texts, unit=unit)
    return units_of_sums(
        sums,
        dict(zip(metrics, texts, strict=True)),
        before=before,
        control=control,
        variants=variants,
        source=source,
        notes=notes,
    )


def units_of_sums(
    sums: UnitSums,
    measures: Mapping[str, str],
    *,
    before: UnitSums | None = None,
    control: str | None = None,
    variants: Sequence[str] | None = None,
    source: str = "log",
    notes: Sequence[str] = (),
) -> Units:
    """Take sums by unit, the measure of each metric, and those of `before` as covariates."""
    inside = sums.variant >= 0
    said = list(notes)
    for of, where in ((sums, ""), (before, " before the experiment")):
        if of is not None and of.unassigned:
            number, part = counted(of.unassigned, "page"), of.unassigned / of.pages
            said.append(f"{number}{where} ({part:.1%}) without a {of.kind} excluded")
    if out := int((~inside).sum()):
        said.append(f"{counted(out, sums.kind)} in no one variant left out")
    given = pl.Series([sums.variants[k] for k in sums.variant[inside]], dtype=pl.String)
    arms = ordered_variants(given, control, variants, source)
    code = np.array([arms.index(name) for name in sums.variants], dtype=np.intp)
    made = [np.ones(int(inside.sum()))]
    row = np.full(len(sums.units), -1)
    if before is not None:
        place = {name: k for k, name in enumerate(before.units)}
        row = np.array([place.get(name, -1) for name in sums.units], dtype=np.intp)
        if new := int((row[inside] < 0).sum()):
            said.append(f"{counted(new, sums.kind)} without a past")
    placed = {}

    def put(totals: Floats, numbers: Floats) -> tuple[int, int]:
        made.append(totals)
        if (numbers == 1).all():
            return len(made) - 1, ONES
        made.append(numbers)
        return len(made) - 2, len(made) - 1

    for name, measure in measures.items():
        k = sums.names.index(measure)
        above, below = put(sums.totals[inside, k], sums.numbers[inside, k])
        more = (-1, ONES)
        if before is not None:
            past = row[inside]
            known = past >= 0
            j = before.names.index(measure)
            more = put(
                np.where(known, before.totals[past, j], 0.0),
                np.where(known, before.numbers[past, j], 0.0),
            )
        placed[name] = Placed(above, below, *more)
    return Units(
        source=source,
        kind=sums.kind,
        ids=pl.Series(sums.units, dtype=pl.String).filter(pl.Series(inside)),
        variants=arms,
        arm=code[sums.variant[inside]],
        columns=np.column_stack(made),
        placed=placed,
        notes=tuple(said),
    )
