"""What all pages of the site share: one style, one script, links to the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cranfield.campaign.results.sheets.page import STYLES
from cranfield.reporting.page.html import Html, el, joined
from cranfield.reporting.page.shell import Parts, asset, sections_of, whole_page

Links = Sequence[tuple[str, str]]
"""Words and where they lead."""

MADE = "Made with cranfield from released files alone."


@dataclass(frozen=True)
class Page:
    """A page of the site: where it stands, what it is called, and its sections."""

    path: str
    title: str
    lead: Html
    parts: Parts
    links: Links = ()
    sortable: bool = False

    def html(self) -> str:
        """Write the page with style and script in it, and their hashes in its policy.

        From a folder, without a server, browsers refuse files beside a page by their hashes.
        """
        scripts = [site_script()] if self.sortable else []
        listed = (el("li", el("a", word, href=href)) for word, href in self.links)
        body = joined(
            el("a", "Skip to the content", class_="skip", href="#content"),
            el("nav", el("ul", *listed), class_="bar", aria_label="Site") if self.links else None,
            el("header", el("h1", self.title), self.lead),
            el("main", sections_of(self.parts), id="content", tabindex=-1),
            el("footer", el("p", MADE)),
            *(el("script", Html(code)) for code in scripts),
        )
        return whole_page(self.title, body, style=site_style(), scripts=scripts)


def column(word: object, first: str, **look: object) -> Html:
    """Head a column that the script can sort; `first` is the direction to begin with."""
    return el("th", word, scope="col", data_first=first, **look)


def sortable(
    caption: str, heads: Iterable[Html], rows: Iterable[Html], name: str | None = None
) -> Html:
    """Make a table whose columns the script can sort, in a box that scrolls by itself."""
    top = el("thead", el("tr", *heads))
    made = el("table", el("caption", caption), top, el("tbody", *rows), id=name, class_="sortable")
    about = {"role": "region", "tabindex": 0, "aria_label": caption}
    return el("div", made, class_="box tall board", **about)


@cache
def site_style() -> str:
    return "".join(map(asset, STYLES)) + _own("site.css")


@cache
def site_script() -> str:
    return f'(() => {{\n"use strict";\n{_own("site.js")}}})();\n'


def _own(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text("utf-8")
