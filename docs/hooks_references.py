"""Build hook of the site: the list of references, made from the file of BibTeX."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from cranfield.reporting.references import read_works

PLACE = "<!-- references -->"
"""Where the list goes."""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the list into the page."""
    del page, config, files
    return markdown.replace(PLACE, listed()) if PLACE in markdown else markdown


def listed() -> str:
    """List the publications."""
    works = [one for one in read_works().values() if not one.is_software]
    return "\n".join(f"- {one.to_text(is_markdown=True)}" for one in works)
