"""Releases: what is in them, what never is, and that they are the same bytes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError, PolicyError
from cranfield.base.files import hash_file
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.publishing import releasing
from cranfield.campaign.publishing.bag import validate_bag
from cranfield.campaign.publishing.releasing import (
    _make_secret,
    make_released_runs,
    release,
    retract,
)
from cranfield.campaign.publishing.site import write_site
from cranfield.campaign.results import leaderboard
from cranfield.campaign.results.sheet import Sheet
from cranfield.campaign.results.stored_inputs import pool
from cranfield.campaign.rules.reading import hash_rules, read_rules
from cranfield.campaign.store import records
from cranfield.campaign.store.folder import create_folder
from cranfield.campaign.store.records import WITHDRAWN
from cranfield.significance.comparison.result import MORE_RESAMPLES
from tests.campaign.publishing.making import (
    CLOCK,
    TEAMS,
    add_judgments,
    contents,
    embargo,
    everything,
    hits,
    make_campaign,
    submit,
)
from tests.campaign.results.made import DOCS, handed_in, judged, qrels, rankings, scored
from tests.campaign.results.made import RULES as RESULTS_RULES
from tests.campaign.results.made import made as results_campaign
from tests.conftest import ROOT

TAGS = ("Dense_1", "bm25-a", "bm25rm3", "dense.2", "tut-late")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OpenedCampaign:
    """A campaign with three releases: as it is, anonymous, and scores only."""
    opened = make_campaign(tmp_path_factory.mktemp("canary-folder") / "canary-news")
    add_judgments(opened, "2", 1, doc="canarydoc")
    release(opened, judgments="1", date="2026-11-20", note="A *note*")
    release(opened, judgments="1", anonymous=True, seed=3)
    release(opened, judgments="1", scores_only=True)
    return opened


@pytest.fixture
def named(made: OpenedCampaign) -> Path:
    return made.folder / "releases/adhoc-1"


@pytest.fixture
def anonymous(made: OpenedCampaign) -> Path:
    return made.folder / "releases/adhoc-2"


def test_what_is_in_it(named: Path) -> None:
    found = set(contents(named))
    of_runs = {f"data/runs/{tag}.run.xz" for tag in TAGS}
    of_runs |= {f"data/sheets/{tag}.{form}" for tag in TAGS for form in ("json", "txt", "html")}
    of_runs |= {f"data/metadata/{tag}.yml" for tag in TAGS}
    tables = ("runs.csv", "teams.csv", "leaderboard.csv", "topic-statistics.csv")
    others = ("judgments.txt", "rules.toml", "report.html", "about.json", "README.md")
    expected = {f"data/{name}" for name in (*tables, *others, "scores/scores.parquet")}
    bag = {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"}
    assert found == of_runs | expected | bag


def test_scores_only(made: OpenedCampaign, named: Path) -> None:
    left = set(contents(made.folder / "releases/adhoc-3"))
    gone = {name for name in contents(named) if name.startswith("data/runs/")}
    assert set(contents(named)) - left == gone | {"data/judgments.txt"}


def test_it_is_a_bag_and_registered(made: OpenedCampaign, named: Path) -> None:
    first, *_ = made.registry.list_releases()
    assert validate_bag(named) == []
    assert (first.id, first.task, first.judgments) == ("adhoc-1", "adhoc", "1")
    assert (first.state, first.path) == ("released", "releases/adhoc-1")
    assert first.manifest == hash_file(named / "tagmanifest-sha256.txt")
    assert first.created == "2026-11-20T12:00:00Z"


def test_runs_are_those_that_were_handed_in(made: OpenedCampaign, named: Path) -> None:
    table = pl.read_csv(named / "data/runs.csv", infer_schema=False)
    assert table["tag"].to_list() == list(TAGS)
    for run in made.registry.list_submissions("adhoc"):
        row = table.row(by_predicate=pl.col("tag") == run.tag, named=True)
        assert row["sha256"] == run.object
        assert row["received"] == run.received[:10]
        assert (row["team"], row["type"]) == (run.team, run.type)
        assert row["priority"] == str(run.priority)
        assert (row["fields"], row["notes"]) == (run.answers["fields"], run.answers["notes"])
        assert (row["late"] == "true", row["pooled"] == "true") == (run.late, run.pooled)
        kept = made.folder / "kept.run"
        kept.write_bytes(records.read_object(made.folder, run.object))
        before = cf.read_run(kept).to_polars()
        kept.unlink()
        assert before.equals(cf.read_run(named / f"data/runs/{run.tag}.run.xz").to_polars())
    teams = pl.read_csv(named / "data/teams.csv")
    assert dict(teams.rows()) == TEAMS


@pytest.mark.parametrize("number", [1, 2])
def test_scores_are_those_of_the_released_files(made: OpenedCampaign, number: int) -> None:
    """Whoever evaluates the runs of a release by its judgments finds the numbers of its tables."""
    data = made.folder / f"releases/adhoc-{number}/data"
    ev = cf.evaluate(str(data / "runs/*.xz"), data / "judgments.txt", ["nDCG@10", "P@5"])
    board = pl.read_csv(data / "leaderboard.csv")
    means = {row["system"]: row for row in ev.by_system().iter_rows(named=True)}
    assert set(means) == set(board["tag"])
    for row in board.iter_rows(named=True):
        for name in ev:
            assert row[name] == pytest.approx(means[row["tag"]][name], abs=1e-12)
    assert board["nDCG@10"].is_sorted(descending=True)
    table = pl.read_parquet(data / "scores/scores.parquet")
    for name, one in ev.items():
        wide = table.select("topic", "system", name).pivot("system", index="topic", values=name)
        found = wide.select(*one.systems).to_numpy()
        places = [wide["topic"].to_list().index(topic) for topic in one.topics]
        np.testing.assert_allclose(found[places], one.values, atol=1e-12)
    statistics = pl.read_csv(data / "topic-statistics.csv", schema_overrides={"topic": pl.String})
    whole = statistics.filter(pl.col("group") == "all", pl.col("measure") == "P@5")
    best = dict(zip(whole["topic"], whole["best"], strict=True))
    assert [best[topic] for topic in ev.topics] == ev["P@5"].values.max(axis=1).tolist()
    assert {"type=automatic", "type=manual", "fields=title", "fields=all"} <= set(
        statistics["group"]
    )


def test_sheets_are_those_of_the_released_names(made: OpenedCampaign) -> None:
    for number in (1, 2):
        data = made.folder / f"releases/adhoc-{number}/data"
        tags = pl.read_csv(data / "runs.csv")["tag"].to_list()
        for tag in tags:
            sheet = Sheet.from_json((data / f"sheets/{tag}.json").read_text())
            assert sheet.tag == tag
            assert set(sheet.comparison.names or ()) <= set(tags) - {tag}
            assert sheet.warnings == ()
            assert ("team: " in sheet.metadata) is (number == 1)
            assert "mail" not in sheet.metadata


def test_nothing_private_is_in_any_of_them(made: OpenedCampaign) -> None:
    """The canaries are there to be found: in the campaign's folder."""
    for number in (1, 2, 3):
        found = hits(
            made.folder / f"releases/adhoc-{number}",
            *("canary", "/home", "@example.org", str(made.folder), made.folder.name),
        )
        assert found == []
    registry = (made.folder / "campaign.sqlite").read_bytes()
    for word in (b"canary-contact", b"canary-refused", b"canary-path", b"canary-actor"):
        assert word in registry


