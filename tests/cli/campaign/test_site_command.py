"""`cranfield campaign site`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cranfield.campaign.publishing.releasing import release
from tests.campaign.publishing.making import make_campaign
from tests.campaign.publishing.site.making import make_release
from tests.cli.running import cranfield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "news" / "releases").mkdir(parents=True)
    make_release(tmp_path / "news" / "releases")
    return tmp_path / "news"


def test_from_a_campaign_or_from_releases(folder: Path, tmp_path: Path) -> None:
    site, again = tmp_path / "public", tmp_path / "again"
    out, _ = cranfield(tmp_path, "campaign", "release", "site", "news", "-o", "public")
    assert out.startswith("public: 8 pages, 0.")
    assert out.endswith("open public/index.html\n")
    # The registry is not looked into: there is none.
    assert not (folder / "campaign.sqlite").exists()
    cranfield(tmp_path, "campaign", "release", "site", "news/releases", "-o", "again")
    names = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    assert len(names) > 8
    assert all((site / name).read_bytes() == (again / name).read_bytes() for name in names)


@pytest.mark.parametrize("output", ["news", "news/public", "thesis", "no/public"])
def test_what_is_not_a_site_stays(folder: Path, tmp_path: Path, output: str) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "index.html").write_text("mine")
    before = sorted(path for path in tmp_path.rglob("*"))
    _, err = cranfield(tmp_path, "campaign", "release", "site", "news", "-o", output, status=2)
    assert len(err.splitlines()) == 1
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert (tmp_path / "thesis" / "index.html").read_text() == "mine"


def test_without_releases(folder: Path, tmp_path: Path) -> None:
    shutil.rmtree(folder / "releases" / "adhoc-1")
    _, err = cranfield(tmp_path, "campaign", "release", "site", "news", "-o", "public", status=2)
    assert "no release found" in err
    assert not (tmp_path / "public").exists()


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    opened = make_campaign(tmp_path / "news")
    release(opened)
    releases = opened.folder / "releases"
    shutil.copytree(releases / "adhoc-1", releases / "adhoc-2")
    for folder, site in (("news", "public"), ("news/releases", "again")):
        out, _ = cranfield(tmp_path, "campaign", "release", "site", folder, "-o", site)
        assert "excluded: adhoc-2" in out
        assert not list((tmp_path / site).glob("data/adhoc-2*"))
    cranfield(tmp_path, "campaign", "release", "site", "news/releases", "-o", "news/site", status=2)
    assert not (opened.folder / "site").exists()
