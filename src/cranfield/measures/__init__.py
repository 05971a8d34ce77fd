"""Measures: from judged runs to scores.

Every measure is an object here under its name in text; `@` sets its cutoff and a call its
parameters.

>>> from cranfield.measures import RBP, nDCG
>>> nDCG @ 10, RBP(p=0.5)
(nDCG@10, RBP(p=0.5))
"""

from cranfield.measures import risk
from cranfield.measures.aspects import biased, compatibility, multi_aspect
from cranfield.measures.base import ALIASES, REGISTRY, Info, Measure
from cranfield.measures.define import define
from cranfield.measures.diversity import global_gain, intent_aware, novelty
from cranfield.measures.fairness import (
    attention,
    expected_exposure,
    exposure_ratios,
    fair_prefixes,
    pair_fairness,
    prefix_fairness,
    rank_fairness,
)
from cranfield.measures.grammar import parse_measure, parse_measures, wrapper
from cranfield.measures.ranked import (
    average_precision,
    counts,
    dcg,
    dcg_variants,
    equivalence,
    graded_ap,
    ntcir,
    precision,
    preference,
    preference_graded,
    sampled,
    sets,
    weighted_rank,
)
from cranfield.measures.sessions import clicks as session_clicks
from cranfield.measures.sessions import dcg as session_dcg
from cranfield.measures.users import (
    bejewelled,
    clicks,
    expected_reciprocal_rank,
    markov,
    rank_biased,
    satisfied,
    time_biased,
    trailtext,
    wanted_gain,
)
from cranfield.measures.users.model import UserModel
from cranfield.measures.users.wrappers import EC, ETC, ETU, EU, Depth, Residual

P = precision.Precision()
R = precision.Recall()
gP = precision.GeneralisedPrecision()
gR = precision.GeneralisedRecall()
RelP = precision.RelativePrecision()
Success = precision.Success()
Rprec = precision.RPrecision()
RR = precision.ReciprocalRank()
SetP = sets.SetPrecision()
SetR = sets.SetRecall()
SetRelP = sets.SetRelativePrecision()
SetAP = sets.SetAveragePrecision()
SetF = sets.FMeasure()
SetE = sets.EMeasure()
Utility = sets.Utility()
AP = average_precision.AveragePrecision()
GMAP = average_precision.GeometricAveragePrecision()
IPrec = average_precision.InterpolatedPrecision()
AP11 = average_precision.ElevenPointAveragePrecision()
infAP = average_precision.InferredAveragePrecision()
Bpref = preference.BinaryPreference()
GMBpref = preference.GeometricBinaryPreference()
DCG = dcg.DCG()
nDCG = dcg.nDCG()
nDCGrel = dcg_variants.nDCGAtRelevant()
RnDCG = dcg_variants.nDCGAtLevels()
G = dcg_variants.NormalisedGain()
binG = dcg_variants.BinaryGain()
RBP = rank_biased.RankBiasedPrecision()
RBPResidual = rank_biased.RankBiasedResidual()
ERR = expected_reciprocal_rank.ExpectedReciprocalRank()
nERR = expected_reciprocal_rank.NormalisedExpectedReciprocalRank()
Q = ntcir.QMeasure()
RMeasure = ntcir.RMeasure()
OMeasure = ntcir.OMeasure()
PMeasure = ntcir.PMeasure()
PPlus = ntcir.PPlusMeasure()
NCU = ntcir.NormalisedCumulativeUtility()
EBR = ntcir.ExpectedBlendedRatio()
INST = wanted_gain.INST()
INSQ = wanted_gain.INSQ()
SDCG = wanted_gain.ScaledDCG()
alpha_DCG = novelty.AlphaDCG()
alpha_nDCG = novelty.AlphaNDCG()
ERR_IA = novelty.ERRIA()
nERR_IA = novelty.NormalisedERRIA()
NRBP = novelty.NoveltyRBP()
nNRBP = novelty.NormalisedNRBP()
AP_IA = intent_aware.AveragePrecisionIA()
P_IA = intent_aware.PrecisionIA()
StRecall = intent_aware.SubtopicRecall()
PQ = intent_aware.PPlusQ()
IA = intent_aware.IntentAware
Sharp = intent_aware.Sharp
D = global_gain.GlobalGain
URisk = risk.RiskReward
TRisk = risk.StandardisedRisk
DIN = global_gain.TypeSensitiveGlobalGain
GAP = graded_ap.GradedAveragePrecision()
gAP = graded_ap.KishidaAveragePrecision()
WRR = weighted_rank.WeightedReciprocalRank()
iRBU = weighted_rank.IntentwiseRankBiasedUtility()
Rpref = preference_graded.GradedPreference()
xinfAP = sampled.ExtendedInferredAP()
infP = sampled.InferredPrecision()
infNDCG = sampled.InferredNDCG()
statAP = sampled.StatisticalAP()
Classes = equivalence.ByClasses
uRBP = biased.UnderstandabilityRBP()
cRBP = biased.CredibilityRBP()
aRBP = biased.AspectRBP()
CAM = multi_aspect.ConvexAggregation
MM = multi_aspect.MultidimensionalMeasure
Compat = compatibility.Compatibility()
CompatDiff = compatibility.CompatibilityDifference()
AWRF = rank_fairness.AttentionWeightedRankFairness()
EEL = expected_exposure.ExpectedExposureLoss()
EED = expected_exposure.ExpectedExposureDisparity()
EER = expected_exposure.ExpectedExposureRelevance()
DP = exposure_ratios.DemographicParity()
EUR = exposure_ratios.ExposedUtilityRatio()
RUR = exposure_ratios.RealisedUtilityRatio()
logDP = exposure_ratios.LogDemographicParity()
logEUR = exposure_ratios.LogExposedUtilityRatio()
logRUR = exposure_ratios.LogRealisedUtilityRatio()
rND = prefix_fairness.NormalisedDiscountedDifference()
rKL = prefix_fairness.NormalisedDiscountedDivergence()
rRD = prefix_fairness.NormalisedDiscountedRatio()
FAIR = fair_prefixes.RankedGroupFairness()
PairParity = pair_fairness.PairwiseParity()
IAA = attention.InequityOfAttention()
sDCG = session_dcg.SessionDCG()
nsDCG = session_dcg.NormalisedSessionDCG()
ClickU = session_clicks.ClickU()
NERR8 = satisfied.NERR8()
NERR9 = satisfied.NERR9()
NERR10 = satisfied.NERR10()
NERR11 = satisfied.NERR11()
BPM = bejewelled.BPM()
BPMDynamic = bejewelled.BPMDynamic()
TBG = time_biased.TimeBiasedGain()
U = trailtext.UMeasure()
MP = markov.MarkovPrecision()
uM = clicks.ClickUtility()
rrM = clicks.ClickEffort()
NumQ = counts.NumTopics()
NumRet = counts.NumRetrieved()
NumRel = counts.NumRelevant()
NumRelRet = counts.NumRelevantRetrieved()
NumNonrelRet = counts.NumNonrelevantRetrieved()
Judged = counts.JudgedShare()
Unjudged = counts.UnjudgedShare()

