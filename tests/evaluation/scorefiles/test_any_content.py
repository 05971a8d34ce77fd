"""Whatever a file holds: scores, or one clear line that names it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.evaluation.scorefiles import read_scores_by_measure

WORDS = (
    *("topic", "qid", "q", "system", "run", "measure", "score", "shard", "index", "name", "all"),
    *("AP", "map", "nDCG@10", "P", "runid", "q1", "401", "a", "0.5", ".25", "1", "0", "0,5", "1_0"),
    *("", " ", "nan", "inf", "٣", '"', "\x00", "null"),
)
SEPARATORS = ("\t", ",", ";", " ")
JSON = ('{"a": ', '{"topic": ', '{"systems": ', "[", "]", "}", ", ", '"q1": ', "1", '"AP"', "null")


@st.composite
def tables(draw: st.DrawFn) -> str:
    separator = draw(st.sampled_from(SEPARATORS))
    width = draw(st.integers(1, 5))
    row = st.lists(st.sampled_from(WORDS), min_size=width, max_size=width).map(separator.join)
    return "\n".join(draw(st.lists(row, min_size=1, max_size=5)))


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("suffix", ["", ".csv", ".tsv", ".json", ".jsonl"])
@given(
    content=tables() | st.lists(st.sampled_from(JSON), max_size=9).map("".join),
    measure=st.sampled_from([None, "AP", "a"]),
)
def test_any_content(suffix: str, content: str, measure: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"s{suffix}"
        path.write_text(content)
        try:
            scores = cf.read_scores(path, measure=measure)
        except CranfieldError as error:
            assert "\n" not in str(error)
            assert str(path) in str(error)
        else:
            assert scores.values.size
            assert not np.isinf(scores.values).any()
            assert "all" not in scores.topics
            assert "" not in {*scores.topics, *scores.systems}
            again = read_scores_by_measure(path, None if measure is None else [measure])
            assert (measure or scores.measure) in again
