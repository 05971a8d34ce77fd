"""The site as files: every link leads somewhere, and what was text is no markup."""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.publishing.bag import write_bag
from cranfield.campaign.publishing.releasing import release, retract
from cranfield.campaign.publishing.site import (
    collect_task_data,
    find_best_runs,
    find_newest_releases,
    make_heat_map,
    make_topic_rows,
    read_releases,
    write_release_site,
    write_site,
)
from cranfield.significance.comparison.compared_pairs import shorten_letters
from tests.campaign.publishing.making import contents, embargo, make_campaign
from tests.campaign.publishing.site.making import make_release
from tests.reporting.page.reading import Page, read
from tests.reporting.page.test_build import digest

HOSTILE = (
    *("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "../x", "CON"),
    *("a\u202eb", "x" * 300, "\x1b[31mred", "\"'&amp;", "javascript:alert(1)", "{{title}}"),
    *("Run1", "run1"),
)


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    folder = tmp_path / "releases"
    folder.mkdir()
    return folder


def check_pages(site: Path) -> list[Page]:
    """Walk all pages: whole, with a policy that fits, and links to files that are there."""
    pages = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "report.html":  # A copy from the release.
            continue
        page = read(path)
        pages.append(page)
        assert f"style-src '{digest(page.style)}'" in page.policy
        for script in page.scripts:
            assert f"script-src '{digest(script)}'" in page.policy
        assert page.policy.startswith("default-src 'none'")
        assert page.all("html") == [{"lang": "en"}]
        ids = [found["id"] for _, found in page.elements if "id" in found]
        assert len(ids) == len(set(ids))
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
        assert len(page.all("table")) == page.html.count("<caption")
        labelled = {one["for"] for one in page.all("label")}
        assert {one["id"] for one in (*page.all("select"), *page.all("input"))} == labelled
        for tag, found in page.elements:
            assert tag not in {"img", "iframe", "object", "base", "form", "embed"}
            assert not [name for name in found if name.startswith("on") or name == "style"]
            assert not {"src", "action", "srcset", "poster", "data"} & set(found)
            href = found.get("href")
            if href is None or href == "data:,":
                continue
            if href.startswith("#"):
                assert href[1:] in ids
                continue
            assert not re.match(r"[a-z]+:|/", href)
            leads = (path.parent / unquote(href)).resolve()
            assert leads.is_relative_to(site.resolve())
            assert leads.is_file(), href
    return pages


def test_what_is_there(releases: Path, tmp_path: Path) -> None:
    make_release(releases)
    written = write_release_site(releases, tmp_path / "public")
    site = tmp_path / "public"
    assert {*contents(site)} - {".cranfield-site"} == {
        path.relative_to(site).as_posix() for path in written
    }
    assert set(contents(site)) >= {
        *("index.html", "adhoc/index.html", "adhoc/topics.html", "history.html"),
        *(f"data/adhoc-1-{name}.csv" for name in ("leaderboard", "runs", "topic-statistics")),
    }
    check_pages(site)
    for path in (site, *site.rglob("*")):
        # It can be served.
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)
    source = releases / "adhoc-1/data/leaderboard.csv"
    assert (site / "data/adhoc-1-leaderboard.csv").read_bytes() == source.read_bytes()
    front, data = read(site / "index.html").shown, read(site / "data.html").shown
    assert hashlib.sha256(source.read_bytes()).hexdigest() in data
    manifest = (releases / "adhoc-1/tagmanifest-sha256.txt").read_bytes()
    assert hashlib.sha256(manifest).hexdigest() in data
    # The first page is for readers: the leaderboard with names of teams, and no checksum.
    assert not re.search("[0-9a-f]{64}", front)
    for text in ("bm25", "dense", "late1", "PADUA", "DELFT", "2026-11-20"):
        assert text in front
    board = read(site / "adhoc/index.html").shown
    assert "late1 late not pooled" in board and board.count("not pooled") == 1
    assert "Late: submitted after the task closed" in board
    # Late runs are named as such wherever the best run is named.
    for text in (front, board):
        assert "First rank submitted late: late1; best in time: dense." in text
    assert "late1 late is first" in board or "different from late1 late" in board
    # Topics stand by their median.
    [release] = read_releases(releases)
    scores = release.scores["AP"]
    page = read(site / "adhoc/topics.html")
    names = [
        text
        for inside, text in page.texts
        if inside[-3:] == ("tr", "th", "span") and text in scores.topics
    ]
    middle = {t: sorted(row)[1] for t, row in zip(scores.topics, scores.values, strict=True)}
    assert len(names) == 10 and names == sorted(names, key=lambda topic: -middle[topic])
    # The last run is the best nearly everywhere in what was made.
    assert page.shown.count("late1") >= 5


