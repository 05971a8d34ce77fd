"""The command line as a whole: what it prints, where, and its exit status."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.cli.conftest import RUN
from tests.cli.running import cranfield, refusals, refused


def test_process(folder: Path) -> None:
    start = [sys.executable, "-m", "cranfield", "evaluate", "qrels"]
    done = subprocess.run(
        [*start, "one.run", "-m", "AP"], cwd=folder, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"0.7500" in done.stdout
    done = subprocess.run([*start, "none.run"], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"cranfield: error: none.run: ")


def test_table(folder: Path) -> None:
    out, err = cranfield(folder, "evaluate", "qrels", "one.run", "two.run", "-m", "AP", "-m", "P@1")
    assert [line.split() for line in out.splitlines() if line.strip()][0] == ["system", "AP", "P@1"]
    rows = [line.split() for line in out.splitlines() if "one" in line or "two_x" in line]
    assert rows == [["two_x", "1.0000", "1.0000"], ["one", "0.7500", "0.5000"]]
    assert err == ""


def test_table_by_topic_and_one_system(folder: Path) -> None:
    out, _ = cranfield(folder, "evaluate", "qrels", "one.run", "-m", "AP", "-q", "-p", "2")
    assert ["1", "one", "0.50"] in [line.split() for line in out.splitlines()]
    assert ["all", "one", "0.75"] in [line.split() for line in out.splitlines()]
    out, _ = cranfield(folder, "evaluate", "qrels", "one.run", "-m", "set")
    assert ["NumRet", "3.0000"] in [line.split() for line in out.splitlines()]


def test_lines_of_trec_eval(folder: Path) -> None:
    out, _ = cranfield(folder, "evaluate", "qrels", "one.run", "-m", "map", "-q", "-f", "trec")
    lines = ["map                   \t1\t0.5000", "map                   \t2\t1.0000"]
    assert out.splitlines() == [*lines, "map                   \tall\t0.7500"]
    out, _ = cranfield(folder, "evaluate", "qrels", ".", "-m", "map", "-f", "trec", status=2)
    out, _ = cranfield(folder, "evaluate", "qrels", "*.run", "-m", "num_ret", "-f", "trec")
    assert [line.split() for line in out.splitlines()] == [
        ["runid", "all", "one"],
        ["num_ret", "all", "3"],
        ["runid", "all", "two_x"],
        ["num_ret", "all", "3"],
    ]


def test_lines_of_ir_measures(folder: Path) -> None:
    arguments = ("evaluate", "qrels", "one.run", "-m", "AP", "-m", "RR", "-f", "ir_measures")
    assert cranfield(folder, *arguments)[0] == "AP\t0.7500\nRR\t0.7500\n"
    by_topic = cranfield(folder, *arguments, "-q", "-p", "1")[0].splitlines()
    assert by_topic[0] == "1\tAP\t0.5"
    assert by_topic[-1] == "all\tRR\t0.8"


def test_csv_json_latex_and_parquet(folder: Path) -> None:
    start = ("evaluate", "qrels", "one.run", "two.run", "-m", "AP")
    assert cranfield(folder, *start, "-f", "csv")[0] == "system,AP\none,0.75\ntwo_x,1.0\n"
    data = json.loads(cranfield(folder, *start, "-f", "json", "-q")[0])
    assert data["systems"]["one"]["overall"] == {"AP": 0.75}
    assert data["systems"]["one"]["topics"]["1"] == {"AP": 0.5}
    assert data["policies"]["ties"] == "trec"
    latex = cranfield(folder, *start, "-f", "latex")[0]
    assert r"two\_x & \textbf{1.0000} \\" in latex
    out, _ = cranfield(folder, *start, "-f", "parquet", "-q", "-o", "x.parquet")
    assert out == ""
    assert pl.read_parquet(folder / "x.parquet").columns == ["measure", "topic", "system", "score"]
    refused(folder, *start, "-f", "parquet", reason="requires --output")


def test_output_file_is_whole_or_not_there(folder: Path) -> None:
    before = sorted(folder.iterdir())
    arguments = "evaluate qrels one.run bad.run -m AP -f csv -o out.csv"
    (folder / "bad.run").write_text(RUN + "2 Q0 b 1 high one\n")
    _, err = cranfield(folder, *arguments.split(), status=2)
    assert err == (
        "cranfield: error: bad.run:4: score 'high' is not a finite number"
        " (topic '2', document 'b')\n"
    )
    assert sorted(folder.iterdir()) == sorted([*before, folder / "bad.run"])
    cranfield(folder, "evaluate", "qrels", "one.run", "-m", "AP", "-f", "csv", "-o", "out.csv")
    assert (folder / "out.csv").read_text() == "system,AP\none,0.75\n"


def test_standard_input(folder: Path) -> None:
    packed = gzip.compress(RUN.encode())
    out, _ = cranfield(folder, "evaluate", "qrels", "-", "-m", "AP", "-f", "csv", stdin=packed)
    assert out == "system,AP\none,0.75\n"
    refused(folder, "evaluate", "-", "-", "-m", "AP", reason="standard input")


@refusals(
    """
