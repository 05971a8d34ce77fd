"""Base class of components with parameters and a text form, and registries of components.

A measure, a pooling method or a click model is a :class:`Spec`: a small immutable object whose text
form, such as `RBP(p=0.8)`, is its identity. A :class:`Registry` holds components of one kind, such
as specs, statistical tests, corrections, charts or studies. It finds names regardless of case,
blanks, hyphens and underscores, reads text forms, suggests similar names, and lists its components.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import import_module
from inspect import getdoc
from math import inf, isfinite, ulp
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from cranfield.base.errors import PolicyError, format_repr, quote
from cranfield.base.text import suggest_names

if TYPE_CHECKING:
    import polars as pl

Check = Callable[[Any], Any]
"""Returns a value in canonical form, or raises a ValueError that describes the valid values."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a spec: its default, the check of its values, and its documentation."""

    default: Any
    check: Check
    doc: str


def parameter(default: Any, check: Check, doc: str) -> Any:
    """Declare a parameter; returns `Any`, so that the attribute has the type of its values."""
    return Parameter(default, check, doc)


MAX_INTEGER = 10**9  # default maximum, which messages about lower numbers do not mention


def integer(low: int, high: int = MAX_INTEGER) -> Check:
    """Return a check of integers from low to high."""
    bounds = f"an integer from {low} to {high}"
    description = f"an integer >= {low}" if high >= MAX_INTEGER else bounds

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
            raise ValueError(description)
        if int(value) > high:
            raise ValueError(bounds)
        return int(value)

    return check


def number(
    low: float, high: float = inf, *, excludes_low: bool = False, excludes_high: bool = False
) -> Check:
    """Return a check of finite numbers from low to high; an excluded bound is not allowed."""
    description = f"number {'>' if excludes_low else '>='} {low:g}"
    if isfinite(high):
        description += f" and {'<' if excludes_high else '<='} {high:g}"

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"a {description}")
        try:
            float_value = float(value)
        except OverflowError:
            suffix = "" if isfinite(high) else " that fits a float"
            raise ValueError(f"a {description}{suffix}") from None
        if not isfinite(float_value):
            raise ValueError(f"a finite {description}")
        excluded_bounds = [low] * excludes_low + [high] * excludes_high
        if not low <= float_value <= high or float_value in excluded_bounds:
            raise ValueError(f"a {description}")
        return float_value

    return check


PROBABILITY = number(0, 1)
POSITIVE_PROBABILITY = number(0, 1, excludes_low=True)
OPEN_PROBABILITY = number(0, 1, excludes_low=True, excludes_high=True)


def choice(*options: str) -> Check:
    """Return a check of one of several texts."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in options:
            raise ValueError(f"one of {', '.join(map(repr, options))}")
        return value

    return check


def flag(value: Any) -> bool:
    """Check a Boolean."""
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def optional(check: Check) -> Check:
    """Return a check that also allows None."""
    return lambda value: None if value is None else check(value)


def to_fraction(number: float) -> Fraction:
    """Return the rational number that a float approximates, such as 1/3.

    This is a fraction with a denominator up to a million whose nearest float is `number`, or else
    the shortest decimal that reads back as `number`. For large numbers, whose floats have fewer
    decimals, the maximum denominator is lower, so that fractions rarely match by coincidence.

    >>> print(to_fraction(0.8), to_fraction(1 / 3), to_fraction(0.123456789))
    4/5 1/3 123456789/1000000000
    >>> print(to_fraction(1234567.7890123))
    12345677890123/10000000
    """
    # A proportion of about max_denominator^2 * ulp of all floats is nearest to such a fraction.
    spacing = ulp(max(abs(number), 1.0))
    max_denominator = max(1, min(10**6, int((1e-3 / spacing) ** 0.5)))
    fraction = Fraction(number).limit_denominator(max_denominator)
    return fraction if float(fraction) == number else Fraction(repr(float(number)))


def check_parameter(
    owner: str, name: str, value: Any, check: Check, error_class: type[Exception]
) -> Any:
    """Return the checked value of a parameter; an error names its owner, such as a measure."""
    try:
        return check(value)
    except ValueError as error:
        text = quote(value) if isinstance(value, str) else format_repr(value)
        raise error_class(f"{owner}: {name} must be {error}, got {text}") from None


def format_short(value: float) -> str:
    """Format a number so that it reads back the same; integers up to 1e15 are without '.0'."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


