"""The image of a measure: its values, their spacing, and the ranks of scores.

Ferrante, Ferro and Fuhr (2021), section 5: a measure M orders the judged runs REL^N of length N,
and the rank of a value m in its image is (equation 2)

    phi(m) = |{x in M(REL^N) : x <= m}|,

from 1 to the size of the image; phi(M) is the interval-scaled version of M. In the paper's examples
of RBP with p = 1/2 and of RR, phi is 1 lower than by its equation; this module uses the equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, as_numbers, check_integer
from cranfield.base.kinds import Integer, check_arguments
from cranfield.base.text import inflect
from cranfield.measures.base import Measure
from cranfield.scales.forms.exact_values import TooManySumsError, Walk, split_form
from cranfield.scales.forms.form import (
    Additive,
    Stateful,
    check_depends_on_grades,
    count_ranks_read,
    get_lowest_relevant,
    limit_relevant,
)
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.images.representation import (
    MAX_VALUES,
    ConstantImage,
    EnumeratedImage,
    Gaps,
    ListedImage,
    TableImage,
)
from cranfield.scales.images.sampling import SampledImage, UnestimableRanksError
from cranfield.scales.images.sums import SummedImage
from cranfield.scales.images.windows import TooManyRunsError, WindowedImage, cut_ranks
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_judgments,
    check_runs,
    check_size,
    depends_on_recall_base,
    has_more_runs,
)

Representation = ListedImage | SummedImage | WindowedImage | SampledImage
"""Representation of an image: a table of values, or counts or estimates of their ranks."""

TIES = ("unique", "mid", "min", "max")
TOLERANCE = 2.0**-44
"""Maximum relative distance between a score and the value of the image that it represents."""


@dataclass(frozen=True, eq=False)
class Image:
    """The set of values of a measure on all runs of a length; returned by :func:`image`.

    Attributes
    ----------
    measure, length, grades
        The measure, the number N of ranks and the highest grade c.
    judgments
        Grades of the topic's judged documents.
    at_most
        Maximum number of relevant documents of a run; None without a limit.
    unit, offset
        A score is unit * sum + offset, where the sum depends only on the grades of the run.
    """

    measure: Measure
    length: int
    grades: int
    judgments: tuple[int, ...]
    at_most: int | None
    unit: float
    offset: float
    _representation: Representation

    @property
    def is_exact(self) -> bool:
        """True if ties and ranks are exact."""
        return not self.is_approximate and self.tolerance == 0.0

    @property
    def is_listed(self) -> bool:
        """True if all values of the measure are stored, and none is computed on demand."""
        return isinstance(self._representation, ListedImage)

    @property
    def is_approximate(self) -> bool:
        """True if relative ranks are approximate, as there are too many values."""
        return self._representation.is_approximate

    @property
    def _exact_representation(self) -> ListedImage | SummedImage | WindowedImage:
        if isinstance(self._representation, SampledImage) or self.is_approximate:
            # The number of values of a sampled image takes long to estimate.
            is_sampled = isinstance(self._representation, SampledImage)
            count, noun = (self.n_runs, "runs") if is_sampled else (self.size, "possible values")
            raise PolicyError(
                f"there are about 2^{count.bit_length() - 1} {noun}, too many for exact ranks; use"
                " compute_relative_ranks(), which has a stated error, or use shorter runs or fewer"
                " grades"
            )
        return self._representation

    @property
    def error(self) -> float:
        """Bound on the error of relative ranks, which holds with the stated `confidence`.

        0 unless relative ranks are approximate; then computing the bound takes up to a minute.
        """
        return self._representation.error

    @property
    def confidence(self) -> float:
        """Confidence level of the bound `error` for all relative ranks; 1 if it is proved."""
        return self._representation.confidence

    @property
    def precision(self) -> str:
        """Description of the error of relative ranks."""
        return self._representation.precision

    @property
    def tolerance(self) -> float:
        """Relative distance within which values count as equal.

        0 if ties are decided exactly; 2^-40 for a measure whose values are known only as floats.
        Ranks may then be too low, as distinct values may be closer.
        """
        return self._representation.tolerance

    @property
    def size(self) -> int:
        """Number of distinct values; an estimate if `confidence` is below 1."""
        return self._representation.size

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return self._representation.n_runs

    def values(self) -> Floats:
        """Return all values, ascending; shape (size,).

        Raises
        ------
        PolicyError
            For more than 2^22 values.

        >>> from cranfield import image
        >>> image("P@4").values().tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        if self.size > MAX_VALUES:
            size = f"{self.size:,}" if self.size < 2**62 else f"2^{self.size.bit_length() - 1}"
            raise PolicyError(
                f"{self.measure} has {size} possible values, but at most {MAX_VALUES:,} can be"
                " listed; use a smaller length or fewer grades"
            )
        return self._listing.copy()

    @cached_property
    def _listing(self) -> Floats:
        return np.asarray(
            self._multiply_by_unit(self._exact_representation.list_values()) + self.offset
        )

    def _multiply_by_unit(self, values: Any) -> Any:
        """Multiply by the unit; if it is 1 / n, divide by n as measures do."""
        divisor = round(1 / self.unit) if self.unit <= 1 else 0
        return values / divisor if divisor and 1 / divisor == self.unit else values * self.unit

    def find_gaps(self) -> Gaps:
        """Return the spacing of the values.

        Examples
        --------
        >>> from cranfield import image
        >>> gaps = image("RBP(p=0.5)@10").find_gaps()
        >>> gaps.is_equispaced, gaps.smallest == 2**-10, gaps.highest
        (True, True, 0.9990234375)
        """
        return self._gaps

    @cached_property
    def _gaps(self) -> Gaps:
        gaps = self._representation.find_gaps()
        low, high = (self._multiply_by_unit(x) + self.offset for x in (gaps.lowest, gaps.highest))
        min_gap, max_gap = (
            None if gap is None else self._multiply_by_unit(gap)
            for gap in (gaps.smallest, gaps.largest)
        )
        min_score, max_score = self.measure.info.range
        unused = None
        if np.isfinite(min_score) and np.isfinite(max_score):
            unused_range = max(0.0, low - min_score) + max(0.0, max_score - high)
            unused = min(1.0, unused_range / (max_score - min_score))
        return Gaps(gaps.is_equispaced, min_gap, max_gap, low, high, unused)

    def rank(self, values: ArrayLike) -> Ints:
        """Return the ranks of scores: the number of values of the image up to each score.

        Returns
        -------
        array
            Ranks from 1 to `size`; same shape as the scores.

        Raises
        ------
        PolicyError
            For a score that is not a finite number, has no value of the image, or several, within a
            relative distance of 2^-44 (`tolerance`, if larger); and if the image is too large.

        Notes
        -----
        If a measure depends on the recall base, its scores on a topic are values of the image with
        that recall base; pass it to :func:`image` as `judgments`.

        Examples
        --------
        Example 12 of the paper:

        >>> from cranfield import image
        >>> dcg = image("DCG(discount='max(1,log2(rank))')@4")
        >>> dcg.rank([2 + 1 / np.log2(3) + 0.5, 2.5, 0.5, 0.0]).tolist()
        [12, 10, 2, 1]
        """
        scores = as_numbers(values, "scores")
        points = scores.ravel()
        if not np.isfinite(points).all():
            raise PolicyError(f"scores must be finite, got {points[~np.isfinite(points)][0]}")
        if not points.size:
            return np.zeros(scores.shape, dtype=np.int64)
        unique_scores, inverse = np.unique(points, return_inverse=True)
        # The error of a score is relative to its summands, including the offset.
        radius = TOLERANCE * np.maximum(np.abs(unique_scores), abs(self.offset))
        ranks, matches = self._exact_representation.find_ranks(
            (unique_scores - self.offset) / self.unit, radius / self.unit
        )
        ranks, matches = ranks[inverse], matches[inverse]
        if (matches == 0).any():
            score = float(points[np.argmax(matches == 0)])
            raise PolicyError(
                f"{score!r} is not a value of {self.measure} on runs of length"
                f" {self.length} with grades 0 to {self.grades}{self._make_hint()}"
            )
        if (matches > 1).any():
            index = int(np.argmax(matches))
            raise PolicyError(
                f"the score {float(points[index])!r} is ambiguous: {matches[index]:,} values of"
                f" {self.measure} are too close for floats to distinguish them; rank the runs with"
                " rank_runs()"
            )
        return ranks.reshape(scores.shape)

    def _make_hint(self) -> str:
        """Return a hint about the recall base for a score that is not a value."""
        if not depends_on_recall_base(self.measure):
            return ""
        return (
            f" on a topic with {inflect(len(self.judgments), 'judged document')}; pass the recall"
            " base of the topic, on which values depend, such as judgments=3"
        )

    def require(self, n_runs: int, ties: str = "unique") -> None:
        """Raise an error if :meth:`rank_runs` cannot rank this number of runs.

        Raises
        ------
        PolicyError
            If there are too many values or runs, or for unknown `ties`.

        Examples
        --------
        >>> from cranfield import image
        >>> image("DCG@40").require(5000)
        >>> image("DCG@60").require(1)
        Traceback (most recent call last):
        cranfield.PolicyError: there are about 2^60 possible values, too many for exact ranks; ...
        """
        _check_ties(ties)
        self._exact_representation.check_rankable(n_runs, counts_runs=ties != "unique")

    def rank_runs(self, runs: Any, ties: str = "unique") -> Any:
        """Return the exact ranks of runs.

        Parameters
        ----------
        runs
            Rows of at most `length` grades; shorter runs are padded with grade 0.
        ties
            `unique`: the number of distinct values up to the value of the run, as in equation (2)
            of Ferrante, Ferro and Fuhr (2021). Or the rank among runs instead of values: `min`, 1 +
            the number of runs with a lower value; `max`, the number of runs with a lower or equal
            value; `mid`, the mean of `min` and `max`.

        Returns
        -------
        array
            Shape (runs,): int64, or float64 for `mid`.

        Raises
        ------
        PolicyError
            If runs are too long, grades are not 0 to c, runs have more than `at_most` relevant
            documents, the image is too large, or `ties` is unknown.

        Examples
        --------
        >>> from cranfield import image
        >>> dcg = image("DCG(discount='max(1,log2(rank))')@4")
        >>> dcg.rank_runs([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]).tolist()
        [10, 9, 9, 2]
        >>> dcg.rank_runs([[1, 0, 1, 1]], ties="mid").tolist()
        [12.5]
        """
        _check_ties(ties)
        rows = check_runs(runs, self.length, self.grades)
        if self.at_most is not None:
            n_relevant = (rows >= get_lowest_relevant(self.measure)).sum(axis=1)
            if n_relevant.max() > self.at_most:
                raise PolicyError(
                    f"runs must have at most at_most={self.at_most} relevant documents, got a run"
                    f" with {int(n_relevant.max())}"
                )
        if ties == "unique":
            return self._exact_representation.rank_runs(rows)
        n_lower, n_equal = self._exact_representation.count_lower_and_equal(rows)
        if ties == "min":
            return n_lower + 1
        return n_lower + n_equal if ties == "max" else n_lower + (n_equal + 1) / 2

    def compute_relative_ranks(self, runs: Any) -> Floats:
        """Return the ranks of runs, scaled to [0, 1]; `runs` as for :meth:`rank_runs`.

        If the image is too large for exact ranks, the result is the proportion of values up to the
        value of the run, with an error of at most `error`. The bound is proved for sums over ranks
        (:mod:`cranfield.scales.distribution`); for measures in which the gain at a rank depends on
        other ranks, such as AP, proportions are estimated from a sample
        (:mod:`cranfield.scales.images.sampling`).

        Examples
        --------
        >>> from cranfield import image
        >>> runs = [[0, 0, 0], [1, 0, 0], [1, 1, 1]]
        >>> image("RBP(p=0.5)@3").compute_relative_ranks(runs).round(3).tolist()
        [0.0, 0.571, 1.0]
        >>> long = image("RBP(p=0.8)@500")
        >>> long.is_exact, long.error < 1e-6
        (False, True)
        >>> long.compute_relative_ranks([[0], [1], [1] * 500]).round(4).tolist()
        [0.0, 0.0351, 1.0]
        """
        if isinstance(self._representation, SummedImage | SampledImage) and self.is_approximate:
            return self._representation.compute_relative_ranks(
                check_runs(runs, self.length, self.grades)
            )
        return self.normalise_ranks(self.rank_runs(runs))

    def normalise_ranks(self, ranks: ArrayLike) -> Floats:
        """Normalise ranks to [0, 1]: (rank - 1) / (size - 1), or 0 for an image of a single value.

        Examples
        --------
        >>> from cranfield import image
        >>> image("P@4").normalise_ranks([1, 2, 5]).tolist()
        [0.0, 0.25, 1.0]
        """
        return np.asarray((as_numbers(ranks, "ranks") - 1) / max(self.size - 1, 1))

    def __repr__(self) -> str:
        # The error of relative ranks is not shown, as computing it takes seconds.
        tolerance = f", values within {self.tolerance:.0e} are equal" if self.tolerance else ""
        ranks = ", relative ranks only" if self.is_approximate else tolerance
        limit = "" if self.at_most is None else f", at most {self.at_most} relevant"
        return f"Image({self.measure}, length={self.length}, grades={self.grades}{limit}{ranks})"


