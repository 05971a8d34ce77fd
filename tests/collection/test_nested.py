"""Dicts of dicts beside the same in another kind of mapping, which the reader of tables reads."""

from __future__ import annotations

import pickle
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection.files.named_columns import DictQrels, DictRun
from cranfield.collection.policies import TIES
from tests.collection.refusals import refuses


class Other(Mapping[Any, Any]):
    """A mapping that is no dict."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __getitem__(self, key: Any) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


class _Reversed(dict[Any, Any]):
    """A dict that shows its rows in another order than it has them."""

    def keys(self) -> Any:
        return [*super().keys()][::-1]

    def values(self) -> Any:
        return [*super().values()][::-1]


class _Text(str):
    __slots__ = ()

    def __float__(self) -> float:
        return 7.5


_USUAL = st.sampled_from(["a", "b", "c", "D 1", "é", "文", "😀", "\0", "x" * 40])
_ODD_IDS = st.sampled_from(
    ["", " ", 1, 2**70, 10**120, 1.0, 1.5, None, True, b"a", np.str_("a"), np.int64(3)]
    + [_Text("a"), ("a",)]
)
_ODD_NUMBERS = st.sampled_from(
    [True, "1.5", "1_0", "x", None, b"1.5", np.nan, np.inf, Decimal("1.25"), Fraction(1, 3)]
    + [np.float32(0.1), np.float64(0.7), np.longdouble("0.1"), np.uint64(2**63 + 5), 2**53 + 1]
    + [2**63, 10**30, 10**400, -(2**31) - 1, np.array(1.5), np.array([1.5]), np.array(2)]
    + [
        np.array("2.5"),
        np.str_("1_0"),
        np.bytes_(b"1.5"),
        1 + 2j,
        [1.0],
        _Text("1.0"),
        2.0,
        -0.0,
        np.bool_(True),
    ]
)
_SCORES = st.sampled_from([2.0, 1.0, 1 + 2**-30, 0.5, -1.0, 3, 0, -0.0])
_ODD_INSIDES = st.sampled_from(
    [None, [], [("a", 1)], "abc", {"a"}, OrderedDict(b=1, a=1), defaultdict(int, a=2), {}]
    + [_Reversed(a=1, b=2), Other({"a": 1}), Other({})]
)


@st.composite
def tables(draw: st.DrawFn, numbers: st.SearchStrategy[Any], *, odd: bool) -> dict[Any, Any]:
    inside = st.dictionaries(_USUAL, numbers, max_size=9)
    made: dict[Any, Any] = draw(st.dictionaries(st.sampled_from("pqrs"), inside, max_size=4))
    for _ in range(draw(st.integers(1, 2)) if odd and made else 0):
        topic = draw(st.sampled_from([*made]))
        match draw(st.sampled_from(["topic", "inside", "doc", "number"])):
            case "topic":
                made[draw(_ODD_IDS)] = draw(inside)
            case "inside":
                made[topic] = draw(_ODD_INSIDES)
            case "doc" if type(made[topic]) is dict:
                rows = [*made[topic].items()]
                rows.insert(draw(st.integers(0, len(rows))), (draw(_ODD_IDS), 1))
                made[topic] = dict(rows)
            case "number" if type(made[topic]) is dict:
                made[topic][draw(_USUAL)] = draw(_ODD_NUMBERS)
    return made


def _runs() -> st.SearchStrategy[dict[Any, Any]]:
    return st.booleans().flatmap(lambda odd: tables(_SCORES, odd=odd))


def _judgments() -> st.SearchStrategy[dict[Any, Any]]:
    return st.booleans().flatmap(lambda odd: tables(st.integers(-1, 3), odd=odd))


def _told(ask: Callable[[], Any]) -> Any:
    """Return what is answered, or which error is raised; of what is warned of is another matter."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cf.CranfieldWarning)
            return ask()
    except cf.CranfieldError as error:
        return type(error), str(error)


