"""What a measure of texts is: a small immutable object like the measures of rankings."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quoted
from cranfield.measures.base import Info
from cranfield.measures.parameters import Parameter, checked

TEXT_MEASURES: dict[str, Info] = {}
"""What each measure of texts and answers declares of itself, by name, in order of definition."""

KINDS: dict[str, type[TextMeasure]] = {}
"""The class of each measure."""

LONGEST = 500
"""Characters of a measure's text; nothing sensible is longer."""


class TextMeasure:
    """A measure of answers or summaries, with its parameters.

    Its text form, such as `SMeasure(L=500)`, is its identity, and reads back as the same measure.

    Examples
    --------
    >>> from cranfield.measures.texts import SSharp
    >>> SSharp(L=500), SSharp(L=500) == parse_text_measure("SSharp(L=500)")
    (SSharp(L=500), True)
    """

    info: ClassVar[Info] = Info("")
    parameters: ClassVar[dict[str, Parameter]] = {}
    reads: ClassVar[type[Any]] = object
    """What it is computed from."""

    def __init_subclass__(cls) -> None:
        cls.parameters = {
            name: value
            for kind in reversed(cls.__mro__)
            for name, value in vars(kind).items()
            if isinstance(value, Parameter)
        }

    def __init__(self, /, **given: Any) -> None:
        for name in given:
            if name not in self.parameters:
                near = difflib.get_close_matches(name, self.parameters, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                have = ", ".join(self.parameters) or "none"
                raise MeasureError(
                    f"{self.info.name} has no parameter {quoted(name)} (it has: {have}){hint}"
                )
        for name, one in self.parameters.items():
            value = given.get(name, one.default)
            vars(self)[name] = checked(self.info.name, name, value, one.check)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self} cannot be changed; {self.info.name}({name}=...) is new")

    def values(self, judged: Any) -> Floats:
        """Compute the scores; shape (topics, systems)."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Name without parameters."""
        return self.info.name

    def __str__(self) -> str:
        shown = [
            f"{name}={_text(getattr(self, name))}"
            for name, one in self.parameters.items()
            if getattr(self, name) != one.default
        ]
        return self.info.name + (f"({', '.join(sorted(shown))})" if shown else "")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextMeasure) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


M = TypeVar("M", bound=type[TextMeasure])


def text_measure(name: str, **about: Any) -> Callable[[M], M]:
    """Make a class a measure of texts: declare what it is and enter it in the list.

    Parameters
    ----------
    name
        Its name in text.
    about
        The other attributes of :class:`cranfield.measures.base.Info`.
    """

    def enter(cls: M) -> M:
        if name in KINDS:
            raise MeasureError(f"there is a measure {name} already")
        cls.info = Info(name=name, at_wanted="none", **about)
        TEXT_MEASURES[name] = cls.info
        KINDS[name] = cls
        return cls

    return enter


def parse_text_measure(text: str | TextMeasure) -> TextMeasure:
    """Read a measure of texts from its text form.

    Raises
    ------
    MeasureError
        For a wrong name, parameter or value; naming the nearest right one.

    Examples
    --------
    >>> parse_text_measure("NuggetF(beta=1)")
    NuggetF(beta=1)
    >>> parse_text_measure("Smeasure")
    Traceback (most recent call last):
        ...
    cranfield.MeasureError: there is no measure of texts 'Smeasure'; did you mean SMeasure?
    """
    if isinstance(text, TextMeasure):
        return text
    if not isinstance(text, str):
        raise MeasureError(f"{type(text).__name__} is neither a measure of texts nor its text")
    try:
        tree = ast.parse(text[: LONGEST + 1].strip(), mode="eval").body
        arguments = tree.keywords if isinstance(tree, ast.Call) and not tree.args else []
        name = tree.func if isinstance(tree, ast.Call) and not tree.args else tree
        given = {one.arg: ast.literal_eval(one.value) for one in arguments}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        name, given = ast.Constant(None), {}
    if not isinstance(name, ast.Name) or None in given or len(text) > LONGEST:
        raise MeasureError(f"{quoted(text)} is no measure of texts; the form is Name(param=value)")
    if name.id not in KINDS:
        known = {one.lower(): one for one in KINDS}
        near = difflib.get_close_matches(name.id.lower(), known, 1)
        hint = f"; did you mean {known[near[0]]}?" if near else ""
        raise MeasureError(f"there is no measure of texts {quoted(name.id)}{hint}")
    return KINDS[name.id](**{str(one): value for one, value in given.items()})


def parse_text_measures(
    texts: str | TextMeasure | Iterable[str | TextMeasure],
) -> list[TextMeasure]:
    """Read several measures of texts, each once, in order."""
    if isinstance(texts, (str, TextMeasure)):
        texts = [texts]
    elif not isinstance(texts, Iterable):
        raise MeasureError(f"{type(texts).__name__} is neither a measure of texts nor its text")
    found = list(dict.fromkeys(parse_text_measure(text) for text in texts))
    if not found:
        raise MeasureError("no measure was given")
    return found


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; 0 where there is nothing to divide by.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    part, whole = np.broadcast_arrays(part, whole)
    out = np.zeros(part.shape)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def f_measure(precision: Floats, recall: Floats, beta: float) -> Floats:
    r"""Weigh recall beta times as much as precision (Sakai 2013, equations 39, 42 and 46).

    .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    It is 0 where precision and recall are both 0.

    Examples
    --------
    >>> f_measure(np.array([0.5, 0.0]), np.array([1.0, 0.0]), 1.0).round(4).tolist()
    [0.6667, 0.0]
    """
    return ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)
