"""Files of sheets and overviews, as the organiser makes them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.results.sheet import Sheet
from cranfield.campaign.results.sheet_making import make_sheet_inputs
from tests.campaign.results.made import handed_in, judged
from tests.campaign.results.sheets.conftest import Make
from tests.reporting.page.reading import Page


def test_sheets_are_written_and_again_and_none_of_runs_that_are_gone_is_left(
    small: Make, tmp_path: Path
) -> None:
    campaign = small()
    made = campaign.sheets(None, tmp_path / "sheets")
    before = {path: path.read_bytes() for path in made}
    assert campaign.sheets(None, tmp_path / "sheets") == made
    assert {path: path.read_bytes() for path in made} == before
    assert len(made) == 1 + 3 * 10
    assert made[0] == tmp_path / "sheets/index.html"
    campaign.withdraw("tag-eastlab-1", "a bug")
    campaign.sheets(None, tmp_path / "sheets")
    gone = before.keys() - {*tmp_path.glob("sheets/**/*")}
    assert sorted(path.name for path in gone) == [
        f"tag-eastlab-1.{end}" for end in ("html", "json", "txt")
    ]


def test_no_other_file_is_overwritten(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cranfield.campaign.results.overview.make_charts", lambda _: [])
    campaign = small(("eastlab",), ("automatic",))
    writers: dict[str, Callable[[Path], object]] = {
        "sheets": lambda folder: campaign.sheets(None, folder),
        "overview": lambda folder: campaign.overview(None, folder, forms=[]),
        "packet": lambda folder: campaign.packet("eastlab", folder),
        "packets": campaign.packets,
    }
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/index.html").write_text("mine")
    for noun, write in writers.items():
        write(tmp_path / noun)
        write(tmp_path / noun)
        with pytest.raises(cf.PolicyError, match=f"'index.html', which .* to the {noun}; nothing"):
            write(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["index.html"]
    assert (tmp_path / "mine/index.html").read_text() == "mine"
    for noun in ("overview", "packet", "packets"):
        before = {
            path: path.read_bytes() for path in (tmp_path / noun).rglob("*") if path.is_file()
        }
        with pytest.raises(cf.PolicyError, match="which does not belong to the sheets"):
            campaign.sheets(None, tmp_path / noun)
        assert {path: path.read_bytes() for path in before} == before


def test_what_sheets_need(small: Make, tmp_path: Path) -> None:
    campaign = small()
    with pytest.raises(cf.PolicyError, match="unknown others 'all'; expected one of"):
        campaign.sheets(None, tmp_path / "sheets", others="all")
    with pytest.raises(cf.PolicyError, match="unknown version '7'"):
        campaign.sheets(None, tmp_path / "sheets", judgments="7")
    with pytest.raises(cf.PolicyError, match="unknown forms 'gif'; expected one of"):
        campaign.overview(None, tmp_path / "over", forms=["gif"])
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]


def test_another_measure_and_other_judgments(small: Make, tmp_path: Path) -> None:
    campaign = small()
    judged(campaign, {f"q{k}": {"d1": 1, "d2": 0} for k in range(1, 7)}, "2")
    campaign.sheets(None, tmp_path / "sheets", judgments="1", measure="RR@5")
    sheet = Sheet.from_json((tmp_path / "sheets/runs/tag-eastlab-1.json").read_text())
    assert (sheet.measure, sheet.judgments) == ("RR@5", "1")
    scores = campaign.score(measures=["RR@5"], judgments="1")["RR@5"]
    own = scores.values[:, scores.systems.index("tag-eastlab-1")]
    assert [row.score for row in sheet.by_topic] == own.tolist()
    assert sheet.measures["RR@5"] == pytest.approx(own.mean())


def test_one_run_is_compared_with_none(small: Make, tmp_path: Path) -> None:
    campaign = small((), ())
    handed_in(campaign, "alone", {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}, team="us")
    campaign.sheets(None, tmp_path / "sheets")
    sheet = Sheet.from_json((tmp_path / "sheets/runs/alone.json").read_text())
    assert sheet.category is None
    assert sheet.comparison.not_compared == "there is only one run"
    assert (sheet.n_retrieved, sheet.n_topics) == (2, 6)


def test_low_scores_that_are_good(small: Make) -> None:
    campaign = small()
    scores = campaign.score(measures=["Unjudged@5"])["Unjudged@5"]
    means = scores.mean()
    for sheet in make_sheet_inputs(campaign, measure="Unjudged@5").make_sheets():
        assert sheet.lower_is_better
        k = scores.systems.index(sheet.tag)
        assert sheet.comparison.rank == 1 + int((means < means[k]).sum())
        for row in sheet.by_topic:
            assert row.best is not None
            assert row.worst is not None
            assert row.best <= (row.score or 0) <= row.worst


def test_overview(small: Make, tmp_path: Path) -> None:
    campaign = small()
    made = campaign.overview(None, tmp_path / "over", forms=["svg", "png"])
    names = {path.relative_to(tmp_path / "over").as_posix() for path in made}
    assert {"index.html", "topics.csv", "report.html"} <= names
    assert {f"leaderboard.{form}" for form in ("csv", "parquet", "tex")} <= names
    assert {"charts/scores.svg", "charts/topics.png"} <= names
    assert all(path.is_file() for path in made)
    scores = campaign.score()
    board = pl.read_csv(tmp_path / "over/leaderboard.csv")
    assert board.equals(pl.read_parquet(tmp_path / "over/leaderboard.parquet").cast(board.schema))
    means = dict(zip(scores.systems, scores["nDCG@5"].overall().tolist(), strict=True))
    assert dict(zip(board["tag"], board["nDCG@5"], strict=True)) == pytest.approx(means)
    assert board["nDCG@5"].is_sorted(descending=True)
    topics = pl.read_csv(tmp_path / "over/topics.csv")
    values = scores["nDCG@5"].values
    assert np.allclose(topics["best"].to_numpy(), values.max(axis=1))
    assert np.allclose(topics["mean"].to_numpy(), values.mean(axis=1))
    # The fifth of ten, the best first.
    assert np.allclose(topics["median"].to_numpy(), np.sort(values, axis=1)[:, ::-1][:, 4])
    page = Page((tmp_path / "over/index.html").read_text())
    assert page.all("script") == []
    assert all(str(one["src"]).startswith("data:") and one["alt"] for one in page.all("img"))
    best = max(means, key=lambda tag: means[tag])
    assert f"<strong>{means[best]:.4f}</strong>" in page.html
    assert "Low, high: " in page.html
    for bound in ("low", "high"):
        assert f">{board[bound][0]:.4f}</td>" in page.html
    latex = (tmp_path / "over/leaderboard.tex").read_text()
    assert rf"\textbf{{{means[best]:.4f}}}" in latex
    assert len(re.findall(r"tag-\w+-\d", latex)) == 10


def test_overview_without_the_extra_for_charts(
    small: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.warns(cf.CranfieldWarning, match=r"no charts: .* install 'cranfield\[charts\]'"):
        written = small().overview(None, tmp_path / "over")
    assert {path.name for path in written} >= {"index.html", "leaderboard.csv", "report.html"}
    assert not (tmp_path / "over/charts").exists()
    assert "data:image" not in (tmp_path / "over/index.html").read_text("utf-8")


def test_who_was_pooled_is_said_only_where_it_is_known(small: Make) -> None:
    campaign = small()
    assert all(one.depth is None and "Pooled" not in one.to_text() for one in of(campaign))
    [first, *_] = campaign.submissions()
    with campaign.registry.change("pool", "adhoc") as change:
        change.update(replace(first, pooled=True))
    # Without a recorded depth, that of the rules is not reported.
    [sheet] = [one for one in of(campaign) if one.tag == first.tag]
    assert sheet.depth is None
    assert "pooled for judging" in (text := sheet.to_text()) and "its first" not in text
    with campaign.registry.change("pool", "adhoc", {"depth": 7, "runs": [first.tag]}):
        pass
    said = {one.tag: one.to_text() for one in of(campaign)}
    assert "its first 7 documents of each topic were pooled for judging" in said.pop(first.tag)
    assert all("not pooled; its documents" in text for text in said.values())


def of(campaign: cf.campaign.Campaign) -> tuple[Sheet, ...]:
    return make_sheet_inputs(OpenedCampaign(campaign.folder)).make_sheets()
