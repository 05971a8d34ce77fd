"""The statistic of a system's topic scores that is compared: mean, sum, geometric mean, median."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.scores import Scores
from cranfield.scores.averages import FLOOR
from cranfield.significance.prepare import Ready
from cranfield.significance.registry import STATISTICS
from cranfield.significance.tests.declaration import TestInfo

LOG_RATIO = "log ratio of geometric means"
"""What intervals of geometric means are of."""

OF_AGGREGATE = {"mean": "mean", "sum": "sum", "geometric": "geometric-mean"}
"""The statistic of each aggregate of a measure."""

MEDIAN_TEST = "bootstrap-median"


def statistic_of(scores: Scores, requested: Any, test: str | None) -> str:
    """Return the requested statistic, or else that of the test or the measure."""
    if requested is None:
        return "median" if test == MEDIAN_TEST else OF_AGGREGATE[scores.aggregate]
    check_choice("statistic", requested, STATISTICS)
    if (requested == "median") != (test == MEDIAN_TEST):
        raise PolicyError(
            f"statistic='median' requires the test {MEDIAN_TEST}, got {test!r}"
            if requested == "median"
            else f"the test {MEDIAN_TEST} compares medians, got statistic={requested!r}"
        )
    return str(requested)


def transformed(ready: Ready, statistic: str) -> Ready:
    """Return scores whose means are compared in place of the statistic.

    A geometric mean is the exponential of the mean of logarithms, with scores below 1e-5 taken as
    1e-5, as trec_eval does for gm_map; a sum is the mean times the number of topics.
    """
    if statistic == "sum":
        if np.isnan(ready.flat).any():
            raise CranfieldError(
                "sums of scores cannot be compared where systems have scores of different topics:"
                " choose statistic='mean', or how to treat missing scores"
            )
        number = len(ready.flat)
        scores = replace(ready.scores, values=ready.scores.values * number)
        return replace(ready, scores=scores, flat=ready.flat * number)
    if statistic != "geometric-mean":
        return ready
    values = ready.scores.values
    if (values < 0).any():
        place = np.argwhere(values < 0)[0]
        raise CranfieldError(
            f"a geometric mean requires scores of at least 0, got {values[tuple(place)]:g} of"
            f" {ready.scores.cell(place)}"
        )
    logs = replace(ready.scores, values=np.log(np.maximum(values, FLOOR)))
    flat = logs.values
    if logs.shards:
        flat = logs.over_shards().values[~np.isnan(flat).all(axis=(1, 2))]
    return replace(ready, scores=logs, flat=flat)


def shown_means(means: Floats, statistic: str) -> Floats:
    """Return the statistic of each system from the means of transformed scores."""
    return np.exp(means) if statistic == "geometric-mean" else means


def interval_name(info: TestInfo, statistic: str) -> str:
    """Name what intervals of the test are of, for that statistic."""
    if statistic == "sum":
        return info.interval.replace("mean difference", "difference of sums").replace(
            "difference of means", "difference of sums"
        )
    if statistic != "geometric-mean":
        return info.interval
    ratio = info.interval in ("mean difference", "difference of means")
    return LOG_RATIO if ratio else f"{info.interval}, of log scores"
