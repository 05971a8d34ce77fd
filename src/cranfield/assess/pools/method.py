"""What a method is: an order in which the documents of a pool are judged, with a text form."""

from __future__ import annotations

import ast
import difflib
import re
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
from cranfield.base.errors import PolicyError, quoted
from cranfield.measures.declared import Declared, keywords_of

LONGEST = 200
"""Characters of a method's text; nothing sensible is longer."""

_FORM = re.compile(r"\s*([^()]*?)\s*(\(.*\))?\s*", re.DOTALL)


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
    if isinstance(text, Method):
        return text
    if not isinstance(text, str):
        raise PolicyError(f"{type(text).__name__} is neither a method nor its text")
    form = _FORM.fullmatch(text)
    if form is None or len(text) > LONGEST:
        raise PolicyError(f"{quoted(text)} is no method; the form is Name(param=value)")
    name, arguments = form[1], form[2] or "()"
    kind = _kind(name)
    try:
        tree = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise PolicyError(f"{quoted(text)} is no method; the form is Name(param=value)")
    if tree.args:
        raise PolicyError(f"{quoted(text)}: parameters are given as name=value")
    made: Method = kind()(**keywords_of(tree, text, PolicyError))
    return made


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def _kind(name: str) -> Any:
    known = {_plain(one): of for one, of in ({one: one for one in HOME} | ALIASES).items()}
    if (plain := _plain(name)) in known:
        return class_of(known[plain])
    near = difflib.get_close_matches(plain, known, 3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(dict.fromkeys(known[n] for n in near))}?" if near else ""
    raise PolicyError(f"there is no method {quoted(name)}{hint}")


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
