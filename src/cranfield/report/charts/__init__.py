"""Charts: each a function of results that returns an Altair chart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.report.charts.agreement import agreement_chart
    from cranfield.report.charts.asl import asl_chart
    from cranfield.report.charts.box import box_plot
    from cranfield.report.charts.differences import difference_bars, difference_scatter
    from cranfield.report.charts.difficulty import difficulty_map
    from cranfield.report.charts.distribution import distribution_chart
    from cranfield.report.charts.hasse import hasse_chart
    from cranfield.report.charts.intervals import intervals_chart
    from cranfield.report.charts.leave_one_out import leave_one_out_chart
    from cranfield.report.charts.matrix import significance_matrix
    from cranfield.report.charts.recall import precision_recall
    from cranfield.report.charts.residuals import residual_plots
    from cranfield.report.charts.saving import save
    from cranfield.report.charts.scale_study import scale_pairs_chart, scale_tau_chart
    from cranfield.report.charts.spacing import spacing_chart
    from cranfield.report.charts.stability import stability_chart

_HOME_OF = {
    "agreement_chart": "agreement",
    "asl_chart": "asl",
    "box_plot": "box",
    "difference_bars": "differences",
    "difference_scatter": "differences",
    "difficulty_map": "difficulty",
    "distribution_chart": "distribution",
    "hasse_chart": "hasse",
    "intervals_chart": "intervals",
    "leave_one_out_chart": "leave_one_out",
    "precision_recall": "recall",
    "residual_plots": "residuals",
    "save": "saving",
    "scale_pairs_chart": "scale_study",
    "scale_tau_chart": "scale_study",
    "significance_matrix": "matrix",
    "spacing_chart": "spacing",
    "stability_chart": "stability",
}

__all__ = [
    "agreement_chart",
    "asl_chart",
    "box_plot",
    "difference_bars",
    "difference_scatter",
    "difficulty_map",
    "distribution_chart",
    "hasse_chart",
    "intervals_chart",
    "leave_one_out_chart",
    "precision_recall",
    "residual_plots",
    "save",
    "scale_pairs_chart",
    "scale_tau_chart",
    "significance_matrix",
    "spacing_chart",
    "stability_chart",
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
