"""The command `online preference`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from scipy.stats import binomtest

from cranfield.online import preference, preference_matrix, read_log
from tests.cli.running import cranfield, refusals, refused

FIELDS = ("page", "query", "user", "rank", "doc", "team", "clicked")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two and of three rankers, of eight pages of four users."""
    folder = tmp_path_factory.mktemp("logs")
    for name, teams in (("two", "ab"), ("three", "abc")):
        rows = [
            (f"p{page}", "q", f"u{page % 4}", rank, f"d{rank}", team, int(rank == 1 + page % 3))
            for page in range(8)
            for rank, team in enumerate(teams, 1)
        ]
        frame = pl.DataFrame(rows, schema=FIELDS, orient="row")
        frame.write_csv(folder / f"{name}.csv")
    return folder


def test_it_says_what_the_library_says(logs: Path) -> None:
    out, err = cranfield(logs, "online", "preference", "two.csv", "--unit", "user", "--seed", "3")
    assert err == ""
    found = preference(read_log(logs / "two.csv"), "user", seed=3)
    assert str(found) in out
    assert found.verdict in out
    more = ("--rankers", "b,a", "--clicks", "first", "--format", "json")
    out, _ = cranfield(logs, "online", "preference", "two.csv", "--unit", "user", *more)
    turned = preference(read_log(logs / "two.csv"), "user", names=("b", "a"), clicks="first")
    said = json.loads(out)
    assert (said["wins"], said["losses"], said["pvalue"]) == (
        turned.wins,
        turned.losses,
        turned.pvalue,
    )
    assert said["preference"][1]["value"] == pytest.approx(turned.delta)


def test_three_rankers_are_a_table_of_pairs(logs: Path) -> None:
    more = ("--unit", "user", "--format", "csv", "--table", "pairs", "--correction", "bh")
    out, _ = cranfield(logs, "online", "preference", "three.csv", *more)
    made = preference_matrix(
        read_log(logs / "three.csv"), "user", correction="bh", resamples=10_000
    )
    assert pl.read_csv(out.encode()).equals(made.to_polars())


def test_a_correction_of_one_pair_has_no_effect(logs: Path) -> None:
    start = ("online", "preference", "two.csv", "--unit", "user")
    _, err = cranfield(logs, *start, "--correction", "bh")
    assert "setting correction has no effect: there is only one pair of rankers" in err
    refused(logs, *start, "--rankers", "a,z", reason="unknown ranker 'z'; expected one of: a, b\n")


def test_counts_need_no_log(logs: Path) -> None:
    out, _ = cranfield(logs, "online", "preference", "--counts", "40,109,374", "--expected", "0.28")
    assert "p 0.8339" in out
    assert re.search(r"Delta +impression +-0\.0660", out)


def test_counts_have_exact_intervals(logs: Path) -> None:
    more = ("--format", "csv", "--table", "preference")
    out, _ = cranfield(logs, "online", "preference", "--counts", "60,40,10", *more)
    rows = pl.read_csv(out.encode())
    exact = binomtest(60, 100).proportion_ci(method="exact")
    assert rows.select("low", "high").row(0) == pytest.approx(tuple(exact), abs=1e-12)
    assert rows["p"].to_list() == pytest.approx([binomtest(60, 100).pvalue] * 2)
    _, err = cranfield(logs, "online", "preference", "--counts", "1,2", "--seed", "1", status=2)
    assert "setting seed requires LOG" in err


@refusals(
    """
 | expected LOG
two.csv | users have several pages (4 users, 8 pages)
two.csv --unit shop | '--unit': 'shop' is not one of 'user', 'session'
two.csv --unit user --rankers a,c | unknown ranker 'c'
two.csv --unit user --table pairs | pairs
two.csv --unit user --table strengths | --table strengths requires --votes
three.csv --unit user --expected 0.3 | setting expected requires two rankers
two.csv --unit user --correction tukey | correction: 'tukey' is not one of 'none', 'bonferroni'
--votes two.csv --rankers a,b | --votes cannot be combined with setting rankers
three.csv --unit user --clicks dwell | clicks weighted by dwell time requires column 'dwell' of
--counts 1 | --counts must be
--counts 0,0,0 | at least one impression
two.csv --counts 1,2,3 | cannot be combined with LOG
two.csv --unit user -o two.csv | two.csv
"""
)
def test_wrong_questions(logs: Path, words: list[str], reason: str) -> None:
    refused(logs, "online", "preference", *words, reason=reason)
