"""Common parts of all pages of the site: file names, style and script."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from cranfield.campaign.pages import STYLES, render
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.reporting.page.html import Html, asset, whole_page

MAX_LENGTH = 60
"""Maximum number of characters of a tag in the name of its page."""


def file_names(tags: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Return a file name without suffix for each tag: the tag itself if it is a valid file name.

    Other names, names that differ only in case, and reserved names end in the first digits of the
    SHA-256 of the tag, so that names do not depend on the order of tags.

    Examples
    --------
    >>> file_names(["bm25", "Run", "run", "../x"], reserved=["index"])["bm25"]
    'bm25'
    >>> sorted(file_names(["Run", "run"]).values())
    ['Run-00d60e31', 'run-acba2551']
    """
    safe_names = {tag: _safe_name(tag) for tag in tags}
    counts = Counter(name.casefold() for name in safe_names.values())
    reserved = {name.casefold() for name in reserved}
    names: dict[str, str] = {}
    for tag, name in safe_names.items():
        is_free = counts[name.casefold()] == 1 and name.casefold() not in reserved
        names[tag] = name if name == tag and is_free else f"{name}-{_digest(tag)[:8]}"
    if len({name.casefold() for name in names.values()} | reserved) < len(names) + len(reserved):
        # The tag of a run is the name of the page of another run.
        names = {tag: f"{safe_names[tag][:20]}-{_digest(tag)}" for tag in names}
    return names


def _safe_name(tag: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", tag)[:MAX_LENGTH].strip(".-")
    return name if is_safe_name(name) else f"run-{name}".rstrip(".-")


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()


Links = Sequence[tuple[str, str]]
"""Texts and targets of links."""


def page(
    template: str, path: str, title: str, links: Links, *, sortable: bool = False, **values: object
) -> tuple[str, bytes]:
    """Render a template; return the path and the bytes of the page, with inline style and script.

    Style and script are inline, because browsers check hashes of files only if a server sends them;
    pages opened from a folder would have neither.
    """
    scripts = [site_script()] if sortable else []
    values |= {"title": title, "links": links, "script": Html("".join(scripts))}
    body = render(template, **values)
    return path, whole_page(title, body, style=site_style(), scripts=scripts).encode()


@cache
def site_style() -> str:
    return "".join(map(asset, STYLES)) + _read_asset("site.css")


@cache
def site_script() -> str:
    return f'(() => {{\n"use strict";\n{_read_asset("site.js")}}})();\n'


def _read_asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text("utf-8")
