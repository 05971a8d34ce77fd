"""The scale of a measure, and what its interval-scaled version changes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.base.arrays import Floats, to_order
from cranfield.base.errors import CranfieldError, CranfieldWarning
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import Measure
from cranfield.scales.interval_scaled import Interval, interval
from cranfield.scales.statements.meaningful import differs_by_topic
from cranfield.scales.verdicts.scale_of import scale_of
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison

LONGEST = 100
"""Cutoffs up to which a report interval-scales additive measures: P, R, DCG, nDCG, RBP."""

LONGEST_WALK = 20
"""Cutoffs up to which it does so for others, such as AP, whose images take longer to count."""

ADDITIVE = ("P", "R", "F", "gP", "gR", "RBP", "DCG", "nDCG", "RR", "Success")
"""Measures whose images are counted quickly at any length in reach."""


@dataclass(frozen=True)
class Scaled:
    """Conclusions by a measure, and by its interval-scaled version.

    Pairs that differ by the measure, and by the version; those that no longer differ (S2NS), and
    those that only then do (NS2S); Kendall's tau of the means; and that it is a surrogate, if so.
    """

    name: str
    before: int
    after: int
    lost: int
    won: int
    tau: float
    note: str


@dataclass(frozen=True)
class Scaling:
    """What is known of the scale of a measure.

    The scale that it declares, and that found for its own order on runs as long as its cutoff, with
    the runs that show it; whether it depends on the recall base; what the interval-scaled version
    changes, or the reason why there is none. What is not known is empty, or None.
    """

    declared: str
    found: str
    why: str
    by_topic: bool | None
    scaled: Scaled | None
    reason: str


def scaling_of(
    measure: Measure | None,
    comparison: PairwiseComparison | None,
    evaluation: Evaluation | None,
    given: Mapping[str, Any],
    *,
    wanted: bool = True,
) -> Scaling:
    by_user = comparison is not None and comparison.scores.scale_source == "user"
    declared = comparison.measure_scale if comparison is not None else None
    stated = f"{declared}{', by the user' if by_user else ''}" if declared is not None else ""
    if measure is None:
        unknown = "nothing is known of this measure"
        return Scaling(stated, "", unknown, None, None, unknown)
    highest = 1 if evaluation is None else max(1, evaluation.judged.judgments.max_grade)
    found, why = _found(measure, highest)
    scaled, reason = None, "left out as asked"
    if wanted:
        scaled, reason = _scaled(measure, comparison, evaluation, given)
    if not stated:
        stated = str(measure.scale if evaluation is None else measure.scale_with(highest))
    return Scaling(stated, found, why, differs_by_topic(measure), scaled, reason)


def _found(measure: Measure, grades: int) -> tuple[str, str]:
    inner = measure.inner if isinstance(measure, Interval) else measure
    if inner is not measure:
        return str(measure.scale), "all its values are one step apart, by construction"
    if measure.cutoff is None:
        return "", "it has no cutoff, and the length of runs decides which values there are"
    try:
        own = scale_of(measure, grades=grades).own
    except CranfieldError as error:
        return "", str(error).removeprefix(f"{measure} ")
    shown = "" if own.witness is None else str(own.witness)
    how = f" ({own.reason})" if shown and own.reason else own.reason
    return own.word, shown + how


def _scaled(
    measure: Measure,
    comparison: PairwiseComparison | None,
    evaluation: Evaluation | None,
    given: Mapping[str, Any],
) -> tuple[Scaled | None, str]:
    if isinstance(measure, Interval):
        return None, "it is interval-scaled already"
    if comparison is None:
        return None, "systems are not compared by it"
    if evaluation is None:
        return None, "it needs the runs, and there are only their scores"
    if measure.cutoff is None:
        return None, "it has no cutoff"
    most = LONGEST if measure.name in ADDITIVE else LONGEST_WALK
    if measure.cutoff > most:
        return None, f"a report scales it up to cutoff {most}; cranfield study scales goes further"
    try:
        version = interval(measure)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", CranfieldWarning)
            scores = score(evaluation.judged, version)[version]
            after = compare(scores, **given)
    except CranfieldError as error:
        return None, str(error).removeprefix("interval: ").removeprefix(f"{measure} ")
    one, other = comparison.is_significant(), after.is_significant()
    # The note names a section of the work that the version comes from.
    work = version.info.source.split(", section")[0]
    own = re.sub(r"\((section [\d.]+) there\)", rf"({work}, \1)", version.info.scale_note)
    notes = [own, *(str(warning.message) for warning in told)]
    return Scaled(
        name=str(version),
        before=int(one.sum()),
        after=int(other.sum()),
        lost=int((one & ~other).sum()),
        won=int((~one & other).sum()),
        tau=float(kendall_tau(_means(comparison), _means(after))),
        note="; ".join(note for note in notes if note),
    ), ""


def _means(comparison: PairwiseComparison) -> Floats:
    return to_order(comparison.scores.mean())
