"""Options of comparisons, and the catalogues of significance tests and of corrections.

A test is a function of pairs and options that returns an outcome; a correction is a function of
that outcome, the pairs and the options that returns another. A decorator registers each where it is
defined, with the texts of its docstring.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import Integer, OneOf, Probability, RealNumber, Seed, check_arguments
from cranfield.base.scale_types import Scale
from cranfield.base.spec import Registry, Spec

if TYPE_CHECKING:
    from cranfield.base.arrays import Floats
    from cranfield.significance.differences import Outcome, Pairs, SystemModel

TestFunction = Callable[..., "Outcome"]
"""Takes pairs and options; a test with parameters also takes its `spec`."""

FitFunction = Callable[["Floats"], "SystemModel"]
Corrector = Callable[["Outcome", "Pairs", "TestOptions"], "Outcome"]
ALTERNATIVES = ("two-sided", "greater", "less")  # alternative hypotheses
MISSING = ("error", "drop", "zero", "available")  # policies for missing scores
TOPIC_STATISTICS = ("mean", "sum", "geometric-mean", "median")  # of topic scores, to compare
MAX_RESAMPLES = 10**6  # the standard error of a p-value of .05 is then .0002
RESAMPLES = 10_000  # default number of resamples of tests, corrections and intervals


@dataclass(frozen=True)
class TestOptions:
    """Options of a test and its correction; see :func:`cranfield.compare`."""

    __test__ = False  # not for pytest

    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided"
    alpha: Probability = 0.05
    exact: bool | None = None
    exact_n: Annotated[int, Integer(0)] = 25
    resamples: Annotated[int, Integer(1, MAX_RESAMPLES)] = RESAMPLES
    seed: Seed = 0
    jobs: Annotated[int | None, Integer(1)] = None
    threshold: Annotated[float, RealNumber(0)] = 0.0

    def __post_init__(self) -> None:
        check_arguments(TestOptions, vars(self))
        if self.exact not in (None, True, False):
            raise PolicyError(f"exact must be True, False or None, got {self.exact!r}")

    @property
    def is_two_sided(self) -> bool:
        return self.alternative == "two-sided"


def read_declaration(function: object) -> dict[str, Any]:
    """Read a declaration from a docstring: the title, and then a paragraph of `name: text`."""
    title, entries, *_ = (getdoc(function) or "").split("\n\n")
    lines = re.split(r"\n(?=\w)", entries)
    texts = dict(re.sub(r"\s+", " ", line).split(": ", 1) for line in lines)
    return {"title": title.removesuffix("."), **texts}


@dataclass(frozen=True, kw_only=True)
class Correction:
    """Declaration of a correction for multiple comparisons."""

    name: str
    title: str
    run: Corrector
    aliases: tuple[str, ...] = ()
    source: str = ""  # a letter after a year distinguishes works of the same authors and year
    does: str
    assumes: str = ""  # empty if only the assumptions of the test for each pair
    controls: str = "FWER"  # error rate that is at most alpha: FWER, `FDR` or `each comparison`
    families: tuple[str, ...] | None = None  # supported families of tests; None: any p-values
    requires_pairing: bool = False  # requires scores on the same topics
    resamples_topics: bool = False  # draws topics with replacement, as a sample of all topics
    covers_all_pairs: bool = False  # two-sided, for all pairs of systems even with a baseline
    requires_one_baseline: bool = False
    requires_equal_counts: bool = False  # the same number of scores for each system
    assumes_one_variance: bool = False  # one error variance for all pairs
    assumes_symmetry: bool = False  # differences are symmetric around their mean
    pools_errors: bool = False  # its statistic uses one standard error for all pairs
    multiplies_pvalues: bool = False  # the smallest one is multiplied by about the number of pairs
    is_random: bool = False  # draws random numbers
    symbol: str = ""  # of its own statistic; empty if it uses the statistic of the test
    heading: str = ""  # joint name of test and correction; {error} is `TestInfo.error`
    baseline_heading: str = ""  # the same with a baseline
    baseline_title: str = ""  # title with a baseline, if it is not `title`
    baseline_source: str = ""  # source with a baseline, if it is not `source`

    def get_title(self, *, has_baseline: bool) -> str:
        """Return the title for all pairs, or for a comparison with baselines."""
        return (has_baseline and self.baseline_title) or self.title

    def supports(self, info: TestInfo) -> bool:
        """Return True if the correction supports a test; upper bounds are not corrected."""
        if info.is_upper_bound or (self.families is not None and info.family not in self.families):
            return False
        # Resampling topics keeps the scores of a topic together, so the test must be paired.
        can_resample_topics = info.is_paired and info.samples_topics
        is_compatible = info.is_paired or not self.requires_pairing
        return is_compatible and (can_resample_topics or not self.resamples_topics)


CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    """
    corrections.pvalue_corrections corrections.studentised corrections.resampled pairwise.bootstrap
    """,
    package="cranfield.significance",
    decorators="register_correction",
    reasons={"nemenyi": "for Nemenyi's test use the test friedman with the correction tukey"},
)
"""Corrections by name."""

DEFAULT_CORRECTION = "bootstrap-tukey"
"""Default correction of :func:`cranfield.compare` for the tests that it supports.

