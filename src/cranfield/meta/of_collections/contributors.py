"""Which runs went into a pool, how deep, and what of it is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.of_collections.tracing import TracedRuns


def judged_depths(runs: TracedRuns) -> Ints:
    """Find the largest d with all top d documents of each system judged; shape (systems,).

    A run whose documents are all judged has the largest whole number there is.
    """
    rows = runs.judged.documents
    # Rows are judged documents in order of rank: as long as none is missing, both count alike.
    leading = rows.where(rows.seen == rows.rank).count
    endless = np.iinfo(np.int64).max
    return np.asarray(
        np.where(leading < retrieved_where_judged(runs), leading, endless).min(axis=0)
    )


def contributing(runs: TracedRuns, contributors: Any, reach: Ints, depth: int | None) -> Bools:
    systems = runs.judged.systems
    if contributors is None:
        return np.ones(len(systems), dtype=bool)
    if isinstance(contributors, str):
        if contributors != "judged":
            raise PolicyError(
                f"contributors are 'judged' or names of systems, not {quoted(contributors)}"
            )
        chosen: Bools = reach >= (depth or 1)
        if not chosen.any():
            raise PolicyError(
                f"contributors='judged' requires a run whose top {depth} documents are all judged"
                f" (the depth of the pool), got at most the top {reach.max()}"
            )
        return chosen
    if not isinstance(contributors, Iterable):
        kind = type(contributors).__name__
        raise PolicyError(f"contributors are 'judged' or names of systems, not {kind}")
    names = [str(name) for name in contributors]
    known = set(systems)
    for name in names:
        if name not in known:
            raise PolicyError(f"there is no system {quoted(name)} to contribute")
    if not names:
        raise PolicyError("no run contributes to the pool")
    return np.isin(np.array(systems, dtype=object), np.array(names, dtype=object))


def in_pool(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Tell which rows of the judged runs stand in the pooled ranks of a contributing run."""
    rows = runs.judged.documents
    return np.asarray((rows.rank <= depth) & contributes[rows.cell // runs.judged.shape[0]])


def unjudged_in_pool(runs: TracedRuns, contributes: Bools, depth: int) -> Ints:
    """Count the documents without judgment in the pooled ranks of each system's run."""
    rows = runs.judged.documents
    found = rows.where(in_pool(runs, contributes, depth)).count.sum(axis=0)
    out: Ints = np.minimum(retrieved_where_judged(runs), depth).sum(axis=0) * contributes - found
    return out


def retrieved_where_judged(runs: TracedRuns) -> Ints:
    """Count retrieved documents by topic and system; none where nobody judged the topic."""
    judged = np.isin(np.arange(runs.judged.shape[0]), runs.topic)
    return np.asarray(runs.judged.retrieved * judged[:, None])


def pool_of(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Tell which judgments are of documents in the pool of that depth."""
    kept = np.zeros(runs.grade.size, dtype=bool)
    kept[runs.number[in_pool(runs, contributes, depth)]] = True
    return kept


def counts_of(
    runs: TracedRuns, contributes: Bools, depth: int | None, kept: Bools, top: int, rel: int
) -> dict[str, Any]:
    """Count what is judged, and what is not judged among the top documents."""
    chosen = kept & (runs.topic >= 0)
    seen = runs.restricted(kept).top(top)
    retrieved = seen.retrieved.sum(axis=0)
    unjudged = retrieved - seen.judged().count.sum(axis=0)
    some = retrieved > 0
    return {
        "depth": depth,
        "judged": int(chosen.sum()),
        "relevant": int((chosen & (runs.grade >= rel)).sum()),
        "unjudged": float(unjudged.sum() / retrieved.sum()) if some.any() else None,
        "largest unjudged": float((unjudged[some] / retrieved[some]).max()) if some.any() else None,
        "lacking": None if depth is None else int(unjudged_in_pool(runs, contributes, depth).sum()),
    }