def test_the_board_says_what_compare_says(releases: Path, tmp_path: Path) -> None:
    tags = [f"r{k:02d}" for k in range(9)]
    make_release(releases, tags=tags)
    [release] = read_releases(releases)
    board = collect_task_data(release)
    found = cf.compare(release.scores["AP"])
    assert board.groups == found.groups()
    best = int(found.order[0])
    low, high = found.find_mean_bounds(best) or (None, None)
    assert low is not None and high is not None
    assert board.intervals == {tag: (low[k], high[k]) for k, tag in enumerate(found.systems)}
    apart = {
        found.systems[one if two == best else two]
        for one, two, p in zip(found.first, found.second, found.adjusted_pvalues, strict=True)
        if best in {one, two} and p <= 0.05
    }
    assert 0 < len(apart) < 8
    assert set(board.top_group) == {*tags} - apart
    # The legend: whose interval does not overlap with that of the first differs from it.
    left_out = {
        tag
        for tag, (lower, upper) in board.intervals.items()
        if lower > high[best] or upper < low[best]
    }
    assert left_out == apart
    write_release_site(releases, tmp_path / "public")
    page = read(tmp_path / "public/adhoc/index.html")
    shown = page.shown
    others = board.top_group[1:]
    verb = "is" if len(others) == 1 else "are"
    assert f"{verb} not significantly different from the first run" in " ".join(shown.split())
    for line in cf.meaningfulness(found).describe_lines()[1:]:
        # What becomes of the conclusions under transformations of scores is on the report only.
        assert line[1:] not in shown
    # The place of a run is that of its mean, and it is in the page with all its digits.
    means = release.scores["AP"].overall()
    values = [float(found["data-v"] or "nan") for tag, found in page.elements if "data-v" in found]
    assert all(np.isclose(values, one, rtol=1e-12).any() for one in means)


def test_the_first_page_does_not_hide_a_single_run(releases: Path, tmp_path: Path) -> None:
    for n_runs, n_shown in ((11, 11), (12, 10)):
        tags = [f"r{k:02d}" for k in range(n_runs)]
        make_release(releases, f"adhoc-{n_runs}", tags=tags)
        write_release_site(releases, tmp_path / "public")
        front = read(tmp_path / "public/index.html").shown
        rows = front[front.index("rank") : front.index("Releases")]
        assert sum(rows.count(f" {tag} ") for tag in tags) == n_shown


def test_a_page_a_run(releases: Path, tmp_path: Path) -> None:
    tags = ["bm25", "CON", "Run1", "run1", "index", "dense"]
    make_release(releases, tags=tags, description=HOSTILE[0])
    site = tmp_path / "public"
    write_release_site(releases, site)
    check_pages(site)
    page = read(site / "adhoc/bm25.html")
    assert page.shown.count(HOSTILE[0]) >= 2
    board = read(site / "adhoc/index.html")
    hrefs = [str(one["href"]) for one in board.all("a")]
    assert "bm25.html" in hrefs
    # A release has no file of a run that no disk could hold; its row has no link then.
    assert not [one for one in hrefs if one.casefold().startswith("con")]
    names = [path.name.casefold() for path in (site / "adhoc").iterdir()]
    assert len(names) == len(set(names)) == 2 + 5
    assert sum(name.startswith("run1-") for name in names) == 2
    assert read(site / "adhoc/index.html").html != read(site / "adhoc/dense.html").html


