"""YAML from strangers: one line each, in little time and memory, or a tree that is read in full."""

from __future__ import annotations

import random
import time

import pytest

from cranfield import InputError
from cranfield.collection.metadata import metadata
from cranfield.collection.metadata.reading import read_metadata
from tests.collection.refusals import refuses


def bomb(width: int, height: int) -> str:
    lines = ["l0: &l0 [" + ",".join("a" * width) + "]"]
    for k in range(1, height):
        lines.append(f"l{k}: &l{k} [" + ",".join([f"*l{k - 1}"] * width) + "]")
    return "\n".join(lines)


CASES = {
    "a bomb of aliases": (
        bomb(10, 9),
        "metadata:2: is not valid YAML: alias 'l0' is not supported",
    ),
    "depth": ("a: " + "[" * 60 + "]" * 60, "expected at most 50 levels of nesting"),
    "depth of 100,000": ("a: " + "[" * 100_000, "expected at most 50 levels of nesting"),
    "depth of mappings": (
        "\n".join(" " * k + "a:" for k in range(60)),
        "expected at most 50 levels of nesting",
    ),
    "an unknown alias": ("a: *b", "alias 'b' is not supported"),
    "an alias as a key": ("a: &a b\n*a : c", "metadata:2: is not valid YAML: alias 'a'"),
    "an object": ("a: !!python/object/apply:os.system [ls]", "apply:os.system' is not supported"),
    "a tag of their own": ("a: !x y", "tag '!x' is not supported"),
    "binary": ("a: !!binary aGVsbG8=", "binary' is not supported"),
    "a set": ("a: !!set {b}", "set' is not supported"),
    "a wrong value of a tag": ("a: !!int x", "'x' is not a valid !!int"),
    "a very long number": ("a: !!int " + "9" * 10_000, "is not a valid !!int"),
    "a character beyond Unicode": (
        'z: z\na: "\\UFFFFFFFF"',
        "metadata:2: is not valid YAML: a number",
    ),
    "a long version": (
        f"%YAML 1.{'9' * 5000}\n---\na: b",
        "is not valid YAML: a number is too large",
    ),
    "NUL": ("z: z\na: b\0c", "metadata:2: is not valid YAML: character '\\x00' is not allowed"),
    "a control character": ("a: \x1b[31m", "is not valid YAML: "),
    "several documents": (
        "a: b\n---\nc: d",
        "metadata:2: is not valid YAML: expected a single document",
    ),
    "a list": ("- a", "expected a mapping of keys to values"),
    "text": ("hello", "expected a mapping of keys to values"),
    "a key that is a list": ("? [a, b]\n: c", "keys must be text, got a list or mapping"),
    "a merge key": ("d: {<<: {b: c}}", "merge key '<<' is not supported"),
    "no end of a list": ("a: [b", "is not valid YAML: "),
    "no end of a quote": ("a: 'b", "is not valid YAML: "),
    "tabs": ("a:\n\t- b", "is not valid YAML: "),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line(name: str) -> None:
    text, message = CASES[name]
    with pytest.raises(InputError) as error:
        read_metadata(text.encode())
    said = str(error.value)
    assert message in said
    assert said.isprintable()
    assert len(said) < 250


def test_bytes_that_are_no_text_and_too_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    refuses("metadata:2: is not UTF-8 text", read_metadata, b"a: b\nc: \xff\n")
    refuses("expected at most 1 MiB of metadata", read_metadata, b"a: " + b"x" * (1 << 20))
    monkeypatch.setattr(metadata, "MAX_NODES", 1000)
    read_metadata(b"a: [" + b"x," * 997 + b"]")
    refuses("expected at most 1,000 keys and values", read_metadata, b"a: [" + b"x," * 998 + b"]")


def test_anything_is_read_or_refused_in_one_line() -> None:
    random_ = random.Random(18)
    pieces = [
        *("a: b\n", "- c\n", "  ", "[", "]", "{", "}", "&x ", "*x ", "!!int ", "!t ", "'", '"'),
        *("|\n", ">\n", "? ", ": ", "---\n", "...\n", "%YAML 1.2\n", "\t", "\0", "\x85", "\ufeff"),
        *("<<: ", "#", "~", "\r\n", "\U0001f600", "key", ",", "\\", "\x07", "@", "`", "1"),
    ]
    slowest = 0.0
    for _ in range(600):
        text = "".join(random_.choices(pieces, k=random_.randrange(1, 40)))
        start = time.perf_counter()
        try:
            read_metadata(text.encode())
        except InputError as error:
            assert str(error).isprintable()
        slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 1
