"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .labels.reading import read_labels as read_labels
from .labels.table import Labels as Labels
from .labels.consensus import Consensus as Consensus
from .labels.models.dawid_skene import dawid_skene as dawid_skene
from .labels.models.glad import glad as glad
from .labels.models.mace import mace as mace
from .labels.majority import majority as majority, wawa as wawa
from .labels.models.one_coin import one_coin as one_coin
from .labels.aware import aware as aware
from .labels.lead import LeadRule as LeadRule, Stopped as Stopped
from .judges.comparison import (
    JudgeComparison as JudgeComparison,
    compare_judges as compare_judges,
)
from .pools.making import pool as pool
from .pools.pool import Pool as Pool, Unjudged as Unjudged
from .judges.kin import KinBias as KinBias, kin_bias as kin_bias
from .judges.rankings import JudgeRankings as JudgeRankings, judge_rankings as judge_rankings
from .judges.reading import Judge as Judge, read_judges as read_judges
from .judges.scoring import judges_as_runs as judges_as_runs
from .estimates.means_with_limits import CorrectedMeans as CorrectedMeans
from .estimates.mean_of_both import corrected_mean as corrected_mean
from .estimates.strata_of_items import allocation as allocation
from .estimates.strata_of_items import stratified_mean as stratified_mean
from .agreement.among import agreement_of as agreement_of
from .agreement.result import Agreement as Agreement
from .samples.sample import Sample as Sample, sample as sample
from .samples.relevant import EstimatedRelevant as EstimatedRelevant
from .stops.catalogue import parse_rule as parse_rule, rules as rules
from .stops.rule import Rule as Rule
from .stops.stopping import Stopping as Stopping, Verdict as Verdict, stopping as stopping
from .stops.stopping import stopping_by_topic as stopping_by_topic
from .dealing import Sheets as Sheets, sheets as sheets
from .estimates.scores_with_limits import CorrectedScores as CorrectedScores
from .estimates.corrected import corrected_scores as corrected_scores
from .pools.catalogue import methods as methods, parse_method as parse_method
from .pools.method import Method as Method
from .pools.orders import Order as Order, order as order
from .pools.next_documents import (
    NextDocuments as NextDocuments,
    next_documents as next_documents,
)
