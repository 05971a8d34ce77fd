"""What documents add to a score that is a sum over them: had from the measure itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures import Measure


def check_sum(measure: Measure) -> None:
    """Refuse a measure of which a sample of documents would give a biased estimate."""
    if measure.info.inputs or not measure.linear:
        raise MeasureError(
            f"{measure} is no sum over documents, so that a sample of them would bias it;"
            " unit='topic' takes it"
        )


def worth(measure: Measure, judged: JudgedRuns, rank: Ints, grade: Ints) -> Floats:
    """What a document of a grade at a rank adds to the score of its ranking.

    The measure is asked: each pair of rank and grade is a ranking of its own, with nothing else
    judged in it.
    """
    deepest = int(rank.max(initial=1))
    pairs, place = np.unique(grade * (deepest + 1) + rank, return_inverse=True)
    count = pairs.size
    shape = (1, count)
    alone = replace(
        judged,
        topics=("alone",),
        systems=tuple(map(str, range(count))),
        documents=Rows(np.arange(count), pairs % (deepest + 1), pairs // (deepest + 1), shape),
        retrieved=np.full(shape, deepest),
        judgments=replace(
            judged.judgments,
            topics=1,
            topic=np.zeros(count, dtype=np.int64),
            grade=np.sort(pairs // (deepest + 1))[::-1],
            columns={},
        ),
        scored=np.ones(shape, dtype=bool),
        annotations=Annotations(),
        views={},
    )
    return np.asarray(measure.score(alone)[0][place])
