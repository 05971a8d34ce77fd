"""Read query logs from wherever they are."""

from __future__ import annotations

from typing import Any

from cranfield.online.log import tables
from cranfield.online.log.flat import parted
from cranfield.online.log.linking import Policies, linked
from cranfield.online.log.query_log import QueryLog
from cranfield.sources.tables import Table


def read_log(
    source: Any,
    results: Any = None,
    clicks: Any = None,
    *,
    format: str = "auto",
    odd: str = "refuse",
    max_queries: int | None = None,
) -> QueryLog:
    """Read a query log.

    Parameters
    ----------
    source
        Table of pages, or of shown results.
    results, clicks
        Tables of results and of clicks.
    """
    policies = Policies(odd, max_queries)
    clicked: Table | None
    shown: Table | None
    if results is None and clicks is None:
        pages, shown, clicked = parted(tables.opened(source, tables.FLAT))
    else:
        pages = tables.opened(source, tables.PAGES)
        shown = None if results is None else tables.opened(results, tables.RESULTS, empty=True)
        clicked = None if clicks is None else tables.opened(clicks, tables.CLICKS, empty=True)
    return linked(pages, shown, clicked, policies, pages.source)
