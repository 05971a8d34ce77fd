"""What scores may mean: scales, images of measures, interval-scaled measures, statements."""

from cranfield.scales.admissible import (
    Dominance,
    admitted_statistics,
    admitted_tests,
    allows,
    dominance,
    needed_for,
)
from cranfield.scales.finding_scales import scale_of, scale_over_topics
from cranfield.scales.images.representation import Gaps
from cranfield.scales.images.values import Image, image
from cranfield.scales.interval_scaled import Interval, interval
from cranfield.scales.meaningful import Meaning, decisions_kept, meaning
from cranfield.scales.orders import (
    at_or_below,
    covers,
    difference_axioms,
    induced,
    levels,
    natural_distance,
    order_matrix,
    rbto,
    rbto_runs,
    sbto,
    sbto_runs,
)
from cranfield.scales.runs import all_runs, score_runs
from cranfield.scales.verdicts import ScaleReport, TopicsReport

__all__ = [
    "Dominance",
    "Gaps",
    "Image",
    "Interval",
    "Meaning",
    "ScaleReport",
    "TopicsReport",
    "admitted_statistics",
    "admitted_tests",
    "all_runs",
    "allows",
    "at_or_below",
    "covers",
    "decisions_kept",
    "difference_axioms",
    "dominance",
    "image",
    "induced",
    "interval",
    "levels",
    "meaning",
    "natural_distance",
    "needed_for",
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
