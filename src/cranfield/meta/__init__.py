"""Evaluating the evaluation: how good the tests, the measures and the collection are."""

from cranfield.meta.agreement import agreement, publication_bias
from cranfield.meta.concordance import Concordance, concordance
from cranfield.meta.correlations import Correlations, correlate
from cranfield.meta.discriminative import DiscriminativePower, discriminative_power
from cranfield.meta.false_alarms import FalseAlarms, false_alarms
from cranfield.meta.predictive import PredictivePower, predictive_power
from cranfield.meta.splits import SplitStudy, split_topics
from cranfield.meta.swaps import Swaps, swap_method

__all__ = [
    "Concordance",
    "Correlations",
    "DiscriminativePower",
    "FalseAlarms",
    "PredictivePower",
    "SplitStudy",
    "Swaps",
    "agreement",
    "concordance",
    "correlate",
    "discriminative_power",
    "false_alarms",
    "predictive_power",
    "publication_bias",
    "split_topics",
    "swap_method",
]
