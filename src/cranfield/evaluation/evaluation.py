"""Evaluate: judge the runs, compute the measures, keep everything together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cranfield.base.optional import optional_module
from cranfield.base.whole_files import whole_file
from cranfield.base.words import counted
from cranfield.collection.judged.coverage import Coverage
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.measures import Measure, parse_measures
from cranfield.scores import Scores
from cranfield.scores.several_measures import by_system, long_table
from cranfield.tabular import frame_html

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Mapping[str, Scores]):
    """Scores of several measures on the same judged runs: a mapping of text forms to scores.

    Attributes
    ----------
    measures
        The measures, in order.
    judged
        The judged runs that were scored, with the policies and the coverage.
    scores
        The scores by text form.
    compat
        The preset whose roundings trec_eval's names stand for.

    Examples
    --------
    >>> import cranfield as cf
    >>> ev = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["AP", "RR"])
    >>> ev["AP"].values.tolist(), list(ev)
    ([[0.5]], ['AP', 'RR'])
    """

    measures: tuple[Measure, ...]
    judged: JudgedRuns
    scores: Mapping[str, Scores]
    compat: str | None = None

    def __getitem__(self, measure: str | Measure) -> Scores:
        found = self.scores.get(str(measure))
        if found is None:
            # An alias or a name of trec_eval finds its measure too.
            [asked, *more] = parse_measures(measure, compat=self.compat)
            found = None if more else self.scores.get(str(asked))
        if found is None:
            some = ", ".join([*self.scores][:10]) + (", …" if len(self.scores) > 10 else "")
            raise KeyError(f"{measure} was not evaluated; {some} were")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order."""
        return self.judged.systems

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return self.judged.topics

    @property
    def coverage(self) -> Coverage:
        """What the runs and the judgments did not have in common."""
        return self.judged.coverage

    def means(self) -> pl.DataFrame:
        """Return the overall value of each measure (mean, sum or geometric mean) by system.

        Returns
        -------
        polars.DataFrame
            One row a measure: `measure`, then a column a system.
        """
        table = {"measure": list(self.scores)}
        overall = np.array([scores.overall() for scores in self.scores.values()])
        columns = {
            name if name != "measure" else "measure ": pl.Series(overall[:, i]).fill_nan(None)
            for i, name in enumerate(self.systems)
        }
        return pl.DataFrame({**table, **columns})

    def by_system(self) -> pl.DataFrame:
        """Return the overall values with one row a system and a column a measure."""
        return by_system(self.scores)

    def summary(self) -> pl.DataFrame:
        """Return mean, median, geometric mean and standard deviation by measure and system."""
        parts = [
            scores.summary().select(pl.lit(name).alias("measure"), pl.all())
            for name, scores in self.scores.items()
        ]
        return pl.concat(parts)

    def to_polars(self) -> pl.DataFrame:
        """Return all scores in a long table: measure, topic, system, score; no score is null."""
        return long_table(self.scores)

    def to_pandas(self) -> pd.DataFrame:
        """Return the long table as a pandas data frame."""
        optional_module("pandas")
        return self.to_polars().to_pandas()

    def to_xarray(self) -> xr.Dataset:
        """Return an xarray data set with a variable a measure."""
        xarray = optional_module("xarray")
        return xarray.Dataset(  # type: ignore[no-any-return]
            {name: scores.to_xarray() for name, scores in self.scores.items()}
        )

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the long table as CSV."""
        with whole_file(path) as out:
            self.to_polars().write_csv(out)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the long table as Parquet."""
        with whole_file(path) as out:
            self.to_polars().write_parquet(out)

    def _repr_html_(self) -> str:
        return frame_html(self.by_system(), repr(self))

    def __repr__(self) -> str:
        return (
            f"Evaluation({counted(len(self.topics), 'topic')},"
            f" {counted(len(self.systems), 'system')}: {', '.join(self.scores)})"
        )


def evaluate(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    compat: str | None = None,
    **policies: Any,
) -> Evaluation:
    """Score runs against judgments.

    Parameters
    ----------
    runs
        Whatever :func:`cranfield.read_runs` takes: paths, globs, folders, dicts, data frames.
    qrels
        Whatever :func:`cranfield.read_qrels` takes.
    measures
        Measures or their text forms; names of trec_eval are understood.
    compat
        Another program's policies: `trec_eval`, `trec_eval-9`, `trec_eval-10`, `ndeval`, `gdeval`,
        `ntcireval`, `cwl`; its names of measures mean what they mean there.
    policies
        As for :func:`cranfield.judge`: `ties`, `topics`, `unjudged`, `negative`, `depth`,
        `lengths`, `groups`, `intents`, `aspects`, `jobs`, `progress`.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`.

    Raises
    ------
    MeasureError, InputError, PolicyError
        Before anything is computed, for what does not exist; while reading, for what cannot be
        read.

    Examples
    --------
    >>> import cranfield as cf
    >>> ev = cf.evaluate({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "c": 2}}, ["P@2", "nDCG"])
    >>> ev.by_system().rows()
    [('run', 0.5, 0.7601...)]
    """
    wanted = parse_measures(measures, compat=compat)
    return score(judge(runs, qrels, compat=compat, **policies), wanted, compat=compat)


def score(
    judged: JudgedRuns,
    measures: str | Measure | Iterable[str | Measure],
    *,
    compat: str | None = None,
) -> Evaluation:
    """Score runs that are judged already.

    Parameters
    ----------
    judged
        The outcome of :func:`cranfield.judge`.
    measures
        Measures or their text forms.
    compat
        Read trec_eval's names with the roundings of that preset.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`.
    """
    wanted = parse_measures(measures, compat=compat)
    settings = judged.policies.describe()
    scores = {
        str(one): Scores(
            np.where(judged.scored, one.score(judged), np.nan),
            judged.topics,
            judged.systems,
            measure=str(one),
            aggregate=one.info.aggregate,
            settings=settings,
            scale=one.scale,
            lower_is_better=one.info.lower_is_better,
        )
        for one in wanted
    }
    return Evaluation(tuple(wanted), judged, scores, compat)
