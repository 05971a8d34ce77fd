"""A comparison as a paragraph for a paper."""

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
from cranfield.scales.statements import MEANINGFUL, meaningfulness, measure_of, order_kept
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
"""How names from elsewhere, and our own words, are made safe."""

MOST_PLACES = 12
SURE = 2
"""Digits that half the width of an interval is shown with."""


@dataclass(frozen=True)
class Maths:
    """A number or a formula, such as `-0.12` or `p < 0.001`."""

    text: str


@dataclass(frozen=True)
class Cited:
    """Where something comes from, as sources are declared: `Holm (1979); Shaffer (1986)`."""

    source: str


Sentence = Sequence["str | Maths | Cited"]


def written(sentences: Iterable[Sentence], format: str) -> str:
    """Write sentences as one paragraph."""
    check_choice("format", format, FORMATS)
    return " ".join("".join(_part(one, format) for one in sentence) for sentence in sentences)


def _part(part: str | Maths | Cited, format: str) -> str:
    if isinstance(part, Maths):
        return f"${part.text}$" if format == "latex" else FORMATS[format](part.text)
    if isinstance(part, str):
        return FORMATS[format](part)
    works, _ = cited_in(part.source)
    if not works:
        return ""
    if format == "latex":
        return rf" \citep{{{','.join(one.key for one in works)}}}"
    return FORMATS[format](f" ({'; '.join(map(_short, works))})")


def _short(work: Entry) -> str:
    """Return authors and year; the name of a program."""
    return work.key if work.is_software else f"{_authors(work.families)} {work.year}"


def _authors(families: Sequence[str]) -> str:
    if len(families) > 3:
        return f"{families[0]} et al."
    *most, last = families
    return f"{', '.join(most)} and {last}" if most else last


def places_for(low: float, high: float, otherwise: int) -> int:
    """Return the decimals that an interval supports: two digits of half its width."""
    half = (high - low) / 2
    if not isfinite(half) or half <= 0:
        return otherwise
    return min(MOST_PLACES, max(0, SURE - 1 - floor(log10(half))))


def rounded(value: float, places: int) -> Maths:
    """Write a number; what is rounded to nothing has no sign."""
    text = f"{value:.{places}f}"
    return Maths(text.removeprefix("-") if float(text) == 0 else text)


def between(low: float, high: float, places: int) -> Sentence:
    """Write an interval, of which one bound may be infinite."""
    if np.isinf(low) and np.isfinite(high):
        return ["up to ", rounded(high, places)]
    if np.isinf(high) and np.isfinite(low):
        return ["from ", rounded(low, places)]
    return [rounded(low, places), " to ", rounded(high, places)]


def p_of(pvalue: float, alpha: float) -> Maths:
    """Write a p-value with so many decimals that it stands on its own side of alpha."""
    if pvalue < 0.001 and alpha >= 0.001:
        return Maths("p < 0.001")
    places = 3
    while places < MOST_PLACES and (float(f"{pvalue:.{places}f}") <= alpha) != (pvalue <= alpha):
        places += 1
    if places == 3 and 0.9995 <= pvalue < 1:
        return Maths("p > 0.999")
    if pvalue < 10.0**-MOST_PLACES:
        return Maths(f"p < {10.0**-MOST_PLACES:.{MOST_PLACES}f}")
    while float(f"{pvalue:.{places}f}") == 0:
        places += 1
    return Maths(f"p = {pvalue:.{places}f}")


NOTHING = 1e-9
"""Of a limit, which is rather 0 and an error of rounding."""

SHOWN_PAIRS = 5
"""Maximum number of pairs whose differences are listed."""


def _pair(one: PairwiseComparison, k: int) -> Sentence:
    """Write a difference with its interval, if it has one, and its p-value."""
    low, high = (float(ends[k]) for ends in one.interval)
    places = _places(one, k)
    difference = rounded(one.difference[k], places)
    p = p_of(float(one.adjusted_pvalues[k]), one.alpha)
    if np.isnan([low, high]).any() or np.isinf([low, high]).all():
        return [difference, " (", p, ")"]
    ends = between(low, high, places)
    level = f"{100 * (1 - one.alpha):g}% confidence interval"
    if one.interval_of in (*MEANS, one.difference_name):
        return [difference, f" ({level} ", *ends, ", ", p, ")"]
    # The interval is not one of the difference before it.
    of = one.interval_of if len(one) == 1 else one.interval_of.split(" of ")[0]
    return [difference, " (", p, f", {level} of the {of} ", *ends, ")"]


