"""Tables of evaluations, comparisons, analyses of variance and studies, for papers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, argsort_best
from cranfield.base.errors import ArgumentError, CranfieldError, PolicyError, check_integer, quote
from cranfield.base.text import inflect, suggest_names
from cranfield.reporting.marks import SYMBOLS, WORSE_SYMBOL, check_marks, parse_levels
from cranfield.reporting.summary import BETTER, WORSE, list_group_letters, make_verdict_matrix
from cranfield.reporting.terminal import tabulate_units
from cranfield.result import Result
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores, complete_scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.compared_pairs import ALPHABET, name_group, shorten_letters
from cranfield.significance.comparison.result import PairwiseComparison, choose_decimals
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import STATISTIC_OF_AGGREGATE
from cranfield.significance.several.joint_measures import JointComparison, compare_measures
from cranfield.tabular import NO_VALUE, Cell, Table, tabulate_frame


@dataclass(frozen=True)
class SignificanceMarks:
    """Significance marks by measure and system; marks `beaten` refer to systems by `letters`."""

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    letters: Sequence[str] = ()
    comparisons: Mapping[str, PairwiseComparison] = field(default_factory=dict)
    legend: Sequence[str] = ()
    remarks: Sequence[str] = ()
    baselines: Sequence[str] = ()


def make_marks(
    comparisons: Mapping[str, PairwiseComparison],
    kind: str,
    levels: Sequence[float] | None = None,
    joint: JointComparison | None = None,
) -> SignificanceMarks:
    """Make the marks of a kind from a comparison for each measure, or from a joint test of them."""
    if kind == "none" or not comparisons:
        return SignificanceMarks()
    first_comparison = next(iter(comparisons.values()))
    levels = levels or (first_comparison.alpha,)
    letters: list[str] = []
    if kind != "symbols":
        for pairs in comparisons.values():
            pairs.require_all_pairs("letters")
    if kind == "symbols":
        texts = {name: _choose_symbols(pairs, levels) for name, pairs in comparisons.items()}
        meaning = _describe_symbols(first_comparison.baselines, levels)
        if any(WORSE_SYMBOL in mark for marks in texts.values() for mark in marks):
            meaning += f"; {WORSE_SYMBOL} worse"
    elif kind == "groups":
        texts = {name: list_group_letters(pairs) or [] for name, pairs in comparisons.items()}
        meaning = f"systems that share a letter are not significantly different (p > {levels[0]:g})"
    else:
        letters = [name_group(k) for k in range(len(first_comparison.systems))]
        texts = {name: _list_beaten(pairs, letters) for name, pairs in comparisons.items()}
        meaning = f"superscripts: systems that are significantly worse (p ≤ {levels[0]:g})"
    test_result = joint or first_comparison
    scope = "all measures jointly" if joint else "each measure separately"
    suffix = f", {scope}" if len(comparisons) > 1 else ""
    legend = [meaning, f"{test_result.method}{suffix}"]
    if test_result.resamples is not None:
        legend.append(f"{test_result.resamples:,} random samples, seed {test_result.seed}")
    # Means of ranks depend on the systems, so tests of ranks mark the usual means.
    rank_measures = [name for name, pairs in comparisons.items() if pairs.mean_of == "mean rank"]
    mean_comparisons = {k: pairs for k, pairs in comparisons.items() if k not in rank_measures}
    statistic_notes = {
        name: f"each value is the {pairs.mean_of}"
        for name, pairs in mean_comparisons.items()
        if pairs.statistic_of_topics != STATISTIC_OF_AGGREGATE[pairs.scores.aggregate]
    }
    is_common = len(statistic_notes) == len(comparisons)
    legend += dict.fromkeys(
        text if is_common else f"{name}: {text}" for name, text in statistic_notes.items()
    )
    if rank_measures:
        legend.append("the test compares mean ranks, not the values shown")
    remarks = dict.fromkeys(
        f"{name}: {note}" if name and name not in note else note
        for name, pairs in comparisons.items()
        for note in pairs.notes
    )
    remarks = remarks if joint is None else dict.fromkeys(joint.notes)
    baselines = first_comparison.baselines if kind == "symbols" else ()
    return SignificanceMarks(texts, letters, mean_comparisons, legend, list(remarks), baselines)


def _compare_jointly(
    scores: Mapping[str, Scores], **options: Any
) -> tuple[JointComparison, dict[str, PairwiseComparison]]:
    """Return a joint test, and comparisons by each measure with the p-values of the joint test."""
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in JOINT_OPTIONS:
            raise PolicyError(f"{name} cannot be combined with joint=True")
    joint = compare_measures(scores, **options)
    complete, _ = complete_scores(align_scores(scores), options.get("missing", "error"))
    comparisons = {}
    for (name, values), pvalues in zip(complete.items(), joint.pvalues.T, strict=True):
        comparison = compare(
            values, alpha=joint.alpha, test="t", correction="none", baseline=joint.baselines or None
        )
        comparisons[name] = replace(comparison, adjusted_pvalues=pvalues)
    return joint, comparisons


def _describe_symbols(baselines: Sequence[str], levels: Sequence[float]) -> str:
    if len(baselines) == 1:
        texts = [f"{s} p ≤ {level:g}" for s, level in zip(SYMBOLS, levels, strict=False)]
        return f"significantly different from {baselines[0]}: {', '.join(texts)}"
    texts = [f"{s} {name}" for s, name in zip(SYMBOLS, baselines, strict=False)]
    return f"significantly different (p ≤ {levels[0]:g}) from {', '.join(texts)}"


def _choose_symbols(comparison: PairwiseComparison, levels: Sequence[float]) -> list[str]:
    """Return the symbols of each system's significant differences from the baselines."""
    marks, verdicts = [""] * len(comparison.systems), make_verdict_matrix(comparison)
    for index, baseline in enumerate(comparison.baselines):
        k = comparison.systems.index(baseline)
        for pair in np.flatnonzero((comparison.first == k) | (comparison.second == k)):
            systems = {int(comparison.first[pair]), int(comparison.second[pair])}
            n_levels = int((comparison.adjusted_pvalues[pair] <= np.asarray(levels)).sum())
            if n_levels:
                # With a single baseline symbols mark levels, otherwise they mark baselines.
                symbol = SYMBOLS[n_levels - 1 if len(comparison.baselines) == 1 else index]
                [system] = systems - {k}
                marks[system] += symbol + WORSE_SYMBOL * (verdicts[system, k] == WORSE)
    return marks


