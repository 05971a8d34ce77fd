"""Prediction-powered scores from a sample of documents that people judged, and a judge's labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cranfield.assess.estimates.means import (
    MIN_ERRORS,
    ROUNDING,
    Fit,
    HumanMean,
    PPIMeans,
    compute_intervals,
    compute_satterthwaite_df,
    sum_rows,
)
from cranfield.assess.judges.reading import Panel, note_missing_grades
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import InputError, MeasureError, PolicyError
from cranfield.base.streams import make_stream
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import divide
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.probable_scores import compute_contributions
from cranfield.measures.base import Measure


def check_additive(measure: Measure) -> None:
    """Raise an error for measures whose estimate from a sample of documents would be biased."""
    if measure.info.inputs or not measure.is_linear:
        raise MeasureError(
            f"{measure} is not a sum over documents, so its estimate from a sample of documents"
            " would be biased; choose a measure such as P@10, DCG@10 or RBP, or, if people judged"
            " whole topics, unit='topic'"
        )


@dataclass(frozen=True, eq=False)
class PooledLabels:
    """A judge's labels of all documents of a pool, of which people judged a sample."""

    pool: Qrels  # All documents, with the judge's grades; 0 if the judge gave no grade
    human: Ints  # Human grades; 0 outside the sample
    is_sampled: Bools
    inclusion: Floats  # Inclusion probabilities; NaN outside the sample
    stratum: Ints  # Stratum of fixed sample size; -1 for independently sampled documents
    n_unlabelled: int  # Number of documents without a label of the judge


