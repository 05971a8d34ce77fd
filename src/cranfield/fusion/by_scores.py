"""Fusion by the scores that runs give to documents, normalised and put together."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.segments import ratio
from cranfield.fusion.method import Fusion, finite
from cranfield.fusion.normalising import BY_NORM, absent
from cranfield.fusion.rankings import Rankings
from cranfield.measures.parameters import choice, number, parameter

_ABSENT = choice("zero", "out")


class Combination(Fusion):
    """A combination of the scores of each document.

    A run without any document for the topic has no part in it.
    """

    source = "Fox and Shaw 1994"
    by_score = True

    def values(self, given: Rankings, weights: Floats, norm: str) -> Floats:
        if not given.size:
            return np.zeros(0)
        each = finite(BY_NORM[norm](given) * weights[given.system])
        if (missing := absent(given, norm)) is None:
            sizes, values = given.holders, given.ascending(each)
        else:
            table = (missing * weights)[given.topic]
            table[given.ranked, given.system] = each
            table.sort(axis=1)
            there = np.isfinite(table)
            sizes, values = there.sum(axis=1), table[there]
        starts = np.r_[0, np.cumsum(sizes)[:-1]]
        return self.combined(values, starts, sizes, sizes, given.runs_of_topic[given.topic])

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        """Combine the values of each document.

        Parameters
        ----------
        values
            All of them, those of a document from its start, ascending.
        starts, sizes
            Where those of each document begin, and how many they are.
        counted
            How many of them count as found, for means and factors.
        runs
            How many runs there are for its topic.
        """
        raise NotImplementedError


class CombSum(Combination):
    """The sum of the scores; with weights of runs, a linear interpolation."""

    name = "CombSUM"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.add.reduceat(values, starts)


class CombMnz(Combination):
    """The sum of the scores, times the number of runs that have the document."""

    name = "CombMNZ"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.add.reduceat(values, starts) * counted


class CombGmnz(Combination):
    """The sum of the scores, times the number of runs that have the document to a power."""

    name = "CombGMNZ"
    source = "Lee 1997"
    gamma: float = parameter(1.0, number(0), "the power; 0 is CombSUM, 1 is CombMNZ")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.asarray(np.add.reduceat(values, starts) * counted**self.gamma)


class CombMax(Combination):
    """The largest score."""

    name = "CombMAX"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return np.asarray(values[starts + sizes - 1])


class CombMed(Combination):
    """The median of the scores; 0 of a run that does not rank it, or such a run is left out."""

    name = "CombMED"
    absent: str = parameter("zero", _ABSENT, "what a run says that does not rank the document")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        zeros = runs - sizes if self.absent == "zero" else np.zeros_like(sizes)
        # Zeros of runs that do not rank it come behind what is below 0.
        below = np.add.reduceat(values < 0, starts, dtype=np.int64)

        def at(place: Ints) -> Floats:
            own = np.where(place < below, place, place - zeros)
            among = (place >= below) & (own < below)
            return np.where(among, 0.0, values[starts + np.clip(own, 0, sizes - 1)])

        whole = sizes + zeros
        return np.asarray(at((whole - 1) // 2) / 2 + at(whole // 2) / 2)


class CombAnz(Combination):
    """The mean of the scores over the runs that have the document."""

    name = "CombANZ"

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        return ratio(np.add.reduceat(values, starts), counted)


class CombMin(Combination):
    """The smallest score; 0 of a run that does not rank it, or such a run is left out."""

    name = "CombMIN"
    absent: str = parameter("zero", _ABSENT, "what a run says that does not rank the document")

    def combined(
        self, values: Floats, starts: Ints, sizes: Ints, counted: Ints, runs: Ints
    ) -> Floats:
        lowest = values[starts]
        if self.absent == "out":
            return np.asarray(lowest)
        return np.where(sizes < runs, np.minimum(lowest, 0.0), lowest)
