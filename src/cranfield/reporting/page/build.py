"""The page: a template, its sections, one style, one script, and the hashes that allow these."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from cranfield.reporting.page import words
from cranfield.reporting.page.analysis import analysis
from cranfield.reporting.page.contents import Contents
from cranfield.reporting.page.data import json_text, page_data
from cranfield.reporting.page.html import Html, text
from cranfield.reporting.page.judges import judges, judges_link
from cranfield.reporting.page.sections import answers, evaluated, measure_options, scales, systems
from cranfield.reporting.page.settings import settings

SCRIPTS = ("numbers.js", "systems.js", "pair.js", "page.js")
"""The parts of the script, in order; together they are one function."""


def page(contents: Contents) -> str:
    """Write the page, which needs no other file and no network, and forbids scripts of others."""
    style, code = asset("page.css"), script()
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(code)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    pieces = {
        # Hashes are quoted in the policy, so that it is no text to be escaped.
        "policy": Html(policy),
        "title": text(contents.title),
        "counts": text(words.counts(contents)),
        "style": Html(style),
        "script": Html(code),
        "options": measure_options(contents),
        "evaluated": evaluated(contents),
        "answers": answers(contents),
        "systems": systems(contents),
        "analysis": analysis(contents),
        "scales": scales(contents),
        "judges": judges(contents),
        "judges_link": judges_link(contents),
        "settings": settings(contents),
        "data": Html(json_text(page_data(contents))),
    }
    # In one pass: what looks like a place in a name from a file stays what it is.
    made = re.sub(r"\{\{(\w+)\}\}", lambda found: pieces[found[1]], asset("page.html"))
    return made.encode("utf-8", "backslashreplace").decode()


@cache
def asset(name: str) -> str:
    return (files("cranfield.reporting.page") / "assets" / name).read_text("utf-8")


def script() -> str:
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
