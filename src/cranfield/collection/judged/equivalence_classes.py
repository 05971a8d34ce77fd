"""Judged runs in which documents of one equivalence class count once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.judgments import Judgments
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import places


def by_class(judged: JudgedRuns, name: str) -> JudgedRuns:
    """Let the first document of each equivalence class stand for the class.

    Later documents of the class stay in their places, judged and not relevant. There is one
    judgment a class, of its highest grade: so recall bases count classes, and ideal rankings have
    the best document of each. A document without a class is one of its own. Of what is known
    besides grades the view keeps the lengths. `name` is the measure that needs it.

    As in NTCIREVAL (option -ec), any judged document counts as the first of its class, relevant or
    not; so give documents that are not relevant no class, or one each.
    """
    return judged.view("by class", lambda: _by_class(judged, _codes(judged, name)))


def _codes(judged: JudgedRuns, name: str) -> Ints:
    """Number the classes; those of different topics may share a number."""
    labels = np.asarray(judged.column("class", name)).astype(str)
    _, code = np.unique(labels, return_inverse=True)
    alone = labels == ""
    return np.where(alone, code.size + np.arange(code.size), code)


def _by_class(judged: JudgedRuns, code: Ints) -> JudgedRuns:
    judgments, documents = judged.judgments, judged.documents
    pairs = judgments.topic * (2 * code.size + 1) + code
    # Judgments stand in order of topic and falling grade: the first of a class is its best.
    _, best, of = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(best)
    kept = best[order]
    number = np.empty(kept.size, dtype=np.int64)
    number[order] = np.arange(kept.size)
    place = number[of[documents.judgment]]

    # What is not judged does not make others of its class redundant.
    seen = np.flatnonzero(documents.grade >= judgments.judged_from)
    keys = documents.cell[seen] * max(kept.size, 1) + place[seen]
    by_key = np.argsort(keys, kind="stable")
    redundant = np.zeros(documents.cell.size, dtype=bool)
    redundant[seen[by_key]] = places(keys[by_key]) > 1
    grade = np.where(redundant, np.minimum(documents.grade, 0), documents.grade)
    return replace(
        judged,
        documents=Rows(documents.cell, documents.rank, grade, documents.shape, source=place),
        judgments=Judgments(
            judgments.topics,
            judgments.topic[kept],
            judgments.grade[kept],
            judgments.judged_from,
            judgments.max_grade,
            {"class": np.asarray(judgments.columns["class"])[kept]},
        ),
        annotations=Annotations(judged.annotations.lengths),
        views={},
    )
