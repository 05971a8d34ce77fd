"""What scores may mean: scales, images of measures, interval-scaled measures, statements."""

from cranfield.base.border import close_border
from cranfield.scales.images.making import image
from cranfield.scales.images.representation import Gaps
from cranfield.scales.images.values import Image
from cranfield.scales.interval_scaled import Interval, interval
from cranfield.scales.orders.difference_axioms import difference_axioms
from cranfield.scales.orders.partial_order import at_or_below, covers, levels, order_matrix
from cranfield.scales.orders.total_orders import (
    induced,
    natural_distance,
    rbto,
    rbto_runs,
    sbto,
    sbto_runs,
)
from cranfield.scales.runs import all_runs, score_runs
from cranfield.scales.statements.admissible import (
    admitted_statistics,
    admitted_tests,
    allows,
    needed_for,
)
from cranfield.scales.statements.decisions import decisions_kept
from cranfield.scales.statements.dominance import Dominance, dominance
from cranfield.scales.statements.meaningful import Meaning, meaning
from cranfield.scales.verdicts.over_topics import scale_over_topics
from cranfield.scales.verdicts.scale_of import scale_of
from cranfield.scales.verdicts.verdicts import ScaleReport, TopicsReport

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


close_border(__name__, __all__)
