"""Asking rules whether to stop, after any number of judgments, several at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.pools.pool import Pool, judgments_so_far
from cranfield.assess.stops.catalogue import parse_rule
from cranfield.assess.stops.rule import Rule, Seen
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.checks import check_whole, numbers
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.collection.judged.policies import DEEPEST
from cranfield.tabular.frames import Framed


class _ByRule(dict[str, int | None]):
    """A dictionary whose keys are rules, in any of their text forms."""

    def __missing__(self, key: str | Rule) -> int | None:
        name = str(parse_rule(key))
        if name not in self:
            raise KeyError(key)
        return self[name]


@dataclass(frozen=True)
class Verdict:
    """What a rule says after some judgments.

    Attributes
    ----------
    rule
        The rule, as text.
    judged, found
        Judgments so far, and relevant documents among them.
    stop
        Whether to stop.
    value, bound
        What the rule looks at, and where it stops.
    reason
        The same in words.
    """

    rule: str
    judged: int
    found: int
    stop: bool
    value: float
    bound: float
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Stopping(Framed):
    """What rules say after numbers of judgments of one topic; made by :func:`stopping`.

    Attributes
    ----------
    rules
        The rules that were asked.
    total
        Documents of the pool.
    after, found
        The numbers of judgments after which they were asked, and of relevant documents by then;
        shape (looks,).
    value, bound
        What each rule looks at, and where it stops; shape (rules, looks).
    stop
        Whether each rule says to stop; shape (rules, looks). What a rule said once does not bind
        it: later it may say something else.
    """

    rules: tuple[Rule, ...]
    total: int
    after: Ints
    found: Ints
    value: Floats
    bound: Floats
    stop: Bools

    def first(self) -> dict[str, int | None]:
        """Return after how many judgments each rule first said to stop, or None.

        Keys are the rules as text; any text form of a rule finds it.
        """
        stops = (int(self.after[stop.argmax()]) if stop.any() else None for stop in self.stop)
        return _ByRule(zip(map(str, self.rules), stops, strict=True))

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return what each rule says after the last of the numbers of judgments."""
        return tuple(self._verdict(k) for k in range(len(self.rules)))

    def _verdict(self, k: int) -> Verdict:
        value, bound, rule = float(self.value[k, -1]), float(self.bound[k, -1]), self.rules[k]
        return Verdict(
            str(rule),
            int(self.after[-1]),
            int(self.found[-1]),
            bool(self.stop[k, -1]),
            value,
            bound,
            rule.words.format(value=value, bound=bound),
        )

    def __repr__(self) -> str:
        said = ", ".join(
            f"{rule} {'after ' + format(n, ',') if n is not None else 'not yet'}"
            for rule, n in self.first().items()
        )
        return f"Stopping({counted(int(self.after[-1]), 'judgment')} of {self.total:,}: {said})"

    def to_polars(self) -> pl.DataFrame:
        """Return a row a rule and look: rule, judged, found, value, bound, stop."""
        many = len(self.rules)
        return pl.DataFrame(
            {
                "rule": np.repeat([str(rule) for rule in self.rules], self.after.size),
                "judged": np.tile(self.after, many),
                "found": np.tile(self.found, many),
                "value": self.value.ravel(),
                "bound": self.bound.ravel(),
                "stop": self.stop.ravel(),
            }
        )


def stopping(
    labels: Any,
    rules: str | Rule | Iterable[str | Rule],
    *,
    total: int,
    rel: int = 1,
    every: int = 1,
    targets: Any = None,
) -> Stopping:
    """Ask rules whether to stop judging a topic, after any number of judgments.

    Parameters
    ----------
    labels
        Grades of the judged documents of a topic, in the order in which they were judged.
    rules
        One or several rules, or their text forms: `RecallTest` (Callaghan and Müller-Hansen),
        `Knee`, `Target`, `Line` (2399), `Budget`.
    total
        Documents of the pool, judged or not.
    rel
        Lowest grade that counts as relevant.
    every
        Ask after so many judgments, twice as many, and so on, and after the last one.
    targets
        For `Target`: whether each judged document is one.

    Raises
    ------
    PolicyError
        For unknown rules, labels that are no numbers, a total below their number.

    Examples
    --------
    >>> asked = stopping([1, 1, 0, 1] + 16 * [0], ["RecallTest(confidence=0.8)", "knee"], total=22)
    >>> asked
    Stopping(20 judgments of 22: RecallTest(confidence=0.8) after 19, Knee not yet)
    >>> [round(verdict.value, 4) for verdict in asked.verdicts()]
    [0.1111, 12.0]
    """
    made = _parsed(rules)
    grades = numbers(labels, "labels")
    check_whole("total", total, 1, DEEPEST)
    check_whole("every", every, 1, DEEPEST)
    if grades.ndim != 1 or np.isnan(grades).any():
        raise PolicyError("labels are grades of one topic in a row, and none is NaN")
    if grades.size > total:
        raise PolicyError(f"{grades.size:,} documents are judged, of a pool of {total:,}")
    marks = None
    if targets is not None:
        marks = numbers(targets, "targets") > 0
        if marks.shape != grades.shape:
            raise PolicyError(f"targets are {marks.size:,} marks for {grades.size:,} labels")
    after = np.unique(np.r_[np.arange(every, grades.size + 1, every), grades.size])
    seen = Seen(grades >= rel, int(total), marks)
    looks = [rule.looks(seen, after) for rule in made]
    shape = (len(made), after.size)
    return Stopping(
        made,
        int(total),
        after,
        seen.found[after],
        np.array([one.value for one in looks]).reshape(shape),
        np.array([one.bound for one in looks]).reshape(shape),
        np.array([one.stop for one in looks], dtype=bool).reshape(shape),
    )


def stopping_by_topic(
    pool: Pool,
    judged: Any,
    rules: str | Rule | Iterable[str | Rule],
    *,
    rel: int = 1,
    every: int = 1,
) -> dict[str, Stopping]:
    """Ask rules whether to stop judging each topic of a pool.

    Parameters
    ----------
    pool
        The pool; judgments of other documents play no part.
    judged
        The judgments so far, those of a topic in the order in which they were made: whatever
        :func:`cranfield.read_qrels` takes, or None before the first.
    rules, rel, every
        As for :func:`stopping`.

    Returns
    -------
    dict of Stopping by topic
        For all topics of the pool.

    Examples
    --------
    >>> import cranfield as cf
    >>> made = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0}, "r": {"x": 1.0}}}, 2)
    >>> cf.assess.stopping_by_topic(made, {"q": {"x": 1, "y": 0}}, "Budget")
    {'q': Stopping(2 judgments of 2: Budget after 2), 'r': Stopping(0 judgments of 1: ... yet)}
    """
    made = _parsed(rules)
    topic = grades = np.zeros(0, dtype=np.int32)
    if (qrels := judgments_so_far(judged)) is not None:
        asked, found = qrels.find(pool)
        in_order = asked[np.argsort(found)]
        topic, grades = pool.topic[in_order], qrels.grades[np.sort(found)]
    return {
        name: stopping(grades[topic == t], made, total=max(1, size), rel=rel, every=every)
        for t, (name, size) in enumerate(zip(pool.topics, np.diff(pool.starts), strict=True))
    }


def _parsed(rules: str | Rule | Iterable[str | Rule]) -> tuple[Rule, ...]:
    return tuple(parse_rule(one) for one in ([rules] if isinstance(rules, (str, Rule)) else rules))
