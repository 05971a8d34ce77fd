"""Where each online measure is defined: the one list of their names, in the order shown.

Behind `=` stand other names that are understood.
"""

from __future__ import annotations

from cranfield.base.words import homes_of

_MEASURES = """
clicks_on_pages: CTR UCTR QCTR COEC
ranks_of_clicks: ClickRank ClickRR MaxRR MeanRR MinRR PLC pSkip
times_of_clicks: TimeToClick TimeToSAT Dwell
satisfied_clicks: SATClicks SATRate DSAT DSATRate
pages_without_clicks: Abandonment ZeroResults GoodAbandonment AbandonedLast Reformulation
whole_sessions: QueriesPerSession SessionLength SessionClicks SessionSuccess QueriesToSAT
loyalty: QueriesPerUser SessionsPerUser ActiveDays QueriesPerActiveDay AbsenceTime
"""


HOME, ALIASES = homes_of(_MEASURES)
"""The module that defines each measure, by name; and the measure that each other name means."""
