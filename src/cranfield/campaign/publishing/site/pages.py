"""What all pages of the site share."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.campaign.results.sheet_files import STYLES
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.reporting.page.html import Html, Parts, asset, el, joined, sections_of, whole_page
from cranfield.tabular import number

LONGEST = 60
"""Characters of a tag that stay in the name of its page."""


def file_names(tags: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Give each tag a file name without suffix: itself, where every disk can take it.

    What had to be changed, what differs from another tag only in case, and what is taken ends in
    a piece of the SHA-256 of the tag, so that the name depends on no order.

    Examples
    --------
    >>> file_names(["bm25", "Run", "run", "../x"], taken=["index"])["bm25"]
    'bm25'
    >>> sorted(file_names(["Run", "run"]).values())
    ['Run-00d60e31', 'run-acba2551']
    """
    wanted = {tag: _on_disk(tag) for tag in tags}
    alike = defaultdict(list)
    for tag, name in wanted.items():
        alike[name.casefold()].append(tag)
    reserved = {name.casefold() for name in taken}
    names: dict[str, str] = {}
    for tag, name in wanted.items():
        alone = len(alike[name.casefold()]) == 1 and name.casefold() not in reserved
        names[tag] = name if name == tag and alone else f"{name}-{_digest(tag)[:8]}"
    if len({name.casefold() for name in names.values()} | reserved) < len(names) + len(reserved):
        # Somebody called a run as another's page would be called.
        names = {tag: f"{wanted[tag][:20]}-{_digest(tag)}" for tag in names}
    return names


def link(*parts: str, start: str = "") -> str:
    """Make a relative link, percent-encoded; `start` is the way up, such as `../`."""
    return start + "/".join(quote(part, safe="") for part in parts)


def _on_disk(tag: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", tag)[:LONGEST].strip(".-")
    return name if safe_name(name) else f"run-{name}".rstrip(".-")


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()


WIDTH = 100.0
"""Of a picture in a row, which is stretched to its column."""

SHADES = 9
"""Steps of the map, from the worst to the best score."""

ACROSS, NARROW, WIDE, HIGH = 940, 7, 18, 12
"""Room for the columns of the map, limits of their widths, and the height of its rows."""

LEFT, TOP, KEY = 90, 22, 34
"""Room of the map for labels and for its key."""

MOST_CELLS = 40_000
"""Cells of a map that can still be read."""


def drawn_row(
    middle: float, low: float, high: float, ends: tuple[float, float], band: Floats | None = None
) -> Html:
    """Draw limits and a tick between them; `band` are limits that run through all rows.

    A band without width is a dashed line.
    """

    def x(value: float) -> float:
        least, most = ends
        share = (value - least) / (most - least) if most > least else 0.5
        return WIDTH * min(1.0, max(0.0, share))

    parts: list[Html] = []
    if band is not None and np.isfinite(band).all():
        start, end = (x(float(one)) for one in band)
        across: dict[str, object] = {"class_": "band", "x": f"{start:.2f}"}
        across |= {"width": f"{end - start:.2f}", "y": -3.6, "height": 17.2}
        dashed = {"class_": "reach", "x1": f"{start:.2f}", "x2": f"{start:.2f}", "y1": -3, "y2": 13}
        parts.append(el("rect", **across) if end > start else el("line", **dashed))
    if np.isfinite([low, high]).all():
        parts.append(
            el("line", class_="whisker", x1=f"{x(low):.2f}", x2=f"{x(high):.2f}", y1=5, y2=5)
        )
    if np.isfinite(middle):
        parts.append(el("rect", class_="dot", x=f"{x(middle) - 0.6:.2f}", width=1.2, y=1, height=8))
    return el(
        "svg", *parts, viewBox=f"0 0 {WIDTH:g} 10", preserveAspectRatio="none", aria_hidden="true"
    )


def drawn_map(
    values: Floats, topics: Sequence[str], title: str, *, lower_is_better: bool = False
) -> Html | None:
    """Draw scores as shades, a row a topic and a column a run; None where there are too many.

    Parameters
    ----------
    values
        Scores, topic by run, in the order that is shown; NaN is left blank.
    """
    if values.size == 0 or values.size > MOST_CELLS or not np.isfinite(values).any():
        return None
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    share = (values - least) / (most - least) if most > least else np.zeros(values.shape)
    share = 1 - share if lower_is_better else share
    shades = np.where(np.isnan(share), -1, np.minimum(share * SHADES, SHADES - 1)).astype(np.int64)
    rows, columns = values.shape
    cell = max(NARROW, min(WIDE, ACROSS // columns))
    width, height = LEFT + max(columns * cell, 240), TOP + rows * HIGH + KEY

    def squares(shade: int) -> str:
        places = np.argwhere(shades == shade).tolist()
        square = f"h{cell - 1}v{HIGH - 1}h{1 - cell}z"
        return "".join(f"M{LEFT + j * cell} {TOP + i * HIGH}{square}" for i, j in places)

    drawn = [el("path", d=squares(k), class_=f"s{k}") for k in range(SHADES)]
    step = 1 if cell == WIDE else 10
    heads = [
        el("text", k + 1, x=LEFT + k * cell + cell // 2, y=TOP - 6, text_anchor="middle")
        for k in range(columns)
        if k == 0 or (k + 1) % step == 0
    ]
    names = [
        el("text", _short(topic), x=LEFT - 5, y=TOP + row * HIGH + 9, text_anchor="end")
        for row, topic in enumerate(topics)
    ]
    key = TOP + rows * HIGH + 12
    legend = [
        el("path", d=f"M{LEFT + 45 + 16 * k} {key}h15v11h-15z", class_=f"s{k}")
        for k in range(SHADES)
    ]
    worst, best = (most, least) if lower_is_better else (least, most)
    legend += [
        el("text", f"{worst:.2f}", x=LEFT + 40, y=key + 9, text_anchor="end"),
        el("text", f"{best:.2f}", x=LEFT + 50 + 16 * SHADES, y=key + 9),
    ]
    said = f"{title}, from {number(worst)} (lightest) to {number(best)} (darkest)"
    return el(
        "svg",
        el("title", said),
        *drawn,
        *heads,
        *names,
        *legend,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="map",
        role="img",
    )


def _short(topic: str, most: int = 14) -> str:
    return topic if len(topic) <= most else f"{topic[: most - 1]}…"


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
