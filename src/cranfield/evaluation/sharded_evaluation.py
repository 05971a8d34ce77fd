"""Scores of several measures by shard, kept together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
import polars as pl

from cranfield.base.whole_files import whole_file
from cranfield.base.words import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.shards.sharding import Sharding
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import Measure
from cranfield.scores import Scores
from cranfield.tabular import frame_html


@dataclass(frozen=True, eq=False, repr=False)
class ShardedEvaluation(Mapping[str, Scores]):
    """Scores of several measures by shard: a mapping of text forms to scores.

    Attributes
    ----------
    measures
        The measures, in order.
    scores
        The scores by text form; values have shape (topics, systems, shards). NaN where a topic has
        no relevant document in a shard, and where its policy says that a system has no score.
    whole
        The ordinary evaluation of the same runs, on the whole collection.
    sharding
        The partition of the documents.
    judged
        The judged runs of each shard, for :func:`cranfield.score`.
    lost
        Documents in no shard that were left out: how many each system had retrieved, by system.
    lost_judgments
        How many judgments were left out for the same reason.

    Examples
    --------
    >>> from cranfield.evaluation.by_shard import score_shards
    >>> run = {"q1": {"a": 4, "b": 3, "c": 2, "d": 1}, "q2": {"d": 2, "a": 1}}
    >>> qrels = {"q1": {"b": 1, "d": 1}, "q2": {"a": 1}}
    >>> halves = {"a": "left", "b": "left", "c": "right", "d": "right"}
    >>> ev = score_shards(run, qrels, "AP", shards=halves)
    >>> ev["AP"].values[:, 0].tolist(), ev.shards
    ([[0.5, 0.5], [1.0, nan]], ('left', 'right'))
    >>> ev.whole["AP"].values[:, 0].tolist()
    [0.5, 0.5]
    """

    measures: tuple[Measure, ...]
    scores: Mapping[str, Scores]
    whole: Evaluation
    sharding: Sharding
    judged: tuple[JudgedRuns, ...]
    lost: Mapping[str, int]
    lost_judgments: int

    def __getitem__(self, measure: str | Measure) -> Scores:
        return self.scores[self.whole[measure].measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order."""
        return self.whole.systems

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return self.whole.topics

    @property
    def shards(self) -> tuple[str, ...]:
        """The shards' names, in order."""
        return self.sharding.labels

    def counts(self) -> pl.DataFrame:
        """Count what each shard has.

        Returns
        -------
        polars.DataFrame
            One row a shard: `shard`, `judgments`, `relevant` (judgments of grade 1 or higher),
            `topics` (with one of these), and `retrieved` (documents of all systems and topics).
        """
        relevant = [judged.recall_base() for judged in self.judged]
        return pl.DataFrame(
            {
                "shard": pl.Series(self.shards, dtype=pl.String),
                "judgments": [judged.judgments.grade.size for judged in self.judged],
                "relevant": [int(base.sum()) for base in relevant],
                "topics": [int((base > 0).sum()) for base in relevant],
                "retrieved": [int(judged.retrieved.sum()) for judged in self.judged],
            }
        )

    def means(self) -> pl.DataFrame:
        """Return the overall value (mean, sum or geometric mean) by measure, shard and system.

        Returns
        -------
        polars.DataFrame
            One row a measure and shard: `measure`, `shard`, then a column a system. An overall
            value is over the topics that have a score in that shard.
        """
        taken = ("measure", "shard")
        overall = np.concatenate([scores.overall().T for scores in self.scores.values()])
        columns = {
            name if name not in taken else f"{name} ": pl.Series(overall[:, i]).fill_nan(None)
            for i, name in enumerate(self.systems)
        }
        labels = {
            "measure": np.repeat(np.array(list(self.scores), dtype=object), len(self.shards)),
            "shard": np.tile(np.array(self.shards, dtype=object), len(self.scores)),
        }
        return pl.DataFrame(
            {**{name: pl.Series(values, dtype=pl.String) for name, values in labels.items()}}
            | columns
        )

    def to_polars(self) -> pl.DataFrame:
        """Return all scores in a long table: measure, topic, system, shard, score."""
        shape = (len(self.topics), len(self.systems), len(self.shards))
        places = np.indices(shape).reshape(3, -1)
        axes = {"topic": self.topics, "system": self.systems, "shard": self.shards}
        labels = {
            name: pl.Series(axis, dtype=pl.String).gather(place)
            for (name, axis), place in zip(axes.items(), places, strict=True)
        }
        parts = [
            pl.DataFrame({**labels, "score": scores.values.ravel()}).select(
                pl.lit(name).alias("measure"), pl.all()
            )
            for name, scores in self.scores.items()
        ]
        return pl.concat(parts).with_columns(pl.col("score").fill_nan(None))

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the long table as CSV."""
        with whole_file(path) as out:
            self.to_polars().write_csv(out)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the long table as Parquet."""
        with whole_file(path) as out:
            self.to_polars().write_parquet(out)

    def _repr_html_(self) -> str:
        return frame_html(self.means(), repr(self))

    def __repr__(self) -> str:
        return (
            f"ShardedEvaluation({counted(len(self.topics), 'topic')},"
            f" {counted(len(self.systems), 'system')}, {counted(len(self.shards), 'shard')}:"
            f" {', '.join(self.scores)})"
        )
