"""Text from files is untrusted: run tags and document ids, made safe for where they are shown."""

from __future__ import annotations

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the old font encoding of LaTeX these would come out as other characters.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{char: "\\" + char for char in "&%$#_{}"},
}


def plain(text: str) -> str:
    """Escape what is not printable, so that a terminal shows it instead of obeying it.

    Examples
    --------
    >>> plain("run\\x1b[2J")
    'run\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def latex(text: str) -> str:
    """Escape what LaTeX would take as a command.

    Examples
    --------
    >>> latex("my_run 100%")
    'my\\\\_run 100\\\\%'
    """
    return "".join(_LATEX.get(char, char) for char in plain(text))
