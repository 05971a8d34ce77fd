"""What all charts have in common, up to the file."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from cranfield.base.arrays import Bools, Floats, best_first, to_order
from cranfield.base.errors import (
    CranfieldError,
    MissingDependencyError,
    PolicyError,
    optional_module,
    quoted,
)
from cranfield.base.files import whole_file
from cranfield.base.text import plain
from cranfield.measures.base import Measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import place_of
from cranfield.significance.prepare import as_scores

if TYPE_CHECKING:
    import altair as alt


Chart = TypeVar("Chart")


def offline(chart: Chart) -> Chart:
    """Make a chart show itself as SVG.

    Altair's own way asks a network for its scripts. Another way that its user has chosen, such as
    `altair.renderers.enable("jupyter")`, stands.
    """
    kind: Any = type(chart)
    # The class and not the object, so that it survives what is set later: Altair copies then.
    # What is set in the common way would become a part of the specification.
    object.__setattr__(chart, "__class__", _shown_offline(kind))
    return chart


@cache
def _shown_offline(kind: Any) -> Any:
    import altair as alt

    class Offline(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *given: Any, **options: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*given, **options)

            try:
                picture = rendered(self, "svg").decode()
            except MissingDependencyError as error:
                return {"text/plain": f"{described(self)} ({error})"}
            return {"image/svg+xml": picture, "text/plain": described(self)}

    Offline.__name__, Offline.__qualname__ = kind.__name__, kind.__qualname__
    return Offline


Named = Iterable[str | Measure] | Mapping[str, str | Measure] | str | Measure
"""A measure or several; the keys of a mapping are their titles."""

NAMELESS = "(no name)"
"""How a system is called whose tag is empty."""


def labels(names: Sequence[str]) -> list[str]:
    r"""Make names from files fit to be shown: printable, not empty, and each another."""
    taken = {name for name in names if name == _printed(name)}
    out = []
    for name in names:
        label = shown = _printed(name)
        number = 2
        while name != shown and label in taken:
            label = f"{shown} ({number})"
            number += 1
        taken.add(label)
        out.append(label)
    return out


def _printed(name: str) -> str:
    # A tag of blanks would be as invisible as an empty one.
    return plain(name) if name.strip() else NAMELESS


def table_of(scores: Any) -> Scores:
    """Take scores that have a row a topic and a column a system."""
    given = as_scores(scores)
    given.flat("scores by shard have no table to draw")
    if not given.systems or np.isnan(given.values).all():
        raise CranfieldError("there are no scores to draw")
    if np.isinf(given.values).any():
        topic, system = np.argwhere(np.isinf(given.values))[0]
        raise CranfieldError(
            f"topic {quoted(given.topics[topic])} of system {quoted(given.systems[system])} has an"
            " infinite score"
        )
    return given


def chosen(names: Sequence[str], asked: Sequence[str] | str | None) -> list[int]:
    """Find systems by their names; all of them where none is asked for."""
    if asked is None:
        return list(range(len(names)))
    if not isinstance(asked, str) and not isinstance(asked, Sequence):
        raise PolicyError(f"systems are a list of names, not {quoted(asked)}")
    wanted = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))
    if not wanted:
        raise PolicyError("a chart needs a system at least; the list of systems is empty")
    return [place_of(name, names) for name in wanted]


def ordered(scores: Any, systems: Sequence[str] | str | None = None) -> Scores:
    """Take the scores of some systems, those with the best mean first."""
    given = table_of(scores)
    columns = np.array(chosen(given.systems, systems))
    means = given.mean()[columns]
    columns = columns[best_first(to_order(means), given.lower_is_better)]
    return given.select(systems=columns)


def cells_of(
    scores: Scores, chosen: Bools, names: Sequence[str], topics: Sequence[str]
) -> pl.DataFrame:
    """Return a row a chosen cell: its system, topic and score."""
    system, topic = np.nonzero(chosen.T)
    return pl.DataFrame(
        {
            "system": pl.Series([names[k] for k in system.tolist()], dtype=pl.String),
            "topic": pl.Series([topics[k] for k in topic.tolist()], dtype=pl.String),
            "score": scores.values[topic, system],
        }
    )


WHISKERS = 1.5
"""Length of whiskers at most, in interquartile ranges."""


def boxes_of(scores: Scores, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row a system, with the ends of its box and whiskers, and a row a score beyond."""
    values = scores.values
    known = ~np.isnan(values).all(axis=0)
    quartiles = np.full((3, values.shape[1]), np.nan)
    quartiles[:, known] = np.nanquantile(values[:, known], [0.25, 0.5, 0.75], axis=0)
    q1, median, q3 = quartiles
    reach = WHISKERS * (q3 - q1)
    inside = (values >= q1 - reach) & (values <= q3 + reach)
    # With few scores no score may be left between a quartile and the end of its reach.
    low = np.minimum(np.where(inside, values, np.inf).min(axis=0), q1)
    high = np.maximum(np.where(inside, values, -np.inf).max(axis=0), q3)
    boxes = pl.DataFrame(
        {
            "system": pl.Series(names, dtype=pl.String),
            "topics": (~np.isnan(values)).sum(axis=0),
            "mean": scores.mean(),
            "low": low,
            "q1": q1,
            "median": median,
            "q3": q3,
            "high": high,
        }
    )
    beyond = cells_of(scores, ~inside & ~np.isnan(values), names, labels(scores.topics))
    return boxes, beyond


