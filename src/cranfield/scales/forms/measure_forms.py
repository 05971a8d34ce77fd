"""Exact formulas of measures (:class:`Form`): sums over ranks, with a state where needed.

Blended ratios: let C be the number of relevant documents down to rank r, cg their cumulated gain,
and cg* the cumulated gain of the ideal ranking of the topic. The blended ratio at rank r is
(C + beta cg) / (r + beta cg*). AP is the sum of the ratios at relevant documents with beta = 0,
divided by the recall base. With beta > 0, not only the unit of values but also the order of runs
depends on the ideal ranking.

Expected utility: the mean gain of the ranks that users read is sum V g / sum V, where g is the gain
and V the probability of reading a rank. It has a form if sum V is the same for all runs (P, RBP,
INSQ, SDCG), if reading ends with the first relevant document (NERR with gains of 0 and 1), or if
sums of gains and limits are exact in floats (Bejeweled player models). `ETU`, which is sum V g,
also has a form for graded NERR. INST and the user model of AP have no form, as their behaviour at a
rank depends on too large a state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.base.spec import to_fraction
from cranfield.measures.base import Measure
from cranfield.measures.families import REGISTRY
from cranfield.measures.gains import Discount, Gain
from cranfield.measures.ranked import average_precision, dcg, ntcir, precision
from cranfield.measures.users import stopping
from cranfield.measures.users.clicks import ChainMeasure, EffortMeasure
from cranfield.measures.users.effort import BPM, INSQ, BPMDynamic, ScaledDCG
from cranfield.measures.users.expectation import ETU, EU, Expectation
from cranfield.measures.users.model import DEFAULT_MAX_RANK, StaticModel, UserModel
from cranfield.measures.users.standard_models import ERRUser, PrecisionUser, ReciprocalRankUser
from cranfield.scales.forms.form import (
    ONE,
    UNITY,
    ZERO,
    Additive,
    Form,
    Fractions,
    Setting,
    Stateful,
    Terms,
    add_terms,
    as_terms,
    find_root,
    list_fractions,
    make_cascade,
    make_exact,
    make_terms,
    to_row,
)
from cranfield.scales.runs import check_judgments


def make_count_form(measure: precision.CountMeasure, setting: Setting) -> Form:
    """Return the form of a measure that is a function of the number of relevant documents."""
    depth, is_relevant = setting.find_depth(measure), setting.mask_relevant(measure)
    sizes = (np.array(Fraction(size)) for size in (depth, setting.count_relevant(measure)))
    scores = to_row(make_exact(measure).score_counts(list_fractions(depth), *sizes))
    steps = [upper - lower for lower, upper in pairwise(scores)]
    unit = abs(steps[0])
    divisor = as_terms(1 / unit if unit else 0)
    relative_steps = tuple(step / unit if unit else ONE for step in steps)
    if len(set(relative_steps)) > 1:

        def step(rank: int, n_relevant: int, grade: int) -> tuple[Fraction, int]:
            if not is_relevant[grade] or rank > depth:
                return ZERO, n_relevant
            return relative_steps[n_relevant], n_relevant + 1

        rank_sum = setting.make_stateful((depth, is_relevant, relative_steps), 0, step)
        return Form(rank_sum, divisor, scores[0])
    row = [relative_steps[0] * relevant for relevant in is_relevant]
    return Form(_weigh_equally(row, depth, setting), divisor, scores[0])


def _weigh_equally(row: Iterable[Fraction], depth: int, setting: Setting) -> Additive:
    """Return a sum in which a grade has the same weight at each rank down to a depth."""
    return Additive.weigh(tuple(row), [(ONE, ONE)] * min(depth, setting.length), setting.length)


def make_r_precision_form(measure: precision.RPrecision, setting: Setting) -> Form:
    cutoff = int(measure.find_cutoffs(np.array(setting.count_relevant(measure))))
    row = map(Fraction, setting.mask_relevant(measure))
    return Form(_weigh_equally(row, cutoff, setting), as_terms(cutoff))


def make_gain_form(measure: Any, setting: Setting) -> Form:
    """Return the form of generalised precision (gP) or recall (gR)."""
    if isinstance(measure, precision.GeneralisedPrecision):
        gains = setting.compute_gains(measure.gains, setting.find_max_grade(measure))
        divisor = max(gains) * (measure.cutoff or 1)
    else:
        gains = setting.compute_gains(measure.gains)
        divisor = sum(setting.list_ideal_gains(gains), ZERO)
    # The divisor of a form is positive.
    sign = -1 if divisor < 0 else 1
    row = [sign * gain for gain in gains[: setting.max_grade + 1]]
    return Form(_weigh_equally(row, setting.find_depth(measure), setting), as_terms(abs(divisor)))


def make_rank_biased_form(measure: stopping.RankBiasedPrecision, setting: Setting) -> Form:
    formula, ranks = make_exact(measure), range(1, setting.find_depth(measure) + 1)
    weights = [(ONE, (1 - formula.p) * formula.views(rank)) for rank in ranks]
    return Form(Additive.weigh(setting.compute_unit_gains(measure), weights, setting.length))


def make_dcg_form(measure: Any, setting: Setting) -> Form:
    """Return the form of DCG or nDCG."""
    gains, ranks = setting.compute_gains(measure.gains), range(1, setting.find_depth(measure) + 1)
    weights = [invert_discount(measure.discount, rank) for rank in ranks]
    rank_sum = Additive.weigh(gains, weights, setting.length)
    return Form(rank_sum, _find_divisor(measure, setting, gains))


def make_first_relevant_form(measure: Any, setting: Setting) -> Form:
    """Return the form of RR, WRR or Success."""
    formula, is_relevant = make_exact(measure), setting.mask_relevant(measure)
    rows = []
    for rank in range(1, setting.find_depth(measure) + 1):
        row: Fractions = (ONE,) * len(is_relevant)
        if isinstance(measure, precision.ReciprocalRank):
            row = (formula.score_rank(Fraction(rank)),) * len(is_relevant)
        elif isinstance(measure, precision.WeightedReciprocalRank):
            max_grade = 0 if measure.betas else setting.find_max_grade(measure)
            row = to_row(formula.score_rank(rank, list_fractions(setting.max_grade), max_grade))
        rows.append(row)
    return Form(_sum_first_relevant(rows, is_relevant, setting))


def _sum_first_relevant(
    values: Sequence[Fractions], is_relevant: Sequence[Any], setting: Setting
) -> Stateful:
    """Make the sum with the value of the first relevant document, by rank and grade."""
    factors = [Fraction(bool(flag)) for flag in is_relevant]
    rows = tuple(tuple(map(mul, row, factors)) for row in values)
    continuation = tuple(1 - factor for factor in factors)
    return make_cascade(setting.length, setting.max_grade, rows, (continuation,) * len(rows))


def make_err_form(measure: Any, setting: Setting) -> Form:
    """Return the form of ERR, nERR or iRBU: users stop at the document that satisfies them."""
    formula, stops = make_exact(measure), setting.compute_stops(measure)
    is_utility = isinstance(measure, stopping.IntentwiseRankBiasedUtility)
    ranks = range(1, max(setting.find_depth(measure), len(setting.judgments)) + 1)
    score = formula.compute_utility if is_utility else partial(formula.score_stop, ONE)
    values = list(map(score, ranks))
    rank_sum = _sum_until_stop(
        stops, values[: setting.find_depth(measure)], [ONE] * len(values), setting
    )
    if not isinstance(measure, stopping.NormalisedExpectedReciprocalRank):
        return Form(rank_sum)
    ideal_stops = sorted((stops[grade] for grade in setting.judgments), reverse=True)
    ideal_score, view_probability = ZERO, ONE
    for stop, value in zip(ideal_stops[: measure.cutoff], values, strict=False):
        ideal_score += view_probability * stop * value
        view_probability *= 1 - stop
    return Form(rank_sum, as_terms(ideal_score))


def _sum_until_stop(
    stops: Fractions, values: Sequence[Fraction], patience: Sequence[Fraction], setting: Setting
) -> Stateful:
    """Make the sum in which users stop with a probability by grade, and gain a value by rank."""
    rows = tuple(tuple(stop * value for stop in stops) for value in values)
    continuation = tuple(
        tuple((1 - stop) * probability for stop in stops) for probability in patience[: len(values)]
    )
    return make_cascade(setting.length, setting.max_grade, rows, continuation)


def _find_divisor(measure: Any, setting: Setting, gains: Fractions) -> Terms:
    """Return the divisor of DCG and nDCG.

    Gains are divided by ln x instead of ln x / ln b for a logarithm of base b. The sum is divided
    by 1 / ln b for DCG, and by the same sum of the ideal ranking for nDCG.
    """
    if not isinstance(measure, dcg.nDCG):
        base, exponent = find_root(to_fraction(measure.discount.base))
        return make_terms({base: Fraction(1, exponent)})
    cutoff = measure.cutoff if measure.ideal == "cut" else None
    ideal = enumerate(setting.list_ideal_gains(gains)[:cutoff], 1)
    weights = ((gain, *invert_discount(measure.discount, rank)) for rank, gain in ideal)
    return add_terms((base, gain * factor) for gain, base, factor in weights)


def invert_discount(discount: Discount, rank: int) -> tuple[Fraction, Fraction]:
    """Return r and c such that 1 / ln x = c / ln r, where x is the discount's argument."""
    base, exponent = find_root(discount.find_log_argument(rank))
    return base, Fraction(1, exponent)


