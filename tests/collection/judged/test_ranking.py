"""The order of runs beside Python's own sort, ties settled where they are asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.arrays import Indices
from cranfield.base.errors import collect_warnings
from cranfield.collection.judged.ranking import RunOrder, order_documents
from cranfield.collection.policies import TIES
from tests.collection.refusals import refuses, written

_IDS = st.text(st.sampled_from("abzAZ09-é中😀\uffff"), min_size=1, max_size=6)
_SCORES = st.sampled_from([2.0, 1.0, 1 + 2**-25, 1 - 2**-30, 0.0, -0.0, -1.5, 1e300, -1e300, 1e39])


@st.composite
def runs(draw: st.DrawFn) -> cf.Run:
    """Small runs with many ties, in or out of order, with ranks that agree or do not."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    rows = [
        (topic, doc, draw(_SCORES))
        for topic, size in enumerate(sizes)
        for doc in draw(st.lists(_IDS, min_size=size, max_size=size, unique=True))
    ]
    if draw(st.booleans()):
        rows.sort(key=lambda row: (row[0], -row[2]))
    places: Counter[int] = Counter()
    numbered = []
    for row in rows:
        places[row[0]] += 1
        numbered.append((*row, places[row[0]]))
    column = draw(st.sampled_from(["none", "right", "from 0", "any"]))
    if column == "any":
        numbered = [(*row[:3], draw(st.integers(-1, 9))) for row in numbered]
    if column == "from 0":
        numbered = [(*row[:3], row[3] - 1) for row in numbered]
    if draw(st.booleans()):
        numbered = draw(st.permutations(numbered))
    topic, doc, score, rank = zip(*numbered, strict=True)
    return cf.Run(
        "r",
        tuple(f"t{i}" for i in range(len(sizes))),
        np.array(topic, dtype=np.int32),
        pl.Series(doc, dtype=pl.String),
        np.array(score),
        None if column == "none" else np.array(rank, dtype=np.int32),
    )


def values_of(run: cf.Run, ties: str) -> list[float]:
    """What decides first, the lower the better."""
    if ties == "file":
        return [float(row) for row in range(len(run))]
    if ties == "rank":
        assert run.ranks is not None
        return [float(rank) for rank in run.ranks]
    with np.errstate(over="ignore"):
        scores = run.scores.astype(np.float32) if ties == "trec_eval-9" else run.scores
    return [-float(score) for score in scores]


def by_definition(run: cf.Run, ties: str) -> list[int]:
    """Sort as the policy says, one rule after the other."""
    values, docs, codes = values_of(run, ties), run.docs.to_list(), run.codes.tolist()
    rows = list(range(len(run)))
    if ties in {"trec", "trec_eval-9", "id-ascending"}:
        rows.sort(key=lambda row: docs[row].encode(), reverse=ties != "id-ascending")
    rows.sort(key=values.__getitem__)
    rows.sort(key=codes.__getitem__)
    return rows


def contradictions(run: cf.Run, ties: str) -> int:
    """Count neighbouring levels of a topic, of which a document's number says the opposite."""
    if run.ranks is None or ties in {"rank", "file"}:
        return 0
    values, count = values_of(run, ties), 0
    for code in range(len(run.topics)):
        levels: dict[float, list[int]] = {}
        for row in np.flatnonzero(run.codes == code).tolist():
            levels.setdefault(values[row], []).append(int(run.ranks[row]))
        ranks = [levels[value] for value in sorted(levels)]
        count += sum(min(b) < max(a) for a, b in zip(ranks, ranks[1:], strict=False))
    return count


@given(st.data(), st.sampled_from(list(TIES)), runs())
def test_as_python_sorts(data: Any, ties: str, run: cf.Run) -> None:
    if ties == "rank" and run.ranks is None:
        refuses("requires a column of integer ranks", order_documents, run, ties)
        return
    order, expected = order_documents(run, ties), by_definition(run, ties)
    starts = [sum(run.codes < code) for code in range(len(run.topics))]
    rank_of = {row: at - starts[run.codes[row]] + 1 for at, row in enumerate(expected)}
    # Any rows may be asked, in any order, again and again, before and after all are settled.
    for _ in range(2):
        asked = data.draw(st.lists(st.sampled_from(expected)))
        ranks = order.compute_ranks(np.array(asked, dtype=np.intp))
        assert ranks.tolist() == [rank_of[row] for row in asked]
        assert order.rows.tolist() == expected
    assert order.starts.tolist() == starts
    assert order.counts.tolist() == np.bincount(run.codes).tolist()
    pairs = list(zip(run.codes.tolist(), values_of(run, ties), strict=True))
    sizes = Counter(pairs)
    assert order.n_tied == sum(sizes[pair] > 1 for pair in pairs)
    assert order.n_contradictions == contradictions(run, ties)


