"""What a test declares of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.significance.corrections.catalogue import corrections_of
from cranfield.significance.registry import Declaration, loaded

if TYPE_CHECKING:
    from cranfield.base.arrays import Floats
    from cranfield.significance.differences import Model, Outcome, Pairs
    from cranfield.significance.registry import Options


@dataclass(frozen=True, kw_only=True)
class TestInfo(Declaration):
    """What a test is.

    Attributes
    ----------
    name, aliases
        Its name, and other names that are understood.
    title
        What people call it.
    function
        The module of this room and the function that does it.
    family
        Tests of one kind: `order`, `t`, `randomisation`, `bootstrap`, `anova`, `ranks`; a `bound`
        is no test, but what a test can find at most.
    asks
        The question that it answers.
    null
        What it assumes until shown otherwise: its null hypothesis.
    assumes
        What it takes for granted.
    when
        When to use it, and when not.
    formula
        The statistic, in LaTeX.
    statistic, effect
        What the columns of those names hold.
    effect_unit
        The standard deviation that the effect is in units of, where that depends on all systems.
    symbol
        Short for the statistic, over its column; empty where that is a difference of means.
    interval
        What the confidence limits are limits of.
    source
        Where the definition stands.
    convention
        Where programs differ: what is done here.
    scale
        The scale that scores must be on for its answer to be meaningful.
    paired
        Whether it compares scores of the same topics.
    model
        Whether it looks at all systems together before it looks at pairs.
    error
        The name of the error that all pairs share, for headings.
    fit
        The function that fits its model, without a table; empty where it has none.
    additive
        Whether the model is the sum of an effect of the topic and one of the system.
    one_variance
        Whether pairs that vary more than others, on the same topics, are called different too
        often by corrections that measure all pairs by one error.
    within_topics
        Whether it compares scores of one topic only, and by their order.
    always_exact
        Whether p-values are exact, however many topics there are.
    threshold
        Whether differences up to a threshold can count as none.
    random
        Whether it draws random numbers.
    samples_topics
        Whether topics are a sample of all topics; else what it says holds for these only.
    shards
        Whether scores by shard are `needed`, `taken`, or neither.
    correction, baseline_correction
        The correction by default, for all pairs and with one baseline.
    default_for
        The scores that it is the default test for.
    of_two, of_pairs
        What to say when two systems are compared, and when pairs of more than two are.
    """

    __test__ = False  # not for pytest

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
    fit: str = ""
    error: str = ""
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
        """Corrections for many comparisons that go with it, the default first."""
        resampled = self.paired and self.samples_topics
        return corrections_of(self.correction, self.family, paired=self.paired, resampled=resampled)

    @property
    def effect_name(self) -> str:
        """The heading of the column of effect sizes."""
        return f"effect ({self.effect_unit})" if self.effect_unit else "effect"

    @property
    def bound(self) -> bool:
        """Whether it calls any difference significant: no test, but what tests find at most."""
        return self.family == "bound"


@dataclass(frozen=True)
class Test:
    """A test: what it is, and the functions that do it, loaded when they are asked for."""

    __test__ = False  # not for pytest

    info: TestInfo

    @property
    def name(self) -> str:
        """The name of the test."""
        return self.info.name

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the test."""
        return self.info.aliases

    @property
    def run(self) -> Callable[[Pairs, Options], Outcome]:
        """The function that compares pairs."""
        return loaded(self.info.function)  # type: ignore[no-any-return]

    @property
    def fit(self) -> Callable[[Floats], Model]:
        """The function that fits the model to scores."""
        if not self.info.fit:
            raise PolicyError(f"the test {self.info.name} has no model of all scores")
        return loaded(self.info.fit)  # type: ignore[no-any-return]
