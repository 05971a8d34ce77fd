"""What is made of a release for conda-forge and for a journal."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.conda_recipe import line_of, recipe_of
from release.metadata_hook import CustomMetadataHook
from tests.conftest import ROOT


def test_the_recipe_needs_what_the_project_needs(tmp_path: Path) -> None:
    sdist = tmp_path / "cranfield-1.2.3.tar.gz"
    sdist.write_bytes(b"x")
    recipe = yaml.safe_load(recipe_of(sdist))
    assert recipe["context"]["version"] == "1.2.3"
    assert recipe["source"]["sha256"] == hashlib.sha256(b"x").hexdigest()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = recipe["requirements"]["run"]
    flat = [one["then"] if isinstance(one, dict) else one for one in needed]
    stated = [re.split(r"[>=;]", one)[0].strip() for one in project["dependencies"]]
    assert [one.split()[0] for one in flat] == ["python", *stated]
    assert [one["if"] for one in needed if isinstance(one, dict)] == ['match(python, "<3.14")']
    assert recipe["build"]["python"]["entry_points"] == ["cranfield = cranfield.cli.entry:entry"]


def test_what_no_recipe_can_say(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no condition"):
        line_of("x; sys_platform == 'win32'")
    with pytest.raises(SystemExit, match="no source distribution"):
        recipe_of(tmp_path / "cranfield-1.0-py3-none-any.whl")


def test_links_of_the_index_lead_to_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROJECT_URL", "https://example.org/some/project/")
    monkeypatch.setenv("PROJECT_EMAIL", "someone@example.org")
    metadata: dict[str, Any] = {"version": "1.2.3"}
    CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert metadata["urls"]["Homepage"] == "https://example.org/some/project"
    assert metadata["urls"]["Source"].endswith("/project/tree/v1.2.3")
    assert metadata["authors"][0]["email"] == "someone@example.org"
    text = metadata["readme"]["text"]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 30 and all(one.startswith("https://") for one in links)
    assert "(https://example.org/some/project/raw/v1.2.3/docs/images/report.png)" in text


def test_links_of_the_readme_lead_to_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROJECT_URL", raising=False)
    monkeypatch.delenv("PROJECT_EMAIL", raising=False)
    metadata: dict[str, Any] = {"version": "1.2.3"}
    CustomMetadataHook(str(ROOT), {}).update(metadata)
    assert "urls" not in metadata and "email" not in metadata["authors"][0]
    assert metadata["readme"]["text"] == (ROOT / "README.md").read_text()
    for link in re.findall(r"\]\(([^)]+)\)", metadata["readme"]["text"]):
        assert (ROOT / link).exists(), link


def test_the_paper_cites_works_that_are_known() -> None:
    paper = (ROOT / "paper" / "paper.md").read_text()
    known = set(re.findall(r"^@\w+\{(\w+),", _bibliography(paper).read_text(), re.MULTILINE))
    cited = set(re.findall(r"@(\w+)", paper.split("---", 2)[2]))
    assert len(cited) > 5
    assert cited <= known


def _bibliography(paper: str) -> Path:
    found = re.search(r"^bibliography: (.+)$", paper, re.MULTILINE)
    assert found is not None
    return ROOT / "paper" / found[1]
