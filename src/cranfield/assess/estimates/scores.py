"""Prediction-powered scores of systems, from few human labels and many labels of a judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from math import comb, nan, prod
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.estimates.documents import (
    DocumentEstimates,
    PooledLabels,
    check_additive,
    collect_sampled_documents,
    estimate_scores,
    match_labels,
)
from cranfield.assess.estimates.means import (
    FOLDS,
    Fit,
    PPIMeans,
    estimate_means,
    fit_means,
    name_notes,
)
from cranfield.assess.judges.reading import (
    MAX_GAPS,
    Panel,
    find_judged_topics,
    note_missing_grades,
    note_missing_judgments,
    note_missing_labels,
    read_judges,
    read_panel,
    set_highest_grade,
)
from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import InputError, PolicyError, check_integer, collect_warnings, quote
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import format_range, inflect, sanitise
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.judged.coverage import MAX_UNJUDGED, exceeds_unjudged_difference
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.collection.judged.rows import divide
from cranfield.collection.qrels import Qrels
from cranfield.evaluation.evaluation import evaluate_answers, score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, Result, TableResult, format_table
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_label
from cranfield.tabular import Table, format_interval, format_number
from cranfield.texts.answers import JudgedAnswers
from cranfield.texts.citations import JudgedCitations


@dataclass(frozen=True, eq=False)
class TopicEstimates:
    """Scores by human labels, NaN for unjudged topics, and by a judge; shape (systems, topics)."""

    human: Floats
    judge: Floats
    fit: Fit

    def compute_means(self, *, has_grade_intervals: bool = True) -> PPIMeans:
        return estimate_means(
            self.human, self.judge, self.fit, has_grade_intervals=has_grade_intervals
        )

    def compute_differences(self, first: Indices, second: Indices) -> PPIMeans:
        # Differences have their own lambda, and bias of the judge that two systems share cancels.
        human, judge = (scores[first] - scores[second] for scores in (self.human, self.judge))
        return replace(self, human=human, judge=judge).compute_means(has_grade_intervals=False)

    def compute_topic_values(self) -> Floats:
        r"""Compute values by judged topic, whose means are the estimates; shape (topics, systems).

        The N unjudged topics, whose mean score by the judge is :math:`\bar f_N`, are randomly
        distributed over the n judged topics. Judged topic t, which has scores :math:`y_t` by human
        labels and :math:`f_t` by the judge and the unjudged topics :math:`U_t`, has the value

        .. math:: y_t - \lambda f_t + \lambda \frac{n}{N} \sum_{u \in U_t} (f_u - \bar f_N)
            + \lambda \bar f_N

        As topics are a sample, these values are independent and identically distributed, except for
        lambda and the sizes of :math:`U_t`, which differ by at most one. Their variance divided by
        n is the variance of the estimate, with n - 1 degrees of freedom; the same holds for
        differences between systems.
        """
        n_systems, n_topics = self.human.shape
        means = fit_means(self.human, self.judge, np.arange(n_topics), self.fit)
        is_judged = ~np.isnan(self.human[0])
        n_judged, n_unjudged = int(is_judged.sum()), int((~is_judged).sum())
        unjudged_topics = make_stream(self.fit.seed, 1).permutation(np.flatnonzero(~is_judged))
        scores = self.judge[:, unjudged_topics]
        centred = scores - divide(scores.sum(axis=1), np.full(n_systems, n_unjudged))[:, None]
        # Unjudged topics are distributed in rounds, of which the last is padded with zeros.
        n_rounds = -(-n_unjudged // n_judged)
        centred = np.pad(centred, ((0, 0), (0, n_rounds * n_judged - n_unjudged)))
        unjudged_sums = centred.reshape(n_systems, n_rounds, n_judged).sum(axis=1)
        values = means.residual.reshape(n_systems, n_judged) - means.mean[:, None]
        values += means.estimate[:, None] + means.lambda_[:, None] * unjudged_sums * (
            n_judged / max(n_unjudged, 1)
        )
        return np.asarray(values.T)


@dataclass(frozen=True, eq=False, repr=False)
class PPIScores(Result):
    """Mean scores of systems with confidence intervals; returned by :func:`ppi_scores`.

    Attributes
    ----------
    measure
        Text form of the measure.
    judge
        Name of the judge.
    unit
        Sampling unit of human judgments: `topic` or `document`.
    means
        Estimates, standard errors and confidence intervals by system.
    by_judge
        Mean scores by the labels of the judge alone; shape (systems,).
    scores
        Values by topic whose means are the estimates, for :func:`cranfield.compare`. For the unit
        `topic` there is a value for each judged topic, which includes the judge's scores of some
        unjudged topics. For the unit `document` there is an estimate for each topic, which can be
        outside the range of the measure.
    n_topics
        Number of topics.
    fixed_topics
        Whether standard errors reflect only the sampling of documents.
    is_biased
        Whether the choice of judged documents biases a difference; shape (systems, systems).
    notes
        Notes on means without an interval, or with an interval as wide as by human labels alone,
        and on how labels were read.
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
    n_topics: int
    fixed_topics: bool
    is_biased: Bools
    notes: tuple[str, ...]
    _data: TopicEstimates | DocumentEstimates

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return self.scores.systems

    def _frame(self) -> pl.DataFrame:
        frame = pl.DataFrame({"system": self.systems}).hstack(_select_columns(self.means))
        return frame.with_columns(pl.Series("by judge", self.by_judge))

    def _describe_size(self) -> str:
        units = inflect(self.means.n_items, self.unit)
        return f"{self.means.human[0]:,} of {units} judged by people"

    def tables(self) -> list[Table]:
        title = f"Prediction-powered {self.measure} by {self.judge}: {self._describe_size()}"
        scope = "these topics" if self.fixed_topics else "the population of topics"
        level = f"{100 - 100 * self.means.alpha:g}%"
        notes = [
            f"low, high: {level} confidence interval for {scope}, separate for each mean",
            "lambda: weight of the judge's labels, from 0 to 1; by judge: mean score by these"
            " labels alone",
        ]
        if self.means.folds:
            folds = f"at most {self.means.folds} folds, seed {self.means.seed}"
            notes.append(f"lambda: cross-fitting with {folds}")
        if len(self.systems) == 2:
            [row] = self.estimate_differences(self.systems[0]).to_dicts()
            bounds = format_interval(row["low"], row["high"])
            interval = f"{level} interval {bounds}" if bounds else "no interval"
            notes.append(
                f"{sanitise(row['system'])} minus {sanitise(row['other'])}:"
                f" {format_number(row['estimate'])} ({interval}), lambda"
                f" {format_number(row['lambda'])}"
            )
        return [replace(format_table(self._frame(), title, self.columns), notes=notes)]

    def estimate_differences(self, baseline: str | None = None) -> pl.DataFrame:
        """Estimate the differences between all pairs of systems, or between each and a baseline.

        If the unit is `topic`, a difference is estimated like a score, with its own lambda, so that
        a bias of the judge in the scores of both systems cancels. Each interval holds for one pair;
        :func:`cranfield.compare` computes simultaneous intervals from `scores`.

        Returns
        -------
        polars.DataFrame
            `system`, `other`, and the estimate, standard error, interval and lambda of the score of
            `system` minus the score of `other`.

        Raises
        ------
        PolicyError
            For an unknown system.
        """
        pairs = _list_pairs(self.systems, baseline)
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        names = pl.Series(self.systems, dtype=pl.String)
        frame = pl.DataFrame({"system": names.gather(first), "other": names.gather(second)})
        return frame.hstack(_select_columns(self._data.compute_differences(first, second)))

    def heading(self) -> list[str]:
        return [f"{self.measure}, {inflect(len(self.systems), 'system')}: {self._describe_size()}"]


