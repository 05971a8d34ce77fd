"""All charts, as their functions declare them: name, subject and summary.

The command `cranfield plot`, `.plot` of results and the list in the documentation follow from this.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from cranfield.base.errors import PolicyError
from cranfield.base.spec import Registry
from cranfield.base.text import capitalised
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import check_extra, format_of, save
from cranfield.result import Result
from cranfield.scores import Scores

MEASURES, LENGTH = "measures", "a length"
"""Subjects of charts that need no result: measures, and a length of runs."""

BY_COMMAND = ("Scores", "Evaluation", "PairwiseComparison", "AnovaTable", MEASURES, LENGTH)
"""Subjects of charts of the command `cranfield plot`: those computed from runs and scores."""


class Kind(NamedTuple):
    """A chart: its function, the class of its subject, and its summary."""

    function: str
    of: str
    shows: str

    @property
    def draw(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(charts, self.function)
        return function

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the chart, without its subject."""
        return tuple(inspect.signature(self.draw).parameters)[self.of != LENGTH :]


MODULES = (
    *("of_systems", "of_topics", "recall", "of_scales", "hasse"),
    *("of_judgments", "of_users", "of_studies"),
)
"""Modules of charts, in the order in which charts are listed."""

_DECLARED = re.compile(
    r'@draws\("([\w-]+)", "([\w ]+)"\)\ndef (\w+)\(.*?"""Draw (.+?)\.\n', re.DOTALL
)
"""A chart in its module: its name, subject, function and summary."""


def _declared() -> dict[str, Kind]:
    """Read the declarations from the files: loading all modules, with Altair, takes seconds."""
    folder = files(charts)
    return {
        name: Kind(function, of, capitalised(shows))
        for module in MODULES
        for name, of, function, shows in _DECLARED.findall(
            (folder / f"{module}.py").read_text("utf-8")
        )
    }


_CHARTS = _declared()
CHARTS = Registry(
    "chart", things=_CHARTS, aliases={chart.function: name for name, chart in _CHARTS.items()}
)
"""All charts by name; in Python a `-` of a name is `_`."""


def _scores_of(evaluation: Evaluation, measure: Any = None) -> Scores:
    """Choose the scores of one measure of an evaluation."""
    if measure is None and len(evaluation) > 1:
        raise PolicyError(
            f"the chart shows one measure; set measure={next(iter(evaluation))!r}, or another of"
            f" {', '.join(evaluation)}"
        )
    return evaluation[next(iter(evaluation)) if measure is None else measure]


def _anova_of(comparison: Any) -> Any:
    if comparison.anova is None:
        raise PolicyError(
            f"{comparison.info.title} is not an analysis of variance; use test='anova-2'"
        )
    return comparison.anova


WITHIN: dict[tuple[str, str], Callable[..., Any]] = {
    ("Evaluation", "Scores"): _scores_of,
    ("PairwiseComparison", "Scores"): lambda comparison: comparison.scores,
    ("PairwiseComparison", "AnovaTable"): _anova_of,
}
"""Parts of results that have charts, too."""


def charts_of(thing: Any) -> dict[str, Callable[..., Any]]:
    """Return functions from a result to the subject of each of its charts."""
    kinds = [cls.__name__ for cls in type(thing).__mro__]
    ways: dict[str, Callable[..., Any]] = {kind: lambda result: result for kind in kinds}
    ways |= {inner: way for (outer, inner), way in WITHIN.items() if outer in kinds}
    return {name: ways[chart.of] for name, chart in CHARTS.items() if chart.of in ways}


def names_of(thing: Any) -> Iterator[str]:
    return (name.replace("-", "_") for name in charts_of(thing))


def listed(thing: Any) -> str:
    """List the charts of a result, a line each."""
    there = charts_of(thing)
    return "\n".join(f"{name:18}{CHARTS[name].shows}" for name in there) or "no charts"


def drawing(thing: Any, name: str) -> Callable[..., Any]:
    """Return the function that draws a chart of a result; it takes the options of the chart."""
    of = charts_of(thing)
    has = f"{type(thing).__name__} has {', '.join(names_of(thing)) or 'no charts'}"
    try:
        full_name = CHARTS.find(name)
    except PolicyError:
        raise AttributeError(f"unknown chart {name!r}; {has}") from None
    if full_name not in of:
        chart = CHARTS[full_name]
        raise AttributeError(f"{name} is cf.charts.{chart.function}, which takes {chart.of}; {has}")
    draw, way = CHARTS[full_name].draw, of[full_name]
    own = tuple(inspect.signature(way).parameters)[1:]

    @functools.wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Any:
        selection: Mapping[str, Any] = {k: options.pop(k) for k in own if k in options}
        return draw(way(thing, **selection), *arguments, **options)

    parameters = list(inspect.signature(draw).parameters.values())[1:]
    more = [inspect.signature(way).parameters[k].replace(kind=_KEYWORD) for k in own]
    drawn.__signature__ = inspect.Signature([*parameters, *more])  # type: ignore[attr-defined]
    return drawn


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def chart_to_draw(request: str, kinds: Sequence[type[Result]]) -> tuple[str, str]:
    """Read `FILE` or `KIND=FILE`; without a kind it is the first that the studies have."""
    classes = {kind.__name__ for kind in kinds}
    available = [name for name, chart in CHARTS.items() if chart.of in classes]
    kind, sign, path = request.rpartition("=")
    name = CHARTS.find(kind) if sign else next(iter(available), "")
    if name not in available:
        raise PolicyError(
            f"{name or 'a chart'} is not a chart of this study; expected one of:"
            f" {', '.join(available) or 'none'}"
        )
    check_extra(format_of(path))
    return name, path


def draw_study(request: str, studies: Sequence[Result]) -> None:
    """Draw a chart of the studies of its class; together if the chart takes several."""
    name, path = chart_to_draw(request, [type(study) for study in studies])
    chart = CHARTS[name]
    own = [study for study in studies if type(study).__name__ == chart.of]
    save(chart.draw(own if chart.of == "Stability" else own[0]), path)
