"""Escaping, templates and whole pages of HTML."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from cranfield.base.text import capitalised, counted, html, plain
from cranfield.tabular import as_cell

if TYPE_CHECKING:
    from jinja2 import Environment, Template

EMPTY = "(no name)"
"""Text of an empty label."""

MAX_UNTITLED = 40
"""Maximum length of a name without a title, as longer names may be cut."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value, unless it is HTML already; unprintable characters become their codes."""
    return value if isinstance(value, Html) else Html(html(str(value)))


def named(name: str) -> Html:
    """Write a name that may be long: it breaks anywhere, and is cut after some lines."""
    escaped = text(label(name))
    title = f' title="{escaped}"' if len(label(name)) > MAX_UNTITLED else ""
    return Html(f'<span class="name"{title}>{escaped}</span>')


def label(name: str) -> str:
    return plain(name) or EMPTY


def whole_page(title: str, body: Html, *, style: str, scripts: Sequence[str] = ()) -> str:
    """Write a page that loads nothing and allows only its own scripts.

    `scripts` are the exact texts of the scripts in the body.
    """
    policy = ["default-src 'none'", f"style-src '{digest(style)}'"]
    if scripts:
        policy.append(f"script-src {' '.join(repr(digest(script)) for script in scripts)}")
    policy += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    # The policy has quoted hashes, which must not be escaped.
    parts = {"policy": Html("; ".join(policy)), "style": Html(style), "body": body}
    page = filled("shell.html", title=title, **parts)
    return page.encode("utf-8", "backslashreplace").decode()


def sections_page(
    template: Template, title: str, *, styles: Iterable[str], **values: object
) -> str:
    """Fill a template that extends `sections.html`, a page without scripts.

    Values are `headings` of sections by id, `counts`, the line below the title, and its own.
    """
    body = Html(template.render(title=title, **values))
    return whole_page(title, body, style="".join(map(asset, styles)))


def filled(name: str, **values: object) -> Html:
    """Fill a template of this package."""
    return Html(own_templates().get_template(name).render(values))


def templates(package: str, folder: str) -> Environment:
    """Return the templates of a package together with those of all pages; values are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def escape(value: object) -> Markup:
        return value if isinstance(value, Markup) else Markup(text("" if value is None else value))

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, folder), PackageLoader("cranfield.reporting.page", "assets")]
        ),
        autoescape=True,
        finalize=escape,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"as_cell": as_cell, "capitalised": capitalised, "counted": counted}
    environment.filters |= {"named": named, "sentence": sentence}
    environment.filters["label"] = lambda name: label(str(name))
    return environment


@cache
def own_templates() -> Environment:
    return templates("cranfield.reporting.page", "assets")


def sentence(line: str) -> str:
    return f"{capitalised(line)}."


@cache
def asset(name: str) -> str:
    return (files("cranfield.reporting.page") / "assets" / name).read_text("utf-8")


def digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
