"""Forms of text files: recognised if certain, refused in every command if not, and stated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.cli.running import cranfield
from tests.collection.refusals import refuses, warns

COMMANDS = {
    "evaluate": ("evaluate", "q.txt", "RUN", "-m", "RR"),
    "compare": ("compare", "q.txt", "RUN", "other.run", "-m", "RR"),
    "report": ("report", "q.txt", "RUN", "other.run", "-m", "RR", "-o", "r.html"),
    "fuse": ("fuse", "RUN", "other.run"),
    "pool": ("pool", "RUN", "other.run"),
    "interleave": ("online", "interleave", "RUN", "other.run", "--impressions", "2"),
    "check": ("check", "q.txt", "RUN"),
}
"""Commands that read a run."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.txt").write_text("1 0 a 1\n2 0 a 1\n2 0 b 0\n")
    (tmp_path / "other.run").write_text("1 Q0 b 1 2 other\n1 Q0 a 2 1 other\n2 Q0 a 1 1 other\n")
    return tmp_path


def refused(folder: Path, command: tuple[str, ...], **files: str) -> str:
    """Run a command that refuses a file, and return what it says."""
    status = 1 if command[0] == "check" else 2
    out, err = cranfield(folder, *(files.get(one, one) for one in command), status=status)
    return str(out if command[0] == "check" else err)


LINE = b"1 Q0 a 1 3 t\n1 Q0 b 2 2 t"

BAD_RUNS: dict[str, tuple[bytes, str]] = {
    "concatenated without a line end": (LINE + b"2 Q0 a 1 3 t\n2 Q0 b 2 2 t\n", ":2:"),
    "only one joined line": (b"1 Q0 a 1 3 t2 Q0 a 1 3 t\n", ":1:"),
    "joined, with a byte order mark within": (LINE + b"\n\xef\xbb\xbf2 Q0 a 1 3 t\n", ":3:"),
    "blanks in ids": (b"1 Q0 World War 2 1 9.5 t\n1 Q0 Cold War 1 2 8.5 t\n", ":1:"),
    "blanks in ids of one form": (b"1 Q0 Apollo 13 1 9.5 t\n1 Q0 Apollo 11 2 8.5 t\n", ":1:"),
    "blanks in some ids": (b"1 Q0 a 1 9.5 t\n1 Q0 Apollo 13 2 8.5 t\n", ":2:"),
    "empty field between tabs": (b"1\t\ta b\t1\t3\tt\n", ":1:"),
    "ranks in any order": (b"1\ta\t2\n1\tb\t1\n1\tc\t4\n1\td\t3\n", "numbers='ranks'"),
    "few of many ranks": (b"1\ta\t3\n1\tb\t45\n1\tc\t980\n", "numbers='ranks'"),
}


@pytest.mark.parametrize("kind", BAD_RUNS)
def test_a_run_in_doubt_is_refused(kind: str, tmp_path: Path) -> None:
    data, said = BAD_RUNS[kind]
    (tmp_path / "bad.run").write_bytes(data)
    refuses(said, cf.read_run, tmp_path / "bad.run")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("1 A a 0\n1 A b 1\n1 B a 2\n1 B b 0\n", "first in line 1"),
        ("1 0 a 12 0 b 1\n", "got 7"),
        ("1 0 a b 1\n", "got 5"),
    ],
)
def test_judgments_in_doubt_are_refused(data: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(data)
    refuses(said, cf.read_qrels, tmp_path / "bad.txt")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_run_in_doubt(command: str, folder: Path) -> None:
    (folder / "bad.run").write_bytes(BAD_RUNS["ranks in any order"][0])
    assert "numbers" in refused(folder, COMMANDS[command], RUN="bad.run")


TABS = "1\tQ0\tApollo 13\t1\t9.5\tmy system\n1\tQ0\ta\t2\t8.5\tmy system\n"


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in {"compare", "report"}])
def test_tabs_are_respected_by_every_command(command: str, folder: Path) -> None:
    (folder / "tabs.run").write_text(TABS)
    (folder / "q.txt").write_text("1\t0\tApollo 13\t1\n1\t0\ta\t0\n")
    (folder / "other.run").write_text("1\tQ0\ta\t1\t9\to\n1\tQ0\tApollo 13\t2\t8\to\n")
    if command == "fuse":
        # Lines cannot hold ids with blanks.
        out = "f.csv"
        cranfield(folder, "fuse", "tabs.run", "other.run", "-o", out)
        assert "Apollo 13" in (folder / out).read_text()
        return
    arguments = [{"RUN": "tabs.run"}.get(one, one) for one in COMMANDS[command]]
    out, _ = cranfield(folder, *arguments)
    if command == "evaluate":
        assert "my       1.0000" in out
    if command == "check":
        assert "refused" not in out and "[columns]" not in out


