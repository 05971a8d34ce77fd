"""Processes that are started while threads are at work, in all the ways that users start them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from studies.attack.pools import WAYS, fault


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("method", "way", "used"), WAYS)
def test_it_works_or_says_why_not(tmp_path: Path, method: str, way: str, used: str) -> None:
    assert fault(tmp_path, method, way, used) == ""
