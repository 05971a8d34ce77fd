"""What a judge does to the ranking of systems, beside the ranking by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.agreement.intervals import jackknife
from cranfield.assess.judges.scoring import ByAll, by_all
from cranfield.base.arrays import Floats, Ints, to_order
from cranfield.base.checks import check_share
from cranfield.base.errors import CranfieldError
from cranfield.base.words import counted, some_of
from cranfield.correlation import kendall_tau, rbo_of_scores, tau_ap
from cranfield.tabular import Table, between, number
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class JudgeRankings(Framed):
    """Rankings of systems by each judge and by people; made by :func:`judge_rankings`.

    Shapes are (measures, judges), with systems or limits as a last axis.

    Attributes
    ----------
    measures, judges, systems
        Their names.
    topics
        Topics compared: those with a label of the judge, and a score of each system.
    by_people, by_judge
        Means over these topics, with a last axis of systems; the higher the better: scores whose
        low values are good ones have their sign turned, and the mean of logarithms stands for a
        geometric mean.
    tau, tau_ap, rbo
        Kendall's tau-b; tau AP, the ranking by people held to be right; and RBO, extrapolated.
    tau_limits, tau_ap_limits
        t intervals by the jackknife over topics; shape (measures, judges, 2).
    topic_tau
        Mean over topics of the tau of the two rankings of one topic, where there is one.
    flips
        Pairs of systems that people and the judge put in opposite orders.
    p, confidence
        Persistence of RBO; confidence of the intervals.
    notes
        What else should be known.
    """

    measures: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...]
    topics: Ints
    by_people: Floats
    by_judge: Floats
    tau: Floats
    tau_ap: Floats
    rbo: Floats
    tau_limits: Floats
    tau_ap_limits: Floats
    topic_tau: Floats
    flips: Ints
    p: float
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> Ints:
        """By how many ranks each system is higher by the judge than by people (below 0: lower)."""
        return ranks_of(self.by_people) - ranks_of(self.by_judge)

    def to_polars(self) -> pl.DataFrame:
        """Return a row a measure and judge."""
        # Of systems that moved as far, the first by name, in whatever order they were given.
        by_name = np.array(sorted(range(len(self.systems)), key=self.systems.__getitem__))
        moved = by_name[np.abs(self.changes)[..., by_name].argmax(axis=-1)]
        rows = []
        for m, k in np.ndindex(self.tau.shape):
            system = int(moved[m, k])
            limits = (*self.tau_limits[m, k], *self.tau_ap_limits[m, k])
            rows.append(
                {
                    "measure": self.measures[m],
                    "judge": self.judges[k],
                    "topics": int(self.topics[m, k]),
                    "tau": self.tau[m, k],
                    "tau low": limits[0],
                    "tau high": limits[1],
                    "tau AP": self.tau_ap[m, k],
                    "tau AP low": limits[2],
                    "tau AP high": limits[3],
                    "RBO": self.rbo[m, k],
                    "tau by topic": self.topic_tau[m, k],
                    "flips": int(self.flips[m, k]),
                    "largest change": int(self.changes[m, k, system]),
                    "of system": self.systems[system],
                }
            )
        return pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))

    def by_system(self) -> pl.DataFrame:
        """Return a row a measure, judge and system: both means, both ranks, and the change."""
        m, k, s = (index.ravel() for index in np.indices(self.by_people.shape))
        people, judge = (ranks_of(values).ravel() for values in (self.by_people, self.by_judge))
        return pl.DataFrame(
            {
                "measure": pl.Series(self.measures).gather(m),
                "judge": pl.Series(self.judges).gather(k),
                "system": pl.Series(self.systems).gather(s),
                "by people": self.by_people.ravel(),
                "by judge": self.by_judge.ravel(),
                "rank by people": people,
                "rank by judge": judge,
                "change": people - judge,
            }
        )

    def tables(self) -> list[Table]:
        """Return what people read: a table a measure."""
        pairs = len(self.systems) * (len(self.systems) - 1) // 2
        found = []
        head = [
            *("judge", "topics", "tau", "limits", "tau AP", "limits", "RBO", "tau by topic"),
            *("flips", "largest change", "of system"),
        ]
        for measure in self.measures:
            title = f"Systems ranked by judges and by people: {measure}"
            rows = [
                [
                    row["judge"],
                    f"{row['topics']:,}",
                    *(cell for name in ("tau", "tau AP") for cell in _with_limits(row, name)),
                    *(number(row[name], 3) for name in ("RBO", "tau by topic")),
                    f"{row['flips']:,}",
                    f"{row['largest change']:+}",
                    row["of system"],
                ]
                for row in self.to_polars().filter(pl.col("measure") == measure).to_dicts()
            ]
            notes = (
                f"flips: of {counted(pairs, 'pair')} of systems; largest change: ranks, above 0"
                " where the judge puts the system higher",
                f"limits: {100 * self.confidence:g}% t intervals by the jackknife over topics; RBO:"
                f" p = {self.p:g}",
            )
            found.append(Table(title, head, rows, (0, len(head) - 1), notes))
        return found

    def __str__(self) -> str:
        return "\n\n".join([repr(self), *map(str, self.tables()), *self.notes])

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.systems), 'system')}"
        return f"JudgeRankings({sizes}: {some_of(self.measures, 5)})"


def _with_limits(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    return number(row[name], 3), between(row[f"{name} low"], row[f"{name} high"], 3)


def judge_rankings(
    runs: Any,
    human: Any,
    judges: Any,
    measures: Any = ("AP", "nDCG@10"),
    *,
    scale: Any = None,
    cut: bool = False,
    p: float = 0.9,
    confidence: float = 0.95,
    **options: Any,
) -> JudgeRankings:
    """Compare the rankings of systems by the labels of each judge with that by people.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes; each is read once.
    human, judges, scale, cut
        As for :func:`compare_judges`. A judge counts with all its labels of the topics that people
        judged, also of documents that people did not judge.
    measures
        Measures or their text forms. A measure that depends on the highest grade takes that of the
        scale, for people and for judges.
    p
        Persistence of RBO.
    confidence
        Of the intervals over topics.
    options
        As for :func:`cranfield.judge`: `ties`, `unjudged`, `compat` and so on.

    Returns
    -------
    JudgeRankings
        Its table has a row a measure and judge.

    Raises
    ------
    InputError, MeasureError, PolicyError
        For what cannot be read, or does not exist.
    CranfieldError
        For a judge without a topic on which all systems have scores.

    Notes
    -----
    Overall scores are rounded to 8 decimals first, so that systems that differ by rounding only are
    tied.

    The intervals are about the same systems on other topics. They are those of the jackknife, with
    t quantiles, and end at -1 and 1; where no single topic changes the ranking there is none.
    Percentiles of the bootstrap would be far off, and often leave out the coefficient itself:
    drawing topics again adds noise to both rankings, and noise lowers their agreement.

    Examples
    --------
    >>> runs = {
    ...     "a": {"q1": {"x": 3, "y": 2, "z": 1}, "q2": {"x": 1}},
    ...     "b": {"q1": {"y": 3, "x": 2, "z": 1}, "q2": {"y": 2, "x": 1}},
    ... }
    >>> people = {"q1": {"x": 1, "y": 0, "z": 0}, "q2": {"x": 1, "y": 0}}
    >>> machine = {"q1": {"x": 0, "y": 1, "z": 1}, "q2": {"x": 0, "y": 1}}
    >>> found = judge_rankings(runs, people, {"llm": machine}, "RR")
    >>> found.to_polars().select("judge", "tau", "flips", "largest change", "of system").rows()
    [('llm', -1.0, 1, -1, 'a')]
    """
    check_share("p", p)
    check_share("confidence", confidence)
    scored = by_all(runs, human, judges, measures, scale=scale, cut=cut, logs=True, **options)
    shape = scored.judges.shape[:2]
    systems = len(scored.systems)
    topics, flips = (np.zeros(shape, dtype=np.int64) for _ in range(2))
    tau, ap, overlap, by_topic = (np.full(shape, np.nan) for _ in range(4))
    limits = np.full((2, *shape, 2), np.nan)
    means = np.full((2, *shape, systems), np.nan)
    # Sums go in order of name: in whatever order runs are given, results are the same to the bit.
    by_name = np.array(sorted(range(systems), key=scored.systems.__getitem__))
    for m, k in np.ndindex(*shape):
        people, judge = (values[:, by_name] for values in _complete(scored, m, k))
        topics[m, k] = len(people)
        one, other = (rounded(values.mean(axis=0)) for values in (people, judge))
        means[0, m, k, by_name], means[1, m, k, by_name] = one, other
        order = [np.sign(values[:, None] - values) for values in (one, other)]
        flips[m, k] = int((order[0] * order[1] < 0).sum()) // 2
        tau[m, k], ap[m, k] = kendall_tau(one, other), tau_ap(other, one)
        overlap[m, k] = rbo_of_scores(other, one, p).ext
        each = kendall_tau(rounded(people), rounded(judge))
        if not np.isnan(each).all():
            by_topic[m, k] = np.nanmean(each)
        if len(people) > 1 and systems > 1:
            values = float(tau[m, k]), float(ap[m, k])
            limits[:, m, k] = _limits(people, judge, values, confidence)
    return JudgeRankings(
        tuple(map(str, scored.measures)),
        tuple(one.name for one in scored.panel.judges),
        scored.systems,
        topics,
        means[0],
        means[1],
        tau,
        ap,
        overlap,
        limits[0],
        limits[1],
        by_topic,
        flips,
        p,
        confidence,
        scored.panel.notes,
    )


def _complete(scored: ByAll, measure: int, judge: int) -> tuple[Floats, Floats]:
    """Return the scores on the topics where all systems have one, by people and by the judge."""
    people, other = scored.people[measure], scored.judges[measure, judge]
    known = ~(np.isnan(people).any(axis=1) | np.isnan(other).any(axis=1))
    if not known.any():
        name, of = scored.panel.judges[judge].name, scored.measures[measure]
        raise CranfieldError(f"no topic has scores of {of} by people and by {name}")
    return people[known], other[known]


def _limits(people: Floats, judge: Floats, found: tuple[float, float], confidence: float) -> Floats:
    """Return the limits of tau and of tau AP, a row each."""
    topics = len(people)
    one, other = (
        rounded((values.sum(axis=0) - values) / (topics - 1)) for values in (people, judge)
    )
    without = np.column_stack([kendall_tau(one, other), tau_ap(other, one)])
    has = np.ones(without.shape, dtype=bool)
    limits = jackknife(np.array(found), without, has, confidence, bounded=False)
    return np.clip(np.column_stack(limits), -1.0, 1.0)


def rounded(values: Floats) -> Floats:
    return to_order(values)


def ranks_of(values: Floats) -> Ints:
    """Rank of each value along the last axis, from 1; equal ones share the best of their ranks."""
    return np.asarray(1 + (values[..., None, :] > values[..., :, None]).sum(axis=-1))
