"""YAML from strangers: one line each, in little time and memory, or a tree that is read in full."""

from __future__ import annotations

import random
import time

import pytest

from cranfield import InputError
from cranfield.collection.metadata.reading import read_metadata
from cranfield.collection.metadata.yaml_tree import MOST_NODES


def bomb(width: int, height: int) -> str:
    lines = ["l0: &l0 [" + ",".join("a" * width) + "]"]
    for k in range(1, height):
        lines.append(f"l{k}: &l{k} [" + ",".join([f"*l{k - 1}"] * width) + "]")
    return "\n".join(lines)


CASES = {
    "a bomb of aliases": (bomb(10, 9), "has more than 100,000 values"),
    "a tall bomb": (bomb(2, 40), "has more than 100,000 values"),
    "a bomb of mappings": (
        "a: &a {x: 1, y: 2}\n"
        + "\n".join(
            f"{chr(98 + k)}: &{chr(98 + k)} {{x: *{chr(97 + k)}, y: *{chr(97 + k)}}}"
            for k in range(20)
        ),
        "has more than 100,000 values",
    ),
    "depth": ("a: " + "[" * 60 + "]" * 60, "is nested deeper than 50"),
    "depth of 100,000": ("a: " + "[" * 100_000, "has 200 opening brackets in a row"),
    "depth of mappings": ("\n".join(" " * k + "a:" for k in range(60)), "is nested deeper than 50"),
    "depth by aliases": (
        "a0: &a0 x\n" + "\n".join(f"a{k}: &a{k} [*a{k - 1}]" for k in range(1, 60)),
        "is nested deeper than 50",
    ),
    "an alias within itself": ("a: &a [*a]", "alias 'a' stands within what it names"),
    "an unknown alias": ("a: *b", "alias 'b' is unknown"),
    "an object": ("a: !!python/object/apply:os.system [ls]", "which is not read"),
    "a tag of their own": ("a: !x y", "which is not read"),
    "binary": ("a: !!binary aGVsbG8=", "which is not read"),
    "a set": ("a: !!set {b}", "which is not read"),
    "a wrong value of a tag": ("a: !!int x", "'x' is no value of !!int"),
    "a very long number": ("a: !!int " + "9" * 10_000, "is no value of !!int"),
    "NUL": ("a: b\0c", "is no valid YAML"),
    "a control character": ("a: \x1b[31m", "is no valid YAML"),
    "several documents": ("a: b\n---\nc: d", "holds several documents"),
    "a list": ("- a", "is no mapping of keys to values"),
    "text": ("hello", "is no mapping of keys to values"),
    "a key that is a list": ("? [a, b]\n: c", "has a key that is no text"),
    "a merge key": ("a: &a {b: c}\nd: {<<: *a}", "has a merge key '<<'"),
    "no end of a list": ("a: [b", "is no valid YAML"),
    "no end of a quote": ("a: 'b", "is no valid YAML"),
    "tabs": ("a:\n\t- b", "is no valid YAML"),
    "much": ("a: [" + "x," * (MOST_NODES + 1) + "]", "has more than 100,000 values"),
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


def test_bytes_that_are_no_text_and_too_many_of_them() -> None:
    with pytest.raises(InputError, match="metadata:2: is not UTF-8 text"):
        read_metadata(b"a: b\nc: \xff\n")
    with pytest.raises(InputError, match="has more than 1 MiB"):
        read_metadata(b"a: " + b"x" * (1 << 20))


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
