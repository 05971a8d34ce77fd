"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .collection_studies.leave_one_out import leave_one_out as leave_one_out
from .collection_studies.leave_one_out import LeaveOneOut as LeaveOneOut
from .collection_studies.leave_one_out import PoolDepths as PoolDepths, pool_depths as pool_depths
from .collection_studies.pooling import Pooling as Pooling
from .collection_studies.pooling import pooling as pooling
from .collection_studies.pools import Pools as Pools, pools as pools
from .collection_studies.rankings import teams_of as teams_of
from .measure_studies.concordance import Concordance as Concordance, concordance as concordance
from .measure_studies.correlations import Correlations as Correlations, correlate as correlate
from .measure_studies.discriminative import DiscriminativePower as DiscriminativePower
from .measure_studies.discriminative import discriminative_power as discriminative_power
from .measure_studies.concordance import InnateOrders as InnateOrders
from .measure_studies.concordance import innate_orders as innate_orders
from .measure_studies.predictive import PredictivePower as PredictivePower
from .measure_studies.predictive import predictive_power as predictive_power
from .measure_studies.swap_method import Swaps as Swaps
from .measure_studies.swap_method import swap_method as swap_method
from .prediction_study import Prediction as Prediction, prediction as prediction
from .scale_study import ScaleStudy as ScaleStudy
from .scale_study import study_scales as study_scales
from .test_studies.splits import agreement as agreement, publication_bias as publication_bias
from .test_studies.errors import (
    FalsePositives as FalsePositives,
    false_positives as false_positives,
)
from .test_studies.splits import SplitStudy as SplitStudy
from .test_studies.splits import split_topics as split_topics
from .test_studies.errors import PowerOfTests as PowerOfTests, power_of_tests as power_of_tests
from .topic_studies.expected_tau import ExpectedTau as ExpectedTau, expected_tau as expected_tau
from .topic_studies.extrapolation import Extrapolation as Extrapolation, extrapolate as extrapolate
from .topic_studies.variance_components import Facets as Facets, facets as facets
from .topic_studies.extrapolation import generalizability as generalizability
from .topic_studies.sample_study import stability as stability
from .topic_studies.sample_study import Stability as Stability
from .topic_studies.variance_components import Generalizability as Generalizability
from .interleaving_study import interleaving_sensitivity as interleaving_sensitivity
from .interleaving_study import Sensitivity as Sensitivity
from .reproduction import replicate as replicate, reproduce as reproduce
from .reproduction import replicate_scores as replicate_scores, reproduce_scores as reproduce_scores
from .reproduction_result import Reproduction as Reproduction
from .work import run_parts as run_parts
