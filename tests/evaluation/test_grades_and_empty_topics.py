"""The scale of grades, and topics without a relevant document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.families import REGISTRY
from cranfield.measures.wrapping import Wrapper
from tests.cli.running import cranfield

RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 2.0, "c": 1.0}, "q3": {"d": 1.0}}
QRELS = {"q1": {"a": 1, "b": 0, "c": 3}, "q2": {"a": 1, "c": 0}, "q3": {"d": 0, "e": 0}}


def _judged(**more: Any) -> JudgedRuns:
    rng = np.random.default_rng(3)
    docs, topics = [f"d{k}" for k in range(12)], [f"q{k}" for k in range(4)]
    runs = {
        name: {q: dict(zip(docs, rng.random(12).tolist(), strict=True)) for q in topics}
        for name in ("a", "b", "c")
    }
    grades = {q: dict(zip(docs, rng.integers(0, 4, 12).tolist(), strict=True)) for q in topics}
    return cf.judge(
        runs,
        grades,
        lengths=dict(zip(docs, rng.integers(100, 5000, 12).tolist(), strict=True)),
        groups={doc: "ab"[k % 2] for k, doc in enumerate(docs)},
        **more,
    )


def _write(folder: Path) -> None:
    lines = (f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items())
    (folder / "qrels").write_text("".join(lines))
    for name in ("r", "s"):
        lines = (f"{q} Q0 {d} 1 {s} {name}\n" for q, docs in RUN.items() for d, s in docs.items())
        (folder / name).write_text("".join(lines))


def test_every_measure_knows_whether_it_depends_on_the_highest_grade() -> None:
    three, five = _judged(), _judged(max_grade=5)
    variants = ["RBP(gains='graded')", "RBP(gains={1: 0.5})", "ERR(gains='linear')", "U(L=9000)",
                "EU(ERR@5)", "Rpref(form='relative')", "Rpref(form='N')",
                "WRR(betas={1: 3})"]  # fmt: skip
    names = [
        f"{name}({kind.inner_example})" if kind.inner_example
        else name if kind.info.at_usage != "required"
        else f"{name}@5" if kind.info.at_parameter == "cutoff" else f"{name}@0.5"
        for name, kind in REGISTRY.items()
        if kind.data_class is JudgedRuns or kind.inner_example
    ]  # fmt: skip
    n_dependent = 0
    for name in [*names, *variants]:
        try:
            [measure] = cf.parse_measures(name)
            differs = not np.allclose(measure.score(three), measure.score(five), equal_nan=True)
        except cf.MeasureError:
            continue
        n_dependent += differs
        if differs or not isinstance(measure, Wrapper):
            assert measure.uses_highest_grade == differs, name
    assert n_dependent >= 10


@pytest.mark.parametrize("measure", ["ERR@20", "gP@3", "RBP(gains='graded')", "EBR"])
def test_one_judgment_of_a_higher_grade_is_reported_or_fixed(measure: str) -> None:
    without = {**QRELS, "q1": {"a": 1, "b": 0, "c": 1}}
    scores = [cf.evaluate(RUN, qrels, measure)[measure] for qrels in (QRELS, without)]
    assert scores[0].values[1, 0] < 0.8 * scores[1].values[1, 0]
    assert [one.settings["grades"].split(" (")[0] for one in scores] == ["0 to 3", "0 to 1"]
    fixed = [cf.evaluate(RUN, qrels, measure, max_grade=4) for qrels in (QRELS, without)]
    assert fixed[0][measure].values[1, 0] == fixed[1][measure].values[1, 0]
    assert "max_grade" not in " ".join(fixed[0].notes)
    assert fixed[0][measure].settings["max_grade"] == 4
    assert any("0 to 3" in note for note in cf.evaluate(RUN, QRELS, measure).notes)


def test_the_highest_grade_is_the_one_that_is_given() -> None:
    # 2^g - 1 over 2^4, as gdeval has it.
    ev = cf.evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}}, "ERR@2", max_grade=4)
    expected = 1 / 16 + (15 / 16) * (3 / 16) / 2
    assert ev["ERR@2"].values.item() == pytest.approx(expected)
    written = cf.evaluate(RUN, QRELS, ["ERR(max_grade=5)@2", "ERR@2"], max_grade=4)
    alone = cf.evaluate(RUN, QRELS, "ERR(max_grade=5)@2")
    one, two = (ev["ERR(max_grade=5)@2"].values for ev in (written, alone))
    assert np.array_equal(one, two)
    with pytest.raises(cf.PolicyError, match="at least the highest grade of the judgments, 3"):
        cf.evaluate(RUN, QRELS, "AP", max_grade=2)


def test_the_scale_is_stated_by_all_commands(tmp_path: Path) -> None:
    _write(tmp_path)
    given = ("qrels", "r", "s", "-m", "ERR@20")
    for command in ("evaluate", "compare"):
        _, told = cranfield(tmp_path, command, *given)
        assert "0 to 3" in told
        assert "max-grade" in told
        _, told = cranfield(tmp_path, command, *given, "--max-grade", "4")
        assert "0 to 3" not in told
        cranfield(tmp_path, command, *given, "--max-grade", "2", status=2)
    out, _ = cranfield(tmp_path, "evaluate", *given, "--format", "json")
    assert any("0 to 3" in note for note in json.loads(out)["notes"])
    out, _ = cranfield(tmp_path, "evaluate", *given, "--format", "json", "--max-grade", "4")
    assert '"max_grade": 4' in out
    out, _ = cranfield(tmp_path, "compare", *given, "--as", "prose")
    assert "grades are 0 to 3" in out
    out, _ = cranfield(tmp_path, "compare", *given, "--as", "prose", "--max-grade", "4")
    assert "the highest grade is 4" in out


@pytest.mark.parametrize(
    ("measure", "level", "number", "mean"),
    [("AP", 1, 1, 1.0), ("AP(rel=2)", 2, 2, 1 / 3), ("nDCG@10", 1, 1, None), ("GMAP", 1, 1, 1.0)],
)
def test_topics_without_a_relevant_document(
    measure: str, level: int, number: int, mean: float | None
) -> None:
    run = {**RUN, "q1": {"a": 3.0, "c": 2.0, "b": 1.0}} if level == 1 else RUN
    ev = cf.evaluate(run, QRELS, measure)
    [note] = [one for one in ev.notes if "or higher" in one]
    assert note.startswith(f"{number} of 3 topics")
    assert f"grade {level}" in note
    left = cf.evaluate(run, QRELS, measure, topics_with_grade=level)
    assert len(left.topics) == 3 - number
    assert not any("or higher" in one for one in left.notes)
    assert left[measure].values.tolist() == ev[measure].values[: 3 - number].tolist()
    if mean is not None:
        assert left[measure].overall()[0] == pytest.approx(mean)


@pytest.mark.parametrize("measure", ["NumRel", "NumRet", "Judged@10"])
def test_no_note_where_no_number_is_affected(measure: str) -> None:
    assert not any("or higher" in one for one in cf.evaluate(RUN, QRELS, measure).notes)


def test_topics_with_a_grade_go_with_all_ways_of_evaluating(tmp_path: Path) -> None:
    with pytest.raises(cf.PolicyError, match="topics_with_grade"):
        cf.evaluate(RUN, QRELS, "AP", topics_with_grade=4)
    shards = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "x"}
    ev = cf.evaluate(RUN, QRELS, "AP", shards=shards, topics_with_grade=1)
    assert ev.topics == ev.whole.topics == ("q1", "q2")
    extra = cf.evaluate({**RUN, "q9": {"a": 1.0}}, QRELS, "AP", topics="run", topics_with_grade=3)
    assert extra.topics == ("q1",)
    _write(tmp_path)
    for command in ("evaluate", "compare"):
        _, told = cranfield(tmp_path, command, "qrels", "r", "s", "-m", "RR")
        assert "--settings with topics-with-grade: 1" in told
        kept = ("--topics-with-grade", "1")
        _, told = cranfield(tmp_path, command, "qrels", "r", "s", "-m", "RR", *kept)
        assert "or higher" not in told


def test_no_topic_has_a_relevant_document(tmp_path: Path) -> None:
    ev = cf.evaluate(RUN, QRELS, ["AP(rel=4)", "AP", "P(rel=5)@1", "RR(rel=4)"])
    none = "no document is relevant, so all scores are 0: no judgment of these topics has grade"
    assert [note for note in ev.notes if "is relevant" in note] == [
        f"{none} 4 or higher (AP(rel=4) and RR(rel=4))",
        f"{none} 5 or higher (P(rel=5)@1)",
    ]
    # Measures that count documents have scores without relevant ones.
    assert cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 0}}, ["Judged@1", "NumRet"]).notes == []
    (tmp_path / "z.q").write_text("1 0 a 0\n1 0 b 0\n")
    (tmp_path / "z.run").write_text("1 Q0 a 1 2 s\n")
    (tmp_path / "z.csv").write_text("session,topic,query,rank,doc\ns1,1,1,1,a\n")
    text, _ = cranfield(tmp_path, "evaluate", "z.q", "z.run", "-m", "AP", "--format", "json")
    assert json.loads(text)["notes"] == [f"{none} 1 or higher (AP)"]
    _, warnings = cranfield(tmp_path, "sessions", "z.q", "z.csv", "-m", "nsDCG@10")
    assert f"{none} 1 or higher (nsDCG@10)" in warnings


def test_options_that_no_measure_uses_have_a_note(tmp_path: Path) -> None:
    options: dict[str, Any] = {"max_grade": 5, "lengths": {"a": 1, "b": 1, "c": 1, "d": 1}}

    def list_noted(notes: Any) -> set[str]:
        return {name for note in notes for name in options if f"{name} has no effect" in note}

    assert list_noted(cf.evaluate(RUN, QRELS, "AP", **options).notes) == {*options}
    assert list_noted(cf.evaluate(RUN, QRELS, ["AP", "ERR"], **options).notes) == {"lengths"}
    assert list_noted(cf.evaluate(RUN, QRELS, ["TBG"], **options).notes) == {"max_grade"}
    shards = dict(zip("abcde", "xyyxy", strict=True))
    assert list_noted(cf.evaluate(RUN, QRELS, "AP", max_grade=5, shards=shards).notes)
    sessions = {"session": ["s"], "query": [1], "rank": [1], "doc": ["a"], "topic": ["q1"]}
    assert list_noted(cf.evaluate_sessions(sessions, QRELS, "RR", **options).notes) == {*options}
    probabilities = [("q1", "a", 0.5), ("q1", "b", 0.2)]
    assert list_noted(cf.evaluate_probabilities(RUN, probabilities, "AP", max_grade=5).notes)
    (tmp_path / "z.q").write_text("1 0 a 0\n1 0 b 1\n")
    (tmp_path / "z.csv").write_text("session,topic,query,rank,doc\ns1,1,1,1,a\n")
    call = ("sessions", "z.q", "z.csv", "-m", "RR", "--max-grade", "2")
    assert "setting max-grade has no effect" in cranfield(tmp_path, *call)[1]


def test_a_depth_of_rankings_that_limits_a_measure_is_reported() -> None:
    relevant = {f"d{k:02}": 1 for k in range(15)}
    qrels = {"deep": relevant, "shallow": dict([*relevant.items()][:9])}
    runs = {
        name: {topic: {f"{first}{k:02}": -k for k in range(10)} for topic in qrels}
        for name, first in (("good", "d"), ("bad", "x"))
    }
    measures = ["AP", "SetR", "nDCG", "RBP", "RR", "P@10", "AP@10"]
    evaluation = cf.evaluate(runs, qrels, measures)
    limited = [name for name in evaluation if "ranking depth" in evaluation[name].settings]
    assert limited == ["AP", "SetR", "nDCG", "RBP"]
    [note] = [note for note in evaluation.notes if "rankings end" in note]
    assert "rank 10, which limits AP, SetR, nDCG and RBP on 1 of 2 topics" in note
    assert cf.compare(evaluation["AP"]).prose().count("Rankings end at rank 10,") == 1
    assert "Rankings end" not in cf.compare(evaluation["AP@10"]).prose()
    # Not if a depth is set, or another ranking of the topic is longer or shorter.
    assert not any("rankings end" in n for n in cf.evaluate(runs, qrels, "AP", depth=5).notes)
    runs["bad"]["deep"].popitem()
    other = cf.evaluate(runs, qrels, "AP")
    assert "ranking depth" not in other["AP"].settings
    assert not any("rankings end" in note for note in other.notes)
    # TREC's usual depth exceeds the number of relevant documents.
    assert cf.evaluate(runs, {"deep": {"d00": 1}}, "AP")["AP"].settings.get("ranking depth") is None
