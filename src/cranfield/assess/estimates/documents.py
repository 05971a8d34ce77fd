"""Scores from a sample of documents that people judged, and labels of a judge for all documents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cranfield.assess.estimates.means import (
    FEW,
    SAME,
    Fit,
    HumanMean,
    PPIMeans,
    satterthwaite,
    sums_by,
    with_intervals,
)
from cranfield.assess.judges.reading import Panel
from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import InputError, MeasureError, PolicyError
from cranfield.base.streams import stream
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import ratio
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.relevance_moments import contributions
from cranfield.measures.base import Measure


def check_sum(measure: Measure) -> None:
    """Refuse a measure of which a sample of documents would give a biased estimate."""
    if measure.info.inputs or not measure.linear:
        raise MeasureError(
            f"{measure} is not a sum over documents, so a sample of them would bias it:"
            " use unit='topic'"
        )


@dataclass(frozen=True, eq=False)
class PooledLabels:
    """All documents of a pool, a sample of them judged by people.

    pool: all documents, with the judge's grades; 0 where it gave none.
    human: grades of people, by document of the pool; 0 for unsampled documents.
    sampled: documents that people judged because they were in the sample.
    inclusion: inclusion probability; NaN for unsampled documents.
    stratum: number of the stratum, of which a fixed number was sampled; -1 for a document that was
        sampled independently.
    unlabelled: number of documents without a label of the judge.
    """

    pool: Qrels
    human: Ints
    sampled: Bools
    inclusion: Floats
    stratum: Ints
    unlabelled: int


def match_labels(panel: Panel) -> PooledLabels:
    """Match documents, and find how they were sampled; see :func:`ppi_scores`."""
    people, [judge] = panel.human, panel.judges
    labels = judge.labels.to_polars().select("topic", "doc", pl.col("grade").alias("by judge"))
    pairs = (
        people.to_polars()
        .with_row_index("row")
        .join(labels, on=["topic", "doc"], how="full", coalesce=True, maintain_order="right_left")
    )
    human = pairs["grade"].fill_null(-1).to_numpy().astype(np.int64)
    grade = pairs["by judge"].fill_null(0).to_numpy().astype(np.int32)
    listed = pairs["row"].is_not_null().to_numpy()
    names = pairs["topic"].unique(maintain_order=True)
    codes = pairs["topic"].replace_strict(
        names, np.arange(len(names), dtype=np.int32), return_dtype=pl.Int32
    )
    pool = Qrels(tuple(names), codes.to_numpy(), pairs["doc"], grade, origin=people.origin)
    topic = pool.codes.astype(np.int64)
    is_labelled = pairs["by judge"].is_not_null().to_numpy()
    sampled = listed.copy()
    inclusion = np.full(len(pool), np.nan)
    has_inclusion, has_stratum = ("inclusion" in people.columns, "stratum" in people.columns)
    stratum = np.full(len(pool), -1)
    if has_stratum:
        label = pairs["stratum"].cast(pl.String).fill_null("").rank("dense").to_numpy()
        _, stratum = np.unique(topic * (len(pool) + 1) + label, return_inverse=True)
        sampled &= human >= 0
        if not has_inclusion or (human[listed] < 0).any():
            _refuse(pool, ~listed, "a label of the judge but no stratum of the sample")
    if has_inclusion:
        inclusion = pairs["inclusion"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        _refuse(
            pool,
            listed & ~((inclusion >= 0) & (inclusion <= 1)),
            "no inclusion probability from 0 to 1",
        )
        sampled &= inclusion > 0
    elif not has_stratum:
        stratum = topic
        _refuse(pool, ~is_labelled, "a human judgment but no label of the judge")
    if not has_inclusion:
        size = np.bincount(stratum)
        count = np.bincount(stratum[sampled], minlength=size.size)
        inclusion = (count / size)[stratum]
    inclusion[~sampled] = np.nan
    return PooledLabels(
        pool, np.where(sampled, human, 0), sampled, inclusion, stratum, int((~is_labelled).sum())
    )


def _refuse(pool: Qrels, invalid: Bools, reason: str) -> None:
    if invalid.any():
        row = int(invalid.argmax())
        topic = pool.topics[int(pool.codes[row])]
        raise InputError(f"a document of the pool has {reason}", topic=topic, doc=pool.docs[row])


@dataclass(frozen=True, eq=False)
class SampledDocuments:
    """The sampled documents by topic; a fixed number was drawn of each stratum but -1.

    people, judge: contributions to the score of each system, shape (systems, sampled). whole:
    scores by the judge's labels of all documents. certain: systems without unjudged documents.
    """

    topic: Ints
    inclusion: Floats
    stratum: Ints
    people: Floats
    judge: Floats
    whole: Floats
    certain: Bools


def sample_documents(
    judged: JudgedRuns, measure: Measure, labels: PooledLabels
) -> SampledDocuments:
    """Return the sampled documents of runs judged by the judge's labels."""
    topics, systems = judged.shape
    place = judged.column("place", str(measure))
    rows = labels.sampled[place]
    # In the order of topics of the judged runs.
    at, topic = place[rows], judged.judgments.topic[rows]
    inclusion, stratum = labels.inclusion[at], labels.stratum[at]
    count = np.bincount(topic, minlength=topics)
    if not count.all():
        raise InputError(
            "people judged no sampled document of a topic; unit='topic' allows such topics",
            topic=judged.topics[int(count.argmin())],
        )
    _, code, size = np.unique(stratum, return_inverse=True, return_counts=True)
    thin = (size[code] < 2) & (inclusion < 1) & (stratum >= 0)
    if thin.any():
        raise InputError(
            "the variance of a stratum requires two sampled documents, got one",
            topic=judged.topics[int(topic[thin.argmax()])],
        )
    number = np.full(len(labels.pool), -1)
    number[at] = np.arange(at.size)
    view = (judged if measure.cutoff is None else judged.top(measure.cutoff)).judged()
    uncertain = view.cell[labels.inclusion[place[view.judgment]] != 1] // topics
    certain = np.bincount(uncertain, minlength=systems) == 0
    view = view.where(labels.sampled[place[view.judgment]])
    document, system = place[view.judgment], view.cell // topics
    people, judge = np.zeros((2, systems, at.size))
    people[system, number[document]] = contributions(
        measure, judged, view.rank, labels.human[document]
    )
    judge[system, number[document]] = contributions(measure, judged, view.rank, view.grade)
    whole = measure.score(judged)
    return SampledDocuments(topic, inclusion, stratum, people, judge, whole, certain)