MAX_DENOMINATOR = 1_000  # maximum denominator of a fraction in the text form of a number


def format_exact(value: float) -> str:
    """Format a number like :func:`format_short`, but a long decimal as a fraction if it is one.

    >>> format_exact(0.8), format_exact(1 / 3), format_exact(0.123456789012)
    ('0.8', '1/3', '0.123456789012')
    """
    text = format_short(value)
    if len(text) > 12 and 1e-3 <= abs(value) <= MAX_DENOMINATOR:
        fraction = Fraction(value).limit_denominator(MAX_DENOMINATOR)
        if float(fraction) == value:
            return str(fraction)
    return text


def any_name(value: Any) -> str:
    """Check a name, any text that is not blank; return it without blanks around it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name that is not blank")
    return value.strip()


def name_list(value: Any) -> str:
    """Check distinct names separated by commas; return them without blanks around them."""
    if not isinstance(value, str) or not all(item.strip() for item in value.split(",")):
        raise ValueError("a name, or names separated by commas")
    items = [item.strip() for item in value.split(",")]
    if len(set(items)) < len(items):
        raise ValueError("a list of distinct names")
    return ",".join(items)


@dataclass(frozen=True)
class NamedWeights:
    """Nonnegative weights by name; they need not sum to 1."""

    pairs: tuple[tuple[str, float], ...]

    def compute_proportions(self, names: tuple[str, ...]) -> tuple[float, ...]:
        """Return each name's weight divided by the sum of all weights; 0 without a weight."""
        total = sum(weight for _, weight in self.pairs)
        by_name = dict(self.pairs)
        return tuple(by_name.get(name, 0.0) / total for name in names)

    def __contains__(self, name: object) -> bool:
        return any(key == name for key, _ in self.pairs)

    @property
    def text(self) -> str:
        items = (f"{name!r}: {format_exact(weight)}" for name, weight in self.pairs)
        return f"{{{', '.join(items)}}}"


def named_weights(value: Any) -> NamedWeights:
    """Check a mapping of names to weights."""
    description = "a mapping of names to numbers from 0 to 1e15, such as {'a': 2, 'b': 1}"
    if isinstance(value, NamedWeights):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError(description)
    for key, weight in value.items():
        if not isinstance(key, str) or not key.strip():
            raise ValueError(description)
        if isinstance(weight, bool) or not isinstance(weight, (int, float, Fraction)):
            raise ValueError(description)
        # An integer may be too large for a float; NaN is not in the interval.
        if not 0 <= weight <= 1e15:
            raise ValueError(description)
    if not any(value.values()):
        raise ValueError("a mapping with at least one number above 0")
    if len({key.strip() for key in value}) < len(value):
        raise ValueError("a mapping with distinct names")
    return NamedWeights(
        tuple(sorted((key.strip(), float(weight)) for key, weight in value.items()))
    )