evaluate qrels nowhere | nowhere: cannot be read: no such file
evaluate qrels *.xz | *.xz: no file matches the pattern
evaluate qrels one.run -m nDGC@10 | did you mean nDCG
evaluate qrels one.run --ties x | Invalid value for '--ties'
evaluate qrels one.run --compat x | Invalid value for '--compat'
evaluate qrels one.run -o no/where | cannot be written
evaluate one.run qrels | QRELS comes first
evaluate qrels qrels | expected 6 columns
measures nDGC | did you mean nDCG
"""
)
def test_errors_are_one_line_and_status_2(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, *words, reason=reason)


def test_wrong_options(folder: Path) -> None:
    refused(folder, "evaluate", "--nonsense", reason="unknown option")
    refused(folder, "evaluate", "qrels", reason="expected QRELS and at least one RUN")
    assert "Commands:" in cranfield(folder)[0]


def test_warnings_go_to_standard_error(folder: Path) -> None:
    (folder / "odd.run").write_text("1 Q0 \x1b[2Ja 1 1 \x1b]0;x\x07\n9 Q0 a 1 1 \x1b]0;x\x07\n")
    out, err = cranfield(folder, "evaluate", "qrels", "odd.run", "-m", "AP")
    assert "\x1b" not in out + err
    assert r"\x1b]0;x" in out
    assert "warning: system" in err
    assert "no results for some judged topics (1 topic: '2')" in err


def test_coverage(folder: Path) -> None:
    _, err = cranfield(folder, "evaluate", "qrels", "one.run", "-m", "AP", "--coverage")
    assert "unjudged@10" in err


def test_version_and_help(folder: Path) -> None:
    assert cranfield(folder, "--version")[0] == f"cranfield {cf.__version__}\n"
    assert "Examples:" in cranfield(folder, "evaluate", "--help")[0]


def test_demo(folder: Path) -> None:
    out, _ = cranfield(folder, "demo")
    assert "40 systems of 28 teams, 50 topics, 23,151 judgments" in out
    assert ["UPrrf93-wt-r5", "0.8496", "0.8760"] in [line.split()[:3] for line in out.splitlines()]
    # Names are shown whole: two of these begin with the same 14 characters.
    for name in ("uogTrDPH_QE_RF_SB_CB", "uogTrDPH_QE_RF_CB"):
        assert sum(line.split()[:1] == [name] for line in out.splitlines()) == 2


def test_compare(folder: Path) -> None:
    out, err = cranfield(folder, "compare", "qrels", "one.run", "two.run", "-m", "AP")
    lines = out.splitlines()
    assert lines[0] == "On AP two_x (1.0000) and one (0.7500) are not significantly different."
    assert lines[4].split()[:2] == ["one", "two_x"]
    assert "●" in lines[4] and "┼" in lines[4]
    assert "AP: Studentised bootstrap test; alpha 0.05" in lines
    assert "note: AP is an ordinal scale, but this test assumes an interval scale" in out
    assert err == ""
    scores = folder / "s.csv"
    scores.write_text("topic,a,b,c\n1,.1,.5,.6\n2,.2,.4,.7\n3,.1,.6,.6\n4,.3,.5,.9\n")
    out, _ = cranfield(
        folder, "compare", "--scores", "s.csv", "-t", "t", "-c", "holm", "--format", "csv"
    )
    frame = pl.read_csv(out.encode())
    assert frame["second"].to_list() == ["b", "c", "c"]
    assert frame["significant"].to_list() == [True, True, False]
    assert frame["interval of"].unique().to_list() == ["mean difference"]
    assert frame["interval holds for"][0].startswith("all pairs simultaneously")
    out, _ = cranfield(
        folder, "compare", "--scores", "s.csv", "-c", "tukey", "--format", "json", "-m", "AP"
    )
    found = json.loads(out)["comparisons"][0]
    assert (found["measure"], found["test"], found["correction"]) == ("AP", "anova-2", "tukey")
    assert [one["groups"] for one in found["systems"]] == ["a", "a", "b"]
    assert found["anova"][-1]["F"] is None
    assert found["seed"] is None and not {"seed", "resamples"} & {*found["options"]}
    out, _ = cranfield(folder, "compare", "--scores", "s.csv", "--format", "latex", "-o", "t.tex")
    assert out == ""
    assert (folder / "t.tex").read_text().count(r"\toprule") == 1
    cranfield(
        folder, "compare", "--scores", "s.csv", "--as", "anova", "--format", "latex", "-o", "t.tex"
    )
    assert (folder / "t.tex").read_text().count(r"\toprule") == 2
    out, _ = cranfield(folder, "compare", "--scores", "s.csv", "--as", "anova")
    assert "Source" in out and "Error" in out
    assert "Source" not in cranfield(folder, "compare", "--scores", "s.csv")[0]
    for more in (("-t", "sign"), ("--format", "csv"), ("--marks", "symbols")):
        refused(folder, "compare", "--scores", "s.csv", "--as", "anova", *more, reason="--as anova")


def test_details_of_meaningfulness_are_shown_on_request(folder: Path) -> None:
    pairs = ((1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (99, 11))
    rows = [f"AP,{topic},{a / 100},{b / 100}" for topic, (a, b) in enumerate(pairs)]
    (folder / "s.csv").write_text("\n".join(["measure,topic,a,b", *rows]))
    given = ("compare", "--scores", "s.csv", "-t", "t", "--alpha", "0.5")
    out, _ = cranfield(folder, *given)
    assert (
        "keep its order of means" in out and "sensitivity" not in out and "for example" not in out
    )
    details, _ = cranfield(folder, *given, "--as", "meaningfulness")
    assert details.startswith("AP\nnot meaningful: ")
    assert "\nsensitivity: " in details
    # The mean of a is higher, because of its last topic; b is above 0.01 on all topics.
    assert "\nfor example: a has the higher mean, but b has scores above 0.01 on more" in details
    row = details.strip().splitlines()[-1].split()
    assert row == ["a", "b", "0.1383", "reversed", "0.01", "5", "6"]


def test_compare_with_a_margin(folder: Path) -> None:
    (folder / "s.csv").write_text("a,b,c\n.50,.51,.1\n.40,.39,.2\n.60,.60,.1\n.30,.31,.1\n")
    given = ("compare", "--scores", "s.csv", "-t", "t", "-c", "none", "--margin", "5%")
    out, _ = cranfield(folder, *given)
    assert "3 pairs: 2 superior, 1 equivalent" in out
    out, _ = cranfield(folder, *given, "--format", "csv")
    frame = pl.read_csv(out.encode())
    assert frame["equivalence verdict"].to_list() == ["equivalent", "superior", "superior"]
    assert frame["margin"][0] == pytest.approx(0.05 * 0.4525)
    out, _ = cranfield(folder, *given, "--format", "json")
    found = json.loads(out)["comparisons"][0]
    assert found["equivalence"]["verdicts"] == {"superior": 2, "equivalent": 1}
    for name in ("p equivalence", "p non-inferiority", "p non-superiority"):
        assert found["pairs"][0][name] == frame[name][0]
    # Two one-sided tests: equivalence is the larger of both p-values.
    assert frame["p equivalence"][0] == max(
        frame["p non-inferiority"][0], frame["p non-superiority"][0]
    )
    out, _ = cranfield(folder, *given, "--format", "markdown")
    assert "Equivalence within 5%" in out
    for more, message in (
        (("--margin", "x"), "margin must be a number above 0 or a percentage"),
        (("--margin", "5%", "--marks", "groups"), "cannot be combined with --marks"),
        (("--threshold", "0.1"), "threshold requires the test sign"),
    ):
        refused(folder, *given[:5], *more, reason=message)


def test_compare_lists_every_test(folder: Path) -> None:
    """The help names all tests, without those for studies of tests only, and all corrections."""
    from cranfield.significance import CORRECTIONS, TESTS
    from cranfield.significance.registry import STUDY_TESTS

    out, _ = cranfield(folder, "compare", "--help-all")
    named = set(re.findall(r"[a-z0-9-]+", re.sub(r"-\s+", "-", out)))
    assert {name for name, test in TESTS.items() if test.info.refusal} == set(STUDY_TESTS)
    assert named >= {*TESTS, "anova"} - set(STUDY_TESTS)
    assert named >= set(CORRECTIONS)
    assert not named & set(STUDY_TESTS)


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate",),
        ("report",),
        ("study", "collection"),
        ("study", "tests", "--shards", "2"),
        ("study", "measures"),
    ],
)
def test_standard_input_is_one_thing(folder: Path, command: tuple[str, ...]) -> None:
    _, err = cranfield(folder, *command, "-", "one.run", "-", stdin=b"1 0 a 1\n", status=2)
    assert err == "cranfield: error: only one file can be standard input (-)\n"


def test_compare_by_resampling(folder: Path) -> None:
    (folder / "s.csv").write_text("a,b\n" + "".join(f".{k}1,.{k + 2}2\n" for k in range(1, 7)))
    arguments = ("compare", "--scores", "s.csv", "-t", "randomisation", "--no-exact")
    one, two, other = (
        cranfield(folder, *arguments, "--seed", seed, "--resamples", "500")[0] for seed in "112"
    )
    assert one == two
    assert "500 random samples, seed 1" in one
    assert other != one


def test_compare_says_what_is_wrong(folder: Path) -> None:
    (folder / "s.csv").write_text("topic,a\n1,.5\n2,.25\n")
    for arguments, message in (
        ((), "expected QRELS and at least one RUN, or --scores FILE"),
        (("qrels", "one.run", "--scores", "s.csv"), "cannot be combined"),
        (("qrels", "one.run"), "a comparison requires at least two systems, got 1"),
        (("--scores", "s.csv"), "two systems, got 1"),
        (("--scores", "absent.csv"), "absent.csv: cannot be read"),
        (("qrels", "*.run", "--baseline", "on"), "did you mean 'one'"),
        (("qrels", "*.run", "--alpha", "2"), "alpha must be a number between 0 and 1"),
        (("qrels", "*.run", "-t", "anova-3"), "anova-3 requires scores by shard"),
        (("qrels", "*.run", "-t", "t", "-c", "tukey"), "'tukey' cannot be combined with test 't'"),
        (("absent", "absent", "-t", "wilcox"), "did you mean wilcoxon"),
        (("absent", "absent", "-c", "bonferoni"), "did you mean bonferroni"),
        (("qrels", "*.run", "--resamples", "99999999999"), "from 1 to 1,000,000"),
        (("--scores", "s.csv", "--rel", "2"), "--rel cannot be combined with --scores"),
    ):
        refused(folder, "compare", *arguments, "-o", "out", reason=message)
        assert not (folder / "out").exists()


def test_formats_of_judgments_alone(folder: Path) -> None:
    (folder / "sample").write_text("1 0 a x 1\n1 0 b x 0\n2 0 a x 2\n2 0 b x -1\n")
    start = ("evaluate", "sample", "one.run", "-m", "xinfAP", "-f", "csv")
    refused(folder, *start, reason="grade")
    out, _ = cranfield(folder, *start, "--input-format", "xqrels")
    assert out.startswith("system,xinfAP\none,0.75000")


def test_lowest_grade_reaches_the_measure_inside(folder: Path) -> None:
    """A measure around another one hands it on, however many there are around it."""
    asked = ("-m", "URisk(URisk(P@1, baseline='one'), baseline='one')", "-m", "nDCG")
    text, _ = cranfield(folder, "evaluate", "qrels", "one.run", *asked, "--rel", "2")
    assert "P(rel=2)@1" in text


def test_tables_from_standard_input(folder: Path) -> None:
    (folder / "q.tsv").write_text("1\t0\ta\t1\n")
    command = ("evaluate", "q.tsv", "-", "--input-format", "tsv", "-m", "RR", "--format", "csv")
    out, _ = cranfield(folder, *command, stdin=b"1\tb\t1\n1\ta\t2\n")
    assert out.splitlines()[1:] == ["stdin,0.5"]
    out, _ = cranfield(folder, *command, stdin=b"run\tqid\tdocno\tscore\nx\t1\ta\t1\ny\t1\tb\t1\n")
    assert out.splitlines()[1:] == ["x,1.0", "y,0.0"]


def test_means_over_different_topics(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b,c\nq1,0.5,,0.5\nq2,0.25,0.75,0.5\n")
    (tmp_path / "t.csv").write_text("topic,a,b\nq1,,\nq2,0.25,0.75\n")
    out, err = cranfield(tmp_path, "evaluate", "--scores", "s.csv", "-f", "csv")
    assert "b,0.75" in out
    assert "over different topics; some scores are missing for 'b'" in err
    _, err = cranfield(tmp_path, "evaluate", "--scores", "t.csv")
    assert "different topics" not in err
    assert "excluded 1 of 2 topics, which have no score" in err
    (tmp_path / "m.csv").write_text("topic,faithfulness,answer_relevancy\nq1,,0.5\nq2,0.25,0.75\n")
    _, err = cranfield(tmp_path, "evaluate", "--scores", "mine=m.csv")
    assert "faithfulness: excluded 1 of 2 topics, which have no score" in err
    assert "answer_relevancy:" not in err
