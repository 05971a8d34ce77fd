"""The same parts, the same bits, wherever they are computed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield import meta
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.streams import make_stream
from cranfield.meta.test_studies.splits import split_topics
from cranfield.meta.work import ResultsFolder, run_parts
from tests.meta.studies import NINE_TOPICS, RUNS


def part(shared: float, task: int) -> pl.DataFrame:
    return pl.DataFrame({"task": [task], "value": [make_stream(1, task).normal() + shared]})


TASKS = {f"task-{k}": k for k in range(6)}


@pytest.fixture(scope="module")
def scores() -> cf.Scores:
    random = np.random.default_rng(8)
    values = random.beta(2, 3, (20, 1)) + random.normal(0, 0.1, (20, 8)) + np.arange(8) / 30
    return cf.Scores(values, [f"q{k}" for k in range(20)], [f"s{k}" for k in range(8)])  # type: ignore[arg-type]


def test_order_of_tasks() -> None:
    found = run_parts(part, 0.5, TASKS, settings={})
    assert found["task"].to_list() == list(range(6))


def test_backends(scores: cf.Scores) -> None:
    options: dict[str, Any] = {"sizes": [5, 10], "repeats": 12, "seed": 11, "resamples": 200}
    tests = ["anova-2", "randomisation"]
    expected = split_topics(scores, tests, **options).by_repeat
    for backend in (None, "threading", "serial"):
        found = split_topics(scores, tests, jobs=2, backend=backend, **options)
        assert found.by_repeat.equals(expected), backend


def test_dask_cluster(scores: cf.Scores) -> None:
    distributed = pytest.importorskip("distributed")
    import joblib

    options = {"sizes": [5], "repeats": 25, "seed": 11}
    expected = split_topics(scores, ["anova-2", "t"], **options).by_repeat  # type: ignore[arg-type]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        named = split_topics(scores, ["anova-2", "t"], backend="dask", jobs=2, **options)  # type: ignore[arg-type]
        with joblib.parallel_config("dask"):
            around = split_topics(scores, ["anova-2", "t"], **options)  # type: ignore[arg-type]
    assert named.by_repeat.equals(expected)
    assert around.by_repeat.equals(expected)


def test_unknown_backend() -> None:
    with pytest.raises(PolicyError, match="unknown backend 'nope'"):
        run_parts(part, 0.5, TASKS, settings={}, backend="nope")


def test_finished_parts_are_not_done_again(tmp_path: Path) -> None:
    run_parts(part, 0.5, {"task-1": 1}, settings={"a": 1}, folder=tmp_path / "x")
    # What a part holds is believed: proof that it was not computed.
    proof = pl.DataFrame({"task": [1], "value": [-1.0]})
    ResultsFolder(tmp_path / "x", {"a": 1}).write("task-1", proof)
    seen: list[tuple[int, int]] = []
    found = run_parts(
        part,
        0.5,
        TASKS,
        settings={"a": 1},
        folder=tmp_path / "x",
        progress=lambda done, of: seen.append((done, of)),
    )
    assert found["value"][1] == -1.0
    assert seen[0] == (1, 6)
    assert seen[-1] == (6, 6)
    # A part that cannot be read is computed.
    (tmp_path / "x" / "task-1.parquet").write_bytes(b"PAR1")
    with pytest.warns(
        cf.CranfieldWarning, match=r"will be computed again: task-1.parquet has no valid checksum"
    ):
        again = run_parts(part, 0.5, TASKS, settings={"a": 1}, folder=tmp_path / "x")
    assert again.equals(run_parts(part, 0.5, TASKS, settings={}))


def test_folders_of_another_study(tmp_path: Path, scores: cf.Scores) -> None:
    split_topics(scores, ["t"], sizes=[5], repeats=2, folder=tmp_path / "x")
    other = cf.Scores(scores.values + 1, scores.topics, scores.systems)
    with pytest.raises(PolicyError, match="another study: scores was"):
        split_topics(other, ["t"], sizes=[5], repeats=2, folder=tmp_path / "x")
    # More of the same is no other study.
    more = split_topics(scores, ["t"], sizes=[5, 10], repeats=25, folder=tmp_path / "x")
    assert more.by_repeat.equals(split_topics(scores, ["t"], sizes=[5, 10], repeats=25).by_repeat)
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "thesis.doc").write_text("all I have")
    with pytest.raises(PolicyError, match=r"contains 'thesis.doc', but no study.json"):
        run_parts(part, 0.5, TASKS, settings={}, folder=tmp_path / "y")
    (tmp_path / "x" / "study.json").write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        run_parts(part, 0.5, TASKS, settings={}, folder=tmp_path / "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a results folder"):
        run_parts(part, 0.5, TASKS, settings={}, folder=tmp_path / "file")


def study(folder: Path, out: Path) -> None:
    rng = np.random.default_rng(8)
    values = rng.beta(2, 3, (20, 1)) + rng.normal(0, 0.1, (20, 8)) + np.arange(8) / 30
    scores = cf.Scores(values, [f"q{k}" for k in range(20)], [f"s{k}" for k in range(8)])  # type: ignore[arg-type]
    options: dict[str, Any] = {"sizes": [5, 10], "repeats": 40, "seed": 6, "resamples": 400}
    found = split_topics(scores, ["anova-2", "bootstrap"], folder=folder, **options)
    found.by_repeat.write_parquet(out)


SCRIPT = f"""
import sys
from pathlib import Path
from typing import Any
import numpy as np, cranfield as cf
from cranfield.meta.test_studies.splits import split_topics
{getsource(study)}
study(*map(Path, sys.argv[1:]))
"""


def started(folder: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder), str(out)], env=os.environ)


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    outputs = [tmp_path / "one.parquet", tmp_path / "other.parquet"]
    process = started(tmp_path / "both", outputs[0])
    # The other one imports first.
    while process.poll() is None and not (tmp_path / "both" / "study.json").exists():
        time.sleep(0.005)
    study(tmp_path / "both", outputs[1])
    assert process.wait() == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert not (tmp_path / "both" / "damaged.txt").exists()


def test_killed_and_resumed(tmp_path: Path) -> None:
    study(tmp_path / "through", tmp_path / "through.parquet")
    process = started(tmp_path / "killed", tmp_path / "killed.parquet")
    # Killed at any moment after the first part.
    while process.poll() is None and not list((tmp_path / "killed").glob("*.parquet")):
        time.sleep(0.005)
    time.sleep(random.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    study(tmp_path / "killed", tmp_path / "killed.parquet")
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "through.parquet").read_bytes()
    left = sorted(one.name for one in (tmp_path / "killed").iterdir())
    assert left == sorted(one.name for one in (tmp_path / "through").iterdir())
    assert json.loads((tmp_path / "killed" / "study.json").read_text())["seed"] == 6


STUDIES: dict[str, tuple[Any, str, str]] = {
    "split topics": (
        lambda scores, **more: meta.split_topics(scores, ["t"], sizes=[5], repeats=12, **more),
        "000-00005-000000-000010 000-00005-000010-000012",
        "measure tests alpha missing resamples groups members seed scores",
    ),
    "false positives": (
        lambda scores, **more: meta.false_positives(scores, ["t"], sizes=[5], repeats=12, **more),
        "00005-000000-000012",
        "null measure tests alpha missing resamples groups members seed scores",
    ),
    "swaps": (
        lambda scores, **more: meta.swap_method(scores, sizes=[5], repeats=60, **more),
        "size-5-repeats-0-50 size-5-repeats-50-60",
        "scores bins replacement ties test seed",
    ),
    "stability": (
        lambda scores, **more: meta.stability(scores, sizes=[5], repeats=12, **more),
        "ranks-0000000-0000012 size-00005-0000000-0000012",
        "scores, lower is better, test, alpha, resamples, replace, seed",
    ),
    "discriminative power": (
        lambda scores, **more: meta.discriminative_power(
            {"x": scores, "y": scores}, resamples=20, **more
        ),
        "measure-1 measure-2",
        "measures scores test correction alpha resamples seed missing",
    ),
    "leave one out": (
        lambda _, seed=3, **more: meta.leave_one_out(
            RUNS[:4], NINE_TOPICS, "P@5", depth=seed, **more
        ),
        "",
        "",
    ),
    "pooling": (
        lambda _, **more: meta.pooling(
            RUNS[:4],
            NINE_TOPICS,
            "AP",
            methods="depth,random",
            budgets=[3, 9],
            depth=4,
            contributors=None,
            **more,
        ),
        "",
        "",
    ),
    "interleaving": (
        lambda _, **more: meta.interleaving_sensitivity(
            RUNS[:3], NINE_TOPICS, methods="TeamDraft", impressions=5, **more
        ),
        "",
        "",
    ),
}
"""Studies that keep parts: a small one, and names of its parts, and what study.json says."""


@pytest.mark.parametrize("name", STUDIES)
def test_jobs_folders_and_resuming_change_nothing(
    tmp_path: Path, scores: cf.Scores, name: str
) -> None:
    run, parts, keys = STUDIES[name]
    frames = run(scores).frames()
    run(scores, folder=tmp_path)
    written = {path: path.read_bytes() for path in sorted(tmp_path.glob("*.parquet"))}
    about = json.loads((tmp_path / "study.json").read_text())
    if parts:
        assert [path.stem for path in written] == parts.split()
        named = keys.split(", ") if "," in keys else keys.split()
        assert list(about) == ["cranfield", "study", *named]
        assert about["study"] == name
    # Half of the parts are lost, and done again by several workers.
    for path in list(written)[::2]:
        path.unlink()
    seen: list[tuple[int, int]] = []
    again = run(
        scores,
        folder=tmp_path,
        jobs=2,
        backend="threading",
        progress=lambda *done: seen.append(done),
    )
    assert seen[0][0] == len(written) // 2
    assert seen[-1] == (len(written), len(written))
    assert {path: path.read_bytes() for path in sorted(tmp_path.glob("*.parquet"))} == written
    for table, frame in again.frames().items():
        assert frame.equals(frames[table])
    with pytest.raises(PolicyError, match="contains another study: (seed|depth) was"):
        run(scores, folder=tmp_path, seed=1)


def test_parts_are_not_kept_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="s3://bucket/parts: expected a results folder"):
        ResultsFolder("s3://bucket/parts", {"a": 1})
    assert not [*tmp_path.iterdir()]


def test_an_unknown_option_is_reported_by_the_study(scores: cf.Scores) -> None:
    studies: list[Any] = [cf.meta.false_positives, cf.meta.stability, cf.meta.swap_method]
    for study in studies:
        with pytest.raises(TypeError, match=rf"{study.__name__}\(\) got .* 'sizess'"):
            study(scores, sizess=[5])


# What happens to parts on the disk never becomes a number


def two_parts(folder: Path, shared: int = 1) -> list[float]:
    tasks = {"first": 1, "second": 2}
    found = run_parts(quarters, shared, tasks, settings={"shared": shared}, folder=folder)
    values: list[float] = found["value"].to_list()
    return values


def quarters(shared: int, task: int) -> pl.DataFrame:
    return pl.DataFrame({"task": [task], "value": [task * 0.25 + shared]})


def test_any_byte_that_changes_is_seen(tmp_path: Path) -> None:
    assert two_parts(tmp_path) == [1.25, 1.5]
    first = tmp_path / "first.parquet"
    data = first.read_bytes()
    for place in range(0, len(data), 7):
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << place % 8
        first.write_bytes(spoilt)
        with pytest.warns(cf.CranfieldWarning, match=r"will be computed again: first\.parquet "):
            assert two_parts(tmp_path) == [1.25, 1.5]
        assert first.read_bytes() == data
    assert (tmp_path / "damaged.txt").read_text().startswith("first.parquet ")


def test_parts_of_others_are_not_taken(tmp_path: Path) -> None:
    two_parts(tmp_path / "one")
    two_parts(tmp_path / "other", 8)
    first, second = (tmp_path / "one" / f"{name}.parquet" for name in ("first", "second"))
    first.write_bytes((tmp_path / "other" / "first.parquet").read_bytes())
    with pytest.warns(cf.CranfieldWarning, match=r"first\.parquet belongs to another study"):
        assert two_parts(tmp_path / "one") == [1.25, 1.5]
    first.write_bytes(second.read_bytes())
    with pytest.warns(cf.CranfieldWarning, match=r"was renamed: it contains part second"):
        assert two_parts(tmp_path / "one") == [1.25, 1.5]


@pytest.mark.parametrize("spoilt", [b"\xff{}", b"[" * 200_000, b"9" * 10_000, b""])
def test_a_study_json_that_nobody_can_read(tmp_path: Path, spoilt: bytes) -> None:
    (tmp_path / "study.json").write_bytes(spoilt)
    with pytest.raises(InputError, match=r"study\.json: is not valid JSON"):
        two_parts(tmp_path)
