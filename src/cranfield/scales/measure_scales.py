"""Scales of measures: proofs and counterexamples.

If there are few runs, all are enumerated. Otherwise scales are decided by proofs, and by witnesses
among few runs. The scale of an additive measure for a total order follows from the differences of
neighbours, many of which are equal. For its own order, the scale of a measure that rewards swaps
and replacements follows from its lowest values: those of the run without relevant documents and of
runs with a single relevant document at the last ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from cranfield.scales.forms.exact_values import (
    TOLERANCE,
    RunValues,
    TooManySumsError,
    compute_exact_values,
    compute_form_values,
    split_form,
)
from cranfield.scales.forms.form import (
    Additive,
    Form,
    Irrational,
    Number,
    check_depends_on_grades,
    describe_beyond_length,
)
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.images.sums import SummedImage
from cranfield.scales.images.values import Image, image
from cranfield.scales.orders import rbto, sbto
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_recall_base,
    check_size,
    depends_on_recall_base,
)
from cranfield.scales.verdicts import (
    MAX_LISTED,
    RunGrades,
    RunSet,
    ScaleReport,
    ScaleVerdict,
    TopicsReport,
    Witness,
    add_required_cutoff,
    format_n_runs,
    make_run_set,
)

BLOCK_SIZE = 512
"""Number of steps compared at a time."""

Step = tuple[RunGrades, RunGrades]


def yield_rank_based_steps(length: int, max_grade: int) -> Iterator[Step]:
    """Yield neighbours in the rank-based total order, one pair for each possible difference.

    The next run has the last grade below `max_grade` raised by one, and all grades after it, which
    are `max_grade`, set to 0. Grades before it are the same in both runs and cancel out.
    """
    for k in reversed(range(length)):
        n_after = length - 1 - k
        for grade in range(max_grade):
            yield (*[0] * k, grade, *[max_grade] * n_after), (*[0] * k, grade + 1, *[0] * n_after)


def yield_set_based_steps(length: int, max_grade: int) -> Iterator[Step]:
    """Yield the neighbours in the set-based total order that suffice if all ranks weigh the same.

    The next run has one document of the lowest grade g above 0 raised by one, and the other
    documents of grade g set to 0.
    """
    yield (0,) * length, (1, *[0] * (length - 1))
    for grade in range(1, max_grade):
        for n_others in range(length):
            # Documents before are the same in both runs, here of the highest grade.
            prefix = (max_grade,) * (length - 1 - n_others)
            yield (*prefix, *[grade] * (n_others + 1)), (*prefix, grade + 1, *[0] * n_others)


def decide_by_steps(
    order: str, steps: Iterable[Step], form: Form, sign: int, reason: str
) -> ScaleVerdict:
    """Determine the scale of a measure for a total order from all differences of neighbours."""
    step_iterator = iter(steps)
    first_step: tuple[Step, Any] | None = None
    uneven_runs: tuple[RunGrades, ...] = ()
    while block := list(islice(step_iterator, BLOCK_SIZE)):
        values = compute_form_values(form, np.array(block).reshape(2 * len(block), -1))
        indices_below, indices_above = values.index.reshape(-1, 2).T
        violations = np.flatnonzero(sign * (indices_above - indices_below) <= 0)
        if violations.size:
            index = int(violations[0])
            kind = "inverted" if indices_above[index] != indices_below[index] else "tied"
            return ScaleVerdict(
                order, None, True, _make_form_witness(kind, block[index], form), reason
            )
        differences = values.keys[indices_above] - values.keys[indices_below]
        # The keys of all blocks have the denominator of the form.
        first_step = first_step or (block[0], differences[0])
        uneven_steps = np.flatnonzero((differences != first_step[1]).any(axis=1))
        if uneven_steps.size and not uneven_runs:
            uneven_runs = (*first_step[0], *block[int(uneven_steps[0])])
    if uneven_runs:
        witness = _make_form_witness("gaps", uneven_runs, form)
        return ScaleVerdict(order, Scale.ORDINAL, True, witness, reason)
    return ScaleVerdict(order, Scale.INTERVAL, True, None, reason)


def decide_additive_orders(form: Form, rank_sum: Additive, sign: int) -> list[ScaleVerdict]:
    """Determine the scale of an additive measure for the set-based and the rank-based order."""
    reason = "from all steps between neighbouring runs"
    set_steps = yield_set_based_steps(rank_sum.length, rank_sum.max_grade)
    rank_steps = yield_rank_based_steps(rank_sum.length, rank_sum.max_grade)
    return [
        _refute_set_based_order(form, rank_sum)
        or decide_by_steps(SET_BASED, set_steps, form, sign, reason),
        decide_by_steps(RANK_BASED, rank_steps, form, sign, reason),
    ]


def _refute_set_based_order(form: Form, rank_sum: Additive) -> ScaleVerdict | None:
    """Return the verdict for the set-based order if the gain of a grade depends on the rank."""
    # The gains of grades at each rank, as coefficient and base; None for no gain.
    gains = [
        [(weight - row[0], base) if form.divisor and weight != row[0] else None for weight in row]
        for row, base in zip(rank_sum.coefficients, rank_sum.bases, strict=True)
    ]
    for k, grade in np.ndindex(rank_sum.length, rank_sum.max_grade + 1):
        if gains[k][grade] != gains[0][grade]:
            runs = np.zeros((2, rank_sum.length), dtype=np.int64)
            runs[0, 0] = runs[1, k] = grade
            witness = _make_form_witness("distinguished", runs, form)
            return ScaleVerdict(SET_BASED, None, True, witness)
    return None


def make_lowest_runs(length: int, max_grade: int) -> Ints:
    """Return the run without gain, and all runs with one document at one of the last two ranks."""
    rows = np.zeros((1 + max_grade * min(length, 2), length), dtype=np.int64)
    levels = np.arange(1, max_grade + 1)
    rows[levels, -1] = levels
    if length > 1:
        rows[levels + max_grade, -2] = levels
    return rows


def find_unequal_lowest_steps(values: RunValues, runs: Ints, sign: int) -> Witness | None:
    """Return two unequal steps among the lowest values of a monotone measure, or None."""
    # Let h be the lowest grade with a gain, and b the run with a single h at the last rank but one.
    # Every run with a gain above the last rank scores at least as high as b. Therefore the values
    # of `runs` up to the value of b are neighbours.
    max_grade = (len(runs) - 1) // 2
    ranks = values.index if sign > 0 else values.size - 1 - values.index
    gain_indices = np.flatnonzero(ranks[1 : max_grade + 1] > ranks[0])
    if not gain_indices.size:
        return None
    distinct_ranks, first_runs = np.unique(ranks[: max_grade + 1], return_index=True)
    bound = 1 + max_grade + int(gain_indices[0])
    run_indices = [*first_runs[distinct_ranks < ranks[bound]].tolist(), bound]
    if len(run_indices) < 3:
        return None
    scores = [values.get_value(int(values.index[run_index])) for run_index in run_indices]
    if (step_indices := find_unequal_steps(scores)) is None:
        return None
    return _make_witness("gaps", values, runs, [run_indices[index] for index in step_indices])


def find_unequal_steps(
    values: Sequence[Any], slack: float = 0.0
) -> tuple[int, int, int, int] | None:
    """Return the indices at the ends of the first step and of an unequal step, or None."""
    steps = [abs(upper - lower) for lower, upper in pairwise(values)]
    for index, step in enumerate(steps):
        if step != steps[0] and abs(step - steps[0]) > slack:
            return 0, 1, index, index + 1
    return None


def is_form_evenly_spaced(form: Form) -> bool | None:
    """Return True if the values of an additive measure are equally spaced; None if unknown."""
    rank_sum = form.rank_sum
    assert isinstance(rank_sum, Additive)
    if not form.divisor or _is_contiguous(rank_sum):
        return True
    try:
        # The number of relevant documents does not matter here: `rel` is above all grades.
        return (
            SummedImage(split_form(rank_sum, rank_sum.max_grade + 1), None, 2**30, None)
            .find_gaps()
            .is_equispaced
        )
    except TooManySumsError:
        return None


def _is_contiguous(rank_sum: Additive) -> bool:
    """Return True if the sums of weights are all multiples of a unit up to the highest sum."""
    # If the sums of some ranks are all multiples from 0 to T, another rank leaves no gap if its
    # neighbouring weights are at most T + 1 units apart.
    if rank_sum.make_stateful() is None:
        return False  # weights of several bases have no common unit
    weights = [sorted(set(row)) for row in rank_sum.coefficients]
    differences = [[b - a for a, b in pairwise(row)] for row in weights]
    denominator = lcm(*(difference.denominator for row in differences for difference in row))
    integers = [[int(difference * denominator) for difference in row] for row in differences if row]
    unit = gcd(*(difference for row in integers for difference in row))
    total = 0
    for row in sorted(integers, key=max):
        if max(row) > total + unit:
            return False
        total += sum(row)
    return True


def _make_form_witness(kind: str, runs: Any, form: Form) -> Witness:
    rows = np.array(runs)
    return _make_witness(kind, compute_form_values(form, rows), rows, range(len(rows)))


OWN_ORDER = "its own order"
SET_BASED = "set-based total order"
RANK_BASED = "rank-based total order"


def decide_by_ranks(
    order: str, ranks: NDArray[Any], values: RunValues, runs: Ints, sign: int
) -> ScaleVerdict:
    """Determine the scale of a measure for a weak order, given by the rank of each run."""
    indices = values.index if sign > 0 else values.size - 1 - values.index
    classes = np.unique(ranks, return_inverse=True)[1].ravel()
    sorting = np.lexsort((indices, classes))
    sorted_classes, sorted_indices = classes[sorting], indices[sorting]
    starts = np.flatnonzero(np.diff(sorted_classes, prepend=-1))
    ends = np.append(starts[1:], len(sorted_classes)) - 1
    # Within a class values ascend: the first is the lowest, the last the highest.
    min_indices, max_indices = sorted_indices[starts], sorted_indices[ends]
    running_max = np.maximum.accumulate(max_indices)
    for kind, violations in (
        ("inverted", np.flatnonzero(running_max[:-1] > min_indices[1:])),
        ("distinguished", np.flatnonzero(max_indices > min_indices)),
        ("tied", np.flatnonzero(running_max[:-1] == min_indices[1:])),
    ):
        if violations.size:
            k = int(violations[0])
            if kind == "distinguished":
                pair = sorting[[starts[k], ends[k]]]
            else:
                lower = int(np.argmax(max_indices[: k + 1] == running_max[k]))
                pair = sorting[[ends[lower], starts[k + 1]]]
            return ScaleVerdict(order, None, True, _make_witness(kind, values, runs, pair))
    return decide_by_gaps(order, values, runs)


def decide_by_gaps(order: str, values: RunValues, runs: Ints) -> ScaleVerdict:
    """Determine from its gaps whether a measure that respects an order is interval or ordinal."""
    gap = values.find_uneven_gap()
    if gap is None:
        return ScaleVerdict(order, Scale.INTERVAL)
    neighbours = [int(np.argmax(values.index == index)) for index in (0, 1, gap, gap + 1)]
    witness = _make_witness("gaps", values, runs, neighbours)
    return ScaleVerdict(order, Scale.ORDINAL, True, witness)


def decide_total_orders(run_set: RunSet, values: RunValues, runs: Ints) -> list[ScaleVerdict]:
    """Determine the scale for the set-based and the rank-based order from all runs."""
    return [
        decide_by_ranks(order, compute_ranks(runs, run_set.max_grade), values, runs, run_set.sign)
        for order, compute_ranks in ((SET_BASED, sbto), (RANK_BASED, rbto))
    ]


def _make_witness(kind: str, values: RunValues, runs: Ints, indices: Any) -> Witness:
    scores: tuple[Number, ...] = tuple(values.get_value(int(values.index[i])) for i in indices)
    return Witness(kind, tuple(tuple(map(int, runs[i])) for i in indices), scores)


MAX_SEARCHED = 2**10
"""Maximum number of runs in the search for a witness, if there are too many runs to list."""


def search_verdicts(run_set: RunSet, form: Form | None) -> list[ScaleVerdict]:
    """Determine the scale of a measure for all three orders without listing all runs."""
    own_verdict = _search_own_order(run_set)
    if run_set.judgments is not None or form is None or not isinstance(form.rank_sum, Additive):
        return [own_verdict, *_search_witnesses(run_set)]
    if not own_verdict.is_decided and (is_even := is_form_evenly_spaced(form)) is not None:
        scale = Scale.INTERVAL if is_even else Scale.ORDINAL
        own_verdict = ScaleVerdict(OWN_ORDER, scale, True, None, "from its weights and gains")
    return [own_verdict, *decide_additive_orders(form, form.rank_sum, run_set.sign)]


def _search_own_order(run_set: RunSet) -> ScaleVerdict:
    """Determine the scale for the own order from runs down to the cutoff, or the lowest runs."""
    measure, length, max_grade = run_set.measure, run_set.length, run_set.max_grade
    depth = length if measure.cutoff is None else min(length, measure.cutoff)
    if run_set.can_be_listed(depth):
        runs = run_set.list_runs(depth)
        return decide_by_gaps(OWN_ORDER, run_set.compute_values(runs), runs)
    is_monotone = measure.info.is_monotone and _is_monotone(run_set)
    if is_monotone and depth > 1 and not run_set.has_grades:
        runs = np.pad(make_lowest_runs(depth, max_grade), ((0, 0), (0, length - depth)))
        witness = find_unequal_lowest_steps(run_set.compute_values(runs), runs, run_set.sign)
        if witness is not None:
            return ScaleVerdict(OWN_ORDER, Scale.ORDINAL, True, witness, "from its lowest values")
    return ScaleVerdict(OWN_ORDER, Scale.ORDINAL, False, None, _describe_max_length(max_grade))


def _search_witnesses(run_set: RunSet) -> list[ScaleVerdict]:
    """Search short runs, padded with grade 0, for witnesses against the total orders."""
    depth = min(run_set.length, int(np.log(MAX_SEARCHED) / np.log(run_set.max_grade + 1) + 1e-9))
    runs = run_set.list_runs(max(depth, 1))
    verdicts = decide_total_orders(run_set, run_set.compute_values(runs), runs)
    reason = _describe_max_length(run_set.max_grade)
    return [
        verdict if verdict.scale is None else ScaleVerdict(verdict.order, None, False, None, reason)
        for verdict in verdicts
    ]


def _is_monotone(run_set: RunSet) -> bool:
    """Return True if it is known that a higher grade never lowers the gain."""
    gains = getattr(run_set.measure, "gains", None)
    if gains is None or gains.kind in {"binary", "graded"}:
        return True
    form = find_form(run_set.measure, 2, run_set.max_grade)
    return form is not None and form.rank_sum.is_monotone


def _describe_max_length(max_grade: int) -> str:
    max_length = int(np.log(MAX_LISTED) / np.log(max_grade + 1) + 1e-9)
    return f"all runs can be enumerated up to length {max_length}"


def scale_of(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> ScaleReport:
    """Determine the scale of a measure, with runs that show why the scale is not higher.

    Parameters
    ----------
    measure
        The measure, or its text; if a cutoff is required, the default is the length.
    length
        Length of the runs; by default the measure's cutoff.
    grades
        Highest grade c of runs with grades 0 to c; 1 for binary relevance.
    judgments
        Grades of the topic's judged documents, or the number of relevant documents, whose grades
        are then unknown. Only runs of these documents are considered; by default there are `length`
        relevant documents, so that every run is possible.

    Returns
    -------
    ScaleReport
        For its own order, a measure is interval if its values are equally spaced (Ferrante, Ferro
        and Fuhr, 2021, sections 2.2.3 and 3.2), else ordinal. For a total order, it is ordinal if
        it orders all pairs of runs in the same way, and interval if it is also an affine function
        of the rank in that order (Ferrante, Ferro and Pontarollo, 2019, sections 2, 4
        and 5).

    Raises
    ------
    PolicyError
        If the length is missing; if the length, the highest grade or the recall base is below 1 or
        too large; or for invalid judgments.
    MeasureError
        For a measure that cannot score such runs, or that depends on more than the ranked grades.

    Notes
    -----
    Up to 2^18 runs are enumerated. If there are more and `judgments` is None, the scales of
    additive measures (such as P, gP, RBP, DCG and nDCG) follow from the differences between
    neighbouring runs. Other scales follow from the lowest values, from runs down to the cutoff or
    from counterexamples; if these do not decide, the report says so.

    Examples
    --------
    >>> from cranfield.measures import AP, RBP
    >>> print(scale_of(RBP(p=0.5), 3).rank_based)
    rank-based total order: interval
    >>> print(scale_of(AP, 4).own)
    its own order: ordinal; not interval: the step from 0 to 1/16, for (0, 0, 0, 0) and
    (0, 0, 0, 1), is 1/16; the step from 1/16 to 1/12, for (0, 0, 0, 1) and (0, 0, 1, 0), is 1/48
    """
    run_set = make_run_set(measure, length, grades, judgments)
    if run_set.can_be_listed(run_set.length):
        runs = run_set.list_runs(run_set.length)
        values = run_set.compute_values(runs)
        set_based, rank_based = decide_total_orders(run_set, values, runs)
        own_verdict = decide_by_gaps(OWN_ORDER, values, runs)
        n_runs, is_exact = len(runs), values.is_exact
    else:
        exact_form = run_set.find_form()
        own_verdict, set_based, rank_based = search_verdicts(run_set, exact_form)
        n_runs, is_exact = run_set.count_runs(), exact_form is not None
    run_facts = run_set.length, run_set.max_grade, run_set.judgments, n_runs
    verdicts = own_verdict, set_based, rank_based
    return ScaleReport(run_set.measure.label, *run_facts, *verdicts, is_exact)


@dataclass(frozen=True, eq=False)
class ScaleFacts:
    """Scale, image, and admitted statistics and tests of a measure.

    Attributes
    ----------
    refusal
        Reason why there is no image; empty if there is one.
    depends_on_topic
        Whether values depend on the recall base, so that each topic has its own scale.
    beyond_length
        Data, other than grades, on which comparisons of rankings of different lengths depend, in
        words; empty if there are none. With such data the image and the scale hold only for runs of
        exactly this length, and the measure has no interval-scaled version.
    """

    report: ScaleReport
    image: Image | None
    refusal: str
    depends_on_topic: bool
    beyond_length: str
    statistics: list[str]
    tests: list[str]

    @property
    def scale(self) -> Scale:
        """The scale for the measure's own order, on one topic."""
        return self.report.scale


