"""Compare the grades of judges with human grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtrit

from cranfield.assess.agreement.coefficients import (
    MAX_ENTRIES,
    Tables,
    build_tables,
    compute_jackknife_intervals,
    compute_observed_agreement,
    estimate_degrees_of_freedom,
    parse_coefficient,
)
from cranfield.assess.agreement.distributions import DIVERGENCES, compute_closeness
from cranfield.assess.judges.reading import (
    GradeScale,
    count_grade_pairs,
    drop_unsampled,
    read_panel,
    tabulate,
)
from cranfield.assess.labels.table import check_size
from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import check_choice
from cranfield.base.kinds import OneOf, UnitInterval, check_arguments
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.text import format_range, inflect
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result, format_table
from cranfield.tabular import Table, format_interval, format_number


def compute_calibration(tables: Ints, confidence: float) -> tuple[Floats, Floats, Floats]:
    r"""Compute proportions of human grades by the grade of the judge, and their intervals.

    Tables have shape (topics, human grades, grades by the judge). Results have shape (grades by
    the judge, human grades), with NaN for a grade that the judge never gave. Intervals are
    Wilson's (1927) for a proportion p of n pairs with a grade by the judge, with n divided by the
    design effect of topics, as pairs of a topic are correlated. The design effect, at least 1, is
    the variance of p by the jackknife,

    .. math:: \frac{T-1}{T} \sum_t \left(\frac{n_{t1} - p\, n_t}{n - n_t}\right)^2,

    divided by p (1 - p) / n, where T topics have such pairs: topic t has :math:`n_t`, of which
    :math:`n_{t1}` have the human grade. The degrees of freedom of the t quantile are estimated from
    these terms by ``estimate_degrees_of_freedom``. For proportions of 0 and 1, whose variance
    cannot be estimated, n is the number of topics. With a single topic, intervals are from 0 to 1.
    """
    counts = np.swapaxes(tables, 1, 2).astype(np.float64)
    label_counts = counts.sum(axis=2, keepdims=True)
    n_labels = label_counts.sum(axis=0)
    n_topics = (label_counts > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        proportion = counts.sum(axis=0) / n_labels
        # Changes of the proportion if a topic is excluded.
        changes = (counts - proportion * label_counts) / (n_labels - label_counts)
        variance = (n_topics - 1) / n_topics * (changes**2).sum(axis=0)
        design_effect = np.maximum(1.0, variance / (proportion * (1 - proportion) / n_labels))
    is_extreme = (proportion == 0) | (proportion == 1)
    deflated_size = n_labels / np.where(is_extreme, 1.0, design_effect)
    effective_size = np.where(is_extreme, n_topics, deflated_size)
    df = np.where(is_extreme, n_topics - 1, estimate_degrees_of_freedom(changes, n_topics))
    quantile = stdtrit(np.maximum(df, 1), (1 + confidence) / 2)
    low, high = compute_wilson_intervals(proportion, effective_size, quantile)
    # With a single topic, the spread over topics is unknown.
    is_single = (n_topics < 2) & ~np.isnan(proportion)
    return proportion, np.where(is_single, 0.0, low), np.where(is_single, 1.0, high)


LEVELS = ("nominal", "ordinal", "interval", "ratio")  # Levels of measurement of alpha

COUNTS = {
    "labels": Column("Number of labels of the judge."),
    "pairs": Column("Number of the judge's labels for documents that people judged too."),
    "missing": Column("Number of pairs of topic and document that only people judged."),
    "extra": Column(
        "Number of the judge's labels for documents without a human judgment, in judged topics."
    ),
    "unknown": Column("Number of the judge's labels in topics that people did not judge."),
    "unparsed": Column("Number of answers of the judge without a grade."),
    "clipped": Column("Number of the judge's grades outside the scale, which are clipped to it."),
}
"""Columns with counts of labels by judge."""

SIDES = ("over", "under")  # Proportions of pairs that the judge grades higher, or lower
PROPORTIONS = ("agreement", *SIDES)  # Statistics that are proportions
MAX_CALIBRATIONS = 3  # Maximum number of judges whose calibration is printed
MIN_PAIRS = 10  # Minimum number of pairs for a note that a judge seems to use a binary scale
Statistic = Callable[[Tables], Floats]


def list_statistics(scale: GradeScale, level: str) -> dict[str, Statistic]:
    """Return the function of each statistic; the first assessor of its tables is human."""
    cuts = list(zip(scale.cuts, scale.grades[1:], strict=False))
    coefficients = {"kappa": "kappa"} | {f"kappa {name}": f"kappa(rel={k})" for name, k in cuts}
    coefficients |= {"alpha": f"alpha({level})"}
    coefficients |= {f"alpha {name}": f"alpha(nominal, rel={k})" for name, k in cuts}
    return {
        **{name: parse_coefficient(text).compute for name, text in coefficients.items()},
        "agreement": compute_observed_agreement,
        "bias": partial(_compute_mean_difference, lambda difference: difference),
        "over": partial(_compute_mean_difference, lambda difference: difference > 0),
        "under": partial(_compute_mean_difference, lambda difference: difference < 0),
    }


def _compute_mean_difference(function: Callable[[Floats], Any], tables: Tables) -> Floats:
    """Compute the mean over pairs of a function of the judge's grade minus the human grade."""
    assert tables.joint is not None
    differences = function(tables.grades[None, :] - tables.grades[:, None])
    n_pairs = tables.joint.sum(axis=(-2, -1))
    sums = (tables.joint * np.asarray(differences, dtype=np.float64)).sum(axis=(-2, -1))
    return np.asarray(sums / np.where(n_pairs > 0, n_pairs, np.nan))


