"""What all pages of the site share: names of their files, links, and templates."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cranfield.base.text import counted
from cranfield.campaign.results.sheet_files import STYLES
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.measures import parse_measure
from cranfield.reporting.page.html import Html, asset, label, named, text, whole_page
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


Links = Sequence[tuple[str, str]]
"""Words and where they lead."""


def page(
    template: str, path: str, title: str, links: Links, *, sortable: bool = False, **values: object
) -> tuple[str, bytes]:
    """Fill a template; return a page's path and bytes, with style and script in it.

    From a folder, without a server, browsers refuse files beside a page by their hashes.
    """
    scripts = [site_script()] if sortable else []
    values |= {"title": title, "links": links, "script": Html("".join(scripts))}
    body = Html(environment().get_template(template).render(values))
    return path, whole_page(title, body, style=site_style(), scripts=scripts).encode()


@cache
def environment() -> Environment:
    """Return the environment of the templates: what they are given stays text."""
    made = Environment(
        loader=PackageLoader("cranfield.campaign.publishing.site"),
        autoescape=True,
        finalize=_escaped,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.globals |= {"link": link, "lower_is_better": lower_is_better}
    made.filters |= {"at": at, "counted": counted, "decimal": decimal, "number": number}
    made.filters |= {"label": lambda name: label(str(name)), "named": named}
    return made


def _escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(text("" if value is None else value))


def decimal(text: str | None) -> float | None:
    """Return the number in a cell of a table; None if there is none."""
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def at(
    value: float, ends: tuple[float, float], start: float | None = None, shift: float = 0
) -> str:
    """Return where a value is drawn, in percent of the way between both ends.

    With a `start`, return how far it is from there.
    """
    least, most = ends

    def place(one: float) -> float:
        share = (one - least) / (most - least) if most > least else 0.5
        return 100 * min(1.0, max(0.0, share))

    return f"{place(value) + shift - (0 if start is None else place(start)):.2f}"


def lower_is_better(name: str) -> bool:
    """Tell whether low values of a measure are good; of an unknown one they are not."""
    try:
        return parse_measure(name).info.lower_is_better
    except ValueError:
        return False


@cache
def site_style() -> str:
    return "".join(map(asset, STYLES)) + _own("site.css")


@cache
def site_script() -> str:
    return f'(() => {{\n"use strict";\n{_own("site.js")}}})();\n'


def _own(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text("utf-8")
