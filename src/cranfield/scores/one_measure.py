"""Scores: the values of one measure, topic by system; and evaluations, several of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError, quoted
from cranfield.base.escape import html
from cranfield.base.optional import optional_module
from cranfield.base.scale_types import Scale
from cranfield.base.whole_files import whole_file
from cranfield.base.words import counted
from cranfield.tabular import frame_html

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FLOOR = 1e-5
"""Scores below it count as it in a geometric mean, as in trec_eval's gm_map."""

AGGREGATES = ("mean", "sum", "geometric")
"""How a measure's scores over topics become one number."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one measure.

    Attributes
    ----------
    values
        Shape (topics, systems), or (topics, systems, shards); NaN is 'no score'.
    topics, systems
        Labels of the first two axes.
    measure
        Text form of the measure.
    aggregate
        How the measure itself is summed up over topics: `mean`, `sum` or `geometric`.
    settings
        How the scores were made, for the record.
    scale
        The scale that the measure is declared to be on; None where it is not known.
    lower_is_better
        Whether a low score is the good one.

    Examples
    --------
    >>> scores = Scores([[0.5, 1.0], [0.0, 0.5]], topics=["q1", "q2"], systems=["a", "b"])
    >>> scores.mean().tolist()
    [0.25, 0.75]
    """

    values: NDArray[np.float64]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    measure: str = ""
    aggregate: str = "mean"
    settings: dict[str, Any] = field(default_factory=dict)
    scale: Scale | None = None
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "values", np.asarray(self.values, dtype=np.float64))
        set_(self, "topics", tuple(str(topic) for topic in self.topics))
        set_(self, "systems", tuple(str(system) for system in self.systems))
        wanted = (len(self.topics), len(self.systems))
        if self.values.ndim not in {2, 3} or self.values.shape[:2] != wanted:
            raise CranfieldError(
                f"values of shape {self.values.shape} do not fit"
                f" {wanted[0]} topics and {wanted[1]} systems"
            )
        for what, labels in (("topic", self.topics), ("system", self.systems)):
            if len(set(labels)) < len(labels):
                twice = next(label for label in labels if labels.count(label) > 1)
                raise CranfieldError(f"two {what}s are called {quoted(twice)}")
        if self.aggregate not in AGGREGATES:
            raise CranfieldError(f"aggregate {quoted(self.aggregate)} is none of {AGGREGATES}")

    def _over_topics(self, function: Any) -> NDArray[np.float64]:
        """Apply to each system's scores; NaN for a system that has none."""
        out = np.full(self.values.shape[1:], np.nan)
        some = ~np.isnan(self.values).all(axis=0)
        if some.any():
            out[some] = function(self.values[:, some], axis=0)
        return out

    def mean(self) -> NDArray[np.float64]:
        """Arithmetic mean over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmean)

    def median(self) -> NDArray[np.float64]:
        """Median over the topics that have a score; shape (systems,)."""
        return self._over_topics(np.nanmedian)

    def std(self) -> NDArray[np.float64]:
        """Sample standard deviation over topics (divisor n - 1); NaN for one topic."""
        counts = (~np.isnan(self.values)).sum(axis=0)
        deviations = self.values - self.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(
                counts > 1, np.sqrt(np.nansum(deviations**2, axis=0) / (counts - 1)), np.nan
            )

    def sum(self) -> NDArray[np.float64]:
        """Sum over topics; shape (systems,)."""
        return self._over_topics(np.nansum)

    def geometric_mean(self, floor: float = FLOOR) -> NDArray[np.float64]:
        """Geometric mean, scores below `floor` taken as `floor`; shape (systems,)."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.values, floor))
        return np.exp(Scores(logs, self.topics, self.systems).mean())

    def overall(self) -> NDArray[np.float64]:
        """The one number a system that the measure defines: its mean, sum or geometric mean."""
        if self.aggregate == "sum":
            return self.sum()
        return self.geometric_mean() if self.aggregate == "geometric" else self.mean()

    def summary(self) -> pl.DataFrame:
        """Return mean, median, geometric mean and standard deviation of each system."""
        self._flat()
        return pl.DataFrame(
            {
                "system": self.systems,
                "topics": (~np.isnan(self.values)).sum(axis=0),
                "mean": self.mean(),
                "median": self.median(),
                "geometric mean": self.geometric_mean(),
                "std": self.std(),
            }
        )

    def _flat(self) -> NDArray[np.float64]:
        if self.values.ndim != 2:
            raise CranfieldError("scores by shard have no table of topics and systems")
        return self.values

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a topic and a column a system; no score is null."""
        values = self._flat()
        columns = {"topic": pl.Series(self.topics, dtype=pl.String)}
        for i, system in enumerate(self.systems):
            name = system if system not in columns else f"{system} "
            columns[name] = pl.Series(values[:, i]).fill_nan(None)
        return pl.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame, topics as index, systems as columns."""
        pandas = optional_module("pandas")
        return pandas.DataFrame(
            self._flat(),
            index=pandas.Index(self.topics, name="topic"),
            columns=pandas.Index(self.systems, name="system"),
        )

    def to_xarray(self) -> xr.DataArray:
        """Return an xarray data array with dimensions topic, system (and shard)."""
        dims = ("topic", "system", "shard")[: self.values.ndim]
        return optional_module("xarray").DataArray(  # type: ignore[no-any-return]
            self.values,
            dims=dims,
            coords={"topic": list(self.topics), "system": list(self.systems)},
            name=self.measure or None,
        )

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of topics and systems as CSV."""
        with whole_file(path) as out:
            self.to_polars().write_csv(out)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table of topics and systems as Parquet."""
        with whole_file(path) as out:
            self.to_polars().write_parquet(out)

    def _repr_html_(self) -> str:
        if self.values.ndim != 2:
            return f"<pre>{html(repr(self))}</pre>\n"
        return frame_html(self.summary(), repr(self))

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        shards = f", {self.values.shape[2]} shards" if self.values.ndim == 3 else ""
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self.systems), 'system')}"
        return f"Scores({label}{size}{shards})"
