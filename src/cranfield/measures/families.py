"""List of all measures and the modules that define them, in the order of the catalogue.

From it come the objects of :mod:`cranfield.measures`, what the grammar understands and the order of
the registry. A module is loaded when one of its measures is named. Behind `=` stand other names
that are understood. Measures of a measure and measures of texts come last.
"""

from __future__ import annotations

from typing import Any

from cranfield.base.errors import MeasureError
from cranfield.base.spec import Registry

_FAMILIES = """
ranked.precision: P=Precision R=Recall gP=GeneralisedPrecision gR=GeneralisedRecall RelP
  Success=HitRate Rprec=RPrec RR=MRR
ranked.average_precision: AP=MAP GMAP IPrec AP11 infAP=InfAP
ranked.sets: NumQ NumRet NumRel NumRelRet NumNonrelRet Judged Unjudged
ranked.dcg: DCG nDCG=NDCG=MSnDCG
ranked.dcg: nDCGrel RnDCG G binG
ranked.incomplete: Bpref=BPref=bpref GMBpref
ranked.sets: SetP SetR SetRelP SetAP SetF SetE Utility
users.stopping: RBP RBPResidual
users.stopping: ERR nERR
aspects: uRBP cRBP aRBP
aspects: Compat CompatDiff
ranked.ntcir: Q=QMeasure RMeasure OMeasure PMeasure PPlus NCU EBR
novelty: AP_IA=MAP_IA P_IA StRecall=IRec=I_rec PQ
novelty: alpha_DCG=α_DCG alpha_nDCG=α_nDCG ERR_IA nERR_IA NRBP nNRBP
fairness.attention: IAA
fairness.exposure: EEL EED EER
fairness.exposure: DP EUR RUR logDP logEUR logRUR
fairness.parity: rND rRD rKL
fairness.parity: FAIR
fairness.parity: PairParity
fairness.attention: AWRF
ranked.average_precision: GAP=GradedAP gAP=GeneralisedAP
ranked.incomplete: Rpref=rpref
ranked.incomplete: xinfAP infP infNDCG=infnDCG statAP=StatAP
ranked.precision: WRR=WeightedRR
users.stopping: iRBU
sessions: ClickU
sessions: sDCG nsDCG
users.effort: BPM BPMDynamic
users.clicks: uM=uDBN=uSDBN=uPBM rrM=rrDBN=rrSDBN
users.clicks: CWL
users.browsing: EBU uUBM uDCM rrDCM uCCM rrCCM
users.effort: INST INSQ SDCG
users.markov: MP=MarkovPrecision
users.stopping: NERR8 NERR9 NERR10 NERR11
users.effort: TBG
users.effort: U=UMeasure
wrapping: URisk TRisk
aspects: CAM MM
global_gain: D DIN
novelty: IA Sharp
wrapping: Classes
users.expectation: EU ETU EC ETC Depth Residual
cranfield.scales.interval_scaled: interval
texts.answers: CitationPrecision CitationRecall CitationF ALCERecall ALCEPrecision
texts.answers: NuggetRecall WRecall NuggetPrecision NuggetF
texts.answers: SMeasure SFlat TMeasure TFlat SSharp
texts.answers: AllScore VitalScore WeightedScore
texts.rouge: RougeN RougeS RougeSU RougeL RougeLsum
"""

KINDS = ("measure", "measure of a measure", "measure of texts")
"""What a measure can be: of rankings, of another measure inside, of answers and summaries."""

REGISTRY: Registry[Any] = Registry(
    "measure", _FAMILIES, package="cranfield.measures", error=MeasureError
)
"""Measures by name, those of one's own last."""

HOME, ALIASES = REGISTRY.homes, REGISTRY.aliases
"""The module that defines each measure, by name; and the measure that each other name means."""