def is_significantly_better(comparison: PairwiseComparison) -> NDArray[np.bool_]:
    """Return a matrix: True if the system of the row is significantly better than the column's."""
    return np.asarray(make_verdict_matrix(comparison) == BETTER)


def _list_beaten(comparison: PairwiseComparison, letters: Sequence[str]) -> list[str]:
    """Return for each system the letters of the systems that are significantly worse."""
    separator = "" if len(letters) <= len(ALPHABET) else ","
    return [
        shorten_letters(separator.join(letters[k] for k in np.flatnonzero(row).tolist()))
        for row in is_significantly_better(comparison)
    ]


def tabulate_evaluation(
    scores: Mapping[str, Scores],
    marks: SignificanceMarks | None = None,
    *,
    sort: str | None = None,
    best: bool = True,
    second: bool = False,
    percent: bool = False,
    places: int | None = None,
) -> Table:
    """Make a table with a row for each system and a column for each measure."""
    marks = marks or SignificanceMarks()
    systems = _check_same_axes(scores, "systems").systems
    overall = {
        name: pairs.means if (pairs := marks.comparisons.get(name)) else measure_scores.overall()
        for name, measure_scores in scores.items()
    }
    order = _sort_systems(scores, overall, sort)
    has_several = len(order) > 1
    names = [f"{name} (baseline)" if name in marks.baselines else name for name in systems]
    columns: list[list[str | Cell]] = [[*names]]
    for name, measure_scores in scores.items():
        texts = _format_values(measure_scores, overall[name], percent, places)
        ranks = _rank_values(texts, measure_scores.lower_is_better)
        symbols = marks.texts.get(name, [""] * len(texts))
        column: list[str | Cell] = []
        for text, mark, rank in zip(texts, symbols, ranks, strict=True):
            bold, underline = best and rank == 0 and has_several, second and rank == 1
            column.append(Cell(text, mark, bold, underline) if text else NO_VALUE)
        columns.append(column)
    if marks.letters:
        columns.insert(0, list(marks.letters))
    counts = sorted({len(measure_scores.topics) for measure_scores in scores.values()})
    # A test may have reduced the topics of some measures.
    topics_text = (
        f"{counts[0]} to {counts[-1]} topics" if len(counts) > 1 else inflect(counts[0], "topic")
    )
    lower_names = [name or "scores" for name, values in scores.items() if values.lower_is_better]
    typeface_notes = ["the best of each measure in bold"] * best + [
        "second best underlined"
    ] * second
    return Table(
        f"{inflect(len(order), 'system')}, {topics_text}",
        [*([""] if marks.letters else []), "System", *scores],
        [[column[i] for column in columns] for i in order],
        left=range(2 if marks.letters else 1),
        notes=[
            *(["means times 100"] if percent else []),
            *([f"lower is better: {', '.join(lower_names)}"] if lower_names else []),
            *_describe_missing(scores),
            *marks.legend,
        ],
        remarks=marks.remarks,
        typeface_note=", ".join(typeface_notes) if has_several else "",
    )


