"""The public names, each declared once: loaded when first used, known to type checkers."""

# isort: skip_file
from .anytime.comparison import (
    AnytimeComparison as AnytimeComparison,
    compare_anytime as compare_anytime,
    spend_alpha as spend_alpha,
)
from .bayes.comparison import (
    BayesianComparison as BayesianComparison,
    compare_bayes as compare_bayes,
)
from .bayes.systems_posterior import (
    SystemsPosterior as SystemsPosterior,
    fit_bayes as fit_bayes,
)
from .clusters import by_cluster as by_cluster
from .comparison.compare import compare as compare
from .comparison.equivalence import Equivalence as Equivalence
from .comparison.one_pair import OnePair as OnePair
from .comparison.rank_sets import RankSets as RankSets
from .comparison.system_ranks import rank_sets as rank_sets
from .comparison.result import PairwiseComparison as PairwiseComparison
from .corrections.catalogue import CORRECTIONS as CORRECTIONS
from .corrections.studentised import (
    studentised_range_isf as studentised_range_isf,
    studentised_range_sf as studentised_range_sf,
)
from .effects.standardised import EffectSizes as EffectSizes, effect_sizes as effect_sizes
from .models.assumptions import (
    Assumptions as Assumptions,
    check_assumptions as check_assumptions,
)
from .power.pairs_found import PairPower as PairPower, power_pairs as power_pairs
from .effects.of_factors import anova_effect_sizes as anova_effect_sizes
from .power.power_and_width import (
    expected_width as expected_width,
    power_anova as power_anova,
    power_t as power_t,
)
from .power.topics_needed import (
    TopicsNeeded as TopicsNeeded,
    topics_needed as topics_needed,
    variance as variance,
)
from .several.joint_measures import (
    JointComparison as JointComparison,
    compare_measures as compare_measures,
)
from .several.meta_analysis import (
    MetaAnalysis as MetaAnalysis,
    meta_analysis as meta_analysis,
)
from .simulation.resampled import Resampled as Resampled
from .simulation.simulator import Simulator as Simulator, fit_simulator as fit_simulator
from .several.replicability import (
    Replicability as Replicability,
    replicability as replicability,
)
from .tests.catalogue import TESTS as TESTS, find_test as find_test
from .tests.declaration import TestInfo as TestInfo
from .transform import arcsine as arcsine, standardise as standardise
