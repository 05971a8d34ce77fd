"""Judgments by version, and pools by the rules."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError, PolicyError
from cranfield.campaign.results.stored_inputs import compare_versions, pool
from tests.campaign.results.made import RULES, handed_in, judged, made

RUN = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}}
QRELS = "q1 0 x 1\nq2 0 y 0\nq3 0 y 0\nq4 0 y 1\n"


def test_a_version_never_changes(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    judged(campaign, QRELS)
    (tmp_path / "other").write_text(QRELS.replace("x 1", "x 0"))
    with pytest.raises(PolicyError, match="version '1' already exists"):
        campaign.add_judgments(tmp_path / "other", version="1")
    with pytest.warns(
        CranfieldWarning, match="the file has the same bytes as version '1'; nothing was added"
    ):
        again = campaign.add_judgments(tmp_path / "qrels-1.txt", version="1")
    assert campaign.registry.list_judgments("adhoc") == (again,)
    with pytest.warns(CranfieldWarning, match="the file has the same bytes as version '1'$"):
        campaign.add_judgments(tmp_path / "qrels-1.txt", version="2")
    [first, second] = campaign.registry.list_judgments("adhoc")
    assert (first.object, first.rows, first.version) == (second.object, 4, "1")
    assert [one.action for one in campaign.registry.list_events()].count("judgments") == 2


def test_a_version_without_topics_of_the_newest_is_refused(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    judged(campaign, QRELS)
    (tmp_path / "few").write_text("q1 0 x 1\n")
    with pytest.raises(
        PolicyError, match="3 topics that .* 'q2', 'q3', 'q4'; .*drop_judgments=True"
    ):
        campaign.add_judgments(tmp_path / "few", version="2")
    with pytest.warns(CranfieldWarning, match="3 topics of the task have no judgments"):
        with pytest.raises(PolicyError, match="version '1' already exists"):
            campaign.add_judgments(tmp_path / "few", version="1")
        campaign.add_judgments(tmp_path / "few", version="2", drop_judgments=True)
    # All topics of the newest version.
    with pytest.warns(CranfieldWarning, match="same bytes as version '1'"):
        campaign.add_judgments(tmp_path / "qrels-1.txt", version="3")
    assert [record.version for record in campaign.registry.list_judgments("adhoc")] == [
        "1",
        "2",
        "3",
    ]


def test_a_version_without_many_judgments_of_the_newest_is_refused(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    lines = [f"q{k % 4 + 1} 0 d{k} 1\n" for k in range(41)]
    judged(campaign, "".join(lines))
    only_new = "".join(f"q{k + 1} 0 new 1\n" for k in range(4))
    for version, text in (("2", only_new), ("2", "".join(lines[5:]))):
        (tmp_path / "qrels").write_text(text)
        with pytest.raises(PolicyError, match="judgments of the newest version are missing; "):
            campaign.add_judgments(tmp_path / "qrels", version=version)
    # A tenth may be missing.
    (tmp_path / "qrels").write_text("".join(lines[4:]))
    campaign.add_judgments(tmp_path / "qrels", version="2")
    (tmp_path / "qrels").write_text(only_new)
    campaign.add_judgments(tmp_path / "qrels", version="3", drop_judgments=True)
    assert [record.rows for record in campaign.registry.list_judgments("adhoc")] == [41, 37, 4]


def test_judgments_of_subtopics_are_compared_one_by_one() -> None:
    rows = [(f"d{k}", str(s)) for k in range(10) for s in range(3)]
    columns = {"topic": "q1", "doc": [d for d, _ in rows], "subtopic": [s for _, s in rows]}
    old = cf.read_qrels(pl.DataFrame({**columns, "grade": 1}))
    # The last two documents are removed; of the others, the third subtopic has another grade.
    new = old.to_polars().head(24).with_columns(grade=pl.col("subtopic").ne("2").cast(pl.Int64))
    assert compare_versions(cf.read_qrels(new), old) == (0, 8, 6)
    # Without subtopics, the judgments are others.
    flat = cf.read_qrels({"q1": {f"d{k}": 1 for k in range(10)}})
    assert compare_versions(flat, old) == (10, 0, 30)
    assert compare_versions(flat, flat) == (0, 0, 0)


def test_topics_that_do_not_fit_are_said_and_do_not_count(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    (tmp_path / "qrels").write_text("q1 0 x 1\nq9 0 x 1\n")
    with pytest.warns(CranfieldWarning) as told:
        assert campaign.add_judgments(tmp_path / "qrels", version="1").rows == 1
    assert [str(one.message) for one in told] == [
        "1 topic of the judgments is not in the task and is ignored: 'q9'",
        "3 topics of the task have no judgments: 'q2', 'q3', 'q4'",
    ]
    handed_in(campaign, "a", RUN)
    assert campaign.score().topics == ("q1",)


@pytest.mark.parametrize("rule", ['documents = "documents.txt"', "documents = {pattern = '[xy]'}"])
def test_documents_outside_the_collection_are_said(tmp_path: Path, rule: str) -> None:
    (tmp_path / "c-rules").mkdir()
    (tmp_path / "c-rules" / "documents.txt").write_text("x\ny\n")
    rules = RULES.replace("min_category", f"{rule}\nmin_category")
    campaign = made(tmp_path / "c", rules=rules)
    judged(campaign, QRELS)
    (tmp_path / "qrels").write_text(QRELS + "q1 0 z 1\nq2 0 z 0\nq4 0 w 2\n")
    with pytest.warns(CranfieldWarning) as told:
        campaign.add_judgments(tmp_path / "qrels", version="2")
    assert [str(one.message) for one in told] == [
        "3 of 7 judgments are of documents outside the collection ('w', 'z'), but are used for"
        " scores"
    ]


def test_what_cannot_be_judgments_is_refused(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    for name, text, reason in (
        ("a.run", "q1 Q0 a 1 2 t\n", "expected 4 columns.* seems to be a run"),
        ("foreign", "q9 0 x 1\n", "the judgments have no topic of task 'adhoc'"),
        ("bad", "q1 0 x one\n", "bad:1: grade 'one' is not an integer"),
        ("bad.tsv", "q1\t0\tx\t1\nq1\t0\ty\tone\n", "bad.tsv:2: grade 'one' is not an integer"),
        ("good.csv", "topic,doc,grade\nq1,x,1\n", "must be in TREC format, got .csv"),
        ("sheet.tsv", "topic\tdoc\tgrade\nq1\tx\t1\n", "labels ASSESSOR=.*sheet.tsv --qrels FILE"),
        ("good.tsv", "query-id\tcorpus-id\tscore\nq1\tx\t1\n", "must be in TREC format, got .tsv"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=reason):
            campaign.add_judgments(tmp_path / name, version="1")
    with pytest.raises(PolicyError, match="version must be a valid file name"):
        campaign.add_judgments(tmp_path / "bad", version="../1")
    assert campaign.registry.list_judgments("adhoc") == ()
    assert not any((campaign.folder / "objects").iterdir())


def test_judgments_of_tsv_without_a_header_are_lines(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    path = tmp_path / "qrels.dev.tsv"
    path.write_text("q1\t0\tx\t1\nq1\t0\ty\t0\n")
    with pytest.warns(CranfieldWarning, match="of the task"):
        assert campaign.add_judgments(path, version="1").rows == 2


def test_the_rules_choose_what_is_pooled(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    handed_in(campaign, "first", RUN)
    handed_in(campaign, "late", {"q1": {"l": 1.0}}, late=True)
    handed_in(campaign, "second", {"q1": {"s": 1.0}}, priority=2)
    handed_in(campaign, "gone", {"q1": {"g": 1.0}}, state="withdrawn")
    found = campaign.pool()
    assert (found.systems, found.depth) == (("first",), 10)
    assert found.docs.to_list() == ["x", "y", "z"]
    assert campaign.pool(depth=2).docs.to_list() == ["x", "y"]
    assert not any(one.pooled for one in campaign.submissions())
    pool(campaign, mark=True)
    assert [one.tag for one in campaign.submissions() if one.pooled] == ["first"]
    pool(campaign, mark=True)
    assert [one.action for one in campaign.registry.list_events()].count("pool") == 1
    assert campaign.registry.get_pool_depths("adhoc") == {"first": 10}
    for depth, recorded in ((5, 10), (20, 20)):
        pool(campaign, depth=depth, mark=True)
        assert campaign.registry.get_pool_depths("adhoc") == {"first": recorded}


def test_only_topics_of_the_task_are_pooled(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    handed_in(campaign, "a", {"q2": {"x": 1.0}, "q9": {"x": 1.0}, "q10": {"y": 1.0}})
    handed_in(campaign, "b", {"q10": {"y": 1.0}})
    handed_in(campaign, "c", {"q1": {"z": 2.0, "x": 1.0}, "q2": {"x": 1.0}})
    with pytest.warns(CranfieldWarning) as told:
        found = campaign.pool()
    assert [str(one.message) for one in told] == [
        "2 topics of the runs are not among the topics to pool: 'q10', 'q9'"
    ]
    assert (found.topics, found.systems) == (("q1", "q2"), ("a", "b", "c"))
    assert found.to_polars().rows() == [("q1", "x", 2, 1), ("q1", "z", 1, 1), ("q2", "x", 1, 2)]


def test_without_priorities_all_runs_are_pooled_to_depth_100(tmp_path: Path) -> None:
    rules = RULES.replace("priorities = 2\npool = {depth = 10, priorities = [1]}\n", "")
    campaign = made(tmp_path / "c", rules=rules)
    with pytest.raises(CranfieldError, match="no run to pool: 0 accepted runs, 0 in time"):
        campaign.pool()
    handed_in(campaign, "a", RUN, priority=None)
    handed_in(campaign, "b", RUN, priority=9)
    found = campaign.pool()
    assert (found.systems, found.depth) == (("a", "b"), 100)


@pytest.mark.filterwarnings("ignore:.* ranks that contradict the scores")
def test_the_rank_column_may_say_otherwise(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    handed_in(campaign, "a", b"q1 Q0 x 2 3.0 a\nq1 Q0 y 1 2.0 a\n")
    assert pool(campaign, depth=1).docs.to_list() == ["x"]
    assert pool(campaign, depth=1, ties="rank").docs.to_list() == ["y"]
    rules = RULES.replace("min_category", 'judging = {ties = "rank"}\nmin_category')
    campaign = made(tmp_path / "d", rules=rules)
    handed_in(campaign, "a", b"q1 Q0 x 2 3.0 a\nq1 Q0 y 1 2.0 a\n")
    with warnings.catch_warnings(action="error"):
        assert pool(campaign, depth=1).docs.to_list() == ["y"]


def test_the_pool_is_that_of_assess(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c", rules=RULES.replace('topics = "topics.txt"\n', ""))
    covid = cf.bundled.trec_covid()
    runs = list(covid.runs[:3])
    for run in runs:
        rows = run.to_polars().rows()
        lines = "".join(f"{t} Q0 {d} 1 {s} {run.name}\n" for t, d, s in rows)
        handed_in(campaign, run.name, lines.encode())
    expected = cf.assess.pool(runs, 10)
    found = campaign.pool()
    assert found.to_polars().equals(expected.to_polars())


def test_damaged_bytes_are_named(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    record = handed_in(campaign, "a", RUN)
    path = campaign.folder / "objects" / record.object[:2] / record.object
    path.unlink()
    with (
        pytest.warns(CranfieldWarning, match="run 'a': is missing from objects/"),
        pytest.raises(InputError, match="run 'a': is missing from objects/"),
    ):
        campaign.pool()


def test_messages_about_a_stored_run_name_its_tag_and_its_file(tmp_path: Path) -> None:
    rules = RULES + 'severities = {tag-changes = "off", id-blank = "off", topic-missing = "off"}\n'
    campaign = made(tmp_path / "c", rules=rules)
    campaign.add_team("padua")
    lines = ["q1\tQ0\tx\t1\t9\tgam", "q1\tQ0\td 4\t2\t8\tGAM"]
    (tmp_path / "g.run").write_text("\n".join(lines))
    assert campaign.submit(tmp_path / "g.run", team="padua", priority=1).report.is_accepted
    with pytest.warns(CranfieldWarning) as told:
        campaign.pool()
    texts = [str(one.message) for one in told]
    assert texts == [
        "run 'gam' (g.run): 2 different run tags ('gam', 'GAM'); the system is named 'gam'",
        "run 'gam' (g.run), line 2: topic 'q1', document 'd 4': a pool in text format splits"
        " an id at its blank; exclude the run from the pool by its tag",
    ]


def test_judgments_with_blanks_are_refused_as_runs_are(tmp_path: Path) -> None:
    text = "q1;x;L1\nq1;d 4;L1\nq2;x;L0\nq3;x;L0\nq4;x;L0\n"
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(InputError, match="a topic or document contains a blank") as caught:
        made(tmp_path / "c").add_judgments(tmp_path / "qrels", version="1")
    assert (caught.value.line, caught.value.topic, caught.value.doc) == (2, "q1", "d 4")
    campaign = made(tmp_path / "d", rules=RULES + 'severities = {id-blank = "off"}\n')
    assert campaign.add_judgments(tmp_path / "qrels", version="1").rows == 5
