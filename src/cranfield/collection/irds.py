"""Judgments and runs of the ir_datasets catalogue, when that package is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cranfield.errors import InputError, MissingDependencyError


def records(name: str, kind: str) -> Iterable[Any]:
    """Iterate over the qrels or the scored documents of the data set `irds:<id>`."""
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} needs the package ir-datasets: pip install 'cranfield[irds]'"
        ) from error
    try:
        dataset = ir_datasets.load(name.removeprefix("irds:"))
    except KeyError:
        raise InputError("ir_datasets knows no data set of that id", source=name) from None
    has, what = (
        (dataset.has_qrels(), dataset.qrels_iter)
        if kind == "qrels"
        else (dataset.has_scoreddocs(), dataset.scoreddocs_iter)
    )
    if not has:
        raise InputError(f"has no {kind}", source=name)
    rows: Iterable[Any] = what()
    return rows
