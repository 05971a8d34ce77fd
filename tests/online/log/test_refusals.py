"""Logs that cannot be read are refused in one line, with file, line and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from cranfield.base.errors import InputError
from cranfield.online import read_log, scan_log, sessionise
from tests.online.log.samples import PAGES, RESULTS
from tests.online.refusals import Refusal, check_refused

CLICKED = {"page": ["p", "q"], "rank": [2, 1], "doc": ["b", "c"]}
USERS = PAGES | {"user": ["u", "v"]}
LOG = read_log(USERS, RESULTS)
COUNTED = {"page": [1], "rank": [1], "clicked": [0]}
LAZY = pl.LazyFrame({"page": [1], "query": ["a"]})
NAN = float("nan")

PAGES_CSV = "page,query,time\n1,cats,2026-01-01T10:00:00Z\n2,dogs,2026-01-01T11:00:00Z\n"
RESULTS_CSV = "page,rank,doc\n1,1,a\n2,1,b\n"
BAD_FILES = {
    "pages.csv": [
        ("page,query\n1,a\n2,b\n1,a\n", "pages.csv:4: page '1' is repeated"),
        ("page,query,time\n1,a,NaN\n", "pages.csv:2: time 'NaN' is not a time"),
        ("page,query\n1,\n", "pages.csv:2: has no query"),
        ("page,query\n", "is empty; expected at least one row"),
        ("\ufeff", "is empty; expected at least one row"),
        ("page\n1\n", "has no query column"),
        ("page,query,found\n1,a,-2\n", "pages.csv:2: total_results '-2' is not an integer >= 0"),
    ],
    "results.csv": [
        ("page,rank,doc\n1,1,a\n1,0,b\n", "results.csv:3: rank '0' is not an integer >= 1"),
        ("page,rank,doc\n1,1,a\n1,1,b\n", "results.csv:3: page '1' has rank 1 more than once"),
        ("page,rank,doc\n1,1,a\n2,x,b\n", "results.csv:3: rank 'x' is not an integer >= 1"),
        ("page,rank,doc\n1,1,\n", "results.csv:2: has no doc"),
        ("page,rank,doc,propensity\n1,1,a,0\n", "propensity '0' is not a number above 0 and at"),
        ("page,rank,doc,propensity\n1,1,a,1.01\n", "'1.01' is not a number above 0 and at most 1"),
        ("page,rank,doc,propensity\n1,1,a,inf\n", "results.csv:2: propensity 'inf'"),
    ],
    "clicks.csv": [
        ("page,rank,time\n2,1,2026-01-01T10:59:59Z\n", "clicks.csv:2: expected no click before"),
        ("page,rank,time\n1,1,NaN\n", "clicks.csv:2: time 'NaN' is not a time"),
        ("page,rank,time\n1,1,soon\n", "clicks.csv:2: time 'soon' is not a time"),
        ("page,rank,dwell\n1,1,long\n", "clicks.csv:2: dwell 'long' is not a number of seconds"),
        ("page,rank,doc\n1,,\n", "clicks.csv:2: expected a rank or a document, got neither"),
        ("page,time\n1,3\n", "clicks.csv: expected a column rank or a column doc, got neither"),
        ("rank\n1\n", "clicks.csv: has no page column"),
        ("\npage,rank,rank\n1,1,1\n", "clicks.csv: has 2 columns 'rank'"),
        ("page;rank\n1;1,5\n", "clicks.csv:2: rank '1.5' is not an integer >= 1"),
    ],
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_files_of_tables(tmp_path: Path, name: str) -> None:
    good = {"pages.csv": PAGES_CSV, "results.csv": RESULTS_CSV}
    for content, words in BAD_FILES[name]:
        files = good | {name: content}
        for file, text in files.items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as error:
            read_log(*(tmp_path / file for file in files))
        assert words in str(error.value) and "\n" not in str(error.value)


LIVING_LABS = [
    (
        '{"sid":"s","qid":"q","ranking":[{"docid":"a","team":"us"}]}',
        "team must be 'site' or 'participant', got 'us'",
    ),
    ('{"sid":"s","qid":"q","ranking":[{"docid":"a","clicked":"maybe"}]}', "clicks 'maybe'"),
    (
        '{"sid":"s","qid":"q","ranking":3}',
        "is not a record of living labs: a field has an unexpected type",
    ),
    ('{"sid":NaN,"qid":"q","ranking":[]}', "is not valid JSON: NaN and Infinity"),
    ('{"sid":"s","ranking":[]}', "has no query"),
    ('{"sid":"s","qid":"q","ranking":[{"clicked":true}]}', "is clicked, but has no document"),
    ('{"sid":"s",', "is not valid JSON"),
    ("[1]", "is not a JSON object"),
    ('{"sid":"\\ud800","qid":"q","ranking":[]}', "is not valid JSON: unpaired"),
]


def test_lines_of_living_labs(tmp_path: Path) -> None:
    ranking = '[{"docid":"a","clicked":true},{"docid":"b","clicked":false}]'
    good = f'{{"sid":"s","qid":"q","ranking":{ranking}}}\n'
    path = tmp_path / "log.jsonl"
    for bad, words in LIVING_LABS:
        path.write_text(f"{good * 5}{bad}\n{good}", encoding="utf-8")
        with pytest.raises(InputError) as error:
            read_log(path)
        assert f"log.jsonl:6: {words}" in str(error.value)


PAGE = '{"page":1,"query":"q",'
BOTH = '"results":[{"doc":"a","clicked":1}],"clicked":["a"]}'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("log.csv", "page,query,doc,rank\n1,cats,a,1\n1,dogs,b,2\n", "3: page '1' has more"),
        ("flat.csv", "page,query,rank,what\n1,cats,1,a\n", "has a column rank, but no column doc"),
        ("flat.csv", "page,query,rank,title\n1,q,1,a\n1,q,2,a\n", "but no column doc .usual names"),
        (
            "p.jsonl",
            PAGE + '"results":["a"],"clicks":[{"doc":"a"}]}',
            "field 'clicks' .* must be .*doc",
        ),
        ("p.jsonl", PAGE + '"results":[{"url":"a"}],"doc":"b"}', "field 'doc' of .* must be"),
        ("p.jsonl", PAGE + '"rank":1,"doc":"a","clicks":["a"]}', r"jsonl:1: clicks \"\['a'\]\" "),
        ("p.jsonl", PAGE + BOTH, "has 'clicked' both in the record and in its results; remove or"),
        ("log.txt", "hello\n", "not a log of a known format; a table with a header must be"),
        ("yandex", "1\t0\tQ\t77\t13\ta\n1\t0\tX\tb\n", "yandex:2: expected a line of Yandex"),
        ("train", "0\tM\t5\t101\n0\t0\tQ\t0\t555\t1,2\t11,1\n", "lines of the Yandex challenge"),
        ("pyclick", "7_1\ta,b : b\n7_1 a b\n", "pyclick:2: expected a line of pages"),
        ("empty.jsonl", "\ufeff", "is empty"),
    ],
)
def test_files_of_whole_logs(tmp_path: Path, name: str, content: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_log(path)


def with_clicks(**clicks: Any) -> object:
    return read_log(PAGES, RESULTS, clicks)


def of_page(**columns: Any) -> object:
    return read_log(pl.DataFrame({"page": [1], "query": ["a"], **columns}))


REFUSALS: dict[str, list[Refusal]] = {
    "options": [
        (lambda: read_log(PAGES, RESULTS, format="x"), "format"),
        (lambda: read_log(PAGES, RESULTS, on_anomaly="drop"), "on_anomaly"),
        (lambda: read_log(PAGES, RESULTS, max_pages=0), "max_pages"),
        (lambda: read_log(PAGES, RESULTS, max_pages=cast(Any, 1.5)), "max_pages"),
        (lambda: read_log(PAGES, max_pages=1), "max_pages requires a column user or session"),
        (lambda: read_log(PAGES, click_actions=["tap"]), "requires a log of format ubi, got flat"),
    ],
    "sources": [
        (lambda: read_log(cast(Any, 3)), "int"),
        (lambda: read_log(cast(Any, b"x")), "bytes"),
        (lambda: read_log(cast(Any, None)), "None"),
        (lambda: read_log([]), "empty"),
        (lambda: read_log(cast(Any, [3])), "row 1: .* got a number"),
        (lambda: read_log({"page": "x"}), "columns"),
        (lambda: read_log({"page": [1], "query": [1, 2]}), "length"),
        (lambda: of_page(time=[NAN]), "row 1: has no time"),
        (lambda: read_log(PAGES, {"page": ["p"] * 2, "doc": ["a", NAN]}), "row 2: has no doc"),
        (lambda: read_log(PAGES, None, {"page": ["p"], "doc": ["a"]}), "table of results"),
        (lambda: read_log(PAGES, {"page": ["1"], "doc": ["a"]}), "on pages .*'p', got none"),
        (lambda: read_log(PAGES, CLICKED, RESULTS), "seems to be the table of results"),
    ],
    "clicks": [
        (lambda: with_clicks(page=["q"], rank=[1], time=[199.9]), "before page 'q'"),
        *[
            (
                lambda clicks=clicks: with_clicks(**clicks),
                "expected clicks on results on .*'p', got",
            )
            for clicks in (
                {"page": ["P", "Q"], "rank": [1, 1]},
                {"page": ["p.0"], "rank": [1]},
                {"page": ["p", "q"], "doc": ["http://x/a", "http://x/c"]},
                {"page": ["p"], "rank": [9]},
            )
        ],
    ],
    "lazy tables": [
        (lambda: scan(page=[1, 1], rank=[1, 0], doc=["a", "b"]), "row 2: rank '0' is not"),
        (lambda: scan(page=[1], rank=[None], doc=["a"]), "row 1: has no rank"),
        (lambda: scan(page=[1], doc=["a"]), "expected a column rank, got 'page', 'doc'"),
        (lambda: scan(page=[1], rank=[1]), "has no doc column"),
        (
            lambda: scan(page=[1, 1], rank=[1, 1], doc=["a", "b"]),
            "page '1' has rank 1 more than once",
        ),
        (lambda: scan_log(LAZY, cast(Any, 3)), "cannot be read as a table"),
        (lambda: scan_log(LAZY, "none.csv"), "none.csv: cannot be read: no such file"),
        (lambda: scan_log(LAZY, "none.json"), "uncompressed .csv, .tsv or .parquet"),
        (lambda: scan_log(LAZY, None, pl.LazyFrame(COUNTED)), "got counts in column 'clicked'"),
    ],
    "sessions": [
        *[
            (lambda timeout=timeout: sessionise(LOG, timeout), "a duration such as 30m")
            for timeout in ("-30", "x", 0, -1, NAN, float("inf"), True, None, "0m", "400d")
        ],
        (lambda: sessionise(read_log(PAGES)), "column .user. of pages"),
        (lambda: sessionise(read_log(USERS | {"time": [1, None]})), "the time of every page"),
    ],
}


def scan(**results: Any) -> object:
    return scan_log(LAZY, pl.LazyFrame(results))


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "select 1 as page, 0 as rank, 'a' as doc",
            "rank is below 1 in 1 row",
        ),
        ("select 1 as page, 'x' as rank, 'a' as doc", "an integer in column rank of results"),
        ("select 1 as page, 1 as rank, null as doc", "text or an integer in column doc"),
        ("select 1 as page, 1 as rank, null::text as doc", "doc is missing in 1 row"),
        (
            "select 1 as page, 1 as rank, 'a' as doc, 0.0 as propensity",
            "propensity is not a number",
        ),
        (
            "select unnest([1, 1]) as page, 1 as rank, 'a' as doc",
            "page '1' has rank 1 more than once",
        ),
    ],
)
def test_relations_of_a_database(query: str, words: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base, pytest.raises(InputError, match=words):
        scan_log(LAZY, base.sql(query))


def test_feedback_without_rankings(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"qid":"q","doclist":[{"docid":"a","clicked":true,"team":"site"}]}\n')
    with pytest.raises(InputError, match="expected records .sid, qid, .* got none with a ranking"):
        read_log(path, format="living-labs")
