"""Comparisons as paragraphs for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import Any

import numpy as np

from cranfield.base import text
from cranfield.base.arrays import Indices
from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.scale_types import Scale, format_scale_type
from cranfield.base.text import capitalise, inflect
from cranfield.base.version import __version__
from cranfield.reporting.references import PACKAGE, Work, find_cited_works
from cranfield.reporting.summary import (
    BETTER,
    WORSE,
    check_residuals,
    join_names,
    list_pair_verdicts,
    make_verdict_matrix,
)
from cranfield.scales.statements import (
    MEANINGFUL,
    Meaningfulness,
    describe_order,
    meaningfulness,
    parse_measure_or_none,
)
from cranfield.significance.comparison.rank_sets import name_method
from cranfield.significance.comparison.result import (
    MORE_RESAMPLES,
    RESCALING,
    SEPARATE_PAIR,
    TEST_ALL_PAIRS,
    PairwiseComparison,
)
from cranfield.significance.registry import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison

FORMATS = ("text", "markdown", "latex")

MAX_DECIMALS = 12
DIGITS = 2  # number of significant digits of half the width of an interval


@dataclass(frozen=True)
class Maths:
    """A number or a formula, such as `-0.12` or `p < 0.001`."""

    text: str


@dataclass(frozen=True)
class Citation:
    """Sources to cite, such as `Holm (1979); Shaffer (1986)`."""

    source: str


@dataclass(frozen=True)
class Detail:
    """Part of a sentence that is written only once, in the first paragraph that has it."""

    text: str


@dataclass(frozen=True)
class MeasureName:
    """The measure in a sentence on the method; the sentence names all measures that share it."""

    text: str = field(compare=False)


SentencePart = str | Maths | Citation | Detail | MeasureName
Sentence = Sequence[SentencePart]
"""A sentence in parts, which are escaped and joined by :func:`write_paragraph`."""


class MethodSentence(tuple[SentencePart, ...]):
    """A sentence on the method, which is written only once, in the first paragraph that has it."""


COMPUTED_WITH = MethodSentence([f"Computed with {PACKAGE} {__version__}", Citation(PACKAGE), "."])


def write_paragraph(sentences: Iterable[Sentence], format: str) -> str:
    """Write sentences as one paragraph."""
    check_choice("format", format, FORMATS)
    paragraph = " ".join(
        "".join(_write_part(part, format) for part in sentence) for sentence in sentences
    )
    # Escapes of Markdown depend on the characters before and after.
    return text.escape_markdown(paragraph) if format == "markdown" else paragraph


def _write_part(part: SentencePart, format: str) -> str:
    is_latex = format == "latex"
    if isinstance(part, Maths):
        return f"${part.text}$" if is_latex else part.text
    if isinstance(part, (Detail, MeasureName)):
        part = part.text
    if isinstance(part, str):
        return text.escape_latex(part) if is_latex else text.sanitise(part)
    works, _ = find_cited_works(part.source)
    if is_latex and works:
        return rf" \citep{{{','.join(work.key for work in works)}}}"
    # The sentence names the package.
    works = [work for work in works if work.key != PACKAGE]
    if not works:
        return ""
    return f" ({'; '.join(map(_cite_shortly, works))})"


def _cite_shortly(work: Work) -> str:
    """Return authors and year, or the name of a program."""
    if work.is_software:
        return work.key
    families = work.families
    if len(families) > 3:
        return f"{families[0]} et al. {work.year}"
    return f"{join_names(families)} {work.year}"


NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def start_sentence(line: str) -> str:
    """Capitalise a line; a count at its start becomes a word, or follows "In all," from ten.

    Examples
    --------
    >>> start_sentence("2 of 5 pairs"), start_sentence("12 systems"), start_sentence("all pairs")
    ('Two of 5 pairs', 'In all, 12 systems', 'All pairs')
    """
    count, _, remainder = line.partition(" ")
    if not count.replace(",", "").isdecimal():
        return capitalise(line)
    return f"{NUMBERS[int(count)]} {remainder}" if len(count) == 1 else f"In all, {line}"


def count_decimals(low: float, high: float, default: int) -> int:
    """Count the decimals for two digits of a half-width; `default` unless finite and above 0."""
    half_width = (high - low) / 2
    if not isfinite(half_width) or half_width <= 0:
        return default
    return min(MAX_DECIMALS, max(0, DIGITS - 1 - floor(log10(half_width))))


def write_number(value: float, decimals: int) -> Maths:
    """Write a number; a number that is rounded to 0 has no sign."""
    digits = f"{value:.{decimals}f}"
    return Maths(digits.removeprefix("-") if float(digits) == 0 else digits)


def write_interval(low: float, high: float, decimals: int) -> Sentence:
    """Write an interval; one bound may be infinite."""
    if np.isinf(low) and np.isfinite(high):
        return ["up to ", write_number(high, decimals)]
    if np.isinf(high) and np.isfinite(low):
        return ["from ", write_number(low, decimals)]
    return [write_number(low, decimals), " to ", write_number(high, decimals)]


def write_pvalue(pvalue: float, alpha: float) -> Maths:
    """Write a p-value with enough decimals to show whether it is at most alpha."""
    if pvalue < 0.001 and alpha >= 0.001:
        return Maths("p < 0.001")
    decimals = 3
    while decimals < MAX_DECIMALS and (float(f"{pvalue:.{decimals}f}") <= alpha) != (
        pvalue <= alpha
    ):
        decimals += 1
    if decimals == 3 and pvalue >= 0.9995:
        return Maths("p > 0.999")
    if pvalue < 10.0**-MAX_DECIMALS:
        return Maths(f"p < {10.0**-MAX_DECIMALS:.{MAX_DECIMALS}f}")
    while float(f"{pvalue:.{decimals}f}") == 0:
        decimals += 1
    return Maths(f"p = {pvalue:.{decimals}f}")


MAX_ERROR = 1e-9  # numbers with at most this absolute value count as 0
MAX_PAIRS = 5  # maximum number of pairs whose differences are listed
MAX_NAMED_PAIRS = 20  # maximum number of significantly different pairs that are named


def _describe_difference(
    comparison: PairwiseComparison, k: int, *, is_reversed: bool = False
) -> Sentence:
    """Write the difference of a pair with its interval, if any, its p-value and its effect size.

    A reversed pair is written as second minus first.
    """
    low, high = (float(bounds[k]) for bounds in comparison.interval)
    value, effect = float(comparison.difference[k]), float(comparison.effect[k])
    if is_reversed:
        low, high, value, effect = -high, -low, -value, -effect
    decimals = _count_pair_decimals(comparison, k)
    difference = write_number(value, decimals)
    statistics: list[SentencePart] = [
        write_pvalue(float(comparison.adjusted_pvalues[k]), comparison.alpha)
    ]
    if len(comparison) > 1 and isfinite(effect):
        statistics += [", effect size ", write_number(effect, 2)]
    if np.isnan([low, high]).any() or np.isinf([low, high]).all():
        return [difference, " (", *statistics, ")"]
    interval = write_interval(low, high, decimals)
    level = f"{100 * (1 - comparison.alpha):g}% confidence interval"
    if comparison.tests_difference:
        return [difference, f" ({level} ", *interval, ", ", *statistics, ")"]
    # The interval is for another quantity than the difference before it.
    quantity = (
        comparison.interval_of if len(comparison) == 1 else comparison.interval_of.split(" of ")[0]
    )
    return [difference, " (", *statistics, f", {level} of the {quantity} ", *interval, ")"]


def _choose_noun(comparison: PairwiseComparison) -> str:
    return "log ratios" if comparison.mean_of == "geometric mean" else "differences"


def _count_pair_decimals(comparison: PairwiseComparison, k: int) -> int:
    """Count the decimals of a pair; one-sided intervals are extended symmetrically."""
    low, high = (float(bounds[k]) for bounds in comparison.interval)
    bound_sum = 2 * float(comparison.difference[k])
    if np.isfinite(low) != np.isfinite(high):
        low, high = (low, bound_sum - low) if np.isfinite(low) else (bound_sum - high, high)
    decimals = count_decimals(low, high, comparison.places)
    # A difference or bound other than 0 is not rounded to 0.
    quantities = (low, high, bound_sum / 2)
    min_size = min((abs(x) for x in quantities if MAX_ERROR < abs(x) < np.inf), default=1.0)
    while decimals < MAX_DECIMALS and round(min_size, decimals) == 0:
        decimals += 1
    return decimals


def _get_pair_names(comparison: PairwiseComparison, k: int) -> tuple[str, str]:
    return comparison.systems[comparison.first[k]], comparison.systems[comparison.second[k]]


def _format_mean(comparison: PairwiseComparison, system: int, k: int) -> str:
    """Write the mean of a system with the decimals of a pair."""
    return write_number(comparison.means[system], _count_pair_decimals(comparison, k)).text


def describe_result(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Describe the differences, and which of them are significant."""
    is_significant = comparison.is_significant()
    if len(comparison) == 1:
        a, b = int(comparison.first[0]), int(comparison.second[0])
        yield [
            f"The {comparison.mean_of} of {comparison.systems[a]} was"
            f" {_format_mean(comparison, a, 0)}, that of {comparison.systems[b]}"
            f" {_format_mean(comparison, b, 0)}."
        ]
        yield [
            f"The {comparison.difference_name}, ",
            *_describe_difference(comparison, 0),
            f", is {'' if is_significant[0] else 'not '}significant.",
        ]
        return
    n = int(is_significant.sum())
    yield [f"Of {len(comparison):,} pairs, {n or 'none'} {_choose_verb(n)} significantly."]
    note = ""
    if n_missing := comparison.n_without_interval:
        subject = f"{inflect(n_missing, 'pair')} {'has' if n_missing == 1 else 'have'}"
        note = f"; {subject} no interval, because it would contradict the decision of the test"
    intervals = [
        f"Intervals are for the {comparison.interval_of}, and hold for"
        f" {comparison.interval_kind}{note}."
    ]
    yield intervals if note else MethodSentence(intervals)
    if comparison.baselines:
        yield from _describe_baselines(comparison)
    else:
        yield from _describe_best(comparison)


