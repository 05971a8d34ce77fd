"""Metadata: verdicts as TIRA's, values by the schema, written back as they were read."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.collection import Metadata, costs_of_runs, primad, read_metadata
from cranfield.collection.metadata.metadata import format_yaml
from tests.collection.refusals import refuses, warns

DATA = Path(__file__).parents[2] / "data" / "campaign" / "metadata"

PLAN = ("tag", "actor.team", "research goal", "implementation.source.repository",
        "data.training data", "method.automatic")  # fmt: skip
REQUIRED = {
    "wows": ("actor.team", "implementation.source.repository", "data.test collection.name",
             "method.description", "method.name"),
    # As far as the messages name them.
    "longeval": (*PLAN, "method.indexing", "method.retrieval"),
    "longeval_rag": (*PLAN, "method.retrieval", "method.generation"),
}  # fmt: skip


def read(text: bytes) -> Metadata:
    metadata = read_metadata(text)
    assert metadata is not None
    return metadata


@pytest.mark.parametrize("task", REQUIRED)
def test_verdicts_and_fields_are_those_of_tira(task: str) -> None:
    with (DATA / "expected_tira.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    for row in rows:
        metadata = read_metadata(DATA / row["file"])
        assert metadata is not None
        problems = metadata.find_problems(REQUIRED[task])
        assert (not problems) == (row[task] == "OK")
        said = row[f"{task}_messages"]
        wanted = {
            f"The required field {problem.path} "
            + {"missing": "is missing.", "placeholder": "still contains the default value"}[
                problem.kind
            ]
            for problem in problems
        }
        assert all(one in said for one in wanted)
        assert said.count("The required field") == len(wanted)


def test_values_are_what_the_schema_says() -> None:
    about = read(
        b"tag: 1\n"
        b"implementation: {source: {commit: 8e12345, repository: 'yes', uncommitted changes: no}}\n"
        b"method: {automatic: yes, lexical: 'on', name: no, score ties: 010}\n"
        b"platform: {hardware: {cpu: {number of cores: 8}}}\n"
        b"research goal: {venue: {year: 2026}, description: 2026-01-01}\n"
        b"actor: {team: ~, fields: !!null 'x', degree: !!bool 'false'}\n"
    )
    expected = {
        "tag": "1",
        "implementation.source.commit": "8e12345",
        "implementation.source.repository": "yes",
        "implementation.source.uncommitted changes": False,
        **{"method.automatic": True, "method.lexical": True, "method.name": "no"},
        **{"method.score ties": "010", "platform.hardware.cpu.number of cores": 8},
        **{"research goal.venue.year": "2026", "research goal.description": "2026-01-01"},
        **{"actor.team": None, "actor.fields": None, "no.such.key": None},
    }
    assert {key: about.get(key) for key in expected} == expected
    assert [str(one) for one in about.find_problems()] == ["actor.degree must be text, got false"]


def test_what_is_of_the_wrong_kind_is_said() -> None:
    about = read(
        b"tag: [a]\nactor: me\nmethod: {automatic: perhaps, name: {a: b}}\n"
        b"platform: {hardware: {cpu: {number of cores: many}}}"
    )
    assert {str(one) for one in about.find_problems()} == {
        "tag must be text, got a list",
        "actor must be a mapping, got 'me'",
        "method.automatic must be yes or no, got 'perhaps'",
        "method.name must be text, got a mapping",
        "platform.hardware.cpu.number of cores must be an integer, got 'many'",
    }


def test_lists_are_walked() -> None:
    about = read(b"method: {retrieval: [{name: bm25}, {name: mono}, {other: x}]}\na: {b.c: d}")
    assert about.get("method.retrieval.name") == ("bm25", "mono")
    assert about.get("method.retrieval.none") is None
    assert about.get("a.b.c") == "d"
    assert about.find_problems(["method.retrieval.name", "method.retrieval.none"])[0].path.endswith(
        "none"
    )


@pytest.mark.parametrize("empty", [b"", b"''", b"' '", b"[]", b"{}", b"~", b"[~, '']"])
def test_what_is_empty_is_missing(empty: bytes) -> None:
    assert [
        one.kind for one in read(b"method: {name: " + empty + b"}").find_problems(["method.name"])
    ]


def test_a_key_twice_is_a_warning_and_the_last_one_counts() -> None:
    about = warns("line 2: 'tag' occurs twice in one mapping", read, b"tag: a\ntag: b\n")
    assert about.get("tag") == "b"


def test_an_anchor_without_aliases_is_no_error() -> None:
    assert read(b"a: &x b\nc: &x d").values == {"a": "b", "c": "d"}


@pytest.mark.parametrize("character", "\x85\u2028\u2029")
def test_lines_end_at_line_feeds_only(character: str) -> None:
    text = f"a: b{character}c d\n{character}: '{character}'\n"
    about = warns("line 3: 'a' occurs twice", read, f"{text}a: b{character}c\n".encode())
    assert about.values == {"a": f"b{character}c", character: character}


words = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["yes", "No", "null", "~", "", "1", "1e5", "0x1", "a: b", "- a", "# x", "NaN"]),
    st.text(alphabet=" :-#'\"\\\n\t\x85\u2028\ufeff[]{}&*!|>%@`,?", max_size=6),
)
trees = st.dictionaries(
    words,
    st.recursive(
        words | st.booleans() | st.none() | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=10,
    ),
    max_size=4,
)


@given(trees)
def test_what_is_written_reads_back_the_same_here_and_in_pyyaml(tree: dict[str, object]) -> None:
    text = format_yaml(tree)
    assert read(text.encode()).values == tree
    assert yaml.safe_load(text) == tree


def test_what_was_read_is_written_as_it_was() -> None:
    text = b"# a comment\ntag:   'x'\n\nactor: {team:   y}\n"
    assert read(text).to_yaml().encode() == text
    assert read(text).drop_paths("actor.team").to_yaml() == "tag: x\nactor: {}\n"


def test_a_template_has_every_placeholder_that_is_asked_for() -> None:
    for required in REQUIRED.values():
        blank = read(Metadata.make_template(required).to_yaml().encode())
        problems = blank.find_problems(required)
        missing = [one for one in problems if one.kind != "type"]
        assert {(one.kind, one.path) for one in missing} == {
            ("placeholder", path) for path in required
        }


def test_primad() -> None:
    parts = "platform", "research goal", "implementation", "method", "actor", "data"
    one = {part: {"x": [part]} for part in parts}
    for letter, part in zip("primad", parts, strict=True):
        other = {**one, part: {"x": ["other"]}}
        differing = "primad".replace(letter, letter.upper())
        assert primad(Metadata(one), Metadata(other)) == differing
        del other[part]
        assert primad(Metadata(other), Metadata(one)) == "primad".replace(letter, "-")
    with pytest.raises(PolicyError, match=r"two runs, such as run\.metadata, got dict"):
        primad(Metadata(one), {})  # type: ignore[arg-type]
    automatic = [read(b"method: {automatic: %s}" % word) for word in (b"yes", b"true", b"no")]
    assert primad(automatic[0], automatic[1]) == "---m--"
    assert primad(automatic[0], automatic[2]) == "---M--"


TRACKED = """tag: {tag}
schema version: 0.2
platform:
  hardware:
    cpu:
      model: {cpu}
      number of cores: 8
