"""User models: cwl_eval on real runs, the identities of the framework, measures that it gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cranfield as cf
from cranfield.errors import MeasureError
from cranfield.measures import continuation as cwl
from cranfield.measures.continuation import UserModel
from cranfield.measures.reading import trigamma

Floats = NDArray[np.float64]
SYSTEM = "SFDC-enc45-refus12"

CWL_EVAL = {
    ("1", "binary", "INST(T=1)"): (0.999721032381, 1.33313811712, 1.333510125652, 5.7441502e-05),
    ("1", "binary", "INST(T=2.5)"): (
        0.922249459614,
        2.664666716559,
        2.889321873363,
        0.037401077194,
    ),
    ("1", "binary", "INSQ(T=3)"): (0.621941331691, 4.036608376468, 6.491823326444, 0.248549655665),
    ("1", "binary", "SDCG@20"): (0.553824643736, 3.899074128424, 7.040268381924, 0.252372689879),
    ("1", "graded", "INST(T=1)"): (0.855625474948, 1.223354714933, 1.429778762846, 0.004094417255),
    ("1", "graded", "INST(T=2.5)"): (0.626718703703, 2.13641618744, 3.408949451883, 0.077126726975),
    ("1", "graded", "INSQ(T=3)"): (0.447029199567, 2.901376505991, 6.491823326444, 0.248549655665),
    ("1", "graded", "SDCG@20"): (0.400704477208, 2.821067061383, 7.040268381924, 0.252372689879),
    ("44", "binary", "INST(T=1)"): (0.793851308634, 1.172072246127, 1.476438009764, 2.7674e-08),
    ("44", "binary", "INST(T=2.5)"): (
        0.682569491755,
        2.250031399279,
        3.296413773973,
        1.5691801e-05,
    ),
    ("44", "binary", "INSQ(T=3)"): (0.673931511195, 4.372732134087, 6.491823326444, 0.054023240853),
    ("44", "binary", "SDCG@20"): (0.772062462669, 5.435526944796, 7.040268381924, 0.0),
    ("44", "graded", "INST(T=1)"): (0.79008695778, 1.168933597886, 1.479499931804, 1.07995e-06),
    ("44", "graded", "INST(T=2.5)"): (
        0.652325351439,
        2.189514422805,
        3.356477140606,
        0.000111572888,
    ),
    ("44", "graded", "INSQ(T=3)"): (0.616044094292, 3.997097324089, 6.491823326444, 0.054023240853),
    ("44", "graded", "SDCG@20"): (0.675646538777, 4.756732964309, 7.040268381924, 0.0),
}
"""cwl_eval 1.0.12 on two topics of TREC-COVID round 5, run SFDC-enc45-refus12, unjudged documents
NaN, grades over 2 as graded gains, max_n=1000: EU, ETU, expected items, residual of EU."""


@pytest.mark.parametrize(("topic", "gains", "model"), CWL_EVAL)
def test_cwl_eval(topic: str, gains: str, model: str) -> None:
    covid = cf.collections.trec_covid()
    run = next(run for run in covid.runs if run.name == SYSTEM)
    utility, total, items, residual = CWL_EVAL[topic, gains, model]

    def of(name: str, *given: str) -> float:
        at = model.partition("@")[2]
        inside = [*given, *([] if at else [model[5:-1], "depth=1000"])]
        text = name + (f"({', '.join(inside)})" if inside else "") + (f"@{at}" if at else "")
        scores = cf.evaluate(run, covid.qrels, text)[text]
        return float(scores.values[scores.topics.index(topic), 0])

    graded, name = f"gains='{gains}'", model[:4]
    assert of(name, graded) == pytest.approx(utility, abs=2e-12)
    if name == "INST":
        assert of("INSTDepth", graded) == pytest.approx(items, abs=2e-12)
        # cwl_eval lets those who reach rank 1000 find nothing.
        assert of("INSTTotal", graded) == pytest.approx(total, abs=1e-4)
        assert of("INSTResidual", graded) == pytest.approx(residual, abs=2e-12)
    else:
        assert of(name + "Residual") == pytest.approx(residual, abs=2e-12)


# Identities

chances = st.lists(st.floats(0, 1), min_size=1, max_size=30)
positive = st.lists(st.floats(0.01, 1), min_size=1, max_size=30)
binary = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=20)
graded = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=20)


@given(chances)
def test_weights_and_last_ranks_are_distributions(going_on: list[float]) -> None:
    weights = cwl.weights_from_continuation(going_on)
    last = cwl.last_from_weights(weights)
    assert weights.sum() == pytest.approx(1)
    assert last.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    assert (last >= 0).all()
    reached = 1.0
    for rank, chance in enumerate([*going_on[:-1], 0.0]):
        assert last[rank] == pytest.approx(reached * (1 - chance), abs=1e-12)
        reached *= chance


@given(positive)
def test_each_vector_gives_the_others(going_on: list[float]) -> None:
    weights = cwl.weights_from_continuation(going_on)
    again = cwl.continuation_from_weights(weights)
    assert again[:-1] == pytest.approx(going_on[:-1], rel=1e-9)
    assert again[-1] == 0
    assert cwl.weights_from_continuation(again) == pytest.approx(weights, rel=1e-9)
    last = cwl.last_from_weights(weights)
    # Back from L: a rank is read by all who do not stop above it.
    seen = 1 - np.append(0.0, np.cumsum(last)[:-1])
    assert seen / seen.sum() == pytest.approx(weights, abs=1e-9)


@given(chances, st.data())
def test_total_is_rate_by_depth(going_on: list[float], data: st.DataObject) -> None:
    size = len(going_on)
    gains = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    model = UserModel("any", lambda _: np.array(going_on))
    found = model.expected(gains)
    assert found.utility == pytest.approx(model.weights(gains) @ gains)
    assert found.total == pytest.approx(model.last(gains) @ np.cumsum(gains))
    assert found.total == pytest.approx(found.utility * found.depth)
    assert found.depth == pytest.approx(model.last(gains) @ np.arange(1, size + 1))


# Measures that the framework gives


def score(measure: str, gains: list[float]) -> float:
    """Score a run whose gains are quarters of grades; all that is relevant is retrieved."""
    run = {"t": {f"d{i}": -float(i) for i in range(len(gains))}}
    qrels = {"t": {f"d{i}": round(4 * gain) for i, gain in enumerate(gains)}}
    return float(cf.evaluate(run, qrels, measure)[measure].values[0, 0])


@pytest.mark.parametrize(
    ("measure", "model"),
    [
        ("P@5", cwl.top(5)),
        ("AP", cwl.average_precision()),
        ("RR", cwl.first_found()),
        ("SDCG@6", cwl.scaled_dcg(6)),
    ],
)
@settings(max_examples=25)
@given(binary)
def test_known_measures(measure: str, model: UserModel, gains: list[float]) -> None:
    # The user goes on beyond a short list, where nothing is found.
    padded = gains if measure in {"AP", "RR"} else gains + [0.0] * 6
    assert score(measure, gains) == pytest.approx(model.expected(padded).utility, abs=1e-12)


@pytest.mark.parametrize("p", [0.3, 0.8])
@settings(max_examples=25)
@given(graded)
def test_rbp(p: float, gains: list[float]) -> None:
    text = f"RBP(gains='graded', max_grade=4, p={p})"
    found = cwl.geometric(p).expected(gains + [0.0] * 200)
    assert score(text, gains) == pytest.approx(found.utility, abs=1e-12)
    assert found.depth == pytest.approx(1 / (1 - p))


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_err(grades: list[int]) -> None:
    stop = np.append((2.0 ** np.array(grades) - 1) / 16, np.zeros(1))
    last = cwl.viewed(1 - stop) * stop
    expected = float((last / np.arange(1, last.size + 1)).sum())
    assert score("ERR(max_grade=4)", [g / 4 for g in grades]) == pytest.approx(expected)
    # Whoever is never satisfied stops at the end of the list, which ERR does not count.
    ends = cwl.satisfied().last(stop)
    assert ends[:-1] == pytest.approx(last[:-1], abs=1e-12)


@pytest.mark.parametrize(("name", "model"), [("INST", cwl.inst), ("INSQ", cwl.insq)])
@settings(max_examples=25)
@given(gains=graded, wanted=st.floats(0.5, 20))
def test_inst_and_insq(
    name: str, model: Callable[[float], UserModel], gains: list[float], wanted: float
) -> None:
    options = f"T={wanted!r}, gains='graded', max_grade=4"
    text = f"{name}({options}, depth=40)"
    found = model(wanted).expected(gains + [0.0] * (40 - len(gains)))
    run = score(str(cf.parse_measure(text)), gains)
    assert run == pytest.approx(found.utility, abs=1e-12)
    endless = score(str(cf.parse_measure(f"{name}({options})")), gains)
    # Attention beyond rank 40 is taken from the ranks that gain.
    assert 0 <= endless <= run + 1e-12


@settings(max_examples=25)
@given(graded, st.lists(st.booleans(), min_size=20, max_size=20))
def test_residuals_bound_what_judgments_can_add(gains: list[float], known: list[bool]) -> None:
    run = {"t": {f"d{i}": -float(i) for i in range(len(gains))}}
    everything = {f"d{i}": int(gain > 0) for i, gain in enumerate(gains)} | {"x": 1}
    some = {d: g for i, (d, g) in enumerate(everything.items()) if d == "x" or known[i]}
    for name in ("INSQ", "SDCG"):
        at = "@7" if name == "SDCG" else ""
        texts = [name + at, name + "Residual" + at]
        low, room = (s.values[0, 0] for s in cf.evaluate(run, {"t": some}, texts).values())
        assert low - 1e-12 <= score_of(run, everything, texts[0]) <= low + room + 1e-12


def score_of(run: dict[str, dict[str, float]], grades: dict[str, int], text: str) -> float:
    return float(cf.evaluate(run, {"t": grades}, text)[text].values[0, 0])


# Edges


def test_nothing_retrieved_is_read_without_end() -> None:
    judged = cf.judge({"a": {"t": {"d": 1.0}}}, {"t": {"x": 1}})
    scores = {str(m): s.values[0, 0] for m, s in cf.score(judged, ["INST", "INSTDepth"]).items()}
    assert scores["INST"] == 0
    # T = 1: the sum of (2 / (i + 1))^2 over all ranks.
    assert scores["INSTDepth"] == pytest.approx(4 * (np.pi**2 / 6 - 1), rel=1e-14)
    assert cf.score(judged, "INSTResidual")["INSTResidual"].values[0, 0] == pytest.approx(1)


@given(st.floats(0.5, 1e6))
def test_trigamma(x: float) -> None:
    from scipy.special import zeta

    assert trigamma(x) == pytest.approx(float(zeta(2, x)), rel=1e-14)
    assert trigamma(np.inf) == 0


@pytest.mark.parametrize(
    "text", ["INST(T=0.4)", "INSQ(T=0)", "INST(T=1e9)", "INST(depth=0)", "SDCG"]
)
def test_wrong_options(text: str) -> None:
    with pytest.raises(MeasureError, match="T=|depth=|SDCG@10"):
        cf.evaluate({"t": {"d": 1.0}}, {"t": {"d": 1}}, text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cwl.weights_from_continuation([]), "at least one number"),
        (lambda: cwl.weights_from_continuation(["a"]), "not a vector of numbers"),
        (lambda: cwl.weights_from_continuation([0.5, 1.5]), "not from 0 to 1"),
        (lambda: cwl.weights_from_continuation([0.5, np.nan]), "not from 0 to 1"),
        (lambda: cwl.last_from_weights([0.4, 0.6]), "weights rise"),
        (lambda: cwl.continuation_from_weights([0.4, 0.4]), "add up to 0.8"),
        (lambda: cwl.inst(1).expected([2.0]), "gains has a value"),
    ],
)
def test_wrong_vectors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        call()
