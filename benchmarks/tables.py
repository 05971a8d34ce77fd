"""Results as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.process import Failure, Timing

Row = tuple[str, Sequence[str] | Failure]
"""The name of a row with its figures, or with why there are none."""

TIMING_HEAD = ("wall s", "cpu s", "peak MiB", "times")


@dataclass(frozen=True)
class Ratio:
    """A median of ratios between neighbouring measurements, and their range."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        middle = f"{self.middle:.3f}"
        return middle if self.low == self.high else f"{middle} ({self.low:.3f}-{self.high:.3f})"


def ratio(pairs: Sequence[tuple[Timing, Timing]]) -> Ratio:
    """Return by how much the first of each pair takes longer than the second."""
    ratios = [first.wall / second.wall for first, second in pairs]
    return Ratio(median(ratios), min(ratios), max(ratios))


def timing_cells(timings: Sequence[Timing], floor: float) -> list[str]:
    """Return the medians of repeated measurements as cells."""
    peak = median(timing.peak for timing in timings)
    return [
        f"{median(timing.wall for timing in timings):.3f}",
        f"{median(timing.cpu for timing in timings):.3f}",
        # At the floor it is the memory of the measuring process that one sees.
        f"<{floor:.0f}" if peak <= floor + 0.5 else f"{peak:.0f}",
        str(len(timings)),
    ]


def table(title: str, head: Sequence[str], rows: Sequence[Row]) -> str:
    """Lay out rows: names to the left, figures to the right, failures across the columns."""
    figures = [cells for _, cells in rows if not isinstance(cells, Failure)]
    widths = [max(map(len, column)) for column in zip(head, *figures, strict=True)]
    first = max(len(name) for name, _ in rows)
    lines = [title, _line("", head, first, widths)]
    for name, cells in rows:
        if isinstance(cells, Failure):
            lines.append(f"  {name:<{first}}  {cells}")
        else:
            lines.append(_line(name, cells, first, widths))
    return "\n".join(lines) + "\n"


def _line(name: str, cells: Sequence[str], first: int, widths: Sequence[int]) -> str:
    figures = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([f"  {name:<{first}}", *figures]).rstrip()
