"""Lengths, groups, intents and aspects: reading them, and where judged runs keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, MeasureError
from cranfield.collection.document_tables import read_groups, read_lengths
from cranfield.collection.intents import read_intents
from cranfield.collection.judged.judged_runs import iterate_intent_blocks
from tests.collection.refusals import refuses, warns, written

RUN = {"q": {"a": 4, "b": 3, "c": 2, "d": 1}, "r": {"b": 2, "a": 1}}
QRELS = {"q": {"b": 1, "d": 0}, "r": {"a": 2}}


def test_lengths_from_anything(tmp_path: Path) -> None:
    """Dicts, frames and files mean the same."""
    (tmp_path / "lengths.txt").write_text("# words\nd1 10\n\nd2\t2.5\n")
    (tmp_path / "lengths.csv").write_text("docno,words\nd1,10\nd2,2.5\n")
    (tmp_path / "lengths.jsonl").write_text(
        '{"doc": "d1", "length": 10}\n{"doc": "d2", "length": 2.5}'
    )
    for data in (
        {"d1": 10, "d2": 2.5},
        pl.DataFrame({"doc": ["d1", "d2"], "length": [10.0, 2.5]}),
        tmp_path / "lengths.txt",
        tmp_path / "lengths.csv",
        tmp_path / "lengths.jsonl",
    ):
        table = read_lengths(data)
        assert dict(zip(table.docs, table.values.tolist(), strict=True)) == {"d1": 10, "d2": 2.5}


@pytest.mark.parametrize(
    ("read", "data", "reason"),
    [
        (read_lengths, {"d1": -1}, "length must be at least 0, got -1"),
        (read_lengths, {"d1": "long"}, "length 'long' is not a finite number"),
        (read_lengths, [("d1", 1), ("d1", 2)], "document occurs twice in the lengths"),
        (read_lengths, {}, "is empty"),
        (read_lengths, 3, "int cannot be read as a table of lengths"),
        (read_groups, {"d1": ["a", "a"]}, "document occurs twice in one group"),
        (read_groups, {"d1": {"a": -0.5}}, "weight must be at least 0, got -0.5"),
        *(
            (read_groups, [("d1", text), ("d2", "g1"), ("d3", "g2")], f"got the list {text!r}")
            for text in ("g1;g2", "g1 | g2", "g2, g1")
        ),
        (read_groups, [("d1", '["g1", "g3"]'), ("d2", "g1")], "expected one group, got the list"),
        (
            read_groups,
            pl.DataFrame({"topic": [1, 2], "doc": ["d1", "d1"], "group": ["a", "b"]}),
            "groups of a document must be the same for all topics, got different groups by 'topic'"
            " (document 'd1')",
        ),
        (
            read_groups,
            pl.DataFrame({"doc": ["d1"], "gender": ["f"]}),
            "columns: 'doc', 'gender'; rename the column to group",
        ),
        (read_intents, {"q": {"1": 1.5}}, "probability of intent '1' must be from 0 to 1, got 1.5"),
        (read_intents, {"q": 1}, "expected {intent: probability} for topic 'q', got int"),
        (read_intents, [("q", "1", 0.5), ("q", "1", 0.5)], "intent '1' occurs twice"),
    ],
)
def test_what_is_refused(read: Any, data: Any, reason: str) -> None:
    """One line that names the reason."""
    with pytest.raises(InputError) as error:
        read(data)
    assert reason in str(error.value)


def test_groups_with_separators_or_topics() -> None:
    names = ["Smith, J.", "Smith, K.", "Smith", "R&D; other"]
    assert len(read_groups(dict(zip("abcd", names, strict=True))).names) == 4
    frame = pl.DataFrame({"topic": [1, 2], "doc": ["d1", "d2"], "group": ["a", "b"]})
    assert len(warns("columns not used: 'topic'", read_groups, frame).docs) == 2
    assert len(read_groups(frame.with_columns(topic=1)).docs) == 2


def test_file_errors_name_the_line(tmp_path: Path) -> None:
    """File, line and reason."""
    path = tmp_path / "intents.txt"
    refuses(r"intents.txt:2: expected 3 columns", read_intents, written(path, "q 1 0.5 inf\nq 2\n"))
    refuses(
        "unknown type .often. of an intent; expected one of",
        read_intents,
        written(path, "q 1 0.5 often\n"),
    )
    path.write_text("q;1;0.5\nq;2;0.5;nav\n")
    refuses(r"intents.txt:2: expected 3 columns as in previous lines, got 4", read_intents, path)


def test_intents_of_ntcir() -> None:
    """The file of NTCIREVAL's example."""
    path = Path(__file__).parents[1] / "data" / "ntcireval" / "Dtest.DINprob"
    table = read_intents(path)
    assert table.topics[:4] == ("0001", "0001", "0001", "0002")
    assert table.probabilities[0] == 0.5714
    assert table.is_navigational.tolist()[:5] == [True, True, False, False, False]


