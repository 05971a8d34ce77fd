"""The tables of studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cranfield.base.errors import PolicyError
from cranfield.meta.of_collections.leave_one_out import LeaveOneOut
from cranfield.meta.of_collections.pool_depth import PoolDepths
from cranfield.meta.of_measures.concordance import Concordance
from cranfield.meta.of_measures.correlations import Correlations
from cranfield.meta.of_measures.discriminative import DiscriminativePower
from cranfield.meta.of_measures.predictive import PredictivePower
from cranfield.meta.of_measures.swap_result import Swaps
from cranfield.meta.of_scales.scale_study import ScaleStudy
from cranfield.meta.of_tests.false_alarms import FalseAlarms
from cranfield.meta.of_tests.split_result import SplitStudy
from cranfield.meta.of_topics.extrapolation import Extrapolation
from cranfield.meta.of_topics.result import Stability
from cranfield.meta.of_topics.variance_components import Generalizability
from cranfield.meta.reproduction.result import Reproduction
from cranfield.reporting.studies import (
    of_collections as study_collection,
)
from cranfield.reporting.studies import (
    of_measures as study_measures,
)
from cranfield.reporting.studies import (
    of_scales as study_scales,
)
from cranfield.reporting.studies import (
    of_tests,
)
from cranfield.reporting.studies import (
    reproduction as study_reproduction,
)
from cranfield.reporting.studies.as_text import StudyText
from cranfield.tabular import Table

COLLECTION = (LeaveOneOut, PoolDepths, Stability, Generalizability, Extrapolation)

OTHERS: dict[type, Callable[[Any], StudyText]] = {
    SplitStudy: of_tests.shown,
    FalseAlarms: of_tests.alarms_shown,
    ScaleStudy: study_scales.shown,
    Reproduction: study_reproduction.shown,
    DiscriminativePower: lambda found: study_measures.shown(power=found),
    Swaps: lambda found: study_measures.shown(swaps={found.measure or "scores": found}),
    Correlations: lambda found: study_measures.shown(correlations=found),
    Concordance: lambda found: study_measures.shown(concordance=found),
    PredictivePower: lambda found: study_measures.shown(predictive=found),
}
"""How studies that stand by themselves are shown."""


def tables(*studies: Any) -> tuple[Table, ...]:
    """Make the tables of studies, as the command `cranfield study` shows them.

    Parameters
    ----------
    studies
        What functions of `cranfield.meta`, and :func:`cranfield.meta.study_scales`, found.

    Returns
    -------
    tuple of Table
        Each with `to_text`, `to_latex`, `to_markdown` and `to_html`; in the order of the studies.

    Raises
    ------
    PolicyError
        For what is no study; :func:`table` makes tables of scores and comparisons.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores([[0.1, 0.5], [0.3, 0.6], [0.2, 0.3]], ["1", "2", "3"], ["a", "b"])
    >>> for one in tables(cf.meta.generalizability(scores))[:1]:
    ...     print(one.title)
    where the variance of scores comes from
    """
    found: list[Table] = []
    for study in studies:
        if isinstance(study, COLLECTION):
            found += study_collection.shown(study).tables
            continue
        show = OTHERS.get(type(study))
        if show is None:
            raise PolicyError(
                f"{type(study).__name__} is no study; cf.table takes scores and tests"
            )
        found += show(study).tables
    return tuple(found)