Its error rates on real scores are in docs/calibration.md. Studies of tests repeat a test thousands
of times; by default they use `TestInfo.correction`, as the papers do.
"""


def register_correction(name: str, **properties: Any) -> Callable[[Corrector], Corrector]:
    """Register a function as a correction, with the texts of its docstring."""

    def register(function: Corrector) -> Corrector:
        texts = read_declaration(function)
        CORRECTIONS[name] = Correction(name=name, run=function, **properties, **texts)
        return function

    return register


@dataclass(frozen=True, kw_only=True)
class TestInfo:
    """Declaration of a test.

    Attributes
    ----------
    name, title, aliases
        Name, usual name in texts, and other accepted names.
    source
        Source of the definition.
    family
        Family of the test: `order`, `t`, `randomisation`, `bootstrap`, `medians`, `anova`, `glm`,
        `ranks`; a `bound` is not a test, but an upper bound on the number of rejections.
    asks
        Question that the test answers.
    null
        Null hypothesis.
    assumes
        Assumptions.
    when
        When to use the test, and when not.
    formula
        Statistic, in LaTeX.
    statistic
        Meaning of the column `statistic`.
    symbol
        Symbol of the statistic, as heading of its column; empty for a difference.
    effect, effect_unit
        Meaning of the column `effect`, and its unit, if the unit depends on all systems.
    interval
        Quantity whose confidence intervals the test provides.
    convention
        Details in which programs differ.
    scale
        Lowest scale of measurement for which the result is meaningful.
    is_paired
        Whether the test compares scores of the same topics.
    has_model
        Whether the test fits a model to all systems before it compares pairs.
    error
        Name of the error that all pairs share, for headings.
    can_be_fitted
        Whether the model can be fitted without the test.
    is_additive
        Whether the model is the sum of a topic effect and a system effect.
    allows_unequal_variances
        Whether pairs may differ in their error variance; corrections that assume one variance then
        make Type I errors too frequent for pairs that vary more than others.
    is_within_topics
        Whether the test uses only the order of scores within each topic.
    is_always_exact
        Whether p-values are exact for any number of topics.
    requires_bounded_scores
        Whether scores must be from 0 to 1.
    has_threshold
        Whether differences up to a threshold can count as ties.
    is_random
        Whether the test draws random numbers.
    resamples_topics
        Whether the test draws topics with replacement.
    is_studentised
        Whether the test divides differences by their standard errors.
    samples_topics
        Whether topics are the only sample, as corrections that resample topics require; False if
        results hold for these topics only, or if replicates are a sample, too.
    shards
        `required` or `accepted`: whether scores have a third axis; empty if they must not.
    axis
        Third axis of the scores: `shard` or `replicate`.
    correction, baseline_correction
        Default correction for all pairs, and for comparisons with one baseline;
        :func:`cranfield.compare` prefers `bootstrap-tukey` where it is supported.
    default_for
        Kind of scores for which the test is the default; see `DEFAULTS`.
    refusal
        Reason why :func:`cranfield.compare` does not offer the test, and perhaps the test to use
        instead; empty for tests that it offers.
    two_systems_note, pairs_note
        Notes on comparisons of two systems, and on pairwise comparisons of more than two.
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
    is_paired: bool = True
    has_model: bool = False
    error: str = ""
    can_be_fitted: bool = False
    is_additive: bool = False
    allows_unequal_variances: bool = False
    is_within_topics: bool = False
    is_always_exact: bool = False
    requires_bounded_scores: bool = False
    has_threshold: bool = False
    is_random: bool = False
    resamples_topics: bool = False
    is_studentised: bool = True
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
        # Corrections of the family come before corrections of any p-values.
        candidates = sorted(CORRECTIONS.values(), key=lambda c: c.families is None)
        supported_names = (c.name for c in candidates if c.supports(self))
        return tuple(dict.fromkeys((self.correction, *supported_names)))

    def find_correction(self, correction: str) -> str:
        """Return the name of a correction, given any of its names; raise if it is not supported."""
        name = CORRECTIONS.find(correction)
        if name not in self.corrections:
            raise PolicyError(
                f"correction {name!r} cannot be combined with test {self.name!r}; use"
                f" {', '.join(self.corrections)}"
            )
        return name

    @property
    def effect_name(self) -> str:
        """Heading of the column of effect sizes."""
        return f"effect ({self.effect_unit})" if self.effect_unit else "effect"

    @property
    def is_upper_bound(self) -> bool:
        """Whether the test rejects for any difference, as an upper bound on rejections."""
        return self.family == "bound"


