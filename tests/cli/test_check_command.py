"""`cranfield check`: planted faults, the lines they stand in, and what readers make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.checks import file_checks

from .running import cranfield

GOOD_QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n"
GOOD_RUN = "1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n2 Q0 d1 1 1.0 a\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("latin-1"))


def lines(folder: Path, *files: str, status: int = 0) -> list[str]:
    out, _ = cranfield(folder, "check", *files, status=status)
    return out.splitlines()


def test_a_run_of_unjudged_documents_is_named_by_its_file(tmp_path: Path) -> None:
    write(tmp_path, qrels=GOOD_QRELS, run=GOOD_RUN.replace("d", "x"))
    out, err = cranfield(tmp_path, "check", "qrels", "run")
    assert "run: warning: 0.0% of the first 10 documents of each topic are judged" in out
    assert err == ""


def test_all_that_is_wrong_in_each_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        qrels="1 0 d1 1\n1 0 d2 x\n1 0 d1 0\n1 d3 1\n\n# c\n3 0 d5 1\n",
        run="1 Q0 d1 1 nan a\n1 Q0 d1 2 0.5 a\n1 Q0 d2 3 0.9\n9 Q0 d3 1 .8 a\n9 Q0 d7 2 .9 a\n",
        bytes="1 Q0 d1 1 1 a\n1 Q0 d\xff 2 2 a\n",
    )
    assert lines(tmp_path, "qrels", "run", "bytes", "none", status=1) == [
        "qrels:2: grade must be an integer of 32 bits, got 'x' (topic '1', document 'd2') [grade]",
        "qrels:3: document twice in one topic, first in line 1 (topic '1', document 'd1')"
        " [document-twice]",
        "qrels:4: expected 4 columns (topic iteration doc grade), got 3 [columns]",
        "qrels: refused: 3 errors",
        "run: warning: ranks contradict the scores in 1 case;"
        " documents are ranked by score [rank-order]",
        "run:1: score must be a finite number, got 'nan' (topic '1', document 'd1') [score]",
        "run:2: document twice in one topic, first in line 1 (topic '1', document 'd1')"
        " [document-twice]",
        "run:3: expected 6 columns (topic q0 doc rank score tag), got 5 [columns]",
        "run: refused: 3 errors, 1 warning",
        "bytes:2: byte 0xff is not valid UTF-8 text [encoding]",
        "bytes: refused: 1 error",
        "none: cannot be read: no such file or directory [unreadable]",
        "none: refused: 1 error",
    ]


def test_names_of_columns_above_a_run_are_said_once(tmp_path: Path) -> None:
    write(tmp_path, qrels=GOOD_QRELS, run=f"topic Q0 doc rank score tag\n{GOOD_RUN}")
    found = lines(tmp_path, "qrels", "run", status=1)
    last = [line.rpartition(" ")[2] for line in found]
    assert last == ["accepted", "[columns]", "error"]


def test_judgments_that_are_not_there_are_said_once(tmp_path: Path) -> None:
    write(tmp_path, run=GOOD_RUN)
    found = lines(tmp_path, "qrels", "run", status=1)
    assert found[:2] == [
        "qrels: cannot be read: no such file or directory [unreadable]",
        "qrels: refused: 1 error",
    ]


def test_what_is_odd_between_files(tmp_path: Path) -> None:
    judged = (
        "{} of the first 10 documents of each topic are judged, and {} of all 3 retrieved documents"
    )
    judged += " [judged]"
    write(
        tmp_path,
        qrels=GOOD_QRELS,
        one=GOOD_RUN,
        same=GOOD_RUN.replace(" a\n", " b\n"),
        other="1 Q0 x1 1 3.0 a\n1 Q0 x2 2 2.0 a\n1 Q0 x3 3 1.0 a\n7 Q0 d1 1 1.0 a\n",
    )
    assert lines(tmp_path, "qrels", "one", "same", "other") == [
        "qrels: accepted",
        "one: warning: tag 'a' is shared by 2 runs [tag-equal]",
        "one: warning: the run has at most 2 documents per topic; another run has 3 [depth]",
        "one: note: " + judged.format("100.0%", "100.0%"),
        "one: accepted: 2 warnings",
        "same: warning: the run has at most 2 documents per topic; another run has 3 [depth]",
        "same: warning: the run has the same ranking as 'one' [ranking-same]",
        "same: note: " + judged.format("100.0%", "100.0%"),
        "same: accepted: 2 warnings",
        "other: warning: tag 'a' is shared by 2 runs [tag-equal]",
        "other: warning: 1 topic has no judgments: '7' [topic-unjudged]",
        "other: warning: 1 topic of the judgments has no documents: '2' [topic-missing]",
        "other: warning: " + judged.format("0.0%", "0.0%"),
        "other: accepted: 4 warnings",
    ]


def test_no_topic_in_common(tmp_path: Path) -> None:
    write(tmp_path, qrels="x 0 d 1\n", run=GOOD_RUN)
    assert "run: warning: 2 topics have no judgments: '1', '2' [topic-unjudged]" in lines(
        tmp_path, "qrels", "run"
    )


@pytest.mark.parametrize("shared", ["", "2 0 d 1\n"])
def test_topics_that_differ_only_in_leading_zeros(tmp_path: Path, shared: str) -> None:
    write(tmp_path, qrels=f"001 0 d 1\n{shared}", run=GOOD_RUN)
    [fault] = [line for line in lines(tmp_path, "qrels", "run") if "topic-unjudged" in line]
    assert "'1' and '001' differ only in case or leading zeros" in fault
    write(tmp_path, qrels="1 0 D 1\n2 0 e 1\n", run="1 Q0 d 1 2 x\n2 Q0 e 1 2 x\n")
    [fault] = [line for line in lines(tmp_path, "qrels", "run") if "[judged]" in line]
    assert "; 'd' and 'D' differ in spelling" in fault


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run", GOOD_RUN.replace(" a\n", " a more\n")),
        ("run", "1\td1\t1\n1\td2\t2\n"),
        ("run.csv", "topic,doc,score\n1,d1,2\n"),
        ("run", "1;Q0;d1;1;2.0;a\n"),
    ],
)
def test_what_readers_accept_is_no_error(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, qrels=GOOD_QRELS, **{name: text})
    try:
        cf.read_run(tmp_path / name)
    except cf.InputError:
        lines(tmp_path, "qrels", name, status=1)
    else:
        lines(tmp_path, "qrels", name)


def test_other_formats_and_json(tmp_path: Path) -> None:
    write(tmp_path, qrels=GOOD_QRELS, **{"run.csv": "topic,doc,score\n1,d1,x\n"})
    out, _ = cranfield(tmp_path, "check", "qrels", "run.csv", "-f", "json", status=1)
    judgments, run = json.loads(out)
    assert judgments["is_accepted"] and not run["is_accepted"]
    fault = run["faults"][0]
    assert fault["code"] == "unreadable"
    assert (fault["line"], fault["message"]) == (2, "score 'x' is not a finite number")


def test_many_of_a_kind_are_counted(tmp_path: Path) -> None:
    write(tmp_path, qrels="".join(f"1 0 d{n} {'x' if n < 40 else 0}\n" for n in range(90)))
    assert lines(tmp_path, "qrels", status=1)[-2:] == [
        "qrels: ... and 15 more [grade]",
        "qrels: refused: 40 errors",
    ]
    assert len(lines(tmp_path, "qrels", "--all", status=1)) == 41
    assert cf.check(tmp_path / "qrels").files[0].counts() == {"grade": 40}


PIECES = ("1", "2", "0", "d1", "d2", "Q0", "0.5", "-1", "nan", "x", "L1", "é", "#", "1e999", ";")


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(st.sampled_from(PIECES), max_size=7), max_size=5),
    blank=st.sampled_from([" ", "\t", ";"]),
)
def test_a_file_is_refused_where_its_reader_refuses_it(
    rows: list[list[str]], blank: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("checked") / "file"
    path.write_text("".join(blank.join(row) + "\n" for row in rows), "utf-8")
    for read, found in (
        (cf.read_qrels, cf.check(path).files[0]),
        (cf.read_run, cf.check(path, path).files[1]),
    ):
        try:
            read(path)
        except cf.InputError:
            assert not found.is_accepted
        else:
            assert found.is_accepted, found


@pytest.mark.parametrize("kind", ["trec", "csv"])
def test_files_in_each_others_place(kind: str, tmp_path: Path) -> None:
    if kind == "trec":
        write(tmp_path, qrels=GOOD_QRELS, run=GOOD_RUN)
        qrels, run = "qrels", "run"
    else:
        qrels, run = "q.csv", "r.csv"
        write(tmp_path, **{qrels: "topic,doc,grade\n1,a,1\n", run: "topic,doc,score\n1,a,1\n"})
    said = lines(tmp_path, run, qrels, status=1)
    assert (
        f"{run}: expected judgments, got a run; put the judgments first: QRELS RUN... [file-order]"
        in said
    )
    hint = "put the judgments first: QRELS RUN... [file-order]"
    swapped = f"{qrels}: expected a run, got judgments; {hint}"
    assert swapped in said
    assert not any("[file-order]" in line for line in lines(tmp_path, qrels, run))
    # One alone in the wrong place is said, too, and the others are not.
    said = lines(tmp_path, qrels, qrels, run, status=1)
    assert [line for line in said if "[file-order]" in line] == [swapped]


def test_a_file_is_read_as_the_other_kind_only_if_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged, scored = '{"1": {"a": 1}}', '{"1": {"a": 0.5}}'
    write(tmp_path, **{"qrels.json": judged, "run.json": scored, "bad.csv": "topic,x\n1,a\n"})
    said = lines(tmp_path, "run.json", "qrels.json", status=1)
    assert [line for line in said if "[file-order]" in line] == [
        "run.json: expected judgments, got a run; put the judgments first: QRELS RUN..."
        " [file-order]"
    ]
    said = lines(tmp_path, "qrels.json", "bad.csv", status=1)
    assert not any("[file-order]" in line for line in said)

    def refuse(*given: Any, **options: Any) -> bool:
        raise AssertionError("read as the other kind")

    monkeypatch.setattr(file_checks, "can_be_read", refuse)
    lines(tmp_path, "qrels.json", "run.json")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv", "model,topic,doc,score\na,1,d1,2\na,1,d2,1\nb,1,d1,1\nb,2,d1,1\n"),
        ("m.json", '{"a": {"1": {"d1": 2, "d2": 1}}, "b": {"1": {"d1": 1}, "2": {"d1": 1}}}'),
    ],
)
def test_each_system_of_a_file_is_checked(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, qrels=GOOD_QRELS, **{name: text})
    told = lines(tmp_path, "qrels", name)
    assert f"{name} (a): accepted: 1 warning" in told
    assert any(line.startswith(f"{name} (a): warning: 1 topic of the judgments") for line in told)
    assert any(line.startswith(f"{name} (b): warning: the run has at most") for line in told)
    checks = cf.check(tmp_path / "qrels", tmp_path / name)
    assert [file.n_topics for file in checks.files] == [2, 1, 2]
    cranfield(tmp_path, "check", "qrels", name, "--format", "errlog")
    assert {path.name for path in tmp_path.glob("*.errlog")} >= {"a.errlog", "b.errlog"}


def test_names_of_columns_are_a_setting(tmp_path: Path) -> None:
    tables = {"q.csv": "thema,dok,grade\n1,d1,1\n", "r.csv": "thema,dok,wert\n1,d1,1\n"}
    names = "columns: {topic: thema, doc: dok, score: wert}\n"
    write(tmp_path, run="1 Q0 d1 1 2 a\n", **tables, **{"own.yml": names})
    told = lines(tmp_path, "q.csv", "r.csv", "run", "--settings", "own.yml")
    assert {"q.csv: accepted", "r.csv: accepted", "run: accepted"} <= {*told}


def test_the_advice_on_a_column_of_systems_works(tmp_path: Path) -> None:
    table = "engine,topic,doc,score\na,1,d1,2\nb,1,d1,1\nb,1,d1,3\n"
    write(tmp_path, qrels=GOOD_QRELS, **{"m.csv": table})
    [fault, _] = lines(tmp_path, "qrels", "m.csv", status=1)[1:]
    assert "use --system engine if each value is a system" in fault
    told = lines(tmp_path, "qrels", "m.csv", "--system", "engine", status=1)
    assert any(line.startswith("m.csv (2): refused") for line in told)
    assert any(line.startswith("m.csv (a): accepted") for line in told)


def test_advice_that_check_cannot_follow_is_not_given(tmp_path: Path) -> None:
    rows = "".join(f"{topic},d{k},{k}\n" for topic in (1, 2) for k in (1, 2, 3, 4))
    write(tmp_path, qrels=GOOD_QRELS, **{"rising.csv": f"topic,doc,score\n{rows}"})
    [rising, *_] = lines(tmp_path, "qrels", "rising.csv")[1:]
    assert rising.endswith(
        "rise in the order of the file, but the highest scores rank first [reading]"
    )
    _, warnings = cranfield(tmp_path, "evaluate", "qrels", "rising.csv", "-m", "AP")
    assert "highest scores rank first; --lower NAME ranks the lowest first" in warnings


def test_ties_and_contradictions_of_tables_are_reported_as_those_of_lines(tmp_path: Path) -> None:
    rows = {"d1": (1, 0.5), "d2": (2, 0.5), "d3": (3, 0.9)}
    table = "".join(f"1,{doc},{rank},{score}\n" for doc, (rank, score) in rows.items())
    run = "".join(f"1 Q0 {doc} {rank} {score} a\n" for doc, (rank, score) in rows.items())
    shared = "topic,doc,rank\n1,d1,1\n1,d2,1\n2,d1,1\n"
    files = {"t.csv": f"topic,doc,rank,score\n{table}", "a.run": run, "shared.csv": shared}
    write(tmp_path, qrels=GOOD_QRELS, **files)
    told = {name: lines(tmp_path, "qrels", name) for name in files}
    for name in ("t.csv", "a.run"):
        contradiction = f"{name}: warning: ranks contradict the scores in 1 case;"
        assert sum(line.startswith(contradiction) for line in told[name]) == 1
    ties = "warning: 2 of 3 documents are tied with another document of the topic;"
    for name in files:
        assert sum(line.startswith(f"{name}: {ties}") for line in told[name]) == 1, name
    write(tmp_path, **{"shared.csv": shared.replace("d2,1", "d2,2")})
    assert not any("tied" in line for line in lines(tmp_path, "qrels", "shared.csv"))
