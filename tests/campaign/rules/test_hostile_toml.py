"""Rules from strangers: they are read, or one line says what is wrong."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import InputError
from cranfield.campaign.rules.reading import MAX_BYTES, read_rules, read_template
from cranfield.campaign.rules.task_rules import (
    CAMPAIGN,
    TASK,
    Rules,
    ValueCheck,
    WrongValueError,
    check_fields,
)

values = st.recursive(
    st.text(max_size=9)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.times(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(list(TASK)), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from([*TASK.items(), *CAMPAIGN.items()]), values)
def test_any_value_of_any_key_is_taken_or_refused_with_a_reason(
    key: tuple[str, ValueCheck], value: object
) -> None:
    name = key[0]
    try:
        check_fields(dict([key]), {name: value})
    except WrongValueError as error:
        assert error.reason.isprintable()
        assert error.path[0] == name


def read(folder: Path, data: bytes) -> Rules | str:
    (folder / "campaign.toml").write_bytes(data)
    try:
        return read_rules(folder)
    except InputError as error:
        said = str(error)
        assert said.isprintable()
        assert said.startswith("campaign.toml")
        assert len(said) < 700
        return said


def test_rules_with_random_faults_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    draw = random.Random(18)
    good = read_template().replace("# ", "", 12).encode()
    lines = read_template().splitlines(keepends=True)
    pieces = [letter.encode() for letter in "\"[]{}=\n.'\0#1é"] + [b"\xff"]
    pieces += [b"[tasks.main]\n", b"[[tasks]]\n", b"[tasks.CON]\n", b"tasks = 1\n"]
    for _ in range(400):
        data = bytearray(good if draw.random() < 0.3 else "".join(lines).encode())
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            if draw.random() < 0.5:
                data[at:at] = draw.choice(pieces)
            else:
                del data[at : at + draw.randint(1, 30)]
        read(tmp_path, bytes(data))


HEAD = b'[campaign]\nid = "a"\ntitle = "b"\n[tasks.c]\n'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "campaign: .*id"),
        (b"\xff\xfe", ":1: .*UTF-8"),
        (b"a = " + b"[" * 100_000, "valid TOML"),
        (b"a = " + b"{b = " * 100_000, "valid TOML"),
        (b"#" * (MAX_BYTES + 1), "1,048,576 bytes"),
        (HEAD.replace(b"[tasks.c]", b"[tasks]"), "tasks: .*no task"),
        (HEAD.replace(b"[tasks.c]", b"[tasks]\nc = 1"), "tasks.c: .*table, got '1'"),
        (HEAD + b"documents = {}", "tasks.c.documents: .*pattern"),
        (HEAD + b"documents = 1", "tasks.c.documents: .*text, got '1'"),
        (HEAD + b'topics = "a\\u0000b"', "in the folder of the rules"),
        (HEAD + b'topics = "C:/x"', "in the folder of the rules"),
        (HEAD + b'topics = "."', "valid file name"),
        (HEAD + b'topics = "' + b"x" * 300 + b'"', "tasks.c.topics: .*not found"),
        (HEAD + b"opens = 2026-01-01", "offset from UTC"),
        (HEAD + b"opens = 07:30:00", "time, got '07:30:00'"),
        (HEAD + b'opens = "2026-01-01T00:00:00+99:00"', "such as"),
        (HEAD + b"max_per_topic = " + b"9" * 5000, "valid TOML"),
        (HEAD + b"max_per_topic = " + b"9" * 50, "integer from 1 to 10.15"),
        (HEAD + b"[tasks.c.questions.type]\nask = 'x'", "key types"),
        (HEAD + b"[tasks.c.questions.'a/b']\nask = 'x'", "'a/b'"),
        (HEAD + b'title = """b\n[a' + b" " * 900_000 + b'x"""', "one line of text"),
    ],
)
def test_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    start = time.perf_counter()
    said = read(tmp_path, data)
    assert isinstance(said, str)
    assert re.search(message, said), said
    assert time.perf_counter() - start < 5


def test_a_folder_without_rules_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no campaign\.toml and no rules\.toml"):
        read_rules(tmp_path)
    for name in ("none.toml", "no\0ne.toml", "x" * 300):
        with pytest.raises(InputError, match="cannot be read"):
            read_rules(tmp_path / name)


def test_a_mark_of_utf_8_and_cr_lf_are_no_faults(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + HEAD.replace(b"\n", b"\r\n") + b"closes = 1\r\n"
    assert read(tmp_path, data) == "campaign.toml:5: tasks.c.closes: must be a time, got '1'"
