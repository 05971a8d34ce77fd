"""Runs judged by threads, processes and machines: the same bits, errors and warnings."""

from __future__ import annotations

import gzip
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.parallel import compute_tasks
from cranfield.collection.judged.each_run import map_runs
from cranfield.collection.judged.judging import judge_one
from cranfield.collection.policies import Policies
from cranfield.collection.run import Run

TOPICS, DOCS = 12, 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of every ugly kind, and judgments."""
    folder: Path = tmp_path_factory.mktemp("runs")
    random = np.random.default_rng(5)
    for k in range(7):
        blank = " " * (k % 3 + 1)
        lines = [
            f"t{t}{blank}Q0 d{d} {i} {random.integers(0, 12) / 4} {'r' if k < 4 else k}\n"
            for t in range(k % 2, TOPICS + k % 3)
            for i, d in enumerate(random.permutation(DOCS)[:60])
        ]
        if k == 3:
            lines[5] = lines[5].replace(" r\n", " another\n")
        path = folder / f"r{k}.run"
        path.write_text("".join(lines))
        if k == 4:
            (folder / "r4.run.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    (folder / "qrels").write_text(
        "".join(
            f"t{t} 0 d{d} {random.integers(-1, 4)}\n"
            for t in range(TOPICS)
            for d in range(0, DOCS, 4)
        )
    )
    (folder / "short.txt").write_text("t0 Q0 d1 1\n")
    (folder / "twice.txt").write_text("t0 Q0 d1 1 2.5 x\nt0 Q0 d1 2 1.5 x\n")
    (folder / "lengths.csv").write_text(
        "doc,length\n" + "".join(f"d{d},{d + 5}\n" for d in range(DOCS))
    )
    return folder


@pytest.fixture(scope="module")
def dask() -> Iterator[str]:
    """Yield the address of a cluster of two workers, which Dask takes from its variable."""
    distributed = pytest.importorskip("distributed")
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**local) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        cluster.scheduler.allowed_failures = 1  # of 3 by default: each starts a worker again
        yield cluster.scheduler_address


def where_of(backend: str, dask: str) -> dict[str, Any]:
    return {"backend": backend, "jobs": 1 if backend == "serial" else 2}


def bits(judged: Any) -> list[Any]:
    """All that is in judged runs, as bytes and text."""
    rows = [judged.documents, judged.judgments]
    if judged.side_data.lengths is not None:
        rows.append(judged.side_data.lengths)
    arrays = [value for one in rows for value in vars(one).values()]
    return [
        *(one.tobytes() if isinstance(one, np.ndarray) else repr(one) for one in arrays),
        judged.n_retrieved.tobytes(),
        judged.is_scored.tobytes(),
        repr([(one.name, getattr(judged.coverage, one.name)) for one in fields(judged.coverage)]),
        judged.systems,
        judged.topics,
    ]


def asked(runs: Any, folder: Path, **more: Any) -> list[Any]:
    """What comes of judging: warnings, progress, and judged runs or the error."""
    seen: list[tuple[int, int]] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            judged = cf.judge(
                runs, str(folder / "qrels"), progress=lambda *one: seen.append(one), **more
            )
            found = bits(judged)
            for aspect in (judged.side_data.aspects or {}).values():
                found += bits(aspect)
        except cf.CranfieldError as error:
            found = [type(error), str(error)]
    return [*found, seen, [str(one.message) for one in told if one.category is cf.CranfieldWarning]]


BACKENDS = ("threading", "loky", "dask")


@pytest.mark.parametrize("backend", BACKENDS)
def test_same_bits(folder: Path, dask: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Relative paths are those of this process, wherever workers are.
    monkeypatch.chdir(folder)
    in_memory = cf.read_run("r0.run").rename("memory")
    runs = ["r*.run*", {"dict": {"t1": {"d4": 1.0, "d8": 1.0}}}, in_memory]
    where = where_of(backend, dask)
    for more in ({}, {"ties": "input", "depth": 20, "topics": "run", "unjudged": "condensed"}):
        expected = asked(runs, folder, backend="serial", **more)
        assert asked(runs, folder, **where, **more) == expected
        assert len(expected[-1]) == 2 and expected[-2][-1] == (9, 9)
    beside = {"lengths": "lengths.csv", "aspects": {"other": str(folder / "qrels")}}
    expected = asked("r?.run", folder, backend="serial", **beside)
    assert asked("r?.run", folder, **where, **beside) == expected
    measures, found = ["AP", "nDCG@10"], []
    for how in ({"backend": "serial"}, where):
        with warnings.catch_warnings(action="ignore"):
            ev = cf.evaluate("r?.run", "qrels", measures, shards=3, **how)
        found.append([ev[one].values.tobytes() for one in measures])
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_same_errors(
    folder: Path, dask: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    where = where_of(backend, dask)
    wrong: Sequence[Any] = ("short.txt", "twice.txt", {"bad": {"t1": {"d": "x"}}})
    for first in range(2):
        # Which comes first is which is told, though others are found sooner.
        runs = ["r3.run", "r5.run", *wrong[first:], *wrong[:first]]
        expected = asked(runs, folder, backend="serial")
        assert expected[0] is cf.InputError
        assert asked(runs, folder, **where) == expected


def killed_once(flag: str, task: int) -> int:
    if task == 3:
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return task
        os.kill(os.getpid(), signal.SIGKILL)
    return task


class KillsOnce:
    """Judges nothing: counts rows; a worker that has the third run is killed the first time."""

    def __init__(self, flag: Path) -> None:
        self.flag = str(flag)

    def __call__(self, run: Run, stem: str | None) -> tuple[str | None, int]:
        killed_once(self.flag, 3 if stem == "r3" else 0)
        return stem, len(run)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_dask_does_tasks_of_a_killed_worker_again(folder: Path, tmp_path: Path, dask: str) -> None:
    runs = cf.read_runs(str(folder / "r?.run"))
    with warnings.catch_warnings(action="ignore"):
        (tmp_path / "there").touch()
        expected = list(map_runs(runs, KillsOnce(tmp_path / "there"), None, backend="serial"))
        where = where_of("dask", dask)
        found = list(map_runs(runs, KillsOnce(tmp_path / "flag"), None, **where))
    assert found == expected
    assert (tmp_path / "flag").exists()


def killer(parent: int, task: int) -> int:
    if task == 3 and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_killed_process_is_an_error() -> None:
    with pytest.raises(cf.CranfieldError, match="a worker was killed, perhaps for lack of memory"):
        list(compute_tasks(killer, os.getpid(), ((k, k) for k in range(6)), jobs=2, backend="loky"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_task_that_kills_every_worker_of_dask_is_an_error(dask: str) -> None:
    distributed = pytest.importorskip("distributed")
    tasks = ((k, k) for k in range(6))
    with distributed.Client(dask) as client:
        # Other tests kill workers, too, and with one of them joblib works in this process.
        client.wait_for_workers(2, timeout=30)
    with pytest.raises(cf.CranfieldError, match="a worker was killed, perhaps for lack of memory"):
        list(compute_tasks(killer, os.getpid(), tasks, jobs=2, backend="dask"))


class ActorDiedError(Exception):
    """Has the name of Ray's error for a killed worker; Ray may not be installed."""