__all__ = [
    "GAP",
    "gAP",
    "WRR",
    "iRBU",
    "Rpref",
    "xinfAP",
    "infP",
    "infNDCG",
    "statAP",
    "Classes",
    "uRBP",
    "cRBP",
    "aRBP",
    "CAM",
    "MM",
    "Compat",
    "CompatDiff",
    "AWRF",
    "EEL",
    "EED",
    "EER",
    "DP",
    "EUR",
    "RUR",
    "logDP",
    "logEUR",
    "logRUR",
    "rND",
    "rKL",
    "rRD",
    "FAIR",
    "PairParity",
    "IAA",
    "sDCG",
    "nsDCG",
    "ClickU",
    "ALIASES",
    "AP_IA",
    "D",
    "DIN",
    "TRisk",
    "URisk",
    "ERR_IA",
    "IA",
    "NRBP",
    "PQ",
    "P_IA",
    "Sharp",
    "StRecall",
    "alpha_DCG",
    "alpha_nDCG",
    "nERR_IA",
    "nNRBP",
    "BPM",
    "BPMDynamic",
    "Depth",
    "EC",
    "ETC",
    "ETU",
    "EU",
    "MP",
    "NERR10",
    "NERR11",
    "NERR8",
    "NERR9",
    "Residual",
    "TBG",
    "U",
    "UserModel",
    "rrM",
    "uM",
    "Q",
    "RMeasure",
    "OMeasure",
    "PMeasure",
    "PPlus",
    "NCU",
    "EBR",
    "AP",
    "AP11",
    "DCG",
    "ERR",
    "GMAP",
    "INSQ",
    "INST",
    "RBP",
    "REGISTRY",
    "RR",
    "SDCG",
    "Bpref",
    "G",
    "GMBpref",
    "IPrec",
    "Info",
    "Judged",
    "Measure",
    "NumNonrelRet",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "R",
    "RBPResidual",
    "RelP",
    "RnDCG",
    "Rprec",
    "SetAP",
    "SetE",
    "SetF",
    "SetP",
    "SetR",
    "SetRelP",
    "Success",
    "Unjudged",
    "Utility",
    "binG",
    "define",
    "gP",
    "gR",
    "infAP",
    "nDCG",
    "nDCGrel",
    "nERR",
    "parse_measure",
    "parse_measures",
    "wrapper",
]