resources:
  runtime:
    start time: 2025-04-17T08:00:50.996022428+0000
    wallclock: {ms} ms
    user: "2000 ms"
    system: 500 ms
  cpu:
    energy used system: {joules} J
    used process: {{max: 117, min: 0, avg: 0}}
  ram:
    energy used system: null J
  gpu: null
"""


def run_with(folder: Path, tag: str, ms: int, joules: int, cpu: str = "x") -> cf.Run:
    path = folder / f"{tag}.run"
    path.write_text(f"q1 Q0 d1 1 2 {tag}\nq2 Q0 d2 1 2 {tag}\n")
    text = TRACKED.format(tag=tag, ms=ms, joules=joules, cpu=cpu)
    path.with_name(f"{path.name}.ir-metadata.yml").write_text(text)
    return cf.read_run(path)


def test_costs_of_runs_and_their_front(tmp_path: Path) -> None:
    runs = [run_with(tmp_path, "a", 1500, 0), run_with(tmp_path, "b", 475, 12)]
    bare = cf.read_run({"q1": {"d1": 1}, "q2": {"d2": 1}}, name="c")
    costs = costs_of_runs([*runs, bare])
    assert costs == {
        "a": {"seconds": 1.5, "CPU seconds": 2.5, "CPU joules": 0},
        "b": {"seconds": 0.475, "CPU seconds": 2.5, "CPU joules": 12},
        "c": {},
    }
    scores = {"a": [0.5, 0.6], "b": [0.4, 0.5], "c": [0.7, 0.8]}
    found = cf.cost_effectiveness(scores, costs)
    assert "0 in column CPU joules is treated as missing: 'a'" in found.notes
    assert "1 system excluded from the front of seconds: no value for 'c'" in found.notes
    assert found.to_polars().filter("on front")["system"].to_list() == ["b", "a", "a", "b"]


def test_refusals(tmp_path: Path) -> None:
    runs = [run_with(tmp_path, "a", 1500, 0), run_with(tmp_path, "b", 90, 12, cpu="y")]
    refuses(r"one machine, got x, 8 \('a'\) and y", costs_of_runs, runs, error=cf.CranfieldError)
    refuses("'a' twice", costs_of_runs, [runs[0], runs[0]], error=cf.PolicyError)
    refuses("expected a list", costs_of_runs, "a", error=cf.PolicyError)
    path = tmp_path / "a.run.ir-metadata.yml"
    path.write_text(path.read_text().replace("1500 ms", "{x: 1}"))
    refuses("wallclock must be an integer with", costs_of_runs, [cf.read_run(tmp_path / "a.run")])
