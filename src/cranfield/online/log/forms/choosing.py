"""Forms of logs: which one a source has, and how it becomes tables."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError, PolicyError, warn
from cranfield.online.log import tables
from cranfield.online.log.forms.beside_pages import check_order, told_apart
from cranfield.online.log.forms.flat import parted
from cranfield.online.log.forms.living_labs import read_living_labs
from cranfield.online.log.forms.of_sessions import read_sessions_as_log
from cranfield.online.log.forms.ubi import read_ubi
from cranfield.online.log.forms.yandex import read_one_line, read_yandex
from cranfield.online.log.linking import Policies
from cranfield.online.log.records import is_blank
from cranfield.online.log.repeated_records import first_records
from cranfield.sessions.log import SessionLog
from cranfield.sessions.reading import read_sessions
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import spelt
from cranfield.sources.tables import Table

Parts = tuple[Table, Table | None, Table | None, dict[str, int]]
"""Pages, results and clicks, and what was found odd."""

_ONE_FILE = frozenset({"sessions", "yandex", "pyclick"})
"""Forms in which clicks stand among other records, so that a file without any is no evidence."""

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
_NAMES = ("pages", "results", "clicks")
_UBI = ("ubi_queries", "ubi_events")
_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")


def parts_of(
    source: Any, results: Any, clicks: Any, policies: Policies, other: Any = None
) -> Parts:
    """Read the tables of a log, of a form or of the one that it seems to have.

    other: results or clicks, where it is not said which; of other forms than tables it is clicks.
    """
    clicks = other if clicks is None else clicks
    form = policies.form
    if isinstance(source, (str, PathLike)) and Path(fspath(source)).is_dir():
        if results is not None or clicks is not None:
            raise InputError("a folder has its own results and clicks", source=fspath(source))
        source, results, clicks, form = _folder(Path(fspath(source)), form)
    if form == "auto":
        form = _form(source, results, clicks)
    if policies.click_actions is not None and form != "ubi":
        raise PolicyError(f"click_actions=... requires a log of format ubi, got {form}")
    if form == "tables" and results is None:
        source = tables.columns_of(source, tables.PAGES)
        of_results = (one for one in tables.FLAT.columns if one.name in {"rank", "doc"})
        if all(column.named_in(source.names) for column in of_results):
            return *_lists_and_clicks(source, clicks), {}
    if form == "tables":
        if other is not None:
            results, clicks = told_apart(other)
        pages = tables.opened(source, tables.PAGES)
        shown = None if results is None else tables.opened(results, tables.RESULTS, empty=True)
        clicked = None if clicks is None else tables.opened(clicks, tables.CLICKS, empty=True)
        check_order(shown, clicked)
        _warn_of_no_results(shown)
        return pages, shown, clicked, {}
    beside = "results" if results is not None else "clicks" if clicks is not None else ""
    if beside and not (form == "ubi" and results is None):
        raise InputError(f"a log of format {form} takes no table of {beside} beside it")
    parts = _parts_of_one(source, clicks, form, policies)
    _, shown, clicked, _ = parts
    is_file = isinstance(source, (str, PathLike))
    if shown is not None and shown.frame.is_empty():
        _warn_of_no_results(shown, is_file or policies.form == "flat")
    elif is_file and form in _ONE_FILE and clicked is not None and clicked.frame.is_empty():
        warn(f"{clicked.source}: has no clicks; measures of clicks are 0")
    return parts


def _warn_of_no_results(shown: Table | None, expected: bool = False) -> None:
    # A table of pages alone, in memory, has no column of documents.
    if shown is not None and shown.frame.is_empty() and (expected or "doc" in shown.names):
        warn(f"{shown.source}: no page has results; expected a column doc, or documents listed")


def _parts_of_one(source: Any, clicks: Any, form: str, policies: Policies) -> Parts:
    """Read a log that is one source, or UBI queries with their events."""
    if form == "flat":
        table = tables.opened(source, tables.FLAT)
        table, again = first_records(table, policies.odd, drop_doubled=False)
        return *parted(table), again
    if form == "sessions":
        sessions = source if isinstance(source, SessionLog) else read_sessions(source)
        lost = {"clicks on no result": sessions.lost_clicks}
        return *read_sessions_as_log(sessions), lost
    raw = _raw(source, form)
    if form == "ubi":
        events = None if clicks is None else _raw(clicks, form, empty=True)
        return read_ubi(raw, events, policies.click_actions or ("click",))
    if form == "living-labs":
        return *parted(read_living_labs(*raw)), {}
    return *(read_yandex if form == "yandex" else read_one_line)(*raw), {}


def _lists_and_clicks(source: Columns, clicks: Any) -> tuple[Table, Table, Table | None]:
    """Read shown results that have the columns of their pages, such as interleaved lists."""
    pages, shown, own = parted(tables.opened(source, tables.FLAT), clicks is not None)
    if clicks is None:
        return pages, shown, own
    if own is not None:
        reason = "has a column of clicks, and a table of clicks was given too"
        raise InputError(reason, source=source.source)
    return pages, shown, tables.opened(clicks, tables.CLICKS, empty=True)


def _raw(source: Any, form: str, empty: bool = False) -> tuple[bytes, str]:
    if not isinstance(source, (str, PathLike)):
        raise InputError(f"a log of format {form} is a file, not {type(source).__name__}")
    file = Source(fspath(source))
    raw = file.read()
    if is_blank(raw) and not empty:
        raise InputError("is empty: a log has at least one page", source=file.name)
    return raw, file.name


def _folder(folder: Path, form: str) -> tuple[Any, Any, Any, str]:
    """Find the tables in a folder, as an export writes them."""
    if form in {"auto", "ubi"}:
        queries, events = (_file(folder, name) for name in _UBI)
        if queries is not None:
            return queries, None, events, "ubi"
    if form not in {"auto", "tables"}:
        raise InputError(f"holds no log of format {form}", source=str(folder))
    return *tables_in(folder), "tables"


def tables_in(folder: Path) -> tuple[str, str | None, str | None]:
    """Find the files of pages, results and clicks in a folder."""
    pages, results, clicks = (_file(folder, name) for name in _NAMES)
    if pages is None:
        reason = "holds neither pages.csv (or .parquet, …) nor ubi_queries.jsonl"
        raise InputError(reason, source=str(folder))
    return pages, results, clicks


def _file(folder: Path, name: str) -> str | None:
    found = [
        str(folder / f"{name}{suffix}{end}")
        for suffix in SUFFIXES
        for end in _ENDINGS
        if (folder / f"{name}{suffix}{end}").is_file()
    ]
    if len(found) > 1:
        raise InputError(f"holds the {name} in several files", source=str(folder))
    return found[0] if found else None


def _form(source: Any, results: Any, clicks: Any) -> str:
    if isinstance(source, SessionLog):
        return "sessions"
    if isinstance(source, (str, PathLike)):
        file = Source(fspath(source))
        plain = FORMAT_OF_SUFFIX.get(file.suffix) in {"csv", "tsv", "parquet", "json"}
        if not plain and (form := _form_of_text(file)):
            return form
    return "flat" if results is None and clicks is None else "tables"


_SIGNS = (
    ("sessions", re.compile(r"\s*<")),
    ("yandex", re.compile(r"[^\t\n]*\t[^\t\n]*\t[QC]\t")),
    ("pyclick", re.compile(r"[^\t\n]*\t[^\t\n]*:")),
)


def _form_of_text(source: Source) -> str:
    """Tell the form of a file by how it starts; nothing if it may be a table."""
    with source.open() as stream:
        head = stream.read(1 << 16).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    if head.lstrip().startswith("{"):
        keys = {spelt(key) for key in re.findall(r'"([^"\\]{1,40})"\s*:', head)}
        if {"ranking", "qid"} <= keys:
            return "living-labs"
        if {"userquery", "queryresponsehitids"} & keys and "queryid" in keys:
            return "ubi"
    elif FORMAT_OF_SUFFIX.get(source.suffix) is None:
        for form, sign in _SIGNS:
            if sign.match(head):
                return form
        reason = "is empty: a log has at least one page"
        if head.strip():
            reason = "is none of the forms of logs that are known by their start; say its format"
        raise InputError(reason, source=source.name)
    return ""
