"""Pools that are started in a kernel of notebooks, and servers that fork their workers: real ones.

Needs `pip install ipykernel gunicorn`. What comes back is judged as in `pools`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import cranfield
from studies.attack import Outcome
from studies.attack.pools import PATIENCE, REFUSED, RIGHT, SCRIPT, refuses

CELL = """
import multiprocessing, script
if {used!r} == "used":
    script.work(0)
script.context = multiprocessing.get_context({method!r})
print(script.tried(script.pool))
"""

APP = """
import os, script
if os.environ["USED"] == "used":
    script.work(0)
def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [str(script.tried(lambda: [script.work(0)] * 4)).encode()]
"""

WAYS = [
    *(
        ("kernel", method, used)
        for method in ("spawn", "forkserver", "fork")
        for used in ("used", "new")
    ),
    *(("gunicorn", how, used) for how in ("fork", "each its own") for used in ("used", "new")),
]
"""Hosts, how processes are started, and whether something was evaluated before."""


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield the ways in turn, again and again."""
    if not (find_spec("gunicorn") and find_spec("ipykernel")):
        raise SystemExit("hosts: pip install ipykernel gunicorn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.py").write_text(SCRIPT)
        (folder / "app.py").write_text(APP)
        for host, method, used in islice(cycle(WAYS), cases):
            answer = in_kernel if host == "kernel" else served
            try:
                found = answer(folder, method, used)
            except TimeoutError:
                found = f"hangs: not done after {PATIENCE} seconds"
            wrong = refuses(method, host, used)
            fine = found.startswith(REFUSED if wrong else RIGHT)
            verdict = "finding" if not fine else "refused" if wrong else "right"
            yield Outcome(f"{host} {method} {used}", verdict, "" if fine else found[-2000:])  # type: ignore[arg-type]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(cranfield.__file__).parents[1])}


def in_kernel(folder: Path, method: str, used: str) -> str:
    """Run a cell in a new kernel; return what it prints."""
    start = import_module("jupyter_client.manager").start_new_kernel
    manager, client = start(cwd=str(folder), env=environment(), stderr=subprocess.DEVNULL)
    said: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        said.extend(content.get("traceback", [content.get("text", "")]))

    try:
        code = CELL.format(method=method, used=used)
        client.execute_interactive(code, timeout=PATIENCE, output_hook=hear)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(said)


def served(folder: Path, method: str, used: str) -> str:
    """Start a server with two workers; return its answer."""
    path = folder / "server.sock"
    preload = ["--preload"] if method == "fork" else []
    command = [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", f"unix:{path}"]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [*command, *preload, "app:app"],
            cwd=folder,
            env=environment() | {"USED": used},
            stdout=log,
            stderr=log,
        ) as server,
    ):
        try:
            return asked(path)
        finally:
            server.terminate()


def asked(path: Path) -> str:
    """Ask a server that is just being started."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(PATIENCE)
            try:
                channel.connect(str(path))
            except OSError:
                time.sleep(0.05)
                continue
            connection = HTTPConnection("localhost")
            connection.sock = channel
            connection.request("GET", "/")
            return connection.getresponse().read().decode()
    raise TimeoutError
