"""Evaluating the evaluation: how good the tests, the measures and the collection are."""

from cranfield.meta.agreement import agreement, publication_bias
from cranfield.meta.concordance import Concordance, concordance
from cranfield.meta.correlations import Correlations, correlate
from cranfield.meta.discriminative import DiscriminativePower, discriminative_power
from cranfield.meta.extrapolation import Extrapolation, extrapolate
from cranfield.meta.false_alarms import FalseAlarms, false_alarms
from cranfield.meta.generalizability import generalizability
from cranfield.meta.leave_one_out import LeaveOneOut, leave_one_out
from cranfield.meta.pool_depth import PoolDepths, pool_depths
from cranfield.meta.pools import Pools, pools
from cranfield.meta.predictive import PredictivePower, predictive_power
from cranfield.meta.reproducing import replicate, reproduce
from cranfield.meta.reproducing_scores import replicate_scores, reproduce_scores
from cranfield.meta.reproduction import Reproduction
from cranfield.meta.splits import SplitStudy, split_topics
from cranfield.meta.stability import stability
from cranfield.meta.stability_result import Stability
from cranfield.meta.swaps import Swaps, swap_method
from cranfield.meta.teams import teams_of
from cranfield.meta.variance_components import Generalizability
from cranfield.meta.work import run_parts

__all__ = [
    "Concordance",
    "Correlations",
    "DiscriminativePower",
    "Extrapolation",
    "FalseAlarms",
    "Generalizability",
    "LeaveOneOut",
    "Pools",
    "PoolDepths",
    "PredictivePower",
    "Reproduction",
    "SplitStudy",
    "Stability",
    "Swaps",
    "agreement",
    "concordance",
    "correlate",
    "discriminative_power",
    "extrapolate",
    "false_alarms",
    "generalizability",
    "leave_one_out",
    "pool_depths",
    "pools",
    "predictive_power",
    "publication_bias",
    "replicate",
    "replicate_scores",
    "reproduce",
    "reproduce_scores",
    "run_parts",
    "split_topics",
    "stability",
    "swap_method",
    "teams_of",
]
