"""The corrections for many comparisons: what each is, and which tests it goes with.

A new correction is a function that takes the outcome of a test, the pairs and the options, declared
where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.base.spec import Registry
from cranfield.significance.registry import Options, described

if TYPE_CHECKING:
    from cranfield.significance.differences import Corrected, Outcome, Pairs


@dataclass(frozen=True, kw_only=True)
class Correction:
    """What a correction for many comparisons is.

    It keeps to alpha what it `bounds`: the chance of `any error`, the `share of errors` among the
    differences found, or the error of `each comparison`. It goes with some families of tests, or
    with any p-values. Its symbol is of its own statistic; empty where it takes that of the test.
    Of two works of an author and year the letter in its source tells which.
    """

    name: str
    title: str
    run: Callable[[Outcome, Pairs, Options], Corrected]
    aliases: tuple[str, ...] = ()
    source: str = ""
    does: str
    assumes: str = "what the test assumes of each pair"
    bounds: str = "any error"
    families: tuple[str, ...] | None = None
    paired: bool = False  # needs scores of the same topics
    resamples_topics: bool = False  # takes them for a sample of all topics
    all_pairs: bool = False  # a two-sided test of all pairs
    one_baseline: bool = False
    equal_counts: bool = False  # needs means of as many scores each
    one_variance: bool = False  # measures all pairs by one error
    symmetric: bool = False  # takes differences for symmetric around their mean
    pooled: bool = False  # its statistic has one error for all pairs
    multiplies: bool = False  # the least p-value, by the number of pairs
    random: bool = False
    symbol: str = ""
    heading: str = ""  # names test and correction in one; {error} is that of the test
    baseline_heading: str = ""
    baseline_source: str = ""  # where it differs

    def goes_with(self, family: str, *, paired: bool, resampled: bool) -> bool:
        """Whether it goes with the tests of a family; bounds of tests are not corrected."""
        fits = family != "bound" if self.families is None else family in self.families
        return fits and (paired or not self.paired) and (resampled or not self.resamples_topics)


CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    """
    corrections.of_pvalues corrections.studentised corrections.resampled pairwise.bootstrap
    """,
    package="cranfield.significance",
    decorators="declared_correction",
)
"""Corrections by name."""

RECOMMENDED = "bootstrap-tukey"
"""The default correction of tests that it supports.

Its error rates on real scores are in docs/calibration.md. Studies, which follow papers and repeat
a test thousands of times, take the correction of the test.
"""

Corrector = Callable[["Outcome", "Pairs", Options], "Corrected"]


def declared_correction(name: str, **declared: Any) -> Callable[[Corrector], Corrector]:
    """Enter a function among the corrections; its docstring has the texts of the declaration."""

    def enter(function: Corrector) -> Corrector:
        CORRECTIONS[name] = Correction(name=name, run=function, **declared, **described(function))
        return function

    return enter