def _compute_divergence(function: Callable[[Floats, Floats], Floats], joint: Floats) -> Floats:
    """Compute the divergence of a judge's distribution of grades from the human one."""
    proportions = joint / joint.sum(axis=(-2, -1), keepdims=True)
    return function(proportions.sum(axis=-2), proportions.sum(axis=-1))


ORDINAL_MEASURES: dict[str, Callable[[Floats], Floats]] = {
    **{name: partial(_compute_divergence, function) for name, function in DIVERGENCES.items()},
    "CEM-ORD": compute_closeness,
}
"""Functions that compute measures of ordinal quantification and classification from counts."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgeComparison(Result):
    """Agreement of judges with human labels; returned by :func:`compare_judges`.

    Attributes
    ----------
    judges, topics
        Names of the judges, and of the topics with human labels.
    scale
        Grades of the scale, ascending.
    joint
        Number of pairs by human grade and grade of the judge; shape (judges, topics, grades,
        grades).
    counts
        Counts of labels by name, as in the table `agreement`; each of shape (judges,).
    statistics
        Names of the statistics in the table `agreement`.
    values, low, high
        Statistics and their confidence intervals over topics; shape (judges, statistics). NaN if
        undefined, such as kappa of a single grade.
    level, confidence
        Level of measurement for alpha; confidence level of the intervals.
    notes
        Notes on undefined statistics and on how labels were read.
    """

    columns: ClassVar[dict[str, Columns]] = {
        "agreement": {
            "judge": Column("Judge.", key=True),
            **COUNTS,
            "kappa": Column("Cohen's kappa of all grades; null if undefined."),
            "alpha": Column("Krippendorff's alpha of all grades; null if undefined."),
            "*": Column(
                "Kappa or nominal alpha of binary grades, such as 0 and 1 against 2 and 3 for"
                " `kappa 01|23`; null if undefined."
            ),
            "agreement": Column("Proportion of pairs with equal grades, from 0 to 1."),
            "bias": Column("Mean of the grade by the judge minus the human grade."),
            "over": Column(
                "Proportion of pairs that the judge grades higher than people, from 0 to 1."
            ),
            "under": Column(
                "Proportion of pairs that the judge grades lower than people, from 0 to 1."
            ),
        },
        "intervals": {
            "judge": Column("Judge.", key=True),
            "statistic": Column("Statistic, a column of the table `agreement`.", key=True),
            "estimate": Column("Value of the statistic; null if undefined.", 3),
            "low": Column(
                "Lower bound of the confidence interval over topics; null if undefined.", 3
            ),
            "high": Column("Upper bound of the same confidence interval as `low`.", 3),
        },
        "calibration": {
            "judge": Column("Judge.", key=True),
            "label": Column("Grade by the judge.", key=True),
            "grade": Column("Human grade.", key=True),
            "pairs": Column("Number of pairs with this grade by the judge and this human grade."),
            "proportion": Column(
                "Proportion of this human grade among all pairs with this grade by the judge;"
                " null if the judge never gave this grade.",
                3,
            ),
            "low": Column(
                "Lower bound of the Wilson interval (design effect); null where `proportion` is.",
                3,
            ),
            "high": Column("Upper bound of the Wilson interval.", 3),
        },
        "distributions": {
            "judge": Column("Judge.", key=True),
            "measure": Column(
                "`NMD`, `RNOD`, `RSNOD` or `JSD`: divergence of the judge's distribution of grades"
                " from the human one, 0 if equal; `CEM-ORD`: closeness of its grades, 1 if equal.",
                key=True,
            ),
            "value": Column("Value of the measure over all pairs, from 0 to 1.", 4),
            "low": Column(
                "Lower bound of the confidence interval over topics; null if undefined.", 4
            ),
            "high": Column("Upper bound of the same confidence interval as `low`.", 4),
            "mean": Column("Mean over topics of the value of the measure on a single topic.", 4),
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
        statistics = dict(zip(self.statistics, self.values.T, strict=True))
        agreement = pl.DataFrame({"judge": self.judges, **self.counts, **statistics})
        return {
            "agreement": agreement.with_columns(pl.selectors.float().fill_nan(None)),
            "intervals": self.tabulate_intervals(),
            "calibration": self.tabulate_calibration(),
            "distributions": self.tabulate_distributions(),
        }

    def tabulate_intervals(self) -> pl.DataFrame:
        """Return the table `intervals`, with a row for each judge and statistic."""
        columns = {"estimate": self.values, "low": self.low, "high": self.high}
        return tabulate(columns, judge=self.judges, statistic=self.statistics)

    def tabulate_calibration(self) -> pl.DataFrame:
        """Return the table `calibration`: proportions of human grades by grade of the judge."""
        values = np.array([compute_calibration(table, self.confidence) for table in self.joint])
        columns = {"pairs": np.swapaxes(self.joint.sum(axis=1), 1, 2)}
        columns |= zip(("proportion", "low", "high"), values.swapaxes(0, 1), strict=True)
        return tabulate(columns, judge=self.judges, label=self.scale, grade=self.scale)

    def tabulate_distributions(self) -> pl.DataFrame:
        """Return the table `distributions`: divergences of judges' grades from human grades."""
        topic_counts = np.swapaxes(self.joint, 0, 1).astype(np.float64)
        values = np.empty((4, len(self.judges), len(ORDINAL_MEASURES)))
        has_pairs = topic_counts.sum(axis=(-2, -1)) > 0
        totals = topic_counts.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for k, function in enumerate(ORDINAL_MEASURES.values()):
                value, replicates = function(totals), function(totals - topic_counts)
                bounds = compute_jackknife_intervals(value, replicates, has_pairs, self.confidence)
                sums = np.where(has_pairs, function(topic_counts), 0.0).sum(axis=0)
                values[..., k] = value, *np.clip(bounds, 0.0, 1.0), sums / has_pairs.sum(axis=0)
        columns = dict(zip(("value", "low", "high", "mean"), values, strict=True))
        return tabulate(columns, judge=self.judges, measure=tuple(ORDINAL_MEASURES))

    def tabulate_confusion(self, judge: str) -> pl.DataFrame:
        """Return a data frame of pairs by human grade (rows) and grade of a judge (columns)."""
        check_choice("judge", judge, self.judges)
        table = self.joint[self.judges.index(judge)].sum(axis=0)
        columns = {str(name): table[:, k] for k, name in enumerate(self.scale)}
        return pl.DataFrame({"human grade": self.scale, **columns})

    def tables(self) -> list[Table]:
        frame, columns = self.to_polars(), self.columns["agreement"]
        title = f"Agreement with people: kappa, and alpha ({self.level}; nominal for binary grades)"
        coefficients = [name for name in self.statistics if name.startswith(("kappa", "alpha"))]
        agreement = format_table(frame.select("judge", "pairs", *coefficients), title, columns)
        tables = [agreement, self._make_interval_table()]
        if any(self.counts[name].any() for name in COUNTS if name not in ("labels", "pairs")):
            title = "Labels by judge: compared with people, without a match, and unparsed"
            counts = format_table(frame.select("judge", *COUNTS), title, columns)
            abouts = {name: column.about for name, column in COUNTS.items()}
            notes = [f"{name}: {about[0].lower()}{about[1:-1]}" for name, about in abouts.items()]
            tables.append(replace(counts, notes=notes))
        if len(self.judges) <= MAX_CALIBRATIONS:
            frames = self.tabulate_calibration().partition_by("judge", maintain_order=True)
            tables += map(self._make_calibration_table, self.judges, frames)
        return tables

    def _make_interval_table(self) -> Table:
        head, rows = ["judge"], [[judge] for judge in self.judges]
        for name in ("kappa", "alpha", "agreement", "bias", *SIDES):
            k = self.statistics.index(name)
            head += [name] if name in SIDES else [name, "interval"]
            for j, row in enumerate(rows):
                row.append(format_number(self.values[j, k], 3))
                if name not in SIDES:
                    row.append(format_interval(self.low[j, k], self.high[j, k], 3))
        title = f"Agreement with people: {100 * self.confidence:g}% confidence intervals"
        notes = (
            "interval: t interval by the jackknife over topics, computed for ln(1 - value) of kappa"
            " and alpha, and for the log odds of agreement (unless it is 0 without a topic)",
            "bias: mean of the grade by the judge minus the human grade; over, under:"
            " proportion of pairs that the judge grades higher or lower than people",
        )
        return Table(title, head, rows, (0,), notes)

    def _make_calibration_table(self, judge: str, frame: pl.DataFrame) -> Table:
        title = f"Calibration of {judge}: proportions of human grades by grade of the judge"
        rows = []
        for (label,), group in frame.group_by(["label"], maintain_order=True):
            rows.append([str(label), f"{group['pairs'].sum():,}"])
            for bounds in group.select("proportion", "low", "high").iter_rows():
                proportion, low, high = (format_number(bound, 3) for bound in bounds)
                rows[-1].append(f"{proportion} ({low}-{high})" if proportion else "")
        head = ["grade by judge", "pairs", *(f"people: {grade}" for grade in self.scale)]
        note = (
            f"in parentheses: {100 * self.confidence:g}% Wilson interval, with the number of pairs"
            " divided by the design effect of topics; with the number of topics if the proportion"
            " is 0 or 1"
        )
        return Table(title, head, rows, (0,), (note,))

    def heading(self) -> list[str]:
        sizes = f"{inflect(len(self.judges), 'judge')}, {inflect(len(self.topics), 'topic')}"
        return [f"{sizes}, grades {self.scale[0]} to {self.scale[-1]}"]


