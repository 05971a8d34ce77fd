"""The measurements: two commands in turn, ours beside a peer or on two forms of the data."""

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

Job = tuple[Peer, DataSet]
"""A tool, and the data that it scores."""


@dataclass
class Result:
    """The measurements of one command; failures leave the lists empty.

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

    def add(self, outcome: Timing | Failure) -> None:
        if isinstance(outcome, Failure):
            self.failure = outcome
        else:
            self.timings.append(outcome)


@dataclass
class Bench:
    """How to run commands, and which of them are known not to work.

    Attributes
    ----------
    data
        The folder of the generated data.
    scratch
        A folder for the output of the commands.
    ours
        Our command.
    broken
        Failures by name of the tool; a tool that has failed once is not tried on larger data.
    """

    data: Path
    scratch: Path
    ours: Peer
    python: str
    peer_python: str
    say: Callable[[str], None]
    broken: dict[str, Failure] = field(default_factory=dict)

    def run(self, tool: Peer, data: DataSet) -> Timing | Failure:
        """Score data by a tool, unless the tool has failed before."""
        if tool.name in self.broken:
            return self.broken[tool.name]
        self.say(f"{data.name}: {tool.name}")
        own = self._own_output(tool, data)
        own.unlink(missing_ok=True)
        python = self.python if tool.own else self.peer_python
        runs = data.run_paths(self.data)
        command = fill(tool.command, python, data.judgments.path(self.data), runs, own)
        if data.variant in UNPACKERS and tool.name in PEERS and "{runs}" in tool.command:
            command = unpacking(command, runs[0], UNPACKERS[data.variant], self.scratch)
        outcome = timed(command, own.with_suffix(".out"), self.scratch / f"{tool.name}.err")
        if isinstance(outcome, Failure):
            self.broken[tool.name] = outcome
        return outcome

    def in_turn(self, first: Job, second: Job, times: int) -> tuple[Result, Result]:
        """Measure two commands in turn; the second result has the pairs, and compares the means."""
        results = Result(), Result()
        for _ in range(times):
            one, other = self.run(*first), self.run(*second)
            results[0].add(one)
            results[1].add(other)
            if isinstance(one, Failure) or isinstance(other, Failure):
                break
            results[1].pairs.append((one, other))
        if results[1].pairs and second[0].means:
            results[1].agreement = self._agreement(self._output(*first), self._output(*second))
        return results

    def _agreement(self, first: Path, second: Path) -> Agreement | Failure:
        """Compare two outputs in another process, to keep this one small."""
        command = [sys.executable, str(HERE / "agreement.py"), str(first), str(second)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if result.returncode:
            return Failure(f"cannot be compared: {result.stderr.strip().splitlines()[-1]}")
        return Agreement(**json.loads(result.stdout))

    def _own_output(self, tool: Peer, data: DataSet) -> Path:
        return self.scratch / f"{tool.name}-{data.name}.json"

    def _output(self, tool: Peer, data: DataSet) -> Path:
        """Return the file with the means of a tool: its own, or its standard output."""
        own = self._own_output(tool, data)
        return own if own.exists() else own.with_suffix(".out")


def prepare(bench: Bench, peers: Sequence[Peer]) -> None:
    """Run everything once on little data, untimed.

    Byte code and the machine code of ranx are compiled at the first run ever and kept.
    """
    for tool in (bench.ours, *peers):
        bench.run(tool, DATA_SETS["A"])


def compare(
    bench: Bench, data: DataSet, peers: Sequence[Peer], repeats: Callable[[Peer], int], least: int
) -> dict[str, Result]:
    """Measure ours and each peer in turn: ours, peer, ours, peer and so on."""
    warm([data.judgments.path(bench.data), *data.run_paths(bench.data)])
    ours = Result()
    results = {bench.ours.name: ours}
    for peer in peers:
        if peer.name in bench.broken:
            results[peer.name] = Result(failure=bench.broken[peer.name])
            continue
        beside, results[peer.name] = bench.in_turn((bench.ours, data), (peer, data), repeats(peer))
        ours.timings += beside.timings
        ours.failure = ours.failure or beside.failure
    while not ours.failure and len(ours.timings) < least:
        ours.add(bench.run(bench.ours, data))
    return results


def compare_variants(
    bench: Bench, clean: DataSet, variants: Sequence[DataSet], repeat: int
) -> dict[str, Result]:
    """Measure our time on each variant and on the clean file in turn."""
    results = {}
    for data in variants:
        warm([*clean.run_paths(bench.data), *data.run_paths(bench.data)])
        result, beside = bench.in_turn((bench.ours, data), (bench.ours, clean), repeat)
        result.pairs, result.agreement = beside.pairs, beside.agreement
        result.failure = result.failure or beside.failure
        results[data.name] = result
    return results
