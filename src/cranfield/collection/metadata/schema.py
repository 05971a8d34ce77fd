"""What the keys of ir_metadata mean: the kind of value of each that is known.

Breuer, Keller, Schaer: ir_metadata, an extensible metadata schema for IR experiments (SIGIR 2022),
version 0.1 of irgroup/ir_metadata; and what tirex-tracker, WOWS and LongEval add to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cranfield.base.errors import quoted
from cranfield.collection.metadata.yaml_tree import TRUTHS

PARTS = ("platform", "research goal", "implementation", "method", "actor", "data")
"""The parts of PRIMAD."""

_TEXT = """
tag; run-version; schema-version; schema version; description;
platform.hardware.cpu: model, architecture, operation mode;
platform.hardware.gpu: model, architecture, memory;
platform.hardware: ram;
platform.operating system: kernel, distribution;
research goal: description;
research goal.venue: name, year;
research goal.publication: dblp, doi, arxiv, url, abstract;
implementation.executable: cmd;
implementation.script: path;
implementation.source: repository, commit, branch;
implementation.source.archive: path;
method: name, description, score ties;
method.indexing: tokenizer, stemmer, stopwords;
actor: name, orcid, team, mail, role, degree, github, twitter;
data.test collection: name, source, qrels, topics, ir_datasets
"""

_TRUTH = """
method: automatic, lexical, deep_neural_model, sparse_neural_model, dense_neural_model,
 single_stage_retrieval;
implementation.python: interactive;
implementation.source: uncommitted changes
"""

_WHOLE = """
platform.hardware.cpu: number of cores;
platform.hardware.gpu: number of cores
"""


def _paths(lines: str) -> Iterator[str]:
    for group in lines.replace("\n", " ").split(";"):
        home, colon, names = group.strip().partition(":")
        yield from (f"{home}.{name.strip()}" for name in names.split(",")) if colon else (home,)


KINDS = (
    dict.fromkeys(_paths(_TEXT), "text")
    | dict.fromkeys(_paths(_TRUTH), "yes or no")
    | dict.fromkeys(_paths(_WHOLE), "a whole number")
    | dict.fromkeys(PARTS, "a table")
)
"""Kind of value by path; any is allowed where none is stated."""


def typed(path: str, value: Any) -> Any:
    """Return a value as its schema means it; what does not fit comes back as it is."""
    kind = KINDS.get(path)
    if kind == "yes or no" and isinstance(value, str):
        return TRUTHS.get(value.lower(), value)
    if kind == "a whole number" and isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value
    return value


def misfit(path: str, value: Any) -> str | None:
    """Say what a value is where another kind is wanted; None where it fits, or is missing."""
    kind = KINDS.get(path)
    if kind is None or value is None:
        return None
    made = typed(path, value)
    types: dict[str, type | tuple[type, ...]] = {
        "text": (str, int, float),
        "yes or no": bool,
        "a whole number": int,
        "a table": dict,
    }
    wrong_truth = isinstance(made, bool) and kind != "yes or no"
    if isinstance(made, types[kind]) and not wrong_truth:
        return None
    names: dict[type, str] = {list: "a list", dict: "a table", bool: str(made).lower()}
    return f"is {names.get(type(made)) or quoted(made)} where {kind} is wanted"
