"""The catalogue of faults, and what the documentation says of it."""

from __future__ import annotations

import re
from pathlib import Path

from cranfield.campaign.checks.report import CODES

PAGE = Path(__file__).parents[3] / "docs" / "campaign-rules.md"


def test_the_documentation_has_every_code_and_what_it_is_by_default() -> None:
    _, _, table = PAGE.read_text("utf-8").partition("| code | default | when |")
    said: dict[str, str] = {}
    for codes, severity in re.findall(r"^\| (`.+?`) \| (\w+(?:, always)?) \|", table, re.MULTILINE):
        said |= dict.fromkeys(re.findall(r"`([a-z-]+)`", codes), severity)
    severities = {"always": "error, always"}
    assert said == {code: severities.get(severity, severity) for code, severity in CODES.items()}
