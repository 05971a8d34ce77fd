"""Tables of ratings in arrays, by the way that agreement_of goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.agreement.coefficients import Tables, build_tables, read_ratings

NONE = np.nan
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)
"""The example of Krippendorff (2011), section C: a row an observer, a column a unit."""


def many_assessors(ratings: Any, *, topics: Any = None) -> Tables:
    """Ratings have shape (units, assessors); the tables have shape (topics, ...)."""
    _, tables = read_ratings(np.asarray(ratings, float), axis=1, topics=topics).count_labels()
    return Tables(tables.grades, tables.pairs[:, 0], tables.units[:, 0], tables.proportions[:, 0])


def two_assessors(first: Any, second: Any, *, topics: Any = None, grades: Any = None) -> Tables:
    ratings = np.column_stack([first, second]).astype(float)
    _, tables = read_ratings(ratings, axis=1, topics=topics, grades=grades).count_pairs(None)
    assert tables.joint is not None
    return build_tables(tables.joint[:, 0], tables.grades)
