"""An option that there is not is refused by the study that it was given to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cranfield.base.errors import PolicyError
from cranfield.meta import leave_one_out, pool_depths, pooling, pools, replicate, reproduce

QRELS = {"1": {"x": 1, "y": 0}, "2": {"x": 0, "y": 2}}
RUN = {"1": {"x": 2.0, "y": 1.0}, "2": {"x": 1.0, "y": 2.0}}
RUNS = {"a": RUN, "b": {"1": {"y": 1.0}, "2": {"y": 1.0}}}

STUDIES: dict[str, Callable[..., Any]] = {
    "pools": lambda **more: pools(RUNS, QRELS, **more),
    "pool_depths": lambda **more: pool_depths(RUNS, QRELS, "P@1", 1, **more),
    "pooling": lambda **more: pooling(RUNS, QRELS, "P@1", contributors=None, **more),
    "leave_one_out": lambda **more: leave_one_out(RUNS, QRELS, "P@1", **more),
    "reproduce": lambda **more: reproduce(RUN, RUN, qrels=QRELS, measures="P@1", **more),
    "replicate": lambda **more: replicate(
        RUN, RUN, qrels=QRELS, other_qrels=QRELS, measures="P@1", **more
    ),
}


@pytest.mark.parametrize("name", STUDIES)
def test_unknown_policies_are_refused(name: str) -> None:
    with pytest.raises(PolicyError, match=f"^{name} has no option 'foo'; of judging: ties, topics"):
        STUDIES[name](foo=1)
    STUDIES[name](topics="intersection", jobs=1)
    with pytest.raises(PolicyError, match="topics"):
        STUDIES[name](topics="some")


@pytest.mark.parametrize("name", ["pools", "pool_depths", "pooling", "leave_one_out"])
def test_unjudged_documents_are_no_policy_of_pools(name: str) -> None:
    with pytest.raises(PolicyError, match=f"^{name} has no option 'unjudged'"):
        STUDIES[name](unjudged="drop")


def test_runs_are_no_policy() -> None:
    with pytest.raises(PolicyError, match="^replicate has no option 'runs'"):
        STUDIES["replicate"](runs=RUNS)