def _check_ties(ties: Any) -> None:
    if ties not in TIES:
        raise PolicyError(f"unknown ties {ties!r}; expected one of: {', '.join(TIES)}")


MAX_TABLE = 2**21
"""Maximum number of integers of a table during its construction."""
MAX_ENUMERATED = 2**20
"""Maximum number of runs that are scored for the image of a measure without a form."""
MAX_WIDE_RUNS = 2**20
"""Maximum number of runs for listing values that do not fit into 64 bits."""
MAX_READ_RANKS = 2**28
"""Maximum number of ranks read in all runs, if a user model reads beyond the end of runs."""
MAX_TOPIC_RUNS = 2**20, 2**16
"""Approximate maximum numbers of runs for an image of one topic, with and without a form."""


def image(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
    at_most: int | None = None,
    memory: Annotated[int, Integer(1)] = 2**30,
    jobs: Annotated[int | None, Integer(1)] = None,
    seed: Annotated[int, Integer(0)] = 0,
) -> Image:
    """Return the image of a measure: the set of its values on all runs of a length.

    Parameters
    ----------
    measure
        A measure or its text.
    length, grades
        Number N of ranks of the runs, by default the measure's cutoff, and the highest grade c.
    judgments
        Grades of the topic's judged documents, or the number of documents of the highest grade; by
        default N documents. They define the recall base and the ideal ranking, but do not limit the
        number of relevant documents of runs.
    at_most
        Maximum number of documents of grade `rel` or above in a run (1 for measures without
        `rel`); by default no limit.
    memory
        Approximate maximum memory in bytes.
    jobs
        Number of threads; by default one for each processor.
    seed
        Seed of the sample from which relative ranks are estimated if they cannot be computed.

    Returns
    -------
    Image
        The image. Expensive results are computed on first use, and cached.

    Raises
    ------
    PolicyError
        If the length is missing; for a length or highest grade that is not a positive integer, or
        too large (:func:`cranfield.scales.runs.check_size`); for other arguments out of range; and
        for images that are too large.
    MeasureError
        For an invalid measure, a measure that depends on more than the grades by rank, or grades
        above its `max_grade`.

    Notes
    -----
    The images of measures with an exact form are exact unless they have too many values
    (`is_approximate`). Other measures are scored on all runs, of which there may be at most 2^20
    (fewer for user models), and scores within a relative distance of 2^-40 count as equal.

    Examples
    --------
    >>> [image("DCG(discount='max(1,log2(rank))')", n).size for n in (4, 5, 10, 15)]
    [12, 24, 768, 24576]
    >>> image("AP", 10).size
    810
    """
    check_arguments(image, locals())
    measure = as_measure(measure, length)
    measure.require_complete()
    check_depends_on_grades(measure)
    length = measure.cutoff if length is None else length
    if length is None:
        raise PolicyError(f"length is required, such as image({str(measure)!r}, 10)")
    check_size(length, grades)
    length, grades = int(length), int(grades)
    documents, limit = check_judgments(judgments, length, grades), _check_limit(at_most, length)
    return _cached_image(measure, length, grades, documents, limit, memory, jobs, int(seed))


