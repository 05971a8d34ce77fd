"""Options of commands that compare systems: with which test, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import click

from cranfield.cli.options.declaring import Named, in_group, option
from cranfield.cli.options.judging import (
    alpha_option,
    missing_option,
    one_of,
    resamples_option,
    seed_option,
)
from cranfield.cli.options.output import gathered
from cranfield.significance.corrections.catalogue import CORRECTIONS, find_correction
from cranfield.significance.registry import ALTERNATIVES, MISSING, STATISTICS
from cranfield.significance.tests.catalogue import TESTS, find_test

_NAMES = [name for name, test in TESTS.items() if not test.info.bound]
# The default by its usual name stands before its numbered kin.
_NAMES.insert(_NAMES.index("anova-1"), "anova")


_OPTIONS = in_group(
    "Comparison",
    (
        option("--baseline", multiple=True, help="Compare with this system only."),
        option(
            "--test",
            type=Named(lambda: _NAMES),
            metavar="TEST",
            help="Such as t or randomisation. Default: two-way ANOVA, for two systems the"
            " bootstrap.",
            detail=f"There are {', '.join(_NAMES)}.",
        ),
        option(
            "--correction",
            type=Named(lambda: CORRECTIONS),
            metavar="CORRECTION",
            help="For many comparisons, such as holm. Default: Tukey's HSD bootstrapped over"
            " topics, where it supports the test.",
            detail=f"There are {', '.join(CORRECTIONS)}.",
        ),
        one_of(
            "--statistic",
            STATISTICS,
            "Statistic of topic scores to compare. Default: that of the measure, mostly the mean.",
        ),
        one_of("--alternative", ALTERNATIVES, "Alternative hypothesis.", "two-sided"),
        alpha_option,
        missing_option(MISSING),
        option("--exact/--no-exact", default=None, help="Exact p-values, where the test has them."),
        option(
            "--threshold",
            type=click.FloatRange(0),
            default=0.0,
            help="Differences up to it count as none, by the sign test.",
        ),
        resamples_option(10_000),
        seed_option("Seed of random resamples."),
    ),
)


@dataclass(frozen=True)
class Comparing:
    """How systems are to be compared: options of :func:`cranfield.compare`, as they were given."""

    baseline: tuple[str, ...]
    test: str | None
    correction: str | None
    statistic: str | None
    alternative: str
    alpha: float
    missing: str | None
    exact: bool | None
    threshold: float
    resamples: int
    seed: int

    def checked(self) -> dict[str, Any]:
        """Return what :func:`cranfield.compare` takes, before any file is read."""
        test = find_test(self.test).info.name if self.test is not None else None
        correction = find_correction(self.correction) if self.correction is not None else None
        named = {"baseline": self.baseline or None, "test": test, "correction": correction}
        return asdict(self) | named


comparing_options = gathered(Comparing, "comparing", _OPTIONS)
