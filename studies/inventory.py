"""List everything that a user can name: functions, classes, methods, commands, options, choices.

    python -m studies.inventory > studies/inventory.txt

A change of the code that is not meant to add or remove anything leaves the list as it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import click

MODULES = (
    "cranfield",
    *(
        f"cranfield.{name}"
        for name in (
            *("assess", "bundled", "campaign", "charts", "correlation", "measures", "meta"),
            *("online", "scales", "sessions", "significance", "texts"),
        )
    ),
    "cranfield.bridges.ir_measures",
    "cranfield.bridges.pytrec_eval",
)

CATALOGUES = (
    ("measure", "cranfield.measures:REGISTRY"),
    ("other name of a measure", "cranfield.measures:ALIASES"),
    ("significance test", "cranfield.significance:TESTS"),
    ("correction", "cranfield.significance:CORRECTIONS"),
    ("fusion method", "cranfield.fusion.methods:FUSIONS"),
    ("pooling method", "cranfield.assess.pools.method:METHODS"),
    ("stopping rule", "cranfield.assess.stops:RULES"),
    ("click model", "cranfield.online.click_models.model:MODELS"),
    ("interleaving method", "cranfield.online.interleaving.method:METHODS"),
    ("online measure", "cranfield.online.measures.online_measure:MEASURES"),
    ("policy preset", "cranfield.collection.policies:PRESETS"),
    ("check of a run", "cranfield.campaign.checks.report:CODES"),
    ("statistic", "cranfield.scales.admissible:STATISTICS"),
    ("output format", "cranfield.collection.files.writing:WRITERS"),
    ("input format", "cranfield.collection.policies:FORMATS"),
    ("chart", "cranfield.reporting.charts.registry:CHARTS"),
)
"""Kinds of named things, and where the mapping or list with their names stands."""


def python_names() -> Iterator[str]:
    """Yield the public functions, classes and methods with their parameters."""
    for path in MODULES:
        module: ModuleType = import_home(path)
        for name in sorted(getattr(module, "__all__", [n for n in vars(module) if n[0] != "_"])):
            thing = getattr(module, name)
            if inspect.ismodule(thing) or (not hasattr(module, "__all__") and foreign(thing, path)):
                continue
            yield f"python {path}.{name}{parameters(thing)}"
            if inspect.isclass(thing):
                yield from methods(f"{path}.{name}", thing)


def import_home(path: str) -> ModuleType:
    """Import a module that users reach as an attribute, whatever its file is."""
    package, _, name = path.rpartition(".")
    found = getattr(import_home(package), name, None) if package else None
    return found if inspect.ismodule(found) else import_module(path)


def foreign(thing: Any, path: str) -> bool:
    """Return True if something is defined in another module."""
    return getattr(thing, "__module__", path) != path


def parameters(thing: Any) -> str:
    """Return the names of parameters in brackets, without defaults and annotations."""
    if not callable(thing):
        return ""
    try:
        return f"({', '.join(inspect.signature(thing).parameters)})"
    except (TypeError, ValueError):
        return "(...)"


def methods(owner: str, thing: type) -> Iterator[str]:
    """Yield the public methods and attributes of a class, inherited ones of this package too."""
    names = {
        name
        for base in thing.__mro__
        if base.__module__.startswith("cranfield")
        for name in [*vars(base), *vars(base).get("__annotations__", ())]
        if not name.startswith("_")
    }
    for name in sorted(names):
        member = inspect.getattr_static(thing, name, None)
        is_method = inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)
        yield f"python {owner}.{name}{parameters(getattr(thing, name)) if is_method else ''}"


def command_names(command: click.Command, path: str = "cranfield") -> Iterator[str]:
    """Yield the commands, their options and arguments, and the choices of each."""
    yield f"command {path}"
    context = click.Context(command)
    for one in command.get_params(context):
        label = " ".join([*one.opts, *one.secondary_opts]) or str(one.name)
        yield f"command {path} {label}"
        if isinstance(one.type, click.Choice):
            yield from (f"command {path} {label} = {choice}" for choice in one.type.choices)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from command_names(inner, f"{path} {name}")


def catalogue_names() -> Iterator[str]:
    """Yield the names of measures, tests, methods, models and other declared things."""
    for kind, place in CATALOGUES:
        module, _, name = place.partition(":")
        yield from (f"{kind} {one}" for one in sorted(map(str, getattr(import_home(module), name))))


def main() -> None:
    """Print the list, a line for each thing."""
    from cranfield.cli.main import app

    lines = [*python_names(), *command_names(app), *catalogue_names()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
