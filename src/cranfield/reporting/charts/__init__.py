"""Charts: each a function of results that returns an Altair chart."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.reporting.charts.of_scales.distribution import distribution_chart
    from cranfield.reporting.charts.of_scales.hasse import hasse_chart
    from cranfield.reporting.charts.of_scales.spacing import spacing_chart
    from cranfield.reporting.charts.of_scores.box import box_plot
    from cranfield.reporting.charts.of_scores.differences import difference_bars, difference_scatter
    from cranfield.reporting.charts.of_scores.difficulty import difficulty_map
    from cranfield.reporting.charts.of_scores.intervals import intervals_chart
    from cranfield.reporting.charts.of_scores.matrix import significance_matrix
    from cranfield.reporting.charts.of_scores.recall import precision_recall
    from cranfield.reporting.charts.of_scores.residuals import residual_plots
    from cranfield.reporting.charts.of_studies.agreement import agreement_chart
    from cranfield.reporting.charts.of_studies.asl import asl_chart
    from cranfield.reporting.charts.of_studies.leave_one_out import leave_one_out_chart
    from cranfield.reporting.charts.of_studies.scales import scale_pairs_chart, scale_tau_chart
    from cranfield.reporting.charts.of_studies.stability import stability_chart
    from cranfield.reporting.charts.saving import save

_HOME_OF = {
    "agreement_chart": "of_studies.agreement",
    "asl_chart": "of_studies.asl",
    "box_plot": "of_scores.box",
    "difference_bars": "of_scores.differences",
    "difference_scatter": "of_scores.differences",
    "difficulty_map": "of_scores.difficulty",
    "distribution_chart": "of_scales.distribution",
    "hasse_chart": "of_scales.hasse",
    "intervals_chart": "of_scores.intervals",
    "leave_one_out_chart": "of_studies.leave_one_out",
    "precision_recall": "of_scores.recall",
    "residual_plots": "of_scores.residuals",
    "save": "saving",
    "scale_pairs_chart": "of_studies.scales",
    "scale_tau_chart": "of_studies.scales",
    "significance_matrix": "of_scores.matrix",
    "spacing_chart": "of_scales.spacing",
    "stability_chart": "of_studies.stability",
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
        raise AttributeError(f"module 'cranfield.reporting.charts' has no attribute {name!r}")
    value = getattr(import_module(f"cranfield.reporting.charts.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the charts, loaded or not."""
    return sorted([*globals(), *__all__])
