"""Scores of runs from few judgments of people and many labels of a judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.assess.estimates.by_document import Documents, estimated, worths_of
from cranfield.assess.estimates.by_topic import Topics
from cranfield.assess.estimates.labels_of_both import labels_of_both
from cranfield.assess.estimates.mean_of_both import (
    FOLDS,
    checked_lambda,
)
from cranfield.assess.estimates.means_with_limits import CorrectedMeans
from cranfield.assess.estimates.scores_with_limits import CorrectedScores
from cranfield.assess.estimates.worth_of_documents import check_sum
from cranfield.assess.judges.beside import Panel, panel_of
from cranfield.assess.judges.reading import read_judges
from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_share, check_whole
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.words import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure, parse_measures
from cranfield.scores import Scores

UNITS = ("topic", "document")
"""What people judge a sample of: whole topics, or documents of every topic."""


def corrected_scores(
    runs: Any,
    human: Any,
    judge: Any,
    measure: str | Measure,
    *,
    unit: str = "topic",
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
    fixed_topics: bool = False,
    scale: Any = None,
    cut: bool = False,
    **options: Any,
) -> CorrectedScores:
    r"""Estimate mean scores from few judgments of people and the labels of a judge for everything.

    **By topic** people judged some topics, chosen at random, as completely as the judge judged all
    of them. The score of a run on a topic by people is y, by the judge f, and their means are
    corrected as :func:`corrected_mean` does. It takes any measure.

    **By document** people judged a random sample of the documents of every topic. For a measure
    that is a sum over documents, where a document with label d at its rank adds w(d),

    .. math:: \hat M_t = \lambda \sum_d w(f_d) + \sum_{d \in S}
        \frac{w(y_d) - \lambda w(f_d)}{\pi_d}

    is right on average over all samples, whatever the judge says; lambda is learned from other
    topics. Of a measure that is no such sum, as AP and nDCG are not, it would be biased, and that
    is refused. How documents were sampled, the judgments of people say:

    - with a column `inclusion`, each by itself, with this chance;
    - with a column `stratum`, a fixed number of each stratum; grades below 0 mark what was not
      sampled, or there is `inclusion` too;
    - with neither, a fixed number of the judge's documents of each topic.

    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++; Oosterhuis and others (2024), by topic;
    Särndal, Swensson and Wretman (1992), sections 2.8, 3.7 and 6.3, the difference estimator.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes.
    human
        Judgments of people: whatever :func:`cranfield.read_qrels` takes.
    judge
        Labels of one judge: whatever :func:`read_judges` takes.
    measure
        A measure or its text form.
    unit
        `topic` or `document`.
    lambda_
        How much of the judge to use, from 0 (people only) to 1 (fully); by default it is learned
        for each system.
    folds, seed
        Of cross-fitting; the seed also deals topics to each other in `scores`.
    alpha
        One less the confidence of the limits.
    fixed_topics
        By document: whether limits are for these topics, with the error of the sample of documents
        alone, and as many degrees of freedom as its variance has equal parts. By default the topics
        are a sample too, and their spread holds both errors.
    scale, cut
        The lowest and highest grade, such as `(0, 3)`, by default from 0 to the highest grade of
        people and judge; and whether a grade off the scale is replaced by the nearer end, rather
        than an error. With `cut`, the default scale is that of people.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    CorrectedScores
        Estimates with limits, differences of systems, and scores that
        :func:`cranfield.compare` takes.

    Raises
    ------
    MeasureError
        By document, for a measure that is no sum over documents.
    InputError
        For a topic that people judged and the judge did not, or of which no document was sampled.
    PolicyError
        For an option out of its range; for fewer than three judged topics (two with lambda given).

    Examples
    --------
    >>> import cranfield as cf
    >>> import polars as pl
    >>> covid = cf.bundled.trec_covid()
    >>> people = covid.qrels.restricted(covid.qrels.codes < 20)
    >>> judge = covid.qrels.to_polars().with_columns(grade=(pl.col("grade") + 2) // 2)
    >>> found = cf.assess.corrected_scores(covid.runs[:3], people, judge, "nDCG@10")
    >>> found
    CorrectedScores(nDCG@10, 3 systems: 20 of 50 topics judged by people)
    >>> found.to_polars().select("system", "low", "high", "by judge").row(0)
    ('UPrrf93-wt-r5', 0.821..., 0.955..., 0.925...)
    """
    check_choice("unit", unit, UNITS)
    check_share("alpha", alpha)
    check_whole("folds", folds, 2 if unit == "document" else 1)
    checked_lambda(lambda_)
    [wanted] = parse_measures(measure, compat=options.get("compat"))
    if wanted.info.aggregate == "geometric":
        raise PolicyError(f"{wanted} is summed up as a geometric mean; means are corrected")
    if len(judges := read_judges(judge)) > 1:
        raise PolicyError(f"labels of one judge are used, and there are {len(judges)}")
    panel = panel_of(human, judges, scale, cut, few=True)
    if unit == "topic":
        if fixed_topics:
            raise PolicyError("by topic, topics are the sample, and not fixed")
        return _by_topic(runs, panel, wanted, (lambda_, folds, seed, alpha), options)
    check_sum(wanted)
    return _by_document(runs, panel, wanted, (lambda_, folds, seed, alpha), fixed_topics, options)


Choices = tuple[float | None, int, int, float]


def _by_topic(
    runs: Any, panel: Panel, measure: Measure, choices: Choices, options: Any
) -> CorrectedScores:
    lambda_, folds, seed, alpha = choices
    [of_judge] = panel.judges
    unknown = sorted(_judged(panel.human) - _judged(of_judge.labels))
    if unknown:
        raise InputError("the judge has no label of a topic that people judged", topic=unknown[0])
    many = read_runs(runs)
    by_judge = _scored(many, of_judge.labels, measure, panel, options)
    by_people = _scored(many, panel.human, measure, panel, options)
    place = {topic: k for k, topic in enumerate(by_judge.topics)}
    known = np.array([place[topic] for topic in by_people.topics], dtype=np.intp)
    people = np.full(by_judge.values.shape, np.nan)
    people[known] = by_people.values
    data = Topics(people.T, by_judge.values.T, lambda_, folds, seed, alpha)
    means = data.means()
    return _result(
        measure,
        panel,
        "topic",
        means,
        by_judge,
        data,
        by_people.topics,
        data.values(),
        False,
        panel.notes,
    )


def _scored(runs: Any, qrels: Qrels, measure: Measure, panel: Panel, options: Any) -> Scores:
    judged = _on_scale(judge_runs(runs, qrels, **options), panel)
    scores = score(judged, [measure])[measure]
    # Judgments may know topics of which none is left.
    has = _judged(qrels)
    return scores.select([topic for topic in scores.topics if topic in has]).complete()[0]


def _judged(qrels: Qrels) -> set[str]:
    return {qrels.topics[code] for code in np.unique(qrels.codes)}


def _on_scale(judged: JudgedRuns, panel: Panel) -> JudgedRuns:
    # What depends on the highest grade takes that of the scale, whoever gave it or not.
    return replace(
        judged, judgments=replace(judged.judgments, max_grade=panel.scale.high), views={}
    )


def _by_document(
    runs: Any, panel: Panel, measure: Measure, choices: Choices, fixed: bool, options: Any
) -> CorrectedScores:
    lambda_, folds, seed, alpha = choices
    both = labels_of_both(panel)
    pool = replace(both.pool, columns={"place": np.arange(len(both.pool))})
    judged = _on_scale(judge_runs(runs, pool, **options), panel)
    if judged.policies.unjudged == "condensed":
        raise PolicyError("in condensed lists ranks depend on judgments: unit='topic' takes them")
    worths, sample = worths_of(judged, measure, both)
    if not fixed and len(judged.topics) < 2:
        raise PolicyError("one topic has no spread over topics: fixed_topics=True")
    estimates = estimated(worths, sample, lambda_, folds, seed)
    learned = folds if lambda_ is None else 0
    data = Documents(*estimates, sample, len(pool), fixed, learned, seed, alpha)
    notes = panel.notes
    if both.unlabelled:
        notes += (f"{counted(both.unlabelled, 'document')} without a label of the judge count 0",)
    whole = Scores(worths.whole, judged.topics, judged.systems, definition=measure)
    return _result(
        measure,
        panel,
        "document",
        data.means(),
        whole,
        data,
        judged.topics,
        data.values,
        fixed,
        notes,
    )


def _result(
    measure: Measure,
    panel: Panel,
    unit: str,
    means: CorrectedMeans,
    by_judge: Scores,
    data: Topics | Documents,
    topics: tuple[str, ...],
    values: Floats,
    fixed: bool,
    notes: tuple[str, ...],
) -> CorrectedScores:
    settings = {
        "corrected by": unit,
        "judged by people": int(means.human[0]),
        "of": means.items,
        "folds": means.folds,
        "seed": means.seed,
    }
    scores = Scores(
        values,
        topics,
        by_judge.systems,
        f"corrected {measure}",
        settings=by_judge.settings | settings,
        lower_is_better=by_judge.lower_is_better,
    )
    return CorrectedScores(
        str(measure),
        panel.judges[0].name,
        unit,
        means,
        by_judge.mean(),
        scores,
        len(by_judge.topics),
        fixed,
        notes + means.notes,
        data,
    )