def make_topic_image(
    measure: Measure,
    length: int,
    grades: int,
    judgments: Sequence[int] | None,
    at_most: int | None = None,
) -> Image:
    """Return the image, for one topic, of a measure whose order of runs depends on the topic."""
    # Values that cannot be listed raise an error, as counting them for each topic would be slow.
    has_no_form = find_form(measure, length, grades) is None
    max_runs = MAX_TOPIC_RUNS[has_no_form]
    if not (has_no_form and has_more_runs(max_runs, length, grades)):
        documents, limit = check_judgments(judgments, length, grades), _check_limit(at_most, length)
        topic_image = _make_image(
            measure, length, grades, documents, limit, 2**30, None, 0, represent.__wrapped__
        )
        if topic_image.is_listed:
            return topic_image
    max_length = int(np.log(max_runs) / np.log(grades + 1) + 1e-9)
    raise PolicyError(
        f"the possible values of {measure} differ between topics and must be listed for each topic;"
        f" with {inflect(grades + 1, 'grade')} use a length of at most about {max_length}, got"
        f" {length}"
    )


def _check_limit(at_most: int | None, length: int) -> int | None:
    """Check a maximum number of relevant documents; return None if no run can exceed it."""
    if at_most is None:
        return None
    check_integer("at_most", at_most, 0)
    return int(at_most) if at_most < length else None


