"""What was shown by chance, and what came of it, beside the policy that is asked about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldError, InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run
from cranfield.online.log.query_log import QueryLog
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.tables import Table, read_table
from cranfield.sources.values import ID, NUMBER, RANK, TAG, absent

_PLACE = replace(RANK, wanted="not a whole number", missing=absent)

ACTIONS = Schema(
    "table of logged actions",
    (
        Column("reward", NUMBER),
        optional("propensity", NUMBER),
        optional("chance", NUMBER),
        optional("page", ID, "slate"),
        optional("position", _PLACE, "rank"),
        optional("action", TAG),
        optional("query", TAG, "context"),
        optional("user", TAG),
        optional("session", TAG),
        optional("predicted", NUMBER),
        optional("expected", NUMBER),
        optional("anywhere", NUMBER),
    ),
    decisive=("count", "weight"),
)

POLICY = Schema(
    "table of a policy",
    (
        optional("query", TAG, "context"),
        optional("position", _PLACE, "rank"),
        Column("action", ID),
        Column("chance", NUMBER, "chance of an action"),
    ),
)

_SLACK = 1e-6
"""What chances that sum to 1 may miss by rounding."""


@dataclass(frozen=True, eq=False)
class LoggedActions:
    """Actions by list and position.

    rows: a row an action; `list` numbers the lists from 0, and other columns are those of ACTIONS
        that are known.
    unseen: share of the policy's chance that is on actions which the log never shows there; NaN
        where only the chances of the logged actions are known.
    notes: what was left out.
    """

    rows: pl.DataFrame
    source: str
    unseen: float
    notes: tuple[str, ...]

    def column(self, name: str, purpose: str) -> Any:
        if name not in self.rows.columns:
            raise InputError(f"{purpose} needs a column {name}", source=self.source)
        return self.rows[name].to_numpy()


def logged_actions(data: Any, policy: Any = None) -> LoggedActions:
    """Read actions, in order of list and position, with the chance of each under the policy."""
    rows, source, notes = _of_log(data) if isinstance(data, QueryLog) else _of_table(data)
    if policy is None:
        return LoggedActions(rows, source, float("nan"), notes)
    chances = _of_run(policy) if isinstance(policy, Run) else _of_policy(policy)
    keys: list[str] = [name for name in chances.columns if name != "chance"]
    for name in keys:
        if name not in rows.columns:
            raise InputError(f"a policy by {name} needs a column {name}", source=source)
    if "position" in keys:
        # A run may go on below what was shown.
        chances = chances.filter(pl.col("position").is_in(rows["position"].unique().implode()))
    rows = rows.drop("chance", "anywhere", strict=False)
    rows = rows.join(chances, on=keys, how="left", maintain_order="left")
    if "position" in keys:
        whole = [name for name in keys if name != "position"]
        everywhere = chances.group_by(whole).agg(anywhere=pl.col("chance").sum())
        rows = rows.join(everywhere, on=whole, how="left", maintain_order="left")
    strange = 0
    if "query" in keys:
        known = rows["query"].is_in(chances["query"].unique().implode())
        strange = rows.filter(~known)["list"].n_unique()
    if strange:
        notes += (f"{counted(strange, 'list')} of queries that the policy does not have",)
    filled = [name for name in ("chance", "anywhere") if name in rows.columns]
    rows = rows.with_columns(pl.col(filled).fill_null(0.0))
    if not (rows["chance"] > 0).any():
        raise CranfieldError(f"{source}: no logged action is one that the policy would take")
    return LoggedActions(rows, source, _unseen(rows, chances, keys), notes)


def _of_table(data: Any) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    table = read_table(data, ACTIONS)
    frame = table.frame.select(table.names)
    _check_chances(table, "propensity", zero=False)
    _check_chances(table, "chance", zero=True)
    by_page, position = "page" in table.names, table.frame["position"]
    if by_page and "position" not in table.names:
        raise InputError("lists, by page, need a column position", source=table.source)
    if len(below := (position < 0).arg_true()):
        row = int(below[0])
        raise table.wrong(row, f"position must be at least 0, got {position[row]}")
    if by_page or not position.is_null().all():
        table.refuse(position.is_null(), lambda row: "has no position")
    if not by_page:
        return frame.with_row_index("list"), table.source, ()
    table.refuse(
        ~_first(frame, ["page", "position"]),
        lambda row: f"position {row['position']} is there twice in page {quoted(row['page'])}",
    )
    codes = frame["page"].rank("dense").cast(pl.UInt32) - 1
    rows = frame.drop("page").with_columns(list=codes).sort("list", "position")
    return rows, table.source, ()


def _of_log(log: QueryLog) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    log.require("results", purpose="an off-policy estimate")
    frame = log.shown.with_columns(reward=(pl.col("clicks") > 0).cast(pl.Float64)).rename(
        {"rank": "position", "doc": "action"}
    )
    _refuse_propensities(frame, log.source)
    known = [name for name in ("query", "user", "session") if name in log.pages.columns]
    pages = log.pages.select(known).with_row_index("page").cast({"page": pl.Int64})
    frame = frame.join(pages, on="page", how="left", maintain_order="left")
    frame = frame.with_columns(list=pl.col("page").rank("dense") - 1).drop("page")
    without = log.pages.height - frame["list"].n_unique()
    notes = (f"{counted(without, 'page')} without results",) if without else ()
    return frame, log.source, notes


def _refuse_propensities(frame: pl.DataFrame, source: str) -> None:
    if "propensity" in frame.columns:
        right = pl.col("propensity").is_between(0, 1, closed="right").fill_null(False)
        bad = frame.filter(~right)
        if bad.height:
            value = bad["propensity"][0]
            shown = "missing" if value is None else f"{value:g}"
            reason = f"propensity {shown} does not lie above 0, up to 1"
            raise InputError(reason, source=source, doc=bad["action"][0])


def _check_chances(table: Table, name: str, *, zero: bool) -> None:
    bad = ~table.frame[name].is_between(0, 1, closed="both" if zero else "right")
    if bad.any():
        row = int(bad.arg_true()[0])
        lies = "from 0" if zero else "above 0, up"
        reason = f"{name} {table.frame[name][row]:g} does not lie {lies} to 1"
        raise table.wrong(row, reason)


def _of_policy(policy: Any) -> pl.DataFrame:
    table = read_table(policy, POLICY)
    frame = table.frame.select(table.names)
    _check_chances(table, "chance", zero=True)
    keys = [name for name in table.names if name != "chance"]
    table.refuse(
        ~_first(frame, keys),
        lambda row: f"action {quoted(row['action'])} is there twice",
    )
    places = [name for name in ("query", "position") if name in keys]
    sums = frame.group_by(places or pl.lit(0).alias("all"), maintain_order=True)
    total = sums.agg(pl.col("chance").sum())
    wrong = total.filter((pl.col("chance") - 1).abs() > _SLACK)
    if wrong.height:
        where = "".join(f" of {name} {quoted(wrong[name][0])}" for name in places)
        raise PolicyError(f"chances{where} sum to {wrong['chance'][0]:g}, not to 1")
    return frame


def _first(frame: pl.DataFrame, keys: list[str]) -> pl.Series:
    return frame.select(pl.struct(keys).is_first_distinct()).to_series()


def _of_run(run: Run) -> pl.DataFrame:
    """A run shows each document at its rank, for sure."""
    order = order_of(run, "trec")
    return pl.DataFrame(
        {
            "query": pl.Series(run.topics, dtype=pl.String).gather(run.codes),
            "position": pl.Series(order.ranks_of(np.arange(len(run))), dtype=pl.Int32),
            "action": run.docs,
            "chance": pl.Series([1.0]).new_from_index(0, len(run)),
        }
    )


def _unseen(rows: pl.DataFrame, chances: pl.DataFrame, keys: list[str]) -> float:
    """Share of the policy's chance on what was never shown where the log has a position."""
    places = [name for name in keys if name != "action"]
    have = rows.select(keys).unique()
    seen = have.join(chances, on=keys, how="left").with_columns(pl.col("chance").fill_null(0.0))
    if not places:
        return max(0.0, 1 - float(seen["chance"].sum()))
    # What the policy does there at all: a run may be shorter than the pages.
    there = chances.group_by(places).agg(there=pl.col("chance").sum())
    sums = seen.group_by(places).agg(seen=pl.col("chance").sum())
    number = rows.group_by(places).agg(number=pl.len())
    both = number.join(sums, on=places).join(there, on=places, how="left").fill_null(0.0)
    share = both.select(
        ((pl.col("there") - pl.col("seen")) * pl.col("number")).sum()
        / (pl.col("there") * pl.col("number")).sum()
    ).item()
    return max(0.0, float(share or 0.0))
