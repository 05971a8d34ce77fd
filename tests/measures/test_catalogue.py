"""Every measure that papers 001 and 004 define or name, and the text that cranfield reads for it.

001 is Sakai (2013), sections 2 and 3; 004 is Ferro and Maistro (2024), sections 3, 5.1 and 8.
"""

from __future__ import annotations

import csv

import pytest

from cranfield.measures.families import REGISTRY
from cranfield.measures.grammar import parse_measure
from tests.conftest import ROOT

ROWS = [
    *csv.DictReader((ROOT / "tests/data/measures_of_papers.csv").read_text("utf-8").splitlines())
]
"""Section and name in the paper; the measure's text, or a note why it is not a measure here."""


@pytest.mark.parametrize("text", sorted({row["measure"] for row in ROWS if row["measure"]}))
def test_every_measure_of_the_papers_is_in_the_catalogue(text: str) -> None:
    measure = parse_measure(text)
    assert parse_measure(str(measure)) == measure
    assert measure.info.name in REGISTRY


def test_every_name_of_the_papers_has_a_measure_or_a_reason() -> None:
    assert all(bool(row["measure"]) is not bool(row["note"]) for row in ROWS)
    assert len({(row["section"], row["name"]) for row in ROWS}) == len(ROWS) > 120
