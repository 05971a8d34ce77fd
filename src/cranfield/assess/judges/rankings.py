"""Rankings of systems by the labels of judges, compared with the ranking by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.agreement.coefficients import jackknife
from cranfield.assess.judges.reading import Panel, panel_of, with_highest_grade
from cranfield.base.arrays import Floats, Ints, to_order
from cranfield.base.errors import CranfieldError, PolicyError, check_share
from cranfield.base.text import counted, some_of
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.correlation import kendall_tau, rbo_of_scores, tau_ap
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column, Columns, Result
from cranfield.scores.averages import FLOOR
from cranfield.tabular import Table, between, number


@dataclass(frozen=True, eq=False)
class ByAll:
    """Scores of the same runs by people and by each judge, the higher the better.

    people: shape (measures, topics, systems).
    judges: shape (measures, judges, topics, systems); NaN on topics without a label of the judge.
    Scores whose low values are good ones have their sign turned, and those whose mean is geometric
    are logarithms, so that systems are in order of their means.
    """

    panel: Panel
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    people: Floats
    judges: Floats


def by_all(
    runs: Any,
    human: Any,
    judges: Any,
    measures: str | Measure | Sequence[str | Measure],
    *,
    scale: Any = None,
    cut: bool = False,
    logs: bool = False,
    **options: Any,
) -> ByAll:
    """Judge the runs once by all; with `logs`, scores that are summed up so are logarithms."""
    wanted = tuple(dict.fromkeys(parse_measures(measures, compat=options.get("compat"))))
    if not wanted:
        raise PolicyError("no measure was given")
    panel = panel_of(human, judges, scale, cut)
    if options.get("aspects"):
        raise PolicyError("aspects are not for judges: each judge is one here")
    if options.get("max_grade") is not None:
        raise PolicyError("expected the highest grade of judges by scale=..., got max_grade=...")
    labels = {one.name: one.labels for one in panel.judges}
    judged = judge(runs, panel.human, **{**options, "aspects": labels})
    by_judge = judged.annotations.aspects
    place = {topic: k for k, topic in enumerate(judged.topics)}
    values = np.empty((len(wanted), len(labels), *judged.shape))
    for k, one in enumerate(panel.judges):
        values[:, k] = _values(by_judge[one.name], wanted, panel.scale.high, logs)
        told = np.zeros(len(place), dtype=bool)
        has = np.unique(one.labels.codes)
        told[[place[one.labels.topics[c]] for c in has if one.labels.topics[c] in place]] = True
        values[:, k, ~told] = np.nan
    people = _values(judged, wanted, panel.scale.high, logs)
    return ByAll(panel, wanted, judged.topics, judged.systems, people, values)


def _values(judged: JudgedRuns, wanted: Sequence[Measure], highest: int, logs: bool) -> Floats:
    scores = score(with_highest_grade(judged, highest), wanted).values()
    tables = []
    for one in scores:
        table = -one.values if one.lower_is_better else one.values
        if logs and one.aggregate == "geometric":
            table = np.log(np.maximum(one.values, FLOOR))
        tables.append(table)
    return np.array(tables)


def judges_as_runs(
    human: Any, judges: Any, *, scale: Any = None, cut: bool = False
) -> tuple[Run, ...]:
    """Make a run of each judge: documents in order of its own grades.

    Documents of one grade are tied, and :func:`cranfield.judge` breaks ties by id, descending by
    default. So judges can be evaluated as the systems that they are, by people and by each other
    (the setting of :func:`kin_bias` when there are no other systems).

    Parameters
    ----------
    human, judges, scale, cut
        As for :func:`compare_judges`.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q1": {"d1": 2, "d2": 0}}
    >>> [run] = judges_as_runs(qrels, {"llm": {"q1": {"d1": 1, "d2": 2}}})
    >>> run, cf.evaluate([run], qrels, "RR").by_system().rows()
    (Run('llm': 1 topic, 2 documents), [('llm', 0.5)])
    """
    panel = panel_of(human, judges, scale, cut)
    return tuple(
        Run(
            one.name,
            one.labels.topics,
            one.labels.codes,
            one.labels.docs,
            one.labels.grades.astype(np.float64),
        )
        for one in panel.judges
    )


@dataclass(frozen=True, eq=False, repr=False)
class JudgeRankings(Result):
    """Rankings of systems by each judge and by people; made by :func:`judge_rankings`.

    Shapes are (measures, judges), with systems or interval bounds as a last axis.

    Attributes
    ----------
    measures, judges, systems
        Their names.
    topics
        Topics compared: those with a label of the judge, and a score of each system.
    by_people, by_judge
        Means over these topics, with a last axis of systems; the higher the better, as in the
        table `systems`.
    tau, tau_ap, rbo, topic_tau, flips
        Columns of the table `rankings`.
    tau_limits, tau_ap_limits
        Confidence intervals of tau and tau AP; shape (measures, judges, 2).
    p, confidence
        Persistence of RBO; confidence level of the intervals.
    notes
        How labels were read.
    """

    columns: ClassVar[dict[str, Columns]] = {
        "rankings": {
            "measure": Column("Measure.", key=True),
            "judge": Column("Judge.", key=True),
            "topics": Column("Number of topics compared."),
            "tau": Column("Kendall's tau-b of the rankings by the judge and by people.", 3),
            "tau low": Column(
                "Lower bound of its t interval by the jackknife over topics; null where there is"
                " none.",
                3,
            ),
            "tau high": Column("Upper bound of that interval.", 3),
            "tau AP": Column("Tau AP of the two rankings; that by people is the reference.", 3),
            "tau AP low": Column("Lower bound of its t interval, as for tau.", 3),
            "tau AP high": Column("Upper bound of that interval.", 3),
            "RBO": Column("Rank-biased overlap of the two rankings, extrapolated.", 3),
            "tau by topic": Column(
                "Mean over topics of the tau of the two rankings of one topic, where defined.",
                3,
            ),
            "flips": Column("Number of pairs of systems in opposite orders."),
            "largest change": Column(
                "Largest difference of ranks of a system; above 0 where the judge ranks it higher."
            ),
            "of system": Column("System with that difference; the first one by name."),
        },
        "systems": {
            "measure": Column("Measure.", key=True),
            "judge": Column("Judge.", key=True),
            "system": Column("System.", key=True),
            "by people": Column(
                "Mean score by people, the higher the better: negative where less is better, and"
                " the mean of logarithms for a geometric mean."
            ),
            "by judge": Column("The same by the judge."),
            "rank by people": Column("Rank by people, from 1; equal means share a rank."),
            "rank by judge": Column("Rank by the judge."),
            "change": Column("Rank by people minus rank by the judge."),
        },
    }

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

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the tables `rankings` and `systems`."""
        return {"rankings": self._rankings(), "systems": self.by_system()}

    def _rankings(self) -> pl.DataFrame:
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
        """Return the table `systems`, a row for each measure, judge and system."""
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
        """Return a table for reading for each measure."""
        pairs = len(self.systems) * (len(self.systems) - 1) // 2
        found = []
        head = [
            *("judge", "topics", "tau", "interval", "tau AP", "interval", "RBO", "tau by topic"),
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
                for row in self._rankings().filter(pl.col("measure") == measure).to_dicts()
            ]
            notes = (
                f"flips: pairs of systems in opposite orders, of {pairs:,}; largest change:"
                " difference of ranks, above 0 where the judge ranks the system higher",
                f"interval: {100 * self.confidence:g}% t interval by the jackknife over topics;"
                f" RBO: p = {self.p:g}",
            )
            found.append(Table(title, head, rows, (0, len(head) - 1), notes))
        return found

    def heading(self) -> list[str]:
        """Return one line: the number of judges and systems, and the measures."""
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.systems), 'system')}"
        return [f"{sizes}: {some_of(self.measures, 5)}"]


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
    """Return the confidence intervals of tau and of tau AP, a row each."""
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
