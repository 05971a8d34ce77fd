"""`cranfield answers`: what it reads, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import cranfield, refusals

NUGGETS = """topic,nugget,importance
q,born,vital
q,died,vital
q,hair,okay
p,height,vital
"""
ANSWERS = """topic,system,nugget,length
q,one,born,100
q,one,hair,100
q,two,,50
p,two,height,50
"""
IUNITS = "q born 3 14\n"
MATCHES = "q syslen= 56\nq born 50\n"
ASSIGNMENT = {
    "qid": "q",
    "run_id": "one",
    "nuggets": [
        {"text": "born", "importance": "vital", "assignment": "partial_support"},
        {"text": "hair", "importance": "okay", "assignment": "support"},
    ],
}
CITATIONS = "topic,system,sentence,citation,support\nq,one,1,a,full\nq,one,2,,\nq,two,1,b,partial\n"
REFERENCES = "topic,text\nq,police kill the gunman\n"
SUMMARIES = "topic,text\nq,Police killed the gunman\n"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for name, content in {
        "nuggets.csv": NUGGETS,
        "answers.csv": ANSWERS,
        "iunits": IUNITS,
        "mine.matches": MATCHES,
        "assignments.jsonl": json.dumps(ASSIGNMENT) + "\n",
        "citations.csv": CITATIONS,
        "references.csv": REFERENCES,
        "summaries.csv": SUMMARIES,
    }.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def cells(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines() if line.strip() and "─" not in line]


def test_nuggets_and_what_they_do_not_tell(texts: Path) -> None:
    out, err = cranfield(texts, "answers", "--nuggets", "nuggets.csv", "answers.csv")
    # Recall: 2 of 3 nuggets and 0 of 1; 0 of 3 and 1 of 1. By weight: 1 of 2 vital ones.
    # F with 100 characters a nugget: precision 1, recall 1/2: 10 * 0.5 / 9.5.
    assert cells(out) == [
        ["system", "NuggetRecall", "WRecall", "NuggetF"],
        ["two", "0.5000", "0.5000", "0.5000"],
        ["one", "0.3333", "0.2500", "0.2632"],
    ]
    missing, needs = err.splitlines()
    assert missing == (
        "cranfield: warning: 1 answer is missing and counted as 0: topic 'p' of 'one'"
    )
    assert needs.startswith(
        "cranfield: warning: measure skipped: SSharp requires the vital string length"
    )


def test_nuggets_of_ntcir(texts: Path) -> None:
    start = ("answers", "--nuggets", "iunits", "mine.matches", "-m", "SMeasure", "-m", "TMeasure")
    assert cranfield(texts, *start, "-m", "SMeasure(L=500)", "-q", "-f", "csv")[0] == (
        "measure,topic,system,score\n"
        f"SMeasure,q,mine,{950 / 986}\nTMeasure,q,mine,0.25\nSMeasure(L=500),q,mine,{450 / 486}\n"
    )
    assert ["system", "SMeasure", "TMeasure"] in cells(cranfield(texts, *start)[0])
    named = cranfield(texts, *start, "--system", "other", "-f", "csv")[0]
    assert named.splitlines()[1].startswith("other,")


def test_several_files(texts: Path) -> None:
    (texts / "b.matches").write_text("q syslen= 10\n")
    files = ("mine.matches", "b.matches")
    out, _ = cranfield(
        texts, "answers", "--nuggets", "iunits", *files, "-m", "NuggetRecall", "-f", "csv"
    )
    assert out == "system,NuggetRecall\nmine,1.0\nb,0.0\n"


def test_assignments(texts: Path) -> None:
    out, _ = cranfield(texts, "answers", "--assignments", "assignments.jsonl", "-f", "json", "-q")
    data = json.loads(out)
    overall = {"AllScore": 0.75, "VitalScore": 0.5, "VitalScore(strict=True)": 0.0}
    assert data["systems"] == {"one": {"overall": overall, "topics": {"q": overall}}}
    assert (data["measures"], data["topics"]) == ([*overall], 1)
    packed = json.dumps(ASSIGNMENT).encode()
    out, _ = cranfield(texts, "answers", "--assignments", "-", "-f", "csv", stdin=packed)
    assert out.splitlines()[1] == "one,0.75,0.5,0.0"


def test_citations(texts: Path) -> None:
    out, _ = cranfield(texts, "answers", "--citations", "citations.csv", "-p", "2")
    assert cells(out)[1:] == [["one", "1.00", "0.50", "0.67"], ["two", "0.50", "0.50", "0.50"]]


def test_prediction_powered_scores_as_json(tmp_path: Path) -> None:
    rows = [f"q{k},one,1,d,{('full', 'none')[k % 2]}" for k in range(8)]
    head = "topic,system,sentence,citation,support"
    (tmp_path / "judge.csv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "people.csv").write_text("\n".join([head, *rows[:5]]) + "\n")
    command = ("answers", "--citations", "judge.csv", "--human", "people.csv", "-f", "json")
    out, _ = cranfield(tmp_path, *command, "-m", "CitationPrecision", "-m", "CitationF")
    data = json.loads(out)
    assert data["measures"] == ["CitationPrecision", "CitationF"]
    assert "measure" not in data
    out, _ = cranfield(tmp_path, *command, "-m", "CitationF")
    assert json.loads(out)["measure"] == "CitationF"


def test_summaries(texts: Path) -> None:
    start = ("answers", "--references", "references.csv", "summaries.csv", "-f", "csv")
    assert cranfield(texts, *start)[0].splitlines()[1] == f"summaries,0.75,{1 / 3},0.75"
    # As they stand, "Police" is another word than "police".
    out, _ = cranfield(texts, *start, "--tokeniser", "whitespace", "-m", "RougeN")
    assert out == "system,RougeN\nsummaries,0.5\n"


def test_output(texts: Path) -> None:
    start = ("answers", "--citations", "citations.csv", "-m", "CitationRecall")
    assert r"one & \textbf{0.5000}" in cranfield(texts, *start, "-f", "latex")[0]
    assert "| one |" in cranfield(texts, *start, "-f", "markdown", "-q")[0].replace("| q ", "")
    assert cranfield(texts, *start, "-f", "parquet", "-o", "x.parquet", "-q") == ("", "")
    assert pl.read_parquet(texts / "x.parquet").columns == ["measure", "topic", "system", "score"]
    assert cranfield(texts, *start, "-o", "x.txt") == ("", "")
    assert "CitationRecall" in (texts / "x.txt").read_text()
    before = (texts / "x.txt").read_text()
    (texts / "bad.csv").write_text(CITATIONS + "q,two,2,c,perhaps\n")
    _, err = cranfield(texts, "answers", "--citations", "bad.csv", "-o", "x.txt", status=2)
    assert err.startswith("cranfield: error: bad.csv:5: support 'perhaps' is not full")
    assert (texts / "x.txt").read_text() == before


def test_scores_can_be_compared(texts: Path) -> None:
    rows = "".join(f"q{k},{s},1,d,{(k + (s == 'b')) % 3 / 2}\n" for k in range(9) for s in "ab")
    (texts / "many.csv").write_text("topic,system,sentence,citation,support\n" + rows)
    start = ("answers", "--citations", "many.csv", "-m", "CitationRecall", "-q", "-f", "csv")
    cranfield(texts, *start, "-o", "scores.csv")
    out, _ = cranfield(texts, "compare", "--scores", "scores.csv", "--test", "t")
    assert "CitationRecall" in out


@refusals(
    """
