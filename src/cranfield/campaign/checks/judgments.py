"""The check of a file of judgments: one pass over its lines, all faults at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.errors import InputError
from cranfield.campaign.checks.checking import code_of
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.lines import check_encoding
from cranfield.campaign.checks.raw_columns import raw_columns
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.files.layouts import QRELS
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.values import integers_in

_PLACE = ("topic", "subtopic", "doc")


def check_lines_of_qrels(path: str, task: TaskRules, *, all_faults: bool) -> CheckReport:
    """Check lines of topic, iteration, document and grade.

    Raises
    ------
    InputError
        For a file that cannot be read at all.
    """
    found = Collected(task, all_faults=all_faults)
    names, count, parts = tuple(QRELS.columns), 0, []
    try:
        for chunk in Source(path).chunks(TOGETHER * CHUNK):
            raw = raw_columns(chunk, count + 1, "trec", names)
            count += chunk.count(b"\n") + (chunk[-1:] not in {b"", b"\n"})
            check_encoding(raw, found)
            wrong = raw.widths != len(names)
            if wrong.any():
                what = pl.select(pl.format("{} columns", pl.Series(raw.widths))).to_series()
                found.add_rows(
                    "columns",
                    wrong,
                    raw.lines,
                    what=what,
                    kind="judgment",
                    wanted=len(names),
                    names="topic iteration doc grade",
                )
            frame = raw.frame
            grade = integers_in(pl.col("grade")).is_null() & pl.col("grade").is_not_null()
            found.add_rows(
                "grade",
                frame.select(grade).to_series().to_numpy(),
                raw.lines,
                topics=frame["topic"],
                docs=frame["doc"],
                grade=frame["grade"],
            )
            whole = pl.Series(~raw.broken)
            parts.append(frame.select(_PLACE, line=pl.Series(raw.lines)).filter(whole))
    except InputError as error:
        found.add(code_of(error), line=error.line, reason=error.reason)
        if not parts:
            return CheckReport(Source(path).name, None, found.faults(), count)
    rows = pl.concat(parts) if parts else pl.DataFrame()
    if not rows.height:
        found.add("empty", reason="is empty: a file of judgments has at least one line")
        return CheckReport(Source(path).name, None, found.faults(), count)
    again = rows.with_columns(first=pl.col("line").min().over(_PLACE)).filter(
        pl.col("line") > pl.col("first"), pl.col("doc").is_not_null()
    )
    found.add_rows(
        "document-twice",
        np.ones(again.height, dtype=bool),
        again["line"].to_numpy(),
        topics=again["topic"],
        docs=again["doc"],
        first=again["first"],
    )
    topics = rows["topic"].n_unique()
    return CheckReport(Source(path).name, None, found.faults(), count, topics)
