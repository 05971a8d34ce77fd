"""Three-way ANOVA where topics have no score in some shards, by exact least squares.

A topic without relevant documents in a shard has no score there, for any system. So every system
has the same cells (topic, shard), and the model falls into two parts that are orthogonal: the means
over systems, with topic, shard and their interaction; and what each system is above that mean, with
its own additive part of topic and shard. All systems share one small least squares problem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.significance.models.anova_table import AnovaTable, made_table


def three_way_with_gaps(values: Floats) -> tuple[AnovaTable, int]:
    """Analyse scores by topic, system and shard, which are NaN for all systems or for none.

    Sums of squares are of type II. Also returned is how many cells (topic, shard) have scores.
    """
    topics, shards = known_cells(values)
    systems = values.shape[1]
    cells = values[topics, :, shards]
    mean = cells.mean(axis=1)
    above = cells - mean[:, None]
    both = np.concatenate([mean[:, None], above], axis=1)
    by_topic, t = _left_over(both, topics)
    by_shard, k = _left_over(both, shards)
    fit, rank = _additive(both, topics, shards)
    left = ((both - fit) ** 2).sum(axis=0)
    df_error = (systems - 1.0) * (len(cells) - rank)
    if df_error <= 0:
        raise CranfieldError("too few topics have scores in several shards to estimate an error")
    of_systems = cells.mean(axis=0)
    fitted = np.full(values.shape, np.nan)
    fitted[topics, :, shards] = mean[:, None] + fit[:, 1:]
    table = made_table(
        "score ~ topic + system + shard + topic:system + topic:shard + system:shard",
        {
            "Topic": (systems * (by_shard[0] - left[0]), rank - k),
            "System": (len(cells) * float(((of_systems - mean.mean()) ** 2).sum()), systems - 1.0),
            "Shard": (systems * (by_topic[0] - left[0]), rank - t),
            "Topic:System": (float((by_shard - left)[1:].sum()), (systems - 1.0) * (rank - k)),
            "Topic:Shard": (systems * left[0], len(cells) - rank),
            "System:Shard": (float((by_topic - left)[1:].sum()), (systems - 1.0) * (rank - t)),
        },
        (float(left[1:].sum()), df_error),
        values=values,
        fitted=fitted,
        means={
            "Topic": _means(mean, topics, values.shape[0]),
            "System": of_systems,
            "Shard": _means(mean, shards, values.shape[2]),
        },
    )
    return table, len(cells)


def known_cells(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return topic and shard of each cell that has scores, which are of all systems or of none."""
    missing = np.isnan(values)
    if (missing.any(axis=1) != missing.all(axis=1)).any():
        raise CranfieldError("some systems have no score where others have one, in the same shard")
    topics, shards = np.nonzero(~missing.any(axis=1))
    return topics, shards


def _means(values: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    """Return the mean by group; NaN for a group that is empty."""
    count = np.bincount(group, minlength=groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(group, values, minlength=groups) / count)


def _left_over(columns: Floats, group: NDArray[np.intp]) -> tuple[Floats, float]:
    """Return the sum of squares within groups, by column, and the number of groups."""
    _, code = np.unique(group, return_inverse=True)
    groups = int(code.max()) + 1
    sums = np.zeros((groups, columns.shape[1]))
    np.add.at(sums, code, columns)
    means = sums / np.bincount(code)[:, None]
    return ((columns - means[code]) ** 2).sum(axis=0), float(groups)


def _additive(
    columns: Floats, topics: NDArray[np.intp], shards: NDArray[np.intp]
) -> tuple[Floats, float]:
    """Fit each column by topic + shard; return the fit and the rank of the design."""
    _, topic = np.unique(topics, return_inverse=True)
    _, shard = np.unique(shards, return_inverse=True)
    # Topics are swept out; what is left is a problem as small as there are shards.
    dummies = (shard[:, None] == np.arange(shard.max() + 1)).astype(np.float64)
    counts = np.bincount(topic).astype(np.float64)

    def swept(matrix: Floats) -> tuple[Floats, Floats]:
        sums = np.zeros((counts.size, matrix.shape[1]))
        np.add.at(sums, topic, matrix)
        means = (sums / counts[:, None])[topic]
        return matrix - means, means

    design, _ = swept(dummies)
    rest, means = swept(columns)
    # A basis of the few columns of the design is cheaper than a solution for each of the many.
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, sizes > 1e-10 * sizes[0]]
    return means + basis @ (basis.T @ rest), float(basis.shape[1] + counts.size)
