"""Options of the study of scales, with the defaults of Ferrante, Ferro and Fuhr (2021)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from cranfield.base.errors import MeasureError, PolicyError, check_choice
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.meta.study_options import whole_numbers
from cranfield.meta.test_studies.fast_tests import label_scores, read_choice
from cranfield.scales.images.values import TIES
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import as_measure
from cranfield.significance.registry import Options

MEASURES = (
    "P",
    "RBP(p=0.5)",
    "RR",
    "RBP(p=0.3)",
    "RBP(p=0.8)",
    "DCG(discount='max(1,log2(rank))')",
    "DCG(discount='max(1,log10(rank))')",
    "R",
    "AP",
    "nDCG(discount='max(1,log2(rank))')",
    "nDCG(discount='max(1,log10(rank))')",
)
"""The measures of the paper, in the order of its table 2."""

CUTOFFS = (5, 10, 20, 30)
"""The cutoffs of the paper."""

TESTS = (
    ("sign", "none"),
    ("rank-sum", "none"),
    ("signed-rank", "none"),
    ("t", "none"),
    ("anova-1", "tukey"),
    ("kruskal-wallis", "tukey"),
    ("anova-2", "tukey"),
    ("friedman", "tukey"),
)
"""The tests of the paper, with their corrections, in the order of its table 5."""

_TRIAL_SCORES = label_scores(
    np.array([[0.1, 0.4, 0.9], [0.5, 0.6, 0.3], [0.2, 0.3, 0.8], [0.7, 0.2, 0.1]])
)
"""Scores of three systems; tests that support these scores support those of any study."""


@dataclass(frozen=True)
class ScaleOptions:
    """The options of a study of scales; made by :func:`scale_options`."""

    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    tests: tuple[tuple[str, str], ...]
    ties: str
    alpha: float
    exact_n: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(measure.label for measure in self.measures)

    def versions(self, cutoff: int) -> list[tuple[Measure, Interval]]:
        """Return each measure at a cutoff, and its interval-scaled version."""
        measures = [measure @ cutoff for measure in self.measures]
        return [(m, Interval(m, ties=self.ties, raw=True)) for m in measures]

    def require(self, grades: int, runs: int) -> None:
        """Raise an error if exact ranks cannot be computed for these grades and rankings.

        grades: the highest grade. runs: number of rankings.
        """
        reasons: dict[str, str] = {}
        for measure, ranked in chain.from_iterable(map(self.versions, self.cutoffs)):
            try:
                ranked.require(grades, runs)
            except PolicyError as error:
                reasons[str(measure)] = str(error)
        if reasons:
            raise PolicyError(
                f"the study requires exact ranks, which cannot be computed for"
                f" {', '.join(reasons)}: {next(iter(reasons.values()))}"
            )


def scale_options(
    measures: Any,
    cutoffs: Any,
    tests: Any,
    ties: str = "unique",
    alpha: float = 0.05,
    exact_n: int = Options.exact_n,
) -> ScaleOptions:
    """Parse and check the options of a study of scales."""
    texts = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not texts:
        raise PolicyError("expected at least one measure, got none")
    parsed = tuple(_without_cutoff(measure) for measure in texts)
    lengths = whole_numbers("cutoff", cutoffs)
    choices = [read_choice(test, alpha=alpha, missing=None, resamples=1000) for test in tests]
    for choice in choices:
        choice.prepare(_TRIAL_SCORES)
    Options(alpha=alpha, exact_n=exact_n)
    check_choice("ties", ties, TIES)
    labels = [f"measure {measure}" for measure in parsed]
    labels += [f"test {choice.test}" for choice in choices]
    for label in labels:
        if labels.count(label) > 1:
            raise PolicyError(f"{label} is repeated")
    parsed_tests = tuple((choice.test, choice.correction or "") for choice in choices)
    options = ScaleOptions(parsed, lengths, parsed_tests, ties, alpha, exact_n)
    # Raises an error for measures that cannot be interval-scaled.
    options.versions(lengths[0])
    return options


def _without_cutoff(measure: str | Measure) -> Measure:
    """Parse a measure without a cutoff; some measures have no text form without one."""
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure
    if isinstance(measure, Measure) or "@" in measure:
        raise PolicyError(f"expected a measure without cutoff, got {measure}; the study adds it")
    try:
        return parse_measure(f"{measure}@1")(cutoff=None).with_label(measure)
    except MeasureError:
        # The error for the unchanged text may be clearer.
        as_measure(measure, 1)
        raise
