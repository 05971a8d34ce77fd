"""Common parts of all pages of the site: file names, style and script."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from cranfield.campaign.pages import STYLES, filled
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.reporting.page.html import Html, asset, whole_page

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
    body = filled(template, **values)
    return path, whole_page(title, body, style=site_style(), scripts=scripts).encode()


@cache
def site_style() -> str:
    return "".join(map(asset, STYLES)) + _own("site.css")


@cache
def site_script() -> str:
    return f'(() => {{\n"use strict";\n{_own("site.js")}}})();\n'


def _own(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text("utf-8")
