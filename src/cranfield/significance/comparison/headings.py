"""Headings of comparisons: what was done, in one line."""

from __future__ import annotations

from cranfield.significance.corrections.catalogue import Correction
from cranfield.significance.tests.declaration import TestInfo


def heading_of(info: TestInfo, correction: Correction, *, baseline: bool = False) -> str:
    """Name the test and the correction."""
    whole = correction.baseline_heading if baseline else correction.heading
    if whole:
        return whole.format(error=info.error)
    return f"{info.title} with {correction.title}"