def tabulate_topics(scores: Mapping[str, Scores], *, places: int = 4) -> Table:
    """Make a table with a row for each topic and system, and then rows of overall values."""
    first_scores = _check_same_axes(scores, "systems", "topics")
    sizes = inflect(len(first_scores.systems), "system"), inflect(len(first_scores.topics), "topic")
    unit_table = tabulate_units(scores, places=places, has_bold=False)
    return replace(unit_table, title=", ".join(sizes), head=["Topic", "System", *scores])


def _check_same_axes(scores: Mapping[str, Scores], *nouns: str) -> Scores:
    """Check that all measures have equal `nouns`, such as topics; return the first scores."""
    if not scores:
        raise CranfieldError("expected the scores of at least one measure, got none")
    first_scores = next(iter(scores.values()))
    for name, measure_scores in scores.items():
        measure_scores.require_two_axes(
            "a table of systems and measures requires scores without shards"
        )
        for noun in nouns:
            if getattr(measure_scores, noun) != getattr(first_scores, noun):
                raise CranfieldError(
                    f"expected the same {noun} for all measures, got other {noun} for {quote(name)}"
                )
    return first_scores


def _describe_missing(scores: Mapping[str, Scores]) -> list[str]:
    """Return notes on systems without scores for some topics."""
    notes = []
    for name, measure_scores in scores.items():
        n_missing = np.isnan(measure_scores.values).sum(axis=0)
        n_systems = int((n_missing > 0).sum())
        if n_systems:
            subject = "1 system lacks" if n_systems == 1 else f"{n_systems:,} systems lack"
            extent = f"up to {n_missing.max():,} of {len(measure_scores.topics):,} topics"
            notes.append(
                f"{name or 'scores'}: {subject} some scores ({extent}); means are over the other"
                " topics"
            )
    return notes


def _sort_systems(
    scores: Mapping[str, Scores], overall: Mapping[str, Floats], sort: str | None
) -> list[int]:
    """Return indices of the systems, best first by the measure `sort`, or in original order."""
    if sort is None:
        return [*range(next(iter(overall.values())).size)]
    try:
        measure_scores = scores[sort]
    except KeyError:
        raise PolicyError(
            f"unknown measure {quote(sort)} to sort by; expected one of: {', '.join(scores)}"
        ) from None
    # An evaluation accepts other names of its measures.
    values = overall.get(sort, measure_scores.overall())
    return [*map(int, argsort_best(values, measure_scores.lower_is_better))]


def _format_values(scores: Scores, values: Floats, percent: bool, places: int | None) -> list[str]:
    """Format the values; NaN is empty, and sums of integers have no decimals."""
    known_values = values[~np.isnan(values)]
    if scores.aggregate == "sum" and (known_values == np.round(known_values)).all():
        return ["" if np.isnan(value) else f"{value:,.0f}" for value in values]
    factor = 100 if percent and scores.aggregate != "sum" else 1
    if places is None:
        places = max(0, choose_decimals(values) - (2 if factor > 1 else 0))
    return ["" if np.isnan(value) else f"{factor * value:.{places}f}" for value in values]


