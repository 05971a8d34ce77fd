"""The page of an evaluation: a template, its sections, one style and one script."""

from __future__ import annotations

from cranfield.reporting.page import words
from cranfield.reporting.page.analysis import analysis
from cranfield.reporting.page.contents import Contents
from cranfield.reporting.page.data import json_text, page_data
from cranfield.reporting.page.html import Html, text
from cranfield.reporting.page.judges import judges, judges_link
from cranfield.reporting.page.sections import (
    answers,
    evaluated,
    measure_options,
    scales,
    systems,
    warned,
)
from cranfield.reporting.page.settings import settings
from cranfield.reporting.page.shell import asset, filled, whole_page

SCRIPTS = (
    "numbers.js",
    "systems.js",
    "pair.js",
    "kit.js",
    "keeping.js",
    "ranked.js",
    "map.js",
    "matrix.js",
    "boxes.js",
    "ranks.js",
    "tau.js",
    "topics.js",
    "page.js",
)
"""The parts of the script, in order; together they are one function."""


def page(contents: Contents) -> str:
    """Write the page, which needs no other file and no network, and forbids scripts of others."""
    code = script()
    pieces = {
        "title": text(contents.title),
        "counts": text(words.counts(contents)),
        "warned": warned(contents),
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
    body = filled("page.html", pieces)
    return whole_page(
        contents.title, body, style=asset("page.css") + asset("pictures.css"), scripts=[code]
    )


def script() -> str:
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'
