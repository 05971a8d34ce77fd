"""The order of a run's documents: ties, what the rank column says of it, and its fingerprint."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices
from cranfield.base.words import counted
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.lines import Rows
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.judged.ranking import Order, order_of
from cranfield.collection.run import Run

_BLOCK = 1 << 18
"""Rows written at a time."""


def check_order(rows: Rows, at: Indices, task: TaskRules, found: Collected) -> str | None:
    """Check for ties, and whether ranks go against scores; return the ranking's SHA-256.

    Parameters
    ----------
    at
        The rows to go by, no document of a topic twice; those without a score are left out.
    """
    at = at[~np.isnan(rows.scores[at])]
    if not at.size:
        return None
    run = Run(
        name="",
        topics=tuple(rows.topics),
        codes=rows.codes[at],
        docs=rows.docs if at.size == len(rows.docs) else rows.docs[at],
        scores=rows.scores[at],
        ranks=rows.ranks[at],
    )
    ties = str(task.judging.get("ties", "trec"))
    order = order_of(run, ties)
    if ties not in {"rank", "file"}:
        ranked = rows.ranked[at]
        # What is no rank contradicts nothing.
        of_ranked = order if ranked.all() else order_of(run.restricted(ranked), ties)
        if task.rank == "order" and of_ranked.contradictions:
            places = counted(of_ranked.contradictions, "place")
            found.add("rank-order", count=of_ranked.contradictions, places=places)
        if order.tied / len(run) > task.tied:
            found.add(
                "tied",
                count=order.tied,
                tied=order.tied,
                documents=counted(len(run), "document"),
                decides="lines" if ties == "input" else "document ids",
            )
    return ranking_sha256(run, order)


def ranking_sha256(run: Run, order: Order) -> str:
    """Return the SHA-256 of what a run ranks, and in which order, whatever its scores and tag.

    The bytes are those of UTF-8 text with two lines for each document, its topic and its id, each
    ended by a line feed: the topics in ascending order of their bytes, the documents of a topic
    from the first to the last.

    Examples
    --------
    >>> from cranfield import read_run
    >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}})
    >>> sha256 = ranking_sha256(run, order_of(run, "trec"))
    >>> sha256 == hashlib.sha256(b"q1\\nd2\\nq1\\nd1\\n").hexdigest()
    True
    """
    # Python orders text by code points, which is the order of the bytes of UTF-8.
    by_name = sorted(range(len(run.topics)), key=run.topics.__getitem__)
    place = np.empty(len(by_name), dtype=np.int64)
    place[by_name] = np.arange(len(by_name))
    rows = order.rows
    rows = rows[np.argsort(place[run.codes[rows]], kind="stable")]
    names = pl.Series("topic", run.topics, dtype=pl.String)
    sha256 = hashlib.sha256()
    for start in range(0, rows.size, _BLOCK):
        block = rows[start : start + _BLOCK]
        text = io.BytesIO()
        frame = pl.DataFrame({"topic": names[run.codes[block]], "doc": run.docs[block]})
        frame.write_csv(text, include_header=False, separator="\n", quote_style="never")
        sha256.update(text.getvalue())
    return sha256.hexdigest()
