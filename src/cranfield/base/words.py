"""Words for numbers, as messages and representations use them."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def capitalised(line: str) -> str:
    return line[:1].upper() + line[1:]


def some_of(words: Iterable[str], most: int) -> str:
    """List the first few words, and say so when there are more.

    Examples
    --------
    >>> some_of(["a", "b", "c"], 2)
    'a, b, …'
    """
    listed = list(words)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def homes_of(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Read a list of names by module: the module of each, and what its other names mean.

    >>> homes_of("dcg: DCG=CG nDCG")
    ({'DCG': 'dcg', 'nDCG': 'dcg'}, {'CG': 'DCG'})
    """
    home: dict[str, str] = {}
    aliases: dict[str, str] = {}
    module = ""
    for word in text.split():
        if word.endswith(":"):
            module = word.removesuffix(":")
        else:
            name, *others = word.split("=")
            home[name] = module
            aliases |= dict.fromkeys(others, name)
    return home, aliases
