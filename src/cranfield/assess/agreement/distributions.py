r"""Ordinal quantification and classification: divergences of distributions, and CEM-ORD.

Divergences between an estimated distribution p and a gold distribution q over L ordered classes,
with cumulative proportions P and Q:

=====  ============================================================================================
NMD    :math:`\frac{1}{L-1} \sum_i |P_i - Q_i|`, the normalised match distance
RNOD   :math:`\sqrt{OD(p \| q) / (L-1)}`, where OD is the mean over the classes with
       :math:`q_i > 0` of :math:`\sum_j |i-j| (p_j - q_j)^2`: root normalised order-aware divergence
RSNOD  :math:`\sqrt{(OD(p \| q) + OD(q \| p)) / (2 (L-1))}`, which is symmetric
JSD    Jensen-Shannon divergence with the binary logarithm, which ignores the order of classes
=====  ============================================================================================

All are 0 for equal distributions and at most 1. RNOD is symmetric if the same classes have labels
in both distributions. Source: Sakai (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, as_array, check_choice, check_list, quote
from cranfield.base.kinds import OneOf

ROUNDING = 1e-6  # Maximum deviation from 1 of a sum of rounded proportions


def _compute_order_distance(p: Floats, q: Floats) -> Floats:
    """Compute OD(p || q), a mean over the classes with q > 0."""
    classes = np.arange(p.shape[-1])
    weighted_squares = (p - q) ** 2 @ np.abs(classes[:, None] - classes).astype(np.float64)
    n_used = np.maximum((q > 0).sum(axis=-1), 1)
    return np.asarray(np.where(q > 0, weighted_squares, 0.0).sum(axis=-1) / n_used)


def _compute_jensen_shannon(p: Floats, q: Floats) -> Floats:
    mixture = (p + q) / 2
    divergence = np.zeros(np.broadcast_shapes(p.shape, q.shape)[:-1])
    for proportions in (p, q):
        ratios = np.where(proportions > 0, proportions, 1.0) / np.where(mixture > 0, mixture, 1.0)
        terms = proportions * np.where(proportions > 0, np.log2(ratios), 0.0)
        divergence += terms.sum(axis=-1) / 2
    return np.clip(divergence, 0.0, 1.0)


DIVERGENCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "NMD": lambda p, q: np.abs(np.cumsum(p - q, axis=-1)).sum(axis=-1) / (p.shape[-1] - 1),
    "RNOD": lambda p, q: np.sqrt(_compute_order_distance(p, q) / (p.shape[-1] - 1)),
    "RSNOD": lambda p, q: np.sqrt(
        (_compute_order_distance(p, q) + _compute_order_distance(q, p)) / 2 / (p.shape[-1] - 1)
    ),
    "JSD": _compute_jensen_shannon,
}


def divergence(
    estimate: ArrayLike, gold: ArrayLike, measure: Annotated[str, OneOf(tuple(DIVERGENCES))] = "NMD"
) -> Any:
    """Compute the divergence between an estimated and a gold distribution of labels.

    Parameters
    ----------
    estimate, gold
        Proportions of at least two classes, in their order; shape (..., classes). Each distribution
        sums to 1, within 1e-6.
    measure
        `NMD`, `RNOD` or `RSNOD` for ordered classes, or `JSD` for unordered ones.

    Returns
    -------
    float or numpy.ndarray
        Divergence, from 0 (equal distributions) to 1; shape (...,).

    Raises
    ------
    PolicyError
        For an unknown measure, negative proportions, a distribution of one class or that does not
        sum to 1, different numbers of classes, or shapes that cannot be broadcast.

    References
    ----------
    Sakai, T. (2021). Evaluating evaluation measures for ordinal classification and ordinal
    quantification. ACL-IJCNLP 2021, 2759-2769.

    Examples
    --------
    >>> estimate, gold = [0.2, 0.5, 0.3], [0.0, 0.4, 0.6]
    >>> divergence(estimate, gold), divergence(estimate, gold, "RNOD")
    (0.25, 0.23452...)
    >>> divergence(gold, estimate, "RNOD"), divergence(gold, estimate, "RSNOD")
    (0.26140..., 0.24832...)
    """
    check_choice("measure", measure, DIVERGENCES)
    p, q = _check_distribution("estimate", estimate), _check_distribution("gold", gold)
    if p.shape[-1] != q.shape[-1]:
        sizes = f"{p.shape[-1]} and {q.shape[-1]}"
        raise PolicyError(f"expected as many classes in both distributions, got {sizes}")
    try:
        p, q = np.broadcast_arrays(p, q)
    except ValueError:
        raise PolicyError(f"expected shapes that broadcast, got {p.shape} and {q.shape}") from None
    values = DIVERGENCES[measure](p, q)
    return values if values.ndim else float(values)


def _check_distribution(name: str, values: Any) -> Floats:
    message = f"{name} must be proportions of at least 2 classes that sum to 1"
    table = np.asarray(as_array(values, message, np.float64))
    if table.ndim < 1 or table.shape[-1] < 2:
        raise PolicyError(f"{message}, got shape {table.shape}")
    sums = np.atleast_1d(table.sum(axis=-1))
    invalid_sums = sums[~(np.abs(sums - 1) <= ROUNDING)]
    if invalid_sums.size:
        raise PolicyError(f"{message}, got a sum of {invalid_sums[0]:g}")
    if (table < 0).any():
        raise PolicyError(f"{message}, got a proportion below 0")
    return table


def compute_closeness(joint: Floats) -> Floats:
    """Compute CEM-ORD from counts of items by gold and assigned class, the last two axes."""
    counts = joint.sum(axis=-1)
    cumulative = np.cumsum(counts, axis=-1)
    gold, assigned = np.indices(joint.shape[-2:])
    # Number of items from the assigned class, which counts half, to the gold class.
    n_between = np.where(
        gold > assigned,
        cumulative[..., gold] - cumulative[..., assigned],
        cumulative[..., assigned] - counts[..., assigned] - (cumulative - counts)[..., gold],
    )
    n_between = counts[..., assigned] / 2 + np.where(gold == assigned, 0.0, n_between)
    n_items = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        proximity = -np.log2(n_between / n_items[..., None, None])
        total_proximity = np.where(joint > 0, joint * proximity, 0.0).sum(axis=(-2, -1))
        own_proximity = counts * np.einsum("...ii->...i", proximity)
        max_proximity = np.where(counts > 0, own_proximity, 0.0).sum(axis=-1)
        return np.asarray(np.minimum(total_proximity / max_proximity, 1.0))


def cem_ord(assigned: Iterable[Any], gold: Iterable[Any], classes: Iterable[Any]) -> float:
    r"""Compute CEM-ORD, the closeness of assigned ordinal classes to gold classes.

    .. math:: \frac{\sum_d prox(s_d, g_d)}{\sum_d prox(g_d, g_d)}, \quad
        prox(a, b) = -\log_2 \frac{n_a / 2 + \sum_{c = a+1}^{b} n_c}{N}

    with n the number of items by gold class; if b is before a, the sum is from b to a - 1. The
    fewer items are between two classes, the higher is their proximity.

    Parameters
    ----------
    assigned, gold
        Class of each item by a system or judge, and its gold class.
    classes
        All classes, in ascending order.

    Returns
    -------
    float
        CEM-ORD, from 0 to 1 (all assigned classes equal the gold classes).

    Raises
    ------
    PolicyError
        For an unknown or repeated class, different numbers of assigned and gold classes, or no
        items.

    References
    ----------
    Amigó, E., Gonzalo, J., Mizzaro, S. and Carrillo-de-Albornoz, J. (2020). An effectiveness metric
    for ordinal classification: formal properties and experimental results. ACL 2020, 3938-3949.

    Examples
    --------
    >>> cem_ord(list("0001112210"), list("0000111222"), classes=["0", "1", "2"])
    0.72600...
    """
    for name, values in {"assigned": assigned, "gold": gold, "classes": classes}.items():
        check_list(name, values)
    class_list = list(classes)
    index_of = {label: index for index, label in enumerate(class_list)}
    if len(index_of) < len(class_list):
        raise PolicyError(f"classes must be distinct, got {', '.join(map(str, class_list))}")
    labels, gold_labels = list(assigned), list(gold)
    if len(labels) != len(gold_labels) or not labels:
        sizes = f"{len(labels)} and {len(gold_labels)}"
        raise PolicyError(f"expected as many assigned as gold classes, at least one, got {sizes}")
    for label in (*gold_labels, *labels):
        if label not in index_of:
            names = ", ".join(map(str, index_of))
            raise PolicyError(f"unknown class {quote(label)}; expected one of: {names}")
    joint = np.zeros((len(index_of), len(index_of)))
    for gold_label, label in zip(gold_labels, labels, strict=True):
        joint[index_of[gold_label], index_of[label]] += 1
    return float(compute_closeness(joint))
