"""Whether judges favour the systems of their own family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cranfield.assess.judges.families import kin_of, own_of
from cranfield.assess.judges.rankings import ranks_of, rounded
from cranfield.assess.judges.scoring import by_all
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.checks import check_share
from cranfield.base.errors import PolicyError
from cranfield.base.showing import Plotted
from cranfield.base.words import counted, some_of
from cranfield.tabular import Table, from_frame
from cranfield.tabular.frames import Framed

SAME = 1e-12
"""Spread of values that differ by rounding only."""


@dataclass(frozen=True, eq=False, repr=False)
class KinBias(Framed, Plotted):
    """How much judges favour their own family; made by :func:`kin_bias`.

    Shapes are (measures, judges).

    Attributes
    ----------
    measures, judges, systems
        Their names.
    kin
        How many systems are kin of each judge, itself left out; shape (judges,).
    topics
        Topics on which the judge has labels and all systems have scores.
    shift_of_kin, shift_of_others
        Mean over topics and systems of score by the judge minus score by people.
    bias
        Their difference; above 0, the judge favours its kin. NaN for a judge without kin, or with
        no others.
    low, high
        t interval over topics; NaN if the bias is the same in all topics.
    low_together, high_together
        The same by Bonferroni, so that the intervals of all judges hold together for one measure.
    pvalue
        P-value of the two-sided t-test that the bias is 0, without correction; NaN if there is no
        interval.
    rank_by_people, rank_by_judge
        Ranks of the system called like the judge, by people and by the judge itself; 0 where there
        is none.
    confidence
        Of the intervals.
    notes
        What else should be known.
    """

    measures: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...]
    kin: Ints
    topics: Ints
    shift_of_kin: Floats
    shift_of_others: Floats
    bias: Floats
    low: Floats
    high: Floats
    low_together: Floats
    high_together: Floats
    pvalue: Floats
    rank_by_people: Ints
    rank_by_judge: Ints
    confidence: float
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a row a measure and judge; ranks only where some judge is a system."""
        m, k = (index.ravel() for index in np.indices(self.bias.shape))
        numbers = {
            "shift of kin": self.shift_of_kin,
            "shift of others": self.shift_of_others,
            "kin bias": self.bias,
            "low": self.low,
            "high": self.high,
            "low together": self.low_together,
            "high together": self.high_together,
            "p": self.pvalue,
        }
        frame = pl.DataFrame(
            {
                "measure": pl.Series(self.measures).gather(m),
                "judge": pl.Series(self.judges).gather(k),
                "kin": self.kin[k],
                "topics": self.topics.ravel(),
                **{name: values.ravel() for name, values in numbers.items()},
            }
        ).with_columns(pl.selectors.float().fill_nan(None))
        if not self.rank_by_judge.any():
            return frame
        ranks = {
            "own rank by people": self.rank_by_people,
            "own rank by itself": self.rank_by_judge,
        }
        return frame.with_columns(
            **{name: pl.Series(of.ravel()).replace(0, None) for name, of in ranks.items()}
        )

    def tables(self) -> list[Table]:
        """Return what people read: a table a measure."""
        level = f"{100 * self.confidence:g}%"
        judges = int((~np.isnan(self.bias[0])).sum())
        notes = [
            "kin bias: mean over topics of the shift of kin minus the shift of all others; shift:"
            " score by the judge minus score by people; the judge's own run is neither",
            f"low, high: {level} t interval over topics; together: by Bonferroni for"
            f" {counted(judges, 'judge')}",
        ]
        found = []
        for measure in self.measures:
            title = f"Kin bias: {measure}"
            frame = self.to_polars().filter(pl.col("measure") == measure).drop("measure")
            table = from_frame(frame, title, left=("judge",))
            place = list(table.head).index("p")
            rows = [
                [
                    *row[:place],
                    "<0.0001" if row[place] == "0.0000" else row[place],
                    *row[place + 1 :],
                ]
                for row in table.rows
            ]
            found.append(Table(title, table.head, rows, table.left, notes))
        return found

    def __str__(self) -> str:
        return "\n\n".join([repr(self), *map(str, self.tables()), *self.notes])

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.systems), 'system')}"
        return f"KinBias({sizes}: {some_of(self.measures, 5)})"


