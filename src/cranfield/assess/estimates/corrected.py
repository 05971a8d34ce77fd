"""Scores of runs from few human judgments, corrected by many labels of a judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.estimates.by_document import (
    Documents,
    check_sum,
    estimated,
    labels_of_both,
    worths_of,
)
from cranfield.assess.estimates.means import (
    FOLDS,
    CorrectedMeans,
    checked_lambda,
    estimated_mean,
    fitted,
)
from cranfield.assess.judges.reading import Panel, panel_of, read_judges
from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import InputError, PolicyError, check_choice, check_share, check_whole
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.collection.judged.rows import ratio
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, Result, readable
from cranfield.scores import Scores
from cranfield.tabular import Table


@dataclass(frozen=True, eq=False)
class Topics:
    """Scores by people, NaN where they did not judge the topic, and by a judge.

    people, judge: shape (systems, topics).
    """

    people: Floats
    judge: Floats
    lambda_: float | None
    folds: int
    seed: int
    alpha: float

    def means(self) -> CorrectedMeans:
        return self._corrected(self.people, self.judge, proportions=True)

    def differences(self, one: Indices, other: Indices) -> CorrectedMeans:
        # With a lambda of their own: what a judge grants to both systems cancels.
        people, judge = (table[one] - table[other] for table in (self.people, self.judge))
        return self._corrected(people, judge, proportions=False)

    def _corrected(self, people: Floats, judge: Floats, *, proportions: bool) -> CorrectedMeans:
        how = self.lambda_, self.folds, self.seed, self.alpha
        return estimated_mean(people, judge, *how, proportions=proportions)

    def values(self) -> Floats:
        return replicates(self.people, self.judge, self.lambda_, self.folds, self.seed)


def replicates(
    human: Floats, judge: Floats, lambda_: float | None, folds: int, seed: int
) -> Floats:
    r"""Return a value of each judged topic (topics, systems), whose mean is the corrected mean.

    The topics that people did not judge are dealt to those that they did, in random order, and each
    judged topic t has the mean of its share U:

    .. math:: y_t - \lambda f_t + \lambda \frac{n}{N} \sum_{u \in U_t} (f_u - \bar f_N)
        + \lambda \bar f_N

    As topics are a sample these values are independent and alike, but for lambda and the sizes of
    shares, which differ by one at most: the variance of their mean over n is that of the corrected
    mean, with n - 1 degrees of freedom, and also of differences between systems.
    """
    topics = human.shape[1]
    fit = fitted(human, judge, np.arange(topics), lambda_, folds, seed)
    known = ~np.isnan(human[0])
    count, rest = int(known.sum()), int((~known).sum())
    others = stream(seed, 1).permutation(np.flatnonzero(~known))
    far = judge[:, others]
    near = far - ratio(far.sum(axis=1), np.full(len(far), rest))[:, None]
    # Dealt one after the other: what is missing in the last round is nothing.
    rounds = -(-rest // count)
    dealt = np.pad(near, ((0, 0), (0, rounds * count - rest)))
    share = dealt.reshape(len(judge), rounds, count).sum(axis=1)
    values = fit.residual.reshape(len(human), count) - fit.mean[:, None]
    values += fit.estimate[:, None] + fit.lambda_[:, None] * share * (count / max(rest, 1))
    return np.asarray(values.T)


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedScores(Result):
    """Mean scores of systems with confidence intervals; made by :func:`corrected_scores`.

    Attributes
    ----------
    measure
        Text form of the measure.
    judge
        Name of the judge.
    unit
        What people judged a sample of: `topic` or `document`.
    means
        Estimates, standard errors and confidence intervals, with an entry for each system.
    by_judge
        The column of that name; shape (systems,).
    scores
        Values by topic whose means are the estimates, for :func:`cranfield.compare`. By topic they
        are of the topics that people judged, each with its share of the others; by document they
        are estimates of all topics, which can be below 0, or above the range of the measure.
    topics
        Number of topics.
    fixed_topics
        Whether errors are those of the sample of documents alone.
    notes
        Why a mean has no interval, or another one, and how labels were read.
    """

    name: ClassVar[str] = "corrected"
    columns: ClassVar[Columns] = {
        "system": Column("System.", key=True),
        **{k: one for k, one in CorrectedMeans.columns.items() if k not in ("human", "freedom")},
        "by judge": Column("Mean score by the labels of the judge alone."),
    }

    measure: str
    judge: str
    unit: str
    means: CorrectedMeans
    by_judge: Floats
    scores: Scores
    topics: int
    fixed_topics: bool
    notes: tuple[str, ...]
    _data: Topics | Documents

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return self.scores.systems

    def _frame(self) -> pl.DataFrame:
        first = pl.DataFrame({"system": pl.Series(self.systems, dtype=pl.String)})
        by_judge = pl.Series("by judge", self.by_judge)
        return first.hstack(_columns(self.means)).with_columns(by_judge)

    def tables(self) -> list[Table]:
        """Return the table for reading, with its measure and judge in the title."""
        judged = counted(self.means.items, self.unit)
        size = f"{self.means.human[0]:,} of {judged} judged by people"
        title = f"{self.measure} by {self.judge}, corrected: {size}"
        scope = "these topics" if self.fixed_topics else "topics like these"
        level = f"{100 - 100 * self.means.alpha:g}%"
        notes = [
            f"low, high: {level} confidence interval of each mean alone, for {scope}",
            "lambda: weight of the judge, from 0 to 1; by judge: its labels alone",
        ]
        if self.means.folds:
            notes.append(f"lambda: {self.means.folds}-fold cross-fitting, seed {self.means.seed}")
        return [replace(readable(self._frame(), title, self.columns), notes=notes)]

    def differences(self, baseline: str | None = None) -> pl.DataFrame:
        """Estimate the differences of all pairs of systems, or from a baseline.

        By topic, the difference of two systems is corrected as a score of its own is, with its own
        lambda: what a judge grants to both of them cancels. The intervals hold for each pair alone;
        :func:`cranfield.compare` of `scores` has simultaneous ones.

        Returns
        -------
        polars.DataFrame
            `system`, `other`, and the estimate, standard error and interval of the first minus the
            second.

        Raises
        ------
        PolicyError
            For an unknown system.
        """
        many = range(len(self.systems))
        if baseline is None:
            pairs = list(combinations(many, 2))
        else:
            # Names are looked up where all are: unknown ones are refused with the nearest.
            [name] = self.scores.select(systems=baseline).systems
            pairs = [(k, self.systems.index(name)) for k in many if self.systems[k] != name]
        one, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        names = pl.Series(self.systems, dtype=pl.String)
        first = pl.DataFrame({"system": names.gather(one), "other": names.gather(other)})
        return first.hstack(_columns(self._data.differences(one, other)))

    def heading(self) -> list[str]:
        """Return one line: the measure, the number of systems, and the size of the sample."""
        judged = counted(self.means.items, self.unit)
        return [
            f"{self.measure}, {counted(len(self.systems), 'system')}:"
            f" {self.means.human[0]:,} of {judged} judged by people"
        ]


def _columns(means: CorrectedMeans) -> pl.DataFrame:
    return means.to_polars().drop("human", "freedom")


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
        One minus the confidence level of the intervals.
    fixed_topics
        By document: whether intervals are for these topics, with the error of the sample of
        documents alone, and as many degrees of freedom as its variance has equal parts. By default
        the topics are a sample too, and their spread holds both errors.
    scale, cut
        The lowest and highest grade, such as `(0, 3)`, by default from 0 to the highest grade of
        people and judge; and whether a grade off the scale is replaced by the nearer end, rather
        than an error. With `cut`, the default scale is that of people.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    CorrectedScores
        Estimates with intervals, differences of systems, and scores that
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
