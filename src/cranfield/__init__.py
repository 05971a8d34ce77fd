"""Evaluate information retrieval systems: from runs and judgments to meaningful statements."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield import collections, measures, meta, scales, sessions, significance, texts
    from cranfield.collection.judged import JudgedRuns
    from cranfield.collection.judging import judge
    from cranfield.collection.policies import Policies
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.reading import read_qrels, read_run
    from cranfield.collection.run import Run
    from cranfield.collection.runs import Runs, read_runs
    from cranfield.collection.shard_maps import read_shards
    from cranfield.collection.shards import random_shards
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
    from cranfield.measures.base import Measure
    from cranfield.measures.define import define
    from cranfield.measures.grammar import parse_measure, parse_measures
    from cranfield.report.citing import cite
    from cranfield.report.page import report
    from cranfield.report.tables.make import table
    from cranfield.report.tables.of_studies import tables
    from cranfield.scale import Scale
    from cranfield.scales.image import image
    from cranfield.scales.interval import interval
    from cranfield.scales.meaning import meaning
    from cranfield.scales.scale_of import scale_of
    from cranfield.scorefiles import read_scores
    from cranfield.scores import Scores
    from cranfield.sessions import evaluate_sessions, read_sessions
    from cranfield.sharded import score_samplings, score_shards
    from cranfield.sharded_evaluation import ShardedEvaluation
    from cranfield.significance.compare import compare
    from cranfield.significance.result import PairwiseComparison
    from cranfield.significance.risk import Risk, risk

__version__ = "0.1.0"

_HOMES = {
    "collection.judged": ("JudgedRuns",),
    "collection.judging": ("judge",),
    "collection.policies": ("Policies",),
    "collection.qrels": ("Qrels",),
    "collection.reading": ("read_qrels", "read_run"),
    "collection.run": ("Run",),
    "collection.runs": ("Runs", "read_runs"),
    "collection.shard_maps": ("read_shards",),
    "collection.shards": ("random_shards",),
    "collection.writing": ("write_qrels", "write_run"),
    "errors": (
        "CranfieldError",
        "CranfieldWarning",
        "InputError",
        "MeasureError",
        "MissingDependencyError",
        "PolicyError",
    ),
    "evaluation": ("Evaluation", "evaluate", "score"),
    "measures.base": ("Measure",),
    "measures.define": ("define",),
    "measures.grammar": ("parse_measure", "parse_measures"),
    "report.citing": ("cite",),
    "report.tables.make": ("table",),
    "report.tables.of_studies": ("tables",),
    "scale": ("Scale",),
    "scales.image": ("image",),
    "scales.interval": ("interval",),
    "scales.meaning": ("meaning",),
    "scales.scale_of": ("scale_of",),
    "scorefiles": ("read_scores",),
    "scores": ("Scores",),
    "sessions": ("evaluate_sessions", "read_sessions"),
    "sharded": ("score_samplings", "score_shards"),
    "sharded_evaluation": ("ShardedEvaluation",),
    "significance.compare": ("compare",),
    "significance.result": ("PairwiseComparison",),
    "significance.risk": ("Risk", "risk"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CranfieldError",
    "CranfieldWarning",
    "Evaluation",
    "InputError",
    "JudgedRuns",
    "Measure",
    "MeasureError",
    "MissingDependencyError",
    "PairwiseComparison",
    "Policies",
    "PolicyError",
    "Qrels",
    "Risk",
    "Run",
    "Runs",
    "Scale",
    "Scores",
    "ShardedEvaluation",
    "cite",
    "collections",
    "compare",
    "define",
    "evaluate",
    "evaluate_sessions",
    "image",
    "interval",
    "judge",
    "meaning",
    "measures",
    "meta",
    "parse_measure",
    "parse_measures",
    "random_shards",
    "read_qrels",
    "read_run",
    "read_runs",
    "read_scores",
    "read_sessions",
    "read_shards",
    "report",
    "risk",
    "scale_of",
    "scales",
    "score",
    "score_samplings",
    "score_shards",
    "sessions",
    "significance",
    "table",
    "tables",
    "texts",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import cranfield` costs nothing."""
    # The package `report` is also the function of that name.
    if name in {
        "collections",
        "measures",
        "meta",
        "report",
        "scales",
        "sessions",
        "significance",
        "texts",
    }:
        return import_module(f"cranfield.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cranfield' has no attribute {name!r}")
    value = getattr(import_module(f"cranfield.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *__all__])
