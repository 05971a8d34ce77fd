"""Comparisons as text for other programs: CSV, JSON and LaTeX."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from cranfield import __version__
from cranfield.escape import latex
from cranfield.scales.meaning import Meaning
from cranfield.significance.describing import NAMES, text_of
from cranfield.significance.result import PairwiseComparison


def plain_text(found: Mapping[str, Meaning]) -> str:
    """Write each measure's comparison, whole, and what it means."""
    parts = []
    for one in found.values():
        # That the scale of the measure is not enough stands among the notes already.
        told = one.has is not None and one.has < one.needs
        lines = one.lines()[told:]
        parts.append(text_of(one.comparison, limit=None))
        if lines:
            parts.append("\n".join(f"meaning: {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def csv_text(found: Mapping[str, Meaning]) -> str:
    """CSV with a row a measure and pair."""
    tables = [
        one.comparison.to_polars().select(
            pl.lit(name).alias("measure"),
            pl.lit(one.comparison.test).alias("test"),
            pl.lit(one.comparison.correction).alias("correction"),
            pl.lit(one.comparison.alternative).alias("alternative"),
            pl.lit(one.comparison.alpha).alias("alpha"),
            pl.all(),
            pl.Series("order holds on any scale", one.dominance.holds),
        )
        for name, one in found.items()
    ]
    out = io.BytesIO()
    pl.concat(tables).write_csv(out)
    return out.getvalue().decode()


def latex_text(found: Mapping[str, Meaning]) -> str:
    """Write a booktabs table a measure, with what was done in a comment above it."""
    parts = []
    for meant in found.values():
        one = meant.comparison
        said = [*one.heading(), *(f"meaning: {line}" for line in meant.lines())]
        lines = [f"% {latex(line)}" for line in said]
        parts.append("\n".join([*lines, one.to_latex()]))
        if one.anova is not None:
            parts.append(one.anova.to_latex())
    return "\n".join(parts)


def json_text(found: Mapping[str, Meaning]) -> str:
    """JSON: for each measure what was done, what it means, the systems and the pairs."""
    comparisons = []
    for one in found.values():
        table = as_dict(one.comparison)
        table["meaning"] = {"verdict": one.verdict, "lines": one.lines()}
        for pair, holds in zip(table["pairs"], one.dominance.holds, strict=True):
            pair["order holds on any scale"] = bool(holds)
        comparisons.append(table)
    content = {"cranfield": __version__, "comparisons": comparisons}
    return json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_dict(found: PairwiseComparison) -> dict[str, Any]:
    """Return a comparison as plain values; no number is null."""
    table: dict[str, Any] = {
        "measure": found.measure,
        "test": found.test,
        "title": found.info.title,
        "correction": found.correction,
        "correction title": NAMES[found.correction],
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
    if found.omnibus is not None:
        table["omnibus"] = vars(found.omnibus)
    return table


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
