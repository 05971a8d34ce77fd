"""Words for numbers, as messages and representations use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


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


def names_or_count(names: Sequence[str], noun: str, most: int = 5) -> str:
    """Name all of a few things, or count them when there are many.

    Examples
    --------
    >>> names_or_count(["AP", "nDCG", "RR"], "measure")
    'AP, nDCG and RR'
    >>> names_or_count(["a", "b", "c"], "test", most=2)
    '3 tests'
    """
    if len(names) > most:
        return counted(len(names), noun)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def nearest(name: object, known: Iterable[str], most: int = 3) -> list[str]:
    """Find the names that may have been meant, the nearest one first, whatever their case.

    Examples
    --------
    >>> nearest("ndgc", ["nDCG", "DCG", "AP"])
    ['nDCG']
    """
    # It is only needed when something is wrong.
    from difflib import get_close_matches

    by_case = {one.casefold(): one for one in known}
    return [by_case[one] for one in get_close_matches(str(name).casefold(), by_case, most)]


def did_you_mean(
    name: object,
    known: Iterable[str],
    most: int = 3,
    *,
    otherwise: str = "",
    shown: Callable[[str], str] = str,
) -> str:
    """Ask whether the nearest names were meant; where there are none, say something else.

    What another tool calls by that name comes before all that is near by letters.

    Examples
    --------
    >>> did_you_mean("bm52", ["bm25", "dense"])
    '; did you mean bm25?'
    >>> did_you_mean("x", ["bm25", "dense"], otherwise="there are bm25, dense")
    '; there are bm25, dense'
    >>> did_you_mean("metrics", ["topics", "measures"])
    '; did you mean measures?'
    """
    # It is only needed when something is wrong.
    from cranfield.base.border.habits import meant

    known = list(known)
    if said := meant(name, known, shown):
        return f"; did you mean {said}?"
    near = dict.fromkeys(map(shown, nearest(name, known, most)))
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; {otherwise}" if otherwise else ""


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
