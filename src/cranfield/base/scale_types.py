"""Types of measurement scales."""

from __future__ import annotations

from enum import IntEnum

from cranfield.base.errors import PolicyError, quote


class Scale(IntEnum):
    """Scale types of Stevens, in ascending order of the statements that are meaningful on them.

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


def find_scale(scale: Scale | str) -> Scale:
    """Return the scale named nominal, ordinal, interval or ratio, regardless of case."""
    if isinstance(scale, Scale):
        return scale
    names = {str(member): member for member in Scale}
    named_scale = names.get(str(scale).lower())
    if named_scale is None:
        raise PolicyError(f"unknown scale {quote(scale)}; expected one of: {', '.join(names)}")
    return named_scale


def format_scale_type(scale: Scale) -> str:
    """Return the scale as a noun phrase, such as `an interval scale`."""
    return f"{'an' if scale in {Scale.INTERVAL, Scale.ORDINAL} else 'a'} {scale} scale"
