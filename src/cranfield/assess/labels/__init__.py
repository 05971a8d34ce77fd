"""Labels of documents by several people or machines, and their aggregation to judgments."""

from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.base.spec import Registry

CROWD_MODELS: Registry[Callable[..., Any]] = Registry(
    "crowd model", "consensus models", package="cranfield.assess.labels", decorators="crowd_model"
)

Model = TypeVar("Model", bound=Callable[..., Any])


def crowd_model(function: Model) -> Model:
    """Register a function as a crowd model under its own name."""
    return function