Totals = tuple[int, Fraction]
"""Number C of relevant documents so far, and their cumulated gain cg."""

NO_DOCUMENTS: Totals = (0, ZERO)


@dataclass(frozen=True)
class BlendedRatios:
    """Exact blended ratios of a measure.

    `is_relevant` and `gains` are by grade, with a gain of 0 for grades that are not relevant;
    `ideal` has the cumulated gain cg* of the ideal ranking by rank. Ranks beyond `depth` are
    ignored.
    """

    measure: Any
    is_relevant: tuple[bool, ...]
    gains: Fractions
    depth: int
    ideal: Fractions

    @classmethod
    def from_measure(cls, measure: Any, setting: Setting) -> BlendedRatios:
        is_relevant = setting.mask_relevant(measure)
        # With beta = 0, gains would only distinguish states that are equivalent.
        has_gain = [relevant and measure.beta > 0 for relevant in is_relevant]
        gains = tuple(map(mul, setting.compute_gains(measure.gains), has_gain))
        ideal_gains = [*setting.list_ideal_gains(gains), *[ZERO] * setting.length][: setting.length]
        ideal = tuple(accumulate(ideal_gains))
        return cls(make_exact(measure), is_relevant, gains, setting.find_depth(measure), ideal)

    def is_counted(self, rank: int, grade: int) -> bool:
        return self.is_relevant[grade] and rank <= self.depth

    def add_document(self, totals: Totals, grade: int) -> Totals:
        return totals[0] + 1, totals[1] + self.gains[grade]

    def compute_ratio(self, rank: int, totals: Totals) -> Fraction:
        ratio: Fraction = self.measure.blend(*totals, rank, self.ideal[rank - 1])
        return ratio


