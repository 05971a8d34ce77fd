"""Small judged rankings, each beside the like of it, on which properties of measures are computed.

A document is of a kind, written with one character: `-` is not judged, `0` is judged not relevant,
`1`, `2` and `3` are grades. A topic has two intents, a and b: `1` and `2` answer a, `b` answers b
with grade 1, and `3` answers both. A topic of the battery is a set of judgments, which says how
many documents of each kind there are, and one ranking, such as `01-3`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np

from cranfield.base.arrays import Ints

GRADES: Mapping[str, tuple[int, int]] = {
    "0": (0, 0),
    "1": (1, 0),
    "b": (0, 1),
    "2": (2, 0),
    "3": (3, 3),
}
"""Grades of each judged kind for the intents a and b."""

KINDS = ("0", "1", "b", "2", "3", "-")
"""All kinds of documents; - has no judgment."""

MANY: Mapping[str, int] = {"0": 4, "1": 4, "b": 4, "2": 4, "3": 4}
"""Judgments that have enough of all kinds for any ranking of the battery."""

FEW: tuple[Mapping[str, int], ...] = (
    {"0": 4, "1": 1},
    {"0": 2, "3": 1},
    {"1": 1, "2": 1},
    {"0": 4, "1": 1, "b": 1, "3": 1},
    {"0": 4, "1": 2, "b": 1, "2": 1},
)
"""Judgments with so few relevant documents that a ranking can have them all."""

LONG: Mapping[str, int] = {"0": 99, "1": 99}
"""As many relevant as not relevant, as where Sakai (2013) compares AP' and bpref, section 2.2."""

ENDS = {
    "rank 1": "1",
    "rank 2": "01",
    "rank 99": "0" * 98 + "1",
    "rank 100": "0" * 99 + "1",
    "rank 130": "0" * 99 + "-" * 30 + "1",
    "one": "1" + "0" * 99,
    "two": "1" + "0" * 98 + "1",
}
"""Long rankings by what they are for; those with a rank have one relevant document, there."""


@dataclass(frozen=True)
class Case:
    """A set of judgments, as an index into those of the battery, and a ranking."""

    judgments: int
    ranking: str


def beats(better: str, worse: str) -> bool:
    """Whether documents of a kind are more relevant: to no intent less, and to one more."""
    nothing = (0, 0)
    one, other = GRADES.get(better, nothing), GRADES.get(worse, nothing)
    return one != other and all(x >= y for x, y in zip(one, other, strict=True))


def answered(kinds: Iterable[str]) -> set[int]:
    """Return the intents, 0 for a and 1 for b, that documents of some kinds answer."""
    return {intent for kind in kinds for intent in (0, 1) if GRADES[kind][intent]}


