"""Exact forms of the values of measures.

With C relevant documents of gain cg so far, and cg* that of the ideal ranking of the topic, the
blended ratio at rank r is (C + beta cg) / (r + beta cg*(r)). So the order of runs depends on the
ideal ranking, not only the unit of values as for AP, which is the sum of ratios with beta = 0.

Expected utility is the gain over the ranks that users read, sum V g / sum V. It has a form where
sum V is the same for all runs (P, RBP, INSQ, SDCG), or where reading ends with the first relevant
document: NERR with gains of 0 and 1. `ETU`, the sum of V g alone, also has one for graded NERR.
INST and the user of AP have none: their behaviour at a rank depends on too large a state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.base.spec import fraction_of
from cranfield.measures.base import Measure
from cranfield.measures.families import REGISTRY
from cranfield.measures.gains import Discount, Gain
from cranfield.measures.ranked.average_precision import (
    GradedAveragePrecision,
    KishidaAveragePrecision,
)
from cranfield.measures.ranked.dcg import nDCG
from cranfield.measures.ranked.ntcir import (
    ExpectedBlendedRatio,
    NormalisedCumulativeUtility,
    OMeasure,
    PPlusMeasure,
    QMeasure,
    RMeasure,
)
from cranfield.measures.ranked.precision import (
    GeneralisedPrecision,
    OfCounts,
    ReciprocalRank,
    RPrecision,
    WeightedReciprocalRank,
    sum_divisor,
)
from cranfield.measures.users.clicks import Chain, Effort
from cranfield.measures.users.effort import BPM, INSQ, BPMDynamic, ScaledDCG
from cranfield.measures.users.expectation import ETU, EU, Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel
from cranfield.measures.users.standard_models import ERRUser, PrecisionUser, ReciprocalRankUser
from cranfield.measures.users.stopping import (
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    IntentwiseRankBiasedUtility,
    NormalisedExpectedReciprocalRank,
    RankBiasedPrecision,
    SatisfiedModel,
)
from cranfield.scales.forms.form import (
    ONE,
    ZERO,
    Additive,
    Form,
    Row,
    Setting,
    Stateful,
    Terms,
    add_terms,
    cascade_form,
    exactly,
    fractions_upto,
    rational,
    root,
    row_of,
    terms,
)
from cranfield.scales.runs import document_grades


def count_form(measure: OfCounts, setting: Setting) -> Form:
    """Return the form of measures that count relevant documents, and of SetAP, their square."""
    depth, relevant = setting.depth(measure), setting.is_relevant(measure)
    sizes = (np.array(Fraction(size)) for size in (depth, setting.recall_base(measure)))
    scores = row_of(exactly(measure).share(fractions_upto(depth), *sizes))
    steps = [upper - lower for lower, upper in pairwise(scores)]
    unit = abs(steps[0])
    divisor = rational(1 / unit if unit else 0)
    signs = tuple(step / unit if unit else ONE for step in steps)
    if len(set(signs)) > 1:

        def step(rank: int, n_relevant: int, grade: int) -> tuple[Fraction, int]:
            counts = relevant[grade] and rank <= depth
            return (signs[n_relevant], n_relevant + 1) if counts else (ZERO, n_relevant)

        shape = setting.stateful((depth, relevant, signs), 0, step)
        return Form(shape, divisor, scores[0])
    row = [signs[0] * is_relevant for is_relevant in relevant]
    return Form(_unweighted(row, depth, setting), divisor, scores[0])


def _unweighted(row: Iterable[Fraction], depth: int, setting: Setting) -> Additive:
    """Return a sum with the same weight of a grade at each rank down to a depth."""
    return Additive.weigh(tuple(row), [(ONE, ONE)] * min(depth, setting.length), setting.length)


def r_precision_form(measure: RPrecision, setting: Setting) -> Form:
    cutoff = int(measure.ranks(np.array(setting.recall_base(measure))))
    row = map(Fraction, setting.is_relevant(measure))
    return Form(_unweighted(row, cutoff, setting), rational(cutoff))


def gain_form(measure: Any, setting: Setting) -> Form:
    """Return the form of generalised precision and recall."""
    if isinstance(measure, GeneralisedPrecision):
        worth = setting.gains(measure.gains, setting.highest_grade(measure))
        divisor = max(worth) * (measure.cutoff or 1)
    else:
        worth = setting.gains(measure.gains)
        divisor = sum(setting.ideal_gains(worth), ZERO)
    # The divisor of a form is positive.
    sign = -1 if divisor < 0 else 1
    row = [sign * gain for gain in worth[: setting.grades + 1]]
    return Form(_unweighted(row, setting.depth(measure), setting), rational(abs(divisor)))


def rank_biased_form(measure: RankBiasedPrecision, setting: Setting) -> Form:
    exact, ranks = exactly(measure), range(1, setting.depth(measure) + 1)
    weights = [(ONE, (1 - exact.p) * exact.views(rank)) for rank in ranks]
    return Form(Additive.weigh(setting.unit_gains(measure), weights, setting.length))


def dcg_form(measure: Any, setting: Setting) -> Form:
    """Return the form of DCG and nDCG."""
    gains, ranks = setting.gains(measure.gains), range(1, setting.depth(measure) + 1)
    weights = [inverse(measure.discount, rank) for rank in ranks]
    shape = Additive.weigh(gains, weights, setting.length)
    return Form(shape, _divisor(measure, setting, gains))


def first_relevant_form(measure: Any, setting: Setting) -> Form:
    """Return the form of RR, WRR and Success."""
    exact, relevant = exactly(measure), setting.is_relevant(measure)
    rows = []
    for rank in range(1, setting.depth(measure) + 1):
        row: Row = (ONE,) * len(relevant)
        if isinstance(measure, ReciprocalRank):
            row = (exact.worth(Fraction(rank)),) * len(relevant)
        elif isinstance(measure, WeightedReciprocalRank):
            highest = 0 if measure.betas else setting.highest_grade(measure)
            row = row_of(exact.worth(rank, fractions_upto(setting.grades), highest))
        rows.append(row)
    return Form(_first_relevant(rows, relevant, setting))


def _first_relevant(worth: Sequence[Row], relevant: Sequence[Any], setting: Setting) -> Stateful:
    """Return the form of a value of the first relevant document by rank and grade."""
    counts = [Fraction(bool(flag)) for flag in relevant]
    rows = tuple(tuple(map(mul, row, counts)) for row in worth)
    continuation = tuple(1 - is_relevant for is_relevant in counts)
    return cascade_form(setting.length, setting.grades, rows, (continuation,) * len(rows))


def cascade_measure_form(measure: Any, setting: Setting) -> Form:
    """Return the form of ERR, nERR and iRBU: users stop where a document satisfies them."""
    exact, stops = exactly(measure), setting.stop_rates(measure)
    is_utility = isinstance(measure, IntentwiseRankBiasedUtility)
    ranks = range(1, max(setting.depth(measure), len(setting.judgments)) + 1)
    worth = [exact.utility(rank) if is_utility else exact.worth(ONE, rank) for rank in ranks]
    shape = _stopping_users(stops, worth[: setting.depth(measure)], [ONE] * len(worth), setting)
    if not isinstance(measure, NormalisedExpectedReciprocalRank):
        return Form(shape)
    judged = sorted((stops[grade] for grade in setting.judgments), reverse=True)
    ideal, reach = ZERO, ONE
    for stop, value in zip(judged[: measure.cutoff], worth, strict=False):
        ideal += reach * stop * value
        reach *= 1 - stop
    return Form(shape, rational(ideal))


def _stopping_users(
    stops: Row, worth: Sequence[Fraction], patience: Sequence[Fraction], setting: Setting
) -> Stateful:
    """Return the form of users who stop with a probability by grade, with a value by rank."""
    rows = tuple(tuple(stop * value for stop in stops) for value in worth)
    continuation = tuple(
        tuple((1 - stop) * probability for stop in stops) for probability in patience[: len(worth)]
    )
    return cascade_form(setting.length, setting.grades, rows, continuation)


def _divisor(measure: Any, setting: Setting, gains: Row) -> Terms:
    # Gains are summed over ln x instead of ln x / ln b: DCG is that over 1 / ln b, and nDCG over
    # the same sum of the ideal ranking.
    if not isinstance(measure, nDCG):
        base, power = root(fraction_of(measure.discount.base))
        return terms({base: Fraction(1, power)})
    cutoff = measure.cutoff if measure.ideal == "cut" else None
    ideal = enumerate(setting.ideal_gains(gains)[:cutoff], 1)
    weights = ((gain, *inverse(measure.discount, rank)) for rank, gain in ideal)
    return add_terms((base, gain * factor) for gain, base, factor in weights)


def inverse(discount: Discount, rank: int) -> tuple[Fraction, Fraction]:
    """Return 1 / discount at a rank, without the logarithm of its base, as factor / ln(base)."""
    base, power = root(discount.argument(rank))
    return base, Fraction(1, power)


Cumulated = tuple[int, Fraction]
"""C and cg: number of relevant documents so far, and their gain."""

NOTHING: Cumulated = (0, ZERO)


@dataclass(frozen=True)
class Ratios:
    """Blended ratios, by the formula of a measure with fractions for numbers.

    `relevant` and `gains` are by grade, with a gain of 0 for grades that are not relevant; `ideal`
    has cg* by rank, the gain of the ideal ranking so far. Ranks count down to a depth.
    """

    measure: Any
    relevant: tuple[bool, ...]
    gains: Row
    depth: int
    ideal: Row

    @classmethod
    def from_measure(cls, measure: Any, setting: Setting) -> Ratios:
        relevant = setting.is_relevant(measure)
        worth = setting.gains(measure.gains)
        # Gains of weight 0 would distinguish states that are the same.
        has_gain = [is_relevant and measure.beta > 0 for is_relevant in relevant]
        gains = tuple(gain * counts for gain, counts in zip(worth, has_gain, strict=True))
        ideal_gains = [*setting.ideal_gains(gains), *[ZERO] * setting.length][: setting.length]
        ideal = tuple(accumulate(ideal_gains))
        return cls(exactly(measure), relevant, gains, setting.depth(measure), ideal)

    def counts(self, rank: int, grade: int) -> bool:
        return self.relevant[grade] and rank <= self.depth

    def after(self, cumulated: Cumulated, grade: int) -> Cumulated:
        return cumulated[0] + 1, cumulated[1] + self.gains[grade]

    def at(self, rank: int, cumulated: Cumulated) -> Fraction:
        ratio: Fraction = self.measure.blend(*cumulated, rank, self.ideal[rank - 1])
        return ratio


def ratio_sum(ratios: Ratios, worth: Row, continuation: Row, setting: Setting) -> Stateful:
    """Return the form of AP, Q, NCU and EBR: a sum of weighted ratios.

    The state is the cumulated documents and gain, and a weight, which starts at 1. The ratio at a
    document has the weight times `worth` of its grade; then `continuation` multiplies the weight.
    """

    def step(rank: int, state: tuple[Cumulated, Fraction], grade: int) -> tuple[Fraction, Hashable]:
        if not ratios.counts(rank, grade):
            return ZERO, state
        cumulated, weight = ratios.after(state[0], grade), state[1]
        ratio = ratios.at(rank, cumulated)
        return weight * worth[grade] * ratio, (cumulated, weight * continuation[grade])

    return setting.stateful((ratios, worth, continuation), (NOTHING, ONE), step)


def q_form(measure: QMeasure, setting: Setting) -> Form:
    constants = (ONE,) * (setting.grades + 1)
    shape = ratio_sum(Ratios.from_measure(measure, setting), constants, constants, setting)
    return Form(shape, rational(int(sum_divisor(measure, setting.recall_base(measure)))))


def average_precision_form(measure: Any, setting: Setting) -> Form:
    """Return the form of AP and GMAP, which are Q with beta = 0."""
    parameters = {name: getattr(measure, name) for name in ("rel", "cutoff", "denominator")}
    return q_form(QMeasure(beta=0, **parameters), setting)


def cumulative_utility_form(measure: NormalisedCumulativeUtility, setting: Setting) -> Form:
    worth = continuation = (ONE,) * (setting.grades + 1)
    if measure.stopping == "graded":
        worth = setting.gains(measure.stops or measure.gains)
        relevant = setting.is_relevant(measure)
        total = sum((worth[grade] for grade in setting.judgments if relevant[grade]), ZERO)
    else:
        exact, base = exactly(measure), setting.recall_base(measure)
        continuation = (exact.chance(2),) * (setting.grades + 1)
        total = sum((exact.chance(count) for count in range(1, base + 1)), ZERO)
    # Precision is the ratio without gains.
    ratio_measure = measure(beta=0) if measure.utility == "P" else measure
    ratios = Ratios.from_measure(ratio_measure, setting)
    return Form(ratio_sum(ratios, worth, continuation, setting), rational(total))


def expected_ratio_form(measure: ExpectedBlendedRatio, setting: Setting) -> Form:
    ratios, stops = Ratios.from_measure(measure, setting), setting.stop_rates(measure)
    continuation = tuple(1 - stop for stop in stops)
    return Form(ratio_sum(ratios, stops, continuation, setting))


def r_measure_form(measure: RMeasure, setting: Setting) -> Form:
    """Return the form of R-measure: sum of C + beta cg, the ratio at rank 1 without ideal gain."""
    ratios, base = Ratios.from_measure(measure, setting), setting.recall_base(measure)
    blended = ratios.measure.blend
    pairs = zip(ratios.relevant, ratios.gains, strict=True)
    row = [blended(int(is_relevant), gain, ONE, ZERO) for is_relevant, gain in pairs]
    total_gain = sum((ratios.gains[grade] for grade in setting.judgments), ZERO)
    divisor = 1 / blended(ONE, ZERO, base, total_gain) if base else ZERO
    return Form(_unweighted(row, base, setting), rational(divisor))


def o_measure_form(measure: OMeasure, setting: Setting) -> Form:
    ratios = Ratios.from_measure(measure, setting)
    first = [ratios.after(NOTHING, grade) for grade in range(setting.grades + 1)]
    ranks = range(1, setting.depth(measure) + 1)
    rows = [tuple(ratios.at(rank, cumulated) for cumulated in first) for rank in ranks]
    return Form(_first_relevant(rows, ratios.relevant, setting))


def p_measure_form(measure: Any, setting: Setting) -> Form | None:
    """Return the form of P-measure: the ratio at the first document of the highest grade so far.

    A higher grade replaces the earlier ratio: its contribution is the difference.
    The state is the highest grade, the ratio there, and the cumulated documents and gain.
    """
    # P+ averages all ratios so far, and nearly every run has a sum of its own. With a single
    # relevant grade it is P-measure, and has a form.
    if isinstance(measure, PPlusMeasure) and max(measure.rel, 0) < setting.grades:
        return None
    ratios, highest = Ratios.from_measure(measure, setting), setting.grades

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Hashable]:
        best_grade, value, before = state
        if not ratios.counts(rank, grade) or best_grade == highest:
            return ZERO, state
        cumulated = ratios.after(before, grade)
        if grade <= best_grade:
            return ZERO, (best_grade, value, cumulated)
        ratio = ratios.at(rank, cumulated)
        # No grade exceeds the highest, so that later ranks do not matter.
        last = (highest, ZERO, NOTHING)
        return ratio - value, last if grade == highest else (grade, ratio, cumulated)

    return Form(setting.stateful(("at best", ratios), (-1, ZERO, NOTHING), step))


def _ideal_cut(values: list[Fraction], measure: Any) -> list[Fraction]:
    return values[: measure.cutoff] if measure.denominator == "min" else values


def mean_gain_form(measure: KishidaAveragePrecision, setting: Setting) -> Form:
    """Return the form of gAP: mean gains at relevant documents; the state is the sum of gains."""
    gains, depth = setting.gains(measure.gains), setting.depth(measure)

    def step(rank: int, state: Fraction, grade: int) -> tuple[Fraction, Fraction]:
        if not gains[grade] or rank > depth:
            return ZERO, state
        total = state + gains[grade]
        return measure.mean_so_far(total, rank), total

    ideal = accumulate(_ideal_cut(setting.ideal_gains(gains), measure))
    divisor = sum((measure.mean_so_far(gain, rank) for rank, gain in enumerate(ideal, 1)), ZERO)
    return Form(setting.stateful((depth, gains, measure), ZERO, step), rational(divisor))


def shared_grade_form(measure: GradedAveragePrecision, setting: Setting) -> Form:
    """Return the form of GAP; the state is the number of documents of each grade so far.

    `weights` is G of each grade, which does not decrease.
    """
    weights = row_of([exactly(measure).weight(grade) for grade in range(setting.grades + 1)])
    depth = setting.depth(measure)

    def step(rank: int, state: tuple[int, ...], grade: int) -> tuple[Fraction, tuple[int, ...]]:
        if not grade or rank > depth:
            return ZERO, state
        counts = tuple(count + (level == grade) for level, count in enumerate(state, 1))
        # G(min of both grades) over the documents so far, over the rank.
        shared = (count * weights[min(level, grade)] for level, count in enumerate(counts, 1))
        return sum(shared, ZERO) / rank, counts

    divisor = sum(_ideal_cut([weights[grade] for grade in setting.judgments], measure), ZERO)
    return Form(setting.stateful((depth, weights), (0,) * setting.grades, step), rational(divisor))


FEW = 2_000
"""Maximum number of ranks whose weights are summed as fractions instead of floats."""

MAX_DIGITS_AT = 200
"""Maximum number of ranks whose probabilities are summed at each rank as fractions."""


class UtilityRequest(NamedTuple):
    """Request for the form of a utility of a user model.

    With `total` utility is summed (ETU), not averaged over ranks (EU); `depth` is the last rank
    read, if not that of the model; `deepest` the last rank whose gains count.
    """

    total: bool
    depth: int | None
    deepest: int


def _view_probability(model: StaticModel) -> Callable[[int], tuple[Fraction, Fraction]]:
    """Return a function of ranks: the reading probability, as base and factor of 1 / ln(base)."""
    if isinstance(model, ScaledDCG):
        # Over ln 2, which the divisor restores where the sum of all V does not cancel it.
        return lambda rank: inverse(model.discount, rank)
    exact = exactly(model)
    return lambda rank: (ONE, exact.views(Fraction(rank)))


def _user_divisor(
    model: StaticModel, end: int | None, request: UtilityRequest
) -> tuple[Terms, float]:
    """Return the divisor of sum V g, and a factor that is not a fraction."""
    if request.total:
        return (terms({Fraction(2): ONE}) if isinstance(model, ScaledDCG) else rational(1)), 1.0
    if end is None and isinstance(model, RankBiasedPrecision):
        return rational(exactly(model).total_depth()), 1.0
    if end is None or end > FEW:
        return rational(1), 1.0 / model.depth_to(end)
    return add_terms(map(_view_probability(model), range(1, end + 1))), 1.0


def _static_form(model: StaticModel, setting: Setting, request: UtilityRequest) -> Form:
    end = model.ranks(request.depth)
    deepest = request.deepest if end is None else min(request.deepest, end)
    weights = list(map(_view_probability(model), range(1, deepest + 1)))
    shape = Additive.weigh(setting.unit_gains(model), weights, setting.length)
    below, factor = _user_divisor(model, end, request)
    return Form(shape, below, factor=factor)


def _satisfied_form(
    model: SatisfiedModel, setting: Setting, request: UtilityRequest
) -> Form | None:
    end = min(setting.length, model.ranks(request.depth) or LAST)
    views = [exactly(model).patience(Fraction(rank)) for rank in range(1, end + 2)]
    gains = setting.stop_rates(model) if isinstance(model, ERRUser) else setting.unit_gains(model)
    deepest = min(end, request.deepest)
    if request.total:
        patience = [later / view for view, later in pairwise(views)]
        return Form(_stopping_users(gains, [ONE] * deepest, patience, setting))
    if not set(gains) <= {ZERO, ONE}:
        return None
    if end > MAX_DIGITS_AT and set(views) != {ONE}:
        raise PolicyError(
            f"the probabilities of reading {end} ranks have too many digits for an"
            f" exact image of {model}; up to length {MAX_DIGITS_AT} it is feasible"
        )
    # Users stop at the first relevant document: V of the rank over the sum of V so far.
    worth = [view / total for view, total in zip(views, accumulate(views), strict=True)][:deepest]
    rows = [(value,) * len(gains) for value in worth]
    return Form(_first_relevant(rows, gains, setting))


_LIMITS = ("T", "K", "hb", "hc", "median")


def _player_form(model: Any, setting: Setting, request: UtilityRequest) -> Form | None:
    """Return the form of a Bejeweled player; the state is the sum of gains, None once stopped.

    A player stops by comparing sums; gains such as 1/3, which floats round, have no form.
    """
    if model.unit is not None:
        return None
    exact, gains = exactly(model), setting.unit_gains(model)
    limits = [vars(exact)[name] for name in _LIMITS if name in vars(exact)]
    if any(number.denominator & (number.denominator - 1) for number in (*limits, *gains)):
        return None
    end, length = model.ranks(request.depth) or LAST, setting.length

    def stops(rank: int, before: Fraction, gain: Fraction) -> bool:
        enough, last_rank = exact.limits(rank, before)
        return bool(rank >= end or before + gain >= enough or rank >= last_rank)

    def step(rank: int, state: Fraction | None, grade: int) -> tuple[Fraction, Fraction | None]:
        if state is None:
            return ZERO, None
        gain = gains[grade] if rank <= request.deepest else ZERO
        total, stop = state + gain, stops(rank, state, gain)
        if not stop and rank < length:
            return ZERO, total
        # There are no gains beyond the last rank.
        while not stop:
            rank += 1
            stop = stops(rank, total, ZERO)
        return total if request.total else total / rank, None

    key = (exact, gains, request.deepest, end, request.total)
    return Form(setting.stateful(key, ZERO, step))


_MODELS: dict[type[Measure], Callable[[Any, Setting, UtilityRequest], Form | None]] = {
    **dict.fromkeys((PrecisionUser, RankBiasedPrecision, INSQ, ScaledDCG), _static_form),
    **dict.fromkeys((NERR8, NERR9, NERR10, NERR11, ReciprocalRankUser, ERRUser), _satisfied_form),
    **dict.fromkeys((BPM, BPMDynamic), _player_form),
}
"""Functions that make the form of user models, by class."""


def user_form(measure: UserModel | Expectation, setting: Setting) -> Form | None:
    """Return the form of EU and ETU, and of user models that are measures, which are their EU.

    Costs and depths, where lower is better, have no form.
    """
    model, total, depth = measure, False, None
    if isinstance(measure, Expectation):
        if not isinstance(measure, (EU, ETU)):
            return None
        # The user model may have no cutoff of its own.
        model, total, depth = measure.model, isinstance(measure, ETU), measure.depth
    maker = _MODELS.get(type(model))
    return maker and maker(model, setting, UtilityRequest(total, depth, setting.depth(measure)))


def chain_form(measure: Chain, setting: Setting) -> Form:
    """Return the form of uM, rrM, EBU and so on; a sum if continuation is certain."""
    exact, grades = exactly(measure), fractions_upto(setting.grades)
    zeros = np.full(grades.size, ZERO)

    def probabilities(chances: Gain | None) -> Any:
        return zeros if chances is None else chances.from_mapping(grades) + zeros

    worth, continuation = [], []
    for rank in range(1, setting.depth(measure) + 1):
        if isinstance(measure, Effort):
            gains = (exact.satisfying(probabilities, rank) + zeros) / Fraction(rank)
        else:
            gains = np.array(setting.unit_gains(measure), dtype=object)
        worth.append(row_of(exact.share(rank) * probabilities(exact.clicks) * gains))
        continuation.append(row_of(exact.continuation(probabilities, rank) + zeros))
    if all(chance == 1 for row in continuation for chance in row):
        empty = [(ZERO,) * grades.size] * (setting.length - len(worth))
        return Form(Additive((ONE,) * setting.length, (*worth, *empty)))
    return Form(cascade_form(setting.length, setting.grades, tuple(worth), tuple(continuation)))


Maker = Callable[[Any, Setting], Form | None]

_MAKERS: dict[Maker, str] = {
    count_form: "P R RelP NumRelRet SetP SetR SetRelP SetAP SetF SetE Utility",
    r_precision_form: "Rprec",
    gain_form: "gP gR",
    rank_biased_form: "RBP",
    dcg_form: "DCG nDCG",
    first_relevant_form: "RR Success WRR",
    average_precision_form: "AP GMAP",
    mean_gain_form: "gAP",
    shared_grade_form: "GAP",
    cascade_measure_form: "ERR nERR iRBU",
    chain_form: "uM rrM EBU uDCM rrDCM uCCM rrCCM",
    q_form: "Q",
    cumulative_utility_form: "NCU",
    expected_ratio_form: "EBR",
    r_measure_form: "RMeasure",
    o_measure_form: "OMeasure",
    p_measure_form: "PMeasure PPlus",
    user_form: "INSQ SDCG BPM BPMDynamic NERR8 NERR9 NERR10 NERR11 EU ETU",
}

FORMS: dict[type[Measure], Maker] = {
    REGISTRY[name]: maker for maker, names in _MAKERS.items() for name in names.split()
}
"""Functions that make the form of measures, by class."""


def form(
    measure: Measure,
    length: int,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Form | None:
    """Return the form of a measure's values on runs of a length; None for one that has none.

    Judgments are grades of the topic's judged documents, or how many it has of the highest grade;
    by default as many as the runs are long.

    >>> from cranfield.measures import DCG, IPrec
    >>> form(DCG, 3).shape.bases, form(IPrec @ 0.1, 3) is None
    ((Fraction(2, 1), Fraction(3, 1), Fraction(2, 1)), True)
    """
    maker = FORMS.get(type(measure))
    if maker is None:
        return None
    measure.require_complete()
    return maker(measure, Setting(length, grades, document_grades(judgments, length, grades)))
