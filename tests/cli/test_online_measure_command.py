"""`cranfield online measure`: tables of measures and times, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import cranfield as cf
from tests.cli.running import cranfield, refusals, refused


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    (tmp_path / "pages.csv").write_text(
        "page,query,user,time,variant\n"
        "p1,cats,u,2026-03-01T10:00:00Z,a\np2,cats food,u,2026-03-01T10:01:00Z,a\n"
        "p3,dogs,v,2026-03-01T11:00:00Z,b\np4,<b>dogs</b>,v,2026-03-01T15:00:00Z,b\n"
    )
    rows = [f"{page},{rank},d{rank}" for page in ("p1", "p2", "p3", "p4") for rank in (1, 2)]
    (tmp_path / "results.csv").write_text("\n".join(["page,rank,doc", *rows]))
    (tmp_path / "clicks.csv").write_text(
        "page,rank,time,dwell\np2,2,2026-03-01T10:01:20Z,40\np3,1,2026-03-01T11:00:10Z,5\n"
    )
    (tmp_path / "labels.csv").write_text("page,label\np1,good\np4,bad\n")
    return tmp_path


TABLES = ("pages.csv", "results.csv", "clicks.csv")


def test_values_are_those_of_the_library(logged: Path) -> None:
    out, err = cranfield(logged, "online", "measure", *TABLES, "--format", "json")
    assert err == ""
    log = cf.online.read_log(*(logged / name for name in TABLES))
    found = cf.online.measure(log).to_polars()
    assert json.loads(out)["measures"] == found.to_dicts()


def test_a_second_table_is_results_or_clicks_by_what_it_holds(logged: Path) -> None:
    command = ("online", "measure", "pages.csv")
    out, err = cranfield(logged, *command, "results.csv")
    assert "8 results, clicks unknown" in out and "UCTR" not in out
    assert "results.csv: is read as results, because it has all ranks of its pages" in err
    out, err = cranfield(logged, *command, "clicks.csv", "-m", "UCTR")
    assert "UCTR     0.5000" in out and err == ""
    for one in ("results", "clicks"):
        out, err = cranfield(logged, *command, f"{one}=results.csv")
        assert f"8 {one}" in out and err == ""
    swapped = ("clicks=clicks.csv", "results=results.csv", "-m", "CTR")
    out, _ = cranfield(logged, *command, *swapped)
    assert "CTR      0.2500" in out


def test_clicks_on_first_results_are_clicks(logged: Path) -> None:
    (logged / "clicks.csv").write_text("page,rank,doc\np1,1,d1\np2,1,d1\n")
    out, err = cranfield(logged, "online", "measure", "pages.csv", "clicks.csv", "-m", "UCTR")
    assert "UCTR     0.5000" in out and err == ""


def test_by_query_and_variant(logged: Path) -> None:
    out, _ = cranfield(
        logged, "online", "measure", *TABLES, "-m", "CTR", "--by", "query", "--by", "variant",
        "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["query"] for row in rows] == ["<b>dogs</b>", "cats", "cats food", "dogs"]
    assert [row["value"] for row in rows] == ["0.0", "0.0", "0.5", "0.5"]
    out, _ = cranfield(
        logged, "online", "measure", *TABLES, "-m", "CTR", "--by", "query", "--format", "html"
    )
    assert "<b>dogs" not in out
    assert "&lt;b&gt;dogs" in out


@pytest.mark.parametrize("form", ["text", "csv", "json", "html"])
def test_what_has_no_variant_is_told_in_every_format(logged: Path, form: str) -> None:
    pages = (logged / "pages.csv").read_text()
    (logged / "pages.csv").write_text(pages.replace("</b>,v,2026-03-01T15:00:00Z,b", "</b>,v,,"))
    command = ("online", "measure", *TABLES, "-m", "CTR", "--by", "variant", "--format", form)
    out, err = cranfield(logged, *command)
    assert "1 page excluded: no variant" in (err if form == "csv" else out)


def test_times_and_sessions(logged: Path) -> None:
    out, _ = cranfield(
        logged, "online", "measure", *TABLES, "--session-timeout", "30m", "--survival",
        "-m", "AbsenceTime", "-m", "TimeToClick", "-m", "QueriesPerSession",
    )  # fmt: skip
    assert "QueriesPerSession" in out
    assert "Kaplan-Meier" in out
    assert "Log-rank tests (Holm)" in out
    assert "TimeToClick: mean of 2 pages, biased because 2 others (50.0%) are censored" in out


def test_times_that_are_nothing_beside_times_that_are_something(logged: Path) -> None:
    (logged / "pages.csv").write_text("page,query,user,time\np1,a,u,100\np2,a,u,200\n")
    (logged / "results.csv").write_text("page,rank,doc\np1,1,x\np2,1,x\n")
    (logged / "clicks.csv").write_text("page,rank,time,dwell\np1,1,110,1\np2,1,230,1\n")
    out, _ = cranfield(
        logged, "online", "measure", *TABLES, "--session-timeout", "30s", "--survival",
        "-m", "TimeToSAT", "-m", "AbsenceTime", "-m", "TimeToClick",
    )  # fmt: skip
    assert "Kaplan-Meier" in out


def test_labels_and_list(logged: Path) -> None:
    out, _ = cranfield(
        logged, "online", "measure", *TABLES, "-m", "GoodAbandonment", "--labels", "labels.csv"
    )
    assert "GoodAbandonment  0.5000" in out
    listed, _ = cranfield(logged, "online", "measure", "--list", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(listed)))
    assert [row["measure"] for row in rows] == cf.online.catalogue()["measure"].to_list()


@refusals(
    """
 | expected LOG
