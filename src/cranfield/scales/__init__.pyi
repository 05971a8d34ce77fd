"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .admissible import Dominance as Dominance, dominance as dominance, admits as admits
from .admissible import admitted_statistics as admitted_statistics, admitted_tests as admitted_tests
from .admissible import required_scale as required_scale
from .images.representation import Gaps as Gaps
from .images.values import Image as Image, image as image
from .interval_scaled import Interval as Interval, interval as interval
from .measure_scales import scale_of as scale_of, scale_over_topics as scale_over_topics
from .orders import is_at_or_below as is_at_or_below, covers as covers, levels as levels
from .orders import difference_axioms as difference_axioms, induced_order as induced_order
from .orders import natural_distance as natural_distance, order_matrix as order_matrix
from .orders import rbto as rbto, rbto_runs as rbto_runs, sbto as sbto, sbto_runs as sbto_runs
from .runs import all_runs as all_runs, score_runs as score_runs
from .statements import Meaningfulness as Meaningfulness, meaningfulness as meaningfulness
from .statements import invariant_decisions as invariant_decisions
from .verdicts import ScaleReport as ScaleReport, TopicsReport as TopicsReport
