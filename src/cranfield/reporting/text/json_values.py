"""JSON of results, in which no number is null."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import numpy as np


def json_of(content: Any) -> str:
    """Write values, those of NumPy too, as JSON; what is no finite number is null."""
    return json.dumps(plain_values(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain_values(value: Any) -> Any:
    """Turn values of NumPy into those of Python, dates into text, non-finite numbers into None."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain_values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
