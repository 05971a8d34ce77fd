"""Shared options of commands; their modules are loaded on first use of a name."""

from importlib import import_module
from typing import Any

MODULES = (
    "declaring",
    "signatures",
    "output",
    "hints",
    "judging",
    "scores",
    "comparisons",
    "studies",
    "campaigns",
)


def __getattr__(name: str) -> Any:
    if name not in MODULES and name[0] != "_":
        for module in MODULES:
            submodule = import_module(f"{__name__}.{module}")
            if hasattr(submodule, name):
                return globals().setdefault(name, getattr(submodule, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
