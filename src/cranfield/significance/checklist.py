"""Checklist of common mistakes in evaluations, applied to one comparison of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import MeasureError, PolicyError
from cranfield.base.scale_types import format_scale_type
from cranfield.base.text import inflect, sanitise
from cranfield.collection.judged.coverage import (
    MAX_UNJUDGED_DIFFERENCE,
    exceeds_unjudged_difference,
)
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures.grammar import parse_measure
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import (
    RESCALING,
    PairwiseComparison,
    find_best_baselines,
)
from cranfield.significance.registry import CORRECTIONS
from cranfield.significance.summary import summarise
from cranfield.tabular import Table, format_pvalue

AVOIDED, MADE, DISPUTED, CANNOT_TELL = "avoided", "made", "disputed", "cannot tell"

# Below MIN_TOPICS the item `topics` is `made`; below USUAL_TOPICS its finding says so.
MIN_TOPICS, USUAL_TOPICS = 25, 50

Decision = tuple[str, str]
"""Status and finding of an item."""


@dataclass(frozen=True, eq=False)
class _ChecklistInput:
    """Input of all items: comparisons by measure, and the evaluation of runs or None."""

    comparisons: Mapping[str, PairwiseComparison]
    evaluation: Evaluation | None

    @property
    def first_comparison(self) -> PairwiseComparison:
        """The comparison by the first measure, whose test and correction the checklist reports."""
        return next(iter(self.comparisons.values()))

    def label_comparisons(self) -> Iterator[tuple[str, PairwiseComparison]]:
        """Yield the comparisons with a label: the measure and a colon if there are several."""
        for name, comparison in self.comparisons.items():
            yield f"{sanitise(name)}: " if len(self.comparisons) > 1 else "", comparison


def _name_pair(comparison: PairwiseComparison, k: int) -> str:
    first, second = comparison.first[k], comparison.second[k]
    names = sanitise(comparison.systems[first]), sanitise(comparison.systems[second])
    return f"{names[0]} {comparison.between_names} {names[1]}"


def _check_scale_mean(inputs: _ChecklistInput) -> Decision:
    violations, undeclared = [], []
    for measure, comparison in inputs.comparisons.items():
        name, scale = sanitise(measure) or "the measure", comparison.measure_scale
        if scale is None:
            undeclared.append(name)
        elif scale < comparison.scale:
            violations.append(f"{name} is {format_scale_type(scale)}")
    first = inputs.first_comparison
    assumption = f"the test {first.test} assumes {format_scale_type(first.scale)}"
    if violations:
        return DISPUTED, f"{assumption}, but {', '.join(violations)}"
    if undeclared:
        return CANNOT_TELL, f"{assumption}; the scale of {', '.join(undeclared)} is not declared"
    return AVOIDED, f"{assumption}; all measures are declared to have this scale or a higher one"


def _check_map_user(inputs: _ChecklistInput) -> Decision:
    if not all(inputs.comparisons):
        return CANNOT_TELL, "the measure of the scores is unknown"
    names = ", ".join(map(sanitise, inputs.comparisons))
    if all(map(_is_average_precision, inputs.comparisons)):
        return DISPUTED, f"AP is the only measure ({names}); add a measure with another user model"
    return AVOIDED, f"AP is not the only measure: {names}"


def _is_average_precision(name: str) -> bool:
    """Return True for any text form of AP, such as `map` and `AP(rel=2)@100`."""
    try:
        return parse_measure(name).name == "AP"
    except MeasureError:
        return False


def _check_digits(inputs: _ChecklistInput) -> Decision:
    findings, may_exceed = [], False
    for label, comparison in inputs.label_comparisons():
        if comparison.mean_of != "mean":
            return CANNOT_TELL, f"the standard error of a {comparison.mean_of} is not computed"
        rows = summarise(comparison.scores).rows.filter((pl.col("sd") > 0) & (pl.col("topics") > 1))
        if rows.is_empty():
            findings.append(f"{label}all standard errors are 0 and do not limit the decimals")
            continue
        standard_errors = (rows["sd"] / rows["topics"].sqrt()).to_numpy()
        k = int(standard_errors.argmax())
        n_supported = max(0, int(np.ceil(-np.log10(standard_errors[k]))) + 1)
        is_default_higher = comparison.places > n_supported
        may_exceed |= is_default_higher
        findings.append(
            f"{label}the mean of {sanitise(rows['system'][k])} has standard error"
            f" {standard_errors[k]:.4g}, which supports {inflect(n_supported, 'decimal')}"
            f" ({rows['mean'][k]:.{n_supported}f})"
            + f", as shown with --places {n_supported}"
            * is_default_higher
        )
    if may_exceed:
        return CANNOT_TELL, "; ".join([*findings, "does the paper show more decimals?"])
    return AVOIDED, "; ".join(findings)


def _check_relative(inputs: _ChecklistInput) -> Decision:
    name = inputs.first_comparison.difference_name
    if inputs.first_comparison.mean_of == "geometric mean":
        return AVOIDED, f"each {name} is not a percentage of an arithmetic mean"
    return AVOIDED, f"each {name} is absolute, not a percentage of a mean"


def _check_multiple(inputs: _ChecklistInput) -> Decision:
    comparisons = inputs.comparisons.values()
    n_tests = sum(map(len, comparisons))
    if n_tests == 1:
        return AVOIDED, "a single test, of one pair by one measure, needs no correction"
    alpha, n_families = inputs.first_comparison.alpha, len(comparisons)
    correction = CORRECTIONS[inputs.first_comparison.correction]
    text, family = inflect(n_families, "measure"), "measures"
    if correction.name == "none":
        problem = f"{n_tests:,} tests ({text}) without correction"
        n_families, family = n_tests, "tests"
    elif n_families == 1:
        return (
            AVOIDED,
            f"p-values of {n_tests:,} pairs, by one measure, are corrected:"
            f" {inputs.first_comparison.title}",
        )
    else:
        problem = f"the correction is within each of {text}, not over all {n_tests:,} tests"
    if correction.controls == "FDR":
        return MADE, f"{problem}: the false discovery rate is controlled within each measure only"
    return MADE, (
        f"{problem}: if {family} were independent, the probability of at least one Type I"
        f" error would be up to {1 - (1 - alpha) ** n_families:.4f}"
        f" = 1 - (1 - {alpha:g})^{n_families}"
    )


def _check_effect(inputs: _ChecklistInput) -> Decision:
    findings = []
    for label, comparison in inputs.label_comparisons():
        k = int(np.abs(comparison.difference).argmax())
        low, high = (float(bounds[k]) for bounds in comparison.interval)
        quantity = "" if comparison.tests_difference else f"{comparison.interval_of} "
        interval = "no interval" if np.isnan(low) else f"{quantity}{low:.4f} to {high:.4f}"
        findings.append(
            f"{label}largest {comparison.difference_name}: {_name_pair(comparison, k)}"
            f" {comparison.difference[k]:.4f} ({interval}),"
            f" {comparison.info.effect_name} {comparison.effect[k]:.4f},"
            f" p = {format_pvalue(comparison.adjusted_pvalues[k])}"
        )
    return AVOIDED, "; ".join(findings)


def _check_null(inputs: _ChecklistInput) -> Decision:
    findings, n_not_significant = [], 0
    for label, comparison in inputs.label_comparisons():
        rows = np.flatnonzero(~comparison.is_significant())
        n_not_significant += len(rows)
        pairs_text = inflect(len(comparison), "pair")
        text = f"{label}{len(rows)} of {pairs_text} without a significant difference"
        low, high = (bounds[rows] for bounds in comparison.interval)
        half_widths = (high - low) / 2
        is_finite = np.isfinite(half_widths)
        if is_finite.any():
            farthest = np.where(is_finite, np.maximum(np.abs(low), np.abs(high)), -np.inf)
            k = int(farthest.argmax())
            text += (
                f"; their intervals include a {comparison.interval_of} of up to {farthest[k]:.4f}"
                f" ({_name_pair(comparison, rows[k])}); the smallest difference that could be"
                f" significant is about {half_widths[is_finite].min():.4f}, the smallest half-width"
                " of these intervals"
            )
        elif rows.size:
            text += "; none of them has a bounded interval"
        findings.append(text)
    if not n_not_significant:
        return AVOIDED, "; ".join(findings)
    return CANNOT_TELL, "; ".join([*findings, "does the paper treat these systems as equal?"])


def _check_topics(inputs: _ChecklistInput) -> Decision:
    n = min(comparison.n_topics for comparison in inputs.comparisons.values())
    if n < MIN_TOPICS:
        return MADE, f"{inflect(n, 'topic')}, fewer than {MIN_TOPICS}"
    minimum = f"{MIN_TOPICS} but fewer than {USUAL_TOPICS}" if n < USUAL_TOPICS else USUAL_TOPICS
    return AVOIDED, f"{n:,} topics, which is at least {minimum}"


def _check_one_collection(inputs: _ChecklistInput) -> Decision:
    text = inflect(inputs.first_comparison.n_topics, "topic")
    return MADE, f"systems are compared on one set of {text}, which supports no general claim"


def _check_unjudged(inputs: _ChecklistInput) -> Decision:
    if inputs.evaluation is None:
        return CANNOT_TELL, (
            "runs and judgments were not given: do systems differ in their proportion of unjudged"
            " documents?"
        )
    row_of = {row.system: row for row in inputs.evaluation.coverage.systems}
    comparison = inputs.first_comparison
    proportions = np.array([row_of[system].unjudged_at_10 for system in comparison.systems])
    differences = np.abs(proportions[comparison.first] - proportions[comparison.second])
    k = int(differences.argmax())
    n_above = int(exceeds_unjudged_difference(differences).sum())
    systems_text = " and ".join(
        f"{sanitise(comparison.systems[system])} {proportions[system]:.1%}"
        for system in (comparison.first[k], comparison.second[k])
    )
    return (MADE if n_above else AVOIDED), (
        "the proportion of unjudged documents in the top 10 differs by more than"
        f" {MAX_UNJUDGED_DIFFERENCE:g} in {n_above:,} of {inflect(len(comparison), 'pair')};"
        f" largest difference: {systems_text}"
    )


def _check_aggregate_only(inputs: _ChecklistInput) -> Decision:
    findings = []
    for label, comparison in inputs.label_comparisons():
        scores, mean = comparison.scores.average_shards(), comparison.mean_of
        # Rank 1 is the best, so mean ranks and scores may have different directions.
        advantage = comparison.difference * (-1 if comparison.lower_is_better else 1)
        is_second_better = advantage < 0
        better_systems = np.where(is_second_better, comparison.second, comparison.first)
        worse_systems = np.where(is_second_better, comparison.first, comparison.second)
        leads = scores.values[:, better_systems] - scores.values[:, worse_systems]
        leads *= np.where(advantage == 0, 0, -1 if scores.lower_is_better else 1)
        if not (leads < 0).any():
            findings.append(f"{label}no system loses a topic to a system with a worse {mean}")
            continue
        topic, k = np.unravel_index(int(np.nanargmin(leads)), leads.shape)
        wins, losses, ties = (int((np.sign(leads[:, k]) == sign).sum()) for sign in (1, -1, 0))
        findings.append(
            f"{label}largest loss despite a better {mean}:"
            f" {sanitise(scores.systems[better_systems[k]])} loses {-leads[topic, k]:.4f} to"
            f" {sanitise(scores.systems[worse_systems[k]])} on topic"
            f" {sanitise(scores.topics[topic])}, and wins {inflect(wins, 'topic')}, loses"
            f" {losses:,}, ties {ties:,}"
        )
    return AVOIDED, "; ".join(findings)


def _check_best_baseline(inputs: _ChecklistInput) -> Decision:
    systems_text = inflect(len(inputs.first_comparison.systems), "system")
    names = ", ".join(map(sanitise, inputs.first_comparison.baselines))
    scope = f"{systems_text}, baseline {names}" if names else f"all pairs of {systems_text}"
    best_baselines = [
        f"; {sanitise(name)} is the best {f'by {label[:-2]}' if label else 'on these scores'}"
        for label, comparison in inputs.label_comparisons()
        for name in find_best_baselines(comparison)
    ]
    question = "was a baseline chosen because it is the best on these topics?"
    return CANNOT_TELL, f"{scope}{''.join(best_baselines)}: {question}"


_FUHR, _ZOBEL = "Fuhr (2017)", "Zobel (2022)"
_FUHR_AND_SAKAI = "Fuhr (2017), Sakai (2020)"
_FUHR_OR_SAKAI = "objection: Fuhr (2017); reply: Sakai (2020)"
_OWN_THRESHOLD = "not from a paper; this checklist sets the threshold"
_NO_PAPER = "not from a paper"

ITEMS: dict[str, tuple[str, Callable[[_ChecklistInput], Decision] | str, str]] = {
    "scale-mean": (
        "Means of scores without an interval scale",
        _check_scale_mean,
        "objection: Fuhr (2017), Ferrante, Ferro and Fuhr (2021, 2022); reply: Sakai (2020),"
        " Moffat (2022)",
    ),
    "map-user": ("AP as the only measure", _check_map_user, _FUHR_OR_SAKAI),
    "digits": ("More digits than the topics support", _check_digits, _FUHR),
    "relative": ("Relative improvements of means", _check_relative, _FUHR_OR_SAKAI),
    "one-split": (
        "Parameters tuned and tested on a single split",
        "were parameters tuned, and if so, on more than one split of the data?",
        _FUHR,
    ),
    "plan": (
        "Hypotheses stated after the experiment",
        "were all hypotheses stated before the scores were seen?",
        _FUHR_AND_SAKAI,
    ),
    "best-baseline": (
        "Baseline chosen because it is the best on these topics",
        _check_best_baseline,
        _FUHR_AND_SAKAI,
    ),
    "multiple": ("Several tests without correction", _check_multiple, _FUHR_AND_SAKAI),
    "reuse": (
        "Earlier tests on the collection ignored",
        "how many tests on this collection were published before?",
        _FUHR,
    ),
    "effect": ("p-values without effect sizes", _check_effect, _FUHR),
    "null": ("Lack of significance interpreted as equality", _check_null, _NO_PAPER),
    "topics": ("Few topics", _check_topics, _OWN_THRESHOLD),
    "baseline-weak": (
        "Weak baseline",
        "which scores on this collection were published, and does the baseline reach them?",
        _NO_PAPER,
    ),
    "repro": (
        "Results that cannot be reproduced",
        "are code, data, parameters and software published?",
        _FUHR,
    ),
    "one-collection": ("One collection only", _check_one_collection, _FUHR),
    "claim": (
        "Proof claimed from an experiment",
        "does the paper claim that the experiment proves something in general?",
        _FUHR,
    ),
    "unjudged": (
        "Systems with unequal proportions of unjudged documents",
        _check_unjudged,
        _OWN_THRESHOLD,
    ),
    "aggregate-only": ("Only aggregated scores analysed", _check_aggregate_only, _ZOBEL),
    "goodhart": (
        "Only the optimised measure reported",
        "was a system optimised for a measure that is reported here?",
        _ZOBEL,
    ),
}
"""Items by id: the mistake, the function that checks for it (or a question), and the source."""


@dataclass(frozen=True, eq=False, repr=False)
class Checklist(TableResult):
    """Common mistakes, with a finding on each for one comparison; returned by :func:`checklist`.

    Attributes
    ----------
    measures
        Names of the measures.
    test, correction, alpha
        Test, correction and significance level, as :func:`compare` applied them.
    notes
        Notes of the comparisons, except those on the scale of measures, which `scale-mean` covers.
    method
        Names of the test and its correction, in words.
    seed
        Seed if the test or the correction draws random numbers, else None.
    """

    name: ClassVar[str] = "checklist"
    columns: ClassVar[Columns] = {
        "id": Column("Short name of the item.", key=True),
        "item": Column("Description of the mistake.", display=False),
        "status": Column("`avoided`, `made`, `disputed` in the literature, or `cannot tell`."),
        "finding": Column("The finding on this comparison, or the question to answer."),
        "source": Column(
            "Papers, of both sides if disputed; or `not from a paper`.", display=False
        ),
    }

    measures: tuple[str, ...]
    test: str
    correction: str
    alpha: float
    notes: tuple[str, ...] = ()
    method: str = ""
    seed: int | None = None

    def heading(self) -> list[str]:
        statuses = self.rows["status"].to_list()
        order = (AVOIDED, MADE, DISPUTED, CANNOT_TELL)
        counts = [f"{statuses.count(status)} {status}" for status in order]
        measures = ", ".join(map(sanitise, filter(None, self.measures))) or "scores"
        return [
            f"checklist of {measures}: {self.method}, alpha {self.alpha:g}; {', '.join(counts)}"
        ]

    def tables(self) -> list[Table]:
        items: dict[str, list[str]] = {}
        for name, source in self.rows["id", "source"].rows():
            items.setdefault(source, []).append(name)
        sources = [f"{', '.join(names)}: {source}" for source, names in items.items()]
        return [replace(table, notes=[*table.notes, *sources]) for table in super().tables()]


def checklist(scores: Any, **options: Any) -> Checklist:
    r"""Check a comparison of systems for common mistakes.

    Parameters
    ----------
    scores
        An evaluation, whose proportions of unjudged documents are also checked; a mapping of
        measures to :class:`Scores`; or any scores of one measure that :func:`compare` accepts.
    options
        Options of :func:`compare`.

    Returns
    -------
    Checklist
        A row for each item, with its status, finding and source.

    Raises
    ------
    CranfieldError, PolicyError
        For the same reasons as :func:`compare`, and for an empty mapping.

    Notes
    -----
    Sources: Fuhr (2017) lists most of the mistakes; Sakai (2020) and Moffat (2022) object, and
    Ferrante, Ferro and Fuhr (2022) reply; Zobel (2022) describes limitations of batch evaluation.
    A mistake on which papers disagree has the status `disputed` instead of `made`. A mean with
    standard error s supports :math:`\lceil -\log_{10} s \rceil + 1` decimals. If all null
    hypotheses hold, c independent uncorrected tests at level alpha make at least one Type I error
    with probability :math:`1 - (1 - \alpha)^c`.

    Examples
    --------
    >>> scores = {"old": [0.5, 0.4, 0.3], "new": [0.7, 0.5, 0.2]}
    >>> mistakes = checklist(scores, test="t")
    >>> dict(mistakes.rows["id", "finding"].rows())["aggregate-only"]
    'largest loss despite a better mean: new loses 0.1000 to old on topic 3, and wins ...'
    """
    if isinstance(scores, Mapping) and all(isinstance(value, Scores) for value in scores.values()):
        if not scores:
            raise PolicyError("expected scores of at least one measure, got none")
        comparisons = {name: compare(table, **options) for name, table in scores.items()}
    else:
        comparison = compare(scores, **options)
        comparisons = {comparison.measure: comparison}
    # Evaluations of answers have no documents to judge.
    has_coverage = isinstance(scores, Evaluation) and hasattr(scores.judged, "coverage")
    inputs = _ChecklistInput(comparisons, scores if has_coverage else None)
    rows = []
    for name, (item, check, source) in ITEMS.items():
        decision = (CANNOT_TELL, check) if isinstance(check, str) else check(inputs)
        rows.append((name, item, *decision, source))
    comparison = inputs.first_comparison
    table = pl.DataFrame(rows, schema=list(Checklist.columns), orient="row")
    return Checklist(
        table,
        tuple(comparisons),
        comparison.test,
        comparison.correction,
        comparison.alpha,
        _collect_notes(inputs),
        comparison.method,
        comparison.seed,
    )


def _collect_notes(inputs: _ChecklistInput) -> tuple[str, ...]:
    """Return the notes, except on scales; notes of some comparisons only begin with the measure."""
    comparisons = inputs.comparisons
    return tuple(
        dict.fromkeys(
            note
            if name in note or all(note in other.notes for other in comparisons.values())
            else f"{sanitise(name)}: {note}"
            for name, comparison in comparisons.items()
            for note in comparison.notes
            if not note.endswith(RESCALING)
        )
    )