@dataclass(frozen=True)
class Test:
    """A test: its declaration, and functions that compare pairs and fit the model of the test."""

    __test__ = False  # not for pytest

    info: TestInfo
    run: TestFunction
    fit: FitFunction
    spec: Spec | None = None  # its text form, such as `glm(link='probit')`, has the parameters

    def with_parameters(self, text: str) -> Test:
        """Return the test with the parameters of a text form such as `glm(link='probit')`."""
        if self.spec is None:
            raise PolicyError(f"expected {self.info.name} without parameters, got {quote(text)}")
        spec_class = type(self.spec)
        tests = Registry("test", base=spec_class, components={self.info.name: spec_class})
        spec = tests.parse(text)
        info = replace(self.info, name=str(spec))
        return replace(self, info=info, run=partial(self.run, spec=spec), spec=spec)


TESTS: Registry[Test] = Registry(
    "test",
    """
    pairwise.ranks pairwise.means pairwise.bootstrap models.random_topics models.anova models.glm
    replicates
    """,
    package="cranfield.significance",
    decorators="register_test",
)
"""Tests by name."""

STUDY_TESTS = ("anova-2f", "anova-3f", "glm")
"""Tests that only studies of tests offer, and :func:`cranfield.compare` does not."""

REPLICATE_TESTS = ("independent-replicates", "shared-replicates")  # tests of scores by replicate

DEFAULTS = {"two systems": "bootstrap", "many systems": "anova-2", "shards": "random-topics"}
"""Names of the default tests, by kind of scores."""


def register_test(
    name: str, *, fit: FitFunction | None = None, spec: Spec | None = None, **properties: Any
) -> Callable[[TestFunction], TestFunction]:
    """Register a function as a test; `fit` fits its model, if it has one."""

    def refuse_fit(scores: Floats) -> SystemModel:
        raise PolicyError(f"the test {name} has no joint model of all systems")

    def register(function: TestFunction) -> TestFunction:
        info = TestInfo(
            name=name,
            default_for=next((kind for kind, test in DEFAULTS.items() if test == name), ""),
            can_be_fitted=fit is not None,
            **(properties | read_declaration(function)),
        )
        run = function if spec is None else partial(function, spec=spec)
        TESTS[name] = Test(info, run, fit or refuse_fit, spec)
        return function

    return register


def find_test(name: Any) -> Test:
    """Find a test by its name, an alias, or a text form with parameters.

    Examples
    --------
    >>> find_test("md2").info.name, find_test("GLM(link='logit')").info.name
    ('anova-2', 'glm')
    """
    if isinstance(name, str) and "(" in name:
        return TESTS.find_component(name.partition("(")[0]).with_parameters(name)
    return TESTS.find_component(name)


def get_default_test(n_systems: int, axis: str = "") -> Test:
    """Return the default test for a number of systems, and the third axis of scores, if any."""
    if axis == "replicate":
        raise PolicyError(
            "scores by replicate require a choice of test: independent-replicates if replicates are"
            " drawn anew for each topic (such as sampled answers), shared-replicates if each"
            " replicate (such as a trained model) answers all topics"
        )
    kind = "shards" if axis else "two systems" if n_systems == 2 else "many systems"
    return TESTS[DEFAULTS[kind]]
