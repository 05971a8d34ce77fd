"""The corrections for many comparisons: what each is, and which tests it goes with.

A new correction is a module with a function that takes the outcome of a test, the pairs and the
options, and a declaration here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.significance.registry import Declaration, loaded, registry

if TYPE_CHECKING:
    from cranfield.significance.differences import Corrected, Outcome, Pairs
    from cranfield.significance.registry import Options


@dataclass(frozen=True, kw_only=True)
class Correction(Declaration):
    """What a correction for many comparisons is.

    It keeps to alpha what it `bounds`: the chance of `any error`, the `share of errors` among the
    differences found, or the error of `each comparison`. It goes with some families of tests, or
    with any p-values. Its symbol is of its own statistic; empty where it takes that of the test.
    Of two works of an author and year the letter in its source tells which.
    """

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

    @property
    def run(self) -> Callable[[Outcome, Pairs, Options], Corrected]:
        """The function that corrects, loaded when it is asked for."""
        return loaded(self.function)  # type: ignore[no-any-return]

    def goes_with(self, family: str, *, paired: bool, resampled: bool) -> bool:
        """Whether it goes with the tests of a family; bounds of tests are not corrected."""
        fits = family != "bound" if self.families is None else family in self.families
        return fits and (paired or not self.paired) and (resampled or not self.resamples_topics)


_DECLARED = (
    Correction(
        name="none",
        aliases=("uncorrected",),
        title="not corrected for many comparisons",
        does="no correction: each comparison errs in alpha of the cases where there is nothing",
        function="corrections.of_pvalues:uncorrected",
        bounds="each comparison",
    ),
    Correction(
        name="tukey",
        aliases=("hsd", "tukey-hsd"),
        title="Tukey's HSD",
        does="Tukey's honestly significant difference: all pairs of the systems of a model, at "
        "most alpha for any error among them",
        assumes="errors are independent and normal, with one variance for all systems",
        source="Tukey (1949a)",
        function="corrections.studentised:tukey",
        families=("anova", "ranks"),
        all_pairs=True,
        one_variance=True,
        symbol="q",
    ),
    Correction(
        name="randomised-tukey",
        aliases=("randomized-tukey", "randomised-tukey-hsd", "randomized-tukey-hsd"),
        title="randomised Tukey HSD",
        does="the same, with the distribution of the largest difference from random permutations "
        "of each topic's scores",
        assumes="where systems do not differ, their scores on a topic can be exchanged: all have "
        "one variance",
        source="Carterette (2012)",
        function="corrections.resampled:randomised_tukey",
        families=("randomisation",),
        paired=True,
        all_pairs=True,
        one_variance=True,
        random=True,
    ),
    Correction(
        name="dunnett",
        title="Dunnett's test",
        does="Dunnett's test: all systems against one baseline",
        assumes="errors are independent and normal, with one variance for all systems",
        source="Dunnett (1955)",
        function="corrections.studentised:dunnett",
        families=("anova",),
        one_baseline=True,
        equal_counts=True,
        one_variance=True,
    ),
    Correction(
        name="max-t",
        aliases=("westfall-young", "maxt"),
        title="step-down max-T of Westfall and Young",
        does="Westfall and Young's step-down max-T: the largest t of all pairs under random signs; "
        "systems may differ in variance and depend on each other",
        assumes="differences are symmetric around their mean, of all pairs jointly",
        source="Westfall and Young (1993)",
        function="corrections.resampled:max_t",
        families=("t", "randomisation"),
        paired=True,
        symmetric=True,
        random=True,
    ),
    Correction(
        name="bootstrap-tukey",
        aliases=("bootstrapped-tukey", "tukey-bootstrap"),
        title="Tukey's HSD bootstrapped over topics",
        heading="Tukey's HSD on the {error}, bootstrapped over topics",
        baseline_heading="Dunnett's test on the {error}, bootstrapped over topics",
        does="Tukey's HSD on the error of two-way ANOVA, or with a baseline the counterpart of "
        "Dunnett's test; the distribution of the largest difference is estimated by drawing topics "
        "with replacement from centred scores, in a single step. Scores need not be normal, and "
        "systems may differ in variance and depend on each other",
        assumes="topics are a random sample, a dozen at least",
        source="Tukey (1949a); Westfall and Young (1993); Romano and Wolf (2005)",
        baseline_source="Dunnett (1955); Westfall and Young (1993); Romano and Wolf (2005)",
        function="corrections.resampled:bootstrap_tukey",
        families=("anova",),
        resamples_topics=True,
        random=True,
        pooled=True,
        symbol="t",
    ),
    Correction(
        name="bootstrap-max-t",
        aliases=("romano-wolf",),
        title="bootstrap max-T of Romano and Wolf",
        does="topics drawn with replacement from centred scores, step down by the largest t of all "
        "pairs, each with its own variance; a few nearly equal runs make it find little",
        assumes="topics are a random sample, a dozen at least",
        source="Romano and Wolf (2005)",
        function="corrections.resampled:bootstrap_max_t",
        families=("t", "bootstrap"),
        resamples_topics=True,
        random=True,
    ),
    Correction(
        name="bootstrap-max",
        title="the largest difference of each resample",
        does="topics drawn with replacement from centred scores, in a single step by the largest "
        "difference of all pairs, not divided by an error",
        assumes="topics are a random sample, a dozen at least",
        source="Westfall and Young (1993)",
        function="pairwise.bootstrap:bootstrap_max",
        families=("medians",),
        resamples_topics=True,
        random=True,
    ),
    Correction(
        name="bonferroni",
        aliases=("bonf",),
        title="Bonferroni's correction",
        does="p times the number of comparisons",
        source="Bonferroni (1936)",
        function="corrections.of_pvalues:bonferroni",
        multiplies=True,
    ),
    Correction(
        name="holm",
        aliases=("holm-bonferroni",),
        title="Holm's correction",
        does="Bonferroni's correction step by step; as strict on errors, never weaker",
        source="Holm (1979)",
        function="corrections.of_pvalues:holm",
        multiplies=True,
    ),
    Correction(
        name="bh",
        aliases=("fdr", "fdr-bh", "benjamini-hochberg"),
        title="false discovery rate of Benjamini and Hochberg",
        does="Benjamini and Hochberg: at most alpha of the differences found are expected to be "
        "none (false discovery rate)",
        assumes="comparisons are independent, or depend on each other positively",
        source="Benjamini and Hochberg (1995)",
        function="corrections.of_pvalues:benjamini_hochberg",
        bounds="share of errors",
    ),
    Correction(
        name="by",
        aliases=("fdr-by", "benjamini-yekutieli"),
        title="false discovery rate of Benjamini and Yekutieli",
        does="Benjamini and Yekutieli: the same, however the comparisons depend on each other",
        source="Benjamini and Yekutieli (2001)",
        function="corrections.of_pvalues:benjamini_yekutieli",
        bounds="share of errors",
    ),
)

CORRECTIONS = registry("correction", _DECLARED)
"""Corrections by name."""

RECOMMENDED = "bootstrap-tukey"
"""The default correction of tests that it supports.

Its error rates on real scores are in docs/calibration.md. Studies, which follow papers and repeat
a test thousands of times, take the correction of the test.
"""


def corrections_of(default: str, family: str, *, paired: bool, resampled: bool) -> tuple[str, ...]:
    """Name the corrections that go with a test: its default, its own, and those of any p-values.

    Of unpaired tests, and of those that ask for these topics only, topics are not `resampled`.
    """
    own_first = sorted(CORRECTIONS.values(), key=lambda one: one.families is None)
    fitting = [
        one.name for one in own_first if one.goes_with(family, paired=paired, resampled=resampled)
    ]
    return tuple(dict.fromkeys((default, *fitting)))
