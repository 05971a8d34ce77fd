"""Hostile query logs in all their forms: each is a sound log or is refused in one line."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from math import nan
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.online import QueryLog
from studies.attack.reading.spoil import spoil_bytes
from studies.attack.work.cases import FindingError, guarded, pick, some_id

Rows = list[dict[str, Any]]

START = 1_767_225_600
BAD = {
    "page": (None, "", nan, 1.5, [1], {"a": 1}, b"x", True, "\ud800"),
    "query": (None, "", "<b>x</b>", 7, [1]),
    "rank": (0, -1, "x", 1.5, nan, None, 2**31, 10**30, "1e1", "", True, " 2"),
    "doc": (None, "", 7, "\ud800", [1], "a,b"),
    "time": (
        *(nan, "NaN", "soon", None, "", -1, 10**30, float("inf"), "2026-13-01", "99999-01-01"),
        *("0000-01-01", START - 10**6, START * 1000, "2026-01-01T00:00:00+99:00", True, [1]),
    ),
    "dwell": (nan, -1, 0, "x", None, "", float("inf"), 1e300, True),
    "propensity": (0, 1, 1.0000001, -0.5, nan, "x", None, float("inf"), "0"),
    "team": (None, "", "us", 3, [1]),
    "clicked": ("maybe", -1, 2, 10**9, None, nan, "TRUE", 0.5, [1]),
    "user": (None, "", 3, nan, {"x": 1}),
    "variant": (None, "", "A", 1),
    "found": (-1, "x", None, 10**30, 1.5),
    "grade": (0.5, "x", None, 2**40, -2),
    "censored": ("maybe", 1, None, 2),
}
"""Values that a cell of a column may have by mistake; some of them are right."""


def some_log(rng: random.Random) -> tuple[Rows, Rows, Rows]:
    """Make a log that is right."""
    pages: Rows = []
    results: Rows = []
    clicks: Rows = []
    odd = rng.random() < 0.2
    for number in range(rng.choice((1, 2, 4, 8))):
        page = some_id(rng, "p", number) if odd and rng.random() < 0.3 else f"p{number}"
        time = START + 100 * number
        pages.append(
            {
                "page": page,
                "query": rng.choice(("cats", "dogs", "7")),
                "user": f"u{number % 3}",
                "time": time,
                "variant": rng.choice("AB"),
            }
        )
        for rank in range(1, rng.choice((1, 3, 5)) + 1):
            doc = some_id(rng, "d", rank) if odd and rng.random() < 0.2 else f"d{rng.randrange(9)}"
            results.append(
                {
                    "page": page,
                    "rank": rank,
                    "doc": doc,
                    "team": rng.choice("AB"),
                    "propensity": rng.choice((1, 0.5)),
                }
            )
            while rng.random() < 0.2:
                clicks.append(
                    {
                        "page": page,
                        "rank": rank,
                        "time": time + rng.randrange(60),
                        "dwell": rng.choice((1.5, 30, 200)),
                    }
                )
    return pages, results, clicks


def spoilt(rng: random.Random, rows: Rows) -> None:
    """Put something wrong into a few cells, or a row twice, or none of a column."""
    for _ in range(rng.choice((1, 1, 2))):
        if not rows:
            return
        row = rng.choice(rows)
        act = rng.random()
        names = [name for name in row if name in BAD]
        if act < 0.7 and names:
            name = rng.choice(names)
            row[name] = rng.choice(BAD[name])
        elif act < 0.8:
            rows.insert(rng.randrange(len(rows) + 1), dict(row))
        elif act < 0.87:
            rows.remove(row)
        elif act < 0.94:
            row.pop(rng.choice([*row]))
        else:
            name = rng.choice([*row])
            for other in rows:
                other.pop(name, None)


def as_csv(rows: Rows, separator: str = ",") -> bytes:
    names = [*dict.fromkeys(name for row in rows for name in row)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return out.getvalue().encode(errors="replace")


def as_lines(rows: list[Any]) -> bytes:
    return "".join(f"{json.dumps(row, default=str)}\n" for row in rows).encode()


def as_xml(pages: Rows, results: Rows, clicks: Rows) -> bytes:
    said = ["<sessiontrack2013>"]
    for number, page in enumerate(pages, 1):
        name = page.get("page")
        start = page.get("time")
        said.append(f'<session num="{number}"><topic num="1"/>')
        said.append(f'<interaction num="1" starttime="{start}"><query>{page.get("query")}</query>')
        said.append("<results>")
        for row in results:
            if row.get("page") == name:
                said.append(
                    f'<result rank="{row.get("rank")}"><docno>{row.get("doc")}</docno></result>'
                )
        said.append("</results><clicked>")
        for row in clicks:
            if row.get("page") == name:
                said.append(
                    f'<click starttime="{row.get("time")}" endtime="{row.get("dwell")}">'
                    f"<rank>{row.get('rank')}</rank></click>"
                )
        said.append("</clicked></interaction></session>")
    return "\n".join([*said, "</sessiontrack2013>"]).encode(errors="replace")


def ubi(pages: Rows, results: Rows, clicks: Rows) -> tuple[list[Any], list[Any]]:
    queries = [
        {
            "query_id": page.get("page"),
            "user_query": page.get("query"),
            "client_id": page.get("user"),
            "timestamp": page.get("time"),
            "query_response_hit_ids": [
                row.get("doc") for row in results if row.get("page") == page.get("page")
            ],
        }
        for page in pages
    ]
    events = [
        {
            "action_name": "click",
            "query_id": row.get("page"),
            "timestamp": row.get("time"),
            "event_attributes": {
                "object": {"object_id": row.get("doc")},
                "position": {"ordinal": row.get("rank")},
                "dwell": row.get("dwell"),
            },
        }
        for row in clicks
    ]
    return queries, events


def flat(pages: Rows, results: Rows, clicks: Rows) -> Rows:
    of_page = {str(page.get("page")): page for page in pages}
    hit = [(row.get("page"), row.get("rank")) for row in clicks]
    return [
        {
            **of_page.get(str(row.get("page")), {}),
            **row,
            "clicked": hit.count((row.get("page"), row.get("rank"))),
        }
        for row in results
    ]


def living_labs(pages: Rows, results: Rows, clicks: Rows) -> list[Any]:
    hit = [(row.get("page"), row.get("rank")) for row in clicks]
    teams = {"A": "site", "B": "participant"}
    return [
        {
            "sid": page.get("user"),
            "qid": page.get("query"),
            "time": page.get("time"),
            "ranking": [
                {
                    "docid": row.get("doc"),
                    "team": teams.get(str(row.get("team")), row.get("team")),
                    "clicked": (row.get("page"), row.get("rank")) in hit,
                }
                for row in results
                if row.get("page") == page.get("page")
            ],
        }
        for page in pages
    ]


def yandex(pages: Rows, results: Rows, clicks: Rows) -> bytes:
    said = []
    for number, page in enumerate(pages):
        docs = [row.get("doc") for row in results if row.get("page") == page.get("page")]
        said.append("\t".join(map(str, [number, 0, "Q", page.get("query"), 1, *docs])))
        said += [
            f"{number}\t5\tC\t{docs[0] if docs else 'x'}"
            for row in clicks
            if row.get("page") == page.get("page")
        ]
    return "\n".join(said).encode(errors="replace")


def pyclick(pages: Rows, results: Rows, clicks: Rows) -> bytes:
    said = []
    for page in pages:
        rows = [row for row in results if row.get("page") == page.get("page")]
        hit = [row.get("doc", "d1") for row in clicks if row.get("page") == page.get("page")]
        docs = ",".join(str(row.get("doc")) for row in rows)
        said.append(f"{page.get('query')}\t{docs} : {' , '.join(map(str, hit))}")
    return "; ".join(said).encode(errors="replace")


FORMS = (
    *("dicts", "columns", "frames", "csv", "tsv", "jsonl", "parquet", "flat", "flat csv"),
    *("flat jsonl", "xml", "ubi", "living-labs", "yandex", "pyclick", "folder", "scan"),
)


def log_case(rng: random.Random, folder: Path) -> bool:
    tables = some_log(rng)
    form = rng.choice(FORMS)
    wrong = pick(rng, nothing=2, cells=5, bytes=3)
    if wrong == "cells":
        spoilt(rng, tables[rng.choice((0, 1, 1, 2))])
    options: dict[str, Any] = {"odd": rng.choice(("refuse", "refuse", "count"))}
    if rng.random() < 0.1:
        options["max_queries"] = rng.choice((1, 2, 0, -1, 1.5))
    if rng.random() < 0.1:
        options["format"] = rng.choice(("flat", "tables", "ubi", "yandex", "sessions", "x"))
    with tempfile.TemporaryDirectory(dir=folder) as home:
        given = sources(rng, form, tables, Path(home), wrong == "bytes")
        if given is None:
            return False
        told = {path.name: path.read_bytes() for path in Path(home).rglob("*") if path.is_file()}
        reproducer = {"form": form, "wrong": wrong, **options, "files": told, "tables": tables}
        if form == "scan":
            found: Any = guarded(lambda: _scanned(given), reproducer)
        else:
            found = guarded(lambda: cf.online.read_log(*given, **options), reproducer)
        if isinstance(found, CranfieldError):
            if "\n" in str(found):
                raise FindingError(f"several lines: {found}", reproducer, "lines")
            if wrong == "nothing" and options == {"odd": "refuse"} and plain(tables):
                raise FindingError(f"refused: {found}", reproducer, f"refused {form}")
            return False
        if form != "scan":
            sound(rng, found, reproducer, Path(home))
    return True


def plain(tables: tuple[Rows, Rows, Rows]) -> bool:
    """Tell whether all ids mean the same in every form."""
    cells = [
        row[name] for table in tables for row in table for name in ("page", "doc") if name in row
    ]
    return all(cell[1:].isdigit() and cell[0] in "pd" for cell in cells)


def _scanned(given: Any) -> int:
    return sum(
        table.collect(backend="polars").to_native().height
        for table in cf.online.scan_log(*given).values()
    )


def sources(
    rng: random.Random, form: str, tables: tuple[Rows, Rows, Rows], home: Path, by_byte: bool
) -> tuple[Any, ...] | None:
    """Put a log into a form; None where it has none in it."""

    def file(name: str, content: bytes) -> Path:
        path = home / name
        path.write_bytes(spoil_bytes(rng, content) if by_byte else content)
        return path

    clicks = tables[2]
    names = ("pages", "results", "clicks")
    if form in {"csv", "tsv", "jsonl", "folder", "scan"}:
        end = (
            rng.choice(("csv", "jsonl")) if form == "folder" else "csv" if form == "scan" else form
        )
        write = (
            as_lines if end == "jsonl" else lambda rows: as_csv(rows, "\t" if end == "tsv" else ",")
        )
        paths = [
            file(f"{name}.{end}", write(rows)) for name, rows in zip(names, tables, strict=True)
        ]
        return (home,) if form == "folder" else tuple(paths if clicks else paths[:2])
    if form in {"dicts", "columns"} and not by_byte:
        given = [rows if form == "dicts" else in_columns(rows) for rows in tables]
        return tuple(given if clicks else given[:2])
    if form in {"frames", "parquet"}:
        try:
            frames = [pl.DataFrame(rows, strict=False, infer_schema_length=None) for rows in tables]
        except (pl.exceptions.PolarsError, TypeError, OverflowError, ValueError):
            return None
        if form == "frames":
            return tuple(frames if clicks else frames[:2])
        out = []
        for name, frame in zip(names, frames if clicks else frames[:2], strict=False):
            buffer = io.BytesIO()
            try:
                frame.write_parquet(buffer)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                return None
            out.append(file(f"{name}.parquet", buffer.getvalue()))
        return tuple(out)
    if form.startswith("flat"):
        rows = flat(*tables)
        if form == "flat":
            return (rows,)
        end = form.split()[1]
        return (file(f"log.{end}", (as_csv if end == "csv" else as_lines)(rows)),)
    if form == "ubi":
        queries, events = ubi(*tables)
        return (file("q.jsonl", as_lines(queries)), None, file("e.jsonl", as_lines(events)))
    made = {"xml": as_xml, "yandex": yandex, "pyclick": pyclick}
    if form == "living-labs":
        return (file("log.jsonl", as_lines(living_labs(*tables))),)
    if form in made:
        return (file("log.xml" if form == "xml" else "log", made[form](*tables)),)
    return None


def written_and_read(log: QueryLog, folder: Path, form: str) -> QueryLog:
    log.write(folder, form)
    return cf.online.read_log(folder)


def _known(table: pl.DataFrame) -> pl.DataFrame:
    """Leave out columns without any value, of which some forms say nothing."""
    return table[[column.name for column in table if column.null_count() < len(column)]]


def in_columns(rows: Rows) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def sound(rng: random.Random, log: QueryLog, reproducer: object, home: Path) -> None:
    """Check what the documentation promises of every log."""
    pages, results, clicks = log.pages, log.results, log.clicks
    wrong = ""
    if not pages.height or pages["id"].is_duplicated().any() or pages["id"].null_count():
        wrong = "pages"
    for name, frame in (("results", results), ("clicks", clicks)):
        if frame.height and not bool(frame["page"].is_between(0, pages.height - 1).all()):
            wrong = f"pages of {name}"
        if frame.height and (frame["rank"].null_count() or frame["rank"].min() < 1):  # type: ignore[operator]
            wrong = f"ranks of {name}"
    if results.select("page", "rank").is_duplicated().any() or results["doc"].null_count():
        wrong = "results"
    if not results.select("page", "rank").equals(
        results.select("page", "rank").sort("page", "rank")
    ):
        wrong = "order of results"
    if results.height and clicks.join(results, on=["page", "rank", "doc"], how="anti").height:
        wrong = "clicks on nothing"
    if "propensity" in results.columns:
        chance = results["propensity"].drop_nulls()
        if not bool(((chance > 0) & (chance <= 1)).all()):
            wrong = "propensities"
    if "time" in clicks.columns and "time" in pages.columns:
        early = clicks["time"] < pages["time"].gather(clicks["page"])
        wrong = "early clicks" if early.any() else wrong
    if "dwell" in clicks.columns and not bool((clicks["dwell"].drop_nulls() > 0).all()):
        wrong = "dwell"
    if wrong:
        raise FindingError(f"unsound: {wrong}", reproducer, wrong)
    guarded(lambda: (repr(log), log._repr_html_(), log.shown), reproducer)
    if rng.random() < 0.2:
        cut = guarded(lambda: cf.online.sessionise(log), reproducer)
        if isinstance(cut, QueryLog) and "session" not in cut.pages.columns:
            raise FindingError("no sessions", reproducer, "sessions")
    if rng.random() < 0.2:
        form = rng.choice(("csv", "parquet", "jsonl", "ubi"))
        target = home / "written"
        back = guarded(lambda: written_and_read(log, target, form), reproducer)
        if isinstance(back, CranfieldError):
            raise FindingError(f"{form} is refused: {back}", reproducer, f"read back {form}")
        if results.is_empty() and form == "ubi":
            return
        for name in ("pages", "results", "clicks"):
            if not clicks.height and name == "clicks":
                continue
            try:
                assert_frame_equal(*(_known(getattr(one, name)) for one in (back, log)))
            except AssertionError as error:
                text = f"{form}: {name} are other ones: {error}"
                raise FindingError(text, reproducer, f"read back {form} {name}") from None