def dying(_: None, task: int) -> int:
    raise ActorDiedError


def test_a_killed_worker_of_ray_is_an_error() -> None:
    with pytest.raises(cf.CranfieldError, match="a worker was killed, perhaps for lack of memory"):
        list(compute_tasks(dying, None, [(0, 0)], jobs=2, backend="threading"))


def test_parts_are_small(folder: Path) -> None:
    judgments = cf.read_qrels(folder / "qrels")
    part = judge_one(cf.read_run(folder / "r0.run"), None, judgments, Policies())
    packed = pickle.dumps(part)
    again = pickle.loads(packed)
    for name in ("topic", "rank", "grade", "judgment_row", "n_retrieved"):
        assert getattr(again, name).dtype == np.int64
        assert (getattr(again, name) == getattr(part, name)).all()
    # Topic, rank and grade fit in a byte, and the number of the judgment in two.
    # Groups of ties have three numbers.
    assert len(packed) < 11 * part.rank.size + 3 * part.tie_groups.shape[1] + 1700


def test_backends_that_are_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, qrels = str(folder / "r0.run"), str(folder / "qrels")
    with pytest.raises(cf.PolicyError, match="unknown backend 'nope'"):
        cf.judge(runs, qrels, backend="nope", jobs=2)
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "nope")
    with pytest.raises(cf.PolicyError, match="no Dask scheduler at 'nope'"):
        cf.judge(runs, qrels, backend="dask")


def test_around(folder: Path) -> None:
    import joblib

    runs = str(folder / "r?.run")
    expected = asked(runs, folder, backend="serial")
    with joblib.parallel_config("threading", n_jobs=2):
        assert asked(runs, folder) == expected
