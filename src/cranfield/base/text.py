"""Text of messages: counts with nouns, lists of names, escaped text; also JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any
from unicodedata import combining, east_asian_width


def inflect(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    >>> inflect(1, "query"), inflect(2, "query"), inflect(1_200, "run")
    ('1 query', '2 queries', '1,200 runs')
    """
    return f"1 {noun}" if count == 1 else f"{count:,} {pluralise(noun)}"


def pluralise(noun: str) -> str:
    """Return the plural of a noun in -s or, after a consonant and y, in -ies."""
    has_ies = noun.endswith("y") and noun[-2:-1] not in tuple("aeiou")
    return f"{noun[:-1]}ies" if has_ies else f"{noun}s"


def format_range(numbers: Any) -> str:
    """Return the range of an array of integers as text, such as `2 to 5`, or `2` if all are 2."""
    lowest, highest = numbers.min(), numbers.max()
    return f"{lowest:,}" if lowest == highest else f"{lowest:,} to {highest:,}"


def capitalise(line: str) -> str:
    """Capitalise a line unless its first word has a capital, such as nDCG."""
    name = line.partition(" ")[0]
    return line if name != name.lower() else line[:1].upper() + line[1:]


def list_some(words: Iterable[str], max_words: int) -> str:
    """List the first words, followed by an ellipsis if there are more.

    >>> list_some(["a", "b", "c"], 2)
    'a, b, …'
    """
    words_list = list(words)
    return ", ".join(words_list[:max_words]) + (", …" if len(words_list) > max_words else "")


