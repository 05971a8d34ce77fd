"""Fixtures and settings of several tests."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem, DoctestModule
from hypothesis import settings

# New examples at every run. A failure prints how to reproduce it: `@reproduce_failure(...)`, and
# the seed for `--hypothesis-seed`.
settings.register_profile(
    "new", derandomize=False, print_blob=True, database=None, deadline=None, max_examples=10
)
settings.load_profile("new")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Until all tests are collected, see `pytest_collection_finish`.
    gc.disable()

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
TREC_EVAL = DATA / "trec_eval"
ADHOC8 = DATA / "trec8" / "adhoc8_ap.csv"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real collections that are too large, or not free, to be part of the project."""
    folder = Path(os.environ.get("CRANFIELD_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the folder of real collections is not here (set CRANFIELD_DATA)")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Open pages in a browser that people have."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no chromium to open pages with")
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect test modules once: only the modules of `src` have examples."""
    collectors = yield
    return [one for one in collectors if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the examples of a function once, where it is written, and the longest tests first."""
    examples = [one for one in items if isinstance(one, DoctestItem)]
    at_home = {one.dtest.docstring for one in examples if one.path.name != "__init__.py"}
    again = {
        one for one in examples if one.path.name == "__init__.py" and one.dtest.docstring in at_home
    }
    items[:] = [one for one in items if one not in again]
    # A long test at the end would keep one worker busy while the others have nothing to do.
    items.sort(key=lambda item: not item.name.startswith("test_examples_of_the_documentation"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exempt the collected tests from garbage collection, which would visit them each time."""
    gc.collect()
    gc.freeze()
    gc.enable()
