"""What can be seen in lines by themselves: their columns, tags, ranks and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import quoted
from cranfield.base.words import counted
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.raw_columns import NAMES, RawColumns
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.keys import Codes, TopicCoder
from cranfield.sources.values import integers_in, numbers_in


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a run as far as they are known; all have the same length.

    Attributes
    ----------
    topics
        The topics, by code.
    codes
        Topic of each row; -1 where it is not known.
    docs
        Document of each row; null where it is not known.
    scores
        NaN where there is none.
    ranks
        0 where there is none.
    ranked
        Whether the rank is one: an integer of 0 or more.
    broken
        Whether nothing is known of a line but its first word, taken for a topic.
    """

    topics: Sequence[str]
    codes: Codes
    docs: pl.Series
    scores: Floats
    ranks: Codes
    ranked: Bools
    lines: Ints
    broken: Bools


_Part = tuple[Codes, pl.Series, Floats, Codes, Bools, Ints, Bools]

_NO_ROWS: _Part = (
    np.empty(0, dtype=np.int32),
    pl.Series(dtype=pl.String),
    np.empty(0),
    np.empty(0, dtype=np.int32),
    np.empty(0, dtype=bool),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=bool),
)

_INTEGER, _FROM_0 = pl.lit("an integer"), pl.lit("0 or more")
_TO_MOST = pl.lit("2147483647 or less")


class Lines:
    """Checks lines a chunk at a time, and keeps what checks of the whole run need."""

    def __init__(self, task: TaskRules, found: Collected) -> None:
        self.tag: str | None = None
        self.tag_line: int | None = None
        self._task = task
        self._found = found
        self._coder = TopicCoder()
        self._parts: list[_Part] = []
        self._second: tuple[int, str, int] | None = None

    def check(self, raw: RawColumns) -> None:
        """Check the lines of a chunk."""
        check_encoding(raw, self._found)
        frame = self._check_columns(raw)
        number, integer = numbers_in(pl.col("score")), integers_in(pl.col("rank"))
        self._note_tag(frame["tag"], frame.select(number).to_series(), raw.lines)
        ranked = (integer >= 0).fill_null(False)
        after = pl.lit(pl.Series(raw.lines > (self.tag_line or 0)))
        seen = frame.select(
            tag=(pl.col("tag") != (self.tag or "")).fill_null(False) & after,
            q0=(~pl.col("q0").is_in(self._task.second_column)).fill_null(False),
            rank=~ranked & pl.col("rank").is_not_null(),
            score=number.is_null() & pl.col("score").is_not_null(),
            number=number.fill_null(np.nan),
            integer=integer.fill_null(0),
            ranked=ranked,
        )
        wrong = {name: seen[name].to_numpy() for name in ("tag", "q0", "rank", "score")}
        about = {"topics": frame["topic"], "docs": frame["doc"]}
        self._found.add_rows(
            "tag-changes", wrong["tag"], raw.lines, tag=frame["tag"], first=self.tag
        )
        self._note_second(wrong["q0"], frame["q0"], raw.lines)
        if self._task.rank != "off" and wrong["rank"].any():
            written = frame["rank"].str
            wanted = seen.select(
                pl.when(~written.contains(r"^[+-]?[0-9]+$"))
                .then(_INTEGER)
                .when(written.starts_with("-"))
                .then(_FROM_0)
                .otherwise(_TO_MOST)
            )
            self._found.add_rows(
                "rank",
                wrong["rank"],
                raw.lines,
                **about,
                rank=frame["rank"],
                wanted=wanted.to_series(),
            )
        self._found.add_rows("score", wrong["score"], raw.lines, **about, score=frame["score"])
        self._parts.append(
            (
                self._codes(frame["topic"]),
                frame["doc"],
                seen["number"].to_numpy(),
                seen["integer"].to_numpy(),
                seen["ranked"].to_numpy(),
                raw.lines,
                raw.broken,
            )
        )

    def rows(self) -> Rows:
        """Return all rows that were checked; they are handed over, and not kept."""
        parts = self._parts or [_NO_ROWS]
        self._parts = []
        codes, docs, *others = zip(*parts, strict=True)
        return Rows(
            tuple(self._coder.names),
            np.concatenate(codes),
            pl.concat(docs, rechunk=False),
            *map(np.concatenate, others),
        )

    def end(self) -> None:
        """Add what is said once of all lines."""
        if self._second is not None:
            line, value, count = self._second
            wanted = " or ".join(map(quoted, self._task.second_column))
            self._found.add(
                "second-column",
                line=line,
                count=count,
                value=value,
                wanted=wanted,
                lines=counted(count, "line"),
            )

    def _check_columns(self, raw: RawColumns) -> pl.DataFrame:
        """Check how many columns lines have; null for what is empty, which semicolons allow."""
        frame = raw.frame
        wrong = raw.widths != len(NAMES)
        semicolons = self._task.format == "ntcir"
        known: dict[str, Any] = {"kind": "run", "wanted": len(NAMES), "names": " ".join(NAMES)}
        if semicolons:
            known["names"] += ", separated by ';'"
        if wrong.any():
            what = pl.select(pl.format("{} columns", pl.Series(raw.widths))).to_series()
            self._found.add_rows("columns", wrong, raw.lines, what=what, **known)
        if semicolons:
            for name in NAMES:
                empty = (frame[name] == "").fill_null(False)
                if name != "q0":
                    self._found.add_rows(
                        "columns", empty.to_numpy(), raw.lines, what=f"an empty {name}", **known
                    )
            filled = pl.exclude("q0")
            frame = frame.with_columns(pl.when(filled != "").then(filled))
        return frame

    def _note_tag(self, tags: pl.Series, scores: pl.Series, lines: Ints) -> None:
        if self.tag is None and tags.null_count() < len(tags):
            there = tags.is_not_null()
            # The names of columns above a run are no tag that its lines depart from.
            scored = there & scores.is_not_null()
            row = (scored if scored.any() else there).arg_max() or 0
            self.tag, self.tag_line = tags[row], int(lines[row])

    def _note_second(self, wrong: Bools, values: pl.Series, lines: Ints) -> None:
        if self._task.second_column and wrong.any():
            row = int(wrong.argmax())
            line, value, before = self._second or (int(lines[row]), values[row], 0)
            self._second = line, value, before + int(wrong.sum())

    def _codes(self, topics: pl.Series) -> Codes:
        """Number the topics; -1 where there is none."""
        if not topics.null_count():
            return self._coder.encode(topics)
        codes = np.full(len(topics), -1, dtype=np.int32)
        codes[topics.is_not_null().to_numpy()] = self._coder.encode(topics.drop_nulls())
        return codes


def check_encoding(raw: RawColumns, found: Collected) -> None:
    """Add the lines with bytes that are no text."""
    lines, values = raw.undecoded
    if lines.size:
        reasons = [f"byte 0x{value:02x} is not valid UTF-8 text" for value in range(256)]
        every = np.ones(lines.size, dtype=bool)
        found.add_rows("encoding", every, lines, reason=pl.Series(reasons)[values])
