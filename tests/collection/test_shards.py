"""Shards: the hash against its authors' vectors, partitions at random and given."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.collection import shards as module
from cranfield.collection.shards import (
    compute_siphash,
    make_sharding,
    random_shards,
    read_shards,
)
from tests.collection.refusals import refuses

MASK = 2**64 - 1
AUTHORS_KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
IDS = ["FT934-5418", "FBIS3-10082", "LA122989-0063", "GX000-00-0000000", "dé", "d" * 40, "1"]


def reference(text: str, key: tuple[int, int]) -> int:
    """SipHash-2-4 as the paper of Aumasson and Bernstein (2012) writes it, a word at a time."""
    data = text.encode()
    k0, k1 = key
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def left(x: int, b: int) -> int:
        return (x << b | x >> (64 - b)) & MASK

    def rounds(times: int) -> None:
        for _ in range(times):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1] = left(v[1], 13) ^ v[0]
            v[3] = left(v[3], 16) ^ v[2]
            v[0] = left(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1] = left(v[1], 17) ^ v[2]
            v[3] = left(v[3], 21) ^ v[0]
            v[2] = left(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_hash_has_the_values_of_its_authors() -> None:
    # vectors.h of the reference implementation (github.com/veorq/SipHash): messages 00 01 02 ...
    # under the key 00 01 ... 0f. Those of 0, 1, 2, 3, 8, 15 (also in the paper) and 63 bytes.
    texts = ["".join(map(chr, range(length))) for length in (0, 1, 2, 3, 8, 15, 63)]
    assert compute_siphash(pl.Series(texts), AUTHORS_KEY).tolist() == [
        0x726FDB47DD0E0E31,
        0x74F839C593DC67FD,
        0x0D6C8009D9A94F5A,
        0x85676696D7FB7E2D,
        0x93F5F5799A932462,
        0xA129CA6149BE45E5,
        0x958A324CEB064572,
    ]


@settings(max_examples=20)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=12),
    st.tuples(st.integers(0, MASK), st.integers(0, MASK)),
)
def test_hash_is_that_of_one_text_at_a_time(texts: list[str], key: tuple[int, int]) -> None:
    got = compute_siphash(pl.Series(texts, dtype=pl.String), key).tolist()
    assert got == [reference(text, key) for text in texts]


def test_hash_of_blocks_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f"doc-{k}" * (k % 5) for k in range(50)])
    expected = compute_siphash(texts, (1, 2))
    chunked = pl.concat([texts[:7], texts[7:30], texts[30:]], rechunk=False)
    monkeypatch.setattr(module, "_BLOCK", 9)
    assert (compute_siphash(chunked, (1, 2)) == expected).all()
    assert compute_siphash(pl.Series(["x" * 300]), (1, 2)).tolist() == [
        reference("x" * 300, (1, 2))
    ]


def test_shards_are_the_same_for_ever() -> None:
    # From the reference above with keys that NumPy's documentation fixes; never to change.
    assert random_shards(3).key == (5741515530665531126, 9714354335153242844)
    assert random_shards(3).find_shards(IDS).tolist() == [0, 0, 1, 1, 2, 1, 1]
    assert random_shards(3, seed=1).find_shards(IDS).tolist() == [2, 1, 1, 2, 2, 0, 2]
    assert random_shards(5, seed=2022, sampling=4).find_shards(IDS).tolist() == [
        3,
        0,
        2,
        0,
        2,
        0,
        1,
    ]


@settings(max_examples=20)
@given(st.integers(1, 50), st.integers(0, 2**70), st.integers(0, 9))
def test_shard_is_the_hash_modulo_their_number(shards: int, seed: int, sampling: int) -> None:
    drawn = random_shards(shards, seed, sampling)
    state = np.random.SeedSequence(seed, spawn_key=(shards, sampling)).generate_state(2, np.uint64)
    key = (int(state[0]), int(state[1]))
    assert drawn.find_shards(IDS).tolist() == [reference(doc, key) % shards for doc in IDS]


def test_documents_in_any_form() -> None:
    drawn = random_shards(6)
    expected = drawn.find_shards(["17", "4"]).tolist()
    for docs in ([17, 4], iter(["17", "4"]), pl.Series([17, 4]), pl.Series(["17", "4"])):
        assert drawn.find_shards(docs).tolist() == expected  # type: ignore[arg-type]
    assert drawn.find_shards("17").tolist() == expected[:1]
    assert drawn.find_shards([]).tolist() == []
    refuses(r"doc '1\.5' is not text", drawn.find_shards, [1.5])
    refuses("has no doc", drawn.find_shards, pl.Series(["a", None]))


def test_options_that_are_none() -> None:
    wrong: list[Any] = [0, -1, 10_001, 2.5, "3", True, None]
    for shards in wrong:
        said = r"number of shards must be .* from 1 to 10,000, got"
        refuses(said, random_shards, shards, error=cf.PolicyError)
    refuses("the seed must be an integer >= 0, got -1", random_shards, 3, -1, error=cf.PolicyError)
    refuses("sampling must be", random_shards, 3, 0, 0.5, error=cf.PolicyError)
    for number in (2.0, np.int64(0)):
        refuses("number of shards", make_sharding, number, error=cf.PolicyError)
    refuses("list cannot be read as shards", make_sharding, [1, 2])
    refuses("NoneType cannot be read as shards", make_sharding, None)


TABLE = {"d1": "10", "d2": "9", "dé": "10", "d4": "2"}


def given_forms(folder: Path) -> dict[str, Any]:
    frame = pl.DataFrame({"docno": list(TABLE), "other": 0, "Shard": list(TABLE.values())})
    frame.write_csv(folder / "map.csv")
    frame.write_csv(folder / "map.tsv", separator="\t")
    frame.write_parquet(folder / "map.parquet")
    (folder / "map.tsv.gz").write_bytes(gzip.compress((folder / "map.tsv").read_bytes()))
    files = {name: folder / name for name in ("map.csv", "map.tsv", "map.parquet", "map.tsv.gz")}
    return {
        "dict": TABLE,
        "whole numbers": {doc: int(shard) for doc, shard in TABLE.items()},
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": pd.DataFrame({"doc": list(TABLE), "shard": [10, 9, 10, 2]}),
        "itself": read_shards(TABLE),
        **files,
        "text path": str(folder / "map.csv"),
    }


def test_given_shards_in_any_form(tmp_path: Path) -> None:
    for name, data in given_forms(tmp_path).items():
        parts = make_sharding(data)
        assert parts.labels == ("2", "9", "10"), name
        assert parts.find_shards(["d4", "new", "dé", "d2", "d1", "d1"]).tolist() == [
            0,
            -1,
            2,
            1,
            2,
            2,
        ], name
        assert len(parts) == 3
    assert repr(parts) == "TableShards(3 shards, 4 documents)"
    assert parts.describe() == {"shards": 3, "shards from": str(tmp_path / "map.csv")}
    assert read_shards({"a": "x", "b": "10", "c": "9"}).labels == ("10", "9", "x")


def test_given_shards_that_cannot_be_read(tmp_path: Path) -> None:
    def refused(data: Any, reason: str) -> None:
        refuses(reason, read_shards, data)

    refused(
        pl.DataFrame({"doc": ["a"], "group": ["x"]}), r"has no shard column .* columns: 'doc', 'gr"
    )
    refused(pl.DataFrame({"shard": ["x"]}), "has no doc column")
    refused(pl.DataFrame({"doc": ["a", "a"], "shard": [1, 1]}), r"document occurs twice .*'a'")
    refused({"a": 1, "b": None}, "row 2: has no shard")
    refused({"a": 1.5}, r"shard '1\.5' is not text or an integer")
    refused({}, "is empty")
    refused(3, "int cannot be read as shards")
    refused(tmp_path / "none.csv", "cannot be read: no such file")
    refused(tmp_path / "map.txt", r"suffix does not name a format of shards")
    for name, content, reason in (
        ("empty.csv", b" \n", "is empty"),
        ("head.csv", b"doc,shard\n", "is empty"),
        ("bad.csv", b"doc,shard\na,1,2\n", "expected 2 cells as in the header, got 3"),
        ("gap.csv", b"doc,shard\na,\n", "gap.csv:2: has no shard"),
        ("bad.parquet", b"none", "not readable Parquet"),
    ):
        (tmp_path / name).write_bytes(content)
        refused(tmp_path / name, reason)


RUN = {"2": {"a": 3.0, "b": 2.0}, "1": {"c": 5.0, "a": 4.0, "d": 4.5}, "3": {"b": 1.0}}


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=6, max_size=6))
def test_restricted_run_is_the_run_of_its_rows(kept: list[bool]) -> None:
    run = cf.read_run(RUN)
    some = run.restrict(np.array(kept))
    rows = [row for row, keep in zip(run.to_polars().rows(), kept, strict=True) if keep]
    assert some.to_polars().rows() == rows
    if rows:
        again = cf.read_run(rows)
        assert (some.topics, some.codes.tolist()) == (again.topics, again.codes.tolist())
        assert (some.keys == again.keys).all()


def test_restricted_tables() -> None:
    run = cf.read_run([("2", "a", 3.0), ("1", "b", 2.0), ("2", "c", 1.0), ("1", "d", 0.5)])
    some = run.restrict(np.array([False, True, True, True]))
    assert (some.topics, some.codes.tolist(), some.name) == (("1", "2"), [0, 1, 0], run.name)
    qrels = cf.read_qrels(
        [
            {"topic": "1", "doc": "a", "grade": 1, "subtopic": "x"},
            {"topic": "1", "doc": "a", "grade": 2, "subtopic": "y"},
            {"topic": "2", "doc": "b", "grade": 0, "subtopic": "x"},
        ]
    )
    assert qrels.restrict(np.array([False, True, False])).to_polars().rows() == [("1", "a", 2, "y")]
    assert qrels.restrict(np.array([False, True, False])).topics == ("1", "2")
    refuses("at least one judgment", qrels.restrict, np.zeros(3, dtype=bool))
    wrong: list[Any] = [np.ones(2, dtype=bool), np.arange(3), None]
    for kept in wrong:
        refuses("3 Boolean values", qrels.restrict, kept, error=cf.PolicyError)
