"""Study of query performance prediction: agreement of predictions with scores of systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, check_choice, check_list, quote, warn
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.text import format_names, format_prefix, inflect, list_some
from cranfield.meta.measure_studies.correlations import compute_correlation_matrix
from cranfield.meta.study import Study, find_names
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.significance.differences import encode_scores
from cranfield.significance.models.anova import fit_factorial
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.models.factors import compare_levels
from cranfield.significance.prepare import as_scores
from cranfield.sources.columns import read_columns, read_mapping_columns
from cranfield.sources.schemas import INDEX_NAME, FileColumn, Schema, declare_optional, fold_name
from cranfield.sources.values import ID, LABEL, NUMBER, is_absent
from cranfield.tabular import format_number

TIES = ("average", "min", "max")
"""Ranks of tied topics: the mean, smallest or largest of their ranks."""

ALPHA = 0.05
"""Significance level of Tukey's HSD."""

_TABLE_KIND = "table of predictions"
_PREDICTION_VALUE = replace(NUMBER, becomes_null=is_absent)
_NOT_PREDICTORS = frozenset({"fold", "split", "index", "rank", "row"})
"""Names of numeric columns that are not predictors, besides an index without a name."""

_USUAL_PREDICTORS = frozenset(("wig", "nqc", "smv", "clarity", "uef", "scq", "avgidf", "maxidf"))
"""Usual names of predictors, normalised by `fold_name`."""

_KEYS = (FileColumn("topic", LABEL), declare_optional("system", ID))
_PREDICTIONS = Schema(
    _TABLE_KIND,
    (*_KEYS, FileColumn("predictor", LABEL), FileColumn("prediction", _PREDICTION_VALUE)),
    noun="predictions",
    default_format="csv",
    tuples=("topic", "predictor", "prediction", "system"),
    read_mapping=read_mapping_columns,
)

_PREDICTOR_COLUMNS = {
    "predictor": Column("Predictor.", key=True),
    "system": Column("System whose scores are predicted.", key=True),
}


