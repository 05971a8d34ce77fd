"""Comparisons or scales as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.scale_types import a_scale
from cranfield.base.text import counted, json_text, plain
from cranfield.base.version import __version__
from cranfield.reporting.kinds_of_marks import kind_of
from cranfield.reporting.page.drawn import span
from cranfield.reporting.summary import lead, shared_lines, test_sentence
from cranfield.reporting.tables import evaluation_table, marks_of
from cranfield.scales.finding_scales import ScaleFacts
from cranfield.scales.meaningful import Meaning
from cranfield.scales.verdicts import Verdict
from cranfield.significance.comparison.rank_sets import RankSets
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison
from cranfield.tabular import Table, grid

WIDTH = 31
"""Letters of the axis."""


def with_bars(one: PairwiseComparison) -> tuple[Table, str]:
    """Add a column of intervals to the table of a comparison, and say what they are.

    Around means there are none where intervals hold for single pairs; the table stays as it is.
    """
    table = one.as_table()
    sure = f"{100 * (1 - one.alpha):.4g}%"
    if one.shows_pairs:
        middle, low, high = one.difference, *one.interval
        said = f"bars: the difference with its {sure} limits; │ is 0"
    else:
        limits = one.around(int(one.order[0]))
        if limits is None:
            return table, ""
        middle, low, high = (values[one.order] for values in (one.means, *limits))
        said = (
            f"bars: {sure} limits of the {one.difference_from} the best, around its {one.mean_of}"
        )
        if one.half_widths is not None:
            said = "bars: systems whose bars do not overlap differ"
    ends = span(middle, low, high, zero=one.shows_pairs)
    drawn = bars(middle, low, high, ends, zero=one.shows_pairs)
    if one.lower_is_better:
        said += "; lower is better"
    if any(beyond in "".join(drawn) for beyond in "◂▸"):
        said += "; ◂ and ▸ point beyond the axis"
    axis = f"{ends[0]:.2f}".ljust(WIDTH - 4) + f"{ends[1]:.2f}"[:4].rjust(4)
    rows = [[*row, bar] for row, bar in zip(table.rows, drawn, strict=True)]
    head = [*table.head, axis]
    return replace(table, head=head, rows=rows, left=[*table.left, len(head) - 1]), said


def bars(
    middle: Floats, low: Floats, high: Floats, ends: tuple[float, float], *, zero: bool = False
) -> list[str]:
    """Draw each value with its limits, on one axis.

    Examples
    --------
    >>> values = np.array([0.2, 0.8, 7.0])
    >>> for bar in bars(values, values - 0.2, values + 0.2, (0.0, 1.0)):
    ...     print(bar)
    ──────●──────
                      ──────●──────
                                  ▸
    """
    least, most = ends

    def place(value: float) -> int:
        share = (np.clip(value, least, most) - least) / (most - least)
        return round(float(share) * (WIDTH - 1))

    drawn = []
    for at, start, end in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True):
        letters = [" "] * WIDTH
        if zero:
            letters[place(0.0)] = "│"
        if least <= at <= most:
            first, last = (at if np.isnan(one) else one for one in (start, end))
            for k in range(place(first), place(last) + 1):
                letters[k] = "┼" if letters[k] == "│" else "─"
            letters[place(at)] = "●"
        elif not np.isnan(at):
            letters[0 if at < least else -1] = "◂" if at < least else "▸"
        drawn.append("".join(letters).rstrip())
    return drawn


def comparison_text(
    found: Mapping[str, Meaning], margin: str | None = None, *, anova: bool = False
) -> str:
    """Write the answers first, with their intervals, and then what they rest on."""
    told = {
        name: [
            *(f"note: {note}" for note in one.comparison.notes),
            *(f"meaning: {line}" for line in _meant(one)),
        ]
        for name, one in found.items()
    }
    own, common = shared_lines(told)
    parts = [_answer(one.comparison, name) for name, one in found.items()]
    for name, one in found.items():
        parts.append("\n".join([*one.comparison.heading(), *own[name]]))
        if anova and one.comparison.anova is not None:
            parts.append(str(one.comparison.anova))
        if margin is not None:
            parts.append(str(one.comparison.equivalence(margin)))
    if common:
        parts.append("\n".join(["All measures:", *common]))
    return "\n\n".join(parts) + "\n"


def _answer(one: PairwiseComparison, name: str) -> str:
    table, bars = with_bars(one)
    said = f"{lead(one, plain(name) or 'these scores')}\n{test_sentence(one)}"
    return "\n".join([said, "", grid(table), *([bars] if bars else [])])


def comparison_csv(found: Mapping[str, Meaning], margin: str | None = None) -> str:
    tables = [
        one.comparison.to_polars().select(
            pl.lit(name).alias("measure"),
            pl.lit(one.comparison.test).alias("test"),
            pl.lit(one.comparison.correction).alias("correction"),
            pl.lit(one.comparison.alternative).alias("alternative"),
            pl.lit(one.comparison.alpha).alias("alpha"),
            pl.lit(one.comparison.lower_is_better).alias("lower is better"),
            pl.all(),
            pl.Series("order of means holds on any scale", one.dominance.holds),
            *_equivalence(one, margin),
        )
        for name, one in found.items()
    ]
    return pl.concat(tables).write_csv()


def _equivalence(found: Meaning, margin: str | None) -> pl.DataFrame:
    """Return what is added to the pairs where a margin is asked for: columns of other names."""
    if margin is None:
        return pl.DataFrame()
    table = found.comparison.equivalence(margin).to_polars()
    more = table.drop("first", "second", "difference")
    return more.drop("p difference").rename(
        {name: f"equivalence {name}" for name in ("low", "high", "verdict")}
    )


def _meant(found: Meaning) -> list[str]:
    """Say what a comparison means, but for what stands among its notes already."""
    told = found.has is not None and found.has < found.needs
    return found.lines()[told:]


def comparison_tables(
    found: Mapping[str, Meaning], margin: str | None = None, anova: bool = False
) -> list[Table]:
    """Return the tables of each measure: the ranking or the pairs, and the analysis of variance.

    What the comparison means stands among the remarks of the former.
    """
    made = []
    for meant in found.values():
        one = meant.comparison
        shown = one.as_table()
        said = [f"meaning: {line}" for line in _meant(meant)]
        made.append(replace(shown, remarks=[*shown.remarks, *said]))
        if anova and one.anova is not None:
            variance = one.anova.as_table()
            of = f" of {one.measure}" if one.measure else ""
            title = variance.title.replace("variance", f"variance{of}", 1)
            made.append(replace(variance, title=title))
        if margin is not None:
            made.append(one.equivalence(margin).as_table())
    return made


def marked_table(found: Mapping[str, Meaning], kind: str | None = None) -> Table:
    """Return one table of all measures, with marks of significance of a kind of `MARKS`."""
    comparisons = {name: one.comparison for name, one in found.items()}
    first = next(iter(comparisons.values()))
    kind = kind_of(kind, first.baselines, (first.alpha,))
    scores = {name: one.scores for name, one in comparisons.items()}
    made = marks_of(comparisons, kind)
    said = [
        f"{name}: {line}" if name else line for name, one in found.items() for line in _meant(one)
    ]
    remarked = replace(made, remarks=[*made.remarks, *said])
    # As in tables without marks, the best system of the first measure is the first.
    return evaluation_table(scores, remarked, sort=next(iter(scores)))


def comparison_json(found: Mapping[str, Meaning], margin: str | None = None) -> str:
    comparisons = []
    for one in found.values():
        table = as_dict(one.comparison)
        table["meaning"] = {"verdict": one.verdict, "lines": one.lines()}
        for pair, holds in zip(table["pairs"], one.dominance.holds, strict=True):
            pair["order of means holds on any scale"] = bool(holds)
        if margin is not None:
            made = one.comparison.equivalence(margin)
            table["equivalence"] = {
                "margin": made.asked,
                "confidence level": made.level,
                "holds for": made.holds_for,
                "verdicts": made.count(),
            }
            more = _equivalence(one, margin).to_dicts()
            table["pairs"] = [a | b for a, b in zip(table["pairs"], more, strict=True)]
        comparisons.append(table)
    return json_text({"cranfield": __version__, "comparisons": comparisons})


def board_text(found: Mapping[str, RankSets | JointComparison], format: str) -> str:
    """Write leaderboards, or what several measures say together, as `text`, `csv` or `json`."""
    if format == "text":
        return "\n\n".join(map(str, found.values())) + "\n"
    frames = {name: one.to_polars() for name, one in found.items()}
    if format == "csv":
        named = [
            frame
            if "measure" in frame.columns
            else frame.select(pl.lit(name).alias("measure"), pl.all())
            for name, frame in frames.items()
        ]
        return pl.concat(named, how="diagonal").write_csv()
    shared = ("method", "alpha", "topics", "resamples", "seed", "notes")
    boards = [
        {"measure": name}
        | {attribute: getattr(one, attribute) for attribute in shared}
        | {"rows": frames[name].to_dicts()}
        for name, one in found.items()
    ]
    return json_text({"cranfield": __version__, "boards": boards})


def as_dict(found: PairwiseComparison) -> dict[str, Any]:
    table: dict[str, Any] = {
        "measure": found.measure,
        "lower is better": found.lower_is_better,
        "test": found.test,
        "title": found.info.title,
        "correction": found.correction,
        "correction title": CORRECTIONS[found.correction].title,
        "alternative": found.alternative,
        "alpha": found.alpha,
        "topics": found.topics,
        "significant pairs": found.count(),
        "pairs compared": len(found),
        "baselines": list(found.baselines),
        "scale assumed": str(found.scale),
        "scale declared": None if found.measure_scale is None else str(found.measure_scale),
        "seed": found.seed,
        "resamples": found.resamples,
        "interval of": found.interval_of,
        "interval holds for": found.interval_kind,
        "options": found.options,
        "details": found.details,
        "notes": list(found.notes),
        "systems": found.ranking().to_dicts(),
        "pairs": found.to_polars().to_dicts(),
    }
    if found.anova is not None:
        table["anova"] = found.anova.to_polars().to_dicts()
        table["anova notes"] = [*found.anova.notes, *found.anova.heading()[1:]]
        of = found.anova.sphericity
        table["sphericity"] = None if of is None else vars(of)
        table["variances"] = dict(found.anova.components)
    if found.omnibus is not None:
        table["omnibus"] = vars(found.omnibus)
    return table


SHOWN = 12
"""Values that are printed one by one."""


def scale_text(facts: ScaleFacts) -> str:
    lines = [str(facts.report), ""]
    lines += _values(facts)
    if facts.beyond_length:
        lines.append(
            f"image and scale hold for runs of exactly {counted(facts.report.length, 'document')}:"
            f" scores also depend on {facts.beyond_length}, so that there is no"
            f" interval({facts.report.measure})"
        )
    if facts.by_topic:
        lines.append(
            "values depend on the recall base: topics with different ones have scales of their own"
        )
    lines += [
        "",
        f"on one topic it is {a_scale(facts.scale)}, which admits",
        f"  statistics: {', '.join(facts.statistics)}",
        f"  tests: {', '.join(facts.tests)}",
    ]
    return "\n".join(lines) + "\n"


def _values(facts: ScaleFacts) -> list[str]:
    image = facts.image
    if image is None:
        return [f"image: {facts.refused}"]
    gaps = image.gaps()
    many = f"about 2^{image.size.bit_length() - 1}"
    count = f"{image.size:,}" if image.size < 2**62 else many
    lines = [f"image: {count} values, from {gaps.lowest:.6g} to {gaps.highest:.6g}"]
    if image.size <= SHOWN:
        lines[0] += ": " + ", ".join(f"{one:.4g}" for one in image.values())
    if gaps.equispaced:
        lines.append("gaps: all equal")
    elif gaps.smallest is not None and gaps.largest is not None:
        lines.append(f"gaps: from {gaps.smallest:.4g} to {gaps.largest:.4g}")
    else:
        lines.append("gaps: not equal")
    if gaps.unused:
        lines.append(f"unused: {gaps.unused:.2%} of the range of the measure")
    if image.shares_only:
        lines.append(f"shares of them are known within {image.error:.1g}")
    elif not image.exact:
        lines.append("values are floats; those that are nearly equal count as one")
    return lines


def scale_json(facts: ScaleFacts) -> str:
    image = facts.image
    content: dict[str, Any] = {
        "cranfield": __version__,
        "measure": facts.report.measure,
        "length": facts.report.length,
        "grades": facts.report.grades,
        "recall base": facts.report.judgments,
        "scale": str(facts.scale),
        "depends on recall base": facts.by_topic,
        "depends on length": facts.beyond_length or None,
        "orders": [
            _verdict(one)
            for one in (facts.report.own, facts.report.set_based, facts.report.rank_based)
        ],
        "exact": facts.report.exact,
        "image": None,
        "statistics": facts.statistics,
        "tests": facts.tests,
    }
    if image is None:
        content["refused"] = facts.refused
    else:
        gaps = image.gaps()
        content["image"] = {
            "size": image.size,
            "exact": image.exact,
            "lowest": gaps.lowest,
            "highest": gaps.highest,
            "equispaced": gaps.equispaced,
            "smallest gap": gaps.smallest,
            "largest gap": gaps.largest,
            "unused": gaps.unused,
            "values": image.values() if image.size <= 1000 else None,
        }
    return json_text(content)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "order": verdict.order,
        "verdict": verdict.word,
        "witness": None if verdict.witness is None else str(verdict.witness),
        "reason": verdict.reason,
    }
