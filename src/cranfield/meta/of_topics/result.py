"""What samples of topics say, compared with what all topics say."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cranfield.tabular import frame_html


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """What samples of topics say, compared with what all topics say.

    Attributes
    ----------
    measure, systems
        Of the scores.
    topics
        Number of topics n.
    test, correction, alpha
        How pairs of systems were compared.
    repeats
        Number of samples of each size.
    replace
        Whether samples were drawn with replacement.
    confidence
        Level of the limits in all tables: the share of samples between `low` and `high`.
    seed
        Of the samples.
    significant
        Number of significant pairs on all topics.
    pairs
        Number of all pairs.
    by_size
        Table with a row a number of `topics`:

        - `samples`, and those of them that are `untested`, since the test could not be done: they
          count as finding nothing,
        - mean and limits of Kendall's `tau` with the ranking by all topics, and of `tau ap`, which
          holds that one for the truth and looks at the top,
        - `same first`, how often the first system is first by all topics,
        - mean, median and limits of the number of `significant` pairs,
        - `found again`, the mean share of the pairs significant on all topics that are significant
          in a sample too, with the same better system,
        - `contradicted`, the mean number of them that are significant with the other.
    top
        Table by number of `topics` and `top` systems: `same`, how often the same systems are among
        the top ones; `overlap`, the mean share of those of both that are in both (the size of the
        intersection by that of the larger set).
    firsts
        Table by number of `topics` and `system`: the share of samples in which it comes `first`;
        those that share a first place share the sample. Systems that never do are left out.
    ranks
        Table with a row a system, from best to worst: its `mean` and `rank` by all topics, the
        limits `low` and `high` of its rank, and `best`, its share of first places. Both come from
        samples with replacement of as many topics as there are.
    samples
        Table with a row a sample: `topics`, `repeat`, `tau`, `tau ap`, whether it was `tested`,
        and the numbers of pairs that are `significant`, `found again` and `contradicted`.
    notes
        What was left out or filled in.
    """

    measure: str
    systems: tuple[str, ...]
    topics: int
    test: str
    correction: str
    alpha: float
    repeats: int
    replace: bool
    confidence: float
    seed: int
    significant: int
    pairs: int
    by_size: pl.DataFrame
    top: pl.DataFrame
    firsts: pl.DataFrame
    ranks: pl.DataFrame
    samples: pl.DataFrame
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return frame_html(self.by_size, repr(self))

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        sizes = self.by_size["topics"].to_list()
        return (
            f"Stability({label}{len(self.systems)} systems, {sizes[0]} to {sizes[-1]} of"
            f" {self.topics} topics, {self.repeats} repeats, {self.test} with {self.correction})"
        )
