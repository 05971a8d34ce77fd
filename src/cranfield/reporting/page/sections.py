"""Sentences and tables of the report page."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import polars
import scipy

from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.base.arrays import argsort_best, is_best_value
from cranfield.base.errors import make_file_error
from cranfield.base.text import capitalise, inflect, sanitise
from cranfield.base.version import __version__
from cranfield.reporting.page.contents import (
    COVERAGE_REASON,
    MeasurePart,
    PageContents,
    remove_advice,
)
from cranfield.reporting.page.data import count_overall_decimals
from cranfield.reporting.page.html import Html, escape, format_name, make_label, make_sentence
from cranfield.reporting.summary import (
    describe_outcome,
    describe_test,
    join_labels,
    list_group_letters,
    list_verdicts,
    separate_shared_lines,
)
from cranfield.scales.statements import MEANINGFUL, Meaningfulness
from cranfield.significance.comparison.result import RESCALING, PairwiseComparison
from cranfield.sources.archives import hide_credentials, is_url
from cranfield.tabular import Table, as_cell


def count_items(contents: PageContents) -> dict[str, int]:
    """Count systems, topics, judgments and measures."""
    sizes = {"system": len(contents.systems), "topic": len(contents.topics)}
    if contents.evaluation is not None:
        sizes["judgment"] = contents.evaluation.judged.judgments.topic.size
    return sizes | {"measure": len(contents.parts)}


def describe_coverage(contents: PageContents) -> list[str]:
    """Return sentences on relevant, unjudged and tied documents."""
    if contents.evaluation is None:
        return ["The report is based on scores: unjudged, missing and tied documents are unknown."]
    judged, rows = contents.evaluation.judged, contents.evaluation.coverage.systems
    proportions = [row.unjudged_at_10 for row in rows]
    worst_index = int(np.argmax(proportions))
    n_relevant = judged.recall_base()
    lines = [
        f"Relevant documents by topic: {int(n_relevant.min())} to {int(n_relevant.max())}, on"
        f" average {float(n_relevant.mean()):.1f}."
    ]
    if max(proportions) > 0:
        is_condensed = judged.policies.unjudged == "condensed"
        treatment = "they are removed" if is_condensed else "they count as not relevant"
        note = f", most in {make_label(rows[worst_index].system)} ({proportions[worst_index]:.1%})"
        lines.append(
            f"Of the documents in the top 10, {float(np.mean(proportions)):.1%} are unjudged on"
            f" average{note if len(rows) > 1 else ''}; {treatment}."
        )
    else:
        lines.append("All documents in the top 10 are judged.")
    rows_with_ties = [row for row in rows if row.n_tied]
    if rows_with_ties:
        row = max(rows_with_ties, key=lambda row: row.n_tied)
        verb = "has" if len(rows_with_ties) == 1 else "have"
        lines.append(
            f"{inflect(len(rows_with_ties), 'system')} {verb} documents with tied scores, most in"
            f" {make_label(row.system)} ({row.n_tied:,} of {row.n_retrieved:,});"
            f" the policy for ties is {judged.policies.ties}."
        )
    else:
        lines.append("No ranking has tied documents.")
    return lines


def list_warnings(contents: PageContents) -> list[str]:
    """Return the warnings at the head of the page."""
    parts = contents.parts
    evaluation_notes = [] if contents.evaluation is None else contents.evaluation.notes
    notes = [*map(remove_advice, evaluation_notes)]
    notes += [
        f"{make_label(part.name)} is not compared: {part.no_comparison_reason}"
        for part in parts
        if part.no_comparison_reason not in ("", COVERAGE_REASON)
    ]
    lines, common_lines = separate_shared_lines(
        {make_label(part.name): part.missing_notes for part in parts if part.meaning}
    )
    return [
        *notes,
        *common_lines,
        *(f"{name}: {note}" for name, texts in lines.items() for note in texts),
    ]


def make_baseline_head(comparison: PairwiseComparison) -> str:
    """Return the head of the column on the first baseline, with its name if there are several."""
    if len(comparison.baselines) > 1:
        return Html(f"against {format_name(comparison.baselines[0])}")
    return "against the baseline"


def list_answer_lines(part: MeasurePart, *, has_rescaling: bool = True) -> list[str]:
    """Return sentences on one measure: result, test, policies and meaningfulness.

    `has_rescaling=False` omits the effect of rescaling on the conclusions.
    """
    if part.meaning is None:
        return [f"{_describe_best(part)} Systems are not compared: {part.no_comparison_reason}."]
    comparison = part.meaning.comparison
    rescaling_lines = part.meaning.describe_lines()[1:] if has_rescaling else []
    return [
        describe_outcome(comparison, make_label(part.name)),
        describe_test(comparison),
        *map(make_sentence, part.missing_notes),
        write_verdict(part.meaning),
        *map(make_sentence, rescaling_lines),
    ]


def write_answers(contents: PageContents) -> tuple[list[list[str]], list[str]]:
    """Return the answer by each measure, and the common lines of all comparisons."""
    answers = [list_answer_lines(part) for part in contents.parts]
    details = {
        part.name: lines[2:]
        for part, lines in zip(contents.parts, answers, strict=True)
        if part.comparison is not None
    }
    own_details, common_lines = separate_shared_lines(details)
    for part, lines in zip(contents.parts, answers, strict=True):
        if part.name in own_details:
            lines[2:] = own_details[part.name]
    return answers, [capitalise(line) for line in common_lines]


def _describe_best(part: MeasurePart) -> str:
    """Describe the best system by a measure without a comparison."""
    values = part.overall
    if np.isnan(values).all():
        return f"No system has a score on {make_label(part.name)}."
    best_systems = np.flatnonzero(is_best_value(values, part.scores.lower_is_better))
    names = [part.scores.systems[k] for k in best_systems]
    score = f"{values[best_systems[0]]:.{count_overall_decimals(part)}f}"
    if len(part.scores.systems) == 1:
        return f"{make_label(names[0])} scores {score} on {make_label(part.name)}."
    all_systems = inflect(len(values), "system")
    line = f"Of {all_systems}, the best on {make_label(part.name)}: {join_labels(names)} ({score})."
    has_score = ~np.isnan(part.scores.values)
    if (has_score == has_score[:, :1]).all():
        return line
    n_topics = np.count_nonzero(has_score.reshape(*has_score.shape[:2], -1).any(axis=2), axis=0)
    scope = f"{n_topics.min():,} to {n_topics.max():,}" if np.ptp(n_topics) else f"{n_topics[0]:,}"
    return f"{line} Systems have scores on different topics: {scope} per system."


def write_verdict(meaning: Meaningfulness) -> str:
    """Return a sentence on whether the comparison is meaningful, and why."""
    verdict, _, reason = meaning.first_line.partition(": ")
    if meaning.verdict == MEANINGFUL:
        return f"This conclusion is meaningful: {reason}."
    if verdict == "unknown":
        return f"Whether this conclusion is meaningful is unknown: {reason}."
    # The sentence should fit in two lines of the page; the rest is in lines that can be unfolded.
    return make_sentence(reason.partition(";")[0])


def describe_method(comparison: PairwiseComparison) -> list[str]:
    """Return sentences on the method: the heading of the comparison without the measure."""
    lines = comparison.heading()
    lines[0] = lines[0].removeprefix(f"{sanitise(comparison.measure)}: ")
    return list(map(make_sentence, lines))


def list_method_notes(comparison: PairwiseComparison) -> list[str]:
    """Return the notes of a comparison, except the note on scales, which is in the answer."""
    return [make_sentence(note) for note in comparison.notes if not note.endswith(RESCALING)]


def make_pairs_table(comparison: PairwiseComparison) -> Table:
    """Return the pairs of a comparison, with `yes` or `no` instead of a star."""
    pairs = comparison.as_table()
    rows = [[*row[:-1], "yes" if as_cell(row[-1]).text else "no"] for row in pairs.rows]
    return Table("Pairs", [*pairs.head[:-1], "differs"], rows, pairs.left)


def describe_best_judge(result: object) -> str:
    """Return a sentence on the judge that agrees best with people; empty for other results."""
    if not isinstance(result, JudgeComparison):
        return ""
    column = result.statistics.index("alpha")
    judge = int(argsort_best(result.values[:, column])[0])
    tables = result.values, result.low, result.high
    alpha, low, high = (float(table[judge, column]) for table in tables)
    scope = f"{inflect(len(result.judges), 'judge')} on {inflect(len(result.topics), 'topic')}"
    if np.isnan(alpha):
        return f"Agreement with people is undefined for all judges: {scope}."
    level = f"{100 * result.confidence:g}%"
    interval = "" if np.isnan(low) else f" ({level} confidence interval {low:.3f} to {high:.3f})"
    return (
        f"Of {scope}, {make_label(result.judges[judge])} agrees best with people: Krippendorff's"
        f" alpha {alpha:.3f}{interval}."
    )


def make_answer_cells(part: MeasurePart) -> list[str]:
    """Return the answer as cells of a table: best system, top group, pairs, invariant pairs."""
    comparison = part.comparison
    if comparison is None or part.meaning is None:
        return ["", "", "not compared", ""]
    best_text = make_label(comparison.systems[comparison.best[0]])
    if n_others := len(comparison.best) - 1:
        best_text += f" and {n_others:,} more"
    n_significant = comparison.count()
    pairs_text = f"{n_significant:,} of {len(comparison):,}"
    invariant_text = f"{part.meaning.n_invariant:,} of {n_significant:,}" if n_significant else "–"
    if comparison.baselines:
        verdicts = list_verdicts(comparison)
        cell = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("better", "worse"))
    elif comparison.alternative == "two-sided":
        cell = f"{len(comparison.top_group):,} of {len(comparison.systems):,}"
    else:
        cell = ""
    return [best_text, cell, pairs_text, invariant_text]


def make_system_rows(contents: PageContents) -> list[tuple[int, list[tuple[str, bool]]]]:
    """Return the indices of systems with their values, ordered by the first measure.

    Each value is a text and a flag, which is True if the value is the best by its measure.
    """
    columns = []
    for part in contents.parts:
        is_best = is_best_value(part.overall, part.scores.lower_is_better).tolist()
        values = (_format_value(value, count_overall_decimals(part)) for value in part.overall)
        columns.append([*zip(values, is_best, strict=True)])
    first_part = contents.parts[0]
    order = argsort_best(first_part.overall, first_part.scores.lower_is_better).tolist()
    return [(k, [column[k] for column in columns]) for k in order]


def make_group_column(part: MeasurePart) -> tuple[str, Sequence[str]]:
    """Return the head and the cells of the column of groups, or of verdicts with a baseline."""
    comparison, suffix = part.comparison, f" by {escape(make_label(part.name))}"
    if comparison is not None and comparison.baselines:
        verdicts = zip(comparison.systems, list_verdicts(comparison), strict=True)
        cells = [
            verdict or ("baseline" if name in comparison.baselines else "")
            for name, verdict in verdicts
        ]
        return Html(f"{escape(make_baseline_head(comparison))}{suffix}"), cells
    letters = None if comparison is None else list_group_letters(comparison)
    return (
        ("", [""] * len(part.scores.systems))
        if letters is None
        else (Html(f"groups{suffix}"), letters)
    )


def _format_value(value: float, decimals: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{decimals}f}"


def count_interval_scales(parts: Sequence[MeasurePart]) -> int:
    return sum(part.scaling.declared_scale.startswith(("interval", "ratio")) for part in parts)


Inputs = Sequence[tuple[str, str | None]]  # names of input files with their SHA-256


def hash_files(paths: Iterable[str | PathLike[str]]) -> tuple[tuple[str, str | None], ...]:
    """Return names and SHA-256 of files; None for standard input, pipes, ids and URLs."""
    hashes: list[tuple[str, str | None]] = []
    for path in paths:
        name = fspath(path)
        if name == "-" or name.startswith("irds:") or is_url(name) or Path(name).is_fifo():
            hashes.append(("standard input" if name == "-" else hide_credentials(name), None))
            continue
        try:
            with Path(name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            raise make_file_error(error, "read", name) from error
        hashes.append((Path(name).name, digest))
    return tuple(hashes)


VERSIONS = {
    "cranfield": __version__,
    "Python": platform.python_version(),
    "NumPy": np.__version__,
    "SciPy": scipy.__version__,
    "polars": polars.__version__,
}
