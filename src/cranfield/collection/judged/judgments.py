"""What judgments say of topics, groups of documents, and clicks: arrays without document names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.checks import check_whole, numbers
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import places


@dataclass(frozen=True, eq=False)
class Judgments:
    """What the judgments say of each topic, without document names.

    Attributes
    ----------
    topics
        Number of topics.
    topic, grade
        Topic and grade of each judgment, ordered by topic and falling grade.
    judged_from
        The lowest grade that counts as a judgment.
    max_grade
        The highest grade of all judgments, those of topics that do not count included.
    columns
        Other columns of the judgments by name, such as `class` or `stratum`.
    kept
        What was made of them, so that each is made once.
    """

    topics: int
    topic: Ints
    grade: Ints
    judged_from: int
    max_grade: int = 0
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def count(self, low: int, high: int | None = None) -> Ints:
        """Judgments of each topic with low <= grade (< high); shape (topics, 1)."""
        check_whole("low", low, -(2**63))
        key = ("count", max(low, self.judged_from), high)
        found: Ints | None = self.kept.get(key)
        if found is None:
            chosen = self.grade >= max(low, self.judged_from)
            if high is not None:
                chosen &= self.grade < high
            found = np.bincount(self.topic[chosen], minlength=self.topics)[:, None]
            found.flags.writeable = False
            self.kept[key] = found
        return found

    def ideal(self, gains: Floats) -> Rows:
        """Rows of the ideal ranking: the judgments with a positive gain of `gains`, best first."""
        gains = numbers(gains, "gains")
        # Judgments are in order of grade, which mostly is that of gains.
        same = self.topic[1:] == self.topic[:-1]
        falls = (self.topic[1:] > self.topic[:-1]) | (same & (gains[1:] <= gains[:-1]))
        order = np.flatnonzero(gains > 0)
        if not falls.all():
            order = order[np.lexsort((-gains[order], self.topic[order]))]
        topic = self.topic[order]
        return Rows(topic, places(topic), self.grade[order], (self.topics, 1), gains[order])


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups that documents belong to, such as their providers.

    Attributes
    ----------
    names
        The groups.
    rows
        A row for each retrieved document and each of its groups, judged or not: `grade` is the
        group, as an index into `names`, and `gains` how much the document belongs to it.
    judgment, group, weight
        The same of the judged documents: index of the judgment, of the group, and the weight.
    """

    names: tuple[str, ...]
    rows: Rows
    judgment: Ints
    group: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks of sessions, in order of cell, a (system, session) as one number, and of time.

    query, rank: the list that was clicked, by its query, and the place in it, both from 1.
    length, grade: characters of the document, NaN where not known; its grade, 0 where it has none.
    again: whether the session clicked this document before.
    text: characters of all snippets of the list down to the rank; NaN where not known.
    """

    cell: Ints
    query: Ints
    rank: Ints
    length: Floats
    grade: Ints
    again: Bools
    text: Floats
