"""Public names, each declared once, for imports on first use and for type checkers."""

# isort: skip_file
from .bayes import BayesianComparison as BayesianComparison, compare_bayes as compare_bayes
from .prepare import aggregate_clusters as aggregate_clusters
from .comparison.compare import compare as compare
from .comparison.equivalence import Equivalence as Equivalence
from .comparison.compared_pairs import PairComparison as PairComparison
from .comparison.rank_sets import RankSets as RankSets
from .comparison.compare import rank_sets as rank_sets
from .comparison.result import PairwiseComparison as PairwiseComparison
from .registry import CORRECTIONS as CORRECTIONS
from .corrections.studentised import (
    studentised_range_isf as studentised_range_isf,
    studentised_range_sf as studentised_range_sf,
)
from .effects import EffectSizes as EffectSizes, effect_sizes as effect_sizes
from .models.glm import (
    GeneralisedLinearModel as GeneralisedLinearModel,
    GlmComparison as GlmComparison,
    compare_glm as compare_glm,
)
from .models.assumptions import Assumptions as Assumptions, check_assumptions as check_assumptions
from .topic_set_size import PairPower as PairPower, power_pairs as power_pairs
from .effects import anova_effect_sizes as anova_effect_sizes
from .power_and_width import (
    expected_width as expected_width,
    power_anova as power_anova,
    power_t as power_t,
)
from .topic_set_size import (
    TopicsNeeded as TopicsNeeded,
    topics_needed as topics_needed,
    variance as variance,
)
from .published import PublishedPower as PublishedPower, power_of_published as power_of_published
from .several.joint_measures import (
    JointComparison as JointComparison,
    compare_measures as compare_measures,
)
from .several.meta_analysis import MetaAnalysis as MetaAnalysis, meta_analysis as meta_analysis
from .simulation import Resampled as Resampled
from .simulation import Simulator as Simulator, fit_simulator as fit_simulator
from .registry import TESTS as TESTS, find_test as find_test
from .registry import TestInfo as TestInfo
from .transform import arcsine as arcsine, standardise as standardise
from .summary import Summary as Summary, summarise as summarise