@dataclass(frozen=True, eq=False, repr=False)
class Battery:
    """Judgments and rankings, and which of them are to be compared.

    Of its judgments, documents of each kind, the first have enough of all kinds, the last are those
    of the long rankings. Of its cases short rankings come first, those for the ends last.
    """

    judgments: tuple[Mapping[str, int], ...]
    cases: list[Case]

    @cached_property
    def place(self) -> dict[Case, int]:
        return {case: place for place, case in enumerate(self.cases)}

    @cached_property
    def sizes(self) -> Ints:
        """How much there is to read of each case: the ranking first, then the judgments."""
        judged = [sum(one.values()) for one in self.judgments]
        return np.array([1000 * len(one.ranking) + judged[one.judgments] for one in self.cases])

    @cached_property
    def swaps(self) -> Ints:
        """Pairs of (worse, better): two documents exchanged, so that the better one comes first."""
        return self._pairs(
            (case, Case(case.judgments, exchanged(case.ranking, i, j)))
            for case in self.short
            for i, j in combinations(range(len(case.ranking)), 2)
            if beats(case.ranking[j], case.ranking[i])
        )

    @cached_property
    def steps(self) -> Ints:
        """Those of the swaps in which the two documents stand one after the other."""
        near = [
            span(self.cases[one].ranking, self.cases[other].ranking) == 1
            for one, other in self.swaps.tolist()
        ]
        return self.swaps[np.flatnonzero(near)]

    @cached_property
    def replacements(self) -> Ints:
        """Pairs of (worse, better): one document in the place of one that is less relevant."""
        return self._put({old: [kind for kind in KINDS if beats(kind, old)] for old in KINDS})

    @cached_property
    def regraded(self) -> Ints:
        """Pairs of rankings with a document of grade 1 and of grade 2, for the same intent."""
        return self._put({"1": "2"})

    @cached_property
    def missed(self) -> Ints:
        """Pairs without and with one more relevant document, which is not retrieved.

        It answers intents that the topic has already: with another intent it would be another
        topic.
        """
        return self._judged_more("123b")

    @cached_property
    def unseen(self) -> Ints:
        """Pairs in which a document is judged not relevant, in the ranking or elsewhere, or not."""
        return np.concatenate([self._put({"-": "0"}), self._judged_more("0")])

    @cached_property
    def returns(self) -> Ints:
        """Fours: a ranking, it with nothing relevant from some rank on, and both once more.

        In the second two the document above that rank is relevant, in the first two it is not.
        """
        found = []
        for case in self.short:
            for i, kind in product(range(len(case.ranking) - 1), "123b"):
                above, tail = case.ranking[:i], case.ranking[i + 1 :]
                if case.ranking[i] != "0" or not any(beats(one, "0") for one in tail):
                    continue
                four = [
                    self.place.get(Case(case.judgments, above + at + rest), -1)
                    for at, rest in product(("0", kind), (tail, "0" * len(tail)))
                ]
                if min(four) >= 0:
                    found.append(four)
        return np.array(found, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def complete(self) -> tuple[tuple[int, Ints], ...]:
        """Cases by judgments, for those of which a ranking has all relevant documents."""
        few = range(1, len(self.judgments) - 1)
        return tuple(
            (i, np.array([at for at, case in enumerate(self.cases) if case.judgments == i]))
            for i in few
            if sum(count for kind, count in self.judgments[i].items() if kind != "0") <= 4
        )

    @cached_property
    def ends(self) -> dict[str, int]:
        long = len(self.judgments) - 1
        return {name: self.place[Case(long, ranking)] for name, ranking in ENDS.items()}

    def relevant(self, judgments: int) -> str:
        counts = self.judgments[judgments]
        return "".join(kind * counts.get(kind, 0) for kind in "32b1")

    @property
    def short(self) -> list[Case]:
        return [case for case in self.cases if case.judgments < len(self.judgments) - 1]

    def _pairs(self, found: Iterator[tuple[Case, Case]]) -> Ints:
        places = [(self.place[one], self.place.get(other, -1)) for one, other in found]
        pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
        return pairs[pairs[:, 1] >= 0]

    def _put(self, others: Mapping[str, Iterable[str]]) -> Ints:
        """Pairs in which one document is replaced by each of the others of its kind."""
        return self._pairs(
            (case, Case(case.judgments, case.ranking[:i] + kind + case.ranking[i + 1 :]))
            for case in self.short
            for i, old in enumerate(case.ranking)
            for kind in others.get(old, ())
        )

    def _judged_more(self, kinds: str) -> Ints:
        number = {tuple(sorted(one.items())): i for i, one in enumerate(self.judgments)}
        more = {
            (i, kind): number.get(tuple(sorted((dict(one) | {kind: one.get(kind, 0) + 1}).items())))
            for i, one in enumerate(self.judgments)
            for kind in kinds
            if answered({kind}) <= answered(one)
        }
        return self._pairs(
            (case, Case(other, case.ranking))
            for case in self.short
            for kind in kinds
            if (other := more.get((case.judgments, kind))) is not None
        )


def exchanged(ranking: str, i: int, j: int) -> str:
    documents = list(ranking)
    documents[i], documents[j] = documents[j], documents[i]
    return "".join(documents)


def span(one: str, other: str) -> int:
    """Count the places between the first and the last in which two rankings are different."""
    places = [i for i, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return places[-1] - places[0]


@cache
def battery() -> Battery:
    """Return the battery: all rankings of up to three documents, and many of four."""
    sets: list[Mapping[str, int]] = [MANY, *FEW]
    more = [dict(one) | {kind: one.get(kind, 0) + 1} for one in FEW[:4] for kind in "013"]
    sets += [one for one in more if one not in sets]
    rankings = ["".join(one) for size in (1, 2, 3) for one in product(KINDS, repeat=size)]
    rankings += ["".join(one) for one in product(KINDS[:-1], repeat=4)]
    cases = [
        Case(i, ranking)
        for ranking in rankings
        for i, one in enumerate(sets)
        if all(ranking.count(kind) <= one.get(kind, 0) for kind in set(ranking) - {"-"})
    ]
    long = [Case(len(sets), ranking) for ranking in dict.fromkeys(ENDS.values())]
    return Battery((*sets, LONG), cases + long)
