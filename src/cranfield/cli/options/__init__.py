"""Shared options of commands: all names of its modules, each module loaded on first use."""

from importlib import import_module
from typing import Any

MODULES = (
    "declaring",
    "signatures",
    "output",
    "hints",
    "judging",
    "scores",
    "studies",
    "campaigns",
)


def __getattr__(name: str) -> Any:
    if name not in MODULES and name[0] != "_":
        for module in MODULES:
            home = import_module(f"{__name__}.{module}")
            if hasattr(home, name):
                return globals().setdefault(name, getattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