def compare_judges(
    human: Any,
    judges: Any,
    *,
    scale: Any = None,
    clip: bool = False,
    level: Annotated[str, OneOf(LEVELS)] = "ordinal",
    confidence: Annotated[float, UnitInterval()] = 0.95,
) -> JudgeComparison:
    r"""Compare the grades of judges, such as large language models, with human grades.

    Parameters
    ----------
    human
        Human judgments: any input of :func:`cranfield.read_qrels`. A grade below 0 counts as
        the lowest grade; with several subtopics, the highest grade counts.
    judges
        Labels of judges: any input of :func:`read_judges`.
    scale
        Lowest and highest possible grade, such as `(0, 3)` or `"0..3"`; by default 0 and the
        highest grade that people gave.
    clip
        Whether to clip grades outside the scale to its nearest end; by default they are an error.
    level
        Level of measurement for Krippendorff's alpha over all grades: `ordinal`, `nominal`,
        `interval` or `ratio`. For binary grades it is nominal.
    confidence
        Confidence level of the intervals over topics.

    Returns
    -------
    JudgeComparison
        Result with a row per judge.

    Raises
    ------
    InputError
        With file, line and grade, for a grade outside the scale; for unreadable input; and for a
        judge that labelled none of the pairs that people judged.
    PolicyError
        For an unknown option, or a scale of more than 101 grades.

    Notes
    -----
    Only pairs with labels by both people and the judge are compared; others are only counted.
    Cohen's kappa, Krippendorff's alpha and the jackknife t intervals over topics are computed as by
    :func:`agreement_of`, and the interval of the bias on the scale of grades; degrees of freedom
    depend on how evenly topics contribute. Scale and binary cuts follow Rahmani et al. (2025),
    LLMJudge.

    Examples
    --------
    >>> people = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 2, "d": 0, "e": 1}}
    >>> machine = {"q1": {"a": 0, "b": 2, "c": 2}, "q2": {"a": 2, "d": 1}}
    >>> comparison = compare_judges(people, {"llm": machine})
    >>> comparison
    JudgeComparison(1 judge, 2 topics, grades 0 to 2)
    >>> comparison.to_polars().select("judge", "pairs", "missing", "agreement", "bias").rows()
    [('llm', 5, 1, 0.6, 0.4)]
    >>> comparison.tabulate_confusion("llm").rows()
    [(0, 1, 1, 0), (1, 0, 0, 1), (2, 0, 0, 2)]
    """
    check_arguments(compare_judges, locals())
    panel = read_panel(human, judges, scale, clip)
    panel = replace(panel, human=drop_unsampled(panel.human))
    sizes = {"judge": len(panel.judges), "topic": len(panel.human.topics)}
    check_size(sizes | dict.fromkeys(("grade", "other grade"), len(panel.scale)), MAX_ENTRIES)
    joints, counts = zip(*(count_grade_pairs(panel, judge) for judge in panel.judges), strict=True)
    joint = np.stack(joints)
    # Topics come first, as statistics are computed for all judges at once.
    topic_counts = np.swapaxes(joint, 0, 1).astype(np.float64)
    tables = build_tables(topic_counts, np.array(panel.scale.grades, float))
    has_pairs = topic_counts.sum(axis=(-2, -1)) > 0
    functions = list_statistics(panel.scale, level)
    totals, leave_one_out = tables.sum_topics(), tables.sum_other_topics()
    values, low, high = np.empty((3, len(functions), len(joint)))
    for k, (name, statistic) in enumerate(functions.items()):
        values[k], replicates = statistic(totals), statistic(leave_one_out)
        # Only the bias can exceed 1.
        interval_options = {"is_bounded": name != "bias", "is_proportion": name in PROPORTIONS}
        bounds = compute_jackknife_intervals(
            values[k], replicates, has_pairs, confidence, **interval_options
        )
        # Clip bounds to the possible values of the statistic.
        min_value = 0.0 if name in PROPORTIONS else -np.inf if name == "bias" else -1.0
        low[k] = np.maximum(bounds[0], min_value)
        high[k] = np.minimum(bounds[1], 1.0) if name in PROPORTIONS else bounds[1]
    names = tuple(judge.name for judge in panel.judges)
    notes = [*panel.notes, *_note_unequal_sampling(panel.human)]
    for name, is_undefined in zip(names, np.isnan(values.T), strict=True):
        if undefined_names := ", ".join(compress(functions, is_undefined)):
            notes.append(f"{name}: {undefined_names} undefined, as all (binary) grades are equal")
    for judge, pairs in zip(panel.judges, joint.sum(axis=1), strict=True):
        grades = [np.flatnonzero(pairs.any(axis=axis)) + panel.scale.min_grade for axis in (1, 0)]
        (low_human, high_human), (low_judge, high_judge) = [(g[0], g[-1]) for g in grades]
        is_shifted = (low_judge - low_human) * (high_judge - high_human) > 0
        is_binary = [*grades[1]] == [0, 1] and len(grades[0]) > 2 and pairs.sum() >= MIN_PAIRS
        if is_shifted or is_binary:
            notes.append(
                f"{judge.name}: people use grades {format_range(grades[0])}, the judge"
                f" {format_range(grades[1])}; if the scales differ, map the grades to one scale"
                " first"
            )
    counts_by_name = {name: np.array([row[name] for row in counts], np.int64) for name in COUNTS}
    return JudgeComparison(
        judges=names,
        topics=panel.human.topics,
        scale=tuple(panel.scale.grades),
        joint=joint,
        counts=counts_by_name,
        statistics=tuple(functions),
        values=values.T,
        low=low.T,
        high=high.T,
        level=level,
        confidence=confidence,
        notes=tuple(notes),
    )


def _note_unequal_sampling(human: Qrels) -> Iterator[str]:
    """Note that agreement does not correct for unequal inclusion probabilities."""
    design = [name for name in ("inclusion", "stratum") if name in human.columns]
    if design and len(np.unique(human.columns[design[0]])) > 1:
        yield (
            f"people judged a sample with different values of {design[0]}; agreement, bias and"
            " calibration count each judged document once, without a correction for the sampling"
        )
