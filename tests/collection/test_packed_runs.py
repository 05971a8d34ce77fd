"""Runs of files have their documents as words: nobody can tell them from text."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.arrays import Indices
from cranfield.base.parallel import at_most
from cranfield.collection import keys as words
from cranfield.collection.files.line_formats import numbers, whole_numbers
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.keys import all_differ
from cranfield.collection.run import PackedRun, Run
from cranfield.sources import chunks
from cranfield.sources.values import integer_in, is_number

_IDS = st.lists(st.text("ab1é日\U0001f600-", min_size=1, max_size=20), min_size=1, max_size=9)


def _places(given: list[str], blank: str) -> tuple[bytes, Indices, Indices]:
    lengths = np.array([len(one.encode()) for one in given])
    starts = np.cumsum(lengths + len(blank)) - lengths - len(blank)
    return blank.join(given).encode(), starts, starts + lengths


@given(_IDS)
def test_words_are_the_text_they_were_cut_from(ids: list[str]) -> None:
    found = words.words_of(*_places(ids, " "))
    again = words.words_of_ids(ids)
    if max(len(one.encode()) for one in ids) > 64:
        assert found is again is None
        return
    assert found is not None
    assert again is not None
    assert words.ids_of(found).to_list() == words.texts_of(again) == ids
    assert words.equal(found, again).all()
    assert words.changes(found).tolist() == [k for k in range(1, len(ids)) if ids[k] != ids[k - 1]]
    # How many words there are depends on the longest id, and the keys do not.
    codes = np.zeros(len(ids), dtype=np.int32)
    wider = (*found, np.zeros_like(found[0]))
    topic = words.words_of_ids(["t"])
    assert topic is not None
    keys = words.word_keys(found, codes, topic)
    assert (keys == words.word_keys(wider, codes, topic)).all()
    assert (np.unique(keys).size == len(ids)) == (len({*ids}) == len(ids))
    assert all_differ(keys, codes) == (len({*ids}) == len(ids))


@pytest.mark.parametrize("alike", [0, 20, 55])
@pytest.mark.parametrize("order", ["mixed", "topic by topic", "one topic"])
def test_a_key_that_stands_twice_is_found_among_many(alike: int, order: str) -> None:
    """Also where keys begin with so many bits alike."""
    draw = np.random.default_rng(alike)
    size = 300_000 if alike < 55 else 500
    keys = draw.permutation(1 << 19 if alike < 55 else 512)[:size].astype(np.uint64)
    keys *= np.uint64(1 << (45 if alike == 0 else 64 - alike - 19 if alike == 20 else 0))
    codes = draw.integers(0, 300, size)
    if order == "topic by topic":
        codes.sort()
    elif order == "one topic":
        codes[:] = 0
    assert all_differ(keys, codes)
    for _ in range(5):
        first, again = draw.choice(size, 2, replace=False)
        twice, same = keys.copy(), codes.copy()
        twice[again], same[again] = keys[first], codes[first]
        if order == "topic by topic":
            by_topic = np.argsort(same, kind="stable")
            twice, same = twice[by_topic], same[by_topic]
        assert not all_differ(twice, same)


def test_text_with_a_zero_is_not_words() -> None:
    assert words.words_of_ids(["a\0", "a"]) is None


_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(lambda x, d: f"{x:.{d}f}", st.floats(-1e4, 1e4), st.integers(0, 14)),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"[+-]?[0-9]{0,19}\.?[0-9]{0,19}", fullmatch=True),
).filter(is_number)


@given(st.lists(_NUMBERS, min_size=1, max_size=9), st.sampled_from([" ", "  \t"]))
@example(["-0", "-0.0", ".5", "5.", "0.9007199254740993", "9007199254740993", "1e5"], " ")
@example(["12345678.9", "123456789.5", "0.000000000000000001", "12345678"], " ")
def test_numbers_are_what_python_reads(given: list[str], blank: str) -> None:
    found = numbers(*_places(given, blank))
    assert found is not None
    assert found.tobytes() == np.array([*map(float, given)]).tobytes()


@given(st.text("0123456789.eE+-_xni", min_size=1, max_size=20))
@example("1.2.3")
@example("-")
@example(".")
@example("1234567:")
def test_what_is_no_number_is_none(text: str) -> None:
    places = _places(["1", text, "2.5"], " ")
    assert (numbers(*places) is None) == (not is_number(text))
    found = whole_numbers(*_places(["1", text, "25"], " "))
    if found is not None:
        assert integer_in(text) is not None
        assert found.tolist() == [1, int(text), 25]


def _text(ids: list[str]) -> bytes:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 4, (3, len(ids)))
    return "".join(
        f"{topic} Q0 {doc} {rank} {scores[topic, rank]} tag\n"
        for topic in range(3)
        for rank, doc in enumerate(ids)
    ).encode()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1 << 20, 200])
@pytest.mark.parametrize("long", [0, 65])
def test_a_run_of_words_is_a_run(
    long: int, size: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ["b", "a", "ab", "é", "éa", "a" * 8, "a" * 9, "z" * 30, "\U0001f600", "\uffff", "a" * 64]
    if long:
        # Some of the chunks can be words then, and others cannot.
        ids.append("c" * long)
    path = tmp_path / "a.run"
    path.write_bytes(_text(ids))
    monkeypatch.setattr(chunks, "CHUNK", size)
    with at_most(threads):
        run = cf.read_run(path)
    assert isinstance(run, PackedRun) == (not long)
    assert type(run).__name__ == "Run"
    rows = np.arange(len(run))
    text = Run(
        name="tag",
        topics=("0", "1", "2"),
        codes=(rows // len(ids)).astype(np.int32),
        docs=pl.Series("doc", ids * 3),
        scores=run.scores,
        ranks=(rows % len(ids)).astype(np.int32),
    )
    qrels = cf.read_qrels({str(t): {doc: k % 3 for k, doc in enumerate(ids[t:])} for t in range(3)})
    copies = (pickle.loads(pickle.dumps(run)), copy(run), replace(run), run.renamed("tag"))
    for one in (run, *copies):
        assert one.to_polars().equals(text.to_polars())
        assert one.topics == text.topics
        for judged in (qrels, cf.read_qrels(qrels.to_polars()), text, run):
            pairs = [sorted(zip(*each.found_in(judged), strict=True)) for each in (one, text)]
            assert pairs[0] == pairs[1]
        for ties in ("trec", "id-ascending", "input", "rank", "trec_eval-9"):
            orders = [order_of(each, ties) for each in (one, text)]
            assert (orders[0].rows == orders[1].rows).all()
            some = rows[::4]
            assert (orders[0].ranks_of(some) == orders[1].ranks_of(some)).all()
    kept = rows % 2 == 0
    assert run.restricted(kept).to_polars().equals(text.restricted(kept).to_polars())


def test_a_document_twice_in_one_topic(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(_text(["a", "b"]) + b"2 Q0 c 3 1 tag\n2 Q0 a 4 1 tag\n")
    with pytest.raises(
        cf.InputError, match="document twice in one topic, first in line 5"
    ) as caught:
        cf.read_run(path)
    assert caught.value.line == 8
