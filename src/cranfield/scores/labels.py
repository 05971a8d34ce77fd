"""Where topics, systems and shards stand among others, found by their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import Indices
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import did_you_mean


def place_of(name: object, labels: Sequence[str], what: str = "system", role: str = "") -> int:
    """Return where a label stands; one that is not there is refused, with the nearest ones."""
    if name in labels:
        return labels.index(str(name))
    hint = did_you_mean(name, labels, shown=quoted)
    raise PolicyError(f"there is no {what} {quoted(name)}{role}{hint}")


def places_of(asked: Any, labels: Sequence[str], what: str = "system") -> Indices:
    """Return where labels stand; indices are taken as they are, a mask as what it picks."""
    if asked is None:
        return np.arange(len(labels))
    if isinstance(asked, np.ndarray) and asked.dtype.kind in "bui":
        return np.flatnonzero(asked) if asked.dtype == bool else asked
    names = [asked] if isinstance(asked, str) else list(asked)
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        return np.array(names, dtype=np.intp)
    places = {label: place for place, label in enumerate(labels)}
    found = [places[name] if name in places else place_of(name, labels, what) for name in names]
    return np.array(found, dtype=np.intp)


def lacking(labels: Sequence[str], others: Sequence[str]) -> str | None:
    """Return the first label that the others lack; None where they have all."""
    known = set(others)
    return next((label for label in labels if label not in known), None)
