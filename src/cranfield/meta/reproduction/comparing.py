"""The tables of a reproduction: scores by measure and role, effects by measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.measures import parse_measure
from cranfield.meta.reproduction.effects import (
    check_size,
    checked_bounds,
    effect_ratio,
    effect_ratio_limits,
    improvement,
    normalised_rmse,
    outside,
    relative_improvement,
    rmse,
)
from cranfield.meta.reproduction.result import ROLES, Reproduction
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.tests.catalogue import find_test

SIDES = ("original", "reproduced")
"""Names of columns."""

NAMES = ("original", "other")
"""What notes call both sides."""

Row = dict[str, Any]


class Notes:
    """What a reader should know; what holds for several measures is said once."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._measures: dict[str, list[str]] = {line: [] for line in lines}

    def add(self, line: str, measure: str = "") -> None:
        of = self._measures.setdefault(line, [])
        if measure and measure not in of:
            of.append(measure)

    def lines(self) -> tuple[str, ...]:
        return tuple(
            f"{', '.join(of)}: {line}" if of else line for line, of in self._measures.items()
        )


def check_test(test: str, *, paired: bool) -> str:
    """Return the name of a test of two systems that suits the topics."""
    info = find_test(test).info
    if info.paired != paired or info.model:
        wanted = "t, signed-rank or randomisation" if paired else "welch, t-unpaired or rank-sum"
        why = "the same topics" if paired else "topics of their own"
        raise PolicyError(f"test {quoted(test)} does not suit two systems on {why}; {wanted} do")
    return info.name


