"""One click access: what NTCIREVAL prints, figure 10 of Sakai (2013), and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import evaluate_answers
from cranfield.base.errors import MeasureError
from cranfield.measures import SFlat, SMeasure, SSharp, TFlat, TMeasure
from cranfield.texts.answers import judge_answers
from tests.collection.refusals import refuses
from tests.conftest import ROOT

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)

DATA = ROOT / "tests/data/ntcireval"
RUNS = ("1CLICKRUN-D-1", "1CLICKRUN-D-2")
# README.1click says that the script has L = 1000; what it prints is of 500.
NAMES = {
    "Recall=": "NuggetRecall",
    "W-recall=": "WRecall",
    "S-measure=": "SMeasure(L=500)",
    "S-flat=": "SFlat(L=500)",
    "T-measure=": "TMeasure",
    "T-flat=": "TFlat",
    "F-flat=": "SSharp(L=500)",
}


def test_every_value_of_ntcireval() -> None:
    """The example of NTCIREVAL (version 190111), README.1click."""
    judged = judge_answers([DATA / name for name in RUNS], DATA / "1C0-test.nuggets")
    assert judged.systems == RUNS
    scores = evaluate_answers(judged, list(NAMES.values()))
    n_values = 0
    for s, run in enumerate(RUNS):
        for line in (DATA / f"{run}.test.1cl").read_text().splitlines():
            topic, name, value = line.split(maxsplit=2)
            t = judged.topics.index(topic)
            if name == "#nuggets=":
                matched, length = float(value.split()[2]), float(value.split()[4])
                assert judged.total(judged.full_support)[t, s] == matched
                assert judged.length[t, s] == length
            else:
                assert f"{scores[NAMES[name]].values[t, s]:.3f}" == value
            n_values += 1
    assert n_values == 32


def test_above_one_and_flat() -> None:
    gold = {"q": {"x": {"weight": 1, "vital_length": 40}}}
    judged = judge_answers({"a": {"q": {"nuggets": {"x": 10}, "length": 20}}}, gold)
    found = evaluate_answers(
        judged, [SMeasure(L=50), SFlat(L=50), TMeasure(), TFlat(), SSharp(L=50)]
    )
    assert [scores.values[0, 0] for scores in found.values()] == [4.0, 1.0, 2.0, 1.0, 1.0]


def test_what_is_lacking_is_said() -> None:
    judged = judge_answers({"a": {"q": ["x"]}}, {"q": {"x": 1}})
    with pytest.raises(MeasureError, match="length of each nugget, got none for topic 'q'"):
        evaluate_answers(judged, "SMeasure")
    gold = {"q": {"x": {"weight": 1, "vital_length": 3}}}
    judged = judge_answers({"a": {"q": ["x"]}}, gold)
    with pytest.raises(MeasureError, match="nugget, got none for topic 'q' and system 'a'"):
        evaluate_answers(judged, "SMeasure")
    with pytest.raises(MeasureError, match="TMeasure requires the length of each answer"):
        evaluate_answers(judged, "TMeasure")
    refuses("a number > 0", SMeasure, L=0, error=MeasureError)


Case = tuple[list[tuple[float, float]], list[float | None], float, float]
CASES: st.SearchStrategy[Case] = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.tuples(st.integers(0, 4).map(float), st.integers(0, 60).map(float)),
            min_size=n,
            max_size=n,
        ),
        st.lists(st.none() | st.integers(0, 300).map(float), min_size=n, max_size=n),
        st.integers(0, 300).map(float),
        st.sampled_from([50.0, 200.0, 1000.0]),
    )
)


@settings(max_examples=30, deadline=None)
@given(CASES, CASES)
def test_against_the_formulas_written_out(first: Case, second: Case) -> None:
    gold, answers = {}, {}
    for topic, (nuggets, places, length, _) in (("p", first), ("q", second)):
        gold[topic] = {str(k): {"weight": w, "vital_length": v} for k, (w, v) in enumerate(nuggets)}
        matched = {str(k): place for k, place in enumerate(places) if place is not None}
        answers[topic] = {"nuggets": matched, "length": length}
    patience = first[3]
    judged = judge_answers({"a": answers}, gold)
    wanted = [SMeasure(L=patience), TMeasure(), SSharp(L=patience, beta=3)]
    found = [scores.values[:, 0] for scores in evaluate_answers(judged, wanted).values()]
    for t, (nuggets, places, length, _) in enumerate((first, second)):
        here = [(*nugget, place) for nugget, place in zip(nuggets, places, strict=True)]
        gain = sum(w * max(0, patience - p) for w, _, p in here if p is not None)
        best = end = 0.0
        for w, v in sorted(nuggets, key=lambda one: (-one[0], one[1])):
            end += v
            best += w * max(0, patience - end)
        s = gain / best if best else 0.0
        vital = sum(v for _, v, p in here if p is not None)
        tm = vital / length if length else 0.0
        s1, t1 = min(1, s), min(1, tm)
        sharp = 10 * s1 * t1 / (9 * t1 + s1) if s1 + t1 else 0.0
        assert np.allclose([one[t] for one in found], [s, tm, sharp], rtol=1e-12, atol=1e-12)
