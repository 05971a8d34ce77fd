"""Catalogue of the significance tests.

A new test is a function that takes pairs and options, declared where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.base.spec import Registry
from cranfield.significance.corrections.correction import CORRECTIONS
from cranfield.significance.registry import Options, described

if TYPE_CHECKING:
    from cranfield.base.arrays import Floats
    from cranfield.significance.differences import Model, Outcome, Pairs

Compared = Callable[["Pairs", Options], "Outcome"]
Fit = Callable[["Floats"], "Model"]


@dataclass(frozen=True, kw_only=True)
class TestInfo:
    """Declaration of a test.

    Attributes
    ----------
    name, aliases
        Its name, and other names that are understood.
    title
        What people call it.
    family
        Tests of one kind: `order`, `t`, `randomisation`, `bootstrap`, `anova`, `ranks`; a `bound`
        is not a test, but an upper bound on the rejections.
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
        The standard deviation that the effect is in units of, where that depends on all systems.
    symbol
        Short for the statistic, over its column; empty where that is a difference of means.
    interval
        Quantity that the confidence intervals are of.
    source
        Where the definition stands.
    convention
        Conventions, where programs differ.
    scale
        The scale that scores must be on for its answer to be meaningful.
    paired
        Whether it compares scores of the same topics.
    model
        Whether it looks at all systems together before it looks at pairs.
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
    threshold
        Whether differences up to a threshold can count as none.
    random
        Whether it draws random numbers.
    samples_topics
        Whether topics are a sample of all topics; otherwise its results hold for these topics only.
    shards
        Whether scores by shard are `needed`, `taken`, or neither.
    correction, baseline_correction
        The correction by default, for all pairs and with one baseline.
    default_for
        The scores that it is the default test for.
    of_two, of_pairs
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
    threshold: bool = False
    random: bool = False
    samples_topics: bool = True
    shards: str = ""
    correction: str = "holm"
    baseline_correction: str = "holm"
    default_for: str = ""
    of_two: str = ""
    of_pairs: str = ""

    @property
    def corrections(self) -> tuple[str, ...]:
        """Corrections that the test supports, the default first."""
        # Unpaired tests, and tests about these topics only, do not treat topics as a sample.
        resampled = self.paired and self.samples_topics
        fitting = [
            one
            for one in CORRECTIONS.values()
            if one.supports(self.family, paired=self.paired, resampled=resampled)
        ]
        own_first = sorted(fitting, key=lambda one: one.families is None)
        return tuple(dict.fromkeys((self.correction, *(one.name for one in own_first))))

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
    """A test: its declaration, and the functions that compare pairs and fit its model."""

    __test__ = False  # not for pytest

    info: TestInfo
    run: Compared
    fit: Fit


TESTS: Registry[Test] = Registry(
    "test",
    """
    pairwise.ranks pairwise.means pairwise.bootstrap models.random_topics models.anova
    """,
    package="cranfield.significance",
    decorators="declared_test",
)
"""Tests by name."""

BOUNDS = ("anova-2f", "anova-3f")
"""Names of upper bounds on the rejections, which are not tests."""

DEFAULTS = {"two systems": "bootstrap", "many systems": "anova-2", "shards": "random-topics"}
"""Which test is the default, by the scores."""


def declared_test(
    name: str, *, fit: Fit | None = None, **declared: Any
) -> Callable[[Compared], Compared]:
    """Register a function as a test, with the function that fits its model, if any."""

    def without_model(scores: Floats) -> Model:
        raise PolicyError(f"the test {name} has no model of all scores")

    def enter(function: Compared) -> Compared:
        info = TestInfo(
            name=name,
            default_for=next((scores for scores, test in DEFAULTS.items() if test == name), ""),
            fits=fit is not None,
            **(declared | described(function)),
        )
        TESTS[name] = Test(info, function, fit or without_model)
        return function

    return enter


def find_test(name: Any) -> Test:
    """Find a test by any of its names; a PolicyError suggests the nearest ones if it has none."""
    return TESTS.named(name)


def default_test(systems: int, by_shard: bool) -> Test:
    """Return the default test of scores."""
    scores = "shards" if by_shard else "two systems" if systems == 2 else "many systems"
    return TESTS[DEFAULTS[scores]]
