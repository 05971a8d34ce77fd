"""Compare rankings of systems by the labels of judges with the ranking by human labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.agreement.coefficients import compute_jackknife_intervals
from cranfield.assess.judges.reading import (
    Panel,
    find_judged_topics,
    keep_judged_docs,
    note_missing_judgments,
    note_missing_labels,
    read_panel,
    set_highest_grade,
    tabulate,
)
from cranfield.base.arrays import Floats, Ints, round_for_ranking
from cranfield.base.errors import (
    CranfieldError,
    MeasureError,
    PolicyError,
    collect_warnings,
    quote,
    warn,
)
from cranfield.base.kinds import UnitInterval, check_arguments
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.collection.run import Run
from cranfield.correlation import kendall_tau, rbo_of_scores, tau_ap
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, Result
from cranfield.scores.averages import FLOOR
from cranfield.tabular import Table, format_interval


@dataclass(frozen=True, eq=False)
class JudgeScores:
    """Scores of the same runs by human labels and by each judge, negated if lower is better."""

    panel: Panel
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    human: Floats  # Shape (measures, topics, systems)
    # Shape (measures, judges, topics, systems); NaN on topics without a label of the judge
    judges: Floats
    notes: tuple[str, ...]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the measures and the judges: the first two axes of `judges`, by name."""
        judges = tuple(judge.name for judge in self.panel.judges)
        return {"measure": tuple(map(str, self.measures)), "judge": judges}

    def select_complete_scores(self, measure: int, judge: int) -> tuple[Floats, Floats]:
        """Return human and judge scores on the topics where all systems have both."""
        human_scores, judge_scores = self.human[measure], self.judges[measure, judge]
        is_complete = ~(np.isnan(human_scores).any(axis=1) | np.isnan(judge_scores).any(axis=1))
        return human_scores[is_complete], judge_scores[is_complete]


def score_by_judges(
    runs: Any,
    human: Any,
    judges: Any,
    measures: str | Measure | Sequence[str | Measure],
    *,
    scale: Any = None,
    clip: bool = False,
    takes_logs: bool = False,
    **options: Any,
) -> JudgeScores:
    """Score the runs by human labels and by each judge, reading each run once."""
    parsed = tuple(parse_measures(measures, compat=options.get("compat")))
    panel = read_panel(human, judges, scale, clip)
    if options.get("aspects"):
        raise PolicyError("aspects cannot be combined with judges, as each judge is an aspect")
    if options.get("max_grade") is not None:
        raise PolicyError("max_grade cannot be combined with judges; set the scale by scale=...")
    labels = {judge.name: judge.labels for judge in panel.judges}
    is_condensed = options.get("unjudged") == "condensed"
    if is_condensed:
        # Human and judge scores are then computed on the same condensed rankings.
        labels = {name: keep_judged_docs(qrels, panel.human) for name, qrels in labels.items()}
    with collect_warnings() as warnings:
        judged = judge_runs(runs, panel.human, **{**options, "aspects": labels})
    for text in warnings:
        # Warnings on aspects are about topics without labels of a judge, which get no score.
        if not text.startswith("aspect "):
            warn(text)

    def evaluate_aspect(aspect: JudgedRuns) -> Evaluation:
        return score(set_highest_grade(aspect, panel.scale.max_grade), parsed)

    def orient_scores(evaluation: Evaluation) -> Floats:
        oriented_scores = []
        for scores in evaluation.values():
            array = -scores.values if scores.lower_is_better else scores.values
            if takes_logs and scores.aggregate == "geometric":
                # Arithmetic means of logarithms order systems as geometric means do.
                array = np.log(np.maximum(scores.values, FLOOR))
            oriented_scores.append(array)
        return np.array(oriented_scores)

    values = np.empty((len(parsed), len(labels), *judged.shape))
    missing_notes = []
    for k, (name, qrels) in enumerate(labels.items()):
        try:
            values[:, k] = orient_scores(evaluate_aspect(judged.side_data.aspects[name]))
        except MeasureError as error:
            raise MeasureError(f"labels of {quote(name)}: {error}") from None
        labelled_topics = find_judged_topics(qrels)
        is_missing = [topic not in labelled_topics for topic in judged.topics]
        values[:, k, is_missing] = np.nan
        if any(is_missing):
            topics = f"{sum(is_missing):,} of {inflect(len(is_missing), 'topic')}"
            missing_notes.append(f"{name}: {topics} excluded: not labelled by the judge")
    human_evaluation = evaluate_aspect(judged)
    gaps = [] if is_condensed else note_missing_judgments(panel)
    advice = "to score only documents that people judged, use unjudged='condensed'"
    missing_notes += [*note_missing_labels(panel), *(f"{gap}; {advice}" for gap in gaps)]
    notes = (*panel.notes, *missing_notes, *human_evaluation.notes)
    human_scores = orient_scores(human_evaluation)
    return JudgeScores(panel, parsed, judged.topics, judged.systems, human_scores, values, notes)