def test_scores_only_without_sheets(releases: Path, tmp_path: Path) -> None:
    made = make_release(releases)
    shutil.rmtree(made / "data/sheets")
    for name in ("bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"):
        (made / name).unlink()
    write_bag(made, {})
    write_release_site(releases, tmp_path / "public")
    pages = check_pages(tmp_path / "public")
    assert len(pages) == 5


def test_runs_that_were_not_compared(releases: Path, tmp_path: Path) -> None:
    make_release(releases, tags=["one"])
    write_release_site(releases, tmp_path / "public")
    check_pages(tmp_path / "public")
    assert "no statement about differences" in read(tmp_path / "public/adhoc/index.html").shown


def test_records(releases: Path, tmp_path: Path) -> None:
    tags = [f"r{k}" for k in range(8)]
    make_release(releases, tags=tags, days=[3, 1, 2, 2, 5, 4, 4, 6])
    [release] = read_releases(releases)
    means = dict(zip(tags, release.scores["AP"].overall(), strict=True))
    by_day: dict[int, list[str]] = {}
    for tag, day in zip(tags, [3, 1, 2, 2, 5, 4, 4, 6], strict=True):
        by_day.setdefault(day, []).append(tag)
    best, records = -1.0, []
    for _, some in sorted(by_day.items()):
        top = max(some, key=means.__getitem__)
        if means[top] > best:
            best = means[top]
            records.append(top)
    assert 2 < len(records) < 8
    write_release_site(releases, tmp_path / "public")
    page = read(tmp_path / "public/history.html")
    assert [text for inside, text in page.texts if inside[-2:] == ("a", "span")] == records
    assert f"{len(records)} of 8 runs" in page.shown


@pytest.mark.filterwarnings("ignore:the rules changed since they were last used")
def test_the_median_is_said_as_the_release_has_it(tmp_path: Path) -> None:
    campaign = make_campaign(tmp_path / "campaign")
    rules = tmp_path / "campaign" / "campaign.toml"
    text = rules.read_text()
    rules.write_text(text.replace("measures = ", 'median = "average"\nmeasures = '))
    opened = OpenedCampaign(campaign.folder)
    release(opened)
    write_site(opened, tmp_path / "public")
    [page] = (tmp_path / "public").glob("*/topics.html")
    assert "the median is the mean of the two middle scores." in page.read_text()


def test_text_from_files_stays_text(releases: Path, tmp_path: Path) -> None:
    make_release(
        releases,
        tags=HOSTILE,
        teams=HOSTILE,
        types=HOSTILE[:4],
        topics=HOSTILE,
        title=HOSTILE[0],
        description=HOSTILE[1],
    )
    site = tmp_path / "public"
    write_release_site(releases, site)
    for page in check_pages(site):
        kinds = {tag for tag, _ in page.elements}
        assert not kinds & {"img", "b"}
        assert len(page.all("script")) <= 1
        assert "\u202e" not in page.html
        assert "\x1b" not in page.html
    assert HOSTILE[0] in read(site / "adhoc/index.html").shown
    assert "a\\u202eb" in read(site / "adhoc/index.html").shown
    assert "{{title}}" in read(site / "adhoc/index.html").shown


