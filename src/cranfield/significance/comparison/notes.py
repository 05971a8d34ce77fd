"""Notes of a comparison: what a reader should know besides its numbers."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtrc

from cranfield.base.scale_types import a_scale
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.clusters import clusters_told
from cranfield.significance.constant_differences import with_exchange_tests
from cranfield.significance.corrections.catalogue import RECOMMENDED, Correction
from cranfield.significance.options import Options
from cranfield.significance.outcome import Corrected, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.tests.catalogue import find_test
from cranfield.significance.tests.declaration import TestInfo

ENOUGH = 12
"""Topics below which a bootstrap over topics has little power."""

RESCALING = "results may not survive a rescaling"
"""The end of the note on a measure whose scale is lower than the test assumes."""

FEW = 10
"""Topics below which two systems are also compared by exact sign flips."""

UNEQUAL = 1.5
"""Ratio of standard deviations of differences to their common estimate that calls for a note."""

CLEAR, BY_CHANCE = 0.001, 0.1
"""P-values of paired t-tests that are counted as clear, and the largest probability that chance
gives as many of them for their number to be reported."""


def notes_on(scores: Scores, info: TestInfo, options: Options) -> list[str]:
    """Return what the measure and the test imply for each other."""
    name = scores.measure or "the measure"
    notes = clusters_told(scores)
    notes.extend(scores.direction_notes())
    if options.threshold:
        notes.append(f"differences of at most {options.threshold:g} count as ties")
    if info.of_two and len(scores.systems) == 2 and options.two_sided:
        notes.append(info.of_two)
    if info.of_pairs and len(scores.systems) > 2:
        notes.append(info.of_pairs)
    if scores.scale_source == "user":
        notes.append(f"scale declared by the user: {scores.scale}")
    if scores.scale is not None and scores.scale < info.scale:
        notes.append(
            f"{name} is declared {scores.scale}, but this test assumes {a_scale(info.scale)};"
            f" {RESCALING}"
        )
    return notes


def beyond_assumptions(
    pairs: Pairs, info: TestInfo, correction: Correction, *, hopeless: bool
) -> list[str]:
    """Return what is known to violate the assumptions of the test or the correction.

    Tukey's and Dunnett's tests take one error for all pairs, and the randomised Tukey HSD
    exchanges the scores of all systems: pairs that vary more than others are then called
    significantly different too often (docs/calibration.md). Where it is `hopeless`, since no
    difference can be significant, it is not said that only large ones are.
    """
    sampled = correction.resamples_topics or info.name == "bootstrap"
    if sampled and pairs.topics < ENOUGH:
        return (
            []
            if hopeless
            else [
                f"{counted(pairs.topics, 'topic')} are few for resampling topics, which needs about"
                f" {ENOUGH}: only large differences become significant"
            ]
        )
    if correction.symmetric and len(pairs) > 1:
        return [
            f"{correction.name} assumes differences that are symmetric around their mean, which"
            f" those of nearly equal runs seldom are; {RECOMMENDED} does not"
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
        f"some differences vary up to {np.sqrt(largest / common):.1f} times as much as this test"
        " assumes of all, and are called significant too often; the correction"
        f" {RECOMMENDED} allows for it"
    ]


def pooled_against_paired(
    pairs: Pairs, correction: Correction, corrected: Corrected, options: Options
) -> list[str]:
    """Return how many pairs a paired t-test separates clearly, and a pooled error does not.

    A system and its variant may differ by little on nearly every topic. Where all pairs share one
    error such a difference is not significant, but the paired t-test of the pair alone sees it.
    """
    if not correction.pooled or pairs.systems < 3:
        return []
    test = find_test("t")
    # A constant difference has the p-value of the pair compared on its own, by exact sign flips.
    own = with_exchange_tests(test.run(pairs, Options()), pairs, test.info, Options())
    raw = own.pvalue
    total, not_significant = len(pairs), corrected.pvalue > options.alpha
    missed = int(((raw < CLEAR) & not_significant).sum())
    if not missed:
        return []
    # Either there are many of them, or one would be significant by Bonferroni's correction.
    clearest = raw[not_significant].min() * total <= options.alpha
    if bdtrc(missed - 1, total, CLEAR) > BY_CHANCE and not clearest:
        return []
    return [
        f"{missed:,} of {counted(total, 'pair')} {'has' if missed == 1 else 'have'} p < {CLEAR:g}"
        f" in an unadjusted two-sided paired t-test but {'is' if missed == 1 else 'are'} not"
        f" significant here, where all pairs share one error term (about {total * CLEAR:.2g}"
        f" {'is' if total * CLEAR == 1 else 'are'} expected by chance); compare them on their own"
    ]


def sign_flips_of_few(
    pairs: Pairs, info: TestInfo, corrected: Corrected, options: Options
) -> list[str]:
    """Return the exact p-value of sign flips for one pair on few topics, if it is another one."""
    if info.name != "bootstrap" or len(pairs) != 1 or pairs.topics >= FEW:
        return []
    exact = Options(alternative=options.alternative, alpha=options.alpha, exact=True)
    pvalue = float(find_test("randomisation").run(pairs, exact).pvalue[0])
    if pvalue == corrected.pvalue[0]:
        return []
    smallest = 0.5 ** (pairs.topics - options.two_sided)
    return [
        f"exact sign flips (the randomisation test) give p = {pvalue:.4g};"
        f" with {counted(pairs.topics, 'topic')} they cannot give less than {smallest:.4g}"
    ]


def out_of_reach(
    info: TestInfo,
    outcome: Outcome,
    correction: Correction,
    corrected: Corrected,
    options: Options,
) -> list[str]:
    """Return that no difference could have become significant, however large, where that is so."""
    raw, details = outcome.pvalue, outcome.details
    if not raw.size or corrected.pvalue.min() <= options.alpha:
        return []
    smallest = corrected.smallest_pvalue
    if smallest is None and outcome.smallest_pvalues is not None:
        smallest = float(outcome.smallest_pvalues.min())
    if smallest is not None and smallest > options.alpha:
        few = counted(int(outcome.n.max()), "topic")
        return [
            f"no difference can be significant at {options.alpha:g} with {few}: no p-value can be"
            f" below {smallest:.2g}"
        ]
    if "resamples" in details or correction.random:
        least, by = 1 / (options.resamples + 1), f"{options.resamples:,} resamples"
        cure = "draw more, or choose another correction"
    elif details.get("exact") or details.get("exact pairs") or info.always_exact:
        topics = int(outcome.n.max())
        if topics == 0:
            return ["no topic has different scores: there is nothing to test"]
        least = 0.5 ** (topics - options.two_sided)
        by, cure = counted(topics, "difference"), "use more topics, or choose another correction"
    else:
        return []
    together = raw.size if correction.multiplies else 1
    at_floor = raw.min() <= least * 1.5
    by_rank = correction.bounds == "share of errors"
    if least * together <= options.alpha and not (at_floor and by_rank):
        return []
    return [
        f"{by} cannot give a p-value below {least:.2g}, too large for"
        f" {counted(raw.size, 'pair')} with this correction: {cure}"
    ]
