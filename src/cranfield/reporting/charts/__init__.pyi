"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .hasse import hasse_chart as hasse_chart
from .judgments import confusion_chart as confusion_chart, judges_chart as judges_chart
from .judgments import self_preference_chart as self_preference_chart
from .recall import precision_recall as precision_recall
from .saving import save as save
from .scales import distribution_chart as distribution_chart, spacing_chart as spacing_chart
from .studies import agreement_chart as agreement_chart, asl_chart as asl_chart
from .studies import leave_one_out_chart as leave_one_out_chart, pooling_chart as pooling_chart
from .studies import scale_pairs_chart as scale_pairs_chart, scale_tau_chart as scale_tau_chart
from .studies import stability_chart as stability_chart
from .systems import box_plot as box_plot, cost_chart as cost_chart
from .systems import intervals_chart as intervals_chart, measure_scatter as measure_scatter
from .systems import significance_matrix as significance_matrix
from .topics import difference_bars as difference_bars, difference_scatter as difference_scatter
from .topics import difficulty_map as difficulty_map, residual_plots as residual_plots
from .users import clicks_by_rank_chart as clicks_by_rank_chart
from .users import experiment_chart as experiment_chart, perplexity_chart as perplexity_chart
from .users import sensitivity_chart as sensitivity_chart, sequence_chart as sequence_chart
