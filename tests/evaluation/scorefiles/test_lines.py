"""Lines of trec_eval and ir_measures: which column is which, and of which run."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning
from tests.collection.refusals import refuses
from tests.evaluation.scorefiles import files


def read(text: str, folder: Path, name: str = "s.txt", **options: Any) -> cf.Scores:
    return files.read(text, folder, name, **options)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("q0\tAP\t.5\nq1\tAP\t.25\n", "q0 q1"),
        ("AP\tq0\t.5\nAP\tq1\t.25\n", "q0 q1"),
        ("q0\tAP\t.5\nq0\tRR\t1\nq1\tAP\t.25\nq1\tRR\t1\n", "q0 q1"),
        # Not even the last line is of all topics, and the topics are numbers.
        ("1\tAP\t.5\n2\tAP\t.25\n", "1 2"),
        ("AP 1 .5\nAP 2 .25\n", "1 2"),
        # Measures that are not known here: by the cutoff, by numbers, by being the same.
        ("q0\tBPM@10\t.5\nq1\tBPM@10\t.25\nq0\tXY@3\t1\nq1\tXY@3\t1\n", "q0 q1"),
        ("mine\t1\t.5\nmine\t2\t.25\nhis\t1\t1\nhis\t2\t1\n", "1 2"),
        ("q0\tmine\t.5\nq1\tmine\t.25\n", "q0 q1"),
        # Lines that were sorted by measure.
        ("AP\tall\t.375\nAP\tq0\t.5\nAP\tq1\t.25\nRR\tall\t1\nRR\tq0\t1\nRR\tq1\t1\n", "q0 q1"),
    ],
)
def test_which_column_is_which(text: str, topics: str, tmp_path: Path) -> None:
    first = next(name for name in ("AP", "BPM@10", "mine") if name in text)
    for name in ("s.eval", "s.txt", "s.tsv"):
        scores = read(text, tmp_path, name, measure=first)
        assert scores.topics == tuple(topics.split())
        assert scores.values.tolist() == [[0.5], [0.25]]


def test_columns_that_are_left_open(tmp_path: Path) -> None:
    text = "mine\tq0\t.5\nmine\tq1\t.25\nhis\tq0\t1\nhis\tq1\t1\n"
    refuses("begins with 'mine' and one that begins with 'q0'; .* as in", read, text, tmp_path)
    assert read(text, tmp_path, measure="his").values.tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("overall", "message"),
    [
        ("num_q all 4\nmap all .3", "map over all topics is 0.3 over 4 topics; .* the 2 topics"),
        ("map all .65", "map over all topics is 0.65; .* the mean over the 2 topics .* 0.6 "),
        ("num_q all 2\nmap all .6\nnum_ret all 30", ""),
    ],
)
def test_values_over_all_topics(overall: str, message: str, tmp_path: Path) -> None:
    text = f"map 1 .8\nmap 2 .4\nnum_ret 1 10\nnum_ret 2 20\nrunid all bm25\n{overall}\n"
    with pytest.warns(CranfieldWarning, match=message) if message else nullcontext():
        assert read(text, tmp_path, measure="map").values.tolist() == [[0.8], [0.4]]


def test_names_with_blanks_and_commas(tmp_path: Path) -> None:
    measure = "nDCG(gains='exponential', x=1)@10"
    scores = read(f"{measure}\ttopic one\t.5\n", tmp_path, measure=measure)
    assert (scores.topics, scores.values.tolist()) == (("topic one",), [[0.5]])


def test_a_table_of_three_columns_is_no_lines(tmp_path: Path) -> None:
    for head in ("topic\tbm25\tdense", "\tbm25\tdense", "Query ID\tbm25\tdense"):
        scores = read(f"{head}\nq1\t.5\t1\n", tmp_path)
        assert (scores.topics, scores.systems) == (("q1",), ("bm25", "dense"))
    assert read("topic\t1\t2\nq1\t.5\t1\n", tmp_path).systems == ("1", "2")
    refuses("separated by commas, tabs or", read, "topic bm25 dense tf\nq1 .5 1 0\n", tmp_path)


def test_several_runs_by_their_runid(tmp_path: Path) -> None:
    one = "map\tq0\t{0}\nmap\tq1\t1\nrunid\tall\t{1}\nmap\tall\t{2}\n"
    scores = read(one.format(0.5, "a", 0.75) + one.format(0.25, "b", 0.625), tmp_path)
    assert (scores.systems, scores.values.tolist()) == (("a", "b"), [[0.5, 0.25], [1, 1]])
    first = "runid\tall\ta\nmap\tq0\t.5\nrunid\tall\tb\nmap\tq0\t1\n"
    assert read(first, tmp_path).values.tolist() == [[0.5, 1]]
    for text in (
        "map\tq0\t1\nrunid\tall\ta\nrunid\tall\tb\n",
        "map\tq0\t1\nrunid\tall\ta\nmap\tq0\t1\nrunid\tall\tb\nmap\tq0\t1\n",
    ):
        refuses("expected one line runid", read, text, tmp_path)
    refuses(r"s\.txt:2: system 's' has two scores", read, "map\tq0\t1\nmap\tq0\t.5\n", tmp_path)


def test_values_over_all_topics_that_are_not_means(tmp_path: Path) -> None:
    # The geometric mean of .04 and .25 is .1; warnings are errors.
    lines = "q1\tGMAP\t.04\nq2\tGMAP\t.25\nall\tGMAP\t.1\n"
    assert read(lines, tmp_path).overall() == pytest.approx([0.1])
    with pytest.warns(CranfieldWarning, match=r"value of AP over all .* 0\.1; .* file, 0\.145 "):
        read(lines + lines.replace("GMAP", "AP"), tmp_path, measure="AP")
