"""What a verification of a campaign's folder found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.tabular.frames import Framed

if TYPE_CHECKING:
    import polars as pl

PROBLEM, LEFT_OVER, NOTE, REPAIRED = "problem", "left over", "note", "repaired"
"""Kinds: what must not be; what a kill left, and a repair removes; what is only said; what was."""


@dataclass(frozen=True)
class Finding:
    """What was found about a file of a campaign, by its path in the folder."""

    file: str
    reason: str
    kind: str = PROBLEM

    def __str__(self) -> str:
        kind = "" if self.kind == PROBLEM else f" ({self.kind})"
        return f"{plain(self.file)}: {plain(self.reason)}{kind}"


@dataclass(frozen=True, repr=False)
class Verification(Framed):
    """What a verification found; `ok` where nothing is wrong.

    Attributes
    ----------
    findings
        Problems first, then what was left over by a kill, notes, and what was repaired.
    files, events
        How many files were compared with their hashes, and how many events are in the chain.
    """

    findings: tuple[Finding, ...]
    files: int = 0
    events: int = 0

    @property
    def problems(self) -> tuple[Finding, ...]:
        """What must not be: bytes that changed, files that are missing."""
        return self._of(PROBLEM)

    @property
    def left_over(self) -> tuple[Finding, ...]:
        """What a kill left, and no record names; `repair` removes it."""
        return self._of(LEFT_OVER)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What is no harm, and should be known."""
        return self._of(NOTE)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def _of(self, kind: str) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.kind == kind)

    def __repr__(self) -> str:
        return f"Verification({self.summary()})"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *map(str, self.findings)])

    def summary(self) -> str:
        """Say in one line whether all is well, and how much was compared."""
        compared = f"{counted(self.files, 'file')}, {counted(self.events, 'event')}"
        return f"{counted(len(self.problems), 'problem') if not self.ok else 'whole'}: {compared}"

    def to_polars(self) -> pl.DataFrame:
        """Return the findings: kind, file, reason."""
        import polars as pl

        columns = {"kind": pl.String, "file": pl.String, "reason": pl.String}
        rows = [[getattr(one, name) for name in columns] for one in self.findings]
        return pl.DataFrame(rows, schema=columns, orient="row")
