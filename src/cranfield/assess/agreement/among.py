"""The agreement of assessors: all of them, each two, or each with one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cranfield.assess.agreement.coefficients import Coefficient, coefficients
from cranfield.assess.agreement.intervals import (
    limits,
    remarks,
    with_drawn_topics,
    without_each_topic,
)
from cranfield.assess.agreement.labelled import labelled
from cranfield.assess.agreement.result import Agreement
from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Floats
from cranfield.base.border.given import Labels
from cranfield.base.checks import check_choice, check_share, check_whole
from cranfield.base.errors import CranfieldError

INTERVALS = ("jackknife", "bootstrap", "none")


def agreement_of(
    given: Any,
    measures: str | Coefficient | Iterable[str | Coefficient] | None = None,
    *,
    pairs: bool = False,
    against: str | None = None,
    rel: int | None = None,
    grades: Iterable[Any] | None = None,
    topics: Labels = None,
    names: Labels = None,
    axis: int | None = None,
    interval: str = "jackknife",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Agreement:
    r"""How far assessors agree on the same units, with intervals over topics.

    Parameters
    ----------
    given
        :class:`Labels`, or anything that :func:`read_labels` reads, such as a dict of judgments by
        the assessor's name; or ratings, NaN where there is none: an array with `axis` or `names`,
        or a data frame with a row for each unit and a column of numbers for each assessor.
    measures
        Text forms of coefficients: `observed`, `positive`, `negative`, `overlap`, `kappa` (two
        assessors), `fleiss`, `alpha`, `AC1`, `AC2`. In brackets a distance (`nominal`, `linear`,
        `quadratic` or `interval`, `ordinal`, `ratio`), and `rel=` and a grade where all grades are
        cut in two: `kappa(quadratic)`, `alpha(nominal)`, `kappa(rel=2)`. By default observed
        agreement, kappa (of more than two Fleiss'), ordinal alpha and AC1.
    pairs
        Whether to compare each two assessors that share a unit, instead of all at once.
    against
        Compare each assessor with this one only.
    rel
        Cut grades at this one, for all measures that do not say where.
    grades
        The scale, where not all of its grades occur: AC1 and AC2 depend on it.
    topics, names
        With ratings: the topic of each unit. With an array: the names of the assessors.
    axis
        With an array: which axis are the assessors. 0 if each row is one, as in the package
        `krippendorff`; 1 if each column is one. It is required, unless `names` are as many as the
        rows or the columns, and there are not as many rows as columns.
    interval
        `jackknife`: t intervals from the values without each topic, on the scale of
        :math:`\ln(1 - \theta)`, cut at -1; of shares, of their log odds. `bootstrap`: percentiles
        with topics drawn. `none`.
    confidence
        Of the intervals.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        For labels that cannot be read.
    PolicyError
        For unknown measures, distances, intervals or assessors.
    CranfieldError
        For a single assessor, or tables too large.

    Notes
    -----
    Counts are summed over the topics, so a topic with many units weighs more. Topics are taken as
    drawn at random; units of one topic may depend on each other in any way. Where a worker has
    several labels of a unit, the last counts, which is noted. Of two assessors compared as a pair,
    only units count that both judged.

    Examples
    --------
    >>> first = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> other = {"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}}
    >>> print(agreement_of({"ann": first, "bob": other}, ["observed", "kappa"], interval="none"))
    Agreement over 2 topics
    <BLANKLINE>
    assessors  units  topics  observed   kappa
    ann, bob       6       2    0.8333  0.6667
    """
    check_choice("interval", interval, INTERVALS)
    check_share("confidence", confidence)
    check_whole("resamples", resamples, 1)
    check_whole("seed", seed, 0)
    found = labelled(given, topics=topics, grades=grades, names=names, axis=axis)
    if len(found.assessors) < 2:
        raise CranfieldError("agreement is of two assessors or more; there is one")
    by_pair = pairs or against is not None
    asked = coefficients(measures, rel, by_pair or len(found.assessors) == 2)
    who: list[tuple[str, ...]] = [found.assessors]
    if by_pair:
        couples, tables = found.by_pair(against)
        who = [*couples]
    else:
        tables = found.together()

    def law(sums: Tables) -> Floats:
        return np.stack([one.of(sums) for one in asked], axis=-1)

    value = law(tables.total())
    has = tables.units.sum(axis=(-2, -1)) > 0
    replicates = np.empty((0, *value.shape))
    if interval == "jackknife":
        replicates = without_each_topic(tables, law)
    elif interval == "bootstrap":
        replicates = with_drawn_topics(tables, law, resamples, seed)
    least = np.array([one.declared.least for one in asked])
    low, high = limits(
        value, replicates, has, interval, confidence, bounded=True, shares=least == 0
    )
    if interval == "jackknife":
        # Where labels lack, a coefficient may itself be below its bound.
        low = np.where(value < least, low, np.maximum(low, least))
    drawn = interval == "bootstrap"
    total = tables.units.sum(axis=(0, -2, -1))
    notes = remarks(value, low, replicates, has, interval)
    return Agreement(
        measures=tuple(map(str, asked)),
        comparisons=tuple(who),
        value=value,
        low=low,
        high=high,
        units=np.rint(total).astype(np.int64),
        topics=has.sum(axis=0),
        interval=interval,
        confidence=confidence,
        resamples=resamples if drawn else None,
        seed=seed if drawn else None,
        replicates=replicates,
        topic_names=found.topics,
        has=has,
        notes=(*found.notes, *notes),
        paired=by_pair,
    )