def test_same_releases_same_bytes(releases: Path, tmp_path: Path) -> None:
    make_release(releases)
    make_release(releases, "web-1", seed=2)
    write_release_site(releases, tmp_path / "one")
    write_release_site(releases, tmp_path / "two")
    write_release_site(releases, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_retracted_releases_are_said_and_not_shown(releases: Path, tmp_path: Path) -> None:
    make_release(releases, "adhoc-1", tags=["old1", "old2", "old3"])
    make_release(releases, "adhoc-2", seed=2)
    make_release(releases, "adhoc-10", seed=2, tags=["wrong1", "wrong2", "wrong3"])
    make_release(releases, "web-1", tags=["gone1", "gone2", "gone3"])
    for name in ("adhoc-10", "web-1"):
        note = '{"reason": "the <b>wrong</b> judgments", "retracted": "2026-12-01T00:00:00Z"}'
        (releases / f"{name}.retracted.json").write_text(note)
    (releases / ".adhoc-11.tmp").mkdir()
    assert [one.id for one in find_newest_releases(read_releases(releases))] == ["adhoc-2"]
    site = tmp_path / "public"
    write_release_site(releases, site)
    check_pages(site)
    shown = read(site / "index.html").shown
    assert shown.count("the <b>wrong</b> judgments") == 2
    assert "1 task, 4 releases, 2 retracted" in shown
    assert not (site / "web").exists()
    every = b"".join(contents(site).values())
    for tag in (b"old1", b"wrong1", b"gone1"):
        assert tag not in every


def test_notes_and_states_of_releases(releases: Path, tmp_path: Path) -> None:
    make_release(releases, "adhoc-1", note="First <b>results</b>.")
    make_release(releases, "adhoc-2", seed=2, note="Topic 3 was judged again.")
    make_release(releases, "adhoc-3", seed=3)
    make_release(releases, "web-1")
    (releases / "adhoc-3.retracted.json").write_text('{"reason": "wrong"}')
    write_release_site(releases, tmp_path / "public")
    check_pages(tmp_path / "public")
    front = read(tmp_path / "public/index.html").shown.partition("Releases, the newest")[2]
    for note in ("First <b>results</b>.", "Topic 3 was judged again."):
        assert front.count(note) == 1
    data = read(tmp_path / "public/data.html").shown.partition("Checksums of all releases")[2]
    for shown in (front, data):
        assert re.findall(r"(\w+-\d) (released|retracted|superseded by \S+)", shown) == [
            *(("adhoc-3", "retracted"), ("adhoc-2", "released")),
            *(("adhoc-1", "superseded by adhoc-2"), ("web-1", "released")),
        ]
    assert "This site contains no complete release" in data


def test_an_anonymous_team_is_marked_and_hides_no_other_record(tmp_path: Path) -> None:
    campaign = make_campaign(tmp_path / "news")
    embargo(campaign, "delft", "2027-01-01")
    release(campaign, date="2026-11-20")
    write_site(campaign, tmp_path / "public")
    check_pages(tmp_path / "public")
    board = read(tmp_path / "public/adhoc/index.html").shown
    n_hidden = sum(run.team == "delft" for run in campaign.registry.list_submissions("adhoc"))
    # Once for each run, and once in the table of teams.
    assert board.count("team 01 anonymous") == n_hidden + 1
    assert board.count("anonymous") == n_hidden + 1
    records = read(tmp_path / "public/history.html").shown
    n_runs = len(campaign.registry.list_submissions("adhoc"))
    assert f" of {n_runs - n_hidden} runs" in records
    assert f"{n_hidden} runs of anonymous teams are excluded" in records


def test_all_retracted(releases: Path, tmp_path: Path) -> None:
    make_release(releases)
    (releases / "adhoc-1.retracted.json").write_text('{"reason": "x"}')
    write_release_site(releases, tmp_path / "public")
    check_pages(tmp_path / "public")
    assert "All releases were retracted." in read(tmp_path / "public/index.html").shown


def test_only_sites_are_replaced(releases: Path, tmp_path: Path) -> None:
    make_release(releases)
    site = tmp_path / "public"
    site.mkdir()
    write_release_site(releases, site)
    make_release(releases, "adhoc-2", tags=["new1", "new2", "new3"])
    write_release_site(releases, site)
    assert "new1" in read(site / "adhoc/index.html").shown
    before = contents(site)
    (site / "adhoc" / "mine.txt").write_text("x")
    with pytest.raises(
        PolicyError, match=r"contains 'adhoc/mine.txt', which does not belong to the site"
    ):
        write_release_site(releases, site)
    (site / "adhoc" / "mine.txt").unlink()
    assert contents(site) == before
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "index.html").write_text("mine")
    with pytest.raises(PolicyError, match=r"contains 'index.html'"):
        write_release_site(releases, other)
    assert (other / "index.html").read_text() == "mine"
    with pytest.raises(PolicyError, match="expected a folder, got the file"):
        write_release_site(releases, other / "index.html")
    with pytest.raises(PolicyError, match="outside the campaign's private folder"):
        write_release_site(releases, releases / "public", private_folder=tmp_path)
    with pytest.raises(InputError, match="the parent folder does not exist"):
        write_release_site(releases, tmp_path / "no" / "public")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "releases", "thesis"]


