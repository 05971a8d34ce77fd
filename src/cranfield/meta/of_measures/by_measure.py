"""Scores of several measures brought together; which system each prefers, and the sign test."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from scipy.special import bdtr

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.significance.pairs import ROUNDING
from cranfield.significance.prepare import as_scores


def by_measure(data: Any) -> dict[str, Scores]:
    """Take scores of several measures by the text form of their measure, in order.

    They are given as a mapping of measures to what :func:`cranfield.compare` takes, as
    :class:`Scores` of one measure, or as a table or file that
    :func:`cranfield.read_scores_by_measure` reads.
    """
    if isinstance(data, Scores):
        return {data.measure: data}
    if isinstance(data, Mapping):
        found = {}
        for name, one in data.items():
            if not isinstance(one, (Scores, Mapping, np.ndarray)) and not hasattr(
                type(one), "columns"
            ):
                kind = type(one).__name__
                raise PolicyError(f"the scores of {quoted(name)} are of no known kind: {kind}")
            if str(name) in found:
                raise PolicyError(f"the measure {quoted(name)} is there twice")
            found[str(name)] = as_scores(one)
    elif isinstance(data, (str, PathLike)) or hasattr(type(data), "columns"):
        found = read_scores_by_measure(data)
    else:
        kind = type(data).__name__
        raise PolicyError(f"scores by measure are a mapping, a table or a file, not {kind}")
    if not found:
        raise PolicyError("there are no measures")
    return found


def signs(values: Floats, first: Any, second: Any) -> Floats:
    """Return which of two systems each measure prefers on a topic, shape (measures, pairs).

    From scores, high ones the better, of shape (measures, systems), and indices of the systems of
    each pair: 1 for the first, -1 for the second, 0 for a tie, NaN for a missing score.
    """
    slack = ROUNDING * np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    apart = values[:, first] - values[:, second]
    return np.asarray(np.where(np.abs(apart) <= slack, 0.0, np.sign(apart)))


def sign_pvalue(wins: Any, losses: Any) -> Floats:
    """Return the exact two-sided p-values of the sign test; 1 where nothing was won or lost."""
    won, lost = np.asarray(wins), np.asarray(losses)
    tail = 2 * bdtr(np.minimum(won, lost), won + lost, 0.5)
    return np.asarray(np.where(won + lost > 0, np.minimum(1.0, tail), 1.0))