def _list_pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Return all pairs of systems, or each other system with the baseline."""
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    index = find_label(baseline, systems)
    return [(k, index) for k in range(len(systems)) if k != index]


def _select_columns(means: PPIMeans) -> pl.DataFrame:
    return means.to_polars().drop("human", "freedom")


UNITS = ("topic", "document")  # Sampling units: entire topics, or documents of each topic


def ppi_scores(
    runs: Any,
    human: Any,
    judge: Any,
    measure: str | Measure,
    *,
    unit: Annotated[str, OneOf(UNITS)] = "topic",
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
    fixed_topics: bool = False,
    scale: Any = None,
    clip: bool = False,
    **options: Any,
) -> PPIScores:
    r"""Estimate mean scores from few human judgments and a judge's labels of all documents.

    If the unit is `topic`, people judged a random sample of topics, as completely as the judge. The
    score of a run on a topic is y by human labels and f by the judge, and the means are estimated
    as by :func:`ppi_mean`, for any measure.

    If the unit is `document`, people judged a random sample of the documents of each topic. For a
    measure that is a sum over documents d, where a document with label y adds :math:`w_d(y)`,

    .. math:: \hat M_t = \lambda \sum_d w_d(f_d) + \sum_{d \in S}
        \frac{w_d(y_d) - \lambda w_d(f_d)}{\pi_d}

    is unbiased over all samples for any judge, with S the sample, :math:`y_d` and :math:`f_d` the
    labels of document d by people and judge, and :math:`\pi_d` its inclusion probability; unless it
    is set, lambda is learned from other topics. Estimates of other measures, such as AP and nDCG,
    would be biased; they are refused. The columns of human judgments determine the sampling design:

    - with a column `inclusion` only, documents were sampled independently with this probability;
    - with a column `stratum`, a fixed number of documents was sampled from each stratum; documents
      outside the sample are listed with grades below 0, unless there is a column `inclusion`;
    - with neither, a fixed number of the judge's documents was sampled from each topic.

    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++; Oosterhuis and others (2024), by topic;
    Särndal, Swensson and Wretman (1992), sections 2.8, 3.7 and 6.3, the difference estimator.

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`.
    human
        Human judgments: any input of :func:`cranfield.read_qrels`.
    judge
        Labels of one judge: any input of :func:`read_judges`.
    measure
        Measure or its text form.
    unit
        Sampling unit of human judgments: `topic` or `document`.
    lambda_
        Weight of the judge, from 0 (human labels only) to 1; by default learned for each system.
    folds, seed
        Maximum number of folds of cross-fitting (for the unit `document`, 2 or more), and seed of
        the random numbers, which also distribute unjudged topics over the values of `scores`.
    alpha
        One minus the confidence level of the intervals.
    fixed_topics
        For the unit `document`, whether intervals are for these topics only, with the sampling
        error of documents and Satterthwaite's degrees of freedom. By default topics are a sample
        too, and the variance over topics includes both errors.
    scale, clip
        Lowest and highest grade, such as `(0, 3)`, by default from 0 to the highest grade of
        humans and the judge; and whether to clip grades outside the scale, which are otherwise an
        error. With `clip`, the default scale ends at the highest human grade.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    PPIScores
        Estimates with intervals, differences between systems, and scores for
        :func:`cranfield.compare`.

    Raises
    ------
    MeasureError
        For the unit `document` and a measure that is not a sum over documents.
    InputError
        For a topic that people judged and the judge did not, or people much less completely; for
        the unit `document`, also for a topic or stratum with too few sampled documents, or a
        document without a required label, stratum or inclusion probability.
    PolicyError
        For an option that is out of its range or not for this unit; for several judges or measures;
        for a geometric mean; for the unit `topic` and fewer than three judged topics (two if lambda
        is set); for the unit `document` and one topic, unless `fixed_topics` and lambda are set.

    Examples
    --------
    >>> import cranfield as cf
    >>> import polars as pl
    >>> covid = cf.bundled.trec_covid()
    >>> people = covid.qrels.restrict(covid.qrels.codes < 20)
    >>> judge = covid.qrels.to_polars().with_columns(grade=(pl.col("grade") + 2) // 2)
    >>> estimate = cf.assess.ppi_scores(covid.runs[:3], people, judge, "nDCG@10")
    >>> estimate
    PPIScores(nDCG@10, 3 systems: 20 of 50 topics judged by people)
    >>> estimate.to_polars().select("system", "low", "high", "by judge").row(0)
    ('UPrrf93-wt-r5', 0.821..., 0.955..., 0.925...)
    """
    check_arguments(ppi_scores, locals(), judge_runs)
    fit = Fit(lambda_, folds, seed, alpha)
    if unit == "document":
        check_integer("folds", folds, 2)
    parsed, *other_measures = parse_measures(measure, compat=options.get("compat"))
    if other_measures:
        raise PolicyError(f"expected one measure, got {1 + len(other_measures)}")
    if parsed.info.aggregate == "geometric":
        reason = "prediction-powered inference requires an arithmetic mean"
        raise PolicyError(f"{parsed} is a geometric mean; {reason}")
    if len(judges := read_judges(judge)) > 1:
        raise PolicyError(f"expected labels of one judge, got {len(judges)}")
    panel = read_panel(human, judges, scale, clip, extends_scale=True)
    inputs = runs, panel, parsed, fit, options
    estimates: TopicEstimates | DocumentEstimates
    if unit == "topic":
        if fixed_topics:
            raise PolicyError("fixed_topics requires unit='document', got unit='topic'")
        estimates, topics, judge_scores, is_biased, notes = _estimate_by_topic(*inputs)
        values = estimates.compute_topic_values()
    else:
        estimates, judge_scores, is_biased, notes = _estimate_by_document(*inputs, fixed_topics)
        topics, values = judge_scores.topics, estimates.values
    means = estimates.compute_means()
    counts = {"judged by people": int(means.human[0]), "of": means.n_items}
    settings = {"PPI unit": unit, **counts, "folds": means.folds, "seed": means.seed}
    systems = judge_scores.systems
    if biased_pairs := [[systems[i], systems[j]] for i, j in np.argwhere(np.triu(is_biased, 1))]:
        settings["biased pairs"] = biased_pairs
    scores = Scores(
        values,
        topics,
        systems,
        f"PPI {parsed}",
        settings=judge_scores.settings | settings,
        lower_is_better=judge_scores.lower_is_better,
    )
    return PPIScores(
        measure=str(parsed),
        judge=judges[0].name,
        unit=unit,
        means=means,
        by_judge=judge_scores.mean(),
        scores=scores,
        n_topics=len(judge_scores.topics),
        fixed_topics=fixed_topics,
        is_biased=is_biased,
        notes=(*panel.notes, *notes, *name_notes(means, systems)),
        _data=estimates,
    )


def _estimate_by_topic(
    runs: Any, panel: Panel, measure: Measure, fit: Fit, options: dict[str, Any]
) -> tuple[TopicEstimates, tuple[str, ...], Scores, Bools, list[str]]:
    """Estimate scores from judged topics; return also topics, judge scores, biases and notes."""
    [judge] = panel.judges
    judge_topics, human_topics = map(find_judged_topics, (judge.labels, panel.human))
    if missing_topics := sorted(human_topics - judge_topics):
        reason = f"no label of {judge.name} for a topic that people judged"
        advice = f"{note_missing_grades(judge)}; add labels for this topic"
        raise InputError(reason + advice, topic=missing_topics[0])
    collection = read_runs(runs)

    def judge_labels(qrels: Qrels) -> JudgedRuns:
        return set_highest_grade(judge_runs(collection, qrels, **options), panel.scale.max_grade)

    # Only one measure is scored if it is the proportion of judged documents itself.
    depth = min(measure.cutoff or 10, 10)
    measures = [measure, *parse_measures(f"Judged@{depth}")]

    def score_labels(judged: JudgedRuns, topics_with_labels: set[str]) -> list[Scores]:
        evaluation = score(judged, measures)
        # Judgments may list topics without documents.
        topics = [topic for topic in evaluation.topics if topic in topics_with_labels]
        return [scores.select(topics).complete()[0] for scores in evaluation.values()]

    judged = judge_labels(judge.labels)
    judge_scores, *judge_proportion = score_labels(judged, judge_topics)
    human_scores, *human_proportion = score_labels(judge_labels(panel.human), human_topics)
    human = np.full(judge_scores.values.shape, np.nan)
    rows = [judge_scores.topics.index(topic) for topic in human_scores.topics]
    human[rows] = human_scores.values
    notes = [*_collect_label_notes(judged, measure, judge.name), *note_missing_labels(panel)]
    if judge.n_unparsed:
        answers = inflect(judge.n_unparsed, "answer")
        notes.append(
            f"{answers} of {judge.name} without a grade: in scores by the judge, documents without"
            " another answer are unjudged"
        )
    p_unjudged = np.full(len(judge_scores.systems), nan)
    if options.get("unjudged") != "condensed":
        proportions = [*judge_proportion, judge_scores][0], [*human_proportion, human_scores][0]
        # Without nonrelevant documents, judgments may be a complete list of relevant ones.
        if panel.human.grades.min() <= panel.scale.min_grade:
            _refuse_partly_judged_topics(*proportions, depth)
            if measure.info.beyond_grades != "which documents are judged":
                p_unjudged = 1 - proportions[1].values.mean(axis=0)
                notes += _note_unjudged_docs(judge_scores.systems, p_unjudged, depth)
        notes += note_missing_judgments(panel)
        notes += _note_unequal_depth(proportions[0], human_topics, depth)
    estimates = TopicEstimates(human.T, judge_scores.values.T, fit)
    is_biased = exceeds_unjudged_difference(p_unjudged[:, None] - p_unjudged)
    return estimates, human_scores.topics, judge_scores, is_biased, notes


def _collect_label_notes(judged: JudgedRuns, measure: Measure, judge: str) -> list[str]:
    """Collect the notes on scores by the labels of a judge, with its name."""
    return [f"labels of {judge}: {note}" for note in score(judged, measure).notes]


def _refuse_partly_judged_topics(by_judge: Scores, by_human: Scores, depth: int) -> None:
    """Refuse human judgments of less than half of the top documents that the judge labelled."""
    p_labelled = by_judge.select(by_human.topics).values.mean()
    if (p_judged := by_human.values.mean()) < p_labelled / 2:
        raise InputError(
            "unit='topic' requires topics that people judged completely, but in the topics with"
            f" human judgments, people judged {p_judged:.0%} of the top {depth} and the judge"
            f" labelled {p_labelled:.0%}; if people judged a random sample of each topic's"
            " documents, at least 2 of each, use unit='document'; otherwise let people judge the"
            " other documents of these topics"
        )


def _note_unjudged_docs(names: Sequence[str], proportions: Floats, depth: int) -> Iterator[str]:
    """Note many documents without a human judgment, and unequal proportions of them."""
    systems = [*zip(proportions, map(quote, names), strict=True)]
    (low, low_system), (high, high_system) = min(systems), max(systems)
    if n_above := int((proportions > MAX_UNJUDGED).sum()):
        yield (
            f"{n_above} of {inflect(proportions.size, 'system')} have more than {MAX_UNJUDGED:.0%}"
            f" unjudged documents in the top {depth} (most in {high_system}: {high:.1%})"
        )
    if exceeds_unjudged_difference(high - low):
        yield (
            f"{high:.1%} of the top {depth} of {high_system} and {low:.1%} of that of {low_system}"
            " have no human judgment and count as not relevant, which biases the difference against"
            f" {high_system} if some are relevant; judge both (`--unjudged` of `cranfield pool`)"
        )


def _note_unequal_depth(by_judge: Scores, judged_topics: set[str], depth: int) -> Iterator[str]:
    """Note that the judge labelled topics with and without human judgments to unequal depths."""
    is_judged = np.isin(by_judge.topics, [*judged_topics])
    groups = (by_judge.values[rows] for rows in (is_judged, ~is_judged))
    p_judged, p_others = (group.mean() if group.size else nan for group in groups)
    if abs(p_judged - p_others) > MAX_GAPS:
        yield (
            f"the judge labelled {100 * p_judged:.0f}% of the top {depth} in topics that people"
            f" judged, and {100 * p_others:.0f}% in other topics; documents without a label count"
            " as not relevant, so estimates are biased: let the judge label all topics to the same"
            " depth"
        )


def _describe_population(labels: PooledLabels, n_retrieved: int) -> str:
    """Describe the population from which judgments without a sampling design seem to be drawn."""
    n_pooled = len(labels.pool)
    sizes = (np.bincount(labels.pool.codes[rows]) for rows in (labels.is_sampled, slice(None)))
    sample_range, pool_range = map(format_range, sizes)
    note = (
        "human judgments are treated as a random sample of the documents that the judge"
        f" labelled: {sample_range} of {pool_range} in each topic"
    )
    if n_retrieved >= n_pooled / 2:
        return note
    return (
        f"{note}; {n_pooled - n_retrieved:,} of these {n_pooled:,} documents are in no run: if the"
        " sample was drawn from fewer documents, remove the labels of the others"
    )


def _find_judged_system(judged: JudgedRuns, labels: PooledLabels) -> str | None:
    """Find a system whose first documents in all topics are the judged ones; by chance p < .001."""
    topic, view = judged.judgments.topic, judged.judged()
    is_sampled = labels.is_sampled[judged.judgments.columns["pool index"]]
    n_docs, n_sampled = (np.bincount(topic[rows]) for rows in (slice(None), is_sampled))
    is_first = is_sampled[view.judgment] & (view.rank <= n_sampled[view.cell % n_docs.size])
    n_first = np.bincount(view.cell[is_first], minlength=prod(judged.shape))
    is_judged = (n_first.reshape(-1, n_docs.size) == n_sampled).all(axis=1)
    is_judged &= prod(map(comb, n_docs.tolist(), n_sampled.tolist())) > 1000 * is_judged.size
    return next(compress(judged.systems, is_judged), None)


def _estimate_by_document(
    runs: Any, panel: Panel, measure: Measure, fit: Fit, options: dict[str, Any], fixed_topics: bool
) -> tuple[DocumentEstimates, Scores, Bools, list[str]]:
    """Estimate scores from sampled documents; return also judge scores, biases and notes."""
    check_additive(measure)
    [judge] = panel.judges
    labels = match_labels(panel)
    pool = replace(labels.pool, columns={"pool index": np.arange(len(labels.pool))})
    judged = set_highest_grade(judge_runs(runs, pool, **options), panel.scale.max_grade)
    if judged.policies.unjudged == "condensed":
        raise PolicyError(
            "unjudged='condensed' requires unit='topic', as ranks in condensed lists depend on the"
            " judgments"
        )
    sample = collect_sampled_documents(judged, measure, labels)
    if not fixed_topics and len(judged.topics) < 2:
        reason = "the variance over topics requires two topics, got one"
        raise PolicyError(f"{reason}; use fixed_topics=True and lambda_=1")
    notes = _collect_label_notes(judged, measure, judge.name)
    if labels.n_unlabelled:
        n_unlabelled = inflect(labels.n_unlabelled, "document")
        remark = note_missing_grades(judge)
        notes.append(f"{n_unlabelled} without a label of {judge.name} counted as grade 0{remark}")
    has_design = {"inclusion", "stratum"} & {*panel.human.columns}
    if not (has_design or labels.is_sampled.all()):
        notes.append(_describe_population(labels, np.unique(judged.documents.judgment).size))
    if system := None if has_design else _find_judged_system(judged, labels):
        notes.append(
            f"people judged the first documents of {quote(system)}, not random ones, so estimates"
            " are biased; also judge a random sample of others, with a column 'inclusion'"
        )
    scores = Scores(sample.judge_scores, judged.topics, judged.systems, definition=measure)
    is_biased = np.full(2 * (len(judged.systems),), bool(system))
    return estimate_scores(sample, len(labels.pool), fixed_topics, fit), scores, is_biased, notes


@dataclass(frozen=True, eq=False)
class _AnswerScores:
    """Scores by human labels, NaN without labels, and by a judge; shape (topics, systems)."""

    human: Floats
    judge: Floats
    has_answer: Bools
    fit: Fit

    def estimate_row(
        self, human: Floats, judge: Floats, is_answered: Bools, **options: bool
    ) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Estimate a mean over all topics; return a data frame with one row, and notes."""
        means = estimate_means(human[is_answered], judge[is_answered], self.fit, **options)
        # Missing answers have the score 0, without sampling error.
        columns = pl.col("estimate", "standard_error", "low", "high") * is_answered.mean()
        return means.to_polars().with_columns(columns), means.notes


@dataclass(frozen=True, eq=False, repr=False)
class PPIAnswers(TableResult):
    """Mean scores of answers with confidence intervals; returned by :func:`ppi_answers`.

    Attributes
    ----------
    rows
        Data frame with a row for each system.
    measure
        Text form of the measure.
    notes
        Notes on means without an interval, or with an interval as wide as by human labels alone.
    """

    name: ClassVar[str] = "ppi"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True),
        "system": Column("System.", key=True),
        **{k: column for k, column in PPIMeans.columns.items() if k != "freedom"},
        "human": Column("Number of answers that people labelled."),
        "answers": Column("Number of answers that the judge labelled."),
        "by judge": Column("Mean score by the labels of the judge alone."),
    }

    measure: str
    notes: tuple[str, ...]
    _data: _AnswerScores

    def estimate_differences(self, baseline: str | None = None) -> pl.DataFrame:
        """Estimate the differences between all pairs of systems, or between each and a baseline.

        People must have labelled the answers of both systems to the same topics. The columns are
        those of :meth:`PPIScores.estimate_differences`.

        Raises
        ------
        PolicyError
            For an unknown baseline, for one system, or if people labelled answers of two systems to
            different topics.
        """
        systems, data, frames = self.rows["system"].to_list(), self._data, []
        if len(systems) < 2:
            raise PolicyError(f"a difference requires two systems, got {quote(systems[0])}")
        for first, second in _list_pairs(systems, baseline):
            pair, names = [first, second], {"system": systems[first], "other": systems[second]}
            has_answer, is_labelled = data.has_answer[:, pair], ~np.isnan(data.human[:, pair])
            if (has_answer.all(axis=1) & (is_labelled[:, 0] != is_labelled[:, 1])).any():
                systems_text = f"{quote(systems[first])} and {quote(systems[second])}"
                raise PolicyError(f"people must label answers of {systems_text} to the same topics")
            human = np.where(has_answer, data.human[:, pair], 0.0)
            scores = (human[:, 0] - human[:, 1], data.judge[:, first] - data.judge[:, second])
            frame, _ = data.estimate_row(
                *scores, has_answer[:, 0] | has_answer[:, 1], has_grade_intervals=False
            )
            frames.append(pl.DataFrame(names).hstack(frame.drop("human", "freedom")))
        return pl.concat(frames)

    def heading(self) -> list[str]:
        n_human, n_answers = self.rows.select(pl.col("human", "answers").sum()).row(0)
        counts = f"people labelled {n_human:,} of {n_answers:,} answers"
        return [f"prediction-powered {self.measure}: {counts}"]


def ppi_answers(
    human: JudgedAnswers | JudgedCitations,
    judge: JudgedAnswers | JudgedCitations,
    measure: str | Measure,
    *,
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
) -> PPIAnswers:
    """Estimate mean scores of answers, all labelled by a judge and some labelled by people.

    People label a random sample of the answers of each system, as completely as the judge: all
    nuggets, or all sentences with their citations. The score of an answer is y by human labels and
    f by the judge, and the means are estimated as by :func:`ppi_mean`.

    Parameters
    ----------
    human
        Human labels of the sampled answers, as read by :mod:`cranfield.texts`.
    judge
        Labels of all answers by the judge, of the same type.
    measure
        Measure of nuggets or citations, such as `NuggetRecall` or `CitationPrecision`.
    lambda_, folds, seed, alpha
        As for :func:`ppi_mean`.

    Returns
    -------
    PPIAnswers
        Result with a row for each system.

    Raises
    ------
    InputError
        For an answer that people labelled but the judge did not, and if they labelled different
        numbers of nuggets, sentences or citations of an answer.
    PolicyError
        For fewer than 3 labels of a system (2 with `lambda_`), unequal types, or invalid options.

    Examples
    --------
    >>> from cranfield.texts import read_citations
    >>> judge = read_citations({"a": {f"q{k}": [["full" if k % 3 else "none"]] for k in range(9)}})
    >>> people = read_citations({"a": {f"q{k}": [["full" if k else "none"]] for k in range(4)}})
    >>> ppi_answers(people, judge, "CitationPrecision").rows.select("estimate", "by judge").rows()
    [(0.8611..., 0.6666...)]
    """
    if type(human) is not type(judge):
        kinds = f"{type(human).__name__} and {type(judge).__name__}"
        raise PolicyError(f"labels of people and judge must have the same type, got {kinds}")
    parsed, *other_measures = parse_measures(measure)
    if other_measures:
        raise PolicyError(f"expected one measure, got {1 + len(other_measures)}")
    name = str(parsed)
    judge_scores = evaluate_answers(judge, parsed)[name].values
    with collect_warnings():
        # Answers outside the sample are not missing.
        sampled_scores = evaluate_answers(human, parsed)[name].values
    has_answer = _has_answer(judge)
    index_of = {(judge.topics[t], judge.systems[s]): (t, s) for t, s in np.argwhere(has_answer)}
    human_scores = np.full(has_answer.shape, np.nan)
    human_counts, judge_counts = _count_parts(human, parsed), _count_parts(judge, parsed)
    for t, s in np.argwhere(_has_answer(human)):
        topic, system = human.topics[t], human.systems[s]
        if (topic, system) not in index_of:
            reason = f"people labelled an answer of {quote(system)} that the judge did not label"
            raise InputError(reason, topic=topic)
        index = index_of[topic, system]
        for part, counts in human_counts.items():
            if (n_labelled := int(counts[t, s])) != (n_judged := int(judge_counts[part][index])):
                numbers = f"{inflect(n_labelled, part)}, and the judge {n_judged:,}"
                reason = f"in an answer of {quote(system)}, people labelled {numbers}"
                raise InputError(f"{reason}; both must label complete answers", topic=topic)
        human_scores[index] = sampled_scores[t, s]
    fit = Fit(lambda_, folds, seed, alpha)
    data = _AnswerScores(human_scores, judge_scores, has_answer, fit)
    frames, notes = [], []
    for k, system in enumerate(judge.systems):
        is_answered = has_answer[:, k]
        frame, system_notes = data.estimate_row(human_scores[:, k], judge_scores[:, k], is_answered)
        sizes = {"answers": int(is_answered.sum()), "by judge": float(judge_scores[:, k].mean())}
        labels = pl.DataFrame({"measure": name, "system": system, **sizes})
        frames.append(labels.hstack(frame))
        notes += [f"{system}: {note}" for note in system_notes]
    return PPIAnswers(pl.concat(frames).select(*PPIAnswers.columns), name, tuple(notes), data)


def _has_answer(judged: JudgedAnswers | JudgedCitations) -> Bools:
    return judged.is_answered if isinstance(judged, JudgedAnswers) else judged.n_sentences > 0


def _count_parts(judged: JudgedAnswers | JudgedCitations, measure: Measure) -> dict[str, Floats]:
    """Count the labelled parts of answers that the measure uses; shape (topics, systems)."""
    if isinstance(judged, JudgedAnswers):
        n_nuggets = judged.nuggets.total(np.ones(len(judged.nuggets.ids)))
        return {"nugget": np.tile(n_nuggets[:, None], len(judged.systems))}
    last_place = 1 if getattr(measure, "counted", "all") == "first" else np.inf
    cell = judged.cell[judged.sentence[judged.position <= last_place]]
    n_citations = judged.total(cell, np.ones(len(cell)))
    return {"sentence": judged.n_sentences, "counted citation": n_citations}