def test_an_anonymous_one_names_nobody(made: OpenedCampaign, anonymous: Path) -> None:
    words = (*TEAMS, *TEAMS.values(), *TAGS, "secret sauce", "markup", "Padova")
    hashes = [run.object for run in made.registry.list_submissions()]
    assert hits(anonymous, *words, *hashes, "2026-08-0") == []
    tags = pl.read_csv(anonymous / "data/runs.csv")["tag"].to_list()
    # Which of the three has one run only depends on what is drawn.
    assert sorted(tags) == tags
    assert [re.sub("-.*", "", tag) for tag in tags][::2] == ["team01", "team02", "team03"]
    teams = pl.read_csv(anonymous / "data/teams.csv")
    assert teams["id"].to_list() == teams["name"].to_list() == ["team 01", "team 02", "team 03"]


def test_the_order_of_hidden_teams_is_drawn(tmp_path: Path) -> None:
    """Another seed gives another order, and so does another campaign that was made alike."""
    opened = make_campaign(tmp_path / "a")
    runs = opened.registry.list_submissions("adhoc")
    task = opened.rules.get_task()

    def order(opened: OpenedCampaign, seed: int) -> tuple[int, ...]:
        shown = make_released_runs(runs, set(TEAMS), task, _make_secret(opened, seed), {})
        return tuple(one.record.id for one in shown)

    assert len({order(opened, seed) for seed in range(20)}) > 5
    for k in range(6):
        create_folder(tmp_path / f"b{k}", tmp_path / "a.toml")
    others = [OpenedCampaign(tmp_path / f"b{k}") for k in range(6)]
    assert len({order(one, 0) for one in (opened, *others)}) > 1
    made = release(opened, anonymous=True, seed=3)
    tags = pl.read_csv(made.path / "data/runs.csv")["tag"]
    types = pl.read_csv(made.path / "data/runs.csv")["type"].to_list()
    kinds = {run.id: run.type for run in runs}
    assert types == [kinds[id] for id in order(opened, 3)]
    assert tags.is_sorted()


