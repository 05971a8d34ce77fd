"""Time and energy of runs, from the metadata that tirex-tracker writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cranfield.base.errors import CranfieldError, InputError, PolicyError, check_list, quote
from cranfield.base.text import sanitise
from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.run import Run

RESOURCES: dict[str, tuple[tuple[str, ...], str, int]] = {
    "seconds": (("resources.runtime.wallclock",), "ms", 1000),
    "CPU seconds": (("resources.runtime.user", "resources.runtime.system"), "ms", 1000),
    "CPU joules": (("resources.cpu.energy used system",), "J", 1),
    "RAM joules": (("resources.ram.energy used system",), "J", 1),
    "GPU joules": (("resources.gpu.energy used system",), "J", 1),
}
"""For each cost: the paths of the values to add, their unit, and the divisor of their sum."""

MACHINE_PATHS = (
    "platform.hardware.cpu.model",
    "platform.hardware.cpu.number of cores",
    "platform.hardware.gpu.model",
    "platform.hardware.ram",
    "platform.operating system.distribution",
)
"""Paths of the metadata that identify a machine."""


def costs_of_runs(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """Read the time and energy of runs from their metadata, as tirex-tracker writes them.

    Times are in seconds: elapsed time, and processor time (user plus kernel mode, summed over
    threads). Energies are in joules, for processor, memory and graphics card; they include the
    energy of all other processes of the machine, and 0 means below 1 J, or not measured.

    Parameters
    ----------
    runs
        Runs with metadata, see :func:`read_metadata`.

    Returns
    -------
    dict
        For each run, the recorded costs by name, for :func:`cranfield.cost_effectiveness`: seconds,
        CPU seconds, CPU joules, RAM joules and GPU joules; an empty dict if none is recorded.

    Raises
    ------
    InputError
        For unreadable metadata, or a time or energy that is not like `"120 ms"`.
    PolicyError
        For data that are not runs, or for two runs with the same name.
    CranfieldError
        For runs measured on different machines, whose costs are not comparable.

    Examples
    --------
    >>> from cranfield import read_run
    >>> costs_of_runs([read_run({"q1": {"d1": 1.5}}, name="bm25")])
    {'bm25': {}}
    """
    check_list("runs", runs)
    costs: dict[str, dict[str, float]] = {}
    machines: dict[str, str] = {}
    for run in runs:
        if not isinstance(run, Run):
            raise PolicyError(f"expected runs, as read_runs() returns, got {type(run).__name__}")
        if run.name in costs:
            raise PolicyError(f"expected runs with different names, got {quote(run.name)} twice")
        metadata = run.metadata
        costs[run.name] = {} if metadata is None else _read_run_costs(metadata)
        if metadata is not None and costs[run.name]:
            values = (metadata.get(path) for path in MACHINE_PATHS)
            texts = (sanitise(str(value)) for value in values if value is not None)
            machines.setdefault(", ".join(texts) or "unknown", run.name)
    if len(machines) > 1:
        (first, first_run), (second, second_run) = list(machines.items())[:2]
        raise CranfieldError(
            f"expected costs measured on one machine, got {first} ({quote(first_run)}) and"
            f" {second} ({quote(second_run)})"
        )
    return costs


def _read_run_costs(metadata: Metadata) -> dict[str, float]:
    """Return the costs in the metadata of a run, by name."""
    costs = {}
    for name, (paths, unit, units_per_cost) in RESOURCES.items():
        values = [metadata.get(path) for path in paths]
        # The tracker writes `null J` on machines without a counter.
        if any(value in (None, f"null {unit}") for value in values):
            continue
        amount = 0
        for path, value in zip(paths, values, strict=True):
            match = re.fullmatch(rf"(\d{{1,18}}) ?{unit}", str(value))
            if match is None:
                reason = f"{path} must be an integer with the unit {unit}, such as '120 {unit}'"
                raise InputError(f"{reason}, got {quote(value)}", source=metadata.source)
            amount += int(match[1])
        costs[name] = amount / units_per_cost
    return costs