def sum_ratios(
    ratios: BlendedRatios, values: Fractions, continuation: Fractions, setting: Setting
) -> Stateful:
    """Return the form of a sum of weighted blended ratios, such as AP, Q, NCU or EBR.

    The state consists of the totals of documents and gain, and of a weight, which is 1 at the
    start. At a relevant document, the ratio is multiplied by the weight and by the value of the
    grade in `values`; then the weight is multiplied by the `continuation` of the grade.
    """

    def step(rank: int, state: tuple[Totals, Fraction], grade: int) -> tuple[Fraction, Hashable]:
        if not ratios.is_counted(rank, grade):
            return ZERO, state
        totals, weight = ratios.add_document(state[0], grade), state[1]
        ratio = ratios.compute_ratio(rank, totals)
        return weight * values[grade] * ratio, (totals, weight * continuation[grade])

    return setting.make_stateful((ratios, values, continuation), (NO_DOCUMENTS, ONE), step)


def make_q_form(measure: ntcir.QMeasure, setting: Setting) -> Form:
    constants = (ONE,) * (setting.max_grade + 1)
    rank_sum = sum_ratios(
        BlendedRatios.from_measure(measure, setting), constants, constants, setting
    )
    divisor = precision.find_divisor(measure, setting.count_relevant(measure))
    return Form(rank_sum, as_terms(int(divisor)))


