"""In which parts of PRIMAD two runs differ, by what they say of themselves."""

from __future__ import annotations

from typing import Any

from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.metadata.schema import PARTS, typed


def primad(one: Metadata, other: Metadata) -> str:
    """Return the six letters of PRIMAD, capital where the part differs, `-` where one lacks it.

    Platform, research goal, implementation, method, actor, data; a part is the same where all that
    is said in it is.

    References
    ----------
    Ferro et al.: Increasing reproducibility in IR: findings from the Dagstuhl seminar on
    reproducibility of data-oriented experiments in e-science (SIGIR Forum 2016).

    Examples
    --------
    >>> from cranfield.collection import primad, read_metadata
    >>> one = read_metadata(b"{method: {name: bm25}, actor: {team: a}, platform: {os: x}}")
    >>> other = read_metadata(b"{method: {name: bm25}, actor: {team: b}}")
    >>> primad(one, other)
    '---mA-'
    """
    letters = ""
    for part in PARTS:
        pair = [_meant(metadata.values.get(part), part) for metadata in (one, other)]
        if None in pair:
            letters += "-"
        else:
            letters += part[0] if pair[0] == pair[1] else part[0].upper()
    return letters


def _meant(value: Any, path: str) -> Any:
    """Return a tree with its values as the schema means them."""
    if isinstance(value, dict):
        return {key: _meant(one, f"{path}.{key}") for key, one in value.items()}
    if isinstance(value, list):
        return [_meant(one, path) for one in value]
    return typed(path, value)
