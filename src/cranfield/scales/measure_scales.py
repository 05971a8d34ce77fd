"""Scales of measures: proofs and counterexamples.

Additive measures are decided against the total orders by the differences of neighbours, of which
there are few kinds. For its own order any measure that rewards swaps and replacements can be
decided at the bottom of the partial order: below all other runs are the empty one, and those with
one document at the last ranks.

If there are too many runs to enumerate, scales are decided by proofs and by witnesses among few
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.scale_types import Scale
from cranfield.measures.base import Measure
from cranfield.scales.admissible import admitted_statistics, admitted_tests
from cranfield.scales.forms.exact_values import TOLERANCE, Values, exact_values, values_of
from cranfield.scales.forms.form import (
    Additive,
    Form,
    Irrational,
    Number,
    beyond_length,
    check_grades_decide,
)
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.forms.stateful import TooManySumsError, split
from cranfield.scales.images.sums import Sums
from cranfield.scales.images.values import Image, image
from cranfield.scales.orders import rbto, sbto
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_base,
    check_size,
    depends_on_recall_base,
)
from cranfield.scales.verdicts import (
    MAX_LISTED,
    Run,
    RunSet,
    ScaleReport,
    TopicsReport,
    Verdict,
    Witness,
    run_set,
    with_required_cutoff,
)

BLOCK = 512
"""Number of steps compared at a time."""

Step = tuple[Run, Run]


def rank_based_steps(length: int, top: int) -> Iterator[Step]:
    """Yield neighbours in the rank-based total order, a pair for each possible difference.

    The next run has the last grade below c raised by one and all grades after it set from c to 0;
    grades before it are the same and cancel out.
    """
    for k in reversed(range(length)):
        n_after = length - 1 - k
        for grade in range(top):
            yield (*[0] * k, grade, *[top] * n_after), (*[0] * k, grade + 1, *[0] * n_after)


def set_based_steps(length: int, top: int) -> Iterator[Step]:
    """Yield neighbours in the set-based total order, as needed for a measure of equal weights.

    The next set has one of its documents of the lowest grade g raised by one, and the others of
    grade g set to 0.
    """
    yield (0,) * length, (1, *[0] * (length - 1))
    for grade in range(1, top):
        for n_others in range(length):
            # Documents before are the same in both, here of the highest grade.
            rest = (top,) * (length - 1 - n_others)
            yield (*rest, *[grade] * (n_others + 1)), (*rest, grade + 1, *[0] * n_others)


def judge_steps(order: str, steps: Iterable[Step], form: Form, sign: int, reason: str) -> Verdict:
    """Decide a total order from all differences of neighbours."""
    remaining = iter(steps)
    first: tuple[Step, Any] | None = None
    uneven: tuple[Run, ...] = ()
    while block := list(islice(remaining, BLOCK)):
        values = values_of(form, np.array(block).reshape(2 * len(block), -1))
        lower, upper = values.place.reshape(-1, 2).T
        violations = np.flatnonzero(sign * (upper - lower) <= 0)
        if violations.size:
            index = int(violations[0])
            kind = "inverted" if upper[index] != lower[index] else "tied"
            return Verdict(order, None, True, _make_form_witness(kind, block[index], form), reason)
        gains = values.keys[upper] - values.keys[lower]
        # Keys of all blocks are over the same denominator, that of the form.
        first = first or (block[0], gains[0])
        differing = np.flatnonzero((gains != first[1]).any(axis=1))
        if differing.size and not uneven:
            uneven = (*first[0], *block[int(differing[0])])
    if uneven:
        return Verdict(order, Scale.ORDINAL, True, _make_form_witness("gaps", uneven, form), reason)
    return Verdict(order, Scale.INTERVAL, True, None, reason)


def prove_rank_based(order: str, form: Form, sign: int) -> Verdict:
    steps = rank_based_steps(form.shape.length, form.shape.grades)
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def prove_set_based(order: str, form: Form, sign: int) -> Verdict:
    length, top = form.shape.length, form.shape.grades
    assert isinstance(form.shape, Additive)
    gains = [_gains_of_grades(form, rank) for rank in range(length)]
    for k, grade in np.ndindex(length, top + 1):
        if gains[k][grade] != gains[0][grade]:
            runs = ((grade, *[0] * (length - 1)), (*[0] * k, grade, *[0] * (length - k - 1)))
            return Verdict(order, None, True, _make_form_witness("distinguished", runs, form))
    steps = set_based_steps(length, top)
    return judge_steps(order, steps, form, sign, "from all steps between neighbours")


def _gains_of_grades(form: Form, rank: int) -> list[tuple[Fraction, Fraction] | None]:
    """Return the gain of each grade over grade 0 at a rank, as coefficient and base, or None."""
    assert isinstance(form.shape, Additive)
    if not form.divisor:
        return [None] * (form.shape.grades + 1)
    row, base = form.shape.coefficients[rank], form.shape.bases[rank]
    return [(coefficient - row[0], base) if coefficient != row[0] else None for coefficient in row]


def lowest_runs(length: int, grades: int) -> Ints:
    """Return the empty run, and the runs with one document at one of the last two ranks."""
    rows = np.zeros((1 + grades * min(length, 2), length), dtype=np.int64)
    levels = np.arange(1, grades + 1)
    rows[levels, -1] = levels
    if length > 1:
        rows[levels + grades, -2] = levels
    return rows


def find_uneven_bottom(values: Values, runs: Ints, sign: int) -> Witness | None:
    """Return two unequal steps among the lowest values of a monotone measure; None if equal.

    Let h be the lowest grade with a gain. The run with one h at the last rank but one bounds all
    runs that retrieve more than the last rank from below, so that the values below its value, all
    of `runs`, are neighbours.
    """
    grades = (len(runs) - 1) // 2
    place = values.place if sign > 0 else values.size - 1 - values.place
    worth = np.flatnonzero(place[1 : grades + 1] > place[0])
    if not worth.size:
        return None
    ranks, first = np.unique(place[: grades + 1], return_index=True)
    bound = 1 + grades + int(worth[0])
    lowest = [int(index) for index in first[ranks < place[bound]]] + [bound]
    if len(lowest) < 3:
        return None
    scores = [values.value(int(values.place[index])) for index in lowest]
    if (steps := find_unequal_steps(scores)) is None:
        return None
    return _make_witness("gaps", values, runs, [lowest[place] for place in steps])


def find_unequal_steps(
    values: Sequence[Any], slack: float = 0.0
) -> tuple[int, int, int, int] | None:
    """Return the indices of the first step between neighbours and of one that differs from it."""
    steps = [abs(upper - lower) for lower, upper in pairwise(values)]
    uneven = (
        i for i, step in enumerate(steps) if step != steps[0] and abs(step - steps[0]) > slack
    )
    index = next(uneven, None)
    return None if index is None else (0, 1, index, index + 1)


def is_evenly_spaced(form: Form) -> bool | None:
    """Return True if the values of an additive measure are equally spaced; None if undecidable."""
    shape = form.shape
    assert isinstance(shape, Additive)
    if not form.divisor or _is_contiguous(shape):
        return True
    try:
        # No grade counts as relevant, as the number of relevant documents does not matter here.
        return Sums(split(shape, shape.grades + 1), None, 2**30, None).gaps().equispaced
    except TooManySumsError:
        return None


def _is_contiguous(shape: Additive) -> bool:
    """Return True if the sums of weights are all multiples of a unit up to the highest.

    If the ranks so far have all multiples from 0 to T, one more rank leaves no gap if no two of its
    neighbouring weights are more than T + 1 units apart.
    """
    if shape.stateful() is None:
        return False  # weights of several bases have no common unit
    weights = [sorted(set(row)) for row in shape.coefficients]
    steps = [[b - a for a, b in pairwise(row)] for row in weights]
    denominator = lcm(*(step.denominator for row in steps for step in row))
    integers = [[int(step * denominator) for step in row] for row in steps if row]
    unit = gcd(*(step for row in integers for step in row))
    total = 0
    for row in sorted(integers, key=max):
        if max(row) > total + unit:
            return False
        total += sum(row)
    return True


def _make_form_witness(kind: str, runs: tuple[Run, ...], form: Form) -> Witness:
    rows = np.array(runs)
    return _make_witness(kind, values_of(form, rows), rows, range(len(runs)))


OWN = "its own order"
SET_BASED = "set-based total order"
RANK_BASED = "rank-based total order"


def judge_own_order(values: Values, runs: Ints) -> Verdict:
    """Judge a measure for its own order, by the spacing of its values."""
    place = values.find_uneven_gap()
    if place is None:
        return Verdict(OWN, Scale.INTERVAL)
    return Verdict(OWN, Scale.ORDINAL, True, _make_gap_witness(values, runs, place))


def judge_order(order: str, ranks: NDArray[Any], values: Values, runs: Ints, sign: int) -> Verdict:
    """Judge a measure for a weak order of runs, from the rank of each run."""
    indices = values.place if sign > 0 else values.size - 1 - values.place
    classes = np.unique(ranks, return_inverse=True)[1].ravel()
    by_class = np.lexsort((indices, classes))
    ordered, sorted_place = classes[by_class], indices[by_class]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(starts[1:], len(ordered)) - 1
    # Within a class values ascend: the first is the lowest, the last the highest.
    low, high = sorted_place[starts], sorted_place[ends]
    before = np.maximum.accumulate(high)
    for kind, violations in (
        ("inverted", np.flatnonzero(before[:-1] > low[1:])),
        ("distinguished", np.flatnonzero(high > low)),
        ("tied", np.flatnonzero(before[:-1] == low[1:])),
    ):
        if violations.size:
            index = int(violations[0])
            if kind == "distinguished":
                pair = by_class[[starts[index], ends[index]]]
            else:
                highest = int(np.argmax(high[: index + 1] == before[index]))
                pair = by_class[[ends[highest], starts[index + 1]]]
            return Verdict(order, None, True, _make_witness(kind, values, runs, pair))
    gap = values.find_uneven_gap()
    if gap is None:
        return Verdict(order, Scale.INTERVAL)
    return Verdict(order, Scale.ORDINAL, True, _make_gap_witness(values, runs, gap))


def judge_total_orders(candidates: RunSet, values: Values, runs: Ints) -> list[Verdict]:
    """Judge a measure for the set-based and for the rank-based total order."""
    orders = ((SET_BASED, sbto), (RANK_BASED, rbto))
    return [
        judge_order(order, ranks(runs, candidates.grades), values, runs, candidates.sign)
        for order, ranks in orders
    ]


def _make_gap_witness(values: Values, runs: Ints, place: int) -> Witness:
    """Return runs that show that the gap at 0 and the gap at `place` are not equal."""
    pairs = [int(np.argmax(values.place == p)) for p in (0, 1, place, place + 1)]
    return _make_witness("gaps", values, runs, pairs)


def _make_witness(kind: str, values: Values, runs: Ints, places: Any) -> Witness:
    numbers: tuple[Number, ...] = tuple(values.value(int(values.place[i])) for i in places)
    return Witness(kind, tuple(tuple(map(int, runs[i])) for i in places), numbers)


SEARCHED = 2**10
"""Number of runs among which a witness is searched if there are too many runs."""


def search_verdicts(candidates: RunSet, exact: Form | None) -> list[Verdict]:
    """Return verdicts for the measure's own order, the set-based and the rank-based order.

    Additive measures are decided by the differences of neighbours if every run is possible; for
    others a witness is searched.
    """
    own_verdict = _search_own(candidates)
    if candidates.judgments is not None or exact is None or not isinstance(exact.shape, Additive):
        return [own_verdict, *_search_witnesses(candidates)]
    if not own_verdict.decided and (is_even := is_evenly_spaced(exact)) is not None:
        scale = Scale.INTERVAL if is_even else Scale.ORDINAL
        own_verdict = Verdict(OWN, scale, True, None, "from its weights and gains")
    return [
        own_verdict,
        prove_set_based(SET_BASED, exact, candidates.sign),
        prove_rank_based(RANK_BASED, exact, candidates.sign),
    ]


def _search_own(candidates: RunSet) -> Verdict:
    """Judge the own order from all runs of the ranks that count, or from the lowest runs."""
    measure, length, grades = candidates.measure, candidates.length, candidates.grades
    depth = length if measure.cutoff is None else min(length, measure.cutoff)
    if candidates.can_be_listed(depth):
        runs = candidates.list_runs(depth)
        return judge_own_order(candidates.values(runs), runs)
    if measure.info.monotone and _is_rising(candidates) and depth > 1 and not candidates.has_grades:
        runs = np.pad(lowest_runs(depth, grades), ((0, 0), (0, length - depth)))
        witness = find_uneven_bottom(candidates.values(runs), runs, candidates.sign)
        if witness is not None:
            return Verdict(OWN, Scale.ORDINAL, True, witness, "its lowest values")
    return Verdict(OWN, Scale.ORDINAL, False, None, _describe_reach(grades))


def _search_witnesses(candidates: RunSet) -> list[Verdict]:
    """Search witnesses against the total orders among short runs padded with grade 0."""
    depth = min(candidates.length, int(np.log(SEARCHED) / np.log(candidates.grades + 1) + 1e-9))
    runs = candidates.list_runs(max(depth, 1))
    verdicts = judge_total_orders(candidates, candidates.values(runs), runs)
    reach = _describe_reach(candidates.grades)
    return [
        verdict if verdict.scale is None else Verdict(verdict.order, None, False, None, reach)
        for verdict in verdicts
    ]


def _is_rising(candidates: RunSet) -> bool:
    """Return True if a higher grade never lowers the gain."""
    gains = getattr(candidates.measure, "gains", None)
    if gains is None or gains.kind in {"binary", "graded"}:
        return True
    exact = form(candidates.measure, 2, candidates.grades)
    return exact is not None and exact.shape.rises


def _describe_reach(grades: int) -> str:
    longest = int(np.log(MAX_LISTED) / np.log(grades + 1) + 1e-9)
    return f"all runs are enumerated up to N = {longest}"


def scale_of(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> ScaleReport:
    """Find the scale that a measure is on, and runs that show why it is not on a higher one.

    Parameters
    ----------
    measure
        The measure, or its text. One that needs a cutoff and has none gets the length.
    length
        Length of the runs; by default the measure's cutoff.
    grades
        Highest grade of the scale from 0; 1 is binary.
    judgments
        The topic's documents: their grades, or the number of relevant ones. Only runs that can be
        retrieved from them are considered, and neighbours are those among these runs. By default N
        documents of the highest grade are judged and every run is possible.

    Returns
    -------
    ScaleReport
        For the measure's own order it is interval when its values are equally spaced (Ferrante,
        Ferro and Fuhr, 2021, sections 2.2.3 and 3.2), else ordinal. For a total order it is
        ordinal when it orders all pairs of runs in the same way, and interval when it is also a
        positive affine function of the rank in that order (Ferrante, Ferro and Pontarollo, 2019,
        sections 2, 4 and 5).

    Raises
    ------
    PolicyError
        Without a length, or with a length, a grade or a recall base below 1 or too large.
    MeasureError
        For a measure that cannot score such runs.

    Notes
    -----
    Up to 2^18 runs are enumerated. Beyond that additive measures (P, R, F, gP, gR, RBP, DCG, nDCG)
    are decided by the differences of neighbours, other measures with a form by the lowest runs of
    the partial order and by witnesses; undecided orders are reported as such.

    Examples
    --------
    >>> from cranfield.measures import AP, RBP
    >>> print(scale_of(RBP(p=0.5), 3).rank_based)
    rank-based total order: interval
    >>> print(scale_of(AP, 4).own)
    its own order: ordinal; not interval: the step from 0 to 1/16, for (0, 0, 0, 0) and
    (0, 0, 0, 1), is 1/16; the step from 1/16 to 1/12, for (0, 0, 0, 1) and (0, 0, 1, 0), is 1/48
    """
    candidates = run_set(measure, length, grades, judgments)
    facts = (candidates.measure.label, candidates.length, candidates.grades, candidates.judgments)
    if candidates.can_be_listed(candidates.length):
        runs = candidates.list_runs(candidates.length)
        values = candidates.values(runs)
        set_based, rank_based = judge_total_orders(candidates, values, runs)
        own_verdict, count, exact = judge_own_order(values, runs), len(runs), values.exact
    else:
        form = candidates.form()
        own_verdict, set_based, rank_based = search_verdicts(candidates, form)
        count, exact = candidates.count(), form is not None
    return ScaleReport(*facts, count, own_verdict, set_based, rank_based, exact)


@dataclass(frozen=True, eq=False)
class ScaleFacts:
    """Scale, image and admitted statistics of a measure.

    If there is no image, `refusal` says why. With `by_topic` values depend on the recall base, so
    that each topic has a scale of its own. If scores of shorter runs depend on more than grades,
    `beyond_length` describes it: image and scale hold for runs of exactly this length, and the
    measure has no interval-scaled version.
    """

    report: ScaleReport
    image: Image | None
    refusal: str
    by_topic: bool
    beyond_length: str
    statistics: list[str]
    tests: list[str]

    @property
    def scale(self) -> Scale:
        """The scale for the measure's own order, on one topic."""
        return self.report.scale


