"""Small logs: tables, UBI records and files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polars.testing import assert_frame_equal

from cranfield.base.errors import CranfieldWarning
from cranfield.online import QueryLog, read_log

UNTIMED = {"page": ["p", "q"], "query": ["cats", "dogs"]}
PAGES = {**UNTIMED, "time": [100, 200]}
RESULTS = {"page": ["p", "p", "q"], "rank": [1, 2, 1], "doc": ["a", "b", "c"]}
FLAT = {**RESULTS, "query": ["cats", "cats", "dogs"], "clicks": [1, 0, 1]}


def log_of(*given: Any, **options: Any) -> QueryLog:
    """Read a log whose anomalies are counted, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        return read_log(*given, on_anomaly="count", **options)


def same(log: QueryLog, other: QueryLog) -> None:
    assert_frame_equal(log.pages, other.pages)
    assert_frame_equal(log.results, other.results)
    assert_frame_equal(log.clicks, other.clicks)


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def lines(path: Path, records: Iterable[Any]) -> Path:
    return text(path, "".join(f"{json.dumps(record)}\n" for record in records))


def at(second: int) -> str:
    return f"2026-01-01T10:00:{second:02}Z"


def query(name: str, hits: list[Any], second: int | None = None, **more: Any) -> dict[str, Any]:
    record = {"query_id": name, "user_query": "cats", "query_response_hit_ids": hits}
    return record | ({} if second is None else {"timestamp": at(second)}) | more


def event(
    action: str, name: Any, doc: Any, rank: int, second: int | None = None, **more: Any
) -> dict[str, Any]:
    attributes = {"object": {"object_id": doc}, "position": {"ordinal": rank}} | more
    record = {"action_name": action, "query_id": name, "event_attributes": attributes}
    return record | ({} if second is None else {"timestamp": at(second), "session_id": "s1"})
