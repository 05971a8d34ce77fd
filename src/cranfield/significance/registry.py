"""Options of comparisons, and the catalogues of significance tests and of corrections.

A new test is a function that takes pairs and options; a new correction one that takes the outcome
of a test, the pairs and the options. Each is declared where it stands, its texts in its docstring.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import getdoc
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError, check_choice, check_share, check_whole, quoted
from cranfield.base.scale_types import Scale
from cranfield.base.spec import Registry, Spec

if TYPE_CHECKING:
    from cranfield.base.arrays import Floats
    from cranfield.significance.differences import Corrected, Model, Outcome, Pairs

TestFunction = Callable[..., "Outcome"]
"""Takes pairs and options; a test with parameters also takes its `spec`."""

Fit = Callable[["Floats"], "Model"]
Corrector = Callable[["Outcome", "Pairs", "Options"], "Corrected"]

ALTERNATIVES = ("two-sided", "greater", "less")
"""Alternative hypotheses."""

MISSING = ("error", "drop", "zero", "available")
"""Policies for topics without a score of a system."""

STATISTICS = ("mean", "sum", "geometric-mean", "median")
"""Statistics of topic scores that can be compared."""

MAX_RESAMPLES = 10**6
"""Maximum number of samples, at which the standard error of a p-value of .05 is .0002."""

RESAMPLES = 10_000
"""Default number of random samples of tests, corrections and intervals."""


@dataclass(frozen=True)
class Options:
    """Options of a comparison, as :func:`compare` explains them."""

    alternative: str = "two-sided"
    alpha: float = 0.05
    exact: bool | None = None
    exact_n: int = 25
    resamples: int = RESAMPLES
    seed: int = 0
    jobs: int | None = None
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, ALTERNATIVES)
        check_share("alpha", self.alpha)
        if self.exact not in (None, True, False):
            raise PolicyError(f"exact must be True, False or None, got {self.exact!r}")
        check_whole("resamples", self.resamples, 1, MAX_RESAMPLES)
        check_whole("the seed", self.seed, 0)
        check_whole("exact_n", self.exact_n, 0)
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold < inf):
            raise PolicyError(f"threshold must be a number >= 0, got {self.threshold!r}")
        if self.jobs is not None:
            check_whole("jobs", self.jobs, 1)

    @property
    def two_sided(self) -> bool:
        return self.alternative == "two-sided"


def read_declaration(function: object) -> dict[str, Any]:
    """Read the title and the entries `name: text` of a docstring.

    The title is the first line. Entries are in the next paragraph; their further lines are
    indented.
    """
    title, entries, *_ = (getdoc(function) or "").split("\n\n")
    lines = re.split(r"\n(?=\w)", entries)
    texts = dict(line.split(": ", 1) for line in lines)
    plain = {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}
    return {"title": title.removesuffix("."), **plain}


@dataclass(frozen=True, kw_only=True)
class Correction:
    """Declaration of a correction for multiple comparisons.

    `controls` is the error rate that is at most alpha: `FWER` (family-wise), `FDR` (false
    discovery rate), or that of `each comparison`. `families` are the families of tests that it
    supports; None if it corrects any p-values. `symbol` stands for its own statistic; empty if it
    uses the statistic of the test. A letter in `source` distinguishes works of the same authors and
    year.
    """

    name: str
    title: str
    run: Corrector
    aliases: tuple[str, ...] = ()
    source: str = ""
    does: str
    assumes: str = "what the test assumes of each pair"
    controls: str = "FWER"
    families: tuple[str, ...] | None = None
    paired: bool = False  # requires scores on the same topics
    resamples_topics: bool = False  # assumes that topics are a sample of all topics
    all_pairs: bool = False  # is a two-sided test of all pairs
    one_baseline: bool = False
    equal_counts: bool = False  # requires means of equally many scores
    one_variance: bool = False  # assumes one error variance for all pairs
    symmetric: bool = False  # assumes that differences are symmetric around their mean
    pooled: bool = False  # its statistic has one error for all pairs
    multiplies: bool = False  # multiplies the smallest p-value by the number of pairs
    random: bool = False
    symbol: str = ""
    heading: str = ""  # name of test and correction together; {error} is that of the test
    baseline_heading: str = ""
    baseline_source: str = ""  # if another than `source`

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
    reasons={"nemenyi": "Nemenyi's is the test friedman with the correction tukey, its default"},
)
"""Corrections by name."""

RECOMMENDED = "bootstrap-tukey"
"""The default correction of tests that it supports.

