"""Reports of checks as JSON, and as the log of errors that evalbase shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cranfield.base.whole_files import whole_file
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.rules.tags import safe_name
from cranfield.sources.chunks import Source


def as_json(reports: Iterable[CheckReport]) -> str:
    """Write reports as a JSON array, one object a run.

    Each has `source`, `accepted`, `verdict`, `tag`, `lines`, `topics`, `object`, `ranking`,
    `counts` (by code) and `faults`, whose keys are those of :class:`Fault`.
    """
    return json.dumps([_entry(one) for one in reports], indent=1, ensure_ascii=True)


def _entry(report: CheckReport) -> dict[str, Any]:
    names = ("source", "accepted", "verdict", "tag", "lines", "topics", "object", "ranking")
    entry = {name: getattr(report, name) for name in names}
    return entry | {"counts": report.counts(), "faults": [asdict(one) for one in report.faults]}


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
