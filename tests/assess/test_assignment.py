"""Sheets for assessors: everything is dealt, evenly, and reads back."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.assess import sheets
from cranfield.base.errors import InputError


def frame(sizes: dict[str, int]) -> pl.DataFrame:
    rows = [(topic, f"d{i:03}") for topic, size in sizes.items() for i in reversed(range(size))]
    return pl.DataFrame(rows, schema=["topic", "doc"], orient="row")


SIZES = st.dictionaries(st.sampled_from(["10", "9", "é", "q#"]), st.integers(1, 30), min_size=1)


@given(
    SIZES,
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from(["document", "topic"]),
    st.sampled_from(["judging", "id", "shuffled"]),
    st.integers(0, 9),
)
def test_everything_is_dealt(
    sizes: dict[str, int], assessors: int, overlap: float, by: str, arranged: str, seed: int
) -> None:
    given = frame(sizes)
    dealt = sheets(given, assessors=assessors, overlap=overlap, by=by, arranged=arranged, seed=seed)
    times = Counter(dealt.rows.select("topic", "doc").rows())
    assert set(times) == set(given.rows())
    for topic, size in sizes.items():
        several = [n for (of, _), n in times.items() if of == topic and n > 1]
        wanted = round(overlap * size) if assessors > 1 else 0
        assert several == wanted * [assessors]
    assert dealt.n_repeated == sum(n > 1 for n in times.values())
    for topic, size in sizes.items():
        counts = [dealt.select_sheet(name).filter(topic=topic).height for name in dealt.assessors]
        if by == "document":
            assert max(counts) - min(counts) <= 1
        else:
            shared = round(overlap * size)
            assert sum(count > shared for count in counts) <= 1
    for name in dealt.assessors:
        rows = dealt.select_sheet(name).rows()
        if arranged == "judging":
            assert rows == [row for row in given.rows() if row in set(rows)]
        if arranged == "id":
            numeric = set(sizes) <= {"9", "10"}
            assert rows == sorted(rows, key=lambda row: (int(row[0]) if numeric else 0, row))


def test_a_topic_is_dealt_as_if_it_were_alone() -> None:
    one, two = frame({"a": 20}), frame({"b": 7, "a": 20})
    for arranged in ("judging", "shuffled"):
        alone = sheets(one, assessors=3, overlap=0.2, arranged=arranged, seed=4)
        among = sheets(two, assessors=3, overlap=0.2, arranged=arranged, seed=4)
        for name in alone.assessors:
            assert (
                alone.select_sheet(name).rows() == among.select_sheet(name).filter(topic="a").rows()
            )
    assert sheets(one, arranged="shuffled").select_sheet("1").rows() != one.rows()
    assert (
        sheets(one, arranged="shuffled", seed=1).select_sheet("1").rows()
        != sheets(one, arranged="shuffled", seed=2).select_sheet("1").rows()
    )


def test_some_of_the_assessors() -> None:
    dealt = sheets(frame({"q": 30}), assessors=["x", "y", "z"], overlap=0.5, n_each=2)
    times = Counter(dealt.rows["doc"])
    assert Counter(times.values()) == {1: 15, 2: 15}
    assert dealt.n_repeated == 15
    assert repr(dealt) == "JudgingSheets(30 documents for 3 assessors, 15 judged by several)"


def test_sheets_come_back_as_judgments(tmp_path: Path) -> None:
    dealt = sheets(frame({"q": 3}), assessors=2)
    assert dealt.write(tmp_path / "s-{}.tsv") == [str(tmp_path / f"s-{k}.tsv") for k in (1, 2)]
    text = (tmp_path / "s-1.tsv").read_text()
    assert text.splitlines()[0] == "topic\tdoc\tgrade"
    with pytest.raises(cf.InputError, match="grade"):
        cf.read_qrels(tmp_path / "s-1.tsv")
    (tmp_path / "s-1.tsv").write_text(text.replace("\t\n", "\t1\n"))
    assert len(cf.read_qrels(tmp_path / "s-1.tsv")) == dealt.select_sheet("1").height
    one = sheets(frame({"q": 2}))
    one.write(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"topic":"q","doc":"d001","grade":null}\n{"topic":"q","doc":"d000","grade":null}\n'
    )
    one.write(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "topic,doc,grade\nq,d001,\nq,d000,\n"
    one.write(tmp_path / "a.auto")  # A suffix that is the name of no format: lines for trec_eval
    assert (tmp_path / "a.auto").read_text().split("\n")[0].count(" ") == 2
    one.write(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "q 0 d001\nq 0 d000\n"
    nothing = sheets(frame({"q": 2}).clear(), assessors=2)
    nothing.write(tmp_path / "n{}.txt")
    assert (tmp_path / "n2.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "graded"),
    [
        ("{}.tsv", "topic\tdoc\tgrade\nq\tx\t1\nq\ty\t\n"),
        ("{}.tsv", "topic\tdoc\tgrade\r\nq\tx\tyes\r\n"),
        ("{}.csv", "topic,doc,grade\nq,x,1\nq,y,\n"),
        ("{}.tsv.gz", "topic\tdoc\tgrade\nq\tx\t1\n"),
        ("{}.jsonl", '{"topic":"q","doc":"x","grade":2}\n'),
        ("{}.txt", "q 0 x 1\nq 0 y\n"),
        ("{}.txt", "notes of an assessor\n"),
    ],
)
def test_grades_of_assessors_are_not_overwritten(tmp_path: Path, name: str, graded: str) -> None:
    pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, 3)
    dealt = sheets(pool, assessors=["ann", "bob"])
    path = str(tmp_path / name)
    # Sheets without grades are replaced.
    ann, bob = map(Path, dealt.write(path))
    assert dealt.write(path) == [str(ann), str(bob)]
    content = gzip.compress(graded.encode()) if name.endswith("gz") else graded.encode()
    bob.write_bytes(content)
    ann.unlink()
    with pytest.raises(InputError, match=r"bob\.[a-z.]+: .* got grades or other content"):
        dealt.write(path)
    assert bob.read_bytes() == content
    assert not ann.exists()
