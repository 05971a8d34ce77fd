"""HTML made of escaped pieces, up to whole pages."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from cranfield.base.text import html, plain

EMPTY = "(no name)"
"""What stands for an empty label."""

LONG = 40
"""Names of more characters may be cut; they are whole in a title."""

VOID = ("meta", "link", "col", "br", "img", "input")
"""Elements without an end tag."""


class Html(str):
    """Text that is HTML."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value, unless it is HTML already; what cannot be printed is shown by its code."""
    return value if isinstance(value, Html) else Html(html(str(value)))


def el(name: str, *children: object, **attributes: object) -> Html:
    """Make an element; False and None leave an attribute out, True gives it no value.

    Attributes that are words of Python end in an underscore; other underscores are hyphens.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        parts.append(shown if value is True else f'{shown}="{text(value)}"')
    start = f"<{' '.join(parts)}>"
    if name in VOID:
        return Html(start)
    return Html(f"{start}{joined(*children)}</{name}>")


def joined(*children: object) -> Html:
    return Html("".join(text(child) for child in children if child is not None))


def named(name: str) -> Html:
    """Show a name that may be long: it breaks anywhere, and is cut after some lines."""
    shown = label(name)
    return el("span", shown, class_="name", title=shown if len(shown) > LONG else None)


def label(name: str) -> str:
    return plain(name) or EMPTY


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