def judges_as_runs(
    human: Any, judges: Any, *, scale: Any = None, clip: bool = False
) -> tuple[Run, ...]:
    """Return a run for each judge, which ranks documents by the judge's grades.

    Documents with the same grade are tied, and :func:`cranfield.judge` breaks ties by id,
    descending by default. Judges can thus be evaluated as systems, by human labels and by each
    other, for example by :func:`self_preference` without other systems.

    Parameters
    ----------
    human, judges, scale, clip
        As for :func:`compare_judges`.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q1": {"d1": 2, "d2": 0}}
    >>> [run] = judges_as_runs(qrels, {"llm": {"q1": {"d1": 1, "d2": 2}}})
    >>> run, cf.evaluate([run], qrels, "RR").by_system().rows()
    (Run('llm': 1 topic, 2 documents), [('llm', 0.5)])
    """
    panel = read_panel(human, judges, scale, clip)
    runs = []
    for judge in panel.judges:
        labels, grades = judge.labels, judge.labels.grades.astype(np.float64)
        runs.append(Run(judge.name, labels.topics, labels.codes, labels.docs, grades))
    return tuple(runs)


@dataclass(frozen=True, eq=False, repr=False)
class JudgeRankings(Result):
    """Rankings of systems by each judge and by human labels; returned by :func:`judge_rankings`.

    Attributes
    ----------
    rankings, means
        The tables `rankings` and `systems`.
    measures, judges, systems
        Names of the measures, judges and systems.
    p, confidence
        Persistence of RBO; confidence level of the intervals.
    notes
        Notes on how labels were read, and on the runs and their human labels.
    """

    columns: ClassVar[dict[str, Columns]] = {
        "rankings": {
            "measure": Column("Measure.", key=True),
            "judge": Column("Judge.", key=True),
            "topics": Column(
                "Number of topics that have a label of the judge and scores of all systems."
            ),
            "tau": Column("Kendall's tau-b of the two rankings; null if undefined.", 3),
            "tau low": Column(
                "Lower bound of the jackknife t interval of tau over topics; null if undefined.", 3
            ),
            "tau high": Column("Upper bound of the interval of tau.", 3),
            "tau AP": Column(
                "Tau AP, with the ranking by human labels as the reference; null if undefined.", 3
            ),
            "tau AP low": Column("Lower bound of the interval of tau AP; null if undefined.", 3),
            "tau AP high": Column("Upper bound of the interval of tau AP.", 3),
            "RBO": Column("Rank-biased overlap of the two rankings, extrapolated.", 3),
            "tau by topic": Column("Mean of tau over topics where it is defined; null if none.", 3),
            "flips": Column("Number of pairs of systems in opposite orders."),
            "largest change": Column(
                "Largest change of rank up or down; above 0 if the judge ranks the system higher."
            ),
            "of system": Column(
                "System with the largest change of rank; the first by name if several have it."
            ),
        },
        "systems": {
            "measure": Column("Measure.", key=True),
            "judge": Column("Judge.", key=True),
            "system": Column("System.", key=True),
            "by human labels": Column(
                "Mean score by human labels, negated if lower is better; mean logarithm of scores"
                " for a geometric mean."
            ),
            "by judge": Column("Mean score by the judge's labels, computed in the same way."),
            "human rank": Column("Rank by human labels, from 1; equal means share a rank."),
            "judge rank": Column("Rank by the judge."),
            "change": Column("Rank by human labels minus rank by the judge."),
        },
    }

    rankings: pl.DataFrame
    means: pl.DataFrame
    measures: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...]
    p: float
    confidence: float
    notes: tuple[str, ...] = ()

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"rankings": self.rankings, "systems": self.means}

    def tables(self) -> list[Table]:
        n_pairs = len(self.systems) * (len(self.systems) - 1) // 2
        columns = self.columns["rankings"]
        notes = (
            f"flips: pairs of systems in opposite orders, of {n_pairs:,}; largest change:"
            " difference of ranks, above 0 if the judge ranks the system higher",
            f"interval: {100 * self.confidence:g}% t interval by the jackknife over topics;"
            f" RBO: rank-biased overlap, p = {self.p:g}",
        )
        tables = []
        for (name,), group in self.rankings.group_by(["measure"], maintain_order=True):
            rows = []
            for row in group.drop("measure").to_dicts():
                cells = {key: columns[key].format_value(value) for key, value in row.items()}
                cells["largest change"] = f"{row['largest change']:+}"
                for tau in ("tau", "tau AP"):
                    low, high = row[f"{tau} low"], row[f"{tau} high"]
                    cells[f"{tau} low"] = format_interval(low, high, 3)
                    del cells[f"{tau} high"]
                rows.append([*cells.values()])
            head = ["interval" if key.endswith(" low") else key for key in cells]
            title = f"Systems ranked by judges and by human labels: {name}"
            tables.append(Table(title, head, rows, (0, len(head) - 1), notes))
        return tables

    def heading(self) -> list[str]:
        sizes = f"{inflect(len(self.judges), 'judge')}, {inflect(len(self.systems), 'system')}"
        return [f"{sizes}: {list_some(self.measures, 5)}"]


