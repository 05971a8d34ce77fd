"""The online measures, by name."""

from __future__ import annotations

import re

import polars as pl

from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.kinds import Kinds
from cranfield.online.measures.online_measure import OnlineMeasure

MEASURES = Kinds(
    OnlineMeasure,
    "online measure",
    "cranfield.online.measures.formulas",
    """
    clicks_on_pages: CTR UCTR QCTR COEC
    ranks_of_clicks: ClickRank ClickRR MaxRR MeanRR MinRR PLC pSkip
    times_of_clicks: TimeToClick TimeToSAT Dwell
    satisfied_clicks: SATClicks SATRate DSAT DSATRate
    pages_without_clicks: Abandonment ZeroResults GoodAbandonment AbandonedLast Reformulation
    whole_sessions: QueriesPerSession SessionLength SessionClicks SessionSuccess QueriesToSAT
    loyalty: QueriesPerUser SessionsPerUser ActiveDays QueriesPerActiveDay AbsenceTime
    """,
)

_AT = re.compile(r"(.*)@\s*(\S+?)\s*", re.DOTALL)


def parse_online_measure(text: str | OnlineMeasure) -> OnlineMeasure:
    """Read an online measure from its text form.

    Raises
    ------
    MeasureError
        For a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_online_measure("CTR@3"), parse_online_measure("sat-rate(seconds=20)")
    (CTR@3, SATRate(seconds=20))
    >>> parse_online_measure("CTRR")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: there is no online measure 'CTRR'; did you mean CTR or UCTR or QCTR?
    """
    if not isinstance(text, str) or not (at := _AT.fullmatch(text)):
        return MEASURES.parse(text)
    if not at[2].isdecimal() or len(at[2]) > 9:
        raise MeasureError(f"{quoted(text)}: a whole number of ranks stands behind the @")
    return MEASURES.parse(at[1]) @ int(at[2])


def catalogue() -> pl.DataFrame:
    """List the online measures: name, what has a value, parameters, what it tells, source, needs.

    Examples
    --------
    >>> catalogue().filter(pl.col("measure") == "ClickRR").select("of", "better", "needs").rows()
    [('page', 'higher', 'clicks with order')]
    """
    kinds = MEASURES.values()
    return pl.DataFrame(
        {
            "measure": list(MEASURES),
            "of": [kind().values_of for kind in kinds],
            "parameters": MEASURES.parameters(),
            "what it tells": MEASURES.summaries(),
            "formula": [kind.formula for kind in kinds],
            "lowest": [kind.range[0] for kind in kinds],
            "highest": [kind.range[1] for kind in kinds],
            "unit": [kind.unit for kind in kinds],
            "better": [kind.better for kind in kinds],
            "needs": [_needs_in_words(kind()) for kind in kinds],
            "source": [kind.source for kind in kinds],
        }
    )


def _needs_in_words(one: OnlineMeasure) -> str:
    """Write what a measure needs besides pages, their queries, and the rank of a row."""
    said = []
    for table in ("results", "clicks", "pages"):
        own = {name for where, name in one.needs if where == table}
        names = sorted(own - {"page", "rank", "query"})
        if names or (own and table != "pages"):
            said.append(f"{table} with {' and '.join(names)}" if names else table)
    return ", ".join(said)
