"""Hasse diagram of all runs of a length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt
import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.reporting.charts import theme
from cranfield.scales.orders import covers, levels
from cranfield.scales.runs import all_runs, check_size, has_more_runs

N_SWEEPS = 24  # number of sweeps over all layers


@dataclass(frozen=True, eq=False)
class DiagramLayout:
    """Horizontal positions of nodes, and of edges in each layer that they pass."""

    positions: Floats
    edge_paths: tuple[Floats, ...]
    n_crossings: int


def lay_out_layers(levels: Sequence[int] | Ints, edges: Ints) -> DiagramLayout:
    """Lay out a diagram with nodes in layers, and edges to nodes in higher layers.

    This is the method of Sugiyama, Tagawa and Toda (1981). An edge that skips layers gets a dummy
    node in each skipped layer. Sweeps sort each layer by the mean positions of neighbours, and the
    order with the fewest crossings is used. Then nodes move towards the means of their neighbours.
    """
    node_levels = np.asarray(levels, dtype=np.int64)
    level, links, chains = _split_edges(node_levels, np.asarray(edges).reshape(-1, 2))
    layers = [np.flatnonzero(level == k) for k in range(int(level.max()) + 1)]
    position = np.zeros(len(level))
    for layer in layers:
        position[layer] = np.arange(layer.size)
    best_position, min_crossings = position.copy(), _count_crossings(layers, links, position)
    for sweep in range(N_SWEEPS):
        is_upward = sweep % 2 == 0
        for layer in layers if is_upward else layers[::-1]:
            mean = _average_neighbours(layer, links if is_upward else links[:, ::-1], position)
            # Tied means keep their order, or reverse it in every other pair of sweeps.
            ties = position[layer] * (1 if sweep % 4 < 2 else -1)
            position[layer[np.lexsort((ties, mean))]] = np.arange(layer.size)
        n_crossings = _count_crossings(layers, links, position)
        if n_crossings < min_crossings:
            best_position, min_crossings = position.copy(), n_crossings
    positions = _straighten(layers, links, best_position)
    edge_paths = tuple(positions[np.array(chain)] for chain in chains)
    return DiagramLayout(positions[: node_levels.size], edge_paths, min_crossings)


def _split_edges(node_levels: Ints, edges: Ints) -> tuple[Ints, Ints, list[list[int]]]:
    """Split edges that skip layers into links from layer to layer."""
    level = node_levels.tolist()
    links, chains = [], []
    for lower, upper in edges.tolist():
        chain = [lower]
        for dummy_level in range(node_levels[lower] + 1, node_levels[upper]):
            chain.append(len(level))
            level.append(dummy_level)
        chain.append(upper)
        chains.append(chain)
        links += list(pairwise(chain))
    return np.array(level), np.array(links, dtype=np.int64).reshape(-1, 2), chains


def _average_neighbours(layer: Ints, links: Ints, position: Floats) -> Floats:
    """Return the mean position of the sources of each node's links, or its own without links."""
    size = position.size
    position_sum = np.bincount(links[:, 1], position[links[:, 0]], size)[layer]
    n_links = np.bincount(links[:, 1], minlength=size)[layer]
    return np.where(n_links > 0, position_sum / np.maximum(n_links, 1), position[layer])


def _count_crossings(layers: Sequence[Ints], links: Ints, position: Floats) -> int:
    """Count pairs of links between the same layers whose ends are in opposite order."""
    n_crossings = 0
    for layer in layers:
        layer_links = links[np.isin(links[:, 0], layer)]
        low, high = position[layer_links[:, 0]], position[layer_links[:, 1]]
        is_crossing = np.sign(low[:, None] - low) * np.sign(high[:, None] - high) < 0
        n_crossings += int(is_crossing.sum()) // 2
    return n_crossings


def _straighten(layers: Sequence[Ints], links: Ints, order: Floats) -> Floats:
    """Move nodes towards the mean of their neighbours, keeping the order within layers."""
    position = order.copy()
    for layer in layers:
        position[layer] = order[layer] - (layer.size - 1) / 2
    all_links = np.vstack([links, links[:, ::-1]])
    for _ in range(N_SWEEPS):
        for layer in layers:
            sorted_layer = layer[np.argsort(order[layer])]
            means = _average_neighbours(sorted_layer, all_links, position)
            position[sorted_layer] = theme.space_out(means, np.ones(layer.size))
    return np.asarray(position - (position.max() + position.min()) / 2)


MAX_RUNS = 128  # maximum number of runs in a legible diagram

RUN_GAP, RUN_HEIGHT, LEVEL_HEIGHT = 22, 22, 52
"""Horizontal gap between runs, height of a run, and vertical distance of levels, in pixels."""

LETTER_WIDTH = 7.3  # width of a character of a run, in pixels
STEPS = {"swap": [1, 0], "replacement": [5, 3]}  # dash pattern of the edges of each step


