"""Exact forms of the values of measures.

With C relevant documents of gain cg so far, and cg* that of the ideal ranking of the topic, the
blended ratio at rank r is (C + beta cg) / (r + beta cg*(r)). So the order of runs depends on the
ideal ranking, not only the unit of values as for AP, which is the sum of ratios with beta = 0.

Utility is what is found over the ranks that are read, sum V g / sum V. It has a form where sum V is
the same for all runs (P, RBP, INSQ, SDCG), or where the run is over once something is found: NERR
with gains of 0 and 1. `ETU`, the sum of V g alone, has one for all these and for graded NERR.
INST and the user of AP have none: what they do at a rank depends on too much else.
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
    summed_over,
)
from cranfield.measures.users.clicks import Chain, Effort
from cranfield.measures.users.effort import BPM, INSQ, BPMDynamic, ScaledDCG
from cranfield.measures.users.expectation import ETU, EU, Expectation
from cranfield.measures.users.model import LAST, StaticModel, UserModel
from cranfield.measures.users.standard_models import First, Satisfied, Top
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
    added,
    cascade_form,
    exactly,
    rational,
    root,
    row_of,
    terms,
    upto,
)
from cranfield.scales.runs import pool


def of_counts(measure: OfCounts, setting: Setting) -> Form:
    """A sum where each relevant document adds the same; but for SetAP, which is a square."""
    depth, relevant = setting.depth(measure), setting.relevant(measure)
    sizes = (np.array(Fraction(size)) for size in (depth, setting.recall_base(measure)))
    scores = row_of(exactly(measure).share(upto(depth), *sizes))
    steps = [more - fewer for fewer, more in pairwise(scores)]
    first = abs(steps[0])
    below = rational(1 / first if first else 0)
    signs = tuple(step / first if first else ONE for step in steps)
    if len(set(signs)) > 1:

        def step(rank: int, seen: int, grade: int) -> tuple[Fraction, int]:
            counts = relevant[grade] and rank <= depth
            return (signs[seen], seen + 1) if counts else (ZERO, seen)

        shape = setting.stateful((depth, relevant, signs), 0, step)
        return Form(shape, below, scores[0])
    return Form(_unweighed([signs[0] * yes for yes in relevant], depth, setting), below, scores[0])


def _unweighed(row: Iterable[Fraction], depth: int, setting: Setting) -> Additive:
    """The same weight of each grade at each rank down to a depth."""
    return Additive.weighed(tuple(row), [(ONE, ONE)] * min(depth, setting.length), setting.length)


def r_precision(measure: RPrecision, setting: Setting) -> Form:
    cutoff = int(measure.ranks(np.array(setting.recall_base(measure))))
    row = map(Fraction, setting.relevant(measure))
    return Form(_unweighed(row, cutoff, setting), rational(cutoff))


def of_gains(measure: Any, setting: Setting) -> Form:
    """Generalised precision and recall."""
    if isinstance(measure, GeneralisedPrecision):
        worth = setting.gains(measure.gains, setting.highest(measure))
        below = max(worth) * (measure.cutoff or 1)
    else:
        worth = setting.gains(measure.gains)
        below = sum(setting.best(worth), ZERO)
    # The divisor of a form is positive.
    sign = -1 if below < 0 else 1
    row = [sign * gain for gain in worth[: setting.grades + 1]]
    return Form(_unweighed(row, setting.depth(measure), setting), rational(abs(below)))


def rank_biased_form(measure: RankBiasedPrecision, setting: Setting) -> Form:
    exact, ranks = exactly(measure), range(1, setting.depth(measure) + 1)
    weights = [(ONE, (1 - exact.p) * exact.seen(rank)) for rank in ranks]
    return Form(Additive.weighed(setting.unit_gains(measure), weights, setting.length))


def discounted(measure: Any, setting: Setting) -> Form:
    """DCG and nDCG."""
    gains, ranks = setting.gains(measure.gains), range(1, setting.depth(measure) + 1)
    weights = [inverse(measure.discount, rank) for rank in ranks]
    shape = Additive.weighed(gains, weights, setting.length)
    return Form(shape, _divisor(measure, setting, gains))


def first_found(measure: Any, setting: Setting) -> Form:
    """RR, WRR and Success."""
    exact, relevant = exactly(measure), setting.relevant(measure)
    rows = []
    for rank in range(1, setting.depth(measure) + 1):
        row: Row = (ONE,) * len(relevant)
        if isinstance(measure, ReciprocalRank):
            row = (exact.worth(Fraction(rank)),) * len(relevant)
        elif isinstance(measure, WeightedReciprocalRank):
            highest = 0 if measure.betas else setting.highest(measure)
            row = row_of(exact.worth(rank, upto(setting.grades), highest))
        rows.append(row)
    return Form(_of_first(rows, relevant, setting))


def _of_first(worth: Sequence[Row], relevant: Sequence[Any], setting: Setting) -> Stateful:
    """Return the form of a value of the first relevant document by rank and grade."""
    counts = [Fraction(bool(yes)) for yes in relevant]
    rows = tuple(tuple(map(mul, row, counts)) for row in worth)
    going_on = tuple(1 - is_relevant for is_relevant in counts)
    return cascade_form(setting.length, setting.grades, rows, (going_on,) * len(rows))


def cascade(measure: Any, setting: Setting) -> Form:
    """ERR, nERR and iRBU: users stop where a document satisfies."""
    exact, stops = exactly(measure), setting.stops(measure)
    utility = isinstance(measure, IntentwiseRankBiasedUtility)
    ranks = range(1, max(setting.depth(measure), len(setting.judgments)) + 1)
    worth = [exact.utility(rank) if utility else exact.worth(ONE, rank) for rank in ranks]
    shape = _stopping(stops, worth[: setting.depth(measure)], [ONE] * len(worth), setting)
    if not isinstance(measure, NormalisedExpectedReciprocalRank):
        return Form(shape)
    judged = sorted((stops[grade] for grade in setting.judgments), reverse=True)[: measure.cutoff]
    best, chance = ZERO, ONE
    for stop, value in zip(judged, worth, strict=False):
        best += chance * stop * value
        chance *= 1 - stop
    return Form(shape, rational(best))


def _stopping(
    stops: Row, worth: Sequence[Fraction], patience: Sequence[Fraction], setting: Setting
) -> Stateful:
    """Return the form of users who stop with a probability by grade, with a value by rank."""
    rows = tuple(tuple(stop * value for stop in stops) for value in worth)
    going_on = tuple(
        tuple((1 - stop) * chance for stop in stops) for chance in patience[: len(worth)]
    )
    return cascade_form(setting.length, setting.grades, rows, going_on)


def _divisor(measure: Any, setting: Setting, gains: Row) -> Terms:
    # Gains are summed over ln x instead of ln x / ln b: DCG is that over 1 / ln b, and nDCG over
    # the same sum of the ideal ranking.
    if not isinstance(measure, nDCG):
        base, power = root(fraction_of(measure.discount.base))
        return terms({base: Fraction(1, power)})
    cut = measure.cutoff if measure.ideal == "cut" else None
    best = enumerate(setting.best(gains)[:cut], 1)
    weights = ((gain, *inverse(measure.discount, rank)) for rank, gain in best)
    return added((base, gain * factor) for gain, base, factor in weights)


def inverse(discount: Discount, rank: int) -> tuple[Fraction, Fraction]:
    """One over the discount at a rank, but for the logarithm of its base: factor / ln(base)."""
    base, power = root(discount.argument(rank))
    return base, Fraction(1, power)


Cumulated = tuple[int, Fraction]
"""C and cg: number of relevant documents so far, and their gain."""

NOTHING: Cumulated = (0, ZERO)


@dataclass(frozen=True)
class Ratios:
    """Blended ratios, by the law of a measure with fractions for numbers.

    For each grade there is whether it is relevant, and its gain, 0 if it is not; for each rank cg*,
    the gain of the ideal ranking so far. Ranks count down to a depth.
    """

    measure: Any
    relevant: tuple[bool, ...]
    gains: Row
    depth: int
    ideal: Row

    @classmethod
    def of(cls, measure: Any, setting: Setting) -> Ratios:
        relevant = setting.relevant(measure)
        worth = setting.gains(measure.gains)
        # Gains of weight 0 would distinguish states that are the same.
        weighed = [yes and measure.beta > 0 for yes in relevant]
        gains = tuple(gain * yes for gain, yes in zip(worth, weighed, strict=True))
        best = [*setting.best(gains), *[ZERO] * setting.length][: setting.length]
        ideal = tuple(accumulate(best))
        return cls(exactly(measure), relevant, gains, setting.depth(measure), ideal)

    def counts(self, rank: int, grade: int) -> bool:
        return self.relevant[grade] and rank <= self.depth

    def after(self, seen: Cumulated, grade: int) -> Cumulated:
        return seen[0] + 1, seen[1] + self.gains[grade]

    def at(self, rank: int, seen: Cumulated) -> Fraction:
        ratio: Fraction = self.measure.blended(*seen, rank, self.ideal[rank - 1])
        return ratio


def ratio_sum(ratios: Ratios, worth: Row, going_on: Row, setting: Setting) -> Stateful:
    """AP, Q, NCU and EBR: a sum of weighed ratios.

    The state is the cumulated documents and gain, and a weight, which starts at 1. The ratio at a
    document has the weight times `worth` of its grade; then the weight is multiplied by `going_on`.
    """

    def step(rank: int, state: tuple[Cumulated, Fraction], grade: int) -> tuple[Fraction, Hashable]:
        if not ratios.counts(rank, grade):
            return ZERO, state
        cumulated, weight = ratios.after(state[0], grade), state[1]
        ratio = ratios.at(rank, cumulated)
        return weight * worth[grade] * ratio, (cumulated, weight * going_on[grade])

    return setting.stateful((ratios, worth, going_on), (NOTHING, ONE), step)


def q_measure(measure: QMeasure, setting: Setting) -> Form:
    ones = (ONE,) * (setting.grades + 1)
    shape = ratio_sum(Ratios.of(measure, setting), ones, ones, setting)
    return Form(shape, rational(int(summed_over(measure, setting.recall_base(measure)))))


def average_precision(measure: Any, setting: Setting) -> Form:
    """AP and GMAP, which are Q where gains weigh nothing."""
    same = {name: getattr(measure, name) for name in ("rel", "cutoff", "denominator")}
    return q_measure(QMeasure(beta=0, **same), setting)


def cumulative_utility(measure: NormalisedCumulativeUtility, setting: Setting) -> Form:
    worth = going_on = (ONE,) * (setting.grades + 1)
    if measure.stopping == "graded":
        worth = setting.gains(measure.stops or measure.gains)
        relevant = setting.relevant(measure)
        whole = sum((worth[grade] for grade in setting.judgments if relevant[grade]), ZERO)
    else:
        exact, base = exactly(measure), setting.recall_base(measure)
        going_on = (exact.chance(2),) * (setting.grades + 1)
        whole = sum((exact.chance(seen) for seen in range(1, base + 1)), ZERO)
    # Precision is the ratio without gains.
    useful = measure(beta=0) if measure.utility == "P" else measure
    ratios = Ratios.of(useful, setting)
    return Form(ratio_sum(ratios, worth, going_on, setting), rational(whole))


def expected_ratio(measure: ExpectedBlendedRatio, setting: Setting) -> Form:
    ratios, stops = Ratios.of(measure, setting), setting.stops(measure)
    going_on = tuple(1 - stop for stop in stops)
    return Form(ratio_sum(ratios, stops, going_on, setting))


def r_measure(measure: RMeasure, setting: Setting) -> Form:
    """The sum of C + beta cg, which is the ratio at rank 1 without ideal gain."""
    ratios, base = Ratios.of(measure, setting), setting.recall_base(measure)
    law = ratios.measure.blended
    pairs = zip(ratios.relevant, ratios.gains, strict=True)
    row = [law(int(yes), gain, ONE, ZERO) for yes, gain in pairs]
    gained = sum((ratios.gains[grade] for grade in setting.judgments), ZERO)
    below = 1 / law(ONE, ZERO, base, gained) if base else ZERO
    return Form(_unweighed(row, base, setting), rational(below))


def o_measure(measure: OMeasure, setting: Setting) -> Form:
    ratios = Ratios.of(measure, setting)
    first = [ratios.after(NOTHING, grade) for grade in range(setting.grades + 1)]
    ranks = range(1, setting.depth(measure) + 1)
    rows = [tuple(ratios.at(rank, cumulated) for cumulated in first) for rank in ranks]
    return Form(_of_first(rows, ratios.relevant, setting))


def p_measure(measure: Any, setting: Setting) -> Form | None:
    """The ratio at the first document of the highest grade so far.

    A higher grade replaces the earlier ratio: its contribution is the difference.
    The state is the highest grade, the ratio there, and the cumulated documents and gain.
    """
    # P+ is a mean of all ratios so far, whose sum nearly every run has to itself: only where all
    # relevant documents are of one grade it has a form, and is P-measure.
    if isinstance(measure, PPlusMeasure) and max(measure.rel, 0) < setting.grades:
        return None
    ratios, highest = Ratios.of(measure, setting), setting.grades

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Hashable]:
        best, value, before = state
        if not ratios.counts(rank, grade) or best == highest:
            return ZERO, state
        cumulated = ratios.after(before, grade)
        if grade <= best:
            return ZERO, (best, value, cumulated)
        ratio = ratios.at(rank, cumulated)
        # Nothing is above the highest grade, so that the rest does not matter.
        last = (highest, ZERO, NOTHING)
        return ratio - value, last if grade == highest else (grade, ratio, cumulated)

    return Form(setting.stateful(("at best", ratios), (-1, ZERO, NOTHING), step))


def _best(values: list[Fraction], measure: Any) -> list[Fraction]:
    return values[: measure.cutoff] if measure.denominator == "min" else values


def mean_gains(measure: KishidaAveragePrecision, setting: Setting) -> Form:
    """The mean gain so far at each document with a gain; the state is the sum of gains."""
    gains, depth = setting.gains(measure.gains), setting.depth(measure)

    def step(rank: int, state: Fraction, grade: int) -> tuple[Fraction, Fraction]:
        if not gains[grade] or rank > depth:
            return ZERO, state
        after = state + gains[grade]
        return measure.mean_so_far(after, rank), after

    ideal = accumulate(_best(setting.best(gains), measure))
    below = sum((measure.mean_so_far(gain, rank) for rank, gain in enumerate(ideal, 1)), ZERO)
    return Form(setting.stateful((depth, gains, measure), ZERO, step), rational(below))


def shared_grades(measure: GradedAveragePrecision, setting: Setting) -> Form:
    """GAP: a document counts what it shares with those above, of which the state holds the number.

    `weights` is G of each grade, which does not fall.
    """
    weights = row_of([exactly(measure).weight(grade) for grade in range(setting.grades + 1)])
    depth = setting.depth(measure)

    def step(rank: int, state: tuple[int, ...], grade: int) -> tuple[Fraction, tuple[int, ...]]:
        if not grade or rank > depth:
            return ZERO, state
        seen = tuple(many + (other == grade) for other, many in enumerate(state, 1))
        # G(min of both grades) over the documents so far, over the rank.
        shared = (many * weights[min(other, grade)] for other, many in enumerate(seen, 1))
        return sum(shared, ZERO) / rank, seen

    below = sum(_best([weights[grade] for grade in setting.judgments], measure), ZERO)
    return Form(setting.stateful((depth, weights), (0,) * setting.grades, step), rational(below))


FEW = 2_000
"""Ranks over which weights are added up as fractions; beyond, as floats."""

MOST_DIGITS_AT = 200
"""Maximum number of ranks whose probabilities are summed at each rank as fractions."""


class UtilityRequest(NamedTuple):
    """Request for the form of a utility of a user model.

    `total` is all that is found (ETU), not what a rank gives (EU); `depth` the last rank that is
    read, where that is not the model's own; `deepest` the last whose gains count.
    """

    total: bool
    depth: int | None
    deepest: int


def _viewed(model: StaticModel) -> Callable[[int], tuple[Fraction, Fraction]]:
    """For a rank the probability that it is read, as a base and a factor of 1 / ln(base)."""
    if isinstance(model, ScaledDCG):
        # Over ln 2, which `_divisor` brings back where the sum of all V does not cancel it.
        return lambda rank: inverse(model.discount, rank)
    exact = exactly(model)
    return lambda rank: (ONE, exact.seen(Fraction(rank)))


def _user_divisor(
    model: StaticModel, end: int | None, request: UtilityRequest
) -> tuple[Terms, float]:
    """Return the divisor of sum V g, and a factor that is not a fraction."""
    if request.total:
        return (terms({Fraction(2): ONE}) if isinstance(model, ScaledDCG) else rational(1)), 1.0
    if end is None and isinstance(model, RankBiasedPrecision):
        return rational(exactly(model).endless()), 1.0
    if end is None or end > FEW:
        return rational(1), 1.0 / model.read_to(end)
    return added(map(_viewed(model), range(1, end + 1))), 1.0


def _static(model: StaticModel, setting: Setting, request: UtilityRequest) -> Form:
    end = model.ranks(request.depth)
    deepest = request.deepest if end is None else min(request.deepest, end)
    weights = list(map(_viewed(model), range(1, deepest + 1)))
    shape = Additive.weighed(setting.unit_gains(model), weights, setting.length)
    below, factor = _user_divisor(model, end, request)
    return Form(shape, below, factor=factor)


def _satisfied(model: SatisfiedModel, setting: Setting, request: UtilityRequest) -> Form | None:
    end = min(setting.length, model.ranks(request.depth) or LAST)
    seen = [exactly(model).patience(Fraction(rank)) for rank in range(1, end + 2)]
    gains = setting.stops(model) if isinstance(model, Satisfied) else setting.unit_gains(model)
    deepest = min(end, request.deepest)
    if request.total:
        patience = [after / here for here, after in pairwise(seen)]
        return Form(_stopping(gains, [ONE] * deepest, patience, setting))
    if not set(gains) <= {ZERO, ONE}:
        return None
    if end > MOST_DIGITS_AT and set(seen) != {ONE}:
        raise PolicyError(
            f"the probabilities of reading {end} ranks have too many digits for an"
            f" exact image of {model}; up to length {MOST_DIGITS_AT} it is feasible"
        )
    # Users stop at the first relevant document: V of the rank over the sum of V so far.
    worth = [view / read for view, read in zip(seen, accumulate(seen), strict=True)][:deepest]
    rows = [(value,) * len(gains) for value in worth]
    return Form(_of_first(rows, gains, setting))


_LIMITS = ("T", "K", "hb", "hc", "median")


def _player(model: Any, setting: Setting, request: UtilityRequest) -> Form | None:
    """A Bejeweled player, whose numbers floats hold; the state is the sum found, None once stopped.

    A player stops by comparing sums; with gains such as 1/3 floats compare others.
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
        # Beyond the last rank nothing more is found.
        while not stop:
            rank += 1
            stop = stops(rank, total, ZERO)
        return total if request.total else total / rank, None

    key = (exact, gains, request.deepest, end, request.total)
    return Form(setting.stateful(key, ZERO, step))


