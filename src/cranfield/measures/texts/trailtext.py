"""The U-measure of a trailtext, the concatenation of all texts that a user has read.

A trailtext may consist of snippets, documents, sessions, conversations or summaries. The measure
`U` scores the trailtext of a ranked list, and `ClickU` that of the clicks of a session. The
S-measure is U of the nuggets of an answer, divided by U of the pseudo minimal output.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, as_numbers, check_choice, check_number
from cranfield.base.kinds import OneOf
from cranfield.scores import Scores
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import FileColumn, Schema, declare_optional
from cranfield.sources.values import LABEL
from cranfield.texts.gold import AMOUNT, TOPIC, name_systems, warn_of_missing_answers

DECAYS = ("linear", "exponential")
"""Names of the functions by which gains decay with the amount of text read."""

# Unlike in other tables of texts, every row must have a length and a gain.
_AMOUNT = replace(AMOUNT, becomes_null=lambda cell: False)

_TRAILTEXTS = Schema(
    "table of trailtexts",
    (
        TOPIC,
        FileColumn("length", _AMOUNT),
        FileColumn("gain", _AMOUNT),
        declare_optional("system", LABEL),
    ),
    noun="trailtexts",
    default_format="csv",
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

    The gain of a text is discounted at its end; texts without gain only shift the offsets of later
    texts, and with the linear decay a text that ends beyond L adds nothing. A repeated text counts
    again, unless its gain in the input is 0. U is not bounded by 1. Source: Sakai and Dou (2013).

    Parameters
    ----------
    gains
        Gain of each text, at least 0, in order of reading; shape (texts,).
    lengths
        Length of each text, for example in characters; shape (texts,).
    offsets
        Instead of lengths, the end of each text, in nondecreasing order; shape (texts,).
    limit
        L, in units of length: where the linear decay reaches 0, or the exponential decay 1/2.
    decay
        `linear`, as in U-measure and S-measure; or `exponential`, :math:`D(pos) = 2^{-pos/L}`, as
        in time-biased gain, whose offsets are the starts of texts.
    norm
        Divisor N, such as U of an ideal trailtext.

    Raises
    ------
    MeasureError, PolicyError
        For gains, lengths or offsets that are not numbers, negative, not finite, or not equal in
        number; for both or neither of lengths and offsets, offsets that decrease, or an invalid
        parameter.

    Examples
    --------
    >>> u_measure([0, 1, 3], lengths=[100, 50, 200], limit=1000)  # 1 * 0.85 + 3 * 0.65
    2.8...
    >>> u_measure([0, 1, 3], offsets=[100, 150, 350], limit=1000)
    2.8...

    S-measure of an answer with nuggets of weights 1 and 2, as U divided by that of the ideal text:

    >>> ideal = u_measure([2, 1], lengths=[30, 20], limit=500)
    >>> u_measure([1, 2], offsets=[40, 120], limit=500, norm=ideal)
    0.87...
    """
    check_choice("decay", decay, DECAYS)
    check_number("limit", limit, above=0)
    check_number("norm", norm, above=0)
    if (lengths is None) == (offsets is None):
        both_or_neither = "neither" if lengths is None else "both"
        raise MeasureError(f"u_measure: expected either lengths or offsets, got {both_or_neither}")
    gain = _check_amounts("gains", gains)
    name, values = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    amounts = _check_amounts(name, values)
    if amounts.size != gain.size:
        raise MeasureError(
            f"u_measure: expected a gain for each text, got {gain.size} gains and"
            f" {amounts.size} {name}"
        )
    ends = np.cumsum(amounts) if offsets is None else amounts
    if (np.diff(ends) < 0).any():
        raise MeasureError(f"u_measure: offsets must not decrease, got {amounts.tolist()!r:.60}")
    position = ends / limit
    discount = np.maximum(0.0, 1.0 - position) if decay == "linear" else np.exp2(-position)
    return float((gain * discount).sum() / norm)


def _check_amounts(name: str, values: ArrayLike | None) -> Floats:
    amounts = as_numbers(values, f"u_measure: {name}")
    if amounts.ndim != 1 or not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise MeasureError(
            f"u_measure: {name} must be a list of finite numbers >= 0, got {amounts.tolist()!r:.60}"
        )
    return amounts


def score_trailtexts(
    trails: Any,
    *,
    limit: float,
    decay: Annotated[str, OneOf(DECAYS)] = "linear",
    norm: float = 1.0,
    name: str | None = None,
) -> Scores:
    """Compute the U-measure of the trailtext of each topic and system.

    Parameters
    ----------
    trails
        A table in order of reading, with the columns `topic`, `length`, `gain` and optionally
        `system`: a file, a data frame, or a list of rows. Each row is a text that was read.
    limit, decay, norm
        As for :func:`u_measure`.
    name
        Name of the system, if there is no column `system`; by default the name of the file
        without its suffix, or `run` for other inputs.

    Returns
    -------
    Scores
        Scores of the measure `U(L=...)`, for example as input of :func:`cranfield.compare`.

    Raises
    ------
    InputError
        For a length or a gain that is missing, negative or not a number, with file and line.
    PolicyError
        For an invalid parameter.

    Warns
    -----
    CranfieldWarning
        For systems that lack a topic of other systems, on which they score 0.

    Examples
    --------
    >>> rows = [("q1", 100, 0), ("q1", 50, 1), ("q1", 200, 3), ("q2", 400, 1)]
    >>> scores = score_trailtexts(rows, limit=1000, name="snippets")
    >>> scores.measure, scores.values.tolist()
    ('U(L=1000)', [[2.8...], [0.6]])
    """
    rows = name_systems(read_table(trails, _TRAILTEXTS), name, trails).frame
    keys = ("topic", "system")
    topics, systems = (tuple(rows[key].unique(maintain_order=True)) for key in keys)
    values = np.zeros((len(topics), len(systems)))
    is_answered = np.zeros(values.shape, dtype=bool)
    for (topic, system), texts in rows.group_by(keys):
        cell = topics.index(topic), systems.index(system)
        is_answered[cell] = True
        lengths, gains = texts["length"], texts["gain"]
        values[cell] = u_measure(gains, lengths=lengths, limit=limit, decay=decay, norm=norm)
    warn_of_missing_answers(is_answered, topics, systems)
    settings = [f"L={limit:.15g}"] + [f"decay={decay}"] * (decay != "linear")
    settings += [f"N={norm:g}"] * (norm != 1)
    return Scores(values, topics, systems, measure=f"U({', '.join(settings)})")
