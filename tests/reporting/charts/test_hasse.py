"""The Hasse diagram: its edges are those of the order, found by trying all pairs."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from cranfield.reporting.charts.hasse import hasse_chart, lay_out_diagram, lay_out_layers

SIZES = [(1, 1), (2, 1), (4, 1), (5, 1), (1, 3), (2, 2), (3, 2), (2, 4)]

Run = tuple[int, ...]


def one_step_up(run: Run, grades: int) -> set[Run]:
    """Every run that a swap or a replacement makes of a run, as the paper defines them."""
    found = set()
    for k, grade in enumerate(run):
        for better in range(grade + 1, grades + 1):
            found.add((*run[:k], better, *run[k + 1 :]))
    for i, j in combinations(range(len(run)), 2):
        if run[j] > run[i]:
            swapped = list(run)
            swapped[i], swapped[j] = run[j], run[i]
            found.add(tuple(swapped))
    return found


def covering(length: int, grades: int) -> set[tuple[str, str]]:
    """Pairs with nothing between them, of the order that the steps make."""
    runs = list(product(range(grades + 1), repeat=length))
    above: dict[Run, set[Run]] = {}
    # What is above a run has a higher number, so that it is known already.
    for run in reversed(runs):
        steps = one_step_up(run, grades)
        above[run] = steps.union(*(above[step] for step in steps))
    return {
        ("".join(map(str, low)), "".join(map(str, high)))
        for low in runs
        for high in above[low]
        if not any(high in above[between] for between in above[low])
    }


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_edges_are_the_covering_relation(length: int, grades: int) -> None:
    nodes, ways, _ = lay_out_diagram(length, grades)
    assert len(nodes) == (grades + 1) ** length
    ends = ways.filter(order=0)
    assert set(ends.select("lower", "upper").rows()) == covering(length, grades)
    assert len(ends) == ends.select("lower", "upper").n_unique()


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_steps_are_what_they_are_called(length: int, grades: int) -> None:
    _, ways, _ = lay_out_diagram(length, grades)
    for lower, upper, step in ways.filter(order=0).select("lower", "upper", "step").rows():
        assert (sorted(lower) == sorted(upper)) == (step == "swap")
        if step == "replacement":
            assert sum(a != b for a, b in zip(lower, upper, strict=True)) == 1


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_ways_join_their_ends_and_go_up(length: int, grades: int) -> None:
    nodes, ways, _ = lay_out_diagram(length, grades)
    place = {
        run: (across, level) for run, across, level in nodes.select("run", "x", "level").rows()
    }
    for _, way in ways.group_by("edge"):
        points = way.sort("order").select("x", "level").rows()
        assert points[0] == place[way["lower"][0]]
        assert points[-1] == place[way["upper"][0]]
        assert all(after[1] == before[1] + 1 for before, after in pairwise(points))


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_runs_do_not_cover_each_other_or_a_passing_line(length: int, grades: int) -> None:
    nodes, ways, _ = lay_out_diagram(length, grades)
    inner = ways.filter(order=0).select("edge").join(ways, on="edge")
    for (level,), layer in nodes.group_by("level"):
        own = layer["x"].to_list()
        ends = set(layer["run"])
        passing = [
            row["x"]
            for row in inner.filter(level=level).iter_rows(named=True)
            if not {row["lower"], row["upper"]} & ends
        ]
        assert np.diff(sorted([*own, *passing])).min(initial=1.0) >= 1 - 1e-9


def test_figure_1() -> None:
    """Sixteen runs on eleven levels, nothing crosses, and the paper's pairs are apart."""
    nodes, ways, layout = lay_out_diagram(4)
    assert nodes["level"].n_unique() == 11
    assert layout.n_crossings == 0
    assert ways.filter(order=0)["step"].value_counts(sort=True).rows() == [
        ("swap", 12),
        ("replacement", 8),
    ]
    level = dict(nodes.select("run", "level").rows())
    assert level["1100"] == level["1011"]
    assert level["0111"] < level["1100"]
    assert nodes.filter(run="1101")["total"].item() == 3


def test_what_is_drawn() -> None:
    chart = hasse_chart(4).to_dict(validate=False)
    lines, boxes, words = chart["layer"]
    nodes = (
        chart["datasets"][boxes["data"]["name"]]
        if "name" in boxes["data"]
        else boxes["data"]["values"]
    )
    assert {row["run"] for row in nodes} == {"".join(bits) for bits in product("01", repeat=4)}
    assert words["encoding"]["text"]["field"] == "run"
    assert lines["encoding"]["strokeDash"]["scale"]["domain"] == ["swap", "replacement"]
    assert "16 runs of length 4" in chart["description"]
    only = hasse_chart(1).to_dict(validate=False)["layer"][0]["encoding"]["strokeDash"]["scale"][
        "domain"
    ]
    assert only == ["replacement"]


def test_layers_untangle_what_can_be_untangled() -> None:
    """Two ladders whose rungs are given in opposite order."""
    levels = [0] * 4 + [1] * 4
    edges = np.array([[k, 7 - k] for k in range(4)])
    assert lay_out_layers(levels, edges).n_crossings == 0
    crossed = np.array([[0, 2], [0, 3], [1, 2], [1, 3]])
    assert lay_out_layers([0, 0, 1, 1], crossed).n_crossings == 1


def test_single_nodes() -> None:
    assert lay_out_layers([0], np.empty((0, 2), dtype=np.int64)).positions.tolist() == [0.0]
    assert lay_out_layers([0, 0], np.empty((0, 2), dtype=np.int64)).positions.tolist() == [
        -0.5,
        0.5,
    ]
