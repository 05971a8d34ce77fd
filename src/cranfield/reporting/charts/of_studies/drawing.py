"""The chart of a study that a command is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.base.errors import PolicyError
from cranfield.meta.study import Study
from cranfield.reporting.charts.catalogue import CHARTS, find_chart
from cranfield.reporting.charts.saving import format_of, save


def chart_to_draw(asked: str, kinds: Sequence[type[Study]]) -> tuple[str, str]:
    """Read `FILE` or `KIND=FILE`; without a kind it is the first that the studies have."""
    classes = {kind.__name__ for kind in kinds}
    there = [name for name, one in CHARTS.items() if one.of in classes]
    kind, sign, path = asked.rpartition("=")
    name = find_chart(kind) if sign else next(iter(there), "")
    if name not in there:
        raise PolicyError(
            f"{name or 'a chart'} is not drawn of this study; it has {', '.join(there) or 'none'}"
        )
    format_of(path)
    return name, path


def draw_study(asked: str, studies: Sequence[Study]) -> None:
    """Draw a chart of the studies that it is of: all together where it takes several."""
    name, path = chart_to_draw(asked, [type(one) for one in studies])
    chart = CHARTS[name]
    own = [one for one in studies if type(one).__name__ == chart.of]
    save(chart.draw(own if chart.of == "Stability" else own[0]), path)