Its error rates on real scores are in docs/calibration.md. Studies, which follow papers and repeat
a test thousands of times, use the correction of the test.
"""


def declared_correction(name: str, **declared: Any) -> Callable[[Corrector], Corrector]:
    """Register a function as a correction; the texts of the declaration are in its docstring."""

    def register(function: Corrector) -> Corrector:
        CORRECTIONS[name] = Correction(
            name=name, run=function, **declared, **read_declaration(function)
        )
        return function

    return register


@dataclass(frozen=True, kw_only=True)
class TestInfo:
    """Declaration of a test.

    Attributes
    ----------
    name, aliases
        Name, and other accepted names.
    title
        Usual name in texts.
    family
        Tests of one kind: `order`, `t`, `randomisation`, `bootstrap`, `medians`, `anova`, `glm`,
        `ranks`; a `bound` is not a test, but an upper bound on the rejections.
    asks
        The question that it answers.
    null
        Its null hypothesis.
    assumes
        Its assumptions.
    when
        When to use it, and when not.
    formula
        The statistic, in LaTeX.
    statistic, effect
        Meaning of the columns of those names.
    effect_unit
        Unit of the effect, if it is a standard deviation that depends on all systems.
    symbol
        Symbol of the statistic, as heading of its column; empty for a difference of means.
    interval
        Quantity that the confidence intervals are of.
    source
        Source of the definition.
    convention
        Conventions, where programs differ.
    scale
        The scale that scores must be on for its answer to be meaningful.
    paired
        Whether it compares scores of the same topics.
    model
        Whether it fits a model to all systems before it compares pairs.
    error
        The name of the error that all pairs share, for headings.
    fits
        Whether its model can be fitted without a table.
    additive
        Whether the model is the sum of an effect of the topic and one of the system.
    one_variance
        Whether corrections that assume one error variance for all pairs make Type I errors too
        frequent for pairs that vary more than others.
    within_topics
        Whether it compares scores of one topic only, and by their order.
    always_exact
        Whether p-values are exact, however many topics there are.
    bounded
        Whether scores must be from 0 to 1.
    threshold
        Whether differences up to a threshold can count as none.
    random
        Whether it draws random numbers.
    samples_topics
        Whether topics are a sample of all topics; otherwise its results hold for these topics only.
    shards
        Whether scores by shard, or by another third axis, are `needed`, `taken`, or neither.
    axis
        Third axis of these scores: `shard` or `replicate`.
    correction, baseline_correction
        Default correction for all pairs, and with one baseline.
    default_for
        The scores that it is the default test for.
    refusal
        Why :func:`cranfield.compare` refuses the test, which is then for studies of tests only, and
        the test to use instead; empty for others.
    two_systems_note, pairs_note
        Notes on comparisons of two systems, and on pairs of more than two.
    """

    __test__ = False  # not for pytest

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    source: str = ""
    family: str
    asks: str
    null: str
    assumes: str
    when: str
    formula: str
    statistic: str
    symbol: str = "t"
    effect: str
    effect_unit: str = ""
    interval: str
    convention: str = ""
    scale: Scale = Scale.INTERVAL
    paired: bool = True
    model: bool = False
    error: str = ""
    fits: bool = False
    additive: bool = False
    one_variance: bool = False
    within_topics: bool = False
    always_exact: bool = False
    bounded: bool = False
    threshold: bool = False
    random: bool = False
    samples_topics: bool = True
    shards: str = ""
    axis: str = "shard"
    correction: str = "holm"
    baseline_correction: str = "holm"
    default_for: str = ""
    refusal: str = ""
    two_systems_note: str = ""
    pairs_note: str = ""

    @property
    def corrections(self) -> tuple[str, ...]:
        """Corrections that the test supports, the default first."""
        # Unpaired tests, and tests about these topics only, do not treat topics as a sample.
        resampled = self.paired and self.samples_topics
        fitting = [
            correction
            for correction in CORRECTIONS.values()
            if correction.supports(self.family, paired=self.paired, resampled=resampled)
        ]
        # Corrections of the family come before those of any p-values.
        fitting.sort(key=lambda correction: correction.families is None)
        names = (correction.name for correction in fitting)
        return tuple(dict.fromkeys((self.correction, *names)))

    def supported(self, correction: str) -> str:
        """Return the name of a correction, by any of its names, if the test supports it."""
        name = CORRECTIONS.find(correction)
        if name not in self.corrections:
            raise PolicyError(
                f"correction {name!r} cannot be combined with test {self.name!r}; use"
                f" {', '.join(self.corrections)}"
            )
        return name

    @property
    def effect_name(self) -> str:
        """The heading of the column of effect sizes."""
        return f"effect ({self.effect_unit})" if self.effect_unit else "effect"

    @property
    def bound(self) -> bool:
        """Whether it rejects for any difference: not a test, but an upper bound."""
        return self.family == "bound"


@dataclass(frozen=True)
class Test:
    """A test: its declaration, and the functions that compare pairs and fit its model.

    The text form of its `spec`, such as `glm(link='probit')`, names a test with parameters.
    """

    __test__ = False  # not for pytest

    info: TestInfo
    run: TestFunction
    fit: Fit
    spec: Spec | None = None

    def with_parameters(self, text: str) -> Test:
        """Return the test with the parameters of a text form."""
        if self.spec is None:
            raise PolicyError(f"the test {self.info.name} has no parameters, got {quoted(text)}")
        kind = type(self.spec)
        spec = Registry("test", base=kind, things={self.info.name: kind}).parse(text)
        info = replace(self.info, name=str(spec))
        return replace(self, info=info, run=partial(self.run, spec=spec), spec=spec)


TESTS: Registry[Test] = Registry(
    "test",
    """
    pairwise.ranks pairwise.means pairwise.bootstrap models.random_topics models.anova models.glm
    models.replicates
    """,
    package="cranfield.significance",
    decorators="declared_test",
)
"""Tests by name."""

BOUNDS = ("anova-2f", "anova-3f")
"""Names of upper bounds on the rejections, which are not tests."""

STUDIED = (*BOUNDS, "glm")
"""Names of tests for studies of tests only, which comparisons of systems refuse."""

REPLICATE_TESTS = ("independent-replicates", "shared-replicates")
"""Names of the tests of scores by replicate, by design."""

DEFAULTS = {"two systems": "bootstrap", "many systems": "anova-2", "shards": "random-topics"}
"""Name of the default test, by the scores."""


def declared_test(
    name: str, *, fit: Fit | None = None, spec: Spec | None = None, **declared: Any
) -> Callable[[TestFunction], TestFunction]:
    """Register a function as a test, with the function that fits its model, if any."""

    def without_model(scores: Floats) -> Model:
        raise PolicyError(f"the test {name} has no model of all scores")

    def register(function: TestFunction) -> TestFunction:
        info = TestInfo(
            name=name,
            default_for=next((scores for scores, test in DEFAULTS.items() if test == name), ""),
            fits=fit is not None,
            **(declared | read_declaration(function)),
        )
        run = function if spec is None else partial(function, spec=spec)
        TESTS[name] = Test(info, run, fit or without_model, spec)
        return function

    return register


def find_test(name: Any) -> Test:
    """Find a test by any of its names; a PolicyError suggests names similar to an unknown one.

    Examples
    --------
    >>> find_test("md2").info.name, find_test("GLM(link='logit')").info.name
    ('anova-2', 'glm')
    """
    if isinstance(name, str) and "(" in name:
        return TESTS.named(name.partition("(")[0]).with_parameters(name)
    return TESTS.named(name)


CHOOSE_DESIGN = (
    "scores by replicate require a test: independent-replicates if each topic has rankings or"
    " answers of its own, shared-replicates if each replicate (such as a trained model) answers all"
    " topics"
)
"""The error where the design of replicates, which scores do not show, is not stated."""


def default_test(systems: int, axis: str = "") -> Test:
    """Return the default test of scores, by their third axis if they have any."""
    if axis == "replicate":
        raise PolicyError(CHOOSE_DESIGN)
    scores = "shards" if axis else "two systems" if systems == 2 else "many systems"
    return TESTS[DEFAULTS[scores]]
