"""Histories: the records of a public board, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError, PolicyError
from cranfield.campaign.results.history import mark_records
from tests.campaign.results.made import scored

BOARD = Path(__file__).parents[2] / "data" / "campaign" / "msmarco-doc-leaderboard.csv"


def test_the_records_of_the_board_are_those_with_a_cup() -> None:
    rows = pl.read_csv(BOARD, infer_schema=False)
    cups = rows.filter(rows.to_series(2) == "🏆")
    found = cf.campaign.history(BOARD, "MRR@100 (Eval)", columns={"entry": "id"})
    assert (
        found.select_records()["entry"].to_list()
        == cups.sort("date", maintain_order=True)["id"].to_list()
    )
    assert found.select_records().height == 17
    assert found.frame.height == 117
    assert repr(found) == "History(MRR@100 (Eval): 117 entries, 17 records)"
    assert found.frame["own"].sum() == 3
    assert str(found).startswith("MRR@100 (Eval): 17 records\n")
    assert str(found.tables("entries")[0]).startswith("MRR@100 (Eval): 117 entries\n")
    assert found.to_polars("records").equals(found.select_records())
    with pytest.raises(PolicyError, match="unknown table 'x'; expected one of: entries, records"):
        found.tables("x")


def test_a_measure_may_begin_the_name_of_one_column(tmp_path: Path) -> None:
    with pytest.raises(
        PolicyError,
        match=r"begin with MRR@100; choose one by its full name: 'MRR@100 \(Dev\)', 'MRR@100 ",
    ):
        cf.campaign.history(BOARD, "MRR@100")
    path = tmp_path / "board.csv"
    path.write_text("day,model,AP,ap\n2024-01-01,a,0.5,0.3\n")
    assert cf.campaign.history(path, "ap").frame["score"].to_list() == [0.3]
    path.write_text("day,model,nDCG@10 (test)\n2024-01-01,a,0.5\n2024-02-01,b,\n")
    found = cf.campaign.history(path, "nDCG@10")
    assert found.select_records().select("entry", "score").rows() == [("a", 0.5)]
    assert found.notes == (
        "nDCG@10 is read from the column 'nDCG@10 (test)'",
        "1 of 2 entries has no score and is excluded",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "day,model,AP\n2024-13-01,a,0.5\n",
            "board.csv:2: expected a date such as 2026-08-15, got '2024-13-01'",
        ),
        ("day,model,AP\nsoon,a,0.5\n", "board.csv:2: expected a date such as 2026-08-15, got 'so"),
        ("day,model,AP\n2024-01-01,a,high\n", "board.csv:2: AP 'high' is not a finite number"),
        ("day,model,tag,AP\n2024-01-01,a,b,1\n", "2 columns for the entry: 'model' and 'tag'"),
        ("model,AP\na,0.5\n", "has no date column (usual names: date"),
        ("day,model\n2024-01-01,a\n", "has no column 'AP'; columns: 'day', 'model'"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "board.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        cf.campaign.history(path, "AP")
    assert said in str(refused.value)


def test_scores_of_different_collections_are_refused_with_the_reason(tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("day,model,AP\n2024-01-01,a,0.5\n")
    with pytest.raises(PolicyError, match="of 2 collections .* differ in difficulty"):
        cf.campaign.history([tmp_path / "one.csv", tmp_path / "two.csv"], "AP")
    with pytest.raises(
        PolicyError, match="no scores by topic, so its scores cannot be standardised"
    ):
        cf.campaign.history(tmp_path / "one.csv", "AP", standardised=True)
    with pytest.raises(InputError, match="no file matches the pattern"):
        cf.campaign.history(str(tmp_path / "none*.csv"), "AP")
    with pytest.raises(PolicyError, match="unknown column 'colour'"):
        cf.campaign.history(tmp_path / "one.csv", "AP", columns={"colour": "x"})


def test_campaigns_are_sources(tmp_path: Path) -> None:
    tags = ("r0", "r1", "r2")
    first, second = (scored(tmp_path / f"c{k}", tags, 10 * k, str(k)) for k in range(2))
    found = cf.campaign.history(first.folder, "AP")
    scores = first.score(measures=["AP"])["AP"]
    assert dict(found.frame.select("entry", "score").rows()) == dict(
        zip(scores.systems, scores.mean().tolist(), strict=True)
    )
    # All came on one day: the best of it.
    assert found.select_records()["entry"].to_list() == [
        scores.systems[int(scores.mean().argmax())]
    ]
    both = [first.folder, second.folder]
    with pytest.raises(PolicyError, match="2 collections"):
        cf.campaign.history(both, "AP")
    standardised = cf.campaign.history(both, "AP", standardised=True)
    assert standardised.frame.height == 6
    assert standardised.frame.group_by("collection").agg(pl.col("score").sum().round(9))[
        "score"
    ].to_list() == [0.0, 0.0]
    assert standardised.notes[0].startswith("scores are standardised by the runs of each campaign")


def test_releases_are_sources_until_they_are_retracted(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "012")
    campaign.release("adhoc")
    releases = str(campaign.folder / "releases" / "*")
    columns = ("date", "entry", "team", "score", "record", "collection")
    for standardised in (False, True):
        own, released = (
            cf.campaign.history(one, "AP", standardised=standardised).frame.sort("entry")
            for one in (campaign.folder, releases)
        )
        assert released.select(columns).equals(own.select(columns))
    with pytest.raises(
        PolicyError, match="has no scores by ERR; expected one of: AP, nDCG@10, P@5"
    ):
        cf.campaign.history(releases, "ERR")
    about = campaign.folder / "releases/adhoc-1/data/about.json"
    data = about.read_bytes()
    for damaged in (data[:-9], b"\xff"):
        about.write_bytes(damaged)
        with pytest.raises(InputError, match=r"about\.json: cannot be read: .+") as error:
            cf.campaign.history(releases, "AP")
        assert "\n" not in str(error.value)
    about.write_bytes(data)
    campaign.retract("adhoc-1", "a mistake")
    with pytest.warns(CranfieldWarning, match="adhoc-1 was retracted and is excluded"):
        assert cf.campaign.history([releases, campaign.folder], "AP").frame.height == 3


def test_the_default_measure_is_the_first_of_the_rules_and_a_table_has_none(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "01")
    release = campaign.release("adhoc").path
    for source in (campaign.folder, release, [release, campaign.folder]):
        history = cf.campaign.history(source)
        assert history.measure == "AP"
        assert history.frame.equals(cf.campaign.history(source, "AP").frame)
    with pytest.raises(PolicyError, match=r"measure must name .* table .*board\.csv"):
        cf.campaign.history(BOARD)
    campaign.retract("adhoc-1", "a mistake")
    with pytest.warns(CranfieldWarning), pytest.raises(PolicyError, match="all sources are retr"):
        cf.campaign.history(release)


def test_runs_of_anonymous_teams_have_no_day(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "01")
    path = campaign.release("adhoc", anonymous=True).path
    with pytest.raises(InputError, match="adhoc-1: does not state when runs of anonymous teams"):
        cf.campaign.history(path, "AP")


@pytest.mark.parametrize("standardised", [False, True])
def test_runs_of_other_teams_have_days(tmp_path: Path, standardised: bool) -> None:
    campaign = scored(tmp_path / "c", "012")
    path = campaign.release("adhoc").path
    all_entries = cf.campaign.history(path, "AP", standardised=standardised).frame
    first, *others = all_entries["entry"]
    runs = pl.read_csv(path / "data/runs.csv", infer_schema=False)
    received = pl.when(pl.col("tag") == first).then("received").otherwise(pl.lit(""))
    runs.with_columns(received=received).write_csv(path / "data/runs.csv")
    history = cf.campaign.history(path, "AP", standardised=standardised)
    assert history.frame.drop("record").equals(all_entries[:1].drop("record"))
    assert history.select_records()["entry"].to_list() == [first]
    assert any(f"{len(others)} runs of anonymous teams are excluded" in n for n in history.notes)


def board(entries: Sequence[tuple[int, float, bool]]) -> pl.DataFrame:
    """Return entries of given days, scores and owners."""
    days, scores, own = zip(*entries, strict=True)
    columns = {
        "date": [date(2024, 1, 1) + timedelta(days=day) for day in days],
        "entry": [str(k) for k in range(len(entries))],
        "score": [float(score) for score in scores],
        "own": own,
    }
    return pl.DataFrame(columns | dict.fromkeys(("team", "source", "collection"), ""))


ENTRIES = st.tuples(st.integers(0, 4), st.integers(0, 5), st.booleans())


@given(st.lists(ENTRIES, min_size=1, max_size=12), st.booleans())
def test_records_one_by_one(entries: list[tuple[int, int, bool]], lower: bool) -> None:
    found = mark_records(board(entries), lower)
    records, best = [], None
    for day in sorted({day for day, _, _ in entries}):
        today = [(k, s, own) for k, (d, s, own) in enumerate(entries) if d == day]
        top = (min if lower else max)(s for _, s, _ in today)
        if best is None or (top < best if lower else top > best):
            best = top
            holders = [(k, own) for k, s, own in today if s == top]
            if not any(own for _, own in holders):
                records.append(str(holders[0][0]))
    assert found.filter("record")["entry"].to_list() == records


def test_equal_means_of_other_sums_are_no_records() -> None:
    frame = board([(0, 0.3, False), (1, 0.1 + 0.2, False), (2, 0.3 + 1e-9, False)])
    found = mark_records(frame)
    assert found.filter("record")["entry"].to_list() == ["0", "2"]
    assert found["score"].to_list() == frame["score"].to_list()


def test_low_scores_are_records_where_they_are_good(tmp_path: Path) -> None:
    campaign = scored(tmp_path / "c", "abc")
    found = cf.campaign.history(campaign.folder, "RBPResidual(p=0.8)")
    told = cf.campaign.history(campaign.folder, "RBPResidual(p=0.8)", lower_is_better=True)
    assert found.frame.equals(told.frame)
    first = found.frame["score"].min()
    assert found.frame.filter(pl.col("score") == first)["record"].any()
    assert found.notes == ("lower scores of RBPResidual(p=0.8) are better",)
    with pytest.raises(PolicyError, match="record that higher scores of AP are better"):
        cf.campaign.history(campaign.folder, "AP", lower_is_better=True)


def test_days_are_of_utc(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    times = ["2026-03-02T02:30:00+09:00", "2026-03-01T18:00:00Z", "2026-03-01 16:00:00 -0500"]
    rows = [f"{time},{score},{score}" for time, score in zip(times, (0.4, 0.35, 0.3), strict=True)]
    path.write_text("\n".join(["submitted_at,entry,AP", *rows, "2026-03-02,b,0.5"]))
    found = cf.campaign.history(path, "AP")
    assert found.frame["date"].to_list() == [date(2026, 3, 1)] * 3 + [date(2026, 3, 2)]
    assert found.select_records()["entry"].to_list() == ["0.4", "b"]


@pytest.mark.parametrize("type", [pl.Date, pl.Datetime])
def test_dates_of_parquet(tmp_path: Path, type: type[pl.DataType]) -> None:
    path = tmp_path / "board.parquet"
    days = pl.Series(["2024-01-02", "2024-01-01"]).str.to_date().cast(type)
    pl.DataFrame({"date": days, "entry": ["b", "a"], "AP": [0.6, 0.5]}).write_parquet(path)
    assert cf.campaign.history(path, "AP").select_records()["entry"].to_list() == ["a", "b"]


def test_columns_and_missing_scores_of_other_platforms(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text(
        "TeamName,model,LastSubmissionDate,AP\nx,a,2024-01-01 10:00:00,0.5\ny,b,2024-01-02,-\n"
        "z,c,2024-01-03,nan\nw,d,2024-01-04,0.6\n"
    )
    found = cf.campaign.history(path, "AP")
    assert found.select_records().select("entry", "team").rows() == [("a", "x"), ("d", "w")]
    assert found.notes == ("2 of 4 entries have no score and are excluded",)


def test_the_folder_that_one_is_in_is_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "board.csv").write_text("date,entry,nDCG@10\n2024-01-01,a,0.5\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        cf.campaign.history(".", "nDCG@10")


@pytest.mark.parametrize(
    ("column", "measure"), [("nDCG@100", "nDCG@10"), ("AP std error", "AP"), ("P@5 (Dev)", "P")]
)
def test_the_column_of_another_measure_is_refused(
    tmp_path: Path, column: str, measure: str
) -> None:
    path = tmp_path / "board.csv"
    path.write_text(f"day,model,{column}\n2024-01-01,a,0.5\n")
    with pytest.raises(InputError, match=f"has no column '{measure}'"):
        cf.campaign.history(path, measure)


def test_columns_that_may_exclude_entries_are_named(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    head = "day,model,AP,{}\n2024-01-01,a,0.5,{}\n2024-02-01,b,0.6,{}\n"
    for name, first, second in [
        ("status", "published", "withdrawn"),
        ("retracted", "", "true"),
        ("dataset", "dev", "test"),
        ("Challenge Phase", "dev", "test"),
        ("task", "passage", "document"),
        ("metric", "RR", "nDCG"),
        ("is_public", "True", "False"),
        ("Baseline", "yes", ""),
    ]:
        path.write_text(head.format(name, first, second))
        with pytest.warns(CranfieldWarning, match=rf"columns not used: '{name}' \("):
            assert cf.campaign.history(path, "AP").select_records().height == 2
    # One value for all entries, and another score.
    same = [("status", "final", "final"), ("open", "yes", "yes")]
    for name, first, second in [*same, ("error", "0.12", "0.11"), ("link", "no", "https://x.org")]:
        path.write_text(head.format(name, first, second))
        assert cf.campaign.history(path, "AP").notes == ()


def test_marks_and_directions_that_are_assumed_are_stated(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text("day,model,mark,AP\n2024-01-01,a,baseline,0.5\n2024-02-01,b,no,0.6\n")
    [note] = cf.campaign.history(path, "AP").notes
    assert note.startswith(
        "entries with marks such as 'baseline' are counted as entries of participants"
    )
    assert cf.campaign.history(path, "AP", own=["baseline"]).notes == ()
    path.write_text("day,model,quality,RMSE\n2024-01-01,a,1,0.5\n2024-02-01,b,2,0.4\n")
    [note] = cf.campaign.history(path, "quality").notes
    assert note == "higher scores of quality count as better; lower_is_better=True reverses this"
    with pytest.warns(CranfieldWarning, match="higher scores of RMSE count as better"):
        assert cf.campaign.history(path, "RMSE").select_records().height == 1
    lower = cf.campaign.history(path, "RMSE", lower_is_better=True)
    assert lower.select_records().height == 2
    for measure, message in [
        ("EER (%)", r"higher scores of EER \(%\) count as better"),
        ("nDCG@10", "nDCG@10 has 1 score outside its range 0 to 1, such as 30 of 'a'"),
    ]:
        path.write_text(f"day,model,{measure}\n2024-01-01,a,30\n2024-02-01,b,0.4\n")
        with pytest.warns(CranfieldWarning, match=message):
            assert cf.campaign.history(path, measure).select_records().height == 1
    path.write_text("day,model,nDCG@10\n2024-01-01,a,30\n2024-02-01,b,40\n2024-02-02,c,0\n")
    assert cf.campaign.history(path, "nDCG@10").notes == ()
    path.write_text("day,model,SetE\n2024-01-01,a,0.5\n2024-02-01,b,0.4\n")
    assert cf.campaign.history(path, "SetE").select_records().height == 2