def make_ap_form(measure: Any, setting: Setting) -> Form:
    """Return the form of AP or GMAP; on a topic both equal Q with beta = 0."""
    parameters = {name: getattr(measure, name) for name in ("rel", "cutoff", "denominator")}
    return make_q_form(ntcir.QMeasure(beta=0, **parameters), setting)


def make_ncu_form(measure: ntcir.NormalisedCumulativeUtility, setting: Setting) -> Form:
    values = continuation = (ONE,) * (setting.max_grade + 1)
    if measure.stopping == "graded":
        values = setting.compute_gains(measure.stops or measure.gains)
        is_relevant = setting.mask_relevant(measure)
        total = sum((values[grade] for grade in setting.judgments if is_relevant[grade]), ZERO)
    else:
        formula, recall_base = make_exact(measure), setting.count_relevant(measure)
        continuation = (formula.weigh_stop(2),) * (setting.max_grade + 1)
        total = sum((formula.weigh_stop(count) for count in range(1, recall_base + 1)), ZERO)
    # Precision is the blended ratio with beta = 0.
    ratio_measure = measure(beta=0) if measure.utility == "P" else measure
    ratios = BlendedRatios.from_measure(ratio_measure, setting)
    return Form(sum_ratios(ratios, values, continuation, setting), as_terms(total))


def make_ebr_form(measure: ntcir.ExpectedBlendedRatio, setting: Setting) -> Form:
    ratios, stops = (BlendedRatios.from_measure(measure, setting), setting.compute_stops(measure))
    continuation = tuple(1 - stop for stop in stops)
    return Form(sum_ratios(ratios, stops, continuation, setting))


def make_r_measure_form(measure: ntcir.RMeasure, setting: Setting) -> Form:
    """Return the form of R-measure, whose numerator is the sum of 1 + beta g over documents."""
    # The numerator of a document is its blended ratio at rank 1 without ideal gain.
    ratios = BlendedRatios.from_measure(measure, setting)
    recall_base = setting.count_relevant(measure)
    blend = ratios.measure.blend
    pairs = zip(ratios.is_relevant, ratios.gains, strict=True)
    row = [blend(int(is_relevant), gain, ONE, ZERO) for is_relevant, gain in pairs]
    total_gain = sum((ratios.gains[grade] for grade in setting.judgments), ZERO)
    divisor = 1 / blend(ONE, ZERO, recall_base, total_gain) if recall_base else ZERO
    return Form(_weigh_equally(row, recall_base, setting), as_terms(divisor))


def make_o_measure_form(measure: ntcir.OMeasure, setting: Setting) -> Form:
    ratios = BlendedRatios.from_measure(measure, setting)
    totals = [ratios.add_document(NO_DOCUMENTS, grade) for grade in range(setting.max_grade + 1)]
    ranks = range(1, setting.find_depth(measure) + 1)
    rows = [tuple(ratios.compute_ratio(rank, document) for document in totals) for rank in ranks]
    return Form(_sum_first_relevant(rows, ratios.is_relevant, setting))


def make_p_measure_form(measure: Any, setting: Setting) -> Form | None:
    """Return the form of P-measure: the ratio at the first document of the run's highest grade."""
    # The first document of a higher grade replaces the ratio: its contribution is the difference.
    # The state consists of the highest grade so far, the ratio at its first document, and the
    # totals of documents and gain.
    # P+ averages all ratios down to this document, and has too many distinct values. With a single
    # relevant grade it equals P-measure.
    if isinstance(measure, ntcir.PPlusMeasure) and max(measure.rel, 0) < setting.max_grade:
        return None
    ratios, max_grade = BlendedRatios.from_measure(measure, setting), setting.max_grade

    def step(rank: int, state: Any, grade: int) -> tuple[Fraction, Hashable]:
        best_grade, best_ratio, totals = state
        if not ratios.is_counted(rank, grade) or best_grade == max_grade:
            return ZERO, state
        totals = ratios.add_document(totals, grade)
        if grade <= best_grade:
            return ZERO, (best_grade, best_ratio, totals)
        ratio = ratios.compute_ratio(rank, totals)
        # No grade exceeds the highest, so that later ranks do not matter.
        final_state = (max_grade, ZERO, NO_DOCUMENTS)
        return ratio - best_ratio, final_state if grade == max_grade else (grade, ratio, totals)

    return Form(setting.make_stateful(("best ratio", ratios), (-1, ZERO, NO_DOCUMENTS), step))


