"""Catalogue of the corrections for multiple comparisons.

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
    """Declaration of a correction for multiple comparisons.      `controls` names the error rate
    that it keeps at alpha: `FWER` (family-wise), `FDR` (false discovery rate), or that of `each
    comparison`. It supports some families of tests, or any p-values. `symbol` is of its own
    statistic, empty if it uses that of the test. A letter in `source` distinguishes works of the
    same authors and year.
    """

    name: str
    title: str
    run: Callable[[Outcome, Pairs, Options], Corrected]
    aliases: tuple[str, ...] = ()
    source: str = ""
    does: str
    assumes: str = "what the test assumes of each pair"
    controls: str = "FWER"
    families: tuple[str, ...] | None = None
    paired: bool = False  # needs scores of the same topics
    resamples_topics: bool = False  # assumes that topics are a sample of all topics
    all_pairs: bool = False  # a two-sided test of all pairs
    one_baseline: bool = False
    equal_counts: bool = False  # needs means of as many scores each
    one_variance: bool = False  # assumes one error variance for all pairs
    symmetric: bool = False  # assumes that differences are symmetric around their mean
    pooled: bool = False  # its statistic has one error for all pairs
    multiplies: bool = False  # the smallest p-value, by the number of pairs
    random: bool = False
    symbol: str = ""
    heading: str = ""  # names test and correction in one; {error} is that of the test
    baseline_heading: str = ""
    baseline_source: str = ""  # where it differs

    def supports(self, family: str, *, paired: bool, resampled: bool) -> bool:
        """Return True if the correction supports a test family; upper bounds are not corrected."""
        fits = family != "bound" if self.families is None else family in self.families
        return fits and (paired or not self.paired) and (resampled or not self.resamples_topics)


CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    """
    corrections.pvalue_corrections corrections.studentised corrections.resampled pairwise.bootstrap
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
    """Register a function as a correction; the texts of the declaration are in its docstring."""

    def enter(function: Corrector) -> Corrector:
        CORRECTIONS[name] = Correction(name=name, run=function, **declared, **described(function))
        return function

    return enter
