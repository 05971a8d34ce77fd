"""Studies as text: tables for the eye, Markdown, CSV and JSON."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable

import polars as pl

from cranfield import __version__
from cranfield.scales.study import ScaleStudy
from cranfield.tabular import text_table

Table = tuple[str, list[str], list[list[str]]]


def tables_of(study: ScaleStudy) -> list[Table]:
    """Return title, head and rows of each table of a study of scales."""
    by_cutoff = [_correlation(study, "overall")]
    low = study.correlation["lowest"].min()
    if not isinstance(low, float) or low < 1:
        by_cutoff.append(_correlation(study, "by topic"))
    pairs = [_pairs(study, cutoff) for cutoff in study.cutoffs]
    return [*by_cutoff, *pairs, *(_changes(study, cutoff) for cutoff in study.cutoffs)]


def _correlation(study: ScaleStudy, which: str) -> Table:
    title = (
        "Kendall's tau of a measure and its interval-scaled version, of the means of systems"
        if which == "overall"
        else "The same topic by topic, mean over topics"
    )
    rows = []
    for name in study.measures:
        mine = study.correlation.filter(pl.col("measure") == name)
        rows.append([name, *(_number(one, 4) for one in mine[which].to_list())])
    return title, ["measure", *(f"@{k}" for k in study.cutoffs)], rows


def _pairs(study: ScaleStudy, cutoff: int) -> Table:
    title = f"Kendall's tau of two measures, and of their interval-scaled versions, @{cutoff}"
    rows = [
        [a, b, _number(x, 4), _number(y, 4), f"{change:+.2f}%"]
        for _, a, b, x, y, change in study.pairs.filter(pl.col("cutoff") == cutoff).rows()
    ]
    return title, ["first", "second", "measures", "interval-scaled", "change"], rows


def _changes(study: ScaleStudy, cutoff: int) -> Table:
    pairs = study.systems * (study.systems - 1) // 2
    title = f"Of {pairs:,} pairs of systems, those that differ, @{cutoff}"
    rows = [
        [name, test, f"{sig:,}", _part(lost, sig), _part(won, sig), f"{_number(share, 2)}%"]
        for _, name, test, sig, lost, won, share in study.changes.filter(
            pl.col("cutoff") == cutoff
        ).rows()
    ]
    return title, ["measure", "test", "Sig", "S2NS", "NS2S", "changed"], rows


def _part(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.2f}%)" if of else f"{count:,}"


def _number(value: float | None, places: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{places}f}"


def plain_text(study: ScaleStudy) -> str:
    """Write the tables for the eye."""
    head = (
        f"{study.systems} systems, {study.topics} topics; ties ranked {study.ties};"
        " Sig: pairs that differ by the measure; S2NS: no longer by its interval-scaled version;"
        " NS2S: only by that\n"
    )
    parts = []
    for title, columns, rows in tables_of(study):
        left = (0,) if title.startswith(("Kendall's tau of a", "The same")) else (0, 1)
        parts.append(f"{title}\n\n{text_table(columns, rows, left=left)}")
    return head + "\n" + "\n\n".join(parts) + "\n"


def markdown(study: ScaleStudy) -> str:
    """Write the tables in Markdown."""
    parts = []
    for title, columns, rows in tables_of(study):
        lines = [f"### {title}", "", "| " + " | ".join(columns) + " |"]
        lines.append("| --- " * len(columns) + "|")
        for row in rows:
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def csv_text(study: ScaleStudy) -> str:
    """CSV with a row a number, of all tables."""
    long = [
        frame.unpivot(index=keys).select(
            pl.lit(kind).alias("table"),
            "cutoff",
            pl.concat_str(keys[1:], separator=", ").alias("of"),
            pl.col("variable").alias("what"),
            pl.col("value").cast(pl.Float64),
        )
        for kind, frame, keys in (
            ("correlation", study.correlation, ["cutoff", "measure"]),
            ("pairs", study.pairs, ["cutoff", "first", "second"]),
            ("changes", study.changes, ["cutoff", "measure", "test"]),
        )
    ]
    out = io.BytesIO()
    pl.concat(long).write_csv(out)
    return out.getvalue().decode()


def json_text(study: ScaleStudy) -> str:
    """JSON with the three tables as lists of rows; no number is null."""
    content = {
        "cranfield": __version__,
        "systems": study.systems,
        "topics": study.topics,
        "ties": study.ties,
        "correlation": study.correlation.fill_nan(None).to_dicts(),
        "pairs": study.pairs.fill_nan(None).to_dicts(),
        "changes": study.changes.fill_nan(None).to_dicts(),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


WRITERS: dict[str, Callable[[ScaleStudy], str]] = {
    "text": plain_text,
    "markdown": markdown,
    "csv": csv_text,
    "json": json_text,
}
"""How a study can be written."""
