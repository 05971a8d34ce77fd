"""Judges compared with people, grade by grade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.agreement import laws
from cranfield.assess.agreement.distances import LAWS
from cranfield.assess.agreement.intervals import jackknife
from cranfield.assess.agreement.tables import CELLS, Tables, of_joint
from cranfield.assess.judges.beside import Scale, beside, panel_of, sampled_only
from cranfield.assess.judges.calibration import calibration
from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import PolicyError
from cranfield.base.showing import Plotted
from cranfield.base.words import counted
from cranfield.tabular import Table, between, from_frame, number
from cranfield.tabular.frames import Framed

LEVELS = tuple(name for name in LAWS if name not in {"linear", "quadratic"})
"""Levels of measurement of Krippendorff's alpha."""

COUNTS = {
    "labels": "labels of the judge",
    "pairs": "labels of what people judged too",
    "missing": "pairs that people judged and the judge did not",
    "extra": "labels of other documents of topics that people judged",
    "unknown": "labels of topics that people did not judge",
    "unparsed": "answers without a grade",
    "cut": "grades off the scale, cut",
}
"""What is counted of each judge."""

BESIDES = ("missing", "extra", "unknown", "unparsed", "cut")
"""Counts that are 0 where a judge labelled what people judged, and nothing else."""

SIDES = ("over", "under")

UNBOUNDED = ("bias",)
"""Statistics that may be above 1; of the others, intervals end below 1."""

SHARES = ("agreement", "over", "under")
"""Statistics that are not below 0."""

FEW = 3
"""Judges whose calibration is printed."""

Statistic = Callable[[Tables], Floats]


def statistics(scale: Scale, level: str) -> dict[str, Statistic]:
    """Name what is computed of the tables of people (first) and a judge (second)."""
    cuts = [(name, low) for name, low in zip(scale.cuts, scale.grades[1:], strict=False)]
    binary = partial(laws.krippendorff_alpha, distance="nominal")
    return {
        "kappa": laws.cohen_kappa,
        **{f"kappa {name}": _cut(laws.cohen_kappa, low) for name, low in cuts},
        "alpha": partial(laws.krippendorff_alpha, distance=level),
        **{f"alpha {name}": _cut(binary, low) for name, low in cuts},
        "agreement": laws.observed,
        "bias": partial(_mean_of, lambda apart: apart),
        "over": partial(_mean_of, lambda apart: apart > 0),
        "under": partial(_mean_of, lambda apart: apart < 0),
    }


def _cut(law: Statistic, low: int) -> Statistic:
    return lambda tables: law(tables.cut(low))


def _mean_of(what: Callable[[Floats], Any], tables: Tables) -> Floats:
    """Mean over pairs of something of the grade of the judge minus that of people."""
    joint = tables.joint
    assert joint is not None
    weights = np.asarray(what(tables.grades[None, :] - tables.grades[:, None]), dtype=np.float64)
    size = joint.sum(axis=(-2, -1))
    total = (joint * weights).sum(axis=(-2, -1))
    return np.asarray(total / np.where(size > 0, size, np.nan))