def test_lengths_of_judged_runs() -> None:
    """Every retrieved document with a length has a row, at its rank; views move them along."""
    judged = cf.judge(RUN, QRELS, lengths={"a": 10, "b": 20, "d": 40, "x": 1})
    rows = judged.lengths("mine")
    assert rows.cell.tolist() == [0, 0, 0, 1, 1]
    assert rows.rank.tolist() == [1, 2, 4, 1, 2]
    assert rows.gains.tolist() == [10, 20, 40, 20, 10]
    assert judged.top(2).lengths("mine").gains.tolist() == [10, 20, 20, 10]
    condensed = judged.condense().lengths("mine")
    assert condensed.rank.tolist() == [1, 2, 1]
    assert condensed.gains.tolist() == [20, 40, 10]
    with pytest.raises(MeasureError, match="TBG requires document lengths"):
        cf.judge(RUN, QRELS).lengths("TBG")


def test_groups_of_judged_runs() -> None:
    """A document may be in several groups; judged documents have theirs without being retrieved."""
    qrels = {"q": {"b": 1, "z": 2}, "r": {"a": 2}}
    judged = cf.judge(RUN, qrels, groups={"b": ["x", "y"], "a": "y", "z": {"x": 0.25}})
    groups = judged.groups("mine")
    assert groups.names == ("x", "y")
    rows = groups.rows
    assert list(zip(rows.cell.tolist(), rows.rank.tolist(), rows.grade.tolist(), strict=True)) == [
        (0, 1, 1),
        (0, 2, 0),
        (0, 2, 1),
        (1, 1, 0),
        (1, 1, 1),
        (1, 2, 1),
    ]
    of = judged.judgments.grade[groups.judgment]
    found = sorted(zip(of.tolist(), groups.group.tolist(), groups.weight.tolist(), strict=True))
    assert found == [(1, 0, 1.0), (1, 1, 1.0), (2, 0, 0.25), (2, 1, 1.0)]


@pytest.mark.filterwarnings("ignore:aspect .* has no judgments for")
def test_aspects() -> None:
    """The same rankings on other judgments, with the same topics."""
    judged = cf.judge(RUN, QRELS, aspects={"trust": {"q": {"a": 3}}})
    other = judged.aspect("trust", "mine")
    assert other.topics == judged.topics
    assert other.documents.grade.tolist() == [3]
    assert other.documents.rank.tolist() == [1]
    refuses("requires judgments on the aspect", judged.aspect, "ease", "mine", error=MeasureError)


def test_judgment_of_each_row() -> None:
    """Rows know their judgment, in every view."""
    judged = cf.judge(RUN, QRELS)
    for view in (judged, judged.top(1), judged.condense()):
        for rows in (view.documents, view.relevant(), view.judged()):
            assert view.judgments.grade[rows.judgment].tolist() == rows.grade.tolist()


def test_views_by_intent() -> None:
    """Each intent is a topic; what is judged for the topic alone is not relevant to the intent."""
    rows = [("q", "b", 1, "1"), ("q", "d", 2, "2"), ("q", "b", 0, "2"), ("r", "a", 1, "1")]
    qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row, strict=True)) for row in rows]
    [view] = iterate_intent_blocks(cf.judge(RUN, qrels, lengths={"b": 7}), "mine")
    assert view.judged.topics == ("q/1", "q/2", "r/1")
    assert view.judged.documents.rank.tolist() == [2, 4, 2, 4, 2]
    assert view.judged.documents.grade.tolist() == [1, 0, 0, 2, 1]
    assert view.judged.recall_base().ravel().tolist() == [1, 1, 1]
    assert view.judged.lengths("mine").gains.tolist() == [7.0, 7.0, 7.0]
    assert view.probability.tolist() == [0.5, 0.5, 1.0]


def test_subtopics_are_kept_when_asked_for() -> None:
    """Where no document is judged twice, only the user knows what the iteration column means."""
    rows = [("q", "a", 1, "1"), ("q", "b", 1, "2")]
    qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row, strict=True)) for row in rows]
    assert cf.read_qrels(qrels).subtopics is None
    assert cf.read_qrels(qrels, subtopics=True).subtopics is not None
    found = cf.evaluate(RUN, qrels, "StRecall@1", intents={"q": {"1": 0.5, "2": 0.5}})
    assert found["StRecall@1"].values[0, 0] == 0.5


def test_topics_of_the_web_track(tmp_path: Path) -> None:
    """Subtopics and their types from the topics' XML; each is equally likely."""
    path = tmp_path / "topics.xml"
    path.write_text(
        '<web><topic number="151" type="faceted"><query>403b</query>'
        '<subtopic number="1" type="inf">What?</subtopic>'
        '<subtopic number="2" type="nav">Where?</subtopic></topic></web>'
    )
    table = read_intents(path)
    assert table.intents == ("1", "2")
    assert table.probabilities.tolist() == [0.5, 0.5]
    assert table.is_navigational.tolist() == [False, True]
    path.write_text('<web>\n<topic number="1"></web>')
    refuses(r"topics.xml:2: is not well-formed XML: mismatched tag", read_intents, path)
    path.write_text('<!DOCTYPE web [<!ENTITY a "b">]>\n<web/>')
    refuses("declares entities", read_intents, path)
    path.write_text("<web/>")
    refuses("expected topics with elements <subtopic>", read_intents, path)


