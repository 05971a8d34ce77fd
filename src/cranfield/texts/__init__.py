"""Measures of texts: of answers with nuggets and citations, and of summaries.

:func:`judge_answers`, :func:`read_nugget_assignments`, :func:`read_citations` and
:func:`judge_summaries` read what assessors found, and :func:`evaluate_answers` gives the scores.
"""

from cranfield.texts.answers import JudgedAnswers, judge_answers
from cranfield.texts.assignments import read_nugget_assignments
from cranfield.texts.base import (
    TEXT_MEASURES,
    TextMeasure,
    parse_text_measure,
    parse_text_measures,
)
from cranfield.texts.citations import JudgedCitations, read_citations
from cranfield.texts.cited import ALCEPrecisionMeasure as ALCEPrecision
from cranfield.texts.cited import ALCERecallMeasure as ALCERecall
from cranfield.texts.cited import CitationFMeasure as CitationF
from cranfield.texts.cited import CitationPrecisionMeasure as CitationPrecision
from cranfield.texts.cited import CitationRecallMeasure as CitationRecall
from cranfield.texts.evaluate import evaluate_answers
from cranfield.texts.gold import Nuggets, read_nuggets
from cranfield.texts.nuggets import NuggetFMeasure as NuggetF
from cranfield.texts.nuggets import NuggetPrecisionMeasure as NuggetPrecision
from cranfield.texts.nuggets import NuggetRecallMeasure as NuggetRecall
from cranfield.texts.nuggets import WRecallMeasure as WRecall
from cranfield.texts.one_click import SFlatMeasure as SFlat
from cranfield.texts.one_click import SMeasureMeasure as SMeasure
from cranfield.texts.one_click import SSharpMeasure as SSharp
from cranfield.texts.one_click import TFlatMeasure as TFlat
from cranfield.texts.one_click import TMeasureMeasure as TMeasure
from cranfield.texts.rag import AllScoreMeasure as AllScore
from cranfield.texts.rag import VitalScoreMeasure as VitalScore
from cranfield.texts.rag import WeightedScoreMeasure as WeightedScore
from cranfield.texts.rouge import RougeLMeasure as RougeL
from cranfield.texts.rouge import RougeLsumMeasure as RougeLsum
from cranfield.texts.rouge import RougeNMeasure as RougeN
from cranfield.texts.rouge import RougeSMeasure as RougeS
from cranfield.texts.rouge import RougeSUMeasure as RougeSU
from cranfield.texts.summaries import JudgedSummaries, judge_summaries

__all__ = [
    "ALCEPrecision",
    "ALCERecall",
    "AllScore",
    "CitationF",
    "CitationPrecision",
    "CitationRecall",
    "JudgedAnswers",
    "JudgedCitations",
    "JudgedSummaries",
    "NuggetF",
    "NuggetPrecision",
    "NuggetRecall",
    "Nuggets",
    "RougeL",
    "RougeLsum",
    "RougeN",
    "RougeS",
    "RougeSU",
    "SFlat",
    "SMeasure",
    "SSharp",
    "TEXT_MEASURES",
    "TFlat",
    "TMeasure",
    "TextMeasure",
    "VitalScore",
    "WRecall",
    "WeightedScore",
    "evaluate_answers",
    "judge_answers",
    "judge_summaries",
    "parse_text_measure",
    "parse_text_measures",
    "read_citations",
    "read_nugget_assignments",
    "read_nuggets",
]
