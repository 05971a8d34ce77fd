"""Measurement scales, from the one that says least to the one that says most."""

from __future__ import annotations

from enum import IntEnum


class Scale(IntEnum):
    """Stevens' scales in increasing order of what they allow to be said.

    Source: Ferrante, Ferro and Fuhr (2021), section 2.2.

    Examples
    --------
    >>> Scale.ORDINAL < Scale.INTERVAL
    True
    >>> str(Scale.RATIO)
    'ratio'
    """

    NOMINAL = 1
    ORDINAL = 2
    INTERVAL = 3
    RATIO = 4

    def __str__(self) -> str:
        return self.name.lower()


def a_scale(scale: Scale) -> str:
    return f"{'an' if scale in {Scale.INTERVAL, Scale.ORDINAL} else 'a'} {scale} scale"
