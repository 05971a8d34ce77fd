"""Judging: each policy, by hand; and what is counted of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection import pairs
from cranfield.collection.files import reading
from cranfield.collection.judged.coverage import ID_DIFFERENCES
from tests.collection.refusals import refuses, written

QRELS = {"1": {"a": 1, "b": 0, "c": 2, "j": -1}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 2.0, "a": 2.0, "x": 3.0, "j": 1.0, "c": 0.5}, "2": {"q": 1.0}, "9": {"a": 1.0}}


def ranks(judged: cf.JudgedRuns, topic: str = "1") -> dict[int, int]:
    rows = judged.documents
    mine = rows.topic == judged.topics.index(topic)
    return dict(zip(rows.rank[mine].tolist(), rows.grade[mine].tolist(), strict=True))


def test_defaults() -> None:
    judged = cf.judge(RUN, QRELS)
    assert judged.topics == ("1", "2", "3")
    assert judged.systems == ("run",)
    assert ranks(judged) == {2: 0, 3: 1, 4: -1, 5: 2}
    assert judged.n_retrieved.tolist() == [[5], [1], [0]]
    assert judged.recall_base().ravel().tolist() == [2, 1, 1]
    assert judged.recall_base(2).ravel().tolist() == [1, 0, 0]
    assert judged.nonrelevant_base().ravel().tolist() == [2, 0, 0]
    assert judged.is_scored.all()
    assert repr(judged) == "JudgedRuns(3 topics, 1 system, 4 judged rows)"


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("trec", {2: 0, 3: 1}), ("id-ascending", {2: 1, 3: 0}), ("input", {2: 0, 3: 1})],
)
def test_ties(ties: Any, expected: dict[int, int]) -> None:
    got = ranks(cf.judge(RUN, QRELS, ties=ties))
    assert {rank: got[rank] for rank in (2, 3)} == expected
    assert cf.judge(RUN, QRELS, ties=ties).coverage.systems[0].n_tied == 2


def test_ties_by_rank_column(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("1 Q0 c 1 0.1 t\n1 Q0 a 2 9 t\n1 Q0 b 2 10 t\n1 Q0 x 0 11 t\n")
    assert ranks(cf.judge(path, QRELS, ties="rank")) == {2: 2, 3: 1, 4: 0}
    coverage = cf.judge(path, QRELS).coverage.systems[0]
    assert coverage.n_contradictions == 1
    refuses(
        "requires a column of", cf.judge, written(path, "1 Q0 c first 0.1 t\n"), QRELS, ties="rank"
    )
    refuses("requires a column of", cf.judge, RUN, QRELS, ties="rank")


def test_ties_of_trec_eval_9_are_those_of_32_bits() -> None:
    run = {"1": {"b": 10000000.0, "a": 10000000.1}}
    assert ranks(cf.judge(run, QRELS))[1] == 1
    assert ranks(cf.judge(run, QRELS, ties="trec_eval-9"))[1] == 0


@pytest.mark.parametrize(
    ("topics", "labels", "scores"),
    [
        ("qrels", ("1", "2", "3"), [0.0, 0.0, 0.0]),
        ("intersection", ("1", "2"), [0.0, 0.0]),
        ("run", ("1", "2", "9"), [0.0, 0.0, 0.0]),
    ],
)
def test_topics(topics: Any, labels: tuple[str, ...], scores: list[float]) -> None:
    ev = cf.evaluate(RUN, QRELS, "P@1", topics=topics)
    assert ev.topics == labels
    assert ev["P@1"].values.ravel().tolist() == scores


def test_each_system_has_its_own_intersection() -> None:
    runs = {"all": RUN, "one": {"3": {"z": 1.0}}}
    ev = cf.evaluate(runs, QRELS, ["RR", "NumQ", "NumRel"], topics="intersection")
    assert ev.topics == ("1", "2", "3")
    assert np.isnan(ev["RR"].values).tolist() == [[False, True], [False, True], [True, False]]
    assert ev["RR"].mean().tolist() == pytest.approx([(1 / 3 + 0) / 2, 1.0])
    assert ev["NumQ"].overall().tolist() == [2, 1]
    # Missing topics count under the default policy, with what is relevant for them.
    ev = cf.evaluate(runs, QRELS, ["RR", "NumQ", "NumRel"])
    assert ev["RR"].mean().tolist() == pytest.approx([1 / 9, 1 / 3])
    assert ev["NumRel"].overall().tolist() == [4, 4]


@pytest.mark.parametrize(
    ("policies", "grades", "retrieved", "nonrelevant"),
    [
        ({"unjudged": "condensed"}, {1: 0, 2: 1, 3: -1, 4: 2}, [4, 0, 0], 2),
        ({"unjudged": "condensed", "negative": "unjudged"}, {1: 0, 2: 1, 3: 2}, [3, 0, 0], 1),
        ({"depth": 3}, {2: 0, 3: 1}, [3, 1, 0], 2),
    ],
)
def test_policies(policies: Any, grades: Any, retrieved: list[int], nonrelevant: int) -> None:
    judged = cf.judge(RUN, QRELS, **policies)
    assert ranks(judged) == grades
    assert judged.n_retrieved.ravel().tolist() == retrieved
    assert judged.nonrelevant_base().ravel().tolist() == [nonrelevant, 0, 0]


def test_negative_grades() -> None:
    ev = cf.evaluate(RUN, QRELS, ["Judged@5", "NumNonrelRet"], negative="unjudged")
    assert [s.values[0, 0] for s in ev.values()] == [3 / 5, 1]
    ev = cf.evaluate(RUN, QRELS, ["Judged@5", "NumNonrelRet"])
    assert [s.values[0, 0] for s in ev.values()] == [4 / 5, 2]


def test_coverage() -> None:
    coverage = cf.judge(RUN, QRELS).coverage
    row = coverage.systems[0]
    assert (row.n_retrieved, row.n_unjudged, row.n_unjudged_10) == (6, 2, 2)
    assert (row.missing, row.extra, row.n_tied) == (("3",), ("9",), 2)
    notes = coverage.notes
    assert notes[0] == "system 'run' has no results for some judged topics (1 topic: '3')"
    assert notes[1] == "system 'run' has results for topics without judgments (1 topic: '9')"
    assert "more than 20% unjudged" in notes[2]
    assert notes[2].endswith("(33.3%)")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coverage.warn()
    assert [str(one.message) for one in caught] == notes
    assert coverage.to_polars()["missing topics"].to_list() == [1]
    assert repr(coverage).startswith("Coverage(") and len(repr(coverage)) < 80
    assert "unjudged@10" in str(coverage) and "note: " in str(coverage)


@pytest.mark.parametrize(
    ("unjudged", "expected"),
    [((0, 1), ""), ((0, 2), "differs"), ((1, 2), ""), ((0, 3), "more than 20%"), ((2,), "")],
)
def test_unequal_proportions_of_unjudged_documents(unjudged: Any, expected: str) -> None:
    """One document of ten may differ, a second is reported."""
    docs = [f"d{k}" for k in range(10)]
    runs = {
        f"x{n}": {"q": {f"u{doc}" if k < n else doc: -k for k, doc in enumerate(docs)}}
        for n in unjudged
    }
    qrels = {"q": dict.fromkeys(docs, 1)}
    notes = [note for note in cf.judge(runs, qrels).coverage.notes if "unjudged" in note]
    assert len(notes) == bool(expected) and all(expected in note for note in notes)
    assert cf.evaluate(runs, qrels, "P@5").notes[: len(notes)] == notes
    if len(runs) > 1:
        more = {name: {**run, "r": {"d0": 1.0}} for name, run in runs.items()}
        evaluation = cf.evaluate(more, {**qrels, "r": {"d0": 1}}, "P@5")
        notes = [note for note in evaluation.notes if "unjudged" in note]
        items = cf.checklist(evaluation, test="t").rows
        assert (items.filter(id="unjudged")["status"][0] == "made") == bool(notes)


def test_presets() -> None:
    expected = {"ties": "trec_eval-9", "topics": "intersection", "unjudged": "nonrelevant"}
    expected["negative"] = "unjudged"
    numbers = dict.fromkeys(("depth", "max_grade", "topics_with_grade"))
    judged = cf.judge(RUN, QRELS, compat="trec_eval-9")
    assert judged.policies.describe() == expected | numbers
    assert cf.judge(RUN, QRELS, compat="trec_eval", topics="qrels").policies.topics == "qrels"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ties": "random"}, "unknown ties 'random'; expected one of: trec,"),
        ({"topics": "all"}, "unknown topics 'all'; expected one of: qrels, intersection, run"),
        ({"unjudged": "x"}, "unknown unjudged 'x'; expected one of:"),
        ({"compat": "trec_eval-8"}, "unknown compat 'trec_eval-8'; expected one of:"),
        ({"depth": 0}, "depth must be an integer from 1 to 1,000,000,000, got 0"),
        ({"depth": "ten"}, "depth must be an integer from 1 to 1,000,000,000, got 'ten'"),
        ({"jobs": 0}, "jobs must be an integer from 1"),
    ],
)
def test_wrong_policies(options: dict[str, Any], said: str) -> None:
    with pytest.raises(cf.PolicyError) as caught:
        cf.judge(RUN, QRELS, **options)
    assert said in str(caught.value)


def test_nothing_in_common() -> None:
    refuses(r"no topic of the runs is judged \(runs have '9'", cf.judge, {"9": {"a": 1.0}}, QRELS)
    refuses("expected at least one run", cf.judge, [], QRELS)
    qrels = {"Q1": {"a": 1}, "Q2": {"a": 1}}
    spellings = [("q1", True), ("Q001", True), ("Q1.0", True), ("Ｑ1", True)]
    for topic, hint in (*spellings, ("Q10", False), ("1", False)):
        with pytest.raises(cf.InputError) as caught:
            cf.judge({topic: {"a": 1.0}}, qrels)
        assert str(caught.value).endswith(f"; they differ in {ID_DIFFERENCES}") == hint
    # A zero within a number is not a leading zero.
    refuses(r"have '11'\)$", cf.judge, {"101": {"a": 1.0}}, {"11": {"a": 1}})


@pytest.mark.parametrize(("topic", "judged"), [("007", "7"), ("q2", "Q2")])
def test_a_topic_in_another_spelling_is_noted(topic: str, judged: str) -> None:
    run = {"2026": {"a": 1.0}, topic: {"a": 1.0}}
    note = (
        f"topic '{topic}' of the runs and topic '{judged}' of the judgments differ only in"
        f" {ID_DIFFERENCES}; they are read as different topics"
    )
    for topics in ("qrels", "run"):
        notes = cf.judge(run, {"2026": {"a": 1}, judged: {"a": 1}}, topics=topics).coverage.notes
        assert notes[2] == note
    assert note not in cf.judge(run, {"2026": {"a": 1}, "8": {"a": 1}}).coverage.notes


@pytest.mark.parametrize(
    ("doc", "judged", "others", "is_noted"),
    [
        ("7", "007", ["102"], True),
        ("d7", "D7", ["102"], True),
        ("d7\xa0", "d7", ["102"], True),
        ("7", "007", ["102", "007"], False),  # two documents
        ("7", "8", ["102"], False),
        ("7", "007", ["102", "101", "103", "104", "105"], False),  # few are unjudged
    ],
)
def test_a_document_in_another_spelling_is_noted(
    doc: str, judged: str, others: list[str], is_noted: bool
) -> None:
    run = {"1": dict.fromkeys([doc, *others], 1.0)}
    qrels = {"1": dict.fromkeys([judged, "102", "101", "103", "104", "105"], 1)}
    notes = cf.judge(run, qrels).coverage.notes
    note = f"document {doc!r} of the runs and document {judged!r} of the judgments differ only in"
    assert any(text.startswith(note) for text in notes) == is_noted


def test_names_of_systems(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text("1 Q0 a 1 1 same\n")
    with pytest.warns(cf.CranfieldWarning, match="several files have the run tag 'same'"):
        assert cf.judge(tmp_path, QRELS).systems == ("one", "two")
    run = cf.read_run({"1": {"a": 1.0}}, name="x")
    refuses("two runs have the name 'x'", cf.judge, [run, run], QRELS)


documents = st.dictionaries(
    st.sampled_from("abcdefghijk"), st.sampled_from([0.0, 1.0, 1.5, -2.0]), min_size=1, max_size=11
)
runs = st.dictionaries(st.sampled_from("12345"), documents, min_size=1)
judgments = st.dictionaries(
    st.sampled_from("12345"),
    st.dictionaries(st.sampled_from("abcdefghijk"), st.integers(-1, 3), min_size=1),
    min_size=1,
)
MEASURES = ["AP", "nDCG@5", "RR", "Bpref", "RBP", "ERR(max_grade=3)", "SetF", "infAP", "G"]


@given(runs, judgments, st.randoms(use_true_random=False))
def test_order_and_scale_of_the_input_do_not_matter(run: Any, qrels: Any, random: Any) -> None:
    """Shuffled rows, renamed topics and increasing affine maps of the scores change nothing."""
    if not run.keys() & qrels.keys():
        return

    def shuffled(table: Any) -> Any:
        items = list(table.items())
        random.shuffle(items)
        return dict(items)

    plain = cf.evaluate(run, qrels, MEASURES)
    mixed = [(t, d, 4 * s + 8) for t, docs in run.items() for d, s in docs.items()]
    random.shuffle(mixed)
    other = cf.evaluate(
        [("t" + t, d, s) for t, d, s in mixed],
        {"t" + t: shuffled(docs) for t, docs in shuffled(qrels).items()},
        MEASURES,
    )
    assert other.topics == tuple("t" + t for t in plain.topics)
    for measure in plain:
        assert np.array_equal(plain[measure].values, other[measure].values)


def test_systems_of_which_nothing_is_judged_are_told() -> None:
    run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.0}}
    qrels = {"q1": {"d1": 1}, "q2": {"d3": 0}}
    other = {"q1": {"D1": 2.0}, "q2": {"D3": 1.0}}
    strange = {"1": {"d1": 2.0}, "2": {"d3": 1.0}}
    with pytest.warns(cf.CranfieldWarning, match="no document that 'case', 'topics' retrieved is"):
        cf.judge({"case": other, "topics": strange, "run": run}, qrels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # That of one topic nothing is judged is usual, and so is an irrelevant document.
        cf.judge({"run": run, "one": {"q1": {"d9": 1.0}}}, qrels)
        cf.judge(run, {"q1": {"d1": 0, "d2": 0}, "q2": {"d3": 0}})


def test_topics_without_judgments_are_told() -> None:
    for empty in ({"q1": {"d1": 1}, "q2": {}}, {"q1": ["d1"], "q2": []}):
        with pytest.warns(cf.CranfieldWarning, match="1 topic of the judgments has no documents"):
            assert cf.read_qrels(empty).topics == ("q1",)


@pytest.mark.parametrize("low", [np.float16(0.5), 0.5, "1"])
def test_the_lowest_grade_is_a_whole_number(low: Any) -> None:
    judgments = cf.judge({"1": {"a": 1.0}}, {"1": {"a": 1}}).judgments
    assert judgments.count(np.int8(1)).tolist() == [[1]]  # type: ignore[arg-type]
    with pytest.raises(cf.PolicyError, match="low must be an integer"):
        replace(judgments, judged_from=10**9).count(low)


IDS = [
    *"abc", "\u00e9", "\u65e5\u672c", "FR940321-1-00011", "FR940321-1-00012", "x" * 12, "x" * 13,
    "x" * 300 + "1", "x" * 300 + "2", *(f"d{k}" for k in range(60)),
]  # fmt: skip
"""Ids of one byte, of other scripts, beyond what fits beside a length, that differ at the end."""


def judged_by_a_loop(run: str, qrels: str) -> list[tuple[str, int, int]]:
    """Topic, rank and grade of the judged documents; ties in descending order of ids."""
    grades = {(t, d): int(g) for t, _, d, g in map(str.split, qrels.splitlines())}
    scored: dict[str, list[tuple[float, bytes, str]]] = {}
    for topic, _, doc, _, score, _ in map(str.split, run.splitlines()):
        scored.setdefault(topic, []).append((float(score), doc.encode(), doc))
    return [
        (topic, rank, grades[topic, doc])
        for topic in sorted(scored, key=int)
        for rank, (_, _, doc) in enumerate(sorted(scored[topic], reverse=True), 1)
        if (topic, doc) in grades
    ]


def text_of(random: Random, by_topic: bool) -> tuple[str, str]:
    """Return a run and judgments of some of the same documents in several topics."""
    topics = [str(number) for number in random.sample(range(1, 200), 7)]
    rows = [(topic, doc) for topic in topics for doc in random.sample(IDS, random.randint(1, 60))]
    if not by_topic:
        random.shuffle(rows)
    run = "".join(
        f"{topic} Q0 {doc} {k} {random.choice((1, 2.5, random.random()))} tag\n"
        for k, (topic, doc) in enumerate(rows)
    )
    judged = [(topic, doc) for topic in topics[1:] for doc in random.sample(IDS, 30)]
    qrels = "".join(f"{topic} 0 {doc} {random.randint(-1, 3)}\n" for topic, doc in judged)
    return run.removesuffix("\n") if random.random() < 0.5 else run, qrels


@pytest.mark.parametrize("by_topic", [True, False])
@pytest.mark.parametrize("mask", [0, 3, 2**64 - 1])
def test_judged_documents_are_those_of_a_loop(
    mask: int, by_topic: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in small chunks and blocks, and where all or many keys are equal."""

    def get_keys(*rows: Any) -> pairs.Keys:
        return pair_keys(*rows) & np.uint64(mask)

    pair_keys = pairs.compute_pair_keys
    for module in (pairs, reading):
        monkeypatch.setattr(module, "compute_pair_keys", get_keys)
    monkeypatch.setattr("cranfield.sources.chunks.CHUNK_BYTES", 700)
    monkeypatch.setattr(pairs, "BLOCK", 16)
    for seed in range(10):
        run, qrels = text_of(Random(seed), by_topic)
        (tmp_path / "run").write_text(run, encoding="utf-8")
        (tmp_path / "qrels").write_text(qrels, encoding="utf-8")
        judged = cf.judge(tmp_path / "run", tmp_path / "qrels")
        rows = judged.documents
        found = zip(rows.topic.tolist(), rows.rank.tolist(), rows.grade.tolist(), strict=True)
        expected = judged_by_a_loop(run, qrels)
        assert [(judged.topics[t], rank, grade) for t, rank, grade in found] == expected
        # A document that comes again at the end is found, in another chunk and block.
        first = run.splitlines()[len(run.splitlines()) // 3]
        (tmp_path / "run").write_text(f"{run.rstrip()}\n{first}\n", encoding="utf-8")
        place = f"first in line {len(run.splitlines()) // 3 + 1}"
        refuses(place, cf.judge, tmp_path / "run", tmp_path / "qrels")
