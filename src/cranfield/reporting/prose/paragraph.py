"""A comparison as a paragraph for a paper: design, test, result, effects, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import a_scale
from cranfield.base.version import __version__
from cranfield.base.words import capitalised, counted
from cranfield.reporting.prose.of_pairs import effects_of, equivalence_of, result_of
from cranfield.reporting.prose.sentences import (
    FORMATS,
    Cited,
    Sentence,
    listing,
    p_of,
    rounded,
    written,
)
from cranfield.reporting.prose.several_measures import jointly
from cranfield.scales.statements.meaningful import MEANINGFUL, meaning, measure_of, order_kept
from cranfield.significance import check_assumptions
from cranfield.significance.comparison.headings import heading_of
from cranfield.significance.comparison.notes import RESCALING
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison

BOUNDS = {
    "any error": "which bounds the probability of any false positive among them",
    "share of errors": "which bounds the expected proportion of false positives among the"
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
            raise PolicyError("a margin goes with the comparison by one measure")
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
            f", {side}, {_bounds(correction.bounds, one)}; the critical value was estimated from"
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
        yield [*start, f"{level}, with {title}", source, f", {_bounds(correction.bounds, one)}."]
    if one.resamples is not None:
        yield [f"It drew {counted(one.resamples, 'random sample')} with seed {one.seed}."]
    if one.omnibus is not None:
        of = one.omnibus
        yield [
            f"Of all systems together, {of.name} was {rounded(of.statistic, 2)} with"
            f" {counted(round(of.df), 'degree')} of freedom (",
            p_of(of.pvalue, one.alpha),
            f", {of.effect_name} {rounded(of.effect, 3)}).",
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
    """Tell what is taken for granted, what checks say of it, and what the scale allows."""
    assumed = CORRECTIONS[one.correction].assumes
    if assumed == OF_ITS_OWN or one.info.family == "ranks":
        assumed = one.info.assumes.split(". ")[0].rstrip(".")
        assumed = assumed[:1].lower() + assumed[1:]
    yield [f"We assume that {assumed}."]
    if one.anova is not None and CORRECTIONS[one.correction].one_variance:
        violated = check_assumptions(one.anova.residuals, one.anova.fitted).violated
        yield [
            f"Tests of the residuals speak against: {', '.join(violated)}."
            if violated
            else "No test of the residuals speaks against normal errors of equal variance."
        ]
    meant, of = meaning(one), one.measure or "the scores"
    needs = f"The test needs {a_scale(meant.needs)}"
    if meant.has is None:
        yield [f"{needs}; nothing is known of the scale of {of}."]
    elif meant.verdict == MEANINGFUL:
        yield [
            f"{needs}, and {of} is {'taken for ' if meant.by_user else ''}{a_scale(meant.has)}, so"
            " that what it says does not depend on how the scale is spaced."
        ]
    else:
        why = (
            f"{of} is declared to be {a_scale(meant.has)}"
            if meant.has < meant.needs
            else f"{of} is {a_scale(meant.has)} for retrieved sets of one size only"
            if meant.by_size and not meant.by_topic
            else f"topics are on scales of their own for {of}"
        )
        yield [
            f"{needs}, but {why}: what it says may depend on how the scale is spaced",
            Cited("Ferrante, Ferro and Fuhr (2021)"),
            ".",
        ]
        if count := one.count():
            kept = order_kept(count, meant.holds, "pair found to differ", "pairs found to differ")
            yield [f"{capitalised(kept)}."]
