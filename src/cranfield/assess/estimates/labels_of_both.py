"""Judgments of people for a sample of documents, put beside the labels of a judge for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.assess.judges.beside import Panel
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import InputError
from cranfield.collection.qrels import Qrels


@dataclass(frozen=True, eq=False)
class Both:
    """All documents of a pool, a sample of them judged by people.

    pool: all documents; grades are those of the judge, and 0 where it gave none.
    human: grades of people, by document of the pool; 0 where it was not sampled.
    sampled: which documents people judged because they were in the sample.
    chance: chance of a document to be in it; NaN where it was not sampled.
    stratum: number of its stratum, of which a fixed number was sampled; -1 for a document that was
        sampled by itself.
    unlabelled: documents without a label of the judge.
    """

    pool: Qrels
    human: Ints
    sampled: Bools
    chance: Floats
    stratum: Ints
    unlabelled: int


def labels_of_both(panel: Panel) -> Both:
    """Match documents, and tell how they were sampled from what the judgments say of it.

    With a column `inclusion` these are the chances. With a column `stratum`, a fixed number of each
    stratum was sampled, and grades below 0 mark what was not; without `inclusion`, all of the pool
    is listed so. With neither, the sample is one of the judge's documents, a fixed number by topic.
    """
    people, [judge] = panel.human, panel.judges
    labels = judge.labels.to_polars().select("topic", "doc", pl.col("grade").alias("by judge"))
    both = (
        people.to_polars()
        .with_row_index("row")
        .join(labels, on=["topic", "doc"], how="full", coalesce=True, maintain_order="right_left")
    )
    human = both["grade"].fill_null(-1).to_numpy().astype(np.int64)
    grade = both["by judge"].fill_null(0).to_numpy().astype(np.int32)
    listed = both["row"].is_not_null().to_numpy()
    names = both["topic"].unique(maintain_order=True)
    codes = both["topic"].replace_strict(
        names, np.arange(len(names), dtype=np.int32), return_dtype=pl.Int32
    )
    pool = Qrels(tuple(names), codes.to_numpy(), both["doc"], grade, origin=people.origin)
    topic = pool.codes.astype(np.int64)
    known = both["by judge"].is_not_null().to_numpy()
    sampled = listed.copy()
    chance = np.full(len(pool), np.nan)
    by_chance, by_stratum = ("inclusion" in people.columns, "stratum" in people.columns)
    stratum = np.full(len(pool), -1)
    if by_stratum:
        label = both["stratum"].cast(pl.String).fill_null("").rank("dense").to_numpy()
        _, stratum = np.unique(topic * (len(pool) + 1) + label, return_inverse=True)
        sampled &= human >= 0
        if not by_chance or (human[listed] < 0).any():
            _refuse(pool, ~listed, "a label of the judge, and no stratum of the sample")
    if by_chance:
        chance = both["inclusion"].cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        _refuse(pool, listed & ~((chance >= 0) & (chance <= 1)), "no chance from 0 to 1 of its own")
        sampled &= chance > 0
    elif not by_stratum:
        stratum = topic
        _refuse(pool, ~known, "a judgment of people, and no label of the judge")
    if not by_chance:
        size, many = (np.bincount(stratum[some]) for some in (slice(None), sampled))
        share = np.pad(many, (0, size.size - many.size)) / size
        chance = share[stratum]
    chance[~sampled] = np.nan
    return Both(pool, np.where(sampled, human, 0), sampled, chance, stratum, int((~known).sum()))


def _refuse(pool: Qrels, wrong: Bools, what: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        topic = pool.topics[int(pool.codes[row])]
        raise InputError(f"a document of the pool has {what}", topic=topic, doc=pool.docs[row])
