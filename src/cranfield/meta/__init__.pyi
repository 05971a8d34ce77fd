"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .of_collections.leave_one_out import leave_one_out as leave_one_out
from .of_collections.leave_one_out import LeaveOneOut as LeaveOneOut
from .of_collections.pool_depth import PoolDepths as PoolDepths, pool_depths as pool_depths
from .of_collections.pooling import Pooling as Pooling
from .of_collections.pooling import pooling as pooling
from .of_collections.pools import Pools as Pools, pools as pools
from .of_collections.rankings import teams_of as teams_of
from .of_measures.concordance import Concordance as Concordance, concordance as concordance
from .of_measures.correlations import Correlations as Correlations, correlate as correlate
from .of_measures.discriminative import (
    DiscriminativePower as DiscriminativePower,
    discriminative_power as discriminative_power,
)
from .of_measures.innate import InnateOrders as InnateOrders, innate_orders as innate_orders
from .of_measures.predictive import (
    PredictivePower as PredictivePower,
    predictive_power as predictive_power,
)
from .of_measures.swap_method import Swaps as Swaps
from .of_measures.swap_method import swap_method as swap_method
from .of_scales import ScaleStudy as ScaleStudy
from .of_scales import study_scales as study_scales
from .of_tests.splits import agreement as agreement, publication_bias as publication_bias
from .of_tests.errors import FalseAlarms as FalseAlarms, false_alarms as false_alarms
from .of_tests.splits import SplitStudy as SplitStudy
from .of_tests.splits import split_topics as split_topics
from .of_tests.errors import PowerOfTests as PowerOfTests, power_of_tests as power_of_tests
from .of_topics.expected_tau import ExpectedTau as ExpectedTau, expected_tau as expected_tau
from .of_topics.extrapolation import Extrapolation as Extrapolation, extrapolate as extrapolate
from .of_topics.variance_components import Facets as Facets, facets as facets
from .of_topics.extrapolation import generalizability as generalizability
from .of_topics.sample_study import stability as stability
from .of_topics.sample_study import Stability as Stability
from .of_topics.variance_components import Generalizability as Generalizability
from .of_users import interleaving_sensitivity as interleaving_sensitivity
from .of_users import Sensitivity as Sensitivity
from .reproduction import replicate as replicate, reproduce as reproduce
from .reproduction import replicate_scores as replicate_scores, reproduce_scores as reproduce_scores
from .reproduction_result import Reproduction as Reproduction
from .work import run_parts as run_parts
