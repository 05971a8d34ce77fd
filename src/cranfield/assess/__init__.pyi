"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .labels.reading import read_labels as read_labels
from .labels.table import Labels as Labels
from .labels.consensus import Consensus as Consensus
from .labels.models import dawid_skene as dawid_skene
from .labels.models import glad as glad
from .labels.models import mace as mace
from .labels.consensus import majority as majority, wawa as wawa
from .labels.models import one_coin as one_coin
from .labels.aware import aware as aware
from .labels.consensus import LeadRule as LeadRule, Stopped as Stopped
from .judges.comparison import (
    JudgeComparison as JudgeComparison,
    compare_judges as compare_judges,
)
from .pools.pool import pool as pool
from .pools.pool import Pool as Pool, Unjudged as Unjudged
from .judges.bias import (
    SelfPreference as SelfPreference,
    self_preference as self_preference,
)
from .judges.bias import ScoreBias as ScoreBias, score_bias as score_bias
from .judges.tolerances import Decisions as Decisions, decide as decide
from .judges.prompts import ParsedAnswers as ParsedAnswers, parse_answers as parse_answers
from .judges.prompts import make_prompts as make_prompts
from .judges.rankings import JudgeRankings as JudgeRankings, judge_rankings as judge_rankings
from .judges.reading import Judge as Judge, read_judges as read_judges
from .judges.rankings import judges_as_runs as judges_as_runs
from .estimates.means import PPIMeans as PPIMeans
from .estimates.means import ppi_mean as ppi_mean
from .sampling_designs import allocation as allocation
from .estimates.means import stratified_mean as stratified_mean
from .agreement.result import agreement_of as agreement_of
from .agreement.result import Agreement as Agreement
from .agreement.distributions import cem_ord as cem_ord, divergence as divergence
from .samples import Sample as Sample, sample as sample
from .samples import EstimatedRelevant as EstimatedRelevant
from .stops import parse_rule as parse_rule, rules as rules
from .stops import Rule as Rule
from .stops import Stopping as Stopping, Verdict as Verdict, stopping as stopping
from .stops import stopping_by_topic as stopping_by_topic
from .dealing import Sheets as Sheets, sheets as sheets
from .estimates.answers import PPIAnswers as PPIAnswers, ppi_answers as ppi_answers
from .estimates.grades import PPIGrades as PPIGrades, ppi_grades as ppi_grades
from .estimates.scores import PPIScores as PPIScores
from .estimates.scores import ppi_scores as ppi_scores
from .pools.method import methods as methods, parse_method as parse_method
from .pools.method import Method as Method
from .pools.orders import Order as Order, order as order
from .pools.orders import NextDocuments as NextDocuments, next_documents as next_documents
