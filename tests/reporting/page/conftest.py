"""A browser for the tests that open pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no chromium to open the report with")
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield one
        one.close()
