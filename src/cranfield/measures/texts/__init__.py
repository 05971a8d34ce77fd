"""Measures of answers, citations and summaries."""

from cranfield.measures.texts.base import (
    TEXT_MEASURES,
    TextMeasure,
    parse_text_measure,
    parse_text_measures,
)
from cranfield.measures.texts.citation_measures import (
    ALCEPrecisionMeasure as ALCEPrecision,
)
from cranfield.measures.texts.citation_measures import (
    ALCERecallMeasure as ALCERecall,
)
from cranfield.measures.texts.citation_measures import (
    CitationFMeasure as CitationF,
)
from cranfield.measures.texts.citation_measures import (
    CitationPrecisionMeasure as CitationPrecision,
)
from cranfield.measures.texts.citation_measures import (
    CitationRecallMeasure as CitationRecall,
)
from cranfield.measures.texts.nugget_measures import (
    NuggetFMeasure as NuggetF,
)
from cranfield.measures.texts.nugget_measures import (
    NuggetPrecisionMeasure as NuggetPrecision,
)
from cranfield.measures.texts.nugget_measures import (
    NuggetRecallMeasure as NuggetRecall,
)
from cranfield.measures.texts.nugget_measures import (
    WRecallMeasure as WRecall,
)
from cranfield.measures.texts.one_click import (
    SFlatMeasure as SFlat,
)
from cranfield.measures.texts.one_click import (
    SMeasureMeasure as SMeasure,
)
from cranfield.measures.texts.one_click import (
    SSharpMeasure as SSharp,
)
from cranfield.measures.texts.one_click import (
    TFlatMeasure as TFlat,
)
from cranfield.measures.texts.one_click import (
    TMeasureMeasure as TMeasure,
)
from cranfield.measures.texts.rag import (
    AllScoreMeasure as AllScore,
)
from cranfield.measures.texts.rag import (
    VitalScoreMeasure as VitalScore,
)
from cranfield.measures.texts.rag import (
    WeightedScoreMeasure as WeightedScore,
)
from cranfield.measures.texts.rouge import (
    RougeLMeasure as RougeL,
)
from cranfield.measures.texts.rouge import (
    RougeLsumMeasure as RougeLsum,
)
from cranfield.measures.texts.rouge import (
    RougeNMeasure as RougeN,
)
from cranfield.measures.texts.rouge import (
    RougeSMeasure as RougeS,
)
from cranfield.measures.texts.rouge import (
    RougeSUMeasure as RougeSU,
)

__all__ = [
    "ALCEPrecision",
    "ALCERecall",
    "AllScore",
    "CitationF",
    "CitationPrecision",
    "CitationRecall",
    "NuggetF",
    "NuggetPrecision",
    "NuggetRecall",
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
    "parse_text_measure",
    "parse_text_measures",
]
