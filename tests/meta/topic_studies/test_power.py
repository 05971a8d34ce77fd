"""The power of the t-test against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nct

from cranfield.meta.topic_studies.extrapolation import power


@pytest.mark.parametrize(
    ("df", "critical"), [(1, 12.7), (3, 3.2), (49, 2.0), (51, 4.4), (5586, 4.3)]
)
def test_power_is_that_of_scipy(df: int, critical: float) -> None:
    shift = np.array([0.0, 0.5, 1.5, 2.5])
    theirs = nct.sf(critical, df, shift) + nct.cdf(-critical, df, shift)
    assert power(shift, df, critical) == pytest.approx(theirs, abs=1e-9)
