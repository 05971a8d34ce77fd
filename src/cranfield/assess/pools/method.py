"""What a method is: an order in which the documents of a pool are judged, with a text form."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from inspect import getdoc
from typing import Any, ClassVar, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.asking import Asking
from cranfield.assess.pools.catalogue import ALIASES, HOME
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Indices
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared, parse_declared


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


def parse_method(text: str | Method) -> Method:
    """Read a method of judging from its text form.

    Raises
    ------
    PolicyError
        For a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_method("rrf(k=10)"), parse_method("move-to-front")
    (RRF(k=10), MTF)
    >>> parse_method("maxmeen")
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: there is no method 'maxmeen'; did you mean MaxMean?
    """
    makers = {name: partial(_made, name) for name in HOME}
    return parse_declared(text, Method, makers, ALIASES, "method")


def _made(name: str, **parameters: Any) -> Method:
    return class_of(name)(**parameters)


def class_of(name: str) -> type[Method]:
    """Find the class of a method by its name in the catalogue."""
    module = import_module(f"{__package__}.{HOME[name]}")
    classes = (one for one in vars(module).values() if isinstance(one, type))
    return next(one for one in classes if issubclass(one, Method) and one.name == name)


def methods() -> pl.DataFrame:
    """List the methods of judging: name, whether it learns, parameters, what it does, source.

    Examples
    --------
    >>> methods().filter(pl.col("method") == "RRF").select("learns", "parameters").rows()
    [(False, 'k=60')]
    """
    kinds = [class_of(name) for name in HOME]
    return pl.DataFrame(
        {
            "method": list(HOME),
            "learns": [kind.learns for kind in kinds],
            "parameters": [
                ", ".join(f"{name}={one.default!r}" for name, one in kind.parameters.items())
                for kind in kinds
            ],
            "other names": [
                ", ".join(alias for alias, of in ALIASES.items() if of == name) for name in HOME
            ],
            "what it does": [
                (getdoc(kind) or "").split("\n\n")[0].replace("\n", " ") for kind in kinds
            ],
            "source": [kind.source for kind in kinds],
        }
    )
