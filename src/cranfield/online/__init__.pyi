"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .log.query_log import QueryLog as QueryLog
from .log.reading import read_log as read_log
from .log.scanning import scan_log as scan_log
from .log.reading import simulated_log as simulated_log
from .measures.documents import ExpectedClicks as ExpectedClicks, coec as coec
from .measures.documents import coec_of_totals as coec_of_totals, skip_above as skip_above
from .measures.measuring import OnlineMeasurements as OnlineMeasurements, measure as measure
from .measures.measuring import sums_by_unit as sums_by_unit
from .measures.online_measure import catalogue as catalogue
from .measures.online_measure import parse_online_measure as parse_online_measure
from .measures.online_measure import OnlineMeasure as OnlineMeasure
from .measures.survival import Survival as Survival, survival as survival
from .measures.measuring import UnitSums as UnitSums
from .interleaving.log_preference import impressions_needed as impressions_needed
from .interleaving.log_preference import preference as preference
from .interleaving.log_preference import preference_matrix as preference_matrix
from .interleaving.side_by_side import PreferenceMatrix as PreferenceMatrix
from .interleaving.side_by_side import preference_matrix_by_credits as preference_matrix_by_credits
from .interleaving.side_by_side import SideBySide as SideBySide, side_by_side as side_by_side
from .interleaving.preference import Preference as Preference
from .interleaving.preference import preference_by_credits as preference_by_credits
from .interleaving.preference import preference_of as preference_of
from .interleaving.checks import CascadeUser as CascadeUser, simulated_user as simulated_user
from .click_models.model import models as models, parse_model as parse_model
from .click_models.model import add_grades as add_grades
from .click_models.trained import ClickModel as ClickModel, train as train
from .click_models.trained import train_models as train_models
from .log.query_log import sessionise as sessionise
from .interleaving.method import Distribution as Distribution
from .interleaving.interleaver import DrawnLists as DrawnLists, Interleaver as Interleaver
from .interleaving.interleaver import interleave as interleave, InterleavedRuns as InterleavedRuns
from .interleaving.interleaver import interleave_runs as interleave_runs
from .interleaving.method import interleaving_methods as interleaving_methods
from .interleaving.method import parse_interleaving as parse_interleaving
from .interleaving.method import InterleavingMethod as InterleavingMethod
from .click_models.evaluation import ModelEvaluation as ModelEvaluation
from .click_models.evaluation import PerplexityGain as PerplexityGain
from .click_models.evaluation import evaluate_models as evaluate_models
from .click_models.evaluation import perplexity_gain as perplexity_gain
from .click_models.evaluation import RatePrediction as RatePrediction
from .click_models.evaluation import predict_rates as predict_rates
from .click_models.evaluation import predict_relevance as predict_relevance
from .off_policy.policy_value import policy_value as policy_value
from .off_policy.policy_value import PolicyValue as PolicyValue, WeightSummary as WeightSummary
from .off_policy.run_value import RankPropensities as RankPropensities
from .off_policy.run_value import rank_propensities as rank_propensities, run_value as run_value
from .interleaving.checks import Bias as Bias, Fidelity as Fidelity, bias as bias
from .interleaving.checks import fidelity as fidelity
from .calibration import ClickMoves as ClickMoves, click_moves as click_moves
from .calibration import Persistence as Persistence, rbp_persistence as rbp_persistence
from .calibration import TimeCalibration as TimeCalibration, calibrate_tbg as calibrate_tbg
from .experiments.estimates import always_valid_inference as always_valid_inference
from .experiments.analysis import analyse_experiment as analyse_experiment
from .experiments.totals import analyse_totals as analyse_totals
from .experiments.design import Experiment as Experiment, check_assignment as check_assignment
from .experiments.estimates import Metric as Metric
from .experiments.report import ExperimentReport as ExperimentReport, SampleRatio as SampleRatio
from .experiments.report import sample_ratio as sample_ratio
from .experiments.design import ExperimentSize as ExperimentSize, experiment_size as experiment_size
from .experiments.aa_tests import AATests as AATests, simulate_aa_tests as simulate_aa_tests
