"""Text from files is untrusted: run tags and document ids, made safe for where they are shown."""

from __future__ import annotations

import re

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the old font encoding of LaTeX these would come out as other characters.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # Signs that this package puts into captions.
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
    "‖": r"$\Vert$",
    "≤": r"$\leq$",
    "…": r"\ldots{}",
    # Letters of names of measures.
    "α": r"$\alpha$",
    "♯": r"$\sharp$",
    **{char: "\\" + char for char in "&%$#_{}"},
}


def plain(text: str) -> str:
    """Escape what is not printable, so that a terminal shows it instead of obeying it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_LONGEST = 500
"""Characters of a message: a few lines of a terminal."""


def one_line(text: str, limit: int = _LONGEST) -> str:
    r"""Escape what is not printable, and cut what is too long in its middle.

    Where a message begins and ends says most: the file, and what helps.

    Examples
    --------
    >>> one_line("a\nb" + "c" * 100, 12)
    'a\\nbcc…ccccc'
    """
    # Escaping only makes longer: what is between is cut in any case.
    short = text if len(text) <= limit else f"{text[:limit]}…{text[-limit:]}"
    shown, left = plain(short), limit // 2
    return shown if len(shown) <= limit else f"{shown[:left]}…{shown[left + 1 - limit :]}"


# Pairs that the fonts of LaTeX draw as one character; not all engines let an empty group stop that.
_LIGATURES = re.compile(r"-(?=-)|'(?=')|,(?=,)")

_MARKDOWN = {
    **{char: f"&#{ord(char)};" for char in "|\\"},
    **{char: "\\" + char for char in "*`[]~$"},
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
}

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

_OPEN_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_BLOCK = re.compile(r"^(\d{0,9})([#+-](?=[\s#]|$)|-(?=--)|[.)](?=\s|$))")


def latex(text: str) -> str:
    r"""Escape what LaTeX would take as a command, or draw as another character."""
    safe = "".join(_LATEX.get(char, char) for char in plain(text))
    return _LIGATURES.sub(lambda found: found[0] + r"\/", safe)


def bibtex(text: str) -> str:
    r"""Escape for LaTeX in a field of BibTeX, which counts braces even behind a backslash.

    Examples
    --------
    >>> bibtex("{a")
    '\\textbraceleft{}a'
    """
    return latex(text).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


def markdown(text: str) -> str:
    r"""Escape what Markdown, or HTML inside it, would take as markup."""
    safe = "".join(_MARKDOWN.get(char, char) for char in plain(text))
    # Between letters an underscore is a character like others.
    safe = _OPEN_UNDERSCORE.sub(r"\\_", safe)
    return _BLOCK.sub(r"\1\\\2", safe)


def html(text: str) -> str:
    """Escape what HTML would take as markup, in text and in attributes."""
    return plain(text).translate(_HTML)
