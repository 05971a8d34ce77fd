"""Lines that hold for all measures, which are said once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


def shared_lines(found: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Part lines by measure into those of its own, and those that all of several have.

    Lines that differ only by the name of the measure are the same.

    Examples
    --------
    >>> lines = {"AP": ["AP is ordinal", "one tie"], "RR": ["RR is ordinal"]}
    >>> shared_lines(lines)
    ({'AP': ['one tie'], 'RR': []}, ['the measure is ordinal'])
    """
    if len(found) < 2:
        return {name: [*lines] for name, lines in found.items()}, []
    general = {name: [_general(name, line) for line in lines] for name, lines in found.items()}
    first, *others = general.values()
    common = [line for line in dict.fromkeys(first) if all(line in other for other in others)]
    own = {
        name: [line for line, said in zip(lines, general[name], strict=True) if said not in common]
        for name, lines in found.items()
    }
    return own, common


def _general(name: str, line: str) -> str:
    return re.sub(rf"(?<![\w@]){re.escape(name)}(?![\w@(])", "the measure", line) if name else line
