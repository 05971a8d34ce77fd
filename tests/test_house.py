"""The order of the house: no circles of imports, small folders, names that tell modules apart."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "src/cranfield"
MOST_MODULES = 15


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """Modules that a module names in any import: of functions and of type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def test_folders_are_small() -> None:
    folders = defaultdict(list)
    for path in MODULES.values():
        folders[path.parent].append(path.name)
    full = {str(folder): len(names) for folder, names in folders.items()}
    assert {folder: size for folder, size in full.items() if size > MOST_MODULES} == {}


def alike(name: str) -> str:
    """What near twins have in common: case, underscores and a plural make no other name."""
    return name.lower().replace("_", "").removesuffix("s")


def test_no_near_twins() -> None:
    """Modules and folders that stand side by side have names of their own."""
    seen: dict[tuple[Path, str], str] = {}
    for name, path in MODULES.items():
        if name == "cranfield":
            continue
        own = path.parent if path.name == "__init__.py" else path
        key = (own.parent, alias := alike(own.stem))
        assert key not in seen, f"{name} and {seen[key]} have nearly the same name {alias}"
        seen[key] = name


def test_no_module_hides_a_name_of_the_measures() -> None:
    import cranfield.measures as measures

    hidden = [name for name in measures.__all__ if (PACKAGE / "measures" / f"{name}.py").exists()]
    assert not hidden
