"""Charts: each a function of results that returns an Altair chart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.report.charts.agreement import agreement_chart
    from cranfield.report.charts.box import box_plot
    from cranfield.report.charts.differences import difference_bars, difference_scatter
    from cranfield.report.charts.difficulty import difficulty_map
    from cranfield.report.charts.intervals import intervals_chart
    from cranfield.report.charts.matrix import significance_matrix
    from cranfield.report.charts.recall import precision_recall
    from cranfield.report.charts.residuals import residual_plots
    from cranfield.report.charts.saving import save

_HOME_OF = {
    "agreement_chart": "agreement",
    "box_plot": "box",
    "difference_bars": "differences",
    "difference_scatter": "differences",
    "difficulty_map": "difficulty",
    "intervals_chart": "intervals",
    "precision_recall": "recall",
    "residual_plots": "residuals",
    "save": "saving",
    "significance_matrix": "matrix",
}

__all__ = [
    "agreement_chart",
    "box_plot",
    "difference_bars",
    "difference_scatter",
    "difficulty_map",
    "intervals_chart",
    "precision_recall",
    "residual_plots",
    "save",
    "significance_matrix",
]


def __getattr__(name: str) -> Any:
    """Import a chart when it is first used: some draw results of studies, which are heavy."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cranfield.report.charts' has no attribute {name!r}")
    value = getattr(import_module(f"cranfield.report.charts.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the charts, loaded or not."""
    return sorted([*globals(), *__all__])
