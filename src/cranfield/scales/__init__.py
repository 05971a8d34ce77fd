"""Measurement scales: scales, images of measures, interval-scaled measures, statements."""

from cranfield.scales.admissible import (
    Dominance,
    admits,
    admitted_statistics,
    admitted_tests,
    dominance,
    required_scale,
)
from cranfield.scales.images.representation import Gaps
from cranfield.scales.images.values import Image, image
from cranfield.scales.interval_scaled import Interval, interval
from cranfield.scales.measure_scales import scale_of, scale_over_topics
from cranfield.scales.orders import (
    at_or_below,
    covers,
    difference_axioms,
    induced_order,
    levels,
    natural_distance,
    order_matrix,
    rbto,
    rbto_runs,
    sbto,
    sbto_runs,
)
from cranfield.scales.runs import all_runs, score_runs
from cranfield.scales.statements import Meaningfulness, invariant_decisions, meaningfulness
from cranfield.scales.verdicts import ScaleReport, TopicsReport

__all__ = [
    "Dominance",
    "Gaps",
    "Image",
    "Interval",
    "Meaningfulness",
    "ScaleReport",
    "TopicsReport",
    "admitted_statistics",
    "admitted_tests",
    "all_runs",
    "admits",
    "at_or_below",
    "covers",
    "difference_axioms",
    "dominance",
    "image",
    "induced_order",
    "interval",
    "invariant_decisions",
    "levels",
    "meaningfulness",
    "natural_distance",
    "required_scale",
    "order_matrix",
    "rbto",
    "rbto_runs",
    "sbto",
    "sbto_runs",
    "scale_of",
    "scale_over_topics",
    "score_runs",
]


def __dir__() -> list[str]:
    return list(__all__)
