"""Regular expressions that rules may hold: always for the whole, and never slow."""

from __future__ import annotations

import re

MOST_WAYS = 10**8
"""In how many ways a pattern may at the most be laid over 100 characters, coarsely counted."""

_LONGEST = 100

_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|.", re.DOTALL)
_REPEAT = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}")


def checked_pattern(pattern: str) -> str:
    """Return a pattern that means the same to Python and to polars, and is decided quickly.

    A group that is repeated may hold one repeat, when it begins with a separator that nothing else
    in it can be: `(-[0-9]+)*`, but not `([0-9]+)*`, which takes for ever to find that something
    does not match.

    Raises
    ------
    ValueError
        With the reason: it does not compile, or it uses what is refused here.

    Examples
    --------
    >>> checked_pattern("FT[0-9]+(-[0-9]+)*")
    'FT[0-9]+(-[0-9]+)*'
    >>> checked_pattern("(a+)+b")
    Traceback (most recent call last):
    ValueError: pattern '(a+)+b' repeats a choice or a repeat without a separator before it
    """
    shown = repr(pattern[:60])
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"pattern {shown} does not compile: {error}") from None
    if re.search(r"\(\?(?!:)|(?<!\\)(?:\\\\)*\\[1-9]", pattern):
        raise ValueError(
            f"pattern {shown} uses more than plain groups, choices, classes and repeats"
        )
    if _ways(pattern, shown) > MOST_WAYS:
        raise ValueError(f"pattern {shown} has too many repeats, and could take for ever")
    return pattern


def matches(pattern: str, name: str) -> bool:
    """Tell whether the whole of a name fits; names of more than 100 characters never do."""
    return len(name) <= _LONGEST and re.fullmatch(pattern, name) is not None


class _Group:
    """What was seen of a group that is not closed yet."""

    def __init__(self) -> None:
        self.atoms: list[str] = []
        self.repeats = 0
        self.choices = 1
        self.begins_with_repeat = False

    def certain(self) -> bool:
        """Whether it can be repeated: there is one way to see where each round begins and ends."""
        if self.choices > 1 or self.repeats > 1 or self.begins_with_repeat:
            return False
        if not self.repeats:
            return True
        first = self.atoms[0]
        plain = first != "." if len(first) == 1 else len(first) == 2 and not first[1].isalnum()
        return plain and not any(re.fullmatch(atom, first[-1]) for atom in self.atoms[1:])


def _ways(pattern: str, shown: str) -> int:
    ways, at = 1, 0
    groups = [_Group()]
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        assert atom is not None
        at = atom.end()
        kind = atom.group()
        if kind in ("(", "(?:"):
            groups.append(_Group())
            continue
        if kind == "|":
            groups[-1].choices += 1
            continue
        closed = groups.pop() if kind == ")" else None
        least, most, at = _repeat(pattern, at)
        holder = groups[-1]
        holder.begins_with_repeat |= not holder.atoms and (
            least != most or (closed is not None and closed.begins_with_repeat)
        )
        if closed is None:
            holder.atoms.append(kind)
        else:
            if most > 1 and not closed.certain():
                raise ValueError(
                    f"pattern {shown} repeats a choice or a repeat without a separator before it"
                )
            # What varies within varies in what holds the group.
            holder.atoms += closed.atoms
            holder.repeats += closed.repeats + 2 * (closed.choices > 1)
            ways *= closed.choices
        if least != most:
            holder.repeats += 1
            ways *= min(most, _LONGEST) - min(least, _LONGEST) + 1
    return ways * groups[0].choices


def _repeat(pattern: str, at: int) -> tuple[int, int, int]:
    """Read how often something is repeated: least, most, and where the pattern goes on."""
    found = _REPEAT.match(pattern, at)
    if found is None or found.group() in ("{}", "{,}"):
        return 1, 1, at
    sign = found.group()
    if sign in "*+?":
        least, most = {"*": (0, _LONGEST), "+": (1, _LONGEST), "?": (0, 1)}[sign]
    else:
        first, comma, last = found.groups()
        least = int(first or 0)
        most = int(last) if last else (_LONGEST if comma else least)
    at = found.end()
    # A repeat that is greedy or not is the same repeat.
    return least, most, at + pattern[at : at + 1].count("?")
