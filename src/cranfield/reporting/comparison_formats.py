"""Comparisons, leaderboards and scales as tables, text, CSV and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import format_scale_type
from cranfield.base.text import format_json, inflect, sanitise
from cranfield.base.version import __version__
from cranfield.reporting.marks import check_marks
from cranfield.reporting.page.svg_charts import choose_axis
from cranfield.reporting.summary import describe_outcome, describe_test, separate_shared_lines
from cranfield.reporting.tables import make_marks, tabulate_evaluation
from cranfield.scales.measure_scales import ScaleFacts
from cranfield.scales.statements import Meaningfulness
from cranfield.significance.comparison.rank_sets import RankSets
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.registry import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison
from cranfield.tabular import Table, format_grid

Statements = Mapping[str, Meaningfulness]  # by measure

AXIS_WIDTH = 31  # width of the axis in characters


def add_bars(comparison: PairwiseComparison, places: int | None = None) -> tuple[Table, str]:
    """Return the table of a comparison with its intervals, if any, as bars, and a legend."""
    table = comparison.as_table(places=places)
    level = f"{100 * (1 - comparison.alpha):.4g}%"
    if comparison.shows_pairs:
        middle, low, high = comparison.difference, *comparison.interval
        interval = f"its {level} confidence interval"
        if not comparison.tests_difference:
            interval = f"the {level} confidence interval of the {comparison.interval_of}"
        legend = f"bars: the difference with {interval}; │ is 0"
    else:
        bounds = comparison.find_mean_bounds(int(comparison.order[0]))
        if bounds is None:
            return table, ""
        middle, low, high = (values[comparison.order] for values in (comparison.means, *bounds))
        legend = "bars: systems whose bars do not overlap are significantly different"
        if comparison.half_widths is None:
            interval = f"{level} confidence interval of the {comparison.difference_from} the best"
            legend = f"bars: {interval}, around the {comparison.mean_of} of each system"
    axis = choose_axis(middle, low, high, has_zero=comparison.shows_pairs)
    bars = draw_text_bars(middle, low, high, axis, has_zero=comparison.shows_pairs)
    if comparison.lower_is_better:
        legend += "; lower is better"
    if any("◂" in bar or "▸" in bar for bar in bars):
        legend += "; ◂ and ▸ mark values beyond the axis"
    axis_head = f"{axis[0]:.2f}".ljust(AXIS_WIDTH - 4) + f"{axis[1]:.2f}"[:4].rjust(4)
    rows = [[*row, bar] for row, bar in zip(table.rows, bars, strict=True)]
    head = [*table.head, axis_head]
    return replace(table, head=head, rows=rows, left=[*table.left, len(head) - 1]), legend


def draw_text_bars(
    middle: Floats, low: Floats, high: Floats, axis: tuple[float, float], *, has_zero: bool = False
) -> list[str]:
    """Draw values with their intervals on one axis, a line of text each.

    With `has_zero`, the position of 0 is marked.
    """
    lowest, highest = axis

    def find_column(value: float) -> int:
        fraction = (np.clip(value, lowest, highest) - lowest) / (highest - lowest)
        return round(float(fraction) * (AXIS_WIDTH - 1))

    lines = []
    for value, lower, upper in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True):
        characters = [" "] * AXIS_WIDTH
        if has_zero:
            characters[find_column(0.0)] = "│"
        if lowest <= value <= highest:
            left, right = (value if np.isnan(bound) else bound for bound in (lower, upper))
            for k in range(find_column(left), find_column(right) + 1):
                characters[k] = "┼" if characters[k] == "│" else "─"
            characters[find_column(value)] = "●"
        elif not np.isnan(value):
            characters[0 if value < lowest else -1] = "◂" if value < lowest else "▸"
        lines.append("".join(characters).rstrip())
    return lines


def format_comparisons(
    statements: Statements,
    margin: str | None = None,
    *,
    with_anova: bool = False,
    places: int | None = None,
) -> str:
    """Format comparisons: results with intervals, then methods, notes and meaningfulness."""
    notes: dict[str, list[str]] = {}
    parts = []
    for name, statement in statements.items():
        comparison = statement.comparison
        notes[name] = [f"note: {note}" for note in comparison.notes]
        notes[name] += [f"meaningfulness: {line}" for line in _format_meaningfulness(statement)]
        table, legend = add_bars(comparison, places)
        lines = [
            describe_outcome(comparison, sanitise(name) or "these scores", places),
            describe_test(comparison),
            "",
            format_grid(table),
        ]
        parts.append("\n".join([*lines, legend] if legend else lines))
    notes_by_name, common_notes = separate_shared_lines(notes)
    for name, statement in statements.items():
        comparison = statement.comparison
        parts.append("\n".join([*comparison.heading(), *notes_by_name[name]]))
        if with_anova and comparison.anova is not None:
            parts.append(str(comparison.anova))
        if margin is not None:
            parts.append(str(comparison.equivalence(margin)))
    if common_notes:
        parts.append("\n".join(["All measures:", *common_notes]))
    return "\n\n".join(parts) + "\n"


def format_comparisons_csv(statements: Statements, margin: str | None = None) -> str:
    """Format comparisons as CSV, with a row for each pair of systems and measure."""
    attributes = ("test", "correction", "alternative", "alpha", "lower_is_better")
    tables = []
    for name, statement in statements.items():
        comparison = statement.comparison
        tables.append(
            comparison.to_polars().select(
                pl.lit(name).alias("measure"),
                *(
                    pl.lit(getattr(comparison, attribute)).alias(attribute.replace("_", " "))
                    for attribute in attributes
                ),
                pl.lit(comparison.interval_of).alias("interval of"),
                pl.lit(comparison.interval_kind).alias("interval holds for"),
                pl.all(),
                pl.Series("stochastic dominance", statement.dominance.holds),
                *_make_equivalence_columns(statement, margin),
            )
        )
    return pl.concat(tables).write_csv()


def _make_equivalence_columns(statement: Meaningfulness, margin: str | None) -> pl.DataFrame:
    """Return the columns that a margin adds to the pairs."""
    if margin is None:
        return pl.DataFrame()
    table = statement.comparison.equivalence(margin).to_polars()
    return table.drop("first", "second", "difference", "p difference").rename(
        {name: f"equivalence {name}" for name in ("low", "high", "verdict")}
    )


def _format_meaningfulness(statement: Meaningfulness) -> list[str]:
    """Return lines on meaningfulness, without details and a verdict that a note reports."""
    lines = statement.describe_lines(has_details=False)
    is_noted = statement.scale is not None and statement.scale < statement.required_scale
    return lines[1:] if is_noted else lines


def tabulate_comparisons(
    statements: Statements,
    margin: str | None = None,
    *,
    with_anova: bool = False,
    places: int | None = None,
) -> list[Table]:
    """Return the tables of each measure: ranking or pairs, analysis of variance, equivalence."""
    tables = []
    for statement in statements.values():
        comparison = statement.comparison
        table = comparison.as_table(places=places)
        remarks = [
            *table.remarks,
            *(f"meaningfulness: {line}" for line in _format_meaningfulness(statement)),
        ]
        tables.append(replace(table, remarks=remarks))
        if with_anova and comparison.anova is not None:
            anova_table = comparison.anova.as_table()
            suffix = f" of {comparison.measure}" if comparison.measure else ""
            title = anova_table.title.replace("variance", f"variance{suffix}", 1)
            tables.append(replace(anova_table, title=title))
        if margin is not None:
            tables.append(comparison.equivalence(margin).as_table())
    return tables


def tabulate_marks(
    statements: Statements, kind: str | None = None, places: int | None = None
) -> Table:
    """Return one table of all measures, with significance marks of a kind (one of `MARKS`)."""
    comparisons = {name: statement.comparison for name, statement in statements.items()}
    first_comparison = next(iter(comparisons.values()))
    kind = check_marks(kind, first_comparison.baselines, (first_comparison.alpha,))
    scores = {name: comparison.scores.average_shards() for name, comparison in comparisons.items()}
    marks = make_marks(comparisons, kind)
    if kind != "none":
        lines = [
            f"{name}: {line}" if name else line
            for name, statement in statements.items()
            for line in _format_meaningfulness(statement)
        ]
        marks = replace(marks, remarks=[*marks.remarks, *lines])
    # Systems are ordered by the first measure, as in tables without marks.
    return tabulate_evaluation(scores, marks, sort=next(iter(scores)), places=places)


def format_comparisons_json(statements: Statements, margin: str | None = None) -> str:
    """Format comparisons as JSON, with their pairs, meaningfulness and equivalence."""
    comparisons = []
    for statement in statements.values():
        content = convert_comparison(statement.comparison)
        content["meaningfulness"] = {
            "verdict": statement.verdict,
            "lines": statement.describe_lines(),
        }
        for pair, holds in zip(content["pairs"], statement.dominance.holds, strict=True):
            pair["stochastic dominance"] = bool(holds)
        if margin is not None:
            equivalence = statement.comparison.equivalence(margin)
            content["equivalence"] = {
                "margin": equivalence.requested_margin,
                "confidence level": equivalence.level,
                "holds for": equivalence.scope,
                "verdicts": equivalence.count(),
            }
            rows = _make_equivalence_columns(statement, margin).to_dicts()
            pairs = zip(content["pairs"], rows, strict=True)
            content["pairs"] = [pair | row for pair, row in pairs]
        comparisons.append(content)
    return format_json({"cranfield": __version__, "comparisons": comparisons})


def format_leaderboards(results: Mapping[str, RankSets | JointComparison], format: str) -> str:
    """Format leaderboards or joint comparisons as `text`, `csv` or `json`."""
    if format == "text":
        return "\n\n".join(map(str, results.values())) + "\n"
    frames = {name: result.to_polars() for name, result in results.items()}
    if format == "csv":
        labelled_frames = [
            frame
            if "measure" in frame.columns
            else frame.select(pl.lit(name).alias("measure"), pl.all())
            for name, frame in frames.items()
        ]
        return pl.concat(labelled_frames, how="diagonal").write_csv()
    attributes = ("method", "alpha", "n_topics", "resamples", "seed", "notes")
    leaderboards = [
        {"measure": name}
        | {attribute: getattr(result, attribute) for attribute in attributes}
        | {"rows": frames[name].to_dicts()}
        for name, result in results.items()
    ]
    return format_json({"cranfield": __version__, "leaderboards": leaderboards})


def convert_comparison(comparison: PairwiseComparison) -> dict[str, Any]:
    """Return a comparison as a dictionary for JSON."""
    content: dict[str, Any] = {
        name.replace("_", " "): getattr(comparison, name) for name in COMPARISON_ATTRIBUTES
    }
    declared_scale = comparison.measure_scale
    content |= {
        "method": comparison.method,
        "title": comparison.info.title,
        "correction title": CORRECTIONS[comparison.correction].get_title(
            has_baseline=bool(comparison.baselines)
        ),
        "significant pairs": comparison.count(),
        "pairs compared": len(comparison),
        "scale assumed": str(comparison.scale),
        "scale declared": None if declared_scale is None else str(declared_scale),
        "interval holds for": comparison.interval_kind,
        "systems": comparison.ranking().to_dicts(),
        "pairs": comparison.to_polars().to_dicts(),
    }
    if comparison.resamples is None:
        random_options = ("resamples", "seed")
        options = comparison.options.items()
        content["options"] = {name: value for name, value in options if name not in random_options}
    if comparison.anova is not None:
        anova = comparison.anova
        content["anova"] = anova.to_polars().to_dicts()
        content["anova notes"] = [*anova.notes, *anova.heading()[1:]]
        content["sphericity"] = None if anova.sphericity is None else vars(anova.sphericity)
        content["variances"] = dict(anova.components)
    if comparison.omnibus is not None:
        content["omnibus"] = vars(comparison.omnibus)
    return content


COMPARISON_ATTRIBUTES = (  # attributes copied to JSON; underscores in their names become spaces
    *("measure", "lower_is_better", "test", "correction", "alternative", "alpha", "n_topics"),
    *("baselines", "seed", "resamples", "interval_of", "options", "details", "notes"),
)

MAX_VALUES = 12  # maximum number of values of an image that are listed


def format_scale(facts: ScaleFacts) -> str:
    """Format the scale and the image of a measure."""
    lines = [str(facts.report), ""]
    lines += _format_image(facts)
    if facts.beyond_length:
        length_text = inflect(facts.report.length, "document")
        lines.append(
            f"values and scale are those of runs of exactly {length_text}; scores also depend on"
            f" {facts.beyond_length}, so interval({facts.report.measure}) cannot be computed"
        )
    if facts.depends_on_topic:
        lines.append(
            "values depend on the recall base, so topics with different recall bases have different"
            " scales"
        )
    lines += [
        "",
        f"on one topic the measure is {format_scale_type(facts.scale)}, which admits",
        f"  statistics: {', '.join(facts.statistics)}",
        f"  tests: {', '.join(facts.tests)}",
    ]
    return "\n".join(lines) + "\n"


def _format_image(facts: ScaleFacts) -> list[str]:
    image = facts.image
    if image is None:
        return [f"image: {facts.refusal}"]
    gaps = image.find_gaps()
    size = f"{image.size:,}" if image.size < 2**62 else f"about 2^{image.size.bit_length() - 1}"
    if image.confidence < 1:
        size = f"about {image.size:.2g}"
    lines = [f"possible values: {size}, from {gaps.lowest:.6g} to {gaps.highest:.6g}"]
    if image.size <= MAX_VALUES:
        lines[0] += ": " + ", ".join(f"{value:.4g}" for value in image.values())
    if gaps.is_equispaced:
        lines.append("gaps: all equal")
    elif gaps.smallest is not None and gaps.largest is not None:
        lines.append(f"gaps: from {gaps.smallest:.4g} to {gaps.largest:.4g}")
    else:
        lines.append("gaps: not equal")
    if gaps.unused:
        lines.append(
            f"{gaps.unused:.2%} of the range is below the lowest or above the highest value"
        )
    if image.is_approximate:
        lines.append(
            f"too many values for exact ranks of scores: relative ranks are {image.precision}"
        )
    elif not image.is_exact:
        lines.append("values are floats; nearly equal values count as one value")
    return lines


def convert_scale(facts: ScaleFacts) -> dict[str, Any]:
    """Return the scale and the image of a measure as a dictionary for JSON."""
    image = facts.image
    content: dict[str, Any] = {
        "measure": facts.report.measure,
        "length": facts.report.length,
        "grades": facts.report.grades,
        "recall base": facts.report.judgments,
        "scale": str(facts.scale),
        "depends on recall base": facts.depends_on_topic,
        "depends on length": facts.beyond_length or None,
        "orders": [
            {
                "order": verdict.order,
                "verdict": verdict.phrase,
                "witness": None if verdict.witness is None else str(verdict.witness),
                "reason": verdict.reason,
            }
            for verdict in (facts.report.own, facts.report.set_based, facts.report.rank_based)
        ],
        "exact": facts.report.is_exact,
        "image": None,
        "statistics": facts.statistics,
        "tests": facts.tests,
    }
    if image is None:
        content["refused"] = facts.refusal
    else:
        names = ("lowest", "highest", "is_equispaced", "smallest", "largest", "unused")
        gaps = {name.removeprefix("is_"): getattr(image.find_gaps(), name) for name in names}
        for name in ("smallest", "largest"):
            gaps[f"{name} gap"] = gaps.pop(name)
        values = image.values() if image.size <= 1000 else None
        content["image"] = {"size": image.size, "exact": image.is_exact, **gaps, "values": values}
        if image.is_approximate:
            content["image"]["relative ranks"] = image.precision
    return content