def _seen(rows: cf.Run | cf.Qrels) -> tuple[Any, ...]:
    numbers = rows.scores if isinstance(rows, cf.Run) else rows.grades
    return (
        *(repr(rows), len(rows), rows.topics, rows.codes.dtype, rows.codes.tolist()),
        *(numbers.dtype, numbers.tobytes(), rows.docs[np.arange(len(rows))[::-2]].to_list()),
        *(rows.docs.dtype, rows.docs.name, rows.docs.to_list(), rows.keys.tolist()),
        *(rows.to_polars().rows(), rows.origin),
    )


def _judged(judged: cf.JudgedRuns) -> tuple[Any, ...]:
    rows = judged.documents
    return (
        *(judged.topics, judged.n_retrieved.tolist(), judged.coverage.systems),
        *(rows.cell.tolist(), rows.rank.tolist(), rows.grade.tolist(), rows.judgment.tolist()),
    )


@given(_runs(), _judgments())
def test_what_is_read(run: dict[Any, Any], qrels: dict[Any, Any]) -> None:
    assert _told(lambda: _seen(cf.read_run(run))) == _told(lambda: _seen(cf.read_run(Other(run))))
    read = _told(lambda: _seen(cf.read_qrels(qrels)))
    assert read == _told(lambda: _seen(cf.read_qrels(Other(qrels))))


def test_half_a_character_is_refused_where_documents_are_written() -> None:
    """Of a long run, documents that nobody judged are not looked at before."""
    reason = r"(doc|topic) '\\ud800' (is not text|is not valid Unicode text)"
    for refused in (
        lambda: cf.read_run({"q": {"a": 1.0, "\ud800": 2.0}}).docs,
        lambda: cf.judge({"q": {"a": 1.0, "\ud800": 1.0}}, {"q": {"a": 1}}),
        lambda: cf.read_qrels({"q": {"\ud800": 1}}),
        lambda: cf.read_run({"\ud800": {"a": 1.0}}),
    ):
        refuses(reason, refused)


def test_what_messages_call_them() -> None:
    run, qrels = cf.read_run({"q": {"a": 1.0}}), cf.read_qrels({"q": {"a": 1}})
    refuses(r"^Run cannot be read as judgments$", cf.read_qrels, run)
    refuses(r"^Qrels cannot be read as a run$", cf.read_run, qrels)
    again = pickle.loads(pickle.dumps((run, qrels)))
    assert [type(one) for one in again] == [DictRun, DictQrels]


@pytest.mark.parametrize("grade", [np.array(2), np.ma.array(2)])
def test_an_array_is_no_grade(grade: Any) -> None:
    refuses("judgments: row 2: grade '2' is not an", cf.read_qrels, {"q": {"a": 1, "b": grade}})


@pytest.mark.parametrize("score", [True, np.True_])
def test_a_truth_value_is_no_score(score: Any) -> None:
    for scores in ({"a": 2.0, "b": score}, {"a": 2, "b": score}, {"a": 2.0, "b": 1, "c": score}):
        refuses(f"row {len(scores)}: score 'True'", cf.read_run, {"q": scores})


def test_an_array_without_dimensions_is_no_list() -> None:
    run = {"q": {"a": np.array(1.5), "b": 1.0}}
    assert cf.read_run(run).scores.tolist() == [1.5, 1.0]
    assert cf.evaluate(run, {"q": {"b": 1}}, "RR")["RR"].values.tolist() == [[0.5]]
    refuses("", cf.read_run, {"q": np.array(1.5)})


def test_a_run_without_documents() -> None:
    assert cf.evaluate({"p": {}}, {"p": {"a": 1}}, "AP")["AP"].values.tolist() == [[0.0]]
    many = {"p": {f"d{k}": k for k in range(40)}}
    assert cf.evaluate({"p": {}}, many, "AP")["AP"].values.tolist() == [[0.0]]


def test_a_file_whose_rankings_are_all_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text('[{"query_id": "q1", "docs": []}]')
    run = cf.read_run(path)
    assert (run.topics, len(run)) == (("q1",), 0)


