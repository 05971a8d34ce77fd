"""What an experiment found: metric by variant, behind what must hold before anything is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import quoted
from cranfield.base.escape import plain
from cranfield.base.showing import Plotted
from cranfield.base.words import counted
from cranfield.online.experiments.sample_ratio import ALARM, SampleRatio
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.tabular import Table, from_frame
from cranfield.tabular.frames import Framed

STOPPED = "no verdict: units are not spread as they should be, and no result can be trusted"

BY = {
    "log": "of the logarithm of the ratio (delta method)",
    "linear": "of the ratio (delta method)",
    "fieller": "by Fieller's method",
}


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentReport(Framed, Plotted):
    """Means of all metrics by variant, and how the variants differ from the control.

    Attributes
    ----------
    source, unit
        Where the data came from, and what is counted and was randomised.
    variants
        The variants, the control first.
    metrics
        The metrics; the last one is `OEC` if there is one.
    sample_ratio
        Whether variants have the units that they should have.
    sample_ratios
        The same by day and segment: a data frame with `by`, `level`, `units`, `p`, `adjusted_p`.
    units
        Units of each variant, shape (variants,).
    means, mean_low, mean_high
        Means, adjusted for covariates, and their limits; shape (metrics, variants). Limits of
        shares are Wilson's.
    difference, error, low, high
        Mean minus that of the control, its standard error and limits, shape (metrics, variants -
        1).
    lift, lift_low, lift_high
        The same as a share of the control's mean.
    pvalues, adjusted_pvalues
        Before and after the correction for many comparisons. NaN, as are limits, in a report that
        is `stopped`.
    not_worse
        One-sided p-values of non-inferiority: that the loss is smaller than the margin. NaN without
        a margin.
    good
        Whether `up` or `down` is better, by metric.
    margins
        Non-inferiority margins by metric, None without one: a number in the unit of the metric, or
        a percentage of the mean of the control.
    tests
        Test of each metric and variant, whose p-value and interval are reported: `delta`,
        `permutation`, `exact permutation` (all of them), `bootstrap` or `always valid`.
    alpha, correction, lift_method, errors, theta
        Options of the analysis.
    sequential
        Text form of the sequential method, or empty.
    looks
        With a sequential method: a data frame with metric, variant, `units` at the look,
        `difference`, `low`, `high`, and `p`, the least so far.
    segments, interactions
        Data frames: effects by segment and level, and tests that they are the same at all levels.
    stopped
        Whether there is no verdict, as units are not spread as they should be.
    resamples, seed
        Of permutations or the bootstrap; 0 resamples where there are none.
    notes
        What a reader should be told.
    """

    source: str
    unit: str
    variants: tuple[str, ...]
    metrics: tuple[str, ...]
    sample_ratio: SampleRatio
    sample_ratios: pl.DataFrame
    units: Indices
    means: Floats
    mean_low: Floats
    mean_high: Floats
    difference: Floats
    error: Floats
    low: Floats
    high: Floats
    lift: Floats
    lift_low: Floats
    lift_high: Floats
    pvalues: Floats
    adjusted_pvalues: Floats
    not_worse: Floats
    good: tuple[str, ...]
    margins: tuple[float | str | None, ...]
    tests: tuple[tuple[str, ...], ...]
    alpha: float
    correction: str
    lift_method: str
    errors: str
    theta: str
    sequential: str
    looks: pl.DataFrame | None
    segments: pl.DataFrame | None
    interactions: pl.DataFrame | None
    stopped: bool
    resamples: int
    seed: int
    notes: tuple[str, ...]

    @property
    def control(self) -> str:
        """The variant that the others are compared with."""
        return self.variants[0]

    def is_significant(self) -> Bools:
        """Tell which differences are found, shape (metrics, variants - 1)."""
        return np.asarray(self.adjusted_pvalues <= self.alpha)

    @property
    def verdicts(self) -> tuple[tuple[str, ...], ...]:
        """What is found of each metric and variant: better, worse, not worse; or nothing."""
        found = self.is_significant()

        def of(k: int, j: int) -> str:
            if self.stopped:
                return "no verdict"
            if found[k, j]:
                return (
                    "better" if (self.difference[k, j] > 0) == (self.good[k] == "up") else "worse"
                )
            # Two-sided limits of alpha are one-sided ones of half of it.
            if self.not_worse[k, j] <= self.alpha / 2:
                return "not worse"
            return "undecided"

        shape = self.difference.shape
        return tuple(tuple(of(k, j) for j in range(shape[1])) for k in range(shape[0]))

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a metric and variant but the control."""
        rows, others = self.difference.shape
        by_row = np.repeat(np.arange(rows), others)
        frame = pl.DataFrame(
            {
                "metric": pl.Series([self.metrics[k] for k in by_row], dtype=pl.String),
                "variant": pl.Series([*self.variants[1:]] * rows, dtype=pl.String),
                "control mean": np.repeat(self.means[:, 0], others),
                "mean": self.means[:, 1:].ravel(),
                "difference": self.difference.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "lift": self.lift.ravel(),
                "lift low": self.lift_low.ravel(),
                "lift high": self.lift_high.ravel(),
                "p": self.pvalues.ravel(),
                "adjusted p": self.adjusted_pvalues.ravel(),
                "verdict": [one for row in self.verdicts for one in row],
            }
        )
        if np.isfinite(self.not_worse).any():
            frame.insert_column(-1, pl.Series("p not worse", self.not_worse.ravel()))
        return frame

    def table(self, places: int = 4) -> Table:
        """Return the table as it is printed."""
        frame = self.to_polars()
        if self.correction == "none" or self.difference.size == 1:
            frame = frame.drop("adjusted p")
        made = from_frame(frame, f"Experiment: {plain(self.source)}", places=places)
        return Table(made.title, made.head, made.rows, made.left, self.heading())

    def to_latex(self, places: int = 4, **how: object) -> str:
        """Return that table for booktabs; options as for :meth:`Table.to_latex`."""
        return self.table(places).to_latex(**how)  # type: ignore[arg-type]

    def heading(self) -> list[str]:
        """Return what was done, in a few lines: the sample ratio first."""
        lines = [str(self.sample_ratio)]
        bad = self.sample_ratios.filter(pl.col("adjusted_p") < ALARM)
        lines += [
            f"SAMPLE RATIO MISMATCH in {plain(by)} {plain(level)}: p {p:.3g}"
            for by, level, p in bad.select("by", "level", "p").iter_rows()
        ]
        if self.stopped:
            lines.append(STOPPED)
        lines.append(f"control: {plain(self.control)}")
        lines += self.methods()
        lines += [
            f"p not worse: that {plain(name)} loses less than"
            f" {f'{margin} of the mean of the control' if '%' in str(margin) else margin}"
            for name, margin in zip(self.metrics, self.margins, strict=True)
            if margin is not None
        ]
        if self.difference.size > 1:
            lines.append(
                f"p-values of all metrics and variants: {CORRECTIONS[self.correction].title}"
            )
        return [*lines, *(f"note: {plain(note)}" for note in self.notes)]

    def methods(self) -> list[str]:
        """Return one sentence per test that was used, with its metrics if there are several."""
        level = f"{1 - self.alpha:.4g} confidence intervals"
        tested = self._tested()
        return [
            f"{self._method(test)}, alpha {self.alpha:g}; {level}, {self._intervals(test)}"
            + (f": {', '.join(map(plain, names))}" if len(tested) > 1 else "")
            for test, names in tested.items()
        ]

    def _tested(self) -> dict[str, list[str]]:
        """Return the metrics, with the variant if tests differ between variants, by test."""
        found: dict[str, list[str]] = {}
        for name, tests in zip(self.metrics, self.tests, strict=True):
            for variant, test in zip(self.variants[1:], tests, strict=True):
                same = len({*tests}) == 1
                names = found.setdefault(test, [])
                if (label := name if same else f"{name} of {variant}") not in names:
                    names.append(label)
        return found

    def _method(self, test: str) -> str:
        drawn = (
            f"{counted(self.resamples, test.replace('bootstrap', 'resample'))}, seed {self.seed}"
        )
        return {
            "delta": "Welch's test by the delta method",
            "permutation": f"permutation test of Welch's statistic ({drawn})",
            "exact permutation": "exact permutation test of Welch's statistic",
            "bootstrap": f"bootstrap over {self.unit}s ({drawn})",
            "always valid": f"always valid, {self.sequential}",
        }[test]

    def _intervals(self, test: str) -> str:
        if test == "bootstrap":
            return "by percentiles"
        return f"of lifts {BY['fieller' if 'permutation' in test else self.lift_method]}"

    def __str__(self) -> str:
        made = self.table()
        from cranfield.tabular.text import grid

        parts = ["\n".join(self.heading()), grid(made)]
        if self.interactions is not None:
            parts.append(grid(from_frame(self.interactions, "")))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        units = " : ".join(f"{one:,}" for one in self.units)
        what = f"{counted(len(self.metrics), 'metric')}, {len(self.variants)} variants"
        what += f", control {quoted(self.control)}"
        ratio = str(self.sample_ratio).split(":")[0]
        return f"ExperimentReport({what}, {units} {self.unit}s; {ratio})"
