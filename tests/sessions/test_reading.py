"""Reading of sessions: the XML of the TREC Session track, tables, and what is wrong with them."""

from __future__ import annotations

import gzip
import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from cranfield.base.errors import CranfieldWarning, InputError, collect_warnings
from cranfield.sessions import Sessions, read_session_topics, read_sessions
from tests.sessions.samples import XML, written

HEAD = '<log><session num="1"><topic num="7"/>'
PASSWD = 'SYSTEM "file:///etc/passwd"'
RESULT = '<result rank="{}"><clueweb12id>{}</clueweb12id></result>'


def log(*parts: str) -> str:
    return HEAD + "".join(parts) + "</session></log>"


def interaction(num: int, ranks: dict[int, str], clicks: str = "") -> str:
    results = "".join(RESULT.format(rank, doc) for rank, doc in ranks.items())
    return (
        f'<interaction num="{num}" starttime="5"><query>q{num}</query>'
        f"<results>{results}</results>{clicks}</interaction>"
    )


def click(rank: str, start: str = "6", end: str = "7", doc: str = "") -> str:
    return (
        f'<clicked><click num="1" starttime="{start}" endtime="{end}">'
        f"<rank>{rank}</rank>{doc}</click></clicked>"
    )


def within(part: str) -> str:
    return log(f'<interaction num="1"><query>x</query>{part}</interaction>')


def test_real_extract() -> None:
    sessions = read_sessions(XML)
    assert sessions.names == ("33", "54")
    assert sessions.topics == ("25", "40")
    assert sessions.current_queries == (
        'general schedule pay tables "federal goverment"',
        '"employee fraud" "best practice"',
    )
    assert sessions.queries.height == 6
    assert sessions.counts.n_repeated == 8
    assert repr(sessions) == (
        "Sessions(2 sessions, 6 queries, 60 results, 11 clicks; 8 repeated results)"
    )
    first = sessions.results.row(0, named=True)
    assert (first["rank"], first["doc"]) == (1, "clueweb12-0714wb-65-18806")
    titles = ("2009 Federal Pay Charts \\/ Tab", "2009 Federal Pa")
    assert (first["title"], first["snippet"]) == titles
    of_54 = sessions.clicks.filter(pl.col("session") == 1)
    assert of_54.select("query", "rank").rows() == [
        *((1, rank) for rank in (3, 2, 4, 5, 5)),
        *((2, rank) for rank in (4, 5, 6)),
    ]
    assert of_54["start"][0] == 84.073269
    assert sessions.queries["text"][0] == "general schedule pay tables"


def test_packed_files_and_files_without_a_suffix_are_read(tmp_path: Path) -> None:
    data = Path(XML).read_bytes()
    packed = written(tmp_path, gzip.compress(data), "log.xml.gz")
    plain = written(tmp_path, b"\xef\xbb\xbf" + data, "log")
    for path in (packed, plain):
        assert read_sessions(path).results.equals(read_sessions(XML).results)


def test_times(tmp_path: Path) -> None:
    text = log(
        interaction(1, {1: "a", 2: "b"}, click("2", "00:01:02.5", "NA")),
        interaction(2, {1: "c"}, click("1", "63.25", "70")),
    )
    clicks = read_sessions(written(tmp_path, text)).clicks
    assert clicks["start"].to_list() == [62.5, 63.25]
    assert math.isnan(clicks["end"][0])


def test_times_without_a_zone_are_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        click = {"session": "s", "query": 1, "rank": 1, "start": datetime(2024, 7, 1, 10)}
        sessions = read_sessions([{**click, "doc": "a"}], clicks=[click])
        assert sessions.clicks["start"].item() == datetime(2024, 7, 1, 10, tzinfo=UTC).timestamp()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_clicks_in_order_of_time(tmp_path: Path) -> None:
    """One without a time stays behind the one before it."""
    both = click("1", "9").replace("</clicked>", "") + click("2", "NA").replace("<clicked>", "")
    text = log(
        interaction(1, {1: "a", 2: "b"}, both), interaction(2, {1: "c"}, click("1", "8", "NA"))
    )
    clicks = read_sessions(written(tmp_path, text)).clicks
    assert clicks.select("query", "rank").rows() == [(2, 1), (1, 1), (1, 2)]


