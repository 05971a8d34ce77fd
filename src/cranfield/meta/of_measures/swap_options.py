"""What the swap method may be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.scores import Scores

BINS = tuple(k / 100 for k in range(21))
"""Where bins of differences begin: 0, 0.01, ..., 0.2; the last one has no end."""

MOST_SIZES = 25
"""Sizes of topic sets by default."""

TIES = ("apart", "swaps")
"""What a difference of zero counts as."""


def check_scores(given: Scores) -> None:
    """Refuse scores by shard, missing or infinite ones, and less than two systems."""
    given.flat("the swap method takes no scores by shard")
    if len(given.systems) < 2:
        raise CranfieldError(f"a swap is of two systems, and there is {len(given.systems)}")
    unknown = np.argwhere(~np.isfinite(given.values))
    if unknown.size:
        topic, system = (int(k) for k in unknown[0])
        what = "no score" if np.isnan(given.values[topic, system]) else "an infinite score"
        raise CranfieldError(
            f"system {quoted(given.systems[system])} has {what} on topic"
            f" {quoted(given.topics[topic])}"
        )


def read_sizes(sizes: Any, topics: int, replacement: bool, least: int) -> tuple[int, ...]:
    """Return the sizes of topic sets, ascending, each once; evenly spaced ones by default."""
    most = topics if replacement else topics // 2
    if most < least:
        raise CranfieldError(f"{counted(topics, 'topic')} cannot make two sets of {least}")
    if sizes is None:
        spaced = np.linspace(least, most, min(MOST_SIZES, most - least + 1))
        return tuple(sorted({int(size) for size in np.rint(spaced)}))
    if not isinstance(sizes, Iterable) or isinstance(sizes, (str, bytes)):
        raise PolicyError(f"sizes are several numbers of topics, not {sizes!r}")
    wanted = list(sizes)
    for size in wanted:
        check_whole("a size", size, least, most)
    if not wanted:
        raise PolicyError("there are no sizes")
    return tuple(sorted({int(size) for size in wanted}))


def read_edges(bins: Any) -> tuple[float, ...]:
    """Return where bins of differences begin."""
    try:
        edges = tuple(float(edge) for edge in bins)
    except (TypeError, ValueError):
        raise PolicyError(f"bins are the numbers where they begin, not {bins!r}") from None
    if not edges or edges[0] != 0 or not all(a < b < np.inf for a, b in pairwise(edges)):
        raise PolicyError("bins begin at 0 and ascend")
    return edges