def _cut_ideal(values: list[Fraction], measure: Any) -> list[Fraction]:
    """Return the ideal values that the denominator of a measure includes."""
    return values[: measure.cutoff] if measure.denominator == "min" else values


def make_gain_ap_form(measure: average_precision.KishidaAveragePrecision, setting: Setting) -> Form:
    """Return the form of gAP, a sum of mean gains; the state is the sum of gains."""
    gains, depth = setting.compute_gains(measure.gains), setting.find_depth(measure)

    def step(rank: int, state: Fraction, grade: int) -> tuple[Fraction, Fraction]:
        if not gains[grade] or rank > depth:
            return ZERO, state
        total = state + gains[grade]
        return measure.average_at_rank(total, rank), total

    ideal = accumulate(_cut_ideal(setting.list_ideal_gains(gains), measure))
    divisor = sum((measure.average_at_rank(gain, rank) for rank, gain in enumerate(ideal, 1)), ZERO)
    return Form(setting.make_stateful((depth, gains, measure), ZERO, step), as_terms(divisor))


def make_gap_form(measure: average_precision.GradedAveragePrecision, setting: Setting) -> Form:
    """Return the form of GAP; the state is the number of documents of each grade so far."""
    # G by grade, which does not decrease.
    weights = to_row(
        [make_exact(measure).sum_weights(grade) for grade in range(setting.max_grade + 1)]
    )
    depth = setting.find_depth(measure)

    def step(rank: int, state: tuple[int, ...], grade: int) -> tuple[Fraction, tuple[int, ...]]:
        if not grade or rank > depth:
            return ZERO, state
        counts = tuple(count + (level == grade) for level, count in enumerate(state, 1))
        # The sum of G(lower of both grades) over the documents so far, divided by the rank.
        minima = (count * weights[min(level, grade)] for level, count in enumerate(counts, 1))
        return sum(minima, ZERO) / rank, counts

    divisor = sum(_cut_ideal([weights[grade] for grade in setting.judgments], measure), ZERO)
    return Form(
        setting.make_stateful((depth, weights), (0,) * setting.max_grade, step), as_terms(divisor)
    )


MAX_EXACT_RANKS = 2_000
"""Maximum number of ranks for summing weights as fractions; more ranks are summed as floats."""

MAX_EXACT_VIEWS = 200
"""Maximum number of ranks for cumulating probabilities of reading as fractions."""


class UtilityRequest(NamedTuple):
    """Definition of the utility of a user model.

    With `is_total` the utility is summed (ETU) instead of averaged over ranks (EU). `depth` is the
    last rank read, None for the default of the model, and `last_scored_rank` the last rank whose
    gains count.
    """

    is_total: bool
    depth: int | None
    last_scored_rank: int


def _make_view_function(model: StaticModel) -> Callable[[int], tuple[Fraction, Fraction]]:
    """Return a function from a rank to the pair (r, c): its view probability is c / ln r.

    If r is 1, the view probability is c.
    """
    if isinstance(model, ScaledDCG):
        # Without the factor ln 2, which cancels out in sum V g / sum V; ETU divides by 1 / ln 2.
        return lambda rank: invert_discount(model.discount, rank)
    formula = make_exact(model)
    return lambda rank: (ONE, formula.views(Fraction(rank)))


def _compute_user_divisor(
    model: StaticModel, end: int | None, request: UtilityRequest
) -> tuple[Terms, float]:
    """Return the exact divisor of sum V g, and the factor if the divisor has no exact value."""
    if request.is_total:
        return make_terms({Fraction(2): ONE}) if isinstance(model, ScaledDCG) else UNITY, 1.0
    if end is None and isinstance(model, stopping.RankBiasedPrecision):
        return as_terms(make_exact(model).compute_total_depth()), 1.0
    if end is None or end > MAX_EXACT_RANKS:
        return UNITY, 1.0 / model.compute_expected_depth(end)
    return add_terms(map(_make_view_function(model), range(1, end + 1))), 1.0


