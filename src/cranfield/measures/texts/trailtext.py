"""The U-measure over any trailtext: the texts that a user read, one after the other.

A trailtext may be of snippets, documents, whole sessions, conversations or summaries; `U` in a
list of measures builds that of a ranked list, `ClickU` that of a session's clicks. S-measure is U
of an answer's nuggets divided by U of the pseudo minimal output.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, check_choice, check_number, numbers
from cranfield.base.kinds import OneOf
from cranfield.scores import Scores
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.values import LABEL
from cranfield.texts.gold import (
    AMOUNT,
    TOPIC,
    check_name_used,
    check_systems,
    stem_of,
    warn_missing,
)

DECAYS = ("linear", "exponential")
"""Decays of gains with the text read."""

_KEYS = ("topic", "system")
_AMOUNT = replace(AMOUNT, missing=lambda cell: False)

_TRAILTEXTS = Schema(
    "table of trailtexts",
    (TOPIC, Column("length", _AMOUNT), Column("gain", _AMOUNT), optional("system", LABEL)),
    noun="trailtexts",
    otherwise="csv",
    tuples=("topic", "length", "gain", "system"),
)


def u_measure(
    gains: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    limit: float,
    decay: Annotated[str, OneOf(DECAYS)] = "linear",
    norm: float = 1.0,
) -> float:
    r"""Compute the U-measure of one trailtext.

    .. math:: U = \frac{1}{N} \sum_k g_k \, D(pos_k), \quad pos_k = \sum_{j \le k} |s_j|, \quad
        D(pos) = \max\left(0, 1 - \frac{pos}{L}\right)

    A text gains where it ends; texts without gain move the offsets of those after them, and a text
    that ends beyond L gains nothing. A text that occurs again gains again, unless its gain is 0 in
    the input. U is not bounded by 1. Source: Sakai and Dou (2013).

    Parameters
    ----------
    gains
        Gain of each text, at least 0, in order of reading; shape (texts,).
    lengths
        Length of each text, such as in characters; shape (texts,).
    offsets
        Instead of lengths, the end of each text, which must not decrease; shape (texts,).
    limit
        L, in units of length: where the linear decay reaches 0, or the exponential one 1/2.
    decay
        `linear`, that of U-measure and S-measure; or `exponential`, :math:`D(pos) = 2^{-pos/L}`,
        that of time-biased gain, which takes the offsets where texts begin.
    norm
        N, such as the sum for an ideal trailtext.

    Raises
    ------
    MeasureError, PolicyError
        For lengths or gains that are negative, not finite, or of different number; for values that
        are not numbers.

    Examples
    --------
    >>> u_measure([0, 1, 3], lengths=[100, 50, 200], limit=1000)  # 1 * 0.85 + 3 * 0.65
    2.8...
    >>> u_measure([0, 1, 3], offsets=[100, 150, 350], limit=1000)
    2.8...

    S-measure of an answer with nuggets of weights 2 and 1, over U of the ideal text:

    >>> ideal = u_measure([2, 1], lengths=[30, 20], limit=500)
    >>> u_measure([1, 2], offsets=[40, 120], limit=500, norm=ideal)
    0.87...
    """
    check_choice("decay", decay, DECAYS)
    check_number("limit", limit, above=0)
    check_number("norm", norm, above=0)
    if (lengths is None) == (offsets is None):
        raise MeasureError("u_measure: expected either lengths or offsets")
    worth = _amounts("gains", gains)
    name = "lengths" if offsets is None else "offsets"
    amounts = _amounts(name, lengths if offsets is None else offsets)
    if amounts.size != worth.size:
        raise MeasureError(
            f"u_measure: expected a gain for each text, got {worth.size} gains and"
            f" {amounts.size} {name}"
        )
    ends = np.cumsum(amounts) if offsets is None else amounts
    if (np.diff(ends) < 0).any():
        raise MeasureError("u_measure: offsets must not decrease")
    read = ends / limit
    remaining = np.maximum(0.0, 1.0 - read) if decay == "linear" else np.exp2(-read)
    return float((worth * remaining).sum() / norm)


def _amounts(name: str, values: ArrayLike | None) -> Floats:
    amounts = numbers(values, f"u_measure: {name}")
    if amounts.ndim != 1 or not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise MeasureError(f"u_measure: {name} must be a list of finite numbers >= 0")
    return amounts


def score_trailtexts(
    trails: Any,
    *,
    limit: float,
    decay: Annotated[str, OneOf(DECAYS)] = "linear",
    norm: float = 1.0,
    name: str | None = None,
) -> Scores:
    """Score trailtexts of topics and systems by the U-measure.

    Parameters
    ----------
    trails
        A table in order of reading, with the columns `topic`, `length` and `gain`, and perhaps
        `system`: a file, a data frame, or rows of them. A row is a text that was read.
    limit, decay, norm
        As for :func:`u_measure`.
    name
        The system, where there is no such column; by default the name of the file.

    Returns
    -------
    Scores
        Under the name `U(L=...)`, as input of :func:`cranfield.compare`.

    Raises
    ------
    InputError
        Naming file, line and reason, for a length or a gain that is missing or negative.

    Warns
    -----
    CranfieldWarning
        For systems without a text for a topic of others, which score 0 there.

    Examples
    --------
    >>> rows = [("q1", 100, 0), ("q1", 50, 1), ("q1", 200, 3), ("q2", 400, 1)]
    >>> scores = score_trailtexts(rows, limit=1000, name="snippets")
    >>> scores.measure, scores.values.tolist()
    ('U(L=1000)', [[2.8...], [0.6]])
    """
    check_choice("decay", decay, DECAYS)
    check_number("limit", limit, above=0)
    check_number("norm", norm, above=0)
    table = read_table(trails, _TRAILTEXTS)
    check_systems(table)
    check_name_used(name, bool(table.frame["system"].is_null().all()))
    rows = table.frame.with_columns(system=table.frame["system"].fill_null(name or stem_of(trails)))
    topics, systems = (tuple(rows[name].unique(maintain_order=True)) for name in _KEYS)
    values = np.zeros((len(topics), len(systems)))
    read: set[tuple[int, int]] = set()
    for (topic, system), texts in rows.group_by(_KEYS):
        cell = topics.index(topic), systems.index(system)
        read.add(cell)
        lengths, gains = texts["length"], texts["gain"]
        values[cell] = u_measure(gains, lengths=lengths, limit=limit, decay=decay, norm=norm)
    warn_missing(read, topics, systems)
    options = "" if decay == "linear" else f", decay={decay}"
    options += "" if norm == 1 else f", N={norm:g}"
    return Scores(values, topics, systems, measure=f"U(L={limit:.15g}{options})")
