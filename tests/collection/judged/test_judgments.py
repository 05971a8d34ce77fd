"""What judgments say of topics, asked with odd numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cranfield as cf


@pytest.mark.parametrize("low", [np.float16(0.5), 0.5, "1"])
def test_the_lowest_grade_is_a_whole_number(low: Any) -> None:
    judgments = cf.judge({"1": {"a": 1.0}}, {"1": {"a": 1}}).judgments
    assert judgments.count(np.int8(1)).tolist() == [[1]]  # type: ignore[arg-type]
    with pytest.raises(cf.PolicyError, match="low must be an integer"):
        replace(judgments, judged_from=10**9).count(low)
