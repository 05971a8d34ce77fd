"""Whole pages: one head for all of them, which allows a page its own style and scripts only."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from cranfield.reporting.page.html import Html, el, joined, text

FOOT = "Made with cranfield. All numbers are in this file."

Parts = Mapping[str, tuple[str, Html | None]]
"""Sections of a page: by id, the heading and what is in it; None leaves a section out."""


def whole_page(title: str, body: Html, *, style: str, scripts: Sequence[str] = ()) -> str:
    """Write a page that needs no other file and no network, and forbids scripts of others.

    `scripts` are those that are in the body, letter by letter.
    """
    policy = ["default-src 'none'", f"style-src '{digest(style)}'"]
    if scripts:
        policy.append(f"script-src {' '.join(repr(digest(one)) for one in scripts)}")
    policy += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    pieces = {
        # Hashes are quoted in the policy, so that it is no text to be escaped.
        "policy": Html("; ".join(policy)),
        "title": text(title),
        "style": Html(style),
        "body": body,
    }
    return filled("shell.html", pieces).encode("utf-8", "backslashreplace").decode()


def page_of_parts(
    title: str,
    counts: object,
    parts: Parts,
    *,
    styles: Iterable[str],
    skip: str = "Skip to the answer",
    above: Html | None = None,
    foot: object = FOOT,
) -> str:
    """Write a page of sections, with links to them, that needs no script.

    `counts` is the line below the title, `above` what stands over it, `styles` are assets.
    """
    kept = {name: head for name, (head, body) in parts.items() if body is not None}
    pieces = {
        "title": text(title),
        "counts": text(counts),
        "above": above or Html(),
        "first": text(next(iter(kept), "")),
        "skip": text(skip),
        "links": joined(*(el("li", el("a", head, href=f"#{name}")) for name, head in kept.items())),
        "sections": sections_of(parts),
        "foot": text(foot),
    }
    style = "".join(map(asset, styles))
    return whole_page(title, filled("sections.html", pieces), style=style)


def sections_of(parts: Parts) -> Html:
    """Write the sections, each with its heading."""
    return joined(
        *(
            el(
                "section",
                el("h2", head, id=f"h-{name}"),
                body,
                id=name,
                aria_labelledby=f"h-{name}",
            )
            for name, (head, body) in parts.items()
            if body is not None
        )
    )


def filled(name: str, pieces: Mapping[str, str]) -> Html:
    """Fill the places of a template; what looks like a place in a text from a file stays so."""
    return Html(re.sub(r"\{\{(\w+)\}\}", lambda found: pieces[found[1]], asset(name)))


@cache
def asset(name: str) -> str:
    return (files("cranfield.reporting.page") / "assets" / name).read_text("utf-8")


def digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
