"""Study of predictive power: proportions of human preferences that measures predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import quote
from cranfield.base.kinds import Flag, check_arguments
from cranfield.base.proportions import compute_clopper_pearson_intervals
from cranfield.base.text import inflect
from cranfield.meta.measure_studies.correlations import (
    compute_preference_signs,
    name_pairs,
    orient_values,
    read_measure_scores,
)
from cranfield.meta.study import MEASURE_PAIR, Study, describe_extremes, find_names, format_percent
from cranfield.meta.study_options import Proportion
from cranfield.online.interleaving.side_by_side import PREFERENCES, parse_signs, read_votes
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores, find_labels
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues


def merge_votes(table: pl.DataFrame) -> pl.DataFrame:
    """Merge preferences between the same runs on a topic; equal numbers of votes are a tie."""
    is_reversed = pl.col("first") > pl.col("second")
    replacements = (("first", "second"), ("second", "first"), ("preferred", -pl.col("preferred")))
    return (
        table.with_columns(
            pl.when(is_reversed).then(replacement).otherwise(name).alias(name)
            for name, replacement in replacements
        )
        .group_by("topic", "first", "second", maintain_order=True)
        .agg(
            pl.col("preferred").sum().sign(),
            pl.col("votes").sum(),
            pl.lit(None, dtype=pl.String).alias("assessor"),
        )
    )


def read_preferences(data: Any, scores: Scores) -> pl.DataFrame:
    """Read preferences, and check that their topics and systems have scores.

    Returns a table with the columns `topic`, `first`, `second`, `preferred` (1 for the first, -1
    for the second, 0 for a tie), `votes` (1) and `assessor`, which may be null.
    """
    table = read_votes(data, PREFERENCES)
    names_with_scores = {"topic": set(scores.topics), "system": set(scores.systems)}
    for row, names in enumerate(table.frame.select("topic", "first", "second").iter_rows()):
        for kind, name in zip(("topic", "system", "system"), names, strict=True):
            if name not in names_with_scores[kind]:
                raise table.make_row_error(row, f"{kind} {quote(name or '')} has no scores")
    return table.frame.select(
        *("topic", "first", "second"),
        pl.Series("preferred", parse_signs(table, "preferred"), pl.Int64),
        pl.lit(1, pl.Int64).alias("votes"),
        "assessor",
    )


_PREFERENCE_COLUMNS = {
    "measure": Column("Measure; in `preferences`, the most predictive first.", key=True),
    "preferences": Column(
        "Number of preferences of one run over another, where both runs have scores by the measure."
    ),
    "correct": Column("Number of preferences where the measure prefers the same run."),
    "wrong": Column("Number of preferences where the measure prefers the other run."),
    "tied": Column("Number of preferences where the measure ties both runs."),
    "predicted": Column("`correct` / `preferences`; null without preferences."),
    "low": Column(
        "Lower bound of the exact confidence interval of `predicted` (Clopper and Pearson 1934)."
    ),
    "high": Column("Upper bound of the same confidence interval as `low`."),
    "of decided": Column("`correct` / (`correct` + `wrong`); null if both are 0."),
    "p": Column(
        "p-value of the exact two-sided sign test of `correct` and `wrong`.", is_pvalue=True
    ),
    "no preference": Column(
        "Number of pairs of runs that were judged equal; excluded from all proportions.",
        display=False,
    ),
    "both tied": Column("Number of pairs in `no preference` that the measure ties.", display=False),
    "missing": Column(
        "Number of pairs of runs in which at least one run has no score by the measure."
    ),
}


class PredictivePower(Study):
    """Numbers and proportions of human preferences that each measure predicts.

    Attributes
    ----------
    measures
        Text forms of the measures, in order.
    preferences
        Table of the preferences: `topic`, `first`, `second`, `preferred` (1 for the first, -1 for
        the second, 0 for a tie), `votes`, the number of merged preferences, and `assessor`, which
        may be null.
    summary, by_assessor, versus
        The tables `preferences`, `assessors` (empty without assessors) and `versus`.
    """

    name = "predictive-power"
    reference: ClassVar[str] = "Sanderson, Paramita, Clough and Kanoulas (2010); Sakai (2013)"
    table_attributes: ClassVar[Sequence[str]] = ("summary", "by_assessor", "versus")
    columns: ClassVar[Mapping[str, Columns]] = {
        "preferences": _PREFERENCE_COLUMNS,
        "assessors": {"assessor": Column("Assessor.", key=True), **_PREFERENCE_COLUMNS},
        "versus": {
            **MEASURE_PAIR,
            "first only": Column("Number of preferences that only the first measure predicts."),
            "second only": Column("Number of preferences that only the second measure predicts."),
            "p": Column(
                "p-value of the exact two-sided sign test of `first only` and `second only`.",
                is_pvalue=True,
            ),
        },
    }

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.summary.drop_nulls("predicted")
        if rows.is_empty():
            return ()

        def describe(row: Mapping[str, Any]) -> tuple[str, str]:
            names = ("predicted", "low", "high")
            predicted, low, high = (format_percent(row[name]) for name in names)
            interval = f"{100 * self.confidence:g}% confidence interval {low} to {high}"
            return (
                f"{row['correct']:,} of {row['preferences']:,}, {predicted} ({interval})",
                predicted,
            )

        names = find_names(rows, "predicted", rows["predicted"][0])
        lead = describe_extremes(rows, "predicted", "human preferences predicted", describe)
        if len(names) == 1 < len(rows):
            n_different = self.versus.filter(
                (pl.col("first") == names[0]) | (pl.col("second") == names[0]),
                pl.col("p") <= 1 - self.confidence,
            ).height
            lead += (
                f" By sign tests at level {1 - self.confidence:g}, without correction, {names[0]}"
                f" differs from {n_different:,} of the"
                f" {inflect(len(self.measures) - 1, 'other measure')}."
            )
        return (
            lead,
            "Intervals and tests treat all preferences as independent, even preferences on the same"
            " topic or of the same assessor.",
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        frames = super().frames().items()
        return {name: frame for name, frame in frames if name == "preferences" or frame.height}

    def heading(self) -> list[str]:
        n_ties = int((self.preferences["preferred"] == 0).sum())
        ties = f" (and {inflect(n_ties, 'tie')}, not counted)" if n_ties else ""
        return [
            f"predictive power of {inflect(len(self.measures), 'measure')}:"
            f" {inflect(self.preferences.height - n_ties, 'human preference')}{ties}",
            f"low, high: {100 * self.confidence:g}% confidence interval of predicted; p: sign test"
            " that correct and wrong predictions are equally likely",
        ]


def predictive_power(
    scores_by_measure: Any,
    preferences: Any,
    *,
    majority: Annotated[bool, Flag()] = False,
    confidence: Proportion = 0.95,
) -> PredictivePower:
    r"""Compare measures by the proportion of human preferences that they predict.

    .. math:: \mathrm{predicted}(M) = \frac{|\{(q, x, y) : x \succ y, \; M(q, x) > M(q, y)\}|}
        {|\{(q, x, y) : x \succ y\}|}

    over topics q on which an assessor preferred the run of system x to the run of system y.

    Source: Sanderson, Paramita, Clough and Kanoulas (2010); Sakai (2013), section 5.3.

    Parameters
    ----------
    scores_by_measure
        As for :func:`discriminative_power`, with the same topics and systems for all measures.
    preferences
        A data frame or a CSV or TSV file with the columns `topic`, `first`, `second`, `preferred`
        and optionally `assessor`, with these or other usual names, such as `left` and `right`; or
        tuples in this order. `preferred` is the name of a system, or one of the following words if
        no system of the table has that name: `first`, `left`, `1` and `a`; `second`, `right`, `2`
        and `b`; `tie`, `same`, `equal` and `0`.
    majority
        Whether to merge the preferences between the same two runs on a topic into the majority
        preference. Ties are votes for neither run; equal numbers of votes are a tie.
    confidence
        Confidence level of the intervals, between 0 and 1.

    Raises
    ------
    InputError
        For preferences that cannot be read.
    CranfieldError
        For a topic or system without scores, and measures with different topics or systems.
    PolicyError
        For an invalid option, or no measures.

    Notes
    -----
    A measure that ties two runs makes no prediction: `predicted` counts a tie as not correct, so
    that measures gain nothing from deciding only easy cases, and `of decided` excludes ties. Scores
    on a topic that differ by at most 2**-44 of the largest absolute score on it are tied. Scores of
    measures for which lower is better are negated.

    Intervals and tests assume that preferences are independent. Preferences of several assessors
    for the same runs are not independent; merge such preferences with `majority=True`.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"x": 1, "y": 2}}}
    >>> ev = cf.evaluate(runs, {"q": {"x": 1}}, ["RR", "P@2"])
    >>> study = predictive_power(ev, [("q", "a", "b", "a"), ("q", "b", "a", "right")])
    >>> study.summary["measure", "correct", "wrong", "tied", "predicted"].rows()
    [('RR', 2, 0, 0, 1.0), ('P@2', 0, 0, 2, 0.0)]
    """
    call = check_arguments(predictive_power, locals())
    scores = align_scores(read_measure_scores(scores_by_measure))
    reference = next(iter(scores.values()))
    table = read_preferences(preferences, reference)
    if majority:
        table = merge_votes(table)
    names = tuple(scores)
    signs = _measure_preferences(list(scores.values()), table)
    human_signs = table["preferred"].to_numpy().astype(np.float64)
    summary = _summarise_signs(names, signs, human_signs, confidence)
    assessor_tables = [summary.clear().insert_column(0, pl.Series("assessor", [], pl.String))]
    for assessor in table["assessor"].drop_nulls().unique(maintain_order=True):
        mask = (table["assessor"] == assessor).fill_null(False).to_numpy()
        frame = _summarise_signs(names, signs[:, mask], human_signs[mask], confidence)
        assessor_tables.append(frame.select(pl.lit(assessor).alias("assessor"), pl.all()))
    return PredictivePower(
        call,
        measures=names,
        preferences=table,
        summary=summary.sort("predicted", descending=True, nulls_last=True, maintain_order=True),
        by_assessor=pl.concat(assessor_tables),
        versus=_compare_pairs(names, signs, human_signs),
    )


def _measure_preferences(scores: list[Scores], table: pl.DataFrame) -> Floats:
    """Return the preferences of measures, NaN without a score; shape (measures, preferences)."""
    values = orient_values(scores)
    first, second = (find_labels(table[name], scores[0].systems) for name in ("first", "second"))
    topics = find_labels(table["topic"], scores[0].topics)
    signs = np.empty((len(scores), table.height))
    for topic in np.unique(topics):
        indices = np.flatnonzero(topics == topic)
        signs[:, indices] = compute_preference_signs(
            values[:, topic], first[indices], second[indices]
        )
    return signs


def _summarise_signs(
    names: Sequence[str], signs: Floats, human_signs: Floats, confidence: float
) -> pl.DataFrame:
    has_score, is_decided = ~np.isnan(signs), human_signs != 0
    n_preferences = (has_score & is_decided).sum(axis=1)
    n_correct = ((signs == human_signs) & is_decided).sum(axis=1)
    n_wrong = ((signs == -human_signs) & is_decided).sum(axis=1)
    low, high = compute_clopper_pearson_intervals(n_correct, n_preferences, confidence)
    with np.errstate(invalid="ignore"):
        predicted, decided_proportion = n_correct / n_preferences, n_correct / (n_correct + n_wrong)
    return pl.DataFrame(
        {
            "measure": pl.Series(names, dtype=pl.String),
            "preferences": n_preferences,
            "correct": n_correct,
            "wrong": n_wrong,
            "tied": n_preferences - n_correct - n_wrong,
            "predicted": predicted,
            "low": low,
            "high": high,
            "of decided": decided_proportion,
            "p": compute_binomial_pvalues(n_correct, n_wrong),
            "no preference": np.full(len(names), (~is_decided).sum()),
            "both tied": ((signs == 0) & ~is_decided).sum(axis=1),
            "missing": (~has_score).sum(axis=1),
        }
    ).fill_nan(None)


def _compare_pairs(names: Sequence[str], signs: Floats, human_signs: Floats) -> pl.DataFrame:
    """Compare pairs of measures on the preferences for which both have scores."""
    is_scored = (~np.isnan(signs) & (human_signs != 0)).astype(np.float64)
    is_correct = (signs == human_signs) * is_scored
    n_only_first = (is_correct @ (is_scored - is_correct).T).astype(np.int64)
    i, j = np.triu_indices(len(names), 1)
    return pl.DataFrame(
        {
            **name_pairs(names),
            "first only": n_only_first[i, j],
            "second only": n_only_first[j, i],
            "p": compute_binomial_pvalues(n_only_first[i, j], n_only_first[j, i]),
        }
    )
