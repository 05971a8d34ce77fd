"""Where things are that have no public name: the one file to change when modules move."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cranfield
from cranfield import significance
from cranfield.cli.main import main as program
from cranfield.collection.document_tables import read_groups, read_lengths
from cranfield.collection.intents import read_intents
from cranfield.collection.policies import PRESETS
from cranfield.measures.aliases import FAMILIES, NICKNAMES, SINGLE_MEASURES
from cranfield.measures.base import measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.measures.sessions import click_u
from cranfield.meta.reproduction import order_agreement, position_tau, union_tau
from cranfield.meta.study import STUDIES
from cranfield.reporting import charts
from cranfield.reporting.page.report_page import report
from docs.measure_properties.battery_judged import scores as battery_scores
from docs.measure_properties.properties import catalogue, properties

PACKAGE = Path(cranfield.__file__).resolve().parent
ROOT = Path(os.environ.get("BEHAVIOUR_ROOT") or PACKAGE.parents[1])
EXAMPLES = ROOT / "docs" / "examples"
TEST_DATA = ROOT / "tests" / "data"
RANKED, WRAPPERS, TEXT_MEASURES = (REGISTRY.where(kind=kind) for kind in KINDS)
VERSION: str = cranfield.__version__

for _needed in (EXAMPLES, TEST_DATA):
    if not _needed.is_dir():
        raise SystemExit(f"{_needed} is not there; set BEHAVIOUR_ROOT to a checkout that has it")


DECLARED = (
    *("name", "title", "aliases", "asks", "null", "assumes", "when", "formula", "statistic"),
    *("effect", "source", "convention", "scale", "paired", "model", "random", "corrections"),
    "baseline_correction",
)


def declared(info: Any) -> dict[str, Any]:
    """Return what tests declared of themselves when behaviour was first recorded."""
    return {name: getattr(info, name) for name in DECLARED} | {"elsewhere": {}}


def corrections() -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return what corrections do, and their other names."""
    every = significance.CORRECTIONS.values()
    aliases = [(alias, each.name) for each in every for alias in each.aliases]
    return {each.name: each.does for each in every}, sorted(aliases)


def trec_names() -> list[str]:
    """List the names of trec_eval, with the cutoffs that they have when none is given."""
    families = [f"{name}_{at}" for name, (given, *_) in FAMILIES.items() for at in given]
    return [*SINGLE_MEASURES, *FAMILIES, *families, *NICKNAMES]


def chart(name: str, *given: Any, **options: Any) -> Any:
    """Draw a chart by the name of its function."""
    return getattr(charts, name)(*given, **options)


__all__ = [
    "TEXT_MEASURES",
    "click_u",
    "RANKED",
    "EXAMPLES",
    "PACKAGE",
    "PRESETS",
    "ROOT",
    "STUDIES",
    "TEST_DATA",
    "VERSION",
    "WRAPPERS",
    "battery_scores",
    "catalogue",
    "chart",
    "charts",
    "corrections",
    "declared",
    "measure",
    "order_agreement",
    "position_tau",
    "program",
    "properties",
    "read_groups",
    "read_intents",
    "read_lengths",
    "report",
    "trec_names",
    "union_tau",
]
