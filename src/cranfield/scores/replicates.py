"""Split names of runs into a system and a replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, quote, warn
from cranfield.base.text import inflect
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import FileColumn, Schema, is_repeated
from cranfield.sources.values import ID

MARK = "@"  # Separator between the names of a system and its replicate

_REPLICATES = Schema(
    "table of replicates",
    (
        FileColumn("run", ID, None),
        FileColumn("system", ID, None),
        FileColumn("replicate", ID, None),
    ),
    tuples=("run", "system", "replicate"),
    suspicions={"run {run} occurs twice": is_repeated("run")},
)


def split_run_names(
    runs: Sequence[str], replicates: Any = None, *, allows_single: bool = False
) -> list[tuple[str, str]]:
    """Return the system and the replicate of each run.

    Parameters
    ----------
    runs
        Names of the runs, such as `dense@seed1`.
    replicates
        Table with columns `run`, `system`, `replicate`; by default names are split at the last `@`.
    allows_single
        Whether a run whose name has no replicate is accepted as a system with one run.

    Raises
    ------
    InputError
        For a run that occurs twice in the table, or two runs of one system and replicate.
    PolicyError
        For a run that is not in the table; without a table, for a run whose name has no replicate,
        unless `allows_single` is true.

    Examples
    --------
    >>> split_run_names(["dense@seed1", "dense@seed2", "bm25"], allows_single=True)
    [('dense', 'seed1'), ('dense', 'seed2'), ('bm25', '')]
    """
    if replicates is None:
        return [_split_name(run, allows_single) for run in runs]
    table = read_table(replicates, _REPLICATES)
    frame = table.frame
    is_known = pl.col("run").is_in([*runs])
    is_shared = pl.struct("system", "replicate", is_known).is_duplicated() & is_known
    table.check({"several runs are replicate {replicate} of system {system}": is_shared})
    if n_unknown := frame.filter(~is_known).height:
        warn(f"{table.source}: {inflect(n_unknown, 'row')} ignored: runs without scores")
    labels = {run: (system, name) for run, system, name in frame.iter_rows()}
    for run in runs:
        if run not in labels:
            raise PolicyError(f"run {quote(run)} is not in {table.source}")
    return [labels[run] for run in runs]


def _split_name(run: str, allows_single: bool) -> tuple[str, str]:
    system, mark, name = run.rpartition(MARK)
    if system and mark and name:
        return system, name
    if allows_single:
        return run, ""
    raise PolicyError(
        f"expected runs named SYSTEM{MARK}REPLICATE, or a table of replicates (run, system,"
        f" replicate), got {quote(run)}"
    )


def describe_replicate_names(systems: Sequence[str]) -> str:
    """Return a warning if several systems are named like replicates of one system, else ''."""
    runs_by_system: dict[str, list[str]] = {}
    names = split_run_names(systems, allows_single=True)
    for run, (system, name) in zip(systems, names, strict=True):
        if name:
            runs_by_system.setdefault(system, []).append(quote(run))
    for system, runs in runs_by_system.items():
        if len(runs) > 1:
            return (
                f"{runs[0]} and {runs[1]} are compared as systems; if they are replicates of"
                f" {quote(system)}, use --test independent-replicates or shared-replicates"
            )
    return ""