pages.csv results.csv clicks.csv -m CTRR | did you mean CTR
pages.csv results.csv clicks.csv -m CTR@x | cutoff
pages.csv results.csv clicks.csv -m ClickRR@3 | ClickRR cannot have a cutoff
pages.csv results.csv clicks.csv -m SATRate(seconds=-1) | seconds must be a number >= 0
pages.csv results.csv clicks.csv -m QueriesPerSession | QueriesPerSession requires column 'session'
pages.csv results.csv clicks.csv -m GoodAbandonment | requires column 'label' of pages
pages.csv clicks.csv -m CTR | CTR requires the results of pages
pages.csv results=results.csv -m UCTR | UCTR requires clicks, but the log has no table
pages.csv --log-format tables -m Abandonment | Abandonment requires clicks, but the log has no table
--list pages.csv | LOG cannot be combined with --list
--list -m CTR | --measure cannot be combined with --list
pages.csv clicks=clicks.csv clicks=results.csv | expected a log in one file
pages.csv results.csv clicks.csv -m QueriesPerUser --by query | is a measure of users and cannot be
pages.csv results.csv clicks.csv --by session | requires the column session of pages
pages.csv results.csv clicks.csv -m CTR --survival | --survival requires a measure of time
pages.csv results.csv clicks.csv --table survival | --table survival requires --survival
pages.csv results.csv clicks.csv -o pages.csv | would overwrite an input file
pages.csv results.csv clicks.csv clicks.csv | expected a log in one file
pages.csv results.csv results.csv | distinct files, got results.csv twice
pages.csv clicks.csv -m TimeToSAT --labels clicks.csv | label
"""
)
def test_what_is_refused(logged: Path, words: list[str], reason: str) -> None:
    refused(logged, "online", "measure", *words, reason=reason)


@pytest.mark.parametrize(
    "log",
    [
        "7\t0\tQ\t1\t6\t11\t12\n7\t9\tC\t12\n",
        '{"page":1,"query":"q","results":[{"doc":"a","clicks":0},{"doc":"b","clicks":1}]}\n',
        '[{"page":1,"query":"q","results":[{"doc":"a","clicks":0},{"doc":"b","clicks":1}]}]',
    ],
)
def test_logs_on_standard_input(tmp_path: Path, log: str) -> None:
    command = ("online", "measure", "-", "-m", "CTR", "-f", "csv")
    out, _ = cranfield(tmp_path, *command, stdin=log.encode())
    assert "CTR,0.5,page" in out
    _, err = cranfield(tmp_path, *command, stdin=b"page,query\n1,q\n", status=2)
    assert "standard input: is not a log of a known format; a table with a header must be" in err


def test_a_table_of_totals_is_referred_to_its_option(tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text("query,doc,impressions,clicks\nq1,d1,10,2\n")
    for command in ("measure", "train"):
        _, error = cranfield(tmp_path, "online", command, "totals.csv", status=2)
        assert "has no page column" in error
        assert "`online measure --totals` reads totals" in error
