"""Packages that are not always there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cranfield.base.errors import MissingDependencyError


def optional_module(name: str, package: str = "", install: str = "", user: str = "this") -> Any:
    """Import a module of an optional package, or say who needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = package or name
        install = install or f"'cranfield[{package}]'"
        raise MissingDependencyError(
            f"{user} needs the package {package}: pip install {install}"
        ) from error