def _make_static_form(model: StaticModel, setting: Setting, request: UtilityRequest) -> Form:
    end = model.limit_rank(request.depth)
    last_scored_rank = min(request.last_scored_rank, end or request.last_scored_rank)
    weights = list(map(_make_view_function(model), range(1, last_scored_rank + 1)))
    rank_sum = Additive.weigh(setting.compute_unit_gains(model), weights, setting.length)
    divisor, factor = _compute_user_divisor(model, end, request)
    return Form(rank_sum, divisor, factor=factor)


def _make_satisfied_form(
    model: stopping.SatisfiedModel, setting: Setting, request: UtilityRequest
) -> Form | None:
    end = min(setting.length, model.limit_rank(request.depth) or DEFAULT_MAX_RANK)
    views = [make_exact(model).compute_patience(Fraction(rank)) for rank in range(1, end + 2)]
    weigh = setting.compute_stops if isinstance(model, ERRUser) else setting.compute_unit_gains
    gains = weigh(model)
    last_scored_rank = min(end, request.last_scored_rank)
    if request.is_total:
        patience = [next_view / view for view, next_view in pairwise(views)]
        return Form(_sum_until_stop(gains, [ONE] * last_scored_rank, patience, setting))
    if not set(gains) <= {ZERO, ONE}:
        return None
    if end > MAX_EXACT_VIEWS and set(views) != {ONE}:
        raise PolicyError(
            f"the probabilities of reading {end} ranks have too many digits to compute the possible"
            f" values of {model} exactly; use a length of at most {MAX_EXACT_VIEWS}"
        )
    # Users stop at the first relevant document: V of its rank divided by the sum of V so far.
    pairs = zip(views, accumulate(views), strict=True)
    rows = [(view / total,) * len(gains) for view, total in pairs][:last_scored_rank]
    return Form(_sum_first_relevant(rows, gains, setting))


_LIMITS = ("T", "K", "hb", "hc", "median")
"""Parameters of Bejeweled player models that limit gain and effort."""


def _make_player_form(model: Any, setting: Setting, request: UtilityRequest) -> Form | None:
    """Return the form of a Bejeweled player model; the state is the sum of gains, None at the end.

    Whether a player stops depends on comparisons of sums in floats. Therefore models with gains or
    limits such as 1/3, which floats round, have no form.
    """
    if model.unit is not None:
        return None
    formula, gains = make_exact(model), setting.compute_unit_gains(model)
    limits = [vars(formula)[name] for name in _LIMITS if name in vars(formula)]
    if any(number.denominator & (number.denominator - 1) for number in (*limits, *gains)):
        return None
    end, length = model.limit_rank(request.depth) or DEFAULT_MAX_RANK, setting.length

    def does_stop(rank: int, total: Fraction, gain: Fraction) -> bool:
        target, last_rank = formula.compute_limits(rank, total)
        return bool(rank >= end or total + gain >= target or rank >= last_rank)

    def step(rank: int, state: Fraction | None, grade: int) -> tuple[Fraction, Fraction | None]:
        if state is None:
            return ZERO, None
        gain = gains[grade] if rank <= request.last_scored_rank else ZERO
        total, is_last = state + gain, does_stop(rank, state, gain)
        if not is_last and rank < length:
            return ZERO, total
        # There are no gains beyond the last rank.
        while not is_last:
            rank += 1
            is_last = does_stop(rank, total, ZERO)
        return total if request.is_total else total / rank, None

    key = (formula, gains, request.last_scored_rank, end, request.is_total)
    return Form(setting.make_stateful(key, ZERO, step))


_NERR = (stopping.NERR8, stopping.NERR9, stopping.NERR10, stopping.NERR11)
_MODELS: dict[type[Measure], Callable[[Any, Setting, UtilityRequest], Form | None]] = {
    **dict.fromkeys(
        (PrecisionUser, stopping.RankBiasedPrecision, INSQ, ScaledDCG), _make_static_form
    ),
    **dict.fromkeys((*_NERR, ReciprocalRankUser, ERRUser), _make_satisfied_form),
    **dict.fromkeys((BPM, BPMDynamic), _make_player_form),
}
"""Functions that return the form of a user model, by class."""


