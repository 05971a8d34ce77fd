"""The battery of small rankings as judged runs, and the scores that a measure gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.judging import judge
from cranfield.collection.rows import Rows
from cranfield.collection.segments import Floats, Ints
from cranfield.measures.base import Measure
from cranfield.measures.battery import GRADES, KINDS, Battery, Case, battery

VARIANTS = ("lengths", "groups", "intents", "aspects")
"""What can be known of documents besides their grades."""


def judged(cases: Battery) -> JudgedRuns:
    """Judge the rankings: a topic for each set of judgments, a system for each ranking.

    The last system, `base`, is one to compare others with. A ranking that has more documents of
    a kind than the judgments is no score there. All documents are equally long.
    """
    every = _everything(cases.judgments)
    topics, systems = cases.cells
    count = int(systems.max()) + 1
    base = [Case(i, "-" + cases.relevant(i)[-1]) for i in range(len(cases.judgments))]
    found: list[tuple[int, int, int]] = []
    for topic, system, case in [
        *zip(topics.tolist(), systems.tolist(), cases.cases, strict=True),
        *((case.judgments, count, case) for case in base),
    ]:
        rank_of = every.ranks[topic]
        seen = dict.fromkeys(KINDS, 0)
        for rank, kind in enumerate(case.ranking, 1):
            found.append((system * len(cases.judgments) + topic, rank, rank_of[kind][seen[kind]]))
            seen[kind] += 1
    cell, rank, source = np.array(sorted(found), dtype=np.int64).T
    shape = (len(cases.judgments), count + 1)
    retrieved = np.bincount(cell, minlength=shape[0] * shape[1])
    retrieved = retrieved.reshape(shape[1], shape[0]).T
    return every.laid_out(cell, rank, source, retrieved)


@dataclass(frozen=True, eq=False, repr=False)
class _Everything:
    """One ranking with all documents of all topics, from which others are taken."""

    judged: JudgedRuns
    ranks: list[dict[str, list[int]]]

    def laid_out(self, cell: Ints, rank: Ints, source: Ints, retrieved: Ints) -> JudgedRuns:
        """Take the documents that stand at the ranks `source` to the ranks `rank` of cells."""
        all_of, known = self.judged, self.judged.annotations
        topics, systems = retrieved.shape

        def taken(rows: Rows | None) -> Rows:
            assert rows is not None
            wanted, given = (cell % topics) << 32 | source, rows.cell << 32 | rows.rank
            at = np.minimum(np.searchsorted(given, wanted), given.size - 1)
            kept = given[at] == wanted
            at = at[kept]
            return Rows(
                cell[kept],
                rank[kept],
                rows.grade[at],
                (topics, systems),
                rows.gains[at] if rows.gains.size else rows.gains,
                rows.judgment[at] if rows.source is not None else None,
            )

        def moved(runs: JudgedRuns) -> JudgedRuns:
            return replace(
                runs,
                systems=(*(f"run{i}" for i in range(systems - 1)), "base"),
                documents=taken(runs.documents),
                retrieved=retrieved,
                scored=retrieved > 0,
                views={},
            )

        assert known.groups is not None
        size = all_of.judgments.grade.size
        columns = {
            "stratum": np.full(size, "0"),
            "inclusion": np.ones(size),
            "class": np.arange(size),
        }
        annotations = replace(
            known,
            lengths=taken(known.lengths),
            groups=replace(known.groups, rows=taken(known.groups.rows)),
            aspects={name: moved(one) for name, one in known.aspects.items()},
        )
        return replace(
            moved(all_of),
            judgments=replace(all_of.judgments, columns=columns),
            annotations=annotations,
        )


def _everything(judgments: tuple[Mapping[str, int], ...]) -> _Everything:
    names = [f"{i:02}" for i in range(len(judgments))]
    ranked: list[tuple[str, str, int]] = []
    labels: list[tuple[str, str, int, str]] = []
    ranks: list[dict[str, list[int]]] = []
    for name, counts in zip(names, judgments, strict=True):
        of_kind: dict[str, list[int]] = {}
        at = 0
        for kind in KINDS:
            size = counts.get(kind, 0) if kind in GRADES else 30
            of_kind[kind] = list(range(at + 1, at + size + 1))
            ranked += [(name, f"{kind}{i}", -i) for i in of_kind[kind]]
            if kind in GRADES:
                both = zip("ab", GRADES[kind], strict=True)
                labels += [
                    (name, f"{kind}{i}", grade, intent)
                    for intent, grade in both
                    for i in of_kind[kind]
                ]
            at += size
        ranks.append(of_kind)
    qrels = pl.DataFrame(labels, ["topic", "doc", "grade", "subtopic"], orient="row")
    docs = {doc for _, doc, _ in ranked}
    judged = judge(
        pl.DataFrame(ranked, ["topic", "doc", "score"], orient="row"),
        qrels,
        intents=pl.DataFrame(
            {
                "topic": names * 2,
                "intent": ["a"] * len(names) + ["b"] * len(names),
                "probability": [0.6] * len(names) + [0.4] * len(names),
                "type": ["inf"] * len(names) + ["nav"] * len(names),
            }
        ),
        lengths=dict.fromkeys(docs, 1000),
        groups={doc: "y" if doc[0] in "13" else "x" for doc in docs},
        aspects={"aspect": qrels},
    )
    return _Everything(judged, ranks)


def varied(judged: JudgedRuns, variant: str) -> JudgedRuns:
    """Change what is known of documents besides their grades.

    Parameters
    ----------
    judged
        The judged battery.
    variant
        `lengths`: the relevant documents become short. `groups`: they change the group.
        `intents`: they answer one intent only. `aspects`: grades below 2 become 0 on the aspect.
        `topics`: rankings that are none count as empty ones.
    """
    if variant == "topics":
        return replace(judged, scored=np.ones_like(judged.scored), views={})
    known, judgments = judged.annotations, judged.judgments
    hits = judged.relevant()
    relevant = hits.cell << 32 | hits.rank
    if variant == "lengths" and known.lengths:
        rows = known.lengths
        # A long document that is not relevant and a short one that is: Sakai (2013), section 2.2.
        short = np.isin(rows.cell << 32 | rows.rank, relevant)
        known = replace(known, lengths=replace(rows, gains=np.where(short, 10.0, 1000.0)))
    if variant == "groups" and known.groups:
        groups = known.groups
        moved = np.isin(groups.rows.cell << 32 | groups.rows.rank, relevant)
        known = replace(
            known,
            groups=replace(
                groups,
                rows=replace(groups.rows, grade=groups.rows.grade ^ moved),
                group=groups.group ^ (judgments.grade[groups.judgment] > 0),
            ),
        )
    if variant == "intents" and known.intents:
        grade = known.intents.grade.copy()
        grade[:, 0], grade[:, 1:] = grade.max(axis=1), 0
        known = replace(known, intents=replace(known.intents, grade=grade))
    if variant == "aspects":
        known = replace(known, aspects={name: one.binary(2) for name, one in known.aspects.items()})
    return replace(judged, annotations=known, views={})


@cache
def judged_battery(variant: str = "") -> JudgedRuns:
    """Return the battery judged, each variant once."""
    return varied(judged_battery(), variant) if variant else judged(battery())


def scores(measure: Measure, variant: str = "") -> Floats:
    """Score the cases of the battery; shape (cases,)."""
    return np.asarray(measure.score(judged_battery(variant))[battery().cells], dtype=np.float64)
