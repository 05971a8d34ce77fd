"""Judges compared with people, grade by grade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.assess.agreement.coefficients import (
    coefficient,
    freedom,
    jackknife,
    observed,
)
from cranfield.assess.agreement.distributions import DIVERGENCES, closeness
from cranfield.assess.agreement.tables import CELLS, Tables, of_joint
from cranfield.assess.judges.reading import Scale, combinations, matched, panel_of, sampled_only
from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, check_choice, check_share
from cranfield.base.kinds import OneOf
from cranfield.base.proportions import wilson
from cranfield.base.text import counted
from cranfield.result import Column, Columns, Result, readable_table
from cranfield.tabular import Table, format_interval, format_number


def calibration(tables: Ints, confidence: float) -> tuple[Floats, Floats, Floats]:
    r"""Return proportions of people's grades by the grade of the judge, lower and upper bounds.

    Tables have shape (topics, grades by people, grades by the judge), results (grades by the judge,
    grades by people); NaN for a grade that the judge never gave. Intervals are those of Wilson
    (1927) for a proportion p, with pairs divided by the design effect of topics, as pairs of a
    topic are correlated: the variance of p by the jackknife over topics,

    .. math:: \frac{T-1}{T} \sum_t \left(\frac{n_{t1} - p\, n_t}{n - n_t}\right)^2,

    over p (1 - p) / n, and at least 1; the t quantile has the degrees of freedom of these terms by
    ``freedom``. A proportion of 0 or 1 has no estimate of its variance: there each topic counts as
    one pair.
    """
    counts = np.swapaxes(tables, 1, 2).astype(np.float64)
    of_grade = counts.sum(axis=2, keepdims=True)
    size = of_grade.sum(axis=0)
    topics = (of_grade > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts.sum(axis=0) / size
        # The change of the proportion without each topic.
        apart = (counts - share * of_grade) / (size - of_grade)
        variance = (topics - 1) / topics * (apart**2).sum(axis=0)
        effect = np.maximum(1.0, variance / (share * (1 - share) / size))
    certain = (share == 0) | (share == 1)
    pairs = np.where(certain, topics, size / np.where(certain, 1.0, effect))
    degrees = np.where(certain, topics - 1, freedom(apart, topics))
    low, high = wilson(share, pairs, stdtrit(np.maximum(degrees, 1), (1 + confidence) / 2))
    # A single topic has no spread over topics.
    alone = (topics < 2) & ~np.isnan(share)
    return share, np.where(alone, 0.0, low), np.where(alone, 1.0, high)


LEVELS = ("nominal", "ordinal", "interval", "ratio")
"""Levels of measurement of Krippendorff's alpha."""

COUNTS = {
    "labels": Column("Number of labels of the judge."),
    "pairs": Column("Number of the judge's labels for documents that people judged, too."),
    "missing": Column("Number of documents that people judged and the judge did not."),
    "extra": Column(
        "Number of the judge's labels for documents that people did not judge, of topics that"
        " they judged."
    ),
    "unknown": Column("Number of labels of topics that people did not judge."),
    "unparsed": Column("Number of answers without a grade."),
    "cut": Column("Number of grades outside the scale, replaced by its nearest grade."),
}
"""Counts of each judge."""

SIDES = ("over", "under")

UNBOUNDED = ("bias",)
"""Statistics that can exceed 1; intervals of the others end below 1."""

SHARES = ("agreement", *SIDES)
"""Statistics that are proportions."""

FEW = 3
"""Maximum number of judges whose calibration is printed."""

Statistic = Callable[[Tables], Floats]


def statistics(scale: Scale, level: str) -> dict[str, Statistic]:
    """Return the statistics by name, as functions of tables of people (first) and a judge."""
    cuts = list(zip(scale.cuts, scale.grades[1:], strict=False))
    return {
        "kappa": coefficient("kappa").of,
        **{f"kappa {name}": coefficient(f"kappa(rel={low})").of for name, low in cuts},
        "alpha": coefficient(f"alpha({level})").of,
        **{f"alpha {name}": coefficient(f"alpha(nominal, rel={low})").of for name, low in cuts},
        "agreement": observed,
        "bias": partial(_mean_of, lambda difference: difference),
        "over": partial(_mean_of, lambda difference: difference > 0),
        "under": partial(_mean_of, lambda difference: difference < 0),
    }


def _mean_of(what: Callable[[Floats], Any], tables: Tables) -> Floats:
    """Mean over pairs of a function of the grade of the judge minus that of people."""
    joint = tables.joint
    assert joint is not None
    weights = np.asarray(what(tables.grades[None, :] - tables.grades[:, None]), dtype=np.float64)
    size = joint.sum(axis=(-2, -1))
    total = (joint * weights).sum(axis=(-2, -1))
    return np.asarray(total / np.where(size > 0, size, np.nan))


