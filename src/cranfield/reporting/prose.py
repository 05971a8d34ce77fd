"""Comparisons as paragraphs for a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

import numpy as np

from cranfield.base import text
from cranfield.base.arrays import Indices
from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.scale_types import a_scale
from cranfield.base.text import capitalised, counted
from cranfield.base.version import __version__
from cranfield.reporting.references import Entry, cited_in
from cranfield.reporting.summary import listing
from cranfield.scales.statements import MEANINGFUL, describe_order, meaningfulness, measure_of
from cranfield.significance import check_assumptions
from cranfield.significance.comparison.compared_pairs import MEANS
from cranfield.significance.comparison.rank_sets import heading_of
from cranfield.significance.comparison.result import RESCALING, PairwiseComparison
from cranfield.significance.registry import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison

FORMATS: dict[str, Callable[[str], str]] = {
    "text": text.plain,
    "markdown": text.markdown,
    "latex": text.latex,
}
"""Functions that escape text, by format."""

MAX_PLACES = 12
DIGITS = 2
"""Number of significant digits of half the width of an interval."""


@dataclass(frozen=True)
class Maths:
    """A number or a formula, such as `-0.12` or `p < 0.001`."""

    text: str


@dataclass(frozen=True)
class Citation:
    """Sources to cite, such as `Holm (1979); Shaffer (1986)`."""

    source: str


Sentence = Sequence["str | Maths | Citation"]


def write_paragraph(sentences: Iterable[Sentence], format: str) -> str:
    """Write sentences as one paragraph."""
    check_choice("format", format, FORMATS)
    return " ".join(
        "".join(_write_part(part, format) for part in sentence) for sentence in sentences
    )


def _write_part(part: str | Maths | Citation, format: str) -> str:
    if isinstance(part, Maths):
        return f"${part.text}$" if format == "latex" else FORMATS[format](part.text)
    if isinstance(part, str):
        return FORMATS[format](part)
    works, _ = cited_in(part.source)
    if not works:
        return ""
    if format == "latex":
        return rf" \citep{{{','.join(work.key for work in works)}}}"
    return FORMATS[format](f" ({'; '.join(map(_cite_shortly, works))})")


def _cite_shortly(work: Entry) -> str:
    """Return authors and year, or the name of a program."""
    return work.key if work.is_software else f"{_authors(work.families)} {work.year}"


def _authors(families: Sequence[str]) -> str:
    if len(families) > 3:
        return f"{families[0]} et al."
    *other_families, last = families
    return f"{', '.join(other_families)} and {last}" if other_families else last


def places_for(low: float, high: float, otherwise: int) -> int:
    """Return the number of decimals that shows two digits of the half-width of an interval."""
    half = (high - low) / 2
    if not isfinite(half) or half <= 0:
        return otherwise
    return min(MAX_PLACES, max(0, DIGITS - 1 - floor(log10(half))))


def rounded(value: float, places: int) -> Maths:
    """Write a number; a rounded 0 has no sign."""
    text = f"{value:.{places}f}"
    return Maths(text.removeprefix("-") if float(text) == 0 else text)


def between(low: float, high: float, places: int) -> Sentence:
    """Write an interval; one bound may be infinite."""
    if np.isinf(low) and np.isfinite(high):
        return ["up to ", rounded(high, places)]
    if np.isinf(high) and np.isfinite(low):
        return ["from ", rounded(low, places)]
    return [rounded(low, places), " to ", rounded(high, places)]


def p_of(pvalue: float, alpha: float) -> Maths:
    """Write a p-value with enough decimals to show whether it is below alpha."""
    if pvalue < 0.001 and alpha >= 0.001:
        return Maths("p < 0.001")
    places = 3
    while places < MAX_PLACES and (float(f"{pvalue:.{places}f}") <= alpha) != (pvalue <= alpha):
        places += 1
    if places == 3 and 0.9995 <= pvalue < 1:
        return Maths("p > 0.999")
    if pvalue < 10.0**-MAX_PLACES:
        return Maths(f"p < {10.0**-MAX_PLACES:.{MAX_PLACES}f}")
    while float(f"{pvalue:.{places}f}") == 0:
        places += 1
    return Maths(f"p = {pvalue:.{places}f}")


ZERO = 1e-9
"""Bounds whose absolute value is at most this are 0 except for rounding."""

MAX_PAIRS = 5
"""Maximum number of pairs whose differences are listed."""


def _pair(comparison: PairwiseComparison, k: int) -> Sentence:
    """Write a difference with its interval, if it has one, and its p-value."""
    low, high = (float(ends[k]) for ends in comparison.interval)
    places = _places(comparison, k)
    difference = rounded(comparison.difference[k], places)
    p = p_of(float(comparison.adjusted_pvalues[k]), comparison.alpha)
    if np.isnan([low, high]).any() or np.isinf([low, high]).all():
        return [difference, " (", p, ")"]
    ends = between(low, high, places)
    level = f"{100 * (1 - comparison.alpha):g}% confidence interval"
    if comparison.interval_of in (*MEANS, comparison.difference_name):
        return [difference, f" ({level} ", *ends, ", ", p, ")"]
    # The interval is of another quantity than the difference before it.
    quantity = (
        comparison.interval_of if len(comparison) == 1 else comparison.interval_of.split(" of ")[0]
    )
    return [difference, " (", p, f", {level} of the {quantity} ", *ends, ")"]


def _differences(comparison: PairwiseComparison) -> str:
    return "log ratios" if comparison.mean_of == "geometric mean" else "differences"


def _places(comparison: PairwiseComparison, k: int) -> int:
    """Return the decimals of a pair; an interval with one bound counts as symmetric."""
    low, high = (float(ends[k]) for ends in comparison.interval)
    twice = 2 * float(comparison.difference[k])
    if np.isfinite(low) != np.isfinite(high):
        low, high = (low, twice - low) if np.isfinite(low) else (twice - high, high)
    places = places_for(low, high, comparison.places)
    # A bound other than 0 is not rounded to 0.
    smallest = min((abs(end) for end in (low, high) if ZERO < abs(end) < np.inf), default=1.0)
    while places < MAX_PLACES and round(smallest, places) == 0:
        places += 1
    return places


def _name(comparison: PairwiseComparison, k: int) -> tuple[str, str]:
    return comparison.systems[comparison.first[k]], comparison.systems[comparison.second[k]]


def _mean(comparison: PairwiseComparison, system: int, k: int) -> str:
    """Write a mean as exactly as the difference of a pair."""
    return rounded(comparison.means[system], _places(comparison, k)).text


def result_of(comparison: PairwiseComparison) -> Iterator[Sentence]:
    star = comparison.is_significant()
    if len(comparison) == 1:
        a, b = int(comparison.first[0]), int(comparison.second[0])
        yield [
            f"The {comparison.mean_of} of {comparison.systems[a]} was {_mean(comparison, a, 0)},"
            f" that of {comparison.systems[b]} {_mean(comparison, b, 0)}.",
        ]
        yield [
            f"The {comparison.difference_name}, ",
            *_pair(comparison, 0),
            f", is {'' if star[0] else 'not '}significant.",
        ]
        return
    count = int(star.sum())
    yield [
        f"Of {len(comparison):,} pairs, {count or 'none'} {_verb('differ', count)} significantly."
    ]
    note = ""
    if number := comparison.without_interval:
        has = f"{counted(number, 'pair')} {'has' if number == 1 else 'have'}"
        note = f"; {has} no interval, because it would contradict the decision of the test"
    yield [
        f"Intervals are for the {comparison.interval_of}, and hold for"
        f" {comparison.interval_kind}{note}."
    ]
    if comparison.baselines:
        yield from _of_baselines(comparison)
    elif comparison.shows_pairs:
        significant = np.flatnonzero(star)
        if significant.size:
            yield [
                _largest(f"The {_differences(comparison)} found", significant.size),
                *_listed_differences(comparison, significant),
                ".",
            ]
    else:
        yield from _of_best(comparison)


def _verb(verb: str, count: int) -> str:
    return f"{verb}s" if count == 1 else verb


def _of_baselines(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Write about systems that are better or worse than each baseline."""
    star, sign = comparison.is_significant(), np.sign(comparison.difference)
    is_better = sign * (-1 if comparison.lower_is_better else 1)
    for second in dict.fromkeys(comparison.second.tolist()):
        of_baseline = comparison.second == second
        base = comparison.systems[second]
        for word, has_sign in (("better", is_better > 0), ("worse", is_better < 0)):
            if comparison.alternative != "two-sided" and word != comparison.tested_verdict:
                yield [f"Whether a system is {word} than {base} was not tested."]
                continue
            significant = np.flatnonzero(of_baseline & star & has_sign)
            if significant.size == 0:
                yield [f"No system is significantly {word} than {base}."]
                continue
            subject = (
                f"{counted(significant.size, 'system')} {'is' if significant.size == 1 else 'are'}"
            )
            start = (
                f"{subject} significantly {word} than {base}, by these {_differences(comparison)}"
            )
            yield [
                _largest(start, significant.size),
                *_listed_differences(comparison, significant),
                ".",
            ]


