"""Options made of parameters in Python: signature, annotation and docstring of a function.

What a parameter is called, which values it takes, its default and its help are declared where the
function is. Its source is read here, not its module loaded: help has to come at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

import cranfield
from cranfield.base import kinds
from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.options.declaring import (
    IntegerRange,
    NumberRange,
    option,
    shown_name,
    with_options,
)

ROOT = Path(cranfield.__file__).parent
_LINES = re.MULTILINE | re.DOTALL


@dataclass(frozen=True)
class Declared:
    """A parameter as its function declares it."""

    hint: Any
    default: Any
    about: str


def declared(function: str, parameter: str) -> Declared:
    """Read a parameter of a function, or a field of a dataclass.

    A function is named by its public path, such as `cranfield.meta.pooling`, or by its module.

    Examples
    --------
    >>> declared("cranfield.meta.pooling", "repeats").default
    10
    """
    source, module = _source(function)
    for name, annotation, default in _parameters(source):
        if name == parameter:
            hint = "Any" if annotation is None else ast.unparse(annotation)
            value = None if default is None else _value(ast.unparse(default), module)
            return Declared(_value(hint, module), value, _about(function, parameter))
    raise LookupError(f"{function} has no parameter {parameter}")


def _parameters(
    source: ast.FunctionDef | ast.ClassDef,
) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Yield name, annotation and default of the parameters of a function or a dataclass."""
    if isinstance(source, ast.ClassDef):
        fields = (one for one in source.body if isinstance(one, ast.AnnAssign))
        yield from ((ast.unparse(one.target), one.annotation, one.value) for one in fields)
        return
    plain = [*source.args.posonlyargs, *source.args.args]
    without: list[ast.expr | None] = [None] * (len(plain) - len(source.args.defaults))
    defaults = [*without, *source.args.defaults, *source.args.kw_defaults]
    for one, default in zip([*plain, *source.args.kwonlyargs], defaults, strict=True):
        yield one.arg, one.annotation, default


@cache
def _source(function: str) -> tuple[ast.FunctionDef | ast.ClassDef, str]:
    """Return a public function, class or method, and the text of the module that has it."""
    package, _, name = function.rpartition(".")
    if package.rpartition(".")[2][0].isupper():
        owner, text = _source(package)
        [source] = (one for one in owner.body if getattr(one, "name", "") == name)
    else:
        text = _home(ROOT.joinpath(*package.split(".")[1:]), name).read_text(encoding="utf-8")
        found = re.search(rf"^(?:def|class) {name}\b.*?(?=^[\w@]|\Z)", text, _LINES)
        assert found is not None, function
        [source] = ast.parse(found[0]).body
    assert isinstance(source, (ast.FunctionDef, ast.ClassDef))
    return source, text