def test_a_click_may_name_its_document(tmp_path: Path) -> None:
    text = log(interaction(1, {1: "a", 2: "b"}, click("", doc="<docno>b</docno>")))
    assert read_sessions(written(tmp_path, text)).clicks["rank"].to_list() == [2]


def test_odd_things_are_counted_and_said(tmp_path: Path) -> None:
    text = log(interaction(1, {1: "a", 2: "a"}, click("3")), interaction(2, {}))
    text = text.replace("</log>", '<session num="2"></session></log>')
    with pytest.warns(CranfieldWarning) as warned:
        sessions = read_sessions(written(tmp_path, text))
    said = " ".join(str(one.message) for one in warned)
    assert "1 click excluded: no such result" in said
    assert "1 document repeated in one list" in said
    assert "1 session without queries, such as '2'" in said
    counts = sessions.counts
    assert (counts.n_lost_clicks, counts.n_repeated_in_list, counts.n_empty_lists) == (1, 1, 1)
    assert counts.without_queries == counts.without_topic == ("2",)
    assert repr(sessions).endswith(
        "0 clicks; 1 session without a topic, 1 session without a query, 1 empty list,"
        " 1 document repeated in one list, 1 click without a result)"
    )


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("<log>\n<session num='1'>\n</log>", 3, "not well-formed XML: mismatched tag"),
        ("<log>\n<a>&nbsp;</a></log>", 2, "not well-formed XML: undefined entity"),
        ("", 1, "not well-formed XML: no element found"),
        ("<log/>", None, "expected at least one session, got none"),
        ("<log>\n<session/></log>", 2, "expected an attribute num of the session, got none"),
        ("<log><session num='1'/>\n<session num='1'/></log>", 2, "session '1' occurs twice"),
        (log("\n", interaction(1, {}), "\n", interaction(1, {})), 3, "query '1' occurs twice"),
        (log(interaction(0, {})), 1, "query number must be a positive integer, got '0'"),
        (log(interaction(1, {1: "a"}), "\n", RESULT.format(1, "b")), 2, "rank '1' occurs twice"),
        (log(interaction(1, {1: " "})), 1, "result 1 has no document"),
        (log("<result/>"), 1, "expected an attribute rank of the result, got none"),
        (log(interaction(1, {1: "a"}, click("one"))), 1, "a positive integer, got 'one'"),
        (log(interaction(1, {1: "a"}, click(""))), 1, "must have a rank or a document"),
        (log(interaction(1, {1: "a"}, click("1", "noon"))), 1, "got 'noon'"),
        (within("<result rank='1'><result rank='2'/></result>"), 1, "inside a result"),
        (within("<result rank='1'><interaction num='2'/></result>"), 1, "inside a result"),
        (within("<click><click/></click>"), 1, "inside a click"),
        (within("<result rank='٣'><docno>a</docno></result>"), 1, "positive integer"),
        ('<!DOCTYPE log [\n<!ENTITY a "aaaa">\n]><log/>', 2, "declares entities"),
        (f"<!DOCTYPE log [\n<!ENTITY a {PASSWD}>\n]><log>&a;</log>", 2, "declares entities"),
        (f"<!DOCTYPE log [<!ENTITY % a {PASSWD}> %a;]><log/>", 1, "declares entities"),
    ],
)
def test_wrong_xml_is_refused_by_line(
    tmp_path: Path, text: str, line: int | None, reason: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_sessions(path)
    assert reason in str(error.value)
    assert (error.value.source, error.value.line) == (path, line)


ROWS = [
    {"system": "x", "session": "s", "topic": "t", "query": 1, "rank": 2, "doc": "b"},
    {"system": "x", "session": "s", "topic": "t", "query": 1, "rank": 1, "doc": "a"},
    {"system": "y", "session": "s", "topic": "t", "query": 3, "rank": 1, "doc": "c"},
]
CLICKS = [{"system": "x", "session": "s", "query": 1, "rank": 2, "time": 1}]


def same(one: Sessions) -> None:
    rows = one.results.select("system", "query", "rank", "doc").rows()
    assert rows == [(0, 1, 1, "a"), (0, 1, 2, "b"), (1, 3, 1, "c")]
    assert one.clicks.select("system", "query", "rank").rows() == [(0, 1, 2)]
    assert (one.names, one.topics, one.systems) == (("s",), ("t",), ("x", "y"))


def test_tables_of_all_kinds_are_the_same(tmp_path: Path) -> None:
    frame, clicks = pl.DataFrame(ROWS), pl.DataFrame(CLICKS)
    same(read_sessions(frame, clicks=clicks))
    same(read_sessions(frame.to_dict(as_series=False), clicks=clicks.lazy()))
    same(read_sessions(frame.to_pandas(), clicks=clicks.to_pandas()))
    for suffix in (".csv", ".tsv", ".parquet", ".csv.gz"):
        paths = [tmp_path / f"{name}{suffix}" for name in ("results", "clicks")]
        for path, table in zip(paths, (frame, clicks), strict=True):
            if "csv" in suffix or "tsv" in suffix:
                text = table.write_csv(separator="\t" if "tsv" in suffix else ",").encode()
                path.write_bytes(gzip.compress(text) if "gz" in suffix else text)
            else:
                table.write_parquet(path)
        same(read_sessions(paths[0], clicks=str(paths[1])))


@pytest.mark.filterwarnings("ignore:.*are tied with another result")
def test_scores_become_ranks_and_named_queries_numbers() -> None:
    rows = {
        "session": [*"ssss"],
        "query": [*"zaza"],
        "score": [1.0, 0.5, 2.0, 0.5],
        "doc": [*"acbd"],
    }
    sessions = read_sessions(rows, clicks=[{"session": "s", "query": "a", "rank": 1}])
    by_rank = [(1, 1, "b"), (1, 2, "a"), (2, 1, "d"), (2, 2, "c")]
    assert sessions.results.select("query", "rank", "doc").rows() == by_rank
    assert sessions.clicks.select("query", "rank").rows() == [(2, 1)]


def test_clicks_on_no_result_are_counted() -> None:
    lost = [CLICKS[0] | change for change in ({"query": 9}, {"session": "?"}, {"system": "?"})]
    with pytest.warns(CranfieldWarning, match="3 clicks excluded: no such result"):
        assert read_sessions(ROWS, clicks=[*CLICKS, *lost]).n_lost_clicks == 3


def test_clicks_are_on_the_document_that_they_name() -> None:
    rows = [{"session": "s", "query": 1, "rank": k + 1, "doc": d} for k, d in enumerate("abcd")]
    click = {"session": "s", "query": 1}
    clicks = [click | {"rank": rank, "doc": doc} for rank, doc in ((1, "c"), (4, "d"), (2, "b"))]
    with pytest.warns(
        CranfieldWarning,
        match="1 click counted at the rank of the document, which differs",
    ):
        sessions = read_sessions(rows, clicks=clicks)
    assert sessions.clicks["rank"].to_list() == [3, 4, 2]
    # A document of no list, and no document.
    with pytest.warns(CranfieldWarning, match="1 click excluded: no such result"):
        lost = read_sessions(rows, clicks=[click | {"rank": 1, "doc": d} for d in ("x", None)])
    assert lost.clicks["rank"].to_list() == [1] and lost.n_lost_clicks == 1


def test_topics_of_sessions(tmp_path: Path) -> None:
    path = written(tmp_path, "33\t7\n\n99 8\n", "map.txt")
    assert read_session_topics(path) == {"33": "7", "99": "8"}
    assert read_sessions(XML, topics=path).topics == ("7", "40")
    frame = pl.DataFrame({"session": [33], "topic": [7]})
    assert read_sessions(XML, topics=frame).topics == ("7", "40")
    path = written(tmp_path, "s 1\tt1\ns2\tt2\t\ns3 t3\n")
    assert read_session_topics(path) == {"s 1": "t1", "s2": "t2", "s3": "t3"}


def test_numbers_of_queries_are_positions() -> None:
    rows = {"session": ["s", "s", "t", "t"], "rank": [1] * 4, "doc": list("abcd")}
    with pytest.warns(CranfieldWarning, match="positions in the session, but the lowest is 2"):
        sessions = read_sessions(pl.DataFrame({**rows, "query": [2, 3, 9, 10]}))
    assert sessions.queries["query"].to_list() == [2, 3, 9, 10]
    read_sessions(pl.DataFrame({**rows, "query": [1, 2, 1, 3]}))
    # Other names are numbered in the order of rows.
    sessions = read_sessions(pl.DataFrame({**rows, "query": ["q9", "q10", "q9", "q10"]}))
    assert sessions.queries["query"].to_list() == [1, 2, 1, 2]


@pytest.mark.parametrize("name", ["clicks", "clicked", "is_click"])
def test_rows_with_0_in_a_column_of_clicks_are_not_clicks(name: str) -> None:
    rows = {"session": ["s", "s"], "query": [1, 1], "rank": [1, 2], "doc": ["a", "b"]}
    clicks = {"session": ["s", "s"], "query": [1, 1], "rank": [1, 2]}
    counts = [0, 1] if name == "clicks" else [False, True]
    sessions = read_sessions(rows, clicks={**clicks, name: counts})
    assert sessions.clicks["rank"].to_list() == [2]


def _lists(header: str, *lines: str) -> pl.DataFrame:
    rows = [line.split() for line in lines]
    names = ["session", "query", *header.split()]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(pl.col("^(rank|score)$").cast(pl.Float64))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            _lists("doc rank", "s 1 a 2", "s 1 b 3", "s 2 a 1"),
            "1 rank missing, such as rank 1 of session 's, query 1'",
        ),
        (
            _lists("doc rank score", "s 1 a 1 .1", "s 1 b 2 .9"),
            r"ranks contradict the scores \(1 contradiction\); results of sessions are ordered by",
        ),
        (_lists("doc score", "s 1 a 1", "s 1 b 1", "s 2 a 1"), "2 of 3 results are tied with"),
        (
            _lists("doc score", *(f"s {q} d{k} {k}" for q in (1, 2) for k in (1, 2, 3))),
            "in the order of the file, the scores of no list ever fall",
        ),
        (
            _lists("doc rank", *(f"s 31_{q} d{q} 1" for q in (1, 10, 2))),
            r"contradicts the numbers in their ids \('31_10' before '31_2'\)",
        ),
        (
            _lists("doc rank time", "s cats a 1 2026-03-01T10:05", "s dogs b 1 2026-03-01T10:04"),
            r"the order of queries contradicts their times \('cats' before 'dogs'\)",
        ),
        (_lists("doc rank ts", "s 1 a 1 9", "s 2 b 1 8"), r"their times \('1' before '2'\)"),
        (_lists("doc rank time", "s 1 a 1 noon"), "column of times not used, because no"),
    ],
)
def test_doubtful_orders_of_lists_are_reported(frame: pl.DataFrame, message: str) -> None:
    with pytest.warns(CranfieldWarning, match=message):
        read_sessions(frame)


