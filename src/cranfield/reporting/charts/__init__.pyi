"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .of_judgments.judges import (
    confusion_chart as confusion_chart,
    judges_chart as judges_chart,
)
from .of_judgments.kin import kin_bias_chart as kin_bias_chart
from .of_scales.distribution import distribution_chart as distribution_chart
from .of_scales.hasse import hasse_chart as hasse_chart
from .of_scales.spacing import spacing_chart as spacing_chart
from .of_scores.box import box_plot as box_plot
from .of_scores.differences import (
    difference_bars as difference_bars,
    difference_scatter as difference_scatter,
)
from .of_scores.difficulty import difficulty_map as difficulty_map
from .of_scores.intervals import intervals_chart as intervals_chart
from .of_scores.matrix import significance_matrix as significance_matrix
from .of_scores.recall import precision_recall as precision_recall
from .of_scores.residuals import residual_plots as residual_plots
from .of_studies.agreement import agreement_chart as agreement_chart
from .of_studies.asl import asl_chart as asl_chart
from .of_studies.leave_one_out import leave_one_out_chart as leave_one_out_chart
from .of_studies.pooling import pooling_chart as pooling_chart
from .of_studies.scales import (
    scale_pairs_chart as scale_pairs_chart,
    scale_tau_chart as scale_tau_chart,
)
from .of_studies.stability import stability_chart as stability_chart
from .of_users.clicks import (
    clicks_by_rank_chart as clicks_by_rank_chart,
    perplexity_chart as perplexity_chart,
)
from .of_users.experiments import experiment_chart as experiment_chart
from .of_users.experiments import sequence_chart as sequence_chart
from .of_users.sensitivity import sensitivity_chart as sensitivity_chart
from .saving import save as save
