"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .judgments import confusion_chart as confusion_chart, judges_chart as judges_chart
from .judgments import self_preference_chart as self_preference_chart
from .scales import distribution_chart as distribution_chart
from .hasse import hasse_chart as hasse_chart
from .scales import spacing_chart as spacing_chart
from .systems import box_plot as box_plot
from .topics import difference_bars as difference_bars, difference_scatter as difference_scatter
from .topics import difficulty_map as difficulty_map
from .systems import cost_chart as cost_chart
from .systems import intervals_chart as intervals_chart
from .systems import measure_scatter as measure_scatter
from .systems import significance_matrix as significance_matrix
from .recall import precision_recall as precision_recall
from .topics import residual_plots as residual_plots
from .studies import agreement_chart as agreement_chart
from .studies import asl_chart as asl_chart
from .studies import leave_one_out_chart as leave_one_out_chart
from .studies import pooling_chart as pooling_chart
from .studies import scale_pairs_chart as scale_pairs_chart, scale_tau_chart as scale_tau_chart
from .studies import stability_chart as stability_chart
from .users import (
    clicks_by_rank_chart as clicks_by_rank_chart,
    perplexity_chart as perplexity_chart,
)
from .users import experiment_chart as experiment_chart
from .users import sequence_chart as sequence_chart
from .users import sensitivity_chart as sensitivity_chart
from .saving import save as save