def test_a_link_in_the_site_is_not_followed(releases: Path, tmp_path: Path) -> None:
    make_release(releases)
    site = tmp_path / "public"
    write_release_site(releases, site)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "work.txt").write_text("x")
    (site / "linked").symlink_to(precious)
    with pytest.raises(PolicyError, match="'linked'"):
        write_release_site(releases, site)
    assert (precious / "work.txt").read_text() == "x"


def test_whole_or_not_at_all(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_release(releases)
    site = tmp_path / "public"
    write_release_site(releases, site)
    before = contents(site)
    make_release(releases, "adhoc-2", seed=5)
    (releases / "adhoc-2/data/leaderboard.csv").write_bytes(b'tag\n"\xff')
    with pytest.raises(InputError, match=r"adhoc-2: is damaged: data/leaderboard.csv"):
        write_release_site(releases, site)
    assert contents(site) == before
    # And when the swap itself fails, the old site comes back.
    make_release(releases, "adhoc-3", seed=6)
    plain = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return plain(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(InputError, match="cannot be written: no space left"):
        write_release_site(releases, site)
    assert contents(site) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "releases"]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> OpenedCampaign:
    opened = make_campaign(tmp_path_factory.mktemp("campaign") / "news")
    release(opened, date="2026-11-20")
    return opened


def test_the_site_of_a_real_release(campaign: OpenedCampaign, tmp_path: Path) -> None:
    site = tmp_path / "public"
    write_site(campaign, site)
    pages = check_pages(site)
    runs = campaign.registry.list_submissions("adhoc")
    assert len(pages) == 5 + len(runs)
    released = campaign.folder / "releases/adhoc-1/data"
    assert (site / "adhoc/report.html").read_bytes() == (released / "report.html").read_bytes()
    rules = (site / "data/adhoc-1-rules.toml").read_bytes()
    assert rules == (released / "rules.toml").read_bytes()
    hrefs = [str(one["href"]) for one in read(site / "index.html").all("a")]
    assert {"adhoc/index.html", "adhoc/topics.html", "adhoc/report.html", "data.html"} <= {*hrefs}
    board = (site / "data/adhoc-1-leaderboard.csv").read_text()
    page = read(site / "adhoc/index.html")
    for run in runs:
        assert run.tag in board
        assert run.tag in page.shown
        assert (site / f"adhoc/{run.tag}.html").is_file()
    lines = (released / "judgments.txt").read_text().splitlines()
    grades = [int(line.split()[3]) for line in lines]
    n_relevant = sum(grade > 0 for grade in grades)
    assert f"{len(grades)} judgments, {n_relevant} of relevant documents" in page.shown
    assert f"{len(grades)} judgments (version 1)" in page.shown
    assert b"canary" not in b"".join(contents(site).values())
    [one] = read_releases(campaign.folder / "releases")
    [kept] = campaign.registry.list_releases()
    assert one.manifest_sha256 == kept.manifest
    shown = collect_task_data(one)
    found = cf.compare(one.scores[shown.measure])
    letters = {tag: shorten_letters(some) for tag, some in found.groups().items()}
    assert shown.groups == letters
    assert set(shown.top_group) == set(found.top_group)


def test_no_releases(releases: Path, tmp_path: Path) -> None:
    for folder in (releases, tmp_path / "no"):
        with pytest.raises(InputError, match="no release found"):
            write_release_site(folder, tmp_path / "public")
    assert not (tmp_path / "public").exists()
    (releases / "adhoc-1" / "data").mkdir(parents=True)
    (releases / "adhoc-1" / "data" / "about.json").write_text("[]")
    with pytest.raises(InputError, match=r"about.json: is not a JSON object"):
        write_release_site(releases, tmp_path / "public")


def test_a_release_that_no_record_names_is_not_shown(
    campaign: OpenedCampaign, tmp_path: Path
) -> None:
    folder = tmp_path / "news"
    shutil.copytree(campaign.folder, folder)
    # So a kill leaves one, between its new name and its record.
    shutil.copytree(folder / "releases/adhoc-1", folder / "releases/adhoc-9")
    (folder / "releases/adhoc-1.retracted.json").write_text('{"reason": "no record"}')
    write_site(OpenedCampaign(folder), tmp_path / "public")
    write_site(campaign, tmp_path / "again")
    assert contents(tmp_path / "public") == contents(tmp_path / "again")


def test_what_is_not_as_it_was_released_is_refused(
    campaign: OpenedCampaign, tmp_path: Path
) -> None:
    folder = tmp_path / "news"
    shutil.copytree(campaign.folder, folder)
    bag = folder / "releases/adhoc-1"
    (bag / "data/README.md").write_text("another one")
    for path in bag.glob("*.txt"):
        path.unlink()
    write_bag(bag, {})
    with pytest.raises(InputError, match="its tag manifest differs from"):
        write_site(OpenedCampaign(folder), tmp_path / "public")
    release(OpenedCampaign(folder), date="2026-11-20")
    shutil.rmtree(bag)
    with pytest.raises(InputError, match="adhoc-1: is missing"):
        write_site(OpenedCampaign(folder), tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_a_retraction_without_its_note_is_refused(campaign: OpenedCampaign, tmp_path: Path) -> None:
    folder = tmp_path / "news"
    shutil.copytree(campaign.folder, folder)
    retract(OpenedCampaign(folder), "adhoc-1", "Wrong.")
    (folder / "releases/adhoc-1.retracted.json").unlink()
    with pytest.raises(InputError, match="retracted"):
        write_site(OpenedCampaign(folder), tmp_path / "public")


def test_topics_are_in_order_of_median_without_a_comparison(releases: Path) -> None:
    make_release(releases, tags=("only",), measures=("Unjudged@10", "AP"))
    board = collect_task_data(read_releases(releases)[0])
    assert board.measure_section is None
    medians = [topic["median"] for topic in make_topic_rows(board)]
    assert medians == sorted(medians)


def test_missing_scores_are_neither_equal_nor_a_map() -> None:
    scores = cf.Scores(np.array([[0.5, np.nan], [0.2, 0.2]]), ("1", "2"), ("a", "b"), "AP")
    release = SimpleNamespace(scores={"AP": scores})
    board = SimpleNamespace(release=release, measure="AP", tags=["a", "b"])
    assert find_best_runs(board, scores, "1") == {"text": "", "leading": ["a"]}
    assert find_best_runs(board, scores, "2") == {"text": "all runs equal", "leading": []}
    assert make_heat_map(board, ["1", "2"]) is not None
    release.scores["AP"] = replace(scores, values=np.full((2, 2), np.nan))
    assert make_heat_map(board, ["1", "2"]) is None
