"""Evaluating the evaluation: how good the tests, the measures and the collection are."""

from cranfield.meta.of_collections.leave_one_out import LeaveOneOut, leave_one_out
from cranfield.meta.of_collections.pool_depth import PoolDepths, pool_depths
from cranfield.meta.of_collections.pools import Pools, pools
from cranfield.meta.of_collections.teams import teams_of
from cranfield.meta.of_measures.concordance import Concordance, concordance
from cranfield.meta.of_measures.correlations import Correlations, correlate
from cranfield.meta.of_measures.discriminative import DiscriminativePower, discriminative_power
from cranfield.meta.of_measures.predictive import PredictivePower, predictive_power
from cranfield.meta.of_measures.swap_result import Swaps
from cranfield.meta.of_measures.swaps import swap_method
from cranfield.meta.of_scales.scale_study import ScaleStudy, study_scales
from cranfield.meta.of_tests.agreement import agreement, publication_bias
from cranfield.meta.of_tests.false_alarms import FalseAlarms, false_alarms
from cranfield.meta.of_tests.split_result import SplitStudy
from cranfield.meta.of_tests.splits import split_topics
from cranfield.meta.of_topics.extrapolation import Extrapolation, extrapolate
from cranfield.meta.of_topics.generalizability import generalizability
from cranfield.meta.of_topics.resampling import stability
from cranfield.meta.of_topics.result import Stability
from cranfield.meta.of_topics.variance_components import Generalizability
from cranfield.meta.reproduction.of_runs import replicate, reproduce
from cranfield.meta.reproduction.of_scores import replicate_scores, reproduce_scores
from cranfield.meta.reproduction.result import Reproduction
from cranfield.meta.work.parts import run_parts

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
    "ScaleStudy",
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
    "study_scales",
    "swap_method",
    "teams_of",
]