answers.csv | expected one of --nuggets FILE, --assignments, --citations
--citations --assignments x | got --assignments and --citations
--citations citations.csv answers.csv | answers.csv: has no sentence column
--nuggets nuggets.csv nowhere.csv | nowhere.csv: cannot be read: no such file
--nuggets - - | only one file can be standard input
--nuggets citations.csv answers.csv | has no nugget column
--citations citations.csv -m AllScore | expected one of: CitationPreci
--citations citations.csv -m nDCG | nDCG does not score answers, citations or summaries
--citations citations.csv --tokeniser whitespace | requires --references
--citations citations.csv -f parquet | --format parquet requires --output
--citations citations.csv --label x | label requires --format latex
--nuggets nuggets.csv answers.csv -m SSharp | SSharp requires the vital
--citations citations.csv --places -1 | places: -1 is not in the range
--citations | Missing argument 'ANSWERS...'
"""
)
def test_errors(texts: Path, words: list[str], reason: str) -> None:
    out, err = cranfield(texts, "answers", *words, status=2)
    assert out == ""
    [error] = [line for line in err.splitlines() if "missing and counted as 0" not in line]
    assert error.startswith("cranfield: error: ")
    assert reason in error


def test_help(texts: Path) -> None:
    out, _ = cranfield(texts, "answers", "--help")
    assert "cranfield answers --nuggets nuggets.csv answers.csv" in out
