"""Prediction-powered scores: few human judgments combined with many labels of a judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.estimates.documents import (
    Documents,
    check_sum,
    estimate_scores,
    match_labels,
    sample_documents,
)
from cranfield.assess.estimates.means import FOLDS, Fit, PPIMeans, estimate_means, fit_means
from cranfield.assess.judges.reading import Panel, panel_of, read_judges, with_highest_grade
from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import InputError, PolicyError, check_choice, check_whole
from cranfield.base.kinds import check_keywords
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.collection.judged.rows import ratio
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, Result, readable_table
from cranfield.scores import Scores
from cranfield.scores.one_measure import place_of
from cranfield.tabular import Table


@dataclass(frozen=True, eq=False)
class Topics:
    """Scores by people, NaN for unjudged topics, and by a judge; shape (systems, topics)."""

    people: Floats
    judge: Floats
    fit: Fit

    def means(self, *, proportions: bool = True) -> PPIMeans:
        return estimate_means(self.people, self.judge, self.fit, proportions=proportions)

    def differences(self, first: Indices, second: Indices) -> PPIMeans:
        # With a lambda of their own: bias of the judge that two systems share cancels.
        people, judge = (table[first] - table[second] for table in (self.people, self.judge))
        return replace(self, people=people, judge=judge).means(proportions=False)

    def values(self) -> Floats:
        r"""Return a value of each judged topic (topics, systems), whose mean is the estimate.

        The unjudged topics are distributed among the judged ones in random order. With its part
        :math:`U_t` of them, judged topic t has the value

        .. math:: y_t - \lambda f_t + \lambda \frac{n}{N} \sum_{u \in U_t} (f_u - \bar f_N)
            + \lambda \bar f_N

        As topics are a sample these values are independent and identically distributed, except for
        lambda and the sizes of the parts, which differ by at most one: their variance over n is
        that of the estimate, with n - 1 degrees of freedom, and also for differences between
        systems.
        """
        systems, topics = self.people.shape
        means = fit_means(self.people, self.judge, np.arange(topics), self.fit)
        judged = ~np.isnan(self.people[0])
        count, n_unjudged = int(judged.sum()), int((~judged).sum())
        unjudged = stream(self.fit.seed, 1).permutation(np.flatnonzero(~judged))
        scores = self.judge[:, unjudged]
        centred = scores - ratio(scores.sum(axis=1), np.full(systems, n_unjudged))[:, None]
        # Topics are dealt in rounds; the last one is filled up with zeros.
        rounds = -(-n_unjudged // count)
        centred = np.pad(centred, ((0, 0), (0, rounds * count - n_unjudged)))
        share = centred.reshape(systems, rounds, count).sum(axis=1)
        values = means.residual.reshape(systems, count) - means.mean[:, None]
        values += means.estimate[:, None] + means.lambda_[:, None] * share * (
            count / max(n_unjudged, 1)
        )
        return np.asarray(values.T)


@dataclass(frozen=True, eq=False, repr=False)
class PPIScores(Result):
    """Mean scores of systems with confidence intervals; made by :func:`ppi_scores`.

    Attributes
    ----------
    measure
        Text form of the measure.
    judge
        Name of the judge.
    unit
        Sampling unit of people's judgments: `topic` or `document`.
    means
        Estimates, standard errors and confidence intervals, with an entry for each system.
    by_judge
        The column of that name; shape (systems,).
    scores
        Values by topic whose means are the estimates, for :func:`cranfield.compare`. By topic they
        are of the judged topics, each with its part of the others; by document they are estimates
        for all topics, which can lie outside the range of the measure.
    topics
        Number of topics.
    fixed_topics
        Whether standard errors reflect the sample of documents only.
    notes
        Means without an interval, or with another one, and how labels were read.
    """

    name: ClassVar[str] = "ppi"
    columns: ClassVar[Columns] = {
        "system": Column("System.", key=True),
        **{k: column for k, column in PPIMeans.columns.items() if k not in ("human", "freedom")},
        "by judge": Column("Mean score by the labels of the judge alone."),
    }

    measure: str
    judge: str
    unit: str
    means: PPIMeans
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
        systems = pl.DataFrame({"system": pl.Series(self.systems, dtype=pl.String)})
        by_judge = pl.Series("by judge", self.by_judge)
        return systems.hstack(_columns(self.means)).with_columns(by_judge)

    def _size(self) -> str:
        judged = counted(self.means.items, self.unit)
        return f"{self.means.human[0]:,} of {judged} judged by people"

    def tables(self) -> list[Table]:
        """Return the table for reading, with its measure and judge in the title."""
        title = f"Prediction-powered {self.measure} by {self.judge}: {self._size()}"
        scope = "these topics" if self.fixed_topics else "the population of topics"
        level = f"{100 - 100 * self.means.alpha:g}%"
        notes = [
            f"low, high: {level} confidence interval of each mean alone, for {scope}",
            "lambda: weight of the judge, from 0 to 1; by judge: its labels alone",
        ]
        if self.means.folds:
            notes.append(f"lambda: {self.means.folds}-fold cross-fitting, seed {self.means.seed}")
        return [replace(readable_table(self._frame(), title, self.columns), notes=notes)]

    def differences(self, baseline: str | None = None) -> pl.DataFrame:
        """Estimate the differences of all pairs of systems, or from a baseline.

        By topic, a difference of two systems is estimated like a score, with its own lambda: bias
        of the judge that both share cancels. The intervals hold for each pair alone;
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
        indices = range(len(self.systems))
        if baseline is None:
            pairs = list(combinations(indices, 2))
        else:
            place = place_of(baseline, self.systems)
            pairs = [(k, place) for k in indices if k != place]
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        names = pl.Series(self.systems, dtype=pl.String)
        frame = pl.DataFrame({"system": names.gather(first), "other": names.gather(second)})
        return frame.hstack(_columns(self._data.differences(first, second)))

    def heading(self) -> list[str]:
        """Return one line: the measure, the number of systems, and the size of the sample."""
        return [f"{self.measure}, {counted(len(self.systems), 'system')}: {self._size()}"]


