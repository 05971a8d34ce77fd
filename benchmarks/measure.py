"""The measurements: ours and a peer in turn, and variants of the data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.agreement import Agreement
from benchmarks.datasets import DATA_SETS, HERE, DataSet
from benchmarks.process import Failure, Timing, timed, warm
from benchmarks.tasks import PEERS, UNPACKERS, Peer, fill, unpacking

Pairs = list[tuple[Timing, Timing]]


@dataclass
class Result:
    """What was measured of one command: failures leave the lists empty.

    Attributes
    ----------
    timings
        All its measurements.
    pairs
        Ours and this one, or for a variant this one and the clean file, as measured in turn.
    """

    timings: list[Timing] = field(default_factory=list)
    pairs: Pairs = field(default_factory=list)
    failure: Failure | None = None
    agreement: Agreement | Failure | None = None


@dataclass
class Bench:
    """How to run commands, and which of them are known not to work.

    Attributes
    ----------
    data
        The folder of the generated data.
    scratch
        A folder for what the commands print.
    ours
        The template of our command.
    broken
        Failures by name of the tool; what has failed once is not tried on larger data.
    """

    data: Path
    scratch: Path
    ours: Sequence[str]
    python: str
    peer_python: str
    say: Callable[[str], None]
    broken: dict[str, Failure] = field(default_factory=dict)

    def run_ours(self, data: DataSet) -> Timing | Failure:
        return self._run("cranfield", self.ours, self.python, data)

    def run_peer(self, peer: Peer, data: DataSet) -> Timing | Failure:
        python = self.python if peer.own else self.peer_python
        return self._run(peer.name, peer.command, python, data)

    def agreement(self, first: Path, second: Path) -> Agreement | Failure:
        """Compare two outputs in another process, to keep this one small."""
        command = [sys.executable, str(HERE / "agreement.py"), str(first), str(second)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if result.returncode:
            return Failure(f"cannot be compared: {result.stderr.strip().splitlines()[-1]}")
        return Agreement(**json.loads(result.stdout))

    def output(self, name: str, data: DataSet) -> Path:
        """Return the file in which a tool left its means: its own, or its standard output."""
        own = self.scratch / f"{name}-{data.name}.json"
        return own if own.exists() else own.with_suffix(".out")

    def _run(
        self, name: str, template: Sequence[str], python: str, data: DataSet
    ) -> Timing | Failure:
        if name in self.broken:
            return self.broken[name]
        self.say(f"{data.name}: {name}")
        own = self.scratch / f"{name}-{data.name}.json"
        own.unlink(missing_ok=True)
        qrels, runs = data.judgments.path(self.data), data.run_paths(self.data)
        command = fill(template, python, qrels, runs, own)
        if data.variant in UNPACKERS and name in PEERS and "{runs}" in PEERS[name].command:
            command = unpacking(command, runs[0], UNPACKERS[data.variant], self.scratch)
        outcome = timed(command, own.with_suffix(".out"), self.scratch / f"{name}.err")
        if isinstance(outcome, Failure):
            self.broken[name] = outcome
        return outcome


def prepare(bench: Bench, peers: Sequence[Peer]) -> None:
    """Run everything once on little data, untimed.

    Byte code and the machine code of ranx are compiled at the first run ever and kept.
    """
    small = DATA_SETS["A"]
    bench.run_ours(small)
    for peer in peers:
        bench.run_peer(peer, small)


def compare(
    bench: Bench, data: DataSet, peers: Sequence[Peer], repeats: Callable[[Peer], int], least: int
) -> dict[str, Result]:
    """Measure ours and each peer in turn: ours, peer, ours, peer and so on."""
    warm([data.judgments.path(bench.data), *data.run_paths(bench.data)])
    ours = Result()
    results = {"cranfield": ours}
    for peer in peers:
        theirs = results[peer.name] = Result()
        if peer.name in bench.broken:
            theirs.failure = bench.broken[peer.name]
            continue
        for _ in range(repeats(peer)):
            first, second = bench.run_ours(data), bench.run_peer(peer, data)
            _note(ours, first)
            _note(theirs, second)
            if isinstance(first, Timing) and isinstance(second, Timing):
                theirs.pairs.append((first, second))
            if theirs.failure:
                break
        if theirs.pairs and peer.means:
            theirs.agreement = bench.agreement(
                bench.output("cranfield", data), bench.output(peer.name, data)
            )
    while not ours.failure and len(ours.timings) < least:
        _note(ours, bench.run_ours(data))
    return results


def compare_variants(
    bench: Bench, clean: DataSet, variants: Sequence[DataSet], repeat: int
) -> dict[str, Result]:
    """Measure our time on each variant and on the clean file in turn."""
    results = {}
    for data in variants:
        warm([*clean.run_paths(bench.data), *data.run_paths(bench.data)])
        result = results[data.name] = Result()
        for _ in range(repeat):
            second, first = bench.run_ours(clean), bench.run_ours(data)
            _note(result, first)
            if isinstance(first, Timing) and isinstance(second, Timing):
                result.pairs.append((first, second))
            elif isinstance(second, Failure):
                result.failure = second
        if result.pairs:
            result.agreement = bench.agreement(
                bench.output("cranfield", data), bench.output("cranfield", clean)
            )
    return results


def _note(result: Result, outcome: Timing | Failure) -> None:
    if isinstance(outcome, Failure):
        result.failure = outcome
    else:
        result.timings.append(outcome)
