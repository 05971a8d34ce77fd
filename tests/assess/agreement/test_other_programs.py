"""Coefficients beside what other programs print for the same grades."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.assess.agreement import coefficients
from cranfield.assess.agreement.coefficients import build_tables, parse_coefficient
from tests.assess.agreement.ratings import many_assessors, two_assessors

FIRST = [0, 0, 1, 2, 3, 3, 2, 2, 0, 0, 2, 2, 2, 2, 2, 2, 1, 0, 3, 3, 2, 0, 2, 2, 0, 3, 2, 0, 3, 0]
FIRST += [3, 0, 2, 3, 3, 3, 1, 1, 1, 0]
OTHER = [0, 0, 3, 3, 3, 3, 2, 2, 0, 0, 2, 1, 0, 2, 2, 2, 1, 0, 3, 1, 2, 0, 3, 1, 0, 3, 2, 0, 3, 2]
OTHER += [3, 0, 2, 2, 3, 3, 1, 1, 1, 1]
FOUR = (
    "0030 0003 1111 3222 2033 3133 0220 2222 0230 0020 2222 1312 2222 2322 2212 "
    "0110 1212 3200 2313 3213 3101 0003 2232 2112 0000 3333 2222 2020 3232 0200"
)


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("nominal", 0.6627318718381112),
        ("linear", 0.7233201581027668),
        ("quadratic", 0.7875422501207147),
    ],
)
def test_kappa_of_scikit_learn(distance: str, expected: float) -> None:
    """scikit-learn 1.9.1: cohen_kappa_score(first, other, weights=distance), None for nominal."""
    found = coefficients.compute_cohen_kappa(two_assessors(FIRST, OTHER).sum_topics(), distance)
    assert float(found) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("distance", "ac", "fleiss"),
    [
        ("nominal", 0.349296289526595, 0.313668787352998),
        ("linear", 0.364009687269664, 0.298734471148265),
        ("quadratic", 0.381235513453592, 0.278283867176021),
        ("ratio", 0.384479844505787, 0.331026192584381),
    ],
)
def test_gwet_and_fleiss_of_irrcac(distance: str, ac: float, fleiss: float) -> None:
    """irrCAC 0.4.4 of Python, CAC(ratings, weights, digits=15), without gaps; 15 digits."""
    ratings = np.array([[*row] for row in FOUR.split()], dtype=float)
    if distance == "ratio":
        ratings += 1  # it divides by a grade of 0
    tables = many_assessors(ratings).sum_topics()
    assert float(coefficients.compute_gwet_ac(tables, distance)) == pytest.approx(ac, abs=2e-14)
    assert float(coefficients.compute_fleiss_kappa(tables, distance)) == pytest.approx(
        fleiss, abs=2e-14
    )


# Human grades by those of two label sets of the LLMJudge challenge, 4,423 passages, counted from
# its files; beside them Rahmani et al. (2025), tables 3 to 5: kappa and alpha, 4 grades and 3 cuts.
PUBLISHED = [
    (
        [[1492, 392, 89, 32], [560, 434, 142, 97], [171, 315, 204, 118], [35, 133, 69, 140]],
        [0.2625, 0.4228, 0.3657, 0.3066, 0.5020, 0.4210, 0.3619, 0.3067],
    ),
    (
        [[1612, 371, 0, 22], [868, 340, 0, 25], [478, 303, 0, 27], [164, 197, 0, 16]],
        [0.0779, 0.1714, 0.0308, 0.0369, 0.1036, 0.1172, -0.0895, 0.0167],
    ),
]


@pytest.mark.parametrize(("joint", "expected"), PUBLISHED)
def test_published_tables(joint: list[list[int]], expected: list[float]) -> None:
    tables = build_tables(np.array(joint, dtype=float), np.arange(4.0))
    cuts = [f"{name}(nominal, rel={rel})" for name in ("kappa", "alpha") for rel in (1, 2, 3)]
    asked = ["kappa", *cuts[:3], "alpha(ordinal)", *cuts[3:]]
    assert [round(float(parse_coefficient(one).compute(tables)), 4) for one in asked] == expected


@pytest.mark.parametrize(
    ("text", "distance", "rel"),
    [
        ("kappa", "nominal", None),
        ("kappa(linear)", "linear", None),
        ("alpha", "ordinal", None),
        ("AC2(rel=2)", "quadratic", 2),
        ("overlap", "", 1),
        ("alpha(nominal, rel=-1)", "nominal", -1),
    ],
)
def test_text_forms(text: str, distance: str, rel: int | None) -> None:
    found = parse_coefficient(text)
    assert (found.distance, found.rel) == (distance, rel)
    assert parse_coefficient(str(found)) == found