class Prediction(Study):
    """Agreement of predictions of query performance with the scores of systems.

    Attributes
    ----------
    measure
        The predicted measure; empty if unknown.
    n_topics
        Number of topics with a score of every system and a prediction of every predictor.
    ties
        How tied topics were ranked.
    lower_is_better
        Predictors whose low values predict good scores.
    random_smare
        Expected sMARE of random predictions, if neither predictions nor scores have ties.
    summary, anova_table, pairs, by_topic
        The tables `predictors`, `anova`, `pairs` and `topics`.
    notes
        Notes on excluded topics and systems, and on constant predictions or scores.
    """

    name = "prediction"
    reference: ClassVar[str] = "Faggioli, Zendel, Culpepper, Ferro and Scholer (2021, 2022)"
    table_attributes: ClassVar[Sequence[str]] = ("summary", "anova_table", "pairs", "by_topic")
    titles: ClassVar[Mapping[str, str]] = {
        "predictors": "Predictors",
        "anova": "Analysis of variance of the scaled absolute rank error (sARE)",
        "pairs": "Pairs of predictors, by Tukey's HSD; low, high: simultaneous 95% interval",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "predictors": {
            **_PREDICTOR_COLUMNS,
            "topics": Column("Number of topics."),
            "pearson": Column(
                "Pearson's correlation of predictions and scores; null if either is constant."
            ),
            "spearman": Column("Spearman's rho, with mid-ranks; null where `pearson` is null."),
            "tau": Column("Kendall's tau-b; null where `pearson` is null."),
            "sMARE": Column(
                "Scaled mean absolute rank error: mean of sARE over topics, 0 if predictions and"
                " scores order the topics alike; lower is better."
            ),
            "tied predictions": Column("Number of pairs of topics with the same prediction."),
            "tied scores": Column("Number of pairs of topics with the same score."),
        },
        "anova": AnovaTable.columns,
        "pairs": {
            "first": Column("First predictor of the pair.", key=True),
            "second": Column("Second predictor of the pair.", key=True),
            "difference": Column(
                "Mean sMARE over systems, first predictor minus second predictor."
            ),
            "low": Column("Lower bound of the simultaneous 95% interval of the difference."),
            "high": Column("Upper bound of the same confidence interval as `low`."),
            "q": Column("Studentised difference; null if the model has no error variance."),
            "p": Column(
                "Tukey's p-value, corrected for all pairs; null if `q` is null.", is_pvalue=True
            ),
        },
        "topics": {
            "topic": Column("Topic.", key=True),
            **_PREDICTOR_COLUMNS,
            "prediction": Column("Prediction."),
            "score": Column("Score."),
            "predicted rank": Column(
                "Rank of the prediction; 1 is the worst predicted effectiveness."
            ),
            "rank": Column("Rank of the score; 1 is the worst score."),
            "sARE": Column("Scaled absolute rank error: |predicted rank - rank| / topics."),
        },
    }

    @property
    def verdict(self) -> tuple[str, ...]:
        means = self.summary.group_by("predictor", maintain_order=True).agg(pl.col("sMARE").mean())
        baseline = f"random, without ties: {format_number(self.random_smare, 4)} on average."
        low, high = (
            f"{format_names(find_names(means, 'sMARE', value, 'predictor'), 'predictor')},"
            f" {format_number(value, 4)}"
            for value in (means["sMARE"].min(), means["sMARE"].max())
        )
        if len(means) == 1 or low == high:
            return (f"sMARE: {low}; {baseline}",)
        n_rejected = self.pairs.filter(pl.col("p") <= ALPHA).height
        return (
            f"Lowest sMARE: {low}; highest: {high}; {baseline}",
            f"By Tukey's HSD at {ALPHA:g}, significantly different: {n_rejected} of"
            f" {inflect(len(self.pairs), 'pair')} of predictors.",
            "The analysis of variance is approximate, because the rank errors of a predictor on"
            " different topics are not independent.",
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        frames = super().frames().items()
        return {name: frame for name, frame in frames if frame.height}

    def heading(self) -> list[str]:
        suffix = f"; low values predict good scores: {', '.join(self.lower_is_better)}"
        return [
            f"{format_prefix(self.measure)}"
            f"{inflect(self.summary['predictor'].n_unique(), 'predictor')},"
            f" {inflect(self.summary['system'].n_unique(), 'system')},"
            f" {inflect(self.n_topics, 'topic')}",
            f"sMARE (scaled mean absolute rank error): mean of |rank of prediction - rank of score|"
            f" / topics; ranks of ties: {self.ties}{suffix if self.lower_is_better else ''}",
        ]


def prediction(
    scores: Any,
    predictions: Any,
    *,
    ties: Annotated[str, OneOf(TIES)] = "average",
    lower_is_better: Iterable[str] = (),
) -> Prediction:
    r"""Evaluate predictors of query performance by the order of topics that they predict.

    .. math:: \mathrm{sARE}(q) = \frac{|r_p(q) - r_e(q)|}{Q}, \quad
        \mathrm{sMARE} = \frac{1}{Q} \sum_q \mathrm{sARE}(q)

    with the ranks of the prediction and of the score of topic q among Q topics, 1 for the worst.

    Source: Faggioli, Zendel, Culpepper, Ferro and Scholer (2021, 2022).

    Parameters
    ----------
    scores
        Scores of one measure, as for :func:`cranfield.compare`.
    predictions
        A data frame or a file with the columns `topic`, `predictor`, `prediction` and optionally
        `system`; or with `topic`, optionally `system`, and a numeric column for each predictor.
        Columns with the name fold, split, index, rank or row are not used. Without `system` the
        predictions are for all systems.
    ties
        Ranks of tied topics: `average`, `min` or `max`.
    lower_is_better
        Predictors whose low values predict good scores; their predictions are negated. If the
        measure itself is better when lower, such as latency, include its name.

    Raises
    ------
    InputError
        For predictions that cannot be read or are named like systems, and duplicates.
    PolicyError
        For an unknown predictor in `lower_is_better`, or unknown ties.
    CranfieldError
        For fewer than two complete topics, missing predictions for a system, and infinite scores.

    Notes
    -----
    Topics that lack a score of a system or a prediction of a predictor are excluded before
    ranking. High predictions are expected for good scores, also for a measure for which lower
    scores are better. Without ties of predictions or scores, random predictions have an expected
    sMARE of (Q^2 - 1) / (3 Q^2), and predictions in reversed order about 1/2.

    If predictions or scores are constant, correlations are undefined, not 0; sMARE is defined, but
    not informative. The analysis of variance of sARE has the factors topic and predictor; with
    several systems also system and all interactions of two factors. Tukey's HSD compares predictors
    at level 0.05.

    Examples
    --------
    >>> study = prediction(
    ...     {"bm25": {"q1": 0.3, "q2": 0.1, "q3": 0.6}},
    ...     {"topic": ["q1", "q2", "q3"], "wig": [2.0, 1.0, 3.0], "nqc": [1.0, 2.0, 3.0]},
    ... )
    >>> study.summary["predictor", "tau", "sMARE"].rows()
    [('wig', 1.0, 0.0), ('nqc', 0.3333..., 0.2222...)]
    """
    call = check_arguments(prediction, locals())
    check_list("lower_is_better", lower_is_better)
    negated_predictors = tuple(lower_is_better)
    topic_scores = as_scores(scores).check_finite().average_shards()
    measure = topic_scores.measure
    data, notes = _align_topics(topic_scores, _read_predictions(predictions))
    if measure in negated_predictors and measure not in data.predictors:
        topic_scores = topic_scores.with_direction(lower_is_better=True)
        negated_predictors = tuple(name for name in negated_predictors if name != measure)
    for name in negated_predictors:
        known_names = (*data.predictors, *([measure] if measure else []))
        check_choice("predictor in lower_is_better", name, known_names)
    notes += topic_scores.get_direction_notes()
    if topic_scores.lower_is_better:
        notes[-1] += ", so high predictions are expected for low scores"
    signs = np.where([name in negated_predictors for name in data.predictors], -1.0, 1.0)
    score_sign = -1 if topic_scores.lower_is_better else 1
    summary, topics, rank_errors = _evaluate_predictors(data, signs, ties, score_sign)
    notes += _note_constants(summary, len(data.topics))
    anova, pairs = _analyse_errors(rank_errors, data.predictors)
    n_topics = len(data.topics)
    return Prediction(
        call | {"lower_is_better": negated_predictors},
        measure=measure or "",
        n_topics=n_topics,
        random_smare=(n_topics**2 - 1) / (3 * n_topics**2),
        summary=summary,
        anova_table=anova,
        pairs=pairs,
        by_topic=topics,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _PredictionData:
    """Predictions, shape (predictors, systems, topics), and scores, (systems, topics)."""

    predictors: tuple[str, ...]
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    predictions: Floats
    scores: Floats


def _read_predictions(data: Any) -> pl.DataFrame:
    """Read columns topic, system (null: all systems), predictor and prediction."""
    columns = read_columns(data, _PREDICTIONS)
    is_long = "predictor" in map(fold_name, columns.names)
    schema, names = _PREDICTIONS, []
    if not is_long:
        schema = replace(schema, columns=_KEYS, is_selected=True, decisive_kinds=())
        key_columns = schema.find_positions(columns.names, columns.source).values()
        # Columns that describe topics in words are not predictors.
        names = [
            str(name)
            for k, name in enumerate(columns.names)
            if k not in key_columns
            and (fold_name(name) == "prediction" or not schema.is_descriptive(name))
        ]
        other_columns = [
            name
            for name in names
            if fold_name(name) in _NOT_PREDICTORS or INDEX_NAME.fullmatch(fold_name(name))
        ]
        names = [name for name in names if name not in other_columns]
        # A first column without a name is the index of a data frame.
        first = columns.names[0]
        is_index = first in other_columns and fold_name(first) not in _NOT_PREDICTORS
        if unused_columns := other_columns[is_index:]:
            names_text = list_some(map(quote, unused_columns), 12)
            warn(f"{columns.source}: columns not used: {names_text}")
        if not names:
            reason = "expected a column for each predictor, got none"
            raise InputError(reason, source=columns.source)
        predictors = (FileColumn(name, _PREDICTION_VALUE, None) for name in names)
        schema = replace(schema, columns=(*_KEYS, *predictors))
    table = columns.make_table(schema)
    keys = ["topic", "system", *(["predictor"] if is_long else [])]
    table.refuse(
        ~table.frame.select(keys).to_struct().is_first_distinct(),
        lambda row: f"duplicate prediction for {', '.join(quote(row[k]) for k in keys if row[k])}",
    )
    if is_long:
        return table.frame.select(*keys, "prediction")
    return table.frame.unpivot(
        names, index=keys, variable_name="predictor", value_name="prediction"
    )


def _check_names(systems: Sequence[str], predictors: Iterable[str]) -> None:
    """Refuse predictors named after several systems; warn of systems named like predictors."""
    system_names = [
        next(
            (name for name in systems if re.search(rf"(^|[\W_]){re.escape(name)}([\W_]|$)", text)),
            "",
        )
        for text in predictors
    ]
    if len({*system_names} - {""}) > 1:
        texts = list_some(map(quote, compress(predictors, system_names)), 3)
        raise InputError(
            f"predictors {texts} are named like systems, but without a column of systems each"
            " predicts all systems; use the columns topic, system, predictor and prediction"
        )
    if names := [quote(name) for name in systems if fold_name(name) in _USUAL_PREDICTORS]:
        warn(
            f"{list_some(names, 3)} are usual names of predictors, but are read as systems with"
            " scores; check that scores and predictions are not exchanged"
        )


def _align_topics(scores: Scores, table: pl.DataFrame) -> tuple[_PredictionData, list[str]]:
    """Return the predictions and scores of topics that have all of them, and notes."""
    if table["system"].null_count():
        _check_names(scores.systems, table["predictor"].unique(maintain_order=True))
        all_systems = pl.lit(list(scores.systems), dtype=pl.List(pl.String))
        table = table.with_columns(system=all_systems).explode("system")
    predicted_systems = set(table["system"])
    systems = tuple(system for system in scores.systems if system in predicted_systems)
    if not systems:
        names = list_some(map(quote, sorted(predicted_systems)), 3)
        raise CranfieldError(f"expected predictions for a system with scores, got systems {names}")
    table = table.filter(pl.col("system").is_in(systems))
    predictors = tuple(table["predictor"].unique(maintain_order=True))
    table = table.drop_nulls("prediction")
    predicted_pairs = set(table.select("predictor", "system").iter_rows())
    for pair in product(predictors, systems):
        if pair not in predicted_pairs:
            predictor, system = map(quote, pair)
            raise CranfieldError(f"predictor {predictor} has no prediction for system {system}")
    is_known = table["topic"].is_in(list(scores.topics))
    known_rows = table.filter(is_known)
    labels = {"predictor": predictors, "system": systems, "topic": scores.topics}
    cube = np.full([len(names) for names in labels.values()], np.nan)
    codes = (known_rows[key].cast(pl.Enum(names)).to_physical() for key, names in labels.items())
    cube[tuple(codes)] = known_rows["prediction"]
    system_scores = scores.select(systems=systems).values.T
    has_scores = ~np.isnan(system_scores).any(axis=0)
    is_complete = ~np.isnan(cube).any(axis=(0, 1))
    has_predictions = ~np.isnan(cube).all(axis=(0, 1))
    n_unscored = int((has_predictions & ~has_scores).sum())
    n_unscored += table["topic"].filter(~is_known).n_unique()
    n_unpredicted = int((has_scores & ~is_complete).sum())
    exclusions = (
        (len(predicted_systems - set(systems)), "system", "with predictions but no scores"),
        (len(scores.systems) - len(systems), "system", "without predictions"),
        (n_unscored, "topic", "with predictions but without a score of at least one system"),
        (n_unpredicted, "topic", "with scores but without a prediction of at least one predictor"),
    )
    notes = [f"excluded {inflect(n, noun)} {reason}" for n, noun, reason in exclusions if n]
    is_common = has_scores & is_complete
    topics = tuple(compress(scores.topics, is_common))
    if len(topics) < 2:
        spelling = ""
        if not is_known.any():
            ids = quote(scores.topics[0]), quote(table["topic"][0])
            spelling = "; scores have topics such as {}, predictions such as {}".format(*ids)
        raise CranfieldError(
            "expected at least two topics with all scores and predictions, got"
            f" {len(topics)}{spelling}"
        )
    cube, common_scores = cube[:, :, is_common], system_scores[:, is_common]
    return _PredictionData(predictors, systems, topics, cube, common_scores), notes


def _evaluate_predictors(
    data: _PredictionData, signs: Floats, ties: str, score_sign: int
) -> tuple[pl.DataFrame, pl.DataFrame, Floats]:
    """Return the tables of predictors and topics, and sARE by topic, predictor and system."""
    from scipy.stats import rankdata

    n_topics, n_predictors = len(data.topics), len(data.predictors)
    rows: list[tuple[Any, ...]] = []
    topic_tables: list[pl.DataFrame] = []
    errors = np.empty((n_topics, n_predictors, len(data.systems)))
    for j, system in enumerate(data.systems):
        values = np.vstack([signs[:, None] * data.predictions[:, j], score_sign * data.scores[j]])
        # Values that differ by no more than rounding are tied.
        levels = np.stack([encode_scores(row) for row in values]).astype(np.float64)
        ranks = rankdata(levels, method=ties, axis=1)
        correlations = [
            compute_correlation_matrix(values, levels, method, {})[:-1, -1]
            for method in ("pearson", "spearman", "tau")
        ]
        n_tied = [_count_tied_pairs(row) for row in levels]
        for k, predictor in enumerate(data.predictors):
            errors[:, k, j] = np.abs(ranks[k] - ranks[-1]) / n_topics
            coefficients = (float(column[k]) for column in correlations)
            mean = float(errors[:, k, j].mean())
            rows.append((predictor, system, n_topics, *coefficients, mean, n_tied[k], n_tied[-1]))
            columns = {
                "topic": pl.Series(data.topics, dtype=pl.String),
                "predictor": predictor,
                "system": system,
                "prediction": data.predictions[k, j],
                "score": data.scores[j],
                "predicted rank": ranks[k],
                "rank": ranks[-1],
                "sARE": errors[:, k, j],
            }
            topic_tables.append(pl.DataFrame(columns))
    summary = pl.DataFrame(rows, list(Prediction.columns["predictors"]), orient="row")
    return summary.fill_nan(None), pl.concat(topic_tables), errors


def _count_tied_pairs(levels: Floats) -> int:
    counts = np.unique(levels, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _note_constants(summary: pl.DataFrame, n_topics: int) -> list[str]:
    """Return a note for each predictor and system with constant predictions or scores."""
    n_pairs = n_topics * (n_topics - 1) // 2
    pairs = summary.filter(pl.col("tied predictions") == n_pairs).select("predictor", "system")
    names = [f"predictions of {predictor} for {system}" for predictor, system in pairs.rows()]
    constant_scores = summary.filter(pl.col("tied scores") == n_pairs)["system"]
    names += [f"scores of {name}" for name in constant_scores.unique(maintain_order=True)]
    effect = "correlations are undefined, and sMARE is not informative"
    return [f"{name} are constant: {effect}" for name in names]


def _analyse_errors(errors: Floats, predictors: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Analyse the variance of sARE, and compare pairs of predictors."""
    columns = Prediction.columns
    if len(predictors) < 2:
        return pl.DataFrame(schema=[*columns["anova"]]), pl.DataFrame(schema=[*columns["pairs"]])
    axes: tuple[str, ...] = ("topic", "predictor", "system")
    terms = (*axes, "topic:predictor", "topic:system", "predictor:system")
    if errors.shape[2] == 1:
        errors, axes = errors[:, :, 0], axes[:2]
        terms = axes
    table = fit_factorial(errors, *terms, factors_of_axes=axes)
    comparisons = compare_levels(table, "predictor", predictors, errors.size, ALPHA)
    pairs = pl.DataFrame(comparisons, list(columns["pairs"]), orient="row")
    return table.to_polars(), pairs.fill_nan(None)
