"""Labels of the same documents by several people or machines, and judgments made from them."""

from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.base.spec import Registry

CROWD_MODELS: Registry[Callable[..., Any]] = Registry(
    "crowd model",
    "consensus models",
    package="cranfield.assess.labels",
    decorators="crowd_model",
)
"""Functions of labels that return their consensus, by name."""

Model = TypeVar("Model", bound=Callable[..., Any])


def crowd_model(function: Model) -> Model:
    """Declare a function as a crowd model, by its own name."""
    return function
