"""The battery of small rankings as judged runs, and the scores that a measure gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure

from .battery import GRADES, KINDS, Battery, Case, battery

VARIANTS = ("lengths", "groups", "intents", "aspects", "queries")
"""What can be known of documents besides their grades."""


@dataclass(frozen=True, eq=False, repr=False)
class Laid:
    """Judged runs with a topic for each set of judgments and a system for each ranking.

    The last system, `base`, is one to compare others with. A ranking that has more documents of a
    kind than the judgments is no score there.
    """

    judged: JudgedRuns
    place: Ints  # the cases that it has, as indexes into those of the battery
    topic: Ints  # where each of them stands
    system: Ints


Parts = tuple[Laid, ...]


def judged(every: Battery) -> Parts:
    """Judge the rankings: with judgments that suit any, with few, and long ones.

    All documents are equally long. It is done in parts, so that there are few rankings that have
    more documents of a kind than the judgments.
    """
    last = len(every.judgments) - 1
    parts = (range(1), range(1, last), range(last, last + 1))
    return tuple(_laid(every, part) for part in parts)


def _laid(all_cases: Battery, part: range) -> Laid:
    judgments = [all_cases.judgments[i] for i in part]
    places = [i for i, one in enumerate(all_cases.cases) if one.judgments in part]
    cases = [
        Case(one.judgments - part.start, one.ranking)
        for one in (all_cases.cases[i] for i in places)
    ]
    every = _everything(judgments)
    number = {ranking: i for i, ranking in enumerate(dict.fromkeys(one.ranking for one in cases))}
    count = len(number)
    base = [Case(i, "-" + lowest(one)) for i, one in enumerate(judgments)]
    found: list[tuple[int, int, int]] = []
    for system, case in [
        *((number[case.ranking], case) for case in cases),
        *((count, case) for case in base),
    ]:
        ranks = every.ranks[case.judgments]
        seen = dict.fromkeys(KINDS, 0)
        for rank, kind in enumerate(case.ranking, 1):
            cell = system * len(judgments) + case.judgments
            found.append((cell, rank, ranks[kind][seen[kind]]))
            seen[kind] += 1
    cells, rank_of, source = np.array(sorted(found), dtype=np.int64).T
    shape = (len(judgments), count + 1)
    retrieved = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape[::-1]).T
    return Laid(
        every.laid_out(cells, rank_of, source, retrieved),
        np.array(places),
        np.array([case.judgments for case in cases]),
        np.array([number[case.ranking] for case in cases]),
    )


def lowest(judgments: Mapping[str, int]) -> str:
    return next(kind for kind in "1b23" if judgments.get(kind))


@dataclass(frozen=True, eq=False, repr=False)
class _Everything:
    """One ranking with all documents of all topics, from which others are taken."""

    judged: JudgedRuns
    ranks: list[dict[str, list[int]]]

    def laid_out(self, cell: Ints, rank: Ints, source: Ints, retrieved: Ints) -> JudgedRuns:
        """Take the documents that stand at the ranks `source` to the ranks `rank` of cells."""
        all_of, known = self.judged, self.judged.side_data
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
                n_retrieved=retrieved,
                is_scored=retrieved > 0,
                views={},
            )

        assert known.groups is not None
        size = all_of.judgments.grade.size
        columns = {
            "stratum": np.full(size, "0"),
            "inclusion": np.ones(size),
            "class": np.arange(size),
        }
        lengths = taken(known.lengths)
        # Each ranking is a session, too: of a query with two results, and one with the others.
        query = 1 + (lengths.rank > 2)
        list_rank = lengths.rank - 2.0 * (lengths.rank > 2)
        side_data = replace(
            known,
            lengths=lengths,
            queries=Rows(lengths.cell, lengths.rank, query, lengths.shape, list_rank),
            n_queries=1 + (retrieved > 2),
            groups=replace(known.groups, rows=taken(known.groups.rows)),
            aspects={name: moved(one) for name, one in known.aspects.items()},
        )
        return replace(
            moved(all_of),
            judgments=replace(all_of.judgments, columns=columns, max_grade=3),
            side_data=side_data,
        )


def _everything(judgments: Sequence[Mapping[str, int]]) -> _Everything:
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
        aspects={"understandability": qrels, "credibility": qrels},
    )
    return _Everything(judged, ranks)


def varied(judged: JudgedRuns, variant: str) -> JudgedRuns:
    """Change what is known of documents besides their grades.

    `lengths`: the relevant documents become short. `groups`: they change the group. `intents`: they
    answer one intent only. `aspects`: grades below 2 become 0 on the aspect. `queries`: one query
    found all. `topics`: rankings that are none count as empty ones.
    """
    if variant == "topics":
        return replace(judged, is_scored=np.ones_like(judged.is_scored), views={})
    known, judgments = judged.side_data, judged.judgments
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
        every = np.arange(known.intents.row.size)
        best = known.intents.compute_grades(every).max(axis=1)
        first = replace(
            known.intents,
            starts=np.arange(every.size + 1),
            position=np.zeros_like(every),
            grade=best,
        )
        known = replace(known, intents=first)
    if variant == "queries" and known.queries:
        one, list_rank = np.ones_like(known.queries.grade), known.queries.rank.astype(float)
        known = replace(
            known,
            queries=replace(known.queries, grade=one, gains=list_rank),
            n_queries=np.ones_like(judged.n_retrieved),
        )
    if variant == "aspects":
        known = replace(
            known, aspects={name: one.binarise(2) for name, one in known.aspects.items()}
        )
    return replace(judged, side_data=known, views={})


@cache
def judged_battery(variant: str = "") -> Parts:
    """Return the battery judged; `every` is all of `VARIANTS` and `topics` at once."""
    if not variant:
        return judged(battery())
    parts = judged_battery()
    for one in (*VARIANTS, "topics") if variant == "every" else (variant,):
        parts = tuple(replace(laid, judged=varied(laid.judged, one)) for laid in parts)
    return parts


def scores(measure: Measure, variant: str = "") -> Floats:
    out = np.empty(len(battery().cases))
    for part in judged_battery(variant):
        out[part.place] = measure.score(part.judged)[part.topic, part.system]
    return out
