"""Files of every format that is read, right but for up to three edits of their structure.

They are the examples of the documentation. Whatever is read is read alike when it is packed, and
what is refused is refused in a line that the file has.
"""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cranfield as cf
import studies
from cranfield.base.errors import CranfieldError
from cranfield.campaign.rules.reading import read_rules
from cranfield.collection.document_tables import read_groups, read_lengths
from cranfield.collection.intents.probabilities import read_intents
from cranfield.collection.metadata.reading import read_metadata
from cranfield.online.click_models.saved import load
from cranfield.sessions.reading import read_session_topics
from cranfield.texts import (
    judge_answers,
    judge_summaries,
    read_citations,
    read_nugget_assignments,
    read_nuggets,
)
from studies.attack.campaigns import RULES
from studies.attack.reading.spoil import edited
from studies.attack.work.cases import FindingError, guarded, shown

HOME = Path(studies.__path__[0]).parent
EXAMPLES, DATA = HOME / "docs" / "examples", HOME / "tests" / "data"
MOST = 4_000
"""Bytes of an example."""
OF_XML = """<?xml version="1.0"?>
<sessiontrack2013><session num="1" starttime="0"><topic num="7"/>
<interaction num="1" starttime="1.5"><query>a &amp; b</query><results>
<result rank="1"><docno>d1</docno></result><result rank="2"><docno>d2</docno></result></results>
<clicked><click num="1" starttime="2" endtime="3"><rank>1</rank></click></clicked>
</interaction><currentquery starttime="9"><query>c</query></currentquery></session>
</sessiontrack2013>
"""
SHARDS = "doc,shard\nd1,a\nd2,b\nd3,a\n"
MODEL = """{"format": "cranfield click model", "version": 1, "model": "PBM(iterations=2)",
"parameters": {"attraction": [["q", "d", 0.5]], "examination": [1.0, 0.5]}}"""

Reader = Callable[[str], Any]


@cache
def readers() -> dict[str, tuple[bytes, Reader]]:
    """Return a whole file of each format, and what reads it."""
    of_examples: dict[str, Reader] = {
        "answers.csv": lambda path: judge_answers(path, str(EXAMPLES / "nuggets.csv")),
        "one.matches": lambda path: judge_answers(path, str(EXAMPLES / "iunits.txt")),
        "nuggets.csv": read_nuggets,
        "iunits.txt": read_nuggets,
        "assignments.jsonl": read_nugget_assignments,
        "citations.csv": read_citations,
        "summaries.csv": lambda path: judge_summaries(path, str(EXAMPLES / "references.csv")),
        "references.csv": lambda path: judge_summaries(str(EXAMPLES / "summaries.csv"), path),
        "sessions.csv": cf.read_sessions,
        "clicks.csv": lambda path: cf.read_sessions(str(EXAMPLES / "sessions.csv"), clicks=path),
        "crowd.csv": cf.assess.read_labels,
        "gpt.jsonl": cf.assess.read_judges,
        "llama.txt": cf.assess.read_judges,
        "groups.txt": read_groups,
        "intents.txt": read_intents,
        "lengths.txt": read_lengths,
        "ndcg.csv": cf.read_scores,
        "scores.csv": cf.read_scores,
        "experiment.csv": lambda path: cf.online.analyse_experiment(path, ["clicks"]),
        "bm25.run": cf.read_run,
        "qrels.txt": cf.read_qrels,
        "classes.txt": cf.read_qrels,
        "subtopics.txt": lambda path: cf.read_qrels(path, subtopics=True),
        "sampled.prels": lambda path: cf.read_qrels(path, format="prels"),
        "sampled.txt": lambda path: cf.read_qrels(path, format="xqrels"),
    }
    of_texts: dict[str, tuple[str, Reader]] = {
        "log.xml": (OF_XML, cf.read_sessions),
        "users.xml": (OF_XML, cf.online.read_log),
        "topics.txt": ("s1 1\ns2 7\n", read_session_topics),
        "shards.csv": (SHARDS, cf.read_shards),
        "model.json": (MODEL, load),
        "rules.toml": (RULES.replace('"topics.txt"', '["1", "2"]'), read_rules),
    }
    of_data: dict[str, Reader] = {
        "sessions/two.xml": cf.read_sessions,
        "trec_eval/out.test.aq": lambda path: cf.read_scores(path, measure="map"),
        "campaign/metadata/wows26-complete.yml": read_metadata,
        "campaign/metadata/wows26-incomplete.yml": read_metadata,
        "ntcireval/e-test.eqrels": cf.read_qrels,
    }
    found = {name: (_start(EXAMPLES / name), reader) for name, reader in of_examples.items()}
    found |= {Path(name).name: (_start(DATA / name), of_data[name]) for name in of_data}
    return found | {name: (text.encode(), reader) for name, (text, reader) in of_texts.items()}


def _start(path: Path) -> bytes:
    data = path.read_bytes()
    return data if len(data) <= MOST else data[: data.rfind(b"\n", 0, MOST) + 1]


def format_case(rng: random.Random, folder: Path) -> bool:
    """Read a file with some edits."""
    name, (whole, reader) = rng.choice([*readers().items()])
    data = whole
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        data = edited(rng, data)
    path = folder / f"edited.{name.rpartition('.')[2]}"
    path.write_bytes(data)
    reproducer = f"{name}: {data!r}"
    found = guarded(lambda: reader(str(path)), reproducer)
    line = getattr(found, "line", None) if isinstance(found, CranfieldError) else None
    lines = data.count(b"\n") + data.count(b"\r") + 1
    if isinstance(line, int) and not 1 <= line <= lines:
        raise FindingError(f"line {line} of {lines}: {found}", reproducer, "no such line")
    if data == whole and isinstance(found, CranfieldError) and name not in ODD:
        raise FindingError(f"refused: {found}", reproducer, f"refused {name}")
    if not isinstance(found, CranfieldError):
        guarded(lambda: (repr(found), str(found)), reproducer)
    if rng.random() < 0.15 and name not in ALONE:
        _packed(rng, path, data, reader, found, reproducer)
    return not isinstance(found, CranfieldError)


ODD = {"model.json", "rules.toml", "two.xml"}
"""What may not be whole by itself."""
ALONE = {"rules.toml", "model.json", "wows26-complete.yml", "wows26-incomplete.yml"}
"""What is not read from archives."""


def _packed(
    rng: random.Random, path: Path, data: bytes, reader: Reader, found: Any, reproducer: str
) -> None:
    """Read the same from an archive, perhaps one of two members."""
    pack = rng.choice((gzip.compress, bz2.compress))
    cut = rng.randrange(len(data) + 1) if rng.random() < 0.5 else 0
    packed = path.with_name(path.name + (".gz" if pack is gzip.compress else ".bz2"))
    packed.write_bytes((pack(data[:cut]) if cut else b"") + pack(data[cut:]))
    if data[:2] in {b"\x1f\x8b", b"BZ"}:
        return
    again = guarded(lambda: reader(str(packed)), reproducer)
    one, other = (
        getattr(one, "reason", str(one)) if isinstance(one, CranfieldError) else _shape(one)
        for one in (found, again)
    )
    if one.replace(packed.name, path.name) != other.replace(packed.name, path.name):
        raise FindingError(f"packed: {shown(other)}, not {shown(one)}", reproducer, "packed")


def _shape(found: Any) -> str:
    frame = found.to_polars() if hasattr(found, "to_polars") else None
    return repr(found) if frame is None else f"{frame.shape} {frame.rows()}"