def _differences(one: PairwiseComparison) -> str:
    return "log ratios" if one.mean_of == "geometric mean" else "differences"


def _places(one: PairwiseComparison, k: int) -> int:
    """Return the decimals of a pair; an interval of one limit counts as if it had both."""
    low, high = (float(ends[k]) for ends in one.interval)
    twice = 2 * float(one.difference[k])
    if np.isfinite(low) != np.isfinite(high):
        low, high = (low, twice - low) if np.isfinite(low) else (twice - high, high)
    places = places_for(low, high, one.places)
    # A limit that is not 0 is not shown as 0.
    least = min((abs(end) for end in (low, high) if NOTHING < abs(end) < np.inf), default=1.0)
    while places < MOST_PLACES and round(least, places) == 0:
        places += 1
    return places


def _name(one: PairwiseComparison, k: int) -> tuple[str, str]:
    return one.systems[one.first[k]], one.systems[one.second[k]]


def _mean(one: PairwiseComparison, system: int, k: int) -> str:
    """Write a mean as exactly as the difference of a pair."""
    return rounded(one.means[system], _places(one, k)).text


def result_of(one: PairwiseComparison) -> Iterator[Sentence]:
    star = one.is_significant()
    if len(one) == 1:
        a, b = int(one.first[0]), int(one.second[0])
        yield [
            f"The {one.mean_of} of {one.systems[a]} was {_mean(one, a, 0)},"
            f" that of {one.systems[b]} {_mean(one, b, 0)}.",
        ]
        yield [
            f"The {one.difference_name}, ",
            *_pair(one, 0),
            f", is {'' if star[0] else 'not '}significant.",
        ]
        return
    count = int(star.sum())
    yield [f"Of {len(one):,} pairs, {count or 'none'} {_verb('differ', count)} significantly."]
    without = ""
    if number := one.without_interval:
        has = f"{counted(number, 'pair')} {'has' if number == 1 else 'have'}"
        without = f"; {has} no interval, because it would contradict the decision of the test"
    yield [f"Intervals are of the {one.interval_of}, and hold for {one.interval_kind}{without}."]
    if one.baselines:
        yield from _of_baselines(one)
    elif one.shows_pairs:
        found = np.flatnonzero(star)
        if found.size:
            yield [_largest(f"The {_differences(one)} found", found.size), *_told(one, found), "."]
    else:
        yield from _of_best(one)


def _verb(verb: str, count: int) -> str:
    return f"{verb}s" if count == 1 else verb


def _of_baselines(one: PairwiseComparison) -> Iterator[Sentence]:
    """Write which systems are better and which are worse than each baseline."""
    star, sign = one.is_significant(), np.sign(one.difference)
    good = sign * (-1 if one.lower_is_better else 1)
    for second in dict.fromkeys(one.second.tolist()):
        own = one.second == second
        base = one.systems[second]
        for word, chosen in (("better", good > 0), ("worse", good < 0)):
            if one.alternative != "two-sided" and word != one.tested_verdict:
                yield [f"Whether a system is {word} than {base} was not tested."]
                continue
            found = np.flatnonzero(own & star & chosen)
            if found.size == 0:
                yield [f"No system is significantly {word} than {base}."]
                continue
            who = f"{counted(found.size, 'system')} {'is' if found.size == 1 else 'are'}"
            start = f"{who} significantly {word} than {base}, by these {_differences(one)}"
            yield [_largest(start, found.size), *_told(one, found), "."]


def _largest(start: str, count: int) -> str:
    most = f", the {SHOWN_PAIRS} largest" if count > SHOWN_PAIRS else ""
    return f"{start}{most}: "


def _told(one: PairwiseComparison, found: Indices) -> Iterator[str | Maths | Cited]:
    """Write the largest differences among some pairs."""
    order = found[np.argsort(-np.abs(one.difference[found]), kind="stable")]
    for place, k in enumerate(order[:SHOWN_PAIRS].tolist()):
        first, second = _name(one, k)
        yield "; " if place else ""
        yield f"{first} " if one.baselines else f"{first} {one.between_names} {second} "
        yield from _pair(one, k)


