"""Judges beside people: on one scale, and matched by topic and document."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.assess.judges.reading import Judge, read_judges
from cranfield.base.arrays import Ints
from cranfield.base.checks import check_whole
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels

GRADES = 101
"""Grades that a scale may have, which is from 0 to 100: each topic has a table of two of them."""


@dataclass(frozen=True)
class Scale:
    """The grades that may be given, from `low` to `high`."""

    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low + 1

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"

    @property
    def grades(self) -> list[int]:
        return list(range(self.low, self.high + 1))

    @property
    def cuts(self) -> list[str]:
        """The ways to cut the scale in two, such as `01|23`; none for a scale of two grades."""
        names = [str(grade) for grade in self.grades]
        if len(names) < 3:
            return []
        if max(map(len, names)) > 1:
            return [f"{low}|{high}" for low, high in pairwise(names)]
        return [f"{''.join(names[:k])}|{''.join(names[k:])}" for k in range(1, len(names))]


def read_scale(scale: Any) -> Scale:
    """Take `(0, 3)`, a range, or the text `0..3`."""
    wrong = f"a scale is its lowest and highest grade, such as 0..3, not {quoted(scale)}"
    if isinstance(scale, Scale):
        return scale
    if isinstance(scale, str):
        found = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", scale.strip(), re.ASCII)
        ends: Any = found and [int(one) for one in found.groups()]
    else:
        ends = [scale[0], scale[-1]] if isinstance(scale, (tuple, list, range)) and scale else None
    if ends is None:
        raise PolicyError(wrong)
    for one in ends:
        check_whole("a grade of a scale", one, 0)
    low, high = map(int, ends)
    if not low <= high:
        raise PolicyError(wrong)
    return Scale(low, high)


@dataclass(frozen=True, eq=False)
class Panel:
    """People and judges on one scale.

    human: the judgments of people; a grade below 0, which is judged and not relevant, is kept.
    judges: their labels.
    scale: the grades of all.
    notes: what was done to grades.
    """

    human: Qrels
    judges: tuple[Judge, ...]
    scale: Scale
    notes: tuple[str, ...]


def sampled_only(people: Qrels) -> Qrels:
    """Return the judged documents; in strata of a sample a grade below 0 is an unsampled one."""
    return people.restricted(people.grades >= 0) if "stratum" in people.columns else people


def panel_of(
    human: Any, judges: Any, scale: Any = None, cut: bool = False, *, few: bool = False
) -> Panel:
    """Read people and judges, and refuse a grade off the scale, or cut it.

    The scale goes by default from 0 to the highest grade that people gave; with `few` human
    judgments, and unless grades are cut, to the highest grade of people and judges.
    """
    wanted = None if scale is None else read_scale(scale)
    people = read_qrels(human, subtopics=False).flat()
    given = read_judges(judges)
    highest = [people.max_grade, 0]
    if few and not cut:
        highest += [one.labels.max_grade for one in given]
    known = Scale(0, max(highest)) if wanted is None else wanted
    if len(known) > GRADES:
        raise PolicyError(
            f"the scale {known} has {len(known):,} grades; at most {GRADES} are taken"
        )
    whose = "of the human judgments" if wanted is None else "that was declared"
    of_people = _on_scale(Judge("people", people), known, cut, whose, below=True)
    read = tuple(_on_scale(one, known, cut, whose) for one in given)
    below = int((sampled_only(people).grades < 0).sum())
    notes = [f"{counted(below, 'human grade')} below 0: taken for {known.low}"] if below else []
    for one in (of_people, *read):
        if one.cut:
            notes.append(f"{one.name}: {counted(one.cut, 'grade')} off the scale {known} cut")
    return Panel(of_people.labels, read, known, tuple(notes))


def _on_scale(judge: Judge, scale: Scale, cut: bool, whose: str, below: bool = False) -> Judge:
    """Refuse, or cut, what is off the scale; with `below`, a grade below 0 is not."""
    labels = judge.labels
    off = (labels.grades < scale.low) | (labels.grades > scale.high)
    if below:
        off &= labels.grades >= 0
    if not off.any():
        return judge
    if not cut:
        row = int(off.argmax())
        topic = labels.topics[int(labels.codes[row])]
        raise labels.origin.wrong(
            f"grade {labels.grades[row]} is off the scale {scale} {whose}; cut=True takes it for"
            " the nearest one, scale='...' names another scale",
            row,
            topic,
            labels.docs[row],
        )
    within = np.where(off, np.clip(labels.grades, scale.low, scale.high), labels.grades)
    return replace(judge, labels=replace(labels, grades=within), cut=judge.cut + int(off.sum()))


@dataclass(frozen=True, eq=False)
class Beside:
    """The labels of one judge for what people judged, and how many fit nothing.

    tables: pairs by topic, grade of the people and grade of the judge; shape (topics, grades,
        grades).
    missing: pairs that people judged and the judge did not.
    extra: labels for other documents of topics that people judged.
    unknown: labels for other topics.
    """

    tables: Ints
    missing: int
    extra: int
    unknown: int


def beside(panel: Panel, judge: Judge) -> Beside:
    """Match a judge's labels with those of people."""
    people, labels = panel.human, judge.labels
    given, found = people.find(labels)
    if not found.size:
        raise InputError(
            f"{quoted(judge.name)} has no label for any pair that people judged",
            source=labels.origin.name,
        )
    known = people.codes_of(labels.topics)[labels.codes] >= 0
    topics, size, low = len(people.topics), len(panel.scale), panel.scale.low
    # Grades below 0, which only people have here, count as the lowest one.
    first = np.maximum(people.grades[found], low).astype(np.int64) - low
    second = labels.grades[given].astype(np.int64) - low
    cell = (people.codes[found].astype(np.int64) * size + first) * size + second
    return Beside(
        np.bincount(cell, minlength=topics * size * size).reshape(topics, size, size),
        missing=len(people) - found.size,
        extra=int(known.sum()) - found.size,
        unknown=int((~known).sum()),
    )
