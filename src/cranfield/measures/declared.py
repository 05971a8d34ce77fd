"""Small objects with declared parameters, whose text form is their identity."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

from cranfield.base.errors import MeasureError, quoted
from cranfield.base.words import did_you_mean
from cranfield.measures.parameters import Parameter, checked, number_text


class Declared:
    """What has a name and declared parameters, such as a measure.

    It cannot be changed; calling it with parameters makes another one. Equality and hash go by the
    text form, which shows the parameters that are not the default.
    """

    parameters: ClassVar[dict[str, Parameter]] = {}
    error: ClassVar[type[ValueError]] = MeasureError
    """What a wrong parameter raises."""
    explicit: frozenset[str]
    """Names of the parameters that were given, even with their default values."""

    # Lighter than a dataclass each, whose making would be most of the time of the import.
    def __init_subclass__(cls) -> None:
        attributes = {
            name: value for kind in reversed(cls.__mro__) for name, value in vars(kind).items()
        }
        cls.parameters = {
            name: value for name, value in attributes.items() if isinstance(value, Parameter)
        }

    def __init__(self, /, **given: Any) -> None:
        self.check_names(given)
        vars(self)["explicit"] = frozenset(given)
        for name, declared in self.parameters.items():
            self._set(name, given.get(name, declared.default))

    @classmethod
    def called(cls) -> str:
        """Return the name without parameters."""
        raise NotImplementedError

    def _set(self, name: str, value: Any) -> None:
        check = self.parameters[name].check
        vars(self)[name] = checked(self.called(), name, value, check, self.error)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self} cannot be changed; {self.called()}({name}=...) is new")

    def __call__(self, /, **parameters: Any) -> Self:
        """Return the same with other parameters."""
        return self._with(type(self).translated(parameters))

    def _with(self, parameters: Mapping[str, Any]) -> Self:
        own = {name: value for name, value in vars(self).items() if name in self.parameters}
        changed = type(self)(**{**own, **parameters})
        vars(changed)["explicit"] = self.explicit | set(parameters)
        return changed

    @classmethod
    def translated(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Turn other tools' parameters into those here; a hook for subclasses."""
        return dict(parameters)

    @classmethod
    def check_names(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a parameter that there is not, naming those that there are."""
        known = cls.parameter_names()
        for name, value in parameters.items():
            if name not in known and not (name in cls.parameters and value is None):
                hint = did_you_mean(name, known, 1)
                have = ", ".join(known) or "none"
                raise cls.error(
                    f"{cls.called()} has no parameter {quoted(name)} (it has: {have}){hint}"
                )

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Names of the parameters."""
        return list(cls.parameters)

    def shown(self, but: str = "") -> str:
        """Return the parameters that are not the default, in brackets; `but` one is left out."""
        shown = [
            f"{name}={text_of(value)}"
            for name, one in self.parameters.items()
            if name != but and (value := getattr(self, name)) != one.default
        ]
        return f"({', '.join(sorted(shown))})" if shown else ""

    def __str__(self) -> str:
        return f"{self.called()}{self.shown()}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declared) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def text_of(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value)
    return str(value.text) if hasattr(value, "text") else repr(value)


def keywords_of(call: ast.Call, text: str, error: type[Exception] = MeasureError) -> dict[str, Any]:
    """Return the parameters in `Name(param=value, ...)`, without evaluating anything."""
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise error(f"{quoted(text)}: parameters are given as name=value")
        if keyword.arg in found:
            raise error(f"{quoted(text)}: {keyword.arg} is given twice")
        found[keyword.arg] = literal(keyword.value, text, error)
    return found


class _Fractions(ast.NodeTransformer):
    """Replace fractions of two numbers, such as 1/3, by the nearest float."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        above, below = (ast.literal_eval(side) for side in (node.left, node.right))
        numbers = all(type(side) in {int, float} for side in (above, below))
        if not isinstance(node.op, ast.Div) or not numbers or not below:
            raise ValueError
        return ast.Constant(above / below)


def literal(node: ast.expr, text: str, error: type[Exception] = MeasureError) -> Any:
    """Return the value of a literal: a number, a fraction such as 1/3, a text or a mapping."""
    try:
        value = ast.literal_eval(_Fractions().visit(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError):
        raise error(
            f"{quoted(text)}: expected a number, a fraction such as 1/3, a 'text' or a {{mapping}}"
        ) from None
    if isinstance(value, (set, tuple, list, bytes, complex)):
        raise error(f"{quoted(text)}: {type(value).__name__} values have no use here")
    if isinstance(value, dict) and isinstance(node, ast.Dict) and len(value) < len(node.keys):
        raise error(f"{quoted(text)}: a mapping has a key twice")
    return value


_FORM = re.compile(r"\s*([^()]*?)\s*(\(.*\))?\s*", re.DOTALL)
_LONGEST = 200
"""Characters of a text form; nothing sensible is longer."""

D = TypeVar("D", bound=Declared)


def parse_declared(
    text: str | D,
    base: type[D],
    kinds: Mapping[str, Callable[..., D]],
    aliases: Mapping[str, str],
    noun: str,
) -> D:
    """Read `Name(param=value)`, without evaluating anything.

    Names are read whatever their case, blanks, hyphens and underscores. `kinds` makes one of
    `base`, by name, from parameters.
    """
    if isinstance(text, base):
        return text
    error = base.error
    if not isinstance(text, str):
        raise error(f"{type(text).__name__} is neither a {noun} nor its text")
    form = _FORM.fullmatch(text)
    wrong = f"{quoted(text)} is no {noun}; the form is Name(param=value)"
    if form is None or len(text) > _LONGEST:
        raise error(wrong)
    known = {_plain(one): of for one, of in ({one: one for one in kinds} | {**aliases}).items()}
    if (plain := _plain(form[1])) not in known:
        listed = f"there are {', '.join(kinds)}"
        hint = did_you_mean(plain, known, otherwise=listed, shown=known.__getitem__)
        raise error(f"there is no {noun} {quoted(form[1])}{hint}")
    try:
        tree = ast.parse(f"f{form[2] or '()'}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise error(wrong)
    if tree.args:
        raise error(f"{quoted(text)}: parameters are given as name=value")
    made: D = kinds[known[plain]](**keywords_of(tree, text, error))
    return made


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()
