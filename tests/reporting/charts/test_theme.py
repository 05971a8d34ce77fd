"""Lines of a chart are distinguishable by colour, and without it."""

from __future__ import annotations

from cranfield.reporting.charts.theme import COLOURS, encode_colours


def looks(count: int) -> list[tuple[str, tuple[int, ...]]]:
    marks = encode_colours("system", [f"s{k}" for k in range(count)])
    colours, dashes = (marks[name].to_dict()["scale"]["range"] for name in ("color", "strokeDash"))
    return list(zip(colours, map(tuple, dashes), strict=True))


def test_eight_lines_differ_without_colour() -> None:
    colours, dashes = zip(*looks(8), strict=True)
    assert set(colours) == set(COLOURS)
    assert len({*dashes}) == 8


def test_many_lines_have_looks_of_their_own() -> None:
    assert len({*looks(40)}) == 40
