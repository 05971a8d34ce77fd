"""Expected scores over judgments: enumeration, published values, intervals and refusals."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from tests.cli.running import ended_with

REFERENCE = {
    # Enumeration of all 64 outcomes of six documents: expectation and variance.
    "P@3": (0.6666666667, 0.0600000000),
    "RBP(p=0.8)": (0.3979072000, 0.0164932748),
    "DCG@6": (1.8101073983, 0.3124459150),
    "RR": (0.9363400000, 0.0384155711),
    "AP": (0.8079753389, 0.0321823544),
    "nDCG@6": (0.8930960119, 0.0191537768),
    "ERR": (0.5768895833, 0.0167066057),
}
PROBABILITIES = {"d1": 0.9, "d2": 0.4, "d3": 0.7, "d4": 0.1, "d5": 0.5, "d6": 0.2}
RUN = {"q": {doc: 10.0 - k for k, doc in enumerate(PROBABILITIES)}}


def test_reference_values() -> None:
    expected = cf.evaluate_probabilities(RUN, {"q": PROBABILITIES}, list(REFERENCE), by_topic=True)
    for measure, (mean, variance) in REFERENCE.items():
        assert expected.scores[measure].values[0, 0] == pytest.approx(mean, abs=1e-10)
        assert expected.variances[measure][0, 0] == pytest.approx(variance, abs=1e-10)
    assert set(expected.rows["draws"]) == {0}
    more = PROBABILITIES | {"x": 0.3, "y": 0.3}
    scores = cf.evaluate_probabilities(RUN, {"q": more}, "AP").scores["AP"]
    assert scores.values[0, 0] == pytest.approx(0.6820441363, abs=1e-10)


def test_simulated_values_are_within_their_error() -> None:
    """R-precision of the same documents: 0.6571036667 and 0.0617338990 by enumeration."""
    expected = cf.evaluate_probabilities(RUN, {"q": PROBABILITIES}, "Rprec", draws=6_000, seed=3)
    row = expected.rows.row(0, named=True)
    assert abs(row["expected"] - 0.6571036667) < 3 * row["simulation error"]
    assert row["simulation error"] == pytest.approx(np.sqrt(0.0617338990 / 6_000), rel=0.02)
    assert row["draws"] == 6_000


GRADED = (
    *("P(rel=2)@3", "DCG(gains='exponential')@4", "gP@3", "RBP(rel=2)", "RR(rel=2)", "ERR@4"),
    *("Success(rel=2)@2", "FirstRank@3", "iRBU", "AP(rel=2)", "AP(rel=2, denominator='min')@2"),
    *("R(rel=2)@2", "RelP@2", "F@3", "RR@1", "ERR@1", "AP(judged_only=True)", "SDCG@3"),
)
BINARY = ("nDCG", "nDCG@2", "nDCG(ideal='full')@2", "NCG@3", "nDCG(discount='1+log2(rank)')")
OF_GRADES = {"a": (0.5, 0.3, 0.2), "b": (0.1, 0, 0.9), "c": (0.6, 0.4, 0), "z": (0.2, 0.3, 0.5)}
OF_RELEVANCE = {"a": (0.5, 0.5), "b": (0.1, 0.9), "c": (1, 0), "d": (0.7, 0.3), "z": (0.2, 0.8)}


@pytest.mark.parametrize(
    ("measures", "probabilities"), [(GRADED, OF_GRADES), (BINARY, OF_RELEVANCE)]
)
@pytest.mark.parametrize("unjudged", ["nonrelevant", "condensed"])
def test_exact_moments_are_those_of_all_outcomes(
    measures: tuple[str, ...], probabilities: dict[str, tuple[float, ...]], unjudged: Any
) -> None:
    """Each outcome is scored as usual, with its probability; `z` is in one run, `u` unjudged."""
    runs = {
        "first": {"q": {"u": 9.0, "a": 8.0, "b": 7.0, "c": 6.0, "d": 5.0}},
        "second": {"q": {"c": 9.0, "u": 8.0, "z": 7.0, "a": 6.0}},
    }
    grades = len(probabilities["a"])
    options = {"unjudged": unjudged, "max_grade": grades - 1}
    weights: list[Any] = []
    qrels: dict[str, dict[str, int]] = {}
    for outcome in product(range(grades), repeat=len(probabilities)):
        weight = np.prod([p[g] for p, g in zip(probabilities.values(), outcome, strict=True)])
        if weight:
            qrels[str(len(qrels))] = dict(zip(probabilities, outcome, strict=True))
            weights.append(weight)
    repeated = {name: dict.fromkeys(qrels, run["q"]) for name, run in runs.items()}
    scores = cf.evaluate(repeated, qrels, measures, **options)
    by_number = np.argsort([int(topic) for topic in scores.topics])
    expected = cf.evaluate_probabilities(runs, {"q": probabilities}, measures, **options)
    assert set(expected.rows["draws"]) == {0}
    for name in measures:
        values = scores[name].values[by_number]
        mean, square = (weights @ values**power for power in (1, 2))
        np.testing.assert_allclose(expected.scores[name].values[0], mean, atol=1e-12)
        np.testing.assert_allclose(expected.variances[name][0], square - mean**2, atol=1e-12)


def test_certain_judgments_give_the_usual_scores() -> None:
    covid = cf.bundled.trec_covid()
    runs = covid.runs[:2]
    measures = ["AP", "P@10", "nDCG@10", "RR", "R@1000", "RBP", "ERR", "Bpref", "Rprec"]
    usual = cf.evaluate(runs, covid.qrels, measures, max_grade=2)
    expected = cf.evaluate_probabilities(runs, covid.qrels, measures, draws=2, max_grade=2)
    for name in measures:
        np.testing.assert_array_equal(expected.scores[name].values, usual[name].values)
        assert not expected.variances[name].any()


def test_certain_topics_beside_uncertain_ones() -> None:
    runs = {"q": {"a": 2.0, "b": 1.0, "c": 0.5}, "r": {"a": 2.0, "b": 1.0}}
    qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    mixed = {"q": {"a": 1, "b": 0, "c": 1}, "r": {"a": 0.5, "b": 0.5}}
    expected = cf.evaluate_probabilities(runs, mixed, ["P@3", "Rprec"], draws=50)
    usual = cf.evaluate(runs, qrels, ["P@3", "Rprec"])
    for name in usual:
        assert expected.scores[name].values[0, 0] == usual[name].values[0, 0]
        assert expected.variances[name][0, 0] == 0
        assert expected.variances[name][1, 0] > 0


def test_random_numbers_depend_on_seed_and_topic_only() -> None:
    rng = np.random.default_rng(1)
    rows = [(f"q{t}", f"d{d}", float(rng.random())) for t in range(3) for d in range(8)]
    run = {f"q{t}": {f"d{d}": -d for d in range(8)} for t in range(3)}
    options: dict[str, Any] = {"measures": "Rprec", "draws": 70}
    scores = cf.evaluate_probabilities(run, rows, **options).scores["Rprec"].values
    shuffled = [rows[k] for k in rng.permutation(len(rows))]
    for probabilities in (shuffled, rows[8:]):
        other = cf.evaluate_probabilities(run, probabilities, **options).scores["Rprec"]
        by_topic = dict(zip(other.topics, other.values[:, 0].tolist(), strict=True))
        assert by_topic["q1"] == scores[1, 0]
        assert by_topic["q2"] == scores[2, 0]
    seeded = cf.evaluate_probabilities(run, rows, seed=1, **options).scores["Rprec"].values
    assert (seeded != scores).any()
    for backend in ("serial", "threading", "loky"):
        same = cf.evaluate_probabilities(run, rows, backend=backend, jobs=2, **options)
        assert (same.scores["Rprec"].values == scores).all()


def test_intervals_add_the_variances_of_topics_and_of_labels() -> None:
    """By hand: expected scores .9 and .2 of variances .09 and .16; t(1) = 12.7062."""
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    probabilities = {"q1": {"a": 0.9}, "q2": {"a": 0.2}}
    row = cf.evaluate_probabilities(run, probabilities, "P@1").rows.row(0, named=True)
    error = np.sqrt(0.245 / 2 + 0.25 / 4)
    assert row["expected"] == pytest.approx(0.55)
    assert row["topic error"] == pytest.approx(np.sqrt(0.245 / 2))
    assert row["label error"] == pytest.approx(0.25)
    assert row["high"] - row["expected"] == pytest.approx(12.7062047 * error)
    fixed = cf.evaluate_probabilities(run, probabilities, "P@1", fixed_topics=True)
    assert fixed.rows["high"][0] - 0.55 == pytest.approx(1.95996398 * 0.25)
    single = cf.evaluate_probabilities({"q1": {"a": 1.0}}, {"q1": {"a": 0.9}}, "P@1").rows
    assert single["low"][0] is None and single["label error"][0] == pytest.approx(0.3)


def test_topics_of_the_policy() -> None:
    runs = {"a": {"q1": {"x": 1.0}}, "b": {"q1": {"x": 1.0}, "q2": {"x": 1.0}, "q3": {"y": 1.0}}}
    probabilities = {"q1": {"x": 0.4}, "q2": {"x": 0.5}}
    for topics, values in (
        ("intersection", [[0.4, 0.4], [np.nan, 0.5]]),
        ("run", [[0.4, 0.4], [np.nan, 0.5], [np.nan, 0.0]]),
    ):
        options: dict[str, Any] = {"topics": topics}
        expected = cf.evaluate_probabilities(runs, probabilities, ["P@1", "AP"], **options)
        for scores in expected.scores.values():
            np.testing.assert_allclose(scores.values, values)
    assert cf.compare(cf.evaluate_probabilities(runs, probabilities, "P@1").scores["P@1"])


def test_notes_name_the_assumptions_and_topics_without_relevant_documents() -> None:
    notes = cf.evaluate_probabilities(RUN, {"q": {"d1": 0.5, "x": 0.5}}, "Rprec", draws=10).notes
    assert any("calibrated" in note and "independent" in note for note in notes)
    assert any("Rprec: estimated from 10 draws of the judgments, seed 0" in note for note in notes)
    assert any("1 topic may have no relevant document" in note and "0.25" in note for note in notes)
    notes = cf.evaluate_probabilities(RUN, {"q": {"d1": 0.9}}, ["AP", "AP(rel=2)"]).notes
    assert any("no relevant document" in note and "(0.1 for" in note for note in notes)
    assert any("may have no document of grade 2 or higher" in n and "(1 for" in n for n in notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"measures": "GMAP"},
            "an arithmetic mean over topics, got GMAP .geometric.",
        ),
        (
            {"measures": "NumRelRet"},
            "an arithmetic mean over topics, got NumRelRet .sum.",
        ),
        (
            {"measures": "AWRF@5"},
            "measure of judgments only, got AWRF@5, which also requires groups",
        ),
        ({"ties": "expected"}, "ties='expected' cannot be combined"),
        ({"topics_with_grade": 1}, "topics_with_grade cannot be combined"),
        ({"lengths": {"a": 2}}, "lengths cannot be combined"),
        ({"draws": 1}, "draws must be an integer from 2"),
        ({"confidence": 95}, "confidence must be a number between 0 and 1"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    options = {"measures": "AP"} | arguments
    with pytest.raises(cf.CranfieldError, match=message):
        cf.evaluate_probabilities(RUN, {"q": PROBABILITIES}, **options)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("topic,doc,probability\nq,a,0.9\nq,b,0.4\nr,a,0.2\n")
    (tmp_path / "a.run").write_text("q Q0 b 1 2 a\nq Q0 a 2 1 a\nr Q0 a 1 1 a\n")
    evaluate = ("evaluate", "p.csv", "a.run", "-m", "RR", "--as", "expected")
    status, out, error = ended_with(tmp_path, *evaluate, "-q", "--format", "csv")
    # By hand: RR of q is 1, 1/2 or 0 with probability .4, .54 and .06; of r, 1 or 0.
    rows = [line.split(",") for line in out.splitlines()]
    assert status == 0
    assert rows[0][3:] == ["expected", "label error", "simulation error", "draws"]
    assert [row[:3] for row in rows[1:]] == [["q", "a", "RR"], ["r", "a", "RR"]]
    values = np.array([row[3:] for row in rows[1:]], dtype=float)
    deviation = np.sqrt(0.4 + 0.54 / 4 - 0.67**2)
    np.testing.assert_allclose(values, [[0.67, deviation, 0, 0], [0.2, 0.4, 0, 0]], rtol=1e-12)
    assert "calibrated probabilities" in error
    status, out, _ = ended_with(tmp_path, *evaluate)
    assert "0.4350" in out and "95% confidence intervals for the mean" in out
    (tmp_path / "fixed.yml").write_text("fixed-topics: true\nconfidence: 0.9\n")
    status, out, _ = ended_with(tmp_path, *evaluate, "--settings", "fixed.yml")
    assert (
        status == 0
        and "90% confidence intervals for the mean score of these topics with their true judgments"
        in out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("q.txt", "--as", "expected"), "q.txt:1: "),
        (("q.txt",), "q.txt:1: grade '0.5' is not an integer .*cranfield evaluate --as expected"),
        (("p.csv", "--as", "expected", "--subtopics"), "--subtopics cannot be combined with --as"),
        (
            ("p.csv", "--as", "expected", "--coverage"),
            "--coverage requires --as scores or tie-ranges",
        ),
        (("p.csv", "--as", "expected", "--format", "trec"), "cannot be combined with --format"),
        (("p.csv", "--as", "expected", "--ties", "expected"), "--ties expected cannot be"),
        (("p.csv", "--as", "expected", "--columns", "doc=x"), "--as expected supports --columns"),
        (("bad.csv", "--as", "expected"), "bad.csv:2: .*from 0 to 1, got 3; for graded"),
    ],
)
def test_refusals_of_the_command(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "p.csv").write_text("topic,doc,probability\nq,a,0.9\n")
    (tmp_path / "bad.csv").write_text("topic,doc,probability\nq,a,3\n")
    (tmp_path / "q.txt").write_text("q 0 a 0.5\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 2 a\n")
    status, out, error = ended_with(tmp_path, "evaluate", words[0], "a.run", *words[1:])
    assert (status, out) == (2, "")
    assert re.search(message, error), error


def test_probabilities_of_crowd_models(tmp_path: Path) -> None:
    rows = [("q", "a", w, g) for w, g in (("x", 1), ("y", 0), ("z", 1))] + [("q", "b", "x", 0)]
    lines = "".join(f"{','.join(map(str, row))}\n" for row in rows)
    (tmp_path / "crowd.csv").write_text("topic,doc,worker,grade\n" + lines)
    consensus = cf.assess.majority(cf.assess.read_labels(str(tmp_path / "crowd.csv")))
    scores = cf.evaluate_probabilities({"q": {"a": 1.0}}, consensus.probabilities, "P@1").scores
    assert scores["P@1"].values[0, 0] == pytest.approx(2 / 3)
    words = ("labels", "crowd.csv", "--table", "probabilities", "--format", "csv")
    status, out, _ = ended_with(tmp_path, *words, "-o", "p.csv")
    assert (status, out) == (0, "")
    again = cf.read_probabilities(tmp_path / "p.csv")
    np.testing.assert_array_equal(again.values, consensus.probabilities.values)


def test_ties_can_change_expected_scores() -> None:
    probabilities = {"q": {"a": 0.9, "b": 0.2}, "r": {"a": 0.5, "c": 0.0}}
    tied = {"q": {"a": 1.0, "b": 1.0}, "r": {"a": 2.0, "c": 1.0}}
    notes = cf.evaluate_probabilities(tied, probabilities, "P@1").notes
    # The mean of two topics is (0.2 + 0.5) / 2 or (0.9 + 0.5) / 2.
    assert notes[0] == (
        "ties can change P@1 of 'run' by at least 0.35 (50% of its documents are tied)"
    )
    untied = tied | {"q": {"a": 2.0, "b": 1.0}}
    for measure in ("P@1", "Bpref"):
        notes = cf.evaluate_probabilities(untied, probabilities, measure).notes
        assert not any("ties can change" in note for note in notes)
