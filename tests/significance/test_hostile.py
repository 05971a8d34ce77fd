"""Whatever the scores: an answer that is a number, or one clear line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import cranfield as cf
from cranfield import significance
from cranfield.base.errors import CranfieldError
from cranfield.significance import TESTS

# Tests without this choice warn; it is passed to all.
pytestmark = pytest.mark.filterwarnings("ignore:exact has no effect")

EXTREME = st.sampled_from(
    [0.0, -0.0, 0.5, 0.5 + 2**-53, 1.0, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e16, 0.1, 0.2, 0.3]
)
ODD = st.one_of(EXTREME, st.floats(0, 1), st.sampled_from([np.nan, np.inf]))


@pytest.mark.parametrize("elements", [EXTREME, ODD, st.floats(-1, 1), st.sampled_from([0.0, 1.0])])
@settings(max_examples=40)
@given(data=st.data())
def test_any_scores(elements: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(TESTS)))
    shape = data.draw(array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7))
    if TESTS[name].info.shards == "needed":
        shape = (*shape, 2)
    values = data.draw(arrays(np.float64, shape, elements=elements))
    info = TESTS[name].info
    options: dict[str, Any] = {
        "correction": data.draw(st.sampled_from([None, *info.corrections])),
        "alternative": data.draw(st.sampled_from(["two-sided", "greater", "less"])),
        "missing": data.draw(st.sampled_from([None, "drop", "zero", "available"])),
        "baseline": data.draw(st.sampled_from([None, "0"])),
        "exact": data.draw(st.sampled_from([None, True, False])),
    }
    scores = cf.Scores(
        values, tuple(map(str, range(shape[0]))), tuple(map(str, range(shape[1]))), axis=info.axis
    )
    try:
        found = cf.compare(scores, test=name, resamples=50, **options)
    except CranfieldError as error:
        assert "\n" not in str(error)
        return
    for p in (found.raw_pvalues, found.adjusted_pvalues):
        assert ((p >= 0) & (p <= 1)).all()
    low, high = found.interval
    without = np.isnan(low)
    np.testing.assert_array_equal(without, np.isnan(high))
    assert without.sum() == found.without_interval
    np.testing.assert_array_equal(
        ((low > 0) | (high < 0))[~without], found.is_significant()[~without]
    )
    assert not np.isnan(found.difference).any()
    assert not np.isnan(found.statistic).any()
    assert not np.isnan(found.effect).any()
    assert "nan" not in str(found)
    if not found.baselines and found.alternative == "two-sided":
        assert len(found.groups()) == shape[1]


@example(b"\x00,\x00\n,\x00")
@given(st.binary(max_size=60) | st.text("ab,\t\"1.5\n x-e'{}[]:", max_size=60).map(str.encode))
def test_any_file_of_scores(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".tsv", ".json", ".jsonl", ".eval", ".parquet"):
            path = Path(folder) / f"s{suffix}"
            path.write_bytes(content)
            try:
                with warnings.catch_warnings():
                    # Such as one line about columns that are not used.
                    warnings.simplefilter("ignore")
                    scores = cf.read_scores(path)
            except CranfieldError as error:
                assert "\n" not in str(error)
                assert str(path) in str(error) or "called" in str(error)
            else:
                assert scores.values.size
                assert not np.isinf(scores.values).any()


def test_populations_print_what_they_are_not_their_arrays() -> None:
    values = np.random.default_rng(1).random((12, 4))
    assert len(repr(significance.fit_simulator(values))) < 200
