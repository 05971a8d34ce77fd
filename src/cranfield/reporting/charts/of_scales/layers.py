"""Where to put the nodes of a diagram in layers, so that few of its edges cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.reporting.charts.layout import apart

SWEEPS = 24
"""Times that the layers are gone through."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Places across of nodes, and of each edge from layer to layer; how many pairs of edges cross.

    Neighbours in a layer are 1 apart or more.
    """

    across: Floats
    ways: tuple[Floats, ...]
    crossings: int


def layered(levels: Sequence[int] | Ints, edges: Ints) -> Layout:
    """Lay out a diagram whose nodes stand in layers, and whose edges join a node to a higher one.

    Notes
    -----
    The method of Sugiyama, Tagawa and Toda (1981). An edge that skips layers gets a place of its
    own in each of them. Layers are sorted by the mean place of their neighbours below, then above,
    up and down; the order with the fewest crossings is kept. Then each layer moves towards the
    means of all neighbours, as far as its order and the distances allow.
    """
    height = np.asarray(levels, dtype=np.int64)
    level, links, chains = _with_places_between(height, np.asarray(edges).reshape(-1, 2))
    layers = [np.flatnonzero(level == k) for k in range(int(level.max()) + 1)]
    place = np.zeros(len(level))
    for layer in layers:
        place[layer] = np.arange(layer.size)
    best, fewest = place.copy(), _crossings(layers, links, place)
    for sweep in range(SWEEPS):
        upwards = sweep % 2 == 0
        for layer in layers if upwards else layers[::-1]:
            mean = _means(layer, links if upwards else links[:, ::-1], place)
            # Means that tie are left in their order, or turned over in every other pair of sweeps.
            ties = place[layer] * (1 if sweep % 4 < 2 else -1)
            place[layer[np.lexsort((ties, mean))]] = np.arange(layer.size)
        found = _crossings(layers, links, place)
        if found < fewest:
            best, fewest = place.copy(), found
    across = _straightened(layers, links, best)
    return Layout(across[: height.size], tuple(across[np.array(chain)] for chain in chains), fewest)


def _with_places_between(height: Ints, edges: Ints) -> tuple[Ints, Ints, list[list[int]]]:
    """Cut edges that skip layers into links from layer to layer."""
    level = height.tolist()
    links, chains = [], []
    for low, high in edges.tolist():
        chain = [low]
        for between in range(height[low] + 1, height[high]):
            chain.append(len(level))
            level.append(between)
        chain.append(high)
        chains.append(chain)
        links += list(pairwise(chain))
    return np.array(level), np.array(links, dtype=np.int64).reshape(-1, 2), chains


def _means(layer: Ints, links: Ints, place: Floats) -> Floats:
    """Mean place of the nodes that links come from; its own place for a node with none."""
    size = place.size
    total = np.bincount(links[:, 1], place[links[:, 0]], size)[layer]
    count = np.bincount(links[:, 1], minlength=size)[layer]
    return np.where(count > 0, total / np.maximum(count, 1), place[layer])


def _crossings(layers: Sequence[Ints], links: Ints, place: Floats) -> int:
    """Count pairs of links between the same two layers whose ends are in opposite order."""
    found = 0
    for layer in layers:
        own = links[np.isin(links[:, 0], layer)]
        low, high = place[own[:, 0]], place[own[:, 1]]
        opposite = np.sign(low[:, None] - low) * np.sign(high[:, None] - high) < 0
        found += int(opposite.sum()) // 2
    return found


def _straightened(layers: Sequence[Ints], links: Ints, order: Floats) -> Floats:
    """Keep the order within layers, and move each to the middle of its neighbours."""
    across = order.copy()
    for layer in layers:
        across[layer] = order[layer] - (layer.size - 1) / 2
    both = np.vstack([links, links[:, ::-1]])
    for _ in range(SWEEPS):
        for layer in layers:
            sorted_layer = layer[np.argsort(order[layer])]
            wanted = _means(sorted_layer, both, across)
            across[sorted_layer] = apart(wanted, np.ones(layer.size))
    return np.asarray(across - (across.max() + across.min()) / 2)
