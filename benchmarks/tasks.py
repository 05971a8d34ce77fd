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

OURS = (
    "{python}",
    "-m",
    "cranfield",
    "evaluate",
    "{qrels}",
    "{runs}",
    *(part for measure in MEASURES for part in ("-m", measure)),
    "--format",
    "json",
    "-o",
    "{output}",
)
"""Ours. In all commands `{runs}` stands for as many arguments as there are runs."""

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
    """A tool to compare with.

    Attributes
    ----------
    command
        How to score runs; its means go to standard output.
    modules
        The modules that must be there to import.
    packages
        The packages that may provide them, for the version.
    slow
        Takes so long on large data sets that it runs only once on these by default.
    decimals
        With how many decimals it prints means, where these are fewer than it computes.
    """

    name: str
    command: tuple[str, ...]
    module: str = ""
    packages: tuple[str, ...] = ()
    slow: bool = False
    decimals: int | None = None


def _script(name: str) -> tuple[str, ...]:
    return ("{python}", str(HERE / f"peer_{name}.py"), "{qrels}", "{runs}")


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "pytrec_eval",
            _script("pytrec_eval"),
            module="pytrec_eval",
            packages=("pytrec_eval-terrier", "pytrec_eval"),
        ),
        Peer(
            "ir_measures",
            _script("ir_measures"),
            module="ir_measures",
            packages=("ir_measures",),
            slow=True,
        ),
        Peer("ranx", _script("ranx"), module="ranx", packages=("ranx",), slow=True),
        Peer(
            "trec_eval",
            ("sh", "-c", _TREC_EVAL_ALL, "sh", "{trec_eval}", "{qrels}", "{runs}"),
            decimals=4,
        ),
    )
}

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


def missing(peer: Peer, versions: dict[str, str | None]) -> str:
    """Say why a peer cannot be run; nothing if it can, as far as one sees without trying."""
    if peer.module:
        return "" if versions[peer.name] else "not installed"
    program = os.environ.get("TREC_EVAL")
    if not program:
        return "not installed (TREC_EVAL names no program)"
    return "" if shutil.which(program) else f"not installed (TREC_EVAL is {program})"


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
