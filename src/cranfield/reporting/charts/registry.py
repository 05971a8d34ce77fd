"""Registry of charts, with the name, subject and summary that their functions declare.

It is used by the command `cranfield plot`, the attribute `plot` of results and the documentation.
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
from cranfield.base.text import capitalise
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting import charts
from cranfield.reporting.charts.saving import check_extra, parse_format, save
from cranfield.result import Result
from cranfield.scores import Scores

MEASURES, LENGTH = "measures", "a length"
"""Subjects of charts that need no result: measures, and a length of runs."""

COMMAND_SUBJECTS = ("Scores", "Evaluation", "PairwiseComparison", "AnovaTable", MEASURES, LENGTH)
"""Subjects of charts that the command `cranfield plot` draws from runs and scores."""


class ChartKind(NamedTuple):
    """A chart: its function, its subject (a class, `measures` or `a length`), and its summary."""

    function: str
    subject: str
    summary: str

    @property
    def draw(self) -> Callable[..., Any]:
        """The function that draws the chart."""
        function: Callable[..., Any] = getattr(charts, self.function)
        return function

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the chart, without its subject."""
        return tuple(inspect.signature(self.draw).parameters)[self.subject != LENGTH :]


MODULES = ("systems", "topics", "recall", "scales", "hasse", "judgments", "users", "studies")

_DECLARATION = re.compile(
    r'@theme\.declare_chart\("([\w-]+)", "([\w ]+)"\)\ndef (\w+)\(.*?"""Draw (.+?)\.\n', re.DOTALL
)


def _read_charts() -> dict[str, ChartKind]:
    """Read the declarations from source files, as importing the modules takes seconds."""
    folder = files(charts)
    return {
        name: ChartKind(function, subject, capitalise(summary))
        for module in MODULES
        for name, subject, function, summary in _DECLARATION.findall(
            (folder / f"{module}.py").read_text("utf-8")
        )
    }


_CHARTS = _read_charts()
CHARTS = Registry(
    "chart", components=_CHARTS, aliases={chart.function: name for name, chart in _CHARTS.items()}
)
"""Charts by name; in Python names have `_` instead of `-`."""


def _select_scores(evaluation: Evaluation, measure: Any = None) -> Scores:
    """Return the scores of one measure of an evaluation."""
    if measure is None and len(evaluation) > 1:
        raise PolicyError(
            f"expected one measure, got {len(evaluation)}; choose one of: {', '.join(evaluation)}"
        )
    return evaluation[next(iter(evaluation)) if measure is None else measure]


def _select_anova(comparison: Any) -> Any:
    if comparison.anova is None:
        raise PolicyError(
            f"{comparison.info.title} is not an analysis of variance; use test='anova-2'"
        )
    return comparison.anova


SELECTORS: dict[tuple[str, str], Callable[..., Any]] = {
    ("Evaluation", "Scores"): _select_scores,
    ("PairwiseComparison", "Scores"): lambda comparison: comparison.scores,
    ("PairwiseComparison", "AnovaTable"): _select_anova,
}
"""Functions that select the subject of a chart from a result, by the classes of both."""


def select_charts(result: Any) -> dict[str, Callable[..., Any]]:
    """Return the charts of a result by name, each with a function that selects its subject."""
    classes = [cls.__name__ for cls in type(result).__mro__]
    subjects: dict[str, Callable[..., Any]] = {name: lambda subject: subject for name in classes}
    selectors = SELECTORS.items()
    subjects |= {subject: select for (name, subject), select in selectors if name in classes}
    return {
        name: subjects[chart.subject] for name, chart in CHARTS.items() if chart.subject in subjects
    }


def list_chart_names(result: Any) -> Iterator[str]:
    """Yield the names of the charts of a result as Python names."""
    return (name.replace("-", "_") for name in select_charts(result))


def format_chart_list(result: Any) -> str:
    """Format the charts of a result with their summaries, one per line."""
    names = select_charts(result)
    return "\n".join(f"{name:18}{CHARTS[name].summary}" for name in names) or "no charts"


def get_chart_function(result: Any, name: str) -> Callable[..., Any]:
    """Return the function that draws a chart of a result; it takes the options of the chart."""
    subjects = select_charts(result)
    names = ", ".join(list_chart_names(result))
    expected = f"expected one of: {names}" if names else f"{type(result).__name__} has no charts"
    try:
        full_name = CHARTS.find(name)
    except PolicyError:
        raise AttributeError(f"unknown chart {name!r}; {expected}") from None
    if full_name not in subjects:
        chart = CHARTS[full_name]
        raise AttributeError(
            f"{name} is not a chart of this result: cf.charts.{chart.function} draws it from"
            f" {chart.subject}; {expected}"
        )
    draw, select = CHARTS[full_name].draw, subjects[full_name]
    selection_names = tuple(inspect.signature(select).parameters)[1:]

    @functools.wraps(draw)
    def draw_selected(*arguments: Any, **options: Any) -> Any:
        selection: Mapping[str, Any] = {k: options.pop(k) for k in selection_names if k in options}
        return draw(select(result, **selection), *arguments, **options)

    parameters = list(inspect.signature(draw).parameters.values())[1:]
    keywords = [
        inspect.signature(select).parameters[k].replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for k in selection_names
    ]
    draw_selected.__signature__ = inspect.Signature([*parameters, *keywords])  # type: ignore[attr-defined]
    return draw_selected


def parse_chart_request(request: str, kinds: Sequence[type[Result]]) -> tuple[str, str]:
    """Parse `FILE` or `CHART=FILE`; the default is the first chart for these kinds of studies."""
    classes = {kind.__name__ for kind in kinds}
    available_names = [name for name, chart in CHARTS.items() if chart.subject in classes]
    if not available_names:
        raise PolicyError("this study has no charts")
    name, sign, path = request.rpartition("=")
    name = CHARTS.find(name) if sign else available_names[0]
    if name not in available_names:
        raise PolicyError(
            f"{name} is not a chart of this study; expected one of: {', '.join(available_names)}"
        )
    check_extra(parse_format(path))
    return name, path


def draw_study(request: str, studies: Sequence[Result]) -> None:
    """Draw and save a chart of the first study of its class, or of all for a chart of stability."""
    name, path = parse_chart_request(request, [type(study) for study in studies])
    chart = CHARTS[name]
    subjects = [study for study in studies if type(study).__name__ == chart.subject]
    save(chart.draw(subjects if chart.subject == "Stability" else subjects[0]), path)
