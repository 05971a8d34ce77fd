"""Options made from the signature, annotations and docstring of a Python function.

Name, allowed values, default and help of a parameter are declared once, by the function. Its source
is parsed here and its module is not imported, so that help appears at once.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

import cranfield
from cranfield.base import kinds
from cranfield.base.errors import PolicyError, quote
from cranfield.cli.options import declaring

ROOT = Path(cranfield.__file__).parent
# These patterns do not depend on a name, so that each is compiled only once.
_STATEMENT_START = re.compile(r"^[\w\"@]", re.MULTILINE)
_IMPORT = re.compile(r"^from (?:cranfield)?\.([\w.]+) import (\([^)]*|.*)", re.MULTILINE)
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class DeclaredParameter:
    """Annotation, default and documentation of a parameter."""

    annotation: Any
    default: Any
    description: str


def read_parameter(function: str, parameter: str) -> DeclaredParameter:
    """Read a parameter of a function, or a field of a dataclass, by public or module path."""
    source, module = _parse_source(function)
    for name, annotation, default in _list_parameters(source):
        if name == parameter:
            hint = Any if annotation is None else _evaluate(annotation, module)
            value = None if default is None else _evaluate(default, module)
            return DeclaredParameter(hint, value, _describe(function, parameter))
    raise LookupError(f"{function} has no parameter {parameter}")


def _list_parameters(
    source: ast.FunctionDef | ast.ClassDef,
) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Yield name, annotation and default of the parameters of a function or a dataclass."""
    if isinstance(source, ast.ClassDef):
        fields = (node for node in source.body if isinstance(node, ast.AnnAssign))
        yield from ((ast.unparse(node.target), node.annotation, node.value) for node in fields)
        return
    positional = [*source.args.posonlyargs, *source.args.args]
    required: list[ast.expr | None] = [None] * (len(positional) - len(source.args.defaults))
    defaults = [*required, *source.args.defaults, *source.args.kw_defaults]
    for arg, default in zip([*positional, *source.args.kwonlyargs], defaults, strict=True):
        yield arg.arg, arg.annotation, default


@cache
def _parse_source(function: str) -> tuple[ast.FunctionDef | ast.ClassDef, str]:
    """Return the syntax tree of a function, class or method, and the text of its module."""
    package, _, name = function.rpartition(".")
    if package.rpartition(".")[2][0].isupper():
        owner, text = _parse_source(package)
        [source] = (node for node in owner.body if getattr(node, "name", "") == name)
    else:
        text = _read_text(_find_module(ROOT.joinpath(*package.split(".")[1:]), name))
        if definition := _find_statement(text, f"def {name}("):
            # A function without its body is parsed faster.
            signature, docstring, _ = definition.split('"""', 2)
            definition = f'{signature}"""{docstring}"""'
        else:
            definition = _find_statement(text, f"class {name}:", f"class {name}(")
        [source] = ast.parse(definition).body
    assert isinstance(source, (ast.FunctionDef, ast.ClassDef))
    return source, text


def _find_statement(text: str, *starts: str) -> str:
    """Return the first statement of a module with one of these starts, or an empty text."""
    for start in starts:
        position = text.find(f"\n{start}") + 1
        if position:
            end = _STATEMENT_START.search(text, position + 1)
            return text[position : None if end is None else end.start()]
    return ""


@cache
def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _list_imports(text: str) -> dict[str, str]:
    """Return the module of this package that each name is imported from."""
    imports = _IMPORT.findall(text)
    return {name: module for module, names in imports for name in _NAME.findall(names)}