def _of_best(one: PairwiseComparison) -> Iterator[Sentence]:
    """Write about the best system, and those not significantly different from it."""
    best, next_best = (int(k) for k in one.order[:2])
    top = [name for name in one.top_group if name != one.systems[best]]
    different = np.nan_to_num(one.matrix(one.is_significant().astype(float)))[best]
    better = int(different.sum())
    word = "lowest" if one.lower_is_better else "highest"
    ends = {best, next_best}
    pairs = zip(one.first.tolist(), one.second.tolist(), strict=True)
    k = next(k for k, pair in enumerate(pairs) if {*pair} == ends)
    differs = f"it differs significantly from {_of_others(better, len(one.systems) - 1)}"
    differs += f", and not from {listing(top)}" if top else ""
    if not better:
        differs = "it is not significantly different from any other system"
    yield [f"{one.systems[best]} has the {word} {one.mean_of}, {_mean(one, best, k)}; {differs}."]
    a, b = _name(one, k)
    yield [
        f"Beside the second, {one.systems[next_best]}, the {one.difference_name}"
        f" ({a} {one.between_names} {b}) is ",
        *_pair(one, k),
        ".",
    ]


def _of_others(number: int, others: int) -> str:
    """Name so many of the other systems."""
    if number < others:
        return f"{number} of the {counted(others, 'other system')}"
    few = {1: "the other system", 2: "both other systems"}
    return few.get(others, f"all {others:,} other systems")


def effects_of(one: PairwiseComparison) -> Iterator[Sentence]:
    known = one.effect[np.isfinite(one.effect)]
    if known.size == 0:
        return
    kind = one.info.effect
    if known.size == 1:
        yield [f"The effect size ({kind}) is ", rounded(known[0], 2), "."]
        return
    size = np.abs(known)
    ends, median = between(size.min(), size.max(), 2), rounded(float(np.median(size)), 2)
    yield [f"Effect sizes ({kind}) are from ", *ends, " in size, with a median of ", median, "."]


def equivalence_of(one: PairwiseComparison, margin: float | str) -> Iterator[Sentence]:
    found = one.equivalence(margin)
    level = f"{100 * found.level:g}% intervals of the {one.interval_of}, {found.holds_for}"
    same, worse = int(found.is_equivalent.sum()), int(found.is_non_inferior.sum())
    asked = f"{margin:g}" if isinstance(margin, (int, float)) else str(margin)
    first = f"Within a margin of {asked}, by {level}"
    if len(one) > 1:
        total = counted(len(one), "pair")
        yield [
            f"{first}, {same or 'none'} of {total} {'is' if same == 1 else 'are'} equivalent; the"
            f" first system is shown to be non-inferior to the second in {worse or 'none'}."
        ]
        return
    low, high = (float(end[0]) for end in found.interval)
    yield [
        f"{first} (",
        *between(low, high, places_for(low, high, one.places)),
        f"), the two systems are {'' if same else 'not shown to be '}equivalent, and"
        f" {_name(one, 0)[0]} is {'' if worse else 'not shown to be '}non-inferior.",
    ]


