"""Templates of pages, rendered with escaped values, and folders of pages."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from os import fspath
from pathlib import Path
from urllib.parse import quote as quote_url

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cranfield.base.errors import PolicyError, make_file_error, quote
from cranfield.base.files import make_folder, open_atomically
from cranfield.base.text import capitalise, escape_markdown, inflect, sanitise
from cranfield.campaign.opened_campaign import PathName
from cranfield.campaign.rules.task_rules import format_time
from cranfield.measures import parse_measure
from cranfield.reporting.page.html import Html, make_environment, render_sections
from cranfield.reporting.page.svg_charts import draw_bars, draw_curves
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import format_number

STYLES = ("page.css", "drawn.css", "sheet.css")
"""Style sheets of the pages, in order; `sheet.css` is for the result sheets of participants."""


def render(template: str, **values: object) -> Html:
    """Render a template as HTML."""
    return Html(load_templates().get_template(template).render(values))


def render_page(template: str, title: str, **values: object) -> str:
    """Render a self-contained page of sections, without scripts, from a template."""
    return render_sections(load_templates().get_template(template), title, styles=STYLES, **values)


def render_text(template: str, **values: object) -> str:
    """Render a template of plain text or Markdown; the template escapes values by filters."""
    return load_text_templates().get_template(template).render(values)


@cache
def load_text_templates() -> Environment:
    """Return the environment of the templates of text and Markdown."""
    environment = Environment(
        loader=PackageLoader("cranfield.campaign"),
        trim_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"counted": inflect, "markdown": escape_markdown, "plain": sanitise}
    environment.globals["capitalised"] = capitalise
    return environment


@cache
def load_templates() -> Environment:
    """Return the environment of the HTML templates; values are escaped."""
    environment = make_environment("cranfield.campaign", "templates")
    environment.globals |= {"link": format_link, "lower_is_better": is_lower_better}
    environment.globals["newline"] = Markup("\n")
    environment.globals |= {"capitalised": capitalise, "shortened": shorten_letters}
    environment.globals |= {"draw_bars": draw_bars, "draw_curves": draw_curves}
    environment.filters |= {"position": to_position, "decimal": parse_decimal}
    environment.filters |= {"number": format_number, "time": format_time}
    return environment


def format_link(*parts: str, prefix: str = "") -> str:
    """Return a percent-encoded relative link, after a prefix such as `../`."""
    return prefix + "/".join(quote_url(part, safe="") for part in parts)


def parse_decimal(text: str | None) -> float | None:
    """Return the finite number in a cell of a table, or None."""
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def to_position(
    value: float, bounds: tuple[float, float], start: float | None = None, shift: float = 0
) -> str:
    """Return the position of a value between two bounds, from 0 to 100 percent, plus a shift.

    A value outside the bounds has the position of the nearest bound. With a `start`, return the
    position of the value minus that of `start`, plus the shift.
    """
    low, high = bounds

    def to_percent(x: float) -> float:
        fraction = (x - low) / (high - low) if high > low else 0.5
        return 100 * min(1.0, max(0.0, fraction))

    return f"{to_percent(value) + shift - (0 if start is None else to_percent(start)):.2f}"


def is_lower_better(name: str) -> bool:
    """Return True if lower values of a measure are better; False for an unknown measure."""
    try:
        return parse_measure(name).info.lower_is_better
    except ValueError:
        return False


SHEETS = "runs"
"""Folder of the sheets, without the file index.html, because a tag may be `index`."""


def encode_text(text: str) -> bytes:
    # Names of files may have surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, is_private: bool = False
) -> tuple[Path, ...]:
    """Write files by name into a folder; return their paths."""
    target = Path(fspath(folder))
    for subfolder in sorted({(target / name).parent for name in files}):
        make_folder(subfolder)
    for name, content in files.items():
        with open_atomically(target / name, is_private=is_private) as out:
            out.write(content)
    return tuple(target / name for name in files)


@contextmanager
def replace_folder(
    folder: PathName, noun: str, *, is_private: bool = False, is_public: bool = False
) -> Iterator[Path]:
    """Yield a temporary folder, which becomes `folder` when it is complete, or not at all.

    The noun is the kind of the folder, such as `site`. An older folder is replaced only if it is
    empty, or is of this kind and contains only files that a hidden file lists. Only the owner can
    read the hidden file of a private folder; everybody can read all files of a public folder.
    """
    target, record_name = Path(fspath(folder)).resolve(), f".cranfield-{noun}"
    _check_replaceable(target, folder, noun, record_name)
    make_folder(target.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as work:
            new_folder, old_folder = Path(work) / "new", Path(work) / "old"
            new_folder.mkdir()
            yield new_folder
            files = sorted(path for path in new_folder.rglob("*") if path.is_file())
            names = "".join(f"{path.relative_to(new_folder).as_posix()}\n" for path in files)
            with open_atomically(new_folder / record_name, is_private=is_private) as out:
                out.write(names.encode())
            for entry in (new_folder, *new_folder.rglob("*")) if is_public else ():
                entry.chmod(0o755 if entry.is_dir() else 0o644)
            if target.is_dir():
                target.rename(old_folder)
            try:
                new_folder.rename(target)
            except OSError:
                if old_folder.is_dir():
                    old_folder.rename(target)
                raise
            shutil.rmtree(old_folder, ignore_errors=True)
    except OSError as error:
        raise make_file_error(error, "written", folder) from None


def _check_replaceable(target: Path, folder: PathName, noun: str, record_name: str) -> None:
    """Check that a folder does not exist, is empty, or was written as a folder of this kind."""
    if not os.path.lexists(target):
        return
    name = quote(str(folder))
    if not target.is_dir():
        raise PolicyError(f"expected a folder, got the file {name}")
    files = (path for path in target.rglob("*") if path.is_symlink() or not path.is_dir())
    paths = {path.relative_to(target).as_posix() for path in files}
    record = target / record_name
    written_names = (
        {record_name, *record.read_text("utf-8").splitlines()} if record.is_file() else set()
    )
    if other_files := sorted(paths - written_names):
        reason = f"contains {quote(other_files[0])}, which does not belong to the {noun}"
        raise PolicyError(f"{name} {reason}; nothing was changed")