def kin_bias(
    runs: Any,
    human: Any,
    judges: Any,
    families: Any,
    measures: Any = "nDCG@10",
    *,
    scale: Any = None,
    cut: bool = False,
    confidence: float = 0.95,
    **options: Any,
) -> KinBias:
    r"""Ask whether judges favour systems of their own family, such as those of the same model.

    .. math::
        b_j = \frac{1}{T} \sum_t \left( \operatorname{mean}_{s \in K_j} \Delta_{jst}
            - \operatorname{mean}_{s \notin K_j} \Delta_{jst} \right), \qquad
        \Delta_{jst} = M_j(s, t) - M_{people}(s, t)

    with :math:`K_j` the systems of the judge's family. A judge that is generous to all systems
    alike has no bias; nor has one whose kin are better by people too.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes; or what :func:`judges_as_runs` makes, so that
        the judges are systems. A system called like the judge is itself: neither kin nor other.
    human, judges, scale, cut
        As for :func:`compare_judges`.
    families
        A mapping `{name: family}`, or of names to several families, with judges and systems as
        names; a data frame, or the path of a CSV or TSV file, with a column of names (`name`,
        `judge`, `system`, `run`, ...) and one of families (`family`, `team`, `group`, ...). A name
        without an entry is a family of its own, so that `{judge: [system, ...]}`, or a table with
        the columns `judge` and `system`, does as well.
    measures
        Measures or their text forms.
    confidence
        Of the intervals.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    KinBias
        Its table has a row a measure and judge.

    Raises
    ------
    InputError, MeasureError, PolicyError
        For what cannot be read, or does not exist; and when no judge has kin among the systems.

    Notes
    -----
    Topics are a sample, and systems are not: the interval is about the same systems on other
    topics. It takes the differences of topics for a sample from a normal distribution.

    Examples
    --------
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 0, "y": 1}, "q2": {"x": 1, "y": 1}, "q3": {"x": 0, "y": 1}}
    >>> topics = ("q1", "q2", "q3")
    >>> runs = {"plain": {t: {"x": 1} for t in topics}, "rag": {t: {"y": 1} for t in topics}}
    >>> found = kin_bias(runs, people, {"llm": machine}, {"llm": ["rag"]}, "P@1")
    >>> found.to_polars().select("judge", "kin", "kin bias").rows()
    [('llm', 1, 1.0)]
    """
    check_share("confidence", confidence)
    scored = by_all(runs, human, judges, measures, scale=scale, cut=cut, **options)
    names = tuple(one.name for one in scored.panel.judges)
    kin, own = kin_of(names, scored.systems, families), own_of(names, scored.systems)
    others: Bools = np.logical_not(kin | own)
    known: Bools = np.asarray(kin.any(axis=1) & others.any(axis=1))
    if not known.any():
        raise PolicyError("no judge has kin among the systems, and others beside them")
    notes = [*scored.panel.notes]
    if not known.all():
        left = some_of((names[k] for k in np.flatnonzero(~known)), 5)
        notes.append(f"without kin among the systems, or without others: {left}")
    shape = scored.judges.shape[:2]
    topics, by_people, by_judge = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    of_kin, of_others, error = (np.full(shape, np.nan) for _ in range(3))
    for m, k in np.ndindex(*shape):
        people, judge = scored.people[m], scored.judges[m, k]
        there = ~(np.isnan(people).any(axis=1) | np.isnan(judge).any(axis=1))
        topics[m, k] = size = int(there.sum())
        if own[k].any() and size:
            place = int(own[k].argmax())
            of_all = [ranks_of(rounded(one[there].mean(axis=0))) for one in (people, judge)]
            by_people[m, k], by_judge[m, k] = (ranks[place] for ranks in of_all)
        if known[k] and size:
            shift = (judge - people)[there]
            first, second = (shift[:, which].mean(axis=1) for which in (kin[k], others[k]))
            of_kin[m, k], of_others[m, k] = first.mean(), second.mean()
            if size > 1 and np.ptp(first - second) > SAME:
                error[m, k] = (first - second).std(ddof=1) / np.sqrt(size)
    bias = of_kin - of_others
    if (same := (topics > 1) & np.isnan(error) & ~np.isnan(bias)).any():
        where = counted(int(same.sum()), "value")
        notes.append(f"{where} of the bias equal in all topics: no interval can be computed")
    low, high = _limits(bias, error, topics, confidence)
    together = _limits(bias, error, topics, 1 - (1 - confidence) / int(known.sum()))
    return KinBias(
        tuple(map(str, scored.measures)),
        names,
        scored.systems,
        kin.sum(axis=1),
        topics,
        of_kin,
        of_others,
        bias,
        low,
        high,
        *together,
        _pvalue(bias, error, topics),
        by_people,
        by_judge,
        confidence,
        tuple(notes),
    )


def _limits(bias: Floats, error: Floats, topics: Ints, confidence: float) -> tuple[Floats, Floats]:
    half = stdtrit(np.maximum(topics - 1, 1), (1 + confidence) / 2) * error
    return bias - half, bias + half


def _pvalue(bias: Floats, error: Floats, topics: Ints) -> Floats:
    return np.asarray(2 * stdtr(np.maximum(topics - 1, 1), -np.abs(bias) / error))
