"""Transformed scores: the arcsine of the square root, and standardisation topic by topic.

Each function takes :class:`Scores` and returns others with the same topics and systems.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, check_choice, check_number, quoted
from cranfield.base.scale_types import Scale
from cranfield.base.text import counted
from cranfield.scores import Scores
from cranfield.scores.one_measure import first_missing_label
from cranfield.significance.differences import ROUNDING

METHODS = ("z", "normal", "linear", "empirical")  # ways to standardise scores


def arcsine(scores: Scores) -> Scores:
    r"""Take the arcsine of the square root of each score.

    It makes the variance of proportions nearly the same whatever their mean. Tague-Sutcliffe and
    Blustein found few differences between the analyses of raw and of transformed scores.

    .. math:: y = \arcsin \sqrt{x}, \quad 0 \le y \le \pi / 2

    Source: Tague-Sutcliffe and Blustein (1994); Ferro and Maistro (2024), section 4.2.5.

    Parameters
    ----------
    scores
        Between 0 and 1, shape (topics, systems) or (topics, systems, shards); NaN stays NaN.

    Returns
    -------
    Scores
        In radians, to be averaged by their mean. The scale is ordinal at most: the transformation
        keeps the order of scores, not the ratios of their differences.

    Raises
    ------
    CranfieldError
        For a score outside 0 to 1.

    Examples
    --------
    >>> raw = Scores([[0.25], [1.0]], topics=["q1", "q2"], systems=["a"], measure="AP")
    >>> scores = arcsine(raw)
    >>> scores.measure, scores.values.round(4).tolist()
    ('arcsine(AP)', [[0.5236], [1.5708]])
    """
    values = scores.values
    # A measure may pass its bounds by rounding.
    invalid = np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING))
    if invalid.size:
        raise CranfieldError(
            f"{scores.cell(invalid[0])} has {values[tuple(invalid[0])]:g}:"
            " the arcsine transformation requires scores from 0 to 1"
        )
    return _transformed(
        scores,
        np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0))),
        "arcsine",
        _at_most(Scale.ORDINAL, scores),
        {"transformation": "arcsine"},
    )


def standardise(
    scores: Scores,
    reference: Scores | None = None,
    *,
    method: str = "z",
    slope: float = 0.15,
    centre: float = 0.5,
) -> Scores:
    r"""Express each score relative to the scores of reference systems on its topic.

    Topics differ in how hard they are and in how far they spread the systems. Standardised scores
    differ in neither, so that scores on different topics can be compared.

    .. math:: z_{ts} = \frac{x_{ts} - \bar{r}_t}{\mathrm{sd}(r_t)}

    Source: `z` and `normal`: Webber, Moffat and Zobel (2008); `linear`: Sakai (2016); `empirical`:
    Urbano, Lima and Hanjalic (2019a), who call `normal` N-std, `linear` U-std and `empirical`
    E-std.

    Parameters
    ----------
    scores
        Shape (topics, systems); NaN stays NaN.
    reference
        Scores of the reference systems by the same measure on the same topics, in any order; by
        default `scores` themselves. NaN is excluded.
    method
        `z`: the formula above, with the sample standard deviation, divisor n - 1; any real number.
        `normal`: Phi(z), between 0 and 1. `linear`: `slope` z + `centre`, cut to 0 to 1.
        `empirical`: the proportion of reference scores that are not above the score, between 0 and
        1.
    slope, centre
        Parameters of the method `linear`; Sakai's are 0.15 and 0.5.

    Returns
    -------
    Scores
        To be averaged by their mean. On a topic where all reference scores are equal z is 0,
        whatever the score. `settings["standardisation"]` records the method, the number of
        reference systems, those constant topics, and how many scores `linear` cut. The scale of
        `z`, `normal` and `linear` is interval at most, and that of the scores if it is lower: no
        change of unit or zero, on any topic, changes them. Proportions of systems, `empirical`, are
        an interval scale whatever the scores: no increasing function of a topic's scores changes
        them.

    Raises
    ------
    PolicyError
        For an unknown method, a slope that is not positive, or scores by shard.
    CranfieldError
        For infinite scores, a reference with other topics or another measure, or a topic with too
        few reference scores: one for `empirical`, two for the others.

    Examples
    --------
    >>> raw = Scores([[0.1, 0.3], [0.2, 1.0]], topics=["q1", "q2"], systems=["a", "b"])
    >>> standardise(raw).values.round(4).tolist()
    [[-0.7071, 0.7071], [-0.7071, 0.7071]]
    >>> standardise(raw, method="linear").values.round(4).tolist()
    [[0.3939, 0.6061], [0.3939, 0.6061]]
    """
    check_choice("method", method, METHODS)
    check_number("slope", slope, above=0)
    check_number("centre", centre)
    values = _flat(scores)
    reference_values = values if reference is None else _aligned(scores, reference)
    min_scores = 1 if method == "empirical" else 2
    counts = (~np.isnan(reference_values)).sum(axis=1)
    too_few = np.flatnonzero((counts < min_scores) & ~np.isnan(scores.values).all(axis=1))
    if too_few.size:
        raise CranfieldError(
            f"topic {quoted(scores.topics[too_few[0]])} has"
            f" {counted(int(counts[too_few[0]]), 'reference score')};"
            f" this method requires at least {min_scores}"
        )
    largest = np.nanmax(np.abs(reference_values), axis=1, initial=0.0)
    high = np.nanmax(reference_values, axis=1, initial=-np.inf)
    low = np.nanmin(reference_values, axis=1, initial=np.inf)
    constant = high - low <= ROUNDING * largest
    systems = reference_values.shape[1]
    details: dict[str, Any] = {
        "method": method,
        "reference systems": systems,
        "constant topics": [scores.topics[t] for t in np.flatnonzero(constant)],
    }
    # Proportions of systems are invariant under increasing functions of a topic's scores, z and
    # its transformations under positive affine ones.
    by_rank = method == "empirical"
    scale = Scale.INTERVAL if by_rank else _at_most(Scale.INTERVAL, scores)
    result = (
        _empirical(values, reference_values) if by_rank else _z(values, reference_values, constant)
    )
    if method == "normal":
        result = ndtr(result)
    elif method == "linear":
        linear = slope * result + centre
        result = np.clip(linear, 0.0, 1.0)
        n_cut = int((result != linear).sum() - np.isnan(linear).sum())
        details |= {"slope": slope, "centre": centre, "cut": n_cut}
    return _transformed(scores, result, "standardised", scale, {"standardisation": details}, method)


def _z(values: Floats, reference_values: Floats, constant: Any) -> Floats:
    """Standardise by mean and sample standard deviation; 0 on constant topics."""
    counts = (~np.isnan(reference_values)).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = np.nansum(reference_values, axis=1, keepdims=True) / counts
        squares = np.nansum((reference_values - means) ** 2, axis=1, keepdims=True)
        z = (values - means) / np.sqrt(squares / (counts - 1))
    # Times 0, so that NaN stays NaN.
    return np.asarray(np.where(constant[:, None], values * 0.0, z))


def _empirical(values: Floats, reference_values: Floats) -> Floats:
    """Return the proportion of reference scores that are at most as high, within rounding."""
    proportions = np.full_like(values, np.nan)
    for row, (of_topic, reference) in enumerate(zip(values, reference_values, strict=True)):
        ascending = np.sort(reference[~np.isnan(reference)])
        has_score = ~np.isnan(of_topic)
        if has_score.any():
            slack = ROUNDING * np.abs(ascending).max()
            below = np.searchsorted(ascending, of_topic[has_score] + slack, side="right")
            proportions[row, has_score] = below / ascending.size
    return proportions


def _aligned(scores: Scores, reference: Scores) -> Floats:
    """Return the reference scores in the order of the topics of the scores."""
    _flat(reference)
    if scores.measure and reference.measure and scores.measure != reference.measure:
        raise CranfieldError(
            f"scores of {quoted(scores.measure)} cannot be standardised by a reference of"
            f" {quoted(reference.measure)}"
        )
    if (topic := first_missing_label(scores.topics, reference.topics)) is not None:
        raise CranfieldError(f"the reference lacks topic {quoted(topic)}")
    if (topic := first_missing_label(reference.topics, scores.topics)) is not None:
        raise CranfieldError(f"topic {quoted(topic)} of the reference is not among the scores")
    return reference.select(scores.topics).values


def _flat(scores: Scores) -> Floats:
    return scores.finite().flat("scores by shard cannot be standardised")


def _at_most(scale: Scale, scores: Scores) -> Scale | None:
    """Return the scale of transformed scores; not interval if steps depend on sizes of sets."""
    if scores.scale is None:
        return None
    is_ordinal = getattr(scores.definition, "needs_one_size", False)
    return min(scores.scale, Scale.ORDINAL if is_ordinal else scale)


def _transformed(
    scores: Scores,
    values: Floats,
    name: str,
    scale: Scale | None,
    settings: dict[str, Any],
    *parameters: str,
) -> Scores:
    return replace(
        scores,
        values=values,
        measure=f"{name}({', '.join([scores.measure or 'scores', *parameters])})",
        definition=None,
        # A geometric mean or a sum applies to the raw scores only.
        aggregate="mean",
        settings={**scores.settings, **settings},
        scale=scale,
        scale_source="measure" if scale is not None else "",
    )
