"""`cranfield judges`: tables, formats, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.assess.judges.llmjudge import judges, published, written
from tests.cli.running import cranfield, refusals, refused


@pytest.fixture(scope="module")
def llmjudge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llmjudge")
    written(folder)
    teams = "".join(f"{name},{name.split('-')[0]}\n" for name in judges())
    (folder / "teams.csv").write_text(f"name,team\n{teams}")
    return folder


@pytest.fixture
def labelled(folder: Path) -> Path:
    """The folder of the other commands, with labels of two judges."""
    (folder / "fine.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
    (folder / "odd.txt").write_text("1 0 a 0\n1 0 b 5\n")
    (folder / "families.csv").write_text("judge,system\nfine,one\nodd,two_x\n")
    return folder


def test_the_published_tables_to_four_decimals(llmjudge: Path) -> None:
    out, _ = cranfield(
        llmjudge, "judges", "people.txt", "submissions", "--table", "agreement", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    cuts = ("", " 0|123", " 01|23", " 012|3")
    columns = [f"{name}{cut}" for name in ("kappa", "alpha") for cut in cuts]
    compared = 0
    for mine, paper in zip(rows, published().rows(), strict=True):
        assert mine["judge"] == paper[0]
        for name, value in zip(columns, paper[1:], strict=True):
            assert round(float(mine[name]), 4) == pytest.approx(value, abs=1e-12)
            compared += 1
    assert compared == 168


def test_judges_as_runs_and_kin(llmjudge: Path) -> None:
    some = [f"submissions/{name}.txt" for name in judges()[4:8]]
    text, _ = cranfield(
        llmjudge,
        *("judges", "people.txt", *some, "--own-runs", "--families", "teams.csv"),
        *("-m", "nDCG@10", "--format", "json"),
    )
    found = json.loads(text)
    assert [row["family"] for row in found["self-preference"]] == [1, 1, 1, 1]
    assert {row["own judge rank"] for row in found["self-preference"]} == {1}
    assert len(found["rankings"]) == 4
    assert len(found["systems"]) == 16


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "csv", "json"])
def test_formats(labelled: Path, form: str) -> None:
    arguments = ("judges", "qrels", "fine.txt", "odd.txt", "--clip", "--format", form)
    out, _ = cranfield(labelled, *arguments)
    assert "fine" in out
    more = ("--runs", "*.run", "-m", "P@1", "--families", "families.csv", "-o", "out")
    out, _ = cranfield(labelled, *arguments, *more)
    assert out == ""
    assert "P@1" in (labelled / "out").read_text()


def test_a_grade_off_the_scale(labelled: Path) -> None:
    out, err = cranfield(labelled, "judges", "qrels", "odd.txt", "-o", "out", status=2)
    assert (out, (labelled / "out").exists()) == ("", False)
    assert err == (
        "cranfield: error: odd.txt:2: grade 5 is outside the scale 0 to 2 of the human judgments;"
        " use --clip to clip grades, or --scale ... to set another scale"
        " (topic '1', document 'b')\n"
    )
    (labelled / "low.txt").write_text("1 0 a -1\n")
    _, err = cranfield(labelled, "judges", "qrels", "low.txt", status=2)
    assert "of the human judgments; use --clip to clip grades (topic '1'" in err
    _, err = cranfield(labelled, "judges", "qrels", "odd.txt", "--scale", "-1..5", status=2)
    assert "a grade of a scale must be an integer >= 0, got -1" in err
    out, _ = cranfield(labelled, "judges", "qrels", "odd.txt", "--clip")
    assert "note: odd: 1 grade outside the scale 0 to 2 clipped to it" in out
    assert "missing: number of pairs of topic and document that only people judged" in out
    out, _ = cranfield(labelled, "judges", "qrels", "odd.txt", "--scale", "0..5")
    assert "kappa 0|12345" in out


@refusals(
    """
