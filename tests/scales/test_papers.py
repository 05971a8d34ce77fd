"""What the papers print of scales: examples, figures and counts, as literal values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cranfield as cf
from cranfield.scales import all_runs, score_runs

DCG = "DCG(discount='max(1,log2(rank))')"


def ordered(measure: str) -> list[tuple[float, list[str]]]:
    """Return the values of all runs of length 4 with four relevant documents, and their runs."""
    runs = all_runs(4)
    values = score_runs(cf.parse_measure(measure), runs, judgments=4)
    image = cf.image(measure, 4, judgments=4)
    ranks = image.rank_runs(runs)
    found: dict[int, list[str]] = {}
    for run, rank in zip(runs, ranks, strict=True):
        found.setdefault(int(rank), []).append("".join(map(str, run)))
    np.testing.assert_allclose(image.values()[ranks - 1], values, atol=1e-15)
    return [(float(image.values()[rank - 1]), sorted(found[rank])) for rank in sorted(found)]


def test_figure_2_precision() -> None:
    """Figure 2 of Ferrante, Ferro and Fuhr (2021) is figure 19 of Ferro and Maistro (2024)."""
    found = ordered("P@4")
    assert [value for value, _ in found] == [0, 0.25, 0.5, 0.75, 1]
    assert [len(runs) for _, runs in found] == [1, 4, 6, 4, 1]


def test_figure_2_average_precision() -> None:
    """AP of all 16 runs in sixteenths and forty-eighths, by hand."""
    by_hand = {
        "0000": "0",
        "0001": "1/16",
        "0010": "1/12",
        "0100": "1/8",
        "0011": "5/24",
        "0101": "1/4",
        "1000": "1/4",
        "0110": "7/24",
        "1001": "3/8",
        "1010": "5/12",
        "0111": "23/48",
        "1100": "1/2",
        "1011": "29/48",
        "1101": "11/16",
        "1110": "3/4",
        "1111": "1",
    }
    found = ordered("AP@4")
    values: dict[Fraction, list[str]] = {}
    for run, value in by_hand.items():
        values.setdefault(Fraction(value), []).append(run)
    expected = [(float(value), sorted(values[value])) for value in sorted(values)]
    assert [runs for _, runs in found] == [runs for _, runs in expected]
    np.testing.assert_allclose([v for v, _ in found], [v for v, _ in expected], atol=1e-15)
    assert len(found) == 15


def test_figure_2_reciprocal_rank() -> None:
    found = ordered("RR@4")
    assert [len(runs) for _, runs in found] == [1, 1, 2, 4, 8]
    assert [value for value, _ in found] == [0, 1 / 4, 1 / 3, 1 / 2, 1]


def test_figure_2_rank_biased_precision() -> None:
    """With p up to 1/2 runs stand in the order of the numbers they spell."""
    spelled = [["".join(map(str, run))] for run in all_runs(4)]
    for p in ("0.3", "0.5"):
        assert [runs for _, runs in ordered(f"RBP(p={p})@4")] == spelled
    assert cf.image("RBP(p=0.5)@4").find_gaps().is_equispaced
    assert not cf.image("RBP(p=0.3)@4").find_gaps().is_equispaced
    weights = [Fraction(1, 5) * Fraction(4, 5) ** k for k in range(4)]

    def worth(run: str) -> Fraction:
        return sum((w for w, bit in zip(weights, run, strict=True) if bit == "1"), Fraction(0))

    by_hand = sorted(("".join(map(str, run)) for run in all_runs(4)), key=worth)
    assert [runs for _, runs in ordered("RBP(p=0.8)@4")] == [[run] for run in by_hand]
    assert by_hand != [run for [run] in spelled]


def test_figure_2_and_example_12_dcg() -> None:
    """There are 12 values, and section 5 prints some of them with their ranks."""
    found = ordered(f"{DCG}@4")
    assert len(found) == 12
    printed = {
        12: (3.131, ["1111"]),
        11: (2.631, ["1110"]),
        10: (2.500, ["1101"]),
        9: (2.131, ["0111", "1011"]),
        2: (0.500, ["0001"]),
        1: (0.000, ["0000"]),
    }
    for rank, (value, runs) in printed.items():
        assert round(found[rank - 1][0], 3) == value
        assert found[rank - 1][1] == runs


@pytest.mark.parametrize(
    ("measure", "length", "size"),
    [(DCG, 5, 24), (DCG, 10, 768), (DCG, 15, 24_576), ("AP", 10, 810), ("AP", 20, 644_203)],
)
def test_numbers_of_values(measure: str, length: int, size: int) -> None:
    assert cf.image(measure, length).size == size


def test_closed_forms_of_ranks() -> None:
    """By equation (2): 2^N m + 1 for RBP with p = 1/2, and N + 2 - 1 / m for RR (0 has rank 1)."""
    for length in (4, 9):
        image = cf.image("RBP(p=0.5)", length)
        np.testing.assert_array_equal(image.rank(image.values()), 2**length * image.values() + 1)
        image = cf.image("RR", length)
        above = image.values()[1:]
        np.testing.assert_array_equal(image.rank(above), np.rint(length + 2 - 1 / above))
