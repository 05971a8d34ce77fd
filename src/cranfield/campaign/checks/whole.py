"""What can only be seen in a run as a whole: its topics and its documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices, Ints
from cranfield.base.words import counted
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.documents import excluded, outside, unlike
from cranfield.campaign.checks.lines import Rows
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.keys import pair_keys, repeats


def check_topics(
    rows: Rows, task: TaskRules, wanted: Sequence[str] | None, found: Collected, *, to_end: bool
) -> None:
    """Check which topics there are, and how many documents each of them has.

    Of a file that was not read to its end nothing is said to be missing.
    """
    order = np.argsort(rows.codes, kind="stable")
    starts = np.searchsorted(rows.codes[order], np.arange(len(rows.topics) + 1))
    counts = np.diff(starts)
    if wanted is not None:
        known = set(wanted)
        strange = np.array([topic not in known for topic in rows.topics] or [False])
        lines = np.flatnonzero((rows.codes >= 0) & ~rows.broken & strange[rows.codes])
        codes, first, count = np.unique(rows.codes[lines], return_index=True, return_counts=True)
        for at in np.argsort(first):
            found.add(
                "topic-unknown",
                line=int(rows.lines[lines[first[at]]]),
                about=(rows.topics[codes[at]], None),
                count=int(count[at]),
                topic=rows.topics[codes[at]],
                topics=len(known),
            )
    if wanted is not None and to_end:
        there = set(rows.topics)
        if missing := [topic for topic in wanted if topic not in there]:
            found.add(
                "topic-missing",
                count=len(missing),
                topics="topic{} {}".format("s" * (len(missing) > 1), found.listed(missing)),
            )
    most = task.max_per_topic
    if most is None:
        return
    for code in np.flatnonzero(counts > most):
        topic = rows.topics[int(code)]
        found.add(
            "too-many",
            line=int(rows.lines[order[starts[code] + most]]),
            about=(topic, None),
            topic=topic,
            documents=counted(int(counts[code]), "document"),
            most=most,
        )
    if to_end:
        for code in np.flatnonzero(counts < most):
            topic = rows.topics[int(code)]
            found.add(
                "too-few",
                about=(topic, None),
                topic=topic,
                documents=counted(int(counts[code]), "document"),
                most=most,
            )


def check_documents(rows: Rows, task: TaskRules, found: Collected) -> Indices:
    """Check documents: twice in a topic, not in the collection, not to be retrieved.

    Returns the rows of documents that stand in their topic for the first time.
    """
    known = rows.codes >= 0
    if rows.docs.null_count():
        known &= rows.docs.is_not_null().to_numpy()
    at = np.flatnonzero(known)
    docs = rows.docs if known.all() else rows.docs[at]
    codes, lines = rows.codes[at], rows.lines[at]

    def add(code: str, places: Indices, **values: Ints) -> None:
        if places.size:
            names = pl.Series(rows.topics, dtype=pl.String)[codes[places]]
            of = {"topic": names, "doc": docs[places]}
            every = np.ones(places.size, dtype=bool)
            found.add_rows(code, every, lines[places], topics=names, docs=of["doc"], **of, **values)

    first, again = repeats(pair_keys(docs, codes, rows.topics), docs, codes)
    add("document-twice", again, first=lines[first])
    if found.wanted("document-unknown"):
        if task.documents is not None:
            add("document-unknown", np.flatnonzero(outside(docs, task.documents)))
        elif task.document_pattern is not None:
            add("document-unknown", np.flatnonzero(unlike(docs, task.document_pattern)))
    if task.exclude is not None and found.wanted("document-excluded"):
        topics = pl.Series(rows.topics, dtype=pl.String)[codes]
        add("document-excluded", np.flatnonzero(excluded(topics, docs, task.exclude)))
    return np.delete(at, again)