def _columns(means: PPIMeans) -> pl.DataFrame:
    return means.to_polars().drop("human", "freedom")


UNITS = ("topic", "document")
"""Sampling units: whole topics, or documents of every topic."""

MOST_GAPS = 0.2
"""Proportion of documents labelled by the judge, but not by people, above which there is a note."""


def ppi_scores(
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
) -> PPIScores:
    r"""Estimate mean scores from few judgments of people and a judge's labels of all documents.

    **By topic** people judged a random sample of topics, as completely as the judge judged all of
    them. The score of a run on a topic is y by people and f by the judge, and their means are
    estimated as by :func:`ppi_mean`. It takes any measure.

    **By document** people judged a random sample of the documents of every topic. For a measure
    that is a sum over documents, where a document with label d at its rank adds w(d),

    .. math:: \hat M_t = \lambda \sum_d w(f_d) + \sum_{d \in S}
        \frac{w(y_d) - \lambda w(f_d)}{\pi_d}

    is unbiased over all samples for any judge; lambda is estimated from other topics.
    Measures that are not such a sum, such as AP and nDCG, would be biased, and are refused. The
    columns of people's judgments describe how documents were sampled:

    - with a column `inclusion`, independently, with this probability;
    - with a column `stratum`, a fixed number of each stratum; grades below 0 mark documents that
      were not sampled, or there is `inclusion` too;
    - with neither, a fixed number of the judge's documents of each topic.

    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++; Oosterhuis and others (2024), by topic;
    Särndal, Swensson and Wretman (1992), sections 2.8, 3.7 and 6.3, the difference estimator.

    Parameters
    ----------
    runs
        In any form that :func:`cranfield.read_runs` reads.
    human
        Judgments of people: in any form that :func:`cranfield.read_qrels` reads.
    judge
        Labels of one judge: in any form that :func:`read_judges` reads.
    measure
        A measure or its text form.
    unit
        `topic` or `document`.
    lambda_
        Weight of the judge, from 0 (people only) to 1; by default learned for each system.
    folds, seed
        Folds of cross-fitting, and its seed, which also deals topics to each other in `scores`.
    alpha
        One minus the confidence level of the intervals.
    fixed_topics
        By document: whether intervals are for these topics, with the error of the sample of
        documents only, and as many degrees of freedom as its variance has equal parts. By default
        the topics are a sample too, and their spread includes both errors.
    scale, cut
        The lowest and highest grade, such as `(0, 3)`, by default from 0 to the highest grade of
        people and judge; and whether a grade outside the scale is replaced by the nearest one
        instead of refused. With `cut`, the default scale is that of people.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    PPIScores
        Estimates with intervals, differences of systems, and scores that
        :func:`cranfield.compare` takes.

    Raises
    ------
    MeasureError
        By document, for a measure that is not a sum over documents.
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
    >>> estimate = cf.assess.ppi_scores(covid.runs[:3], people, judge, "nDCG@10")
    >>> estimate
    PPIScores(nDCG@10, 3 systems: 20 of 50 topics judged by people)
    >>> estimate.to_polars().select("system", "low", "high", "by judge").row(0)
    ('UPrrf93-wt-r5', 0.821..., 0.955..., 0.925...)
    """
    check_keywords(ppi_scores, options, judge_runs)
    check_choice("unit", unit, UNITS)
    fit = Fit(lambda_, folds, seed, alpha)
    if unit == "document":
        check_whole("folds", folds, 2)
    [chosen] = parse_measures(measure, compat=options.get("compat"))
    if chosen.info.aggregate == "geometric":
        raise PolicyError(f"{chosen} is a geometric mean; PPI requires an arithmetic mean")
    if len(judges := read_judges(judge)) > 1:
        raise PolicyError(f"expected labels of one judge, got {len(judges)}")
    panel = panel_of(human, judges, scale, cut, scale_of_judges=True)
    data: Topics | Documents
    if unit == "topic":
        if fixed_topics:
            raise PolicyError("fixed_topics requires unit='document': by topic, topics are sampled")
        data, topics, by_judge = _by_topic(runs, panel, chosen, fit, options)
        values = data.values()
        notes = panel.notes
        if options.get("unjudged") != "condensed":
            notes += _of_gaps(panel)
    else:
        check_sum(chosen)
        data, by_judge, notes = _by_document(runs, panel, chosen, fit, fixed_topics, options)
        topics, values = by_judge.topics, data.values
    means = data.means()
    settings = {
        "PPI unit": unit,
        "judged by people": int(means.human[0]),
        "of": means.items,
        "folds": means.folds,
        "seed": means.seed,
    }
    scores = Scores(
        values,
        topics,
        by_judge.systems,
        f"PPI {chosen}",
        settings=by_judge.settings | settings,
        lower_is_better=by_judge.lower_is_better,
    )
    return PPIScores(
        str(chosen),
        judges[0].name,
        unit,
        means,
        by_judge.mean(),
        scores,
        len(by_judge.topics),
        fixed_topics,
        notes + means.notes,
        data,
    )


