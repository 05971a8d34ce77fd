"""What a check found: faults by kind, line and topic, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault of a run, or one that stands for `count` of its kind.

    Attributes
    ----------
    code
        Kind of the fault, such as `document-twice`; all are in :mod:`cranfield.campaign.checks`.
    severity
        `error` or `warning`.
    message
        What is wrong, without the place and without a full stop; safe to show.
    line
        Line in the file, from 1, empty lines counted; None where no line is meant.
    """

    code: str
    severity: str
    message: str
    line: int | None = None
    topic: str | None = None
    doc: str | None = None
    count: int = 1


@dataclass(frozen=True)
class CheckReport:
    """What a check of one run found.

    Attributes
    ----------
    source
        Name of the file.
    tag
        The run's tag; None where no line has one.
    faults
        In order of line, those without a line first.
    object, ranking
        SHA-256 of the bytes as handed in; SHA-256 of (topic, document) in order of rank after the
        task's rule for ties, tag left out; None for a file that could not be read.
    """

    source: str
    tag: str | None
    faults: tuple[Fault, ...]
    lines: int = 0
    topics: int = 0
    object: str | None = None
    ranking: str | None = None

    @property
    def errors(self) -> tuple[Fault, ...]:
        """The faults that are errors."""
        return tuple(one for one in self.faults if one.severity == "error")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The faults that are warnings."""
        return tuple(one for one in self.faults if one.severity == "warning")

    @property
    def accepted(self) -> bool:
        """Whether there is no error."""
        return not self.errors
