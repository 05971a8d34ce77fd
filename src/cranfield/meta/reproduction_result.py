"""The result of a reproduction: how close scores, effects or orders are to the original.

Sources: Breuer et al. (2020), section 3; for nRMSE Maistro et al. (2023), who have measures between
0 and 1. Scores are arrays by topic, of one system each; x' is what x was when it was done again, a
the advanced system and b the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, quoted
from cranfield.base.text import counted
from cranfield.measures import parse_measure
from cranfield.meta.study import Study
from cranfield.result import Column, Columns, readable
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import ROUNDING, TINY, fieller_interval, t_quantile
from cranfield.significance.prepare import MAX_SCORE
from cranfield.significance.registry import find_test
from cranfield.tabular import Table, shown_p

NAN = float("nan")


def rmse(x: Floats, y: Floats) -> float:
    r"""Root mean square of the differences of scores on the same topics; NaN of none.

    .. math:: \mathrm{RMSE} = \sqrt{\frac{1}{T} \sum_{t=1}^{T} (x_t - x'_t)^2}
    """
    return float(np.sqrt(np.mean((x - y) ** 2))) if x.size else NAN


def normalised_rmse(x: Floats, y: Floats, bounds: tuple[float, float]) -> float:
    r"""Root mean square difference, by the largest that the original scores allow within bounds.

    .. math::

        \mathrm{nRMSE} = \sqrt{\frac{\sum_t (x_t - x'_t)^2}{\sum_t \max(x_t - a, b - x_t)^2}}
    """
    return rmse(x, y) / rmse(np.maximum(x - bounds[0], bounds[1] - x), np.zeros(x.size))


def improvement(base: Floats, advanced: Floats) -> float:
    """Mean improvement by topic; 0 where it is by rounding only, NaN of none."""
    if not base.size:
        return NAN
    found = float(np.mean(advanced - base))
    largest = float(np.abs([base, advanced]).max())
    return 0.0 if abs(found) <= max(ROUNDING * largest, TINY) else found


def relative_improvement(base: Floats, advanced: Floats) -> float:
    r"""Improvement of the mean, in parts of the baseline's; NaN where that is 0, within rounding.

    .. math:: \mathrm{RI} = \frac{\bar{a} - \bar{b}}{\bar{b}}
    """
    mean = improvement(np.zeros(base.size), base)
    return improvement(base, advanced) / mean if mean else NAN


def effect_ratio(base: Floats, advanced: Floats, base2: Floats, advanced2: Floats) -> float:
    r"""Mean improvement when it was done again, by the original one; NaN where that is 0.

    .. math::

        \mathrm{ER} = \frac{\overline{\Delta'}}{\overline{\Delta}}, \quad
        \overline{\Delta} = \frac{1}{T} \sum_{t=1}^{T} (a_t - b_t)

    The topics of the second effect may be others. Positive affine maps of all scores do not
    change it.
    """
    effect = improvement(base, advanced)
    return improvement(base2, advanced2) / effect if effect else NAN


CONFIDENCE = 0.95
"""Confidence level of the interval of the effect ratio."""


def effect_ratio_interval(
    base: Floats, advanced: Floats, base2: Floats, advanced2: Floats, *, paired: bool
) -> tuple[float, float]:
    r"""Return the confidence interval of the effect ratio; infinite if the original may be 0.

    It contains the ratios r that a test does not reject by

    .. math:: \frac{\left(\overline{\Delta'} - r \overline{\Delta}\right)^2}
        {v_{\Delta'} - 2 r\, c + r^2 v_\Delta} \le t_\nu^2

    with the squared standard errors v of both mean improvements and their covariance c. On the same
    topics they are exact for normal improvements, with one degree of freedom less than topics; on
    others c is 0, and the degrees of freedom are Welch's at the ratio found. NaN with fewer than
    two topics, or where nothing varies around an original effect of 0. Source: Fieller (1954).
    """
    x, y = advanced - base, advanced2 - base2
    if min(x.size, y.size) < 2:
        return NAN, NAN
    first, second = improvement(base, advanced), improvement(base2, advanced2)
    own, other = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    shared = float(np.cov(x, y)[0, 1]) / x.size if paired else 0.0
    df = x.size - 1.0
    if not paired:
        scaled = own * (second / first) ** 2 if first else 0.0
        parts = scaled**2 / (x.size - 1) + other**2 / (y.size - 1)
        df = (scaled + other) ** 2 / parts if parts > 0 else df
    squared = t_quantile(CONFIDENCE, df) ** 2
    parts_of = (first, second, own, other, shared, squared)
    low, high = fieller_interval(*(np.asarray(part, dtype=np.float64) for part in parts_of))
    return float(low), float(high)


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the lowest and the highest score; raise for invalid bounds."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise PolicyError(f"bounds must be two numbers, got {quoted(bounds)}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise PolicyError(f"bounds must be a lowest and a highest score, got {low:g} and {high:g}")
    return low, high


def outside(x: Floats, y: Floats, bounds: tuple[float, float]) -> Floats:
    """Return the scores beyond the bounds by more than rounding."""
    both = np.concatenate([x, y])
    slack = ROUNDING * max(map(abs, bounds))
    return both[(both < bounds[0] - slack) | (both > bounds[1] + slack)]


def check_size(values: Floats) -> None:
    """Refuse scores whose squares would be infinite."""
    if np.nanmax(np.abs(values), initial=0.0) > MAX_SCORE:
        raise CranfieldError(f"scores must be finite and at most {MAX_SCORE:g}")


ROLES = ("baseline", "advanced")
"""What a system is in an experiment."""

RATIO = ("ER", "ER low", "ER high", "DRI")
"""Columns of the table of effects that sum it up."""

ORDERS = ("tau", "KTU", "RBO")
"""Columns of the table of orders that compare two rankings."""


class Reproduction(Study):
    """Closeness of an experiment to the original one.

    Attributes
    ----------
    kind
        `reproduction`: on the same collection and topics; `replication`: on another.
    measures, roles
        Text forms of the measures; `baseline`, `advanced`, or both.
    systems
        Names of the original and of the other run, by role; empty where there were scores only.
    test
        Name of the test of both sets of scores. It is not corrected for many measures.
    scores, effects, orders
        The tables; effects have no row without both roles, and orders are None for replications
        and where there were scores only.
    persistence, seed, settings
        The p of rank-biased overlap, the seed of tests that draw random numbers, and the policies
        under which the runs were judged.
    notes
        Remarks, such as topics that are missing on one side.
    """

    name = "reproduction"
    reference: ClassVar[str] = "Breuer and others (2020); Maistro and others (2023)"
    columns: ClassVar[Mapping[str, Columns]] = {
        "scores": {
            "measure": Column("Text form of the measure.", key=True),
            "role": Column("`baseline` or `advanced`.", key=True),
            "topics": Column("Number of topics that count."),
            "other topics": Column("Number of evaluated topics of the other run."),
            "original": Column("Mean of the original scores."),
            "reproduced": Column("Mean score of the other run."),
            "RMSE": Column("Root mean square of the differences by topic; null on other topics."),
            "nRMSE": Column(
                "RMSE divided by the largest that the original scores allow; null without bounds."
            ),
            "statistic": Column(
                "Statistic of the test of no difference, original minus reproduced.", decimals=3
            ),
            "p": Column("p-value of the test, not corrected for several measures.", pvalue=True),
        },
        "order means": {
            "role": Column("`baseline` or `advanced`.", key=True),
            "topics": Column("Number of topics on which both runs have documents."),
            "tau": Column("Mean Kendall's tau of the union of both rankings."),
            "KTU": Column("Mean Kendall's tau of documents by rank."),
            "RBO": Column("Mean rank-biased overlap."),
        },
        "orders": {
            "role": Column("`baseline` or `advanced`.", key=True),
            "topic": Column("Topic.", key=True),
            "*": Column("A column of :func:`order_agreement`."),
        },
        "effects": {
            "measure": Column("Text form of the measure.", key=True),
            "topics": Column("Number of topics that count."),
            "other topics": Column("Number of evaluated topics of the other runs."),
            "original effect": Column("Mean improvement over the baseline, original."),
            "reproduced effect": Column("Mean improvement over the baseline, reproduced."),
            "ER": Column("Effect ratio, reproduced by original; 1 is best."),
            "ER low": Column(
                "Lower bound of its 0.95 confidence interval (Fieller, 1954), for mean improvements"
                " that are about normal."
            ),
            "ER high": Column("Upper bound of the interval."),
            "original RI": Column("Relative improvement, original."),
            "reproduced RI": Column("Relative improvement, reproduced."),
            "DRI": Column("Difference of the relative improvements; 0 is best."),
        },
    }

    kind: str
    measures: tuple[str, ...]
    roles: tuple[str, ...]
    test: str
    scores: pl.DataFrame
    effects: pl.DataFrame
    orders: pl.DataFrame | None

    def order_means(self) -> pl.DataFrame:
        """Return the means over topics by role, as far as both runs have documents.

        Columns `role`, `topics`, `tau`, `KTU`, `RBO`; no row where orders were not compared.
        """
        if self.orders is None:
            schema = {"role": pl.String, "topics": pl.UInt32, **dict.fromkeys(ORDERS, pl.Float64)}
            return pl.DataFrame(schema=schema)
        return self.orders.group_by("role", maintain_order=True).agg(
            ((pl.col("original") > 0) & (pl.col("reproduced") > 0)).sum().alias("topics"),
            *(pl.col(name).mean() for name in ORDERS),
        )

    def summary(self) -> pl.DataFrame:
        """Return one row a measure.

        Columns `measure`; `RMSE` (not of a replication) and `p` followed by the role; `ER`, its
        limits and `DRI` where there are both roles.
        """
        table = pl.DataFrame({"measure": self.measures}, schema={"measure": pl.String})
        for name in ["p"] if self.kind == "replication" else ["RMSE", "p"]:
            for role in self.roles:
                values = self.scores.filter(pl.col("role") == role)[name]
                table = table.with_columns(values.alias(f"{name} {role}"))
        return table.with_columns(self.effects.select(*RATIO)) if len(self.roles) > 1 else table

    @property
    def verdict(self) -> tuple[str, ...]:
        measure = self.measures[0] if self.measures else ""
        of_measure = pl.col("measure") == measure
        means = self.scores.filter(of_measure).drop_nulls(["original", "reproduced"])
        if means.is_empty():
            return ()
        each = []
        for row in means.iter_rows(named=True):
            p = "" if row["p"] is None else f" (p {shown_p(row['p'])})"
            each.append(
                f"the {row['role']} run has a mean of {row['reproduced']:.4f} where the original"
                f" has {row['original']:.4f}{p}"
            )
        effect = ""
        ratios = self.effects.filter(of_measure).drop_nulls(["ER", "ER low"])
        for row in ratios.iter_rows(named=True):
            effect = (
                f" The improvement is {row['ER']:.2f} times the original one (0.95 confidence"
                f" interval {row['ER low']:.2f} to {row['ER high']:.2f})."
            )
        only = f", the first of {len(self.measures)} measures" if len(self.measures) > 1 else ""
        return (
            f"By {measure or 'these scores'}{only}, {' and '.join(each)}.{effect}",
            "A large p-value does not show that the runs are equally good; see the errors and the"
            " confidence interval.",
        )

    def heading(self) -> list[str]:
        largest = self.scores.select(pl.col("topics", "other topics").max().fill_null(0))
        topics, others = largest.row(0)
        other = "" if self.kind == "reproduction" else f" and {others:,} others"
        return [
            f"{self.kind.capitalize()} of {' and '.join(self.roles)}: {counted(topics, 'topic')}"
            f"{other}, {counted(len(self.measures), 'measure')}",
            *(
                f"{role}: {quoted(name)}, again {quoted(again)}"
                for role, (name, again) in self.systems.items()
            ),
            f"p: {find_test(self.test).info.title}, not corrected for many measures",
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        frames = {"scores": self.scores}
        if self.orders is not None:
            frames |= {"order means": self.order_means(), "orders": self.orders}
        return frames | ({"effects": self.effects} if len(self.roles) > 1 else {})

    def facts(self) -> dict[str, Any]:
        systems = {"systems": dict(self.systems), "policies": dict(self.settings)}
        return {**super().facts(), "study": self.kind, **systems}

    def tables(self) -> list[Table]:
        # On the same topics there is one number of them, on others no root mean square error.
        same = self.kind == "reproduction"
        titles = {
            "order means": "Order of documents, means over topics: Kendall's tau of the union of"
            " both rankings (tau) and of documents by rank (KTU), rank-biased overlap"
            f" (RBO, p = {self.persistence or 0:g})",
            "scores": f"Scores by topic, the test {self.test} of no difference"
            f"{', and the root mean square error' if same else ''}",
            "effects": "Effect of the advanced system: mean improvement, ratio (ER, 1 is best) with"
            " 0.95 confidence interval, relative improvement (RI), and difference of these (DRI, 0"
            " is best)",
        }
        frames, hidden = self.frames(), ["other topics"] if same else ["RMSE", "nRMSE"]
        return [
            readable(frames[name].drop(hidden, strict=False), title, self.columns[name])
            for name, title in titles.items()
            if name in frames
        ]


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
        why = "the same topics" if paired else "different topics"
        raise PolicyError(f"test {quoted(test)} does not suit two systems on {why}; use {wanted}")
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
) -> dict[str, Any]:
    """Compare the scores of both sides, measure by measure: the values of a result.

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
            [x], [y] = _common(sides, (role,), measure, notes, paired=paired)
            row = {"measure": measure, "role": role, "topics": x.size, "other topics": y.size}
            row |= dict(zip(SIDES, (float(x.mean()), float(y.mean())), strict=True))
            if paired:
                row["RMSE"] = rmse(x, y)
                row["nRMSE"] = _normalised(x, y, limits, measure, notes)
            row |= _tested(x, y, one, test, notes, paired=paired, seed=seed)
            scores.append(row)
        if len(roles) > 1:
            x, y = _common(sides, roles, measure, notes, paired=paired)
            effects.append({"measure": measure, **_effects(x, y, measure, notes, paired)})
    return {
        "kind": kind,
        "measures": tuple(original),
        "roles": roles,
        "test": test,
        "scores": _framed(scores, "scores"),
        "effects": _framed(effects, "effects"),
        "orders": None,
        "systems": {},
        "persistence": None,
        "seed": seed,
        "settings": {},
    }


def _normalised(
    x: Floats, y: Floats, limits: tuple[float, float] | None, measure: str, notes: Notes
) -> float | None:
    """Return the nRMSE; None, with a note why, where it is not defined."""
    if limits is None:
        notes.add(
            "nRMSE requires a lowest and a highest score, which are not known; pass bounds", measure
        )
    elif outside(x, y, limits).size:
        beyond = f"scores outside {limits[0]:g} to {limits[1]:g}"
        notes.add(f"nRMSE is not defined: {beyond}", measure)
    else:
        return normalised_rmse(x, y, limits)
    return None


def _framed(rows: list[Row], table: str) -> pl.DataFrame:
    """Return rows as a table with the declared columns; a value that a row lacks is null."""
    schema = {
        name: pl.String if column.key else pl.Int64 if name.endswith("topics") else pl.Float64
        for name, column in Reproduction.columns[table].items()
    }
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
    """Return the scores of roles on both sides, shape (roles, topics), on the topics that count.

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
            notes.add(f"effects: {what}, excluded", measure)
    if paired:
        common = found[0].keys() & found[1].keys()
        for topics, side in zip(found, NAMES, strict=True):
            alone = len(topics) - len(common)
            # Of the effects this has been said, by role or as scores of one role only.
            if alone and len(roles) == 1:
                what = f"{counted(alone, 'topic')} with scores on the {side} side only"
                notes.add(f"{roles[0]}: {what}, excluded", measure)
        order = [topic for topic in found[0] if topic in common]
        found = [{topic: topics[topic] for topic in order} for topics in found]
    if not all(found):
        what = f"scores of {measure or 'the measure'} for {' and '.join(roles)}"
        raise CranfieldError(f"no topic has {what}{' on both sides' if paired else ''}")
    x, y = (np.array(list(side.values())).T for side in found)
    return x, y


def _tested(
    x: Floats, y: Floats, like: Scores, test: str, notes: Notes, *, paired: bool, seed: int
) -> Row:
    if min(x.size, y.size) < 2:
        notes.add("no test with fewer than two topics", like.measure)
        return {}
    # On other topics each side has scores of its own only.
    other = 0 if paired else x.size
    values = np.full((other + y.size, 2), np.nan)
    values[: x.size, 0], values[other:, 1] = x, y
    topics = tuple(map(str, range(len(values))))
    both = replace(like, values=values, topics=topics, systems=SIDES)
    found = compare(both, test=test, correction="none", seed=seed)
    for note in found.notes:
        # Scores are missing by design, and that t is ANOVA says nothing about this comparison.
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
    low, high = effect_ratio_interval(*x, *y, paired=paired)
    if first and np.isinf(low):
        notes.add("ER has no confidence interval: the original effect may be 0", measure)
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
