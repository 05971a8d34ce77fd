"""Which systems really differ: significance tests for topics by systems.

It knows only `Scores`, wherever they come from. The tests are in the registry `TESTS`, with what
each asks, assumes and computes; :func:`compare` does any of them, for all pairs at once.
"""

from cranfield.significance.bayes.comparison import compare_bayes
from cranfield.significance.bayes.result import BayesianComparison
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.of_pvalues import CORRECTIONS
from cranfield.significance.corrections.studentised_range import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.models import anova, bootstrap_anova
from cranfield.significance.models import kruskal_friedman as ranks
from cranfield.significance.models.assumptions import Assumptions, check_assumptions
from cranfield.significance.power.power_and_width import expected_width, power_anova, power_t
from cranfield.significance.power.topics_needed import TopicsNeeded, topics_needed, variance
from cranfield.significance.registry import TESTS, TestInfo, find_test
from cranfield.significance.tests import (
    bootstrap,
    bootstrap_unpaired,
    randomisation,
    rank_sum,
    sign,
    signed_rank,
)
from cranfield.significance.tests import student_t as t
from cranfield.significance.transform import arcsine, standardise

# Each registers its tests when it is imported.
_MODULES = (
    *(sign, signed_rank, rank_sum, t, randomisation, bootstrap, bootstrap_unpaired),
    *(anova, ranks, bootstrap_anova),
)

# Two systems first, then many, the plain ones before those that draw random numbers.
for _name in (
    *("sign", "signed-rank", "rank-sum", "t", "t-unpaired", "welch"),
    *("randomisation", "bootstrap", "bootstrap-unpaired"),
    *("anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f"),
    *("kruskal-wallis", "friedman", "bootstrap-anova"),
):
    TESTS[_name] = TESTS.pop(_name)

__all__ = [
    "CORRECTIONS",
    "TESTS",
    "Assumptions",
    "BayesianComparison",
    "PairwiseComparison",
    "TestInfo",
    "TopicsNeeded",
    "arcsine",
    "check_assumptions",
    "compare",
    "compare_bayes",
    "expected_width",
    "find_test",
    "power_anova",
    "power_t",
    "standardise",
    "studentised_range_isf",
    "studentised_range_sf",
    "topics_needed",
    "variance",
]
