"""Where each measure is defined: the one list of their names, in the order of the catalogue.

From it come the objects of :mod:`cranfield.measures`, what the grammar understands and the order of
the registry. A module is loaded when one of its measures is named. Behind `=` stand other names
that are understood. Measures of a measure and measures of texts come last.
"""

from cranfield.base.words import homes_of

_FAMILIES = """
ranked.precision: P=Precision R=Recall gP=GeneralisedPrecision gR=GeneralisedRecall RelP
  Success=HitRate Rprec=RPrec RR=MRR
ranked.average_precision: AP=MAP GMAP IPrec AP11 infAP=InfAP
ranked.sets: NumQ NumRet NumRel NumRelRet NumNonrelRet Judged Unjudged
ranked.dcg: DCG nDCG=NDCG=MSnDCG
ranked.dcg: nDCGrel RnDCG G binG
ranked.preference: Bpref=BPref=bpref GMBpref
ranked.sets: SetP SetR SetRelP SetAP SetF SetE Utility
users.rank_biased: RBP RBPResidual
users.expected_reciprocal_rank: ERR nERR
aspects.multi_aspect: uRBP cRBP aRBP
aspects.compatibility: Compat CompatDiff
ranked.ntcir: Q=QMeasure RMeasure OMeasure PMeasure PPlus NCU EBR
diversity.intent_aware: AP_IA=MAP_IA P_IA StRecall=IRec=I_rec PQ
diversity.novelty: alpha_DCG=α_DCG alpha_nDCG=α_nDCG ERR_IA nERR_IA NRBP nNRBP
fairness.attention: IAA
fairness.expected_exposure: EEL EED EER
fairness.exposure_ratios: DP EUR RUR logDP logEUR logRUR
fairness.prefix_fairness: rND rRD rKL
fairness.prefix_fairness: FAIR
fairness.pair_fairness: PairParity
fairness.attention: AWRF
ranked.average_precision: GAP=GradedAP gAP=GeneralisedAP
ranked.preference: Rpref=rpref
ranked.sampled: xinfAP infP infNDCG=infnDCG statAP=StatAP
ranked.precision: WRR=WeightedRR
users.expected_reciprocal_rank: iRBU
sessions.clicks: ClickU
sessions.dcg: sDCG nsDCG
users.wanted_gain: BPM BPMDynamic
users.clicks: uM=uDBN=uSDBN=uPBM rrM=rrDBN=rrSDBN
users.continuing: CWL
users.browsing: EBU uUBM uDCM rrDCM uCCM rrCCM
users.wanted_gain: INST INSQ SDCG
users.markov: MP=MarkovPrecision
users.satisfied: NERR8 NERR9 NERR10 NERR11
users.reading_text: TBG
users.reading_text: U=UMeasure
risk: URisk TRisk
aspects.multi_aspect: CAM MM
diversity.global_gain: D DIN
diversity.intent_aware: IA Sharp
ranked.equivalence: Classes
users.expectation: EU ETU EC ETC Depth Residual
cranfield.scales.interval_scaled: interval
texts.citation_measures: CitationPrecision CitationRecall CitationF ALCERecall ALCEPrecision
texts.nugget_measures: NuggetRecall WRecall NuggetPrecision NuggetF
texts.one_click: SMeasure SFlat TMeasure TFlat SSharp
texts.nugget_measures: AllScore VitalScore WeightedScore
texts.rouge: RougeN RougeS RougeSU RougeL RougeLsum
"""

KINDS = ("measure", "measure of a measure", "measure of texts")
"""What a measure can be: of rankings, of another measure inside, of answers and summaries."""

_HOMES, ALIASES = homes_of(_FAMILIES)
HOME = {
    name: at if at.startswith("cranfield.") else f"cranfield.measures.{at}"
    for name, at in _HOMES.items()
}
"""The module that defines each measure, by name; and the measure that each other name means."""
