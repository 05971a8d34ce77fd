"""What a check found: faults by kind, line and topic, and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import quoted
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.tabular import Table, from_frame
from cranfield.tabular.frames import Framed

if TYPE_CHECKING:
    import polars as pl

MORE = "... and {:,} more"
"""Message of the fault that stands for those of a kind that were not kept."""

PRIVATE = "private"
"""Severity of what only the organisers see: the registry keeps it, and no report has it."""


@dataclass(frozen=True)
class Fault:
    """One fault of a run, or one that stands for `count` of its kind.

    Attributes
    ----------
    code
        Kind of the fault, such as `document-twice`; all are in :mod:`cranfield.campaign.checks`.
    severity
        `error`, `warning`, `note`, or `private` of what tells about other teams.
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

    @property
    def said(self) -> int:
        """How often it would have been said, were nothing left out: once, or `count` times."""
        return self.count if self.message.startswith(MORE.split("{", maxsplit=1)[0]) else 1

    def text(self, source: str) -> str:
        """Say it in one line: file and line, what is wrong, of which topic and document, code.

        Examples
        --------
        >>> fault = Fault("score", "error", "score 'nan' is not a finite number", 7, "401", "d3")
        >>> print(fault.text("a.run"))
        a.run:7: score 'nan' is not a finite number (topic '401', document 'd3') [score]
        """
        where = plain(source) if self.line is None else f"{plain(source)}:{self.line}"
        severity = f"{self.severity}: " if self.severity in {"warning", "note"} else ""
        named = (("topic", self.topic), ("document", self.doc))
        about = [f"{name} {quoted(value)}" for name, value in named if value is not None]
        about = [text for text in about if text not in self.message]
        shown = f" ({', '.join(about)})" if about else ""
        return f"{where}: {severity}{self.message}{shown} [{self.code}]"


@dataclass(frozen=True, repr=False)
class CheckReport(Framed):
    """What a check of one run found; made by :func:`check_run`.

    Printed, it is what `cranfield campaign check` prints: a line for each fault, and the verdict.

    Attributes
    ----------
    source
        Name of the file.
    tag
        The run's tag; None where no line has one.
    faults
        In order of line, those without a line first; at most so many of a kind, and last what
        stands for the others, with their number.
    lines, topics
        How many lines were read, empty ones counted, and how many topics they name.
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

    @property
    def verdict(self) -> str:
        """Whether the run is accepted, and how many faults there are."""
        errors, warnings = (sum(one.said for one in some) for some in (self.errors, self.warnings))
        found = [counted(errors, "error")] * (errors > 0)
        found += [counted(warnings, "warning")] * (warnings > 0)
        said = f": {', '.join(found)}" if found else ""
        return f"{'accepted' if self.accepted else 'refused'}{said}"

    def counts(self) -> dict[str, int]:
        """Return how many faults there are of each kind, those that were not kept counted too."""
        counts: dict[str, int] = {}
        for one in self.faults:
            counts[one.code] = counts.get(one.code, 0) + one.count
        return counts

    def to_polars(self) -> pl.DataFrame:
        """Return the faults: code, severity, line, topic, doc, count, message."""
        import polars as pl

        text, number = pl.String, pl.Int64
        schema = {"code": text, "severity": text, "line": number, "topic": text, "doc": text}
        schema |= {"count": number, "message": text}
        rows = [asdict(one) for one in self.faults]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def table(self) -> Table:
        """Return the faults as a table, for text, Markdown, HTML and LaTeX."""
        return from_frame(self.to_polars(), f"{self.source}: {self.verdict}")

    def __repr__(self) -> str:
        return f"CheckReport({self.verdict})"

    def __str__(self) -> str:
        lines = [one.text(self.source) for one in self.faults]
        return "\n".join([*lines, f"{plain(self.source)}: {self.verdict}"])
