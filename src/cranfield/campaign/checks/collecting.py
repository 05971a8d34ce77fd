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
"""Faults of a kind that are kept, unless all are asked for."""


class Collected:
    """Faults of one run, as they are found.

    Parameters
    ----------
    task
        The rules; kinds that they turn off are not kept.
    all_faults
        Whether to keep each of them; a million take a while and some memory.
    """

    def __init__(self, task: TaskRules, *, all_faults: bool = False) -> None:
        self._task = task
        self._all = all_faults
        self._kept: dict[str, list[Fault]] = {}
        self._more: dict[str, int] = {}

    def wanted(self, code: str) -> bool:
        """Whether the rules ask for this kind."""
        return severity_of(code, self._task) != "off"

    @property
    def readable(self) -> bool:
        """Whether nothing was found that stops the readers of runs."""
        return not any(OF_ALL[code].fixed for code in self._kept)

    def listed(self, names: Sequence[str]) -> str:
        """List names as a message does: the first few of them, unless all are asked for."""
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
        """Add a fault for each row that is marked, in the order of the rows.

        Values are columns where they differ by row (series and arrays), or one for all.
        """
        if not rows.any() or not self.wanted(code):
            return
        places = np.flatnonzero(rows)
        kept = self._kept.setdefault(code, [])
        taken = places if self._all else places[: max(0, SHOWN - len(kept))]
        columns = {name: _of_rows(column, taken) for name, column in values.items()}
        about = (_of_rows(topics, taken), _of_rows(docs, taken))
        for place, line in enumerate(lines[taken].tolist()):
            kept.append(
                fault(
                    code,
                    self._task,
                    line=line,
                    about=(about[0][place], about[1][place]),
                    **{name: column[place] for name, column in columns.items()},
                )
            )
        if places.size > taken.size:
            self._more[code] = self._more.get(code, 0) + places.size - taken.size

    def faults(self) -> tuple[Fault, ...]:
        """Return the faults by line and code, those without a line first; last what is more."""
        kept = [one for code in OF_ALL for one in self._kept.get(code, [])]
        kept.sort(key=lambda one: one.line or 0)
        more = [
            Fault(code, severity_of(code, self._task), MORE.format(count), count=count)
            for code, count in self._more.items()
        ]
        return (*kept, *more)


def _of_rows(column: Any, rows: Ints) -> Sequence[Any]:
    """Take the values of some rows as values of Python; one for all is repeated."""
    if isinstance(column, pl.Series):
        return column.gather(rows).to_list()
    if isinstance(column, np.ndarray):
        taken: list[Any] = column[rows].tolist()
        return taken
    return [column] * len(rows)


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

    It is beside the run, and called by the run's own name where its tag can be no file's.

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
    """Write a report as evalbase shows it: a line for each message, and the verdict."""
    with whole_file(path) as file:
        file.write(f"{report}\n".encode())
