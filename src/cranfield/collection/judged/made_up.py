"""Judged runs that no system has made: of grades alone, on a topic that need not exist."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.collection.judged.coverage import Coverage
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judgments import Judgments
from cranfield.collection.judged.policies import Policies
from cranfield.collection.judged.rows import Rows


def of_grades(runs: Ints, judged: Ints, highest: int, *, every_grade: bool = False) -> JudgedRuns:
    """Present runs of grades, shape (runs, ranks), as those of as many systems on one topic.

    A run ends where its grades are below 0. `judged` has the grades of the topic's documents, in
    falling order. With `every_grade` a second topic has a document of each grade up to the highest,
    for measures that look for them, and nothing is retrieved for it.
    """
    count, topics = len(runs), 1 + every_grade
    run, rank = np.nonzero(runs >= 0)
    retrieved = np.zeros((topics, count), dtype=np.int64)
    retrieved[0] = np.bincount(run, minlength=count)
    more = np.arange(highest * every_grade, -every_grade, -1)
    return JudgedRuns(
        ("topic", "every grade")[:topics],
        tuple(map(str, range(count))),
        Rows(run * topics, rank + 1, runs[run, rank].astype(np.int64), (topics, count)),
        retrieved,
        Judgments(
            topics,
            np.repeat(np.arange(2), [judged.size, more.size]),
            np.concatenate([judged, more]).astype(np.int64),
            0,
            highest,
        ),
        np.ones((topics, count), dtype=bool),
        Policies(),
        Coverage(()),
    )