class Spec:
    """Base class of named components with declared parameters, such as measures.

    It is immutable; calling it with parameters returns a changed copy. The text form, which shows
    the parameters that differ from their defaults, determines equality and hash.
    """

    parameters: ClassVar[dict[str, Parameter]] = {}
    error: ClassVar[type[ValueError]] = PolicyError
    """Error class for invalid parameters."""
    explicit: frozenset[str]
    """Names of the parameters that were passed, even with their default values."""

    # Specs are not dataclasses, whose creation would dominate the import time.
    def __init_subclass__(cls) -> None:
        attributes = {
            name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()
        }
        cls.parameters = {
            name: value for name, value in attributes.items() if isinstance(value, Parameter)
        }

    def __init__(self, /, **parameters: Any) -> None:
        self.check_names(parameters)
        vars(self)["explicit"] = frozenset(parameters)
        for name, definition in self.parameters.items():
            self._set(name, parameters.get(name, definition.default))

    @classmethod
    def base_name(cls) -> str:
        """Return the name without parameters; by default the class attribute `name`."""
        return str(cls.name)  # type: ignore[attr-defined]

    def _set(self, name: str, value: Any) -> None:
        check = self.parameters[name].check
        vars(self)[name] = check_parameter(self.base_name(), name, value, check, self.error)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{self} is immutable; create a new one: {self.base_name()}({name}=...)"
        )

    def __call__(self, /, **parameters: Any) -> Self:
        """Return a copy with these parameters changed."""
        return self._with_parameters(type(self).translate_parameters(parameters))

    def _with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        current = {name: value for name, value in vars(self).items() if name in self.parameters}
        copy = type(self)(**{**current, **parameters})
        vars(copy)["explicit"] = self.explicit | set(parameters)
        return copy

    @classmethod
    def translate_parameters(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Translate parameters of other tools; by default, return them unchanged."""
        return dict(parameters)

    @classmethod
    def check_names(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse an unknown parameter."""
        names = cls.list_parameter_names()
        for name, value in parameters.items():
            if name not in names and not (name in cls.parameters and value is None):
                choices = f"expected one of: {', '.join(names)}" if names else "expected none"
                raise cls.error(
                    f"{cls.base_name()}: unknown parameter {quote(name)}; {choices}"
                    f"{suggest_names(name, names, 1)}"
                )

    @classmethod
    def list_parameter_names(cls) -> list[str]:
        """Return the names of the parameters."""
        return list(cls.parameters)

    def format_settings(self, excluded: str = "") -> str:
        """Return the values other than defaults, in parentheses; omit the parameter `excluded`."""
        settings = [
            f"{name}={format_value(value)}"
            for name, definition in self.parameters.items()
            if name != excluded and (value := getattr(self, name)) != definition.default
        ]
        return f"({', '.join(sorted(settings))})" if settings else ""

    def __str__(self) -> str:
        return f"{self.base_name()}{self.format_settings()}"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def format_value(value: Any) -> str:
    """Format the value of a parameter as in a text form."""
    if isinstance(value, float):
        return format_exact(value)
    return str(value.text) if hasattr(value, "text") else repr(value)


def parse_keywords(call: ast.Call, text: str, error: type[Exception]) -> dict[str, Any]:
    """Return the parameters of a parsed call `Name(param=value, ...)`; values must be literals."""
    parameters: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise error(f"{quote(text)}: expected parameters as name=value")
        if keyword.arg in parameters:
            raise error(f"{quote(text)}: {keyword.arg} occurs twice")
        parameters[keyword.arg] = parse_literal(keyword.value, text, error)
    return parameters


class _FractionReplacer(ast.NodeTransformer):
    """Replace fractions of two numbers, such as 1/3, by the nearest float."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        sides = numerator, denominator = [ast.literal_eval(s) for s in (node.left, node.right)]
        are_numbers = all(type(side) in {int, float} for side in sides)
        if not isinstance(node.op, ast.Div) or not are_numbers or not denominator:
            raise ValueError
        return ast.Constant(numerator / denominator)


def parse_literal(node: ast.expr, text: str, error: type[Exception]) -> Any:
    """Return the value of a number, a fraction such as 1/3, a string, Boolean, None or mapping."""
    expected = (
        "expected a number, a fraction such as 1/3, True, False, None, 'text' or {name: value}"
    )
    try:
        value = ast.literal_eval(_FractionReplacer().visit(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError):
        raise error(f"{quote(text)}: {expected}") from None
    if isinstance(value, (set, tuple, list, bytes, complex)):
        raise error(f"{quote(text)}: {expected}, got a {type(value).__name__}")
    if isinstance(value, dict) and isinstance(node, ast.Dict) and len(value) < len(node.keys):
        raise error(f"{quote(text)}: duplicate key in a mapping")
    return value


_TEXT_FORM = re.compile(r"\s*([^()]*?)\s*(\(.*\))?\s*", re.DOTALL)
_MAX_LENGTH = 200  # maximum length of a text form


@lru_cache(maxsize=4096)  # each lookup normalises all names of a registry
def _normalise(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


_DECLARATION = r"""\n(?:
    @(?:{})\b (?:  # a decorator: the name and aliases it declares, or else the function
        \(\s* "([^"\n]+)" (?:,\s* aliases=(\([^)]*\)))?
        | .*? \ndef[ ](\w+)
    )
    | [ ]{{4}}name[ ]=[ ] "([^"\n]+)" (?=\n) (?:\n[ ]{{4}}aliases[^=\n]*=[ ] (\([^)]*\)))?
)"""
_ROOT = Path(__file__).parents[2]


def find_declarations(module: str, decorators: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and aliases of each component that a module declares, from its source.

    A class declares a component by `name = "..."`, and `aliases = (...)` on the next line. One of
    the `decorators`, separated by blanks, declares a component by its first argument, the name, and
    `aliases=(...)` as the second; without a name, by the name of the function, with hyphens.

    >>> next(find_declarations("cranfield.measures.ranked.precision", "measure"))
    ('P', ('Precision',))
    """
    pattern = _DECLARATION.format("|".join(decorators.split()) or "-")
    source = _ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
    for match in re.finditer(pattern, source, re.DOTALL | re.VERBOSE):
        name, aliases, function, own_name, own_aliases = match.groups()
        component_name = name or own_name or function.replace("_", "-")
        yield component_name, ast.literal_eval(aliases or own_aliases or "()")


