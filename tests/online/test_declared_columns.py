"""Results of online evaluation declare the columns of their tables, all and in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest

from cranfield import online
from cranfield.result import Result
from tests.result_forms import check_forms

LOG = online.simulated_log().select_pages(pl.int_range(pl.len()) % 5 == 0)
RANDOM = np.random.default_rng(1)
USERS = pl.DataFrame(
    {
        "variant": ["control", "treatment"] * 100,
        "value": RANDOM.normal(5, 1, 200),
        "device": ["phone", "phone", "desktop", "desktop"] * 50,
        "time": [f"2026-01-{1 + k // 50:02d}" for k in range(200)],
    }
)
MODELS = online.train_models(LOG, ["DCTR", "SDBN"])
LOGGED = pl.DataFrame({"action": [*"abab"], "reward": [1, 0, 1, 1], "propensity": [0.5] * 4})
POLICY = pl.DataFrame({"action": ["a", "b"], "probability": [0.8, 0.2]})

RESULTS: dict[str, Callable[[], Result]] = {
    "moves": lambda: online.click_moves(LOG),
    "persistence": lambda: online.rbp_persistence(LOG),
    "tbg": lambda: online.calibrate_tbg(LOG),
    "models": lambda: online.evaluate_models(MODELS, LOG),
    "gain": lambda: online.perplexity_gain(MODELS[1], MODELS[0], LOG, resamples=20),
    "rates": lambda: online.predict_rates(LOG, "DCTR"),
    "parameters": lambda: MODELS[1],
    "size": lambda: online.experiment_size(mean=1, deviation=1, lift=0.1, power=0.8),
    "aa-tests": lambda: online.simulate_aa_tests(USERS.drop("variant"), "value", n_tests=20),
    "sample-ratio": lambda: online.sample_ratio({"a": 10, "b": 12}),
    "effects": lambda: online.analyse_experiment(USERS, "value", segments=["device"]),
    "looks": lambda: online.analyse_experiment(
        USERS, "value", sequential="CS(tuned=100)", time="time", looks=[100, 200]
    ),
    "bias": lambda: online.bias([["a", "b"], ["b", "a"]]),
    "fidelity": lambda: online.fidelity(n_docs=2),
    "preference": lambda: online.preference_of(5, 3, 2),
    "pairs": lambda: online.preference_matrix_by_credits(
        [[1, 0, 0], [0, 1, 0], [2, 1, 1]], names=["a", "b", "c"]
    ),
    "side-by-side": lambda: online.side_by_side(
        [("q1", "x", "y", "a", "a"), ("q1", "x", "y", "b", "b"), ("q2", "y", "x", "tie", "a")],
        resamples=20,
    ),
    "clicks": lambda: online.coec(LOG),
    "measures": lambda: online.measure(LOG, ["CTR", "TimeToClick"]),
    "survival": lambda: online.survival(LOG, "TimeToClick"),
    "propensities": lambda: online.rank_propensities(LOG, depth=3),
    "values": lambda: online.policy_value(LOGGED, POLICY),
}


@cache
def result_of(name: str) -> Result:
    return RESULTS[name]()


@pytest.mark.parametrize("name", RESULTS)
def test_columns_are_declared_in_their_order(name: str) -> None:
    result = result_of(name)
    assert type(result).name == name or name == "looks"
    frames, declared = result.frames(), result.get_columns()
    assert {*frames} <= {*declared}
    for table, frame in frames.items():
        columns = declared[table]
        by_name = [column for column in frame.columns if column in columns]
        assert by_name == [column for column in columns if column in frame.columns]
        assert by_name == frame.columns or "*" in columns
    text = str(result)
    assert all(line in text for line in result.heading())
    check_forms(result)


def test_every_class_is_here() -> None:
    own = {kind for kind in vars(online).values() if isinstance(kind, type)}
    kinds = {kind for kind in own if issubclass(kind, Result)}
    assert kinds <= {type(result_of(name)) for name in RESULTS}
