"""Saving charts as HTML, SVG, PDF, PNG and JSON, without a network."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from textwrap import wrap
from typing import Any

from cranfield.base.errors import MissingDependencyError, PolicyError, check_number, quote
from cranfield.base.files import open_atomically

FORMATS = ("html", "svg", "pdf", "png", "json")  # formats of charts, which are suffixes of files
SCALE = 2.0  # default number of pixels of a PNG for each pixel of the chart

MENU = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
"""Menu of a chart in a page, without the editor, which needs a network."""


class ScriptEncoder(json.JSONEncoder):
    """JSON encoder for scripts in a page, which escapes text that could end the script."""

    def encode(self, o: Any) -> str:
        text = super().encode(o)
        for char in "<>&\u2028\u2029":
            text = text.replace(char, f"\\u{ord(char):04x}")
        return text


PIXELS_PER_MM = 96 / 25.4  # CSS pixels per millimetre
MAX_NARROW = 450  # below this width in pixels, legends are below the plot
MAX_ROW_NAME = 0.4  # maximum proportion of the width for names of rows
MARGINS = 55  # width of the margins, in pixels
CHARACTER_WIDTH = 6.5  # usual width of a character, in pixels
SYMBOL_WIDTH = 40  # width of a symbol in a legend and the space around it, in pixels
MIN_CHARACTERS = 8  # minimum length of a line in a legend
POINTS_PER_PIXEL = 72 / 96
_SIZE = re.compile(r'(?<= width=")([\d.]+)(" height=")([\d.]+)')  # size of an SVG


def save(
    chart: Any,
    path: str | PathLike[str],
    *,
    scale: float = SCALE,
    width: float | None = None,
    height: float | None = None,
    title: bool = True,
) -> None:
    """Write a chart to a file: HTML, SVG, PDF, PNG or JSON, by its suffix.

    Neither writing nor opening the file needs a network: an HTML page contains all scripts, of
    about one megabyte. The text of SVG and PDF can be searched and copied. JSON contains the
    Vega-Lite specification of the chart. The file is written atomically.

    Parameters
    ----------
    chart
        A chart of this package, or another Altair chart.
    path
        Name of the file, which ends in `.html`, `.svg`, `.pdf`, `.png` or `.json`.
    scale
        Number of pixels of a PNG for each pixel of the chart; 2 is sharp on most screens. It has no
        effect on other formats.
    width
        Width of the whole chart in millimetres, such as 84 for a column of a paper, at 96 pixels
        per inch, in PDF too. The plot is resized, and text keeps its size of about 8 points. Charts
        with several panels are refused.
    height
        Height of the whole chart in millimetres, as for the width. Labels that would overlap are
        omitted.
    title
        Whether to draw the title; in a paper, the caption replaces the title.

    Raises
    ------
    PolicyError
        For an unknown suffix, an invalid scale or size, or an object that is not a chart.
    InputError
        If the file cannot be written.
    MissingDependencyError
        If the extra `charts` is not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cranfield.reporting.charts import box_plot
    >>> chart = box_plot({"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]})
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> save(chart, folder / "box.json")
    >>> save(chart, folder / "box.docx")
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: path must end in .html, .svg, .pdf, .png or .json, got 'box.docx'
    """
    suffix = parse_format(path)
    content = render_chart(_resize(chart, width, height, title), suffix, scale=scale)
    with open_atomically(path) as out:
        out.write(content)


def _resize(chart: Any, width: float | None, height: float | None, title: bool) -> Any:
    """Return a chart with a size in millimetres, if set, and without its title unless `title`."""
    sizes = {k: mm for k, mm in (("width", width), ("height", height)) if mm is not None}
    if not sizes and title:
        return chart
    check_extra("json")
    import altair as alt

    _require_chart(chart)
    changes: dict[str, Any] = {}
    for name, size in sizes.items():
        check_number(name, size, 30, 1000)
        if not isinstance(chart, (alt.Chart, alt.LayerChart)):
            raise PolicyError(f"{name} requires a chart of one panel, got {type(chart).__name__}")
        changes[name] = round(size * PIXELS_PER_MM)
    if sizes:
        changes["autosize"] = alt.AutoSizeParams(
            type="fit" if len(sizes) > 1 else "fit-x" if width is not None else "fit-y",
            contains="padding",
        )
    if width is not None:
        chart = type(chart).from_dict(_fit_to_width(chart.to_dict(), changes["width"]))
    if height is not None:
        for encoding in _find_encodings(spec := chart.to_dict()):
            if isinstance(axis := encoding.get("y", {}).get("axis"), dict):
                axis["labelOverlap"] = "greedy"  # labels that would overlap are omitted
        chart = type(chart).from_dict(spec)
    if not title:
        changes["title"] = ""
    return chart.properties(**changes)


def _fit_to_width(spec: dict[str, Any], width: int) -> dict[str, Any]:
    """Change the labels and legends of a specification so that they fit into a width in pixels."""
    channels = [
        (name, channel)
        for encoding in _find_encodings(spec)
        for name, channel in encoding.items()
        if isinstance(channel, dict)
    ]
    max_name_width = MAX_ROW_NAME * width
    row_names = [name for key, channel in channels if key == "y" for name in _list_names(channel)]
    name_width = min(CHARACTER_WIDTH * max(map(len, row_names), default=0), max_name_width)
    for name, channel in channels:
        legend, axis = channel.get("legend"), channel.get("axis")
        if isinstance(legend, dict) and "gradientLength" not in legend:
            _fit_legend(legend, _list_names(channel), width - name_width - MARGINS)
            if width < MAX_NARROW and legend.get("orient", "right") == "right":
                legend["orient"] = "bottom"
        if name == "x" and isinstance(axis, dict):
            axis["labelOverlap"] = "greedy"  # labels that would overlap are omitted
        elif name == "y" and isinstance(axis, dict) and _list_names(channel):
            axis["labelLimit"] = max_name_width
    return spec


def _find_encodings(spec: Any) -> Iterator[dict[str, Any]]:
    """Yield the encodings of a specification and of its layers."""
    if "encoding" in spec:
        yield spec["encoding"]
    for layer in spec.get("layer", ()):
        yield from _find_encodings(layer)


def _list_names(channel: dict[str, Any]) -> list[str]:
    """Return the names on the scale of a channel; empty for a scale of numbers."""
    domain = (channel.get("scale") or {}).get("domain", ())
    return [name for name in domain if isinstance(name, str)] if isinstance(domain, list) else []


def _fit_legend(legend: dict[str, Any], names: Sequence[str], width: float) -> None:
    """Change the columns and lines of a legend of names so that it fits into a width in pixels."""
    entry_width = CHARACTER_WIDTH * max(map(len, names), default=0) + SYMBOL_WIDTH
    legend["columns"] = 1 if 2 * entry_width > width else min(2, legend.get("columns", 2))
    n_characters = max(MIN_CHARACTERS, int((width - SYMBOL_WIDTH) / CHARACTER_WIDTH))
    if long_names := [name for name in names if len(name) > n_characters]:
        lines = json.dumps([wrap(name, n_characters) for name in long_names])
        index = f"indexof({json.dumps(long_names)}, datum.label)"
        legend["labelExpr"] = f"{lines}[{index}] || datum.label"
    if isinstance(title := legend.get("title"), str):
        legend["title"] = wrap(title, max(MIN_CHARACTERS, int(width / CHARACTER_WIDTH)))
        legend["titleLimit"] = width


def make_caption(chart: Any) -> str:
    """Return the title of a chart and the lines below it, as one text."""
    title = chart.to_dict().get("title", "")
    if isinstance(title, str):
        return title
    lines = [title.get("text", ""), title.get("subtitle", [])]
    title_lines, subtitle_lines = ([line] if isinstance(line, str) else line for line in lines)
    return ". ".join(filter(None, [" ".join(title_lines), " ".join(subtitle_lines)]))


def parse_format(path: Any) -> str:
    """Return the format of a file from its suffix."""
    if not isinstance(path, (str, PathLike)):
        raise PolicyError(f"expected the path of a file, got {type(path).__name__}")
    name = Path(fspath(path)).name
    suffix = Path(name).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        suffixes = ", ".join(f".{name}" for name in FORMATS[:-1])
        raise PolicyError(f"path must end in {suffixes} or .{FORMATS[-1]}, got {quote(name)}")
    return suffix


def check_extra(suffix: str) -> None:
    """Raise an error if the packages that draw charts in this format are not installed."""
    for module in ("altair", "vl_convert")[: 1 if suffix == "json" else 2]:
        try:
            import_module(module)
        except ImportError as error:
            raise MissingDependencyError(
                "charts require the extra 'charts': pip install 'cranfield[charts]'"
            ) from error


def render_chart(chart: Any, suffix: str, *, scale: Any = SCALE) -> bytes:
    """Render a chart as the content of a file."""
    check_extra(suffix)
    _require_chart(chart)
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale <= 20:
        raise PolicyError(f"scale must be a number above 0 and up to 20, got {quote(scale)}")
    if suffix == "json":
        text: str = chart.to_json(indent=1)
        return f"{text}\n".encode()
    if suffix == "html":
        return _render_page(chart).encode()
    if suffix == "pdf":
        import vl_convert

        # The conversion takes pixels as points.
        svg = _SIZE.sub(_convert_to_points, _render_svg(chart), count=1)
        return bytes(vl_convert.svg_to_pdf(svg))
    if suffix == "svg":
        label = html.escape(describe_chart(chart))
        # This SVG has no label for screen readers, unlike a page.
        tag = f'<svg role="graphics-document" aria-label="{label}" '
        return _render_svg(chart).replace("<svg ", tag, 1).encode()
    out = io.BytesIO()
    untyped_chart: Any = chart
    untyped_chart.save(out, format=suffix, scale_factor=scale)
    return out.getvalue()


def _require_chart(chart: Any) -> None:
    import altair as alt

    if not isinstance(chart, alt.TopLevelMixin):
        raise PolicyError(f"expected an Altair chart, got {type(chart).__name__}")


def _render_svg(chart: Any) -> str:
    text = io.StringIO()
    chart.save(text, format="svg")
    return text.getvalue()


def _convert_to_points(size: re.Match[str]) -> str:
    width, height = (float(size[k]) * POINTS_PER_PIXEL for k in (1, 3))
    return f"{width:g}{size[2]}{height:g}"


def _render_page(chart: Any) -> str:
    """Return an HTML page that contains all scripts, which Altair by default loads from a CDN."""
    page: str = chart.to_html(
        inline=True, embed_options=MENU, json_kwds={"cls": ScriptEncoder, "ensure_ascii": False}
    )
    title = html.escape(describe_chart(chart))
    head = f'<html lang="en">\n<head>\n  <title>{title}</title>'
    return page.replace("<html>\n<head>", head, 1)


def describe_chart(chart: Any) -> str:
    """Return the description of a chart for screen readers."""
    text = chart["description"]
    return text if isinstance(text, str) else "Chart"
