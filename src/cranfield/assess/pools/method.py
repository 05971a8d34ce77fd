"""What a method is: an order in which the documents of a pool are judged, with a text form."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.assess.pools.asking import Asking
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Indices
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared


class Method(Declared):
    """An order in which to judge the documents of a pool.

    Its text form is its identity, as that of a measure: :func:`parse_method` reads it back. Names
    are read whatever their case, blanks, hyphens and underscores.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.assess.parse_method("maxmean")(rate=0.9)
    MaxMean(rate=0.9)
    """

    error = PolicyError
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    learns: ClassVar[bool] = False
    """Whether the next document depends on the judgments so far."""
    draws: ClassVar[bool] = False
    """Whether it draws random numbers, whatever its ties."""

    @property
    def random(self) -> bool:
        """Whether the order depends on a seed."""
        return self.draws or getattr(self, "ties", "") == "random"

    @classmethod
    def called(cls) -> str:
        return cls.name

    def ranking(self, pool: Pool) -> Indices:
        """Order the documents of each topic, one topic after the other."""
        raise NotImplementedError

    def asking(self, pool: Pool, seed: int) -> Asking:
        """Start to ask for documents, of a method that learns."""
        raise NotImplementedError


M = TypeVar("M", bound=type[Method])


def best_first(pool: Pool, values: NDArray[Any]) -> Indices:
    """Order the documents of each topic by value, highest first; equal ones by id, ascending.

    Values may be whole numbers of any size, in an array of objects.
    """
    if values.dtype != object:
        return np.lexsort((-values, pool.topic))
    order: list[int] = []
    for start, stop in zip(pool.starts[:-1].tolist(), pool.starts[1:].tolist(), strict=True):
        own = values[start:stop].tolist()
        order += (start + i for i in sorted(range(len(own)), key=own.__getitem__, reverse=True))
    return np.array(order, dtype=np.intp)