def judge_rankings(
    runs: Any,
    human: Any,
    judges: Any,
    measures: Any = ("AP", "nDCG@10"),
    *,
    scale: Any = None,
    clip: bool = False,
    p: Annotated[float, UnitInterval()] = 0.9,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    **options: Any,
) -> JudgeRankings:
    """Compare the rankings of systems by the labels of each judge with the ranking by human labels.

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`; each run is read once.
    human, judges, scale, clip
        As for :func:`compare_judges`. In topics with human labels, all labels of a judge are used,
        also of documents without a human label (except with `unjudged='condensed'`).
    measures
        Measures or their text forms. A measure that depends on the highest grade uses the highest
        grade of the scale, for human labels and for judges.
    p
        Persistence of RBO.
    confidence
        Confidence level of the intervals over topics.
    options
        As for :func:`cranfield.judge`: `ties`, `unjudged`, `compat` and so on.

    Returns
    -------
    JudgeRankings
        Result with a row per measure and judge.

    Raises
    ------
    InputError, MeasureError, PolicyError
        For unreadable input and unknown names.
    CranfieldError
        If no topic has scores of all systems by human labels and by a judge.

    Notes
    -----
    Mean scores are rounded to 8 decimals before they are ranked, so that systems whose means differ
    by rounding errors only are tied.

    The intervals are for the same systems on other topics. They are jackknife intervals with t
    quantiles, clipped to [-1, 1]; no interval is computed for one topic or one system, or if the
    coefficient is the same whichever topic is excluded. Bootstrap percentile intervals are biased
    downwards, and often exclude the coefficient itself: resampling topics adds noise to both
    rankings, and this noise lowers their agreement.

    Examples
    --------
    >>> runs = {
    ...     "a": {"q1": {"x": 3, "y": 2, "z": 1}, "q2": {"x": 1}},
    ...     "b": {"q1": {"y": 3, "x": 2, "z": 1}, "q2": {"y": 2, "x": 1}},
    ... }
    >>> people = {"q1": {"x": 1, "y": 0, "z": 0}, "q2": {"x": 1, "y": 0}}
    >>> machine = {"q1": {"x": 0, "y": 1, "z": 1}, "q2": {"x": 0, "y": 1}}
    >>> rankings = judge_rankings(runs, people, {"llm": machine}, "RR")
    >>> rankings.to_polars().select("judge", "tau", "flips", "largest change", "of system").rows()
    [('llm', -1.0, 1, -1, 'a')]
    """
    check_arguments(judge_rankings, locals(), judge_runs)
    judge_scores = score_by_judges(
        runs, human, judges, measures, scale=scale, clip=clip, takes_logs=True, **options
    )
    names, n_systems = judge_scores.names, len(judge_scores.systems)
    rows: list[dict[str, Any]] = []
    means = np.full((2, *judge_scores.judges.shape[:2], n_systems), np.nan)
    # Systems are sorted by name, so that sums are bit-identical for any order of runs.
    name_order = np.array(sorted(range(n_systems), key=judge_scores.systems.__getitem__))
    for cell in np.ndindex(*means.shape[1:3]):
        measure, judge = names["measure"][cell[0]], names["judge"][cell[1]]
        scores = [values[:, name_order] for values in judge_scores.select_complete_scores(*cell)]
        n_topics = len(scores[0])
        if not n_topics:
            raise CranfieldError(f"no topic has scores of {measure} by human labels and by {judge}")
        system_means = [round_for_ranking(values.mean(axis=0)) for values in scores]
        means[(slice(None), *cell, name_order)] = system_means
        signs = [np.sign(values[:, None] - values) for values in system_means]
        taus = np.array([kendall_tau(*system_means), tau_ap(*system_means[::-1])])
        bounds = np.full((2, 2), np.nan)
        if n_topics > 1 and n_systems > 1:
            sums = [values.sum(axis=0) - values for values in scores]
            replicates = [round_for_ranking(values / (n_topics - 1)) for values in sums]
            tau_replicates = np.column_stack([kendall_tau(*replicates), tau_ap(*replicates[::-1])])
            has_scores = np.ones(tau_replicates.shape, dtype=bool)
            interval = compute_jackknife_intervals(
                taus, tau_replicates, has_scores, confidence, is_bounded=False
            )
            bounds = np.clip(np.column_stack(interval), -1.0, 1.0)
        row = {"measure": measure, "judge": judge, "topics": n_topics}
        for name, value, (low, high) in zip(("tau", "tau AP"), taus, bounds, strict=True):
            row |= {name: value, f"{name} low": low, f"{name} high": high}
        topic_taus = kendall_tau(*map(round_for_ranking, scores))
        is_defined = not np.isnan(topic_taus).all()
        row["RBO"] = rbo_of_scores(system_means[1], system_means[0], p).ext
        row["tau by topic"] = np.nanmean(topic_taus) if is_defined else np.nan
        rows.append(row | {"flips": int((signs[0] * signs[1] < 0).sum()) // 2})
    ranks = [compute_ranks(values) for values in means]
    changes = ranks[0] - ranks[1]
    # If several systems have the largest change of rank, take the first by name.
    most_moved = name_order[np.abs(changes)[..., name_order].argmax(axis=-1)]
    largest_change = np.take_along_axis(changes, most_moved[..., None], -1)
    columns = {"by human labels": means[0], "by judge": means[1]}
    columns |= {"human rank": ranks[0], "judge rank": ranks[1], "change": changes}
    rankings = pl.DataFrame(rows).with_columns(
        pl.selectors.float().fill_nan(None),
        pl.Series("largest change", largest_change.ravel()),
        pl.Series("of system", judge_scores.systems).gather(most_moved.ravel()),
    )
    return JudgeRankings(
        rankings=rankings,
        means=tabulate(columns, **names, system=judge_scores.systems),
        measures=names["measure"],
        judges=names["judge"],
        systems=judge_scores.systems,
        p=p,
        confidence=confidence,
        notes=judge_scores.notes,
    )


def compute_ranks(values: Floats) -> Ints:
    """Rank values in descending order along the last axis; equal values share the smallest rank."""
    return np.asarray(1 + (values[..., None, :] > values[..., :, None]).sum(axis=-1))
