"""Faults gathered by kind, written as a report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import quoted
from cranfield.base.files import whole_file
from cranfield.campaign.checks.report import MORE, OF_ALL, CheckReport, Fault, fault, severity_of
from cranfield.campaign.rules.task_rules import TaskRules, safe_name
from cranfield.sources.chunks import Source

SHOWN = 25
"""Number of faults of a kind that are shown by default."""


class Collected:
    """Faults of one file: the first of each kind that the rules do not turn off, or all."""

    def __init__(self, task: TaskRules, *, all_faults: bool = False) -> None:
        self._task = task
        self._all = all_faults
        self._kept: dict[str, list[Fault]] = {}
        self._more: dict[str, int] = {}

    def wanted(self, code: str) -> bool:
        """Whether the rules do not turn off this kind."""
        return severity_of(code, self._task) != "off"

    @property
    def readable(self) -> bool:
        """Whether no fault stops the readers of runs."""
        return not any(OF_ALL[code].fixed for code in self._kept)

    def listed(self, names: Sequence[str]) -> str:
        """List names in a message: the first few, or all."""
        shown = names if self._all else names[:SHOWN]
        more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
        return ", ".join(map(quoted, shown)) + more

    def add(self, code: str, **values: Any) -> None:
        """Add one fault; values are those of :func:`fault`."""
        if not self.wanted(code):
            return
        kept = self._kept.setdefault(code, [])
        if self._all or len(kept) < SHOWN:
            kept.append(fault(code, self._task, **values))
        else:
            self._more[code] = self._more.get(code, 0) + values.get("count", 1)

    def add_rows(
        self,
        code: str,
        rows: Bools,
        lines: Ints,
        *,
        topics: pl.Series | None = None,
        docs: pl.Series | None = None,
        **values: Any,
    ) -> None:
        """Add a fault for each marked row; values are columns, or one value for all rows."""
        if not rows.any() or not self.wanted(code):
            return
        places = np.flatnonzero(rows)
        kept = self._kept.setdefault(code, [])
        shown = places if self._all else places[: max(0, SHOWN - len(kept))]
        columns = {name: _values(column, shown) for name, column in values.items()}
        about = zip(_values(topics, shown), _values(docs, shown), strict=True)
        for k, (line, of) in enumerate(zip(lines[shown].tolist(), about, strict=True)):
            row = {name: column[k] for name, column in columns.items()}
            kept.append(fault(code, self._task, line=line, about=of, **row))
        if places.size > shown.size:
            self._more[code] = self._more.get(code, 0) + places.size - shown.size

    def faults(self) -> tuple[Fault, ...]:
        """Return the faults by line and code, those without a line first, and counts last."""
        kept = [fault for code in OF_ALL for fault in self._kept.get(code, [])]
        kept.sort(key=lambda fault: fault.line or 0)
        more = [
            Fault(code, severity_of(code, self._task), MORE.format(count), count=count)
            for code, count in self._more.items()
        ]
        return (*kept, *more)


def _values(column: Any, rows: Ints) -> list[Any]:
    """Return the values of some rows of a column, or a single value repeated."""
    if isinstance(column, np.ndarray):
        column = pl.Series(column)
    return column.gather(rows).to_list() if isinstance(column, pl.Series) else [column] * len(rows)


def as_json(reports: Iterable[CheckReport]) -> str:
    """Write reports as a JSON array, one object a run.

    Each has `source`, `accepted`, `verdict`, `tag`, `lines`, `topics`, `object`, `ranking`,
    `counts` (by code) and `faults`, whose keys are those of :class:`Fault`.
    """
    entries = [
        {
            "source": report.source,
            "accepted": report.accepted,
            "verdict": report.outcome,
            "tag": report.tag,
            "lines": report.lines,
            "topics": report.topics,
            "object": report.object,
            "ranking": report.ranking,
            "counts": report.counts(),
            "faults": [asdict(fault) for fault in report.faults],
        }
        for report in reports
    ]
    return json.dumps(entries, indent=1, ensure_ascii=True)


def errlog_of(report: CheckReport) -> Path:
    """Return the file that evalbase looks for the messages of a checker in: `<tag>.errlog`.

    It is beside the run, and named after the run's file if the tag is not a safe name.

    Examples
    --------
    >>> errlog_of(CheckReport("runs/a.txt", "bm25", ())).as_posix()
    'runs/bm25.errlog'
    >>> errlog_of(CheckReport("runs/a.txt", "../../etc/x", ())).as_posix()
    'runs/a.errlog'
    """
    tag = report.tag
    name = tag if tag is not None and safe_name(tag) else Source(report.source).stem
    return Path(report.source).with_name(f"{name}.errlog")


def write_errlog(report: CheckReport, path: Path) -> None:
    """Write a report as evalbase shows it: one line per message, and the outcome."""
    with whole_file(path) as file:
        file.write(f"{report}\n".encode())
