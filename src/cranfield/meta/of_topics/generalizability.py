"""Generalizability theory: how much of the variance of scores is due to the systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.meta.of_topics.topic_samples import topic_scores
from cranfield.meta.of_topics.variance_components import Generalizability
from cranfield.meta.work.options import Proportion, check_options
from cranfield.significance.models.anova import two_way
from cranfield.significance.pairs import ROUNDING

SOURCES = ("system", "topic", "system:topic")
"""What scores vary by; the interaction holds all other error too."""


def generalizability(
    scores: Any,
    *,
    confidence: Proportion = 0.95,
    missing: str | None = None,
    target: Proportion = 0.95,
) -> Generalizability:
    r"""Split the variance of scores, and say how far they generalise to other topics.

    Topics are taken as a random sample of all topics, and systems of all systems:

    .. math:: x_{ts} = \mu + \nu_s + \nu_t + \nu_{st}, \quad
        \hat\sigma^2_{st} = MS_{st}, \quad
        \hat\sigma^2_s = \frac{MS_s - MS_{st}}{n}, \quad
        \hat\sigma^2_t = \frac{MS_t - MS_{st}}{m}

    with n topics and m systems, and the mean squares of two-way analysis of variance.

    Parameters
    ----------
    scores
        :class:`Scores` of one measure, or what :func:`cranfield.compare` takes; two systems and
        two topics at least.
    confidence, target
        Level of the limits, and coefficient whose number of topics is shown; between 0 and 1.
    missing
        What to do where a system has no score for a topic: `error`, which is the default; `drop`
        leaves such topics out; `zero` counts 0.

    Returns
    -------
    Generalizability
        With the variance components, the coefficients by number of topics, and the number of
        topics that reaches a coefficient.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite, too few, or all equal.
    PolicyError
        For an option out of its range, or scores by shard.

    Notes
    -----
    Brennan (2001), Generalizability theory, chapters 2 and 6; for test collections Bodoff and Li
    (2007), Kanoulas and Aslam (2009), and Urbano, Marrero and Martín (2013). A negative estimate is
    taken as 0 and noted; where the topic variance is, the dependability is the relative
    coefficient.

    With :math:`r = \sigma^2_s / \sigma^2_{st}`, the limits of the relative coefficient follow from
    those of r, which are exact for normal effects (Feldt 1965),

    .. math:: r_{1-\alpha} = \frac{1}{n} \left( \frac{MS_s}{MS_{st} F_{\alpha}} - 1 \right), \quad
        F_{\alpha} = F_{\alpha; m-1, (m-1)(n-1)}

    and those of the dependability from the limits of
    :math:`\sigma^2_s / (\sigma^2_t + \sigma^2_{st})` by Arteaga, Jeyaratnam and Franklin (1982),

    .. math:: \frac{m}{n} \cdot
        \frac{MS_s^2 - F' MS_s MS_{st} + (F' - F_{\alpha}) F_{\alpha} MS_{st}^2}
        {(m-1) F' MS_s MS_{st} + F'' MS_s MS_t}, \quad
        F' = F_{\alpha; m-1, \infty}, \quad F'' = F_{\alpha; m-1, n-1}

    where F with index alpha is exceeded with probability alpha: half of 1 - `confidence` for the
    lower limit, and 1 minus that half for the upper one. A limit is 0 where
    :math:`MS_s \le F_{\alpha} MS_{st}`.

    The coefficients tell of these systems and their like: systems that are far off, such as runs
    with errors, raise all of them. Studies often leave out the lowest quarter.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, "nDCG@20")
    >>> found = generalizability(ev["nDCG@20"])
    >>> round(found.relative(50).value, 3), round(found.absolute(50).value, 3)
    (0.989, 0.973)
    >>> found.topics_for(0.95)
    TopicsFor(target=0.95, topics=11, low=7, high=17)
    """
    check_options(generalizability, locals())
    ready = topic_scores(scores, missing)
    squares, df = mean_squares(ready.flat)
    topics, systems = ready.flat.shape
    error = squares[2]
    estimates = np.array([(squares[0] - error) / topics, (squares[1] - error) / systems, error])
    # A difference of mean squares by rounding only is none.
    estimates[np.abs(estimates) <= ROUNDING * squares.max()] = 0.0
    variances = np.maximum(estimates, 0.0)
    if not variances.any():
        raise CranfieldError("all scores are equal: there is no variance to split")
    negative = tuple(
        f"the estimated variance of {source}s, {estimate:.3g}, is negative and taken as 0"
        for source, estimate in zip(SOURCES, estimates, strict=True)
        if estimate < 0
    )
    if not variances[[0, 2]].any():
        negative += ("systems do not vary at all: how well their order holds is not defined",)
    return Generalizability(
        measure=ready.scores.measure,
        systems=systems,
        topics=topics,
        confidence=float(confidence),
        components=pl.DataFrame(
            {
                "source": SOURCES,
                "df": df,
                "mean square": squares,
                "variance": variances,
                "share": variances / variances.sum(),
                "estimate": estimates,
            }
        ),
        notes=(*ready.notes, *negative),
        target=float(target),
    )


def mean_squares(values: Floats) -> tuple[Floats, Floats]:
    """Return mean squares and degrees of freedom of systems, topics and their interaction."""
    table, _ = two_way(values)
    sources = [table.sources.index(one) for one in ("System", "Topic", "Error")]
    return table.ms[sources], table.df[sources]
