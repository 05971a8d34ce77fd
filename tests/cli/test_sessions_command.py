"""`cranfield sessions`: what it reads, writes and refuses."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.cli.running import cranfield, refusals, refused

QRELS = "t 0 a 1\nt 0 b 2\nt 0 c 0\nu 0 d 1\n"
RESULTS = """session,topic,query,rank,doc
s,t,1,1,c
s,t,1,2,a
s,t,2,1,a
s,t,2,2,b
r,u,1,1,d
"""
CLICKS = "session,query,rank\ns,2,2\n"
LENGTHS = "a 1000\nb 2000\nd 500\n"
XML = """<sessiontrack2013><session num="s"><topic num="t"/>
<interaction num="1"><query>x</query><results><result rank="1"><docno>c</docno></result>
<result rank="2"><docno>a</docno></result></results></interaction>
<currentquery><query>y</query></currentquery></session></sessiontrack2013>
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, content in {
        "qrels": QRELS,
        "sessions.csv": RESULTS,
        "clicks.csv": CLICKS,
        "lengths": LENGTHS,
        "log.xml": XML,
        "a.run": "s Q0 b 1 2 A\ns Q0 c 2 1 A\n",
        "b.run": "s Q0 c 1 1 B\ns Q0 b 2 1 B\n",
    }.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def cells(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines() if line.strip() and "─" not in line]


def test_a_table(log: Path) -> None:
    out, err = cranfield(log, "sessions", "qrels", "sessions.csv", "-m", "RR", "-m", "P@3", "-q")
    # One after the other, and each document once: c, a, b.
    assert cells(out) == [
        ["session", "system", "RR", "P@3"],
        ["r", "log", "1.0000", "0.3333"],
        ["s", "log", "0.5000", "0.6667"],
        ["all", "log", "0.7500", "0.5000"],
    ]
    assert err == ""
    out, _ = cranfield(log, "sessions", "qrels", "sessions.csv", "-f", "csv")
    assert out.splitlines()[0] == "system,sDCG@10,nsDCG@10"


def test_how_lists_are_put_together(log: Path) -> None:
    start = ("sessions", "qrels", "sessions.csv", "-m", "NumRet", "-m", "NumRelRet", "-f", "csv")
    for more, counts in {
        (): "4.0,3.0",
        ("--duplicates", "keep"): "5.0,4.0",
        ("--depth", "1"): "3.0,2.0",
        ("--until-click", "--clicks", "clicks.csv"): "2.0,2.0",
        ("-l", "2"): "4.0,1.0",
        ("--unjudged", "condensed"): "4.0,3.0",
    }.items():
        assert cranfield(log, *start, *more)[0].splitlines()[1] == f"log,{counts}", more


def test_clicks(log: Path) -> None:
    start = ("sessions", "qrels", "sessions.csv", "--clicks", "clicks.csv", "-q", "-f", "json")
    out, _ = cranfield(log, *start, "-m", "ClickU", "--lengths", "lengths")
    topics = json.loads(out)["systems"]["log"]["topics"]
    same = cranfield(log, *start, "-m", "ClickU(length=2000)")[0]
    assert topics["s"]["ClickU"] > 0
    assert topics["r"]["ClickU"] == 0
    assert json.loads(same)["systems"]["log"]["topics"]["s"] == {
        "ClickU(length=2000)": topics["s"]["ClickU"]
    }
    settings = json.loads(out)["settings"]
    assert (settings["duplicates"], settings["until_click"]) == ("first", False)


def test_a_log_and_runs_that_follow_it(log: Path) -> None:
    out, _ = cranfield(log, "sessions", "qrels", "log.xml", "-m", "RR", "-f", "csv")
    assert out == "system,RR\nlog,0.5\n"
    start = ("sessions", "qrels", "log.xml", "a.run", "b.run", "-m", "NumRet", "-m", "DCG")
    # c and a, then of either run b alone is new.
    value = 1 / log2(3) + 2 / log2(4)
    assert cells(cranfield(log, *start)[0]) == [
        ["system", "NumRet", "DCG"],
        ["A", "3.0000", f"{value:.4f}"],
        ["B", "3.0000", f"{value:.4f}"],
    ]
    # Of each list only the first: the history has c; B ties b and c.
    one = ("sessions", "qrels", "log.xml", "b.run", "--depth", "1", "--duplicates", "keep")
    first = (*one, "-m", "RR", "-f", "csv")
    assert cranfield(log, *first)[0] == "system,RR\nB,0.0\n"
    assert cranfield(log, *first, "--ties", "id-ascending")[0] == "system,RR\nB,0.5\n"


def test_topics_from_a_file(log: Path) -> None:
    bare = "".join(
        ",".join(line.split(",")[:1] + line.split(",")[2:]) + "\n" for line in RESULTS.splitlines()
    )
    (log / "bare.csv").write_text(bare)
    (log / "map").write_text("s t\nr u\n")
    _, err = cranfield(log, "sessions", "qrels", "bare.csv", status=2)
    assert err.startswith("cranfield: error: bare.csv: expected sessions with judged topics")
    start = ("-m", "RR", "-f", "csv")
    out, _ = cranfield(log, "sessions", "qrels", "bare.csv", "--session-topics", "map", *start)
    assert out == "system,RR\nlog,0.75\n"


def test_output(log: Path) -> None:
    start = ("sessions", "qrels", "sessions.csv", "-m", "RR")
    assert r"log & " in cranfield(log, *start, "-f", "latex", "--caption", "Sessions")[0]
    assert cranfield(log, *start, "-f", "parquet", "-o", "x.parquet") == ("", "")
    assert pl.read_parquet(log / "x.parquet").rows() == [("log", 0.75)]


@refusals(
    """
qrels nowhere.csv | nowhere.csv: cannot be read: no such file
qrels sessions.csv -m nsDGC | unknown measure
qrels sessions.csv -m ClickU | ClickU:
qrels sessions.csv --clicks lengths | lengths
qrels log.xml --clicks clicks.csv | log.xml: has its own clicks
qrels sessions.csv --ties input | setting ties requires RUN
- - | only one file can be standard input
qrels log.xml qrels | expected 6 columns
qrels sessions.csv --depth 0 | depth: 0 is not in the range
qrels sessions.csv -f parquet | --format parquet requires --output
qrels | Missing argument 'SESSIONS'
"""
)
def test_errors(log: Path, words: list[str], reason: str) -> None:
    clicks = ("--clicks", "clicks.csv") if "ClickU" in words else ()
    refused(log, "sessions", *words, *clicks, reason=reason)


def test_help(log: Path) -> None:
    out, _ = cranfield(log, "sessions", "--help")
    assert "cranfield sessions qrels.txt sessions.xml -m nsDCG@10" in out


def test_the_scale_of_grades_is_that_of_python(log: Path) -> None:
    command = ("sessions", "qrels", "sessions.csv", "-m", "ERR")
    out, err = cranfield(log, *command, "--max-grade", "4", "-f", "json")
    assert err == ""
    value = json.loads(out)["systems"]["log"]["overall"]["ERR"]
    found = cf.evaluate_sessions(log / "sessions.csv", log / "qrels", "ERR", max_grade=4)
    assert value == pytest.approx(found["ERR"].overall()[0])
    _, err = cranfield(log, *command)
    assert "with max-grade: 2" in err
