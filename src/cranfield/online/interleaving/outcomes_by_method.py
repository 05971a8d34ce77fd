"""Outcomes of the pages of a log by the method that interleaved them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.online.interleaving.credits_of_log import (
    LogCredits,
    click_weights,
    interleaved_pages,
)
from cranfield.online.interleaving.interleaver import interleave
from cranfield.online.log.query_log import QueryLog

Lists = Mapping[str, Mapping[str, Sequence[str]]]
"""By query, and by ranker: documents, the best first."""

CLICKS = ("all", "first", "last", "sat")
"""Clicks that methods can hear of; what a click is worth is up to them."""


def outcomes_by_method(
    log: QueryLog, lists: Lists, method: str | None, clicks: str, names: Sequence[str] | None
) -> LogCredits:
    """Compare two rankers on each page, as the method of its own or a given one does.

    The values are credits of methods that credit teams; of others the outcome, and 0 for the second
    ranker.
    """
    log.require("results", "doc", purpose="a preference by a method")
    check_choice("clicks of a method", clicks, CLICKS)
    if method is None:
        log.require("pages", "method", purpose="a preference by the method of each page")
    pages = log.pages.select("query", method="method" if method is None else pl.lit(method))
    pages = pages.with_columns(page=pl.int_range(pl.len(), dtype=pl.Int64))
    pages = pages.filter(interleaved_pages(log))
    used = pages.filter(pl.col("query").is_in(list(lists)) & pl.col("method").is_not_null())
    if used.is_empty():
        raise InputError("no page has both lists and a method", source=log.source)
    weights, notes = click_weights(log, clicks, used)
    shown = log.results.join(used, on="page", how="inner", maintain_order="left")
    shown = shown.join(weights, on=["page", "rank"], how="left", maintain_order="left")
    if "team" not in shown.columns:
        shown = shown.with_columns(team=pl.lit(None, pl.String))
    pair = tuple(names or sorted({name for of in lists.values() for name in of}, key=str.encode))
    if len(pair) != 2:
        raise PolicyError(f"a preference is between two rankers, not {quoted(', '.join(pair))}")
    values = np.zeros((log.pages.height, 2))
    for (query, of), rows in shown.group_by("query", "method", maintain_order=True):
        missing = [name for name in pair if name not in lists[query]]
        if missing:
            raise PolicyError(f"no list of {quoted(missing[0])} for the query {quoted(query)}")
        two = {name: lists[query][name] for name in pair}
        page, found = _of_query(rows, two, str(of), log.source)
        values[page] = found
    # A page without results has no clicks: a tie.
    kept = used["page"].to_numpy()
    without = log.pages.height - len(kept)
    if without:
        notes.append(f"{counted(without, 'page')} without lists or a method left aside")
    return LogCredits(pair, values[kept], kept, tuple(notes))


def _of_query(
    rows: pl.DataFrame, lists: Mapping[str, Sequence[str]], method: str, source: str
) -> tuple[Floats, Floats]:
    """Return pages of a query, and credits or outcomes, shape (pages, 2)."""
    length = int(rows["rank"].max())  # type: ignore[arg-type]
    made = interleave(lists, method, length)
    code = {doc: k for k, doc in enumerate(made.docs)}
    known = rows["doc"].replace_strict(code, default=-1, return_dtype=pl.Int64).to_numpy()
    if (known < 0).any():
        doc = rows["doc"][int(np.argmax(known < 0))]
        raise InputError("a page shows a document that no ranker has", source=source, doc=doc)
    page, place = np.unique(rows["page"].to_numpy(), return_inverse=True)
    rank = rows["rank"].to_numpy() - 1
    teams = {name: k for k, name in enumerate(made.rankers)}
    owner = rows["team"].replace_strict(teams, default=-1, return_dtype=pl.Int64).to_numpy()
    shape = len(page), length
    codes, owners = np.full(shape, -1, dtype=np.intp), np.full(shape, -1, dtype=np.intp)
    clicked = np.zeros(shape, dtype=bool)
    codes[place, rank], owners[place, rank] = known, owner
    clicked[place, rank] = (rows["weight"].fill_null(0.0) > 0).to_numpy()
    if made.method.by_team:
        return page, made.credits(codes, clicked, owners)
    found = made.outcomes(codes, clicked, owners)
    return page, np.stack([found, np.zeros_like(found)], axis=1)
