"""Build hook of the site: tables of methods, models and measures, from their registries.

A line `<!-- catalogue: NAME -->` of a page becomes the table of one of `CATALOGUES`,
`<!-- names: PROGRAM -->` a table of the names of measures in a program, and `<!-- rules -->` the file of rules of a campaign that `cranfield campaign init` writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

import cranfield as cf
from cranfield.campaign.rules.reading import read_template
from cranfield.measures.listing import list_entries

MARK = re.compile(r"(?m)^<!-- (catalogue|names): ([A-Za-z_-]+) -->$")
"""Where a table is to be inserted."""


@dataclass(frozen=True)
class Catalogue:
    """A table of the library, and its columns that a page shows, with their headings."""

    read: Callable[[], pl.DataFrame]
    columns: dict[str, str]


CATALOGUES = {
    "fusion": Catalogue(
        cf.fusion_methods,
        {"method": "method", "uses": "uses", "what it does": "score of a document"}
        | {"parameters": "parameters", "source": "source"},
    ),
    "interleaving": Catalogue(
        cf.online.interleaving_methods,
        {"method": "method", "rankers": "rankers", "description": "description"}
        | {"parameters": "parameters", "source": "source"},
    ),
    "click-models": Catalogue(
        cf.online.models,
        {"model": "model", "description": "description", "learns": "parameters learned"}
        | {"parameters": "options", "source": "source"},
    ),
    "online-measures": Catalogue(
        cf.online.catalogue,
        {"measure": "measure", "description": "value", "needs": "requires"}
        | {"parameters": "parameters", "source": "source"},
    ),
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert catalogues, and the rules of a campaign."""
    markdown = markdown.replace("<!-- rules -->", f"```toml\n{read_template()}```")
    return MARK.sub(
        lambda match: "\n".join(
            names(match[2]) if match[1] == "names" else table(CATALOGUES[match[2]])
        ),
        markdown,
    )


def names(program: str) -> Iterator[str]:
    """Yield the table of measures with another name in a program, which opens on a click."""
    yield '<details markdown="1">'
    yield f"<summary>Names of measures in {program}</summary>"
    yield from ("", f"| cranfield | {program} |", "| --- | --- |")
    for entry in list_entries():
        if name := entry.info.elsewhere.get(program):
            path = f"measures/{entry.info.name}.md"
            yield f"| [`{entry.info.name}`]({path}) | {escaped(name)} |"
    yield from ("", "</details>", "")


def escaped(text: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    return re.sub(r"([\\`*_{}\[\]|#])", r"\\\1", text)


def table(catalogue: Catalogue) -> Iterator[str]:
    """Yield the rows of a catalogue; its first column and parameters are code."""
    yield f"| {' | '.join(catalogue.columns.values())} |"
    yield f"|{' --- |' * len(catalogue.columns)}"
    for row in catalogue.read().select(*catalogue.columns).iter_rows(named=True):
        cells = []
        for number, (column, value) in enumerate(row.items()):
            text = str(value).replace("|", r"\|")
            code = text and (number == 0 or column == "parameters")
            cells.append(f"`{text}`" if code else text)
        yield f"| {' | '.join(cells)} |"
