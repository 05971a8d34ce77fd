"""Documents twice in a topic are found, and scores are the floats next to their text."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection.pairs import find_duplicate, pair_keys
from cranfield.sources.chunks import Source
from cranfield.sources.values import is_number

_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(lambda x, d: f"{x:.{d}f}", st.floats(-1e4, 1e4), st.integers(0, 14)),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"[+-]?[0-9]{0,19}\.?[0-9]{0,19}", fullmatch=True),
).filter(is_number)


@given(st.lists(_NUMBERS, min_size=1, max_size=9), st.sampled_from([" ", "  \t"]))
@example(["-0", "-0.0", ".5", "5.", "0.9007199254740993", "9007199254740993", "1e5"], " ")
@example(["12345678.9", "123456789.5", "0.000000000000000001", "12345678"], " ")
def test_scores_are_what_python_reads(numbers: list[str], blank: str) -> None:
    lines = (["1", "Q0", f"d{k}", "1", number, "a"] for k, number in enumerate(numbers))
    text = "".join(blank.join(fields) + "\n" for fields in lines)
    run = cf.read_run(Source("a.run", content=text.encode()))
    assert run.scores.tobytes() == np.array([*map(float, numbers)]).tobytes()


@pytest.mark.parametrize("alike", [False, True])
def test_a_repeat_is_found_among_many(alike: bool) -> None:
    """Also where all keys are the same."""
    draw = np.random.default_rng(3)
    docs = pl.Series([f"d{k}" for k in draw.permutation(3000)])
    codes = draw.integers(0, 30, 3000, dtype=np.int32)
    topics = [str(code) for code in range(30)]
    for first, again in [(0, 0), (5, 2000), (0, 2999), (10, 11)]:
        some, of = docs.to_list(), codes.copy()
        some[again], of[again] = some[first], of[first]
        keys = pair_keys(pl.Series(some), of, topics)
        if alike:
            keys[:] = 7
        expected = None if first == again else (first, again)
        assert find_duplicate(keys, pl.Series(some), of) == expected
