"""What is printed of each part: its table, and whether the means agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.agreement import Agreement
from benchmarks.datasets import DataSet
from benchmarks.measure import Result
from benchmarks.process import Failure, Timing
from benchmarks.tables import TIMING_HEAD, Row, ratio, table, timing_cells
from benchmarks.tasks import PEERS

_TOLERANCE = 1e-6

_FEW = 3
"""How many undefined means are named before the rest is counted."""


def format_comparisons(data: DataSet, results: Mapping[str, Result], floor: float) -> str:
    """Ours against each peer on one data set."""
    title = f"{data.name}: {data.title} ({data.lines:,} lines)"
    return _part(title, "ours/peer", "against {}", results, floor)


def variants_text(clean: DataSet, results: Mapping[str, Result], floor: float) -> str:
    """Ours on each variant against ours on the clean file."""
    title, means = f"Variants of {clean.name}, ours", f"of {{}} against {clean.name}"
    return _part(title, "variant/clean", means, results, floor)


def overview_text(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the ratios of all parts in which we are compared with others."""
    columns = [
        name for name in [*PEERS, "beside"] if any(name in rows for rows in results.values())
    ]
    wall: list[Row] = []
    cpu: list[Row] = []
    for part, found in results.items():
        pairs = [found[name].pairs if name in found else [] for name in columns]
        if "cranfield" in found and any(pairs):
            peak = median(timing.peak for timing in found["cranfield"].timings)
            wall.append((part, [*(_middle(each, "wall") for each in pairs), f"{peak:.0f}"]))
            cpu.append((part, [*(_middle(each, "cpu") for each in pairs), ""]))
    if not wall:
        return ""
    title = "Overview: our time as a multiple of others', medians of the ratios above"
    shorter = table(title, [*columns, "our MiB"], wall)
    return shorter + table("The same of the time of processors", [*columns, ""], cpu)


def _middle(pairs: Sequence[tuple[Timing, Timing]], what: str) -> str:
    ratios = [getattr(first, what) / max(getattr(second, what), 1e-3) for first, second in pairs]
    return f"{median(ratios):.3f}" if ratios else ""


def _part(title: str, last: str, means: str, results: Mapping[str, Result], floor: float) -> str:
    rows: list[Row] = []
    for name, result in results.items():
        if result.failure or not result.timings:
            rows.append((name, result.failure or Failure("not measured")))
            continue
        compared = str(ratio(result.pairs)) if result.pairs else ""
        rows.append((name, [*timing_cells(result.timings, floor), compared]))
    text = table(title, [*TIMING_HEAD, last], rows)
    for name, result in results.items():
        if result.agreement:
            decimals = PEERS[name].decimals if name in PEERS else None
            # What is printed with few decimals can be off by half of the last.
            tolerance = _TOLERANCE + (0.5 * 10**-decimals if decimals else 0.0)
            agreement = _agreement(result.agreement, tolerance)
            text += f"  means {means.format(name)}: {agreement}\n"
    return text


def _agreement(found: Agreement | Failure, tolerance: float) -> str:
    if isinstance(found, Failure):
        return str(found)
    if not found.compared and not found.undefined:
        return f"none in common ({found.absent} absent from ours)"
    parts = []
    if found.difference == 0.0 and not found.absent:
        parts = [f"equal to the bit in {found.compared}"]
    elif found.difference is not None:
        agree = found.difference <= tolerance and not found.absent
        parts = [
            f"{'agree' if agree else 'DIFFER'} to {tolerance:.1g} in {found.compared}",
            f"largest difference {found.difference:.1e} ({found.where})",
        ]
    if found.absent:
        parts.append(f"{found.absent} absent from ours")
    if found.undefined:
        rest = len(found.undefined) - _FEW
        named = ", ".join(found.undefined[:_FEW]) + (f" and {rest} more" if rest > 0 else "")
        parts.append(f"not a number: {named}")
    return "; ".join(parts)