def _rank_values(texts: Sequence[str], lower_is_better: bool) -> list[int | None]:
    """Rank the formatted values from 0, so that equal texts have equal ranks; None if missing."""
    values = [float(text.replace(",", "")) if text else None for text in texts]
    order = sorted({value for value in values if value is not None}, reverse=not lower_is_better)
    return [None if value is None else order.index(value) for value in values]


def table(
    results: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str | None = None,
    alpha: float | Sequence[float] = 0.05,
    joint: bool = False,
    marks: str | None = None,
    sort: str | None = None,
    best: bool = True,
    second: bool = False,
    percent: bool = False,
    places: int | None = None,
    **options: Any,
) -> Table:
    r"""Make a :class:`Table` of results, for a paper, a page or a notebook.

    Parameters
    ----------
    results
        An :class:`Evaluation`, or :class:`Scores` of one measure or by measure, for a table with a
        row for each system. A :class:`PairwiseComparison`, for its ranking with groups, or its
        pairs. The table of an analysis of variance. A polars data frame, such as a table of a
        study, whose values are only rounded.
    baseline, test, correction
        If one of these options is set, the scores of each measure are also tested by
        :func:`cranfield.compare`, whose defaults apply to options that are not set.
    alpha
        Significance level; with a single baseline also a list of levels, each with its own symbol.
    joint
        Whether to test all measures as one family, by
        :func:`cranfield.significance.compare_measures`.
    marks
        Marks that follow a score: `symbols` for significant differences from a baseline, letters of
        the systems `beaten` (significantly worse by the test), letters of `groups` of
        systems that are not significantly different, or `none`. The default is `symbols` with a
        baseline, and `beaten` for a test without a baseline.
    sort
        Measure by which systems are ordered, the best first; by default they keep their order.
    best, second
        Whether to print the best value of each measure in bold, and to underline the second best.
        Values that are equal as printed are treated alike.
    percent
        Whether to multiply values other than sums by 100.
    places
        Number of decimals; by default four, or more if all values are small, and two fewer for
        percentages.
    options
        Test options: `alternative`, `missing`, `exact`, `exact_n`, `threshold`, `resamples`,
        `seed`, `jobs`.

    Raises
    ------
    PolicyError, ArgumentError, CranfieldError
        For results that have no table, options that are unknown or do not apply to them, measures
        with different systems, and scores by shard.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@20", "P@20"])
    >>> print(cf.table(ev, baseline=ev.systems[3], test="t", alpha=(0.05, 0.01)))
    4 systems, 50 topics
    <BLANKLINE>
    System                         nDCG@20    P@20
    UPrrf93-wt-r5                  0.8496 †  0.8760
    UPrrf102-wt-r5                 0.8490 †  0.8690
    covidex.r5.2s.lr               0.8311    0.8460
    elhuyar_prf_nof99p (baseline)  0.8116    0.8340
    <BLANKLINE>
    significantly different from elhuyar_prf_nof99p: † p ≤ 0.05, ‡ p ≤ 0.01
    Paired t-test with Holm's correction, each measure separately
    note: ...
    >>> print(cf.table(ev["P@20"], marks="groups", places=3).to_latex(caption="P@20"), end="")
    % P@20: 1 p-value is so close to 0.05 that another seed may reverse the decision ...
    \begin{table}
    \centering
    \caption[{P@20}]{P@20. 4 systems, 50 topics. The best of each measure in bold. Systems ...}
    \begin{tabular}{lr@{}l}
    \toprule
    System & \multicolumn{2}{c}{P@20} \\
    \midrule
    UPrrf93-wt-r5 & \textbf{0.876} & \textsuperscript{a} \\
    UPrrf102-wt-r5 & 0.869 & \textsuperscript{ab} \\
    covidex.r5.2s.lr & 0.846 & \textsuperscript{ab} \\
    elhuyar\_prf\_nof99p & 0.834 & \textsuperscript{b} \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    _check_option_names(options)
    test_options: dict[str, Any] = {"baseline": baseline, "test": test, "correction": correction}
    test_names = [name for name, value in test_options.items() if value is not None]
    if not isinstance(results, (Scores, Mapping)):
        is_set = {
            "alpha": alpha != 0.05,
            "joint": joint,
            "marks": marks is not None,
            "sort": sort is not None,
            "best": not best,
            "second": second,
            "percent": percent,
        }
        return _make_result_table(
            results, places, [*test_names, *(k for k, v in is_set.items() if v), *options]
        )
    scores = {results.measure: results} if isinstance(results, Scores) else results
    for value in scores.values():
        if not isinstance(value, Scores):
            raise PolicyError(
                f"expected Scores for each measure, got {type(value).__name__}; read files of"
                " scores with cf.read_scores"
            )
    _check_options(places, best=best, second=second, percent=percent)
    if not (baseline is None or isinstance(baseline, (str, list, tuple))):
        raise PolicyError(f"baseline must be a name or a list of names, got {baseline!r}")
    score_marks = SignificanceMarks()
    if marks != "none" and (test_names or joint or marks is not None):
        baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
        levels = parse_levels(alpha)
        kind = check_marks(marks, baselines, levels)
        joint_test = None
        test_options |= {"alpha": levels[0], **options}
        if joint:
            joint_test, comparisons = _compare_jointly(scores, **test_options)
        else:
            comparisons = {name: compare(value, **test_options) for name, value in scores.items()}
        score_marks = make_marks(comparisons, kind, levels, joint_test)
        # The table has the tested scores, in which missing scores may be imputed or excluded.
        scores = {name: comparison.scores for name, comparison in comparisons.items()}
    elif options:
        raise PolicyError(f"{next(iter(options))} requires a test, such as test='t'")
    return tabulate_evaluation(
        scores, score_marks, sort=sort, best=best, second=second, percent=percent, places=places
    )


JOINT_OPTIONS = ("baseline", "correction", "alpha", "missing", "resamples", "seed", "jobs")
OPTIONS = ("alternative", "missing", "exact", "exact_n", "threshold", "resamples", "seed", "jobs")
MAX_PLACES = 17  # maximum number of decimals; a float has at most 17 significant digits


def _check_options(places: int | None, **flags: bool) -> None:
    if places is not None:
        check_integer("places", places, 0, MAX_PLACES)
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise PolicyError(f"{name} must be True or False, got {value!r}")


def _check_option_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            parameters = inspect.signature(table).parameters.values()
            keywords = [param.name for param in parameters if param.kind is param.KEYWORD_ONLY]
            names = [*keywords, *OPTIONS]
            otherwise = f"expected one of: {', '.join(names)}"
            hint = suggest_names(name, names, 1, otherwise=otherwise, show="{}=…".format)
            raise ArgumentError(f"unknown option {name!r}{hint}")


def _make_result_table(results: Any, places: int | None, options: Sequence[str]) -> Table:
    """Return the table of results other than scores; refuse options that do not apply to them."""
    kind = type(results).__name__
    if not isinstance(results, (PairwiseComparison, AnovaTable, pl.DataFrame)):
        raise PolicyError(
            "expected an evaluation, scores, a comparison, an analysis of variance or a"
            f" polars data frame, got {kind}"
        )
    if options:
        raise PolicyError(f"{options[0]} requires an evaluation or scores, got {kind}")
    if isinstance(results, AnovaTable) and places is not None:
        raise PolicyError("places cannot be combined with an analysis of variance")
    _check_options(places)
    if isinstance(results, pl.DataFrame):
        return tabulate_frame(results, "", places=4 if places is None else places)
    if isinstance(results, PairwiseComparison):
        return results.as_table(places=places)
    return results.as_table()


def study_tables(*studies: Any) -> tuple[Table, ...]:
    """Make the tables of studies, as the command `cranfield study` prints them.

    Parameters
    ----------
    studies
        Results of functions of `cranfield.meta` with a source that :func:`cite` knows.

    Returns
    -------
    tuple of Table
        Tables in the order of the studies; they have the methods `to_text`, `to_latex`,
        `to_markdown` and `to_html`.

    Raises
    ------
    PolicyError
        For objects that are not results of studies; use :func:`table` for scores and comparisons.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores([[0.1, 0.5], [0.3, 0.6], [0.2, 0.3]], ["1", "2", "3"], ["a", "b"])
    >>> study_tables(cf.meta.generalizability(scores))[0].title
    'Components of the variance of scores'
    """
    for study in studies:
        if not isinstance(study, Result) or not study.reference:
            raise PolicyError(
                f"expected the result of a study, got {type(study).__name__}; use cf.table for"
                " scores and comparisons"
            )
    return tuple(table for study in studies for table in study.tables())