def _divergence_of(law: Callable[[Floats, Floats], Floats], joint: Floats) -> Floats:
    """Compare the distributions of grades in tables of people (first) and a judge."""
    proportions = joint / joint.sum(axis=(-2, -1), keepdims=True)
    return law(proportions.sum(axis=-2), proportions.sum(axis=-1))


ORDINAL: dict[str, Callable[[Floats], Floats]] = {
    **{name: partial(_divergence_of, law) for name, law in DIVERGENCES.items()},
    "CEM-ORD": closeness,
}
"""Ordinal quantification and classification, as functions of tables of people and a judge."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgeComparison(Result):
    """Agreement of judges with people; made by :func:`compare_judges`.

    Attributes
    ----------
    judges, topics
        Names of the judges, and of the topics that people judged.
    scale
        The possible grades, in ascending order.
    joint
        Pairs by grade of people and grade of the judge; shape (judges, topics, grades, grades).
    counts
        The counts of the table `agreement`, by name; shape (judges,) each.
    statistics
        Names of the statistics in the table `agreement`.
    values, low, high
        The statistics and their confidence intervals over topics; shape (judges, statistics). NaN
        if undefined, such as kappa of a single grade.
    level, confidence
        Level of measurement of alpha; confidence level of the intervals.
    notes
        Undefined statistics, and how labels were read.
    """

    columns: ClassVar[dict[str, Columns]] = {
        "agreement": {
            "judge": Column("Judge.", key=True),
            **COUNTS,
            "kappa": Column("Cohen's kappa of all grades; null where it is not defined."),
            "alpha": Column("Krippendorff's alpha of all grades, by the level; null if undefined."),
            "*": Column("Kappa or nominal alpha of grades cut in two, as `kappa 01|23`, or null."),
            "agreement": Column("Proportion of pairs with equal grades, from 0 to 1."),
            "bias": Column("Mean of the grade by the judge minus the grade by people."),
            "over": Column("Proportion of pairs that the judge grades higher, from 0 to 1."),
            "under": Column("Proportion of pairs that the judge grades lower, from 0 to 1."),
        },
        "intervals": {
            "judge": Column("Judge.", key=True),
            "statistic": Column("Statistic, a column of the table `agreement`.", key=True),
            "estimate": Column("Value of the coefficient; null where it is not defined.", 3),
            "low": Column("Lower bound of its confidence interval over topics, or null.", 3),
            "high": Column("Upper bound of the interval.", 3),
        },
        "calibration": {
            "judge": Column("Judge.", key=True),
            "label": Column("Grade by the judge.", key=True),
            "grade": Column("Grade by people.", key=True),
            "pairs": Column("Number of pairs with these two grades."),
            "share": Column("Proportion of pairs with this label; null for an unused label.", 3),
            "low": Column("Lower bound of its Wilson interval, by the design effect of topics.", 3),
            "high": Column("Upper bound of the interval.", 3),
        },
        "distributions": {
            "judge": Column("Judge.", key=True),
            "measure": Column(
                "`NMD`, `RNOD`, `RSNOD` or `JSD`: divergence of the judge's distribution of grades"
                " from that of people, 0 if equal; `CEM-ORD`: closeness of its grades, 1 if equal.",
                key=True,
            ),
            "value": Column("Value of all pairs, from 0 to 1.", 4),
            "low": Column("Lower bound of its confidence interval over topics, or null.", 4),
            "high": Column("Upper bound of the interval.", 4),
            "mean": Column("Mean of the values of the topics, each with its own distributions.", 4),
        },
    }

    judges: tuple[str, ...]
    topics: tuple[str, ...]
    scale: tuple[int, ...]
    joint: Ints
    counts: dict[str, Ints]
    statistics: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    level: str
    confidence: float
    notes: tuple[str, ...] = ()

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the tables `agreement`, `intervals`, `calibration` and `distributions`."""
        statistics = dict(zip(self.statistics, self.values.T, strict=True))
        agreement = pl.DataFrame({"judge": self.judges, **self.counts, **statistics})
        return {
            "agreement": agreement.with_columns(pl.selectors.float().fill_nan(None)),
            "intervals": self.intervals(),
            "calibration": self.calibration(),
            "distributions": self.distributions(),
        }

    def intervals(self) -> pl.DataFrame:
        """Return the table `intervals`, a row for each judge and statistic."""
        values = {"estimate": self.values, "low": self.low, "high": self.high}
        numbers = pl.DataFrame({name: table.ravel() for name, table in values.items()})
        names = combinations(judge=self.judges, statistic=self.statistics)
        return names.hstack(numbers.fill_nan(None))

    def calibration(self) -> pl.DataFrame:
        """Return the table `calibration`: proportions of people's grades by grade of the judge."""
        by_judge = [calibration(table, self.confidence) for table in self.joint]
        share, low, high = (np.stack(table).ravel() for table in zip(*by_judge, strict=True))
        pairs = np.swapaxes(self.joint.sum(axis=1), 1, 2).ravel()
        numbers = pl.DataFrame({"pairs": pairs, "share": share, "low": low, "high": high})
        names = combinations(judge=self.judges, label=self.scale, grade=self.scale)
        return names.hstack(numbers.fill_nan(None))

    def distributions(self) -> pl.DataFrame:
        """Return the table `distributions`: grades by judges as estimates of those by people."""
        by_topic = np.swapaxes(self.joint, 0, 1).astype(np.float64)
        values, low, high, means = np.empty((4, len(ORDINAL), len(self.judges)))
        has_pairs = by_topic.sum(axis=(-2, -1)) > 0
        total = by_topic.sum(axis=0)
        without = total - by_topic
        with np.errstate(divide="ignore", invalid="ignore"):
            for k, law in enumerate(ORDINAL.values()):
                values[k], each = law(total), law(by_topic)
                bounds = jackknife(values[k], law(without), has_pairs, self.confidence)
                low[k], high[k] = np.clip(bounds, 0.0, 1.0)
                means[k] = np.where(has_pairs, each, 0.0).sum(axis=0) / has_pairs.sum(axis=0)
        numbers = {"value": values, "low": low, "high": high, "mean": means}
        frame = pl.DataFrame({name: table.T.ravel() for name, table in numbers.items()})
        return combinations(judge=self.judges, measure=tuple(ORDINAL)).hstack(frame.fill_nan(None))

    def confusion(self, judge: str) -> pl.DataFrame:
        """Return the number of pairs by grade of people (rows) and grade of a judge (columns)."""
        check_choice("judge", judge, self.judges)
        table = self.joint[self.judges.index(judge)].sum(axis=0)
        columns = {str(name): table[:, k] for k, name in enumerate(self.scale)}
        return pl.DataFrame({"grade by people": self.scale, **columns})

    def tables(self) -> list[Table]:
        """Return tables for reading; calibration only of a few judges."""
        frame, declared = self.to_polars(), self.columns["agreement"]
        title = (
            f"Agreement with people: kappa, and alpha ({self.level}; nominal where grades are cut)"
        )
        chosen = [name for name in self.statistics if name.startswith(("kappa", "alpha"))]
        agreement = readable_table(frame.select("judge", "pairs", *chosen), title, declared)
        tables = [agreement, self._intervals()]
        if any(self.counts[name].any() for name in COUNTS if name not in ("labels", "pairs")):
            title = "Labels without a counterpart, and answers without a grade"
            counts = readable_table(frame.select("judge", *COUNTS), title, declared)
            notes = [
                f"{k}: {column.about[0].lower()}{column.about[1:-1]}"
                for k, column in COUNTS.items()
            ]
            tables.append(replace(counts, notes=notes))
        if len(self.judges) <= FEW:
            parts = self.calibration().partition_by("judge", maintain_order=True)
            tables += [self._calibration(*pair) for pair in zip(self.judges, parts, strict=True)]
        return tables

    def _intervals(self) -> Table:
        wide = [self.statistics.index(name) for name in ("kappa", "alpha", "agreement", "bias")]
        sides = [self.statistics.index(name) for name in SIDES]
        head = ["judge"]
        for k in wide:
            head += [self.statistics[k], "interval"]
        rows = []
        for j, judge in enumerate(self.judges):
            row = [judge]
            for k in wide:
                row += [
                    format_number(self.values[j, k], 3),
                    format_interval(self.low[j, k], self.high[j, k], 3),
                ]
            rows.append([*row, *(format_number(self.values[j, k], 3) for k in sides)])
        title = f"Agreement with people: {100 * self.confidence:g}% confidence intervals"
        notes = (
            "interval: t interval by the jackknife over topics, on the scale of ln(1 - value) for"
            " kappa and alpha, of log odds for agreement",
            "bias: mean of the grade by the judge minus the grade by people; over, under:"
            " proportion of pairs that the judge grades higher, lower",
        )
        return Table(title, [*head, *SIDES], rows, (0,), notes)

    def _calibration(self, judge: str, frame: pl.DataFrame) -> Table:
        title = f"Calibration of {judge}: proportions of people's grades by grade of the judge"
        rows = []
        for (label,), part in frame.group_by(["label"], maintain_order=True):
            row = [str(label), f"{part['pairs'].sum():,}"]
            for bounds in part.select("share", "low", "high").iter_rows():
                share, low, high = (format_number(bound, 3) for bound in bounds)
                row.append(f"{share} ({low}-{high})" if share else "")
            rows.append(row)
        head = ["grade by judge", "pairs", *(f"people: {grade}" for grade in self.scale)]
        note = (
            f"in brackets: {100 * self.confidence:g}% Wilson interval, with pairs divided by the"
            " design effect of topics"
        )
        return Table(title, head, rows, (0,), (note,))

    def heading(self) -> list[str]:
        """Return one line: the number of judges and topics, and the scale."""
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.topics), 'topic')}"
        return [f"{sizes}, grades {self.scale[0]} to {self.scale[-1]}"]


