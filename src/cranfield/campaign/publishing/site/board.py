"""What the board of a release says: its rows, and what a comparison finds of the first measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.campaign.publishing.site.file_names import file_names
from cranfield.campaign.publishing.site.releases import Released
from cranfield.campaign.results.comparing import compared
from cranfield.campaign.rules.tags import safe_name
from cranfield.reporting.page.contents import Part, collect
from cranfield.reporting.page.data import places
from cranfield.significance.comparison.groups import shortened

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

    def sheet(self, tag: str) -> Path | None:
        """The sheet of a run; None where the release has none, or could not name its file."""
        path = self.release.path("sheets") / f"{tag}.json"
        return path if safe_name(tag) and path.is_file() else None

    @cached_property
    def part(self) -> Part | None:
        """What is found by the first measure; None where runs were not compared."""
        scores = self.release.scores.get(self.measure)
        if scores is None or not self.letters:
            return None
        # As the board of the release was made.
        return collect(compared(scores), title=self.release.title, scales=False).parts[0]

    @cached_property
    def letters(self) -> dict[str, str]:
        """Groups that are not separated, by run."""
        return {row["tag"]: shortened(row["groups"]) for row in self.rows if row.get("groups")}

    @cached_property
    def limits(self) -> tuple[dict[str, tuple[float, float]], Floats | None]:
        """Return the limits of each run, and those of the first, which run through all rows."""
        by_run = {
            row["tag"]: (float(row["low"]), float(row["high"]))
            for row in self.rows
            if row.get("low") and row.get("high")
        }
        return by_run, np.array(next(iter(by_run.values()))) if by_run else None

    @cached_property
    def pooled(self) -> bool:
        """Whether any run is known to have been pooled; else nothing is said of the others."""
        return any(row.get("pooled") == "true" for row in self.rows)

    @property
    def places(self) -> int:
        return places(self.part) if self.part else 4

    @property
    def not_separated(self) -> tuple[str, ...]:
        """Runs that are not found to differ from the first, which is the first of them."""
        one = self.part.comparison if self.part else None
        return one.top_group if one else ()
