"""Corrections of p-values for many comparisons."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted

CORRECTIONS = {
    "none": "no correction: each comparison errs in alpha of the cases where there is nothing",
    "tukey": "Tukey's honestly significant difference: all pairs of the systems of a model, at "
    "most alpha for any error among them",
    "randomised-tukey": "the same, with the distribution of the largest difference from random "
    "permutations of each topic's scores",
    "dunnett": "Dunnett's test: all systems against one baseline",
    "max-t": "Westfall and Young's step-down max-T: the largest t of all pairs under random signs; "
    "systems may differ in variance and depend on each other",
    "bonferroni": "p times the number of comparisons",
    "holm": "Bonferroni's correction step by step; as strict on errors, never weaker",
    "bh": "Benjamini and Hochberg: at most alpha of the differences found are expected to be "
    "none (false discovery rate)",
    "by": "Benjamini and Yekutieli: the same, however the comparisons depend on each other",
}
"""Corrections and what they do."""

SOURCES = {
    "none": "",
    "tukey": "Tukey (1949a)",
    "randomised-tukey": "Carterette (2012)",
    "dunnett": "Dunnett (1955)",
    "max-t": "Westfall and Young (1993)",
    "bonferroni": "Bonferroni (1936)",
    "holm": "Holm (1979)",
    "bh": "Benjamini and Hochberg (1995)",
    "by": "Benjamini and Yekutieli (2001)",
}
"""Where they are defined; of two works of an author and year the letter tells which."""

FAMILY_WISE = ("tukey", "randomised-tukey", "dunnett", "max-t", "bonferroni", "holm")
"""Those that bound the chance of any error at all."""

ALIASES = {
    "hsd": "tukey",
    "tukey-hsd": "tukey",
    "randomized-tukey": "randomised-tukey",
    "randomised-tukey-hsd": "randomised-tukey",
    "randomized-tukey-hsd": "randomised-tukey",
    "westfall-young": "max-t",
    "maxt": "max-t",
    "bonf": "bonferroni",
    "holm-bonferroni": "holm",
    "fdr": "bh",
    "fdr-bh": "bh",
    "benjamini-hochberg": "bh",
    "fdr-by": "by",
    "benjamini-yekutieli": "by",
    "uncorrected": "none",
}
"""Other names that are understood."""


def find_correction(name: Any) -> str:
    """Find a correction by its name or one of its other names.

    Raises
    ------
    PolicyError
        If there is none; the nearest names are suggested.

    Examples
    --------
    >>> find_correction("FDR_BH")
    'bh'
    """
    if not isinstance(name, str):
        raise PolicyError(f"a correction is named by its text, such as 'holm', not {name!r}")
    asked = name.lower().replace("_", "-").replace(" ", "-")
    asked = ALIASES.get(asked, asked)
    if asked not in CORRECTIONS:
        near = difflib.get_close_matches(asked, [*CORRECTIONS, *ALIASES], n=3, cutoff=0.5)
        there = f"there are {', '.join(CORRECTIONS)}"
        hint = f"did you mean {' or '.join(near)}?" if near else there
        raise PolicyError(f"there is no correction {quoted(name)}; {hint}")
    return asked


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
