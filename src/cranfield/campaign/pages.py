"""Templates of pages, filled with escaped values."""

from __future__ import annotations

import math
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cranfield.base.text import capitalised, counted, markdown, plain
from cranfield.measures import parse_measure
from cranfield.reporting.page.html import Html, sections_page, templates
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import format_number

STYLES = ("page.css", "drawn.css", "sheet.css")
"""Style sheets of a page with a participant's sheet, in order."""


def filled(template: str, **values: object) -> Html:
    """Fill a template."""
    return Html(environment().get_template(template).render(values))


def filled_page(template: str, title: str, **values: object) -> str:
    """Fill the template of a self-contained page of sections without scripts."""
    return sections_page(environment().get_template(template), title, styles=STYLES, **values)


def filled_text(template: str, **values: object) -> str:
    """Fill a template of plain text or Markdown, which escapes values by filters."""
    environment = Environment(
        loader=PackageLoader("cranfield.campaign"),
        trim_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": counted, "markdown": markdown, "plain": plain}
    return environment.get_template(template).render(values)


@cache
def environment() -> Environment:
    """Return the environment of the templates, which escapes values."""
    templates_env = templates("cranfield.campaign", "templates")
    templates_env.globals |= {
        "link": link,
        "lower_is_better": lower_is_better,
        "newline": Markup("\n"),
    }
    templates_env.globals |= {"capitalised": capitalised, "shortened": shorten_letters}
    templates_env.filters |= {"at": at, "decimal": decimal, "number": format_number}
    return templates_env


def link(*parts: str, start: str = "") -> str:
    """Return a relative link, percent-encoded; `start` is a prefix such as `../`."""
    return start + "/".join(quote(part, safe="") for part in parts)


def decimal(text: str | None) -> float | None:
    """Return the finite number in a cell of a table, else None."""
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def at(
    value: float, ends: tuple[float, float], start: float | None = None, shift: float = 0
) -> str:
    """Return the position of a value between both ends, in percent.

    With a `start`, return the distance from it.
    """
    low, high = ends

    def percent(number_: float) -> float:
        fraction = (number_ - low) / (high - low) if high > low else 0.5
        return 100 * min(1.0, max(0.0, fraction))

    return f"{percent(value) + shift - (0 if start is None else percent(start)):.2f}"


def lower_is_better(name: str) -> bool:
    """Return True if lower is better for a measure; False for an unknown one."""
    try:
        return parse_measure(name).info.lower_is_better
    except ValueError:
        return False