def test_the_same_bytes_wherever_they_are_made(made: OpenedCampaign, tmp_path: Path) -> None:
    """In another folder, time zone, umask, by somebody else, with other hashes and threads."""
    wanted = {
        "judgments='1', date='2026-11-20', note='A *note*'": made.folder / "releases/adhoc-1",
        "judgments='1', anonymous=True, seed=3": made.folder / "releases/adhoc-2",
    }
    copy = tmp_path / "another folder"
    shutil.copytree(made.folder, copy)
    shutil.rmtree(copy / "scores")
    (copy / "scores").mkdir()
    calls = "; ".join(f"print(release(opened, {options}).path)" for options in wanted)
    code = (
        "import os; os.umask(0o077)\n"
        "from cranfield.campaign.opened_campaign import OpenedCampaign\n"
        "from cranfield.campaign.publishing.releasing import release\n"
        f"opened = OpenedCampaign({str(copy)!r}, actor='somebody'); {calls}"
    )
    others = {"PYTHONPATH": str(ROOT / "src"), "TZ": "Pacific/Kiritimati", "LC_ALL": "C"}
    others |= {"PYTHONHASHSEED": "99", "OMP_NUM_THREADS": "2", "POLARS_MAX_THREADS": "3"}
    options: dict[str, Any] = {"env": os.environ | others, "cwd": tmp_path}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, **options)
    for path, first in zip(done.stdout.splitlines(), wanted.values(), strict=True):
        assert contents(Path(path)) == contents(first)


