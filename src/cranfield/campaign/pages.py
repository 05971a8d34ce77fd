"""Templates of pages, rendered with escaped values, and folders of pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from os import fspath
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.files import make_folder, whole_file
from cranfield.base.text import capitalised, counted, markdown, plain
from cranfield.campaign.opened_campaign import PathName
from cranfield.campaign.rules.task_rules import time_text
from cranfield.measures import parse_measure
from cranfield.reporting.page.html import Html, sections_page, templates
from cranfield.reporting.page.svg_charts import draw_bars, draw_curves
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import format_number

STYLES = ("page.css", "drawn.css", "sheet.css")
"""Style sheets of the pages, in order; `sheet.css` is for the result sheets of participants."""


def render(template: str, **values: object) -> Html:
    """Render a template as HTML."""
    return Html(page_environment().get_template(template).render(values))


def render_page(template: str, title: str, **values: object) -> str:
    """Render a self-contained page of sections, without scripts, from a template."""
    return sections_page(page_environment().get_template(template), title, styles=STYLES, **values)


def render_text(template: str, **values: object) -> str:
    """Render a template of plain text or Markdown, which escapes values by filters."""
    return text_environment().get_template(template).render(values)


@cache
def text_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cranfield.campaign"),
        trim_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": counted, "markdown": markdown, "plain": plain}
    environment.filters["time"] = time_text
    return environment


@cache
def page_environment() -> Environment:
    """Return the environment of the templates, which escapes values."""
    environment = templates("cranfield.campaign", "templates")
    environment.globals |= {
        "link": link,
        "lower_is_better": lower_is_better,
        "newline": Markup("\n"),
    }
    environment.globals |= {"capitalised": capitalised, "shortened": shorten_letters}
    environment.globals |= {"draw_bars": draw_bars, "draw_curves": draw_curves}
    environment.filters |= {"position": position, "decimal": parse_decimal, "number": format_number}
    environment.filters["time"] = time_text
    return environment


def link(*parts: str, prefix: str = "") -> str:
    """Return a percent-encoded relative link, after a prefix such as `../`."""
    return prefix + "/".join(quote(part, safe="") for part in parts)


def parse_decimal(text: str | None) -> float | None:
    """Return the finite number in a cell of a table, or None."""
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def position(
    value: float, bounds: tuple[float, float], start: float | None = None, shift: float = 0
) -> str:
    """Return the position of a value between two bounds, in percent, plus a shift.

    With a `start`, the result is the distance from the position of `start`.
    """
    low, high = bounds

    def percent(x: float) -> float:
        fraction = (x - low) / (high - low) if high > low else 0.5
        return 100 * min(1.0, max(0.0, fraction))

    return f"{percent(value) + shift - (0 if start is None else percent(start)):.2f}"


def lower_is_better(name: str) -> bool:
    """Return True if lower values of a measure are better; False for an unknown measure."""
    try:
        return parse_measure(name).info.lower_is_better
    except ValueError:
        return False


SHEETS = "runs"
"""Folder of the sheets; separate from the index, because a tag may be `index`."""


def encode_text(text: str) -> bytes:
    # Names of files may have surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, private: bool = False
) -> tuple[Path, ...]:
    """Write files by name into a folder, unless it has sheets of other runs."""
    target = Path(fspath(folder))
    for subfolder in sorted({(target / name).parent for name in files}):
        if subfolder.name == SHEETS and subfolder.is_dir():
            names = {path.name for path in subfolder.iterdir()}
            if extra := sorted(names - {Path(name).name for name in files}):
                reason = "which belongs to no current run; remove it, or choose another folder"
                raise PolicyError(f"{subfolder} contains {quoted(extra[0])}, {reason}")
        make_folder(subfolder)
    for name, content in files.items():
        with whole_file(target / name, private=private) as out:
            out.write(content)
    return tuple(target / name for name in files)