def make_user_form(measure: UserModel | Expectation, setting: Setting) -> Form | None:
    """Return the form of EU, ETU, or a user model, whose value as a measure is its EU."""
    model, is_total, depth = measure, False, None
    if isinstance(measure, Expectation):
        if not isinstance(measure, (EU, ETU)):
            return None  # Expected costs and depths have no form.
        model, is_total, depth = measure.model, isinstance(measure, ETU), measure.depth
    maker = _MODELS.get(type(model))
    return maker and maker(
        model, setting, UtilityRequest(is_total, depth, setting.find_depth(measure))
    )


def make_chain_form(measure: ChainMeasure, setting: Setting) -> Form:
    """Return the form of a measure such as uM, rrM or EBU; additive if users always continue."""
    formula, grades = make_exact(measure), list_fractions(setting.max_grade)
    zeros = np.full(grades.size, ZERO)

    def look_up(gain: Gain | None) -> Any:
        return zeros if gain is None else gain.look_up_gains(grades) + zeros

    values, continuation = [], []
    for rank in range(1, setting.find_depth(measure) + 1):
        if isinstance(measure, EffortMeasure):
            gains = (formula.compute_click_satisfaction(look_up, rank) + zeros) / Fraction(rank)
        else:
            gains = np.array(setting.compute_unit_gains(measure), dtype=object)
        values.append(to_row(formula.compute_examination(rank) * look_up(formula.clicks) * gains))
        continuation.append(to_row(formula.continuation(look_up, rank) + zeros))
    if all(probability == 1 for row in continuation for probability in row):
        empty_rows = [(ZERO,) * grades.size] * (setting.length - len(values))
        return Form(Additive((ONE,) * setting.length, (*values, *empty_rows)))
    return Form(make_cascade(setting.length, setting.max_grade, tuple(values), tuple(continuation)))


FormMaker = Callable[[Any, Setting], Form | None]

_MAKERS: dict[FormMaker, str] = {
    make_count_form: "P R RelP NumRelRet SetP SetR SetRelP SetAP SetF SetE Utility",
    make_r_precision_form: "Rprec",
    make_gain_form: "gP gR",
    make_rank_biased_form: "RBP",
    make_dcg_form: "DCG nDCG",
    make_first_relevant_form: "RR Success WRR",
    make_ap_form: "AP GMAP",
    make_gain_ap_form: "gAP",
    make_gap_form: "GAP",
    make_err_form: "ERR nERR iRBU",
    make_chain_form: "uM rrM EBU uDCM rrDCM uCCM rrCCM",
    make_q_form: "Q",
    make_ncu_form: "NCU",
    make_ebr_form: "EBR",
    make_r_measure_form: "RMeasure",
    make_o_measure_form: "OMeasure",
    make_p_measure_form: "PMeasure PPlus",
    make_user_form: "INSQ SDCG BPM BPMDynamic NERR8 NERR9 NERR10 NERR11 EU ETU",
}

FORMS: dict[type[Measure], FormMaker] = {
    REGISTRY[name]: maker for maker, names in _MAKERS.items() for name in names.split()
}
"""Functions that make the `Form` of a measure (how its score is computed), by class."""


def find_form(
    measure: Measure, length: int, grades: int = 1, judgments: Sequence[int] | int | None = None
) -> Form | None:
    """Return the form of a measure's values on runs of a length; None if it has no form.

    `judgments` are the grades of the topic's judged documents, or the number of documents of the
    highest grade; by default there are as many documents of the highest grade as ranks.

    >>> from cranfield.measures import DCG, IPrec
    >>> find_form(DCG, 3).rank_sum.bases, find_form(IPrec @ 0.1, 3) is None
    ((Fraction(2, 1), Fraction(3, 1), Fraction(2, 1)), True)
    """
    maker = FORMS.get(type(measure))
    if maker is None:
        return None
    measure.require_complete()
    return maker(measure, Setting(length, grades, check_judgments(judgments, length, grades)))
