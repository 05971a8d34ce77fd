"""What the board of a release says: its rows, and what a comparison finds of the first measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.campaign.publishing.site.file_names import file_names
from cranfield.campaign.publishing.site.releases import Released
from cranfield.reporting.page.contents import Part, collect
from cranfield.reporting.page.data import places
from cranfield.reporting.verdicts import group_letters

PAGES = ("index", "topics", "report")
"""Names of pages of a task, which no run's page has."""


@dataclass(frozen=True)
class Board:
    """A release with its board: one row a run, in the order of the first measure."""

    release: Released

    @cached_property
    def rows(self) -> tuple[Mapping[str, str], ...]:
        """The rows of the board, with what is said of each run beside it."""
        runs = {row["tag"]: row for row in self.release.table("runs").iter_rows(named=True)}
        board = self.release.table("leaderboard").iter_rows(named=True)
        return tuple({**runs.get(row["tag"], {}), **row} for row in board)

    @cached_property
    def pages(self) -> dict[str, str]:
        """The file of each run's page, without suffix."""
        return file_names([row["tag"] for row in self.rows], PAGES)

    @property
    def measure(self) -> str:
        return self.release.measures[0]

    @cached_property
    def part(self) -> Part | None:
        """What is found by the first measure; None where there are no scores."""
        scores = self.release.scores.get(self.measure)
        if scores is None:
            return None
        return collect(scores, title=self.release.title, scales=False).parts[0]

    @cached_property
    def letters(self) -> dict[str, str]:
        one = self.part.comparison if self.part else None
        found = group_letters(one) if one is not None else None
        return dict(zip(one.systems, found, strict=True)) if one and found else {}

    @cached_property
    def limits(self) -> tuple[dict[str, tuple[float, float]], Floats | None]:
        """Return the limits of each run, and those of the best, which run through all rows."""
        one = self.part.comparison if self.part else None
        best = int(one.order[0]) if one else 0
        found = one.around(best) if one else None
        if one is None or found is None:
            return {}, None
        low, high = found
        by_run = dict(zip(one.systems, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        return by_run, np.array([low[best], high[best]])

    @property
    def places(self) -> int:
        return places(self.part) if self.part else 4

    @property
    def not_separated(self) -> tuple[str, ...]:
        """Runs that are not found to differ from the first, which is the first of them."""
        one = self.part.comparison if self.part else None
        return one.top_group if one else ()