def test_columns_of_judgments_from_tables(tmp_path: Path) -> None:
    """Classes and inclusion probabilities stand in tables as they do in files of their own."""
    frame = pl.DataFrame(
        {
            "topic": ["q", "q"],
            "doc": ["a", "b"],
            "grade": [1, 2],
            "class": ["x", "x"],
            "inclusion": [0.5, 1.0],
        }
    )
    frame.write_csv(tmp_path / "qrels.csv")
    for data in (frame, tmp_path / "qrels.csv", frame.to_dicts()):
        qrels = cf.read_qrels(data)
        assert qrels.columns["class"].tolist() == ["x", "x"]
        assert qrels.columns["inclusion"].tolist() == [0.5, 1.0]
        found = cf.evaluate(RUN, qrels, ["Classes(R@4)", "statAP"])
        assert found["Classes(R@4)"].values.tolist() == [[1.0]]
    with pytest.raises(InputError, match=r"inclusion probability must be from 0 to 1, got 1.5"):
        cf.read_qrels(frame.with_columns(inclusion=pl.lit(1.5)))


def test_unjudged_documents_are_the_same_for_all_intents() -> None:
    """A document is unjudged for a topic or judged for it, and so for each of its intents."""
    rows = [("q", "a", -2, "1"), ("q", "a", 0, "2"), ("q", "b", 1, "1"), ("q", "b", 1, "2")]
    rows += [("q", "c", -2, "1")]
    names = ("topic", "doc", "grade", "subtopic")
    qrels = [dict(zip(names, row, strict=True)) for row in rows]
    run = {"q": {"c": 3, "a": 2, "b": 1}}
    asked: list[Any] = [{"unjudged": "condensed"}, {"unjudged": "nonrelevant"}]
    by_policy, by_measure = (
        cf.evaluate(run, qrels, form, negative="unjudged", **one).by_system().row(0)[1]
        for form, one in zip(("IA(RR)", "IA(RR(judged_only=True))"), asked, strict=True)
    )
    # a is judged, for both intents; c is judged for none.
    assert by_policy == by_measure == 0.5


def test_probabilities_that_do_not_add_up() -> None:
    """A warning names the first topic; what two decimals lose is none."""
    with pytest.warns(cf.CranfieldWarning, match="topic 'r' sum to 1.8, not 1 .*1 more"):
        read_intents({"q": {"1": 1}, "r": {"1": 0.9, "2": 0.9}, "s": {"1": 0.25}})
    read_intents({"q": {str(i): 0.17 for i in range(6)}, "r": dict.fromkeys("123", 0.33)})


def test_lines_between_tabs(tmp_path: Path) -> None:
    """Ids may have semicolons and blanks; an empty last field is none."""
    path = tmp_path / "groups.txt"
    table = read_groups(written(path, "d1\ta;b\t1\nd 2\tnorth\t2\t\n"))
    assert (table.docs.to_list(), table.names) == (["d1", "d 2"], ("a;b", "north"))
    path.write_text("d1\t5\nd 2\t\n")
    refuses(r"groups\.txt:2: length '' |:2: has no length", read_lengths, path)


def test_semicolons_that_may_belong_to_ids(tmp_path: Path) -> None:
    """By semicolons, the groups of these lines would be `b south 7` and `b north 1`."""
    path = tmp_path / "groups.txt"
    for text, line in (("a;b south 7 0.5\na;b north 1\n", 2), ("a south\na;b north\n", 2)):
        path.write_text(text)
        reason = "fields may be separated by semicolons or by blanks; separate them by tabs"
        refuses(rf"groups\.txt:{line}: {reason}", read_groups, path)
    for text in ("d1;north\nd2;south\n", "d1; north side\nd2; south\n", "a;b\tnorth\n"):
        assert len(read_groups(written(path, text)).docs) == text.count("\n")


@pytest.mark.filterwarnings("ignore:aspect .* has no judgments for")
def test_files_without_a_retrieved_document(tmp_path: Path) -> None:
    """Ids in another spelling would give every measure of groups and aspects 0."""
    groups, aspect = tmp_path / "groups.csv", tmp_path / "aspect.txt"
    groups.write_text("doc,group\nA,x\n")
    aspect.write_text("q 0 A 1\n")
    warns(r"groups.csv: no document occurs", cf.judge, RUN, QRELS, groups=groups)
    warns(r"aspect.txt: no document occurs", cf.judge, RUN, QRELS, aspects={"new": str(aspect)})
    groups.write_text("doc,group\nA,x\na,x\n")
    aspect.write_text("q 0 a 1\n")
    cf.judge(RUN, QRELS, groups=groups, aspects={"new": aspect})
