"""Sentences of numbers, names and citations, written as plain text, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from cranfield.base import escape
from cranfield.base.checks import check_choice
from cranfield.reporting.references.works import Entry, cited_in

FORMATS: dict[str, Callable[[str], str]] = {
    "text": escape.plain,
    "markdown": escape.markdown,
    "latex": escape.latex,
}
"""How names from elsewhere, and our own words, are made safe."""

MOST_PLACES = 12
SURE = 2
"""Digits that half the width of an interval is shown with."""


@dataclass(frozen=True)
class Maths:
    """A number or a formula, such as `-0.12` or `p < 0.001`."""

    text: str


@dataclass(frozen=True)
class Cited:
    """Where something comes from, as sources are declared: `Holm (1979); Shaffer (1986)`."""

    source: str


Sentence = Sequence["str | Maths | Cited"]


def written(sentences: Iterable[Sentence], format: str) -> str:
    """Write sentences as one paragraph."""
    check_choice("format", format, FORMATS)
    return " ".join("".join(_part(one, format) for one in sentence) for sentence in sentences)


def _part(part: str | Maths | Cited, format: str) -> str:
    if isinstance(part, Maths):
        return f"${part.text}$" if format == "latex" else FORMATS[format](part.text)
    if isinstance(part, str):
        return FORMATS[format](part)
    works, _ = cited_in(part.source)
    if not works:
        return ""
    if format == "latex":
        return rf" \citep{{{','.join(one.key for one in works)}}}"
    return FORMATS[format](f" ({'; '.join(map(_short, works))})")


def _short(work: Entry) -> str:
    """Return authors and year; the name of a program."""
    return work.key if work.is_software else f"{_authors(work.families)} {work.year}"


def _authors(families: Sequence[str]) -> str:
    if len(families) > 3:
        return f"{families[0]} et al."
    *most, last = families
    return f"{', '.join(most)} and {last}" if most else last


def places_for(low: float, high: float, otherwise: int) -> int:
    """Return the decimals that an interval supports: two digits of half its width."""
    half = (high - low) / 2
    if not isfinite(half) or half <= 0:
        return otherwise
    return min(MOST_PLACES, max(0, SURE - 1 - floor(log10(half))))


def rounded(value: float, places: int) -> str:
    """Write a number; what is rounded to nothing has no sign."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def p_of(pvalue: float, alpha: float) -> Maths:
    """Write a p-value with so many decimals that it stands on its own side of alpha."""
    if pvalue < 0.001 and alpha >= 0.001:
        return Maths("p < 0.001")
    places = 3
    while places < MOST_PLACES and (float(f"{pvalue:.{places}f}") <= alpha) != (pvalue <= alpha):
        places += 1
    if places == 3 and 0.9995 <= pvalue < 1:
        return Maths("p > 0.999")
    if pvalue < 10.0**-MOST_PLACES:
        return Maths(f"p < {10.0**-MOST_PLACES:.{MOST_PLACES}f}")
    while float(f"{pvalue:.{places}f}") == 0:
        places += 1
    return Maths(f"p = {pvalue:.{places}f}")


def listing(names: Sequence[str], most: int = 5) -> str:
    """List names as a sentence does; of many, the first few."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