def _by_topic(
    runs: Any, panel: Panel, measure: Measure, fit: Fit, options: dict[str, Any]
) -> tuple[Topics, tuple[str, ...], Scores]:
    """Return the scores of all topics, the judged topics, and the scores by the judge."""
    [judge] = panel.judges
    unknown = sorted(_judged(panel.human) - _judged(judge.labels))
    if unknown:
        raise InputError("the judge has no label for a topic that people judged", topic=unknown[0])
    collection = read_runs(runs)

    def scored(qrels: Qrels) -> Scores:
        judged = with_highest_grade(judge_runs(collection, qrels, **options), panel.scale.high)
        scores = score(judged, [measure])[measure]
        # Judgments may name topics without any document.
        judged_topics = _judged(qrels)
        return scores.select(
            [topic for topic in scores.topics if topic in judged_topics]
        ).complete()[0]

    by_judge, by_people = scored(judge.labels), scored(panel.human)
    people = np.full(by_judge.values.shape, np.nan)
    people[[by_judge.topics.index(topic) for topic in by_people.topics]] = by_people.values
    return Topics(people.T, by_judge.values.T, fit), by_people.topics, by_judge


def _judged(qrels: Qrels) -> set[str]:
    return {qrels.topics[code] for code in np.unique(qrels.codes)}


def _of_gaps(panel: Panel) -> tuple[str, ...]:
    """Note topics that people judged much less completely than the judge."""
    [judge] = panel.judges
    people = panel.human.to_polars().select("topic", "doc")
    labels = judge.labels.to_polars().select("topic", "doc").join(people, "topic", how="semi")
    gaps = len(labels.join(people, ["topic", "doc"], how="anti"))
    if gaps <= MOST_GAPS * len(labels):
        return ()
    return (
        f"people did not judge {gaps:,} of {len(labels):,} documents that the judge labelled in"
        " their topics; these documents count as not relevant, so estimates are too low if some of"
        " them are relevant; if people judged a random sample of the documents, use unit='document'"
        " (--ppi document)",
    )


def _by_document(
    runs: Any,
    panel: Panel,
    measure: Measure,
    fit: Fit,
    fixed: bool,
    options: dict[str, Any],
) -> tuple[Documents, Scores, tuple[str, ...]]:
    """Return the estimates of all topics, the scores by the judge, and notes."""
    labels = match_labels(panel)
    pool = replace(labels.pool, columns={"place": np.arange(len(labels.pool))})
    judged = with_highest_grade(judge_runs(runs, pool, **options), panel.scale.high)
    if judged.policies.unjudged == "condensed":
        raise PolicyError("ranks in condensed lists depend on judgments: use unit='topic'")
    sample = sample_documents(judged, measure, labels)
    if not fixed and len(judged.topics) < 2:
        raise PolicyError(
            "the variance over topics requires two topics, got one: use fixed_topics=True"
        )
    data = estimate_scores(sample, len(pool), fixed, fit)
    notes = panel.notes
    if labels.unlabelled:
        notes += (
            f"{counted(labels.unlabelled, 'document')} without a label of the judge count as 0",
        )
    return data, Scores(sample.whole, judged.topics, judged.systems, definition=measure), notes
