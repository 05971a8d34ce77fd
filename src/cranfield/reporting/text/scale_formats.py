"""The scale of a measure as text."""

from __future__ import annotations

from typing import Any

from cranfield.base.scale_types import a_scale
from cranfield.base.version import __version__
from cranfield.base.words import counted
from cranfield.reporting.text.json_values import json_of
from cranfield.scales.verdicts.scale_of import ScaleFacts
from cranfield.scales.verdicts.verdicts import Verdict

SHOWN = 12
"""Values that are printed one by one."""


def plain_text(facts: ScaleFacts) -> str:
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


def json_text(facts: ScaleFacts) -> str:
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
    return json_of(content)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "order": verdict.order,
        "verdict": verdict.word,
        "witness": None if verdict.witness is None else str(verdict.witness),
        "reason": verdict.reason,
    }