def _find_module(folder: Path, name: str) -> Path:
    """Find the module of a function: the named module, or the one in the stub of a package."""
    if (module := folder.with_suffix(".py")).is_file():
        return module
    modules = _list_imports(_read_text(folder / "__init__.pyi"))
    if name not in modules:
        raise LookupError(f"{folder.name} has no public function {name}")
    path = folder.joinpath(*modules[name].split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class _AnyAttribute(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _OtherType(metaclass=_AnyAttribute):
    """Placeholder for types and values that the options do not use."""

    def __class_getitem__(cls, parts: Any) -> type:
        return cls


class _Namespace(dict[str, Any]):
    """Names in annotations of a module: kinds of values, constants and type aliases."""

    def __init__(self, module: str) -> None:
        super().__init__(_BUILTIN_TYPES)
        self.module = module

    def __missing__(self, name: str) -> Any:
        module = self.module
        while module:
            if statement := _find_statement(module, f"{name} = ", f"{name}: "):
                [assignment] = ast.parse(statement).body
                assert isinstance(assignment, (ast.Assign, ast.AnnAssign))
                value = assignment.value
                if value is not None and (name.isupper() or _is_type_alias(value)):
                    self[name] = _evaluate(value, module)
                    return self[name]
            module = _read_imported_module(name, module)
        if name.isupper():
            raise LookupError(f"no constant {name}")
        return _OtherType


def _is_type_alias(value: ast.expr) -> bool:
    """Return True if a value is an alias of a type that lists or restricts values."""
    return isinstance(value, ast.Subscript) and ast.unparse(value.value) in {"Literal", "Annotated"}


_BUILTIN_TYPES = {name: kind for name, kind in vars(kinds).items() if name[0] != "_"}
_BUILTIN_TYPES |= {"Annotated": Annotated, "Any": Any, "Iterable": Iterable, "Literal": Literal}
_BUILTIN_TYPES |= {"Mapping": Mapping, "Sequence": Sequence, "Collection": Collection}
_BUILTIN_TYPES |= {kind.__name__: kind for kind in (bool, float, int, str, tuple)}


@cache
def _make_namespace(module: str) -> _Namespace:
    return _Namespace(module)


def _evaluate(expression: ast.expr, module: str) -> Any:
    if isinstance(expression, ast.Constant):
        return expression.value
    code = compile(ast.Expression(expression), "<annotation>", "eval")
    # The expression is source of this package, never user input.
    return eval(code, {"__builtins__": {}}, _make_namespace(module))


def _read_imported_module(name: str, module: str) -> str:
    """Return the text of the module that a name is imported from; empty if it is not imported."""
    path = _list_imports(module).get(name)
    return "" if path is None else _read_text(ROOT.joinpath(*path.split(".")).with_suffix(".py"))


@cache
def _read_descriptions(function: str) -> dict[str, str]:
    docstring = ast.get_docstring(_parse_source(function)[0]) or ""
    _, *sections = re.split(r"^(?:Parameters|Attributes)\n-+\n", docstring, flags=re.MULTILINE)
    section = re.split(r"\n\n\w[\w ]*\n-+\n", "".join(sections))[0]
    entries = re.findall(r"^(\w[\w, ]*)\n((?: .*\n?|\n)*)", section, re.MULTILINE)
    return {name: " ".join(body.split()) for names, body in entries for name in names.split(", ")}


def _describe(function: str, parameter: str) -> str:
    """Return the description of a parameter, following a reference to another function."""
    try:
        description = _read_descriptions(function).get(parameter, "")
    except LookupError:
        return ""
    reference = re.match(r"As for :func:`~?([\w.]+)`", description)
    if reference is None:
        return description
    name = reference[1]
    if "." in name:
        return _describe(name, parameter)
    # A bare name is in the same package, or in the top one.
    package = function.rpartition(".")[0]
    return _describe(f"{package}.{name}", parameter) or _describe(f"cranfield.{name}", parameter)


def make_help(description: str, default: Any) -> str:
    """Return the first sentence of a description and, if the default is None, "By default ..."."""
    first_sentence, *more_sentences = re.split(r"(?<=[.:])\s+(?=[A-Z`])", description)
    defaults = [text for text in more_sentences if text.startswith("By default")]
    defaults = defaults if default is None else []
    first_sentence = re.sub(r"^Whether to (\w)", lambda match: match[1].upper(), first_sentence)
    sentences = (re.sub(r":$", ".", text) for text in (first_sentence, *defaults))
    return re.sub(r":\w+:`[\w.]*?(\w+)`|`", r"\1", " ".join(sentences))


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated numbers: integers >= `minimum`, or any numbers if `minimum` is None."""

    name = "n,..."

    def __init__(self, minimum: int | None) -> None:
        self.minimum = minimum

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        kind = float if self.minimum is None else int
        try:
            numbers = [kind(text) for text in value.split(",")]
        except ValueError:
            numbers = []
        if numbers and (self.minimum is None or min(numbers) >= self.minimum):
            return numbers
        expected = "numbers such as 0.3,0.7"
        if self.minimum is not None:
            expected = f"integers >= {self.minimum}, such as 5,10,20"
        option = declaring.get_display_name(param)
        raise PolicyError(f"{option} must be {expected}, got {quote(value)}")


class NameList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated names; a name with a comma is put between double quotes."""

    name = "name,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        if not isinstance(value, str):
            return [*value]
        names = next(csv.reader([" ".join(value.splitlines())], skipinitialspace=True), None)
        # An empty text is a name that does not exist, not an empty list.
        return [name.strip() for name in names or [""]]


class NumbersByName(NameList):
    """Comma-separated `NAME=NUMBER` pairs or, if allowed, names alone."""

    name = "name=number,..."

    def __init__(self, *, allows_names: bool) -> None:
        self.allows_names = allows_names

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if self.allows_names and "=" not in value:
            return super().convert(value, param, ctx)
        pairs = [pair.rpartition("=") for pair in value.split(",")]
        try:
            numbers = {name.strip(): float(number) for name, _, number in pairs}
        except ValueError:
            numbers = {}
        if "" in numbers or len(numbers) < len(pairs):
            expected = "NAME=NUMBER pairs such as a=0.9,b=0.1, each name once"
            option = declaring.get_display_name(param)
            raise PolicyError(f"{option} must be {expected}, got {quote(value)}")
        return numbers


def parse_pairs(
    values: Iterable[str],
    name: str,
    expected: str,
    *,
    allows_empty: bool = False,
    splits_at_last: bool = False,
) -> dict[str, str]:
    """Split texts `NAME=TEXT` at the first or, with `splits_at_last`, last equals sign."""
    pairs: dict[str, str] = {}
    for value in values:
        key, sign, text = value.rpartition("=") if splits_at_last else value.partition("=")
        key, text = (key.strip(), text.strip()) if splits_at_last else (key, text)
        if not (key and sign and (text or allows_empty)):
            raise PolicyError(f"{name} must be {expected}, got {quote(value)}")
        if key in pairs:
            raise PolicyError(f"{name} {quote(key)} must be given only once")
        pairs[key] = text
    return pairs


def collect_pairs(
    context: click.Context, param: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """Collect values `NAME=VALUE`, as a callback of click; names may contain equals signs."""
    return parse_pairs(values, declaring.get_display_name(param), "NAME=VALUE", splits_at_last=True)


def _convert_annotation(annotation: Any) -> dict[str, Any]:
    """Convert an annotation to the `type` argument of a click option."""
    allowed_values = kinds.get_allowed_values(annotation)
    if isinstance(allowed_values, kinds.Integer):
        return {"type": declaring.IntegerRange(allowed_values.minimum)}
    if isinstance(allowed_values, kinds.UnitInterval):
        return {"type": declaring.NumberRange(0, 1, min_open=True, max_open=True)}
    if isinstance(allowed_values, kinds.Flag):
        return {"type": bool}
    if isinstance(allowed_values, kinds.OneOf):
        return {"type": click.Choice(list(allowed_values.names))}
    if isinstance(allowed_values, kinds.Numbers):
        return {"type": NumberList(allowed_values.minimum)}
    is_union = get_origin(annotation) in (Union, UnionType)
    types = [*get_args(annotation)] if is_union else [annotation]
    types = [value_type for value_type in types if value_type is not type(None)]
    accepted_types = {Mapping[str, float], Mapping[int, float], Sequence[str]}
    if Mapping[str, float] in types and accepted_types.issuperset(types):
        return {"type": NumbersByName(allows_names=Sequence[str] in types)}
    if types == [Sequence[str]]:
        return {"type": NameList()}
    value_type = types[0] if len(types) == 1 else annotation
    if get_origin(value_type) is Literal:
        return {"type": click.Choice(get_args(value_type))}
    return {"type": value_type if value_type in (bool, int, float) else str}


def make_options(
    function: str,
    names: str,
    /,
    *,
    type: Any = None,
    requires: str | Sequence[str] = (),
    group: str = "",
    **changes: Any,
) -> tuple[declaring.Decorator, ...]:
    """Make command-line options from the parameters of a public function.

    The function may be a method, a dataclass with its fields, or the command itself, for options
    that the library does not have. In `names`, `as=view` makes the parameter `view` the option
    --as. `changes` maps a parameter to its help text, or to arguments of :func:`option`, of which
    `flag` sets the flag and, after a blank, the parameter of the command. Hints in messages name
    the option instead of the parameter. `type`, `requires` and `group` apply to all options.
    """
    shared_attributes: dict[str, Any] = {"requires": requires, "group": group}
    shared_attributes |= {} if type is None else {"type": type}
    options = []
    for item in names.split():
        flag, _, name = item.rpartition("=")
        flags = {"flag": f"--{flag} {name}"} if flag else {}
        change = changes.get(name, {})
        change = {"help": change} if isinstance(change, str) else change
        options.append(_make_option(function, name, **shared_attributes | flags | change))
    return tuple(options)


def _make_option(
    function: str, name: str, flag: str = "", **attributes: Any
) -> declaring.Decorator:
    parameter = read_parameter(function, name)
    default = attributes.get("default", parameter.default)
    settings: dict[str, Any] = {
        "declared_by": (function, name),
        "help": make_help(parameter.description, default),
    }
    settings |= _convert_annotation(parameter.annotation)
    is_repeatable = declaring.SEVERAL_TIMES in attributes.get("help", settings["help"])
    attributes.setdefault("multiple", is_repeatable or parameter.annotation == tuple[str, ...])
    if attributes["multiple"] and isinstance(settings["type"], NameList):
        settings["type"] = str
    usual_flag = f"--{name.replace('_', '-')}"
    if flag and flag != usual_flag:
        settings["argument"] = name
    flag = flag or usual_flag
    if settings["type"] is bool:
        del settings["type"]
        if default is False:
            settings |= {"is_flag": True, "default": False}
        else:
            flag = f"{flag}/--no-{flag.removeprefix('--')}"
            settings |= {"default": default, "show_default": default is not None}
    elif default == ():
        settings["default"] = ()
    elif isinstance(default, (tuple, list)):
        text: str | bool = True
        if not attributes["multiple"]:
            # With spaces, help can break lines between many names.
            text, default = ", ".join(map(str, default)), ",".join(map(str, default))
        settings |= {"default": default, "show_default": text if default else False}
    elif default is not None:
        settings |= {"default": default, "show_default": default != ""}
    return declaring.option(*flag.split(), **settings | attributes)


def options_from(function: str, names: str, /, **changes: Any) -> declaring.Decorator:
    """Make a decorator that adds the options of :func:`make_options` to a command."""
    return declaring.with_options(make_options(function, names, **changes))


def own_options(names: str, /, **changes: Any) -> declaring.Decorator:
    """Make a decorator that adds options declared by the command: its signature and docstring."""

    def add(command: Any) -> Any:
        return options_from(f"{command.__module__}.{command.__name__}", names, **changes)(command)

    return add
