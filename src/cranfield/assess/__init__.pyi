"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .labels.reading import read_labels as read_labels
from .labels.table import Labels as Labels
from .labels.consensus import Consensus as Consensus, majority as majority, wawa as wawa
from .labels.consensus import LeadRule as LeadRule, StoppedLabels as StoppedLabels
from .labels.models import dawid_skene as dawid_skene, glad as glad, mace as mace
from .labels.models import one_coin as one_coin
from .labels.aware import aware as aware
from .judges.comparison import JudgeComparison as JudgeComparison, compare_judges as compare_judges
from .pools.pool import Pool as Pool, Unjudged as Unjudged, pool as pool
from .judges.bias import SelfPreference as SelfPreference, self_preference as self_preference
from .judges.bias import ScoreBias as ScoreBias, score_bias as score_bias
from .judges.tolerances import Decisions as Decisions, decide as decide
from .judges.prompts import ParsedAnswers as ParsedAnswers, parse_answers as parse_answers
from .judges.prompts import make_prompts as make_prompts
from .judges.rankings import JudgeRankings as JudgeRankings, judge_rankings as judge_rankings
from .judges.rankings import judges_as_runs as judges_as_runs
from .judges.reading import Judge as Judge, read_judges as read_judges
from .estimates.means import PPIMeans as PPIMeans, ppi_mean as ppi_mean
from .estimates.means import stratified_mean as stratified_mean
from .estimates.scores import PPIAnswers as PPIAnswers, ppi_answers as ppi_answers
from .estimates.scores import PPIScores as PPIScores, ppi_scores as ppi_scores
from .estimates.grades import PPIGrades as PPIGrades, ppi_grades as ppi_grades
from .agreement.result import Agreement as Agreement, agreement_of as agreement_of
from .agreement.distributions import cem_ord as cem_ord, divergence as divergence
from .sampling_designs import allocation as allocation
from .samples import EstimatedRelevant as EstimatedRelevant, Sample as Sample, sample as sample
from .stops import Rule as Rule, parse_rule as parse_rule, rules as rules
from .stops import Stopping as Stopping, Verdict as Verdict, stopping as stopping
from .stops import stopping_by_topic as stopping_by_topic
from .assignment import JudgingSheets as JudgingSheets, sheets as sheets
from .pools.method import Method as Method, methods as methods, parse_method as parse_method
from .pools.orders import Order as Order, order as order
from .pools.orders import NextDocuments as NextDocuments, next_documents as next_documents
