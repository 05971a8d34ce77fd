"""What scores may mean: scales, images of measures, interval-scaled measures, statements."""

from cranfield.scales.admissible import (
    admitted_statistics,
    admitted_tests,
    allows,
    needed_for,
)
from cranfield.scales.differences import difference_axioms
from cranfield.scales.dominance import Dominance, dominance
from cranfield.scales.engine import Gaps
from cranfield.scales.image import image
from cranfield.scales.images import Image
from cranfield.scales.interval import Interval, interval
from cranfield.scales.meaning import meaning
from cranfield.scales.meanings import Meaning
from cranfield.scales.orders import induced, natural_distance, rbto, rbto_runs, sbto, sbto_runs
from cranfield.scales.over_topics import scale_over_topics
from cranfield.scales.partial import at_or_below, covers, levels, order_matrix
from cranfield.scales.runs import all_runs, score_runs
from cranfield.scales.scale_of import scale_of
from cranfield.scales.study import ScaleStudy, study_scales
from cranfield.scales.verdicts import ScaleReport, TopicsReport

__all__ = [
    "Dominance",
    "Gaps",
    "Image",
    "Interval",
    "Meaning",
    "ScaleReport",
    "ScaleStudy",
    "TopicsReport",
    "admitted_statistics",
    "admitted_tests",
    "all_runs",
    "allows",
    "at_or_below",
    "covers",
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
    "study_scales",
]
