"""Self-preference of judges: bias towards the systems of their own family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cranfield.assess.judges.rankings import by_all, ranks_of, rounded
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError, check_share, quoted
from cranfield.base.text import counted, some_of
from cranfield.result import Column, Columns, Result, readable
from cranfield.sources import schemas
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import FRAMES, Schema
from cranfield.sources.values import ID
from cranfield.tabular import Table

_FAMILIES = Schema(
    "table of families",
    (
        schemas.Column("name", ID, "judge"),
        schemas.Column("family", ID),
    ),
    called="the families",
    formats=FRAMES,
    otherwise="csv",
    readable="table of names and families",
    tuples=("name", "family"),
)


def kin_of(judges: Sequence[str], systems: Sequence[str], families: Any) -> Bools:
    """Tell which systems share a family with each judge; shape (judges, systems).

    A name without an entry is a family of its own, so that a table may also list the systems of
    each judge. A system of the judge's own name is no kin, but the judge itself.
    """
    known = _read(families)
    kin = np.array(
        [[not _of(judge, known).isdisjoint(_of(one, known)) for one in systems] for judge in judges]
    )
    return np.asarray(kin & ~own_of(judges, systems))


def own_of(judges: Sequence[str], systems: Sequence[str]) -> Bools:
    return np.array([[judge == system for system in systems] for judge in judges])


def _of(name: str, known: Mapping[str, set[str]]) -> set[str]:
    return known.get(name, {name})


def _read(families: Any) -> dict[str, set[str]]:
    if isinstance(families, Mapping):
        pairs: Iterable[tuple[Any, Any]] = (
            (name, one)
            for name, some in families.items()
            for one in ([some] if isinstance(some, str) or not isinstance(some, Iterable) else some)
        )
    else:
        table = read_table(families, _FAMILIES)
        pairs = table.frame.rows()
    known: dict[str, set[str]] = {}
    for name, one in pairs:
        if not isinstance(one, (str, int)):
            raise PolicyError(f"the family of {quoted(name)} is {quoted(one)}, which is no name")
        known.setdefault(str(name), set()).add(str(one))
    return known


SAME = 1e-12
"""Spread of values that differ by rounding only."""


@dataclass(frozen=True, eq=False, repr=False)
class KinBias(Result):
    """Self-preference of judges: bias towards their own family; made by :func:`kin_bias`.

    Attributes
    ----------
    measures, judges, systems
        Their names.
    kin
        The column of that name; shape (judges,).
    topics, shift_of_kin, shift_of_others, bias, low, high, low_together, high_together, pvalue
        The columns; shape (measures, judges). NaN stands for null.
    rank_by_people, rank_by_judge
        The ranks of the judge's own system; shape (measures, judges). 0 stands for null.
    confidence
        Confidence level of the intervals.
    notes
        Judges without a bias, biases without an interval, and how labels were read.
    """

    name: ClassVar[str] = "kin"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True, read=False),
        "judge": Column("Judge.", key=True),
        "kin": Column("Number of systems of the judge's family, without the judge itself."),
        "topics": Column("Number of topics on which the judge has labels and all systems scores."),
        "shift of kin": Column(
            "Mean over topics and systems of its family of the score by the judge minus the score"
            " by people."
        ),
        "shift of others": Column("The same for all other systems."),
        "kin bias": Column(
            "Difference of the two shifts, above 0 where the judge favours its family; null for a"
            " judge without kin, or without others."
        ),
        "low": Column(
            "Lower bound of its t interval over topics; null if the bias is the same on all topics."
        ),
        "high": Column("Upper bound of that interval."),
        "low together": Column(
            "Lower bound of the simultaneous interval for all judges and one measure, by"
            " Bonferroni."
        ),
        "high together": Column("Upper bound of that interval."),
        "p": Column(
            "p-value of the two-sided t-test that the bias is 0, uncorrected; null without an"
            " interval."
        ),
        "own rank by people": Column(
            "Rank by people of the system with the name of the judge; null where there is none."
        ),
        "own rank by itself": Column("Rank of that system by the judge itself."),
    }

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

    def _frame(self) -> pl.DataFrame:
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
        """Return a table for reading for each measure."""
        level = f"{100 * self.confidence:g}%"
        judges = int((~np.isnan(self.bias[0])).sum())
        notes = [
            "kin bias: self-preference, the mean over topics of the shift of kin minus the shift of"
            " all others; shift: score by the judge minus score by people; the judge's own run is"
            " neither kin nor other",
            f"low, high: {level} t interval over topics; together: by Bonferroni for"
            f" {counted(judges, 'judge')}",
        ]
        parts = self._frame().partition_by("measure", maintain_order=True)
        tables = []
        for measure, part in zip(self.measures, parts, strict=True):
            table = readable(part, f"Self-preference bias: {measure}", self.columns)
            place = list(table.head).index("p")
            small = (place, "0.0000")
            rows = [
                ["<0.0001" if (k, cell) == small else cell for k, cell in enumerate(row)]
                for row in table.rows
            ]
            tables.append(replace(table, rows=rows, notes=notes))
        return tables

    def heading(self) -> list[str]:
        """Return one line: the number of judges and systems, and the measures."""
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.systems), 'system')}"
        return [f"{sizes}: {some_of(self.measures, 5)}"]


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
    r"""Measure whether judges favour systems of their own family, such as those of the same model.

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
