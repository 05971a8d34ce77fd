"""Time and energy of runs, as tirex-tracker writes them."""

from __future__ import annotations

from pathlib import Path

import cranfield as cf
from cranfield.collection import costs_of_runs
from tests.collection.refusals import refuses

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
    assert "0 in column CPU joules is treated as not measured: 'a'" in found.notes
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