fine.txt --families families.csv | --families requires --runs
fine.txt -m AP | --measure requires --runs or --own-runs
fine.txt --runs one.run --own-runs | --runs cannot be combined with --own-runs
fine.txt --table kin | unknown table
fine.txt --table rankings | --table rankings requires --runs or --own-runs
fine.txt --own-runs --table score-bias | --table score-bias requires --tolerance score-bias=VALUE
fine.txt fine.txt | two judges have the name 'fine'
none.txt | none.txt: cannot be read
*.nothing | no file matches the pattern
fine.txt --scale 3 | a lowest and highest grade
fine.txt --own-runs --aspect x=qrels | setting aspect is not supported
fine.txt --own-runs --families families.csv | expected a judge
"""
)
def test_what_is_refused(labelled: Path, words: list[str], reason: str) -> None:
    refused(labelled, "judges", "qrels", *words, reason=reason)


def test_a_column_that_is_both_people_and_judge_is_reported(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("topic,doc,human,llm\n1,a,1,0\n1,b,0,0\n")
    for names, is_same in (("grade=human", True), ("qrels.grade=human,grade=llm", False)):
        (tmp_path / "names.yml").write_text(f"columns: {names}\n")
        _, err = cranfield(tmp_path, "judges", "wide.csv", "wide.csv", "--settings", "names.yml")
        assert ("wide.csv: the human grades and those of a judge are the same" in err) == is_same


def test_the_report_has_a_section_on_judges(labelled: Path) -> None:
    arguments = ("report", "qrels", "*.run", "-m", "P@1", "--no-scales")
    cranfield(labelled, *arguments, "-o", "without.html")
    cranfield(labelled, *arguments, "-o", "with.html", "--judges", "fine.txt", "--judges",
              "b=odd.txt", "--clip")  # fmt: skip
    without, page = ((labelled / name).read_text() for name in ("without.html", "with.html"))
    assert "Judges" not in without
    assert '<a href="#judges">' in page
    assert "fine agrees best with people" in page
    assert "Systems ranked by judges and by human labels: P@1" in page
    assert "--judges fine.txt --judges b=odd.txt" in page
    # The files of labels are among the inputs.
    assert page.count("odd.txt</span>") == 1
    _, err = cranfield(labelled, *arguments, "--judges", "odd.txt", "-o", "no.html", status=2)
    assert "grade 5 is outside the scale" in err
    assert not (labelled / "no.html").exists()
    refused(labelled, *arguments, "--clip", reason="clip requires --judges")


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "csv", "json"])
def test_ppi_scores(llmjudge: Path, form: str) -> None:
    arguments = ("judges", "people.txt", "submissions/Olz-gpt4o.txt", "--own-runs")
    asked = ("--ppi", "document", "-m", "P@5", "-m", "RBP")
    out, err = cranfield(llmjudge, *arguments, *asked, "--format", form)
    assert "Olz-gpt4o" in out and err == ""
    if form == "text":
        assert (
            "Prediction-powered P@5 by Olz-gpt4o: " in out and "95% confidence interval for" in out
        )
        assert "Kendall" not in out
    if form == "json":
        found = json.loads(out)
        assert [row["measure"] for row in found["ppi"]] == ["P@5", "RBP"]
        assert "rankings" not in found
        # All of the documents are judged: for these topics the scores are known.
        out, _ = cranfield(llmjudge, *arguments, *asked, "--format", form, "--fixed-topics")
        for row, sampled in zip(json.loads(out)["ppi"], found["ppi"], strict=True):
            assert row["low"] == row["estimate"] == row["high"]
            assert sampled["low"] < row["low"] == pytest.approx(sampled["estimate"])


def test_notes_on_some_corrected_scores_name_measure_and_judge(tmp_path: Path) -> None:
    pairs = [(topic, doc) for topic in ("q1", "q2", "q3") for doc in "abcdef"]
    files = {
        "people.txt": [f"{t} 0 {d} {d in 'ab':d}" for t, d in pairs if d in "abcd"],
        "all.txt": [f"{t} 0 {d} {d in 'ace':d}" for t, d in pairs],
        "some.txt": [f"{t} 0 {d} {d in 'ac':d}" for t, d in pairs if d != "f"],
        "r.run": [f"{t} Q0 {d} 1 {-ord(d)} r" for t, d in pairs],
        "s.run": [f"{t} Q0 {d} 1 {ord(d)} s" for t, d in pairs],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    words = ("judges", "people.txt", "all.txt", "some.txt", "--runs", "*.run", "-m", "P@2")
    out, _ = cranfield(tmp_path, *words, "-m", "P@3", "--ppi", "document", "-f", "json")
    sizes = [note for note in json.loads(out)["notes"] if "treated as a random sample" in note]
    assert [note.rpartition(" that the judge labelled: ")[2] for note in sizes] == [
        "4 of 6 in each topic",
        "4 of 5 in each topic",
    ]
    assert sizes[0].startswith("P@2 by all, P@3 by all: human judgments")
    assert sizes[1].startswith("P@2 by some, P@3 by some: human judgments")


@refusals(
    """
--ppi topic | --ppi topic requires --runs or --own-runs
--own-runs --ppi page | unknown unit 'page'; expected one of
--own-runs --ppi topic --families families.csv | --families cannot be
--own-runs --ppi document -m AP | --ppi topic
--own-runs --ppi topic --table rankings | --table rankings requires --runs or --own-runs, and
"""
)
def test_corrections_that_are_refused(labelled: Path, words: list[str], reason: str) -> None:
    refused(labelled, "judges", "qrels", "fine.txt", *words, reason=reason)


def test_the_output_ends_with_a_sentence_for_a_tolerance(labelled: Path) -> None:
    arguments = ("judges", "qrels", "fine.txt", "--tolerance", "agreement=0.5")
    out, _ = cranfield(labelled, *arguments)
    assert out.splitlines()[-1].startswith("agreement, judge fine: ")
    assert out.splitlines()[-1].endswith("at least 0.5: undecided.")
    out, _ = cranfield(labelled, *arguments, "--format", "json")
    report = json.loads(out)
    assert report["decisions"][0]["verdict"] == "undecided"
    assert len(report["verdict"]) == 1
    _, err = cranfield(labelled, *arguments, "--tolerance", "tau=0.5", status=2)
    assert (
        "the tolerance of tau requires --runs or --own-runs, and cannot be combined with --ppi"
        in err
    )
    _, err = cranfield(labelled, *arguments, "--tolerance", "agreement=0.6", status=2)
    assert "'agreement' must be given only once" in err