def about_scale(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: int | None = None,
) -> ScaleFacts:
    """Find the image and the scale of a measure, or the reason why there is no image."""
    measure = as_measure(measure, length)
    report = scale_of(measure, length, grades, judgments=judgments)
    measure_image, refusal = None, ""
    try:
        measure_image = image(measure, length, grades, judgments=judgments, at_most=judgments)
        _ = measure_image.size
    except CranfieldError as error:
        measure_image, refusal = None, str(error)
    return ScaleFacts(
        report,
        measure_image,
        refusal,
        depends_on_recall_base(measure),
        beyond_length(measure),
        admitted_statistics(report.scale),
        admitted_tests(report.scale),
    )


MAX_TOPICS = 2_500
"""Maximum number of pairs of a length and a recall base."""

Example = tuple[Run, int]
"""A run and the recall base of its topic."""


def scale_over_topics(measure: Measure | str, longest: int, largest_base: int) -> TopicsReport:
    r"""Find the scale of a measure over runs of all lengths and topics of all recall bases.

    .. math:: S[N, K] = \bigcup_{1 \le n \le N,\ 1 \le RB \le K} S_{n, RB}

    where :math:`S_{n, RB}` are the runs of length n on topics with RB relevant documents, of which
    they have at most RB. Relevance is binary.

    Parameters
    ----------
    measure
        The measure, or its text. One that needs a cutoff and has none gets the length of each run,
        so that P is the precision of the retrieved set.
    longest, largest_base
        The longest run, N, and the largest recall base, K.

    Returns
    -------
    TopicsReport
        Interval if the values over the whole set are equally spaced, else ordinal, with a witness.

    Raises
    ------
    PolicyError
        For N or K below 1, for N K above 2,500, or too many runs to enumerate.

    Notes
    -----
    Values are compared exactly, except for measures whose divisor is an irrational number that
    depends on the topic, such as nDCG, whose ideal DCG depends on the recall base. It is not known
    when two such quotients of sums of logarithms are equal; they are compared as floats, and those
    within 2^-40 of the largest count as equal. `exact` and the text report the comparison used.

    Source: Ferrante, Ferro and Fuhr (2021), section 3.4. Precision is interval for N up to 2 only,
    recall for K up to 2 only, and F1 for N = K = 1 only. Where that section's summary names S[2, 2]
    as the only set on which precision and recall are interval without being affine to each other,
    S[1, 2] and S[2, 1] are such sets too.

    Examples
    --------
    >>> from cranfield.measures import P
    >>> print(scale_over_topics(P, 2, 2))
    P on S[2, 2]: interval, with 3 values
    >>> print(scale_over_topics(P, 3, 1))
    P on S[3, 1]: ordinal, with 4 values; not interval: the step from 0 to 1/3, for [0, 1, 1] and
    [1, 3, 1], is 1/3; the step from 1/3 to 1/2, for [1, 3, 1] and [1, 2, 1], is 1/6
    """
    check_size(longest, 1)
    check_base(largest_base)
    deepest = as_measure(measure, longest)
    check_grades_decide(deepest)
    if longest * largest_base > MAX_TOPICS:
        raise PolicyError(
            f"S[{longest}, {largest_base}] has {longest * largest_base:,} pairs of a length and a"
            f" recall base; up to {MAX_TOPICS:,} are feasible"
        )
    by_count = deepest.info.counts and (deepest.cutoff or longest) >= longest
    if not by_count and 2 ** (longest + 1) * largest_base > MAX_LISTED:
        raise PolicyError(
            f"S[{longest}, {largest_base}] has too many runs to enumerate; for"
            f" {measure} the maximum is {MAX_LISTED:,} runs"
        )
    values: dict[Any, Example] = {}
    exact = True
    for length in range(1, longest + 1):
        complete_measure = with_required_cutoff(as_measure(measure, length), length)
        for base in range(1, largest_base + 1):
            runs = _list_runs(length, base, by_count=by_count)
            run_values = exact_values(complete_measure, runs, 1, base)
            exact &= run_values.exact and run_values.factor == 1.0
            places, first = np.unique(run_values.place, return_index=True)
            for position, index in zip(places.tolist(), first.tolist(), strict=True):
                example = (tuple(map(int, runs[index])), base)
                values.setdefault(run_values.value(position), example)
    divisors = {value.divisor for value in values if isinstance(value, Irrational)}
    if len(divisors) > 1:
        # It is not known when sums of logarithms over different divisors are equal.
        exact = False
        # The first example of equal floats stays.
        values = {float(value): values[value] for value in reversed(values)}
    ordered = sorted(values)
    slack = 0.0 if exact else TOLERANCE * max(abs(float(value)) for value in ordered)
    if not exact:
        distinct = [0]
        for position, value in enumerate(ordered):
            if value - ordered[distinct[-1]] > slack:
                distinct.append(position)
        ordered = [ordered[position] for position in distinct]
    witness = None
    if (steps := find_unequal_steps(ordered, 4 * slack)) is not None:
        witnesses = [ordered[position] for position in steps]
        examples = [values[value] for value in witnesses]
        labels = tuple(f"[{sum(run)}, {len(run)}, {base}]" for run, base in examples)
        witness = Witness("gaps", tuple(run for run, _ in examples), tuple(witnesses), labels)
    scale = Scale.INTERVAL if witness is None else Scale.ORDINAL
    return TopicsReport(str(measure), longest, largest_base, scale, tuple(ordered), witness, exact)


def _list_runs(length: int, base: int, *, by_count: bool) -> Ints:
    """Return the runs of a length on a topic, or one for each number of relevant documents."""
    if by_count:
        numbers = np.arange(min(length, base) + 1)
        return np.asarray((np.arange(length) < numbers[:, None]).astype(np.int64))
    runs = all_runs(length)
    return np.asarray(runs[runs.sum(axis=1) <= base])
