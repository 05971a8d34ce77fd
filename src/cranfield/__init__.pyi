"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from . import (
    assess as assess,
    bundled as bundled,
    campaign as campaign,
    correlation as correlation,
    measures as measures,
    meta as meta,
    online as online,
    scales as scales,
    sessions as sessions,
    significance as significance,
    texts as texts,
)
from .base.errors import (
    ArgumentError as ArgumentError,
    CranfieldError as CranfieldError,
    CranfieldWarning as CranfieldWarning,
    ForkError as ForkError,
    InputError as InputError,
    MeasureError as MeasureError,
    MissingDependencyError as MissingDependencyError,
    PolicyError as PolicyError,
)
from .base.scale_types import Scale as Scale
from .base.version import __version__ as __version__
from .campaign.checks.file_checks import FileChecks as FileChecks, check as check
from .collection.files.many_runs import Runs as Runs, read_runs as read_runs
from .collection.files.reading import read_qrels as read_qrels, read_run as read_run
from .collection.files.writing import write_qrels as write_qrels, write_run as write_run
from .collection.judged.judged_runs import JudgedRuns as JudgedRuns
from .collection.judged.judging import judge as judge
from .collection.policies import Policies as Policies
from .collection.probabilities import (
    Probabilities as Probabilities,
    read_probabilities as read_probabilities,
)
from .collection.qrels import Qrels as Qrels
from .collection.run import Run as Run
from .collection.shards import random_shards as random_shards, read_shards as read_shards
from .evaluation.evaluation import evaluate_answers as evaluate_answers
from .evaluation.evaluate_runs import evaluate as evaluate, score_samplings as score_samplings
from .evaluation.evaluation import Evaluation as Evaluation, score as score
from .evaluation.probable_scores import (
    ExpectedScores as ExpectedScores,
    evaluate_probabilities as evaluate_probabilities,
)
from .evaluation.scorefiles import read_scores as read_scores
from .evaluation.stochastic_rankings import (
    EquityOfAttention as EquityOfAttention,
    equity_of_attention as equity_of_attention,
    expected_exposure as expected_exposure,
)
from .evaluation.tie_ranges import TieRanges as TieRanges, tie_ranges as tie_ranges
from .evaluation.evaluate_runs import evaluate_sessions as evaluate_sessions
from .fusion.fusing import fuse as fuse, fusion_methods as fusion_methods
from .measures.base import Measure as Measure
from .measures.grammar import define as define, parse_measure as parse_measure
from .measures.grammar import parse_measures as parse_measures
from .measures.texts.trailtext import score_trailtexts as score_trailtexts
from .measures.texts.trailtext import u_measure as u_measure
from .reporting import charts as charts
from .reporting.page.report_page import report as report
from .reporting.references import cite as cite
from .reporting.tables import study_tables as study_tables, table as table
from .scales.images.values import image as image
from .scales.interval_scaled import interval as interval
from .scales.statements import meaningfulness as meaningfulness
from .scales.measure_scales import scale_of as scale_of
from .scores import Scores as Scores
from .sessions import read_sessions as read_sessions
from .significance.checklist import Checklist as Checklist, checklist as checklist
from .significance.comparison.compare import compare as compare
from .significance.comparison.result import PairwiseComparison as PairwiseComparison
from .significance.cost import (
    CostEffectiveness as CostEffectiveness,
    cost_effectiveness as cost_effectiveness,
)
from .significance.models.factors import (
    FactorialAnova as FactorialAnova,
    factorial_anova as factorial_anova,
)
from .significance.preferences import (
    Corroboration as Corroboration,
    PreferenceComparison as PreferenceComparison,
    compare_preferences as compare_preferences,
    corroborate as corroborate,
)
from .significance.replicates import (
    ReplicateSummary as ReplicateSummary,
    group_replicates as group_replicates,
    summarise_replicates as summarise_replicates,
)
from .significance.risk_sensitivity import Risk as Risk, risk as risk
from .significance.summary import Summary as Summary, summarise as summarise
