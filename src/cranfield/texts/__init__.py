"""Measures of texts: of answers with nuggets and citations, and of summaries."""

from cranfield.texts.answers import JudgedAnswers, judge_answers
from cranfield.texts.base import (
    TEXT_MEASURES,
    TextMeasure,
    parse_text_measure,
    parse_text_measures,
)
from cranfield.texts.evaluate import evaluate_answers
from cranfield.texts.gold import Nuggets, read_nuggets
from cranfield.texts.nuggets import (
    NuggetFMeasure as NuggetF,
)
from cranfield.texts.nuggets import (
    NuggetPrecisionMeasure as NuggetPrecision,
)
from cranfield.texts.nuggets import (
    NuggetRecallMeasure as NuggetRecall,
)
from cranfield.texts.nuggets import (
    WRecallMeasure as WRecall,
)
from cranfield.texts.one_click import (
    SFlatMeasure as SFlat,
)
from cranfield.texts.one_click import (
    SMeasureMeasure as SMeasure,
)
from cranfield.texts.one_click import (
    SSharpMeasure as SSharp,
)
from cranfield.texts.one_click import (
    TFlatMeasure as TFlat,
)
from cranfield.texts.one_click import (
    TMeasureMeasure as TMeasure,
)

__all__ = [n for n in dir() if not n.startswith("_")]
