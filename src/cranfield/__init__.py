"""Evaluate information retrieval systems: from runs and judgments to meaningful statements."""

from cranfield import collections, measures

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.judging import judge
from cranfield.collection.policies import Policies
from cranfield.collection.qrels import Qrels
from cranfield.collection.reading import read_qrels, read_run
from cranfield.collection.run import Run
from cranfield.collection.runs import Runs, read_runs
from cranfield.collection.writing import write_qrels, write_run
from cranfield.errors import (
    CranfieldError,
    CranfieldWarning,
    InputError,
    MeasureError,
    MissingDependencyError,
    PolicyError,
)
from cranfield.evaluation import Evaluation, evaluate, score
from cranfield.measures.base import Measure, define
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.scale import Scale
from cranfield.scores import Scores

__version__ = "0.1.0"

__all__ = [
    "CranfieldError",
    "CranfieldWarning",
    "Evaluation",
    "InputError",
    "JudgedRuns",
    "Measure",
    "MeasureError",
    "MissingDependencyError",
    "Policies",
    "PolicyError",
    "Qrels",
    "Run",
    "Runs",
    "Scale",
    "Scores",
    "collections",
    "define",
    "evaluate",
    "judge",
    "measures",
    "parse_measure",
    "parse_measures",
    "read_qrels",
    "read_run",
    "read_runs",
    "score",
    "write_qrels",
    "write_run",
]