_MODELS: dict[type[Measure], Callable[[Any, Setting, UtilityRequest], Form | None]] = {
    **dict.fromkeys((Top, RankBiasedPrecision, INSQ, ScaledDCG), _static),
    **dict.fromkeys((NERR8, NERR9, NERR10, NERR11, First, Satisfied), _satisfied),
    **dict.fromkeys((BPM, BPMDynamic), _player),
}
"""Functions that make the form of user models, by class."""


def of_users(measure: UserModel | Expectation, setting: Setting) -> Form | None:
    """EU and ETU, and user models that are measures themselves, whose EU they are.

    Of costs and depths, low is good, and they have no form.
    """
    model, total, depth = measure, False, None
    if isinstance(measure, Expectation):
        if not isinstance(measure, (EU, ETU)):
            return None
        # The cutoff is the measure's; its user model may not know of it.
        model, total, depth = measure.model, isinstance(measure, ETU), measure.depth
    maker = _MODELS.get(type(model))
    return maker and maker(model, setting, UtilityRequest(total, depth, setting.depth(measure)))


def chained(measure: Chain, setting: Setting) -> Form:
    """uM, rrM, EBU, and those of DCM and CCM; a sum if continuation does not depend on grades."""
    exact, grades = exactly(measure), upto(setting.grades)
    nothing = np.full(grades.size, ZERO)

    def of(chances: Gain | None) -> Any:
        return nothing if chances is None else chances.named(grades) + nothing

    worth, going_on = [], []
    for rank in range(1, setting.depth(measure) + 1):
        if isinstance(measure, Effort):
            gains = (exact.satisfying(of, rank) + nothing) / Fraction(rank)
        else:
            gains = np.array(setting.unit_gains(measure), dtype=object)
        worth.append(row_of(exact.share(rank) * of(exact.clicks) * gains))
        going_on.append(row_of(exact.going_on(of, rank) + nothing))
    if all(chance == 1 for row in going_on for chance in row):
        empty = [(ZERO,) * grades.size] * (setting.length - len(worth))
        return Form(Additive((ONE,) * setting.length, (*worth, *empty)))
    return Form(cascade_form(setting.length, setting.grades, tuple(worth), tuple(going_on)))


Maker = Callable[[Any, Setting], Form | None]

_MAKERS: dict[Maker, str] = {
    of_counts: "P R RelP NumRelRet SetP SetR SetRelP SetAP SetF SetE Utility",
    r_precision: "Rprec",
    of_gains: "gP gR",
    rank_biased_form: "RBP",
    discounted: "DCG nDCG",
    first_found: "RR Success WRR",
    average_precision: "AP GMAP",
    mean_gains: "gAP",
    shared_grades: "GAP",
    cascade: "ERR nERR iRBU",
    chained: "uM rrM EBU uDCM rrDCM uCCM rrCCM",
    q_measure: "Q",
    cumulative_utility: "NCU",
    expected_ratio: "EBR",
    r_measure: "RMeasure",
    o_measure: "OMeasure",
    p_measure: "PMeasure PPlus",
    of_users: "INSQ SDCG BPM BPMDynamic NERR8 NERR9 NERR10 NERR11 EU ETU",
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
    return maker(measure, Setting(length, grades, pool(judgments, length, grades)))