def join_with_and(words: Sequence[str]) -> str:
    """Join words as in a sentence.

    >>> join_with_and(["AP", "nDCG", "RR"])
    'AP, nDCG and RR'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def format_names(names: Sequence[str], noun: str, max_names: int = 5) -> str:
    """List the names; if there are more than `max_names`, return their number with the noun.

    >>> format_names(["a", "b", "c"], "test", max_names=2)
    '3 tests'
    """
    return inflect(len(names), noun) if len(names) > max_names else join_with_and(names)


MIN_SIMILARITY = 0.65
"""Minimum similarity of a suggested name, as the ratio of `difflib.SequenceMatcher`."""

MAX_SIMILARITY_GAP = 0.15  # maximum difference in similarity between suggested names


def find_similar(name: object, names: Iterable[str], max_names: int = 3) -> list[str]:
    """Return the names similar to `name`, the most similar first, regardless of case.

    >>> find_similar("ndgc", ["nDCG", "DCG", "AP"])
    ['nDCG']
    """
    # Imported here, as only errors need it.
    from difflib import SequenceMatcher

    name_text = str(name).casefold()
    # Of names that differ in case only, the last one is used.
    by_casefold = {n.casefold(): n for n in names}
    similarity = {by_casefold[n]: SequenceMatcher(None, name_text, n).ratio() for n in by_casefold}
    threshold = max(MIN_SIMILARITY, max(similarity.values(), default=0.0) - MAX_SIMILARITY_GAP)
    near_names = [n for n in similarity if similarity[n] >= threshold]
    return sorted(near_names, key=similarity.__getitem__, reverse=True)[:max_names]


def suggest_names(
    name: object,
    names: Iterable[str],
    max_names: int = 3,
    *,
    otherwise: str = "",
    show: Callable[[str], str] = str,
) -> str:
    """Suggest similar names, formatted by `show`; if there are none, return `otherwise`.

    >>> suggest_names("bm52", ["bm25", "dense"])
    '; did you mean bm25?'
    >>> suggest_names("x", ["bm25", "dense"], otherwise="expected one of: bm25, dense")
    '; expected one of: bm25, dense'
    """
    near_names = dict.fromkeys(map(show, find_similar(name, names, max_names)))
    if near_names:
        return f"; did you mean {' or '.join(near_names)}?"
    return f"; {otherwise}" if otherwise else ""


def sanitise(text: str) -> str:
    """Escape unprintable characters, which a terminal could execute as control sequences."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def measure_width(text: str) -> int:
    r"""Return the number of columns of text in a terminal: 2 for a wide character, such as CJK.

    >>> measure_width("abc"), measure_width("検索"), measure_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    widths = (2 if east_asian_width(c) in "WF" else 1 for c in text if not combining(c))
    return sum(widths)


def format_prefix(measure: str) -> str:
    """Return the start of a line about a measure, such as `AP: `; empty without a measure."""
    return f"{sanitise(measure)}: " if measure else ""


_MAX_LENGTH = 500  # maximum length of a message: a few lines of a terminal


def shorten_message(text: str, limit: int = _MAX_LENGTH) -> str:
    r"""Escape unprintable characters, and replace the middle of long text by an ellipsis.

    The beginning of a message names the file, and its end suggests what to do.

    >>> shorten_message("a\nb" + "c" * 100, 12)
    'a\\nbcc…ccccc'
    """
    # Escaping never shortens text, so the middle of a long text is not needed.
    ends = text if len(text) <= limit else f"{text[:limit]}…{text[-limit:]}"
    line, half = sanitise(ends), limit // 2
    return line if len(line) <= limit else f"{line[:half]}…{line[half + 1 - limit :]}"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the font encoding OT1 of LaTeX these would be printed as other characters.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # Characters of captions of this package.
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "‖": r"$\Vert$",
    "≤": r"$\leq$",
    "↓": r"$\downarrow$",
    "…": r"\ldots{}",
    # Characters of names of measures.
    "α": r"$\alpha$",
    "♯": r"$\sharp$",
    **{char: "\\" + char for char in "&%$#_{}"},
}

# Pairs that LaTeX fonts draw as ligatures; `{}` between them does not prevent this in all engines.
_LIGATURES = re.compile(r"-(?=-)|'(?=')|,(?=,)")

_MARKDOWN = {
    **{char: f"&#{ord(char)};" for char in "|\\"},
    **{char: "\\" + char for char in "*`[]~$"},
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
}

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

# An underscore that is not between two letters or digits.
_OPEN_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
# Characters at the start of a line that make it a heading, a rule or an item of a list.
_BLOCK = re.compile(r"^(\d{0,9})([#+-](?=[\s#]|$)|-(?=--)|[.)](?=\s|$))")


def escape_latex(text: str) -> str:
    r"""Escape characters that LaTeX would read as a command or draw differently."""
    safe_text = "".join(_LATEX.get(char, char) for char in sanitise(text))
    return _LIGATURES.sub(lambda match: match[0] + r"\/", safe_text)


def escape_bibtex(text: str) -> str:
    r"""Escape text for LaTeX in a field of BibTeX, which counts braces even after a backslash.

    >>> escape_bibtex("{a")
    '\\textbraceleft{}a'
    """
    return (
        escape_latex(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
    )


def escape_markdown(text: str) -> str:
    r"""Escape characters that Markdown, or HTML inside it, would read as markup."""
    safe_text = "".join(_MARKDOWN.get(char, char) for char in sanitise(text))
    # An underscore between letters or digits has no meaning in Markdown.
    safe_text = _OPEN_UNDERSCORE.sub(r"\\_", safe_text)
    return _BLOCK.sub(r"\1\\\2", safe_text)


def escape_html(text: str) -> str:
    """Escape characters that HTML would read as markup, in text and in attributes."""
    return sanitise(text).translate(_HTML)


def format_json(content: Any) -> str:
    """Return values of Python or NumPy as JSON; NaN and infinity become null, dates become text."""
    return (
        json.dumps(_to_json_values(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _to_json_values(value: Any) -> Any:
    """Convert values of NumPy to Python, dates to text, and non-finite numbers to None."""
    # Arrays and scalars of NumPy have `tolist`, so NumPy need not be loaded to recognise them.
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _to_json_values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json_values(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