@lru_cache(maxsize=8)
def represent(
    rank_sum: Additive | Stateful,
    limit: int | None,
    rel: int,
    memory: int,
    jobs: int | None,
    seed: int,
) -> Representation:
    """Represent the values of the rank sum of a form, which is the same for all recall bases."""
    stateful = rank_sum
    if isinstance(rank_sum, Additive):
        try:
            return SummedImage(split_form(rank_sum, rel), limit, memory, jobs)
        except TooManySumsError:
            single_state = rank_sum.make_stateful()
            if single_state is None:
                raise PolicyError(
                    f"runs of length {rank_sum.length} with {rank_sum.max_grade + 1} grades have"
                    " too many ties to rank their values exactly; use shorter runs or fewer grades"
                ) from None
            stateful = single_state
    assert isinstance(stateful, Stateful)
    if limit is not None:
        stateful = limit_relevant(stateful, limit, rel)
    walk = Walk.from_form(stateful)
    is_wide = walk.dtype.hasobject
    # Integers with many digits need more memory. As they may not fit into windows, they are listed
    # nevertheless if there are few runs.
    has_many_digits = is_wide and walk.count_runs() > MAX_WIDE_RUNS
    rank, counts_by_state = cut_ranks(walk, MAX_TABLE // (4 if has_many_digits else 1))
    if rank == 0:
        return TableImage(walk, counts_by_state[0])
    rank, _ = cut_ranks(walk, memory // (2048 if is_wide else 128))
    try:
        return WindowedImage(walk, rank, jobs)
    except TooManyRunsError as error:
        try:
            return SampledImage(walk, seed, jobs)
        except UnestimableRanksError:
            raise error from None


def _make_image(
    measure: Measure,
    length: int,
    grades: int,
    judgments: tuple[int, ...],
    limit: int | None,
    memory: int,
    jobs: int | None,
    seed: int,
    make_representation: Callable[..., Representation] = represent,
) -> Image:
    rel = get_lowest_relevant(measure)
    if limit is not None and rel < 1:
        raise PolicyError(
            f"at_most cannot be combined with {measure}, which counts every document as relevant"
        )
    exact_form = find_form(measure, length, grades, judgments)
    unit, offset = (1.0, 0.0) if exact_form is None else (exact_form.unit, exact_form.offset)
    if exact_form is None:
        representation: Representation = _enumerate_image(measure, length, grades, judgments, limit)
    else:
        representation = make_representation(exact_form.rank_sum, limit, rel, memory, jobs, seed)
    if not unit:
        # Every run has the value of the offset.
        representation, unit = ConstantImage(representation.n_runs), 1.0
    return Image(measure, length, grades, judgments, limit, unit, offset, representation)


_cached_image = lru_cache(maxsize=256)(_make_image)


def _enumerate_image(
    measure: Measure, length: int, grades: int, judgments: tuple[int, ...], limit: int | None
) -> EnumeratedImage:
    """Score all runs for the image of a measure without a form; refuse too many runs."""
    n_ranks = count_ranks_read(measure)
    max_runs = min(MAX_ENUMERATED, max(1, MAX_READ_RANKS // (n_ranks or 1)))
    if has_more_runs(max_runs, length, grades):
        max_length = int(np.log(max_runs) / np.log(grades + 1) + 1e-9)
        reading = "" if n_ranks is None else f" to {inflect(n_ranks, 'rank')}"
        advice = f"; use a length of at most {max_length}" if max_length else ""
        raise PolicyError(
            f"finding the possible values of {measure} requires scoring every run{reading}, but"
            f" {grades + 1}^{length} runs of length {length} with {inflect(grades + 1, 'grade')}"
            f" are too many{advice}"
        )
    runs = all_runs(length, grades)
    if limit is not None:
        runs = runs[(runs >= get_lowest_relevant(measure)).sum(axis=1) <= limit]
    return EnumeratedImage(measure, runs, grades, judgments)