def error_parts(inclusion: Floats, stratum: Ints, worths: Floats) -> Floats:
    """Return parts of the error of an estimated sum, whose squares add up to its variance.

    (1 - pi) e^2 / pi^2 if sampled independently; of a stratum N^2 (1 - n/N) s^2 / n.
    """
    alone = stratum < 0
    _, code, count = np.unique(stratum, return_inverse=True, return_counts=True)
    number = count[code].astype(np.float64)
    unsampled = np.sqrt(1 - inclusion)
    # N is n / pi.
    within = unsampled * ratio(np.sqrt(ratio(number, number - 1)), inclusion)
    mean = sums_by(worths, code, count.size) / count
    centred = worths - np.where(alone, 0.0, mean[:, code])
    return np.asarray(centred * np.where(alone, unsampled / inclusion, within))


@dataclass(frozen=True, eq=False)
class Documents:
    """Estimated scores, shape (topics, systems), and errors by the sample of documents.

    spread, alone: parts of the errors of estimates, and of those by people alone, shape (systems,
    sampled); squares add up to variances. used: lambda, shape (topics, systems). certain: systems
    without unjudged documents. fixed: whether topics are the population, or a sample themselves.
    """

    values: Floats
    spread: Floats
    used: Floats
    alone: Floats
    certain: Bools
    items: int
    fixed: bool
    fit: Fit

    def means(self) -> PPIMeans:
        topics, systems = self.values.shape
        estimate, lambda_ = self.values.mean(axis=0), self.used.mean(axis=0)
        if not self.fixed:
            variance = self.values.var(axis=0, ddof=1) / topics
            freedom, alone = np.full(systems, topics - 1.0), None
        else:
            # Few documents of a sample stand high in a ranking, and the variance rests on these: as
            # many degrees of freedom as it has equal parts. The errors of a judge that is nearly
            # always right are hardly ever seen; the variance of people alone is larger, and known.
            scale = np.abs(self.alone).max(axis=1, initial=0.0)
            parts, by_people = (
                np.where(np.abs(part) > SAME * scale[:, None], part / topics, 0.0) ** 2
                for part in (self.spread, self.alone)
            )
            variance, freedom = parts.sum(axis=1), satterthwaite(parts, 2)
            few = (freedom < FEW) | (variance == 0)
            alone = HumanMean(few, by_people.sum(axis=1), satterthwaite(by_people, 2))
        return with_intervals(
            estimate,
            variance,
            lambda_,
            freedom,
            np.full(systems, self.alone.shape[1]),
            self.items,
            self.fit,
            alone=alone,
            complete=self.certain & self.fixed,
        )

    def differences(self, first: Indices, second: Indices) -> PPIMeans:
        pairs = replace(
            self,
            values=self.values[:, first] - self.values[:, second],
            used=(self.used[:, first] + self.used[:, second]) / 2,
            certain=self.certain[first] & self.certain[second],
        )
        if self.fixed:
            # Needed for fixed topics only, and large for many pairs.
            spread, alone = (part[first] - part[second] for part in (self.spread, self.alone))
            pairs = replace(pairs, spread=spread, alone=alone)
        return pairs.means()


def estimate_scores(sample: SampledDocuments, items: int, fixed: bool, fit: Fit) -> Documents:
    r"""Correct the judge's scores of each topic by people's grades of sampled documents.

    .. math:: \hat M_t = \lambda \sum_d w_d f_d + \sum_{d \in S} w_d (y_d - \lambda f_d) / \pi_d
    """
    topics, systems = sample.whole.shape
    people, judge = (
        error_parts(sample.inclusion, sample.stratum, worths)
        for worths in (sample.people, sample.judge)
    )
    if fit.lambda_ is not None:
        weight = np.full((topics, systems), float(fit.lambda_))
    elif topics < 2:
        raise PolicyError("lambda_ is estimated from other topics, got one topic: set lambda_")
    else:
        # Topics are sampled independently: lambda does not depend on the topics it is used for.
        n_folds = fit.n_folds(topics)
        fold = stream(fit.seed).permutation(topics) % n_folds
        top, below = (
            (total := sums_by(part, fold[sample.topic], n_folds)).sum(axis=1, keepdims=True) - total
            for part in (people * judge, judge**2)
        )
        weight = np.clip(ratio(top, np.maximum(below, 0.0)), 0.0, 1.0)[:, fold].T
    by_people, by_judge = (
        sums_by(part / sample.inclusion, sample.topic, topics).T
        for part in (sample.people, sample.judge)
    )
    return Documents(
        values=by_people + weight * (sample.whole - by_judge),
        spread=people - weight.T[:, sample.topic] * judge,
        used=weight,
        alone=people,
        certain=sample.certain,
        items=items,
        fixed=fixed,
        fit=fit,
    )
