"""Labels of documents by several workers, people or machines, and their aggregation."""

from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.base.spec import Registry

CROWD_MODELS: Registry[Callable[..., Any]] = Registry(
    "crowd model", "consensus models", package="cranfield.assess.labels", decorators="crowd_model"
)

QUALITIES = {
    "majority": "weight of the labels of the worker",
    "wawa": "proportion of labels that equal the unweighted majority vote",
    "dawid-skene": "probability that a label of the worker is the true grade",
    "one-coin": "probability that a label of the worker is the true grade, equal for all grades",
    "glad": "probability that a label of a pair of ease 1 is the true grade",
    "mace": "probability that the worker copies the true grade instead of spamming",
}
"""Quality of a worker by each crowd model."""

CrowdModel = TypeVar("CrowdModel", bound=Callable[..., Any])


def crowd_model(function: CrowdModel) -> CrowdModel:
    """Register a function as a crowd model under its own name."""
    return function
