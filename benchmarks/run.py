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
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.datasets import ARCHIVES, DATA_SETS, DEFAULT_FOLDER, HERE, variants_of
from benchmarks.measure import (
    Bench,
    Result,
    compare,
    compare_variants,
    prepare,
)
from benchmarks.process import Failure, memory_floor
from benchmarks.report import format_comparisons, overview_text, variants_text
from benchmarks.tasks import OURS, PEERS, Peer, missing, peer_versions, versions

_ALL = (*(name for name, peer in PEERS.items() if not peer.own), "limit", "numpy, polars")
_QUICK = tuple(name for name in _ALL if not PEERS[name].slow)


@dataclass(frozen=True)
class Part:
    """What is measured together.

    Attributes
    ----------
    sets
        The data sets that we score, each beside others.
    beside
        The names of the others: of the tools of others those that are asked for.
    variants
        The names of data sets that we score in other forms too, beside the clean files.
    forms
        Those forms.
    program
        The module here that measures by itself, and what it is told.
    most
        How often a pair is measured at most: what takes long is measured less often.
    """

    sets: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    most: int = sys.maxsize


_REPEAT, _DATA = ("--repeat", "{repeat}"), ("--data", "{data}")

_PARTS = {
    "startup": Part(("A",), program=("startup", *_REPEAT, *_DATA)),
    **{name: Part((name,), _ALL) for name in ("A", "C", "D", "E")},
    "ties": Part(("A-ties", "C-ties", "D-ties", "E-ties"), _QUICK, most=2),
    "variants": Part(variants=("C", "D"), forms=("shuffled", "blanks")),
    "archives": Part(("D-gz",), ("pytrec_eval", "trec_eval"), ("D",), ARCHIVES, most=2),
    "dicts": Part(("A", "D"), program=("dicts", *_REPEAT, *_DATA)),
}

_SINGLE = {name: Part((name,), _QUICK) for name in DATA_SETS if name not in _PARTS}
"""What can be asked for besides: each other data set by itself."""

_LARGE = {"C", "D", "E"}
"""The data sets on which slow peers take a minute."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as scratch:
        # Modules are compiled once, as installers do, whatever the environment says.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(scratch) / "compiled")
        bench = Bench(
            data=options.data.resolve(),
            scratch=Path(scratch),
            ours=options.ours,
            python=sys.executable,
            peer_python=options.peer_python,
            say=_say,
        )
        found = peer_versions(options.peer_python)
        found |= versions(sys.executable, {"cranfield": ("cranfield", ("cranfield",))})
        for peer in options.peers:
            if reason := missing(peer, found):
                bench.broken[peer.name] = Failure(reason)
        _print(_head(found, options.peers))
        results = _measure(bench, options)
    _print(f"{overview_text(results)}  load {_load()}\n")
    if options.json:
        document = _document(found, results)
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _measure(bench: Bench, options: argparse.Namespace) -> dict[str, dict[str, Result]]:
    """Measure and print part by part, so that one sees results as they come."""
    results: dict[str, dict[str, Result]] = {}
    parts = {name: part for name, part in {**_PARTS, **_SINGLE}.items() if name in options.only}
    _generate(bench.data, parts.values())
    beside = dict.fromkeys(name for part in parts.values() for name in part.beside)
    prepare(bench, [peer for peer in options.peers if peer.name in {*beside, "beside"}])
    for name, part in parts.items():
        repeat = min(options.repeat, part.most)
        if part.program:
            _say("")
            places = {"{repeat}": str(repeat), "{data}": str(bench.data)}
            module, *told = [places.get(word, word) for word in part.program]
            command = [sys.executable, "-m", f"benchmarks.{module}", *told]
            if subprocess.run(command, check=False, cwd=HERE.parent).returncode:
                _print(f"{name}: failed, as said above")
            continue
        for data in map(DATA_SETS.__getitem__, part.sets):
            peers = [peer for peer in options.peers if peer.name in {*part.beside, "beside"}]
            times = partial(_repeats, large=data.name in _LARGE, repeat=repeat, options=options)
            found = compare(bench, data, peers, times, repeat)
            results[data.name if data.name not in results else f"{data.name} ({name})"] = found
            _print(format_comparisons(data, found, memory_floor()))
        for data in map(DATA_SETS.__getitem__, part.variants):
            forms = variants_of(data.name, part.forms)
            found = compare_variants(bench, data, forms, repeat)
            results[f"{name} of {data.name}"] = found
            _print(variants_text(data, found, memory_floor()))
    return results


def _repeats(peer: Peer, large: bool, repeat: int, options: argparse.Namespace) -> int:
    slow: int = options.repeat_slow
    return slow if peer.slow and large else repeat


def _generate(folder: Path, parts: Iterable[Part]) -> None:
    """Generate data in another process: NumPy here would raise the floor under all peaks."""
    names = ["A"]
    for part in parts:
        variants = (data.name for name in part.variants for data in variants_of(name, part.forms))
        names += [*part.sets, *part.variants, *variants]
    chosen = ",".join(dict.fromkeys(names))
    script = str(HERE / "generate.py")
    subprocess.run([sys.executable, script, "--out", str(folder), "--only", chosen], check=True)


def _head(found: Mapping[str, str | None], peers: Iterable[Peer]) -> str:
    tools = ["cranfield", *(peer.name for peer in peers if peer.module)]
    named = ", ".join(f"{name} {found[name] or 'not installed'}" for name in tools)
    return (
        f"{named}\nPython {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} processors, load {_load()}\n"
    )


def _load() -> str:
    """Say how many processes wanted a processor over the last minute, 5 and 15 minutes."""
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


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
    tools = [name for name, peer in PEERS.items() if not peer.own]
    add(
        "--only",
        type=_names,
        default=list(_PARTS),
        help=f"some of {','.join(_PARTS)}, or data sets",
    )
    add("--peers", type=_names, default=tools, help=f"some of {','.join(tools)}, or none")
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
    add("--beside", metavar="TEMPLATE", help="one more command to compare with, in the same way")
    options = parser.parse_args()
    if unknown := [part for part in options.only if part not in {**_PARTS, **_SINGLE}]:
        parser.error(f"--only: no part is named {', '.join(unknown)}")
    if unknown := [name for name in options.peers if name not in [*tools, "none"]]:
        parser.error(f"--peers: no peer is named {', '.join(unknown)}")
    options.peers = [peer for peer in PEERS.values() if peer.own or peer.name in options.peers]
    options.ours = replace(OURS, command=tuple(shlex.split(options.ours))) if options.ours else OURS
    if options.beside:
        given = tuple(shlex.split(options.beside))
        options.peers.append(Peer("beside", given, own=True, means="{output}" in given))
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