def _home(folder: Path, name: str) -> Path:
    """Find the module of a function: the one that is named, or what the stub of a package says."""
    if (module := folder.with_suffix(".py")).is_file():
        return module
    stub = (folder / "__init__.pyi").read_text(encoding="utf-8")
    found = re.search(rf"^from \.([\w.]+) import [^.]*?\b{name} as", stub, re.MULTILINE)
    if found is None:
        raise LookupError(f"{folder.name} has no public function {name}")
    path = folder.joinpath(*found[1].split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class _Unknown(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Other(metaclass=_Unknown):
    """A type of which only the command knows how to read a value, or a value of no interest."""

    def __class_getitem__(cls, parts: Any) -> type:
        return cls


class _Names(dict[str, Any]):
    """Names in annotations of a module: kinds of values, and constants that say which there are."""

    def __init__(self, module: str) -> None:
        super().__init__(_KNOWN)
        self.module = module

    def __missing__(self, name: str) -> Any:
        if name.isupper():
            return _constant(name, self.module)
        for module in (self.module, _imported(name, self.module)):
            if found := re.search(rf"^{name} = (?:Literal|Annotated)\[.*?\]$", module, _LINES):
                return _value(found[0].partition(" = ")[2], module)
        return _Other


_KNOWN = {name: one for name, one in vars(kinds).items() if name[0] != "_"}
_KNOWN |= {"Annotated": Annotated, "Any": Any, "Iterable": Iterable, "Literal": Literal}
_KNOWN |= {"Mapping": Mapping, "Sequence": Sequence, "Collection": Collection}
_KNOWN |= {kind.__name__: kind for kind in (bool, float, int, str, tuple)}


def _value(expression: str, module: str) -> Any:
    """Return what an expression in a module is: an annotation, or a default."""
    # The source of the package itself, not text from outside.
    return eval(expression, {"__builtins__": {}}, _Names(module))


def _imported(name: str, module: str) -> str:
    """Return the text of the module of the package that a name is imported from; empty if none."""
    pattern = rf"^from cranfield\.([\w.]+) import (?:\([^)]*?|.*)\b{name}\b"
    found = re.search(pattern, module, re.MULTILINE)
    if found is None:
        return ""
    return ROOT.joinpath(*found[1].split(".")).with_suffix(".py").read_text(encoding="utf-8")


def _constant(name: str, module: str) -> Any:
    """Return a constant that a module has, or imports from another one of the package."""
    found = re.search(rf"^{name}(?:: [^=\n]+)? = (.*?)(?=^[\w\"@]|\Z)", module, _LINES)
    if found is not None:
        return _value(found[1].strip(), module)
    home = _imported(name, module)
    if not home:
        raise LookupError(f"no constant {name}")
    return _constant(name, home)


@cache
def _described(function: str) -> dict[str, str]:
    """Return what a docstring says of each parameter."""
    docstring = ast.get_docstring(_source(function)[0]) or ""
    _, *sections = re.split(r"^(?:Parameters|Attributes)\n-+\n", docstring, flags=re.MULTILINE)
    section = re.split(r"\n\n\w[\w ]*\n-+\n", "".join(sections))[0]
    found = re.findall(r"^(\w[\w, ]*)\n((?: .*\n?|\n)*)", section, re.MULTILINE)
    return {name: " ".join(body.split()) for names, body in found for name in names.split(", ")}


def _about(function: str, parameter: str) -> str:
    """Return the documentation of a parameter, by the function or the one that it refers to."""
    try:
        about = _described(function).get(parameter, "")
    except LookupError:
        return ""
    other = re.match(r"As for :func:`~?([\w.]+)`", about)
    if other is None:
        return about
    # A bare name is of the same package, or of the top one.
    home, named = function.rpartition(".")[0], "." in other[1]
    of_home = "" if named else _about(f"{home}.{other[1]}", parameter)
    return of_home or _about(other[1] if named else f"cranfield.{other[1]}", parameter)


def help_of(about: str, default: Any) -> str:
    """Return the first sentence about a parameter, and the one about its default if that is None.

    Examples
    --------
    >>> help_of("Names, as of :func:`x`. Others are `raw`. By default all.", None)
    'Names, as of x. By default all.'
    """
    first, *others = re.split(r"(?<=[.:])\s+(?=[A-Z`])", about)
    defaults = [one for one in others if one.startswith("By default")] if default is None else []
    first = re.sub(r"^Whether to (\w)", lambda match: match[1].upper(), first)
    sentences = (re.sub(r":$", ".", one) for one in (first, *defaults))
    return re.sub(r":\w+:`[\w.]*?(\w+)`|`", r"\1", " ".join(sentences))


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them: whole ones from a least one, or any."""

    name = "n,..."

    def __init__(self, least: int | None) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        kind = float if self.least is None else int
        try:
            found = [kind(part) for part in value.split(",")]
        except ValueError:
            found = []
        if found and (self.least is None or min(found) >= self.least):
            return found
        whole = f"integers >= {self.least}, such as 5,10,20"
        wanted = "numbers such as 0,0.05,0.1" if self.least is None else whole
        raise PolicyError(f"{_name_of(param)} must be {wanted}, got {quoted(value)}")


class NameList(click.ParamType):  # type: ignore[type-arg]
    """Names with commas between them."""

    name = "name,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        return [name.strip() for name in value.split(",")] if isinstance(value, str) else [*value]


class NumbersByName(NameList):
    """`NAME=NUMBER` pairs with commas between them, or perhaps names alone."""

    name = "name=number,..."

    def __init__(self, *, names_alone: bool) -> None:
        self.names_alone = names_alone

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.names_alone and "=" not in value:
            return super().convert(value, param, ctx)
        pairs = [part.rpartition("=") for part in value.split(",")]
        try:
            found = {name.strip(): float(number) for name, _, number in pairs}
        except ValueError:
            found = {}
        if "" in found or len(found) < len(pairs):
            wanted = "NAME=NUMBER pairs such as a=0.9,b=0.1, each name once"
            raise PolicyError(f"{_name_of(param)} must be {wanted}, got {quoted(value)}")
        return found


class NameValue(click.ParamType):  # type: ignore[type-arg]
    """`NAME=VALUE`, of which the value has no equals sign."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, sign, own = value.rpartition("=")
        if not (name and sign and own):
            raise PolicyError(f"{_name_of(param)} must be NAME=VALUE, got {quoted(value)}")
        return name.strip(), own.strip()


def pairs_of(values: Iterable[str], name: str, form: str, *, empty: bool = False) -> dict[str, str]:
    """Take texts `NAME=TEXT` apart at the first equals sign, each name once."""
    pairs: dict[str, str] = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not (key and sign and (text or empty)):
            raise PolicyError(f"{name} must be {form}, got {quoted(value)}")
        if key in pairs:
            raise PolicyError(f"{name} {quoted(key)} must be given only once")
        pairs[key] = text
    return pairs


def by_name(
    context: click.Context, param: click.Parameter, pairs: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Make a mapping of the values of an option of :class:`NameValue`, each name once."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise PolicyError(f"{_name_of(param)} {quoted(twice)} must be given only once")
    return values


def _name_of(param: click.Parameter | None) -> str:
    return "it" if param is None else shown_name(param)


def _typed(hint: Any) -> dict[str, Any]:
    """Return how click reads a value of an annotated type."""
    kind = kinds.kind_of(hint)
    if isinstance(kind, kinds.Whole):
        return {"type": IntegerRange(kind.minimum)}
    if isinstance(kind, kinds.Share):
        return {"type": NumberRange(0, 1, min_open=True, max_open=True)}
    if isinstance(kind, kinds.Flag):
        return {"type": bool}
    if isinstance(kind, kinds.OneOf):
        return {"type": click.Choice(list(kind.names))}
    if isinstance(kind, kinds.Numbers):
        return {"type": NumberList(kind.minimum)}
    is_union = get_origin(hint) in (Union, UnionType)
    parts = [one for one in get_args(hint) if one is not type(None)] if is_union else [hint]
    by_name = {Mapping[str, float], Mapping[int, float], Sequence[str]}
    if Mapping[str, float] in parts and by_name.issuperset(parts):
        return {"type": NumbersByName(names_alone=Sequence[str] in parts)}
    if parts == [Sequence[str]]:
        return {"type": NameList()}
    kind = parts[0] if len(parts) == 1 else hint
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    return {"type": kind if kind in (bool, int, float) else str}


def options_of(
    function: str,
    names: str,
    /,
    *,
    type: Any = None,
    goes_with: str | Sequence[str] = (),
    group: str = "",
    **changed: Any,
) -> tuple[Callable[[Any], Any], ...]:
    """Make options of the parameters of a public function, with what is `changed` of each.

    The function may be a method, a dataclass with its fields, or the command itself, for options
    that the library does not have. A change is a mapping: the `flag`, perhaps with a name of the
    value behind it, and all that :func:`option` takes; an option stands for the parameter in hints,
    whatever it is called. A `type`, what options go with, and a `group` are those of all of them.
    """
    every: dict[str, Any] = {"goes_with": goes_with, "group": group}
    every |= {} if type is None else {"type": type}
    return tuple(
        _option(function, name, **(every | changed.get(name, {}))) for name in names.split()
    )


def _option(function: str, name: str, flag: str = "", **more: Any) -> Callable[[Any], Any]:
    own = declared(function, name)
    default = more.get("default", own.default)
    given: dict[str, Any] = {"of": (function, name), "help": help_of(own.about, default)}
    given |= _typed(own.hint)
    more = {"multiple": True, **more} if own.hint == tuple[str, ...] else more
    if more.get("multiple") and isinstance(given["type"], NameList):
        given["type"] = str
    usual = f"--{name.replace('_', '-')}"
    if flag and flag != usual:
        given["stands_for"] = name
    flag = flag or usual
    if given["type"] is bool and default is not False:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
        given |= {"default": default, "show_default": default is not None}
    elif given["type"] is bool:
        given |= {"is_flag": True, "default": False}
    elif default == ():
        given["default"] = ()
    elif isinstance(default, (tuple, list)):
        shown: str | bool = True
        if not more.get("multiple"):
            # With blanks in help, where a line of so many names has to break.
            shown, default = ", ".join(map(str, default)), ",".join(map(str, default))
        given |= {"default": default, "show_default": shown if default else False}
    elif default is not None:
        given |= {"default": default, "show_default": default != ""}
    if given["type"] is bool:
        del given["type"]
    return option(*flag.split(), **given | more)


def options_from(function: str, names: str, /, **changed: Any) -> Callable[[Any], Any]:
    """Make a decorator of :func:`options_of`."""
    return with_options(options_of(function, names, **changed))