def same_roles(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the roles that both sides have, the baseline first; they must be the same."""
    if set(first) != set(second):
        raise PolicyError(f"one side has {' and '.join(first)}, the other {' and '.join(second)}")
    return tuple(role for role in ROLES if role in first)


def measured(
    kind: str,
    original: Mapping[str, Scores],
    again: Mapping[str, Scores],
    roles: tuple[str, ...],
    test: str,
    notes: Notes,
    *,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
    **of_runs: Any,
) -> Reproduction:
    """Compare the scores of both sides, measure by measure; what else is known is of the runs.

    Scores are by measure, of systems that are called by their roles. Bounds are by default those
    that each measure declares.
    """
    paired = kind == "reproduction"
    scores: list[Row] = []
    effects: list[Row] = []
    for measure, one in original.items():
        sides = (one, again[measure])
        limits = checked_bounds(bounds) if bounds is not None else _declared(measure)
        for role in roles:
            x, y = _common(sides, (role,), measure, notes, paired=paired)
            row = {"measure": measure, "role": role, "topics": len(x), "other topics": len(y)}
            row |= dict(zip(SIDES, (float(x.mean()), float(y.mean())), strict=True))
            row |= _distances(x[:, 0], y[:, 0], limits, measure, notes) if paired else {}
            row |= _tested((x[:, 0], y[:, 0]), one, test, notes, paired=paired, seed=seed)
            scores.append(row)
        if len(roles) > 1:
            x, y = _common(sides, roles, measure, notes, paired=paired)
            effects.append({"measure": measure, **_effects(x.T, y.T, measure, notes, paired)})
    tables = _framed(scores, SCORES), _framed(effects, EFFECTS)
    lines = notes.lines()
    return Reproduction(
        kind, tuple(original), roles, test, *tables, seed=seed, notes=lines, **of_runs
    )


_COUNTS = {"topics": pl.Int64, "other topics": pl.Int64}

SCORES: dict[str, Any] = {
    "measure": pl.String,
    "role": pl.String,
    **_COUNTS,
    **dict.fromkeys((*SIDES, "RMSE", "nRMSE", "statistic", "p"), pl.Float64),
}

EFFECTS: dict[str, Any] = {
    "measure": pl.String,
    **_COUNTS,
    **dict.fromkeys(
        (
            *("original effect", "reproduced effect", "ER", "ER low", "ER high"),
            *("original RI", "reproduced RI", "DRI"),
        ),
        pl.Float64,
    ),
}


def _framed(rows: list[Row], schema: dict[str, Any]) -> pl.DataFrame:
    columns = {name: [row.get(name) for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=schema).fill_nan(None)


def _common(
    sides: tuple[Scores, Scores],
    roles: tuple[str, ...],
    measure: str,
    notes: Notes,
    *,
    paired: bool,
) -> tuple[Floats, Floats]:
    """Return the scores of roles on both sides, shape (topics, roles), on the topics that count.

    Those are the topics with scores of all the roles; when paired, on both sides.
    """
    found: list[dict[str, Floats]] = []
    for scores, side in zip(sides, NAMES, strict=True):
        values = scores.select(systems=roles).values
        check_size(values)
        lacks = np.isnan(values)
        whole = ~lacks.any(axis=1)
        found.append({scores.topics[t]: values[t] for t in np.flatnonzero(whole)})
        partly = int((~whole & ~lacks.all(axis=1)).sum())
        if partly:
            what = f"{counted(partly, 'topic')} of the {side} side with scores of one role only"
            notes.add(f"effects: {what}, left out", measure)
    if paired:
        common = found[0].keys() & found[1].keys()
        for topics, side in zip(found, NAMES, strict=True):
            alone = len(topics) - len(common)
            # Of the effects this has been said, by role or as scores of one role only.
            if alone and len(roles) == 1:
                what = f"{counted(alone, 'topic')} with scores on the {side} side only"
                notes.add(f"{roles[0]}: {what}, left out", measure)
        order = [topic for topic in found[0] if topic in common]
        found = [{topic: topics[topic] for topic in order} for topics in found]
    if not all(found):
        what = f"scores of {measure or 'the measure'} for {' and '.join(roles)}"
        raise CranfieldError(f"no topic has {what}{' on both sides' if paired else ''}")
    x, y = (np.array(list(side.values())) for side in found)
    return x, y


def _distances(
    x: Floats, y: Floats, limits: tuple[float, float] | None, measure: str, notes: Notes
) -> Row:
    row = {"RMSE": rmse(x, y)}
    if limits is None:
        notes.add("nRMSE needs a lowest and a highest score, and none are known", measure)
    elif outside(x, y, limits).size:
        notes.add(f"nRMSE is not defined: scores outside {limits[0]:g} to {limits[1]:g}", measure)
    else:
        row["nRMSE"] = normalised_rmse(x, y, limits)
    return row


def _tested(
    sides: tuple[Floats, Floats], like: Scores, test: str, notes: Notes, *, paired: bool, seed: int
) -> Row:
    x, y = sides
    if min(x.size, y.size) < 2:
        notes.add("no test with fewer than two topics", like.measure)
        return {}
    if paired:
        values = np.stack([x, y], axis=1)
    else:
        values = np.full((x.size + y.size, 2), np.nan)
        values[: x.size, 0], values[x.size :, 1] = x, y
    topics = tuple(map(str, range(len(values))))
    both = replace(like, values=values, topics=topics, systems=SIDES)
    found = compare(both, test=test, correction="none", seed=seed)
    for note in found.notes:
        # What is missing is so by design, and that t is ANOVA is no news of this comparison.
        if "missing score" not in note and "two-way ANOVA" not in note:
            notes.add(note)
    return {"statistic": float(found.statistic[0]), "p": float(found.raw_pvalues[0])}


def _effects(x: Floats, y: Floats, measure: str, notes: Notes, paired: bool) -> Row:
    """Compare the improvements; x and y have shape (roles, topics), the baseline first."""
    row: Row = {"topics": x.shape[1], "other topics": y.shape[1]}
    first, second = improvement(*x), improvement(*y)
    ratios = relative_improvement(*x), relative_improvement(*y)
    if not first:
        notes.add("ER is not defined: the original effect is 0", measure)
    low, high = effect_ratio_limits(*x, *y, paired=paired)
    if first and np.isinf(low):
        notes.add("ER has no limits: the original effect may be 0", measure)
    for ratio, side, values in zip(ratios, SIDES, (x, y), strict=True):
        if np.isnan(ratio):
            notes.add(f"RI and DRI are not defined: the {side} baseline has the mean 0", measure)
        elif values[0].mean() < 0:
            notes.add(f"RI has the opposite sign: the {side} baseline's mean is below 0", measure)
    return row | {
        "original effect": first,
        "reproduced effect": second,
        "ER": effect_ratio(*x, *y),
        "ER low": low,
        "ER high": high,
        "original RI": ratios[0],
        "reproduced RI": ratios[1],
        "DRI": ratios[0] - ratios[1],
    }


def _declared(measure: str) -> tuple[float, float] | None:
    """Return the lowest and the highest score that a measure declares, if both are finite."""
    try:
        low, high = parse_measure(measure).info.range
    except MeasureError:
        return None
    return (low, high) if np.isfinite([low, high]).all() else None
