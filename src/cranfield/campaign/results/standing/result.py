"""Where a run stands, as it is said and shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cranfield.base.words import counted
from cranfield.meta.study import Findings
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.tabular import Table, from_frame
from cranfield.tabular.frames import Framed

BEST, MEDIAN, BASELINE = "best", "median", "baseline"


def verdict_of(frame: pl.DataFrame, lower_is_better: bool = False) -> str:
    """Say in words where a run stands, from its comparisons with the best and the median.

    >>> columns = {"against": ["best", "median"], "difference": [-0.1, 0.2]}
    >>> verdict_of(pl.DataFrame({**columns, "separated": [False, True]}))
    'above the median, not separated from the best'
    """
    side: dict[str, str] = {}
    for against, difference, separated in frame.select(
        "against", "difference", "separated"
    ).iter_rows():
        above = "above" if (difference > 0) != lower_is_better else "below"
        side[against] = above if separated else "not separated from"
    if side[BEST] == "above":
        return "above the best"
    if side[MEDIAN] != "above":
        return f"{side[MEDIAN]} the median"
    return f"above the median, {side[BEST]} the best"


@dataclass(frozen=True, eq=False, repr=False)
class Standing(Framed):
    """Where a run stands beside a campaign's runs; made by :func:`standing`.

    Attributes
    ----------
    run, measure, judgments
        Tag of the run, text form of the measure, version of the judgments.
    unjudged
        Share of documents without a judgment among the first 10, and the first `depth`, of all
        topics; by rank.
    depth
        Depth of the pool, for `unjudged`.
    lost
        What leaving out each team finds that runs lose which were not pooled: `runs`, `mean drop`,
        `largest drop`, `largest rank change`; None where it is not known who was pooled.
    place, of
        Its place among the runs that it is compared with, itself one of them; equal means share it.
    mean
        Its mean score.
    frame
        A row a comparison: `against` (best, median, baseline), `tag`, `mean`, `difference` (the run
        minus that one), `low`, `high`, `raw p`, `p`, `separated`, and `standardised`, the mean
        standardised score of that run.
    standardised
        Mean of the run's standardised scores; the reference are the campaign's runs. None for less
        than ten of them.
    verdict
        In words: `below the median`, `not separated from the median`, `above the median, below the
        best`, `above the median, not separated from the best`, or `above the best`.
    comparison
        The comparison that says so, by :func:`cranfield.compare`.
    baseline
        Where the baseline stands; None without one.
    notes
        What a reader should be told.
    """

    run: str
    measure: str
    judgments: str
    unjudged: dict[int, float]
    depth: int
    lost: dict[str, float] | None
    place: int
    of: int
    mean: float
    frame: pl.DataFrame
    standardised: float | None
    verdict: str
    comparison: PairwiseComparison
    baseline: Standing | None
    notes: tuple[str, ...]

    def to_polars(self) -> pl.DataFrame:
        """Return the comparisons, those of the baseline too."""
        rows = [self.frame.select(pl.lit(self.run).alias("run"), pl.all())]
        if self.baseline is not None:
            rows.append(self.baseline.to_polars())
        return pl.concat(rows)

    def lines(self) -> list[str]:
        """Say it in lines, what is unjudged first."""
        shares = ", ".join(f"{share:.1%} of the first {d}" for d, share in self.unjudged.items())
        lines = [f"{self.run}: without a judgment are {shares}"]
        if self.lost is not None:
            lines.append(
                f"runs that were not pooled lose up to {self.lost['largest drop']:.4f} of"
                f" {self.measure} (mean {self.lost['mean drop']:.4f}) and up to"
                f" {self.lost['largest rank change']:.0f} places: leaving out each team of"
                f" {counted(int(self.lost['runs']), 'pooled run')}"
            )
        z = "" if self.standardised is None else f", standardised {self.standardised:+.2f}"
        lines.append(
            f"{self.measure} {self.mean:.4f}{z}: place {self.place:,} of {self.of:,}"
            f" (judgments {self.judgments})"
        )
        return [*lines, f"verdict: {self.verdict}"]

    def tables(self) -> list[Table]:
        """Return the comparisons as they are shown."""
        title = f"{self.run}: {self.comparison.method}"
        shown = self.frame if self.standardised is not None else self.frame.drop("standardised")
        table = replace(from_frame(shown, title), remarks=list(self.notes))
        return [table, *(self.baseline.tables() if self.baseline else [])]

    def findings(self) -> Findings:
        """Return it as it is shown and written."""
        heading = [*self.lines(), *(self.baseline.lines() if self.baseline else [])]
        about = self.about()
        if self.baseline is not None:
            about["baseline"] = self.baseline.about()
        frames = {"comparisons": (self.to_polars(), ("run", "against"))}
        return Findings(heading, self.tables(), frames, about)

    def about(self) -> dict[str, Any]:
        """Return what is said of the run, as plain values."""
        return {
            "run": self.run,
            "measure": self.measure,
            "judgments": self.judgments,
            "unjudged": {str(depth): share for depth, share in self.unjudged.items()},
            "lost when not pooled": self.lost,
            "mean": self.mean,
            "standardised": self.standardised,
            "place": self.place,
            "of": self.of,
            "verdict": self.verdict,
            "method": self.comparison.method,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        found = self.findings()
        return "\n".join([*found.heading, "", *(table.to_text() for table in found.tables)])

    def __repr__(self) -> str:
        return f"Standing({self.run}: {self.verdict}, place {self.place:,} of {self.of:,})"
