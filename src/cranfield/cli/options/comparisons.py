"""Options of comparisons of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.cli.options import declaring
from cranfield.cli.options.output import gather_options
from cranfield.cli.options.signatures import make_options
from cranfield.significance.registry import CORRECTIONS, STUDY_TESTS, TESTS, find_test

_TEST_NAMES = [name for name in TESTS if name not in STUDY_TESTS]
# The usual name of the default precedes its numbered variants.
_TEST_NAMES.insert(_TEST_NAMES.index("anova-1"), "anova")

_COMPARISON_OPTIONS = declaring.set_group(
    "Comparison",
    (
        declaring.option(
            "--baseline",
            multiple=True,
            metavar="SYSTEM",
            help="Baseline with which the other systems are compared, instead of all pairs; may be"
            " given several times.",
        ),
        declaring.option(
            "--test",
            type=declaring.KnownName(lambda: _TEST_NAMES),
            help="Significance test, such as t or randomisation. Default: two-way ANOVA; the"
            " bootstrap for two systems.",
            detail=f"Tests: {', '.join(_TEST_NAMES)}.",
        ),
        declaring.option(
            "--correction",
            type=declaring.KnownName(lambda: CORRECTIONS),
            help="Correction for multiple comparisons, such as holm. Default: Tukey's HSD for"
            " ANOVA (bootstrapped over topics for anova-2); Holm's method for most tests of pairs.",
            detail=f"Corrections: {', '.join(CORRECTIONS)}.",
        ),
        *make_options(
            "cranfield.compare",
            "statistic alternative alpha missing exact threshold resamples seed",
        ),
    ),
)


def check_comparison(comparing: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of :func:`cranfield.compare`, checked before any file is read."""
    test, correction = comparing["test"], comparing["correction"]
    return {
        **comparing,
        "baseline": comparing["baseline"] or None,
        "test": None if test is None else find_test(test).info.name,
        "correction": None if correction is None else CORRECTIONS.find(correction),
    }


comparing_options = gather_options(dict, "comparing", _COMPARISON_OPTIONS)