@settings(max_examples=25)
@given(_runs(), _judgments(), st.sampled_from([*TIES]), st.sampled_from([None, 2]))
def test_what_is_judged(
    run: dict[Any, Any], qrels: dict[Any, Any], ties: Any, depth: int | None
) -> None:
    def of(run: Any, qrels: Any) -> Any:
        return _told(lambda: _judged(cf.judge(run, qrels, ties=ties, depth=depth)))

    wanted = of(Other(run), Other(qrels))
    # Either may be what has its documents as text.
    assert of(run, qrels) == of(run, Other(qrels)) == of(Other(run), qrels) == wanted


def _large(topics: int, depth: int, judged: int) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng([topics, depth, judged])
    run, qrels = {}, {}
    for topic in range(topics):
        docs = rng.choice(2 * (depth + judged), depth + judged, replace=False)
        run[str(topic)] = {f"d{k}": float(rng.integers(0, depth)) for k in docs[:depth]}
        some = rng.choice(docs, judged, replace=False)
        qrels[str(topic)] = {f"d{k}": int(rng.integers(0, 3)) for k in some}
    return run, qrels


@pytest.mark.parametrize("judged", [1, 16, 17, 60, 300])
@pytest.mark.parametrize("depth", [5, 100])
def test_sizes(depth: int, judged: int) -> None:
    """Few documents are sought in many, and many among few."""
    run, qrels = _large(4, depth, judged)
    wanted = _judged(cf.judge(Other(run), Other(qrels)))
    assert _judged(cf.judge(run, qrels)) == wanted
    rows = [(topic, doc, grade) for topic, one in qrels.items() for doc, grade in one.items()]
    in_any_order = sorted(rows, key=lambda row: row[1])
    assert _judged(cf.judge(run, cf.read_qrels(in_any_order)))[1:3] == wanted[1:3]


def test_judged_once_for_each_subtopic() -> None:
    qrels = cf.read_qrels(
        [{"topic": "q", "doc": doc, "grade": 1, "subtopic": part} for doc in "ab" for part in "12"]
    )
    run = cf.read_run({"q": {"x": 2.0, "b": 1.0}})
    asked, found = run.find_matching_rows(qrels)
    assert sorted(zip(asked.tolist(), found.tolist(), strict=True)) == [(1, 2), (1, 3)]


def test_judgments_that_nobody_asked_for_are_sent() -> None:
    run, qrels = _large(4, 100, 60)
    judged = cf.judge(run, qrels)
    again = pickle.loads(pickle.dumps(judged)).documents
    assert again.judgment.tolist() == judged.documents.judgment.tolist()
    grades = judged.judgments.grade[again.judgment]
    assert grades.tolist() == judged.documents.grade.tolist()


def test_a_run_does_not_change_with_its_dict() -> None:
    given, judged = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1}}
    run, qrels = cf.read_run(given), cf.read_qrels(judged)
    del given["q"]["a"]
    given["q"]["z"] = 9.0
    given["r"] = judged["q"]["b"] = judged["r"] = {}  # type: ignore[assignment]
    assert run.to_polars().rows() == [("q", "a", 2.0), ("q", "b", 1.0)]
    assert cf.evaluate(run, qrels, "P@1")["P@1"].values.tolist() == [[1.0]]


def test_what_is_made_of_it() -> None:
    run = cf.read_run({"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0}}, name="x")
    rows = run.to_polars().rows()
    assert pickle.loads(pickle.dumps(run)).to_polars().rows() == rows
    fresh = cf.read_run({"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0}})
    assert pickle.loads(pickle.dumps(fresh)).to_polars().rows() == rows
    assert repr(fresh.rename("y")) == "Run('y': 2 topics, 3 documents)"
    part = cf.read_run({"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0}})
    part = part.restrict(np.array([False, True, True]))
    assert part.to_polars().rows() == rows[1:]
    for one in (part, replace(fresh, name="z"), fresh.rename("y")):
        scored = cf.evaluate(one, {"r": {"b": 1}, "q": {"b": 1}}, "RR")
        assert scored["RR"].values.ravel().tolist()[1] == 1.0
