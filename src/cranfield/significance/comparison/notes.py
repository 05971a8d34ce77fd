"""What a reader of a comparison should be told beside its numbers."""

from __future__ import annotations

import numpy as np

from cranfield.base.scale_types import a_scale
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.clusters import clusters_told
from cranfield.significance.corrections.catalogue import Correction
from cranfield.significance.options import Options
from cranfield.significance.outcome import Corrected, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.tests.declaration import TestInfo

ENOUGH = 12
"""Topics from which on samples of them find about what they should."""

UNEQUAL = 1.5
"""Standard deviations of differences, by their common estimate, from which on it is said."""


def notes_on(scores: Scores, info: TestInfo, options: Options) -> list[str]:
    """Say what the measure and the test have to do with each other."""
    name = scores.measure or "the measure"
    notes = clusters_told(scores)
    if scores.lower_is_better:
        notes.append(f"low scores of {name} are the good ones")
    if scores.aggregate != "mean":
        notes.append(
            f"{name} sums up topics otherwise than by a mean: compared are the means of its scores"
        )
    if options.threshold:
        notes.append(f"differences of at most {options.threshold:g} count as none")
    if info.of_two and len(scores.systems) == 2 and options.two_sided:
        notes.append(info.of_two)
    if info.of_pairs and len(scores.systems) > 2:
        notes.append(info.of_pairs)
    if scores.scale_source == "user":
        notes.append(f"scale declared by the user: {scores.scale}")
    if scores.scale is not None and scores.scale < info.scale:
        notes.append(
            f"not invariant: this test needs {a_scale(info.scale)}, and {name} is declared"
            f" {scores.scale}; what it says may depend on how the scale is spaced"
        )
    return notes


def beyond_assumptions(pairs: Pairs, info: TestInfo, correction: Correction) -> list[str]:
    """Say so when differences are, or may be, otherwise than the correction assumes.

    Tukey's and Dunnett's tests measure all pairs by one error, and the randomised Tukey HSD
    exchanges the scores of all systems: pairs that vary more than others are then called
    different too often (see the study of calibration in the documentation).
    """
    sampled = correction.resamples_topics or info.name == "bootstrap"
    if sampled and pairs.topics < ENOUGH:
        return [
            f"with {counted(pairs.topics, 'topic')}, fewer than {ENOUGH}, samples of topics are"
            " few: this finds large differences only"
        ]
    if correction.symmetric and len(pairs) > 1:
        return [
            f"{correction.name} takes differences for symmetric around their mean, which those of"
            " nearly equal runs seldom are; moderated-max-t does not"
        ]
    sensitive = correction.one_variance and info.one_variance
    if not sensitive or pairs.systems < 3 or not pairs.paired:
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
        " of all, and are called different too often; the correction moderated-max-t allows"
        " for it"
    ]


def stepped_down(corrected: Corrected, options: Options) -> list[str]:
    """Say how many pairs differ although 0 is within their limits, which are of the first step."""
    if corrected.interval is None or not corrected.of_first_step or not options.two_sided:
        return []
    low, high = corrected.interval(1 - options.alpha)
    within = (corrected.pvalue <= options.alpha) & (low <= 0) & (high >= 0)
    if not within.any():
        return []
    pairs = counted(int(within.sum()), "pair")
    verb = "differs" if within.sum() == 1 else "differ"
    return [
        f"{pairs} {verb} by the steps down though 0 is within limits, which are of the first step"
    ]


def out_of_reach(
    info: TestInfo,
    outcome: Outcome,
    correction: Correction,
    corrected: Corrected,
    options: Options,
) -> list[str]:
    """Say so when no difference could have become significant, however large."""
    raw, details = outcome.pvalue, outcome.details
    if not raw.size or corrected.pvalue.min() <= options.alpha:
        return []
    if "resamples" in details or correction.random:
        least, by = 1 / (options.resamples + 1), f"{options.resamples:,} samples"
        cure = "draw more, or correct otherwise"
    elif details.get("exact") or details.get("exact pairs") or info.always_exact:
        topics = int(outcome.n.max())
        if topics == 0:
            return ["no topic has different scores: there is nothing to test"]
        least = 0.5 ** (topics - options.two_sided)
        by, cure = counted(topics, "difference"), "take more topics, or correct otherwise"
    else:
        return []
    together = raw.size if correction.multiplies else 1
    at_floor = raw.min() <= least * 1.5
    by_rank = correction.bounds == "share of errors"
    if least * together <= options.alpha and not (at_floor and by_rank):
        return []
    return [
        f"{by} give no p below {least:.2g}, too few for {counted(raw.size, 'pair')} with this"
        f" correction: {cure}"
    ]