def test_usual_orders_of_lists_are_not_reported() -> None:
    with collect_warnings() as warnings:
        read_sessions(_lists("doc rank score", "s 1 a 1 .9", "s 1 b 2 .9", "s 2 a 1 .3"))
        read_sessions(_lists("doc score", "s 1 a 2", "s 1 b 1", "s 2 a 1", "s 2 b 3"))
        read_sessions(_lists("doc rank", "s 1 b 2", "s 1 a 1", "s 2 a 1"))
        read_sessions(_lists("doc rank", *(f"s 31_{q} d{q} 1" for q in (1, 2, 10))))
        read_sessions(_lists("doc rank time", "s a a 1 9", "s a b 2 7", "s b c 1 8", "t b c 1 1"))
        read_sessions(_lists("doc rank time ts", "s a a 1 1 9", "s b c 1 - 8"))
        read_sessions(_lists("doc rank", *(f"s {q} {q} 1" for q in ("ab12", "f3", "77b1"))))
    assert warnings == []


def test_texts_of_queries_and_turns() -> None:
    rows = {"session": ["s", "s"], "query": ["x", "x"], "rank": [1, 1], "doc": ["a", "b"]}
    for name in ("query_id", "turn", "qnum"):
        assert read_sessions({**rows, name: [1, 2]}).queries["query"].to_list() == [1, 2]


def test_clicks_may_name_documents_instead_of_ranks(tmp_path: Path) -> None:
    rows = [{"session": "s", "query": 1, "rank": k + 1, "doc": d} for k, d in enumerate("abc")]
    clicks = [{"session": "s", "query": 1, "doc": doc} for doc in "cb"]
    with collect_warnings() as warnings:
        assert read_sessions(rows, clicks=clicks).clicks["rank"].to_list() == [3, 2]
    assert warnings == []
    paths = [tmp_path / "log.jsonl", tmp_path / "clicks.json"]
    paths[0].write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths[1].write_text(json.dumps(clicks))
    assert read_sessions(paths[0], clicks=paths[1]).clicks["rank"].to_list() == [3, 2]
