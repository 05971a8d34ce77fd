"""Escaping of HTML, templates and complete pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from cranfield.base.text import capitalise, escape_html, inflect, sanitise
from cranfield.tabular import as_cell

if TYPE_CHECKING:
    from jinja2 import Environment, Template

EMPTY_LABEL = "(no name)"  # text of an empty label
MAX_UNTITLED_LENGTH = 40  # longer names may be cut, so they have a title attribute


class Html(str):
    """Text that is HTML, and not escaped."""

    __slots__ = ()


def escape(value: object) -> Html:
    """Escape a value unless it is HTML; unprintable characters are replaced by their codes."""
    return value if isinstance(value, Html) else Html(escape_html(str(value)))


def format_name(name: str) -> Html:
    """Return a name as HTML that may break at any character and is cut after some lines."""
    escaped_name = escape(make_label(name))
    title = f' title="{escaped_name}"' if len(make_label(name)) > MAX_UNTITLED_LENGTH else ""
    return Html(f'<span class="name"{title}>{escaped_name}</span>')


def make_label(name: str) -> str:
    """Make a name printable and not empty."""
    return sanitise(name) or EMPTY_LABEL


def assemble_page(title: str, body: Html, *, style: str, scripts: Sequence[str] = ()) -> str:
    """Return a page that loads no resources and allows only the scripts in its body."""
    policy = ["default-src 'none'", f"style-src '{hash_source(style)}'"]
    if scripts:
        policy.append(f"script-src {' '.join(repr(hash_source(script)) for script in scripts)}")
    policy += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    # The policy contains quoted hashes, which must not be escaped.
    parts = {"policy": Html("; ".join(policy)), "style": Html(style), "body": body}
    page = fill_template("shell.html", title=title, **parts)
    return page.encode("utf-8", "backslashreplace").decode()


def render_sections(
    template: Template, title: str, *, styles: Iterable[str], **values: object
) -> str:
    """Return a page without scripts from a template that extends `sections.html`."""
    body = Html(template.render(title=title, **values))
    return assemble_page(title, body, style="".join(map(read_asset, styles)))


def fill_template(name: str, **values: object) -> Html:
    """Fill a template of this package."""
    return Html(load_own_templates().get_template(name).render(values))


def make_environment(package: str, folder: str) -> Environment:
    """Return the templates of a package and those of all pages; values are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def escape_value(value: object) -> Markup:
        text = "" if value is None else value
        return value if isinstance(value, Markup) else Markup(escape(text))

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, folder), PackageLoader("cranfield.reporting.page", "assets")]
        ),
        autoescape=True,
        finalize=escape_value,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"as_cell": as_cell, "capitalised": capitalise, "counted": inflect}
    environment.filters |= {"named": format_name, "sentence": make_sentence}
    environment.filters["label"] = lambda name: make_label(str(name))
    return environment


@cache
def load_own_templates() -> Environment:
    """Return the templates of this package."""
    return make_environment("cranfield.reporting.page", "assets")


def make_sentence(line: str) -> str:
    """Make a sentence of a line: with a capital letter and a full stop."""
    return f"{capitalise(line)}."


@cache
def read_asset(name: str) -> str:
    """Return the text of a file in `assets`."""
    return (files("cranfield.reporting.page") / "assets" / name).read_text("utf-8")


def hash_source(source: str) -> str:
    """Return the hash of a script or style for a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
