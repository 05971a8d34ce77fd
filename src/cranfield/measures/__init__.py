"""Measures: from judged runs to scores.

Every measure of the library is an attribute of this module; `@` sets a cutoff, a call parameters.

>>> from cranfield.measures import RBP, nDCG
>>> nDCG @ 10, RBP(p=0.5)
(nDCG@10, RBP(p=0.5))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.base.text import suggest_names
from cranfield.measures.families import ALIASES, MODULES, REGISTRY

if TYPE_CHECKING:
    from cranfield.measures.base import Info, Measure, measure
    from cranfield.measures.grammar import define, parse_measure, parse_measures
    from cranfield.measures.users.model import UserModel
    from cranfield.measures.users.standard_models import user_model

_TOOLS = {
    "Info": "base",
    "Measure": "base",
    "UserModel": "users.model",
    "define": "grammar",
    "measure": "base",
    "parse_measure": "grammar",
    "parse_measures": "grammar",
    "user_model": "users.standard_models",
}
"""Names other than measures that are loaded at their first use, and the modules of these names."""

__all__ = [  # noqa: PLE0604
    "ALIASES",
    "REGISTRY",
    "Info",
    "Measure",
    "UserModel",
    "define",
    "measure",
    "parse_measure",
    "parse_measures",
    "user_model",
    *(name for name, module in MODULES.items() if module.startswith(__name__)),
]


def __getattr__(name: str) -> Any:
    """Load a measure, or a name in `_TOOLS`, at its first use."""
    if name in _TOOLS:
        return getattr(import_module(f"{__name__}.{_TOOLS[name]}"), name)
    if name not in __all__:
        hint = suggest_names(name, __all__, 1)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    measure_class = REGISTRY[name]
    is_wrapping = bool(measure_class.inner_example)
    instance = globals()[name] = measure_class if is_wrapping else measure_class()
    return instance


def __dir__() -> list[str]:
    return list(__all__)