def jointly(one: JointComparison) -> Iterator[Sentence]:
    verdicts = one.verdicts
    better, worse = (verdicts > 0).sum(axis=1), (verdicts < 0).sum(axis=1)
    some = int(((better + worse) > 0).sum())
    every = int((np.maximum(better, worse) == len(one.measures)).sum())
    opposed = int(((better > 0) & (worse > 0)).sum())
    pairs = counted(len(one), "pair")
    verb = "differs" if some == 1 or len(one) == 1 else "differ"
    yield [
        f"{counted(len(one.systems), 'system')} were compared by ",
        *_cited(one.measures),
        f" on {counted(one.topics, 'topic')} ({pairs}).",
    ]
    correction = CORRECTIONS[one.correction]
    own = bool(one.baselines) and bool(correction.baseline_source)
    yield [
        f"All pairs and measures were tested together by {one.method}",
        Cited(correction.baseline_source if own else correction.source),
        f", two-sided, which bounds the probability of any false positive among"
        f" {counted(verdicts.size, 'comparison')} by {one.alpha:g}; it drew"
        f" {counted(one.resamples, 'random sample')} with seed {one.seed}.",
    ]
    yield [
        f"Of {pairs}, {some or 'none'} {verb} significantly by some"
        f" measure, {every or 'none'} by every measure, and {opposed or 'none'} by measures that"
        " contradict each other."
    ]
    low, high = one.interval
    names = one.systems
    level = f"{100 * (1 - one.alpha):g}% interval of all together "
    for m, measure in enumerate(one.measures):
        found = np.flatnonzero(verdicts[:, m])
        if not found.size:
            yield [f"By {measure} no pair differs significantly."]
            continue
        k = int(found[np.argmax(np.abs(one.difference[found, m]))])
        ends = low[k, m], high[k, m]
        places = places_for(*ends, 4)
        interval = [level, *between(*ends, places), ", "] if np.isfinite(ends).all() else []
        to, what = ("to", "log ratio ") if one.statistics[m] == "geometric-mean" else ("minus", "")
        yield [
            f"By {measure}, {counted(found.size, 'pair')} {_verb('differ', found.size)}, the most"
            f" {names[one.first[k]]} {to} {names[one.second[k]]}: {what}",
            rounded(one.difference[k, m], places),
            " (",
            *interval,
            p_of(float(one.pvalues[k, m]), one.alpha),
            ").",
        ]
    yield ["We assume that topics are a random sample, a dozen at least."]
    for note in one.notes:
        yield [f"{capitalised(note)}."]
    yield [f"Computed with cranfield {__version__}."]


def _cited(names: Sequence[str]) -> Iterator[str | Cited]:
    """List all measures, each with the works to cite for it."""
    for place, name in enumerate(names):
        yield "" if place == 0 else " and " if place == len(names) - 1 else ", "
        measure = measure_of(name)
        yield name
        yield Cited("" if measure is None else measure.source)


BOUNDS = {
    "FWER": "which bounds the probability of any false positive among them",
    "FDR": "which bounds the expected proportion of false positives among the"
    " significant differences",
}
"""What a correction bounds, in words."""

OF_ITS_OWN = "what the test assumes of each pair"
"""What corrections assume that add nothing to the test."""

HINT = "% The keys are those of `cranfield cite`, which prints BibTeX: save it as a .bib file."


def prose(found: Any, format: str = "text", margin: float | str | None = None) -> str:
    """Write a comparison as a paragraph; see :meth:`cranfield.PairwiseComparison.prose`."""
    check_choice("format", format, FORMATS)
    if isinstance(found, JointComparison):
        if margin is not None:
            raise PolicyError("margin requires a comparison by one measure")
        sentences = jointly(found)
    else:
        sentences = _sentences(found, margin)
    return written(sentences, format) + (f"\n{HINT}" if format == "latex" else "")


def _sentences(one: PairwiseComparison, margin: float | str | None) -> Iterator[Sentence]:
    yield from _design(one)
    yield from _test(one)
    yield from result_of(one)
    yield from effects_of(one)
    if margin is not None:
        yield from equivalence_of(one, margin)
    yield from _rests_on(one)
    for note in one.notes:
        # Other sentences report these.
        if not (note.startswith("lower scores of") or note.endswith(RESCALING)):
            yield [f"{capitalised(note)}."]
    yield [f"Computed with cranfield {__version__}."]


def _design(one: PairwiseComparison) -> Iterator[Sentence]:
    of = one.measure or "their scores"
    measure = measure_of(one.measure)
    source = Cited("" if measure is None else measure.source)
    systems, pairs = one.systems, counted(len(one), "pair")
    if len(systems) == 2:
        who = f"{systems[one.first[0]]} was compared with {systems[one.second[0]]}"
        how = ""
    elif one.baselines:
        others = counted(len(systems) - len(one.baselines), "system")
        who = f"{others} {'was' if others.startswith('1 ') else 'were'} compared with"
        who += f" {'the baseline' if len(one.baselines) == 1 else 'the baselines'}"
        who, how = f"{who} {listing(one.baselines)}", f" ({pairs})"
    else:
        who, how = f"{counted(len(systems), 'system')} were compared with each other", f" ({pairs})"
    yield [f"{who} by {of}", source, f" on {counted(one.topics, 'topic')}{how}."]
    if one.scores.lower_is_better:
        yield [f"Lower scores of {of} are better."]
    if told := ", ".join(f"{k} {v}" for k, v in one.scores.settings.items() if _is_word(v)):
        yield [f"Policies of judging: {told}."]


