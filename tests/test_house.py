"""The order of the house: no circles of imports, and names that do not hide others."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "src/cranfield"


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imported(path: Path) -> Iterator[str]:
    """Modules that a module names in any import: of functions and of type checkers too."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def test_no_circle_of_imports() -> None:
    graph = {name: {*imported(path)} & {*MODULES} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' <- '.join(error.args[1])}") from None


def test_no_string_names_a_module_of_a_higher_layer() -> None:
    """The contract of layers reads imports; a module loaded by its name would pass it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = project["tool"]["importlinter"]["contracts"]
    layer_of = {
        package: k
        for k, layer in enumerate(contract["layers"])
        for package in layer.replace(" ", "").split("|")
    }

    def layer(name: str) -> int | None:
        return layer_of.get(".".join(name.split(".")[:2]))

    higher = []
    for module, path in MODULES.items():
        below = layer(module)
        for node in nodes(path):
            if isinstance(node, ast.Constant) and node.value in MODULES and below is not None:
                above = layer(node.value)
                if above is not None and above < below:
                    higher.append(f"{module}: {node.value}")
    assert not higher


ROOMS = sorted({name.split(".")[1] for name in MODULES if name.count(".") > 1})


@pytest.mark.parametrize("package", ["", *(f".{name}" for name in ROOMS)])
def test_no_module_hides_a_public_name(package: str) -> None:
    room = import_module(f"cranfield{package}")
    public = [name for name in getattr(room, "__all__", ()) if f"{room.__name__}.{name}" in MODULES]
    assert all(inspect.ismodule(getattr(room, name)) for name in public), public


def test_architecture_names_every_module_and_only_these() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    stems = {name.rpartition(".")[2] for name, path in MODULES.items() if path.stem[:2] != "__"}
    rooms = text.split("## Rooms")[1].split("```")[1]
    assert not {stem for stem in stems if not re.search(rf"\b{stem}\b", rooms)}
    paths = re.findall(r"`([\w/]+/\w+\.py)`", text)
    assert not [path for path in paths if not any((top / path).exists() for top in (PACKAGE, ROOT))]