def _largest(start: str, count: int) -> str:
    selection = f", the {MAX_PAIRS} largest" if count > MAX_PAIRS else ""
    return f"{start}{selection}: "


def _listed_differences(
    comparison: PairwiseComparison, pairs: Indices
) -> Iterator[str | Maths | Citation]:
    """Write the largest differences among some pairs."""
    order = pairs[np.argsort(-np.abs(comparison.difference[pairs]), kind="stable")]
    for place, k in enumerate(order[:MAX_PAIRS].tolist()):
        first, second = _name(comparison, k)
        yield "; " if place else ""
        yield (
            f"{first} " if comparison.baselines else f"{first} {comparison.between_names} {second} "
        )
        yield from _pair(comparison, k)


def _of_best(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Write about the best system, and those not significantly different from it."""
    best, next_best = (int(k) for k in comparison.order[:2])
    top = [name for name in comparison.top_group if name != comparison.systems[best]]
    different = np.nan_to_num(comparison.matrix(comparison.is_significant().astype(float)))[best]
    better = int(different.sum())
    word = "lowest" if comparison.lower_is_better else "highest"
    ends = {best, next_best}
    pairs = zip(comparison.first.tolist(), comparison.second.tolist(), strict=True)
    k = next(k for k, pair in enumerate(pairs) if {*pair} == ends)
    clause = f"it differs significantly from {_of_others(better, len(comparison.systems) - 1)}"
    clause += f", and not from {listing(top)}" if top else ""
    if not better:
        clause = "it is not significantly different from any other system"
    yield [
        f"{comparison.systems[best]} has the {word} {comparison.mean_of},"
        f" {_mean(comparison, best, k)}; {clause}."
    ]
    a, b = _name(comparison, k)
    yield [
        f"Compared with the second, {comparison.systems[next_best]}, the"
        f" {comparison.difference_name}"
        f" ({a} {comparison.between_names} {b}) is ",
        *_pair(comparison, k),
        ".",
    ]


def _of_others(number: int, n_others: int) -> str:
    """Name a number of the other systems."""
    if number < n_others:
        return f"{number} of the {counted(n_others, 'other system')}"
    words = {1: "the other system", 2: "both other systems"}
    return words.get(n_others, f"all {n_others:,} other systems")


def effects_of(comparison: PairwiseComparison) -> Iterator[Sentence]:
    effects = comparison.effect[np.isfinite(comparison.effect)]
    if effects.size == 0:
        return
    kind = comparison.info.effect
    if effects.size == 1:
        yield [f"The effect size ({kind}) is ", rounded(effects[0], 2), "."]
        return
    size = np.abs(effects)
    ends, median = between(size.min(), size.max(), 2), rounded(float(np.median(size)), 2)
    yield [f"Effect sizes ({kind}) are from ", *ends, " in size, with a median of ", median, "."]


def equivalence_of(comparison: PairwiseComparison, margin: float | str) -> Iterator[Sentence]:
    result = comparison.equivalence(margin)
    level = f"{100 * result.level:g}% intervals of the {comparison.interval_of}, {result.holds_for}"
    equivalent, non_inferior = int(result.is_equivalent.sum()), int(result.is_non_inferior.sum())
    margin_text = f"{margin:g}" if isinstance(margin, (int, float)) else str(margin)
    first = f"Within a margin of {margin_text}, by {level}"
    if len(comparison) > 1:
        total = counted(len(comparison), "pair")
        yield [
            f"{first}, {equivalent or 'none'} of {total} {'is' if equivalent == 1 else 'are'}"
            " equivalent; the first system is shown to be non-inferior to the second in"
            f" {non_inferior or 'none'}."
        ]
        return
    low, high = (float(end[0]) for end in result.interval)
    yield [
        f"{first} (",
        *between(low, high, places_for(low, high, comparison.places)),
        f"), the two systems are {'' if equivalent else 'not shown to be '}equivalent, and"
        f" {_name(comparison, 0)[0]} is {'' if non_inferior else 'not shown to be '}non-inferior.",
    ]


def jointly(comparison: JointComparison) -> Iterator[Sentence]:
    verdicts = comparison.verdicts
    better, worse = (verdicts > 0).sum(axis=1), (verdicts < 0).sum(axis=1)
    n_some = int(((better + worse) > 0).sum())
    n_every = int((np.maximum(better, worse) == len(comparison.measures)).sum())
    n_opposed = int(((better > 0) & (worse > 0)).sum())
    pairs = counted(len(comparison), "pair")
    verb = "differs" if n_some == 1 or len(comparison) == 1 else "differ"
    yield [
        f"{counted(len(comparison.systems), 'system')} were compared by ",
        *_list_measures(comparison.measures),
        f" on {counted(comparison.topics, 'topic')} ({pairs}).",
    ]
    correction = CORRECTIONS[comparison.correction]
    has_baseline_source = bool(comparison.baselines) and bool(correction.baseline_source)
    yield [
        f"All pairs and measures were tested together by {comparison.method}",
        Citation(correction.baseline_source if has_baseline_source else correction.source),
        f", two-sided, which bounds the probability of any false positive among"
        f" {counted(verdicts.size, 'comparison')} by {comparison.alpha:g}; it drew"
        f" {counted(comparison.resamples, 'random sample')} with seed {comparison.seed}.",
    ]
    yield [
        f"Of {pairs}, {n_some or 'none'} {verb} significantly by some"
        f" measure, {n_every or 'none'} by every measure, and {n_opposed or 'none'} by measures"
        " that contradict each other."
    ]
    low, high = comparison.interval
    names = comparison.systems
    level = f"{100 * (1 - comparison.alpha):g}% interval of all together "
    for m, measure in enumerate(comparison.measures):
        significant = np.flatnonzero(verdicts[:, m])
        if not significant.size:
            yield [f"By {measure} no pair differs significantly."]
            continue
        k = int(significant[np.argmax(np.abs(comparison.difference[significant, m]))])
        ends = low[k, m], high[k, m]
        places = places_for(*ends, 4)
        interval = [level, *between(*ends, places), ", "] if np.isfinite(ends).all() else []
        word, quantity = (
            ("to", "log ratio ") if comparison.statistics[m] == "geometric-mean" else ("minus", "")
        )
        yield [
            f"By {measure}, {counted(significant.size, 'pair')}"
            f" {_verb('differ', significant.size)} significantly; the largest difference is"
            f" {names[comparison.first[k]]} {word}"
            f" {names[comparison.second[k]]}: {quantity}",
            rounded(comparison.difference[k, m], places),
            " (",
            *interval,
            p_of(float(comparison.pvalues[k, m]), comparison.alpha),
            ").",
        ]
    yield ["We assume that topics are a random sample, a dozen at least."]
    for note in comparison.notes:
        yield [f"{capitalised(note)}."]
    yield [f"Computed with cranfield {__version__}."]


def _list_measures(names: Sequence[str]) -> Iterator[str | Citation]:
    """List all measures, each with the works to cite for it."""
    for place, name in enumerate(names):
        yield "" if place == 0 else " and " if place == len(names) - 1 else ", "
        measure = measure_of(name)
        yield name
        yield Citation("" if measure is None else measure.source)


BOUNDS = {
    "FWER": "which bounds the probability of any false positive among them",
    "FDR": "which bounds the expected proportion of false positives among the"
    " significant differences",
}
"""Error rates that corrections bound, in words."""

OF_TEST = "what the test assumes of each pair"
"""Text of corrections that add no assumptions to those of the test."""

JUDGING = {
    "ties": {
        "trec": "documents with equal scores are in descending order of their ids",
        "trec_eval-9": (
            "documents with equal scores, as 32-bit floats, are in descending order of their ids"
        ),
        "id-ascending": "documents with equal scores are in ascending order of their ids",
        "input": "documents with equal scores are in the order of the run",
        "rank": "documents are in the order of the rank column",
        "file": "documents are in the order of the run, whatever their scores",
        "expected": "scores are expected values over all orders of tied documents",
    },
    "topics": {
        "qrels": "all judged topics count, also those without results",
        "intersection": "only judged topics with results count",
        "run": "all topics with results count, judged or not",
    },
    "unjudged": {
        "nonrelevant": "unjudged documents are not relevant",
        "condensed": "unjudged documents are removed from the rankings",
    },
    "negative": {
        "judged": "documents with a negative grade are not relevant",
        "unjudged": "documents with a negative grade are unjudged",
    },
}
"""Policies of judging in words."""


def prose(comparison: Any, format: str = "text", margin: float | str | None = None) -> str:
    """Write a comparison as a paragraph; see :meth:`cranfield.PairwiseComparison.prose`."""
    check_choice("format", format, FORMATS)
    if isinstance(comparison, JointComparison):
        if margin is not None:
            raise PolicyError("margin requires a comparison by one measure")
        sentences = jointly(comparison)
    else:
        sentences = _sentences(comparison, margin)
    listed = list(sentences)
    keys = {work.key: None for s in listed for part in s for work in _works(part)}
    hint = f"\n% References: cranfield cite {' '.join(keys)} > references.bib" if keys else ""
    return write_paragraph(listed, format) + (hint if format == "latex" else "")


def _works(part: str | Maths | Citation) -> Sequence[Entry]:
    return cited_in(part.source)[0] if isinstance(part, Citation) else ()


def _sentences(comparison: PairwiseComparison, margin: float | str | None) -> Iterator[Sentence]:
    yield from _design(comparison)
    yield from _test(comparison)
    yield from result_of(comparison)
    yield from effects_of(comparison)
    if margin is not None:
        yield from equivalence_of(comparison, margin)
    yield from _assumptions(comparison)
    for note in comparison.notes:
        # Other sentences report these notes.
        if not (note.startswith("lower scores of") or note.endswith(RESCALING)):
            yield [f"{capitalised(note)}."]
    yield [f"Computed with cranfield {__version__}."]


def _design(comparison: PairwiseComparison) -> Iterator[Sentence]:
    measure_name = comparison.measure or "their scores"
    measure = measure_of(comparison.measure)
    source = Citation("" if measure is None else measure.source)
    systems, pairs = comparison.systems, counted(len(comparison), "pair")
    if len(systems) == 2:
        clause = f"{systems[comparison.first[0]]} was compared with {systems[comparison.second[0]]}"
        note = ""
    elif comparison.baselines:
        other_systems = counted(len(systems) - len(comparison.baselines), "system")
        clause = (
            f"{other_systems} {'was' if other_systems.startswith('1 ') else 'were'} compared with"
        )
        clause += f" {'the baseline' if len(comparison.baselines) == 1 else 'the baselines'}"
        clause, note = f"{clause} {listing(comparison.baselines)}", f" ({pairs})"
    else:
        clause = f"{counted(len(systems), 'system')} were compared with each other"
        note = f" ({pairs})"
    topics = counted(comparison.topics, "topic")
    yield [f"{clause} by {measure_name}", source, f" on {topics}{note}."]
    if comparison.scores.lower_is_better:
        yield [f"Lower scores of {measure_name} are better."]
    policies = [
        JUDGING.get(name, {}).get(str(value), _SETTINGS.get(name, f"{name} is {{}}").format(value))
        for name, value in comparison.scores.settings.items()
        if _is_word(value)
    ]
    if policies:
        yield [f"For judging, {'; '.join(policies)}."]


_SETTINGS = {"grades": "grades are {}", "max_grade": "the highest grade is {}"}
"""Clauses for settings of judging that are numbers."""


def _is_word(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _test(comparison: PairwiseComparison) -> Iterator[Sentence]:
    info, correction = comparison.info, CORRECTIONS[comparison.correction]
    side = (
        "two-sided"
        if comparison.alternative == "two-sided"
        else f"one-sided ({comparison.alternative})"
    )
    if correction.heading:
        has_baselines = bool(comparison.baselines)
        yield [
            f"The test was {heading_of(info, correction, baseline=has_baselines)}",
            Citation(correction.baseline_source if has_baselines else correction.source),
            f", {side}, {_bounds(correction.controls, comparison)}; the critical value was"
            f" estimated from {counted(comparison.resamples or 0, 'resample')} of topics with seed"
            f" {comparison.seed}.",
        ]
        return
    start: Sentence = [f"The test was the {_lower_title(info.title)}", Citation(info.source)]
    level = f", {side}, at a significance level of {comparison.alpha:g}"
    if comparison.correction == "none":
        note = (
            ""
            if len(comparison) == 1
            else f"; p-values are not corrected for {len(comparison):,} comparisons"
        )
        yield [*start, f"{level}{note}."]
    else:
        title, source = correction.title, Citation(correction.source)
        yield [
            *start,
            f"{level}, with {title}",
            source,
            f", {_bounds(correction.controls, comparison)}.",
        ]
    if comparison.resamples is not None:
        yield [
            f"It drew {counted(comparison.resamples, 'random sample')} with seed {comparison.seed}."
        ]
    if comparison.omnibus is not None:
        omnibus = comparison.omnibus
        yield [
            f"Over all systems together, {omnibus.name} was {omnibus.statistic:.2f} with"
            f" {counted(round(omnibus.df), 'degree')} of freedom (",
            p_of(omnibus.pvalue, comparison.alpha),
            f", {omnibus.effect_name} {omnibus.effect:.3f}).",
        ]


def _lower_title(title: str) -> str:
    """Lower the first letter of a title within a sentence, except of names and acronyms."""
    first = title.split(maxsplit=1)[0]
    is_common = first in {"Paired", "Sign", "Randomisation", "Studentised", "Unpaired", "Bootstrap"}
    is_common |= first.startswith(("Two-", "One-", "Three-", "Fake"))
    return title[:1].lower() + title[1:] if is_common else title


def _bounds(bounds: str, comparison: PairwiseComparison) -> str:
    return f"{BOUNDS[bounds]}, {counted(len(comparison), 'comparison')}, by {comparison.alpha:g}"


def _assumptions(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Write the assumptions, the results of their checks, and the effect of the scale."""
    assumption = CORRECTIONS[comparison.correction].assumes
    if assumption == OF_TEST or comparison.info.family == "ranks":
        assumption = comparison.info.assumes.split(". ")[0].rstrip(".")
        assumption = assumption[:1].lower() + assumption[1:]
    yield [f"We assume that {assumption}."]
    if comparison.anova is not None and CORRECTIONS[comparison.correction].one_variance:
        violated = check_assumptions(comparison.anova.residuals, comparison.anova.fitted).violated
        yield [
            f"Tests of the residuals reject: {', '.join(violated)}."
            if violated
            else "No test of the residuals rejects normal errors of equal variance."
        ]
    meaning, measure_name = meaningfulness(comparison), comparison.measure or "the scores"
    needs = f"The test needs {a_scale(meaning.required_scale)}"
    if meaning.scale is None:
        yield [f"{needs}; the scale of {measure_name} is unknown."]
    elif meaning.verdict == MEANINGFUL:
        yield [
            f"{needs}, and {measure_name} is {'declared ' if meaning.declared_by_user else ''}"
            f"{a_scale(meaning.scale)}, so the result does not depend on the spacing of the scale."
        ]
    else:
        reason = (
            f"{measure_name} is declared to be {a_scale(meaning.scale)}"
            if meaning.scale < meaning.required_scale
            else f"{measure_name} is {a_scale(meaning.scale)} for retrieved sets of one size only"
            if meaning.depends_on_size and not meaning.depends_on_topic
            else f"each topic has its own scale for {measure_name}"
        )
        yield [
            f"{needs}, but {reason}: the result may depend on the spacing of the scale",
            Citation("Ferrante, Ferro and Fuhr (2021)"),
            ".",
        ]
        if count := comparison.count():
            order_sentence = describe_order(
                count,
                meaning.n_invariant,
                "significantly different pair",
                "significantly different pairs",
            )
            yield [f"{capitalised(order_sentence)}."]
