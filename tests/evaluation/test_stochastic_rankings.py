"""Expected exposure and equity of attention of several rankings, beside plain loops."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from tests.cli.running import cranfield

DOCS = [f"d{k}" for k in range(12)]


def worlds(seed: int) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, dict[str, int]]]:
    """Return runs of two systems with three and one rankings, and judgments of some documents."""
    draw = np.random.default_rng(seed)
    qrels = {t: {d: int(draw.integers(-1, 3)) for d in DOCS[:8]} for t in ("q1", "q2")}
    runs = {
        name: {
            topic: {d: float(draw.random()) for d in draw.permutation(DOCS)[: draw.integers(1, 12)]}
            for topic in qrels
        }
        for name in ("s@1", "s@2", "s@3", "alone")
    }
    return runs, qrels


def ranked(ranking: dict[str, float], cutoff: int | None) -> list[str]:
    return sorted(ranking, key=lambda doc: -ranking[doc])[:cutoff]


def exposures(docs: list[str], grades: dict[str, int], p: float, stop: float) -> dict[str, float]:
    """Return the exposure by document; a stop probability of 0 is geometric browsing."""
    values, relevant = {}, 0
    for i, doc in enumerate(docs):
        values[doc] = p**i * (1 - stop) ** relevant
        relevant += grades.get(doc, 0) > 0
    return values


def targets(grades: dict[str, int], p: float) -> dict[str, float]:
    """Return the mean exposure of the ranks that documents of equal grade fill."""
    levels = {doc: max(grade, 0) for doc, grade in grades.items()}
    values = {}
    for doc, level in levels.items():
        b = sum(other > level for other in levels.values())
        m = sum(other == level for other in levels.values())
        values[doc] = sum(p**rank for rank in range(b, b + m)) / m
    return values


@pytest.mark.filterwarnings("ignore:.*(unjudged|no results)")
@pytest.mark.parametrize("cutoff", [None, 1, 4])
@pytest.mark.parametrize("p", [0.5, 0.8])
def test_expected_exposure_beside_a_loop(p: float, cutoff: int | None) -> None:
    runs, qrels = worlds(int(10 * p) + (cutoff or 0))
    at = "" if cutoff is None else f"@{cutoff}"
    texts = [f"{name}(p={p}){at}" for name in ("EEL", "EED", "EER")]
    scores = cf.expected_exposure(runs, qrels, texts)
    for system, names in {"s": ["s@1", "s@2", "s@3"], "alone": ["alone"]}.items():
        for topic, grades in qrels.items():
            mean: dict[str, float] = defaultdict(float)
            for name in names:
                docs = ranked(runs[name][topic], cutoff)
                for doc, value in exposures(docs, grades, p, 0).items():
                    mean[doc] += value / len(names)
            target = targets(grades, p)
            docs = sorted({*mean, *target})
            loss = sum((mean.get(d, 0) - target.get(d, 0)) ** 2 for d in docs)
            disparity = sum(value**2 for value in mean.values())
            relevance = sum(value * target.get(d, 0) for d, value in mean.items())
            values = [scores[text][system][topic] for text in texts]
            assert values == pytest.approx([loss, disparity, relevance], abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*(unjudged|no results)")
def test_one_ranking_is_that_of_evaluate() -> None:
    runs, qrels = worlds(3)
    run = {"alone": runs["alone"]}
    groups = {doc: "xyz"[k % 3] for k, doc in enumerate(DOCS[:10])}
    texts = ["EEL", "EED@3", "EER(browsing='cascade', stop=0.3)", "EEL(by='group')", "EER(rel=2)"]
    texts += ["EEL(corpus='open', p=0.7)", "EED(by='group', browsing='cascade')@5"]
    ours = cf.expected_exposure(run, qrels, texts, groups=groups)
    for name, scores in cf.evaluate(run, qrels, texts, groups=groups).items():
        np.testing.assert_allclose(ours[name].values, scores.values, atol=1e-12)
        assert ours[name].lower_is_better == scores.lower_is_better


def test_worked_examples() -> None:
    runs = {"s@1": {"q": {"a": 3, "b": 2, "c": 1}}, "s@2": {"q": {"c": 3, "a": 2, "b": 1}}}
    qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    scores = cf.expected_exposure(runs, qrels)
    assert [table["s"]["q"] for table in scores.values()] == [0.28125, 1.09375, 1.0]
    # Exposure of cascade browsing: .75, .1875 and .53125.
    cascade = cf.expected_exposure(runs, qrels, "EED(browsing='cascade', stop=0.5)")
    [table] = cascade.values()
    assert table["s"]["q"] == pytest.approx(0.75**2 + 0.1875**2 + 0.53125**2)
    equity = cf.equity_of_attention(
        {"s": {"1": {"a": 2, "b": 1}, "2": {"b": 2, "a": 1}}},
        {"1": {"a": 3, "b": 2}, "2": {"a": 3, "b": 2}},
    )
    assert equity.to_polars().rows() == [("s", 2, 2, pytest.approx(0.4), pytest.approx(0.2))]


@pytest.mark.parametrize("cutoff", [None, 3])
@pytest.mark.parametrize("by", ["document", "group"])
def test_equity_beside_a_loop(by: str, cutoff: int | None) -> None:
    runs, qrels = worlds(5)
    qrels["q3"] = {"d0": 0}
    runs["alone"]["q3"] = {"d1": 1.0}
    member = {d: d if by == "document" else "xyz"[k % 3] for k, d in enumerate(DOCS)}
    at = "" if cutoff is None else f"@{cutoff}"
    measure = f"IAA(browsing='geometric', p=0.6, by='{by}'){at}"
    equity = cf.equity_of_attention(runs, qrels, measure, groups=member)
    rows = {row["system"]: row for row in equity.to_polars().iter_rows(named=True)}
    for system, names in {"s": ["s@1", "s@2", "s@3"], "alone": ["alone"]}.items():
        apart: dict[str, float] = defaultdict(float)
        exposed: dict[str, int] = defaultdict(int)
        for name in names:
            for topic in ("q1", "q2"):
                docs = ranked(runs[name][topic], cutoff)
                weights = [0.6**i for i in range(len(docs))]
                whole = sum(max(grade, 0) for grade in qrels[topic].values())
                for doc, weight in zip(docs, weights, strict=True):
                    apart[member[doc]] += weight / sum(weights)
                for doc, grade in qrels[topic].items():
                    apart[member[doc]] -= max(grade, 0) / whole
                for subject in {member[doc] for doc in docs}:
                    exposed[subject] += 1
        row = rows[system]
        assert row["unfairness"] == pytest.approx(sum(map(abs, apart.values())), abs=1e-12)
        assert row["rankings"] == 2 * len(names)
        assert row["recurring"] == sum(number > 1 for number in exposed.values())
        assert row["per ranking"] == pytest.approx(row["unfairness"] / row["rankings"])
    assert equity.notes[-1].startswith("4 rankings excluded: empty, or of a topic without relevant")


def test_refusals() -> None:
    runs, qrels = worlds(1)
    with pytest.raises(cf.MeasureError, match="expected EEL, EED or EER, got AP"):
        cf.expected_exposure(runs, qrels, ["EEL", "AP"])
    with pytest.raises(cf.MeasureError, match="expected IAA, got EEL"):
        cf.equity_of_attention(runs, qrels, "EEL")
    with pytest.raises(cf.MeasureError, match="expected one measure, got 2"):
        cf.equity_of_attention(runs, qrels, ["IAA", "IAA@5"])
    with pytest.raises(cf.MeasureError, match="one order of tied documents"):
        cf.expected_exposure(runs, qrels, ties="expected")
    with pytest.raises(cf.PolicyError, match="run 's@2' is not in"):
        table = pl.DataFrame({"run": ["s@1"], "system": ["s"], "replicate": ["1"]})
        cf.expected_exposure(runs, qrels, replicates=table)


def test_commands(tmp_path: Path) -> None:
    runs, qrels = worlds(2)
    for name, run in runs.items():
        cf.write_run(cf.read_run(run, name=name), tmp_path / f"{name}.run")
    cf.write_qrels(cf.read_qrels(qrels), tmp_path / "qrels.txt")
    files = ("qrels.txt", *(f"{name}.run" for name in runs))
    out, _ = cranfield(tmp_path, "evaluate", *files, "--as", "expected-exposure", "-f", "csv")
    frame = pl.read_csv(out.encode())
    assert (frame.columns, frame["system"].to_list()) == (
        ["system", "EEL", "EED", "EER"],
        ["s", "alone"],
    )
    out, _ = cranfield(tmp_path, "evaluate", *files, "--as", "equity", "-f", "csv")
    assert pl.read_csv(out.encode())["rankings"].to_list() == [6, 2]
    for words, reason in {
        ("--as", "equity", "-q"): "--by-topic cannot be combined with --as equity",
        ("--as", "equity", "-m", "AP"): "expected IAA, got AP",
        ("--as", "expected-exposure", "-m", "AP"): "expected EEL, EED or EER, got AP",
    }.items():
        _, err = cranfield(tmp_path, "evaluate", *files, *words, status=2)
        assert reason in err
    _, err = cranfield(tmp_path, "evaluate", "qrels.txt", "-", "--as", "equity", status=2)
    assert "reads runs twice" in err


def test_notes_of_judging_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n2 0 d 0\n")
    (tmp_path / "s.run").write_text("1 Q0 a 2 9 s\n1 Q0 b 1 8 s\n3 Q0 c 1 3 s\n")
    expected = [
        "system 's' has no results for some judged topics (1 topic: '2')",
        "system 's' has results for topics without judgments (1 topic: '3')",
        "system 's' has ranks that contradict the scores (1 contradiction);"
        " documents are ordered by score; ties='rank' orders all documents by rank",
    ]
    with pytest.warns(cf.CranfieldWarning) as warned:
        cf.expected_exposure(tmp_path / "s.run", tmp_path / "q")
    assert [str(item.message) for item in warned] == expected
    assert list(cf.equity_of_attention(tmp_path / "s.run", tmp_path / "q").notes[:3]) == expected
    table, _ = cranfield(tmp_path, "evaluate", "q", "s.run", "--as", "equity")
    assert "--ties rank orders all documents by rank" in table
    assert "ties='rank'" not in table


def test_ties_of_rankings_are_reported() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    runs = {"s@1": {"q": {"a": 1.0, "b": 1.0}}, "s@2": {"q": {"a": 2.0, "b": 1.0}}}
    # Exposures are 1 and 0.5 (p=0.5), the target of a is 1 and that of b 0.5. The order b, a
    # of the first ranking gives the means 0.75 and 0.75; a, b gives 1 and 0.5.
    with pytest.warns(cf.CranfieldWarning, match=r"change EEL of 's' by at least 0.12 \(50%"):
        scores = cf.expected_exposure(runs, qrels, "EEL")
    assert scores["EEL"].values[0, 0] == pytest.approx(0.25**2 + 0.25**2)
    # Attentions are 2/3 and 1/3: a has 1/3 + 2/3 or 4/3 of a relevance of 2, b has the rest.
    notes = cf.equity_of_attention(runs, qrels, "IAA(browsing='geometric', p=0.5)").notes
    assert len(notes) == 1
    assert "of 's' by at least 0.33 (50% of its documents are tied)" in notes[0]
