"""All charts, as their functions declare them: name, what it is drawn of, and what it shows.

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
"""What charts are drawn of that need no result: measures, and a length of runs."""

BY_COMMAND = ("Scores", "Evaluation", "PairwiseComparison", "AnovaTable", MEASURES, LENGTH)
"""What the command `cranfield plot` can draw charts of: what follows from runs and scores."""


class Kind(NamedTuple):
    """A chart: its function here, the class of what it draws, and what is seen in it."""

    function: str
    of: str
    shows: str

    @property
    def draw(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(charts, self.function)
        return function

    @property
    def options(self) -> tuple[str, ...]:
        """What can be chosen besides what it is drawn of."""
        return tuple(inspect.signature(self.draw).parameters)[self.of != LENGTH :]


MODULES = (
    *("of_systems", "of_topics", "recall", "of_scales", "hasse"),
    *("of_judgments", "of_users", "of_studies"),
)
"""Modules of charts, in the order in which charts are listed."""

_DECLARED = re.compile(
    r'@draws\("([\w-]+)", "([\w ]+)"\)\ndef (\w+)\(.*?"""Draw (.+?)\.\n', re.DOTALL
)
"""A chart in its module: its name, what it is drawn of, its function, and the summary."""


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
    "chart", things=_CHARTS, aliases={one.function: name for name, one in _CHARTS.items()}
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
"""What a result has within it that charts are drawn of, too."""


def charts_of(thing: Any) -> dict[str, Callable[..., Any]]:
    """Return how to get, from a result, what each of its charts is drawn of."""
    kinds = [one.__name__ for one in type(thing).__mro__]
    ways: dict[str, Callable[..., Any]] = {kind: lambda one: one for kind in kinds}
    ways |= {inner: way for (outer, inner), way in WITHIN.items() if outer in kinds}
    return {name: ways[one.of] for name, one in CHARTS.items() if one.of in ways}


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
        found = CHARTS.find(name)
    except PolicyError:
        raise AttributeError(f"unknown chart {name!r}; {has}") from None
    if found not in of:
        one = CHARTS[found]
        raise AttributeError(f"{name} is cf.charts.{one.function}, which takes {one.of}; {has}")
    draw, way = CHARTS[found].draw, of[found]
    own = tuple(inspect.signature(way).parameters)[1:]

    @functools.wraps(draw)
    def drawn(*given: Any, **options: Any) -> Any:
        chosen: Mapping[str, Any] = {k: options.pop(k) for k in own if k in options}
        return draw(way(thing, **chosen), *given, **options)

    parameters = list(inspect.signature(draw).parameters.values())[1:]
    more = [inspect.signature(way).parameters[k].replace(kind=_KEYWORD) for k in own]
    drawn.__signature__ = inspect.Signature([*parameters, *more])  # type: ignore[attr-defined]
    return drawn


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def chart_to_draw(asked: str, kinds: Sequence[type[Result]]) -> tuple[str, str]:
    """Read `FILE` or `KIND=FILE`; without a kind it is the first that the studies have."""
    classes = {kind.__name__ for kind in kinds}
    there = [name for name, one in CHARTS.items() if one.of in classes]
    kind, sign, path = asked.rpartition("=")
    name = CHARTS.find(kind) if sign else next(iter(there), "")
    if name not in there:
        raise PolicyError(
            f"{name or 'a chart'} is not drawn of this study; it has {', '.join(there) or 'none'}"
        )
    check_extra(format_of(path))
    return name, path


def draw_study(asked: str, studies: Sequence[Result]) -> None:
    """Draw a chart of the studies that it is of: all together where it takes several."""
    name, path = chart_to_draw(asked, [type(one) for one in studies])
    chart = CHARTS[name]
    own = [one for one in studies if type(one).__name__ == chart.of]
    save(chart.draw(own if chart.of == "Stability" else own[0]), path)
