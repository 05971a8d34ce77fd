"""Advice in messages is tested by following it, in every command that reads judgments or runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import cranfield, refused

RUN = "q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq2 Q0 d1 1 3 a\nq2 Q0 d3 2 2 a\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 1\n"
RUN_TABLE = "topic,doc,score\nq1,d1,3\nq1,d2,2\nq2,d1,3\nq2,d3,2\n"
QRELS_TABLE = "topic,doc,grade\nq1,d1,1\nq1,d2,0\nq2,d1,2\nq2,d3,1\n"
LOG = "page,query,rank,doc,clicked\np1,q1,1,d1,1\np2,q1,1,d2,0\n"

FAULTS: dict[str, dict[str, tuple[str, str]]] = {
    kind: {
        "a document twice": (lines + lines.splitlines()[-1] + "\n", ".txt"),
        "a document twice in a table": (table + table.splitlines()[-1] + "\n", ".csv"),
        "another encoding": (lines.replace("d1", "\xe9"), ".txt"),
        "lines in a .csv": (lines, ".csv"),
        "a table in a .txt": (table, ".txt"),
        "a column of another name": (table.replace("doc", "zzz"), ".csv"),
        "nested": ('{"qid": "q1", "hits": [{"docid": "d1", "score": 1}]}\n', ".jsonl"),
    }
    for kind, lines, table in (("run", RUN, RUN_TABLE), ("qrels", QRELS, QRELS_TABLE))
}
FAULTS["qrels"]["assessors"] = ("q1 ann d1 1\nq1 bob d1 0\nq2 ann d1 1\n", ".txt")
FAULTS["run"]["distances"] = (RUN_TABLE.replace("score", "distance"), ".csv")

READERS = {
    "evaluate q.txt {run} -m AP": "run",
    "evaluate {qrels} a.run -m AP": "qrels",
    "compare q.txt {run} b.run -m AP --test t": "run",
    "check q.txt {run}": "run",
    "check {qrels} a.run": "qrels",
    "fuse {run} b.run": "run",
    "pool {run}": "run",
    "pool a.run --judged {qrels} --next 1": "qrels",
    "judges {qrels} j.txt": "qrels",
    "sessions {qrels} s.csv": "qrels",
    "online interleave {run} b.run --impressions 2": "run",
    "online train log.csv --model DBN --tied grade --qrels {qrels}": "qrels",
}
PYTHON = re.compile(r"\b(columns|on_duplicate|encoding|format|system|lower_is_better)=")
ADVICE = re.compile(r"(?<![\w-])(cranfield \w+ )?(--[a-z-]+)(?: ([^\s;)]+))?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("advice")
    files = {"a.run": RUN, "b.run": RUN.replace(" a\n", " b\n"), "q.txt": QRELS, "log.csv": LOG}
    files |= {"j.txt": QRELS, "s.csv": "session,topic,query,rank,doc\ns,q1,1,1,d1\nr,q2,1,1,d3\n"}
    for name, text in files.items():
        (found / name).write_text(text)
    return found


def error_of(folder: Path, command: str) -> str:
    """Return the line of the error; nothing where the command succeeds."""
    try:
        _, err = cranfield(folder, *command.split(), status=2)
    except AssertionError:
        return ""
    [line] = [line for line in err.splitlines() if line.startswith("cranfield: error:")]
    return line


def advised(line: str) -> Iterator[tuple[str, str]]:
    """List the advice of a message: the command that it names, and the option with its value."""
    # A setting is given as an option is: the file is written for it.
    line = re.sub(r"--settings with ([a-z-]+):", r"--\1", line)
    for command, option, value in ADVICE.findall(line):
        name = "distance" if "score=" in value or option == "--lower" else "zzz"
        value_of = value.replace("...", name).replace("NAME", name)
        yield command.removeprefix("cranfield ").strip(), f"{option} {value_of}"


@pytest.mark.parametrize("reader", READERS)
def test_advice(reader: str, folder: Path) -> None:
    kind = READERS[reader]
    for fault, (text, suffix) in FAULTS[kind].items():
        file = f"f{suffix}"
        (folder / file).write_text(text, encoding="latin-1")
        command = reader.format(**{kind: file})
        line = error_of(folder, command)
        assert not PYTHON.search(line), (fault, line)
        advice = [*advised(line)]
        if fault == "nested" and "nested values" in line:
            assert not advice, line
        if fault == "distances" and advice:
            # Both options belong together.
            assert [option for _, option in advice] == [
                "--columns score=distance",
                "--lower distance",
            ]
            advice = [(advice[0][0], " ".join(option for _, option in advice))]
        for name, option in advice:
            # Another command is named with the arguments of this one.
            other = f"{name} {' '.join(command.split()[1:])}" if name else command
            now = error_of(folder, f"{other} {option}")
            assert now != line, (fault, line)
            assert "option" not in now and "cannot be combined" not in now, now


def test_advice_is_given_where_it_works(folder: Path) -> None:
    """Each of these faults has a way out in the command that has all options of reading."""
    for fault in FAULTS["run"].keys() - {"nested"}:
        text, suffix = FAULTS["run"][fault]
        (folder / f"g{suffix}").write_text(text, encoding="latin-1")
        assert "--" in error_of(folder, f"evaluate q.txt g{suffix} -m AP"), fault


def test_distances_beside_lines_of_trec(folder: Path) -> None:
    """A column of one file is no column of the other, whose scores keep their direction."""
    (folder / "far.csv").write_text("topic,doc,distance\nq1,d1,1\nq1,d2,2\nq2,d1,3\nq2,d3,4\n")
    (folder / "near.run").write_text(RUN.replace(" 3 a", " 1 a"))
    command = "evaluate q.txt far.csv near.run -m RR@1 -f csv --columns score=distance"
    straight, turned = (
        dict(line.split(",") for line in cranfield(folder, *command.split(), *more)[0].split()[1:])
        for more in ((), ("--lower", "distance"))
    )
    assert float(turned["far"]) == 1.0 > float(straight["far"])
    assert turned["a"] == straight["a"]
    assert "expected a column 'x'" in error_of(
        folder, "evaluate q.txt a.run b.run --columns score=x"
    )


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (
            "BLEU",
            "unknown measure 'BLEU': cranfield does not compute it; compute its scores by topic"
            " with another program, and pass them to `compare --scores`",
        ),
        ("xyzzy", "unknown measure 'xyzzy'; `cranfield measures` lists the measures"),
        ("kendall", "unknown measure 'kendall'; `cranfield measures` lists the measures"),
        ("precison@5", "unknown measure 'precison'; did you mean Precision?"),
        ("AP(rel='2')", "AP: rel must be an integer >= 0, got '2'"),
    ],
)
def test_names_are_suggested_that_are_near(measure: str, message: str, folder: Path) -> None:
    line = error_of(folder, f"evaluate q.txt a.run -m {measure}")
    assert line == f"cranfield: error: {message}"


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("evaluate q.txt header.run", "remove the header, which TREC text does not have"),
        ("evaluate q.txt a.run -m RBP(0.8)", "RBP: judged_only, rel, gains, max_grade, p"),
        ("evaluate chances.csv a.run", "`cranfield evaluate --as expected`"),
        ("evaluate q.txt a.run --as expected", "has grades, not probabilities; omit --as expected"),
        ("compare q.txt a.run", "`cranfield compare --as summary` describe one system"),
        ("compare q.txt a.run b.run -b c", "unknown system 'c' as baseline; expected one of: 'a'"),
        ("compare q.txt a.run b.run -b a --marks groups", "baseline; use --marks symbols"),
        ("compare q.txt a.run b.run --alpha 5%", "Write a percentage as a proportion"),
        ("evaluate q.txt a.run --cutoff 10", "part of a measure, such as -m nDCG@10"),
        ("evaluate a.run q.txt", "expected 4 columns (topic iteration doc grade)"),
        ("compare --scores two.csv", "got AP, RR; select one"),
        ("judges q.txt j.txt --runs a.run b.run", "to read the file as a run, write --runs FILE"),
        (
            "online experiment users.csv --metric clicks",
            "the variants are in 'arm', set --variant arm",
        ),
    ],
)
def test_mistakes_name_their_remedy(command: str, advice: str, folder: Path) -> None:
    tables = {
        "header.run": "topic q0 doc rank score tag\n" + RUN,
        "chances.csv": "topic,doc,probability\nq1,d1,0.5\n",
        "two.csv": "measure,topic,system,score\nAP,1,a,0.5\nRR,1,a,0.5\n",
        "users.csv": "user,arm,clicks\nu1,a,1\nu2,b,2\n",
    }
    for name, text in tables.items():
        (folder / name).write_text(text)
    assert advice in error_of(folder, command)


def test_labels_in_no_form_of_labels(folder: Path) -> None:
    (folder / "wide.csv").write_text("doc,ann,bob\nd1,1,0\nd2,1,1\n")
    line = error_of(folder, "labels wide.csv")
    assert line.index("--worker-columns") < line.index("--columns")
    assert (
        "2 workers" in cranfield(folder, *["labels", "wide.csv", "--worker-columns", "ann,bob"])[0]
    )
    (folder / "wide.csv").write_text('doc,"Doe, J",bob\nd1,1,0\nd2,1,1\n')
    names = ("--worker-columns", '"Doe, J", bob')
    assert "2 workers" in cranfield(folder, "labels", "wide.csv", *names)[0]
    line = error_of(folder, "labels q.txt")
    assert "Python" not in line and "NAME=q.txt" in line
    assert cranfield(folder, "labels", "ann=q.txt", "bob=q.txt")[0]


GRADES_TWICE = "topic,doc,{},{}\nq1,d1,1,0\nq1,d2,0,1\nq2,d1,1,0\nq2,d3,0,1\n"


@pytest.mark.parametrize("names", ["label prediction", "relevance answer", "grade gold"])
def test_two_columns_of_grades(names: str, folder: Path) -> None:
    first, second = names.split()
    (folder / "two.csv").write_text(GRADES_TWICE.format(first, second))
    for command in ("evaluate two.csv a.run -m RR", "judges q.txt j=two.csv"):
        line = error_of(folder, command)
        assert f"{first!r} and {second!r}" in line and "columns" in line
    for name, expected in ((first, "1.0000"), (second, "0.5000")):
        out, _ = cranfield(folder, *f"evaluate two.csv a.run -m RR --columns grade={name}".split())
        assert expected in out
    (folder / "two.csv").write_text("topic,doc,label,answer\nq1,d1,1,because it is\nq1,d2,0,no\n")
    assert "1.0000" in cranfield(folder, *["evaluate", "two.csv", "a.run", "-m", "RR"])[0]


def test_rel_without_a_measure_that_uses_it(folder: Path) -> None:
    for measures, told in (("-m nDCG", True), ("-m nDCG -m AP", False), ("-m AP(rel=1)", True)):
        _, error = cranfield(folder, *f"evaluate q.txt a.run {measures} -l 1".split())
        assert ("--rel has no effect" in error) == told


def test_highest_grade_without_a_measure_that_uses_it(folder: Path) -> None:
    (folder / "s.yml").write_text("max-grade: 2\n")
    for measures, is_unused in (("-m nDCG", True), ("-m nDCG -m ERR", False)):
        call = f"evaluate q.txt a.run {measures} --settings s.yml"
        _, error = cranfield(folder, *call.split())
        assert ("setting max-grade has no effect" in error) == is_unused


@pytest.mark.parametrize(
    "call",
    [
        *(
            f"compare QRELS RUNS -m AP --as {view}"
            for view in ("pairs", "ranks", "summary", "anova")
        ),
        "compare QRELS RUNS -m P@2 --as corroboration",
        "compare QRELS RUNS --as checklist",
        "compare QRELS RUNS --as preferences",
        "study measures QRELS RUNS -m AP -m P@5",
        "evaluate QRELS RUNS --as equity",
        "evaluate QRELS RUNS --as expected-exposure",
        "evaluate QRELS RUNS -m RR --as tie-ranges",
    ],
)
def test_every_command_reports_an_unused_highest_grade(call: str, tmp_path: Path) -> None:
    topics = range(8)
    lines = [f"{t} 0 {doc} {(t + k) % 2}" for t in topics for k, doc in enumerate("abc")]
    (tmp_path / "q.txt").write_text("\n".join(lines))
    for i, name in enumerate("xyz"):
        docs = [(t, sorted("abc", key=lambda doc: ord(doc) * (t + i) % 5)) for t in topics]
        rows = [
            f"{t} Q0 {doc} {k} {-k} {name}" for t, ranked in docs for k, doc in enumerate(ranked)
        ]
        (tmp_path / f"{name}.run").write_text("\n".join(rows))
    (tmp_path / "s.yml").write_text("max-grade: 2\n")
    call = call.replace("QRELS", "q.txt").replace("RUNS", "x.run y.run z.run")
    _, error = cranfield(tmp_path, *call.split(), "--settings", "s.yml")
    assert error.count("setting max-grade has no effect") == 1


def test_columns_of_a_board(folder: Path) -> None:
    (folder / "board.csv").write_text("date,entry,RMSE\n2020-01-01,a,0.5\n2020-01-02,b,0.25\n")
    call = ("campaign", "history", "board.csv", "-m", "RMSE", "--lower-is-better")
    assert cranfield(folder, *call)[0].startswith("RMSE: 2 records")
    _, error = cranfield(folder, *call[:-1])
    assert "higher scores of RMSE count as better; --lower-is-better reverses this" in error
    (folder / "board.csv").write_text("date,entry,quality\n2020-01-01,a,0.5\n")
    out, _ = cranfield(folder, "campaign", "history", "board.csv", "-m", "quality")
    assert "higher scores of quality count as better; --lower-is-better reverses this" in out
    (folder / "board.csv").write_text("date,who,RMSE\n2020-01-01,a,0.5\n2020-01-02,b,0.25\n")
    refused(folder, *call, reason="set --column entry=...")
    assert cranfield(folder, *call, "--column", "entry=who")[0].startswith("RMSE: 2 records")


@pytest.mark.parametrize("grade", ["0.1", "1.5", "1e-2"])
def test_decimal_grades(grade: str, folder: Path) -> None:
    for name, text in (
        ("g.txt", f"q1 0 d1 {grade}\n"),
        ("g.csv", f"topic,doc,grade\nq1,d1,{grade}\n"),
    ):
        (folder / name).write_text(text)
        line = error_of(folder, f"evaluate {name} a.run -m AP")
        assert f"grade '{grade}' is not an integer" in line
        assert "map-grades" in line