def compare_judges(
    human: Any,
    judges: Any,
    *,
    scale: Any = None,
    cut: bool = False,
    level: Annotated[str, OneOf(LEVELS)] = "ordinal",
    confidence: float = 0.95,
) -> JudgeComparison:
    r"""Compare the grades of judges, such as large language models, with those of people.

    Parameters
    ----------
    human
        Judgments of people: in any form that :func:`cranfield.read_qrels` reads. A grade below
        0 counts as the lowest one; of several subtopics, the highest grade counts.
    judges
        In any form that :func:`read_judges` reads.
    scale
        Lowest and highest possible grade, such as `(0, 3)` or `"0..3"`; by default 0 and the
        highest grade that people gave.
    cut
        Whether to clip grades outside the scale to its nearest end; by default they are an error.
    level
        Level of measurement for Krippendorff's alpha over all grades: `ordinal`, `nominal`,
        `interval` or `ratio`. At each cut of the scale it is nominal.
    confidence
        Confidence level of the intervals over topics.

    Returns
    -------
    JudgeComparison
        Its table has a row per judge.

    Raises
    ------
    InputError
        With file, line and grade, for a grade outside the scale; for unreadable input; and for a
        judge without any label of a pair that people judged.
    PolicyError
        For an unknown option, or a scale of more than 101 grades.

    Notes
    -----
    Only pairs that both judged are compared; the others are counted. Cohen's kappa and
    Krippendorff's alpha are those of :func:`agreement_of`, from the table of the two grades.
    Intervals are t intervals of the jackknife over topics, on the scale of ln(1 - value), for
    proportions of log odds; the fewer topics they rest on, the fewer their degrees of freedom.
    Scale and cuts as in Rahmani et al. (2025), LLMJudge.

    Examples
    --------
    >>> people = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 2, "d": 0, "e": 1}}
    >>> machine = {"q1": {"a": 0, "b": 2, "c": 2}, "q2": {"a": 2, "d": 1}}
    >>> comparison = compare_judges(people, {"llm": machine})
    >>> comparison
    JudgeComparison(1 judge, 2 topics, grades 0 to 2)
    >>> comparison.to_polars().select("judge", "pairs", "missing", "agreement", "bias").rows()
    [('llm', 5, 1, 0.6, 0.4)]
    >>> comparison.confusion("llm").rows()
    [(0, 1, 1, 0), (1, 0, 0, 1), (2, 0, 0, 2)]
    """
    check_choice("level", level, LEVELS)
    check_share("confidence", confidence)
    panel = panel_of(human, judges, scale, cut)
    panel = replace(panel, human=sampled_only(panel.human))
    joints, counts = zip(*(matched(panel, judge) for judge in panel.judges), strict=True)
    joint = np.stack(joints)
    if joint.size > CELLS:
        sizes = f"{counted(len(panel.scale), 'grade')} and {counted(len(joint), 'judge')}"
        raise PolicyError(f"{sizes} are too many for tables of each topic")
    # Topics come first: functions over topics serve all judges at once.
    by_topic = np.swapaxes(joint, 0, 1).astype(np.float64)
    tables = of_joint(by_topic, np.array(panel.scale.grades, float))
    has = by_topic.sum(axis=(-2, -1)) > 0
    computed = statistics(panel.scale, level)
    total, without = tables.total(), tables.without_each()
    values, low, high = np.empty((3, len(computed), len(joint)))
    for k, (name, law) in enumerate(computed.items()):
        values[k] = law(total)
        shares = name in SHARES
        bounds = jackknife(
            values[k], law(without), has, confidence, bounded=name not in UNBOUNDED, shares=shares
        )
        low[k], high[k] = np.clip(bounds, 0.0, 1.0) if shares else bounds
    names = tuple(judge.name for judge in panel.judges)
    notes = [*panel.notes]
    for name, of_judge in zip(names, values.T, strict=True):
        lacking = [law for law, value in zip(computed, of_judge, strict=True) if np.isnan(value)]
        if lacking:
            notes.append(f"{name}: {', '.join(lacking)} not defined, as all grades are the same")
    return JudgeComparison(
        judges=names,
        topics=panel.human.topics,
        scale=tuple(panel.scale.grades),
        joint=joint,
        counts={name: np.array([row[name] for row in counts], np.int64) for name in COUNTS},
        statistics=tuple(computed),
        values=values.T,
        low=low.T,
        high=high.T,
        level=level,
        confidence=confidence,
        notes=tuple(notes),
    )