def _is_word(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _test(one: PairwiseComparison) -> Iterator[Sentence]:
    info, correction = one.info, CORRECTIONS[one.correction]
    side = "two-sided" if one.alternative == "two-sided" else f"one-sided ({one.alternative})"
    if correction.heading:
        own = bool(one.baselines)
        yield [
            f"The test was {heading_of(info, correction, baseline=own)}",
            Cited(correction.baseline_source if own else correction.source),
            f", {side}, {_bounds(correction.controls, one)}; the critical value was estimated from"
            f" {counted(one.resamples or 0, 'resample')} of topics with seed {one.seed}.",
        ]
        return
    start: Sentence = [f"The test was the {_inside(info.title)}", Cited(info.source)]
    level = f", {side}, at a significance level of {one.alpha:g}"
    if one.correction == "none":
        many = "" if len(one) == 1 else f"; p-values are not corrected for {len(one):,} comparisons"
        yield [*start, f"{level}{many}."]
    else:
        title, source = correction.title, Cited(correction.source)
        yield [*start, f"{level}, with {title}", source, f", {_bounds(correction.controls, one)}."]
    if one.resamples is not None:
        yield [f"It drew {counted(one.resamples, 'random sample')} with seed {one.seed}."]
    if one.omnibus is not None:
        of = one.omnibus
        yield [
            f"Of all systems together, {of.name} was {of.statistic:.2f} with"
            f" {counted(round(of.df), 'degree')} of freedom (",
            p_of(of.pvalue, one.alpha),
            f", {of.effect_name} {of.effect:.3f}).",
        ]


def _inside(title: str) -> str:
    """Write a title within a sentence: a name or an acronym keeps its capital."""
    first = title.split(maxsplit=1)[0]
    small = first in {"Paired", "Sign", "Randomisation", "Studentised", "Unpaired", "Bootstrap"}
    small |= first.startswith(("Two-", "One-", "Three-", "Fake"))
    return title[:1].lower() + title[1:] if small else title


def _bounds(bounds: str, one: PairwiseComparison) -> str:
    return f"{BOUNDS[bounds]}, {counted(len(one), 'comparison')}, by {one.alpha:g}"


def _rests_on(one: PairwiseComparison) -> Iterator[Sentence]:
    """Write the assumptions, the results of their checks, and what the scale allows."""
    assumed = CORRECTIONS[one.correction].assumes
    if assumed == OF_ITS_OWN or one.info.family == "ranks":
        assumed = one.info.assumes.split(". ")[0].rstrip(".")
        assumed = assumed[:1].lower() + assumed[1:]
    yield [f"We assume that {assumed}."]
    if one.anova is not None and CORRECTIONS[one.correction].one_variance:
        violated = check_assumptions(one.anova.residuals, one.anova.fitted).violated
        yield [
            f"Tests of the residuals reject: {', '.join(violated)}."
            if violated
            else "No test of the residuals rejects normal errors of equal variance."
        ]
    meant, of = meaningfulness(one), one.measure or "the scores"
    needs = f"The test needs {a_scale(meant.required_scale)}"
    if meant.scale is None:
        yield [f"{needs}; the scale of {of} is unknown."]
    elif meant.verdict == MEANINGFUL:
        yield [
            f"{needs}, and {of} is {'declared ' if meant.declared_by_user else ''}"
            f"{a_scale(meant.scale)}, so the result does not depend on the spacing of the scale."
        ]
    else:
        why = (
            f"{of} is declared to be {a_scale(meant.scale)}"
            if meant.scale < meant.required_scale
            else f"{of} is {a_scale(meant.scale)} for retrieved sets of one size only"
            if meant.depends_on_size and not meant.depends_on_topic
            else f"each topic has its own scale for {of}"
        )
        yield [
            f"{needs}, but {why}: the result may depend on the spacing of the scale",
            Cited("Ferrante, Ferro and Fuhr (2021)"),
            ".",
        ]
        if count := one.count():
            kept = order_kept(
                count,
                meant.n_invariant,
                "significantly different pair",
                "significantly different pairs",
            )
            yield [f"{capitalised(kept)}."]
