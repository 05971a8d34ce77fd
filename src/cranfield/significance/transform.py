"""Transformed scores: the arcsine of the square root, and standardisation topic by topic.

Each function takes :class:`Scores` and returns new scores of the same topics and systems.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtr

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, quote
from cranfield.base.kinds import OneOf, Positive, RealNumber, check_arguments
from cranfield.base.scale_types import Scale
from cranfield.base.text import inflect
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_missing_label
from cranfield.significance.differences import ROUNDING

METHODS = ("z", "normal", "linear", "empirical")  # ways to standardise scores


def arcsine(scores: Scores) -> Scores:
    r"""Take the arcsine of the square root of each score.

    The variance of transformed proportions hardly depends on their mean. Tague-Sutcliffe and
    Blustein found few differences between analyses of raw and of transformed scores.

    .. math:: y = \arcsin \sqrt{x}, \quad 0 \le y \le \pi / 2

    Source: Tague-Sutcliffe and Blustein (1994); Ferro and Maistro (2024), section 4.2.5.

    Parameters
    ----------
    scores
        Scores from 0 to 1, shape (topics, systems) or (topics, systems, shards); NaN remains NaN.

    Returns
    -------
    Scores
        Scores in radians, aggregated by the mean. The scale is at most ordinal: the transformation
        preserves the order of scores, but not the ratios of their differences.

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
    # Rounding may move a score beyond its bounds.
    invalid_cells = np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING))
    if invalid_cells.size:
        raise CranfieldError(
            "the arcsine transformation requires scores from 0 to 1, got"
            f" {values[tuple(invalid_cells[0])]:g} for {scores.describe_cell(invalid_cells[0])}"
        )
    result = np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0)))
    scale = _limit_scale(Scale.ORDINAL, scores)
    return _replace_values(scores, result, "arcsine", scale, {"transformation": "arcsine"})


def standardise(
    scores: Scores,
    reference: Scores | None = None,
    *,
    method: Annotated[str, OneOf(METHODS)] = "z",
    slope: Positive = 0.15,
    centre: Annotated[float, RealNumber()] = 0.5,
) -> Scores:
    r"""Standardise the scores of each topic by the scores of reference systems on the topic.

    Topics differ in difficulty, and in the variance of the scores of systems. Standardisation
    removes both differences, so that scores on different topics can be compared.

    .. math:: z_{ts} = \frac{x_{ts} - \bar{r}_t}{\mathrm{sd}(r_t)}

    Sources: Webber, Moffat and Zobel (2008) for `z` and `normal`; Sakai (2016) for `linear`;
    Urbano, Lima and Hanjalic (2019a) for `empirical`, who name `normal` N-std, `linear` U-std and
    `empirical` E-std.

    Parameters
    ----------
    scores
        Scores of shape (topics, systems); NaN remains NaN.
    reference
        Scores of the reference systems by the same measure on the same topics, in any order; by
        default `scores` themselves. NaN is excluded.
    method
        `z`: the formula above, with the sample standard deviation (divisor n - 1). `normal`:
        Phi(z), from 0 to 1. `linear`: `slope` z + `centre`, clipped to 0 to 1. `empirical`: the
        proportion of reference scores that are at most the score, from 0 to 1.
    slope, centre
        Parameters of the method `linear`; Sakai's are 0.15 and 0.5.

    Returns
    -------
    Scores
        Standardised scores, aggregated by the mean. If all reference scores of a topic are equal,
        the z-scores of this topic are 0. `settings["standardisation"]` has the method, the number
        of reference systems, the topics with equal reference scores, and the number of scores that
        `linear` clipped. The scale of `z`, `normal` and `linear` is the scale of the scores, but at
        most interval, as they do not depend on the unit and the zero of a topic, and ordinal if the
        scores are interval only among retrieved sets of one size. `empirical` scores have an
        interval scale, as they depend only on the order of the scores of a topic.

    Raises
    ------
    PolicyError
        For an unknown method, a slope that is not positive, or scores by shard.
    CranfieldError
        For infinite scores, a reference with other topics or another measure, or a topic with too
        few reference scores: `empirical` requires one, the other methods two.

    Examples
    --------
    >>> raw = Scores([[0.1, 0.3], [0.2, 1.0]], topics=["q1", "q2"], systems=["a", "b"])
    >>> standardise(raw).values.round(4).tolist()
    [[-0.7071, 0.7071], [-0.7071, 0.7071]]
    >>> standardise(raw, method="linear").values.round(4).tolist()
    [[0.3939, 0.6061], [0.3939, 0.6061]]
    """
    check_arguments(standardise, locals())
    values = _check_scores(scores)
    reference_values = values if reference is None else _align_reference(scores, reference)
    min_scores = 1 if method == "empirical" else 2
    counts = (~np.isnan(reference_values)).sum(axis=1)
    invalid_topics = np.flatnonzero((counts < min_scores) & ~np.isnan(scores.values).all(axis=1))
    if invalid_topics.size:
        raise CranfieldError(
            f"method {quote(method)} requires at least"
            f" {inflect(min_scores, 'reference score')} per topic, got"
            f" {counts[invalid_topics[0]]} for topic {quote(scores.topics[invalid_topics[0]])}"
        )
    largest_scores = np.nanmax(np.abs(reference_values), axis=1, initial=0.0)
    high = np.nanmax(reference_values, axis=1, initial=-np.inf)
    low = np.nanmin(reference_values, axis=1, initial=np.inf)
    is_constant = high - low <= ROUNDING * largest_scores
    details: dict[str, Any] = {
        "method": method,
        "reference systems": reference_values.shape[1],
        "constant topics": [scores.topics[t] for t in np.flatnonzero(is_constant)],
    }
    # Proportions of systems are invariant under increasing functions of the scores of a topic; z
    # and its transformations are invariant under positive affine functions.
    scale = Scale.INTERVAL if method == "empirical" else _limit_scale(Scale.INTERVAL, scores)
    if method == "empirical":
        result = _compute_proportions(values, reference_values)
    else:
        result = _compute_z_scores(values, reference_values, is_constant)
    if method == "normal":
        result = ndtr(result)
    elif method == "linear":
        linear_scores = slope * result + centre
        result = np.clip(linear_scores, 0.0, 1.0)
        n_clipped = int((result != linear_scores).sum() - np.isnan(linear_scores).sum())
        details |= {"slope": slope, "centre": centre, "clipped": n_clipped}
    settings = {"standardisation": details}
    return _replace_values(scores, result, "standardised", scale, settings, method)


