"""Feedback of living labs and TREC OpenSearch: JSON lines, one a ranking that was shown."""

from __future__ import annotations

import polars as pl

from cranfield.base.errors import quoted
from cranfield.online.log import tables
from cranfield.online.log.records import numbered_records
from cranfield.sources.tables import Table

TYPES = {
    **dict.fromkeys(("sid", "qid", "time"), pl.String),
    "ranking": pl.List(pl.Struct(dict.fromkeys(("docid", "clicked", "team"), pl.String))),
}


def read_living_labs(raw: bytes, source: str) -> Table:
    """Read rankings `{sid, qid, time, ranking: [{docid, clicked, team}]}`, a row a result.

    Pages are named by their number; those with teams are interleaved by team draft.
    """
    frame = numbered_records(raw, source, "living labs", TYPES).select(
        *("time", "ranking", "line"), page=pl.int_range(1, pl.len() + 1), query="qid", session="sid"
    )
    frame = frame.explode("ranking", empty_as_null=True, keep_nulls=True).unnest("ranking")
    place = pl.int_range(1, pl.len() + 1).over("page")
    drafted = pl.col("team").is_not_null().any().over("page")
    frame = frame.with_columns(
        rank=pl.when(pl.col("docid").is_not_null()).then(place),
        method=pl.when(drafted).then(pl.lit("TeamDraft")),
    ).rename({"docid": "doc", "clicked": "clicks"})
    made = tables.table_of(frame, tables.FLAT, source, empty=False)
    unknown = ~made.frame["team"].is_in(["site", "participant"])
    made.refuse(
        unknown.fill_null(False),
        lambda row: f"team {quoted(row['team'])} is neither site nor participant",
    )
    return made
