"""Small collections with groups and aspects, in one form for brute force and for the library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection.judged.judged_runs import JudgedRuns

DOCS = "abcdefgh"
GROUPS = ("x", "y", "z")


@dataclass(frozen=True)
class Case:
    """One ranking of one topic, best document first."""

    ranking: tuple[str, ...]
    grades: dict[str, int]
    groups: dict[str, dict[str, float]]
    judged: dict[Any, JudgedRuns] = field(default_factory=dict, compare=False, repr=False)

    def evaluate(self, text: str, **more: Any) -> float:
        """Score of the ranking, which is judged once."""
        key = tuple(more.items())
        if key not in self.judged:
            run = {"q": {doc: float(-i) for i, doc in enumerate(self.ranking)}}
            self.judged[key] = cf.judge(run, {"q": self.grades}, groups=self.groups, **more)
        return float(cf.parse_measure(text).score(self.judged[key])[0, 0])


@st.composite
def cases(draw: st.DrawFn, most: int = 2, binary: bool = False) -> Case:
    """Rankings of some documents, judgments of some, groups of some."""
    ranking = draw(st.permutations(DOCS))[: draw(st.integers(1, len(DOCS)))]
    judged = draw(st.lists(st.sampled_from(DOCS + "ij"), min_size=1, unique=True))
    grades = {doc: draw(st.integers(0, most)) for doc in judged}
    membership = st.dictionaries(
        st.sampled_from(GROUPS),
        st.just(1.0) if binary else st.sampled_from([0.25, 0.5, 1.0]),
        min_size=1,
        max_size=1 if binary else 2,
    )
    grouped = draw(st.lists(st.sampled_from(DOCS + "ij"), min_size=1, unique=True))
    return Case(tuple(ranking), grades, {doc: draw(membership) for doc in grouped})