def titled(
    measure: str, before: str = "", after: str = "", *, lower_is_better: bool = False
) -> str:
    words = [before, plain(measure) or "score", after, "(lower is better)" * lower_is_better]
    return " ".join(word for word in words if word)


def named(measures: Named) -> dict[str, str | Measure]:
    if isinstance(measures, (str, Measure)):
        return {str(measures): measures}
    if not isinstance(measures, Iterable):
        raise PolicyError(f"measures are measures or their texts, not {type(measures).__name__}")
    if isinstance(measures, Mapping):
        found = {str(title): one for title, one in measures.items()}
    else:
        found = {str(one): one for one in measures}
    if not found:
        raise PolicyError("there are no measures to draw")
    return found


COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)
"""The palette of Okabe and Ito (2008), which people who do not see all colours can tell apart;
yellow, which is pale on white, is left out, and grey comes last."""

DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2))
"""Patterns of lines, for when the colours have been used up."""


FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of one width: files are laid out with one of them, and shown with another elsewhere."""


def chart_of(rows: pl.DataFrame | Mapping[str, Any]) -> alt.Chart:
    """Return a chart of a table, of which marks and channels follow."""
    import altair as alt

    chart: alt.Chart = alt.Chart(data_of(rows))
    return chart


def tips(*fields: str, form: str = ".4f") -> list[alt.Tooltip]:
    """Return tooltips of numbers."""
    import altair as alt

    return [alt.Tooltip(f"{field}:Q", format=form) for field in fields]


def zero_line() -> alt.Chart:
    """Return the upright line at 0."""
    rule: alt.Chart = chart_of({"zero": [0.0]}).mark_rule(color="#999999", aria=False)
    return rule.encode(x="zero:Q")


def data_of(rows: pl.DataFrame | Mapping[str, Any]) -> alt.InlineData:
    """Put a table inside the chart; a data frame would be cut off at 5,000 rows."""
    frame, floats = pl.DataFrame(rows), pl.selectors.float()
    known = frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep())
    found: alt.InlineData = _rows_kind()(values=known.to_dicts())
    return found


@cache
def _rows_kind() -> Any:
    """Make a kind of data that is neither checked value by value nor copied with every chart.

    Altair copies a chart whenever something is added to it; with some thousand rows that takes
    seconds. Rows are never changed, so that all copies can share them.
    """
    import altair as alt

    class Rows(alt.InlineData):
        _class_is_valid_at_instantiation = False

        def __deepcopy__(self, memo: Any) -> Rows:
            return self

    return Rows


def by_colour(field: str, values: Sequence[str], title: str | None = None) -> dict[str, Any]:
    """Tell lines apart by colour, and by their pattern too."""
    import altair as alt

    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    dashes = [list(DASHES[(k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    legend = alt.Legend(
        title=field if title is None else title, symbolLimit=0, labelLimit=300, symbolOpacity=1
    )
    name = _escaped(field)
    return {
        "color": coded(alt.Color, name, values, colours, legend=legend),
        "strokeDash": coded(alt.StrokeDash, name, values, dashes, legend=legend),
    }


def by_look(field: str, looks: Mapping[str, tuple[str, str]], legend: alt.Legend) -> dict[str, Any]:
    """Distinguish points by colour and shape, which are given by value of a field."""
    import altair as alt

    colours, shapes = zip(*looks.values(), strict=True)
    return {
        "color": coded(alt.Color, field, looks, colours, legend=legend),
        "shape": coded(alt.Shape, field, looks, shapes, legend=legend),
    }


def banded(base: Any, line: Any, marks: dict[str, Any], **properties: Any) -> Any:
    """Lay a line over the band from `low` to `high` in its colour."""
    band = base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q", color=marks["color"])
    return (band + line).properties(**properties)


def coded(
    channel: Callable[..., Any],
    field: str,
    values: Iterable[Any],
    looks: Iterable[Any],
    kind: str = "N",
    **options: Any,
) -> Any:
    """Return a channel that gives each value of a field its look."""
    import altair as alt

    scale = alt.Scale(domain=list(values), range=list(looks))
    return channel(f"{field}:{kind}", scale=scale, **options)


def _escaped(field: str) -> str:
    return field.replace(":", r"\:").replace(".", r"\.").replace("[", r"\[").replace("]", r"\]")


def themed(chart: Chart) -> Chart:
    import altair as alt

    found: Any = chart
    made: Chart = found.configure(
        background="white",
        font=FONT,
        # Room for names where none of the fonts is there, and the one in their place is wider.
        padding={"left": 14, "right": 24, "top": 5, "bottom": 5},
        view=alt.ViewConfig(strokeOpacity=0),
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
            # Labels in a wider font than the one that was measured do not touch the title.
            titlePadding=9,
            gridOpacity=0.5,
        ),
        # A label at the end of an axis stands below its tick, away from its neighbour.
        axisQuantitative=alt.AxisConfig(labelFlush=False, labelSeparation=6),
        header=alt.HeaderConfig(labelFontSize=13, titleFontSize=13),
        legend=alt.LegendConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", columnPadding=22
        ),
        title=alt.TitleConfig(fontSize=14, fontWeight="normal", anchor="start"),
    )
    return offline(made)


LABEL_LIMIT = 260
"""Width of the longest name, in pixels; what is beyond is cut, and a tooltip has all of it."""

COLUMN_LIMIT = 170
"""The same for names of columns, which stand upright."""

STEPS = ((20, 24, 12), (60, 16, 12))
"""Up to how many rows, height of a row, and type size, in pixels."""

CROWDED = (13, 11)
"""The same for more rows than that."""

CELLS = ((12, 28, 12), (40, 16, 11))
"""Up to how many rows of a matrix, side of a cell, and type size, in pixels."""

CROWDED_CELLS = (11, 9)
"""The same for more rows than that."""

LINE = 90
"""Letters of a line below a title."""

TALL = 40
"""From more rows on, an axis stands above the chart, where reading starts."""


def row_size(count: int) -> tuple[int, int]:
    return next(((step, size) for most, step, size in STEPS if count <= most), CROWDED)


def cell_size(count: int) -> tuple[int, int]:
    return next(((step, size) for most, step, size in CELLS if count <= most), CROWDED_CELLS)


def named_axis(title: str | None, size: int, **more: Any) -> alt.Axis:
    """Return an axis of names, each of which is shown, cut where it is too long."""
    import altair as alt

    plain: dict[str, Any] = {"labelOverlap": False, "labelLimit": LABEL_LIMIT, "ticks": False}
    # Room for the longest name: beyond the extent the title would be among the names.
    plain |= {"grid": False, "maxExtent": LABEL_LIMIT + 40}
    return alt.Axis(title=title, labelFontSize=size, **(plain | more))


def column_axis(title: str, size: int, **more: Any) -> alt.Axis:
    return named_axis(title, size, labelAngle=-90, labelLimit=COLUMN_LIMIT, **more)


def row_axis(title: str, size: int, **more: Any) -> alt.Axis:
    """Return the axis of the names of rows; its title is above them, where reading starts."""
    above = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "bottom"}
    place = {"titleX": -8, "titleY": -6}
    return named_axis(title, size, domain=False, **above, **place, **more)


def rows_of(names: Sequence[str], title: str, field: str = "system") -> alt.Y:
    """Return the channel that gives each system a row, in the order given."""
    import altair as alt

    # The order is that of the domain; a sort by list would become a chain of comparisons.
    return alt.Y(
        f"{field}:N",
        scale=alt.Scale(domain=list(names)),
        axis=row_axis(title, row_size(len(names))[1], labelPadding=6),
    )


def value_axis(count: int, **more: Any) -> alt.Axis:
    import altair as alt

    return alt.Axis(orient="top" if count > TALL else "bottom", **more)


def score_axis(field: str, title: str, count: int, scale: Any = None) -> alt.X:
    """Return the channel of scores beside so many rows; its axis need not begin at zero."""
    import altair as alt

    return alt.X(
        f"{field}:Q", title=title, scale=scale or alt.Scale(zero=False), axis=value_axis(count)
    )


def headed(title: str, *below: str) -> alt.TitleParams:
    import altair as alt

    lines = [part for line in below for part in wrap(line, LINE)]
    return alt.TitleParams(
        text=title,
        subtitle=lines or alt.Undefined,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=10,
    )


def overlaid(*layers: Any, **properties: Any) -> alt.LayerChart:
    """Lay charts over each other, the last one on top, in the common look."""
    import altair as alt

    return themed(alt.LayerChart(layer=[*layers], **properties))


def apart(
    wanted: ArrayLike, sizes: ArrayLike, low: float = -np.inf, high: float = np.inf
) -> Floats:
    r"""Move things on a line as little as possible, so that none covers another.

    .. math:: \min_p \sum_i (p_i - w_i)^2 \quad \text{with} \quad
        p_{i+1} - p_i \ge \tfrac{1}{2} (s_i + s_{i+1})

    Notes
    -----
    Less the room that those before it take up, positions only have to be in order: that is isotonic
    regression.
    """
    from scipy.optimize import isotonic_regression

    places, room = np.asarray(wanted, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not places.size:
        return places
    before = np.concatenate(([0.0], np.cumsum((room[1:] + room[:-1]) / 2)))
    first, last = low + room[0] / 2, high - room[-1] / 2 - before[-1]
    free = np.asarray(isotonic_regression(places - before).x, dtype=np.float64)
    return np.asarray(np.clip(free, first, max(first, last)) + before)


FORMATS = ("html", "svg", "pdf", "png", "json")
"""What a chart can be written as, by the suffix of the file."""

SCALE = 2.0
"""Pixels of a PNG for each of the chart, by default."""

MENU = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
"""The menu beside a chart in a page; the editor would be one on the network."""


class InScript(json.JSONEncoder):
    """JSON that may stand in the script of a page: no text in it can end the script."""

    def encode(self, o: Any) -> str:
        text = super().encode(o)
        for char in "<>&\u2028\u2029":
            text = text.replace(char, f"\\u{ord(char):04x}")
        return text


def save(chart: Any, path: str | PathLike[str], *, scale: float = SCALE) -> None:
    """Write a chart to a file: HTML, SVG, PDF, PNG or JSON, as the name of the file says.

    Nothing is fetched from a network, now or when the file is opened: a page of HTML has in it all
    that it needs, about one megabyte. SVG and PDF have text that can be searched and copied. JSON
    is the specification of the chart in Vega-Lite. The file appears whole or not at all.

    Parameters
    ----------
    chart
        A chart of this package, or any other of Altair.
    path
        Name of the file, which ends in `.html`, `.svg`, `.pdf`, `.png` or `.json`.
    scale
        Pixels of a PNG for each of the chart; 2 is sharp on most screens. Other formats have no
        pixels.

    Raises
    ------
    PolicyError
        For another suffix, a scale that is not above 0, or what is no chart.
    InputError
        When the file cannot be written.

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
    cranfield.PolicyError: 'box.docx' does not end in .html, .svg, .pdf, .png or .json
    """
    suffix = format_of(path)
    content = rendered(chart, suffix, scale=scale)
    with whole_file(path) as out:
        out.write(content)


def format_of(path: Any) -> str:
    """Return what a file is to be written as, by the end of its name."""
    if not isinstance(path, (str, PathLike)):
        raise PolicyError(f"a file is named by its path, not by {type(path).__name__}")
    name = Path(fspath(path)).name
    suffix = Path(name).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        ends = ", ".join(f".{one}" for one in FORMATS[:-1])
        raise PolicyError(f"{quoted(name)} does not end in {ends} or .{FORMATS[-1]}")
    return suffix


def rendered(chart: Any, suffix: str, *, scale: Any = SCALE) -> bytes:
    import altair as alt

    if not isinstance(chart, alt.TopLevelMixin):
        raise PolicyError(f"this is no chart of Altair, but {type(chart).__name__}")
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale <= 20:
        raise PolicyError(f"scale is a number above 0, up to 20, not {quoted(scale)}")
    if suffix == "json":
        return (chart.to_json(indent=1) + "\n").encode()
    optional_module("vl_convert", "vl-convert-python", "vl-convert-python", f"a chart as {suffix}")
    if suffix == "html":
        return _page(chart).encode()
    if suffix == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        label = html.escape(described(chart))
        # As in a page; a converter leaves it out.
        spoken = f'<svg role="graphics-document" aria-label="{label}" '
        return text.getvalue().replace("<svg ", spoken, 1).encode()
    out = io.BytesIO()
    drawn: Any = chart
    drawn.save(out, format=suffix, scale_factor=scale if suffix == "png" else 1)
    return out.getvalue()


def _page(chart: Any) -> str:
    """Return a page that needs nothing else; Altair's own loads its scripts from a network."""
    page: str = chart.to_html(
        inline=True, embed_options=MENU, json_kwds={"cls": InScript, "ensure_ascii": False}
    )
    title = html.escape(described(chart))
    head = f'<html lang="en">\n<head>\n  <title>{title}</title>'
    return page.replace("<html>\n<head>", head, 1)


def described(chart: Any) -> str:
    found = chart["description"]
    return found if isinstance(found, str) else "Chart"