def describe_scale(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: int | None = None,
) -> ScaleFacts:
    """Determine the scale of a measure and its image, or the reason why there is no image."""
    measure = as_measure(measure, length)
    report = scale_of(measure, length, grades, judgments=judgments)
    measure_image, refusal = None, ""
    try:
        measure_image = image(measure, length, grades, judgments=judgments, at_most=judgments)
        # The size is computed on first use, and may be infeasible.
        _ = measure_image.size
    except CranfieldError as error:
        measure_image, refusal = None, str(error)
    admitted = admitted_statistics(report.scale), admitted_tests(report.scale)
    dependencies = depends_on_recall_base(measure), describe_beyond_length(measure)
    return ScaleFacts(report, measure_image, refusal, *dependencies, *admitted)


MAX_COMBINATIONS = 2_500
"""Maximum number of combinations of a length and a recall base."""


def scale_over_topics(measure: Measure | str, max_length: int, max_base: int) -> TopicsReport:
    r"""Determine the scale of a measure over runs of all lengths and topics of all recall bases.

    .. math:: S[N, K] = \bigcup_{1 \le n \le N,\ 1 \le RB \le K} S_{n, RB}

    where :math:`S_{n, RB}` is the set of runs of length n on a topic with RB relevant documents.
    Relevance is binary.

    Parameters
    ----------
    measure
        The measure, or its text; if a cutoff is required, the default is the length of each run, so
        that P is the precision of the retrieved set.
    max_length, max_base
        Length N of the longest run, and largest recall base K.

    Returns
    -------
    TopicsReport
        Interval if the values over the whole set are equally spaced, else ordinal, with a witness.

    Raises
    ------
    PolicyError
        For N or K below 1, for N K above 2,500, or too many runs to enumerate.
    MeasureError
        For a measure that depends on more than the ranked grades.

    Notes
    -----
    Values are compared exactly, except for measures without an exact form, and measures whose
    divisor is an irrational number that depends on the topic, such as the ideal DCG of nDCG: no
    exact test for equality is known for such quotients of sums of logarithms. These values are
    compared as floats, and differences up to 2^-40 of the largest value count as ties. The
    attribute `is_exact` and the printed report state how values were compared.

    Source: Ferrante, Ferro and Fuhr (2021), section 3.4. Precision is interval only for N up to 2,
    recall only for K up to 2, and F1 only for N = K = 1. According to the summary of that section,
    S[2, 2] is the only set on which precision and recall are both interval without being affine to
    each other; S[1, 2] and S[2, 1] are such sets, too.

    Examples
    --------
    >>> from cranfield.measures import P
    >>> print(scale_over_topics(P, 2, 2))
    P on S[2, 2]: interval, with 3 values
    >>> print(scale_over_topics(P, 3, 1))
    P on S[3, 1]: ordinal, with 4 values; not interval: the step from 0 to 1/3, for [0, 1, 1] and
    [1, 3, 1], is 1/3; the step from 1/3 to 1/2, for [1, 3, 1] and [1, 2, 1], is 1/6
    """
    check_size(max_length, 1)
    check_recall_base(max_base)
    base_measure = as_measure(measure, max_length)
    check_depends_on_grades(base_measure)
    if max_length * max_base > MAX_COMBINATIONS:
        raise PolicyError(
            f"expected at most {MAX_COMBINATIONS:,} combinations of a length and a recall base, got"
            f" {max_length * max_base:,} in S[{max_length}, {max_base}]"
        )
    cutoff = base_measure.cutoff or max_length
    depends_on_count = base_measure.info.ignores_order and cutoff >= max_length
    n_runs = 2 ** (max_length + 1) * max_base
    if not depends_on_count and n_runs > MAX_LISTED:
        raise PolicyError(
            f"expected at most {MAX_LISTED:,} runs, got up to {format_n_runs(n_runs)} of length up"
            f" to {max_length}, with recall bases up to {max_base}, for {measure}; reduce the"
            " length or the recall base"
        )
    # For each value the first run that has it, and the recall base of its topic.
    run_of_value: dict[Any, tuple[RunGrades, int]] = {}
    is_exact = True
    for length in range(1, max_length + 1):
        complete_measure = add_required_cutoff(as_measure(measure, length), length)
        for recall_base in range(1, max_base + 1):
            if depends_on_count:
                # A run for each number of relevant documents.
                counts = np.arange(min(length, recall_base) + 1)
                runs = (np.arange(length) < counts[:, None]).astype(np.int64)
            else:
                runs = all_runs(length)
                runs = runs[runs.sum(axis=1) <= recall_base]
            run_values = compute_exact_values(complete_measure, runs, 1, recall_base)
            is_exact &= run_values.form is not None and run_values.form.factor == 1.0
            indices, first_runs = np.unique(run_values.index, return_index=True)
            for index, run in zip(indices.tolist(), runs[first_runs].tolist(), strict=True):
                run_of_value.setdefault(run_values.get_value(index), (tuple(run), recall_base))
    divisors = {value.divisor for value in run_of_value if isinstance(value, Irrational)}
    if len(divisors) > 1:
        is_exact = False
        # In reverse order, so that the first example of equal floats prevails.
        run_of_value = {float(value): run_of_value[value] for value in reversed(run_of_value)}
    sorted_values = sorted(run_of_value)
    slack = 0.0 if is_exact else TOLERANCE * max(abs(float(value)) for value in sorted_values)
    if not is_exact:
        distinct_values = sorted_values[:1]
        for value in sorted_values:
            if value - distinct_values[-1] > slack:
                distinct_values.append(value)
        sorted_values = distinct_values
    witness = None
    if (step_indices := find_unequal_steps(sorted_values, 4 * slack)) is not None:
        witness_values = tuple(sorted_values[index] for index in step_indices)
        examples = [run_of_value[value] for value in witness_values]
        labels = tuple(f"[{sum(run)}, {len(run)}, {base}]" for run, base in examples)
        witness = Witness("gaps", tuple(run for run, _ in examples), witness_values, labels)
    scale = Scale.INTERVAL if witness is None else Scale.ORDINAL
    bounds = max_length, max_base
    return TopicsReport(str(measure), *bounds, scale, tuple(sorted_values), witness, is_exact)
