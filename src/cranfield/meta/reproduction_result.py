"""Closeness of reproduced scores, effects and orders to the original: statistics and result.

Sources: Breuer et al. (2020), section 3; Maistro et al. (2023) for nRMSE of measures from 0 to 1.
Scores are arrays by topic of one system; x' is the reproduced value of x, a the advanced system and
b the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.measures import parse_measure
from cranfield.meta.study import Study, make_schema
from cranfield.result import Column, Columns, format_table
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import (
    MIN_DIFFERENCE,
    ROUNDING,
    bound_by_fieller,
    compute_t_quantile,
)
from cranfield.significance.prepare import MAX_SCORE
from cranfield.significance.registry import find_test
from cranfield.tabular import Table, format_pvalue


def rmse(x: Floats, y: Floats) -> float:
    r"""Compute the root mean square error of scores on the same topics; NaN without topics.

    .. math:: \mathrm{RMSE} = \sqrt{\frac{1}{T} \sum_{t=1}^{T} (x_t - x'_t)^2}
    """
    return float(np.sqrt(np.mean((x - y) ** 2))) if x.size else np.nan


def normalised_rmse(x: Floats, y: Floats, bounds: tuple[float, float]) -> float:
    r"""Compute the root mean square error divided by its maximum for scores within bounds [l, u].

    .. math:: \mathrm{nRMSE} = \sqrt{\frac{\sum_t (x_t - x'_t)^2}{\sum_t \max(x_t - l, u - x_t)^2}}
    """
    return rmse(x, y) / rmse(np.maximum(x - bounds[0], bounds[1] - x), np.zeros(x.size))


def improvement(base: Floats, advanced: Floats) -> float:
    """Compute the mean improvement over topics; 0 if it is within rounding, NaN without topics."""
    if not base.size:
        return np.nan
    mean = float(np.mean(advanced - base))
    max_score = float(np.abs([base, advanced]).max())
    return 0.0 if abs(mean) <= max(ROUNDING * max_score, MIN_DIFFERENCE) else mean


def relative_improvement(base: Floats, advanced: Floats) -> float:
    r"""Compute the improvement relative to the mean of the baseline; NaN if that mean is 0.

    .. math:: \mathrm{RI} = \frac{\bar{a} - \bar{b}}{\bar{b}}
    """
    mean = improvement(np.zeros(base.size), base)
    return improvement(base, advanced) / mean if mean else np.nan


def effect_ratio(
    base: Floats, advanced: Floats, other_base: Floats, other_advanced: Floats
) -> float:
    r"""Compute the ratio of the reproduced to the original improvement; NaN if the latter is 0.

    .. math:: \mathrm{ER} = \frac{\overline{\Delta'}}{\overline{\Delta}}, \quad
        \overline{\Delta} = \frac{1}{T} \sum_{t=1}^{T} (a_t - b_t)

    The reproduced improvement may be on other topics. Positive affine transformations of all scores
    do not change the ratio.
    """
    effect = improvement(base, advanced)
    return improvement(other_base, other_advanced) / effect if effect else np.nan


CONFIDENCE = 0.95
"""Confidence level of the interval of the effect ratio."""


def effect_ratio_interval(
    base: Floats, advanced: Floats, other_base: Floats, other_advanced: Floats, *, is_paired: bool
) -> tuple[float, float]:
    r"""Compute the confidence interval of the effect ratio (Fieller 1954).

    The interval contains the ratios r with

    .. math:: \frac{\left(\overline{\Delta'} - r \overline{\Delta}\right)^2}
        {v_{\Delta'} - 2 r\, c + r^2 v_\Delta} \le t_\nu^2

    with the squared standard errors v of both mean improvements and their covariance c. On the same
    n topics the interval is exact for normal improvements, with n - 1 degrees of freedom; on
    different topics c is 0, and the degrees of freedom are Welch's at the estimated ratio. The
    bounds are infinite if the original improvement may be 0. They are NaN with fewer than two
    topics, or if there is no variance and the original improvement is 0.
    """
    x, y = advanced - base, other_advanced - other_base
    if min(x.size, y.size) < 2:
        return np.nan, np.nan
    effect, other_effect = improvement(base, advanced), improvement(other_base, other_advanced)
    variance, other_variance = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    covariance = float(np.cov(x, y)[0, 1]) / x.size if is_paired else 0.0
    df = x.size - 1.0
    if not is_paired:
        scaled_variance = variance * (other_effect / effect) ** 2 if effect else 0.0
        weights = scaled_variance**2 / (x.size - 1) + other_variance**2 / (y.size - 1)
        df = (scaled_variance + other_variance) ** 2 / weights if weights > 0 else df
    squared_quantile = compute_t_quantile(CONFIDENCE, df) ** 2
    low, high = bound_by_fieller(
        *np.array([effect, other_effect, variance, other_variance, covariance, squared_quantile])
    )
    return float(low), float(high)


def check_bounds(bounds: Any) -> tuple[float, float]:
    """Return the lowest and highest possible score; raise an error for invalid bounds."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        raise PolicyError(f"bounds must be two numbers, got {quote(bounds)}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise PolicyError(f"bounds must be finite and ascending, got {low:g} and {high:g}")
    return low, high


def is_within(scores: Floats, bounds: tuple[float, float]) -> bool:
    """Return True if all scores are within the bounds, up to rounding."""
    tolerance = ROUNDING * max(map(abs, bounds))
    is_outside = (scores < bounds[0] - tolerance) | (scores > bounds[1] + tolerance)
    return not is_outside.any()


ROLES = ("baseline", "advanced")
"""Roles of systems in an experiment."""

SUMMARY_EFFECTS = ("ER", "ER low", "ER high", "DRI")
"""Columns of the table of effects that the summary contains."""

ORDERS = ("tau", "KTU", "RBO")
"""Coefficients in the table of orders."""


class Reproduction(Study):
    """Comparison of a reproduced or replicated experiment with the original experiment.

    Attributes
    ----------
    kind
        `reproduction` (same collection and topics), or `replication` (another collection).
    measures, roles
        Text forms of the measures; `baseline`, `advanced`, or both.
    systems
        Names of the original and of the other run, by role; empty if only scores were compared.
    test
        Name of the test of original against other scores, not corrected for several measures.
    scores, effects, orders
        The tables. `effects` is empty unless both roles were compared; `orders` is None for
        replications and for comparisons of scores.
    persistence, seed, settings
        The p of rank-biased overlap, the seed of randomised tests, and the policies of judging.
    notes
        Notes, such as on topics that are missing on one side.
    """

    name = "reproduction"
    reference: ClassVar[str] = "Breuer and others (2020); Maistro and others (2023)"
    columns: ClassVar[Mapping[str, Columns]] = {
        "scores": {
            "measure": Column("Text form of the measure.", key=True),
            "role": Column("`baseline` or `advanced`.", key=True),
            "topics": Column("Number of topics compared; in a replication, of the original run."),
            "other topics": Column("Number of topics of the reproduced or replicated run."),
            "original": Column("Mean score of the original run."),
            "reproduced": Column("Mean score of the reproduced or replicated run."),
            "RMSE": Column("Root mean square error over topics; null for a replication."),
            "nRMSE": Column(
                "RMSE divided by its maximum given the original scores; null for a replication, and"
                " if the range of scores is not known or not finite, or a score is outside it."
            ),
            "statistic": Column(
                "Statistic of the test, original minus reproduced; null for one topic.", decimals=3
            ),
            "p": Column("p-value of the test, not corrected for several measures.", is_pvalue=True),
        },
        "order means": {
            "role": Column("`baseline` or `advanced`.", key=True),
            "topics": Column("Number of topics on which both runs have documents."),
            "tau": Column("Mean Kendall's tau of the union of both rankings."),
            "KTU": Column(
                "Mean Kendall's tau Union, which compares the documents at each rank of the two"
                " rankings and depends on document ids."
            ),
            "RBO": Column("Mean rank-biased overlap."),
        },
        "orders": {
            "role": Column("`baseline` or `advanced`.", key=True),
            "topic": Column("Topic.", key=True),
            "*": Column("Coefficients and counts of :func:`order_agreement`."),
        },
        "effects": {
            "measure": Column("Text form of the measure.", key=True),
            "topics": Column("Number of topics compared; in a replication, of the original runs."),
            "other topics": Column("Number of topics of the reproduced or replicated runs."),
            "original effect": Column(
                "Mean improvement over the baseline in the original experiment."
            ),
            "reproduced effect": Column("Mean improvement over the baseline in the reproduction."),
            "ER": Column(
                "Effect ratio: reproduced / original; 1 is best; null if the latter is 0."
            ),
            "ER low": Column(
                "Lower bound of the 95% confidence interval of ER (Fieller, 1954), for mean"
                " improvements that are about normal; -inf if the original effect may be 0."
            ),
            "ER high": Column("Upper bound of the confidence interval of ER."),
            "original RI": Column("Original relative improvement; null if the baseline mean is 0."),
            "reproduced RI": Column("Relative improvement in the reproduction, as `original RI`."),
            "DRI": Column("`original RI` minus `reproduced RI`; 0 is best; null if one is null."),
        },
    }

    kind: str
    measures: tuple[str, ...]
    roles: tuple[str, ...]
    test: str
    scores: pl.DataFrame
    effects: pl.DataFrame
    orders: pl.DataFrame | None

    def average_orders(self) -> pl.DataFrame:
        """Average the coefficients by role, over topics on which both runs have documents.

        The columns are `role`, `topics`, `tau`, `KTU` and `RBO`. The table is empty if orders were
        not compared.
        """
        if self.orders is None:
            schema = {"role": pl.String, "topics": pl.UInt32, **dict.fromkeys(ORDERS, pl.Float64)}
            return pl.DataFrame(schema=schema)
        return self.orders.group_by("role", maintain_order=True).agg(
            ((pl.col("original") > 0) & (pl.col("reproduced") > 0)).sum().alias("topics"),
            *(pl.col(name).mean() for name in ORDERS),
        )

    def summary(self) -> pl.DataFrame:
        """Return the RMSE, p-values and effect ratios, a row per measure.

        The columns are `measure`; `RMSE` (except for replications) and `p` followed by the role;
        with both roles also `ER`, its bounds and `DRI`.
        """
        columns = {"measure": pl.Series(self.measures, dtype=pl.String)}
        for name in ["p"] if self.kind == "replication" else ["RMSE", "p"]:
            for role in self.roles:
                columns[f"{name} {role}"] = self.scores.filter(role=role)[name]
        table = pl.DataFrame(columns)
        if len(self.roles) == 1:
            return table
        return table.with_columns(self.effects.select(*SUMMARY_EFFECTS))

    @property
    def verdict(self) -> tuple[str, ...]:
        measure = self.measures[0] if self.measures else ""
        is_measure = pl.col("measure") == measure
        means = self.scores.filter(is_measure).drop_nulls(["original", "reproduced"])
        if means.is_empty():
            return ()
        clauses = []
        for row in means.iter_rows(named=True):
            p_text = "" if row["p"] is None else f", p {format_pvalue(row['p'])}"
            clauses.append(
                f"the {row['role']} run has a mean of {row['reproduced']:.4f} (original"
                f" {row['original']:.4f}{p_text})"
            )
        ratios = self.effects.filter(is_measure).drop_nulls(["ER", "ER low"])
        effect_sentence = "".join(
            f" The effect of {row['reproduced effect']:.4f} is {row['ER']:.2f} times"
            f" (95% confidence interval {row['ER low']:.2f} to {row['ER high']:.2f})"
            f" the original effect of {row['original effect']:.4f}."
            for row in ratios.iter_rows(named=True)
        )
        scope = f", the first of {len(self.measures)} measures" if len(self.measures) > 1 else ""
        evidence = ["RMSE"] if self.kind == "reproduction" else []
        evidence += ["confidence interval"] if effect_sentence else []
        advice = f"; see the {' and the '.join(evidence)}" if evidence else ""
        return (
            f"By {measure or 'these scores'}{scope}, {' and '.join(clauses)}.{effect_sentence}",
            f"A large p-value does not show that the runs are equally good{advice}.",
        )

    def heading(self) -> list[str]:
        sizes = self.scores.select(pl.col("topics", "other topics").max().fill_null(0))
        n_topics, n_other_topics = sizes.row(0)
        remark = "" if self.kind == "reproduction" else f" and {n_other_topics:,} other topics"
        return [
            f"{self.kind.capitalize()} of {' and '.join(self.roles)}: {inflect(n_topics, 'topic')}"
            f"{remark}, {inflect(len(self.measures), 'measure')}",
            *(
                f"{role}: {quote(name)}, reproduced by {quote(other_name)}"
                for role, (name, other_name) in self.systems.items()
            ),
            f"p: {find_test(self.test).info.title}, not corrected for several measures",
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        frames = {"scores": self.scores}
        if self.orders is not None:
            frames |= {"order means": self.average_orders(), "orders": self.orders}
        return frames | ({"effects": self.effects} if len(self.roles) > 1 else {})

    def facts(self) -> dict[str, Any]:
        systems = {"systems": dict(self.systems), "policies": dict(self.settings)}
        return {**super().facts(), "study": self.kind, **systems}

    def tables(self) -> list[Table]:
        # A reproduction has the same topics on both sides; a replication has no RMSE.
        is_paired = self.kind == "reproduction"
        titles = {
            "order means": "Order of documents, means over topics: Kendall's tau of the union of"
            " both rankings (tau) and of documents by rank (KTU), rank-biased overlap"
            f" (RBO, p = {self.persistence or 0:g})",
            "scores": f"Scores by topic, the test {self.test} of no difference"
            f"{', and the root mean square error' if is_paired else ''}",
            "effects": "Effect of the advanced system: mean improvement, ratio (ER, 1 is best) with"
            " 95% confidence interval, relative improvement (RI), and difference of relative"
            " improvements (DRI, 0 is best)",
        }
        frames, hidden_columns = self.frames(), ["other topics"] if is_paired else ["RMSE", "nRMSE"]
        return [
            format_table(frames[name].drop(hidden_columns, strict=False), title, self.columns[name])
            for name, title in titles.items()
            if name in frames
        ]


SIDES = ("original", "reproduced")
"""The compared experiments, in names of columns."""

NOTE_SIDES = ("original", "other")
"""The compared experiments, in notes."""


class Notes:
    """Collection of notes; a note that applies to several measures becomes one line."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._measures: dict[str, list[str]] = {line: [] for line in lines}

    def add(self, line: str, measure: str = "") -> None:
        measures = self._measures.setdefault(line, [])
        if measure and measure not in measures:
            measures.append(measure)

    def make_lines(self) -> tuple[str, ...]:
        return tuple(
            f"{', '.join(measures)}: {line}" if measures else line
            for line, measures in self._measures.items()
        )


def check_test(test: str, *, is_paired: bool) -> str:
    """Return the canonical name of a test of two systems; on the same topics if `is_paired`."""
    info = find_test(test).info
    if info.is_paired != is_paired or info.has_model:
        advice = "t, signed-rank or randomisation" if is_paired else "welch, t-unpaired or rank-sum"
        kind = "the same topics" if is_paired else "different topics"
        raise PolicyError(f"test {quote(test)} cannot compare two systems on {kind}; use {advice}")
    return info.name


def check_same_roles(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the roles, the baseline first; raise an error if the sides have different roles."""
    if set(first) != set(second):
        raise PolicyError(
            "expected the same roles (baseline, advanced) of original and reproduced runs, got"
            f" {' and '.join(first)} of the original, {' and '.join(second)} of the other runs"
        )
    return tuple(role for role in ROLES if role in first)


def compare_sides(
    kind: str,
    original: Mapping[str, Scores],
    other: Mapping[str, Scores],
    roles: tuple[str, ...],
    test: str,
    notes: Notes,
    *,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare the scores of both sides by measure; return the attributes of a `Reproduction`."""
    is_paired = kind == "reproduction"
    scores: list[dict[str, Any]] = []
    effects: list[dict[str, Any]] = []
    for measure, original_scores in original.items():
        sides = (original_scores, other[measure])
        score_range = check_bounds(bounds) if bounds is not None else _find_declared_range(measure)
        for role in roles:
            [x], [y] = _select_common_scores(sides, (role,), measure, notes, is_paired=is_paired)
            row = {"measure": measure, "role": role, "topics": x.size, "other topics": y.size}
            row |= dict(zip(SIDES, (x.mean(), y.mean()), strict=True))
            if is_paired:
                row["RMSE"] = rmse(x, y)
                row["nRMSE"] = _compute_nrmse(x, y, score_range, measure, notes)
            row |= _make_test_row(x, y, original_scores, test, notes, is_paired, seed)
            scores.append(row)
        if len(roles) > 1:
            x, y = _select_common_scores(sides, roles, measure, notes, is_paired=is_paired)
            effects.append(_compare_effects(x, y, measure, notes, is_paired))
    return {
        "kind": kind,
        "measures": tuple(original),
        "roles": roles,
        "test": test,
        "scores": _make_frame(scores, "scores"),
        "effects": _make_frame(effects, "effects"),
        "orders": None,
        "systems": {},
        "persistence": None,
        "seed": seed,
        "settings": {},
    }


def _compute_nrmse(
    x: Floats, y: Floats, score_range: tuple[float, float] | None, measure: str, notes: Notes
) -> float | None:
    """Return the nRMSE; None, with a note why, where it is not defined."""
    if score_range is None:
        notes.add("nRMSE is not defined without a lowest and a highest possible score", measure)
    elif not is_within(np.concatenate([x, y]), score_range):
        notes.add(
            "nRMSE is not defined, as some scores are not from"
            f" {score_range[0]:g} to {score_range[1]:g}",
            measure,
        )
    else:
        return normalised_rmse(x, y, score_range)
    return None


def _make_frame(rows: list[dict[str, Any]], table: str) -> pl.DataFrame:
    """Make a table with the declared columns from rows; missing values are null."""
    schema = make_schema(Reproduction.columns[table], ["topics", "other topics"])
    return pl.DataFrame(rows, schema).fill_nan(None)


def _select_common_scores(
    sides: tuple[Scores, Scores],
    roles: tuple[str, ...],
    measure: str,
    notes: Notes,
    *,
    is_paired: bool,
) -> tuple[Floats, Floats]:
    """Return the scores on topics with scores of all roles, and on both sides if `is_paired`."""
    complete_scores = []
    for scores, side in zip(sides, NOTE_SIDES, strict=True):
        role_scores = scores.select(systems=roles)
        # The squares of larger scores would overflow.
        max_score = np.nanmax(np.abs(role_scores.values), initial=0.0)
        if max_score > MAX_SCORE:
            expected = f"scores must be finite, with absolute values up to {MAX_SCORE:g}"
            raise CranfieldError(f"{expected}, got {max_score:g}")
        is_missing = np.isnan(role_scores.values)
        is_complete = ~is_missing.any(axis=1)
        complete_scores.append(role_scores.select(np.flatnonzero(is_complete)))
        if n_topics := int((~is_complete & ~is_missing.all(axis=1)).sum()):
            notes.add(
                f"effects: excluded {inflect(n_topics, 'topic')} with a score of only one of the"
                f" two {side} runs",
                measure,
            )
    if is_paired:
        other_topics = set(complete_scores[1].topics)
        common_topics = [topic for topic in complete_scores[0].topics if topic in other_topics]
        for item, side in zip(complete_scores, NOTE_SIDES, strict=True):
            n_topics = len(item.topics) - len(common_topics)
            # With both roles these topics are already in the notes of each role.
            if n_topics and len(roles) == 1:
                notes.add(
                    f"{roles[0]}: excluded {inflect(n_topics, 'topic')} with a score of only the"
                    f" {side} run",
                    measure,
                )
        complete_scores = [item.select(common_topics) for item in complete_scores]
    if not all(item.topics for item in complete_scores):
        suffix = " on both sides" if is_paired else ""
        raise CranfieldError(
            f"no topic has scores of {measure or 'the measure'} for {' and '.join(roles)}{suffix}"
        )
    x, y = (item.values.T for item in complete_scores)
    return x, y


def _make_test_row(
    x: Floats, y: Floats, template: Scores, test: str, notes: Notes, is_paired: bool, seed: int
) -> dict[str, Any]:
    if min(x.size, y.size) < 2:
        notes.add("no test, as it requires at least two topics", template.measure)
        return {}
    # Each unpaired topic has a score on one side only.
    start = 0 if is_paired else x.size
    values = np.full((start + y.size, 2), np.nan)
    values[: x.size, 0], values[start:, 1] = x, y
    topics = tuple(map(str, range(len(values))))
    table = replace(template, values=values, topics=topics, systems=SIDES)
    comparison = compare(table, test=test, correction="none", seed=seed)
    for note in comparison.notes:
        # These scores are missing by design, and the relation of t and ANOVA is irrelevant here.
        if "missing score" not in note and "two-way ANOVA" not in note:
            notes.add(note)
    return {"statistic": float(comparison.statistic[0]), "p": float(comparison.raw_pvalues[0])}


def _compare_effects(
    x: Floats, y: Floats, measure: str, notes: Notes, is_paired: bool
) -> dict[str, Any]:
    """Compare the improvements; x and y have shape (2, topics), with the baseline first."""
    original_effect, reproduced_effect = improvement(*x), improvement(*y)
    ratios = relative_improvement(*x), relative_improvement(*y)
    if not original_effect:
        notes.add("the effect ratio (ER) is not defined, as the original effect is 0", measure)
    low, high = effect_ratio_interval(*x, *y, is_paired=is_paired)
    if original_effect and np.isinf(low):
        reason = "has no confidence interval, as the original effect may be 0"
        notes.add(f"the effect ratio (ER) {reason}", measure)
    for ratio, side, values in zip(ratios, SIDES, (x, y), strict=True):
        if np.isnan(ratio):
            notes.add(
                "relative improvements (RI, DRI) are not defined, as the"
                f" {side} baseline has mean 0",
                measure,
            )
        elif values[0].mean() < 0:
            notes.add(
                f"the {side} relative improvement (RI) has the opposite sign of the improvement, as"
                " the mean of the baseline is below 0",
                measure,
            )
    return {
        "measure": measure,
        "topics": x.shape[1],
        "other topics": y.shape[1],
        "original effect": original_effect,
        "reproduced effect": reproduced_effect,
        "ER": effect_ratio(*x, *y),
        "ER low": low,
        "ER high": high,
        "original RI": ratios[0],
        "reproduced RI": ratios[1],
        "DRI": ratios[0] - ratios[1],
    }


def _find_declared_range(measure: str) -> tuple[float, float] | None:
    """Return the lowest and the highest score that a measure declares, if both are finite."""
    try:
        low, high = parse_measure(measure).info.range
    except MeasureError:
        return None
    return (low, high) if np.isfinite([low, high]).all() else None
