"""What a study of scales is asked for, checked before anything is read or computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import MeasureError, PolicyError, quoted
from cranfield.measures import Measure, parse_measure
from cranfield.scales.images.values import TIES
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import as_measure
from cranfield.significance.comparison.compare import compare
from cranfield.significance.corrections.catalogue import find_correction
from cranfield.significance.options import Options
from cranfield.significance.tests.catalogue import find_test

TRIAL = {"a": [0.1, 0.5, 0.2, 0.7], "b": [0.4, 0.6, 0.3, 0.2], "c": [0.9, 0.3, 0.8, 0.1]}
"""Scores of three systems: a test that goes with these goes with those of any study."""


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
        return tuple(one.label for one in self.measures)

    def about(self) -> dict[str, Any]:
        """Return what the parts of a study depend on besides their tasks and the runs."""
        about = {"measures": self.names, "tests": self.tests, "ties": self.ties}
        return {**about, "alpha": self.alpha, "exact_n": self.exact_n}

    def versions(self, cutoff: int) -> list[tuple[Measure, Interval]]:
        """Return each measure at a cutoff, and its interval-scaled version."""
        plain = [one @ cutoff for one in self.measures]
        return [(one, Interval(one, ties=self.ties, raw=True)) for one in plain]

    def require(self, grades: int, runs: int) -> None:
        """Refuse a study that needs ranks beyond reach, by the highest grade and how many rankings.

        The message names the measures and cutoffs that are, and why the first of them is.
        """
        refused: dict[str, str] = {}
        for cutoff in self.cutoffs:
            for plain, ranked in self.versions(cutoff):
                try:
                    ranked.require(grades, runs)
                except PolicyError as error:
                    refused[str(plain)] = str(error)
        if refused:
            why = next(iter(refused.values()))
            raise PolicyError(
                f"the study needs exact ranks, which are beyond reach for {', '.join(refused)}:"
                f" {why}"
            )


def scale_options(
    measures: Any,
    cutoffs: Any,
    tests: Any,
    ties: str = "unique",
    alpha: float = 0.05,
    exact_n: int = Options.exact_n,
) -> ScaleOptions:
    """Check what is asked of a study of scales; no tests leave out what they would say."""
    given = [measures] if isinstance(measures, (str, Measure)) else measures
    wanted = [_without_cutoff(one) for one in _listed(given, "measures", "measures without cutoff")]
    lengths = []
    for one in _listed(cutoffs, "cutoffs", "whole numbers, such as [5, 10]"):
        check_whole("a cutoff", one, 1)
        lengths.append(int(one))
    pairs = "tests with a correction of each, such as [('t', 'holm')]"
    # Without tests there is no table of changes, and the rest of the study.
    chosen = [_test(one, alpha, pairs) for one in _listed(tests, "tests", pairs, least=0)]
    Options(alpha=alpha, exact_n=exact_n)
    if ties not in TIES:
        raise PolicyError(f"ties={ties!r} is none of {', '.join(TIES)}")
    _once([str(one) for one in wanted], "measure")
    _once([str(one) for one in lengths], "cutoff")
    _once([test for test, _ in chosen], "test")
    made = ScaleOptions(tuple(wanted), tuple(lengths), tuple(chosen), ties, alpha, exact_n)
    made.versions(lengths[0])
    return made


def _listed(given: Any, what: str, of: str, *, least: int = 1) -> list[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise PolicyError(f"{what} are a list of {of}, not {quoted(given)}")
    found = list(given)
    if len(found) < least:
        raise PolicyError(f"there are no {what}; the study needs one at least")
    return found


def _once(names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f"{what} {name} is asked for twice")


def _without_cutoff(measure: Any) -> Measure:
    """Read a measure whose cutoff the study sets; some have no other text form than with one."""
    if isinstance(measure, str):
        if "@" in measure:
            raise PolicyError(f"{quoted(measure)} has a cutoff; the study sets them")
        try:
            return parse_measure(f"{measure}@1")(cutoff=None).asked_for(measure)
        except MeasureError:
            # Its own text may say better what is wrong.
            as_measure(measure, 1)
            raise
    if not isinstance(measure, Measure):
        raise MeasureError(f"{type(measure).__name__} is neither a measure nor its text")
    if measure.cutoff is not None:
        raise PolicyError(f"{measure} has a cutoff; the study sets them")
    return measure


def _test(given: Any, alpha: float, form: str) -> tuple[str, str]:
    """Find a test and its correction, and try them."""
    pair = [] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if len(pair) != 2 or not all(isinstance(one, str) for one in pair):
        raise PolicyError(f"tests are a list of {form}; {quoted(given)} is none")
    test, correction = find_test(pair[0]).info.name, find_correction(pair[1])
    trial = {name: np.array(scores) for name, scores in TRIAL.items()}
    compare(trial, test=test, correction=correction, alpha=alpha)
    return test, correction
