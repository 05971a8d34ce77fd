"""Labels of the same documents by several people or machines, and judgments made from them."""

from collections.abc import Callable
from typing import Any

from cranfield.base.spec import Registry

CROWD_MODELS: Registry[Callable[..., Any]] = Registry(
    "crowd model",
    "consensus: majority wawa models: dawid-skene one-coin glad mace",
    package="cranfield.assess.labels",
)
"""Functions of labels that return their consensus, by name."""
