"""What each scale allows: statistics and significance tests.

A scale admits transformations: nominal ones any one-to-one function, ordinal ones any increasing
one, interval ones any positive affine one, ratio ones any multiple by a positive number (Ferrante,
Ferro and Fuhr, 2021, section 2.2; Ferro and Maistro, 2024, section 7.3). Stevens' prescriptions are
data here, for other parts to ask. They are one side of a long debate, which the same report in
sections 2.3, 7.4 and 7.6; nothing in this module forbids anything.

Where the sources differ:

- Ferrante and others (2021) list rank-order correlation under the interval scale in their
  introduction, as Stevens (1946) did. Kendall's tau and Spearman's rho are functions of the order
  alone, and no increasing transformation changes them; they are ordinal here, as in today's books.
- The signed rank test ranks differences, and so needs an interval scale for all that it is called
  nonparametric (section 2.5 there). The rank sum test is ordinal; that section calls its samples
  paired, and they are independent.
- Tests that no paper places (randomisation, bootstrap) compare means, and need what means need.
"""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.words import did_you_mean
from cranfield.significance.tests.catalogue import TESTS
from cranfield.significance.tests.declaration import TestInfo


@dataclass(frozen=True)
class Statistic:
    """A statistic, and the least scale on which statements of it are invariant."""

    name: str
    scale: Scale
    aliases: tuple[str, ...]


STATISTICS: dict[str, Statistic] = {
    name: Statistic(name, scale, aliases)
    for scale, names in {
        # They count equal values.
        Scale.NOMINAL: {"mode": (), "frequency": ("count", "counts")},
        # They compare values, in pairs or by their ranks.
        Scale.ORDINAL: {
            "median": (),
            "percentile": ("percentiles",),
            "quantile": ("quantiles", "quartile", "quartiles"),
            "minimum": ("min",),
            "maximum": ("max",),
            "rank-correlation": (
                "kendall",
                "kendall-tau",
                "tau",
                "spearman",
                "spearman-rho",
                "tau-ap",
            ),
        },
        # They add and subtract values, or are made of means and standard deviations.
        Scale.INTERVAL: {
            "difference": ("differences",),
            "mean": ("average", "arithmetic-mean", "map", "mrr"),
            "standard-deviation": ("sd", "std", "stdev"),
            "variance": ("var",),
            "confidence-interval": ("ci", "confidence-interval-of-the-mean"),
            "effect-size": ("cohen-d", "cohens-d", "hedges-g", "glass-delta"),
            "standardisation": ("standardization", "z-score", "zscore"),
            "pearson": ("pearson-correlation", "product-moment-correlation", "correlation"),
        },
        # They multiply or divide values.
        Scale.RATIO: {
            "geometric-mean": ("gmean", "gmap"),
            "harmonic-mean": ("hmean",),
            "coefficient-of-variation": ("cv",),
            "ratio": ("ratios", "percent-change", "relative-improvement", "relative-difference"),
        },
    }.items()
    for name, aliases in names.items()
}
"""Ferrante, Ferro and Fuhr (2021), section 2.3; Ferro and Maistro (2024), section 7.4. The last
sentence of each says which operations a scale allows; statistics that are not named there
(minimum, effect size, ratio, ...) are placed by it."""


def find_needed(what: str) -> Statistic | TestInfo:
    """Find a statistic or a significance test by any of its names."""
    names: dict[str, Statistic | TestInfo] = {}
    known: list[Statistic | TestInfo] = [*STATISTICS.values()]
    for one in [*known, *(test.info for test in TESTS.values())]:
        names |= dict.fromkeys((one.name, *one.aliases), one)
    wanted = "-".join(str(what).lower().replace("_", " ").replace("'", "").split())
    found = names.get(wanted, names.get(wanted.removesuffix("-test")))
    if found is None:
        listed = f"there are {', '.join([*STATISTICS, *TESTS])}"
        hint = did_you_mean(wanted, names, otherwise=listed)
        raise PolicyError(f"there is no statistic or test {quoted(what)}{hint}")
    return found


def needed_for(what: str) -> Scale:
    """Return the scale that a statistic or a significance test needs at least.

    Raises
    ------
    PolicyError
        For an unknown name.

    Examples
    --------
    >>> str(needed_for("median")), str(needed_for("t")), str(needed_for("Geometric mean"))
    ('ordinal', 'interval', 'ratio')
    >>> needed_for("medain")
    Traceback (most recent call last):
    cranfield.PolicyError: there is no statistic or test 'medain'; did you mean ...?
    """
    return find_needed(what).scale


def allows(scale: Scale | str, what: str) -> bool:
    """Whether a scale suffices for a statistic or a significance test.

    Raises
    ------
    PolicyError
        For an unknown scale or name.

    Examples
    --------
    >>> allows("ordinal", "mean"), allows("ordinal", "sign test"), allows(Scale.RATIO, "mean")
    (False, True, True)
    """
    return find_scale(scale) >= needed_for(what)


def admitted_statistics(scale: Scale | str) -> list[str]:
    """Name the statistics that a scale allows, those of lower scales first.

    Examples
    --------
    >>> admitted_statistics("nominal")
    ['mode', 'frequency']
    """
    highest = find_scale(scale)
    return [one.name for one in STATISTICS.values() if one.scale <= highest]


def admitted_tests(scale: Scale | str) -> list[str]:
    """Name the significance tests that a scale allows.

    Examples
    --------
    >>> admitted_tests("ordinal")
    ['sign', 'rank-sum', 'kruskal-wallis', 'friedman']
    """
    highest = find_scale(scale)
    return [name for name, test in TESTS.items() if test.info.scale <= highest]
