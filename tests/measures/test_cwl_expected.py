"""What users can expect, of all models: cwl_eval's numbers, identities, exact sums, bad input."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.measures import RBP, UserModel
from cranfield.measures.base import Info
from cranfield.measures.users.page import Page
from cranfield.measures.users.standard_models import user_model
from tests.conftest import ROOT

SYSTEM = "SFDC-enc45-refus12"
CWL_EVAL = json.loads((ROOT / "tests/data/cwl_eval.json").read_text())
"""What cwl_eval 1.0.12 prints. `example`: EU, ETU, EC, ETC, expected items and residual of EU, and
the proportion of users who would go on from rank 1000, which its ETU and ETC do not count.
`trec_covid`: EU, ETU, expected items and residual of EU on two topics of TREC-COVID round 5,
unjudged documents NaN, grades over 2 as graded gains, max_n=1000."""


GRADES = {"a": [2, 0, None, 1, None, 0, 1, 2], "b": [0, 0, 1, None, 0]}
LENGTHS = {"a": [3, 1, 4, 1, 5, 9, 2, 6], "b": [5, 3, 5, 8, 9]}
OWN = ("P", "RR", "AP")


def judged_example() -> cf.JudgedRuns:
    run = {t: {f"{t}{i}": -float(i) for i in range(len(gs))} for t, gs in GRADES.items()}
    qrels = {
        t: {f"{t}{i}": g for i, g in enumerate(gs) if g is not None} for t, gs in GRADES.items()
    }
    lengths = {f"{t}{i}": n for t, ns in LENGTHS.items() for i, n in enumerate(ns)}
    return cf.judge(run, qrels, lengths=lengths)


def value(judged: cf.JudgedRuns, text: str, topic: int = 0) -> float:
    [scores] = cf.score(judged, text).values()
    return float(scores.values[topic, 0])


@pytest.mark.parametrize(("model", "topic", "values"), CWL_EVAL["example"])
def test_cwl_eval(model: str, topic: str, values: list[float]) -> None:
    utility, total, cost, spent, items, residual, left = values
    judged = judged_example()
    name, _, at = model.partition("@")
    if name not in OWN:
        inside = name.partition("(")[2].rstrip(")")
        options = ", ".join(filter(None, [inside, "gains='graded', max_grade=2"]))
        model = f"{name.partition('(')[0]}({options})" + (f"@{at}" if at else "")

    def of(kind: str, *options: str) -> float:
        depth = [] if at else ["depth=1000"]
        return value(judged, f"{kind}({', '.join([model, *depth, *options])})", "ab".index(topic))

    by_length = () if "BPM" in model else ("unit=1", "missing=1")
    gained = sum((g or 0) / 2 for g in GRADES[topic]) * left
    assert of("EU") == pytest.approx(utility, rel=1e-11)
    assert of("Depth") == pytest.approx(items, rel=1e-11)
    assert of("Residual") == pytest.approx(residual, rel=1e-10, abs=1e-12)
    assert of("EC", *by_length) == pytest.approx(cost, rel=1e-11)
    assert of("ETU") == pytest.approx(total + gained, rel=1e-11)
    paid = (sum(LENGTHS[topic]) + 1000 - len(LENGTHS[topic])) * left
    assert of("ETC", *by_length) == pytest.approx(spent + paid, rel=1e-10)


@pytest.mark.parametrize("name", ["nDCG", "DCG"])
def test_user_of_ndcg_is_that_of_sdcg(name: str) -> None:
    judged = judged_example()
    for model, topic, values in CWL_EVAL["example"]:
        if model == "SDCG@6":
            for kind, expected in zip(("EU", "ETU"), values, strict=False):
                scored = value(judged, f"{kind}({name}@6)", "ab".index(topic))
                assert scored == pytest.approx(expected, rel=1e-11)
            assert value(judged, f"Depth({name}@6)") == pytest.approx(values[4], rel=1e-11)


@pytest.mark.parametrize(("topic", "gains", "model", "values"), CWL_EVAL["trec_covid"])
def test_cwl_eval_on_a_real_run(topic: str, gains: str, model: str, values: list[float]) -> None:
    covid = cf.bundled.trec_covid()
    run = next(run for run in covid.runs if run.name == SYSTEM)
    utility, total, items, residual = values
    name, _, at = model.partition("@")
    graded = f"gains='{gains}'"
    inner = f"{name}({graded})@{at}" if at else f"{name[:-1]}, {graded}, depth=1000)"
    texts = [f"{kind}({inner})" for kind in ("EU", "Depth", "ETU", "Residual")]
    found = {}
    for text, scores in zip(texts, cf.evaluate(run, covid.qrels, texts).values(), strict=True):
        found[text.partition("(")[0]] = float(scores.values[scores.topics.index(topic), 0])
    assert found["EU"] == pytest.approx(utility, abs=2e-12)
    assert found["Depth"] == pytest.approx(items, abs=2e-12)
    # Graded gains do not change what may be gained.
    assert found["Residual"] == pytest.approx(residual, abs=2e-12)
    # cwl_eval lets those who reach rank 1000 find nothing.
    assert found["ETU"] == pytest.approx(total, abs=3e-3 if "INS" in model else 2e-12)
    assert found["ETU"] == pytest.approx(utility * items, abs=1e-10)


# Models that know their sums, and the same by their continuation

MODELS = (
    *("P@4", "RR", "AP", "ERR(max_grade=2)", "RBP(p=0.7)", "SDCG@5", "INST(T=1.5)", "INSQ(T=2)"),
    *("NERR8@4", "NERR9@4", "NERR10", "NERR11(T=3)", "BPM(T=2, K=4)", "BPMDynamic(T=1, K=3)"),
    *("TBG", "U", "nDCG@5", "DCG(discount='max(1,log3(rank))')@4", "Q(gains='exponential')"),
)

grades = st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=12)


def judged_of(*rankings: list[int | None], known: bool = True) -> cf.JudgedRuns:
    run = {f"t{t}": {f"{t} {i}": -float(i) for i in range(len(r))} for t, r in enumerate(rankings)}
    qrels = {
        f"t{t}": {f"{t} {i}": g for i, g in enumerate(r) if g is not None} | {"x": 1}
        for t, r in enumerate(rankings)
    }
    runs = {"one": run, "two": {"t0": {"zzz": 1.0}}}
    docs = {doc for one in runs.values() for ranking in one.values() for doc in ranking}
    lengths = {doc: 100.0 + len(doc) for doc in docs} if known else {"y": 1}
    return cf.judge(runs, qrels, lengths=lengths)


EXACT = (
    *("P@4", "RR", "AP", "ERR", "RBP(p=0.7)", "SDCG@5", "INST(T=1.5)", "INSQ(T=2)", "INSQ(T=0.5)"),
    *("NERR8@4", "NERR9@4", "NERR10", "NERR10(p=0.3, gains='graded')", "NERR11(T=3)"),
    *("NERR11(gains={0: 0.2, 1: 0.5, 2: 1})", "BPM(T=2, K=4)", "BPM(T=3.5, K=2.5)"),
    *("BPMDynamic(T=1, K=3)", "BPMDynamic(T=2, K=3, hc=1.5, median=0.25)", "BPMDynamic(hc=3)"),
    *("nDCG@5", "DCG(gains='exponential', discount='1+log2(rank)')@4", "Q", "Q(rel=2)"),
)


@pytest.mark.parametrize("text", EXACT)
@settings(max_examples=6)
@given(grades, grades)
def test_exact_sums_equal_the_framework(
    text: str, one: list[int | None], two: list[int | None]
) -> None:
    model = user_model(text)
    judged = judged_of(one, two)
    judged = judged.top(model.cutoff) if model.cutoff else judged
    for is_filled in (False, True):
        exact = model.compute_expected(judged, depth=300, is_filled=is_filled)
        # With costs of ranks, readers are followed from rank to rank.
        dense = model.compute_expected(
            judged, depth=300, is_filled=is_filled, costs=model.compute_costs
        )
        for name in ("utility", "total_utility", "depth", "cost", "total_cost"):
            assert getattr(exact, name) == pytest.approx(getattr(dense, name), abs=1e-10)


@pytest.mark.parametrize("text", ["RBP(p=0.7)", "INST(T=1.5)", "INSQ(T=2)"])
def test_without_end_is_the_limit(text: str) -> None:
    judged = judged_of([1, None, 0, 2], [0, None])
    model = user_model(text)
    endless, far = (
        model.compute_expected(judged),
        model.compute_expected(judged, depth=10**5),
    )
    assert endless.utility == pytest.approx(far.utility, abs=1e-4)
    assert (endless.depth >= far.depth - 1e-12).all()


@pytest.mark.parametrize("text", MODELS)
@settings(max_examples=6)
@given(grades, grades)
def test_identities(text: str, one: list[int | None], two: list[int | None]) -> None:
    judged = judged_of(one, two)
    kinds = ("EU", "ETU", "EC", "ETC", "Depth", "Residual")
    scores = cf.score(judged, [f"{kind}({text})" for kind in kinds]).values()
    found = dict(zip(kinds, (one.values for one in scores), strict=True))
    assert found["ETU"] == pytest.approx(found["EU"] * found["Depth"], rel=1e-10, abs=1e-14)
    assert found["ETC"] == pytest.approx(found["EC"] * found["Depth"], rel=1e-10)
    assert (found["EU"] >= 0).all()
    assert (found["EU"] <= 1 + 1e-12).all()
    assert (found["Depth"] >= 1).all()
    model = user_model(text)
    rows = [[float(g or 0) / 2 for g in ranking] + [0.0] * 9 for ranking in (one,)]
    reading = model.read(rows, lengths=np.full((1, len(rows[0])), 300.0))
    assert reading.weights.sum() == pytest.approx(1)
    assert reading.last.sum() == pytest.approx(1)
    assert (reading.last >= 0).all()
    assert reading.last @ np.cumsum(rows[0]) == pytest.approx(reading.total_utility)
    assert reading.utility == pytest.approx(reading.weights @ np.array(rows[0]))
    assert reading.cost == pytest.approx((reading.weights * reading.page.costs).sum())


@settings(max_examples=20)
@given(grades)
def test_utility_at_the_stop_of_the_user_of_q(ranking: list[int | None]) -> None:
    """AP and Q are the means of precision and of the blended ratio where that user stops."""
    judged = judged_of(ranking)
    gains = [float(grade or 0) for grade in ranking]
    stops = cf.measures.user_model("Q").read(gains).last[0]
    n_relevant = np.cumsum(np.array(gains) > 0)
    ranks = np.arange(1, len(gains) + 1)
    ideal = sorted([*filter(None, ranking), 1], reverse=True) + [0] * len(gains)
    blended = (n_relevant + np.cumsum(gains)) / (ranks + np.cumsum(ideal[: len(gains)]))
    retrieved = n_relevant[-1] / (n_relevant[-1] + 1)
    assert value(judged, "AP") == pytest.approx(stops @ (n_relevant / ranks) * retrieved)
    assert value(judged, "Q") == pytest.approx(stops @ blended * retrieved)


@pytest.mark.parametrize("text", ["P@4", "RBP(p=0.7)", "SDCG@5", "INSQ(T=2)", "INSQ(T=2, depth=6)"])
@settings(max_examples=6)
@given(grades, st.lists(st.booleans(), min_size=12, max_size=12))
def test_residuals_bound_what_judgments_can_add(
    text: str, ranking: list[int | None], known: list[bool]
) -> None:
    everything: list[int | None] = [g or 0 for g in ranking]
    some = [g if known[i] else None for i, g in enumerate(everything)]
    low, room = value(judged_of(some), f"EU({text})"), value(judged_of(some), f"Residual({text})")
    assert low - 1e-12 <= value(judged_of(everything), f"EU({text})") <= low + room + 1e-12


@pytest.mark.parametrize("text", ["P@3", "SDCG@3", "INST(depth=3)", "INSQ(depth=3)", "NERR8@3"])
def test_nothing_is_left_where_all_is_judged(text: str) -> None:
    assert value(judged_of([1, 0, 2, None]), f"Residual({text})") == 0


def test_nothing_retrieved_is_read_without_end() -> None:
    judged = cf.judge({"a": {"t": {"d": 1.0}}}, {"t": {"x": 1}})
    assert value(judged, "INST") == 0
    # T = 1: the sum of (2 / (i + 1))^2 over all ranks.
    assert value(judged, "Depth(INST)") == pytest.approx(4 * (np.pi**2 / 6 - 1), rel=1e-14)
    assert value(judged, "Residual(INST)") == pytest.approx(1)
    assert value(judged, "Depth(RR)") == 1000
    assert value(judged, "Depth(RR, depth=7)") == 7


def test_many_rankings_are_laid_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = judged_of([1, None, 0], [0, 2], [None])
    model = user_model("NERR10")
    whole = model.compute_expected(judged, costs=model.compute_costs).utility
    monkeypatch.setattr("cranfield.measures.users.page._BLOCK_RANKS", 1)
    assert (
        model.compute_expected(judged, costs=model.compute_costs).utility.tolist() == whole.tolist()
    )
    assert whole[1, 0] > 0


# A model of one's own


class Bored(UserModel):
    info = Info("Bored")

    def continuation(self, page: Page) -> Floats:
        return np.where(page.gains > 0, 1.0, 0.25 + 0.5 * (page.n_relevant > 1))


def test_a_model_of_ones_own() -> None:
    judged = judged_of([0, 1, None])
    # Two are relevant: the user goes on with .75 where there is nothing.
    bored = Bored()
    assert cf.measures.ETU(bored).score(judged)[0, 0] == pytest.approx(0.75)
    assert cf.measures.Depth(bored, depth=4).score(judged)[0, 0] == pytest.approx(
        1 + 0.75 + 0.75 + 0.75**2
    )
    assert bored.score(judged)[0, 0] == cf.measures.EU(bored).score(judged)[0, 0]


@pytest.mark.parametrize(
    ("going_on", "message"),
    [(np.ones(3), r"shape .*, got \(3,\)"), (np.full((2, 1000), 1.5), "from 0 to 1")],
)
def test_a_wrong_model_of_ones_own(going_on: Floats, message: str) -> None:
    class Wrong(UserModel):
        info = Info("Wrong")

        def continuation(self, page: Page) -> Floats:
            return going_on

    with pytest.raises(MeasureError, match=f"Wrong: (.* )?continuation .*{message}"):
        Wrong().score(judged_of([1]))


# Text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("EU( RBP(p=.5) )", "EU(RBP(p=0.5))"),
        ("EU(INST, depth=10)", "EU(INST(depth=10))"),
        ("EU(P)@10", "EU(P@10)"),
        ("ETU(RBP, depth=10)", "ETU(RBP, depth=10)"),
        ("EC(P@2, unit=1, missing=0.5, fixed=0)", "EC(P@2, missing=0.5, unit=1)"),
        ("Residual(INST(T=2, judged_only=True))", "Residual(INST(T=2, judged_only=True))"),
    ],
)
def test_text_form(text: str, same: str) -> None:
    measure = cf.parse_measure(text)
    assert str(measure) == same
    assert cf.parse_measure(str(measure)) == measure
    assert pickle.loads(pickle.dumps(measure)) == measure


def test_objects() -> None:
    made = cf.measures.EC(RBP, unit=2)
    assert str(made(p=0.5, depth=7) @ 3) == "EC(RBP(p=0.5)@3, depth=7, unit=2)"
    assert made.info.lower_is_better
    assert not cf.measures.EU("RBP").info.lower_is_better


def test_wrong_objects() -> None:
    with pytest.raises(MeasureError, match="expected a measure or its text form, got int"):
        cf.measures.EU(5)
    with pytest.raises(MeasureError, match="gains must be at least 0"):
        user_model("RR").read([-1.0])
    with pytest.raises(MeasureError, match="a table of numbers"):
        user_model("RR").read(["a"])
    with pytest.raises(MeasureError, match="must have shape"):
        user_model("RR").read([])
    with pytest.raises(MeasureError, match="expected lengths of shape"):
        user_model("TBG").read([1.0, 0.0], lengths=[1.0])
    with pytest.raises(MeasureError, match="TBG requires lengths"):
        user_model("TBG").read([1.0, 0.0])


def test_costs_need_lengths() -> None:
    none = cf.judge({"t": {"d": 1.0}}, {"t": {"d": 1}})
    with pytest.raises(MeasureError, match="requires document lengths"):
        cf.score(none, "EC(P@2, unit=1)")
    some = judged_of([1, 0], known=False)
    with pytest.raises(
        MeasureError, match="3 retrieved documents without a known length; .*missing"
    ):
        cf.score(some, "EC(P@2, unit=1)")
    assert value(some, "ETC(P@3, unit=2, fixed=1, missing=5)") == 3 * (1 + 2 * 5)


def test_a_limit_that_only_rounding_keeps_away_is_reached() -> None:
    """Ten times .1 is less than 1 as a float, and so is 3 - .4 - 2.5 more than .1."""
    run = {"q": {f"d{i:02d}": -float(i) for i in range(20)}}
    qrels = {"q": dict.fromkeys(run["q"], 1)}
    asked = [
        "Depth(BPM(gains={1: 0.1}, T=1, K=20))",
        "Depth(BPMDynamic(gains={1: 0.1}, K=20, T=3)@1)",
    ]
    found = cf.evaluate(run, qrels, asked)
    assert [scores.values[0, 0] for scores in found.values()] == [10.0, 7.0]