def test_a_release_before_the_deadline_has_a_warning(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    rules = opened.folder / "campaign.toml"
    text = rules.read_text()
    for closes in ("2026-11-20T12:00:00Z", "2026-11-20T11:59:59Z"):
        rules.write_text(text.replace("min_category", f"closes = {closes}\nmin_category"))
        again = OpenedCampaign(opened.folder, clock=lambda: CLOCK)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release(again, date="2026-11-20")
        messages = [str(one.message) for one in caught if "accepts runs" in str(one.message)]
        expected = "task 'adhoc' accepts runs until 2026-11-20 12:00:00 UTC; the release shows"
        assert len(messages) == (closes == "2026-11-20T12:00:00Z")
        assert all(message.startswith(expected) for message in messages)


def test_an_embargo_ends_on_its_day(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    embargo(opened, "delft", "2026-12-01")
    before = release(opened, date="2026-11-30").path
    # A date in another form of ISO 8601 is the same date everywhere in the release.
    after = release(opened, date="20261201").path
    # Without a date it is the day of the clock, 2026-11-20.
    today = release(opened).path
    for folder in (before, today):
        assert hits(folder, "delft", "Dense_1", "dense.2") == []
        assert hits(folder, "padua", "bm25rm3", "tut-late")
        tags = pl.read_csv(folder / "data/runs.csv")["tag"].to_list()
        assert tags == ["bm25-a", "bm25rm3", "team01-1", "team01-2", "tut-late"]
    assert hits(after, "Dense_1")
    assert json.loads((after / "data/about.json").read_text())["date"] == "2026-12-01"
    assert "Bagging-Date: 2026-12-01" in (after / "bag-info.txt").read_text().splitlines()
    assert json.loads((today / "data/about.json").read_text())["date"] is None


def test_numbers_that_real_teams_have_are_left_out(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    submit(opened, "padua", "TEAM01-1", type="manual", number=9)
    embargo(opened, "delft", "2027-01-01")
    tags = pl.read_csv(release(opened).path / "data/runs.csv")["tag"].to_list()
    assert {"TEAM01-1", "team02-1", "team02-2"} <= set(tags)


@pytest.mark.parametrize("step", ["make_sheet_inputs", "write_payload"])
def test_runs_that_come_or_go_meanwhile_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    opened = make_campaign(tmp_path / "news")
    real = getattr(releasing, step)

    def slow(*args: Any, **options: Any) -> Any:
        if step == "make_sheet_inputs":
            with opened.registry.change("withdraw") as tx:
                tx.update(replace(tx.list_submissions()[0], state=WITHDRAWN))
            return real(*args, **options)
        real(*args)
        return submit(opened, "padua", "new-run", number=7)

    monkeypatch.setattr(releasing, step, slow)
    with pytest.raises(CranfieldError, match="added or removed"):
        release(opened)
    assert list((opened.folder / "releases").iterdir()) == []
    assert opened.registry.list_releases() == ()


def test_the_same_bytes_are_not_released_twice(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    first = release(opened, date="2026-11-20")
    n_events = len(opened.registry.list_events())
    with pytest.warns(CranfieldWarning, match="the same bytes as adhoc-1; no release was made"):
        assert release(opened, date="2026-11-20") == first
    assert len(opened.registry.list_events()) == n_events
    assert [path.name for path in (opened.folder / "releases").iterdir()] == ["adhoc-1"]
    # Another release in between, and a damaged release, are reasons for a new release.
    assert release(opened, date="2026-11-20", note="x").id == "adhoc-2"
    assert release(opened, date="2026-11-20").id == "adhoc-3"
    (opened.folder / "releases/adhoc-3/data/README.md").unlink()
    assert release(opened, date="2026-11-20").id == "adhoc-4"


def test_a_date_before_that_of_the_last_release_has_a_warning(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    release(opened, date="2026-11-20")
    with pytest.warns(CranfieldWarning, match="2026-11-19 .* newest release: adhoc-1, 2026-11-20"):
        release(opened, date="2026-11-19")
    retract(opened, "adhoc-1", "x")
    # No warning: the newest release was retracted, has no date, or has an earlier date.
    for date in ("2026-11-21", None, "2026-11-18"):
        release(opened, date=date)
    retract(opened, "adhoc-5", "x")
    release(opened, date="2026-11-17")


def test_what_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    (opened.folder / "releases/adhoc-1").mkdir()
    (opened.folder / "releases/adhoc-1/old").write_text("old")
    made = release(opened)
    assert made.id == "adhoc-1"
    assert validate_bag(made.path) == []
    assert [path.name for path in (opened.folder / "releases").iterdir()] == ["adhoc-1"]


def test_what_is_written_is_private_in_the_campaign(named: Path) -> None:
    for path in named.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judgments": "9"}, "9"),
        ({"date": "yesterday"}, "date must be a day such as 2026-11-20"),
        ({"seed": -1}, "seed"),
        ({"seed": 3, "date": "2030-01-01"}, "seed must be 0, got 3"),
        ({"task": "other"}, "unknown task 'other'"),
    ],
)
def test_what_is_refused(made: OpenedCampaign, options: dict[str, object], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        release(made, **options)  # type: ignore[arg-type]


def test_the_readme_says_what_is_not_there(
    made: OpenedCampaign, named: Path, anonymous: Path
) -> None:
    text = (named / "data/README.md").read_text("utf-8")
    for word in ("CC BY 4.0", "A \\*note\\*", "contacts of teams", "2026-11-20", "sha256sum -c"):
        assert word in text
    assert "descriptions, metadata, answers in free text" in (
        anonymous / "data/README.md"
    ).read_text("utf-8")
    only = (made.folder / "releases/adhoc-3/data/README.md").read_text("utf-8")
    assert "`judgments.txt`" not in only
    rules = (named / "data/rules.toml").read_text()
    assert read_rules(named / "data/rules.toml").get_task() == made.rules.get_task()
    assert "keep_refused" not in rules
    assert "keys of the metadata of runs: actor.mail" in text
    assert (named / "data/metadata/bm25-a.yml").read_text() == "actor:\n  team: padua\n"


def test_retracting_leaves_it_as_it_is(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    made = release(opened)
    before = contents(made.path)
    for id, reason, message in (
        ("adhoc-7", "x", "unknown release 'adhoc-7'; expected one of: adhoc-1"),
        ("adhoc-1", " ", "reason must not be empty"),
        ("adhoc-1", "a\x1b[31m", "'reason' must not contain unprintable characters"),
    ):
        with pytest.raises(PolicyError, match=message):
            retract(opened, id, reason)
    retract(opened, "adhoc-1", "A judge was paid.")
    assert contents(made.path) == before
    note = opened.folder / "releases/adhoc-1.retracted.json"
    assert json.loads(note.read_text()) == {
        "release": "adhoc-1",
        "retracted": "2026-11-20T12:00:00Z",
        "reason": "A judge was paid.",
    }
    [record] = opened.registry.list_releases()
    assert (record.state, record.reason) == ("retracted", "A judge was paid.")
    assert record.retraction == hash_file(note)
    with pytest.raises(PolicyError, match="already retracted"):
        retract(opened, "adhoc-1", "again")
    assert release(opened).id == "adhoc-2"


def test_every_form_is_looked_into(named: Path) -> None:
    """The search itself finds what is compressed."""
    names = [name for name, _ in everything(named)]
    assert names.count("data/runs/tut-late.run.xz") == 3
    assert ("data/scores/scores.parquet", "tut-late") in hits(named, "tut-late")


@pytest.mark.parametrize("anonymous", [False, True])
def test_ties_and_unjudged_topics_are_told_by_readme_sheets_and_site(
    tmp_path: Path, anonymous: bool
) -> None:
    opened = results_campaign(tmp_path / "c")
    with pytest.warns(cf.CranfieldWarning, match="has no judgments: 'q4'"):
        judged(opened, "q1 0 x 1\nq2 0 x 1\nq3 0 x 1\n", version="1")
    tied, untied = {"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 1.0}
    handed_in(opened, "tied", {"q1": tied, "q2": untied, "q3": untied})
    handed_in(opened, "sure", dict.fromkeys(("q1", "q2", "q3"), untied))
    new = release(opened, anonymous=anonymous)
    [ties, topics] = new.notes
    assert re.fullmatch(
        r"ties can change AP of '(tied|team01-\d)' by up to 0.17 \(33% of its documents are tied\)"
        r", and 1 other measure by no more",
        ties,
    )
    assert ("'tied'" in ties) != anonymous
    assert topics == "1 topic of the task has no judgments: 'q4'"
    assert f"{ties[1:]}." in (new.path / "data/README.md").read_text().replace("\\", "")
    sheets = [path.read_text() for path in sorted((new.path / "data/sheets").glob("*.txt"))]
    assert sorted("Ties can change AP" in text for text in sheets) == [False, True]
    write_site(opened, tmp_path / "site")
    page = (tmp_path / "site/adhoc/index.html").read_text()
    assert "Ties can change AP of" in page and "1 topic of the task has no judgments" in page
    pages = [path.read_text() for path in (tmp_path / "site/adhoc").glob("*.html")]
    assert sum("33% of its documents are tied" in text for text in pages) == 2


@pytest.mark.parametrize("anonymous", (True, False))
def test_the_depth_of_the_pool_is_the_recorded_one(tmp_path: Path, anonymous: bool) -> None:
    opened = results_campaign(tmp_path / "c")
    judged(opened, "".join(f"q{k + 1} 0 x 1\n" for k in range(4)))
    page = tmp_path / "site/adhoc/index.html"
    # The rules have depth 10, and the third pool has a new run only.
    pools = [(3, 3, "the first 3 documents of 1 of 1 run"), (5, 5, "the first 5 documents of 2 of")]
    for k, (depth, recorded, text) in enumerate([*pools, (4, None, "3 of 3 runs")]):
        handed_in(opened, f"run{k}", {"q1": {"x": 2.0, "y": float(k)}})
        pool(opened, depth=depth, mark=True)
        new = release(opened, anonymous=anonymous)
        assert json.loads((new.path / "data/about.json").read_text())["pool_depth"] == recorded
        write_site(opened, tmp_path / "site")
        assert (
            f"ooled: {text}" in page.read_text() and "10 documents of runs" not in page.read_text()
        )
    sheets = [path.read_text() for path in (new.path / "data/sheets").glob("*.json")]
    assert sorted(json.loads(sheet)["depth"] for sheet in sheets) == [4, 5, 5]


def test_runs_accepted_under_earlier_rules_are_counted(tmp_path: Path) -> None:
    opened = results_campaign(tmp_path / "c")
    judged(opened, "".join(f"q{k + 1} 0 x 1\n" for k in range(4)))
    rankings = dict.fromkeys(("q1", "q2"), {"x": 2.0, "y": 1.0})
    handed_in(opened, "now", rankings, rules=hash_rules(opened.rules))
    assert release(opened).notes == ()
    handed_in(opened, "before", rankings, rules="0" * 64)
    assert release(opened).notes == ("1 run was accepted under earlier rules",)


def test_runs_are_checked_by_the_rules_of_a_release(tmp_path: Path) -> None:
    rules = RESULTS_RULES.replace("measures", 'documents = "lists/docs.txt"\nmeasures', 1)
    (tmp_path / "c-rules/lists").mkdir(parents=True)
    (tmp_path / "c-rules/lists/docs.txt").write_text("".join(f"{doc}\n" for doc in DOCS))
    opened = results_campaign(tmp_path / "c", rules=rules)
    judged(opened, qrels())
    handed_in(opened, "mine", rankings(1))
    data = release(opened).path / "data"
    run = tmp_path / "new.run"
    run.write_text("q1 Q0 d001 1 2 new\nq9 Q0 unknown 1 2 new\n")
    report = cf.campaign.check_run(run, read_rules(data / "rules.toml").get_task())
    codes = {fault.code for fault in report.errors}
    assert codes == {"topic-missing", "topic-unknown", "document-unknown"}
    readme = (data / "README.md").read_text()
    assert "- `topics.txt`: a list" in readme and "- `lists/docs.txt`: a list" in readme
    write_site(opened, tmp_path / "public")
    page = (tmp_path / "public/adhoc/index.html").read_text()
    assert "beside it: topics.txt, lists/docs.txt</p>" in page


def test_a_list_with_the_name_of_a_file_of_a_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c-rules").mkdir()
    (tmp_path / "c-rules/Runs.csv").write_text("".join(f"{doc}\n" for doc in DOCS))
    rules = RESULTS_RULES.replace("measures", 'documents = "Runs.csv"\nmeasures', 1)
    opened = results_campaign(tmp_path / "c", rules=rules)
    judged(opened, qrels())
    handed_in(opened, "mine", rankings(1))
    with pytest.raises(InputError, match="file 'Runs.csv' must be renamed"):
        release(opened)


def test_a_release_names_decisions_that_another_seed_may_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = scored(tmp_path / "c", ("a", "b", "c"), topics=4)
    monkeypatch.setattr(leaderboard, "_comparisons", deque())
    patched = "cranfield.significance.comparison.result.describe_close_pvalues"
    monkeypatch.setattr(patched, lambda *_: [f"a p-value is close{MORE_RESAMPLES}"])
    made = release(opened)
    assert made.notes[-1] == "a p-value is close"
    assert "A p-value is close." in (made.path / "data/README.md").read_text()
    assert [note for note in opened.leaderboard().notes if "close" in note] == [made.notes[-1]]
