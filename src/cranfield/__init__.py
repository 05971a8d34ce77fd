"""Evaluate information retrieval systems: from runs and judgments to meaningful statements."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield import (
        bundled,
        measures,
        meta,
        scales,
        sessions,
        significance,
        texts,
    )
    from cranfield.base.errors import (
        CranfieldError,
        CranfieldWarning,
        InputError,
        MeasureError,
        MissingDependencyError,
        PolicyError,
    )
    from cranfield.base.scale_types import Scale
    from cranfield.collection.files.many_runs import Runs, read_runs
    from cranfield.collection.files.reading import read_qrels, read_run
    from cranfield.collection.files.writing import write_qrels, write_run
    from cranfield.collection.judged.judged_runs import JudgedRuns
    from cranfield.collection.judged.judging import judge
    from cranfield.collection.judged.policies import Policies
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run
    from cranfield.collection.shards.given import read_shards
    from cranfield.collection.shards.sharding import random_shards
    from cranfield.evaluation.answer_evaluation import evaluate_answers
    from cranfield.evaluation.by_shard import score_samplings, score_shards
    from cranfield.evaluation.evaluation import Evaluation, evaluate, score
    from cranfield.evaluation.scorefiles import read_scores
    from cranfield.evaluation.session_evaluation import evaluate_sessions
    from cranfield.evaluation.sharded_evaluation import ShardedEvaluation
    from cranfield.measures.base import Measure
    from cranfield.measures.define import define
    from cranfield.measures.grammar import parse_measure, parse_measures
    from cranfield.reporting.page.report_page import report
    from cranfield.reporting.references.citing import cite
    from cranfield.reporting.tables.make import table
    from cranfield.reporting.tables.of_studies import tables
    from cranfield.scales.images.image import image
    from cranfield.scales.interval_scaled import interval
    from cranfield.scales.statements.meaningful import meaning
    from cranfield.scales.verdicts.scale_of import scale_of
    from cranfield.scores import Scores
    from cranfield.sessions import read_sessions
    from cranfield.significance.comparison.compare import compare
    from cranfield.significance.comparison.result import PairwiseComparison
    from cranfield.significance.risk_sensitivity import Risk, risk

__version__ = "0.1.0"

_HOMES = {
    "collection.judged.judged_runs": ("JudgedRuns",),
    "collection.judged.judging": ("judge",),
    "collection.judged.policies": ("Policies",),
    "collection.qrels": ("Qrels",),
    "collection.files.reading": ("read_qrels", "read_run"),
    "collection.run": ("Run",),
    "collection.files.many_runs": ("Runs", "read_runs"),
    "collection.shards.given": ("read_shards",),
    "collection.shards.sharding": ("random_shards",),
    "collection.files.writing": ("write_qrels", "write_run"),
    "base.errors": (
        "CranfieldError",
        "CranfieldWarning",
        "InputError",
        "MeasureError",
        "MissingDependencyError",
        "PolicyError",
    ),
    "evaluation.evaluation": ("Evaluation", "evaluate", "score"),
    "measures.base": ("Measure",),
    "measures.define": ("define",),
    "measures.grammar": ("parse_measure", "parse_measures"),
    "reporting.references.citing": ("cite",),
    "reporting.tables.make": ("table",),
    "reporting.tables.of_studies": ("tables",),
    "base.scale_types": ("Scale",),
    "scales.images.image": ("image",),
    "scales.interval_scaled": ("interval",),
    "scales.statements.meaningful": ("meaning",),
    "scales.verdicts.scale_of": ("scale_of",),
    "evaluation.scorefiles": ("read_scores",),
    "scores": ("Scores",),
    "evaluation.answer_evaluation": ("evaluate_answers",),
    "evaluation.session_evaluation": ("evaluate_sessions",),
    "sessions": ("read_sessions",),
    "evaluation.by_shard": ("score_samplings", "score_shards"),
    "evaluation.sharded_evaluation": ("ShardedEvaluation",),
    "significance.comparison.compare": ("compare",),
    "significance.comparison.result": ("PairwiseComparison",),
    "reporting.page.report_page": ("report",),
    "significance.risk_sensitivity": ("Risk", "risk"),
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
    "bundled",
    "compare",
    "define",
    "evaluate",
    "evaluate_answers",
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
    if name in {
        "bundled",
        "measures",
        "meta",
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
