"""The catalogue of faults, and what the documentation says of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cranfield.campaign.checks.report import CODES, fault

PAGE = Path(__file__).parents[3] / "docs" / "campaign-rules.md"


def test_the_documentation_has_every_code_and_what_it_is_by_default() -> None:
    _, _, table = PAGE.read_text("utf-8").partition("| code | default | when |")
    said: dict[str, str] = {}
    for codes, severity in re.findall(r"^\| (`.+?`) \| (\w+(?:, always)?) \|", table, re.MULTILINE):
        said |= dict.fromkeys(re.findall(r"`([a-z-]+)`", codes), severity)
    assert said == {code: one.severity + ", always" * one.fixed for code, one in CODES.items()}


def test_messages_show_what_is_untrusted_in_quotes_or_escaped() -> None:
    for code, one in CODES.items():
        names: dict[str, Any] = dict.fromkeys(
            re.findall(r"\{(\w+)", one.template), "a\x1b[31m\n\u202eb" * 100
        )
        message = fault(code, **names).message
        assert message.isprintable(), code