def _choose_verb(count: int) -> str:
    return "differs" if count == 1 else "differ"


SIGNIFICANT_VERDICTS = (BETTER, WORSE)


def _describe_baselines(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Describe the systems that are better or worse than each baseline."""
    verdicts = list_pair_verdicts(comparison)
    for index in dict.fromkeys(comparison.second.tolist()):
        baseline = comparison.systems[index]
        pairs = np.flatnonzero(comparison.second == index)
        largest_pair = pairs[np.argmax(np.abs(comparison.difference[pairs]))]
        mean = _format_mean(comparison, index, int(largest_pair))
        yield [f"The {comparison.mean_of} of the baseline {baseline} was {mean}."]
        if (
            comparison.alternative == "two-sided"
            and not np.isin(verdicts[pairs], SIGNIFICANT_VERDICTS).any()
        ):
            if len(comparison.baselines) > 1:
                yield [f"No system is significantly different from {baseline}."]
            continue
        for verdict in SIGNIFICANT_VERDICTS:
            if comparison.alternative != "two-sided" and verdict != comparison.tested_verdict:
                yield [f"Whether a system is {verdict} than {baseline} was not tested."]
                continue
            significant_pairs = pairs[verdicts[pairs] == verdict]
            if significant_pairs.size == 0:
                yield [f"No system is significantly {verdict} than {baseline}."]
                continue
            n_systems = significant_pairs.size
            subject = f"{inflect(n_systems, 'system')} {'is' if n_systems == 1 else 'are'}"
            differences = (
                f"these {_choose_noun(comparison)}"
                if n_systems > 1
                else f"this {_choose_noun(comparison).removesuffix('s')}"
            )
            start = f"{start_sentence(subject)} significantly {verdict} than {baseline}, by"
            start += f" {differences}"
            yield [*_list_differences(comparison, start, significant_pairs)]


def _list_differences(
    comparison: PairwiseComparison, start: str, pairs: Indices
) -> Iterator[SentencePart]:
    """Write a sentence with the largest differences among some pairs."""
    yield f"{start}, the {MAX_PAIRS} largest: " if pairs.size > MAX_PAIRS else f"{start}: "
    order = pairs[np.argsort(-np.abs(comparison.difference[pairs]), kind="stable")]
    for index, k in enumerate(order[:MAX_PAIRS].tolist()):
        first, _ = _get_pair_names(comparison, k)
        mean = _format_mean(comparison, int(comparison.first[k]), k)
        yield f"{'; ' if index else ''}{first} ({comparison.mean_of} {mean}) "
        yield from _describe_difference(comparison, k)
    yield "."


def _describe_best(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Describe the best system and the systems that differ from it significantly."""
    best_system, next_system = (int(k) for k in comparison.order[:2])
    names = comparison.systems
    top_names = [name for name in comparison.top_group if name != names[best_system]]
    is_different = (
        np.nan_to_num(comparison.to_matrix(comparison.is_significant().astype(float))) > 0
    )
    different_systems = [names[k] for k in comparison.order if is_different[best_system, k]]
    extreme = "lowest" if comparison.lower_is_better else "highest"
    pairs = zip(comparison.first.tolist(), comparison.second.tolist(), strict=True)
    k = next(k for k, pair in enumerate(pairs) if {*pair} == {best_system, next_system})
    other_systems = _name_other_systems(len(different_systems), len(names) - 1)
    if len(different_systems) < len(names) - 1:
        other_systems += f" ({join_names(different_systems)})"
    clause = f"differs significantly from {other_systems}"
    clause += f", and not from {join_names(top_names)}" if top_names else ""
    if not different_systems:
        clause = "is not significantly different from any other system"
    best_systems = [names[j] for j in comparison.best]
    verb, subject = ("has", "it") if len(best_systems) == 1 else ("have", names[best_system])
    yield [
        f"{join_names(best_systems)} {verb} the {extreme} {comparison.mean_of},"
        f" {_format_mean(comparison, best_system, k)}; {subject} {clause}."
    ]
    yield [
        f"Compared with {'the second, ' * (len(best_systems) == 1)}{names[next_system]}, the"
        f" {comparison.difference_name}"
        f" ({names[best_system]} {comparison.between_names} {names[next_system]}) is ",
        *_describe_difference(comparison, k, is_reversed=int(comparison.first[k]) != best_system),
        ".",
    ]
    is_better = make_verdict_matrix(comparison) == BETTER
    other_indices = [j for j in comparison.order if j != best_system and is_better[j].any()]
    if other_indices and comparison.count() <= MAX_NAMED_PAIRS:
        clauses: list[str] = []
        for j in other_indices:
            worse_systems = [names[k] for k in comparison.order if is_better[j, k]]
            verb = "" if clauses else "is significantly better "
            clauses.append(f"{names[j]} {verb}than {join_names(worse_systems, None)}")
        yield [f"Of the other systems, {'; '.join(clauses)}."]


def _name_other_systems(count: int, n_others: int) -> str:
    """Write a phrase such as "2 of the 5 other systems"."""
    if count < n_others:
        return f"{count} of the {inflect(n_others, 'other system')}"
    phrases = {1: "the other system", 2: "both other systems"}
    return phrases.get(n_others, f"all {n_others:,} other systems")


def describe_effects(comparison: PairwiseComparison) -> Iterator[Sentence]:
    effects = comparison.effect[np.isfinite(comparison.effect)]
    if effects.size == 0:
        return
    kind = comparison.info.effect
    n_undefined = len(comparison) - effects.size
    scope = f"{n_undefined:,} of {len(comparison):,} pairs"
    remark = f"; undefined or infinite for {scope}" if n_undefined else ""
    if effects.size == 1:
        yield [f"The effect size ({kind}) is ", write_number(effects[0], 2), f"{remark}."]
        return
    sizes = np.abs(effects)
    yield [
        "Effect sizes",
        Detail(f" ({kind})"),
        " are from ",
        *write_interval(sizes.min(), sizes.max(), 2),
        " in absolute value, with a median of ",
        write_number(float(np.median(sizes)), 2),
        f"{remark}.",
    ]


def describe_equivalence(comparison: PairwiseComparison, margin: float | str) -> Iterator[Sentence]:
    """Describe equivalence and non-inferiority within a margin."""
    result = comparison.equivalence(margin)
    level = (
        f"{100 * result.level:g}% confidence intervals of the {comparison.interval_of},"
        f" {result.scope}"
    )
    n_equivalent = int(result.is_equivalent.sum())
    n_non_inferior = int(result.is_non_inferior.sum())
    margin_text = margin if isinstance(margin, str) else f"{margin:g}"
    if margin_text.endswith("%"):
        margin_text += f" of the {comparison.mean_of} of the second system"
    start = f"Within a margin of {margin_text}, by {level}"
    if len(comparison) > 1:
        total = inflect(len(comparison), "pair")
        yield [
            f"{start}, {n_equivalent or 'none'} of {total} {'is' if n_equivalent == 1 else 'are'}"
            " equivalent; the first system is shown to be non-inferior to the second in"
            f" {n_non_inferior or 'none'}."
        ]
        return
    low, high = (float(bounds[0]) for bounds in result.interval)
    yield [
        f"{start} (",
        *write_interval(low, high, count_decimals(low, high, comparison.places)),
        f"), the two systems are {'' if n_equivalent else 'not shown to be '}equivalent, and"
        f" {_get_pair_names(comparison, 0)[0]} is {'' if n_non_inferior else 'not shown to be '}"
        "non-inferior.",
    ]


def describe_joint_comparison(comparison: JointComparison) -> Iterator[Sentence]:
    """Describe a comparison by several measures."""
    verdicts = comparison.verdicts
    n_better, n_worse = (verdicts > 0).sum(axis=1), (verdicts < 0).sum(axis=1)
    n_any = int(((n_better + n_worse) > 0).sum())
    n_all = int((np.maximum(n_better, n_worse) == len(comparison.measures)).sum())
    n_opposed = int(((n_better > 0) & (n_worse > 0)).sum())
    pairs_text = inflect(len(comparison), "pair")
    verb = "differs" if n_any == 1 or len(comparison) == 1 else "differ"
    yield [
        f"{_write_design(comparison)} by ",
        *_list_measures(comparison.measures),
        _write_sample(comparison),
    ]
    yield from _describe_policies(comparison.settings)
    correction = CORRECTIONS[comparison.correction]
    has_baseline_source = bool(comparison.baselines) and bool(correction.baseline_source)
    yield [
        f"All pairs and measures were tested simultaneously by {comparison.method}",
        Citation(correction.baseline_source if has_baseline_source else correction.source),
        f", two-sided, which bounds the probability of any false positive among"
        f" {inflect(verdicts.size, 'comparison')} by {comparison.alpha:g}; it drew"
        f" {inflect(comparison.resamples, 'random sample')} with seed {comparison.seed}.",
    ]
    yield [
        f"Of {pairs_text}, {n_any or 'none'} {verb} significantly by some"
        f" measure, {n_all or 'none'} in the same direction by every measure, and"
        f" {n_opposed or 'none'} by measures that contradict each other."
    ]
    low, high = comparison.interval
    names = comparison.systems
    level = f"{100 * (1 - comparison.alpha):g}% simultaneous confidence interval "
    for m, measure in enumerate(comparison.measures):
        significant_pairs = np.flatnonzero(verdicts[:, m])
        if not significant_pairs.size:
            yield [f"By {measure} no pair differs significantly."]
            continue
        sizes = np.abs(comparison.difference[significant_pairs, m])
        k = int(significant_pairs[np.argmax(sizes)])
        bounds = low[k, m], high[k, m]
        decimals = count_decimals(*bounds, 4)
        interval: Sentence = []
        if np.isfinite(bounds).all():
            interval = [level, *write_interval(*bounds, decimals), ", "]
        operator, quantity = (
            ("to", "log ratio ") if comparison.statistics[m] == "geometric-mean" else ("minus", "")
        )
        yield [
            f"By {measure}, {inflect(significant_pairs.size, 'pair')}"
            f" {_choose_verb(significant_pairs.size)} significantly; the largest difference is"
            f" {names[comparison.first[k]]} {operator}"
            f" {names[comparison.second[k]]}: {quantity}",
            write_number(comparison.difference[k, m], decimals),
            " (",
            *interval,
            write_pvalue(float(comparison.pvalues[k, m]), comparison.alpha),
            ").",
        ]
    yield ["We assume that topics are a random sample of at least a dozen."]
    measures_by_clause: dict[str, list[str]] = {}
    for note in comparison.notes:
        if note.endswith(RESCALING):
            measure, _, clause = note.rpartition(" is ")
            measures_by_clause.setdefault(clause, []).append(measure)
        else:
            yield _write_note(note)
    for clause, measures in measures_by_clause.items():
        yield [
            f"Scores by {join_names(measures, None)} are on {clause}",
            Citation("Ferrante, Ferro and Fuhr (2021)"),
            ".",
        ]
    yield COMPUTED_WITH


def _list_measures(names: Sequence[str]) -> Iterator[str | Citation]:
    """List all measures, each with the works to cite for it."""
    for index, name in enumerate(names):
        yield "" if index == 0 else " and " if index == len(names) - 1 else ", "
        measure = parse_measure_or_none(name)
        yield name
        yield Citation("" if measure is None else measure.source)


ERROR_RATES = {
    "FWER": "which bounds the probability of any false positive among",
    "FDR": "which bounds the expected proportion of false positives among the"
    " significant differences of",
}
"""Clauses on the error rates that corrections control, before a number of comparisons."""

JUDGING_POLICIES = {
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
        "qrels": "all judged topics count, including topics without results",
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


def write_prose(comparison: Any, format: str = "text", margin: float | str | None = None) -> str:
    """Write a comparison as a paragraph; see :meth:`cranfield.PairwiseComparison.prose`."""
    return write_paragraphs([comparison], format, margin)


def write_paragraphs(
    comparisons: Iterable[Any], format: str = "text", margin: float | str | None = None
) -> str:
    """Write a paragraph for each comparison; in LaTeX, a comment names all cited works.

    A sentence on the method that several comparisons share is written once, naming all measures.
    """
    check_choice("format", format, FORMATS)
    paragraphs: list[list[Sentence]] = []
    written_parts: set[Sentence | SentencePart] = set()
    measures: dict[Sentence, list[str]] = {}
    for comparison in comparisons:
        sentences = list(_write_sentences(comparison, margin))
        paragraphs.append(
            [
                tuple(p for p in sentence if not (isinstance(p, Detail) and p in written_parts))
                for sentence in sentences
                if not (isinstance(sentence, MethodSentence) and sentence in written_parts)
            ]
        )
        for sentence in sentences:
            written_parts.update((tuple(sentence), *sentence))
            for part in sentence:
                if isinstance(part, MeasureName):
                    measures.setdefault(tuple(sentence), []).append(part.text)
    paragraphs = [
        [
            [
                join_names(measures[sentence], None) if isinstance(part, MeasureName) else part
                for part in sentence
            ]
            for sentence in sentences
        ]
        for sentences in paragraphs
    ]
    if len(paragraphs) > 1:
        start = f"The {len(paragraphs)} measures were tested separately, without a correction"
        paragraphs.append([[f"{start} for the number of measures."]])
    citations = [
        part
        for sentences in paragraphs
        for parts in sentences
        for part in parts
        if isinstance(part, Citation)
    ]
    keys = dict.fromkeys(
        work.key for part in citations for work in find_cited_works(part.source)[0]
    )
    hint = f"\n% References: cranfield cite {' '.join(keys)} > references.bib" if keys else ""
    return "\n\n".join(write_paragraph(sentences, format) for sentences in paragraphs) + (
        hint if format == "latex" else ""
    )


# Notes with these ends are reported by other sentences, or are advice for the author.
OMITTED_ENDS = (RESCALING, SEPARATE_PAIR, TEST_ALL_PAIRS)


def _write_sentences(comparison: Any, margin: float | str | None) -> Iterator[Sentence]:
    if isinstance(comparison, JointComparison):
        if margin is not None:
            raise PolicyError("margin requires a comparison by one measure, got a joint comparison")
        yield from describe_joint_comparison(comparison)
        return
    yield from _describe_design(comparison)
    yield from _describe_test(comparison)
    yield from describe_result(comparison)
    yield from describe_effects(comparison)
    if margin is not None:
        yield from describe_equivalence(comparison, margin)
    yield from _describe_assumptions(comparison)
    for note in comparison.notes:
        if not (note.startswith("lower scores of") or note.endswith(OMITTED_ENDS)):
            yield _write_note(note)
    yield COMPUTED_WITH


def _write_note(note: str) -> Sentence:
    """Write a note, without advice for the author, as a sentence."""
    return [f"{start_sentence(note.removesuffix(MORE_RESAMPLES))}."]


def _describe_design(comparison: PairwiseComparison) -> Iterator[Sentence]:
    measure_name = comparison.measure or "their scores"
    measure = parse_measure_or_none(comparison.measure)
    source = Citation("" if measure is None else measure.source)
    yield [f"{_write_design(comparison)} by {measure_name}", source, _write_sample(comparison)]
    if comparison.scores.lower_is_better:
        yield [f"Lower scores of {measure_name} are better."]
    yield from _describe_policies(comparison.scores.settings)
    if depth := comparison.scores.settings.get("ranking depth"):
        start, end = "Rankings end at rank", "on topics with more relevant documents."
        name = MeasureName(measure_name)
        yield MethodSentence([f"{start} {depth}, which limits ", name, f" {end}"])


def _describe_policies(settings: Mapping[str, Any]) -> Iterator[Sentence]:
    """Describe how ties, topics and unjudged documents were treated."""
    policies = [
        JUDGING_POLICIES.get(name, {}).get(
            str(value), _SETTINGS.get(name, f"{name} is {{}}").format(value)
        )
        for name, value in settings.items()
        if name != "ranking depth" and isinstance(value, (str, int)) and not isinstance(value, bool)
    ]
    if policies:
        yield MethodSentence([f"In the evaluation, {'; '.join(policies)}."])


def _write_design(comparison: PairwiseComparison | JointComparison) -> str:
    """Write a clause on the compared systems and baselines."""
    systems, baselines = comparison.systems, comparison.baselines
    if len(systems) == 2:
        return f"{systems[comparison.first[0]]} was compared with {systems[comparison.second[0]]}"
    if not baselines:
        return start_sentence(f"{inflect(len(systems), 'system')} were compared with each other")
    n_others = len(systems) - len(baselines)
    verb = "was" if n_others == 1 else "were"
    noun = "baseline" if len(baselines) == 1 else "baselines"
    subject = start_sentence(inflect(n_others, "system"))
    return f"{subject} {verb} compared with the {noun} {join_names(baselines)}"


def _write_sample(comparison: PairwiseComparison | JointComparison) -> str:
    pairs = f" ({inflect(len(comparison), 'pair')})" if len(comparison.systems) > 2 else ""
    return f" on {inflect(comparison.n_topics, 'topic')}{pairs}."


_SETTINGS = {"grades": "grades are {}", "max_grade": "the highest grade is {}"}


def _describe_test(comparison: PairwiseComparison) -> Iterator[Sentence]:
    info, correction = comparison.info, CORRECTIONS[comparison.correction]
    alternative = comparison.alternative
    side = alternative if alternative == "two-sided" else f"one-sided ({alternative})"
    if correction.heading:
        has_baselines = bool(comparison.baselines)
        samples = f"{inflect(comparison.resamples or 0, 'resample')} of topics"
        yield MethodSentence(
            (
                f"The test was {name_method(info, correction, has_baseline=has_baselines)}",
                Citation(
                    f"{correction.baseline_source if has_baselines else correction.source};"
                    f" {info.source}"
                ),
                f", {side}, {_describe_error_rate(correction.controls, comparison)}; the critical",
                f" value was estimated from {samples} with seed {comparison.seed}.",
            )
        )
        return
    adjustment: Sentence = []
    if comparison.correction != "none":
        error_rate = _describe_error_rate(correction.controls, comparison)
        adjustment = [f", with {correction.title}", Citation(correction.source), f", {error_rate}"]
    elif len(comparison) > 1:
        adjustment = [f"; p-values are not corrected for {len(comparison):,} comparisons"]
    yield MethodSentence(
        [
            f"The test was {_add_article(info.title)}",
            Citation(info.source),
            f", {side}, at a significance level of {comparison.alpha:g}",
            *adjustment,
            ".",
        ]
    )
    if comparison.resamples is not None:
        samples = inflect(comparison.resamples, "random sample")
        yield MethodSentence([f"It drew {samples} with seed {comparison.seed}."])
    if comparison.omnibus is not None:
        omnibus = comparison.omnibus
        yield [
            f"Over all systems, {omnibus.name} was {omnibus.statistic:.2f} with"
            f" {inflect(round(omnibus.df), 'degree')} of freedom (",
            write_pvalue(omnibus.pvalue, comparison.alpha),
            f", {omnibus.effect_name} {omnibus.effect:.3f}).",
        ]


def _add_article(title: str) -> str:
    """Add an article, unless a title starts with a possessive; common nouns get a small letter."""
    word = title.split(maxsplit=1)[0]
    if word.endswith("'s"):
        return title
    is_common = word in {"Paired", "Sign", "Randomisation", "Studentised", "Unpaired", "Bootstrap"}
    is_common |= word.startswith(("Two-", "One-", "Three-", "Fake"))
    return f"the {title[:1].lower() + title[1:] if is_common else title}"


def _describe_error_rate(error_rate: str, comparison: PairwiseComparison) -> str:
    comparisons_text = inflect(len(comparison), "comparison")
    return f"{ERROR_RATES[error_rate]} {comparisons_text} by {comparison.alpha:g}"


def _describe_assumptions(comparison: PairwiseComparison) -> Iterator[Sentence]:
    """Describe the assumptions, the results of their checks, and the effect of the scale."""
    correction = CORRECTIONS[comparison.correction]
    assumption = comparison.info.assumes.split(". ")[0].rstrip(".")
    assumption = assumption[:1].lower() + assumption[1:]
    if not correction.assumes or comparison.info.family == "ranks":
        yield MethodSentence([f"We assume that {assumption}."])
    elif correction.families is None:
        yield MethodSentence([f"We assume that {assumption}."])
        yield MethodSentence([f"The correction assumes that {correction.assumes}."])
    else:
        yield MethodSentence([f"We assume that {correction.assumes}."])
    assumptions = check_residuals(comparison)
    if assumptions is not None and CORRECTIONS[comparison.correction].assumes_one_variance:
        yield [
            f"Tests of the residuals reject: {', '.join(assumptions.violated_assumptions)}."
            if assumptions.violated_assumptions
            else "No test of the residuals rejects normal errors of equal variance."
        ]
    meaning, measure = meaningfulness(comparison), MeasureName(comparison.measure or "the measure")
    requirement = f"The test requires {format_scale_type(meaning.required_scale)}"
    if meaning.scale is None:
        name = MeasureName(comparison.measure or "the scores")
        yield MethodSentence([f"{requirement}; the scale of ", name, " is unknown."])
    elif meaning.verdict == MEANINGFUL:
        prefix = "declared to be " if meaning.is_declared_by_user else ""
        scale = f" are {prefix}on {format_scale_type(meaning.scale)}"
        invariance = _describe_invariance(meaning)
        yield MethodSentence([f"{requirement}, and scores by ", measure, scale, *invariance, "."])
    else:
        scale = format_scale_type(meaning.scale)
        reason: Sentence = (
            ["the scale of ", measure, f" is declared to be {meaning.scale}"]
            if meaning.scale < meaning.required_scale
            else ["scores by ", measure, f" are on {scale} for retrieved sets of one size only"]
            if meaning.depends_on_size and not meaning.depends_on_topic
            else ["each topic has its own scale for ", measure]
        )
        yield MethodSentence(
            [
                f"{requirement}, but ",
                *reason,
                ": the result may depend on the spacing of the scale",
                Citation("Ferrante, Ferro and Fuhr (2021)"),
                ".",
            ]
        )
        if n_significant := comparison.count():
            nouns = ("significantly different pair", "significantly different pairs")
            order = describe_order(n_significant, meaning.n_invariant, *nouns)
            yield [f"{start_sentence(order)}{_name_invariant_pairs(meaning)}."]


TRANSFORMATIONS: Mapping[Scale, Sentence] = {
    Scale.ORDINAL: ["every increasing transformation of all scores"],
    Scale.INTERVAL: [
        "a transformation of all scores x into ",
        Maths("a x + b"),
        " with ",
        Maths("a > 0"),
    ],
    Scale.RATIO: ["a transformation of all scores x into ", Maths("a x"), " with ", Maths("a > 0")],
}
"""Transformations under which the decisions of tests that require a scale stay the same."""


def _describe_invariance(meaning: Meaningfulness) -> Sentence:
    # Logarithms of scores change with the zero of the scale.
    if meaning.comparison.mean_of == "geometric mean":
        return []
    transformation = TRANSFORMATIONS[meaning.required_scale]
    return [
        ", so the decisions stay the same under ",
        *transformation,
        f", which {format_scale_type(meaning.required_scale)} allows",
    ]


def _name_invariant_pairs(meaning: Meaningfulness) -> str:
    """Name the significant pairs that keep their order, unless these are many or all."""
    comparison = meaning.comparison
    is_significant = comparison.is_significant()
    pairs = np.flatnonzero(is_significant & meaning.dominance.holds)
    if not 0 < pairs.size <= MAX_PAIRS or pairs.size == comparison.count():
        return ""
    if len(comparison.baselines) == 1:
        return f": {join_names([_get_pair_names(comparison, k)[0] for k in pairs.tolist()])}"
    is_better = comparison.direction > 0
    names = (
        " and ".join(_get_pair_names(comparison, k)[:: 1 if is_better[k] else -1])
        for k in pairs.tolist()
    )
    return f": {'; '.join(names)}"