def _compute_z_scores(values: Floats, reference_values: Floats, is_constant: Bools) -> Floats:
    """Standardise by mean and sample standard deviation; 0 on constant topics."""
    counts = (~np.isnan(reference_values)).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = np.nansum(reference_values, axis=1, keepdims=True) / counts
        sums_of_squares = np.nansum((reference_values - means) ** 2, axis=1, keepdims=True)
        z = (values - means) / np.sqrt(sums_of_squares / (counts - 1))
    # Multiplied by 0, so that NaN remains NaN.
    return np.asarray(np.where(is_constant[:, None], values * 0.0, z))


def _compute_proportions(values: Floats, reference_values: Floats) -> Floats:
    """Return the proportion of reference scores that are at most each score, within rounding."""
    proportions = np.full_like(values, np.nan)
    for row, (topic_scores, reference) in enumerate(zip(values, reference_values, strict=True)):
        ascending_scores = np.sort(reference[~np.isnan(reference)])
        has_score = ~np.isnan(topic_scores)
        if has_score.any():
            slack = ROUNDING * np.abs(ascending_scores).max()
            ranks = np.searchsorted(ascending_scores, topic_scores[has_score] + slack, side="right")
            proportions[row, has_score] = ranks / ascending_scores.size
    return proportions


def _align_reference(scores: Scores, reference: Scores) -> Floats:
    """Return the reference scores in the order of the topics of the scores."""
    _check_scores(reference)
    if scores.measure and reference.measure and scores.measure != reference.measure:
        raise CranfieldError(
            f"scores of {quote(scores.measure)} cannot be standardised by a reference of"
            f" {quote(reference.measure)}"
        )
    if (topic := find_missing_label(scores.topics, reference.topics)) is not None:
        raise CranfieldError(f"the reference scores lack topic {quote(topic)}")
    if (topic := find_missing_label(reference.topics, scores.topics)) is not None:
        raise CranfieldError(f"the scores lack topic {quote(topic)} of the reference")
    return reference.select(scores.topics).values


def _check_scores(scores: Scores) -> Floats:
    return scores.check_finite().require_two_axes("scores by shard cannot be standardised")


def _limit_scale(scale: Scale, scores: Scores) -> Scale | None:
    # Scores that are interval only among retrieved sets of one size become ordinal.
    is_ordinal = getattr(scores.definition, "needs_one_size", False)
    limit = Scale.ORDINAL if is_ordinal else scale
    return None if scores.scale is None else min(scores.scale, limit)


def _replace_values(
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
