"""Corrections of p-values for many comparisons."""

from __future__ import annotations

import numpy as np

from cranfield.significance.outcome import Floats

CORRECTIONS = {
    "none": "no correction: each comparison errs in alpha of the cases where there is nothing",
    "tukey": "Tukey's honestly significant difference: all pairs of the systems of a model, at "
    "most alpha for any error among them",
    "randomised-tukey": "the same, with the distribution of the largest difference from random "
    "permutations of each topic's scores",
    "dunnett": "Dunnett's test: all systems against one baseline",
    "bonferroni": "p times the number of comparisons",
    "holm": "Bonferroni's correction step by step; as strict on errors, never weaker",
    "bh": "Benjamini and Hochberg: at most alpha of the differences found are expected to be "
    "none (false discovery rate)",
    "by": "Benjamini and Yekutieli: the same, however the comparisons depend on each other",
}
"""Corrections and what they do."""

FAMILY_WISE = ("tukey", "randomised-tukey", "dunnett", "bonferroni", "holm")
"""Those that bound the chance of any error at all."""


def corrected(pvalues: Floats, correction: str) -> Floats:
    """Adjust p-values, so that each can be compared with alpha.

    Parameters
    ----------
    pvalues
        Of all comparisons, shape (comparisons,).
    correction
        `none`, `bonferroni`, `holm`, `bh` or `by`.

    Returns
    -------
    array
        Adjusted p-values in the same order.

    Notes
    -----
    Bonferroni (1936), Holm (1979), Benjamini and Hochberg (1995), Benjamini and Yekutieli (2001).

    Examples
    --------
    >>> corrected(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> corrected(np.array([0.01, 0.04, 0.03]), "bh").tolist()
    [0.03, 0.04, 0.04]
    """
    number = pvalues.size
    if correction == "none" or number == 0:
        return pvalues
    if correction == "bonferroni":
        return np.minimum(1.0, pvalues * number)
    order = np.argsort(pvalues, kind="stable")
    ordered = pvalues[order]
    place = np.arange(1, number + 1)
    if correction == "holm":
        adjusted = np.maximum.accumulate(ordered * (number - place + 1))
    else:
        dependence = float((1 / place).sum()) if correction == "by" else 1.0
        raised = ordered * number * dependence / place
        adjusted = np.minimum.accumulate(raised[::-1])[::-1]
    out = np.empty(number)
    out[order] = np.minimum(1.0, adjusted)
    return out
