"""Files of runs and judgments with any edits give values or one line of `InputError`, nothing else.

`mutated_tables.py` compares the values of some edits with an oracle.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield as cf
from tests.hostile_texts import hostile_texts

RUNS = {
    "a.run": "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 -0.5e1 t\n",
    "three.run": "q1 d1 2.5\nq1 d2 1\nq2 d1 3\n",
    "ntcir.run": "# a system\nq1 0 d1 1 2.5 t\nq1 0 d2 2 1.5 t\n",
    "ranks.tsv": "q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n",
    "run.csv": "topic,doc,score,system\nq1,d1,2.5,a\nq1,d2,1.5,a\nq1,d1,2,b\n",
    "run.json": '{"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 1}}\n',
    "run.jsonl": '{"topic": "1", "doc": "a", "score": 2}\n{"topic": "1", "doc": "b", "score": 1}\n',
}
QRELS = {
    "trec": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 -1\n",
    "trec.subtopics": "q1 1 d1 1\nq1 2 d1 0\nq1 2 d2 1\n",
    "ntcir": "q1 d1 L2\nq1 d2 L0\n",
    "xqrels": "q1 0 d1 s 1\nq1 0 d2 t -1\n",
    "prels": "q1 d1 1 1 0.5\nq1 d2 0 1 0.25\n",
    "auto.csv": "query-id,corpus-id,grade\nq1,d1,1\nq1,d2,0\n",
    "auto.json": '{"q1": {"d1": 1, "d2": 0}}\n',
    "auto.jsonl": '{"topic": "1", "doc": "a", "grade": 1}\n{"topic": "1", "doc": "b", "grade": 0}',
}
FIELDS = """
nan inf -inf 1e999 1_000 0x10 1,5 --1 +1 .5 5. 1e e5 . - 1.5.2 １ 1e-400 -0.0 4.9e-324 1e00001 NULL
9007199254740993 0.1000000000000000055511151231257827021181583404541015625 1e-99999999999999999999
2147483648 -2147483649 99999999999 1.0 0.5 L1 x # ; BZh9 PAR1 [] {} "" " null true é 文書 007 TRUE
"""
LONG_NUMBERS = ["0" * 5000 + "1", "9" * 5000, "1." + "0" * 400]
TOKENS = [text.encode() for text in [*FIELDS.split(), *LONG_NUMBERS, *hostile_texts(1, 130), ""]]
BYTES = [b"\x00", b"\r", b"\r\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x85", b"\xef\xbb\xbf"]
ENCODINGS = ["latin-1", "utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig"]
TOKEN = re.compile(rb"""[^\s,:"{}]+|[,:"{}]""")


@st.composite
def edited(draw: st.DrawFn, whole: bytes) -> bytes:
    """Edit fields, lines, line ends, the encoding and bytes, one to three times."""
    data = whole
    for edit in draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)):
        lines = data.splitlines(keepends=True) or [b""]
        at = draw(st.integers(0, len(data)))
        end = at + draw(st.integers(0, 8))
        tokens = [match.span() for match in TOKEN.finditer(data)]
        if edit == 0 and tokens:
            at, end = draw(st.sampled_from(tokens))
            data = data[:at] + draw(st.sampled_from(TOKENS)) + data[end:]
        elif edit == 1:
            data = b"".join(draw(st.lists(st.sampled_from(lines), max_size=5)))
        elif edit == 2:
            ends = st.sampled_from([b"\r", b"\r\n", b"\n", b"\n\n", b" \n", b""])
            data = b"".join(line.rstrip(b"\r\n") + draw(ends) for line in lines)
        elif edit == 3:
            encoding = draw(st.sampled_from(ENCODINGS))
            data = data.decode("utf-8", "replace").encode(encoding, "replace")
        elif edit == 4:
            data = data[:at] + data[end:]
        else:
            data = data[:at] + draw(st.sampled_from(BYTES) | st.binary(max_size=3)) + data[at:]
    return data


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", [*RUNS, *QRELS])
def test_any_edit(
    name: str, data: st.DataObject, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(data.draw(edited((RUNS | QRELS)[name].encode())))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in RUNS:
                assert all(len(run) and np.isfinite(run.scores).all() for run in cf.read_runs(path))
            else:
                assert len(cf.read_qrels(path, format=name.split(".", maxsplit=1)[0]))
    except cf.InputError as error:
        assert str(error).isprintable() and len(str(error)) < 700 and name in str(error)
    assert capfd.readouterr() == ("", "")