T = TypeVar("T")
S = TypeVar("S", bound=Spec)


class Registry(MutableMapping[str, T]):
    """Ordered mapping of names to components of one kind; modules are imported on access.

    Names and aliases are read from the source of the modules without importing them, so that lists
    of names are fast: see :func:`find_declarations`.

    `modules` are modules of `package`; `*` matches any text between dots. `decorators` declare
    components. Both are names separated by blanks. `base` is the base class, if components are
    classes. `components` are further components, which need no import, and `aliases` further
    aliases. `reasons` explain why plausible names, in lower case without hyphens, are not in the
    registry.

    >>> fruits = {"apple": 1, "blood-orange": 2}
    >>> fruit = Registry("fruit", components=fruits, aliases={"moro": "apple"})
    >>> fruit.find_component("Blood_Orange"), fruit.find("moro")
    (2, 'apple')
    >>> fruit.find_component("aple")
    Traceback (most recent call last):
    cranfield.PolicyError: unknown fruit 'aple'; did you mean apple?
    """

    def __init__(
        self,
        noun: str,
        modules: str = "",
        *,
        package: str = "",
        decorators: str = "",
        base: type[Any] | None = None,
        components: Mapping[str, T] | None = None,
        aliases: Mapping[str, str] | None = None,
        reasons: Mapping[str, str] | None = None,
        error: type[ValueError] = PolicyError,
    ) -> None:
        self.noun = noun
        self.base = base
        self.error: type[ValueError] = getattr(base, "error", error)
        self._patterns, self._package = modules.split(), package
        self.decorators = decorators
        self.components: dict[str, T] = {**(components or {})}
        self._extra_aliases = {**(aliases or {})}
        self._reasons = {**(reasons or {})}

    @cached_property
    def modules(self) -> list[str]:
        """The modules that declare components, in order."""
        modules = []
        for module in self._patterns:
            name = module if module.startswith("cranfield.") else f"{self._package}.{module}"
            paths = sorted(_ROOT.glob(f"{name.replace('.', '/')}.py")) if "*" in name else ()
            relative_paths = (path.relative_to(_ROOT).with_suffix("") for path in paths)
            modules += [".".join(path.parts) for path in relative_paths] or [name]
        return modules

    @cached_property
    def _declarations(self) -> list[tuple[str, str, tuple[str, ...]]]:
        return [
            (name, module, aliases)
            for module in self.modules
            for name, aliases in find_declarations(module, self.decorators)
        ]

    @cached_property
    def module_by_name(self) -> dict[str, str]:
        """Names of modules, by the name of the component that they declare."""
        return {name: module for name, module, _ in self._declarations}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Names of components by alias."""
        declared = {alias: name for name, _, aliases in self._declarations for alias in aliases}
        return declared | self._extra_aliases

    def __getitem__(self, name: str) -> T:
        # A decorator adds a component before its module is complete: `import_module` waits for the
        # thread that imports it. For a component that is present, sources are not read just to
        # find its module.
        needs_module = name not in self.components or "module_by_name" in vars(self)
        if needs_module and name in self.module_by_name:
            module = import_module(self.module_by_name[name])
            if name not in self.components:
                self.components[name] = self._find_in_module(vars(module), name)
        return self.components[name]

    def _find_in_module(self, module: Mapping[str, Any], name: str) -> Any:
        if self.base is None:
            return module[name.replace("-", "_")]
        classes = (value for value in module.values() if isinstance(value, type))
        components = (component for component in classes if issubclass(component, self.base))
        return next(component for component in components if get_component_name(component) == name)

    def __setitem__(self, name: str, component: T) -> None:
        self.components[name] = component

    def __delitem__(self, name: str) -> None:
        del self.components[name]

    def __contains__(self, name: object) -> bool:
        return name in self.module_by_name or name in self.components

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def names(self) -> list[str]:
        """Return all names, without importing modules."""
        return list(dict.fromkeys((*self.module_by_name, *self.components)))

    def select(self, **attributes: Any) -> dict[str, T]:
        """Return, by name, the components whose attributes have the specified values."""
        return {
            name: component
            for name, component in self.items()
            if all(getattr(component, key) == value for key, value in attributes.items())
        }

    def find_aliases(self, name: str) -> list[str]:
        """Return the aliases of a component."""
        return [alias for alias, target in self.aliases.items() if target == name]

    def find(self, name: Any) -> str:
        """Return the name of a component, given a spelling of this name or of an alias."""
        if not isinstance(name, str):
            raise self.error(f"expected a name ({self.noun}), got {name!r}")
        spellings = {_normalise(spelling): spelling for spelling in (*self.aliases, *self.names())}
        normal_name = _normalise(name)
        if normal_name in self._reasons:
            raise self.error(f"unknown {self.noun} {quote(name)}: {self._reasons[normal_name]}")
        if normal_name not in spellings:
            choices = f"expected one of: {', '.join(self.names())}"
            hint = suggest_names(
                normal_name, spellings, otherwise=choices, show=spellings.__getitem__
            )
            raise self.error(f"unknown {self.noun} {quote(name)}{hint}")
        spelling = spellings[normal_name]
        return self.aliases.get(spelling, spelling)

    def find_component(self, name: Any) -> T:
        """Return a component, given a spelling of its name or of an alias."""
        return self[self.find(name)]

    def parse(self: Registry[type[S]], text: str | S) -> S:
        """Create a spec from its text form `Name(param=value)`; values must be literals."""
        if isinstance(text, Spec) and isinstance(text, self.base or Spec):
            return text
        if not isinstance(text, str):
            article = "an" if self.noun[0] in "aeiou" else "a"
            got = type(text).__name__
            raise self.error(f"expected {article} {self.noun} or its text form, got {got}")
        form = _TEXT_FORM.fullmatch(text)
        message = f"{quote(text)} is not a valid {self.noun}; expected Name(param=value)"
        if form is None or len(text) > _MAX_LENGTH:
            limit = f" of at most {_MAX_LENGTH} characters, got {len(text)}"
            raise self.error(message + limit * (len(text) > _MAX_LENGTH))
        spec_class = self.find_component(form[1])
        try:
            tree = ast.parse(f"f{form[2] or '()'}", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            raise self.error(message)
        if tree.args:
            raise self.error(f"{quote(text)}: expected parameters as name=value")
        return spec_class(**parse_keywords(tree, text, self.error))

    def tabulate(self, head: str, columns: Mapping[str, Callable[[T], Any]]) -> pl.DataFrame:
        """Return a table with a row for each component, and its name in the column `head`.

        Parameters
        ----------
        columns
            By column name, a function that returns the value of a component.
        """
        import polars as pl

        values = {column: [value(self[name]) for name in self] for column, value in columns.items()}
        return pl.DataFrame({head: self.names(), **values})


def get_component_name(component: Any) -> str:
    """Return the name of a component of a registry."""
    return str(component.base_name() if hasattr(component, "base_name") else component.name)


def format_parameters(spec_class: type[Spec]) -> str:
    """Return the parameters of a class of specs, with their defaults, as text."""
    return ", ".join(f"{name}={p.default!r}" for name, p in spec_class.parameters.items())


def get_summary(component: object) -> str:
    """Return the summary of the docstring of a class or function."""
    return (getdoc(component) or "").split("\n\n")[0].replace("\n", " ")