@theme.declare_chart("hasse", "a length")
def hasse_chart(length: int, grades: int = 1) -> alt.LayerChart:
    """Draw the partial order of all runs of a length by swaps and replacements of documents.

    If a path leads upward from one run to another, every measure that rewards swaps and
    replacements prefers the upper run. Without a path, measures may disagree. A colour is a sum of
    grades.

    Parameters
    ----------
    length
        Number of ranks of the runs.
    grades
        Highest grade.

    Raises
    ------
    PolicyError
        For an invalid length or grade, and for more than 128 runs, which would be illegible.

    Notes
    -----
    Figure 1 of Ferrante, Ferro and Fuhr (2021) is this chart for length 4. The height of a run is
    the number of steps on the longest path from the worst run. With more than two grades, some
    edges skip levels and bend around the runs of these levels.

    Examples
    --------
    >>> chart = hasse_chart(2)
    >>> len(chart.to_dict()["layer"])
    3
    """
    nodes, edge_paths, layout = lay_out_diagram(length, grades)
    box_width = LETTER_WIDTH * max(map(len, nodes["run"])) + 14
    min_x = min(path.min() for path in layout.edge_paths) - 0.5
    max_x = max(path.max() for path in layout.edge_paths) + 0.5
    max_level = int(nodes["level"].to_numpy().max())
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[min_x, max_x], nice=False))
    y = alt.Y("level:Q", axis=None, scale=alt.Scale(domain=[-0.5, max_level + 0.5], nice=False))
    steps = {kind: dash for kind, dash in STEPS.items() if (edge_paths["step"] == kind).any()}
    legend = alt.Legend(title="one step up", symbolSize=400)
    dashes = theme.map_values(alt.StrokeDash, "step", steps, steps.values(), legend=legend)
    lines = theme.start_chart(edge_paths).mark_line(color="#888888", strokeWidth=1.25)
    lines = lines.encode(x=x, y=y, order="order:Q", detail="edge:N", strokeDash=dashes)
    base = theme.start_chart(nodes).encode(x=x, y=y)
    totals = sorted(set(nodes["total"].to_list()))
    colours = [theme.COLOURS[k % len(theme.COLOURS)] for k in range(len(totals))]
    title = "relevant documents" if grades == 1 else "sum of grades"
    legend = alt.Legend(title=title, symbolType="square", symbolSize=160)
    # The width of the symbol, two units, is the square root of its size.
    half_height = RUN_HEIGHT / box_width
    boxes = base.mark_point(
        shape=f"M-1,{-half_height:.3f}h2v{2 * half_height:.3f}h-2z",
        size=box_width**2,
        fill="white",
        opacity=1,
        strokeWidth=2.5,
    ).encode(
        stroke=theme.map_values(alt.Stroke, "total", totals, colours, encoding="O", legend=legend),
        tooltip=["run:N", "level:Q", "total:Q"],
    )
    run_labels = base.mark_text(font="monospace", fontSize=12, baseline="middle").encode(
        text="run:N"
    )
    return theme.combine_layers(
        lines,
        boxes,
        run_labels,
        width=round((box_width + RUN_GAP) * (max_x - min_x)),
        height=LEVEL_HEIGHT * (max_level + 1),
        description=f"Hasse diagram of the {len(nodes)} runs of length {length} with grades 0 to"
        f" {grades}: a line joins two runs if a single swap or replacement of documents turns the"
        " lower run into the upper one, and no run is between them.",
    )


def lay_out_diagram(
    length: int, grades: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame, DiagramLayout]:
    """Lay out the Hasse diagram of all runs of a length: nodes, points of edges, and layout.

    The points of an edge are in order from the lower run, `order` 0, to the upper one.
    """
    check_size(length, grades)
    if has_more_runs(MAX_RUNS, length, grades):
        raise PolicyError(
            f"a diagram can have at most {MAX_RUNS} runs, got {grades + 1}^{length} runs of length"
            f" {length}"
        )
    runs, edges = all_runs(length, grades), covers(length, grades)
    node_levels = levels(length, grades)
    layout = lay_out_layers(node_levels, edges)
    separator = "" if grades < 10 else ","
    names = [separator.join(map(str, run)) for run in runs.tolist()]
    nodes = pl.DataFrame(
        {"run": names, "total": runs.sum(axis=1), "level": node_levels, "x": layout.positions}
    )
    points = [
        {
            "edge": index,
            "lower": names[low],
            "upper": names[high],
            # A replacement changes one grade, a swap two.
            "step": "swap" if (runs[low] != runs[high]).sum() == 2 else "replacement",
            "order": k,
            "x": float(x),
            "level": int(node_levels[low]) + k,
        }
        for index, ((low, high), path) in enumerate(
            zip(edges.tolist(), layout.edge_paths, strict=True)
        )
        for k, x in enumerate(path)
    ]
    return nodes, pl.DataFrame(points), layout
