"""Studies of a collection, as tables: its pools, its topics, and how far they generalise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.meta.of_collections.leave_one_out import LeaveOneOut
from cranfield.meta.of_collections.pool_depth import PoolDepths
from cranfield.meta.of_topics.extrapolation import Extrapolation
from cranfield.meta.of_topics.result import Stability
from cranfield.meta.of_topics.variance_components import Generalizability
from cranfield.reporting.studies.as_text import StudyText, Table
from cranfield.reporting.studies.of_pools import of_leave_one_out, of_pool_depths
from cranfield.reporting.studies.of_topics import (
    of_extrapolation,
    of_generalizability,
    of_stability,
)

Study = LeaveOneOut | PoolDepths | Stability | Generalizability | Extrapolation


POOL_TABLES = (
    *("left out unique", "left out summary", "left out rankings", "left out systems"),
    *("pools", "pool rankings", "pool systems"),
)
TOPIC_TABLES = (
    *("stability", "top", "first places", "ranks"),
    *("variance", "coefficients", "topics needed", "extrapolation"),
)


def table_names(*, judgments: bool) -> tuple[str, ...]:
    """Return the names of the tables that there can be, with judgments or of scores alone."""
    return (*POOL_TABLES, *TOPIC_TABLES) if judgments else TOPIC_TABLES


def shown(*found: Study, target: float = 0.95, notes: Iterable[str] = ()) -> StudyText:
    """Show studies of one collection together.

    Parameters
    ----------
    found
        What :func:`leave_one_out`, :func:`pool_depths`, :func:`stability`, :func:`generalizability`
        and :func:`extrapolate` found, in the order in which they are shown; several measures and
        several ways to leave out go side by side.
    target
        The coefficients whose number of topics is shown, between 0 and 1.
    notes
        Lines to put below the heading.

    Returns
    -------
    StudyText
        Tables of the same kind are one frame, with the measure as a column.

    Raises
    ------
    PolicyError
        For something else, or a target outside 0 to 1.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import generalizability
    >>> from cranfield.reporting.studies.as_text import written
    >>> scores = cf.Scores([[0.1, 0.2, 0.3], [0.4, 0.6, 0.6]], "xy", "abc", measure="AP")
    >>> print(written(shown(generalizability(scores)), "csv", "variance").splitlines()[0])
    measure,source,df,mean square,variance,share,estimate
    >>> list(shown(generalizability(scores)).frames)
    ['variance', 'coefficients', 'topics needed']
    """
    heading: list[str] = []
    tables: list[Table] = []
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = {}
    studies: list[dict[str, Any]] = []
    for one in found:
        part = _text_of(one, target)
        # What an earlier line says already, or begins with, is not said again.
        heading += [
            line for line in part.heading if not any(known.startswith(line) for known in heading)
        ]
        tables += part.tables
        for name, (frame, keys) in part.frames.items():
            before = [frames[name][0]] if name in frames else []
            frames[name] = pl.concat([*before, frame]), keys
        studies.append(dict(part.about))
    return StudyText([*heading, *notes], tables, frames, {"studies": studies})


def _text_of(found: Study, target: float) -> StudyText:
    match found:
        case LeaveOneOut():
            return of_leave_one_out(found)
        case PoolDepths():
            return of_pool_depths(found)
        case Stability():
            return of_stability(found)
        case Generalizability():
            return of_generalizability(found, target)
        case Extrapolation():
            return of_extrapolation(found)
    raise PolicyError(f"a study of a collection is shown, not {type(found).__name__}")