def match_labels(panel: Panel) -> PooledLabels:
    """Match human labels to those of the judge, and determine the sampling design."""
    human_qrels, [judge] = panel.human, panel.judges
    labels = judge.labels.to_polars().select("topic", "doc", pl.col("grade").alias("by judge"))
    judgments = human_qrels.to_polars().with_row_index("row")
    keys = ["topic", "doc"]
    pairs = judgments.join(labels, on=keys, how="full", coalesce=True, maintain_order="right_left")
    human = pairs["grade"].fill_null(-1).to_numpy().astype(np.int64)
    grade = pairs["by judge"].fill_null(0).to_numpy().astype(np.int32)
    is_listed, is_labelled = (pairs[name].is_not_null().to_numpy() for name in ("row", "by judge"))
    names = pairs["topic"].unique(maintain_order=True)
    codes = pairs["topic"].replace_strict(names, range(len(names)), return_dtype=pl.Int32)
    pool = Qrels(tuple(names), codes.to_numpy(), pairs["doc"], grade, origin=human_qrels.origin)
    topic = pool.codes.astype(np.int64)
    has_inclusion, has_stratum = (k in human_qrels.columns for k in ("inclusion", "stratum"))
    is_sampled, stratum = is_listed.copy(), np.full(len(pool), -1)
    if has_stratum:
        number = pairs["stratum"].cast(pl.String).fill_null("").rank("dense").to_numpy()
        _, stratum = np.unique(topic * (len(pool) + 1) + number, return_inverse=True)
        is_sampled &= human >= 0
        if not has_inclusion or (human[is_listed] < 0).any():
            reason = f"a label of {judge.name}, but no stratum in the human judgments"
            _check_documents(pool, ~is_listed, reason)
    if has_inclusion:
        inclusion = pairs["inclusion"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        is_invalid = is_listed & ~((inclusion >= 0) & (inclusion <= 1))
        _check_documents(
            pool, is_invalid, "an inclusion probability that is missing or outside 0 to 1"
        )
        is_sampled &= inclusion > 0
    elif not has_stratum:
        stratum = topic
        reason = f"a human judgment but no label of {judge.name}{note_missing_grades(judge)}"
        _check_documents(pool, ~is_labelled, reason)
    if not has_inclusion:
        n_docs = np.bincount(stratum)
        n_sampled = np.bincount(stratum[is_sampled], minlength=n_docs.size)
        inclusion = (n_sampled / n_docs)[stratum]
    inclusion[~is_sampled] = np.nan
    human[~is_sampled] = 0
    return PooledLabels(pool, human, is_sampled, inclusion, stratum, int((~is_labelled).sum()))


def _check_documents(pool: Qrels, is_invalid: Bools, reason: str) -> None:
    if is_invalid.any():
        row = int(is_invalid.argmax())
        topic = pool.topics[int(pool.codes[row])]
        raise InputError(f"a document of the pool has {reason}", topic=topic, doc=pool.docs[row])


@dataclass(frozen=True, eq=False)
class SampledDocuments:
    """Documents that people judged, with their contributions to the scores of systems."""

    topic: Ints
    inclusion: Floats
    stratum: Ints  # Stratum of fixed sample size; -1 for independently sampled documents
    human: Floats  # Contributions to scores by human grades, shape (systems, sampled)
    judge: Floats  # Contributions to scores by the judge's grades, shape (systems, sampled)
    judge_scores: Floats  # Scores by the judge's labels of all documents, shape (topics, systems)
    is_complete: Bools  # Whether people judged all documents of a system


def collect_sampled_documents(
    judged: JudgedRuns, measure: Measure, labels: PooledLabels
) -> SampledDocuments:
    """Collect the sampled documents of `judged`, the runs judged by the labels of the judge."""
    n_topics, n_systems = judged.shape
    pool_index = judged.column("pool index", str(measure))
    rows = labels.is_sampled[pool_index]
    # Documents are in the order of the topics of the judged runs.
    sampled_docs, topic = pool_index[rows], judged.judgments.topic[rows]
    inclusion, stratum = labels.inclusion[sampled_docs], labels.stratum[sampled_docs]
    n_sampled = np.bincount(topic, minlength=n_topics)
    if n_missing := int((n_sampled == 0).sum()):
        raise InputError(
            f"expected human judgments of documents of each topic, got none for {n_missing:,} of"
            f" {n_topics:,}; let people judge at least 2 documents of each topic; if they were to"
            " judge only topics chosen beforehand, remove the judge's labels of the others; if they"
            " judged all documents of some topics, use unit='topic'",
            topic=judged.topics[int(n_sampled.argmin())],
        )
    _, code, stratum_size = np.unique(stratum, return_inverse=True, return_counts=True)
    has_one_document = (stratum_size[code] < 2) & (inclusion < 1) & (stratum >= 0)
    if has_one_document.any():
        raise InputError(
            "the variance requires at least two sampled documents in each stratum, which is the"
            " topic by default, got a stratum with one; let people judge another of its documents",
            topic=judged.topics[int(topic[has_one_document.argmax()])],
        )
    sample_index = np.full(len(labels.pool), -1)
    sample_index[sampled_docs] = np.arange(sampled_docs.size)
    view = (judged if measure.cutoff is None else judged.top(measure.cutoff)).judged()
    incomplete_systems = view.cell[labels.inclusion[pool_index[view.judgment]] != 1] // n_topics
    is_complete = np.bincount(incomplete_systems, minlength=n_systems) == 0
    view = view.where(labels.is_sampled[pool_index[view.judgment]])
    docs = pool_index[view.judgment]
    scores = np.zeros((2, n_systems, sampled_docs.size))
    for k, grades in enumerate((labels.human[docs], view.grade)):
        terms = compute_contributions(measure, judged, view.rank, grades)
        scores[k, view.cell // n_topics, sample_index[docs]] = terms
    human, judge = scores
    judge_scores = measure.score(judged)
    return SampledDocuments(topic, inclusion, stratum, human, judge, judge_scores, is_complete)


def compute_error_terms(inclusion: Floats, stratum: Ints, values: Floats) -> Floats:
    """Compute error terms of an estimated sum; the sum of their squares is its variance."""
    # (1 - pi) e^2 / pi^2 for an independent document of value e, N^2 (1 - n/N) s^2 / n by stratum
    is_independent = stratum < 0
    _, code, sizes = np.unique(stratum, return_inverse=True, return_counts=True)
    n_sampled = sizes[code].astype(np.float64)
    unsampled_factor = np.sqrt(1 - inclusion)
    # N is n / pi.
    stratum_factor = unsampled_factor * divide(np.sqrt(divide(n_sampled, n_sampled - 1)), inclusion)
    means = sum_rows(values, code, sizes.size) / sizes
    centred = values - np.where(is_independent, 0.0, means[:, code])
    factor = np.where(is_independent, unsampled_factor / inclusion, stratum_factor)
    return np.asarray(centred * factor)


@dataclass(frozen=True, eq=False)
class DocumentEstimates:
    """Scores estimated from a sample of documents."""

    values: Floats  # Estimated scores, shape (topics, systems)
    error_terms: Floats  # Terms whose squares sum to variances of totals, (systems, sampled)
    lambda_: Floats  # Weight of the judge, shape (topics, systems)
    human_error_terms: Floats  # Error terms of estimates from human labels alone
    is_complete: Bools  # Whether people judged all documents of a system
    n_documents: int  # Number of documents of the pool
    fixed_topics: bool
    fit: Fit

    def compute_means(self) -> PPIMeans:
        n_topics, n_systems = self.values.shape
        variance = self.values.var(axis=0, ddof=min(1, n_topics - 1)) / n_topics
        freedom, human_mean = np.full(n_systems, n_topics - 1.0), None
        if self.fixed_topics:
            # The variance depends on the few sampled documents at high ranks, which limits its
            # degrees of freedom. The rare errors of a judge that is nearly always right may not be
            # in the sample; then the variance of human labels alone is the safer, larger one.
            scale = np.abs(self.human_error_terms).max(axis=1, initial=0.0)
            squares, human_squares = (
                np.where(np.abs(terms) > ROUNDING * scale[:, None], terms / n_topics, 0.0) ** 2
                for terms in (self.error_terms, self.human_error_terms)
            )
            variance, freedom = squares.sum(axis=1), compute_satterthwaite_df(squares, 2)
            has_few_errors = (freedom < MIN_ERRORS) | (variance == 0)
            human_variance = human_squares.sum(axis=1)
            human_freedom = compute_satterthwaite_df(human_squares, 2)
            human_mean = HumanMean(has_few_errors, human_variance, human_freedom)
        return compute_intervals(
            self.values.mean(axis=0),
            variance,
            freedom,
            self.lambda_.mean(axis=0),
            np.full(n_systems, self.human_error_terms.shape[1]),
            self.n_documents,
            self.fit,
            human_mean=human_mean,
            is_complete=self.is_complete & self.fixed_topics,
        )

    def compute_differences(self, first: Indices, second: Indices) -> PPIMeans:
        pairs = replace(
            self,
            values=self.values[:, first] - self.values[:, second],
            lambda_=(self.lambda_[:, first] + self.lambda_[:, second]) / 2,
            is_complete=self.is_complete[first] & self.is_complete[second],
        )
        if self.fixed_topics:
            # Error terms are required for fixed topics only, and are large for many pairs.
            error_terms, human_error_terms = (
                terms[first] - terms[second] for terms in (self.error_terms, self.human_error_terms)
            )
            pairs = replace(pairs, error_terms=error_terms, human_error_terms=human_error_terms)
        return pairs.compute_means()


def estimate_scores(
    sample: SampledDocuments, n_documents: int, fixed_topics: bool, fit: Fit
) -> DocumentEstimates:
    """Estimate the scores of each topic by the formula of :func:`ppi_scores`."""
    n_topics, n_systems = sample.judge_scores.shape
    human_errors, judge_errors = (
        compute_error_terms(sample.inclusion, sample.stratum, values)
        for values in (sample.human, sample.judge)
    )
    if fit.lambda_ is not None:
        weight = np.full((n_topics, n_systems), float(fit.lambda_))
    elif n_topics < 2:
        raise PolicyError("learning lambda requires at least two topics, got one; set lambda_")
    else:
        # Each topic has its own sample, so a topic's lambda is learned from other folds only.
        n_folds = fit.count_folds(n_topics)
        fold = make_stream(fit.seed).permutation(n_topics) % n_folds
        numerator, denominator = (
            (sums := sum_rows(products, fold[sample.topic], n_folds)).sum(axis=1, keepdims=True)
            - sums
            for products in (human_errors * judge_errors, judge_errors**2)
        )
        weight = np.clip(divide(numerator, np.maximum(denominator, 0.0)), 0.0, 1.0)[:, fold].T
    human_sums, judge_sums = (
        sum_rows(values / sample.inclusion, sample.topic, n_topics).T
        for values in (sample.human, sample.judge)
    )
    return DocumentEstimates(
        values=human_sums + weight * (sample.judge_scores - judge_sums),
        error_terms=human_errors - weight.T[:, sample.topic] * judge_errors,
        lambda_=weight,
        human_error_terms=human_errors,
        is_complete=sample.is_complete,
        n_documents=n_documents,
        fixed_topics=fixed_topics,
        fit=fit,
    )