@dataclass(frozen=True, eq=False, repr=False)
class JudgeComparison(Framed, Plotted):
    """Judges beside people; made by :func:`compare_judges`.

    Attributes
    ----------
    judges, topics
        Their names; topics are those that people judged.
    scale
        The grades that may be given, in ascending order.
    joint
        Pairs by grade of people and grade of the judge; shape (judges, topics, grades, grades).
    counts
        How many `labels`, `pairs`, `missing`, `extra`, `unknown`, `unparsed` and `cut` there are;
        shape (judges,) each.
    statistics
        Names of what was computed: `kappa` of all grades and at each cut of the scale, such as
        `kappa 01|23`; `alpha` at the level asked for, and nominal at each cut; `agreement`, the
        share of equal grades; `bias`, the mean of grade by the judge minus grade by people; `over`
        and `under`, shares of pairs that the judge grades higher or lower.
    values, low, high
        The statistics and their intervals over topics; shape (judges, statistics). NaN where one is
        not defined, as kappa is when all grades are the same.
    level, confidence
        Level of measurement of alpha; confidence of the intervals.
    notes
        What else should be known.
    """

    judges: tuple[str, ...]
    topics: tuple[str, ...]
    scale: tuple[int, ...]
    joint: Ints
    counts: dict[str, Ints]
    statistics: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats
    level: str
    confidence: float
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a row a judge: the counts, and the statistics; null is not defined."""
        return pl.DataFrame(
            {
                "judge": self.judges,
                **self.counts,
                **dict(zip(self.statistics, self.values.T, strict=True)),
            }
        ).with_columns(pl.selectors.float().fill_nan(None))

    def intervals(self) -> pl.DataFrame:
        """Return a row a judge and statistic: estimate, low, high."""
        judge, statistic = (index.ravel() for index in np.indices(self.values.shape))
        numbers = {"estimate": self.values, "low": self.low, "high": self.high}
        return pl.DataFrame(
            {
                "judge": pl.Series(self.judges).gather(judge),
                "statistic": pl.Series(self.statistics).gather(statistic),
                **{name: of.ravel() for name, of in numbers.items()},
            }
        ).with_columns(pl.selectors.float().fill_nan(None))

    def calibration(self) -> pl.DataFrame:
        """Return the shares of people's grades by the grade of the judge, with intervals.

        Returns
        -------
        polars.DataFrame
            A row a judge, grade of the judge (`label`) and grade of people (`grade`): how many
            `pairs`, their `share` of the pairs with this label, and Wilson's interval `low` to
            `high`, with pairs divided by the design effect of topics. Null for a label that the
            judge never gave.
        """
        found = [calibration(table, self.confidence) for table in self.joint]
        judge, label, grade = (
            index.ravel() for index in np.indices((len(self.judges), *self.joint.shape[-2:]))
        )
        columns = zip(("share", "low", "high"), zip(*found, strict=True), strict=True)
        return pl.DataFrame(
            {
                "judge": pl.Series(self.judges).gather(judge),
                "label": np.array(self.scale)[label],
                "grade": np.array(self.scale)[grade],
                "pairs": np.swapaxes(self.joint.sum(axis=1), 1, 2).ravel(),
                **{name: np.stack(of).ravel() for name, of in columns},
            }
        ).with_columns(pl.selectors.float().fill_nan(None))

    def confusion(self, judge: str) -> pl.DataFrame:
        """Return the pairs by grade of people, a row each, and grade of a judge, a column each."""
        check_choice("judge", judge, self.judges)
        table = self.joint[self.judges.index(judge)].sum(axis=0)
        columns = {str(name): table[:, k] for k, name in enumerate(self.scale)}
        return pl.DataFrame({"grade by people": self.scale, **columns})

    def tables(self) -> list[Table]:
        """Return what people read; the calibration only of a few judges."""
        found = [self._agreement(), self._limits()]
        if any(self.counts[name].any() for name in BESIDES):
            title = "Labels that fit nothing, and answers that are none"
            shown = from_frame(self.to_polars().select("judge", *COUNTS), title, left=("judge",))
            notes = [f"{name}: {COUNTS[name]}" for name in COUNTS]
            found.append(Table(title, shown.head, shown.rows, shown.left, notes))
        if len(self.judges) <= FEW:
            found += [self._calibration(judge) for judge in self.judges]
        return found

    def _agreement(self) -> Table:
        title = (
            f"Agreement with people: kappa, and alpha ({self.level}; nominal where grades are cut)"
        )
        chosen = [name for name in self.statistics if name.startswith(("kappa", "alpha"))]
        frame = self.to_polars().select("judge", "pairs", *chosen)
        return from_frame(frame, title, left=("judge",))

    def _limits(self) -> Table:
        chosen = [self.statistics.index(name) for name in ("kappa", "alpha", "agreement", "bias")]
        head = ["judge"]
        for k in chosen:
            head += [self.statistics[k], "limits"]
        rows = []
        for judge, values, *limits in zip(
            self.judges, self.values, self.low, self.high, strict=True
        ):
            row = [judge]
            for k in chosen:
                row += [number(values[k], 3), between(limits[0][k], limits[1][k], 3)]
            rows.append([*row, *(number(values[self.statistics.index(k)], 3) for k in SIDES)])
        title = f"The same over topics: {100 * self.confidence:g}% limits"
        notes = (
            "limits: t interval of the jackknife over topics: kappa and alpha of ln(1 - value),"
            " agreement of log odds",
            "bias: mean of grade by the judge minus grade by people; over, under: share of pairs"
            " that the judge grades higher, lower",
        )
        return Table(title, [*head, *SIDES], rows, (0,), notes)

    def _calibration(self, judge: str) -> Table:
        frame = self.calibration().filter(pl.col("judge") == judge)
        title = f"Calibration of {judge}: how people graded what it gave each grade"
        rows = []
        for (label,), part in frame.group_by(["label"], maintain_order=True):
            shares = [
                f"{number(share, 3)} ({number(low, 3)}-{number(high, 3)})"
                if share is not None
                else ""
                for share, low, high in part.select("share", "low", "high").iter_rows()
            ]
            rows.append([str(label), f"{part['pairs'].sum():,}", *shares])
        head = ["grade by judge", "pairs", *(f"people: {grade}" for grade in self.scale)]
        note = (
            f"in brackets: {100 * self.confidence:g}% interval of Wilson, pairs divided by the"
            " design effect of topics"
        )
        return Table(title, head, rows, (0,), (note,))

    def __str__(self) -> str:
        return "\n\n".join([repr(self), *map(str, self.tables()), *self.notes])

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.judges), 'judge')}, {counted(len(self.topics), 'topic')}"
        return f"JudgeComparison({sizes}, grades {self.scale[0]} to {self.scale[-1]})"


def compare_judges(
    human: Any,
    judges: Any,
    *,
    scale: Any = None,
    cut: bool = False,
    level: str = "ordinal",
    confidence: float = 0.95,
) -> JudgeComparison:
    r"""Compare the grades of judges, such as large language models, with those of people.

    Parameters
    ----------
    human
        Judgments of people: whatever :func:`cranfield.read_qrels` takes. A grade below 0 counts as
        the lowest one; of several subtopics, the highest grade counts.
    judges
        Whatever :func:`read_judges` takes.
    scale
        The lowest and highest grade that may be given, such as `(0, 3)` or `"0..3"`; by default 0
        and the highest grade that people gave.
    cut
        Whether grades off the scale count as its nearer end; by default they are refused.
    level
        Level of measurement of Krippendorff's alpha with all grades: `ordinal`, `nominal`,
        `interval` or `ratio`. At each cut of the scale it is nominal.
    confidence
        Of the intervals over topics.

    Returns
    -------
    JudgeComparison
        Its table has a row a judge.

    Raises
    ------
    InputError
        Naming the file, the line and the grade, for a grade off the scale; for what cannot be read,
        and for a judge without any label of what people judged.
    PolicyError
        For an option that does not exist, or a scale of more than 100 grades.

    Notes
    -----
    Only pairs that both judged are compared; the others are counted. Cohen's kappa and
    Krippendorff's alpha are those of :mod:`cranfield.assess`, from the table of the two grades.
    Intervals are t intervals of the jackknife over topics, on the scale of ln(1 - value), of shares
    on that of log odds; the fewer topics they rest on, the fewer degrees of freedom they have.
    Scale and cuts as in Rahmani et al. (2025), LLMJudge.

    Examples
    --------
    >>> people = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 2, "d": 0, "e": 1}}
    >>> machine = {"q1": {"a": 0, "b": 2, "c": 2}, "q2": {"a": 2, "d": 1}}
    >>> found = compare_judges(people, {"llm": machine})
    >>> found
    JudgeComparison(1 judge, 2 topics, grades 0 to 2)
    >>> found.to_polars().select("judge", "pairs", "missing", "agreement", "bias").rows()
    [('llm', 5, 1, 0.6, 0.4)]
    >>> found.confusion("llm").rows()
    [(0, 1, 1, 0), (1, 0, 0, 1), (2, 0, 0, 2)]
    """
    check_choice("level", level, LEVELS)
    check_share("confidence", confidence)
    panel = panel_of(human, judges, scale, cut)
    panel = replace(panel, human=sampled_only(panel.human))
    found = [beside(panel, judge) for judge in panel.judges]
    joint = np.stack([one.tables for one in found])
    if joint.size > CELLS:
        sizes = f"{counted(len(panel.scale), 'grade')} and {counted(len(found), 'judge')}"
        raise PolicyError(f"{sizes} are too many for tables of each topic")
    # Topics first: what is done to topics is done to all judges at once.
    tables = of_joint(
        np.swapaxes(joint, 0, 1).astype(np.float64), np.array(panel.scale.grades, float)
    )
    has = np.swapaxes(joint, 0, 1).sum(axis=(-2, -1)) > 0
    computed = statistics(panel.scale, level)
    total, without = tables.total(), tables.without_each()
    values, low, high = (np.empty((len(computed), len(found))) for _ in range(3))
    for k, (name, law) in enumerate(computed.items()):
        values[k] = law(total)
        low[k], high[k] = jackknife(
            values[k],
            law(without),
            has,
            confidence,
            bounded=name not in UNBOUNDED,
            shares=name in SHARES,
        )
        if name in SHARES:
            low[k], high[k] = np.clip((low[k], high[k]), 0.0, 1.0)
    counts = {
        "labels": [len(judge.labels) for judge in panel.judges],
        "pairs": joint.sum(axis=(1, 2, 3)),
        "missing": [one.missing for one in found],
        "extra": [one.extra for one in found],
        "unknown": [one.unknown for one in found],
        "unparsed": [judge.unparsed for judge in panel.judges],
        "cut": [judge.cut for judge in panel.judges],
    }
    names = tuple(judge.name for judge in panel.judges)
    return JudgeComparison(
        names,
        panel.human.topics,
        tuple(panel.scale.grades),
        joint,
        {name: np.array(of, dtype=np.int64) for name, of in counts.items()},
        tuple(computed),
        values.T,
        low.T,
        high.T,
        level,
        confidence,
        (*panel.notes, *_undefined(names, tuple(computed), values)),
    )


def _undefined(judges: tuple[str, ...], names: tuple[str, ...], values: Floats) -> list[str]:
    """Say which statistics are not defined: of one grade only, there is no agreement by chance."""
    notes = []
    for judge, of_judge in zip(judges, values.T, strict=True):
        lacking = [name for name, value in zip(names, of_judge, strict=True) if np.isnan(value)]
        if lacking:
            notes.append(f"{judge}: {', '.join(lacking)} not defined, as all grades are the same")
    return notes
