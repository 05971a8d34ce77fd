"""Run the benchmarks: `python -m benchmarks.run [--only A,C,...] [--peers ...] [--repeat N]`.

Generates the data where it is missing, measures, and prints a table for each data set. See
README.md in this folder for what the figures mean.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE, DataSet, variants_of
from benchmarks.measure import (
    Bench,
    Result,
    compare,
    compare_variants,
    measure_import,
    prepare,
)
from benchmarks.process import Failure, memory_floor
from benchmarks.report import comparison_text, import_text, variants_text
from benchmarks.tasks import OURS, PEERS, Peer, missing, peer_versions, versions

_PARTS = ("import", "A", "C", "D", "E", "variants", "significance", "scales")

_LARGE = {"C", "D", "E"}
"""The data sets on which slow peers take a minute."""

_FEWEST_IMPORTS = 10
"""An import takes a fraction of a second, so more repetitions cost nothing."""

_FEWEST_TESTS = 5
"""Tests of significance take milliseconds."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as scratch:
        bench = Bench(
            data=options.data.resolve(),
            scratch=Path(scratch),
            ours=shlex.split(options.ours) if options.ours else OURS,
            python=sys.executable,
            peer_python=options.peer_python,
            say=_say,
        )
        found = peer_versions(options.peer_python)
        found |= versions(sys.executable, {"cranfield": ("cranfield", ("cranfield",))})
        peers = [PEERS[name] for name in options.peers]
        for peer in peers:
            if reason := missing(peer, found):
                bench.broken[peer.name] = Failure(reason)
        _print(_head(found, peers))
        results = _measure(bench, peers, options)
    if options.json:
        document = _document(found, results)
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _measure(
    bench: Bench, peers: list[Peer], options: argparse.Namespace
) -> dict[str, dict[str, Result]]:
    """Measure and print part by part, so that one sees results as they come."""
    results: dict[str, dict[str, Result]] = {}
    parts = [part for part in _PARTS if part in options.only]
    sets = [DATA_SETS[part] for part in parts if part in DATA_SETS]
    clean = [DATA_SETS["C"], DATA_SETS["D"]] if "variants" in parts else []
    if "import" in parts:
        repeat = max(options.repeat, _FEWEST_IMPORTS)
        results["import"] = measure_import(bench, repeat)
        _print(import_text(results["import"], memory_floor()))
    if sets or clean:
        _generate(bench.data, [*sets, *clean], with_variants=bool(clean))
        prepare(bench, peers if sets else [])
    for data in sets:
        times = partial(_repeats, large=data.name in _LARGE, options=options)
        results[data.name] = compare(bench, data, peers, times, options.repeat)
        _print(comparison_text(data, results[data.name], memory_floor()))
    for data in clean:
        name = f"variants of {data.name}"
        results[name] = compare_variants(bench, data, variants_of(data.name), options.repeat)
        _print(variants_text(data, results[name], memory_floor()))
    if "significance" in parts:
        _say("")
        repeat = str(max(options.repeat, _FEWEST_TESTS))
        command = [sys.executable, "-m", "benchmarks.significance", "--repeat", repeat]
        subprocess.run(command, check=True, cwd=HERE.parent)
    if "scales" in parts:
        _say("Images of measures: distinct values on all runs, and the ranks of some")
        command = [sys.executable, "-m", "benchmarks.scales"]
        subprocess.run(command, check=True, cwd=HERE.parent)
    return results


def _repeats(peer: Peer, large: bool, options: argparse.Namespace) -> int:
    repeat: int = options.repeat_slow if peer.slow and large else options.repeat
    return repeat


def _generate(folder: Path, sets: Iterable[DataSet], with_variants: bool) -> None:
    """Generate data in another process: NumPy here would raise the floor under all peaks."""
    names = [DATA_SETS["A"].name, *(data.name for data in sets)]
    if with_variants:
        names += [variant.name for name in names for variant in variants_of(name)]
    chosen = ",".join(dict.fromkeys(names))
    script = str(HERE / "generate.py")
    subprocess.run([sys.executable, script, "--out", str(folder), "--only", chosen], check=True)


def _head(found: Mapping[str, str | None], peers: Iterable[Peer]) -> str:
    tools = ["cranfield", *(peer.name for peer in peers if peer.module)]
    named = ", ".join(f"{name} {found[name] or 'not installed'}" for name in tools)
    return (
        f"{named}\nPython {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"
    )


def _document(
    found: Mapping[str, str | None], results: Mapping[str, Mapping[str, Result]]
) -> dict[str, object]:
    """Return all single measurements, for those who want other summaries than the tables'."""
    return {
        "versions": {"python": platform.python_version(), **found},
        "processors": os.cpu_count(),
        "units": {"wall": "s", "cpu": "s", "peak": "MiB"},
        "results": {
            part: {name: asdict(result) for name, result in rows.items()}
            for part, rows in results.items()
        },
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure cranfield against its peers.")
    add = parser.add_argument
    add("--only", type=_names, default=list(_PARTS), help=f"some of {','.join(_PARTS)}")
    add("--peers", type=_names, default=list(PEERS), help=f"some of {','.join(PEERS)}, or none")
    add("--repeat", type=int, default=3, help="how often to measure each pair (3)")
    add("--repeat-slow", type=int, default=1, help="the same for slow peers on C, D, E (1)")
    add("--json", type=Path, metavar="FILE", help="where to write all single measurements")
    add("--data", type=Path, default=DEFAULT_FOLDER, help="the folder of generated data")
    add("--peer-python", default=sys.executable, help="the interpreter that has the peers")
    add(
        "--ours",
        metavar="TEMPLATE",
        help="another command to measure as ours, with {python} {qrels} {runs} {output}",
    )
    options = parser.parse_args()
    if unknown := [part for part in options.only if part not in _PARTS]:
        parser.error(f"--only: no part is named {', '.join(unknown)}")
    if options.peers == ["none"]:
        options.peers = []
    if unknown := [name for name in options.peers if name not in PEERS]:
        parser.error(f"--peers: no peer is named {', '.join(unknown)}")
    if not shutil.which(options.peer_python):
        parser.error(f"--peer-python: there is no {options.peer_python}")
    if options.repeat < 1 or options.repeat_slow < 1:
        parser.error("everything must be measured at least once")
    return options


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _print(text: str) -> None:
    _say("")
    print(text, flush=True)


def _say(text: str) -> None:
    """Show what is being done on a terminal; the tables alone go to standard output."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
