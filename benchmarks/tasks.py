"""The commands that are compared, as data, and which of them are there to be run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import HERE

MEASURES = ("AP", "P@10", "nDCG@10", "nDCG", "RR", "R@100", "Bpref")
"""What every command computes, in the spelling of `cranfield`."""

_TREC_EVAL_ALL = """
trec_eval=$1 qrels=$2
shift 2
for run; do
    "$trec_eval" -m runid -m map -m P.10 -m ndcg_cut.10 -m ndcg -m recip_rank -m recall.100 \\
        -m bpref "$qrels" "$run" || exit
done
"""
"""trec_eval scores one run at a time, so several take a loop."""


@dataclass(frozen=True)
class Peer:
    """A command to compare with.

    Attributes
    ----------
    command
        How to score runs; its means go to standard output.
    module
        The module that must be there to import.
    packages
        The packages that may provide it, for the version.
    program
        The variable of the environment that names the program.
    own
        Not a tool of others: run by our interpreter, and whatever peers are asked for.
    means
        Prints means to compare.
    slow
        Takes so long on large data sets that it runs only once on these by default.
    decimals
        With how many decimals it prints means, where these are fewer than it computes.
    """

    name: str
    command: tuple[str, ...]
    module: str = ""
    packages: tuple[str, ...] = ()
    program: str = ""
    own: bool = False
    means: bool = True
    slow: bool = False
    decimals: int | None = None


OURS = Peer(
    "cranfield",
    (
        *("{python}", "-m", "cranfield", "evaluate", "{qrels}", "{runs}"),
        *(part for measure in MEASURES for part in ("-m", measure)),
        *("--format", "json", "-o", "{output}"),
    ),
    own=True,
)
"""Ours. In all commands `{runs}` stands for as many arguments as there are runs."""


def _script(name: str) -> tuple[str, ...]:
    return ("{python}", str(HERE / f"{name}.py"), "{qrels}", "{runs}")


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "pytrec_eval",
            _script("peer_pytrec_eval"),
            module="pytrec_eval",
            packages=("pytrec_eval-terrier", "pytrec_eval"),
        ),
        Peer(
            "ir_measures",
            _script("peer_ir_measures"),
            module="ir_measures",
            packages=("ir_measures",),
            slow=True,
        ),
        Peer("ranx", _script("peer_ranx"), module="ranx", packages=("ranx",), slow=True),
        Peer(
            "trec_eval",
            ("sh", "-c", _TREC_EVAL_ALL, "sh", "{trec_eval}", "{qrels}", "{runs}"),
            program="TREC_EVAL",
            decimals=4,
        ),
        Peer("limit", _script("limit"), own=True),
        Peer("numpy, polars", ("{python}", "-c", "import numpy, polars"), own=True, means=False),
    )
}
"""The tools of others, a program in C as the limit, and the least that we can take."""

_PROBE = """
import importlib.metadata, importlib.util, json, sys

def version(module, packages):
    if importlib.util.find_spec(module) is None:
        return None
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "unknown version"

print(json.dumps({name: version(*what) for name, what in json.loads(sys.argv[1]).items()}))
"""


def fill(
    template: Iterable[str], python: str, qrels: Path, runs: Sequence[Path], output: Path
) -> list[str]:
    """Put files and programs in the places of a command that stand for them."""
    places = {
        "{python}": python,
        "{qrels}": str(qrels),
        "{output}": str(output),
        "{trec_eval}": os.environ.get("TREC_EVAL", ""),
    }
    command: list[str] = []
    for part in template:
        command += map(str, runs) if part == "{runs}" else [places.get(part, part)]
    return command


UNPACKERS = {"gz": "gzip", "zst": "zstd", "xz": "xz"}

_UNPACK = """
program=$1 unpacked=$2 run=$3
shift 3
"$program" -dc "$run" >"$unpacked" && exec "$@"
"""
"""For tools that read no archives: unpacked into a file first."""


def unpacking(command: Sequence[str], run: Path, program: str, folder: Path) -> list[str]:
    """Return a command that unpacks a run and scores it then."""
    unpacked = folder / run.stem
    changed = [str(unpacked) if part == str(run) else part for part in command]
    return ["sh", "-c", _UNPACK, "sh", program, str(unpacked), str(run), *changed]


def missing(peer: Peer, versions: dict[str, str | None]) -> str:
    """Say why a peer cannot be run; nothing if it can, as far as one sees without trying."""
    if peer.module:
        return "" if versions[peer.name] else "not installed"
    if not peer.program:
        return ""
    program = os.environ.get(peer.program)
    if not program:
        return f"not installed ({peer.program} names no program)"
    return "" if shutil.which(program) else f"not installed ({peer.program} is {program})"


def versions(python: str, wanted: dict[str, tuple[str, tuple[str, ...]]]) -> dict[str, str | None]:
    """Ask an interpreter for the versions of modules, without importing them.

    Takes module and packages by name; None stands for a module that is not there.
    """
    command = [python, "-c", _PROBE, json.dumps(wanted)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, str | None] = json.loads(result.stdout)
    return answer


def peer_versions(python: str) -> dict[str, str | None]:
    return versions(
        python, {peer.name: (peer.module, peer.packages) for peer in PEERS.values() if peer.module}
    )