def test_only_asked_ties_are_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are looked at for the groups of what is asked, and for no others."""
    run = cf.read_run({"1": {"a": 2.0, "b": 2.0, "c": 1.0, "d": 1.0, "e": 1.0, "f": 0.5}})
    seen: list[int] = []
    settled = RunOrder._resolve_ties

    def watched(order: RunOrder, firsts: Indices, sizes: Indices) -> tuple[Indices, Indices]:
        seen.extend(firsts.tolist())
        return settled(order, firsts, sizes)

    monkeypatch.setattr(RunOrder, "_resolve_ties", watched)
    order = order_documents(run, "trec")
    assert (order.n_tied, seen) == (5, [])
    assert order.compute_ranks(np.array([5])).tolist() == [6]
    assert seen == []
    assert order.compute_ranks(np.array([1, 5])).tolist() == [1, 6]
    assert seen == [0]


def test_a_run_without_rows() -> None:
    run = cf.read_run({"1": {"a": 2.0}}).restrict(np.array([False]))
    order = order_documents(run, "trec")
    assert (order.rows.tolist(), order.starts.tolist(), order.n_tied) == ([], [], 0)
    assert order.compute_ranks(np.array([], dtype=np.intp)).tolist() == []


@pytest.mark.parametrize("tail", [0, 20_000])
def test_many_ties(tail: int) -> None:
    random = np.random.default_rng(7)
    names = [f"d{i}" for i in random.permutation(12_000)]
    codes = np.append(np.zeros(12_000), np.arange(1, tail + 1)).astype(np.int32)
    docs = pl.Series(names + ["x"] * tail)
    scores = np.append(random.integers(0, 3, 12_000), np.zeros(tail)).astype(float)
    run = cf.Run("r", tuple(map(str, range(tail + 1))), codes, docs, scores)
    for ties in ("trec", "id-ascending", "input"):
        assert order_documents(run, ties).rows.tolist() == by_definition(run, ties)
        place = {row: at for at, row in enumerate(by_definition(run, ties))}
        few = np.flatnonzero(scores[:12_000] == 1)[::-1][:3]
        assert order_documents(run, ties).compute_ranks(few).tolist() == [
            place[row] + 1 for row in few
        ]


def test_rows_in_any_order_are_sorted() -> None:
    """Whether their ranks agree with their scores, or not."""
    random = np.random.default_rng(3)
    sizes = [40, 1, 17]
    codes = np.repeat(np.arange(3), sizes).astype(np.int32)
    ranks = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    shuffled = random.permutation(codes.size)
    docs = pl.Series([f"d{i}" for i in random.permutation(codes.size)])
    scores = np.round(-0.1 * ranks)
    rows = (codes[shuffled], docs, scores[shuffled], ranks[shuffled])
    numbered = cf.Run("r", ("a", "b", "c"), *rows)
    gap = cf.Run("r", ("a", "b", "c"), *rows[:3], np.where(rows[3] == 16, 99, rows[3]))
    against = cf.Run("r", ("a", "b", "c"), rows[0], docs, -rows[2], rows[3])
    ends = np.where(rows[3] == 0, -(2**31), 2**31 - 1).astype(np.int32)
    wrapping = cf.Run("r", ("a", "b", "c"), *rows[:3], ends)
    for run in (numbered, gap, against, wrapping):
        assert order_documents(run, "trec").rows.tolist() == by_definition(run, "trec")
        assert order_documents(run, "trec").n_contradictions == contradictions(run, "trec")


@pytest.mark.parametrize("rank", ["2.5", "x", "", "NA"])
@pytest.mark.parametrize("name", ["a.run", "a.csv"])
def test_ranks_that_decide_are_integers(tmp_path: Path, name: str, rank: str) -> None:
    if name == "a.csv":
        lines = ["topic,doc,rank,score", "1,d1,0,9", f"1,d2,{rank},8", "1,d3,1,7"]
    else:
        lines = ["1 Q0 d1 0 9 t", f"1 Q0 d2 {rank or '-'} 8 t", "1 Q0 d3 1 7 t"]
    run = cf.read_run(written(tmp_path / name, "\n".join(lines)))
    line = 3 if name == "a.csv" else 2
    assert order_documents(run, "trec").rows.tolist() == [0, 1, 2]
    with pytest.raises(cf.InputError, match="requires an integer rank in every row") as caught:
        order_documents(run, "rank")
    assert (caught.value.line, caught.value.topic, caught.value.doc) == (line, "1", "d2")
    with pytest.raises(cf.InputError, match="requires an integer rank"):
        order_documents(run.restrict(np.array([False, True, True])), "rank")
    # A rank of 0 is one.
    assert order_documents(run.restrict(np.array([True, False, True])), "rank").rows.tolist() == [
        0,
        1,
    ]
    kept = cf.read_run(tmp_path / name, on_duplicate="first")
    refuses("requires an integer rank", order_documents, kept, "rank")


@pytest.mark.parametrize(
    ("ties", "expected"), [("rank", ["b", "a"]), ("file", ["b", "a"]), ("trec", ["b", "a"])]
)
@pytest.mark.parametrize("kind", ["chunks", "repeats"])
def test_the_best_chunk_is_that_of_the_policy(
    tmp_path: Any, ties: Any, expected: list[str], kind: str
) -> None:
    # b is first by rank and by line, and its second chunk has the highest score.
    text = "1 Q0 b#1 1 1.0 s\n1 Q0 a#1 2 2.0 s\n1 Q0 b#2 3 9.0 s\n"
    options: dict[str, Any] = {"chunk_separator": "#"}
    if kind == "repeats":
        text, options = text.replace("#1", "").replace("#2", ""), {"on_duplicate": "best"}
    (tmp_path / "s.run").write_text(text)
    with collect_warnings():
        run = cf.read_run(tmp_path / "s.run", **options)
    assert (run.docs.to_list(), run.scores.tolist()) == (["b", "a"], [9.0, 2.0])
    assert run.ranks is not None and run.ranks.tolist() == [1, 2]
    assert run.docs[order_documents(run, ties).rows].to_list() == expected


def test_a_rank_that_is_no_integer_does_not_hide_another(tmp_path: Any) -> None:
    text = "1 Q0 b#1 x 1.0 s\n1 Q0 a#1 2 2.0 s\n1 Q0 b#2 3 0.5 s\n1 Q0 c#1 y 0.1 s\n"
    run = cf.read_run(written(tmp_path / "s.run", text), chunk_separator="#")
    assert run.ranks is not None and run.is_unranked is not None
    assert run.docs.to_list() == ["b", "a", "c"]
    assert (run.ranks.tolist(), run.is_unranked.tolist()) == ([3, 2, 0], [False, False, True])
