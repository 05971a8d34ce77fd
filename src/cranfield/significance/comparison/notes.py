"""What a reader of a comparison should be told beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import a_scale
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import TestInfo

UNEQUAL = 1.5
"""Standard deviations of differences, by their common estimate, from which on it is said."""

STEPWISE = ("bonferroni", "holm")
"""Corrections that multiply the least p-value by the number of pairs."""

MEDIAN = "median difference"
"""What the limits of the sign test, which is always exact, are limits of."""


def notes_on(scores: Scores, info: TestInfo, alternative: str) -> list[str]:
    """Say what the measure and the test have to do with each other."""
    name = scores.measure or "the measure"
    notes = []
    if scores.lower_is_better:
        notes.append(f"low scores of {name} are the good ones")
    if scores.aggregate != "mean":
        notes.append(
            f"{name} sums up topics otherwise than by a mean: compared are the means of its scores"
        )
    if info.name == "t" and len(scores.systems) == 2 and alternative == "two-sided":
        notes.append("the paired t-test is two-way ANOVA with Tukey's HSD of two systems")
    if scores.scale is not None and scores.scale < info.scale:
        notes.append(
            f"not invariant: this test needs {a_scale(info.scale)}, and {name} is declared"
            f" {scores.scale}; what it says may depend on how the scale is spaced"
        )
    return notes


def unequal(pairs: Pairs, info: TestInfo, correction: str) -> list[str]:
    """Say so when differences vary too unequally for a test that takes them for the same.

    Tukey's and Dunnett's tests measure all pairs by one error, and the randomised Tukey HSD
    exchanges the scores of all systems: pairs that vary more than others are then called
    different too often (see the study of calibration in the documentation).
    """
    pooled = ("tukey", "dunnett", "randomised-tukey")
    by_mean = info.name in {"anova-2", "randomisation"}
    if correction not in pooled or not by_mean or pairs.systems < 3 or not pairs.paired:
        return []
    centred = pairs.values - pairs.values.mean(axis=0)
    products = centred.T @ centred
    squares = np.diag(products)
    of_pairs = squares[:, None] + squares - 2 * products
    between = np.triu_indices(pairs.systems, 1)
    common = of_pairs[between].mean()
    largest = of_pairs[pairs.first, pairs.second].max()
    if common <= 0 or largest <= UNEQUAL**2 * common:
        return []
    return [
        f"some pairs vary up to {np.sqrt(largest / common):.1f} times as much as this test assumes"
        " of all, and are called different too often; test t with correction max-t takes each pair"
        " by itself"
    ]


def out_of_reach(
    raw: Floats,
    adjusted: Floats,
    outcome: Outcome,
    details: Mapping[str, Any],
    options: Options,
    correction: str,
) -> list[str]:
    """Say so when no difference could have become significant, however large."""
    if not raw.size or adjusted.min() <= options.alpha:
        return []
    if "resamples" in details:
        least, by = 1 / (options.resamples + 1), f"{options.resamples:,} samples"
        cure = "draw more, or correct otherwise"
    elif details.get("exact") or details.get("exact pairs") or outcome.interval_of == MEDIAN:
        topics = int(outcome.n.max())
        least = 0.5 ** (topics - options.two_sided)
        by, cure = counted(topics, "difference"), "take more topics, or correct otherwise"
    else:
        return []
    together = raw.size if correction in STEPWISE else 1
    at_floor = raw.min() <= least * 1.5
    if least * together <= options.alpha and not (at_floor and correction in ("bh", "by")):
        return []
    return [
        f"{by} give no p below {least:.2g}, too few for {counted(raw.size, 'pair')} with this"
        f" correction: {cure}"
    ]