def test_separators_that_are_stated(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text(TABS)
    assert cf.read_run(run).to_polars().rows() == [("1", "Apollo 13", 9.5, 1), ("1", "a", 8.5, 2)]
    # A tag ends at its first blank, as in trec_eval.
    assert cf.read_run(run, separator="tab").name == "my"
    run.write_text("1 Q0 Apollo 13 1 9.5 t\n")
    assert cf.read_run(run, separator="blank").to_polars().rows() == [("1", "Apollo", 1.0, 13)]
    refuses("6 columns separated by tabs, got 1", cf.read_run, run, separator="tab")
    run.write_text("1\t\ta b\t1\t3\tt\n")
    refuses("got an empty q0", cf.read_run, run, separator="tab")
    refuses("separator", cf.read_run, run, separator="comma", error=cf.PolicyError)
    run.write_text("# x\n1\tQ0\ta\t1\t3\tt and more\n1\tQ0\tb\t2\t2\tt more\n")
    assert (len(cf.read_run(run)), cf.read_run(run).name) == (2, "t")
    # Blanks around fields are no part of them; other lines may have blanks alone.
    run.write_text("1\tQ0\ta b \t1\t 3\tt\n# x\n\n2 Q0 a 1 1 t\n")
    assert cf.read_run(run).to_polars().rows() == [("1", "a b", 3.0, 1), ("2", "a", 1.0, 1)]
    for form, line in {"xqrels": "1\t0\ta b\ts\t1\n", "prels": "1\ta b\t1\tm\t0.5\n"}.items():
        (tmp_path / form).write_text(line)
        assert cf.read_qrels(tmp_path / form, format=form).docs.to_list() == ["a b"]


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_fields_that_r_writes_in_quotation_marks(separator: str, tmp_path: Path) -> None:
    run, qrels, labels = tmp_path / "a.run", tmp_path / "q.txt", tmp_path / "labels.txt"

    def write(file: Path, text: str) -> None:
        file.write_text(text.replace(" ", separator))

    write(run, '"1" "Q0" "a" 1 2 "x"\n"1" "Q0" "b" 2 1 "x"\n')
    write(qrels, "1 0 a 1\n1 0 b 0\n")
    assert cf.evaluate(run, qrels, "RR")["RR"].values.tolist() == [[1]]
    assert (cf.read_run(run).name, cf.read_run(run, format="trec").topics) == ("x", ("1",))
    # All columns of quoted numbers, and judgments of three columns.
    write(run, '"1" "a" "2.5"\n"1" "b" "1.5"\n')
    assert cf.read_run(run).scores.tolist() == [2.5, 1.5]
    write(qrels, '1 "a" 1\n1 "b" 0\n')
    assert cf.read_qrels(qrels).docs.to_list() == ["a", "b"]
    write(labels, '1 "a" "v" 1\n1 "a" "w" 1\n2 "b" "v" 0\n2 "b" "w" 1\n')
    assert cf.assess.read_labels(labels, columns="topic doc worker grade").workers == ("v", "w")
    # Quotation marks that are not around all ids belong to the ids.
    write(qrels, '1 "a" 1\n1 b 0\n1 5" 0\n')
    assert cf.read_qrels(qrels).docs.to_list() == ['"a"', "b", '5"']
    write(qrels, '1 "a" 1\n' * 3 + '1 "5\\"" 0\n')
    refuses("quotation marks", cf.read_qrels, qrels, format="trec")
    qrels.write_text('1\t"a b"\t1\n1\t"c d"\t0\n')
    assert cf.read_qrels(qrels).docs.to_list() == ["a b", "c d"]


def test_judgments_of_three_columns(tmp_path: Path) -> None:
    for name in ("q.tsv", "q.txt"):
        (tmp_path / name).write_text("1\ta b\t1\n1\tc\t0\n")
        assert cf.read_qrels(tmp_path / name).to_polars().rows() == [("1", "a b", 1), ("1", "c", 0)]
        # The grade is missing: the second column is the iteration.
        (tmp_path / name).write_text("1\t0\t123\n1\t0\t124\n")
        refuses("", cf.read_qrels, tmp_path / name)


def three(tmp_path: Path, rows: Sequence[tuple[int, str, Any]], **options: Any) -> cf.Run:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{topic}\t{doc}\t{number:g}\n" for topic, doc, number in rows))
    return cf.read_run(path, **options)


def ranked(topics: int = 20, depth: int = 10) -> list[tuple[int, str, float]]:
    return [(t, f"d{r}", r) for t in range(1, topics + 1) for r in range(1, depth + 1)]


def test_ranks_that_are_certain_and_nearly_so(tmp_path: Path) -> None:
    rows = ranked()
    for base in (0, 1):
        run = three(tmp_path, [(t, d, r - 1 + base) for t, d, r in rows])
        assert run.ranks is not None and run.ranks.max() == 9 + base
    changed = {
        "one missing": rows[1:],
        "a topic from 2": [row for row in rows if row[:2] != (7, "d1")],
        "one shared": [(t, d, 3 if (t, d) == (2, "d4") else r) for t, d, r in rows],
        "two swapped": [rows[1], rows[0], *rows[2:]],
        "5% missing": [row for k, row in enumerate(rows) if k % 20 != 5],
    }
    for kind, some in changed.items():
        run = warns("read as ranks", three, tmp_path, some)
        assert run.scores.tolist() == [-r for _, _, r in some], kind


@pytest.mark.filterwarnings("ignore:.* the scores of every topic rise")
def test_scores_that_are_certain(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    quantised: list[tuple[int, str, Any]] = []
    for t in range(20):
        values = rng.integers(200, 4000, 50)
        quantised += [(t, f"d{k}", int(x)) for k, x in enumerate(sorted(values)[::-1])]
    shuffled = random.Random(1).sample(quantised, len(quantised))
    for rows in (
        quantised,
        shuffled,
        [(t, d, 11 - r) for t, d, r in ranked()],
        [(t, d, r % 4) for t, d, r in ranked()],
        [(t, d, r + 0.5) for t, d, r in ranked()],
        [(t, d, -r) for t, d, r in ranked()],
        [(t, d, 1) for t, d, _ in ranked()],
        [(1, "a", 1), (1, "b", 1e23)],
    ):
        run = three(tmp_path, rows)
        assert run.ranks is None
        assert run.scores.tolist() == [x for _, _, x in rows]


def test_numbers_that_are_stated(tmp_path: Path) -> None:
    rows = random.Random(2).sample(ranked(), 200)
    refuses("may be ranks or scores", three, tmp_path, rows)
    assert three(tmp_path, rows, numbers="ranks").ranks is not None
    assert three(tmp_path, rows, numbers="scores").scores.tolist() == [r for _, _, r in rows]
    refuses("expected ranks", three, tmp_path, [(1, "a", 0.5)], numbers="ranks")
    (tmp_path / "b.run").write_bytes(LINE)
    warns("no effect", cf.read_run, tmp_path / "b.run", numbers="ranks")


@pytest.mark.parametrize("end", ["", " ", "  \t", "\r\n", "\n\n"])
def test_the_last_line_is_complete_whatever_ends_it(end: str, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(LINE + end.encode())
    assert len(cf.read_run(tmp_path / "a.run")) == 2
    (tmp_path / "q").write_bytes(b"1 0 a 1\n1 0 b 1" + end.encode())
    assert len(cf.read_qrels(tmp_path / "q")) == 2


def test_further_columns_of_all_lines_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield.sources import chunks

    lines = "".join(f"1 Q0 d{k} {k} {9 - k} my system\n" for k in range(1, 6))
    (tmp_path / "a.run").write_text(lines)
    original = chunks.Source.iterate_chunks
    for size in (chunks.CHUNK_BYTES, 20):
        monkeypatch.setattr(
            chunks.Source, "iterate_chunks", lambda self, size=size: original(self, size)
        )
        assert cf.read_run(tmp_path / "a.run").name == "my"
        # Another width is refused, in whichever part of the file it is.
        (tmp_path / "b.run").write_text(lines + "1 Q0 d9 9 0 t\n")
        refuses(r"b\.run:6: expected 7 columns", cf.read_run, tmp_path / "b.run")


# Assessors and subtopics.


def test_names_in_the_iteration_column_are_no_subtopics(folder: Path) -> None:
    path = folder / "two.txt"
    path.write_text("1 A a 0\n1 A b 1\n1 B a 2\n1 B b 0\n")
    refuses(r"two\.txt:3: document judged twice .* 2 values", cf.read_qrels, path)
    assert cf.read_qrels(path, subtopics=True).subtopics is not None
    with pytest.warns(cf.CranfieldWarning, match="the first one is kept"):
        assert cf.read_qrels(path, on_duplicate="first").grades.tolist() == [0, 1]
    out, _ = cranfield(
        folder, "evaluate", "two.txt", "other.run", "-m", "StRecall@2", "--subtopics"
    )
    assert "1.0000" in out
    # A column that is called subtopic is one, whatever its values are.
    rows = [{"topic": "1", "doc": "a", "grade": k, "subtopic": s} for k, s in enumerate("xy")]
    assert cf.read_qrels(rows).subtopics is not None
    refuses(
        "judged twice",
        cf.read_qrels,
        [{("iteration" if k == "subtopic" else k): row[k] for k in row} for row in rows],
    )


def test_measures_without_intents_say_that_the_highest_grade_counts(folder: Path) -> None:
    path = folder / "div.txt"
    path.write_text("1 1 a 1\n1 2 a 0\n1 1 b 0\n")
    run = {"1": {"b": 2.0, "a": 1.0}}
    assert cf.evaluate(run, path, "alpha_nDCG@5")["alpha_nDCG@5"].values[0, 0] > 0
    said = "the grades of 1 document differ by subtopic; the highest grade is used for AP"
    assert warns(said, cf.evaluate, run, path, "AP")["AP"].values.tolist() == [[0.5]]
    _, err = cranfield(folder, "evaluate", "div.txt", "other.run", "--no-subtopics", status=2)
    assert "judged twice" in err


# Several files.

NAMED = {name: one for name, one in COMMANDS.items() if name not in {"compare", "report"}}


@pytest.mark.parametrize("command", NAMED)
def test_name_and_file(command: str, folder: Path) -> None:
    (folder / "x=y.run").write_bytes(LINE)
    for given in ("mine=other.run", "x=y.run"):
        arguments = (given if one == "RUN" else one for one in NAMED[command])
        cranfield(folder, *arguments)
    two = [{"RUN": "a=other.run", "other.run": "a=x=y.run"}.get(one, one) for one in NAMED[command]]
    if command in {"fuse", "pool", "interleave"}:
        assert "two runs have the name 'a'" in cranfield(folder, *two, status=2)[1]


def test_names_and_files_in_python(folder: Path) -> None:
    (folder / "two.csv").write_text("model,query,doc,score\nx,1,a,2\ny,1,b,1\n")
    runs = cf.read_runs([f"mine={folder}/other.run", f"{folder}/other.run"])
    assert [run.name for run in runs] == ["mine", "other"]
    refuses("two runs have the name 'm'", cf.read_runs, [f"m={folder}/other.run"] * 2)
    refuses("expected one file after m=", cf.read_runs, f"m={folder}")
    # Systems of a table are not merged under the name.
    refuses("expected one system, got 2", lambda: list(cf.read_runs(f"m={folder}/two.csv")))


def test_files_beside_runs_are_passed_over(folder: Path) -> None:
    runs = folder / "runs"
    runs.mkdir()
    (runs / "a.run").write_bytes(LINE)
    for name in ("ir-metadata.yml", "a.run.ir-metadata.yml", "README", "README.md", ".DS_Store"):
        (runs / name).write_text("tag: t\n")
    assert [run.name for run in cf.read_runs(runs)] == ["t"]
    assert [run.name for run in cf.read_runs(f"{runs}/*")] == ["t"]
    assert "runs/a.run: accepted" in cranfield(folder, "check", "q.txt", "runs")[0]
    (runs / "notes.md").write_text("x\n")
    assert len(warns("do not look like runs: 'notes.md'", cf.read_runs, runs)) == 1
    with pytest.warns(cf.CranfieldWarning, match="do not look like runs: 'README.md'"):
        assert len(cf.read_runs([runs / "a.run", runs / "README.md"])) == 1


def test_files_of_one_name_are_called_by_their_folders(tmp_path: Path) -> None:
    paths = ["bm25/2024/run.txt", "bm25/2025/run.txt", "dense/2024/run.txt"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("1 Q0 a 1 1 tag\n")
    judged = {"1": {"a": 1}}
    with pytest.warns(cf.CranfieldWarning, match="named by file name"):
        found = cf.evaluate(f"{tmp_path}/*/*/run.txt", judged, "RR", backend="threading", jobs=2)
    assert found.systems == ("bm25/2024", "bm25/2025", "dense/2024")
    (tmp_path / "other.run").write_text("1 Q0 a 1 1 tag\n")
    given = [tmp_path / one for one in (paths[0], paths[2], "other.run")]
    found = warns("named by file name", cf.evaluate, given, judged, "RR")
    assert found.systems == ("bm25/2024/run", "dense/2024/run", "other")


# Empty rankings.


@pytest.mark.parametrize("empty", [{}, []])
@pytest.mark.parametrize("first", [True, False])
def test_empty_rankings_are_topics_of_the_run(empty: Any, first: bool, tmp_path: Path) -> None:
    import json

    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run: dict[str, Any] = {"q1": {"a": 1.0}, "q2": empty}
    run = dict(reversed(run.items())) if first else run
    (tmp_path / "a.json").write_text(json.dumps(run))
    nothing = {"q1": empty, "q2": empty}
    for given in (run, tmp_path / "a.json", {"x": run}):
        topics: Any
        for topics, wanted in {"run": [1, 0], "intersection": [1, 0], "qrels": [1, 0, 0]}.items():
            values = cf.evaluate(given, qrels, "RR", topics=topics)["RR"].values[:, 0]
            assert values.tolist() == wanted
    (tmp_path / "none.json").write_text(json.dumps(nothing))
    for given in (nothing, tmp_path / "none.json"):
        assert cf.evaluate(given, qrels, "AP")["AP"].values.tolist() == [[0], [0], [0]]
    both = cf.evaluate({"x": nothing, "y": run}, qrels, ["AP", "nDCG@10"])
    assert both["AP"].values.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert cf.fuse({"x": nothing, "y": run}).to_polars()["doc"].to_list() == ["a"]
    warns("excluded 1 topic without documents", cf.write_run, cf.read_run(run), tmp_path / "a.run")
    for write in (cf.read_run(run).write_csv, cf.read_run(run).write_parquet):
        warns("excluded 1 topic without documents", write, tmp_path / "a.table")


def test_depth_is_of_the_input_and_limit_of_the_output() -> None:
    runs = {"x": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "y": {"q": {"c": 2.0, "b": 1.0}}}
    assert sorted(cf.fuse(runs, depth=1).to_polars()["doc"]) == ["a", "c"]
    assert cf.fuse(runs, "CombSUM", norm="none", limit=1).to_polars()["doc"].to_list() == ["c"]
    refuses("limit must be", cf.fuse, runs, limit=0, error=cf.PolicyError)


def test_lines_of_ratings_with_times(tmp_path: Path) -> None:
    """As topic, iteration, document and grade, item 3 would be of grade 881250949."""
    path = tmp_path / "u.data"
    path.write_text("1\t17\t3\t881250949\n2\t18\t5\t891717742\n")
    refuses("numbers such as 881250949, which seem to be times", cf.read_qrels, path)


def test_topics_that_begin_with_the_sign_of_comments(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("# grades by two assessors\n#blue 0 d1 1\nred 0 d2 1\n")
    assert warns(
        r"skipped comments .*, including 1 line with the columns of a qrels line",
        cf.read_qrels,
        path,
    ).topics == ("red",)


@pytest.mark.parametrize(
    "text",
    [
        "2\tqid:1\t# d1\tguidance\n0\tqid:1\t# d2\tguidance\n",
        "# grade queryid docId\n# qid:1: guidance\n2\tqid:1 #\td1\tTitle\n\n0\tqid:1 #\td2\n",
        "2 qid:1 1:0.5 2:0.25 #docid = d1 inc = 1\n0 qid:1 1:0.1 #docid = d2 inc = 1\n",
    ],
)
def test_letor_text(tmp_path: Path, text: str) -> None:
    """RR by hand: d2 first, d1 second, so 1/2."""
    path = tmp_path / "ltr.txt"
    path.write_text(text)
    assert cf.read_qrels(path).to_polars().rows() == [("1", "d1", 2), ("1", "d2", 0)]
    run = {"1": {"d2": 2.0, "d1": 1.0}}
    assert cf.evaluate(run, path, "RR").by_system().row(0)[1] == 0.5
    path.write_text(text + "1 qid:1 1:0.5\n")
    line = text.count("\n") + 1
    refuses(f"ltr.txt:{line}: expected GRADE qid:TOPIC FEATURES #", cf.read_qrels, path)
    path.write_text(text + "high qid:1 # d3\n")
    refuses(f"ltr.txt:{line}: grade 'high' is not an integer", cf.read_qrels, path)


ROWS = [("300", "7067032"), ("300", "7067056"), ("301", "12")]


def test_two_columns(tmp_path: Path) -> None:
    lines = "".join(f"{topic}\t{doc}\n" for topic, doc in ROWS)
    (tmp_path / "ref.tsv").write_text(lines)
    (tmp_path / "ref.txt").write_text(lines)
    (tmp_path / "nano.tsv").write_text("query-id\tcorpus-id\n" + lines)
    (tmp_path / "nano.csv").write_text("query-id,corpus-id\n" + lines.replace("\t", ","))
    frame = pd.DataFrame(ROWS, columns=["query-id", "corpus-id"])
    files = [tmp_path / name for name in ("ref.tsv", "ref.txt", "nano.tsv", "nano.csv")]
    for data in (*files, frame, frame.to_dict("records")):
        with pytest.warns(CranfieldWarning, match="each document is read as relevant") as told:
            found = cf.read_qrels(data)
        assert found.to_polars().rows() == [(topic, doc, 1) for topic, doc in ROWS]
        assert len(told) == 1


def test_what_is_no_list_of_relevant_documents(tmp_path: Path) -> None:
    for name, text, said in (
        ("cut.txt", "q1\t0\nq1\t0\n", "a.*cut.txt:1: expected 4 columns"),
        ("blank.txt", "q1 d1\nq1 d2\n", "blank.txt:1: expected 4 columns"),
        ("head.txt", "query_id\tdoc_id\nq1\td2\n", "head.txt:1: expected 4 .*; remove the header"),
        ("four.txt", "user item rating time\n1 2 3 4\n", "four.txt:1: .*is a header, remove it"),
        ("mixed.txt", "q1\td1\nq1\td2\t1\n", "mixed.txt:2: "),
    ):
        (tmp_path / name).write_text(text)
        refuses(said.removeprefix("a.*"), cf.read_qrels, tmp_path / name)
    refuses("has no grade column", cf.read_qrels, [{"qid": "q1", "docid": "d1"}], grades={"a": 1})
    with pytest.raises(InputError, match="keep only topic and doc"):
        cf.read_qrels([{"qid": "q1", "docid": "d1", "time": 5}])
    qrels = warns(
        "each document is read as relevant",
        cf.read_qrels,
        [{"user": "u1", "clicked": "d1"}],
        columns={"topic": "user", "doc": "clicked"},
    )
    assert qrels.to_polars().rows() == [("u1", "d1", 1)]


def test_the_judgments_of_cranfield(tmp_path: Path) -> None:
    # As `cranqrel` is written: several blanks, some at the end of lines, and grades of -1.
    (tmp_path / "cranqrel").write_text("1 184  2\n1    29  2\n1 31  -1 \n 2 12 3\n")
    assert cf.read_qrels(tmp_path / "cranqrel").to_polars().rows() == [
        ("1", "184", 2),
        ("1", "29", 2),
        ("1", "31", -1),
        ("2", "12", 3),
    ]
