"""Measures: from judged runs to scores.

Every measure is an object here under its name in text; `@` sets its cutoff and a call its
parameters.

>>> from cranfield.measures import RBP, nDCG
>>> nDCG @ 10, RBP(p=0.5)
(nDCG@10, RBP(p=0.5))
"""

from cranfield.measures import (
    average_precision,
    counts,
    cwl_bejewelled,
    cwl_clicks,
    cwl_nerr,
    dcg,
    dcg_variants,
    expected,
    markov,
    ntcir,
    precision,
    preference,
    sets,
    time_biased,
    trailtext,
    user_models,
)
from cranfield.measures.base import ALIASES, REGISTRY, Info, Measure
from cranfield.measures.cwl_expected import EC, ETC, ETU, EU, Depth, Residual
from cranfield.measures.cwl_model import UserModel
from cranfield.measures.define import define
from cranfield.measures.grammar import parse_measure, parse_measures, wrapper

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
RBP = user_models.RankBiasedPrecision()
RBPResidual = user_models.RankBiasedResidual()
ERR = user_models.ExpectedReciprocalRank()
nERR = user_models.NormalisedExpectedReciprocalRank()
Q = ntcir.QMeasure()
RMeasure = ntcir.RMeasure()
OMeasure = ntcir.OMeasure()
PMeasure = ntcir.PMeasure()
PPlus = ntcir.PPlusMeasure()
NCU = ntcir.NormalisedCumulativeUtility()
EBR = ntcir.ExpectedBlendedRatio()
INST = expected.INST()
INSQ = expected.INSQ()
SDCG = expected.ScaledDCG()
NERR8 = cwl_nerr.NERR8()
NERR9 = cwl_nerr.NERR9()
NERR10 = cwl_nerr.NERR10()
NERR11 = cwl_nerr.NERR11()
BPM = cwl_bejewelled.BPM()
BPMDynamic = cwl_bejewelled.BPMDynamic()
TBG = time_biased.TimeBiasedGain()
U = trailtext.UMeasure()
MP = markov.MarkovPrecision()
uM = cwl_clicks.ClickUtility()
rrM = cwl_clicks.ClickEffort()
NumQ = counts.NumTopics()
NumRet = counts.NumRetrieved()
NumRel = counts.NumRelevant()
NumRelRet = counts.NumRelevantRetrieved()
NumNonrelRet = counts.NumNonrelevantRetrieved()
Judged = counts.JudgedShare()
Unjudged = counts.UnjudgedShare()

__all__ = [
    "ALIASES",
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
